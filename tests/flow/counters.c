/* SPDX-License-Identifier: Apache-2.0 */
/* CPU counters from a program to the report: page faults and context switches, which a program can
 * make in known numbers, are the op's that made them. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/forbid_perf.h"
#include "tests/support/optraced.h"
#include "tests/support/pages.h"
#include "tests/support/place.h"
#include "tests/support/report_json.h"
#include "tests/support/wait.h"

enum {
    ROUNDS = 5,
    PAGES = 300,      /* that touch touches */
    OWN_PAGES = 50,   /* that block touches besides */
    SLEEPS = 6,       /* of sleep */
    PAGES_BESIDE = 8, /* what a quiet op may have: its stack, the ring's next page */
};

static struct optraced daemon_;
static char *analyze;

static uint32_t define(const char *name)
{
    const struct optrace_op_info info = OPTRACE_OP_INFO(name, "Test");
    uint32_t op;

    CHECK_OK(optrace_op_define(&info, &op));
    return op;
}

struct work {
    uint32_t block, touch, idle, sleep;
    volatile char *memory, *own_memory;
};

/* block { touch, idle } sleep */
static void work(const struct work *work)
{
    struct optrace_span block = optrace_begin(work->block), span;

    pages_touch(work->own_memory, OWN_PAGES);
    span = optrace_begin(work->touch);
    pages_touch(work->memory, PAGES);
    optrace_end(span);
    span = optrace_begin(work->idle);
    for (volatile int i = 0; i < 10000; i++)
        continue;
    optrace_end(span);
    optrace_end(block);
    span = optrace_begin(work->sleep);
    for (int i = 0; i < SLEEPS; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    optrace_end(span);
}

static void *work_beside(void *context)
{
    work(context);
    return NULL;
}

static int run_program(const char *list)
{
    const struct optrace_config config = {
        .socket_path = daemon_.socket,
        .required = 1,
        .connect_timeout_ms = 60000,
        .counters = list,
    };
    struct work ops;
    pthread_t thread;
    char text[600];

    CHECK_OK(optrace_start(&config));
    ops = (struct work){define("block"), define("touch"),  define("idle"),
                        define("sleep"), pages_map(PAGES), pages_map(OWN_PAGES)};
    work(&ops); /* what is touched for the first time is */
    CHECK_OK(optrace_flush(WAIT_MS));
    for (int i = 0; i < ROUNDS; i++) {
        struct optrace_run run = optrace_run_begin(0, 0);

        work(&ops);
        optrace_run_end(run);
    }
    CHECK_OK(pthread_create(&thread, NULL, work_beside, &ops)); /* outside of runs */
    CHECK_OK(pthread_join(thread, NULL));
    optrace_status(text, sizeof(text));
    puts(text);
    optrace_stop();
    return 0;
}

static int run_all(void *context)
{
    return run_program("page-faults,context-switches,task-clock");
}

/* As in a container: what needs perf_event_open() is missing, the rest is the same. */
static int run_forbidden(void *context)
{
    forbid_perf(EPERM);
    return run_program("cpu-migrations,page-faults,context-switches,task-clock,instructions");
}

static int run_uncounted(void *context)
{
    return run_program("");
}

/* Records the program in a daemon and a store of its own; what it says must be in its status. */
static void record(int (*program)(void *), const char *status)
{
    struct child child;

    optraced_init(&daemon_);
    optraced_start(&daemon_, NULL);
    child_start_function(&child, program, NULL);
    if (child_wait(&child, WAIT_MS) != 0)
        fail_msg("%s%s", child.out, child.err);
    CHECK_CONTAINS(child.out, status);
    child_deinit(&child);
    optraced_wait_for(&daemon_, "SELECT count(*) FROM session WHERE end_ns IS NOT NULL", 1);
    assert_int_equal(optraced_stop(&daemon_), 0);
}

static double cell(const cJSON *report, const char *op, const char *column)
{
    const cJSON *rows = cJSON_GetObjectItem(cJSON_GetObjectItem(report, "counters"), "rows"), *row;

    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *value = cJSON_GetObjectItem(row, column);

        if (strcmp(cJSON_GetObjectItem(row, "name")->valuestring, op) != 0)
            continue;
        if (!cJSON_IsNumber(value))
            fail_msg("%s of %s is not known", column, op);
        return value->valuedouble;
    }
    fail_msg("there is no line of %s", op);
    return 0;
}

static void check_between(const cJSON *report, const char *op, const char *column, double low,
                          double high)
{
    double value = cell(report, op, column);

    if (!(value >= low && value <= high))
        fail_msg("%s of %s is %g, not from %g to %g", column, op, value, low, high);
}

static void check_report(void)
{
    const char *const arguments[] = {"--report", "counters", "--runs", "1..", NULL};
    cJSON *report = report_json_run(analyze, daemon_.dir, daemon_.store, arguments);
    double of_block, parts;

    assert_non_null(report);
    check_between(report, "touch", "calls", ROUNDS, ROUNDS);
    check_between(report, "touch", "page_faults", ROUNDS * PAGES, ROUNDS * (PAGES + PAGES_BESIDE));
    check_between(report, "touch", "page_faults_per_call", PAGES, PAGES + PAGES_BESIDE);
    check_between(report, "idle", "page_faults", 0, ROUNDS * PAGES_BESIDE);
    check_between(report, "sleep", "page_faults", 0, ROUNDS * PAGES_BESIDE);
    check_between(report, "block", "self_page_faults", ROUNDS * OWN_PAGES,
                  ROUNDS * (OWN_PAGES + PAGES_BESIDE));
    /* Own and total of nested spans fit to the last fault. */
    of_block = cell(report, "block", "page_faults") - cell(report, "block", "self_page_faults");
    parts = cell(report, "touch", "page_faults") + cell(report, "idle", "page_faults");
    assert_true(of_block == parts);
    /* Others may be sent off their CPU too, but who sleeps always is, and uses next to none. */
    check_between(report, "sleep", "context_switches", ROUNDS * SLEEPS, 1e9);
    check_between(report, "sleep", "cpu_share", 0, 0.9);
    assert_true(cell(report, "sleep", "task_clock_ns") > 0);
    assert_true(cell(report, "sleep", "time_ns") >= ROUNDS * SLEEPS * 1e6);
    cJSON_Delete(report);
}

/* Of each run block, touch, idle and sleep, with counters; what is in it adds up. */
static void check_recording_overhead(void)
{
    const char *const arguments[] = {"--report", "overview", "--runs", "1..", NULL};
    cJSON *report = report_json_run(analyze, daemon_.dir, daemon_.store, arguments);
    const cJSON *cost = cJSON_GetObjectItem(report, "recording");
    const double span_ns = cJSON_GetNumberValue(cJSON_GetObjectItem(cost, "span_ns"));
    const double cost_ns = cJSON_GetNumberValue(cJSON_GetObjectItem(cost, "cost_ns"));
    const double share = cJSON_GetNumberValue(cJSON_GetObjectItem(cost, "share"));

    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(cost, "span_count")) == 4 * ROUNDS);
    assert_true(span_ns > 0 && span_ns < 1e6);
    assert_true(cost_ns > 0.999 * span_ns * 4 * ROUNDS && cost_ns < 1.001 * span_ns * 4 * ROUNDS);
    assert_true(share > 0 && share < 0.5);
    cJSON_Delete(report);
}

static void faults_and_switches_are_the_ops(void **state)
{
    record(run_all, "CPU counters: page-faults, context-switches, task-clock\n");
    check_report();
    check_recording_overhead();
    optraced_deinit(&daemon_);
}

static void a_container_without_perf_gives_the_same(void **state)
{
    record(run_forbidden, "task-clock; not instructions, cpu-migrations (not permitted");
    check_report();
    CHECK_U64(optraced_query(&daemon_, "SELECT count(*) FROM op WHERE name = 'perf.instructions'"),
              0);
    optraced_deinit(&daemon_);
}

static struct child_result run_analyze(const char *const *arguments)
{
    const char *argv[8] = {analyze, daemon_.store};

    for (size_t i = 0; arguments[i]; i++)
        argv[i + 2] = arguments[i];
    return child_run(argv, NULL);
}

static void counters_are_tracks_in_a_trace(void **state)
{
    const char *const arguments[] = {"--export", "chrome", NULL};
    struct child_result result;

    record(run_all, "recording to ");
    result = run_analyze(arguments);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "\"ph\":\"C\",\"name\":\"perf.page-faults\"");
    child_result_deinit(&result);
    optraced_deinit(&daemon_);
}

static void without_counters_the_report_says_how_to_get_them(void **state)
{
    const char *const arguments[] = {"--report", "counters", NULL};
    struct child_result result;

    record(run_uncounted, "recording to ");
    CHECK_U64(optraced_query(&daemon_, "SELECT count(*) FROM counter c JOIN op USING (op_id)"
                                       " WHERE name LIKE 'perf.%'"),
              0);
    result = run_analyze(arguments);
    assert_int_equal(result.status, 1);
    CHECK_CONTAINS(result.err, "no counters in this session: record with OPTRACE_COUNTERS=");
    child_result_deinit(&result);
    optraced_deinit(&daemon_);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_and_switches_are_the_ops),
        cmocka_unit_test(a_container_without_perf_gives_the_same),
        cmocka_unit_test(counters_are_tracks_in_a_trace),
        cmocka_unit_test(without_counters_the_report_says_how_to_get_them),
    };
    int failed;

    analyze = place_program("analyze/profile_analyze");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(analyze);
    return failed;
}
