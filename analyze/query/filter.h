/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops and lanes a report shows. All conditions hold together; a {0} filter lets everything
 * through. */
#ifndef OPTRACE_ANALYZE_QUERY_FILTER_H
#define OPTRACE_ANALYZE_QUERY_FILTER_H

#include <stdbool.h>

#include "analyze/query/query.h"
#include "base/array.h"

enum filter_pattern {
    FILTER_OP,    /* name of the op */
    FILTER_LABEL, /* name of a label around the op */
    FILTER_LANE,  /* name of its lane */
    FILTER_PATTERNS
};

enum { FILTER_RANK_MAX = 16 };

struct filter {
    const char *const *types; /* any of these, compared exactly; none: every type */
    size_t type_count;
    const char *input_dtype; /* some input has it; f32 and Float32 are the same */
    bool has_input_shape;    /* set by filter_set_input_shape(), as are: */
    int input_rank;
    int64_t input_dims[FILTER_RANK_MAX]; /* -1: any size */
    double min_ns, max_ns;               /* bounds on an op's self time, inclusive, where has_... */
    bool has_min, has_max;
    const char
        *device; /* of the lane or, for want of that, the op: cuda:0, or cuda for all of it */
    void *patterns[FILTER_PATTERNS]; /* set by filter_set_pattern() */
    bool has_op_ids;                 /* set by filter_set_ops() */
    ARRAY_OF(int64_t) op_ids;        /* ascending */
    bool gave_up;                    /* set when a pattern took too many steps on some name */
};

/**
 * Only names that match from their start on, as Python's re.match does it: `conv` lets "conv1"
 * through but not "my_conv"; `.*conv` both.
 *
 * pattern  a regular expression of PCRE2, UTF-8
 *
 * Returns 0, or -EINVAL with the sentence and the offset in the pattern.
 */
int filter_set_pattern(struct filter *filter, enum filter_pattern which, const char *pattern,
                       struct diag *diag);

/**
 * Only ops with an input of this shape.
 *
 * text  sizes with an x between them, outermost first, * for any: "1x64x*x*"; "scalar" has none
 *
 * Returns 0, or -EINVAL with a sentence.
 */
int filter_set_input_shape(struct filter *filter, const char *text, struct diag *diag);

/** Only these ops from now on, whatever else is asked of them. The ids are copied. Returns 0 or
 *  -ENOMEM. */
int filter_set_ops(struct filter *filter, const int64_t *op_ids, size_t count);

/** time_ns: the op's self time, NaN when it is not known. Labels, lanes and devices are not looked
 *  at. */
bool filter_passes(struct filter *filter, const struct op_row *op, double time_ns);

/** Whether a time is within the bounds: one that is not known (NaN) is within none. */
bool filter_is_within(const struct filter *filter, double time_ns);

/** filter_passes() without the bounds on time. */
bool filter_passes_op(struct filter *filter, const struct op_row *op);

/** Whether a label or a lane of this name passes. */
bool filter_passes_name(struct filter *filter, enum filter_pattern which, const char *name);

/** Whether spans of this op on this lane pass as to their device and their lane. */
bool filter_passes_lane(struct filter *filter, const struct lane_row *lane,
                        const struct op_row *op);

/** Whether the answer depends on single spans: on labels, lanes or devices. */
bool filter_needs_spans(const struct filter *filter);

/** Frees the patterns and the ids. */
void filter_deinit(struct filter *filter);

#endif
