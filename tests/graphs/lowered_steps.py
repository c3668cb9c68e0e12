# SPDX-License-Identifier: Apache-2.0
"""Cases of operators that ONNX Runtime's CPU runs though few others do: steps of decoders, blocks of keys that heads see,
masks that hide all, hashes, words of letters, for lowered.py."""
import numpy as np

from lowered_group import LEARNING, Group


def feed_open(g, array):
    """An input of which the model does not say how large it is."""
    name = g.feed(array)
    for axis, dim in enumerate(g.inputs[-1].type.tensor_type.shape.dim):
        dim.Clear()
        dim.dim_param = f"{name}_{axis}"
    return name


def hidden():
    """Masks of which some hide all keys of a step, by numbers that leave something to see, of lengths with a past, and of
    lengths with places where keys begin."""
    g = Group()
    x, weights, bias = g.feed(g.real(2, 4, 8)), g.constant(g.real(8, 24)), g.constant(g.real(24))
    past, added = g.feed(g.real(2, 2, 2, 3, 4)), g.feed(g.real(1, 2, 4, 4))
    none = g.feed(np.array([[0, 0, 0, 0], [0, 1, 1, 0]], np.int32))
    for causal in (0, 1):
        g.add("Attention", [x, weights, bias, none], num_heads=2, unidirectional=causal, mask_filter_value=-4.0)
        g.add("Attention", [x, weights, bias, none, "", added], num_heads=2, unidirectional=causal, mask_filter_value=-4.0)
    g.add("Attention", [x, weights, bias, none], num_heads=2, mask_filter_value=-3e38)
    g.add("Attention", [x, weights, bias, g.feed(np.array([0, 2], np.int32))], num_heads=2, mask_filter_value=-2.0)
    g.add("Attention", [x, weights, bias, g.feed(np.array([4, 3, 1, 2], np.int32))], num_heads=2)
    for lengths in ([3, 1], [4, 3, 1, 2], [2, 3, 0, 4, 7, 0, 4, 7]):
        g.add("Attention", [feed_open(g, g.real(2, 4, 8)), weights, bias, feed_open(g, np.array(lengths, np.int32))], num_heads=2)
    g.add("Attention", [x, weights, bias, g.feed(np.array([4, 3, 0, 4, 7, 0, 4, 7], np.int32))], num_heads=2)
    g.add("Attention", [x, weights, bias, g.feed(np.array([7, 5], np.int32)), past], (1, 1), num_heads=2)
    q, k = g.feed(g.real(2, 3, 8)), g.feed(g.real(2, 5, 8))
    cube = np.ones((2, 3, 5), np.int32)
    cube[0, 1] = cube[1, 2, 1:] = 0
    g.add("MultiHeadAttention", [q, k, k, "", g.feed(cube)], num_heads=2, mask_filter_value=-3.0)
    g.add("MultiHeadAttention", [q, k, k, "", g.feed(np.array([0, 3], np.int32))], num_heads=2, mask_filter_value=-3.0)
    return g


def steps():
    """One step of a decoder, over its own past and over another sequence's keys."""
    g = Group()
    q, k, v = (g.feed(g.real(4, 1, 8)) for _ in range(3))
    past, place = [g.feed(g.real(4, 2, 6, 4)) for _ in range(2)], g.feed(np.array([3], np.int32))
    row, added = g.constant(g.real(24)), g.feed(g.real(1, 2, 1, 4))
    mask = g.feed(np.array([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]], np.int32))
    own = {"num_heads": 2, "past_present_share_buffer": 1}
    op = "DecoderMaskedMultiHeadAttention"
    g.add(op, [q, k, v], num_heads=2)
    g.add(op, [q, k, v, "", "", *past, place], (1, 1, 1), **own)
    g.add(op, [q, k, v, mask, added, *past, place, "", "", row], (1, 1, 1, 1), output_qk=1, mask_filter_value=-5.0, scale=0.3, **own)
    beams = [g.feed(np.array([2], np.int32)), g.feed(np.array([[[0, 1, 1, 9, 9, 9], [1, 0, 0, 9, 9, 9]], [[1, 1, 1, 9, 9, 9], [0, 0, 1, 9, 9, 9]]], np.int32))]
    g.add(op, [q, k, v, "", added, *past, place, *beams], (1, 1, 1), **own)
    keys = [g.feed(g.real(4, 2, 5, 4)) for _ in range(2)]
    seen = g.feed(np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 1, 0, 1], [1, 0, 0, 0, 0]], np.int32))
    g.add(op, [q, *keys, seen, *[""] * 6, row], num_heads=2)
    g.add(op, [q, *keys], (1, 0, 0, 1), num_heads=2, output_qk=1)
    return g


def rows_and_columns(dense):
    """Blocks of a mask as lists of the columns of each row, filled up with -1."""
    rows = np.cumsum(np.pad(dense.sum(2), ((0, 0), (1, 0))), 1)
    columns = [np.nonzero(layout)[1] for layout in dense]
    most = max(map(len, columns))
    return rows.astype(np.int32), np.array([np.pad(c, (0, most - len(c)), constant_values=-1) for c in columns], np.int32)


def sparse():
    """Blocks of keys that heads see. ONNX Runtime wants a past to be what it becomes."""
    g = Group()
    rows, columns = rows_and_columns(np.array([[[1, 0, 0], [1, 1, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 0, 1]]]))
    tables = [g.constant(g.real(48, 8)) for _ in range(2)]

    def add(steps, before, batch=1, packed=False, turned=False, known=True, **attributes):
        parts = [g.real(batch, steps, n * 16) for n in (4, 2, 2)]
        inputs = [g.feed(np.concatenate(parts, 2)), "", ""] if packed else [g.feed(part) for part in parts]
        past = [g.feed(g.real(batch, 2, 48, 16)) for _ in range(2)]
        layout = [g.constant(n, np.int32) if known else g.feed(n) for n in (rows, columns)]
        inputs += [*past, *layout, g.feed(np.array([steps + before], np.int32)), g.feed(np.full(batch, steps + before, np.int32))]
        names = g.add("SparseAttention", inputs + (tables if turned else []), (1, 1, 1), num_heads=4, kv_num_heads=2, sparse_block_size=16,
                      do_rotary=int(turned), **attributes)
        g.shared.update(zip(names[1:], past))

    add(40, 0)
    add(20, 0, batch=2, turned=True, scale=0.3)
    add(1, 40, batch=2, turned=True, rotary_interleaved=1)
    add(3, 30, packed=True, known=False)
    return g


def streams():
    """Several streams beside each other, memories looked up by hashes of the newest words, experts by groups."""
    g = Group()
    grouped, flat = g.feed(g.real(2, 3, 4, 5)), g.feed(g.real(2, 3, 20))
    gates = [g.feed(g.real(2, 3, *tail)) for tail in ((4,), (4, 1), (4, 5), (20,))]
    block, mix = g.feed(g.real(2, 3, 5)), g.feed(g.real(2, 3, 4, 4))
    for x, attributes, given in ((grouped, {}, gates[:3]), (flat, {"num_branches": 4}, gates)):
        for each in given:
            g.add("HyperConnectionPreMix", [x, each], **attributes)
        for each in given[:3]:
            g.add("HyperConnectionPostMix", [x, block, each, mix], **attributes)
        g.add("HyperConnectionPostMix", [x, block, given[0]], **attributes)
        g.add("BranchwiseRMSNorm", [x], **attributes)
        for shape in ((20,), (4, 5), (5,)):
            g.add("BranchwiseRMSNorm", [x, g.constant(g.real(*shape))], epsilon=0.1, **attributes)
    g.add("HyperConnectionPreMix", [feed_open(g, g.real(2, 0, 6)), feed_open(g, g.real(2, 0, 3))], num_branches=3, reduction_scale=0.5)
    scales = [g.constant(g.real(4, 5)) for _ in range(3)]
    g.add("EngramGate", [grouped, g.feed(g.real(2, 3, 4, 5)), block, *scales[:2]])
    g.add("EngramGate", [grouped, g.feed(g.real(2, 3, 4, 5)), block, *scales], (1, 1), epsilon=0.1)
    logits, bias = g.feed(g.real(2, 3, 8)), g.constant(g.real(8) / 4)
    g.add("MoEGroupRouter", [logits, bias], top_k=3)
    g.add("MoEGroupRouter", [logits, bias], top_k=3, n_group=4, topk_group=2, group_topk=1, router_sentinel=-50.0)
    g.add("MoEGroupRouter", [logits, bias], top_k=2, n_group=2, group_topk=9)
    g.add("MoEGroupRouter", [logits, bias], (0, 1, 1), top_k=2)
    g.add("MoEGroupRouter", [g.feed(g.real(3, 256)), bias, g.constant(g.real(8, 256) / 16)], (0, 1, 1), top_k=2)
    for kind, dtype in ((7, np.int64), (6, np.int32)):
        ids = g.feed(g.random.integers(0, 1000, (2, 5)).astype(dtype))
        more = [g.constant(n, dtype) for n in ([31, 2147483647, 77], [13, 17, 19, 23])]
        g.add("NGramHashMapping", [ids, *more], (kind, kind), max_ngram_size=3, n_head_per_ngram=2, pad_id=7)
        g.add("NGramHashMapping", [ids, *more, g.feed(g.random.integers(0, 1000, (2, 2)).astype(dtype)), g.constant([0, 13, 30, 49], dtype)],
              (kind, kind), max_ngram_size=3, n_head_per_ngram=2, pad_id=-1)
    return g


def delta():
    """Gated delta networks token by token: decays and rates as given and of projections, heads that share keys."""
    g = Group()
    op = "GatedDeltaNet"
    tokens = [g.feed(g.real(6, heads, size)) for heads, size in ((2, 8), (2, 8), (4, 3))]
    state, rates = g.feed(g.real(2, 4, 3, 8)), [g.constant(g.real(4) / 3), g.constant(g.real(4))]
    decay, beta = g.feed(-np.abs(g.real(6, 4))), g.feed(g.random.random((6, 4)).astype(np.float32))
    for rule, more in (("linear", ["", ""]), ("gated", [decay, ""]), ("delta", ["", beta]), ("gated_delta", [decay, beta])):
        g.add(op, [*tokens, "", *more, state], (1, 1), update_rule=rule, qk_l2_norm=1)
    raw, tiny = g.feed(g.real(6, 4)), g.feed(g.real(6, 2, 8) / 1000)
    for gate in ("qwen", "kda"):
        g.add(op, [tiny, tiny, tokens[2], "", raw, raw, state, *rates], (1, 1), qk_l2_norm=1, gate_activation=gate, beta_activation="sigmoid")
    g.add(op, [*tokens, "", raw, raw, state, *rates], (1, 1), qk_l2_norm=1, gate_activation="softplus", beta_activation="sigmoid")
    g.add(op, [*tokens, "", raw, raw, state, *rates], (1, 1), qk_l2_norm=1, gate_activation="kda", gate_lower_bound=-2.0, beta_activation="sigmoid",
          scale=0.3)
    wide = [g.feed(g.real(2, 3, 4, 8)), g.constant(g.real(4, 8))]
    heads = [g.feed(g.real(2, 3, n, size)) for n, size in ((4, 8), (4, 8), (4, 3))]
    g.add(op, [*heads, "", wide[0], g.feed(g.real(2, 3, 4)), state, rates[0], wide[1]], (1, 1), qk_l2_norm=1, gate_activation="sigmoid",
          beta_activation="sigmoid")
    packed, one = g.feed(g.real(5, 2 * 16 + 12)), g.feed(g.real(1, 4, 3, 8))
    g.add(op, [packed, "", "", g.constant([0, 5], np.int32), g.feed(g.real(5, 4)), g.feed(g.real(5, 4)), one, *rates], (1, 1), qk_l2_norm=1,
          gate_activation="qwen", beta_activation="sigmoid")
    return g


def hashed():
    """MurmurHash3 of each type."""
    g = Group()
    texts = np.array([["", "a", "ab", "abc"], ["abcd", "abcde", "h\xe4\xdf", "\u4e2d\U0001f600"]], object)
    for array in (texts, g.real(2, 3), g.real(3).astype(np.float64), np.array([0, 1, -5], np.int32), np.array([1 << 40, -1]),
                  np.array(7, np.uint32), np.array([[3], [1 << 63]], np.uint64)):
        x = g.feed(array)
        g.add("MurmurHash3", [x], (12,))
        g.add("MurmurHash3", [x], (6,), positive=0, seed=77)
        g.add("MurmurHash3", [x], (12,), seed=-3)
    return g


def lettered():
    """Words of letters, with gaps, shorter than the window."""
    g = Group()
    table, filters, bias = g.constant(g.real(9, 3)), g.constant(g.real(4, 1, 2, 3)), g.constant(g.real(4))
    words = g.feed(np.array([[1, 2, 3, 4, 5], [3, 0, 0, 0, 0], [1, 2, 0, 0, 0], [1, 0, 3, 0, 5], [8, 2, 0, 3, 4]], np.int32))
    g.add("WordConvEmbedding", [words, filters, bias, table])
    g.add("WordConvEmbedding", [words, filters, bias, table], embedding_size=4, conv_window_size=2, char_embedding_size=3)
    g.add("WordConvEmbedding", [words, g.feed(g.real(2, 1, 5, 3)), g.feed(g.real(2)), g.feed(g.real(9, 3))])
    opened = [feed_open(g, array) for array in (np.array([[1, 2, 3], [4, 0, 0]], np.int32), g.real(2, 1, 2, 3), g.real(2), g.real(5, 3))]
    g.add("WordConvEmbedding", opened)
    g.add("WordConvEmbedding", [g.feed(np.zeros((0, 5), np.int32)), filters, bias, table])
    return g


def elsewhere(opset=17):
    """What the operator set says of an operator is said by an attribute, or by none: softmax, means beyond padding."""
    g = Group(opset=opset)
    x, unit = [g.feed(g.quanta(2, 3, 4)), g.constant(0.05), g.constant(100, np.uint8)], [g.constant(1 / 256), g.constant(0, np.uint8)]
    for version in (11, 13):
        for axis in (0, 1, -1):
            g.add("QLinearSoftmax", [*x, *unit], (2,), axis=axis, opset=version)
        g.add("QLinearSoftmax", [*x, *unit], (2,), opset=version)
    image = [g.feed(g.quanta(1, 2, 6, 7)), g.constant(0.02), g.constant(120, np.uint8)]
    result = [g.constant(0.0213), g.constant(90, np.uint8)]
    both = {"ceil_mode": 1, "count_include_pad": 1}
    g.add("QLinearAveragePool", [*image, *result], (2,), kernel_shape=[3, 2], strides=[2, 2], **both)
    g.add("QLinearAveragePool", [*image, *result], (2,), kernel_shape=[3, 2], strides=[2, 3], pads=[1, 1, 0, 1], **both)
    g.add("QLinearAveragePool", [*image, *result], (2,), kernel_shape=[2, 3], strides=[2, 3], pads=[0, 0, 1, 2], **both)
    turned = [g.feed(g.quanta(1, 6, 7, 2)), *image[1:]]
    g.add("QLinearAveragePool", [*turned, *result], (2,), kernel_shape=[3, 2], strides=[2, 2], channels_last=1, **both)
    return g


def elsewhere_old():
    return elsewhere(11)


def two():
    """Scores of two classes as each transform has them."""
    g = Group(learning=1)
    x = g.feed(g.real(5, 3))
    numbers = {"coefficients": [0.5, -0.3, 0.2, -0.9], "kernel_params": [0.4, 0.0, 0.0], "kernel_type": "RBF", "rho": [0.1],
               "support_vectors": g.real(12).tolist(), "vectors_per_class": [2, 2], "classlabels_ints": [3, 8]}
    for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        for chances in ({}, {"prob_a": [-0.7], "prob_b": [0.2]}):
            g.add("SVMClassifier", [x], (7, 1), LEARNING, post_transform=transform, **numbers, **chances)
    return g
