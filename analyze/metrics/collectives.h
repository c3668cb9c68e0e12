/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of several processes: how much each moves, how fast, and who came last to it. Pure:
 * no SQL.
 *
 * What a collective moves stands in params of its op, or of an op around the call that launched it
 * (torch's record_param_comms), or follows from the shapes of its inputs.
 */
#ifndef OPTRACE_ANALYZE_METRICS_COLLECTIVES_H
#define OPTRACE_ANALYZE_METRICS_COLLECTIVES_H

#include "analyze/query/spans.h"

enum collective_kind {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_ROOTED,  /* gather, scatter */
    COLLECTIVE_ONE_WAY, /* broadcast, reduce, send, receive */
    COLLECTIVE_BARRIER,
    COLLECTIVE_OTHER,
};

/** From a name in any spelling: "_allgather_base", "ncclKernel_AllGather_RING", "gloo:all_gather".
 * Outside of its file, for tests.
 */
enum collective_kind collective_kind_of(const char *name);

/** What the bytes of a collective are multiplied with, so that its rate compares with that of the
 *  links between `ranks` processes, as in NVIDIA's nccl-tests; NaN where it is not known.
 *  Outside of its file, for tests. */
double collective_bus_factor(enum collective_kind kind, double ranks);

struct collective {
    int64_t session_id, start_ns, dur_ns;
    uint32_t line; /* place in `lines` */
    uint32_t lane; /* of calls that start at once that of the first lane comes first */
};

/* Those of one name and size. */
struct collective_line {
    const char *name;
    bool is_device;
    double bytes;      /* of the message: of all ranks together where it is put together or parted;
                          NaN: not known */
    double ranks;      /* that take part; NaN: not known */
    double bus_factor; /* NaN: not known */
    uint64_t calls;
    double total_ns, min_ns, max_ns;
};

struct collectives {
    ARRAY_OF(struct collective) calls; /* by line, session and time */
    ARRAY_OF(struct collective_line) lines;
};

/* Spans in parts (query_span_parts()): NULL at first, collectives_begin(), collectives_add() with
 * each part, collectives_finish(); collectives_drop() after any of them. These return 0 or -ENOMEM. */
struct collectives_gathered;
int collectives_begin(const struct spans_answer *spans, struct collectives_gathered **out_gathered);

/** The collectives that are shown.
 *
 *  world_sizes  of each session in spans->windows the number of its processes, NaN where it is not
 *               known */
int collectives_add(struct collectives_gathered *gathered, const struct spans_answer *spans,
                    const double *world_sizes);

/** For collectives_deinit() in any case. */
void collectives_finish(struct collectives_gathered *gathered, struct collectives *out_collectives);
void collectives_drop(struct collectives_gathered **gathered);

/** The same of spans that are all there, for tests. Returns 0 or -ENOMEM; for collectives_deinit()
 *  after either. */
int collectives_find(const struct spans_answer *spans, const double *world_sizes,
                     struct collectives *out_collectives);
void collectives_deinit(struct collectives *collectives);

/* One line over several sessions: who comes last waits for nobody, so that its call is the
 * shortest. Calls belong together by their number. */
struct straggler {
    uint32_t line;
    uint64_t session_count, calls; /* that are compared, in each session */
    uint64_t left_over;            /* calls without a counterpart */
    double transfer_ns;            /* mean of the shortest of each call */
    double wait_ns;                /* mean of what the others took longer */
    int64_t last_session;          /* that came last most often */
    uint64_t last_count;           /* how often */
    double held_up_ns;             /* mean then of the longest less the shortest */
};
struct straggler_array ARRAY_FIELDS(struct straggler);

/** Of lines with calls in several sessions. Returns 0 or -ENOMEM; the caller gives *out_stragglers
 *  to array_deinit() after either. */
int collectives_compare(const struct collectives *collectives,
                        struct straggler_array *out_stragglers);

#endif
