/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many times its report's time the SQL of --explain takes, of some 70,000 spans: those of a made
 * up trace, and of a training on an A100 where the shared traces are there. Whole processes, CPU
 * time; the goal is 10, or what the comment before the SQL says.
 */
#include <string.h>
#include <sys/resource.h>

#include "analyze/explain/sql/query.h"
#include "analyze/reports/report.h"
#include "tests/support/bench.h"
#include "tests/support/busy_trace.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/report_json.h"
#include "tests/support/temp.h"

enum { ROUNDS = 5, RUNS = 560, GOAL = 10 };

struct bench {
    char *dir, *program;
};

static double cpu_s(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static struct child_result run(const struct bench *bench, const char *const *argv)
{
    const struct child_options options = {.directory = bench->dir, .timeout_ms = 120000};

    return child_run(argv, &options);
}

static double ask(const struct bench *bench, const char *store, const char *option,
                  const char *value)
{
    const char *const argv[] = {bench->program, store, "--format", "json", option, value, NULL};
    double start_s = cpu_s();
    struct child_result result = run(bench, argv);

    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
    return cpu_s() - start_s;
}

static void measure(const struct bench *bench, const char *source, const char *store,
                    const struct report_kind *kind)
{
    const char *const arguments[] = {"--explain", "--report", kind->name, NULL};
    cJSON *report = report_json_run(bench->program, bench->dir, store, arguments);
    struct bench_figure of_sql = {.unit = "s"}, of_report = {.unit = "s"};
    unsigned takes = explain_query_of(kind->name, "")->takes;
    char name[80];

    if (!report) /* the recording has nothing for it */
        return;
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&of_report, ask(bench, store, "--report", kind->name));
        bench_add(&of_sql, ask(bench, store, "--sql", report_json_sql(report)));
    }
    snprintf(name, sizeof(name), "explain_%s_%s_cpu_s", source, kind->name);
    of_sql.name = name;
    bench_print(&of_sql);
    snprintf(name, sizeof(name), "explain_%s_%s_against_report", source, kind->name);
    bench_print_ratio(name, &of_sql, &of_report, takes ? takes : GOAL);
    cJSON_Delete(report);
}

static void measure_all(const struct bench *bench, const char *source, const char *trace)
{
    const char *const argv[] = {bench->program, "--import", "--into", source, trace, NULL};
    struct child_result result = run(bench, argv);

    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];

        if (explain_query_of(kind->name, "") && !kind->mode && report_takes_sessions(kind) &&
            strcmp(kind->name, "ranks") != 0)
            measure(bench, source, source, kind);
    }
}

int main(void)
{
    struct bench bench = {.dir = temp_create(),
                          .program = place_program("analyze/profile_analyze")};
    char *made = temp_path(bench.dir, "made.json");
    char *shared = place_shared("traces/kineto-gpu/a100_recsys_train_shapes.json.gz");

    bench_print_machine();
    busy_trace_write(made, 1, RUNS);
    measure_all(&bench, "made", made);
    if (shared)
        measure_all(&bench, "recsys", shared);
    free(shared);
    free(made);
    temp_destroy(&bench.dir);
    free(bench.program);
    return EXIT_SUCCESS;
}
