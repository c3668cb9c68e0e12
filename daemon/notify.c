/* SPDX-License-Identifier: Apache-2.0 */
/* LISTEN_FDS and NOTIFY_SOCKET. */
#include "daemon/notify.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, FDS_MAX = 4096 };

static bool is_listening_socket(int fd)
{
    socklen_t length = sizeof(int);
    int domain = 0, accepts = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0 || domain != AF_UNIX)
        return false;
    length = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) == 0 && accepts;
}

int notify_take_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS");
    int count = count_text ? atoi(count_text) : 0, found = -1;

    if (!pid || atol(pid) != (long)getpid() || count < 1 || count > FDS_MAX)
        return -1;
    for (int fd = FIRST_FD; fd < FIRST_FD + count; fd++) {
        if (found < 0 && is_listening_socket(fd))
            found = fd;
        else
            close(fd);
    }
    if (found >= 0) {
        fcntl(found, F_SETFD, FD_CLOEXEC);
        fcntl(found, F_SETFL, fcntl(found, F_GETFL) | O_NONBLOCK);
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return found;
}

void notify_send(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    int fd;

    if (length == 0 || length >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = 0; /* an abstract socket */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}
