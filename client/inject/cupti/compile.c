/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver compiles while the program runs, and loads from its cache or stores there: why the
 * first launches of a program take long. The records name the thread by a number that is CUPTI's, so
 * that they are on lanes of their own, one for each such thread.
 */
#include <stdio.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum { KEY_COMPILER = 130, KEY_COMPILER_LANE, LANES = 64 };

/* Words of {key, device, thread}. */
static uint64_t define_lane(const void *context)
{
    const uint64_t *words = context;
    char name[48];
    const struct optrace_lane_info info = {name, NULL, OPTRACE_LANE_QUEUE, words[2]};
    uint32_t number = 0;

    snprintf(name, sizeof(name), "compiler of cuda:%u", (uint32_t)words[1]);
    return recorder.lane_define(&info, &number) == 0 ? number : 0;
}

/* Threads may be many, and lanes are few. */
static uint32_t lane_of(uint32_t device, uint32_t thread)
{
    static uint32_t count; /* under the lock of decode.c */
    uint64_t key[] = {KEY_COMPILER_LANE, device, thread};
    uint32_t lane = (uint32_t)names_known(key, sizeof(key));

    if (lane == 0 && count >= LANES)
        key[2] = 0;
    else if (lane == 0)
        count++;
    return lane ? lane : (uint32_t)names_find_always(key, sizeof(key), define_lane, key);
}

/* Words of {key, entry, operation, device}. */
static uint64_t define(const void *context)
{
    static const char *const entries[] = {"", " (PTX to machine code)", " (NVVM to PTX)"};
    static const char *const operations[] = {"JIT", "JIT cache load", "JIT cache store",
                                             "JIT compilation"};
    const uint64_t *words = context;
    char name[64], device[24];
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "jit");
    uint32_t op = 0;

    snprintf(name, sizeof(name), "%s%s", operations[words[2]], entries[words[1]]);
    snprintf(device, sizeof(device), "cuda:%u", (uint32_t)words[3]);
    info.device = device;
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

void cupti_put_compilation(const struct cupti *cupti, const struct cupti_jit *record)
{
    const uint64_t key[] = {KEY_COMPILER, record->entry <= 2 ? record->entry : 0,
                            record->operation <= 3 ? record->operation : 0, record->device};
    const struct optrace_event event = {
        .kind = OPTRACE_KIND_SPAN,
        .flags = OPTRACE_EVENT_REALTIME,
        .op = (uint32_t)names_find_always(key, sizeof(key), define, key),
        .lane = lane_of(record->device,
                        cupti_record_has(cupti, CUPTI_JIT, sizeof(*record)) ? record->thread : 0),
        .run = cupti_run_of(record->correlation),
        .start = record->start,
        .end = record->end,
        .correlation = record->correlation};

    if (record->start != 0 && record->end >= record->start && event.op && event.lane)
        recorder.record(&event);
}
