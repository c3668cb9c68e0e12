/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers whose images lie channels-last. Pixels are the rows of a product, filters its columns, and
 * so results lie channels-last, too; what each pixel sees is brought together block by block, or is there already. */
#include "kernels/cpu/int8_last.h"

#include <string.h>

#include "kernels/cpu/int8_rows.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    BLOCK_BYTES = 96 << 10, /* of pixels that are brought together, which stay in a cache */
    BLOCK_ROWS = 16 * INT8_MAX_ROWS,
    GRAIN = 1 << 18, /* products that are worth a second thread */
    SLACK = 16,      /* bytes that may be written behind the last */
    FLIP = 0x80,
};

static int64_t area_of(const struct kernel_window *w)
{
    return w->kernel[1] * w->kernel[2];
}

/* Products of one output. */
static int64_t depth_of(const struct kernel_convolve *s)
{
    return s->channels / s->groups * area_of(&s->window);
}

static int64_t pixels_of(const struct kernel_convolve *s)
{
    return s->batch * s->window.out[1] * s->window.out[2];
}

static bool is_depthwise(const struct kernel_convolve *s)
{
    return s->groups > 1 && s->channels == s->groups && s->filters == s->channels;
}

bool int8_last_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;

    return w->in[0] == 1 && w->out[0] == 1 && w->kernel[0] == 1 && w->pad_begin[0] == 0 &&
           (s->groups == 1 || is_depthwise(s));
}

/* Whether each output sees the pixel at its own place alone. */
static bool is_pointwise(const struct kernel_window *w)
{
    for (int axis = 1; axis < KERNEL_SPATIAL; axis++)
        if (w->kernel[axis] != 1 || w->stride[axis] != 1 || w->pad_begin[axis] != 0 ||
            w->in[axis] != w->out[axis])
            return false;
    return true;
}

/* Rows of a block: whole tiles. */
static int64_t block_rows(const struct kernel_convolve *s)
{
    int64_t rows = BLOCK_BYTES / depth_of(s) / INT8_MAX_ROWS * INT8_MAX_ROWS;

    return rows < INT8_MAX_ROWS ? INT8_MAX_ROWS : rows < BLOCK_ROWS ? rows : BLOCK_ROWS;
}

/* Filters that are packed as the columns of a product have their sums behind them. */
static int64_t column_bytes(const struct kernel_convolve *s)
{
    return int8_packed_bytes(s->filters, depth_of(s));
}

/* Pixels are unsigned and filters signed, or turned round to be. */
static uint8_t flip_of(const struct kernel_convolve *s)
{
    return s->w_type == KERNEL_U8 ? FLIP : 0;
}

static bool has_fast_depth(const struct kernel_convolve *s)
{
#if defined(__x86_64__)
    return is_depthwise(s) && int8_last_depth_fits(s);
#else
    (void)s;
    return false;
#endif
}

size_t int8_last_packed(const struct kernel_convolve *shape)
{
#if defined(__x86_64__)
    if (has_fast_depth(shape))
        return int8_last_depth_packed(shape);
#endif
    if (is_depthwise(shape))
        return 0;
    return (size_t)(column_bytes(shape) + int8_round_up(shape->filters * 4));
}

/* [filters, channels, rows, columns] by rows, columns, channels. */
static void pack_columns(uint8_t *packed, const uint8_t *w, const struct kernel_convolve *s)
{
    int64_t area = area_of(&s->window), depth = depth_of(s), unit = int8_packed_bytes(1, depth);
    const uint8_t flip = flip_of(s);

    memset(packed, 0, (size_t)column_bytes(s));
    for (int64_t f = 0; f < s->filters; f++) {
        uint8_t *out = packed + f / INT8_UNIT * unit + f % INT8_UNIT * INT8_QUAD;

        for (int64_t i = 0; i < depth; i++) {
            int64_t k = i % area * s->channels + i / area;

            out[k / INT8_QUAD * INT8_LINE + k % INT8_QUAD] = w[f * depth + i] ^ flip;
        }
    }
    int8_column_sums((void *)(packed + column_bytes(s)), packed, s->filters, depth, true);
}

void int8_last_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape)
{
#if defined(__x86_64__)
    if (has_fast_depth(shape)) {
        int8_last_depth_pack(packed, w, shape);
        return;
    }
#endif
    if (!is_depthwise(shape))
        pack_columns(packed, w, shape);
}

/* Of each thread: pixels that are brought together, and their sums. */
static int64_t slot_bytes(const struct kernel_convolve *s)
{
    return int8_round_up(block_rows(s) * depth_of(s) + SLACK) +
           int8_round_up(block_rows(s) * (int64_t)sizeof(int32_t));
}

size_t int8_last_room(const struct kernel_convolve *shape)
{
    int64_t slots = kernel_threads(),
            filters = column_bytes(shape) + int8_round_up(shape->filters * 4);
    int64_t columns = slots * slot_bytes(shape) + filters;

#if defined(__x86_64__)
    if (has_fast_depth(shape))
        return int8_last_depth_room(shape);
#endif
    return is_depthwise(shape) ? 0 : (size_t)columns;
}

/* --- Products --- */

struct columns {
    const struct int8_last *last;
    struct int8_product product;
    int64_t slots, blocks;
    uint8_t *rooms; /* slot_bytes() each */
};

/* Some bytes, and where there are as many to read, up to SLACK behind them. */
static void copy(uint8_t *to, const uint8_t *from, int64_t bytes, const uint8_t *end)
{
    if (bytes <= SLACK && end - from >= SLACK)
        memcpy(to, from, SLACK);
    else
        memcpy(to, from, (size_t)bytes);
}

/* What an output sees of a row of an image, whose columns begin at `left`. */
static void gather_row(uint8_t *out, const struct kernel_convolve *s, const uint8_t *row,
                       int64_t left, uint8_t pad, const uint8_t *end)
{
    const struct kernel_window *w = &s->window;
    int64_t step = w->dilation[2], count = w->kernel[2];

    if (step == 1 && left >= 0 && left + count <= w->in[2]) {
        copy(out, row + left * s->channels, count * s->channels, end);
        return;
    }
    for (int64_t i = 0; i < count; i++, left += step, out += s->channels) {
        if (left >= 0 && left < w->in[2])
            copy(out, row + left * s->channels, s->channels, end);
        else
            memset(out, pad, (size_t)s->channels);
    }
}

/* What an output sees. */
static void gather(uint8_t *out, const struct columns *c, int64_t pixel)
{
    const struct kernel_convolve *s = c->last->shape;
    const struct kernel_window *w = &s->window;
    int64_t plane = w->out[1] * w->out[2], image = w->in[1] * w->in[2] * s->channels;
    int64_t top = pixel % plane / w->out[2] * w->stride[1] - w->pad_begin[1];
    int64_t left = pixel % w->out[2] * w->stride[2] - w->pad_begin[2];
    int64_t bytes = w->kernel[2] * s->channels;
    const uint8_t *x = c->last->x + pixel / plane * image, *end = c->last->x + s->batch * image;
    uint8_t pad = (uint8_t)c->last->x_zero;

    for (int64_t i = 0; i < w->kernel[1]; i++, top += w->dilation[1], out += bytes) {
        if (top < 0 || top >= w->in[1])
            memset(out, pad, (size_t)bytes);
        else
            gather_row(out, s, x + top * w->in[2] * s->channels, left, pad, end);
    }
}

#if defined(__x86_64__)

/* Rows [0, m) of a product by the columns [begin, end), at most INT8_LINE, with a tile that takes pixels as they are. */
static void do_panel(const struct int8_product *p, const struct int8_tile *tile, int64_t begin,
                     int64_t end)
{
    int64_t unit = int8_packed_bytes(1, p->k), places[INT8_MAX_UNITS];
    int units = (int)((end - begin + INT8_UNIT - 1) / INT8_UNIT);
    int32_t acc[INT8_MAX_ROWS * INT8_LINE] __attribute__((aligned(64)));
    struct int8_sides sides = {.a_line = p->a_line,
                               .k = p->k,
                               .b = p->b,
                               .units = places,
                               .offsets = int8_packed_offsets,
                               .a_is_signed = p->a_is_signed};
    struct int8_rows rows;

    for (int i = 0; i < INT8_MAX_UNITS; i++) /* what is not there is the last one once more */
        places[i] = (begin / INT8_UNIT + (i < units ? i : units - 1)) * unit;
    if (!int8_rows_begin(&rows, p, begin, end)) {
        int8_block_avx512(p, 0, p->m, begin, end);
        return;
    }
    for (int64_t row = 0; row < p->m; row += tile->rows) {
        int64_t count = p->m - row < tile->rows ? p->m - row : tile->rows;

        sides.a = p->a + row * p->a_line;
        tile->fn(acc, &sides, (int)count, units > 2 ? tile->units : units);
        int8_rows_finish(&rows, p, row, row + count, acc);
    }
}

static void block_avx512(const struct int8_product *p, int64_t row, int64_t row_end, int64_t begin,
                         int64_t end)
{
    struct int8_tile tile = int8_tile_avx512();
    struct int8_product some = *p;

    if (tile.widen || tile.units != INT8_MAX_UNITS) {
        int8_block_avx512(p, row, row_end, begin, end);
        return;
    }
    some.m = row_end;
    for (; begin < end; begin += INT8_LINE)
        do_panel(&some, &tile, begin, end - begin < INT8_LINE ? end : begin + INT8_LINE);
}

#endif

/* What the pixels [first, first + count) see. */
static void gather_block(uint8_t *room, const struct columns *c, int64_t first, int64_t count)
{
    const struct kernel_convolve *s = c->last->shape;
    int64_t depth = depth_of(s);

    if (is_pointwise(&s->window))
        memcpy(room, c->last->x + first * depth, (size_t)(count * depth));
    else
        for (int64_t i = 0; i < count; i++)
            gather(room + i * depth, c, first + i);
    for (int64_t i = 0; s->x_type == KERNEL_I8 && i < count * depth; i++)
        room[i] ^= FLIP;
}

/* A block of pixels by all filters. */
static void do_block(const struct columns *c, int64_t block, uint8_t *room)
{
    const struct kernel_convolve *s = c->last->shape;
    int64_t each = block_rows(s), first = block * each, depth = depth_of(s);
    int64_t left = pixels_of(s) - first;
    int32_t *sums = (void *)(room + int8_round_up(each * depth + SLACK));
    struct int8_product p = c->product;

    p.m = left < each ? left : each;
    p.a = c->last->x + first * depth;
    if (!is_pointwise(&s->window) || s->x_type == KERNEL_I8) {
        gather_block(room, c, first, p.m);
        p.a = room;
    }
    if (p.b_zero) {
        int8_row_sums(sums, p.a, p.m, depth, depth, false);
        p.a_sums = sums;
    }
    p.y = (uint8_t *)p.y + first * s->filters * (int64_t)kernel_dtype_bytes(s->y_type);
    c->last->steps.block(&p, 0, p.m, 0, p.n);
}

static void do_slots(void *argument, int64_t begin, int64_t end)
{
    const struct columns *c = argument;

    for (; begin < end; begin++)
        for (int64_t i = c->blocks * begin / c->slots; i < c->blocks * (begin + 1) / c->slots; i++)
            do_block(c, i, c->rooms + begin * slot_bytes(c->last->shape));
}

/* Zero points as they are once filters are packed. NULL: all are 0. */
static const int32_t *move_zeros(const struct int8_last *l)
{
    const struct kernel_convolve *s = l->shape;
    int32_t any = 0;

    for (int64_t f = 0; f < s->filters; f++) {
        l->b_zero[f] = l->w_zero[f] - flip_of(s);
        any |= l->b_zero[f];
    }
    return any ? l->b_zero : NULL;
}

static void multiply(const struct int8_last *l)
{
    const struct kernel_convolve *s = l->shape;
    struct columns c = {.last = l, .product = l->product, .slots = kernel_threads()};
    const uint8_t *packed = l->packed;
    int64_t depth = depth_of(s), products = pixels_of(s) * s->filters * depth;
    int32_t x_zero = l->x_zero + (s->x_type == KERNEL_I8 ? FLIP : 0);

    c.rooms = l->workspace;
    c.blocks = (pixels_of(s) + block_rows(s) - 1) / block_rows(s);
    if (!packed) {
        pack_columns(c.rooms + c.slots * slot_bytes(s), l->w, s);
        packed = c.rooms + c.slots * slot_bytes(s);
    }
    c.product.n = s->filters;
    c.product.k = c.product.a_line = depth;
    c.product.b = packed;
    c.product.b_sums = (const void *)(packed + column_bytes(s));
    c.product.a_zero = x_zero ? &x_zero : NULL;
    c.product.b_zero = move_zeros(l);
    c.product.b_zero_step = 1;
    team_for(c.slots, GRAIN * c.slots / (products + 1) + 1, do_slots, &c);
}

/* --- Filters of one channel --- */

/* Sums of up to INT8_LINE channels of one output. */
ISA_BODY void sum_pixel(int32_t *restrict sums, const struct int8_last *l, const uint8_t *image,
                        int64_t top, int64_t left, int64_t first, int64_t count)
{
    const struct kernel_convolve *s = l->shape;
    const struct kernel_window *w = &s->window;
    int64_t area = area_of(w);

    memset(sums, 0, INT8_LINE * sizeof(*sums));
    for (int64_t i = 0; i < area; i++) {
        int64_t row = top + i / w->kernel[2] * w->dilation[1];
        int64_t column = left + i % w->kernel[2] * w->dilation[2];
        const uint8_t *x = image + (row * w->in[2] + column) * s->channels + first;
        const uint8_t *filter = l->w + first * area + i;

        if (row < 0 || row >= w->in[1] || column < 0 || column >= w->in[2])
            continue;
        for (int64_t c = 0; c < count; c++) {
            int32_t a = s->x_type == KERNEL_I8 ? (int8_t)x[c] : x[c];
            int32_t b = s->w_type == KERNEL_I8 ? (int8_t)filter[c * area] : filter[c * area];

            sums[c] += (a - l->x_zero) * (b - l->w_zero[first + c]);
        }
    }
}

/* Outputs [begin, end). */
ISA_BODY void sum_pixels(const struct int8_last *l, int64_t begin, int64_t end)
{
    const struct kernel_convolve *s = l->shape;
    const struct kernel_window *w = &s->window;
    int64_t plane = w->out[1] * w->out[2];
    int32_t sums[INT8_LINE];

    for (int64_t pixel = begin; pixel < end; pixel++) {
        const uint8_t *image = l->x + pixel / plane * w->in[1] * w->in[2] * s->channels;
        int64_t top = pixel % plane / w->out[2] * w->stride[1] - w->pad_begin[1];
        int64_t left = pixel % w->out[2] * w->stride[2] - w->pad_begin[2];

        for (int64_t first = 0; first < s->channels; first += INT8_LINE) {
            int64_t rest = s->channels - first, count = rest < INT8_LINE ? rest : INT8_LINE;

            sum_pixel(sums, l, image, top, left, first, count);
            l->finish(&l->product, pixel, pixel + 1, first, first + count, sums);
        }
    }
}

static void run(const struct int8_last *l, team_fn *pixels)
{
    const struct kernel_convolve *s = l->shape;

    if (!is_depthwise(s)) {
        multiply(l);
        return;
    }
#if defined(__x86_64__)
    if (l->packed && has_fast_depth(s)) {
        int8_last_depth(l);
        return;
    }
#endif
    team_for(pixels_of(s), GRAIN / 8 / (s->channels * area_of(&s->window)) + 1, pixels, (void *)l);
}

#define STEPS_portable  INT8_STEPS(portable)
#define FINISH_portable int8_finish_rows_portable
#define STEPS_avx2      INT8_STEPS(avx2)
#define FINISH_avx2     int8_finish_rows_avx2
#define STEPS_avx512    ((struct int8_steps){block_avx512, NULL})
#define FINISH_avx512   int8_rows_all

#define LAST(isa)                                                                                  \
    ISA_TARGET_##isa static void pixels_##isa(void *l, int64_t begin, int64_t end)                 \
    {                                                                                              \
        sum_pixels(l, begin, end);                                                                 \
    }                                                                                              \
                                                                                                   \
    void int8_last_##isa(const struct int8_last *l)                                                \
    {                                                                                              \
        struct int8_last last = *l;                                                                \
                                                                                                   \
        last.steps = STEPS_##isa;                                                                  \
        last.finish = FINISH_##isa;                                                                \
        last.product.y_line = l->shape->filters;                                                   \
        run(&last, pixels_##isa);                                                                  \
    }

ISA_VERSIONS(LAST)
