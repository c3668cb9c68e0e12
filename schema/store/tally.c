/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies of batches: a ring in memory. */
#include "schema/store/tally.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 64, CAPACITY_MIN = 256 };

/* Room for one more. */
static bool reserve(struct tally_list *list)
{
    struct tally_list grown = *list;

    if (list->end - list->first < list->capacity)
        return true;
    if (list->capacity >= TALLIES_MAX)
        return false;
    grown.capacity = list->capacity ? list->capacity * 2 : CAPACITY_MIN;
    grown.items = malloc(grown.capacity * sizeof(*grown.items));
    if (!grown.items)
        return false;
    for (uint64_t i = list->first; i < list->end; i++)
        *store_tally_at(&grown, i) = *store_tally_at(list, i);
    free(list->items);
    *list = grown;
    return true;
}

uint64_t store_tally_of(struct tally_list *list, int64_t first_rowid, int64_t session_id)
{
    uint64_t oldest;

    if (list->batch_rowid != first_rowid) {
        list->batch_rowid = first_rowid;
        list->batch_first = list->end;
    }
    oldest = list->batch_first > list->first ? list->batch_first : list->first;
    /* A session that comes again after many others has two tallies: they add up. */
    for (uint64_t i = list->end; i > oldest && list->end - i < LOOKED_AT; i--)
        if (store_tally_at(list, i - 1)->tally.session_id == session_id)
            return i - 1;
    if (!reserve(list))
        return TALLY_NONE;
    *store_tally_at(list, list->end) =
        (struct tally_of_batch){first_rowid, {session_id, 0, INT64_MAX, INT64_MIN}};
    return list->end++;
}

bool store_tally_find(struct tally_list *list, int64_t first_rowid, int64_t last_rowid,
                      size_t *out_count)
{
    int64_t row_count = 0;
    size_t count = 0;

    while (list->first < list->end && store_tally_at(list, list->first)->first_rowid < first_rowid)
        list->first++;
    for (; list->first + count < list->end; count++) {
        const struct tally_of_batch *item = store_tally_at(list, list->first + count);

        if (item->first_rowid != first_rowid)
            break;
        row_count += item->tally.count;
    }
    *out_count = count;
    return count > 0 && row_count == last_rowid - first_rowid + 1;
}

void store_tally_clear(struct tally_list *list)
{
    list->first = list->end;
    list->batch_first = list->end;
    list->batch_rowid = 0;
}

void store_tally_deinit(struct tally_list *list)
{
    free(list->items);
    memset(list, 0, sizeof(*list));
}
