/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which runs the nodes are recorded, one by one: $OPTRACE_NODES is "off", "all" or "1/N". The
 * others are begun with OPTRACE_WITHOUT_OPS, so that means of ops are of those that have them.
 *
 * What that costs is measured: how much longer runs with nodes take than those without. Where it is
 * more than $OPTRACE_MAX_COST percent of the time of all runs, nodes of fewer runs are recorded, and
 * a mark says so. Unless it is set: 2, or no limit where $OPTRACE_NODES is set.
 *
 *     has_nodes = nodes_turn(&place);
 *     start = nodes_start(); ...; nodes_end(&place, has_nodes, start);
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_NODES_H
#define OPTRACE_CLIENT_INJECT_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "client/inject/recorder.h"

enum { NODES_EVERY = 20 }; /* without the variable */
enum { NODES_TIMES = 15 };

/** What has runs of its own, a session: with one for all, models that take turns would meet their
 *  turn always or never. All zero at first. */
struct nodes_place {
    uint32_t count; /* runs whose turn was looked at */
    uint32_t every; /* 0: as nodes_every() has it */
    uint32_t is_busy;
    uint32_t run_count; /* that were measured */
    uint32_t time_count[2];
    uint64_t times[2][NODES_TIMES]; /* in ticks, the latest; without nodes, with */
};

/** 0: of none; 1: of all; N: of the first run and each N-th from there on. */
uint32_t nodes_every(void);

/** Whether what nodes cost is limited; for the inline functions. */
bool nodes_are_limited(void);
bool nodes_turn_limited(struct nodes_place *place);
void nodes_end_limited(struct nodes_place *place, bool has_nodes, uint64_t start);

/** Whether it is this run's turn, and count it. */
static inline bool nodes_turn(struct nodes_place *place)
{
    const uint32_t every = nodes_every();

    if (every == 0)
        return false;
    if (nodes_are_limited())
        return nodes_turn_limited(place);
    return __atomic_fetch_add(&place->count, 1, __ATOMIC_RELAXED) % every == 0;
}

/** Around the run itself. */
static inline uint64_t nodes_start(void)
{
    return nodes_are_limited() ? recorder.ticks() : 0;
}

static inline void nodes_end(struct nodes_place *place, bool has_nodes, uint64_t start)
{
    if (start)
        nodes_end_limited(place, has_nodes, start);
}

#endif
