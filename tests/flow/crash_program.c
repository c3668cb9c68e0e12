/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL of the program at random moments: what its rings held reaches the store, exactly. */
#include <signal.h>

#include "tests/flow/crash_check.h"
#include "tests/support/check.h"

enum {
    ROUNDS = 200,
    ROUNDS_PER_STORE = 25, /* then a new one, so that looking through it stays quick */
    LIFE_US_MAX = 40000,
};

/* `round` counts the sessions of this store, from 1. */
static uint64_t kill_one(struct optraced *daemon, struct crash_position *position, unsigned round)
{
    struct crash_program program;
    uint64_t count;

    crash_program_start(&program, daemon, 1 + crash_random(3), 0, crash_random(2) ? 1000 : 100);
    crash_random_pause(LIFE_US_MAX);
    child_kill(&program.child, SIGKILL);
    optraced_wait_for(daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'", round);
    program.session_id = round;
    count = crash_check(daemon, &program, position, true);
    crash_check_integrity(daemon);
    crash_program_deinit(&program);
    return count;
}

static void killed_programs_lose_nothing(void **state)
{
    unsigned rounds = crash_rounds(ROUNDS);
    uint64_t total = 0;

    for (unsigned round = 0; round < rounds;) {
        struct crash_position position = {0};
        struct optraced daemon;

        optraced_init(&daemon);
        optraced_start(&daemon, NULL);
        for (unsigned i = 1; i <= ROUNDS_PER_STORE && round < rounds; i++, round++)
            total += kill_one(&daemon, &position, i);
        assert_int_equal(optraced_stop(&daemon), 0);
        optraced_deinit(&daemon);
    }
    printf("%u programs killed, %llu events compared\n", rounds, (unsigned long long)total);
    assert_true(total > rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_programs_lose_nothing)};

    crash_choose_scenario();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
