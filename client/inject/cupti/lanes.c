/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of streams, with the names of what they are of. */
#include <stdio.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum { KEY_LANE = 110, GREEN_CONTEXTS = 64 };

struct lane {
    uint64_t kind; /* tells these keys from others */
    uint32_t device, context, stream, pad;
};

/* Parts of a device that have processors of their own; under the lock. */
static struct {
    uint32_t context, multiprocessors;
} green[GREEN_CONTEXTS];

void cupti_note_context(const struct cupti *cupti, const struct cupti_context *record)
{
    const size_t at = record->context % GREEN_CONTEXTS;

    if (!CUPTI_HAS(cupti, CUPTI_CONTEXT, cupti_context, multiprocessors) || !record->is_green)
        return;
    green[at].context = record->context;
    green[at].multiprocessors =
        CUPTI_HAS(cupti, CUPTI_CONTEXT, cupti_context, cig_mode) ? record->multiprocessors : 0;
}

static uint64_t define_lane(const void *context)
{
    const struct lane *lane = context;
    const uint32_t count = green[lane->context % GREEN_CONTEXTS].multiprocessors;
    char name[96], device[24], processors[16] = "";
    struct optrace_lane_info info = {name, device, OPTRACE_LANE_STREAM, lane->stream};
    uint32_t number = 0;

    if (count)
        snprintf(processors, sizeof(processors), "%u", count);

    snprintf(device, sizeof(device), "cuda:%u", lane->device);
    if (green[lane->context % GREEN_CONTEXTS].context == lane->context && lane->context)
        snprintf(name, sizeof(name), "stream %u of green context %u%s%s%s", lane->stream,
                 lane->context, processors[0] ? " (" : "", processors,
                 processors[0] ? " multiprocessors)" : "");
    else if (lane->context > 1)
        snprintf(name, sizeof(name), "stream %u of context %u", lane->stream, lane->context);
    else
        snprintf(name, sizeof(name), "stream %u", lane->stream);
    return recorder.lane_define(&info, &number) == 0 ? number : 0;
}

uint32_t cupti_lane_find(uint32_t device, uint32_t context, uint32_t stream)
{
    const struct lane lane = {KEY_LANE, device, context, stream, 0};

    return (uint32_t)names_find_always(&lane, sizeof(lane), define_lane, &lane);
}
