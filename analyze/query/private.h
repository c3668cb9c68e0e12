/* SPDX-License-Identifier: Apache-2.0 */
/* What the query files share: bytes that can be believed, reading what is around events. */
#ifndef OPTRACE_ANALYZE_QUERY_PRIVATE_H
#define OPTRACE_ANALYZE_QUERY_PRIVATE_H

#include "analyze/query/query.h"
#include "analyze/query/scan.h"
#include "analyze/query/statement.h"
#include "base/progress.h"

/** More bytes than any machine holds (256 TiB) are damage, and not known. */
static inline int64_t believed_bytes(int64_t bytes)
{
    const int64_t most = INT64_C(1) << 48;

    return bytes > most || bytes < -most ? STORE_NULL : bytes;
}

/** The same for what is added up: so is what together would be more than 2^61, *sum being what came
 *  before, so that no sum or difference of them overflows. */
static inline int64_t believed_in_sum(int64_t bytes, int64_t *sum)
{
    int64_t believed = believed_bytes(bytes);
    int64_t size = believed == STORE_NULL ? 0 : believed < 0 ? -believed : believed;

    if (*sum > (INT64_C(1) << 61) - size)
        return STORE_NULL;
    *sum += size;
    return believed;
}

/* reading.c */

/* Runs of a session by what decides whether they count, where not single ones are asked for. */
enum run_kind {
    RUN_ENDED = 1,
    RUN_WARMUP = 2,
    RUN_WITHOUT_OPS = 4,
    RUN_KINDS = 8,
};

struct run_kind_runs {
    uint64_t count;
    ARRAY_OF(double) durations; /* of those whose times make sense */
    bool selected;
};

struct run_tally {
    struct run_kind_runs of_kind[RUN_KINDS];
};

static inline enum run_kind run_kind_of(const struct scan_run *run)
{
    return (enum run_kind)((run->end_ns != STORE_NULL ? RUN_ENDED : 0) |
                           (run->is_warmup ? RUN_WARMUP : 0) |
                           (run->without_ops ? RUN_WITHOUT_OPS : 0));
}

/* What a question about events reads first, and what its scan needs. Fill the fields marked
 * "input"; reading_open(), reading_prepare_scan(), the events to scan_add(), reading_finish_scan();
 * reading_close() after any of them. */
struct reading {
    bool from_totals;    /* runs count whose events are gone: they are in the totals. Which of them
                            is asked for by kind alone: sessions have tallies in place of runs */
    struct store *store; /* input */
    const struct ops_question *question; /* input */
    bool every_span;                     /* input: labels, phases and marks count too */
    struct query_texts *texts;           /* input: keeps the texts of all rows */
    struct basis *basis;                 /* input: {0}; filled, for basis_deinit() */

    struct op_row_array rows; /* without costs; may be taken over */
    struct lane_row_array lane_rows;
    ARRAY_OF(struct scan_session) sessions;
    ARRAY_OF(struct run_tally) tallies; /* beside sessions; from_totals */
    ARRAY_OF(struct scan_lane) lanes;   /* beside lane_rows */
    ARRAY_OF(int64_t) op_ids;           /* beside rows, as op_kinds is */
    ARRAY_OF(uint8_t) op_kinds;         /* enum scan_op_kind */
    struct interval_union wall;         /* time of the counted runs */
    struct scan *scan;                  /* what reading_prepare_scan() was given */
};

/** Begins a transaction that reading_close() ends. */
int reading_open(struct reading *reading, struct diag *diag);
/** Returns 0 or -ENOMEM. The scan belongs to the reading until reading_close(). */
int reading_prepare_scan(struct reading *reading, struct scan *out_scan);
/** Fills the basis. */
int reading_finish_scan(struct reading *reading, struct scan *scan, struct diag *diag);
void reading_close(struct reading *reading);

/* run_rows.c */

/** The runs of a session by number, of which nobody has said yet whether they count. Inside a transaction of the caller, who gives *out_rows to
 *  array_deinit(), also after a failure. */
int query_run_rows(struct store *store, int64_t session_id, struct scan_runs *out_rows,
                   struct diag *diag);

/** The same by the pages of the table. Returns 1, and nothing, where they are of no use. Outside of
 *  its file, for tests. */
int query_run_pages(struct store *store, int64_t session_id, struct scan_runs *out_rows);

/** The runs of a session counted by kind, none of which is kept as a row. Inside a transaction of the
 *  caller, who gives *out_tally to run_tally_deinit(), also after a failure. */
int query_run_tally(struct store *store, int64_t session_id, struct run_tally *out_tally,
                    struct diag *diag);
void run_tally_deinit(struct run_tally *tally);

/* run_tally.c */

bool run_tally_has_runs(const struct run_tally *tally);
/** Which kinds of a session's runs count, as choose_runs() does in reading.c for each. */
void run_tally_choose(struct run_tally *tally, const struct ops_question *question,
                      struct basis *basis);
/** As query_skip_incomplete(): no run lacks events that are in totals. */
void run_tallies_skip_without_ops(struct reading *reading);
/** The counted runs and their durations, in no order; takes what the tallies have of these. Returns 0
 *  or -ENOMEM. */
int run_tallies_gather(struct reading *reading);

/* op_rows.c */

/** Adds the ops of a session to rows, op_ids and op_kinds. */
int reading_read_ops(struct reading *reading, int64_t session_id, struct diag *diag);

/* loss.c */

int query_losses(struct reading *reading, int64_t session_id, struct diag *diag);

/** Names for the unfinished spans that the scan met. */
int query_unfinished(struct reading *reading, const struct scan *scan, struct diag *diag);

/* dropped.c */

/** What was dropped of a session, whose window is known; sets dropped_until_ns. */
int query_dropped(struct reading *reading, struct scan_session *session, struct diag *diag);

/** Of the selected runs only those stay selected whose ops were not left out on purpose and whose
 *  events are all there, if there are any. */
void query_skip_incomplete(struct reading *reading);

/* rollups.c */

/* The executions of an op on one side, as op_stat has them. */
struct rollup_cost {
    uint64_t calls;
    double sum_ns, kern_ns, min_ns, max_ns;
    bool is_there;
    struct store_histogram durations;
};

struct rollups {
    struct rollup_cost (*costs)[OP_SIDES]; /* beside the ops of the scan */
    size_t op_count;
};

/** Whether roll-ups answer the question better than the events that are left. */
bool rollups_are_needed(const struct reading *reading, const struct scan *scan);

/** Returns 0 or a negative errno; rollups_deinit() is right after either. The basis becomes that of
 *  the roll-ups. */
int rollups_read(struct reading *reading, const struct scan *scan, struct rollups *out_rollups,
                 struct diag *diag);
struct scan_cost rollups_cost(const struct rollups *rollups, const struct scan *scan, uint32_t op,
                              enum op_side side);
void rollups_deinit(struct rollups *rollups);

/* totals.c */

/** Whether totals (op_total) may answer the question. Returns 1 or 0, or a negative errno. */
int totals_may_answer(struct store *store, const struct ops_question *question, struct diag *diag);

/** In place of query_events(): fill the scan. Returns 0, 1 when events must be read after all, or a
 *  negative errno. */
int totals_add(struct reading *reading, struct scan *scan, struct diag *diag);

/** After reading_finish_scan(): what totals do not know. */
void totals_finish(struct basis *basis);

/* merge_ops.c */

/** Whether rows of so many sessions are to be merged at all. */
bool merges_ops(const struct op_row *rows, size_t count, size_t session_count,
                enum query_merge merge);

/** Rows that are the same op (name, type, node, device, shapes, dtypes, with QUERY_MERGE_EQUAL
 *  params) become one, their costs added, in the place of the first; of one session kernels, copies
 *  and fills alone. `durations` stand beside the rows, and are added to those of the first, too.
 *  Params that differ are not known of the row. Returns 0 or -ENOMEM. */
int merge_equal_ops(struct ops_answer *answer, struct op_durations *durations, size_t session_count,
                    enum query_merge merge);

/** Of `count` ops, as calloc() made them; NULL is accepted. */
void op_durations_free(struct op_durations *durations, size_t count);

/* events.c */

/** Hand every event that may belong to the scan to scan_add(): those of committed batches that
 *  overlap its sessions and windows. Inside a transaction of the caller. */
int query_events(struct store *store, struct scan *scan, struct progress *progress,
                 struct diag *diag);

/* Rows of `event`, both ends included. */
struct row_range {
    int64_t first, last;
};
struct row_ranges ARRAY_FIELDS(struct row_range);

/* How far reading of rows is. */
struct rows_read {
    struct progress *progress; /* or NULL */
    uint64_t count, total;
};

/** Of these rows none. */
struct rows_read rows_read_begin(const struct row_ranges *ranges, struct progress *progress);
/** One more. */
static inline void rows_read_add(struct rows_read *rows)
{
    if ((++rows->count & 0xfff) == 0)
        progress_share(rows->progress, "reading events", rows->count, rows->total);
}

/** Rows that may belong to the scan: those of batches that overlap its sessions and windows. */
int query_event_ranges(struct store *store, const struct scan *scan, struct row_ranges *out_ranges,
                       struct diag *diag);

/* The rows of a batch. */
struct row_limit {
    int64_t first, last;
    int64_t start_ns; /* of the first of them to begin */
    int64_t later_ns; /* those of the batches behind it begin then or later; INT64_MAX: there are no
                         others, or it was not looked for */
};
struct row_limits ARRAY_FIELDS(struct row_limit);

/** A limit for each batch of those ranges, in the order of rows. */
int query_row_limits(struct store *store, const struct row_ranges *ranges,
                     struct row_limits *out_limits, struct diag *diag);
/** Fill in later_ns. */
void row_limits_look_ahead(struct row_limits *limits);

/* event_pages.c */

/* A row of `event`, and whoever takes rows. */
struct event_row {
    struct scan_event event;
    int64_t correlation, bytes; /* STORE_NULL for NULL, and where they were not asked for */
    int64_t rowid;
};
typedef void event_row_fn(void *user, const struct event_row *row);

/* How many columns of a row are wanted. */
enum event_columns { EVENT_OF_SCAN = 6, EVENT_WHOLE = 8 };

/** Hand rows in ascending ranges to `take`, by reading the pages of the whole table. Returns false
 *  when that cannot be done with this database (in memory, an unusual layout, damage): it may have
 *  handed over some of them then, and they are to be forgotten. Inside a transaction of the caller.
 */
bool event_pages(struct store *store, const struct row_ranges *ranges, enum event_columns columns,
                 event_row_fn *take, void *user);

/** Whether these are so many rows that reading all pages is faster than SQL. */
bool event_pages_pay(struct store *store, const struct row_ranges *ranges);

#endif
