/* SPDX-License-Identifier: Apache-2.0 */
/* Which process a pid stood for: pids are given again, at the latest after a reboot. */
#ifndef OPTRACE_DAEMON_IDENTITY_H
#define OPTRACE_DAEMON_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

enum { IDENTITY_BYTES = 72 };

/** The boot and the start of the process that has this pid now, as a text; empty where /proc does
 *  not tell. */
void identity_read(int64_t pid, char out_text[IDENTITY_BYTES]);

/** Whether the process still lives that had this pid and this identity. `text` may be NULL or
 *  empty: any process of that pid will do. */
bool identity_lives(int64_t pid, const char *text);

#endif
