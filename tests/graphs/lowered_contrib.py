# SPDX-License-Identifier: Apache-2.0
"""Cases of operators of ONNX Runtime in other words than newer standard ones, for lowered.py."""
import numpy as np
from onnx import helper

from lowered_group import MICROSOFT, Group


def worded():
    """What newer standard operators do, in the words of com.microsoft."""
    g = Group()
    x, rows = g.feed(g.real(2, 3, 4)), g.feed(g.real(5, 4))
    for axis in (0, 2, -1):
        g.add("ExpandDims", [x, g.constant(axis, np.int32)])
    g.add("GatherND", [x, g.constant([[1, 2], [0, 1]], np.int64)])
    image, grid = g.feed(g.real(1, 2, 5, 4)), g.feed(g.real(1, 3, 2, 2))
    for mode in ("bilinear", "nearest", "bicubic"):
        g.add("GridSample", [image, grid], mode=mode, padding_mode="border")
    g.add("GridSample", [image, grid], align_corners=1, padding_mode="reflection")
    g.add("Inverse", [g.feed(g.real(2, 3, 3))])
    g.add("MatMulInteger16", [g.feed(g.quanta(3, 4, dtype=np.int16)), g.feed(g.quanta(4, 2, dtype=np.int16))], (6,))
    g.add("Pad", [rows, g.constant([1, -1, 0, 2], np.int64), g.constant(0.5)])
    g.add("Pad", [rows, g.constant([1, 1, 2, 1], np.int64)], mode="reflect")
    g.add("Pad", [rows, g.constant([[0, 1, 2, 1]], np.int64)], mode="edge")
    g.add("Range", [g.constant(1.5), g.constant([5.0])])
    g.add("Range", [g.constant([7], np.int64), g.constant(1, np.int64), g.constant([-2], np.int64)], (7,))
    g.add("TransposeMatMul", [rows, g.feed(g.real(5, 3))], transA=1, alpha=0.5)
    g.add("Trilu", [x, g.constant(1, np.int64)], upper=0)
    g.add("Trilu", [x])
    g.add("UnfoldTensor", [x], size=2, step=1, dim=1)
    g.add("UnfoldTensor", [x], size=2, step=2)
    g.add("Unique", [g.feed(np.array([2, 1, 1, 3, 4, 3], np.float32))], (1, 7, 7))
    deep, filters = g.feed(g.real(1, 3, 4, 4)), g.constant(g.real(3, 2, 3, 3))
    g.add("ConvTransposeWithDynamicPads", [deep, filters, g.constant([1, 0, 1, 0], np.int64), g.constant(g.real(2))], strides=[2, 1],
          output_padding=[1, 0])
    return g


def repeated():
    """Words that would repeat what a row has: as BART's generators ban them."""
    g = Group()
    scores = g.feed(g.real(2, 6))
    for ids, size in (([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4]], 3), ([[1, 2, 3, 1, 2], [5, 1, 5, 2, 5]], 2), ([[3], [0]], 4), ([[0, 1], [2, 2]], 3)):
        g.add("NGramRepeatBlock", [g.feed(np.array(ids, np.int64)), scores], ngram_size=size)
    return g


def tried():
    """What the first operator sets tried out, and regions of images."""
    g = Group(opset=8)
    x, image = g.feed(g.real(2, 3)), g.feed(g.real(1, 3, 6, 5))
    g.add("Affine", [x], domain="", alpha=0.5, beta=2.0)
    g.add("Crop", [image], domain="", border=[1, 2, 0, 1])
    g.add("Crop", [image], domain="", border=[1, 2, 0, 1], scale=[3, 2])
    g.add("DynamicSlice", [image, *(g.constant(n, np.int64) for n in ([1, 0], [5, 3], [2, 3]))], domain="")
    g.add("DynamicSlice", [x, *(g.constant(n, np.int64) for n in ([0, 1], [2, 3]))], domain="")
    g.add("ImageScaler", [image], domain="", scale=0.5, bias=[1.0, 2.0, 3.0])
    rois = np.array([[0, 0, 0, 4, 5], [0, 1, 2, 2, 2], [0, -3, 1, 9, 3], [0, 7, 7, 9, 9], [0, 2.5, 1.5, 3.5, 4.5]], np.float32)
    g.add("MaxRoiPool", [image, g.feed(rois)], domain="", pooled_shape=[2, 3])
    g.add("MaxRoiPool", [image, g.feed(2 * rois)], domain="", pooled_shape=[7, 4], spatial_scale=0.5)
    g.add("ParametricSoftplus", [x], domain="", alpha=0.5, beta=1.5)
    g.add("Scale", [x], domain="", scale=3.0)
    g.add("ScaledTanh", [x], domain="", alpha=0.5, beta=1.5)
    return g


def without_cpu():
    """What ONNX Runtime computes on GPUs alone: it runs standard operators in its place."""
    g = Group()

    def twin(op, inputs, **attributes):
        g.twins.append(helper.make_node(op, inputs, [name := f"t{len(g.twins)}"], **attributes))
        return name

    def as_said(op, inputs, result, **attributes):
        name, = g.add(op, inputs, **attributes)
        g.twins.append(helper.make_node("Identity", [result], [name]))

    x, bias, weights, row = g.feed(g.real(2, 3, 4)), g.feed(g.real(2, 1, 4)), g.constant(g.real(4, 5)), g.constant(g.real(5))
    as_said("BiasSoftmax", [x, bias], twin("Softmax", [twin("Add", [x, bias])], axis=-1), axis=2, is_inner_broadcast=1)
    for added in ([], [row]):
        g.twins.append(helper.make_node("MatMul", [x, weights], [product := f"p{len(g.twins)}"]))
        g.twins.append(helper.make_node("FastGelu", [product, *added], [gelu := f"t{len(g.twins)}"], domain=MICROSOFT))
        as_said("GemmFastGelu", [x, weights, *added], gelu)
    a, b = (g.feed(g.real(3, 2)) for _ in range(2))
    ends = [[g.constant([n], np.int64) for n in (i, i + 1, -1)] for i in (0, 1)]
    (p, q), (r, s) = ([twin("Slice", [y, *end]) for end in ends] for y in (a, b))
    for op, signs in (("ComplexMul", ("Sub", "Add")), ("ComplexMulConj", ("Add", "Sub"))):
        real = twin(signs[0], [twin("Mul", [p, r]), twin("Mul", [q, s])])
        imaginary = twin(signs[1], [twin("Mul", [q, r]), twin("Mul", [p, s])])
        as_said(op, [a, b], twin("Concat", [real, imaginary], axis=-1))
    return g


def gated():
    """What ONNX Runtime's builder of language models writes beside attention."""
    g = Group()
    x, y = g.feed(g.real(2, 3, 8)), g.feed(g.real(2, 3, 8))
    g.add("GatedAdd", [x, y, g.feed(g.real(2, 3, 1))])
    for name in ("silu", "swish", "sigmoid"):
        g.add("GatedRMSNorm", [x, g.constant(g.real(4)), y], activation=name, epsilon=1e-5)
    g.add("GatedRMSNorm", [x, g.constant(g.real(8)), y])
    g.add("ScaledSiLU", [x], alpha=0.5)
    g.add("ScaledSiLU", [x, g.constant(1.5)])
    gates = [g.feed(g.real(2, 3, 2)), g.constant(g.real(2)), g.constant(-np.exp(g.real(2)))]
    g.add("LinearAttentionGate", gates)
    g.add("LinearAttentionGate", [*gates, g.feed(g.real(2, 3, 2))], (1, 1))
    state, decay, beta = g.feed(g.real(2, 2, 4, 4)), g.feed(-np.abs(g.real(2, 3, 2))), g.feed(g.random.random((2, 3, 2)).astype(np.float32))
    for rule, more in (("linear", []), ("gated", [decay]), ("delta", ["", beta]), ("gated_delta", [decay, beta])):
        g.add("LinearAttention", [x, x, y, state, *more], (1, 1), q_num_heads=2, kv_num_heads=2, update_rule=rule)
    g.add("LinearAttention", [x, g.feed(g.real(2, 3, 4)), g.feed(g.real(2, 3, 6)), "", g.feed(-np.abs(g.real(2, 3, 1)))], (1, 1), q_num_heads=2,
          kv_num_heads=1, update_rule="gated", scale=0.3)
    planes, taps, bias = g.feed(g.real(2, 4, 5)), g.constant(g.real(4, 1, 3)), g.constant(g.real(4))
    g.add("CausalConvWithState", [planes, taps, bias], (1, 1), activation="silu")
    g.add("CausalConvWithState", [planes, taps, "", g.feed(g.real(2, 4, 2))], (1, 1))
    g.add("CausalConvWithState", [g.feed(g.real(2, 5, 4)), taps, bias, g.feed(g.real(2, 2, 4))], (1, 1), channels_last=1, activation="swish")
    tables = [g.constant(g.real(9, 6)) for _ in range(2)]
    places = g.feed(g.random.integers(0, 9, (3, 2, 4)))
    heads, flat = g.feed(g.real(2, 2, 4, 12)), g.feed(g.real(2, 4, 32))
    g.add("MRotaryEmbedding", [heads, places, *tables], mrope_section=[2, 2, 2])
    g.add("MRotaryEmbedding", [heads, places, *tables], mrope_section=[2, 2, 2], mrope_layout=1)
    g.add("MRotaryEmbedding", [heads, places, *tables], mrope_section=[3, 1, 2], interleaved=1)
    g.add("MRotaryEmbedding", [flat, places, *tables], mrope_section=[4, 1, 1], num_heads=2, rotary_embedding_dim=12)
    return g


def turned():
    """Rotary positions of which the first alone is told, or heads as long as the cosines say."""
    g = Group()
    cosines, sines = g.constant(g.real(9, 4)), g.constant(g.real(9, 4))
    first, places = g.feed(np.array([3], np.int64)), g.feed(np.array([[0, 1, 2, 3], [5, 6, 7, 8]], np.int64))
    heads, flat = g.feed(g.real(2, 2, 4, 8)), g.feed(g.real(2, 4, 24))
    g.add("RotaryEmbedding", [heads, first, cosines, sines])
    g.add("RotaryEmbedding", [flat, places, cosines, sines])
    g.add("RotaryEmbedding", [flat, first, cosines, sines], interleaved=1)
    return g


def sunk():
    """Softmax with a term more, as GPT-OSS has it."""
    g = Group()
    heads = {"num_heads": 4, "kv_num_heads": 2}
    total = {n: g.constant(n, np.int32) for n in (3, 6)}
    x, keys, values = g.feed(g.real(2, 3, 64)), g.feed(g.real(2, 3, 32)), g.feed(g.real(2, 3, 32))
    one = [g.feed(g.real(2, 1, n)) for n in (64, 32, 32)]
    past, last = [g.feed(g.real(2, 2, 5, 16)) for _ in range(2)], g.feed(np.array([5, 4], np.int32))
    sinks, bias = g.constant(g.real(4)), g.feed(g.real(1, 4, 3, 3))
    prompt = [x, keys, values, "", "", g.feed(np.array([2, 2], np.int32)), total[3], "", "", ""]
    g.add("GroupQueryAttention", [*prompt, "", sinks], (1, 1, 1), **heads)
    g.add("GroupQueryAttention", [*prompt, bias, sinks], (1, 1, 1), **heads)
    g.add("GroupQueryAttention", prompt[:7], (1, 1, 1), smooth_softmax=1, **heads)
    g.add("GroupQueryAttention", [*one, *past, last, total[6], "", "", "", "", sinks], (1, 1, 1), local_window_size=3, **heads)
    return g


def embedded():
    """Embeddings in eight bits, as ONNX Runtime's quantiser makes them."""
    g = Group()
    ids, segments = (g.feed(g.random.integers(0, n, (2, 3)).astype(np.int32)) for n in (5, 2))
    mask = g.feed(np.array([[1, 1, 0], [1, 1, 1]], np.int32))
    for dtype, whole in ((np.uint8, True), (np.int8, False)):
        words, places, kinds = (g.constant(g.quanta(n, 8, dtype=dtype), dtype) for n in (5, 4, 2))
        scale, offset = (g.constant(g.quanta(8, dtype=dtype), dtype) for _ in range(2))
        scales, zeros = [g.constant(g.random.random() / 50 + 0.01) for _ in range(5)], [g.constant(n, dtype) for n in (3, 0, 7, 9, 5)]
        more = lambda values: values if whole else [*values[:2], "", *values[3:]]
        g.add("QEmbedLayerNormalization", [ids, segments if whole else "", words, places, kinds if whole else "", scale, offset, mask if whole else "",
                                           *more(scales), *more(zeros)], (1, 6), epsilon=1e-5)
    return g


def normed():
    """Queries and keys normed by heads, which ONNX Runtime's CPU does apart."""
    g = Group()
    heads = {"num_heads": 4, "kv_num_heads": 2}
    x, keys, values = g.feed(g.real(2, 3, 64)), g.feed(g.real(2, 3, 32)), g.feed(g.real(2, 3, 32))
    cosines, sines, scales = g.constant(g.real(9, 8)), g.constant(g.real(9, 8)), [g.constant(g.real(16)) for _ in range(2)]
    rest = ["", "", g.feed(np.array([2, 2], np.int32)), g.constant(3, np.int32), cosines, sines]
    for place, (epsilons, more) in enumerate((((1e-6, 1e-6), {}), ((0.1, 0.2), {"q_norm_epsilon": 0.1, "qk_norm_epsilon": 0.2}))):
        names = g.add("GroupQueryAttention", [x, keys, values, *rest, *[""] * 5, *scales], (1, 1, 1), do_rotary=1, **heads, **more)
        parts = []
        for i, (part, count) in enumerate(((x, 4), (keys, 2))):
            apart, whole = g.constant([0, 0, count, 16], np.int64), g.constant([0, 0, -1], np.int64)
            steps = [f"t{place}_{i}_{n}" for n in range(3)]
            g.twins += [helper.make_node("Reshape", [part, apart], steps[:1]),
                        helper.make_node("SimplifiedLayerNormalization", [steps[0], scales[i]], steps[1:2], axis=-1, epsilon=epsilons[i]),
                        helper.make_node("Reshape", [steps[1], whole], steps[2:])]
            parts.append(steps[2])
        g.twins.append(helper.make_node("GroupQueryAttention", [*parts, values, *rest], names, domain=MICROSOFT, do_rotary=1, **heads))
    names = g.add("GroupQueryAttention", [x, keys, values, *rest[:4]], (1, 1, 1), causal=0, **heads)
    g.twins.append(helper.make_node("GroupQueryAttention", [x, keys, values, *rest[:4]], names, domain=MICROSOFT, causal=0, **heads))
    return g
