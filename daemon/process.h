/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as a process: going on in the background, its limits, its pid file. */
#ifndef OPTRACE_DAEMON_PROCESS_H
#define OPTRACE_DAEMON_PROCESS_H

/**
 * Continue in a child process, in a session of its own. The parent waits and then exits: with 0
 * when the child calls process_say_ready(), else with the child's exit status. Call it before there
 * are threads.
 *
 * Returns, in the child, what process_say_ready() takes, or a negative errno.
 */
int process_go_background(void);

/** The daemon is ready: let the parent go, give up its terminal. */
void process_say_ready(int ready_fd);

/** As many file descriptors as the system allows: each client takes two. */
void process_raise_file_limit(void);

/** Write the process id; a failure is logged. NULL: nothing to do, here and below. */
void process_write_pid(const char *path);
void process_remove_pid(const char *path);

#endif
