/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of axes in memory. */
#include "runtime/graph/layout.h"

#include <string.h>

struct layout layout_row_major(int rank)
{
    struct layout layout = {.rank = rank};

    for (int i = 0; i < rank; i++)
        layout.order[i] = (uint8_t)i;
    return layout;
}

struct layout layout_channels_last(int rank)
{
    struct layout layout = layout_row_major(rank);

    if (rank < 3)
        return layout;
    for (int i = 1; i < rank - 1; i++)
        layout.order[i] = (uint8_t)(i + 1);
    layout.order[rank - 1] = 1;
    return layout;
}

void layout_strides(const struct layout *layout, const struct shape *shape, int64_t *out_strides)
{
    int64_t stride = 1;

    for (int i = layout->rank - 1; i >= 0; i--) {
        out_strides[layout->order[i]] = stride;
        stride *= shape->dims[layout->order[i]];
    }
}

bool layout_same(const struct layout *a, const struct layout *b, const struct shape *shape)
{
    int64_t a_strides[SHAPE_MAX_RANK], b_strides[SHAPE_MAX_RANK];

    layout_strides(a, shape, a_strides);
    layout_strides(b, shape, b_strides);
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] != 1 && a_strides[i] != b_strides[i])
            return false;
    return true;
}

bool layout_is_row_major(const struct layout *layout, const struct shape *shape)
{
    struct layout row_major = layout_row_major(shape->rank);

    return layout_same(layout, &row_major, shape);
}

bool layout_is_channels_last(const struct layout *layout, const struct shape *shape)
{
    struct layout channels_last = layout_channels_last(shape->rank);

    return layout_same(layout, &channels_last, shape);
}

/* Strides of the axes to[first..end), which show the axes from[from_first..from_end): those must be
 * one run of memory. */
static bool split_run(const struct shape *from, const int64_t *from_strides, int from_first,
                      int from_end, const struct shape *to, int first, int end, int64_t *to_strides)
{
    int64_t stride = 0, next = 0; /* of the innermost axis; what the next axis outwards must have */

    for (int i = from_end - 1; i >= from_first; i--) {
        if (from->dims[i] == 1)
            continue;
        if (next != 0 && from_strides[i] != next)
            return false;
        if (next == 0)
            stride = from_strides[i];
        next = from_strides[i] * from->dims[i];
    }
    for (int i = end - 1; i >= first; i--) {
        to_strides[i] = stride;
        stride *= to->dims[i];
    }
    return true;
}

/* The order of axes that has these strides. Axes of one element go where they do no harm. */
static void order_by_strides(const struct shape *shape, const int64_t *strides,
                             struct layout *out_layout)
{
    *out_layout = layout_row_major(shape->rank);
    for (int i = 1; i < shape->rank; i++) { /* insertion sort, stable, largest stride first */
        uint8_t axis = out_layout->order[i];
        int at = i;

        if (shape->dims[axis] == 1)
            continue;
        for (; at > 0; at--) {
            uint8_t other = out_layout->order[at - 1];

            if (shape->dims[other] != 1 && strides[other] >= strides[axis])
                break;
            out_layout->order[at] = other;
        }
        out_layout->order[at] = axis;
    }
}

bool layout_reshape(const struct shape *from, const struct layout *layout, const struct shape *to,
                    struct layout *out_layout)
{
    int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK] = {0};
    int f = 0, t = 0;

    layout_strides(layout, from, from_strides);
    if (shape_elements(from) == 0) {
        *out_layout = layout_row_major(to->rank);
        return true;
    }
    /* Walk both shapes in pieces of equal element count: [2,6] and [3,4] is one piece, [2,6] and
     * [2,2,3] are two. Each piece must be one run of memory. */
    while (f < from->rank || t < to->rank) {
        int from_first = f, to_first = t;
        int64_t from_count = f < from->rank ? from->dims[f++] : 1;
        int64_t to_count = t < to->rank ? to->dims[t++] : 1;

        while (from_count != to_count) {
            if (from_count < to_count)
                from_count *= from->dims[f++];
            else
                to_count *= to->dims[t++];
        }
        if (!split_run(from, from_strides, from_first, f, to, to_first, t, to_strides))
            return false;
    }
    order_by_strides(to, to_strides, out_layout);
    return true;
}
