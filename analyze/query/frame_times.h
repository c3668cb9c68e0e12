/* SPDX-License-Identifier: Apache-2.0 */
/* What spans that are in several parts (enum span_frame) come to over all of them. Pure. */
#ifndef OPTRACE_ANALYZE_QUERY_FRAME_TIMES_H
#define OPTRACE_ANALYZE_QUERY_FRAME_TIMES_H

#include "analyze/query/spans.h"

struct frame_time {
    struct span span; /* as the first part had it */
    int64_t ns;       /* of all parts so far */
    size_t row;       /* for the caller's use */
};
struct frame_times ARRAY_FIELDS(struct frame_time);

/** Adds time to that of a frame, which is found or made; *out_place is where. Returns 0 or -ENOMEM. */
int frame_times_add(struct frame_times *times, const struct span *span, int64_t ns,
                    size_t *out_place);

/** The time of a frame, or NULL. */
const struct frame_time *frame_times_find(const struct frame_times *times, const struct span *span);

#endif
