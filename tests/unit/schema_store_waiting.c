/* SPDX-License-Identifier: Apache-2.0 */
/* Roll-ups that wait: what views say meanwhile is what the events say, and whoever goes on with the
 * store, after whatever end, makes the same of it. */
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "schema/store/private.h"
#include "schema/store/retain.h"
#include "tests/support/check.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 10, BATCH = 8192 };
#define FOR_EVER  INT64_MAX
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

static struct store *open_named(void **state, const char *name, enum store_mode mode)
{
    char *path = temp_path(*state, name);
    struct store *store = store_support_open(path, mode);

    if (mode == STORE_WRITE)
        store_delay_rollups(store, FOR_EVER);
    free(path);
    return store;
}

static struct store *open_store(void **state)
{
    return open_named(state, "store.db", STORE_WRITE);
}

static struct store *make_named(void **state, const char *name)
{
    struct store *store = open_named(state, name, STORE_WRITE);

    store_support_begin(store);
    store_support_define(store, OPS);
    store_support_commit(store);
    return store;
}

/* Ten events a second from `number` on, within a transaction; each seventh did not end, and each
 * eleventh says nothing of its first kernel. */
static void put(struct store *store, size_t count, int64_t number)
{
    struct store_event *events = malloc(count * sizeof(*events));
    struct diag diag = {0};

    store_support_make_events(events, count, number, OPS);
    for (size_t i = 0; i < count; i++) {
        events[i].start_ns = STORE_SUPPORT_START_NS + (number + (int64_t)i) * SECOND_NS / 10;
        events[i].dur_ns = (int64_t)((i + 1) * (i + 1) * (i + 1) % 100000000000);
        events[i].kern_ns = i % 11 == 0 ? STORE_NULL : (int64_t)(i % 100);
        if (i % 7 == 0)
            events[i].dur_ns = STORE_NULL;
    }
    CHECK_OK(store_add_events(store, events, count, &diag));
    free(events);
}

static void add(struct store *store, size_t count, int64_t number)
{
    store_support_begin(store);
    put(store, count, number);
    store_support_commit(store);
}

static int64_t count_stored(struct store *store)
{
    return store_support_int(store, "SELECT coalesce(sum(event_count), 0) FROM op_stat");
}

static int64_t count_marks(struct store *store)
{
    return store_support_int(store, "SELECT count(*) FROM meta WHERE key = 'rolled_up'");
}

/* Two questions have the same answer, which is not empty. */
static void check_same(struct store *store, const char *sql, const char *wanted_sql)
{
    char *got = store_support_text(store, sql);
    char *wanted = store_support_text(store, wanted_sql);

    assert_true(wanted[0] != 0);
    assert_string_equal(got, wanted);
    free(got);
    free(wanted);
}

#define FINISHED "FROM event JOIN lane USING (lane_id) WHERE dur_ns IS NOT NULL"

/* The views say what all events say, none of which was dropped; whatever waits. */
static void check_views(struct store *store)
{
    check_same(store,
               "SELECT op_id, lane_kind, start_ns, sum(event_count), sum(sum_ns), min(min_ns),"
               " max(max_ns), sum(kern_sum_ns) FROM v_op_stat GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
               "SELECT op_id, kind, start_ns / 10000000000 * 10000000000, count(*), sum(dur_ns),"
               " min(dur_ns), max(dur_ns), sum(coalesce(kern_ns, 0)) " FINISHED
               " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
    check_same(store,
               "SELECT op_id, host_calls, host_ns, host_min_ns, host_max_ns, host_kern_ns FROM v_op"
               " WHERE host_calls > 0 ORDER BY 1",
               "SELECT op_id, count(*), sum(dur_ns), min(dur_ns), max(dur_ns),"
               " sum(coalesce(kern_ns, 0)) " FINISHED " AND kind = 'thread' GROUP BY 1 ORDER BY 1");
    check_same(store, "SELECT event_count FROM v_session", "SELECT count(*) " FINISHED);
    check_same(store,
               "SELECT count(*) FROM v_op_stat WHERE event_count = (SELECT sum(value) FROM"
               " json_each(histogram))",
               "SELECT count(*) FROM v_op_stat");
}

/* What is only known in C is compared before and after. */
static char *percentile_text(struct store *store)
{
    return store_support_text(store,
                              "SELECT op_id, host_p50_ns, host_p90_ns, host_p99_ns, device_p50_ns,"
                              " device_p90_ns, device_p99_ns FROM v_op ORDER BY op_id");
}

static char *bin_text(struct store *store)
{
    return store_support_text(store, "SELECT op_id, lane_kind, start_ns, bin, middle_ns,"
                                     " sum(event_count) FROM v_op_histogram GROUP BY 1, 2, 3, 4"
                                     " ORDER BY 1, 2, 3, 4");
}

/* All is written: the tables say it, too. */
static void check_settled(struct store *store)
{
    CHECK_U64(count_marks(store), 0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM v_op_waiting"), 0);
    store_support_check_accounts(store);
    check_views(store);
}

static void settle(struct store *store)
{
    struct diag diag = {0};

    CHECK_OK(store_write_rollups(store, &diag));
    check_settled(store);
}

static void views_count_what_waits(void **state)
{
    struct store *store = make_named(state, "store.db");
    struct store *reader = open_named(state, "store.db", STORE_READ);
    char *bins, *percentiles, *after;

    add(store, 500, 0);
    settle(store); /* some of it is in the table, and goes on there */
    for (int64_t i = 1; i < 5; i++) {
        add(store, 500, 500 * i);
        CHECK_U64(count_stored(reader), 500 - 72);
        CHECK_U64(count_marks(reader), 1);
        check_views(reader);
    }
    bins = bin_text(reader);
    percentiles = percentile_text(reader);
    settle(store);
    CHECK_U64(count_stored(reader), 5 * (500 - 72));
    after = bin_text(reader);
    assert_string_equal(after, bins);
    free(after);
    after = percentile_text(reader);
    assert_string_equal(after, percentiles);
    free(after);
    free(bins);
    free(percentiles);
    store_close(&reader);
    store_close(&store);
}

/* Each bin of the code is that of the view. */
static void bins_of_views_are_those_of_the_code(void **state)
{
    struct store *store = make_named(state, "store.db");
    struct diag diag = {0};
    enum { TIMES = 3 * 62 };
    struct store_event events[TIMES];

    for (int i = 0; i < TIMES; i++)
        events[i] = (struct store_event){.lane_id = 1,
                                         .op_id = 1,
                                         .run = STORE_NULL,
                                         .start_ns = STORE_SUPPORT_START_NS,
                                         .dur_ns = ((int64_t)1 << i / 3) + i % 3 - 1,
                                         .kern_ns = STORE_NULL,
                                         .correlation = STORE_NULL,
                                         .bytes = STORE_NULL};
    events[TIMES - 1].dur_ns = INT64_MAX;
    events[TIMES - 2].start_ns = -25 * SECOND_NS; /* before 1970 */
    store_support_begin(store);
    CHECK_OK(store_add_events(store, events, TIMES, &diag));
    store_support_commit(store);
    for (int i = 0; i < TIMES; i++) {
        char sql[200];

        snprintf(sql, sizeof(sql), "SELECT bin FROM v_op_waiting WHERE event_id = %d", i + 1);
        CHECK_U64(store_support_int(store, sql), store_bin_of(events[i].dur_ns));
    }
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM v_op_waiting WHERE start_ns ="
                                       " -30000000000"),
              1);
    store_close(&store);
}

static void a_rollback_leaves_what_waits(void **state)
{
    struct store *store = make_named(state, "store.db");

    add(store, 1000, 0);
    for (int i = 0; i < 3; i++) {
        store_support_begin(store);
        put(store, 1000, 1000);
        store_rollback(store);
        check_views(store);
    }
    add(store, 1000, 1000);
    check_views(store);
    CHECK_U64(count_stored(store), 0);
    settle(store);
    add(store, 1000, 2000);
    store_support_begin(store);
    put(store, 1000, 3000);
    store_rollback(store);
    settle(store);
    CHECK_U64(count_stored(store), 3 * (1000 - 143));
    store_close(&store);
}

static void somebody_else_writes(void **state)
{
    struct store *store = make_named(state, "store.db");
    char *path = temp_path(*state, "store.db");

    add(store, 1000, 0);
    store_support_run(path, "UPDATE session SET note = 'hello'");
    add(store, 1000, 1000);
    check_views(store);
    settle(store);
    store_close(&store);
    free(path);
}

/* As many rows make it: those of buckets that have ended are written, the others wait on. */
static void wait_for_ends(struct store *store)
{
    store_delay_rollups(store, ROLLUP_WAIT_NS);
    store->rollup.last_ns = ot_clock_ns(CLOCK_MONOTONIC);
}

/* So that they may be written at the next commit. */
static void pass_time(struct store *store)
{
    store->rollup.last_ns -= 9 * SECOND_NS;
    store->rollup.newest_since_ns -= 9 * SECOND_NS;
}

static int64_t count_waiting(struct store *store)
{
    return store_support_int(store, "SELECT count(*) FROM v_op_waiting");
}

/* Of the newest bucket nothing is written, and of those before it all that was there. */
static void check_ended(struct store *store)
{
    CHECK_U64(count_marks(store), 1);
    check_views(store);
    CHECK_U64(
        store_support_int(store, "SELECT max(start_ns) FROM op_stat") <
            store_support_int(store, "SELECT max(start_ns) / 10000000000 * 10000000000 " FINISHED),
        1);
    CHECK_U64(count_waiting(store),
              store_support_int(store, "SELECT count(*) " FINISHED " AND start_ns >= (SELECT"
                                       " max(start_ns) / 10000000000 * 10000000000 " FINISHED ")"));
}

static void buckets_that_have_ended_are_written(void **state)
{
    struct store *store = make_named(state, "store.db");
    struct store *reader = open_named(state, "store.db", STORE_READ);
    char *path = temp_path(*state, "store.db");

    wait_for_ends(store);
    for (int64_t i = 0; i < 8; i++) {
        int64_t stored = count_stored(store);

        add(store, 250, 250 * i);
        CHECK_U64(count_stored(store), stored);
        check_views(reader);
        pass_time(store);
        add(store, 21, i % 3 ? 250 * i + 190 : 10); /* some of them come very late */
        assert_true(count_stored(store) > stored);
        check_ended(reader);
        add(store, 14, 10); /* later still */
        check_views(reader);
        if (i == 2) {
            store_support_begin(store);
            put(store, 100, 100);
            store_rollback(store);
        }
        if (i == 3)
            store_support_run(path, "UPDATE session SET note = 'hello'");
        if (i == 4) { /* nothing but what comes late */
            pass_time(store);
            add(store, 7, 20);
            check_ended(reader);
        }
        if (i == 5) {
            settle(store);
            check_settled(reader);
        }
    }
    settle(store);
    check_settled(reader);
    store_close(&reader);
    store_close(&store);
    free(path);
}

/* Somebody's clock is far ahead: what all others record is of a bucket before. */
static void one_that_is_ahead_keeps_nobody_waiting(void **state)
{
    struct store *store = make_named(state, "store.db");

    wait_for_ends(store);
    add(store, 10, 1000000);
    for (int64_t i = 0; i < 3; i++) {
        add(store, 100, 100 * i);
        check_views(store);
        CHECK_U64(count_waiting(store), 8 + 85);
        pass_time(store);
        add(store, 7, 10);
        check_ended(store);
        CHECK_U64(count_waiting(store), 8);
    }
    store->rollup.last_ns -= ROLLUP_WAIT_MAX_NS;
    add(store, 7, 10);
    check_settled(store);
    store_close(&store);
}

static void the_killed_leave_ended_buckets_right(void **state)
{
    struct store *store = make_named(state, "store.db");

    store_close(&store);
    for (int64_t i = 0; i < 5; i++) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            store = open_store(state);
            wait_for_ends(store);
            add(store, 250, i * 300);
            pass_time(store);
            add(store, 50, i * 300 + 250);
            if (i % 2)
                add(store, 30, i * 300 + 220); /* of ended ones and of the last */
            pass_time(store);
            store_support_begin(store);
            put(store, 300, i * 300 + 300);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        store = open_named(state, "store.db", STORE_READ);
        CHECK_U64(count_marks(store), 1);
        assert_true(count_stored(store) > 0);
        check_views(store);
        store_close(&store);
    }
    store = open_store(state);
    settle(store);
    check_settled(store);
    store_close(&store);
}

/* SIGKILL between the commits of a process, and within a transaction. */
static void write_until_killed(void **state, int64_t number)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct store *store = open_store(state);

        add(store, 300, number);
        add(store, 300, number + 300);
        store_support_begin(store);
        put(store, 300, number + 600);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void the_killed_leave_nothing_uncounted(void **state)
{
    struct store *store = make_named(state, "store.db");

    store_close(&store);
    for (int64_t i = 0; i < 4; i++) {
        write_until_killed(state, i * 600);
        store = open_named(state, "store.db", STORE_READ);
        CHECK_U64(count_marks(store), 1);
        check_views(store);
        store_close(&store);
        if (i == 1) { /* else the next one goes on with what waits */
            store = open_store(state);
            settle(store);
            store_close(&store);
        }
    }
    store = open_store(state);
    CHECK_U64(count_stored(store), 1200 - 4 * 43);
    settle(store);
    CHECK_U64(count_stored(store), 2400 - 8 * 43);
    store_close(&store);
}

/* What waits is counted before its events go, and only then. */
static void dropped_events_were_counted(void **state)
{
    struct store *store = make_named(state, "store.db");
    const struct store_bounds bounds = {.keep_events_ns = 1};
    struct store_retained done;
    struct diag diag = {0};

    add(store, BATCH, 0);
    settle(store);
    add(store, BATCH, BATCH);
    add(store, BATCH, 2 * BATCH);
    add(store, 1, 3 * BATCH);
    assert_int_equal(store_retain(store, &bounds, STORE_SUPPORT_START_NS + 3600 * SECOND_NS, BATCH,
                                  &done, &diag),
                     1);
    CHECK_U64(done.row_count, BATCH);
    CHECK_U64(store_support_int(store, "SELECT event_count FROM dropped"), BATCH);
    CHECK_U64(count_marks(store), 1); /* those of the first batch were counted before */
    assert_true(store_retain(store, &bounds, STORE_SUPPORT_START_NS + 3600 * SECOND_NS, BATCH,
                             &done, &diag) >= 0);
    CHECK_U64(done.row_count, BATCH);
    CHECK_U64(count_marks(store), 0);
    CHECK_U64(count_stored(store), 3 * (BATCH - 1171));
    store_close(&store);
    store = open_store(state);
    CHECK_U64(count_stored(store), 3 * (BATCH - 1171));
    CHECK_U64(store_support_int(store, "SELECT event_count FROM v_session"), 3 * (BATCH - 1171));
    store_close(&store);
}

/* Late events, when the roll-ups of their hour become coarser. */
static void merged_rollups_count_what_waits(void **state)
{
    struct store *store = make_named(state, "store.db");
    const int64_t now_ns = STORE_SUPPORT_START_NS + 7200 * SECOND_NS;
    struct diag diag = {0};

    add(store, 1000, 0);
    settle(store);
    add(store, 1000, 0);
    CHECK_U64(count_stored(store), 1000 - 143);
    for (int i = 0; i < 2; i++) {
        store_support_begin(store);
        assert_true(store_merge_rollups(store, now_ns, 1000, &diag) >= 0);
        store_support_commit(store);
    }
    CHECK_U64(count_stored(store), 2 * (1000 - 143));
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat WHERE bucket_ns ="
                                       " 10000000000"),
              0);
    add(store, 1000, 0);
    CHECK_OK(store_write_rollups(store, &diag));
    CHECK_U64(count_stored(store), 3 * (1000 - 143));
    store_close(&store);
}

/* Another session with a lane and an op, and an event of an hour later: the last batch is its own.
 */
static void put_other_session(struct store *store)
{
    const struct store_session session = {
        .session_id = 2, .uuid = {2}, .end_ns = STORE_NULL, .clock = "tsc", .source = "live"};
    const struct store_lane lane = {9, 2, 1, "thread", NULL, NULL, STORE_NULL};
    const struct store_op op = {.op_id = 99,
                                .session_id = 2,
                                .client_op = 1,
                                .model_id = STORE_NULL,
                                .name = "a",
                                .type = "b"};
    const struct store_event event = {
        9,    99,         STORE_NULL, STORE_SUPPORT_START_NS + 3600 * SECOND_NS,
        1000, STORE_NULL, STORE_NULL, STORE_NULL};
    struct diag diag = {0};

    store_support_begin(store);
    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
    CHECK_OK(store_put_op(store, &op, &diag));
    CHECK_OK(store_add_events(store, &event, 1, &diag));
    store_support_commit(store);
}

static void a_session_that_goes_takes_what_waits(void **state)
{
    struct store *store = make_named(state, "store.db");
    size_t rows;
    struct diag diag = {0};

    add(store, 1000, 0);
    put_other_session(store);
    store_support_begin(store);
    CHECK_OK(store_end_session(store, 1, STORE_SUPPORT_START_NS + SECOND_NS, "done", NULL, &diag));
    assert_int_equal(store_forget_find(store, STORE_SUPPORT_START_NS + 2 * SECOND_NS,
                                       STORE_SUPPORT_START_NS + 100 * SECOND_NS, &diag),
                     1);
    CHECK_OK(store_forget_step(store, 0, &rows, &diag));
    CHECK_U64(rows, 1000);
    CHECK_U64(store_support_int(store, "SELECT event_count FROM v_session WHERE session_id = 1"),
              1000 - 143);
    while (store_support_int(store, "SELECT count(*) FROM session WHERE session_id = 1"))
        CHECK_OK(store_forget_step(store, 0, &rows, &diag));
    store_support_commit(store);
    settle(store);
    CHECK_U64(count_stored(store), 1);
    store_close(&store);
}

/* Both sides have some that wait. */
static void a_copy_counts_what_waits(void **state)
{
    struct store *from = make_named(state, "from.db"), *to = open_store(state);
    size_t taken, known;
    struct diag diag = {0};

    add(from, 1000, 0);
    settle(from);
    add(from, 1000, 1000);
    store_support_begin(to);
    CHECK_OK(store_copy_all(to, from, &taken, &known, &diag));
    CHECK_U64(taken, 1);
    store_support_commit(to);
    check_views(to);
    settle(to);
    check_views(from);
    CHECK_U64(count_stored(from), 1000 - 143);
    store_close(&from);
    store_close(&to);
}

/* More ops than are kept in memory, in each transaction anew. */
static void there_may_be_more_than_memory_holds(void **state)
{
    enum { COUNT = ROLLUP_ENTRIES_MAX * 3 / 2 };
    struct store_event *events = calloc(COUNT, sizeof(*events));
    struct store *store = make_named(state, "store.db");
    struct diag diag = {0};

    store_support_begin(store);
    store_support_define(store, 1);
    for (int64_t i = 0; i < COUNT; i++)
        events[i] = (struct store_event){.lane_id = 1, .op_id = i + 1, .dur_ns = i, .start_ns = 1};
    CHECK_OK(store_add_events(store, events, COUNT, &diag));
    store_support_commit(store);
    CHECK_U64(count_stored(store), COUNT);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM v_op_stat"), COUNT);
    store_support_begin(store);
    CHECK_OK(store_add_events(store, events, COUNT, &diag));
    store_support_commit(store);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM v_op_stat"), 2 * COUNT);
    CHECK_U64(store_support_int(store, "SELECT sum(sum_ns) FROM v_op_stat"),
              (int64_t)COUNT * (COUNT - 1));
    CHECK_OK(store_write_rollups(store, &diag));
    CHECK_U64(count_stored(store), 2 * COUNT);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat WHERE event_count = 2"),
              COUNT);
    free(events);
    store_close(&store);
}

/* A row may wait for 1 ms: ten of them for 10 ms. */
static void they_wait_for_as_long_as_they_may(void **state)
{
    struct store *store = make_named(state, "store.db");
    struct diag diag = {0};

    store_delay_rollups(store, 1000000);
    add(store, 1000, 0); /* the first ones at once */
    CHECK_U64(count_marks(store), 0);
    store_delay_rollups(store, FOR_EVER);
    add(store, 1000, 1000);
    assert_false(store_rollups_are_due(store));
    store_delay_rollups(store, 1);
    while (!store_rollups_are_due(store))
        ;
    CHECK_OK(store_write_rollups(store, &diag));
    check_settled(store);
    assert_false(store_rollups_are_due(store));
    store_delay_rollups(store, 0);
    add(store, 1000, 2000);
    check_settled(store);
    store_close(&store);
}

static void rows_of_totals_wait_twice(void **state)
{
    CHECK_U64(store_total_least_wait_ns(0, 76), 0);
    CHECK_U64(store_total_least_wait_ns(150000, 76), 22800000);
    CHECK_U64(store_total_least_wait_ns(150000, 60000), 18000000000);
    CHECK_U64(store_total_least_wait_ns(150000, 75000), TOTAL_WAIT_MAX_NS);
    CHECK_U64(store_total_least_wait_ns(150000, 200000), 30000000000);
    CHECK_U64(store_total_least_wait_ns(INT64_MAX, 1), INT64_MAX);
    CHECK_U64(store_total_least_wait_ns(INT64_MAX, 2), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(views_count_what_waits, make_place, remove_place),
        cmocka_unit_test_setup_teardown(bins_of_views_are_those_of_the_code, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_rollback_leaves_what_waits, make_place, remove_place),
        cmocka_unit_test_setup_teardown(somebody_else_writes, make_place, remove_place),
        cmocka_unit_test_setup_teardown(buckets_that_have_ended_are_written, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(one_that_is_ahead_keeps_nobody_waiting, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(the_killed_leave_ended_buckets_right, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(the_killed_leave_nothing_uncounted, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(dropped_events_were_counted, make_place, remove_place),
        cmocka_unit_test_setup_teardown(merged_rollups_count_what_waits, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_session_that_goes_takes_what_waits, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_copy_counts_what_waits, make_place, remove_place),
        cmocka_unit_test_setup_teardown(there_may_be_more_than_memory_holds, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(they_wait_for_as_long_as_they_may, make_place,
                                        remove_place),
        cmocka_unit_test(rows_of_totals_wait_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
