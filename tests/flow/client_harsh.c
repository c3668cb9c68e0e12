/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are hard on the library in them: nothing of theirs is touched, they end in their
 * own way, and each span is in the store once or counted as lost. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/flow/crash_check.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/wait.h"

enum { ROUNDS = 12, STEPS = 60, KILL_PAUSE_US_MAX = 300000 };

static void harsh_start(struct child *child, const struct optraced *daemon,
                        const char *const *words)
{
    char *program = place_program("tests/flow/harsh_program");
    const char *argv[6] = {program};
    char *socket;
    const char *environment[2] = {NULL, NULL};

    assert_true(asprintf(&socket, "OPTRACE_SOCKET=%s", daemon->socket) > 0);
    environment[0] = socket;
    for (size_t i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    child_start(child, argv, &(struct child_options){.environment = environment});
    free(socket);
    free(program);
}

static int64_t ask(const struct optraced *daemon, const char *sql, long long pid)
{
    char *query;
    int64_t answer;

    assert_true(asprintf(&query, sql, pid) > 0);
    answer = optraced_query(daemon, query);
    free(query);
    return answer;
}

static void wait_for_end(const struct optraced *daemon, long long pid)
{
    char *query;

    assert_true(asprintf(&query,
                         "SELECT count(*) > 0 AND count(*) = count(end_ns) FROM session"
                         " WHERE pid = %lld",
                         pid) > 0);
    optraced_wait_for(daemon, query, 1);
    free(query);
}

/* What a process says that it recorded against the sessions under its pid. */
static void check_process(const struct optraced *daemon, long long pid, long long count,
                          bool may_lose)
{
    const int64_t events = ask(daemon,
                               "SELECT count(*) FROM v_event WHERE session_id IN"
                               " (SELECT session_id FROM session WHERE pid = %lld)",
                               pid);
    const int64_t different =
        ask(daemon,
            "SELECT count(DISTINCT correlation) FROM v_event WHERE session_id IN"
            " (SELECT session_id FROM session WHERE pid = %lld)",
            pid);
    const int64_t lost = ask(daemon,
                             "SELECT ifnull(sum(lost_count), 0) FROM gap WHERE session_id IN"
                             " (SELECT session_id FROM session WHERE pid = %lld)",
                             pid);
    /* Of a process that ended while no daemon was there: the store says since when. */
    const int64_t unknown = ask(daemon,
                                "SELECT count(*) FROM gap WHERE lost_count IS NULL AND session_id"
                                " IN (SELECT session_id FROM session WHERE pid = %lld)",
                                pid);

    if (events != different)
        fail_msg("pid %lld: %lld events are stored twice", pid, (long long)(events - different));
    if (events > count || (events + lost < count && unknown == 0) || (!may_lose && lost > 0))
        fail_msg("pid %lld: of %lld spans %lld are stored, %lld are lost", pid, count,
                 (long long)events, (long long)lost);
    assert_true(may_lose || unknown == 0);
}

static void check_processes(const struct optraced *daemon, const struct child *child, bool may_lose)
{
    unsigned count = 0;

    for (const char *at = child->out; *at; at = strchr(at, '\n') + 1) {
        long long pid, spans;

        assert_int_equal(sscanf(at, "%lld %lld", &pid, &spans), 2);
        if (spans > 0)
            wait_for_end(daemon, pid);
        check_process(daemon, pid, spans, may_lose);
        count++;
    }
    assert_true(count > 0);
}

static void run_to_the_end(const char *word, int64_t spans)
{
    const char *words[] = {word, NULL};
    struct optraced daemon;
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    harsh_start(&child, &daemon, words);
    if (child_wait(&child, WAIT_MS) != 0)
        fail_msg("%s", child.err);
    check_processes(&daemon, &child, false);
    CHECK_U64((uint64_t)optraced_query(&daemon, "SELECT count(*) FROM event"), (uint64_t)spans);
    CHECK_U64(
        (uint64_t)optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'"),
        1);
    child_deinit(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void sockets_in_our_place_are_left_alone(void **state)
{
    run_to_the_end("sockets", 1900);
}

static void files_in_our_place_are_left_alone(void **state)
{
    run_to_the_end("files", 1900);
}

static void standard_streams_stay_free(void **state)
{
    run_to_the_end("streams", 20);
}

/* The ring of a thread that does nothing more can neither be handed over nor counted while only the
 * others come by: where the daemon that had been told of it is gone, and the program too, nobody
 * knows what was in it. */
static void what_an_idle_thread_left_is_said_to_be_unknown(void **state)
{
    const char *words[] = {"idle", NULL};
    struct optraced daemon;
    struct child child;
    pid_t pid;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    harsh_start(&child, &daemon, words);
    pid = child.pid;
    assert_true(child_wait_text(&child, "started\n", WAIT_MS));
    optraced_wait_for(&daemon, "SELECT count(*) FROM session", 1);
    kill(daemon.child.pid, SIGSTOP);
    kill(pid, SIGUSR1);
    assert_true(child_wait_text(&child, "recorded\n", WAIT_MS));
    kill(pid, SIGUSR1);
    assert_true(child_wait_text(&child, "closed\n", WAIT_MS));
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL);
    optraced_wait_for(&daemon, "SELECT count(*) > 0 FROM event", 1); /* of the other thread */
    child_kill(&child, SIGKILL);
    wait_for_end(&daemon, pid);
    CHECK_U64(ask(&daemon, "SELECT count(correlation) FROM event WHERE %lld", pid), 0);
    CHECK_U64(ask(&daemon, "SELECT count(*) FROM gap WHERE lost_count IS NULL AND %lld", pid), 1);
    child_deinit(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* It has said its count, after which no daemon may be killed, or has ended otherwise. */
static bool has_said_its_count(struct child *child)
{
    siginfo_t info = {0};
    char line[32];

    child_drain(child);
    waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    snprintf(line, sizeof(line), "%d ", (int)child->pid);
    return info.si_pid != 0 || strstr(child->out, line);
}

static void one_round(bool kills)
{
    const unsigned number = crash_random(100000);
    char seed[16], steps[16];
    const char *words[] = {"random", seed, steps, kills ? "killed" : NULL, NULL};
    struct optraced daemon;
    struct child child;
    int status;

    snprintf(seed, sizeof(seed), "%u", number);
    snprintf(steps, sizeof(steps), "%d", STEPS);
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    harsh_start(&child, &daemon, words);
    while (kills && !has_said_its_count(&child)) {
        crash_random_pause(KILL_PAUSE_US_MAX);
        if (has_said_its_count(&child))
            break;
        optraced_kill(&daemon);
        optraced_start(&daemon, NULL);
    }
    status = child_wait(&child, WAIT_MS);
    if (status != (int)(number % 100) || child.err[0])
        fail_msg("seed %u: status %d: %s", number, status, child.err);
    check_processes(&daemon, &child, true);
    child_deinit(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void random_programs_lose_nothing_silently(void **state)
{
    for (unsigned i = crash_rounds(ROUNDS); i > 0; i--)
        one_round(false);
}

static void random_programs_and_killed_daemons_lose_nothing_silently(void **state)
{
    for (unsigned i = crash_rounds(ROUNDS); i > 0; i--)
        one_round(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_and_killed_daemons_lose_nothing_silently),
        cmocka_unit_test(random_programs_lose_nothing_silently),
        cmocka_unit_test(sockets_in_our_place_are_left_alone),
        cmocka_unit_test(files_in_our_place_are_left_alone),
        cmocka_unit_test(standard_streams_stay_free),
        cmocka_unit_test(what_an_idle_thread_left_is_said_to_be_unknown),
    };

    return AT_ONCE_RUN(tests, 3);
}
