/* SPDX-License-Identifier: Apache-2.0 */
/* What --compare says in sentences: the sides, the answer, what to mind about it. */
#ifndef OPTRACE_ANALYZE_REPORTS_COMPARE_TEXT_H
#define OPTRACE_ANALYZE_REPORTS_COMPARE_TEXT_H

#include "analyze/metrics/comparison.h"
#include "analyze/reports/compare/sides.h"

/* Changes of one verdict, of ops and of the time between them. */
struct compare_count {
    size_t of[COMPARE_VERDICTS];
};
struct compare_count compare_count_lines(const struct comparison *comparison);

/** A table of the facts in which the sides differ; nothing where they do not. */
void compare_emit_environment(const struct report *report,
                              const struct compare_side sides[ALIGN_SIDES]);

/** Sections "base" and "new" for programs. */
void compare_emit_sides(const struct report *report, const struct compare_side sides[ALIGN_SIDES]);

/** What got slower, by how much, how sure that is, and what it explains. `ranked`: places of the
 *  lines behind the first, the weightiest first. */
void compare_emit_answer(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                         const struct comparison *comparison, const struct compare_gates *gates,
                         const size_t *ranked);

/** The same as lines for a screen of 80 columns. Returns 0 or -ENOMEM. */
int compare_emit_screen(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                        const struct comparison *comparison, const struct compare_gates *gates,
                        const size_t *ranked);

/** Notes: how it was tested, noise, too few runs, losses. */
void compare_emit_notes(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                        const struct comparison *comparison, const struct compare_gates *gates);

/** Sets the sentence with which the program ends when something got slower. */
void compare_set_regression(const struct comparison *comparison, struct diag *diag);

#endif
