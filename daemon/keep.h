/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings that the service manager keeps while the daemon is away: so that even when the program and
 * the daemon are killed at once, the next daemon finds what the rings hold. Nothing happens without
 * a service manager. Loop thread only.
 */
#ifndef OPTRACE_DAEMON_KEEP_H
#define OPTRACE_DAEMON_KEEP_H

#include "daemon/notify.h"
#include "daemon/session.h"

/** A ring was handed over, again perhaps. fd is borrowed. */
void keep_ring(struct session *session, uint32_t ring_id, int fd);

/** All of this ring is committed. */
void keep_forget_ring(struct session *session, uint32_t ring_id);

/** The session's end is committed. */
void keep_forget_session(struct session *session);

/**
 * What a kept file descriptor says it is. Takes nothing for granted: the result is what a RING
 * frame would say, and ring_open() checks it as such.
 *
 * Returns 0, or -EPROTO with the reason.
 */
int keep_identify(int fd, uint8_t out_uuid[16], struct ot_wire_ring *out_ring, struct diag *diag);

#endif
