/* SPDX-License-Identifier: Apache-2.0 */
/* The ring that a thread writes into: found or made, moved from one to the next, made room in. */
#include "client/thread_ring.h"

#include <errno.h>
#include <string.h>

#include "client/connect.h"
#include "client/cost.h"
#include "client/hot.h"
#include "client/loss_ring.h"
#include "client/ring.h"
#include "client/session.h"
#include "client/thread_end.h"

enum { BELL_PAUSE_MS = 1 };

/* Memory is taken by so many records at a time, 32 KiB: a few microseconds. */
enum { READY_STEP = 512 };

/* A little below what the daemon takes: it may give back a ring later than we do. */
enum {
    RINGS_MAX = OT_WIRE_RINGS_MAX / 8 * 7,
    RECORDS_MAX = OT_WIRE_SESSION_RING_RECORDS_MAX / 8 * 7,
};

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
    ot_thread_free(old);
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
int ot_thread_give_ring(struct ot_thread *thread, bool inherits)
{
    ot_session.ring_error = find_ring(thread, inherits);
    return ot_session.ring_error;
}

void ot_thread_lose_ring(struct ot_thread *thread, uint64_t now)
{
    thread->retry_ticks = now + ot_ms_to_ticks(1000);
    ot_hot.ring = NULL;
    ot_hot.state = OT_STATE_NONE;
    ot_hot.stop = 0;
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

/* The session is a new one: a new ring, too. */
static void migrate(struct ot_thread *thread, uint64_t now)
{
    const bool salvage = ot_thread_is_left_behind(thread);
    const uint64_t old_state = ot_hot.state;
    struct ot_thread old = *thread;

    thread->ring = NULL;
    thread->pause_ticks = ot_ticks_per_s();
    if (ot_thread_give_ring(thread, false) == 0) {
        carry_over(old.ring, old_state, salvage);
        ot_thread_adapt_counters(thread);
        ot_cost_tell();
        ot_connect_push_waiting();
    } else {
        if (salvage)
            ot_loss_ring_add_left(old.ring);
        ot_thread_lose_ring(thread, now);
        ot_loss_ring_make();
        ot_connect_push_waiting();
    }
    ot_thread_drop_ring(&old);
}

/* The session goes on, in a ring that can be handed over. Until there is one, the old one will do:
 * the daemon may have it. */
static void replace_ring(struct ot_thread *thread)
{
    const uint64_t old_state = ot_hot.state;
    struct ot_thread old = *thread;

    thread->ring = NULL;
    if (ot_thread_give_ring(thread, false) < 0) {
        thread->ring = old.ring;
        return;
    }
    carry_over(old.ring, old_state, old.handed_link == 0);
    if (old.handed_link == 0)
        ot_thread_drop_ring(&old);
    else
        ot_thread_orphan_ring(&old);
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

static void ring_doorbell(struct ot_thread *thread, uint64_t now)
{
    struct ot_wire_doorbell frame = {
        .header = ot_wire_header(OT_FRAME_DOORBELL, sizeof(frame)),
        .ring_id = thread->ring_id,
    };

    if (now < thread->bell_ticks || !ot_try_enter())
        return;
    thread->bell_ticks = now + ot_ms_to_ticks(BELL_PAUSE_MS);
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
        ot_thread_set_deadline(hot, 0);
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
