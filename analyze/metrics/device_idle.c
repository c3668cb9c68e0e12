/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which devices waited for the host. */
#include "analyze/metrics/device_idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/interval_list.h"
#include "analyze/metrics/idle.h"

struct lane_state {
    uint32_t device; /* the first lane of the same device; SPAN_NONE: it is of none */
    bool has_op, is_shown;
    int64_t last_end_ns;            /* of its ops; later gaps begin there */
    struct interval_array for_host; /* gaps that are not summed up yet */
};

/* Beside lanes, used where one is the first of its device. */
struct device_state {
    struct interval_array busy; /* not summed up yet */
    struct interval_array wall; /* of its session, where that is runs */
    size_t wall_first;          /* those before have been passed */
    bool has_wall;
    double idle_ns;
};

struct device_idle {
    struct lane_state *lanes;
    struct device_state *devices;
    size_t lane_count;
    struct idle_gap_array gaps; /* of a part */
    struct idle_parts *parts;   /* NULL: all is one part */
};

static const char *name_of(const struct lane_row *lane)
{
    return lane->device ? lane->device : lane->kind;
}

static uint32_t find_device(const struct spans_answer *spans, uint32_t lane)
{
    const struct lane_row *row = &spans->lanes.items[lane];

    if (row->side != OP_DEVICE)
        return SPAN_NONE;
    for (uint32_t i = 0; i < lane; i++) {
        const struct lane_row *other = &spans->lanes.items[i];

        if (other->side == OP_DEVICE && other->session_id == row->session_id &&
            strcmp(name_of(other), name_of(row)) == 0)
            return i;
    }
    return lane;
}

static void forget(struct device_idle *idle)
{
    for (size_t i = 0; i < idle->lane_count; i++) {
        array_deinit(&idle->lanes[i].for_host);
        array_deinit(&idle->devices[i].busy);
        array_deinit(&idle->devices[i].wall);
    }
    array_deinit(&idle->gaps);
    free(idle->lanes);
    free(idle->devices);
    *idle = (struct device_idle){.parts = idle->parts};
}

int device_idle_begin(const struct spans_answer *spans, bool is_whole,
                      struct device_idle **out_idle)
{
    size_t count = spans->lanes.count;
    struct device_idle *idle = *out_idle ? *out_idle : calloc(1, sizeof(*idle));

    *out_idle = idle;
    if (!idle)
        return -ENOMEM;
    forget(idle);
    idle->lanes = calloc(count + 1, sizeof(*idle->lanes));
    idle->devices = calloc(count + 1, sizeof(*idle->devices));
    if (!idle->lanes || !idle->devices)
        return -ENOMEM;
    idle->lane_count = count;
    for (uint32_t i = 0; i < count; i++)
        idle->lanes[i].device = find_device(spans, i);
    return is_whole ? 0 : idle_begin(spans, &idle->parts);
}

static bool waited_for_host(const struct idle_gap *gap)
{
    return gap->cause == IDLE_HOST_WAITED || gap->cause == IDLE_HOST_BUSY ||
           gap->cause == IDLE_NOT_LAUNCHED;
}

static int add_gaps(struct device_idle *idle, const struct spans_answer *spans)
{
    int rc;

    idle->gaps.count = 0;
    rc = idle->parts ? idle_add(idle->parts, spans, &idle->gaps) : idle_find(spans, &idle->gaps);
    for (size_t i = 0; i < idle->gaps.count && rc == 0; i++) {
        const struct idle_gap *gap = &idle->gaps.items[i];
        struct lane_state *lane = &idle->lanes[gap->lane];

        if (lane->device != SPAN_NONE && waited_for_host(gap))
            rc = array_push(&lane->for_host, ((struct interval){gap->start_ns, gap->end_ns}));
    }
    return rc;
}

static int add_work(struct device_idle *idle, const struct spans_answer *spans)
{
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        struct lane_state *lane = &idle->lanes[span->lane];
        int64_t end_ns = span_end_ns(span);

        if (lane->device == SPAN_NONE || !span_is_op(spans, span))
            continue;
        if (!lane->has_op || end_ns > lane->last_end_ns)
            lane->last_end_ns = end_ns;
        lane->has_op = true;
        lane->is_shown |= span->is_shown;
        rc = array_push(&idle->devices[lane->device].busy,
                        ((struct interval){span->start_ns, end_ns}));
    }
    return rc;
}

/* --- Summing up. --- */

/* Moves what is before a time to the end of another list. */
static int cut(struct interval_array *list, int64_t until_ns, struct interval_array *into)
{
    size_t kept = 0;

    if (array_reserve(into, into->count + list->count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        struct interval rest = list->items[i], before = rest;

        if (before.end_ns > until_ns)
            before.end_ns = until_ns;
        if (rest.start_ns < until_ns)
            rest.start_ns = until_ns;
        if (before.start_ns < before.end_ns)
            into->items[into->count++] = before;
        if (rest.start_ns < rest.end_ns)
            list->items[kept++] = rest;
    }
    list->count = kept;
    return 0;
}

/* Of several sessions each has a wall time of its own. */
static int find_wall(const struct spans_answer *spans, int64_t session_id,
                     struct device_state *device)
{
    int rc = 0;

    for (size_t i = 0; i < spans->runs.count && !device->has_wall && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];

        if (run->session_id == session_id && run->selected && run->end_ns != STORE_NULL)
            rc = array_push(&device->wall, ((struct interval){run->start_ns, run->end_ns}));
    }
    if (!device->has_wall)
        interval_list_join(&device->wall);
    device->has_wall = true;
    return rc;
}

static double within_wall(const struct device_state *device, const struct interval_array *list,
                          bool wall_is_runs)
{
    struct interval_array wall;

    if (!wall_is_runs)
        return interval_list_length(list); /* no event is outside */
    if (device->wall.count == 0)
        return 0;
    wall = (struct interval_array){.items = device->wall.items + device->wall_first,
                                   .count = device->wall.count - device->wall_first};
    return interval_list_common(list, &wall);
}

/* What lies before a time is the union of gaps and work, less the work. */
static int sum_up(struct device_idle *idle, const struct spans_answer *spans, uint32_t first,
                  int64_t until_ns)
{
    struct device_state *device = &idle->devices[first];
    bool wall_is_runs = spans->basis.wall_is_runs;
    struct interval_array gaps = {0}, busy = {0};
    int rc = wall_is_runs ? find_wall(spans, spans->lanes.items[first].session_id, device) : 0;

    for (size_t i = first; i < idle->lane_count && rc == 0; i++) {
        if (idle->lanes[i].device == first && idle->lanes[i].is_shown)
            rc = cut(&idle->lanes[i].for_host, until_ns, &gaps);
    }
    if (rc == 0)
        rc = cut(&device->busy, until_ns, &busy);
    if (rc == 0) {
        interval_list_join(&gaps);
        interval_list_join(&busy);
        device->idle_ns -= within_wall(device, &busy, wall_is_runs);
        rc = interval_list_unite(&gaps, &busy);
        device->idle_ns += within_wall(device, &gaps, wall_is_runs);
    }
    while (device->wall_first < device->wall.count &&
           device->wall.items[device->wall_first].end_ns <= until_ns)
        device->wall_first++;
    array_deinit(&gaps);
    array_deinit(&busy);
    return rc;
}

/* Before this time no gap is to come. Lanes that nobody asked for so far may still be asked for. */
static int64_t known_until(const struct device_idle *idle, const struct spans_answer *spans,
                           uint32_t device)
{
    int64_t until_ns = INT64_MAX;
    bool has_op = false;

    for (size_t i = device; i < idle->lane_count; i++) {
        const struct lane_state *lane = &idle->lanes[i];

        if (lane->device != device || !lane->has_op)
            continue;
        if (!lane->is_shown)
            return INT64_MIN;
        if (lane->last_end_ns < until_ns)
            until_ns = lane->last_end_ns;
        has_op = true;
    }
    /* A lane that has nothing yet may have something in the next part. */
    return has_op && span_settled_ns(spans) < until_ns ? span_settled_ns(spans) : until_ns;
}

int device_idle_add(struct device_idle *idle, const struct spans_answer *spans)
{
    int rc = add_gaps(idle, spans);

    if (rc == 0)
        rc = add_work(idle, spans);
    for (uint32_t i = 0; i < idle->lane_count && rc == 0 && idle->parts; i++) {
        int64_t until_ns = idle->lanes[i].device == i ? known_until(idle, spans, i) : INT64_MIN;

        if (until_ns != INT64_MIN && until_ns != INT64_MAX)
            rc = sum_up(idle, spans, i, until_ns);
    }
    return rc;
}

int device_idle_finish(struct device_idle *idle, const struct spans_answer *spans)
{
    int rc = 0;

    for (uint32_t i = 0; i < idle->lane_count && rc == 0; i++) {
        if (idle->lanes[i].device == i)
            rc = sum_up(idle, spans, i, INT64_MAX);
    }
    return rc;
}

double device_idle_ns(const struct device_idle *idle, const struct spans_answer *spans,
                      int64_t session_id, const char *name)
{
    for (uint32_t i = 0; i < idle->lane_count; i++) {
        const struct lane_row *lane = &spans->lanes.items[i];

        if (idle->lanes[i].device == i && lane->session_id == session_id &&
            strcmp(name_of(lane), name) == 0)
            return idle->devices[i].idle_ns;
    }
    return 0;
}

void device_idle_destroy(struct device_idle **idle)
{
    if (!*idle)
        return;
    forget(*idle);
    idle_parts_destroy(&(*idle)->parts);
    free(*idle);
    *idle = NULL;
}
