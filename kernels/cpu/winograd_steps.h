/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three steps of a Winograd convolution: patches in, products, tiles out. Compiled once per
 * instruction set, in a file of its own that defines before it includes this
 *
 * WINOGRAD_ISA    avx512: of the names, and of the ISA_TARGET_
 * WINOGRAD_LANES  floats in a register
 * WINOGRAD_ROWS   tiles whose sums, in two registers each, stay in registers; 6 or 12
 */
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/cpu/winograd.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define TARGET      JOIN(ISA_TARGET_, WINOGRAD_ISA)
#define TEXT2(a)    #a
#define TEXT(a)     TEXT2(a)

typedef float lanes __attribute__((vector_size(4 * WINOGRAD_LANES), aligned(4), may_alias));

typedef int32_t lane_mask __attribute__((vector_size(4 * WINOGRAD_LANES)));

enum {
    SIDE_MAX = 6,
    PANEL = 2 * WINOGRAD_LANES,
    PREFETCH = 2048, /* floats: weights come from memory, and each is used a few times only */
    WIDENED = 8,     /* channels of a panel at a time */
};
ISA_BODY lanes load(const float *from, int64_t count)
{
    lanes v = {0};

    if (count >= WINOGRAD_LANES)
        return *(const lanes *)from;
    memcpy(&v, from, (size_t)count * sizeof(float));
    return v;
}

ISA_BODY void store(float *to, const lanes *v, int64_t count)
{
    if (count >= WINOGRAD_LANES)
        *(lanes *)to = *v;
    else
        memcpy(to, v, (size_t)count * sizeof(float));
}

/* One-dimensional transforms: inputs and outputs `step` apart. Matrices B, G and A of the paper for
 * the points 0, 1, -1 (m = 2) and 2, -2 as well (m = 4), and infinity. */

ISA_BODY void transform_patch(int m, const lanes *d, lanes *t, int step)
{
#define D(i) d[(i)*step]
    if (m == 2) {
        t[0] = D(0) - D(2);
        t[step] = D(1) + D(2);
        t[2 * step] = D(2) - D(1);
        t[3 * step] = D(1) - D(3);
    } else {
        lanes a = D(4) - 4.0f * D(2), b = D(3) - 4.0f * D(1);
        lanes c = D(4) - D(2), e = 2.0f * (D(3) - D(1));

        t[0] = 4.0f * D(0) - 5.0f * D(2) + D(4);
        t[step] = a + b;
        t[2 * step] = a - b;
        t[3 * step] = c + e;
        t[4 * step] = c - e;
        t[5 * step] = 4.0f * D(1) - 5.0f * D(3) + D(5);
    }
#undef D
}

ISA_BODY void transform_weights(int m, const lanes *g, int g_step, lanes *u, int u_step)
{
    lanes g0 = g[0], g1 = g[g_step], g2 = g[2 * g_step];

    if (m == 2) {
        u[0] = g0;
        u[u_step] = (g0 + g2 + g1) * 0.5f;
        u[2 * u_step] = (g0 + g2 - g1) * 0.5f;
        u[3 * u_step] = g2;
    } else {
        lanes a = (g0 + g2) * (-1.0f / 6.0f), b = g1 * (1.0f / 6.0f);
        lanes c = g0 * (1.0f / 24.0f) + g2 * (1.0f / 6.0f), e = g1 * (1.0f / 12.0f);

        u[0] = g0 * 0.25f;
        u[u_step] = a - b;
        u[2 * u_step] = a + b;
        u[3 * u_step] = c + e;
        u[4 * u_step] = c - e;
        u[5 * u_step] = g2;
    }
}

ISA_BODY void transform_tile(int m, const lanes *v, int v_step, lanes *y, int y_step)
{
#define V(i) v[(i)*v_step]
    lanes sum = V(1) + V(2), difference = V(1) - V(2);

    if (m == 2) {
        y[0] = V(0) + sum;
        y[y_step] = difference - V(3);
    } else {
        lanes sum2 = V(3) + V(4), difference2 = V(3) - V(4);

        y[0] = V(0) + sum + sum2;
        y[y_step] = difference + 2.0f * difference2;
        y[2 * y_step] = sum + 4.0f * sum2;
        y[3 * y_step] = difference + 8.0f * difference2 + V(5);
    }
#undef V
}

/* Weights: [group][point][panel of filters][channel][filter of the panel] */

/* 3 x 3 weights of some filters and one channel to all points. */
ISA_BODY void transform_square(int m, const lanes *g, float *u, int64_t u_step)
{
    lanes half[3 * SIDE_MAX], out[SIDE_MAX];
    int side = m + 2;

    for (int j = 0; j < 3; j++)
        transform_weights(m, g + j, 3, half + j, 3);
    for (int i = 0; i < side; i++) {
        transform_weights(m, half + (int64_t)3 * i, 1, out, 1);
        for (int j = 0; j < side; j++)
            *(lanes *)(u + (i * side + j) * u_step) = out[j];
    }
}

ISA_BODY void weights_of_lanes(const struct winograd *p, int m, float *u, const float *w,
                               int64_t filters, int64_t u_step)
{
    lanes g[9];

    for (int i = 0; i < 9; i++) {
        float column[WINOGRAD_LANES] = {0};

        for (int64_t k = 0; k < filters; k++)
            column[k] = w[k * p->channels * 9 + i];
        g[i] = *(const lanes *)column;
    }
    transform_square(m, g, u, u_step);
}

struct weights_part {
    const struct winograd *p;
    float *u;
    const float *w;
    int64_t panels;
};

/* Parts are panels of all groups. */
ISA_BODY void weights_body(const struct weights_part *part, int m, int64_t begin, int64_t end)
{
    const struct winograd *p = part->p;
    int64_t u_step = part->panels * p->channels * PANEL;

    for (int64_t i = begin; i < end; i++) {
        int64_t group = i / part->panels, panel = i % part->panels;
        float *u = part->u + group * winograd_points(p) * u_step + panel * p->channels * PANEL;

        for (int64_t c = 0; c < p->channels; c++)
            for (int64_t k = 0; k < PANEL; k += WINOGRAD_LANES) {
                int64_t left = p->filters - panel * PANEL - k;
                int64_t filter = group * p->filters + panel * PANEL + k;

                left = left < 0 ? 0 : left < WINOGRAD_LANES ? left : WINOGRAD_LANES;
                weights_of_lanes(p, m, u + c * PANEL + k,
                                 left ? part->w + (filter * p->channels + c) * 9 : part->w, left,
                                 u_step);
            }
    }
}

/* Stored weights: a panel of them, in half precision, to all points of one. */
ISA_BODY void widen_body(const struct winograd *p, int m, float *u, const uint16_t *stored)
{
    float wide[WIDENED * 9 * PANEL];
    int64_t u_step = winograd_wide_point(p, PANEL), part;

    for (int64_t first = 0; first < p->channels; first += part) {
        part = p->channels - first < WIDENED ? p->channels - first : WIDENED;
        p->cast(wide, KERNEL_F32, stored + first * 9 * PANEL, p->stored,
                (size_t)(part * 9 * PANEL));
        for (int64_t c = 0; c < part; c++)
            for (int64_t k = 0; k < PANEL; k += WINOGRAD_LANES) {
                lanes g[9];

                for (int i = 0; i < 9; i++)
                    g[i] = *(const lanes *)(wide + (c * 9 + i) * PANEL + k);
                transform_square(m, g, u + (first + c) * PANEL + k, u_step);
            }
    }
}

/* Patches */

struct place {
    int64_t image, top, left; /* of the tile's outputs */
};

ISA_BODY struct place place_of(const struct winograd *p, int64_t tile)
{
    int64_t per_image = p->tiles[0] * p->tiles[1], in_image = tile % per_image;
    int64_t row = in_image / p->tiles[1], column = in_image % p->tiles[1];

    return (struct place){tile / per_image,
                          row / p->apart[0] * p->apart[0] * p->m + row % p->apart[0],
                          column / p->apart[1] * p->apart[1] * p->m + column % p->apart[1]};
}

/* Pads are zeros. */
ISA_BODY void load_edge(const struct winograd *p, int m, const float *x, int64_t top, int64_t left,
                        int64_t channels, lanes *d)
{
    int side = m + 2;

    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            int64_t row = top + i * p->apart[0], column = left + j * p->apart[1];

            d[i * side + j] = (lanes){0};
            if (row >= 0 && row < p->in[0] && column >= 0 && column < p->in[1])
                d[i * side + j] = load(x + (row * p->in[1] + column) * p->x_stride, channels);
        }
}

/* is_whole: all of the patch and of the lanes is there. */
ISA_BODY void patch_of_lanes(const struct winograd_block *b, int m, bool is_whole, const float *x,
                             int64_t top, int64_t left, int64_t channels, float *v)
{
    const struct winograd *p = b->p;
    lanes d[SIDE_MAX * SIDE_MAX], t[SIDE_MAX * SIDE_MAX];
    int side = m + 2;

    if (is_whole) {
        const float *row = x + (top * p->in[1] + left) * p->x_stride;
        int64_t step = p->apart[1] * p->x_stride, row_step = p->apart[0] * p->in[1] * p->x_stride;

        for (int i = 0; i < side; i++, row += row_step)
            for (int j = 0; j < side; j++)
                d[i * side + j] = *(const lanes *)(row + j * step);
    } else {
        load_edge(p, m, x, top, left, channels, d);
    }
    for (int j = 0; j < side; j++)
        transform_patch(m, d + j, t + j, side);
    for (int i = 0; i < side; i++) {
        transform_patch(m, t + (ptrdiff_t)i * side, d, 1);
        for (int j = 0; j < side; j++)
            *(lanes *)(v + (i * side + j) * b->v_matrix) = d[j];
    }
}

/* Tiles [begin, end) of the block. */
ISA_BODY void patches_body(const struct winograd_block *b, int m, int64_t begin, int64_t end)
{
    const struct winograd *p = b->p;
    int64_t row = winograd_round_up(p->channels, WINOGRAD_ROW_UNIT);

    for (int64_t i = begin; i < end; i++) {
        struct place at = place_of(p, b->first + i);
        const float *x =
            b->x + at.image * p->in[0] * p->in[1] * p->x_stride + b->group * p->channels;

        int64_t top = at.top - p->pad[0], left = at.left - p->pad[1], c = 0;

        if (top >= 0 && left >= 0 && top + (m + 1) * p->apart[0] < p->in[0] &&
            left + (m + 1) * p->apart[1] < p->in[1])
            for (; c + WINOGRAD_LANES <= p->channels; c += WINOGRAD_LANES)
                patch_of_lanes(b, m, true, x + c, top, left, WINOGRAD_LANES, b->v + i * row + c);
        for (; c < p->channels; c += WINOGRAD_LANES)
            patch_of_lanes(b, m, false, x + c, top, left, p->channels - c, b->v + i * row + c);
    }
}

/* Products: some tiles by one panel of filters, whose sums stay in registers. */

#if WINOGRAD_ROWS == 12
#define ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#else
#define ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#endif

struct product {
    const float *v;
    int64_t v_row;
    const float *u;
    float *m;
    int64_t m_row, channels;
};

ISA_BODY void multiply_rows(const struct product *q, int rows)
{
    const float *v = q->v, *u = q->u;
    int64_t v_row = q->v_row;
#define ZERO(i) lanes low##i = {0}, high##i = {0};
    ROWS(ZERO)
#undef ZERO

    for (int64_t c = 0; c < q->channels; c++, v++, u += PANEL) {
        lanes u0 = *(const lanes *)u, u1 = *(const lanes *)(u + WINOGRAD_LANES);

        __builtin_prefetch(u + PREFETCH);
        if (PANEL > 16)
            __builtin_prefetch(u + PREFETCH + 16);
#define ADD(i)                                                                                     \
    if (rows > (i)) {                                                                              \
        low##i += v[(i)*v_row] * u0;                                                               \
        high##i += v[(i)*v_row] * u1;                                                              \
    }
        ROWS(ADD)
#undef ADD
    }
#define STORE(i)                                                                                   \
    if (rows > (i)) {                                                                              \
        *(lanes *)(q->m + (i)*q->m_row) = low##i;                                                  \
        *(lanes *)(q->m + (i)*q->m_row + WINOGRAD_LANES) = high##i;                                \
    }
    ROWS(STORE)
#undef STORE
}

/* The compiler makes a version for each number of rows. */
ISA_BODY void multiply_any(const struct product *q, int rows)
{
    switch (rows) {
#define CASE(i)                                                                                    \
    case (i) + 1:                                                                                  \
        multiply_rows(q, (i) + 1);                                                                 \
        break;
        ROWS(CASE)
#undef CASE
    default:
        break;
    }
}

/* All tiles of the block at one point by one panel, whose weights q has. */
ISA_BODY void multiply_panel(const struct winograd_block *b, struct product *q, int64_t point,
                             int64_t panel)
{
    int64_t groups = (b->count + WINOGRAD_ROWS - 1) / WINOGRAD_ROWS, done = 0; /* of even sizes */

    for (int64_t i = 0; i < groups; i++) {
        int64_t next = b->count * (i + 1) / groups;

        q->v = b->v + point * b->v_matrix + done * q->v_row;
        q->m = b->m + point * b->m_matrix + done * q->m_row + panel * PANEL;
        multiply_any(q, (int)(next - done));
        done = next;
    }
}

/* Panels [begin, end) whose weights are stored: those of some at a time, to which the points are near. */
ISA_BODY void products_stored(const struct winograd_block *b, struct product *q, float *wide,
                              int64_t begin, int64_t end)
{
    const struct winograd *p = b->p;
    int64_t first = b->group * winograd_panels(p, PANEL), panel_count = p->channels * 9 * PANEL;
    int64_t point_count = winograd_wide_point(p, PANEL), points = winograd_points(p), together;

    for (; begin < end; begin += together) {
        together = end - begin < p->together ? end - begin : p->together;
        for (int64_t i = 0; i < together && !b->is_wide; i++) {
            const uint16_t *from = p->w + (first + begin + i) * panel_count;
            float *to = wide + i * points * point_count;

            if (p->m == 2)
                widen_body(p, 2, to, from);
            else
                widen_body(p, 4, to, from);
        }
        for (int64_t point = 0; point < points; point++)
            for (int64_t i = 0; i < together; i++) {
                q->u = wide + (i * points + point) * point_count;
                multiply_panel(b, q, point, begin + i);
            }
    }
}

/* Units are the panels of all points; where weights are stored, shares of the panels. */
TARGET static void products(void *block, int64_t begin, int64_t end)
{
    const struct winograd_block *b = block;
    const struct winograd *p = b->p;
    int64_t panels = winograd_panels(p, PANEL);
    int64_t u_group = b->group * winograd_points(p) * panels * p->channels * PANEL;
    struct product q = {
        .v_row = winograd_round_up(p->channels, WINOGRAD_ROW_UNIT),
        .m_row = winograd_round_up(p->filters, WINOGRAD_ROW_UNIT),
        .channels = p->channels,
    };

    for (int64_t unit = begin; unit < end; unit++) {
        if (p->stored != KERNEL_F32) {
            products_stored(b, &q, b->wide + unit * winograd_wide_count(p, PANEL),
                            panels * unit / b->shares, panels * (unit + 1) / b->shares);
            continue;
        }
        q.u = p->u + u_group + unit * p->channels * PANEL;
        multiply_panel(b, &q, unit / panels, unit % panels);
    }
}

/* Tiles */

/* mask ? a : b */
ISA_BODY lanes choose(lane_mask mask, lanes a, lanes b)
{
    return (lanes)(((lane_mask)a & mask) | ((lane_mask)b & ~mask));
}

ISA_BODY lanes activate(const struct kernel_activation *f, lanes v)
{
    lanes zero = {0}, low = zero + f->a, high = zero + f->b;

    switch (f->kind) {
    case KERNEL_RELU:
        return choose(v < zero, zero, v);
    case KERNEL_LEAKY_RELU:
        return choose(v < zero, v * f->a, v);
    case KERNEL_CLIP:
        v = choose(v < low, low, v);
        return choose(v > high, high, v);
    default:
        return v;
    }
}

/* is_whole: the image holds all of the tile, and all of the lanes are filters. */
ISA_BODY void tile_of_lanes(const struct winograd_block *b, int m, bool is_whole, const float *from,
                            const lanes *bias, const struct place *at, float *y, int64_t filters)
{
    const struct winograd *p = b->p;
    lanes v[SIDE_MAX * SIDE_MAX], half[SIDE_MAX * SIDE_MAX], out[SIDE_MAX];
    int side = m + 2;

    for (int i = 0; i < side * side; i++)
        v[i] = *(const lanes *)(from + i * b->m_matrix);
    for (int j = 0; j < side; j++)
        transform_tile(m, v + j, side, half + j, side);
    for (int i = 0; i < m && (is_whole || at->top + i * p->apart[0] < p->out[0]); i++) {
        float *row = y + ((at->top + i * p->apart[0]) * p->out[1] + at->left) * p->y_stride;

        transform_tile(m, half + (ptrdiff_t)i * side, 1, out, 1);
        for (int j = 0; j < m && (is_whole || at->left + j * p->apart[1] < p->out[1]); j++) {
            float *to = row + j * p->apart[1] * p->y_stride;
            lanes sum = out[j] + *bias;

            if (p->has_residual)
                sum += load(to, is_whole ? WINOGRAD_LANES : filters);
            sum = activate(&p->activation, sum);
            store(to, &sum, is_whole ? WINOGRAD_LANES : filters);
        }
    }
}

ISA_BODY void tiles_body(const struct winograd_block *b, int m, int64_t begin, int64_t end)
{
    const struct winograd *p = b->p;
    int64_t row = winograd_round_up(p->filters, WINOGRAD_ROW_UNIT);

    for (int64_t i = begin; i < end; i++) {
        struct place at = place_of(p, b->first + i);
        int64_t first = b->group * p->filters;
        float *y = b->y + at.image * p->out[0] * p->out[1] * p->y_stride + first;
        bool is_whole = at.top + (m - 1) * p->apart[0] < p->out[0] &&
                        at.left + (m - 1) * p->apart[1] < p->out[1];

        for (int64_t k = 0; k < p->filters; k += WINOGRAD_LANES) {
            int64_t left = p->filters - k;
            lanes bias = {0};

            if (p->bias)
                bias = load(p->bias + first + k, left);
            if (is_whole && left >= WINOGRAD_LANES)
                tile_of_lanes(b, m, true, b->m + i * row + k, &bias, &at, y + k, left);
            else
                tile_of_lanes(b, m, false, b->m + i * row + k, &bias, &at, y + k, left);
        }
    }
}

/* With a number for m that the compiler knows. */
#define FOR_EACH_SIZE(m, body, ...)                                                                \
    do {                                                                                           \
        if ((m) == 2)                                                                              \
            body(__VA_ARGS__, 2, begin, end);                                                      \
        else                                                                                       \
            body(__VA_ARGS__, 4, begin, end);                                                      \
    } while (0)

TARGET static void weights(void *argument, int64_t begin, int64_t end)
{
    const struct weights_part *part = argument;

    FOR_EACH_SIZE(part->p->m, weights_body, part);
}

TARGET static void patches(void *argument, int64_t begin, int64_t end)
{
    const struct winograd_block *b = argument;

    FOR_EACH_SIZE(b->p->m, patches_body, b);
}

TARGET static void tiles(void *argument, int64_t begin, int64_t end)
{
    const struct winograd_block *b = argument;

    FOR_EACH_SIZE(b->p->m, tiles_body, b);
}

static void all_weights(const struct winograd *p, float *u, const float *w)
{
    struct weights_part part = {p, u, w, winograd_panels(p, PANEL)};

    team_for(p->groups * part.panels, 1, weights, &part);
}

const struct winograd_kernels JOIN(winograd_kernels_, WINOGRAD_ISA) = {
    TEXT(WINOGRAD_ISA), PANEL, all_weights, patches, products, tiles};
