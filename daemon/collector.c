/* SPDX-License-Identifier: Apache-2.0 */
/* The collector from start to stop, and what its alarm drives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/collector_private.h"
#include "daemon/memory.h"
#include "daemon/room.h"

/* --- The alarm --- */

static bool needs_alarm(const struct collector *collector)
{
    if (collector_has_work(collector) || (collector->is_stopping && !collector->is_drained))
        return true;
    for (const struct session *s = collector->roster.first; s; s = s->next)
        if (s->rings.count > 0 || s->alone_since_ns || (s->end_reason && !s->is_ended))
            return true;
    return false;
}

static void on_alarm(void *context)
{
    struct collector *collector = context;

    collector->is_ringing = true;
    if (collector->is_behind)
        collector->events.on_room(collector->events.context);
    if (!collector->is_drained || collector->is_behind)
        collector->is_drained |= collector_read_all(collector) && collector->is_stopping;
    collector_commit_when_due(collector);
    collector->is_ringing = false;
    if (collector->is_behind)
        alarm_set(&collector->alarm, 0);
    else if (needs_alarm(collector))
        alarm_set(&collector->alarm, collector->pace_ms);
    collector_check_stopped(collector);
}

/* --- Start and stop --- */

int collector_create(uv_loop_t *loop, const struct collector_store *store,
                     const struct collector_events *events, struct collector **out_collector,
                     struct diag *diag)
{
    struct collector *collector = memory_zeroed(1, sizeof(*collector));
    struct writer_events writer_events = {collector, collector_on_done, collector_on_trouble};
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
    collector->open = collector_take_spare(collector);
    collector->pace_ms = PACE_BUSY_MS;
    alarm_init(&collector->alarm, loop, on_alarm, collector);
    alarm_init(&collector->strays_alarm, loop, collector_end_strays, collector);
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

        collector_unlink(collector, session);
        session_destroy(&session);
    }
    roster_deinit(&collector->roster);
    batch_spares_deinit(&collector->spares);
    batch_destroy(&collector->open);
    free(collector->environment);
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
    collector_schedule(collector);
}
