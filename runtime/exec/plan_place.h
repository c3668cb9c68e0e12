/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets of things that live for a while, so that what lives at the same time does not overlap.
 * Internal to plan.c.
 *
 * Largest first, each into the smallest gap between what lives at the same time. Where too many
 * live at the same time for that, they are placed in the order of time, as an allocator would.
 */
#ifndef OPTRACE_RUNTIME_EXEC_PLAN_PLACE_H
#define OPTRACE_RUNTIME_EXEC_PLAN_PLACE_H

#include <stddef.h>
#include <stdint.h>

/** The steps from the first to the last that touch a root, both included. */
struct lifetime {
    uint32_t first, last;
};

/** Something to place: a root, or the workspace of a step. */
struct item {
    size_t bytes; /* a multiple of PLAN_ALIGNMENT, may be 0 */
    struct lifetime life;
    size_t *offset; /* result */
};

enum { PLAN_PAIRS_MAX = 1 << 22 };

/**
 * Fill in the offsets; *out_bytes is where the last item ends.
 *
 * pairs_max  of items that live at the same time, for going through them; PLAN_PAIRS_MAX costs
 *            some tenths of a second
 *
 * Returns 0 or -ENOMEM.
 */
int plan_place(const struct item *items, uint32_t count, uint64_t pairs_max, size_t *out_bytes);

/** In the order of time. `by_first` and `by_last` are the items sorted by these steps. */
int plan_place_by_time(const struct item *items, const uint32_t *by_first, const uint32_t *by_last,
                       uint32_t count, size_t *out_bytes);

#endif
