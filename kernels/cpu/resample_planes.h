/* SPDX-License-Identifier: Apache-2.0 */
/* How resampled axes lie, as planes and their rows, whatever the type of their elements. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_RESAMPLE_PLANES_H
#define OPTRACE_KERNELS_CPU_RESAMPLE_PLANES_H

#include <math.h>

#include "kernels/kernels.h"

enum {
    WIDE = 4096,     /* elements of a row that is gathered first */
    TAPS = 8,        /* of an element, along a row */
    GRAIN = 1 << 14, /* outputs that are worth a second thread */
};

struct resampling {
    char *y;
    const char *x;
    int64_t bytes; /* of an element */
    const struct kernel_resample *shape;
    int top; /* the first axis that does not stay as it is; those from it on are a plane */
    int64_t rows, columns, y_rows, y_columns; /* of a plane */
    const struct kernel_resample_axis *down, *along;
    /* Of integers that are stored as the reference does: how far a sum may be from its; not at all where rows or
     * columns, and these, have weights that are multiples of 1 / scale. */
    double room, scale;
    bool has_exact_rows;
};

static const struct kernel_resample_axis nothing = {
    .taps = 1, .places = &(const int64_t){0}, .weights = &(const double){1.0}};

/* Whether an axis stays as it is. */
static inline bool is_same(const struct kernel_resample *s, int axis)
{
    const struct kernel_resample_axis *a = &s->axes[axis];

    for (int64_t o = 0; o < s->y_dims[axis]; o++)
        if (a->taps != 1 || a->places[o] != o || a->weights[o] != 1.0)
            return false;
    return s->x_dims[axis] == s->y_dims[axis];
}

static inline bool has_outside(const struct kernel_resample_axis *axis, int64_t count)
{
    for (int64_t i = 0; i < count * axis->taps; i++)
        if (axis->places[i] < 0)
            return true;
    return false;
}

/* Whether the weights of element `o` are multiples of 1 / scale. */
static inline bool is_exact(const struct kernel_resample_axis *axis, int64_t o, double scale)
{
    for (int64_t t = 0; t < axis->taps; t++)
        if (axis->weights[o * axis->taps + t] * scale !=
            nearbyint(axis->weights[o * axis->taps + t] * scale))
            return false;
    return true;
}

/* Planes and their rows; false where there is nothing to do. */
static inline bool find_planes(struct resampling *r)
{
    const struct kernel_resample *s = r->shape;
    int last = s->rank - 1;

    for (int i = 0; i < s->rank; i++)
        if (s->y_dims[i] == 0 || s->x_dims[i] == 0)
            return false;
    while (r->top < last - 1 && is_same(s, r->top))
        r->top++;
    r->bytes = (int64_t)kernel_dtype_bytes(s->dtype);
    r->rows = r->y_rows = 1;
    for (int i = r->top; i < last; i++) {
        r->rows *= s->x_dims[i];
        r->y_rows *= s->y_dims[i];
    }
    r->columns = s->x_dims[last];
    r->y_columns = s->y_dims[last];
    r->along = &s->axes[last];
    r->down = last > 0 ? &s->axes[last - 1] : &nothing;
    return true;
}

/* Whether there is an outside value, or more than loops are for. */
static inline bool can_sum(const struct resampling *r)
{
    const struct kernel_resample *s = r->shape;

    if (r->columns > WIDE || r->along->taps > TAPS)
        return false;
    for (int i = r->top; i < s->rank; i++)
        if (has_outside(&s->axes[i], s->y_dims[i]))
            return false;
    return true;
}

#endif
