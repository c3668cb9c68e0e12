/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling of f32 and bytes: the rows that an output row is made of first, as vectors, then along the row; and, of
 * every type, what only picks elements. Other ones are the reference's. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
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
};

static const struct kernel_resample_axis nothing = {
    .taps = 1, .places = &(const int64_t){0}, .weights = &(const double){1.0}};

/* Whether an axis stays as it is. */
static bool is_same(const struct kernel_resample *s, int axis)
{
    const struct kernel_resample_axis *a = &s->axes[axis];

    for (int64_t o = 0; o < s->y_dims[axis]; o++)
        if (a->taps != 1 || a->places[o] != o || a->weights[o] != 1.0)
            return false;
    return s->x_dims[axis] == s->y_dims[axis];
}

static bool has_outside(const struct kernel_resample_axis *axis, int64_t count)
{
    for (int64_t i = 0; i < count * axis->taps; i++)
        if (axis->places[i] < 0)
            return true;
    return false;
}

/* Planes and their rows; false where there is nothing to do. */
static bool find_planes(struct resampling *r)
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

static bool can_sum(const struct resampling *r)
{
    const struct kernel_resample *s = r->shape;

    if ((s->dtype != KERNEL_F32 && s->dtype != KERNEL_U8 && s->dtype != KERNEL_I8) ||
        r->columns > WIDE || r->along->taps > TAPS)
        return false;
    for (int i = r->top; i < s->rank; i++)
        if (has_outside(&s->axes[i], s->y_dims[i]))
            return false;
    return true;
}

/* Whether each element is one of x. */
static bool can_pick(const struct resampling *r)
{
    const struct kernel_resample *s = r->shape;

    for (int i = r->top; i < s->rank; i++) {
        if (s->axes[i].taps != 1 || has_outside(&s->axes[i], s->y_dims[i]))
            return false;
        for (int64_t o = 0; o < s->y_dims[i]; o++)
            if (s->axes[i].weights[o] != 1.0)
                return false;
    }
    return true;
}

/* line (+)= weight * row */
#define ADD_ROW(type)                                                                              \
    {                                                                                              \
        const type *restrict x = row;                                                              \
                                                                                                   \
        if (is_first)                                                                              \
            for (int64_t i = 0; i < columns; i++)                                                  \
                line[i] = weight * (float)x[i];                                                    \
        else                                                                                       \
            for (int64_t i = 0; i < columns; i++)                                                  \
                line[i] += weight * (float)x[i];                                                   \
    }

ISA_BODY void add_row(float *restrict line, const void *row, int64_t columns, float weight,
                      bool is_first, enum kernel_dtype dtype)
{
    if (dtype == KERNEL_F32)
        ADD_ROW(float)
    else if (dtype == KERNEL_U8)
        ADD_ROW(uint8_t)
    else
        ADD_ROW(int8_t)
}

/* What the row `o` of y is made of: a row of x itself, or the sum of some in `line`. */
ISA_BODY const float *gather_rows(const struct resampling *r, const char *plane, int64_t o,
                                  float *restrict line, enum kernel_dtype dtype)
{
    const int64_t *places = r->down->places + o * r->down->taps;
    const double *weights = r->down->weights + o * r->down->taps;
    int64_t line_bytes = r->columns * r->bytes;

    if (dtype == KERNEL_F32 && r->down->taps == 1 && weights[0] == 1.0)
        return (const float *)(const void *)(plane + places[0] * line_bytes);
    for (int64_t t = 0; t < r->down->taps; t++)
        add_row(line, plane + places[t] * line_bytes, r->columns, (float)weights[t], t == 0, dtype);
    return line;
}

/* As gather_rows(), of planes with more than one axis of rows: a row for each choice of one term of every axis. */
ISA_BODY const float *gather_volume(const struct resampling *r, const char *volume, int64_t o,
                                    float *restrict line, enum kernel_dtype dtype)
{
    const struct kernel_resample *s = r->shape;
    int64_t terms = 1;

    for (int i = r->top; i < s->rank - 1; i++)
        terms *= s->axes[i].taps;
    for (int64_t term = 0; term < terms; term++) {
        int64_t row = 0, stride = 1, choice = term, rest = o;
        double weight = 1.0;

        for (int i = s->rank - 2; i >= r->top; i--) {
            const struct kernel_resample_axis *a = &s->axes[i];
            int64_t at = rest % s->y_dims[i] * a->taps + choice % a->taps;

            row += a->places[at] * stride;
            weight *= a->weights[at];
            stride *= s->x_dims[i];
            choice /= a->taps;
            rest /= s->y_dims[i];
        }
        add_row(line, volume + row * r->columns * r->bytes, r->columns, (float)weight, term == 0,
                dtype);
    }
    return line;
}

/* Places and weights of a few outputs in a row, tap by tap, which all rows share. */
enum { BLOCK = 256 };

struct block {
    int64_t first;
    int count, taps;
    int32_t places[TAPS][BLOCK];
    float weights[TAPS][BLOCK];
};

static void make_block(const struct resampling *r, int64_t first, struct block *out_block)
{
    const struct kernel_resample_axis *a = r->along;

    out_block->first = first;
    out_block->count = (int)(r->y_columns - first < BLOCK ? r->y_columns - first : BLOCK);
    out_block->taps = (int)a->taps;
    for (int i = 0; i < out_block->count; i++) {
        for (int t = 0; t < out_block->taps; t++) {
            out_block->places[t][i] = (int32_t)a->places[(first + i) * a->taps + t];
            out_block->weights[t][i] = (float)a->weights[(first + i) * a->taps + t];
        }
    }
}

ISA_BODY void do_row(float *restrict y, const float *restrict line, const struct block *b)
{
    if (b->taps == 1) {
        for (int i = 0; i < b->count; i++)
            y[i] = b->weights[0][i] * line[b->places[0][i]];
    } else if (b->taps == 2) {
        for (int i = 0; i < b->count; i++)
            y[i] =
                b->weights[0][i] * line[b->places[0][i]] + b->weights[1][i] * line[b->places[1][i]];
    } else {
        for (int i = 0; i < b->count; i++)
            y[i] = b->weights[0][i] * line[b->places[0][i]];
        for (int t = 1; t < b->taps; t++)
            for (int i = 0; i < b->count; i++)
                y[i] += b->weights[t][i] * line[b->places[t][i]];
    }
}

/* To the nearest byte. */
ISA_BODY void round_row(void *y, const float *restrict line, int count, enum kernel_dtype dtype)
{
    const float low = dtype == KERNEL_I8 ? -128.0f : 0.0f, high = low + 255.0f;
    uint8_t *restrict out = y;

    for (int i = 0; i < count; i++) {
        float number = line[i] > low ? line[i] : low;

        number = number < high ? number : high;
        out[i] = (uint8_t)(int32_t)nearbyintf(number);
    }
}

/* Whether row o of y is the one before it again. */
static bool is_again(const struct resampling *r, int64_t o)
{
    const int64_t *places = r->down->places + o * r->down->taps;
    const double *weights = r->down->weights + o * r->down->taps;

    for (int64_t t = 0; t < r->down->taps; t++)
        if (places[t] != places[t - r->down->taps] || weights[t] != weights[t - r->down->taps])
            return false;
    return true;
}

/* Rows of y [begin, end), counted over all planes. */
ISA_BODY void do_rows(const struct resampling *r, int64_t begin, int64_t end,
                      enum kernel_dtype dtype)
{
    for (int64_t first = 0; first < r->y_columns; first += BLOCK) {
        struct block block;

        make_block(r, first, &block);
        for (int64_t i = begin; i < end; i++) {
            const char *plane = r->x + i / r->y_rows * r->rows * r->columns * r->bytes;
            char *y = r->y + (i * r->y_columns + first) * r->bytes;
            float line[WIDE], sums[BLOCK];
            int64_t o = i % r->y_rows;
            bool is_flat = r->top >= r->shape->rank - 2;
            const float *from;

            if (is_flat && i > begin && o > 0 && is_again(r, o)) {
                memcpy(y, y - r->y_columns * r->bytes, (size_t)(block.count * r->bytes));
                continue;
            }
            from = is_flat ? gather_rows(r, plane, o, line, dtype)
                           : gather_volume(r, plane, o, line, dtype);
            do_row(dtype == KERNEL_F32 ? (float *)(void *)y : sums, from, &block);
            if (dtype != KERNEL_F32)
                round_row(y, sums, block.count, dtype);
        }
    }
}

/* --- What only picks. --- */

/* How often each element of a row follows itself, all of them as often; 0 where it is not so. */
static int64_t repeats_of(const struct resampling *r)
{
    int64_t times = r->y_columns / r->columns;

    for (int64_t o = 0; o < r->y_columns; o++)
        if (times == 0 || r->along->places[o] != o / times)
            return 0;
    return times;
}

#define PICK(type)                                                                                 \
    {                                                                                              \
        type *restrict to = y;                                                                     \
        const type *restrict from = x;                                                             \
                                                                                                   \
        if (times == 2)                                                                            \
            for (int64_t o = 0; o < count / 2; o++)                                                \
                to[2 * o] = to[2 * o + 1] = from[o];                                               \
        else                                                                                       \
            for (int64_t o = 0; o < count; o++)                                                    \
                to[o] = from[places[o]];                                                           \
    }

ISA_BODY void pick_row(void *y, const void *x, const int64_t *places, int64_t count, int64_t times,
                       int64_t bytes)
{
    if (times == 1)
        memcpy(y, x, (size_t)(count * bytes));
    else if (bytes == 1)
        PICK(uint8_t)
    else if (bytes == 2)
        PICK(uint16_t)
    else if (bytes == 4)
        PICK(uint32_t)
    else
        PICK(uint64_t)
}

/* Rows of y [begin, end), counted over all planes; those of the same row of x are alike. */
ISA_BODY void pick_rows(const struct resampling *r, int64_t begin, int64_t end)
{
    const struct kernel_resample *s = r->shape;
    int64_t y_bytes = r->y_columns * r->bytes, times = repeats_of(r), last = -1;

    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / r->y_rows * r->rows, stride = 1, rest = i % r->y_rows;
        char *y = r->y + i * y_bytes;

        for (int axis = s->rank - 2; axis >= r->top; axis--) {
            row += s->axes[axis].places[rest % s->y_dims[axis]] * stride;
            stride *= s->x_dims[axis];
            rest /= s->y_dims[axis];
        }
        if (row == last)
            memcpy(y, y - y_bytes, (size_t)y_bytes);
        else
            pick_row(y, r->x + row * r->columns * r->bytes, r->along->places, r->y_columns, times,
                     r->bytes);
        last = row;
    }
}

#define RESAMPLE(isa)                                                                              \
    ISA_TARGET_##isa static void rows_##isa(void *argument, int64_t begin, int64_t end)            \
    {                                                                                              \
        const struct resampling *r = argument;                                                     \
                                                                                                   \
        if (r->shape->dtype == KERNEL_F32)                                                         \
            do_rows(r, begin, end, KERNEL_F32);                                                    \
        else if (r->shape->dtype == KERNEL_U8)                                                     \
            do_rows(r, begin, end, KERNEL_U8);                                                     \
        else                                                                                       \
            do_rows(r, begin, end, KERNEL_I8);                                                     \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void picks_##isa(void *argument, int64_t begin, int64_t end)           \
    {                                                                                              \
        pick_rows(argument, begin, end);                                                           \
    }                                                                                              \
                                                                                                   \
    void resample_##isa(void *y, const void *x, const struct kernel_resample *shape)               \
    {                                                                                              \
        struct resampling r = {.y = y, .x = x, .shape = shape};                                    \
        int64_t planes = 1;                                                                        \
                                                                                                   \
        if (shape->rank < 1 || !find_planes(&r) || (!can_pick(&r) && !can_sum(&r))) {              \
            resample_ref(y, x, shape);                                                             \
            return;                                                                                \
        }                                                                                          \
        for (int i = 0; i < r.top; i++)                                                            \
            planes *= shape->y_dims[i];                                                            \
        team_for(planes *r.y_rows, GRAIN / r.y_columns + 1,                                        \
                 can_pick(&r) ? picks_##isa : rows_##isa, &r);                                     \
    }

ISA_VERSIONS(RESAMPLE)
