# SPDX-License-Identifier: Apache-2.0
"""Random nodes of com.microsoft's attention: masks, pasts, windows, packed inputs, rotary positions, linear attention."""
import numpy

from builder import F32, I32, I64, Unfit
from operators_layers import add, contrib, maybe, number, vector


def lengths_of(b, batch, most):
    """Of each row at least one step, of one all."""
    lengths = b.random_array(I32, [batch], 1, most + 1)
    lengths[b.rng.randrange(batch)] = most
    return lengths


def key_mask(b, batch, keys, steps=None):
    """Which keys count: as lengths, per key, per step and key. The first key always counts: of none is left what the last
    bits of numbers beside -10000 say."""
    lengths = lengths_of(b, batch, keys)
    kind = b.rng.choice(["lengths", "keys", "keys"] + (["steps"] if steps else []))
    if kind == "lengths":
        return b.leaf(lengths)
    mask = (numpy.arange(keys)[None, :] < lengths[:, None]).astype(I32)
    if kind == "keys":
        return b.leaf(mask)
    cube = b.random_array(I32, [batch, steps, keys], 0, 2)
    cube[:, :, 0] = 1
    return b.leaf(cube)


def key_mask_of(b, batch, keys):
    """Per key, at least the first."""
    mask = b.random_array(I32, [batch, keys], 0, 2)
    mask[:, 0] = 1
    return b.leaf(mask)


def attention_bias(b, batch, heads, steps, keys):
    return b.fresh(F32, [b.rng.choice([1, batch]), b.rng.choice([1, heads]), steps, keys])


@contrib("Attention", weight=0.8)
def make_packed_attention(b):
    batch, steps, heads, size, wide = b.rng.randint(1, 3), b.rng.randint(1, 6), b.rng.randint(1, 3), b.rng.choice([1, 2, 4, 8]), b.rng.choice([3, 8])
    v_size = b.rng.choice([size, size, 2, 4])
    hidden = [heads * size, heads * size, heads * v_size]
    past = b.rng.randint(1, 3) if v_size == size and b.rng.random() < 0.3 else 0
    inputs = [b.fresh(F32, [batch, steps, wide]), b.leaf((b.random_array(F32, [wide, sum(hidden)]) / 2).astype(F32), constant=True),
              maybe(b, lambda: vector(b, sum(hidden)), 0.8)]
    mask, least = "", None
    if b.rng.random() < 0.5:
        mask = key_mask(b, batch, steps + past, steps)
        if b.rng.random() < 0.2:  # of which nothing may be left
            mask, least = b.leaf(b.random_array(I32, [batch, steps + past], 0, 2)), -4.0
        elif b.rng.random() < 0.2:
            ends = lengths_of(b, batch, steps + past)
            mask = b.leaf(numpy.concatenate([ends, [b.rng.randrange(end) for end in ends]]).astype(I32))
    inputs += [mask, b.fresh(F32, [2, batch, heads, past, size]) if past else "",
               maybe(b, lambda: attention_bias(b, batch, heads, steps, steps + past), 0.3)]
    is_causal = b.rng.choice([None, 0, 1])
    outputs = 2 if past or v_size == size and b.rng.random() < 0.2 else 1
    add(b, "Attention", inputs, outputs, num_heads=heads, unidirectional=is_causal, scale=b.rng.choice([None, 0.3]),
        mask_filter_value=least, qkv_hidden_sizes=hidden if v_size != size or b.rng.random() < 0.2 else None)


@contrib("MultiHeadAttention", weight=1.0)
def make_multi_head(b):
    batch, heads, size = b.rng.randint(1, 3), b.rng.randint(1, 3), b.rng.choice([1, 2, 4, 8])
    steps, keys, v_size = b.rng.randint(1, 6), b.rng.randint(1, 6), b.rng.choice([size, size, 3])
    kind = b.rng.choice(["apart", "apart", "past", "heads", "packed all", "packed keys"])
    attributes = {"num_heads": heads, "scale": b.rng.choice([None, 0.3])}
    if kind in ("past", "packed all"):
        keys = steps
    if keys == steps:  # else ONNX Runtime lets queries see keys behind the last of them
        attributes["unidirectional"] = b.rng.choice([None, None, 0, 1])
    if kind in ("past", "packed all", "packed keys") or b.opset < 13:
        v_size = size
    past = b.rng.randint(1, 3) if kind == "past" else 0
    total = keys + past
    if kind == "packed all" or kind == "packed keys":
        if b.depth or b.opset < 13:
            raise Unfit("of its own only in a graph")
        inputs = [b.fresh(F32, [batch, steps, heads, 3, size]), "", ""] if kind == "packed all" else \
            [b.fresh(F32, [batch, steps, heads * size]), b.fresh(F32, [batch, keys, heads, 2, size]), ""]
        bias = ""
    elif kind == "heads":
        inputs = [b.fresh(F32, [batch, steps, heads * size]), b.fresh(F32, [batch, heads, keys, size]), b.fresh(F32, [batch, heads, keys, v_size])]
        bias = ""
    else:
        q = b.fresh(F32, [batch, steps, heads * size])
        same = keys == steps and v_size == size and b.rng.random() < 0.2
        inputs = [q, q if same else b.fresh(F32, [batch, keys, heads * size]), q if same else b.fresh(F32, [batch, keys, heads * v_size])]
        bias = maybe(b, lambda: vector(b, heads * (2 * size + v_size)))
    mask = key_mask(b, batch, total) if b.rng.random() < 0.3 else ""
    inputs += [bias, mask, maybe(b, lambda: attention_bias(b, batch, heads, steps, total), 0.3)]
    if past:
        inputs += [b.fresh(F32, [batch, heads, past, size]), b.fresh(F32, [batch, heads, past, size])]
    # With a past ONNX Runtime reads its keys and values from the second and third output.
    outputs = 3 if past or kind == "apart" and b.rng.random() < 0.2 else 1
    add(b, "MultiHeadAttention", inputs, outputs, **attributes)


@contrib("DecoderMaskedMultiHeadAttention", weight=0.8)
def make_step(b):
    heads, size, beams = b.rng.randint(1, 3), b.rng.choice([1, 2, 4, 8]), b.rng.choice([1, 1, 2, 3])
    batch, keys = beams * b.rng.randint(1, 2), b.rng.randint(1, 6)
    attributes = {"num_heads": heads, "scale": b.rng.choice([None, 0.3])}
    q = b.fresh(F32, [batch, 1, heads * size])
    row = maybe(b, lambda: vector(b, 3 * heads * size), 0.4)
    mask = lambda count: maybe(b, lambda: key_mask_of(b, batch, count), 0.4)
    tells = b.rng.random() < 0.3
    if tells:
        attributes["output_qk"] = 1
    if b.rng.random() < 0.3:
        inputs = [q, *(b.fresh(F32, [batch, heads, keys, size]) for _ in range(2)), mask(keys), *[""] * 6, row]
        add(b, "DecoderMaskedMultiHeadAttention", inputs, [True, False, False, True] if tells else 1, **attributes)
        return
    past = b.rng.randrange(keys)
    inputs = [q, *(b.fresh(F32, [batch, 1, heads * size]) for _ in range(2)), mask(past + 1)]
    # Of several beams ONNX Runtime adds the first batch's numbers to the scores of all.
    inputs.append(maybe(b, lambda: b.fresh(F32, [1 if beams > 1 else b.rng.choice([1, batch]), b.rng.choice([1, heads]), 1, past + 1]), 0.3))
    inputs += [b.fresh(F32, [batch, heads, keys, size]) for _ in range(2)] + [number(b, [past], I32)]
    inputs += [number(b, [beams], I32), b.leaf(b.random_array(I32, [batch // beams, beams, keys], 0, beams))] if beams > 1 else ["", ""]
    add(b, "DecoderMaskedMultiHeadAttention", [*inputs, row], 4 if tells else 3, past_present_share_buffer=1, **attributes)


@contrib("RotaryEmbedding", weight=0.6)
def make_old_rotary(b):
    batch, steps, heads, size = b.rng.randint(1, 3), b.rng.randint(1, 5), b.rng.randint(1, 3), b.rng.choice([2, 4, 8, 16])
    partial = b.rng.choice([None, None, size // 2]) if size >= 4 else None
    half, most = (partial or size) // 2, steps + 4
    # Constants, as they tell how long a head is where no attribute does.
    tables = [b.fresh(F32, [most, half], constant=True) for _ in range(2)]
    attributes = {"interleaved": b.rng.choice([None, 0, 1])}
    if b.rng.random() < 0.5:
        x = b.fresh(F32, [batch, heads, steps, size])
        if partial:
            attributes.update(num_heads=heads, rotary_embedding_dim=partial)
    else:
        x = b.fresh(F32, [batch, steps, heads * size])
        if partial or b.rng.random() < 0.5:
            attributes.update(num_heads=heads)
        if partial:
            attributes.update(rotary_embedding_dim=partial)
    places = b.random_array(I64, [batch, steps], 0, most) if b.rng.random() < 0.6 else numpy.array([b.rng.randint(0, 4)], I64)
    add(b, "RotaryEmbedding", [x, b.leaf(places), *tables], **attributes)


@contrib("MRotaryEmbedding")
def make_parted_rotary(b):
    batch, steps, heads = b.rng.randint(1, 2), b.rng.randint(1, 5), b.rng.randint(1, 3)
    sections = [b.rng.randint(1, 3) for _ in range(3)]
    half = sum(sections)
    size = 2 * half + b.rng.choice([0, 0, 4])
    tables = [b.fresh(F32, [9, half], constant=True) for _ in range(2)]
    places = b.leaf(b.random_array(I64, [3, batch, steps], 0, 9))
    attributes = {"mrope_section": sections, "mrope_layout": b.rng.choice([None, 0, 1])}
    if b.rng.random() < 0.5 and size == 2 * half:
        x = b.fresh(F32, [batch, heads, steps, size])
    else:
        x = b.fresh(F32, [batch, steps, heads * size])
        attributes.update(num_heads=heads, rotary_embedding_dim=2 * half if size != 2 * half else None)
    if not attributes["mrope_layout"]:
        attributes["interleaved"] = b.rng.choice([None, 0, 1])
    add(b, "MRotaryEmbedding", [x, places, *tables], **attributes)


def grouped_shape(b):
    """batch, readers, heads, size, steps, what is past."""
    heads, size = b.rng.randint(1, 2), b.rng.choice([8, 16, 16, 32])
    steps, past = b.rng.randint(1, 6), 0
    kind = b.rng.choice(["prompt", "prompt", "token", "chunk"])
    if kind == "token":
        steps, past = 1, b.rng.randint(1, 6)
    elif kind == "chunk":
        past = b.rng.randint(1, 6)
    batch = b.rng.randint(1, 3) if kind != "chunk" else 1
    return batch, heads * b.rng.randint(1, 3), heads, size, steps, past


@contrib("GroupQueryAttention", weight=1.2)
def make_grouped(b):
    batch, readers, heads, size, steps, past = grouped_shape(b)
    total = steps + past
    # Of a prompt's and a step's rows some may be shorter; what then stands behind them is not defined.
    shorter = batch > 1 and b.rng.random() < 0.4
    lengths = lengths_of(b, batch, past) + steps if shorter and past and steps == 1 else numpy.full([batch], total, I32)
    attributes = {"num_heads": readers, "kv_num_heads": heads, "scale": b.rng.choice([None, 0.3]),
                  "softcap": b.rng.choice([None, None, 2.0]), "local_window_size": b.rng.choice([None, None, 1, 2, 4, 64])}
    if b.rng.random() < 0.4:
        inputs = [b.fresh(F32, [batch, steps, (readers + 2 * heads) * size]), "", ""]
    else:
        inputs = [b.fresh(F32, [batch, steps, n * size]) for n in (readers, heads, heads)]
    inputs += [b.fresh(F32, [batch, heads, past, size]) for _ in range(2)] if past else ["", ""]
    inputs += [b.leaf((lengths - 1).astype(I32)), number(b, total, I32)]
    if b.rng.random() < 0.5:
        shape = [total + b.rng.randint(0, 3), size // 2 // b.rng.choice([1, 1, 2])]
        tables = [b.fresh(F32, shape, constant=True) for _ in range(2)]
        attributes.update(do_rotary=1, rotary_interleaved=b.rng.choice([None, 0, 1]))
        inputs += tables
        inputs.append(b.leaf(numpy.tile(numpy.arange(past, total, dtype=I64), (batch, 1))) if b.rng.random() < 0.2 and not shorter else "")
    else:
        inputs += ["", "", ""]
    inputs.append(attention_bias(b, batch, readers, steps, total) if b.rng.random() < 0.2 and not shorter else "")
    if b.rng.random() < 0.3:
        inputs.append(vector(b, readers))
    else:
        inputs.append("")
        attributes["smooth_softmax"] = b.rng.choice([None, None, None, 1])
    inputs += ["", ""]
    if inputs[1] and not b.depth and b.opset >= 13 and b.rng.random() < 0.3:
        inputs += [vector(b, size, low=0.5, high=2), vector(b, size, low=0.5, high=2)]
        attributes["qk_norm_epsilon"] = b.rng.choice([None, 1e-2])
    # ONNX Runtime reads keys and values from the second and third output.
    made = add(b, "GroupQueryAttention", inputs, 3, **attributes)
    if shorter:
        b.hide(made[1:])


@contrib("LinearAttention", weight=0.5)
def make_linear_attention(b):
    rule = b.rng.choice(["linear", "gated", "delta", "gated_delta"])
    batch, steps, heads, size, wide = b.rng.randint(1, 2), b.rng.randint(1, 5), b.rng.randint(1, 3), b.rng.choice([1, 2, 4, 8]), b.rng.choice([1, 3, 8])
    readers = heads * b.rng.choice([1, 1, 2])
    keys = b.leaf((b.random_array(F32, [batch, steps, heads * size], -1, 1) / size**0.5).astype(F32))
    inputs = [b.fresh(F32, [batch, steps, readers * size]), keys, b.fresh(F32, [batch, steps, heads * wide]),
              maybe(b, lambda: b.fresh(F32, [batch, heads, size, wide]))]
    inputs.append(b.fresh(F32, [batch, steps, heads * b.rng.choice([1, size])], low=-2, high=0) if "gated" in rule else "")
    inputs.append(b.fresh(F32, [batch, steps, b.rng.choice([1, heads])], low=0, high=1) if "delta" in rule else "")
    add(b, "LinearAttention", inputs, 2, q_num_heads=readers, kv_num_heads=heads, update_rule=rule,
        scale=b.rng.choice([None, 0.3]))


@contrib("GatedDeltaNet", weight=0.6)
def make_delta(b):
    rule, gate = b.rng.choice(["linear", "gated", "delta", "gated_delta", "gated_delta"]), b.rng.choice(["none", "softplus", "sigmoid", "kda", "qwen"])
    batch, steps, keys, size, wide = b.rng.randint(1, 2), b.rng.randint(1, 5), b.rng.randint(1, 2), b.rng.choice([2, 4, 8]), b.rng.choice([1, 3, 8])
    heads, lead = keys * b.rng.randint(1, 3), [batch, steps] if b.rng.random() < 0.4 else [batch * steps]
    # Heads are told by the state, whose shape is always known in what ONNX Runtime's builder writes.
    state = b.fresh(F32, [batch, heads, wide, size], constant=True)
    if b.rng.random() < 0.3:
        inputs = [b.fresh(F32, [*lead, 2 * keys * size + heads * wide]), "", ""]
    else:
        inputs = [b.fresh(F32, [*lead, n, c]) for n, c in ((keys, size), (keys, size), (heads, wide))]
    channels = [size] if b.rng.random() < 0.3 else []
    decay = b.fresh(F32, [*lead, heads, *channels], low=-2, high=0 if gate == "none" else 2) if "gated" in rule else ""
    beta = b.fresh(F32, [*lead, heads], low=0, high=1) if "delta" in rule else ""
    inputs += ["", decay, beta, state]
    if gate != "none":
        inputs += [vector(b, heads, low=-1, high=1), b.fresh(F32, [heads, *channels]) if decay else vector(b, heads)]
    add(b, "GatedDeltaNet", inputs, 2, update_rule=rule, gate_activation=gate, beta_activation=b.rng.choice([None, "sigmoid"]), qk_l2_norm=1,
        scale=b.rng.choice([None, 0.3]), gate_lower_bound=b.rng.choice([None, -2.0]))


@contrib("CausalConvWithState", weight=0.5)
def make_causal(b):
    batch, channels, steps, taps = b.rng.randint(1, 2), b.rng.randint(1, 5), b.rng.randint(1, 7), b.rng.randint(2, 5)
    is_last = b.rng.random() < 0.3
    x = b.fresh(F32, [batch, steps, channels] if is_last else [batch, channels, steps])
    state = b.fresh(F32, [batch, taps - 1, channels] if is_last else [batch, channels, taps - 1]) if b.rng.random() < 0.5 else ""
    add(b, "CausalConvWithState", [x, b.fresh(F32, [channels, 1, taps], constant=True), maybe(b, lambda: vector(b, channels)), state],
        2, activation=b.rng.choice([None, "none", "silu", "swish"]), channels_last=1 if is_last else None)
