/* SPDX-License-Identifier: Apache-2.0 */
/* A new session: what threads and rings of the one before become. */
#include <errno.h>
#include <sys/random.h>

#include "client/loss_ring.h"
#include "client/orphan.h"
#include "client/session.h"
#include "client/thread_end.h"

int ot_session_renew(void)
{
    struct ot_session *session = &ot_session;
    const bool is_saved = session->epoch == session->saved_epoch;

    if (getrandom(session->uuid, sizeof(session->uuid), 0) != sizeof(session->uuid))
        return -errno;
    __atomic_store_n(&session->epoch, session->epoch + 1, __ATOMIC_SEQ_CST);
    ot_loss_ring_retire(is_saved);
    session->hello_count = 0;
    session->hello_ns = 0;
    session->session_id = 0;
    session->welcomed = false;
    ot_orphan_give_up();
    ot_thread_leave_past();
    ot_thread_call_all();
    return 0;
}
