/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions that record have in common. */
#ifndef OPTRACE_CLIENT_HOT_H
#define OPTRACE_CLIENT_HOT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "client/ring.h"
#include "client/thread.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define COLD                __attribute__((noinline, cold))

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

/** End all spans of the calling thread, which ends. */
void ot_span_end_all(uint64_t now);

static inline bool ot_is_due(const struct ot_hot *hot, uint64_t now)
{
    return now >= __atomic_load_n(&hot->deadline, __ATOMIC_RELAXED);
}

/** On the slow way: whether it was taken for the housekeeping. */
static inline bool ot_is_called(const struct ot_hot *hot, uint64_t now)
{
    return now >= __atomic_load_n(&hot->due, __ATOMIC_RELAXED);
}

#endif
