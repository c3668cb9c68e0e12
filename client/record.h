/* SPDX-License-Identifier: Apache-2.0 */
/* For who records many spans with given times, as client/inject does those of devices. */
#ifndef OPTRACE_CLIENT_RECORD_H
#define OPTRACE_CLIENT_RECORD_H

#include <stdint.h>

#include "client/ring.h"

/**
 * As optrace_record() of a span with OPTRACE_EVENT_REALTIME, without what that asks of other kinds.
 *
 * op        not 0
 * lane_run  ot_lane_run()
 * start     at most `end`, which is at most INT64_MAX
 *
 * Returns 0, also when off, or -ENOBUFS: dropped, and counted.
 */
int ot_record_span(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                   uint64_t correlation);

/** The lane, which is not 0, and the run; 0: none. */
static inline uint64_t ot_lane_run(uint32_t lane, uint32_t run)
{
    return lane | (uint64_t)run << 32;
}

/** Room in this thread's ring for spans that come one after the other. Until it is given up the thread
 *  records in no other way. */
struct ot_spans {
    struct ot_wire_record *next, *end;
};

/**
 * Have room: none where there is something to be done first, or nothing to be recorded; ot_record_span()
 * of the next span does that. Never more than 64, and never beyond the end of the ring.
 */
struct ot_spans ot_spans_reserve(void);

/** Let the daemon see so many spans that were put since. The rest of the room stays, until it is
 *  forgotten. */
void ot_spans_commit(uint32_t count);

/** Ask for what the next ones take, in the time of something else. */
void ot_spans_fetch(void);

/** Put a span as ot_record_span() has it. Needs room. */
static inline void ot_spans_put(struct ot_spans *spans, uint32_t op, uint64_t lane_run,
                                uint64_t start, uint64_t end, uint64_t correlation)
{
    struct ot_wire_record *record = spans->next;

    ot_record_store(record, OT_WORD_KIND,
                    ot_record_kind_word(OT_RECORD_SPAN, OT_RECORD_REALTIME, op));
    ot_record_store(record, OT_WORD_LANE, lane_run);
    ot_record_store(record, OT_WORD_START, start);
    ot_record_store(record, OT_WORD_END, end);
    ot_record_clear_rest(record);
    ot_record_store(record, OT_WORD_CORRELATION, correlation);
    ot_fetch_ahead(record);
    spans->next++;
}

#endif
