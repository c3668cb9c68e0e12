/* SPDX-License-Identifier: Apache-2.0 */
/* Placing items in the order of time: an allocator with lists of free blocks by size, in an arena
 * that grows at its end. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime/exec/plan.h"
#include "runtime/exec/plan_place.h"

/* Sizes, in units of the alignment, by their three highest bits: below 8 each has its own list. */
enum { LISTS = 64 * 4, NO_BLOCK = UINT32_MAX, LOOKS = 32 };

struct block {
    size_t offset, bytes;
    uint32_t before, after;  /* neighbours in the arena, or NO_BLOCK */
    uint32_t next, previous; /* in the list of free ones of its size */
    bool is_free;
};

struct arena {
    struct block *blocks;
    uint32_t block_count;
    uint32_t end; /* the last one in the arena */
    uint32_t lists[LISTS];
    uint64_t filled[LISTS / 64]; /* bits: lists with a block */
};

static uint32_t list_of(size_t bytes)
{
    size_t units = bytes / PLAN_ALIGNMENT;
    int high = 63 - __builtin_clzll(units | 1);

    return units < 4 ? (uint32_t)units : (uint32_t)high * 4 + (units >> (high - 2) & 3);
}

static void put_free(struct arena *arena, uint32_t index)
{
    struct block *block = &arena->blocks[index];
    uint32_t list = list_of(block->bytes);

    block->is_free = true;
    block->previous = NO_BLOCK;
    block->next = arena->lists[list];
    if (block->next != NO_BLOCK)
        arena->blocks[block->next].previous = index;
    arena->lists[list] = index;
    arena->filled[list / 64] |= (uint64_t)1 << list % 64;
}

static void take_free(struct arena *arena, uint32_t index)
{
    struct block *block = &arena->blocks[index];
    uint32_t list = list_of(block->bytes);

    block->is_free = false;
    if (block->next != NO_BLOCK)
        arena->blocks[block->next].previous = block->previous;
    if (block->previous != NO_BLOCK)
        arena->blocks[block->previous].next = block->next;
    else
        arena->lists[list] = block->next;
    if (arena->lists[list] == NO_BLOCK)
        arena->filled[list / 64] &= ~((uint64_t)1 << list % 64);
}

/* A free block with room, or NO_BLOCK. */
static uint32_t find_free(const struct arena *arena, size_t bytes)
{
    uint32_t list = list_of(bytes), best = NO_BLOCK, looks = 0;

    /* In its own list some are too small: not all are looked at. */
    for (uint32_t i = arena->lists[list]; i != NO_BLOCK && looks < LOOKS; looks++) {
        const struct block *block = &arena->blocks[i];

        if (block->bytes >= bytes && (best == NO_BLOCK || block->bytes < arena->blocks[best].bytes))
            best = i;
        i = block->next;
    }
    if (best != NO_BLOCK)
        return best;
    for (list++; list < LISTS; list = (list / 64 + 1) * 64) {
        uint64_t filled = arena->filled[list / 64] >> list % 64;

        if (filled)
            return arena->lists[list + (uint32_t)__builtin_ctzll(filled)];
    }
    return NO_BLOCK;
}

/* A block at the end; a free one that is there becomes larger. */
static uint32_t grow(struct arena *arena, size_t bytes)
{
    uint32_t end = arena->end;

    if (end != NO_BLOCK && arena->blocks[end].is_free) {
        take_free(arena, end);
        arena->blocks[end].bytes = bytes;
        return end;
    }
    arena->blocks[arena->block_count] = (struct block){
        .offset = end == NO_BLOCK ? 0 : arena->blocks[end].offset + arena->blocks[end].bytes,
        .bytes = bytes,
        .before = end,
        .after = NO_BLOCK,
    };
    if (end != NO_BLOCK)
        arena->blocks[end].after = arena->block_count;
    arena->end = arena->block_count;
    return arena->block_count++;
}

/* Make what is behind the first `bytes` of a block a free one. */
static void split(struct arena *arena, uint32_t index, size_t bytes)
{
    struct block *block = &arena->blocks[index];
    uint32_t rest = arena->block_count;

    if (block->bytes == bytes)
        return;
    arena->block_count++;
    arena->blocks[rest] = (struct block){
        .offset = block->offset + bytes,
        .bytes = block->bytes - bytes,
        .before = index,
        .after = block->after,
    };
    if (block->after != NO_BLOCK)
        arena->blocks[block->after].before = rest;
    else
        arena->end = rest;
    block->after = rest;
    block->bytes = bytes;
    put_free(arena, rest);
}

static uint32_t allocate(struct arena *arena, size_t bytes)
{
    uint32_t index = find_free(arena, bytes);

    if (index == NO_BLOCK)
        return grow(arena, bytes);
    take_free(arena, index);
    split(arena, index, bytes);
    return index;
}

/* The block takes in the one behind it. */
static void absorb(struct arena *arena, uint32_t index)
{
    struct block *block = &arena->blocks[index];
    const struct block *after = &arena->blocks[block->after];

    block->bytes += after->bytes;
    block->after = after->after;
    if (block->after != NO_BLOCK)
        arena->blocks[block->after].before = index;
    else
        arena->end = index;
}

static void release(struct arena *arena, uint32_t index)
{
    uint32_t after = arena->blocks[index].after, before = arena->blocks[index].before;

    if (after != NO_BLOCK && arena->blocks[after].is_free) {
        take_free(arena, after);
        absorb(arena, index);
    }
    if (before != NO_BLOCK && arena->blocks[before].is_free) {
        take_free(arena, before);
        absorb(arena, before);
        index = before;
    }
    put_free(arena, index);
}

int plan_place_by_time(const struct item *items, const uint32_t *by_first, const uint32_t *by_last,
                       uint32_t count, size_t *out_bytes)
{
    /* An item adds one block at most: behind the others, or the rest of a free one. */
    struct arena arena = {.blocks = calloc(count, sizeof(*arena.blocks)), .end = NO_BLOCK};
    uint32_t *of_item = calloc(count, sizeof(*of_item));
    uint32_t ended = 0;
    int rc = -ENOMEM;

    for (uint32_t i = 0; i < LISTS; i++)
        arena.lists[i] = NO_BLOCK;
    *out_bytes = 0;
    for (uint32_t i = 0; arena.blocks && of_item && i < count; i++) {
        const struct item *item = &items[by_first[i]];

        for (; items[by_last[ended]].life.last < item->life.first; ended++)
            if (items[by_last[ended]].bytes)
                release(&arena, of_item[by_last[ended]]);
        *item->offset = 0;
        if (!item->bytes)
            continue;
        of_item[by_first[i]] = allocate(&arena, item->bytes);
        *item->offset = arena.blocks[of_item[by_first[i]]].offset;
        if (*item->offset + item->bytes > *out_bytes)
            *out_bytes = *item->offset + item->bytes;
    }
    if (arena.blocks && of_item)
        rc = 0;
    free(arena.blocks);
    free(of_item);
    return rc;
}
