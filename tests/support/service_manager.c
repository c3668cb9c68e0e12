/* SPDX-License-Identifier: Apache-2.0 */
/* sd_notify's other end. */
#include "tests/support/service_manager.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { FIRST_FD = 3 };

static int bind_socket(const char *path, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void service_manager_init(struct service_manager *manager)
{
    memset(manager, 0, sizeof(*manager));
    optraced_init(&manager->daemon);
    manager->notify_path = temp_path(manager->daemon.dir, "notify");
    manager->notify_fd = bind_socket(manager->notify_path, SOCK_DGRAM);
    manager->listen_fd = bind_socket(manager->daemon.socket, SOCK_STREAM);
    assert_int_equal(listen(manager->listen_fd, 16), 0);
}

void service_manager_deinit(struct service_manager *manager)
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
    const struct service_manager *manager = context;
    char *program = place_program("daemon/optraced");
    char names[1024] = "optraced.socket", number[32];
    int fds[SERVICE_MANAGER_KEPT_MAX + 1] = {manager->listen_fd};

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

void service_manager_keep(struct service_manager *manager, const char *name, int fd)
{
    assert_true(manager->kept_count < SERVICE_MANAGER_KEPT_MAX);
    manager->kept[manager->kept_count].fd = fd;
    snprintf(manager->kept[manager->kept_count].name, 64, "%s", name);
    manager->kept_count++;
}

static void forget(struct service_manager *manager, const char *name)
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

bool service_manager_hear(struct service_manager *manager)
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
        service_manager_keep(manager, name + 7, fd);
    } else if (strncmp(text, "FDSTOREREMOVE=1\n", 16) == 0) {
        assert_non_null(name);
        forget(manager, name + 7);
    } else {
        strcat(strcat(manager->said, text), ";");
    }
    return true;
}

void service_manager_start(struct service_manager *manager)
{
    struct pollfd entry = {.fd = manager->notify_fd, .events = POLLIN};

    while (service_manager_hear(manager)) /* the last words of the one before */
        ;
    manager->said[0] = 0;
    child_deinit(&manager->daemon.child);
    child_start_function(&manager->daemon.child, become_daemon, manager);
    while (!strstr(manager->said, "READY=1;")) {
        if (poll(&entry, 1, (int)WAIT_MS) != 1)
            fail_msg("the daemon is not ready: %s", manager->daemon.child.err);
        service_manager_hear(manager);
    }
}

void service_manager_wait_for_kept(struct service_manager *manager, size_t count)
{
    struct pollfd entry = {.fd = manager->notify_fd, .events = POLLIN};

    while (manager->kept_count != count) {
        if (poll(&entry, 1, (int)WAIT_MS) != 1)
            fail_msg("%zu fds are kept, not %zu", manager->kept_count, count);
        service_manager_hear(manager);
    }
}
