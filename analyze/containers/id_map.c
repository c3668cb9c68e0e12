/* SPDX-License-Identifier: Apache-2.0 */
/* From ids to places: a table while it is not much larger than the ids, else a sorted list. */
#include "analyze/containers/id_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_pairs(const void *a, const void *b)
{
    const struct id_map_pair *left = a, *right = b;

    return (left->id > right->id) - (left->id < right->id);
}

static inline int64_t id_at(const int64_t *ids, size_t stride, size_t place)
{
    return *(const int64_t *)((const char *)ids + place * stride);
}

static int init_pairs(struct id_map *map, const int64_t *ids, size_t stride, size_t count)
{
    map->pairs = malloc(count * sizeof(*map->pairs));
    if (!map->pairs)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        map->pairs[i] = (struct id_map_pair){id_at(ids, stride, i), (uint32_t)i};
    map->pair_count = count;
    qsort(map->pairs, count, sizeof(*map->pairs), compare_pairs);
    return 0;
}

int id_map_init(struct id_map *map, const int64_t *ids, size_t count)
{
    return id_map_init_fields(map, ids, sizeof(*ids), count);
}

int id_map_init_fields(struct id_map *map, const int64_t *ids, size_t stride, size_t count)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    uint64_t range;

    *map = (struct id_map){0};
    if (!count)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t id = id_at(ids, stride, i);

        low = id < low ? id : low;
        high = id > high ? id : high;
    }
    range = (uint64_t)high - (uint64_t)low;
    if (range >= (uint64_t)count * 8 + 4096)
        return init_pairs(map, ids, stride, count);
    map->low = low;
    map->table = malloc((range + 1) * sizeof(*map->table));
    if (!map->table)
        return -ENOMEM;
    map->slots = range + 1;
    memset(map->table, 0xff, map->slots * sizeof(*map->table));
    for (size_t i = 0; i < count; i++)
        map->table[(uint64_t)id_at(ids, stride, i) - (uint64_t)low] = (uint32_t)i;
    return 0;
}

void id_map_deinit(struct id_map *map)
{
    free(map->table);
    free(map->pairs);
    *map = (struct id_map){0};
}

uint32_t id_map_search(const struct id_map *map, int64_t id)
{
    size_t low = 0, high = map->pair_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (map->pairs[middle].id == id)
            return map->pairs[middle].place;
        if (map->pairs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return ID_MAP_NONE;
}
