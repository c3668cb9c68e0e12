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
#include <string.h>

#include "client/inject/runs.h"

struct scope {
    struct optrace_span span; /* none where it is not recorded */
    const void *owner;
    int level;
};

enum {
    SCOPES_TEXTS = 64,
    SCOPES_TEXT_WORDS = 8, /* longer ones are looked up */
    SCOPES_PAGE = 4096,    /* no page is smaller */
};

/* A text that a thread has seen, and its op. */
struct scopes_text {
    const char *address;
    const void *owner;
    uint64_t kind;
    uint32_t op, word_count;
    uint64_t words[SCOPES_TEXT_WORDS]; /* the text with its end */
    uint64_t last;                     /* which bits of the last word are of it */
};

/* Those that are open on a thread, of all owners; made with its first. */
struct scopes {
    uint32_t count, capacity;
    uint32_t over; /* more that are open: they are ended first, and nothing is known of them */
    struct scope *items;
    struct scopes_text texts[SCOPES_TEXTS];
};
extern OT_TLS struct scopes *scopes_mine;

int scopes_push_slowly(const void *owner, uint32_t op);
int scopes_pop_slowly(const void *owner);

enum { SCOPES_UNTRACKED = -2 }; /* what NVTX answers without a tool, too */

/* In two words: one of 16 bytes would have to wait until both of its halves are in the cache. */
static inline void scopes_put_span(struct scope *scope, struct optrace_span span)
{
    __asm__("" : "+r"(span.start), "+r"(span.id));
    scope->span = span;
}

static inline void scopes_begin_span(struct scope *scope, uint32_t op)
{
    if (LIKELY(op))
        scopes_put_span(scope, op_begin(op));
    else
        scope->span.id = 0;
}

static inline bool scopes_are_empty(void)
{
    const struct scopes *mine = scopes_mine;

    return LIKELY(!mine) || mine->count == 0;
}

/** Whether one that begins now is neither recorded nor to be told from others that are: nothing is
 *  to be done for it, and nothing for its end. What else there is to do belongs into a function that is
 *  not inlined: registers are kept for that alone. */
static inline bool scopes_are_quiet(void)
{
    return recorder_is_off() && scopes_are_empty() && recorder_may_pass();
}

/** Begin one on this thread; `owner` has a stack of its own. op 0: it is not recorded, as while
 *  recorder_is_on() says no. Returns its depth in that stack, from 0, without those that are not
 *  recorded and lie below all others, for which this is SCOPES_UNTRACKED; -1 when there are too many. */
static inline int scopes_push(const void *owner, uint32_t op)
{
    struct scopes *mine = scopes_mine;
    struct scope *scope;

    if (op == 0 && scopes_are_empty())
        return SCOPES_UNTRACKED;
    if (UNLIKELY(!mine || mine->count == mine->capacity ||
                 (mine->count > 0 && mine->items[mine->count - 1].owner != owner)))
        return scopes_push_slowly(owner, op);
    scope = &mine->items[mine->count];
    scope->level = mine->count > 0 ? scope[-1].level + 1 : 0;
    scope->owner = owner;
    mine->count++;
    scopes_begin_span(scope, op);
    return scope->level;
}

/** The same where nobody asks for the depth: others may lie between, at no cost. */
static inline void scopes_put(const void *owner, uint32_t op)
{
    struct scopes *mine = scopes_mine;
    struct scope *scope;

    if (op == 0 && scopes_are_empty())
        return;
    if (UNLIKELY(!mine || mine->count == mine->capacity)) {
        scopes_push_slowly(owner, op);
        return;
    }
    scope = &mine->items[mine->count++];
    scope->level = 0;
    scope->owner = owner;
    scopes_begin_span(scope, op);
}

/** End the innermost of `owner`. Returns its depth, or -1 when there is none. */
static inline int scopes_pop(const void *owner)
{
    struct scopes *mine = scopes_mine;
    const struct scope *scope;

    if (scopes_are_empty())
        return -1;
    if (UNLIKELY(mine->over > 0 || mine->items[mine->count - 1].owner != owner))
        return scopes_pop_slowly(owner);
    scope = &mine->items[--mine->count];
    if (scope->span.id)
        op_end(scope->span);
    return scope->level;
}

static inline struct scopes_text *scopes_text_slot(struct scopes *mine, const char *text,
                                                   const void *owner)
{
    return &mine->texts[((uintptr_t)text >> 3 ^ (uintptr_t)text >> 9 ^ (uintptr_t)owner >> 4) %
                        SCOPES_TEXTS];
}

/* A call of strcmp() takes as long as all else. Beyond a text that has become shorter is read what
 * lies on its page. */
static inline bool scopes_text_is(const struct scopes_text *slot, const char *text)
{
    const uint32_t last = slot->word_count - 1;
    uint64_t word;

    if (UNLIKELY(((uintptr_t)text & (SCOPES_PAGE - 1)) + slot->word_count * sizeof(word) >
                 SCOPES_PAGE))
        return strncmp((const char *)slot->words, text, sizeof(slot->words)) == 0;
    for (uint32_t i = 0; i < last; i++) {
        memcpy(&word, text + i * sizeof(word), sizeof(word));
        if (slot->words[i] != word)
            return false;
    }
    memcpy(&word, text + last * sizeof(word), sizeof(word));
    return ((slot->words[last] ^ word) & slot->last) == 0;
}

/** The op of a text that this thread has seen at this address with these contents before; 0 when it
 *  has not: scopes_remember() then. */
static inline uint32_t scopes_recall(const void *owner, const char *text, uint64_t kind)
{
    struct scopes *const mine = scopes_mine;
    const struct scopes_text *slot;

    if (UNLIKELY(!mine))
        return 0;
    slot = scopes_text_slot(mine, text, owner);
    return LIKELY(slot->address == text) && slot->owner == owner && slot->kind == kind &&
                   scopes_text_is(slot, text)
               ? slot->op
               : 0;
}
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
