/* SPDX-License-Identifier: Apache-2.0 */
/* --explain of every report on sessions: the SQL runs as it stands and gives the report's lines, in
 * all columns that both have. Comparisons and histories are in analyze_explain_sides.c. */
#include <string.h>

#include "analyze/explain/sql/query.h"
#include "analyze/reports/report.h"
#include "tests/support/busy_trace.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/counter_store.h"
#include "tests/support/dropped_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/place.h"
#include "tests/support/report_json.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"

enum { TRACES = 3, RUNS = 3 };

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
    {"--session=2", "--max-time=1e-3"},
    {"--session=1", "--min-time=1e-3"},
    {"--session=1", "--type", "label"},
    {"--session=3"},
    {"--session=3", "--runs=2..4"},
    {"--session=3", "--time=15ms..37ms"},
    {"--session=2", "--detail", "all"},
    {"--session=2", "--state=cpu", "--per-thread"},
};

/* Of the store that has CPU counters. */
static const char *const counter_choices[][3] = {
    {NULL},
    {"--warmup"},
    {"--runs=2", "--type", "Conv"},
    {"--time=25ms..35ms"},
    {"--type", "label"},
    {"--group-by", "type"},
    {"--lane", "main"},
};

/* Of sessions side by side. */
static const char *const many_choices[][3] = {
    {"--session=all"},
    {"--session=1,3", "--type=kernel"},
    {"--session=all", "--time=.."},
};

/* Of what a trace has: nested ops, launches, waits, gaps. */
static const char *const busy_choices[][3] = {
    {NULL},
    {"--runs=2"},
    {"--type=kernel"},
    {"--detail=op"},
    {"--detail=all"},
    {"--state=gpu", "--per-thread"},
    {"--state=all", "--detail=all", "--per-thread"},
};

/* Of a training: what autograd runs for a scope on a thread of its own, and collectives. */
static const char *const training_choices[][3] = {
    {NULL},
    {"--label=step"},
    {"--label=step", "--type=kernel"},
    {"--label=inner"},
    {"--type=collective"},
};
#define EVENT(cat, name, pid, tid, ts, dur, args)                                                  \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name "\", \"pid\": " pid                  \
    ", \"tid\": " tid ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
static const char training[] = "{\"traceEvents\": ["
    /* clang-format off */
    EVENT("user_annotation", "step", "1", "1", "0", "1000", "") ","
    EVENT("user_annotation", "inner", "1", "1", "400", "100", "") ","
    EVENT("cpu_op", "aten::mm", "1", "1", "10", "90", "") ","
    EVENT("cuda_runtime", "cudaLaunchKernel", "1", "1", "20", "5", "\"correlation\": 1") ","
    EVENT("kernel", "gemm", "0", "7", "60", "100", "\"correlation\": 1, \"device\": 0") ","
    EVENT("cpu_op", "MmBackward0", "1", "2", "50", "40", "") ","
    EVENT("cpu_op", "autograd::engine::evaluate_function: MmBackward0", "1", "2", "200", "300", "") ","
    EVENT("cpu_op", "MmBackward0", "1", "2", "210", "280", "") ","
    EVENT("cuda_runtime", "cudaLaunchKernel", "1", "2", "220", "5", "\"correlation\": 2") ","
    EVENT("kernel", "gemm", "0", "7", "240", "150", "\"correlation\": 2, \"device\": 0") ","
    EVENT("cpu_op", "torch::autograd::AccumulateGrad", "1", "2", "990", "20", "") ","
    EVENT("cpu_op", "record_param_comms", "1", "2", "600", "60", "\"Collective name\": \"allreduce\","
          " \"dtype\": \"Float\", \"In msg nelems\": 1000, \"Group size\": 2") ","
    EVENT("user_annotation", "nccl:all_reduce", "1", "2", "610", "40", "") ","
    EVENT("cuda_runtime", "cudaLaunchKernelExC", "1", "2", "620", "5", "\"correlation\": 3") ","
    EVENT("kernel", "ncclDevKernel_AllReduce_Sum_f32", "0", "20", "640", "90", "\"correlation\": 3, \"device\": 0") ","
    EVENT("user_annotation", "gloo:broadcast", "1", "3", "700", "80", "\"Input Dims\": [[10]], \"Input type\": [\"float\"]")
    /* clang-format on */
    "]}";

static void write_training(const struct fixture *fixture)
{
    char *path = temp_path(fixture->dir, "training.json");
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fputs(training, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

/* busy_0.json and on; many.db has them all. */
static void write_traces(const struct fixture *fixture)
{
    const char *argv[TRACES + 5] = {fixture->program, "--import", "--into", "many.db"};
    const struct child_options options = {.directory = fixture->dir};
    char names[TRACES][20];
    struct child_result result;

    for (unsigned i = 0; i < TRACES; i++) {
        char *path;

        snprintf(names[i], sizeof(names[i]), "busy_%u.json", i);
        path = temp_path(fixture->dir, names[i]);
        busy_trace_write(path, 7 * i, RUNS);
        free(path);
        argv[4 + i] = names[i];
    }
    result = child_run(argv, &options);
    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
}

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
    store = temp_path(fixture->dir, "counters.db");
    counter_store_append(store);
    free(store);
    store = temp_path(fixture->dir, "dropped.db");
    dropped_store_make(store, 5);
    free(store);
    write_traces(fixture);
    write_training(fixture);
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

/* Returns whether there was a report. */
static bool check_kind(const struct fixture *fixture, const char *source,
                       const struct report_kind *kind, const char *const *choice)
{
    const char *arguments[REPORT_JSON_ARGUMENTS_MAX] = {"--explain"};
    const char *query[] = {"--sql", NULL, NULL};
    size_t count = 1;
    cJSON *report, *answer;
    const cJSON *rows, *table;
    char what[200];

    if (kind->mode) {
        arguments[count++] = "--list";
    } else {
        arguments[count++] = "--report";
        arguments[count++] = kind->name;
    }
    if (kind->lines.columns || kind == report_kinds[0])
        arguments[count++] = "--top=0";
    for (size_t i = 0; i < 3 && choice[i]; i++)
        arguments[count++] = choice[i];
    report = report_json_run(fixture->program, fixture->dir, source, arguments);
    if (!report)
        return false;
    query[1] = report_json_sql(report);
    answer = report_json_run(fixture->program, fixture->dir, source, query);
    assert_non_null(answer);
    rows = cJSON_GetObjectItem(cJSON_GetObjectItem(answer, "result"), "rows");
    snprintf(what, sizeof(what), "%s of %s %s %s", kind->name, source, choice[0] ? choice[0] : "",
             choice[0] && choice[1] ? choice[1] : "");
    table = report_json_table(report, rows->child);
    if (!table)
        fail_msg("%s: no table has the columns of:\n%s", what, query[1]);
    report_json_check(what, table, rows, query[1]);
    cJSON_Delete(answer);
    cJSON_Delete(report);
    return true;
}

static bool is_option(const char *choice, const char *option)
{
    return choice && strncmp(choice, option, strlen(option)) == 0;
}

/* Whether the report honours what is chosen; it refuses anything else. */
static bool takes(const struct report_kind *kind, const char *const *choice)
{
    for (size_t i = 0; i < 3 && choice[i]; i++) {
        bool is_of_events = is_option(choice[i], "--detail") || is_option(choice[i], "--state") ||
                            is_option(choice[i], "--per-thread");

        if (is_of_events && strcmp(kind->name, "events") != 0)
            return false;
        if (strcmp(kind->name, "memory") == 0 && is_option(choice[i], "--type"))
            return false;
        if ((is_option(choice[i], "--min-time") || is_option(choice[i], "--max-time")) &&
            (kind->lines.time_ns ? !kind->explain.time : strcmp(kind->name, "memory") == 0))
            return false;
        if (!report_takes_events(kind) && is_option(choice[i], "--") &&
            !is_option(choice[i], "--session"))
            return false;
        if (kind->values != REPORT_MEANS && is_option(choice[i], "--total"))
            return false;
    }
    return true;
}

/* Rules that find something are among those of the SQL, with their shares, and the other way
 * round; what a rule needs more than SQL for has no verdict there. */
static bool check_advice(const struct fixture *fixture, const char *source,
                         const char *const *choice)
{
    const char *arguments[8] = {"--explain", "--report", "advice"},
               *query[] = {"--sql", NULL, NULL};
    const cJSON *rows, *findings, *row;
    cJSON *report, *answer;

    for (size_t i = 0; i < 3 && choice[i]; i++)
        arguments[3 + i] = choice[i];
    report = report_json_run(fixture->program, fixture->dir, source, arguments);
    if (!report)
        return false;
    query[1] = report_json_sql(report);
    answer = report_json_run(fixture->program, fixture->dir, source, query);
    rows = cJSON_GetObjectItem(cJSON_GetObjectItem(answer, "result"), "rows");
    findings = cJSON_GetObjectItem(cJSON_GetObjectItem(report, "findings"), "rows");
    cJSON_ArrayForEach(row, findings)
    {
        cJSON *wanted = cJSON_CreateObject();
        const cJSON *rule = cJSON_GetObjectItem(row, "rule");

        cJSON_AddItemToObject(wanted, "rule", cJSON_Duplicate(rule, true));
        if (strcmp(rule->valuestring, "below-roof") != 0)
            cJSON_AddItemToObject(wanted, "share",
                                  cJSON_Duplicate(cJSON_GetObjectItem(row, "share"), true));
        if (!report_json_has_row(rows, wanted))
            fail_msg("advice of %s %s: %s is not found by:\n%s", source, choice[0] ? choice[0] : "",
                     rule->valuestring, query[1]);
        cJSON_Delete(wanted);
    }
    cJSON_ArrayForEach(row, rows)
    {
        cJSON *wanted = cJSON_CreateObject();

        cJSON_AddItemToObject(wanted, "rule",
                              cJSON_Duplicate(cJSON_GetObjectItem(row, "rule"), true));
        if (!cJSON_IsNull(cJSON_GetObjectItem(row, "holds")) &&
            !report_json_has_row(findings, wanted))
            fail_msg("advice of %s %s: %s is found by:\n%s", source, choice[0] ? choice[0] : "",
                     cJSON_GetObjectItem(row, "rule")->valuestring, query[1]);
        cJSON_Delete(wanted);
    }
    cJSON_Delete(answer);
    cJSON_Delete(report);
    return true;
}

static bool check(const struct fixture *fixture, const char *source, const struct report_kind *kind,
                  const char *const *choice)
{
    if (!takes(kind, choice))
        return false;
    if (strcmp(kind->name, "advice") == 0)
        return check_advice(fixture, source, choice);
    return check_kind(fixture, source, kind, choice);
}

static bool is_on_one_side(const struct report_kind *kind)
{
    return explain_query_of(kind->name, "") && report_takes_sessions(kind) &&
           (!kind->mode || strcmp(kind->mode, "list") == 0);
}

static void sql_gives_the_lines_of_the_report(void **state)
{
    for (size_t i = 0; report_kinds[i]; i++) {
        size_t reports = 0;

        if (!is_on_one_side(report_kinds[i]))
            continue;
        for (size_t k = 0; k < sizeof(choices) / sizeof(choices[0]); k++) {
            if (turns_third(i + k))
                reports += check(*state, "store.db", report_kinds[i], choices[k]);
        }
        if (report_kinds[i]->values != REPORT_MEANS) /* they tell of launches and copies, too */
            reports += check(*state, ((struct fixture *)*state)->gpu, report_kinds[i], choices[0]);
        for (size_t k = 0; k < sizeof(training_choices) / sizeof(training_choices[0]) &&
                           report_kinds[i]->values != REPORT_MEANS;
             k++) {
            if (turns_third(i + k))
                reports += check(*state, "training.json", report_kinds[i], training_choices[k]);
        }
        for (size_t k = 0; k < sizeof(counter_choices) / sizeof(counter_choices[0]) &&
                           strcmp(report_kinds[i]->name, "counters") == 0;
             k++)
            reports += check(*state, "counters.db", report_kinds[i], counter_choices[k]);
        if (!reports && !turns_slow())
            fail_msg("%s: nothing in the stores to report on", report_kinds[i]->name);
    }
}

/* Of sessions that have lost their oldest events to retention. */
static const char *const dropped_choices[][3] = {
    {"--session=1"},
    {"--session=1", "--total"},
    {"--session=1", "--runs=2.."},
    {"--session=1", "--type=Conv"},
    {"--session=1", "--time=90s.."},
    {"--session=2"},
    {"--session=2", "--runs=3"},
    {"--session=3"},
    {"--session=4"},
    {"--session=all"},
};

static void sql_gives_the_lines_of_what_is_left(void **state)
{
    size_t reports = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        for (size_t k = 0; k < sizeof(dropped_choices) / sizeof(dropped_choices[0]) &&
                           is_on_one_side(report_kinds[i]);
             k++) {
            if (turns_third(i + k))
                reports += check(*state, "dropped.db", report_kinds[i], dropped_choices[k]);
        }
    }
    assert_true(reports > (turns_slow() ? 30 : 100));
}

/* Reports on who waited for whom, inside of whom, after whom. */
static void sql_tells_what_spans_have_to_do_with_each_other(void **state)
{
    static const char *const names[] = {"advice", "critical", "events",
                                        "idle",   "ranks",    "sequences"};
    size_t reports = 0, many_reports = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        bool is_named = false;

        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            is_named |= strcmp(report_kinds[i]->name, names[k]) == 0;
        for (int trace = 0; trace < TRACES && is_named; trace++) {
            char source[20];

            snprintf(source, sizeof(source), "busy_%d.json", trace);
            for (size_t k = 0; k < sizeof(busy_choices) / sizeof(busy_choices[0]); k++) {
                if (turns_take(i + k, (size_t)trace, TRACES) && turns_third(k))
                    reports += check(*state, source, report_kinds[i], busy_choices[k]);
            }
        }
        for (size_t k = 0; k < sizeof(many_choices) / sizeof(many_choices[0]) && is_named; k++) {
            if (turns_third(i + k))
                many_reports += check(*state, "many.db", report_kinds[i], many_choices[k]);
        }
    }
    /* Ranks are of several sessions; the others can be of one, too. */
    assert_true(reports > (turns_slow() ? 5 : 5 * 3));
    assert_true(many_reports >= (turns_slow() ? 6 - 1 : 6 * 3 - 1));
}

/* Tables and columns that are not in the SQL are named in it. */
static void what_is_skipped_is_said(void **state)
{
    static const struct {
        const char *arguments[6], *text;
    } cases[] = {
        {{"--explain", "--report", "critical", "--what-if", "conv.*=2"},
         "/* not in it: what --what-if tells */\n"},
        {{"--explain", "--show-host"}, "/* not in it: the second table, of the host */\n"},
        {{"--explain", "--report", "events"}, "/* not in it: position, parent"},
        {{"--explain", "--report", "critical"}, "/* not in it: that what waits for a device"},
        {{"--explain", "--report", "averages"}, "takes some\n * 20 times as long as the report"},
        {{"--explain", "--report", "advice"}, "/* not in it: finding, action, command"},
    };
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cJSON *json =
            report_json_run(fixture->program, fixture->dir, "store.db", cases[i].arguments);

        CHECK_CONTAINS(report_json_sql(json), cases[i].text);
        cJSON_Delete(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sql_gives_the_lines_of_the_report),
        cmocka_unit_test(sql_gives_the_lines_of_what_is_left),
        cmocka_unit_test(sql_tells_what_spans_have_to_do_with_each_other),
        cmocka_unit_test(what_is_skipped_is_said),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
