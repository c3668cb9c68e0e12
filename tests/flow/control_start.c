/* SPDX-License-Identifier: Apache-2.0 */
/* Recording begun and ended from outside: optrace start and stop with programs that run. */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

enum { WORDS_MAX = 16 };

/* optrace on that daemon's socket; the words end in NULL. */
static struct child_result optrace(const struct optraced *daemon, const char *const *words)
{
    char *program = place_program("client/cli/optrace");
    const char *argv[WORDS_MAX + 4] = {program, words[0], "--socket", daemon->socket};
    struct child_result result;

    for (size_t i = 1; words[i]; i++)
        argv[3 + i] = words[i];
    result = child_run(argv, NULL);
    free(program);
    return result;
}

#define OPTRACE(daemon, ...) optrace(daemon, (const char *const[]){__VA_ARGS__, NULL})

/* The command ends with this status, and says that. */
static void expect(struct child_result result, int status, const char *text)
{
    if (result.status != status)
        fail_msg("status %d, not %d: %s%s", result.status, status, result.out, result.err);
    if (!strstr(result.out, text) && !strstr(result.err, text))
        fail_msg("no \"%s\" in: %s%s", text, result.out, result.err);
    child_result_deinit(&result);
}

/* Start a program of that name, with a schedule of its own or NULL. */
static void start_program(struct child *child, const struct optraced *daemon, const char *name,
                          const char *schedule)
{
    char *program = place_program("tests/flow/control_program");
    char socket[200], own[200];
    const char *environment[] = {socket, own, NULL};
    const struct child_options options = {.environment = environment};

    snprintf(socket, sizeof(socket), "OPTRACE_SOCKET=%s", daemon->socket);
    snprintf(own, sizeof(own), "OPTRACE_SCHEDULE=%s", schedule ? schedule : "");
    child_start(child, (const char *const[]){program, name, NULL}, &options);
    if (!child_wait_text(child, "running", WAIT_MS))
        fail_msg("%s: %s", name, child->err);
    free(program);
}

static void end_program(struct child *child)
{
    child_kill(child, SIGKILL);
    child_deinit(child);
}

/* Complete runs of a program that are in the store. */
static uint64_t count_runs(const struct optraced *daemon, const char *name, const char *where)
{
    char sql[400];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM run JOIN session USING (session_id) WHERE program = '%s' AND"
             " run.end_ns IS NOT NULL AND %s",
             name, where);
    return (uint64_t)optraced_query(daemon, sql);
}

static void wait_for_runs(const struct optraced *daemon, const char *name, const char *where,
                          uint64_t count)
{
    char sql[400];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) >= %llu FROM run JOIN session USING (session_id) WHERE program = '%s'"
             " AND run.end_ns IS NOT NULL AND %s",
             (unsigned long long)count, name, where);
    optraced_wait_for(daemon, sql, 1);
}

/* A moment, in which a program that records would have stored dozens of runs. */
static void let_pass(void)
{
    usleep(400000);
}

/* Until what was recorded before is stored: the daemon takes up to a second to commit what few
 * programs record. Returns how many runs there are then. */
static uint64_t wait_for_rest(const struct optraced *daemon, const char *name)
{
    uint64_t runs, before;
    int tries = 0;

    runs = count_runs(daemon, name, "1");
    do {
        before = runs;
        usleep(1500000);
        runs = count_runs(daemon, name, "1");
    } while (runs != before && ++tries < 50);
    CHECK_U64(runs, before);
    return runs;
}

static void nothing_is_recorded_until_start(void **state)
{
    struct optraced daemon;
    struct child one, two;
    uint64_t runs;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    start_program(&one, &daemon, "one", NULL);
    start_program(&two, &daemon, "two", NULL);
    let_pass();
    CHECK_U64(count_runs(&daemon, "one", "1"), 0);
    expect(OPTRACE(&daemon, "start", "--program", "one"), 0, "): on\n");
    wait_for_runs(&daemon, "one", "1", 20);
    CHECK_U64(count_runs(&daemon, "two", "1"), 0);
    expect(OPTRACE(&daemon, "stop"), 0, "two (pid ");
    runs = wait_for_rest(&daemon, "one");
    let_pass();
    CHECK_U64(count_runs(&daemon, "one", "1"), runs);
    optraced_expect_log(&daemon, "commands on: 1 of 1 chosen sessions obey", 1);
    optraced_expect_log(&daemon, "commands off: 2 of 2 chosen sessions obey", 1);
    end_program(&one);
    end_program(&two);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void programs_are_chosen_one_by_one(void **state)
{
    struct optraced daemon;
    struct child children[3];
    char pid[16];

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    start_program(&children[0], &daemon, "first", NULL);
    start_program(&children[1], &daemon, "second", NULL);
    start_program(&children[2], &daemon, "third", NULL);
    snprintf(pid, sizeof(pid), "%d", (int)children[1].pid);
    expect(OPTRACE(&daemon, "start", "--pid", pid, "--session", "3"), 0, "third (pid ");
    wait_for_runs(&daemon, "second", "1", 5);
    wait_for_runs(&daemon, "third", "1", 5);
    CHECK_U64(count_runs(&daemon, "first", "1"), 0);
    for (size_t i = 0; i < 3; i++)
        end_program(&children[i]);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void commands_hold_for_programs_to_come(void **state)
{
    struct optraced daemon;
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    expect(OPTRACE(&daemon, "stop"), 0, "it holds for those that connect later");
    start_program(&child, &daemon, "late", NULL);
    let_pass();
    CHECK_U64(count_runs(&daemon, "late", "1"), 0);
    expect(OPTRACE(&daemon, "status"), 0, "default level off");
    expect(OPTRACE(&daemon, "start", "--program", "late", "--level", "detail"), 0, "detail");
    end_program(&child);
    start_program(&child, &daemon, "late", NULL); /* another of that name */
    wait_for_runs(&daemon, "late", "session_id = 2", 10);
    end_program(&child);
    start_program(&child, &daemon, "other", NULL);
    let_pass();
    CHECK_U64(count_runs(&daemon, "other", "1"), 0);
    end_program(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void schedules_in_runs_are_exact(void **state)
{
    struct optraced daemon;
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    start_program(&child, &daemon, "steps", NULL);
    expect(OPTRACE(&daemon, "start", "--skip-first", "10", "--wait", "5", "--warmup", "2",
                   "--active", "3", "--repeat", "4"),
           0, "steps (pid ");
    wait_for_runs(&daemon, "steps", "1", 20);
    let_pass();
    CHECK_U64(count_runs(&daemon, "steps", "warmup"), 8);
    CHECK_U64(count_runs(&daemon, "steps", "NOT warmup"), 12);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 20); /* one span in each */
    expect(OPTRACE(&daemon, "status"), 0, "done");
    end_program(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void schedules_in_time_have_windows(void **state)
{
    struct optraced daemon;
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    start_program(&child, &daemon, "clock", NULL);
    expect(OPTRACE(&daemon, "start", "--at", "+1s", "--wait", "400ms", "--active", "200ms",
                   "--repeat", "2"),
           0, "starts ");
    let_pass();
    CHECK_U64(count_runs(&daemon, "clock", "1"), 0);
    optraced_wait_for(&daemon, "SELECT count(*) > 0 FROM run", 1);
    usleep(1200000);
    /* Two windows, whose runs are 600 ms apart. */
    CHECK_U64(optraced_query(&daemon,
                             "SELECT count(*) FROM (SELECT start_ns - lag(start_ns) OVER (ORDER BY"
                             " start_ns) AS gap FROM run) WHERE gap > 300000000"),
              1);
    CHECK_U64(optraced_query(&daemon, "SELECT max(start_ns) - min(start_ns) BETWEEN 600000000 AND"
                                      " 800000000 + 100000000 FROM run"),
              1);
    end_program(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void recording_begins_and_ends_at_its_time(void **state)
{
    const uint64_t at_ns = ot_clock_ns(CLOCK_REALTIME) + UINT64_C(1200000000);
    struct optraced daemon;
    struct child child;
    char at[64], sql[200];

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    start_program(&child, &daemon, "exact", NULL);
    snprintf(at, sizeof(at), "@%llu.%09llu", (unsigned long long)(at_ns / 1000000000),
             (unsigned long long)(at_ns % 1000000000));
    expect(OPTRACE(&daemon, "start", "--at", at, "--for", "300ms"), 0, "starts ");
    optraced_wait_for(&daemon, "SELECT count(*) > 0 FROM run", 1);
    usleep(700000);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM run WHERE start_ns < %llu OR start_ns > %llu",
             (unsigned long long)at_ns, (unsigned long long)at_ns + 300000000);
    CHECK_U64(optraced_query(&daemon, sql), 0);
    expect(OPTRACE(&daemon, "status"), 0, "done");
    end_program(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The program counts on while the daemon is killed and another comes, whose default is on. */
static void a_schedule_survives_the_daemon(void **state)
{
    struct optraced daemon;
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    start_program(&child, &daemon, "tough", NULL);
    expect(OPTRACE(&daemon, "start", "--wait", "700", "--active", "50", "--repeat", "1"), 0,
           "wait");
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL);
    wait_for_runs(&daemon, "tough", "1", 50);
    let_pass();
    CHECK_U64(count_runs(&daemon, "tough", "1"), 50);
    expect(OPTRACE(&daemon, "status"), 0, "done");
    end_program(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void own_schedules_work_without_commands(void **state)
{
    struct optraced daemon;
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    start_program(&child, &daemon, "own", "wait=3,warmup=1,active=2,repeat=5");
    wait_for_runs(&daemon, "own", "1", 15);
    let_pass();
    CHECK_U64(count_runs(&daemon, "own", "warmup"), 5);
    CHECK_U64(count_runs(&daemon, "own", "NOT warmup"), 10);
    expect(OPTRACE(&daemon, "status"), 0, "done");
    end_program(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void nobody_matches_and_why(void **state)
{
    struct optraced daemon;
    struct raw_client old;
    struct child child;

    optraced_init(&daemon);
    expect(OPTRACE(&daemon, "start"), 3, "no daemon listens on ");
    optraced_start(&daemon, NULL);
    expect(OPTRACE(&daemon, "start", "--pid", "1"), 1, "no program matches: none is connected");
    start_program(&child, &daemon, "there", NULL);
    expect(OPTRACE(&daemon, "stop", "--program", "their"), 1,
           "optrace stop: no program matches; connected are:\n  there (pid ");
    raw_init(&old);
    raw_join(&old, daemon.socket); /* obeys nothing */
    expect(OPTRACE(&daemon, "stop", "--session", "2"), 1,
           "no program matches that could obey\nraw (pid ");
    wait_for_runs(&daemon, "there", "1", 1); /* nothing has changed */
    raw_close(&old);
    end_program(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *words[6], *text;
    } cases[] = {
        {{"start", "--wait", "1"}, "active=N is missing"},
        {{"start", "--active", "2s", "--wait", "1"}, "runs and times are mixed"},
        {{"start", "--active", "x"}, "'x' of active is neither a count of runs nor a time"},
        {{"start", "--active", "1,wait=2"}, "--active takes runs or a time"},
        {{"start", "--for", "10"}, "--for takes a time such as 30s, not '10'"},
        {{"start", "--at", "tomorrow"}, "--at takes +10s, @1700000000.5 or"},
        {{"start", "--at", "@1700000000"}, "in the past"},
        {{"start", "--pid", "me"}, "--pid takes a whole number, not 'me'"},
        {{"start", "--level", "off"}, "--level takes one of on|detail"},
        {{"stop", "--for", "1s"}, "unknown option '--for'"},
        {{"strat"}, "unknown command 'strat'; did you mean 'start'?"},
    };
    struct optraced daemon;

    optraced_init(&daemon);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(optrace(&daemon, cases[i].words), 2, cases[i].text);
    optraced_deinit(&daemon);
}

/* Receive frames until one of this type; fails the test at the end of the connection. */
static size_t receive_type(struct raw_client *client, uint16_t type, uint8_t *frame, size_t bytes)
{
    for (;;) {
        size_t length = raw_receive(client, frame, bytes);
        struct ot_wire_header header;

        assert_true(length > 0);
        memcpy(&header, frame, sizeof(header));
        if (header.type == type)
            return length;
        assert_int_equal(header.type, OT_FRAME_WELCOME);
    }
}

static void expect_level(struct raw_client *client, uint32_t level)
{
    struct ot_wire_control control;
    uint8_t frame[4096];
    size_t length = receive_type(client, OT_FRAME_CONTROL, frame, sizeof(frame));

    CHECK_OK(ot_wire_decode_control(frame, length, &control, NULL));
    assert_int_equal(control.level, level);
}

/* A client of version 1.0 gets levels at the right times, and is told of nothing new. */
static void clients_of_version_0_get_levels(void **state)
{
    struct ot_wire_welcome_view welcome;
    struct ot_wire_hello hello;
    struct raw_client client;
    struct optraced daemon;
    uint8_t frame[4096];
    size_t length;
    uint64_t on_ns;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    raw_init(&client);
    assert_true(raw_connect(&client, daemon.socket));
    hello = raw_hello(&client);
    hello.version_minor = 0;
    hello.features = OT_FEATURE_RINGS | OT_FEATURE_CONTROL;
    raw_send_hello(&client, &hello);
    length = receive_type(&client, OT_FRAME_WELCOME, frame, sizeof(frame));
    CHECK_OK(ot_wire_decode_welcome(frame, length, &welcome, NULL));
    CHECK_U64(welcome.fixed.version_minor, 0);
    CHECK_U64(welcome.fixed.features, hello.features);
    CHECK_U64(welcome.fixed.level, OT_LEVEL_OFF);
    expect(OPTRACE(&daemon, "start", "--level", "detail"), 0, "): detail");
    expect_level(&client, OT_LEVEL_DETAIL);
    expect(OPTRACE(&daemon, "stop"), 0, "): off");
    expect_level(&client, OT_LEVEL_OFF);
    expect(OPTRACE(&daemon, "start", "--wait", "200ms", "--active", "200ms", "--repeat", "2"), 0,
           "wait");
    expect_level(&client, OT_LEVEL_ON);
    on_ns = ot_clock_ns(CLOCK_MONOTONIC);
    expect_level(&client, OT_LEVEL_OFF);
    assert_in_range(ot_clock_ns(CLOCK_MONOTONIC) - on_ns, 100000000, 1000000000);
    expect_level(&client, OT_LEVEL_ON);
    expect_level(&client, OT_LEVEL_OFF);
    expect(OPTRACE(&daemon, "start", "--active", "3", "--session", "1"), 1,
           "knows no schedules in runs, only in time");
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_recorded_until_start),
        cmocka_unit_test(programs_are_chosen_one_by_one),
        cmocka_unit_test(commands_hold_for_programs_to_come),
        cmocka_unit_test(schedules_in_runs_are_exact),
        cmocka_unit_test(schedules_in_time_have_windows),
        cmocka_unit_test(recording_begins_and_ends_at_its_time),
        cmocka_unit_test(a_schedule_survives_the_daemon),
        cmocka_unit_test(own_schedules_work_without_commands),
        cmocka_unit_test(nobody_matches_and_why),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(clients_of_version_0_get_levels),
    };

    signal(SIGPIPE, SIG_IGN);
    return AT_ONCE_RUN(tests, 4);
}
