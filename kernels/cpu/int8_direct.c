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
    WIDE = 4096,  /* pixels of a row */
    FEWEST = 8,   /* filters of a group that are worth laying the image out */
    OUTPUTS = 12, /* of fewer a vector is half empty */
    CLOSE =
        1
        << 18, /* bytes of what outputs see, where it is laid out for each element of the window */
    SLACK = 1024,    /* bytes behind the image that tiles read */
    GRAIN = 1 << 16, /* pixels that are worth a second thread */
};

static int64_t group_channels(const struct kernel_convolve *s)
{
    return s->channels / s->groups;
}

/* Where each output sees the pixel at its own place alone, the image may as well be one row. */
static struct kernel_convolve flattened(const struct kernel_convolve *s)
{
    struct kernel_convolve flat = *s;
    struct kernel_window *w = &flat.window;

    if (w->in[1] * w->in[2] > WIDE)
        return flat;
    for (int axis = 1; axis < KERNEL_SPATIAL; axis++)
        if (w->kernel[axis] != 1 || w->stride[axis] != 1 || w->pad_begin[axis] != 0 ||
            w->in[axis] != w->out[axis])
            return flat;
    w->in[2] = w->out[2] *= w->in[1];
    w->in[1] = w->out[1] = 1;
    return flat;
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

/* Narrow filters */

bool int8_direct_narrow_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;
    struct int8_direct d;

    if (!int8_narrow_helps() || w->in[0] != 1 || w->kernel[0] != 1 || w->out[0] != 1 ||
        w->pad_begin[0] != 0 || w->out[1] * w->out[2] < OUTPUTS)
        return false;
    d = layout_of(s);
    return d.pitch <= WIDE && group_channels(s) >= 3 && s->filters / s->groups >= FEWEST &&
           d.depth <= INT8_MAX_K &&
           d.plane * d.quads * w->stride[1] * w->stride[2] + SLACK < INT32_MAX;
}

size_t int8_direct_narrow_packed(const struct kernel_convolve *s)
{
    return (size_t)(s->groups * int8_narrow_bytes(s->filters / s->groups, layout_of(s).depth));
}

/* Filters of a group; flip: what makes them signed. */
struct filters {
    const uint8_t *w;
    int64_t channels, taps, depth;
    uint8_t flip;
};

static void take_filter(int8_t *out, const void *source, int64_t row)
{
    const struct filters *f = source;
    const uint8_t *w = f->w + row * f->channels * f->taps;
    int64_t line = f->depth / f->taps;

    if (line != f->channels)
        memset(out, 0, (size_t)f->depth);
    for (int64_t tap = 0; tap < f->taps; tap++, out += line)
        for (int64_t c = 0; c < f->channels; c++)
            out[c] = (int8_t)(w[c * f->taps + tap] ^ f->flip);
}

bool int8_direct_narrow_pack(void *packed, const uint8_t *w, const struct kernel_convolve *s)
{
    struct int8_direct d = layout_of(s);
    int64_t filters = s->filters / s->groups;
    struct filters f = {w, group_channels(s), d.taps, d.depth, s->w_type == KERNEL_U8 ? 0x80 : 0};
    uint8_t *out = packed;

    for (int64_t group = 0; group < s->groups; group++) {
        if (!int8_narrow_pack(out, filters, d.depth, take_filter, &f))
            return false;
        f.w += filters * f.channels * f.taps;
        out += int8_narrow_bytes(filters, d.depth);
    }
    return true;
}

/* Bytes of what all outputs see, side by side, where dropping outputs would take longer; else 0. */
static int64_t close_bytes(const struct kernel_window *w, const struct int8_direct *d)
{
    int64_t outputs = w->out[1] * w->out[2], flat = (w->out[1] - 1) * d->pitch + w->out[2];
    int64_t bytes = int8_packed_units(outputs) * INT8_LINE * d->taps * d->quads;

    return flat > outputs + outputs / 16 && bytes <= CLOSE ? bytes + SLACK : 0;
}

/* What is packed */

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

size_t int8_direct_room(const struct kernel_convolve *shape)
{
    const struct kernel_convolve flat = flattened(shape), *s = &flat;
    struct int8_direct d = layout_of(s);
    int64_t planes = d.quads * s->window.stride[1] * s->window.stride[2];

    return (size_t)(int8_round_up(2 * d.taps * d.quads * (int64_t)sizeof(int32_t)) +
                    int8_round_up(planes * d.plane + SLACK) +
                    int8_round_up(close_bytes(&s->window, &d)) +
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

/* Phases of an axis that the window sees. */
static int64_t phases(const struct kernel_window *w, int axis)
{
    return w->kernel[axis] == 1 ? 1 : w->stride[axis];
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
        for (int64_t i = 0; i < phases(w, 2); i++, out += d->quads * d->plane)
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
        for (int64_t i = 0; i < phases(w, 2); i++, out += d->quads * d->plane)
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

/* What outputs see, from where it was laid out to where it lies side by side. */
struct closing {
    const struct kernel_window *window;
    int64_t pitch, line; /* bytes from one row to the next, of all outputs */
    const uint8_t *from;
    const int32_t *offsets;
    uint8_t *to;
};

/* Fours of k [begin, end). All rows but the last are written beyond their end, and the next one over that. */
static void close_rows(void *argument, int64_t begin, int64_t end)
{
    enum { STEP = 16 };
    const struct closing *c = argument;
    int64_t count = c->window->out[2] * INT8_QUAD;

    for (int64_t quad = begin; quad < end; quad++) {
        const uint8_t *from = c->from + c->offsets[quad];
        uint8_t *to = c->to + quad * c->line;

        for (int64_t r = 1; r < c->window->out[1]; r++, from += c->pitch, to += count)
            for (int64_t i = 0; i < count; i += STEP)
                memcpy(to + i, from + i, STEP);
        memcpy(to, from, (size_t)count);
    }
}
/* Where the columns of p lie: in the rows of the layout, or side by side. offsets: those of the layout, and
 * room for as many behind them. */
static void place_columns(struct int8_product *p, const struct kernel_convolve *s,
                          const struct int8_direct *d, uint8_t *close, int32_t *offsets)
{
    const struct kernel_window *w = &s->window;
    int64_t outputs = w->out[1] * w->out[2], quads = d->taps * d->quads;
    struct closing c = {
        w, d->pitch * INT8_QUAD, int8_packed_units(outputs) * INT8_LINE, p->b, offsets, close};

    p->offsets = offsets;
    p->kept = w->out[2];
    if (p->narrow && close_bytes(w, d) > 0) {
        team_for(quads, GRAIN / (outputs + 1) + 1, close_rows, &c);
        p->b = close;
        p->n = outputs;
        p->pitch = 0;
        p->offsets = offsets + quads;
        for (int64_t i = 0; i < quads; i++)
            offsets[quads + i] = (int32_t)(i * c.line);
    } else if (goes_by_rows(w, d)) {
        p->n = row_units(w) * INT8_UNIT;
        p->pitch = int8_packed_units(w->out[2]) * INT8_UNIT;
        p->row_bytes = d->pitch * INT8_QUAD;
    } else {
        p->n = (w->out[1] - 1) * d->pitch + w->out[2];
        p->pitch = d->pitch == w->out[2] ? 0 : d->pitch;
    }
}

/* Filters of a group, and where their sums stand. */
static const int32_t *place_filters(struct int8_product *p, const struct int8_direct_call *call,
                                    const struct kernel_convolve *s, const struct int8_direct *d,
                                    int64_t group, struct int8_narrow *narrow)
{
    int64_t filters = s->filters / s->groups;
    const uint8_t *packed = call->packed;

    p->m = filters;
    p->k = p->a_line = d->depth;
    if (!call->is_narrow) {
        p->a = packed + group * filters * d->depth;
        return sums_of((void *)call->packed, s, d) + group * filters;
    }
    *narrow =
        int8_narrow_of(packed + group * int8_narrow_bytes(filters, d->depth), filters, d->depth);
    p->narrow = narrow;
    return narrow->sums;
}

void int8_direct_run(const struct int8_direct_call *call, const struct kernel_convolve *shape)
{
    enum { BLOCK_ROWS = 16 * INT8_MAX_ROWS };
    const struct kernel_convolve flat = flattened(shape), *s = &flat;
    const struct kernel_window *w = &s->window;
    struct int8_direct d = layout_of(s);
    int64_t filters = s->filters / s->groups, planes = d.quads * w->stride[1] * w->stride[2];
    int64_t plane = w->out[1] * w->out[2], image = int8_round_up(planes * d.plane + SLACK);
    int32_t *offsets = call->workspace;
    struct laying laying = {s, &d, NULL, (uint8_t *)call->workspace, call->pad, call->flip};
    uint8_t *close;
    struct int8_narrow narrow;

    laying.out += int8_round_up(2 * d.taps * d.quads * (int64_t)sizeof(*offsets));
    close = laying.out + image;
    make_offsets(s, &d, offsets);
    for (int64_t index = 0; index < s->batch * s->groups; index++) {
        int64_t group = index % s->groups, filter = group * filters;
        struct int8_product p = call->product;
        const int32_t *sums = place_filters(&p, call, s, &d, group, &narrow);

        laying.x = call->x + index * group_channels(s) * w->in[1] * w->in[2];
        team_for(d.quads * phases(w, 1), GRAIN / (d.plane * w->stride[2] + 1) + 1, lay_planes,
                 &laying);
        p.b = laying.out;
        place_columns(&p, s, &d, close, offsets);
        p.a_sums = p.b_zero ? sums : NULL;
        p.bias = p.bias ? p.bias + filter : NULL;
        p.row_scale += filter;
        p.y = (char *)p.y + index * filters * plane * (int64_t)kernel_dtype_bytes(s->y_type);
        p.y_line = plane;
        int8_run(&p, &call->steps, BLOCK_ROWS, close + int8_round_up(close_bytes(w, &d)));
    }
}
