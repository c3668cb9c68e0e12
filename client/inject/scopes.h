/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of NVTX and tasks of ITT: those that a thread pushes and pops, and those that begin here
 * and end anywhere.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_SCOPES_H
#define OPTRACE_CLIENT_INJECT_SCOPES_H

#include <stdbool.h>
#include <stdint.h>

#include "client/inject/runs.h"

struct scope {
    struct optrace_span span; /* none where it is not recorded */
    const void *owner;
    int level;
};

/* Those that are open on a thread, of all owners; made with its first. */
struct scopes {
    uint32_t count, capacity;
    uint32_t over; /* more that are open: they are ended first, and nothing is known of them */
    struct scope *items;
};
extern OT_TLS struct scopes *scopes_mine;

int scopes_push_slowly(const void *owner, uint32_t op);
int scopes_pop_slowly(const void *owner);

/** Begin one on this thread; `owner` has a stack of its own. op 0: it is not recorded, as while
 *  recorder_is_on() says no. Returns its depth in that stack, from 0, or -1 when there are too many. */
static inline int scopes_push(const void *owner, uint32_t op)
{
    struct scopes *mine = scopes_mine;
    struct scope *scope;

    if (UNLIKELY(!mine || mine->count == mine->capacity ||
                 (mine->count > 0 && mine->items[mine->count - 1].owner != owner)))
        return scopes_push_slowly(owner, op);
    scope = &mine->items[mine->count];
    scope->level = mine->count > 0 ? scope[-1].level + 1 : 0;
    scope->owner = owner;
    mine->count++;
    scope->span = op ? op_begin(op) : (struct optrace_span){0, 0};
    return scope->level;
}

/** End the innermost of `owner`. Returns its depth, or -1 when there is none. */
static inline int scopes_pop(const void *owner)
{
    struct scopes *mine = scopes_mine;
    const struct scope *scope;

    if (UNLIKELY(!mine || mine->count == 0 || mine->over > 0 ||
                 mine->items[mine->count - 1].owner != owner))
        return scopes_pop_slowly(owner);
    scope = &mine->items[--mine->count];
    if (scope->span.id)
        op_end(scope->span);
    return scope->level;
}

/** The op of a text that this thread has seen at this address with these contents before; 0 when it
 *  has not: scopes_remember() then. */
uint32_t scopes_recall(const void *owner, const char *text, uint64_t kind);
void scopes_remember(const void *owner, const char *text, uint64_t kind, uint32_t op);

enum { SCOPES_RANGES_MAX = 256 };

struct scopes_id {
    const void *owner;
    uint64_t words[3];
};

/** Begin one that may end on another thread, and overlap others: each stands on a lane of its own.
 *  id NULL: it is known by what is returned. Returns 0 when SCOPES_RANGES_MAX are open. */
uint64_t scopes_begin(const struct scopes_id *id, uint32_t op);
void scopes_end(uint64_t number);
void scopes_end_id(const struct scopes_id *id);

/** Name a thread of this process, as the system numbers it. */
void scopes_name_thread(uint32_t tid, const char *name);

#endif
