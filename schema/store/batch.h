/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of event_batch that is being filled: which rows of `event`, which time, whose. A batch
 * ends after BATCH_ROWS_MAX rows; small commits that follow each other closely share one.
 */
#ifndef OPTRACE_SCHEMA_STORE_BATCH_H
#define OPTRACE_SCHEMA_STORE_BATCH_H

#include <stdbool.h>

#include "schema/store/store.h"

enum {
    /* Few enough that a narrow time window reads little besides its own rows, many enough that the
     * batches of a full store are read in a millisecond. */
    BATCH_ROWS_MAX = 8192,
    BATCH_LANES_MAX = 64, /* as store.sql says */
};

/* A later commit goes on with a batch that began less than this before. */
#define BATCH_SPAN_NS INT64_C(10000000000)

struct batch {
    int64_t first_rowid, last_rowid; /* first > last: empty */
    int64_t start_ns, end_ns, dur_max_ns;
    int64_t session_min, session_max;
    int64_t lanes[BATCH_LANES_MAX];
    uint32_t lane_count; /* BATCH_LANES_MAX + 1: more */
    bool is_dirty;
};

/** What some events come to. BATCH_NO_TIMES: nothing yet. */
struct batch_times {
    int64_t count, start_ns, end_ns, dur_max_ns; /* STORE_NULL, the least: none has ended */
};
#define BATCH_NO_TIMES ((struct batch_times){0, INT64_MAX, INT64_MIN, STORE_NULL})

static inline void store_batch_add_time(struct batch_times *times, int64_t start_ns, int64_t end_ns,
                                        int64_t dur_ns)
{
    times->count++;
    times->start_ns = start_ns < times->start_ns ? start_ns : times->start_ns;
    times->end_ns = end_ns > times->end_ns ? end_ns : times->end_ns;
    times->dur_max_ns = dur_ns > times->dur_max_ns ? dur_ns : times->dur_max_ns;
}

/** Make the batch ready for the event whose rowid is `rowid`: a full or unfitting one is written
 * and the next begun. *out_room is how many events it takes now, at least 1. */
int store_batch_reserve(struct store *store, int64_t rowid, const struct store_event *event,
                        size_t *out_room, struct diag *diag);

/** Count events that there is room for: their rows and times. */
void store_batch_add(struct batch *batch, const struct batch_times *times);

/** Count the lane of an event. */
void store_batch_add_lane(struct batch *batch, int64_t lane_id, int64_t session_id);

/** Write the batch, which may go on after the commit. */
int store_batch_write(struct store *store, struct diag *diag);

/** Forget the batch, so that the next event begins one. */
void store_batch_clear(struct batch *batch);

#endif
