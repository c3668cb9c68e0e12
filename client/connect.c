/* SPDX-License-Identifier: Apache-2.0 */
/* The connection as a state machine: closed, greeted, open. */
#include "client/connect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/ended_losses.h"
#include "client/greet.h"
#include "client/loss_ring.h"
#include "client/orphan.h"
#include "client/schedule.h"
#include "client/session.h"
#include "client/thread_end.h"

enum {
    BACKOFF_MIN_MS = 10,
    BACKOFF_MAX_MS = 1000,
    WELCOME_TIMEOUT_MS = 5000,
    WITHOUT_OPS_MINOR = 3, /* the minor version that brought the flag */
    STUCK_TIMEOUT_MS = 200,
    CLOCK_FIRST_MS = 10, /* a good rate early; then twice as late each time, up to a second */
    CLOCK_LAST_MS = 1000,
    TELL_PAUSE_MS = 1000, /* between two SCHEDULEs that differ in nothing but the runs so far */
};
#define NS_PER_MS UINT64_C(1000000)

/* Close, and remember why: the next tick connects again. */
static void close_link(int error, const char *why)
{
    struct ot_session *session = &ot_session;

    ot_link_close(&session->link);
    session->phase = OT_PHASE_CLOSED;
    session->error = error;
    snprintf(session->problem, sizeof(session->problem), "%s", why);
    session->retry_ns = ot_clock_ns(CLOCK_MONOTONIC) + session->backoff_ms * NS_PER_MS;
    session->backoff_ms = session->backoff_ms ? session->backoff_ms * 2 : BACKOFF_MIN_MS;
    if (session->backoff_ms > BACKOFF_MAX_MS)
        session->backoff_ms = BACKOFF_MAX_MS;
}

/* A refusal is final: asking again would not change the answer. */
static void refuse(int error, const char *why)
{
    close_link(error, why);
    ot_session.refused = true;
    ot_session_set_saved(); /* it has the rings, and has its reasons */
    ot_schedule_refuse();
}

static void failed(int error, const char *what)
{
    char why[192];

    if (error == -EBADF)
        snprintf(why, sizeof(why), "the program closed the connection's descriptor");
    else
        snprintf(why, sizeof(why), "%s: %s", what, strerror(-error));
    close_link(error, why);
}

static void hear(void);

/* Why a socket cannot be connected to. */
static void unreachable(int error, const char *path)
{
    char why[OT_LINK_PATH_BYTES + 128];

    snprintf(why, sizeof(why), "user %u may not record at %s: ask for membership of its group",
             (unsigned)geteuid(), path);
    if (error == -EACCES)
        close_link(error, why);
    else
        failed(error, path);
}

static void connect_begin(void)
{
    struct ot_session *session = &ot_session;
    char path[OT_LINK_PATH_BYTES];
    int rc = ot_greet_path(session->settings.socket_path, path);

    if (rc == 0)
        rc = ot_link_open(&session->link, path);
    if (rc == 0) {
        session->phase = OT_PHASE_GREETED;
        session->greeted_ns = ot_clock_ns(CLOCK_MONOTONIC);
        rc = ot_greet_hello(session);
        if (rc == 0)
            return;
        hear(); /* it may have said why */
        if (session->phase == OT_PHASE_CLOSED)
            return;
    }
    unreachable(rc, path);
}

static void welcome_ok(const struct ot_wire_welcome *welcome)
{
    struct ot_session *session = &ot_session;

    if (!(welcome->features & OT_FEATURE_RINGS)) {
        refuse(-EPROTO, "the daemon takes no shared memory");
        return;
    }
    session->phase = OT_PHASE_OPEN;
    session->opened_ns = ot_clock_ns(CLOCK_MONOTONIC);
    session->clock_ns = session->opened_ns;
    session->session_id = welcome->session_id;
    session->link_number++;
    session->hello_count++;
    session->log_sent = 0;
    session->stuck = false;
    session->backoff_ms = 0;
    session->error = 0;
    session->welcomed = true;
    session->forked = false;
    session->features = welcome->features;
    __atomic_store_n(&session->unknown_run_flags,
                     welcome->version_minor < WITHOUT_OPS_MINOR ? OT_RECORD_WITHOUT_OPS : 0,
                     __ATOMIC_RELAXED);
    session->has_told = false;
    ot_schedule_set_level(welcome->level);
}

static void on_welcome(const uint8_t *frame, size_t length)
{
    struct ot_wire_welcome_view welcome;
    struct diag diag = {0};
    char why[192];

    if (ot_session.phase != OT_PHASE_GREETED ||
        ot_wire_decode_welcome(frame, length, &welcome, &diag) < 0) {
        refuse(-EPROTO, "the daemon's welcome makes no sense");
        return;
    }
    snprintf(why, sizeof(why), "%.*s", (int)welcome.text.length, welcome.text.bytes);
    switch (welcome.fixed.status) {
    case OT_WELCOME_OK:
        welcome_ok(&welcome.fixed);
        break;
    case OT_WELCOME_FULL:
        close_link(-EUSERS, why[0] ? why : "the daemon has too many clients");
        break;
    case OT_WELCOME_BUSY: /* it has not noticed yet that the old connection is gone */
        close_link(-EBUSY, why[0] ? why : "the session is connected already");
        break;
    case OT_WELCOME_ENDED:
        close_link(-ESTALE, why[0] ? why : "the session has ended");
        if (ot_session_renew() == 0)
            ot_session.retry_ns = 0;
        break;
    case OT_WELCOME_DENIED:
        refuse(-EACCES, why[0] ? why : "this user may not record there");
        break;
    default:
        refuse(-EPROTO, why[0] ? why : "the daemon speaks another version");
    }
}

static void on_bye(const uint8_t *frame, size_t length)
{
    struct ot_wire_bye_view bye;
    char why[192];

    if (ot_wire_decode_bye(frame, length, &bye, NULL) < 0) {
        refuse(-EPROTO, "the daemon's goodbye makes no sense");
        return;
    }
    snprintf(why, sizeof(why), "the daemon closed the connection: %.*s", (int)bye.text.length,
             bye.text.bytes);
    if (bye.fixed.reason == OT_BYE_PROTOCOL)
        refuse(-EPROTO, why);
    else
        close_link(-ECONNRESET, why);
}

static void on_flushed(const struct ot_wire_flushed *flushed)
{
    for (struct ot_flush *flush = ot_session.flushes; flush; flush = flush->next) {
        if (flush->token != flushed->token)
            continue;
        flush->is_answered = true;
        flush->is_durable = flushed->header.flags & OT_FLUSH_DURABLE;
        flush->status = flushed->status;
    }
}

static void on_frame(const uint8_t *frame, size_t length)
{
    struct ot_wire_header header;
    struct ot_wire_control control;
    struct ot_wire_flushed flushed;
    struct ot_wire_schedule schedule;
    struct ot_wire_refused refused;

    memcpy(&header, frame, sizeof(header));
    switch (header.type) {
    case OT_FRAME_WELCOME:
        on_welcome(frame, length);
        break;
    case OT_FRAME_CONTROL:
        if (ot_wire_decode_control(frame, length, &control, NULL) == 0)
            ot_schedule_set_level(control.level);
        break;
    case OT_FRAME_SCHEDULE:
        if (ot_wire_decode_schedule(frame, length, &schedule, NULL) == 0)
            ot_schedule_command(&schedule.plan);
        break;
    case OT_FRAME_FLUSHED:
        if (ot_wire_decode_flushed(frame, length, &flushed, NULL) == 0)
            on_flushed(&flushed);
        break;
    case OT_FRAME_REFUSED:
        if (ot_wire_decode_refused(frame, length, &refused, NULL) == 0)
            ot_session.refused_count += refused.refused_count;
        break;
    case OT_FRAME_BYE:
        on_bye(frame, length);
        break;
    default: /* of a newer version: skipped */
        break;
    }
}

static void hear(void)
{
    struct ot_session *session = &ot_session;

    while (session->phase != OT_PHASE_CLOSED) {
        const uint8_t *frame;
        int length = ot_link_receive(&session->link, &frame);

        if (length == -EAGAIN)
            return;
        if (length == -EPROTO && !session->welcomed)
            refuse(-EPROTO, "what listens there is no optrace daemon");
        else if (length < 0)
            failed(length, "the daemon is gone");
        else
            on_frame(frame, (size_t)length);
    }
}

static int push_log(void)
{
    struct ot_session *session = &ot_session;

    while (session->log_sent < session->log.length) {
        ssize_t sent = ot_link_stream(&session->link, session->log.bytes + session->log_sent,
                                      session->log.length - session->log_sent);

        if (sent < 0)
            return (int)sent;
        session->log_sent += (size_t)sent;
    }
    return 0;
}

/* Hand over the ring of a thread, which may be freed when that cannot be done. */
static int push_ring(struct ot_thread *thread)
{
    struct ot_session *session = &ot_session;
    struct ot_wire_ring frame = {
        .header = ot_wire_header(OT_FRAME_RING, sizeof(frame)),
        .ring_id = thread->ring_id,
    };
    int rc;

    if (!thread->ring || thread->epoch != session->epoch ||
        thread->handed_link == session->link_number)
        return 0;
    if (thread->is_cut_off || !ot_fd_is_ours(&thread->ring_fd)) {
        ot_thread_cut_off(thread);
        return 0;
    }
    frame.lane_id = thread->ring->header.lane_id; /* an inherited one keeps its first thread's */
    frame.record_count = thread->ring->header.record_count;
    frame.memory_bytes = ot_ring_bytes(frame.record_count);
    rc = ot_link_send(&session->link, &frame, sizeof(frame), thread->ring_fd.number);
    if (rc == 0)
        thread->handed_link = session->link_number;
    return rc;
}

static int push_rings(void)
{
    struct ot_thread *next;
    int rc = 0;

    for (struct ot_thread *thread = ot_session.threads; rc == 0 && thread; thread = next) {
        next = thread->next;
        rc = push_ring(thread);
    }
    return rc;
}

/* Rings whose descriptors the program has closed, of threads that have not moved on to others, or
 * have and it is not known yet what the daemon has read. Should the program die now, nobody could
 * say what is lost: so the daemon is told that it does not know. */
static void note_lacks(void)
{
    bool lacks = ot_orphan_is_left();

    for (const struct ot_thread *thread = ot_session.threads; !lacks && thread;
         thread = thread->next)
        lacks = thread->is_cut_off && !thread->is_lent && thread->ring &&
                (ot_thread_unread(thread) > 0 || !ot_ended_losses_are_stored(thread));
    ot_session.frame_flags = lacks ? OT_LACKS_RINGS : 0;
}

/* How the schedule goes: at once when its state changes, now and then while runs are counted. */
static int push_schedule(void)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_session *session = &ot_session;
    struct ot_wire_schedule frame;
    struct ot_wire_plan plan;
    int rc;

    if (!(session->features & OT_FEATURE_SCHEDULE) || !ot_schedule_tell(&plan))
        return 0;
    if (session->has_told && plan.command_id == session->told.command_id &&
        plan.state == session->told.state && plan.level == session->told.level &&
        (plan.position == session->told.position ||
         now_ns - session->told_ns < TELL_PAUSE_MS * NS_PER_MS))
        return 0;
    frame = ot_wire_schedule(&plan);
    rc = ot_link_send(&session->link, &frame, sizeof(frame), -1);
    if (rc < 0)
        return rc;
    session->told = plan;
    session->told_ns = now_ns;
    session->has_told = true;
    return 0;
}

int ot_connect_push(void)
{
    int rc;

    if (ot_session.phase != OT_PHASE_OPEN)
        return -ENOTCONN;
    rc = push_log();
    if (rc == 0)
        rc = push_rings();
    note_lacks();
    if (rc == 0)
        rc = ot_orphan_push();
    if (rc == 0)
        rc = ot_ended_losses_push();
    if (rc == 0)
        rc = ot_loss_ring_push();
    if (rc == 0)
        rc = push_schedule();
    note_lacks();
    if (rc == 0)
        ot_session.stuck = false;
    if (rc < 0 && rc != -EAGAIN) {
        hear(); /* it may have said why */
        if (ot_session.phase != OT_PHASE_CLOSED)
            failed(rc, "the daemon is gone");
        return -ENOTCONN;
    }
    return rc;
}

int ot_connect_push_waiting(void)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + STUCK_TIMEOUT_MS * NS_PER_MS;
    int rc = ot_connect_push();

    while (rc == -EAGAIN && !ot_session.stuck) {
        uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

        if (now_ns >= deadline_ns) {
            ot_session.stuck = true;
            break;
        }
        ot_link_wait(&ot_session.link, POLLOUT, (uint32_t)((deadline_ns - now_ns) / NS_PER_MS) + 1);
        rc = ot_connect_push();
    }
    return rc;
}

/* By a BYE all is counted. */
static void set_flags(void *frame)
{
    struct ot_wire_header header;

    memcpy(&header, frame, sizeof(header));
    header.flags &= (uint16_t)~OT_LACKS_RINGS;
    if (header.type != OT_FRAME_BYE)
        header.flags |= ot_session.frame_flags;
    memcpy(frame, &header, sizeof(header));
}

int ot_connect_send(void *frame, size_t length)
{
    int rc = ot_connect_push();

    if (rc == 0) {
        set_flags(frame);
        rc = ot_link_send(&ot_session.link, frame, length, -1);
    }
    if (rc < 0 && rc != -EAGAIN && rc != -ENOTCONN) {
        failed(rc, "the daemon is gone");
        rc = -ENOTCONN;
    }
    return rc;
}

static void send_clock(uint64_t now_ns)
{
    struct ot_session *session = &ot_session;
    uint64_t pause_ns = session->clock_ns - session->opened_ns;
    struct ot_clock_triple triple;
    struct ot_wire_clock frame = {.header = ot_wire_header(OT_FRAME_CLOCK, sizeof(frame))};

    if (pause_ns < CLOCK_FIRST_MS * NS_PER_MS)
        pause_ns = CLOCK_FIRST_MS * NS_PER_MS;
    if (pause_ns > CLOCK_LAST_MS * NS_PER_MS)
        pause_ns = CLOCK_LAST_MS * NS_PER_MS;
    /* Three quarters: threads come once in this time, each at its own moment. */
    if (now_ns - session->clock_ns < pause_ns / 4 * 3)
        return;
    triple = ot_ticks_triple();
    frame.ticks = triple.ticks;
    frame.monotonic_ns = triple.monotonic_ns;
    frame.realtime_ns = triple.realtime_ns;
    if (ot_connect_send(&frame, sizeof(frame)) == 0)
        session->clock_ns = now_ns;
}

void ot_connect_tick(void)
{
    struct ot_session *session = &ot_session;
    uint64_t now_ns;

    if (session->starts == 0 || session->refused)
        return;
    if (session->phase == OT_PHASE_CLOSED && ot_clock_ns(CLOCK_MONOTONIC) >= session->retry_ns)
        connect_begin();
    hear();
    ot_schedule_look();
    now_ns = ot_clock_ns(CLOCK_MONOTONIC); /* not before the times that were noted above */
    if (session->phase == OT_PHASE_GREETED &&
        now_ns - session->greeted_ns > WELCOME_TIMEOUT_MS * NS_PER_MS)
        close_link(-ETIMEDOUT, "the daemon did not answer");
    if (session->phase == OT_PHASE_OPEN && ot_connect_push() == 0)
        send_clock(now_ns);
    ot_thread_reap(false);
}

int ot_connect_wait(uint32_t timeout_ms, bool patient)
{
    struct ot_session *session = &ot_session;
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS;

    for (;;) {
        uint64_t now_ns;

        ot_connect_tick();
        if (session->phase == OT_PHASE_OPEN)
            return 0;
        now_ns = ot_clock_ns(CLOCK_MONOTONIC);
        if (session->refused || session->starts == 0)
            return session->error ? session->error : -ENOTCONN;
        /* A full backlog, or an old connection that the daemon still sees, is gone in a moment. */
        if (session->phase == OT_PHASE_CLOSED && !patient && session->error != -EAGAIN &&
            session->error != -EBUSY)
            return session->error;
        if (now_ns >= deadline_ns)
            return session->phase == OT_PHASE_CLOSED ? session->error : -ETIMEDOUT;
        if (session->phase == OT_PHASE_GREETED)
            ot_link_wait(&session->link, POLLIN,
                         (uint32_t)((deadline_ns - now_ns) / NS_PER_MS) + 1);
        else
            poll(NULL, 0, BACKOFF_MIN_MS);
    }
}
