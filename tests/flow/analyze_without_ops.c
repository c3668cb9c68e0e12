/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose ops were left out on purpose: what ops take in a run is that of the others, from events,
 * from totals and from roll-ups; and how many these are is said. */
#include <math.h>
#include <string.h>

#include "schema/store/retain.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/report_json.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { RUNS = 20, MS = 1000000 };

static const char *const names[] = {"conv", "relu", "gemm"};

struct fixture {
    char *dir, *program, *path;
};

static void put_ops(struct store *store)
{
    const struct store_session session = {.session_id = 1,
                                          .uuid = {1},
                                          .start_ns = STORE_SUPPORT_START_NS,
                                          .end_ns = STORE_NULL,
                                          .program = "serve",
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lane = {1, 1, 1, "thread", "main", NULL, 1};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
    for (int64_t op = 1; op <= 3; op++) {
        const struct store_op row = {.op_id = op,
                                     .session_id = 1,
                                     .client_op = op,
                                     .model_id = STORE_NULL,
                                     .name = names[op - 1],
                                     .type = "Conv",
                                     .computation_flop = 1000,
                                     .memory_bytes = STORE_NULL,
                                     .workspace_bytes = STORE_NULL};

        CHECK_OK(store_put_op(store, &row, &diag));
    }
}

/* Runs 1 and 11 have conv of 6 ms and relu of 1 ms; something tells of a gemm in run 2, whose own ops
 * are left out, as those of all others. */
static void put_run(struct store *store, int64_t number, bool none_has_ops)
{
    const int64_t start_ns = STORE_SUPPORT_START_NS + number * 20000 * MS;
    const bool has_ops = number % 10 == 1 && !none_has_ops;
    const struct store_run run = {.session_id = 1,
                                  .run = number,
                                  .model_id = STORE_NULL,
                                  .lane_id = 1,
                                  .start_ns = start_ns,
                                  .end_ns = start_ns + (has_ops ? 10 : 8) * MS,
                                  .without_ops = !has_ops};
    const struct store_event conv = {1,      1,          number,     start_ns + MS,
                                     6 * MS, STORE_NULL, STORE_NULL, STORE_NULL};
    const struct store_event relu = {1,  2,          number,     start_ns + 7 * MS,
                                     MS, STORE_NULL, STORE_NULL, STORE_NULL};
    const struct store_event gemm = {1,      3,          number,     start_ns + MS,
                                     2 * MS, STORE_NULL, STORE_NULL, STORE_NULL};
    struct diag diag = {0};

    CHECK_OK(store_put_run(store, &run, &diag));
    if (has_ops) {
        CHECK_OK(store_add_events(store, &conv, 1, &diag));
        CHECK_OK(store_add_events(store, &relu, 1, &diag));
    } else if (number == 2) {
        CHECK_OK(store_add_events(store, &gemm, 1, &diag));
    }
}

static void make(const char *path, bool none_has_ops, bool drops_events)
{
    const struct store_bounds bounds = {.keep_events_ns = 1};
    const int64_t end_ns = STORE_SUPPORT_START_NS + (RUNS + 1) * INT64_C(20000) * MS;
    struct store *store = store_support_open(path, STORE_WRITE);
    struct store_retained done = {0};
    struct diag diag = {0};

    store_support_begin(store);
    put_ops(store);
    store_support_commit(store);
    for (int64_t run = 1; run <= RUNS; run++) {
        store_support_begin(store);
        put_run(store, run, none_has_ops);
        store_support_commit(store);
    }
    store_support_begin(store);
    CHECK_OK(store_end_session(store, 1, end_ns, "done", NULL, &diag));
    store_support_commit(store);
    if (drops_events)
        CHECK_OK(store_retain(store, &bounds, end_ns, 1000, &done, &diag));
    store_close(&store);
}

static int start(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->dir = temp_create();
    fixture->path = temp_path(fixture->dir, "a.db");
    fixture->program = place_program("analyze/profile_analyze");
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    temp_destroy(&fixture->dir);
    free(fixture->path);
    free(fixture->program);
    free(fixture);
    return 0;
}

static cJSON *report(const struct fixture *fixture, const char *const *arguments)
{
    cJSON *json = report_json_run(fixture->program, fixture->dir, "a.db", arguments);

    assert_non_null(json);
    return json;
}

/* ms of an op in the host's table of the report ops; NaN: it has no line. */
static double ms_of(const cJSON *json, const char *name)
{
    const cJSON *table, *row;

    cJSON_ArrayForEach(table, json)
    {
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(table, "rows"))
        {
            const char *own = cJSON_GetStringValue(cJSON_GetObjectItem(row, "name"));

            if (own && strcmp(own, name) == 0)
                return cJSON_GetNumberValue(cJSON_GetObjectItem(row, "end_ns")) / MS;
        }
    }
    return NAN;
}

static double number_of(const cJSON *json, const char *section, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(json, section), name));
}

#define REPORT(...) report(*state, (const char *const[]){__VA_ARGS__, NULL})

static void check_means(const cJSON *json)
{
    assert_true(ms_of(json, "conv") == 6);
    assert_true(ms_of(json, "relu") == 1);
    assert_true(number_of(json, "runs", "count") == 2);
    assert_true(number_of(json, "runs", "without_ops") == 18);
}

static void means_are_of_runs_with_ops(void **state)
{
    struct fixture *fixture = *state;
    cJSON *json;

    make(fixture->path, false, false);
    json = REPORT("--report", "ops", "--exact");
    check_means(json);
    assert_true(isnan(ms_of(json, "gemm")));
    cJSON_Delete(json);
    json = REPORT("--report", "ops", "--total");
    assert_true(ms_of(json, "conv") == 12);
    assert_true(ms_of(json, "gemm") == 2);
    cJSON_Delete(json);
    /* One that was asked for is shown with what there is. */
    json = REPORT("--report", "ops", "--runs", "2");
    assert_true(ms_of(json, "gemm") == 2);
    cJSON_Delete(json);
    json = REPORT("--report", "ops", "--runs", "1..4");
    assert_true(ms_of(json, "conv") == 6);
    cJSON_Delete(json);
}

static void all_runs_count_where_none_has_ops(void **state)
{
    struct fixture *fixture = *state;
    cJSON *json;

    make(fixture->path, true, false);
    json = REPORT("--report", "ops");
    assert_true(ms_of(json, "gemm") == 2.0 / RUNS);
    assert_true(number_of(json, "runs", "count") == RUNS);
    cJSON_Delete(json);
}

static void roll_ups_have_the_same_means(void **state)
{
    struct fixture *fixture = *state;
    cJSON *json;

    make(fixture->path, false, true);
    json = REPORT("--report", "ops");
    check_means(json);
    cJSON_Delete(json);
}

static void check_text(struct fixture *fixture, const char *const *argv, const char *text)
{
    struct child_result result = child_run(argv, NULL);

    CHECK_CONTAINS(result.out, text);
    child_result_deinit(&result);
}

#define SAYS(text, ...)                                                                            \
    check_text(                                                                                    \
        fixture,                                                                                   \
        (const char *const[]){fixture->program, fixture->path, __VA_ARGS__, "--notes", NULL},      \
        text)

static void reports_say_how_many_they_are(void **state)
{
    struct fixture *fixture = *state;

    make(fixture->path, false, false);
    check_text(fixture, (const char *const[]){fixture->program, fixture->path, NULL},
               "20 runs, 2 of them with their ops");
    SAYS("Ops were recorded of 2 of 20 runs, on purpose; what they take is that of these.",
         "--report", "ops");
    SAYS("Ops were recorded of 2 of 20 runs, on purpose", "--report", "overview");
    SAYS("Ops were recorded of 2 of 20 runs, on purpose.", "--report", "runs");
    SAYS("Ops were recorded of 2 of 20 runs, on purpose", "--report", "summary");
}

/* What --explain prints gives the rows of the report. */
static void explain_knows_of_it(void **state)
{
    static const char *const reports[] = {"ops", "types", "runs"};
    struct fixture *fixture = *state;

    make(fixture->path, false, false);
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        cJSON *shown = REPORT("--explain", "--report", reports[i], "--top=0");
        const char *sql = report_json_sql(shown);
        cJSON *answer = REPORT("--sql", sql);
        const cJSON *rows = cJSON_GetObjectItem(cJSON_GetObjectItem(answer, "result"), "rows");

        assert_non_null(rows->child);
        report_json_check(reports[i], report_json_table(shown, rows->child), rows, sql);
        cJSON_Delete(answer);
        cJSON_Delete(shown);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(means_are_of_runs_with_ops),   CASE(all_runs_count_where_none_has_ops),
        CASE(roll_ups_have_the_same_means), CASE(reports_say_how_many_they_are),
        CASE(explain_knows_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
