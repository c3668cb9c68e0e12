/* SPDX-License-Identifier: Apache-2.0 */
/* One element again and again. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_FILL_H
#define OPTRACE_KERNELS_CPU_FILL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** y: bytes, a multiple of element_bytes, which is 1, 2, 4 or 8. */
static inline void fill_run(char *y, const char *x, size_t element_bytes, size_t bytes)
{
    uint64_t value = 0, line[8];
    size_t at = 0;

    memcpy(&value, x, element_bytes);
    for (size_t have = element_bytes; have < sizeof(value); have *= 2)
        value |= value << (8 * have);
    for (int i = 0; i < 8; i++)
        line[i] = value;
    for (; at + sizeof(line) <= bytes; at += sizeof(line))
        memcpy(y + at, line, sizeof(line));
    memcpy(y + at, line, bytes - at);
}

#endif
