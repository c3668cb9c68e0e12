/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of threads, and names, which are defined by the library itself. Needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_DEFINE_H
#define OPTRACE_CLIENT_DEFINE_H

#include <stdint.h>

#include "client/optrace.h"

/**
 * A lane for the calling thread. When all ids are used up, one that an ended thread left.
 *
 * name  NULL: the one that the system has for the thread
 *
 * Returns 0, -E2BIG, -ENOSPC or -ENOMEM.
 */
int ot_define_thread_lane(const char *name, uint32_t *out_lane);

/** An ended thread's lane may be used again. */
void ot_define_free_lane(uint32_t lane);

/** In a child after fork(): the parent's threads do not exist here. */
void ot_define_forget_lanes(void);

/** The op of a name, as optrace_name() gives it. Needs the session's lock. Errors as in log.h. */
int ot_define_name(enum optrace_name_type type, const char *name, uint32_t *out_op);

#endif
