/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line and the environment say. */
#ifndef OPTRACE_DAEMON_SETTINGS_H
#define OPTRACE_DAEMON_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "schema/store/retain.h"

/* What to do when the store's file is not there any more. */
enum lost_store { LOST_STORE_NEW, LOST_STORE_STOP };

struct settings {
    const char *socket_path; /* absolute, once settings_read() is done, as are the others */
    const char *store_path;
    const char *log_path; /* NULL: stderr */
    const char *pid_path; /* NULL: none */
    const char *group;    /* NULL: only the owner may connect */
    const char *store_budget, *keep_events,
        *keep_sessions; /* as given; what they say is in `bounds` */
    struct store_bounds bounds;
    const char *lost_store_word; /* as given */
    enum lost_store on_lost_store;
    int level;          /* enum ot_wire_level */
    int64_t starter_fd; /* closed at the other end: nobody more is to come; -1: none */
    bool no_commands;   /* of programs are kept */
    bool once, foreground, verbose;
    char paths[4][PATH_MAX]; /* where the paths point */
};

/** Reads argv. Returns 0 to go on; otherwise it has printed what there is to say and *out_status is
 *  the exit status. */
int settings_read(int argc, char **argv, struct settings *out_settings, int *out_status);

#endif
