/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resampling by sums: the rows that an output row is made of first, as vectors, then along the row. Compiled once per
 * type of sums, in a file of its own that defines before it includes this
 *
 * SUM        of the sums
 * SUM_TYPE   KERNEL_F64: its name
 *
 * and behind it add_row() and round_row(), of every type of elements that is summed so.
 */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/resample_planes.h"

/* Places and weights of a few outputs in a row, tap by tap, which all rows share. */
enum { BLOCK = 256 };

struct block {
    int64_t first;     /* of y */
    int64_t low, high; /* columns of x that are read */
    int count, taps;
    int32_t places[TAPS][BLOCK];
    SUM weights[TAPS][BLOCK];
    SUM rooms[BLOCK]; /* see struct resampling */
};

/* line (+)= weight * row */
ISA_BODY void add_row(SUM *restrict line, const void *row, int64_t columns, SUM weight,
                      bool is_first, enum kernel_dtype dtype);

/* Part of row `row` of all planes as integers; of SUM_TYPE it is y itself that is summed. */
ISA_BODY void round_row(void *y, const SUM *restrict line, const struct resampling *r,
                        const struct block *block, int64_t row, enum kernel_dtype dtype);

/* Of elements of `type`, within add_row(). */
#define ADD_ROW(type)                                                                              \
    {                                                                                              \
        const type *restrict x = row;                                                              \
                                                                                                   \
        if (is_first)                                                                              \
            for (int64_t i = 0; i < columns; i++)                                                  \
                line[i] = weight * (SUM)x[i];                                                      \
        else                                                                                       \
            for (int64_t i = 0; i < columns; i++)                                                  \
                line[i] += weight * (SUM)x[i];                                                     \
    }

/* What the row `o` of y is made of, in the block's columns: a row of x itself, or the sum of some in `line`. */
ISA_BODY const SUM *gather_rows(const struct resampling *r, const char *plane, int64_t o,
                                SUM *restrict line, const struct block *block,
                                enum kernel_dtype dtype)
{
    const int64_t *places = r->down->places + o * r->down->taps;
    const double *weights = r->down->weights + o * r->down->taps;
    int64_t line_bytes = r->columns * r->bytes;

    if (dtype == SUM_TYPE && r->down->taps == 1 && weights[0] == 1.0)
        return (const SUM *)(const void *)(plane + places[0] * line_bytes);
    for (int64_t t = 0; t < r->down->taps; t++)
        add_row(line + block->low, plane + places[t] * line_bytes + block->low * r->bytes,
                block->high - block->low, (SUM)weights[t], t == 0, dtype);
    return line;
}

/* As gather_rows(), of planes with more than one axis of rows: a row for each choice of one term of every axis. */
ISA_BODY const SUM *gather_volume(const struct resampling *r, const char *volume, int64_t o,
                                  SUM *restrict line, const struct block *block,
                                  enum kernel_dtype dtype)
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
        add_row(line + block->low, volume + (row * r->columns + block->low) * r->bytes,
                block->high - block->low, (SUM)weight, term == 0, dtype);
    }
    return line;
}

static void make_block(const struct resampling *r, int64_t first, struct block *out_block)
{
    const struct kernel_resample_axis *a = r->along;

    out_block->first = first;
    out_block->count = (int)(r->y_columns - first < BLOCK ? r->y_columns - first : BLOCK);
    out_block->taps = (int)a->taps;
    out_block->low = r->columns;
    out_block->high = 0;
    for (int i = 0; i < out_block->count; i++) {
        bool has_room = r->room != 0.0 && !(r->has_exact_rows && is_exact(a, first + i, r->scale));

        out_block->rooms[i] = has_room ? (SUM)r->room : 0;
        for (int t = 0; t < out_block->taps; t++) {
            int64_t place = a->places[(first + i) * a->taps + t];

            out_block->low = place < out_block->low ? place : out_block->low;
            out_block->high = place >= out_block->high ? place + 1 : out_block->high;
            out_block->places[t][i] = (int32_t)place;
            out_block->weights[t][i] = (SUM)a->weights[(first + i) * a->taps + t];
        }
    }
}

ISA_BODY void do_row(SUM *restrict y, const SUM *restrict line, const struct block *b)
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
            SUM line[WIDE], sums[BLOCK];
            int64_t o = i % r->y_rows;
            bool is_flat = r->top >= r->shape->rank - 2;
            const SUM *from;

            if (is_flat && i > begin && o > 0 && is_again(r, o)) {
                memcpy(y, y - r->y_columns * r->bytes, (size_t)(block.count * r->bytes));
                continue;
            }
            from = is_flat ? gather_rows(r, plane, o, line, &block, dtype)
                           : gather_volume(r, plane, o, line, &block, dtype);
            do_row(dtype == SUM_TYPE ? (SUM *)(void *)y : sums, from, &block);
            if (dtype != SUM_TYPE)
                round_row(y, sums, r, &block, i, dtype);
        }
    }
}
