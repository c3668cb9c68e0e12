/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of reports, and rows of it held against those of a query. */
#ifndef OPTRACE_TESTS_SUPPORT_REPORT_JSON_H
#define OPTRACE_TESTS_SUPPORT_REPORT_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>

enum { REPORT_JSON_ARGUMENTS_MAX = 16 };

/** Run a program in a directory with --format json behind `source` and the arguments, which end in
 *  NULL, behind that. Returns what it printed, for cJSON_Delete(), or NULL when there was nothing
 * to report. Fails the test at an exit status above 1. */
cJSON *report_json_run(const char *program, const char *directory, const char *source,
                       const char *const *arguments);

/** The SQL that --explain gave, of `report`. Fails the test where there is none. */
const char *report_json_sql(const cJSON *report);

/** Whether two cells say the same: numbers to the ninth digit, a truth value as SQL has it, a list
 *  as the JSON text of it. */
bool report_json_is_same(const cJSON *a, const cJSON *b);

/** The rows of the first table of a report that has the columns of `row`, or NULL. */
const cJSON *report_json_table(const cJSON *report, const cJSON *row);

/** Whether one of the rows has the values of `wanted` in all columns of that. */
bool report_json_has_row(const cJSON *rows, const cJSON *wanted);

/** Fail the test, naming `what` and the query, unless the rows of its answer are the lines of a
 *  table. */
void report_json_check(const char *what, const cJSON *table, const cJSON *answer, const char *sql);

#endif
