/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that tell the first answer as text share. */
#ifndef OPTRACE_ANALYZE_REPORTS_BRIEF_PRIVATE_H
#define OPTRACE_ANALYZE_REPORTS_BRIEF_PRIVATE_H

#include "analyze/reports/brief/brief.h"
#include "analyze/reports/brief/page_part.h"

struct brief_text {
    const struct brief *brief;
    struct brief_page page;
    char number[6][32];
};

/** A table of rows: `most` of them and what the others come to. Returns 0 or -ENOMEM. */
int brief_print_rows(struct brief_text *text, const char *title, const struct brief_rows *rows,
                     size_t most, bool of_types);

/** What to do, and which reports say more. */
void brief_print_findings(struct brief_text *text);
void brief_print_more(struct brief_text *text);

#endif
