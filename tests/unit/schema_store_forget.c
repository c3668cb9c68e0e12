/* SPDX-License-Identifier: Apache-2.0 */
/* Dropping whole sessions: which, all of their rows, and what is there in between. */
#include "schema/store/private.h"
#include "schema/store/retain.h"
#include "tests/support/check.h"
#include "tests/support/dropped_store.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { NEW_SESSION = 5 };
#define END_NS (DROPPED_STORE_START_NS + DROPPED_STORE_STEPS * DROPPED_STORE_STEP_NS)
#define DAY_NS INT64_C(86400000000000)

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

/* Four sessions, and one of the day after that still runs. */
static struct store *make_store(void **state, int dropped_steps)
{
    char *path = temp_path(*state, "store.db");
    const struct store_session session = {.session_id = NEW_SESSION,
                                          .uuid = {NEW_SESSION},
                                          .start_ns = END_NS + DAY_NS,
                                          .end_ns = STORE_NULL,
                                          .pid = 5,
                                          .uid = 5,
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lane = {9, NEW_SESSION, 1, "thread", "main", NULL, 1};
    const struct store_op op = {7,    NEW_SESSION, 1,          STORE_NULL, "now", "Conv",
                                NULL, NULL,        NULL,       NULL,       NULL,  NULL,
                                NULL, STORE_NULL,  STORE_NULL, STORE_NULL, NULL,  NULL};
    const struct store_event event = {9,    7,          STORE_NULL, END_NS + DAY_NS,
                                      1000, STORE_NULL, STORE_NULL, STORE_NULL};
    struct store *store;
    struct diag diag = {0};

    dropped_store_make(path, dropped_steps);
    store = store_support_open(path, STORE_WRITE);
    store_support_begin(store);
    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
    CHECK_OK(store_put_op(store, &op, &diag));
    CHECK_OK(store_add_events(store, &event, 1, &diag));
    store_support_commit(store);
    free(path);
    return store;
}

/* Of each session that is there, roll-ups have what is stored and what is counted as dropped. */
static void check_whole(struct store *store)
{
    CHECK_U64(store_support_int(store,
                                "SELECT count(*) FROM v_session s WHERE event_count <>"
                                " dropped_event_count + (SELECT count(*) FROM event e JOIN lane l"
                                " USING (lane_id) WHERE l.session_id = s.session_id)"),
              0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event WHERE lane_id NOT IN (SELECT"
                                       " lane_id FROM lane)"),
              0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat WHERE op_id NOT IN (SELECT"
                                       " op_id FROM op)"),
              0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event e WHERE NOT EXISTS (SELECT 1"
                                       " FROM event_batch b WHERE e.rowid BETWEEN b.first_rowid"
                                       " AND b.last_rowid)"),
              0);
}

/* Drops sessions that ended half a day before `now_ns`. Returns how many steps it took. */
static int forget(struct store *store, int64_t now_ns)
{
    const struct store_bounds bounds = {.keep_sessions_ns = DAY_NS / 2};
    struct store_retained done;
    struct diag diag = {0};
    int rc, steps = 0;

    while ((rc = store_retain(store, &bounds, now_ns, 1, &done, &diag)) == 1) {
        check_whole(store);
        steps++;
    }
    if (rc < 0)
        fail_msg("store_retain: %d: %s", rc, diag.text);
    assert_in_range(steps, 0, 1000);
    return steps;
}

static void check_sessions(struct store *store, const char *want)
{
    char *got = store_support_text(store, "SELECT group_concat(session_id, ' ') FROM (SELECT"
                                          " session_id FROM session ORDER BY 1)");

    assert_string_equal(got, want);
    free(got);
}

static void old_sessions_go_with_all_their_rows(void **state)
{
    static const char *const tables[] = {"session", "op",    "lane",
                                         "op_stat", "event", "event_batch"};
    struct store *store = make_store(state, 3);

    assert_int_equal(forget(store, END_NS + DAY_NS / 2), 0); /* not yet */
    check_sessions(store, "1 2 3 4 5");
    assert_true(forget(store, END_NS + DAY_NS) > 4 * 5);
    check_sessions(store, "5");
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        char sql[64];

        snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", tables[i]);
        CHECK_U64(store_support_int(store, sql), 1);
    }
    CHECK_U64(store_support_int(store, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM"
                                       " memory_event) + (SELECT count(*) FROM dropped)"),
              0);
    store_support_check_integrity(store);
    store_close(&store);
}

/* A new event is not given the number of one that is gone. */
static void recording_goes_on(void **state)
{
    struct store *store = make_store(state, 0);
    struct store_event event = {9,    7,          STORE_NULL, END_NS + DAY_NS + 1,
                                1000, STORE_NULL, STORE_NULL, STORE_NULL};
    struct diag diag = {0};
    int64_t last = store_support_int(store, "SELECT max(rowid) FROM event");

    forget(store, END_NS + DAY_NS);
    store_support_begin(store);
    CHECK_OK(store_add_events(store, &event, 1, &diag));
    store_support_commit(store);
    CHECK_U64(store_support_int(store, "SELECT max(rowid) FROM event"), last + 1);
    CHECK_U64(store_support_int(store, "SELECT last_rowid FROM event_batch"), last + 1);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), 2);
    store_close(&store);
}

static void imports_and_calibrations_stay(void **state)
{
    struct store *store = make_store(state, 0);
    char *path = temp_path(*state, "store.db");

    store_support_run(path, "UPDATE session SET source = 'chrome' WHERE session_id = 2;"
                            "UPDATE op_row SET type = 'counter', name = 'calibration.threads' WHERE"
                            " session_id = 3");
    forget(store, END_NS + 100 * DAY_NS);
    check_sessions(store, "2 3 5");
    check_whole(store);
    free(path);
    store_close(&store);
}

/* The numbers of the next events follow from the last batch. */
static void sessions_of_the_last_batch_stay(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *store;

    dropped_store_make(path, 0);
    store = store_support_open(path, STORE_WRITE);
    forget(store, END_NS + DAY_NS);
    check_sessions(store, "1 2 3 4");
    free(path);
    store_close(&store);
}

/* A writer that died in the middle: the next one goes on. */
static void the_next_writer_goes_on(void **state)
{
    const struct store_bounds bounds = {.keep_sessions_ns = DAY_NS / 2};
    char *path = temp_path(*state, "store.db");
    struct store *store = make_store(state, 0);
    struct store_retained done;
    struct diag diag = {0};

    for (int i = 0; i < 200 && store_support_int(store, "SELECT count(*) FROM session") > 1; i++) {
        store_retain(store, &bounds, END_NS + DAY_NS, 1, &done, &diag);
        if (i % 16 == 15) {
            store_close(&store);
            store = store_support_open(path, STORE_WRITE);
            check_whole(store);
        }
    }
    check_sessions(store, "5");
    store_support_check_integrity(store);
    free(path);
    store_close(&store);
}

static void put_session(struct store *store, int64_t id, int64_t end_ns)
{
    const struct store_session session = {.session_id = id,
                                          .uuid = {(uint8_t)id},
                                          .start_ns = END_NS,
                                          .end_ns = end_ns,
                                          .pid = id,
                                          .uid = 5,
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lane = {id, id, 1, "thread", "main", NULL, 1};
    const struct store_op op = {id,   id,         1,          STORE_NULL, "now", "Conv",
                                NULL, NULL,       NULL,       NULL,       NULL,  NULL,
                                NULL, STORE_NULL, STORE_NULL, STORE_NULL, NULL,  NULL};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
    CHECK_OK(store_put_op(store, &op, &diag));
}

static void put_event(struct store *store, int64_t session_id, int64_t number)
{
    const struct store_event event = {session_id, session_id, STORE_NULL, END_NS + number * 1000,
                                      500,        STORE_NULL, STORE_NULL, STORE_NULL};
    struct diag diag = {0};

    CHECK_OK(store_add_events(store, &event, 1, &diag));
}

/* Programs that come and go beside one that stays: of all batches, whose sessions are those of a
 * range, only those with lanes of the session are read. */
static void a_short_session_costs_no_look_at_each_batch(void **state)
{
    enum { EVENTS = 100000, MINE = 10, STEPS_MAX = 9 };
    char *path = temp_path(*state, "many.db");
    struct store *store = store_support_open(path, STORE_WRITE);

    store_support_begin(store);
    put_session(store, 1, STORE_NULL);
    put_session(store, 2, END_NS + 1000000);
    put_session(store, 3, STORE_NULL);
    for (int64_t i = 0; i < EVENTS; i++)
        put_event(store, i >= MINE && i < 2 * MINE ? 2 : i % 2 ? 1 : 3, i);
    store_support_commit(store);
    assert_in_range(store_support_int(store, "SELECT count(*) FROM event_batch WHERE session_min"
                                             " <= 2 AND session_max >= 2"),
                    10, EVENTS);
    assert_in_range(forget(store, END_NS + DAY_NS), 1, STEPS_MAX);
    check_sessions(store, "1 3");
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), EVENTS - MINE);
    store_close(&store);
    free(path);
}

/* Sessions go first; where there are more than can go in time, events do too: the budget holds. */
static void events_go_where_sessions_go_too_slowly(void **state)
{
    enum { EVENTS = 100000 };
    const int64_t now_ns = END_NS + DAY_NS;
    char *path = temp_path(*state, "late.db");
    struct store *store = store_support_open(path, STORE_WRITE);
    struct store_bounds bounds = {0};
    struct store_retained done;
    struct diag diag = {0};
    int64_t used_bytes;

    store_support_begin(store);
    for (int64_t id = 1; id <= 9; id++)
        put_session(store, id, id == 1 ? STORE_NULL : END_NS);
    for (int64_t i = 0; i < EVENTS; i++)
        put_event(store, 1, i);
    store_support_commit(store);
    CHECK_OK(store_used_bytes(store, &used_bytes, &diag));
    for (int i = 0; i < 2; i++) {
        bounds.budget_bytes = i == 0 ? used_bytes - 4096 : used_bytes / 2;
        store->shed =
            (struct shed){.has_looked = true, .looked_ns = now_ns, .rest_bytes = INT64_MAX};
        assert_int_equal(store_retain(store, &bounds, now_ns, 1, &done, &diag), 1);
        assert_int_equal(done.row_count > 0, i == 1);
        assert_int_equal(done.shed_count > 0, i == 0);
    }
    store_close(&store);
    free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(old_sessions_go_with_all_their_rows),
        TEST(a_short_session_costs_no_look_at_each_batch),
        TEST(events_go_where_sessions_go_too_slowly),
        TEST(recording_goes_on),
        TEST(imports_and_calibrations_stay),
        TEST(sessions_of_the_last_batch_stay),
        TEST(the_next_writer_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
