/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: who comes and comes back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector_private.h"
#include "daemon/drain.h"
#include "daemon/keep.h"
#include "daemon/log.h"
#include "daemon/machine.h"
#include "daemon/memory.h"
#include "daemon/resume.h"
#include "daemon/room.h"

enum { STRAYS_MS = 10000 }; /* look again for sessions whose client never came back */

/* A crowd that comes at once is told of one look at the machine: each opens half a dozen files. */
static const uint64_t ENVIRONMENT_NS = UINT64_C(10000000000);

/* The session of this uuid: here, or from the store. Returns as session_resume(). */
static int find_or_resume(struct collector *collector, const uint8_t uuid[16],
                          struct session **out_session, struct diag *diag)
{
    struct session *session = roster_find(&collector->roster, uuid);
    int rc = 0;

    if (!session) {
        rc = session_resume(collector->reader, uuid, &collector->budget, &session, diag);
        if (rc < 0)
            return rc;
        roster_add(&collector->roster, session);
        session_watch_process(session);
        collector_leave(collector, session); /* until its client is back */
    }
    *out_session = session;
    return 0;
}

static const char *environment(struct collector *collector)
{
    const uint64_t now_ns = alarm_now_ns(CLOCK_MONOTONIC);

    if (!collector->environment || now_ns - collector->environment_ns >= ENVIRONMENT_NS) {
        free(collector->environment);
        collector->environment = machine_describe();
        collector->environment_ns = now_ns;
    }
    return collector->environment;
}

/* Until it is in the store, nobody could say that something of it is lost. A crowd that comes at
 * once shares a commit. */
static void note_new_session(struct collector *collector)
{
    collector->has_new = true;
    if (collector->open->first_ns == 0)
        collector->open->first_ns = alarm_now_ns(CLOCK_MONOTONIC);
    alarm_set_within(&collector->alarm, NEW_SESSION_MS);
}

int collector_hello(struct collector *collector, struct producer *producer,
                    const struct ot_wire_hello_view *hello, struct session_peer *peer,
                    bool (*is_alive)(const struct producer *producer), struct session **out_session,
                    enum ot_wire_welcome_status *out_status, struct diag *diag)
{
    struct session *session = NULL;
    int rc;

    peer->budget = &collector->budget;
    rc = find_or_resume(collector, hello->fixed.uuid, &session, diag);
    if (rc == -ENOENT && !room_for_session(collector, peer)) {
        *out_status = OT_WELCOME_FULL;
        return 0;
    }
    if (rc == -ENOENT) {
        peer->environment = environment(collector);
        rc = session_create(hello, peer, &collector->ids, collector->open, &session, diag);
        peer->environment = NULL;
        if (rc == 0)
            roster_add(&collector->roster, session);
        note_new_session(collector);
    }
    if (rc == -ESTALE || (rc == 0 && session->uid != peer->uid)) {
        *out_status = OT_WELCOME_ENDED;
        return 0;
    }
    /* Who hears that a session has ended takes what is left in its rings to another one: not before
     * they have been given back what was read. */
    if (rc == 0 && (session->end_reason || (session->producer && is_alive(session->producer)))) {
        *out_status = OT_WELCOME_BUSY;
        return 0;
    }
    if (rc < 0)
        return rc;
    rc = session_come_back(session, hello, peer, diag);
    if (rc < 0)
        return rc;
    session_watch_process(session);
    if (session->producer)
        collector->events.on_replaced(collector->events.context, session->producer);
    session->producer = producer;
    session->frames_wait = false;
    session->caught_up_ns = alarm_now_ns(CLOCK_MONOTONIC); /* its definitions come now */
    collector_schedule(collector);
    *out_session = session;
    *out_status = OT_WELCOME_OK;
    return 0;
}

void collector_adopt_ring(struct collector *collector, const struct notify_fd *kept)
{
    struct session *session = NULL;
    struct ot_wire_ring announced;
    struct diag diag = {0};
    uint8_t uuid[16];
    int rc = keep_identify(kept->fd, uuid, &announced, &diag);

    if (rc == 0) {
        rc = find_or_resume(collector, uuid, &session, &diag);
        if (rc < 0)
            diag_set(&diag, rc, "its session %s", rc == -ENOENT ? "is not known" : "has ended");
    }
    if (rc == 0)
        rc = session_add_ring(session, kept->fd, &announced, &diag);
    if (rc == 0) {
        memory_must(array_push(&session->kept_rings, announced.ring_id));
        return;
    }
    log_say("cannot take %s up again: %s", kept->name, diag.text);
    notify_forget(kept->name);
}

void collector_end_strays(void *context)
{
    struct collector *collector = context;
    struct diag diag = {0};
    int living =
        resume_end_strays(collector->reader, collector->roster.first, collector->open, &diag);

    if (living < 0)
        log_say("%s", diag.text);
    if (living > 0)
        alarm_set(&collector->strays_alarm, STRAYS_MS);
    collector_schedule(collector);
}
