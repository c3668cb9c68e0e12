/* SPDX-License-Identifier: Apache-2.0 */
/* One process takes all that clients share, and stays: another one is recorded all the same, and
 * the greedy one is told why. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

/* Connects and keeps the socket; a few files more than the limit usually allows. */
static void allow_many_files(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int wait_to_be_killed(void)
{
    fprintf(stderr, "full\n");
    for (;;)
        pause();
    return 0;
}

/* Says HELLO; false when the daemon refuses. */
static bool join(struct raw_client *client, const struct optraced *daemon)
{
    struct ot_wire_welcome_view welcome;
    struct ot_wire_hello hello;
    struct diag diag = {0};
    uint8_t frame[4096];
    size_t length;

    raw_init(client);
    hello = raw_hello(client);
    if (!raw_connect(client, daemon->socket))
        return false;
    raw_send_hello(client, &hello);
    length = raw_receive(client, frame, sizeof(frame));
    client->next_string = 1;
    return length > 0 && ot_wire_decode_welcome(frame, length, &welcome, &diag) == 0 &&
           welcome.fixed.status == OT_WELCOME_OK;
}

/* As many connections as there may be, each with a session of its own. */
static int take_all_connections(void *context)
{
    static struct raw_client clients[OT_WIRE_CONNECTIONS_MAX + 1];

    signal(SIGPIPE, SIG_IGN);
    allow_many_files();
    for (size_t i = 0; i < OT_WIRE_CONNECTIONS_MAX + 1; i++)
        if (!join(&clients[i], context))
            break;
    return wait_to_be_killed();
}

/* Sessions whose connections are gone; the process lives, so they stay for a while. */
static int take_all_sessions(void *context)
{
    struct raw_client client;

    signal(SIGPIPE, SIG_IGN);
    while (join(&client, context))
        raw_close(&client);
    return wait_to_be_killed();
}

/* Ids that lie far apart make tables large; what is left in the end is small. */
static int take_all_definitions(void *context)
{
    enum { SESSIONS = 200 };
    static struct raw_client clients[SESSIONS];
    uint32_t far = OT_WIRE_STRINGS_MAX;

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SESSIONS && far > 1024 && join(&clients[i], context); i++) {
        clients[i].next_string = far;
        raw_string(&clients[i], "far away");
        if (raw_flush(&clients[i]) < 0)
            far /= 2;
    }
    return wait_to_be_killed();
}

/* Another process records a span under an op whose texts need room, too. */
static int record_modestly(void *context)
{
    const struct optraced *daemon = context;
    struct ot_wire_record span;
    struct raw_client client;

    signal(SIGPIPE, SIG_IGN);
    if (!join(&client, daemon))
        return 1;
    client.next_string = OT_WIRE_STRINGS_MAX - 10;
    raw_lane(&client, 1, "modest");
    raw_op(&client, 1, "conv1", "Conv");
    span = raw_span(1, 1, raw_hello(&client).ticks, 5, 1);
    raw_events(&client, &span, 1);
    if (raw_flush(&client) != 0)
        return 2;
    raw_bye(&client);
    raw_close(&client);
    return 0;
}

static void check_status(const struct optraced *daemon, const char *why)
{
    char *program = place_program("client/cli/optrace");
    const char *argv[] = {program, "status", "--socket", daemon->socket, NULL};
    struct child_result result = child_run(argv, NULL);

    if (result.status != 0)
        fail_msg("status %d: %s", result.status, result.err);
    CHECK_CONTAINS(result.out, why);
    child_result_deinit(&result);
    free(program);
}

static void meet(int (*greedy)(void *context), const char *why)
{
    struct child hog, modest;
    struct optraced daemon;

    allow_many_files();
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    child_start_function(&hog, greedy, &daemon);
    if (!child_wait_text(&hog, "full", WAIT_MS))
        fail_msg("the greedy one: %s", hog.err);
    for (int i = 0; i < 3; i++) {
        child_start_function(&modest, record_modestly, &daemon);
        assert_int_equal(child_wait(&modest, WAIT_MS), 0);
        child_deinit(&modest);
    }
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 3);
    check_status(&daemon, why);
    child_kill(&hog, SIGKILL);
    child_deinit(&hog);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void a_crowd_of_connections_makes_way(void **state)
{
    meet(take_all_connections, "all connections were in use");
}

static void sessions_left_alone_make_way(void **state)
{
    meet(take_all_sessions, "there are too many sessions");
}

static void definitions_make_way(void **state)
{
    meet(take_all_definitions, "the memory for definitions was used up");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crowd_of_connections_makes_way),
        cmocka_unit_test(sessions_left_alone_make_way),
        cmocka_unit_test(definitions_make_way),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
