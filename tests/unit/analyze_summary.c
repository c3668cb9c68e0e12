/* SPDX-License-Identifier: Apache-2.0 */
/* Times of ops by run: which runs a mean leaves out, what is counted once, what adds up. */
#include <math.h>

#include "analyze/metrics/summary.h"
#include "analyze/query/op_class.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { HOST, QUEUE };                                   /* lanes */
enum { CONV, RELU, LAUNCH, NAMED, IDLE, WIDE, NARROW }; /* ops */

static struct lane_row lanes[] = {{.side = OP_HOST}, {.side = OP_DEVICE}};
static struct op_row ops[] = {
    [CONV] = {.name = "conv1",
              .type = "Conv",
              .node_id = "0",
              .input_shapes = "[[64,3,7,7],[8,3,224,224]]",
              .params = "{\"model_inputs\":[1]}"},
    [RELU] = {.name = "relu1", .type = "Relu", .node_id = "1"},
    [LAUNCH] = {.name = "launch", .type = "cuda_runtime"},
    [NAMED] = {.name = "scope", .type = "label"},
    [IDLE] = {.name = "never", .type = "Relu", .node_id = "2"},
    [WIDE] = {.name = "sgemm", .type = "kernel", .params = "{\"grid\":[8,1,1]}"},
    [NARROW] = {.name = "sgemm", .type = "kernel", .params = "{\"grid\":[1,1,1]}"},
};
static uint8_t kinds[] = {SPAN_OP, SPAN_OP, SPAN_OP, SPAN_LABEL, SPAN_OP, SPAN_OP, SPAN_OP};

static struct spans_answer answer_of(const struct span *spans, size_t count, uint64_t runs)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = sizeof(ops) / sizeof(ops[0])},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = 2},
        .basis = {.runs = runs, .is_per_run = runs > 0},
    };

    hand_spans_build(&answer, spans, count);
    return answer;
}

static void free_answer(struct spans_answer *answer)
{
    hand_spans_drop(answer);
}

static void the_mean_leaves_a_quarter_out_on_each_side(void **state)
{
    /* 1, 2, ... 7 and 1000 ms, in another order */
    const int64_t ms[] = {1000, 5, 1, 7, 3, 2, 6, 4};
    struct span spans[8];
    struct spans_answer answer;
    struct summary summary;

    for (int i = 0; i < 8; i++)
        spans[i] = (struct span){.start_ns = i * INT64_C(2000000000),
                                 .dur_ns = ms[i] * 1000000,
                                 .op = CONV,
                                 .run = (uint32_t)i};
    answer = answer_of(spans, 8, 8);
    CHECK_OK(summary_make(&answer, false, &summary));
    CHECK_U64(summary.ops.count, 1);
    CHECK_NEAR(summary.ops.items[0].mean_ns, 4.5e6, 0);
    CHECK_NEAR(summary.ops.items[0].plain_mean_ns, 128.5e6, 0);
    CHECK_NEAR(summary.ops.items[0].median_ns, 4.5e6, 0);
    CHECK_NEAR(summary.ops.items[0].min_ns, 1e6, 0);
    CHECK_NEAR(summary.ops.items[0].max_ns, 1e9, 0);
    CHECK_NEAR(summary.instructions_ns, 4.5e6, 0);
    assert_int_equal(summary.side, OP_HOST);
    assert_int_equal(summary.batch, 8); /* not 64: that is a weight */
    assert_string_equal(summary.batch_op, "conv1");
    CHECK_U64(summary.not_run_count, 2);
    summary_deinit(&summary);
    free_answer(&answer);
}

static void calls_of_a_run_add_up_and_insides_count_once(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = NAMED},
        {.start_ns = 10, .dur_ns = 50, .op = CONV},
        {.start_ns = 20, .dur_ns = 10, .op = RELU},
        {.start_ns = 40, .dur_ns = 10, .op = RELU},
        {.start_ns = 200, .dur_ns = 60, .op = CONV, .run = 1},
    };
    struct spans_answer answer = answer_of(spans, 5, 2);
    struct summary summary;
    const struct summary_op *items;

    CHECK_OK(summary_make(&answer, false, &summary));
    items = summary.ops.items;
    CHECK_U64(summary.ops.count, 2);
    assert_string_equal(items[0].op->name, "conv1"); /* in the order in which they start */
    CHECK_NEAR(items[0].mean_ns, 45, 0);             /* 30 and 60 */
    CHECK_U64(items[1].calls, 2);
    CHECK_U64(items[1].run_count, 1);
    CHECK_NEAR(items[1].mean_ns, 20, 0); /* in the run in which it ran */
    CHECK_NEAR(items[1].part_ns, 10, 0); /* and half of that in each */
    CHECK_NEAR(summary.instructions_ns, 55, 0);
    assert_string_equal(summary.types.items[0].type, "Conv");
    CHECK_NEAR(summary.types.items[1].total_ns, 10, 0);
    assert_true(isnan(summary.launch_ns));
    summary_deinit(&summary);
    free_answer(&answer);
}

static void runs_that_did_not_end_are_skipped(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = CONV},
        {.start_ns = 200, .dur_ns = 10, .op = CONV, .run = 1},
    };
    struct run_row runs[] = {{.run = 1, .end_ns = 100}, {.run = 2, .end_ns = STORE_NULL}};
    struct spans_answer answer = answer_of(spans, 2, 2);
    struct summary summary;

    answer.runs.items = runs;
    answer.runs.count = 2;
    answer.basis.run_ns_count = 1;
    CHECK_OK(summary_make(&answer, false, &summary));
    CHECK_U64(summary.run_count, 1);
    CHECK_U64(summary.ops.items[0].calls, 1);
    CHECK_NEAR(summary.ops.items[0].part_ns, 50, 0);
    summary_deinit(&summary);
    free_answer(&answer);
}

static void device_times_come_first_and_launches_are_told(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 7, .op = LAUNCH, .correlation = 1},
        {.start_ns = 10, .dur_ns = 5, .op = LAUNCH, .correlation = 2},
        {.start_ns = 20, .dur_ns = 90, .op = LAUNCH}, /* a wait: launches nothing */
        {.start_ns = 5, .dur_ns = 100, .op = CONV, .lane = QUEUE, .correlation = 1},
        {.start_ns = 110, .dur_ns = 50, .op = RELU, .lane = QUEUE, .correlation = 2},
    };
    struct spans_answer answer = answer_of(spans, 5, 0);
    struct summary summary;

    CHECK_OK(summary_make(&answer, false, &summary));
    assert_int_equal(summary.side, OP_DEVICE);
    CHECK_U64(summary.ops.count, 2);
    CHECK_U64(summary.run_count, 1);
    CHECK_NEAR(summary.instructions_ns, 150, 0);
    CHECK_NEAR(summary.launch_ns, 12, 0);
    summary_deinit(&summary);
    free_answer(&answer);
}

static void equal_ops_of_sessions_are_one_line(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = 0},
        {.start_ns = 100, .dur_ns = 30, .op = 1, .run = 1},
        {.start_ns = 200, .dur_ns = 50, .op = 2, .run = 1},
    };
    struct op_row rows[] = {{.name = "a", .type = "T"},
                            {.name = "a", .type = "T", .session_id = 1},
                            {.name = "a", .type = "U", .session_id = 1}};
    struct session_window windows[2] = {{0}};
    struct spans_answer answer = answer_of(spans, 3, 2);
    struct summary summary;

    answer.ops.items = rows;
    answer.ops.count = 3;
    answer.windows.items = windows;
    answer.windows.count = 2;
    CHECK_OK(summary_make(&answer, false, &summary));
    CHECK_U64(summary.ops.count, 2);
    CHECK_U64(summary.ops.items[0].calls, 2);
    CHECK_NEAR(summary.ops.items[0].mean_ns, 20, 0);
    CHECK_NEAR(summary.ops.items[1].part_ns, 25, 0);
    summary_deinit(&summary);
    free_answer(&answer);
}

static void details_tell_shapes_apart(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = 0},
        {.start_ns = 100, .dur_ns = 30, .op = 1},
        {.start_ns = 200, .dur_ns = 5, .op = 2},
    };
    struct op_row rows[] = {
        {.name = "a", .type = "T", .input_shapes = "[[1,3],[null]]", .output_dtypes = "[\"f32\"]"},
        {.name = "b", .type = "T", .input_shapes = "[[2,3],null]", .output_dtypes = "[\"f16\"]"},
        {.name = "c", .type = "T", .input_shapes = "[[1,3],[null]]", .output_dtypes = "[\"f32\"]"},
    };
    struct spans_answer answer = answer_of(spans, 3, 0);
    struct summary summary;

    answer.ops.items = rows;
    answer.ops.count = 3;
    CHECK_OK(summary_make(&answer, true, &summary));
    CHECK_U64(summary.types.count, 2);
    assert_string_equal(summary.types.items[0].type, "T<f16(2x3, ?)>");
    assert_string_equal(summary.types.items[1].type, "T<f32(1x3, ?)>");
    CHECK_U64(summary.types.items[1].op_count, 2);
    CHECK_NEAR(summary.types.items[1].total_ns, 15, 0);
    summary_deinit(&summary);
    rows[0] = (struct op_row){.name = "bare", .type = "T"};
    CHECK_OK(summary_make(&answer, true, &summary));
    assert_string_equal(summary.types.items[1].type, "T<()>");
    summary_deinit(&summary);
    free_answer(&answer);
}

static void runs_have_nearest_rank_percentiles(void **state)
{
    double ns[100];
    struct summary_runs runs;

    for (int i = 0; i < 100; i++)
        ns[i] = i + 1;
    runs = summary_of_runs(ns, 100);
    CHECK_NEAR(runs.total_ns, 50.5, 0);
    CHECK_NEAR(runs.median_ns, 50.5, 0);
    CHECK_NEAR(runs.p90_ns, 90, 0); /* MIGraphX's T[floor(0.9 * 99)] is 90 too, */
    CHECK_NEAR(runs.p95_ns, 95, 0);
    CHECK_NEAR(runs.p99_ns, 99, 0);
    runs = summary_of_runs(ns, 3);
    CHECK_NEAR(runs.total_ns, 2, 0); /* nothing is left out of fewer than four */
    CHECK_NEAR(runs.p90_ns, 3, 0);   /* where its rule takes the second of three */
    runs = summary_of_runs(ns, 1);
    CHECK_NEAR(runs.median_ns, 1, 0);
    assert_true(isnan(summary_of_runs(NULL, 0).total_ns));
}

static void batch_is_told_only_by_the_models_input(void **state)
{
    static const struct {
        const char *params, *shapes;
        int64_t batch;
    } cases[] = {
        {"{\"model_inputs\":[0]}", "[[32,3],[3,3]]", 32},
        {"{\"model_inputs\":[2]}", "[[32,3],[3,3]]", STORE_NULL},
        {"{\"model_inputs\":[0]}", "[[null,3]]", STORE_NULL},
        {"{\"model_inputs\":[0]}", "[[]]", STORE_NULL},
        {"{\"model_inputs\":[0]}", "[null]", STORE_NULL},
        {"{\"model_inputs\":[0]}", "nonsense", STORE_NULL},
        {"{\"model_inputs\":7}", "[[32,3]]", STORE_NULL},
        {"{\"model_inputs\":[]}", "[[32,3]]", STORE_NULL},
        {"\"model_inputs\"", "[[32,3]]", STORE_NULL},
        {"{}", "[[32,3]]", STORE_NULL},
        {NULL, "[[32,3]]", STORE_NULL},
        {"{\"model_inputs\":[0]}", NULL, STORE_NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct op_row op = {.params = cases[i].params, .input_shapes = cases[i].shapes};

        assert_int_equal(summary_batch_of(&op), cases[i].batch);
    }
}

/* Sorts of work, which this and Paddle's reports tell apart. */
static void copies_and_calls_are_known_by_name(void **state)
{
    static const struct {
        const char *type, *name;
        enum op_class class;
        enum copy_direction direction;
        enum copy_mode mode;
        const char *group;
    } cases[] = {
        {"copy", "Memcpy HtoD (Pageable -> Device)", OP_CLASS_COPY, COPY_TO_DEVICE,
         COPY_MODE_UNKNOWN, "Memcpy HtoD (Pageable -> Device)"},
        {"copy", "Memcpy DtoH", OP_CLASS_COPY, COPY_TO_HOST, COPY_MODE_UNKNOWN, "Memcpy DtoH"},
        {"copy", "GpuMemcpyAsync:CPU->GPU", OP_CLASS_COPY, COPY_TO_DEVICE, COPY_ASYNC,
         "GpuMemcpyAsync:CPU->GPU"},
        {"GpuMemcpySync:GPU->CPU", "fetch", OP_CLASS_COPY, COPY_TO_HOST, COPY_SYNC,
         "GpuMemcpySync:GPU->CPU"},
        {"copy", "GpuMemcpyAsync(same_gpu):GPU->GPU", OP_CLASS_COPY, COPY_ON_DEVICE, COPY_ASYNC,
         "GpuMemcpyAsync(same_gpu):GPU->GPU"},
        {"Copy", "copy2", OP_CLASS_COPY, COPY_DIRECTION_UNKNOWN, COPY_MODE_UNKNOWN, "Copy"},
        {"memset", "Memset (Device)", OP_CLASS_FILL, COPY_DIRECTION_UNKNOWN, COPY_MODE_UNKNOWN,
         "Memset (Device)"},
        {"cuda_runtime", "cudaMemcpyAsync", OP_CLASS_CALL, COPY_DIRECTION_UNKNOWN, COPY_ASYNC,
         "cudaMemcpyAsync"},
        {"Conv", "conv1", OP_CLASS_WORK, COPY_DIRECTION_UNKNOWN, COPY_MODE_UNKNOWN, "Conv"},
        {"", "untyped", OP_CLASS_WORK, COPY_DIRECTION_UNKNOWN, COPY_MODE_UNKNOWN, "untyped"},
    };
    const struct op_row sync = {.type = "cuda_runtime", .name = "cudaMemcpy_v3020"};
    const struct op_row async = {.type = "cuda_runtime", .name = "cudaMemcpyAsync_v3020"};
    const struct op_row graph = {.type = "cuda_runtime", .name = "cudaGraphLaunch_v10000"};
    const struct op_row copy = {.type = "copy", .name = "Memcpy HtoD"};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct op_row op = {.type = cases[i].type, .name = cases[i].name};

        assert_int_equal(op_class_of(&op), cases[i].class);
        assert_int_equal(copy_direction_of(&op), cases[i].direction);
        assert_int_equal(copy_mode_of(&op, NULL), cases[i].mode);
        assert_string_equal(op_group_name(&op), cases[i].group);
    }
    assert_int_equal(copy_mode_of(&copy, &sync), COPY_SYNC);
    assert_int_equal(copy_mode_of(&copy, &async), COPY_ASYNC);
    assert_int_equal(copy_mode_of(&copy, &graph), COPY_MODE_UNKNOWN);
}

/* As in the report ops. */
static void a_kernel_is_one_line_however_it_is_launched(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = WIDE, .lane = QUEUE, .run = 0},
        {.start_ns = 20, .dur_ns = 30, .op = NARROW, .lane = QUEUE, .run = 0},
        {.start_ns = 100, .dur_ns = 20, .op = NARROW, .lane = QUEUE, .run = 1},
    };
    struct spans_answer answer = answer_of(spans, 3, 2);
    struct summary summary;

    (void)state;
    CHECK_OK(summary_make(&answer, false, &summary));
    CHECK_U64(summary.ops.count, 1);
    CHECK_U64(summary.ops.items[0].calls, 3);
    CHECK_U64(summary.ops.items[0].run_count, 2);
    CHECK_NEAR(summary.ops.items[0].mean_ns, 30, 0);
    CHECK_NEAR(summary.ops.items[0].max_ns, 40, 0);
    summary_deinit(&summary);
    free_answer(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_leaves_a_quarter_out_on_each_side),
        cmocka_unit_test(calls_of_a_run_add_up_and_insides_count_once),
        cmocka_unit_test(runs_that_did_not_end_are_skipped),
        cmocka_unit_test(device_times_come_first_and_launches_are_told),
        cmocka_unit_test(equal_ops_of_sessions_are_one_line),
        cmocka_unit_test(details_tell_shapes_apart),
        cmocka_unit_test(runs_have_nearest_rank_percentiles),
        cmocka_unit_test(batch_is_told_only_by_the_models_input),
        cmocka_unit_test(copies_and_calls_are_known_by_name),
        cmocka_unit_test(a_kernel_is_one_line_however_it_is_launched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
