/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of metrics/advice.h find in what a report is about, and the command that shows
 * each. */
#ifndef OPTRACE_ANALYZE_REPORTS_ADVICE_H
#define OPTRACE_ANALYZE_REPORTS_ADVICE_H

#include "analyze/metrics/advice.h"
#include "analyze/metrics/averages.h"
#include "analyze/reports/memory_view.h"
#include "base/text_buffer.h"

struct report_advice {
    bool wants_averages;      /* input */
    uint64_t events_max;      /* input of report_advice_find_last(); 0: REPORT_ADVICE_EVENTS_MAX */
    struct averages averages; /* by name, where they are wanted: without memory */
    struct advice_facts facts;
    struct advice_findings findings; /* in the order of the rules; their texts are those below */
    struct spans_answer spans;
    struct ops_answer ops;   /* totals */
    struct memory_view view; /* empty where no memory was recorded */
    bool is_of_last_runs;    /* report_advice_find_last(): there were too many events for all */
};

enum { REPORT_ADVICE_EVENTS_MAX = 500000 };

/** The same of at most advice->events_max events: of more, those of the last runs; without runs all
 *  of them. Findings have the gravest first.
 *
 *  counted      the runs that the selection counts
 *  event_count  events of all of them
 */
int report_advice_find_last(const struct report *report, struct report_selection *selection,
                            const struct counted_runs *counted, uint64_t event_count,
                            struct report_advice *advice, struct diag *diag);
void report_advice_deinit(struct report_advice *advice);

enum report_command_form {
    REPORT_COMMAND,         /* as a shell reads it; without the name of the default store */
    REPORT_COMMAND_OPTIONS, /* what stands behind the program and the name of its source */
};

/** Appends the command that shows a finding, of the same selection. */
void report_advice_command(const struct report *report, const struct advice_finding *finding,
                           enum report_command_form form, struct text_buffer *command);

#endif
