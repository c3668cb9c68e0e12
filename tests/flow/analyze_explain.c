/* SPDX-License-Identifier: Apache-2.0 */
/* --explain of every report that has it: the SQL runs as it stands and gives the report's lines, in
 * all columns that both have. */
#include <cjson/cJSON.h>
#include <math.h>

#include "analyze/report.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/memory_store.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

enum { ARGUMENTS_MAX = 16 };

struct fixture {
    char *dir, *program, *gpu;
};

/* What chooses events is in the SQL too. */
static const char *const choices[][3] = {
    {NULL},
    {"--total"},
    {"--warmup"},
    {"--runs", "3"},
    {"--runs", "2.."},
    {"--time", "39ms..65ms"},
    {"--session", "1"},
    {"--session", "all"},
    {"--type", "Relu"},
    {"--session=1", "--type", "label"},
    {"--session=3"},
};

static int start(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char *store;

    fixture->dir = temp_create();
    fixture->program = place_program("analyze/profile_analyze");
    fixture->gpu = place_source("tests/golden/analyze/gpu.json");
    store = temp_path(fixture->dir, "store.db");
    memory_store_make(store);
    free(store);
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    temp_destroy(&fixture->dir);
    free(fixture->program);
    free(fixture->gpu);
    free(fixture);
    return 0;
}

/* The JSON of a report, or NULL when there is nothing to report (exit status 1). */
static cJSON *run_json(const struct fixture *fixture, const char *source,
                       const char *const *arguments)
{
    const struct child_options options = {.directory = fixture->dir};
    const char *argv[ARGUMENTS_MAX + 5] = {fixture->program, source, "--format", "json"};
    struct child_result result;
    cJSON *json = NULL;

    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[i + 4] = arguments[i];
    result = child_run(argv, &options);
    if (result.status != 0 && result.status != 1)
        fail_msg("status %d: %s %s %s", result.status, result.err, arguments[0],
                 arguments[1] ? arguments[1] : "");
    if (result.status == 0) {
        json = cJSON_Parse(result.out);
        assert_non_null(json);
    }
    child_result_deinit(&result);
    return json;
}

/* The rows of the table that has the columns of this row. */
static const cJSON *find_table(const cJSON *json, const cJSON *wanted)
{
    const cJSON *member, *value;

    cJSON_ArrayForEach(member, json)
    {
        const cJSON *rows = cJSON_GetObjectItem(member, "rows");
        bool has_all = cJSON_GetArraySize(rows) > 0;

        cJSON_ArrayForEach(value, wanted) has_all =
            has_all && cJSON_HasObjectItem(rows->child, value->string);
        if (has_all)
            return rows;
    }
    return NULL;
}

static bool is_same(const cJSON *a, const cJSON *b)
{
    if (cJSON_IsNumber(a) && cJSON_IsNumber(b))
        return fabs(a->valuedouble - b->valuedouble) <=
               1e-9 * fmax(fabs(a->valuedouble), fabs(b->valuedouble));
    if (cJSON_IsString(a) && cJSON_IsString(b))
        return strcmp(a->valuestring, b->valuestring) == 0;
    if (cJSON_IsBool(a) && cJSON_IsNumber(b))
        return cJSON_IsTrue(a) == (b->valuedouble != 0);
    return cJSON_IsNull(a) && cJSON_IsNull(b);
}

/* The report's row that has the values of this one, among the columns that it has. */
static bool has_row(const cJSON *rows, const cJSON *wanted)
{
    const cJSON *row, *value;

    cJSON_ArrayForEach(row, rows)
    {
        bool same = true;

        cJSON_ArrayForEach(value, wanted)
        {
            const cJSON *other = cJSON_GetObjectItemCaseSensitive(row, value->string);

            same &= is_same(other, value);
        }
        if (same)
            return true;
    }
    return false;
}

static void check_rows(const char *name, const char *choice, const cJSON *report,
                       const cJSON *answer, const char *sql)
{
    const cJSON *row;

    if (cJSON_GetArraySize(report) != cJSON_GetArraySize(answer))
        fail_msg("%s %s: %d lines, by SQL %d:\n%s", name, choice, cJSON_GetArraySize(report),
                 cJSON_GetArraySize(answer), sql);
    cJSON_ArrayForEach(row, answer)
    {
        char *text = cJSON_PrintUnformatted(row), *all = cJSON_PrintUnformatted(report);

        assert_true(cJSON_GetArraySize(row) >= 2);
        if (!has_row(report, row))
            fail_msg("%s %s: no line as %s in %s:\n%s", name, choice, text, all, sql);
        cJSON_free(text);
        cJSON_free(all);
    }
}

/* Returns whether there was a report. */
static bool check_kind(const struct fixture *fixture, const char *source,
                       const struct report_kind *kind, const char *const *choice)
{
    const char *arguments[ARGUMENTS_MAX] = {"--explain"};
    const char *query[] = {"--sql", NULL, NULL};
    size_t count = 1;
    cJSON *report, *answer;
    const cJSON *rows, *table;

    if (kind->mode) {
        arguments[count++] = "--list";
    } else {
        arguments[count++] = "--report";
        arguments[count++] = kind->name;
    }
    if (kind->columns || kind == report_kinds[0])
        arguments[count++] = "--top=0";
    for (size_t i = 0; i < 3 && choice[i]; i++)
        arguments[count++] = choice[i];
    report = run_json(fixture, source, arguments);
    if (!report)
        return false;
    query[1] =
        cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(report, "explain"), "sql"));
    assert_non_null(query[1]);
    answer = run_json(fixture, source, query);
    assert_non_null(answer);
    rows = cJSON_GetObjectItem(cJSON_GetObjectItem(answer, "result"), "rows");
    table = find_table(report, rows->child);
    if (!table)
        fail_msg("%s: no table has the columns of:\n%s", kind->name, query[1]);
    check_rows(kind->name, choice[0] ? choice[0] : "", table, rows, query[1]);
    cJSON_Delete(answer);
    cJSON_Delete(report);
    return true;
}

static void sql_gives_the_lines_of_the_report(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];
        size_t reports = 0;

        if (!kind->explain || (kind->mode && strcmp(kind->mode, "list") != 0))
            continue;
        for (size_t k = 0; k < sizeof(choices) / sizeof(choices[0]); k++) {
            const char *first = choices[k][0] ? choices[k][0] : "--session";

            if (kind->takes_no_events && strncmp(first, "--session", 9) != 0)
                continue; /* refused there */
            if (kind->takes_no_events && choices[k][1] && strcmp(choices[k][1], "--type") == 0)
                continue;
            if (kind->has_totals && strcmp(first, "--total") == 0)
                continue; /* refused, too */
            reports += check_kind(*state, "store.db", kind, choices[k]);
        }
        if (kind->has_totals) /* they tell of launches and copies, too */
            reports += check_kind(*state, ((struct fixture *)*state)->gpu, kind, choices[0]);
        if (!reports)
            fail_msg("%s: nothing in the store to report on", kind->name);
    }
}

/* Conditions that are not in the SQL are named in it. */
static void what_is_left_out_is_said(void **state)
{
    static const char *const arguments[] = {"--explain", "--opr-name", "conv", NULL};
    cJSON *json = run_json(*state, "store.db", arguments);
    const char *sql =
        cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "explain"), "sql"));

    CHECK_CONTAINS(sql, "/* without the condition of --opr-name */\n");
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sql_gives_the_lines_of_the_report),
        cmocka_unit_test(what_is_left_out_is_said),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
