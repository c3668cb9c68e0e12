/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of spans that come part by part (query_span_parts()). It is walked from the end
 * on, and the end comes last: kept is the path to each piece that one of a later part can wait for,
 * a few of each lane, and those of devices that had not ended when threads were cut. These join, and
 * what is before the place where all have joined is told at once. Where lanes never wait for each
 * other their paths are kept, packed, to the end.
 *
 * critical_parts_begin(), critical_parts_add() of each part, critical_parts_finish(). Pure: no SQL.
 */
#ifndef OPTRACE_ANALYZE_METRICS_CRITICAL_PARTS_H
#define OPTRACE_ANALYZE_METRICS_CRITICAL_PARTS_H

#include "analyze/metrics/critical_schedule.h"
#include "analyze/metrics/critical_steps.h"

/* Where steps go, in the order of time. */
struct critical_sink {
    void *user;
    int (*add)(void *user, const struct critical_step *step); /* 0 or a negative errno */
};

/** Of a run, or from the first event to the end of the last. */
struct critical_window {
    bool is_run;
    int64_t start_ns, end_ns;
};

struct critical_parts;

/** *parts is NULL, or what an earlier begin made. schedule, or NULL, begins anew, too, gets all pieces,
 *  and stays the caller's. Returns 0 or -ENOMEM. */
int critical_parts_begin(const struct spans_answer *spans, const struct critical_window *window,
                         const struct critical_sink *sink, struct critical_schedule *schedule,
                         struct critical_parts **parts);
/** classes: of critical_path_classes(), or NULL without a schedule. Returns 0, SPAN_PARTS_WHOLE where
 *  the path cannot be told from parts, or a negative errno. */
int critical_parts_add(struct critical_parts *parts, const struct spans_answer *part,
                       const uint32_t *classes);
/** After the last part; `spans` as the query left it. Tells what is left of the path. */
int critical_parts_finish(struct critical_parts *parts, const struct spans_answer *spans);
void critical_parts_destroy(struct critical_parts **parts);

/** The same of a path that was made of all spans at once. For tests. */
int critical_parts_tell(const struct critical_path *path, const struct critical_sink *sink);

/** How many bytes are kept of paths that have not joined. For tests. */
size_t critical_parts_kept(const struct critical_parts *parts);

#endif
