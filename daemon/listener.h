/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's socket: made by itself or handed over by systemd, guarded against a second daemon by
 * a lock file beside it, open to its owner and, on request, to one group. Loop thread only.
 */
#ifndef OPTRACE_DAEMON_LISTENER_H
#define OPTRACE_DAEMON_LISTENER_H

#include <uv.h>

#include "base/diag.h"
#include "daemon/producer.h"

struct listener {
    uv_poll_t poll;
    uv_timer_t timer; /* once a second */
    struct producer_group *group;
    int fd;
    int lock_fd;
    char *path;             /* to be removed at the end; NULL: systemd's */
    gid_t gid;              /* members may connect; (gid_t)-1: nobody but the owner */
    const char *group_name; /* borrowed; NULL: none */
};

/**
 * Make the socket, and the directory that it lies in. A stale one is replaced; one that somebody
 * listens on is not.
 *
 * group_name  borrowed until listener_close(); NULL: only the owner may connect. It is looked up
 *             here; whether a peer belongs to it, the kernel says
 *
 * Returns 0, or with a sentence in diag -EADDRINUSE, -EACCES, -ENAMETOOLONG, -ENOENT (no such
 * group), ...
 */
int listener_open(struct listener *listener, const char *path, const char *group_name,
                  struct diag *diag);

/** Take a socket that systemd made; group_name as above. */
int listener_adopt(struct listener *listener, int fd, const char *group_name, struct diag *diag);

/** Begin to accept connections for this group. */
int listener_start(struct listener *listener, uv_loop_t *loop, struct producer_group *group,
                   struct diag *diag);

/** Accept all that wait now, then none any more. */
void listener_stop(struct listener *listener);

/** Remove the socket and the lock. After listener_stop(), or instead of listener_start(). */
void listener_close(struct listener *listener);

#endif
