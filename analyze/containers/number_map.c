/* SPDX-License-Identifier: Apache-2.0 */
/* A table in pages, and a hash table for what would leave most of a page empty. */
#include "analyze/containers/number_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGES_END (UINT64_C(1) << 20) /* numbers in later pages are far */

enum {
    PAGE_SLOTS = 4096,
    FREE_PAGES = 16,       /* that many may be nearly empty */
    SLOTS_PER_NUMBER = 16, /* in use, on average, beyond them */
};

static uint32_t *page_of(const struct number_map *map, uint64_t number)
{
    uint64_t page = number / PAGE_SLOTS;

    return page < map->pages.count ? map->pages.items[page] : NULL;
}

uint32_t number_map_find(const struct number_map *map, uint64_t number)
{
    uint32_t *page = page_of(map, number);
    uint32_t place = page ? page[number % PAGE_SLOTS] : PLACE_NONE;

    if (place == PLACE_NONE && map->far.count)
        place = place_map_find(&map->far, (struct place_key){.low = number});
    return place;
}

/* A page costs as much as some hundred numbers in the hash table. */
static bool may_have_page(const struct number_map *map, uint64_t page)
{
    return page < PAGES_END && map->page_count * PAGE_SLOTS <=
                                   map->count * SLOTS_PER_NUMBER + (size_t)FREE_PAGES * PAGE_SLOTS;
}

static int make_page(struct number_map *map, uint64_t page)
{
    uint32_t *slots;

    while (map->pages.count <= page) {
        if (array_push(&map->pages, NULL) < 0)
            return -ENOMEM;
    }
    slots = malloc(PAGE_SLOTS * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    memset(slots, 0xff, PAGE_SLOTS * sizeof(*slots)); /* PLACE_NONE */
    map->pages.items[page] = slots;
    map->page_count++;
    return 0;
}

int number_map_set(struct number_map *map, uint64_t number, uint32_t place)
{
    struct place_key key = {.low = number};
    uint32_t *page = page_of(map, number), *slot;

    if ((map->far.count && place_map_find(&map->far, key) != PLACE_NONE) ||
        (!page && !may_have_page(map, number / PAGE_SLOTS)))
        return place_map_set(&map->far, key, place);
    if (!page && make_page(map, number / PAGE_SLOTS) < 0)
        return -ENOMEM;
    slot = &map->pages.items[number / PAGE_SLOTS][number % PAGE_SLOTS];
    map->count += *slot == PLACE_NONE;
    *slot = place;
    return 0;
}

void number_map_deinit(struct number_map *map)
{
    for (size_t i = 0; i < map->pages.count; i++)
        free(map->pages.items[i]);
    array_deinit(&map->pages);
    place_map_deinit(&map->far);
    map->page_count = map->count = 0;
}
