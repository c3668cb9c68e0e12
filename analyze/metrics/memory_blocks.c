/* SPDX-License-Identifier: Apache-2.0 */
/* Pairing what was taken with what was given back, and walking over it in time. */
#include "analyze/metrics/memory_blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Pools. --- */

static bool is_same_device(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int find_pool(struct memory_blocks *out_blocks, const struct lane_row *lane,
                     uint32_t *out_pool)
{
    struct memory_pool pool = {.session_id = lane->session_id, .device = lane->device};

    for (size_t i = 0; i < out_blocks->pools.count; i++) {
        if (out_blocks->pools.items[i].session_id == pool.session_id &&
            is_same_device(out_blocks->pools.items[i].device, pool.device)) {
            *out_pool = (uint32_t)i;
            return 0;
        }
    }
    *out_pool = (uint32_t)out_blocks->pools.count;
    return array_push(&out_blocks->pools, pool);
}

/* --- Pairing. --- */

/* A row by what its partner has in common with it. */
struct keyed_row {
    uint32_t pool;
    bool has_address;
    int64_t key; /* the address or the size */
    int64_t row;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed_row *left = a, *right = b;

    if (left->pool != right->pool)
        return left->pool < right->pool ? -1 : 1;
    if (left->has_address != right->has_address)
        return left->has_address - right->has_address;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

static bool is_same_key(const struct keyed_row *a, const struct keyed_row *b)
{
    return a->pool == b->pool && a->has_address == b->has_address && a->key == b->key;
}

static int64_t size_of(const struct memory_row *row)
{
    return row->bytes == STORE_NULL || row->bytes == INT64_MIN ? 0 : llabs(row->bytes);
}

static bool is_taken(const struct memory_row *row)
{
    return row->bytes != STORE_NULL && row->bytes > 0;
}

struct pairing {
    struct memory_blocks *out;
    const struct memory_row_array *rows;
    ARRAY_OF(uint32_t) open; /* blocks of the present key, the latest last */
};

static void end_latest(struct pairing *pairing, const struct keyed_row *keyed)
{
    struct memory_block *block =
        &pairing->out->blocks.items[pairing->open.items[--pairing->open.count]];

    block->end_ns = pairing->rows->items[keyed->row].time_ns;
    block->end_row = keyed->row;
}

static int take(struct pairing *pairing, const struct keyed_row *keyed)
{
    const struct memory_row *row = &pairing->rows->items[keyed->row];
    struct memory_block block = {
        .pool = keyed->pool,
        .op = row->op,
        .lane = row->lane,
        .bytes = row->bytes,
        .start_ns = row->time_ns,
        .end_ns = MEMORY_NEVER,
        .start_row = keyed->row,
        .end_row = INT64_MAX,
        .is_shown = true,
    };

    if (keyed->has_address && pairing->open.count) {
        pairing->out->pools.items[keyed->pool].retaken_count++;
        end_latest(pairing, keyed);
    }
    if (array_push(&pairing->open, (uint32_t)pairing->out->blocks.count) < 0)
        return -ENOMEM;
    return array_push(&pairing->out->blocks, block);
}

static int give_back(struct pairing *pairing, const struct keyed_row *keyed)
{
    const struct memory_row *row = &pairing->rows->items[keyed->row];
    struct memory_pool *pool = &pairing->out->pools.items[keyed->pool];
    struct memory_block block = {
        .pool = keyed->pool,
        .op = SPAN_NONE,
        .lane = row->lane,
        .bytes = size_of(row),
        .start_ns = MEMORY_BEFORE,
        .end_ns = row->time_ns,
        .start_row = -1,
        .end_row = keyed->row,
        .is_shown = true,
    };

    if (pairing->open.count) {
        end_latest(pairing, keyed);
        return 0;
    }
    pool->stray_count++;
    pool->stray_bytes += block.bytes;
    return array_push(&pairing->out->blocks, block);
}

static int pair_rows(struct pairing *pairing, struct keyed_row *keyed, size_t count)
{
    int rc = 0;

    if (count)
        qsort(keyed, count, sizeof(*keyed), compare_keyed);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (i == 0 || !is_same_key(&keyed[i], &keyed[i - 1]))
            pairing->open.count = 0;
        if (is_taken(&pairing->rows->items[keyed[i].row]))
            rc = take(pairing, &keyed[i]);
        else
            rc = give_back(pairing, &keyed[i]);
    }
    return rc;
}

/* --- What was there before. --- */

/* What the allocator of a row's memory holds behind it, or NaN. */
static double total_at(const struct counter_row_array *totals, const struct memory_row *row)
{
    for (size_t i = 0; i < totals->count; i++) {
        if (totals->items[i].lane == row->lane && totals->items[i].time_ns == row->time_ns)
            return totals->items[i].value;
    }
    return NAN;
}

static int64_t base_of(const struct counter_row_array *totals, const struct memory_row *first)
{
    double total = first->bytes == STORE_NULL ? NAN : total_at(totals, first);

    return total > 0 && total < 4e18 && (double)first->bytes < total /* with 2^61: query_memory() */
               ? (int64_t)total - first->bytes
               : 0;
}

/* What of it is given back later is there already, block by block. */
static int add_rest(struct memory_blocks *out_blocks, uint32_t pool, uint32_t lane)
{
    struct memory_block block = {
        .pool = pool,
        .op = SPAN_NONE,
        .lane = lane,
        .bytes = out_blocks->pools.items[pool].base_bytes - memory_bytes_before(out_blocks, pool),
        .start_ns = MEMORY_BEFORE,
        .end_ns = MEMORY_NEVER,
        .start_row = -1,
        .end_row = INT64_MAX,
        .is_shown = true,
    };

    return block.bytes > 0 ? array_push(&out_blocks->blocks, block) : 0;
}

static int add_bases(struct memory_blocks *out_blocks, const struct spans_answer *spans,
                     const struct memory_row_array *rows, const struct counter_row_array *totals)
{
    size_t found = 0;
    int rc = 0;

    for (size_t i = 0; i < rows->count && found < out_blocks->pools.count && rc == 0; i++) {
        struct memory_pool *pool;
        uint32_t place;

        rc = find_pool(out_blocks, &spans->lanes.items[rows->items[i].lane], &place);
        pool = &out_blocks->pools.items[place];
        if (rc < 0 || pool->is_begun)
            continue;
        pool->is_begun = true;
        found++;
        pool->base_bytes = base_of(totals, &rows->items[i]);
        rc = add_rest(out_blocks, place, rows->items[i].lane);
    }
    return rc;
}

int memory_blocks_init(struct memory_blocks *out_blocks, const struct spans_answer *spans,
                       const struct memory_row_array *rows, const struct counter_row_array *totals)
{
    struct pairing pairing = {.out = out_blocks, .rows = rows};
    struct keyed_row *keyed = calloc(rows->count ? rows->count : 1, sizeof(*keyed));
    int rc = keyed ? 0 : -ENOMEM;

    *out_blocks = (struct memory_blocks){0};
    for (size_t i = 0; i < rows->count && rc == 0; i++) {
        const struct memory_row *row = &rows->items[i];
        bool has_address = row->address != STORE_NULL;

        keyed[i] = (struct keyed_row){
            .has_address = has_address,
            .key = has_address ? row->address : size_of(row),
            .row = (int64_t)i,
        };
        rc = find_pool(out_blocks, &spans->lanes.items[row->lane], &keyed[i].pool);
        if (rc == 0) {
            out_blocks->pools.items[keyed[i].pool].row_count++;
            out_blocks->pools.items[keyed[i].pool].bare_count += !has_address;
        }
    }
    if (rc == 0)
        rc = pair_rows(&pairing, keyed, rows->count);
    if (rc == 0 && totals)
        rc = add_bases(out_blocks, spans, rows, totals);
    array_deinit(&pairing.open);
    free(keyed);
    return rc;
}

void memory_blocks_deinit(struct memory_blocks *blocks)
{
    array_deinit(&blocks->blocks);
    array_deinit(&blocks->pools);
}

/* --- In time. --- */

static int compare_points(const void *a, const void *b)
{
    const struct memory_point *left = a, *right = b;

    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return left->is_start - right->is_start; /* an address that is taken again: first its end */
}

int memory_points_of(const struct memory_blocks *blocks, struct memory_points *out_points)
{
    for (size_t i = 0; i < blocks->blocks.count; i++) {
        const struct memory_block *block = &blocks->blocks.items[i];
        struct memory_point start = {block->start_ns, block->start_row, (uint32_t)i, true};
        struct memory_point end = {block->end_ns, block->end_row, (uint32_t)i, false};

        if (!block->is_shown)
            continue;
        if (block->start_ns != MEMORY_BEFORE && array_push(out_points, start) < 0)
            return -ENOMEM;
        if (block->end_ns != MEMORY_NEVER && array_push(out_points, end) < 0)
            return -ENOMEM;
    }
    if (out_points->count)
        qsort(out_points->items, out_points->count, sizeof(*out_points->items), compare_points);
    return 0;
}

int64_t memory_bytes_before(const struct memory_blocks *blocks, uint32_t pool)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < blocks->blocks.count; i++) {
        const struct memory_block *block = &blocks->blocks.items[i];

        if (block->pool == pool && block->is_shown && block->start_ns == MEMORY_BEFORE)
            bytes += block->bytes;
    }
    return bytes;
}

bool memory_find_peak(const struct memory_blocks *blocks, const struct memory_points *points,
                      uint32_t pool, int64_t from_ns, int64_t until_ns,
                      struct memory_peak *out_peak)
{
    int64_t alive = memory_bytes_before(blocks, pool);
    struct memory_peak peak = {alive, from_ns, -1};
    bool any = false;

    for (size_t i = 0; i < points->count && points->items[i].time_ns < until_ns; i++) {
        const struct memory_point *point = &points->items[i];
        const struct memory_block *block = &blocks->blocks.items[point->block];

        if (block->pool != pool)
            continue;
        alive += point->is_start ? block->bytes : -block->bytes;
        if (point->time_ns < from_ns) /* what the window begins with */
            peak = (struct memory_peak){alive, from_ns, point->row};
        else if (alive > peak.bytes)
            peak = (struct memory_peak){alive, point->time_ns, point->row};
        any = true;
    }
    *out_peak = peak;
    return any;
}
