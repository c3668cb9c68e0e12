# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench-operators times: single operators, their types and shapes.

A case is a name, an operator, its attributes and its inputs: arrays, which are fed to each run, or
Const(array), which are part of the model; None is one that is left out.
"""
import dataclasses

import numpy as np

OPSET = 20


@dataclasses.dataclass
class Const:
    """An input whose content the model has."""
    array: np.ndarray


@dataclasses.dataclass
class Case:
    name: str
    op: str
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    opset: int = OPSET
    domain: str = ""


class Maker:
    """Random arrays, the same for the same case wherever it stands."""

    def __init__(self):
        self.random = np.random.default_rng(7)

    def real(self, *shape, dtype=np.float32):
        return self.random.standard_normal(shape).astype(dtype)

    def byte(self, *shape, dtype=np.uint8):
        limits = np.iinfo(dtype)
        return self.random.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)

    def weights(self, *shape, axes=None):
        """Normal ones as quantisers make them: the largest over `axes` (None: all) becomes 127."""
        real = self.real(*shape)
        return np.rint(real / np.abs(real).max(axis=axes, keepdims=True) * 127).astype(np.int8)

    def whole(self, high, *shape, dtype=np.int64):
        return self.random.integers(0, high, shape).astype(dtype)


def scalar(number, dtype=np.float32):
    return Const(np.array(number, dtype))


def quantised(m):
    """Products and convolutions of 8 bits, and the way there and back."""
    s8, u8 = np.int8, np.uint8
    x, y = (scalar(0.02), scalar(120, u8)), (scalar(0.4), scalar(110, u8))

    def linear(a, b, b_type=s8, b_scale=None):
        zero = scalar(0, b_type)
        return [a, *x, Const(b), b_scale or scalar(0.01), zero, *y]

    microsoft, image, other = "com.microsoft", m.byte(1, 64, 56, 56), (scalar(0.03), scalar(130, u8))
    channel = Const(np.full(64, 0.01, np.float32)), Const(np.zeros(64, s8))
    conv = [m.byte(1, 64, 56, 56), *x, Const(m.byte(64, 64, 3, 3, dtype=s8)), *channel, *y]
    depth = [m.byte(1, 64, 56, 56), *x, Const(m.byte(64, 1, 3, 3, dtype=s8)), *channel, *y]
    return [
        Case("u8s8, 128x768x768", "MatMulInteger", [m.byte(128, 768), Const(m.byte(768, 768, dtype=s8)), scalar(120, u8)]),
        Case("u8u8, 128x768x768", "MatMulInteger", [m.byte(128, 768), Const(m.byte(768, 768)), scalar(120, u8), scalar(128, u8)]),
        Case("u8s8, 1x768x3072", "MatMulInteger", [m.byte(1, 768), Const(m.byte(768, 3072, dtype=s8)), scalar(120, u8)]),
        Case("u8u8, both variable, 12x128x64x128", "MatMulInteger", [m.byte(12, 128, 64), m.byte(12, 64, 128), scalar(120, u8)]),
        Case("u8s8, 128x768x768", "QGemm", [m.byte(128, 768), *x, Const(m.byte(768, 768, dtype=s8)), scalar(0.01), scalar(0, s8),
                                            Const(m.whole(1000, 768, dtype=np.int32)), *y], domain="com.microsoft"),
        Case("u8s8, 128x256x256", "QLinearMatMul", linear(m.byte(128, 256), m.byte(256, 256, dtype=s8))),
        Case("u8s8, 128x768x3072", "QLinearMatMul", linear(m.byte(128, 768), m.byte(768, 3072, dtype=s8))),
        Case("u8s8 per channel, 3x3, 64, 56x56", "QLinearConv", conv, {"pads": [1] * 4}),
        Case("u8s8 per channel, 1x1, 64, 56x56", "QLinearConv", conv[:3] + [Const(m.byte(64, 64, 1, 1, dtype=s8))] + conv[4:]),
        Case("u8s8 per channel, 3x3 stride 2", "QLinearConv", conv, {"pads": [1] * 4, "strides": [2, 2]}),
        Case("u8s8 depthwise 3x3, 64, 56x56", "QLinearConv", depth, {"pads": [1] * 4, "group": 64}),
        Case("u8u8, 3x3, 32, 28x28", "ConvInteger", [m.byte(1, 32, 28, 28), Const(m.byte(64, 32, 3, 3)), scalar(120, u8), scalar(128, u8)],
             {"pads": [1] * 4}),
        Case("u8, 1x64x56x56", "QuantizeLinear", [m.real(1, 64, 56, 56), *x]),
        Case("s8 per channel, 64x64x56", "QuantizeLinear", [m.real(64, 64, 56), Const(np.full(64, 0.02, np.float32)), Const(np.zeros(64, s8))], {"axis": 0}),
        Case("u8, 1x64x56x56", "DequantizeLinear", [m.byte(1, 64, 56, 56), *x]),
        Case("s8 per channel, 768x768", "DequantizeLinear", [m.byte(768, 768, dtype=s8), Const(np.full(768, 0.02, np.float32)), Const(np.zeros(768, s8))], {"axis": 1}),
        Case("u8s8 normal per tensor, 128x768x768", "MatMulInteger", [m.byte(128, 768), Const(m.weights(768, 768)), scalar(120, u8)]),
        Case("u8s8 normal per channel, 128x768x768", "MatMulInteger", [m.byte(128, 768), Const(m.weights(768, 768, axes=0)), scalar(120, u8)]),
        Case("u8s8 normal per channel, 3x3 stride 2", "QLinearConv", conv[:3] + [Const(m.weights(64, 64, 3, 3, axes=(1, 2, 3)))] + conv[4:],
             {"pads": [1] * 4, "strides": [2, 2]}),
        Case("128x768", "DynamicQuantizeLinear", [m.real(128, 768)], outputs=3),
        Case("u8, 1x64x56x56", "QLinearAdd", [image, *x, m.byte(1, 64, 56, 56), *other, *y], domain=microsoft),
        Case("u8, 1x64x56x56 and a channel's", "QLinearMul", [image, *x, m.byte(1, 64, 1, 1), *other, *y], domain=microsoft),
        Case("u8, 1x64x56x56", "QLinearMul", [image, *x, m.byte(1, 64, 56, 56), *other, *y], domain=microsoft),
        Case("u8, 64, 56x56", "QLinearGlobalAveragePool", [image, *x, *y], {"channels_last": 0}, domain=microsoft),
        Case("u8, 56x56, 64", "QLinearGlobalAveragePool", [m.byte(1, 56, 56, 64), *x, *y], {"channels_last": 1}, domain=microsoft),
    ]


def recurrent(m):
    def weights(gates, size, hidden):
        return [Const(m.real(1, gates * hidden, size) / 16), Const(m.real(1, gates * hidden, hidden) / 16),
                Const(m.real(1, 2 * gates * hidden))]

    return [
        Case("f32, 128 steps, 256", "LSTM", [m.real(128, 1, 256), *weights(4, 256, 256)], {"hidden_size": 256}),
        Case("f32, 32 steps, batch 8, 128", "LSTM", [m.real(32, 8, 128), *weights(4, 128, 128)], {"hidden_size": 128}),
        Case("f32, 50 steps, 128", "GRU", [m.real(50, 1, 128), *weights(3, 128, 128)], {"hidden_size": 128, "linear_before_reset": 1}),
        Case("f32, 50 steps, 128", "RNN", [m.real(50, 1, 128), *weights(1, 128, 128)], {"hidden_size": 128}),
    ]


def products(m):
    f64, f16 = np.float64, np.float16
    q = [m.real(1, 12, 128, 64) for _ in range(3)]
    return [
        Case("f32, 128x768x768", "MatMul", [m.real(128, 768), Const(m.real(768, 768))]),
        Case("f32, 12x128x64x128", "MatMul", [m.real(12, 128, 64), m.real(12, 64, 128)]),
        Case("f64, 256x256x256", "MatMul", [m.real(256, 256, dtype=f64), m.real(256, 256, dtype=f64)]),
        Case("f16, 128x256x256", "MatMul", [m.real(128, 256, dtype=f16), Const(m.real(256, 256, dtype=f16))]),
        Case("i32, 128x128x128", "MatMul", [m.whole(100, 128, 128, dtype=np.int32), m.whole(100, 128, 128, dtype=np.int32)]),
        Case("f32, bhid,bhjd->bhij", "Einsum", [q[0], q[1]], {"equation": "bhid,bhjd->bhij"}),
        Case("f32, bij,jk->bik", "Einsum", [m.real(4, 128, 256), Const(m.real(256, 256))], {"equation": "bij,jk->bik"}),
        Case("f32, 12 heads, 128x64", "Attention", q, opset=23),
        Case("f32, 3x3, 64, 56x56", "Conv", [m.real(1, 64, 56, 56), Const(m.real(64, 64, 3, 3))], {"pads": [1] * 4}),
        Case("f32, 3x3, 16 to 3, 64x64", "Conv", [m.real(1, 16, 64, 64), Const(m.real(3, 16, 3, 3))], {"pads": [1] * 4}),
        Case("f32, 9, 64 to 1, 1000", "Conv", [m.real(1, 64, 1000), Const(m.real(1, 64, 9))], {"pads": [4, 4]}),
        Case("f16, 2x2 stride 2, 64, 28x28", "ConvTranspose", [m.real(1, 64, 28, 28, dtype=f16), Const(m.real(64, 32, 2, 2, dtype=f16))],
             {"strides": [2, 2]}),
        Case("f64, 64x256x256", "Gemm", [m.real(64, 256, dtype=f64), Const(m.real(256, 256, dtype=f64)), Const(m.real(256, dtype=f64))]),
        Case("s32, 256x1024", "DequantizeLinear", [m.whole(999, 256, 1024, dtype=np.int32), scalar(0.01)]),
        Case("f32, 4x4 stride 2, 128, 16x16", "ConvTranspose", [m.real(1, 128, 16, 16), Const(m.real(128, 64, 4, 4))],
             {"strides": [2, 2], "pads": [1] * 4}),
        Case("f32, 3x3 stride 2, 64, 28x28", "ConvTranspose", [m.real(1, 64, 28, 28), Const(m.real(64, 32, 3, 3))],
             {"strides": [2, 2], "pads": [1] * 4}),
        Case("f32, 16 stride 8, 256, 64", "ConvTranspose", [m.real(1, 256, 64), Const(m.real(256, 128, 16))],
             {"strides": [8], "pads": [4, 4]}),
        Case("f16, 1x768x768", "MatMul", [m.real(1, 768, dtype=f16), Const(m.real(768, 768, dtype=f16))]),
        Case("f16, 1x768x768, transposed", "Gemm", [m.real(1, 768, dtype=f16), Const(m.real(768, 768, dtype=f16)), Const(m.real(768, dtype=f16))],
             {"transB": 1}),
        Case("f32, 4096x64 by a column", "MatMul", [m.real(4096, 64), m.real(64, 1)]),
        Case("f32, 128x256 by a constant column", "MatMul", [m.real(128, 256), Const(m.real(256, 1))]),
        Case("f32, 12 of 128x64 by a column", "MatMul", [m.real(12, 128, 64), m.real(12, 64, 1)]),
    ]


def element_wise(m):
    a, b = m.real(256, 1024), m.real(256, 1024)
    truth = a > 0
    big, small = m.whole(1000, 256, 1024), m.whole(9, 256, 1024) + 1
    return [
        Case("f32, 256x1024 of three", "Mean", [a, b, a]),
        Case("i64, 256x1024", "Add", [big, small]),
        Case("i64, 256x1024", "Mod", [big, small]),
        Case("i32, 256x1024", "BitwiseAnd", [big.astype(np.int32), small.astype(np.int32)]),
        Case("f32, mask 256x1, 256x1024", "Where", [truth[:, :1], a, b]),
        Case("f32, 256x1024, by 3", "Pow", [a, scalar(3)]),
        Case("f32, 256x1024, by 2", "Pow", [a, scalar(2)]),
        Case("f32, 256x1024, by 0.5", "Pow", [np.abs(a), scalar(0.5)]),
        Case("f32, 1x64x56x56, per channel", "PRelu", [m.real(1, 64, 56, 56), Const(m.real(64, 1, 1))]),
        Case("f32, 256x1024", "Max", [a, b]),
        Case("f32, 256x1024", "Less", [a, b]),
        Case("i64, 256x1024", "Equal", [m.whole(5, 256, 1024), m.whole(5, 256, 1024)]),
        Case("bool, 256x1024", "And", [truth, b > 0]),
        Case("bool, 256x1024", "Not", [truth]),
        Case("f32, 256x1024", "Where", [truth, a, b]),
        Case("f32, mask 1x256x1024, scalar", "Where", [truth, scalar(-1e9), a]),
        Case("f32, 256x1024", "IsNaN", [a]),
        Case("f32, 256x1024", "Sin", [a]),
        Case("f32, 256x1024", "Floor", [a]),
        Case("f32, 256x1024", "Add", [a, b]),
        Case("f32, 256x1024", "Gelu", [a]),
        Case("f32 to i64, 256x1024", "Cast", [a], {"to": 7}),
        Case("bool to f32, 256x1024", "Cast", [truth], {"to": 1}),
        Case("f32 to u8, 256x1024", "Cast", [np.abs(a) * 50], {"to": 2}),
        Case("f32 to f64, 256x1024", "Cast", [a], {"to": 11}),
        Case("f32, 256x1024", "ThresholdedRelu", [a]),
        Case("f32, 256x1024", "IsInf", [a]),
        Case("f32, 256x1024", "Sign", [a]),
        Case("f32, 256x1024", "Celu", [a]),
        Case("f32, 256x1024", "Asin", [a]),
        Case("f32, 256x1024", "Atan", [a]),
        Case("f32, 256x1024", "Tanh", [a]),
        Case("f32, 256x1024", "Sigmoid", [a]),
        Case("f32, 256x1024, tanh", "Gelu", [a], {"approximate": "tanh"}),
        Case("f32, 256x1024, by a tensor", "Pow", [np.abs(a), b]),
        Case("f32, 256x1024, by 1.7", "Pow", [np.abs(a), scalar(1.7)]),
        Case("f32, 256x1024, fmod", "Mod", [a * 9, b], {"fmod": 1}),
        Case("f64, 256x1024", "Exp", [a.astype(np.float64)]),
        Case("f64, 256x1024", "Log", [np.abs(a).astype(np.float64)]),
        Case("f64, 256x1024", "Tanh", [a.astype(np.float64)]),
        Case("f64, 256x1024", "Sqrt", [np.abs(a).astype(np.float64)]),
    ]


def along(m):
    x = m.real(8, 128, 1024)
    rows = m.real(256, 1024)
    image = m.real(1, 64, 56, 56)
    axes = {n: Const(np.array([n], np.int64)) for n in (0, 1, 2)}
    return [
        Case("f32, 8x128x1024, last axis", "Softmax", [x]),
        Case("f32, 8x128x1024, last axis", "LogSoftmax", [x]),
        Case("f32, 8x128x1024, last axis", "ReduceMean", [x, axes[2]]),
        Case("f32, 1024x256, first axis", "ReduceSum", [m.real(1024, 256), axes[0]]),
        Case("f32, 8x128x1024, middle axis", "ReduceMax", [x, axes[1]]),
        Case("f32, 8x128x1024, last axis", "ArgMax", [x], {"axis": -1}),
        Case("f32, 8x128x1024, middle axis", "ArgMax", [x], {"axis": 1}),
        Case("f32, 1x20000, 100", "TopK", [m.real(1, 20000), Const(np.array([100], np.int64))], outputs=2),
        Case("f32, 100x1000, 5", "TopK", [m.real(100, 1000), Const(np.array([5], np.int64))], outputs=2),
        Case("f32, 128x768", "LayerNormalization", [m.real(128, 768), Const(m.real(768)), Const(m.real(768))]),
        Case("f32, 1x64x56x56", "InstanceNormalization", [image, Const(m.real(64)), Const(m.real(64))]),
        Case("f32, 1x64x56x56, 8 groups", "GroupNormalization", [image, Const(m.real(64)), Const(m.real(64))], {"num_groups": 8}, opset=21),
        Case("f32, 256x1024, last axis", "CumSum", [rows, Const(np.array(1, np.int64))]),
        Case("f32, 256x1024, first axis", "CumSum", [rows, Const(np.array(0, np.int64))]),
        Case("f32, 256x1024", "Hardmax", [rows]),
        Case("f32, 256x1024", "LpNormalization", [rows]),
        Case("f32, 1x64x56x56", "MeanVarianceNormalization", [image]),
        Case("f32, 8x32x16x64, axes 1 and 3", "ReduceMean", [m.real(8, 32, 16, 64), Const(np.array([1, 3], np.int64))]),
        Case("f32, 256x1024, last axis", "ReduceProd", [rows, axes[1]]),
        Case("f32, 256x1024, last axis", "ReduceLogSumExp", [rows, axes[1]]),
        Case("f32, 20000x10, last axis", "Softmax", [m.real(20000, 10)]),
        Case("f32, 2000x49, last axis", "Softmax", [m.real(2000, 49)]),
        Case("f32, 1000x128, last axis", "Softmax", [m.real(1000, 128)]),
        Case("f32, 20000x10, last axis", "LogSoftmax", [m.real(20000, 10)]),
        Case("f32, 2000x49, last axis", "LogSoftmax", [m.real(2000, 49)]),
        Case("f32, 128x1000, last axis", "LogSoftmax", [m.real(128, 1000)]),
        Case("f32, 128x1000, last axis", "Softmax", [m.real(128, 1000)]),
        Case("f32, 1x21x64x64, axis 1", "LogSoftmax", [m.real(1, 21, 64, 64)], {"axis": 1}),
        Case("f64, 256x1024, last axis", "Softmax", [rows.astype(np.float64)]),
    ]


def images(m):
    image = m.real(1, 64, 56, 56)
    scales = Const(np.array([1, 1, 2, 2], np.float32))
    corners = m.random.random((1, 2000, 2)) * 60
    limits = [Const(np.array([100], np.int64)), Const(np.array([0.5], np.float32)), Const(np.array([0.3], np.float32))]
    boxes = np.concatenate([m.random.random((50, 2)) * 20, 20 + m.random.random((50, 2)) * 30], 1).astype(np.float32)
    return [
        Case("f32, 64, 56x56, 3x3 stride 2", "MaxPool", [image], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        Case("u8, 64, 56x56, 3x3 stride 2", "MaxPool", [m.byte(1, 64, 56, 56)], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        Case("f32, 64, 56x56, 3x3 stride 2, and places", "MaxPool", [image], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4},
             outputs=2),
        Case("u8, 64, 56x56, 2x2 stride 2, and places", "MaxPool", [m.byte(1, 64, 56, 56)], {"kernel_shape": [2, 2], "strides": [2, 2]},
             outputs=2),
        Case("f32, 256, 20x20, 5x5", "MaxPool", [m.real(1, 256, 20, 20)], {"kernel_shape": [5, 5], "pads": [2] * 4}),
        Case("f32, 128, 40x40, 5x5", "MaxPool", [m.real(1, 128, 40, 40)], {"kernel_shape": [5, 5], "pads": [2] * 4}),
        Case("f32, 64, 28x28, 13x13", "MaxPool", [m.real(1, 64, 28, 28)], {"kernel_shape": [13, 13], "pads": [6] * 4}),
        Case("f32, 16, 16x28x28, 3x3x3", "MaxPool", [m.real(1, 16, 16, 28, 28)], {"kernel_shape": [3] * 3, "pads": [1] * 6}),
        Case("f32, 16, 16x28x28, 2x2x2 stride 2", "MaxPool", [m.real(1, 16, 16, 28, 28)], {"kernel_shape": [2] * 3, "strides": [2] * 3}),
        Case("f32, 64, 56x56, 3x3 stride 2", "LpPool", [image], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        Case("f32, 64, 56x56, 3x3", "AveragePool", [image], {"kernel_shape": [3, 3], "pads": [1] * 4}),
        Case("f32, 512, 7x7", "GlobalAveragePool", [m.real(1, 512, 7, 7)]),
        Case("f32, 64, 56x56", "GlobalAveragePool", [image]),
        Case("f32, 64, 56x56, nearest, 2", "Resize", [image, None, scales], {"mode": "nearest"}),
        Case("f32, 64, 56x56, linear, 2", "Resize", [image, None, scales], {"mode": "linear"}),
        Case("f32, 64, 56x56, cubic, 2", "Resize", [image, None, scales], {"mode": "cubic"}),
        Case("f32, 64, 56x56, 50 boxes", "RoiAlign", [image, boxes, Const(np.zeros(50, np.int64))],
             {"output_height": 7, "output_width": 7, "sampling_ratio": 2}),
        Case("f32, 16, 56x56, linear", "GridSample", [m.real(1, 16, 56, 56), m.real(1, 56, 56, 2)], {"mode": "linear"}),
        Case("2000 boxes, 20 classes", "NonMaxSuppression",
             [np.concatenate([corners, corners + 1 + m.random.random((1, 2000, 2)) * 9], 2).astype(np.float32),
              m.random.random((1, 20, 2000)).astype(np.float32), *limits]),
        Case("f32, 64, 56x56, constant", "Pad", [image, Const(np.array([0, 0, 2, 2, 0, 0, 2, 2], np.int64))]),
        Case("f32, 64, 56x56, reflect", "Pad", [image, Const(np.array([0, 0, 2, 2, 0, 0, 2, 2], np.int64))], {"mode": "reflect"}),
    ]


def moves(m):
    def sizes(*dims):
        return Const(np.array(dims, np.int64))

    return [
        Case("f32, 8x128x1024, 0213", "Transpose", [m.real(8, 128, 16, 64)], {"perm": [0, 2, 1, 3]}),
        Case("f32, 64x1024, along 1", "GatherElements", [m.real(64, 1024), m.whole(1024, 64, 1024)], {"axis": 1}),
        Case("f32, 512x512", "Trilu", [m.real(512, 512)]),
        Case("f32, 1000x768, 512 rows", "Gather", [m.real(1000, 768), m.whole(1000, 512)]),
        Case("u8, 16x64x196, 021", "Transpose", [m.byte(16, 64, 196)], {"perm": [0, 2, 1]}),
        Case("f32, 256x1 to 256x1024", "Expand", [m.real(256, 1), sizes(256, 1024)]),
        Case("f32, 64x56x56, by 2", "SpaceToDepth", [m.real(1, 64, 56, 56)], {"blocksize": 2}),
        Case("i64 to f32, 1000x100", "OneHot", [m.whole(100, 1000), Const(np.array(100, np.int64)), Const(np.array([0, 1], np.float32))]),
    ]


def cases():
    """All of them, each group from its own start."""
    return [case for group in (quantised, recurrent, products, element_wise, along, images, moves) for case in group(Maker())]
