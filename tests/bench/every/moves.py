# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, or make them of nothing."""
import numpy as np

from .common import KINDS, Const, One, of_kinds, scalar, wide

TURNS = {
    "1024x1024, 10": ((1024, 1024), [1, 0]),
    "16x64x196, 021": ((16, 64, 196), [0, 2, 1]),
    "8x128x16x64, 0213": ((8, 128, 16, 64), [0, 2, 1, 3]),
    "8x128x12x32, 0231": ((8, 128, 12, 32), [0, 2, 3, 1]),
    "224x224x3, 201": ((224, 224, 3), [2, 0, 1]),
    "3x224x224, 120": ((3, 224, 224), [1, 2, 0]),
    "1x64x56x56, 0231": ((1, 64, 56, 56), [0, 2, 3, 1]),
    "1x56x56x64, 0312": ((1, 56, 56, 64), [0, 3, 1, 2]),
    "64x64x64, 210": ((64, 64, 64), [2, 1, 0]),
    "8x8x8x8x64, 02143": ((8, 8, 8, 8, 64), [0, 2, 1, 3, 4]),
}


def turned(m, kind):
    for name, (shape, perm) in TURNS.items():
        yield One(name, "Transpose", [m.of(kind, *shape)], {"perm": perm})


def joined(m, kind):
    for axis, shape in ((0, (64, 64, 64)), (1, (64, 64, 64)), (2, (64, 64, 64)), (1, (1, 64, 56, 56))):
        name = "x".join(map(str, shape))
        yield One(f"{name} of three, axis {axis}", "Concat", [m.of(kind, *shape) for _ in range(3)], {"axis": axis})
    for axis in (0, 1, 2):
        yield One(f"64x64x66 in parts of 2, axis {axis}", "Split", [m.of(kind, *((66, 64, 64), (64, 66, 64), (64, 64, 66))[axis]), wide(20, 46)],
                  {"axis": axis}, outputs=2)
    yield One("128x2304 in three", "Split", [m.of(kind, 128, 2304)], {"axis": 1, "num_outputs": 3}, outputs=3)
    x = m.of(kind, 256, 1024)
    yield One("256x1024, columns 10 to 900", "Slice", [x, wide(10), wide(900), wide(1)])
    yield One("256x1024, rows 10 to 200", "Slice", [x, wide(10), wide(200), wide(0)])
    yield One("256x1024, every second column", "Slice", [x, wide(0), wide(1024), wide(1), wide(2)])
    yield One("256x1024, columns backward", "Slice", [x, wide(-1), wide(-9999), wide(1), wide(-1)])
    yield One("256x1024, every second row", "Slice", [x, wide(0), wide(256), wide(0), wide(2)])


def taken(m, kind):
    x = m.of(kind, 256, 1024)
    yield One("1000x768, 512 rows", "Gather", [m.of(kind, 1000, 768), m.whole(1000, 512)])
    yield One("256x1024, 512 columns", "Gather", [x, m.whole(1024, 512)], {"axis": 1})
    yield One("64x64x64, 32 of the middle", "Gather", [m.of(kind, 64, 64, 64), m.whole(64, 32)], {"axis": 1})
    yield One("256x1024, a column", "Gather", [x, Const(np.array(7, np.int64))], {"axis": 1})
    for axis in (0, 1):
        places = m.whole(x.shape[axis], 256, 1024)
        yield One(f"256x1024, along {axis}", "GatherElements", [x, places], {"axis": axis})
        order = np.argsort(m.random.random((256, 1024)), axis=axis).astype(np.int64)
        yield One(f"256x1024, along {axis}", "ScatterElements", [x, order, m.of(kind, 256, 1024)], {"axis": axis})
    yield One("256x1024, add along 1", "ScatterElements", [x, m.whole(1024, 256, 512), m.of(kind, 256, 512, low=-1, high=2)],
              {"axis": 1, "reduction": "add"}, same=kind not in ("f16",))
    yield One("256x1024, 1000 elements", "GatherND", [x, np.stack([m.whole(256, 1000), m.whole(1024, 1000)], 1)])
    yield One("256x1024, 200 rows", "GatherND", [x, m.whole(256, 200, 1)])
    rows = m.random.permutation(256)[:200].reshape(200, 1).astype(np.int64)
    yield One("256x1024, 200 rows", "ScatterND", [x, rows, m.of(kind, 200, 1024)])
    yield One("256x1024, 1000 elements", "ScatterND", [x, np.stack([m.random.permutation(1000) % 256, np.arange(1000)], 1), m.of(kind, 1000)])
    yield One("256x1024, half the rows", "Compress", [x, m.of("bool", 256)], {"axis": 0})
    yield One("256x1024, half the columns", "Compress", [x, m.of("bool", 1024)], {"axis": 1})
    yield One("256x1024, half of all", "Compress", [x, m.of("bool", 256 * 1024)])
    yield One("256x1024", "Trilu", [x])
    yield One("64x16x256", "ReverseSequence", [m.of(kind, 64, 16, 256), m.whole(63, 16) + 1])
    yield One("4x256x64, 8 at 100", "TensorScatter", [m.of(kind, 4, 256, 64), m.of(kind, 4, 8, 64), wide(100, 100, 100, 100)],
              {"axis": 1}, opset=24)


def repeated(m, kind):
    for shape, to in (((256, 1), (256, 1024)), ((1, 1024), (256, 1024)), ((256, 1, 4), (256, 256, 4)), ((4, 8, 1, 128, 64), (4, 8, 4, 128, 64)),
                      ((1,), (256, 1024))):
        yield One(f"{'x'.join(map(str, shape))} to {'x'.join(map(str, to))}", "Expand", [m.of(kind, *shape), wide(*to)])
    for shape, times in (((64, 64), (8, 8)), ((256, 256), (1, 4)), ((256, 256), (4, 1)), ((64, 64, 4), (1, 8, 1))):
        yield One(f"{'x'.join(map(str, shape))} by {'x'.join(map(str, times))}", "Tile", [m.of(kind, *shape), wide(*times)])
    yield One("256x1024 of 1", "ConstantOfShape", [np.array([256, 1024], np.int64)], {"value": value_of(1, kind)})
    yield One("512x512", "EyeLike", [m.of(kind, 512, 512)])
    yield One("to 10000", "Range", [np.array(n).astype(KINDS[kind]) for n in (0, 1000 if kind == "f16" else 10000, 1)])
    yield One(f"i64 to {kind}, 1000x100", "OneHot", [m.whole(100, 1000), Const(np.array(100, np.int64)), Const(np.array([0, 1], KINDS[kind]))])
    yield One(f"i64 to {kind}, 100x64x64, axis 1", "OneHot",
              [m.whole(64, 100, 64), Const(np.array(64, np.int64)), Const(np.array([0, 1], KINDS[kind]))], {"axis": 1})


def value_of(number, kind):
    from onnx import numpy_helper
    return numpy_helper.from_array(np.array([number], KINDS[kind]))


def views(m, kind):
    x = m.of(kind, 256, 1, 1024)
    yield One("256x1x1024 to 1024x256", "Reshape", [x, wide(1024, 256)])
    yield One("256x1x1024", "Flatten", [x])
    yield One("256x1x1024", "Squeeze", [x, wide(1)])
    yield One("256x1x1024", "Unsqueeze", [x, wide(0)])
    yield One("256x1x1024", "Shape", [x])
    yield One("256x1x1024", "Size", [x])
    yield One("to f32, 256x1x1024", "CastLike", [x, scalar(0)])


def cases():
    return of_kinds(turned) + of_kinds(joined) + of_kinds(taken) + of_kinds(repeated) + of_kinds(views)
