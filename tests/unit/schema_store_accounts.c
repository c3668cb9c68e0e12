/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept beside events: event_batch and op_stat, through commits, rollbacks, a new process
 * and somebody else's changes. */
#include "schema/store/private.h"
#include "tests/support/check.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 10 };

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

static struct store *make_store(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *store = store_support_open(path, STORE_WRITE);

    store_support_begin(store);
    store_support_define(store, OPS);
    store_support_commit(store);
    free(path);
    return store;
}

static struct store *reopen(void **state, struct store *store)
{
    char *path = temp_path(*state, "store.db");

    store_close(&store);
    store = store_support_open(path, STORE_WRITE);
    free(path);
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

static void check_batches(struct store *store, const char *want)
{
    char *got = store_support_text(store, "SELECT first_rowid, last_rowid FROM event_batch");

    assert_string_equal(got, want);
    free(got);
}

static void batches_are_cut_and_go_on(void **state)
{
    struct store *store = make_store(state);
    char *text;

    add(store, 5, 0);
    check_batches(store, "1|5");
    add(store, 1, 5);
    add(store, 8190, 6);
    check_batches(store, "1|8192\n8193|8196");
    add(store, 2 * 8192, 8196);
    check_batches(store, "1|8192\n8193|16384\n16385|24576\n24577|24580");
    text =
        store_support_text(store, "SELECT start_ns, end_ns, dur_max_ns, session_min, session_max,"
                                  " lanes FROM event_batch WHERE first_rowid = 24577");
    /* Events 24,576 to 24,579 are of ops 9 and 10; event n of op i takes 400 + 100 i + n % 7 ns. */
    assert_string_equal(text, "1767225600024576000|1767225600024580402|1402|1|1|[1,2]");
    free(text);
    store_support_check_accounts(store);
    store_close(&store);
}

/* A new process, a pause and a step back in time begin a batch. */
static void batches_are_narrow_in_time(void **state)
{
    struct store *store = make_store(state);

    add(store, 10, 0);
    store = reopen(state, store);
    add(store, 10, 10);
    check_batches(store, "1|10\n11|20");
    add(store, 10, 10 + 9999990); /* just below 10 s after event 10 */
    check_batches(store, "1|10\n11|30");
    add(store, 10, 10 + 10000000);
    check_batches(store, "1|10\n11|30\n31|40");
    add(store, 10, 5);
    check_batches(store, "1|10\n11|30\n31|40\n41|50");
    store_support_check_accounts(store);
    store_close(&store);
}

static void a_rollback_leaves_no_trace(void **state)
{
    struct store *store = make_store(state);
    struct store_event events[1000];
    struct diag diag = {0};

    add(store, 1000, 0);
    for (int i = 0; i < 3; i++) {
        store_support_begin(store);
        store_support_make_events(events, 1000, 1000, OPS);
        CHECK_OK(store_add_events(store, events, 1000, &diag));
        store_rollback(store);
        store_rollback(store); /* allowed at any time */
    }
    add(store, 1000, 1000);
    check_batches(store, "1|1000\n1001|2000");
    store_support_check_accounts(store);
    store_close(&store);
}

static void rollups_go_on_in_a_new_process(void **state)
{
    struct store *store = make_store(state);

    add(store, 1000, 0);
    store = reopen(state, store);
    add(store, 1000, 1000);
    add(store, 1000, 9999500); /* over the end of a bucket */
    CHECK_U64(store_support_int(store, "SELECT count(DISTINCT start_ns) FROM op_stat"), 2);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat"), 4 * OPS);
    store_support_check_accounts(store);
    store_close(&store);
}

/* Another connection deletes events and their accounts while the store is open. */
static void changes_of_others_are_seen(void **state)
{
    struct store *store = make_store(state);
    char *path = temp_path(*state, "store.db");

    add(store, 1000, 0);
    store_support_run(path, "DELETE FROM event; DELETE FROM event_batch; DELETE FROM op_stat;");
    add(store, 1000, 1000);
    check_batches(store, "1|1000");
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), 1000);
    store_support_check_accounts(store);
    store_close(&store);
    free(path);
}

/* Old buckets are forgotten after a while, and read again when events come late. */
static void late_events_count(void **state)
{
    struct store *store = make_store(state);

    add(store, 100, 0);
    for (int i = 1; i <= 100; i++)
        add(store, 100, 20000000 + i * 100);
    assert_in_range(store->rollup.entry_count, 1, 2 * OPS);
    add(store, 100, 100);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat WHERE start_ns = "
                                       "1767225600000000000"),
              200);
    store_support_check_accounts(store);
    store_close(&store);
}

static void what_is_not_finished_does_not_count(void **state)
{
    struct store *store = make_store(state);
    const struct store_event events[] = {
        {1, 1, 1, 5, STORE_NULL, STORE_NULL, STORE_NULL, STORE_NULL}, /* unfinished */
        {1, STORE_NULL, 1, 7, 3, STORE_NULL, STORE_NULL, STORE_NULL}, /* of no op */
        {3, 2, 1, -12, 4, STORE_NULL, STORE_NULL, 100},               /* before 1970 */
        {2, 2, STORE_NULL, INT64_MAX - 1, 90, 1, 1, STORE_NULL},      /* its end is no time */
    };
    struct diag diag = {0};
    char *text;

    store_support_begin(store);
    CHECK_OK(store_add_events(store, events, 4, &diag));
    store_support_commit(store);
    text = store_support_text(store, "SELECT op_id, lane_kind, start_ns, event_count, sum_ns,"
                                     " kern_sum_ns, histogram FROM op_stat");
    assert_string_equal(text, "2|stream|-10000000000|1|4|0|{\"4\":1}\n"
                              "2|queue|9223372030000000000|1|90|1|{\"54\":1}");
    free(text);
    text = store_support_text(store, "SELECT * FROM event_batch");
    assert_string_equal(text, "1|4|-12|9223372036854775807|90|1|1|[1,3,2]");
    free(text);
    store_close(&store);
}

static void more_than_64_lanes_are_not_listed(void **state)
{
    struct store *store = make_store(state);
    struct store_event events[65];
    struct diag diag = {0};

    store_support_begin(store);
    for (int i = 0; i < 65; i++) {
        struct store_lane lane = {100 + i, 1 + i / 64, 100 + i, "thread", NULL, NULL, STORE_NULL};

        CHECK_OK(store_put_lane(store, &lane, &diag));
        events[i] = (struct store_event){100 + i, 1, 1, 1, 1, 1, 1, 1};
    }
    CHECK_OK(store_add_events(store, events, 64, &diag));
    store_support_commit(store);
    CHECK_U64(store_support_int(store, "SELECT json_array_length(lanes) FROM event_batch"), 64);
    store_support_begin(store);
    CHECK_OK(store_add_events(store, events + 64, 1, &diag));
    store_support_commit(store);
    CHECK_U64(store_support_int(store,
                                "SELECT lanes IS NULL AND session_min = 1 AND session_max = 2"
                                " AND last_rowid = 65 FROM event_batch"),
              1);
    store_close(&store);
}

/* More ops at once than are kept in memory. */
static void very_many_ops_are_counted(void **state)
{
    enum { MANY = ROLLUP_ENTRIES_MAX + 5000 };
    struct store *store = make_store(state);
    struct store_event *events = calloc(MANY, sizeof(*events));
    struct diag diag = {0};

    store_support_begin(store);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            events[i] = (struct store_event){1, i + 1, 1, 1000, 7, 0, 0, STORE_NULL};
        CHECK_OK(store_add_events(store, events, MANY, &diag));
        assert_in_range(store->rollup.entry_count, 1, ROLLUP_ENTRIES_MAX);
    }
    store_support_commit(store);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat WHERE event_count = 2 AND"
                                       " histogram = '{\"7\":2}'"),
              MANY);
    store_close(&store);
    free(events);
}

/* Each run that is open asks what its ops are: what was known of one that is put anew is not. */
static void an_op_that_is_put_anew_is_asked_for_again(void **state)
{
    static const char *const types[] = {"Conv", "phase", "Conv"};
    struct store *store = make_store(state);
    struct diag diag = {0};

    for (int64_t run = 1; run <= 3; run++) {
        const struct store_op op = {.op_id = 1,
                                    .session_id = 1,
                                    .client_op = 1,
                                    .model_id = STORE_NULL,
                                    .name = "op_1",
                                    .type = types[run - 1],
                                    .computation_flop = STORE_NULL,
                                    .memory_bytes = STORE_NULL,
                                    .workspace_bytes = STORE_NULL};
        const struct store_event event = {1, 1, run, 1000 * run, 7, 0, 0, STORE_NULL};

        store_support_begin(store);
        CHECK_OK(store_put_op(store, &op, &diag));
        CHECK_OK(store_add_events(store, &event, 1, &diag));
        store_support_commit(store);
    }
    store_support_begin(store);
    CHECK_OK(store_total_write(store, &diag));
    store_support_commit(store);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_total WHERE op_id = 1"), 2);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_total WHERE run = 2"), 0);
    store_close(&store);
}

static void senseless_events_are_refused(void **state)
{
    static const struct {
        struct store_event event;
        const char *part;
    } cases[] = {
        {{STORE_NULL, 1, 1, 1, 1, 1, 1, 1}, "has no lane"},
        {{1, 1, 1, STORE_NULL, 1, 1, 1, 1}, "has no start"},
        {{1, 1, 1, 1, -1, 1, 1, 1}, "ends before it starts"},
        {{77, 1, 1, 1, 1, 1, 1, 1}, "lane 77, which is not in"},
    };
    struct store *store = make_store(state);
    struct store_event good = {1, 1, 1, 1, 1, 1, 1, 1};
    struct diag outside = {0};

    assert_int_equal(store_add_events(store, &good, 1, &outside), -EINVAL);
    CHECK_CONTAINS(outside.text, "outside a transaction");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};

        store_support_begin(store);
        assert_int_equal(store_add_events(store, &cases[i].event, 1, &diag), -EINVAL);
        CHECK_CONTAINS(diag.text, cases[i].part);
        store_rollback(store);
    }
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), 0);
    store_close(&store);
}

/* A store from anywhere: a histogram that cannot be read is an error, not a crash. */
static void a_damaged_rollup_is_an_error(void **state)
{
    struct store *store = make_store(state);
    char *path = temp_path(*state, "store.db");
    struct store_event event;
    struct diag diag = {0};

    add(store, 10, 0);
    store_support_run(path, "UPDATE op_stat SET histogram = '{\"5\":-1}'");
    store_support_make_events(&event, 1, 10, OPS);
    event.op_id = 1;
    store_support_begin(store);
    CHECK_OK(store_add_events(store, &event, 1, &diag));
    assert_int_equal(store_commit(store, &diag), -EUCLEAN);
    CHECK_CONTAINS(diag.text, "histogram");
    store_rollback(store);
    store_close(&store);
    free(path);
}

int main(void)
{
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        WITH_PLACE(batches_are_cut_and_go_on),
        WITH_PLACE(batches_are_narrow_in_time),
        WITH_PLACE(a_rollback_leaves_no_trace),
        WITH_PLACE(rollups_go_on_in_a_new_process),
        WITH_PLACE(changes_of_others_are_seen),
        WITH_PLACE(late_events_count),
        WITH_PLACE(what_is_not_finished_does_not_count),
        WITH_PLACE(more_than_64_lanes_are_not_listed),
        WITH_PLACE(very_many_ops_are_counted),
        WITH_PLACE(an_op_that_is_put_anew_is_asked_for_again),
        WITH_PLACE(senseless_events_are_refused),
        WITH_PLACE(a_damaged_rollup_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
