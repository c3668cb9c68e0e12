/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of streams, with the names of what they are of. */
#include <stdio.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum { KEY_LANE = 110, KEY_GREEN = 132 };

struct lane {
    uint64_t kind; /* tells these keys from others */
    uint32_t device, context, stream, pad;
};

/* A part of a device that has processors of its own. Its streams are named by it also when it is gone:
 * their records may come after those of many others. */
struct green {
    uint64_t kind;
    uint64_t context;
};

/* One more than it has, where that is known; else 1. */
static uint64_t count_multiprocessors(const void *count)
{
    return *(const uint16_t *)count + UINT64_C(1);
}

void cupti_note_context(const struct cupti *cupti, const struct cupti_context *record)
{
    const struct green green = {KEY_GREEN, record->context};
    uint16_t count;

    if (!CUPTI_HAS(cupti, CUPTI_CONTEXT, cupti_context, multiprocessors) || !record->is_green)
        return;
    count = CUPTI_HAS(cupti, CUPTI_CONTEXT, cupti_context, cig_mode) ? record->multiprocessors : 0;
    names_find_always(&green, sizeof(green), count_multiprocessors, &count);
}

static uint64_t define_lane(const void *context)
{
    const struct lane *lane = context;
    const struct green green = {KEY_GREEN, lane->context};
    const uint64_t count = names_known(&green, sizeof(green)); /* 0: it is none */
    char name[96], device[24], processors[16] = "";
    struct optrace_lane_info info = {name, device, OPTRACE_LANE_STREAM, lane->stream};
    uint32_t number = 0;

    if (count > 1)
        snprintf(processors, sizeof(processors), "%u", (uint32_t)count - 1);
    snprintf(device, sizeof(device), "cuda:%u", lane->device);
    if (count > 0)
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
