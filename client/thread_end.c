/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a ring whose thread has ended, or whose session has. */
#include "client/thread_end.h"

#include "client/ended_losses.h"
#include "client/loss_ring.h"
#include "client/orphan.h"
#include "client/ring.h"
#include "client/session.h"

/* A ring that no new thread wants for so long goes back to the system. */
enum { SPARE_MS = 2000 };

static void take_off_spares(const struct ot_thread *thread)
{
    struct ot_thread **link = &ot_session.spares;

    while (*link && *link != thread)
        link = &(*link)->next_spare;
    if (*link)
        *link = thread->next_spare;
}

void ot_thread_free(struct ot_thread *thread)
{
    *thread->at = thread->next;
    if (thread->next)
        thread->next->at = thread->at;
    ot_thread_add_lost(thread, ot_session.lost);
    ot_thread_drop_ring(thread);
    ot_thread_drop_counters(thread);
    free(thread);
}

void ot_thread_orphan_ring(struct ot_thread *thread)
{
    ot_session.ring_records -= thread->ring->header.record_count;
    ot_session.ring_count--;
    ot_orphan_add(thread->ring, false);
    ot_fd_close(&thread->ring_fd);
    thread->ring = NULL;
}

void ot_thread_cut_off(struct ot_thread *thread)
{
    if (!thread->hot && !thread->is_lent) {
        take_off_spares(thread);
        ot_thread_orphan_ring(thread);
        ot_thread_free(thread);
    } else if (!thread->is_cut_off) {
        thread->is_cut_off = true;
        ot_thread_set_deadline(thread->hot, 0);
    }
}

void ot_thread_leave_cut_off(void)
{
    for (struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        if (thread->is_cut_off && !thread->is_lent && thread->ring) {
            ot_orphan_add(thread->ring, true);
            thread->is_lent = true;
        }
    }
}

bool ot_thread_is_left_behind(const struct ot_thread *thread)
{
    return thread->ring && !thread->is_given_up && thread->epoch < ot_session.epoch &&
           thread->epoch > ot_session.saved_epoch;
}

void ot_thread_leave_past(void)
{
    struct ot_thread *next;

    for (struct ot_thread *thread = ot_session.threads; thread; thread = next) {
        next = thread->next;
        if (thread->hot)
            continue;
        if (ot_thread_is_left_behind(thread))
            ot_loss_ring_add_left(thread->ring);
        take_off_spares(thread);
        ot_thread_free(thread);
    }
}

void ot_thread_give_up_past(void)
{
    for (struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        if (!ot_thread_is_left_behind(thread))
            continue;
        ot_loss_ring_add_left(thread->ring);
        thread->is_given_up = true;
    }
}

static void close_ring(struct ot_thread *thread)
{
    __atomic_store_n(&thread->ring->closed, 1, __ATOMIC_RELEASE);
}

void ot_thread_leave_ring(struct ot_thread *thread)
{
    struct ot_session *session = &ot_session;

    thread->ended_ns = ot_clock_ns(CLOCK_MONOTONIC);
    if (thread->epoch != session->epoch || session->starts == 0) {
        close_ring(thread);
        return;
    }
    thread->next_spare = session->spares;
    session->spares = thread;
}

/* The store has all that this thread left. */
static bool is_drained(const struct ot_thread *thread)
{
    const struct ot_session *session = &ot_session;

    return session->phase == OT_PHASE_OPEN && thread->handed_link == session->link_number &&
           ot_ring_tail(thread->ring) == ot_ring_head(ot_ring_load_state(thread->ring)) &&
           ot_ended_losses_are_stored(thread);
}

/* Rings that nobody has taken for a while are closed. */
static void close_spares(bool all)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_thread **link = &ot_session.spares;

    while (*link) {
        struct ot_thread *thread = *link;

        if (!all && thread->epoch == ot_session.epoch &&
            now_ns - thread->ended_ns < SPARE_MS * UINT64_C(1000000)) {
            link = &thread->next_spare;
            continue;
        }
        *link = thread->next_spare;
        close_ring(thread);
    }
}

void ot_thread_reap(bool all)
{
    struct ot_thread *next;

    close_spares(all);
    for (struct ot_thread *thread = ot_session.threads; thread; thread = next) {
        next = thread->next;
        if (thread->hot || (!all && (!__atomic_load_n(&thread->ring->closed, __ATOMIC_RELAXED) ||
                                     !is_drained(thread))))
            continue;
        if (thread->epoch > ot_session.saved_epoch && !thread->is_given_up && all)
            ot_loss_ring_add_left(thread->ring);
        ot_thread_free(thread);
    }
}

uint64_t ot_thread_unread(const struct ot_thread *thread)
{
    const uint64_t head = ot_ring_head(ot_ring_load_state(thread->ring));
    const uint64_t used = ot_ring_used(head, ot_ring_tail(thread->ring));

    return used <= thread->ring->header.record_count ? used : 0;
}

bool ot_thread_has_records(void)
{
    for (const struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        uint64_t state;

        if (!thread->ring ||
            (thread->epoch != ot_session.epoch && !ot_thread_is_left_behind(thread)))
            continue;
        state = ot_ring_load_state(thread->ring);
        if (ot_ring_depth(state) > 0 || ot_ring_tail(thread->ring) != ot_ring_head(state))
            return true;
    }
    return false;
}
