/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon for one command, on a socket of its own. It ends with the last program that records to
 * it, once private_daemon_end() has been called or this process is gone.
 *
 *     private_daemon_start(); ... programs run with OPTRACE_SOCKET=daemon.socket ...;
 *     private_daemon_end().
 *
 * Inside client/cli only. Functions return 0, or a negative errno with one sentence in diag.
 */
#ifndef OPTRACE_CLIENT_CLI_PRIVATE_DAEMON_H
#define OPTRACE_CLIENT_CLI_PRIVATE_DAEMON_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"
#include "client/link.h"

struct private_daemon {
    pid_t keeper;    /* waits for the daemon and removes its folder */
    int starter_fd;  /* closed: nobody more is to come */
    char folder[64]; /* of socket and log */
    char socket[OT_LINK_PATH_BYTES];
    char store[PATH_MAX];
};

/** store  path of the file, or NULL for the default. Blocks until programs can connect. */
int private_daemon_start(struct private_daemon *daemon, const char *store, struct diag *diag);

/**
 * Nobody more is to come. Waits until all is stored, unless programs are still recording:
 * *out_left_count of them then, and the daemon ends after them.
 */
int private_daemon_end(struct private_daemon *daemon, unsigned *out_left_count, struct diag *diag);

/** Whether a file can be written anew: absent, empty, or a store that `replace` gives up, which is
 *  removed then. Returns -EEXIST of a file that is no store, -ENOTEMPTY of a store without
 *  `replace`. */
int private_daemon_clear(const char *path, bool replace, struct diag *diag);

#endif
