/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until the store has everything. */
#include <errno.h>
#include <poll.h>

#include "client/connect.h"
#include "client/optrace.h"
#include "client/session.h"

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

/* The lock is held; it is let go of while waiting. */
static int flush(uint64_t deadline_ns)
{
    struct ot_session *session = &ot_session;
    const struct ot_wire_flush frame = {
        .header = ot_wire_header(OT_FRAME_FLUSH, sizeof(frame)),
        .token = ++session->flush_token,
    };
    uint32_t asked_link = 0;

    for (;;) {
        uint64_t now_ns;

        ot_connect_tick();
        ot_thread_follow(ot_ticks());
        if (session->flushed_token >= frame.token)
            return session->flushed_status;
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

int optrace_flush(uint32_t timeout_ms)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS;
    int rc;

    if (!ot_enter())
        return -EDEADLK;
    rc = flush(deadline_ns);
    ot_leave();
    return rc;
}
