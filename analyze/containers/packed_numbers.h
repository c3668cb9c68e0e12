/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in as few bytes as they need, seven bits in each, the lowest first. Pure. */
#ifndef OPTRACE_ANALYZE_CONTAINERS_PACKED_NUMBERS_H
#define OPTRACE_ANALYZE_CONTAINERS_PACKED_NUMBERS_H

#include <stdint.h>

enum { PACKED_NUMBER_MAX = 10 }; /* bytes */

/** Returns where the next one goes. */
static inline uint8_t *packed_number_put(uint8_t *at, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/** Moves *at behind it. */
static inline uint64_t packed_number_get(const uint8_t **at)
{
    uint64_t value = *(*at)++;

    if (value < 0x80)
        return value;
    value &= 0x7f;
    for (unsigned shift = 7;; shift += 7) {
        uint64_t byte = *(*at)++;

        value |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

#endif
