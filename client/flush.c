/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until the store has everything. */
#include <errno.h>
#include <poll.h>

#include "client/connect.h"
#include "client/optrace.h"
#include "client/session.h"
#include "client/thread_end.h"
#include "client/thread_ring.h"

enum { SLICE_MS = 10 }; /* another thread may take the answer off the socket */
#define NS_PER_MS UINT64_C(1000000)

/* Let go of the lock until the socket has something, or a while has passed. */
static void wait_unlocked(uint64_t left_ns)
{
    const uint64_t left_ms = left_ns / NS_PER_MS + 1;
    /* A duplicate, since another thread may close the link meanwhile. */
    struct ot_fd copy = ot_fd_copy(&ot_session.link.fd);
    struct pollfd entry = {.fd = copy.number, .events = POLLIN};

    ot_leave();
    poll(&entry, 1, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS);
    ot_fd_close(&copy);
    ot_enter();
}

/* Records that are in no store, of threads that have not come to the present session yet. */
static bool is_behind(const struct ot_session *session)
{
    for (const struct ot_thread *thread = session->threads; thread; thread = thread->next)
        if (thread->hot && thread->ring && thread->epoch < session->epoch &&
            thread->epoch > session->saved_epoch && ot_thread_unread(thread) > 0)
            return true;
    return false;
}

static int answer(const struct ot_flush *flush, uint32_t flags)
{
    if (flush->status < 0)
        return flush->status;
    if ((flags & OPTRACE_DURABLE) && !flush->is_durable)
        return -EOPNOTSUPP;
    return is_behind(&ot_session) ? -ESTALE : 0;
}

/* The lock is held; it is let go of while waiting. */
static int wait_for_answer(const struct ot_flush *flush, uint32_t flags, uint64_t deadline_ns)
{
    struct ot_session *session = &ot_session;
    struct ot_wire_flush frame = {
        .header = ot_wire_header(OT_FRAME_FLUSH, sizeof(frame)),
        .token = flush->token,
    };
    uint32_t asked_link = 0;

    if (flags & OPTRACE_DURABLE)
        frame.header.flags = OT_FLUSH_DURABLE;
    for (;;) {
        uint64_t now_ns;

        ot_connect_tick();
        ot_thread_follow(ot_ticks());
        if (flush->is_answered)
            return answer(flush, flags);
        if (session->starts == 0 ||
            (session->phase == OT_PHASE_CLOSED && optrace_level() == OPTRACE_OFF))
            return -ENOTCONN;
        if (session->phase == OT_PHASE_OPEN && asked_link != session->link_number &&
            ot_connect_send(&frame, sizeof(frame)) == 0)
            asked_link = session->link_number;
        now_ns = ot_clock_ns(CLOCK_MONOTONIC);
        if (now_ns >= deadline_ns)
            return session->phase == OT_PHASE_OPEN ? -ETIMEDOUT : -ENOTCONN;
        wait_unlocked(deadline_ns - now_ns);
    }
}

/* Several threads may flush at once, and one may hear the answers of others. */
static int flush_all(uint32_t flags, uint64_t deadline_ns)
{
    struct ot_session *session = &ot_session;
    struct ot_flush flush = {.next = session->flushes, .token = ++session->flush_token};
    struct ot_flush **at = &session->flushes;
    int rc;

    session->flushes = &flush;
    rc = wait_for_answer(&flush, flags, deadline_ns);
    while (*at != &flush)
        at = &(*at)->next;
    *at = flush.next;
    return rc;
}

int optrace_flush_with(uint32_t timeout_ms, uint32_t flags)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS;
    int rc;

    if (flags & ~(uint32_t)OPTRACE_DURABLE)
        return -EINVAL;
    if (!ot_enter())
        return -EDEADLK;
    rc = flush_all(flags, deadline_ns);
    ot_leave();
    return rc;
}

int optrace_flush(uint32_t timeout_ms)
{
    return optrace_flush_with(timeout_ms, 0);
}
