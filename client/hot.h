/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions that record have in common. */
#ifndef OPTRACE_CLIENT_HOT_H
#define OPTRACE_CLIENT_HOT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/ring.h"
#include "client/thread.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define COLD                __attribute__((noinline, cold))

/** Let the daemon see what was stored into the ring. */
static inline void ot_publish(struct ot_hot *hot, uint64_t state)
{
    hot->state = state;
    __atomic_store_n(&hot->ring->state, state, __ATOMIC_RELEASE);
}

static inline bool ot_is_due(const struct ot_hot *hot, uint64_t now)
{
    return now >= __atomic_load_n(&hot->deadline, __ATOMIC_RELAXED);
}

/** On the slow way: whether it was taken for the housekeeping. */
static inline bool ot_is_called(const struct ot_hot *hot, uint64_t now)
{
    return now >= __atomic_load_n(&hot->due, __ATOMIC_RELAXED);
}

#endif
