/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of arrays. */
#include "base/array.h"

#include <stdint.h>

enum { FIRST_CAPACITY = 8 };

void *array_grow(void *items, size_t *capacity, size_t wanted, size_t item_bytes)
{
    size_t grown = *capacity > SIZE_MAX / 2 ? wanted : *capacity * 2;
    void *place;

    if (grown < FIRST_CAPACITY)
        grown = FIRST_CAPACITY;
    if (grown < wanted)
        grown = wanted;
    place = reallocarray(items, grown, item_bytes);
    if (place)
        *capacity = grown;
    return place;
}
