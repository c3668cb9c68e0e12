/* SPDX-License-Identifier: Apache-2.0 */
/* Queues from launches and starts. */
#include "analyze/metrics/launch_queue.h"

#include <errno.h>
#include <stdlib.h>

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

void launch_queue_parts_deinit(struct launch_queue_parts *parts)
{
    for (size_t i = 0; i < parts->lane_count && parts->queues; i++)
        step_curve_deinit(&parts->queues[i].curve);
    free(parts->queues);
    free(parts->uses);
    *parts = (struct launch_queue_parts){0};
}

int launch_queues_begin(const struct spans_answer *spans, struct launch_queue_parts *parts)
{
    launch_queue_parts_deinit(parts);
    parts->queues = calloc(spans->lanes.count + 1, sizeof(*parts->queues));
    parts->uses = calloc(spans->lanes.count + 1, sizeof(*parts->uses));
    parts->lane_count = spans->lanes.count;
    return parts->queues && parts->uses ? 0 : -ENOMEM;
}

/* What earlier parts launched may start when threads are in this one: its changes mix with theirs. */
static size_t find_mixed(const struct step_curve *curve, size_t first)
{
    const struct curve_step *steps = curve->steps.items;
    int64_t lowest_ns = INT64_MAX;

    for (size_t i = first; i < curve->steps.count; i++)
        lowest_ns = steps[i].time_ns < lowest_ns ? steps[i].time_ns : lowest_ns;
    while (first > 0 && steps[first - 1].time_ns >= lowest_ns)
        first--;
    return first;
}

int launch_queues_add(struct launch_queue_parts *parts, const struct spans_answer *spans)
{
    int rc = 0;

    lane_use_add(parts->uses, spans);
    for (uint32_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        struct launch_queue *queue = &parts->queues[i];
        size_t first = queue->curve.steps.count;

        if (spans->lanes.items[i].side != OP_DEVICE)
            continue;
        rc = gather(spans, i, queue);
        step_curve_sort_tail(&queue->curve, find_mixed(&queue->curve, first), true);
    }
    return rc;
}

int launch_queues_finish(struct launch_queue_parts *parts, const struct spans_answer *spans,
                         struct launch_queue_array *out_queues)
{
    int rc = 0;

    lane_use_find_walls(parts->uses, spans);
    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        struct launch_queue queue = parts->queues[i];

        if (!queue.launch_count)
            continue;
        queue.lane = &spans->lanes.items[i];
        queue.length = step_curve_summarize(&queue.curve, LAUNCH_QUEUE_FULL);
        queue.wall_ns = parts->uses[i].wall_end_ns - parts->uses[i].wall_start_ns;
        rc = array_push(out_queues, queue);
        if (rc == 0)
            parts->queues[i].curve = (struct step_curve){0}; /* it is the queue's now */
    }
    return rc;
}

int launch_queues_make(const struct spans_answer *spans, struct launch_queue_array *out_queues)
{
    struct launch_queue_parts parts = {0};
    int rc = launch_queues_begin(spans, &parts);

    if (rc == 0)
        rc = launch_queues_add(&parts, spans);
    if (rc == 0)
        rc = launch_queues_finish(&parts, spans, out_queues);
    launch_queue_parts_deinit(&parts);
    return rc;
}

void launch_queues_deinit(struct launch_queue_array *queues)
{
    for (size_t i = 0; i < queues->count; i++)
        step_curve_deinit(&queues->items[i].curve);
    array_deinit(queues);
}
