/* SPDX-License-Identifier: Apache-2.0 */
/* What systemd and its services say to each other, without libsystemd: sockets that were opened for
 * us, and that we are ready. All of it does nothing when systemd did not start us. */
#ifndef OPTRACE_DAEMON_NOTIFY_H
#define OPTRACE_DAEMON_NOTIFY_H

/** The listening socket that systemd handed over, or -1. Forgets about it: call it once. Other
 *  kinds of file descriptors are closed. */
int notify_take_socket(void);

/** Send a state such as "READY=1". Failure does not matter to anybody here. */
void notify_send(const char *state);

#endif
