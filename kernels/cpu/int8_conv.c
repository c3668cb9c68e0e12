/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers: ConvInteger, QLinearConv. The filters are the rows of a product,
 * the pixels its columns; what each pixel sees is gathered block by block. */
#include <string.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/int8_depth.h"
#include "kernels/cpu/int8_direct.h"
#include "kernels/cpu/int8_few.h"
#include "kernels/cpu/int8_last.h"
#include "kernels/cpu/int8_winograd.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    BLOCK_BYTES = 192 << 10, /* of gathered pixels, which stay in a cache */
    BLOCK_MAX = 512,         /* pixels */
    GRAIN = 1 << 18,         /* products that are worth a second thread */
    WIDE_BYTES = 1 << 20,    /* of filters that are widened once for all blocks */
    HEADER = 64,             /* bytes */
};

static bool is_byte(enum kernel_dtype dtype)
{
    return dtype == KERNEL_U8 || dtype == KERNEL_I8;
}

static int64_t volume(const int64_t sizes[KERNEL_SPATIAL])
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* Products of one output. */
static int64_t depth_of(const struct kernel_convolve *s)
{
    return s->channels / s->groups * volume(s->window.kernel);
}

bool kernel_convolve_int8_fits(const struct kernel_convolve *shape, bool has_bias,
                               bool is_quantised)
{
    int64_t depth = shape->groups > 0 ? depth_of(shape) : 0;

    return is_byte(shape->x_type) && is_byte(shape->w_type) &&
           (is_quantised ? is_byte(shape->y_type) : shape->y_type == KERNEL_I32) &&
           (!is_quantised || shape->scale_type == KERNEL_F32) &&
           (!has_bias || shape->bias_type == KERNEL_I32) && depth >= 1 && depth <= INT8_MAX_K &&
           (!shape->channels_last || int8_last_fits(shape));
}

bool kernel_convolve_int8_likes_last(const struct kernel_convolve *shape)
{
#if defined(__x86_64__)
    return int8_last_depth_fits(shape);
#else
    (void)shape;
    return false;
#endif
}

static int64_t block_pixels(const struct kernel_convolve *s)
{
    int64_t line = int8_packed_bytes(1, depth_of(s)) / INT8_UNIT;
    int64_t pixels = BLOCK_BYTES / line / INT8_LINE * INT8_LINE;
    int64_t all = (volume(s->window.out) + INT8_LINE - 1) / INT8_LINE * INT8_LINE;

    pixels = pixels < INT8_LINE ? INT8_LINE : pixels > BLOCK_MAX ? BLOCK_MAX : pixels;
    return pixels < all ? pixels : all;
}

/* Of each thread: gathered pixels, their sums, four rows before they are packed. */
static int64_t thread_bytes(const struct kernel_convolve *s)
{
    int64_t pixels = block_pixels(s);

    return int8_packed_bytes(pixels, depth_of(s)) + pixels * (int64_t)sizeof(int32_t) +
           pixels * INT8_QUAD;
}

/* Of each filter: sum, zero point, scale. */
static int64_t filter_bytes(const struct kernel_convolve *s)
{
    return int8_round_up(s->filters * 8);
}

/* Of a group's filters, widened; 0: they are too many, and each block does it. */
static int64_t wide_bytes(const struct kernel_convolve *s)
{
    int64_t bytes = int8_wide_bytes(s->filters / s->groups, depth_of(s));

    return bytes <= WIDE_BYTES / s->groups ? bytes : 0;
}

size_t kernel_convolve_int8_room(const struct kernel_convolve *shape)
{
    size_t gathering = (size_t)(thread_bytes(shape) * (int64_t)kernel_threads());
    bool is_direct = int8_direct_fits(shape) || int8_direct_narrow_fits(shape);
    size_t direct = is_direct ? int8_direct_room(shape) : 0, other = 0;

    if (shape->channels_last)
        return (size_t)(3 * filter_bytes(shape)) + int8_last_room(shape);
    if (int8_few_fits(shape))
        other = int8_few_room(shape);
    else if (int8_winograd_fits(shape))
        other = int8_winograd_room(shape);
    direct = direct > other ? direct : other;
    gathering += (size_t)int8_round_up(shape->groups * wide_bytes(shape));
    return (size_t)(3 * filter_bytes(shape)) + (direct > gathering ? direct : gathering);
}

/* Filters of one channel, of which only those for few outputs are packed. */
static bool is_few_deep(const struct kernel_convolve *s)
{
    return int8_depth_fits(s) && int8_depth_few_fits(s);
}

/* Filters that do not become narrow, or are not to. */
static size_t exact_packed(const struct kernel_convolve *shape)
{
    return is_few_deep(shape)          ? int8_depth_few_packed(shape)
           : int8_few_fits(shape)      ? int8_few_packed(shape)
           : int8_winograd_fits(shape) ? int8_winograd_packed(shape)
           : int8_direct_fits(shape)   ? int8_direct_packed(shape)
                                       : 0;
}

/* Whether they may be narrow, which the first of HEADER bytes says then. */
static bool may_be_narrow(const struct kernel_convolve *s)
{
    return !int8_depth_fits(s) && int8_direct_narrow_fits(s);
}

size_t kernel_convolve_int8_packed(const struct kernel_convolve *shape)
{
    size_t exact, narrow;

    if (shape->channels_last)
        return int8_last_packed(shape);
    exact = exact_packed(shape);
    if (!may_be_narrow(shape))
        return exact;
    narrow = int8_direct_narrow_packed(shape);
    return HEADER + (narrow > exact ? narrow : exact);
}

static void pack_exactly(void *packed, const void *w, const struct kernel_convolve *shape)
{
    if (is_few_deep(shape))
        int8_depth_few_pack(packed, w, shape);
    else if (int8_few_fits(shape))
        int8_few_pack(packed, w, shape);
    else if (int8_winograd_fits(shape))
        int8_winograd_pack(packed, w, shape);
    else if (int8_direct_fits(shape))
        int8_direct_pack(packed, w, shape);
}

void kernel_pack_filters_int8(void *packed, const void *w, const struct kernel_convolve *shape)
{
    uint8_t *header = packed;

    if (shape->channels_last) {
        int8_last_pack(packed, w, shape);
        return;
    }
    if (may_be_narrow(shape)) {
        *header = int8_direct_narrow_pack(header + HEADER, w, shape);
        if (*header)
            return;
        header += HEADER;
    }
    pack_exactly(header, w, shape);
}

struct conv {
    const struct kernel_convolve_data *data;
    const struct kernel_convolve *shape;
    struct int8_steps steps;
    int32_t *w_sums, *w_zero;
    double *scale;
    bool has_w_zero;
    bool is_narrow;    /* the packed filters, which are signed then */
    uint8_t pad, flip; /* what stands for a pixel outside, and how pixels are turned round */
    int32_t x_zero;    /* as they are packed */
    int32_t y_zero;
    uint8_t *slots; /* thread_bytes() each */
    int64_t slot_count;
    int16_t *wide;  /* wide_bytes() of each group, or NULL */
    int64_t blocks; /* of one group of one image */
};

/* Gathering */

/* A run of outputs in one row of the image. */
struct run {
    int64_t begin[KERNEL_SPATIAL]; /* the first output */
    int64_t count;
};

static int make_runs(const struct kernel_window *w, int64_t first, int64_t count,
                     struct run runs[BLOCK_MAX])
{
    int n = 0;

    while (count > 0) {
        struct run *run = &runs[n++];

        run->begin[2] = first % w->out[2];
        run->begin[1] = first / w->out[2] % w->out[1];
        run->begin[0] = first / w->out[2] / w->out[1];
        run->count = w->out[2] - run->begin[2] < count ? w->out[2] - run->begin[2] : count;
        first += run->count;
        count -= run->count;
    }
    return n;
}

/* Pixels of one row of x, from place `from` on, `stride` apart, some of them outside. */
static void gather_line(uint8_t *out, const uint8_t *line, int64_t size, int64_t from,
                        int64_t stride, int64_t count, uint8_t pad)
{
    int64_t i = 0, end;

    for (; i < count && from + i * stride < 0; i++)
        out[i] = pad;
    end = from >= size ? i : (size - 1 - from) / stride + 1;
    end = end < i ? i : end > count ? count : end;
    if (stride == 1 && end > i)
        memcpy(out + i, line + from + i, (size_t)(end - i));
    else
        for (int64_t j = i; j < end; j++)
            out[j] = line[from + j * stride];
    if (count > end)
        memset(out + end, pad, (size_t)(count - end));
}

/* What element k of the window sees of one channel, for all runs. */
static void gather_row(uint8_t *out, const uint8_t *x, const struct kernel_window *w,
                       const int64_t k[KERNEL_SPATIAL], const struct run *runs, int run_count,
                       uint8_t pad)
{
    for (int r = 0; r < run_count; r++) {
        const struct run *run = &runs[r];
        int64_t at[KERNEL_SPATIAL];

        for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
            at[axis] = run->begin[axis] * w->stride[axis] - w->pad_begin[axis] +
                       k[axis] * w->dilation[axis];
        if (at[0] < 0 || at[0] >= w->in[0] || at[1] < 0 || at[1] >= w->in[1])
            memset(out, pad, (size_t)run->count);
        else
            gather_line(out, x + (at[0] * w->in[1] + at[1]) * w->in[2], w->in[2], at[2],
                        w->stride[2], run->count, pad);
        out += run->count;
    }
}

/* Whether each output sees the pixel at its own place alone. */
static bool is_pointwise(const struct kernel_window *w)
{
    for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
        if (w->kernel[axis] != 1 || w->stride[axis] != 1 || w->pad_begin[axis] != 0 ||
            w->in[axis] != w->out[axis])
            return false;
    return true;
}

/* The pixels [first, first + count) of one group of an image, packed; lines: room for four rows. */
static void gather(const struct conv *c, const uint8_t *x, int64_t first, int64_t count,
                   uint8_t *packed, uint8_t *lines)
{
    const struct kernel_window *w = &c->shape->window;
    int64_t depth = depth_of(c->shape), unit = int8_packed_bytes(1, depth);
    int64_t plane = volume(w->in), area = volume(w->kernel), pixels = block_pixels(c->shape);
    bool is_whole = is_pointwise(w);
    struct run runs[BLOCK_MAX];
    int run_count = is_whole ? 0 : make_runs(w, first, count, runs);

    for (int64_t p = 0; p < depth; p += INT8_QUAD) {
        const uint8_t *rows[INT8_QUAD];

        for (int64_t q = 0; q < INT8_QUAD; q++) {
            uint8_t *line = lines + q * pixels;
            int64_t tap = (p + q) % area, channel = (p + q) / area;
            int64_t k[KERNEL_SPATIAL] = {tap / w->kernel[2] / w->kernel[1],
                                         tap / w->kernel[2] % w->kernel[1], tap % w->kernel[2]};

            rows[q] = line;
            if (p + q >= depth)
                memset(line, c->flip, (size_t)count); /* 0 once it is flipped */
            else if (is_whole)
                rows[q] = x + channel * plane + first;
            else
                gather_row(line, x + channel * plane, w, k, runs, run_count, c->pad);
        }
        int8_pack_units(packed + p / INT8_QUAD * INT8_LINE, rows, count, unit, c->flip);
    }
}

/* Multiplying */

static int16_t *wide_of(const struct conv *c, int64_t group)
{
    return c->wide ? c->wide + group * wide_bytes(c->shape) / (int64_t)sizeof(*c->wide) : NULL;
}

static void widen_filters(struct conv *c)
{
    const struct kernel_convolve *s = c->shape;
    int64_t filters = s->filters / s->groups, depth = depth_of(s);

    if (!c->steps.widen || wide_bytes(s) == 0)
        return;
    c->wide = (void *)c->slots;
    c->slots += int8_round_up(s->groups * wide_bytes(s));
    for (int64_t group = 0; group < s->groups; group++) {
        struct int8_product p = {.a = (const uint8_t *)c->data->w + group * filters * depth,
                                 .a_line = depth,
                                 .k = depth,
                                 .a_is_signed = s->w_type == KERNEL_I8};

        int8_widen_rows(&p, c->steps.widen, 0, filters, wide_of(c, group));
    }
}

/* One block of pixels of one group by all its filters. */
static void do_block(const struct conv *c, int64_t group, int64_t block, uint8_t *slot)
{
    const struct kernel_convolve *s = c->shape;
    int64_t pixels = block_pixels(s), plane = volume(s->window.out), depth = depth_of(s);
    int64_t first = block * pixels, filters = s->filters / s->groups, channels;
    int64_t count = plane - first < pixels ? plane - first : pixels;
    int64_t filter = group % s->groups * filters;
    size_t y_bytes = kernel_dtype_bytes(s->y_type);
    int32_t *sums = (void *)(slot + int8_packed_bytes(pixels, depth));
    struct int8_product p = {
        .m = filters,
        .n = count,
        .k = depth,
        .a = (const uint8_t *)c->data->w + filter * depth,
        .a_line = depth,
        .a_is_signed = s->w_type == KERNEL_I8,
        .wide = wide_of(c, group % s->groups),
        .b = slot,
        .a_zero = c->has_w_zero ? c->w_zero + filter : NULL,
        .a_zero_step = 1,
        .a_sums = c->x_zero ? c->w_sums + filter : NULL,
        .b_zero = c->x_zero ? &c->x_zero : NULL,
        .bias = c->data->bias ? (const int32_t *)c->data->bias + filter : NULL,
        .y = (char *)c->data->y + (group * filters * plane + first) * (int64_t)y_bytes,
        .y_line = plane,
        .y_type = s->y_type,
        .is_quantised = c->data->y_scale != NULL,
        .row_scale = c->scale + filter,
        .row_scale_step = 1,
        .column_scale = &(const double){1.0},
        .y_zero = &c->y_zero,
    };

    channels = s->channels / s->groups;
    gather(c, (const uint8_t *)c->data->x + group * channels * volume(s->window.in), first, count,
           slot, (uint8_t *)(sums + pixels));
    if (c->has_w_zero) {
        int8_column_sums(sums, slot, count, depth, !p.a_is_signed);
        p.b_sums = sums;
    }
    c->steps.block(&p, 0, filters, 0, count);
}

static void do_slots(void *argument, int64_t begin, int64_t end)
{
    const struct conv *c = argument;
    int64_t all = c->shape->batch * c->shape->groups * c->blocks;

    for (; begin < end; begin++) {
        int64_t last = all * (begin + 1) / c->slot_count;

        for (int64_t i = all * begin / c->slot_count; i < last; i++)
            do_block(c, i / c->blocks, i % c->blocks, c->slots + begin * thread_bytes(c->shape));
    }
}

static int32_t number_at(const void *x, enum kernel_dtype dtype, int64_t i)
{
    return !x ? 0 : dtype == KERNEL_U8 ? ((const uint8_t *)x)[i] : ((const int8_t *)x)[i];
}

/* Zero points and scales of the filters, and their sums where they were not packed with them. */
static void describe_filters(struct conv *c, bool is_packed)
{
    const struct kernel_convolve_data *d = c->data;
    const struct kernel_convolve *s = c->shape;

    for (int64_t f = 0; f < s->filters; f++) {
        c->w_zero[f] = number_at(d->w_zero, s->w_type, s->has_filter_zeros ? f : 0);
        c->has_w_zero = c->has_w_zero || c->w_zero[f] != 0;
        if (d->y_scale && f > 0 && !s->has_filter_scales)
            c->scale[f] = c->scale[0];
        else if (d->y_scale)
            c->scale[f] = (double)*(const float *)d->x_scale *
                          (double)((const float *)d->w_scale)[f] /
                          (double)*(const float *)d->y_scale;
    }
    if (c->x_zero && !c->is_narrow && !s->channels_last && (!is_packed || c->has_w_zero) &&
        !int8_depth_fits(s))
        int8_row_sums(c->w_sums, d->w, s->filters, depth_of(s), depth_of(s),
                      s->w_type == KERNEL_I8);
}

/* The filters as they were packed, and pixels where they are laid out. */
static void convolve_direct(const struct conv *c, const void *packed)
{
    const struct kernel_convolve_data *d = c->data;
    struct int8_direct_call call = {
        .x = d->x,
        .packed = packed,
        .workspace = c->slots,
        .steps = c->steps,
        .is_narrow = c->is_narrow,
        .pad = c->pad,
        .flip = c->flip,
        .product = {.a_is_signed = c->is_narrow || c->shape->w_type == KERNEL_I8,
                    .b_zero = c->x_zero ? &c->x_zero : NULL,
                    .bias = d->bias,
                    .y = d->y,
                    .y_type = c->shape->y_type,
                    .is_quantised = d->y_scale != NULL,
                    .row_scale = c->scale,
                    .row_scale_step = 1,
                    .column_scale = &(const double){1.0},
                    .y_zero = &c->y_zero},
    };

    int8_direct_run(&call, c->shape);
}

/* The same where there are few outputs. */
static void convolve_few(const struct conv *c, const void *packed)
{
    struct int8_few_call call = {
        .x = c->data->x,
        .packed = packed,
        .workspace = c->slots,
        .steps = c->steps,
        .x_zero = number_at(c->data->x_zero, c->shape->x_type, 0),
        .bias = c->data->bias,
        .scale = c->scale,
        .y_zero = &c->y_zero,
        .y = c->data->y,
        .is_quantised = c->data->y_scale != NULL,
    };

    int8_few_run(&call, c->shape);
}

/* The same by Winograd's algorithm. */
static void convolve_winograd(const struct conv *c, const void *packed, int8_winograd_fn *winograd)
{
    struct int8_winograd_call call = {
        .x = c->data->x,
        .packed = packed,
        .workspace = c->slots,
        .x_zero = number_at(c->data->x_zero, c->shape->x_type, 0),
        .product = {.bias = c->data->bias,
                    .y = c->data->y,
                    .y_type = c->shape->y_type,
                    .is_quantised = c->data->y_scale != NULL,
                    .row_scale = c->scale,
                    .row_scale_step = 1,
                    .column_scale = &(const double){1.0},
                    .y_zero = &c->y_zero},
    };

    winograd(&call, c->shape);
}

/* Filters of one channel. */
static void convolve_depth(const struct conv *c, const void *packed, team_fn *depth)
{
    const struct kernel_convolve *s = c->shape;
    struct int8_depth d = {
        .shape = s,
        .x = c->data->x,
        .w = c->data->w,
        .packed = packed,
        .x_zero = number_at(c->data->x_zero, s->x_type, 0),
        .w_zero = c->w_zero,
        .product = {.bias = c->data->bias,
                    .y = c->data->y,
                    .y_type = s->y_type,
                    .is_quantised = c->data->y_scale != NULL,
                    .row_scale = c->scale,
                    .row_scale_step = 1,
                    .column_scale = &(const double){1.0},
                    .y_zero = &c->y_zero},
    };

    team_for(s->batch * s->filters,
             GRAIN / 8 / (volume(s->window.out) * volume(s->window.kernel)) + 1, depth, &d);
}

/* What is packed behind the header, if there is one; NULL: nothing that is of use. */
static const void *find_packed(const void *packed, const struct kernel_convolve_data *data,
                               const struct kernel_convolve *s, bool *out_is_narrow)
{
    int32_t zero = s->w_type == KERNEL_U8 ? 128 : 0; /* of what is signed once it is turned round */
    int64_t zeros = s->has_filter_zeros ? s->filters : 1;

    *out_is_narrow = false;
    if (!packed || s->channels_last || !may_be_narrow(s))
        return packed;
    if (!*(const uint8_t *)packed)
        return exact_packed(s) > 0 ? (const uint8_t *)packed + HEADER : NULL;
    for (int64_t f = 0; f < zeros; f++)
        if (number_at(data->w_zero, s->w_type, f) != zero)
            return NULL;
    *out_is_narrow = true;
    return (const uint8_t *)packed + HEADER;
}

/* Images that lie channels-last. */
static void convolve_last(const struct conv *c, const void *packed, int8_last_fn *last)
{
    const struct kernel_convolve_data *d = c->data;
    struct int8_last l = {
        .shape = c->shape,
        .x = d->x,
        .w = d->w,
        .packed = packed,
        .workspace = c->slots,
        .x_zero = number_at(d->x_zero, c->shape->x_type, 0),
        .w_zero = c->w_zero,
        .b_zero = c->w_sums,
        .product = {.column_bias = d->bias,
                    .y = d->y,
                    .y_type = c->shape->y_type,
                    .is_quantised = d->y_scale != NULL,
                    .row_scale = &(const double){1.0},
                    .column_scale = c->scale,
                    .column_scale_step = 1,
                    .y_zero = &c->y_zero},
    };

    last(&l);
}

/* What an instruction set has. */
struct ways {
    struct int8_steps steps;
    team_fn *planes;
    int8_winograd_fn *winograd;
    int8_last_fn *last;
};

static void convolve(const struct kernel_convolve_data *data, const void *packed,
                     const struct kernel_convolve *shape, void *workspace, const struct ways *ways)
{
    const struct kernel_convolve *s = shape;
    int64_t pixels = block_pixels(s), plane = volume(s->window.out), depth = depth_of(s);
    bool is_narrow, is_flipped = (s->x_type == KERNEL_U8) == (s->w_type == KERNEL_U8);
    const void *found = find_packed(packed, data, s, &is_narrow);
    int32_t x_zero = number_at(data->x_zero, s->x_type, 0);
    struct conv c = {
        .data = data,
        .shape = s,
        .steps = ways->steps,
        .is_narrow = is_narrow,
        .pad = (uint8_t)x_zero,
        .y_zero = number_at(data->y_zero, s->y_type, 0),
        .slot_count = kernel_threads(),
    };
    uint8_t *at = workspace;

    if (s->batch * s->filters * plane == 0)
        return;
    if (is_narrow) /* filters are signed and pixels are not */
        is_flipped = s->x_type == KERNEL_I8;
    c.flip = is_flipped ? 0x80 : 0;
    c.x_zero = x_zero + (!is_flipped ? 0 : s->x_type == KERNEL_U8 ? -128 : 128);
    c.scale = (void *)at;
    c.w_sums = (void *)(at += filter_bytes(s));
    c.w_zero = (void *)(at += filter_bytes(s));
    c.slots = at + filter_bytes(s);
    c.blocks = (plane + pixels - 1) / pixels;
    describe_filters(&c, found != NULL);
    if (s->channels_last) {
        convolve_last(&c, packed, ways->last);
    } else if (int8_depth_fits(s)) {
        convolve_depth(&c, found, ways->planes);
    } else if (is_narrow) {
        convolve_direct(&c, found);
    } else if (found && !c.has_w_zero) {
        if (int8_few_fits(s))
            convolve_few(&c, found);
        else if (int8_winograd_fits(s))
            convolve_winograd(&c, found, ways->winograd);
        else
            convolve_direct(&c, found);
    } else {
        widen_filters(&c);
        team_for(c.slot_count, GRAIN * c.slot_count / (s->batch * s->filters * plane * depth) + 1,
                 do_slots, &c);
    }
}

#define CONVOLVE(isa)                                                                              \
    void convolve_int8_##isa(const struct kernel_convolve_data *data, const void *packed,          \
                             const struct kernel_convolve *shape, void *workspace)                 \
    {                                                                                              \
        convolve(data, packed, shape, workspace,                                                   \
                 &(struct ways){INT8_STEPS(isa), int8_depth_##isa, int8_winograd_##isa,            \
                                int8_last_##isa});                                                 \
    }

ISA_VERSIONS(CONVOLVE)
