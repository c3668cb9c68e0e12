/* SPDX-License-Identifier: Apache-2.0 */
/* optrace save: whose sessions come out of the store, into which file, and what it may cost. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/flow/user_scene.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

enum { USERS = 3, FRAME_MAX = 65536, ROUNDS = 12 };

static const uid_t users[USERS] = {50001, 50002, 50003};
static const char *cannot_be_others; /* why; NULL: it can */

/* What a frame says after the connection did what was asked. */
static size_t expect_frame(struct raw_client *client, uint8_t *frame)
{
    const size_t length = raw_receive(client, frame, FRAME_MAX);

    assert_true(length > 0);
    return length;
}

/* A session of a user with `count` spans, whose every text names it. Returns its number. */
static uint64_t record(const struct optraced *daemon, uid_t uid, unsigned number, unsigned count)
{
    static uint8_t frame[FRAME_MAX];
    char program[64], lane[64], op[64], command[64];
    struct ot_wire_hello_texts texts = {{0}};
    struct ot_wire_welcome_view welcome;
    struct ot_wire_record spans[64];
    struct ot_wire_hello hello;
    struct raw_client client;

    snprintf(program, sizeof(program), "of-%d-%u.", (int)uid, number);
    snprintf(command, sizeof(command), "line of-%d-%u.", (int)uid, number);
    snprintf(lane, sizeof(lane), "lane of-%d-%u.", (int)uid, number);
    snprintf(op, sizeof(op), "op of-%d-%u.", (int)uid, number);
    texts.program = (struct ot_text){program, strlen(program)};
    texts.command = (struct ot_text){command, strlen(command)};
    if (uid == geteuid()) {
        raw_init(&client);
        assert_true(raw_connect(&client, daemon->socket));
    } else {
        assert_true(user_scene_connect(&client, daemon, uid, true));
    }
    hello = raw_hello(&client);
    assert_true(raw_send(&client, frame,
                         (size_t)ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame))));
    CHECK_OK(ot_wire_decode_welcome(frame, expect_frame(&client, frame), &welcome, NULL));
    client.next_string = 1;
    raw_lane(&client, 1, lane);
    raw_op(&client, 1, op, "Conv");
    while (count > 0) {
        const unsigned part = count < 64 ? count : 64;

        for (unsigned i = 0; i < part; i++)
            spans[i] = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, i);
        assert_true(raw_events(&client, spans, part));
        count -= part;
    }
    CHECK_OK(raw_flush(&client));
    assert_true(raw_bye(&client));
    raw_close(&client);
    return welcome.fixed.session_id;
}

static char *path_in(const struct optraced *daemon, const char *name)
{
    char *path = NULL;

    assert_true(asprintf(&path, "%s/%s", daemon->dir, name) > 0);
    return path;
}

static struct child_result run(const char *name, const char *const *words)
{
    char *program = place_program(name);
    const char *argv[16] = {program};
    struct child_result result;

    for (size_t i = 0; words[i]; i++)
        argv[1 + i] = words[i];
    result = child_run(argv, NULL);
    free(program);
    return result;
}

static void expect(const char *name, const char *const *words, int status, const char *text)
{
    struct child_result result = run(name, words);

    if (result.status != status || (!strstr(result.out, text) && !strstr(result.err, text)))
        fail_msg("status %d, not %d, with \"%s\": %s%s", result.status, status, text, result.out,
                 result.err);
    child_result_deinit(&result);
}

#define SAVE(daemon, status, text, ...)                                                            \
    expect("client/cli/optrace",                                                                   \
           (const char *const[]){"save", "--socket", (daemon)->socket, __VA_ARGS__, NULL}, status, \
           text)

static int64_t query(const char *path, const char *sql)
{
    const struct optraced place = {.store = (char *)path};

    return optraced_query(&place, sql);
}

static bool file_holds(const char *path, const char *text)
{
    char *bytes;
    size_t size, read_bytes;
    FILE *file = fopen(path, "rb");
    bool holds;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(size + 1);
    read_bytes = fread(bytes, 1, size, file);
    fclose(file);
    holds = memmem(bytes, read_bytes, text, strlen(text));
    free(bytes);
    return holds;
}

static void a_copy_is_a_store(void **state)
{
    struct optraced daemon;
    struct stat info;
    char *path, number[24];

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    record(&daemon, geteuid(), 1, 200);
    snprintf(number, sizeof(number), "%llu",
             (unsigned long long)record(&daemon, geteuid(), 2, 100));
    path = path_in(&daemon, "mine.db");
    SAVE(&daemon, 0, "2 sessions in ", "-o", path);
    assert_int_equal(stat(path, &info), 0);
    CHECK_U64(info.st_mode & 07777, 0600);
    CHECK_U64(query(path, "SELECT count(*) FROM event"), 300);
    CHECK_U64(query(path, "SELECT sum(event_count) FROM op_stat"), 300);
    expect("analyze/profile_analyze", (const char *const[]){path, "--list", NULL}, 0, "of-");
    SAVE(&daemon, 4, "is there already; --force replaces it", "-o", path);
    SAVE(&daemon, 0, "1 session in ", "-o", path, "--force", "--session", number);
    CHECK_U64(query(path, "SELECT count(*) FROM event"), 100);
    expect("analyze/profile_analyze", (const char *const[]){path, NULL}, 0, "Conv");
    SAVE(&daemon, 0, "2 sessions in ", "-o", path, "-f", "--last", "1h");
    SAVE(&daemon, 1, "no session matches", "-o", path, "-f", "--program", "nobody");
    CHECK_U64(query(path, "SELECT count(*) FROM session"), 2); /* it is as it was */
    SAVE(&daemon, 2, "--output FILE is missing", "--force");
    SAVE(&daemon, 2, "--last takes a time", "-o", path, "--last", "3");
    SAVE(&daemon, 4, "cannot make ", "-o", "/proc/none/x.db");
    free(path);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* --- What it costs --- */

static void visit(struct raw_client *client)
{
    static uint8_t frame[FRAME_MAX];
    const struct ot_wire_visit visit = {.header = {sizeof(visit), OT_FRAME_VISIT, 0},
                                        .magic = OT_WIRE_MAGIC,
                                        .version_major = OT_WIRE_VERSION_MAJOR,
                                        .version_minor = OT_WIRE_VERSION_MINOR,
                                        .features = OT_FEATURE_VISIT};

    assert_true(raw_send(client, &visit, sizeof(visit)));
    expect_frame(client, frame);
}

static bool ask_save(struct raw_client *client)
{
    const struct ot_wire_save save = {.header = {sizeof(save), OT_FRAME_SAVE, 0}};

    return raw_send(client, &save, sizeof(save));
}

/* The last SAVED, with its descriptor or -1. */
static struct ot_wire_saved await_saved(struct raw_client *client, int *out_fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct ot_wire_saved saved;
    uint8_t frame[2048];
    struct iovec part = {frame, sizeof(frame)};

    do {
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof(control.bytes)};
        const struct cmsghdr *head;

        assert_true(recvmsg(client->fd, &message, 0) >= (ssize_t)sizeof(saved));
        memcpy(&saved, frame, sizeof(saved));
        head = CMSG_FIRSTHDR(&message);
        *out_fd = -1;
        if (head)
            memcpy(out_fd, CMSG_DATA(head), sizeof(int));
    } while (saved.state == OT_SAVE_UNDERWAY);
    return saved;
}

static bool is_empty(void *context)
{
    struct stat info;

    assert_int_equal(fstat(*(int *)context, &info), 0);
    return info.st_size == 0;
}

static void the_daemon_takes_copies_back(void **state)
{
    struct raw_client client, second;
    struct ot_wire_saved saved;
    struct optraced daemon;
    struct stat info;
    char byte, *path;
    int fd, again;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    record(&daemon, geteuid(), 1, 200);
    raw_init(&client);
    assert_true(raw_connect(&client, daemon.socket));
    visit(&client);
    assert_true(ask_save(&client));
    saved = await_saved(&client, &fd);
    CHECK_U64(saved.state, OT_SAVE_DONE);
    CHECK_U64(saved.session_count, 1);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    CHECK_U64((uint64_t)info.st_size, saved.bytes);
    CHECK_U64(info.st_nlink, 0);
    assert_int_equal(write(fd, "x", 1), -1); /* for reading only */
    assert_int_equal(pread(fd, &byte, 1, 0), 1);

    raw_init(&second);
    assert_true(raw_connect(&second, daemon.socket));
    visit(&second);
    assert_true(ask_save(&second));
    saved = await_saved(&second, &again); /* one of a user at a time */
    CHECK_U64(saved.state, OT_SAVE_FAILED);
    assert_int_equal(saved.error, -EBUSY);
    assert_int_equal(again, -1);

    raw_close(&client);
    assert_true(wait_until(is_empty, &fd, WAIT_MS));
    assert_true(ask_save(&second));
    saved = await_saved(&second, &again);
    CHECK_U64(saved.state, OT_SAVE_DONE);
    close(fd);
    close(again);
    raw_close(&second);
    path = path_in(&daemon, "o.db-save-0");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static bool can_save(void *context)
{
    const struct optraced *daemon = context;
    char *path = path_in(daemon, "later.db");
    const char *words[] = {"save", "--socket", daemon->socket, "-fo", path, NULL};
    struct child_result result = run("client/cli/optrace", words);
    const bool is_saved = result.status == 0;

    child_result_deinit(&result);
    free(path);
    return is_saved;
}

/* Whoever leaves, at whatever moment, leaves nothing. */
static void controllers_may_leave(void **state)
{
    static const char *const suffixes[] = {"", "-lock", "-wal", "-shm", "-journal"};
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    record(&daemon, geteuid(), 1, 20000);
    for (int i = 0; i < 30; i++) {
        struct raw_client client;

        raw_init(&client);
        assert_true(raw_connect(&client, daemon.socket));
        visit(&client);
        assert_true(ask_save(&client));
        if (i % 3 == 1)
            usleep((useconds_t)(i * 300)); /* another moment of the copying */
        raw_close(&client);
    }
    assert_true(wait_until(can_save, &daemon, WAIT_MS));
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char name[64], *path;

        snprintf(name, sizeof(name), "o.db-save-0%s", suffixes[i]);
        path = path_in(&daemon, name);
        assert_int_equal(access(path, F_OK), -1);
        free(path);
    }
    /* Also the daemon, while one is under way. */
    {
        struct raw_client client;

        raw_init(&client);
        assert_true(raw_connect(&client, daemon.socket));
        visit(&client);
        assert_true(ask_save(&client));
        assert_int_equal(optraced_stop(&daemon), 0);
        raw_close(&client);
    }
    optraced_deinit(&daemon);
}

/* Of a daemon that was killed while it copied. */
static void what_is_left_is_removed(void **state)
{
    struct optraced daemon;
    char *copy, *lock;

    optraced_init(&daemon);
    copy = path_in(&daemon, "o.db-save-3");
    lock = path_in(&daemon, "o.db-save-3-lock");
    assert_int_equal(close(open(copy, O_WRONLY | O_CREAT, 0600)), 0);
    assert_int_equal(close(open(lock, O_WRONLY | O_CREAT, 0600)), 0);
    optraced_start(&daemon, NULL);
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(access(lock, F_OK), -1);
    assert_int_equal(optraced_stop(&daemon), 0);
    free(copy);
    free(lock);
    optraced_deinit(&daemon);
}

static void a_full_disk_is_said(void **state)
{
    struct optraced daemon;
    char *disk, *path;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        CHECK_SKIP("only root can mount a file system of its own");
    optraced_init(&daemon);
    disk = path_in(&daemon, "disk");
    assert_int_equal(mkdir(disk, 0755), 0);
    assert_int_equal(mount("optrace-test", disk, "tmpfs", 0, "size=24m"), 0);
    free(daemon.store);
    daemon.store = path_in(&daemon, "disk/o.db");
    optraced_start(&daemon, NULL);
    record(&daemon, geteuid(), 1, 400000);
    path = path_in(&daemon, "mine.db");
    SAVE(&daemon, 4, "there is no room for the copy beside the store; choose fewer sessions", "-o",
         path);
    assert_int_equal(access(path, F_OK), -1);
    record(&daemon, geteuid(), 2, 10);
    SAVE(&daemon, 0, "1 session in", "-o", path, "--program", geteuid() ? "" : "of-0-2.");
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 400010);
    assert_int_equal(umount2(disk, MNT_DETACH), 0);
    free(path);
    free(disk);
    optraced_deinit(&daemon);
}

/* --- Whose --- */

static void save_as(const struct optraced *daemon, uid_t uid, const char *path)
{
    USER_SCENE_EXPECT(uid, user_scene_group, 0, " in ", "save", "-f", "-o", path, "--socket",
                      daemon->socket);
}

static void users_save_their_own(void **state)
{
    unsigned counts[USERS] = {0}, all = 0;
    struct optraced daemon;
    char *path, number[24];
    uint64_t foreign;

    if (cannot_be_others)
        CHECK_SKIP(cannot_be_others);
    user_scene_start(&daemon, NULL);
    assert_int_equal(chmod(daemon.dir, 01777), 0);
    path = path_in(&daemon, "mine.db");
    foreign = record(&daemon, users[0], 0, 10);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)foreign);
    USER_SCENE_EXPECT(users[1], user_scene_group, 1, "no session matches that is yours", "save",
                      "-o", path, "--session", number, "--socket", daemon.socket);
    counts[0] = all = 1;
    srand(7);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++) {
            const unsigned who = (unsigned)rand() % USERS;

            record(&daemon, users[who], all++, (unsigned)rand() % 300);
            counts[who]++;
        }
        for (size_t i = 0; i < USERS; i++) {
            if (counts[i] == 0)
                continue;
            free(path);
            snprintf(number, sizeof(number), "%d.db", (int)users[i]);
            path = path_in(&daemon, number);
            save_as(&daemon, users[i], path);
            CHECK_U64(query(path, "SELECT count(*) FROM session"), counts[i]);
            CHECK_U64(query(path, "SELECT count(DISTINCT uid) FROM session"), 1);
            CHECK_U64(query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
            for (size_t k = 0; k < USERS; k++) {
                char text[32];

                snprintf(text, sizeof(text), "of-%d-", (int)users[k]);
                if (file_holds(path, text) != (k == i))
                    fail_msg("user %d %s %s", (int)users[i], k == i ? "lacks" : "is told of", text);
            }
            /* Batches say what their events say. */
            CHECK_U64(query(path, "SELECT count(*) FROM event_batch b WHERE start_ns <> (SELECT"
                                  " min(start_ns) FROM event e WHERE e.rowid BETWEEN b.first_rowid"
                                  " AND b.last_rowid) OR end_ns <> (SELECT max(start_ns + dur_ns)"
                                  " FROM event e WHERE e.rowid BETWEEN b.first_rowid AND"
                                  " b.last_rowid)"),
                      0);
        }
    }
    assert_int_equal(unlink(path), 0);
    SAVE(&daemon, 0, " in ", "-o", path); /* root: all */
    CHECK_U64(query(path, "SELECT count(*) FROM session"), all);
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(query(path, "SELECT count(*) FROM event"),
              (uint64_t)optraced_query(&daemon, "SELECT count(*) FROM event"));
    free(path);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_a_store),       cmocka_unit_test(the_daemon_takes_copies_back),
        cmocka_unit_test(controllers_may_leave),   cmocka_unit_test(users_save_their_own),
        cmocka_unit_test(what_is_left_is_removed), cmocka_unit_test(a_full_disk_is_said),
    };

    cannot_be_others = user_scene_init();
    signal(SIGPIPE, SIG_IGN);
    return AT_ONCE_RUN(tests, 3);
}
