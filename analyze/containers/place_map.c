/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with open addressing, and the digests that are its keys. */
#include "analyze/containers/place_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static const uint64_t low_factor = 0x9e3779b97f4a7c15u, high_factor = 0xc2b2ae3d27d4eb4fu;

/* Folds the 128-bit product, so that each bit depends on all of them. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void add_word(struct place_key *key, uint64_t word)
{
    key->low = mix(key->low ^ word, low_factor) + 1;
    key->high = mix((key->high + word) ^ low_factor, high_factor) ^ key->low;
}

void place_key_add(struct place_key *key, const void *bytes, size_t length)
{
    const char *at = bytes;
    uint64_t word;

    add_word(key, length ^ high_factor);
    for (; length >= sizeof(word); length -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        add_word(key, word);
    }
    word = 0;
    if (length)
        memcpy(&word, at, length);
    add_word(key, word);
}

static size_t first_slot(const struct place_map *map, struct place_key key)
{
    return (size_t)mix(key.low ^ high_factor, key.high ^ low_factor) & (map->slot_count - 1);
}

/* The slot of a key, or the free one where it would be. */
static struct place_map_slot *find_slot(const struct place_map *map, struct place_key key)
{
    size_t mask = map->slot_count - 1, i = first_slot(map, key);

    while (map->slots[i].place != PLACE_NONE &&
           (map->slots[i].key.low != key.low || map->slots[i].key.high != key.high))
        i = (i + 1) & mask;
    return &map->slots[i];
}

uint32_t place_map_find(const struct place_map *map, struct place_key key)
{
    return map->slot_count ? find_slot(map, key)->place : PLACE_NONE;
}

static int grow(struct place_map *map)
{
    struct place_map grown = {.slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS};

    grown.slots = malloc(grown.slot_count * sizeof(*grown.slots));
    if (!grown.slots)
        return -ENOMEM;
    for (size_t i = 0; i < grown.slot_count; i++)
        grown.slots[i].place = PLACE_NONE;
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].place != PLACE_NONE)
            *find_slot(&grown, map->slots[i].key) = map->slots[i];
    }
    free(map->slots);
    map->slots = grown.slots;
    map->slot_count = grown.slot_count;
    return 0;
}

int place_map_set(struct place_map *map, struct place_key key, uint32_t place)
{
    struct place_map_slot *slot;

    if (map->count * 3 >= map->slot_count * 2 && grow(map) < 0)
        return -ENOMEM;
    slot = find_slot(map, key);
    map->count += slot->place == PLACE_NONE;
    *slot = (struct place_map_slot){key, place};
    return 0;
}

/* What comes behind moves up, so that no search ends at the gap. */
void place_map_remove(struct place_map *map, struct place_key key)
{
    struct place_map_slot *slot = map->slot_count ? find_slot(map, key) : NULL;
    size_t mask = map->slot_count - 1, gap, i;

    if (!slot || slot->place == PLACE_NONE)
        return;
    gap = (size_t)(slot - map->slots);
    for (i = (gap + 1) & mask; map->slots[i].place != PLACE_NONE; i = (i + 1) & mask) {
        size_t wanted = first_slot(map, map->slots[i].key);

        if (((i - wanted) & mask) >= ((i - gap) & mask)) {
            map->slots[gap] = map->slots[i];
            gap = i;
        }
    }
    map->slots[gap].place = PLACE_NONE;
    map->count--;
}

void place_map_deinit(struct place_map *map)
{
    free(map->slots);
    *map = (struct place_map){0};
}
