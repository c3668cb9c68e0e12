/* SPDX-License-Identifier: Apache-2.0 */
/* Queues from launches and starts. */
#include "analyze/metrics/launch_queue.h"

#include <stdlib.h>

#include "analyze/query/lane_use.h"

static int gather(const struct spans_answer *spans, uint32_t lane, struct launch_queue *queue)
{
    const struct span_range *range = &spans->ranges[lane];
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!span->is_shown || !span_is_op(spans, span) || span->launch == SPAN_NONE)
            continue;
        queue->launch_count++;
        rc = step_curve_add(&queue->curve, spans->spans.items[span->launch].start_ns, 1);
        if (rc == 0)
            rc = step_curve_add(&queue->curve, span->start_ns, -1);
    }
    return rc;
}

int launch_queues_make(const struct spans_answer *spans, struct launch_queue_array *out_queues)
{
    struct lane_use *uses = NULL;
    int rc = lane_use_make(spans, &uses);

    for (uint32_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        struct launch_queue queue = {.lane = &spans->lanes.items[i]};

        if (queue.lane->side != OP_DEVICE)
            continue;
        rc = gather(spans, i, &queue);
        step_curve_sort(&queue.curve, true);
        queue.length = step_curve_summarize(&queue.curve, LAUNCH_QUEUE_FULL);
        queue.wall_ns = uses[i].wall_end_ns - uses[i].wall_start_ns;
        if (rc == 0 && queue.launch_count)
            rc = array_push(out_queues, queue);
        else
            step_curve_deinit(&queue.curve);
        if (rc < 0)
            step_curve_deinit(&queue.curve);
    }
    free(uses);
    return rc;
}

void launch_queues_deinit(struct launch_queue_array *queues)
{
    for (size_t i = 0; i < queues->count; i++)
        step_curve_deinit(&queues->items[i].curve);
    array_deinit(queues);
}
