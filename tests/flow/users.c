/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several users and one daemon: who is let in, who sees whom, who commands whom. The test is root
 * and connects under other user ids, which need not exist; elsewhere it is skipped.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/optrace.h"
#include "tests/flow/user_scene.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

enum { USERS = 4, FRAME_MAX = 65536, SESSIONS_MAX = 48, ROUNDS = 400 };

static const uid_t users[USERS] = {50001, 50002, 50003, 0};

static void start_daemon(struct optraced *daemon)
{
    user_scene_start(daemon, NULL);
}

static void end_daemon(struct optraced *daemon)
{
    assert_int_equal(optraced_stop(daemon), 0);
    optraced_deinit(daemon);
}

/* --- Who is let in --- */

static struct ot_wire_welcome_view await_welcome(struct raw_client *client, uint8_t *frame)
{
    struct ot_wire_welcome_view welcome;
    struct diag diag = {0};
    size_t length = raw_receive(client, frame, FRAME_MAX);

    if (ot_wire_decode_welcome(frame, length, &welcome, &diag) < 0)
        fail_msg("no WELCOME: %s", diag.text);
    return welcome;
}

static void the_kernel_says_who_is_a_member(void **state)
{
    static uint8_t frame[FRAME_MAX];
    struct ot_wire_welcome_view welcome;
    struct ot_wire_hello hello;
    struct optraced daemon;
    struct raw_client client;
    char line[128];

    start_daemon(&daemon);
    assert_false(user_scene_connect(&client, &daemon, users[0], false)); /* the socket's mode */
    assert_true(user_scene_connect(&client, &daemon, users[0], true));
    hello = raw_hello(&client);
    raw_send_hello(&client, &hello);
    CHECK_U64(await_welcome(&client, frame).fixed.status, OT_WELCOME_OK);
    raw_close(&client);

    assert_int_equal(chmod(daemon.socket, 0666), 0);
    assert_true(user_scene_connect(&client, &daemon, users[1], false));
    welcome = await_welcome(&client, frame);
    CHECK_U64(welcome.fixed.status, OT_WELCOME_DENIED);
    snprintf(line, sizeof(line), "user %d may not record here: ask for membership of group %s",
             (int)users[1], USER_SCENE_GROUP);
    CHECK_U64(welcome.text.length, strlen(line));
    assert_memory_equal(welcome.text.bytes, line, strlen(line));
    CHECK_U64(raw_receive(&client, frame, sizeof(frame)), 0);
    raw_close(&client);
    snprintf(line, sizeof(line), "refused pid %d of user %d: ", (int)getpid(), (int)users[1]);
    optraced_expect_log(&daemon, line, 1);
    end_daemon(&daemon);
}

/* With more groups than fit into the first buffer. */
static void members_of_many_groups_are_members(void **state)
{
    static uint8_t frame[FRAME_MAX];
    struct optraced daemon;
    struct raw_client client;
    struct ot_wire_hello hello;
    gid_t groups[300];

    start_daemon(&daemon);
    for (size_t i = 0; i < 299; i++)
        groups[i] = 60000 + (gid_t)i;
    groups[299] = user_scene_group;
    raw_init(&client);
    user_scene_become(50001, 50001, groups, 300);
    assert_true(raw_connect(&client, daemon.socket));
    user_scene_be_root();
    hello = raw_hello(&client);
    raw_send_hello(&client, &hello);
    CHECK_U64(await_welcome(&client, frame).fixed.status, OT_WELCOME_OK);
    raw_close(&client);
    end_daemon(&daemon);
}

static int start_as_stranger(void *context)
{
    const struct optraced *daemon = context;
    const struct optrace_config config = {.socket_path = daemon->socket};
    char text[400];
    int rc;

    if (setgid(50009) < 0 || setgroups(0, NULL) < 0 || setuid(50009) < 0)
        return 2;
    rc = optrace_start(&config);
    optrace_status(text, sizeof(text));
    fprintf(stderr, "%d: %s\n", rc, text);
    return 0;
}

static void strangers_are_told_why(void **state)
{
    struct optraced daemon;
    struct child child;

    start_daemon(&daemon);
    child_start_function(&child, start_as_stranger, &daemon);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    CHECK_CONTAINS(child.err, "-13: not recording: user 50009 may not record at ");
    child_deinit(&child);
    USER_SCENE_EXPECT(50009, 50009, 4, "ask for membership of group users", "status", "--socket",
                      daemon.socket);
    assert_int_equal(chmod(daemon.socket, 0666), 0);
    child_start_function(&child, start_as_stranger, &daemon);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    CHECK_CONTAINS(child.err, "-13: not recording: user 50009 may not record here: ask for "
                              "membership of group users");
    child_deinit(&child);
    USER_SCENE_EXPECT(50009, 50009, 4,
                      "user 50009 may not record here: ask for membership of group users", "status",
                      "--socket", daemon.socket);
    USER_SCENE_EXPECT(50009, 50009, 4, "user 50009 may not record here", "stop", "--socket",
                      daemon.socket);
    end_daemon(&daemon);
}

/* --- Who sees and commands whom --- */

/* A connected session of a user, whose texts name it. */
struct owned {
    struct raw_client client;
    uid_t uid;
    uint64_t session_id;
    uint64_t command_id; /* of its plan, as root is told */
    uint32_t level;      /* of WELCOME */
};

static struct owned sessions[SESSIONS_MAX];
static size_t session_count;

static void join_as(const struct optraced *daemon, uid_t uid)
{
    static uint8_t frame[FRAME_MAX];
    struct owned *own = &sessions[session_count];
    char program[64], command[64];
    struct ot_wire_hello_texts texts = {{0}};
    struct ot_wire_welcome_view welcome;
    struct ot_wire_hello hello;
    int length;

    snprintf(program, sizeof(program), "of-%d-%zu.", (int)uid, session_count % 3);
    snprintf(command, sizeof(command), "line of-%d-%zu.", (int)uid, session_count);
    texts.program = (struct ot_text){program, strlen(program)};
    texts.command = (struct ot_text){command, strlen(command)};
    assert_true(user_scene_connect(&own->client, daemon, uid, true));
    hello = raw_hello(&own->client);
    hello.features |= OT_FEATURE_CONTROL | OT_FEATURE_SCHEDULE;
    length = ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame));
    assert_true(raw_send(&own->client, frame, (size_t)length));
    welcome = await_welcome(&own->client, frame);
    CHECK_U64(welcome.fixed.status, OT_WELCOME_OK);
    own->uid = uid;
    own->session_id = welcome.fixed.session_id;
    own->level = welcome.fixed.level;
    own->command_id = 0;
    session_count++;
}

static void visit_as(struct raw_client *client, const struct optraced *daemon, uid_t uid,
                     uint16_t minor)
{
    static uint8_t frame[FRAME_MAX];
    const struct ot_wire_visit visit = {.header = {sizeof(visit), OT_FRAME_VISIT, 0},
                                        .magic = OT_WIRE_MAGIC,
                                        .version_major = OT_WIRE_VERSION_MAJOR,
                                        .version_minor = minor,
                                        .features = OT_FEATURE_VISIT | OT_FEATURE_SCHEDULE};

    assert_true(user_scene_connect(client, daemon, uid, true));
    assert_true(raw_send(client, &visit, sizeof(visit)));
    CHECK_U64(await_welcome(client, frame).fixed.status, OT_WELCOME_OK);
}

static bool may_see(uid_t peer, uid_t owner)
{
    return peer == 0 || peer == owner;
}

/* No text, number or plan of a session that the user may not see. */
static void check_frame(uid_t uid, const uint8_t *frame, size_t length)
{
    for (size_t i = 0; i < USERS; i++) {
        char text[32];

        snprintf(text, sizeof(text), "of-%d-", (int)users[i]);
        if (!may_see(uid, users[i]) && memmem(frame, length, text, strlen(text)))
            fail_msg("user %d is told of user %d", (int)uid, (int)users[i]);
    }
}

static struct owned *find_session(uint64_t session_id)
{
    for (size_t i = 0; i < session_count; i++)
        if (sessions[i].session_id == session_id)
            return &sessions[i];
    fail_msg("no session %llu", (unsigned long long)session_id);
    return NULL;
}

/* What ASK is answered: all pages. Root's answer is kept in the sessions. Returns their number. */
static size_t ask_all(struct raw_client *client, uid_t uid, struct ot_wire_status *out_status)
{
    static uint8_t frame[FRAME_MAX];
    struct ot_wire_ask ask = {.header = {sizeof(ask), OT_FRAME_ASK, 0}};
    size_t seen = 0;

    do {
        struct ot_wire_answer_view answer;

        assert_true(raw_send(client, &ask, sizeof(ask)));
        for (;;) {
            const size_t length = raw_receive(client, frame, sizeof(frame));
            struct ot_wire_session_view session;
            struct ot_wire_header header;

            assert_true(length > 0);
            check_frame(uid, frame, length);
            memcpy(&header, frame, sizeof(header));
            if (header.type == OT_FRAME_STATUS)
                memcpy(out_status, frame, sizeof(*out_status));
            if (ot_wire_decode_session(frame, length, &session, NULL) == 0) {
                struct owned *own = find_session(session.fixed.session_id);

                assert_true(may_see(uid, own->uid));
                CHECK_U64(session.fixed.uid, own->uid);
                if (uid == 0)
                    own->command_id = session.fixed.plan.command_id;
                seen++;
            }
            if (header.type == OT_FRAME_ANSWER) {
                CHECK_OK(ot_wire_decode_answer(frame, length, &answer, NULL));
                break;
            }
        }
        ask.first_session = answer.fixed.next_session;
    } while (ask.first_session);
    return seen;
}

static struct ot_wire_answer command(struct raw_client *client, uid_t uid, uint32_t level,
                                     const struct ot_wire_select *selects, const char *const *names,
                                     size_t count)
{
    static uint8_t frame[FRAME_MAX];
    const struct ot_wire_plan plan = {.level = level};
    const struct ot_wire_schedule schedule = ot_wire_schedule(&plan);
    struct ot_wire_answer_view answer;
    size_t length;

    for (size_t i = 0; i < count; i++) {
        const struct ot_text name = {names[i], names[i] ? strlen(names[i]) : 0};
        const int bytes = ot_wire_encode_select(&selects[i], name, frame, sizeof(frame));

        assert_true(bytes > 0);
        assert_true(raw_send(client, frame, (size_t)bytes));
    }
    assert_true(raw_send(client, &schedule, sizeof(schedule)));
    length = raw_receive(client, frame, sizeof(frame));
    check_frame(uid, frame, length);
    CHECK_OK(ot_wire_decode_answer(frame, length, &answer, NULL));
    for (uint32_t i = 0; i < answer.fixed.taken_count + answer.fixed.unable_count; i++)
        assert_true(may_see(uid, find_session(ot_wire_answer_id(&answer, i))->uid));
    return answer.fixed;
}

static void owners_see_and_command_their_own(void **state)
{
    const struct ot_wire_select other = {.kind = OT_SELECT_SESSION, .number = 2};
    struct ot_wire_select named = {.kind = OT_SELECT_PROGRAM};
    const char *const none[] = {NULL}, *const name[] = {"of-50002-1."};
    struct ot_wire_status status;
    struct raw_client one, old, root;
    struct optraced daemon;
    char number[24];

    session_count = 0;
    start_daemon(&daemon);
    join_as(&daemon, users[0]);
    join_as(&daemon, users[1]);
    join_as(&daemon, 0);
    visit_as(&one, &daemon, users[0], OT_WIRE_VERSION_MINOR);
    visit_as(&old, &daemon, users[0], 1);
    visit_as(&root, &daemon, 0, OT_WIRE_VERSION_MINOR);
    CHECK_U64(ask_all(&one, users[0], &status), 1);
    CHECK_U64(status.session_count, 1);
    CHECK_U64(status.hidden_count, 2);
    CHECK_U64(ask_all(&root, 0, &status), 3);
    CHECK_U64(status.hidden_count, 0);
    CHECK_U64(command(&one, users[0], 0, &other, none, 1).status, OT_ANSWER_DENIED);
    CHECK_U64(command(&one, users[0], 0, &named, name, 1).status, OT_ANSWER_DENIED);
    CHECK_U64(command(&old, users[0], 0, &other, none, 1).status, OT_ANSWER_NOBODY);
    CHECK_U64(command(&one, users[0], 0, NULL, NULL, 0).taken_count, 1);
    join_as(&daemon, users[0]);
    join_as(&daemon, users[1]);
    CHECK_U64(sessions[3].level, OT_LEVEL_OFF);
    CHECK_U64(sessions[4].level, OT_LEVEL_ON);
    /* Root's holds for all of them, and a later one of a user for that user again. */
    CHECK_U64(command(&root, 0, OT_LEVEL_DETAIL, NULL, NULL, 0).taken_count, 5);
    join_as(&daemon, users[0]);
    CHECK_U64(sessions[5].level, OT_LEVEL_DETAIL);
    CHECK_U64(command(&one, users[0], OT_LEVEL_OFF, NULL, NULL, 0).taken_count, 3);
    join_as(&daemon, users[0]);
    join_as(&daemon, users[1]);
    CHECK_U64(sessions[6].level, OT_LEVEL_OFF);
    CHECK_U64(sessions[7].level, OT_LEVEL_DETAIL);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)sessions[1].session_id);
    USER_SCENE_EXPECT(users[0], user_scene_group, 4, "a program of another user", "stop",
                      "--session", number, "--socket", daemon.socket);
    USER_SCENE_EXPECT(users[0], user_scene_group, 0, "4 sessions of other users are not shown.\n",
                      "status", "--socket", daemon.socket);
    USER_SCENE_EXPECT(users[2], user_scene_group, 0,
                      "No program of yours is connected.\n8 sessions of other users", "status",
                      "--socket", daemon.socket);
    USER_SCENE_EXPECT(users[2], user_scene_group, 1, "none of yours is connected", "stop",
                      "--session", "99", "--socket", daemon.socket);
    raw_close(&one);
    raw_close(&old);
    raw_close(&root);
    for (size_t i = 0; i < session_count; i++)
        raw_close(&sessions[i].client);
    end_daemon(&daemon);
}

/* --- Random --- */

static uint64_t random_state = DRAW_SEED;

static unsigned pick(size_t count)
{
    return (unsigned)(draw_u64(&random_state) % count);
}

/* A command of a user that chooses at random: nobody else's session gets another plan. */
static void command_at_random(struct raw_client *client, struct raw_client *root, uid_t uid)
{
    struct ot_wire_select selects[3];
    struct ot_wire_status ignored;
    uint64_t before[SESSIONS_MAX];
    const char *names[3];
    char texts[3][64];
    size_t count = pick(4);

    for (size_t i = 0; i < count; i++) {
        const struct owned *any = &sessions[pick(session_count)];

        selects[i] = (struct ot_wire_select){.kind = OT_SELECT_PID + pick(3)};
        names[i] = NULL;
        if (selects[i].kind == OT_SELECT_PROGRAM) {
            snprintf(texts[i], sizeof(texts[i]), "of-%d-%u.", (int)any->uid, pick(3));
            names[i] = texts[i];
        } else {
            selects[i].number =
                selects[i].kind == OT_SELECT_SESSION ? any->session_id : (uint64_t)getpid();
        }
    }
    ask_all(root, 0, &ignored);
    for (size_t i = 0; i < session_count; i++)
        before[i] = sessions[i].command_id;
    command(client, uid, pick(3), selects, names, count);
    ask_all(root, 0, &ignored);
    for (size_t i = 0; i < session_count; i++)
        if (!may_see(uid, sessions[i].uid) && sessions[i].command_id != before[i])
            fail_msg("user %d commands user %d", (int)uid, (int)sessions[i].uid);
}

/* Refusals hold reasons, and those who were refused. */
static void be_cut_off(const struct optraced *daemon, uid_t uid)
{
    struct raw_client client;
    char text[256];

    assert_true(user_scene_connect(&client, daemon, uid, true));
    assert_true(raw_send(&client, "nonsense", 8));
    raw_receive_bye(&client, text, sizeof(text));
    raw_close(&client);
}

static void nobody_is_told_of_others(void **state)
{
    struct raw_client visitors[USERS], root;
    struct ot_wire_status status = {0};
    struct optraced daemon;

    session_count = 0;
    start_daemon(&daemon);
    visit_as(&root, &daemon, 0, OT_WIRE_VERSION_MINOR);
    for (size_t i = 0; i < USERS; i++) {
        visit_as(&visitors[i], &daemon, users[i], OT_WIRE_VERSION_MINOR);
        join_as(&daemon, users[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned who = pick(USERS);
        size_t own = 0;

        if (pick(8) == 0 && session_count < SESSIONS_MAX)
            join_as(&daemon, users[pick(USERS)]);
        if (pick(16) == 0)
            be_cut_off(&daemon, users[pick(USERS)]);
        if (pick(2))
            command_at_random(&visitors[who], &root, users[who]);
        for (size_t i = 0; i < session_count; i++)
            own += may_see(users[who], sessions[i].uid);
        CHECK_U64(ask_all(&visitors[who], users[who], &status), own);
        CHECK_U64(status.session_count + status.hidden_count, session_count);
    }
    raw_close(&root);
    for (size_t i = 0; i < USERS; i++)
        raw_close(&visitors[i]);
    for (size_t i = 0; i < session_count; i++)
        raw_close(&sessions[i].client);
    end_daemon(&daemon);
}

int main(void)
{
    const char *why = user_scene_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_says_who_is_a_member),
        cmocka_unit_test(members_of_many_groups_are_members),
        cmocka_unit_test(strangers_are_told_why),
        cmocka_unit_test(owners_see_and_command_their_own),
        cmocka_unit_test(nobody_is_told_of_others),
    };

    if (why)
        return CHECK_SKIP_ALL(why);
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
