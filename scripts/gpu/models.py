# SPDX-License-Identifier: Apache-2.0
"""Small models with random weights, written without any package: ONNX, and GGUF for llama.cpp."""
import array
import random
import struct

WIDTH, ROWS, LAYERS = 1024, 64, 4


def varint(number):
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number, value):
    """A member of a protobuf message: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def weights(count, spread, seed):
    numbers = random.Random(seed)
    return array.array("f", (numbers.uniform(-spread, spread) for _ in range(count))).tobytes()


def value_info(name, dims, dtype=1):
    shape = b"".join(field(1, field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def onnx_model():
    """LAYERS products of [ROWS, WIDTH] with [WIDTH, WIDTH], each cut off at 0."""
    graph, before = b"", "x"
    square = weights(WIDTH * WIDTH, 0.03, 1)
    for layer in range(LAYERS):
        for kind, inputs in (("MatMul", [before, "w"]), ("Relu", [f"matmul{layer}"])):
            name = f"{kind.lower()}{layer}"
            graph += field(1, b"".join(field(1, one) for one in inputs) + field(2, name) + field(3, name) +
                           field(4, kind))
            before = name
    graph += field(2, "products")
    graph += field(5, field(1, WIDTH) + field(1, WIDTH) + field(2, 1) + field(8, "w") + field(9, square))
    graph += field(11, value_info("x", (ROWS, WIDTH))) + field(12, value_info(before, (ROWS, WIDTH)))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def gguf_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_value(value):
    """An integer, a float, a text or a list of one of them, led by its type."""
    if isinstance(value, list):
        kinds = {int: (5, "<i"), float: (6, "<f")}
        if isinstance(value[0], str):
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(gguf_text, value))
        kind, layout = kinds[type(value[0])]
        return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(struct.pack(layout, one) for one in value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_text(value)
    return struct.pack("<If", 6, value) if isinstance(value, float) else struct.pack("<II", 4, value)


def gguf_model(width=256, layers=4, inner=512, heads=4):
    """A decoder of Llama's kind over bytes: 3 tokens that control, 256 bytes, a few letters."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "a", "b", "\u2581a"]
    facts = {"general.architecture": "llama", "general.name": "random", "llama.context_length": 512,
             "llama.embedding_length": width, "llama.block_count": layers, "llama.feed_forward_length": inner,
             "llama.attention.head_count": heads, "llama.attention.head_count_kv": heads,
             "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.dimension_count": width // heads,
             "llama.vocab_size": len(tokens), "general.file_type": 0, "tokenizer.ggml.model": "llama",
             "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": [0.0] * 259 + [-1.0, -2.0, -3.0, -0.5],
             "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * 4, "tokenizer.ggml.bos_token_id": 1,
             "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.unknown_token_id": 0}
    shapes = {"token_embd": (width, len(tokens)), "output_norm": (width,), "output": (width, len(tokens))}
    for layer in range(layers):
        shapes.update({f"blk.{layer}.{name}": dims for name, dims in (
            ("attn_norm", (width,)), ("attn_q", (width, width)), ("attn_k", (width, width)),
            ("attn_v", (width, width)), ("attn_output", (width, width)), ("ffn_norm", (width,)),
            ("ffn_gate", (width, inner)), ("ffn_up", (width, inner)), ("ffn_down", (inner, width)))})
    head, data = b"", bytearray()
    for seed, (name, dims) in enumerate(shapes.items()):
        count = dims[0] * (dims[1] if len(dims) > 1 else 1)
        head += gguf_text(name + ".weight") + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        head += struct.pack("<IQ", 0, len(data))
        data += array.array("f", [1.0] * count).tobytes() if len(dims) == 1 else weights(count, 0.08, seed)
        data += bytes(-len(data) % 32)
    pairs = b"".join(gguf_text(key) + gguf_value(value) for key, value in facts.items())
    out = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(facts)) + pairs + head
    return out + bytes(-len(out) % 32) + bytes(data)
