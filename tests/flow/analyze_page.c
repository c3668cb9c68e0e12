/* SPDX-License-Identifier: Apache-2.0 */
/* What the report "page" keeps of a session that is too large for a page, and what it says of it.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "schema/store/store.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

#define START_NS INT64_C(1790000000000000000)

enum {
    RUNS = 5000,
    SPANS = 9000, /* in each of the first three runs */
    RUN_NS = 1000000,
    GAP_NS = 100000000, /* from one run to the next */
    MEMORY = 6000,
};

struct fixture {
    char *dir;
    cJSON *page;
};

/* --- A session of many runs, three of them with many spans. --- */

static void put_definitions(struct store *store)
{
    const struct store_session session = {.session_id = 1,
                                          .start_ns = START_NS,
                                          .end_ns = START_NS + (int64_t)RUNS * GAP_NS,
                                          .end_reason = "done",
                                          .program = "many",
                                          .pid = 1,
                                          .uid = 1,
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lanes[] = {{1, 1, 1, "thread", "worker", NULL, 1},
                                       {2, 1, 2, "thread", "worker", NULL, 2}};
    const struct store_op ops[] = {{.op_id = 1,
                                    .session_id = 1,
                                    .client_op = 1,
                                    .model_id = STORE_NULL,
                                    .name = "step",
                                    .type = "Step",
                                    .computation_flop = STORE_NULL,
                                    .memory_bytes = STORE_NULL,
                                    .workspace_bytes = STORE_NULL}};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(store_put_lane(store, &lanes[i], &diag));
    CHECK_OK(store_put_op(store, &ops[0], &diag));
}

static int64_t start_of(int64_t run)
{
    return START_NS + (run - 1) * GAP_NS;
}

/* Runs get longer bit by bit; run 2500 is the slowest by far. */
static int64_t length_of(int64_t run)
{
    return run == 2500 ? 50 * RUN_NS : RUN_NS + run;
}

/* Spans of 10 ns, and every ninth of 60: 1,000 of each run. */
static void put_spans(struct store *store, int64_t run)
{
    static struct store_event events[SPANS];
    struct diag diag = {0};

    for (int64_t i = 0; i < SPANS; i++)
        events[i] = (struct store_event){
            1 + i % 2,       1,          run,        start_of(run) + i * 100,
            i % 9 ? 10 : 60, STORE_NULL, STORE_NULL, STORE_NULL,
        };
    CHECK_OK(store_add_events(store, events, SPANS, &diag));
}

static void put_memory(struct store *store)
{
    static struct store_memory_event rows[MEMORY];
    struct diag diag = {0};

    for (int64_t i = 0; i < MEMORY; i++)
        rows[i] = (struct store_memory_event){
            1, 1, 1, START_NS + i * 1000, i / 2, (i == 3000 ? 777777 : 1000) * (i % 2 ? -1 : 1)};
    rows[3001].bytes = -777777;
    CHECK_OK(store_add_memory_events(store, rows, MEMORY, &diag));
}

static void fill(const char *path)
{
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    CHECK_OK(store_begin(store, &diag));
    put_definitions(store);
    for (int64_t run = 1; run <= RUNS; run++) {
        const struct store_run row = {
            1, run, STORE_NULL, 1, start_of(run), start_of(run) + length_of(run), false};

        CHECK_OK(store_put_run(store, &row, &diag));
    }
    /* The first, the slowest, and the one in the middle. */
    put_spans(store, 1);
    put_spans(store, 2500);
    put_spans(store, 2501);
    put_memory(store);
    CHECK_OK(store_commit(store, &diag));
    store_close(&store);
}

static int start(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char *program = place_program("analyze/profile_analyze"), *path;
    struct child_result result;

    fixture->dir = temp_create();
    path = temp_path(fixture->dir, "store.db");
    fill(path);
    result = child_run(
        (const char *[]){program, path, "--report", "page", "--format", "json", NULL}, NULL);
    if (result.status != 0)
        fail_msg("status %d, %s", result.status, result.err);
    fixture->page = cJSON_Parse(result.out);
    assert_non_null(fixture->page);
    child_result_deinit(&result);
    free(program);
    free(path);
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    cJSON_Delete(fixture->page);
    temp_destroy(&fixture->dir);
    free(fixture);
    return 0;
}

/* --- What is there. --- */

static const cJSON *rows_of(const struct fixture *fixture, const char *section)
{
    return cJSON_GetObjectItem(cJSON_GetObjectItem(fixture->page, section), "rows");
}

static double number(const cJSON *row, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(row, name));
}

static const char *text(const cJSON *row, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(row, name));
}

static void check_note(const struct fixture *fixture, const char *part)
{
    char *notes = cJSON_PrintUnformatted(cJSON_GetObjectItem(fixture->page, "notes"));

    CHECK_CONTAINS(notes, part);
    cJSON_free(notes);
}

static void timeline_keeps_the_longest_spans(void **state)
{
    const struct fixture *fixture = *state;
    const cJSON *rows = rows_of(fixture, "timeline"), *row;
    int long_ones = 0, slowest = 0;

    assert_int_equal(cJSON_GetArraySize(rows), 3 * (20000 / 3));
    cJSON_ArrayForEach(row, rows)
    {
        long_ones += number(row, "dur_ns") == 60;
        slowest += strcmp(text(row, "view"), "run 2500, the slowest: 50.000 ms") == 0;
    }
    assert_int_equal(long_ones, 3000);
    assert_int_equal(slowest, 20000 / 3);
    row = cJSON_GetArrayItem(rows, 0);
    CHECK_CONTAINS(text(row, "view"), "the median");
    check_note(fixture, "The timeline of run 1, the first: 1.000 ms shows the 6666 longest of 9000 "
                        "spans");
}

static void lanes_of_one_name_are_told_apart(void **state)
{
    const struct fixture *fixture = *state;
    const cJSON *row;
    int seen[3] = {0};

    cJSON_ArrayForEach(row, rows_of(fixture, "timeline"))
    {
        seen[1] += strcmp(text(row, "lane"), "worker (lane 1)") == 0;
        seen[2] += strcmp(text(row, "lane"), "worker (lane 2)") == 0;
    }
    assert_true(seen[1] > 1000);
    assert_true(seen[2] > 1000);
    assert_int_equal(seen[1] + seen[2], 3 * (20000 / 3));
}

static void slowest_runs_stay_on_the_curve(void **state)
{
    const struct fixture *fixture = *state;
    const cJSON *rows = rows_of(fixture, "run_times"), *row;
    bool found = false;

    assert_int_equal(cJSON_GetArraySize(rows), (RUNS + 2) / 3);
    cJSON_ArrayForEach(row, rows)
    {
        if (number(row, "run") == 2500) {
            CHECK_NEAR(number(row, "time_ns"), 50.0 * RUN_NS, 0);
            found = true;
        }
    }
    assert_true(found);
    check_note(fixture, "shows the slowest of each 3 of 5000 runs");
}

static void peak_stays_on_the_curve(void **state)
{
    const struct fixture *fixture = *state;
    const cJSON *rows = rows_of(fixture, "memory_curve"), *row;
    double most = 0, last = NAN;
    int count = cJSON_GetArraySize(rows);

    if (count > 2000 || count < 1000)
        fail_msg("%d points", count);
    cJSON_ArrayForEach(row, rows)
    {
        most = fmax(most, number(row, "bytes"));
        last = number(row, "bytes");
    }
    CHECK_NEAR(most, 777777, 0);
    CHECK_NEAR(last, 0, 0);
    check_note(fixture, "The curve of memory of host shows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeline_keeps_the_longest_spans),
        cmocka_unit_test(lanes_of_one_name_are_told_apart),
        cmocka_unit_test(slowest_runs_stay_on_the_curve),
        cmocka_unit_test(peak_stays_on_the_curve),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
