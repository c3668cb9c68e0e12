/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which runs the nodes are recorded, one by one: $OPTRACE_NODES is "off", "all" or "1/N". The
 * others are begun with OPTRACE_WITHOUT_OPS, so that means of ops are of those that have them.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_NODES_H
#define OPTRACE_CLIENT_INJECT_NODES_H

#include <stdbool.h>
#include <stdint.h>

enum { NODES_EVERY = 20 }; /* without the variable */

/** 0: of none; 1: of all; N: of the first run and each N-th from there on. */
uint32_t nodes_every(void);

/** Whether it is this run's turn, and count it. A counter for what has runs of its own (a session):
 *  with one for all, models that take turns would meet it always or never. */
static inline bool nodes_turn(uint32_t *counter)
{
    const uint32_t every = nodes_every();

    return every && __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED) % every == 0;
}

#endif
