/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service manager for one test, as systemd would be to a real optraced: the socket is handed
 * over, it is told what goes on, and keeps the file descriptors that the daemon gives it (FDSTORE)
 * while the daemon is away.
 *
 *     struct service_manager manager;
 *
 *     service_manager_init(&manager);
 *     service_manager_start(&manager);
 *     ... connect to manager.daemon.socket ...
 *     service_manager_wait_for_kept(&manager, 2);
 *     optraced_kill(&manager.daemon);
 *     service_manager_start(&manager);
 *     service_manager_deinit(&manager);
 *
 * All functions fail the test on a system error.
 */
#ifndef OPTRACE_TESTS_SUPPORT_SERVICE_MANAGER_H
#define OPTRACE_TESTS_SUPPORT_SERVICE_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/support/optraced.h"

enum { SERVICE_MANAGER_KEPT_MAX = 16 };

struct service_manager {
    struct optraced daemon;
    char *notify_path;
    int notify_fd;
    int listen_fd;
    struct {
        int fd;
        char name[64];
    } kept[SERVICE_MANAGER_KEPT_MAX];
    size_t kept_count;
    char said[4096]; /* states other than those of the fd store, one after the other */
};

/** Make the sockets; no daemon runs yet. */
void service_manager_init(struct service_manager *manager);

/** Kill the daemon if it still runs; give up all that is kept. */
void service_manager_deinit(struct service_manager *manager);

/** Keep a file descriptor under a name, as if a daemon had asked for it. Takes it. */
void service_manager_keep(struct service_manager *manager, const char *name, int fd);

/** Take one message from the daemon. Returns false when there is none. */
bool service_manager_hear(struct service_manager *manager);

/** Start the daemon with all that is kept, after what the last one said was heard; wait until it is
 *  ready. */
void service_manager_start(struct service_manager *manager);

/** Hear what the daemon says until that many file descriptors are kept. */
void service_manager_wait_for_kept(struct service_manager *manager, size_t count);

#endif
