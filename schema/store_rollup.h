/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roll-ups of one writer in memory: per op, lane kind and 10 s, what op_stat holds. Events are
 * added as they come; the rows that changed are written before the commit. A row that is in the
 * file already is read when it is first touched.
 */
#ifndef OPTRACE_SCHEMA_STORE_ROLLUP_H
#define OPTRACE_SCHEMA_STORE_ROLLUP_H

#include <stdbool.h>

#include "schema/store.h"
#include "schema/store_stat.h"

#define ROLLUP_BUCKET_NS INT64_C(10000000000)

enum {
    ROLLUP_ENTRIES_MIN = 1 << 9,
    ROLLUP_ENTRIES_MAX = 1 << 16, /* in memory; beyond, all are written and forgotten */
};

struct rollup_entry {
    int64_t rowid; /* in op_stat; 0: not written yet */
    int64_t op_id;
    int64_t start_ns; /* of the bucket */
    int64_t event_count, sum_ns, min_ns, max_ns, kern_sum_ns;
    struct store_histogram histogram;
    uint32_t idle_count; /* commits since it was last touched */
    uint8_t lane_kind;   /* index into store_lane_kinds */
    bool is_dirty;
};

struct rollup {
    /* No op above this has a row in the file: what is new need not be looked for. */
    int64_t known_op_max;
    bool knows_ops; /* known_op_max was read */
    struct rollup_entry *entries;
    uint32_t *slots; /* open addressing: 1 + index into entries, 0 is free */
    uint32_t entry_count, entry_capacity, slot_mask;
    int64_t bucket_ns; /* start of the bucket of the last event */
    char *text;        /* scratch for a histogram */
};

/** Count one finished event. */
int store_rollup_add(struct store *store, uint8_t lane_kind, const struct store_event *event,
                     struct diag *diag);

/** Write the rows that changed; forget those that have not changed for a while. */
int store_rollup_write(struct store *store, struct diag *diag);

/** Forget what is known of buckets that begin before this time; all of it is written. */
void store_rollup_forget(struct rollup *rollup, int64_t before_ns);

/** Forget all that is not written: after a rollback, or when another program changed the file. */
void store_rollup_clear(struct rollup *rollup);
void store_rollup_deinit(struct rollup *rollup);

#endif
