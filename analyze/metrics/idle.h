/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps of lanes, and why nothing ran in them. Pure.
 *
 * A gap of a lane is the time from the end of all operators so far to the start of the next one;
 * before the first and after the last there is none. What the host was doing is looked up at the
 * middle of the part of a gap before the launch of what ended it.
 */
#ifndef OPTRACE_ANALYZE_METRICS_IDLE_H
#define OPTRACE_ANALYZE_METRICS_IDLE_H

#include "analyze/query/lane_use.h"

enum idle_cause {
    IDLE_HOST_WAITED,  /* not launched yet: the host was in a call that waits for the device */
    IDLE_HOST_BUSY,    /* not launched yet: the host was in something else */
    IDLE_NOT_LAUNCHED, /* not launched yet: nothing of the host was recorded */
    IDLE_EVENT,        /* launched: its stream waited for an event, recorded on another stream, for
                          more than half of the gap */
    IDLE_COPY,         /* launched: a copy ran on another lane of the device for more than half of
                          the gap, or was what ended last there, in the last tenth of the gap */
    IDLE_OTHER_LANE,   /* launched: something else did */
    IDLE_QUEUE,        /* launched, and nothing to see that it waited for */
    IDLE_UNKNOWN,      /* what ended the gap has no launch */
    IDLE_UNRECORDED,   /* of a thread: nothing was recorded */
    IDLE_CAUSES
};
extern const char *const idle_cause_names[];

struct idle_gap {
    int64_t start_ns, end_ns;
    uint32_t lane, before, after; /* before: the span that ended last; SPAN_NONE: in another part */
    uint32_t during; /* what the host was in; of IDLE_EVENT what was waited for; or SPAN_NONE */
    uint32_t before_op, after_op, during_op; /* the same by op */
    enum idle_cause cause;
};
struct idle_gap_array ARRAY_FIELDS(struct idle_gap);

/** Gaps of the lanes on which a span is shown. Returns 0 or -ENOMEM; the caller gives *out_gaps to
 *  array_deinit() after either. */
int idle_find(const struct spans_answer *spans, struct idle_gap_array *out_gaps);

/** Gaps of spans in parts (query_span_parts()): begin, which forgets what *out was, add each part.
 *  They are those of all lanes; idle_is_shown() tells in the end which count. Return 0 or -ENOMEM;
 *  idle_parts_destroy() after either. */
struct idle_parts;
int idle_begin(const struct spans_answer *spans, struct idle_parts **out_parts);
int idle_add(struct idle_parts *parts, const struct spans_answer *spans,
             struct idle_gap_array *out_gaps);
bool idle_is_shown(const struct idle_parts *parts, uint32_t lane);
void idle_parts_destroy(struct idle_parts **parts);

#endif
