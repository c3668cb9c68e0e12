/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the time devices and their streams were at work, and at what. Pure. */
#ifndef OPTRACE_ANALYZE_METRICS_DEVICE_USE_H
#define OPTRACE_ANALYZE_METRICS_DEVICE_USE_H

#include "analyze/query/spans.h"

struct device_use {
    const char *device;          /* of the lane, else the lane's kind */
    const struct lane_row *lane; /* NULL: all lanes of the device */
    int64_t session_id;
    uint64_t span_count, most_at_once;
    int64_t sum_ns;              /* of all durations */
    int64_t busy_ns, compute_ns; /* lengths of unions */
    int64_t copy_ns;             /* of copies and fills */
    int64_t copy_hidden_ns;      /* of them beside a kernel that computes */
    int64_t comm_ns;             /* of collectives */
    int64_t comm_hidden_ns;
    int64_t transfer_ns, overlap_ns; /* of both of these */
    int64_t active_ns, wall_ns;      /* query/lane_use.h: its first to its last; all lanes' */
};
struct device_use_array ARRAY_FIELDS(struct device_use);

/* Spans in parts (query_span_parts()): NULL at first, device_parts_begin(), device_parts_add() with
 * each part, device_parts_finish(); device_parts_destroy() after any of them. These return 0 or
 * -ENOMEM. */
struct device_parts;
int device_parts_begin(const struct spans_answer *spans, struct device_parts **out_parts);
int device_parts_add(struct device_parts *parts, const struct spans_answer *spans);
void device_parts_destroy(struct device_parts **parts);

/** Of the spans shown: for each device of each session all its lanes together, when there are two
 *  or more, and each lane. Labels and phases do not count. The caller gives *out_uses to
 *  array_deinit() after either. */
int device_parts_finish(struct device_parts *parts, const struct spans_answer *spans,
                        struct device_use_array *out_uses);

/** The same of spans that are all there. For tests. */
int device_use_make(const struct spans_answer *spans, struct device_use_array *out_uses);

#endif
