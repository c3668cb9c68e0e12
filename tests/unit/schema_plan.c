/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule in runs means what PyTorch's schedule() means: step by step, for many schedules. */
#include "tests/support/check.h"

#include "schema/wire/wire.h"

/* torch.profiler.schedule(), as its documentation has it. */
static uint32_t pytorch_action(const struct ot_wire_plan *plan, uint64_t step)
{
    const uint64_t length = plan->wait + plan->warmup + plan->active;
    uint64_t mod_step;

    if (step < plan->skip_first)
        return OT_PLAN_SKIP;
    step -= plan->skip_first;
    if (plan->repeat > 0 && step / length >= plan->repeat)
        return OT_PLAN_DONE;
    mod_step = step % length;
    if (mod_step < plan->wait)
        return OT_PLAN_WAIT;
    return mod_step < plan->wait + plan->warmup ? OT_PLAN_WARMUP : OT_PLAN_ACTIVE;
}

static void check_plan(const struct ot_wire_plan *plan)
{
    enum { STEPS = 64 };

    CHECK_OK(ot_plan_check(plan, NULL));
    for (uint64_t step = 0; step < STEPS; step++) {
        struct ot_plan_place place = ot_plan_at(plan, step);

        CHECK_U64(place.state, pytorch_action(plan, step));
        CHECK_U64(place.state == OT_PLAN_DONE, place.left == UINT64_MAX);
        /* `left` runs are alike, the one behind them is not, or begins another cycle. */
        for (uint64_t next = 1; next < place.left && next < STEPS; next++)
            CHECK_U64(ot_plan_at(plan, step + next).state, place.state);
        if (place.left < STEPS) {
            struct ot_plan_place then = ot_plan_at(plan, step + place.left);

            assert_true(then.state != place.state || then.cycle != place.cycle);
        }
    }
}

static void schedules_are_those_of_pytorch(void **state)
{
    struct ot_wire_plan plan = {.level = OT_LEVEL_ON};

    for (plan.skip_first = 0; plan.skip_first < 4; plan.skip_first += 3)
        for (plan.wait = 0; plan.wait < 4; plan.wait++)
            for (plan.warmup = 0; plan.warmup < 3; plan.warmup++)
                for (plan.active = 1; plan.active < 4; plan.active++)
                    for (plan.repeat = 0; plan.repeat < 3; plan.repeat++)
                        check_plan(&plan);
}

/* The example of the documentation of PyTorch: wait 1, warmup 1, active 3, repeat 2, and 10 more
 * before. */
static void an_example_step_by_step(void **state)
{
    const struct ot_wire_plan plan = {
        .skip_first = 10, .wait = 1, .warmup = 1, .active = 3, .repeat = 2};
    char letters[32] = "";

    for (uint64_t step = 0; step < 23; step++)
        letters[step] = "FESWwAD"[ot_plan_at(&plan, step).state];
    assert_string_equal(letters, "SSSSSSSSSSWwAAAWwAAADDD");
    CHECK_U64(ot_plan_at(&plan, 14).cycle, 0);
    CHECK_U64(ot_plan_at(&plan, 15).cycle, 1);
    CHECK_U64(ot_plan_at(&plan, 10).left, 1);
    CHECK_U64(ot_plan_at(&plan, 12).left, 3);
    CHECK_U64(ot_plan_at(&plan, 3).left, 7);
}

static void without_schedule_the_level_rules(void **state)
{
    const struct ot_wire_plan plan = {.level = OT_LEVEL_DETAIL};

    CHECK_OK(ot_plan_check(&plan, NULL));
    CHECK_U64(ot_plan_at(&plan, 0).state, OT_PLAN_FREE);
    CHECK_U64(ot_plan_at(&plan, UINT64_MAX).left, UINT64_MAX);
}

static void the_longest_plans_do_not_overflow(void **state)
{
    const uint64_t most = OT_WIRE_PLAN_LENGTH_MAX;
    const struct ot_wire_plan plan = {
        .skip_first = most, .wait = most, .warmup = most, .active = most, .repeat = most};

    CHECK_OK(ot_plan_check(&plan, NULL));
    CHECK_U64(ot_plan_at(&plan, 0).left, most);
    CHECK_U64(ot_plan_at(&plan, most).state, OT_PLAN_WAIT);
    CHECK_U64(ot_plan_at(&plan, 3 * most).state, OT_PLAN_ACTIVE);
    CHECK_U64(ot_plan_at(&plan, UINT64_MAX).left, 1); /* 2^64 - 1 - 2^56 lies in an active part */
}

static void what_makes_no_sense_is_refused(void **state)
{
    const struct ot_wire_plan bad[] = {
        {.wait = 1},
        {.repeat = 2},
        {.skip_first = OT_WIRE_PLAN_LENGTH_MAX + 1, .active = 1},
        {.start_ns = 2, .end_ns = 1},
        {.level = OT_LEVEL_DETAIL + 1},
        {.unit = OT_UNIT_NS + 1, .active = 1},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct diag diag = {0};

        assert_int_equal(ot_plan_check(&bad[i], &diag), -EPROTO);
        assert_string_not_equal(diag.text, "");
    }
}

static void states_and_levels_have_names(void **state)
{
    assert_string_equal(ot_plan_state_name(OT_PLAN_FREE), "free");
    assert_string_equal(ot_plan_state_name(OT_PLAN_DONE), "done");
    assert_string_equal(ot_plan_state_name(OT_PLAN_DONE + 1), "unknown");
    assert_string_equal(ot_wire_level_name(OT_LEVEL_DETAIL), "detail");
    assert_string_equal(ot_wire_level_name(3), "unknown");
    assert_false(ot_plan_records(OT_PLAN_WAIT));
    assert_true(ot_plan_records(OT_PLAN_WARMUP));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_those_of_pytorch),
        cmocka_unit_test(an_example_step_by_step),
        cmocka_unit_test(without_schedule_the_level_rules),
        cmocka_unit_test(the_longest_plans_do_not_overflow),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(states_and_levels_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
