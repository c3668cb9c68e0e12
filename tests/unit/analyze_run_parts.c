/* SPDX-License-Identifier: Apache-2.0 */
/* What the wall time of a run went to: every moment to one part. */
#include <math.h>

#include "analyze/metrics/run_parts.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"
#include "tests/support/small_store.h"

#define MS 1e6

struct fixture {
    struct store *store;
    struct spans_answer answer;
    struct run_index index;
};

static int start(void **state)
{
    static const int64_t sessions[] = {2};
    const struct ops_question question = {.session_ids = sessions, .session_count = 1};
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct diag diag = {0};

    CHECK_OK(store_open(NULL, STORE_MEMORY, &fixture->store, &diag));
    small_store_fill(fixture->store);
    CHECK_OK(query_spans(fixture->store, &question, &fixture->answer, &diag));
    CHECK_OK(run_index_init(&fixture->index, &fixture->answer));
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    run_index_deinit(&fixture->index);
    spans_answer_deinit(&fixture->answer);
    store_close(&fixture->store);
    free(fixture);
    return 0;
}

static uint32_t place_of_op(const struct spans_answer *answer, const char *name)
{
    uint32_t place = 0;

    while (strcmp(answer->ops.items[place].name, name) != 0)
        place++;
    return place;
}

static uint32_t place_of_run(const struct spans_answer *answer, int64_t run)
{
    uint32_t place = 0;

    while (answer->runs.items[place].run != run)
        place++;
    return place;
}

static double *parts_of(struct fixture *fixture, int64_t run, double *busy)
{
    double *parts = calloc(run_part_count(fixture->answer.ops.count), sizeof(*parts));

    CHECK_OK(run_parts_add(&fixture->answer, &fixture->index, place_of_run(&fixture->answer, run),
                           parts, busy));
    return parts;
}

static double sum_of(const struct fixture *fixture, const double *parts)
{
    double sum = 0;

    for (size_t i = 0; i < run_part_count(fixture->answer.ops.count); i++)
        sum += parts[i];
    return sum;
}

/* Run 3 of the small store, 12 ms: conv waits from 1 ms on, works from 2 to 9; relu from 9 to 11;
 * on the host conv takes the first half millisecond. */
static void parts_add_up_to_the_run(void **state)
{
    struct fixture *fixture = *state;
    const struct spans_answer *answer = &fixture->answer;
    uint32_t conv = place_of_op(answer, "conv1"), relu = place_of_op(answer, "relu1");
    double busy[OP_SIDES], *parts = parts_of(fixture, 3, busy);

    assert_float_equal(parts[run_part_place(conv, RUN_PART_HOST)], 0.5 * MS, 1);
    assert_float_equal(parts[run_part_place(conv, RUN_PART_WAIT)], 1 * MS, 1);
    assert_float_equal(parts[run_part_place(conv, RUN_PART_DEVICE)], 7 * MS, 1);
    assert_float_equal(parts[run_part_place(relu, RUN_PART_DEVICE)], 2 * MS, 1);
    assert_float_equal(parts[run_part_place(relu, RUN_PART_HOST)], 0, 1); /* the device works */
    assert_float_equal(parts[run_part_between(answer->ops.count)], 1.5 * MS, 1);
    assert_float_equal(parts[run_part_unshown(answer->ops.count)], 0, 1);
    assert_float_equal(sum_of(fixture, parts), 12 * MS, 1);
    assert_float_equal(busy[OP_HOST], 0.75 * MS, 1);
    assert_float_equal(busy[OP_DEVICE], 10 * MS, 1);
    free(parts);
}

static void what_is_not_shown_is_a_part_of_its_own(void **state)
{
    struct fixture *fixture = *state;
    struct spans_answer *answer = &fixture->answer;
    uint32_t relu = place_of_op(answer, "relu1");
    double busy[OP_SIDES], *parts;

    for (size_t i = 0; i < answer->spans.count; i++)
        answer->spans.items[i].is_shown = answer->spans.items[i].op == relu;
    parts = parts_of(fixture, 3, busy);
    assert_float_equal(parts[run_part_unshown(answer->ops.count)], 8.5 * MS, 1);
    assert_float_equal(sum_of(fixture, parts), 12 * MS, 1);
    assert_float_equal(busy[OP_DEVICE], 2 * MS, 1);
    free(parts);
}

/* Spans that reach over the bounds of their run, two at once on two devices, nested ones. */
static void moments_belong_to_one_span(void **state)
{
    enum { OWN, OTHER, FIRST, SECOND };
    struct lane_row lanes[] = {
        {.side = OP_HOST}, {.side = OP_HOST}, {.side = OP_DEVICE}, {.side = OP_DEVICE}};
    struct op_row ops[4] = {{.name = "outer"}, {.name = "inner"}, {.name = "a"}, {.name = "b"}};
    uint8_t kinds[] = {SPAN_OP, SPAN_OP, SPAN_OP, SPAN_OP};
    struct run_row run = {.start_ns = 100, .end_ns = 200, .lane = OWN};
    struct spans_answer answer = {
        .ops = {.items = ops, .count = 4},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = 4},
        .runs = {.items = &run, .count = 1},
    };
    const struct span spans[] = {
        {.lane = OWN, .op = 0, .start_ns = 90, .dur_ns = 70},    /* 90 .. 160 */
        {.lane = OWN, .op = 1, .start_ns = 100, .dur_ns = 10},   /* 100 .. 110 */
        {.lane = OTHER, .op = 1, .start_ns = 115, .dur_ns = 55}, /* 115 .. 170 */
        {.lane = FIRST, .op = 2, .start_ns = 120, .dur_ns = 20}, /* 120 .. 140 */
        {.lane = SECOND, .op = 3, .start_ns = 130, .dur_ns = 20, .kern_ns = 5},
    };
    struct run_index index = {0};
    double parts[14] = {0}, busy[OP_SIDES];

    hand_spans_build(&answer, spans, 5);
    CHECK_OK(run_index_init(&index, &answer));
    CHECK_OK(run_parts_add(&answer, &index, 0, parts, busy));
    assert_float_equal(parts[run_part_place(1, RUN_PART_HOST)], 10 + 10, 0); /* 160 .. 170 too */
    assert_float_equal(parts[run_part_place(0, RUN_PART_HOST)], 10 + 10, 0);
    assert_float_equal(parts[run_part_place(2, RUN_PART_DEVICE)], 10, 0);
    assert_float_equal(parts[run_part_place(3, RUN_PART_WAIT)], 5, 0);
    assert_float_equal(parts[run_part_place(3, RUN_PART_DEVICE)], 15, 0);
    assert_float_equal(parts[run_part_between(4)], 30, 0);
    assert_float_equal(busy[OP_HOST], 70, 0);
    assert_float_equal(busy[OP_DEVICE], 30, 0);
    run_index_deinit(&index);
    hand_spans_drop(&answer);
}

static void run_of_threads(size_t lane_count, size_t span_count, double *out_busy_ns)
{
    struct lane_row lanes[] = {{.side = OP_HOST}, {.side = OP_DEVICE}};
    struct op_row ops[1] = {{.name = "op"}};
    uint8_t kinds[] = {SPAN_OP};
    struct run_row run = {.start_ns = 100, .end_ns = 200};
    struct spans_answer answer = {
        .ops = {.items = ops, .count = 1},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = lane_count},
        .runs = {.items = &run, .count = 1},
    };
    const struct span span = {.start_ns = 100, .dur_ns = 10};
    struct run_index index = {0};
    double parts[RUN_PARTS + 2] = {0};

    hand_spans_build(&answer, &span, span_count);
    CHECK_OK(run_index_init(&index, &answer));
    CHECK_OK(run_parts_add(&answer, &index, 0, parts, out_busy_ns));
    run_index_deinit(&index);
    hand_spans_drop(&answer);
}

/* A device that did nothing in a run was busy for none of it; one that is not there is not known. */
static void a_device_may_do_nothing(void **state)
{
    double busy[OP_SIDES];

    (void)state;
    run_of_threads(2, 1, busy);
    assert_float_equal(busy[OP_HOST], 10, 0);
    assert_float_equal(busy[OP_DEVICE], 0, 0);
    run_of_threads(1, 1, busy);
    assert_true(isnan(busy[OP_DEVICE]));
    run_of_threads(2, 0, busy); /* its events are gone */
    assert_true(isnan(busy[OP_HOST]) && isnan(busy[OP_DEVICE]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_add_up_to_the_run, start, stop),
        cmocka_unit_test_setup_teardown(what_is_not_shown_is_a_part_of_its_own, start, stop),
        cmocka_unit_test(moments_belong_to_one_span),
        cmocka_unit_test(a_device_may_do_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
