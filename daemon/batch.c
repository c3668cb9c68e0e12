/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one transaction: growing lists, texts, losses that add up. */
#include "daemon/batch.h"

#include <stdlib.h>
#include <string.h>

enum {
    GAPS_LOOKED_AT = 64, /* losses of the same kind come close together */
};

static const int64_t LOST_MAX = INT64_MAX / 2;

struct batch *batch_create(void)
{
    struct batch *batch = memory_zeroed(1, sizeof(*batch));

    batch->row_max = BATCH_ROWS_FULL;
    batch->definition_max = BATCH_TEXT_BYTES_FULL;
    return batch;
}

void batch_limit(struct batch *batch, int64_t bytes)
{
    if (bytes < (int64_t)batch->definition_max)
        batch->definition_max = (size_t)bytes;
    if (bytes / BATCH_ROW_BYTES < (int64_t)batch->row_max)
        batch->row_max = (size_t)(bytes / BATCH_ROW_BYTES);
}

void batch_destroy(struct batch **batch_at)
{
    struct batch *batch = *batch_at;

    *batch_at = NULL;
    if (!batch)
        return;
    array_deinit(&batch->sessions);
    array_deinit(&batch->models);
    array_deinit(&batch->long_texts);
    array_deinit(&batch->ops);
    array_deinit(&batch->lanes);
    array_deinit(&batch->runs);
    array_deinit(&batch->events);
    array_deinit(&batch->memory_events);
    array_deinit(&batch->counters);
    array_deinit(&batch->gaps);
    array_deinit(&batch->cursors);
    array_deinit(&batch->gone_rings);
    array_deinit(&batch->ends);
    array_deinit(&batch->marks);
    array_deinit(&batch->waiters);
    array_deinit(&batch->repeats);
    arena_deinit(&batch->texts);
    free(batch);
}

/* Empties a list; one that was far larger than what it held gives its memory back. */
#define LIST_CLEAR(list)                                                                           \
    do {                                                                                           \
        if ((list)->capacity > BATCH_KEPT_MIN && (list)->count < (list)->capacity / 8)             \
            array_deinit(list);                                                                    \
        (list)->count = 0;                                                                         \
    } while (0)

void batch_clear(struct batch *batch)
{
    LIST_CLEAR(&batch->sessions);
    LIST_CLEAR(&batch->models);
    LIST_CLEAR(&batch->long_texts);
    LIST_CLEAR(&batch->ops);
    LIST_CLEAR(&batch->lanes);
    LIST_CLEAR(&batch->runs);
    LIST_CLEAR(&batch->events);
    LIST_CLEAR(&batch->memory_events);
    LIST_CLEAR(&batch->counters);
    LIST_CLEAR(&batch->gaps);
    LIST_CLEAR(&batch->cursors);
    LIST_CLEAR(&batch->gone_rings);
    LIST_CLEAR(&batch->ends);
    LIST_CLEAR(&batch->marks);
    LIST_CLEAR(&batch->waiters);
    LIST_CLEAR(&batch->repeats);
    arena_deinit(&batch->texts);
    batch->defined_bytes = 0;
    batch->first_ns = 0;
    batch->status = 0;
    batch->syncs = false;
    batch->sync_status = 0;
    batch->next = NULL;
}

void batch_spares_put(struct batch_spares *spares, struct batch *batch)
{
    if (spares->count == BATCH_SPARES_MAX) {
        batch_destroy(&batch);
        return;
    }
    batch_clear(batch);
    spares->items[spares->count++] = batch;
}

struct batch *batch_spares_take(struct batch_spares *spares)
{
    struct batch *batch = spares->count ? spares->items[--spares->count] : NULL;

    spares->unneeded = spares->count ? spares->unneeded + 1 : 0;
    if (spares->unneeded >= BATCH_SPARE_TAKES) {
        batch_destroy(&spares->items[--spares->count]);
        spares->unneeded = 0;
    }
    return batch;
}

void batch_spares_deinit(struct batch_spares *spares)
{
    while (spares->count)
        batch_destroy(&spares->items[--spares->count]);
}

uint64_t batch_event_count(const struct batch *batch)
{
    uint64_t count = batch_row_count(batch);

    for (size_t i = 0; i < batch->gaps.count; i++)
        if (batch->gaps.items[i].lost_count > 0)
            count += (uint64_t)batch->gaps.items[i].lost_count;
    return count;
}

bool batch_is_empty(const struct batch *batch)
{
    return batch_row_count(batch) == 0 && batch->sessions.count == 0 && batch->models.count == 0 &&
           batch->ops.count == 0 && batch->lanes.count == 0 && batch->gaps.count == 0 &&
           batch->cursors.count == 0 && batch->ends.count == 0 && batch->marks.count == 0 &&
           batch->waiters.count == 0;
}

bool batch_is_full(const struct batch *batch)
{
    size_t definition_bytes =
        batch->ops.count * sizeof(struct store_op) + batch->texts.bytes + batch->defined_bytes;

    return batch_row_count(batch) >= batch->row_max || definition_bytes >= batch->definition_max;
}

/* The row that this loss belongs to, or NULL. */
static struct store_gap *find_gap(struct batch *batch, int64_t session_id, int64_t lane_id,
                                  const char *reason)
{
    size_t count = batch->gaps.count;

    for (size_t i = count; i-- > 0 && count - i <= GAPS_LOOKED_AT;) {
        struct store_gap *gap = &batch->gaps.items[i];

        if (gap->session_id == session_id && gap->lane_id == lane_id &&
            strcmp(gap->reason, reason) == 0)
            return gap;
    }
    if (count < BATCH_GAPS_MAX || batch->gaps.items[count - 1].lost_count == STORE_NULL)
        return NULL;
    return &batch->gaps.items[count - 1];
}

void batch_add_gap(struct batch *batch, int64_t session_id, int64_t lane_id, const char *reason,
                   uint64_t lost_count, int64_t first_ns, int64_t last_ns)
{
    struct store_gap *gap = find_gap(batch, session_id, lane_id, reason);
    int64_t lost = lost_count < (uint64_t)LOST_MAX ? (int64_t)lost_count : LOST_MAX;

    if (!gap) {
        batch_push(&batch->gaps, (struct store_gap){.session_id = session_id,
                                                    .lane_id = lane_id,
                                                    .reason = reason,
                                                    .start_ns = first_ns,
                                                    .end_ns = last_ns});
        gap = &batch->gaps.items[batch->gaps.count - 1];
    }
    gap->lost_count = gap->lost_count < LOST_MAX - lost ? gap->lost_count + lost : LOST_MAX;
    if (first_ns != STORE_NULL && (gap->start_ns == STORE_NULL || first_ns < gap->start_ns))
        gap->start_ns = first_ns;
    if (last_ns != STORE_NULL && (gap->end_ns == STORE_NULL || last_ns > gap->end_ns))
        gap->end_ns = last_ns;
}

void batch_add_unknown_gap(struct batch *batch, int64_t session_id, const char *reason,
                           int64_t since_ns)
{
    batch_push(&batch->gaps, (struct store_gap){.session_id = session_id,
                                                .lane_id = STORE_NULL,
                                                .reason = reason,
                                                .lost_count = STORE_NULL,
                                                .start_ns = since_ns,
                                                .end_ns = STORE_NULL});
}
