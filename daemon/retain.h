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

#include "schema/store/store.h"
#include "schema/store/retain.h"
#include "schema/store/room.h"

/* {.store = ...}, then retain_init(). */
struct retain {
    struct store *store;
    struct store_bounds bounds;
    struct store_shares shares;            /* of the budget */
    int64_t budget_bytes;                  /* of file and log, as told; 0: none */
    bool has_more;                         /* another slice is due */
    bool said_full, said_over, said_error; /* which is not said again */
};

/** Keep to these bounds, of which the budget is that of file and log together. */
int retain_init(struct retain *retain, const struct store_bounds *bounds, struct diag *diag);

/** The disk is full: drop the oldest rows for the next ones to take their pages, and keep to what
 *  the disk has until it has room again. Returns true when something was dropped. */
bool retain_make_room(struct retain *retain);

/** In the transaction that so many rows are to be written in: make room for them. Returns 0 or a
 * negative errno; then the transaction is to be rolled back. */
int retain_ahead(struct retain *retain, size_t batch_rows, struct diag *diag);

/** Drop what is out of bounds, so much that the store shrinks when this is done after each batch:
 *  twice the rows of the batch, or when there was none (0) as much as takes a few milliseconds. */
void retain_slice(struct retain *retain, size_t batch_rows);

/** After how long to do it again when no batch comes. */
uint64_t retain_pause_ns(const struct retain *retain);

/** What to do about a full disk, as the end of a sentence, in `text`, which it returns.
 * budget_bytes 0: none. Any thread. */
const char *retain_advise(int64_t budget_bytes, char *text, size_t text_bytes);

#endif
