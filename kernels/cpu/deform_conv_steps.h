/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution at places that move: a block of places at a time is sampled into columns, which the weights are
 * multiplied by. Places and weights of the pixels around are worked out once for all channels that share them.
 * Compiled once per type, in a file of its own that defines before it includes this
 *
 * REAL            of all tensors
 * REAL_TYPE       KERNEL_F64: its name
 * FLOOR           floor: of a REAL
 * DEFORM_PRODUCT  product_fn: the type of the function that multiply() takes
 *
 * and behind it multiply().
 */
#include <math.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    CHUNK = 64,            /* places whose pixels are kept at once */
    COLUMNS = 1 << 19,     /* numbers of a block of places, about */
    GRAIN = 1 << 13,       /* samples that are worth a second thread */
    OFFSET_LIMIT = 1 << 30 /* beyond lies no pixel */
};

/* Some places of one image, and one element of the window. */
struct chunk {
    int64_t count;
    int64_t base[KERNEL_SPATIAL][CHUNK]; /* where the window begins */
    int32_t at[1 << KERNEL_SPATIAL][CHUNK];
    REAL weight[1 << KERNEL_SPATIAL][CHUNK];
};

struct sampling {
    const struct kernel_deform_conv_data *data;
    const struct kernel_deform_conv *shape;
    REAL *columns; /* [channels, element, count] */
    int64_t image, first, count;
};

static int64_t product(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

/* Places of a block, whose columns are kept at once. */
static int64_t block_places(const struct kernel_deform_conv *s)
{
    int64_t rows = s->channels * product(s->window.kernel), places = product(s->window.out);
    int64_t block = COLUMNS / (rows + 1) / CHUNK * CHUNK;

    block = block < 2 * CHUNK ? 2 * CHUNK : block;
    return block < places ? block : places;
}

/* Numbers of the columns of a block. */
static int64_t column_numbers(const struct kernel_deform_conv *s)
{
    bool is_nothing = s->batch == 0 || s->filters == 0;

    return is_nothing ? 0 : s->channels * product(s->window.kernel) * block_places(s);
}

static void find_bases(struct chunk *chunk, const struct kernel_window *w, int64_t first)
{
    int64_t o[] = {first / (w->out[1] * w->out[2]), first / w->out[2] % w->out[1],
                   first % w->out[2]};

    for (int64_t p = 0; p < chunk->count; p++) {
        for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
            chunk->base[axis][p] = o[axis] * w->stride[axis] - w->pad_begin[axis];
        for (int axis = KERNEL_SPATIAL - 1; axis >= 0 && ++o[axis] == w->out[axis]; axis--)
            o[axis] = 0;
    }
}

/* The pixels before and behind a place that an axis has moved: twice those of the axes before. */
ISA_BODY void split_axis(struct chunk *chunk, const REAL *offset, int axis, int64_t step,
                         int64_t size, int corners)
{
    for (int64_t p = 0; p < chunk->count; p++) {
        bool is_near = offset[p] > -(REAL)OFFSET_LIMIT && offset[p] < (REAL)OFFSET_LIMIT;
        REAL down = FLOOR(is_near ? offset[p] : 0), share = is_near ? offset[p] - down : 0;
        int64_t low = chunk->base[axis][p] + step + (int64_t)down;
        bool has_low = is_near && low >= 0 && low < size;
        bool has_next = is_near && low >= -1 && low < size - 1;
        int32_t at = has_low ? (int32_t)low : 0, next = has_next ? (int32_t)(low + 1) : 0;
        REAL weight = has_low ? 1 - share : 0, next_weight = has_next ? share : 0;

        for (int i = corners - 1; i >= 0; i--) {
            int32_t line = chunk->at[i][p] * (int32_t)size;
            REAL all = chunk->weight[i][p];

            chunk->at[2 * i][p] = line + at;
            chunk->at[2 * i + 1][p] = line + next;
            chunk->weight[2 * i][p] = all * weight;
            chunk->weight[2 * i + 1][p] = all * next_weight;
        }
    }
}

/* The pixels around the places of one element of the window, with the axes of the tensor. */
ISA_BODY void find_pixels(struct chunk *chunk, const struct sampling *a, int64_t first,
                          int64_t offset_group, int64_t element, int rank)
{
    const struct kernel_deform_conv *s = a->shape;
    const struct kernel_window *w = &s->window;
    int64_t area = product(w->kernel), places = product(w->out);
    int64_t line = (a->image * s->offset_groups + offset_group) * area + element;
    int64_t k[] = {element / (w->kernel[1] * w->kernel[2]), element / w->kernel[2] % w->kernel[1],
                   element % w->kernel[2]};
    const REAL *offset = (const REAL *)a->data->offset + line * rank * places + first;
    const REAL *mask = a->data->mask;

    for (int64_t p = 0; p < chunk->count; p++) {
        chunk->at[0][p] = 0;
        chunk->weight[0][p] = mask ? mask[line * places + first + p] : 1;
    }
    for (int i = 0; i < rank; i++, offset += places) {
        int axis = KERNEL_SPATIAL - rank + i;

        split_axis(chunk, offset, axis, k[axis] * w->dilation[axis], w->in[axis], 1 << i);
    }
}

/* A pixel that weighs nothing counts nothing, even where it is not a number. */
ISA_BODY void sample(REAL *restrict row, const REAL *x, const struct chunk *chunk, int corners)
{
#pragma omp simd
    for (int64_t p = 0; p < chunk->count; p++) {
        REAL sum = 0;

        for (int i = 0; i < corners; i++) {
            REAL weight = chunk->weight[i][p], part = weight * x[chunk->at[i][p]];

            sum += weight == 0 ? 0 : part;
        }
        row[p] = sum;
    }
}

ISA_BODY void sample_channels(struct chunk *chunk, const struct sampling *a, int64_t first,
                              int64_t offset_group, int64_t element, int rank)
{
    const struct kernel_deform_conv *s = a->shape;
    int64_t plane = product(s->window.in), area = product(s->window.kernel);
    int64_t channels = s->channels / s->offset_groups;

    find_pixels(chunk, a, a->first + first, offset_group, element, rank);
    for (int64_t c = offset_group * channels; c < (offset_group + 1) * channels; c++)
        sample(a->columns + (c * area + element) * a->count + first,
               (const REAL *)a->data->x + (a->image * s->channels + c) * plane, chunk, 1 << rank);
}

/* Jobs: chunks of places, of each the groups of offsets, of each the elements of the window. */
ISA_BODY void sample_jobs(const struct sampling *a, int64_t begin, int64_t end)
{
    const struct kernel_deform_conv *s = a->shape;
    int64_t area = product(s->window.kernel), last = -1;
    struct chunk chunk;

    for (int64_t job = begin; job < end; job++) {
        int64_t group = job / area % s->offset_groups, element = job % area;
        int64_t first = job / area / s->offset_groups * CHUNK;

        chunk.count = a->count - first < CHUNK ? a->count - first : CHUNK;
        if (first != last)
            find_bases(&chunk, &s->window, a->first + first);
        last = first;
        if (s->rank == 1)
            sample_channels(&chunk, a, first, group, element, 1);
        else if (s->rank == 2)
            sample_channels(&chunk, a, first, group, element, 2);
        else
            sample_channels(&chunk, a, first, group, element, 3);
    }
}

/* y of the sampled places. */
static void multiply(const struct sampling *a, DEFORM_PRODUCT *product_of);

/* False, with nothing done, for what is the reference's. */
static bool convolve(const struct kernel_deform_conv_data *data, const struct kernel_deform_conv *s,
                     team_fn *sample_part, DEFORM_PRODUCT *product_of)
{
    int64_t places = product(s->window.out), block = block_places(s);
    int64_t jobs_each = s->offset_groups * product(s->window.kernel);
    int64_t samples = CHUNK * (s->channels / s->offset_groups) + 1;

    if (s->dtype != REAL_TYPE || product(s->window.in) < 1 || product(s->window.in) > INT32_MAX)
        return false;
    for (int64_t n = 0; s->filters > 0 && n < s->batch; n++) {
        for (int64_t first = 0; first < places; first += block) {
            int64_t count = places - first < block ? places - first : block;
            struct sampling a = {data, s, data->workspace, n, first, count};

            team_for((count + CHUNK - 1) / CHUNK * jobs_each, GRAIN / samples + 1, sample_part, &a);
            multiply(&a, product_of);
        }
    }
    return true;
}

#define DEFORM_SAMPLE(isa)                                                                         \
    ISA_TARGET_##isa static void sample_##isa(void *argument, int64_t begin, int64_t end)          \
    {                                                                                              \
        sample_jobs(argument, begin, end);                                                         \
    }

ISA_VERSIONS(DEFORM_SAMPLE)
