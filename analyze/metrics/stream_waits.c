/* SPDX-License-Identifier: Apache-2.0 */
/* Finding waits of streams, and what they wait for. */
#include "analyze/metrics/stream_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/json/text.h"
#include "analyze/query/lane_use.h"
#include "base/sorted.h"

static const struct awaited_op nothing = {INT64_MIN, SPAN_NONE, SPAN_NONE};

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

static bool is_record(const struct spans_answer *answer, const struct span *span)
{
    return strstr(span_op(answer, span)->name, "EventRecord") != NULL;
}

static struct issue_time time_of_call(int64_t time_ns)
{
    return (struct issue_time){time_ns, INT64_MIN};
}

/* One of which the stream is not known is none. */
static int push_wait(const struct spans_answer *answer, const struct span *span,
                     struct issue_time issued, struct issue_time recorded,
                     struct stream_waits *out_waits)
{
    struct stream_wait wait = {
        .span = span_place(answer, span),
        .lane = span->lane,
        .source = find_source(answer, span),
        .issued = issued,
        .recorded = recorded,
        .source_op = SPAN_NONE,
        .source_wait = SPAN_NONE,
        .latest = nothing,
    };

    if (wait.source == SPAN_NONE)
        return 0;
    if (strcmp(span_op(answer, span)->name, "Event Sync") == 0)
        return array_push(&out_waits->syncs, ((struct event_sync){span->start_ns, span_end_ns(span),
                                                                  wait.source, recorded.asked_ns}));
    return array_push(&out_waits->waits, wait);
}

/* One that a call recorded, and a call asked for. */
static int add_wait(const struct spans_answer *answer, const struct span *span,
                    struct stream_waits *out_waits)
{
    const struct span *record = &answer->spans.items[span->launch];

    if (!is_record(answer, record) || record->start_ns > span->start_ns)
        return 0;
    return push_wait(answer, span, time_of_call(span->start_ns), time_of_call(record->start_ns),
                     out_waits);
}

/* --- Waits within a graph. --- */

/* A phase of a device, by the number that a wait and what it waits for have in common. */
struct graph_record {
    int64_t session_id, correlation, start_ns;
    uint32_t run, span;
};

struct graph_records ARRAY_FIELDS(struct graph_record);

static struct graph_record graph_record_of(const struct spans_answer *answer,
                                           const struct span *span)
{
    return (struct graph_record){answer->lanes.items[span->lane].session_id, span->correlation,
                                 span->start_ns, span->run, span_place(answer, span)};
}

static int compare_records(const void *a, const void *b)
{
    const struct graph_record *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    if (left->run != right->run)
        return left->run < right->run ? -1 : 1;
    if (left->correlation != right->correlation)
        return left->correlation < right->correlation ? -1 : 1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* The last record of that number until the wait began, or NULL. */
static const struct span *find_record(const struct spans_answer *answer,
                                      const struct graph_records *records, const struct span *wait)
{
    const struct graph_record key = graph_record_of(answer, wait);
    size_t end = search_past(0, records->count, i, compare_records(&records->items[i], &key) <= 0);
    const struct graph_record *last = end ? &records->items[end - 1] : NULL;

    if (!last || last->session_id != key.session_id || last->run != key.run ||
        last->correlation != key.correlation)
        return NULL;
    return &answer->spans.items[last->span];
}

/* The launch of a graph that an op is of, or SPAN_NONE. */
static uint32_t graph_of(const struct spans_answer *answer, uint32_t op)
{
    uint32_t launch = answer->spans.items[op].launch;

    if (launch == SPAN_NONE ||
        !strstr(span_op(answer, &answer->spans.items[launch])->name, "GraphLaunch"))
        return SPAN_NONE;
    return launch;
}

/* Of the op of a graph that a phase ends, or begins with: its launch. */
static uint32_t find_graph(const struct spans_answer *answer, const struct span *phase,
                           bool is_behind)
{
    const struct span *items = answer->spans.items;
    const struct span_range *range = &answer->ranges[phase->lane];
    size_t first = range->first, end = range->first + range->count;
    size_t place = search_past(first, end, i, items[i].start_ns < phase->start_ns);

    if (is_behind) {
        while (place > first && !span_is_op(answer, &items[place - 1]))
            place--;
        return place > first ? graph_of(answer, (uint32_t)place - 1) : SPAN_NONE;
    }
    while (place < end && !span_is_op(answer, &items[place]))
        place++;
    return place < end ? graph_of(answer, (uint32_t)place) : SPAN_NONE;
}

/* One that a device recorded while it did a graph, of what waits in the same launch of it. */
static int add_graph_wait(const struct spans_answer *answer, const struct graph_records *records,
                          const struct span *span, struct stream_waits *out_waits)
{
    const struct span *record = find_record(answer, records, span);
    uint32_t launch = record ? find_graph(answer, record, true) : SPAN_NONE;
    int64_t asked_ns;

    if (launch == SPAN_NONE || launch != find_graph(answer, span, false))
        return 0;
    asked_ns = answer->spans.items[launch].start_ns;
    return push_wait(answer, span, (struct issue_time){asked_ns, span->start_ns},
                     (struct issue_time){asked_ns, record->start_ns}, out_waits);
}

static bool is_device_phase(const struct spans_answer *answer, const struct span *span)
{
    return answer->op_kinds[span->op] == SPAN_PHASE && span_is_device(answer, span);
}

static int find_records(const struct spans_answer *answer, struct graph_records *out_records)
{
    int rc = 0;

    for (size_t i = 0; i < answer->spans.count && rc == 0; i++) {
        const struct span *span = &answer->spans.items[i];

        if (span->launch == SPAN_NONE && span->correlation != STORE_NULL &&
            is_device_phase(answer, span) && is_record(answer, span))
            rc = array_push(out_records, graph_record_of(answer, span));
    }
    if (out_records->count)
        qsort(out_records->items, out_records->count, sizeof(*out_records->items), compare_records);
    return rc;
}

static int find_waits(const struct spans_answer *answer, const struct graph_records *records,
                      struct stream_waits *out_waits)
{
    int rc = 0;

    for (size_t i = 0; i < answer->spans.count && rc == 0; i++) {
        const struct span *span = &answer->spans.items[i];

        if (!is_device_phase(answer, span))
            continue;
        if (span->launch != SPAN_NONE)
            rc = add_wait(answer, span, out_waits);
        else if (records->count && span->correlation != STORE_NULL && !is_record(answer, span))
            rc = add_graph_wait(answer, records, span, out_waits);
    }
    return rc;
}

/* --- What was launched when. --- */

int stream_waits_compare_times(struct issue_time a, struct issue_time b)
{
    if (a.asked_ns != b.asked_ns)
        return a.asked_ns < b.asked_ns ? -1 : 1;
    return (a.begun_ns > b.begun_ns) - (a.begun_ns < b.begun_ns);
}

static bool is_before(struct issue_time a, struct issue_time b)
{
    return stream_waits_compare_times(a, b) < 0;
}

static int compare_issued(const void *a, const void *b)
{
    const struct issued_op *left = a, *right = b;
    int order = stream_waits_compare_times(left->issued, right->issued);

    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return order ? order : (left->span > right->span) - (left->span < right->span);
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

    return compare_issued(&(struct issued_op){left->lane, left->span, left->issued, false},
                          &(struct issued_op){right->lane, right->span, right->issued, false});
}

static struct issued_op issued_op_of(const struct spans_answer *answer, uint32_t place)
{
    const struct span *span = &answer->spans.items[place];
    int64_t asked_ns = answer->spans.items[span->launch].start_ns;

    return (struct issued_op){
        span->lane, place, {asked_ns, span->start_ns}, graph_of(answer, place) != SPAN_NONE};
}

/* A stream does one after the other, as it was launched: mostly they are in order. */
static void sort_issued(struct stream_waits *waits)
{
    const struct issued_op *items = waits->issued.items;
    size_t i = 1;

    while (i < waits->issued.count && compare_issued(&items[i - 1], &items[i]) < 0)
        i++;
    if (i < waits->issued.count)
        qsort(waits->issued.items, waits->issued.count, sizeof(*items), compare_issued);
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
            rc = array_push(&out_waits->issued, issued_op_of(answer, i));
    }
    sort_issued(out_waits);
    return rc;
}

/* The last op launched on a lane before a time, or NULL. */
static const struct issued_op *last_issued(const struct stream_waits *waits, uint32_t lane,
                                           struct issue_time time)
{
    const struct issued_op *ops = waits->issued.items;
    size_t place =
        search_past(0, waits->issued.count, i,
                    ops[i].lane < lane || (ops[i].lane == lane && is_before(ops[i].issued, time)));

    return place && ops[place - 1].lane == lane ? &ops[place - 1] : NULL;
}

/* The first wait that is not before a time on a lane. */
static size_t waits_from(const struct stream_waits *waits, uint32_t lane, struct issue_time time)
{
    const struct stream_wait *items = waits->waits.items;

    return search_past(0, waits->waits.count, i,
                       items[i].lane < lane ||
                           (items[i].lane == lane && is_before(items[i].issued, time)));
}

/* Waits of a lane before a time, and after an op, or all. */
static struct span_range waits_between(const struct stream_waits *waits, uint32_t lane,
                                       const struct issued_op *op, struct issue_time time)
{
    size_t first = waits_from(waits, lane,
                              op ? (struct issue_time){op->issued.asked_ns, op->issued.begun_ns + 1}
                                 : time_of_call(INT64_MIN));
    size_t end = waits_from(waits, lane, time);

    return (struct span_range){first, end > first ? end - first : 0};
}

/* --- What they wait for. --- */

static struct awaited_op op_at(const struct spans_answer *answer, uint32_t place)
{
    const struct span *span = &answer->spans.items[place];

    return (struct awaited_op){span_end_ns(span), span->op, place};
}

static struct awaited_op later_end(struct awaited_op a, struct awaited_op b)
{
    if (a.op == SPAN_NONE || b.op == SPAN_NONE)
        return a.op == SPAN_NONE ? b : a;
    return b.end_ns > a.end_ns ? b : a;
}

static struct stream_end find_end(const struct stream_waits *waits, uint32_t lane,
                                  struct issue_time time)
{
    const struct issued_op *op = last_issued(waits, lane, time);
    struct span_range range = waits_between(waits, lane, op, time);

    return (struct stream_end){
        .op = op ? op->span : SPAN_NONE,
        .wait = range.count ? (uint32_t)(range.first + range.count - 1) : SPAN_NONE,
    };
}

struct stream_end stream_waits_end(const struct stream_waits *waits, uint32_t lane, int64_t time_ns)
{
    return find_end(waits, lane, time_of_call(time_ns));
}

/* What the last wait on a lane waits for, of earlier parts. */
static struct awaited_op wait_before(const struct stream_waits *waits, uint32_t lane)
{
    return waits->before ? waits->before[lane].wait : nothing;
}

/* What a stream was to do last at a time of earlier parts, or at their end. */
static struct awaited_op awaited_before(const struct stream_waits *waits, uint32_t lane,
                                        struct issue_time time)
{
    const struct stream_before *before = waits->before ? &waits->before[lane] : NULL;
    const struct stream_past *past = before ? before->past.items : NULL;
    size_t end = before ? before->past.count : 0;

    end = search_past(0, end, i, is_before(past[i].issued, time));
    return end ? past[end - 1].latest : nothing;
}

/* What a stream was to do at a time for which stream_waits_end() has found an end: what of it ends last. */
static struct awaited_op awaited_at(const struct spans_answer *answer,
                                    const struct stream_waits *waits, uint32_t lane,
                                    struct issue_time time, struct stream_end end)
{
    struct awaited_op op = nothing, wait = nothing;

    if (end.op == SPAN_NONE && end.wait == SPAN_NONE)
        return awaited_before(waits, lane, time);
    if (end.op != SPAN_NONE)
        op = op_at(answer, end.op);
    else if (waits->before)
        op = waits->before[lane].op;
    if (end.wait != SPAN_NONE)
        wait = waits->waits.items[end.wait].latest;
    return later_end(op, wait);
}

static void resolve(const struct spans_answer *answer, struct stream_waits *waits,
                    struct stream_wait *wait)
{
    struct stream_end end = find_end(waits, wait->source, wait->recorded);
    const struct issued_op *op = last_issued(waits, wait->lane, wait->issued);
    struct awaited_op before = nothing;

    wait->source_op = end.op;
    wait->source_wait = end.wait;
    if (wait > waits->waits.items && wait[-1].lane == wait->lane) {
        if (!op || is_before(op->issued, wait[-1].issued))
            before = wait[-1].latest;
    } else if (!op) {
        before = wait_before(waits, wait->lane);
    }
    wait->latest = later_end(before, awaited_at(answer, waits, wait->source, wait->recorded, end));
}

static int compare_times(const void *a, const void *b, void *context)
{
    const struct stream_wait *items = context;
    const struct stream_wait *left = &items[*(const uint32_t *)a];
    const struct stream_wait *right = &items[*(const uint32_t *)b];

    int order = stream_waits_compare_times(left->issued, right->issued);

    return order ? order : (left > right) - (left < right);
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

int stream_waits_make_part(const struct spans_answer *answer, const struct stream_before *before,
                           struct stream_waits *out_waits)
{
    struct graph_records records = {0};
    int rc;

    *out_waits = (struct stream_waits){.before = before};
    rc = find_records(answer, &records);
    if (rc == 0)
        rc = find_waits(answer, &records, out_waits);
    array_deinit(&records);
    if (out_waits->syncs.count)
        qsort(out_waits->syncs.items, out_waits->syncs.count, sizeof(*out_waits->syncs.items),
              compare_syncs);
    if (rc < 0 || !(out_waits->waits.count || before))
        return rc;
    if (out_waits->waits.count)
        qsort(out_waits->waits.items, out_waits->waits.count, sizeof(*out_waits->waits.items),
              compare_waits);
    rc = stream_waits_issue(out_waits, answer);
    return rc || !out_waits->waits.count ? rc : resolve_all(answer, out_waits);
}

int stream_waits_make(const struct spans_answer *answer, struct stream_waits *out_waits)
{
    return stream_waits_make_part(answer, NULL, out_waits);
}

/* --- Parts. --- */

bool stream_waits_possible(const struct spans_answer *answer)
{
    for (size_t i = 0; i < answer->ops.count; i++) {
        if (spans_op_waits(answer, i))
            return true;
    }
    return false;
}

struct stream_before *stream_before_create(size_t lane_count)
{
    struct stream_before *before = calloc(lane_count + 1, sizeof(*before));

    for (size_t i = 0; i < lane_count && before; i++)
        before[i].op = before[i].wait = nothing;
    return before;
}

void stream_before_destroy(struct stream_before **before, size_t lane_count)
{
    for (size_t i = 0; i < lane_count && *before; i++)
        array_deinit(&(*before)[i].past);
    free(*before);
    *before = NULL;
}

static struct awaited_op of_earlier(struct awaited_op awaited)
{
    awaited.span = SPAN_NONE;
    return awaited;
}

/* Forgets what had ended by a time, but for the last. */
static void forget_past(struct stream_before *before, int64_t ended_ns)
{
    const size_t count = before->past.count;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (i + 1 == count || before->past.items[i].latest.end_ns > ended_ns)
            before->past.items[kept++] = before->past.items[i];
    }
    before->past.count = kept;
}

/* What had ended by a time is not kept once there is something later. */
static int pass(struct stream_before *before, struct issue_time issued, int64_t ended_ns)
{
    const struct stream_past past = {issued, later_end(before->op, before->wait)};
    struct stream_past *last =
        before->past.count ? &before->past.items[before->past.count - 1] : NULL;

    if (!last || last->latest.end_ns > ended_ns)
        return array_push(&before->past, past);
    *last = past;
    return 0;
}

/* The ops and the waits of a lane, in the order of time. */
static int pass_lane(const struct stream_waits *waits, const struct spans_answer *answer,
                     uint32_t lane, struct stream_before *before)
{
    const struct issued_op *ops = waits->issued.items;
    const struct stream_wait *asked = waits->waits.items;
    size_t op = search_past(0, waits->issued.count, i, ops[i].lane < lane);
    size_t wait = waits_from(waits, lane, time_of_call(INT64_MIN));
    int rc = 0;

    while (rc == 0) {
        const bool has_op = op < waits->issued.count && ops[op].lane == lane;
        const bool has_wait = wait < waits->waits.count && asked[wait].lane == lane;

        if (has_op && (!has_wait || !is_before(asked[wait].issued, ops[op].issued))) {
            before->op = of_earlier(op_at(answer, ops[op].span));
            before->wait = nothing;
            rc = pass(before, ops[op++].issued, answer->until_ns);
        } else if (has_wait) {
            before->wait = of_earlier(asked[wait].latest);
            rc = pass(before, asked[wait++].issued, answer->until_ns);
        } else {
            break;
        }
    }
    forget_past(before, answer->until_ns);
    return rc;
}

int stream_waits_pass(const struct stream_waits *waits, const struct spans_answer *answer,
                      struct stream_before *before)
{
    int rc = 0;

    for (uint32_t lane = 0; lane < answer->lanes.count && rc == 0; lane++)
        rc = pass_lane(waits, answer, lane, &before[lane]);
    return rc;
}

void stream_waits_deinit(struct stream_waits *waits)
{
    array_deinit(&waits->waits);
    array_deinit(&waits->issued);
    array_deinit(&waits->syncs);
}

/* The op launched before one on its lane, or NULL. */
static const struct issued_op *before_op(const struct stream_waits *waits,
                                         const struct issued_op *op)
{
    /* Of those that were asked for at one time outside of graphs the order is not known. */
    return last_issued(waits, op->lane,
                       op->is_of_graph ? op->issued : time_of_call(op->issued.asked_ns));
}

struct span_range stream_waits_before(const struct stream_waits *waits,
                                      const struct spans_answer *answer, uint32_t span)
{
    const struct span *at = &answer->spans.items[span];
    struct issue_time until;
    struct issued_op op;

    if (!waits->waits.count || at->launch == SPAN_NONE)
        return (struct span_range){0, 0};
    op = issued_op_of(answer, span);
    /* What was asked for at the very time of a launch, by a clock of microseconds, came before it: to
     * launch takes longer than that, to ask for a wait does not. */
    until = op.is_of_graph ? (struct issue_time){op.issued.asked_ns, op.issued.begun_ns + 1}
                           : (struct issue_time){op.issued.asked_ns, INT64_MIN + 1};
    return waits_between(waits, op.lane, before_op(waits, &op), until);
}

struct awaited_op stream_waits_awaited(const struct stream_waits *waits,
                                       const struct spans_answer *answer, uint32_t span)
{
    const struct span *at = &answer->spans.items[span];
    struct span_range range = stream_waits_before(waits, answer, span);
    struct issued_op op;

    if (range.count)
        return waits->waits.items[range.first + range.count - 1].latest;
    if (at->launch == SPAN_NONE || wait_before(waits, at->lane).op == SPAN_NONE)
        return nothing;
    op = issued_op_of(answer, span);
    return before_op(waits, &op) ? nothing : wait_before(waits, at->lane);
}
