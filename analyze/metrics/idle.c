/* SPDX-License-Identifier: Apache-2.0 */
/* Finding gaps and judging them. */
#include "analyze/metrics/idle.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/stream_waits.h"

const char *const idle_cause_names[] = {
    [IDLE_HOST_WAITED] = "host waited",
    [IDLE_HOST_BUSY] = "host busy",
    [IDLE_NOT_LAUNCHED] = "nothing queued",
    [IDLE_EVENT] = "event",
    [IDLE_COPY] = "copy",
    [IDLE_OTHER_LANE] = "other stream",
    [IDLE_QUEUE] = "launched, not started",
    [IDLE_UNKNOWN] = "not known",
    [IDLE_UNRECORDED] = "nothing recorded",
};

/* --- What the host was in. --- */

/* The innermost operator of a lane that is open at a time, or SPAN_NONE. */
static uint32_t find_open(const struct spans_answer *spans, uint32_t lane, int64_t time_ns)
{
    const struct span *items = spans->spans.items;
    const struct span_range *range = &spans->ranges[lane];
    size_t low = range->first, high = range->first + range->count;
    uint32_t place;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == range->first)
        return SPAN_NONE;
    place = (uint32_t)(low - 1);
    while (place != SPAN_NONE &&
           (span_end_ns(&items[place]) <= time_ns || !span_is_op(spans, &items[place])))
        place = items[place].parent;
    return place;
}

/* cudaDeviceSynchronize, cuStreamSynchronize, cudaEventSynchronize, ... */
static bool waits_for_device(const struct spans_answer *spans, uint32_t place)
{
    const struct span *items = spans->spans.items;

    for (; place != SPAN_NONE; place = items[place].parent) {
        if (strstr(span_op(spans, &items[place])->name, "Synchronize"))
            return true;
    }
    return false;
}

static void judge_host(const struct spans_answer *spans, const struct span *launch,
                       struct idle_gap *gap)
{
    int64_t middle_ns = gap->start_ns + (launch->start_ns - gap->start_ns) / 2;

    gap->during = find_open(spans, launch->lane, middle_ns);
    if (gap->during == SPAN_NONE)
        gap->cause = IDLE_NOT_LAUNCHED;
    else
        gap->cause = waits_for_device(spans, gap->during) ? IDLE_HOST_WAITED : IDLE_HOST_BUSY;
}

/* --- What else the device was doing. --- */

/* What other lanes of the device did in a gap. */
struct others {
    int64_t copy_ns, other_ns; /* time they ran; overlaps of several count more than once */
    int64_t last_end_ns;       /* of what ended in the gap */
    bool last_is_copy;
};

static void add_other(const struct spans_answer *spans, const struct idle_gap *gap,
                      const struct span *span, struct others *others)
{
    int64_t end_ns = span_end_ns(span);
    int64_t from_ns = span->start_ns > gap->start_ns ? span->start_ns : gap->start_ns;
    int64_t until_ns = end_ns < gap->end_ns ? end_ns : gap->end_ns;
    bool is_copy = span_work(spans, span) == WORK_COPY;

    *(is_copy ? &others->copy_ns : &others->other_ns) += until_ns - from_ns;
    if (end_ns <= gap->end_ns && end_ns > others->last_end_ns) {
        others->last_end_ns = end_ns;
        others->last_is_copy = is_copy;
    }
}

static bool is_other_lane(const struct spans_answer *spans, const struct idle_gap *gap, size_t lane)
{
    const struct lane_row *own = &spans->lanes.items[gap->lane], *row = &spans->lanes.items[lane];

    return lane != gap->lane && row->session_id == own->session_id && row->side == OP_DEVICE &&
           row->device && own->device && strcmp(row->device, own->device) == 0;
}

static void add_lane(const struct spans_answer *spans, const struct idle_gap *gap, size_t lane,
                     struct others *others)
{
    const struct span *items = spans->spans.items;
    const struct span_range *range = &spans->ranges[lane];
    size_t low = range->first, high = range->first + range->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items[middle].start_ns < gap->end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    /* Backwards from the last that started before the gap's end; before one that had ended when
     * the gap began there are only earlier ones, as one follows the other on a stream. */
    for (; low > range->first; low--) {
        const struct span *span = &items[low - 1];

        if (!span_is_op(spans, span))
            continue;
        if (span_end_ns(span) <= gap->start_ns)
            break;
        add_other(spans, gap, span, others);
    }
}

static void judge_device(const struct spans_answer *spans, struct idle_gap *gap)
{
    int64_t gap_ns = gap->end_ns - gap->start_ns;
    struct others others = {.last_end_ns = INT64_MIN};

    for (size_t lane = 0; lane < spans->lanes.count; lane++) {
        if (is_other_lane(spans, gap, lane))
            add_lane(spans, gap, lane, &others);
    }
    if (others.copy_ns > gap_ns / 2)
        gap->cause = IDLE_COPY;
    else if (others.other_ns > gap_ns / 2)
        gap->cause = IDLE_OTHER_LANE;
    else if (others.last_end_ns > gap->end_ns - gap_ns / 10)
        gap->cause = others.last_is_copy ? IDLE_COPY : IDLE_OTHER_LANE;
    else
        gap->cause = IDLE_QUEUE;
}

/* What its stream waited for may have held it up after its launch. */
static bool waited_for_event(const struct spans_answer *spans, const struct stream_waits *waits,
                             struct idle_gap *gap, const struct span *launch)
{
    int64_t from_ns = launch->start_ns > gap->start_ns ? launch->start_ns : gap->start_ns;
    uint32_t awaited = stream_waits_awaited(waits, spans, gap->after);
    int64_t until_ns = awaited == SPAN_NONE ? 0 : span_end_ns(&spans->spans.items[awaited]);

    if (awaited == SPAN_NONE || until_ns > gap->end_ns ||
        until_ns - from_ns <= (gap->end_ns - gap->start_ns) / 2)
        return false;
    gap->during = awaited;
    gap->cause = IDLE_EVENT;
    return true;
}

static void judge(const struct spans_answer *spans, const struct stream_waits *waits,
                  struct idle_gap *gap)
{
    const struct span *after = &spans->spans.items[gap->after], *launch;

    gap->during = SPAN_NONE;
    if (!span_is_device(spans, after)) {
        gap->cause = IDLE_UNRECORDED;
    } else if (after->launch == SPAN_NONE || spans->basis.is_flat) {
        gap->cause = IDLE_UNKNOWN;
    } else {
        launch = &spans->spans.items[after->launch];
        if (waited_for_event(spans, waits, gap, launch))
            return;
        if (launch->start_ns > gap->start_ns)
            judge_host(spans, launch, gap);
        else
            judge_device(spans, gap);
    }
}

/* --- Finding them. --- */

static bool is_lane_shown(const struct spans_answer *spans, const struct span_range *range)
{
    for (size_t i = range->first; i < range->first + range->count; i++) {
        if (spans->spans.items[i].is_shown && span_is_op(spans, &spans->spans.items[i]))
            return true;
    }
    return false;
}

static int find_of_lane(const struct spans_answer *spans, const struct stream_waits *waits,
                        uint32_t lane, struct idle_gap_array *out)
{
    const struct span_range *range = &spans->ranges[lane];
    uint32_t last = SPAN_NONE; /* the span that ends last so far */
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        int64_t last_end_ns = last == SPAN_NONE ? 0 : span_end_ns(&spans->spans.items[last]);

        if (!span_is_op(spans, span))
            continue;
        if (last != SPAN_NONE && span->start_ns > last_end_ns) {
            struct idle_gap gap = {.start_ns = last_end_ns,
                                   .end_ns = span->start_ns,
                                   .lane = lane,
                                   .before = last,
                                   .after = (uint32_t)i};

            judge(spans, waits, &gap);
            rc = array_push(out, gap);
        }
        if (last == SPAN_NONE || span_end_ns(span) >= last_end_ns)
            last = (uint32_t)i;
    }
    return rc;
}

int idle_find(const struct spans_answer *spans, struct idle_gap_array *out)
{
    struct stream_waits waits = {0};
    int rc = spans->basis.is_flat ? 0 : stream_waits_make(spans, &waits);

    for (uint32_t lane = 0; lane < spans->lanes.count && rc == 0; lane++) {
        if (is_lane_shown(spans, &spans->ranges[lane]))
            rc = find_of_lane(spans, &waits, lane, out);
    }
    stream_waits_deinit(&waits);
    return rc;
}
