# SPDX-License-Identifier: Apache-2.0
"""Cases of mixtures of experts, for lowered.py."""
import numpy as np
from onnx import helper

from lowered_group import MICROSOFT, Group

EXPERTS, HIDDEN, INNER = 3, 16, 32


def packed(numbers, bits):
    """So many bits of each along the last axis, from the lowest on."""
    each = 8 // bits
    numbers = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % each)])
    return sum((numbers[..., i::each] << bits * i for i in range(each)), np.zeros_like(numbers[..., ::each])).astype(np.uint8)


def experts():
    g = Group()
    tokens, router = g.feed(g.real(5, HIDDEN)), g.feed(g.real(5, EXPERTS))
    batch, of_batch = g.feed(g.real(2, 3, HIDDEN)), g.feed(g.real(6, EXPERTS))
    one, two = g.constant(g.real(EXPERTS, INNER, HIDDEN) / 4), g.constant(g.real(EXPERTS, HIDDEN, INNER) / 4)
    wide = g.constant(g.real(EXPERTS, 2 * INNER, HIDDEN) / 4)
    sums = [g.constant(g.real(EXPERTS, n)) for n in (INNER, HIDDEN, 2 * INNER)]
    for name, normal in (("relu", 0), ("gelu", 1), ("silu", 0), ("identity", 1)):
        g.add("MoE", [tokens, router, one, sums[0], two, sums[1]], activation_type=name, k=2, normalize_routing_weights=normal)
    g.add("MoE", [batch, of_batch, one, "", two], k=1)
    g.add("MoE", [batch, of_batch, wide, sums[2], two, sums[1]], k=3, activation_type="swiglu", swiglu_fusion=1)
    g.add("MoE", [batch, of_batch, wide, sums[2], two, sums[1]], k=2, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.7, activation_beta=1.0,
          swiglu_limit=1.5, normalize_routing_weights=1)
    return g


def small_experts():
    """With weights of a few bits."""
    g = Group()
    tokens, router = g.feed(g.real(2, 3, HIDDEN)), g.feed(g.real(6, EXPERTS))

    def stack(outputs, inputs, bits, block, has_zeros):
        count = inputs // block if block else 1
        numbers = g.random.integers(0, 1 << bits, (EXPERTS, outputs, inputs)).astype(np.uint8)
        scales = g.random.random((EXPERTS, outputs, count)) / (1 << bits) + 0.01
        zeros = g.random.integers(0, 1 << bits, (EXPERTS, outputs, count)).astype(np.uint8)
        zeros = packed(zeros if block else zeros[..., 0], bits)
        return (g.constant(packed(numbers, bits), np.uint8), g.constant(scales if block else scales[..., 0]),
                g.constant(zeros, np.uint8) if has_zeros else "")

    # ONNX Runtime has tokens in 8 bits where blocks are of 8 bits: that tells nothing.
    for bits, block, has_zeros in ((8, 0, False), (4, 0, False), (4, 0, True), (4, 16, False), (4, 16, True), (2, 16, False), (8, 0, True)):
        one, two = stack(INNER, HIDDEN, bits, block, has_zeros), stack(HIDDEN, INNER, bits, block, has_zeros)
        g.add("QMoE", [tokens, router, *one[:2], g.constant(g.real(EXPERTS, INNER)), *two[:2], "", "", "", "", one[2], two[2]], k=2, activation_type="silu",
              expert_weight_bits=bits, normalize_routing_weights=1, **({"block_size": block} if block else {}))
    one, two = stack(2 * INNER, HIDDEN, 4, 16, False), stack(HIDDEN, INNER, 4, 16, False)
    g.add("QMoE", [tokens, router, *one[:2], g.constant(g.real(EXPERTS, 2 * INNER)), *two[:2], g.constant(g.real(EXPERTS, HIDDEN))], k=2, block_size=16,
          activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1, activation_alpha=1.7, activation_beta=1.0, swiglu_limit=2.0)
    return g


def gated_experts():
    """Gates of their own, or behind the rest: of GPUs alone, for which ONNX Runtime runs what its CPU has."""
    g = Group()
    tokens, router = g.feed(g.real(5, HIDDEN)), g.feed(g.real(5, EXPERTS))
    one, gate = g.real(EXPERTS, INNER, HIDDEN) / 4, g.real(EXPERTS, INNER, HIDDEN) / 4
    bias, other = g.real(EXPERTS, INNER), g.real(EXPERTS, INNER)
    two = g.constant(g.real(EXPERTS, HIDDEN, INNER) / 4)
    between = [np.stack(pair, 2).reshape(EXPERTS, 2 * INNER, *pair[0].shape[2:]) for pair in ((one, gate), (bias, other))]
    rest = {"k": 2, "activation_type": "swiglu"}

    def as_said(inputs, **attributes):
        name, = g.add("MoE", inputs, **rest, **attributes)
        g.twins.append(helper.make_node("MoE", [tokens, router, g.constant(between[0]), g.constant(between[1]), two], [name], domain=MICROSOFT,
                                        swiglu_fusion=1, **rest))

    as_said([tokens, router, *(g.constant(np.concatenate(pair, 1)) for pair in ((one, gate), (bias, other))), two], swiglu_fusion=2)
    as_said([tokens, router, g.constant(one), g.constant(bias), two, "", g.constant(gate), g.constant(other)])
    name, = g.add("MoE", [tokens, router, g.constant(one), g.constant(bias), two, "", g.constant(gate), g.constant(other)], k=2, activation_type="silu")
    g.twins.append(helper.make_node("Identity", [g.outputs[0].name], [name]))
    return g
