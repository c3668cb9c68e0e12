/* SPDX-License-Identifier: Apache-2.0 */
/* Runs decoded from pages are the runs that SQL returns: of several sessions in turn, that ended or
 * did not, in the log or in the file, and of a file from before runs could be without ops. */
#include <sqlite3.h>

#include "analyze/query/private.h"
#include "tests/support/check.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { SESSIONS = 3, RUNS = 30000, BATCH = 1000 };

static uint64_t seed = 7;

static uint64_t pick(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 20) % below;
}

static void define(struct store *store)
{
    struct diag diag = {0};

    store_support_define(store, 1);
    for (int64_t id = 2; id <= SESSIONS; id++) {
        const struct store_session session = {.session_id = id,
                                              .uuid = {(uint8_t)id},
                                              .start_ns = STORE_SUPPORT_START_NS,
                                              .end_ns = STORE_NULL,
                                              .clock = "tsc",
                                              .source = "live"};

        CHECK_OK(store_put_session(store, &session, &diag));
    }
}

/* Numbers have holes; few are of the third session. */
static void fill(struct store *store)
{
    int64_t numbers[SESSIONS + 1] = {0};
    struct diag diag = {0};

    for (int i = 0; i < RUNS; i++) {
        int64_t session_id = i % 500 == 0 ? 3 : 1 + (int64_t)pick(2);
        struct store_run run = {.session_id = session_id,
                                .model_id = STORE_NULL,
                                .lane_id = 1 + (int64_t)pick(3),
                                .start_ns = STORE_SUPPORT_START_NS + (int64_t)pick(1u << 30),
                                .warmup = pick(9) == 0,
                                .without_ops = pick(5) == 0};

        run.run = numbers[session_id] += 1 + (int64_t)pick(3);
        run.end_ns = pick(50) ? run.start_ns + (int64_t)pick(1u << 20) : STORE_NULL;
        if (pick(500) == 0)
            run.end_ns = run.start_ns - 1; /* by the clock or by damage */
        if (i % BATCH == 0)
            store_support_begin(store);
        if (i == 0)
            define(store);
        CHECK_OK(store_put_run(store, &run, &diag));
        if (i % BATCH == BATCH - 1)
            store_support_commit(store);
    }
}

/* What is counted of a session is what its rows come to. */
static void check_tally(struct store *store, int64_t session_id, const struct scan_runs *rows)
{
    uint64_t counts[RUN_KINDS] = {0}, known[RUN_KINDS] = {0};
    double sums_ns[RUN_KINDS] = {0};
    struct run_tally tally;
    struct diag diag = {0};

    for (size_t i = 0; i < rows->count; i++) {
        const struct scan_run *run = &rows->items[i];
        const int kind = (run->end_ns != STORE_NULL ? 1 : 0) + (run->is_warmup ? 2 : 0) +
                         (run->without_ops ? 4 : 0);

        counts[kind]++;
        if (run->end_ns != STORE_NULL && run->end_ns >= run->start_ns) {
            known[kind]++;
            sums_ns[kind] += (double)(run->end_ns - run->start_ns);
        }
    }
    CHECK_OK(query_run_tally(store, session_id, &tally, &diag));
    CHECK_U64(run_tally_has_runs(&tally), rows->count > 0);
    for (int kind = 0; kind < RUN_KINDS; kind++) {
        const struct run_kind_runs *runs = &tally.of_kind[kind];
        double sum_ns = 0;

        for (size_t i = 0; i < runs->durations.count; i++)
            sum_ns += runs->durations.items[i];
        CHECK_U64(runs->count, counts[kind]);
        CHECK_U64(runs->durations.count, known[kind]);
        CHECK_U64((uint64_t)sum_ns, (uint64_t)sums_ns[kind]);
    }
    run_tally_deinit(&tally);
}

static void check_session(struct store *store, int64_t session_id)
{
    struct scan_runs rows = {0}, same = {0};
    sqlite3_stmt *statement = NULL;
    struct diag diag = {0};
    size_t count = 0;

    CHECK_OK(query_run_pages(store, session_id, &rows));
    CHECK_OK(query_run_rows(store, session_id, &same, &diag));
    CHECK_U64(same.count, rows.count);
    CHECK_OK(query_prepare(store,
                           "SELECT run, lane_id, start_ns, end_ns, warmup, without_ops FROM run"
                           " WHERE session_id = ?1 ORDER BY run",
                           &statement, &diag));
    sqlite3_bind_int64(statement, 1, session_id);
    for (; query_step(store, statement, &diag) == 1; count++) {
        assert_true(count < rows.count);
        for (int i = 0; i < 2; i++) {
            const struct scan_run *row = i ? &rows.items[count] : &same.items[count];

            CHECK_U64((uint64_t)row->number, (uint64_t)query_int(statement, 0));
            CHECK_U64((uint64_t)row->lane_id, (uint64_t)query_int(statement, 1));
            CHECK_U64((uint64_t)row->start_ns, (uint64_t)query_int(statement, 2));
            CHECK_U64((uint64_t)row->end_ns, (uint64_t)query_int(statement, 3));
            CHECK_U64(row->is_warmup, sqlite3_column_int(statement, 4) != 0);
            CHECK_U64(row->without_ops, sqlite3_column_int(statement, 5) != 0);
        }
    }
    sqlite3_finalize(statement);
    CHECK_U64(count, rows.count);
    check_tally(store, session_id, &rows);
    array_deinit(&rows);
    array_deinit(&same);
}

static void check_all(const char *path)
{
    struct store *store = store_support_open(path, STORE_READ);
    struct scan_runs rows = {0};

    sqlite3_exec(store_handle(store), "BEGIN", NULL, NULL, NULL);
    for (int64_t id = 1; id <= SESSIONS + 1; id++)
        check_session(store, id);
    CHECK_OK(query_run_pages(store, 1, &rows));
    assert_true(rows.count > RUNS / 3);
    array_deinit(&rows);
    sqlite3_exec(store_handle(store), "COMMIT", NULL, NULL, NULL);
    CHECK_U64((uint64_t)query_run_pages(store, 1, &rows), 1); /* outside of a transaction */
    CHECK_U64(rows.count, 0);
    store_close(&store);
}

static void pages_have_what_sql_has(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    struct store *store = store_support_open(path, STORE_WRITE);

    (void)state;
    fill(store);
    check_all(path); /* some of it in the log */
    store_close(&store);
    check_all(path);
    /* A column that was added later is in no row of before. */
    store_support_run(path, "PRAGMA legacy_alter_table = ON; DROP VIEW v_session;"
                            "ALTER TABLE run DROP COLUMN without_ops;"
                            "ALTER TABLE run ADD COLUMN without_ops INTEGER NOT NULL DEFAULT 0");
    check_all(path);
    temp_destroy(&dir);
    free(path);
}

static void what_is_not_in_a_file_is_asked_for(void **state)
{
    struct scan_runs rows = {0};
    struct store *store;
    struct diag diag = {0};

    (void)state;
    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    fill(store);
    sqlite3_exec(store_handle(store), "BEGIN", NULL, NULL, NULL);
    CHECK_U64((uint64_t)query_run_pages(store, 1, &rows), 1);
    CHECK_OK(query_run_rows(store, 1, &rows, &diag));
    assert_true(rows.count > RUNS / 3);
    check_tally(store, 1, &rows);
    array_deinit(&rows);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_what_sql_has),
        cmocka_unit_test(what_is_not_in_a_file_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
