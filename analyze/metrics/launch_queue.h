/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many kernels, copies and fills stood in the queue of each stream: one more at the start of
 * the call that launches it, one less at its start on the device. Pure.
 */
#ifndef OPTRACE_ANALYZE_METRICS_LAUNCH_QUEUE_H
#define OPTRACE_ANALYZE_METRICS_LAUNCH_QUEUE_H

#include "analyze/metrics/step_curve.h"
#include "analyze/query/spans.h"

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

/** Of what is shown and has a launch, a queue for each lane with any. Returns 0 or -ENOMEM; for
 *  launch_queues_deinit() after either. */
int launch_queues_make(const struct spans_answer *spans, struct launch_queue_array *out_queues);
void launch_queues_deinit(struct launch_queue_array *queues);

#endif
