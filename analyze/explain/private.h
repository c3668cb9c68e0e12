/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of --explain share: the explanation on its way, and its words. */
#ifndef OPTRACE_ANALYZE_EXPLAIN_PRIVATE_H
#define OPTRACE_ANALYZE_EXPLAIN_PRIVATE_H

#include "analyze/reports/report.h"
#include "base/array.h"
#include "base/text_buffer.h"

struct id_array ARRAY_FIELDS(int64_t);

struct explanation {
    const struct report *report;
    const struct explanation *sides; /* of a comparison: queries that replace {base} and {new} */
    struct report_selection selection;
    bool has_runs;       /* the sessions have any */
    const char *counted; /* condition on run, for want of chosen numbers */
    bool only_with_ops;  /* runs whose ops were left out on purpose are left out */
    bool only_whole;     /* those of which events were dropped are left out */
    bool lacks_whole;    /* there are no others: values are totals */
    uint64_t again;      /* tables that are made for each use */
    bool is_of_one_side; /* its lines are devices' or hosts' */
    struct id_array op_ids, label_ids, lane_ids; /* what passes filters that
                                                    SQL has no words for */
    struct text_buffer text;
};

/* What tells runs of which no events were dropped, behind other conditions on run. */
#define EXPLAIN_IS_WHOLE                                                                           \
    "\n       AND start_ns > coalesce((SELECT max(d.end_ns) FROM dropped d\n"                      \
    "                                WHERE d.session_id = run.session_id\n"                        \
    "                                  AND d.event_count > 0), -1)"

/* words.c */

/** Add the condition on runs that count, whole or not. */
void explain_add_counted(const struct explanation *explanation, struct text_buffer *text);

/** Add SQL to the text, the words in braces in it (sql/query.h) replaced by what they stand
 *  for. */
void explain_add_sql(struct explanation *explanation, const char *sql);

/** Whether {word} stands for something. For tests. */
bool explain_is_place(const char *word);

/** Add a literal of SQL. */
void explain_add_quoted(struct explanation *explanation, const char *text);

/** Whether values are means of a run. */
bool explain_is_per_run(const struct explanation *explanation);

#endif
