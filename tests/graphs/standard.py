#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the cases of operators and types that scripts/fuzz-graphs has no makers for, with what ONNX's reference
evaluator gives.

    tests/graphs/standard.py FOLDER

Needs the Python that scripts/fuzz-graphs installs. Writes FOLDER/standard_GROUP, each a model and its data;
they are kept in tests/graphs/cases.
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

PREVIEW, TRAINING = "ai.onnx.preview", "ai.onnx.preview.training"
FLOATS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1")
INTEGERS = ("INT4", "UINT4", "INT2", "UINT2")
TYPES = {name: getattr(TensorProto, name) for name in FLOATS + INTEGERS + ("FLOAT8E8M0",)}
NUMPY = {name: helper.tensor_dtype_to_np_dtype(number) for name, number in TYPES.items()}


class Group:
    """One model: nodes with inputs that are fed or constant, and all of their outputs."""

    def __init__(self, opset):
        self.opset = opset
        self.random = np.random.default_rng(17)
        self.nodes, self.constants, self.feeds, self.inputs, self.outputs = [], [], {}, [], []

    def real(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def feed(self, array):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def listed(self, kind, numbers):
        """A constant whose numbers do not stand in raw_data."""
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, TYPES[kind], [len(numbers)], numbers))
        return name

    def add(self, op, inputs, types=(1,), domain="", **attributes):
        """types: the element type of each output, 0 for one that nobody wants."""
        place = len(self.nodes)
        names = [f"y{place}_{i}" if t else "" for i, t in enumerate(types)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{place}", domain=domain, **attributes))
        self.outputs += [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types) if t]
        return names

    def chain(self, op, inputs, **attributes):
        """A node whose output is read by others only."""
        name = f"z{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{len(self.nodes)}", **attributes))
        return name

    def write(self, folder):
        graph = helper.make_graph(self.nodes, "standard", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("ai.onnx.ml", 5)]
        opsets += [helper.make_opsetid(domain, 1) for domain in (PREVIEW, TRAINING) if any(node.domain == domain for node in self.nodes)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=14 if self.opset > 26 else 13)
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, self.feeds)
        if any(node.domain == TRAINING for node in self.nodes):  # the evaluator makes some of float32 float64
            results = [result.astype(helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)) for result, info in zip(results, self.outputs)]
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        (folder / "flags").write_text("\n--no-optimize-for-inference\n")
        for kind, arrays, names in (("input", self.feeds.values(), self.feeds), ("output", results, [o.name for o in self.outputs])):
            for i, (array, name) in enumerate(zip(arrays, names)):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array), name).SerializeToString())


def stored():
    """What is stored in few bits: there and back, with scales of all kinds, moved on the way, and as constants."""
    g = Group(25)
    special = [0, -0.0, np.nan, np.inf, -np.inf, 448, 464, 465, 240, 248, 57344, 61440, 1e9, -1e9, 2**-9, 2**-10, 2**-17, 1.5 * 2**-10]
    x = g.feed(np.concatenate([np.array(special, np.float32), 8 * g.real(200), g.real(45) / 64]).astype(np.float32))
    for name in FLOATS:
        for saturate in (0, 1) if name != "FLOAT4E2M1" else (1,):
            g.add("Cast", [g.chain("Cast", [x], to=TYPES[name], saturate=saturate)], to=1)
            wide = g.chain("Cast", [x], to=TensorProto.FLOAT16)
            g.add("Cast", [g.chain("Cast", [wide], to=TYPES[name], saturate=saturate)], to=1)
    powers = g.feed(np.abs(np.array([1, 1.25, 1.5, 1.75, 3, 5, 2.0**-100, 1.1e30, np.nan], np.float32)))
    for mode in ("up", "down", "nearest"):
        g.add("Cast", [g.chain("Cast", [powers], to=TYPES["FLOAT8E8M0"], round_mode=mode)], to=1)
    whole = g.feed(np.arange(-40, 60, dtype=np.int32))
    for name in INTEGERS:
        g.add("Cast", [g.chain("Cast", [whole], to=TYPES[name])], (TensorProto.INT32,), to=TensorProto.INT32)
        g.add("Cast", [whole], (TYPES[name],), to=TYPES[name])
    y, scales = g.feed(g.real(6, 10)), np.abs(g.real(6)) / 4 + 0.05
    for name in INTEGERS + FLOATS:
        zeros = np.zeros(6, NUMPY[name]) if name in FLOATS else g.random.integers(0, 2, 6).astype(NUMPY[name])
        inputs = [g.constant(scales), g.constant(zeros)]
        made = g.chain("QuantizeLinear", [y, *inputs], axis=0)
        moved = g.chain("Transpose", [g.chain("Transpose", [made], perm=[1, 0])], perm=[1, 0])
        g.add("DequantizeLinear", [moved, *inputs], axis=0)
        g.add("QuantizeLinear", [y, *inputs], (TYPES[name],), axis=0)
        g.add("DequantizeLinear", [g.chain("QuantizeLinear", [y, g.constant(np.float32(0.3))], output_dtype=TYPES[name]),
                                   g.constant(np.float32(0.3))])
    for name in INTEGERS:
        odd = g.random.integers(-2 if name[0] == "I" else 0, 2, (5, 7)).astype(NUMPY[name])
        blocks = g.constant(np.abs(g.real(5, 3)) + 0.1)
        w = g.chain("DequantizeLinear", [g.constant(odd), blocks], axis=1, block_size=3)
        g.add("MatMul", [g.feed(g.real(2, 5)), w])
        g.add("DequantizeLinear", [g.listed(name, [1, 0, 1, 1, 0, 1, 1]), g.constant(np.float32(0.5))])
    return g


def signal():
    """Transforms of all lengths, cut and lengthened; what comes of other operator sets is in upstream's cases."""
    g = Group(20)
    for length in (1, 2, 3, 8, 12, 30, 49, 97, 128, 400):
        real, both = g.feed(g.real(2, length, 3, 1)), g.feed(g.real(2, length, 3, 2))
        axis = g.constant(np.int64(1))
        g.add("DFT", [real, "", axis], onesided=1)
        g.add("DFT", [both, "", axis])
        g.add("DFT", [both, "", axis], inverse=1)
        for other in (length + 5, max(length - 1, 1)):
            g.add("DFT", [both, g.constant(np.int64(other)), axis])
            g.add("DFT", [real, g.constant(np.int32(other)), axis], onesided=1)
        half = g.chain("DFT", [real, "", axis], onesided=1)
        g.add("DFT", [half, g.constant(np.int64(length)), axis], inverse=1, onesided=1)
    g.add("DFT", [g.feed(np.random.default_rng(3).standard_normal((3, 20, 2)))], (TensorProto.DOUBLE,))
    # By chance, but of what there is no choice.
    g.add("Bernoulli", [g.feed(np.array([0, 1, 1, 0], np.float32))], (TensorProto.INT64,), dtype=TensorProto.INT64)
    g.add("Bernoulli", [g.feed(np.array([0.0, 1.0, 1.0, 0.0]))], (TensorProto.DOUBLE,), seed=3.0)
    g.add("RandomNormal", [], (TensorProto.DOUBLE,), shape=[2, 3], mean=3.0, scale=0.0, dtype=TensorProto.DOUBLE)
    g.add("RandomUniformLike", [g.feed(g.real(3, 1))], low=2.0, high=2.0)
    sound = g.feed(g.real(2, 100, 1))
    step, length = g.constant(np.int64(7)), g.constant(np.int64(16))
    window = g.chain("HannWindow", [length])
    g.add("STFT", [sound, step, window])
    g.add("STFT", [sound, step, window, length], onesided=0)
    g.add("STFT", [sound, g.constant(np.int32(40)), "", g.constant(np.int32(33))])
    sizes = [g.constant(np.int64(n)) for n in (8, 64, 16000)]
    edges = [g.constant(np.float32(n)) for n in (20, 7600)]
    mel = g.chain("MelWeightMatrix", [*sizes, *edges])
    g.add("MatMul", [g.feed(g.real(3, 33)), mel])
    g.add("MelWeightMatrix", [*sizes, *edges], (TensorProto.DOUBLE,), output_datatype=TensorProto.DOUBLE)
    return g


def places():
    """Slices that differ, of all kinds of numbers, and columns that become images."""
    g = Group(28)
    whole = TensorProto.INT64
    for dtype, number in ((np.float32, 1), (np.int64, whole), (np.uint8, TensorProto.UINT8), (np.uint64, TensorProto.UINT64),
                          (np.float16, TensorProto.FLOAT16), (np.bool_, TensorProto.BOOL)):
        x = g.feed(g.random.integers(0, 4, (5, 3, 2)).astype(dtype))
        for keep in ({"axis": 0}, {"axis": 1}, {"axis": -1}):
            g.add("Unique", [x], (number, whole, whole, whole), **keep)
    for keep in ({}, {"sorted": 0}):
        g.add("Unique", [g.feed(g.random.integers(0, 9, 20).astype(np.int32))], (TensorProto.INT32, whole, whole, whole), **keep)
    g.add("Unique", [g.feed(np.array([3, np.nan, 1, np.nan, 3, -0.0, 0.0], np.float32))], (1, 0, whole))
    g.add("Unique", [g.feed(np.array([2, 2**64 - 1, 2, 0], np.uint64))], (TensorProto.UINT64, 0, 0, whole))
    g.add("Unique", [g.feed(np.zeros((0,), np.int64))], (whole, whole, whole, whole))
    for image, block, keep in (((5, 6), (2, 3), {}), ((5, 6), (3, 2), {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
                               ((7, 8), (2, 3), {"dilations": [3, 2], "strides": [1, 2]}), ((4, 3, 5), (2, 1, 3), {"pads": [0, 1, 0, 1, 0, 1]})):
        n = len(image)
        pads, strides, dilations = keep.get("pads", [0] * 2 * n), keep.get("strides", [1] * n), keep.get("dilations", [1] * n)
        count = np.prod([(image[i] + pads[i] + pads[n + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(n)])
        x = g.feed(g.real(2, 3 * int(np.prod(block)), int(count)))
        g.add("Col2Im", [x, g.constant(np.array(image)), g.constant(np.array(block))], **keep)
    g.add("SwiGLU", [g.feed(g.real(3, 4)), g.feed(g.real(3, 4))], alpha=1.5)
    return g


def losses():
    """CumProd, BitCast and losses: the first two are newer than what random graphs are made of."""
    g = Group(26)
    for array in (g.real(3, 4, 5), np.arange(1, 25, dtype=np.int64).reshape(2, 3, 4)):
        x, number = g.feed(array), 7 if array.dtype == np.int64 else 1
        for axis in (0, -1):
            for flags in ((0, 0), (0, 1), (1, 0), (1, 1)):
                g.add("CumProd", [x, g.constant(np.int64(axis))], (number,), exclusive=flags[0], reverse=flags[1])
    g.add("BitCast", [g.feed(g.real(7))], (TensorProto.INT32,), to=TensorProto.INT32)
    for shape, ignored in (((5, 4), None), ((2, 3, 4), 1), ((2, 3, 2, 2), -100)):
        x, weights = g.feed(g.real(*shape)), g.constant(np.abs(g.real(shape[1])))
        labels = g.random.integers(0, shape[1], (shape[0], *shape[2:]))
        if ignored == -100:
            labels.flat[0] = ignored
        y = g.feed(labels)
        keep = {} if ignored is None else {"ignore_index": ignored}
        for reduction in ("none", "sum", "mean"):
            g.add("NegativeLogLikelihoodLoss", [x, y], reduction=reduction, **keep)
            g.add("SoftmaxCrossEntropyLoss", [x, y, weights], (1, 1), reduction=reduction, **keep)
    return g


def states():
    """What is kept from step to step, and places that move."""
    g = Group(27)
    for rule, heads, readers, size, wide in (("linear", 2, 2, 4, 3), ("gated", 2, 4, 8, 5), ("delta", 3, 3, 5, 70), ("gated_delta", 1, 4, 16, 130),
                                             ("gated_delta", 2, 2, 70, 64)):
        keys = g.random.uniform(-1, 1, (2, 6, heads * size)) / size**0.5
        inputs = [g.feed(g.real(2, 6, readers * size)), g.feed(keys.astype(np.float32)), g.feed(g.real(2, 6, heads * wide))]
        for past in (False, True):
            more = [g.feed(g.real(2, heads, size, wide)) if past else "", "", ""]
            if "gated" in rule:
                more[1] = g.feed(-abs(g.real(2, 6, heads * (size if past else 1))))
            if "delta" in rule:
                more[2] = g.feed(g.random.uniform(0, 1, (2, 6, 1 if past else heads)).astype(np.float32))
            while more and not more[-1]:
                more.pop()
            g.add("LinearAttention", [*inputs, *more], (1, 1), q_num_heads=readers, kv_num_heads=heads, update_rule=rule)
    for taps, steps in ((4, 9), (6, 2), (1, 3), (3, 260)):
        x, w = g.feed(g.real(2, 3, steps)), g.constant(g.real(3, 1, taps))
        g.add("CausalConvWithState", [x, w], (1, 1))
        g.add("CausalConvWithState", [x, w, g.constant(g.real(3)), g.feed(g.real(2, 3, taps - 1))], (1, 1), activation="silu")
        g.add("CausalConvWithState", [x, w, "", g.feed(g.real(2, 3, taps - 1))], (1, 1))
        g.add("CausalConvWithState", [x, w], activation="swish")
    x, w = g.feed(g.real(2, 4, 7, 9)), g.constant(g.real(6, 2, 3, 2))
    offset = g.feed((2 * g.real(2, 24, 4, 8)).astype(np.float32))
    keep = {"group": 2, "offset_group": 2, "strides": [2, 1], "pads": [1, 0, 1, 0]}
    g.add("DeformConv", [x, w, offset], **keep)
    g.add("DeformConv", [x, w, offset, g.constant(g.real(6)), g.feed(g.real(2, 12, 4, 8))], **keep)
    g.add("MaxUnpool", [g.feed(g.real(2, 3, 2, 2)), g.feed(g.random.permutation(96)[:24].reshape(2, 3, 2, 2))], kernel_shape=[2, 2],
          strides=[2, 2])
    for corners in (0, 1):
        g.add("AffineGrid", [g.feed(g.real(2, 2, 3)), g.constant(np.array([2, 3, 4, 5]))], align_corners=corners)
        g.add("AffineGrid", [g.feed(g.real(2, 3, 4)), g.constant(np.array([2, 3, 2, 4, 5]))], align_corners=corners)
    g.add("Det", [g.feed(g.real(3, 2, 5, 5))])
    return g


def steps():
    """Of training: the first and a later one, of one tensor and of two, in both types."""
    g = Group(26)
    kinds = [("Adagrad", 1, dict(decay_factor=0.1, epsilon=1e-5, norm_coefficient=0.01)), ("Adagrad", 1, {}), ("Adam", 2, {}),
             ("Adam", 2, dict(alpha=0.95, beta=0.9, epsilon=1e-2, norm_coefficient=0.01, norm_coefficient_post=0.1)),
             ("Momentum", 1, dict(alpha=0.9, beta=0.5, mode="standard", norm_coefficient=0.0)),
             ("Momentum", 1, dict(alpha=0.9, beta=0.5, mode="nesterov", norm_coefficient=0.01))]
    both = {dtype: [g.feed(g.real(3).astype(dtype)), g.feed(g.real(2, 1, 2).astype(dtype))] for dtype in (np.float32, np.float64)}
    rates = {dtype: g.feed(np.array(0.1, dtype)) for dtype in both}
    for turn in (0, 3):
        at = g.feed(np.array(turn))
        for op, kept, attributes in kinds:
            for dtype, count in ((np.float32, 1), (np.float32, 2), (np.float64, 1))[:3 if turn else 1]:
                old = [[g.constant((g.real(*shape) ** (2 if k == kept else 1)).astype(dtype)) for shape in ((3,), (2, 1, 2))[:count]]
                       for k in range(1 + kept)]
                g.add(op, [rates[dtype], at, *both[dtype][:count], *sum(old, [])], (11 if dtype == np.float64 else 1,) * (count * (1 + kept)),
                      TRAINING, **attributes)
    return g


def unread():
    """A Scan whose last state nobody reads; ONNX Runtime does not load such a model."""
    g = Group(21)
    infos = [[helper.make_tensor_value_info(n, 1, None) for n in names] for names in ("sab", "tv")]
    body = helper.make_graph([helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "b"], ["v"])], "body", *infos)
    g.add("Scan", [g.feed(g.real(3)), g.feed(g.real(4, 3)), g.feed(g.real(4, 3))], (0, 1), body=body, num_scan_inputs=2)
    return g


def flexible():
    """Attention whose bodies do something with scores or probabilities, or none; heads that share keys; half precision."""
    g = Group(26)

    def body(name, nodes):
        infos = [helper.make_tensor_value_info(n, 1, None) for n in ("s", "t")]
        return helper.make_graph(nodes, name, infos[:1], infos[1:])

    node = helper.make_node
    q, k, v = (g.feed(g.real(2, 4, *shape)) for shape in ((3, 8), (5, 8), (5, 6)))
    bias, cap = (node("Constant", [], ["c"], value=numpy_helper.from_array(n)) for n in (g.real(1, 4, 1, 5), np.array(2, np.float32)))
    added = body("added", [bias, node("Add", ["s", "c"], ["t"])])
    capped = body("capped", [cap, node("Div", ["s", "c"], ["u"]), node("Tanh", ["u"], ["w"]), node("Mul", ["w", "c"], ["t"])])
    for bodies in ({}, dict(score_mod=added), dict(prob_mod=capped), dict(score_mod=capped, prob_mod=added, scale=0.3)):
        g.add("FlexAttention", [q, k, v], (1,), PREVIEW, **bodies)
        few = [g.feed(g.real(2, 2, 5, 8)), g.feed(g.real(2, 2, 5, 6))]
        g.add("FlexAttention", [q, *few], (1,), PREVIEW, **bodies)
        # of shapes that nobody told
        g.add("FlexAttention", [g.chain("Neg", [name]) for name in (q, *few)], (1,), PREVIEW, **bodies)
        half = [g.feed(g.real(2, 4, n, 8).astype(np.float16)) for n in (3, 5, 5)]
        g.add("FlexAttention", half, (10,), PREVIEW, **bodies)
        g.add("FlexAttention", half, (10,), PREVIEW, softmax_precision=1, **bodies)
    g.add("FlexAttention", [g.feed(g.real(1, 2, 3, 4).astype(np.float64)) for _ in range(3)], (11,), PREVIEW, scale=0.7)
    return g


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for make in (stored, signal, places, losses, states, steps, unread, flexible):
        make().write(pathlib.Path(sys.argv[1]) / f"standard_{make.__name__}")


if __name__ == "__main__":
    main()
