# SPDX-License-Identifier: Apache-2.0
"""Operators along axes: reductions, softmax, norms, orders."""
import numpy as np

from .common import FLOATS, One, of_kinds, wide

REDUCTIONS = ("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare").split()
AXES = {"first": 0, "middle": 1, "last": 2}


def reductions(m, kind):
    x = m.of(kind, 64, 64, 64, low=-3, high=4)
    for op in REDUCTIONS:
        given = np.abs(x) + 1 if op == "ReduceLogSum" and kind != "bool" else x
        if op == "ReduceProd":
            given = (1 + x / 32).astype(x.dtype) if kind in FLOATS else x % 2 * 2 - 1 if kind != "bool" else x
        same = op != "ReduceLogSumExp" or kind in FLOATS  # of integers ONNX Runtime cuts each power off
        for place, axis in AXES.items():
            yield One(f"64x64x64, {place} axis", op, [given, wide(axis)], same=same)
    for op in ("ReduceSum", "ReduceMean", "ReduceMax"):
        yield One("256x1024, all", op, [m.of(kind, 256, 1024, low=-3, high=4)], {"keepdims": 0})
    yield One("1x64x56x56, of images", "ReduceMean", [m.of(kind, 1, 64, 56, 56), wide(2, 3)])
    yield One("1000x10, rows of 10", "ReduceSum", [m.of(kind, 1000, 10, low=-3, high=4), wide(1)])


def places(m, kind):
    x = m.of(kind, 64, 64, 64)
    for op in ("ArgMax", "ArgMin"):
        for place, axis in AXES.items():
            yield One(f"64x64x64, {place} axis", op, [x], {"axis": axis})
    yield One("256x1024, last axis", "ArgMax", [m.of(kind, 256, 1024)], {"axis": 1, "keepdims": 0})
    yield One("1000x10, rows of 10", "ArgMax", [m.of(kind, 1000, 10)], {"axis": 1})


def shares(m, kind):
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        yield One("256x1024, last axis", op, [m.of(kind, 256, 1024)])
        yield One("10000x10, rows of 10", op, [m.of(kind, 10000, 10)])
        yield One("16x64x256, middle axis", op, [m.of(kind, 16, 64, 256)], {"axis": 1})


def norms(m, kind):
    rows, image = m.of(kind, 128, 768), m.of(kind, 1, 64, 56, 56)
    scale, shift = m.of(kind, 768), m.of(kind, 768)
    channel = [m.of(kind, 64), m.of(kind, 64)]
    yield One("128x768", "LayerNormalization", [rows, scale, shift], opset=17)
    yield One("128x768", "RMSNormalization", [rows, scale], opset=23)
    yield One("1x64x56x56", "InstanceNormalization", [image, *channel])
    yield One("1x64x56x56, 8 groups", "GroupNormalization", [image, *channel], {"num_groups": 8}, opset=21)
    yield One("1x64x56x56", "BatchNormalization", [image, *channel, m.of(kind, 64), np.abs(m.of(kind, 64)) + 1])
    yield One("1x64x56x56, 5 channels", "LRN", [image], {"size": 5})
    yield One("1x64x56x56", "MeanVarianceNormalization", [image])
    for p in (1, 2):
        yield One(f"256x1024, L{p}", "LpNormalization", [m.of(kind, 256, 1024)], {"p": p})
    yield One("64x64x64, middle axis", "LpNormalization", [m.of(kind, 64, 64, 64)], {"axis": 1})


def sums(m, kind):
    x = m.of(kind, 256, 1024, low=-3, high=4)
    for axis in (0, 1):
        yield One(f"256x1024, axis {axis}", "CumSum", [x, wide(axis)])
    yield One("64x64x64, middle axis, reverse", "CumSum", [m.of(kind, 64, 64, 64), wide(1)], {"reverse": 1})


def orders(m, kind):
    yield One("1x20000, 100", "TopK", [m.of(kind, 1, 20000, high=9999), wide(100)], outputs=2)
    yield One("100x1000, 5", "TopK", [m.of(kind, 100, 1000), wide(5)], outputs=2)
    yield One("10000x10, 3", "TopK", [m.of(kind, 10000, 10), wide(3)], outputs=2)
    yield One("16x64x256, 5 of middle axis", "TopK", [m.of(kind, 16, 64, 256), wide(5)], {"axis": 1}, outputs=2)
    yield One("100x1000, all, smallest first", "TopK", [m.of(kind, 100, 1000), wide(1000)], {"largest": 0}, outputs=2)
    yield One("10000 of 200", "Unique", [m.of(kind, 10000)], outputs=4)
    yield One("1000x4, axis 0", "Unique", [m.of(kind, 1000, 4, low=-2, high=2)], {"axis": 0}, outputs=4)
    yield One("256x1024", "NonZero", [np.where(m.of("bool", 256, 1024), m.of(kind, 256, 1024), np.zeros((), m.of(kind, 1).dtype))])


def cases():
    return of_kinds(reductions) + of_kinds(places) + of_kinds(shares) + of_kinds(norms) + of_kinds(sums) + of_kinds(orders)
