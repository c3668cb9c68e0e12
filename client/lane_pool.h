/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of threads. A session has ids for 4096; a program may have a thread per request for
 * weeks. So the first threads get a lane each, which says who they were, and those that come later
 * take turns: a lane without a native_id is of threads that follow one another, of one name as long
 * as there are not too many names. An id keeps its meaning: no lane of one thread is ever given
 * away.
 *
 * Needs the session's lock.
 */
#ifndef OPTRACE_CLIENT_LANE_POOL_H
#define OPTRACE_CLIENT_LANE_POOL_H

#include <stdint.h>

/** Threads that have a lane of their own, names that have lanes of their own, and lanes for threads
 *  of all other names: together less than there are ids, so that streams and queues find some. */
enum {
    OT_LANES_OWN_MAX = 2048,
    OT_LANES_NAMED_MAX = 512,
    OT_LANES_OTHER_MAX = 1024,
};

/**
 * A lane for the calling thread.
 *
 * name  NULL: the one that the system has for the thread
 *
 * Returns 0, -E2BIG, -ENOSPC or -ENOMEM.
 */
int ot_lane_pool_take(const char *name, uint32_t *out_lane);

/** A thread has ended, which had this lane: the next one may have it, if it is shared. */
void ot_lane_pool_give(uint32_t lane);

/** In a child after fork(): the parent's threads and their lanes do not exist here. */
void ot_lane_pool_forget(void);

#endif
