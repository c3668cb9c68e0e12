/* SPDX-License-Identifier: Apache-2.0 */
/* Running reports and comparing cells. */
#include "tests/support/report_json.h"

#include <math.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/child.h"

/* Whether the last note is the reason why there is no answer, which standard error has, too. */
static bool is_nothing(const cJSON *report, const char *reason)
{
    const cJSON *notes = cJSON_GetObjectItem(report, "notes");
    const cJSON *last = cJSON_GetArrayItem(notes, cJSON_GetArraySize(notes) - 1);
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(last, "text"));

    return text && strstr(reason, text);
}

cJSON *report_json_run(const char *program, const char *directory, const char *source,
                       const char *const *arguments)
{
    const struct child_options options = {.directory = directory};
    const char *argv[REPORT_JSON_ARGUMENTS_MAX + 5] = {program, source, "--format", "json"};
    struct child_result result;
    cJSON *json = NULL;

    for (size_t i = 0; i < REPORT_JSON_ARGUMENTS_MAX && arguments[i]; i++)
        argv[i + 4] = arguments[i];
    result = child_run(argv, &options);
    /* A comparison that found something has a report and the status 1; that nothing matches has the
     * same status. */
    if (result.status != 0 && result.status != 1)
        fail_msg("status %d: %s %s %s", result.status, result.err, arguments[0],
                 arguments[1] ? arguments[1] : "");
    if (*result.out) {
        json = cJSON_Parse(result.out);
        assert_non_null(json);
    }
    if (result.status == 1 && json && is_nothing(json, result.err)) {
        cJSON_Delete(json);
        json = NULL;
    }
    child_result_deinit(&result);
    return json;
}

const char *report_json_sql(const cJSON *report)
{
    const char *sql =
        cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(report, "explain"), "sql"));

    assert_non_null(sql);
    return sql;
}

static bool is_same_list(const cJSON *list, const char *text)
{
    cJSON *parsed = cJSON_Parse(text);
    bool is_same = parsed && cJSON_Compare(list, parsed, true);

    cJSON_Delete(parsed);
    return is_same;
}

bool report_json_is_same(const cJSON *a, const cJSON *b)
{
    if (cJSON_IsNumber(a) && cJSON_IsNumber(b))
        return fabs(a->valuedouble - b->valuedouble) <=
               1e-9 * fmax(fabs(a->valuedouble), fabs(b->valuedouble));
    if (cJSON_IsString(a) && cJSON_IsString(b))
        return strcmp(a->valuestring, b->valuestring) == 0;
    if (cJSON_IsArray(a) && cJSON_IsString(b))
        return is_same_list(a, b->valuestring);
    if (cJSON_IsBool(a) && cJSON_IsNumber(b))
        return cJSON_IsTrue(a) == (b->valuedouble != 0);
    return cJSON_IsNull(a) && cJSON_IsNull(b);
}

const cJSON *report_json_table(const cJSON *report, const cJSON *row)
{
    const cJSON *member, *value;

    cJSON_ArrayForEach(member, report)
    {
        const cJSON *rows = cJSON_GetObjectItem(member, "rows");
        bool has_columns = cJSON_GetArraySize(rows) > 0;

        cJSON_ArrayForEach(value, row) has_columns =
            has_columns && cJSON_HasObjectItem(rows->child, value->string);
        if (has_columns)
            return rows;
    }
    return NULL;
}

static bool has_all(const cJSON *row, const cJSON *wanted)
{
    const cJSON *value;

    cJSON_ArrayForEach(value, wanted)
    {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(row, value->string);

        if (!report_json_is_same(other, value))
            return false;
    }
    return true;
}

bool report_json_has_row(const cJSON *rows, const cJSON *wanted)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, rows)
    {
        if (has_all(row, wanted))
            return true;
    }
    return false;
}

static void fail_without_row(const char *what, const cJSON *table, const cJSON *row,
                             const char *sql)
{
    char *text = cJSON_PrintUnformatted(row), *all = cJSON_PrintUnformatted(table);

    fail_msg("%s: no line as %s in %s:\n%s", what, text, all, sql);
}

void report_json_check(const char *what, const cJSON *table, const cJSON *answer, const char *sql)
{
    const cJSON *row, *likely = table ? table->child : NULL; /* most come in the same order */

    if (cJSON_GetArraySize(table) != cJSON_GetArraySize(answer))
        fail_msg("%s: %d lines, by SQL %d:\n%s", what, cJSON_GetArraySize(table),
                 cJSON_GetArraySize(answer), sql);
    cJSON_ArrayForEach(row, answer)
    {
        assert_true(cJSON_GetArraySize(row) >= 2);
        if (!has_all(likely, row) && !report_json_has_row(table, row))
            fail_without_row(what, table, row, sql);
        likely = likely->next;
    }
}
