/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the time of a whole session was filled, from its totals (session_cover), without reading
 * events: what these say, exactly, or nothing.
 */
#ifndef OPTRACE_ANALYZE_QUERY_COVER_H
#define OPTRACE_ANALYZE_QUERY_COVER_H

#include "analyze/query/spans.h"

struct query_cover_times {
    double recorded_ns, computing_ns, copying_ns, labels_ns;
};

/* The threads, or a device. */
struct query_cover_side {
    const char *device; /* NULL: the threads */
    uint64_t lane_count, event_count;
    double busy_ns, computing_ns, copying_ns;
};

/* The counted executions of an op on one kind of lane. */
struct query_cover_op {
    uint32_t op; /* place in the ops of the answer */
    enum op_side side;
    bool is_recorded_by_threads; /* on threads and queues */
    uint64_t calls, sized_calls; /* the latter with known bytes */
    double total_ns, sized_ns, bytes;
};

struct query_cover {
    double wall_ns;
    bool has_device_work;
    struct query_cover_times all, lanes; /* in all; each lane for itself, added up */
    double busy_ns;                      /* of threads and queues, in any op or label, added up */
    ARRAY_OF(struct query_cover_side) sides;
    ARRAY_OF(struct query_cover_op) ops;
};

/** Whether totals tell: returns 1, 0 when events must be read, or a negative errno. In *out_answer are
 *  no spans, but all else that query_spans() tells. Both are to be given to query_cover_deinit() and
 *  spans_answer_deinit() after any result. */
int query_cover(struct store *store, const struct ops_question *question,
                struct spans_answer *out_answer, struct query_cover *out_cover, struct diag *diag);
void query_cover_deinit(struct query_cover *cover);

#endif
