/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of chunks in huge pages; a chunk goes back to the system with its last piece. */
#include "kernels/cpu/weights.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    ALIGNMENT = 64,
    HUGE_PAGE_BYTES = 2 << 20,
    CHUNK_BYTES = 16 << 20,       /* and its alignment: a piece finds its chunk by its address */
    LARGE_BYTES = CHUNK_BYTES / 4 /* memory of its own */
};

/* At the beginning of its memory. */
struct chunk {
    size_t used; /* bytes, this included */
    uint64_t pieces;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *filling; /* the one that pieces are taken from, or NULL */

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void *alloc_huge(size_t bytes, size_t alignment)
{
    void *memory = aligned_alloc(alignment, round_up(bytes, alignment));

    if (memory)
        madvise(memory, bytes, MADV_HUGEPAGE); /* a wish: nothing depends on it */
    return memory;
}

static void *take_piece(size_t bytes)
{
    struct chunk *chunk = filling;
    void *piece;

    if (!chunk || chunk->used + bytes > CHUNK_BYTES) {
        chunk = alloc_huge(CHUNK_BYTES, CHUNK_BYTES);
        if (!chunk)
            return NULL;
        *chunk = (struct chunk){.used = ALIGNMENT};
        if (filling && filling->pieces == 0)
            free(filling);
        filling = chunk;
    }
    piece = (char *)chunk + chunk->used;
    chunk->used += bytes;
    chunk->pieces++;
    return piece;
}

void *weights_alloc(size_t bytes)
{
    void *memory;

    if (bytes >= LARGE_BYTES)
        return alloc_huge(bytes, HUGE_PAGE_BYTES);
    pthread_mutex_lock(&lock);
    memory = take_piece(round_up(bytes, ALIGNMENT));
    pthread_mutex_unlock(&lock);
    return memory;
}

void weights_free(void *memory, size_t bytes)
{
    struct chunk *chunk = (struct chunk *)((uintptr_t)memory & ~(uintptr_t)(CHUNK_BYTES - 1));

    if (bytes >= LARGE_BYTES) {
        free(memory);
        return;
    }
    if (!memory)
        return;
    pthread_mutex_lock(&lock);
    if (--chunk->pieces == 0) {
        chunk->used = ALIGNMENT;
        if (chunk != filling)
            free(chunk);
    }
    pthread_mutex_unlock(&lock);
}
