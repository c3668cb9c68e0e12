/* SPDX-License-Identifier: Apache-2.0 */
/* What the small library has of ONNX Runtime's profiles of whole sessions, before API 25. */
#ifndef OPTRACE_TESTS_SUPPORT_ORT_PROFILE_H
#define OPTRACE_TESTS_SUPPORT_ORT_PROFILE_H

#include "tests/support/ort/nodes.h"

/** Put the functions of slots that belong here into a table. */
void profile_fill(function *table);

/** Begin the profile of a session whose options ask for one. */
void profile_begin(struct session *session, const struct options *options);

/** Three nodes of this thread's. */
void profile_run(const struct session *session);

/** Write what is left, and end it. */
void profile_end(struct session *session);

#endif
