/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The totals of one writer in memory: per op, kind of lane and kind of run what all events of a
 * session come to, with the time that nested ops leave of them. They say of a whole session what
 * its events say, however many these are, also when they are not stored any more.
 *
 * A program tells of a run when it has ended, and so after most of its events: until then a run that
 * is open has totals of its own, which are added to those of its kind later.
 *
 * Rows are written now and then, together; `totalled` in meta is the rowid of the last event that
 * they count. Who loses what is in memory here counts those behind it again. Nothing may delete
 * such an event before store_total_settle_events().
 */
#ifndef OPTRACE_SCHEMA_STORE_TOTAL_H
#define OPTRACE_SCHEMA_STORE_TOTAL_H

#include <stdbool.h>

#include "base/array.h"
#include "schema/store/store.h"
#include "schema/store/cover.h"
#include "schema/store/lane.h"
#include "schema/store/nest.h"
#include "schema/store/stat.h"

/* Rows are written after so long, or so many events, and when a session ends; */
#define TOTAL_WAIT_NS INT64_C(10000000000)
/* but a row takes twice as long as store_delay_rollups() was told, being one for a whole session, and
 * once where all of them would take longer than this. */
#define TOTAL_WAIT_MAX_NS INT64_C(20000000000)
/* Beyond these, sums may not hold. */
#define TOTAL_NS_MAX (INT64_MAX / 2)

enum {
    TOTAL_WAIT_EVENTS = 1 << 18,   /* so many are counted again in a few hundredths of a second, */
    TOTAL_EVENTS_PER_ROW = 64,     /* and these before a row is written */
    TOTAL_REPLAY_EVENTS = 1 << 16, /* that may lie inside of the next ones */
    TOTAL_ENTRIES_KEPT = 1 << 13,  /* with more, those that were not touched lately are forgotten */
    TOTAL_ENTRIES_MAX = 1 << 18,   /* with more, all others, too, after a commit */
    TOTAL_OPEN_RUNS_MAX = 1 << 10, /* in memory; beyond, the oldest is not told apart */
    TOTAL_OPEN_OF_SESSION_MAX = 1 << 7, /* beyond, none of the session's is: it does not tell */
    TOTAL_PARKED_MAX = 1 << 8,          /* open runs of a session that are in the file alone */
    TOTAL_SESSIONS_MAX = 1 << 12,       /* in memory; beyond, all is written and forgotten */
    TOTAL_RUNS_KNOWN = 1 << 12,
    TOTAL_OPS_KNOWN = 1 << 12,
};

/* What events are counted under: a kind of run, or TOTAL_OPEN and the place of an open run. */
enum total_class {
    TOTAL_NONE,        /* outside of runs */
    TOTAL_COUNTED,     /* in runs that ended and are no warm-ups */
    TOTAL_WARMUP,      /* in warm-ups that ended */
    TOTAL_WITHOUT_OPS, /* in runs that ended whose ops were left out, but for these */
    TOTAL_UNKNOWN,     /* in runs, nobody knows of which kind */
    TOTAL_OPEN,
};

struct total_sums {
    int64_t event_count, sum_ns, nested_ns, min_ns, max_ns;
    int64_t kern_count, kern_sum_ns, exec_sum_ns; /* of those whose first kernel is known */
    int64_t sized_count, sized_sum_ns, bytes;     /* of copies whose size is known */
    struct store_histogram histogram;
};

/* Events are counted once, in `fresh`; folding brings that to `all` and to the roll-up of their
 * bucket. It is done before any of these is written, or asked for: until then what is fresh waits
 * as what roll-ups count does, and the file says so (rollup.h). */
struct total_entry {
    int64_t op_id;
    uint32_t run_class;
    uint8_t lane_kind; /* index into store_lane_kinds */
    uint8_t op_kind;   /* enum total_op */
    uint8_t sort;      /* op_sort_bits() of what it was, or is */
    bool is_dirty;
    bool is_unsure;    /* nested_ns is not known */
    bool is_mixed;     /* its `sort` was another before */
    int64_t bucket_ns; /* of `fresh`, as is the next one: what each event needs lies together */
    int64_t first_rowid;
    struct total_sums fresh, all;
    uint32_t session;    /* place in `sessions` */
    uint32_t next;       /* of the same open run, or 1 + the next free place; 0: none */
    uint32_t idle_count; /* times of writing since it was last touched */
    bool is_stored;
    bool is_touched; /* its place, also when it is free, is in `touched` */
};

struct total_session {
    int64_t session_id;
    int64_t run_max, stored_run_max; /* of runs in the file; of open ones in op_total */
    int64_t unfinished_count, first_unfinished, last_unfinished, bad_count;
    uint32_t open_count, parked_count; /* runs */
    bool is_counted;                   /* from its first event on */
    bool has_given_up;                 /* on some run */
    bool is_dirty;
};

struct total_run {
    int64_t session_id, run;
    uint32_t first, next; /* 1 + place of its first entry; of the next run of the same hash */
    uint32_t session;     /* place */
    uint32_t idle_count;  /* times of writing since an event of it came */
    bool may_be_stored;
};

/* A row of op_total that is to go. */
struct total_gone {
    int64_t op_id, run;
    uint8_t lane_kind;
};

struct totals {
    bool is_ready;
    bool has_mark;
    bool wants_write;            /* a session ended */
    uint64_t last_ns;            /* CLOCK_MONOTONIC when they were written */
    int64_t mark;                /* as in the file */
    int64_t last_rowid;          /* counted here */
    int64_t stored_op_max;       /* no op above it has a row */
    int64_t lane_max, before_ns; /* lanes up to it may have spans that end until before_ns */
    uint32_t clearing;           /* from 1; lanes know their session and stack since which one, */
    uint32_t generation;         /* and their run since which change to runs */
    uint32_t last_session;       /* the place that was found last */
    uint32_t dirty_count;
    int64_t bucket_ns;          /* start of the bucket of the last event */
    bool counts_again;          /* what roll-ups have already */
    ARRAY_OF(uint32_t) touched; /* places of entries with something fresh, and of some others */
    uint32_t fresh_count;       /* entries with something fresh */
    int64_t fresh_rowid;        /* no event before it is fresh, if one is */
    ARRAY_OF(struct total_entry) entries;
    uint32_t *slots; /* open addressing: 1 + place of an entry */
    uint32_t slot_mask, slot_count, free_entry, free_count;
    ARRAY_OF(struct total_session) sessions;
    struct total_run *runs;                  /* TOTAL_OPEN_RUNS_MAX */
    uint32_t run_heads[TOTAL_OPEN_RUNS_MAX]; /* 1 + place */
    uint32_t next_run;                       /* the place that is used next */
    struct total_known_run {
        int64_t session_id, run;
        uint32_t run_class;
    } known_runs[TOTAL_RUNS_KNOWN];
    struct total_known_op {
        int64_t op_id, session_id;
        uint8_t op_kind, sort;
    } known_ops[TOTAL_OPS_KNOWN]; /* each open run asks anew for the ops that it has */
    ARRAY_OF(struct total_gone) gone;
    struct nests nests;
    struct covers covers;
    char *text; /* scratch for a histogram */
};

/** Before events are counted in a transaction: count those behind the mark. */
int store_total_prepare(struct store *store, struct diag *diag);

/* A finished event that is to be counted. */
struct total_event {
    const struct store_event *event;
    int64_t rowid;
    uint32_t session, nest, run_class; /* places */
    uint8_t lane_kind;
    uint32_t entry, bin; /* of what it is counted in: store_total_count() finds them */
};

/** Whether looking at an event of a lane changes nothing. If not, events that were looked at before
 *  are to be counted first. */
static inline bool store_total_knows(const struct totals *totals, const struct lane *lane,
                                     const struct store_event *event)
{
    return lane->total_run == event->run && lane->total_generation == totals->generation;
}

/** Whether sums of such times hold; dur_ns is none that is missing. */
static inline bool store_total_has_sane_times(const struct store_event *event)
{
    return event->start_ns >= 0 && event->start_ns < TOTAL_NS_MAX && event->dur_ns < TOTAL_NS_MAX &&
           (event->kern_ns == STORE_NULL ||
            (event->kern_ns >= 0 && event->kern_ns <= event->dur_ns));
}

/** Whether an event of a lane that is known is to be counted, as nearly all are: looking at it would
 *  change nothing else. */
static inline bool store_total_is_plain(const struct totals *totals, const struct lane *lane,
                                        const struct store_event *event)
{
    return totals->sessions.items[lane->total_session].is_counted && event->op_id != STORE_NULL &&
           event->dur_ns != STORE_NULL && store_total_has_sane_times(event);
}

/** An event of a lane that is to be counted. Field by field: a struct that is made first and then
 *  copied is read before its parts are written, which waits for them. */
static inline void store_total_set_event(struct total_event *out_event, const struct lane *lane,
                                         const struct store_event *event, int64_t rowid)
{
    out_event->event = event;
    out_event->rowid = rowid;
    out_event->session = lane->total_session;
    out_event->nest = lane->nest;
    out_event->run_class = lane->total_class;
    out_event->lane_kind = lane->kind;
}

/** Look at an event of a lane. Returns 1 when it is to be counted by store_total_count(), which
 *  brings it to the roll-ups, too; 0 when it is not, or a negative errno. */
int store_total_look(struct store *store, struct lane *lane, const struct store_event *event,
                     int64_t rowid, struct total_event *out_event, struct diag *diag);
int store_total_count(struct store *store, struct total_event *events, size_t count,
                      struct diag *diag);

/** Bring what is fresh to totals and roll-ups: before these are written, or what they know is used. */
int store_total_fold(struct store *store, struct diag *diag);

/** An event that is counted, but may lie inside of such that are not yet. */
int store_total_replay(struct store *store, struct lane *lane, const struct store_event *event,
                       struct diag *diag);

/** After writing: forget, where there are many, those that were not touched for a while. */
void store_total_forget_idle(struct totals *totals, uint32_t idle_max);

/** An op is being put anew. */
void store_total_forget_op(struct totals *totals, int64_t op_id);

/** A run is in the file now. */
int store_total_note_run(struct store *store, const struct store_run *run, struct diag *diag);

/** The class of a run of a session, by its place; TOTAL_OPEN where it has not ended, for all that is
 *  known. */
int store_total_peek_run(struct store *store, uint32_t session, int64_t run, uint32_t *out_class,
                         struct diag *diag);

/** A session has ended. */
void store_total_note_end(struct totals *totals, int64_t session_id);

/** Before a commit: write the rows if it is time. */
int store_total_commit(struct store *store, struct diag *diag);

/** Write all that changed, after store_total_prepare(). */
int store_total_write(struct store *store, struct diag *diag);
bool store_total_is_due(const struct store *store);

/** How long so many rows wait at least, where each is told to for so long. Outside of its file, for
 *  tests. */
int64_t store_total_least_wait_ns(int64_t row_ns, int64_t rows);

/** Whether the file has events that no total in it counts. */
int store_total_is_waiting(struct store *store, bool *out_is_waiting, struct diag *diag);

/** Before events up to this rowid are deleted: write what counts them. */
int store_total_settle_events(struct store *store, int64_t last_rowid, struct diag *diag);

/** Forget all that is not written. */
void store_total_clear(struct totals *totals);
void store_total_deinit(struct totals *totals);

/* total_read.c: what the file says. */

enum total_op {
    TOTAL_OP_NESTING, /* its self time leaves out nested ops */
    TOTAL_OP_LABEL,
    TOTAL_OP_OTHER,   /* phases, marks, counters: not counted */
    TOTAL_OP_MISSING, /* not of this session */
};

extern const char *const store_total_classes[];

/** The class of a run that ended. */
static inline uint32_t store_total_class_of(bool without_ops, bool is_warmup)
{
    return without_ops ? TOTAL_WITHOUT_OPS : is_warmup ? TOTAL_WARMUP : TOTAL_COUNTED;
}

/** What an op is for events of a session, as the file says; *out_sort: op_sort_bits(). */
int store_total_read_op(struct store *store, int64_t op_id, int64_t session_id, uint8_t *out_kind,
                        uint8_t *out_sort, struct diag *diag);

/** The class of a run in the file; TOTAL_OPEN where it has not ended or is not there. */
int store_total_read_run(struct store *store, int64_t session_id, int64_t run, uint32_t *out_class,
                         struct diag *diag);

/** A session that was not met yet. */
int store_total_read_session(struct store *store, int64_t session_id,
                             struct total_session *out_session, struct diag *diag);

/** The row of a new entry, if there is one. `run` 0: it is not of an open one. */
int store_total_read_row(struct store *store, int64_t run, struct total_entry *entry,
                         struct diag *diag);

/** The mark, and what else is to be known before the first event. */
int store_total_read_mark(struct store *store, struct diag *diag);

#endif
