/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the report on the critical path share. */
#ifndef OPTRACE_ANALYZE_REPORTS_CRITICAL_H
#define OPTRACE_ANALYZE_REPORTS_CRITICAL_H

#include "analyze/metrics/critical_parts.h"
#include "analyze/reports/report.h"

/* Of --what-if. What is of a class of spans takes another time: class 2 n + 1 that of pattern n, from 1
 * on, and class 1 that of a pattern whose factor is 1; even ones are not matched. */
struct critical_what_if {
    uint32_t *factors;      /* by op: the number of its pattern, or 0: its time is as it was */
    uint32_t *matches;      /* by op: 1 if some pattern matches, else 0 */
    ARRAY_OF(double) times; /* by number, what the time is multiplied with; of 0 it is 1 */
    uint64_t calls;         /* of ops that match, in parts so far */
    double on_path_ns;      /* of what matches */
    struct critical_schedule schedule;
    int rc; /* of matching, 0, REPORT_NOTHING or a negative errno: told behind the path */
    struct diag diag;
};

/** Before the first part, and anew. Returns 0 or -ENOMEM. */
int critical_what_if_begin(struct critical_what_if *what_if, const struct option_list *patterns,
                           const struct spans_answer *spans);
/** The classes of a part's spans, for critical_parts_add(). The caller frees them. NULL without memory. Calls that
 *  begin until then are counted. */
uint32_t *critical_what_if_classes(struct critical_what_if *what_if,
                                   const struct spans_answer *part, int64_t until_ns);
/** A step of the path. */
void critical_what_if_step(struct critical_what_if *what_if, const struct critical_step *step);
/** After the last part: how long the run would take, as facts and a note. Returns 0, REPORT_NOTHING when
 *  a pattern matches nothing, or a negative errno. */
int critical_what_if_emit(struct critical_what_if *what_if, const struct report *report,
                          struct diag *diag);
/** Right for {0}, too. */
void critical_what_if_deinit(struct critical_what_if *what_if);

#endif
