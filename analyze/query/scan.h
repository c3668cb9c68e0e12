/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over events: sums per op and lane, time covered, what is unfinished. It knows nothing of
 * SQL or files; whoever reads events (events.c) hands them in.
 *
 * Order of calls: fill the fields marked "input" of a {0} struct scan, scan_prepare(), scan_add()
 * for each event, then read the results; scan_deinit(). One thread.
 *
 * On host threads an op's self time is what its nested ops leave of it: an op is nested in the one that
 * began last of those that enclose it, as in the tree of spans.h. That needs inner spans before outer
 * ones, as each thread records them, and it must not matter what overlaps without nesting;
 * `needs_tree` says where these do not tell.
 */
#ifndef OPTRACE_ANALYZE_QUERY_SCAN_H
#define OPTRACE_ANALYZE_QUERY_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/containers/id_map.h"
#include "analyze/containers/interval.h"
#include "base/array.h"
#include "schema/store/store.h"

enum scan_side { SCAN_HOST, SCAN_DEVICE, SCAN_SIDES };

enum {
    SCAN_UNFINISHED_MAX = 64, /* that many are kept by name; all are counted */
    SCAN_OPEN_MAX = 4096,     /* spans per lane that an outer span may still enclose; of more than
                                 these older ones are put together */
};

/* A row of `event`; STORE_NULL for NULL. */
struct scan_event {
    int64_t lane_id, op_id, run, start_ns, dur_ns, kern_ns;
};

enum scan_op_kind {
    SCAN_OP_SKIPPED, /* phases, counters, marks; labels unless asked for */
    SCAN_OP_NESTING, /* an op: its self time leaves out nested ops */
    SCAN_OP_WHOLE,   /* a label: its whole time */
};

struct scan_run {
    int64_t start_ns, end_ns; /* end_ns STORE_NULL: not finished */
    bool selected;
    bool is_warmup;    /* the scan does not look at it, nor at these: */
    bool lacks_events; /* some were dropped */
    bool without_ops;  /* they were left out on purpose */
    int64_t number;    /* for whoever reads runs */
    int64_t lane_id;
};
struct scan_runs ARRAY_FIELDS(struct scan_run);

struct scan_session {
    int64_t session_id;
    struct id_map run_map; /* run numbers to places in `runs` */
    struct scan_run *runs;
    size_t run_count;
    int64_t from_ns, until_ns; /* events that start in [from, until) */
    int64_t dropped_until_ns;  /* up to here some were dropped; INT64_MIN: none */
    bool all_events;           /* events outside of runs count too */
    bool only_near_runs;       /* whoever reads events may leave out those far from selected runs */
    bool flat; /* spans do not nest, and the lanes of an op are parts of one execution, of
                  which the longest counts, and host and device have clocks of their own: so
                  MegEngine's profiles are made and read */
};

/* A span that ended and may lie inside a later one, or several that follow each other. */
struct scan_open {
    int64_t start_ns; /* of the first */
    int64_t dur_ns;   /* together */
    int64_t last_ns;  /* the latest start of them and of those inside */
};

struct scan_lane {
    int64_t lane_id;
    uint32_t session; /* place in `sessions` */
    enum scan_side side;
    int64_t end_ns; /* of what came last, of nesting ops */
    ARRAY_OF(struct scan_open) open;
};

/* The executions of one op on one lane. */
struct scan_sums {
    uint32_t op, lane;
    uint32_t next; /* place of the op's next sums, or ID_MAP_NONE */
    uint64_t calls;
    uint64_t kern_calls; /* those whose kern_ns is known */
    int64_t total_ns;    /* end - start */
    int64_t nested_ns;   /* of it, in nested ops */
    int64_t kern_ns;     /* kern - start, where known */
    int64_t exec_ns;     /* end - kern, where known */
    int64_t min_ns, max_ns;
    struct store_histogram durations; /* end - start */
};

struct scan_unfinished {
    int64_t lane_id, op_id, start_ns;
};

struct scan {
    /* input, owned by the caller until scan_deinit() takes what lanes and sessions allocated */
    struct scan_session *sessions;
    size_t session_count;
    struct scan_lane *lanes;
    size_t lane_count;
    const int64_t *op_ids;
    const uint8_t *op_kinds; /* enum scan_op_kind, beside op_ids */
    size_t op_count;
    bool without_durations; /* nobody asks for percentiles: sums have no histograms */
    bool without_sums;      /* nobody asks for ops either, and no session is flat */

    /* results */
    struct scan_sums_array ARRAY_FIELDS(struct scan_sums) sums;
    uint32_t *first_sums;           /* for each op: place in `sums`, or ID_MAP_NONE */
    int64_t own_ns[SCAN_SIDES];     /* self time of all ops; without sums */
    uint64_t own_calls[SCAN_SIDES]; /* how many they were */
    struct interval_union covered[SCAN_SIDES];
    int64_t first_ns[SCAN_SIDES], last_ns[SCAN_SIDES]; /* of counted ops; last < first: none */
    uint64_t counted;                                  /* events that count */
    uint64_t outside_count; /* left out: in no run, or in one that never ended */
    uint64_t bad_count;     /* left out: times or ids that make no sense */
    int64_t summed_ns;      /* durations of those that were not left out */
    uint64_t unfinished_count;
    struct scan_unfinished unfinished[SCAN_UNFINISHED_MAX];
    /* Which of two ops that overlap holds a third is not known, or they do not come in order:
     * own_ns and nested_ns may be wrong, totals and all else are not. */
    bool needs_tree;
    int error; /* -ENOMEM; further events are ignored */

    /* inside */
    struct id_map op_map, lane_map;
    uint32_t
        *sums_of; /* by op and lane: places in `sums`, or ID_MAP_NONE; NULL: they are too many */
};

/** Returns 0 or -ENOMEM; scan_deinit() is right after either. */
int scan_prepare(struct scan *scan);

void scan_add(struct scan *scan, const struct scan_event *event);

/** Whether scan_add() would count it, but for sums that would become too large. */
bool scan_takes(const struct scan *scan, const struct scan_event *event);

/** Count the executions of an op on a lane that somebody has summed up. Takes their durations.
 *  Returns 0 or -ENOMEM. */
int scan_add_sums(struct scan *scan, struct scan_sums *sums);

/** Where it needs a tree: forget what is nested in ops of threads, all of which then is, and take the own
 *  time of their spans one after the other. Of an op on a lane of which there are no sums it does
 *  nothing. */
void scan_forget_nested(struct scan *scan);
void scan_take_own(struct scan *scan, uint32_t op, uint32_t lane, int64_t own_ns);

/** Forget all events, as after scan_prepare(). */
void scan_restart(struct scan *scan);

/** Frees the results and what lies inside lanes and sessions, not these arrays themselves. */
void scan_deinit(struct scan *scan);

/* P50, P90, P99 of single executions, nearest rank, at most 1/32 away from the true ones. */
enum { SCAN_PERCENTILES = 3 };

/** Those of a histogram whose shortest and longest durations are known; NaN of an empty one. */
void scan_percentiles(const struct store_histogram *durations, double min_ns, double max_ns,
                      double *out_ns);

/** Add the durations of an op on a side to a histogram. Returns 0 or -ENOMEM. */
int scan_add_durations(const struct scan *scan, uint32_t op, enum scan_side side,
                       struct store_histogram *into);

/* What all executions of an op on one side cost together. */
struct scan_cost {
    uint64_t calls;                  /* 0: never there */
    double end_ns, kern_ns, exec_ns; /* NaN: not known */
    double whole_ns;                 /* nested ops included */
    double min_ns, max_ns;           /* of single executions, nested ops included */
    double percentile_ns[SCAN_PERCENTILES];
};
struct scan_cost scan_op_cost(const struct scan *scan, uint32_t op, enum scan_side side);

#endif
