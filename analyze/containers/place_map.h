/* SPDX-License-Identifier: Apache-2.0 */
/* From 128-bit keys to places 0, 1, 2, ...: {0}, place_map_set(), place_map_find(),
 * place_map_deinit(). Keys are numbers or digests of texts (place_key_add()). One thread. */
#ifndef OPTRACE_ANALYZE_CONTAINERS_PLACE_MAP_H
#define OPTRACE_ANALYZE_CONTAINERS_PLACE_MAP_H

#include <stddef.h>
#include <stdint.h>

#define PLACE_NONE UINT32_MAX

struct place_key {
    uint64_t low, high;
};

struct place_map {
    struct place_map_slot {
        struct place_key key;
        uint32_t place; /* PLACE_NONE: free */
    } * slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t count;
};

/** The place of a key, or PLACE_NONE. */
uint32_t place_map_find(const struct place_map *map, struct place_key key);

/** A key that is there gets the new place. Returns 0 or -ENOMEM. */
int place_map_set(struct place_map *map, struct place_key key, uint32_t place);

/** A key that is not there is allowed. */
void place_map_remove(struct place_map *map, struct place_key key);

void place_map_deinit(struct place_map *map);

/** Adds bytes to a digest, {0} at first. "ab" and then "c" is another key than "a" and "bc". Two
 *  texts that meet by chance are not to be expected; made to meet, they are taken for one op. */
void place_key_add(struct place_key *key, const void *bytes, size_t length);

#endif
