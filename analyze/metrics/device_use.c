/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep over the starts and ends of what ran on a device, as far as no later part has any. */
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

/* What is known of a lane, or of all lanes of a device, which is kept with the first of them. */
struct device_sums {
    struct device_use use; /* names and wall time are filled in at the end */
    int64_t first_ns, last_ns;
    struct point_array points; /* that later parts may come before */
    uint64_t running[KINDS], sum;
    int64_t swept_ns; /* all before has been passed */
};

struct device_parts {
    struct device_sums *lanes, *devices; /* beside lanes */
    uint32_t *first;                     /* beside lanes: the first lane of its device */
    bool *has_others;                    /* beside lanes: its device has other lanes */
    struct lane_use *uses;
    size_t lane_count;
};

/* Adds the spans of a lane that are shown. */
static int add_lane(const struct spans_answer *spans, uint32_t lane, struct device_sums *sums)
{
    const struct span_range *range = &spans->ranges[lane];
    struct point_array *points = &sums->points;
    struct device_use *use = &sums->use;
    int rc = array_reserve(points, points->count + range->count * 2);

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        uint8_t kind;

        if (!span_is_op(spans, span) || !span->is_shown)
            continue;
        use->span_count++;
        use->sum_ns += span->dur_ns;
        sums->first_ns = span->start_ns < sums->first_ns ? span->start_ns : sums->first_ns;
        sums->last_ns = span_end_ns(span) > sums->last_ns ? span_end_ns(span) : sums->last_ns;
        if (!span->dur_ns)
            continue; /* it takes no time, nor is it at once with anything */
        kind = kind_of(spans, span);
        points->items[points->count++] = (struct point){span->start_ns, 1, kind};
        points->items[points->count++] = (struct point){span_end_ns(span), -1, kind};
    }
    return rc;
}

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

/* On a stream one follows the other, mostly. */
static void sort_points(struct point_array *points)
{
    for (size_t i = 1; i < points->count; i++) {
        if (compare_points(&points->items[i - 1], &points->items[i]) > 0) {
            qsort(points->items, points->count, sizeof(*points->items), compare_points);
            return;
        }
    }
}

/* What is from a time on waits for later parts. */
static void sweep(struct device_sums *sums, int64_t settled_ns)
{
    struct point_array *points = &sums->points;
    struct device_use *use = &sums->use;
    size_t passed = 0;

    sort_points(points);
    for (; passed < points->count && points->items[passed].time_ns < settled_ns; passed++) {
        const struct point *point = &points->items[passed];

        if (sums->sum)
            pass(use, sums->running, point->time_ns - sums->swept_ns);
        sums->running[point->kind] += (uint64_t)(int64_t)point->step;
        sums->sum += (uint64_t)(int64_t)point->step;
        if (sums->sum > use->most_at_once)
            use->most_at_once = sums->sum;
        sums->swept_ns = point->time_ns;
    }
    points->count -= passed;
    if (points->count)
        memmove(points->items, points->items + passed, points->count * sizeof(*points->items));
}

static bool is_same_device(const struct spans_answer *spans, uint32_t a, uint32_t b)
{
    const struct lane_row *left = &spans->lanes.items[a], *right = &spans->lanes.items[b];

    return left->session_id == right->session_id && left->side == right->side &&
           strcmp(device_of(left), device_of(right)) == 0;
}

/* --- Parts. --- */

void device_parts_destroy(struct device_parts **parts)
{
    if (!*parts)
        return;
    for (size_t i = 0; i < (*parts)->lane_count; i++) {
        if ((*parts)->lanes)
            array_deinit(&(*parts)->lanes[i].points);
        if ((*parts)->devices)
            array_deinit(&(*parts)->devices[i].points);
    }
    free((*parts)->lanes);
    free((*parts)->devices);
    free((*parts)->first);
    free((*parts)->has_others);
    free((*parts)->uses);
    free(*parts);
    *parts = NULL;
}

static void find_devices(const struct spans_answer *spans, struct device_parts *parts)
{
    for (uint32_t i = 0; i < spans->lanes.count; i++) {
        uint32_t first = 0;

        while (first < i && !(parts->first[first] == first && is_same_device(spans, first, i)))
            first++;
        parts->first[i] = first;
        parts->has_others[first] |= first < i;
        parts->lanes[i].first_ns = parts->devices[i].first_ns = INT64_MAX;
        parts->lanes[i].last_ns = parts->devices[i].last_ns = INT64_MIN;
    }
}

int device_parts_begin(const struct spans_answer *spans, struct device_parts **out_parts)
{
    size_t count = spans->lanes.count + 1;
    struct device_parts *parts;

    device_parts_destroy(out_parts);
    parts = *out_parts = calloc(1, sizeof(*parts));
    if (!parts)
        return -ENOMEM;
    parts->lane_count = spans->lanes.count;
    parts->lanes = calloc(count, sizeof(*parts->lanes));
    parts->devices = calloc(count, sizeof(*parts->devices));
    parts->first = calloc(count, sizeof(*parts->first));
    parts->has_others = calloc(count, sizeof(*parts->has_others));
    parts->uses = calloc(count, sizeof(*parts->uses));
    if (!parts->lanes || !parts->devices || !parts->first || !parts->has_others || !parts->uses)
        return -ENOMEM;
    find_devices(spans, parts);
    return 0;
}

static int measure(const struct spans_answer *spans, const uint32_t *lanes, size_t lane_count,
                   struct device_sums *sums)
{
    int rc = 0;

    for (size_t i = 0; i < lane_count && rc == 0; i++)
        rc = add_lane(spans, lanes[i], sums);
    if (rc == 0)
        sweep(sums, span_settled_ns(spans));
    return rc;
}

int device_parts_add(struct device_parts *parts, const struct spans_answer *spans)
{
    uint32_t count = (uint32_t)spans->lanes.count;
    uint32_t *lanes = malloc((count + 1) * sizeof(*lanes));
    int rc = lanes ? 0 : -ENOMEM;

    lane_use_add(parts->uses, spans);
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        size_t found = 0;

        if (spans->lanes.items[i].side != OP_DEVICE)
            continue;
        rc = measure(spans, &i, 1, &parts->lanes[i]);
        for (uint32_t k = i; k < count && parts->has_others[i]; k++) {
            if (parts->first[k] == i)
                lanes[found++] = k;
        }
        if (rc == 0 && found)
            rc = measure(spans, lanes, found, &parts->devices[i]);
    }
    free(lanes);
    return rc;
}

/* What was summed up of some lanes, the first of which with anything is `lane`. */
static int put_use(const struct device_parts *parts, const struct spans_answer *spans,
                   const struct device_sums *sums, uint32_t lane, bool is_alone,
                   struct device_use_array *out_uses)
{
    const struct lane_row *row = &spans->lanes.items[lane];
    struct device_use use = sums->use;

    use.device = device_of(row);
    use.lane = is_alone ? row : NULL;
    use.session_id = row->session_id;
    use.wall_ns = parts->uses[lane].wall_end_ns - parts->uses[lane].wall_start_ns;
    if (sums->last_ns > sums->first_ns)
        use.active_ns = sums->last_ns - sums->first_ns;
    return array_push(out_uses, use);
}

/* All lanes of the device whose first lane that is, then each. */
static int finish_device(const struct device_parts *parts, const struct spans_answer *spans,
                         uint32_t first, struct device_use_array *out_uses)
{
    uint32_t count = (uint32_t)spans->lanes.count, found = 0, lane = count;
    int rc = 0;

    for (uint32_t i = count; i-- > first;) {
        if (parts->first[i] == first && parts->lanes[i].use.span_count) {
            lane = i;
            found++;
        }
    }
    if (found > 1)
        rc = put_use(parts, spans, &parts->devices[first], lane, false, out_uses);
    for (; lane < count && rc == 0; lane++) {
        if (parts->first[lane] == first && parts->lanes[lane].use.span_count)
            rc = put_use(parts, spans, &parts->lanes[lane], lane, true, out_uses);
    }
    return rc;
}

int device_parts_finish(struct device_parts *parts, const struct spans_answer *spans,
                        struct device_use_array *out_uses)
{
    int rc = 0;

    lane_use_find_walls(parts->uses, spans);
    for (uint32_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        if (parts->first[i] == i && spans->lanes.items[i].side == OP_DEVICE)
            rc = finish_device(parts, spans, i, out_uses);
    }
    return rc;
}

int device_use_make(const struct spans_answer *spans, struct device_use_array *out_uses)
{
    struct device_parts *parts = NULL;
    int rc = device_parts_begin(spans, &parts);

    if (rc == 0)
        rc = device_parts_add(parts, spans);
    if (rc == 0)
        rc = device_parts_finish(parts, spans, out_uses);
    device_parts_destroy(&parts);
    return rc;
}
