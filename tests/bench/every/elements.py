# SPDX-License-Identifier: Apache-2.0
"""Operators that compute element by element."""
import numpy as np

from .common import FLOATS, KINDS, One, of_kinds, scalar

ROWS, COLUMNS = 256, 1024
SHAPE = (ROWS, COLUMNS)
PLAIN = ("Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN "
         "LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu").split()
RANGES = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 9), "Log": (0.01, 9), "Sqrt": (0, 9), "Reciprocal": (0.5, 4)}
ARITHMETIC = ("Add Sub Mul Div Pow Mod Max Min").split()
COMPARED = ("Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor").split()
BITS = ("BitwiseAnd BitwiseOr BitwiseXor BitShift").split()
BROADCAST = ("Add", "Div", "Max", "Mod", "Pow", "Equal", "Less", "And", "BitwiseAnd")
NUMBER = ("Add", "Mul", "Pow", "Max", "Equal", "Greater")


def plain(m, kind):
    for op in PLAIN:
        x = m.within(kind, *RANGES[op], *SHAPE) if op in RANGES and kind in FLOATS else m.of(kind, *SHAPE)
        yield One("256x1024", op, [x])
    yield One("256x1024, tanh", "Gelu", [m.of(kind, *SHAPE)], {"approximate": "tanh"})
    yield One("256x1024, limits", "Clip", [m.of(kind, *SHAPE), scalar(0 if kind == "u8" else -1, kind), scalar(2, kind)])
    yield One("256x1024, alpha", "Swish", [m.of(kind, *SHAPE)], {"alpha": 1.5}, opset=24)
    yield One("1x64x56x56", "Relu", [m.of(kind, 1, 64, 56, 56)])
    yield One("1x64x56x56, per channel", "PRelu", [m.of(kind, 1, 64, 56, 56), m.of(kind, 64, 1, 1)])
    yield One("256x1024, of inference", "Dropout", [m.of(kind, *SHAPE)])


def operands(m, kind, op):
    """Of an operator of two, and its attributes."""
    low = 1 if op in ("Div", "Mod", "Pow", "BitShift") else -100
    high = 3 if op in ("Pow", "BitShift") else 5 if op == "Equal" else 100
    attributes = {"fmod": 1} if op == "Mod" and kind in FLOATS else {"direction": "LEFT"} if op == "BitShift" else {}

    def left(*shape):
        x = m.of(kind, *shape, low=-9 if op == "Pow" else -100 if op != "Equal" else 0, high=9 if op == "Pow" else high)
        return np.abs(x) if op == "Pow" and kind in FLOATS else x

    def right(*shape):
        if kind in FLOATS and low == 1:
            return m.within(kind, 0.5, 3, *shape)
        return np.maximum(m.of(kind, *shape, low=low, high=high), low) if kind == "u8" and low == 1 else m.of(kind, *shape, low=low, high=high)

    return left, right, attributes


def two(m, kind):
    for op in ARITHMETIC + COMPARED + BITS:
        left, right, attributes = operands(m, kind, op)
        yield One("256x1024", op, [left(*SHAPE), right(*SHAPE)], attributes)
        if op in BROADCAST:
            yield One("256x1024 by row", op, [left(*SHAPE), right(COLUMNS)], attributes)
            yield One("256x1024 by column", op, [left(*SHAPE), right(ROWS, 1)], attributes)
        if op in NUMBER:
            yield One("256x1024 by number", op, [left(*SHAPE), scalar(2, kind)], attributes)
    if kind in FLOATS:
        yield One("1x64x56x56 per channel", "Mul", [m.of(kind, 1, 64, 56, 56), m.of(kind, 64, 1, 1)])
        yield One("256x1024, by 0.5", "Pow", [np.abs(m.of(kind, *SHAPE)), scalar(0.5, kind)])
    for op in ("Sum", "Mean", "Max", "Min"):
        yield One("256x1024 of three", op, [m.of(kind, *SHAPE) for _ in range(3)])


def chosen(m, kind):
    mask, a, b = m.of("bool", *SHAPE), m.of(kind, *SHAPE), m.of(kind, *SHAPE)
    yield One("256x1024", "Where", [mask, a, b])
    yield One("256x1024, mask of a row", "Where", [mask[:1], a, b])
    yield One("256x1024, mask of a column", "Where", [mask[:, :1], a, b])
    yield One("256x1024, a number", "Where", [mask, scalar(1, kind), b])


def casts(m, kind):
    x = m.of(kind, *SHAPE)
    x = np.abs(x) * 20 if kind in FLOATS else x  # so that each type holds it
    for to, dtype in KINDS.items():
        if to != kind:
            import onnx
            yield One(f"to {to}, 256x1024", "Cast", [x], {"to": onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))})


def cases():
    return of_kinds(plain) + of_kinds(two) + of_kinds(chosen) + of_kinds(casts)
