# SPDX-License-Identifier: Apache-2.0
"""Operators over images, sounds and volumes: windows, sampling, boxes, convolutions."""
import numpy as np

from .common import FLOATS, Const, One, of_kinds, scalar, wide

WINDOWS = {
    "1x64x1000, 3 stride 2": ((1, 64, 1000), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    "64, 56x56, 3x3 stride 2": ((1, 64, 56, 56), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
    "64, 56x56, 2x2 stride 2": ((1, 64, 56, 56), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "64, 28x28, 5x5": ((1, 64, 28, 28), {"kernel_shape": [5, 5], "pads": [2] * 4}),
    "64, 55x55, 3x3 stride 2, ceil": ((1, 64, 55, 55), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    "64, 56x56, 3x3 dilated": ((1, 64, 56, 56), {"kernel_shape": [3, 3], "dilations": [2, 2]}),
    "16, 16x28x28, 2x2x2": ((1, 16, 16, 28, 28), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
    "16, 16x28x28, 3x3x3": ((1, 16, 16, 28, 28), {"kernel_shape": [3, 3, 3], "pads": [1] * 6}),
}


def pools(m, kind):
    for op in ("MaxPool", "AveragePool", "LpPool"):
        for name, (shape, window) in WINDOWS.items():
            yield One(name, op, [m.of(kind, *shape)], window)
    name = "64, 56x56, 3x3 stride 2"
    shape, window = WINDOWS[name]
    yield One(f"{name}, indices", "MaxPool", [m.of(kind, *shape)], window, outputs=2)
    yield One("64, 28x28, 3x3, pads count", "AveragePool", [m.of(kind, 1, 64, 28, 28)],
              {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1})
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield One("64, 56x56", op, [m.of(kind, 1, 64, 56, 56)])
        yield One("512, 7x7", op, [m.of(kind, 1, 512, 7, 7)])
    flat = np.arange(64 * 56 * 56, dtype=np.int64).reshape(1, 64, 28, 2, 28, 2)[:, :, :, 0, :, 1]
    yield One("64, 28x28, 2x2", "MaxUnpool", [m.of(kind, 1, 64, 28, 28), np.ascontiguousarray(flat)],
              {"kernel_shape": [2, 2], "strides": [2, 2]})


def sizes(m, kind):
    image = m.of(kind, 1, 64, 56, 56, low=0)
    for mode in ("nearest", "linear", "cubic"):
        for name, factor in (("2", 2), ("0.5", 0.5)):
            scales = Const(np.array([1, 1, factor, factor], np.float32))
            x = image if mode != "cubic" else image[:, :8]
            yield One(f"{x.shape[1]}, 56x56, {mode}, {name}", "Resize", [x, None, scales], {"mode": mode}, exact=False)
    yield One("64, 1000, linear, 1.5", "Resize", [m.of(kind, 1, 64, 1000, low=0), None, Const(np.array([1, 1, 1.5], np.float32))],
              {"mode": "linear"}, exact=False)
    yield One("16, 8x28x28, linear, 2", "Resize", [m.of(kind, 1, 16, 8, 28, 28, low=0), None, Const(np.array([1, 1, 2, 2, 2], np.float32))],
              {"mode": "linear"}, exact=False)
    yield One("64, 56x56, align_corners, 112", "Resize", [image, None, None, wide(1, 64, 112, 112)],
              {"mode": "linear", "coordinate_transformation_mode": "align_corners"}, exact=False)
    yield One("3, 224x224 to 96x96, antialias", "Resize", [m.of(kind, 1, 3, 224, 224, low=0), None, None, wide(1, 3, 96, 96)],
              {"mode": "linear", "antialias": 1}, exact=False)
    yield One("64, 56x56, 2", "Upsample", [image, Const(np.array([1, 1, 2, 2], np.float32))], {"mode": "nearest"}, opset=9)


def sampled(m, kind):
    image, grid = m.of(kind, 1, 16, 56, 56), m.within("f32", -1, 1, 1, 56, 56, 2)
    same = grid.astype(image.dtype) if kind in FLOATS else grid
    for mode in ("linear", "nearest", "cubic"):
        yield One(f"16, 56x56, {mode}", "GridSample", [image, same], {"mode": mode})
    yield One("16, 56x56, reflection", "GridSample", [image, same], {"mode": "linear", "padding_mode": "reflection"})
    for name, theta, size in (("56x56", (1, 2, 3), (1, 16, 56, 56)), ("16x28x28", (1, 3, 4), (1, 4, 16, 28, 28))):
        yield One(name, "AffineGrid", [m.of(kind, *theta), wide(*size)])
    boxes = np.concatenate([m.random.random((50, 2)) * 20, 20 + m.random.random((50, 2)) * 30], 1)
    for mode in ("avg", "max"):
        yield One(f"16, 56x56, 50 boxes, {mode}", "RoiAlign", [image, boxes.astype(image.dtype), Const(np.zeros(50, np.int64))],
                  {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "mode": mode})
    rois = np.concatenate([np.zeros((50, 1)), boxes], 1).astype(image.dtype)
    yield One("16, 56x56, 50 boxes", "MaxRoiPool", [image, rois], {"pooled_shape": [7, 7]})
    columns = m.of(kind, 1, 16 * 9, 56 * 56)
    yield One("16, 56x56, 3x3", "Col2Im", [columns, wide(56, 56), wide(3, 3)], {"pads": [1] * 4})
    offset = m.within("f32", -1, 1, 1, 18, 28, 28).astype(image.dtype)
    yield One("32, 28x28, 3x3", "DeformConv", [m.of(kind, 1, 32, 28, 28), Const(m.of(kind, 32, 32, 3, 3)), offset], {"pads": [1] * 4},
              opset=19)


def boxes_kept(m, kind):
    corners = m.random.random((1, 2000, 2)) * 60
    given = [np.concatenate([corners, corners + 1 + m.random.random((1, 2000, 2)) * 9], 2).astype(np.float32),
             m.random.random((1, 20, 2000)).astype(np.float32), wide(100)]
    yield One("2000 boxes, 20 classes", "NonMaxSuppression", [*given, Const(np.array([0.5], np.float32)), Const(np.array([0.3], np.float32))])
    yield One("200 boxes, 1 class", "NonMaxSuppression", [given[0][:, :200], given[1][:, :1, :200], *given[2:], Const(np.array([0.5], np.float32))])


CONVOLUTIONS = {
    "3x3, 64, 56x56": ((1, 64, 56, 56), (64, 64, 3, 3), {"pads": [1] * 4}),
    "3x3 stride 2, 64, 56x56": ((1, 64, 56, 56), (128, 64, 3, 3), {"pads": [1] * 4, "strides": [2, 2]}),
    "1x1, 64, 56x56": ((1, 64, 56, 56), (128, 64, 1, 1), {}),
    "7x7 stride 2, 3, 224x224": ((1, 3, 224, 224), (32, 3, 7, 7), {"pads": [3] * 4, "strides": [2, 2]}),
    "depthwise 3x3, 64, 56x56": ((1, 64, 56, 56), (64, 1, 3, 3), {"pads": [1] * 4, "group": 64}),
    "3x3 of 4 groups, 64, 28x28": ((1, 64, 28, 28), (64, 16, 3, 3), {"pads": [1] * 4, "group": 4}),
    "3x3 dilated, 32, 28x28": ((1, 32, 28, 28), (32, 32, 3, 3), {"pads": [2] * 4, "dilations": [2, 2]}),
    "3, 128, 400": ((1, 128, 400), (128, 128, 3), {"pads": [1, 1]}),
    "3x3x3, 16, 8x28x28": ((1, 16, 8, 28, 28), (16, 16, 3, 3, 3), {"pads": [1] * 6}),
    "3x3, 8, 14x14": ((1, 8, 14, 14), (8, 8, 3, 3), {"pads": [1] * 4}),
}
TRANSPOSED = {
    "2x2 stride 2, 64, 28x28": ((1, 64, 28, 28), (64, 32, 2, 2), {"strides": [2, 2]}),
    "4x4 stride 2, 64, 16x16": ((1, 64, 16, 16), (64, 32, 4, 4), {"strides": [2, 2], "pads": [1] * 4}),
    "16 stride 8, 128, 64": ((1, 128, 64), (128, 64, 16), {"strides": [8], "pads": [4, 4]}),
}


def convolutions(m, kind):
    for op, table in (("Conv", CONVOLUTIONS), ("ConvTranspose", TRANSPOSED)):
        for name, (shape, weights, attributes) in table.items():
            yield One(name, op, [m.of(kind, *shape), Const(m.of(kind, *weights)), Const(m.of(kind, weights[op != "Conv"]))], attributes)


def blocks(m, kind):
    for mode in ("DCR", "CRD"):
        yield One(f"64, 56x56, by 2, {mode}", "DepthToSpace", [m.of(kind, 1, 64, 56, 56)], {"blocksize": 2, "mode": mode})
    yield One("64, 56x56, by 2", "SpaceToDepth", [m.of(kind, 1, 64, 56, 56)], {"blocksize": 2})
    image, pads = m.of(kind, 1, 64, 56, 56), wide(0, 0, 2, 2, 0, 0, 2, 2)
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield One(f"64, 56x56, {mode}", "Pad", [image, pads], {"mode": mode}, opset=19)
    yield One("128x768, 1 before and behind rows", "Pad", [m.of(kind, 128, 768), wide(1, 0, 1, 0), scalar(1, kind)])
    yield One("1x64x56x56 to 48x64", "CenterCropPad", [image, wide(48, 64)], {"axes": [2, 3]})


def cases():
    return (of_kinds(pools) + of_kinds(sizes) + of_kinds(sampled) + of_kinds(boxes_kept, "f32") + of_kinds(convolutions) + of_kinds(blocks))
