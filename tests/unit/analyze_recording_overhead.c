/* SPDX-License-Identifier: Apache-2.0 */
/* What recording cost, of spans made by hand; and self times without it. */
#include "analyze/query/recording_overhead.h"

#include <math.h>

#include "analyze/metrics/averages.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { MAIN, QUEUE, STREAM, OLD, LANES };
enum { OP, INNER, LABEL, PHASE, MARK, OPS };

static struct lane_row lanes[LANES] = {
    [MAIN] = {.side = OP_HOST, .session_id = 1, .kind = "thread", .name = "main"},
    [QUEUE] = {.side = OP_DEVICE, .session_id = 1, .kind = "queue", .name = "cpu queue"},
    [STREAM] = {.side = OP_DEVICE, .session_id = 1, .kind = "stream", .name = "stream 7"},
    [OLD] = {.side = OP_HOST, .session_id = 2, .kind = "thread", .name = "main"},
};
static struct op_row ops[OPS] = {
    [OP] = {.name = "op", .type = "Op", .computation_flop = STORE_NULL},
    [INNER] = {.name = "inner", .type = "Op", .computation_flop = STORE_NULL},
    [LABEL] = {.name = "step", .type = "label", .is_label = true, .computation_flop = STORE_NULL},
    [PHASE] = {.name = "compute", .type = "phase", .computation_flop = STORE_NULL},
    [MARK] = {.name = "here", .type = "mark", .computation_flop = STORE_NULL},
};
static uint8_t kinds[OPS] = {[LABEL] = SPAN_LABEL, [PHASE] = SPAN_PHASE, [MARK] = SPAN_MARK};

static struct spans_answer make(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
    };

    hand_spans_build(&answer, spans, count);
    for (size_t i = 0; i < answer.spans.count; i++)
        answer.spans.items[i].is_shown = true;
    return answer;
}

#define MAKE(...)                                                                                  \
    make((struct span[]){__VA_ARGS__}, sizeof((struct span[]){__VA_ARGS__}) / sizeof(struct span))

/* A span takes 20 ns, 8 of them within its self time; with counters, on the queue, 500 and 10. */
static struct recording_overhead_rate plain[LANES] = {{20, 8}, {20, 8}, {20, 8}, {NAN, NAN}};
static struct recording_overhead_rate counted[LANES] = {
    {NAN, NAN}, {500, 10}, {NAN, NAN}, {NAN, NAN}};
static const struct recording_overhead costs = {plain, counted};

static void spans_of_threads_and_queues_have_their_price(void **state)
{
    struct spans_answer spans = MAKE(
        {.start_ns = 0, .dur_ns = 1000, .op = LABEL}, {.start_ns = 100, .dur_ns = 400, .op = OP},
        {.start_ns = 150, .dur_ns = 0, .op = MARK}, {.start_ns = 3000, .dur_ns = 500, .op = OP},
        {.start_ns = 0, .dur_ns = 2000, .op = OP, .lane = QUEUE},
        {.start_ns = 10, .dur_ns = 100, .op = PHASE, .lane = QUEUE},
        {.start_ns = 0, .dur_ns = 9000, .op = OP, .lane = STREAM},
        {.start_ns = 0, .dur_ns = 700, .op = OP, .lane = OLD});
    struct recording_overhead_sum sum = recording_overhead_sum(&costs, &spans);

    CHECK_U64(sum.span_count, 5);
    CHECK_U64(sum.unknown_count, 1); /* of a session that was not measured; streams are not asked */
    assert_true(sum.cost_ns == 3 * 20 + 500 + 20);
    assert_true(sum.recorded_ns == 1000 + 500 + 2000);
    hand_spans_drop(&spans);
}

static void what_was_not_measured_is_not_known(void **state)
{
    struct spans_answer spans = MAKE({.start_ns = 0, .dur_ns = 700, .op = OP, .lane = OLD});
    struct recording_overhead_sum sum = recording_overhead_sum(&costs, &spans);

    CHECK_U64(sum.span_count, 0);
    CHECK_U64(sum.unknown_count, 1);
    assert_true(isnan(recording_overhead_of(&costs, &spans, &spans.spans.items[0]).span_ns));
    hand_spans_drop(&spans);
}

static const struct average_line *line_of(const struct averages *averages, const char *name)
{
    for (size_t i = 0; i < averages->lines.count; i++) {
        if (strcmp(averages->lines.items[i].name, name) == 0)
            return &averages->lines.items[i];
    }
    fail_msg("no line %s", name);
    return NULL;
}

/* op holds inner twice and a phase: its self time has 8 of its own, 12 around each inner, and 20 of
 * the phase. */
static void self_times_pay_for_what_is_inside(void **state)
{
    struct spans_answer spans = MAKE({.start_ns = 0, .dur_ns = 1000, .op = OP},
                                     {.start_ns = 100, .dur_ns = 100, .op = INNER},
                                     {.start_ns = 300, .dur_ns = 100, .op = INNER},
                                     {.start_ns = 500, .dur_ns = 100, .op = PHASE},
                                     {.start_ns = 0, .dur_ns = 50, .op = INNER, .lane = OLD});
    struct memory_row_array memory = {0};
    struct averages_options options = {.costs = &costs};
    struct averages averages;

    spans.spans.items[4].is_shown = false;
    CHECK_OK(averages_make(&spans, &memory, &options, &averages));
    assert_true(line_of(&averages, "op")->recording_ns == 8 + 2 * 12 + 20);
    assert_true(line_of(&averages, "op")->self_cpu_ns == 800);
    assert_true(line_of(&averages, "inner")->recording_ns == 2 * 8);
    averages_deinit(&averages);
    spans.spans.items[4].is_shown =
        true; /* one of its calls is of a session that was not measured */
    CHECK_OK(averages_make(&spans, &memory, &options, &averages));
    assert_true(isnan(line_of(&averages, "inner")->recording_ns));
    averages_deinit(&averages);
    options.costs = NULL;
    CHECK_OK(averages_make(&spans, &memory, &options, &averages));
    assert_true(isnan(line_of(&averages, "op")->recording_ns));
    averages_deinit(&averages);
    hand_spans_drop(&spans);
}

/* An only child of its parent's name is one with it, and costs it all of a span. */
static void an_only_child_of_the_name_is_paid_for(void **state)
{
    struct spans_answer spans =
        MAKE({.start_ns = 0, .dur_ns = 1000, .op = OP}, {.start_ns = 100, .dur_ns = 800, .op = OP});
    struct memory_row_array memory = {0};
    const struct averages_options options = {.costs = &costs};
    struct averages averages;

    CHECK_OK(averages_make(&spans, &memory, &options, &averages));
    CHECK_U64(line_of(&averages, "op")->calls, 1);
    assert_true(line_of(&averages, "op")->recording_ns == 8 + 20);
    averages_deinit(&averages);
    hand_spans_drop(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_of_threads_and_queues_have_their_price),
        cmocka_unit_test(what_was_not_measured_is_not_known),
        cmocka_unit_test(self_times_pay_for_what_is_inside),
        cmocka_unit_test(an_only_child_of_the_name_is_paid_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
