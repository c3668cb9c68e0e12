/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers with filters of one channel each, by the instructions that multiply four
 * bytes at once (AVX512-VNNI) and put bytes into any order (AVX512-VBMI). A band of rows is laid out with its pads; 64
 * bytes of a row hold what up to four taps see of 16 neighbouring outputs. */
#include "kernels/cpu/int8_depth.h"

#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>

enum {
    LINES = 16 * 1024, /* bytes of a band */
    ACC = 2048,        /* outputs that are summed before they are stored */
    LANES = 16,        /* outputs that are summed together */
    LOAD = 64,         /* bytes that are read at once */
    QUADS = 64,        /* of a filter */
};

#define TARGET                                                                                     \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni")))

/* How rows lie in a band. */
struct band {
    int64_t pitch; /* bytes from one row to the next */
    int64_t rows;  /* outputs of which all rows fit */
};

/* Up to four taps of a row of the window each. */
struct filter {
    uint8_t order[LOAD]; /* of 64 bytes: four for each output */
    int64_t count, offsets[QUADS];
    int32_t quads[QUADS], start; /* what pixels of the zero point make of a sum */
};

static int64_t quads_along(const struct kernel_window *w)
{
    return (w->kernel[2] + INT8_QUAD - 1) / INT8_QUAD;
}

static bool plan_band(const struct kernel_window *w, struct band *out_band)
{
    int64_t high = (w->kernel[1] - 1) * w->dilation[1] + 1, quads = quads_along(w);
    int64_t last = (w->out[2] - 1) / LANES * LANES; /* the first of those summed last */

    if (w->out[2] < 1 || w->out[2] > ACC || high > LINES || quads * w->kernel[1] > QUADS ||
        w->stride[2] > LOAD || w->dilation[2] > LOAD ||
        (LANES - 1) * w->stride[2] + (INT8_QUAD - 1) * w->dilation[2] >= LOAD)
        return false;
    out_band->pitch =
        int8_round_up(last * w->stride[2] + (quads - 1) * INT8_QUAD * w->dilation[2] + LOAD);
    if (high * out_band->pitch > LINES)
        return false;
    out_band->rows = (LINES / out_band->pitch - high) / w->stride[1] + 1;
    if (out_band->rows > ACC / w->out[2])
        out_band->rows = ACC / w->out[2];
    return true;
}

bool int8_depth_takes_bytes(const struct kernel_convolve *shape)
{
    struct band band;

    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni") &&
           plan_band(&shape->window, &band);
}

/* Signed pixels are turned round, so that all are unsigned. */
static uint8_t flip_of(const struct int8_depth *d)
{
    return d->shape->x_type == KERNEL_I8 ? 0x80 : 0;
}

/* Where the quads of an output's window lie. */
static void find_offsets(struct filter *out_filter, const struct kernel_window *w,
                         const struct band *band)
{
    out_filter->count = 0;
    for (int64_t row = 0; row < w->kernel[1]; row++)
        for (int64_t first = 0; first < w->kernel[2]; first += INT8_QUAD)
            out_filter->offsets[out_filter->count++] =
                row * w->dilation[1] * band->pitch + first * w->dilation[2];
}

/* The weights without their zero point; false: some are no bytes then. */
static bool read_filter(struct filter *out_filter, const struct int8_depth *d, int64_t f)
{
    const struct kernel_window *w = &d->shape->window;
    const uint8_t *weights = d->w + f * w->kernel[1] * w->kernel[2];
    uint8_t flip = d->shape->w_type == KERNEL_I8 ? 0 : 0x80;
    int32_t sum = 0, zero = d->w_zero[f] - flip, out = 0; /* of what is turned round */
    int64_t i = 0;

    for (int64_t row = 0; row < w->kernel[1]; row++) {
        for (int64_t first = 0; first < w->kernel[2]; first += INT8_QUAD, i++) {
            int8_t quad[INT8_QUAD] = {0};

            for (int64_t tap = first; tap < first + INT8_QUAD && tap < w->kernel[2]; tap++) {
                int32_t number = (int8_t)(weights[row * w->kernel[2] + tap] ^ flip) - zero;

                out |= number + 128; /* above a byte where one is */
                quad[tap - first] = (int8_t)number;
                sum += number;
            }
            memcpy(&out_filter->quads[i], quad, sizeof(quad));
        }
    }
    out_filter->start = -(d->x_zero + flip_of(d)) * sum;
    return (out & ~0xff) == 0;
}

static void make_order(struct filter *out_filter, const struct kernel_window *w)
{
    for (int64_t i = 0; i < LOAD; i++)
        out_filter->order[i] =
            (uint8_t)(i / INT8_QUAD * w->stride[2] + i % INT8_QUAD * w->dilation[2]);
}

/* Of 64 places from `at` on, those before `end`. */
static uint64_t places_before(int64_t end, int64_t at)
{
    return end <= at ? 0 : end - at >= LOAD ? ~UINT64_C(0) : (UINT64_C(1) << (end - at)) - 1;
}

/* Rows of a plane from `at` on; pads are the zero point. A register at a time: what is read beside a row is masked. */
TARGET static void lay_band(uint8_t *lines, const struct int8_depth *d, const uint8_t *plane,
                            const struct band *band, int64_t at, int64_t rows)
{
    const struct kernel_window *w = &d->shape->window;
    const __m512i zero = _mm512_set1_epi8((char)d->x_zero);
    const __m512i flip = _mm512_set1_epi8((char)flip_of(d));
    int64_t pad = w->pad_begin[2], first = pad > 0 ? pad : 0, end = w->in[2] + pad;

    for (int64_t row = at; row < at + rows; row++, lines += band->pitch) {
        const uint8_t *x = plane + row * w->in[2] - pad;
        bool is_inside = row >= 0 && row < w->in[1];

        for (int64_t i = 0; i < band->pitch; i += LOAD) {
            uint64_t taken = is_inside ? places_before(end, i) & ~places_before(first, i) : 0;
            __m512i line = taken ? _mm512_mask_loadu_epi8(zero, taken, x + i) : zero;

            _mm512_store_si512(lines + i, _mm512_xor_si512(line, flip));
        }
    }
}

/* A row of outputs, and up to LANES - 1 beyond it; quads: of the filter, a constant where it can be. */
TARGET static inline __attribute__((always_inline)) void
sum_quads(int32_t *acc, const uint8_t *lines, const struct filter *filter, int64_t quads,
          int64_t count, int64_t stride)
{
    const __m512i order = _mm512_loadu_si512(filter->order);

    for (int64_t o = 0; o < count; o += LANES, lines += LANES * stride) {
        __m512i sums = _mm512_set1_epi32(filter->start);

        for (int64_t i = 0; i < quads; i++) {
            __m512i x = _mm512_loadu_si512(lines + filter->offsets[i]);

            sums = _mm512_dpbusd_epi32(sums, _mm512_permutexvar_epi8(order, x),
                                       _mm512_set1_epi32(filter->quads[i]));
        }
        _mm512_storeu_si512(acc + o, sums);
    }
}

TARGET static void sum_row(int32_t *acc, const uint8_t *lines, const struct filter *filter,
                           int64_t count, int64_t stride)
{
    if (filter->count == 3) /* 3x3 */
        sum_quads(acc, lines, filter, 3, count, stride);
    else
        sum_quads(acc, lines, filter, filter->count, count, stride);
}

static void sum_plane(const struct int8_depth *d, int64_t i, const struct band *band,
                      const struct filter *filter)
{
    const struct kernel_convolve *s = d->shape;
    const struct kernel_window *w = &s->window;
    int64_t f = i % s->filters, channel = f / (s->filters / s->groups);
    int64_t high = (w->kernel[1] - 1) * w->dilation[1] + 1;
    const uint8_t *plane = d->x + (i / s->filters * s->channels + channel) * w->in[1] * w->in[2];
    _Alignas(LOAD) int32_t acc[ACC + INT8_LINE + LANES];
    _Alignas(LOAD) uint8_t lines[LINES];

    for (int64_t first = 0; first < w->out[1]; first += band->rows) {
        int64_t count = w->out[1] - first < band->rows ? w->out[1] - first : band->rows;

        lay_band(lines, d, plane, band, first * w->stride[1] - w->pad_begin[1],
                 (count - 1) * w->stride[1] + high);
        for (int64_t r = 0; r < count; r++)
            sum_row(acc + r * w->out[2], lines + r * w->stride[1] * band->pitch, filter, w->out[2],
                    w->stride[2]);
        memset(acc + count * w->out[2], 0, INT8_LINE * sizeof(*acc));
        int8_finish_avx512(&d->product, f, (i * w->out[1] + first) * w->out[2], acc,
                           count * w->out[2]);
    }
}

void int8_depth_planes(const struct int8_depth *d, int64_t begin, int64_t end,
                       int8_depth_fn *others)
{
    struct filter filter;
    struct band band;

    if (!plan_band(&d->shape->window, &band)) {
        others(d, begin, end);
        return;
    }
    make_order(&filter, &d->shape->window);
    find_offsets(&filter, &d->shape->window, &band);
    for (; begin < end; begin++) {
        if (read_filter(&filter, d, begin % d->shape->filters))
            sum_plane(d, begin, &band, &filter);
        else
            others(d, begin, begin + 1);
    }
}

#endif
