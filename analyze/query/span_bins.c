/* SPDX-License-Identifier: Apache-2.0 */
/* A list of blocks for each lane. */
#include "analyze/query/span_bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The first block of a lane is small, as most lanes are. The next ones are mapped: malloc() would
 * keep what is given back, and twice the memory would be in use in the end. */
enum { FIRST_BYTES = 8192, MAPPED_BYTES = 1 << 20 };

struct span_block {
    struct span_block *next;
    size_t count, capacity;
    bool is_mapped;
    struct span spans[];
};

static struct span_block *block_create(bool is_mapped)
{
    size_t bytes = is_mapped ? MAPPED_BYTES : FIRST_BYTES;
    struct span_block *block =
        is_mapped ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                  : malloc(bytes);

    if (!block || block == MAP_FAILED)
        return NULL;
    block->next = NULL;
    block->count = 0;
    block->capacity = (bytes - sizeof(*block)) / sizeof(block->spans[0]);
    block->is_mapped = is_mapped;
    return block;
}

static void block_destroy(struct span_block *block)
{
    if (block->is_mapped)
        munmap(block, MAPPED_BYTES);
    else
        free(block);
}

int span_bins_init(struct span_bins *bins, size_t lane_count)
{
    *bins = (struct span_bins){.lane_count = lane_count};
    bins->bins = calloc(lane_count ? lane_count : 1, sizeof(*bins->bins));
    return bins->bins ? 0 : -ENOMEM;
}

void span_bins_clear(struct span_bins *bins)
{
    for (size_t i = 0; i < bins->lane_count && bins->bins; i++) {
        while (bins->bins[i].first) {
            struct span_block *block = bins->bins[i].first;

            bins->bins[i].first = block->next;
            block_destroy(block);
        }
        bins->bins[i].last = NULL;
    }
    bins->count = 0;
}

void span_bins_deinit(struct span_bins *bins)
{
    span_bins_clear(bins);
    free(bins->bins);
    bins->bins = NULL;
}

static struct span_block *add_block(struct span_bin *bin)
{
    struct span_block *block = block_create(bin->last != NULL);

    if (!block)
        return NULL;
    if (bin->last)
        bin->last->next = block;
    else
        bin->first = block;
    bin->last = block;
    return block;
}

int span_bins_add(struct span_bins *bins, const struct span *span)
{
    struct span_bin *bin = &bins->bins[span->lane];
    struct span_block *block = bin->last;

    if (!block || block->count == block->capacity)
        block = add_block(bin);
    if (!block)
        return -ENOMEM;
    block->spans[block->count++] = *span;
    bins->count++;
    return 0;
}

int span_bins_move(struct span_bins *bins, struct spans_answer *answer)
{
    if (array_reserve(&answer->spans, answer->spans.count + bins->count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < bins->lane_count; i++) {
        struct span_bin *bin = &bins->bins[i];

        while (bin->first) {
            struct span_block *block = bin->first;

            memcpy(answer->spans.items + answer->spans.count, block->spans,
                   block->count * sizeof(block->spans[0]));
            answer->spans.count += block->count;
            bin->first = block->next;
            block_destroy(block);
        }
        bin->last = NULL;
    }
    bins->count = 0;
    return 0;
}
