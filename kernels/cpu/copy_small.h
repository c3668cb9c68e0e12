/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of few bytes, which a call of memcpy() would take longer for. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_COPY_SMALL_H
#define OPTRACE_KERNELS_CPU_COPY_SMALL_H

#include <stddef.h>
#include <string.h>

static inline void copy_small(char *y, const char *x, size_t bytes)
{
    enum { STEP = 16, HALF = 8 };
    size_t at = 0;

    if (bytes >= STEP) {
        for (; at + STEP <= bytes; at += STEP)
            memcpy(y + at, x + at, STEP);
        memcpy(y + bytes - STEP, x + bytes - STEP, STEP);
    } else if (bytes >= HALF) {
        memcpy(y, x, HALF);
        memcpy(y + bytes - HALF, x + bytes - HALF, HALF);
    } else {
        for (; at < bytes; at++)
            y[at] = x[at];
    }
}

#endif
