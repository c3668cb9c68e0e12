/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that wait for each other. A program records an event on one stream and lets another wait
 * for it; from then on nothing that is launched on the second begins before all ended that was
 * launched on the first until the record. Pure: no SQL.
 *
 * A wait is a phase on the waiting stream with params.wait_on_stream, the number of a stream of the
 * same device, or .wait_on_lanes, the names of lanes; its correlation is that of the call that
 * recorded the event, and its start the time at which the wait was asked for. Waits for what was
 * recorded later, or where nobody recorded it, hold up nothing. A phase "Event Sync" is the same of
 * a thread: what it waits for in host_waits.h.
 *
 * What a device launches as one graph was asked for at once, on all streams: there the order is that
 * in which things began. An event is recorded on the device itself, by a phase on its stream at the
 * end of what is awaited, and what waits for it has that phase's correlation, and begins with what is
 * held up.
 */
#ifndef OPTRACE_ANALYZE_METRICS_STREAM_WAITS_H
#define OPTRACE_ANALYZE_METRICS_STREAM_WAITS_H

#include "analyze/query/spans.h"

/* When something was asked for; in a launch of several, when it began. */
struct issue_time {
    int64_t asked_ns, begun_ns; /* of what no op is: INT64_MIN, before all ops of that launch */
};

/* An op of a device that something waits for. */
struct awaited_op {
    int64_t end_ns;
    uint32_t op;   /* SPAN_NONE: there is nothing */
    uint32_t span; /* its place; SPAN_NONE: it is in an earlier part */
};

struct stream_wait {
    uint32_t span;              /* place of the phase that stands for it */
    uint32_t lane, source;      /* places of the lanes of the waiting and of the recording stream */
    struct issue_time issued;   /* when it was asked for */
    struct issue_time recorded; /* when the event was recorded */
    uint32_t source_op;         /* the last op launched on the source before, or SPAN_NONE */
    uint32_t source_wait;     /* the last wait of the source itself between the two, or SPAN_NONE */
    struct awaited_op latest; /* of all that it and those before it on its lane since the last op
                                 wait for, what ends last */
};

/* An op of a device, with its launch. */
struct issued_op {
    uint32_t lane, span;
    struct issue_time issued;
    /* Its launch launched a graph: waits in it that begin with it come before it. */
    bool is_of_graph;
};

/* A thread that waits for an event. */
struct event_sync {
    int64_t start_ns, end_ns;
    uint32_t source;
    int64_t recorded_ns;
};

/* What a stream was to do last from a time on. */
struct stream_past {
    struct issue_time issued;
    struct awaited_op latest; /* what of it ends last */
};

/* What a stream was to do last in earlier parts: of later ones all is asked for later. */
struct stream_before {
    struct awaited_op op;   /* launched on it */
    struct awaited_op wait; /* `latest` of the last wait that was asked for after that */
    /* For events that were recorded in earlier parts, by time: the last, and what had not ended when the
     * threads of this part began. Anything else ended before a wait of a later part was asked for. */
    ARRAY_OF(struct stream_past) past;
};

struct stream_waits {
    const struct stream_before *before; /* by lane, of earlier parts; NULL: there are none */
    ARRAY_OF(struct stream_wait) waits; /* by lane and time */
    ARRAY_OF(struct issued_op) issued;  /* the same; empty where nobody needs them */
    ARRAY_OF(struct event_sync) syncs;  /* by time */
};

/** Of an answer that is not flat. Returns 0 or -ENOMEM; for stream_waits_deinit() after either. */
int stream_waits_make(const struct spans_answer *answer, struct stream_waits *out_waits);
void stream_waits_deinit(struct stream_waits *waits);

/** Whether some op may be such a wait. */
bool stream_waits_possible(const struct spans_answer *answer);

/** Of parts, in their order: `before` is beside lanes. It is to live as long as *out_waits, and to be told what
 *  came with the part when that has been looked at. NULL without memory. */
struct stream_before *stream_before_create(size_t lane_count);
void stream_before_destroy(struct stream_before **before, size_t lane_count);
int stream_waits_make_part(const struct spans_answer *answer, const struct stream_before *before,
                           struct stream_waits *out_waits);
/** Returns 0 or -ENOMEM. */
int stream_waits_pass(const struct stream_waits *waits, const struct spans_answer *answer,
                      struct stream_before *before);

/** Finds out what was issued when, where there are no waits of streams that need it. 0 or -ENOMEM. */
int stream_waits_issue(struct stream_waits *waits, const struct spans_answer *answer);

int stream_waits_compare_times(struct issue_time a, struct issue_time b);

/** What a stream was to do last before a time: an op launched on it, or a wait of its own that was
 *  asked for after that op. SPAN_NONE: nothing; of waits a place in `waits`. */
struct stream_end {
    uint32_t op, wait;
};
struct stream_end stream_waits_end(const struct stream_waits *waits, uint32_t lane,
                                   int64_t time_ns);

/** The lanes that a phase names in params.wait_on_lanes: calls `add` with the place of each. Returns
 *  whether it names any, or -ENOMEM from `add`. */
int stream_waits_named(const struct spans_answer *answer, const struct span *phase,
                       int (*add)(void *context, uint32_t lane), void *context);

/** The waits that come before an op of a device and after the op launched before it on its lane. */
struct span_range stream_waits_before(const struct stream_waits *waits,
                                      const struct spans_answer *answer, uint32_t span);

/** Of what these wait for, also those of earlier parts, what ends last. */
struct awaited_op stream_waits_awaited(const struct stream_waits *waits,
                                       const struct spans_answer *answer, uint32_t span);

#endif
