/* SPDX-License-Identifier: Apache-2.0 */
/* Finding waits of streams, and what they wait for. */
#include "analyze/metrics/stream_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/json/text.h"
#include "analyze/query/lane_use.h"
#include "base/sorted.h"

/* --- Which spans are waits. --- */

/* The number of the stream that a phase waits for; false: it is no such phase. */
static bool read_stream(const struct op_row *op, int64_t *out_number)
{
    struct json_slice stream;

    if (!op->params || !strstr(op->params, "\"wait_on_stream\""))
        return false;
    stream = json_member(json_value(op->params, strlen(op->params)), "wait_on_stream");
    return json_whole(stream, out_number);
}

static uint32_t find_stream(const struct spans_answer *answer, const struct lane_row *waiting,
                            int64_t number)
{
    for (uint32_t i = 0; i < answer->lanes.count; i++) {
        const struct lane_row *lane = &answer->lanes.items[i];

        if (lane->session_id == waiting->session_id && lane->side == OP_DEVICE &&
            lane->native_id == number && lane->device && waiting->device &&
            strcmp(lane->device, waiting->device) == 0)
            return i;
    }
    return SPAN_NONE;
}

static uint32_t find_named(const struct spans_answer *answer, int64_t session_id,
                           struct json_slice name)
{
    for (uint32_t i = 0; i < answer->lanes.count; i++) {
        const struct lane_row *lane = &answer->lanes.items[i];

        if (lane->session_id == session_id && lane->side == OP_DEVICE && lane->name &&
            json_is(name, lane->name))
            return i;
    }
    return SPAN_NONE;
}

int stream_waits_named(const struct spans_answer *answer, const struct span *phase,
                       int (*add)(void *context, uint32_t lane), void *context)
{
    const char *params = span_op(answer, phase)->params;
    struct json_slice key, value;
    struct json_walk walk;
    int rc = 0;

    if (!params || !strstr(params, "\"wait_on_lanes\""))
        return 0;
    walk = json_walk_over(json_member(json_value(params, strlen(params)), "wait_on_lanes"));
    while (rc == 0 && json_walk_next(&walk, &key, &value) == 1) {
        uint32_t lane = find_named(answer, answer->lanes.items[phase->lane].session_id, value);

        if (lane != SPAN_NONE)
            rc = add(context, lane);
    }
    return rc < 0 ? rc : 1;
}

static int keep_lane(void *context, uint32_t lane)
{
    *(uint32_t *)context = lane;
    return 0;
}

/* The stream on which the event was recorded that a phase waits for, or SPAN_NONE. */
static uint32_t find_source(const struct spans_answer *answer, const struct span *phase)
{
    uint32_t lane = SPAN_NONE;
    int64_t number;

    stream_waits_named(answer, phase, keep_lane, &lane);
    if (lane == SPAN_NONE && read_stream(span_op(answer, phase), &number))
        lane = find_stream(answer, &answer->lanes.items[phase->lane], number);
    return lane;
}

static int add_wait(const struct spans_answer *answer, const struct span *span,
                    struct stream_waits *out_waits)
{
    const struct span *record;
    struct stream_wait wait = {
        .span = span_place(answer, span),
        .lane = span->lane,
        .issued_ns = span->start_ns,
        .source_op = SPAN_NONE,
        .source_wait = SPAN_NONE,
        .awaited = SPAN_NONE,
        .latest = SPAN_NONE,
    };

    if (span->launch == SPAN_NONE)
        return 0;
    record = &answer->spans.items[span->launch];
    if (!strstr(span_op(answer, record)->name, "EventRecord") || record->start_ns > wait.issued_ns)
        return 0;
    wait.recorded_ns = record->start_ns;
    wait.source = find_source(answer, span);
    if (wait.source == SPAN_NONE)
        return 0;
    if (strcmp(span_op(answer, span)->name, "Event Sync") == 0)
        return array_push(&out_waits->syncs, ((struct event_sync){span->start_ns, span_end_ns(span),
                                                                  wait.source, wait.recorded_ns}));
    return array_push(&out_waits->waits, wait);
}

/* --- What was launched when. --- */

static int compare_issued(const void *a, const void *b)
{
    const struct issued_op *left = a, *right = b;

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    if (left->issued_ns != right->issued_ns)
        return left->issued_ns < right->issued_ns ? -1 : 1;
    return (left->span > right->span) - (left->span < right->span);
}

static int compare_syncs(const void *a, const void *b)
{
    const struct event_sync *left = a, *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

static int compare_waits(const void *a, const void *b)
{
    const struct stream_wait *left = a, *right = b;

    return compare_issued(&(struct issued_op){left->lane, left->span, left->issued_ns},
                          &(struct issued_op){right->lane, right->span, right->issued_ns});
}

int stream_waits_issue(struct stream_waits *out_waits, const struct spans_answer *answer)
{
    const struct span *items = answer->spans.items;
    int rc = 0;

    if (out_waits->issued.count)
        return 0;
    for (uint32_t i = 0; i < answer->spans.count && rc == 0; i++) {
        if (span_is_device(answer, &items[i]) && span_is_op(answer, &items[i]) &&
            items[i].launch != SPAN_NONE)
            rc =
                array_push(&out_waits->issued,
                           ((struct issued_op){items[i].lane, i, items[items[i].launch].start_ns}));
    }
    if (out_waits->issued.count)
        qsort(out_waits->issued.items, out_waits->issued.count, sizeof(*out_waits->issued.items),
              compare_issued);
    return rc;
}

/* The first that is not before a time on a lane. */
static size_t issued_from(const struct stream_waits *waits, uint32_t lane, int64_t time_ns)
{
    const struct issued_op *ops = waits->issued.items;

    return search_past(0, waits->issued.count, i,
                       ops[i].lane < lane || (ops[i].lane == lane && ops[i].issued_ns < time_ns));
}

static size_t waits_from(const struct stream_waits *waits, uint32_t lane, int64_t time_ns)
{
    const struct stream_wait *items = waits->waits.items;

    return search_past(0, waits->waits.count, i,
                       items[i].lane < lane ||
                           (items[i].lane == lane && items[i].issued_ns < time_ns));
}

/* The last op launched on a lane before a time, or NULL. */
static const struct issued_op *last_issued(const struct stream_waits *waits, uint32_t lane,
                                           int64_t time_ns)
{
    size_t place = issued_from(waits, lane, time_ns);

    return place && waits->issued.items[place - 1].lane == lane ? &waits->issued.items[place - 1]
                                                                : NULL;
}

/* Waits of a lane before a time, and after what was launched last before it. */
static struct span_range waits_between(const struct stream_waits *waits, uint32_t lane,
                                       int64_t time_ns)
{
    const struct issued_op *op = last_issued(waits, lane, time_ns);
    size_t first = waits_from(waits, lane, op ? op->issued_ns + 1 : INT64_MIN);
    size_t end = waits_from(waits, lane, time_ns);

    return (struct span_range){first, end > first ? end - first : 0};
}

/* --- What they wait for. --- */

static uint32_t later_end(const struct spans_answer *answer, uint32_t a, uint32_t b)
{
    const struct span *items = answer->spans.items;

    if (a == SPAN_NONE || b == SPAN_NONE)
        return a == SPAN_NONE ? b : a;
    return span_end_ns(&items[b]) > span_end_ns(&items[a]) ? b : a;
}

struct stream_end stream_waits_end(const struct stream_waits *waits, uint32_t lane, int64_t time_ns)
{
    const struct issued_op *op = last_issued(waits, lane, time_ns);
    struct span_range range = waits_between(waits, lane, time_ns);

    return (struct stream_end){
        .op = op ? op->span : SPAN_NONE,
        .wait = range.count ? (uint32_t)(range.first + range.count - 1) : SPAN_NONE,
    };
}

static void resolve(const struct spans_answer *answer, struct stream_waits *waits,
                    struct stream_wait *wait)
{
    struct stream_end end = stream_waits_end(waits, wait->source, wait->recorded_ns);
    const struct issued_op *op;

    wait->source_op = wait->awaited = end.op;
    wait->source_wait = end.wait;
    if (end.wait != SPAN_NONE)
        wait->awaited = later_end(answer, wait->awaited, waits->waits.items[end.wait].latest);
    op = last_issued(waits, wait->lane, wait->issued_ns);
    wait->latest = wait->awaited;
    if (wait > waits->waits.items && wait[-1].lane == wait->lane &&
        (!op || wait[-1].issued_ns > op->issued_ns))
        wait->latest = later_end(answer, wait[-1].latest, wait->awaited);
}

static int compare_times(const void *a, const void *b, void *context)
{
    const struct stream_wait *items = context;
    const struct stream_wait *left = &items[*(const uint32_t *)a];
    const struct stream_wait *right = &items[*(const uint32_t *)b];

    if (left->issued_ns != right->issued_ns)
        return left->issued_ns < right->issued_ns ? -1 : 1;
    return (left > right) - (left < right);
}

/* In the order of time: what a wait waits for was asked for before. */
static int resolve_all(const struct spans_answer *answer, struct stream_waits *waits)
{
    uint32_t *order = malloc(waits->waits.count * sizeof(*order));

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < waits->waits.count; i++)
        order[i] = i;
    qsort_r(order, waits->waits.count, sizeof(*order), compare_times, waits->waits.items);
    for (size_t i = 0; i < waits->waits.count; i++)
        resolve(answer, waits, &waits->waits.items[order[i]]);
    free(order);
    return 0;
}

int stream_waits_make(const struct spans_answer *answer, struct stream_waits *out_waits)
{
    int rc = 0;

    *out_waits = (struct stream_waits){0};
    for (size_t i = 0; i < answer->spans.count && rc == 0; i++) {
        const struct span *span = &answer->spans.items[i];

        if (answer->op_kinds[span->op] == SPAN_PHASE && span_is_device(answer, span))
            rc = add_wait(answer, span, out_waits);
    }
    if (out_waits->syncs.count)
        qsort(out_waits->syncs.items, out_waits->syncs.count, sizeof(*out_waits->syncs.items),
              compare_syncs);
    if (rc < 0 || !out_waits->waits.count)
        return rc;
    qsort(out_waits->waits.items, out_waits->waits.count, sizeof(*out_waits->waits.items),
          compare_waits);
    rc = stream_waits_issue(out_waits, answer);
    return rc ? rc : resolve_all(answer, out_waits);
}

void stream_waits_deinit(struct stream_waits *waits)
{
    array_deinit(&waits->waits);
    array_deinit(&waits->issued);
    array_deinit(&waits->syncs);
}

struct span_range stream_waits_before(const struct stream_waits *waits,
                                      const struct spans_answer *answer, uint32_t span)
{
    const struct span *op = &answer->spans.items[span];

    if (!waits->waits.count || op->launch == SPAN_NONE)
        return (struct span_range){0, 0};
    return waits_between(waits, op->lane, answer->spans.items[op->launch].start_ns);
}

uint32_t stream_waits_awaited(const struct stream_waits *waits, const struct spans_answer *answer,
                              uint32_t span)
{
    struct span_range range = stream_waits_before(waits, answer, span);

    return range.count ? waits->waits.items[range.first + range.count - 1].latest : SPAN_NONE;
}
