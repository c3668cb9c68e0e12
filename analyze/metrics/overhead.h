/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the time is computation, how much is what a framework does around it, and how much
 * nobody recorded: Paddle's Overhead Summary, by lengths of unions of intervals, so that what
 * overlaps counts once and nothing gets negative. Pure: no SQL, no printing.
 *
 * Recorded is when an operator, a copy, a call of a runtime or a phase was running on any lane.
 *
 * Computation, of that, is
 *   - kernels on a device, from their first kernel on where that is known, copies and collectives
 *     aside;
 *   - phases whose name is "compute" or ends in that word;
 *   - in sessions in which nothing ran on a device, operators that have neither operators nor
 *     phases inside, from their first kernel on where that is known.
 *
 * Communication is collectives, on devices and on threads. It is hidden where something computed,
 * and else exposed. Framework overhead is what was recorded and is neither computation nor
 * communication.
 */
#ifndef OPTRACE_ANALYZE_METRICS_OVERHEAD_H
#define OPTRACE_ANALYZE_METRICS_OVERHEAD_H

#include <stdint.h>

#include "analyze/containers/interval.h"
#include "analyze/query/cover.h"
#include "analyze/query/op_class.h"
#include "analyze/query/spans.h"

/* Lengths of unions, within the wall time. */
struct overhead_times {
    double wall_ns; /* of the counted runs, or from the first event to the last */
    double recorded_ns;
    double computation_ns;
    double communication_ns;
    double exposed_ns; /* communication while nothing computed */
    double copies_ns;  /* copies and fills while nothing computed and no collective ran */
    double labels_ns;  /* in a label, and nothing recorded there */
};

/* One side of a session: its threads, or one device. */
struct overhead_side {
    const char *name; /* "host", "cuda:0" */
    bool is_device;
    int64_t session_id;
    uint64_t lane_count; /* with an event */
    uint64_t event_count;
    double busy_ns, computation_ns, copies_ns; /* unions over its lanes, within the wall time */
    double communication_ns;
    double wall_ns;
};

/* Copies of one mode in one direction. */
struct overhead_copies {
    enum copy_mode mode;
    enum copy_direction direction;
    bool is_fill;
    uint64_t calls, sized_calls; /* the latter with known bytes */
    double total_ns, sized_ns;   /* sums of durations */
    double bytes;
};

struct overhead {
    struct overhead_times times; /* of several sessions the sum */
    struct overhead_times lanes; /* of each lane for itself, added up */
    ARRAY_OF(struct overhead_side) sides;
    ARRAY_OF(struct overhead_copies) copies;
};

/** The sum of all copies of this mode and direction (-1: of any), or of fills. */
struct overhead_copies overhead_sum_copies(const struct overhead *overhead, int mode, int direction,
                                           bool fills);

/** Measure the spans that are shown. Returns 0 or -ENOMEM; *out_overhead is for overhead_deinit()
 *  after either. Texts are those of `spans`. For tests. */
int overhead_measure(const struct spans_answer *spans, struct overhead *out_overhead);
void overhead_deinit(struct overhead *overhead);

/** The same of the totals of a session, whose ops are those of `spans`. Returns 0, 1 where they do not
 *  tell, or -ENOMEM. */
int overhead_of_cover(const struct spans_answer *spans, const struct query_cover *cover,
                      struct overhead *out_overhead);

/* The same of spans in parts (query_span_parts()): {0}, overhead_begin(), overhead_add() with each
 * part, overhead_finish(); overhead_parts_deinit() after any of them. */
struct overhead_held;
struct overhead_parts {
    struct overhead sums; /* all but wall times */
    bool has_part, has_copies;
    uint8_t *op_bits;                    /* what ops are */
    bool *on_device;                     /* by op: it ran on a device */
    bool *copied_on_host;                /* by op: it was counted as a copy of the host */
    bool *has_device_work;               /* beside windows */
    bool *has_event;                     /* beside lanes */
    struct overhead_held *held;          /* beside lanes: what later parts may lie beside */
    int64_t held_from_ns, held_until_ns; /* no more than that is */
    size_t lane_count;
    size_t window_count;
    struct interval_array *runs; /* beside windows: time of their runs, where that is wall time */
    struct interval *bounds;     /* beside windows: of all events, where it is not */
};

/** Returns 0 or -ENOMEM, overhead_add() also SPAN_PARTS_WHOLE. */
int overhead_begin(const struct spans_answer *spans, struct overhead_parts *parts);
int overhead_add(struct overhead_parts *parts, const struct spans_answer *spans);
void overhead_finish(struct overhead_parts *parts, const struct spans_answer *spans,
                     struct overhead *out_overhead);
void overhead_parts_deinit(struct overhead_parts *parts);

#endif
