/* SPDX-License-Identifier: Apache-2.0 */
/* --explain of traces of other tools, and with each option that chooses, groups or bounds: the SQL
 * gives the lines of the report. */
#include <stdio.h>
#include <string.h>

#include "analyze/explain/sql/query.h"
#include "analyze/reports/report.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/report_json.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"

/* Ops in labels in ops, labels that are called as ops are, only children of their parents' name,
 * ops that take no time, the same name and shapes at several ops, spans at the same time, stacks.
 */
static const char nested[] = "{\"traceEvents\": ["
#define EVENT(ph, cat, name, tid, ts, dur, args)                                                   \
    "{\"ph\": \"" ph "\", \"cat\": \"" cat "\", \"name\": \"" name "\", \"pid\": 1, \"tid\": " tid \
    ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
    /* clang-format off */
    EVENT("X", "cpu_op", "outer", "1", "0", "1000", "\"Input Dims\": [[2, 3]], \"Call stack\": \"a;b;c\"") ","
    EVENT("X", "user_annotation", "outer", "1", "100", "500", "") ","
    EVENT("X", "cpu_op", "inner", "1", "200", "100", "\"Input Dims\": [[2, 3]], \"Call stack\": \"a;d\"") ","
    EVENT("X", "cpu_op", "inner", "1", "400", "50", "\"Input Dims\": [[4, 3]]") ","
    EVENT("X", "cpu_op", "twin", "1", "700", "200", "") ","
    EVENT("X", "cpu_op", "twin", "1", "710", "150", "") ","
    EVENT("X", "cpu_op", "instant", "1", "950", "0", "") ","
    EVENT("X", "cpu_op", "python", "3", "0", "500", "") ","
    EVENT("X", "python_function", "f.py(1): f", "3", "10", "400", "") ","
    EVENT("X", "python_function", "f.py(1): f", "3", "20", "300", "") ","
    EVENT("X", "cpu_op", "python", "3", "30", "200", "") ","
    EVENT("X", "cpu_op", "python", "3", "40", "100", "") ","
    EVENT("X", "user_annotation", "inner", "1", "1100", "300", "") ","
    EVENT("X", "cpu_op", "inner", "1", "1100", "300", "\"Input Dims\": [[2, 3]]") ","
    EVENT("X", "cuda_runtime", "cudaLaunchKernel", "1", "1150", "20", "\"correlation\": 7") ","
    EVENT("X", "kernel", "gemm", "9", "1300", "400", "\"correlation\": 7, \"device\": 0, \"stream\": 9, \"grid\": [1, 2, 3], \"block\": [4, 1, 1]") ","
    EVENT("X", "cpu_op", "inner", "2", "1100", "77", "") ","
    EVENT("i", "cpu_instant_event", "[memory]", "1", "210", "0", "\"Bytes\": 64, \"Addr\": 1, \"Total Allocated\": 1000") ","
    EVENT("i", "cpu_instant_event", "[memory]", "1", "220", "0", "\"Bytes\": -300, \"Addr\": 2, \"Total Allocated\": 700") ","
    EVENT("i", "cpu_instant_event", "[memory]", "2", "1110", "0", "\"Bytes\": 32, \"Addr\": 3, \"Total Allocated\": 732") ","
    EVENT("X", "cuda_runtime", "cudaLaunchKernel", "2", "1120", "20", "\"correlation\": 8") ","
    EVENT("X", "kernel", "gemm", "10", "1400", "44", "\"correlation\": 8, \"device\": 0, \"stream\": 10, \"grid\": [2, 2, 3], \"block\": [4, 1, 1]")
    /* clang-format on */
    "]}";

/* The second stream waits for the first and is itself, with nothing in between, what the third
 * waits for; the first waits for the third; then it waits for what was recorded later. */
static const char waiting[] = "{\"traceEvents\": ["
#define LAUNCH(ts, number)                                                                         \
    EVENT("X", "cuda_runtime", "cudaLaunchKernel", "1", ts, "2", "\"correlation\": " number) ","
#define RECORD(ts, number)                                                                         \
    EVENT("X", "cuda_runtime", "cudaEventRecord", "1", ts, "2", "\"correlation\": " number) ","
#define KERNEL(name, stream, ts, dur, number)                                                      \
    EVENT("X", "kernel", name, stream, ts, dur,                                                    \
          "\"device\": 0, \"stream\": " stream ", \"correlation\": " number)                       \
    ","
#define AWAIT(stream, other, ts, number, record)                                                   \
    EVENT("X", "cuda_sync", "Stream Wait Event", stream, ts, "1",                                  \
          "\"device\": 0, \"cuda_sync_kind\": \"Stream Wait Event\", \"correlation\": " number     \
          ", \"wait_on_stream\": " other ", \"wait_on_cuda_event_record_corr_id\": " record)       \
    ","
    /* clang-format off */
    LAUNCH("10", "1") KERNEL("a", "7", "15", "200", "1")
    LAUNCH("13", "2") KERNEL("b", "20", "16", "14", "2")
    LAUNCH("16", "3") KERNEL("c", "21", "18", "12", "3")
    RECORD("20", "4") AWAIT("20", "7", "25", "5", "4")
    RECORD("30", "6") AWAIT("21", "20", "35", "7", "6")
    LAUNCH("40", "8") KERNEL("d", "21", "216", "100", "8")
    RECORD("45", "9") AWAIT("7", "21", "50", "10", "9")
    LAUNCH("55", "11") KERNEL("e", "7", "320", "50", "11")
    LAUNCH("60", "12") KERNEL("f", "20", "217", "70", "12")
    AWAIT("20", "7", "64", "13", "14") RECORD("66", "14")
    LAUNCH("70", "15") KERNEL("g", "20", "400", "10", "15")
    EVENT("X", "cuda_runtime", "cudaDeviceSynchronize", "1", "80", "340", "\"correlation\": 16")
    /* clang-format on */
    "]}";

/* A call waits for one stream, by whose clock what it waits for ends behind the call, while what another one does ends
 * in it; then for one that ended long before; then for none that did anything. */
static const char syncing[] = "{\"traceEvents\": ["
#define SYNC(stream, ts, dur, number)                                                              \
    EVENT("X", "cuda_runtime", "cudaStreamSynchronize", "1", ts, dur, "\"correlation\": " number)  \
    "," EVENT("X", "cuda_sync", "Stream Sync", stream, ts, dur,                                    \
              "\"device\": 0, \"cuda_sync_kind\": \"Stream Sync\", \"stream\": " stream            \
              ", \"correlation\": " number) ","
    /* clang-format off */
    LAUNCH("0", "1") KERNEL("a", "7", "10", "95", "1")
    LAUNCH("5", "2") KERNEL("b", "20", "12", "66", "2")
    LAUNCH("10", "3") KERNEL("c", "21", "13", "8", "3")
    SYNC("7", "20", "80", "4")
    EVENT("X", "cpu_op", "after", "1", "100", "50", "") ","
    LAUNCH("150", "5") KERNEL("d", "20", "155", "30", "5")
    SYNC("21", "160", "40", "6")
    EVENT("X", "cpu_op", "then", "1", "200", "50", "") ","
    LAUNCH("250", "7") KERNEL("e", "7", "255", "30", "7")
    SYNC("22", "260", "40", "8")
    EVENT("X", "cpu_op", "end", "1", "310", "50", "")
    /* clang-format on */
    "]}";

/* Ops that overlap and hold others in both, as those of calls that end later; what takes no time at
 * their ends; collectives, which are told apart by their names; a thread that has nothing else. */
static const char overlapping[] = "{\"traceEvents\": ["
#define OP(name, tid, ts, dur)   EVENT("X", "cpu_op", name, tid, ts, dur, "") ","
#define TALK(name, tid, ts, dur) EVENT("X", "user_annotation", name, tid, ts, dur, "") ","
    /* clang-format off */
    OP("c10d::send", "1", "0", "100") TALK("gloo:send", "1", "50", "2000")
    OP("aten::add", "1", "60", "20") OP("aten::mul", "1", "90", "30")
    OP("outer", "1", "3000", "1000") OP("early", "1", "3100", "300") OP("late", "1", "3200", "300")
    OP("both", "1", "3250", "100") OP("late_alone", "1", "3450", "40") OP("after", "1", "3600", "50")
    OP("instant", "1", "3650", "0") OP("instant", "1", "4000", "0") OP("past", "1", "3990", "50")
    OP("c10d::send", "1", "5000", "100") TALK("gloo:send", "1", "5050", "2000")
    TALK("gloo:all_reduce", "2", "0", "700") TALK("gloo:barrier", "2", "800", "100")
    TALK("gloo:all_reduce", "2", "1000", "800") TALK("gloo:barrier", "2", "1900", "100")
    EVENT("X", "user_annotation", "label", "3", "100", "50", "")
    /* clang-format on */
    "]}";

/* What chooses spans, on all reports on spans; what one report alone takes. */
static const struct {
    const char *report;
    const char *arguments[3];
} choices[] = {
    {NULL, {NULL}},
    {NULL, {"--opr-name=.*[ei]n"}},
    {NULL, {"--opr-name=a", "--type=cpu_op"}},
    {NULL, {"--label=.*"}},
    {NULL, {"--label=[io]", "--type=cpu_op"}},
    {NULL, {"--lane=.*[17]"}},
    {NULL, {"--device=CUDA"}},
    {NULL, {"--device=host"}},
    {NULL, {"--input-dtype=f32"}},
    {NULL, {"--input-shape=*x*"}},
    {NULL, {"--time=150us..900ms"}},
    {NULL, {"--type=label"}},
    {"ops", {"--print-only=host"}},
    {"ops", {"--print-only=host", "--label=.*"}},
    {"ops", {"--top-end-key=exec"}},
    {"ops", {"--show-host"}},
    {"ops", {"--aggregate=sum"}},
    {"ops", {"--aggregate=mean", "--aggregate-by=type", "--min-time=1e-5"}},
    {"ops", {"--min-time=1e-5", "--max-time=1e-3"}},
    {"ops", {"--group-by=params"}},
    {"ops", {"--type=label"}},
    {"ops", {"--aggregate=sum", "--aggregate-by=type", "--group-by=params"}},
    {"types", {"--min-time=1e-4"}},
    {"kernels", {"--max-time=1e-3"}},
    {"kernels", {"--group-by=launch"}},
    {"roofline", {"--max-time=1e-3"}},
    {"summary", {"--min-time=1e-5"}},
    {"sequences", {"--group-by=name"}},
    {"averages", {"--group-by=name"}},
    {"averages", {"--group-by=shape"}},
    {"averages", {"--group-by=stack:2"}},
    {"averages", {"--group-by=shape,stack:1"}},
    {"averages", {"--min-time=1e-5", "--max-time=1e-3"}},
    {"averages", {"--group-by=shape", "--min-time=1e-4"}},
    {"threads", {"--min-time=1e-4"}},
    {"memory", {"--group-by=type"}},
    {"memory", {"--group-by=shape"}},
    {"memory", {"--runs=2..3"}},
    {"memory", {"--time=1ms..40ms"}},
};

/* Events belong to several sessions there, or it says what it finds in other words. */
static bool is_apart(const struct report_kind *kind)
{
    return kind->mode || !explain_query_of(kind->name, "") || strcmp(kind->name, "ranks") == 0 ||
           strcmp(kind->name, "advice") == 0 || strcmp(kind->name, "memory") == 0;
}

/* Returns whether there was a report. */
static bool check(const char *program, const char *directory, const char *source,
                  const struct report_kind *kind, const char *const *choice)
{
    const char *arguments[REPORT_JSON_ARGUMENTS_MAX] = {"--explain", "--report", kind->name};
    const char *query[] = {"--sql", NULL, NULL};
    size_t count = 3;
    cJSON *report, *answer;
    const cJSON *rows, *table;
    char what[300];

    if (kind->lines.columns)
        arguments[count++] = "--top=0";
    for (size_t i = 0; i < 3 && choice[i]; i++)
        arguments[count++] = choice[i];
    report = report_json_run(program, directory, source, arguments);
    if (!report)
        return false;
    query[1] = report_json_sql(report);
    answer = report_json_run(program, directory, source, query);
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

/* All choices on a source that the program reads, or those whose turn it is of several sources.
 * Returns how many reports there were. */
static size_t check_all(const char *program, const char *directory, const char *source, size_t way,
                        size_t ways)
{
    size_t reports = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];

        for (size_t k = 0; k < sizeof(choices) / sizeof(choices[0]); k++) {
            bool is_asked =
                choices[k].report ? strcmp(choices[k].report, kind->name) == 0 : !is_apart(kind);

            if (is_asked && turns_take(i + k, way, ways) && turns_third(i / ways + k / ways))
                reports += check(program, directory, source, kind, choices[k].arguments);
        }
    }
    return reports;
}

static void write_trace(const char *directory, const char *name, const char *text)
{
    char *path = temp_path(directory, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static void import(const char *program, const char *directory, const char *const *files,
                   const char *store)
{
    const char *argv[8] = {program, "--import", "--into", store};
    const struct child_options options = {.directory = directory};
    struct child_result result;

    for (size_t i = 0; files[i]; i++)
        argv[4 + i] = files[i];
    result = child_run(argv, &options);
    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
}

static void labels_and_ops_may_lie_in_each_other(void **state)
{
    char *directory = temp_create(), *program = place_program("analyze/profile_analyze");

    write_trace(directory, "nested.json", nested);
    assert_true(check_all(program, directory, "nested.json", 0, 1) > (turns_slow() ? 30 : 100));
    temp_destroy(&directory);
    free(program);
}

static void ops_may_overlap(void **state)
{
    static const char *const names[] = {"averages",  "critical", "events",  "idle", "overview",
                                        "sequences", "summary",  "threads", "types"};
    static const char *const choices_of_it[][3] = {{NULL}, {"--type=collective"}, {"--lane=.*1"}};
    char *directory = temp_create(), *program = place_program("analyze/profile_analyze");
    size_t reports = 0;

    write_trace(directory, "overlapping.json", overlapping);
    for (size_t i = 0; report_kinds[i]; i++) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            for (size_t c = 0; c < 3 && strcmp(names[k], report_kinds[i]->name) == 0; c++)
                reports += check(program, directory, "overlapping.json", report_kinds[i],
                                 choices_of_it[c]);
        }
    }
    CHECK_U64(reports, 27);
    temp_destroy(&directory);
    free(program);
}

/* Its calls with other shapes are no other holder. */
static void a_name_holds_memory_once(void **state)
{
    static const char *const arguments[] = {"--report=memory", "--top=0", NULL};
    char *directory = temp_create(), *program = place_program("analyze/profile_analyze");
    const cJSON *row;
    cJSON *report;
    size_t inner = 0;

    write_trace(directory, "nested.json", nested);
    report = report_json_run(program, directory, "nested.json", arguments);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cJSON_GetObjectItem(report, "holders"), "rows"))
    {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(row, "name")), "inner") != 0)
            continue;
        inner++;
        assert_int_equal(cJSON_GetObjectItem(row, "taken_bytes")->valueint, 64 + 32);
        assert_int_equal(cJSON_GetObjectItem(row, "taken_count")->valueint, 2);
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "out_shapes")));
    }
    CHECK_U64(inner, 1);
    cJSON_Delete(report);
    temp_destroy(&directory);
    free(program);
}

/* Whatever else is read with a run, how many calls --what-if changes is of that run. */
static void calls_behind_a_run_do_not_count(void **state)
{
    static const char trace[] =
        "[{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"pid\": 1, \"tid\": 1,"
        " \"ts\": 0, \"dur\": 100},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1,"
        " \"ts\": 10, \"dur\": 5, \"args\": {\"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"soon\", \"pid\": 0, \"tid\": 7,"
        " \"ts\": 20, \"dur\": 5, \"args\": {\"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1,"
        " \"ts\": 30, \"dur\": 5, \"args\": {\"correlation\": 2}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"soon\", \"pid\": 0, \"tid\": 7,"
        " \"ts\": 30000, \"dur\": 5, \"args\": {\"correlation\": 2}}]";
    static const char *const arguments[] = {"--report=critical", "--what-if=soon=2", NULL};
    char *directory = temp_create(), *program = place_program("analyze/profile_analyze");
    cJSON *report;

    write_trace(directory, "late.json", trace);
    report = report_json_run(program, directory, "late.json", arguments);
    assert_int_equal(
        cJSON_GetObjectItem(cJSON_GetObjectItem(report, "what_if"), "call_count")->valueint, 1);
    cJSON_Delete(report);
    temp_destroy(&directory);
    free(program);
}

static void streams_may_wait_for_each_other(void **state)
{
    static const char *const none[3] = {NULL};
    char *directory = temp_create(), *program = place_program("analyze/profile_analyze");
    size_t reports = 0;

    write_trace(directory, "waiting.json", waiting);
    write_trace(directory, "syncing.json", syncing);
    for (size_t i = 0; report_kinds[i]; i++) {
        if (strcmp(report_kinds[i]->name, "critical") != 0 &&
            strcmp(report_kinds[i]->name, "idle") != 0)
            continue;
        reports += check(program, directory, "waiting.json", report_kinds[i], none);
        reports += check(program, directory, "syncing.json", report_kinds[i], none);
    }
    CHECK_U64(reports, 4);
    temp_destroy(&directory);
    free(program);
}

/* Of several sessions the same ops are one line, with percentiles of all calls. */
static void sessions_together(void **state)
{
    static const char *const files[] = {"nested.json", "nested.json", "nested.json", NULL};
    static const char *const names[] = {"ops", "roofline", "summary", "types", "averages"};
    static const char *const of_all[][3] = {
        {"--session=all"},
        {"--session=all", "--lane=.*"},
        {"--session=all", "--print-only=host"},
        {"--session=all", "--group-by=params"},
    };
    const char *const arguments[] = {"--session=all", "--print-only=host", "--top=0", NULL};
    char *directory = temp_create(), *program = place_program("analyze/profile_analyze");
    const cJSON *row;
    cJSON *report;

    write_trace(directory, "nested.json", nested);
    import(program, directory, files, "nested.db");
    for (size_t i = 0; report_kinds[i]; i++) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            for (size_t c = 0; c < 4 && strcmp(names[k], report_kinds[i]->name) == 0; c++) {
                if (c < 2 || k == 0)
                    assert_true(check(program, directory, "nested.db", report_kinds[i], of_all[c]));
            }
        }
    }
    report = report_json_run(program, directory, "nested.db", arguments);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cJSON_GetObjectItem(report, "host"), "rows"))
    {
        assert_true(cJSON_IsNumber(cJSON_GetObjectItem(row, "call_p50_ns")));
        assert_true(cJSON_GetObjectItem(row, "calls")->valueint % 3 == 0);
    }
    cJSON_Delete(report);
    temp_destroy(&directory);
    free(program);
}

static void traces_of_other_tools(void **state)
{
    static const char *const traces[] = {
        "traces/kineto-gpu/a100_alexnet_train.json.gz",
        "traces/pytorch/cnn_inference_cpu.json",
        "traces/onnxruntime/light_squeezenet_cpu_1thread_3runs.json",
        "cases/traces-today/gloo_rank0.json.gz",
    };
    const size_t count = sizeof(traces) / sizeof(traces[0]);
    char *directory = temp_create(), *program = place_program("analyze/profile_analyze");
    size_t reports = 0;

    for (size_t i = 0; i < count; i++) {
        char *path = place_shared(traces[i]);
        const char *files[] = {path, NULL};
        char store[30];

        if (!path)
            continue;
        snprintf(store, sizeof(store), "trace_%zu.db", i);
        import(program, directory, files, store);
        reports += check_all(program, directory, store, i, count);
        free(path);
    }
    temp_destroy(&directory);
    free(program);
    if (!reports)
        CHECK_SKIP("the shared traces are not there");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_ops_may_lie_in_each_other),
        cmocka_unit_test(ops_may_overlap),
        cmocka_unit_test(a_name_holds_memory_once),
        cmocka_unit_test(calls_behind_a_run_do_not_count),
        cmocka_unit_test(streams_may_wait_for_each_other),
        cmocka_unit_test(sessions_together),
        cmocka_unit_test(traces_of_other_tools),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
