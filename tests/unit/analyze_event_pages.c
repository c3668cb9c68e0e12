/* SPDX-License-Identifier: Apache-2.0 */
/* Rows decoded from pages are the rows that SQL returns; what cannot be decoded is said to be so.
 */
#include <signal.h>
#include <sqlite3.h>

#include "analyze/query/private.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { ROWS = 5000 };

struct fixture {
    char *dir, *path;
    struct store *writer; /* stays open, so that the rows may be in the log only */
    struct store *store;
};

static uint64_t seed = 1;

static uint64_t random_bits(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 11;
}

/* A number of any length that SQLite stores numbers in. */
static int64_t random_number(void)
{
    return (int64_t)(random_bits() >> (random_bits() % 53));
}

static void write_rows(struct store *store)
{
    const struct store_session session = {.session_id = 1,
                                          .clock = "tsc",
                                          .source = "live",
                                          .end_ns = STORE_NULL,
                                          .pid = STORE_NULL,
                                          .uid = STORE_NULL};
    static struct store_event rows[ROWS];
    struct diag diag = {0};

    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_put_session(store, &session, &diag));
    for (int64_t i = 1; i <= 3; i++) {
        struct store_lane lane = {i, 1, i, i == 1 ? "thread" : "queue", NULL, NULL, i};
        struct store_op op = {.op_id = i,
                              .session_id = 1,
                              .client_op = i,
                              .model_id = STORE_NULL,
                              .name = "op",
                              .type = "t",
                              .computation_flop = STORE_NULL,
                              .memory_bytes = STORE_NULL,
                              .workspace_bytes = STORE_NULL};

        CHECK_OK(store_put_lane(store, &lane, &diag));
        CHECK_OK(store_put_op(store, &op, &diag));
    }
    for (size_t i = 0; i < ROWS; i++) {
        int64_t dur_ns = random_number();

        rows[i] = (struct store_event){
            .lane_id = 1 + (int64_t)(random_bits() % 3),
            .op_id = 1 + (int64_t)(random_bits() % 3),
            .run = i % 7 ? 1 + (int64_t)(random_bits() % 300) : STORE_NULL,
            .start_ns = random_number(),
            .dur_ns = i % 11 ? dur_ns : STORE_NULL,
            .kern_ns = i % 5 && i % 11 ? dur_ns / 3 : STORE_NULL,
            .correlation = i % 3 ? (int64_t)i : STORE_NULL,
            .bytes = STORE_NULL,
        };
    }
    CHECK_OK(store_add_events(store, rows, ROWS, &diag));
    CHECK_OK(store_commit(store, &diag));
}

static void start(struct fixture *fixture)
{
    struct diag diag = {0};

    fixture->dir = temp_create();
    fixture->path = temp_path(fixture->dir, "store.db");
    CHECK_OK(store_open(fixture->path, STORE_WRITE, &fixture->writer, &diag));
    write_rows(fixture->writer);
    CHECK_OK(store_open(fixture->path, STORE_READ, &fixture->store, &diag));
}

static void stop(struct fixture *fixture)
{
    store_close(&fixture->store);
    store_close(&fixture->writer);
    temp_destroy(&fixture->dir);
    free(fixture->path);
}

static void execute(struct store *store, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(store_handle(store), sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

/* The sums of a scan as one line. */
static void describe(const struct scan *scan, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%llu counted, %llu unfinished;",
                                   (unsigned long long)scan->counted,
                                   (unsigned long long)scan->unfinished_count);

    for (uint32_t op = 0; op < scan->op_count; op++) {
        for (uint32_t i = scan->first_sums[op]; i != ID_MAP_NONE; i = scan->sums.items[i].next) {
            const struct scan_sums *sums = &scan->sums.items[i];

            used += (size_t)snprintf(text + used, bytes - used, " %u/%u %llu %lld %lld %llu", op,
                                     sums->lane, (unsigned long long)sums->calls,
                                     (long long)sums->total_ns, (long long)sums->kern_ns,
                                     (unsigned long long)sums->kern_calls);
        }
    }
}

static void add_to_scan(void *scan, const struct event_row *row)
{
    scan_add(scan, &row->event);
}

/* Sums over the rows of the ranges by one way or the other, inside a transaction; false when pages
 * cannot be read. */
static bool sum_up_now(struct store *store, const struct row_range *ranges, size_t count,
                       bool by_pages, char *text, size_t bytes)
{
    static const int64_t op_ids[] = {1, 2, 3};
    static const uint8_t kinds[] = {SCAN_OP_NESTING, SCAN_OP_NESTING, SCAN_OP_WHOLE};
    struct scan_session session = {.session_id = 1,
                                   .all_events = true,
                                   .flat = true,
                                   .from_ns = INT64_MIN,
                                   .until_ns = INT64_MAX};
    struct scan_lane lanes[] = {{.lane_id = 1}, {.lane_id = 2}, {.lane_id = 3}};
    struct scan scan = {.sessions = &session,
                        .session_count = 1,
                        .lanes = lanes,
                        .lane_count = 3,
                        .op_ids = op_ids,
                        .op_kinds = kinds,
                        .op_count = 3};
    bool complete = true;

    CHECK_OK(scan_prepare(&scan));
    if (by_pages) {
        complete =
            event_pages(store, &(struct row_ranges){(struct row_range *)ranges, count, count},
                        EVENT_OF_SCAN, add_to_scan, &scan);
    } else {
        sqlite3_stmt *rows;

        sqlite3_prepare_v2(store_handle(store),
                           "SELECT rowid, lane_id, op_id, run, start_ns, dur_ns, kern_ns FROM "
                           "event ORDER BY rowid",
                           -1, &rows, NULL);
        while (sqlite3_step(rows) == SQLITE_ROW) {
            struct scan_event event = {query_int(rows, 1), query_int(rows, 2), query_int(rows, 3),
                                       query_int(rows, 4), query_int(rows, 5), query_int(rows, 6)};

            for (size_t i = 0; i < count; i++) {
                if (sqlite3_column_int64(rows, 0) >= ranges[i].first &&
                    sqlite3_column_int64(rows, 0) <= ranges[i].last)
                    scan_add(&scan, &event);
            }
        }
        sqlite3_finalize(rows);
    }
    describe(&scan, text, bytes);
    scan_deinit(&scan);
    return complete;
}

static bool sum_up(struct store *store, const struct row_range *ranges, size_t count, bool by_pages,
                   char *text, size_t bytes)
{
    bool complete;

    execute(store, "BEGIN");
    complete = sum_up_now(store, ranges, count, by_pages, text, bytes);
    /* Damage may have ended the transaction already. */
    sqlite3_exec(store_handle(store), "ROLLBACK", NULL, NULL, NULL);
    return complete;
}

static void check_same(struct store *store, const struct row_range *ranges, size_t count)
{
    char pages[4096], rows[4096];

    assert_true(sum_up(store, ranges, count, true, pages, sizeof(pages)));
    assert_true(sum_up(store, ranges, count, false, rows, sizeof(rows)));
    assert_string_equal(pages, rows);
    CHECK_CONTAINS(pages, "counted");
}

static const struct row_range everything[] = {{1, INT64_MAX}};

static void rows_in_the_log_are_read(void **state)
{
    struct fixture fixture;
    char text[4096];

    start(&fixture);
    check_same(fixture.store, everything, 1);
    assert_true(sum_up(fixture.store, everything, 1, true, text, sizeof(text)));
    CHECK_LACKS(text, " 0 counted");
    CHECK_CONTAINS(text, " 455 unfinished");
    stop(&fixture);
}

static void rows_in_the_file_are_read(void **state)
{
    struct fixture fixture;
    struct diag diag = {0};

    start(&fixture);
    store_close(&fixture.store);
    store_close(&fixture.writer); /* brings the log into the file */
    CHECK_OK(store_open(fixture.path, STORE_READ, &fixture.store, &diag));
    check_same(fixture.store, everything, 1);
    check_same(fixture.store, everything, 1); /* a second time, with pages in the cache */
    stop(&fixture);
}

static void ranges_are_kept_apart(void **state)
{
    const struct row_range ranges[] = {{1, 1}, {3, 700}, {702, 702}, {1500, 4999}, {6000, 7000}};
    struct fixture fixture;

    start(&fixture);
    check_same(fixture.store, ranges, 5);
    check_same(fixture.store, ranges, 0);
    stop(&fixture);
}

static void rows_after_a_deletion_are_read(void **state)
{
    struct fixture fixture;

    start(&fixture);
    execute(fixture.writer, "DELETE FROM event WHERE rowid < 1000 OR rowid % 3 = 0");
    check_same(fixture.store, everything, 1);
    execute(fixture.writer, "DELETE FROM event");
    check_same(fixture.store, everything, 1);
    stop(&fixture);
}

/* Commits small batches, with checkpoints between them, until it is killed. */
static int write_without_end(void *context)
{
    struct store *store = NULL;
    struct diag diag = {0};

    if (store_open(context, STORE_WRITE, &store, &diag) < 0)
        return 1;
    printf("writing\n");
    fflush(stdout);
    for (int64_t i = 0;; i++) {
        struct store_event row = {1, 1, 1, i, i, STORE_NULL, STORE_NULL, STORE_NULL};

        if (store_begin(store, &diag) < 0 || store_add_events(store, &row, 1, &diag) < 0 ||
            store_commit(store, &diag) < 0)
            return 2;
        if (i % 10 == 0)
            sqlite3_wal_checkpoint_v2(store_handle(store), NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
                                      NULL);
    }
}

static void a_snapshot_is_read_while_a_daemon_writes(void **state)
{
    char first[4096], pages[4096], rows[4096];
    struct fixture fixture;
    struct child child;
    bool changed = false;

    start(&fixture);
    store_close(&fixture.writer);
    assert_true(sum_up(fixture.store, everything, 1, false, first, sizeof(first)));
    child_start_function(&child, write_without_end, fixture.path);
    assert_true(child_wait_text(&child, "writing\n", WAIT_MS));
    for (int round = 0; round < 200 || !changed; round++) {
        execute(fixture.store, "BEGIN");
        assert_true(sum_up_now(fixture.store, everything, 1, true, pages, sizeof(pages)));
        assert_true(sum_up_now(fixture.store, everything, 1, false, rows, sizeof(rows)));
        execute(fixture.store, "COMMIT");
        assert_string_equal(pages, rows);
        changed |= strcmp(pages, first) != 0;
    }
    child_kill(&child, SIGKILL);
    child_deinit(&child);
    stop(&fixture);
}

static void other_values_are_left_to_sql(void **state)
{
    static const char *const changes[] = {
        "UPDATE event SET run = 'text' WHERE rowid = 77",
        "UPDATE event SET kern_ns = 1.5 WHERE rowid = 4000",
        "UPDATE event SET lane_id = x'00' WHERE rowid = 1",
        "UPDATE event SET bytes = zeroblob(100000) WHERE rowid = 5",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct fixture fixture;
        char text[4096];

        start(&fixture);
        execute(fixture.writer, changes[i]);
        if (sum_up(fixture.store, everything, 1, true, text, sizeof(text)))
            fail_msg("%s: read by pages", changes[i]);
        stop(&fixture);
    }
}

/* Of all rows that there are, wherever their numbers begin. */
static void it_pays_from_a_part_of_the_table_on(void **state)
{
    enum { FIRST = 1000000000 };
    struct row_range all = {1, ROWS}, few = {1, ROWS / 10}, late = {FIRST + 1, FIRST + ROWS / 2};
    struct fixture fixture;

    start(&fixture);
    assert_true(event_pages_pay(fixture.store, &(struct row_ranges){&all, 1, 1}));
    assert_false(event_pages_pay(fixture.store, &(struct row_ranges){&few, 1, 1}));
    assert_false(event_pages_pay(fixture.store, &(struct row_ranges){NULL, 0, 0}));
    execute(fixture.writer, "UPDATE event SET rowid = rowid + 1000000000");
    assert_true(event_pages_pay(fixture.store, &(struct row_ranges){&late, 1, 1}));
    stop(&fixture);
    (void)state;
}

static void memory_and_transactions_are_minded(void **state)
{
    const struct row_ranges all = {(struct row_range *)everything, 1, 1};
    struct fixture fixture;
    struct scan scan = {0};
    struct store *memory;
    struct diag diag = {0};
    char text[4096];

    start(&fixture);
    CHECK_OK(scan_prepare(&scan));
    /* No transaction. */
    assert_false(event_pages(fixture.store, &all, EVENT_OF_SCAN, add_to_scan, &scan));
    scan_deinit(&scan);
    CHECK_OK(store_open("", STORE_MEMORY, &memory, &diag));
    write_rows(memory);
    assert_false(sum_up(memory, everything, 1, true, text, sizeof(text)));
    store_close(&memory);
    stop(&fixture);
}

/* Bytes of the file changed at random: either refused, or at least nothing worse than wrong sums.
 */
static void damage_does_no_harm(void **state)
{
    struct fixture fixture;
    char *bytes, *copy;
    size_t size;

    start(&fixture);
    store_close(&fixture.store);
    store_close(&fixture.writer);
    bytes = temp_read(fixture.path, &size);
    copy = malloc(size);
    for (int round = 0; round < 300; round++) {
        struct diag diag = {0};
        char text[4096];
        char *path;

        memcpy(copy, bytes, size);
        for (int i = 0; i < 20; i++)
            copy[4096 + random_bits() % (size - 4096)] = (char)random_bits();
        path = temp_write(fixture.dir, "damaged.db", copy, size);
        if (store_open(path, STORE_READ, &fixture.store, &diag) == 0)
            sum_up(fixture.store, everything, 1, true, text, sizeof(text));
        store_close(&fixture.store);
        free(path);
    }
    free(bytes);
    free(copy);
    stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_the_log_are_read),
        cmocka_unit_test(rows_in_the_file_are_read),
        cmocka_unit_test(ranges_are_kept_apart),
        cmocka_unit_test(rows_after_a_deletion_are_read),
        cmocka_unit_test(a_snapshot_is_read_while_a_daemon_writes),
        cmocka_unit_test(other_values_are_left_to_sql),
        cmocka_unit_test(it_pays_from_a_part_of_the_table_on),
        cmocka_unit_test(memory_and_transactions_are_minded),
        cmocka_unit_test(damage_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
