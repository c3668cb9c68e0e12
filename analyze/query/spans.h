/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans in memory, one by one: who lies inside of whom, whose self time it is, which launch a
 * device span comes from. For reports and exports that sums per op (query_ops) cannot answer. A
 * span takes 88 bytes here, so that ten million take about 900 MB: --time and --runs narrow a
 * question, and query_span_parts() hands over so many at a time that they fit caches.
 *
 * Spans stand lane by lane, each lane's by start, outer before inner: a span is followed by all
 * that lies inside of it. Nesting is by time on the same lane, never by name. On a device lane
 * labels hold other spans, ops hold their phases, and nothing else holds any. A span that overlaps
 * an earlier one without lying inside it begins a branch of its own under what encloses both.
 */
#ifndef OPTRACE_ANALYZE_QUERY_SPANS_H
#define OPTRACE_ANALYZE_QUERY_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyze/query/query.h"

#define SPAN_NONE UINT32_MAX
#define SPANS_MAX ((size_t)100000000)

enum span_kind {
    SPAN_OP,    /* also copies, kernels, calls of a runtime: everything that is nothing below */
    SPAN_LABEL, /* a scope named by a person */
    SPAN_PHASE, /* a part of an op */
    SPAN_MARK,  /* a point in time */
};

/* A label, or an op of a thread, that lasts for longer than a part, or is open where one ends: each part
 * that it reaches into has it, so that what lies in it nests in it. Its self_ns and span_own_ns() are its duration in the first of
 * them and 0 in the others, without what lies in it in that part; over all parts these add up to what
 * it is. */
enum span_frame {
    SPAN_NO_FRAME,
    SPAN_FRAME_FIRST,
    SPAN_FRAME_AGAIN, /* it was in an earlier part: nothing of it counts but that self_ns */
};

struct span {
    int64_t start_ns; /* ns since 1970 */
    int64_t dur_ns;   /* >= 0 */
    int64_t kern_ns;  /* first kernel - start, or STORE_NULL */
    int64_t self_ns;  /* dur_ns without the spans directly inside, phases and marks aside; >= 0 */
    int64_t correlation; /* or STORE_NULL */
    int64_t bytes;       /* of a copy, or STORE_NULL */
    uint32_t op, lane;   /* places in `ops` and `lanes` */
    uint32_t run;        /* place in `runs`, or SPAN_NONE */
    uint32_t parent;     /* place of the span it lies directly in, or SPAN_NONE */
    uint32_t launch;     /* of a device span: the host span that launched it; of a launching host
                            span: the first device span it launched; else SPAN_NONE */
    uint32_t next;       /* of a device span: the next one of the same launch, or SPAN_NONE */
    uint32_t depth : 28; /* 0: inside of nothing */
    bool is_leaf : 1;    /* of one with `frame`: no op or phase lies in it in any part */
    uint32_t frame : 2;  /* enum span_frame */
    bool is_shown : 1;   /* true, unless span_filter() found that nobody asked for it */
    uint32_t order;      /* in the order of the store: an inner span before its outer one */
};

struct run_row {
    int64_t session_id, run;  /* the number counts from 1 */
    int64_t start_ns, end_ns; /* end_ns STORE_NULL: not finished */
    uint32_t lane;            /* place in `lanes`, or SPAN_NONE */
    bool warmup;
    bool counts;       /* it is one of those asked for, whatever time is */
    bool selected;     /* and it begins in that time: its spans are there */
    bool lacks_events; /* only what is left of them */
    bool without_ops;  /* they were left out on purpose */
};

struct span_time {
    int64_t start_ns, end_ns;
};

/* The spans of one lane: spans[first .. first + count). */
struct span_range {
    size_t first, count;
};

/* The part of a session that was asked for: what starts in [from, until). */
struct session_window {
    int64_t session_id, from_ns, until_ns;
};

struct spans_answer {
    ARRAY_OF(struct span) spans;
    ARRAY_OF(struct span) unfinished; /* of chosen runs; dur_ns, self_ns STORE_NULL */
    ARRAY_OF(struct span)
    frames; /* of parts: those with `frame` whose rows have come, in the order of the store; is_shown
               and what lies where is told by the parts alone */
    struct op_row_array ops; /* costs are not filled in */
    uint8_t *op_kinds;       /* enum span_kind, beside ops */
    struct lane_row_array lanes;
    struct span_range *ranges;     /* beside lanes */
    int64_t *own_ns;               /* beside spans, where there are labels or phases, and in flat
                                      sessions: see span_own_ns(); else NULL */
    ARRAY_OF(struct run_row) runs; /* all of the sessions, by session and number */
    ARRAY_OF(struct session_window) windows;
    int64_t start_ns, end_ns; /* of the first and the last span; 0 where there is none */
    /* What of a span with `frame` is of this part; parts follow each other, from INT64_MIN to
     * INT64_MAX. */
    int64_t from_ns, until_ns;
    /* Of parts: what is in later ones begins then or later; 0: there are none. */
    int64_t settled_ns;
    uint64_t clipped_count; /* spans whose insides took longer than they did: self_ns is 0 */
    /* Of parts: so many calls of earlier ones stand behind the spans in spans.items, no others of which are
     * beside them: `launch` of a wait of a stream (spans_op_waits()) may be the place of one, which recorded
     * the event. Of these self_ns is span_own_ns(), and launch SPAN_NONE where nothing of its part, nor a
     * wait before this one, names it. */
    size_t earlier_count;
    struct basis basis;
    struct query_texts texts;
};

/**
 * All finished spans that the question selects; `question->labels` makes no difference: every kind
 * is there. Errors as in query.h, and -EFBIG when there are more than SPANS_MAX.
 */
int query_spans(struct store *store, const struct ops_question *question,
                struct spans_answer *out_answer, struct diag *diag);
void spans_answer_deinit(struct spans_answer *answer);

/* What a consumer of parts says when it has to see all spans at once. */
enum { SPAN_PARTS_WHOLE = 1 };

enum span_frames_taken {
    SPAN_FRAMES_NONE,
    SPAN_FRAMES_LABELS,
    SPAN_FRAMES_OPS, /* and ops of threads that do work themselves: no copies, waits, collectives */
    SPAN_FRAMES_LEAVES, /* the same where one has begun behind a pause, and nothing has ended in it, when
                           the first of its parts ends */
};

/* Where a recording in which something always runs may be cut into parts, too. */
enum span_cuts {
    SPAN_CUT_STRAIGHT, /* nowhere: a part begins when all before has ended */
    SPAN_CUT_LAUNCHES, /* each lane at a time of its own: what is launched until some time is in a part, and
                          ends on a device when threads are in the next one. The spans of each lane
                          come in the order of time, but for waits of streams (spans_op_waits()), which
                          begin where they were asked for and come with what is launched then */
    SPAN_CUT_WAITS, /* also between a call that records an event and one that waits for it:
                          spans_answer.earlier_count */
};

/* Where spans go part by part. */
struct span_parts {
    void *user;

    /** Forget all parts: called before the first one, and where all begins anew. `spans` has ops,
     *  lanes, runs and windows already. Returns 0 or a negative errno. */
    int (*begin)(void *user, const struct spans_answer *spans);

    /** A part: whole trees of spans with what they launched, as query_spans() has them, with places
     *  of their own. What is in the next part begins when all of this one has ended, or at that
     *  time. Returns 0, SPAN_PARTS_WHOLE, or a negative errno. Here is no place for SQL. */
    int (*take)(void *user, struct spans_answer *spans);

    bool is_whole;                 /* all in one part, whatever there is */
    size_t span_count;             /* about so many in a part; 0: as many as are handled best */
    enum span_frames_taken frames; /* which spans may be in several parts, by enum span_frame: else
                                      such around all are reason for one part */
    enum span_cuts cuts;
};

/**
 * The spans of query_spans() in parts, in the order of time, so that memory is bounded: cut where
 * nothing runs on any lane. Where there is no such time, parts are as large as need be. In
 * *out_answer are no spans in the end, but all else that query_spans() tells.
 */
int query_span_parts(struct store *store, const struct ops_question *question,
                     const struct span_parts *parts, struct spans_answer *out_answer,
                     struct diag *diag);

/** The time of a span that is of this part: of one that is in several what no other part has. */
static inline struct span_time span_time_of_part(const struct spans_answer *part,
                                                 const struct span *span)
{
    struct span_time time = {span->start_ns, span->start_ns + span->dur_ns};

    if (span->frame && time.start_ns < part->from_ns)
        time.start_ns = part->from_ns;
    if (span->frame && time.end_ns > part->until_ns)
        time.end_ns = part->until_ns;
    return time;
}

/** Later parts have nothing that begins before. */
static inline int64_t span_settled_ns(const struct spans_answer *part)
{
    return part->settled_ns ? part->settled_ns : INT64_MAX;
}

/** Whether it is on that lane at that very time: so parts know a frame again. */
static inline bool span_is_at(const struct span *span, uint32_t lane, int64_t start_ns,
                              int64_t dur_ns)
{
    return span->lane == lane && span->start_ns == start_ns && span->dur_ns == dur_ns;
}

/** Which of two on one lane stands first: < 0, 0 or > 0. */
static inline int span_compare_places(const struct span *a, const struct span *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->dur_ns != b->dur_ns)
        return a->dur_ns > b->dur_ns ? -1 : 1;
    return (a->order < b->order) - (a->order > b->order);
}

/** Whether a span is on a device or a queue. */
static inline bool span_is_device(const struct spans_answer *answer, const struct span *span)
{
    return answer->lanes.items[span->lane].side == OP_DEVICE;
}

/** Place of a span. */
static inline uint32_t span_place(const struct spans_answer *answer, const struct span *span)
{
    return (uint32_t)(span - answer->spans.items);
}

/** Whether a span is a phase of an op on a device or a queue; other phases there are waits. */
static inline bool span_is_device_phase(const struct spans_answer *answer, const struct span *span)
{
    return answer->op_kinds[span->op] == SPAN_PHASE && span_is_device(answer, span) &&
           span->parent != SPAN_NONE &&
           answer->op_kinds[answer->spans.items[span->parent].op] == SPAN_OP;
}

/** Whether spans of an op are waits for streams, which stand on a device's lane where the host asked for
 *  them. */
static inline bool spans_op_waits(const struct spans_answer *answer, size_t op)
{
    const char *params = answer->ops.items[op].params;

    return answer->op_kinds[op] == SPAN_PHASE && params && strstr(params, "\"wait_on_");
}

/** Whether spans of an op are calls that record events. */
static inline bool spans_op_records(const struct spans_answer *answer, size_t op)
{
    return answer->op_kinds[op] == SPAN_OP &&
           strstr(answer->ops.items[op].name, "EventRecord") != NULL;
}

/** The time of an op without the ops inside of it: the self time of every report. Labels and phases are no
 *  ops, and make no difference: their time is the op's that they lie in. In a flat session 0 where
 *  another lane took longer for that op. Of anything else self_ns. */
static inline int64_t span_own_ns(const struct spans_answer *answer, const struct span *span)
{
    return answer->own_ns ? answer->own_ns[span_place(answer, span)] : span->self_ns;
}

/** The first place behind all that lies inside of a span. */
uint32_t span_subtree_end(const struct spans_answer *answer, uint32_t place);

/* --- Memory, counters: memory.c --- */

struct memory_row {
    uint32_t lane, op; /* places as in the spans' answer; op SPAN_NONE: not known */
    int64_t run;       /* number, or STORE_NULL */
    int64_t time_ns;
    int64_t address; /* or STORE_NULL */
    int64_t bytes;   /* > 0 taken, < 0 given back; STORE_NULL: given back, size not known */
};
struct memory_row_array {
    struct memory_row *items;
    size_t count, capacity;
    uint64_t unbelieved_count; /* taken, of a size that no machine has: not among them */
};

struct counter_row {
    uint32_t lane, op;
    int64_t run; /* number, or STORE_NULL */
    int64_t time_ns;
    double value;
};
struct counter_row_array ARRAY_FIELDS(struct counter_row);

/* The chunks of memory that a session planned, and what lies in them. */
struct memory_plan {
    int64_t session_id;
    uint64_t chunk_count;
    int64_t chunk_bytes;
    uint64_t variable_count; /* whose place and size are known */
    int64_t used_bytes;      /* of the chunks, where some variable lies at some time */
};
struct memory_plan_array ARRAY_FIELDS(struct memory_plan);

/** The plans of the question's sessions that have one. The caller gives *out_plans to
 *  array_deinit(), also after a failure. */
int query_memory_plans(struct store *store, const struct ops_question *question,
                       struct memory_plan_array *out_plans, struct diag *diag);

/** Rows of the sessions and windows of `spans`, by time; runs do not narrow them, because what is
 *  alive in a run was taken before it too. Places are those of `spans`. The caller gives *out_rows
 *  to array_deinit(), also after a failure. */
int query_memory(struct store *store, const struct spans_answer *spans,
                 struct memory_row_array *out_rows, struct diag *diag);
int query_counters(struct store *store, const struct spans_answer *spans,
                   struct counter_row_array *out_rows, struct diag *diag);

/** The first counter "Total Allocated" of each lane: what its allocator held in all after that
 *  event of it. Else the same. */
int query_memory_totals(struct store *store, const struct spans_answer *spans,
                        struct counter_row_array *out_rows, struct diag *diag);

/** The same of counters called "perf....", also outside of the windows: a span that begins in one
 *  may end behind it. */
int query_readings(struct store *store, const struct spans_answer *spans,
                   struct counter_row_array *out_rows, struct diag *diag);

#endif
