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
    struct store_op ops[] = {{.op_id = 1,
                              .session_id = 1,
                              .client_op = 1,
                              .model_id = STORE_NULL,
                              .name = "step",
                              .type = "Step",
                              .input_shapes = "[[2,3]]",
                              .params = "{\"stack\":\"a.py(1): f;b.py(2): g\",\"axis\":1}",
                              .computation_flop = STORE_NULL,
                              .memory_bytes = STORE_NULL,
                              .workspace_bytes = STORE_NULL},
                             {.op_id = 2,
                              .session_id = 1,
                              .client_op = 2,
                              .model_id = STORE_NULL,
                              .name = "load",
                              .type = "counter",
                              .computation_flop = STORE_NULL,
                              .memory_bytes = STORE_NULL,
                              .workspace_bytes = STORE_NULL}};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(store_put_lane(store, &lanes[i], &diag));
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(store_put_op(store, &ops[i], &diag));
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

/* Before the slowest run, in it, and behind all that the page shows. */
static void put_counters(struct store *store)
{
    const struct store_counter rows[] = {
        {1, 2, STORE_NULL, start_of(2500) - 1, 3},
        {1, 2, STORE_NULL, start_of(2500) + 400, 7},
        {1, 2, STORE_NULL, start_of(4000), 9},
    };
    struct diag diag = {0};

    CHECK_OK(store_add_counters(store, rows, 3, &diag));
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
    put_counters(store);
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

/* Row `place` of those of a view. */
static const cJSON *row_of_view(const cJSON *rows, const char *view, int place)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, rows)
    {
        if (strstr(text(row, "view"), view) && place-- == 0)
            return row;
    }
    return NULL;
}

static void tracks_have_the_clock_of_their_run(void **state)
{
    const struct fixture *fixture = *state;
    const cJSON *counters = rows_of(fixture, "timeline_counters");
    const cJSON *memory = rows_of(fixture, "timeline_memory"), *row;
    double most = 0;

    /* What was held before a run holds at its start; what comes behind its spans is not there. */
    CHECK_NEAR(number(row_of_view(counters, "run 2500,", 0), "time_ns"), 0, 0);
    CHECK_NEAR(number(row_of_view(counters, "run 2500,", 0), "value"), 3, 0);
    CHECK_NEAR(number(row_of_view(counters, "run 2500,", 1), "time_ns"), 400, 0);
    CHECK_NEAR(number(row_of_view(counters, "run 2500,", 1), "value"), 7, 0);
    assert_null(row_of_view(counters, "run 2500,", 2));
    assert_null(row_of_view(counters, "run 1,", 0));
    CHECK_NEAR(number(row_of_view(memory, "run 2500,", 0), "bytes"), 0, 0);
    assert_null(row_of_view(memory, "run 2500,", 1));
    for (int i = 0; (row = row_of_view(memory, "run 1,", i)); i++)
        most = fmax(most, number(row, "bytes"));
    CHECK_NEAR(most, 1000, 0); /* the peak is behind its spans */
}

static void ops_are_told_once(void **state)
{
    const struct fixture *fixture = *state;
    const cJSON *ops = rows_of(fixture, "timeline_ops"), *op = cJSON_GetArrayItem(ops, 0), *row;
    char *stack = cJSON_PrintUnformatted(cJSON_GetObjectItem(op, "stack"));

    assert_int_equal(cJSON_GetArraySize(ops), 1);
    assert_string_equal(text(op, "name"), "step");
    assert_string_equal(stack, "[\"a.py(1): f\",\"b.py(2): g\"]");
    CHECK_NEAR(number(cJSON_GetObjectItem(op, "params"), "axis"), 1, 0);
    cJSON_ArrayForEach(row, rows_of(fixture, "timeline")) CHECK_NEAR(number(row, "op"), 0, 0);
    cJSON_free(stack);
}

static void owners_and_findings_are_there(void **state)
{
    const struct fixture *fixture = *state;
    const cJSON *owner = cJSON_GetArrayItem(rows_of(fixture, "memory_owners"), 0);
    const cJSON *findings = rows_of(fixture, "findings"), *finding;
    double before = INFINITY;

    assert_string_equal(text(owner, "name"), "step");
    CHECK_NEAR(number(owner, "at_peak_bytes"), 777777, 0);
    CHECK_NEAR(number(owner, "at_peak_share"), 1, 0);
    assert_true(cJSON_GetArraySize(findings) > 0);
    cJSON_ArrayForEach(finding, findings)
    {
        double share = number(finding, "share");

        CHECK_CONTAINS(text(finding, "command"), "store.db --report ");
        if (!isnan(share) && share > before)
            fail_msg("%s is graver than the one before", text(finding, "rule"));
        before = isnan(share) ? 0 : share;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeline_keeps_the_longest_spans),
        cmocka_unit_test(lanes_of_one_name_are_told_apart),
        cmocka_unit_test(slowest_runs_stay_on_the_curve),
        cmocka_unit_test(peak_stays_on_the_curve),
        cmocka_unit_test(tracks_have_the_clock_of_their_run),
        cmocka_unit_test(ops_are_told_once),
        cmocka_unit_test(owners_and_findings_are_there),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
