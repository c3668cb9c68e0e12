/* SPDX-License-Identifier: Apache-2.0 */
/* A connection from accept to close; who breaks the contract is told why and cut off. */
#include "daemon/producer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/connection.h"
#include "daemon/fairness.h"
#include "daemon/frames.h"
#include "daemon/log.h"
#include "daemon/memory.h"

enum { REFUSED_MINOR = 2 }; /* the minor version that brought REFUSED */

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

/* --- Reading --- */

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
        rc = length < 0
                 ? length
                 : frames_take(producer, header.type, connection->in + used, (size_t)length, &diag);
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
            producer_watch(producer);
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
        producer->watched = 0;
        while (read_some(producer))
            ;
        if (!producer->is_closing && !producer->is_paused)
            leave(producer); /* libuv watches it no more */
        return;
    }
    if (events & UV_WRITABLE) {
        connection_flush(&producer->connection);
        producer_watch(producer);
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
    producer->on_poll = on_poll;
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
        (void)frames_welcome(producer, OT_WELCOME_FULL, OT_WIRE_VERSION_MINOR, 0, too_many);
        close_producer(producer);
        return 0;
    }
    producer_watch(producer);
    return 0;
}

/* --- All of them --- */

/* A client that does not read is cut off. */
static void send_frame(struct producer *producer, const void *frame, size_t length)
{
    if (!producer->is_closing && frames_send(producer, frame, length) < 0)
        cut_off(producer, "it does not read what it is sent");
}

void producer_group_init(struct producer_group *group, uv_loop_t *loop, struct collector *collector,
                         const struct settings *settings)
{
    *group = (struct producer_group){.loop = loop,
                                     .collector = collector,
                                     .scratch = memory_zeroed(1, OT_WIRE_FRAME_BYTES_MAX),
                                     .keeps_commands = !settings->no_commands,
                                     .started = ot_clock_read_triple()};
    commands_init(&group->commands, loop, collector, send_frame, (uint32_t)settings->level);
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
    return frames_send(producer, &refused, sizeof(refused));
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
    if (tell_refused(producer) < 0 || frames_send(producer, &flushed, sizeof(flushed)) < 0)
        cut_off(producer, "it does not read its answers");
}

void producer_on_nonsense(void *context, struct producer *producer, const char *text)
{
    cut_off(producer, text);
}

/* What it has sent and was not read stays unread: on the new connection its client begins with what
 * the store lacks. */
void producer_on_replaced(void *context, struct producer *producer)
{
    producer->session = NULL;
    close_producer(producer);
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
            producer_watch(p);
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
