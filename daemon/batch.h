/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: the rows of one transaction, and what is to be done once it is committed.
 *
 * The loop fills one batch at a time and hands it to the writer thread, which only reads it and
 * sets `status`; then the loop takes it back, acts on marks, waiters and ends, and clears it for
 * the next use. No I/O here. Texts in rows are borrowed from their session, which outlives the
 * batch, or lie in the batch's arena.
 */
#ifndef OPTRACE_DAEMON_BATCH_H
#define OPTRACE_DAEMON_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "daemon/arena.h"
#include "daemon/memory.h"
#include "schema/store/store.h"

enum {
    BATCH_ROWS_FULL = 100000,        /* hand it over from here on */
    BATCH_TEXT_BYTES_FULL = 4 << 20, /* the same for texts and definitions */
    BATCH_ROW_BYTES = 40,            /* in the store, about */
    BATCH_GAPS_MAX = 1 << 16,        /* beyond, losses are added to the last row */
    BATCH_KEPT_MIN = 4096,           /* lists of up to so many rows keep their memory */
    BATCH_SPARES_MAX = 2,            /* batches that wait for their next use, */
    BATCH_SPARE_TAKES = 64,          /* and how often one is not needed before it goes */
};

struct ring;
struct session;
struct producer;

/* Once committed: give the ring's records below `position` back to the client. */
struct batch_mark {
    struct ring *ring; /* a reference */
    uint64_t position;
    bool has_gaps; /* it tells of losses that were counted in the ring */
};

/* Once committed: answer FLUSH. */
struct batch_waiter {
    struct producer *producer; /* NULL when it has left meanwhile */
    uint64_t token;
    bool is_durable; /* once synced, too */
};

/* The end of a session, the last of its rows. */
struct batch_end {
    struct session *session; /* destroyed once committed; NULL: not in memory */
    int64_t session_id, end_ns;
    const char *reason; /* a static text */
    const char *note;   /* in the batch's arena, or NULL */
};

/* A ring that is over: its cursor goes. */
struct batch_ring {
    int64_t session_id, ring_id;
};

/* A run whose number its session had used before: it is counted as lost. */
struct batch_repeat {
    int64_t session_id, run;
};

struct batch {
    ARRAY_OF(struct store_session) sessions;
    ARRAY_OF(struct store_model) models;
    ARRAY_OF(struct store_text) long_texts;
    ARRAY_OF(struct store_op) ops;
    ARRAY_OF(struct store_lane) lanes;
    ARRAY_OF(struct store_run) runs;
    ARRAY_OF(struct store_event) events;
    ARRAY_OF(struct store_memory_event) memory_events;
    ARRAY_OF(struct store_counter) counters;
    ARRAY_OF(struct store_gap) gaps;
    ARRAY_OF(struct store_cursor) cursors;
    ARRAY_OF(struct batch_ring) gone_rings;
    ARRAY_OF(struct batch_end) ends;
    ARRAY_OF(struct batch_mark) marks;
    ARRAY_OF(struct batch_waiter) waiters;
    uint64_t first_ns;  /* CLOCK_MONOTONIC when the collector first saw rows in it; 0: empty */
    struct arena texts; /* of its rows */
    size_t row_max, definition_max;        /* see batch_limit() */
    size_t defined_bytes;                  /* of definitions, with texts that are their session's */
    ARRAY_OF(struct batch_repeat) repeats; /* set by the writer */
    int status;                            /* set by the writer: 0 or a negative errno */
    bool syncs;                            /* a waiter is durable: sync after the commit */
    int sync_status; /* set by the writer, when the commit is done: as status */
    struct batch *next;
};

/** An empty batch. */
struct batch *batch_create(void);

/** Hand it over when it has as much as this, where that is less than usual. Stays with it. */
void batch_limit(struct batch *batch, int64_t bytes);

/** Frees it; the caller has dealt with marks and ends. NULL inside is allowed. */
void batch_destroy(struct batch **batch);

/** Forget all rows. The memory stays for the next use, but for lists that held less than an eighth
 *  of what they have room for: what a backlog took goes back. Outside of its file, for tests. */
void batch_clear(struct batch *batch);

/** Batches between two uses: with a backlog two come back at a time, and pages that are new to the
 *  process cost as much as filling them. {0} has none. */
struct batch_spares {
    struct batch *items[BATCH_SPARES_MAX];
    unsigned count;
    unsigned unneeded; /* how often in succession one was left */
};

/** Clears a batch and keeps it, or destroys it. */
void batch_spares_put(struct batch_spares *spares, struct batch *batch);

/** One that was put, or NULL. What is left for long is destroyed. */
struct batch *batch_spares_take(struct batch_spares *spares);

void batch_spares_deinit(struct batch_spares *spares);

/** Rows in the tables that are written a lot. */
static inline size_t batch_row_count(const struct batch *batch)
{
    return batch->events.count + batch->memory_events.count + batch->counters.count +
           batch->runs.count;
}

/** What a batch that is given up takes with it: events, and losses that it was to tell of. */
uint64_t batch_event_count(const struct batch *batch);

/** True when nothing is to be written or answered. */
bool batch_is_empty(const struct batch *batch);

/** True when it should be handed over because of its size. */
bool batch_is_full(const struct batch *batch);

/** Append a row to one of the lists. */
#define batch_push(list, ...) memory_must(array_push(list, ((__VA_ARGS__))))

/** Count a loss: it is added to the row of the same session, lane and reason. lane_id, first_ns and
 *  last_ns may be STORE_NULL; `reason` is a static text. */
void batch_add_gap(struct batch *batch, int64_t session_id, int64_t lane_id, const char *reason,
                   uint64_t lost_count, int64_t first_ns, int64_t last_ns);

/** Say that nobody knows how much was lost from `since_ns` on; `reason` is a static text that no
 *  loss with a count has. */
void batch_add_unknown_gap(struct batch *batch, int64_t session_id, const char *reason,
                           int64_t since_ns);

#endif
