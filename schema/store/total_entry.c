/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of totals: an array with free places, and a hash of it. */
#include "schema/store/total_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/private.h"

enum { ENTRIES_MIN = 1 << 9 };

static void insert_slot(struct totals *totals, uint32_t place)
{
    const struct total_entry *entry = &totals->entries.items[place];
    uint32_t slot =
        store_total_hash(entry->op_id, entry->run_class, entry->lane_kind) & totals->slot_mask;

    while (totals->slots[slot])
        slot = (slot + 1) & totals->slot_mask;
    totals->slots[slot] = place + 1;
    totals->slot_count++;
}

static void rebuild_slots(struct totals *totals)
{
    memset(totals->slots, 0, ((size_t)totals->slot_mask + 1) * sizeof(*totals->slots));
    totals->slot_count = 0;
    for (uint32_t i = 0; i < totals->entries.count; i++) {
        if (totals->entries.items[i].run_class != TOTAL_GONE)
            insert_slot(totals, i);
    }
}

/* Room for one more. Slots of places that were freed stay until then: at most half are in use. */
static int make_room(struct totals *totals)
{
    uint32_t count = totals->slots ? totals->slot_mask + 1 : 0;
    uint32_t *slots;

    if (totals->slot_count + 1 <= count / 2)
        return 0;
    if (totals->entries.count + 1 > count / 4) {
        count = count ? count * 2 : 2 * ENTRIES_MIN;
        slots = realloc(totals->slots, count * sizeof(*slots));
        if (!slots)
            return -ENOMEM;
        totals->slots = slots;
        totals->slot_mask = count - 1;
    }
    rebuild_slots(totals);
    return 0;
}

static struct total_run *run_of(struct totals *totals, uint32_t run_class)
{
    return run_class >= TOTAL_OPEN ? &totals->runs[run_class - TOTAL_OPEN] : NULL;
}

static bool may_have_row(const struct totals *totals, const struct total_entry *entry,
                         const struct total_run *run)
{
    return entry->op_id <= totals->stored_op_max && (!run || run->may_be_stored);
}

void store_total_empty_sums(struct total_sums *sums)
{
    struct store_histogram histogram = sums->histogram;

    store_histogram_empty(&histogram);
    *sums = (struct total_sums){.min_ns = INT64_MAX, .max_ns = INT64_MIN, .histogram = histogram};
}

int store_total_new_entry(struct store *store, struct total_entry entry, uint32_t *out_place,
                          struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_run *run = run_of(totals, entry.run_class);
    int rc = make_room(totals);

    store_total_empty_sums(&entry.fresh);
    store_total_empty_sums(&entry.all);
    if (rc == 0 && may_have_row(totals, &entry, run))
        rc = store_total_read_row(store, run ? run->run : 0, &entry, diag);
    if (rc == 0 && run)
        entry.next = run->first;
    if (rc == 0 && totals->free_entry) {
        totals->free_count--;
        *out_place = totals->free_entry - 1;
        totals->free_entry = totals->entries.items[*out_place].next;
        entry.is_touched = totals->entries.items[*out_place].is_touched;
        totals->entries.items[*out_place] = entry;
    } else if (rc == 0) {
        *out_place = (uint32_t)totals->entries.count;
        rc = array_push(&totals->entries, entry);
    }
    if (rc < 0) {
        store_histogram_deinit(&entry.all.histogram);
        return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the totals of %s", store->path)
                             : rc;
    }
    if (run)
        run->first = *out_place + 1;
    insert_slot(totals, *out_place);
    return 0;
}

void store_total_free_entry(struct totals *totals, uint32_t place)
{
    struct total_entry *entry = &totals->entries.items[place];

    totals->dirty_count -= entry->is_dirty;
    store_histogram_deinit(&entry->fresh.histogram);
    store_histogram_deinit(&entry->all.histogram);
    *entry = (struct total_entry){
        .run_class = TOTAL_GONE, .next = totals->free_entry, .is_touched = entry->is_touched};
    totals->free_entry = place + 1;
    totals->free_count++;
}

/* What many runs left behind that are not told apart any more would keep the rest from the caches. */
void store_total_close_ranks(struct totals *totals)
{
    const uint32_t kept = (uint32_t)totals->entries.count - totals->free_count;
    uint32_t slots = 2 * ENTRIES_MIN, to = 0;

    if (totals->free_count < ENTRIES_MIN || totals->free_count / 3 < kept)
        return;
    for (uint32_t i = 0; i < TOTAL_OPEN_RUNS_MAX && totals->runs; i++)
        totals->runs[i].first = 0;
    for (uint32_t from = 0; from < totals->entries.count; from++) {
        struct total_entry *entry = &totals->entries.items[to];
        struct total_run *run;

        if (totals->entries.items[from].run_class == TOTAL_GONE)
            continue;
        *entry = totals->entries.items[from];
        to++;
        run = run_of(totals, entry->run_class);
        if (!run)
            continue;
        entry->next = run->first;
        run->first = to;
    }
    while (slots < 4 * kept)
        slots *= 2;
    totals->entries.count = kept;
    totals->free_entry = totals->free_count = 0;
    totals->slot_mask = slots - 1;
    rebuild_slots(totals);
}

void store_total_clear_entries(struct totals *totals)
{
    for (size_t i = 0; i < totals->entries.count; i++) {
        store_histogram_deinit(&totals->entries.items[i].fresh.histogram);
        store_histogram_deinit(&totals->entries.items[i].all.histogram);
    }
    totals->entries.count = 0;
    totals->free_entry = totals->free_count = totals->dirty_count = 0;
    if (totals->slots)
        rebuild_slots(totals);
}
