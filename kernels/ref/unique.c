/* SPDX-License-Identifier: Apache-2.0 */
/* Slices that differ, the truth: they are sorted, and equal ones stand together. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>
#include <string.h>

/* Below 0, 0 or above, as a sort wants it; NaN is the largest and like itself. */
static int compare_elements(const void *x, enum kernel_dtype dtype, int64_t a, int64_t b)
{
    double v, w;

    if (!kernel_dtype_is_real(dtype)) {
        int64_t m = ref_get_order(x, dtype, a), n = ref_get_order(x, dtype, b);

        return (m > n) - (m < n);
    }
    v = ref_get_f64(x, dtype, a);
    w = ref_get_f64(x, dtype, b);
    if (isnan(v) || isnan(w))
        return isnan(v) - isnan(w);
    return (v > w) - (v < w);
}

static int compare_slices(const void *x, const struct kernel_unique *s, int64_t a, int64_t b)
{
    int order = 0;

    for (int64_t o = 0; order == 0 && o < s->outer; o++)
        for (int64_t i = 0; order == 0 && i < s->inner; i++)
            order = compare_elements(x, s->dtype, (o * s->axis + a) * s->inner + i,
                                     (o * s->axis + b) * s->inner + i);
    return order;
}

/* Places of slices in order, those of equal ones ascending, by merging runs of doubled length. */
static const int64_t *sort(const void *x, const struct kernel_unique *s, int64_t *places,
                           int64_t *room)
{
    for (int64_t i = 0; i < s->axis; i++)
        places[i] = i;
    for (int64_t width = 1; width < s->axis; width *= 2) {
        int64_t *from = places;

        for (int64_t begin = 0; begin < s->axis; begin += 2 * width) {
            int64_t middle = begin + width < s->axis ? begin + width : s->axis;
            int64_t end = middle + width < s->axis ? middle + width : s->axis;
            int64_t a = begin, b = middle;

            for (int64_t i = begin; i < end; i++) {
                bool takes_b =
                    a == middle || (b < end && compare_slices(x, s, places[a], places[b]) > 0);

                room[i] = takes_b ? places[b++] : places[a++];
            }
        }
        places = room;
        room = from;
    }
    return places;
}

/* Slice `from` of x becomes slice `to` of y, which has `count` of them. */
static void copy_slice(void *y, int64_t to, int64_t count, const void *x, int64_t from,
                       const struct kernel_unique *s)
{
    size_t bytes = (size_t)s->inner * kernel_dtype_bytes(s->dtype);

    for (int64_t o = 0; o < s->outer; o++)
        memcpy((char *)y + (size_t)(o * count + to) * bytes,
               (const char *)x + (size_t)(o * s->axis + from) * bytes, bytes);
}

/* Which place the group that begins with each slice has: in order, or as the first of each come. */
static int64_t number_groups(const void *x, const struct kernel_unique *s, const int64_t *sorted,
                             int64_t *number)
{
    int64_t groups = 0, next = 0;

    for (int64_t i = 0; i < s->axis; i++)
        number[i] = -1;
    for (int64_t i = 0; i < s->axis; i++)
        if (i == 0 || compare_slices(x, s, sorted[i - 1], sorted[i]) != 0)
            number[sorted[i]] = groups++;
    for (int64_t i = 0; !s->is_sorted && i < s->axis; i++)
        if (number[i] >= 0)
            number[i] = next++;
    return groups;
}

int64_t unique_ref(const struct kernel_unique_outputs *outputs, const void *x, void *scratch,
                   const struct kernel_unique *shape)
{
    int64_t *places = scratch, *number, group = -1, groups;
    const int64_t *sorted;

    if (shape->axis == 0)
        return 0;
    number = places + 2 * shape->axis;
    sorted = sort(x, shape, places, places + shape->axis);
    groups = number_groups(x, shape, sorted, number);
    if (!outputs || groups != outputs->count)
        return groups;
    for (int64_t i = 0; i < shape->axis; i++) {
        bool is_first = number[sorted[i]] >= 0;

        group = is_first ? number[sorted[i]] : group;
        if (is_first) {
            if (outputs->y)
                copy_slice(outputs->y, group, groups, x, sorted[i], shape);
            if (outputs->first)
                outputs->first[group] = sorted[i];
            if (outputs->counts)
                outputs->counts[group] = 0;
        }
        if (outputs->inverse)
            outputs->inverse[sorted[i]] = group;
        if (outputs->counts)
            outputs->counts[group]++;
    }
    return groups;
}
