/* SPDX-License-Identifier: Apache-2.0 */
/* Giving out memory from chunks. */
#include "daemon/arena.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/memory.h"

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    _Alignas(8) char bytes[];
};

enum { CHUNK_BYTES = 16 << 10 };

void *arena_memory(struct arena *arena, size_t length)
{
    size_t needed = (length + 7) & ~(size_t)7;
    struct arena_chunk *chunk = arena->chunks;
    void *memory;

    if (!chunk || chunk->size - chunk->used < needed) {
        size_t size = needed > CHUNK_BYTES ? needed : CHUNK_BYTES;

        chunk = memory_resized(NULL, 1, sizeof(*chunk) + size);
        *chunk = (struct arena_chunk){.size = size, .next = arena->chunks};
        arena->chunks = chunk;
    }
    memory = chunk->bytes + chunk->used;
    chunk->used += needed;
    arena->bytes += needed;
    return memory;
}

char *arena_text(struct arena *arena, const char *bytes, size_t length)
{
    char *text = arena_memory(arena, length + 1);

    if (length > 0)
        memcpy(text, bytes, length);
    text[length] = 0;
    return text;
}

void arena_deinit(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;

        free(arena->chunks);
        arena->chunks = next;
    }
    arena->bytes = 0;
}
