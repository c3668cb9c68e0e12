/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of spans that are not on the fast way: out of order, rich ones, of threads that end. */
#include "client/span_end.h"

#include "client/counted.h"
#include "client/thread_ring.h"

/* Write the record of an open entry at the head; there is room for it. */
static inline void write_ended(const struct ot_hot *hot, const struct ot_wire_record *entry,
                               uint64_t now, uint64_t flags)
{
    struct ot_wire_record *record = &hot->ring->records[hot->state & hot->mask];
    const uint64_t start = ot_record_load(entry, OT_WORD_START);
    const uint64_t kern = ot_record_load(entry, OT_WORD_KERN);
    const uint64_t end_min = kern > start ? kern : start;

    ot_record_store(record, OT_WORD_KIND, ot_record_load(entry, OT_WORD_KIND) | flags);
    ot_record_store(record, OT_WORD_LANE, ot_record_load(entry, OT_WORD_LANE));
    ot_record_store(record, OT_WORD_START, start);
    ot_record_store(record, OT_WORD_END, now < end_min ? end_min : now);
    ot_record_store(record, OT_WORD_KERN, kern);
    ot_record_store(record, OT_WORD_CORRELATION, ot_record_load(entry, OT_WORD_CORRELATION));
    ot_record_store(record, OT_WORD_BYTES, ot_record_load(entry, OT_WORD_BYTES));
    ot_record_store(record, OT_WORD_ADDRESS, 0);
    ot_fetch_ahead(record);
}

void ot_span_end_innermost(struct ot_hot *hot, uint64_t now, uint64_t flags)
{
    struct ot_wire_record *entry = &hot->ring->open[ot_ring_depth(hot->state) - 1];

    if (hot->counters)
        ot_counted_end(hot, now);
    if (ot_ring_head(hot->state) < hot->stop || ot_thread_make_room(now)) {
        write_ended(hot, entry, now, flags);
        ot_publish(hot, hot->state + 1 - OT_DEPTH_ONE);
    } else {
        ot_thread_lose(0, OT_LOSS_RING_FULL, now);
        ot_publish(hot, hot->state - OT_DEPTH_ONE);
    }
    ot_record_clear_rest(entry);
}

void ot_span_end_rich(struct ot_wire_record *entry, uint64_t now)
{
    struct ot_hot *hot = &ot_hot;

    write_ended(hot, entry, now, 0);
    ot_publish(hot, hot->state + 1 - OT_DEPTH_ONE);
    ot_record_clear_rest(entry);
}

void ot_span_end_all(uint64_t now)
{
    struct ot_hot *hot = &ot_hot;

    if (hot->state == OT_STATE_NONE)
        return;
    if (hot->counters)
        ot_counters_read(hot->counters);
    while (ot_ring_depth(hot->state) > 0)
        ot_span_end_innermost(hot, now, (uint64_t)OT_RECORD_IMPLICIT_END << 16);
}
