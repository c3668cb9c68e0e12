#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the cases of operators that stand for others (runtime/ops/lower), with what ONNX Runtime gives.

    tests/graphs/lowered.py FOLDER

Needs the Python that scripts/fuzz-graphs installs. Writes FOLDER/lowered_GROUP, each a model in which every
operator of the group stands at least once, and its data; they are kept in tests/graphs/cases.
"""
import pathlib
import sys

import numpy as np
from onnx import helper, numpy_helper

from lowered_contrib import embedded, gated, normed, repeated, sunk, tried, turned, without_cpu, worded
from lowered_experts import experts, gated_experts, small_experts
from lowered_found import cropped, held, scored, uneven
from lowered_group import BLOCKED, LEARNING, MICROSOFT, Group
from lowered_learning import alone, boosted, encoders, ensembles, labels, learning, mappers, texts, tokens, trees, wide, wide_ensembles, words
from lowered_steps import delta, elsewhere, elsewhere_old, hashed, hidden, lettered, sparse, steps, streams, two


def layers():
    g = Group()
    x, bias = g.feed(g.real(2, 3, 8)), g.constant(g.real(8))
    skip, scale = g.feed(g.real(2, 3, 8)), g.constant(g.real(8))
    g.add("Gelu", [x])
    g.add("BiasGelu", [x, bias])
    g.add("FastGelu", [x])
    g.add("FastGelu", [x, bias])
    g.add("QuickGelu", [x])
    g.add("QuickGelu", [x], alpha=1.0)
    g.add("SkipLayerNormalization", [x, skip, scale, bias], epsilon=1e-5)
    g.add("SkipLayerNormalization", [x, skip, scale, "", bias], (1, 0, 0, 1))
    g.add("SkipSimplifiedLayerNormalization", [x, skip, scale, bias], (1, 0, 0, 1), epsilon=1e-6)
    g.add("SimplifiedLayerNormalization", [x, scale], domain="", axis=-1, epsilon=1e-5)
    ids = g.feed(g.random.integers(0, 5, (2, 3)).astype(np.int32))
    segments = g.feed(g.random.integers(0, 2, (2, 3)).astype(np.int32))
    mask = g.feed(np.array([[1, 1, 0], [1, 1, 1]], np.int32))
    tables = [g.constant(g.real(n, 8)) for n in (5, 4, 2)]
    g.add("EmbedLayerNormalization", [ids, segments, *tables, scale, bias, mask], (1, 6, 1), epsilon=1e-5)
    g.add("EmbedLayerNormalization", [ids, "", tables[0], tables[1], "", scale, bias], (1, 0))
    g.add("EmbedLayerNormalization", [ids, "", tables[0], tables[1], "", scale, bias], (1, 6))
    image, filters, more = g.feed(g.real(1, 2, 5, 5)), g.constant(g.real(3, 2, 3, 3)), g.feed(g.real(1, 3, 5, 5))
    three = g.constant(g.real(3))
    for name, params in (("Relu", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 1.5]), ("HardSigmoid", [0.2, 0.5])):
        g.add("FusedConv", [image, filters, three], activation=name, pads=[1] * 4, **({"activation_params": params} if params else {}))
    g.add("FusedConv", [image, filters, three, more], activation="Relu", pads=[1] * 4)
    a, b = g.feed(g.real(4, 5)), g.constant(g.real(3, 5))
    g.add("FusedGemm", [a, b, three], activation="Relu", transB=1)
    g.add("FusedGemm", [a, b, three], activation="LeakyRelu", activation_alpha=0.1, transB=1, alpha=0.5)
    return g


def attention():
    g = Group()
    x, weights, bias = g.feed(g.real(2, 4, 8)), g.constant(g.real(8, 24)), g.constant(g.real(24))
    mask = g.feed(np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32))
    lengths, added = g.feed(np.array([4, 2], np.int32)), g.feed(g.real(2, 2, 4, 4))
    past = g.feed(g.real(2, 2, 2, 3, 4))
    g.add("Attention", [x, weights, bias], num_heads=2)
    g.add("Attention", [x, weights, bias], num_heads=2, unidirectional=1, scale=0.3)
    g.add("Attention", [x, weights, bias, mask], num_heads=2)
    g.add("Attention", [x, weights, bias, lengths], num_heads=2)
    g.add("Attention", [x, weights, bias, mask, "", added], num_heads=2)
    g.add("Attention", [x, weights, bias, "", past], (1, 1), num_heads=2, unidirectional=1)
    g.add("Attention", [x, g.constant(g.real(8, 20)), g.constant(g.real(20))], num_heads=2, qkv_hidden_sizes=[8, 8, 4])
    q, k, v = (g.feed(g.real(2, n, 8)) for n in (4, 5, 5))
    keys = g.feed(np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32))
    old = [g.feed(g.real(2, 2, 3, 4)) for _ in range(2)]
    g.add("MultiHeadAttention", [q, k, v], num_heads=2)
    g.add("MultiHeadAttention", [q, k, v, bias, keys], num_heads=2)
    g.add("MultiHeadAttention", [q, k, v, "", "", g.feed(g.real(2, 2, 4, 5))], num_heads=2, scale=0.4)
    g.add("MultiHeadAttention", [x, x, x, "", "", "", *old], (1, 1, 1), num_heads=2)
    cosines, sines = g.constant(g.real(9, 2)), g.constant(g.real(9, 2))
    places = g.feed(np.array([[0, 1, 2, 3], [5, 6, 7, 8]], np.int64))
    g.add("RotaryEmbedding", [g.feed(g.real(2, 2, 4, 4)), places, cosines, sines])
    g.add("RotaryEmbedding", [g.feed(g.real(2, 2, 4, 4)), places, cosines, sines], interleaved=1)
    scales = [g.constant(0.02), g.constant(0.01)]
    inputs = [g.feed(g.quanta(2, 4, 8)), g.constant(g.quanta(8, 24, dtype=np.int8), np.int8), bias, *scales, mask,
              g.constant(120, np.uint8), g.constant(0, np.int8)]
    g.add("QAttention", inputs, num_heads=2)
    return g


def masked():
    """Masks that other nodes compute, as the optimiser's BERT has them: what rank they have is told by those."""
    g = Group()
    ids = g.feed(g.random.integers(0, 5, (2, 4)).astype(np.int32))
    given = g.feed(np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int64))
    mask = g.chain("Cast", [given], to=6)
    tables = [g.constant(g.real(n, 8)) for n in (5, 4)]
    scale, bias = g.constant(g.real(8)), g.constant(g.real(8))
    weights, sums = g.constant(g.real(8, 24)), g.constant(g.real(24))
    x, lengths = g.chain("EmbedLayerNormalization", [ids, "", *tables, "", scale, bias, mask], 2, MICROSOFT)
    one, zero = g.constant([1], np.int64), g.constant([0], np.int64)
    flat = g.chain("Reshape", [mask, g.constant([2, 4], np.int64)])
    cube = g.chain("Expand", [g.chain("Unsqueeze", [flat, one]), g.constant([2, 4, 4], np.int64)])
    masks = [lengths, mask, flat, g.chain("Squeeze", [g.chain("Unsqueeze", [mask, zero]), zero]), g.chain("Gather", [mask, g.constant([1, 0], np.int64)]),
             g.chain("Reshape", [cube, g.constant([2, 4, 4], np.int64)]), g.chain("ReduceSum", [mask, one], keepdims=0)]
    for each in masks:
        g.add("Attention", [x, weights, sums, each], num_heads=2)
    for each in (lengths, mask, flat):
        g.add("MultiHeadAttention", [x, x, x, sums, each], num_heads=2)
    return g


def quantised():
    g = Group()
    x = [g.feed(g.quanta(1, 2, 4, 4)), g.constant(0.02), g.constant(120, np.uint8)]
    other = [g.feed(g.quanta(1, 2, 4, 4)), g.constant(0.03), g.constant(110, np.uint8)]
    y, unit = [g.constant(0.05), g.constant(100, np.uint8)], [g.constant(1 / 256), g.constant(0, np.uint8)]
    g.add("QLinearAdd", [*x, *other, *y], (2,))
    g.add("QLinearMul", [*x, *other, *y], (2,))
    g.add("QLinearSigmoid", [*x, *unit], (2,))
    g.add("QLinearLeakyRelu", [*x, *y], (2,), alpha=0.2)
    g.add("QLinearGlobalAveragePool", [*x, *y], (2,), channels_last=0)
    g.add("QLinearAveragePool", [*x, *y], (2,), kernel_shape=[2, 2], strides=[2, 2])
    g.add("QLinearSoftmax", [*x, *unit], (2,), axis=-1, opset=13)
    g.add("QLinearConcat", [*y, *x, *other], (2,), axis=1)
    g.add("QLinearWhere", [g.feed(g.real(1, 2, 4, 4) > 0), *x, *other, *y], (2,))
    rows = [g.feed(g.quanta(3, 8)), g.constant(0.02), g.constant(120, np.uint8)]
    matrix = g.constant(g.quanta(5, 8, dtype=np.int8), np.int8)
    columns = [g.constant(g.random.random(5) / 50 + 0.01), g.constant(np.zeros(5), np.int8)]
    sums = g.constant(g.random.integers(-999, 999, 5), np.int32)
    g.add("QGemm", [*rows, matrix, *columns, sums, *y], (2,), transB=1)
    g.add("QGemm", [*rows, matrix, g.constant(0.02), g.constant(0, np.int8)], transB=1)
    real, flat = g.feed(g.real(3, 8)), g.constant(g.quanta(8, 5, dtype=np.int8), np.int8)
    g.add("DynamicQuantizeMatMul", [real, flat, g.constant(0.02), g.constant(0, np.int8), g.constant(g.real(5))])
    g.add("MatMulIntegerToFloat", [rows[0], flat, rows[1], g.constant(0.02), rows[2], g.constant(0, np.int8), g.constant(g.real(5))])
    g.add("QuantizeLinear", [real, *y], (2,))
    g.add("DequantizeLinear", x)
    steps = g.feed(g.real(4, 1, 6))  # of several sequences ONNX Runtime rounds states together
    for ways, scales, dtype in ((1, (1, 20), np.int8), (2, (2,), np.uint8)):
        weights, zero = (g.constant(g.quanta(ways, n, 20, dtype=dtype), dtype) for n in (6, 5)), g.constant(np.full(scales, 3 if ways == 2 else 0), dtype)
        some = g.constant(g.random.random(scales) / 100 + 0.01)
        g.add("DynamicQuantizeLSTM", [steps, *weights, g.constant(g.real(ways, 40)), "", "", "", "", some, zero, some, zero], (1, 1, 1),
              hidden_size=5, direction="bidirectional" if ways == 2 else "forward")
    return g


def depthwise():
    """Convolutions with a filter for each channel, which like images channels-last, and what stands around them."""
    g = Group()
    x, y, unit = ([g.constant(scale), g.constant(zero, np.uint8)] for scale, zero in ((1 / 64, 120), (1 / 32, 100), (1 / 256, 0)))
    image, last = g.feed(g.quanta(2, 20, 9, 11)), g.feed(g.quanta(2, 9, 11, 20))

    def weights(*shape, zero=0, dtype=np.int8):
        channels = shape[0] if zero is not None else 1
        numbers = g.random.normal(0 if dtype is np.int8 else 131, 30, shape).clip(*((-128, 127) if dtype is np.int8 else (0, 255)))
        return [g.constant(numbers.astype(dtype), dtype), g.constant(g.random.random(channels) / 100 + 0.003), g.constant(np.full(channels, zero or 0), dtype)]

    around = {"group": 20, "pads": [1] * 4}
    g.add("QLinearConv", [last, *x, *weights(20, 1, 3, 3), *y], (2,), channels_last=1, **around)
    g.add("QLinearConv", [last, *x, *weights(20, 1, 3, 3, zero=131, dtype=np.uint8), *y], (2,), channels_last=1, strides=[2, 2], **around)
    g.add("QLinearConv", [last, *x, *weights(7, 20, 1, 1), *y], (2,), channels_last=1)
    g.add("QLinearConv", [last, *x, *weights(70, 20, 3, 3), *y, g.constant(g.random.integers(-999, 999, 70), np.int32)], (2,), channels_last=1, pads=[1, 0, 1, 2])
    wide = g.chain("QLinearConv", [image, *x, *weights(20, 20, 1, 1), *x])
    deep = g.chain("QLinearConv", [wide, *x, *weights(20, 1, 5, 5), *x, g.constant(g.random.integers(-999, 999, 20), np.int32)], group=20, pads=[2] * 4)
    both = g.chain("QLinearAdd", [wide, *x, deep, *x, *y], domain=MICROSOFT)
    gate = g.chain("QLinearSigmoid", [g.chain("QLinearConv", [g.chain("QLinearGlobalAveragePool", [both, *y, *y], domain=MICROSOFT, channels_last=0),
                                                             *y, *weights(20, 20, 1, 1), *y]), *y, *unit], domain=MICROSOFT)
    gated = g.chain("QLinearMul", [both, *y, gate, *unit, *y], domain=MICROSOFT)
    g.add("QLinearConv", [gated, *y, *weights(20, 1, 3, 3), *y], (2,), "", strides=[2, 2], **around)
    g.add("MaxPool", [gated], (2,), "", kernel_shape=[2, 2])
    g.add("QLinearLeakyRelu", [gated, *y, *x], (2,), alpha=0.2)
    g.add("DequantizeLinear", [both, *y], (1,), "")
    return g


def blocks():
    """Weights in blocks of a few bits."""
    g = Group()
    wide = g.feed(g.real(2, 40))
    for bits, zeros in ((2, None), (2, np.uint8), (4, None), (4, np.uint8), (4, np.float32), (8, None), (8, np.uint8)):
        inputs = [wide, g.constant(g.quanta(6, 2, 32 * bits // 8), np.uint8), g.constant(g.random.random((6, 2)) / 20)]
        packed = (2 * bits + 7) // 8
        inputs += [g.constant(g.quanta(6, packed), np.uint8)] if zeros is np.uint8 else [g.constant(g.real(6, 2))] if zeros else []
        g.add("MatMulNBits", inputs, K=40, N=6, bits=bits, block_size=32, **({} if zeros else {"weight_prepacked": 0}))
    for zeros in (None, np.uint8):  # rows are rounded to 8 bits
        inputs = [wide, g.constant(g.quanta(19, 3, 8), np.uint8), g.constant(g.random.random((19, 3)) / 20)]
        inputs += [g.constant(g.quanta(19, 2), np.uint8)] if zeros else ["", "", g.constant(g.real(19))]
        g.add("MatMulNBits", inputs, K=40, N=19, bits=4, block_size=16, accuracy_level=4)
    order = g.constant(g.random.permutation(64) % 2, np.int32)
    four, scales = g.constant(g.quanta(6, 2, 16), np.uint8), g.constant(g.random.random((6, 2)) / 20)
    g.add("MatMulNBits", [g.feed(g.real(2, 64)), four, scales, "", order], K=64, N=6, bits=4, block_size=32)
    for kind, size in ((0, 16), (1, 32)):
        inputs = [wide, g.constant(g.quanta(100), np.uint8), g.constant(g.random.random(-(-200 // size)) / 20)]
        g.add("MatMulBnb4", inputs, K=40, N=5, block_size=size, quant_type=kind)
    ids = g.feed(g.random.integers(0, 7, (2, 3)))
    for bits, zeros in ((4, False), (4, True), (8, False), (8, True)):
        inputs = [g.constant(g.quanta(7, 48 * bits // 8), np.uint8), ids, g.constant(g.random.random((7, 3)) / 20)]
        inputs += [g.constant(g.quanta(7, (3 * bits + 7) // 8), np.uint8)] if zeros else []
        g.add("GatherBlockQuantized", inputs, bits=bits, block_size=16)
    return g


def last():
    """Quanta whose channels are the last axis, in chains and with others between them."""
    g = Group()
    scale = [g.constant(0.0217), g.constant(120, np.uint8)]
    other = [g.constant(0.0371), g.constant(110, np.uint8)]
    image = g.feed(g.quanta(1, 6, 5, 4))

    def conv(x, outputs, **attributes):
        weights = g.quanta(outputs, 4 // attributes.get("group", 1), 3, 3, dtype=np.int8)
        some = [g.constant(weights, np.int8), g.constant(g.random.random(outputs) / 99), g.constant(np.zeros(outputs), np.int8)]
        bias = g.constant(g.random.integers(-999, 999, outputs), np.int32)
        return g.add("QLinearConv", [x, *scale, *some, *other, bias], (2,), channels_last=1, pads=[1] * 4, **attributes)[0]

    one, two = conv(image, 4), conv(image, 4, group=4)
    more = g.add("QLinearAdd", [one, *other, two, *other, *scale], (2,))[0]
    more = g.add("QLinearLeakyRelu", [more, *scale, *other], (2,), alpha=0.2)[0]
    g.add("QLinearConcat", [*scale, more, *other, two, *other], (2,), axis=3)
    g.add("QLinearMul", [more, *other, image, *scale, *scale], (2,))
    g.add("QLinearSigmoid", [conv(more, 3, strides=[2, 2]), *other, g.constant(1 / 256), g.constant(0, np.uint8)], (2,))
    g.add("NhwcMaxPool", [more], (2,), kernel_shape=[2, 3], strides=[2, 1])
    g.add("QLinearAveragePool", [two, *other, *scale], (2,), kernel_shape=[2, 2], channels_last=1)
    g.add("QLinearGlobalAveragePool", [more, *other, *scale], (2,), channels_last=1)
    return g


def lay_in_blocks(weights, block=8):
    """As ONNX Runtime lays weights out whose results are a multiple of the block."""
    outputs, inputs, height, width = weights.shape
    if inputs < block:
        return weights.reshape(-1, block, inputs, height, width).transpose(0, 2, 3, 4, 1)
    return weights.reshape(-1, block, inputs // block, block, height, width).transpose(0, 2, 4, 5, 3, 1)


def channels():
    """Channels in blocks of eight, which no results that are a multiple of 16 tell from blocks of 16. ONNX
    Runtime runs standard operators in their place: its own blocks are those of the processor."""
    g = Group()

    def whole(array, axis):
        rest = [(0, 0)] * array.ndim
        rest[axis] = (0, -array.shape[axis] % 8)
        return np.pad(array, rest)

    def both(op, inputs, want=False, twin=None, twin_inputs=None, twin_attributes=None, **attributes):
        name = f"n{len(g.nodes)}"
        g.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{name}", domain=BLOCKED, **attributes))
        g.twins.append(helper.make_node(twin or op, twin_inputs or inputs, [name], **(attributes if twin_attributes is None else twin_attributes)))
        return name

    def conv(x, outputs, inputs, activation=None, more=None, group=1):
        weights, bias = g.real(outputs, inputs, 3, 3) / 3, g.real(outputs)
        padded = whole(whole(weights, 0), 1) if inputs > 3 and group == 1 else whole(weights, 0)
        laid = [g.constant(lay_in_blocks(padded).reshape(padded.shape)), g.constant(whole(bias, 0))]
        plain = [g.constant(padded), laid[1]]
        name = f"n{len(g.nodes)}"
        rest = {"group": group, "pads": [1] * 4}
        named = {"activation": activation} if activation else {}
        g.nodes.append(helper.make_node("Conv", [x, *laid, *([more] if more else [])], [name], f"Conv_{name}", domain=BLOCKED, **rest, **named))
        g.twins.append(helper.make_node("Conv", [x, *plain], [name + "_c"], **rest))
        sum_of = name + "_c"
        if more:
            g.twins.append(helper.make_node("Add", [sum_of, more], [name + "_a"]))
            sum_of = name + "_a"
        g.twins.append(helper.make_node(activation or "Identity", [sum_of], [name]))
        return name

    def reorder_output(x, count, last=0):
        name = f"y{len(g.nodes)}"
        g.nodes.append(helper.make_node("ReorderOutput", [x], [name], f"ReorderOutput_{name}", domain=BLOCKED, channels=count, channels_last=last))
        ends = [g.constant([n], np.int64) for n in (0, count, 1)]
        g.twins.append(helper.make_node("Slice", [x, *ends], [name + "_s"]))
        g.twins.append(helper.make_node("Transpose", [name + "_s"], [name], perm=[0, 2, 3, 1] if last else [0, 1, 2, 3]))
        g.outputs.append(helper.make_tensor_value_info(name, 1, None))

    x = conv(g.feed(g.real(1, 3, 8, 6)), 5, 3, "Relu")
    y = conv(x, 24, 5)
    y = conv(y, 24, 1, "Sigmoid", group=24)
    z = conv(y, 24, 8, more=y, group=3)
    reorder_output(x, 5)
    reorder_output(z, 24, 1)
    reorder_output(both("MaxPool", [z], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 24)
    reorder_output(both("AveragePool", [z], kernel_shape=[2, 2], count_include_pad=1, pads=[1, 0, 0, 1]), 24)
    reorder_output(both("GlobalMaxPool", [z]), 24)
    reorder_output(both("GlobalAveragePool", [z]), 20)
    for mode, place in (("nearest", "asymmetric"), ("linear", "half_pixel")):
        scales = g.constant([1, 1, 2, 3])
        reorder_output(both("Upsample", [x], twin="Resize", twin_inputs=[x, "", scales], scales=[1, 1, 2, 3], mode=mode, coordinate_transformation_mode=place,
                            twin_attributes={"mode": mode, "coordinate_transformation_mode": place, "nearest_mode": "floor"}), 5)
    pads = g.constant([0, 0, 0, 0, 0, 3, 0, 0], np.int64)
    plain = g.feed(g.real(1, 5, 4, 4))
    reorder_output(conv(both("ReorderInput", [plain], twin="Pad", twin_inputs=[plain, pads], twin_attributes={}), 8, 5), 8)
    turned = g.feed(g.real(1, 4, 4, 8))
    reorder_output(conv(both("ReorderInput", [turned], twin="Transpose", twin_attributes={"perm": [0, 3, 1, 2]}, channels_last=1), 8, 8), 8)
    return g


def pictures():
    """What is written into image generators for GPUs: ONNX Runtime runs standard operators in its place."""
    g = Group()

    def twin(op, inputs, **attributes):
        g.twins.append(helper.make_node(op, inputs, [name := f"t{len(g.twins)}"], **attributes))
        return name

    def as_said(op, inputs, result, types=(1,), **attributes):
        names = g.add(op, inputs, types, **attributes)
        for name, value in zip(names, result if isinstance(result, tuple) else (result,)):
            g.twins.append(helper.make_node("Identity", [value], [name]))

    first, second = [0, 3, 1, 2], [0, 2, 3, 1]

    def groups(x, count, scale, bias, last, swish):
        x = twin("Transpose", [x], perm=first) if last else x
        flat = twin("Reshape", [x, g.constant([0, count, -1], np.int64)])
        ones = [g.constant(np.full(count, n)) for n in (1, 0)]
        flat = twin("InstanceNormalization", [flat, *ones], epsilon=1e-4)
        y = twin("Reshape", [flat, twin("Shape", [x])])
        column = g.constant([8, 1, 1], np.int64)
        y = twin("Add", [twin("Mul", [y, twin("Reshape", [scale, column])]), twin("Reshape", [bias, column])])
        y = twin("Mul", [y, twin("Sigmoid", [y])]) if swish else y
        return twin("Transpose", [y], perm=second) if last else y

    image, planes = g.feed(g.real(2, 4, 3, 8)), g.feed(g.real(2, 8, 4, 3))
    scale, bias = g.constant(g.real(8)), g.constant(g.real(8))
    pair = g.feed(g.real(2, 8))
    given = {"channels_last": 1, "groups": 4, "epsilon": 1e-4}
    as_said("GroupNorm", [image, scale, bias], groups(image, 4, scale, bias, True, True), activation=1, **given)
    as_said("GroupNorm", [planes, scale, bias], groups(planes, 2, scale, bias, False, False), channels_last=0, groups=2, epsilon=1e-4)
    for skip, to in ((g.feed(g.real(2, 4, 3, 8)), None), (pair, [2, 1, 1, 8]), (g.chain("Identity", [pair]), [2, 1, 1, 8])):
        here = pair if to else skip
        sum_of = twin("Add", [image, twin("Reshape", [here, g.constant(to, np.int64)]) if to else here])
        sum_of = twin("Add", [sum_of, bias]) if skip == pair else sum_of
        as_said("SkipGroupNorm", [image, scale, bias, skip, *([bias] if skip == pair else [])],
                (groups(sum_of, 4, scale, bias, True, False), sum_of), (1, 1), **given)
    sum_of = twin("Add", [planes, twin("Reshape", [pair, g.constant([2, 8, 1, 1], np.int64)])])
    as_said("SkipGroupNorm", [planes, scale, bias, pair], (groups(sum_of, 4, scale, bias, False, True), sum_of), (1, 1), **{**given, "channels_last": 0},
            activation=1)
    filters = g.real(6, 4, 3, 3)
    weights, three = g.constant(filters.transpose(0, 2, 3, 1)), g.constant(g.real(6))
    rest = {"group": 2, "pads": [1, 0, 0, 1], "strides": [2, 1]}
    y = twin("Conv", [twin("Transpose", [image], perm=first), g.constant(filters), three], **rest)
    as_said("NhwcConv", [image, weights, three], twin("Transpose", [y], perm=second), **rest)
    y = twin("Conv", [planes, g.constant(filters)], **rest)
    as_said("NhwcConv", [g.chain("Transpose", [planes], perm=second), g.chain("Transpose", [g.constant(filters)], perm=second)],
            twin("Transpose", [y], perm=second), **rest)
    rows, row, more = g.feed(g.real(2, 3, 8)), g.constant(g.real(8)), g.feed(g.real(2, 3, 8))
    sum_of = twin("Add", [rows, row])
    as_said("BiasAdd", [rows, row, more], twin("Add", [sum_of, more]))
    ends = [[g.constant([n], np.int64) for n in side] for side in ((0, 4, -1), (4, 8, -1))]
    halves = [twin("Slice", [sum_of, *side]) for side in ends]
    wave = twin("Erf", [twin("Mul", [halves[1], g.constant(0.5 ** 0.5)])])
    gelu = twin("Mul", [twin("Mul", [halves[1], g.constant(0.5)]), twin("Add", [wave, g.constant(1)])])
    as_said("BiasSplitGelu", [rows, row], twin("Mul", [halves[0], gelu]))
    return g


def packed():
    """Queries, keys and values packed together: ONNX Runtime's CPU runs them apart."""
    g = Group()

    def heads(count, take, name):
        """[2, 3, heads, count, 4] as count of [2, 3, heads * 4]."""
        sizes = g.constant([1] * count, np.int64)
        parts = [f"{name}_{i}" for i in range(count)]
        g.twins.append(helper.make_node("Split", [take, sizes], parts, axis=3))
        flat = g.constant([0, 0, -1], np.int64)
        g.twins += [helper.make_node("Reshape", [part, flat], [part + "f"]) for part in parts]
        return [part + "f" for part in parts]

    all_three, both, query = g.feed(g.real(2, 3, 2, 3, 4)), g.feed(g.real(2, 5, 2, 2, 4)), g.feed(g.real(2, 3, 8))
    keys, values = (g.feed(g.real(2, 2, 5, 4)) for _ in range(2))
    mask = g.feed(np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32))

    def attend(inputs, apart):
        name, = g.add("MultiHeadAttention", inputs, num_heads=2)
        g.twins.append(helper.make_node("MultiHeadAttention", apart, [name], domain=MICROSOFT, num_heads=2))

    attend([all_three], heads(3, all_three, "a"))
    attend([query, both], [query, *heads(2, both, "b")])
    attend([query, both, "", "", mask], [query, *heads(2, both, "c"), "", mask])
    attend([query, keys, values], [query, keys, values])
    return g


def linear():
    g = Group()
    x, whole = g.feed(g.real(5, 3)), g.feed(g.random.integers(-4, 4, (5, 3)).astype(np.int64))

    def add(op, inputs, types=(1,), **attributes):
        g.add(op, inputs, types, LEARNING, **attributes)

    def numbers(count):
        return [float(n) for n in g.real(count)]

    add("Scaler", [x], offset=numbers(3), scale=numbers(3))
    add("Scaler", [whole], offset=numbers(1), scale=numbers(1))
    add("Normalizer", [x], norm="L1")
    add("Normalizer", [x], norm="L2")
    add("LinearRegressor", [x], coefficients=numbers(6), intercepts=numbers(2), targets=2)
    add("LinearRegressor", [x], coefficients=numbers(3), intercepts=numbers(1))
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        add("LinearClassifier", [x], (7, 1), coefficients=numbers(12), intercepts=numbers(4), classlabels_ints=[3, 1, 7, 9],
            multi_class=1, post_transform=transform)
    add("ArrayFeatureExtractor", [x, g.constant([[2, 0]], np.int64)])
    add("ArrayFeatureExtractor", [g.feed(g.real(6)), g.constant([4, 1, 1], np.int64)])
    add("Binarizer", [x], threshold=0.25)
    add("FeatureVectorizer", [x, x], inputdimensions=[3, 3])
    holes = g.real(5, 3)
    holes[1, 2] = holes[4, 0] = np.nan
    add("Imputer", [g.feed(holes)], imputed_value_floats=numbers(3), replaced_value_float=float("nan"))
    return g


def grouped():
    g = Group()
    heads = {"num_heads": 4, "kv_num_heads": 2}
    total = {n: g.constant(n, np.int32) for n in (3, 6)}
    cosines, sines = g.constant(g.real(9, 8)), g.constant(g.real(9, 8))
    x, keys, values = g.feed(g.real(2, 3, 64)), g.feed(g.real(2, 3, 32)), g.feed(g.real(2, 3, 32))
    prompt = g.feed(np.array([2, 2], np.int32))
    empty = [g.feed(np.zeros((2, 2, 0, 16), np.float32)) for _ in range(2)]
    g.add("GroupQueryAttention", [x, keys, values, *empty, prompt, total[3]], (1, 1, 1), **heads)
    g.add("GroupQueryAttention", [x, keys, values, *empty, prompt, total[3], cosines, sines], (1, 1, 1), do_rotary=1, **heads)
    one = [g.feed(g.real(2, 1, n)) for n in (64, 32, 32)]
    past = [g.feed(g.real(2, 2, 5, 16)) for _ in range(2)]
    last = g.feed(np.array([5, 5], np.int32))
    g.add("GroupQueryAttention", [*one, *past, last, total[6]], (1, 1, 1), scale=0.2, **heads)
    g.add("GroupQueryAttention", [*one, *past, last, total[6], cosines, sines], (1, 1, 1), do_rotary=1, rotary_interleaved=1, **heads)
    g.add("GroupQueryAttention", [*one, *past, last, total[6]], (1, 1, 1), local_window_size=3, softcap=2.0, **heads)
    g.add("GroupQueryAttention", [g.feed(g.real(2, 1, 128)), "", "", *past, last, total[6], cosines, sines], (1, 1, 1), do_rotary=1, **heads)
    return g


def sequences():
    g = Group()
    x, y = g.feed(g.real(2, 6, 3)), g.feed(g.real(2, 2, 3))
    number = [g.constant(n, np.int64) for n in range(3)]
    made = g.chain("SequenceConstruct", [x, y, x])
    split = g.chain("SplitToSequence", [x, g.constant([1, 3, 2], np.int64)], axis=1)
    each = g.chain("SplitToSequence", [x], axis=1, keepdims=0)
    twos = g.chain("SplitToSequence", [x, number[2]], axis=1)
    more = g.chain("SequenceInsert", [g.chain("SequenceErase", [made, number[0]]), y, number[1]])
    end = g.chain("SequenceInsert", [g.chain("SequenceEmpty", []), x])
    for sequence, axis in ((made, 1), (split, 1), (twos, -2), (more, 1), (end, 0)):
        g.add("ConcatFromSequence", [sequence], domain="", axis=axis)
    g.add("ConcatFromSequence", [each], domain="", axis=1, new_axis=1)
    g.add("SequenceAt", [split, number[2]], domain="")
    g.add("SequenceAt", [more, g.constant(-1, np.int64)], domain="")
    g.add("SequenceLength", [more], (7,), domain="")
    known = g.chain("Optional", [x])
    g.add("OptionalGetElement", [known], domain="")
    g.add("OptionalHasElement", [known], (9,), domain="")
    g.add("SequenceLength", [g.chain("OptionalGetElement", [g.chain("Optional", [split])])], (7,), domain="")
    for window in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        g.add(window, [g.constant(7, np.int64)], domain="")
        g.add(window, [g.constant(8, np.int32)], (11,), domain="", periodic=0, output_datatype=11)
    return g


def scans():
    """Sums that are carried, of parts of two inputs; what is read from around; the distances that skl2onnx writes."""
    g = Group()

    def body(nodes, inputs, outputs):
        infos = [[helper.make_tensor_value_info(n, 1, None) for n in names] for names in (inputs, outputs)]
        return helper.make_graph(nodes, "body", *infos)

    x, y, start = g.feed(g.real(4, 3)), g.feed(g.real(3, 4)), g.feed(g.real(3))
    around = g.feed(g.real(3))
    sums = body([helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "b"], ["u"]),
                 helper.make_node("Add", ["u", around], ["v"])], ["s", "a", "b"], ["t", "v"])
    g.add("Scan", [start, x, y], (1, 1), "", body=sums, num_scan_inputs=2, scan_input_axes=[0, 1])
    g.add("Scan", [start, x, y], (1, 1), "", body=sums, num_scan_inputs=2, scan_input_axes=[0, -1], scan_input_directions=[1, 0],
          scan_output_directions=[1])
    copies = body([helper.make_node("Neg", ["a"], ["t"])], ["a"], ["t"])
    g.add("Scan", [x], (1,), "", body=copies, num_scan_inputs=1)
    # Turns that become another axis of the result, whose number of axes the body tells.
    deep = g.feed(g.real(4, 3, 2))
    for axis, backward in ((1, 0), (2, 1), (-1, 0), (-2, 1), (-3, 0)):
        told = helper.make_graph([helper.make_node("Neg", ["a"], ["t"])], "body", [helper.make_tensor_value_info("a", 1, [3, 2])],
                                 [helper.make_tensor_value_info("t", 1, [3, 2])])
        g.add("Scan", [deep], (1,), "", body=told, num_scan_inputs=1, scan_output_axes=[axis], scan_output_directions=[backward])
    distances = body([helper.make_node("Identity", ["w"], ["w_out"]), helper.make_node("Sub", ["w", "row"], ["d"]),
                      helper.make_node("ReduceSumSquare", ["d"], ["e"], axes=[1], keepdims=0)], ["w", "row"], ["w_out", "e"])
    g.add("Scan", [g.feed(g.real(5, 3)), x], (1, 1), "", body=distances, num_scan_inputs=1)

    def compare(operands, state="w_out", keepdims=0, axes=(1,), ways=("ReduceSumSquare",)):
        nodes = [helper.make_node("Identity", ["w"], ["w_out"]), helper.make_node("Sub", operands, ["d"]), helper.make_node("Neg", ["w"], ["less"])]
        nodes += [helper.make_node(op, ["d"], ["d_out"]) for op in ways[:-1]]
        if ways[-1] == "ReduceSum":  # whose axes are an input
            nodes += [helper.make_node("Constant", [], ["axes"], value_ints=list(axes)), helper.make_node("ReduceSum", ["d_out", "axes"], ["e"], keepdims=keepdims)]
        else:
            nodes += [helper.make_node(ways[-1], ["d"], ["e"], axes=list(axes), keepdims=keepdims)]
        return body(nodes, ["w", "row"], [state, "e"])

    # What is such a distance, and what only looks like one.
    scaled = g.chain("Div", [x, g.constant([0.5])])
    g.add("Scan", [scaled, scaled], (1, 1), "", body=compare(["row", "w"]), num_scan_inputs=1)
    for almost in (compare(["w", "row"], state="less"), compare(["w", "w"]), compare(["w", "row"], keepdims=1), compare(["w", "row"], axes=(0,))):
        g.add("Scan", [g.feed(g.real(5, 3)), x], (1, 1), "", body=almost, num_scan_inputs=1)
    g.add("Scan", [g.feed(g.real(5, 4)), x], (1, 1), "", body=compare(["w", "row"]), num_scan_inputs=1, scan_input_axes=[1])
    for ways in (("ReduceL1",), ("Abs", "ReduceSum"), ("Neg", "ReduceSum")):  # Manhattan's, but the last
        g.add("Scan", [g.feed(g.real(5, 3)), x], (1, 1), "", body=compare(["w", "row"], ways=ways), num_scan_inputs=1)
    return g


def drawn():
    """By chance, but of what there is no choice."""
    g = Group()
    logits = g.feed(np.array([[-9000, 0, -9000], [0, -9000, -9000]], np.float32))
    g.add("Multinomial", [logits], (6,), "", sample_size=4)
    g.add("Multinomial", [logits], (7,), "", sample_size=3, dtype=7, seed=1.0)
    return g


def body(name, nodes, inputs, outputs, constants=()):
    """A graph of an If, a Loop or a SequenceMap; outputs: element types by name."""
    infos = [helper.make_value_info(n, t) for n, t in inputs.items()]
    return helper.make_graph(nodes, name, infos, [helper.make_tensor_value_info(n, t, None) if isinstance(t, int) else
                                                  helper.make_value_info(n, t) for n, t in outputs.items()], list(constants))


def carried():
    """Sequences into bodies and out of them, and splits whose sizes the model computes."""
    g = Group()
    node, real, list_type = helper.make_node, helper.make_tensor_type_proto(1, None), helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
    whole, truth = helper.make_tensor_type_proto(7, []), helper.make_tensor_type_proto(9, [])
    x, y, count = g.feed(g.real(2, 3)), g.feed(g.real(4)), g.feed(np.array(3, np.int64))
    zero, one, minus = (g.constant(n, np.int64) for n in (0, 1, -1))
    yes, axis = g.constant(True, bool), g.constant([1], np.int64)
    made = g.chain("SequenceConstruct", [x, y])
    # A body for each part, with one inside of it, and a tensor for all.
    row = body("row", [node("Reshape", ["p", axis_all := g.constant([-1], np.int64)], ["r"])], {}, {"r": 1})
    same = body("same", [node("Mul", ["p", "q"], ["s"])], {}, {"s": 1})
    each = body("each", [node("Constant", [], ["k"], value_float=0.5), node("Size", ["p"], ["n"]),
                         node("Greater", ["n", g.constant(4, np.int64)], ["large"]),
                         node("If", ["large"], ["t"], then_branch=row, else_branch=same), node("Add", ["t", "k"], ["u"])],
                {"p": real, "q": real}, {"u": 1, "n": 7})
    mapped = g.chain("SequenceMap", [made, g.constant(2.0)], 2, body=each)
    g.add("SequenceAt", [mapped[0], zero], domain="")
    g.add("ConcatFromSequence", [mapped[0]], domain="", axis=0)
    g.add("ConcatFromSequence", [mapped[1]], (7,), domain="", axis=0, new_axis=1)
    # A sequence from outside, two bodies deep.
    join = body("join", [node("ConcatFromSequence", [pair := g.chain("SequenceConstruct", [x, x]), ], ["j"], axis=1)], {}, {"j": 1})
    take = body("take", [node("SequenceAt", [pair, one], ["a"])], {}, {"a": 1})
    deep = body("deep", [node("If", ["always"], ["d"], then_branch=take, else_branch=take), node("Identity", ["d"], ["e"])], {}, {"e": 1},
                [numpy_helper.from_array(np.asarray(True), "always")])
    small = g.chain("Less", [count, one])
    g.add("If", [small], domain="", then_branch=take, else_branch=join)
    g.add("If", [small], domain="", then_branch=join, else_branch=deep)
    # A loop whose turns are counted adds parts of different sizes, one that is fed its count collects.
    empty = g.chain("SequenceEmpty", [])
    grow = body("grow", [node("Add", ["i", one], ["to0"]), node("Reshape", ["to0", axis_all], ["to"]),
                         node("Slice", [x, g.constant([0], np.int64), "to", axis], ["part"]), node("SequenceInsert", ["s", "part"], ["s2"]),
                         node("Identity", ["go"], ["gone"]), node("Add", ["t", "t"], ["t2"])],
                {"i": whole, "go": truth, "s": list_type, "t": real}, {"gone": 9, "s2": list_type, "t2": 1})
    grown = g.chain("Loop", [g.constant(3, np.int64), yes, empty, y], 2, body=grow)
    g.add("ConcatFromSequence", [grown[0]], domain="", axis=1)
    g.add("SequenceAt", [g.chain("SequenceInsert", [grown[0], y]), minus], domain="")
    g.add("Identity", [grown[1]], domain="")
    fill = body("fill", [node("Cast", ["i"], ["f"], to=1), node("Mul", [x, "f"], ["part"]), node("SequenceInsert", ["s", "part"], ["s2"]),
                         node("Add", ["t", "t"], ["t2"]), node("Identity", ["go"], ["gone"]), node("Neg", ["f"], ["scan"])],
                {"i": whole, "go": truth, "t": real, "s": list_type}, {"gone": 9, "t2": 1, "s2": list_type, "scan": 1})
    filled = g.chain("Loop", [count, yes, y, empty], 3, body=fill)
    g.add("ConcatFromSequence", [filled[1]], domain="", axis=0)
    g.add("ConcatFromSequence", [filled[1]], domain="", axis=0, new_axis=1)
    g.add("SequenceAt", [filled[1], minus], domain="")
    g.add("SequenceLength", [filled[1]], (7,), domain="")
    g.add("Add", [g.chain("Identity", [filled[2]]), g.chain("ReduceSum", [filled[0]], keepdims=0)], domain="")
    # Sizes from a shape, one size from a shape, and an axis whose length is not known.
    shape = g.chain("Shape", [x])
    sizes = g.chain("Concat", [g.chain("Sub", [g.chain("Gather", [shape, axis]), axis]), axis], axis=0)
    split = g.chain("SplitToSequence", [x, sizes], axis=-1)
    for place in (zero, one, minus):
        g.add("SequenceAt", [split, place], domain="")
    g.add("SequenceLength", [split], (7,), domain="")
    g.add("ConcatFromSequence", [split], domain="", axis=-1)
    other = g.chain("Reshape", [x, g.chain("Concat", [axis_all], axis=0)])
    for keeps in (0, 1):
        ones = g.chain("SplitToSequence", [other], axis=0, keepdims=keeps)
        g.add("SequenceAt", [ones, minus], domain="")
        g.add("ConcatFromSequence", [ones], domain="", axis=0, new_axis=1 - keeps)
        g.add("SequenceLength", [ones], (7,), domain="")
    return g


def ports():
    """Sequences and optionals as inputs and outputs, and out of branches."""
    g = Group(opset=18)
    tensor = helper.make_tensor_type_proto(1, None)
    sequence = helper.make_sequence_type_proto(tensor)
    parts = g.feed_as([g.real(2, 3), g.real(1, 3), g.real(4, 3)], helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, ["N", 3])))
    empty = g.feed_as([], sequence)
    texts = g.feed_as([np.array(["a", "bc"], object)], helper.make_sequence_type_proto(helper.make_tensor_type_proto(8, None)))
    given = g.feed_as(g.real(2), helper.make_optional_type_proto(tensor))
    lacking = g.feed_as(None, helper.make_optional_type_proto(tensor))
    several = g.feed_as([g.real(2), g.real(2)], helper.make_optional_type_proto(sequence))
    flag = g.feed(np.array(True))
    g.add("ConcatFromSequence", [parts], domain="", axis=0)
    g.add("SequenceLength", [empty], (7,), domain="")
    for name in (given, lacking, several):
        g.add("OptionalHasElement", [name], (9,), domain="")
    g.add("Neg", [g.chain("OptionalGetElement", [given])], domain="")
    g.give_as(g.chain("SequenceInsert", [empty, g.chain("OptionalGetElement", [given])]), sequence)
    g.give_as(g.chain("SequenceErase", [parts, g.constant(1, np.int64)]), sequence)
    g.give_as(g.chain("Identity", [texts]), helper.make_sequence_type_proto(helper.make_tensor_type_proto(8, None)))
    g.give_as(g.chain("OptionalGetElement", [several]), sequence)
    g.give_as(g.chain("SplitToSequence", [g.constant(np.arange(10).reshape(5, 2))], axis=0), sequence)
    branches = []
    for op in ("Abs", "Neg"):
        nodes = [helper.make_node(op, [f"{given}_held"], [f"{op}_y"]), helper.make_node("SequenceConstruct", [f"{op}_y", f"{op}_y", f"{op}_y"], [f"{op}_s"])]
        branches.append(helper.make_graph(nodes, op, [], [helper.make_value_info(f"{op}_s", sequence), helper.make_value_info(f"{op}_y", tensor)]))
    g.nodes.append(helper.make_node("OptionalGetElement", [given], [f"{given}_held"], "held"))
    g.nodes.append(helper.make_node("If", [flag], ["chosen", "alone"], "choice", then_branch=branches[0], else_branch=branches[1]))
    g.give_as("chosen", sequence)
    g.give_as("alone", tensor)
    return g


def decided():
    """Sequences that have as many tensors as inputs of the model say, and in an order that these say."""
    g = Group(opset=18)
    tensor = helper.make_tensor_type_proto(1, None)
    sequence = helper.make_sequence_type_proto(tensor)
    maybe = helper.make_optional_type_proto(sequence)
    x, y = g.feed(g.real(3, 7)), g.feed(g.real(2))
    size, sizes, place, last = (g.feed(np.array(n)) for n in (3, [2, 1], 1, -1))
    turns, go = g.feed(np.array(3)), g.feed(np.array(True))
    parts, empty = g.feed_as([g.real(2), g.real(2)], sequence), g.feed_as([], sequence)
    absent = g.feed_as(None, maybe)
    for inputs, axis in (([x, size], 1), ([x, sizes], 0)):
        g.give_as(g.chain("SplitToSequence", inputs, axis=axis), sequence)
    g.add("SequenceLength", [g.chain("SplitToSequence", [x, size], axis=1)], (7,), domain="")
    for at in (place, last):
        g.give_as(g.chain("SequenceInsert", [parts, y, at]), sequence)
    g.give_as(g.chain("SequenceErase", [parts, place]), sequence)

    def branch(name, nodes, kind=sequence):
        return helper.make_graph(nodes, name, [], [helper.make_value_info(nodes[-1].output[0], kind)])

    # Branches of different lengths: the one that is taken.
    one = branch("one", [helper.make_node("SequenceConstruct", [y], ["one"])])
    two = branch("two", [helper.make_node("SequenceConstruct", [y, y], ["two"])])
    g.give_as(g.chain("If", [go], then_branch=one, else_branch=two), sequence)
    g.give_as(g.chain("If", [g.chain("Not", [go])], then_branch=one, else_branch=two), sequence)
    held = branch("held", [helper.make_node("OptionalGetElement", ["s"], ["held"])])
    made = branch("made", [helper.make_node("SequenceConstruct", [y], ["made"])])
    body = helper.make_graph(
        [helper.make_node("Identity", ["goes"], ["on"]), helper.make_node("OptionalHasElement", ["s"], ["has"]),
         helper.make_node("Not", ["has"], ["lacks"]), helper.make_node("If", ["lacks"], ["old"], then_branch=made, else_branch=held),
         helper.make_node("Cast", ["i"], ["real"], to=1), helper.make_node("Add", ["real", y], ["z"]),
         helper.make_node("SequenceInsert", ["old", "z"], ["new"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("goes", 9, []), helper.make_value_info("s", maybe)],
        [helper.make_tensor_value_info("on", 9, []), helper.make_value_info("new", sequence)])
    g.give_as(g.chain("Loop", [turns, go, absent], body=body), sequence)
    grow = helper.make_graph(
        [helper.make_node("Identity", ["goes"], ["on"]), helper.make_node("Cast", ["i"], ["real"], to=1), helper.make_node("Add", ["real", y], ["z"]),
         helper.make_node("SequenceInsert", ["s", "z"], ["new"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("goes", 9, []), helper.make_value_info("s", sequence)],
        [helper.make_tensor_value_info("on", 9, []), helper.make_value_info("new", sequence)])
    g.give_as(g.chain("Loop", [turns, go, empty], body=grow), sequence)
    return g


def batched():
    """Scan as operator set 8 had it: over a batch, here of one."""
    g = Group(opset=8)
    around = g.feed(g.real(3))
    infos = [[helper.make_tensor_value_info(n, 1, [3]) for n in names] for names in ("sab", "tv")]
    body = helper.make_graph([helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "b"], ["u"]),
                              helper.make_node("Add", ["u", around], ["v"])], "body", *infos)
    inputs = ["", g.feed(g.real(1, 3)), g.feed(g.real(1, 4, 3)), g.feed(g.real(1, 4, 3))]
    g.add("Scan", inputs, (1, 1), "", body=body, num_scan_inputs=2)
    g.add("Scan", inputs, (1, 1), "", body=body, num_scan_inputs=2, directions=[1, 0])
    return g


def heard():
    """Sound without an axis for the one part of real numbers, as is and from nodes that do not tell their axes.
    Of float64, since ONNX Runtime's sums of float32 are 1e-5 off."""
    g = Group()
    sound, step = g.feed(g.real(2, 100).astype(np.float64)), g.constant(7, np.int64)
    window = g.chain("HannWindow", [g.constant(16, np.int64)], output_datatype=11)
    g.add("STFT", [sound, step, window], (11,), domain="")
    g.add("STFT", [sound, step, "", g.constant(12, np.int64)], (11,), domain="", onesided=0)
    shape = g.chain("Shape", [sound])
    g.add("STFT", [g.chain("Reshape", [sound, shape]), step, window], (11,), domain="")
    longer = g.chain("Concat", [shape, g.constant([1], np.int64)], axis=0)
    g.add("STFT", [g.chain("Reshape", [sound, longer]), step, window], (11,), domain="")
    return g


def kept():
    """Values that a Loop carries and no turn changes: read, collected, exchanged, in a loop within, and of no turn."""
    g = Group()
    info = helper.make_tensor_value_info
    x, w, yes = g.feed(g.real(2, 3)), g.feed(g.real(3, 3)), g.constant(True, np.bool_)
    count = {n: g.feed(np.asarray(n, np.int64)) for n in (0, 1, 3)}

    def body(nodes, outputs, end="gone"):
        inputs = [info("i", 7, []), info("go", 9, []), info("t", 1, None), info("w", 1, None), info("v", 1, None)]
        made = [info(end, 9, [])] + [info(n, 1, None) for n in outputs]
        return helper.make_graph([helper.make_node("Identity", ["go"], [end]), *nodes], "body", inputs, made)

    times = helper.make_node("MatMul", ["t", "w"], ["t2"])
    bodies = [body([times], ["t2", "w", "v"]), body([times], ["t2", "v", "w"])]
    for one in bodies:
        for turns in count.values():
            g.add("Loop", [turns, yes, x, w, g.chain("Neg", [w])], (1, 1, 1), domain="", body=one)
    for turns in (1, 3):
        both = body([times, helper.make_node("Identity", ["v"], ["u"])], ["t2", "w", "v", "u"])
        g.add("Loop", [count[turns], yes, x, w, w], (1, 1, 1, 1), domain="", body=both)
    within = helper.make_node("Loop", [count[3], yes, "t", "w", "v"], ["t3", "w3", "v3"], body=bodies[0])
    g.add("Loop", [count[3], yes, x, w, w], (1, 1, 1), domain="", body=body([within], ["t3", "w3", "v"], "over"))
    return g


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    makers = (layers, attention, masked, quantised, depthwise, blocks, last, channels, pictures, packed, linear, grouped, sequences, scans, learning,
              trees, ensembles, wide, wide_ensembles, drawn, labels, mappers, carried, boosted, alone, words, texts, tokens, ports, encoders, batched,
              decided, heard, kept, worded, repeated, tried, without_cpu, gated, experts, small_experts, gated_experts, turned, sunk, embedded, normed,
              held, scored, uneven, cropped, hidden, steps, sparse, hashed, lettered, elsewhere, elsewhere_old, two, streams, delta)
    for make in makers:
        make().write(pathlib.Path(sys.argv[1]) / f"lowered_{make.__name__}")


if __name__ == "__main__":
    main()
