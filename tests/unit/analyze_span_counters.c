/* SPDX-License-Identifier: Apache-2.0 */
/* Totals and own counts of spans, from readings made by hand. */
#include "analyze/metrics/span_counters.h"

#include <math.h>

#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { HOST, OTHER, LANES };
enum { OP, INNER, LABEL, PHASE, FAULTS, CYCLES, OTHER_COUNTER, OPS };

static struct lane_row lanes[LANES] = {
    [HOST] = {.side = OP_HOST, .session_id = 1, .kind = "thread", .name = "main"},
    [OTHER] = {.side = OP_HOST, .session_id = 1, .kind = "thread", .name = "other"},
};
static struct op_row ops[OPS] = {
    [OP] = {.name = "op", .type = "Op"},
    [INNER] = {.name = "inner", .type = "Op"},
    [LABEL] = {.name = "label", .type = "label", .is_label = true},
    [PHASE] = {.name = "compute", .type = "phase"},
    [FAULTS] = {.name = "perf.page-faults", .type = "counter"},
    [CYCLES] = {.name = "perf.cycles", .type = "counter"},
    [OTHER_COUNTER] = {.name = "perf.cyclesque", .type = "counter"},
};
static uint8_t kinds[OPS] = {[LABEL] = SPAN_LABEL, [PHASE] = SPAN_PHASE};

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

#define MAKE(...)                                                                                  \
    make((struct span[]){__VA_ARGS__}, sizeof((struct span[]){__VA_ARGS__}) / sizeof(struct span))
#define SPAN(of, from, until)                                                                      \
    {                                                                                              \
        .op = of, .start_ns = from, .dur_ns = (until) - (from)                                     \
    }

static struct span_counters measure(const struct spans_answer *answer,
                                    const struct counter_row *items, size_t count)
{
    struct counter_row_array rows = {0};
    struct span_counters counters;

    for (size_t i = 0; i < count; i++)
        CHECK_OK(array_push(&rows, items[i]));
    CHECK_OK(span_counters_make(answer, &rows, &counters));
    array_deinit(&rows);
    return counters;
}

#define MEASURE(answer, ...)                                                                       \
    measure(answer, (struct counter_row[]){__VA_ARGS__},                                           \
            sizeof((struct counter_row[]){__VA_ARGS__}) / sizeof(struct counter_row))
#define FAULTS_AT(time, count)                                                                     \
    {                                                                                              \
        .op = FAULTS, .time_ns = time, .value = count                                              \
    }

static void check(const double *counts, size_t place, double wanted)
{
    if (!(counts[place] == wanted) && !(isnan(counts[place]) && isnan(wanted)))
        fail_msg("place %zu: %g, not %g", place, counts[place], wanted);
}

/* op [0, 100] holds a label [10, 90] with inner [20, 40] in it, and a phase [91, 99] with inner
 * [92, 98] in that. */
static void labels_and_phases_are_the_ops_around(void **state)
{
    struct spans_answer answer = MAKE(SPAN(OP, 0, 100), SPAN(LABEL, 10, 90), SPAN(INNER, 20, 40),
                                      SPAN(PHASE, 91, 99), SPAN(INNER, 92, 98));
    struct span_counters counters = MEASURE(
        &answer, FAULTS_AT(0, 1000), FAULTS_AT(10, 1001), FAULTS_AT(20, 1003), FAULTS_AT(40, 1103),
        FAULTS_AT(90, 1107), FAULTS_AT(92, 1115), FAULTS_AT(98, 1131), FAULTS_AT(100, 1163));
    const double *totals = counters.totals[SPAN_PAGE_FAULTS];
    const double *owns = counters.owns[SPAN_PAGE_FAULTS];

    check(totals, 0, 163);
    check(totals, 1, 106);
    check(totals, 2, 100);
    check(totals, 3, NAN); /* a phase has none */
    check(totals, 4, 16);
    check(owns, 0, 163 - 100 - 16);
    check(owns, 1, 106); /* a label has all */
    check(owns, 2, 100);
    check(owns, 4, 16);
    assert_true(counters.is_read[HOST]);
    assert_false(counters.is_read[OTHER]);
    assert_null(counters.totals[SPAN_CYCLES]);
    assert_true(span_counters_are_there(&counters));
    span_counters_deinit(&counters);
    hand_spans_drop(&answer);
}

/* One ends where the next begins: the lower reading ends, the higher begins. */
static void readings_of_one_time_are_told_apart(void **state)
{
    struct spans_answer answer =
        MAKE(SPAN(OP, 0, 100), SPAN(INNER, 10, 20), SPAN(INNER, 20, 30), SPAN(INNER, 50, 50));
    struct span_counters counters =
        MEASURE(&answer, FAULTS_AT(0, 0), FAULTS_AT(10, 1), FAULTS_AT(20, 6), FAULTS_AT(20, 8),
                FAULTS_AT(30, 9), FAULTS_AT(50, 9), FAULTS_AT(50, 12), FAULTS_AT(100, 20));
    const double *totals = counters.totals[SPAN_PAGE_FAULTS];

    check(totals, 1, 5);
    check(totals, 2, 1);
    check(totals, 3, 3); /* it took no time */
    check(counters.owns[SPAN_PAGE_FAULTS], 0, 20 - 5 - 1 - 3);
    span_counters_deinit(&counters);
    hand_spans_drop(&answer);
}

/* A reading was lost, or is of another lane, or of a counter that is none of these. */
static void what_was_not_read_is_not_known(void **state)
{
    struct spans_answer answer = MAKE(SPAN(OP, 0, 100), SPAN(INNER, 10, 20), SPAN(INNER, 30, 40));
    struct span_counters counters =
        MEASURE(&answer, FAULTS_AT(0, 0), {.op = CYCLES, .time_ns = 0, .value = 5},
                {.op = OTHER_COUNTER, .time_ns = 10, .value = 1}, FAULTS_AT(10, 3),
                {.op = FAULTS, .lane = OTHER, .time_ns = 20, .value = 3}, FAULTS_AT(30, 4),
                FAULTS_AT(40, 7), FAULTS_AT(100, 8), {.op = CYCLES, .time_ns = 100, .value = 25});

    check(counters.totals[SPAN_PAGE_FAULTS], 0, 8);
    check(counters.totals[SPAN_PAGE_FAULTS], 1, NAN);
    check(counters.totals[SPAN_PAGE_FAULTS], 2, 3);
    check(counters.owns[SPAN_PAGE_FAULTS], 0, 5);
    check(counters.owns[SPAN_PAGE_FAULTS], 1, NAN);
    check(counters.totals[SPAN_CYCLES], 0, 20);
    check(counters.totals[SPAN_CYCLES], 2, NAN);
    assert_false(counters.is_user_only);
    span_counters_deinit(&counters);
    hand_spans_drop(&answer);
}

static void names_may_say_user_space(void **state)
{
    struct spans_answer answer = MAKE(SPAN(OP, 0, 10));
    struct span_counters counters;

    ops[CYCLES].name = "perf.cycles:u";
    counters = MEASURE(&answer, {.op = CYCLES, .time_ns = 0, .value = 5},
                       {.op = CYCLES, .time_ns = 10, .value = 7});
    check(counters.totals[SPAN_CYCLES], 0, 2);
    assert_true(counters.is_user_only);
    span_counters_deinit(&counters);
    ops[CYCLES].name = "perf.cycles";
    counters = measure(&answer, NULL, 0);
    assert_false(span_counters_are_there(&counters));
    span_counters_deinit(&counters);
    hand_spans_drop(&answer);
}

/* Estimates of a shared processor may fall short of their parts. */
static void own_counts_are_never_below_zero(void **state)
{
    struct spans_answer answer = MAKE(SPAN(OP, 0, 100), SPAN(INNER, 10, 20));
    struct span_counters counters =
        MEASURE(&answer, FAULTS_AT(0, 0), FAULTS_AT(10, 0), FAULTS_AT(20, 9), FAULTS_AT(100, 8));

    check(counters.owns[SPAN_PAGE_FAULTS], 0, 0);
    check(counters.owns[SPAN_PAGE_FAULTS], 1, 9);
    span_counters_deinit(&counters);
    hand_spans_drop(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_phases_are_the_ops_around),
        cmocka_unit_test(readings_of_one_time_are_told_apart),
        cmocka_unit_test(what_was_not_read_is_not_known),
        cmocka_unit_test(names_may_say_user_space),
        cmocka_unit_test(own_counts_are_never_below_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
