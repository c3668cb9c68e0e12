/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon at work: store, socket, collector and signals wired together, from start to end. */
#ifndef OPTRACE_DAEMON_SERVICE_H
#define OPTRACE_DAEMON_SERVICE_H

#include "base/diag.h"
#include "daemon/settings.h"

/**
 * Open all that the settings name, say that it is ready, and serve until SIGTERM, SIGINT or, with
 * --once, until the last client has left.
 *
 * ready_fd  from process_go_background(), or -1
 *
 * Returns 0 after an orderly end; a negative errno, with the sentence in diag, when it could not
 * start: -ENAMETOOLONG a path, -EADDRINUSE socket in use, and what store_open() returns.
 */
int service_run(const struct settings *settings, int ready_fd, struct diag *diag);

#endif
