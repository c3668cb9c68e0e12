/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over the starts and ends of what ran on a device. */
#include "analyze/metrics/device_use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"

enum { KERNELS, COPIES, COLLECTIVES, KINDS };

/* A start or an end. */
struct point {
    int64_t time_ns;
    int8_t step; /* 1: start, -1: end */
    uint8_t kind;
};
struct point_array ARRAY_FIELDS(struct point);

static const char *device_of(const struct lane_row *lane)
{
    return lane->device ? lane->device : lane->kind;
}

static int compare_points(const void *a, const void *b)
{
    const struct point *left = a, *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return left->step - right->step; /* what ends when another starts does not run beside it */
}

static uint8_t kind_of(const struct spans_answer *spans, const struct span *span)
{
    enum device_work work = span_work(spans, span);

    if (work == WORK_COMMUNICATION)
        return COLLECTIVES;
    return work == WORK_COMPUTE ? KERNELS : COPIES;
}

static int add_lane(const struct spans_answer *spans, uint32_t lane, struct device_use *use,
                    struct point_array *points)
{
    const struct span_range *range = &spans->ranges[lane];
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        uint8_t kind = kind_of(spans, span);

        if (!span_is_op(spans, span) || !span->is_shown)
            continue;
        use->span_count++;
        use->sum_ns += span->dur_ns;
        if (!span->dur_ns)
            continue; /* it takes no time, nor is it at once with anything */
        rc = array_push(points, ((struct point){span->start_ns, 1, kind}));
        if (rc == 0)
            rc = array_push(points, ((struct point){span_end_ns(span), -1, kind}));
    }
    return rc;
}

/* Some time in which these run. */
static void pass(struct device_use *use, const uint64_t *running, int64_t ns)
{
    bool computes = running[KERNELS], copies = running[COPIES], talks = running[COLLECTIVES];

    use->busy_ns += computes || copies || talks ? ns : 0;
    use->compute_ns += computes ? ns : 0;
    use->copy_ns += copies ? ns : 0;
    use->copy_hidden_ns += copies && computes ? ns : 0;
    use->comm_ns += talks ? ns : 0;
    use->comm_hidden_ns += talks && computes ? ns : 0;
    use->transfer_ns += copies || talks ? ns : 0;
    use->overlap_ns += (copies || talks) && computes ? ns : 0;
}

static void sweep(struct point_array *points, struct device_use *use)
{
    uint64_t running[KINDS] = {0}, sum = 0;

    if (!points->count)
        return;
    qsort(points->items, points->count, sizeof(*points->items), compare_points);
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->items[i];

        pass(use, running, i ? point->time_ns - points->items[i - 1].time_ns : 0);
        running[point->kind] += (uint64_t)(int64_t)point->step;
        sum += (uint64_t)(int64_t)point->step;
        if (sum > use->most_at_once)
            use->most_at_once = sum;
    }
    use->active_ns = points->items[points->count - 1].time_ns - points->items[0].time_ns;
}

/* Measures some lanes together. */
static int add_use(const struct spans_answer *spans, const uint32_t *lanes, size_t lane_count,
                   const struct lane_use *wall, struct device_use_array *out_uses)
{
    const struct lane_row *first = &spans->lanes.items[lanes[0]];
    struct device_use use = {
        .device = device_of(first),
        .lane = lane_count == 1 ? first : NULL,
        .session_id = first->session_id,
        .wall_ns = wall->wall_end_ns - wall->wall_start_ns,
    };
    struct point_array points = {0};
    int rc = 0;

    for (size_t i = 0; i < lane_count && rc == 0; i++)
        rc = add_lane(spans, lanes[i], &use, &points);
    if (rc == 0 && use.span_count) {
        sweep(&points, &use);
        rc = array_push(out_uses, use);
    }
    array_deinit(&points);
    return rc;
}

static bool is_same_device(const struct spans_answer *spans, uint32_t a, uint32_t b)
{
    const struct lane_row *left = &spans->lanes.items[a], *right = &spans->lanes.items[b];

    return left->session_id == right->session_id && strcmp(device_of(left), device_of(right)) == 0;
}

static bool is_shown(const struct spans_answer *spans, uint32_t lane)
{
    const struct span_range *range = &spans->ranges[lane];

    for (size_t i = range->first; i < range->first + range->count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (span_is_op(spans, span) && span->is_shown)
            return spans->lanes.items[lane].side == OP_DEVICE;
    }
    return false;
}

int device_use_make(const struct spans_answer *spans, struct device_use_array *out_uses)
{
    size_t count = spans->lanes.count;
    uint32_t *lanes = malloc((count + 1) * sizeof(*lanes));
    bool *is_done = calloc(count + 1, sizeof(*is_done));
    struct lane_use *uses = NULL;
    int rc = lanes && is_done ? lane_use_make(spans, &uses) : -ENOMEM;

    for (uint32_t i = 0; i < count && rc == 0; i++) {
        size_t found = 0;

        for (uint32_t k = i; k < count && !is_done[i]; k++) {
            if (!is_done[k] && is_same_device(spans, i, k) && is_shown(spans, k))
                lanes[found++] = k;
        }
        if (found > 1)
            rc = add_use(spans, lanes, found, &uses[lanes[0]], out_uses);
        for (size_t k = 0; k < found && rc == 0; k++) {
            is_done[lanes[k]] = true;
            rc = add_use(spans, &lanes[k], 1, &uses[lanes[k]], out_uses);
        }
    }
    free(lanes);
    free(is_done);
    free(uses);
    return rc;
}
