/* SPDX-License-Identifier: Apache-2.0 */
/* One slot that every thread adds to. */
#include "client/loss_ring.h"

#include <string.h>
#include <sys/mman.h>

#include "client/question.h"
#include "client/ring.h"
#include "client/session.h"

/* Slot 0 is of the ring's own lane. */
enum { SLOT_NO_MEMORY = 1, SLOT_PRODUCER = 2, SLOTS = 3 };

/* Threads count without the lock, so the memory stays where it is for good: the ring of a later
 * session is mapped in the place of the one before. */
static struct ot_ring *ring;
static struct ot_ring *view; /* the same memory, mapped again: what threads add while another one
                                takes its place is found here */
static uint64_t
    carried[SLOTS]; /* of its counts: counted elsewhere, or a daemon has them for good */
static struct ot_fd ring_fd = {.number = -1};
static uint32_t ring_id, ring_lane, handed_link;
static bool is_current; /* it is of the present session */

/* Without a ring, or before there is one. A daemon that dies takes what it was told along, unless
 * it had stored it. */
static struct ot_ring_gap private_gaps[SLOTS];
static uint64_t private_told[SLOTS]; /* on connection number told_link */
static uint64_t private_asked[SLOTS], private_stored[SLOTS];
static struct ot_question question;
static uint32_t told_link;

static void add(enum ot_wire_loss reason, uint64_t count, uint64_t first, uint64_t last,
                uint64_t pause_ticks);

/* Count here what was counted in a ring that nobody will read. */
static void carry(const struct ot_ring *from)
{
    const uint64_t now = ot_ticks();

    for (int slot = 0; slot < SLOTS; slot++) {
        const uint64_t count =
            __atomic_load_n(&from->gaps[slot].lost_count, __ATOMIC_ACQUIRE) - carried[slot];

        carried[slot] += count;
        if (count > 0)
            add(slot == SLOT_NO_MEMORY ? OT_LOSS_NO_MEMORY : OT_LOSS_PRODUCER, count, now, now,
                UINT64_MAX);
    }
}

static void replace_ring(struct ot_ring *made, struct ot_fd fd)
{
    const struct ot_ring_header header = made->header;
    const size_t bytes = ot_ring_bytes(OT_WIRE_RING_RECORDS_MIN);
    struct ot_ring *old = view;
    void *at = mmap(ring, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (ring ? MAP_FIXED : 0),
                    fd.number, 0);

    if (at == MAP_FAILED) {
        ot_ring_destroy(&made, &fd);
        return;
    }
    __atomic_store_n(&ring, at, __ATOMIC_RELEASE);
    view = made;
    ot_fd_close(&ring_fd);
    ring_fd = fd;
    ring_id = header.ring_id;
    ring_lane = header.lane_id;
    ot_session.ring_next_id = ring_id;
    handed_link = 0;
    __atomic_store_n(&is_current, true, __ATOMIC_RELEASE);
    if (!old)
        return;
    carry(old);
    memset(carried, 0, sizeof(carried));
    munmap(old, bytes);
}

static bool is_here(void)
{
    return __atomic_load_n(&is_current, __ATOMIC_ACQUIRE);
}

void ot_loss_ring_make(void)
{
    struct ot_ring_header header = {
        .magic = OT_RING_MAGIC,
        .version = OT_RING_VERSION,
        .record_bytes = sizeof(struct ot_wire_record),
        .depth_max = OT_RING_DEPTH_MAX,
        .record_count = OT_WIRE_RING_RECORDS_MIN,
        .ring_id = ot_session.ring_next_id + 1,
        .lane_id = ot_session.log.lane_count, /* it must have one; nothing is counted for it */
    };
    struct ot_ring *made = NULL;
    struct ot_fd fd;

    if (is_here() || ot_session.log.lane_count == 0)
        return;
    memcpy(header.uuid, ot_session.uuid, sizeof(header.uuid));
    if (ot_ring_create(&header, &made, &fd) == 0)
        replace_ring(made, fd);
}

/* Each writer has read the clock before, and may come late. */
static void stretch(struct ot_ring_gap *gap, uint64_t first, uint64_t last, uint64_t pause_ticks)
{
    const uint64_t before = __atomic_load_n(&gap->last_ticks, __ATOMIC_RELAXED);
    const bool is_new = __atomic_load_n(&gap->lost_count, __ATOMIC_RELAXED) == 0 ||
                        (first > before && first - before > pause_ticks);

    if (is_new || first < __atomic_load_n(&gap->first_ticks, __ATOMIC_RELAXED))
        __atomic_store_n(&gap->first_ticks, first, __ATOMIC_RELAXED);
    if (is_new || last > before)
        __atomic_store_n(&gap->last_ticks, last, __ATOMIC_RELAXED);
}

/* Adds to a slot that has several writers. The range of times is informative, and may be wide. */
static void add(enum ot_wire_loss reason, uint64_t count, uint64_t first, uint64_t last,
                uint64_t pause_ticks)
{
    const int slot = reason == OT_LOSS_NO_MEMORY ? SLOT_NO_MEMORY : SLOT_PRODUCER;
    struct ot_ring_gap *gap = is_here() ? &ring->gaps[slot] : &private_gaps[slot];

    stretch(gap, first, last, pause_ticks);
    __atomic_store_n(&gap->reason, (uint32_t)reason, __ATOMIC_RELAXED);
    __atomic_fetch_add(&gap->lost_count, count, __ATOMIC_RELEASE);
}

void ot_loss_ring_count(uint64_t now, uint64_t pause_ticks)
{
    add(OT_LOSS_NO_MEMORY, 1, now, now, pause_ticks);
}

void ot_loss_ring_add_left(const struct ot_ring *left)
{
    const uint64_t head = ot_ring_head(ot_ring_load_state(left));
    const uint64_t used = ot_ring_used(head, ot_ring_tail(left));
    uint64_t count = used <= left->header.record_count ? used : 0;

    __atomic_fetch_add(&ot_session.lost[OT_LOSS_NO_MEMORY], count, __ATOMIC_RELAXED);
    for (int slot = 0; slot < OT_RING_GAPS; slot++) /* these are in optrace_lost() already */
        count += __atomic_load_n(&left->gaps[slot].lost_count, __ATOMIC_ACQUIRE);
    if (count == 0)
        return;
    if (ot_session.starts > 0)
        ot_loss_ring_make(); /* so that the count outlives the daemon, too */
    add(OT_LOSS_PRODUCER, count, ot_ticks(), ot_ticks(), UINT64_MAX);
}

static int push_ring(void)
{
    struct ot_session *session = &ot_session;
    const struct ot_wire_ring frame = {
        .header = ot_wire_header(OT_FRAME_RING, sizeof(frame)),
        .ring_id = ring_id,
        .lane_id = ring_lane,
        .record_count = OT_WIRE_RING_RECORDS_MIN,
        .memory_bytes = ot_ring_bytes(OT_WIRE_RING_RECORDS_MIN),
    };
    int rc;

    if (handed_link == session->link_number)
        return 0;
    rc = ot_link_send(&session->link, &frame, sizeof(frame), ring_fd.number);
    if (rc == 0)
        handed_link = session->link_number;
    return rc;
}

static int tell_private(int slot)
{
    const struct ot_ring_gap *gap = &private_gaps[slot];
    const uint64_t lost = __atomic_load_n(&gap->lost_count, __ATOMIC_ACQUIRE);
    const uint32_t lane_count = ot_session.log.lane_count;
    const uint64_t first = __atomic_load_n(&gap->first_ticks, __ATOMIC_RELAXED);
    const uint64_t last = __atomic_load_n(&gap->last_ticks, __ATOMIC_RELAXED);
    const struct ot_wire_gap frame = {
        .header = ot_wire_header(OT_FRAME_GAP, sizeof(frame)),
        .lane_id = lane_count < OT_WIRE_LANES_MAX ? lane_count + 1 : 1, /* none that there is */
        .reason = __atomic_load_n(&gap->reason, __ATOMIC_RELAXED),
        .lost_count = lost - private_told[slot],
        /* Two that write at once may leave them the wrong way round. */
        .first_ticks = first < last ? first : last,
        .last_ticks = first < last ? last : first,
    };
    int rc;

    if (lost == private_told[slot])
        return 0;
    rc = ot_link_send(&ot_session.link, &frame, sizeof(frame), -1);
    if (rc == 0)
        private_told[slot] = lost;
    return rc;
}

static int push_private(void)
{
    int rc = 0;

    if (ot_question_hear(&question) == OT_ANSWER_STORED)
        memcpy(private_stored, private_asked, sizeof(private_stored));
    if (told_link != ot_session.link_number)
        memcpy(private_told, private_stored, sizeof(private_told));
    told_link = ot_session.link_number;
    for (int slot = 0; rc == 0 && slot < SLOTS; slot++)
        rc = tell_private(slot);
    if (rc < 0 || question.is_asked ||
        memcmp(private_told, private_stored, sizeof(private_told)) == 0)
        return rc;
    memcpy(private_asked, private_told, sizeof(private_asked));
    return ot_question_ask(&question);
}

/* The program closed its descriptor. Whether the daemon that had it read all of it, nobody knows:
 * what was counted there is counted again. */
static void move_ring(void)
{
    __atomic_store_n(&is_current, false, __ATOMIC_RELEASE);
    ot_loss_ring_make();
    if (!is_here())
        carry(view);
}

int ot_loss_ring_push(void)
{
    int rc;

    if (is_here() && handed_link != ot_session.link_number && !ot_fd_is_ours(&ring_fd))
        move_ring();
    rc = is_here() ? push_ring() : 0;
    return rc == 0 ? push_private() : rc;
}

void ot_loss_ring_retire(bool is_read)
{
    __atomic_store_n(&is_current, false, __ATOMIC_RELEASE);
    if (is_read)
        memcpy(private_stored, private_told, sizeof(private_stored));
    if (view && !is_read)
        carry(view);
    for (int slot = 0; view && is_read && slot < SLOTS; slot++)
        carried[slot] = __atomic_load_n(&view->gaps[slot].lost_count, __ATOMIC_ACQUIRE);
}

void ot_loss_ring_forget(void)
{
    __atomic_store_n(&is_current, false, __ATOMIC_RELEASE);
    if (ring)
        munmap(ring, ot_ring_bytes(OT_WIRE_RING_RECORDS_MIN));
    ring = NULL;
    if (view)
        ot_ring_destroy(&view, &ring_fd);
    ot_question_drop(&question);
    memset(carried, 0, sizeof(carried));
    memset(private_gaps, 0, sizeof(private_gaps));
    memset(private_told, 0, sizeof(private_told));
    memset(private_stored, 0, sizeof(private_stored));
}
