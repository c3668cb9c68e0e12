/* SPDX-License-Identifier: Apache-2.0 */
/* Old roll-ups become coarser, and say the same but for the time. */
#include "schema/store/retain.h"
#include "tests/support/check.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 5, HOURS = 3, EVENTS = HOURS * 3600 };
#define SECOND_NS INT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define START_NS  STORE_SUPPORT_START_NS

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

/* Events a second apart, from `start_ns` on. */
static void add(struct store *store, int64_t start_ns, size_t count)
{
    struct store_event *events = malloc(count * sizeof(*events));
    struct diag diag = {0};

    store_support_make_events(events, count, 0, OPS);
    for (size_t i = 0; i < count; i++)
        events[i].start_ns = start_ns + (int64_t)i * SECOND_NS;
    store_support_begin(store);
    CHECK_OK(store_add_events(store, events, count, &diag));
    store_support_commit(store);
    free(events);
}

static struct store *make_store(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *store = store_support_open(path, STORE_WRITE);

    store_support_begin(store);
    store_support_define(store, OPS);
    store_support_commit(store);
    add(store, START_NS, EVENTS);
    free(path);
    return store;
}

/* All that is asked of roll-ups. */
static char *answers(struct store *store)
{
    return store_support_text(
        store, "SELECT op_id, calls, host_ns, host_min_ns, host_max_ns, host_kern_ns, host_p50_ns,"
               " host_p90_ns, host_p99_ns, device_calls, device_ns, device_p99_ns FROM v_op"
               " ORDER BY op_id");
}

/* Merges all that is old at `now_ns`; nothing of what roll-ups say changes. */
static void merge(struct store *store, int64_t now_ns)
{
    const struct store_bounds bounds = {0};
    struct store_retained done;
    struct diag diag = {0};
    char *before = answers(store), *after;
    int rc, steps = 0;

    while ((rc = store_retain(store, &bounds, now_ns, 1, &done, &diag)) == 1)
        steps++;
    if (rc < 0)
        fail_msg("store_retain: %d: %s", rc, diag.text);
    assert_in_range(steps, 0, 1000);
    after = answers(store);
    assert_string_equal(after, before);
    free(before);
    free(after);
}

static void check_lengths(struct store *store, const char *want)
{
    char *got = store_support_text(store, "SELECT bucket_ns / 1000000000, count(DISTINCT start_ns),"
                                          " (min(start_ns) - 1767225600000000000) / 1000000000,"
                                          " max(start_ns % bucket_ns) FROM op_stat GROUP BY 1");

    assert_string_equal(got, want);
    free(got);
}

static void an_hour_stays_as_it_is(void **state)
{
    struct store *store = make_store(state);

    check_lengths(store, "10|1080|0|0");
    merge(store, START_NS + HOUR_NS);
    check_lengths(store, "10|1080|0|0");
    merge(store, START_NS + HOUR_NS + 599 * SECOND_NS);
    check_lengths(store, "10|1080|0|0");
    merge(store, START_NS + HOUR_NS + 600 * SECOND_NS);
    check_lengths(store, "10|1020|600|0\n600|1|0|0");
    merge(store, START_NS + HOURS * HOUR_NS);
    check_lengths(store, "10|360|7200|0\n600|12|0|0");
    store_support_check_integrity(store);
    store_close(&store);
}

static void a_week_becomes_days(void **state)
{
    struct store *store = make_store(state);

    merge(store, START_NS + 7 * 24 * HOUR_NS);
    check_lengths(store, "600|18|0|0");
    merge(store, START_NS + 8 * 24 * HOUR_NS - SECOND_NS);
    check_lengths(store, "600|18|0|0");
    merge(store, START_NS + 8 * 24 * HOUR_NS);
    check_lengths(store, "86400|1|0|0");
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat"), 2 * OPS);
    store_support_check_integrity(store);
    store_close(&store);
}

/* Events that come late count once, also in a bucket that the writer still knew. */
static void late_events_are_merged_too(void **state)
{
    struct store *store = make_store(state);

    merge(store, START_NS + HOURS * HOUR_NS);
    add(store, START_NS, 1200);
    add(store, START_NS + 5 * 600 * SECOND_NS, 100);
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), EVENTS + 1300);
    check_lengths(store, "10|490|0|0\n600|12|0|0");
    merge(store, START_NS + HOURS * HOUR_NS + 600 * SECOND_NS);
    check_lengths(store, "10|300|7800|0\n600|13|0|0");
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), EVENTS + 1300);
    merge(store, START_NS + 30 * 24 * HOUR_NS);
    add(store, START_NS, 1200);
    merge(store, START_NS + 31 * 24 * HOUR_NS);
    check_lengths(store, "86400|1|0|0");
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), EVENTS + 2500);
    CHECK_U64(store_support_int(store, "SELECT sum(sum_ns) FROM op_stat"),
              store_support_int(store, "SELECT sum(dur_ns) FROM event"));
    store_support_check_integrity(store);
    store_close(&store);
}

/* What cannot be read stays as it is, and keeps nothing else from being merged. */
static void damage_is_passed_over(void **state)
{
    struct store *store = make_store(state);
    char *path = temp_path(*state, "store.db");
    const struct store_bounds bounds = {0};
    struct store_retained done;
    struct diag diag = {0};

    store_support_run(path, "UPDATE op_stat SET histogram = '{' WHERE start_ns % 600000000000 ="
                            " 300000000000 AND start_ns < 1767229200000000000");
    while (store_retain(store, &bounds, START_NS + HOURS * HOUR_NS, 1, &done, &diag) == 1)
        ;
    check_lengths(store, "10|720|0|0\n600|6|3600|0");
    CHECK_U64(store_support_int(store, "SELECT sum(event_count) FROM op_stat"), EVENTS);
    free(path);
    store_close(&store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_hour_stays_as_it_is),
        TEST(a_week_becomes_days),
        TEST(late_events_are_merged_too),
        TEST(damage_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
