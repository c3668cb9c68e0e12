/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and small things that are freed all at once. {0} is the empty arena. One thread. */
#ifndef OPTRACE_DAEMON_ARENA_H
#define OPTRACE_DAEMON_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks;
    size_t bytes; /* given out */
};

/** Room for `length` bytes, aligned to 8, not zeroed. */
void *arena_memory(struct arena *arena, size_t length);

/** A copy of a text, with a NUL behind it. */
char *arena_text(struct arena *arena, const char *bytes, size_t length);

/** Free it all; leaves the empty arena. */
void arena_deinit(struct arena *arena);

#endif
