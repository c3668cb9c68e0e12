/* SPDX-License-Identifier: Apache-2.0 */
/* The socket. */
#include "client/link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"

int ot_link_open(struct ot_link *link, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(path);
    struct ot_fd fd = OT_FD_NONE;
    struct stat status;
    int number, rc;

    if (length == 0 || length >= sizeof(address.sun_path))
        return length ? -ENAMETOOLONG : -ENOENT;
    memcpy(address.sun_path, path, length);
    /* Looks for a daemon that is not there take no number of a descriptor. */
    if (stat(path, &status) < 0 && errno == ENOENT)
        return -ENOENT;
    number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    rc = number < 0 ? -errno : ot_fd_take(number, &fd);
    if (rc < 0)
        return rc;
    while (connect(fd.number, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        int error = errno;

        if (error == EINTR)
            continue;
        ot_fd_close(&fd);
        return -error;
    }
    link->fd = fd;
    link->input_length = 0;
    link->input_taken = 0;
    return 0;
}

void ot_link_close(struct ot_link *link)
{
    ot_fd_close(&link->fd);
}

static ssize_t send_once(struct ot_link *link, const void *bytes, size_t length, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    if (fd >= 0) {
        struct cmsghdr *head;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    }
    if (!ot_fd_is_ours(&link->fd))
        return -EBADF;
    do
        sent = sendmsg(link->fd.number, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    /* Too much in flight, of memory or of descriptors: that passes. */
    return errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS ? -EAGAIN : -errno;
}

int ot_link_send(struct ot_link *link, const void *frame, size_t length, int fd)
{
    ssize_t sent = send_once(link, frame, length, fd);

    if (sent < 0)
        return (int)sent;
    return (size_t)sent == length ? 0 : -EMSGSIZE;
}

ssize_t ot_link_stream(struct ot_link *link, const void *bytes, size_t length)
{
    return send_once(link, bytes, length, -1);
}

/* Read what is there. */
static int fill(struct ot_link *link)
{
    ssize_t got;

    memmove(link->input, link->input + link->input_taken, link->input_length - link->input_taken);
    link->input_length -= link->input_taken;
    link->input_taken = 0;
    if (!ot_fd_is_ours(&link->fd))
        return -EBADF;
    do
        got = recv(link->fd.number, link->input + link->input_length,
                   sizeof(link->input) - link->input_length, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got < 0 ? -errno : -ECONNRESET;
    link->input_length += (size_t)got;
    return 0;
}

int ot_link_receive(struct ot_link *link, const uint8_t **out_frame)
{
    for (;;) {
        const uint8_t *at = link->input + link->input_taken;
        const size_t have = link->input_length - link->input_taken;
        struct ot_wire_header header;
        int length = ot_wire_peek(at, have, &header, NULL);
        int rc;

        if (length < 0 || length > OT_LINK_INPUT_BYTES)
            return -EPROTO;
        if (have >= (size_t)length) {
            link->input_taken += (size_t)length;
            *out_frame = at;
            return length;
        }
        rc = fill(link);
        if (rc < 0)
            return rc;
    }
}

int ot_link_wait(const struct ot_link *link, short events, uint32_t timeout_ms)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ms * UINT64_C(1000000);
    struct pollfd entry = {.fd = link->fd.number, .events = events};

    for (;;) {
        uint64_t now_ns;
        int rc;

        if (!ot_fd_is_ours(&link->fd))
            return -EBADF;
        rc = poll(&entry, 1, timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms);
        if (rc >= 0)
            return rc;
        if (errno != EINTR)
            return -errno;
        now_ns = ot_clock_ns(CLOCK_MONOTONIC);
        if (now_ns >= deadline_ns)
            return 0;
        timeout_ms = (uint32_t)((deadline_ns - now_ns + 999999) / 1000000);
    }
}
