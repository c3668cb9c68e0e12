/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: which runs reach the daemon, by the program's own will and by command. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/schedule.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/wait.h"

#define NS_PER_MS UINT64_C(1000000)

/* Start with a daemon; `schedule` may be NULL. */
static void start(struct client_place *place, const char *schedule)
{
    const struct optrace_config config = {.socket_path = place->socket,
                                          .connect_timeout_ms = WAIT_MS,
                                          .required = 1,
                                          .schedule = schedule};

    if (!place->daemon)
        place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(optrace_start(&config));
}

static void stop(struct client_place *place)
{
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

/* `count` runs, each with a span in it. Writes a letter per run: '.' off, 'w' warm-up, 'A'. */
static void run(struct client_place *place, size_t count, char *letters)
{
    const uint32_t op = optrace_name(OPTRACE_LABEL, "work");
    size_t at;

    fake_daemon_lock(place->daemon);
    at = place->daemon->record_count;
    fake_daemon_unlock(place->daemon);
    for (size_t i = 0; i < count; i++) {
        struct optrace_run handle = optrace_run_begin(0, 0);
        const bool is_on = optrace_level() != OPTRACE_OFF;
        struct ot_wire_record record;

        optrace_end(optrace_begin(op));
        optrace_run_end(handle);
        letters[i] = '.';
        assert_int_equal(is_on, handle.number != 0);
        if (!is_on)
            continue;
        CHECK_OK(optrace_flush(WAIT_MS));
        CHECK_U64(fake_daemon_count(place->daemon, FAKE_RECORDS), at + 2);
        record = client_place_record(place, at); /* the span */
        CHECK_U64(record.run, handle.number);
        record = client_place_record(place, at + 1);
        CHECK_U64(record.kind, OT_RECORD_RUN);
        letters[i] = record.flags & OT_RECORD_WARMUP ? 'w' : 'A';
        at += 2;
    }
    letters[count] = 0;
}

static void check_runs(struct client_place *place, const char *want)
{
    char letters[128];

    run(place, strlen(want), letters);
    assert_string_equal(letters, want);
}

/* Send a plan to the client, and let it hear. */
static void command(struct client_place *place, const struct ot_wire_plan *plan)
{
    const struct ot_wire_schedule frame = ot_wire_schedule(plan);

    fake_daemon_send(place->daemon, &frame, sizeof(frame));
    CHECK_OK(optrace_flush(WAIT_MS)); /* what was sent before the answer is heard */
}

static struct ot_wire_plan told_plan(struct client_place *place)
{
    struct ot_wire_plan plan;

    fake_daemon_lock(place->daemon);
    plan = place->daemon->schedule;
    fake_daemon_unlock(place->daemon);
    return plan;
}

struct wanted {
    struct client_place *place;
    uint64_t command_id;
    uint32_t state;
};

static bool is_told(void *context)
{
    const struct wanted *wanted = context;
    const struct ot_wire_plan plan = told_plan(wanted->place);

    return plan.command_id == wanted->command_id && plan.state == wanted->state;
}

/* Wait until the client has told that. */
static void expect_told(struct client_place *place, uint64_t command_id, uint32_t state)
{
    struct wanted wanted = {place, command_id, state};

    if (!wait_until(is_told, &wanted, 5000))
        fail_msg("told %s of %llu, not %s of %llu", ot_plan_state_name(told_plan(place).state),
                 (unsigned long long)told_plan(place).command_id, ot_plan_state_name(state),
                 (unsigned long long)command_id);
}

static void own_schedules_choose_the_runs(void **state)
{
    static const struct {
        const char *schedule, *runs;
    } cases[] = {
        {"wait=1,warmup=1,active=3,repeat=2,skip-first=10", "...........wAAA.wAAA....."},
        {"active=2,repeat=1", "AA...."},
        {"wait=2,active=1", "..A..A..A"},
        {"active=1", "AAAA"},
        {"warmup=2,active=1,repeat=1", "wwA.."},
        {"skip_first=1,active=1,repeat=2", ".AA."},
        {NULL, "AAA"},
        {"", "AAA"},
    };
    struct client_place *place = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        start(place, cases[i].schedule);
        check_runs(place, cases[i].runs);
        stop(place);
        fake_daemon_destroy(&place->daemon);
    }
}

static void nothing_before_the_first_run_is_recorded(void **state)
{
    struct client_place *place = *state;

    start(place, "active=1,repeat=1");
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    optrace_end(optrace_begin(optrace_label("early")));
    check_runs(place, "A.");
    stop(place);
}

static void the_environment_has_a_schedule(void **state)
{
    struct client_place *place = *state;
    char text[300];

    setenv("OPTRACE_SCHEDULE", "wait=1,active=1", 1);
    start(place, NULL);
    check_runs(place, ".A.A");
    stop(place);
    fake_daemon_destroy(&place->daemon);
    start(place, "active=1"); /* the config beats it */
    check_runs(place, "AAA");
    stop(place);
    setenv("OPTRACE_SCHEDULE", "wait=1", 1);
    assert_int_equal(optrace_start(NULL), -EINVAL);
    unsetenv("OPTRACE_SCHEDULE");
    optrace_status(text, sizeof(text));
    assert_string_equal(
        text, "not recording: OPTRACE_SCHEDULE: active=N is missing: how much is to be recorded");
}

static void wrong_texts_say_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"active", "'active' is not one of"},
        {"activ=1", "'activ' is not one of"},
        {"active=", "'' of active is neither"},
        {"active=x", "'x' of active is neither"},
        {"active=-1", "'-1' of active is neither"},
        {"active=1.5", "'1.5' of active is neither"},
        {"active=5 s", "'5 s' of active is neither"},
        {"active=1e3s", "'1e3s' of active is neither"},
        {"active=99999999999999999999", "neither a count"},
        {"active=900000h", "neither a count"},
        {"active=5s,wait=1", "runs and times are mixed"},
        {"active=2,repeat=3s", "repeat counts cycles"},
        {"active=0", "active=N is missing"},
        {"wait=1,", "active=N is missing"},
        {",", "'' is not one of"},
        {"active=11111111111111111111111111111111111111111111111111111111111111", "too long"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ot_wire_plan plan;
        char error[160] = "";

        assert_int_equal(ot_schedule_parse(cases[i].text, &plan, error, sizeof(error)), -EINVAL);
        CHECK_CONTAINS(error, cases[i].error);
    }
}

static void times_are_read(void **state)
{
    struct ot_wire_plan plan;
    char error[160];

    CHECK_OK(ot_schedule_parse("skip-first=2min,wait=0,warmup=1.5s,active=250ms,repeat=7", &plan,
                               error, sizeof(error)));
    CHECK_U64(plan.unit, OT_UNIT_NS);
    CHECK_U64(plan.skip_first, UINT64_C(120000000000));
    CHECK_U64(plan.warmup, 1500 * NS_PER_MS);
    CHECK_U64(plan.active, 250 * NS_PER_MS);
    CHECK_U64(plan.repeat, 7);
    CHECK_OK(ot_plan_check(&plan, NULL));
}

static void commands_rule(void **state)
{
    struct client_place *place = *state;
    struct ot_wire_plan plan = {.command_id = 7, .level = OT_LEVEL_OFF};

    start(place, NULL);
    check_runs(place, "A");
    command(place, &plan);
    check_runs(place, "..");
    expect_told(place, 7, OT_PLAN_FREE);
    plan = (struct ot_wire_plan){.command_id = 8, .level = OT_LEVEL_DETAIL};
    command(place, &plan);
    assert_int_equal(optrace_level(), OPTRACE_DETAIL);
    plan = (struct ot_wire_plan){
        .command_id = 9, .level = OT_LEVEL_ON, .wait = 1, .warmup = 1, .active = 2, .repeat = 1};
    command(place, &plan);
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    check_runs(place, ".wA");
    expect_told(place, 9, OT_PLAN_ACTIVE);
    command(place, &plan); /* again: known */
    check_runs(place, "A..");
    expect_told(place, 9, OT_PLAN_DONE);
    plan.command_id = 8; /* older */
    command(place, &plan);
    check_runs(place, "..");
    stop(place);
}

static void a_command_beats_the_own_schedule(void **state)
{
    const struct ot_wire_plan plan = {.command_id = 1, .level = OT_LEVEL_ON};
    struct client_place *place = *state;

    start(place, "wait=1000,active=1");
    check_runs(place, "...");
    expect_told(place, 0, OT_PLAN_WAIT);
    CHECK_U64(told_plan(place).wait, 1000);
    command(place, &plan);
    check_runs(place, "AAA");
    stop(place);
}

/* The daemon goes away and another comes, which knows nothing and has another default. */
static void a_schedule_survives_a_reconnection(void **state)
{
    const struct ot_wire_plan plan = {
        .command_id = 5, .level = OT_LEVEL_ON, .wait = 2, .active = 3, .repeat = 2};
    struct client_place *place = *state;

    start(place, NULL);
    command(place, &plan);
    check_runs(place, "..A");
    fake_daemon_destroy(&place->daemon);
    place->daemon =
        fake_daemon_create(place->socket, &(struct fake_daemon_options){.level_off = 1});
    CHECK_OK(optrace_flush(WAIT_MS));
    fake_daemon_wait(place->daemon, FAKE_SCHEDULES, 1);
    CHECK_U64(told_plan(place).command_id, 5);
    CHECK_U64(told_plan(place).position, 3);
    CHECK_U64(told_plan(place).wait, 2);
    check_runs(place, "AA..AAA..");
    stop(place);
}

static void sleep_until(uint64_t realtime_ns)
{
    while (ot_clock_ns(CLOCK_REALTIME) < realtime_ns)
        usleep(1000);
}

/* Until its time comes, all stays as it was; then exactly the next run is the first. */
static void a_command_waits_for_its_time(void **state)
{
    struct client_place *place = *state;
    struct ot_wire_plan plan = {
        .command_id = 1, .level = OT_LEVEL_ON, .wait = 1, .active = 1, .repeat = 1};

    start(place, NULL);
    plan.start_ns = ot_clock_ns(CLOCK_REALTIME) + 300 * NS_PER_MS;
    command(place, &plan);
    check_runs(place, "A");
    expect_told(place, 1, OT_PLAN_EARLY);
    sleep_until(plan.start_ns);
    check_runs(place, ".A..");
    stop(place);
}

static void recording_ends_at_its_time(void **state)
{
    const uint64_t end_ns = ot_clock_ns(CLOCK_REALTIME) + 300 * NS_PER_MS;
    const struct ot_wire_plan plan = {.command_id = 1, .level = OT_LEVEL_ON, .end_ns = end_ns};
    struct client_place *place = *state;

    start(place, NULL);
    command(place, &plan);
    check_runs(place, "A");
    sleep_until(end_ns);
    check_runs(place, "..");
    expect_told(place, 1, OT_PLAN_DONE);
    stop(place);
}

static bool is_off(void *context)
{
    optrace_end(optrace_begin(*(uint32_t *)context));
    return optrace_level() == OPTRACE_OFF;
}

/* Programs that begin no runs: the housekeeping of their threads notices. */
static void recording_ends_without_runs(void **state)
{
    const uint64_t end_ns = ot_clock_ns(CLOCK_REALTIME) + 50 * NS_PER_MS;
    const struct ot_wire_plan plan = {.command_id = 1, .level = OT_LEVEL_ON, .end_ns = end_ns};
    struct client_place *place = *state;
    uint32_t op;

    start(place, NULL);
    command(place, &plan);
    op = optrace_label("work");
    assert_true(wait_until(is_off, &op, WAIT_MS));
    assert_true(ot_clock_ns(CLOCK_REALTIME) >= end_ns);
    assert_true(ot_clock_ns(CLOCK_REALTIME) < end_ns + 900 * NS_PER_MS);
    stop(place);
}

static void schedules_in_time_go_by_the_clock(void **state)
{
    struct client_place *place = *state;
    struct ot_wire_plan plan = {.command_id = 1,
                                .level = OT_LEVEL_ON,
                                .unit = OT_UNIT_NS,
                                .wait = 200 * NS_PER_MS,
                                .warmup = 200 * NS_PER_MS,
                                .active = 200 * NS_PER_MS,
                                .repeat = 2};

    start(place, NULL);
    plan.start_ns = ot_clock_ns(CLOCK_REALTIME);
    command(place, &plan);
    for (uint64_t i = 0; i < 8; i++) {
        const uint64_t middle_ns = plan.start_ns + (i * 200 + 100) * NS_PER_MS;
        char letters[2];

        sleep_until(middle_ns);
        run(place, 1, letters);
        if (ot_clock_ns(CLOCK_REALTIME) < middle_ns + 90 * NS_PER_MS) /* else: too busy here */
            CHECK_U64((uint64_t)letters[0], (uint64_t) ".wA.wA.."[i]);
    }
    stop(place);
}

/* A child is a session of its own: the own schedule begins anew. */
static void a_child_begins_its_own_schedule(void **state)
{
    struct client_place *place = *state;
    int status;
    pid_t pid;

    start(place, "wait=1,active=1,repeat=1");
    check_runs(place, ".A.");
    pid = fork();
    if (pid == 0) {
        unsigned wrong = 0;

        for (int i = 0; i < 4; i++) {
            struct optrace_run handle = optrace_run_begin(0, 0);

            wrong |= (unsigned)((handle.number != 0) != (i == 1)) << i;
            optrace_run_end(handle);
        }
        _exit((int)wrong);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    stop(place);
}

enum { THREADS = 4, THREAD_RUNS = 2000 };

static void *run_a_lot(void *context)
{
    const uint32_t op = optrace_name(OPTRACE_LABEL, "work");
    uint64_t *recorded = context;

    for (int i = 0; i < THREAD_RUNS; i++) {
        struct optrace_run handle = optrace_run_begin(0, 0);

        *recorded += handle.number != 0;
        optrace_end(optrace_begin(op));
        optrace_run_end(handle);
    }
    return NULL;
}

/* Threads share the count: about as many runs are recorded as there are, and none behind the end. A
 * thread may be between the count and the level while others go on. */
static void threads_share_a_schedule(void **state)
{
    struct client_place *place = *state;
    uint64_t recorded[THREADS] = {0}, sum = 0;
    pthread_t threads[THREADS];

    start(place, "skip-first=1000,wait=10,warmup=10,active=80,repeat=20");
    for (size_t i = 0; i < THREADS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, run_a_lot, &recorded[i]));
    for (size_t i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
        sum += recorded[i];
    }
    /* Each of the 20 windows may lose or gain runs of each thread at both of its ends. */
    assert_in_range(sum, 20 * 60, 20 * 100);
    expect_told(place, 0, OT_PLAN_DONE);
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    stop(place);
}

/* A daemon of 1.0 does not hear of it. */
static void older_daemons_are_told_nothing(void **state)
{
    struct client_place *place = *state;

    place->daemon = fake_daemon_create(
        place->socket, &(struct fake_daemon_options){.no_features = OT_FEATURE_SCHEDULE});
    start(place, "wait=1,active=1");
    check_runs(place, ".A.A");
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_SCHEDULES), 0);
    stop(place);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_make, client_place_clear)
    const struct CMUnitTest tests[] = {
        CASE(own_schedules_choose_the_runs),    CASE(nothing_before_the_first_run_is_recorded),
        CASE(the_environment_has_a_schedule),   cmocka_unit_test(wrong_texts_say_what_is_wrong),
        cmocka_unit_test(times_are_read),       CASE(commands_rule),
        CASE(a_command_beats_the_own_schedule), CASE(a_schedule_survives_a_reconnection),
        CASE(a_command_waits_for_its_time),     CASE(recording_ends_at_its_time),
        CASE(recording_ends_without_runs),      CASE(schedules_in_time_go_by_the_clock),
        CASE(a_child_begins_its_own_schedule),  CASE(threads_share_a_schedule),
        CASE(older_daemons_are_told_nothing),
    };

    unsetenv("OPTRACE_SCHEDULE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
