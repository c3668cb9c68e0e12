/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a commit: room in rings, answers to flushes, sessions that are over. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/collector_private.h"
#include "daemon/keep.h"
#include "daemon/log.h"
#include "daemon/retain.h"

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
    collector_schedule(collector);
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
        collector_unlink(collector, session);
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

void collector_on_done(void *context, struct batch *batch)
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
    collector_schedule(collector);
    collector_check_stopped(collector);
}

void collector_on_trouble(void *context, int error, const char *text)
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

/* --- The end. --- */

int collector_check_stored(const struct collector *collector, struct diag *diag)
{
    uint64_t left = session_count_left(collector->roster.first), lost = collector->given_up;
    char waiting[120] = "";

    if (lost == 0)
        return 0;
    left = left < lost ? left : lost;
    if (left == lost)
        return diag_set(diag, -EIO,
                        "no event is lost, %llu wait in the rings of programs that run, for the "
                        "next daemon: %s",
                        (unsigned long long)left, collector->trouble);
    if (left > 0)
        snprintf(waiting, sizeof(waiting),
                 "; %llu more wait in the rings of programs that run, for the next daemon",
                 (unsigned long long)left);
    return diag_set(diag, -EIO, "%llu events were not stored%s: %s",
                    (unsigned long long)(lost - left), waiting, collector->trouble);
}
