/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable array of any type.
 *
 *     ARRAY_OF(struct row) rows = {0};
 *
 *     if (array_push(&rows, row) < 0)
 *         return -ENOMEM;
 *     for (size_t i = 0; i < rows.count; i++)
 *         use(&rows.items[i]);
 *     array_deinit(&rows);
 *
 * {0} is the empty array. Items move when the array grows: keep indices, not pointers. No locks.
 */
#ifndef OPTRACE_BASE_ARRAY_H
#define OPTRACE_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/** The anonymous type of an array. To pass one to a function, name it once:
 *  `struct row_array ARRAY_FIELDS(struct row);` */
#define ARRAY_OF(type) struct ARRAY_FIELDS(type)

#define ARRAY_FIELDS(type)                                                                         \
    {                                                                                              \
        type *items;                                                                               \
        size_t count;    /* items in use */                                                        \
        size_t capacity; /* items there is room for */                                             \
    }

/** Make room for `wanted` items in all. Returns 0 or -ENOMEM; then the array is as it was. */
#define array_reserve(array, wanted)                                                               \
    ({                                                                                             \
        __typeof__(array) array_r_ = (array);                                                      \
        size_t array_wanted_ = (wanted);                                                           \
        int array_rc_ = 0;                                                                         \
                                                                                                   \
        if (array_wanted_ > array_r_->capacity) {                                                  \
            void *array_grown_ = array_grow(array_r_->items, &array_r_->capacity, array_wanted_,   \
                                            sizeof(*array_r_->items));                             \
                                                                                                   \
            if (array_grown_)                                                                      \
                array_r_->items = array_grown_;                                                    \
            else                                                                                   \
                array_rc_ = -ENOMEM;                                                               \
        }                                                                                          \
        array_rc_;                                                                                 \
    })

/** Append one item. Returns 0 or -ENOMEM; then the array is as it was. */
#define array_push(array, item)                                                                    \
    ({                                                                                             \
        __typeof__(array) array_p_ = (array);                                                      \
        int array_push_rc_ = array_reserve(array_p_, array_p_->count + 1);                         \
                                                                                                   \
        if (array_push_rc_ == 0)                                                                   \
            array_p_->items[array_p_->count++] = (item);                                           \
        array_push_rc_;                                                                            \
    })

/** Free the items (not what they point to); leaves the empty array. */
#define array_deinit(array)                                                                        \
    do {                                                                                           \
        __typeof__(array) array_d_ = (array);                                                      \
                                                                                                   \
        free(array_d_->items);                                                                     \
        array_d_->items = NULL;                                                                    \
        array_d_->count = 0;                                                                       \
        array_d_->capacity = 0;                                                                    \
    } while (0)

/** What array_reserve() calls: room for at least `wanted` items, doubled so that pushing stays
 * cheap. Returns the new place and sets *capacity, or NULL: `items` is then still valid. */
void *array_grow(void *items, size_t *capacity, size_t wanted, size_t item_bytes);

#endif
