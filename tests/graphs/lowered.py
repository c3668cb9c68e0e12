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
import onnx
import onnxruntime
from onnx import helper, numpy_helper

MICROSOFT, LEARNING = "com.microsoft", "ai.onnx.ml"
OPSET = 17


class Group:
    """One model: nodes with inputs that are fed or constant, and all of their outputs."""

    def __init__(self):
        self.random = np.random.default_rng(11)
        self.nodes, self.constants, self.feeds, self.inputs, self.outputs = [], [], {}, [], []

    def real(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def quanta(self, *shape, dtype=np.uint8):
        limits = np.iinfo(dtype)
        return self.random.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)

    def feed(self, array):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        return name

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def add(self, op, inputs, types=(1,), domain=MICROSOFT, **attributes):
        """types: the element type of each output, 0 for one that nobody wants."""
        place = len(self.nodes)
        names = [f"y{place}_{i}" if t else "" for i, t in enumerate(types)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{place}", domain=domain, **attributes))
        self.outputs += [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types) if t]

    def write(self, folder):
        graph = helper.make_graph(self.nodes, "lowered", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid(d, v) for d, v in (("", OPSET), (MICROSOFT, 1), (LEARNING, 1))]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        wishes = onnxruntime.SessionOptions()
        wishes.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), wishes, providers=["CPUExecutionProvider"])
        results = session.run(None, self.feeds)
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        (folder / "flags").write_text("\n--no-optimize-for-inference\n")
        for kind, arrays, names in (("input", self.feeds.values(), self.feeds), ("output", results, [o.name for o in self.outputs])):
            for i, (array, name) in enumerate(zip(arrays, names)):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array), name).SerializeToString())


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
    wide = g.feed(g.real(2, 40))
    for bits, zeros in ((4, False), (4, True), (8, False)):
        inputs = [wide, g.constant(g.quanta(6, 2, 32 * bits // 8), np.uint8), g.constant(g.random.random((6, 2)) / 20)]
        inputs += [g.constant(g.quanta(6, 1), np.uint8)] if zeros else []
        g.add("MatMulNBits", inputs, K=40, N=6, bits=bits, block_size=32)
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for make in (layers, attention, quantised, linear):
        make().write(pathlib.Path(sys.argv[1]) / f"lowered_{make.__name__}")


if __name__ == "__main__":
    main()
