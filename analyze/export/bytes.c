/* SPDX-License-Identifier: Apache-2.0 */
/* A list of blocks; a row lies in one of them. */
#include "analyze/export/bytes.h"

#include <stdlib.h>

/* The first block of a list is small, as most lists are. */
enum { FIRST_BYTES = 4096, BLOCK_BYTES = 65536 };

struct bytes_block {
    struct bytes_block *next;
    size_t size, capacity;
    uint8_t bytes[];
};

uint8_t *bytes_reserve(struct bytes *bytes, size_t most)
{
    struct bytes_block *block = bytes->last;
    size_t capacity = (block ? BLOCK_BYTES : FIRST_BYTES) - sizeof(*block);

    if (block && block->capacity - block->size >= most)
        return block->bytes + block->size;
    block = malloc(sizeof(*block) + capacity);
    if (!block)
        return NULL;
    block->next = NULL;
    block->size = 0;
    block->capacity = capacity;
    if (bytes->last)
        bytes->last->next = block;
    else
        bytes->first = block;
    bytes->last = block;
    return block->bytes;
}

void bytes_commit(struct bytes *bytes, const uint8_t *end)
{
    bytes->last->size = (size_t)(end - bytes->last->bytes);
}

void bytes_deinit(struct bytes *bytes)
{
    while (bytes->first) {
        struct bytes_block *block = bytes->first;

        bytes->first = block->next;
        free(block);
    }
    bytes->last = NULL;
}

struct bytes_reader bytes_read(const struct bytes *bytes)
{
    return (struct bytes_reader){.block = bytes->first};
}

const uint8_t *bytes_row(struct bytes_reader *reader)
{
    while (reader->block && reader->at == reader->block->size) {
        reader->block = reader->block->next;
        reader->at = 0;
    }
    return reader->block ? reader->block->bytes + reader->at : NULL;
}

void bytes_pass(struct bytes_reader *reader, const uint8_t *end)
{
    reader->at = (size_t)(end - reader->block->bytes);
}
