/* SPDX-License-Identifier: Apache-2.0 */
/* optraced under a service manager, which this test plays: a socket that is handed over, being told
 * what goes on, rings that are kept while the daemon is away. And sessions that nobody ends. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { KEPT_MAX = 16, FIRST_FD = 3 };

/* What systemd would do. */
struct manager {
    struct optraced daemon;
    char *notify_path;
    int notify_fd;
    int listen_fd;
    struct {
        int fd;
        char name[64];
    } kept[KEPT_MAX];
    size_t kept_count;
    char said[4096]; /* states other than those of the fd store, one after the other */
};

static int bind_socket(const char *path, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void manager_init(struct manager *manager)
{
    memset(manager, 0, sizeof(*manager));
    optraced_init(&manager->daemon);
    manager->notify_path = temp_path(manager->daemon.dir, "notify");
    manager->notify_fd = bind_socket(manager->notify_path, SOCK_DGRAM);
    manager->listen_fd = bind_socket(manager->daemon.socket, SOCK_STREAM);
    assert_int_equal(listen(manager->listen_fd, 16), 0);
}

static void manager_deinit(struct manager *manager)
{
    for (size_t i = 0; i < manager->kept_count; i++)
        close(manager->kept[i].fd);
    close(manager->notify_fd);
    close(manager->listen_fd);
    free(manager->notify_path);
    optraced_deinit(&manager->daemon);
}

/* In the child: fds from 3 on, names, LISTEN_PID, exec. */
static int become_daemon(void *context)
{
    const struct manager *manager = context;
    char *program = place_program("daemon/optraced");
    char names[1024] = "optraced.socket", number[32];
    int fds[KEPT_MAX + 1] = {manager->listen_fd};

    for (size_t i = 0; i < manager->kept_count; i++) {
        strcat(strcat(names, ":"), manager->kept[i].name);
        fds[i + 1] = manager->kept[i].fd;
    }
    for (size_t i = 0; i <= manager->kept_count; i++) /* out of the way first */
        fds[i] = fcntl(fds[i], F_DUPFD, 100);
    for (size_t i = 0; i <= manager->kept_count; i++)
        dup2(fds[i], FIRST_FD + (int)i);
    snprintf(number, sizeof(number), "%d", (int)getpid());
    setenv("LISTEN_PID", number, 1);
    snprintf(number, sizeof(number), "%zu", manager->kept_count + 1);
    setenv("LISTEN_FDS", number, 1);
    setenv("LISTEN_FDNAMES", names, 1);
    setenv("NOTIFY_SOCKET", manager->notify_path, 1);
    execl(program, program, "--foreground", "--store", manager->daemon.store, "--verbose",
          (char *)NULL);
    return 99;
}

static void keep(struct manager *manager, const char *name, int fd)
{
    assert_true(manager->kept_count < KEPT_MAX);
    manager->kept[manager->kept_count].fd = fd;
    snprintf(manager->kept[manager->kept_count].name, 64, "%s", name);
    manager->kept_count++;
}

static void forget(struct manager *manager, const char *name)
{
    for (size_t i = 0; i < manager->kept_count; i++) {
        if (strcmp(manager->kept[i].name, name) != 0)
            continue;
        close(manager->kept[i].fd);
        manager->kept[i] = manager->kept[--manager->kept_count];
        return;
    }
    fail_msg("it forgets %s, which is not kept", name);
}

/* Takes one message from the daemon, if there is one. */
static bool hear(struct manager *manager)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control;
    char text[1024];
    struct iovec place = {text, sizeof(text) - 1};
    struct msghdr message = {.msg_iov = &place,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t length = recvmsg(manager->notify_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const char *name;
    int fd;

    if (length < 0)
        return false;
    text[length] = 0;
    name = strstr(text, "FDNAME=");
    if (strncmp(text, "FDSTORE=1\n", 10) == 0) {
        assert_non_null(name);
        assert_int_equal(message.msg_controllen, CMSG_SPACE(sizeof(int)));
        memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
        keep(manager, name + 7, fd);
    } else if (strncmp(text, "FDSTOREREMOVE=1\n", 16) == 0) {
        assert_non_null(name);
        forget(manager, name + 7);
    } else {
        strcat(strcat(manager->said, text), ";");
    }
    return true;
}

static void start(struct manager *manager)
{
    struct pollfd entry = {.fd = manager->notify_fd, .events = POLLIN};

    manager->said[0] = 0;
    child_deinit(&manager->daemon.child);
    child_start_function(&manager->daemon.child, become_daemon, manager);
    while (!strstr(manager->said, "READY=1;")) {
        if (poll(&entry, 1, (int)WAIT_MS) != 1)
            fail_msg("the daemon is not ready: %s", manager->daemon.child.err);
        hear(manager);
    }
}

/* Hear what it says until that many fds are kept. */
static void wait_for_kept(struct manager *manager, size_t count)
{
    struct pollfd entry = {.fd = manager->notify_fd, .events = POLLIN};

    while (manager->kept_count != count) {
        if (poll(&entry, 1, (int)WAIT_MS) != 1)
            fail_msg("%zu fds are kept, not %zu", manager->kept_count, count);
        hear(manager);
    }
}

static void a_socket_is_handed_over(void **state)
{
    struct manager manager;
    struct raw_client early;
    struct ot_wire_hello hello;

    manager_init(&manager);
    raw_init(&early); /* before the daemon is there: systemd's socket keeps it waiting */
    assert_true(raw_connect(&early, manager.daemon.socket));
    hello = raw_hello(&early);
    raw_send_hello(&early, &hello);
    raw_bye(&early);
    start(&manager);
    optraced_wait_for(&manager.daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    raw_close(&early);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    while (hear(&manager))
        ;
    assert_string_equal(manager.said, "READY=1;STOPPING=1;");
    assert_int_equal(access(manager.daemon.socket, F_OK), 0); /* systemd's, not ours */
    manager_deinit(&manager);
}

static void define(struct raw_client *client)
{
    raw_lane(client, 1, "main");
    raw_op(client, 1, "conv1", "Conv");
}

static void put_spans(struct raw_ring *ring, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 10, i);

        assert_true(raw_ring_put(ring, &span));
    }
}

static void check_events(const struct manager *manager, uint64_t count)
{
    CHECK_U64(optraced_query(&manager->daemon, "SELECT count(*) FROM event WHERE dur_ns = 10"),
              count);
    CHECK_U64(optraced_query(&manager->daemon,
                             "SELECT count(DISTINCT correlation) FROM event WHERE dur_ns = 10"),
              count);
    CHECK_U64(optraced_query(&manager->daemon, "SELECT count(*) FROM gap"), 0);
}

/* A program with two rings; the second one's thread ends. Waits to be killed. */
static int record_until_killed(void *context)
{
    const struct optraced *daemon = context;
    struct ot_wire_record span;
    struct raw_ring first, second;
    struct raw_client client;

    raw_init(&client);
    raw_join(&client, daemon->socket);
    define(&client);
    raw_ring_create(&first, &client, 1, 1, 1024);
    raw_ring_create(&second, &client, 2, 1, 1024);
    raw_ring_send(&client, &first);
    raw_ring_send(&client, &second);
    put_spans(&first, 1, 10);
    put_spans(&second, 11, 20);
    __atomic_store_n(&second.memory->closed, 1, __ATOMIC_RELEASE);
    if (raw_flush(&client) != 0)
        return 1;
    kill(getppid(), SIGUSR1); /* the test stops the daemon now */
    while (access(daemon->store, F_OK) == 0 && kill(getppid(), 0) == 0) {
        char *path = temp_path(daemon->dir, "go on");
        bool goes_on = access(path, F_OK) == 0;

        free(path);
        if (goes_on)
            break;
        usleep(1000);
    }
    put_spans(&first, 21, 30); /* only the ring knows of these */
    span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 0, 31);
    span.end_ticks = 0;
    raw_ring_open(&first, &span);
    raise(SIGKILL);
    return 0;
}

static volatile sig_atomic_t has_recorded;

static void on_recorded(int number)
{
    has_recorded = 1;
}

static bool is_recorded(void *context)
{
    return has_recorded;
}

static void rings_survive_the_death_of_both(void **state)
{
    struct manager manager;
    struct child program;

    signal(SIGUSR1, on_recorded);
    manager_init(&manager);
    start(&manager);
    child_start_function(&program, record_until_killed, &manager.daemon);
    assert_true(wait_until(is_recorded, NULL, WAIT_MS));
    wait_for_kept(&manager, 2);
    wait_for_kept(&manager, 1); /* the thread has ended, and all of it is committed */
    optraced_kill(&manager.daemon);
    free(temp_write(manager.daemon.dir, "go on", "", 0));
    assert_int_equal(child_wait(&program, WAIT_MS), 128 + SIGKILL);
    assert_int_equal(manager.kept_count, 1);
    start(&manager);
    optraced_wait_for(&manager.daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'", 1);
    check_events(&manager, 30);
    CHECK_U64(optraced_query(&manager.daemon, "SELECT correlation FROM event WHERE dur_ns IS NULL"),
              31);
    wait_for_kept(&manager, 0);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    child_deinit(&program);
    manager_deinit(&manager);
}

static void a_living_client_takes_its_kept_rings_up(void **state)
{
    struct manager manager;
    struct raw_client client;
    struct raw_ring ring;

    manager_init(&manager);
    start(&manager);
    raw_init(&client);
    raw_join(&client, manager.daemon.socket);
    define(&client);
    raw_ring_create(&ring, &client, 1, 1, 1024);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 1, 10);
    assert_int_equal(raw_flush(&client), 0);
    wait_for_kept(&manager, 1);
    optraced_kill(&manager.daemon);
    put_spans(&ring, 11, 20);
    start(&manager);
    optraced_wait_for(&manager.daemon, "SELECT count(*) FROM event", 20); /* already */
    raw_join(&client, manager.daemon.socket);
    define(&client);
    raw_ring_send(&client, &ring);
    put_spans(&ring, 21, 30);
    assert_int_equal(raw_flush(&client), 0);
    check_events(&manager, 30);
    assert_int_equal(manager.kept_count, 1);
    raw_bye(&client);
    wait_for_kept(&manager, 0);
    CHECK_U64(optraced_query(&manager.daemon, "SELECT count(*) FROM session"), 1);
    raw_close(&client);
    raw_ring_destroy(&ring);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    manager_deinit(&manager);
}

/* Kept fds that are of no use: not a ring, of a session that nobody knows. */
static void strange_fds_are_given_back(void **state)
{
    struct manager manager;
    struct raw_client client;
    struct raw_ring ring;

    manager_init(&manager);
    raw_init(&client);
    raw_ring_create(&ring, &client, 1, 1, 64);
    keep(&manager, "ring-7-1", dup(ring.fd));
    keep(&manager, "ring-7-2", open("/dev/null", O_RDWR));
    keep(&manager, "other", socket(AF_UNIX, SOCK_STREAM, 0));
    start(&manager);
    wait_for_kept(&manager, 0);
    optraced_expect_log(&manager.daemon, "cannot take ring-7-1 up again: its session is not known",
                        1);
    assert_int_equal(optraced_stop(&manager.daemon), 0);
    raw_ring_destroy(&ring);
    manager_deinit(&manager);
}

/* Without a service manager: the program dies while no daemon is there. */
static int join_and_leave(void *context)
{
    const struct optraced *daemon = context;
    struct raw_client client;

    raw_init(&client);
    raw_join(&client, daemon->socket);
    raw_flush(&client);
    kill(getppid(), SIGUSR1);
    for (;;)
        pause();
    return 0;
}

static void programs_that_died_alone_are_ended(void **state)
{
    struct optraced daemon;
    struct child program;

    has_recorded = 0;
    signal(SIGUSR1, on_recorded);
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    child_start_function(&program, join_and_leave, &daemon);
    assert_true(wait_until(is_recorded, NULL, WAIT_MS));
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL); /* it lives: perhaps it comes back */
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL"), 1);
    optraced_kill(&daemon);
    child_kill(&program, SIGKILL);
    optraced_start(&daemon, NULL);
    optraced_wait_for(&daemon,
                      "SELECT count(*) FROM session WHERE end_reason = 'died' AND note ="
                      " 'while no daemon was there' AND end_ns >= start_ns",
                      1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM ingest_cursor"), 0);
    child_deinit(&program);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_handed_over),
        cmocka_unit_test(rings_survive_the_death_of_both),
        cmocka_unit_test(a_living_client_takes_its_kept_rings_up),
        cmocka_unit_test(strange_fds_are_given_back),
        cmocka_unit_test(programs_that_died_alone_are_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
