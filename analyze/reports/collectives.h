/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report on collectives that others have, too. */
#ifndef OPTRACE_ANALYZE_REPORTS_COLLECTIVES_H
#define OPTRACE_ANALYZE_REPORTS_COLLECTIVES_H

#include "analyze/metrics/collectives.h"
#include "analyze/reports/report.h"

/** Which of several sessions comes last to collectives; nothing where no collective is in two of
 *  them. Returns 0 or a negative errno. */
int report_stragglers(const struct report *report, const struct spans_answer *spans,
                      struct diag *diag);

#endif
