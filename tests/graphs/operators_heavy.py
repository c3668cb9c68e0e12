# SPDX-License-Identifier: Apache-2.0
"""Random nodes of the operators that compute more: products, convolutions, pools, norms, recurrent
ones, attention, quantised ones, images; and chains of nodes that the runtime fuses."""
import numpy
from onnx import TensorProto

from builder import F32, F64, I32, I64, I8, U8, Unfit
from operators import broadcast_shape, maker, partner


# --- Products ---


def weights(b, dtype, shape, chance):
    """A matrix that is constant, a part of a constant one, as in_proj_weight of attention is, or none of both."""
    if len(shape) != 2 or b.rng.random() >= chance:
        return b.fresh(dtype, shape, constant=b.rng.random() < 0.7)
    parts = b.add("Split", [b.fresh(dtype, [2 * shape[1], shape[0]], constant=True)], 2, axis=0,
                  num_outputs=2 if b.opset >= 18 else None)
    return b.add("Transpose", [b.rng.choice(parts)], perm=[1, 0])


@maker("MatMul", weight=1.8)
def make_matmul(b):
    dtypes = (I32, I64) if b.opset >= 9 and b.rng.random() < 0.05 else None
    x = b.pick(dtypes, ranks=(1, 2, 2, 3, 4))
    is_turned = len(b.shape(x)) > 2 and b.rng.random() < 0.4
    if is_turned:
        axes = list(range(len(b.shape(x)) - 1))
        b.rng.shuffle(axes)
        x = b.add("Transpose", [x], perm=[*axes, len(axes)])
    array = b.array(x)
    inner, dtype = array.shape[-1], array.dtype
    batch = broadcast_shape(b, array.shape[:-2]) if array.ndim > 2 and b.rng.random() < 0.5 else ()
    shape = [inner] if b.rng.random() < 0.1 else [*batch, inner, b.dim()]
    b.add("MatMul", [x, weights(b, dtype, shape, 0.7 if is_turned else 0.1)])


@maker("Gemm", weight=1.2)
def make_gemm(b):
    x = b.pick(rank=2)
    dtype = b.array(x).dtype
    trans_a, trans_b = b.rng.choice([None, 0, 1]), b.rng.choice([None, 0, 1])
    m, k = b.shape(x) if not trans_a else b.shape(x)[::-1]
    n = b.dim()
    inputs = [x, b.fresh(dtype, [n, k] if trans_b else [k, n], constant=b.rng.random() < 0.7)]
    if b.rng.random() < 0.7 or b.opset < 11:
        inputs.append(b.fresh(dtype, b.rng.choice([(n,), (m, n), (1, n), (m, 1), (), (1,)]),
                              constant=b.rng.random() < 0.7))
    b.add("Gemm", inputs, transA=trans_a, transB=trans_b, alpha=b.rng.choice([None, 0.5, 1.0]),
          beta=b.rng.choice([None, 0.25, 1.0, 0.0]))


EQUATIONS = [("ij,jk->ik", 2), ("bij,bjk->bik", 2), ("ij->ji", 1), ("ii->i", 1), ("ij->", 1), ("i,j->ij", 2),
             ("bhid,bhjd->bhij", 2), ("...ij,...jk->...ik", 2), ("ij,jk", 2), ("i,i->", 2), ("ijk,k->ij", 2),
             ("ij,jk,kl->il", 3), ("...i->...", 1), ("abc,cd->abd", 2)]


@maker("Einsum", since=12, weight=0.6)
def make_einsum(b):
    equation, count = b.rng.choice(EQUATIONS)
    sizes, inputs = {}, []
    for term in equation.split("->")[0].split(","):
        dims = []
        for letter in term.replace("...", "."):
            dims.append(sizes.setdefault(letter, b.rng.randint(1, 7)))
        inputs.append(b.fresh(F32 if b.rng.random() < 0.85 else F64, dims) if not inputs
                      else b.fresh(b.array(inputs[0]).dtype, dims))
    b.add("Einsum", inputs, equation=equation)


# --- Windows ---


def image(b, dtype=None, dims=None):
    """An input of rank 3 to 5, images mostly."""
    if b.rng.random() < 0.6:
        try:
            return b.pick((F32,) if dtype is None else dtype, ranks=(4, 4, 3) if dims is None else (dims + 2,),
                          test=lambda a: a.size > 0 and min(a.shape[2:]) > 1, fresh=0.1)
        except Unfit:
            pass
    dims = b.rng.choice([1, 2, 2, 2, 2, 3]) if dims is None else dims
    channels = b.rng.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
    spatial = [b.rng.randint(2, 20 if dims < 3 else 7) for _ in range(dims)]
    if dims > 1 and b.rng.random() < 0.1:
        spatial[-1] = 1  # a sequence that stands as an image of one column
    return b.fresh(F32 if dtype is None else dtype[0], [b.rng.choice([1, 1, 2, 3]), channels, *spatial])


def window(b, spatial, kernel, ceil=False, dilated=True):
    """Attributes of a window, and whether it fits."""
    attributes = {"kernel_shape": kernel}
    if b.rng.random() < 0.6:
        attributes["strides"] = [b.rng.choice([1, 1, 2, 3]) for _ in kernel]
    kind = b.rng.random()
    # ONNX Runtime and the standard part ways about dilations, and strides beyond the window, where
    # pads are worked out.
    if dilated and kind > 0.65 and b.rng.random() < 0.5:
        attributes["dilations"] = [b.rng.choice([1, 2]) for _ in kernel]
    dilations = attributes.get("dilations", [1] * len(kernel))
    if kind < 0.5:
        attributes["pads"] = [b.rng.randint(0, (k - 1) * d if not ceil else k // 2)
                              for k, d in zip(kernel + kernel, dilations + dilations)]
    elif kind < 0.65 and all(k >= s for k, s in zip(kernel, attributes.get("strides", [1] * len(kernel)))):
        attributes["auto_pad"] = b.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    pads = attributes.get("pads", [0] * 2 * len(kernel))
    for i, (size, k, d) in enumerate(zip(spatial, kernel, dilations)):
        if size + pads[i] + pads[i + len(kernel)] < (k - 1) * d + 1 and \
                attributes.get("auto_pad", "VALID") == "VALID":
            raise Unfit("window")
    return attributes


def kernel_of(b, count):
    square = b.rng.choice([1, 1, 2, 3, 3, 3, 5])
    return [square] * count if b.rng.random() < 0.8 else [b.rng.choice([1, 2, 3, 4]) for _ in range(count)]


def conv_parts(b, x, dtype=F32):
    shape = b.shape(x)
    channels = shape[1]
    groups = b.rng.choice([1, 1, 1, 1] + [g for g in (2, 3, 4, channels) if channels % g == 0])
    out = groups * b.rng.choice([1, 2, 3, 4, 5, 8, 16]) if groups > 1 else b.rng.choice([1, 2, 3, 7, 8, 16, 17, 32])
    kernel = kernel_of(b, len(shape) - 2)
    return groups, out, kernel, (out, channels // groups, *kernel)


def scaled(b, dtype, shape, constant=None):
    """Weights small enough that what comes out is about as large as what goes in."""
    array = b.random_array(dtype, shape)
    fan = max(1, int(numpy.prod(shape[1:]))) ** 0.5
    constant = b.rng.random() < 0.9 if constant is None else constant
    return b.leaf((array / fan).astype(dtype), constant=constant)


@maker("Conv", weight=2.5)
def make_conv(b):
    x = image(b)
    groups, out, kernel, weights = conv_parts(b, x)
    attributes = window(b, b.shape(x)[2:], kernel)
    inputs = [x, scaled(b, F32, weights)]
    if b.rng.random() < 0.5:
        inputs.append(b.fresh(F32, [out], constant=b.rng.random() < 0.9))
    if b.rng.random() < 0.3:
        del attributes["kernel_shape"]
    return b.add("Conv", inputs, group=b.rng.choice([groups, groups]) if groups > 1 else None, **attributes)


@maker("ConvTranspose", weight=0.8)
def make_conv_transpose(b):
    x = image(b)
    shape = b.shape(x)
    groups = b.rng.choice([1, 1] + [g for g in (2, shape[1]) if shape[1] % g == 0])
    kernel = kernel_of(b, len(shape) - 2)
    out = b.rng.randint(1, 6)
    inputs = [x, scaled(b, F32, (shape[1], out, *kernel))]
    if b.rng.random() < 0.5:
        inputs.append(b.fresh(F32, [out * groups]))
    strides = [b.rng.choice([1, 2, 3]) for _ in kernel]
    attributes = {"strides": strides}
    kind = b.rng.random()
    if kind < 0.4:
        attributes["pads"] = [b.rng.randint(0, k - 1) for k in kernel + kernel]
    elif kind < 0.5 and all(k >= s for k, s in zip(kernel, strides)):  # else the two part ways
        attributes["auto_pad"] = b.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if b.rng.random() < 0.3:
        attributes["output_padding"] = [b.rng.randint(0, s - 1) for s in strides]
    if b.rng.random() < 0.2:
        attributes["dilations"] = [b.rng.choice([1, 2]) for _ in kernel]
    b.add("ConvTranspose", inputs, group=groups if groups > 1 else None, **attributes)


@maker("MaxPool", "AveragePool", "LpPool", weight=1.5)
def make_pool(b):
    op = b.rng.choice(["MaxPool", "AveragePool", "MaxPool", "AveragePool", "LpPool"])
    x = image(b)
    kernel = kernel_of(b, b.array(x).ndim - 2)
    ceil = op != "LpPool" and b.opset >= 10 or b.opset >= 18
    dilated = op == "MaxPool" and b.opset >= 10 or op == "AveragePool" and b.opset >= 19 or b.opset >= 18 and op == "LpPool"
    attributes = window(b, b.shape(x)[2:], kernel, ceil=True, dilated=dilated)
    if ceil and "auto_pad" not in attributes:
        attributes["ceil_mode"] = b.rng.choice([None, 0, 1])
    if op == "AveragePool":
        attributes["count_include_pad"] = b.rng.choice([None, 0, 1])
    if op == "LpPool":
        attributes["p"] = b.rng.choice([None, 1, 2, 3])
    outputs = 2 if op == "MaxPool" and b.opset >= 8 and b.rng.random() < 0.25 else 1
    if outputs == 2:
        attributes["storage_order"] = b.rng.choice([None, 0, 1])
    b.add(op, [x], outputs, **attributes)


@maker("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", weight=0.9)
def make_global_pool(b):
    op = b.rng.choice(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    b.add(op, [image(b)], p=b.rng.choice([None, 1, 2]) if op == "GlobalLpPool" else None)


# --- Norms ---


@maker("BatchNormalization", weight=1.0)
def make_batch_norm(b):
    x = image(b) if b.rng.random() < 0.7 else b.pick((F32,), ranks=(2, 3, 4))
    return batch_norm(b, x)


def batch_norm(b, x):
    c = b.shape(x)[1]
    constant = b.rng.random() < 0.85
    parts = [b.fresh(F32, [c], low=0.5, high=2, constant=constant), b.fresh(F32, [c], constant=constant),
             b.fresh(F32, [c], constant=constant), b.fresh(F32, [c], low=0.3, high=2, constant=constant)]
    return b.add("BatchNormalization", [x, *parts], epsilon=b.rng.choice([None, 1e-3]),
                 momentum=b.rng.choice([None, 0.8]))


@maker("InstanceNormalization", weight=0.5)
def make_instance_norm(b):
    x = image(b)
    c = b.shape(x)[1]
    b.add("InstanceNormalization", [x, b.fresh(F32, [c]), b.fresh(F32, [c])], epsilon=1e-2)


@maker("LayerNormalization", since=17, weight=0.8)
def make_layer_norm(b):
    x = b.pick((F32,), ranks=(1, 2, 3, 4), test=lambda a: a.size > 0)
    rank = b.array(x).ndim
    axis = b.rng.randint(-rank, rank - 1)
    dims = b.shape(x)[axis:]
    dims = [d if b.rng.random() < 0.85 else 1 for d in dims]
    inputs = [x, b.fresh(F32, dims)] + ([b.fresh(F32, dims)] if b.rng.random() < 0.6 else [])
    b.add("LayerNormalization", inputs, b.rng.choice([1, 1, 3]), axis=axis, epsilon=1e-2)


@maker("RMSNormalization", since=23, weight=0.6)
def make_rms_norm(b):
    x = b.pick((F32,), ranks=(2, 3, 4), test=lambda a: a.size > 0)
    axis = b.rng.choice([-1, -1, -2])
    b.add("RMSNormalization", [x, b.fresh(F32, b.shape(x)[axis:])], axis=axis, epsilon=1e-2)


@maker("GroupNormalization", since=18, weight=0.6)
def make_group_norm(b):
    x = image(b)
    c = b.shape(x)[1]
    groups = b.rng.choice([g for g in range(1, c + 1) if c % g == 0])
    count = groups if b.opset < 21 else c
    b.add("GroupNormalization", [x, b.fresh(F32, [count]), b.fresh(F32, [count])], num_groups=groups, epsilon=1e-2)


@maker("LRN", weight=0.5)
def make_lrn(b):
    # The reference evaluator sums nothing over the last channels; ONNX Runtime keeps a running sum, in
    # which a large number leaves its rounding.
    x = b.add("Tanh", [image(b, dims=2)])
    b.add("LRN", [x], size=b.rng.choice([1, 3, 5]), alpha=b.rng.choice([None, 0.1]),
          beta=b.rng.choice([None, 0.6]), bias=b.rng.choice([None, 2.0]))


# --- Recurrent ---


@maker("RNN", "GRU", "LSTM", weight=0.9)
def make_recurrent(b):
    op = b.rng.choice(["RNN", "GRU", "LSTM"])
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    steps, batch, size, hidden = b.rng.randint(1, 5), b.rng.randint(1, 3), b.rng.randint(1, 6), b.rng.randint(1, 6)
    direction = b.rng.choice(["forward", "forward", "reverse", "bidirectional"])
    count = 2 if direction == "bidirectional" else 1
    layout = b.rng.choice([None, None, 0, 1]) if b.opset >= 14 else None
    shape = [batch, steps, size] if layout else [steps, batch, size]
    inputs = [b.fresh(F32, shape), scaled(b, F32, (count, gates * hidden, size)),
              scaled(b, F32, (count, gates * hidden, hidden))]
    optional = [b.fresh(F32, [count, 2 * gates * hidden]) if b.rng.random() < 0.6 else "",
                b.leaf(b.random_array(I32, [batch], 1, steps + 1)) if b.rng.random() < 0.25 else "",
                b.fresh(F32, [batch, count, hidden] if layout else [count, batch, hidden]) if b.rng.random() < 0.4 else ""]
    if op == "LSTM":
        optional.append(b.fresh(F32, [batch, count, hidden] if layout else [count, batch, hidden]) if b.rng.random() < 0.4 else "")
        optional.append(b.fresh(F32, [count, 3 * hidden]) if b.rng.random() < 0.3 else "")
    if layout:  # ONNX Runtime lacks it, and the reference evaluator knows little of the rest
        optional = [optional[0]]
    while optional and not optional[-1]:
        optional.pop()
    outputs = [b.rng.random() < 0.9] + [True] * (2 if op == "LSTM" else 1)
    attributes = {"hidden_size": hidden, "direction": direction, "layout": layout}
    if op != "LSTM" and not layout and b.rng.random() < 0.2:  # ONNX Runtime does not clip what an LSTM's last activation reads
        attributes["clip"] = 0.7
    if op == "GRU":
        attributes["linear_before_reset"] = b.rng.choice([None, 0, 1])
    if not layout and b.rng.random() < 0.25:
        per = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        attributes["activations"] = [b.rng.choice(["Tanh", "Sigmoid", "Relu", "Softsign", "HardSigmoid"])
                                     for _ in range(per * count)]
    b.add(op, inputs + optional, outputs, **attributes)


# --- Attention ---


@maker("Attention", since=23, weight=0.8)
def make_attention(b):
    batch, heads, size = b.rng.randint(1, 2), b.rng.choice([1, 2, 4]), b.rng.choice([2, 4, 8])
    kv_heads = b.rng.choice([heads, heads, 1])
    q_length, k_length, v_size = b.rng.randint(1, 6), b.rng.randint(1, 6), b.rng.choice([2, 4, 8])
    attributes = {"is_causal": b.rng.choice([None, 0, 1]), "softcap": b.rng.choice([None, None, 2.0]),
                  "scale": b.rng.choice([None, 0.3])}
    if b.rng.random() < 0.5:
        inputs = [b.fresh(F32, [batch, heads, q_length, size]), b.fresh(F32, [batch, kv_heads, k_length, size]),
                  b.fresh(F32, [batch, kv_heads, k_length, v_size])]
    else:
        inputs = [b.fresh(F32, [batch, q_length, heads * size]), b.fresh(F32, [batch, k_length, kv_heads * size]),
                  b.fresh(F32, [batch, k_length, kv_heads * v_size])]
        attributes.update(q_num_heads=heads, kv_num_heads=kv_heads)
    past = b.rng.randint(1, 3) if b.rng.random() < 0.3 else 0
    mask = ""
    if b.rng.random() < 0.4:
        dims = b.rng.choice([[q_length, k_length + past], [batch, heads, q_length, k_length + past],
                             [1, 1, q_length, k_length + past]])
        mask = b.fresh(F32, dims) if b.rng.random() < 0.7 else b.leaf(numpy.tril(numpy.ones(dims)) > 0)
    if past:
        inputs += [mask, b.fresh(F32, [batch, kv_heads, past, size]), b.fresh(F32, [batch, kv_heads, past, v_size])]
    elif mask:
        inputs.append(mask)
    outputs = b.rng.choice([1, 1, 3, 4]) if past else 1
    b.add("Attention", inputs, outputs, **attributes)


@maker("RotaryEmbedding", since=23, weight=0.6)
def make_rotary(b):
    batch, heads, length, size = b.rng.randint(1, 2), b.rng.choice([1, 2]), b.rng.randint(1, 5), b.rng.choice([4, 8])
    rotary = b.rng.choice([None, None, 4]) if size == 8 else None
    half = (rotary or size) // 2
    attributes = {"interleaved": b.rng.choice([None, 0, 1]), "rotary_embedding_dim": rotary}
    if b.rng.random() < 0.5:
        x = b.fresh(F32, [batch, heads, length, size])
    else:
        x = b.fresh(F32, [batch, length, heads * size])
        attributes["num_heads"] = heads
    if b.rng.random() < 0.5:
        b.add("RotaryEmbedding", [x, b.fresh(F32, [batch, length, half]), b.fresh(F32, [batch, length, half])], **attributes)
    else:
        positions = b.leaf(b.random_array(I64, [batch, length], 0, 6))
        b.add("RotaryEmbedding", [x, b.fresh(F32, [6, half]), b.fresh(F32, [6, half]), positions], **attributes)


# --- Quantised ---


def scale_of(b, count=None):
    value = b.random_array(F32, () if count is None else [count], 0.02, 0.2)
    return b.leaf(value, constant=True)


def zero_of(b, dtype, count=None):
    low, high = (100, 140) if dtype == U8 else (-10, 10)
    return b.leaf(b.random_array(dtype, () if count is None else [count], low, high), constant=True)


@maker("QuantizeLinear", since=10, weight=0.7)
def make_quantize(b):
    x = b.pick((F32,))
    dtype = b.rng.choice([U8, I8])
    if b.opset >= 13 and b.array(x).ndim > 0 and b.rng.random() < 0.4:
        axis = b.rng.randrange(b.array(x).ndim)
        count = b.shape(x)[axis]
        b.add("QuantizeLinear", [x, scale_of(b, count), zero_of(b, dtype, count)], axis=axis)
    else:
        b.add("QuantizeLinear", [x, scale_of(b)] + ([zero_of(b, dtype)] if b.rng.random() < 0.8 else []))


@maker("DequantizeLinear", since=10, weight=0.7)
def make_dequantize(b):
    x = b.pick((U8, I8))
    dtype = b.array(x).dtype.type
    if b.opset >= 13 and b.array(x).ndim > 0 and b.rng.random() < 0.4:
        axis = b.rng.randrange(b.array(x).ndim)
        count = b.shape(x)[axis]
        b.add("DequantizeLinear", [x, scale_of(b, count), zero_of(b, dtype, count)], axis=axis)
    else:
        b.add("DequantizeLinear", [x, scale_of(b)] + ([zero_of(b, dtype)] if b.rng.random() < 0.8 else []))


@maker("DynamicQuantizeLinear", since=11, weight=0.4)
def make_dynamic_quantize(b):
    b.add("DynamicQuantizeLinear", [b.pick((F32,), test=lambda a: a.size > 0 and bool(numpy.isfinite(a).all()))], 3)


@maker("MatMulInteger", "QLinearMatMul", since=10, weight=0.8)
def make_integer_matmul(b):
    x_type, y_type = b.rng.choice([U8, I8]), b.rng.choice([U8, I8])
    m, k, n = b.dim(20), b.dim(40), b.dim(20)
    x = b.fresh(x_type, [*b.dims(b.rng.choice([0, 0, 1])), m, k])
    y = b.fresh(y_type, [k, n])
    if b.rng.random() < 0.5:
        zeros = [zero_of(b, x_type), zero_of(b, y_type)][:b.rng.choice([0, 1, 2])]
        b.add("MatMulInteger", [x, y, *zeros])
    else:
        b.add("QLinearMatMul", [x, scale_of(b), zero_of(b, x_type), y, scale_of(b), zero_of(b, y_type),
                                b.leaf(numpy.array(1.5, F32), constant=True), zero_of(b, x_type)])


@maker("ConvInteger", "QLinearConv", since=10, weight=0.8)
def make_integer_conv(b):
    dtype = b.rng.choice([U8, I8])
    x = image(b, (dtype,), dims=2)
    groups, out, kernel, weights = conv_parts(b, x)
    attributes = window(b, b.shape(x)[2:], kernel)
    if groups > 1:
        attributes["group"] = groups
    w_type = b.rng.choice([U8, I8]) if dtype == U8 else I8
    w = b.leaf(b.random_array(w_type, weights), constant=True)
    if b.rng.random() < 0.4:
        b.add("ConvInteger", [x, w] + [zero_of(b, dtype), zero_of(b, w_type)][:b.rng.choice([0, 1, 2])], **attributes)
        return
    each = out if b.rng.random() < 0.4 else None
    w_zero = b.leaf(numpy.full(() if each is None else [each], 0 if w_type == I8 else 128, w_type), constant=True)
    inputs = [x, scale_of(b), zero_of(b, dtype), w, scale_of(b, each), w_zero,
              b.leaf(numpy.array(2.5, F32), constant=True), zero_of(b, dtype)]
    if b.rng.random() < 0.5:
        inputs.append(b.leaf(b.random_array(I32, [out], -200, 200), constant=True))
    b.add("QLinearConv", inputs, **attributes)


# --- Images ---


@maker("Resize", since=10, weight=1.0)
def make_resize(b):
    x = b.pick((F32,), ranks=(2, 3, 4), test=lambda a: a.size > 0) if b.rng.random() < 0.3 else image(b, dims=2)
    shape = b.shape(x)
    keep = len(shape) - 2
    factors = [1.0] * keep + [b.rng.choice([0.5, 2.0, 1.5, 3.0, 0.75, 1.0]) for _ in range(2)]
    mode = b.rng.choice(["nearest", "nearest", "linear"] + (["cubic"] if b.opset >= 11 else []))
    if b.opset == 10:
        b.add("Resize", [x, b.param(factors, F32)], mode=mode)
        return
    attributes = {"mode": mode, "coordinate_transformation_mode": b.rng.choice(
        [None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"] +
        (["half_pixel_symmetric"] if b.opset >= 19 else []))}
    if mode == "nearest":
        attributes["nearest_mode"] = b.rng.choice([None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = b.rng.choice([None, -0.5])
        attributes["exclude_outside"] = b.rng.choice([None, 0, 1])
    if b.opset >= 18 and mode != "nearest":
        attributes["antialias"] = b.rng.choice([None, 0, 1])
    axes = [keep, keep + 1] if b.opset >= 18 and b.rng.random() < 0.4 else None
    attributes["axes"] = axes
    roi = "" if b.opset >= 13 else b.leaf(numpy.zeros(0, F32), constant=True)
    if b.rng.random() < 0.5:
        b.add("Resize", [x, roi, b.param(factors if axes is None else factors[-2:], F32)], **attributes)
    else:
        sizes = list(shape[:keep]) + [b.rng.randint(1, 20), b.rng.randint(1, 20)]
        scales = "" if b.opset >= 13 else b.leaf(numpy.zeros(0, F32), constant=True)
        if b.opset >= 18:
            attributes["keep_aspect_ratio_policy"] = b.rng.choice([None, None, "stretch", "not_larger", "not_smaller"])
        b.add("Resize", [x, roi, scales, b.param(sizes if axes is None else sizes[-2:])], **attributes)


@maker("Upsample", since=7, until=9, weight=1.0)
def make_upsample(b):
    x = image(b, dims=2)
    scales = [1.0, 1.0, b.rng.choice([1.0, 2.0, 3.0]), b.rng.choice([1.0, 2.0])]
    mode = b.rng.choice([None, "nearest", "linear"])
    if b.opset < 9:
        b.add("Upsample", [x], scales=scales, mode=mode)
    else:
        b.add("Upsample", [x, b.param(scales, F32)], mode=mode)


@maker("GridSample", since=16, weight=0.6)
def make_grid_sample(b):
    dims = b.rng.choice([2, 2, 2, 3]) if b.opset >= 20 else 2
    x = image(b, dims=dims)
    out = [b.rng.randint(1, 6) for _ in range(dims)]
    grid = b.leaf(b.random_array(F32, [b.shape(x)[0], *out, dims], -1.3, 1.3))
    words = ["linear", "nearest"] + (["cubic"] if dims == 2 else []) if b.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    b.add("GridSample", [x, grid], mode=b.rng.choice([None, *words]), align_corners=b.rng.choice([None, 0, 1]),
          padding_mode=b.rng.choice([None, "zeros", "border", "reflection"]))


@maker("RoiAlign", since=10, weight=0.5)
def make_roi_align(b):
    x = image(b, dims=2)
    count = b.rng.randint(0 if b.root.zero_chance else 1, 3)
    corner = b.random_array(F32, [count, 2], 0, 5)
    rois = numpy.concatenate([corner, corner + b.random_array(F32, [count, 2], 0.5, 8)], axis=1)
    numbers = b.random_array(I64, [count], 0, b.shape(x)[0])
    b.add("RoiAlign", [x, b.leaf(rois), b.leaf(numbers)], output_height=b.rng.randint(1, 4),
          output_width=b.rng.randint(1, 4), sampling_ratio=b.rng.choice([None, 0, 1, 2]),
          spatial_scale=b.rng.choice([None, 0.5]), mode=b.rng.choice([None, "avg", "max"]),
          coordinate_transformation_mode=b.rng.choice([None, "half_pixel", "output_half_pixel"]) if b.opset >= 16 else None)


@maker("NonMaxSuppression", since=10, weight=0.5)
def make_nms(b):
    count, classes, batch = b.rng.randint(1, 12), b.rng.randint(1, 2), b.rng.randint(1, 2)
    corner = b.random_array(F32, [batch, count, 2], 0, 4)
    boxes = numpy.concatenate([corner, corner + b.random_array(F32, [batch, count, 2], 0.5, 3)], axis=2)
    scores = b.random_array(F32, [batch, classes, count], 0, 1)
    inputs = [b.leaf(boxes), b.leaf(scores), b.leaf(numpy.array(b.rng.randint(1, 5), I64), constant=True),
              b.leaf(numpy.array(0.4, F32), constant=True), b.leaf(numpy.array(0.1, F32), constant=True)]
    b.add("NonMaxSuppression", inputs[:b.rng.choice([3, 4, 5])], center_point_box=b.rng.choice([None, 0, 1]))


# --- What is fused ---


def activation(b, x):
    op = b.rng.choice(["Relu", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid", "Elu", "HardSwish", "Silu", ""])
    if op == "Clip":
        if b.opset < 11:
            return b.add("Clip", [x], min=0.0, max=6.0)
        return b.add("Clip", [x, b.leaf(numpy.array(0, F32), constant=True), b.leaf(numpy.array(6, F32), constant=True)])
    if op == "Silu":
        return b.add("Mul", [x, b.add("Sigmoid", [x])])
    if op == "HardSwish" and b.opset < 14 or not op:
        return x
    return b.add(op, [x])


@maker("fused convolution", weight=3.0)
def make_conv_chain(b):
    """Conv, norm, bias, residual, activation, in the usual orders."""
    x = image(b, dims=b.rng.choice([2, 2, 2, 1]))
    for _ in range(b.rng.choice([1, 1, 2])):
        groups, out, kernel, weights = conv_parts(b, x)
        kernel = [k if k % 2 else 3 for k in kernel]
        pads = [k // 2 for k in kernel + kernel]
        parts = [x, scaled(b, F32, (out, weights[1], *kernel))]
        if b.rng.random() < 0.5:
            parts.append(b.fresh(F32, [out], constant=True))
        y = b.add("Conv", parts, pads=pads, group=groups if groups > 1 else None)
        if b.rng.random() < 0.4:
            y = batch_norm(b, y)
        if b.rng.random() < 0.2:
            y = b.add(b.rng.choice(["Add", "Mul"]), [y, b.fresh(F32, [out] + [1] * len(kernel), constant=True)])
        if b.rng.random() < 0.5:
            other = x if b.shape(x) == b.shape(y) else b.fresh(F32, b.shape(y))
            y = b.add("Add", [y, other] if b.rng.random() < 0.5 else [other, y])
        x = activation(b, y)


@maker("fused product", weight=2.0)
def make_product_chain(b):
    x = b.pick((F32,), ranks=(2, 3))
    n = b.dim()
    y = b.add("MatMul", [x, scaled(b, F32, (b.shape(x)[-1], n))])
    if b.rng.random() < 0.8:
        y = b.add("Add", [y, b.fresh(F32, b.rng.choice([[n], [n], [1], [1, n]]), constant=True)])
    if b.rng.random() < 0.3:
        y = b.add("Add", [y, b.fresh(F32, b.shape(y))])
    activation(b, y)


@maker("spelled-out norm", weight=0.8)
def make_spelled_norm(b):
    x = b.pick((F32,), ranks=(2, 3), test=lambda a: a.size > 0 and a.shape[-1] > 1)

    def mean(v):
        if b.opset >= 18:
            return b.add("ReduceMean", [v, b.leaf(numpy.array([-1], I64), constant=True)], keepdims=1)
        return b.add("ReduceMean", [v], axes=[-1] if b.opset >= 11 else [b.array(v).ndim - 1], keepdims=1)

    centred = b.add("Sub", [x, mean(x)])
    if b.rng.random() < 0.5:
        squared = b.add("Mul", [centred, centred])
    else:
        squared = b.add("Pow", [centred, b.leaf(numpy.array(2, F32), constant=True)])
    variance = b.add("Add", [mean(squared), b.leaf(numpy.array(1e-2, F32), constant=True)])
    y = b.add("Div", [centred, b.add("Sqrt", [variance])])
    n = b.shape(x)[-1]
    y = b.add("Mul", [y, b.fresh(F32, [n], constant=True)])
    b.add("Add", [y, b.fresh(F32, [n], constant=True)])


@maker("spelled-out gelu", since=9, weight=0.8)
def make_spelled_gelu(b):
    x = b.pick((F32,))

    def number(v):
        return b.leaf(numpy.array(v, F32), constant=True)

    if b.rng.random() < 0.5:
        y = b.add("Erf", [b.add("Div", [x, number(2 ** 0.5)])])
        y = b.add("Mul", [x, b.add("Add", [y, number(1)])])
    else:
        cube = b.add("Pow", [x, number(3)])
        y = b.add("Add", [x, b.add("Mul", [cube, number(0.044715)])])
        y = b.add("Tanh", [b.add("Mul", [y, number(0.7978845608)])])
        y = b.add("Mul", [x, b.add("Add", [y, number(1)])])
    b.add("Mul", [y, number(0.5)])


@maker("prepared image", weight=0.8)
def make_prepared(b):
    n, h, w, c = b.rng.randint(1, 2), b.rng.randint(2, 9), b.rng.randint(2, 9), b.rng.choice([1, 3, 4])
    x = b.fresh(U8, [n, h, w, c], constant=False)
    y = b.add("Cast", [x], to=TensorProto.FLOAT) if b.rng.random() < 0.9 else b.fresh(F32, [n, h, w, c], constant=False)
    for step in b.rng.sample(["turn", "sub", "mul", "pad"], b.rng.randint(1, 4)):
        last = b.shape(y)
        if step == "turn":
            y = b.add("Transpose", [y], perm=b.rng.choice([[0, 3, 1, 2], [0, 2, 3, 1], [0, 1, 3, 2]]))
        elif step == "pad":
            pads = [0, 0, 1, 1, 0, 0, b.rng.randint(0, 2), 1]
            y = b.add("Pad", [y, b.param(pads)]) if b.opset >= 11 else b.add("Pad", [y], pads=pads)
        else:
            dims = b.rng.choice([(), (last[-1],), (last[1], 1, 1)])
            number = b.leaf(b.random_array(F32, dims, 0.005, 0.02) if step == "mul" else b.random_array(F32, dims, 100, 130), constant=True)
            y = b.add("Mul" if step == "mul" else b.rng.choice(["Sub", "Add"]), [y, number])


@maker("chain of maps", weight=2.0)
def make_map_chain(b):
    """Element-wise operators in a row, with operands of other shapes."""
    y = b.pick((F32,))
    for _ in range(b.rng.randint(2, 7)):
        op = b.rng.choice(["Add", "Sub", "Mul", "Sigmoid", "Tanh", "Relu", "Neg", "Abs", "Max", "Min", "LeakyRelu",
                           "Div", "Sqrt", "Exp", "Softplus", "Clip", "Where"])
        if op in ("Add", "Sub", "Mul", "Max", "Min"):
            other = y if b.rng.random() < 0.1 else partner(b, y)
            if op in ("Max", "Min") and b.opset < 8:
                continue
            y = b.add(op, [y, other] if b.rng.random() < 0.5 else [other, y])
        elif op == "Div":
            y = b.add(op, [y, partner(b, y, low=0.4, high=3)])
        elif op == "Sqrt":
            y = b.add("Sqrt", [b.add("Abs", [y])])
        elif op == "Exp":
            y = b.add("Exp", [b.add("Tanh", [y])])
        elif op == "Clip":
            y = activation(b, y)
        elif op == "Where":
            if b.opset >= 9:
                test = b.add("Greater", [y, b.leaf(numpy.array(0.1, F32), constant=True)])
                y = b.add("Where", [test, y, partner(b, y)])
        else:
            y = b.add(op, [y])


@maker("turned there and back", weight=0.8)
def make_turned(b):
    x = b.pick((F32,), ranks=(3, 4))
    perm = list(range(b.array(x).ndim))
    b.rng.shuffle(perm)
    y = b.add("Transpose", [x], perm=perm)
    if b.rng.random() < 0.7:
        y = activation(b, y)
    b.add("Transpose", [y], perm=[perm.index(i) for i in range(len(perm))])


@maker("sizes computed", weight=0.8)
def make_computed_shape(b):
    """Shape, Gather, Concat, Reshape: sizes that are worked out from an input."""
    x = b.pick(ranks=(2, 3, 4))
    shape = b.add("Shape", [x])
    axis = b.rng.randrange(b.array(x).ndim)
    size = b.add("Gather", [shape, b.leaf(numpy.array([axis], I64), constant=True)])
    rest = b.leaf(numpy.array([-1], I64), constant=True)
    b.add("Reshape", [x, b.add("Concat", [size, rest] if b.rng.random() < 0.5 else [rest, size], axis=0)])


@maker("quantised there and back", since=10, weight=0.6)
def make_back_and_forth(b):
    x = b.pick((F32,))
    scale, zero = scale_of(b), zero_of(b, b.rng.choice([U8, I8]))
    b.add("DequantizeLinear", [b.add("QuantizeLinear", [x, scale, zero]), scale, zero])


@maker("DFT", since=17, weight=0.6)
def make_dft(b):
    shape = [b.rng.randint(1, 3), b.rng.randint(1, 40), b.rng.choice([1, 2])]
    onesided = b.rng.randint(0, 1) if shape[2] == 1 else 0
    length = b.leaf(numpy.array(b.rng.randint(1, 45), I64), constant=True) if b.rng.random() < 0.4 else ""
    x = b.fresh(F32, shape)
    keep = {"onesided": onesided, "inverse": 0 if onesided else b.rng.choice([None, 1])}
    if b.opset < 20:
        b.add("DFT", [x, length], axis=1, **keep)
    else:
        b.add("DFT", [x, length, b.leaf(numpy.array(1, I64), constant=True)], **keep)


@maker("STFT", since=17, weight=0.4)
def make_stft(b):
    step, length = b.rng.randint(1, 9), b.rng.randint(2, 16)
    x = b.fresh(F32, [b.rng.randint(1, 2), b.rng.randint(length, 60), 1])
    window = b.fresh(F32, [length], constant=True) if b.rng.random() < 0.6 else ""
    b.add("STFT", [x, *(b.leaf(numpy.array(n, I64), constant=True) if n else window for n in (step, 0, length))],
          onesided=b.rng.choice([0, 1]))


@maker("MelWeightMatrix", since=17, weight=0.2)
def make_mel(b):
    numbers = [numpy.array(n, I64) for n in (b.rng.randint(1, 12), b.rng.randint(16, 300), 16000)]
    numbers += [numpy.array(n, F32) for n in (b.rng.randint(0, 200), b.rng.randint(500, 7000))]
    b.add("MelWeightMatrix", [b.leaf(n, constant=True) for n in numbers])


@maker("Unique", since=11, weight=0.5)
def make_unique(b):
    # Of reals that are given: computed ones differ by their rounding where the reference has the same.
    x = b.pick((I64, I8), ranks=(1, 2, 3), test=lambda a: a.size > 0)
    if b.rng.random() < 0.5:
        x = b.leaf(numpy.array([b.rng.randint(-3, 3) / 4 for _ in range(b.array(x).size)], F32).reshape(b.array(x).shape))
    axis = b.rng.choice([None] + list(range(b.array(x).ndim)))
    outputs = [True] + [b.rng.random() < 0.6 for _ in range(3)]
    b.add("Unique", [x], outputs, axis=axis, sorted=b.rng.choice([None, 0, 1]))


@maker("Col2Im", since=18, weight=0.5)
def make_col2im(b):
    image, block = ([b.rng.randint(low, high) for _ in range(2)] for low, high in ((4, 9), (1, 3)))
    strides, dilations = ([b.rng.randint(1, 2) for _ in range(2)] for _ in range(2))
    pads = [b.rng.randint(0, 1) for _ in range(4)]
    count = 1
    for i in range(2):
        count *= (image[i] + pads[i] + pads[2 + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
    x = b.fresh(F32, [b.rng.randint(1, 2), b.rng.randint(1, 3) * block[0] * block[1], count])
    b.add("Col2Im", [x, b.leaf(numpy.array(image, I64), constant=True), b.leaf(numpy.array(block, I64), constant=True)],
          strides=strides, dilations=dilations, pads=pads)


@maker("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", since=12, weight=0.4)
def make_loss(b):
    op = b.rng.choice(["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
    shape = b.dims(b.rng.randint(2, 4))
    x = b.fresh(F32, shape)
    labels = numpy.array([b.rng.randrange(shape[1]) for _ in range(int(numpy.prod(shape)) // max(shape[1], 1))], I64)
    inputs = [x, b.leaf(labels.reshape([shape[0], *shape[2:]]).astype(b.rng.choice([I64, I32])))]
    if b.rng.random() < 0.5:
        inputs.append(b.fresh(F32, [shape[1]], low=0.1, high=2.0))
    outputs = [True, True] if op == "SoftmaxCrossEntropyLoss" and b.rng.random() < 0.5 else 1
    b.add(op, inputs, outputs, reduction=b.rng.choice([None, "none", "sum", "mean"]),
          ignore_index=b.rng.choice([None, None, -100, 0]))


@maker("DeformConv", since=19, weight=0.6)
def make_deform_conv(b):
    x = image(b, dims=2)
    shape = b.shape(x)
    groups, offset_groups = (b.rng.choice([1, 1] + [g for g in (2, shape[1]) if shape[1] % g == 0]) for _ in range(2))
    kernel, out = [b.rng.randint(1, 3) for _ in range(2)], groups * b.rng.randint(1, 4)
    strides, dilations = ([b.rng.randint(1, 2) for _ in range(2)] for _ in range(2))
    pads = [b.rng.randint(0, 2) for _ in range(4)]
    places = [(n + pads[i] + pads[2 + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i, n in enumerate(shape[2:])]
    # ONNX's reference takes a millisecond for each window, and divides by 0 along an axis of one.
    windows = shape[0] * shape[1] // groups * out * places[0] * places[1]
    if min(places) < 1 or min(shape[2:]) < 2 or windows > 3000:
        raise Unfit
    area = offset_groups * kernel[0] * kernel[1]
    inputs = [x, scaled(b, F32, (out, shape[1] // groups, *kernel)),
              b.leaf(b.random_array(F32, [shape[0], 2 * area, *places], -2, 2))]
    if b.rng.random() < 0.6:
        inputs.append(b.fresh(F32, [out], constant=True) if b.rng.random() < 0.6 else "")
        if not inputs[3] or b.rng.random() < 0.5:
            inputs.append(b.leaf(b.random_array(F32, [shape[0], area, *places], 0, 1)))
    b.add("DeformConv", inputs, group=groups if groups > 1 else None, offset_group=offset_groups if offset_groups > 1 else None,
          strides=strides, dilations=dilations, pads=pads)


@maker("AffineGrid", since=20, weight=0.3)
def make_affine_grid(b):
    dims = b.rng.choice([2, 3])
    size = [b.rng.randint(1, 2), b.rng.randint(1, 3)] + [b.rng.randint(2, 6) for _ in range(dims)]
    b.add("AffineGrid", [b.fresh(F32, [size[0], dims, dims + 1]), b.leaf(numpy.array(size, I64), constant=True)],
          align_corners=b.rng.choice([None, 0, 1]))


@maker("MaxUnpool", since=11, weight=0.3)
def make_max_unpool(b):
    dims = b.rng.choice([1, 2, 2, 3])
    strides, kernel = ([b.rng.randint(1, 3) for _ in range(dims)] for _ in range(2))
    shape = [b.rng.randint(1, 2), b.rng.randint(1, 3)] + [b.rng.randint(1, 4) for _ in range(dims)]
    count = numpy.prod(shape[:2] + [(n - 1) * s + k for n, s, k in zip(shape[2:], strides, kernel)])
    if count < numpy.prod(shape):
        raise Unfit
    places = numpy.array(b.rng.sample(range(int(count)), int(numpy.prod(shape))), I64).reshape(shape)
    b.add("MaxUnpool", [b.fresh(F32, shape), b.leaf(places)], kernel_shape=kernel, strides=strides)


@maker("Det", since=11, weight=0.3)
def make_determinant(b):
    size = b.rng.randint(1, 5)
    batch = [b.rng.randint(1, 3) for _ in range(b.rng.randint(0, 2))]
    b.add("Det", [b.fresh(F32, [*batch, size, size])])
