/* SPDX-License-Identifier: Apache-2.0 */
/* Computation, framework overhead, what was not recorded; copies; phases of steps. */
#include <math.h>

#include "analyze/containers/interval_list.h"
#include "analyze/metrics/model_phases.h"
#include "analyze/metrics/overhead.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { MAIN, WORKER, STREAM, OTHER_STREAM, LANES };
enum {
    CONV,
    RELU,
    COMPUTE,
    MATMUL_COMPUTE,
    NO_COMPUTE,
    PREPARE,
    SCOPE,
    TO_GPU,
    FILL,
    LAUNCH,
    ASYNC,
    KERNEL,
    ALL_REDUCE,
    ASK,
    OPS
};

static struct lane_row lanes[LANES] = {
    [MAIN] = {.side = OP_HOST},
    [WORKER] = {.side = OP_HOST},
    [STREAM] = {.side = OP_DEVICE, .device = "cuda:0"},
    [OTHER_STREAM] = {.side = OP_DEVICE, .device = "cuda:0"},
};
static struct op_row ops[OPS] = {
    [CONV] = {.name = "conv1", .type = "Conv"},
    [RELU] = {.name = "relu1", .type = "Relu"},
    [COMPUTE] = {.name = "compute", .type = "phase"},
    [MATMUL_COMPUTE] = {.name = "matmul compute", .type = "phase"},
    [NO_COMPUTE] = {.name = "precompute", .type = "phase"},
    [PREPARE] = {.name = "prepare_data", .type = "phase"},
    [SCOPE] = {.name = "my compute", .type = "label"},
    [TO_GPU] = {.name = "Memcpy HtoD (Pinned -> Device)", .type = "copy"},
    [FILL] = {.name = "Memset (Device)", .type = "memset"},
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [ASYNC] = {.name = "cudaMemcpyAsync", .type = "cuda_runtime"},
    [KERNEL] = {.name = "sgemm", .type = "kernel"},
    [ALL_REDUCE] = {.name = "gloo:all_reduce", .type = "collective"},
    [ASK] = {.name = "c10d::allreduce_", .type = "cpu_op"},
};
static uint8_t kinds[OPS] = {[COMPUTE] = SPAN_PHASE,
                             [MATMUL_COMPUTE] = SPAN_PHASE,
                             [NO_COMPUTE] = SPAN_PHASE,
                             [PREPARE] = SPAN_PHASE,
                             [SCOPE] = SPAN_LABEL};

static struct session_window window = {0, INT64_MIN, INT64_MAX};

static struct spans_answer answer_of(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
        .windows = {.items = &window, .count = 1},
    };

    hand_spans_build(&answer, spans, count);
    return answer;
}

static void free_answer(struct spans_answer *answer)
{
    hand_spans_drop(answer);
}

static void compute_phases_are_computation(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = SCOPE}, /* a person's words mean nothing here */
        {.start_ns = 10, .dur_ns = 40, .op = CONV},
        {.start_ns = 10, .dur_ns = 8, .op = PREPARE},
        {.start_ns = 18, .dur_ns = 2, .op = NO_COMPUTE},
        {.start_ns = 20, .dur_ns = 20, .op = COMPUTE},
        {.start_ns = 40, .dur_ns = 5, .op = MATMUL_COMPUTE},
        {.start_ns = 120, .dur_ns = 30, .op = RELU}, /* no phases: all of it */
    };
    struct spans_answer answer = answer_of(spans, 7);
    struct overhead overhead;

    CHECK_OK(overhead_measure(&answer, &overhead));
    CHECK_NEAR(overhead.times.wall_ns, 150, 0);
    CHECK_NEAR(overhead.times.recorded_ns, 70, 0);
    CHECK_NEAR(overhead.times.computation_ns, 55, 0);
    CHECK_NEAR(overhead.times.labels_ns, 60, 0); /* which leaves 20 that nobody recorded */
    CHECK_NEAR(overhead.times.copies_ns, 0, 0);
    CHECK_U64(overhead.sides.count, 1);
    CHECK_NEAR(overhead.sides.items[0].busy_ns, 70, 0);
    overhead_deinit(&overhead);
    free_answer(&answer);
}

static void threads_overlap_once_and_add_up_by_lane(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 60, .op = CONV},
        {.start_ns = 20, .dur_ns = 10, .op = RELU}, /* inside: the outer one is no leaf */
        {.start_ns = 30, .dur_ns = 70, .op = CONV, .lane = WORKER, .kern_ns = 10},
        {.start_ns = 50, .dur_ns = 0, .op = RELU, .lane = WORKER}, /* no part of its time */
    };
    struct spans_answer answer = answer_of(spans, 4);
    struct overhead overhead;

    CHECK_OK(overhead_measure(&answer, &overhead));
    CHECK_NEAR(overhead.times.recorded_ns, 100, 0);
    CHECK_NEAR(overhead.lanes.recorded_ns, 130, 0);
    CHECK_NEAR(overhead.times.computation_ns, 70, 0); /* 20 to 30 and 40 to 100 */
    CHECK_NEAR(overhead.lanes.computation_ns, 70, 0);
    CHECK_U64(overhead.sides.items[0].lane_count, 2);
    overhead_deinit(&overhead);
    free_answer(&answer);
}

/* Computation 0 to 60 and 200 to 210, communication 40 to 100; asking for it is neither. */
static void communication_is_hidden_or_exposed(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 60, .op = CONV},
        {.start_ns = 40, .dur_ns = 60, .op = ALL_REDUCE, .lane = WORKER},
        {.start_ns = 120, .dur_ns = 40, .op = ASK},
        {.start_ns = 200, .dur_ns = 10, .op = RELU},
    };
    struct spans_answer answer = answer_of(spans, 4);
    struct overhead overhead;

    CHECK_OK(overhead_measure(&answer, &overhead));
    CHECK_NEAR(overhead.times.recorded_ns, 150, 0);
    CHECK_NEAR(overhead.times.computation_ns, 70, 0);
    CHECK_NEAR(overhead.times.communication_ns, 60, 0);
    CHECK_NEAR(overhead.times.exposed_ns, 40, 0);
    CHECK_NEAR(overhead.sides.items[0].communication_ns, 60, 0);
    overhead_deinit(&overhead);
    free_answer(&answer);
}

static void with_a_device_the_host_only_prepares(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = CONV},
        {.start_ns = 10, .dur_ns = 10, .op = LAUNCH, .correlation = 1},
        {.start_ns = 30, .dur_ns = 10, .op = ASYNC, .correlation = 2},
        {.start_ns = 40, .dur_ns = 40, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 70,
         .dur_ns = 30,
         .op = TO_GPU,
         .lane = OTHER_STREAM,
         .correlation = 2,
         .bytes = 300},
        {.start_ns = 110, .dur_ns = 10, .op = TO_GPU, .lane = STREAM},
        {.start_ns = 130, .dur_ns = 20, .op = FILL, .lane = STREAM, .bytes = 50},
        {.start_ns = 44, .dur_ns = 1, .op = TO_GPU},                   /* is not one more */
        {.start_ns = 100, .dur_ns = 9, .op = PREPARE, .lane = STREAM}, /* a wait in a queue */
    };
    struct spans_answer answer = answer_of(spans, 9);
    struct overhead overhead;
    const struct overhead_copies *copies;

    CHECK_OK(overhead_measure(&answer, &overhead));
    CHECK_NEAR(overhead.times.wall_ns, 150, 0);
    CHECK_NEAR(overhead.times.recorded_ns, 130, 0);
    CHECK_NEAR(overhead.times.computation_ns, 40, 0);
    CHECK_NEAR(overhead.times.copies_ns, 50, 0); /* not the 10 beside the kernel */
    CHECK_U64(overhead.sides.count, 2);
    assert_string_equal(overhead.sides.items[0].name, "host");
    assert_string_equal(overhead.sides.items[1].name, "cuda:0");
    CHECK_U64(overhead.sides.items[1].lane_count, 2);
    CHECK_NEAR(overhead.sides.items[1].busy_ns, 90, 0);
    CHECK_NEAR(overhead.sides.items[1].copies_ns, 60, 0);
    CHECK_U64(overhead.copies.count, 3);
    copies = overhead.copies.items;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(copies[i].direction,
                         copies[i].is_fill ? COPY_DIRECTION_UNKNOWN : COPY_TO_DEVICE);
        if (copies[i].mode == COPY_ASYNC) {
            CHECK_NEAR(copies[i].bytes, 300, 0);
            CHECK_NEAR(copies[i].total_ns, 30, 0);
        } else if (!copies[i].is_fill) {
            CHECK_U64(copies[i].calls, 1);
            CHECK_U64(copies[i].sized_calls, 0);
        }
    }
    overhead_deinit(&overhead);
    free_answer(&answer);
}

/* What a queue's op does besides computing is overhead. */
static void phases_of_a_queue_tell_computation(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = PREPARE, .lane = STREAM},
        {.start_ns = 10, .dur_ns = 25, .op = COMPUTE, .lane = STREAM},
        {.start_ns = 0, .dur_ns = 40, .op = CONV, .lane = STREAM},
        {.start_ns = 60, .dur_ns = 20, .op = RELU, .lane = STREAM}, /* no phases: all of it */
    };
    struct spans_answer answer = answer_of(spans, 4);
    struct overhead overhead;

    CHECK_OK(overhead_measure(&answer, &overhead));
    CHECK_NEAR(overhead.times.recorded_ns, 60, 0);
    CHECK_NEAR(overhead.times.computation_ns, 45, 0);
    CHECK_NEAR(overhead.sides.items[0].computation_ns, 45, 0);
    overhead_deinit(&overhead);
    free_answer(&answer);
}

static void runs_are_the_wall_where_they_count(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = RELU},
        {.start_ns = 150, .dur_ns = 30, .op = RELU},
    };
    struct run_row runs[] = {
        {.run = 1, .start_ns = 50, .end_ns = 90, .selected = true},
        {.run = 2, .start_ns = 160, .end_ns = 200, .selected = true},
        {.run = 3, .start_ns = 0, .end_ns = 20},
        {.run = 4, .start_ns = 170, .end_ns = STORE_NULL, .selected = true},
    };
    struct spans_answer answer = answer_of(spans, 2);
    struct overhead overhead;

    answer.runs.items = runs;
    answer.runs.count = 4;
    answer.basis.wall_is_runs = true;
    CHECK_OK(overhead_measure(&answer, &overhead));
    CHECK_NEAR(overhead.times.wall_ns, 80, 0);
    CHECK_NEAR(overhead.times.recorded_ns, 60, 0);
    overhead_deinit(&overhead);
    free_answer(&answer);
}

static void spans_that_are_not_shown_count_only_as_wall(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = RELU},
        {.start_ns = 150, .dur_ns = 30, .op = CONV},
    };
    struct spans_answer answer = answer_of(spans, 2);
    struct overhead overhead;

    answer.spans.items[0].is_shown = false;
    CHECK_OK(overhead_measure(&answer, &overhead));
    CHECK_NEAR(overhead.times.wall_ns, 180, 0);
    CHECK_NEAR(overhead.times.recorded_ns, 30, 0);
    overhead_deinit(&overhead);
    free_answer(&answer);
}

/* Lanes one behind the other, each in order, and none: as many as there are numbers that lie in some. */
static void lists_of_lanes_are_joined(void **state)
{
    enum { MOST = 700, TIMES = 1000 };
    static struct interval items[MOST];
    uint32_t random = 7;

    (void)state;
    for (size_t count = 0; count < MOST; count++) {
        struct interval_array list = {items, count, MOST};
        const uint32_t lane_count = 1 + (uint32_t)count % 9;
        bool has[TIMES] = {0};
        double length = 0;
        int64_t now_ns = 0;

        for (size_t i = 0; i < count; i++) {
            random = random * 1664525u + 1013904223u;
            now_ns = (random >> 8) % (count / lane_count + 1) == 0 ? (random >> 16) % 50 : now_ns;
            items[i] = (struct interval){now_ns, now_ns + (random >> 20) % 4};
            for (int64_t at = items[i].start_ns; at < items[i].end_ns; at++)
                has[at] = true;
            now_ns = (now_ns + (random >> 12) % 3) % (TIMES - 10);
        }
        interval_list_join(&list);
        for (size_t i = 0; i < TIMES; i++) {
            length += has[i];
            assert_true(interval_list_has(&list, (int64_t)i) == has[i]);
        }
        CHECK_NEAR(interval_list_length(&list), length, 0);
        for (size_t i = 1; i < list.count; i++)
            assert_true(list.items[i].start_ns > list.items[i - 1].end_ns);
    }
}

static void lists_join_and_compare(void **state)
{
    struct interval a_items[] = {{50, 60}, {0, 10}, {10, 20}, {55, 58}, {30, 30}, {9, 5}};
    struct interval b_items[] = {{5, 15}, {18, 52}, {59, 90}};
    struct interval_array a = {a_items, 6, 6}, b = {b_items, 3, 3}, none = {0};

    interval_list_join(&a);
    interval_list_join(&b);
    CHECK_U64(a.count, 2); /* 0 to 20, 50 to 60 */
    CHECK_NEAR(interval_list_length(&a), 30, 0);
    CHECK_NEAR(interval_list_common(&a, &b), 10 + 2 + 2 + 1, 0);
    CHECK_NEAR(interval_list_common(&b, &a), 15, 0);
    CHECK_NEAR(interval_list_common(&a, &none), 0, 0);
    assert_true(interval_list_has(&a, 0));
    assert_true(interval_list_has(&a, 19));
    assert_false(interval_list_has(&a, 20));
    assert_false(interval_list_has(&a, 60));
    assert_false(interval_list_has(&none, 0));
    CHECK_OK(interval_list_unite(&none, &a)); /* 0 to 20, 50 to 60 */
    CHECK_OK(interval_list_unite(&none, &b)); /* 5 to 15, 18 to 52, 59 to 90 */
    CHECK_U64(none.count, 1);
    CHECK_NEAR(interval_list_length(&none), 90, 0);
    array_deinit(&none);
    CHECK_OK(interval_list_unite(&none, &(struct interval_array){0}));
    CHECK_U64(none.count, 0);
}

/* --- Phases of a model. --- */

enum { STEP, LOADER, FORWARD, BACKWARD, OPTIMIZER, MODULE, WORK, WORK_KERNEL, NAMES };

static struct op_row labels[NAMES] = {
    [STEP] = {.name = "ProfilerStep#3", .type = "label"},
    [LOADER] = {.name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter", .type = "label"},
    [FORWARD] = {.name = "## forward ##", .type = "label"},
    [BACKWARD] = {.name = "## Backward ##", .type = "label"},
    [OPTIMIZER] = {.name = "Optimizer.step#SGD.step", .type = "label"},
    [MODULE] = {.name = "model.forward", .type = "label"},
    [WORK] = {.name = "aten::mm", .type = "cpu_op"},
    [WORK_KERNEL] = {.name = "sgemm", .type = "kernel"},
};
static uint8_t label_kinds[NAMES] = {SPAN_LABEL, SPAN_LABEL, SPAN_LABEL,
                                     SPAN_LABEL, SPAN_LABEL, SPAN_LABEL};

static void labels_become_phases_of_steps(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = STEP},
        {.start_ns = 0, .dur_ns = 10, .op = LOADER},
        {.start_ns = 20, .dur_ns = 30, .op = FORWARD},
        {.start_ns = 25, .dur_ns = 20, .op = MODULE}, /* forward in forward: once */
        {.start_ns = 26, .dur_ns = 5, .op = WORK, .correlation = 1},
        {.start_ns = 50, .dur_ns = 20, .op = BACKWARD},
        {.start_ns = 75, .dur_ns = 5, .op = OPTIMIZER},
        {.start_ns = 100, .dur_ns = 60, .op = STEP},
        {.start_ns = 120, .dur_ns = 2, .op = WORK, .correlation = 3},
        /* autograd's thread, in the time of backward */
        {.start_ns = 55, .dur_ns = 5, .op = WORK, .lane = WORKER, .correlation = 2},
        {.start_ns = 40, .dur_ns = 7, .op = WORK_KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 60, .dur_ns = 50, .op = WORK_KERNEL, .lane = STREAM, .correlation = 2},
        {.start_ns = 130, .dur_ns = 3, .op = WORK_KERNEL, .lane = STREAM, .correlation = 3},
    };
    struct spans_answer answer = answer_of(NULL, 0);
    struct model_phases phases;
    const struct model_phase_times *times = phases.phases;

    answer.ops.items = labels;
    answer.ops.count = NAMES;
    answer.op_kinds = label_kinds;
    hand_spans_drop(&answer);
    hand_spans_build(&answer, spans, sizeof(spans) / sizeof(spans[0]));
    CHECK_OK(model_phases_find(&answer, &phases));
    assert_true(phases.has_steps);
    assert_true(phases.has_phases);
    CHECK_U64(times[MODEL_STEP].calls, 2);
    CHECK_NEAR(times[MODEL_STEP].union_ns, 160, 0);
    CHECK_NEAR(times[MODEL_STEP].min_ns, 60, 0);
    CHECK_NEAR(times[MODEL_STEP].device_ns, 60, 0);
    CHECK_U64(times[MODEL_FORWARD].calls, 1);
    CHECK_NEAR(times[MODEL_FORWARD].total_ns, 30, 0);
    CHECK_NEAR(times[MODEL_FORWARD].device_ns, 7, 0);
    CHECK_NEAR(times[MODEL_BACKWARD].device_ns, 50, 0);
    CHECK_NEAR(times[MODEL_OPTIMIZATION].total_ns, 5, 0);
    CHECK_NEAR(times[MODEL_DATA_LOADER].total_ns, 10, 0);
    CHECK_NEAR(times[MODEL_OTHERS].union_ns, 95, 0); /* never below 0 */
    CHECK_NEAR(times[MODEL_OTHERS].device_ns, 3, 0);
    free_answer(&answer);
}

static void phases_are_known_by_words_of_labels(void **state)
{
    assert_int_equal(model_phase_of("ProfileStep#1"), MODEL_STEP);
    assert_int_equal(model_phase_of("Optimizer.zero_grad#Adam.zero_grad"), MODEL_OPTIMIZATION);
    assert_int_equal(model_phase_of("Optimization"), MODEL_OPTIMIZATION);
    assert_int_equal(model_phase_of("paddle.io.DataLoader"), MODEL_DATA_LOADER);
    assert_int_equal(model_phase_of("loss.backward()"), MODEL_BACKWARD);
    assert_int_equal(model_phase_of("stage one"), MODEL_PHASES);
    assert_int_equal(model_phase_of(""), MODEL_PHASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute_phases_are_computation),
        cmocka_unit_test(threads_overlap_once_and_add_up_by_lane),
        cmocka_unit_test(communication_is_hidden_or_exposed),
        cmocka_unit_test(with_a_device_the_host_only_prepares),
        cmocka_unit_test(phases_of_a_queue_tell_computation),
        cmocka_unit_test(runs_are_the_wall_where_they_count),
        cmocka_unit_test(spans_that_are_not_shown_count_only_as_wall),
        cmocka_unit_test(lists_of_lanes_are_joined),
        cmocka_unit_test(lists_join_and_compare),
        cmocka_unit_test(labels_become_phases_of_steps),
        cmocka_unit_test(phases_are_known_by_words_of_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
