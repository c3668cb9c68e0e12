/* SPDX-License-Identifier: Apache-2.0 */
/* A function for each type of frame that a client or a controller sends. */
#include "daemon/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/define.h"
#include "daemon/ingest.h"
#include "daemon/keep.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/privacy.h"

static bool is_alive(const struct producer *producer)
{
    return !producer->is_closing && !connection_is_hung_up(&producer->connection);
}

void producer_watch(struct producer *producer)
{
    int events = producer->is_paused || producer->group->reads_no_more ? 0 : UV_READABLE;

    if (producer->connection.out_bytes > 0)
        events |= UV_WRITABLE;
    if (events == producer->watched)
        return; /* libuv would take it out of epoll and put it back */
    producer->watched = events;
    if (events)
        uv_poll_start(&producer->poll, events, producer->on_poll);
    else
        uv_poll_stop(&producer->poll);
}

int frames_send(struct producer *producer, const void *bytes, size_t length)
{
    int rc = connection_write(&producer->connection, bytes, length);

    if (rc == 0)
        producer_watch(producer);
    return rc;
}

int frames_welcome(struct producer *producer, enum ot_wire_welcome_status status, uint16_t minor,
                   uint64_t features, const char *text)
{
    const struct producer_group *group = producer->group;
    const struct session *session = producer->session;
    struct ot_wire_welcome welcome = {
        .version_major = OT_WIRE_VERSION_MAJOR,
        .version_minor = minor < OT_WIRE_VERSION_MINOR ? minor : OT_WIRE_VERSION_MINOR,
        .status = status,
        .features = features,
        .session_id = session ? (uint64_t)session->session_id : 0,
        .inline_committed = session ? session->inline_next : 0,
        .level = session ? session->level : commands_default_level(&group->commands, producer->uid),
    };
    struct ot_text words = {.bytes = text, .length = strlen(text)};
    int length = ot_wire_encode_welcome(&welcome, words, group->scratch, OT_WIRE_FRAME_BYTES_MAX);

    return length < 0 ? length : frames_send(producer, group->scratch, (size_t)length);
}

/* What its client can do, and what it records from now on. */
static void take_up(struct producer *producer, const struct ot_wire_hello *hello)
{
    struct session *session = producer->session;

    session->features =
        hello->features & (OT_FEATURE_RINGS | OT_FEATURE_CONTROL | OT_FEATURE_SCHEDULE);
    commands_join(&producer->group->commands, session);
}

static int on_hello(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct session_peer peer = {.pid = producer->pid,
                                .uid = producer->uid,
                                .ticks_per_s = session_measure_rate(&producer->group->started),
                                .now_ns = ot_clock_ns(CLOCK_BOOTTIME)};
    enum ot_wire_welcome_status status;
    struct ot_wire_hello_view hello;
    char *command;
    int rc;

    if (producer->session)
        return diag_set(diag, -EPROTO, "HELLO for the second time");
    rc = ot_wire_decode_hello(frame, length, &hello, diag);
    if (rc == -EPROTONOSUPPORT)
        (void)frames_welcome(producer, OT_WELCOME_VERSION, OT_WIRE_VERSION_MINOR, 0, diag->text);
    if (rc < 0)
        return -EPROTO;
    command = privacy_hide_command(&hello, producer->group->keeps_commands);
    rc = collector_hello(producer->group->collector, producer, &hello, &peer, is_alive,
                         &producer->session, &status, diag);
    free(command);
    if (rc < 0)
        return rc;
    if (status != OT_WELCOME_OK) {
        (void)frames_welcome(producer, status, hello.fixed.version_minor, 0,
                             refusals_welcome(status));
        refusals_add(&producer->group->refusals, producer->pid, producer->uid,
                     refusals_welcome(status));
        return -ECONNREFUSED;
    }
    take_up(producer, &hello.fixed);
    producer->version_minor = hello.fixed.version_minor;
    log_detail("session %lld (pid %lld of user %lld) %s", (long long)producer->session->session_id,
               (long long)producer->pid, (long long)producer->uid,
               hello.fixed.connection ? "is back" : "begins");
    rc = frames_welcome(producer, OT_WELCOME_OK, hello.fixed.version_minor,
                        producer->session->features, "");
    if (rc == 0)
        commands_deliver(&producer->group->commands, producer->session);
    return rc;
}

static int on_schedule(struct producer *producer, const void *frame, size_t length,
                       struct diag *diag)
{
    struct ot_wire_schedule schedule;
    int rc = ot_wire_decode_schedule(frame, length, &schedule, diag);

    if (rc == 0)
        commands_take_report(&producer->group->commands, producer->session, &schedule.plan);
    return rc;
}

static int send_to_visit(void *context, const void *bytes, size_t length)
{
    return frames_send(context, bytes, length);
}

static int send_fd_to_visit(void *context, const void *bytes, size_t length, int fd)
{
    struct producer *producer = context;
    int rc = connection_write_fd(&producer->connection, bytes, length, fd);

    producer->heard_ns = ot_clock_ns(CLOCK_MONOTONIC);
    producer_watch(producer);
    return rc;
}

static int on_visit(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct producer_group *group = producer->group;
    struct ot_wire_visit visit;
    int rc = ot_wire_decode_visit(frame, length, &visit, diag);

    if (rc == -EPROTONOSUPPORT)
        (void)frames_welcome(producer, OT_WELCOME_VERSION, OT_WIRE_VERSION_MINOR, 0, diag->text);
    if (rc < 0)
        return -EPROTO;
    if (producer->is_visit)
        return diag_set(diag, -EPROTO, "VISIT for the second time");
    producer->is_visit = true;
    producer->visit = (struct visit){.host = &group->host,
                                     .context = producer,
                                     .send = send_to_visit,
                                     .send_fd = send_fd_to_visit,
                                     .scratch = group->scratch,
                                     .pid = producer->pid,
                                     .uid = producer->uid,
                                     .minor = visit.version_minor};
    log_detail("pid %lld of user %lld visits", (long long)producer->pid, (long long)producer->uid);
    return frames_welcome(producer, OT_WELCOME_OK, visit.version_minor,
                          visit.features & (OT_FEATURE_SCHEDULE | OT_FEATURE_VISIT), "");
}

static int on_clock(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct ot_clock_triple triple;
    enum tick_update update;
    struct ot_wire_clock clock;
    int rc = ot_wire_decode_clock(frame, length, &clock, diag);

    if (rc < 0)
        return rc;
    triple = (struct ot_clock_triple){clock.ticks, clock.monotonic_ns, clock.realtime_ns};
    update = tick_clock_update(&producer->session->clock, &triple, ot_clock_ns(CLOCK_BOOTTIME));
    if (update == TICK_TAKEN || update == TICK_JUMPED)
        producer->session->is_touched = true;
    if (update == TICK_JUMPED)
        log_peer(producer->pid,
                 "pid %lld: its counter of ticks jumped by %.3f s against the clock, times go on "
                 "from there; what cannot be placed is counted as lost",
                 (long long)producer->pid, (double)producer->session->clock.jump_ns / 1e9);
    return 0;
}

/* STRING, MODEL, OP, LANE */
static int on_definition(struct producer *producer, const void *frame, size_t length,
                         struct diag *diag)
{
    struct collector *collector = producer->group->collector;

    return define_take_frame(producer->session, frame, length, collector_ids(collector),
                             collector_open_batch(collector), diag);
}

static int on_ring(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct ot_wire_ring ring;
    int rc = ot_wire_decode_ring(frame, length, &ring, diag);
    int fd;

    if (rc < 0)
        return rc;
    fd = connection_take_fd(&producer->connection);
    if (fd < 0)
        return diag_set(diag, -EPROTO, "RING without a file descriptor");
    rc = session_add_ring(producer->session, fd, &ring, diag);
    if (rc == 0)
        keep_ring(producer->session, ring.ring_id, fd);
    close(fd);
    producer->wants_rings_read = true;
    return rc;
}

static int on_doorbell(struct producer *producer, const void *frame, size_t length,
                       struct diag *diag)
{
    struct ot_wire_doorbell doorbell;

    producer->wants_rings_read = true;
    return ot_wire_decode_doorbell(frame, length, &doorbell, diag);
}

/* Records that are missing between what came and what comes now. */
static void count_skipped(struct producer *producer, uint64_t first)
{
    struct session *session = producer->session;

    if (first > session->inline_next && !session->is_new_to_store)
        batch_add_gap(collector_open_batch(producer->group->collector), session->session_id,
                      STORE_NULL, ot_wire_loss_name(OT_LOSS_PRODUCER), first - session->inline_next,
                      STORE_NULL, STORE_NULL);
    session->is_new_to_store = false;
    if (first > session->inline_next)
        session->inline_next = first;
}

static int on_events(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct collector *collector = producer->group->collector;
    struct session *session = producer->session;
    struct ot_wire_events_view events;
    struct batch *batch = collector_room(collector);
    struct ingest ingest;
    uint64_t first;
    int rc = ot_wire_decode_events(frame, length, &events, diag);

    if (rc < 0)
        return rc;
    first = events.fixed.first_sequence;
    count_skipped(producer, first);
    ingest_init(&ingest, session, collector_open_batch(collector), false);
    for (uint32_t i = 0; i < events.fixed.record_count; i++) {
        struct ot_wire_record record = ot_wire_record_at(&events, i);

        if (first + i < session->inline_next)
            continue; /* sent again after a reconnection */
        if (batch)
            ingest_records(&ingest, &record, 1);
        else
            ingest_drop(&ingest, &record);
        session->inline_next = first + i + 1;
    }
    return 0;
}

static int on_gap(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct ot_ring_gap lost;
    struct ot_wire_gap gap;
    struct ingest ingest;
    int rc = ot_wire_decode_gap(frame, length, &gap, diag);

    if (rc < 0)
        return rc;
    lost = (struct ot_ring_gap){.lane_id = gap.lane_id,
                                .reason = gap.reason,
                                .lost_count = gap.lost_count,
                                .first_ticks = gap.first_ticks,
                                .last_ticks = gap.last_ticks};
    ingest_init(&ingest, producer->session, collector_open_batch(producer->group->collector),
                false);
    ingest_gap(&ingest, &lost, gap.lost_count);
    return 0;
}

static int on_flush(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct ot_wire_flush flush;
    int rc = ot_wire_decode_flush(frame, length, &flush, diag);

    if (rc < 0)
        return rc;
    if (producer->flush_count >= OT_WIRE_FLUSHES_MAX)
        return diag_set(diag, -EPROTO, "FLUSH: %d wait for their answers already",
                        OT_WIRE_FLUSHES_MAX);
    memory_must(array_push(&producer->flushes, flush));
    producer->flush_count++;
    return 0;
}

/* What a client sends that has handed over its rings; all of them, where it comes back, unless it
 * says that there are some that it cannot. */
static void note_progress(struct session *session, uint16_t type, uint16_t flags)
{
    const bool has_all = type == OT_FRAME_CLOCK || type == OT_FRAME_DOORBELL ||
                         type == OT_FRAME_FLUSH || type == OT_FRAME_BYE;

    if (has_all)
        session->is_coming_back = flags & OT_LACKS_RINGS;
    if (has_all || type == OT_FRAME_RING || type == OT_FRAME_GAP)
        session->has_begun = false;
}

static int on_bye(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct ot_wire_bye_view bye;
    int rc = ot_wire_decode_bye(frame, length, &bye, diag);

    if (rc < 0)
        return rc;
    note_progress(producer->session, OT_FRAME_BYE, 0);
    collector_end(producer->group->collector, producer->session, "done", NULL);
    producer->session = NULL;
    return -ESHUTDOWN;
}

typedef int frame_fn(struct producer *producer, const void *frame, size_t length,
                     struct diag *diag);

static frame_fn *const frame_fns[] = {
    [OT_FRAME_HELLO] = on_hello,       [OT_FRAME_CLOCK] = on_clock,
    [OT_FRAME_STRING] = on_definition, [OT_FRAME_MODEL] = on_definition,
    [OT_FRAME_OP] = on_definition,     [OT_FRAME_LANE] = on_definition,
    [OT_FRAME_RING] = on_ring,         [OT_FRAME_DOORBELL] = on_doorbell,
    [OT_FRAME_EVENTS] = on_events,     [OT_FRAME_GAP] = on_gap,
    [OT_FRAME_FLUSH] = on_flush,       [OT_FRAME_BYE] = on_bye,
    [OT_FRAME_SCHEDULE] = on_schedule,
};

static int handle_visit(struct producer *producer, uint16_t type, const void *frame, size_t length,
                        struct diag *diag)
{
    if (type == OT_FRAME_VISIT)
        return on_visit(producer, frame, length, diag);
    if (type == OT_FRAME_BYE)
        return -ESHUTDOWN;
    producer->heard_ns = ot_clock_ns(CLOCK_MONOTONIC);
    return visit_take_frame(&producer->visit, type, frame, length, diag);
}

int frames_take(struct producer *producer, uint16_t type, const void *frame, size_t length,
                struct diag *diag)
{
    struct collector *collector = producer->group->collector;
    bool is_known = type < sizeof(frame_fns) / sizeof(frame_fns[0]) && frame_fns[type];
    struct ot_wire_header header;
    int rc;

    if (producer->is_visit || (!producer->session && type == OT_FRAME_VISIT))
        return handle_visit(producer, type, frame, length, diag);
    if (!producer->session && type != OT_FRAME_HELLO)
        return diag_set(diag, -EPROTO, "the first frame is %s, not HELLO",
                        ot_wire_frame_name(type));
    if (!is_known && ot_wire_daemon_sends(type))
        return diag_set(diag, -EPROTO, "%s, which only the daemon sends", ot_wire_frame_name(type));
    if (!is_known && ot_wire_client_sends(type))
        return diag_set(diag, -EPROTO, "%s, which only a controller sends",
                        ot_wire_frame_name(type));
    if (!is_known)
        return 0; /* of a newer version */
    /* While the store fails, inline records are dropped and counted: the program must not wait. */
    if (!collector_turn(collector) &&
        !(type == OT_FRAME_EVENTS && collector_trouble(collector) < 0))
        return -EAGAIN;
    rc = frame_fns[type](producer, frame, length, diag);
    memcpy(&header, frame, sizeof(header));
    if (rc == 0 && producer->session)
        note_progress(producer->session, type, header.flags);
    return rc;
}
