/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and devices in use, gaps and their causes, from spans made by hand. */
#include "analyze/query/lane_use.h"

#include "analyze/metrics/device_use.h"
#include "analyze/metrics/idle.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { HOST, STREAM, OTHER_STREAM, OTHER_DEVICE, OTHER_SESSION, LANES };
enum { OP, LABEL, LAUNCH, WAIT, KERNEL, COPY, NCCL, GLOO, NCCL_CALL, PYTHON, OPS };

static struct lane_row lanes[LANES] = {
    [HOST] = {.side = OP_HOST, .session_id = 1, .kind = "thread", .name = "main"},
    [STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .name = "stream 7"},
    [OTHER_STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .name = "stream 20"},
    [OTHER_DEVICE] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:1", .name = "stream 7"},
    [OTHER_SESSION] = {.side = OP_DEVICE, .session_id = 2, .kind = "queue", .name = "queue"},
};
static struct op_row ops[OPS] = {
    [OP] = {.name = "conv", .type = "cpu_op"},
    [LABEL] = {.name = "step", .type = "label", .is_label = true},
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [WAIT] = {.name = "cudaStreamSynchronize", .type = "cuda_runtime"},
    [KERNEL] = {.name = "gemm", .type = "kernel"},
    [COPY] = {.name = "Memcpy HtoD", .type = "copy"},
    [NCCL] = {.name = "ncclDevKernel_AllReduce", .type = "kernel"},
    [GLOO] = {.name = "gloo:all_reduce", .type = "collective"},
    [NCCL_CALL] = {.name = "nccl:all_reduce", .type = "collective"},
    [PYTHON] = {.name = "f", .type = "python_function"},
};
static uint8_t kinds[OPS] = {[LABEL] = SPAN_LABEL};

static struct spans_answer make(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
    };

    hand_spans_build(&answer, spans, count);
    return answer;
}

static void drop(struct spans_answer *answer)
{
    hand_spans_drop(answer);
}

static void walls_are_of_a_session(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 1000, .op = LABEL}, /* no operator */
        {.start_ns = 10, .dur_ns = 20, .op = OP},
        {.start_ns = 15, .dur_ns = 5, .op = OP},
        {.start_ns = 100, .dur_ns = 50, .op = KERNEL, .lane = STREAM},
        {.start_ns = 500, .dur_ns = 1, .op = OP, .lane = OTHER_SESSION},
    };
    struct spans_answer answer = make(spans, 5);
    struct lane_use *uses;

    CHECK_OK(lane_use_make(&answer, &uses));
    CHECK_U64((uint64_t)uses[HOST].start_ns, 10);
    CHECK_U64((uint64_t)uses[HOST].end_ns, 30);
    CHECK_U64((uint64_t)uses[HOST].wall_start_ns, 10);
    CHECK_U64((uint64_t)uses[HOST].wall_end_ns, 150);
    CHECK_U64((uint64_t)uses[STREAM].wall_end_ns, 150);
    assert_false(uses[OTHER_STREAM].has_op);
    CHECK_U64((uint64_t)uses[OTHER_SESSION].wall_start_ns, 500);
    free(uses);
    answer.basis.is_flat = true; /* clocks of host and device differ */
    CHECK_OK(lane_use_make(&answer, &uses));
    CHECK_U64((uint64_t)uses[HOST].wall_end_ns, 30);
    CHECK_U64((uint64_t)uses[STREAM].wall_start_ns, 100);
    free(uses);
    drop(&answer);
}

static void launches_have_owners(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = OP},
        {.start_ns = 5, .dur_ns = 50, .op = LABEL},
        {.start_ns = 10, .dur_ns = 5, .op = LAUNCH, .correlation = 1},
        {.start_ns = 200, .dur_ns = 50, .op = LABEL},
        {.start_ns = 205, .dur_ns = 40, .op = PYTHON},
        {.start_ns = 210, .dur_ns = 5, .op = LAUNCH, .correlation = 2},
        {.start_ns = 300, .dur_ns = 5, .op = LAUNCH, .correlation = 3},
        {.start_ns = 400, .dur_ns = 5, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 410, .dur_ns = 5, .op = KERNEL, .lane = STREAM, .correlation = 2},
        {.start_ns = 420, .dur_ns = 5, .op = KERNEL, .lane = STREAM, .correlation = 3},
        {.start_ns = 430, .dur_ns = 5, .op = KERNEL, .lane = STREAM},
    };
    struct spans_answer answer = make(spans, 11);
    const struct span *sorted = answer.spans.items;

    CHECK_U64(span_owner(&answer, &sorted[7]), 0); /* the op around the label around it */
    CHECK_U64(span_owner(&answer, &sorted[8]), 3);
    CHECK_U64(span_owner(&answer, &sorted[9]), 6);
    CHECK_U64(span_owner(&answer, &sorted[10]), SPAN_NONE);
    drop(&answer);
}

/* Kernels 0-100 and 50-150 at once, a copy 120-200, a collective 300-310; one that took no time at 320. */
static void devices_are_measured_by_unions(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = KERNEL, .lane = STREAM},
        {.start_ns = 50, .dur_ns = 100, .op = KERNEL, .lane = OTHER_STREAM},
        {.start_ns = 120, .dur_ns = 80, .op = COPY, .lane = STREAM},
        {.start_ns = 300, .dur_ns = 10, .op = NCCL, .lane = STREAM},
        {.start_ns = 320, .dur_ns = 0, .op = COPY, .lane = OTHER_STREAM},
        {.start_ns = 0, .dur_ns = 400, .op = LABEL, .lane = STREAM},
        {.start_ns = 390, .dur_ns = 10, .op = KERNEL, .lane = OTHER_DEVICE},
    };
    struct spans_answer answer = make(spans, 7);
    struct device_use_array uses = {0};
    const struct device_use *all;

    CHECK_OK(device_use_make(&answer, &uses));
    CHECK_U64(uses.count, 4);
    all = &uses.items[0];
    assert_null(all->lane);
    CHECK_U64(all->span_count, 5);
    CHECK_U64((uint64_t)all->busy_ns, 210);
    CHECK_U64((uint64_t)all->compute_ns, 150);
    CHECK_U64((uint64_t)all->transfer_ns, 90);
    CHECK_U64((uint64_t)all->overlap_ns, 30);
    CHECK_U64((uint64_t)all->copy_ns, 80);
    CHECK_U64((uint64_t)all->copy_hidden_ns, 30);
    CHECK_U64((uint64_t)all->comm_ns, 10);
    CHECK_U64((uint64_t)all->comm_hidden_ns, 0);
    CHECK_U64((uint64_t)all->sum_ns, 290);
    CHECK_U64((uint64_t)all->active_ns, 320);
    CHECK_U64((uint64_t)all->wall_ns, 400);
    CHECK_U64(all->most_at_once, 2);
    assert_string_equal(uses.items[1].lane->name, "stream 7");
    CHECK_U64((uint64_t)uses.items[1].busy_ns, 190);
    assert_string_equal(uses.items[3].device, "cuda:1"); /* one lane: no line for all */
    array_deinit(&uses);
    drop(&answer);
}

/* Computation 0-100, a collective 50-150, a copy 80-130 beside both. */
static void communication_is_no_copy(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = KERNEL, .lane = STREAM},
        {.start_ns = 50, .dur_ns = 100, .op = NCCL, .lane = OTHER_STREAM},
        {.start_ns = 80, .dur_ns = 50, .op = COPY, .lane = STREAM},
        {.start_ns = 10, .dur_ns = 5, .op = GLOO}, /* on a thread */
        {.start_ns = 20, .dur_ns = 5, .op = NCCL_CALL},
    };
    struct spans_answer answer = make(spans, 5);
    struct device_use_array uses = {0};
    size_t communicating = 0;

    CHECK_OK(device_use_make(&answer, &uses));
    CHECK_U64((uint64_t)uses.items[0].comm_ns, 100);
    CHECK_U64((uint64_t)uses.items[0].comm_hidden_ns, 50);
    CHECK_U64((uint64_t)uses.items[0].copy_ns, 50);
    CHECK_U64((uint64_t)uses.items[0].copy_hidden_ns, 20);
    CHECK_U64((uint64_t)uses.items[0].transfer_ns, 100);
    CHECK_U64(uses.items[0].most_at_once, 3);
    for (size_t i = 0; i < answer.spans.count; i++)
        communicating += span_communicates(&answer, &answer.spans.items[i]);
    CHECK_U64(communicating, 2); /* what is launched runs elsewhere */
    array_deinit(&uses);
    drop(&answer);
}

static void spans_that_touch_do_not_run_at_once(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = KERNEL, .lane = STREAM},
        {.start_ns = 10, .dur_ns = 0, .op = KERNEL, .lane = STREAM},
        {.start_ns = 10, .dur_ns = 10, .op = KERNEL, .lane = STREAM},
    };
    struct spans_answer answer = make(spans, 3);
    struct device_use_array uses = {0};

    CHECK_OK(device_use_make(&answer, &uses));
    CHECK_U64(uses.items[0].span_count, 3);
    CHECK_U64(uses.items[0].most_at_once, 1);
    CHECK_U64((uint64_t)uses.items[0].busy_ns, 20);
    array_deinit(&uses);
    drop(&answer);
}

/* --- Gaps. --- */

static void expect_gap(const struct idle_gap *gap, int64_t start_ns, int64_t end_ns,
                       enum idle_cause cause, uint32_t host)
{
    CHECK_U64((uint64_t)gap->start_ns, (uint64_t)start_ns);
    CHECK_U64((uint64_t)gap->end_ns, (uint64_t)end_ns);
    assert_string_equal(idle_cause_names[gap->cause], idle_cause_names[cause]);
    CHECK_U64(gap->during, host);
}

static void gaps_have_causes(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 90, .op = OP},                        /* 0 */
        {.start_ns = 10, .dur_ns = 5, .op = LAUNCH, .correlation = 1},  /* 1 */
        {.start_ns = 80, .dur_ns = 5, .op = LAUNCH, .correlation = 2},  /* 2 */
        {.start_ns = 100, .dur_ns = 100, .op = WAIT},                   /* 3 */
        {.start_ns = 205, .dur_ns = 5, .op = LAUNCH, .correlation = 3}, /* 4 */
        {.start_ns = 400, .dur_ns = 5, .op = LAUNCH, .correlation = 4}, /* 5 */
        {.start_ns = 410, .dur_ns = 5, .op = LAUNCH, .correlation = 5}, /* 6 */
        {.start_ns = 420, .dur_ns = 5, .op = LAUNCH, .correlation = 6}, /* 7 */
        {.start_ns = 430, .dur_ns = 5, .op = LAUNCH, .correlation = 7}, /* 8 */
        {.start_ns = 20, .dur_ns = 20, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 90, .dur_ns = 10, .op = KERNEL, .lane = STREAM, .correlation = 2},
        {.start_ns = 220, .dur_ns = 30, .op = KERNEL, .lane = STREAM, .correlation = 3},
        {.start_ns = 500, .dur_ns = 100, .op = KERNEL, .lane = STREAM, .correlation = 4},
        {.start_ns = 700, .dur_ns = 10, .op = KERNEL, .lane = STREAM, .correlation = 5},
        {.start_ns = 800, .dur_ns = 10, .op = KERNEL, .lane = STREAM, .correlation = 6},
        {.start_ns = 820, .dur_ns = 10, .op = KERNEL, .lane = STREAM, .correlation = 7},
        {.start_ns = 840, .dur_ns = 10, .op = KERNEL, .lane = STREAM},
        {.start_ns = 600, .dur_ns = 90, .op = COPY, .lane = OTHER_STREAM},
        {.start_ns = 705, .dur_ns = 90, .op = KERNEL, .lane = OTHER_STREAM},
        {.start_ns = 440, .dur_ns = 5, .op = LAUNCH, .correlation = 8},
        {.start_ns = 950, .dur_ns = 10, .op = KERNEL, .lane = STREAM, .correlation = 8},
        {.start_ns = 930, .dur_ns = 15, .op = COPY, .lane = OTHER_STREAM}, /* ends 5 before it */
    };
    struct spans_answer answer = make(spans, 22);
    struct idle_gap_array gaps = {0};
    size_t first = 0;

    CHECK_OK(idle_find(&answer, &gaps));
    for (; gaps.items[first].lane == HOST; first++)
        CHECK_U64(gaps.items[first].cause, IDLE_UNRECORDED);
    CHECK_U64(first, 7); /* of the thread */
    /* launched at 80, after the gap began: the middle of 40 and 80 is in conv */
    expect_gap(&gaps.items[first], 40, 90, IDLE_HOST_BUSY, 0);
    expect_gap(&gaps.items[first + 1], 100, 220, IDLE_HOST_WAITED, 3);
    expect_gap(&gaps.items[first + 2], 250, 500, IDLE_NOT_LAUNCHED, SPAN_NONE);
    expect_gap(&gaps.items[first + 3], 600, 700, IDLE_COPY, SPAN_NONE);
    expect_gap(&gaps.items[first + 4], 710, 800, IDLE_OTHER_LANE, SPAN_NONE);
    expect_gap(&gaps.items[first + 5], 810, 820, IDLE_QUEUE, SPAN_NONE);
    expect_gap(&gaps.items[first + 6], 830, 840, IDLE_UNKNOWN, SPAN_NONE);
    expect_gap(&gaps.items[first + 7], 850, 950, IDLE_COPY, SPAN_NONE);
    array_deinit(&gaps);
    drop(&answer);
}

/* Of spans that end at one time the last one is what a gap comes after. */
static void a_gap_comes_after_the_last_that_ended(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = OP},
        {.start_ns = 90, .dur_ns = 10, .op = WAIT},
        {.start_ns = 200, .dur_ns = 10, .op = OP},
    };
    struct spans_answer answer = make(spans, 3);
    struct idle_gap_array gaps = {0};

    (void)state;
    CHECK_OK(idle_find(&answer, &gaps));
    CHECK_U64(gaps.count, 1);
    CHECK_U64(gaps.items[0].before, 1);
    CHECK_U64(gaps.items[0].before_op, WAIT);
    CHECK_U64(gaps.items[0].after_op, OP);
    array_deinit(&gaps);
    drop(&answer);
}

/* Two parts that an op of the thread goes through: gaps that end in the second. */
static void gaps_come_from_parts(void **state)
{
    const struct span first[] = {
        {.start_ns = 0, .dur_ns = 200, .op = OP, .frame = SPAN_FRAME_FIRST},
        {.start_ns = 5, .dur_ns = 5, .op = LAUNCH, .correlation = 1},
        {.start_ns = 10, .dur_ns = 20, .op = KERNEL, .lane = STREAM, .correlation = 1},
    };
    const struct span second[] = {
        {.start_ns = 0, .dur_ns = 200, .op = OP, .frame = SPAN_FRAME_AGAIN},
        {.start_ns = 60, .dur_ns = 20, .op = WAIT}, /* begins in the middle of 30 and 90 */
        {.start_ns = 90, .dur_ns = 5, .op = LAUNCH, .correlation = 2},
        {.start_ns = 300, .dur_ns = 5, .op = WAIT},
        {.start_ns = 95, .dur_ns = 5, .op = KERNEL, .lane = STREAM, .correlation = 2},
    };
    struct spans_answer parts[] = {make(first, 3), make(second, 5)};
    struct idle_gap_array gaps = {0};
    struct idle_parts *idle = NULL;

    (void)state;
    CHECK_OK(idle_begin(&parts[0], &idle));
    CHECK_OK(idle_add(idle, &parts[0], &gaps));
    CHECK_U64(gaps.count, 0);
    CHECK_OK(idle_add(idle, &parts[1], &gaps));
    CHECK_U64(gaps.count, 2);
    CHECK_U64((uint64_t)gaps.items[0].start_ns, 200);
    CHECK_U64((uint64_t)gaps.items[0].end_ns, 300);
    CHECK_U64(gaps.items[0].before, SPAN_NONE); /* its own place is in another part */
    CHECK_U64(gaps.items[0].before_op, OP);
    expect_gap(&gaps.items[1], 30, 95, IDLE_HOST_WAITED, 1);
    CHECK_U64(gaps.items[1].during_op, WAIT);
    CHECK_U64(gaps.items[1].before_op, KERNEL);
    idle_parts_destroy(&idle);
    array_deinit(&gaps);
    drop(&parts[0]);
    drop(&parts[1]);
}

static void a_gap_starts_where_the_last_of_all_ended(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = OP},  {.start_ns = 10, .dur_ns = 10, .op = OP},
        {.start_ns = 50, .dur_ns = 80, .op = OP}, /* sticks out of the first */
        {.start_ns = 200, .dur_ns = 10, .op = OP}, {.start_ns = 0, .dur_ns = 300, .op = LABEL},
    };
    struct spans_answer answer = make(spans, 5);
    struct idle_gap_array gaps = {0};

    CHECK_OK(idle_find(&answer, &gaps));
    CHECK_U64(gaps.count, 1);
    expect_gap(&gaps.items[0], 130, 200, IDLE_UNRECORDED, SPAN_NONE);
    array_deinit(&gaps);
    drop(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_are_of_a_session),
        cmocka_unit_test(launches_have_owners),
        cmocka_unit_test(devices_are_measured_by_unions),
        cmocka_unit_test(communication_is_no_copy),
        cmocka_unit_test(spans_that_touch_do_not_run_at_once),
        cmocka_unit_test(gaps_have_causes),
        cmocka_unit_test(a_gap_comes_after_the_last_that_ended),
        cmocka_unit_test(gaps_come_from_parts),
        cmocka_unit_test(a_gap_starts_where_the_last_of_all_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
