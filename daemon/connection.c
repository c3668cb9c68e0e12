/* SPDX-License-Identifier: Apache-2.0 */
/* recvmsg() and send() on a Unix socket, with file descriptors. */
#include "daemon/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/memory.h"

void connection_init(struct connection *connection, int fd)
{
    *connection = (struct connection){.fd = fd};
}

void connection_deinit(struct connection *connection)
{
    for (size_t i = 0; i < connection->fd_count; i++)
        close(connection->fds[i]);
    if (connection->fd >= 0)
        close(connection->fd);
    free(connection->in);
    free(connection->out);
    *connection = (struct connection){.fd = -1};
}

/* Keeps the file descriptors of one message; those that are too many are closed. */
static int take_fds(struct connection *connection, struct msghdr *message, struct diag *diag)
{
    int rc = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
            if (connection->fd_count < CONNECTION_FDS_MAX) {
                connection->fds[connection->fd_count++] = fd;
                continue;
            }
            close(fd);
            rc = -EPROTO;
        }
    }
    if (rc < 0 || (message->msg_flags & MSG_CTRUNC))
        return diag_set(diag, -EPROTO, "more file descriptors than RING frames");
    return 0;
}

static void make_room(struct connection *connection)
{
    size_t wanted = connection->in_bytes + CONNECTION_READ_BYTES;

    if (wanted <= connection->in_capacity)
        return;
    connection->in = memory_resized(connection->in, wanted, 1);
    connection->in_capacity = wanted;
}

int connection_read(struct connection *connection, struct diag *diag)
{
    union {
        char bytes[CMSG_SPACE(CONNECTION_FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec place = {.iov_len = CONNECTION_READ_BYTES};
    struct msghdr message = {.msg_iov = &place,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t count;
    int rc;

    make_room(connection);
    place.iov_base = connection->in + connection->in_bytes;
    do
        count = recvmsg(connection->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    rc = take_fds(connection, &message, diag);
    if (rc < 0)
        return rc;
    connection->in_bytes += (size_t)count;
    return (int)count;
}

size_t connection_waiting_bytes(const struct connection *connection)
{
    int count;

    return ioctl(connection->fd, FIONREAD, &count) == 0 && count > 0 ? (size_t)count : 0;
}

void connection_consume(struct connection *connection, size_t bytes)
{
    connection->in_bytes -= bytes;
    if (connection->in_bytes > 0) {
        memmove(connection->in, connection->in + bytes, connection->in_bytes);
        return;
    }
    free(connection->in); /* a thousand idle clients should cost nothing */
    connection->in = NULL;
    connection->in_capacity = 0;
}

int connection_take_fd(struct connection *connection)
{
    int fd;

    if (connection->fd_count == 0)
        return -1;
    fd = connection->fds[0];
    connection->fd_count--;
    memmove(connection->fds, connection->fds + 1, connection->fd_count * sizeof(fd));
    return fd;
}

/* Returns how much went out. */
static size_t try_send(struct connection *connection, const void *bytes, size_t length)
{
    ssize_t sent;

    if (connection->is_deaf)
        return length;
    do
        sent = send(connection->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EAGAIN)
        return 0;
    connection->is_deaf = sent < 0;
    return sent < 0 ? length : (size_t)sent;
}

int connection_write(struct connection *connection, const void *bytes, size_t length)
{
    size_t sent = connection->out_bytes == 0 ? try_send(connection, bytes, length) : 0;

    length -= sent;
    if (length == 0)
        return 0;
    if (connection->out_bytes + length > CONNECTION_OUT_BYTES)
        return -ENOBUFS;
    if (!connection->out)
        connection->out = memory_resized(NULL, CONNECTION_OUT_BYTES, 1);
    memcpy(connection->out + connection->out_bytes, (const uint8_t *)bytes + sent, length);
    connection->out_bytes += length;
    return 0;
}

int connection_write_fd(struct connection *connection, const void *bytes, size_t length, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    ssize_t sent;

    if (connection->is_deaf)
        return 0;
    if (connection->out_bytes > 0)
        return -EAGAIN;
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    do
        sent = sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 &&
        (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS))
        return -EAGAIN;
    connection->is_deaf = sent < 0;
    /* Whatever did not fit of it follows: the descriptor went with the first byte. */
    return sent >= 0 && (size_t)sent < length
               ? connection_write(connection, (const uint8_t *)bytes + sent, length - (size_t)sent)
               : 0;
}

void connection_flush(struct connection *connection)
{
    size_t sent = try_send(connection, connection->out, connection->out_bytes);

    connection->out_bytes -= sent;
    memmove(connection->out, connection->out + sent, connection->out_bytes);
    if (connection->out_bytes == 0) {
        free(connection->out);
        connection->out = NULL;
    }
}

bool connection_is_hung_up(const struct connection *connection)
{
    struct pollfd socket = {.fd = connection->fd, .events = 0};

    return poll(&socket, 1, 0) == 1 && (socket.revents & (POLLHUP | POLLERR | POLLNVAL));
}
