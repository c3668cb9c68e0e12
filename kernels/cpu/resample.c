/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling of f32 and bytes by sums of f32, and, of every type, what only picks elements. */
#include <math.h>

#include "kernels/cpu/resample_f64.h"
#include "kernels/cpu/team.h"

#define SUM      float
#define SUM_TYPE KERNEL_F32
#include "kernels/cpu/resample_steps.h"

static bool is_here(enum kernel_dtype dtype)
{
    return dtype == KERNEL_F32 || dtype == KERNEL_U8 || dtype == KERNEL_I8;
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

/* To the nearest byte. */
ISA_BODY void round_row(void *y, const float *restrict line, const struct resampling *r,
                        const struct block *block, int64_t row, enum kernel_dtype dtype)
{
    const float low = dtype == KERNEL_I8 ? -128.0f : 0.0f, high = low + 255.0f;
    uint8_t *restrict out = y;

    for (int i = 0; i < block->count; i++) {
        float number = line[i] > low ? line[i] : low;

        number = number < high ? number : high;
        out[i] = (uint8_t)(int32_t)nearbyintf(number);
    }
}

/* --- What only picks. --- */

enum {
    SOME = 32
}; /* elements that are picked together: more than a compiler makes single steps of */

/* How often each element of a row follows itself, all of them as often; 0 where it is not so. */
static int64_t repeats_of(const struct resampling *r)
{
    int64_t times = r->y_columns / r->columns;

    for (int64_t o = 0; o < r->y_columns; o++)
        if (times == 0 || r->along->places[o] != o / times)
            return 0;
    return times;
}

/* Twice each, some at a time; the last ones again, so that none is left over. */
#define TWICE(type)                                                                                \
    for (int64_t done = 0, at = 0; done < count / 2; done = at + SOME) {                           \
        const type *restrict x_at;                                                                 \
        type *restrict y_at;                                                                       \
                                                                                                   \
        at = done + SOME <= count / 2 ? done : count / 2 - SOME;                                   \
        x_at = from + at;                                                                          \
        y_at = to + 2 * at;                                                                        \
        for (int64_t j = 0; j < SOME; j++)                                                         \
            y_at[2 * j] = y_at[2 * j + 1] = x_at[j];                                               \
    }

#define PICK(type)                                                                                 \
    {                                                                                              \
        type *restrict to = y;                                                                     \
        const type *restrict from = x;                                                             \
                                                                                                   \
        if (times == 2 && count >= 2 * SOME) {                                                     \
            TWICE(type)                                                                            \
        } else if (times == 2) {                                                                   \
            for (int64_t o = 0; o < count / 2; o++)                                                \
                to[2 * o] = to[2 * o + 1] = from[o];                                               \
        } else {                                                                                   \
            for (int64_t o = 0; o < count; o++)                                                    \
                to[o] = from[places[o]];                                                           \
        }                                                                                          \
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

/* Bytes twice each, some at a time as TWICE() has them, in as many rows as are alike: what was just written is slow to
 * read again, and of bytes that is all the time. */
ISA_BODY void twice_rows(uint8_t *y, const uint8_t *x, int64_t count, int64_t rows)
{
    for (int64_t done = 0, at = 0; done < count / 2; done = at + SOME) {
        uint8_t twice[2 * SOME];

        at = done + SOME <= count / 2 ? done : count / 2 - SOME;
        for (int64_t j = 0; j < SOME; j++)
            twice[2 * j] = twice[2 * j + 1] = x[at + j];
        for (int64_t row = 0; row < rows; row++)
            memcpy(y + row * count + 2 * at, twice, sizeof(twice));
    }
}

/* The row of x that those of row `i` of y, on the axis of rows, are counted from. */
static int64_t first_row(const struct resampling *r, int64_t i)
{
    const struct kernel_resample *s = r->shape;
    int last = s->rank - 2;
    int64_t row = i / r->y_rows * r->rows, stride = last < 0 ? 1 : s->x_dims[last];
    int64_t rest = last < 0 ? 0 : i % r->y_rows / s->y_dims[last];

    for (int axis = last - 1; axis >= r->top; axis--) {
        row += s->axes[axis].places[rest % s->y_dims[axis]] * stride;
        stride *= s->x_dims[axis];
        rest /= s->y_dims[axis];
    }
    return row;
}

/* Rows of y [begin, end), counted over all planes; those of the same row of x are alike. */
ISA_BODY void pick_rows(const struct resampling *r, int64_t begin, int64_t end)
{
    const struct kernel_resample *s = r->shape;
    int64_t y_bytes = r->y_columns * r->bytes, times = repeats_of(r), last = -1, row = 0;
    int64_t lines = s->rank > 1 ? s->y_dims[s->rank - 2] : 1, o = lines, base = 0;

    for (int64_t i = begin; i < end; i++, o++) {
        char *y = r->y + i * y_bytes;

        if (i == begin || o == lines) {
            o = i % lines;
            base = first_row(r, i);
        }
        row = base + r->down->places[o];
        if (r->bytes == 1 && times == 2 && r->y_columns >= 2 * SOME) {
            int64_t rows = 1;

            while (i + rows < end && o + rows < lines && base + r->down->places[o + rows] == row)
                rows++;
            twice_rows((uint8_t *)y, (const uint8_t *)r->x + row * r->columns, r->y_columns, rows);
            i += rows - 1;
            o += rows - 1;
        } else if (row == last)
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
        if (shape->rank < 1 || !find_planes(&r) ||                                                 \
            (!can_pick(&r) && !(is_here(shape->dtype) && can_sum(&r)))) {                          \
            resample_f64_##isa(y, x, shape);                                                       \
            return;                                                                                \
        }                                                                                          \
        for (int i = 0; i < r.top; i++)                                                            \
            planes *= shape->y_dims[i];                                                            \
        team_for(planes *r.y_rows, GRAIN / r.y_columns + 1,                                        \
                 can_pick(&r) ? picks_##isa : rows_##isa, &r);                                     \
    }

ISA_VERSIONS(RESAMPLE)
