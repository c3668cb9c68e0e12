/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of 8-bit integers with few outputs in a plane, as late layers have them. Outputs as the
 * columns of a product would leave most of a tile empty: here they are its rows, and the filters, packed
 * once, its columns. What an output sees is copied channel by channel; y is turned round in the end.
 */
#include "kernels/cpu/int8_few.h"

#include <string.h>

enum {
    FEW = 64, /* outputs */
    PLANE = INT8_FEW_PIXELS,
    FILTERS = 16, /* of a group, at least */
};

static int64_t group_channels(const struct kernel_convolve *s)
{
    return s->channels / s->groups;
}

static int64_t pixels_of(const struct kernel_convolve *s)
{
    return s->window.in[1] * s->window.in[2];
}

static int64_t outputs_of(const struct kernel_convolve *s)
{
    return s->window.out[1] * s->window.out[2];
}

static int64_t taps_of(const struct kernel_convolve *s)
{
    return s->window.kernel[1] * s->window.kernel[2];
}

static int64_t depth_of(const struct kernel_convolve *s)
{
    return taps_of(s) * group_channels(s);
}

bool int8_few_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;

    return w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1 && w->pad_begin[0] == 0 &&
           w->in[1] <= PLANE && w->in[2] <= PLANE && w->out[1] <= FEW && w->out[2] <= FEW &&
           pixels_of(s) <= PLANE && outputs_of(s) >= 1 && outputs_of(s) <= FEW &&
           s->filters / s->groups >= FILTERS && group_channels(s) >= INT8_QUAD &&
           depth_of(s) <= INT8_MAX_K;
}

/* Of a group: filters and their sums. */
static int64_t sums_end(const struct kernel_convolve *s)
{
    int64_t filters = s->filters / s->groups;

    return int8_packed_bytes(filters, depth_of(s)) +
           int8_round_up(filters * (int64_t)sizeof(int32_t));
}

/* What was taken off them, where they are multiplied by unsigned bytes. */
static int64_t list_bytes(const struct kernel_convolve *s)
{
    return s->x_type == KERNEL_U8 ? int8_columns_bytes(s->filters / s->groups, depth_of(s)) : 0;
}

static int64_t packed_bytes(const struct kernel_convolve *s)
{
    return sums_end(s) + list_bytes(s);
}

size_t int8_few_packed(const struct kernel_convolve *s)
{
    return (size_t)(s->groups * packed_bytes(s));
}

/* A product multiplies what is unsigned by what is signed. */
static uint8_t flip_of(const struct kernel_convolve *s)
{
    return s->x_type == s->w_type ? 0x80 : 0;
}

/* The zero point of filters as they are packed. */
static int32_t shift_of(const struct kernel_convolve *s)
{
    return s->x_type != s->w_type ? 0 : s->w_type == KERNEL_U8 ? -128 : 128;
}

/* One filter; k: tap by tap all channels. */
static void pack_filter(uint8_t *column, const uint8_t *w, int64_t taps, int64_t channels,
                        uint8_t flip)
{
    int64_t p = 0;

    for (int64_t tap = 0; tap < taps; tap++)
        for (int64_t c = 0; c < channels; c++, p++)
            column[p / INT8_QUAD * INT8_LINE + p % INT8_QUAD] = w[c * taps + tap] ^ flip;
}

void int8_few_pack(void *packed, const uint8_t *w, const struct kernel_convolve *s)
{
    int64_t filters = s->filters / s->groups, depth = depth_of(s);
    int64_t unit = int8_packed_bytes(1, depth);
    uint8_t *out = packed;

    for (int64_t group = 0; group < s->groups; group++, out += packed_bytes(s)) {
        int64_t bytes = int8_packed_bytes(filters, depth);

        memset(out, 0, (size_t)sums_end(s));
        for (int64_t f = 0; f < filters; f++, w += depth)
            pack_filter(out + f / INT8_UNIT * unit + f % INT8_UNIT * INT8_QUAD, w, taps_of(s),
                        group_channels(s), flip_of(s));
        int8_column_sums((int32_t *)(void *)(out + bytes), out, filters, depth,
                         s->x_type == KERNEL_U8);
        if (list_bytes(s) > 0)
            int8_columns_pack(out + sums_end(s), out, filters, depth);
    }
}

/* The image by pixels, what the outputs see and its sums, y by outputs, rows that are widened. */
struct room {
    uint8_t *image, *seen, *y;
    int32_t *sums;
    void *wide;
};

static size_t make_room(const struct kernel_convolve *s, void *workspace, struct room *out_room)
{
    uint8_t *start = workspace, *at = start;
    int64_t outputs = outputs_of(s), depth = depth_of(s);
    int64_t y_bytes = (int64_t)kernel_dtype_bytes(s->y_type);

    out_room->image = at;
    out_room->seen = at += int8_round_up(pixels_of(s) * group_channels(s));
    out_room->sums = (void *)(at += int8_round_up(outputs * depth));
    out_room->y = at += int8_round_up(outputs * (int64_t)sizeof(*out_room->sums));
    out_room->wide = at += int8_round_up(outputs * (s->filters / s->groups) * y_bytes);
    return (size_t)(at - start + int8_run_room(outputs, depth));
}

size_t int8_few_room(const struct kernel_convolve *s)
{
    static uint8_t nothing[64];
    struct room room;

    return make_room(s, nothing, &room);
}

void int8_turn_image(uint8_t *image, const uint8_t *x, int64_t pixels, int64_t channels,
                     int64_t line)
{
    uint8_t quads[PLANE * INT8_QUAD];

    for (int64_t c = 0; c < channels; c += INT8_QUAD) {
        int64_t count = channels - c < INT8_QUAD ? channels - c : INT8_QUAD;
        const uint8_t *rows[INT8_QUAD];

        for (int64_t q = 0; q < INT8_QUAD; q++)
            rows[q] = x + (c + (q < count ? q : 0)) * pixels;
        int8_pack_line(quads, rows, pixels, 0);
        if (count == INT8_QUAD)
            for (int64_t i = 0; i < pixels; i++)
                memcpy(image + i * line + c, quads + i * INT8_QUAD, INT8_QUAD);
        else
            for (int64_t i = 0; i < pixels; i++)
                memcpy(image + i * line + c, quads + i * INT8_QUAD, (size_t)count);
    }
}

/* What output [row, column] sees, tap by tap. */
static void see(uint8_t *out, const uint8_t *image, const struct kernel_convolve *s, int64_t row,
                int64_t column, uint8_t pad)
{
    const struct kernel_window *w = &s->window;
    int64_t channels = group_channels(s);

    for (int64_t i = 0; i < w->kernel[1]; i++) {
        int64_t y = row * w->stride[1] + i * w->dilation[1] - w->pad_begin[1];

        for (int64_t j = 0; j < w->kernel[2]; j++, out += channels) {
            int64_t x = column * w->stride[2] + j * w->dilation[2] - w->pad_begin[2];

            if (y < 0 || y >= w->in[1] || x < 0 || x >= w->in[2])
                memset(out, pad, (size_t)channels);
            else
                memcpy(out, image + (y * w->in[2] + x) * channels, (size_t)channels);
        }
    }
}

static void turn_bytes_back(uint8_t *y, const uint8_t *turned, int64_t outputs, int64_t filters,
                            int64_t line)
{
    uint8_t quads[PLANE * INT8_QUAD];
    int64_t o = 0;

    for (; o + INT8_QUAD <= outputs; o += INT8_QUAD) {
        for (int64_t first = 0; first < filters; first += PLANE) {
            int64_t count = filters - first < PLANE ? filters - first : PLANE;
            const uint8_t *rows[INT8_QUAD];

            for (int64_t q = 0; q < INT8_QUAD; q++)
                rows[q] = turned + (o + q) * line + first;
            int8_pack_line(quads, rows, count, 0);
            for (int64_t f = 0; f < count; f++)
                memcpy(y + (first + f) * outputs + o, quads + f * INT8_QUAD, INT8_QUAD);
        }
    }
    for (; o < outputs; o++)
        for (int64_t f = 0; f < filters; f++)
            y[f * outputs + o] = turned[o * line + f];
}

void int8_turn_back(void *y, const void *turned, int64_t outputs, int64_t filters, int64_t line,
                    bool is_byte)
{
    const int32_t *from = turned;
    int32_t *to = y;

    if (is_byte) {
        turn_bytes_back(y, turned, outputs, filters, line);
        return;
    }
    for (int64_t f = 0; f < filters; f++)
        for (int64_t o = 0; o < outputs; o++)
            to[f * outputs + o] = from[o * line + f];
}

/* One group of an image. */
static void do_group(const struct int8_few_call *call, const struct kernel_convolve *s,
                     int64_t index, const struct room *room)
{
    enum { BLOCK_ROWS = 16 * INT8_MAX_ROWS };
    const struct kernel_window *w = &s->window;
    int64_t filters = s->filters / s->groups, channels = group_channels(s);
    int64_t depth = depth_of(s), outputs = outputs_of(s), group = index % s->groups;
    const uint8_t *packed = (const uint8_t *)call->packed + group * packed_bytes(s);
    const int32_t shift = shift_of(s);
    struct int8_columns columns;
    bool is_narrow =
        list_bytes(s) > 0 && int8_columns_of(&columns, packed + sums_end(s), filters, depth);
    struct int8_product p = {
        .m = outputs,
        .n = filters,
        .k = depth,
        .a = room->seen,
        .a_line = depth,
        .a_is_signed = s->x_type == KERNEL_I8,
        .columns = is_narrow ? &columns : NULL,
        .b = packed,
        .b_sums = (const void *)(packed + int8_packed_bytes(filters, depth)),
        .a_sums = shift ? room->sums : NULL,
        .b_zero = shift ? &shift : NULL,
        .a_zero = call->x_zero ? &call->x_zero : NULL,
        .column_bias = call->bias ? call->bias + group * filters : NULL,
        .y = room->y,
        .y_line = filters,
        .y_type = s->y_type,
        .is_quantised = call->is_quantised,
        .row_scale = &(const double){1.0},
        .column_scale = call->scale + group * filters,
        .column_scale_step = 1,
        .y_zero = call->y_zero,
    };

    int8_turn_image(room->image, call->x + index * channels * pixels_of(s), pixels_of(s), channels,
                    channels);
    for (int64_t o = 0; o < outputs; o++)
        see(room->seen + o * depth, room->image, s, o / w->out[2], o % w->out[2],
            (uint8_t)call->x_zero);
    if (shift)
        int8_row_sums(room->sums, room->seen, outputs, depth, depth, p.a_is_signed);
    int8_run(&p, &call->steps, BLOCK_ROWS, room->wide);
    int8_turn_back((char *)call->y +
                       index * filters * outputs * (int64_t)kernel_dtype_bytes(s->y_type),
                   room->y, outputs, filters, filters, s->y_type != KERNEL_I32);
}

void int8_few_run(const struct int8_few_call *call, const struct kernel_convolve *s)
{
    struct room room;

    make_room(s, call->workspace, &room);
    for (int64_t index = 0; index < s->batch * s->groups; index++)
        do_group(call, s, index, &room);
}
