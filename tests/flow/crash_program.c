/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL of the program at random moments: what its rings held reaches the store, exactly. */
#include <signal.h>

#include "tests/flow/crash_check.h"
#include "tests/support/check.h"

enum {
    ROUNDS = 200,
    ROUNDS_PER_STORE = 25, /* then a new one, so that looking through it stays quick */
    ROUNDS_AT_ONCE = 5,    /* at most; the store says only after a while that they died */
    LIFE_US_MAX = 40000,
};

static void kill_one(struct crash_program *program, const struct optraced *daemon,
                     int64_t session_id)
{
    crash_program_start(program, daemon, 1 + crash_random(3), 0, crash_random(2) ? 1000 : 100);
    program->session_id = session_id;
    crash_spread_pause(LIFE_US_MAX);
    child_kill(&program->child, SIGKILL);
}

/* One after the other, of which none waits until the store knows the one before. `before` sessions
 * are in it already. */
static uint64_t kill_some(struct optraced *daemon, struct crash_position *position, unsigned before,
                          unsigned rounds)
{
    struct crash_program programs[ROUNDS_AT_ONCE];
    struct crash_position end = *position;
    uint64_t count = 0;

    for (unsigned i = 0; i < rounds; i++)
        kill_one(&programs[i], daemon, before + i + 1);
    optraced_wait_for(daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'",
                      before + rounds);
    for (unsigned i = 0; i < rounds; i++) {
        end = *position;
        count += crash_check(daemon, &programs[i], &end, true);
        crash_program_deinit(&programs[i]);
    }
    *position = end;
    crash_check_integrity(daemon);
    return count;
}

static void killed_programs_lose_nothing(void **state)
{
    unsigned rounds = crash_rounds(ROUNDS), left = rounds;
    uint64_t total = 0;

    while (left > 0) {
        struct crash_position position = {0};
        struct optraced daemon;

        optraced_init(&daemon);
        optraced_start(&daemon, NULL);
        for (unsigned done = 0, some; done < ROUNDS_PER_STORE && left > 0; done += some) {
            some = 1 + crash_random(ROUNDS_AT_ONCE);
            some = some < left ? some : left;
            total += kill_some(&daemon, &position, done, some);
            left -= some;
        }
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
