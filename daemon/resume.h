/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that go on: after the connection broke, or with a new daemon, from what the store
 * holds. Reads the store on the loop thread; that is a few pages, and rare. */
#ifndef OPTRACE_DAEMON_RESUME_H
#define OPTRACE_DAEMON_RESUME_H

#include "daemon/session.h"

/**
 * Look for the session of a HELLO in the store.
 *
 * reader       open for reading
 * out_session  written only on success: what it has defined, how far it was committed
 *
 * Returns 0; -ENOENT: not known; -ESTALE: it has ended, or belongs to another user; -EPROTO when
 * the HELLO contradicts it; another negative errno when the store cannot be read. All but the
 * first three with the reason in diag.
 */
int session_resume(struct store *reader, const struct ot_wire_hello_view *hello,
                   const struct session_peer *peer, struct session **out_session,
                   struct diag *diag);

/** A client is (again) connected: take its clock. Returns 0, or -EPROTO with the reason. */
int session_come_back(struct session *session, const struct ot_wire_hello_view *hello,
                      const struct session_peer *peer, struct diag *diag);

#endif
