/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread has: deadline, lane, counters, losses, its ring given back. */
#include "client/thread.h"

#include <stdlib.h>

#include "client/hot.h"
#include "client/lane_pool.h"
#include "client/loss_ring.h"
#include "client/session.h"

void ot_thread_set_deadline(struct ot_hot *hot, uint64_t ticks)
{
    __atomic_store_n(&hot->due, ticks, __ATOMIC_RELAXED);
    /* Another thread's `counters` is not looked at: it is called with 0. */
    if (ticks != 0 && (!ot_fast_ticks_fit() || hot->counters))
        ticks = 0;
    __atomic_store_n(&hot->deadline, ticks, __ATOMIC_RELAXED);
}

void ot_thread_add_lost(const struct ot_thread *thread, uint64_t out_lost[OT_LOSS_NO_MEMORY + 1])
{
    for (int i = 0; i <= OT_LOSS_NO_MEMORY; i++)
        out_lost[i] += __atomic_load_n(&thread->lost[i], __ATOMIC_RELAXED);
}

void ot_thread_adapt_counters(struct ot_thread *thread)
{
    const uint32_t asked = ot_session.settings.counters;

    if (thread->counters && thread->counters->asked == asked)
        return;
    if (thread->counters)
        ot_counters_close(thread->counters);
    free(thread->counters);
    thread->counters = asked ? malloc(sizeof(*thread->counters)) : NULL;
    if (thread->counters) {
        ot_counters_open(thread->counters, asked);
        __atomic_store_n(&ot_hot.deadline, 0, __ATOMIC_RELAXED);
    }
    ot_hot.counters = thread->counters;
}

void ot_thread_drop_counters(struct ot_thread *thread)
{
    if (thread->counters)
        ot_counters_close(thread->counters);
    free(thread->counters);
    thread->counters = NULL;
}

int ot_thread_take_lane(struct ot_thread *thread, const char *name)
{
    int rc = thread->lane_id ? 0 : ot_lane_pool_take(name, &thread->lane_id);

    if (rc == 0)
        ot_hot.lane_run = thread->lane_id | (ot_hot.lane_run & ~(uint64_t)UINT32_MAX);
    return rc;
}

void ot_thread_drop_ring(struct ot_thread *thread)
{
    if (!thread->ring)
        return;
    ot_session.ring_records -= thread->ring->header.record_count;
    ot_session.ring_count--;
    ot_ring_destroy(&thread->ring, &thread->ring_fd);
}

void ot_thread_lose(uint32_t lane, enum ot_wire_loss reason, uint64_t now)
{
    struct ot_thread *thread = ot_hot.thread;

    if (thread && thread->is_short && reason == OT_LOSS_RING_FULL)
        reason = OT_LOSS_NO_MEMORY;
    if (!thread || ot_hot.state == OT_STATE_NONE) {
        reason = OT_LOSS_NO_MEMORY;
        ot_loss_ring_count(now, thread ? thread->pause_ticks : 0);
    } else {
        ot_ring_count_loss(ot_hot.ring, lane ? lane : thread->lane_id, reason, now,
                           thread->pause_ticks);
    }
    if (thread)
        __atomic_store_n(&thread->lost[reason], thread->lost[reason] + 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&ot_session.lost[reason], 1, __ATOMIC_RELAXED);
}

void ot_thread_call_all(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* who hears of it sees why */
    for (struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        if (thread->hot)
            ot_thread_set_deadline(thread->hot, 0);
    }
}

void ot_thread_lost(uint64_t out_lost[OT_LOSS_NO_MEMORY + 1])
{
    for (int i = 0; i <= OT_LOSS_NO_MEMORY; i++)
        out_lost[i] = __atomic_load_n(&ot_session.lost[i], __ATOMIC_RELAXED);
    for (const struct ot_thread *thread = ot_session.threads; thread; thread = thread->next)
        ot_thread_add_lost(thread, out_lost);
}
