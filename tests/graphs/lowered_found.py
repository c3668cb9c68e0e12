# SPDX-License-Identifier: Apache-2.0
"""Cases of what random graphs (scripts/fuzz-graphs) found of operators that become others, for lowered.py."""
import numpy as np
from onnx import numpy_helper

from lowered_group import LEARNING, Group


def held():
    """Weights and masks that nodes hold, not initialisers, and axes that many operators hand on."""
    g = Group()

    def hold(array, dtype=np.float32):
        return g.chain("Constant", [], value=numpy_helper.from_array(np.asarray(array, dtype)))

    x = g.feed(g.real(2, 3, 8))
    g.add("Attention", [x, g.constant(g.real(8, 24)), g.constant(g.real(24)), hold([[1, 1, 0], [1, 1, 1]], np.int32)], num_heads=2)
    g.add("MatMulNBits", [x, hold(g.quanta(4, 1, 8), np.uint8), hold(g.random.random((4, 1)) / 9)], K=8, N=4, bits=4, block_size=16)
    g.add("MatMulBnb4", [g.feed(g.real(3, 16)), hold(g.quanta(40), np.uint8), hold(g.random.random(5))], K=16, N=5, block_size=16, quant_type=1)
    router = g.feed(g.real(6, 3))
    g.add("MoE", [x, router, hold(g.real(3, 4, 8)), hold(g.real(3, 4)), hold(g.real(3, 8, 4))], k=2)
    scales = [hold(g.random.random((3, n)) / 9) for n in (4, 8)]
    g.add("QMoE", [x, router, hold(g.quanta(3, 4, 8), np.uint8), scales[0], "", hold(g.quanta(3, 8, 4), np.uint8), scales[1]], expert_weight_bits=8)
    scale, zero = hold(0.05), hold(120, np.uint8)
    image = [hold(g.quanta(1, 4, 3, 2), np.uint8), scale, zero]
    g.add("QLinearGlobalAveragePool", [*image, scale, zero], (2,), channels_last=1)
    product = g.chain("MatMul", [x, g.constant(g.real(8, 6))])
    g.add("UnfoldTensor", [product], size=2, step=2)
    g.add("UnfoldTensor", [g.chain("LayerNormalization", [g.chain("Tanh", [product]), g.constant(g.real(6))])], size=3)
    g.add("UnfoldTensor", [g.chain("ReduceMax", [g.chain("Flatten", [product])], axes=[1], keepdims=0)], size=2)
    return g


def scored():
    """Transforms of scores, and what prepares features."""
    g = Group(learning=3)
    rows = np.array([[1, -2, 0.5], [-1, -4, -2], [0, 0, 0], [-1, 0, 0]], np.float32)
    x = g.feed(rows)
    g.add("Normalizer", [x], domain=LEARNING)
    g.add("Normalizer", [g.feed(np.abs(rows).astype(np.int64))], domain=LEARNING, norm="MAX")
    whole = g.feed(np.array([[1, 2], [0, 7], [7, 0]]))
    for values, lacking in (([7, 8], 0), ([9], 7)):
        g.add("Imputer", [whole], (7,), LEARNING, imputed_value_int64s=values, replaced_value_int64=lacking)
    numbers = {"coefficients": [0.5, -1.0, 0.25], "intercepts": [0.1]}
    for labels, kind in (({"classlabels_ints": [7, 9]}, 7), ({"classlabels_strings": ["a", "b"]}, 8)):
        g.add("LinearClassifier", [x], (kind, 1), LEARNING, **numbers, **labels)
    g.add("LinearClassifier", [x], (7, 1), LEARNING, **numbers, classlabels_ints=[7, 9], post_transform="LOGISTIC")
    units = {"coefficients": [1.0, 0, 0, 0, 1, 0, 0, 0, 1], "targets": 3}
    g.add("LinearRegressor", [x], domain=LEARNING, post_transform="SOFTMAX_ZERO", **units)
    parts = g.feed(np.array([[0.1, 0.5, 0.9], [0.97, 0.25, 0.6]], np.float32))
    g.add("LinearRegressor", [parts], domain=LEARNING, post_transform="PROBIT", **units)
    return g


def uneven():
    """Values narrower and wider than keys with a bias, a bias that alpha scales, gates of tiny and of no numbers."""
    g = Group(opset=18)
    q, k = g.feed(g.real(2, 3, 8)), g.feed(g.real(2, 4, 8))
    for size in (4, 6, 10):
        bias = g.feed(g.real(16 + size))
        g.add("MultiHeadAttention", [q, k, g.feed(g.real(2, 4, size)), bias], num_heads=2)
        made = g.chain("MatMul", [k, g.constant(g.real(8, size))])
        g.add("MultiHeadAttention", [g.chain("Neg", [q]), g.chain("Neg", [k]), made, bias], num_heads=2)
    rows = [g.feed(g.quanta(3, 8)), g.constant(0.02), g.constant(120, np.uint8)]
    matrix = [g.constant(g.quanta(5, 8, dtype=np.int8), np.int8), g.constant(0.02), g.constant(0, np.int8)]
    sums = g.constant(g.random.integers(-9999, 9999, 5), np.int32)
    g.add("QGemm", [*rows, *matrix, sums], transB=1, alpha=0.5)
    for numbers in (g.real(2, 3, 8) / 999, np.zeros((2, 0, 8), np.float32)):
        g.add("GatedRMSNorm", [g.feed(numbers), g.constant(g.real(4)), g.feed(g.real(*numbers.shape))])
    return g


def cropped():
    """Regions of images, turned over, beyond the image, of one sample and of images of one row, in an old operator set."""
    g = Group(opset=11)
    rois = g.feed(np.array([[0.1, 0.2, 0.8, 0.97], [-0.2, 0, 1.1, 1], [0.7, 0.83, 0.2, 0.1], [0, 0, 1, 1]], np.float32))
    images = g.feed(np.array([0, 1, 1, 0], np.int32))
    for shape in ((2, 3, 5, 6), (2, 1, 1, 4)):
        x = g.feed(g.real(*shape))
        for size in ((3, 4), (1, 3), (1, 1)):
            for mode in ("bilinear", "nearest"):
                g.add("CropAndResize", [x, rois, images, g.constant(size, np.int32)], mode=mode, extrapolation_value=7.0)
    g.add("CropAndResize", [x, rois, images, g.constant([2, 2], np.int32)])
    return g
