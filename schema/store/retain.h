/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping a store within bounds: the oldest rows of event, memory_event and counter are dropped,
 * in the order of time; sessions, models, ops, lanes, runs, gaps and roll-ups stay. What went is
 * counted in `dropped`. Counters of a calibration stay, too. Roll-ups become coarser as they grow
 * old (merge.h).
 *
 * The pages that rows leave are used for the next ones, so that a file at its budget stops growing;
 * it does not get smaller.
 *
 * For the only writer: store_retain_ahead() at the beginning of a transaction that brings rows, and
 * between its transactions store_retain() until it returns 0.
 */
#ifndef OPTRACE_SCHEMA_STORE_RETAIN_H
#define OPTRACE_SCHEMA_STORE_RETAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct store;

/* 0: no such bound. */
struct store_bounds {
    int64_t budget_bytes;     /* of the pages in use */
    int64_t disk_bytes;       /* the same, because the disk has no room for more */
    int64_t keep_events_ns;   /* rows whose time is longer ago are dropped */
    int64_t keep_sessions_ns; /* sessions that ended longer ago are dropped whole (forget.h) */
};

/* What was done. */
struct store_retained {
    size_t row_count;   /* rows dropped */
    size_t shed_count;  /* steps in which other rows went: shed.h */
    int64_t over_bytes; /* how far the store is above its budget although nothing more can be
                           dropped; 0 otherwise, also while more can */
};

/* Below this a budget has no room for the tables themselves. */
#define STORE_BUDGET_MIN INT64_C(4194304)

/**
 * Drop what is out of bounds, up to about `row_max` rows, and make old roll-ups coarser, in one
 * transaction; where there is nothing to do, no transaction is begun.
 *
 * now_ns  CLOCK_REALTIME
 *
 * The batch that was written last is never dropped for the budget.
 *
 * Returns 1 when there is more to do, 0 when not, or a negative errno; then nothing was dropped.
 */
int store_retain(struct store *store, const struct store_bounds *bounds, int64_t now_ns,
                 size_t row_max, struct store_retained *out_retained, struct diag *diag);

/**
 * The same ahead of rows that are to come, in the transaction that they will be in: they then take
 * the very pages that the old ones leave, which are written once for both. At most about as many
 * rows go as come; what else is out of bounds is left to store_retain().
 *
 * Returns 0 or a negative errno; then the transaction is to be rolled back.
 */
int store_retain_ahead(struct store *store, const struct store_bounds *bounds, int64_t now_ns,
                       size_t row_count, struct store_retained *out_retained, struct diag *diag);

#endif
