/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of --explain share: the explanation on its way, and its words. */
#ifndef OPTRACE_ANALYZE_EXPLAIN_PRIVATE_H
#define OPTRACE_ANALYZE_EXPLAIN_PRIVATE_H

#include "analyze/out_buffer.h"
#include "analyze/report.h"
#include "base/array.h"

struct id_array ARRAY_FIELDS(int64_t);

struct explanation {
    const struct report *report;
    const struct explanation *sides; /* of a comparison: queries that replace {base} and {new} */
    struct report_selection selection;
    bool has_runs;                               /* the sessions have any */
    const char *counted;                         /* condition on run, for want of chosen numbers */
    struct id_array op_ids, label_ids, lane_ids; /* what the regular expressions and --input-dtype
                                                    are for: SQL has no words for these */
    struct out_buffer text;
};

/* explain_words.c */

/** Add SQL to the text, the words in braces in it (explain_tables.h) replaced by what they stand
 *  for. */
void explain_add_sql(struct explanation *explanation, const char *sql);

/** Add a literal of SQL. */
void explain_add_quoted(struct explanation *explanation, const char *text);

/** Whether values are means of a run. */
bool explain_is_per_run(const struct explanation *explanation);

#endif
