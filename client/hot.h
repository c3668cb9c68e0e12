/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions that record have in common. */
#ifndef OPTRACE_CLIENT_HOT_H
#define OPTRACE_CLIENT_HOT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hints.h"
#include "client/ring.h"
#include "client/thread.h"

/** One deeper, in ot_hot.state. */
#define OT_DEPTH_ONE (UINT64_C(1) << 48)

/** The time on the fast way of begin and end, which on x86-64 asks not whether the TSC is the
 * clock: where it is not, ot_hot.deadline is 0, and the slow way that this leads to reads the clock
 * that is. */
static inline uint64_t ot_fast_ticks(void)
{
#if defined(__x86_64__)
    return ot_clock_ticks();
#else
    return ot_ticks();
#endif
}

/** Whether that is the time. */
static inline bool ot_fast_ticks_fit(void)
{
#if defined(__x86_64__)
    return __atomic_load_n(&ot_tick_clock, __ATOMIC_RELAXED) == OT_TICKS_TSC;
#else
    return true;
#endif
}

/** Let the daemon see what was stored into the ring. */
static inline void ot_publish(struct ot_hot *hot, uint64_t state)
{
    hot->state = state;
    __atomic_store_n(&hot->ring->state, state, __ATOMIC_RELEASE);
}

/** Write the value of a counter; there is room for it. Not on the fast way. */
static inline void ot_put_counter(struct ot_hot *hot, uint32_t op, uint64_t lane_run,
                                  uint64_t ticks, double value)
{
    struct ot_wire_record *record = &hot->ring->records[hot->state & hot->mask];
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    ot_record_store(record, OT_WORD_KIND, ot_record_kind_word(OT_RECORD_COUNTER, 0, op));
    ot_record_store(record, OT_WORD_LANE, lane_run);
    ot_record_store(record, OT_WORD_START, ticks);
    ot_record_store(record, OT_WORD_END, 0);
    ot_record_store(record, OT_WORD_KERN, 0);
    ot_record_store(record, OT_WORD_CORRELATION, 0);
    ot_record_store(record, OT_WORD_BYTES, bits);
    ot_record_store(record, OT_WORD_ADDRESS, 0);
    ot_publish(hot, hot->state + 1);
}

static inline bool ot_is_due(const struct ot_hot *hot, uint64_t now)
{
    return now >= __atomic_load_n(&hot->deadline, __ATOMIC_RELAXED);
}

/** Whether the housekeeping is due, or somebody calls for it. */
static inline bool ot_is_called(const struct ot_hot *hot, uint64_t now)
{
    return now >= __atomic_load_n(&hot->due, __ATOMIC_RELAXED);
}

#endif
