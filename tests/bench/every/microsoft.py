# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX Runtime's optimisers on real numbers (com.microsoft)."""
import numpy as np

from .common import KINDS, Const, One, of_kinds, scalar, wide


def made(kind):
    def one(name, op, inputs, attributes=None, outputs=1, types=None, domain="com.microsoft"):
        return One(name, op, inputs, attributes or {}, outputs, domain=domain, types=types or [KINDS[kind]] * outputs)

    return one


def layers(m, kind):
    one = made(kind)
    x, row, skip = m.of(kind, 128, 768), Const(m.of(kind, 768)), m.of(kind, 128, 768)
    deep = [m.of(kind, 1, 128, 768) for _ in range(2)]
    yield one("128x768", "Gelu", [x])
    yield one("128x768", "BiasGelu", [x, row])
    yield one("128x768", "FastGelu", [x])
    yield one("128x768, bias", "FastGelu", [x, row])
    yield one("128x768", "QuickGelu", [x])
    yield one("1x128x768", "SkipLayerNormalization", [*deep, row, row])
    yield one("1x128x768, bias, sum", "SkipLayerNormalization", [*deep, row, row, row], outputs=4,
              types=[KINDS[kind], np.float32, np.float32, KINDS[kind]])
    yield one("1x128x768", "SkipSimplifiedLayerNormalization", [*deep, row])
    yield One("128x768", "SimplifiedLayerNormalization", [x, row], {"axis": -1}, types=[KINDS[kind]])
    tables = [Const(m.of(kind, n, 768)) for n in (1000, 512, 2)]
    ids, parts = m.whole(1000, 1, 128, dtype=np.int32), m.whole(2, 1, 128, dtype=np.int32)
    yield one("1x128x768", "EmbedLayerNormalization", [ids, parts, *tables, row, row], outputs=2, types=[KINDS[kind], np.int32])
    image, filters, bias = m.of(kind, 1, 64, 56, 56), Const(m.of(kind, 64, 64, 3, 3)), Const(m.of(kind, 64))
    yield one("3x3, Relu, 64, 56x56", "FusedConv", [image, filters, bias], {"activation": "Relu", "pads": [1] * 4})
    yield one("3x3, Relu, sum, 64, 56x56", "FusedConv", [image, filters, bias, m.of(kind, 1, 64, 56, 56)], {"activation": "Relu", "pads": [1] * 4})
    yield one("64x256x256, Relu", "FusedGemm", [m.of(kind, 64, 256), Const(m.of(kind, 256, 256)), Const(m.of(kind, 256))], {"activation": "Relu", "transB": 1})
    a = m.of(kind, 12, 128, 64)
    yield one("12x128x64x128", "FusedMatMul", [a, m.of(kind, 12, 128, 64)], {"transB": 1, "alpha": 0.125})
    yield one("128x768x768", "FusedMatMul", [x, Const(m.of(kind, 768, 768))], {"alpha": 0.5})
    yield one("128x768x768", "TransposeMatMul", [m.of(kind, 768, 128), Const(m.of(kind, 768, 768))], {"transA": 1})
    yield one("200x64, 300x64", "CDist", [m.of(kind, 200, 64), m.of(kind, 300, 64)], {"metric": "euclidean"})
    yield one("16x8x8", "Inverse", [m.of(kind, 16, 8, 8) + 4 * np.eye(8, dtype=KINDS[kind])])


def attention(m, kind):
    one = made(kind)
    x = m.of(kind, 1, 128, 768)
    weights, bias = Const((m.of(kind, 768, 2304) / 28).astype(KINDS[kind])), Const(m.of(kind, 2304))
    yield one("12 heads, 128x768", "Attention", [x, weights, bias], {"num_heads": 12})
    yield one("12 heads, 128x768, causal", "Attention", [x, weights, bias], {"num_heads": 12, "unidirectional": 1})
    yield one("12 heads, 128x768, lengths", "Attention", [x, weights, bias, np.array([100], np.int32)], {"num_heads": 12})
    q, k, v = (m.of(kind, 1, 128, 768) for _ in range(3))
    yield one("12 heads, 128x768", "MultiHeadAttention", [q, k, v], {"num_heads": 12})
    yield one("12 heads, 128x768, bias", "MultiHeadAttention", [q, k, v, bias], {"num_heads": 12})
    group, total = {"num_heads": 12, "kv_num_heads": 4}, Const(np.array(128, np.int32))
    flat = [m.of(kind, 1, 128, n) for n in (768, 256, 256)]
    yield one("12 heads of 4, 128", "GroupQueryAttention", [*flat, None, None, np.array([127], np.int32), total], group, 3)
    tables = [Const(m.of(kind, 512, 32)) for _ in range(2)]
    yield one("12 heads of 4, 128, rotary", "GroupQueryAttention", [*flat, None, None, np.array([127], np.int32), total, *tables],
              group | {"do_rotary": 1}, 3)
    now, past = [m.of(kind, 1, 1, n) for n in (768, 256, 256)], [m.of(kind, 1, 4, 511, 64) for _ in range(2)]
    yield one("12 heads of 4, 1 of 512, rotary", "GroupQueryAttention", [*now, *past, np.array([511], np.int32), Const(np.array(512, np.int32)), *tables],
              group | {"do_rotary": 1}, 3)
    step, room = [m.of(kind, 1, 1, 768) for _ in range(3)], [m.of(kind, 1, 12, 512, 64) for _ in range(2)]
    yield one("12 heads, 1 of 512", "DecoderMaskedMultiHeadAttention", [*step, None, None, *room, np.array([511], np.int32)],
              {"num_heads": 12, "past_present_share_buffer": 1}, 3)
    yield one("12 heads, 1 over 512", "DecoderMaskedMultiHeadAttention", [step[0], *room], {"num_heads": 12})
    yield one("12 heads, 128x64", "RotaryEmbedding", [m.of(kind, 1, 12, 128, 64), np.arange(128, dtype=np.int64)[None], *tables])
    yield one("128x768", "RotaryEmbedding", [x, np.arange(128, dtype=np.int64)[None], *tables], {"num_heads": 12, "rotary_embedding_dim": 64})


def worded(m, kind):
    """In the words of com.microsoft what newer standard operators do."""
    one = made(kind)
    yield one("128x768", "Trilu", [m.of(kind, 128, 768)])
    yield one("128x768", "ExpandDims", [m.of(kind, 128, 768), Const(np.array(1, np.int32))])
    yield one("128x768, 100", "GatherND", [m.of(kind, 128, 768), m.whole(128, 100, 1)])
    yield one("128x768", "Pad", [m.of(kind, 128, 768), wide(1, 0, 1, 0), scalar(1, kind)])
    yield one("16, 56x56", "GridSample", [m.of(kind, 1, 16, 56, 56), m.within(kind, -1, 1, 1, 56, 56, 2)], {"mode": "bilinear"})
    yield one("1000", "Unique", [m.of(kind, 1000)], outputs=3, types=[KINDS[kind], np.int64, np.int64])


def letters(m, kind):
    """Words of up to 16 letters; hashes."""
    one = made(kind)
    words = m.whole(64, 200, 16, dtype=np.int32) + np.int32(1)
    yield one("200 words of 16, 64 filters of 3", "WordConvEmbedding", [words, Const(m.of(kind, 64, 1, 3, 16)), Const(m.of(kind, 64)), Const(m.of(kind, 65, 16))])


def hashes(m, kind):
    yield One("256x1024", "MurmurHash3", [m.of(kind, 256, 1024)], {}, 1, domain="com.microsoft", types=[np.uint32])


def streams(m, kind):
    """Four streams beside each other, experts by groups, hashes of words."""
    one = made(kind)
    x, block = m.of(kind, 1, 128, 4, 768), m.of(kind, 1, 128, 768)
    yield one("128x4x768", "HyperConnectionPreMix", [x, m.of(kind, 1, 128, 4)])
    yield one("128x4x768", "HyperConnectionPostMix", [x, block, m.of(kind, 1, 128, 4), m.of(kind, 1, 128, 4, 4)])
    yield one("128x4x768", "BranchwiseRMSNorm", [x, Const(m.of(kind, 4, 768))])
    yield one("128x4x768", "EngramGate", [x, m.of(kind, 1, 128, 4, 768), block, *(Const(m.of(kind, 4, 768)) for _ in range(3))], outputs=2)
    yield one("128x256, 8 of 4 of 8 groups", "MoEGroupRouter", [m.of(kind, 128, 256), Const(m.of("f32", 256))], {"top_k": 8, "n_group": 8, "topk_group": 4})


def ngrams(m, kind):
    numbers = [Const(m.whole(n, count, dtype=KINDS[kind]) + KINDS[kind](2)) for n, count in ((9999, 3), (999, 16))]
    yield One("1x512, 3 words, 8 heads", "NGramHashMapping", [m.whole(9999, 1, 512, dtype=KINDS[kind]), *numbers],
              {"max_ngram_size": 3, "n_head_per_ngram": 8, "pad_id": 0}, 1, domain="com.microsoft", types=[KINDS[kind]])


def gates(m, kind):
    """What the builder of language models writes beside attention."""
    one = made(kind)
    x, y = m.of(kind, 1, 128, 768), m.of(kind, 1, 128, 768)
    yield one("1x128x768", "GatedAdd", [x, y, m.of(kind, 1, 128, 1)])
    yield one("1x128x768", "GatedRMSNorm", [x, Const(m.of(kind, 768)), y])
    yield one("1x128x768", "ScaledSiLU", [x], {"alpha": 0.5})
    heads = {"q_num_heads": 12, "kv_num_heads": 12}
    decay = -np.abs(m.of(kind, 1, 128, 12))
    yield one("12 heads, 128x64, gated", "LinearAttention", [x, y, x, m.of(kind, 1, 12, 64, 64), decay], heads | {"update_rule": "gated"}, 2)
    parts = [m.of(kind, 128, heads, 64) for heads in (6, 6, 12)]
    raw, rates = m.of(kind, 128, 12), [Const(m.of("f32", 12)) for _ in range(2)]
    yield one("12 heads of 6, 128x64", "GatedDeltaNet", [*parts, None, raw, raw, m.of("f32", 1, 12, 64, 64), *rates],
              {"gate_activation": "softplus", "beta_activation": "sigmoid", "qk_l2_norm": 1}, 2, [KINDS[kind], np.float32])
    yield one("768, 128, 4 taps", "CausalConvWithState", [m.of(kind, 1, 768, 128), Const(m.of(kind, 768, 1, 4)), Const(m.of(kind, 768))],
              {"activation": "silu"}, 2)


def experts(m, kind):
    """Two of eight for each token, and one token alone."""
    one = made(kind)
    weights = [Const((m.of(kind, 8, *sizes) / 16).astype(KINDS[kind])) for sizes in ((512, 256), (256, 512))]
    sums = [Const(m.of(kind, 8, n)) for n in (512, 256)]
    quanta = [Const(m.byte(8, *sizes)) for sizes in ((512, 128), (256, 256))]
    scales = [Const((m.random.random((8, n)) / 100 + 0.001).astype(KINDS[kind])) for n in (512, 256)]
    for rows in (1, 128):
        tokens, router = m.of(kind, rows, 256), m.of(kind, rows, 8)
        yield one(f"{rows}x256, 2 of 8 of 512", "MoE", [tokens, router, weights[0], sums[0], weights[1], sums[1]], {"k": 2, "activation_type": "gelu"})
        yield one(f"{rows}x256, 2 of 8 of 512, 4 bits", "QMoE", [tokens, router, quanta[0], scales[0], sums[0], quanta[1], scales[1], sums[1]],
                  {"k": 2, "activation_type": "silu", "expert_weight_bits": 4, "normalize_routing_weights": 1})


def cases():
    return of_kinds(experts, "f32") + of_kinds(layers, "f32", "f16") + of_kinds(attention, "f32", "f16") + of_kinds(gates, "f32", "f16") + of_kinds(letters, "f32") + of_kinds(streams, "f32", "f16") + of_kinds(ngrams, "i32", "i64") + of_kinds(hashes, "f32", "f64", "i32", "i64") + of_kinds(worded, "f32", "f64", "i32", "i64", "f16")
