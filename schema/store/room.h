/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The room that a store may take on its disk: how large the log gets, and that what is written can
 * always be brought into the file.
 *
 * A disk that is full must not end recording for good, and deleting needs room in the log, too. So
 * room is taken before it is needed: for the log once, for the file before the commit that makes it
 * longer (blocks behind its end, fallocate(2); a file system that has no such thing is taken as it
 * is). What was committed can be checkpointed whatever others do to the disk; then the log is free
 * again, and has room for deleting the oldest rows, whose pages the next ones take.
 *
 * For the only writer, between its transactions.
 */
#ifndef OPTRACE_SCHEMA_STORE_ROOM_H
#define OPTRACE_SCHEMA_STORE_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct store;

/* How a budget is shared out. */
struct store_shares {
    int64_t log_bytes; /* the log is brought into the file when it is as large as this */
    /* For the pages in use: the budget without twice the log and four batches. */
    int64_t pages_bytes;
    int64_t batch_bytes; /* of one transaction: a quarter of it */
    int64_t held_bytes;  /* the log's bound while a reader keeps it from being used again */
};

/** budget_bytes 0: no budget; then pages_bytes is 0, which means the same. disk_bytes is the size
 * of the file system, INT64_MAX: not known. Outside of its file, for tests. */
struct store_shares store_share_out(int64_t budget_bytes, int64_t disk_bytes);

/**
 * Keep to a budget from now on. The pages are for the caller to keep few: retain.h.
 *
 * budget_bytes  of file and log together; 0: none
 * out_shares    how it is shared out on this disk
 *
 * From then on store_begin() fails with -EBUSY while a reader has kept a transaction open for so
 * long that the log is at its bound, and store_commit() with -ENOSPC when the file would take the
 * last room of the disk: a 64th of it, 1 to 64 MiB, stay for others.
 *
 * Returns 0; room that cannot be taken at once is taken later.
 */
int store_set_budget(struct store *store, int64_t budget_bytes, struct store_shares *out_shares,
                     struct diag *diag);

/** Bytes that the file may yet grow by on its disk; INT64_MAX: not known. */
int64_t store_room_left(const struct store *store);

/** Bytes of the pages in use: of the file without its free pages and its log. */
int store_used_bytes(struct store *store, int64_t *out_bytes, struct diag *diag);

#endif
