/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From numbers to places 0, 1, 2, ...: numbers that lie close together, as counters give them, are
 * a table of which only the parts in use exist, at four bytes each; others are looked up. {0},
 * number_map_set(), number_map_find(), number_map_deinit(). One thread.
 */
#ifndef OPTRACE_ANALYZE_CONTAINERS_NUMBER_MAP_H
#define OPTRACE_ANALYZE_CONTAINERS_NUMBER_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/containers/place_map.h"
#include "base/array.h"

struct number_map {
    ARRAY_OF(uint32_t *) pages; /* NULL: nothing is set there */
    size_t page_count;          /* that are not NULL */
    size_t count;               /* numbers in them */
    struct place_map far;       /* the others */
};

/** The place of a number, or PLACE_NONE. */
uint32_t number_map_find(const struct number_map *map, uint64_t number);

/** A number that is there gets the new place. Returns 0 or -ENOMEM. */
int number_map_set(struct number_map *map, uint64_t number, uint32_t place);

void number_map_deinit(struct number_map *map);

#endif
