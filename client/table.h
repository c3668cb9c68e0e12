/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from 64-bit keys to 32-bit values that are not 0, for texts and names. A key may
 * occur several times (texts whose hashes are the same): walk with ot_table_next(). Nothing is ever
 * removed. All zero is an empty table; the caller keeps other threads away.
 */
#ifndef OPTRACE_CLIENT_TABLE_H
#define OPTRACE_CLIENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct ot_table_slot {
    uint64_t key;
    uint32_t value; /* 0: free */
};

struct ot_table {
    struct ot_table_slot *slots;
    size_t capacity; /* 0, or a power of two */
    size_t count;
};

void ot_table_deinit(struct ot_table *table);

/** The next value of `key`, or 0 at the end. *place starts as 0 and is only for this function. */
uint32_t ot_table_next(const struct ot_table *table, uint64_t key, size_t *place);

/** Make sure that the next ot_table_add() cannot fail. Returns 0 or -ENOMEM. */
int ot_table_reserve(struct ot_table *table);

/** After ot_table_reserve(). */
void ot_table_add(struct ot_table *table, uint64_t key, uint32_t value);

/** Hash of a text, for a key. */
uint64_t ot_table_hash(const char *bytes, size_t length);

#endif
