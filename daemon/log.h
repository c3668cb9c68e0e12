/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon says: one line per event, on stderr or in a file, with the time in front. Any
 * thread. A line is written with one write(), so that lines of several processes do not mix; it is
 * left out, and counted in the next one, when writing would block.
 */
#ifndef OPTRACE_DAEMON_LOG_H
#define OPTRACE_DAEMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/** Also write lines of log_detail(). Off at first. */
void log_set_verbose(bool verbose);

/** From now on append to this file (made with mode 0600) instead of writing to stderr. Returns 0 or
 *  a negative errno with the reason in diag; then nothing has changed. */
int log_open(const char *path, struct diag *diag);

/** Open the file anew, for log rotation. Does nothing while the log goes to stderr. */
void log_reopen(void);

/** Whether lines go to a file, so that who reads stderr does not see them. */
bool log_has_file(void);

/** Always written. */
void log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Written with --verbose only. */
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * A line about a peer. The same line, not counting its numbers, about the same peer is written once
 * in ten seconds; how often it was left out is added to the next one.
 *
 * pid  the peer
 */
void log_peer(int64_t pid, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
