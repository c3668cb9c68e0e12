/* SPDX-License-Identifier: Apache-2.0 */
/* The two recordings of --compare: opened, chosen, sampled. */
#ifndef OPTRACE_ANALYZE_REPORTS_COMPARE_SIDES_H
#define OPTRACE_ANALYZE_REPORTS_COMPARE_SIDES_H

#include "analyze/metrics/disturbed_runs.h"
#include "analyze/metrics/run_samples.h"
#include "analyze/query/environment.h"
#include "analyze/query/earlier_sessions.h"
#include "analyze/reports/report.h"
#include "analyze/stats/spread.h"

struct compare_side {
    const struct source *source;     /* the report's, or `own_source` */
    const struct session_rows *rows; /* the report's, or `own_rows` */
    const int64_t *session_ids;      /* the report's, or `own_ids` */
    size_t session_count;
    const int64_t *named_ids; /* those asked for: the base may have earlier ones besides */
    size_t named_count;
    struct earlier_sessions
        earlier;         /* of the base, where those asked for are too few for verdicts */
    bool is_along;       /* those asked for are too few to be judged by themselves */
    bool *unit_is_named; /* beside samples' units, with earlier ones; else NULL */
    size_t *in_time;     /* of the base, with is_along: units of both sides by when they began, as
                        compare_case has them; else NULL */
    size_t runs_set_aside, runs_with_cpu_time; /* metrics/disturbed_runs.h; of all that were read */
    struct environment environment;
    struct run_samples samples;
    double *run_ns;       /* one run as a whole, by unit */
    struct spread spread; /* of these */

    struct source own_source;
    struct session_rows own_rows;
    int64_t *own_ids, *extended_ids;
};

/** How often a comparison of what does not differ may raise an alarm: as --alpha says. */
double compare_alpha(const struct analyze_options *options);

/** Whether the shares of runs that something disturbed differ so much that these runs are a matter
 * of the programs: none is set aside then. Of one process or two they tell nothing. */
bool compare_sides_disturbed_apart(const struct compare_side sides[ALIGN_SIDES]);

/** When a session of a side began; 0 where it is none. */
int64_t compare_side_start(const struct compare_side *side, int64_t session_id);

/** Open both sides without reading them: what compare_sides_read() begins with. Where the sessions
 * are too few for a verdict and earlier ones like the base's are enough, those are the base's too.
 */
int compare_sides_open(const struct report *report, struct compare_side out[ALIGN_SIDES],
                       struct diag *diag);

/** The report of one side alone. It borrows from both. */
struct report compare_side_report(const struct report *report, const struct compare_side *side);

/**
 * Read both sides: the base as --compare names it, the new one as the report has it.
 *
 * Returns 0, REPORT_NOTHING, or a negative errno with a sentence; -EINVAL when both are the same
 * recording. Give *out to compare_sides_deinit() in any case.
 */
int compare_sides_read(const struct report *report, struct compare_side out[ALIGN_SIDES],
                       struct diag *diag);
void compare_sides_deinit(struct compare_side sides[ALIGN_SIDES]);

#endif
