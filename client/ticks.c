/* SPDX-License-Identifier: Apache-2.0 */
/* Which clock the ticks are, and how many there are in a second. */
#include "client/ticks.h"

#include <time.h>

#include "client/session.h"

#define MEASURE_NS UINT64_C(2000000)
#define NS_PER_S   UINT64_C(1000000000)

enum ot_tick_clock ot_tick_clock = OT_TICKS_UNKNOWN;

uint64_t ot_ticks_monotonic(void)
{
    return ot_clock_ns(CLOCK_MONOTONIC);
}

void ot_ticks_choose_clock(void)
{
    enum ot_tick_clock clock = __atomic_load_n(&ot_tick_clock, __ATOMIC_RELAXED);

    if (clock != OT_TICKS_UNKNOWN)
        return;
    /* Two threads may both come here: they find the same. */
    clock = ot_clock_ticks_are_invariant() ? OT_TICKS_TSC : OT_TICKS_MONOTONIC;
    __atomic_store_n(&ot_tick_clock, clock, __ATOMIC_RELAXED);
}

struct ot_clock_triple ot_ticks_triple(void)
{
    struct ot_clock_triple triple = ot_clock_read_triple();

    if (ot_tick_clock == OT_TICKS_MONOTONIC)
        triple.ticks = triple.monotonic_ns;
    return triple;
}

void ot_ticks_measure(struct ot_session *session)
{
    struct ot_clock_triple now;
    uint64_t elapsed_ns = ot_clock_ns(CLOCK_MONOTONIC) - session->origin.monotonic_ns;
    double per_s;

    if (ot_tick_clock == OT_TICKS_MONOTONIC) {
        __atomic_store_n(&session->ticks_per_s, NS_PER_S, __ATOMIC_RELAXED);
        return;
    }
    if (elapsed_ns < MEASURE_NS)
        nanosleep(&(struct timespec){.tv_nsec = (long)(MEASURE_NS - elapsed_ns)}, NULL);
    now = ot_clock_read_triple();
    per_s = (double)(now.ticks - session->origin.ticks) * (double)NS_PER_S /
            (double)(now.monotonic_ns - session->origin.monotonic_ns);
    __atomic_store_n(&session->ticks_per_s, (uint64_t)per_s, __ATOMIC_RELAXED);
}

uint64_t ot_ticks_per_s(void)
{
    return __atomic_load_n(&ot_session.ticks_per_s, __ATOMIC_RELAXED);
}

uint64_t ot_ms_to_ticks(uint64_t ms)
{
    return ot_ticks_per_s() / 1000 * ms;
}

uint64_t ot_ns_to_ticks(uint64_t ns)
{
    const double ticks = (double)ns * 1e-9 * (double)ot_ticks_per_s();

    return ticks < (double)(INT64_MAX / 2) ? (uint64_t)(int64_t)ticks : INT64_MAX / 2;
}

bool ot_is_past(uint64_t deadline, uint64_t now)
{
    return now >= deadline || deadline - now > 2 * ot_ticks_per_s();
}
