/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that stand out of their sessions: which they are, that each session keeps some, and when they
 * are no accident. */
#include <math.h>
#include <stdlib.h>

#include "analyze/metrics/outlying_runs.h"
#include "analyze/stats/random.h"
#include "tests/support/check.h"

enum { SESSIONS = 6, RUNS = 12 };

/* Sides of sessions whose runs take 1000 +- 1 %, and every `step`-th of them half as long again. */
struct sides {
    struct run_samples base, new;
    const struct run_samples *both[ALIGN_SIDES];
};

static void make_side(struct run_samples *side, size_t runs, size_t step, uint64_t *seed)
{
    *side = (struct run_samples){.has_runs = true, .units_are_sessions = true};
    side->unit_count = SESSIONS;
    for (uint32_t session = 0; session < SESSIONS; session++) {
        for (size_t run = 0; run < runs; run++) {
            double slow = step && run % step == step - 1 ? 1.5 : 1;
            struct sampled_run sampled = {.session = session,
                                          .run_ns = slow * (990 + 20 * random_unit(seed))};

            CHECK_OK(array_push(&side->runs, sampled));
        }
    }
}

static void make(struct sides *sides, size_t runs, size_t base_step, size_t new_step)
{
    uint64_t seed = 5;

    make_side(&sides->base, runs, base_step, &seed);
    make_side(&sides->new, runs, new_step, &seed);
    sides->both[ALIGN_BASE] = &sides->base;
    sides->both[ALIGN_NEW] = &sides->new;
}

static void check(size_t runs, size_t base_step, size_t new_step, bool are_apart)
{
    const size_t step[ALIGN_SIDES] = {base_step, new_step};
    struct outlying_runs found[ALIGN_SIDES];
    struct sides sides;

    make(&sides, runs, base_step, new_step);
    CHECK_OK(outlying_runs_find(sides.both, found));
    for (int side = 0; side < ALIGN_SIDES; side++) {
        size_t slow = step[side] ? runs / step[side] * SESSIONS : 0;

        assert_int_equal(found[side].count, slow);
        for (size_t i = 0; i < runs * SESSIONS; i++)
            assert_int_equal(found[side].is_outlying[i],
                             sides.both[side]->runs.items[i].run_ns > 1400);
        free(found[side].is_outlying);
    }
    CHECK_OK(outlying_runs_find(sides.both, found));
    assert_int_equal(outlying_runs_are_apart(sides.both, found), are_apart);
    for (int side = 0; side < ALIGN_SIDES; side++)
        free(found[side].is_outlying);
    run_samples_deinit(&sides.base);
    run_samples_deinit(&sides.new);
}

static void slow_runs_stand_out(void **state)
{
    (void)state;
    check(RUNS, 0, 0, false);
    check(RUNS, 4, 6, false);
    check(RUNS, 2, 2, false); /* half of them */
    check(1000, 10, 5, false);
}

static void often_on_one_side_is_no_accident(void **state)
{
    (void)state;
    check(RUNS, 0, 3, true);
    check(RUNS, 2, 0, true);
    check(RUNS, 0, 4, false); /* a quarter and no more */
}

/* A single session beside others, which are judged so. */
static void a_single_session_is_no_exception(void **state)
{
    struct outlying_runs found[ALIGN_SIDES];
    struct sides sides;

    (void)state;
    make(&sides, RUNS, 6, 3);
    sides.new.units_are_sessions = false;
    sides.new.unit_count = sides.new.runs.count = RUNS;
    CHECK_OK(outlying_runs_find(sides.both, found));
    assert_int_equal(found[ALIGN_BASE].count, 2 * SESSIONS);
    assert_int_equal(found[ALIGN_NEW].count, 4);
    free(found[ALIGN_BASE].is_outlying);
    free(found[ALIGN_NEW].is_outlying);
    run_samples_deinit(&sides.base);
    run_samples_deinit(&sides.new);
}

/* Of few runs, of runs that are the units, of none, and of times that are no times. */
static void some_sides_have_none(void **state)
{
    struct outlying_runs found[ALIGN_SIDES];
    struct sides sides;

    (void)state;
    make(&sides, 7, 3, 3);
    CHECK_OK(outlying_runs_find(sides.both, found));
    assert_int_equal(found[ALIGN_BASE].count + found[ALIGN_NEW].count, 0);
    free(found[ALIGN_BASE].is_outlying);
    free(found[ALIGN_NEW].is_outlying);
    run_samples_deinit(&sides.base);
    run_samples_deinit(&sides.new);

    make(&sides, RUNS, 3, 3);
    sides.new.units_are_sessions = sides.base.units_are_sessions = false;
    sides.base.runs.count = 0;
    CHECK_OK(outlying_runs_find(sides.both, found));
    assert_int_equal(found[ALIGN_BASE].count + found[ALIGN_NEW].count, 0);
    assert_false(outlying_runs_are_apart(sides.both, found));
    free(found[ALIGN_BASE].is_outlying);
    free(found[ALIGN_NEW].is_outlying);

    sides.new.units_are_sessions = true;
    for (size_t i = 0; i < sides.new.runs.count; i++)
        sides.new.runs.items[i].run_ns = 0;
    CHECK_OK(outlying_runs_find(sides.both, found));
    assert_int_equal(found[ALIGN_NEW].count, 0);
    free(found[ALIGN_BASE].is_outlying);
    free(found[ALIGN_NEW].is_outlying);
    run_samples_deinit(&sides.base);
    run_samples_deinit(&sides.new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_runs_stand_out),
        cmocka_unit_test(often_on_one_side_is_no_accident),
        cmocka_unit_test(a_single_session_is_no_exception),
        cmocka_unit_test(some_sides_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
