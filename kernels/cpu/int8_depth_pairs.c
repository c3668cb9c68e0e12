/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers with filters of one channel each, by AVX2's products of 16-bit numbers. The
 * rows of a band lie in pairs, numbers of two rows side by side: one instruction adds up two taps, one below the
 * other, of eight outputs. Where a window begins with the second row of a pair, the tap before its first is 0. */
#include "kernels/cpu/int8_depth.h"

#include <string.h>

#if defined(__x86_64__)

#include "kernels/cpu/int8_eights.h"

enum {
    LINES = 6 * 1024, /* pairs of a band, which stay in the nearest cache */
    ACC = 2048,       /* outputs that are summed before they are stored */
    LANES = 8,        /* outputs of a vector */
    TAPS = 256,       /* of a filter */
    PAIRS = 2 * TAPS,
};

#define AVX2   __attribute__((target("avx2,fma")))
#define INLINE AVX2 static inline __attribute__((always_inline))

/* How rows lie in a band. */
struct band {
    int64_t phase; /* pairs of columns that leave the same rest */
    int64_t line;  /* pairs of two rows */
    int64_t rows;  /* outputs of which all rows fit */
};

/* The pairs of a filter for windows that begin with the first row of a pair, and with the second. */
struct filter {
    int64_t offsets[PAIRS];
    int32_t pairs[2][PAIRS];
    int count[2];
};

static bool plan_band(const struct kernel_window *w, struct band *out_band)
{
    int64_t reach = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
    int64_t lines;

    if (w->out[2] < 1 || w->out[2] > ACC || reach > LINES || w->stride[2] > LINES ||
        w->stride[1] > LINES || w->pad_begin[2] < 0 || w->kernel[1] > TAPS || w->kernel[2] > TAPS ||
        w->kernel[1] * w->kernel[2] > TAPS || (w->kernel[1] > 1 && w->dilation[1] != 1))
        return false;
    out_band->phase = (reach - 1) / w->stride[2] + 1 + LANES;
    out_band->line = out_band->phase * w->stride[2];
    lines = LINES / out_band->line;
    if (2 * lines < w->kernel[1])
        return false;
    out_band->rows = (2 * lines - w->kernel[1]) / w->stride[1] + 1;
    if (out_band->rows > ACC / w->out[2])
        out_band->rows = ACC / w->out[2];
    return true;
}

bool int8_depth_pairs_fits(const struct kernel_convolve *shape)
{
    struct band band;

    return plan_band(&shape->window, &band);
}

static int32_t pair_of(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)low & 0xffff) | (int32_t)((uint32_t)high << 16);
}

/* Where the pairs of an output's window lie. */
static void find_offsets(struct filter *out_filter, const struct kernel_window *w,
                         const struct band *band)
{
    int i = 0;

    for (int64_t line = 0; 2 * line <= w->kernel[1]; line++) {
        for (int64_t j = 0; j < w->kernel[2]; j++) {
            int64_t at = j * w->dilation[2];

            out_filter->offsets[i++] =
                line * band->line + at % w->stride[2] * band->phase + at / w->stride[2];
        }
    }
    for (int second = 0; second < 2; second++)
        out_filter->count[second] = (int)((w->kernel[1] + second + 1) / 2 * w->kernel[2]);
}

/* A tap without the zero point; 0 where the window has none. */
static int32_t tap_at(const struct int8_depth *d, int64_t f, int64_t row, int64_t column)
{
    const struct kernel_window *w = &d->shape->window;
    int64_t at = (f * w->kernel[1] + row) * w->kernel[2] + column;

    if (row < 0 || row >= w->kernel[1])
        return 0;
    return (d->shape->w_type == KERNEL_I8 ? (int8_t)d->w[at] : d->w[at]) - d->w_zero[f];
}

static void read_filter(struct filter *out_filter, const struct int8_depth *d, int64_t f)
{
    int64_t along = d->shape->window.kernel[2];

    for (int second = 0; second < 2; second++)
        for (int i = 0; i < out_filter->count[second]; i++) {
            int64_t row = i / along * 2 - second, column = i % along;

            out_filter->pairs[second][i] =
                pair_of(tap_at(d, f, row, column), tap_at(d, f, row + 1, column));
        }
}

/* Sixteen columns of two rows. */
INLINE void pair_sixteen(int32_t *out, const uint8_t *upper, const uint8_t *lower, __m256i zero,
                         bool is_signed)
{
    __m128i a = _mm_loadu_si128((const void *)upper), b = _mm_loadu_si128((const void *)lower);
    __m128i pairs[2] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};

    for (int i = 0; i < 2; i++) {
        __m256i wide = is_signed ? _mm256_cvtepi8_epi16(pairs[i]) : _mm256_cvtepu8_epi16(pairs[i]);

        _mm256_storeu_si256((void *)(out + (int64_t)i * LANES), _mm256_sub_epi16(wide, zero));
    }
}

/* Bytes 0, 2, ... of sixteen, as 16-bit numbers. */
INLINE __m128i evens_of(const uint8_t *x, bool is_signed)
{
    __m128i bytes = _mm_loadu_si128((const void *)x);

    if (is_signed)
        return _mm_srai_epi16(_mm_slli_epi16(bytes, 8), 8);
    return _mm_and_si128(bytes, _mm_set1_epi16(0xff));
}

/* Every second column of two rows, eight of them. */
INLINE void pair_evens(int32_t *out, const uint8_t *upper, const uint8_t *lower, __m128i zero,
                       bool is_signed)
{
    __m128i a = _mm_sub_epi16(evens_of(upper, is_signed), zero);
    __m128i b = _mm_sub_epi16(evens_of(lower, is_signed), zero);

    _mm_storeu_si128((void *)out, _mm_unpacklo_epi16(a, b));
    _mm_storeu_si128((void *)(out + 4), _mm_unpackhi_epi16(a, b));
}

/* The columns of two rows that leave `rest`, without the zero point; pads are 0. */
INLINE void lay_phase(int32_t *line, const uint8_t *const rows[2], const struct kernel_window *w,
                      int64_t rest, int64_t count, int32_t zero, bool is_signed)
{
    const __m256i zeros = _mm256_set1_epi16((int16_t)zero);
    int64_t stride = w->stride[2], skipped = w->pad_begin[2] - rest;
    int64_t first = skipped > 0 ? (skipped + stride - 1) / stride : 0, i;
    int64_t end = w->in[2] + skipped > 0 ? (w->in[2] + skipped - 1) / stride + 1 : 0;

    first = first < count ? first : count;
    end = end < count ? end : count;
    end = end > first ? end : first;
    for (i = 0; i < first; i++)
        line[i] = 0;
    for (; stride == 1 && i + 16 <= end; i += 16)
        pair_sixteen(line + i, rows[0] + i - skipped, rows[1] + i - skipped, zeros, is_signed);
    for (; stride == 2 && i + LANES <= end && 2 * i - skipped + 16 <= w->in[2]; i += LANES)
        pair_evens(line + i, rows[0] + 2 * i - skipped, rows[1] + 2 * i - skipped,
                   _mm256_castsi256_si128(zeros), is_signed);
    for (; i < end; i++) {
        uint8_t upper = rows[0][i * stride - skipped], lower = rows[1][i * stride - skipped];

        line[i] = is_signed ? pair_of((int8_t)upper - zero, (int8_t)lower - zero)
                            : pair_of(upper - zero, lower - zero);
    }
    for (; i < count; i++)
        line[i] = 0;
}

/* Rows of a plane from `at` on, in pairs; pads: a row of zero points. */
AVX2 static void lay_band(int32_t *lines, const struct int8_depth *d, const uint8_t *plane,
                          const struct band *band, int64_t at, int64_t rows, const uint8_t *pads)
{
    const struct kernel_window *w = &d->shape->window;

    for (int64_t row = at; row < at + rows; row += 2, lines += band->line) {
        const uint8_t *two[2];

        for (int i = 0; i < 2; i++)
            two[i] = row + i < 0 || row + i >= w->in[1] ? pads : plane + (row + i) * w->in[2];
        for (int64_t rest = 0; rest < w->stride[2]; rest++) {
            int32_t *line = lines + rest * band->phase;

            if (d->shape->x_type == KERNEL_I8)
                lay_phase(line, two, w, rest, band->phase, d->x_zero, true);
            else
                lay_phase(line, two, w, rest, band->phase, d->x_zero, false);
        }
    }
}

/* So many vectors of outputs, a constant wherever this is inlined. */
INLINE void sum_vectors(int32_t *acc, const int32_t *lines, const int64_t *offsets,
                        const int32_t *pairs, int count, int vectors)
{
    __m256i sums[4];

#define ZERO(v) sums[v] = _mm256_setzero_si256();
#define ADD(v)                                                                                     \
    sums[v] = _mm256_add_epi32(                                                                    \
        sums[v], _mm256_madd_epi16(_mm256_loadu_si256((const void *)(x + (v)*LANES)), pair));
#define STORE(v) _mm256_storeu_si256((void *)(acc + (v)*LANES), sums[v]);
    EACH_FOURTH(vectors, ZERO)
    for (int i = 0; i < count; i++) {
        const int32_t *x = lines + offsets[i];
        __m256i pair = _mm256_set1_epi32(pairs[i]);

        EACH_FOURTH(vectors, ADD)
    }
    EACH_FOURTH(vectors, STORE)
#undef ZERO
#undef ADD
#undef STORE
}

#define VECTORS(v)                                                                                 \
    case v:                                                                                        \
        sum_vectors(acc + o, lines + o, filter->offsets, pairs, taps, v);                          \
        break;

/* A row of outputs, and up to LANES - 1 beyond it; second: whether its window begins with the second row of a
 * pair. */
AVX2 static void sum_row(int32_t *acc, const int32_t *lines, const struct filter *filter,
                         int second, int64_t count)
{
    const int32_t *pairs = filter->pairs[second];
    int taps = filter->count[second];

    for (int64_t o = 0; o < count; o += 4 * LANES) {
        int64_t vectors = (count - o + LANES - 1) / LANES;

        switch (vectors < 4 ? vectors : 4) {
            VECTORS(1)
            VECTORS(2)
            VECTORS(3)
            VECTORS(4)
        }
    }
}

/* What all planes have in common. */
struct work {
    struct band band;
    struct filter filter;
    uint8_t pads[LINES + 2 * LANES]; /* vectors reach beyond it, too */
    int32_t lines[LINES];
    int32_t acc[ACC + INT8_LINE + LANES];
};

static void sum_plane(struct work *work, const struct int8_depth *d, int64_t i)
{
    const struct kernel_convolve *s = d->shape;
    const struct kernel_window *w = &s->window;
    const struct band *band = &work->band;
    int64_t f = i % s->filters, channel = f / (s->filters / s->groups);
    const uint8_t *plane = d->x + (i / s->filters * s->channels + channel) * w->in[1] * w->in[2];

    for (int64_t first = 0; first < w->out[1]; first += band->rows) {
        int64_t count = w->out[1] - first < band->rows ? w->out[1] - first : band->rows;

        lay_band(work->lines, d, plane, band, first * w->stride[1] - w->pad_begin[1],
                 (count - 1) * w->stride[1] + w->kernel[1], work->pads);
        for (int64_t r = 0; r < count; r++) {
            int64_t row = r * w->stride[1];

            sum_row(work->acc + r * w->out[2], work->lines + row / 2 * band->line, &work->filter,
                    row % 2, w->out[2]);
        }
        int8_finish_avx2(&d->product, f, (i * w->out[1] + first) * w->out[2], work->acc,
                         count * w->out[2]);
    }
}

void int8_depth_pairs(const struct int8_depth *d, int64_t begin, int64_t end)
{
    struct work work;

    plan_band(&d->shape->window, &work.band);
    find_offsets(&work.filter, &d->shape->window, &work.band);
    memset(work.pads, d->x_zero, sizeof(work.pads));
    memset(work.lines, 0, sizeof(work.lines)); /* vectors reach beyond the last row */
    memset(work.acc, 0, sizeof(work.acc));
    for (; begin < end; begin++) {
        read_filter(&work.filter, d, begin % d->shape->filters);
        sum_plane(&work, d, begin);
    }
}

#endif
