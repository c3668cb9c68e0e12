# SPDX-License-Identifier: Apache-2.0
"""A model for llama.cpp, small and without sense: llama_model.py FILE. Its sizes are those below."""
import array
import random
import struct
import sys

WIDTH, HEADS, KV_HEADS, LAYERS, INNER = 128, 4, 2, 3, 256
TOKENS = (['<unk>', '<s>', '</s>'] + ['<0x%02X>' % i for i in range(256)] +
          ['\u2581', 'a', 'b', '\u2581a'])
KINDS = [2, 3, 3] + [6] * 256 + [1] * 4  # unknown, control, byte, normal
SCORES = [0.0] * 259 + [-1.0, -2.0, -3.0, -0.5]
INTEGER, FLOAT, TEXT, LIST = 4, 6, 8, 9
SIGNED = 5

random_numbers = random.Random(7)


def text(value):
    return struct.pack('<Q', len(value.encode())) + value.encode()


def pair(key, kind, value):
    if kind == LIST:
        element, values = value
        packed = b''.join(text(v) if element == TEXT else struct.pack('<f' if element == FLOAT else '<i', v)
                          for v in values)
        return text(key) + struct.pack('<IIQ', LIST, element, len(values)) + packed
    if kind == TEXT:
        return text(key) + struct.pack('<I', TEXT) + text(value)
    return text(key) + struct.pack('<I' + ('I' if kind == INTEGER else 'f'), kind, value)


def tensors():
    yield 'token_embd.weight', (WIDTH, len(TOKENS))
    yield 'output_norm.weight', (WIDTH,)
    yield 'output.weight', (WIDTH, len(TOKENS))
    kv_width = WIDTH // HEADS * KV_HEADS
    for layer in range(LAYERS):
        for name, *dims in (('attn_norm', WIDTH), ('attn_q', WIDTH, WIDTH), ('attn_k', WIDTH, kv_width),
                            ('attn_v', WIDTH, kv_width), ('attn_output', WIDTH, WIDTH),
                            ('ffn_norm', WIDTH), ('ffn_gate', WIDTH, INNER), ('ffn_up', WIDTH, INNER),
                            ('ffn_down', INNER, WIDTH)):
            yield 'blk.%d.%s.weight' % (layer, name), tuple(dims)


def values(name, dims):
    count = 1
    for dim in dims:
        count *= dim
    if 'norm' in name:
        return array.array('f', [1.0] * count)
    return array.array('f', (random_numbers.uniform(-0.1, 0.1) for _ in range(count)))


def main():
    pairs = [pair('general.architecture', TEXT, 'llama'), pair('general.name', TEXT, 'random'),
             pair('llama.context_length', INTEGER, 512), pair('llama.embedding_length', INTEGER, WIDTH),
             pair('llama.block_count', INTEGER, LAYERS), pair('llama.feed_forward_length', INTEGER, INNER),
             pair('llama.attention.head_count', INTEGER, HEADS),
             pair('llama.attention.head_count_kv', INTEGER, KV_HEADS),
             pair('llama.attention.layer_norm_rms_epsilon', FLOAT, 1e-5),
             pair('llama.rope.dimension_count', INTEGER, WIDTH // HEADS),
             pair('llama.vocab_size', INTEGER, len(TOKENS)), pair('general.file_type', INTEGER, 0),
             pair('tokenizer.ggml.model', TEXT, 'llama'),
             pair('tokenizer.ggml.tokens', LIST, (TEXT, TOKENS)),
             pair('tokenizer.ggml.scores', LIST, (FLOAT, SCORES)),
             pair('tokenizer.ggml.token_type', LIST, (SIGNED, KINDS)),
             pair('tokenizer.ggml.bos_token_id', INTEGER, 1), pair('tokenizer.ggml.eos_token_id', INTEGER, 2),
             pair('tokenizer.ggml.unknown_token_id', INTEGER, 0)]
    info, data, count = b'', bytearray(), 0
    for name, dims in tensors():
        info += text(name) + struct.pack('<I%dQIQ' % len(dims), len(dims), *dims, 0, len(data))
        data += values(name, dims).tobytes()
        data += b'\0' * (-len(data) % 32)
        count += 1
    head = b'GGUF' + struct.pack('<IQQ', 3, count, len(pairs)) + b''.join(pairs) + info
    with open(sys.argv[1], 'wb') as file:
        file.write(head + b'\0' * (-len(head) % 32) + data)


if __name__ == '__main__':
    main()
