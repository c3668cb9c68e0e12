/* SPDX-License-Identifier: Apache-2.0 */
/* The open batch: room in it, and when it is handed over. */
#include "daemon/collector_private.h"

enum { COMMIT_EARLIER_MS = 10 }; /* what is read at that pace is committed at once */

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

bool collector_has_work(const struct collector *collector)
{
    return collector->has_read || !batch_is_empty(collector->open);
}

struct batch *collector_take_spare(struct collector *collector)
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
    collector->open = collector_take_spare(collector);
    collector->commits_soon = collector->has_read = collector->has_new = false;
}

/* While the store cannot be written, queueing more would only cost memory; at the end, the writer
 * gives each batch one try. */
static bool may_hand_over(const struct collector *collector)
{
    return writer_has_room(collector->writer) &&
           (writer_trouble(collector->writer) == 0 || collector->is_stopping);
}

void collector_schedule(struct collector *collector)
{
    const bool is_due =
        collector->commits_soon && collector_has_work(collector) && may_hand_over(collector);

    if (!collector->is_ringing)
        alarm_set_within(&collector->alarm,
                         is_due || collector->is_behind ? 0 : collector->pace_ms);
}

struct batch *collector_room(struct collector *collector)
{
    collector_schedule(collector);
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

unsigned collector_calm_pace_ms(const struct collector *collector)
{
    const size_t wanted_ms = collector->budget.session_count * PACE_SESSION_MS;

    return wanted_ms < PACE_CALM_MS  ? PACE_CALM_MS
           : wanted_ms > PACE_MAX_MS ? PACE_MAX_MS
                                     : (unsigned)wanted_ms;
}

/* Between two commits, but for full ones and those that somebody waits for. */
static uint64_t commit_pause_ns(const struct collector *collector)
{
    return (collector_calm_pace_ms(collector) - COMMIT_EARLIER_MS) * UINT64_C(1000000);
}

void collector_commit_when_due(struct collector *collector)
{
    struct batch *open = collector->open;
    uint64_t now_ns = alarm_now_ns(CLOCK_MONOTONIC);
    bool is_due;

    if (!collector_has_work(collector)) {
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

void collector_check_stopped(struct collector *collector)
{
    if (collector->is_stopping && collector->is_drained && !collector_has_work(collector) &&
        !collector->is_behind && !writer_is_busy(collector->writer)) {
        alarm_stop(&collector->alarm);
        collector->events.on_empty(collector->events.context);
    }
}
