/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a critical path, and many of them in few bytes: 4 to 10 each. Pure. */
#ifndef OPTRACE_ANALYZE_METRICS_CRITICAL_STEPS_H
#define OPTRACE_ANALYZE_METRICS_CRITICAL_STEPS_H

#include "analyze/metrics/critical_path.h"

/* A step of the path, without a place of a part. */
struct critical_step {
    int64_t start_ns, end_ns;
    uint32_t op, lane; /* SPAN_NONE of PATH_NOTHING */
    enum path_step_kind kind;
    bool is_shown;  /* of the span; true of PATH_NOTHING */
    uint32_t class; /* of the span, of critical_path_classes(); 0 of what is between spans */
};

/* In the order of time; {0} has none. */
struct packed_steps {
    ARRAY_OF(uint8_t) bytes;
    size_t count;
    int64_t end_ns; /* of the last one */
};

/* Where they are read; {0} is before the first. */
struct packed_steps_place {
    size_t byte, step;
    int64_t since_ns; /* the end of the one before */
};

/** Returns 0 or -ENOMEM. */
int packed_steps_add(struct packed_steps *steps, const struct critical_step *step);

/** The next one; false behind the last. */
bool packed_steps_next(const struct packed_steps *steps, struct packed_steps_place *place,
                       struct critical_step *out_step);

/** Keeps no more memory than they need. */
void packed_steps_trim(struct packed_steps *steps);
void packed_steps_deinit(struct packed_steps *steps);

#endif
