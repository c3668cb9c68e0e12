# SPDX-License-Identifier: Apache-2.0
"""Operators on quanta of 8 bits, standard ones and those of com.microsoft."""
import numpy as np

from .common import KINDS, Const, One, of_kinds, scalar

MICROSOFT = "com.microsoft"


def quanta(m, kind, *shape):
    return m.byte(*shape, dtype=KINDS[kind])


def sides(kind):
    """Scales and zero points of an input, another and the result."""
    zero = 120 if kind == "u8" else 3
    return [scalar(0.02), scalar(zero, kind)], [scalar(0.03), scalar(zero - 3, kind)], [scalar(0.05), scalar(zero - 1, kind)]


def quick(name, op, inputs, kind, attributes=None, domain=MICROSOFT, **more):
    return One(name, op, inputs, attributes or {}, domain=domain, exact=False, types=[KINDS[kind]] if domain else None, **more)


def around(m, kind):
    """What dequantises, computes and quantises."""
    x, y, z = sides(kind)
    image, other = quanta(m, kind, 1, 64, 56, 56), quanta(m, kind, 1, 64, 56, 56)
    unit = [scalar(1 / 256), scalar(0 if kind == "u8" else -128, kind)]
    for op in ("QLinearAdd", "QLinearMul"):
        yield quick("1x64x56x56", op, [image, *x, other, *y, *z], kind)
        yield quick("1x64x56x56 per channel", op, [image, *x, Const(quanta(m, kind, 64, 1, 1)), *y, *z], kind)
    yield quick("1x64x56x56", "QLinearSigmoid", [image, *x, *unit], kind)
    yield quick("1x64x56x56", "QLinearLeakyRelu", [image, *x, *z], kind, {"alpha": 0.2})
    yield quick("64, 56x56", "QLinearGlobalAveragePool", [image, *x, *z], kind, {"channels_last": 0})
    yield quick("56x56, 64", "QLinearGlobalAveragePool", [quanta(m, kind, 1, 56, 56, 64), *x, *z], kind, {"channels_last": 1})
    yield quick("64, 56x56, 2x2", "QLinearAveragePool", [image, *x, *z], kind, {"kernel_shape": [2, 2], "strides": [2, 2]})
    yield quick("64, 57x57, 2x2, all counted", "QLinearAveragePool", [quanta(m, kind, 1, 64, 57, 57), *x, *z], kind,
                {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1})
    yield quick("12x128x128, of operator set 11", "QLinearSoftmax", [quanta(m, kind, 12, 128, 128), *x, *unit], kind, {"axis": 2, "opset": 11})
    yield quick("12x128x128", "QLinearSoftmax", [quanta(m, kind, 12, 128, 128), *x, *unit], kind, {"axis": -1, "opset": 13})
    yield quick("1x64x56x56 of two, channels", "QLinearConcat", [*z, image, *x, other, *y], kind, {"axis": 1})
    yield quick("1x64x56x56", "QLinearWhere", [m.of("bool", 1, 64, 56, 56), image, *x, other, *y, *z], kind)
    yield quick("56x56, 64, 3x3 stride 2", "NhwcMaxPool", [quanta(m, kind, 1, 56, 56, 64)], kind, {"kernel_shape": [3, 3], "strides": [2, 2]})


def products(m, kind):
    x, _, z = sides(kind)
    weights, columns = Const(m.weights(768, 768)), [Const(np.full(768, 0.01, np.float32)), Const(np.zeros(768, np.int8))]
    one = [scalar(0.01), scalar(0, "i8")]
    for rows in (1, 128):
        a = quanta(m, kind, rows, 768)
        yield quick(f"{rows}x768x768", "MatMulInteger", [a, weights, x[1]], kind, domain="")
        yield quick(f"{rows}x768x768", "QLinearMatMul", [a, *x, weights, *one, *z], kind, domain="")
        yield quick(f"{rows}x768x768", "QGemm", [a, *x, weights, *columns, Const(m.whole(999, 768, dtype=np.int32)), *z], kind, {"transB": 1})
        yield quick(f"{rows}x768x768", "MatMulIntegerToFloat", [a, weights, x[0], one[0], x[1], one[1]], "f32")
    yield quick("12x128x64x128, both variable", "MatMulInteger", [quanta(m, kind, 12, 128, 64), quanta(m, kind, 12, 64, 128), x[1]], kind, domain="")
    for name, shape, attributes in (("3x3", (64, 64, 3, 3), {"pads": [1] * 4}), ("1x1", (64, 64, 1, 1), {}),
                                    ("3x3 stride 2", (64, 64, 3, 3), {"pads": [1] * 4, "strides": [2, 2]}),
                                    ("depthwise 3x3", (64, 1, 3, 3), {"pads": [1] * 4, "group": 64})):
        filters = Const(m.weights(*shape, axes=(1, 2, 3)))
        channel = [Const(np.full(64, 0.01, np.float32)), Const(np.zeros(64, np.int8))]
        yield quick(f"{name}, 64, 56x56", "QLinearConv", [quanta(m, kind, 1, 64, 56, 56), *x, filters, *channel, *z], kind, attributes, domain="")
        yield quick(f"{name}, 56x56, 64", "QLinearConv", [quanta(m, kind, 1, 56, 56, 64), *x, filters, *channel, *z], kind,
                    attributes | {"channels_last": 1})
    yield quick("3x3, 32, 28x28", "ConvInteger", [quanta(m, kind, 1, 32, 28, 28), Const(m.weights(64, 32, 3, 3)), x[1]], kind, {"pads": [1] * 4}, domain="")
    yield quick("1x64x56x56", "DequantizeLinear", [quanta(m, kind, 1, 64, 56, 56), *x], kind, domain="")
    yield quick("128x768 by columns", "DequantizeLinear", [quanta(m, kind, 128, 768), columns[0], Const(np.zeros(768, KINDS[kind]))], kind, {"axis": 1},
                domain="")


def dynamic(m, _kind):
    real = {rows: m.real(rows, 768) for rows in (1, 128)}
    weights = Const(m.weights(768, 768))
    for rows, x in real.items():
        yield quick(f"{rows}x768x768", "DynamicQuantizeMatMul", [x, weights, scalar(0.01), scalar(0, "i8"), Const(m.real(768))], "f32")
        for bits in (4, 8):
            packed = [Const(m.byte(768, 24, 32 * bits // 8)), Const((m.random.random((768, 24)) / 20).astype(np.float32))]
            yield quick(f"{rows}x768x768, {bits} bits", "MatMulNBits", [x, *packed], "f32", {"K": 768, "N": 768, "bits": bits, "block_size": 32})
            if bits == 4:
                yield quick(f"{rows}x768x768, rounded to 8 bits", "MatMulNBits", [x, *packed], "f32",
                            {"K": 768, "N": 768, "bits": 4, "block_size": 32, "accuracy_level": 4})
        four = [Const(m.byte(768 * 768 // 2)), Const((m.random.random(768 * 768 // 64) / 20).astype(np.float32))]
        yield quick(f"{rows}x768x768", "MatMulBnb4", [x, *four], "f32", {"K": 768, "N": 768, "block_size": 64, "quant_type": 1})
    table = [Const(m.byte(1000, 384)), m.whole(1000, 128), Const((m.random.random((1000, 24)) / 20).astype(np.float32))]
    yield quick("1000x768, 128 rows, 4 bits", "GatherBlockQuantized", table, "f32", {"bits": 4, "block_size": 32})
    gates = [Const(m.byte(1, n, 512, dtype=np.int8)) for n in (128, 128)]
    scales = [Const(np.full((1, 512), 0.005, np.float32)), Const(np.zeros((1, 512), np.int8))]
    yield quick("50 steps, 128", "DynamicQuantizeLSTM", [m.real(50, 1, 128), *gates, Const(m.real(1, 1024)), None, None, None, None, *scales, *scales],
                "f32", {"hidden_size": 128}, same=False)  # the steps after the first are quantised otherwise
    heads = [m.byte(1, 128, 256), Const(m.weights(256, 768)), Const(m.real(768)), scalar(0.02), scalar(0.01), None, scalar(120, "u8"), scalar(0, "i8")]
    yield quick("4 heads, 128x256", "QAttention", heads, "f32", {"num_heads": 4})


def cases():
    return of_kinds(around, "u8", "i8") + of_kinds(products, "u8", "i8") + of_kinds(dynamic, "f32")
