/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that go on: after the connection broke, or with a new daemon, from what the store
 * holds. Reads the store on the loop thread; that is a few pages, and rare. */
#ifndef OPTRACE_DAEMON_RESUME_H
#define OPTRACE_DAEMON_RESUME_H

#include "daemon/session.h"

/**
 * Look for a session in the store.
 *
 * reader       open for reading
 * out_session  written only on success: what it has defined, how far it was committed
 *
 * Returns 0; -ENOENT: not known; -ESTALE: it has ended; another negative errno when the store
 * cannot be read, or holds what no daemon wrote, with the reason in diag.
 */
int session_resume(struct store *reader, const uint8_t uuid[16], struct session_budget *budget,
                   struct session **out_session, struct diag *diag);

/**
 * End the sessions whose programs died while no daemon was there: they stand open in the store, are
 * not in the list `known`, and their process is gone, though another may have its pid. What they
 * recorded since the last commit is not known.
 *
 * Adds the rows that say so and that end them to the batch. Returns how many of them still live, or
 * a negative errno with the reason in diag.
 */
int resume_end_strays(struct store *reader, const struct session *known, struct batch *batch,
                      struct diag *diag);

/** A client is (again) connected: take its clock. Returns 0, or -EPROTO with the reason. */
int session_come_back(struct session *session, const struct ot_wire_hello_view *hello,
                      const struct session_peer *peer, struct diag *diag);

#endif
