/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From ids of a store (ops, lanes, runs) to places 0, 1, 2, ... in an array, fast enough to be
 * asked several times for each of ten million events. Ids that lie close together, as one writer
 * gives them, are a table; others are searched.
 */
#ifndef OPTRACE_ANALYZE_CONTAINERS_ID_MAP_H
#define OPTRACE_ANALYZE_CONTAINERS_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define ID_MAP_NONE UINT32_MAX

struct id_map {
    int64_t low;     /* table: the id of the first slot */
    uint64_t slots;  /* length of the table; 0: `pairs` is used */
    uint32_t *table; /* place, or ID_MAP_NONE */
    struct id_map_pair {
        int64_t id;
        uint32_t place;
    } * pairs; /* sorted by id */
    size_t pair_count;
};

/** ids[place] must be distinct; their array is not kept. Returns 0 or -ENOMEM, then *map is empty.
 *  Give the map to id_map_deinit(). */
int id_map_init(struct id_map *map, const int64_t *ids, size_t count);
/** The same of ids that are fields of structs: one each `stride` bytes. */
int id_map_init_fields(struct id_map *map, const int64_t *ids, size_t stride, size_t count);
void id_map_deinit(struct id_map *map);

uint32_t id_map_search(const struct id_map *map, int64_t id);

/** The place of an id, or ID_MAP_NONE. An empty ({0}) map has none. */
static inline uint32_t id_map_find(const struct id_map *map, int64_t id)
{
    uint64_t slot = (uint64_t)id - (uint64_t)map->low;

    if (slot < map->slots)
        return map->table[slot];
    return map->pairs ? id_map_search(map, id) : ID_MAP_NONE;
}

#endif
