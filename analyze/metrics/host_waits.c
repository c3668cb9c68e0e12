/* SPDX-License-Identifier: Apache-2.0 */
/* What calls that wait for streams wait for. */
#include "analyze/metrics/host_waits.h"

#include <errno.h>
#include <string.h>

#include "analyze/query/lane_use.h"
#include "base/sorted.h"

struct adding {
    struct awaited_streams *out;
    int64_t until_ns;
};

static int add_lane(void *context, uint32_t lane)
{
    const struct adding *adding = context;

    return array_push(adding->out, ((struct awaited_stream){lane, adding->until_ns}));
}

/* All streams of a device, or of all devices. */
static int add_device(const struct spans_answer *answer, int64_t session_id, const char *device,
                      struct adding *adding)
{
    int rc = 0;

    for (uint32_t i = 0; i < answer->lanes.count && rc == 0; i++) {
        const struct lane_row *lane = &answer->lanes.items[i];

        if (lane->side == OP_DEVICE && lane->session_id == session_id &&
            (!device || (lane->device && strcmp(lane->device, device) == 0)))
            rc = add_lane(adding, i);
    }
    return rc < 0 ? rc : 1;
}

/* The phase that a call has on a device, or NULL. */
static const struct span *find_phase(const struct spans_answer *answer, const struct span *call)
{
    for (uint32_t place = call->launch; place != SPAN_NONE;) {
        const struct span *span = &answer->spans.items[place];

        if (answer->op_kinds[span->op] == SPAN_PHASE)
            return span;
        place = span->next;
    }
    return NULL;
}

/* The event that a call waits for: of those in its time the one that fills most of it, as another
 * thread may wait meanwhile. NULL: there is none. */
static const struct event_sync *find_sync(const struct stream_waits *waits, const struct span *call)
{
    const struct event_sync *best = NULL;
    size_t low = 0, high = waits->syncs.count;

    low = search_past(low, high, middle, waits->syncs.items[middle].start_ns < call->start_ns);
    for (; low < waits->syncs.count; low++) {
        const struct event_sync *sync = &waits->syncs.items[low];

        if (sync->start_ns > span_end_ns(call))
            break;
        if (sync->end_ns <= span_end_ns(call) &&
            (!best || sync->end_ns - sync->start_ns > best->end_ns - best->start_ns))
            best = sync;
    }
    return best;
}

int host_waits_of(const struct spans_answer *answer, const struct stream_waits *waits,
                  uint32_t call, struct awaited_streams *out_streams)
{
    const struct span *span = &answer->spans.items[call];
    const struct span *phase = find_phase(answer, span);
    int64_t session_id = answer->lanes.items[span->lane].session_id;
    struct adding adding = {out_streams, span->start_ns};
    const char *name = span_op(answer, span)->name;
    int rc;

    if (phase) {
        rc = stream_waits_named(answer, phase, add_lane, &adding);
        if (rc)
            return rc;
        if (strcmp(span_op(answer, phase)->name, "Stream Sync") == 0)
            return add_lane(&adding, phase->lane) < 0 ? -ENOMEM : 1;
        if (strcmp(span_op(answer, phase)->name, "Context Sync") == 0)
            return add_device(answer, session_id, answer->lanes.items[phase->lane].device, &adding);
    } else if (strstr(name, "EventSynchronize")) {
        const struct event_sync *sync = find_sync(waits, span);

        adding.until_ns = sync ? sync->recorded_ns : 0;
        return !sync ? 0 : add_lane(&adding, sync->source) < 0 ? -ENOMEM : 1;
    } else if (strstr(name, "DeviceSynchronize") || strstr(name, "CtxSynchronize")) {
        return add_device(answer, session_id, NULL, &adding);
    }
    return 0;
}
