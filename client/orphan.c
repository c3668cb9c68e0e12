/* SPDX-License-Identifier: Apache-2.0 */
/* From the loss of a descriptor to the last record, read or counted. */
#include "client/orphan.h"

#include <stdlib.h>

#include "client/loss_ring.h"
#include "client/question.h"
#include "client/ring.h"
#include "client/session.h"

struct orphan {
    struct orphan *next;
    struct ot_ring *ring;
    bool is_borrowed;
    uint64_t token; /* of the FLUSH whose answer says what becomes of it; 0: none yet */
};

static struct orphan *orphans;

static struct ot_question question;

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
        ot_loss_ring_add_left(ring);
        if (!borrowed)
            ot_ring_destroy(&ring, &none);
        return;
    }
    *orphan = (struct orphan){.next = orphans, .ring = ring, .is_borrowed = borrowed};
    orphans = orphan;
}

static int ask(void)
{
    int rc = ot_question_ask(&question);

    for (struct orphan *orphan = orphans; rc == 0 && question.is_asked && orphan;
         orphan = orphan->next)
        orphan->token = question.flush.token;
    return rc;
}

/* What is not read after an answer that covers it, this daemon does not have. */
static void settle(uint64_t answered)
{
    for (struct orphan **link = &orphans; *link;) {
        struct orphan *orphan = *link;

        if (orphan->token == answered) {
            ot_loss_ring_add_left(orphan->ring);
            unlink_first(link);
        } else {
            link = &orphan->next;
        }
    }
}

int ot_orphan_push(void)
{
    switch (ot_question_hear(&question)) {
    case OT_ANSWER_WAITS:
        return 0;
    case OT_ANSWER_STORED:
        settle(question.flush.token);
        break;
    default: /* while the store fails, the daemon may have the records all the same */
        break;
    }
    return orphans ? ask() : 0;
}

bool ot_orphan_is_left(void)
{
    return orphans != NULL;
}

void ot_orphan_give_up(void)
{
    for (struct orphan *orphan = orphans; orphan; orphan = orphan->next)
        ot_loss_ring_add_left(orphan->ring);
    ot_orphan_forget();
}

void ot_orphan_forget(void)
{
    if (question.is_asked)
        ot_question_drop(&question);
    while (orphans)
        unlink_first(&orphans);
}
