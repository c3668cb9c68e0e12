/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many kernels, copies and fills stood in the queue of each stream: one more at the start of
 * the call that launches it, one less at its start on the device. Pure.
 */
#ifndef OPTRACE_ANALYZE_METRICS_LAUNCH_QUEUE_H
#define OPTRACE_ANALYZE_METRICS_LAUNCH_QUEUE_H

#include "analyze/metrics/step_curve.h"
#include "analyze/query/lane_use.h"

/* So many can wait on a stream of CUDA; a call that launches one more waits for room. */
enum { LAUNCH_QUEUE_FULL = 1024 };

struct launch_queue {
    const struct lane_row *lane;
    uint64_t launch_count;
    struct step_curve curve;
    struct curve_summary length; /* at_least_ns: it was full */
    int64_t wall_ns;             /* from the first operator of the session to the end of the last */
};
struct launch_queue_array ARRAY_FIELDS(struct launch_queue);

/* Spans in parts (query_span_parts()): {0}, launch_queues_begin(), launch_queues_add() with each
 * part, launch_queues_finish(); launch_queue_parts_deinit() after any of them. These return 0 or
 * -ENOMEM. */
struct launch_queue_parts {
    struct launch_queue *queues; /* beside lanes */
    size_t lane_count;
    struct lane_use *uses;
};
int launch_queues_begin(const struct spans_answer *spans, struct launch_queue_parts *parts);
int launch_queues_add(struct launch_queue_parts *parts, const struct spans_answer *spans);
void launch_queue_parts_deinit(struct launch_queue_parts *parts);

/** Of what is shown and has a launch, a queue for each lane with any; for launch_queues_deinit() in
 *  any case. */
int launch_queues_finish(struct launch_queue_parts *parts, const struct spans_answer *spans,
                         struct launch_queue_array *out_queues);
void launch_queues_deinit(struct launch_queue_array *queues);

/** The same of spans that are all there. For tests. */
int launch_queues_make(const struct spans_answer *spans, struct launch_queue_array *out_queues);

#endif
