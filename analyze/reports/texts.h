/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of docs/reports as lines of 80 columns, which scripts/make-report-texts makes. */
#ifndef OPTRACE_ANALYZE_REPORTS_TEXTS_H
#define OPTRACE_ANALYZE_REPORTS_TEXTS_H

struct report_text {
    const char *name, *text;
};

/** One for each page, by name; ends with a name of NULL. */
extern const struct report_text report_texts[];

#endif
