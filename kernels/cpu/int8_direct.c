/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of 8-bit integers whose pixels need not be gathered. The image is laid out once, with
 * its pads, four channels of a pixel side by side, places that a stride leaves out in planes of
 * their own. Then what an element of the window sees of neighbouring outputs follows each other in
 * memory, and a tile reads it there. Outputs are counted over whole rows of that layout, and those that
 * lie in the pads are computed and dropped, or each row is made of whole vectors, whichever is less.
 */
#include "kernels/cpu/int8_direct.h"

#include <string.h>

#include "kernels/cpu/team.h"

enum {
    WIDE = 4096,     /* pixels of a row */
    SLACK = 1024,    /* bytes behind the image that tiles read */
    GRAIN = 1 << 16, /* pixels that are worth a second thread */
};

static int64_t group_channels(const struct kernel_convolve *s)
{
    return s->channels / s->groups;
}

static struct int8_direct layout_of(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;
    int64_t high = (w->out[1] - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    int64_t wide = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
    struct int8_direct d = {.quads = (group_channels(s) + INT8_QUAD - 1) / INT8_QUAD,
                            .rows = (high + w->stride[1] - 1) / w->stride[1],
                            .pitch = (wide + w->stride[2] - 1) / w->stride[2]};

    d.plane = d.rows * d.pitch * INT8_QUAD;
    d.taps = w->kernel[1] * w->kernel[2];
    d.depth = d.taps * d.quads * INT8_QUAD;
    return d;
}

/* Units of columns: of all rows of the layout, or, where that is fewer, of each row by itself. */
static int64_t flat_units(const struct kernel_window *w, const struct int8_direct *d)
{
    return int8_packed_units((w->out[1] - 1) * d->pitch + w->out[2]);
}

static int64_t row_units(const struct kernel_window *w)
{
    return w->out[1] * int8_packed_units(w->out[2]);
}

static bool goes_by_rows(const struct kernel_window *w, const struct int8_direct *d)
{
    return row_units(w) < flat_units(w, d);
}

bool int8_direct_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;
    int64_t filters = s->filters / s->groups, channels = group_channels(s);
    struct int8_direct d;
    int64_t more; /* units of columns than there are outputs */

    if (w->in[0] != 1 || w->kernel[0] != 1 || w->out[0] != 1 || w->pad_begin[0] != 0 ||
        w->out[1] * w->out[2] == 0)
        return false;
    d = layout_of(s);
    more = (goes_by_rows(w, &d) ? row_units(w) : flat_units(w, &d)) -
           int8_packed_units(w->out[1] * w->out[2]);
    /* Dropped outputs and channels that fill up cost less than gathering would, which goes row by row of
     * outputs; that is a share of the work that falls with the number of filters. */
    return d.pitch <= WIDE && channels >= 3 && d.taps > 1 && d.depth <= INT8_MAX_K &&
           more * filters <= w->out[1] * w->out[2] * 5 / 4 + 64 * w->out[1] &&
           d.plane * d.quads * w->stride[1] * w->stride[2] + SLACK < INT32_MAX;
}

size_t int8_direct_packed(const struct kernel_convolve *s)
{
    int64_t sums = int8_round_up(s->filters * (int64_t)sizeof(int32_t));

    return (size_t)(int8_round_up(s->filters * layout_of(s).depth) + sums);
}

static int32_t *sums_of(void *packed, const struct kernel_convolve *s, const struct int8_direct *d)
{
    return (void *)((uint8_t *)packed + int8_round_up(s->filters * d->depth));
}

void int8_direct_pack(void *packed, const uint8_t *w, const struct kernel_convolve *s)
{
    struct int8_direct d = layout_of(s);
    int64_t channels = group_channels(s), line = d.quads * INT8_QUAD;
    uint8_t *out = packed;

    memset(out, 0, (size_t)(s->filters * d.depth));
    for (int64_t f = 0; f < s->filters; f++, out += d.depth, w += channels * d.taps)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t tap = 0; tap < d.taps; tap++)
                out[tap * line + c] = w[c * d.taps + tap];
    int8_row_sums(sums_of(packed, s, &d), packed, s->filters, d.depth, d.depth,
                  s->w_type == KERNEL_I8);
}

size_t int8_direct_room(const struct kernel_convolve *s)
{
    struct int8_direct d = layout_of(s);
    int64_t planes = d.quads * s->window.stride[1] * s->window.stride[2];

    return (size_t)(int8_round_up(d.taps * d.quads * (int64_t)sizeof(int32_t)) +
                    int8_round_up(planes * d.plane + SLACK) +
                    int8_run_room(s->filters / s->groups, d.depth));
}

/* Where each four k of the window begin: element by element, and of each all channels. */
static void make_offsets(const struct kernel_convolve *s, const struct int8_direct *d,
                         int32_t *offsets)
{
    const struct kernel_window *w = &s->window;

    for (int64_t i = 0; i < w->kernel[1]; i++) {
        for (int64_t j = 0; j < w->kernel[2]; j++) {
            int64_t down = i * w->dilation[1], along = j * w->dilation[2];
            int64_t phase = down % w->stride[1] * w->stride[2] + along % w->stride[2];
            int64_t at = down / w->stride[1] * d->pitch + along / w->stride[2];

            for (int64_t q = 0; q < d->quads; q++)
                *offsets++ = (int32_t)((phase * d->quads + q) * d->plane + at * (int64_t)INT8_QUAD);
        }
    }
}

struct laying {
    const struct kernel_convolve *shape;
    const struct int8_direct *direct;
    const uint8_t *x; /* of one group of an image */
    uint8_t *out;
    uint8_t pad, flip;
};

/* Pixels of one row of a channel, `stride` apart from `from` on; outside they are pads. */
static void take_line(uint8_t *out, const uint8_t *line, int64_t size, int64_t from, int64_t stride,
                      int64_t count, uint8_t pad)
{
    int64_t first = from < 0 ? (-from + stride - 1) / stride : 0;
    int64_t end = from >= size ? 0 : (size - 1 - from) / stride + 1;

    if (count <= 0)
        return;
    first = first < count ? first : count;
    end = end < first ? first : end < count ? end : count;
    memset(out, pad, (size_t)first);
    if (stride == 1 && end > first)
        memcpy(out + first, line + from + first, (size_t)(end - first));
    else
        for (int64_t i = first; i < end; i++)
            out[i] = line[from + i * stride];
    memset(out + end, pad, (size_t)(count - end));
}

static void fill(uint8_t *out, int64_t pixels, uint8_t byte)
{
    uint32_t pixel = byte * 0x01010101u;

    for (int64_t i = 0; i < pixels; i++)
        memcpy(out + i * INT8_QUAD, &pixel, INT8_QUAD);
}

/* One row of four channels where columns are 1 or 2 apart; out: of each phase of the columns. */
static void lay_row(const struct laying *l, const uint8_t *const rows[INT8_QUAD],
                    uint8_t *const out[2])
{
    const struct kernel_window *w = &l->shape->window;
    int64_t pitch = l->direct->pitch, pad = w->pad_begin[2], stride = w->stride[2];
    int64_t left = stride * pitch - pad, count = w->in[2] < left ? w->in[2] : left;

    for (int64_t along = 0; along < stride; along++) {
        int64_t first = (pad - along + stride - 1) >> (stride - 1); /* divided by 1 or 2 */
        int64_t end = (pad + count - along + stride - 1) >> (stride - 1);

        fill(out[along], first, l->pad ^ l->flip);
        fill(out[along] + end * INT8_QUAD, pitch - end, l->pad ^ l->flip);
    }
    if (stride == 1)
        int8_pack_line(out[0] + pad * INT8_QUAD, rows, count, l->flip);
    else
        int8_pack_halves(out[pad % 2] + pad / 2 * INT8_QUAD,
                         out[(pad + 1) % 2] + (pad + 1) / 2 * INT8_QUAD, rows, count, l->flip);
}

/* The same for any window. */
static void lay_any_row(const struct laying *l, const uint8_t *const rows[INT8_QUAD], int64_t along,
                        uint8_t *out)
{
    const struct kernel_window *w = &l->shape->window;
    uint8_t lines[INT8_QUAD][WIDE];
    const uint8_t *taken[INT8_QUAD] = {lines[0], lines[1], lines[2], lines[3]};

    for (int q = 0; q < INT8_QUAD; q++)
        take_line(lines[q], rows[q], w->in[2], along - w->pad_begin[2], w->stride[2],
                  l->direct->pitch, l->pad);
    int8_pack_line(out, taken, l->direct->pitch, l->flip);
}

/* Row r of the phases of a row of the image. */
static void lay_phases(const struct laying *l, int64_t quad, int64_t down, int64_t r)
{
    const struct int8_direct *d = l->direct;
    const struct kernel_window *w = &l->shape->window;
    int64_t row = r * w->stride[1] + down - w->pad_begin[1], pad = w->pad_begin[2];
    int64_t channels = group_channels(l->shape), volume = w->in[1] * w->in[2];
    uint8_t *out =
        l->out + (down * w->stride[2] * d->quads + quad) * d->plane + r * d->pitch * INT8_QUAD;
    const uint8_t *rows[INT8_QUAD];

    if (row < 0 || row >= w->in[1]) {
        for (int64_t i = 0; i < w->stride[2]; i++, out += d->quads * d->plane)
            fill(out, d->pitch, l->pad ^ l->flip);
        return;
    }
    for (int64_t q = 0; q < INT8_QUAD; q++) { /* channels that are not there count 0 times */
        int64_t channel = quad * INT8_QUAD + q < channels ? quad * INT8_QUAD + q : 0;

        rows[q] = l->x + channel * volume + row * w->in[2];
    }
    if (w->stride[2] <= 2 && pad >= 0 && pad <= w->stride[2] * d->pitch)
        lay_row(l, rows, (uint8_t *[2]){out, out + d->quads * d->plane});
    else
        for (int64_t i = 0; i < w->stride[2]; i++, out += d->quads * d->plane)
            lay_any_row(l, rows, i, out);
}

/* Fours of channels [begin, end) of each phase of the rows; of each all phases of the columns. */
static void lay_planes(void *argument, int64_t begin, int64_t end)
{
    const struct laying *l = argument;

    for (; begin < end; begin++)
        for (int64_t r = 0; r < l->direct->rows; r++)
            lay_phases(l, begin % l->direct->quads, begin / l->direct->quads, r);
}

void int8_direct_run(const struct int8_direct_call *call, const struct kernel_convolve *s)
{
    enum { BLOCK_ROWS = 16 * INT8_MAX_ROWS };
    const struct kernel_window *w = &s->window;
    struct int8_direct d = layout_of(s);
    int64_t filters = s->filters / s->groups, planes = d.quads * w->stride[1] * w->stride[2];
    int64_t plane = w->out[1] * w->out[2], image = int8_round_up(planes * d.plane + SLACK);
    int32_t *offsets = call->workspace;
    struct laying laying = {s, &d, NULL, (uint8_t *)call->workspace, call->pad, call->flip};
    const int32_t *sums = sums_of((void *)call->packed, s, &d);
    bool by_rows = goes_by_rows(w, &d);

    laying.out += int8_round_up(d.taps * d.quads * (int64_t)sizeof(*offsets));
    make_offsets(s, &d, offsets);
    for (int64_t group = 0; group < s->batch * s->groups; group++) {
        int64_t filter = group % s->groups * filters;
        struct int8_product p = call->product;

        laying.x = call->x + group * group_channels(s) * w->in[1] * w->in[2];
        team_for(d.quads * w->stride[1], GRAIN / (d.plane * w->stride[2] + 1) + 1, lay_planes,
                 &laying);
        p.m = filters;
        p.n = by_rows ? row_units(w) * INT8_UNIT : (w->out[1] - 1) * d.pitch + w->out[2];
        p.k = p.a_line = d.depth;
        p.a = (const uint8_t *)call->packed + filter * d.depth;
        p.b = laying.out;
        p.offsets = offsets;
        p.pitch = by_rows ? int8_packed_units(w->out[2]) * INT8_UNIT : d.pitch;
        p.row_bytes = by_rows ? d.pitch * INT8_QUAD : 0;
        p.kept = w->out[2];
        p.a_sums = p.b_zero ? sums + filter : NULL;
        p.bias = p.bias ? p.bias + filter : NULL;
        p.row_scale += filter;
        p.y = (char *)p.y + group * filters * plane * (int64_t)kernel_dtype_bytes(s->y_type);
        p.y_line = plane;
        int8_run(&p, &call->steps, BLOCK_ROWS, laying.out + image);
    }
}
