/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over events: what counts, self time of nested ops, several lanes, coverage. */
#include <math.h>

#include "analyze/query/scan.h"
#include "schema/store/store.h"
#include "tests/support/check.h"

enum {
    OP_CONV = 1,
    OP_RELU,
    OP_LABEL,
    OP_PHASE,
    HOST_LANE = 1,
    OTHER_HOST_LANE,
    DEVICE_LANE,
    OTHER_DEVICE_LANE
};

/* One session: four lanes, four ops, run 1 is a warm-up, run 2 [1000, 2000] counts, 3 did not end.
 */
struct fixture {
    struct scan scan;
    struct scan_session session;
    struct scan_lane lanes[4];
};

static const int64_t op_ids[] = {OP_CONV, OP_RELU, OP_LABEL, OP_PHASE};
static const uint8_t op_kinds[] = {SCAN_OP_NESTING, SCAN_OP_NESTING, SCAN_OP_WHOLE,
                                   SCAN_OP_SKIPPED};

static void start(struct fixture *fixture)
{
    const int64_t numbers[] = {1, 2, 3};

    *fixture = (struct fixture){
        .session = {.session_id = 9, .from_ns = INT64_MIN, .until_ns = INT64_MAX},
        .lanes = {{.lane_id = HOST_LANE},
                  {.lane_id = OTHER_HOST_LANE},
                  {.lane_id = DEVICE_LANE, .side = SCAN_DEVICE},
                  {.lane_id = OTHER_DEVICE_LANE, .side = SCAN_DEVICE}},
        .scan = {.session_count = 1,
                 .lane_count = 4,
                 .op_ids = op_ids,
                 .op_kinds = op_kinds,
                 .op_count = 4},
    };
    fixture->session.runs = calloc(3, sizeof(struct scan_run));
    fixture->session.runs[0] = (struct scan_run){100, 900, false};
    fixture->session.runs[1] = (struct scan_run){1000, 2000, true};
    fixture->session.runs[2] = (struct scan_run){3000, STORE_NULL, false};
    fixture->session.run_count = 3;
    CHECK_OK(id_map_init(&fixture->session.run_map, numbers, 3));
    fixture->scan.sessions = &fixture->session;
    fixture->scan.lanes = fixture->lanes;
    CHECK_OK(scan_prepare(&fixture->scan));
}

static void add(struct fixture *fixture, int64_t lane, int64_t op, int64_t run, int64_t start_ns,
                int64_t dur_ns, int64_t kern_ns)
{
    struct scan_event event = {lane, op, run, start_ns, dur_ns, kern_ns};

    scan_add(&fixture->scan, &event);
    assert_int_equal(fixture->scan.error, 0);
}

static struct scan_cost cost_of(const struct fixture *fixture, int64_t op, enum scan_side side)
{
    return scan_op_cost(&fixture->scan, (uint32_t)(op - 1), side);
}

static int64_t covered(struct fixture *fixture, enum scan_side side)
{
    int64_t total;

    CHECK_OK(interval_total(&fixture->scan.covered[side], &total));
    return total;
}

static void only_selected_runs_count(void **state)
{
    struct fixture fixture;
    struct scan_cost cost;

    start(&fixture);
    add(&fixture, DEVICE_LANE, OP_CONV, 1, 200, 100, 10);
    add(&fixture, DEVICE_LANE, OP_CONV, 2, 1100, 300, 20);
    add(&fixture, DEVICE_LANE, OP_CONV, 2, 1500, 100, STORE_NULL);
    add(&fixture, DEVICE_LANE, OP_CONV, 3, 3100, 500, 10);
    add(&fixture, DEVICE_LANE, OP_CONV, STORE_NULL, 4000, 100, 10);
    add(&fixture, 77, OP_CONV, 2, 1100, 100, 10);
    cost = cost_of(&fixture, OP_CONV, SCAN_DEVICE);
    CHECK_U64(cost.calls, 2);
    CHECK_NEAR(cost.end_ns, 400, 0);
    CHECK_NEAR(cost.kern_ns, 40, 1e-9); /* the call that does not say is like the other */
    CHECK_NEAR(cost.exec_ns, 560, 1e-9);
    CHECK_NEAR(cost.min_ns, 100, 0);
    CHECK_NEAR(cost.max_ns, 300, 0);
    CHECK_U64(cost_of(&fixture, OP_CONV, SCAN_HOST).calls, 0);
    assert_true(isnan(cost_of(&fixture, OP_CONV, SCAN_HOST).end_ns));
    CHECK_U64(fixture.scan.counted, 2);
    CHECK_U64(fixture.scan.outside_count, 1);
    CHECK_U64((uint64_t)covered(&fixture, SCAN_DEVICE), 400);
    scan_deinit(&fixture.scan);
}

static void all_events_count_when_asked(void **state)
{
    struct fixture fixture;

    start(&fixture);
    fixture.session.all_events = true;
    add(&fixture, HOST_LANE, OP_CONV, STORE_NULL, 4000, 100, 10);
    add(&fixture, HOST_LANE, OP_CONV, 99, 5000, 100, 10);
    add(&fixture, HOST_LANE, OP_CONV, 1, 200, 100, 10); /* still a warm-up */
    CHECK_U64(cost_of(&fixture, OP_CONV, SCAN_HOST).calls, 2);
    CHECK_U64(fixture.scan.outside_count, 0);
    scan_deinit(&fixture.scan);
}

static void window_is_half_open(void **state)
{
    struct fixture fixture;

    start(&fixture);
    fixture.session.from_ns = 1100;
    fixture.session.until_ns = 1200;
    add(&fixture, HOST_LANE, OP_CONV, 2, 1099, 100, 10);
    add(&fixture, HOST_LANE, OP_CONV, 2, 1100, 1, 0);
    add(&fixture, HOST_LANE, OP_CONV, 2, 1199, 100, 10);
    add(&fixture, HOST_LANE, OP_CONV, 2, 1200, 100, 10);
    CHECK_U64(cost_of(&fixture, OP_CONV, SCAN_HOST).calls, 2);
    scan_deinit(&fixture.scan);
}

static void nested_ops_are_taken_off(void **state)
{
    struct fixture fixture;

    start(&fixture);
    /* conv [1000, 1500] holds relu [1100, 1200], which holds relu [1120, 1140], and relu [1300,
     * 1310]; a label holds them all; a phase is no op. Inner spans end first. */
    add(&fixture, HOST_LANE, OP_RELU, 2, 1120, 20, STORE_NULL);
    add(&fixture, HOST_LANE, OP_RELU, 2, 1100, 100, STORE_NULL);
    add(&fixture, OTHER_HOST_LANE, OP_RELU, 2, 1200, 50, STORE_NULL);
    add(&fixture, HOST_LANE, OP_RELU, 2, 1300, 10, STORE_NULL);
    add(&fixture, HOST_LANE, OP_PHASE, 2, 1000, 400, STORE_NULL);
    add(&fixture, HOST_LANE, OP_CONV, 2, 1000, 500, STORE_NULL);
    add(&fixture, HOST_LANE, OP_LABEL, 2, 1000, 900, STORE_NULL);
    CHECK_NEAR(cost_of(&fixture, OP_CONV, SCAN_HOST).end_ns, 390, 0);
    CHECK_NEAR(cost_of(&fixture, OP_CONV, SCAN_HOST).max_ns, 500, 0);
    CHECK_NEAR(cost_of(&fixture, OP_RELU, SCAN_HOST).end_ns, 160, 0);
    CHECK_NEAR(cost_of(&fixture, OP_LABEL, SCAN_HOST).end_ns, 900, 0);
    CHECK_U64(cost_of(&fixture, OP_PHASE, SCAN_HOST).calls, 0);
    CHECK_U64((uint64_t)covered(&fixture, SCAN_HOST), 500);
    scan_deinit(&fixture.scan);
}

static void many_siblings_need_little_memory(void **state)
{
    struct fixture fixture;

    start(&fixture);
    fixture.session.runs[1].end_ns = 100000000;
    for (int64_t i = 0; i < 1000000; i++)
        add(&fixture, HOST_LANE, OP_CONV, 2, 1000 + i * 10, 5, STORE_NULL);
    CHECK_NEAR(cost_of(&fixture, OP_CONV, SCAN_HOST).end_ns, 5000000, 0);
    assert_true(fixture.lanes[0].open.count <= SCAN_OPEN_MAX);
    scan_deinit(&fixture.scan);
}

/* Of a hundred thousand inside of one none is forgotten. */
static void many_children_are_taken_off(void **state)
{
    struct fixture fixture;

    start(&fixture);
    for (int64_t i = 0; i < 100000; i++)
        add(&fixture, HOST_LANE, OP_RELU, 2, 1000 + i * 10, 5, STORE_NULL);
    add(&fixture, HOST_LANE, OP_CONV, 2, 1000, 1000000, STORE_NULL);
    assert_false(fixture.scan.needs_tree);
    assert_true(fixture.lanes[0].open.count <= SCAN_OPEN_MAX);
    CHECK_NEAR(cost_of(&fixture, OP_CONV, SCAN_HOST).end_ns, 500000, 0);
    scan_restart(&fixture.scan);
    for (int64_t i = 0; i < 100000; i++)
        add(&fixture, HOST_LANE, OP_RELU, 2, 1000 + i * 10, 5, STORE_NULL);
    /* From the second of them on, which are together with the first. */
    add(&fixture, HOST_LANE, OP_CONV, 2, 1010, 999990, STORE_NULL);
    assert_true(fixture.scan.needs_tree);
    scan_deinit(&fixture.scan);
}

static void says_where_order_does_not_tell(void **state)
{
    static const struct {
        int64_t spans[3][2]; /* start and duration */
        bool needs_tree;
    } cases[] = {
        {{{6, 1}, {0, 10}, {20, 5}}, false},  {{{6, 1}, {0, 10}, {5, 10}}, true}, /* in both */
        {{{6, 1}, {0, 10}, {6, 10}}, true},   {{{6, 1}, {0, 10}, {7, 10}}, false},
        {{{0, 10}, {5, 10}, {3, 20}}, false}, /* nothing is in the first */
        {{{0, 10}, {5, 10}, {0, 20}}, false}, /* all in the last */
        {{{0, 10}, {2, 3}, {20, 5}}, true},   /* the inner one comes late */
        {{{0, 10}, {10, 0}, {10, 5}}, false}, {{{0, 10}, {0, 10}, {0, 10}}, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture fixture;

        start(&fixture);
        for (int k = 0; k < 3; k++)
            add(&fixture, HOST_LANE, OP_CONV, 2, cases[i].spans[k][0], cases[i].spans[k][1],
                STORE_NULL);
        if (fixture.scan.needs_tree != cases[i].needs_tree)
            fail_msg("case %zu", i);
        scan_deinit(&fixture.scan);
    }
}

static void lanes_add_up_unless_flat(void **state)
{
    struct fixture fixture;

    for (int flat = 0; flat < 2; flat++) {
        struct scan_cost cost;

        start(&fixture);
        fixture.session.flat = flat;
        add(&fixture, DEVICE_LANE, OP_CONV, 2, 1000, 300, 200);
        add(&fixture, OTHER_DEVICE_LANE, OP_CONV, 2, 1000, 400, 50);
        add(&fixture, DEVICE_LANE, OP_RELU, 2, 1400, 100, STORE_NULL);
        add(&fixture, OTHER_DEVICE_LANE, OP_RELU, 2, 1400, 100, STORE_NULL);
        cost = cost_of(&fixture, OP_CONV, SCAN_DEVICE);
        CHECK_U64(cost.calls, flat ? 1 : 2);
        CHECK_NEAR(cost.end_ns, flat ? 400 : 700, 0);
        CHECK_NEAR(cost.kern_ns, flat ? 200 : 250, 0);
        CHECK_NEAR(cost.exec_ns, flat ? 350 : 450, 0);
        CHECK_NEAR(cost_of(&fixture, OP_RELU, SCAN_DEVICE).end_ns, flat ? 100 : 200, 0);
        CHECK_U64((uint64_t)covered(&fixture, SCAN_DEVICE), 500);
        scan_deinit(&fixture.scan);
    }
}

static void equal_times_of_a_flat_session_do_not_nest(void **state)
{
    struct fixture fixture;

    start(&fixture);
    fixture.session.flat = true;
    add(&fixture, HOST_LANE, OP_CONV, 2, 0, 300, 200);
    add(&fixture, HOST_LANE, OP_RELU, 2, 0, 400, 200);
    CHECK_NEAR(cost_of(&fixture, OP_CONV, SCAN_HOST).end_ns, 300, 0);
    CHECK_NEAR(cost_of(&fixture, OP_RELU, SCAN_HOST).end_ns, 400, 0);
    CHECK_U64((uint64_t)covered(&fixture, SCAN_HOST), 400);
    scan_deinit(&fixture.scan);
}

static void coverage_stays_inside_the_run(void **state)
{
    struct fixture fixture;

    start(&fixture);
    add(&fixture, DEVICE_LANE, OP_CONV, 2, 900, 200, STORE_NULL);
    add(&fixture, DEVICE_LANE, OP_CONV, 2, 1900, 500, STORE_NULL);
    add(&fixture, DEVICE_LANE, OP_CONV, 2, 2500, 500, STORE_NULL);
    CHECK_U64((uint64_t)covered(&fixture, SCAN_DEVICE), 200);
    scan_deinit(&fixture.scan);
}

static void coverage_reaches_into_other_counted_runs(void **state)
{
    struct fixture fixture;

    start(&fixture);
    fixture.session.runs[0].selected = true;
    fixture.session.runs[2] = (struct scan_run){2000, 3000, true};
    add(&fixture, DEVICE_LANE, OP_CONV, 1, 950, 1500,
        STORE_NULL); /* launched in 1, ran in 2 and 3 */
    CHECK_U64((uint64_t)covered(&fixture, SCAN_DEVICE), 1450);
    add(&fixture, DEVICE_LANE, OP_CONV, 3, 850, 20, STORE_NULL); /* before its run, in the first */
    CHECK_U64((uint64_t)covered(&fixture, SCAN_DEVICE), 1470);
    fixture.session.runs[0].selected = false;
    add(&fixture, DEVICE_LANE, OP_CONV, 2, 600, 500, STORE_NULL); /* that one counts no more */
    CHECK_U64((uint64_t)covered(&fixture, SCAN_DEVICE), 1470);
    fixture.session.all_events = true;
    add(&fixture, DEVICE_LANE, OP_CONV, 2, 5000, 40, STORE_NULL); /* no runs to stay inside of */
    CHECK_U64((uint64_t)covered(&fixture, SCAN_DEVICE), 1510);
    scan_deinit(&fixture.scan);
}

static void damage_and_death_are_counted(void **state)
{
    struct fixture fixture;

    start(&fixture);
    add(&fixture, HOST_LANE, 55, 2, 1000, 10, STORE_NULL);
    add(&fixture, HOST_LANE, OP_CONV, 2, -1, 10, STORE_NULL);
    add(&fixture, HOST_LANE, OP_CONV, 2, 1000, -10, STORE_NULL);
    add(&fixture, HOST_LANE, OP_CONV, 2, 1000, 10, 11);
    add(&fixture, HOST_LANE, OP_CONV, 2, INT64_MAX, INT64_MAX, STORE_NULL);
    CHECK_U64(fixture.scan.bad_count, 4); /* the last starts outside of the window */
    add(&fixture, HOST_LANE, OP_RELU, 3, 3100, STORE_NULL, STORE_NULL);
    add(&fixture, HOST_LANE, OP_LABEL, 3, 3000, STORE_NULL, STORE_NULL);
    CHECK_U64(fixture.scan.unfinished_count, 2);
    CHECK_U64((uint64_t)fixture.scan.unfinished[0].op_id, OP_RELU);
    CHECK_U64((uint64_t)fixture.scan.unfinished[1].start_ns, 3000);
    CHECK_U64(fixture.scan.counted, 0);
    scan_deinit(&fixture.scan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_selected_runs_count),
        cmocka_unit_test(all_events_count_when_asked),
        cmocka_unit_test(window_is_half_open),
        cmocka_unit_test(nested_ops_are_taken_off),
        cmocka_unit_test(many_siblings_need_little_memory),
        cmocka_unit_test(many_children_are_taken_off),
        cmocka_unit_test(says_where_order_does_not_tell),
        cmocka_unit_test(lanes_add_up_unless_flat),
        cmocka_unit_test(equal_times_of_a_flat_session_do_not_nest),
        cmocka_unit_test(coverage_stays_inside_the_run),
        cmocka_unit_test(coverage_reaches_into_other_counted_runs),
        cmocka_unit_test(damage_and_death_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
