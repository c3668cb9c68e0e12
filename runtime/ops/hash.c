/* SPDX-License-Identifier: Apache-2.0 */
/* MurmurHash3: blocks of four bytes are mixed into the state, then what is left, then its bits spread. */
#include "runtime/ops/hash.h"

static uint32_t turn(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

/* The first `count` bytes of at most four. */
static uint32_t read_block(const unsigned char *bytes, size_t count)
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

uint32_t hash_murmur3(const void *bytes, size_t length, uint32_t seed)
{
    const unsigned char *at = bytes;
    uint32_t state = seed;
    size_t left = length;

    for (; left >= 4; left -= 4, at += 4)
        state = turn(state ^ scramble(read_block(at, 4)), 13) * 5 + 0xe6546b64U;
    if (left > 0)
        state ^= scramble(read_block(at, left));
    state ^= (uint32_t)length;
    state = (state ^ state >> 16) * 0x85ebca6bU;
    state = (state ^ state >> 13) * 0xc2b2ae35U;
    return state ^ state >> 16;
}
