/* SPDX-License-Identifier: Apache-2.0 */
/* A session's identity, rings and end. */
#include "daemon/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/keep.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/share.h"

static const char *row_text(struct batch *batch, struct ot_text text)
{
    return text.length > 0 ? arena_text(&batch->texts, text.bytes, text.length) : NULL;
}

/* Cut between two characters. */
static struct ot_text cut_text(struct ot_text text, int64_t most)
{
    if ((int64_t)text.length <= most)
        return text;
    text.length = (uint32_t)most;
    while (text.length > 0 && ((uint8_t)text.bytes[text.length] & 0xc0) == 0x80)
        text.length--;
    return text;
}

static void put_row(const struct session *session, const struct ot_wire_hello_view *hello,
                    const char *environment, struct batch *batch)
{
    struct ot_text command = cut_text(hello->texts.command, share_command_max(session->budget));
    struct store_session row = {
        .session_id = session->session_id,
        .start_ns = session->start_ns,
        .end_ns = STORE_NULL,
        .program = row_text(batch, hello->texts.program),
        .command = row_text(batch, command),
        .library = row_text(batch, hello->texts.library),
        .host = row_text(batch, hello->texts.host),
        .pid = session->pid,
        .uid = session->uid,
        .clock = hello->fixed.clock_kind == OT_CLOCK_TSC ? "tsc" : "monotonic",
        .source = "live",
        .note =
            session->is_new_to_store ? "it goes on here; its beginning is in another store" : NULL,
        .environment =
            environment ? arena_text(&batch->texts, environment, strlen(environment)) : NULL,
    };

    memcpy(row.uuid, session->uuid, sizeof(row.uuid));
    batch_push(&batch->sessions, row);
}

/* "2 hours in the future" */
static void describe_distance(double seconds, char *out, size_t bytes)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{365.25 * 86400, "years"}, {86400, "days"}, {3600, "hours"}, {1, "seconds"}};
    const double length = seconds < 0 ? -seconds : seconds;
    size_t i = 0;

    while (i < 3 && length < 2 * units[i].seconds)
        i++;
    snprintf(out, bytes, "%.0f %s in the %s", length / units[i].seconds, units[i].name,
             seconds < 0 ? "past" : "future");
}

void session_say_refusal(struct session *session)
{
    char text[80] = "their fields make no sense", distance[40];

    if (session->refused_count == 0 || session->has_said_refusal)
        return;
    session->has_said_refusal = true;
    describe_distance(session->refused_distance_s, distance, sizeof(distance));
    if (session->refused_reason == OT_LOSS_FUTURE || session->refused_reason == OT_LOSS_PAST)
        snprintf(text, sizeof(text), "their times lie %s", distance);
    else if (session->refused_reason == OT_LOSS_UNDEFINED)
        snprintf(text, sizeof(text), "their ops, lanes or models were never defined");
    else if (session->refused_reason == OT_LOSS_UNKNOWN_KIND)
        snprintf(text, sizeof(text), "their kind is not known to this version");
    log_peer(session->pid,
             "records of session %lld (pid %lld, %s) are refused: %s; the store counts them",
             (long long)session->session_id, (long long)session->pid, session->program, text);
}

uint64_t session_measure_rate(const struct ot_clock_triple *since)
{
    struct ot_clock_triple now = ot_clock_read_triple();
    double seconds = (double)(now.monotonic_ns - since->monotonic_ns) / 1e9;

    return seconds > 0 ? (uint64_t)((double)(now.ticks - since->ticks) / seconds) : 0;
}

struct ot_clock_triple session_hello_triple(const struct ot_wire_hello *hello)
{
    return (struct ot_clock_triple){.ticks = hello->ticks,
                                    .monotonic_ns = hello->monotonic_ns,
                                    .realtime_ns = hello->realtime_ns};
}

struct session *session_alloc(const uint8_t uuid[16], struct session_budget *budget)
{
    struct session *session = memory_zeroed(1, sizeof(*session));

    memcpy(session->uuid, uuid, sizeof(session->uuid));
    session->process_fd = -1;
    pace_sample(&session->pace, ot_clock_ns(CLOCK_MONOTONIC), 0);
    session->budget = budget;
    session->budget->session_count++;
    session_set_names(session, (struct ot_text){0}, (struct ot_text){0});
    return session;
}

/* A copy of at most `capacity` bytes, cut between two characters. */
static void set_name(char **name, struct ot_text text, size_t capacity)
{
    char *copy = memory_zeroed(1, capacity + 1);
    size_t length = ot_wire_clean_text(text.bytes, text.length, copy, capacity);

    free(*name);
    *name = memory_resized(copy, length + 1, 1);
}

void session_set_names(struct session *session, struct ot_text program, struct ot_text command)
{
    set_name(&session->program, program, OT_WIRE_REMARK_BYTES_MAX);
    set_name(&session->command, command, OT_WIRE_SUMMARY_BYTES_MAX);
}

uint64_t session_open_count(const struct session *session)
{
    struct diag ignored = {0};
    uint64_t head, sum = 0;
    uint32_t depth;

    for (size_t i = 0; i < session->rings.count; i++) {
        const struct ring *ring = session->rings.items[i];

        if (!ring->is_broken && ring_load(ring, &head, &depth, &ignored) == 0)
            sum += depth;
    }
    return sum;
}

/* Both sides have the same TSC, and the daemon has usually watched it for longer. */
static uint64_t first_rate(const struct ot_wire_hello_view *hello, const struct session_peer *peer)
{
    uint64_t theirs = hello->fixed.ticks_per_s, ours = peer->ticks_per_s;
    uint64_t difference = theirs > ours ? theirs - ours : ours - theirs;

    return theirs == 0 || difference < ours / 100 ? ours : theirs;
}

/* An earlier HELLO may have been heard by a daemon that stored nothing of it. */
static int64_t first_start_ns(const struct ot_wire_hello_view *hello)
{
    const uint64_t start_ns = hello->more.start_ns;
    const bool is_told = start_ns > 0 && hello->fixed.connection > 0;

    return (int64_t)(is_told && start_ns < hello->fixed.realtime_ns ? start_ns
                                                                    : hello->fixed.realtime_ns);
}

int session_create(const struct ot_wire_hello_view *hello, const struct session_peer *peer,
                   struct store_ids *ids, struct batch *batch, struct session **out_session,
                   struct diag *diag)
{
    struct ot_clock_triple triple = session_hello_triple(&hello->fixed);
    struct session *session = session_alloc(hello->fixed.uuid, peer->budget);
    int rc = tick_clock_init(&session->clock, hello->fixed.clock_kind, first_rate(hello, peer),
                             &triple, peer->now_ns, diag);

    if (rc < 0) {
        session_destroy(&session);
        return rc;
    }
    session->session_id = ++ids->session_id;
    session->pid = peer->pid;
    session->uid = peer->uid;
    session->start_ns = first_start_ns(hello);
    identity_read(session->pid, session->process);
    session->is_new_to_store = hello->fixed.connection > 0;
    session_set_names(session, hello->texts.program, hello->texts.command);
    put_row(session, hello, peer->environment, batch);
    session->is_touched = true;
    *out_session = session;
    return 0;
}

static void drop_ring(struct session *session, size_t index)
{
    session->budget->ring_count -= !session->is_over;
    session->ring_records -= session->rings.items[index]->record_count;
    ring_unref(&session->rings.items[index]);
    session->rings.items[index] = session->rings.items[--session->rings.count];
}

void session_drop_rings(struct session *session)
{
    while (session->rings.count > 0)
        drop_ring(session, 0);
}

void session_leave_budget(struct session *session)
{
    struct session_budget *budget = session->budget;

    if (session->is_over)
        return;
    session->is_over = true;
    budget->session_count--;
    budget->over_count++;
    budget->definition_bytes -= session->definition_bytes;
    budget->over_bytes += session->definition_bytes;
    budget->ring_count -= session->rings.count;
}

void session_destroy(struct session **session_at)
{
    struct session *session = *session_at;

    *session_at = NULL;
    if (!session)
        return;
    session_drop_rings(session);
    session_leave_budget(session);
    session->budget->over_count--;
    session->budget->over_bytes -= session->definition_bytes;
    session->budget->stored_bytes -= session->stored_bytes;
    array_deinit(&session->rings);
    array_deinit(&session->cursors);
    array_deinit(&session->gone_rings);
    array_deinit(&session->kept_rings);
    tick_clock_deinit(&session->clock);
    arena_deinit(&session->texts.arena);
    free(session->texts.texts);
    free(session->models.ids);
    free(session->ops.ids);
    free(session->lanes.ids);
    free(session->end_note);
    free(session->program);
    free(session->command);
    if (session->process_fd >= 0)
        close(session->process_fd);
    free(session);
}

uint64_t session_count_left(const struct session *first)
{
    uint64_t left = 0;

    for (const struct session *s = first; s; s = s->next)
        for (size_t i = 0; !s->end_reason && i < s->rings.count; i++)
            left += ot_ring_used(s->rings.items[i]->read, s->rings.items[i]->committed);
    return left;
}

/* --- Its process --- */

void session_watch_process(struct session *session)
{
    if (session->process_fd >= 0)
        close(session->process_fd);
    session->process_fd = (int)syscall(SYS_pidfd_open, (pid_t)session->pid, 0);
}

bool session_process_lives(const struct session *session)
{
    struct pollfd process = {.fd = session->process_fd, .events = POLLIN};

    return session->process_fd >= 0 && poll(&process, 1, 0) == 0;
}

/* --- Tables --- */

static bool make_room(const struct session *session, enum room_kind kind, uint64_t wanted)
{
    const struct session_budget *budget = session->budget;

    return budget->make_room && budget->make_room(budget->context, kind, session, wanted);
}

/* Counts bytes that the session is going to take. */
static int take_budget(struct session *session, size_t bytes, struct diag *diag)
{
    struct session_budget *budget = session->budget;

    while (budget->definition_bytes + bytes > OT_WIRE_ALL_DEFINITIONS_MAX)
        if (budget->over_bytes > OT_WIRE_ALL_DEFINITIONS_MAX ||
            !make_room(session, ROOM_DEFINITIONS, bytes))
            return diag_set(diag, -EPROTO,
                            "all sessions together define more than %d bytes, and no process more "
                            "than this one",
                            OT_WIRE_ALL_DEFINITIONS_MAX);
    budget->definition_bytes += bytes;
    session->definition_bytes += bytes;
    return 0;
}

/* Returns a zeroed table with the old one's contents and room for `id`, or NULL without budget. */
static void *grow_table(struct session *session, void *old, uint32_t *count, uint32_t id,
                        size_t item_bytes, struct diag *diag)
{
    uint32_t wanted = *count ? *count : 64;
    void *table;

    while (wanted <= id)
        wanted *= 2;
    if (take_budget(session, (wanted - *count) * item_bytes, diag) < 0)
        return NULL;
    table = memory_zeroed(wanted, item_bytes);
    if (*count > 0)
        memcpy(table, old, *count * item_bytes);
    free(old);
    *count = wanted;
    return table;
}

int session_reserve_id(struct session *session, struct id_table *table, uint32_t id,
                       struct diag *diag)
{
    int64_t *ids;

    if (id < table->count)
        return 0;
    ids = grow_table(session, table->ids, &table->count, id, sizeof(*ids), diag);
    if (!ids)
        return -EPROTO;
    table->ids = ids;
    return 0;
}

int session_reserve_text(struct session *session, uint32_t id, size_t length, struct diag *diag)
{
    struct text_table *table = &session->texts;
    struct known_text *texts;

    if (table->arena.bytes + length > OT_WIRE_SESSION_TEXT_MAX)
        return diag_set(diag, -EPROTO, "STRING: more than %d bytes of texts",
                        OT_WIRE_SESSION_TEXT_MAX);
    if (id >= table->count) {
        texts = grow_table(session, table->texts, &table->count, id, sizeof(*texts), diag);
        if (!texts)
            return -EPROTO;
        table->texts = texts;
    }
    return take_budget(session, length + 8, diag);
}

/* --- Rings --- */

static struct ring *find_ring(const struct session *session, uint32_t ring_id)
{
    for (size_t i = 0; i < session->rings.count; i++)
        if (session->rings.items[i]->ring_id == ring_id)
            return session->rings.items[i];
    return NULL;
}

/* Takes the cursor of a ring out of the list. */
static bool take_cursor(struct session *session, uint32_t ring_id,
                        struct session_cursor *out_cursor)
{
    for (size_t i = 0; i < session->cursors.count; i++) {
        if (session->cursors.items[i].ring_id != ring_id)
            continue;
        *out_cursor = session->cursors.items[i];
        session->cursors.items[i] = session->cursors.items[--session->cursors.count];
        return true;
    }
    return false;
}

static int check_ring_limits(const struct session *session, const struct ot_wire_ring *announced,
                             struct diag *diag)
{
    const struct session_budget *budget = session->budget;

    if (id_table_get(&session->lanes, announced->lane_id) == 0)
        return diag_set(diag, -EPROTO, "RING: lane %u is not defined", announced->lane_id);
    if (session->rings.count >= OT_WIRE_RINGS_MAX)
        return diag_set(diag, -EPROTO, "RING: more than %d rings", OT_WIRE_RINGS_MAX);
    while (budget->ring_count >= OT_WIRE_ALL_RINGS_MAX)
        if (!make_room(session, ROOM_RINGS, 1))
            return diag_set(diag, -EPROTO,
                            "RING: more than %d rings of all programs, and no process has more "
                            "than this one",
                            OT_WIRE_ALL_RINGS_MAX);
    if (session->ring_records + announced->record_count > OT_WIRE_SESSION_RING_RECORDS_MAX)
        return diag_set(diag, -EPROTO, "RING: more than %d records in all rings",
                        OT_WIRE_SESSION_RING_RECORDS_MAX);
    return 0;
}

int session_add_ring(struct session *session, int fd, const struct ot_wire_ring *announced,
                     struct diag *diag)
{
    struct session_cursor cursor = {0};
    struct ring *ring;
    uint32_t depth;
    uint64_t head;
    int rc;

    ring = find_ring(session, announced->ring_id);
    if (ring)
        return ring_check_same(ring, fd, announced, diag);
    rc = check_ring_limits(session, announced, diag);
    if (rc == 0)
        rc = ring_open(fd, announced, session->uuid, &ring, diag);
    if (rc < 0)
        return rc;
    if (take_cursor(session, announced->ring_id, &cursor))
        memcpy(ring->gap_seen, cursor.gap_seen, sizeof(ring->gap_seen));
    else
        cursor.committed = ring_load_tail(ring) & OT_RING_HEAD_MASK;
    ring->read = ring->saved = cursor.committed;
    ring_release(ring, cursor.committed);
    rc = ring_load(ring, &head, &depth, diag);
    if (rc < 0) {
        ring_unref(&ring);
        return rc;
    }
    batch_push(&session->rings, ring);
    session->ring_records += ring->record_count;
    session->budget->ring_count++;
    return 0;
}

void session_mark_rings(struct session *session)
{
    struct diag ignored = {0};
    uint32_t depth;

    for (size_t i = 0; i < session->rings.count; i++) {
        struct ring *ring = session->rings.items[i];

        if (ring_load(ring, &ring->mark, &depth, &ignored) < 0)
            ring->mark = ring->read; /* will be found out when it is read */
        ring->gaps_wait = true;
    }
}

bool session_is_read_to_mark(const struct session *session)
{
    for (size_t i = 0; i < session->rings.count; i++) {
        const struct ring *ring = session->rings.items[i];

        if (ring->is_broken)
            continue;
        if (ring->gaps_wait || (ring->waiting_since_ns == 0 && ring->read < ring->mark))
            return false;
    }
    return true;
}

/* A client that has not noticed yet may hand it over once more: then it goes on at its tail, which
 * is its end. Only the losses that were counted in it must not be counted again. */
static bool needs_cursor(const struct ring *ring)
{
    for (size_t slot = 0; slot < OT_RING_GAPS; slot++)
        if (ring->gap_seen[slot] > 0)
            return true;
    return false;
}

/* Where the list is full, one goes; they are of rings that were read to their end, or of a client
 * that has not come back with more rings than it may have. */
static void keep_cursor(struct session *session, const struct ring *ring)
{
    struct session_cursor cursor = {.ring_id = ring->ring_id, .committed = ring->committed};

    memcpy(cursor.gap_seen, ring->gap_seen, sizeof(cursor.gap_seen));
    if (session->cursors.count < OT_WIRE_RINGS_MAX)
        batch_push(&session->cursors, cursor);
    else
        session->cursors.items[ring->ring_id % session->cursors.count] = cursor;
}

static bool is_over(const struct ring *ring)
{
    return ring->is_drained && ring->committed == ring->read && !ring->gaps_changed &&
           ring->gap_marks == 0;
}

void session_drop_closed_rings(struct session *session)
{
    for (size_t i = session->rings.count; i-- > 0;) {
        struct ring *ring = session->rings.items[i];

        if (!is_over(ring))
            continue;
        keep_forget_ring(session, ring->ring_id);
        if (needs_cursor(ring))
            keep_cursor(session, ring);
        else
            memory_must(array_push(&session->gone_rings, ring->ring_id));
        drop_ring(session, i);
    }
}

/* --- Rows about itself --- */

static void put_mark(struct ring *ring, struct batch *batch)
{
    const struct batch_mark mark = {
        .ring = ring_ref(ring), .position = ring->read, .has_gaps = ring->gaps_changed};

    ring->gap_marks += mark.has_gaps;
    ring->gaps_changed = false;
    batch_push(&batch->marks, mark);
}

static void put_ring_cursor(const struct session *session, struct ring *ring, struct batch *batch)
{
    struct store_cursor row = {
        .session_id = session->session_id,
        .ring_id = ring->ring_id,
        .committed = (int64_t)ring->read,
        .gaps = memcpy(arena_memory(&batch->texts, sizeof(ring->gap_seen)), ring->gap_seen,
                       sizeof(ring->gap_seen)),
        .gaps_bytes = sizeof(ring->gap_seen),
    };

    batch_push(&batch->cursors, row);
    ring->saved = ring->read;
    put_mark(ring, batch);
}

void session_put_cursors(struct session *session, struct batch *batch)
{
    struct store_cursor row = {.session_id = session->session_id,
                               .committed = (int64_t)session->inline_next};
    uint8_t *clock;

    if (!session->is_touched)
        return;
    session->is_touched = false;
    if (session->is_ended)
        return; /* the end removes its cursors */
    for (size_t i = 0; i < session->gone_rings.count; i++)
        batch_push(&batch->gone_rings,
                   (struct batch_ring){session->session_id, session->gone_rings.items[i]});
    session->gone_rings.count = 0;
    for (size_t i = 0; i < session->rings.count; i++) {
        struct ring *ring = session->rings.items[i];

        if (ring->saved != ring->read || ring->gaps_changed)
            put_ring_cursor(session, ring, batch);
    }
    clock = arena_memory(&batch->texts, TICK_CLOCK_SAVED_BYTES);
    row.clock = clock;
    row.clock_bytes = tick_clock_save(&session->clock, clock);
    row.complete_ns = session->complete_ns;
    /* A copy: the session may come back with another one while the writer reads this. */
    if (session->process[0])
        row.process = arena_text(&batch->texts, session->process, strlen(session->process));
    batch_push(&batch->cursors, row);
}

void session_put_end(struct session *session, struct batch *batch)
{
    struct batch_end end = {
        .session = session,
        .session_id = session->session_id,
        .end_ns = session->end_ns,
        .reason = session->end_reason,
    };

    /* Its program may live on, and take what is not stored to another session. */
    for (size_t i = 0; i < session->rings.count; i++)
        put_mark(session->rings.items[i], batch);
    if (session->end_note)
        end.note = arena_text(&batch->texts, session->end_note, strlen(session->end_note));
    batch_push(&batch->ends, end);
    session->is_ended = true;
}
