/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL of program and daemon at random moments, one shortly after the other: what is stored is a
 * sound beginning, and the store says that an unknown number may be missing. Under a service
 * manager that keeps the rings, nothing is lost. */
#include <signal.h>

#include "tests/flow/crash_check.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/service_manager.h"

enum {
    ROUNDS = 40,
    ROUNDS_PER_STORE = 20, /* then a new one, so that looking through it stays quick */
    LIFE_US_MAX = 400000,  /* beyond the time after which rows are committed */
    BETWEEN_US_MAX = 30000,
};

/* Of all rounds. */
struct tally {
    uint64_t count, missing;
    unsigned said_unknown; /* sessions whose store says so */
    unsigned unknown;      /* sessions of which nothing was committed */
};

/* Either may be the first; or the daemon hangs for a while, and the rings fill up. */
static void kill_both(struct optraced *daemon, struct crash_program *program)
{
    switch (crash_random(3)) {
    case 0:
        child_kill(&program->child, SIGKILL);
        crash_random_pause(BETWEEN_US_MAX);
        optraced_kill(daemon);
        break;
    case 1:
        optraced_kill(daemon);
        crash_random_pause(BETWEEN_US_MAX);
        child_kill(&program->child, SIGKILL);
        break;
    default:
        kill(daemon->child.pid, SIGSTOP);
        crash_random_pause(10 * BETWEEN_US_MAX);
        optraced_kill(daemon);
        child_kill(&program->child, SIGKILL);
    }
}

static int64_t query_pid(const struct optraced *daemon, const char *sql, pid_t pid)
{
    char text[300];

    snprintf(text, sizeof(text), sql, (int)pid);
    return optraced_query(daemon, text);
}

static void kill_and_look(struct optraced *daemon, struct crash_position *position,
                          struct tally *tally)
{
    struct crash_program program;
    uint64_t missing;
    int64_t losses;
    pid_t pid;

    optraced_start(daemon, NULL);
    crash_program_start(&program, daemon, 1 + crash_random(3), 0, crash_random(2) ? 1000 : 100);
    pid = program.child.pid;
    crash_spread_pause(LIFE_US_MAX);
    kill_both(daemon, &program);
    optraced_start(daemon, NULL);
    optraced_wait_for(daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 0);
    program.session_id =
        query_pid(daemon, "SELECT max(session_id) FROM session WHERE pid = %d", pid);
    if (program.session_id < 0) {
        tally->unknown++;
    } else {
        tally->count += crash_check_start(daemon, &program, position, &missing);
        losses = query_pid(daemon,
                           "SELECT count(*) FROM gap JOIN session USING (session_id)"
                           " WHERE lost_count IS NULL AND pid = %d",
                           pid);
        if (missing > 0 && losses == 0)
            fail_msg("%llu events are missing, and the store says nothing",
                     (unsigned long long)missing);
        tally->missing += missing;
        tally->said_unknown += losses > 0;
    }
    crash_check_integrity(daemon);
    assert_int_equal(optraced_stop(daemon), 0);
    crash_program_deinit(&program);
}

static void what_is_missing_is_said_to_be_unknown(void **state)
{
    unsigned rounds = crash_rounds(ROUNDS);
    struct tally tally = {0};

    for (unsigned round = 0; round < rounds;) {
        struct crash_position position = {0};
        struct optraced daemon;

        optraced_init(&daemon);
        for (unsigned i = 0; i < ROUNDS_PER_STORE && round < rounds; i++, round++)
            kill_and_look(&daemon, &position, &tally);
        optraced_deinit(&daemon);
    }
    printf("%u times both killed, %llu events compared, %llu missing, %u sessions say so, "
           "%u were too young to be known\n",
           rounds, (unsigned long long)tally.count, (unsigned long long)tally.missing,
           tally.said_unknown, tally.unknown);
    assert_true(tally.count > rounds);
}

/* Of each thread something is stored: the manager has its ring then, and the store its session,
 * lane and ops. */
static void wait_until_kept(struct service_manager *manager, uint32_t thread_count)
{
    optraced_wait_for(&manager->daemon,
                      "SELECT count(DISTINCT lane_id) FROM event JOIN lane USING (lane_id)"
                      " WHERE session_id = (SELECT max(session_id) FROM session"
                      " WHERE end_ns IS NULL)",
                      thread_count);
}

static uint64_t kill_both_managed(struct service_manager *manager, struct crash_position *position,
                                  unsigned round)
{
    struct crash_program program;
    const uint32_t thread_count = 1 + crash_random(3);
    uint64_t count;

    service_manager_start(manager);
    crash_program_start(&program, &manager->daemon, thread_count, 0, crash_random(2) ? 1000 : 100);
    wait_until_kept(manager, thread_count);
    crash_spread_pause(LIFE_US_MAX / 4);
    kill_both(&manager->daemon, &program);
    service_manager_start(manager);
    optraced_wait_for(&manager->daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'",
                      round);
    program.session_id = round;
    count = crash_check_kept(&manager->daemon, &program, position);
    crash_check_integrity(&manager->daemon);
    service_manager_wait_for_kept(manager, 0);
    assert_int_equal(optraced_stop(&manager->daemon), 0);
    crash_program_deinit(&program);
    return count;
}

static void under_a_service_manager_nothing_is_lost(void **state)
{
    unsigned rounds = crash_rounds(ROUNDS);
    uint64_t total = 0;

    for (unsigned round = 0; round < rounds;) {
        struct crash_position position = {0};
        struct service_manager manager;

        service_manager_init(&manager);
        for (unsigned i = 1; i <= ROUNDS_PER_STORE && round < rounds; i++, round++)
            total += kill_both_managed(&manager, &position, i);
        service_manager_deinit(&manager);
    }
    printf("%u times both killed under a service manager, %llu events compared\n", rounds,
           (unsigned long long)total);
    assert_true(total > rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_said_to_be_unknown),
        cmocka_unit_test(under_a_service_manager_nothing_is_lost),
    };

    crash_choose_scenario();
    return AT_ONCE_RUN(tests, 2);
}
