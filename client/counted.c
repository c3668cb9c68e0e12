/* SPDX-License-Identifier: Apache-2.0 */
/* Counters at the begin and the end of a thread's own spans. */
#include "client/counted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cost.h"
#include "client/define.h"
#include "client/optrace.h"
#include "client/session.h"
#include "client/thread_ring.h"

static_assert((int)OT_COUNTERS <= (int)OPTRACE_COUNTERS_MAX, "room for all counters");

static bool is_wanted(uint64_t kind_word)
{
    const uint32_t op = (uint32_t)(kind_word >> 32);

    if ((uint16_t)kind_word == OT_RECORD_RUN)
        return false;
    return !ot_define_is_phase(op);
}

void ot_counted_begin(struct ot_hot *hot, uint64_t kind_word)
{
    struct ot_counters *counters = hot->counters;
    const uint64_t depth = ot_ring_depth(hot->state);

    counters->is_counted[depth] = is_wanted(kind_word);
    if (!counters->is_counted[depth])
        return;
    ot_counters_read(counters);
    memcpy(counters->begun[depth], counters->values, sizeof(counters->values));
}

static void write_value(struct ot_hot *hot, enum ot_counter counter, uint64_t lane_run,
                        uint64_t ticks, double value, uint64_t now)
{
    if (ot_ring_head(hot->state) >= hot->stop && !ot_thread_make_room(now)) {
        ot_thread_lose(0, OT_LOSS_RING_FULL, now);
        return;
    }
    ot_put_counter(hot, ot_session.counters.ops[counter], lane_run, ticks, value);
}

uint32_t ot_counted_told(const struct ot_counters *counters)
{
    const uint32_t unscheduled = UINT32_C(1) << OT_COUNTER_UNSCHEDULED;

    return counters->values[OT_COUNTER_UNSCHEDULED] > 0 ? counters->open | unscheduled
                                                        : counters->open;
}

void ot_counted_end(struct ot_hot *hot, uint64_t now)
{
    const struct ot_counters *counters = hot->counters;
    const uint64_t depth = ot_ring_depth(hot->state) - 1;
    const struct ot_wire_record *entry = &hot->ring->open[depth];
    const uint64_t lane_run = ot_record_load(entry, OT_WORD_LANE);
    const uint64_t start = ot_record_load(entry, OT_WORD_START);
    const uint64_t kern = ot_record_load(entry, OT_WORD_KERN);
    const uint64_t end_min = kern > start ? kern : start;
    const uint64_t end = now < end_min ? end_min : now;
    const uint32_t mask = ot_counted_told(counters);

    if (!counters->is_counted[depth])
        return;
    for (int i = 0; i < OT_COUNTERS; i++) {
        if (!(mask & UINT32_C(1) << i))
            continue;
        write_value(hot, (enum ot_counter)i, lane_run, start, counters->begun[depth][i], now);
        write_value(hot, (enum ot_counter)i, lane_run, end, counters->values[i], now);
    }
}
