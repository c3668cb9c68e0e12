/* SPDX-License-Identifier: Apache-2.0 */
/* Finding gaps and judging them. */
#include "analyze/metrics/idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/stream_waits.h"
#include "base/sorted.h"

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

/* An operator of a device of an earlier part. */
struct idle_work {
    int64_t start_ns, end_ns;
    bool is_copy;
};

/* What a thread was in from a time on, until the next one. */
struct idle_stay {
    int64_t start_ns;
    uint32_t op; /* the innermost operator; SPAN_NONE: none */
    bool waits;  /* it is in something that waits for a device */
};

/* What is known of the lanes from earlier parts. */
struct idle_lane {
    bool has_op, is_shown;
    int64_t last_end_ns; /* of its operators */
    uint32_t last_op;    /* which it was */
    ARRAY_OF(struct idle_work)
    recent; /* of a device: what may have run in gaps that are not judged yet, by start */
    ARRAY_OF(struct idle_stay)
    stays; /* of a thread, as long as gaps of later parts may ask for them */
};

struct idle_parts {
    struct idle_lane *lanes;
    size_t lane_count;
    struct stream_before *streams; /* beside lanes; NULL: no stream waits for another */
    /* What other lanes did in these, later parts may tell. Places are gone. */
    struct idle_gap_array pending;
};

/* --- What the host was in. --- */

/* The innermost operator of those in a range that is open at a time, or SPAN_NONE. It is near the
 * end, most often, so that it is looked for from there, in steps that grow. */
static uint32_t find_open(const struct spans_answer *spans, const struct span *items,
                          const struct span_range *range, int64_t time_ns)
{
    size_t low = range->first, high = range->first + range->count, step = 1;
    uint32_t place;

    while (high - range->first > step && items[high - step].start_ns > time_ns) {
        high -= step;
        step *= 2;
    }
    low = high - range->first > step ? high - step : range->first;
    low = search_past(low, high, middle, items[middle].start_ns <= time_ns);
    if (low == range->first)
        return SPAN_NONE;
    place = (uint32_t)(low - 1);
    while (place != SPAN_NONE &&
           (span_end_ns(&items[place]) <= time_ns || !span_is_op(spans, &items[place])))
        place = items[place].parent;
    return place;
}

/* cudaDeviceSynchronize, cuStreamSynchronize, cudaEventSynchronize, ... */
static bool waits_for_device(const struct spans_answer *spans, const struct span *items,
                             uint32_t place)
{
    for (; place != SPAN_NONE; place = items[place].parent) {
        if (strstr(span_op(spans, &items[place])->name, "Synchronize"))
            return true;
    }
    return false;
}

/* Whether a part has something of a thread that began until then and in no earlier part. */
static bool has_begun(const struct span *items, const struct span_range *range, int64_t time_ns)
{
    size_t i = range->first, end = range->first + range->count;

    while (i < end && items[i].frame == SPAN_FRAME_AGAIN)
        i++;
    return i < end && items[i].start_ns <= time_ns;
}

/* What a thread was in before this part. */
static void judge_host_before(const struct idle_lane *lane, int64_t time_ns, struct idle_gap *gap)
{
    const struct idle_stay *stays = lane->stays.items;
    const size_t end = search_past(0, lane->stays.count, i, stays[i].start_ns <= time_ns);

    gap->cause = IDLE_NOT_LAUNCHED;
    if (!end || stays[end - 1].op == SPAN_NONE)
        return;
    gap->cause = stays[end - 1].waits ? IDLE_HOST_WAITED : IDLE_HOST_BUSY;
    gap->during_op = stays[end - 1].op;
}

static void judge_host(const struct spans_answer *spans, const struct idle_parts *parts,
                       const struct span *launch, struct idle_gap *gap)
{
    int64_t middle_ns = gap->start_ns + (launch->start_ns - gap->start_ns) / 2;
    const struct span *items = spans->spans.items;
    struct span_range range = spans->ranges[launch->lane];

    if (parts && !has_begun(items, &range, middle_ns)) {
        judge_host_before(&parts->lanes[launch->lane], middle_ns, gap);
        return;
    }
    range.count = span_place(spans, launch) + 1 - range.first; /* that is behind it */
    gap->during = find_open(spans, items, &range, middle_ns);
    if (gap->during == SPAN_NONE) {
        gap->cause = IDLE_NOT_LAUNCHED;
        return;
    }
    gap->cause = waits_for_device(spans, items, gap->during) ? IDLE_HOST_WAITED : IDLE_HOST_BUSY;
    gap->during_op = items[gap->during].op;
}

/* --- What else the device was doing. --- */

/* What other lanes of the device did in a gap. */
struct others {
    int64_t copy_ns, other_ns; /* time they ran; overlaps of several count more than once */
    int64_t last_end_ns;       /* of what ended in the gap */
    bool last_is_copy;
};

static void add_other(const struct idle_gap *gap, const struct idle_work *work,
                      struct others *others)
{
    int64_t from_ns = work->start_ns > gap->start_ns ? work->start_ns : gap->start_ns;
    int64_t until_ns = work->end_ns < gap->end_ns ? work->end_ns : gap->end_ns;

    *(work->is_copy ? &others->copy_ns : &others->other_ns) += until_ns - from_ns;
    if (work->end_ns <= gap->end_ns && work->end_ns > others->last_end_ns) {
        others->last_end_ns = work->end_ns;
        others->last_is_copy = work->is_copy;
    }
}

static struct idle_work work_of(const struct spans_answer *spans, const struct span *span)
{
    return (struct idle_work){span->start_ns, span_end_ns(span),
                              span_work(spans, span) == WORK_COPY};
}

static bool is_other_lane(const struct spans_answer *spans, const struct idle_gap *gap, size_t lane)
{
    const struct lane_row *own = &spans->lanes.items[gap->lane], *row = &spans->lanes.items[lane];

    return lane != gap->lane && row->session_id == own->session_id && row->side == OP_DEVICE &&
           row->device && own->device && strcmp(row->device, own->device) == 0;
}

/* Backwards from the last that started before the gap's end; before one that had ended when the gap
 * began there are only earlier ones, as one follows the other on a stream. Returns whether there was
 * such a one. */
static bool add_lane(const struct spans_answer *spans, const struct idle_gap *gap, size_t lane,
                     struct others *others)
{
    const struct span *items = spans->spans.items;
    const struct span_range *range = &spans->ranges[lane];
    size_t low = range->first, high = range->first + range->count;

    low = search_past(low, high, middle, items[middle].start_ns < gap->end_ns);
    for (; low > range->first; low--) {
        const struct span *span = &items[low - 1];
        struct idle_work work;

        if (!span_is_op(spans, span))
            continue;
        if (span_end_ns(span) <= gap->start_ns)
            return true;
        work = work_of(spans, span);
        add_other(gap, &work, others);
    }
    return false;
}

/* The same of earlier parts. */
static void add_recent(const struct idle_lane *lane, const struct idle_gap *gap,
                       struct others *others)
{
    const struct idle_work *items = lane->recent.items;
    size_t low = search_past(0, lane->recent.count, i, items[i].start_ns < gap->end_ns);

    for (; low > 0 && items[low - 1].end_ns > gap->start_ns; low--)
        add_other(gap, &items[low - 1], others);
}

static void judge_device(const struct spans_answer *spans, const struct idle_parts *parts,
                         struct idle_gap *gap)
{
    int64_t gap_ns = gap->end_ns - gap->start_ns;
    struct others others = {.last_end_ns = INT64_MIN};

    for (size_t lane = 0; lane < spans->lanes.count; lane++) {
        if (is_other_lane(spans, gap, lane) && !add_lane(spans, gap, lane, &others) && parts)
            add_recent(&parts->lanes[lane], gap, &others);
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
    const struct awaited_op awaited = stream_waits_awaited(waits, spans, gap->after);

    if (awaited.op == SPAN_NONE || awaited.end_ns > gap->end_ns ||
        awaited.end_ns - from_ns <= (gap->end_ns - gap->start_ns) / 2)
        return false;
    gap->during = awaited.span;
    gap->during_op = awaited.op;
    gap->cause = IDLE_EVENT;
    return true;
}

/* Returns whether its cause is known: what runs on other lanes may be in a later part. */
static bool judge(const struct spans_answer *spans, const struct idle_parts *parts,
                  const struct stream_waits *waits, struct idle_gap *gap)
{
    const struct span *after = &spans->spans.items[gap->after], *launch;

    gap->during = gap->during_op = SPAN_NONE;
    gap->after_op = after->op;
    if (!span_is_device(spans, after)) {
        gap->cause = IDLE_UNRECORDED;
    } else if (after->launch == SPAN_NONE || spans->basis.is_flat) {
        gap->cause = IDLE_UNKNOWN;
    } else {
        launch = &spans->spans.items[after->launch];
        if (waited_for_event(spans, waits, gap, launch))
            return true;
        if (launch->start_ns <= gap->start_ns) {
            if (parts && gap->end_ns > span_settled_ns(spans))
                return false;
            judge_device(spans, parts, gap);
        } else {
            judge_host(spans, parts, launch, gap);
        }
    }
    return true;
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

static int put_off(struct idle_parts *parts, const struct idle_gap *gap)
{
    struct idle_gap kept = *gap;

    kept.before = kept.after = SPAN_NONE;
    return array_push(&parts->pending, kept);
}

/* `parts` knows what came before, and learns what comes after; NULL: these spans are all. */
static int find_of_lane(const struct spans_answer *spans, struct idle_parts *parts,
                        const struct stream_waits *waits, uint32_t lane,
                        struct idle_gap_array *out_gaps)
{
    const struct span_range *range = &spans->ranges[lane];
    struct idle_lane alone = {0}, *state = parts ? &parts->lanes[lane] : &alone;
    uint32_t last = SPAN_NONE; /* the span that ends last so far */
    int rc = 0;

    for (size_t i = range->first; i < range->first + range->count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!span_is_op(spans, span) || span->frame == SPAN_FRAME_AGAIN)
            continue;
        if (state->has_op && span->start_ns > state->last_end_ns) {
            struct idle_gap gap = {.start_ns = state->last_end_ns,
                                   .end_ns = span->start_ns,
                                   .lane = lane,
                                   .before = last,
                                   .before_op = state->last_op,
                                   .after = (uint32_t)i};

            if (judge(spans, parts, waits, &gap))
                rc = array_push(out_gaps, gap);
            else
                rc = put_off(parts, &gap);
        }
        if (!state->has_op || span_end_ns(span) >= state->last_end_ns) {
            last = (uint32_t)i;
            state->last_end_ns = span_end_ns(span);
            state->last_op = span->op;
        }
        state->has_op = true;
    }
    return rc;
}

int idle_find(const struct spans_answer *spans, struct idle_gap_array *out_gaps)
{
    struct stream_waits waits = {0};
    int rc = spans->basis.is_flat ? 0 : stream_waits_make(spans, &waits);

    for (uint32_t lane = 0; lane < spans->lanes.count && rc == 0; lane++) {
        if (is_lane_shown(spans, &spans->ranges[lane]))
            rc = find_of_lane(spans, NULL, &waits, lane, out_gaps);
    }
    stream_waits_deinit(&waits);
    return rc;
}

/* --- Parts. --- */

void idle_parts_destroy(struct idle_parts **parts)
{
    if (!*parts)
        return;
    for (size_t i = 0; i < (*parts)->lane_count; i++) {
        array_deinit(&(*parts)->lanes[i].stays);
        array_deinit(&(*parts)->lanes[i].recent);
    }
    array_deinit(&(*parts)->pending);
    stream_before_destroy(&(*parts)->streams, (*parts)->lane_count);
    free((*parts)->lanes);
    free(*parts);
    *parts = NULL;
}

int idle_begin(const struct spans_answer *spans, struct idle_parts **out_parts)
{
    struct idle_parts *parts = calloc(1, sizeof(*parts));

    idle_parts_destroy(out_parts);
    *out_parts = parts;
    if (!parts)
        return -ENOMEM;
    parts->lanes = calloc(spans->lanes.count + 1, sizeof(*parts->lanes));
    if (!parts->lanes)
        return -ENOMEM;
    parts->lane_count = spans->lanes.count;
    if (spans->basis.is_flat || !stream_waits_possible(spans))
        return 0;
    parts->streams = stream_before_create(parts->lane_count);
    return parts->streams ? 0 : -ENOMEM;
}

/* From when on some lane of a device has been idle. */
static int64_t idle_since(const struct idle_parts *parts, const struct spans_answer *spans)
{
    int64_t since_ns = INT64_MAX;

    for (size_t i = 0; i < parts->lane_count; i++) {
        const struct idle_lane *lane = &parts->lanes[i];

        if (spans->lanes.items[i].side == OP_DEVICE && lane->has_op && lane->last_end_ns < since_ns)
            since_ns = lane->last_end_ns;
    }
    return since_ns;
}

/* The innermost operator that is open at a time from where a span stands; SPAN_NONE: there is none. */
static uint32_t find_innermost(const struct spans_answer *spans, uint32_t place, int64_t time_ns)
{
    const struct span *items = spans->spans.items;

    while (place != SPAN_NONE &&
           (span_end_ns(&items[place]) <= time_ns || !span_is_op(spans, &items[place])))
        place = items[place].parent;
    return place;
}

static int add_stay(struct idle_lane *lane, const struct idle_stay *stay)
{
    const struct idle_stay *last =
        lane->stays.count ? &lane->stays.items[lane->stays.count - 1] : NULL;

    if (last && last->op == stay->op && last->waits == stay->waits)
        return 0;
    return array_push(&lane->stays, *stay);
}

/* What a thread is in from the start of a span until that of the next. */
static int keep_span(const struct spans_answer *spans, uint32_t place, int64_t until_ns,
                     struct idle_lane *lane)
{
    const struct span *items = spans->spans.items;
    struct idle_stay stay = {.start_ns = items[place].start_ns};
    int rc = 0;

    while (rc == 0 && place != SPAN_NONE && stay.start_ns < until_ns) {
        place = find_innermost(spans, place, stay.start_ns);
        stay.op = place == SPAN_NONE ? SPAN_NONE : items[place].op;
        stay.waits = place != SPAN_NONE && waits_for_device(spans, items, place);
        rc = add_stay(lane, &stay);
        if (place != SPAN_NONE)
            stay.start_ns = span_end_ns(&items[place]);
    }
    return rc;
}

/* What a thread was in since then. */
static int keep(const struct spans_answer *spans, const struct span_range *range, int64_t since_ns,
                struct idle_lane *lane)
{
    const struct span *items = spans->spans.items;
    const size_t end = range->first + range->count;
    size_t begin = range->first, first;
    int rc = 0;

    while (begin < end && items[begin].frame == SPAN_FRAME_AGAIN)
        begin++;
    if (begin == end)
        return 0;
    first = search_past(begin, end, i, items[i].start_ns <= since_ns);
    first -= first > begin;
    /* What was there goes on until then. */
    while (lane->stays.count &&
           lane->stays.items[lane->stays.count - 1].start_ns >= items[first].start_ns)
        lane->stays.count--;
    for (; first < end && rc == 0; first++)
        rc = keep_span(spans, (uint32_t)first,
                       first + 1 < end ? items[first + 1].start_ns : INT64_MAX, lane);
    return rc;
}

/* But for the last that began until then. */
static void forget(struct idle_lane *lane, int64_t since_ns)
{
    const struct idle_stay *items = lane->stays.items;
    size_t first = search_past(0, lane->stays.count, i, items[i].start_ns <= since_ns);

    first -= first > 0;
    lane->stays.count -= first;
    if (first)
        memmove(lane->stays.items, items + first, lane->stays.count * sizeof(*items));
}

/* What ends a gap is launched in a later part, so that the middle until then is behind this. */
static int64_t asked_since(const struct idle_parts *parts, const struct spans_answer *spans)
{
    const int64_t since_ns = idle_since(parts, spans);

    if (since_ns >= spans->until_ns)
        return since_ns;
    return since_ns + (spans->until_ns - since_ns) / 2;
}

static int keep_threads(struct idle_parts *parts, const struct spans_answer *spans)
{
    const int64_t since_ns = asked_since(parts, spans);
    int rc = 0;

    for (size_t i = 0; i < parts->lane_count && rc == 0; i++) {
        struct idle_lane *lane = &parts->lanes[i];

        if (spans->lanes.items[i].side == OP_DEVICE)
            continue;
        rc = keep(spans, &spans->ranges[i], since_ns, lane);
        if (rc == 0)
            forget(lane, since_ns);
    }
    return rc;
}

/* --- Devices of several lanes. --- */

/* Gaps that ended before all that is to come. */
static int judge_pending(struct idle_parts *parts, const struct spans_answer *spans,
                         struct idle_gap_array *out_gaps)
{
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < parts->pending.count && rc == 0; i++) {
        struct idle_gap gap = parts->pending.items[i];

        if (gap.end_ns > span_settled_ns(spans)) {
            parts->pending.items[kept++] = gap;
            continue;
        }
        judge_device(spans, parts, &gap);
        rc = array_push(out_gaps, gap);
    }
    parts->pending.count = kept;
    return rc;
}

/* No gap begins before that which asks what other lanes did: later ones have a launch of a later part
 * before them. */
static int64_t asked_from(const struct idle_parts *parts, const struct spans_answer *spans)
{
    int64_t from_ns = spans->until_ns;

    for (size_t i = 0; i < parts->pending.count; i++) {
        const struct idle_gap *gap = &parts->pending.items[i];

        from_ns = gap->start_ns < from_ns ? gap->start_ns : from_ns;
    }
    return from_ns;
}

/* Keeps what a lane did since then: what stands behind the last that had ended. */
static int keep_recent(const struct spans_answer *spans, const struct span_range *range,
                       int64_t from_ns, struct idle_lane *lane)
{
    const struct span *items = spans->spans.items;
    size_t first = range->first + range->count, kept = lane->recent.count;
    bool is_found = false;
    int rc = 0;

    while (first > range->first && !is_found) {
        const struct span *span = &items[first - 1];

        is_found = span_is_op(spans, span) && span_end_ns(span) <= from_ns;
        first -= !is_found;
    }
    while (kept > 0 && !is_found && lane->recent.items[kept - 1].end_ns > from_ns)
        kept--;
    kept = is_found ? lane->recent.count : kept;
    if (kept)
        memmove(lane->recent.items, lane->recent.items + kept,
                (lane->recent.count - kept) * sizeof(*lane->recent.items));
    lane->recent.count -= kept;
    for (; first < range->first + range->count && rc == 0; first++) {
        if (span_is_op(spans, &items[first]))
            rc = array_push(&lane->recent, work_of(spans, &items[first]));
    }
    return rc;
}

static int keep_devices(struct idle_parts *parts, const struct spans_answer *spans)
{
    const int64_t from_ns = asked_from(parts, spans);
    int rc = 0;

    for (size_t i = 0; i < parts->lane_count && rc == 0; i++) {
        if (spans->lanes.items[i].side == OP_DEVICE)
            rc = keep_recent(spans, &spans->ranges[i], from_ns, &parts->lanes[i]);
    }
    return rc;
}

/* --- A part. --- */

static int find_gaps(struct idle_parts *parts, const struct spans_answer *spans,
                     struct idle_gap_array *out_gaps)
{
    struct stream_waits waits = {0};
    int rc = judge_pending(parts, spans, out_gaps);

    if (rc == 0 && !spans->basis.is_flat)
        rc = stream_waits_make_part(spans, parts->streams, &waits);
    for (uint32_t lane = 0; lane < spans->lanes.count && rc == 0; lane++) {
        parts->lanes[lane].is_shown |= is_lane_shown(spans, &spans->ranges[lane]);
        rc = find_of_lane(spans, parts, &waits, lane, out_gaps);
    }
    if (rc == 0 && parts->streams)
        rc = stream_waits_pass(&waits, spans, parts->streams);
    stream_waits_deinit(&waits);
    return rc;
}

int idle_add(struct idle_parts *parts, const struct spans_answer *spans,
             struct idle_gap_array *out_gaps)
{
    const bool is_last = spans->until_ns == INT64_MAX;
    int rc = find_gaps(parts, spans, out_gaps);

    if (rc == 0 && !is_last)
        rc = keep_devices(parts, spans);
    if (rc == 0 && !is_last)
        rc = keep_threads(parts, spans);
    return rc;
}

bool idle_is_shown(const struct idle_parts *parts, uint32_t lane)
{
    return parts->lanes[lane].is_shown;
}
