/* SPDX-License-Identifier: Apache-2.0 */
/* Which rings of ended threads count losses that no store is known to have. */
#include "client/ended_losses.h"

#include "client/question.h"
#include "client/session.h"

static struct ot_question question;

static bool has_losses(const struct ot_ring *ring)
{
    for (int slot = 0; slot < OT_RING_GAPS; slot++)
        if (__atomic_load_n(&ring->gaps[slot].lost_count, __ATOMIC_ACQUIRE) > 0)
            return true;
    return false;
}

bool ot_ended_losses_are_stored(const struct ot_thread *thread)
{
    return thread->losses_are_stored || !has_losses(thread->ring);
}

/* Nobody writes into its ring any more, and this connection has it. */
static bool waits(const struct ot_thread *thread)
{
    return !thread->hot && thread->ring && thread->handed_link == ot_session.link_number &&
           __atomic_load_n(&thread->ring->closed, __ATOMIC_RELAXED) &&
           !ot_ended_losses_are_stored(thread);
}

static int ask(void)
{
    int rc = ot_question_ask(&question);

    for (struct ot_thread *thread = ot_session.threads; rc == 0 && question.is_asked && thread;
         thread = thread->next)
        if (waits(thread))
            thread->losses_token = question.flush.token;
    return rc;
}

static void settle(uint64_t answered)
{
    for (struct ot_thread *thread = ot_session.threads; thread; thread = thread->next)
        if (thread->losses_token == answered)
            thread->losses_are_stored = true;
}

int ot_ended_losses_push(void)
{
    switch (ot_question_hear(&question)) {
    case OT_ANSWER_WAITS:
        return 0;
    case OT_ANSWER_STORED:
        settle(question.flush.token);
        break;
    default: /* the daemon was another, or could not write */
        break;
    }
    for (const struct ot_thread *thread = ot_session.threads; thread; thread = thread->next)
        if (waits(thread))
            return ask();
    return 0;
}

void ot_ended_losses_forget(void)
{
    ot_question_drop(&question);
}
