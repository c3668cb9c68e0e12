# SPDX-License-Identifier: Apache-2.0
"""Random nodes of com.microsoft: activations, norms, embeddings, products, convolutions, and newer standard operators in
older words. Where a maker leaves something out, ONNX Runtime leaves open or does wrong what comes of it."""
import numpy

from builder import BOOL, F32, F64, I32, I64, MICROSOFT, U8, Unfit
from operators import ANY, maker
from operators_heavy import conv_parts, image, scaled, window


def contrib(*names, weight=0.4, since=11, until=99):
    """Since operator set 11, as what writes these operators makes models of newer ones."""
    return maker(*(f"{MICROSOFT}.{name}" for name in names), since=since, until=until, weight=weight)


def add(b, op, inputs, outputs=1, **attributes):
    """Inputs that are left out at the end are not named."""
    inputs = list(inputs)
    while inputs and not inputs[-1]:
        inputs.pop()
    return b.add(op, inputs, outputs, domain=MICROSOFT, **attributes)


def maybe(b, make, chance=0.5):
    return make() if b.rng.random() < chance else ""


def number(b, value, dtype=F32):
    return b.leaf(numpy.array(value, dtype), constant=True)


def rows_of(b, ranks=(3,), least=1):
    """Numbers whose last axis has some."""
    return b.pick((F32,), ranks=ranks, test=lambda a: a.shape[-1] >= least)


def vector(b, count, **limits):
    return b.fresh(F32, [count], constant=b.rng.random() < 0.8, **limits)


# --- Activations ---


@contrib("Gelu", "QuickGelu", "FastGelu", "BiasGelu", "ScaledSiLU", weight=0.8)
def make_gelu(b):
    op = b.rng.choice(["Gelu", "QuickGelu", "FastGelu", "BiasGelu", "ScaledSiLU"])
    x = b.pick((F32,), ranks=(1, 2, 3, 4))
    size = b.shape(x)[-1]
    if op == "BiasGelu":
        y = add(b, op, [x, vector(b, size)])
    elif op == "FastGelu":
        y = add(b, op, [x, maybe(b, lambda: vector(b, size))])
    elif op == "ScaledSiLU":
        y = add(b, op, [x, maybe(b, lambda: number(b, b.rng.choice([0.5, 2])))], alpha=b.rng.choice([None, 0.5, 2.0]))
    else:
        y = add(b, op, [x], alpha=b.rng.choice([None, 1.0, 0.5, -1.0, 0.0]) if op == "QuickGelu" else None)
    if b.rng.random() < 0.3:  # what a gated unit makes of it
        b.add("Mul", [y, x])


@contrib("BiasAdd", "BiasSplitGelu", since=13)
def make_bias_add(b):
    if b.depth:
        raise Unfit("of its own only in a graph")
    batch, rows, size = b.rng.randint(1, 3), b.dim(8), b.rng.choice([1, 2, 4, 7])
    if b.rng.random() < 0.5:
        x = b.fresh(F32, [batch, rows, size])
        add(b, "BiasAdd", [x, vector(b, size), b.fresh(F32, [batch, rows, size])])
    else:
        add(b, "BiasSplitGelu", [b.fresh(F32, [batch, rows, 2 * size]), vector(b, 2 * size)])


@contrib("GatedAdd", "LinearAttentionGate", "GatedRMSNorm")
def make_gates(b):
    batch, steps, heads, size = b.rng.randint(1, 2), b.dim(6), b.rng.randint(1, 3), b.rng.choice([1, 2, 5, 8])
    shape = [batch, steps, heads * size]
    op = b.rng.choice(["GatedAdd", "LinearAttentionGate", "GatedRMSNorm"])
    if op == "GatedAdd":
        add(b, op, [b.fresh(F32, shape), b.fresh(F32, shape), b.fresh(F32, [batch, steps, 1])])
    elif op == "GatedRMSNorm":
        if b.opset < 14 and steps == 0:
            raise Unfit("no Reshape to no rows")
        inputs = [b.fresh(F32, shape), vector(b, b.rng.choice([size, heads * size])), b.fresh(F32, shape)]
        add(b, op, inputs, activation=b.rng.choice([None, "silu", "swish", "sigmoid"]), epsilon=b.rng.choice([None, 1e-2]))
    else:
        gates = [b.fresh(F32, [batch, steps, heads]), vector(b, heads), vector(b, heads, low=-2, high=0)]
        has_beta = b.rng.random() < 0.5
        add(b, op, gates + ([b.fresh(F32, [batch, steps, heads])] if has_beta else []), 2 if has_beta else 1)


# --- Norms ---


@contrib("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", weight=0.8)
def make_skip_norm(b):
    x = b.pick((F32,), rank=b.rng.choice([2, 3, 3]), test=lambda a: a.size > 0)
    shape = b.shape(x)
    skip = shape if len(shape) == 2 else b.rng.choice([shape, shape, shape[1:], (1, *shape[1:])])
    other = x if b.rng.random() < 0.1 else b.fresh(F32, skip)
    is_simple = b.rng.random() < 0.5
    size = shape[-1]
    inputs = [x, other, vector(b, size)] + ([] if is_simple else [maybe(b, lambda: vector(b, size))])
    inputs.append(maybe(b, lambda: vector(b, size)))
    outputs = b.rng.choice([1, [True, False, False, True]])
    made = add(b, "SkipSimplifiedLayerNormalization" if is_simple else "SkipLayerNormalization", inputs, outputs,
               epsilon=b.rng.choice([None, 1e-2, 1e-5]))
    if isinstance(made, list) and b.rng.random() < 0.5:  # as the next layer has it
        b.add("Add", [made[3], made[0]])


@maker("SimplifiedLayerNormalization", since=13, weight=0.3)
def make_simplified_norm(b):
    x = b.pick((F32,), ranks=(2, 3), test=lambda a: a.size > 0)
    b.add("SimplifiedLayerNormalization", [x, vector(b, b.shape(x)[-1])], axis=-1, epsilon=b.rng.choice([None, 1e-2]))


@contrib("GroupNorm", "SkipGroupNorm", since=13)
def make_diffusion_norm(b):
    if b.depth:
        raise Unfit("of its own only in a graph")
    groups, each, is_last = b.rng.randint(1, 4), b.rng.randint(1, 4), b.rng.choice([None, 1, 0])
    n, rows, columns, channels = b.rng.randint(1, 2), b.rng.randint(1, 5), b.rng.randint(2, 5), groups * each

    def shape_of(r, c):
        return [n, channels, r, c] if is_last == 0 else [n, r, c, channels]

    x, norm = b.fresh(F32, shape_of(rows, columns)), [vector(b, channels), vector(b, channels)]
    attributes = {"groups": groups, "activation": b.rng.choice([0, 1]), "channels_last": is_last, "epsilon": b.rng.choice([1e-5, 1e-2])}
    if b.rng.random() < 0.4:
        add(b, "GroupNorm", [x, *norm], **attributes)
        return
    skip = b.fresh(F32, b.rng.choice([shape_of(rows, columns), shape_of(1, 1)]))
    add(b, "SkipGroupNorm", [x, *norm, skip, maybe(b, lambda: vector(b, channels))], b.rng.choice([1, 2]), **attributes)


@contrib("EmbedLayerNormalization", weight=0.5)
def make_embedding(b):
    batch, length, size = b.rng.randint(1, 3), b.rng.randint(1, 6), b.rng.choice([1, 4, 8, 12])
    words, has_segments = b.rng.randint(1, 9), b.rng.random() < 0.5

    def ids(most, shape=(batch, length)):
        return b.leaf(b.random_array(I32, list(shape), 0, most))

    tables = [b.fresh(F32, [n, size], constant=True) for n in (words, length + b.rng.randint(0, 2))]
    inputs = [ids(words), ids(2) if has_segments else "", *tables, b.fresh(F32, [2, size], constant=True) if has_segments else "",
              vector(b, size), vector(b, size)]
    mask = numpy.arange(length)[None, :] < b.random_array(I32, [batch, 1], 1, length + 1)
    has_mask = b.rng.random() < 0.5
    inputs.append(b.leaf(mask.astype(I32)) if has_mask else "")
    inputs.append(ids(length, (b.rng.choice([1, batch]), length)) if b.rng.random() < 0.4 else "")
    add(b, "EmbedLayerNormalization", inputs, b.rng.choice([[True, True], [True, True, True], [True, False, True]]),
        epsilon=b.rng.choice([None, 1e-2]))


# --- Products and convolutions ---


@contrib("FusedMatMul", "TransposeMatMul", weight=0.8)
def make_fused_matmul(b):
    op = b.rng.choice(["FusedMatMul", "FusedMatMul", "TransposeMatMul"])
    batch = list(b.dims(b.rng.choice([0, 0, 1, 2])))[:2]
    batch = [min(d, 4) for d in batch]
    m, k, n = b.dim(12), b.rng.randint(1, 12), b.dim(12)
    keep = {name: b.rng.choice([None, 0, 1]) for name in ("transA", "transB")}
    turn = {name: b.rng.choice([0, 1]) if op == "FusedMatMul" and batch and b.rng.random() < 0.4 else 0 for name in ("transBatchA", "transBatchB")}

    def shaped(rows, columns, is_turned, moves):
        one, two = (columns, rows) if is_turned else (rows, columns)
        # The first axis goes behind the other ones of the batch.
        return [one, *batch, two] if moves else [*batch, one, two]

    x = b.fresh(F32, shaped(m, k, keep["transA"], turn["transBatchA"]))
    y = b.fresh(F32, shaped(k, n, keep["transB"], turn["transBatchB"]), constant=b.rng.random() < 0.6)
    keep.update({name: value for name, value in turn.items() if value})
    add(b, op, [x, y], alpha=b.rng.choice([None, 0.5, -2.0, 0.0]), **keep)


ACTIVATIONS = [("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 1.5]), ("HardSigmoid", [0.2, 0.5])]


@contrib("FusedGemm", weight=0.5)
def make_fused_gemm(b):
    m, k, n = b.dim(12), b.rng.randint(1, 12), b.dim(12)
    trans_a, trans_b = b.rng.choice([None, 0, 1]), b.rng.choice([None, 0, 1])
    name, numbers = b.rng.choice(ACTIVATIONS)
    names = {"LeakyRelu": ["activation_alpha"], "HardSigmoid": ["activation_alpha", "activation_beta"]}.get(name, [])
    if name == "Clip":
        name = "Relu"
    inputs = [b.fresh(F32, [k, m] if trans_a else [m, k]), b.fresh(F32, [n, k] if trans_b else [k, n], constant=b.rng.random() < 0.7)]
    inputs.append(maybe(b, lambda: b.fresh(F32, b.rng.choice([(n,), (m, n), (1, n), (m, 1), (1,)]))))
    add(b, "FusedGemm", inputs, activation=name, transA=trans_a, transB=trans_b, alpha=b.rng.choice([None, 0.5]),
        beta=b.rng.choice([None, 0.25]), **dict(zip(names, numbers)))


@contrib("FusedConv", weight=0.6)
def make_fused_conv(b):
    x = image(b, dims=b.rng.choice([2, 2, 1]))
    groups, out, kernel, shape = conv_parts(b, x)
    attributes = window(b, b.shape(x)[2:], kernel)
    name, numbers = b.rng.choice(ACTIVATIONS + [("", [])])
    inputs = [x, scaled(b, F32, shape), maybe(b, lambda: vector(b, out))]
    mark = b.attempt()
    y = b.add("Conv", inputs[:2], group=groups, **attributes)
    result = b.shape(y)
    b.undo(mark)
    # Without a bias ONNX Runtime takes what is added for one.
    if inputs[2] and name and b.rng.random() < 0.4:
        inputs.append(b.fresh(F32, result))
    add(b, "FusedConv", inputs, group=groups, activation=name or None, activation_params=numbers or None, **attributes)


@contrib("NhwcConv", since=13)
def make_nhwc_conv(b):
    if b.depth:
        raise Unfit("of its own only in a graph")
    groups, kernel = b.rng.choice([1, 1, 2]), [b.rng.randint(1, 3) for _ in range(2)]
    channels, out = groups * b.rng.randint(1, 4), groups * b.rng.randint(1, 4)
    spatial = [b.rng.randint(3, 9) for _ in range(2)]
    attributes = window(b, spatial, kernel)
    inputs = [b.fresh(F32, [b.rng.randint(1, 2), *spatial, channels]), b.fresh(F32, [out, *kernel, channels // groups], constant=True)]
    add(b, "NhwcConv", inputs + [maybe(b, lambda: vector(b, out))], group=groups, **attributes)


@contrib("ConvTransposeWithDynamicPads")
def make_dynamic_transpose(b):
    x = image(b, dims=2)
    kernel, out = [b.rng.randint(2, 4) for _ in range(2)], b.rng.randint(1, 4)
    strides = [b.rng.choice([1, 2]) for _ in kernel]
    pads = b.leaf(numpy.array([b.rng.randint(0, 1) for _ in range(4)], I64), constant=True)
    add(b, "ConvTransposeWithDynamicPads", [x, scaled(b, F32, (b.shape(x)[1], out, *kernel)), pads, maybe(b, lambda: vector(b, out))],
        strides=strides, output_padding=b.rng.choice([None, [s - 1 for s in strides]]))


@contrib("Inverse")
def make_inverse(b):
    size, dtype = b.rng.randint(1, 5), b.rng.choice([F32, F32, F64])
    batch = [b.rng.randint(1, 3) for _ in range(b.rng.randint(0, 2))]
    x = b.random_array(dtype, [*batch, size, size]) / 4 + (2 * size * numpy.eye(size)).astype(dtype)
    add(b, "Inverse", [b.leaf(x.astype(dtype))])


@contrib("CDist")
def make_distances(b):
    size = b.rng.randint(1, 9)
    rows = [b.fresh(F32, [b.rng.randint(1, 12), size]) for _ in range(2)]
    add(b, "CDist", rows, metric=b.rng.choice([None, "euclidean", "sqeuclidean"]))


# --- Moves ---


@contrib("ExpandDims", "Trilu", "Range", "Unique", "UnfoldTensor", weight=0.6)
def make_moves(b):
    op = b.rng.choice(["ExpandDims", "Trilu", "Range", "Unique", "UnfoldTensor"])
    if op == "ExpandDims":
        x = b.pick(ANY, ranks=(0, 1, 2, 3))
        rank = b.array(x).ndim
        add(b, op, [x, number(b, b.rng.randint(-rank - 1, rank), I32)])
    elif op == "Trilu":
        x = b.pick((F32, F64, I64), ranks=(2, 3, 4))
        add(b, op, [x, maybe(b, lambda: number(b, b.rng.randint(-4, 4), I64))], upper=b.rng.choice([None, 0, 1]))
    elif op == "Range":
        dtype, start, delta = b.rng.choice([F32, I64, I32, F64]), b.rng.randint(-4, 4), b.rng.choice([-2, -1, 1, 3])
        shape = b.rng.choice([(), (1,)])
        ends = [start, start + delta * b.rng.randint(0, 9), delta][:3 if delta != 1 else b.rng.choice([2, 3])]
        add(b, op, [b.leaf(numpy.full(shape, e, dtype), constant=True) for e in ends])
    elif op == "Unique":
        x = b.leaf(numpy.array([b.rng.randint(-3, 3) / 2 for _ in range(b.rng.randint(1, 20))], F32))
        add(b, op, [x], 3)
    else:
        # How many axes it has must be known when the model is read.
        x = b.fresh(b.rng.choice([F32, I64, U8, BOOL]), [b.rng.randint(1, 5) for _ in range(b.rng.randint(1, 3))])
        dim = b.rng.randint(-b.array(x).ndim, b.array(x).ndim - 1)
        add(b, op, [x], dim=b.rng.choice([dim, None]), size=b.rng.randint(1, b.shape(x)[dim]), step=b.rng.choice([1, 2, 3]))


@contrib("Pad")
def make_old_pad(b):
    mode = b.rng.choice(["constant", "constant", "reflect", "edge"])
    x = b.pick((F32,), ranks=(1, 2, 3, 4), test=lambda a: a.size > 0 and (mode == "constant" or min(a.shape) > 2))
    rank = b.array(x).ndim
    low = -1 if mode == "constant" and min(b.shape(x)) > 2 else 0
    pads = numpy.array([b.rng.choice([0, 1, 2, low]) for _ in range(2 * rank)], I64)
    pads = b.leaf(pads if b.rng.random() < 0.5 else pads[None], constant=True)
    add(b, "Pad", [x, pads] + ([number(b, b.rng.choice([0.5, [1.5]]))] if mode == "constant" and b.rng.random() < 0.6 else []),
        mode=b.rng.choice([mode, None]) if mode == "constant" else mode)


@contrib("GatherND")
def make_old_gather_nd(b):
    x = b.pick((F32, I64, I32, U8), ranks=(1, 2, 3), test=lambda a: a.size > 0)
    k = b.rng.randint(1, b.array(x).ndim)
    count = b.rng.randint(1, 4)
    indices = numpy.stack([b.random_array(I64, [count], 0, d) for d in b.shape(x)[:k]], -1)
    add(b, "GatherND", [x, b.leaf(indices.astype(b.rng.choice([I64, I32])))])


@contrib("GridSample")
def make_old_grid(b):
    x = b.fresh(F32, [b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(2, 6), b.rng.randint(2, 6)])
    grid = b.leaf(b.random_array(F32, [b.shape(x)[0], b.rng.randint(1, 4), b.rng.randint(1, 4), 2], -1.1, 1.1))
    add(b, "GridSample", [x, grid], mode=b.rng.choice([None, "bilinear", "nearest", "bicubic"]), align_corners=b.rng.choice([None, 0, 1]),
        padding_mode=b.rng.choice([None, "zeros", "border", "reflection"]))


@contrib("NGramRepeatBlock")
def make_ngram_block(b):
    batch, words = b.rng.randint(1, 3), b.rng.randint(2, 7)
    ids = b.leaf(b.random_array(I64, [batch, b.rng.randint(1, 9)], 0, words))
    add(b, "NGramRepeatBlock", [ids, b.fresh(F32, [batch, words])], ngram_size=b.rng.randint(1, 4))


@contrib("MatMulInteger16")
def make_integer16(b):
    m, k, n = b.dim(6), b.rng.randint(1, 6), b.dim(6)
    parts = [b.leaf(b.random_array(numpy.int16, shape, -9000, 9000)) for shape in ([m, k], [k, n])]
    add(b, "MatMulInteger16", parts)


@maker("MaxRoiPool", weight=0.3)
def make_max_roi(b):
    x = image(b, dims=2)
    n, _, rows, columns = b.shape(x)
    count = b.rng.randint(1, 4)
    corners = numpy.stack([b.random_array(F32, [count], 0, d) for d in (columns, rows)], 1)
    sizes = numpy.stack([b.random_array(F32, [count], -1, d) for d in (columns, rows)], 1)
    rois = numpy.concatenate([b.random_array(I32, [count, 1], 0, n), corners, corners + sizes], 1)
    # Half a place, as which one it counts is up to the last bit.
    rois[:, 1:] = numpy.floor(rois[:, 1:]) + 0.25
    # Constant, as numbers in reverse order (a second data set) would not name images.
    b.add("MaxRoiPool", [x, b.leaf(rois.astype(F32), constant=True)], pooled_shape=[b.rng.randint(1, 4) for _ in range(2)],
          spatial_scale=b.rng.choice([None, 0.5, 1.0]))


@contrib("BiasSoftmax", "GemmFastGelu", "ComplexMul", "ComplexMulConj", since=13)
def make_of_devices(b):
    if b.depth:
        raise Unfit("of its own only in a graph")
    op = b.rng.choice(["BiasSoftmax", "GemmFastGelu", "ComplexMul", "ComplexMulConj"])
    batch, rows, size = b.rng.randint(1, 3), b.rng.randint(1, 6), b.rng.randint(1, 9)
    if op == "BiasSoftmax":
        x, is_inner = b.fresh(F32, [batch, rows, size]), b.rng.choice([0, 1])
        # The axis is that of the softmax, which goes on to the last one.
        add(b, op, [x, b.fresh(F32, [batch, 1, size] if is_inner else [1, rows, size])], axis=2, is_inner_broadcast=is_inner)
    elif op == "GemmFastGelu":
        x = b.fresh(F32, [batch, rows, size])
        n = b.rng.randint(1, 9)
        add(b, op, [x, b.fresh(F32, [size, n], constant=True), maybe(b, lambda: vector(b, n))])
    else:
        add(b, op, [b.fresh(F32, [batch, rows, 2]), b.fresh(F32, b.rng.choice([[batch, rows, 2], [rows, 2]]))])


@contrib("CropAndResize")
def make_crop(b):
    x = b.fresh(F32, [b.rng.randint(1, 3), b.rng.randint(1, 3), b.rng.randint(1, 8), b.rng.randint(1, 8)])
    count = b.rng.randint(1, 4)
    # With mode nearest no sample lies half way between two places, and none on the border of the image.
    rois = b.leaf(b.random_array(F32, [count, 4], -0.2, 1.2), constant=True)
    images = b.leaf(b.random_array(I32, [count], 0, b.shape(x)[0]))
    add(b, "CropAndResize", [x, rois, images, b.leaf(numpy.array([b.rng.randint(1, 6) for _ in range(2)], I32), constant=True)],
        mode=b.rng.choice([None, "bilinear", "nearest"]), extrapolation_value=b.rng.choice([None, 1.5]))


def streams_of(b):
    """Streams beside each other, apart or as one axis, how many and how long they are, what stands before these axes."""
    lead, count, size = [b.dim(5) for _ in range(b.rng.randint(1, 2))], b.rng.randint(1, 4), b.rng.choice([1, 2, 5, 8])
    is_flat = b.rng.random() < 0.5
    x = b.fresh(F32, [*lead, count * size] if is_flat else [*lead, count, size])
    return x, count, size, lead, {"num_branches": count} if is_flat else {}


@contrib("HyperConnectionPreMix", "HyperConnectionPostMix", "BranchwiseRMSNorm", weight=0.6)
def make_streams(b):
    x, count, size, lead, attributes = streams_of(b)
    gate = lambda: b.fresh(F32, [*lead, *b.rng.choice([[count], [count, 1], [count, size]])])
    op = b.rng.choice(["HyperConnectionPreMix", "HyperConnectionPostMix", "BranchwiseRMSNorm"])
    if op == "BranchwiseRMSNorm":
        scale = maybe(b, lambda: b.fresh(F32, b.rng.choice([[count * size], [count, size], [size]]), constant=True))
        add(b, op, [x, scale], epsilon=b.rng.choice([None, 1e-2]), **attributes)
    elif op == "HyperConnectionPreMix":
        add(b, op, [x, gate()], reduction_scale=b.rng.choice([None, 0.5]), **attributes)
    else:
        add(b, op, [x, b.fresh(F32, [*lead, size]), gate(), maybe(b, lambda: b.fresh(F32, [*lead, count, count]))], **attributes)


@contrib("EngramGate")
def make_memory_gate(b):
    shape = [b.rng.randint(1, 3), b.dim(5), b.rng.randint(1, 4), b.rng.choice([1, 2, 5, 8])]
    scales = [b.fresh(F32, shape[2:], constant=True) for _ in range(3)]
    outputs = b.rng.choice([1, 2])
    add(b, "EngramGate", [b.fresh(F32, shape), b.fresh(F32, shape), b.fresh(F32, [*shape[:2], shape[3]]), *scales[:1 + outputs]], outputs,
        epsilon=b.rng.choice([None, 1e-2]))


@contrib("MoEGroupRouter")
def make_router(b):
    groups, each = b.rng.choice([1, 1, 2, 4]), b.rng.choice([1, 2, 3, 8])
    chosen = b.rng.randint(1, groups)
    logits, bias = b.fresh(F32, [b.dim(6), groups * each]), b.fresh(F32, [groups * each], low=-0.2, high=0.2, constant=True)
    full = groups == 1 and b.rng.random() < 0.3
    add(b, "MoEGroupRouter", [logits, bias], [False, True, True] if full else 1, top_k=b.rng.randint(1, chosen * each), n_group=groups,
        topk_group=chosen, group_topk=b.rng.choice([None, 1, 3]), router_sentinel=b.rng.choice([None, -50.0]))


@contrib("NGramHashMapping")
def make_ngram_hash(b):
    dtype, most, heads, batch = b.rng.choice([I32, I64]), b.rng.randint(2, 4), b.rng.randint(1, 3), b.rng.randint(1, 3)
    count = (most - 1) * heads
    inputs = [b.leaf(b.random_array(dtype, [batch, b.dim(8)], 0, 1000)), b.leaf(b.random_array(dtype, [most], 1, 2**31 - 1)),
              b.leaf(b.random_array(dtype, [count], 2, 1000), constant=True)]  # no number is to become 0 as the last ones do
    inputs.append(maybe(b, lambda: b.leaf(b.random_array(dtype, [batch, most - 1], 0, 1000))))
    inputs.append(maybe(b, lambda: b.leaf(b.random_array(dtype, [count], 0, 9000))))
    add(b, "NGramHashMapping", inputs, b.rng.choice([1, 2]), max_ngram_size=most, n_head_per_ngram=heads, pad_id=b.rng.choice([0, 7, -1]))


@contrib("MurmurHash3")
def make_hash(b):
    dtype = b.rng.choice([F32, F64, I32, I64, numpy.uint32, numpy.uint64])
    # Of numbers that are given, as those of computed ones hang on their last bits.
    add(b, "MurmurHash3", [b.leaf(b.random_array(dtype, b.dims()))], positive=b.rng.choice([None, 0, 1]), seed=b.rng.choice([None, 0, 77, -3]))


@contrib("WordConvEmbedding")
def make_word_embedding(b):
    words, length, letters, size = b.rng.randint(1, 6), b.rng.randint(1, 8), b.rng.randint(2, 9), b.rng.randint(1, 5)
    window = b.rng.randint(1, length)
    ids = b.random_array(I32, [words, length], 0, letters)
    ids[:, 0] = numpy.maximum(ids[:, 0], 1)  # words without letters are left as they are
    filters = b.rng.randint(1, 9)
    add(b, "WordConvEmbedding", [b.leaf(ids), b.fresh(F32, [filters, 1, window, size]), vector(b, filters), b.fresh(F32, [letters, size])],
        conv_window_size=b.rng.choice([None, window]))


# --- What the first operator sets tried out ---


@maker("Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh", until=8, weight=0.3)
def make_tried(b):
    op = b.rng.choice(["Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"])
    if op in ("Crop", "ImageScaler"):
        shape = [b.rng.randint(1, 2), b.rng.randint(1, 3), b.rng.randint(5, 9), b.rng.randint(5, 9)]
        border = [b.rng.randint(0, 2) for _ in range(4)]
        attributes = {"border": border, "scale": b.rng.choice([None, [2, 1]])} if op == "Crop" else \
            {"scale": b.rng.choice([None, 0.5]), "bias": [float(i) for i in range(shape[1])]}
        b.add(op, [b.fresh(F32, shape)], **attributes)
    elif op == "DynamicSlice":
        x = b.fresh(F32, [b.rng.randint(2, 5) for _ in range(b.rng.randint(1, 3))])
        axes = b.rng.sample(range(b.array(x).ndim), b.rng.randint(1, b.array(x).ndim))
        starts = [b.rng.randint(0, b.shape(x)[a] - 1) for a in axes]
        ends = [b.rng.randint(start + 1, 9) for start in starts]
        b.add(op, [x, *(b.leaf(numpy.array(n, I64), constant=True) for n in (starts, ends, axes))])
    elif op == "Scale":
        b.add(op, [b.pick((F32,))], scale=b.rng.choice([None, 0.5, -2.0]))
    else:
        b.add(op, [b.pick((F32,), ranks=(1, 2, 3))], alpha=b.rng.choice([0.5, 1.5]), beta=b.rng.choice([0.5, 2.0]))


@maker("HannWindow", "HammingWindow", "BlackmanWindow", since=17, weight=0.3)
def make_window(b):
    b.add(b.rng.choice(["HannWindow", "HammingWindow", "BlackmanWindow"]), [number(b, b.rng.randint(2, 20), I64)],
          periodic=b.rng.choice([None, 0, 1]), output_datatype=b.rng.choice([None, 1, 11]))
