/* SPDX-License-Identifier: Apache-2.0 */
/* From the loss of a descriptor to the last record, read or counted. */
#include "client/orphan.h"

#include <stdlib.h>

#include "client/loss_ring.h"
#include "client/ring.h"
#include "client/session.h"

struct orphan {
    struct orphan *next;
    struct ot_ring *ring;
    bool is_borrowed;
    uint64_t token; /* of the FLUSH whose answer says what becomes of it; 0: none yet */
};

static struct orphan *orphans;

/* The FLUSH that is under way, among those of optrace_flush(). */
static struct ot_flush question;
static bool is_asking;
static uint32_t asked_link; /* number of the connection */

static uint64_t count_left(const struct ot_ring *ring)
{
    const uint64_t head = ot_ring_head(ot_ring_load_state(ring));

    return ot_ring_used(head, ot_ring_tail(ring));
}

/* Nobody will read the records. What was dropped and counted in it may have been read, or not:
 * there is no telling, so it is counted again. */
static void lose(const struct ot_ring *ring)
{
    uint64_t count = count_left(ring);

    __atomic_fetch_add(&ot_session.lost[OT_LOSS_NO_MEMORY], count, __ATOMIC_RELAXED);
    for (int i = 0; i < OT_RING_GAPS; i++) /* these are in optrace_lost() already */
        count += __atomic_load_n(&ring->gaps[i].lost_count, __ATOMIC_ACQUIRE);
    if (count == 0)
        return;
    ot_loss_ring_make(); /* so that the count outlives the daemon, too */
    ot_loss_ring_add(count, ot_ticks());
}

static void unlink_first(struct orphan **link)
{
    struct orphan *orphan = *link;
    struct ot_fd none = OT_FD_NONE;

    *link = orphan->next;
    if (!orphan->is_borrowed)
        ot_ring_destroy(&orphan->ring, &none);
    free(orphan);
}

void ot_orphan_add(struct ot_ring *ring, bool borrowed)
{
    struct orphan *orphan = calloc(1, sizeof(*orphan));
    struct ot_fd none = OT_FD_NONE;

    if (!borrowed) {
        /* The spans that are open have moved on with their thread. */
        __atomic_store_n(&ring->state, ot_ring_head(ot_ring_load_state(ring)), __ATOMIC_RELEASE);
        __atomic_store_n(&ring->closed, 1, __ATOMIC_RELEASE);
    }
    if (!orphan) {
        lose(ring);
        if (!borrowed)
            ot_ring_destroy(&ring, &none);
        return;
    }
    *orphan = (struct orphan){.next = orphans, .ring = ring, .is_borrowed = borrowed};
    orphans = orphan;
}

static void stop_asking(void)
{
    struct ot_flush **at = &ot_session.flushes;

    while (*at && *at != &question)
        at = &(*at)->next;
    if (*at)
        *at = question.next;
    is_asking = false;
}

static int ask(void)
{
    struct ot_session *session = &ot_session;
    const struct ot_wire_flush frame = {
        .header = ot_wire_header(OT_FRAME_FLUSH, sizeof(frame)),
        .token = session->flush_token + 1,
    };
    int rc = ot_link_send(&session->link, &frame, sizeof(frame), -1);

    if (rc < 0)
        return rc;
    question = (struct ot_flush){.next = session->flushes, .token = ++session->flush_token};
    session->flushes = &question;
    is_asking = true;
    asked_link = session->link_number;
    for (struct orphan *orphan = orphans; orphan; orphan = orphan->next)
        orphan->token = question.token;
    return 0;
}

/* What is not read after an answer that covers it, this daemon does not have. */
static void settle(uint64_t answered)
{
    for (struct orphan **link = &orphans; *link;) {
        struct orphan *orphan = *link;
        const bool is_answered = orphan->token != 0 && orphan->token == answered;

        if (is_answered) {
            lose(orphan->ring);
            unlink_first(link);
        } else {
            link = &orphan->next;
        }
    }
}

int ot_orphan_push(void)
{
    uint64_t answered = 0;

    if (!orphans && !is_asking)
        return 0;
    if (is_asking && !question.is_answered && asked_link == ot_session.link_number) {
        return 0;
    }
    if (is_asking) {
        /* While the store fails, the daemon may have the records all the same. */
        if (question.is_answered && question.status == 0)
            answered = question.token;
        stop_asking();
    }
    settle(answered);
    return orphans ? ask() : 0;
}

bool ot_orphan_is_left(void)
{
    return orphans != NULL;
}

void ot_orphan_give_up(void)
{
    for (struct orphan *orphan = orphans; orphan; orphan = orphan->next)
        lose(orphan->ring);
    ot_orphan_forget();
}

void ot_orphan_forget(void)
{
    if (is_asking)
        stop_asking();
    while (orphans)
        unlink_first(&orphans);
}
