/* SPDX-License-Identifier: Apache-2.0 */
/* Making the socket, and looking at who connects. */
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/privacy.h"

enum { BACKLOG = 1024, TIMER_MS = 1000 };

static int fill_address(const char *path, struct sockaddr_un *out_address, struct diag *diag)
{
    size_t length = strlen(path);

    if (length >= sizeof(out_address->sun_path))
        return diag_set(diag, -ENAMETOOLONG,
                        "the socket's path has %zu bytes, and may have %zu at most: %s", length,
                        sizeof(out_address->sun_path) - 1, path);
    *out_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out_address->sun_path, path, length);
    return 0;
}

static int look_up_group(const char *name, gid_t *out_gid, struct diag *diag)
{
    const struct group *group;

    *out_gid = (gid_t)-1;
    if (!name)
        return 0;
    errno = 0;
    group = getgrnam(name);
    if (!group)
        return diag_set(diag, -ENOENT, "there is no group '%s'", name);
    *out_gid = group->gr_gid;
    return 0;
}

/* Makes the directory that the socket lies in; its own parent must exist. */
static int make_directory(const char *path, struct diag *diag)
{
    char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char *slash;

    snprintf(directory, sizeof(directory), "%s", path);
    slash = strrchr(directory, '/');
    if (!slash || slash == directory)
        return 0;
    *slash = 0;
    if (mkdir(directory, 0700) == 0 || errno == EEXIST)
        return 0;
    return diag_set(diag, -errno, "cannot make %s: %s", directory, strerror(errno));
}

/* The lock decides between two daemons that start at the same moment. */
static int take_lock(const char *path, int *out_fd, struct diag *diag)
{
    char lock_path[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
    int fd, rc = 0;

    snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
    fd = file_open_own(lock_path, O_RDWR | O_CREAT, 0600, diag);
    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK
                 ? diag_set(diag, -EADDRINUSE, "another daemon listens on %s already", path)
                 : diag_set(diag, -errno, "cannot lock %s: %s", lock_path, strerror(errno));
    if (rc < 0)
        close(fd);
    else
        *out_fd = fd;
    return rc;
}

/* We hold the lock: what is there is stale, unless a program without lock listens on it. */
static int remove_stale(const struct sockaddr_un *address, struct diag *diag)
{
    struct stat info;
    int fd, rc;

    if (lstat(address->sun_path, &info) < 0)
        return errno == ENOENT
                   ? 0
                   : diag_set(diag, -errno, "%s: %s", address->sun_path, strerror(errno));
    if (!S_ISSOCK(info.st_mode))
        return diag_set(diag, -EADDRINUSE, "%s is there already, and is no socket",
                        address->sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return diag_set(diag, -errno, "cannot make a socket: %s", strerror(errno));
    rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    rc = rc == 0 || errno == EAGAIN ? -EADDRINUSE : 0;
    close(fd);
    if (rc < 0)
        return diag_set(diag, rc, "another program listens on %s already", address->sun_path);
    if (unlink(address->sun_path) < 0)
        return diag_set(diag, -errno, "cannot remove the stale socket %s: %s", address->sun_path,
                        strerror(errno));
    return 0;
}

/* Binds it so that nobody else can connect at any moment. */
static int bind_socket(int fd, const struct sockaddr_un *address, gid_t gid, struct diag *diag)
{
    mode_t before = umask(0177);
    int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address));

    umask(before);
    if (rc < 0)
        return diag_set(diag, -errno, "cannot bind %s: %s", address->sun_path, strerror(errno));
    if (gid != (gid_t)-1 &&
        (chown(address->sun_path, (uid_t)-1, gid) < 0 || chmod(address->sun_path, 0660) < 0))
        return diag_set(diag, -errno, "cannot give %s to the group: %s", address->sun_path,
                        strerror(errno));
    if (listen(fd, BACKLOG) < 0)
        return diag_set(diag, -errno, "cannot listen on %s: %s", address->sun_path,
                        strerror(errno));
    return 0;
}

int listener_open(struct listener *listener, const char *path, const char *group_name,
                  struct diag *diag)
{
    struct sockaddr_un address;
    int rc;

    *listener = (struct listener){.fd = -1, .lock_fd = -1, .group_name = group_name};
    rc = fill_address(path, &address, diag);
    if (rc == 0)
        rc = look_up_group(group_name, &listener->gid, diag);
    if (rc == 0)
        rc = make_directory(path, diag);
    if (rc == 0)
        rc = take_lock(path, &listener->lock_fd, diag);
    if (rc == 0)
        rc = remove_stale(&address, diag);
    if (rc == 0) {
        listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (listener->fd < 0)
            rc = diag_set(diag, -errno, "cannot make a socket: %s", strerror(errno));
    }
    if (rc == 0)
        rc = bind_socket(listener->fd, &address, listener->gid, diag);
    if (rc == 0) {
        listener->path = strdup(path);
        memory_must(listener->path ? 0 : -ENOMEM);
    } else {
        listener_close(listener);
    }
    return rc;
}

int listener_adopt(struct listener *listener, int fd, const char *group_name, struct diag *diag)
{
    *listener = (struct listener){.fd = fd, .lock_fd = -1, .group_name = group_name};
    return look_up_group(group_name, &listener->gid, diag);
}

/* --- Who may connect --- */

/* The groups that the peer had when it connected. Nobody is looked up: that may take long, and the
 * loop must not wait. Kernels before 4.13 tell the first group only. */
static bool is_member(int fd, gid_t peer_gid, gid_t wanted)
{
    gid_t few[64], *groups = few;
    socklen_t length = sizeof(few);
    bool is_one = peer_gid == wanted;
    int rc = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length);

    if (rc < 0 && errno == ERANGE) {
        groups = memory_zeroed(length, 1);
        rc = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length);
    }
    for (size_t i = 0; rc == 0 && i < length / sizeof(*groups); i++)
        is_one |= groups[i] == wanted;
    if (groups != few)
        free(groups);
    return is_one;
}

static bool is_allowed(const struct listener *listener, int fd, const struct ucred *peer)
{
    if (privacy_is_trusted(peer->uid))
        return true;
    return listener->gid != (gid_t)-1 && is_member(fd, peer->gid, listener->gid);
}

/* Says why, without waiting: whether it arrives does not matter. */
static void deny(struct listener *listener, int fd, const struct ucred *peer)
{
    const struct ot_wire_welcome welcome = {.version_major = OT_WIRE_VERSION_MAJOR,
                                            .version_minor = OT_WIRE_VERSION_MINOR,
                                            .status = OT_WELCOME_DENIED};
    uint8_t frame[sizeof(welcome) + OT_WIRE_REMARK_BYTES_MAX + 8];
    char text[OT_WIRE_REMARK_BYTES_MAX];
    int length;

    if (listener->gid != (gid_t)-1)
        snprintf(text, sizeof(text),
                 "user %lld may not record here: ask for membership of group %.100s",
                 (long long)peer->uid, listener->group_name);
    else
        snprintf(text, sizeof(text),
                 "user %lld may not record here: this daemon is for user %lld and root; start one "
                 "of your own, or have it started with --group",
                 (long long)peer->uid, (long long)geteuid());
    length = ot_wire_encode_welcome(&welcome, (struct ot_text){text, strlen(text)}, frame,
                                    sizeof(frame));
    if (length > 0)
        (void)!send(fd, frame, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    producer_note_refusal(listener->group, peer->pid, peer->uid, text);
    close(fd);
}

static void take_connection(struct listener *listener, int fd)
{
    struct producer_group *group = listener->group;
    socklen_t length = sizeof(struct ucred);
    struct ucred peer;
    int rc;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
        close(fd);
        return;
    }
    if (!is_allowed(listener, fd, &peer)) {
        deny(listener, fd, &peer);
        return;
    }
    rc = producer_accept(group, fd, peer.pid, peer.uid);
    if (rc < 0)
        producer_note_refusal(group, peer.pid, peer.uid, uv_strerror(rc));
}

/* At most as many as can wait: those who connect as fast as they are refused must not keep the loop
 * for themselves. */
static void accept_some(struct listener *listener)
{
    for (int i = 0; i <= BACKLOG; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            take_connection(listener, fd);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            log_peer(0, "cannot accept a connection: %s", strerror(errno));
            uv_poll_stop(&listener->poll); /* the timer tries again: no busy loop */
            return;
        }
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    accept_some(poll->data);
}

/* Once a second. */
static void on_timer(uv_timer_t *timer)
{
    struct listener *listener = timer->data;

    producer_check_hello(listener->group);
    if (!uv_is_active((uv_handle_t *)&listener->poll))
        uv_poll_start(&listener->poll, UV_READABLE, on_poll);
}

int listener_start(struct listener *listener, uv_loop_t *loop, struct producer_group *group,
                   struct diag *diag)
{
    int rc = uv_poll_init(loop, &listener->poll, listener->fd);

    if (rc < 0)
        return diag_set(diag, rc, "cannot watch the socket: %s", uv_strerror(rc));
    listener->group = group;
    listener->poll.data = listener;
    listener->timer.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_poll);
    uv_timer_init(loop, &listener->timer);
    uv_timer_start(&listener->timer, on_timer, TIMER_MS, TIMER_MS);
    return 0;
}

void listener_stop(struct listener *listener)
{
    accept_some(listener);
    uv_close((uv_handle_t *)&listener->poll, NULL);
    uv_close((uv_handle_t *)&listener->timer, NULL);
}

void listener_close(struct listener *listener)
{
    if (listener->path)
        unlink(listener->path);
    free(listener->path);
    if (listener->fd >= 0)
        close(listener->fd);
    if (listener->lock_fd >= 0)
        close(listener->lock_fd);
    *listener = (struct listener){.fd = -1, .lock_fd = -1};
}
