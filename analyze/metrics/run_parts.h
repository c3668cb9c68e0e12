/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wall time of a run went to: each moment belongs to exactly one part, so that the parts
 * of a run add up to its duration.
 *
 * A moment belongs to the op that a device works on; of several, to the one that started last.
 * While no device works it belongs to the innermost op on the run's own thread, else on another
 * thread; while no op runs at all it is "between ops". Labels, phases and marks are no ops. Pure:
 * no SQL.
 */
#ifndef OPTRACE_ANALYZE_METRICS_RUN_PARTS_H
#define OPTRACE_ANALYZE_METRICS_RUN_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/query/spans.h"

enum run_part {
    RUN_PART_DEVICE, /* an op on a device, from its first kernel on where that is known */
    RUN_PART_WAIT,   /* an op on a device before its first kernel */
    RUN_PART_HOST,   /* an op on a thread while no device works */
    RUN_PARTS
};

/* Parts of a run are an array of ns: RUN_PARTS for each op, then these two. */
static inline size_t run_part_place(uint32_t op, enum run_part part)
{
    return (size_t)op * RUN_PARTS + part;
}
static inline size_t run_part_unshown(size_t op_count) /* ops that the filter leaves out */
{
    return op_count * RUN_PARTS;
}
static inline size_t run_part_between(size_t op_count)
{
    return op_count * RUN_PARTS + 1;
}
static inline size_t run_part_count(size_t op_count)
{
    return op_count * RUN_PARTS + 2;
}

/* The spans of each run: those of runs[i] are places[first[i]] .. places[first[i + 1] - 1]. */
struct run_index {
    size_t *first;
    uint32_t *places;
};

/** Returns 0 or -ENOMEM; for run_index_deinit() after either. */
int run_index_init(struct run_index *index, const struct spans_answer *answer);
void run_index_deinit(struct run_index *index);

/**
 * Adds the parts of a run that ended.
 *
 * run          place in answer->runs
 * parts        run_part_count(answer->ops.count) sums
 * out_busy_ns  for each side, the time with an op on it that is shown; NaN where the session has no
 *              such lane, and of a run of which no op at all is there
 *
 * Returns 0 or -ENOMEM.
 */
int run_parts_add(const struct spans_answer *answer, const struct run_index *index, uint32_t run,
                  double *parts, double *out_busy_ns);

#endif
