/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL of the daemon at random moments, started again at once while the program goes on:
 * nothing is lost, nothing is stored twice, the store is sound. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/flow/crash_check.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"

enum {
    ROUNDS = 200,
    ROUNDS_PER_PROGRAM = 40,
    LIFE_US_MAX = 60000,
    CHECKPOINT_ROUNDS = 30,
    CREATE_ROUNDS = 60,
};

/* The program ends in peace, with a daemon that nobody kills any more: all that it recorded must be
 * there. One that ended before, with a daemon that was killed, may have said goodbye in vain. */
static uint64_t end_and_check(struct optraced *daemon, struct crash_program *program)
{
    struct crash_position position = {0};
    siginfo_t ended = {0};
    uint64_t count;
    char *reason;

    waitid(P_PID, (id_t)program->child.pid, &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid != 0)
        fail_msg("crash_producer ended by itself: %s", program->child.err);
    assert_int_equal(child_kill(&program->child, SIGTERM), 0);
    optraced_wait_for(daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 0);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM session"), 1);
    reason = optraced_query_text(daemon, "SELECT end_reason FROM session");
    assert_string_equal(reason, "done");
    free(reason);
    program->session_id = 1;
    count = crash_check(daemon, program, &position, false);
    crash_check_integrity(daemon);
    return count;
}

/* So many rounds, each of which ends a daemon and starts the next one. A new program now and then:
 * its notes have an end. Returns how many events were compared. */
static uint64_t run_rounds(unsigned rounds, unsigned pause_us, void (*run)(struct optraced *daemon))
{
    uint64_t total = 0;

    for (unsigned round = 0; round < rounds;) {
        struct crash_program program;
        struct optraced daemon;

        optraced_init(&daemon);
        optraced_start(&daemon, NULL);
        crash_program_start(&program, &daemon, 2, 0, pause_us);
        for (unsigned i = 0; i < ROUNDS_PER_PROGRAM && round < rounds; i++, round++)
            run(&daemon);
        total += end_and_check(&daemon, &program);
        crash_program_deinit(&program);
        assert_int_equal(optraced_stop(&daemon), 0);
        optraced_deinit(&daemon);
    }
    return total;
}

static void kill_at_work(struct optraced *daemon)
{
    crash_spread_pause(LIFE_US_MAX);
    optraced_kill(daemon);
    if (crash_random(2))
        crash_check_integrity(daemon); /* else the daemon recovers it by itself */
    optraced_start(daemon, NULL);
}

static void killed_daemons_lose_nothing(void **state)
{
    const unsigned rounds = crash_rounds(ROUNDS);
    const uint64_t total = run_rounds(rounds, 1000, kill_at_work);

    printf("%u daemons killed, %llu events compared\n", rounds, (unsigned long long)total);
    assert_true(total > rounds);
}

static unsigned killed_before_end;

/* SIGTERM makes it drain, commit and, at the end, checkpoint: SIGKILL somewhere in it. */
static void kill_at_end(struct optraced *daemon)
{
    crash_random_pause(2 * LIFE_US_MAX);
    kill(daemon->child.pid, SIGTERM);
    crash_spread_pause(20000);
    killed_before_end += child_kill(&daemon->child, SIGKILL) == 128 + SIGKILL;
    optraced_start(daemon, NULL);
    crash_check_integrity(daemon);
}

static void daemons_killed_in_a_checkpoint_lose_nothing(void **state)
{
    const unsigned rounds = crash_rounds(CHECKPOINT_ROUNDS);
    const uint64_t total = run_rounds(rounds, 500, kill_at_end);

    printf("%u of %u were killed before they had ended, %llu events compared\n", killed_before_end,
           rounds, (unsigned long long)total);
}

static void daemons_killed_while_they_make_a_store_leave_a_sound_one(void **state)
{
    unsigned rounds = crash_rounds(CREATE_ROUNDS);

    for (unsigned round = 0; round < rounds; round++) {
        struct optraced daemon;

        optraced_init(&daemon);
        optraced_spawn(&daemon, NULL);
        crash_spread_pause(10000);
        child_kill(&daemon.child, SIGKILL);
        optraced_start(&daemon, NULL);
        crash_check_integrity(&daemon);
        CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session"), 0);
        assert_int_equal(optraced_stop(&daemon), 0);
        optraced_deinit(&daemon);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_daemons_lose_nothing),
        cmocka_unit_test(daemons_killed_in_a_checkpoint_lose_nothing),
        cmocka_unit_test(daemons_killed_while_they_make_a_store_leave_a_sound_one),
    };

    crash_choose_scenario();
    return AT_ONCE_RUN(tests, 3);
}
