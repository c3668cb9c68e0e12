/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report on counters. */
#ifndef OPTRACE_ANALYZE_REPORTS_COUNTERS_H
#define OPTRACE_ANALYZE_REPORTS_COUNTERS_H

#include "analyze/reports/report.h"

/** The table of what devices counted in kernels, where there is any: *out_any. */
int report_kernel_counters(const struct report *report, const struct spans_answer *spans,
                           bool *out_any, struct diag *diag);

#endif
