# SPDX-License-Identifier: Apache-2.0
"""Cases of what random graphs (scripts/fuzz-graphs) found of operators that become others, for lowered.py."""
import numpy as np
from onnx import numpy_helper

from lowered_group import Group


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
