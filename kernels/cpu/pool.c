/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling. Channels-last: every channel of one output at a time; row-major: a row of outputs. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/pool_flat.h"
#include "kernels/cpu/pool_places.h"
#include "kernels/cpu/pool_planes.h"
#include "kernels/cpu/pool_rows.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <float.h>

struct pool {
    float *y;
    const float *x;
    const struct kernel_pool *shape;
};

/* Elements read that are worth a second thread. */
enum { GRAIN = 1 << 16 };

/* What an average divides by along one axis. */
static int64_t count_along(const struct kernel_pool *shape, int axis, int64_t o,
                           struct pool_span span)
{
    const struct kernel_window *window = &shape->window;
    int64_t at = o * window->stride[axis] - window->pad_begin[axis];
    int64_t room = window->in[axis] + window->pad_end[axis] - at;
    int64_t padded = pool_quotient(room + window->dilation[axis] - 1, window->dilation[axis]);

    if (padded > window->kernel[axis])
        padded = window->kernel[axis];
    return shape->count_pads ? (padded > 0 ? padded : 0) : span.end - span.first;
}

static int64_t count_elements(const struct kernel_pool *shape, const int64_t o[3],
                              const struct pool_span spans[3])
{
    int64_t count = 1;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
        count *= count_along(shape, axis, o[axis], spans[axis]);
    return count;
}

#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))
#define SUM(a, b)     ((a) + (b))

/* y = op(y, x) for each of `count` channels; the window's row holds `width` pixels, `step` elements
 * apart. Four pixels at a time, so that y is loaded and stored less often. */
#define ROW(name, op)                                                                              \
    ISA_BODY void name##_row(float *restrict y, const float *restrict x, int64_t count,            \
                             int64_t width, int64_t step)                                          \
    {                                                                                              \
        int64_t v = 0;                                                                             \
                                                                                                   \
        for (; v + 4 <= width; v += 4, x += 4 * step) {                                            \
            for (int64_t c = 0; c < count; c++)                                                    \
                y[c] = op(op(y[c], op(x[c], x[c + step])), op(x[c + 2 * step], x[c + 3 * step]));  \
        }                                                                                          \
        if (v + 3 <= width) {                                                                      \
            for (int64_t c = 0; c < count; c++)                                                    \
                y[c] = op(op(y[c], x[c]), op(x[c + step], x[c + 2 * step]));                       \
            v += 3, x += 3 * step;                                                                 \
        }                                                                                          \
        for (; v < width; v++, x += step) {                                                        \
            for (int64_t c = 0; c < count; c++)                                                    \
                y[c] = op(y[c], x[c]);                                                             \
        }                                                                                          \
    }

ROW(max, MAXIMUM)
ROW(sum, SUM)

ISA_BODY void pool_one(float *restrict y, const float *image, const struct kernel_pool *shape,
                       const int64_t o[3], bool is_max)
{
    const struct kernel_window *window = &shape->window;
    int64_t channels = shape->channels, at[3];
    struct pool_span spans[3];
    float scale;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        spans[axis] = pool_inside(window, axis, o[axis]);
        at[axis] = o[axis] * window->stride[axis] - window->pad_begin[axis];
    }
    for (int64_t c = 0; c < channels; c++)
        y[c] = is_max ? -FLT_MAX : 0.0f;
    for (int64_t d = spans[0].first; d < spans[0].end; d++) {
        for (int64_t h = spans[1].first; h < spans[1].end; h++) {
            int64_t row =
                (at[0] + d * window->dilation[0]) * window->in[1] + at[1] + h * window->dilation[1];
            int64_t first = at[2] + spans[2].first * window->dilation[2];
            const float *x = image + (row * window->in[2] + first) * channels;
            int64_t width = spans[2].end - spans[2].first, step = window->dilation[2] * channels;

            if (is_max)
                max_row(y, x, channels, width, step);
            else
                sum_row(y, x, channels, width, step);
        }
    }
    if (is_max)
        return;
    scale = 1.0f / (float)MAXIMUM(count_elements(shape, o, spans), 1);
    for (int64_t c = 0; c < channels; c++)
        y[c] *= scale;
}

/* Outputs [begin, end), counted over images and positions. */
ISA_BODY void pool_part(const struct pool *p, int64_t begin, int64_t end, bool is_max)
{
    const struct kernel_window *window = &p->shape->window;
    int64_t channels = p->shape->channels;
    int64_t in = window->in[0] * window->in[1] * window->in[2];

    for (int64_t i = begin; i < end; i++) {
        int64_t o[3], rest = i;

        for (int axis = KERNEL_SPATIAL - 1; axis >= 0; axis--) {
            o[axis] = rest % window->out[axis];
            rest /= window->out[axis];
        }
        pool_one(p->y + i * channels, p->x + rest * in * channels, p->shape, o, is_max);
    }
}

/* Row-major */

POOL_ROW(max_f32, float, POOL_MAXIMUM, -FLT_MAX)
POOL_ROW(sum_f32, float, POOL_SUM, 0.0f)
POOL_ROW_SMALL(max_f32, float, POOL_MAXIMUM, -FLT_MAX)
POOL_ROW_SMALL(sum_f32, float, POOL_SUM, 0.0f)
/* The first of what is equal, or a NaN that comes later. */
#define POOL_NEXT(a, b) (!((b) <= (a)) ? (b) : (a))
POOL_TAPS(max_f64, double, POOL_NEXT)
POOL_ROW(max_u8, uint8_t, POOL_MAXIMUM, 0)
POOL_ROW(max_i8, int8_t, POOL_MAXIMUM, INT8_MIN)
POOL_PIXELS(max_u8, uint8_t, POOL_MAXIMUM, 0)
POOL_PIXELS(max_i8, int8_t, POOL_MAXIMUM, INT8_MIN)
POOL_ROW_SMALL(max_u8, uint8_t, POOL_MAXIMUM, 0)
POOL_ROW_SMALL(max_i8, int8_t, POOL_MAXIMUM, INT8_MIN)

/* The maximum, or the mean, of a whole plane. */
ISA_BODY float whole_plane(const float *x, int64_t count, bool is_max)
{
    enum { BLOCK = 1024 };
    float largest = -FLT_MAX;
    double all = 0.0;

    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        int64_t end = begin + BLOCK < count ? begin + BLOCK : count;
        float sum = 0.0f;

#pragma omp simd reduction(+ : sum) reduction(max : largest)
        for (int64_t i = begin; i < end; i++) {
            sum += x[i];
            largest = x[i] > largest ? x[i] : largest;
        }
        all += (double)sum;
    }
    return is_max ? largest : (float)(all / (double)count);
}

/* Sums become averages. Those whose window is whole in the row share what they are divided by. */
ISA_BODY void average_row(float *y, const struct kernel_pool *shape, int64_t o[3])
{
    const struct kernel_window *w = &shape->window;
    int64_t last = (w->kernel[2] - 1) * w->dilation[2] - w->pad_begin[2];
    struct pool_span whole = {pool_outputs(w, -w->pad_begin[2]).first, pool_outputs(w, last).end};
    struct pool_span spans[3];
    float scale = 1.0f;

    for (o[2] = 0; o[2] < w->out[2]; o[2]++) {
        bool is_whole = o[2] >= whole.first && o[2] < whole.end;

        if (!is_whole || o[2] == whole.first) {
            for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
                spans[axis] = pool_inside(w, axis, o[axis]);
            scale = 1.0f / (float)MAXIMUM(count_elements(shape, o, spans), 1);
        }
        y[o[2]] *= scale;
        if (!is_whole)
            continue;
        for (int64_t i = o[2] + 1; i < whole.end; i++)
            y[i] *= scale;
        o[2] = whole.end - 1;
    }
}

/* What sums are multiplied by, in rows of outputs that see as many rows of the image. */
struct factors {
    bool are_there[PLANE_TAPS + 1];
    float each[PLANE_TAPS + 1][POOL_LINE]; /* by how many rows count */
};

static const float *factors_of(struct factors *f, const struct kernel_pool *shape, int64_t oh)
{
    const struct kernel_window *w = &shape->window;
    int64_t high = count_along(shape, 1, oh, pool_inside(w, 1, oh));
    float *each = f->each[high];

    for (int64_t o = 0; o < w->out[2] && !f->are_there[high]; o++) {
        int64_t count = high * count_along(shape, 2, o, pool_inside(w, 2, o));

        each[o] = 1.0f / (float)MAXIMUM(count, 1);
    }
    f->are_there[high] = true;
    return each;
}

/* Of the rows of outputs [begin, end), which are counted over all planes, how many from the first on are of its plane;
 * at most `most`. */
ISA_BODY int64_t band_of(const struct kernel_window *w, int64_t begin, int64_t end, int64_t most)
{
    int64_t left = w->out[1] - begin % w->out[1];

    left = left < end - begin ? left : end - begin;
    return left < most ? left : most;
}

/* y = x times factors, by whole registers: the last one begins early rather than end late. */
ISA_BODY void scale_row(float *restrict y, const float *restrict x, const float *restrict factors,
                        int64_t count)
{
    for (int64_t o = 0; o < count && count < POOL_LANES; o++)
        y[o] = x[o] * factors[o];
    for (int64_t o = 0; o < count && count >= POOL_LANES; o += POOL_LANES) {
        int64_t at = o + POOL_LANES <= count ? o : count - POOL_LANES;

#pragma omp simd
        for (int j = 0; j < POOL_LANES; j++)
            y[at + j] = x[at + j] * factors[at + j];
    }
}

/* Rows of outputs [begin, end), counted over all planes, of a small window. */
ISA_BODY void pool_small(const struct pool *p, int64_t begin, int64_t end, bool is_max)
{
    const struct kernel_window *w = &p->shape->window;
    float out[POOL_BAND][POOL_LINE + POOL_LANES];
    struct factors factors;

    memset(factors.are_there, 0, sizeof(factors.are_there)); /* the rest is large */
    while (begin < end) {
        int64_t plane = begin / w->out[1], oh = begin % w->out[1];
        int64_t rows = band_of(w, begin, end, POOL_BAND);
        const float *x = p->x + plane * w->in[1] * w->in[2];
        float *y = p->y + begin * w->out[2];

        if (is_max)
            max_f32_small(out, x, w, oh, rows);
        else
            sum_f32_small(out, x, w, oh, rows);
        for (int64_t r = 0; r < rows; r++, y += w->out[2]) {
            const float *each = is_max ? NULL : factors_of(&factors, p->shape, oh + r);

            if (is_max)
                memcpy(y, out[r], (size_t)w->out[2] * sizeof(*y));
            else
                scale_row(y, out[r], each, w->out[2]);
        }
        begin += rows;
    }
}

POOL_PLANE(max_f32, POOL_MAXIMUM, -FLT_MAX)
POOL_PLANE(sum_f32, POOL_SUM, 0.0f)

/* Planes [begin, end) with as many outputs as pixels. */
ISA_BODY void pool_planes(const struct pool *p, int64_t begin, int64_t end, bool is_max)
{
    const struct kernel_window *w = &p->shape->window;
    int64_t count = w->in[1] * w->in[2];
    uint32_t columns[PLANE_MOST];
    float each[PLANE_MOST];
    struct factors factors;

    memset(factors.are_there, 0, sizeof(factors.are_there));
    pool_plane_columns(columns, w);
    for (int64_t row = 0; row < w->in[1] && !is_max; row++)
        memcpy(each + row * w->in[2], factors_of(&factors, p->shape, row),
               (size_t)w->in[2] * sizeof(*each));
    for (; begin < end; begin++) {
        float *y = p->y + begin * count;

        if (is_max) {
            max_f32_plane(y, p->x + begin * count, columns, w);
            continue;
        }
        sum_f32_plane(y, p->x + begin * count, columns, w);
        for (int64_t i = 0; i < count; i++)
            y[i] *= each[i];
    }
}

POOL_FLAT(max_f32, float, POOL_MAXIMUM, -FLT_MAX)
POOL_FLAT(max_u8, uint8_t, POOL_MAXIMUM, 0)
POOL_FLAT(max_i8, int8_t, POOL_MAXIMUM, INT8_MIN)

/* Rows of outputs [begin, end), counted over all planes, of a window that steps by one. */
ISA_BODY void pool_flat(const struct pool *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = &p->shape->window;
    int64_t most = pool_flat_rows(w);
    float line[FLAT_MOST];

    while (begin < end) {
        int64_t plane = begin / w->out[1], oh = begin % w->out[1];
        int64_t rows = band_of(w, begin, end, most);

        max_f32_flat(p->y + begin * w->out[2], p->x + plane * w->in[1] * w->in[2], line, w, oh,
                     rows);
        begin += rows;
    }
}

/* Of a volume: maxima of planes above each other first, as a plane. */
enum { DEEP_MOST = 1 << 13 };

static bool is_deep(const struct kernel_window *w)
{
    return w->in[0] > 1 && w->in[1] * w->in[2] <= DEEP_MOST && w->kernel[1] * w->kernel[2] > 1;
}

ISA_BODY const float *join_planes(float *restrict plane, const float *restrict volume,
                                  const struct kernel_window *w, int64_t od)
{
    struct pool_span deep = pool_inside(w, 0, od);
    int64_t first = od * w->stride[0] - w->pad_begin[0], count = w->in[1] * w->in[2];
    const float *x = volume + (first + deep.first * w->dilation[0]) * count;

    if (deep.end - deep.first == 1)
        return x;
    for (int64_t i = 0; i < count && deep.first == deep.end; i++)
        plane[i] = -FLT_MAX;
    for (int64_t d = deep.first; d < deep.end; d++, x += w->dilation[0] * count) {
        if (d == deep.first)
            memcpy(plane, x, (size_t)count * sizeof(*plane));
        else
            max_f32_tap(plane, x, 1, 0, count);
    }
    return plane;
}

/* Rows of outputs [begin, end), counted over all planes of volumes. */
ISA_BODY void pool_deep(const struct pool *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = &p->shape->window;
    struct kernel_pool flat = *p->shape;
    struct kernel_window *f = &flat.window;
    float plane[DEEP_MOST];

    f->in[0] = f->out[0] = f->kernel[0] = f->stride[0] = f->dilation[0] = 1;
    f->pad_begin[0] = f->pad_end[0] = 0;
    while (begin < end) {
        int64_t oh = begin % w->out[1], od = begin / w->out[1] % w->out[0];
        int64_t left = band_of(w, begin, end, w->out[1]);
        const float *volume = p->x + begin / w->out[1] / w->out[0] * w->in[0] * w->in[1] * w->in[2];
        struct pool q = {p->y + (begin - oh) * w->out[2], join_planes(plane, volume, w, od), &flat};

        if (pool_is_small(f))
            pool_small(&q, oh, oh + left, true);
        else if (pool_is_flat(f))
            pool_flat(&q, oh, oh + left);
        else
            for (int64_t i = oh; i < oh + left; i++)
                max_f32_row(q.y + i * w->out[2], q.x, f, 0, i);
        begin += left;
    }
}

/* Rows of outputs [begin, end), counted over all planes. */
ISA_BODY void pool_rows(const struct pool *p, int64_t begin, int64_t end, bool is_max)
{
    const struct kernel_window *w = &p->shape->window;
    int64_t in = w->in[0] * w->in[1] * w->in[2], rows = w->out[0] * w->out[1];
    bool is_whole = pool_is_whole(w);

    if (pool_is_small(w)) {
        pool_small(p, begin, end, is_max);
        return;
    }
    if (is_max && !is_whole && pool_is_flat(w)) {
        pool_flat(p, begin, end);
        return;
    }
    if (is_max && !is_whole && is_deep(w)) {
        pool_deep(p, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        int64_t o[3] = {i % rows / w->out[1], i % w->out[1], 0};
        const float *plane = p->x + i / rows * in;
        float *y = p->y + i * w->out[2];

        if (is_whole) {
            *y = whole_plane(plane, in, is_max);
            continue;
        }
        if (is_max) {
            max_f32_row(y, plane, w, o[0], o[1]);
            continue;
        }
        sum_f32_row(y, plane, w, o[0], o[1]);
        average_row(y, p->shape, o);
    }
}

struct pool_any {
    uint8_t *y;
    const uint8_t *x;
    const struct kernel_window *window;
    bool is_signed;
    int64_t *indices;
    const struct kernel_pool_any *shape;
};

POOL_PLACES(places_f32, float, float, -FLT_MAX)
POOL_PLACES(places_f64, double, double, -DBL_MAX)
POOL_PLACES(places_u8, uint8_t, int32_t, 0)
POOL_PLACES(places_i8, int8_t, int32_t, INT8_MIN)

/* Rows of outputs [begin, end), counted over all planes: maxima with their places, or norms. */
ISA_BODY void pool_taps(const struct pool_any *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = p->window;
    int64_t in = w->in[0] * w->in[1] * w->in[2], rows = w->out[0] * w->out[1];

    for (int64_t i = begin; i < end; i++) {
        int64_t start = i / rows * in, od = i % rows / w->out[1], oh = i % w->out[1];
        int64_t at = i * w->out[2];
        const float *x = (const float *)(const void *)p->x + start;
        float *y = (float *)(void *)p->y + at;

        if (p->shape->op == POOL_LP)
            pool_norm_row(y, x, p->shape->p == 2.0, w, od, oh);
        else if (p->shape->dtype == KERNEL_F32)
            places_f32_row(y, p->indices + at, x, start, w, od, oh);
        else if (p->shape->dtype == KERNEL_F64)
            places_f64_row((double *)(void *)p->y + at, p->indices + at,
                           (const double *)(const void *)p->x + start, start, w, od, oh);
        else if (p->is_signed)
            places_i8_row((int8_t *)p->y + at, p->indices + at, (const int8_t *)p->x + start, start,
                          w, od, oh);
        else
            places_u8_row(p->y + at, p->indices + at, p->x + start, start, w, od, oh);
    }
}

static bool has_taps(const int64_t *indices, const struct kernel_pool_any *s)
{
    if (s->op == POOL_LP)
        return s->dtype == KERNEL_F32 && (s->p == 1.0 || s->p == 2.0);
    return s->op == POOL_MAX && indices && !s->is_column_major && pool_counts_places(&s->window) &&
           (s->dtype == KERNEL_F32 || s->dtype == KERNEL_F64 || s->dtype == KERNEL_U8 ||
            s->dtype == KERNEL_I8);
}

/* Rows of outputs [begin, end), counted over all planes, of a small window. */
ISA_BODY void pool_small_bytes(const struct pool_any *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = p->window;
    uint8_t out[POOL_BAND][POOL_LINE + POOL_LANES];

    while (begin < end) {
        int64_t plane = begin / w->out[1], oh = begin % w->out[1];
        int64_t rows = band_of(w, begin, end, POOL_BAND);
        const uint8_t *x = p->x + plane * w->in[1] * w->in[2];

        if (p->is_signed)
            max_i8_small((void *)out, (const int8_t *)x, w, oh, rows);
        else
            max_u8_small(out, x, w, oh, rows);
        for (int64_t r = 0; r < rows; r++)
            memcpy(p->y + (begin + r) * w->out[2], out[r], (size_t)w->out[2]);
        begin += rows;
    }
}

ISA_BODY void pool_flat_bytes(const struct pool_any *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = p->window;
    int64_t most = pool_flat_rows(w);
    uint8_t line[FLAT_MOST];

    while (begin < end) {
        int64_t plane = begin / w->out[1], oh = begin % w->out[1];
        int64_t rows = band_of(w, begin, end, most);
        const uint8_t *x = p->x + plane * w->in[1] * w->in[2];
        uint8_t *y = p->y + begin * w->out[2];

        if (p->is_signed)
            max_i8_flat((int8_t *)y, (const int8_t *)x, (int8_t *)line, w, oh, rows);
        else
            max_u8_flat(y, x, line, w, oh, rows);
        begin += rows;
    }
}

/* Rows of outputs [begin, end), counted over all planes, that are pixels of a row. */
ISA_BODY void pool_pixel_bytes(const struct pool_any *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = p->window;

    while (begin < end) {
        int64_t first = begin % w->out[1], row = begin / w->out[1], od = row % w->out[0];
        int64_t rows = band_of(w, begin, end, w->out[1]);
        const uint8_t *x = p->x + row / w->out[0] * w->in[0] * w->in[1] * w->in[2];
        uint8_t *y = p->y + (begin - first) * w->out[2];

        if (p->is_signed)
            max_i8_pixels((int8_t *)y, (const int8_t *)x, w, od, first, first + rows);
        else
            max_u8_pixels(y, x, w, od, first, first + rows);
        begin += rows;
    }
}

ISA_BODY void pool_bytes(const struct pool_any *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = p->window;
    int64_t in = w->in[0] * w->in[1] * w->in[2], rows = w->out[0] * w->out[1];

    if (pool_has_pixels(w)) {
        pool_pixel_bytes(p, begin, end);
        return;
    }
    if (pool_is_small(w)) {
        pool_small_bytes(p, begin, end);
        return;
    }
    if (pool_is_flat(w)) {
        pool_flat_bytes(p, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        const uint8_t *plane = p->x + i / rows * in;
        uint8_t *y = p->y + i * w->out[2];
        int64_t od = i % rows / w->out[1], oh = i % w->out[1];

        if (p->is_signed)
            max_i8_row((int8_t *)y, (const int8_t *)plane, w, od, oh);
        else
            max_u8_row(y, plane, w, od, oh);
    }
}

/* What holds no element is the lowest number, and not infinite. */
static void end_empty(double *y, const struct kernel_window *w, bool has_rows)
{
    for (int64_t o = 0; o < w->out[2]; o++) {
        struct pool_span along = {0, 0};

        if (y[o] != -(double)INFINITY)
            continue;
        along = pool_inside(w, 2, o);
        if (!has_rows || along.first == along.end)
            y[o] = -DBL_MAX;
    }
}

/* Tap by tap, in the order of the window: whether a NaN stays is a matter of it. */
ISA_BODY void pool_f64(const struct pool_any *p, int64_t begin, int64_t end)
{
    const struct kernel_window *w = p->window;
    int64_t in = w->in[0] * w->in[1] * w->in[2], rows = w->out[0] * w->out[1];

    for (int64_t i = begin; i < end; i++) {
        int64_t od = i % rows / w->out[1], oh = i % w->out[1];
        int64_t at_d = od * w->stride[0] - w->pad_begin[0];
        int64_t at_h = oh * w->stride[1] - w->pad_begin[1];
        struct pool_span deep = pool_inside(w, 0, od), high = pool_inside(w, 1, oh);
        const double *plane = (const double *)(const void *)p->x + i / rows * in;
        double *y = (double *)(void *)p->y + i * w->out[2];

        for (int64_t o = 0; o < w->out[2]; o++)
            y[o] = -(double)INFINITY;
        for (int64_t d = deep.first; d < deep.end; d++)
            for (int64_t h = high.first; h < high.end; h++)
                max_f64_taps(
                    y,
                    plane + ((at_d + d * w->dilation[0]) * w->in[1] + at_h + h * w->dilation[1]) *
                                w->in[2],
                    w);
        end_empty(y, w, deep.first < deep.end && high.first < high.end);
    }
}

#define POOL_ANY(isa)                                                                              \
    ISA_TARGET_##isa static void pool_bytes_##isa(void *argument, int64_t begin, int64_t end)      \
    {                                                                                              \
        pool_bytes(argument, begin, end);                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void pool_f64_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        pool_f64(argument, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void pool_taps_##isa(void *argument, int64_t begin, int64_t end)       \
    {                                                                                              \
        pool_taps(argument, begin, end);                                                           \
    }                                                                                              \
                                                                                                   \
    void pool_##isa(void *y, int64_t *indices, const void *x, const struct kernel_pool_any *s)     \
    {                                                                                              \
        const struct kernel_window *w = &s->window;                                                \
        int64_t reads = w->out[2] * w->kernel[0] * w->kernel[1] * w->kernel[2];                    \
        int64_t rows = s->batch * s->channels * w->out[0] * w->out[1];                             \
        struct pool_any p = {y, x, w, s->dtype == KERNEL_I8, indices, s};                          \
                                                                                                   \
        if (s->op == POOL_MAX && !indices && (s->dtype == KERNEL_U8 || s->dtype == KERNEL_I8))     \
            team_for(rows, GRAIN / (reads + 1) + 1, pool_bytes_##isa, &p);                         \
        else if (s->op == POOL_MAX && !indices && s->dtype == KERNEL_F64)                          \
            team_for(rows, GRAIN / (reads + 1) + 1, pool_f64_##isa, &p);                           \
        else if (has_taps(indices, s))                                                             \
            team_for(rows, GRAIN / 4 / (reads + 1) + 1, pool_taps_##isa, &p);                      \
        else                                                                                       \
            pool_ref(y, indices, x, s);                                                            \
    }

#define POOL(name, is_max, isa)                                                                    \
    ISA_TARGET_##isa static void name##_part_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        pool_part(argument, begin, end, is_max);                                                   \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void name##_rows_##isa(void *argument, int64_t begin, int64_t end)     \
    {                                                                                              \
        pool_rows(argument, begin, end, is_max);                                                   \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void name##_planes_##isa(void *argument, int64_t begin, int64_t end)   \
    {                                                                                              \
        pool_planes(argument, begin, end, is_max);                                                 \
    }                                                                                              \
                                                                                                   \
    void name##_##isa(float *y, const float *x, const struct kernel_pool *shape)                   \
    {                                                                                              \
        const struct kernel_window *window = &shape->window;                                       \
        int64_t reads = shape->channels * window->kernel[0] * window->kernel[1];                   \
        struct pool p = {y, x, shape};                                                             \
                                                                                                   \
        if (!shape->channels_last && pool_has_planes(window)) {                                    \
            reads = window->out[1] * window->out[2] * window->kernel[1] * window->kernel[2];       \
            team_for(shape->batch * shape->channels, GRAIN / reads + 1, name##_planes_##isa, &p);  \
            return;                                                                                \
        }                                                                                          \
        if (!shape->channels_last) {                                                               \
            reads = window->out[2] * window->kernel[0] * window->kernel[1];                        \
            team_for(shape->batch * shape->channels * window->out[0] * window->out[1],             \
                     GRAIN / (reads * window->kernel[2] + 1) + 1, name##_rows_##isa, &p);          \
            return;                                                                                \
        }                                                                                          \
        team_for(shape->batch * window->out[0] * window->out[1] * window->out[2],                  \
                 GRAIN / (reads * window->kernel[2] + 1) + 1, name##_part_##isa, &p);              \
    }

#define ALL(isa) POOL(max_pool_f32, true, isa) POOL(average_pool_f32, false, isa) POOL_ANY(isa)

ISA_VERSIONS(ALL)
