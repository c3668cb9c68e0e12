/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What systemd and its services say to each other, without libsystemd: sockets that were opened for
 * us, file descriptors that it keeps for the next of us, and that we are ready. All of it does
 * nothing when systemd did not start us.
 */
#ifndef OPTRACE_DAEMON_NOTIFY_H
#define OPTRACE_DAEMON_NOTIFY_H

#include <stdbool.h>

#include "base/array.h"

enum { NOTIFY_NAME_BYTES = 64 };

struct notify_fd {
    int fd;
    char name[NOTIFY_NAME_BYTES];
};

struct notify_fds {
    int socket;                      /* the listening socket, or -1 */
    ARRAY_OF(struct notify_fd) kept; /* what notify_keep() gave away before */
};

/** Take what systemd handed over; the caller closes the fds. It forgets about them: call it once.
 */
void notify_take_fds(struct notify_fds *out_fds);

/** True when somebody listens to notify_...(). */
bool notify_is_active(void);

/** Send a state such as "READY=1". Failure does not matter to anybody here. */
void notify_send(const char *state);

/** Let systemd keep a duplicate of fd under this name, until notify_forget() or until the service
 *  is stopped for good. */
void notify_keep(const char *name, int fd);
void notify_forget(const char *name);

#endif
