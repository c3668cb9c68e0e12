# SPDX-License-Identifier: Apache-2.0
"""Random nodes of com.microsoft that are quantised or whose weights have a few bits, mixtures of experts, and quantisers
around everything."""
import numpy

from builder import BOOL, F32, I32, I64, I8, MICROSOFT, U8, Unfit
from operators import broadcast_shape, maker
from operators_heavy import conv_parts, image, scale_of, window, zero_of
from operators_layers import add, contrib, maybe, number, vector
from operators_heads import key_mask


def quanta(b, dtype, shape, constant=None):
    limits = numpy.iinfo(dtype)
    return b.leaf(b.random_array(dtype, shape, limits.min, limits.max + 1), constant=constant)


def quantised(b, dtype=None, shape=None, ranks=(1, 2, 3, 4), test=None):
    """A tensor with its scale and its zero point."""
    dtype = dtype or b.rng.choice([U8, U8, I8])
    x = quanta(b, dtype, shape) if shape is not None else b.pick((dtype,), ranks=ranks, test=test)
    return [x, scale_of(b), zero_of(b, dtype)]


def result_of(b, dtype, wide=0.1):
    return [number(b, b.rng.choice([wide, 2 * wide, wide / 2])), zero_of(b, dtype)]


def type_of(b, triple):
    return b.array(triple[0]).dtype.type


@contrib("QLinearAdd", "QLinearMul", weight=0.8)
def make_quantised_pair(b):
    x = quantised(b)
    dtype = type_of(b, x)
    y = quantised(b, dtype, broadcast_shape(b, b.shape(x[0]))) if b.rng.random() < 0.9 else x
    add(b, b.rng.choice(["QLinearAdd", "QLinearMul"]), [*x, *y, *result_of(b, dtype)])


@contrib("QLinearSigmoid", "QLinearLeakyRelu", weight=0.6)
def make_quantised_map(b):
    x = quantised(b)
    dtype = type_of(b, x)
    if b.rng.random() < 0.5:
        add(b, "QLinearSigmoid", [*x, number(b, 1 / 256), number(b, 0 if dtype == U8 else -128, dtype)])
    else:
        add(b, "QLinearLeakyRelu", [*x, *result_of(b, dtype)], alpha=b.rng.choice([None, 0.2, -0.5, 1.5]))


@contrib("QLinearSoftmax", weight=0.4)
def make_quantised_softmax(b):
    x = quantised(b, ranks=(2, 3), test=lambda a: a.size > 0)
    dtype, rank = type_of(b, x), b.array(x[0]).ndim
    add(b, "QLinearSoftmax", [*x, number(b, 1 / 256), number(b, 0 if dtype == U8 else -128, dtype)],
        axis=b.rng.choice([None, b.rng.randint(-rank, rank - 1)]), opset=b.rng.choice([b.opset, 11, 13]))


@contrib("QLinearConcat", weight=0.5)
def make_quantised_concat(b):
    x = quantised(b)
    dtype, shape = type_of(b, x), list(b.shape(x[0]))
    axis = b.rng.randrange(len(shape))
    parts = [*x]
    for _ in range(b.rng.randint(0, 2)):
        shape[axis] = b.dim(6)
        parts += quantised(b, dtype, shape)
    add(b, "QLinearConcat", [*result_of(b, dtype), *parts], axis=axis)


@contrib("QLinearWhere", weight=0.4)
def make_quantised_where(b):
    x = quantised(b)
    dtype, shape = type_of(b, x), b.shape(x[0])
    condition = b.fresh(BOOL, broadcast_shape(b, shape))
    add(b, "QLinearWhere", [condition, *x, *quantised(b, dtype, broadcast_shape(b, shape)), *result_of(b, dtype)])


@contrib("QLinearAveragePool", "QLinearGlobalAveragePool", "NhwcMaxPool", weight=0.6)
def make_quantised_pool(b):
    dtype = b.rng.choice([U8, U8, I8])
    n, c, spatial = b.rng.randint(1, 2), b.rng.randint(1, 17), [b.rng.randint(2, 8) for _ in range(2)]
    is_last = b.rng.choice([None, 0, 1])
    op = b.rng.choice(["QLinearAveragePool", "QLinearGlobalAveragePool", "NhwcMaxPool"])
    x = quantised(b, dtype, [n, *spatial, c] if is_last or op == "NhwcMaxPool" else [n, c, *spatial])
    if op == "QLinearGlobalAveragePool":
        add(b, op, [*x, *result_of(b, dtype)], channels_last=is_last)
        return
    # ONNX Runtime divides by zero where a window is larger than an image.
    attributes = window(b, spatial, [b.rng.randint(1, min(3, n)) for n in spatial], ceil=True, dilated=op == "NhwcMaxPool")
    if "auto_pad" not in attributes:
        attributes["ceil_mode"] = b.rng.choice([None, 0, 1])
    if op == "NhwcMaxPool":
        add(b, op, x[:1], **attributes)
    else:
        counted = b.rng.choice([None, 0, 1])
        add(b, op, [*x, *result_of(b, dtype)], channels_last=is_last, count_include_pad=counted, **attributes)


@contrib("QLinearConv", weight=0.5)
def make_last_conv(b):
    channels = b.rng.randint(1, 9)
    groups = b.rng.choice([1, 1, channels])
    out, kernel, spatial = groups * b.rng.randint(1, 4), [b.rng.randint(1, 3) for _ in range(2)], [b.rng.randint(3, 8) for _ in range(2)]
    attributes = window(b, spatial, kernel)
    x = quantised(b, U8, [b.rng.randint(1, 2), *spatial, channels])
    count = out if b.rng.random() < 0.5 else None
    w = [quanta(b, I8, [out, channels // groups, *kernel], True), scale_of(b, count),
         b.leaf(numpy.zeros(() if count is None else [count], I8), constant=True)]
    bias = maybe(b, lambda: b.leaf(b.random_array(I32, [out], -200, 200), constant=True))
    add(b, "QLinearConv", [*x, *w, *result_of(b, U8, 0.5), bias], channels_last=1, group=groups, **attributes)


def matrix(b, k, n, each_chance=0.5, is_turned=False):
    """Quantised weights, one scale or one of each column, zero points or none."""
    dtype = b.rng.choice([U8, I8, I8])
    count = n if b.rng.random() < each_chance else None
    return [quanta(b, dtype, [n, k] if is_turned else [k, n], True), scale_of(b, count), zero_of(b, dtype, count)]


@contrib("MatMulIntegerToFloat", "DynamicQuantizeMatMul", weight=0.7)
def make_integer_to_float(b):
    batch, m, k, n = b.dims(b.rng.choice([0, 0, 1])), b.dim(12), b.rng.randint(1, 20), b.dim(12)
    w, scale, zero = matrix(b, k, n)
    bias = maybe(b, lambda: vector(b, n))
    zero = zero if b.rng.random() < 0.7 else ""
    if b.rng.random() < 0.5:
        x = quantised(b, U8, [*batch, m, k])
        add(b, "MatMulIntegerToFloat", [x[0], w, x[1], scale, x[2] if b.rng.random() < 0.8 else "", zero, bias])
    else:
        add(b, "DynamicQuantizeMatMul", [b.fresh(F32, [*batch, max(m, 1), k]), w, scale, zero, bias])


@contrib("QGemm", weight=0.5)
def make_quantised_gemm(b):
    m, k, n = b.dim(12), b.rng.randint(1, 20), b.dim(12)
    dtype, trans_a, trans_b = b.rng.choice([U8, I8]), b.rng.choice([None, 0, 1]), b.rng.choice([None, 0, 1])
    x = quantised(b, dtype, [k, m] if trans_a else [m, k])
    w_type = I8 if dtype == I8 else b.rng.choice([U8, I8])
    count = n if b.rng.random() < 0.5 and n else None
    w = [quanta(b, w_type, [n, k] if trans_b else [k, n], True), scale_of(b, count), zero_of(b, w_type, count)]
    bias = maybe(b, lambda: b.leaf(b.random_array(I32, b.rng.choice([[n], [1, n]]), -500, 500), constant=True))
    result = result_of(b, dtype, 0.3) if b.rng.random() < 0.6 else ["", ""]
    add(b, "QGemm", [*x, *w, bias, *result], transA=trans_a, transB=trans_b, alpha=b.rng.choice([None, 1.0, 0.5]))


@contrib("QAttention", weight=0.5)
def make_quantised_attention(b):
    batch, steps, heads, size, wide = b.rng.randint(1, 2), b.rng.randint(1, 5), b.rng.randint(1, 3), b.rng.choice([2, 4, 8]), b.rng.choice([3, 8])
    hidden = 3 * heads * size
    count = hidden if b.rng.random() < 0.4 else None
    w_type = b.rng.choice([U8, I8])
    past = b.rng.randint(1, 3) if b.rng.random() < 0.2 else 0
    inputs = [quanta(b, U8, [batch, steps, wide]), quanta(b, w_type, [wide, hidden], True), vector(b, hidden), scale_of(b),
              b.leaf(b.random_array(F32, () if count is None else [count], 0.002, 0.02), constant=True),
              key_mask(b, batch, steps) if not past and b.rng.random() < 0.5 else "",
              zero_of(b, U8), zero_of(b, w_type, count), b.fresh(F32, [2, batch, heads, past, size]) if past else ""]
    add(b, "QAttention", inputs, 2 if past else 1, num_heads=heads, unidirectional=b.rng.choice([None, 0, 1]))


@contrib("DynamicQuantizeLSTM", weight=0.3)
def make_quantised_lstm(b):
    # Of several sequences ONNX Runtime rounds the states of a step together.
    batch, size, hidden, ways = b.rng.randint(1, 3), b.rng.randint(1, 6), b.rng.randint(1, 6), b.rng.choice([1, 2])
    steps = b.rng.randint(1, 4) if batch == 1 else 1
    dtype = b.rng.choice([U8, I8])
    each = b.rng.random() < 0.5
    scales = [b.leaf(b.random_array(F32, [ways, 4 * hidden] if each else [ways], 0.005, 0.02), constant=True) for _ in range(2)]
    zeros = [b.leaf(numpy.full([ways, 4 * hidden] if each else [ways], 0 if dtype == I8 else 128, dtype), constant=True) for _ in range(2)]
    weights = [quanta(b, dtype, [ways, n, 4 * hidden], True) for n in (size, hidden)]
    bias = maybe(b, lambda: b.fresh(F32, [ways, 8 * hidden], constant=True))
    inputs = [b.fresh(F32, [steps, batch, size]), *weights, bias, "", "", "", "", scales[0], zeros[0], scales[1], zeros[1]]
    add(b, "DynamicQuantizeLSTM", inputs, b.rng.choice([1, 2, 3]), hidden_size=hidden,
        direction="bidirectional" if ways == 2 else b.rng.choice(["forward", "reverse"]))


@contrib("QuantizeLinear", "DequantizeLinear", weight=0.5)
def make_old_quantizers(b):
    dtype = b.rng.choice([U8, I8])
    if b.rng.random() < 0.5:
        x = b.pick((F32,), ranks=(1, 2, 3, 4))
        op = "QuantizeLinear"
    else:
        x = b.pick((dtype,), ranks=(1, 2, 3, 4))
        op = "DequantizeLinear"
    axis = b.rng.randrange(b.array(x).ndim)
    count = b.shape(x)[axis] if b.rng.random() < 0.4 else None
    add(b, op, [x, scale_of(b, count), zero_of(b, dtype, count)], axis=axis if count is not None else None)


@contrib("QEmbedLayerNormalization", weight=0.3)
def make_quantised_embedding(b):
    batch, length, size, words = b.rng.randint(1, 3), b.rng.randint(1, 6), b.rng.choice([4, 8, 12]), b.rng.randint(1, 9)
    has_segments = b.rng.random() < 0.5
    ids = b.leaf(b.random_array(I32, [batch, length], 0, words))
    segments = b.leaf(b.random_array(I32, [batch, length], 0, 2)) if has_segments else ""
    tables = [quanta(b, U8, [n, size], True) if n else "" for n in (words, length + 1, 2 if has_segments else 0)]
    rows = [quanta(b, U8, [size], True) for _ in range(2)]
    scales = [scale_of(b) if n else "" for n in (1, 1, has_segments, 1, 1)]
    zeros = [zero_of(b, U8) if n else "" for n in (1, 1, has_segments, 1, 1)]
    mask = numpy.arange(length)[None, :] < b.random_array(I32, [batch, 1], 1, length + 1)
    add(b, "QEmbedLayerNormalization", [ids, segments, *tables, *rows, maybe(b, lambda: b.leaf(mask.astype(I32))), *scales, *zeros], 2,
        epsilon=b.rng.choice([None, 1e-2]))


# --- Weights of a few bits ---


def packed(numbers, bits):
    """So many bits of each along the last axis, from the lowest on."""
    each = 8 // bits
    numbers = numpy.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % each)])
    return sum((numbers[..., i::each].astype(U8) << bits * i for i in range(each)), numpy.zeros_like(numbers[..., ::each], U8)).astype(U8)


@contrib("MatMulNBits", weight=1.0)
def make_block_matmul(b):
    bits, block = b.rng.choice([2, 4, 4, 8]), b.rng.choice([16, 32, 32, 64, 128])
    k, n = b.rng.choice([1, 8, 16, 31, 32, 40, 64, 96, 130]), b.rng.choice([1, 2, 3, 8, 17, 32])
    blocks = -(-k // block)
    x = b.fresh(F32, [*b.dims(b.rng.choice([0, 0, 1])), b.dim(9), k])
    inputs = [x, b.leaf(b.random_array(U8, [n, blocks, block * bits // 8], 0, 256), constant=True),
              b.leaf(b.random_array(F32, b.rng.choice([[n, blocks], [n * blocks]]), -0.1, 0.1), constant=True)]
    kind = b.rng.choice(["", "", "packed", "packed", "real" if bits != 8 else ""])
    if kind == "packed":
        shape = [n, (blocks * bits + 7) // 8]
        inputs.append(b.leaf(b.random_array(U8, b.rng.choice([shape, [shape[0] * shape[1]]]), 0, 256), constant=True))
    else:
        inputs.append(b.leaf(b.random_array(F32, [n, blocks], 0, 2**bits), constant=True) if kind else "")
    # With an order of the blocks ONNX Runtime has 4 bits alone, and does not look at packed zero points.
    has_order = bits == 4 and kind != "packed" and b.rng.random() < 0.3
    order = b.leaf(b.random_array(I32, [blocks * block], 0, blocks), constant=True) if has_order else ""
    inputs += [order, maybe(b, lambda: vector(b, n), 0.4)]
    # 4 rounds what is multiplied: only of 4 bits do both round alike.
    level = b.rng.choice([None, None, 1, 1, 4] if bits == 4 and kind != "real" and not has_order else [None, 1])
    add(b, "MatMulNBits", inputs, K=k, N=n, bits=bits if bits != 4 or b.rng.random() < 0.8 else None, block_size=block,
        accuracy_level=level)


@contrib("MatMulBnb4", weight=0.4)
def make_bnb(b):
    k, n, block = b.rng.choice([4, 16, 40, 64]), b.rng.choice([1, 2, 5, 8]), b.rng.choice([16, 32, 64])
    if k * n % 2:
        raise Unfit("half a byte")
    inputs = [b.fresh(F32, [b.dim(9), k]), b.leaf(b.random_array(U8, [k * n // 2], 0, 256), constant=True),
              b.leaf(b.random_array(F32, [-(-k * n // block)], 0.01, 0.2), constant=True)]
    add(b, "MatMulBnb4", inputs, K=k, N=n, block_size=block, quant_type=b.rng.choice([0, 1]))


@contrib("GatherBlockQuantized", weight=0.5)
def make_block_gather(b):
    bits, block = b.rng.choice([4, 4, 8]), b.rng.choice([16, 32])
    rows, blocks = b.rng.randint(1, 9), b.rng.randint(1, 3)
    inputs = [b.leaf(b.random_array(U8, [rows, blocks * block * bits // 8], 0, 256), constant=True),
              b.leaf(b.random_array(b.rng.choice([I64, I32]), list(b.dims(b.rng.choice([0, 1, 2])))[:2], 0, rows)),
              b.leaf(b.random_array(F32, [rows, blocks], 0.01, 0.1), constant=True)]
    if b.rng.random() < 0.5:
        inputs.append(b.leaf(b.random_array(U8, [rows, (blocks * bits + 7) // 8], 0, 256), constant=True))
    add(b, "GatherBlockQuantized", inputs, bits=bits, block_size=block, gather_axis=b.rng.choice([None, 0]), quantize_axis=b.rng.choice([None, 1]))


# --- Experts ---


EXPERT_ACTIVATIONS = ["relu", "gelu", "silu", "identity", "swiglu", "swiglu"]


def expert_attributes(b, experts, name):
    attributes = {"k": b.rng.randint(1, experts), "activation_type": name, "normalize_routing_weights": b.rng.choice([None, 0, 1])}
    if name == "swiglu":
        attributes.update(swiglu_fusion=1, activation_alpha=b.rng.choice([None, 1.7]), activation_beta=b.rng.choice([None, 1.0]),
                          swiglu_limit=b.rng.choice([None, 1.5]))
    return attributes


def expert_inputs(b, experts, hidden):
    shape = b.rng.choice([[b.rng.randint(1, 6), hidden], [b.rng.randint(1, 2), b.rng.randint(1, 4), hidden]])
    tokens = int(numpy.prod(shape[:-1]))
    # No two alike: which of equal ones is chosen is left open.
    router = numpy.array([b.rng.sample(range(-8, 9), experts) for _ in range(tokens)], F32) / 4
    return b.fresh(F32, shape), b.leaf(router)


@contrib("MoE", weight=0.6)
def make_experts(b):
    experts, hidden, inner = b.rng.randint(1, 4), b.rng.choice([1, 4, 8, 16]), b.rng.choice([1, 3, 8, 16])
    name = b.rng.choice(EXPERT_ACTIVATIONS)
    wide = 2 * inner if name == "swiglu" else inner
    weights = [b.leaf((b.random_array(F32, shape) / 2).astype(F32), constant=True) for shape in ([experts, wide, hidden], [experts, hidden, inner])]
    sums = [maybe(b, lambda size=size: b.fresh(F32, [experts, size], constant=True)) for size in (wide, hidden)]
    add(b, "MoE", [*expert_inputs(b, experts, hidden), weights[0], sums[0], weights[1], sums[1]], **expert_attributes(b, experts, name))


@contrib("QMoE", weight=0.5)
def make_small_experts(b):
    experts, hidden, inner, bits = b.rng.randint(1, 3), b.rng.choice([16, 32]), b.rng.choice([16, 32]), b.rng.choice([2, 4, 4, 8])
    name = b.rng.choice(["relu", "gelu", "silu", "identity", "swiglu"])
    # ONNX Runtime has tokens in 8 bits where blocks are of 8 bits; blocks of 2 bits alone are known to it.
    block = 16 if bits == 2 else b.rng.choice([0, 16]) if bits == 4 else 0
    wide = 2 * inner if name == "swiglu" else inner
    has_zeros = b.rng.random() < 0.4

    def stack(outputs, inputs):
        count = inputs // block if block else 1
        scales = b.random_array(F32, [experts, outputs, count], 0.1 / 2**bits, 1 / 2**bits)
        zeros = packed(b.random_array(U8, [experts, outputs, count] if block else [experts, outputs], 0, 2**bits), bits)
        return [b.leaf(packed(b.random_array(U8, [experts, outputs, inputs], 0, 2**bits), bits), constant=True),
                b.leaf(scales if block else scales[..., 0], constant=True), b.leaf(zeros, constant=True) if has_zeros else ""]

    one, two = stack(wide, hidden), stack(hidden, inner)
    sums = [maybe(b, lambda size=size: b.fresh(F32, [experts, size], constant=True)) for size in (wide, hidden)]
    add(b, "QMoE", [*expert_inputs(b, experts, hidden), *one[:2], sums[0], *two[:2], sums[1], "", "", "", one[2], two[2]],
        expert_weight_bits=bits, block_size=block or None, **expert_attributes(b, experts, name))


# --- Quantisers around everything ---


def there_and_back(b, x, dtype=None, own=None):
    """What a quantiser writes around a value; own: in the words of com.microsoft."""
    domain = MICROSOFT if own else ""
    scale, zero = scale_of(b), zero_of(b, dtype or b.rng.choice([U8, I8]))
    y = b.add("QuantizeLinear", [x, scale, zero], domain=domain)
    return b.add("DequantizeLinear", [y, scale, zero], domain=domain)


def stored(b, shape, each=None):
    """Weights that are stored in bytes; each: the axis that has scales of its own."""
    w = quanta(b, I8, shape, True)
    if each is None:
        return b.add("DequantizeLinear", [w, number(b, 0.01)])
    count = shape[each]
    return b.add("DequantizeLinear", [w, b.leaf(b.random_array(F32, [count], 0.005, 0.02), constant=True),
                                      b.leaf(numpy.zeros([count], I8), constant=True)], axis=each)


@maker("quantised layers", since=13, weight=2.0)
def make_quantised_layers(b):
    """Products, convolutions and all that may stand between them, each value there and back."""
    dtype = b.rng.choice([U8, U8, I8])
    is_image = b.rng.random() < 0.6
    x = there_and_back(b, image(b, dims=2) if is_image else b.pick((F32,), ranks=(2, 3), test=lambda a: a.size > 0), dtype)
    first = x
    for _ in range(b.rng.randint(1, 4)):
        op = b.rng.choice(["main", "main", "map", "sum", "move", "pool"])
        shape = b.shape(x)
        if op == "main" and is_image:
            groups, out, kernel, weights = conv_parts(b, x)
            inputs = [x, stored(b, weights, b.rng.choice([None, 0]))]
            if b.rng.random() < 0.6:
                scale = b.leaf(numpy.full(() if b.rng.random() < 0.5 else [out], 1e-3, F32), constant=True)
                inputs.append(b.add("DequantizeLinear", [b.leaf(b.random_array(I32, [out], -900, 900), constant=True), scale],
                                    axis=0 if b.array(scale).ndim else None))
            y = b.add("Conv", inputs, group=groups, **window(b, shape[2:], kernel))
        elif op == "main":
            y = b.add("MatMul", [x, stored(b, [shape[-1], b.rng.randint(1, 16)], b.rng.choice([None, 1]))])
            y = b.add("Add", [y, vector(b, b.shape(y)[-1])]) if b.rng.random() < 0.5 else y
        elif op == "map":
            y = b.add(b.rng.choice(["Relu", "Sigmoid", "Tanh", "HardSigmoid", "LeakyRelu", "Softmax"]), [x])
            y = b.add("Mul", [x, there_and_back(b, y, dtype)]) if b.rng.random() < 0.3 else y
        elif op == "sum":
            other = first if b.shape(first) == shape else there_and_back(b, b.fresh(F32, shape), dtype)
            y = b.add(b.rng.choice(["Add", "Add", "Mul", "Sub"]), [x, other])
            y = b.add("Relu", [y]) if b.rng.random() < 0.3 else y
        elif op == "pool" and is_image and min(shape[2:]) > 1:
            y = b.add(b.rng.choice(["MaxPool", "AveragePool"]), [x], kernel_shape=[2, 2], strides=[b.rng.choice([1, 2])] * 2)
        else:
            perm = list(range(len(shape)))
            if not is_image:
                b.rng.shuffle(perm)
            y = b.add("Transpose", [x], perm=perm) if b.rng.random() < 0.5 else b.add("Concat", [x, first if b.shape(first) == shape else x], axis=1)
        if b.rng.random() < 0.8:
            x = there_and_back(b, y, dtype if b.rng.random() < 0.9 else None)
        else:
            x = y
        if is_image and b.array(x).ndim != 4 or b.array(x).ndim < 2:
            break
