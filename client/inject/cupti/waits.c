/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and threads that wait for events: who recorded the event, on which stream, by which call.
 * A wait is a phase on a lane, as analyze/metrics/stream_waits.h reads it: a name, the number of the
 * stream that is waited for, and the correlation of the call that recorded the event.
 */
#include <stdio.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum { KEY_WAIT = 128, EVENTS = 1 << 12, OF_THREAD = 1, OF_STREAM = 2 };

/* The latest records of events. By the number that CUPTI gives to a record and what waits for it,
 * where it does (12.8 and later), else by the event. Under the lock of decode.c. */
static struct recorded {
    uint64_t number;
    uint32_t context, event, device, stream, correlation;
} by_number[EVENTS], by_event[EVENTS];

/* Words of {key, which, stream}. */
static uint64_t define(const void *context)
{
    const uint64_t *words = context;
    char params[64];
    struct optrace_op_info info =
        OPTRACE_OP_INFO(words[1] == OF_STREAM ? "Stream Wait Event" : "Event Sync", "phase");
    uint32_t op = 0;

    snprintf(params, sizeof(params), "{\"wait_on_stream\":%llu}", (unsigned long long)words[2]);
    info.params = params;
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

static struct recorded *place_of(uint32_t context, uint32_t event)
{
    return &by_event[(event + context * 257) % EVENTS];
}

void cupti_put_event(const struct cupti *cupti, const struct cupti_event *record)
{
    struct recorded recorded = {0, record->context, record->event,
                                0, record->stream,  record->correlation};

    if (cupti_record_has(cupti, CUPTI_EVENT, sizeof(*record)))
        recorded.number = record->number;
    *place_of(record->context, record->event) = recorded;
    if (recorded.number)
        by_number[recorded.number % EVENTS] = recorded;
}

void cupti_put_wait(const struct cupti *cupti, const struct cupti_sync *record)
{
    const struct recorded *recorded = place_of(record->context, record->event);
    uint64_t number = 0;
    struct optrace_event event = {.kind = OPTRACE_KIND_SPAN,
                                  .flags = OPTRACE_EVENT_REALTIME,
                                  .start = record->start,
                                  .end = record->end};

    if ((record->type != OF_THREAD && record->type != OF_STREAM) || record->start == 0 ||
        record->end < record->start)
        return;
    if (cupti_record_has(cupti, CUPTI_SYNC, sizeof(*record)))
        number = record->event_number;
    if (number)
        recorded = &by_number[number % EVENTS];
    if (recorded->correlation == 0 || recorded->event != record->event ||
        recorded->number != number)
        return;
    event.lane = cupti_lane_of(recorded->device, record->context,
                               record->type == OF_STREAM ? record->stream : recorded->stream);
    event.op = (uint32_t)names_find_always(
        (const uint64_t[]){KEY_WAIT, record->type, recorded->stream}, 3 * sizeof(uint64_t), define,
        (const uint64_t[]){KEY_WAIT, record->type, recorded->stream});
    event.correlation = recorded->correlation;
    event.run = cupti_run_of(recorded->correlation);
    if (event.lane && event.op)
        recorder.record(&event);
}
