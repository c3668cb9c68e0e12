/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many rows of a batch are whose, so that a batch of several sessions can be dropped without
 * being read. In memory only, of the batches that this handle has written, the oldest first: a
 * batch that is not known, or not all of it, is read.
 */
#ifndef OPTRACE_SCHEMA_STORE_TALLY_H
#define OPTRACE_SCHEMA_STORE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/store/batch.h"

enum { TALLIES_MAX = 1 << 16 }; /* 2.5 MiB; what does not fit is not known */

#define TALLY_NONE UINT64_MAX

/** Of one session in one batch. */
struct tally {
    int64_t session_id, count, start_ns, end_ns;
};

struct tally_list {
    struct tally_of_batch {
        int64_t first_rowid; /* of the batch */
        struct tally tally;
    } * items;           /* number n is at n % capacity, a power of two */
    uint64_t first, end; /* numbers of those that are there */
    uint64_t capacity;
    uint64_t batch_first; /* number of the first one of the batch that is being counted */
    int64_t batch_rowid;  /* first_rowid of that batch */
};

/** The number of a session's tally in a batch, which is begun when it is not the one that is being
 *  counted. TALLY_NONE without memory. */
uint64_t store_tally_of(struct tally_list *list, int64_t first_rowid, int64_t session_id);

static inline struct tally_of_batch *store_tally_at(const struct tally_list *list, uint64_t number)
{
    return &list->items[number & (list->capacity - 1)];
}

/** Count events. Numbers that are gone and TALLY_NONE are allowed. */
static inline void store_tally_add(struct tally_list *list, uint64_t number,
                                   const struct batch_times *times)
{
    struct tally *tally;

    if (number - list->first >= list->end - list->first)
        return;
    tally = &store_tally_at(list, number)->tally;
    tally->count += times->count;
    tally->start_ns = times->start_ns < tally->start_ns ? times->start_ns : tally->start_ns;
    tally->end_ns = times->end_ns > tally->end_ns ? times->end_ns : tally->end_ns;
}

/** Whether all rows of a batch are known; its tallies are then the first *out_count of the list.
 * Those of older batches are forgotten. */
bool store_tally_find(struct tally_list *list, int64_t first_rowid, int64_t last_rowid,
                      size_t *out_count);

/** Forget all; the memory stays. */
void store_tally_clear(struct tally_list *list);
void store_tally_deinit(struct tally_list *list);

#endif
