/* SPDX-License-Identifier: Apache-2.0 */
/* Pacing: when rings are read, when a batch is handed over, what happens after the commit. */
#include "daemon/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/alarm.h"
#include "base/amount.h"
#include "daemon/drain.h"
#include "daemon/keep.h"
#include "daemon/log.h"
#include "daemon/machine.h"
#include "daemon/memory.h"
#include "daemon/resume.h"
#include "daemon/retain.h"
#include "daemon/room.h"
#include "daemon/roster.h"

static const uint64_t ALONE_NS = UINT64_C(5000000000); /* a living client may come back */

enum { STRAYS_MS = 10000 }; /* look again for sessions whose client never came back */
/* Records that a session may bring before it is another's turn, and how many such turns are taken
 * before the loop looks at its sockets again. */
enum { TURN_RECORDS = 4096, TURNS_AT_ONCE = 16 };
enum { NEW_SESSION_MS = 20 }; /* a batch that has a new session is committed after this */
/* How often rings are read that fill slowly, and what was read is committed: each visit of a
 * session writes two cursors, and each commit a dozen pages besides its events. So many sessions
 * wait for longer. */
enum { PACE_BUSY_MS = 10, PACE_CALM_MS = 500, PACE_MAX_MS = 1000, PACE_SESSION_MS = 5 };
enum { COMMIT_EARLIER_MS = 10 }; /* what is read at that pace is committed at once */

struct collector {
    struct collector_events events;
    struct writer *writer;
    struct store *reader;
    int64_t budget_bytes; /* of the store; 0: none */
    struct store_ids ids;
    struct session_budget budget;
    struct batch *open;
    struct batch *in_flight[WRITER_QUEUE_MAX]; /* NULL: unused */
    struct batch_spares spares;                /* more than is filled and written */
    struct roster roster;
    struct session *turn; /* whose it is; NULL: the first one's */
    struct alarm alarm;
    struct alarm strays_alarm;
    unsigned open_alarms;
    unsigned pace_ms;
    uint64_t due_ns;   /* CLOCK_MONOTONIC when a batch was last handed over because of the time */
    bool commits_soon; /* a flush waits, or a ring is half full */
    bool has_new;      /* the open batch has a session that the store does not know */
    bool has_read;     /* rings were read, since a batch was last handed over */
    bool lacks_room;   /* collector_room() has returned NULL */
    bool is_behind;    /* sessions are in line, and there is room */
    bool is_ringing;   /* on_alarm() runs, and sets the next alarm itself */
    bool is_stopping;
    bool is_drained;   /* while stopping: all rings were read once more */
    uint64_t given_up; /* events that could not be stored at the end */
    char trouble[sizeof(((struct diag *)0)->text)]; /* why not */
};

static void schedule(struct collector *collector);

/* --- Batches --- */

static struct batch *take_spare(struct collector *collector)
{
    struct batch *batch = batch_spares_take(&collector->spares);

    if (!batch) {
        batch = batch_create();
        batch_limit(batch, writer_batch_bytes(collector->writer));
    }
    return batch;
}

static void hand_over(struct collector *collector)
{
    for (struct session *s = collector->roster.first; s; s = s->next) {
        session_put_cursors(s, collector->open);
        session_say_refusal(s);
    }
    for (size_t i = 0; i < WRITER_QUEUE_MAX; i++) {
        if (!collector->in_flight[i]) {
            collector->in_flight[i] = collector->open;
            break;
        }
    }
    writer_submit(collector->writer, collector->open);
    collector->open = take_spare(collector);
    collector->commits_soon = collector->has_read = collector->has_new = false;
}

/* While the store cannot be written, queueing more would only cost memory; at the end, the writer
 * gives each batch one try. */
static bool may_hand_over(const struct collector *collector)
{
    return writer_has_room(collector->writer) &&
           (writer_trouble(collector->writer) == 0 || collector->is_stopping);
}

struct batch *collector_room(struct collector *collector)
{
    schedule(collector);
    if (!batch_is_full(collector->open))
        return collector->open;
    if (!may_hand_over(collector)) {
        collector->lacks_room = true;
        return NULL;
    }
    hand_over(collector);
    return collector->open;
}

struct batch *collector_turn(struct collector *collector)
{
    if (collector->is_behind && !collector->is_ringing)
        return NULL;
    return collector_room(collector);
}

struct batch *collector_open_batch(struct collector *collector)
{
    return collector->open;
}

int collector_trouble(const struct collector *collector)
{
    return writer_trouble(collector->writer);
}

uint64_t collector_writer_ns(const struct collector *collector)
{
    return writer_busy_ns(collector->writer);
}

bool collector_is_stopping(const struct collector *collector)
{
    return collector->is_stopping;
}

struct store_ids *collector_ids(struct collector *collector)
{
    return &collector->ids;
}

/* True when there is something to commit; that rings were read, if only to find nothing in them
 * that makes a row, counts: they are to get their room back. */
static bool has_work(const struct collector *collector)
{
    return collector->has_read || !batch_is_empty(collector->open);
}

static unsigned calm_pace_ms(const struct collector *collector)
{
    const size_t wanted_ms = collector->budget.session_count * PACE_SESSION_MS;

    return wanted_ms < PACE_CALM_MS  ? PACE_CALM_MS
           : wanted_ms > PACE_MAX_MS ? PACE_MAX_MS
                                     : (unsigned)wanted_ms;
}

/* Between two commits, but for full ones and those that somebody waits for. */
static uint64_t commit_pause_ns(const struct collector *collector)
{
    return (calm_pace_ms(collector) - COMMIT_EARLIER_MS) * UINT64_C(1000000);
}

/* Hands the open batch over when it is due. */
static void commit_when_due(struct collector *collector)
{
    struct batch *open = collector->open;
    uint64_t now_ns = alarm_now_ns(CLOCK_MONOTONIC);
    bool is_due;

    if (!has_work(collector)) {
        collector->commits_soon = false; /* what was to be committed is on its way already */
        return;
    }
    if (open->first_ns == 0)
        open->first_ns = now_ns;
    if (!may_hand_over(collector))
        return;
    is_due = collector->has_new ? now_ns - open->first_ns >= NEW_SESSION_MS * UINT64_C(1000000)
                                : now_ns - collector->due_ns >= commit_pause_ns(collector);
    if (collector->commits_soon || collector->is_stopping || batch_is_full(open) || is_due) {
        collector->due_ns = now_ns;
        hand_over(collector);
    }
}

/* --- Sessions --- */

static void unlink_session(struct collector *collector, struct session *session)
{
    if (collector->turn == session)
        collector->turn = session->next;
    roster_remove(&collector->roster, session);
}

struct session *collector_next_session(struct collector *collector, int64_t first)
{
    return roster_next(&collector->roster, first);
}

struct session *collector_sessions(const struct collector *collector)
{
    return collector->roster.first;
}

uint32_t collector_count_sessions(const struct collector *collector)
{
    uint32_t count = 0;

    for (const struct session *s = collector->roster.first; s; s = s->next)
        count += !s->end_reason;
    return count;
}

bool collector_is_empty(const struct collector *collector)
{
    return collector->roster.first == NULL;
}

void collector_end(struct collector *collector, struct session *session, const char *reason,
                   const char *note)
{
    session->producer = NULL;
    session->end_reason = reason;
    session_leave_budget(session);
    session->end_ns = (int64_t)alarm_now_ns(CLOCK_REALTIME);
    if (session->end_ns < session->start_ns)
        session->end_ns = session->start_ns; /* somebody set the clock back */
    if (note && !session->end_note) {
        session->end_note = strdup(note);
        memory_must(session->end_note ? 0 : -ENOMEM);
    }
    collector->commits_soon = true;
    schedule(collector);
}

void collector_cut_off(struct collector *collector, struct session *session, const char *text)
{
    if (session->producer)
        collector->events.on_nonsense(collector->events.context, session->producer, text);
    else
        collector_end(collector, session, "cut off", text);
}

void collector_leave(struct collector *collector, struct session *session)
{
    session->producer = NULL;
    session->alone_since_ns = alarm_now_ns(CLOCK_MONOTONIC);
    schedule(collector);
}

/* A session without connection ends with its process, or when it does not come back. */
static void check_alone(struct collector *collector, struct session *session)
{
    if (session->alone_since_ns == 0 || session->end_reason || collector->is_stopping)
        return;
    if (session_process_lives(session) &&
        alarm_now_ns(CLOCK_MONOTONIC) - session->alone_since_ns < ALONE_NS)
        return;
    collector_end(collector, session, "died", NULL);
}

/* Its rings are drained: the last rows. */
static void finish_session(struct collector *collector, struct session *session)
{
    drain_open_spans(collector, session);
    session_put_end(session, collector->open);
    session_drop_rings(session); /* batches on their way have references of their own */
    collector->commits_soon = true;
    log_detail("session %lld (pid %lld of user %lld) ends: %s", (long long)session->session_id,
               (long long)session->pid, (long long)session->uid, session->end_reason);
}

/* Reads the rings of one session for one turn. */
static enum drain_result read_session(struct collector *collector, struct session *session,
                                      struct drain_pace *pace)
{
    pace->quota = TURN_RECORDS;
    for (;;) {
        struct diag diag = {0};
        int rc = drain_session(collector, session, pace, &diag);

        if (rc >= 0)
            return (enum drain_result)rc;
        if (session->producer)
            collector->events.on_nonsense(collector->events.context, session->producer, diag.text);
        else
            log_peer(session->pid, "pid %lld of user %lld left nonsense: %s",
                     (long long)session->pid, (long long)session->uid, diag.text);
    }
}

static void note_pace(struct collector *collector, const struct drain_pace *pace)
{
    collector->has_read |= pace->has_read;
    collector->commits_soon |= pace->is_pressing;
}

void collector_read_rings(struct collector *collector, struct session *session)
{
    struct drain_pace pace = {0};

    if (!collector->is_behind && !collector->lacks_room)
        collector->is_behind = read_session(collector, session, &pace) == DRAIN_TURN;
    note_pace(collector, &pace);
    schedule(collector);
}

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
        char *environment = machine_describe();

        peer->environment = environment;
        rc = session_create(hello, peer, &collector->ids, collector->open, &session, diag);
        peer->environment = NULL;
        free(environment);
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
    schedule(collector);
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

static void end_strays(void *context)
{
    struct collector *collector = context;
    struct diag diag = {0};
    int living =
        resume_end_strays(collector->reader, collector->roster.first, collector->open, &diag);

    if (living < 0)
        log_say("%s", diag.text);
    if (living > 0)
        alarm_set(&collector->strays_alarm, STRAYS_MS);
    schedule(collector);
}

/* --- Flushes --- */

void collector_flush(struct collector *collector, struct producer *producer, uint64_t token,
                     bool is_durable)
{
    int trouble = collector_trouble(collector);

    if (trouble < 0) {
        collector->events.on_flushed(collector->events.context, producer, token, is_durable,
                                     trouble);
        return;
    }
    batch_push(
        &collector->open->waiters,
        (struct batch_waiter){.producer = producer, .token = token, .is_durable = is_durable});
    collector->open->syncs |= is_durable;
    collector->commits_soon = true;
    schedule(collector);
}

static void answer_waiters(struct collector *collector, struct batch *batch, int status)
{
    for (size_t i = 0; i < batch->waiters.count; i++) {
        const struct batch_waiter *waiter = &batch->waiters.items[i];
        const bool is_done = status < 0 || !waiter->is_durable;

        if (waiter->producer)
            collector->events.on_flushed(collector->events.context, waiter->producer, waiter->token,
                                         waiter->is_durable, is_done ? status : batch->sync_status);
    }
    batch->waiters.count = 0;
}

void collector_forget(struct collector *collector, struct producer *producer)
{
    struct batch *batches[WRITER_QUEUE_MAX + 1];

    memcpy(batches, collector->in_flight, sizeof(collector->in_flight));
    batches[WRITER_QUEUE_MAX] = collector->open;
    for (size_t i = 0; i <= WRITER_QUEUE_MAX; i++)
        for (size_t k = 0; batches[i] && k < batches[i]->waiters.count; k++)
            if (batches[i]->waiters.items[k].producer == producer)
                batches[i]->waiters.items[k].producer = NULL;
}

/* --- The alarm --- */

static bool needs_alarm(const struct collector *collector)
{
    if (has_work(collector) || (collector->is_stopping && !collector->is_drained))
        return true;
    for (const struct session *s = collector->roster.first; s; s = s->next)
        if (s->rings.count > 0 || s->alone_since_ns || (s->end_reason && !s->is_ended))
            return true;
    return false;
}

static void set_pace(struct collector *collector, const struct drain_pace *pace)
{
    if (pace->fill_max > 0.25)
        collector->pace_ms /= 2;
    else if (pace->fill_max < 0.05)
        collector->pace_ms *= 2;
    if (collector->pace_ms < PACE_BUSY_MS)
        collector->pace_ms = PACE_BUSY_MS;
    if (collector->pace_ms > calm_pace_ms(collector))
        collector->pace_ms = calm_pace_ms(collector);
}

/* Reads what a session has brought, for one turn. */
static enum drain_result take_turn(struct collector *collector, struct session *session,
                                   struct drain_pace *pace)
{
    enum drain_result result;
    bool was_over;

    check_alone(collector, session);
    if (session->is_ended)
        return DRAIN_DONE;
    was_over = session->end_reason != NULL;
    result = read_session(collector, session, pace);
    if (result != DRAIN_FULL && session->producer &&
        collector->events.on_turn(collector->events.context, session->producer))
        result = collector->lacks_room ? DRAIN_FULL : DRAIN_TURN;
    if (result < DRAIN_TURN && !collector_room(collector))
        result = DRAIN_FULL;
    if (result == DRAIN_FULL && session->end_reason && drain_is_too_much_left(collector)) {
        drain_nothing(collector, session);
        result = DRAIN_DONE;
    }
    if (result < DRAIN_TURN && session->end_reason && !was_over)
        result = DRAIN_TURN; /* its last frames may have brought rings */
    if (result >= DRAIN_TURN)
        return result;
    session_drop_closed_rings(session);
    if (session->end_reason)
        finish_session(collector, session);
    return DRAIN_DONE;
}

/* All sessions take turns, from the one on where the last round ended. Returns true when all was
 * read; else there is no room, or it is time to look at the sockets. */
static bool read_all(struct collector *collector)
{
    struct session *s = collector->turn ? collector->turn : collector->roster.first;
    struct drain_pace pace = {0};
    struct session *waiting = NULL; /* the first that found no room: the next to come */
    size_t done = 0, turns = 0;

    while (s && done < collector->budget.session_count + collector->budget.over_count &&
           turns < TURNS_AT_ONCE) {
        enum drain_result result = take_turn(collector, s, &pace);

        if (result == DRAIN_FULL && !waiting)
            waiting = s;
        done = result == DRAIN_TURN ? 0 : done + 1;
        turns += result == DRAIN_TURN;
        s = s->next ? s->next : collector->roster.first;
    }
    collector->turn = waiting ? waiting : s;
    collector->is_behind = !waiting && turns == TURNS_AT_ONCE;
    note_pace(collector, &pace);
    set_pace(collector, &pace);
    return !waiting && !collector->is_behind;
}

int collector_check_stored(const struct collector *collector, struct diag *diag)
{
    uint64_t left = session_count_left(collector->roster.first), lost = collector->given_up;
    char waiting[120] = "";

    if (lost == 0)
        return 0;
    left = left < lost ? left : lost;
    if (left > 0)
        snprintf(waiting, sizeof(waiting),
                 "; %llu more wait in the rings of programs that run, for the next daemon",
                 (unsigned long long)left);
    return diag_set(diag, -EIO, "%llu events were not stored%s: %s",
                    (unsigned long long)(lost - left), waiting, collector->trouble);
}

static void check_stopped(struct collector *collector)
{
    if (collector->is_stopping && collector->is_drained && !has_work(collector) &&
        !collector->is_behind && !writer_is_busy(collector->writer)) {
        alarm_stop(&collector->alarm);
        collector->events.on_empty(collector->events.context);
    }
}

static void on_alarm(void *context)
{
    struct collector *collector = context;

    collector->is_ringing = true;
    if (collector->is_behind)
        collector->events.on_room(collector->events.context);
    if (!collector->is_drained || collector->is_behind)
        collector->is_drained |= read_all(collector) && collector->is_stopping;
    commit_when_due(collector);
    collector->is_ringing = false;
    if (collector->is_behind)
        alarm_set(&collector->alarm, 0);
    else if (needs_alarm(collector))
        alarm_set(&collector->alarm, collector->pace_ms);
    check_stopped(collector);
}

/* Something is to be done: at once when that is of use, else at the usual pace. What waits for the
 * writer is not hurried: on_done() comes. */
static void schedule(struct collector *collector)
{
    const bool is_due = collector->commits_soon && has_work(collector) && may_hand_over(collector);

    if (!collector->is_ringing)
        alarm_set_within(&collector->alarm,
                         is_due || collector->is_behind ? 0 : collector->pace_ms);
}

/* --- After the commit --- */

static void take_back_marks(struct batch *batch)
{
    for (size_t i = 0; i < batch->marks.count; i++) {
        struct batch_mark *mark = &batch->marks.items[i];

        if (batch->status == 0)
            ring_release(mark->ring, mark->position);
        mark->ring->gap_marks -= mark->has_gaps;
        ring_unref(&mark->ring);
    }
    batch->marks.count = 0;
}

static void take_back_ends(struct collector *collector, struct batch *batch)
{
    for (size_t i = 0; i < batch->ends.count; i++) {
        struct session *session = batch->ends.items[i].session;

        if (!session)
            continue;
        unlink_session(collector, session);
        keep_forget_session(session);
        session_destroy(&session);
    }
    if (batch->ends.count > 0 && !collector->roster.first && !collector->is_stopping)
        collector->events.on_empty(collector->events.context);
    batch->ends.count = 0;
}

/* Runs that the store has refused were counted as taken when they were read. */
static void take_back_repeats(struct collector *collector, const struct batch *batch)
{
    for (size_t i = 0; i < batch->repeats.count; i++) {
        const struct batch_repeat *repeat = &batch->repeats.items[i];

        for (struct session *s = collector->roster.first; s; s = s->next) {
            if (s->session_id != repeat->session_id)
                continue;
            s->event_count--;
            s->lost_count++;
            if (!s->has_repeated_run)
                log_peer(
                    s->pid,
                    "pid %lld gives run number %lld twice: the second is counted as lost, and so "
                    "are those after it",
                    (long long)s->pid, (long long)repeat->run);
            s->has_repeated_run = true;
        }
    }
}

static void on_done(void *context, struct batch *batch)
{
    struct collector *collector = context;

    if (batch->status < 0)
        collector->given_up += batch_event_count(batch);
    else
        take_back_repeats(collector, batch);
    take_back_marks(batch);
    answer_waiters(collector, batch,
                   batch->status); /* may cut clients off, who are then forgotten */
    for (size_t i = 0; i < WRITER_QUEUE_MAX; i++)
        if (collector->in_flight[i] == batch)
            collector->in_flight[i] = NULL;
    take_back_ends(collector, batch);
    for (struct session *s = collector->roster.first; s; s = s->next)
        session_drop_closed_rings(s);
    batch_spares_put(&collector->spares, batch);
    if (collector->lacks_room) {
        collector->lacks_room = false;
        collector->is_behind = true; /* those who wait come in turn */
    }
    schedule(collector);
    check_stopped(collector);
}

static void on_trouble(void *context, int error, const char *text)
{
    struct collector *collector = context;
    char advice[160];

    if (error == 0) {
        log_say("the store can be written again");
        return;
    }
    snprintf(collector->trouble, sizeof(collector->trouble), "%s", text);
    if (error == -ESTALE) {
        if (!collector->is_stopping)
            collector->events.on_lost_store(collector->events.context, text);
        return;
    }
    log_say("the store cannot be written, going on without: %s%s", text,
            error == -ENOSPC ? retain_advise(collector->budget_bytes, advice, sizeof(advice)) : "");
    for (size_t i = 0; i < WRITER_QUEUE_MAX; i++)
        if (collector->in_flight[i])
            answer_waiters(collector, collector->in_flight[i], error);
    answer_waiters(collector, collector->open, error);
    if (collector->is_stopping)
        writer_give_up(collector->writer);
}

/* --- Start and stop --- */

int collector_create(uv_loop_t *loop, const struct collector_store *store,
                     const struct collector_events *events, struct collector **out_collector,
                     struct diag *diag)
{
    struct collector *collector = memory_zeroed(1, sizeof(*collector));
    struct writer_events writer_events = {collector, on_done, on_trouble};
    int rc = store_last_ids(store->store, &collector->ids, diag);

    if (rc == 0)
        rc = store_open(store->path, STORE_READ, &collector->reader, diag);
    if (rc == 0)
        rc = writer_start(loop, store->store, &store->bounds, &writer_events, &collector->writer,
                          diag);
    if (rc < 0) {
        store_close(&collector->reader);
        free(collector);
        return rc;
    }
    collector->events = *events;
    collector->budget.context = collector;
    collector->budget.make_room = room_make;
    collector->budget_bytes = store->bounds.budget_bytes;
    collector->budget.stored_max = writer_pages_bytes(collector->writer) / 4;
    collector->open = take_spare(collector);
    collector->pace_ms = PACE_BUSY_MS;
    alarm_init(&collector->alarm, loop, on_alarm, collector);
    alarm_init(&collector->strays_alarm, loop, end_strays, collector);
    collector->open_alarms = 2;
    alarm_set(&collector->strays_alarm, 0); /* after rings were adopted */
    *out_collector = collector;
    return 0;
}

static void free_collector(void *context)
{
    struct collector *collector = context;

    if (--collector->open_alarms == 0)
        free(collector);
}

void collector_destroy(struct collector **collector_at)
{
    struct collector *collector = *collector_at;

    *collector_at = NULL;
    if (!collector)
        return;
    writer_stop(&collector->writer);
    while (collector->roster.first) {
        struct session *session = collector->roster.first;

        unlink_session(collector, session);
        session_destroy(&session);
    }
    roster_deinit(&collector->roster);
    batch_spares_deinit(&collector->spares);
    batch_destroy(&collector->open);
    store_close(&collector->reader);
    alarm_close(&collector->alarm, free_collector);
    alarm_close(&collector->strays_alarm, free_collector);
}

void collector_stop(struct collector *collector)
{
    collector->is_stopping = true;
    if (collector_trouble(collector) < 0)
        writer_give_up(collector->writer);
    collector->commits_soon = true;
    schedule(collector);
}
