/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of a store: what goes, in which order, what stays and is counted, when it stops. */
#include "schema/store/retain.h"

#include <sqlite3.h>

#include "schema/store/private.h"
#include "tests/support/check.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 10, BATCH = 8192, ALL_ROWS = 1 << 30 };
#define SECOND_NS INT64_C(1000000000)

static int make_place(void **state)
{
    *state = temp_create();
    return 0;
}

static int remove_place(void **state)
{
    temp_destroy((char **)state);
    return 0;
}

static struct store *open_store(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *store = store_support_open(path, STORE_WRITE);

    free(path);
    return store;
}

static struct store *make_store(void **state)
{
    struct store *store = open_store(state);

    store_support_begin(store);
    store_support_define(store, OPS);
    store_support_commit(store);
    return store;
}

/* Events from `number` on, in a transaction of their own. */
static void add(struct store *store, size_t count, int64_t number)
{
    struct store_event *events = malloc(count * sizeof(*events));
    struct diag diag = {0};

    store_support_make_events(events, count, number, OPS);
    store_support_begin(store);
    CHECK_OK(store_add_events(store, events, count, &diag));
    store_support_commit(store);
    free(events);
}

/* Returns what store_retain() does; *over_bytes what it could not do. */
static int retain(struct store *store, struct store_bounds bounds, int64_t now_ns, size_t row_max,
                  int64_t *over_bytes)
{
    struct diag diag = {0};
    struct store_retained done = {0};
    int64_t before = store_support_int(store, "SELECT (SELECT count(*) FROM event) + (SELECT"
                                              " count(*) FROM memory_event) + (SELECT count(*)"
                                              " FROM counter)");
    int64_t dropped = 0;
    int rc;

    do { /* roll-ups may take several steps */
        rc = store_retain(store, &bounds, now_ns, row_max, &done, &diag);
        dropped += (int64_t)done.row_count;
    } while (rc == 1 && row_max == ALL_ROWS);
    if (rc < 0)
        fail_msg("store_retain: %d: %s", rc, diag.text);
    CHECK_U64(store_support_int(store, "SELECT (SELECT count(*) FROM event) + (SELECT count(*)"
                                       " FROM memory_event) + (SELECT count(*) FROM counter)"),
              before - dropped);
    *over_bytes = done.over_bytes;
    return rc;
}

static int64_t used_bytes(struct store *store)
{
    struct diag diag = {0};
    int64_t bytes = 0;

    CHECK_OK(store_used_bytes(store, &bytes, &diag));
    return bytes;
}

static char *rollups(struct store *store)
{
    return store_support_text(store, "SELECT op_id, calls, host_ns, host_min_ns, host_max_ns,"
                                     " host_kern_ns, host_p90_ns, device_ns, exec_ns FROM v_op"
                                     " ORDER BY op_id");
}

static void check_text(struct store *store, const char *sql, const char *want)
{
    char *got = store_support_text(store, sql);

    assert_string_equal(got, want);
    free(got);
}

static void without_bounds_nothing_goes(void **state)
{
    struct store *store = make_store(state);
    int64_t over = 1;

    add(store, 5 * BATCH, 0);
    assert_int_equal(retain(store, (struct store_bounds){0}, INT64_MAX, ALL_ROWS, &over), 0);
    CHECK_U64(over, 0);
    assert_int_equal(retain(store, (struct store_bounds){.budget_bytes = used_bytes(store)},
                            INT64_MAX, ALL_ROWS, &over),
                     0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), 5 * BATCH);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM dropped"), 0);
    store_close(&store);
}

/* The oldest batches go, step by step, until the pages in use are within the budget. */
static void the_oldest_events_go_first(void **state)
{
    struct store *store = make_store(state);
    int64_t now_ns = STORE_SUPPORT_START_NS + 100 * SECOND_NS, over;
    struct store_bounds bounds;
    char *before, *after;
    int steps = 0;

    for (int i = 0; i < 20; i++)
        add(store, BATCH, i * BATCH);
    before = rollups(store);
    bounds.budget_bytes = used_bytes(store) - 10 * BATCH * 30; /* a row has about 30 bytes */
    bounds.keep_events_ns = 0;
    while (retain(store, bounds, now_ns, 1, &over) == 1)
        steps++;
    assert_in_range(steps, 8, 15);
    CHECK_U64(over, 0);
    assert_true(used_bytes(store) <= bounds.budget_bytes);
    assert_true(used_bytes(store) > bounds.budget_bytes - 20 * 32768);
    CHECK_U64(store_support_int(store, "SELECT min(rowid) FROM event") - 1,
              store_support_int(store, "SELECT event_count FROM dropped"));
    CHECK_U64(store_support_int(store, "SELECT max(rowid) FROM event"), 20 * BATCH);
    CHECK_U64(store_support_int(store, "SELECT min(first_rowid) FROM event_batch"),
              store_support_int(store, "SELECT min(rowid) FROM event"));
    CHECK_U64(store_support_int(store, "SELECT sum(last_rowid - first_rowid + 1) FROM event_batch"),
              store_support_int(store, "SELECT count(*) FROM event"));
    after = rollups(store);
    assert_string_equal(after, before);
    check_text(store,
               "SELECT session_id, reason, memory_event_count, counter_count,"
               " start_ns - 1767225600000000000, dropped_ns - 1767225600000000000,"
               " end_ns BETWEEN (SELECT max(end_ns) FROM event_batch) - 1000000000"
               " AND (SELECT min(end_ns) FROM event_batch) FROM dropped",
               "1|budget|0|0|0|100000000000|1");
    check_text(store,
               "SELECT dropped_event_count = (SELECT event_count FROM v_dropped),"
               " dropped_end_ns = (SELECT end_ns FROM v_dropped), event_count FROM v_session",
               "1|1|163840");
    store_support_check_integrity(store);
    free(before);
    free(after);
    store_close(&store);
}

/* What is left is less than the smallest budget: only the last batch stays, and it is said. */
static void the_last_batch_stays(void **state)
{
    struct store *store = make_store(state);
    struct store_bounds bounds = {.budget_bytes = 1};
    int64_t over;

    add(store, 3 * BATCH, 0);
    assert_int_equal(retain(store, bounds, 0, ALL_ROWS, &over), 0);
    CHECK_U64(over, used_bytes(store) - 1);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), BATCH);
    add(store, 10, 3 * BATCH); /* goes on behind it */
    CHECK_U64(store_support_int(store, "SELECT max(rowid) FROM event"), 3 * BATCH + 10);
    assert_int_equal(retain(store, bounds, 0, ALL_ROWS, &over), 0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), 10);
    store_close(&store);
}

/* Pages that were given up are used again. */
static void a_file_at_its_budget_does_not_grow(void **state)
{
    struct store *store = make_store(state);
    struct store_bounds bounds = {.budget_bytes = 4 << 20};
    int64_t number = 0, over, pages = 0;

    for (int i = 0; i < 60; i++, number += 20000) {
        add(store, 20000, number);
        assert_int_equal(retain(store, bounds, 0, 40000, &over), 0);
        if (i == 30)
            pages = store_support_int(store, "PRAGMA page_count");
    }
    assert_in_range(store_support_int(store, "PRAGMA page_count"), 1, pages + 2);
    assert_in_range(pages * 32768, 1, (4 << 20) + 20000 * 36 + 4 * 32768);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), number);
    CHECK_U64(store_support_int(store, "SELECT (SELECT count(*) FROM event) + event_count FROM"
                                       " dropped"),
              number);
    store_support_check_integrity(store);
    store_close(&store);
}

/* Events are 1 us apart. */
static void events_go_by_their_age(void **state)
{
    struct store *store = make_store(state);
    struct store_bounds bounds = {.keep_events_ns = 10 * SECOND_NS};
    int64_t start_ns = STORE_SUPPORT_START_NS, over;

    add(store, 3 * BATCH, 0);
    assert_int_equal(retain(store, bounds, start_ns + 10 * SECOND_NS, ALL_ROWS, &over), 0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), 3 * BATCH);
    /* Just when the second batch has not ended yet. */
    assert_int_equal(
        retain(store, bounds, start_ns + 10 * SECOND_NS + BATCH * 1500, ALL_ROWS, &over), 0);
    CHECK_U64(store_support_int(store, "SELECT min(rowid) FROM event"), BATCH + 1);
    /* All of it, also the last batch; what comes then begins anew. */
    assert_int_equal(retain(store, bounds, start_ns + 20 * SECOND_NS, ALL_ROWS, &over), 0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), 0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event_batch"), 0);
    check_text(store, "SELECT reason, event_count FROM v_dropped", "age|24576");
    add(store, 100, 3 * BATCH);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event e JOIN event_batch b ON e.rowid"
                                       " BETWEEN b.first_rowid AND b.last_rowid"),
              100);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), 3 * BATCH + 100);
    store_support_check_integrity(store);
    store_close(&store);
}

/* A second session, whose lane is 4. */
static void define_second(struct store *store)
{
    const struct store_session session = {.session_id = 2,
                                          .uuid = {2},
                                          .start_ns = STORE_SUPPORT_START_NS,
                                          .end_ns = STORE_NULL,
                                          .pid = 2,
                                          .uid = 2,
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lane = {4, 2, 1, "thread", "main", NULL, 1};
    struct diag diag = {0};

    store_support_begin(store);
    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
    store_support_commit(store);
}

/* Whose the rows of a batch are is known of what was written through the same handle; else they are
 * read. */
static void count_sessions(void **state, bool is_known)
{
    struct store *store = make_store(state);
    struct store_event events[100];
    struct diag diag = {0};
    int64_t over;

    define_second(store);
    store_support_make_events(events, 100, 0, OPS);
    for (int i = 0; i < 100; i += 4)
        events[i].lane_id = 4;
    store_support_begin(store);
    for (int i = 0; i < 100; i += 10) { /* the batch goes on over commits */
        CHECK_OK(store_add_events(store, events + i, 10, &diag));
        store_support_commit(store);
        store_support_begin(store);
    }
    store_support_commit(store);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event_batch"), 1);
    if (!is_known) {
        store_close(&store);
        store = open_store(state);
    }
    CHECK_U64(store->tallies.end - store->tallies.first, is_known ? 2 : 0);
    assert_int_equal(
        retain(store, (struct store_bounds){.keep_events_ns = 1}, INT64_MAX, ALL_ROWS, &over), 0);
    check_text(store,
               "SELECT session_id, event_count, start_ns - 1767225600000000000,"
               " (end_ns - 1767225600000000000) / 1000 FROM dropped ORDER BY 1",
               "1|75|1000|100\n2|25|0|97");
    store_close(&store);
}

static void each_session_is_counted(void **state)
{
    count_sessions(state, true);
}

static void each_session_is_counted_by_reading(void **state)
{
    count_sessions(state, false);
}

/* Another program took rows out of a batch: it is read, and only what was there is counted. */
static void rows_that_others_deleted_are_not_counted(void **state)
{
    struct store *store = make_store(state);
    struct store_event events[100];
    struct diag diag = {0};
    sqlite3 *other;
    int64_t over;

    define_second(store);
    store_support_make_events(events, 100, 0, OPS);
    for (int i = 0; i < 100; i += 4)
        events[i].lane_id = 4;
    store_support_begin(store);
    CHECK_OK(store_add_events(store, events, 100, &diag));
    store_support_commit(store);
    assert_int_equal(sqlite3_open(store->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "DELETE FROM event WHERE rowid=1", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(other);
    assert_int_equal(
        retain(store, (struct store_bounds){.keep_events_ns = 1}, INT64_MAX, ALL_ROWS, &over), 0);
    check_text(store, "SELECT session_id, event_count FROM dropped ORDER BY 1", "1|75\n2|24");
    store_close(&store);
}

/* Memory and counters are as old as events; what is oldest goes, and calibrations never do. */
static void memory_and_counters_go_with_events(void **state)
{
    struct store *store = make_store(state);
    struct store_memory_event memory[1000];
    struct store_counter counters[1000];
    struct store_op op = {OPS + 1, 1, OPS + 1, STORE_NULL, "calibration.threads", "counter"};
    struct diag diag = {0};
    int64_t over, cut_ns = STORE_SUPPORT_START_NS + 500000;

    op.computation_flop = op.memory_bytes = op.workspace_bytes = STORE_NULL;
    for (int i = 0; i < 1000; i++) {
        int64_t time_ns = STORE_SUPPORT_START_NS + i * 1000;

        memory[i] = (struct store_memory_event){1, 1, STORE_NULL, time_ns, i, 16};
        counters[i] = (struct store_counter){1, i % 100 ? 1 : OPS + 1, STORE_NULL, time_ns, i};
    }
    store_support_begin(store);
    CHECK_OK(store_put_op(store, &op, &diag));
    CHECK_OK(store_add_memory_events(store, memory, 1000, &diag));
    CHECK_OK(store_add_counters(store, counters, 1000, &diag));
    store_support_commit(store);
    assert_int_equal(retain(store, (struct store_bounds){.keep_events_ns = SECOND_NS},
                            cut_ns + SECOND_NS, ALL_ROWS, &over),
                     0);
    check_text(store,
               "SELECT count(*), (min(time_ns) - 1767225600000000000) / 1000 FROM"
               " memory_event",
               "500|500");
    check_text(store, "SELECT count(*), sum(op_id = 11) FROM counter", "505|10");
    check_text(store,
               "SELECT event_count, memory_event_count, counter_count, start_ns, end_ns"
               " FROM dropped",
               "0|500|495|1767225600000000000|1767225600000499000");
    assert_int_equal(retain(store, (struct store_bounds){.budget_bytes = 1}, 0, ALL_ROWS, &over),
                     0);
    check_text(store,
               "SELECT (SELECT count(*) FROM memory_event), count(*), sum(op_id = 11) FROM"
               " counter",
               "0|10|10");
    assert_true(over > 0);
    store_close(&store);
}

/* A failure in the middle leaves all of it as it was. */
static void a_failure_changes_nothing(void **state)
{
    struct store *store = make_store(state);
    char *path = temp_path(*state, "store.db");
    struct store_bounds bounds = {.budget_bytes = 1};
    struct store_retained done;
    struct diag diag = {0};
    int64_t over;

    add(store, 3 * BATCH, 0);
    store_support_run(path, "CREATE TRIGGER no BEFORE DELETE ON event_batch WHEN old.first_rowid >"
                            " 1 BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert_true(store_retain(store, &bounds, 0, ALL_ROWS, &done, &diag) < 0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), 3 * BATCH);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM dropped"), 0);
    store_support_run(path, "DROP TRIGGER no");
    assert_int_equal(retain(store, bounds, 0, ALL_ROWS, &over), 0);
    add(store, 10, 3 * BATCH);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), BATCH + 10);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) + (SELECT"
                                       " sum(rollup_event_count) FROM dropped) FROM op_stat"),
              3 * BATCH + 10);
    free(path);
    store_close(&store);
}

/* Who began to read before goes on seeing all of it. */
static void an_open_reader_sees_what_it_saw(void **state)
{
    struct store *store = make_store(state);
    char *path = temp_path(*state, "store.db");
    struct store *reader;
    int64_t over;

    add(store, 3 * BATCH, 0);
    reader = store_support_open(path, STORE_READ);
    assert_int_equal(sqlite3_exec(store_handle(reader), "BEGIN", NULL, NULL, NULL), SQLITE_OK);
    CHECK_U64(store_support_int(reader, "SELECT count(*) FROM event"), 3 * BATCH);
    assert_int_equal(retain(store, (struct store_bounds){.budget_bytes = 1}, 0, ALL_ROWS, &over),
                     0);
    CHECK_U64(store_support_int(reader, "SELECT count(*) FROM event"), 3 * BATCH);
    CHECK_U64(store_support_int(reader, "SELECT count(*) FROM dropped"), 0);
    assert_int_equal(sqlite3_exec(store_handle(reader), "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    CHECK_U64(store_support_int(reader, "SELECT count(*) FROM event"), BATCH);
    CHECK_U64(store_support_int(reader, "SELECT event_count FROM dropped"), 2 * BATCH);
    free(path);
    store_close(&reader);
    store_close(&store);
}

/* Adds a batch to a store whose budget is what it uses, and makes room for it: before, in the same
 * transaction, or after. Returns how many pages of the log that took. */
static int add_at_budget(struct store *store, int64_t number, bool is_ahead)
{
    struct store_bounds bounds = {.budget_bytes = used_bytes(store)};
    struct store_event *events = malloc(2 * BATCH * sizeof(*events));
    struct store_retained done = {0};
    struct diag diag = {0};
    int pages;

    store_support_int(store, "PRAGMA wal_checkpoint(TRUNCATE)");
    store_support_make_events(events, 2 * BATCH, number, OPS);
    store_support_begin(store);
    if (is_ahead) {
        CHECK_OK(store_retain_ahead(store, &bounds, 7, 2 * BATCH, &done, &diag));
        CHECK_U64(done.row_count, 2 * BATCH);
    }
    CHECK_OK(store_add_events(store, events, 2 * BATCH, &diag));
    store_support_commit(store);
    pages = store->log_pages;
    if (is_ahead) /* but for roll-ups */
        assert_in_range(used_bytes(store), 1, bounds.budget_bytes + 2 * 32768);
    CHECK_OK(store_retain(store, &bounds, 7, ALL_ROWS, &done, &diag));
    if (!is_ahead)
        pages = store->log_pages;
    free(events);
    return pages;
}

/* New rows take the pages of those that go for them, which are written to the log once. */
static void room_is_made_in_the_same_transaction(void **state)
{
    struct store *store = make_store(state);
    int64_t number = 0;
    int ahead, after;

    for (int i = 0; i < 10; i++, number += 2 * BATCH)
        add(store, 2 * BATCH, number);
    add_at_budget(store, number, true); /* the tables that it writes have their first rows */
    after = add_at_budget(store, number + 2 * BATCH, false);
    ahead = add_at_budget(store, number + 4 * BATCH, true);
    if (ahead > after * 4 / 5)
        fail_msg("%d pages of the log ahead, %d after", ahead, after);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM dropped"),
              26 * BATCH - store_support_int(store, "SELECT count(*) FROM event"));
    CHECK_U64(store_support_int(store, "SELECT sum(last_rowid - first_rowid + 1) FROM event_batch"),
              store_support_int(store, "SELECT count(*) FROM event"));
    CHECK_U64(store_support_int(store, "SELECT max(rowid) FROM event"), 26 * BATCH);
    store_support_check_integrity(store);
    store_close(&store);
}

/* What went for rows that then did not come is there again, and is counted once when it goes. */
static void room_is_given_back_by_a_rollback(void **state)
{
    struct store *store = make_store(state);
    struct store_bounds bounds;
    struct store_retained done = {0};
    struct diag diag = {0};

    for (int i = 0; i < 4; i++)
        add(store, 2 * BATCH, 2 * BATCH * i);
    bounds = (struct store_bounds){.budget_bytes = used_bytes(store)};
    for (int i = 0; i < 2; i++) {
        store_support_begin(store);
        CHECK_OK(store_retain_ahead(store, &bounds, 7, 2 * BATCH, &done, &diag));
        CHECK_U64(done.row_count, 2 * BATCH);
        if (i == 0)
            store_rollback(store);
        else
            store_support_commit(store);
        CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), (8 - 2 * i) * BATCH);
    }
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM dropped"), 2 * BATCH);
    add(store, 10, 8 * BATCH);
    CHECK_U64(store_support_int(store, "SELECT max(rowid) FROM event"), 8 * BATCH + 10);
    store_support_check_integrity(store);
    store_close(&store);
}

/* Within its bounds, without any, and down to the batch that must stay. */
static void room_ahead_has_ends(void **state)
{
    struct store *store = make_store(state);
    struct store_bounds none = {0}, wide = {.budget_bytes = INT64_MAX};
    struct store_bounds least = {.budget_bytes = used_bytes(store)};
    struct store_retained done = {.row_count = 7};
    struct diag diag = {0};

    store_support_begin(store);
    CHECK_OK(store_retain_ahead(store, &least, 7, 100, &done, &diag));
    CHECK_U64(done.row_count, 0);
    store_support_commit(store);
    add(store, 3 * BATCH, 0);
    store_support_begin(store);
    CHECK_OK(store_retain_ahead(store, &none, 7, (size_t)1 << 40, &done, &diag));
    CHECK_OK(store_retain_ahead(store, &wide, 7, 1000, &done, &diag));
    CHECK_OK(store_retain_ahead(store, &least, 7, 0, &done, &diag));
    CHECK_U64(done.row_count, 0);
    CHECK_OK(store_retain_ahead(store, &least, 7, 2 * BATCH + 1, &done, &diag));
    CHECK_U64(done.row_count, 2 * BATCH);
    store_support_commit(store);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), BATCH);
    store_close(&store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_bounds_nothing_goes),
        TEST(the_oldest_events_go_first),
        TEST(the_last_batch_stays),
        TEST(a_file_at_its_budget_does_not_grow),
        TEST(events_go_by_their_age),
        TEST(each_session_is_counted),
        TEST(each_session_is_counted_by_reading),
        TEST(rows_that_others_deleted_are_not_counted),
        TEST(memory_and_counters_go_with_events),
        TEST(a_failure_changes_nothing),
        TEST(an_open_reader_sees_what_it_saw),
        TEST(room_is_made_in_the_same_transaction),
        TEST(room_is_given_back_by_a_rollback),
        TEST(room_ahead_has_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
