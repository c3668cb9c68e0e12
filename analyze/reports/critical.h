/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the report on the critical path share. */
#ifndef OPTRACE_ANALYZE_REPORTS_CRITICAL_H
#define OPTRACE_ANALYZE_REPORTS_CRITICAL_H

#include "analyze/metrics/critical_path.h"
#include "analyze/reports/report.h"

/** With --what-if: how long the run would take, as facts and a note. Returns 0, REPORT_NOTHING when
 *  a pattern matches nothing, or a negative errno. */
int critical_emit_what_if(const struct report *report, const struct critical_path *path,
                          struct diag *diag);

#endif
