/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of one client, in order; who breaks the contract is told why and cut off. */
#include "daemon/producer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/connection.h"
#include "daemon/define.h"
#include "daemon/ingest.h"
#include "daemon/keep.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/fairness.h"
#include "daemon/privacy.h"

enum { REFUSED_MINOR = 2 }; /* the minor version that brought REFUSED */

struct producer {
    struct producer_group *group;
    struct producer *previous, *next;
    struct connection connection;
    uv_poll_t poll;
    struct session *session; /* from HELLO on */
    struct visit visit;      /* from VISIT on, instead */
    bool is_visit;
    pid_t pid;
    uid_t uid;
    uint16_t version_minor; /* the client's: it gets no newer frames */
    uint64_t heard_ns;      /* CLOCK_MONOTONIC of the accept; of a controller's latest frame */
    ARRAY_OF(struct ot_wire_flush) flushes; /* to be answered once the rings are read */
    size_t flush_count;                     /* not answered yet, these included */
    bool has_mark;                          /* on the rings, for these flushes */
    bool wants_rings_read;                  /* DOORBELL or RING came */
    bool is_paused;                         /* not read until there is room */
    size_t last_bytes; /* once nothing more is read: what is left of what was sent before */
    bool is_closing;
};

/* Of CONNECTION_READ_BYTES: about as many records as a session's rings may bring. */
enum { READS_PER_TURN = 4 };

static void on_poll(uv_poll_t *poll, int status, int events);

/* --- Coming and going --- */

static void free_producer(uv_handle_t *handle)
{
    struct producer *producer = handle->data;

    array_deinit(&producer->flushes);
    visit_deinit(&producer->visit);
    free(producer);
}

/* `next` stays, for those who walk the list; the memory lives until the loop has come round. */
static void close_producer(struct producer *producer)
{
    struct producer_group *group = producer->group;

    producer->is_closing = true;
    saves_forget(&group->saves, producer);
    collector_forget(group->collector, producer);
    if (producer->previous)
        producer->previous->next = producer->next;
    else
        group->first = producer->next;
    if (producer->next)
        producer->next->previous = producer->previous;
    group->count--;
    uv_close((uv_handle_t *)&producer->poll, free_producer);
    connection_deinit(&producer->connection);
    group->on_left(group->context);
}

/* What libuv is to wait for. */
static void watch(struct producer *producer)
{
    int events = producer->is_paused || producer->group->reads_no_more ? 0 : UV_READABLE;

    if (producer->connection.out_bytes > 0)
        events |= UV_WRITABLE;
    if (events)
        uv_poll_start(&producer->poll, events, on_poll);
    else
        uv_poll_stop(&producer->poll);
}

/* The connection is gone, without a word. */
static void leave(struct producer *producer)
{
    if (producer->connection.in_bytes > 0)
        log_peer(producer->pid, "pid %lld of user %lld left in the middle of a frame",
                 (long long)producer->pid, (long long)producer->uid);
    if (producer->session)
        collector_leave(producer->group->collector, producer->session);
    producer->session = NULL;
    close_producer(producer);
}

/* The last words to a client; whether they arrive does not matter. */
static void say_bye(struct producer *producer, enum ot_wire_bye_reason reason, const char *text)
{
    struct ot_text words = {.bytes = text, .length = strlen(text)};
    int length =
        ot_wire_encode_bye(reason, words, producer->group->scratch, OT_WIRE_FRAME_BYTES_MAX);

    if (length > 0)
        (void)connection_write(&producer->connection, producer->group->scratch, (size_t)length);
}

void producer_note_refusal(struct producer_group *group, pid_t pid, uid_t uid, const char *text)
{
    log_peer(pid, "refused pid %lld of user %lld: %s", (long long)pid, (long long)uid, text);
    refusals_add(&group->refusals, pid, uid, text);
}

static void cut_off(struct producer *producer, const char *text)
{
    char reason[OT_WIRE_REMARK_BYTES_MAX];

    log_peer(producer->pid, "cut off pid %lld of user %lld: %s", (long long)producer->pid,
             (long long)producer->uid, text);
    snprintf(reason, sizeof(reason), "cut off: %s", text);
    refusals_add(&producer->group->refusals, producer->pid, producer->uid, reason);
    say_bye(producer, OT_BYE_PROTOCOL, text);
    if (producer->session)
        collector_end(producer->group->collector, producer->session, "cut off", text);
    producer->session = NULL;
    close_producer(producer);
}

static bool is_alive(const struct producer *producer)
{
    return !producer->is_closing && !connection_is_hung_up(&producer->connection);
}

/* --- Frames. Each returns 0; -EPROTO with the reason; -EAGAIN to be called again later; another
 * negative errno when the connection is of no use any more. --- */

static int send_bytes(struct producer *producer, const void *bytes, size_t length)
{
    int rc = connection_write(&producer->connection, bytes, length);

    if (rc == 0)
        watch(producer);
    return rc;
}

/* `minor` is the peer's version. */
static int send_welcome(struct producer *producer, enum ot_wire_welcome_status status,
                        uint16_t minor, uint64_t features, const char *text)
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

    return length < 0 ? length : send_bytes(producer, group->scratch, (size_t)length);
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
        (void)send_welcome(producer, OT_WELCOME_VERSION, OT_WIRE_VERSION_MINOR, 0, diag->text);
    if (rc < 0)
        return -EPROTO;
    command = privacy_hide_command(&hello, producer->group->keeps_commands);
    rc = collector_hello(producer->group->collector, producer, &hello, &peer, is_alive,
                         &producer->session, &status, diag);
    free(command);
    if (rc < 0)
        return rc;
    if (status != OT_WELCOME_OK) {
        (void)send_welcome(producer, status, hello.fixed.version_minor, 0,
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
    rc = send_welcome(producer, OT_WELCOME_OK, hello.fixed.version_minor,
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

void producer_send(struct producer *producer, const void *frame, size_t length)
{
    if (!producer->is_closing && send_bytes(producer, frame, length) < 0)
        cut_off(producer, "it does not read what it is sent");
}

static int send_to_visit(void *context, const void *bytes, size_t length)
{
    return send_bytes(context, bytes, length);
}

static int send_fd_to_visit(void *context, const void *bytes, size_t length, int fd)
{
    struct producer *producer = context;
    int rc = connection_write_fd(&producer->connection, bytes, length, fd);

    producer->heard_ns = ot_clock_ns(CLOCK_MONOTONIC);
    watch(producer);
    return rc;
}

static int on_visit(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct producer_group *group = producer->group;
    struct ot_wire_visit visit;
    int rc = ot_wire_decode_visit(frame, length, &visit, diag);

    if (rc == -EPROTONOSUPPORT)
        (void)send_welcome(producer, OT_WELCOME_VERSION, OT_WIRE_VERSION_MINOR, 0, diag->text);
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
    return send_welcome(producer, OT_WELCOME_OK, visit.version_minor,
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

static int on_bye(struct producer *producer, const void *frame, size_t length, struct diag *diag)
{
    struct ot_wire_bye_view bye;
    int rc = ot_wire_decode_bye(frame, length, &bye, diag);

    if (rc < 0)
        return rc;
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

/* --- Reading --- */

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

static int handle_frame(struct producer *producer, uint16_t type, const void *frame, size_t length,
                        struct diag *diag)
{
    struct collector *collector = producer->group->collector;
    bool is_known = type < sizeof(frame_fns) / sizeof(frame_fns[0]) && frame_fns[type];

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
    return frame_fns[type](producer, frame, length, diag);
}

/* Once for all frames that came together: a flood of DOORBELLs costs no more than one. Returns 0,
 * or -EAGAIN to be called again when it is this session's turn. */
static int read_rings(struct producer *producer)
{
    struct collector *collector = producer->group->collector;

    if (producer->flushes.count > 0 && !producer->has_mark) {
        session_mark_rings(producer->session);
        producer->has_mark = true;
    }
    if (producer->wants_rings_read || producer->flushes.count > 0)
        collector_read_rings(collector, producer->session);
    producer->wants_rings_read = false;
    if (producer->is_closing || producer->flushes.count == 0)
        return 0; /* the rings may have held nonsense */
    if (!session_is_read_to_mark(producer->session) && collector_trouble(collector) == 0)
        return -EAGAIN;
    producer->has_mark = false;
    for (size_t i = 0; i < producer->flushes.count && !producer->is_closing; i++)
        collector_flush(collector, producer, producer->flushes.items[i].token,
                        producer->flushes.items[i].header.flags & OT_FLUSH_DURABLE);
    producer->flushes.count = 0;
    return 0;
}

static void set_paused(struct producer *producer, bool is_paused)
{
    struct session *session = producer->session;

    if (session && producer->is_paused && !is_paused)
        session->caught_up_ns = ot_clock_ns(CLOCK_MONOTONIC);
    if (session)
        session->frames_wait = is_paused;
    producer->is_paused = is_paused;
}

static void handle_frames(struct producer *producer)
{
    struct connection *connection = &producer->connection;
    struct ot_wire_header header;
    struct diag diag = {0};
    size_t used = 0;
    int rc = 0;

    while (rc == 0 && !producer->is_closing && used < connection->in_bytes) {
        size_t have = connection->in_bytes - used;
        int length = ot_wire_peek(connection->in + used, have, &header, &diag);

        if (length > 0 && (size_t)length > have)
            break;
        rc = length < 0 ? length
                        : handle_frame(producer, header.type, connection->in + used, (size_t)length,
                                       &diag);
        if (rc == 0)
            used += (size_t)length;
    }
    if (rc == 0 && !producer->is_closing)
        rc = read_rings(producer);
    if (producer->is_closing)
        return;
    if (rc == -ESHUTDOWN || rc == -ECONNREFUSED) {
        close_producer(producer);
    } else if (rc == -ENOBUFS) {
        cut_off(producer, "it does not read its answers");
    } else if (rc < 0 && rc != -EAGAIN) {
        cut_off(producer, diag.text[0] ? diag.text : strerror(-rc));
    } else {
        connection_consume(connection, used);
        set_paused(producer, rc == -EAGAIN);
        if (!producer->is_paused && connection->in_bytes == 0 && connection->fd_count > 0)
            cut_off(producer, "a file descriptor without RING");
        else
            watch(producer);
    }
}

/* Returns false when there is nothing more to read now. */
static bool read_some(struct producer *producer)
{
    struct diag diag = {0};
    int rc = connection_read(&producer->connection, &diag);

    if (rc == -EAGAIN)
        return false;
    if (rc > 0)
        producer->last_bytes -=
            (size_t)rc < producer->last_bytes ? (size_t)rc : producer->last_bytes;
    if (rc == -EPROTO)
        cut_off(producer, diag.text);
    else if (rc <= 0)
        leave(producer);
    else
        handle_frames(producer);
    return !producer->is_closing && !producer->is_paused;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct producer *producer = poll->data;

    if (status < 0) { /* the client is gone; what it sent before may still be here */
        while (read_some(producer))
            ;
        if (!producer->is_closing && !producer->is_paused)
            leave(producer); /* libuv watches it no more */
        return;
    }
    if (events & UV_WRITABLE) {
        connection_flush(&producer->connection);
        watch(producer);
    }
    if (events & UV_READABLE)
        read_some(producer);
}

static const char gave_way[] = "it gave way: all connections were in use, its process had most";
static const char too_many[] = "there are too many connections, and no process has more of them";

/* Closes the oldest connection of the greediest process (fairness.h), one without session first. */
static bool make_way(struct producer *newcomer)
{
    const struct holder wanted = {.uid = newcomer->uid, .pid = newcomer->pid, .held = 1};
    struct producer_group *group = newcomer->group;
    struct holder *holders = memory_zeroed(group->count, sizeof(*holders)), loser;
    struct producer *chosen = NULL;
    size_t count = 0;

    for (struct producer *p = group->first; p; p = p->next)
        if (p != newcomer)
            holders[count++] = (struct holder){p->uid, p->pid, 1};
    if (fairness_choose(holders, count, &wanted, &loser))
        for (struct producer *p = group->first; p; p = p->next)
            if (p != newcomer && p->uid == loser.uid && p->pid == loser.pid &&
                (!p->session || !chosen || chosen->session))
                chosen = p;
    free(holders);
    if (chosen && chosen->session) {
        producer_note_refusal(group, chosen->pid, chosen->uid, gave_way);
        leave(chosen);
    } else if (chosen) {
        cut_off(chosen, gave_way);
    }
    return chosen != NULL;
}

int producer_accept(struct producer_group *group, int fd, pid_t pid, uid_t uid)
{
    struct producer *producer = memory_zeroed(1, sizeof(*producer));
    int rc = uv_poll_init(group->loop, &producer->poll, fd);

    if (rc < 0) {
        close(fd);
        free(producer);
        return rc;
    }
    connection_init(&producer->connection, fd);
    producer->poll.data = producer;
    producer->group = group;
    producer->pid = pid;
    producer->uid = uid;
    producer->heard_ns = ot_clock_ns(CLOCK_MONOTONIC);
    producer->next = group->first;
    if (group->first)
        group->first->previous = producer;
    group->first = producer;
    group->count++;
    if (group->count > OT_WIRE_CONNECTIONS_MAX && !make_way(producer)) {
        producer_note_refusal(group, pid, uid, too_many);
        (void)send_welcome(producer, OT_WELCOME_FULL, OT_WIRE_VERSION_MINOR, 0, too_many);
        close_producer(producer);
        return 0;
    }
    watch(producer);
    return 0;
}

/* --- All of them --- */

void producer_group_init(struct producer_group *group, uv_loop_t *loop, struct collector *collector,
                         const struct settings *settings)
{
    *group = (struct producer_group){.loop = loop,
                                     .collector = collector,
                                     .scratch = memory_zeroed(1, OT_WIRE_FRAME_BYTES_MAX),
                                     .keeps_commands = !settings->no_commands,
                                     .started = ot_clock_read_triple()};
    commands_init(&group->commands, loop, collector, (uint32_t)settings->level);
    saves_init(&group->saves, loop, settings->store_path, settings->bounds.budget_bytes);
    group->host = (struct visit_host){.collector = collector,
                                      .commands = &group->commands,
                                      .saves = &group->saves,
                                      .refusals = &group->refusals,
                                      .store_path = settings->store_path,
                                      .started_ns = group->started.realtime_ns};
}

void producer_group_deinit(struct producer_group *group)
{
    free(group->scratch);
    group->scratch = NULL;
}

/* Returns 0 or a negative errno, as connection_write(). */
static int tell_refused(struct producer *producer)
{
    struct session *session = producer->session;
    struct ot_wire_refused refused = {.header = ot_wire_header(OT_FRAME_REFUSED, sizeof(refused))};

    if (!session || session->refused_count == session->refused_told ||
        producer->version_minor < REFUSED_MINOR)
        return 0;
    refused.refused_count = session->refused_count - session->refused_told;
    session->refused_told = session->refused_count;
    refused.reason = session->refused_reason;
    return send_bytes(producer, &refused, sizeof(refused));
}

void producer_on_flushed(void *context, struct producer *producer, uint64_t token, bool is_durable,
                         int status)
{
    struct ot_wire_flushed flushed = {.header = ot_wire_header(OT_FRAME_FLUSHED, sizeof(flushed)),
                                      .token = token,
                                      .status = status};

    if (is_durable)
        flushed.header.flags = OT_FLUSH_DURABLE;
    producer->flush_count--;
    if (tell_refused(producer) < 0 || send_bytes(producer, &flushed, sizeof(flushed)) < 0)
        cut_off(producer, "it does not read its answers");
}

void producer_on_nonsense(void *context, struct producer *producer, const char *text)
{
    cut_off(producer, text);
}

/* While the daemon stops: what had been sent by then, and no more. A client that sends as fast as
 * it is read must not keep the daemon from ending. */
static void read_last(struct producer *producer)
{
    while (!producer->is_closing && !producer->is_paused && producer->last_bytes > 0 &&
           read_some(producer))
        ;
}

bool producer_on_turn(void *context, struct producer *producer)
{
    if (!producer->is_paused || producer->is_closing)
        return false;
    handle_frames(producer);
    if (producer->group->reads_no_more)
        read_last(producer);
    else if (!producer->is_closing && !producer->is_paused)
        for (int i = 1; i < READS_PER_TURN && read_some(producer); i++)
            ;
    return !producer->is_closing && producer->is_paused;
}

void producer_on_room(struct producer_group *group)
{
    for (struct producer *p = group->first; p; p = p->next) {
        if (!p->is_paused || p->is_closing || p->session)
            continue;
        handle_frames(p);
        if (group->reads_no_more)
            read_last(p);
    }
}

void producer_check_hello(struct producer_group *group)
{
    uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

    for (struct producer *p = group->first; p; p = p->next) {
        const bool has_copy = saves_is_handed_over(&group->saves, p);
        const uint64_t limit_s = has_copy      ? OT_WIRE_SAVE_SECONDS
                                 : p->is_visit ? OT_WIRE_VISIT_SECONDS
                                               : OT_WIRE_HELLO_SECONDS;

        if (!p->is_closing && tell_refused(p) < 0)
            cut_off(p, "it does not read what it is sent");
        if (p->is_closing || p->session || p->is_paused || saves_is_under_way(&group->saves, p) ||
            now_ns - p->heard_ns <= limit_s * UINT64_C(1000000000))
            continue;
        cut_off(p, p->is_visit ? "a controller that says nothing" : "it did not say HELLO");
    }
}

void producer_stop_reading(struct producer_group *group)
{
    group->reads_no_more = true;
    for (struct producer *p = group->first; p; p = p->next)
        p->last_bytes = connection_waiting_bytes(&p->connection);
    for (struct producer *p = group->first; p; p = p->next)
        read_last(p);
    for (struct producer *p = group->first; p; p = p->next)
        if (!p->is_closing)
            watch(p);
}

void producer_close_all(struct producer_group *group)
{
    for (struct producer *p = group->first; p; p = p->next) {
        if (p->is_closing)
            continue;
        say_bye(p, OT_BYE_SHUTDOWN, "the daemon ends");
        leave(p);
    }
    commands_close(&group->commands);
    saves_close(&group->saves);
}
