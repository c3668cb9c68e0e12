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
    while (bins->spare) {
        struct span_block *block = bins->spare;

        bins->spare = block->next;
        block_destroy(block);
    }
    free(bins->bins);
    bins->bins = NULL;
}

static struct span_block *add_block(struct span_bins *bins, struct span_bin *bin)
{
    struct span_block *block = bins->spare;

    if (block && bin->last)
        bins->spare = block->next;
    else
        block = block_create(bin->last != NULL);
    if (!block)
        return NULL;
    block->next = NULL;
    block->count = 0;
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
        block = add_block(bins, bin);
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

/* --- Parts. --- */

/* What stands against a cut. */
struct crossing {
    int64_t lowest_ns;  /* the first start of those that lie on both sides, or the cut */
    int64_t touches_ns; /* the first start of those that end there, or the cut */
    bool has_point;     /* something that takes no time is there */
    size_t count;       /* that begin before it */
};

static struct crossing cross(const struct span_bins *bins, int64_t cut_ns)
{
    struct crossing found = {.lowest_ns = cut_ns, .touches_ns = cut_ns};

    for (size_t i = 0; i < bins->lane_count; i++) {
        for (const struct span_block *block = bins->bins[i].first; block; block = block->next) {
            for (size_t k = 0; k < block->count; k++) {
                int64_t start_ns = block->spans[k].start_ns;
                int64_t end_ns = start_ns + block->spans[k].dur_ns;

                found.count += start_ns < cut_ns;
                found.has_point |= start_ns == cut_ns && end_ns == cut_ns;
                if (end_ns > cut_ns && start_ns < found.lowest_ns)
                    found.lowest_ns = start_ns;
                if (end_ns == cut_ns && start_ns < found.touches_ns)
                    found.touches_ns = start_ns;
            }
        }
    }
    return found;
}

bool span_bins_find_cut(const struct span_bins *bins, int64_t limit_ns, int tries, int64_t *out_ns,
                        size_t *out_count)
{
    int64_t cut_ns = limit_ns;

    for (int i = 0; i < tries; i++) {
        struct crossing found = cross(bins, cut_ns);

        if (found.lowest_ns < cut_ns) {
            cut_ns = found.lowest_ns;
        } else if (found.touches_ns < cut_ns && (cut_ns == limit_ns || found.has_point)) {
            cut_ns = found.touches_ns;
        } else {
            *out_ns = cut_ns;
            *out_count = found.count;
            return true;
        }
    }
    return false;
}

/* Keeps those behind the cut in the blocks of the bin. */
static void cut_bin(struct span_bins *bins, struct span_bin *bin,
                    bool (*is_before)(const void *user, const struct span *span), const void *user,
                    struct spans_answer *answer)
{
    struct span_block *from = bin->first, *into = bin->first, *next;
    size_t kept = 0;

    for (; from; from = from->next) {
        for (size_t k = 0, count = from->count; k < count; k++) {
            if (is_before(user, &from->spans[k])) {
                answer->spans.items[answer->spans.count++] = from->spans[k];
                bins->count--;
                continue;
            }
            if (kept == into->capacity) {
                into->count = kept;
                into = into->next;
                kept = 0;
            }
            into->spans[kept++] = from->spans[k];
        }
    }
    if (!into)
        return;
    into->count = kept;
    bin->last = into;
    for (from = into->next, into->next = NULL; from; from = next) {
        next = from->next;
        from->next = bins->spare;
        bins->spare = from;
    }
}

int span_bins_cut(struct span_bins *bins,
                  bool (*is_before)(const void *user, const struct span *span), const void *user,
                  struct spans_answer *answer)
{
    if (array_reserve(&answer->spans, bins->count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < bins->lane_count; i++)
        cut_bin(bins, &bins->bins[i], is_before, user, answer);
    return 0;
}

struct span_cursor span_bins_cursor(const struct span_bins *bins, size_t lane)
{
    return (struct span_cursor){.block = bins->bins[lane].first};
}

const struct span *span_cursor_next(struct span_cursor *cursor)
{
    while (cursor->block && cursor->next == cursor->block->count) {
        cursor->block = cursor->block->next;
        cursor->next = 0;
    }
    return cursor->block ? &cursor->block->spans[cursor->next++] : NULL;
}
