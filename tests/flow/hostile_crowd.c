/* SPDX-License-Identifier: Apache-2.0 */
/* Too many connections, sessions, rings, definitions; peers that say nothing; another user. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/flow/hostile_scene.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/wait.h"

static void allow_many_files(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The text of a WELCOME that refuses; "" when the connection just ends. */
static void receive_refusal(struct raw_client *client, char *out_text, size_t text_bytes)
{
    struct ot_wire_welcome_view welcome;
    struct diag diag = {0};
    uint8_t frame[4096];
    size_t length = raw_receive(client, frame, sizeof(frame));

    out_text[0] = 0;
    if (ot_wire_decode_welcome(frame, length, &welcome, &diag) == 0)
        snprintf(out_text, text_bytes, "%.*s", (int)welcome.text.length, welcome.text.bytes);
}

/* 1,000 connections that say nothing, and one that says HELLO a byte at a time. */
static int say_nothing(void *context)
{
    enum { COUNT = 1000 };
    static struct raw_client clients[COUNT], slow;
    const struct optraced *daemon = context;
    struct ot_wire_hello hello;
    char text[200];

    signal(SIGPIPE, SIG_IGN);
    allow_many_files();
    for (size_t i = 0; i < COUNT; i++) {
        raw_init(&clients[i]);
        assert_true(raw_connect(&clients[i], daemon->socket));
    }
    raw_init(&slow);
    assert_true(raw_connect(&slow, daemon->socket));
    hello = raw_hello(&slow);
    hello.header = ot_wire_header(OT_FRAME_HELLO, sizeof(hello));
    for (size_t i = 0; i < sizeof(hello) && raw_send(&slow, (char *)&hello + i, 1); i++)
        usleep(100000);
    assert_true(raw_receive_bye(&slow, text, sizeof(text)));
    fprintf(stderr, "%s", text);
    for (size_t i = 0; i < COUNT; i++) {
        if (!raw_receive_bye(&clients[i], text, sizeof(text)))
            return 1;
        raw_close(&clients[i]);
    }
    return 0;
}

static void silent_connections_are_closed(void **state)
{
    struct scene *scene = *state;
    struct child child;
    struct good second;
    char line[96];

    child_start_function(&child, say_nothing, &scene->daemon);
    snprintf(line, sizeof(line), "cut off pid %d of user %d: ", (int)child.pid, (int)getuid());
    optraced_wait_for(&scene->daemon, "SELECT count(*) FROM session", 1);
    good_start(&second, &scene->daemon, "second"); /* there is room beside them */
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    CHECK_CONTAINS(child.err, "did not say HELLO");
    optraced_expect_log(&scene->daemon, line, 1);
    good_end(&second, &scene->daemon, "second");
    child_deinit(&child);
}

static int connect_too_often(void *context)
{
    enum { COUNT = OT_WIRE_CONNECTIONS_MAX + 50 };
    static struct raw_client clients[COUNT];
    const struct optraced *daemon = context;
    char text[200];

    allow_many_files();
    for (size_t i = 0; i < COUNT; i++) {
        raw_init(&clients[i]);
        assert_true(raw_connect(&clients[i], daemon->socket));
    }
    receive_refusal(&clients[COUNT - 1], text, sizeof(text));
    fprintf(stderr, "%s", text);
    return 0;
}

/* Sessions that stay: some connected, the others alone for the few seconds in which a process that
 * lives may come back. Of those many are under way at once: were each waited for, the first would be
 * over on a busy machine before the last has come. As many again may have gone without the daemon
 * knowing it yet. */
static int join_too_often(void *context)
{
    enum { UNDER_WAY = 50, CONNECTED = OT_WIRE_CONNECTIONS_MAX - 3 * UNDER_WAY };
    static struct raw_client clients[UNDER_WAY];
    const struct optraced *daemon = context;
    char text[200] = "";

    signal(SIGPIPE, SIG_IGN);
    allow_many_files();
    for (size_t i = 0; i < UNDER_WAY; i++)
        raw_init(&clients[i]);
    for (size_t i = 0; !text[0]; i++) {
        struct raw_client *client = &clients[i % UNDER_WAY];
        struct ot_wire_hello hello;

        if (client->fd >= 0)
            receive_refusal(client, text, sizeof(text));
        if (i >= CONNECTED + UNDER_WAY)
            raw_close(client);
        raw_init(client); /* the first ones stay connected */
        hello = raw_hello(client);
        assert_true(raw_connect(client, daemon->socket));
        raw_send_hello(client, &hello);
    }
    fprintf(stderr, "%s", text);
    return 0;
}

static int hand_over_too_many_rings(void *context)
{
    enum { SESSIONS = OT_WIRE_ALL_RINGS_MAX / OT_WIRE_RINGS_MAX + 1 };
    static struct raw_client clients[SESSIONS];
    const struct optraced *daemon = context;
    char text[200] = "";

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SESSIONS; i++) {
        raw_init(&clients[i]);
        raw_join(&clients[i], daemon->socket);
        raw_lane(&clients[i], 1, "evil");
        for (uint32_t id = 1; id <= OT_WIRE_RINGS_MAX; id++) {
            struct raw_ring ring;
            bool is_sent;

            raw_ring_create(&ring, &clients[i], id, 1, 64);
            is_sent = raw_ring_send(&clients[i], &ring);
            raw_ring_destroy(&ring);
            if (!is_sent)
                break;
        }
    }
    raw_receive_bye(&clients[SESSIONS - 1], text, sizeof(text));
    fprintf(stderr, "%s", text);
    return 0;
}

/* Ids that lie far apart make tables large. */
static int define_too_much(void *context)
{
    enum { SESSIONS = 80 };
    static struct raw_client clients[SESSIONS];
    const struct optraced *daemon = context;
    char text[200] = "";

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SESSIONS && !text[0]; i++) {
        raw_init(&clients[i]);
        raw_join(&clients[i], daemon->socket);
        clients[i].next_string = OT_WIRE_STRINGS_MAX;
        raw_string(&clients[i], "far away");
        if (raw_flush(&clients[i]) < 0)
            snprintf(text, sizeof(text), "all sessions together");
    }
    fprintf(stderr, "%s", text);
    return 0;
}

/* Whether there is room for many sessions again: those of a flood go one after the other, once their
 * ends are stored. */
static bool are_welcome(void *context)
{
    enum { COUNT = 170 };
    static struct raw_client clients[COUNT];
    const struct optraced *daemon = context;
    char text[200] = "";
    size_t count = 0;

    while (count < COUNT && !text[0]) {
        struct raw_client *client = &clients[count++];
        struct ot_wire_hello hello;

        raw_init(client);
        hello = raw_hello(client);
        assert_true(raw_connect(client, daemon->socket));
        raw_send_hello(client, &hello);
        receive_refusal(client, text, sizeof(text));
    }
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count || !text[0])
            raw_bye(&clients[i]);
        raw_close(&clients[i]);
    }
    return text[0] == 0;
}

struct flood {
    int (*run)(void *context);
    const char *answer;
    unsigned log_count; /* about its process; of a session too many none but the client is told */
};

/* Each has a daemon of its own: sessions that another flood left may still be over, and count. */
static void expect_answer(struct scene *scene, const struct flood *flood)
{
    struct child child;
    char line[96];

    child_start_function(&child, flood->run, &scene->daemon);
    snprintf(line, sizeof(line), " pid %d of user %d: ", (int)child.pid, (int)getuid());
    if (child_wait(&child, WAIT_MS) != 0)
        fail_msg("the flood failed: %s", child.err);
    CHECK_CONTAINS(child.err, flood->answer);
    optraced_expect_log(&scene->daemon, line, flood->log_count);
    child_deinit(&child);
    scene_check_memory(scene);
    optraced_wait_for(&scene->daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 1);
    assert_true(wait_until(are_welcome, &scene->daemon, WAIT_MS));
}

static void too_many_connections(void **state)
{
    expect_answer(*state, &(struct flood){connect_too_often, "too many connections", 1});
}

static void too_many_sessions(void **state)
{
    expect_answer(*state, &(struct flood){join_too_often, "too many sessions", 0});
}

static void too_many_rings(void **state)
{
    expect_answer(*state, &(struct flood){hand_over_too_many_rings, "rings of all programs", 1});
}

static void too_many_definitions(void **state)
{
    expect_answer(*state, &(struct flood){define_too_much, "all sessions together", 1});
}

/* --- Another user --- */

static int connect_as_nobody(void *context)
{
    const struct optraced *daemon = context;
    struct ot_wire_hello hello;
    struct raw_client client;
    char byte;

    signal(SIGPIPE, SIG_IGN);
    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 2;
    raw_init(&client);
    if (!raw_connect(&client, daemon->socket))
        return 3;
    hello = raw_hello(&client);
    raw_send_hello(&client, &hello);
    return recv(client.fd, &byte, 1, 0) > 0;
}

static void another_user_is_refused(void **state)
{
    struct scene *scene = *state;
    struct child child;
    char line[96];

    if (geteuid() != 0)
        CHECK_SKIP("only root can become another user");
    child_start_function(&child, connect_as_nobody, &scene->daemon);
    assert_int_equal(child_wait(&child, WAIT_MS), 3); /* the socket's mode alone keeps it out */
    child_deinit(&child);
    assert_int_equal(chmod(scene->daemon.dir, 0711), 0);
    assert_int_equal(chmod(scene->daemon.socket, 0666), 0);
    child_start_function(&child, connect_as_nobody, &scene->daemon);
    snprintf(line, sizeof(line), "refused pid %d of user 65534: user 65534 may not record here",
             (int)child.pid);
    assert_int_equal(child_wait(&child, WAIT_MS), 1); /* and is told why */
    optraced_expect_log(&scene->daemon, line, 1);
    child_deinit(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(silent_connections_are_closed, scene_begin, scene_end),
        cmocka_unit_test_setup_teardown(too_many_connections, scene_begin, scene_end),
        cmocka_unit_test_setup_teardown(too_many_sessions, scene_begin, scene_end),
        cmocka_unit_test_setup_teardown(too_many_rings, scene_begin, scene_end),
        cmocka_unit_test_setup_teardown(too_many_definitions, scene_begin, scene_end),
        cmocka_unit_test_setup_teardown(another_user_is_refused, scene_begin, scene_end),
    };

    signal(SIGPIPE, SIG_IGN);
    return AT_ONCE_RUN(tests, 3);
}
