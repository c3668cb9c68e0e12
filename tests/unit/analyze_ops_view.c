/* SPDX-License-Identifier: Apache-2.0 */
/* From ops to lines: order with unknown values last, reductions over what is known, cuts. */
#include <math.h>

#include "analyze/reports/ops_view.h"
#include "tests/support/check.h"

#define UNKNOWN                                                                                    \
    {                                                                                              \
        .end_ns = NAN, .kern_ns = NAN, .exec_ns = NAN, .computation_flop = NAN,                    \
        .memory_bytes = NAN                                                                        \
    }
#define COST(time, kern, flop, bytes)                                                              \
    {                                                                                              \
        .calls = 2, .end_ns = (time), .kern_ns = (kern), .exec_ns = (time) - (kern),               \
        .min_ns = (time) / 4, .max_ns = (time), .computation_flop = (flop),                        \
        .memory_bytes = (bytes)                                                                    \
    }

static struct op_row ops[] = {
    {.name = "conv10",
     .type = "Conv",
     .node_id = "10",
     .input_shapes = "[[1,64]]",
     .cost = {UNKNOWN, COST(50, 5, 1000, 10)}},
    {.name = "conv9",
     .type = "Conv",
     .node_id = "9",
     .input_shapes = "[[1,8]]",
     .cost = {UNKNOWN, COST(100, 10, NAN, 30)}},
    {.name = "relu", .type = "Relu", .node_id = NULL, .cost = {UNKNOWN, COST(20, NAN, 40, NAN)}},
    {.name = "idle", .type = "Relu", .node_id = "7", .cost = {UNKNOWN, UNKNOWN}},
    {.name = "nothing",
     .type = "Id",
     .node_id = "8",
     .input_shapes = "[[1,8]]",
     .cost = {UNKNOWN, COST(0, 0, 0, 0)}},
};

static struct ops_answer answer = {.rows = {.items = ops, .count = 5, .capacity = 5}};

/* Names (or types) of the lines, a blank between. */
static void check_lines(const struct ops_view_options *options, const char *wanted)
{
    struct filter filter = {0};
    struct ops_lines lines;
    char text[256] = "";

    CHECK_OK(ops_view(&answer, &filter, options, &lines));
    for (size_t i = 0; i < lines.lines.count; i++) {
        const struct ops_line *line = &lines.lines.items[i];

        strcat(text, i ? " " : "");
        strcat(text, line->op ? line->op->name : line->type);
    }
    assert_string_equal(text, wanted);
    CHECK_U64(lines.present, 4);
    ops_lines_deinit(&lines);
}

static void check_order(const char *order, const char *wanted)
{
    struct ops_view_options options = {.side = OP_DEVICE, .order_by = order};
    struct diag diag = {0};

    if (lines_check_order(ops_columns, OPS_COLUMNS, order, &diag) < 0)
        fail_msg("%s", diag.text);
    check_lines(&options, wanted);
}

static void every_column_orders(void **state)
{
    check_order("time", "conv9 conv10 relu nothing");
    check_order("TIME", "conv9 conv10 relu nothing");
    check_order("+time", "nothing relu conv10 conv9");
    check_order("cumulative", "conv9 conv10 relu nothing");
    check_order("kern", "conv9 conv10 nothing relu");
    check_order("+kern", "nothing conv10 conv9 relu");
    check_order("exec", "conv9 conv10 nothing relu");
    check_order("computation", "conv10 relu nothing conv9");
    check_order("+Computation", "nothing relu conv10 conv9");
    check_order("FLOPS", "conv10 relu conv9 nothing");
    check_order("+flops", "relu conv10 conv9 nothing");
    check_order("memory", "conv9 conv10 nothing relu");
    check_order("+bandwidth", "conv10 conv9 relu nothing");
    check_order("calls", "conv10 conv9 relu nothing");
    check_order("+min", "nothing relu conv10 conv9");
    check_order("max", "conv9 conv10 relu nothing");
    check_order("+name", "conv9 conv10 nothing relu");
    check_order("name", "relu nothing conv10 conv9");
    check_order("+type", "conv10 conv9 nothing relu");
    check_order("+opr_id", "nothing conv9 conv10 relu");
    check_order("opr-id", "conv10 conv9 nothing relu");
    check_order("+in shapes", "conv9 nothing conv10 relu");
    check_order("out_shapes", "conv10 conv9 relu nothing");
    check_order("device", "conv10 conv9 relu nothing");
}

static void unknown_columns_are_refused(void **state)
{
    struct diag diag = {0};

    assert_int_equal(lines_check_order(ops_columns, OPS_COLUMNS, "+memroy", &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "\"memroy\"");
    CHECK_CONTAINS(diag.text, "did you mean memory?");
    diag = (struct diag){0};
    assert_int_equal(lines_check_order(ops_columns, OPS_COLUMNS, "", &diag), -EINVAL);
}

static void top_cuts_at_both_ends(void **state)
{
    struct ops_view_options options = {.side = OP_DEVICE};

    options.top = 2;
    check_lines(&options, "conv9 conv10");
    options.top = -1;
    check_lines(&options, "conv9 conv10 relu");
    options.top = -4;
    check_lines(&options, "");
    options.top = INT64_MIN;
    check_lines(&options, "");
    options.top = 100;
    check_lines(&options, "conv9 conv10 relu nothing");
}

static struct ops_line reduce(enum stats_reduction reduction, const char *type)
{
    const struct ops_view_options options = {
        .side = OP_DEVICE, .grouping = OPS_BY_TYPE, .reduction = reduction};
    struct ops_line found = {0};
    struct filter filter = {0};
    struct ops_lines lines;

    CHECK_OK(ops_view(&answer, &filter, &options, &lines));
    for (size_t i = 0; i < lines.lines.count; i++) {
        if (strcmp(lines.lines.items[i].type, type) == 0)
            found = lines.lines.items[i];
    }
    ops_lines_deinit(&lines);
    return found;
}

static void reductions_say_how_many_are_known(void **state)
{
    struct ops_line sum = reduce(STATS_SUM, "Conv"), mean = reduce(STATS_MEAN, "Conv");
    struct ops_line max = reduce(STATS_MAX, "Conv"), min = reduce(STATS_MIN, "Conv");

    CHECK_U64(sum.op_count, 2);
    CHECK_U64(sum.calls, 4);
    CHECK_NEAR(sum.time_ns, 150, 0);
    CHECK_NEAR(sum.computation_flop, 1000, 0);
    CHECK_U64(sum.computation_count, 1);
    CHECK_U64(sum.memory_count, 2);
    CHECK_NEAR(sum.flop_rate, 1000 * 1e9 / 50, 0); /* of the op that says how much */
    CHECK_NEAR(sum.byte_rate, 40 * 1e9 / 150, 1e-3);
    CHECK_NEAR(mean.time_ns, 75, 0);
    CHECK_NEAR(mean.computation_flop, 1000, 0); /* unknown ones are no zeros */
    CHECK_NEAR(mean.memory_bytes, 20, 0);
    CHECK_NEAR(max.time_ns, 100, 0);
    CHECK_NEAR(max.memory_bytes, 30, 0);
    CHECK_NEAR(min.time_ns, 50, 0);
    CHECK_NEAR(min.min_ns, 12, 0);
    CHECK_NEAR(max.max_ns, 100, 0);
}

static void groups_follow_each_other(void **state)
{
    struct ops_view_options options = {
        .side = OP_DEVICE, .grouping = OPS_BY_TYPE, .reduction = STATS_SUM};

    check_lines(&options, "Conv Relu Id");
    options.order_by = "count";
    check_lines(&options, "Conv Relu Id");
    options.order_by = "+type";
    check_lines(&options, "Conv Id Relu");
    options.order_by = "+name"; /* groups have none */
    check_lines(&options, "Conv Relu Id");
    options.grouping = OPS_ALL_IN_ONE;
    check_lines(&options, "all");
}

static void no_time_has_no_rate(void **state)
{
    struct ops_line line = reduce(STATS_SUM, "Id");

    CHECK_NEAR(line.computation_flop, 0, 0);
    assert_true(isnan(line.flop_rate));
    assert_true(isnan(line.byte_rate));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_orders),
        cmocka_unit_test(unknown_columns_are_refused),
        cmocka_unit_test(top_cuts_at_both_ends),
        cmocka_unit_test(reductions_say_how_many_are_known),
        cmocka_unit_test(groups_follow_each_other),
        cmocka_unit_test(no_time_has_no_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
