/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are picked by a condition, or as they are not zero, and those that differ: what is written next is written
 * at each, so that no branch is guessed. */
#include "kernels/cpu/order_key.h"
#include "kernels/kernels.h"

#include <string.h>

/* Of one of the outer places; -1 where other than `count` are true. */
#define COMPRESS(bytes, type)                                                                      \
    static int compress_##bytes(type *y, const type *x, const uint8_t *condition, int64_t limit,   \
                                int64_t count)                                                     \
    {                                                                                              \
        int64_t found = 0, i = 0;                                                                  \
                                                                                                   \
        for (; i < limit && found < count; i++) {                                                  \
            y[found] = x[i];                                                                       \
            found += condition[i] != 0;                                                            \
        }                                                                                          \
        for (; i < limit; i++)                                                                     \
            if (condition[i])                                                                      \
                return -1;                                                                         \
        return found == count ? 0 : -1;                                                            \
    }

COMPRESS(1, uint8_t)
COMPRESS(2, uint16_t)
COMPRESS(4, uint32_t)
COMPRESS(8, uint64_t)

int compress_portable(void *y, const void *x, const uint8_t *condition,
                      const struct kernel_compress *s)
{
    int64_t limit = s->conditions < s->axis ? s->conditions : s->axis;
    char *to = y;
    const char *from = x;
    int rc = 0;

    if (s->inner_bytes != 1 && s->inner_bytes != 2 && s->inner_bytes != 4 && s->inner_bytes != 8)
        return compress_ref(y, x, condition, s);
    for (int64_t o = 0; rc == 0 && o < s->outer; o++) {
        if (s->inner_bytes == 1)
            rc = compress_1((uint8_t *)to, (const uint8_t *)from, condition, limit, s->count);
        else if (s->inner_bytes == 2)
            rc = compress_2((uint16_t *)(void *)to, (const uint16_t *)(const void *)from, condition,
                            limit, s->count);
        else if (s->inner_bytes == 4)
            rc = compress_4((uint32_t *)(void *)to, (const uint32_t *)(const void *)from, condition,
                            limit, s->count);
        else
            rc = compress_8((uint64_t *)(void *)to, (const uint64_t *)(const void *)from, condition,
                            limit, s->count);
        to += s->count * s->inner_bytes;
        from += s->axis * s->inner_bytes;
    }
    return rc;
}

#define IS_NUMBER(x) ((x) != 0)
#define IS_HALF(x)   (((x)&INT16_MAX) != 0) /* of two bytes, whose sign counts nothing */

/* The places along a row, from `found` on; how many there are then, or -1 where they are too many. */
#define NONZERO(name, type, is_some)                                                               \
    static int64_t row_##name(int64_t *y, int64_t found, int64_t count, const void *from,          \
                              int64_t size)                                                        \
    {                                                                                              \
        const type *x = from;                                                                      \
        int64_t i = 0;                                                                             \
                                                                                                   \
        for (; i < size && found < count; i++) {                                                   \
            y[found] = i;                                                                          \
            found += is_some(x[i]);                                                                \
        }                                                                                          \
        for (; i < size; i++)                                                                      \
            if (is_some(x[i]))                                                                     \
                return -1;                                                                         \
        return found;                                                                              \
    }

NONZERO(f32, float, IS_NUMBER)
NONZERO(f64, double, IS_NUMBER)
NONZERO(i32, int32_t, IS_NUMBER)
NONZERO(i64, int64_t, IS_NUMBER)
NONZERO(u8, uint8_t, IS_NUMBER)
NONZERO(half, uint16_t, IS_HALF)

int nonzero_portable(int64_t *y, const void *x, const struct kernel_nonzero *s)
{
    typedef int64_t row_fn(int64_t *, int64_t, int64_t, const void *, int64_t);
    static row_fn *const rows_of[KERNEL_DTYPES] = {
        [KERNEL_F32] = row_f32, [KERNEL_F64] = row_f64,  [KERNEL_I32] = row_i32,
        [KERNEL_I64] = row_i64, [KERNEL_U8] = row_u8,    [KERNEL_I8] = row_u8,
        [KERNEL_BOOL] = row_u8, [KERNEL_F16] = row_half, [KERNEL_BF16] = row_half};
    row_fn *row_of = rows_of[s->dtype];
    int64_t rows = 1, found = 0, size, at[KERNEL_MAX_RANK] = {0};
    int last = s->rank - 1;

    if (!row_of || s->rank < 1)
        return nonzero_ref(y, x, s);
    size = s->dims[last];
    for (int i = 0; i < last; i++)
        rows *= s->dims[i];
    for (int64_t row = 0; row < rows; row++) {
        int64_t before = found;

        found = row_of(y + last * s->count, before, s->count,
                       (const char *)x + (size_t)(row * size) * kernel_dtype_bytes(s->dtype), size);
        if (found < 0)
            return -1;
        for (int axis = 0; axis < last; axis++)
            for (int64_t i = before; i < found; i++)
                y[axis * s->count + i] = at[axis];
        for (int axis = last - 1; axis >= 0 && ++at[axis] == s->dims[axis]; axis--)
            at[axis] = 0;
    }
    return found == s->count ? 0 : -1;
}

/* --- Elements that differ. --- */

enum { MANY = 128 }; /* elements that are worth to count digits for */

typedef int64_t key_fn(const void *x, int64_t at);

/* What unique_fn's scratch becomes here: three numbers for each element. */
struct sorting {
    int64_t count, *keys, *places, *room;
};

/* Places in the order of the keys, by counting; false where they are too far apart. */
static bool sort_by_counts(struct sorting *s)
{
    int64_t low = s->keys[0], high = low, sum = 0;

    for (int64_t i = 1; i < s->count; i++) {
        low = s->keys[i] < low ? s->keys[i] : low;
        high = s->keys[i] > high ? s->keys[i] : high;
    }
    if ((uint64_t)high - (uint64_t)low >= (uint64_t)s->count)
        return false;
    memset(s->room, 0, (size_t)(high - low + 1) * sizeof(*s->room));
    for (int64_t i = 0; i < s->count; i++)
        s->room[s->keys[i] - low]++;
    for (int64_t i = 0; i <= high - low; i++) {
        int64_t here = s->room[i];

        s->room[i] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < s->count; i++)
        s->places[s->room[s->keys[i] - low]++] = i;
    return true;
}

/* The same by the eight bits of their distances from the lowest one, the last ones first. */
static void sort_by_digits(struct sorting *s)
{
    enum { DIGITS = 256, DIGIT_BITS = 8 };
    int64_t low = s->keys[0], high = low;

    for (int64_t i = 0; i < s->count; i++) {
        low = s->keys[i] < low ? s->keys[i] : low;
        high = s->keys[i] > high ? s->keys[i] : high;
        s->places[i] = i;
    }
    for (int shift = 0; shift < 64 && ((uint64_t)high - (uint64_t)low) >> shift;
         shift += DIGIT_BITS) {
        int64_t starts[DIGITS] = {0}, sum = 0, *to = s->room;

        for (int64_t i = 0; i < s->count; i++)
            starts[((uint64_t)s->keys[i] - (uint64_t)low) >> shift & (DIGITS - 1)]++;
        for (int digit = 0; digit < DIGITS; digit++) {
            int64_t here = starts[digit];

            starts[digit] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < s->count; i++) {
            uint64_t distance = (uint64_t)s->keys[s->places[i]] - (uint64_t)low;

            to[starts[distance >> shift & (DIGITS - 1)]++] = s->places[i];
        }
        s->room = s->places;
        s->places = to;
    }
}

/* The same by merging runs of doubled length; those of equal keys stay in order. */
static void sort_by_merging(struct sorting *s)
{
    const int64_t *keys = s->keys;
    int64_t count = s->count;

    for (int64_t i = 0; i < count; i++)
        s->places[i] = i;
    for (int64_t width = 1; width < count; width *= 2) {
        const int64_t *from = s->places;
        int64_t *to = s->room;

        for (int64_t begin = 0; begin < count; begin += 2 * width) {
            int64_t middle = begin + width < count ? begin + width : count;
            int64_t end = middle + width < count ? middle + width : count;
            int64_t a = begin, b = middle;

            for (int64_t i = begin; i < end; i++) {
                bool takes_b = a == middle || (b < end && keys[from[a]] > keys[from[b]]);

                to[i] = from[takes_b ? b : a];
                b += takes_b;
                a += !takes_b;
            }
        }
        s->room = s->places;
        s->places = to;
    }
}

/* Which place the group that begins with each element has, to room; -1 for those that begin none. */
static int64_t number_groups(struct sorting *s, bool is_sorted)
{
    int64_t groups = 0, next = 0;

    for (int64_t i = 0; i < s->count; i++) {
        bool begins = i == 0 || s->keys[s->places[i - 1]] != s->keys[s->places[i]];

        s->room[s->places[i]] = begins ? groups : -1;
        groups += begins;
    }
    for (int64_t i = 0; !is_sorted && i < s->count; i++)
        if (s->room[i] >= 0)
            s->room[i] = next++;
    return groups;
}

/* Slices as numbers of the same order, the distances of their elements from the lowest one beside each other, the first in
 * the highest bits; false where that takes more than 64. */
static __attribute__((noinline)) bool make_slice_keys(int64_t *keys, const void *x,
                                                      const struct kernel_unique *s, key_fn *key)
{
    int64_t elements = s->outer * s->inner, low = key(x, 0), high = low;
    int bits = 1;

    for (int64_t i = 0; i < s->axis * elements; i++) {
        int64_t here = key(x, i);

        if (here >= low && here <= high && i > 0)
            continue;
        low = here < low ? here : low;
        high = here > high ? here : high;
        bits = 64 - __builtin_clzll(((uint64_t)high - (uint64_t)low) | 1);
        if (elements > 64 / bits)
            return false;
    }
    for (int64_t a = 0; a < s->axis; a++) {
        uint64_t number = 0;

        for (int64_t o = 0; o < s->outer; o++)
            for (int64_t i = 0; i < s->inner; i++)
                number = number << (bits % 64) |
                         ((uint64_t)key(x, (o * s->axis + a) * s->inner + i) - (uint64_t)low);
        keys[a] = (int64_t)(number ^ (uint64_t)INT64_MIN);
    }
    return true;
}

/* Slice `from` of x becomes slice `to` of y. */
static __attribute__((noinline)) void copy_slice(const struct kernel_unique_outputs *outputs,
                                                 int64_t to, const void *x, int64_t from,
                                                 const struct kernel_unique *s)
{
    size_t bytes = (size_t)s->inner * kernel_dtype_bytes(s->dtype);

    for (int64_t o = 0; o < s->outer; o++)
        memcpy((char *)outputs->y + (size_t)(o * outputs->count + to) * bytes,
               (const char *)x + (size_t)(o * s->axis + from) * bytes, bytes);
}

int64_t unique_portable(const struct kernel_unique_outputs *outputs, const void *x, void *scratch,
                        const struct kernel_unique *shape)
{
    static key_fn *const keys[KERNEL_DTYPES] = {
        [KERNEL_F32] = order_key_f32, [KERNEL_F64] = order_key_f64, [KERNEL_I32] = order_key_i32,
        [KERNEL_I64] = order_key_i64, [KERNEL_I8] = order_key_i8,   [KERNEL_U8] = order_key_u8};
    int64_t count = shape->axis, groups, group = -1, *all = scratch;
    int64_t elements = shape->outer * shape->inner;
    size_t bytes = kernel_dtype_bytes(shape->dtype);
    struct sorting s;
    key_fn *key = keys[shape->dtype];

    s = (struct sorting){count, all, all + count, all + 2 * count};
    if (!key || count == 0 || elements == 0 ||
        (elements > 1 && !make_slice_keys(s.keys, x, shape, key)))
        return unique_ref(outputs, x, scratch, shape);
    if (elements == 1)
        for (int64_t i = 0; i < count; i++)
            s.keys[i] = key(x, i);
    if (!sort_by_counts(&s)) {
        if (count >= MANY)
            sort_by_digits(&s);
        else
            sort_by_merging(&s);
    }
    groups = number_groups(&s, shape->is_sorted);
    if (!outputs || groups != outputs->count)
        return groups;
    for (int64_t i = 0; i < count; i++) {
        int64_t place = s.places[i];

        if (s.room[place] >= 0) {
            group = s.room[place];
            if (outputs->y && elements == 1)
                memcpy((char *)outputs->y + (size_t)group * bytes,
                       (const char *)x + (size_t)place * bytes, bytes);
            else if (outputs->y)
                copy_slice(outputs, group, x, place, shape);
            if (outputs->first)
                outputs->first[group] = place;
            if (outputs->counts)
                outputs->counts[group] = 0;
        }
        if (outputs->inverse)
            outputs->inverse[place] = group;
        if (outputs->counts)
            outputs->counts[group]++;
    }
    return groups;
}
