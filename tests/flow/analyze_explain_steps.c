/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --explain on a recording of some size: the SQL of each report ends, with work that grows as the
 * recording does, and gives the report's lines. Work is counted in steps of SQLite's virtual
 * machine, which are the same on every machine.
 */
#include <sqlite3.h>
#include <string.h>

#include "analyze/explain/sql/query.h"
#include "analyze/reports/report.h"
#include "tests/support/analyze_scene.h"
#include "tests/support/busy_trace.h"
#include "tests/support/check.h"
#include "tests/support/report_json.h"
#include "tests/support/temp.h"

enum {
    SIZES = 2, /* the second one is twice as large */
    RUNS = 14,
    STEP = 1000,
    STEPS_PER_EVENT_MAX = 700, /* advice has 560: it asks a question for each rule */
    QUICK_STEPS_MAX = 220,     /* of those within ten times their report's time: roofline has 160 */
};
static const char *const stores[SIZES] = {"small.db", "large.db"};

/* Two sessions, for reports that set some side by side. */
static void make_store(const struct analyze_scene *scene, const char *name, unsigned runs)
{
    static const char *const traces[] = {"rank0.json", "rank1.json"};
    const char *argv[] = {scene->program, "--import", "--into", name, traces[0], traces[1], NULL};
    const struct child_options options = {.directory = scene->dir};
    struct child_result result;

    for (unsigned i = 0; i < 2; i++) {
        char *path = temp_path(scene->dir, traces[i]);

        busy_trace_write(path, 7 * i + 1, runs);
        free(path);
    }
    result = child_run(argv, &options);
    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();

    for (unsigned size = 0; size < SIZES; size++)
        make_store(scene, stores[size], RUNS << size);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

struct counting {
    sqlite3_int64 steps, bound;
};

static int count_steps(void *context)
{
    struct counting *counting = context;

    counting->steps += STEP;
    return counting->steps > counting->bound; /* it ends here */
}

static sqlite3_int64 count_rows(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 count = 0;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s in %s", sqlite3_errmsg(db), sql);
    while (sqlite3_step(statement) == SQLITE_ROW)
        count++;
    sqlite3_finalize(statement);
    return count;
}

/* How many steps an event takes; fails the test beyond the bound. */
static double steps_per_event(const struct analyze_scene *scene, const char *store,
                              const char *what, const char *sql)
{
    bool is_quick = !explain_query_of(what, "")->takes && strcmp(what, "ranks") != 0;
    char *path = temp_path(scene->dir, store);
    struct counting counting = {0};
    sqlite3 *db = NULL;
    sqlite3_int64 events;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    events = count_rows(db, "SELECT 1 FROM event");
    assert_true(events > 2000);
    counting.bound = events * (is_quick ? QUICK_STEPS_MAX : STEPS_PER_EVENT_MAX);
    sqlite3_progress_handler(db, STEP, count_steps, &counting);
    count_rows(db, sql);
    if (counting.steps > counting.bound)
        fail_msg("%s of %s: more than %lld steps for %lld events:\n%s", what, store,
                 (long long)counting.bound, (long long)events, sql);
    sqlite3_close(db);
    free(path);
    return (double)counting.steps / (double)events;
}

static cJSON *explain(const struct analyze_scene *scene, const char *store,
                      const struct report_kind *kind)
{
    bool is_of_many = strcmp(kind->name, "ranks") == 0;
    const char *arguments[] = {"--explain", "--report",
                               kind->name,  is_of_many ? "--session=all" : "--session=last",
                               NULL,        NULL};

    if (kind->lines.columns)
        arguments[4] = "--top=0";
    return report_json_run(scene->program, scene->dir, store, arguments);
}

static void check_lines(const struct analyze_scene *scene, const struct report_kind *kind,
                        const cJSON *report)
{
    const char *sql = report_json_sql(report), *query[] = {"--sql", sql, NULL};
    cJSON *answer = report_json_run(scene->program, scene->dir, stores[0], query);
    const cJSON *rows = cJSON_GetObjectItem(cJSON_GetObjectItem(answer, "result"), "rows"), *table;

    table = report_json_table(report, rows->child);
    if (!table)
        fail_msg("%s: no table has the columns of:\n%s", kind->name, sql);
    report_json_check(kind->name, table, rows, sql);
    cJSON_Delete(answer);
}

/* Returns whether the recording has something for it. */
static bool check_kind(const struct analyze_scene *scene, const struct report_kind *kind)
{
    double steps[SIZES];

    for (unsigned size = 0; size < SIZES; size++) {
        cJSON *report = explain(scene, stores[size], kind);

        if (!report)
            return false;
        steps[size] = steps_per_event(scene, stores[size], kind->name, report_json_sql(report));
        if (size == 0 && strcmp(kind->name, "advice") != 0) /* analyze_explain.c knows its rules */
            check_lines(scene, kind, report);
        cJSON_Delete(report);
    }
    print_message("%s: %.0f and %.0f steps an event\n", kind->name, steps[0], steps[1]);
    /* Twice as many events take twice the steps and a little for sorting, not four times. */
    if (steps[1] > 1.25 * steps[0] + 20)
        fail_msg("%s: %.0f steps an event of %s, %.0f of %s", kind->name, steps[0], stores[0],
                 steps[1], stores[1]);
    return true;
}

static void work_grows_as_the_recording_does(void **state)
{
    size_t reports = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        const struct report_kind *kind = report_kinds[i];

        if (explain_query_of(kind->name, "") && !kind->mode && report_takes_sessions(kind))
            reports += check_kind(*state, kind);
    }
    assert_true(reports >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_grows_as_the_recording_does),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
