/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's averages from spans made by hand: what is a row, whose time and memory it is. */
#include <math.h>

#include "analyze/metrics/averages.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { HOST, FRAME, LABELLED, STREAM, DEVICE_MEMORY, LANES };
enum { CONV, RELU, LABEL, LAUNCH, KERNEL, PYTHON, PHASE, OTHER_CONV, LINEAR, NET, OPS };

static struct lane_row lanes[LANES] = {
    [HOST] = {.side = OP_HOST},
    [FRAME] = {.side = OP_HOST, .native_id = STORE_NULL},
    [LABELLED] = {.side = OP_HOST, .native_id = 7},
    [STREAM] = {.side = OP_DEVICE, .device = "cuda:0"},
    [DEVICE_MEMORY] = {.side = OP_DEVICE, .device = "cuda:0"},
};
static struct op_row ops[OPS] = {
    [CONV] = {.name = "conv",
              .type = "cpu_op",
              .computation_flop = 100,
              .input_shapes = "[[1,3]]",
              .params = "{\"stack\":\"a.py(1): f;b.py(2): g\"}"},
    [RELU] = {.name = "relu", .type = "cpu_op", .computation_flop = STORE_NULL},
    [LABEL] = {.name = "step", .type = "label", .is_label = true, .computation_flop = STORE_NULL},
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime", .computation_flop = STORE_NULL},
    [KERNEL] = {.name = "gemm", .type = "kernel", .computation_flop = STORE_NULL},
    [PYTHON] = {.name = "f", .type = "python_function", .computation_flop = STORE_NULL},
    [PHASE] = {.name = "wait", .type = "phase", .computation_flop = STORE_NULL},
    [OTHER_CONV] = {.name = "conv",
                    .type = "cpu_op",
                    .computation_flop = 7,
                    .input_shapes = "[[2,3]]",
                    .params = "{\"stack\":\"a.py(1): f;c.py(3): h\"}"},
    [LINEAR] = {.name = "linear",
                .type = "cpu_op",
                .computation_flop = 50,
                .params = "{\"stack\":\"n.py(9): forward;nn.Module: Linear_0;n.py(3): forward;"
                          "nn.Module: Net_0;m.py(1): main\"}"},
    [NET] = {.name = "nn.Module: Net_0", .type = "python_function", .computation_flop = STORE_NULL},
};
static uint8_t kinds[OPS] = {SPAN_OP, SPAN_OP,    SPAN_LABEL, SPAN_OP, SPAN_OP,
                             SPAN_OP, SPAN_PHASE, SPAN_OP,    SPAN_OP, SPAN_OP};

struct fixture {
    struct spans_answer spans;
    struct averages averages;
};

static struct fixture make(const struct span *spans, size_t count, const struct memory_row *memory,
                           size_t memory_count, struct averages_options options)
{
    struct memory_row_array rows = {.items = (struct memory_row *)memory, .count = memory_count};
    struct fixture fixture = {
        .spans = {.ops = {.items = ops, .count = OPS},
                  .op_kinds = kinds,
                  .lanes = {.items = lanes, .count = LANES}},
    };

    hand_spans_build(&fixture.spans, spans, count);
    CHECK_OK(averages_make(&fixture.spans, &rows, &options, &fixture.averages));
    return fixture;
}

static void drop(struct fixture *fixture)
{
    averages_deinit(&fixture->averages);
    hand_spans_drop(&fixture->spans);
}

static const struct average_line *find(const struct fixture *fixture, const char *name)
{
    for (size_t i = 0; i < fixture->averages.lines.count; i++) {
        if (strcmp(fixture->averages.lines.items[i].name, name) == 0)
            return &fixture->averages.lines.items[i];
    }
    fail_msg("no line %s", name);
    return NULL;
}

static void children_take_from_the_rows_around_them(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = LABEL},
        {.start_ns = 5, .dur_ns = 80, .op = PYTHON}, /* no row, and its time is nobody's */
        {.start_ns = 10, .dur_ns = 40, .op = CONV},
        {.start_ns = 20, .dur_ns = 10, .op = PHASE},
        {.start_ns = 30, .dur_ns = 5, .op = RELU},
        {.start_ns = 60, .dur_ns = 10, .op = RELU},
        {.start_ns = 0, .dur_ns = 500, .op = LABEL, .lane = FRAME},  /* around a trace: no row */
        {.start_ns = 0, .dur_ns = 7, .op = LABEL, .lane = LABELLED}, /* a thread's */
    };
    struct fixture fixture = make(spans, 8, NULL, 0, (struct averages_options){0});

    CHECK_U64(fixture.averages.lines.count, 3);
    CHECK_NEAR(find(&fixture, "step")->cpu_ns, 107, 1e-9);
    CHECK_NEAR(find(&fixture, "step")->self_cpu_ns, 27, 1e-9);
    CHECK_NEAR(find(&fixture, "conv")->self_cpu_ns, 35, 1e-9);
    CHECK_U64(find(&fixture, "relu")->calls, 2);
    CHECK_NEAR(fixture.averages.self_cpu_ns, 77, 1e-9);
    assert_true(isnan(find(&fixture, "conv")->self_device_ns));
    assert_true(isnan(find(&fixture, "conv")->cpu_bytes));
    CHECK_NEAR(find(&fixture, "conv")->computation_flop, 100, 1e-9);
    assert_true(isnan(find(&fixture, "relu")->computation_flop));
    drop(&fixture);
}

static void overlapping_children_make_self_time_negative(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = LABEL},
        {.start_ns = 0, .dur_ns = 40, .op = CONV},
        {.start_ns = 5, .dur_ns = 40, .op = RELU}, /* sticks out of conv */
    };
    struct fixture fixture = make(spans, 3, NULL, 0, (struct averages_options){0});

    CHECK_NEAR(find(&fixture, "step")->self_cpu_ns, -30, 1e-9);
    CHECK_NEAR(fixture.averages.self_cpu_ns, 50, 1e-9);
    CHECK_U64(fixture.averages.negative_count, 1);
    drop(&fixture);
}

static void an_only_child_of_the_same_name_is_one_with_it(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = CONV},
        {.start_ns = 5, .dur_ns = 40, .op = OTHER_CONV},
        {.start_ns = 10, .dur_ns = 10, .op = RELU},
    };
    struct fixture fixture = make(spans, 3, NULL, 0, (struct averages_options){0});

    CHECK_U64(find(&fixture, "conv")->calls, 1);
    CHECK_NEAR(find(&fixture, "conv")->cpu_ns, 50, 1e-9);
    CHECK_NEAR(find(&fixture, "conv")->self_cpu_ns, 40, 1e-9);
    drop(&fixture);
}

/* Only what is directly inside; and an only child of an only child is one with it, too. */
static void functions_of_python_part_twins(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = CONV},
        {.start_ns = 5, .dur_ns = 40, .op = PYTHON},
        {.start_ns = 10, .dur_ns = 30, .op = OTHER_CONV},
        {.start_ns = 12, .dur_ns = 20, .op = OTHER_CONV},
        {.start_ns = 100, .dur_ns = 50, .op = CONV},
        {.start_ns = 105, .dur_ns = 20, .op = CONV},
        {.start_ns = 130, .dur_ns = 10, .op = PYTHON}, /* that one is not alone */
    };
    struct fixture fixture = make(spans, 7, NULL, 0, (struct averages_options){0});

    CHECK_U64(find(&fixture, "conv")->calls, 4);
    CHECK_NEAR(find(&fixture, "conv")->cpu_ns, 150, 1e-9);
    CHECK_NEAR(find(&fixture, "conv")->self_cpu_ns, 10 + 30 + 20 + 20, 1e-9);
    drop(&fixture);
}

static void functions_of_python_keep_memory_and_pass_kernels_on(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = LABEL},
        {.start_ns = 5, .dur_ns = 80, .op = PYTHON},
        {.start_ns = 10, .dur_ns = 40, .op = CONV},
        {.start_ns = 20, .dur_ns = 10, .op = LAUNCH, .correlation = 1},
        {.start_ns = 200, .dur_ns = 10, .op = PYTHON}, /* in nothing */
        {.start_ns = 90, .dur_ns = 70, .op = KERNEL, .lane = STREAM, .correlation = 1},
    };
    const struct memory_row memory[] = {
        {.lane = HOST, .op = PYTHON, .time_ns = 6, .bytes = 1000},
        {.lane = HOST, .op = CONV, .time_ns = 15, .bytes = 10},
        {.lane = HOST, .op = LABEL, .time_ns = 95, .bytes = -300},
        {.lane = HOST, .op = PYTHON, .time_ns = 205, .bytes = 5},
    };
    struct fixture fixture = make(spans, 6, memory, 4, (struct averages_options){0});

    CHECK_NEAR(find(&fixture, "step")->cpu_bytes, 710, 1e-9);
    CHECK_NEAR(find(&fixture, "step")->self_cpu_bytes, -300, 1e-9);
    CHECK_NEAR(find(&fixture, "step")->device_ns, 70, 1e-9);
    CHECK_NEAR(find(&fixture, "conv")->self_cpu_bytes, 10, 1e-9);
    CHECK_U64(fixture.averages.lines.count, 4); /* no [memory] */
    drop(&fixture);
}

static void kernels_belong_to_the_op_around_their_launch(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = LABEL},
        {.start_ns = 10, .dur_ns = 40, .op = CONV},
        {.start_ns = 20, .dur_ns = 10, .op = LAUNCH, .correlation = 1},
        {.start_ns = 200, .dur_ns = 10, .op = LAUNCH, .correlation = 2}, /* in no op */
        {.start_ns = 90, .dur_ns = 70, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 300, .dur_ns = 5, .op = KERNEL, .lane = STREAM, .correlation = 2},
        {.start_ns = 85, .dur_ns = 80, .op = LABEL, .lane = STREAM},
    };
    struct fixture fixture = make(spans, 7, NULL, 0, (struct averages_options){0});
    const struct average_line *host_label = find(&fixture, "step");

    CHECK_NEAR(find(&fixture, "conv")->self_device_ns, 70, 1e-9);
    CHECK_NEAR(host_label->self_device_ns, 0, 1e-9);
    CHECK_NEAR(host_label->device_ns, 70, 1e-9);
    CHECK_NEAR(find(&fixture, "cudaLaunchKernel")->device_ns, 5, 1e-9);
    CHECK_NEAR(find(&fixture, "gemm")->self_device_ns, 75, 1e-9);
    assert_true(isnan(find(&fixture, "gemm")->cpu_ns));
    CHECK_NEAR(fixture.averages.self_device_ns, 75, 1e-9); /* without the label's shadow */
    CHECK_U64(fixture.averages.lines.count, 5);            /* that shadow has a line of its own */
    drop(&fixture);
}

static void memory_belongs_to_the_innermost_span_of_its_op(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = LABEL},
        {.start_ns = 10, .dur_ns = 40, .op = CONV},
        {.start_ns = 20, .dur_ns = 10, .op = RELU},
        {.start_ns = 50, .dur_ns = 0, .op = RELU}, /* where conv ends: not in it */
    };
    const struct memory_row memory[] = {
        {.lane = HOST, .op = RELU, .time_ns = 25, .bytes = 1000},
        {.lane = HOST, .op = RELU, .time_ns = 50, .bytes = 10},
        {.lane = HOST, .op = CONV, .time_ns = 50, .bytes = -300},
        {.lane = DEVICE_MEMORY, .op = CONV, .time_ns = 11, .bytes = 64},
        {.lane = HOST, .op = SPAN_NONE, .time_ns = 300, .bytes = 5},
        {.lane = HOST, .op = CONV, .time_ns = 400, .bytes = 7}, /* after its only span */
        {.lane = HOST, .op = CONV, .time_ns = 12, .bytes = STORE_NULL},
    };
    struct fixture fixture = make(spans, 4, memory, 7, (struct averages_options){0});

    CHECK_NEAR(find(&fixture, "relu")->self_cpu_bytes, 1010, 1e-9);
    CHECK_NEAR(find(&fixture, "conv")->cpu_bytes, 700, 1e-9);
    CHECK_NEAR(find(&fixture, "conv")->self_cpu_bytes, -300, 1e-9);
    CHECK_NEAR(find(&fixture, "step")->cpu_bytes, 710, 1e-9);
    CHECK_NEAR(find(&fixture, "step")->device_bytes, 64, 1e-9);
    CHECK_NEAR(find(&fixture, "step")->self_device_bytes, 0, 1e-9);
    CHECK_NEAR(find(&fixture, "[memory]")->cpu_bytes, 12, 1e-9);
    CHECK_U64(find(&fixture, "[memory]")->calls, 2);
    CHECK_U64(fixture.averages.unsized_count, 1);
    drop(&fixture);
}

static void memory_of_runs_skipped_does_not_count(void **state)
{
    static struct run_row runs[] = {{.session_id = 0, .run = 1, .counts = false},
                                    {.session_id = 0, .run = 2, .counts = true}};
    const struct span spans[] = {{.start_ns = 0, .dur_ns = 100, .op = CONV}};
    const struct memory_row memory[] = {
        {.lane = HOST, .op = CONV, .run = 1, .time_ns = 10, .bytes = 1},
        {.lane = HOST, .op = CONV, .run = 2, .time_ns = 20, .bytes = 10},
        {.lane = HOST, .op = CONV, .run = STORE_NULL, .time_ns = 30, .bytes = 100},
    };
    struct memory_row_array rows = {.items = (struct memory_row *)memory, .count = 3};
    struct fixture fixture = make(spans, 1, NULL, 0, (struct averages_options){0});

    averages_deinit(&fixture.averages);
    fixture.spans.runs.items = runs;
    fixture.spans.runs.count = 2;
    CHECK_OK(
        averages_make(&fixture.spans, &rows, &(struct averages_options){0}, &fixture.averages));
    CHECK_NEAR(find(&fixture, "conv")->cpu_bytes, 110, 1e-9);
    averages_deinit(&fixture.averages);
    CHECK_OK(averages_make(&fixture.spans, &rows, &(struct averages_options){.runs_only = true},
                           &fixture.averages));
    CHECK_NEAR(find(&fixture, "conv")->cpu_bytes, 10, 1e-9);
    drop(&fixture);
}

static void shapes_and_stacks_part_lines(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = CONV},
        {.start_ns = 20, .dur_ns = 10, .op = OTHER_CONV},
        {.start_ns = 40, .dur_ns = 10, .op = CONV},
    };
    const struct averages_options shape = {.by_shape = true};
    const struct averages_options one = {.frame_count = 1};
    const struct averages_options two = {.frame_count = 2};
    const struct averages_options both = {.by_shape = true, .frame_count = 1};
    struct fixture fixture = make(spans, 3, NULL, 0, shape);

    CHECK_U64(fixture.averages.lines.count, 2);
    CHECK_U64(fixture.averages.lines.items[0].calls, 2);
    assert_string_equal(fixture.averages.lines.items[1].input_shapes, "[[2,3]]");
    drop(&fixture);
    fixture = make(spans, 3, NULL, 0, one);
    CHECK_U64(fixture.averages.lines.count, 1);
    assert_string_equal(fixture.averages.lines.items[0].stack, "[\"a.py(1): f\"]");
    CHECK_NEAR(fixture.averages.lines.items[0].computation_flop, 207, 1e-9);
    drop(&fixture);
    fixture = make(spans, 3, NULL, 0, both);
    CHECK_U64(fixture.averages.lines.count, 2);
    assert_string_equal(fixture.averages.lines.items[1].input_shapes, "[[2,3]]");
    assert_string_equal(fixture.averages.lines.items[1].stack, "[\"a.py(1): f\"]");
    drop(&fixture);
    fixture = make(spans, 3, NULL, 0, two);
    CHECK_U64(fixture.averages.lines.count, 2);
    assert_string_equal(fixture.averages.lines.items[1].stack, "[\"a.py(1): f\",\"c.py(3): h\"]");
    drop(&fixture);
}

/* Ops by their stacks, without one by what they lie in; kernels where they were launched. */
static void modules_have_what_their_ops_took(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 200, .op = NET},
        {.start_ns = 10, .dur_ns = 50, .op = RELU},
        {.start_ns = 100, .dur_ns = 60, .op = LINEAR},
        {.start_ns = 110, .dur_ns = 20, .op = LAUNCH, .correlation = 1},
        {.start_ns = 300, .dur_ns = 40, .op = CONV},
        {.start_ns = 400, .dur_ns = 30, .op = LINEAR}, /* as backward ops have it */
        {.start_ns = 130, .dur_ns = 500, .op = KERNEL, .lane = STREAM, .correlation = 1},
    };
    const struct averages_options options = {.by_module = true};
    struct fixture fixture = make(spans, 7, NULL, 0, options);
    const struct average_line *line = find(&fixture, "Net_0");

    CHECK_U64(fixture.averages.lines.count, 3);
    CHECK_U64(line->calls, 1);
    CHECK_NEAR(line->self_cpu_ns, 50, 1e-9);
    CHECK_NEAR(line->cpu_ns, 50 + 60 + 30, 1e-9);
    CHECK_NEAR(line->self_device_ns, 0, 1e-9);
    CHECK_NEAR(line->device_ns, 500, 1e-9);
    line = find(&fixture, "Net_0/Linear_0");
    CHECK_U64(line->calls, 0); /* nothing says how often */
    CHECK_NEAR(line->self_cpu_ns, 90, 1e-9);
    CHECK_NEAR(line->computation_flop, 100, 1e-9);
    CHECK_NEAR(line->self_device_ns, 500, 1e-9);
    line = find(&fixture, "(outside of modules)");
    CHECK_NEAR(line->cpu_ns, 40, 1e-9);
    CHECK_NEAR(fixture.averages.self_cpu_ns, 180, 1e-9);
    drop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_take_from_the_rows_around_them),
        cmocka_unit_test(overlapping_children_make_self_time_negative),
        cmocka_unit_test(an_only_child_of_the_same_name_is_one_with_it),
        cmocka_unit_test(functions_of_python_part_twins),
        cmocka_unit_test(functions_of_python_keep_memory_and_pass_kernels_on),
        cmocka_unit_test(kernels_belong_to_the_op_around_their_launch),
        cmocka_unit_test(memory_belongs_to_the_innermost_span_of_its_op),
        cmocka_unit_test(memory_of_runs_skipped_does_not_count),
        cmocka_unit_test(shapes_and_stacks_part_lines),
        cmocka_unit_test(modules_have_what_their_ops_took),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
