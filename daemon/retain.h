/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping the store within its bounds and its roll-ups few, in slices that fit between two batches;
 * what there is to say about it is said once. The writer's thread only.
 */
#ifndef OPTRACE_DAEMON_RETAIN_H
#define OPTRACE_DAEMON_RETAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/store.h"
#include "schema/store_retain.h"

/* {.store = ..., .bounds = ...} is a valid start. */
struct retain {
    struct store *store;
    struct store_bounds bounds;
    bool has_more;                         /* another slice is due */
    bool said_full, said_over, said_error; /* which is not said again */
};

/** Drop what is out of bounds, so much that the store shrinks when this is done after each batch:
 *  twice the rows of the batch, or when there was none (0) as much as takes a few milliseconds. */
void retain_slice(struct retain *retain, size_t batch_rows);

/** After how long to do it again when no batch comes. */
uint64_t retain_pause_ns(const struct retain *retain);

#endif
