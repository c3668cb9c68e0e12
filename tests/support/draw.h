/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that look random and are the same in each run (Marsaglia's xorshift64):
 *
 *     uint64_t seed = DRAW_SEED;
 *     uint64_t side = draw_u64(&seed) % 6;
 */
#ifndef OPTRACE_TESTS_SUPPORT_DRAW_H
#define OPTRACE_TESTS_SUPPORT_DRAW_H

#include <stdint.h>

/** Any number but 0 will do. */
#define DRAW_SEED UINT64_C(88172645463325252)

/** The next number, which is the new seed, too; from a seed of 0 always 0. */
static inline uint64_t draw_u64(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/** From 0 to below 1. */
static inline double draw_unit(uint64_t *seed)
{
    return (double)(draw_u64(seed) >> 11) / 9007199254740992.0;
}

#endif
