/* SPDX-License-Identifier: Apache-2.0 */
/* What was dropped of what is asked for, as footers and reports say it. */
#ifndef OPTRACE_ANALYZE_REPORTS_DROPPED_H
#define OPTRACE_ANALYZE_REPORTS_DROPPED_H

#include "analyze/reports/report.h"

/** What was dropped, and what that means for the numbers; nothing where nothing was. */
void report_note_dropped(const struct report *report, const struct basis *basis);

enum { REPORT_DROPPED_BYTES = 600 };

/** What the note says, of a basis of which something was dropped. */
void report_describe_dropped(char *text, size_t bytes, const struct report *report,
                             const struct basis *basis);

/** The note alone, behind `whose`: "Of base, ". */
void report_warn_dropped(const struct report *report, const char *whose, const struct basis *basis);

/* Why a report is empty. */
#define REPORT_ALL_DROPPED                                                                         \
    "there is no event in what is asked for: old ones were dropped to keep the store within its "  \
    "bounds; profile_analyze --list says of which sessions"

#endif
