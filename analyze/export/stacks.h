/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that have a call stack of their program, in the order of their starts over all threads:
 * taken in parts, of which each begins behind the one before, and kept in a few bytes each.
 *
 *     stacks_begin(&stacks, spans); stacks_take(&stacks, part) ...; the export writes them
 */
#ifndef OPTRACE_ANALYZE_EXPORT_STACKS_H
#define OPTRACE_ANALYZE_EXPORT_STACKS_H

#include "analyze/export/bytes.h"
#include "analyze/query/frame_times.h"
#include "base/progress.h"

struct stack_lines {
    bool by_device; /* input: weighed by what was launched, not by time on the host */
    char **lines;   /* by op, as a file has them; NULL where it has no call stack */
    size_t op_count;
    struct bytes rows; /* op against the one before, and microseconds */
    uint32_t last_op;
    size_t count;
    struct frame_times
        frames;    /* what is in several parts; `row` of them is written with that time */
    bool is_whole; /* parts would not tell what is a row */
    struct progress *progress; /* says how far writing them is; or NULL */
};

/** Returns 0 or -ENOMEM; what was taken before is forgotten.
 *
 *  stacks  a struct stack_lines, as struct span_parts hands it on */
int stacks_begin(void *stacks, const struct spans_answer *spans);
/** Returns 0, SPAN_PARTS_WHOLE or -ENOMEM. */
int stacks_take(void *stacks, struct spans_answer *part);
void stacks_deinit(struct stack_lines *stacks);

#endif
