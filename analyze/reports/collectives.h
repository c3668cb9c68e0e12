/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report on collectives that others have, too. */
#ifndef OPTRACE_ANALYZE_REPORTS_COLLECTIVES_H
#define OPTRACE_ANALYZE_REPORTS_COLLECTIVES_H

#include "analyze/metrics/collectives.h"
#include "analyze/reports/report.h"

/* Spans in parts: {report, diag}, begin, take each part, emit; deinit after any. These return 0 or a
 * negative errno. */
struct report_collectives {
    const struct report *report;
    struct diag *diag;
    struct collectives_gathered *gathered;
    double *sizes; /* beside windows: how many processes there are */
};
int report_collectives_begin(struct report_collectives *collectives,
                             const struct spans_answer *spans);
int report_collectives_take(struct report_collectives *collectives,
                            const struct spans_answer *spans);

/** Which of several sessions comes last to collectives; nothing where no collective is in two of
 *  them. */
int report_collectives_emit_stragglers(struct report_collectives *collectives);
void report_collectives_deinit(struct report_collectives *collectives);

#endif
