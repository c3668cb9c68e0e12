/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look random and are the same in every run: splitmix64 (Steele, Lea, Flood, "Fast
 * splittable pseudorandom number generators", 2014). Any seed gives a good sequence. */
#ifndef OPTRACE_ANALYZE_STATS_RANDOM_H
#define OPTRACE_ANALYZE_STATS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/** In [0, 1). */
static inline double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/** In [0, bound); bound in [1, 2^32): the bias is below 2^-32. */
static inline size_t random_below(uint64_t *state, size_t bound)
{
    return (size_t)(((random_next(state) >> 32) * (uint64_t)bound) >> 32);
}

#endif
