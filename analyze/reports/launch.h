/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report on launches. */
#ifndef OPTRACE_ANALYZE_REPORTS_LAUNCH_H
#define OPTRACE_ANALYZE_REPORTS_LAUNCH_H

#include "analyze/metrics/launch_queue.h"
#include "analyze/reports/report.h"

/** How long the queues of streams were. */
int report_launch_queues(const struct report *report, struct launch_queue_parts *parts,
                         const struct spans_answer *spans, struct diag *diag);

#endif
