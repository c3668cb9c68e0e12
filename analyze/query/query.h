/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a store, answered in typed rows. All SQL of profile_analyze that a report needs is
 * in query_*.c; nothing here prints, filters for a person or knows columns of a table on the
 * screen.
 *
 * Texts in rows belong to the row's container and live until its _deinit(). Unknown texts are NULL,
 * unknown integers STORE_NULL, unknown doubles NaN. Functions return 0 or a negative errno with a
 * sentence in diag; containers may be given to _deinit() after either. One thread.
 */
#ifndef OPTRACE_ANALYZE_QUERY_QUERY_H
#define OPTRACE_ANALYZE_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/query/selection.h"
#include "base/array.h"
#include "base/diag.h"
#include "schema/store/store.h"

/* Texts that rows point to. */
struct query_texts {
    ARRAY_OF(char *) kept;
    bool failed; /* memory ran out: some text is NULL that should not be */
};
void query_texts_deinit(struct query_texts *texts);

/** Keep a copy of any text; NULL, and texts->failed, without memory. */
const char *query_keep(struct query_texts *texts, const char *text);

/* --- Sessions: sessions.c --- */

struct session_row {
    int64_t session_id, start_ns, end_ns; /* end_ns: of the last event while it runs */
    bool is_running;                      /* it has no end */
    bool is_from_outside;                 /* recorded by optrace run, the program as it is */
    bool is_abandoned;                    /* nor does anybody write to the store: it did not end */
    int64_t complete_ns; /* of one without end: all that it recorded before is here */
    const char *program, *command, *host, *source, *end_reason, *note, *models;
    uint64_t damage_count; /* pieces of its file that could not be read */
    int64_t pid;
    int64_t op_count;
    int64_t lost_count;            /* of what is known */
    int64_t lost_unknown_since_ns; /* STORE_NULL: that is all; else an unknown number since then */
    int64_t dropped_count;         /* events that are not stored any more */
    bool is_calibration;           /* it holds a calibration and nothing else */
};

struct session_rows {
    ARRAY_OF(struct session_row) rows; /* by start */
    struct query_texts texts;
};
int query_sessions(struct store *store, struct session_rows *out_rows, struct diag *diag);
void session_rows_deinit(struct session_rows *sessions);

/** How many runs a session has, which are counted one by one. */
struct session_run_counts {
    int64_t count, warmup_count;
};
int query_session_runs(struct store *store, int64_t session_id, struct session_run_counts *out_runs,
                       struct diag *diag);

/* --- What answers on events have in common: reading.c --- */

enum op_side { OP_HOST, OP_DEVICE, OP_SIDES };

/* One run of one session. */
struct run_key {
    int64_t session_id, run;
};

/* Which ops are one row. */
enum query_merge {
    QUERY_MERGE_SESSIONS, /* of several sessions those that are equal but for their params */
    QUERY_MERGE_LAUNCHES, /* and of any number kernels, copies and fills likewise */
    QUERY_MERGE_EQUAL,    /* of several sessions those that are equal, params as well */
};

/* What to count; {0} with `session_ids` set is one report's default. */
struct ops_question {
    const int64_t *session_ids;
    size_t session_count;
    const struct selection_window *window; /* NULL: all of the time */
    int64_t first_run, last_run;           /* both 0: every finished run that is not a warm-up */
    const struct run_key *chosen_runs;     /* these runs alone, by session and number; of the time
                                              around them alone events are read. NULL: as above */
    size_t chosen_run_count;
    bool warmups;              /* warm-ups count too */
    bool totals;               /* totals over all that is counted, also outside of runs;
                                 else what one run takes on average */
    bool labels;               /* rows for labels too */
    bool runs_without_events;  /* runs count too whose events were dropped, or whose ops were left
                                 out on purpose; else they are left out where there are others,
                                 unless totals are asked for */
    enum query_merge merge;    /* query_ops(), ops_sums_finish() */
    bool allows_rollups;       /* query_ops(): where events were dropped, answer from roll-ups */
    bool wants_durations;      /* query_ops() of one session, MERGE_SESSIONS: fill in durations */
    bool without_percentiles;  /* query_ops(): of events they are not asked for, and are NaN */
    int64_t totals_from;       /* query_ops(): whole sessions that had so many events are answered
                                 from their totals, where these tell all; 0: never */
    struct progress *progress; /* says how far reading is, and ends with it; or NULL */
};

struct lane_row {
    int64_t lane_id, session_id;
    const char *name;   /* "stream 7" where it has none of its own */
    const char *kind;   /* thread, stream, queue */
    const char *device; /* NULL for the host */
    int64_t native_id;  /* or STORE_NULL */
    enum op_side side;
};
struct lane_row_array ARRAY_FIELDS(struct lane_row);

struct loss_row {
    int64_t session_id;
    int64_t lane_id;  /* or STORE_NULL */
    const char *lane; /* NULL: not known */
    const char *reason;
    int64_t lost_count; /* STORE_NULL: not known how many, since start_ns */
    int64_t start_ns, end_ns;
};

/* What all losses come to. */
struct loss_sum {
    uint64_t count;           /* of those that are known */
    uint64_t unknown;         /* sessions that lost an unknown number besides */
    int64_t unknown_since_ns; /* the earliest time of it */
};

/* What retention has dropped of a session. */
struct dropped_row {
    int64_t session_id;
    const char *reason; /* budget, age */
    int64_t event_count, memory_event_count, counter_count;
    int64_t start_ns, end_ns; /* of the first and the last of them */
};

struct unfinished_row {
    int64_t session_id, start_ns;
    const char *op, *type, *lane;
};

/* What the numbers of an answer stand on, and what is missing in them. */
struct basis {
    uint64_t runs, warmups_skipped, unended_skipped;
    uint64_t runs_with_ops,
        runs_without_ops;     /* of those that were asked for: ops of the latter were
                                                 left out on purpose; they count only where all
                                                 do, or there is none of the former */
    uint64_t dropped_skipped; /* runs whose events are not all there any more */
    bool lacks_whole_runs;    /* this is so of all that were asked for: they count all the same,
                                  with what is left of them, and values are totals */
    bool may_nest;            /* with is_of_rollups: no event is left that would tell */
    bool is_of_rollups;       /* calls and times are those of all events, also of dropped ones,
                                  warm-ups and such outside of runs; coverage is not */
    bool is_of_totals;        /* no event was read: coverage is not known */
    double divisor;           /* runs, or 1 for totals */
    bool is_per_run;          /* values are means of one run */
    bool is_flat;             /* of a profile that tells one time per op and side (MegEngine's) */
    double *run_ns;           /* durations of the counted runs that ended, ascending */
    size_t run_ns_count;
    double total_ns[OP_SIDES];   /* self time of all counted ops; NaN: nothing there */
    double wall_ns[OP_SIDES];    /* time that counted runs, or else counted ops, span; NaN: none */
    double covered_ns[OP_SIDES]; /* of it, with an op on some lane of that side */
    bool wall_is_runs;
    bool covered_is_exact;
    uint64_t event_count, outside_count, bad_count;
    uint64_t clipped_count;        /* single spans whose insides took longer than they did */
    int64_t backward_elsewhere_ns; /* with --label: what autograd ran outside of these labels for
                                      sessions that have operators in them */
    ARRAY_OF(struct loss_row) losses;
    ARRAY_OF(struct dropped_row) dropped;       /* in the time that is asked for; the last first */
    ARRAY_OF(struct unfinished_row) unfinished; /* the first of them */
    uint64_t unfinished_count;
};
void basis_deinit(struct basis *basis);

/** Add up the losses of an answer. */
struct loss_sum query_sum_losses(const struct basis *basis);

/** Behind a sentence that there is nothing: what was lost of these sessions, and why. As much as there
 *  is room for, and nothing where it cannot be read. */
void query_add_losses(struct store *store, const int64_t *session_ids, size_t session_count,
                      struct diag *diag);

/** Whether events were dropped in the time that was asked for. */
bool query_has_dropped_events(const struct basis *basis);

/* --- Runs: runs.c --- */

struct counted_run {
    int64_t session_id, run;  /* the number counts from 1 */
    int64_t start_ns, end_ns; /* end_ns STORE_NULL: not finished */
    bool lacks_events;        /* not all of its events are there any more, or some were left out */
    bool without_ops;         /* they were left out, on purpose */
};
struct counted_runs ARRAY_FIELDS(struct counted_run);

/** The runs that a question counts, by session and number: those that begin in its window. The
 *  caller gives *out_runs to array_deinit(), also after a failure. */
int query_runs(struct store *store, const struct ops_question *question,
               struct counted_runs *out_runs, struct diag *diag);

/* --- What a host can do at best: calibration.c --- */

struct calibrated_peaks {
    double flop_per_s, bytes_per_s; /* NaN: not measured */
};
struct calibration {
    int64_t session_id; /* where it was measured; STORE_NULL: nowhere */
    double threads;     /* of `all` */
    struct calibrated_peaks one, all;
    struct calibrated_peaks device; /* a GPU's */
    int64_t device_session_id;
};

/** The last one of a host (NULL: one that has no name), of what load_and_run --calibrate and others
 *  record as counters called "calibration....". */
int query_calibration(struct store *store, const char *host, struct calibration *out_calibration,
                      struct diag *diag);

/* --- Ops: ops.c --- */

/* What one op took on one side, in one run or in total. */
struct op_cost {
    uint64_t calls;                  /* in total; 0: never there */
    double end_ns, kern_ns, exec_ns; /* end - start without nested ops, kern - start, end - kern */
    double whole_ns;                 /* end - start with nested ops */
    double min_ns, max_ns;           /* of single calls */
    double percentile_ns[3]; /* P50, P90, P99 of single calls, at most 1/32 away from the true
                                ones, also of several sessions taken together */
    double computation_flop; /* of the calls that end_ns is for */
    double memory_bytes;
};

struct op_row {
    int64_t op_id, session_id;
    const char *name, *type, *node_id, *device, *source, *origin;
    const char *input_shapes, *input_strides, *input_dtypes; /* JSON lists */
    const char *output_shapes, *output_dtypes;
    const char *params;                     /* JSON object */
    int64_t computation_flop, memory_bytes; /* of one call */
    bool is_label;
    uint16_t sort; /* what op_class_note() found, for op_class.h; 0: it is found each time */
    struct op_cost cost[OP_SIDES];
};

struct op_row_array ARRAY_FIELDS(struct op_row);

/* The durations of the calls of an op, on each side. */
struct op_durations {
    struct store_histogram of[OP_SIDES];
};

struct ops_answer {
    struct op_row_array rows;       /* in the order in which they were defined; also never called */
    struct op_durations *durations; /* beside rows, where the question wants them; else NULL */
    size_t duration_count;
    struct basis basis;
    struct query_texts texts;
};
/** How many events a session had, also such that are not stored any more; roughly, where sessions
 *  were recorded at the same time. */
int query_event_count(struct store *store, int64_t session_id, int64_t *out_count,
                      struct diag *diag);

int query_ops(struct store *store, const struct ops_question *question,
              struct ops_answer *out_answer, struct diag *diag);
void ops_answer_deinit(struct ops_answer *answer);

/** Whether some op of these sessions is of a kind, whatever was recorded of it: 1 or 0, or a
 *  negative errno. No event is read. */
int query_has_op(struct store *store, const int64_t *session_ids, size_t session_count,
                 bool (*is_of_kind)(const struct op_row *op), struct diag *diag);

#endif
