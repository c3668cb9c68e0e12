/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session: start, refusal, reconnection, control, flush, stop. */
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

static void record_one(uint32_t op)
{
    optrace_end(optrace_begin(op));
}

static const char *status(void)
{
    static char text[400];

    optrace_status(text, sizeof(text));
    return text;
}

/* Records spans until the level is this: the housekeeping of the thread hears of it. */
struct level_wait {
    uint32_t op, level;
};

static bool has_level(void *context)
{
    const struct level_wait *wait = context;

    record_one(wait->op);
    return optrace_level() == wait->level;
}

static void wait_level(uint32_t level)
{
    struct level_wait wait = {optrace_label("wait"), level};

    if (!wait_until(has_level, &wait, WAIT_MS))
        fail_msg("level %u, not %u: %s", optrace_level(), level, status());
}

static void an_absent_daemon_is_no_error(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {.socket_path = place->socket};

    CHECK_OK(optrace_start(&config));
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    assert_int_equal(optrace_begin(optrace_label("off")).id, 0);
    CHECK_CONTAINS(status(), "not recording");
    CHECK_CONTAINS(status(), "No such file");
    assert_int_equal(optrace_flush(0), -ENOTCONN);
    optrace_stop();
    CHECK_CONTAINS(status(), "stopped");
}

static void a_required_daemon_must_be_there(void **state)
{
    struct client_place *place = *state;
    char path[200];
    struct optrace_config config = {.socket_path = place->socket, .required = 1};

    assert_int_equal(optrace_start(&config), -ENOENT);
    CHECK_CONTAINS(status(), place->socket);
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = 0;
    config.socket_path = path;
    assert_int_equal(optrace_start(&config), -ENAMETOOLONG);
    optrace_stop(); /* not started: nothing happens */
}

static void a_late_daemon_is_found(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {.socket_path = place->socket, .ring_records = 256};
    const uint32_t op = optrace_label("late");
    struct optrace_run run = {{0, 0}, 0, 0};

    CHECK_OK(optrace_start(&config));
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    place->daemon = fake_daemon_create(place->socket, NULL);
    for (int i = 0; i < 1000 && run.number == 0; i++) {
        run = optrace_run_begin(0, 0);
        poll(NULL, 0, 10); /* the program goes on with its work */
    }
    assert_int_not_equal(run.number, 0);
    record_one(op);
    optrace_run_end(run);
    client_place_drain(place, 2);
    CHECK_OK(strcmp(client_place_op_name(place, 0), "late"));
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

static void check_refusal(struct client_place *place, const struct fake_daemon_options *options,
                          int error, const char *why)
{
    struct optrace_config config = {
        .socket_path = place->socket, .connect_timeout_ms = 200, .required = 1};

    place->daemon = fake_daemon_create(place->socket, options);
    assert_int_equal(optrace_start(&config), error);
    CHECK_CONTAINS(status(), why);
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    fake_daemon_destroy(&place->daemon);
}

static void refusals_have_their_errors(void **state)
{
    struct client_place *place = *state;
    const struct fake_daemon_options version = {.status = OT_WELCOME_VERSION};
    const struct fake_daemon_options full = {.status = OT_WELCOME_FULL};
    const struct fake_daemon_options no_rings = {.no_features = OT_FEATURE_RINGS};
    const struct fake_daemon_options mute = {.is_mute = true};
    const struct fake_daemon_options garbled = {.is_garbled = true};

    check_refusal(place, &version, -EPROTO, "no room today");
    check_refusal(place, &full, -EUSERS, "no room today");
    check_refusal(place, &no_rings, -EPROTO, "shared memory");
    check_refusal(place, &mute, -ETIMEDOUT, "");
    check_refusal(place, &garbled, -EPROTO, "no optrace daemon");
}

static void hello_says_who(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {.socket_path = place->socket,
                                          .program = "no\xff"
                                                     "one",
                                          .required = 1};

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(optrace_start(&config));
    fake_daemon_lock(place->daemon);
    assert_int_equal(place->daemon->hello.pid, getpid());
    assert_string_equal(place->daemon->program, "no?one");
    assert_int_equal(place->daemon->hello.connection, 0);
    assert_true(place->daemon->hello.ticks_per_s > 1000000);
    fake_daemon_unlock(place->daemon);
    CHECK_CONTAINS(status(), "recording to");
    CHECK_CONTAINS(status(), "session 1");
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

static void a_new_session_gets_the_old_definitions(void **state)
{
    struct client_place *place = *state;
    const uint32_t op = optrace_label("kept over sessions");
    uint8_t uuid[16];

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    CHECK_OK(client_place_start(place)); /* counted */
    record_one(op);
    client_place_drain(place, 1);
    fake_daemon_lock(place->daemon);
    memcpy(uuid, place->daemon->hello.uuid, sizeof(uuid));
    fake_daemon_unlock(place->daemon);
    optrace_stop();
    assert_int_equal(optrace_level(), OPTRACE_ON);
    optrace_stop();
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    fake_daemon_destroy(&place->daemon);

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    record_one(op);
    client_place_drain(place, 1); /* and not what the first session had */
    CHECK_OK(strcmp(client_place_op_name(place, 0), "kept over sessions"));
    assert_int_not_equal(memcmp(place->daemon->hello.uuid, uuid, sizeof(uuid)), 0);
    assert_int_equal(place->daemon->hello.connection, 0);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

static void open_spans_move_to_the_new_session(void **state)
{
    struct client_place *place = *state;
    const uint32_t op = optrace_label("over stop and start");
    struct optrace_span span;

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    span = optrace_begin(op);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    CHECK_OK(client_place_start(place));
    optrace_end(span);
    client_place_drain(place, 1);
    CHECK_U64(client_place_record(place, 0).start_ticks, span.start);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 2);
}

/* Begins and ends spans until the daemon has them: the connection comes back by itself. */
struct record_wait {
    struct client_place *place;
    uint32_t op;
    uint64_t count;
};

static bool is_connected_again(void *context)
{
    struct record_wait *wait = context;

    record_one(wait->op);
    wait->count++;
    return fake_daemon_count(wait->place->daemon, FAKE_RINGS) > 0;
}

static void a_restarted_daemon_gets_everything(void **state)
{
    struct client_place *place = *state;
    struct record_wait wait = {place, optrace_label("over a restart"), 0};
    uint8_t uuid[16];
    uint64_t before, start_ns;

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    record_one(wait.op);
    client_place_drain(place, 1);
    client_place_set_idle(place, true);
    for (int i = 0; i < 10; i++)
        record_one(wait.op);
    fake_daemon_lock(place->daemon);
    memcpy(uuid, place->daemon->hello.uuid, sizeof(uuid));
    start_ns = place->daemon->hello.realtime_ns;
    fake_daemon_unlock(place->daemon);
    before = fake_daemon_count(place->daemon, FAKE_RECORDS);
    fake_daemon_destroy(&place->daemon);
    for (int i = 0; i < 10; i++)
        record_one(wait.op);

    place->daemon = fake_daemon_create(place->socket, NULL);
    if (!wait_until(is_connected_again, &wait, WAIT_MS))
        fail_msg("no connection: %s", status());
    CHECK_U64(before, 1);
    client_place_drain(place, 20 + wait.count);
    CHECK_OK(strcmp(client_place_op_name(place, 0), "over a restart"));
    assert_memory_equal(place->daemon->hello.uuid, uuid, sizeof(uuid));
    assert_int_equal(place->daemon->hello.connection, 1);
    assert_true(place->daemon->hello.realtime_ns > start_ns);
    CHECK_U64(place->daemon->start_ns, start_ns);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

static void a_flush_reconnects(void **state)
{
    struct client_place *place = *state;
    const uint32_t op = optrace_label("flushed");

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    client_place_set_idle(place, true);
    record_one(op);
    assert_int_equal(optrace_flush(20), -ETIMEDOUT);
    fake_daemon_destroy(&place->daemon);
    assert_int_equal(optrace_flush(20), -ENOTCONN);
    CHECK_CONTAINS(status(), "waiting for the daemon");
    place->daemon = fake_daemon_create(place->socket, NULL);
    client_place_drain(place, 1);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

static void stop_waits_for_a_daemon_that_restarts(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {
        .socket_path = place->socket, .ring_records = 64, .exit_timeout_ms = 50, .required = 1};
    const uint32_t op = optrace_label("at the end");

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(optrace_start(&config));
    client_place_set_idle(place, true);
    record_one(op);
    fake_daemon_wait(place->daemon, FAKE_RINGS, 1);
    fake_daemon_destroy(&place->daemon);
    optrace_stop(); /* nobody comes: it gives up */
    CHECK_CONTAINS(status(), "without the daemon");

    /* What the first session could not deliver comes with the next one. */
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    record_one(op);
    client_place_drain(place, 2);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

static void send_control(struct client_place *place, uint32_t level)
{
    const struct ot_wire_control frame = {.header = ot_wire_header(OT_FRAME_CONTROL, sizeof(frame)),
                                          .level = level};

    fake_daemon_send(place->daemon, &frame, sizeof(frame));
}

static bool is_on_again(void *context)
{
    optrace_run_end(optrace_run_begin(0, 0));
    return optrace_level() == OPTRACE_ON;
}

static void control_sets_the_level(void **state)
{
    struct client_place *place = *state;
    const uint32_t phase = optrace_name(OPTRACE_PHASE, "compute");

    assert_int_equal(optrace_phase_begin(phase).id, 0);
    send_control(place, OT_LEVEL_DETAIL);
    wait_level(OPTRACE_DETAIL);
    assert_int_not_equal(optrace_phase_begin(phase).id, 0);
    send_control(place, OT_LEVEL_OFF);
    wait_level(OPTRACE_OFF);
    CHECK_CONTAINS(status(), "paused by the daemon");
    CHECK_OK(optrace_flush(WAIT_MS));
    send_control(place, OT_LEVEL_ON);
    assert_true(wait_until(is_on_again, NULL, WAIT_MS));
}

static void a_cut_off_is_final(void **state)
{
    struct client_place *place = *state;
    uint8_t frame[128];
    const struct ot_text why = {"ring 3: its magic is 0", 22};
    int length = ot_wire_encode_bye(OT_BYE_PROTOCOL, why, frame, sizeof(frame));

    fake_daemon_send(place->daemon, frame, (size_t)length);
    wait_level(OPTRACE_OFF);
    CHECK_CONTAINS(status(), "not recording");
    CHECK_CONTAINS(status(), "its magic is 0");
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_HELLOS), 1);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_CLOSES, 1);
}

static bool is_waiting(void *context)
{
    record_one(*(const uint32_t *)context);
    return strstr(status(), "waiting for the daemon") != NULL;
}

static void a_daemon_that_ends_is_waited_for(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("meanwhile");
    uint8_t frame[64];
    int length =
        ot_wire_encode_bye(OT_BYE_SHUTDOWN, (struct ot_text){"over", 4}, frame, sizeof(frame));

    record_one(op);
    client_place_drain(place, 1);
    fake_daemon_send(place->daemon, frame, (size_t)length);
    fake_daemon_destroy(&place->daemon);
    assert_true(wait_until(is_waiting, &op, WAIT_MS));
    assert_int_equal(optrace_level(), OPTRACE_ON);
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(optrace_flush(WAIT_MS));
    assert_true(fake_daemon_count(place->daemon, FAKE_RECORDS) > 0);
    assert_int_equal(place->daemon->hello.connection, 1);
}

static void an_ended_session_is_followed_by_a_new_one(void **state)
{
    struct client_place *place = *state;
    const struct fake_daemon_options ended = {.status = OT_WELCOME_ENDED};
    const uint32_t op = optrace_label("carried over");
    uint8_t uuid[16];

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    memcpy(uuid, place->daemon->hello.uuid, sizeof(uuid));
    client_place_set_idle(place, true);
    record_one(op);
    fake_daemon_wait(place->daemon, FAKE_RINGS, 1);
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, &ended);
    assert_int_equal(optrace_flush(100), -ENOTCONN);
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, NULL);
    record_one(op); /* moves this thread to the new session */
    client_place_drain(place, 2);
    assert_int_not_equal(memcmp(place->daemon->hello.uuid, uuid, sizeof(uuid)), 0);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

static void a_deaf_daemon_does_not_stop_the_program(void **state)
{
    struct client_place *place = *state;
    char name[4000];
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "Big");
    uint64_t before;
    uint32_t op = 0;

    CHECK_OK(optrace_flush(WAIT_MS)); /* the ops of earlier cases are here */
    before = fake_daemon_count(place->daemon, FAKE_OPS);
    fake_daemon_lock(place->daemon);
    place->daemon->options.is_deaf = true;
    fake_daemon_unlock(place->daemon);
    memset(name, 'n', sizeof(name));
    for (int i = 0; i < 500; i++) { /* 2 MB: more than a socket takes */
        snprintf(name, sizeof(name), "%d %0*d", i, (int)sizeof(name) - 20, i);
        CHECK_OK(optrace_op_define(&info, &op));
        record_one(op);
    }
    fake_daemon_lock(place->daemon);
    place->daemon->options.is_deaf = false;
    fake_daemon_unlock(place->daemon);
    fake_daemon_wake(place->daemon);
    CHECK_OK(optrace_flush(WAIT_MS));
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_OPS), before + 500);
}

static void disabled_means_off(void **state)
{
    struct client_place *place = *state;

    setenv("OPTRACE_DISABLE", "1", 1);
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    CHECK_CONTAINS(status(), "OPTRACE_DISABLE");
    optrace_stop();
    unsetenv("OPTRACE_DISABLE");
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_HELLOS), 0);
}

static void the_environment_is_obeyed(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {.required = 1};
    const struct ot_ring *ring;

    setenv("OPTRACE_SOCKET", place->socket, 1);
    setenv("OPTRACE_RING_RECORDS", "many", 1);
    assert_int_equal(optrace_start(&config), -EINVAL);
    setenv("OPTRACE_RING_RECORDS", "1000", 1);
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(optrace_start(&config));
    record_one(optrace_label("work"));
    ring = client_place_ring(place, 0);
    CHECK_U64(ring->header.record_count, 1024);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    unsetenv("OPTRACE_SOCKET");
    unsetenv("OPTRACE_RING_RECORDS");
}

static void default_places_are_looked_up(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {.required = 1};
    char *dir = temp_path(place->dir, "optrace");
    char *path = temp_path(dir, "collector.sock");

    CHECK_OK(mkdir(dir, 0700));
    setenv("XDG_RUNTIME_DIR", place->dir, 1);
    place->daemon = fake_daemon_create(path, NULL);
    CHECK_OK(optrace_start(&config));
    CHECK_CONTAINS(status(), path);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    unsetenv("XDG_RUNTIME_DIR");
    free(path);
    free(dir);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_setup, client_place_teardown)
#define BARE(name) cmocka_unit_test_setup_teardown(name, client_place_make, client_place_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BARE(an_absent_daemon_is_no_error),
        BARE(a_required_daemon_must_be_there),
        BARE(a_late_daemon_is_found),
        BARE(refusals_have_their_errors),
        BARE(hello_says_who),
        BARE(a_new_session_gets_the_old_definitions),
        BARE(open_spans_move_to_the_new_session),
        BARE(a_restarted_daemon_gets_everything),
        BARE(a_flush_reconnects),
        BARE(stop_waits_for_a_daemon_that_restarts),
        CASE(control_sets_the_level),
        cmocka_unit_test_setup_teardown(a_cut_off_is_final, client_place_setup, client_place_clear),
        CASE(a_daemon_that_ends_is_waited_for),
        BARE(an_ended_session_is_followed_by_a_new_one),
        CASE(a_deaf_daemon_does_not_stop_the_program),
        BARE(disabled_means_off),
        BARE(the_environment_is_obeyed),
        BARE(default_places_are_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
