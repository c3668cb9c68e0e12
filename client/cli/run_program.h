/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another program in place of this one, as far as anybody outside can tell: it has the streams, the
 * terminal and the process group, signals that others send here are sent on to it, and its end is
 * this one's.
 *
 *     run_program_start(); run_program_wait(); ...; run_program_end_like().
 *
 * Inside client/cli only.
 */
#ifndef OPTRACE_CLIENT_CLI_RUN_PROGRAM_H
#define OPTRACE_CLIENT_CLI_RUN_PROGRAM_H

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"

struct run_program {
    pid_t pid;
    sigset_t old_mask; /* signals are blocked from here on: they are waited for */
    struct sigaction old_child_action;
};

/** Whether there is such a program: 0, or 126 or 127, the exit status, with a sentence. out_path is
 *  where it lies. */
int run_program_find(const char *name, char out_path[PATH_MAX], struct diag *diag);

/**
 * settings  "NAME=VALUE" each, of its environment besides ours; ends in NULL
 *
 * Returns 0; 126 or 127, the exit status, with a sentence when it cannot be run or is not there; or
 * a negative errno with one.
 */
int run_program_start(struct run_program *program, char *const *argv, const char *const *settings,
                      struct diag *diag);

/** Wait for its end, passing on what comes meanwhile. Returns what waitpid() says of it. */
int run_program_wait(struct run_program *program);

/** The exit status for this; does not return when it was killed by a signal: this process is, too.
 */
int run_program_end_like(const struct run_program *program, int status);

#endif
