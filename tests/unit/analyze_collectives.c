/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives move, and who comes last to them, from spans made by hand. */
#include "analyze/metrics/collectives.h"

#include <math.h>

#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { FIRST, SECOND, STREAM, LANES };
enum { ALL_REDUCE, ALL_GATHER, BARRIER, BAD, COMMS, LAUNCH, NCCL, CONV, OPS };

static struct lane_row lanes[LANES] = {
    [FIRST] = {.side = OP_HOST, .session_id = 1},
    [SECOND] = {.side = OP_HOST, .session_id = 2},
    [STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0"},
};
static struct op_row ops[OPS] = {
    [ALL_REDUCE] = {.name = "gloo:all_reduce",
                    .type = "collective",
                    .input_shapes = "[[10, 100]]",
                    .input_dtypes = "[\"f32\"]"},
    [ALL_GATHER] = {.name = "gloo:all_gather",
                    .type = "collective",
                    .input_shapes = "[[8]]",
                    .input_dtypes = "[\"bool\"]"},
    [BARRIER] = {.name = "gloo:barrier", .type = "collective"},
    [BAD] = {.name = "gloo:all_reduce",
             .type = "collective",
             .input_shapes = "[[null, 3], 7",
             .input_dtypes = "[null]",
             .params = "{\"collective\": 7, \"dtype\": \"Float\", \"in_elements\": \"x\"}"},
    [COMMS] = {.name = "record_param_comms",
               .type = "cpu_op",
               .params = "{\"collective\": \"_reduce_scatter_base\", \"dtype\": \"BFloat16\","
                         " \"in_elements\": 4000, \"out_elements\": 1000, \"group_size\": 4}"},
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [NCCL] = {.name = "ncclDevKernel_ReduceScatter_RING", .type = "kernel"},
    [CONV] = {.name = "conv", .type = "cpu_op"},
};
static uint8_t kinds[OPS];
static struct session_window windows[] = {{.session_id = 1}, {.session_id = 2}};

static struct spans_answer make(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
        .windows = {.items = windows, .count = 2},
    };

    hand_spans_build(&answer, spans, count);
    return answer;
}

static void names_are_known_in_any_spelling(void **state)
{
    static const struct {
        const char *name;
        enum collective_kind kind;
    } cases[] = {
        {"allreduce", COLLECTIVE_ALL_REDUCE},
        {"allreduce_coalesced", COLLECTIVE_ALL_REDUCE},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", COLLECTIVE_ALL_REDUCE},
        {"ncclDevKernel_ReduceScatter_Sum_bf16", COLLECTIVE_REDUCE_SCATTER},
        {"_reduce_scatter_base", COLLECTIVE_REDUCE_SCATTER},
        {"_allgather_base", COLLECTIVE_ALL_GATHER},
        {"gloo:all_gather", COLLECTIVE_ALL_GATHER},
        {"all_to_allv", COLLECTIVE_ALL_TO_ALL},
        {"nccl:all_to_all", COLLECTIVE_ALL_TO_ALL},
        {"gloo:broadcast", COLLECTIVE_ONE_WAY},
        {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", COLLECTIVE_ONE_WAY},
        {"gloo:reduce", COLLECTIVE_ONE_WAY},
        {"gloo:scatter", COLLECTIVE_ROOTED},
        {"gloo:barrier", COLLECTIVE_BARRIER},
        {"", COLLECTIVE_OTHER},
        {"nccl", COLLECTIVE_OTHER},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_U64(collective_kind_of(cases[i].name), cases[i].kind);
    assert_true(collective_bus_factor(COLLECTIVE_ALL_REDUCE, 4) == 1.5);
    assert_true(collective_bus_factor(COLLECTIVE_ALL_GATHER, 4) == 0.75);
    assert_true(collective_bus_factor(COLLECTIVE_ONE_WAY, NAN) == 1);
    assert_true(isnan(collective_bus_factor(COLLECTIVE_ALL_REDUCE, NAN)));
    assert_true(isnan(collective_bus_factor(COLLECTIVE_ALL_REDUCE, 0)));
    assert_true(isnan(collective_bus_factor(COLLECTIVE_BARRIER, 4)));
}

static const struct collective_line *line_of(const struct collectives *all, const char *name)
{
    for (size_t i = 0; i < all->lines.count; i++) {
        if (strcmp(all->lines.items[i].name, name) == 0)
            return &all->lines.items[i];
    }
    fail_msg("no line %s", name);
    return NULL;
}

/* The op's own parameters, those of the op around the launch, or the shapes of inputs. */
static void sizes_are_found(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = COMMS},
        {.start_ns = 10, .dur_ns = 5, .op = LAUNCH, .correlation = 1},
        {.start_ns = 60, .dur_ns = 10, .op = ALL_REDUCE},
        {.start_ns = 80, .dur_ns = 10, .op = ALL_GATHER},
        {.start_ns = 95, .dur_ns = 1, .op = BARRIER},
        {.start_ns = 97, .dur_ns = 1, .op = CONV},
        {.start_ns = 20, .dur_ns = 100, .op = NCCL, .lane = STREAM, .correlation = 1},
        {.start_ns = 140, .dur_ns = 60, .op = NCCL, .lane = STREAM, .correlation = 1},
    };
    struct spans_answer answer = make(spans, 8);
    struct collectives all;
    const struct collective_line *line;

    CHECK_OK(collectives_find(&answer, (double[]){2, NAN}, &all));
    CHECK_U64(all.lines.count, 4);
    CHECK_U64(all.calls.count, 5);
    line = line_of(&all, "ncclDevKernel_ReduceScatter_RING");
    assert_true(line->bytes == 8000 && line->ranks == 4 && line->bus_factor == 0.75);
    assert_true(line->is_device && line->calls == 2);
    assert_true(line->total_ns == 160 && line->min_ns == 60 && line->max_ns == 100);
    line = line_of(&all, "gloo:all_reduce");
    assert_true(line->bytes == 4000 && line->ranks == 2 && line->bus_factor == 1);
    assert_true(line_of(&all, "gloo:all_gather")->bytes == 16); /* what both bring */
    assert_true(isnan(line_of(&all, "gloo:barrier")->bytes));
    collectives_deinit(&all);
    hand_spans_drop(&answer);
}

static void what_makes_no_sense_is_not_known(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = BAD},
        {.start_ns = 60, .dur_ns = 0, .op = BAD},
    };
    struct spans_answer answer = make(spans, 2);
    struct straggler_array stragglers = {0};
    struct collectives all;

    CHECK_OK(collectives_find(&answer, (double[]){NAN, NAN}, &all));
    CHECK_U64(all.lines.count, 1);
    assert_true(isnan(all.lines.items[0].bytes) && isnan(all.lines.items[0].ranks));
    CHECK_U64(all.lines.items[0].calls, 2);
    CHECK_OK(collectives_compare(&all, &stragglers));
    CHECK_U64(stragglers.count, 0); /* one session */
    array_deinit(&stragglers);
    collectives_deinit(&all);
    hand_spans_drop(&answer);
}

/* Session 2 comes last to the first and third call; the fourth is session 1's alone. */
static void who_comes_last_waits_for_nobody(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = ALL_REDUCE},
        {.start_ns = 200, .dur_ns = 30, .op = ALL_REDUCE},
        {.start_ns = 300, .dur_ns = 90, .op = ALL_REDUCE},
        {.start_ns = 400, .dur_ns = 500, .op = ALL_REDUCE},
        {.start_ns = 7000, .dur_ns = 20, .op = ALL_REDUCE, .lane = SECOND},
        {.start_ns = 7200, .dur_ns = 60, .op = ALL_REDUCE, .lane = SECOND},
        {.start_ns = 7300, .dur_ns = 40, .op = ALL_REDUCE, .lane = SECOND},
        {.start_ns = 7400, .dur_ns = 40, .op = BARRIER, .lane = SECOND},
    };
    struct spans_answer answer = make(spans, 8);
    struct straggler_array stragglers = {0};
    struct collectives all;

    CHECK_OK(collectives_find(&answer, (double[]){2, 2}, &all));
    CHECK_OK(collectives_compare(&all, &stragglers));
    CHECK_U64(stragglers.count, 1);
    CHECK_U64(stragglers.items[0].session_count, 2);
    CHECK_U64(stragglers.items[0].calls, 3);
    CHECK_U64(stragglers.items[0].left_over, 1);
    assert_true(stragglers.items[0].transfer_ns == (20 + 30 + 40) / 3.0);
    assert_true(stragglers.items[0].wait_ns == (80 + 30 + 50) / 3.0);
    CHECK_U64((uint64_t)stragglers.items[0].last_session, 2);
    CHECK_U64(stragglers.items[0].last_count, 2);
    assert_true(stragglers.items[0].held_up_ns == (80 + 50) / 2.0);
    array_deinit(&stragglers);
    collectives_deinit(&all);
    hand_spans_drop(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_known_in_any_spelling),
        cmocka_unit_test(sizes_are_found),
        cmocka_unit_test(what_makes_no_sense_is_not_known),
        cmocka_unit_test(who_comes_last_waits_for_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
