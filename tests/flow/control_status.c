/* SPDX-License-Identifier: Apache-2.0 */
/* optrace status: the daemon, a row per client, and who was refused; what it says without one. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/clock.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

static struct child_result run_status(const struct optraced *daemon, const char *option)
{
    char *program = place_program("client/cli/optrace");
    const char *argv[] = {program, "status", "--socket", daemon->socket, option, NULL};
    struct child_result result = child_run(argv, NULL);

    free(program);
    return result;
}

/* The answer as JSON; fails the test unless the command does well. */
static cJSON *ask(const struct optraced *daemon)
{
    struct child_result result = run_status(daemon, "--json");
    cJSON *json;

    if (result.status != 0)
        fail_msg("status %d: %s", result.status, result.err);
    json = cJSON_Parse(result.out);
    if (!json)
        fail_msg("no JSON: %s", result.out);
    child_result_deinit(&result);
    return json;
}

static uint64_t number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    if (!cJSON_IsNumber(item))
        fail_msg("no number %s", name);
    return (uint64_t)item->valuedouble;
}

static const char *text(const cJSON *object, const char *name)
{
    const char *found = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

    if (!found)
        fail_msg("no text %s", name);
    return found;
}

/* Two clients: the first with five spans, one of them bad, and one open. */
static void join_two(struct raw_client *first, struct raw_ring *ring, struct raw_client *second,
                     const struct optraced *daemon)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_wire_record spans[5];

    for (size_t i = 0; i < 5; i++)
        spans[i] = raw_span(i == 4 ? 77 : 1, 1, now_ns, 5, i);
    raw_init(first);
    raw_join(first, daemon->socket);
    raw_define(first);
    assert_true(raw_events(first, spans, 5));
    raw_ring_create(ring, first, 1, 1, 64);
    raw_ring_open(ring, &spans[0]);
    assert_true(raw_ring_send(first, ring));
    CHECK_OK(raw_flush(first));
    raw_init(second);
    raw_join(second, daemon->socket);
}

static void rows_are_there_and_right(void **state)
{
    struct raw_client first, second;
    struct optraced daemon;
    struct raw_ring ring;
    const cJSON *sessions, *row, *told;
    cJSON *json;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "detail", NULL});
    join_two(&first, &ring, &second, &daemon);
    json = ask(&daemon);
    CHECK_U64(number(json, "format_version"), 1);
    told = cJSON_GetObjectItem(json, "daemon");
    CHECK_U64(number(told, "pid"), (uint64_t)daemon.child.pid);
    CHECK_U64(number(told, "uid"), getuid());
    assert_string_equal(text(told, "store"), daemon.store);
    assert_string_equal(text(told, "level"), "detail");
    assert_string_equal(text(told, "version"), OPTRACE_VERSION);
    assert_true(number(told, "store_bytes") > 4096);
    sessions = cJSON_GetObjectItem(json, "sessions");
    CHECK_U64((uint64_t)cJSON_GetArraySize(sessions), 2);
    row = cJSON_GetArrayItem(sessions, 0);
    CHECK_U64(number(row, "session"), 1);
    CHECK_U64(number(row, "pid"), (uint64_t)getpid());
    CHECK_U64(number(row, "uid"), getuid());
    CHECK_U64(number(row, "events"), 4);
    CHECK_U64(number(row, "lost"), 1);
    CHECK_U64(number(row, "unfinished"), 1);
    assert_string_equal(text(row, "program"), "raw");
    assert_string_equal(text(row, "command"), "raw test");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(row, "connected")));
    CHECK_U64(number(cJSON_GetArrayItem(sessions, 1), "events"), 0);
    CHECK_U64((uint64_t)cJSON_GetArraySize(cJSON_GetObjectItem(json, "refusals")), 0);
    cJSON_Delete(json);
    raw_ring_destroy(&ring);
    raw_close(&first);
    raw_close(&second);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* How many frames of a type the answer to ASK has for a controller of this minor version. */
static unsigned count_frames(const struct optraced *daemon, uint16_t minor, uint16_t type)
{
    const struct ot_wire_visit visit = {.header = ot_wire_header(OT_FRAME_VISIT, sizeof(visit)),
                                        .magic = OT_WIRE_MAGIC,
                                        .version_major = OT_WIRE_VERSION_MAJOR,
                                        .version_minor = minor,
                                        .features = OT_FEATURE_VISIT};
    const struct ot_wire_ask ask_all = {.header = ot_wire_header(OT_FRAME_ASK, sizeof(ask_all))};
    struct raw_client controller;
    unsigned found = 0;
    uint8_t frame[8192];

    raw_init(&controller);
    assert_true(raw_connect(&controller, daemon->socket));
    raw_send(&controller, &visit, sizeof(visit));
    raw_send(&controller, &ask_all, sizeof(ask_all));
    for (;;) {
        size_t length = raw_receive(&controller, frame, sizeof(frame));
        struct ot_wire_header header;

        assert_true(length > 0);
        memcpy(&header, frame, sizeof(header));
        if (header.type == OT_FRAME_ANSWER)
            break;
        found += header.type == type;
    }
    raw_close(&controller);
    return found;
}

/* Three runs of 3, 5 and 3 ms, the second one warm-up, in frames. */
static void send_runs(struct raw_client *client)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_wire_record runs[3];

    for (uint64_t i = 0; i < 3; i++) {
        runs[i] = raw_span(0, 1, now_ns - 10000000 + i, (3 + 2 * (i % 2)) * 1000000, 0);
        runs[i].kind = OT_RECORD_RUN;
        runs[i].run = i + 1;
        runs[i].flags |= i == 1 ? OT_RECORD_WARMUP : 0;
    }
    assert_true(raw_events(client, runs, 3));
    CHECK_OK(raw_flush(client));
}

/* Only what a controller understands is sent to it; the figures are those of the session. */
static void paces_are_told_to_those_who_know_them(void **state)
{
    const cJSON *told, *row;
    struct raw_client client;
    struct optraced daemon;
    cJSON *json;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--store-budget", "64MiB", NULL});
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    send_runs(&client);
    CHECK_U64(count_frames(&daemon, 2, OT_FRAME_USAGE), 0);
    CHECK_U64(count_frames(&daemon, 2, OT_FRAME_PACE), 0);
    CHECK_U64(count_frames(&daemon, 3, OT_FRAME_USAGE), 1);
    CHECK_U64(count_frames(&daemon, 3, OT_FRAME_PACE), 1);
    json = ask(&daemon);
    told = cJSON_GetObjectItem(json, "daemon");
    CHECK_U64(number(told, "store_budget_bytes"), 64 << 20);
    assert_in_range(number(told, "store_room_bytes"), 1 << 20, 64 << 20);
    assert_true(number(told, "cpu_window_ns") > 0);
    row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "sessions"), 0);
    CHECK_U64(number(row, "window_events"), 3);
    CHECK_U64(number(row, "window_runs"), 3);
    CHECK_U64(number(row, "run_p50_ns"), 3000000);
    CHECK_U64(number(row, "run_p50_of"), 2);
    assert_true(number(row, "window_ns") > 0);
    cJSON_Delete(json);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void names_steer_no_terminal(void **state)
{
    struct raw_client client;
    struct optraced daemon;
    struct child_result result;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    client.program = "\x1b]0;x\x07red\u202e\xc2\x9b"
                     "1m";
    raw_join(&client, daemon.socket);
    result = run_status(&daemon, NULL);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "?]0;x?red\\u202e\\u009b1m"); /* the first ones by the daemon */
    assert_null(strchr(result.out, '\x1b'));
    child_result_deinit(&result);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The daemon is stopped for a while: it says so, to those who know the frame. */
static void pauses_are_told(void **state)
{
    struct child_result result;
    struct optraced daemon;
    uint64_t start_ns, stopped_ns;
    cJSON *json;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    kill(daemon.child.pid, SIGSTOP);
    start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    usleep(1200000); /* more than the period in which it looks, by as much as is asked for below */
    stopped_ns = ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    kill(daemon.child.pid, SIGCONT);
    json = ask(&daemon);
    assert_true(number(cJSON_GetObjectItem(json, "daemon"), "longest_pause_ns") >=
                stopped_ns - 1000000000);
    cJSON_Delete(json);
    result = run_status(&daemon, "--long");
    CHECK_CONTAINS(result.out, "longest pause of its loop: ");
    child_result_deinit(&result);
    CHECK_U64(count_frames(&daemon, 2, OT_FRAME_HEALTH), 1);
    CHECK_U64(count_frames(&daemon, 1, OT_FRAME_HEALTH), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void refusals_say_why(void **state)
{
    struct raw_client good, again, evil;
    struct ot_wire_hello hello;
    struct child_result result;
    struct optraced daemon;
    const cJSON *refusals, *row;
    char bye[256];
    cJSON *json;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&evil);
    assert_true(raw_connect(&evil, daemon.socket));
    raw_send(&evil, "nonsense", 8);
    raw_receive_bye(&evil, bye, sizeof(bye));
    raw_init(&good);
    raw_join(&good, daemon.socket);
    again = good; /* the same session a second time */
    again.fd = -1;
    assert_true(raw_connect(&again, daemon.socket));
    hello = raw_hello(&again);
    raw_send_hello(&again, &hello);
    assert_true(raw_receive(&again, bye, sizeof(bye)) > 0);

    json = ask(&daemon);
    refusals = cJSON_GetObjectItem(json, "refusals");
    CHECK_U64((uint64_t)cJSON_GetArraySize(refusals), 2);
    row = cJSON_GetArrayItem(refusals, 0); /* the newest first */
    assert_string_equal(text(row, "reason"),
                        "this session is connected already, or is just ending");
    CHECK_U64(number(row, "pid"), (uint64_t)getpid());
    row = cJSON_GetArrayItem(refusals, 1);
    CHECK_CONTAINS(text(row, "reason"), "cut off: frame of type");
    assert_true(number(row, "time_ns") > UINT64_C(1600000000000000000));
    cJSON_Delete(json);

    result = run_status(&daemon, "--long");
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "this session is connected already");
    CHECK_CONTAINS(result.out, "raw test");
    child_result_deinit(&result);
    result = run_status(&daemon, NULL);
    CHECK_CONTAINS(result.out, "this session is connected already");
    child_result_deinit(&result);
    raw_close(&good);
    raw_close(&again);
    raw_close(&evil);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* More than one page. */
static void many_clients_are_all_listed(void **state)
{
    enum { COUNT = 2 * OT_WIRE_PAGE_SESSIONS + 3 };
    struct raw_client clients[COUNT];
    struct optraced daemon;
    const cJSON *sessions;
    cJSON *json;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        raw_init(&clients[i]);
        raw_join(&clients[i], daemon.socket);
    }
    json = ask(&daemon);
    sessions = cJSON_GetObjectItem(json, "sessions");
    CHECK_U64((uint64_t)cJSON_GetArraySize(sessions), COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK_U64(number(cJSON_GetArrayItem(sessions, i), "session"), (uint64_t)i + 1);
    cJSON_Delete(json);
    for (size_t i = 0; i < COUNT; i++)
        raw_close(&clients[i]);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void without_daemon_it_says_so(void **state)
{
    struct child_result result;
    struct optraced daemon;

    optraced_init(&daemon);
    result = run_status(&daemon, NULL);
    assert_int_equal(result.status, 3);
    assert_string_equal(result.out, "");
    CHECK_CONTAINS(result.err, "optrace status: no daemon listens on ");
    child_result_deinit(&result);
    result = run_status(&daemon, "--jsno");
    assert_int_equal(result.status, 2);
    CHECK_CONTAINS(result.err, "did you mean '--json'?\nTry 'optrace status --help'.");
    child_result_deinit(&result);
    optraced_deinit(&daemon);
}

/* Something else listens there. */
struct impostor {
    const struct optraced *place; /* where; it does not run */
    const void *answer;           /* to whatever comes */
    size_t bytes;
};

static int impersonate(void *context)
{
    const struct impostor *impostor = context;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), peer;
    char buffer[256];

    strncpy(address.sun_path, impostor->place->socket, sizeof(address.sun_path) - 1);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 4) < 0)
        return 1;
    puts("listening");
    fflush(stdout);
    peer = accept(listener, NULL, NULL);
    if (peer < 0 || read(peer, buffer, sizeof(buffer)) < 0)
        return 1;
    if (impostor->bytes > 0 && write(peer, impostor->answer, impostor->bytes) < 0)
        return 1;
    while (impostor->bytes == 0 && read(peer, buffer, sizeof(buffer)) > 0)
        ; /* mute, until the other gives up */
    close(peer);
    return 0;
}

static void check_impostor(const void *answer, size_t bytes, const char *text)
{
    struct optraced place;
    struct impostor impostor = {&place, answer, bytes};
    struct child_result result;
    struct child child;

    optraced_init(&place);
    child_start_function(&child, impersonate, &impostor);
    assert_true(child_wait_text(&child, "listening", WAIT_MS));
    result = run_status(&place, NULL);
    assert_int_equal(result.status, 4);
    assert_string_equal(result.out, "");
    CHECK_CONTAINS(result.err, text);
    child_result_deinit(&result);
    child_kill(&child, SIGKILL);
    child_deinit(&child);
    optraced_deinit(&place);
}

static void other_listeners_are_told_apart(void **state)
{
    static const char words[] = "the first frame is unknown, not HELLO";
    const struct ot_wire_welcome welcome = {.version_major = OT_WIRE_VERSION_MAJOR};
    uint8_t frame[256];
    int length = ot_wire_encode_bye(OT_BYE_PROTOCOL, (struct ot_text){words, sizeof(words) - 1},
                                    frame, sizeof(frame));

    check_impostor(frame, (size_t)length, "of a version that cannot be asked; restart it");
    check_impostor("HTTP/1.1 400 Bad Request\r\n\r\n", 28, "is no optrace daemon");
    check_impostor(NULL, 0, "did not answer within 10 s");
    length = ot_wire_encode_welcome(&welcome, (struct ot_text){0}, frame, sizeof(frame));
    frame[8] = OT_WIRE_VERSION_MAJOR + 1;
    check_impostor(frame, (size_t)length, "the daemon speaks version 2 of the protocol, not 1");
}

/* A visit leaves no trace: no session, and --once does not wait for it. */
static void a_visit_is_no_session(void **state)
{
    struct raw_client client;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--once", NULL});
    raw_init(&client);
    raw_join(&client, daemon.socket);
    CHECK_OK(raw_flush(&client));
    cJSON_Delete(ask(&daemon));
    raw_bye(&client);
    raw_close(&client);
    assert_int_equal(child_wait(&daemon.child, WAIT_MS), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session"), 1);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_listeners_are_told_apart),
        cmocka_unit_test(rows_are_there_and_right),
        cmocka_unit_test(paces_are_told_to_those_who_know_them),
        cmocka_unit_test(names_steer_no_terminal),
        cmocka_unit_test(pauses_are_told),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(many_clients_are_all_listed),
        cmocka_unit_test(without_daemon_it_says_so),
        cmocka_unit_test(a_visit_is_no_session),
    };

    signal(SIGPIPE, SIG_IGN);
    return AT_ONCE_RUN(tests, 4);
}
