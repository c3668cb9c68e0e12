/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops a report shows. All conditions hold together; a {0} filter lets everything through. */
#ifndef OPTRACE_ANALYZE_FILTER_H
#define OPTRACE_ANALYZE_FILTER_H

#include <stdbool.h>

#include "analyze/query.h"

struct filter {
    const char *const *types; /* any of these, compared exactly; none: every type */
    size_t type_count;
    const char *input_dtype; /* some input has it; f32 and Float32 are the same */
    double min_ns, max_ns;   /* bounds on an op's own time, inclusive, where has_... */
    bool has_min, has_max;
    void *name_pattern; /* set by filter_set_pattern() */
    bool gave_up;       /* set when the pattern took too many steps on some name */
};

/**
 * Only ops whose name matches from its start on, as Python's re.match does it: `conv` lets "conv1"
 * through but not "my_conv"; `.*conv` both.
 *
 * pattern  a regular expression of PCRE2, UTF-8
 *
 * Returns 0, or -EINVAL with the sentence and the offset in the pattern.
 */
int filter_set_pattern(struct filter *filter, const char *pattern, struct diag *diag);

/** time_ns: the op's own time, NaN when it is not known. */
bool filter_passes(struct filter *filter, const struct op_row *op, double time_ns);

/** Frees the pattern. */
void filter_deinit(struct filter *filter);

#endif
