/* SPDX-License-Identifier: Apache-2.0 */
/* A long session: what reports say from its totals is what --exact says from its events, but for how
 * much of the time operators cover; and after its oldest events were dropped it is still so. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/store/retain.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 50, RUNS = 5400, RUNS_PER_BATCH = 100, WARMUPS = 7, SPANS = 2 * 100 };

struct fixture {
    char *dir, *path, *program;
};

static void define(struct store *store)
{
    static const char *const types[] = {"Conv", "Relu", "label", "block", "phase"};
    const struct store_session session = {.session_id = 1,
                                          .uuid = {1},
                                          .start_ns = STORE_SUPPORT_START_NS,
                                          .end_ns = STORE_NULL,
                                          .program = "model",
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lanes[] = {{1, 1, 1, "thread", "main", NULL, 1},
                                       {2, 1, 2, "queue", "worker", "cpu:0", 2}};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    for (int i = 0; i < 2; i++)
        CHECK_OK(store_put_lane(store, &lanes[i], &diag));
    for (int64_t op = 0; op < OPS; op++) {
        char name[32];
        const struct store_op row = {.op_id = op + 1,
                                     .session_id = 1,
                                     .client_op = op,
                                     .model_id = STORE_NULL,
                                     .name = name,
                                     .type = types[op % 5],
                                     .computation_flop = 1000,
                                     .memory_bytes = STORE_NULL,
                                     .workspace_bytes = STORE_NULL};

        snprintf(name, sizeof(name), "op_%lld", (long long)op);
        CHECK_OK(store_put_op(store, &row, &diag));
    }
}

/* Each second span on the thread holds the one before it. */
static int64_t make_run(struct store_event *rows, int64_t run, int64_t now_ns)
{
    for (int i = 0; i < SPANS; i += 2) {
        int64_t op = 1 + (run * 7 + i) % OPS, dur_ns = 500 + (run * 31 + i * 17) % 4000;
        int64_t start_ns = i % 4 ? now_ns - 300 : now_ns;

        if (i % 4)
            dur_ns += 300 + rows[-2].dur_ns;
        *rows++ = (struct store_event){1, op, run, start_ns, dur_ns, STORE_NULL, i + 1, STORE_NULL};
        *rows++ =
            (struct store_event){2, op, run, start_ns + 200, dur_ns / 2, 100, i + 1, STORE_NULL};
        if (i % 4)
            now_ns = start_ns + dur_ns + 400;
    }
    return now_ns + 5000;
}

static void add_batch(struct store *store, struct store_event *rows, int64_t first, int64_t *now_ns)
{
    struct store_run runs[RUNS_PER_BATCH];
    struct diag diag = {0};
    size_t added;

    for (int64_t i = 0; i < RUNS_PER_BATCH; i++) {
        runs[i] = (struct store_run){.session_id = 1,
                                     .run = first + i,
                                     .model_id = STORE_NULL,
                                     .lane_id = 1,
                                     .start_ns = *now_ns - 1000,
                                     .warmup = first + i <= WARMUPS};
        *now_ns = make_run(rows + i * SPANS, first + i, *now_ns);
        runs[i].end_ns = *now_ns - 2000;
    }
    /* The last run is told of after its events. */
    CHECK_OK(store_add_runs(store, runs, RUNS_PER_BATCH - 1, &added, &diag));
    CHECK_OK(store_add_events(store, rows, (size_t)SPANS * RUNS_PER_BATCH, &diag));
    CHECK_OK(store_add_runs(store, runs + RUNS_PER_BATCH - 1, 1, &added, &diag));
}

static int start(void **state)
{
    struct store_event *rows = malloc(sizeof(*rows) * SPANS * RUNS_PER_BATCH);
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    int64_t now_ns = STORE_SUPPORT_START_NS + 5000;
    struct store *store;
    struct diag diag = {0};

    fixture->dir = temp_create();
    fixture->path = temp_path(fixture->dir, "store.db");
    fixture->program = place_program("analyze/profile_analyze");
    store = store_support_open(fixture->path, STORE_WRITE);
    store_delay_rollups(store, 150000);
    for (int64_t run = 1; run <= RUNS; run += RUNS_PER_BATCH) {
        store_support_begin(store);
        if (run == 1)
            define(store);
        add_batch(store, rows, run, &now_ns);
        store_support_commit(store);
    }
    store_support_begin(store);
    CHECK_OK(store_end_session(store, 1, now_ns, "done", NULL, &diag));
    store_support_commit(store);
    CHECK_OK(store_write_rollups(store, &diag));
    store_close(&store);
    free(rows);
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

/* The tables; notes tell one from the other. The caller frees it. */
static char *ask(const struct fixture *fixture, const char *report, const char *option,
                 const char *note)
{
    const char *argv[] = {fixture->program, fixture->path, "--report", report, "--format", "csv",
                          "--show-host",    "-t",          "0",        option, NULL};
    struct child_result result;
    char *text;

    if (strcmp(report, "ops") != 0) {
        argv[6] = option;
        argv[7] = NULL;
    }
    result = child_run(argv, NULL);
    if (result.status != 0)
        fail_msg("%s %s: %d: %s", report, option ? option : "", result.status, result.err);
    CHECK_CONTAINS(result.err, note);
    text = strdup(result.out);
    child_result_deinit(&result);
    return text;
}

#define FROM_TOTALS "These are the session's totals"
#define FROM_EVENTS "Operators cover "

static void totals_say_what_events_say(void **state)
{
    static const char *const reports[] = {"ops", "types"};
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        char *totals = ask(fixture, reports[i], NULL, FROM_TOTALS);
        char *events = ask(fixture, reports[i], "--exact", FROM_EVENTS);

        assert_true(strlen(events) > 400);
        assert_string_equal(totals, events);
        free(totals);
        free(events);
    }
}

/* Types and operators of the first answer as JSON; the caller frees it. */
static char *ask_first(const struct fixture *fixture, const char *option, const char *note)
{
    const char *argv[] = {fixture->program, fixture->path, "--report", "brief",
                          "--format",       "json",        option,     NULL};
    struct child_result result = child_run(argv, NULL);
    char *from, *end;

    if (result.status != 0)
        fail_msg("brief %s: %d: %s", option ? option : "", result.status, result.err);
    CHECK_CONTAINS(result.out, note);
    from = strstr(result.out, "\"types\":");
    end = from ? strstr(from, "\"findings\":") : NULL;
    assert_non_null(end);
    from = strndup(from, (size_t)(end - from));
    child_result_deinit(&result);
    return from;
}

/* What totals do not know of it is of the last runs, and says so. */
static void the_first_answer_says_what_events_say(void **state)
{
    const struct fixture *fixture = *state;
    const char *argv[] = {fixture->program, fixture->path, NULL, NULL};
    char *totals = ask_first(fixture, NULL, FROM_TOTALS);
    char *events = ask_first(fixture, "--exact", FROM_EVENTS);
    struct child_result result = child_run(argv, NULL);

    assert_true(strlen(events) > 1000);
    assert_string_equal(totals, events);
    free(totals);
    free(events);
    CHECK_CONTAINS(result.out, " on the host (in the last runs)\n");
    CHECK_CONTAINS(result.out, "findings (of the last runs)\n");
    child_result_deinit(&result);
    argv[2] = "--exact";
    result = child_run(argv, NULL);
    CHECK_CONTAINS(result.out, " on the host\n");
    child_result_deinit(&result);
}

/* Nothing of the kind was recorded: that is said at once. */
static void what_is_not_there_is_not_looked_for(void **state)
{
    static const char *const reports[] = {"copies", "counters"};
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        const char *argv[] = {fixture->program, fixture->path, "--report", reports[i], NULL};
        struct child_result result = child_run(argv, NULL);

        CHECK_U64(result.status, 1);
        CHECK_CONTAINS(result.err, i ? "no counters in this session: record with OPTRACE_COUNTERS"
                                     : "there is no copy in what is asked for");
        child_result_deinit(&result);
    }
}

/* JSON of a report with all of its lines, also of those that find nothing. */
static char *print(const char *program, const char *store, const char *report, const char *option)
{
    const char *argv[] = {program, store,    "--report", report, "--format",
                          "json",  "--runs", "1..1800",  option, NULL};
    struct child_result result = child_run(argv, NULL);
    char *text = result.out;

    if (result.status > 1)
        fail_msg("%s %s: %d: %s", report, option ? option : "", result.status, result.err);
    for (char *at = text; (at = strstr(at, "whole.db"));)
        memcpy(at, "store.db", strlen("store.db"));
    result.out = NULL;
    child_result_deinit(&result);
    return text;
}

/* A store whose events are one batch cannot be cut into parts. */
static void parts_say_what_all_at_once_says(void **state)
{
    static const char *const reports[][2] = {
        {"kernels", NULL},
        {"kernels", "--opr-name=op_1.*"},
        {"overview", NULL},
        {"summary", NULL},
        {"summary", "--total"},
        {"averages", NULL},
        {"events", NULL},
        {"events", "--detail=all"},
        {"events", "--state=all"},
        {"idle", NULL},
        {"advice", NULL},
        {"threads", NULL},
        {"overview", "--type=Conv"},
        {"averages", "--group-by=shape"},
    };
    const struct fixture *fixture = *state;
    char *whole = temp_path(fixture->dir, "whole.db"), sql[4096];

    snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", whole);
    store_support_run(fixture->path, sql);
    store_support_run(whole, "CREATE TEMP TABLE b AS SELECT min(first_rowid), max(last_rowid),"
                             " min(start_ns), max(end_ns), max(dur_max_ns), 1, 1, '[1,2]' FROM"
                             " event_batch; DELETE FROM event_batch;"
                             " INSERT INTO event_batch SELECT * FROM b");
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        char *parts = print(fixture->program, fixture->path, reports[i][0], reports[i][1]);
        char *all = print(fixture->program, whole, reports[i][0], reports[i][1]);

        assert_true(strlen(all) > 100);
        if (strcmp(parts, all) != 0)
            fail_msg("%s %s: in parts\n%.2000s\nbut at once\n%.2000s", reports[i][0],
                     reports[i][1] ? reports[i][1] : "", parts, all);
        free(parts);
        free(all);
    }
    free(whole);
}

/* A page shows the longest spans: of all where there are no runs, of which many last as long; of a
 * run that has more than there is room for. */
static void pages_of_parts_say_what_those_of_the_whole_say(void **state)
{
    static const char *const changes[] = {
        /* a label around much of it, and durations that repeat */
        "DELETE FROM run; DELETE FROM op_total; DELETE FROM session_total; DELETE FROM event WHERE"
        " rowid > 200000; UPDATE event SET correlation = (rowid + 1) / 2, run = NULL, dur_ns = dur_ns / 400 * 400;"
        "INSERT INTO event (lane_id, op_id, start_ns, dur_ns) SELECT 1, 3, min(start_ns),"
        " max(start_ns) - min(start_ns) + 90000 FROM event WHERE rowid < 150000",
        "DELETE FROM run WHERE run <> 1; DELETE FROM op_total; DELETE FROM session_total; DELETE"
        " FROM event WHERE rowid > 60000; UPDATE event SET correlation = (rowid + 1) / 2, run = 1; UPDATE run SET warmup = 0,"
        " end_ns = (SELECT max(start_ns + dur_ns) FROM event)",
    };
    const struct fixture *fixture = *state;
    char sql[4096];

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char *pages[2];

        for (int is_whole = 0; is_whole < 2; is_whole++) {
            char *path = temp_path(fixture->dir, "page.db");
            const char *argv[] = {fixture->program, path,   "--report", "page",
                                  "--format",       "json", NULL};
            struct child_result result;

            snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", path);
            store_support_run(fixture->path, sql);
            store_support_run(path, changes[i]);
            snprintf(sql, sizeof(sql),
                     "DELETE FROM event_batch; INSERT INTO event_batch SELECT min(rowid),"
                     " max(rowid), min(start_ns), max(start_ns + dur_ns), max(dur_ns), 1, 1,"
                     " '[1,2]' FROM event GROUP BY (rowid - 1) / %d",
                     is_whole ? 1 << 30 : 10000);
            store_support_run(path, sql);
            result = child_run(argv, NULL);
            assert_int_equal(result.status, 0);
            CHECK_CONTAINS(result.out, "longest of ");
            pages[is_whole] = strdup(result.out);
            child_result_deinit(&result);
            CHECK_OK(unlink(path));
            free(path);
        }
        assert_string_equal(pages[0], pages[1]);
        free(pages[0]);
        free(pages[1]);
    }
}

/* What is chosen by run needs events. */
static void parts_are_read(void **state)
{
    char *text = ask(*state, "types", "--runs=20..30", FROM_EVENTS);

    assert_true(strlen(text) > 100);
    free(text);
}

static void dropped_events_count(void **state)
{
    struct fixture *fixture = *state;
    char *before = ask(fixture, "ops", NULL, FROM_TOTALS), *after;
    char *first_before = ask_first(fixture, NULL, FROM_TOTALS), *first_after;
    struct store *store = store_support_open(fixture->path, STORE_WRITE);
    const struct store_bounds bounds = {.budget_bytes = 16 << 20};
    struct store_retained done = {0};
    struct diag diag = {0};

    CHECK_OK(store_retain(store, &bounds, STORE_SUPPORT_START_NS, 1 << 30, &done, &diag));
    assert_true(done.row_count > RUNS);
    store_close(&store);
    after = ask(fixture, "ops", NULL, FROM_TOTALS);
    assert_string_equal(after, before);
    free(before);
    free(after);
    first_after = ask_first(fixture, NULL, FROM_TOTALS);
    assert_string_equal(first_after, first_before);
    free(first_before);
    free(first_after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_say_what_events_say),
        cmocka_unit_test(the_first_answer_says_what_events_say),
        cmocka_unit_test(what_is_not_there_is_not_looked_for),
        cmocka_unit_test(parts_say_what_all_at_once_says),
        cmocka_unit_test(pages_of_parts_say_what_those_of_the_whole_say),
        cmocka_unit_test(parts_are_read),
        cmocka_unit_test(dropped_events_count),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
