/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up lane by lane, part by part. */
#include "analyze/metrics/lane_busy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"

struct lane_busy_parts {
    struct lane_busy *lanes; /* beside lanes, as these are: */
    struct lane_use *uses;
    int64_t *busy_until;  /* INT64_MIN: no op so far */
    uint32_t *last_lane;  /* beside ops: the lane on which the part at hand had it last */
    struct place_map ops; /* of lanes */
};

void lane_busy_drop(struct lane_busy_parts **parts)
{
    if (!*parts)
        return;
    free((*parts)->lanes);
    free((*parts)->uses);
    free((*parts)->busy_until);
    free((*parts)->last_lane);
    place_map_deinit(&(*parts)->ops);
    free(*parts);
    *parts = NULL;
}

int lane_busy_begin(const struct spans_answer *spans, struct lane_busy_parts **out_parts)
{
    size_t count = spans->lanes.count + 1;
    struct lane_busy_parts *parts = calloc(1, sizeof(*parts));

    lane_busy_drop(out_parts);
    *out_parts = parts;
    if (!parts)
        return -ENOMEM;
    parts->lanes = calloc(count, sizeof(*parts->lanes));
    parts->uses = calloc(count, sizeof(*parts->uses));
    parts->busy_until = malloc(count * sizeof(*parts->busy_until));
    parts->last_lane = malloc((spans->ops.count + 1) * sizeof(*parts->last_lane));
    if (!parts->lanes || !parts->uses || !parts->busy_until || !parts->last_lane)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        parts->busy_until[i] = INT64_MIN;
    return 0;
}

/* Counts an op of a lane that the part did not have before. */
static int count_op(struct lane_busy_parts *parts, uint32_t lane, uint32_t op)
{
    const struct place_key key = {.low = op, .high = lane};

    parts->last_lane[op] = lane;
    if (place_map_find(&parts->ops, key) != PLACE_NONE)
        return 0;
    parts->lanes[lane].op_count++;
    return place_map_set(&parts->ops, key, 0);
}

static int add_lane(struct lane_busy_parts *parts, const struct spans_answer *spans, uint32_t lane)
{
    const struct span_range *range = &spans->ranges[lane];
    int64_t busy_until = parts->busy_until[lane];
    struct lane_busy *busy = &parts->lanes[lane];
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        int64_t end_ns = span_end_ns(span), from_ns = span->start_ns;

        if (!span_is_op(spans, span) || !span->is_shown)
            continue;
        busy->span_count += span->frame != SPAN_FRAME_AGAIN;
        if (parts->last_lane[span->op] != lane)
            rc = count_op(parts, lane, span->op);
        if (busy_until != INT64_MIN && from_ns > busy_until) {
            busy->gap_count++;
            if (from_ns - busy_until > busy->longest_gap_ns)
                busy->longest_gap_ns = from_ns - busy_until;
        }
        from_ns = from_ns < busy_until ? busy_until : from_ns;
        busy->busy_ns += end_ns > from_ns ? end_ns - from_ns : 0;
        busy_until = end_ns > busy_until ? end_ns : busy_until;
    }
    parts->busy_until[lane] = busy_until;
    return rc;
}

int lane_busy_add(struct lane_busy_parts *parts, const struct spans_answer *spans)
{
    int rc = 0;

    lane_use_add(parts->uses, spans);
    memset(parts->last_lane, 0xff, (spans->ops.count + 1) * sizeof(*parts->last_lane));
    for (uint32_t i = 0; i < spans->lanes.count && rc == 0; i++)
        rc = add_lane(parts, spans, i);
    return rc;
}

const struct lane_busy *lane_busy_finish(struct lane_busy_parts *parts,
                                         const struct spans_answer *spans)
{
    lane_use_find_walls(parts->uses, spans);
    for (size_t i = 0; i < spans->lanes.count; i++)
        parts->lanes[i].use = parts->uses[i];
    return parts->lanes;
}
