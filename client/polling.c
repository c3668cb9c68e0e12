/* SPDX-License-Identifier: Apache-2.0 */
/* Looking after the session now and then, from calls that record or define. */
#include "client/polling.h"

#include "client/connect.h"
#include "client/optrace.h"
#include "client/schedule.h"
#include "client/session.h"

enum {
    LATE_TIMEOUT_MS = 5,  /* what a late daemon may cost a run's begin */
    POLL_PAUSE_MS = 1000, /* between looks for a daemon */
    HEAR_PAUSE_MS = 50,   /* between looks at what a daemon says */
    IDLE_CALLS_MAX = 63,  /* spans that are not recorded, between two looks at the clock */
};
#define NS_PER_MS UINT64_C(1000000)

/* Ticks of the next ot_poll() that does something; 0: not started. */
static uint64_t poll_ticks;

void ot_poll_again(void)
{
    const uint32_t pause_ms = ot_session.phase == OT_PHASE_CLOSED ? POLL_PAUSE_MS : HEAR_PAUSE_MS;
    const uint64_t due_ns = ot_schedule_due_in_ns();
    uint64_t pause_ns = pause_ms * NS_PER_MS;

    if (due_ns < pause_ns)
        pause_ns = due_ns;
    __atomic_store_n(&poll_ticks, ot_session.starts ? ot_ticks() + ot_ns_to_ticks(pause_ns) + 1 : 0,
                     __ATOMIC_RELAXED);
}

static bool is_poll_due(void)
{
    const uint64_t due = __atomic_load_n(&poll_ticks, __ATOMIC_RELAXED);

    return due != 0 && ot_is_past(due, ot_ticks());
}

/* One thread of those that come at the same time. */
static void poll_once(bool waits)
{
    if (!is_poll_due() || !ot_try_enter())
        return;
    if (ot_session.starts > 0 && is_poll_due()) {
        if (waits && ot_session.phase != OT_PHASE_OPEN)
            ot_connect_wait(LATE_TIMEOUT_MS, false);
        else
            ot_connect_tick();
        ot_poll_again();
    }
    ot_leave();
}

void ot_poll(void)
{
    poll_once(true);
}

uint16_t ot_poll_run(void)
{
    if (ot_schedule_count() && ot_enter()) {
        ot_schedule_look();
        ot_connect_push();
        ot_leave();
    }
    return ot_schedule_run_flags();
}

/* --- Looks of programs that record nothing but spans. --- */

__thread uint32_t optrace_idle_now;

static uint32_t choose_idle_calls(uint32_t calls, uint64_t elapsed_ticks)
{
    const uint64_t often = ot_ms_to_ticks(POLL_PAUSE_MS / 16);

    if (elapsed_ticks > often)
        return calls / 4;
    return calls * 2 + 1 < IDLE_CALLS_MAX ? calls * 2 + 1 : IDLE_CALLS_MAX;
}

/* The clock is looked at by each call where they are seldom, so that one of them comes in time, and
 * by each 64th where they are many, so that they stay cheap. */
void optrace_look(void)
{
    static _Thread_local uint64_t looked_ticks;
    static _Thread_local uint32_t calls;
    uint64_t now;

    if (__atomic_load_n(&poll_ticks, __ATOMIC_RELAXED) == 0) {
        optrace_idle_now = IDLE_CALLS_MAX;
        return;
    }
    now = ot_ticks();
    calls = choose_idle_calls(calls, now - looked_ticks);
    looked_ticks = now;
    optrace_idle_now = calls;
    poll_once(false);
}
