/* SPDX-License-Identifier: Apache-2.0 */
/* LISTEN_FDS, NOTIFY_SOCKET and the file descriptor store. */
#include "daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/memory.h"

enum { FIRST_FD = 3, FDS_MAX = 1 << 16 };

static bool is_listening_socket(int fd)
{
    socklen_t length = sizeof(int);
    int domain = 0, accepts = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0 || domain != AF_UNIX)
        return false;
    length = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) == 0 && accepts;
}

/* Takes the next of "a:b:c"; empty when there is none. */
static void next_name(const char **names, char out_name[NOTIFY_NAME_BYTES])
{
    size_t length = *names ? strcspn(*names, ":") : 0;

    snprintf(out_name, NOTIFY_NAME_BYTES, "%.*s", (int)length, *names ? *names : "");
    if (*names)
        *names = (*names)[length] ? *names + length + 1 : NULL;
}

void notify_take_fds(struct notify_fds *out_fds)
{
    const char *pid = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    int count = count_text ? atoi(count_text) : 0;

    *out_fds = (struct notify_fds){.socket = -1};
    if (!pid || atol(pid) != (long)getpid() || count > FDS_MAX)
        return;
    for (int fd = FIRST_FD; fd < FIRST_FD + count; fd++) {
        struct notify_fd kept = {.fd = fd};

        next_name(&names, kept.name);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        if (out_fds->socket < 0 && is_listening_socket(fd))
            out_fds->socket = fd;
        else
            memory_must(array_push(&out_fds->kept, kept));
    }
    if (out_fds->socket >= 0)
        fcntl(out_fds->socket, F_SETFL, fcntl(out_fds->socket, F_GETFL) | O_NONBLOCK);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

bool notify_is_active(void)
{
    const char *path = getenv("NOTIFY_SOCKET");

    return path && path[0];
}

/* Sends a text, with a file descriptor along unless that is -1. */
static void send_state(const char *state, int passed_fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {{0}};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    struct iovec text = {.iov_base = (void *)state, .iov_len = strlen(state)};
    struct msghdr message = {.msg_name = &address, .msg_iov = &text, .msg_iovlen = 1};
    int fd;

    if (length == 0 || length >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = 0; /* an abstract socket */
    message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (passed_fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &passed_fd, sizeof(passed_fd));
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    while (sendmsg(fd, &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
    close(fd);
}

void notify_send(const char *state)
{
    send_state(state, -1);
}

void notify_keep(const char *name, int fd)
{
    char state[NOTIFY_NAME_BYTES + 32];

    snprintf(state, sizeof(state), "FDSTORE=1\nFDNAME=%s", name);
    send_state(state, fd);
}

void notify_forget(const char *name)
{
    char state[NOTIFY_NAME_BYTES + 32];

    snprintf(state, sizeof(state), "FDSTOREREMOVE=1\nFDNAME=%s", name);
    send_state(state, -1);
}
