/* SPDX-License-Identifier: Apache-2.0 */
/* From rings to rows, in small portions: copy, check, move on. */
#include "daemon/drain.h"

#include <errno.h>

#include "daemon/alarm.h"
#include "daemon/ingest.h"

enum { PORTION = 128 }; /* records copied at once: 8 KiB, which stay in the first cache */

/* A record can be seen before the definition that was sent ahead of it, because rings and socket
 * are read at different moments. After this long, it is not coming. */
static const uint64_t DEFINITION_WAIT_NS = UINT64_C(3000000000);

static void note_pace(const struct ring *ring, uint64_t head, struct drain_pace *pace)
{
    double fill = (double)(head - ring->read) / (double)ring->record_count;

    if (fill > pace->fill_max)
        pace->fill_max = fill;
    if (head - ring->committed >= ring->record_count / 2 && head != ring->saved)
        pace->is_pressing = true;
}

/* Whether to wait for definitions of this ring's records. */
static bool is_patient(const struct collector *collector, const struct session *session,
                       const struct ring *ring)
{
    uint64_t since_ns = ring->waiting_since_ns;

    if (session->end_reason)
        return false; /* nobody is there to send one */
    if (!session->producer)
        return !collector_is_stopping(collector) || session_process_lives(session); /* comes back */
    if (since_ns < session->caught_up_ns)
        since_ns = session->caught_up_ns; /* before, it may have stood in frames we did not read */
    return session->frames_wait || ring->waiting_since_ns == 0 ||
           alarm_now_ns(CLOCK_MONOTONIC) - since_ns < DEFINITION_WAIT_NS;
}

/* How many records there are before the first that nobody wrote. Memory that was never written
 * comes into being when it is read, and is then ours: a client could make us fill gigabytes by a
 * head that is a lie. */
static size_t count_written(const struct ot_wire_record *records, size_t count)
{
    size_t written = 0;

    while (written < count && records[written].kind != OT_RECORD_NEVER_WRITTEN)
        written++;
    return written;
}

static int drain_records(struct collector *collector, struct session *session, struct ring *ring,
                         uint64_t head, struct drain_pace *pace, struct diag *diag)
{
    struct ot_wire_record portion[PORTION];
    struct ingest ingest;
    size_t taken, count, written;

    ingest_init(&ingest, session, NULL, is_patient(collector, session, ring));
    while (ring->read < head) {
        if (pace->quota == 0)
            return DRAIN_TURN;
        ingest.batch = collector_room(collector);
        if (!ingest.batch)
            return DRAIN_FULL;
        session->is_touched = true; /* the room may be in a new batch */
        count = pace->quota < PORTION ? (size_t)pace->quota : PORTION;
        count = head - ring->read < count ? (size_t)(head - ring->read) : count;
        ring_copy(ring, ring->read, count, portion);
        written = count_written(portion, count);
        taken = ingest_records(&ingest, portion, written);
        ring->read += taken;
        pace->quota -= taken;
        pace->has_read |= taken > 0;
        if (taken < written) {
            if (ring->waiting_since_ns == 0)
                ring->waiting_since_ns = alarm_now_ns(CLOCK_MONOTONIC);
            return DRAIN_WAITS;
        }
        if (written < count)
            return diag_set(diag, -EPROTO, "ring %u: record %llu was never written", ring->ring_id,
                            (unsigned long long)ring->read);
    }
    if (ingest.undefined_count == 0)
        ring->waiting_since_ns = 0;
    return DRAIN_DONE;
}

static void drain_gaps(struct collector *collector, struct session *session, struct ring *ring,
                       struct drain_pace *pace)
{
    struct ot_ring_gap gap;
    struct ingest ingest;

    for (size_t slot = 0; slot < OT_RING_GAPS; slot++) {
        uint64_t lost = ring_take_gap(ring, slot, &gap);

        if (lost == 0)
            continue;
        ingest_init(&ingest, session, collector_open_batch(collector), false);
        ingest_gap(&ingest, &gap, lost);
        ring->gaps_changed = pace->has_read = true;
    }
    ring->gaps_wait = false;
}

/* How far to read: as far as it goes, but while the daemon stops only what was there when it first
 * looked. A program that fills its ring as fast as it is read must not keep the daemon from ending;
 * what it adds stays in the ring for the next daemon. */
static uint64_t limit_head(const struct collector *collector, struct ring *ring, uint64_t head)
{
    if (!collector_is_stopping(collector))
        return head;
    if (!ring->has_last_head)
        ring->last_head = head;
    ring->has_last_head = true;
    return ring->last_head;
}

static int drain_ring(struct collector *collector, struct session *session, struct ring *ring,
                      struct drain_pace *pace, struct diag *diag)
{
    bool is_closed = ring_load_closed(ring);
    uint32_t depth;
    uint64_t head;
    int rc = ring_load(ring, &head, &depth, diag);

    if (rc == 0) {
        head = limit_head(collector, ring, head);
        note_pace(ring, head, pace);
        if (head != ring->read)
            rc = drain_records(collector, session, ring, head, pace, diag);
    }
    if (rc < 0) {
        ring->is_broken = true;
        return rc;
    }
    /* Also of a ring that brings more than its turn allows, whenever that is. */
    if (rc != DRAIN_FULL)
        drain_gaps(collector, session, ring, pace);
    if (rc == DRAIN_DONE && is_closed)
        ring->is_drained = true;
    return rc;
}

int drain_session(struct collector *collector, struct session *session, struct drain_pace *pace,
                  struct diag *diag)
{
    int64_t begin_ns = (int64_t)alarm_now_ns(CLOCK_REALTIME);
    int worst = DRAIN_DONE;

    for (size_t i = 0; i < session->rings.count; i++) {
        size_t at = (session->next_ring + i) % session->rings.count;
        struct ring *ring = session->rings.items[at];
        int rc = ring->is_broken ? DRAIN_DONE : drain_ring(collector, session, ring, pace, diag);

        if (rc < 0)
            return rc;
        if (rc >= DRAIN_TURN) {
            session->next_ring = rc == DRAIN_TURN ? at + 1 : at;
            return rc;
        }
        if (rc > worst)
            worst = rc;
    }
    /* At the end only a part of each ring may have been read, see limit_head(). */
    if (worst == DRAIN_DONE && session->rings.count > 0 && !session->is_coming_back &&
        !collector_is_stopping(collector))
        session->complete_ns = begin_ns;
    return worst;
}

/* The rings of programs that have ended wait for room; while the store fails, that may be for long.
 */
bool drain_is_too_much_left(const struct collector *collector)
{
    uint64_t records = 0;

    if (collector_trouble(collector) == 0)
        return false;
    for (const struct session *s = collector_sessions(collector); s; s = s->next)
        if (s->end_reason && !s->is_ended)
            records += s->ring_records;
    return records > OT_WIRE_LEFT_RECORDS_MAX;
}

static void lose_ring(struct collector *collector, struct session *session, struct ring *ring,
                      uint64_t head)
{
    struct ot_wire_record first, last;
    struct ot_ring_gap gap;
    struct ingest ingest;

    ring_copy(ring, ring->read, 1, &first);
    ring_copy(ring, head - 1, 1, &last);
    gap = (struct ot_ring_gap){.lane_id = ring->lane_id,
                               .reason = OT_LOSS_STORE,
                               .first_ticks = first.start_ticks,
                               .last_ticks = last.start_ticks};
    ingest_init(&ingest, session, collector_open_batch(collector), false);
    ingest_gap(&ingest, &gap, head - ring->read);
    ring->read = head;
}

void drain_nothing(struct collector *collector, struct session *session)
{
    for (size_t i = 0; i < session->rings.count; i++) {
        struct ring *ring = session->rings.items[i];
        struct drain_pace any = {0};
        struct diag ignored = {0};
        uint32_t depth;
        uint64_t head;

        if (ring->is_broken || ring_load(ring, &head, &depth, &ignored) < 0)
            continue;
        if (head != ring->read)
            lose_ring(collector, session, ring, head);
        drain_gaps(collector, session, ring, &any);
    }
}

void drain_open_spans(struct collector *collector, struct session *session)
{
    struct ot_wire_record open[OT_RING_DEPTH_MAX];
    struct diag ignored = {0};
    struct ingest ingest;
    uint32_t depth;
    uint64_t head;

    for (size_t i = 0; i < session->rings.count; i++) {
        const struct ring *ring = session->rings.items[i];

        if (ring->is_broken || ring_load(ring, &head, &depth, &ignored) < 0 || depth == 0)
            continue;
        ring_copy_open(ring, depth, open);
        ingest_init(&ingest, session, collector_open_batch(collector), false);
        ingest_open(&ingest, open, depth);
    }
}
