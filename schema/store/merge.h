/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making roll-ups coarser as they grow old: 10 s become 10 min after an hour, 10 min a day after a
 * week. Counts, sums and histograms are added, so that all that is asked of them stays as it was
 * but for the time that it is known to.
 *
 * An op that runs all the time has 360 rows an hour otherwise, for ever.
 */
#ifndef OPTRACE_SCHEMA_STORE_MERGE_H
#define OPTRACE_SCHEMA_STORE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct store;

/* How far a writer has come. {0} begins anew. */
struct merge {
    int64_t hour_ns;     /* rows of 10 s that end before this become longer */
    int64_t after_rowid; /* in op_stat: rows up to here were looked at */
    bool is_done;        /* all were */
};

/** Whether something may have to be merged: once in ten minutes. now_ns is CLOCK_REALTIME. */
bool store_merge_is_due(struct store *store, int64_t now_ns);

/** Merge up to `count` times several rows into one, in the transaction at hand. Returns 1 when
 * there is more, 0 or a negative errno. */
int store_merge_rollups(struct store *store, int64_t now_ns, size_t count, struct diag *diag);

#endif
