/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's ring: made on its first record, moved to a new session, left behind at its end. */
#include "client/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/connect.h"
#include "client/cost.h"
#include "client/hot.h"
#include "client/lane_pool.h"
#include "client/loss_ring.h"
#include "client/optrace.h"
#include "client/orphan.h"
#include "client/ring.h"
#include "client/schedule.h"
#include "client/session.h"

enum {
    FORK_TIMEOUT_MS = 100, /* what the first record of a forked child may wait */
    RETRY_MS = 10,         /* housekeeping while something is under way */
    BELL_PAUSE_MS = 1,
    SPARE_MS = 2000, /* a ring that no new thread wants for so long goes back to the system */
};

/* Memory is taken by so many records at a time, 32 KiB: a few microseconds. */
enum { READY_STEP = 512 };

/* A little below what the daemon takes: it may give back a ring later than we do. */
enum {
    RINGS_MAX = OT_WIRE_RINGS_MAX / 8 * 7,
    RECORDS_MAX = OT_WIRE_SESSION_RING_RECORDS_MAX / 8 * 7,
};

_Thread_local struct ot_hot ot_hot = {.state = OT_STATE_NONE};

static pthread_key_t end_key;
static bool has_end_key;

static uint64_t ticks_per_s(void)
{
    return __atomic_load_n(&ot_session.ticks_per_s, __ATOMIC_RELAXED);
}

static uint64_t ms_to_ticks(uint64_t ms)
{
    return ticks_per_s() / 1000 * ms;
}

uint64_t ot_ns_to_ticks(uint64_t ns)
{
    const double ticks = (double)ns * 1e-9 * (double)ticks_per_s();

    return ticks < (double)(INT64_MAX / 2) ? (uint64_t)ticks : INT64_MAX / 2;
}

bool ot_is_past(uint64_t deadline, uint64_t now)
{
    return now >= deadline || deadline - now > 2 * ticks_per_s();
}

static void set_deadline(struct ot_hot *hot, uint64_t ticks)
{
    __atomic_store_n(&hot->due, ticks, __ATOMIC_RELAXED);
    /* Another thread's `counters` is not looked at: it is called with 0. */
    if (ticks != 0 && (!ot_fast_ticks_fit() || hot->counters))
        ticks = 0;
    __atomic_store_n(&hot->deadline, ticks, __ATOMIC_RELAXED);
}

static void add_lost(const struct ot_thread *thread, uint64_t out_lost[])
{
    for (int i = 0; i <= OT_LOSS_NO_MEMORY; i++)
        out_lost[i] += __atomic_load_n(&thread->lost[i], __ATOMIC_RELAXED);
}

static void drop_ring(struct ot_thread *thread)
{
    if (!thread->ring)
        return;
    ot_session.ring_records -= thread->ring->header.record_count;
    ot_session.ring_count--;
    ot_ring_destroy(&thread->ring, &thread->ring_fd);
}

/* Open the counters that the program asks for now, close those that it no longer does. */
static void adapt_counters(struct ot_thread *thread)
{
    const uint32_t asked = ot_session.settings.counters;

    if (thread->counters && thread->counters->asked == asked)
        return;
    if (thread->counters)
        ot_counters_close(thread->counters);
    free(thread->counters);
    thread->counters = asked ? malloc(sizeof(*thread->counters)) : NULL;
    if (thread->counters) {
        ot_counters_open(thread->counters, asked);
        __atomic_store_n(&ot_hot.deadline, 0, __ATOMIC_RELAXED);
    }
    ot_hot.counters = thread->counters;
}

static void drop_counters(struct ot_thread *thread)
{
    if (thread->counters)
        ot_counters_close(thread->counters);
    free(thread->counters);
    thread->counters = NULL;
}

/* --- Coming and going: a thread's ring goes to the next one, so that a program with a thread per
 * request makes as many rings as it has threads at once. --- */

static void link_thread(struct ot_thread *thread)
{
    thread->next = ot_session.threads;
    thread->at = &ot_session.threads;
    if (thread->next)
        thread->next->at = &thread->next;
    ot_session.threads = thread;
}

static void free_thread(struct ot_thread *thread)
{
    *thread->at = thread->next;
    if (thread->next)
        thread->next->at = thread->at;
    add_lost(thread, ot_session.lost);
    drop_ring(thread);
    drop_counters(thread);
    free(thread);
}

/* --- Rings whose descriptors the program has closed. --- */

/* The daemon may have it, and nobody can hand it over: whoever reads it reads what is in it. */
static void orphan_ring(struct ot_thread *thread)
{
    ot_session.ring_records -= thread->ring->header.record_count;
    ot_session.ring_count--;
    ot_orphan_add(thread->ring, false);
    ot_fd_close(&thread->ring_fd);
    thread->ring = NULL;
}

static void take_off_spares(const struct ot_thread *thread)
{
    struct ot_thread **link = &ot_session.spares;

    while (*link && *link != thread)
        link = &(*link)->next_spare;
    if (*link)
        *link = thread->next_spare;
}

void ot_thread_cut_off(struct ot_thread *thread)
{
    if (!thread->hot && !thread->is_lent) {
        take_off_spares(thread);
        orphan_ring(thread);
        free_thread(thread);
    } else if (!thread->is_cut_off) {
        thread->is_cut_off = true;
        set_deadline(thread->hot, 0);
    }
}

void ot_thread_leave_cut_off(void)
{
    for (struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        if (thread->is_cut_off && !thread->is_lent && thread->ring) {
            ot_orphan_add(thread->ring, true);
            thread->is_lent = true;
        }
    }
}

/* Of a session that has ended, and not by a goodbye, after which the daemon reads it. */
static bool is_left_behind(const struct ot_thread *thread)
{
    return thread->ring && !thread->is_given_up && thread->epoch < ot_session.epoch &&
           thread->epoch > ot_session.saved_epoch;
}

void ot_thread_leave_past(void)
{
    struct ot_thread *next;

    for (struct ot_thread *thread = ot_session.threads; thread; thread = next) {
        next = thread->next;
        if (thread->hot)
            continue;
        if (is_left_behind(thread))
            ot_loss_ring_add_left(thread->ring);
        take_off_spares(thread);
        free_thread(thread);
    }
}

void ot_thread_give_up_past(void)
{
    for (struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        if (!is_left_behind(thread))
            continue;
        ot_loss_ring_add_left(thread->ring);
        thread->is_given_up = true;
    }
}

static void close_ring(struct ot_thread *thread)
{
    __atomic_store_n(&thread->ring->closed, 1, __ATOMIC_RELEASE);
}

/* What becomes of an ended thread's ring. */
static void leave_ring(struct ot_thread *thread)
{
    struct ot_session *session = &ot_session;

    thread->ended_ns = ot_clock_ns(CLOCK_MONOTONIC);
    if (thread->epoch != session->epoch || session->starts == 0) {
        close_ring(thread);
        return;
    }
    thread->next_spare = session->spares;
    session->spares = thread;
}

/* Runs as the thread's last act but those of other keys. */
static void thread_ended(void *context)
{
    struct ot_thread *thread = context;

    if (!ot_enter())
        return;
    ot_span_end_all(ot_ticks());
    if (is_left_behind(thread) && ot_session.starts > 0)
        ot_thread_follow(ot_ticks()); /* nobody else takes its records along */
    thread->hot = NULL;
    drop_counters(thread);
    if (thread->lane_id)
        ot_lane_pool_give(thread->lane_id);
    ot_hot.counters = NULL;
    ot_hot.state = OT_STATE_NONE;
    ot_hot.stop = 0;
    ot_hot.ring = NULL;
    ot_hot.thread = NULL;
    if (thread->ring && thread->is_cut_off && !thread->is_lent)
        orphan_ring(thread);
    if (thread->ring)
        leave_ring(thread);
    else
        free_thread(thread);
    ot_leave();
}

int ot_thread_make(struct ot_thread **out_thread)
{
    struct ot_session *session = &ot_session;
    struct ot_thread *thread = ot_hot.thread;
    int rc;

    *out_thread = thread;
    if (thread)
        return 0;
    if (!has_end_key && pthread_key_create(&end_key, thread_ended) != 0)
        return -ENOMEM;
    has_end_key = true;
    thread = calloc(1, sizeof(*thread));
    if (!thread)
        return -ENOMEM;
    rc = -pthread_setspecific(end_key, thread);
    if (rc < 0) {
        free(thread);
        return rc;
    }
    thread->hot = &ot_hot;
    thread->ring_fd = OT_FD_NONE;
    thread->pause_ticks = ticks_per_s();
    link_thread(thread);
    ot_hot.thread = thread;
    ot_hot.correlation = (uint64_t)++session->thread_serial << 40;
    *out_thread = thread;
    return 0;
}

int ot_thread_take_lane(struct ot_thread *thread, const char *name)
{
    int rc = thread->lane_id ? 0 : ot_lane_pool_take(name, &thread->lane_id);

    if (rc == 0)
        ot_hot.lane_run = thread->lane_id | (ot_hot.lane_run & ~(uint64_t)UINT32_MAX);
    return rc;
}

static void use_ring(struct ot_thread *thread)
{
    ot_hot.ring = thread->ring;
    ot_hot.state = ot_ring_load_state(thread->ring);
    ot_hot.mask = thread->ring->header.record_count - 1;
    ot_hot.stop = ot_ring_tail(thread->ring) + thread->ring->header.record_count / 2;
    if (thread->ready <= ot_hot.mask && ot_hot.stop > thread->ready)
        ot_hot.stop = thread->ready;
}

/* Where the list has a ring with room for more: the latest, whose memory is warm, that is not half
 * full. Without `is_half_empty`, the emptiest. NULL: there is none. */
static struct ot_thread **find_spare(bool is_half_empty)
{
    struct ot_thread **best = NULL;
    uint64_t best_used = UINT64_MAX;

    for (struct ot_thread **link = &ot_session.spares; *link; link = &(*link)->next_spare) {
        const struct ot_ring *ring = (*link)->ring;
        const uint64_t head = ot_ring_head(ot_ring_load_state(ring));
        const uint64_t used = ot_ring_used(head, ot_ring_tail(ring));

        if ((*link)->epoch != ot_session.epoch)
            continue;
        if (is_half_empty && used < ring->header.record_count / 2)
            return link;
        if (!is_half_empty && used < best_used) {
            best = link;
            best_used = used;
        }
    }
    return best;
}

/* The ring of a thread that has ended. Its lane stays that of its first thread; records name
 * theirs. */
static void inherit_ring(struct ot_thread *thread, struct ot_thread **spare)
{
    struct ot_thread *old = *spare;

    *spare = old->next_spare;
    thread->ring = old->ring;
    thread->ring_fd = old->ring_fd;
    thread->ring_id = old->ring_id;
    thread->epoch = old->epoch;
    thread->handed_link = old->handed_link;
    thread->ready = old->ready;
    old->ring = NULL;
    free_thread(old);
    use_ring(thread);
}

static bool has_room(uint64_t record_count)
{
    return ot_session.ring_count < RINGS_MAX &&
           ot_session.ring_records + record_count <= RECORDS_MAX;
}

/* Have memory for records up to number `end`; a little more is had with them. */
static int get_ready(struct ot_thread *thread, uint64_t end)
{
    const uint64_t record_count = thread->ring->header.record_count;
    int rc;

    end = (end + READY_STEP - 1) / READY_STEP * READY_STEP;
    if (end > record_count)
        end = record_count;
    if (end <= thread->ready)
        return 0;
    rc = ot_ring_populate(thread->ring, &thread->ring_fd, thread->ready, end);
    if (rc == 0)
        thread->ready = end;
    return rc;
}

/* The next head at which to look again: `wanted`, unless memory ends before. Returns false when
 * there is none for the next record. */
static bool set_stop(struct ot_thread *thread, uint64_t wanted, uint64_t now)
{
    const uint64_t head = ot_ring_head(ot_hot.state);

    if (head == thread->ready && head <= ot_hot.mask) {
        if (thread->is_short && now < thread->retry_ticks)
            return false;
        thread->is_short = get_ready(thread, head + 1) < 0;
        thread->retry_ticks = now + thread->pause_ticks / 100;
        if (thread->is_short)
            return false;
    }
    ot_hot.stop = thread->ready <= ot_hot.mask && wanted > thread->ready ? thread->ready : wanted;
    return true;
}

static int make_ring(struct ot_thread *thread)
{
    struct ot_session *session = &ot_session;
    struct ot_ring_header header = {
        .magic = OT_RING_MAGIC,
        .version = OT_RING_VERSION,
        .record_bytes = sizeof(struct ot_wire_record),
        .depth_max = OT_RING_DEPTH_MAX,
        .record_count = session->settings.ring_records,
        .ring_id = session->ring_next_id + 1,
        .lane_id = thread->lane_id,
    };
    int rc;

    memcpy(header.uuid, session->uuid, sizeof(header.uuid));
    rc = ot_ring_create(&header, &thread->ring, &thread->ring_fd);
    if (rc < 0)
        return rc;
    thread->ready = 0;
    rc = get_ready(thread, 1);
    if (rc < 0) {
        ot_ring_destroy(&thread->ring, &thread->ring_fd);
        return rc;
    }
    session->ring_next_id++;
    session->ring_count++;
    session->ring_records += header.record_count;
    thread->ring_id = header.ring_id;
    thread->epoch = session->epoch;
    thread->handed_link = 0;
    thread->is_cut_off = thread->is_lent = thread->is_given_up = false;
    use_ring(thread);
    return 0;
}

/* The lane comes last, so that threads without a ring use up none. */
static int find_ring(struct ot_thread *thread, bool inherits)
{
    const uint64_t record_count = ot_session.settings.ring_records;
    struct ot_thread **spare = inherits ? find_spare(true) : NULL;
    int rc;

    if (!spare && !has_room(record_count))
        ot_thread_reap(false);
    if (!spare && !has_room(record_count))
        spare = inherits ? find_spare(false) : NULL;
    if (!spare && !has_room(record_count))
        return -ENOSPC;
    rc = ot_thread_take_lane(thread, NULL);
    if (rc < 0)
        return rc;
    if (!spare)
        return make_ring(thread);
    inherit_ring(thread, spare);
    return 0;
}

/* The same, and remember for optrace_status() how it went. */
static int give_ring(struct ot_thread *thread, bool inherits)
{
    ot_session.ring_error = find_ring(thread, inherits);
    return ot_session.ring_error;
}

static void lose_ring(struct ot_thread *thread, uint64_t now)
{
    thread->retry_ticks = now + ms_to_ticks(1000);
    ot_hot.ring = NULL;
    ot_hot.state = OT_STATE_NONE;
    ot_hot.stop = 0;
}

/* When the housekeeping of the connection is due again. */
static uint64_t connection_deadline(uint64_t now)
{
    const struct ot_session *session = &ot_session;
    const uint64_t since_open_ms = (session->clock_ns - session->opened_ns) / 1000000;

    if (session->starts == 0 || session->refused)
        return now + ms_to_ticks(1000);
    if (session->phase == OT_PHASE_CLOSED)
        return now + ms_to_ticks(session->backoff_ms > RETRY_MS ? session->backoff_ms : RETRY_MS);
    if (session->phase == OT_PHASE_GREETED || session->log_sent < session->log.length)
        return now + ms_to_ticks(RETRY_MS);
    if (since_open_ms < 1000)
        return now + ms_to_ticks(since_open_ms > RETRY_MS ? since_open_ms : RETRY_MS);
    return now + ms_to_ticks(1000);
}

/* Also when the recording is to end by then, for programs that begin no runs. */
static uint64_t next_deadline(uint64_t now)
{
    const uint64_t deadline = connection_deadline(now);
    const uint64_t due = now + ot_ns_to_ticks(ot_schedule_due_in_ns());

    return due < deadline ? due : deadline;
}

/* Threads that live shorter than the housekeeping's pause do it as they come. */
static void set_next_deadline(uint64_t now)
{
    const uint64_t due = next_deadline(now);

    ot_session.due_ticks = due;
    set_deadline(&ot_hot, due);
}

static bool attach(struct ot_thread *thread)
{
    if (ot_session.forked)
        ot_connect_wait(FORK_TIMEOUT_MS, false);
    if (give_ring(thread, true) < 0) {
        ot_loss_ring_make();
        ot_connect_push_waiting();
        return false;
    }
    adapt_counters(thread);
    ot_cost_tell();
    ot_connect_push_waiting();
    return true;
}

bool ot_thread_attach(uint64_t now)
{
    struct ot_thread *thread = ot_hot.thread;
    bool has_ring = false;

    if ((thread && now < thread->retry_ticks) || !ot_enter())
        return false;
    if (ot_is_past(ot_session.due_ticks, now))
        ot_connect_tick();
    if (optrace_level() != OPTRACE_OFF && ot_thread_make(&thread) == 0 && !thread->ring) {
        has_ring = attach(thread);
        if (!has_ring)
            lose_ring(thread, now);
        set_next_deadline(now);
    }
    ot_leave();
    return has_ring;
}

/* Copy what is unfinished, and with `salvage` what no daemon has, to the thread's new ring. */
static void carry_over(const struct ot_ring *old, uint64_t old_state, bool salvage)
{
    struct ot_ring *ring = ot_hot.ring;
    const uint64_t old_mask = old->header.record_count - 1;
    const uint64_t depth = ot_ring_depth(old_state);
    const uint64_t head = ot_ring_head(old_state);
    const uint64_t used = ot_ring_used(head, ot_ring_tail(old));
    uint64_t count = 0;

    memcpy(ring->open, old->open, depth * sizeof(ring->open[0]));
    if (salvage)
        ot_ring_move_losses(old, ring);
    if (salvage && used <= old->header.record_count &&
        get_ready(ot_hot.thread, used < ot_hot.mask ? used + 1 : ot_hot.mask + 1) == 0) {
        for (; count < used && count <= ot_hot.mask; count++)
            ring->records[count] = old->records[(head - used + count) & old_mask];
    }
    ot_hot.state = ot_ring_state(count, depth);
    __atomic_store_n(&ring->state, ot_hot.state, __ATOMIC_RELEASE);
    if (count > ot_hot.stop)
        ot_hot.stop = count;
    for (; salvage && count < used; count++)
        ot_thread_lose(0, OT_LOSS_NO_MEMORY, ot_ticks());
}

uint64_t ot_thread_unread(const struct ot_thread *thread)
{
    const uint64_t head = ot_ring_head(ot_ring_load_state(thread->ring));
    const uint64_t used = ot_ring_used(head, ot_ring_tail(thread->ring));

    return used <= thread->ring->header.record_count ? used : 0;
}

/* The session is a new one: a new ring, too. */
static void migrate(struct ot_thread *thread, uint64_t now)
{
    const bool salvage = is_left_behind(thread);
    const uint64_t old_state = ot_hot.state;
    struct ot_thread old = *thread;

    thread->ring = NULL;
    thread->pause_ticks = ticks_per_s();
    if (give_ring(thread, false) == 0) {
        carry_over(old.ring, old_state, salvage);
        adapt_counters(thread);
        ot_cost_tell();
        ot_connect_push_waiting();
    } else {
        if (salvage)
            ot_loss_ring_add_left(old.ring);
        lose_ring(thread, now);
        ot_loss_ring_make();
        ot_connect_push_waiting();
    }
    drop_ring(&old);
}

/* The session goes on, in a ring that can be handed over. Until there is one, the old one will do:
 * the daemon may have it. */
static void replace_ring(struct ot_thread *thread)
{
    const uint64_t old_state = ot_hot.state;
    struct ot_thread old = *thread;

    thread->ring = NULL;
    if (give_ring(thread, false) < 0) {
        thread->ring = old.ring;
        return;
    }
    carry_over(old.ring, old_state, old.handed_link == 0);
    if (old.handed_link == 0)
        drop_ring(&old);
    else
        orphan_ring(&old);
    ot_connect_push_waiting();
}

void ot_thread_follow(uint64_t now)
{
    struct ot_thread *thread = ot_hot.thread;

    if (!thread || !thread->ring)
        return;
    if (thread->epoch != ot_session.epoch)
        migrate(thread, now);
    else if (thread->is_cut_off)
        replace_ring(thread);
}

void ot_thread_service(uint64_t now)
{
    if (!ot_try_enter()) {
        if (ot_hot.thread) /* a hundredth of a second; the session's numbers need the lock */
            set_deadline(&ot_hot, now + ot_hot.thread->pause_ticks / 100);
        return;
    }
    ot_connect_tick();
    ot_thread_follow(now); /* after the tick, which may find that the session has ended */
    set_next_deadline(now);
    ot_leave();
}

static void ring_doorbell(struct ot_thread *thread, uint64_t now)
{
    const struct ot_wire_doorbell frame = {
        .header = ot_wire_header(OT_FRAME_DOORBELL, sizeof(frame)),
        .ring_id = thread->ring_id,
    };

    if (now < thread->bell_ticks || !ot_try_enter())
        return;
    thread->bell_ticks = now + ms_to_ticks(BELL_PAUSE_MS);
    ot_connect_send(&frame, sizeof(frame));
    ot_leave();
}

bool ot_thread_make_room(uint64_t now)
{
    struct ot_hot *hot = &ot_hot;
    const uint64_t count = hot->mask + 1;
    const uint64_t head = ot_ring_head(hot->state);
    uint64_t due, tail;

    if (hot->state == OT_STATE_NONE)
        return false;
    due = __atomic_load_n(&hot->due, __ATOMIC_RELAXED);
    /* The counter has gone back: without this, nobody would tell the daemon until it is here again.
     */
    if (due > now && ot_is_past(due, now))
        set_deadline(hot, 0);
    tail = ot_ring_tail(hot->ring);
    if (ot_ring_used(head, tail) < count / 2)
        return set_stop(hot->thread, tail + count / 2, now);
    ring_doorbell(hot->thread, now);
    tail = ot_ring_tail(hot->ring);
    if (ot_ring_used(head, tail) >= count)
        return false;
    /* Again after a quarter of the ring, or when it is full. */
    return set_stop(hot->thread, head + count / 4 < tail + count ? head + count / 4 : tail + count,
                    now);
}

void ot_thread_lose(uint32_t lane, enum ot_wire_loss reason, uint64_t now)
{
    struct ot_thread *thread = ot_hot.thread;

    if (thread && thread->is_short && reason == OT_LOSS_RING_FULL)
        reason = OT_LOSS_NO_MEMORY;
    if (!thread || ot_hot.state == OT_STATE_NONE) {
        reason = OT_LOSS_NO_MEMORY;
        ot_loss_ring_count(now, thread ? thread->pause_ticks : 0);
    } else {
        ot_ring_count_loss(ot_hot.ring, lane ? lane : thread->lane_id, reason, now,
                           thread->pause_ticks);
    }
    if (thread)
        __atomic_store_n(&thread->lost[reason], thread->lost[reason] + 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&ot_session.lost[reason], 1, __ATOMIC_RELAXED);
}

/* The daemon has all that this thread left. */
static bool is_drained(const struct ot_thread *thread)
{
    const struct ot_session *session = &ot_session;

    return session->phase == OT_PHASE_OPEN && thread->handed_link == session->link_number &&
           ot_ring_tail(thread->ring) == ot_ring_head(ot_ring_load_state(thread->ring));
}

/* Rings that nobody has taken for a while are closed. */
static void close_spares(bool all)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_thread **link = &ot_session.spares;

    while (*link) {
        struct ot_thread *thread = *link;

        if (!all && thread->epoch == ot_session.epoch &&
            now_ns - thread->ended_ns < SPARE_MS * UINT64_C(1000000)) {
            link = &thread->next_spare;
            continue;
        }
        *link = thread->next_spare;
        close_ring(thread);
    }
}

void ot_thread_reap(bool all)
{
    struct ot_thread *next;

    close_spares(all);
    for (struct ot_thread *thread = ot_session.threads; thread; thread = next) {
        next = thread->next;
        if (thread->hot || (!all && (!__atomic_load_n(&thread->ring->closed, __ATOMIC_RELAXED) ||
                                     !is_drained(thread))))
            continue;
        if (thread->epoch > ot_session.saved_epoch && !thread->is_given_up && all)
            ot_loss_ring_add_left(thread->ring);
        free_thread(thread);
    }
}

void ot_thread_call_all(void)
{
    for (struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        if (thread->hot)
            set_deadline(thread->hot, 0);
    }
}

void ot_thread_fork_child(void)
{
    while (ot_session.threads) {
        struct ot_thread *thread = ot_session.threads;

        ot_session.threads = thread->next;
        drop_ring(thread);
        drop_counters(thread);
        free(thread);
    }
    ot_session.spares = NULL;
    ot_hot = (struct ot_hot){
        .state = OT_STATE_NONE, .busy = ot_hot.busy, .cancel_state = ot_hot.cancel_state};
    if (has_end_key)
        pthread_setspecific(end_key, NULL);
}

void ot_thread_lost(uint64_t out_lost[OT_LOSS_NO_MEMORY + 1])
{
    for (int i = 0; i <= OT_LOSS_NO_MEMORY; i++)
        out_lost[i] = __atomic_load_n(&ot_session.lost[i], __ATOMIC_RELAXED);
    for (const struct ot_thread *thread = ot_session.threads; thread; thread = thread->next)
        add_lost(thread, out_lost);
}

bool ot_thread_has_records(void)
{
    for (const struct ot_thread *thread = ot_session.threads; thread; thread = thread->next) {
        uint64_t state;

        if (!thread->ring || (thread->epoch != ot_session.epoch && !is_left_behind(thread)))
            continue;
        state = ot_ring_load_state(thread->ring);
        if (ot_ring_depth(state) > 0 || ot_ring_tail(thread->ring) != ot_ring_head(state))
            return true;
    }
    return false;
}
