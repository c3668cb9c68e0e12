/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on made-up samples: how often chance is called a change, how surely a change is found.
 */
#include <math.h>
#include <stdbool.h>

#include "analyze/stats/random.h"
#include "analyze/stats/significance.h"
#include "tests/support/check.h"

enum { OPS = 20, RUNS = 14 };

/* Times as they are measured: a floor, noise above it, now and then a run that was disturbed. */
static double draw_time(double level, uint64_t *seed)
{
    double noise = -log(1 - random_unit(seed)) * 0.02;
    double disturbed = random_unit(seed) < 0.05 ? 0.5 * random_unit(seed) : 0;

    return level * (1 + noise + disturbed);
}

static struct compare_case case_of(double *base, size_t base_count, double *new, size_t new_count)
{
    return (struct compare_case){
        .base = base, .new = new, .base_count = base_count, .new_count = new_count};
}

static double values[2][OPS][RUNS];

static void make_cases(struct compare_case *cases, double slower, uint64_t *seed)
{
    for (int op = 0; op < OPS; op++) {
        for (int run = 0; run < RUNS; run++) {
            values[0][op][run] = draw_time(1000 * (op + 1), seed);
            values[1][op][run] = draw_time(1000 * (op + 1) * (op == 7 ? slower : 1), seed);
        }
        cases[op] = case_of(values[0][op], RUNS, values[1][op], RUNS);
    }
}

/* Two recordings of the same program, again and again: any verdict is a false alarm. Without a
 * threshold 5 % of the comparisons may raise one: 8 of 150, deviation 2.7. */
static void the_same_program_is_seldom_called_different(void **state)
{
    const struct compare_gates strict = {.alpha = 0.05, .threshold = 0};
    enum { ROUNDS = 150 };
    unsigned alarms = 0, large_alarms = 0;
    uint64_t seed = 2024;

    for (int round = 0; round < ROUNDS; round++) {
        struct compare_case cases[OPS];
        bool is_alarm = false, is_large = false;

        make_cases(cases, 1, &seed);
        CHECK_OK(compare_judge(cases, OPS, &strict));
        for (int op = 0; op < OPS; op++) {
            if (cases[op].result.verdict < COMPARE_SLOWER)
                continue;
            is_alarm = true;
            is_large |= fabs(cases[op].result.ratio) > 0.03;
        }
        alarms += is_alarm;
        large_alarms += is_large;
    }
    assert_in_range(alarms, 1, 17);
    assert_in_range(large_alarms, 0, 3);
}

/* However many there are, and however far apart. */
static void runs_of_one_session_tell_nothing(void **state)
{
    double low[10] = {100, 101, 102, 103, 104, 105, 106, 107, 108, 109};
    double high[10] = {210, 211, 212, 213, 214, 215, 216, 217, 218, 219};
    const size_t in_time[11] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    struct compare_case one = case_of(low, 10, high, 10);

    (void)state;
    one.base_is_one = one.new_is_one = true;
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_CANNOT_TELL);
    CHECK_NEAR(one.result.ratio, 214.0 / 104 - 1, 1e-12);
    assert_true(isnan(one.result.p) && isnan(one.result.change.low));
    one = case_of(low, 10, high, 10);
    one.new_is_one = true; /* one against ten: 1 / 11 at the least */
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_CANNOT_TELL);
    one = case_of(low, 10, high, 10);
    one.new_is_one = true;
    one.in_time = in_time;
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.1, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_SLOWER);
    CHECK_NEAR(one.result.p, 1.0 / 11, 1e-12);
}

/* Earlier sessions help to tell, but the change has to be one to what was asked for. */
static void earlier_sessions_do_not_stand_for_the_base(void **state)
{
    static const bool named[] = {false, false, false, false, false, false, true, true};
    double drifted[] = {100, 101, 102, 100, 101, 102, 120, 121}, high[] = {119, 120, 121, 122};
    double steady[] = {100, 101, 102, 100, 101, 102, 101, 100};
    struct compare_case one = case_of(drifted, 8, high, 4);

    (void)state;
    one.base_is_named = named;
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.03}));
    assert_true(one.result.verdict < COMPARE_SLOWER && one.result.p_corrected <= 0.05);
    one = case_of(steady, 8, high, 4);
    one.base_is_named = named;
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_SLOWER);
}

/* The median of two is the lower one: what lies between them counts, too. */
static void the_middle_of_all_distances_counts(void **state)
{
    double base[] = {99.5,  99.6,  99.7,  99.8,  99.9,  100, 100,
                     100.1, 100.2, 100.3, 100.4, 100.5, 100};
    double high[] = {102.9, 107}, low[] = {102.8, 103};
    const size_t in_time[15] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    struct compare_case one = case_of(base, 13, high, 2);

    (void)state;
    one.in_time = in_time;
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.1, 0.03}));
    assert_true(one.result.ratio < 0.03);
    assert_int_equal(one.result.verdict, COMPARE_SLOWER);
    one = case_of(base, 13, low, 2);
    one.in_time = in_time;
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.1, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_SMALL);
}

/* Verdicts stand on what is given for them, times on all. */
static void what_is_judged_is_not_what_is_shown(void **state)
{
    double shown[] = {100, 101, 102, 103, 104}, as_shown[] = {100, 101, 102, 103, 104};
    double judged_base[] = {100, 100, 101, 101, 100}, judged_new[] = {110, 110, 111, 111, 110};
    struct compare_case one = case_of(shown, 5, as_shown, 5);

    (void)state;
    one.judged_base = judged_base;
    one.judged_new = judged_new;
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.03}));
    CHECK_NEAR(one.result.ratio, 0, 1e-12);
    CHECK_NEAR(one.result.p, 2.0 / 252, 1e-12);
    /* What is shown lies within its interval: of no change it has none. */
    assert_true(one.result.change.low <= 0 && one.result.change.high > 0.08);
    assert_int_equal(one.result.verdict, COMPARE_NO_CHANGE);
}

/* Ops that overlap in time leave a negative rest, which is no whole of anything. */
static void a_negative_rest_has_no_shares(void **state)
{
    double base[] = {-10, -11, -12, -13, -14}, new[] = {40, 41, 42, 43, 44};
    double run_base[] = {100, 101, 102, 103, 104}, run_new[] = {150, 151, 152, 153, 154};
    struct compare_case cases[] = {case_of(run_base, 5, run_new, 5), case_of(base, 5, new, 5)};

    (void)state;
    cases[1].gate_of = &cases[0];
    CHECK_OK(compare_judge(cases, 2, &(struct compare_gates){0.05, 0.03}));
    assert_true(isnan(cases[1].result.ratio) && isnan(cases[1].result.change.low));
    assert_int_equal(cases[1].result.verdict, COMPARE_SLOWER);
    CHECK_NEAR(cases[1].result.p50.difference_ns.low, 51, 0);
}

static void a_slower_op_is_found_and_no_other(void **state)
{
    const struct compare_gates gates = {.alpha = 0.05, .threshold = 0.03};
    uint64_t seed = 77;
    unsigned found = 0, others = 0;

    for (int round = 0; round < 25; round++) {
        struct compare_case cases[OPS];

        make_cases(cases, 1.1, &seed);
        CHECK_OK(compare_judge(cases, OPS, &gates));
        for (int op = 0; op < OPS; op++) {
            if (op == 7)
                found += cases[op].result.verdict == COMPARE_SLOWER;
            else
                others += cases[op].result.verdict >= COMPARE_SLOWER;
        }
    }
    assert_int_equal(found, 25);
    assert_in_range(others, 0, 3);
}

static void both_gates_must_be_passed(void **state)
{
    double low[10] = {100, 101, 102, 103, 104, 105, 106, 107, 108, 109};
    double high[10] = {110, 111, 112, 113, 114, 115, 116, 117, 118, 119};
    struct compare_case one = case_of(low, 10, high, 10);

    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_SLOWER);
    CHECK_NEAR(one.result.ratio, 114.0 / 104 - 1, 1e-12);
    CHECK_NEAR(one.result.p50.base_ns, 104, 0);
    CHECK_NEAR(one.result.p90.new_ns, 118, 0);
    CHECK_NEAR(one.result.superiority, 1, 0);
    assert_true(one.result.change.low > 0 && one.result.change.high < 0.2);
    assert_true(one.result.p50.difference_ns.low > 0);
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.2}));
    assert_int_equal(one.result.verdict, COMPARE_SMALL);
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){1e-9, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_CANNOT_TELL);
    one = case_of(high, 10, low, 10);
    CHECK_OK(compare_judge(&one, 1, &(struct compare_gates){0.05, 0.03}));
    assert_int_equal(one.result.verdict, COMPARE_FASTER);
}

static void what_cannot_be_tested_is_not(void **state)
{
    double many[3] = {1, 2, 3}, single[3] = {5, 6, 7}, zeros[3] = {0};
    struct compare_case cases[] = {
        case_of(many, 3, single, 3),
        case_of(many, 3, NULL, 0),
        case_of(zeros, 3, zeros, 3),
    };

    CHECK_OK(compare_judge(cases, 3, &(struct compare_gates){0.05, 0.03}));
    assert_int_equal(cases[0].result.verdict, COMPARE_CANNOT_TELL);
    CHECK_NEAR(cases[0].result.ratio, 2, 1e-12);
    assert_true(isnan(cases[0].result.p));
    assert_int_equal(cases[1].result.verdict, COMPARE_UNTESTED);
    assert_true(isnan(cases[1].result.p50.new_ns));
    assert_int_equal(cases[2].result.verdict, COMPARE_CANNOT_TELL);
    CHECK_NEAR(cases[2].result.ratio, 0, 0);
}

static void needed_sessions_are_told(void **state)
{
    (void)state;
    /* 2 / (10 over 5) = 0.0079, 2 / (8 over 4) = 0.029 */
    assert_int_equal(compare_sessions_needed(1, 0.01), 5);
    assert_int_equal(compare_sessions_needed(1, 0.05), 4);
    /* 1 / (10 over 3) = 0.0083, 1 / (9 over 3) = 0.012; two are in turn with nothing */
    assert_int_equal(compare_sessions_needed(7, 0.01), 3);
    assert_int_equal(compare_sessions_needed(6, 0.01), 4);
    assert_int_equal(compare_sessions_needed(99, 0.01), 3);
    assert_false(compare_can_tell(99, 2, 0.01) || compare_can_tell(2, 99, 0.01));
    assert_true(compare_can_tell(5, 5, 0.01) && !compare_can_tell(4, 4, 0.01));
    assert_false(compare_can_tell(0, 100, 0.01) || compare_can_tell(5, 5, 0));
}

/* 1 / alpha places along the others. */
static void a_row_of_others_has_places_enough(void **state)
{
    size_t in_time[102];

    (void)state;
    for (size_t i = 0; i < 102; i++)
        in_time[i] = i;
    assert_true(compare_can_tell_along(99, 1, in_time, 0.01));
    assert_false(compare_can_tell_along(98, 1, in_time, 0.01));
    assert_true(compare_can_tell_along(99, 3, in_time, 0.01));
    assert_false(compare_can_tell_along(98, 3, in_time, 0.01));
    in_time[0] = 99; /* one of three came first: they have one place */
    in_time[99] = 0;
    assert_false(compare_can_tell_along(99, 3, in_time, 0.99));
    assert_false(compare_can_tell_along(0, 3, in_time, 1) ||
                 compare_can_tell_along(3, 0, in_time, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_program_is_seldom_called_different),
        cmocka_unit_test(runs_of_one_session_tell_nothing),
        cmocka_unit_test(earlier_sessions_do_not_stand_for_the_base),
        cmocka_unit_test(the_middle_of_all_distances_counts),
        cmocka_unit_test(what_is_judged_is_not_what_is_shown),
        cmocka_unit_test(a_negative_rest_has_no_shares),
        cmocka_unit_test(a_slower_op_is_found_and_no_other),
        cmocka_unit_test(both_gates_must_be_passed),
        cmocka_unit_test(what_cannot_be_tested_is_not),
        cmocka_unit_test(needed_sessions_are_told),
        cmocka_unit_test(a_row_of_others_has_places_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
