/* SPDX-License-Identifier: Apache-2.0 */
/* --compare as a person reads it first, on a screen: whether it changed, what changed, what else is
 * different. */
#ifndef OPTRACE_ANALYZE_REPORTS_COMPARE_PAGE_H
#define OPTRACE_ANALYZE_REPORTS_COMPARE_PAGE_H

#include "analyze/metrics/comparison.h"
#include "analyze/reports/compare/sides.h"
#include "base/text_buffer.h"

struct compare_page {
    const struct report *report;
    const struct compare_side *sides;
    const struct comparison *comparison;
    const size_t *ranked; /* places of the lines behind the first, the weightiest first */
    const char *need;     /* what a verdict takes, where there is none; or NULL */
    const char *differs;  /* what else is different, or NULL */
};

/** Returns 0 or -ENOMEM. */
int compare_print_page(const struct compare_page *asked, struct text_buffer *out);

#endif
