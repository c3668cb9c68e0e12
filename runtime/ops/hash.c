/* SPDX-License-Identifier: Apache-2.0 */
/* MurmurHash3: blocks of four bytes are mixed into the state, then what is left, then its bits spread. */
#include "runtime/ops/hash.h"

static uint32_t turn(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static uint32_t read_block(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* What is left of fewer than four bytes. */
static uint32_t read_rest(const unsigned char *bytes, size_t count)
{
    uint32_t block = 0;

    for (size_t i = 0; i < count; i++)
        block |= (uint32_t)bytes[i] << 8 * i;
    return block;
}

static uint32_t scramble(uint32_t block)
{
    return turn(block * 0xcc9e2d51U, 15) * 0x1b873593U;
}

static uint32_t mix(uint32_t state, uint32_t block)
{
    return turn(state ^ scramble(block), 13) * 5 + 0xe6546b64U;
}

static uint32_t spread(uint32_t state)
{
    state = (state ^ state >> 16) * 0x85ebca6bU;
    state = (state ^ state >> 13) * 0xc2b2ae35U;
    return state ^ state >> 16;
}

uint32_t hash_murmur3(const void *bytes, size_t length, uint32_t seed)
{
    const unsigned char *at = bytes;
    uint32_t state = seed;
    size_t left = length;

    for (; left >= 4; left -= 4, at += 4)
        state = mix(state, read_block(at));
    if (left > 0)
        state ^= scramble(read_rest(at, left));
    return spread(state ^ (uint32_t)length);
}

void hash_murmur3_each(uint32_t *y, const void *elements, size_t count, size_t bytes, uint32_t seed)
{
    const unsigned char *at = elements;

    for (size_t i = 0; bytes == 4 && i < count; i++)
        y[i] = spread(mix(seed, read_block(at + 4 * i)) ^ 4);
    for (size_t i = 0; bytes == 8 && i < count; i++)
        y[i] = spread(mix(mix(seed, read_block(at + 8 * i)), read_block(at + 8 * i + 4)) ^ 8);
    for (size_t i = 0; bytes != 4 && bytes != 8 && i < count; i++)
        y[i] = hash_murmur3(at + bytes * i, bytes, seed);
}
