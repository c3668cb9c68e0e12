/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the report on copies: bandwidth over time. */
#ifndef OPTRACE_ANALYZE_REPORTS_COPIES_H
#define OPTRACE_ANALYZE_REPORTS_COPIES_H

#include "analyze/metrics/step_curve.h"
#include "analyze/reports/report.h"

/* Bytes per second of copies of one name. */
struct copy_rate {
    const char *name;
    double bytes;
    struct step_curve curve;
};

struct copy_rates {
    ARRAY_OF(struct copy_rate) rates;
};

/** A copy; nothing happens where its bytes are not known. The name is borrowed. Returns 0 or
 *  -ENOMEM. */
int copy_rates_add(struct copy_rates *rates, const char *name, const struct span *span);

/** The table and the curve of what was added. */
int copy_rates_emit(const struct report *report, struct copy_rates *rates, struct diag *diag);

void copy_rates_deinit(struct copy_rates *rates);

#endif
