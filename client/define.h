/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of threads, which are defined by the library itself. Needs the session's lock. */
#ifndef OPTRACE_CLIENT_DEFINE_H
#define OPTRACE_CLIENT_DEFINE_H

#include <stdint.h>

/** A lane for the calling thread, under the name that the system has for it. When all ids are used
 *  up, one that an ended thread left. Returns 0, -ENOSPC or -ENOMEM. */
int ot_define_thread_lane(uint32_t *out_lane);

/** An ended thread's lane may be used again. */
void ot_define_free_lane(uint32_t lane);

/** In a child after fork(): the parent's threads do not exist here. */
void ot_define_forget_lanes(void);

#endif
