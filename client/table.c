/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full. */
#include "client/table.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOTS_MIN = 64 };

/* Spreads keys that are small numbers, or differ in their upper bits only. */
static size_t home(const struct ot_table *table, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (table->capacity - 1);
}

void ot_table_deinit(struct ot_table *table)
{
    free(table->slots);
    *table = (struct ot_table){0};
}

uint32_t ot_table_next(const struct ot_table *table, uint64_t key, size_t *place)
{
    if (table->capacity == 0)
        return 0;
    for (;;) {
        const struct ot_table_slot *slot =
            &table->slots[(home(table, key) + (*place)++) & (table->capacity - 1)];

        if (slot->value == 0 || slot->key == key)
            return slot->value;
    }
}

static void place_slot(struct ot_table *table, struct ot_table_slot slot)
{
    size_t i = home(table, slot.key);

    while (table->slots[i].value != 0)
        i = (i + 1) & (table->capacity - 1);
    table->slots[i] = slot;
}

int ot_table_reserve(struct ot_table *table)
{
    struct ot_table bigger = {.count = table->count};

    if ((table->count + 1) * 2 <= table->capacity)
        return 0;
    bigger.capacity = table->capacity ? table->capacity * 2 : SLOTS_MIN;
    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].value != 0)
            place_slot(&bigger, table->slots[i]);
    }
    free(table->slots);
    *table = bigger;
    return 0;
}

void ot_table_add(struct ot_table *table, uint64_t key, uint32_t value)
{
    place_slot(table, (struct ot_table_slot){.key = key, .value = value});
    table->count++;
}

/* FNV-1a. */
uint64_t ot_table_hash(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}
