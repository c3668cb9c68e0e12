/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: they move forward, and a triple's parts belong to one moment. */
#include "base/clock.h"

#include "tests/support/check.h"

static void clocks_do_not_go_back(void **state)
{
    uint64_t ns = ot_clock_ns(CLOCK_MONOTONIC);
    uint64_t ticks = ot_clock_ticks();
    bool are_invariant = ot_clock_ticks_are_invariant();

    for (int i = 0; i < 10000; i++) {
        uint64_t next_ns = ot_clock_ns(CLOCK_MONOTONIC);
        uint64_t next_ticks = ot_clock_ticks();

        assert_true(next_ns >= ns);
        /* Only an invariant counter is in step on all cores. */
        if (are_invariant)
            assert_true(next_ticks >= ticks);
        ns = next_ns;
        ticks = next_ticks;
    }
}

static void ns_is_the_clock_of_the_system(void **state)
{
    struct timespec before, after;
    uint64_t ns;

    clock_gettime(CLOCK_REALTIME, &before);
    ns = ot_clock_ns(CLOCK_REALTIME);
    clock_gettime(CLOCK_REALTIME, &after);
    assert_true(ns >= (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec);
    assert_true(ns <= (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
}

static void triple_lies_between_readings_around_it(void **state)
{
    uint64_t monotonic_ns = ot_clock_ns(CLOCK_MONOTONIC);
    uint64_t ticks = ot_clock_ticks();
    struct ot_clock_triple triple = ot_clock_read_triple();

    assert_true(triple.monotonic_ns >= monotonic_ns);
    assert_true(triple.monotonic_ns <= ot_clock_ns(CLOCK_MONOTONIC));
    assert_true(triple.realtime_ns <= ot_clock_ns(CLOCK_REALTIME));
    if (ot_clock_ticks_are_invariant()) {
        assert_true(triple.ticks >= ticks);
        assert_true(triple.ticks <= ot_clock_ticks());
    }
}

static void invariance_does_not_change(void **state)
{
    bool first = ot_clock_ticks_are_invariant();

    assert_int_equal(ot_clock_ticks_are_invariant(), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_do_not_go_back),
        cmocka_unit_test(ns_is_the_clock_of_the_system),
        cmocka_unit_test(triple_lies_between_readings_around_it),
        cmocka_unit_test(invariance_does_not_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
