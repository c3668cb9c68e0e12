/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client defines: texts, models, ops, lanes. Each becomes a row and a number in its session.
 * An id that is defined already keeps what it has: a client that reconnects sends all of them
 * again. All return 0, or -EPROTO with the reason in diag. Loop thread only. No I/O.
 */
#ifndef OPTRACE_DAEMON_DEFINE_H
#define OPTRACE_DAEMON_DEFINE_H

#include "daemon/session.h"

/** One of a kind; ids are the numbers in use so far, and counted on. Outside of their file, for
 *  tests. */
int define_string(struct session *session, const struct ot_wire_string_view *string,
                  struct diag *diag);
int define_model(struct session *session, const struct ot_wire_model *model, struct store_ids *ids,
                 struct batch *batch, struct diag *diag);
int define_op(struct session *session, const struct ot_wire_op_view *op, struct store_ids *ids,
              struct batch *batch, struct diag *diag);
int define_lane(struct session *session, const struct ot_wire_lane *lane, struct store_ids *ids,
                struct batch *batch, struct diag *diag);

/** Decode a frame of one of these kinds (its header says which) and act on it. Returns also what
 *  decoding returns. */
int define_take_frame(struct session *session, const void *frame, size_t length,
                      struct store_ids *ids, struct batch *batch, struct diag *diag);

#endif
