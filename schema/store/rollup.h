/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roll-ups of one writer in memory: per op, lane kind and 10 s, what op_stat holds. Events are
 * added as they come. A row that is in the file already is read when it is first touched.
 *
 * The rows that changed are written before the commit, or, where store_delay_rollups() allows it,
 * before a later one. Until then `rolled_up` in meta is the rowid of the last event that op_stat
 * counts: the views add those behind it, and who loses what is in memory here counts them again.
 * Nothing may delete such an event before store_rollup_settle().
 *
 * Where there are so many rows that they wait for longer than a bucket, those of buckets that have
 * ended are written, each once, and the others wait on. Then `rolled_up_ended` is the rowid of the
 * last event that was looked at: up to it, op_stat also counts those behind `rolled_up` that begin
 * before `rolled_up_ended_ns`.
 */
#ifndef OPTRACE_SCHEMA_STORE_ROLLUP_H
#define OPTRACE_SCHEMA_STORE_ROLLUP_H

#include <stdbool.h>

#include "schema/store/store.h"
#include "schema/store/stat.h"

struct sqlite3_stmt;

#define ROLLUP_BUCKET_NS INT64_C(10000000000)

/* Rows that would wait for longer, as there are so many of them, wait for the end of their bucket,
 * and a little more, as events come late: */
#define ROLLUP_WAIT_NS INT64_C(10000000000)
#define ROLLUP_LATE_NS UINT64_C(1500000000)
/* not for less than this where somebody's buckets end at other times, nor for longer than that. */
#define ROLLUP_ENDED_NS    UINT64_C(8000000000)
#define ROLLUP_WAIT_MAX_NS UINT64_C(20000000000)
/* A few rows wait, too, as long as readers do not notice what that is to them. */
#define ROLLUP_CALM_NS INT64_C(1000000000)

enum {
    ROLLUP_ENTRIES_MIN = 1 << 9,
    ROLLUP_ENTRIES_KEPT = 1 << 13, /* with more, only those of the bucket being filled are kept */
    ROLLUP_ENTRIES_MAX = 1 << 18,  /* in memory; beyond, all are written and forgotten */
    ROLLUP_AT_ONCE = 64,           /* events that are counted together */
    ROLLUP_ROW_BYTES = 300,        /* of a row of op_stat or op_total, about */
    ROLLUP_CALM_EVENTS = 1 << 17,  /* so many are read in 0.1 s */
};

struct rollup_entry {
    int64_t rowid; /* in op_stat; 0: not written yet */
    int64_t op_id;
    int64_t start_ns;    /* of the bucket */
    int64_t first_rowid; /* of the events that op_stat does not count, where it is dirty */
    int64_t event_count, sum_ns, min_ns, max_ns, kern_sum_ns;
    struct store_histogram histogram;
    uint32_t idle_count; /* commits since it was last touched */
    uint8_t lane_kind;   /* index into store_lane_kinds */
    bool is_dirty;
};

/* What op_stat counts: events up to a rowid, and of those up to another one such that begin before
 * a time. */
struct rollup_mark {
    int64_t rowid;
    int64_t ended_rowid, ended_ns; /* ended_rowid 0: none */
};

struct rollup {
    /* What is new need not be looked for in the file: no op above known_op_max has a row, and none
     * above first_op_max has one that begins after written_ns. */
    int64_t known_op_max, first_op_max, written_ns;
    bool knows_ops; /* these were read */
    /* Rows that wait. */
    int64_t row_ns;           /* as store_delay_rollups() was told */
    uint64_t last_ns;         /* CLOCK_MONOTONIC when all were written */
    uint32_t dirty_count;     /* entries that are to be written */
    bool knows_mark;          /* what the file says that waits is in memory; has_mark is right */
    bool has_mark;            /* the file has `rolled_up` */
    bool must_write;          /* before the commit, whatever may wait */
    struct rollup_mark mark;  /* what it is to be when there are rows to be written */
    int64_t last_rowid;       /* of the events that are counted here */
    int64_t newest_ns;        /* start of the last bucket that was seen */
    uint64_t newest_since_ns; /* CLOCK_MONOTONIC */
    struct rollup_entry *entries;
    uint32_t *slots; /* open addressing: 1 + index into entries, 0 is free */
    uint32_t entry_count, entry_capacity, slot_mask;
    int64_t bucket_ns; /* start of the bucket of the last event */
    char *text;        /* scratch for a histogram */
};

/* rollup_mark.c: where the file says that roll-ups wait. */

/** *out_mark is written only where there is one. */
int store_rollup_read_mark(struct store *store, bool *out_has_mark, struct rollup_mark *out_mark,
                           struct diag *diag);
int store_rollup_put_mark(struct store *store, struct diag *diag);
int store_rollup_drop_mark(struct store *store, struct diag *diag);

/** Before events are counted in a transaction: count those that the file says wait. */
int store_rollup_prepare(struct store *store, struct diag *diag);

/* A finished event that is to be counted. */
struct rollup_event {
    const struct store_event *event;
    int64_t rowid;
    uint32_t entry; /* set by store_rollup_add() */
    uint8_t lane_kind;
};

/** Count at most ROLLUP_AT_ONCE finished events. */
int store_rollup_add(struct store *store, struct rollup_event *events, size_t count,
                     struct diag *diag);

/* What some events of an op and a kind of lane come to which are in one bucket. */
struct rollup_sums {
    int64_t op_id, start_ns; /* of the bucket */
    int64_t first_rowid, last_rowid;
    int64_t event_count, sum_ns, min_ns, max_ns, kern_sum_ns;
    const struct store_histogram *histogram;
    uint8_t lane_kind;
};

/** Events of a bucket, which may be a new one, are being counted elsewhere. */
void store_rollup_meet_bucket(struct rollup *rollup, int64_t start_ns);

/** Count these. */
int store_rollup_add_sums(struct store *store, const struct rollup_sums *sums, struct diag *diag);

/** Count the events that a statement gives: rowid, lane_id, op_id, start_ns, dur_ns, kern_ns, as
 * they are in `store`. `source` is whose statement it is. Where the file may say that events wait,
 *  store_rollup_prepare() was called. */
int store_rollup_count(struct store *store, struct store *source, struct sqlite3_stmt *rows,
                       struct diag *diag);

/** Before a commit: write the rows that changed, or say in the file that they wait. */
int store_rollup_commit(struct store *store, struct diag *diag);

/** Write the rows that changed, and count those that the file says wait; forget those that have not
 *  changed for a while. */
int store_rollup_write(struct store *store, struct diag *diag);

/** The same of what is counted here already, after store_rollup_prepare() where the file may say
 *  that events wait. */
int store_rollup_write_counted(struct store *store, struct diag *diag);

/** The rows alone, of buckets that begin before this time. */
int store_rollup_write_rows(struct store *store, int64_t before_ns, struct diag *diag);

/** Forget what is known of buckets that begin before this time; all of it is written. */
void store_rollup_forget(struct rollup *rollup, int64_t before_ns);

/** How many rows of roll-ups wait to be written, at most: what is fresh may belong to one that waits
 *  already. */
int64_t store_waiting_rows(const struct store *store);

/** What roll-ups and totals that wait will take in the file, about. */
int64_t store_waiting_bytes(const struct store *store);

/** Whether that is so much that it is to be written now, for the sake of the budget. */
bool store_waiting_is_much(const struct store *store);

/** Whether rows wait, here or by what the file says. */
int store_rollup_is_waiting(struct store *store, bool *out_is_waiting, struct diag *diag);

/** Before rows of op_stat are changed or deleted by others than this: write those that wait in
 *  buckets that begin before this time, and forget what is known of such buckets. */
int store_rollup_settle(struct store *store, int64_t before_ns, struct diag *diag);

/** Before events up to this rowid are deleted: write what waits, if it counts one of them. */
int store_rollup_settle_events(struct store *store, int64_t last_rowid, struct diag *diag);

/** Forget all that is not written: after a rollback, or when another program changed the file. */
void store_rollup_clear(struct rollup *rollup);
void store_rollup_deinit(struct rollup *rollup);

#endif
