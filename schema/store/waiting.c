/* SPDX-License-Identifier: Apache-2.0 */
/* How much of roll-ups and totals waits in memory to be written. */
#include "schema/store/private.h"

int64_t store_waiting_rows(const struct store *store)
{
    return (int64_t)store->rollup.dirty_count + store->totals.fresh_count;
}

int64_t store_waiting_bytes(const struct store *store)
{
    const struct totals *totals = &store->totals;
    const int64_t total_rows = (int64_t)totals->dirty_count + totals->fresh_count;

    return (store_waiting_rows(store) + total_rows) * ROLLUP_ROW_BYTES;
}

bool store_waiting_is_much(const struct store *store)
{
    return store->room.waiting_max && store_waiting_bytes(store) > store->room.waiting_max;
}
