/* SPDX-License-Identifier: Apache-2.0 */
/* A thread from its first record to its end, and its part of the housekeeping. */
#include "client/thread_life.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "client/connect.h"
#include "client/cost.h"
#include "client/hot.h"
#include "client/lane_pool.h"
#include "client/loss_ring.h"
#include "client/optrace.h"
#include "client/schedule.h"
#include "client/session.h"
#include "client/span_end.h"
#include "client/thread_end.h"
#include "client/thread_ring.h"

enum {
    FORK_TIMEOUT_MS = 100, /* what the first record of a forked child may wait */
    RETRY_MS = 10,         /* housekeeping while something is under way */
};

static pthread_key_t end_key;
static bool has_end_key;

/* As the destructor of a key: the thread's last act but those of other keys. */
static void ended(void *context)
{
    struct ot_thread *thread = context;

    if (!ot_enter())
        return;
    ot_span_end_all(ot_ticks());
    if (ot_thread_is_left_behind(thread) && ot_session.starts > 0)
        ot_thread_follow(ot_ticks()); /* nobody else takes its records along */
    thread->hot = NULL;
    ot_thread_drop_counters(thread);
    if (thread->lane_id)
        ot_lane_pool_give(thread->lane_id);
    ot_hot.counters = NULL;
    ot_hot.state = OT_STATE_NONE;
    ot_hot.stop = 0;
    ot_hot.ring = NULL;
    ot_hot.thread = NULL;
    if (thread->ring && thread->is_cut_off && !thread->is_lent)
        ot_thread_orphan_ring(thread);
    if (thread->ring)
        ot_thread_leave_ring(thread);
    else
        ot_thread_free(thread);
    ot_leave();
}

static void link_thread(struct ot_thread *thread)
{
    thread->next = ot_session.threads;
    thread->at = &ot_session.threads;
    if (thread->next)
        thread->next->at = &thread->next;
    ot_session.threads = thread;
}

int ot_thread_make(struct ot_thread **out_thread)
{
    struct ot_session *session = &ot_session;
    struct ot_thread *thread = ot_hot.thread;
    int rc;

    *out_thread = thread;
    if (thread)
        return 0;
    if (!has_end_key && pthread_key_create(&end_key, ended) != 0)
        return -ENOMEM;
    has_end_key = true;
    thread = calloc(1, sizeof(*thread));
    if (!thread)
        return -ENOMEM;
    rc = -pthread_setspecific(end_key, thread);
    if (rc < 0) {
        free(thread);
        return rc;
    }
    thread->hot = &ot_hot;
    thread->ring_fd = OT_FD_NONE;
    thread->pause_ticks = ot_ticks_per_s();
    link_thread(thread);
    ot_hot.thread = thread;
    ot_hot.correlation = (uint64_t)++session->thread_serial << 40;
    *out_thread = thread;
    return 0;
}

/* When the housekeeping of the connection is due again. */
static uint64_t connection_deadline(uint64_t now)
{
    const struct ot_session *session = &ot_session;
    const uint64_t since_open_ms = (session->clock_ns - session->opened_ns) / 1000000;

    if (session->starts == 0 || session->refused)
        return now + ot_ms_to_ticks(1000);
    if (session->phase == OT_PHASE_CLOSED)
        return now +
               ot_ms_to_ticks(session->backoff_ms > RETRY_MS ? session->backoff_ms : RETRY_MS);
    if (session->phase == OT_PHASE_GREETED || session->log_sent < session->log.length)
        return now + ot_ms_to_ticks(RETRY_MS);
    if (since_open_ms < 1000)
        return now + ot_ms_to_ticks(since_open_ms > RETRY_MS ? since_open_ms : RETRY_MS);
    return now + ot_ms_to_ticks(1000);
}

/* Also when the recording is to end by then, for programs that begin no runs. */
static uint64_t next_deadline(uint64_t now)
{
    const uint64_t deadline = connection_deadline(now);
    const uint64_t due = now + ot_ns_to_ticks(ot_schedule_due_in_ns());

    return due < deadline ? due : deadline;
}

/* Threads that live shorter than the housekeeping's pause do it as they come. */
static void set_next_deadline(uint64_t now)
{
    const uint64_t due = next_deadline(now);

    ot_session.due_ticks = due;
    ot_thread_set_deadline(&ot_hot, due);
}

/* Thousands of threads may be without a ring, and each would look through all of them. */
static bool is_crowded(uint64_t now)
{
    const struct ot_session *session = &ot_session;

    return now < session->crowded_ticks && session->ring_count >= session->crowded_count &&
           !session->spares;
}

static void note_crowd(uint64_t now)
{
    ot_session.crowded_ticks = now + ot_ms_to_ticks(RETRY_MS);
    ot_session.crowded_count = ot_session.ring_count;
}

static bool attach(struct ot_thread *thread, uint64_t now)
{
    int rc;

    if (ot_session.forked)
        ot_connect_wait(FORK_TIMEOUT_MS, false);
    if (is_crowded(now)) {
        ot_thread_lose_ring(thread, now);
        thread->retry_ticks = ot_session.crowded_ticks;
        return false;
    }
    rc = ot_thread_give_ring(thread, true);
    if (rc < 0) {
        if (rc == -ENOSPC)
            note_crowd(now);
        ot_loss_ring_make();
        ot_connect_push_waiting();
        ot_thread_lose_ring(thread, now);
        return false;
    }
    ot_thread_adapt_counters(thread);
    ot_cost_tell();
    ot_connect_push_waiting();
    return true;
}

bool ot_thread_attach(uint64_t now)
{
    struct ot_thread *thread = ot_hot.thread;
    bool has_ring = false;

    if ((thread && now < thread->retry_ticks) || !ot_enter())
        return false;
    if (ot_is_past(ot_session.due_ticks, now))
        ot_connect_tick();
    if (optrace_level() != OPTRACE_OFF && ot_thread_make(&thread) == 0 && !thread->ring) {
        has_ring = attach(thread, now);
        set_next_deadline(now);
    }
    ot_leave();
    return has_ring;
}

/* Its ring is of a session that has said goodbye, and another one has begun: what comes into it now
 * nobody reads. Without the lock. */
static bool is_of_the_past(const struct ot_thread *thread)
{
    const uint32_t epoch = __atomic_load_n(&ot_session.epoch, __ATOMIC_SEQ_CST);

    return thread && thread->ring && thread->epoch != epoch &&
           thread->epoch <= __atomic_load_n(&ot_session.saved_epoch, __ATOMIC_SEQ_CST);
}

/* Somebody else has the lock: again in a hundredth of a second; the session's numbers need it.
 * Returns false where that is too late. A session that begins meanwhile calls the thread, which may
 * have been forgotten over this. */
static bool put_off(uint64_t now)
{
    struct ot_thread *thread = ot_hot.thread;

    if (!thread)
        return true;
    if (is_of_the_past(thread))
        return false;
    ot_thread_set_deadline(&ot_hot, now + thread->pause_ticks / 100);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return !is_of_the_past(thread);
}

void ot_thread_service(uint64_t now)
{
    /* As for a thread's first record, there is no ring to go on with until the lock is free. */
    if (!ot_try_enter() && (put_off(now) || !ot_enter()))
        return;
    ot_connect_tick();
    ot_thread_follow(now); /* after the tick, which may find that the session has ended */
    set_next_deadline(now);
    ot_leave();
}

void ot_thread_fork_child(void)
{
    while (ot_session.threads) {
        struct ot_thread *thread = ot_session.threads;

        ot_session.threads = thread->next;
        ot_thread_drop_ring(thread);
        ot_thread_drop_counters(thread);
        free(thread);
    }
    ot_session.spares = NULL;
    ot_hot = (struct ot_hot){.state = OT_STATE_NONE,
                             .busy = ot_hot.busy,
                             .cancel_state = ot_hot.cancel_state,
                             .float_state = ot_hot.float_state};
    if (has_end_key)
        pthread_setspecific(end_key, NULL);
}
