/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of steps: their highest value, their mean, their parts; queues of launches. */
#include "analyze/metrics/step_curve.h"

#include <math.h>

#include "analyze/metrics/launch_queue.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

static void add(struct step_curve *curve, int64_t time_ns, double change)
{
    CHECK_OK(step_curve_add(curve, time_ns, change));
}

/* 1 from 0 to 10, 3 from 10 to 20, 2 to 40. */
static void a_curve_is_measured(void **state)
{
    struct step_curve curve = {0};
    struct curve_summary summary = step_curve_summarize(&curve, 1);
    double max[4], mean[4];
    char text[4 * 3 + 1];

    assert_true(summary.max == 0 && summary.mean == 0 && summary.at_least_ns == 0);
    add(&curve, 10, 2);
    add(&curve, 40, -2);
    add(&curve, 0, 1);
    add(&curve, 20, -1);
    step_curve_sort(&curve, true);
    summary = step_curve_summarize(&curve, 2);
    CHECK_U64((uint64_t)summary.start_ns, 0);
    CHECK_U64((uint64_t)summary.end_ns, 40);
    assert_true(summary.max == 3);
    assert_true(summary.mean == 2);
    assert_true(summary.at_least_ns == 30);
    step_curve_fill(&curve, 0, 40, max, mean, 4);
    assert_true(mean[0] == 1 && mean[1] == 3 && mean[2] == 2 && mean[3] == 2);
    assert_true(max[0] == 1 && max[1] == 3 && max[3] == 2);
    step_curve_fill(&curve, 0, 80, max, mean, 4); /* there is nothing behind it */
    assert_true(mean[0] == 2 && mean[1] == 2 && mean[2] == 0 && mean[3] == 0);
    step_curve_fill(&curve, 15, 15, max, mean, 4); /* no time at all */
    assert_true(isfinite(mean[0]) && isfinite(mean[3]));
    step_curve_text((double[]){0, 1, 2, 4}, 4, 4, true, text);
    assert_string_equal(text, " .-#");
    step_curve_text((double[]){-1, NAN, 2, 99}, 4, 4, false, text);
    assert_string_equal(text, "  ▄█");
    step_curve_deinit(&curve);
}

/* Where one ends as the other begins they are there at once, or not; sums leave no rest. */
static void order_decides_at_equal_times(void **state)
{
    struct step_curve curve = {0};

    add(&curve, 0, 0.1);
    add(&curve, 10, -0.1);
    add(&curve, 10, 0.2);
    add(&curve, 20, -0.2);
    add(&curve, 30, 0.3);
    add(&curve, 40, -0.3);
    step_curve_sort(&curve, true);
    assert_true(step_curve_summarize(&curve, 1).max == 0.1 + 0.2);
    step_curve_sort(&curve, false);
    assert_true(step_curve_summarize(&curve, 1).max == 0.3);
    assert_true(step_curve_summarize(&curve, 1e-12).at_least_ns == 30);
    step_curve_deinit(&curve);
}

enum { MAIN, STREAM, OTHER_STREAM, LANES };
enum { LAUNCH, KERNEL, LABEL, OPS };

static struct lane_row lanes[LANES] = {
    [MAIN] = {.side = OP_HOST, .session_id = 1},
    [STREAM] = {.side = OP_DEVICE, .session_id = 1, .name = "stream 7"},
    [OTHER_STREAM] = {.side = OP_DEVICE, .session_id = 1},
};
static struct op_row ops[OPS] = {
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [KERNEL] = {.name = "gemm", .type = "kernel"},
    [LABEL] = {.name = "step", .type = "label", .is_label = true},
};
static uint8_t kinds[OPS] = {[LABEL] = SPAN_LABEL};

static void queues_have_what_waits(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 2, .op = LAUNCH, .correlation = 1},
        {.start_ns = 10, .dur_ns = 2, .op = LAUNCH, .correlation = 2},
        {.start_ns = 20, .dur_ns = 2, .op = LAUNCH, .correlation = 3},
        {.start_ns = 40, .dur_ns = 10, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 50, .dur_ns = 10, .op = KERNEL, .lane = STREAM, .correlation = 2},
        {.start_ns = 60, .dur_ns = 40, .op = KERNEL, .lane = STREAM, .correlation = 3},
        {.start_ns = 65, .dur_ns = 1, .op = KERNEL, .lane = OTHER_STREAM},
        {.start_ns = 30, .dur_ns = 90, .op = LABEL, .lane = STREAM, .correlation = 2},
    };
    struct spans_answer answer = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
    };
    struct launch_queue_array queues = {0};

    hand_spans_build(&answer, spans, 8);
    CHECK_OK(launch_queues_make(&answer, &queues));
    CHECK_U64(queues.count, 1); /* of the other stream nobody knows a launch */
    assert_string_equal(queues.items[0].lane->name, "stream 7");
    CHECK_U64(queues.items[0].launch_count, 3);
    assert_true(queues.items[0].length.max == 3);
    assert_true(queues.items[0].length.mean == (10 + 2 * 10 + 3 * 20 + 2 * 10 + 10) / 60.0);
    assert_true(queues.items[0].length.at_least_ns == 0);
    CHECK_U64((uint64_t)queues.items[0].wall_ns, 100);
    launch_queues_deinit(&queues);
    hand_spans_drop(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_is_measured),
        cmocka_unit_test(order_decides_at_equal_times),
        cmocka_unit_test(queues_have_what_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
