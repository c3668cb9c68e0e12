/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profile_analyze prints, against tests/golden/analyze/. Sources are a MegEngine profile and a
 * trace of a GPU, both made for this test, and the small store.
 */
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/counter_store.h"
#include "tests/support/golden.h"
#include "tests/support/memory_store.h"
#include "tests/support/place.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

enum { ARGUMENTS_MAX = 12 };

struct report_case {
    const char *golden;
    const char *arguments[ARGUMENTS_MAX];
};

static const struct report_case cases[] = {
    /* MegEngine's profile: its flags, its layout */
    {"default.txt", {"profile.json", "--report", "ops"}},
    {"sample_row.txt", {"profile.json", "--type", "Elemwise", "-t", "1"}},
    {"all_with_host.txt", {"profile.json", "-t", "0", "--show-host", "--copy-time"}},
    {"sum_by_type.txt", {"profile.json", "-t0", "--aggregate", "sum", "--aggregate-by", "type"}},
    {"mean_of_all.txt", {"profile.json", "--aggregate", "mean", "--print-only", "device"}},
    {"max_by_type_kern.txt",
     {"profile.json", "--aggregate=max", "--aggregate-by=type", "--top-end-key", "kern"}},
    {"order_flops.txt", {"profile.json", "--order-by", "FLOPS", "-t0", "--print-only", "device"}},
    {"order_computation_up.txt",
     {"profile.json", "--order-by", "+computation", "-t0", "--dump-only-opr"}},
    {"drop_from_the_end.txt", {"profile.json", "-t", "-4", "--dump-only-opr"}},
    {"filters.txt",
     {"profile.json", "--opr-name", ".*conv", "--input-dtype", "Float32", "--min-time", "0.0005",
      "--max-time", "0.002", "--print-only", "device"}},
    {"bounds_host.txt",
     {"profile.json", "-t0", "--show-host", "--min-time", "0.00012", "--max-time", "0.00025"}},
    {"bounds_kern.txt",
     {"profile.json", "-t0", "--top-end-key", "kern", "--print-only", "device", "--format", "csv",
      "--min-time", "0.00006", "--max-time", "0.000065"}},
    {"exec_host.txt", {"profile.json", "--top-end-key", "exec", "--print-only", "host"}},
    {"summary.txt", {"profile.json", "--print-only", "summary"}},
    {"dump_types.txt",
     {"profile.json", "--dump-only-opr", "--aggregate", "sum", "--aggregate-by", "type", "-t0"}},
    {"wiki.txt", {"profile.json", "--wiki", "-t0"}},
    {"confluence_without_computation.txt",
     {"profile.json", "--confluence", "--type", "Softmax", "--print-only", "device"}},
    {"profile.json.txt", {"profile.json", "--format", "json", "-t", "2"}},
    {"profile.csv.txt", {"profile.json", "--format", "csv", "-t", "0"}},
    {"summary.csv.txt", {"profile.json", "--format", "csv", "--print-only", "summary"}},
    {"ascii.txt", {"profile.json", "--ascii", "-t", "1", "--color", "always"}},
    /* the store: runs, losses, death */
    {"store.txt", {"store.db", "--report", "ops"}},
    {"store_total.txt", {"store.db", "--total", "--show-host", "--warmup"}},
    {"store_runs.txt", {"store.db", "--runs", "3", "-t1"}},
    {"store_window.txt", {"store.db", "--report", "ops", "--time", "55ms..70ms"}},
    {"store_host_only.txt", {"store.db", "--report", "ops", "--session", "1"}},
    {"store_labels.txt", {"store.db", "--session", "1", "--type", "label"}},
    {"store_all_sessions.txt", {"store.db", "--session", "all", "--show-host", "-t0"}},
    {"store.json.txt", {"store.db", "--format", "json", "--show-host"}},
    {"profile.md.txt", {"profile.json", "--format", "markdown", "-t", "2", "--show-host"}},
    {"store.md.txt", {"store.db", "--format", "markdown"}},
    /* the first screen */
    {"brief_store.txt", {"store.db"}},
    {"brief_store_hello.txt", {"store.db", "--session", "1"}},
    {"brief_store_all.txt", {"store.db", "--session", "all", "--width", "60"}},
    {"brief_store_runs.txt", {"store.db", "--runs", "1..3", "--ascii"}},
    {"brief_store.md.txt", {"store.db", "--report", "brief", "--format", "markdown"}},
    {"brief_store.json.txt", {"store.db", "--report", "brief", "--format", "json"}},
    {"brief_memory.txt", {"memory.db", "--session", "3"}},
    {"brief_counters.txt", {"counters.db", "--session", "4"}},
    {"brief_gpu.txt", {"gpu.json", "--color", "always"}},
    {"brief_profile.txt", {"profile.json", "--width", "100"}},
    {"overview.txt", {"store.db", "--report", "overview"}},
    {"overview.wiki.txt", {"store.db", "--report", "overview", "--wiki"}},
    {"summary.wiki.txt", {"store.db", "--report", "summary", "--confluence"}},
    {"overview_no_device.txt", {"store.db", "--report", "overview", "--session", "1"}},
    {"overview_all.txt", {"store.db", "--report", "overview", "--session", "all"}},
    {"overview_profile.txt", {"profile.json", "--report", "overview"}},
    {"overview.json.txt", {"store.db", "--report", "overview", "--format", "json"}},
    {"overview.csv.txt", {"store.db", "--report", "overview", "--format", "csv", "--runs", "2"}},
    {"events.txt", {"store.db", "--report", "events"}},
    {"events_nested.txt", {"store.db", "--report", "events", "--session", "1"}},
    {"events_detail_op.txt",
     {"store.db", "--report", "events", "--detail", "op", "--sorted-by", "min", "--state", "cpu"}},
    {"events_detail_all.txt",
     {"store.db", "--report", "events", "--detail", "all", "--session", "1", "--ascii"}},
    {"events_per_thread.txt",
     {"store.db", "--report", "events", "--per-thread", "--session", "all", "--state", "all"}},
    {"events_profile.txt", {"profile.json", "--report", "events", "--sorted-by", "default"}},
    {"events_top.txt", {"store.db", "--report", "events", "-t1", "--order-by", "+calls"}},
    {"events.json.txt", {"store.db", "--report", "events", "--format", "json", "--session", "1"}},
    {"events.csv.txt", {"store.db", "--report", "events", "--format", "csv"}},
    {"events.md.txt", {"store.db", "--report", "events", "--format", "markdown", "--session", "1"}},
    {"summary_runs.txt", {"store.db", "--report", "summary"}},
    {"summary_detailed.txt", {"store.db", "--report", "summary", "--detailed", "-t", "1"}},
    {"summary_one_run.txt", {"store.db", "--report", "summary", "--runs", "2", "--batch", "32"}},
    {"summary_unended.txt", {"store.db", "--report", "summary", "--runs", "3.."}},
    {"summary_no_runs.txt",
     {"store.db", "--report", "summary", "--session", "1", "--order-by", "mean"}},
    {"summary_all.csv.txt",
     {"store.db", "--report", "summary", "--session", "all", "--warmup", "--format", "csv"}},
    {"summary.json.txt", {"store.db", "--report", "summary", "--format", "json"}},
    {"store_explained.md.txt", {"store.db", "--explain", "--format", "markdown", "-t1"}},
    {"store_page.txt", {"store.db", "--report", "page"}},
    {"store_page.json.txt", {"store.db", "--report", "page", "--format", "json", "-t1"}},
    {"store_list.txt", {"store.db", "--list"}},
    {"store_list_one.txt", {"store.db", "--list", "--session", "1", "--ascii"}},
    {"store_list.json.txt", {"store.db", "--list", "--format", "json"}},
    /* memory, in session 3 of its own store */
    {"memory.txt", {"memory.db", "--session", "3", "--report", "memory"}},
    {"memory_types.txt",
     {"memory.db", "--session", "3", "--report", "memory", "--group-by", "type", "--ascii",
      "--runs", "2..3"}},
    {"memory_labels.txt",
     {"memory.db", "--session", "3", "--report", "memory", "--group-by", "label", "--device",
      "host"}},
    {"memory_categories.txt",
     {"memory.db", "--session", "3", "--report", "memory", "--group-by", "category"}},
    {"memory.json.txt",
     {"memory.db", "--session", "3", "--report", "memory", "--format", "json", "--device", "cuda"}},
    {"memory_narrow.txt",
     {"memory.db", "--session", "3", "--report", "memory", "--width", "120", "--color", "always"}},
    /* CPU counters */
    {"counters.txt", {"counters.db", "--session", "4", "--report", "counters"}},
    {"counters_narrow.txt",
     {"counters.db", "--session", "4", "--report", "counters", "--group-by", "type", "--width",
      "100", "--order-by", "+page-faults"}},
    {"counters_labels.csv.txt",
     {"counters.db", "--session", "4", "--report", "counters", "--type", "label", "--format", "csv",
      "--warmup"}},
    {"counters.json.txt",
     {"counters.db", "--session", "4", "--report", "counters", "--format", "json"}},
    {"counters_overview.txt", {"counters.db", "--session", "4", "--report", "overview"}},
    {"counters_summary.json.txt",
     {"counters.db", "--session", "4", "--report", "summary", "--format", "json", "-t1"}},
    {"counters_averages.txt", {"counters.db", "--session", "4", "--report", "averages"}},
    /* the roofline */
    {"roofline.txt", {"store.db", "--report", "roofline"}},
    {"roofline_peaks.txt",
     {"store.db", "--report", "roofline", "--peak-flops", "1e11", "--peak-bandwidth", "2e10"}},
    {"roofline.csv.txt",
     {"store.db", "--report", "roofline", "--peak-flops", "1e11", "--format", "csv"}},
    /* what to do */
    {"store_advice.txt", {"store.db", "--report", "advice", "--warmup", "--peak-flops", "1e12"}},
    {"store_advice_one.md.txt",
     {"store.db", "--report", "advice", "--session", "1", "--label", "phase.*", "--format",
      "markdown"}},
    {"memory_advice.txt", {"memory.db", "--session", "3", "--report", "advice"}},
    {"profile_advice_nothing.txt", {"profile.json", "--report", "advice", "--type", "Copy"}},
    {"profile_advice_nothing.json.txt",
     {"profile.json", "--report", "advice", "--type", "Copy", "--format", "json"}},
    /* runs */
    {"runs.txt", {"store.db", "--report", "runs"}},
    {"runs_all_warmup.txt",
     {"store.db", "--report", "runs", "--warmup", "--order-by", "+Device-Busy", "-t", "0"}},
    {"runs_one.txt", {"store.db", "--report", "runs", "--runs", "3", "--type", "Relu"}},
    {"runs.json.txt", {"store.db", "--report", "runs", "--format", "json", "--max-time", "0.011"}},
    {"runs_explained.txt", {"store.db", "--report", "runs", "--explain", "--runs", "1.."}},
    /* a small trace of a GPU: launches, copies, gaps */
    {"gpu_advice.txt", {"gpu.json", "--report", "advice", "--label", ".*", "--device", "cuda"}},
    {"gpu_advice.json.txt", {"gpu.json", "--report", "advice", "--format", "json"}},
    {"gpu_averages.txt", {"gpu.json", "--report", "averages", "-t0"}},
    {"gpu_averages_shape.txt",
     {"gpu.json", "--report", "averages", "--group-by", "shape", "--sort-by", "cuda_time_total",
      "--row-limit", "-1", "--type", "cpu_op"}},
    {"gpu_averages.json.txt", {"gpu.json", "--report", "averages", "--format", "json", "-t2"}},
    {"gpu_ops.csv.txt", {"gpu.json", "-t0", "--format", "csv"}},
    {"gpu_ops_lane.csv.txt", {"gpu.json", "-t0", "--format", "csv", "--lane", ".*"}},
    {"gpu_ops_params.txt", {"gpu.json", "-t0", "--group-by", "params", "--type", "kernel"}},
    {"gpu_ops_labels.txt", {"gpu.json", "--type", "label"}},
    {"gpu_types.txt", {"gpu.json", "--report", "types"}},
    {"gpu_threads.txt", {"gpu.json", "--report", "threads"}},
    {"gpu_kernels.txt", {"gpu.json", "--report", "kernels"}},
    {"gpu_kernels_launch.txt",
     {"gpu.json", "--report", "kernels", "--group-by", "launch", "--order-by", "+name"}},
    {"gpu_device.txt", {"gpu.json", "--report", "device"}},
    {"gpu_launch.txt", {"gpu.json", "--report", "launch"}},
    {"gpu_launch.csv.txt", {"gpu.json", "--report", "launch", "--format", "csv"}},
    {"gpu_copies.txt", {"gpu.json", "--report", "copies"}},
    {"gpu_copies.json.txt", {"gpu.json", "--report", "copies", "--format", "json"}},
    {"gpu_critical.txt", {"gpu.json", "--report", "critical", "-t", "0", "--what-if", "gemm=2"}},
    {"gpu_critical_device.json.txt",
     {"gpu.json", "--report", "critical", "--device", "cuda", "--format", "json", "-t3",
      "--what-if=gemm|Memcpy HtoD=inf", "--what-if=aten::=4"}},
    {"store_critical.txt", {"store.db", "--report", "critical"}},
    {"store_critical_run.csv.txt",
     {"store.db", "--report", "critical", "--runs", "3", "--format", "csv"}},
    {"gpu_idle.txt", {"gpu.json", "--report", "idle"}},
    {"gpu_idle_stream.csv.txt",
     {"gpu.json", "--report", "idle", "--device", "cuda", "--format", "csv"}},
    {"store_averages.txt", {"store.db", "--report", "averages"}},
    {"store_averages_hello.txt", {"store.db", "--report", "averages", "--session", "1"}},
    {"store_types_all_sessions.txt", {"store.db", "--report", "types", "--session", "all"}},
    {"store_threads_all_sessions.txt", {"store.db", "--report", "threads", "--session", "all"}},
    {"store_sequences.txt", {"store.db", "--report", "sequences"}},
    {"store_sequences_all.json.txt",
     {"store.db", "--report", "sequences", "--session", "all", "--warmup", "--group-by", "name",
      "--order-by", "+calls", "--format", "json"}},
    {"store_device.txt", {"store.db", "--report", "device"}},
    {"store_idle_all_sessions.txt", {"store.db", "--report", "idle", "--session", "all"}},
    {"profile_copies.txt", {"profile.json", "--report", "copies"}},
    {"profile_device.txt", {"profile.json", "--report", "device"}},
    {"profile_types.txt", {"profile.json", "--report", "types"}},
    {"sql.txt", {"store.db", "--sql", "SELECT op_id, name, type, node_id, 1.5 AS x FROM op"}},
    {"sql.csv.txt",
     {"store.db", "--format", "csv", "--sql", "SELECT 'a \"b\", c' AS t, NULL AS n, 2 AS i"}},
    {"sql_on_profile.json.txt",
     {"profile.json", "--format", "json", "--sql",
      "SELECT name, kind, device FROM lane ORDER BY lane_id"}},
};

/* Sources have short names where the program runs. */
static void copy_source(const struct analyze_scene *scene, const char *name)
{
    char from[128], *source, *bytes;
    size_t size;

    snprintf(from, sizeof(from), "tests/golden/analyze/%s", name);
    source = place_source(from);
    bytes = temp_read(source, &size);
    free(temp_write(scene->dir, name, bytes, size));
    free(bytes);
    free(source);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *store;

    copy_source(scene, "profile.json");
    copy_source(scene, "gpu.json");
    store = temp_path(scene->dir, "store.db");
    small_store_make(store);
    free(store);
    store = temp_path(scene->dir, "memory.db");
    memory_store_make(store);
    free(store);
    store = temp_path(scene->dir, "counters.db");
    small_store_make(store);
    counter_store_append(store);
    free(store);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* Tables on the screen show few notes of their own accord. */
static bool is_table(const char *const *arguments)
{
    static const char *const others[] = {"--format", "--wiki", "--confluence"};

    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++) {
        for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
            if (strcmp(arguments[i], others[k]) == 0)
                return false;
        }
    }
    return true;
}

static struct child_result run(const struct analyze_scene *scene, const char *const *arguments)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};
    const char *argv[ARGUMENTS_MAX + 3] = {scene->program};
    size_t count = 1;

    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[count++] = arguments[i];
    if (is_table(arguments))
        argv[count++] = "--notes";
    return child_run(argv, &options);
}

static void reports_look_as_agreed(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct child_result result = run(*state, cases[i].arguments);
        char name[128];
        char *all;

        if (result.status != 0)
            fail_msg("%s: status %d, %s", cases[i].golden, result.status, result.err);
        /* What went to stderr stands below a line, so that nothing hides there. */
        assert_true(asprintf(&all, "%s%s%s", result.out, result.err[0] ? "--- stderr\n" : "",
                             result.err) >= 0);
        snprintf(name, sizeof(name), "analyze/%s", cases[i].golden);
        golden_check(name, all, strlen(all));
        free(all);
        child_result_deinit(&result);
    }
}

static void output_goes_to_a_file(void **state)
{
    struct analyze_scene *scene = *state;
    const char *const to_file[] = {"profile.json", "-o", "report.txt", NULL};
    const char *const to_stdout[] = {"profile.json", NULL};
    struct child_result file = run(scene, to_file), screen = run(scene, to_stdout);
    char *path = temp_path(scene->dir, "report.txt");
    char *text = temp_read(path, NULL);

    assert_int_equal(file.status, 0);
    assert_string_equal(file.out, "");
    assert_string_equal(text, screen.out);
    free(text);
    free(path);
    child_result_deinit(&file);
    child_result_deinit(&screen);
}

static void default_store_is_found(void **state)
{
    struct analyze_scene *scene = *state;
    static const char *const environment[] = {"OPTRACE_STORE=store.db", NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};
    const char *argv[] = {scene->program, "--print-only", "summary", NULL};
    struct child_result result = child_run(argv, &options);

    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "total device time  0.009");
    child_result_deinit(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_look_as_agreed),
        cmocka_unit_test(output_goes_to_a_file),
        cmocka_unit_test(default_store_is_found),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
