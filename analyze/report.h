/* SPDX-License-Identifier: Apache-2.0 */
/* What every report gets, and the reports. A report asks the query layer and hands typed cells to
 * the output; it never prints. */
#ifndef OPTRACE_ANALYZE_REPORT_H
#define OPTRACE_ANALYZE_REPORT_H

#include "analyze/options.h"
#include "analyze/out.h"
#include "analyze/query.h"
#include "analyze/source.h"

struct report {
    const struct analyze_options *options;
    const struct source *source;
    const struct session_rows *sessions; /* all of the source */
    const int64_t *session_ids;          /* the chosen ones */
    size_t session_count;
    struct out *out;
};

/* Each returns 0; REPORT_NOTHING, with the reason in diag, when nothing matches; or a negative
 * errno with a sentence. Wrong texts of the command line are -EINVAL. */
enum { REPORT_NOTHING = 1 };

/** MegEngine's table: where the time and the memory went, op by op. */
int report_ops(const struct report *report, struct diag *diag);

/** The sessions of the source. */
int report_sessions(const struct report *report, struct diag *diag);

/** The rows of a query that only reads. */
int report_sql(const struct report *report, struct diag *diag);

/* --- For reports on ops: report_footer.c --- */

/** What the numbers stand for and what is missing in them: session, runs, denominators, coverage,
 *  losses, unfinished spans. */
void report_footer(const struct report *report, const struct ops_answer *answer);

#endif
