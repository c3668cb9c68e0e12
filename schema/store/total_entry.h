/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of totals: an array with free places, and a hash of it by op, class and kind of lane. */
#ifndef OPTRACE_SCHEMA_STORE_TOTAL_ENTRY_H
#define OPTRACE_SCHEMA_STORE_TOTAL_ENTRY_H

#include "schema/store/total.h"

#define TOTAL_GONE      UINT32_MAX /* the class of a place that is free */
#define TOTAL_NOT_FOUND UINT32_MAX

static inline uint32_t store_total_hash(int64_t op_id, uint32_t run_class, uint8_t lane_kind)
{
    uint64_t mixed = (uint64_t)op_id * 4 + lane_kind;

    mixed ^= (uint64_t)run_class * UINT64_C(0x9e3779b97f4a7c15);
    mixed *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(mixed >> 32);
}

static inline bool store_total_is_entry(const struct total_entry *entry, int64_t op_id,
                                        uint32_t run_class, uint8_t lane_kind)
{
    return entry->op_id == op_id && entry->run_class == run_class && entry->lane_kind == lane_kind;
}

/** The place of an entry, or TOTAL_NOT_FOUND. */
static inline uint32_t store_total_find_entry(const struct totals *totals, int64_t op_id,
                                              uint32_t run_class, uint8_t lane_kind)
{
    if (!totals->slots)
        return TOTAL_NOT_FOUND;
    for (uint32_t slot = store_total_hash(op_id, run_class, lane_kind);; slot++) {
        uint32_t place = totals->slots[slot & totals->slot_mask] - 1;

        if (place == TOTAL_NOT_FOUND ||
            store_total_is_entry(&totals->entries.items[place], op_id, run_class, lane_kind))
            return place;
    }
}

/** Nothing, with room for durations as before. */
void store_total_empty_sums(struct total_sums *sums);

/** The place of an entry that is not there yet; what the file says of it is read. */
int store_total_new_entry(struct store *store, struct total_entry entry, uint32_t *out_place,
                          struct diag *diag);

/** The place is to be used again. Links to it are the caller's. */
void store_total_free_entry(struct totals *totals, uint32_t place);

/** Move entries together where most places are free. Nothing is fresh; places change. */
void store_total_close_ranks(struct totals *totals);

/** Frees what all of them hold. */
void store_total_clear_entries(struct totals *totals);

#endif
