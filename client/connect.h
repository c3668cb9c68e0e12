/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping the session connected: connect, HELLO and WELCOME, sending what the daemon lacks, hearing
 * what it says, and connecting again. All of it needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_CONNECT_H
#define OPTRACE_CLIENT_CONNECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Do what can be done without waiting: connect when it is time, read, send. */
void ot_connect_tick(void);

/** The same, waiting until there is a connection or a refusal, for timeout_ms at most. With
 *  `patient`, goes on when nobody listens yet. Returns 0 when connected, else the reason. */
int ot_connect_wait(uint32_t timeout_ms, bool patient);

/** Send definitions and hand rings over, as far as the socket takes them. Returns 0 when the daemon
 *  has all, -EAGAIN when it must be called again, or -ENOTCONN. */
int ot_connect_push(void);

/** The same, waiting for a slow daemon: 200 ms once, then not again until it has caught up. */
int ot_connect_push_waiting(void);

/** Send one frame without variable parts, after all that ot_connect_push() sends; its header says
 *  meanwhile whether there are rings that cannot be handed over. Errors as there. */
int ot_connect_send(void *frame, size_t length);

#endif
