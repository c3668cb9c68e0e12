/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GridSample: which pixels a point reads and what each counts is worked out once for all channels. Compiled once per
 * type, in a file of its own that defines before it includes this
 *
 * REAL              of the elements, and of the grid
 * REAL_TYPE         KERNEL_F64: its name
 * GRID_SAMPLE_NAME  grid_sample_: what the versions are called, before their instruction set
 * GRID_SAMPLE_REST  (isa): the function for what is not here, cubes of volumes and other types
 */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"
#include "kernels/ref/grid_taps.h"

enum {
    PIXELS = 16,     /* that a point reads at most */
    POINTS = 64,     /* at a time */
    GRAIN = 1 << 13, /* points of a channel that are worth a second thread */
    CORNERS = 4,     /* that most points read */
    CHANNELS = 4,    /* at a time */
};

struct point {
    int32_t index; /* among its block */
    int32_t count; /* without those that count nothing */
    int32_t at[PIXELS];
    REAL weight[PIXELS];
};

struct sampling {
    REAL *y;
    const REAL *x, *grid;
    const struct kernel_grid_sample *shape;
    int64_t plane;
};

/* One axis more: each of the pixels so far, times each of this axis. */
ISA_BODY void add_axis(struct point *point, double weights[PIXELS], const struct grid_taps *taps,
                       int64_t size)
{
    struct point before = *point;
    double factors[PIXELS];
    int32_t count = 0;

    for (int i = 0; i < before.count; i++)
        factors[i] = weights[i];
    for (int i = 0; i < before.count; i++) {
        for (int j = 0; j < taps->count; j++) {
            double weight = factors[i] * taps->weights[j];

            if (taps->pixels[j] < 0 || weight == 0.0)
                continue;
            point->at[count] = (int32_t)(before.at[i] * size + taps->pixels[j]);
            weights[count++] = weight;
        }
    }
    point->count = count;
}

/* Two pixels of an axis and their weights, 0 for what is outside. False for what has to be
 * reflected. */
ISA_BODY bool find_pair(double g, int64_t size, const struct kernel_grid_sample *s,
                        int64_t pixels[2], double weights[2])
{
    double n = (double)size, first;
    double at = s->align_corners ? (g + 1.0) / 2.0 * (n - 1.0) : ((g + 1.0) * n - 1.0) / 2.0;

    if (s->outside == OUTSIDE_BORDER) {
        at = at > 0.0 ? at : 0.0; /* NaN: 0 */
        at = at < n - 1.0 ? at : n - 1.0;
    } else if (!(at >= 0.0 && at <= n - 1.0)) {
        if (s->outside == OUTSIDE_REFLECT)
            return false;
        at = at > -1.0 ? at : -1.0;
        at = at < n ? at : n;
    }
    first = floor(at);
    pixels[0] = (int64_t)first;
    pixels[1] = pixels[0] + 1;
    weights[0] = pixels[0] >= 0 && pixels[0] < size ? 1.0 - (at - first) : 0.0;
    weights[1] = pixels[1] < size ? at - first : 0.0;
    return true;
}

/* Between four pixels, the usual case. */
ISA_BODY bool find_corners(struct point *out_point, const REAL *grid,
                           const struct kernel_grid_sample *s)
{
    int64_t pixels[2][2];
    double weights[2][2];

    if (s->rank != 2 || s->mode != SAMPLE_LINEAR ||
        !find_pair((double)grid[1], s->in[0], s, pixels[0], weights[0]) ||
        !find_pair((double)grid[0], s->in[1], s, pixels[1], weights[1]))
        return false;
    out_point->count = 0;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            double weight = weights[0][i] * weights[1][j];

            out_point->at[out_point->count] = (int32_t)(pixels[0][i] * s->in[1] + pixels[1][j]);
            out_point->weight[out_point->count] = (REAL)weight;
            out_point->count += weight != 0.0;
        }
    }
    return true;
}

ISA_BODY void find_point(struct point *out_point, const REAL *grid,
                         const struct kernel_grid_sample *s)
{
    double weights[PIXELS];

    if (find_corners(out_point, grid, s))
        return;
    weights[0] = 1.0;
    out_point->count = 1;
    out_point->at[0] = 0;
    for (int axis = 0; axis < s->rank; axis++) {
        struct grid_axis along = {s->in[axis], s->mode, s->outside, s->align_corners};
        struct grid_taps taps = grid_taps_of((double)grid[s->rank - 1 - axis], &along);

        add_axis(out_point, weights, &taps, s->in[axis]);
    }
    for (int i = 0; i < out_point->count; i++)
        out_point->weight[i] = (REAL)weights[i];
}

ISA_BODY REAL sum_pixels(const REAL *x, const struct point *point)
{
    REAL sum = 0;

    for (int i = 0; i < point->count; i++)
        sum += point->weight[i] * x[point->at[i]];
    return sum;
}

/* A block of points: first those between four pixels, so that no branch has to be guessed for each. */
struct block {
    struct point points[POINTS];
    int64_t count, cornered;
};

ISA_BODY void find_block(struct block *block, const REAL *grid, int64_t count,
                         const struct kernel_grid_sample *s)
{
    int64_t first = 0, last = count;

    for (int64_t i = 0; i < count; i++) {
        struct point *point = &block->points[first];

        find_point(point, grid + i * s->rank, s);
        point->index = (int32_t)i;
        if (point->count == CORNERS)
            first++;
        else if (--last != first)
            block->points[last] = *point;
    }
    block->count = count;
    block->cornered = first;
}

/* Points of some channels of an image: what is known of a point is loaded once for them. */
ISA_BODY void sample_channels(const struct sampling *p, const struct block *block, int64_t image,
                              int64_t first, int64_t channels)
{
    int64_t y_step = p->shape->points, x_step = p->plane, i = 0;
    const REAL *x = p->x + image * x_step;
    REAL *restrict y = p->y + image * y_step + first;

    for (; channels == CHANNELS && i < block->cornered; i++) {
        const struct point *q = &block->points[i];
        REAL w0 = q->weight[0], w1 = q->weight[1], w2 = q->weight[2], w3 = q->weight[3];
        const REAL *a = x + q->at[0], *b = x + q->at[1], *c = x + q->at[2], *d = x + q->at[3];

        for (int64_t k = 0; k < CHANNELS; k++)
            y[k * y_step + q->index] = (w0 * a[k * x_step] + w1 * b[k * x_step]) +
                                       (w2 * c[k * x_step] + w3 * d[k * x_step]);
    }
    for (; i < block->count; i++) {
        const struct point *q = &block->points[i];

        if (q->count == 0)
            for (int64_t c = 0; c < channels; c++)
                y[c * y_step + q->index] = 0;
        else
            for (int64_t c = 0; c < channels; c++)
                y[c * y_step + q->index] = sum_pixels(x + c * x_step, q);
    }
}

/* Blocks of points [begin, end), counted over the images. */
ISA_BODY void sample_part(const struct sampling *p, int64_t begin, int64_t end)
{
    const struct kernel_grid_sample *s = p->shape;
    int64_t blocks = (s->points + POINTS - 1) / POINTS;
    struct block points;

    for (int64_t block = begin; block < end; block++) {
        int64_t n = block / blocks, first = block % blocks * POINTS, left = s->points - first;

        find_block(&points, p->grid + (n * s->points + first) * s->rank,
                   left < POINTS ? left : POINTS, s);
        for (int64_t c = 0; c < s->channels; c += CHANNELS)
            sample_channels(p, &points, n * s->channels + c, first,
                            s->channels - c < CHANNELS ? s->channels - c : CHANNELS);
    }
}

static bool is_here(const struct kernel_grid_sample *s, int64_t *out_plane)
{
    int64_t plane = 1, pixels = 1;

    for (int i = 0; i < s->rank; i++) {
        plane *= s->in[i];
        pixels *= s->mode == SAMPLE_CUBIC ? 4 : 2;
    }
    *out_plane = plane;
    return s->dtype == REAL_TYPE && s->grid_type == REAL_TYPE && pixels <= PIXELS &&
           plane <= INT32_MAX;
}

#define NAME2(name, isa) name##isa
#define NAME(name, isa)  NAME2(name, isa)

#define GRID_SAMPLE(isa)                                                                           \
    ISA_TARGET_##isa static void sample_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        sample_part(argument, begin, end);                                                         \
    }                                                                                              \
                                                                                                   \
    void NAME(GRID_SAMPLE_NAME, isa)(void *y, const void *x, const void *grid,                     \
                                     const struct kernel_grid_sample *s)                           \
    {                                                                                              \
        struct sampling p = {y, x, grid, s, 0};                                                    \
                                                                                                   \
        if (s->channels > 0 && is_here(s, &p.plane))                                               \
            team_for(s->batch *((s->points + POINTS - 1) / POINTS),                                \
                     GRAIN / (POINTS * s->channels) + 1, sample_part_##isa, &p);                   \
        else                                                                                       \
            GRID_SAMPLE_REST(isa)(y, x, grid, s);                                                  \
    }

ISA_VERSIONS(GRID_SAMPLE)
