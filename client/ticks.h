/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of all records: which one it is, what a tick is, whether a time in ticks has come. */
#ifndef OPTRACE_CLIENT_TICKS_H
#define OPTRACE_CLIENT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/hints.h"

struct ot_session;

/** Which clock the ticks are. Set once, before anything is recorded. */
enum ot_tick_clock { OT_TICKS_UNKNOWN, OT_TICKS_TSC, OT_TICKS_MONOTONIC };
extern enum ot_tick_clock ot_tick_clock;

uint64_t ot_ticks_monotonic(void) __attribute__((cold));

static inline uint64_t ot_ticks(void)
{
    if (LIKELY(__atomic_load_n(&ot_tick_clock, __ATOMIC_RELAXED) == OT_TICKS_TSC))
        return ot_clock_ticks();
    return ot_ticks_monotonic();
}

/** Whether a deadline, which is never set further ahead than a second, has come. The counter may
 *  have jumped back since: then it has, too. Needs no lock. */
bool ot_is_past(uint64_t deadline, uint64_t now);

/** Ticks in so many ns, which may be UINT64_MAX. Needs no lock. */
uint64_t ot_ns_to_ticks(uint64_t ns);

/** Ticks in a second, and in so many ms, which are few. Need no lock. */
uint64_t ot_ticks_per_s(void);
uint64_t ot_ms_to_ticks(uint64_t ms);

/** The three clocks; ticks are those of ot_ticks(). */
struct ot_clock_triple ot_ticks_triple(void);

/** Decide which clock the ticks are. Cheap after the first call; any thread. */
void ot_ticks_choose_clock(void);

/** Measure ticks_per_s against the session's origin, waiting until that lies 2 ms back. */
void ot_ticks_measure(struct ot_session *session);

#endif
