/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 8-bit integers with filters of one channel each, whose images lie channels-last, by the instructions that
 * multiply four bytes at once (AVX512-VNNI) and put bytes into any order (AVX512-VBMI). Rows of the image are laid out so
 * that 64 bytes hold four neighbouring pixels of 16 channels, every second pixel anew: two outputs beside each other see the
 * same bytes, by weights that are moved by one. A row is laid out once, into the place of one that no output sees any more. */
#include "kernels/cpu/int8_last.h"

#include <string.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum {
    LANES = 16,      /* channels of a register of sums */
    BLOCK = 64,      /* channels that are done together */
    LINE = 64,       /* bytes of a register */
    PIXELS = 64,     /* of which sums are finished together */
    QUADS = 32,      /* of a filter */
    ROWS = 8,        /* and of its rows */
    GRAIN = 1 << 15, /* products that are worth a second thread */
    FEW = 4,         /* rows of outputs that are worth being laid out alone */
};

#define TARGET                                                                                     \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni")))

/* How a layer is cut up. */
struct plan {
    int64_t outputs;       /* of a pair of pixels: 2, or 1 where the stride is 2 */
    int64_t along;         /* registers that a row of the window takes */
    int64_t pairs;         /* of a row */
    int64_t line;          /* bytes of a row that is laid out */
    int64_t blocks, parts; /* of the channels, of the rows of an image */
    int64_t slots;
};

static int64_t lanes_of(const struct kernel_convolve *s)
{
    return (s->channels + LANES - 1) / LANES * LANES;
}

static struct plan plan_of(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;
    struct plan p = {.outputs = w->stride[2] == 1 ? 2 : 1, .slots = kernel_threads()};
    int64_t most = w->out[1] / FEW, images;

    p.along = (w->kernel[2] + p.outputs - 1 + INT8_QUAD - 1) / INT8_QUAD;
    p.pairs = (w->out[2] + p.outputs - 1) / p.outputs + 2 * (p.along - 1);
    p.line = p.pairs * BLOCK / LANES * LINE;
    p.blocks = (s->channels + BLOCK - 1) / BLOCK;
    images = s->batch * p.blocks;
    p.parts = images >= 2 * p.slots || images == 0 ? 1 : (2 * p.slots + images - 1) / images;
    p.parts = p.slots == 1 || most < 1 ? 1 : p.parts < most ? p.parts : most;
    return p;
}

bool int8_last_depth_fits(const struct kernel_convolve *shape)
{
    const struct kernel_window *w = &shape->window;
    struct plan p;

    if (shape->groups == 1 || shape->channels != shape->groups ||
        shape->filters != shape->channels || (w->stride[2] != 1 && w->stride[2] != 2) ||
        w->dilation[1] != 1 || w->dilation[2] != 1 || w->kernel[1] > ROWS || w->kernel[2] > ROWS ||
        w->stride[1] > ROWS || w->out[2] > INT32_MAX || !__builtin_cpu_supports("avx512vbmi") ||
        !__builtin_cpu_supports("avx512vnni"))
        return false;
    p = plan_of(shape);
    return w->kernel[1] * p.along * p.outputs <= QUADS;
}

/* Bytes of the weights of LANES channels, whose sums stand in front of all. */
static int64_t filter_bytes(const struct kernel_convolve *s)
{
    struct plan p = plan_of(s);

    return s->window.kernel[1] * p.along * p.outputs * LINE;
}

static int64_t sum_bytes(const struct kernel_convolve *s)
{
    return int8_round_up(lanes_of(s) * (int64_t)sizeof(int32_t));
}

size_t int8_last_depth_packed(const struct kernel_convolve *shape)
{
    return (size_t)(sum_bytes(shape) + lanes_of(shape) / LANES * filter_bytes(shape));
}

/* [channels / 16][row][register][output of a pair][channel][pixel] */
void int8_last_depth_pack(void *packed, const uint8_t *w, const struct kernel_convolve *shape)
{
    const int64_t high = shape->window.kernel[1], wide = shape->window.kernel[2];
    const uint8_t flip = shape->w_type == KERNEL_U8 ? 0x80 : 0;
    struct plan p = plan_of(shape);
    int32_t *sums = packed;
    int8_t *quads = (int8_t *)packed + sum_bytes(shape);

    memset(packed, 0, int8_last_depth_packed(shape));
    for (int64_t c = 0; c < shape->channels; c++)
        for (int64_t i = 0; i < high * wide; i++) {
            int8_t weight = (int8_t)(w[c * high * wide + i] ^ flip);

            sums[c] += weight;
            for (int64_t o = 0; o < p.outputs; o++) {
                int64_t pixel = i % wide + o;
                int64_t line = (i / wide * p.along + pixel / INT8_QUAD) * p.outputs + o;

                quads[c / LANES * filter_bytes(shape) + line * LINE + c % LANES * INT8_QUAD +
                      pixel % INT8_QUAD] = weight;
            }
        }
}

size_t int8_last_depth_room(const struct kernel_convolve *shape)
{
    struct plan p = plan_of(shape);

    return (size_t)(p.slots * shape->window.kernel[1] * p.line);
}

/* At work on some channels of an image. */
struct work {
    const struct int8_last *last;
    struct plan plan;
    const uint8_t *image;
    int64_t first, count; /* channels */
    uint8_t zero, flip;
    uint8_t *lines; /* of as many rows as the window has */
    /* Where filters have zero points other than what they are turned round by: those, by channel of the block,
     * and a filter of ones. */
    bool has_zeros;
    int32_t zeros[BLOCK] __attribute__((aligned(LINE)));
    uint8_t ones[QUADS * LINE] __attribute__((aligned(LINE)));
};

/* Four pixels of 16 channels, from the one at `at` on; count: of a row. */
TARGET static inline __m512i take_pixels(const uint8_t *row, int64_t at, int64_t count,
                                         int64_t channels, __mmask16 mask, __m128i zero)
{
    __m128i pixels[INT8_QUAD];

    for (int64_t i = 0; i < INT8_QUAD; i++)
        pixels[i] = at + i < 0 || at + i >= count
                        ? zero
                        : _mm_maskz_loadu_epi8(mask, row + (at + i) * channels);
    return _mm512_inserti32x4(
        _mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi128_si512(pixels[0]), pixels[1], 1),
                           pixels[2], 2),
        pixels[3], 3);
}

/* Where the bytes of four pixels go: those of a channel beside each other. */
static void make_order(uint8_t order[LINE])
{
    for (int i = 0; i < LINE; i++)
        order[i] = (uint8_t)(i % INT8_QUAD * LANES + i / INT8_QUAD);
}

/* A row of the image, which may lie outside. */
TARGET static void lay_row(const struct work *k, int64_t row)
{
    const struct kernel_convolve *s = k->last->shape;
    const struct kernel_window *w = &s->window;
    const __m512i flip = _mm512_set1_epi8((char)k->flip);
    const __m128i zero = _mm_set1_epi8((char)(k->zero ^ k->flip));
    const int64_t pad = w->pad_begin[2], wide = w->in[2], channels = s->channels;
    uint8_t bytes[LINE], *out = k->lines + (row + w->pad_begin[1]) % w->kernel[1] * k->plan.line;
    __m512i order;

    if (row < 0 || row >= w->in[1]) {
        memset(out, k->zero, (size_t)k->plan.line);
        return;
    }
    make_order(bytes);
    order = _mm512_loadu_si512(bytes);
    for (int64_t c = 0; c < k->count; c += LANES) {
        const uint8_t *from = k->image + row * wide * channels + k->first + c;
        __mmask16 mask = (__mmask16)(k->count - c < LANES ? (1u << (k->count - c)) - 1 : 0xffffu);

        for (int64_t j = 0; j < k->plan.pairs; j++, out += LINE) {
            __m512i pixels = take_pixels(from, 2 * j - pad, wide, channels, mask, zero);

            pixels = _mm512_permutexvar_epi8(order, pixels);
            _mm512_store_si512(out, _mm512_xor_si512(pixels, flip));
        }
    }
}

/* What an output of some channels is summed from. */
struct window {
    const uint8_t *rows[QUADS]; /* of each register of the window: where the first pair begins */
    const uint8_t *weights, *ones;
    int64_t quads;
    __m512i start, zeros, start_ones;
};

/* Pairs [begin, end) of 16 channels; outputs and quads: constants where they can be. */
TARGET static inline __attribute__((always_inline)) void sum_pairs(int32_t *sums,
                                                                   const struct window *w,
                                                                   int64_t begin, int64_t end,
                                                                   int outputs, int64_t quads)
{
    for (int64_t j = begin; j < end; j++, sums += outputs * BLOCK) {
        __m512i first = w->start, second = w->start;

        for (int64_t q = 0; q < quads; q++) {
            const uint8_t *weights = w->weights + q * outputs * LINE;
            __m512i x = _mm512_load_si512(w->rows[q] + j * LINE);

            first = _mm512_dpbusd_epi32(first, x, _mm512_load_si512(weights));
            if (outputs == 2)
                second = _mm512_dpbusd_epi32(second, x, _mm512_load_si512(weights + LINE));
        }
        _mm512_store_si512(sums, first);
        if (outputs == 2)
            _mm512_store_si512(sums + BLOCK, second);
    }
}

/* The same with zero points: what an output sees, by a filter of ones, so often as these say, is taken off. */
TARGET static void sum_pairs_zeros(int32_t *sums, const struct window *w, int64_t begin,
                                   int64_t end, int64_t outputs)
{
    for (int64_t j = begin; j < end; j++) {
        for (int64_t o = 0; o < outputs; o++, sums += BLOCK) {
            __m512i sum = w->start, all = w->start_ones;

            for (int64_t q = 0; q < w->quads; q++) {
                int64_t at = (q * outputs + o) * LINE;
                __m512i x = _mm512_load_si512(w->rows[q] + j * LINE);

                sum = _mm512_dpbusd_epi32(sum, x, _mm512_load_si512(w->weights + at));
                all = _mm512_dpbusd_epi32(all, x, _mm512_load_si512(w->ones + at));
            }
            _mm512_store_si512(sums, _mm512_sub_epi32(sum, _mm512_mullo_epi32(all, w->zeros)));
        }
    }
}

TARGET static void sum_some(int32_t *sums, const struct window *w, int64_t begin, int64_t end,
                            int64_t outputs)
{
    if (outputs == 2 && w->quads == 3) /* 3x3 */
        sum_pairs(sums, w, begin, end, 2, 3);
    else if (outputs == 1 && w->quads == 3)
        sum_pairs(sums, w, begin, end, 1, 3);
    else if (outputs == 2)
        sum_pairs(sums, w, begin, end, 2, w->quads);
    else
        sum_pairs(sums, w, begin, end, 1, w->quads);
}

/* Outputs [begin, end) of a row, begin the first of a pair, and one beyond it where a pair has one more. */
TARGET static void sum_row(const struct work *k, int64_t row, int64_t begin, int64_t end,
                           int32_t *sums)
{
    const struct kernel_convolve *s = k->last->shape;
    const struct plan *p = &k->plan;
    const int32_t *of_weights = k->last->packed;
    const uint8_t *filters = (const uint8_t *)k->last->packed + sum_bytes(s);
    int64_t high = s->window.kernel[1], taps = high * s->window.kernel[2];
    struct window w = {.quads = high * p->along, .ones = k->ones};

    for (int64_t c = 0; c < k->count; c += LANES) {
        int64_t channel = k->first + c;

        for (int64_t q = 0; q < w.quads; q++) {
            int64_t at = (row * s->window.stride[1] + q / p->along) % high;

            w.rows[q] =
                k->lines + at * p->line + c / LANES * p->pairs * LINE + q % p->along * 2 * LINE;
        }
        w.weights = filters + channel / LANES * w.quads * p->outputs * LINE;
        w.start = _mm512_mullo_epi32(_mm512_set1_epi32(-(int32_t)k->zero),
                                     _mm512_loadu_si512(of_weights + channel));
        w.zeros = _mm512_load_si512(k->zeros + c);
        w.start_ones = _mm512_set1_epi32(-(int32_t)(taps * k->zero));
        if (k->has_zeros)
            sum_pairs_zeros(sums + c, &w, begin / p->outputs, (end + p->outputs - 1) / p->outputs,
                            p->outputs);
        else
            sum_some(sums + c, &w, begin / p->outputs, (end + p->outputs - 1) / p->outputs,
                     p->outputs);
    }
}

/* Rows [row, row_end) of the outputs, of which the first of the image is `pixel` of all. */
static void do_rows(const struct work *k, int64_t pixel, int64_t row, int64_t row_end)
{
    const struct kernel_window *w = &k->last->shape->window;
    int64_t wide = w->out[2], each = wide < PIXELS ? PIXELS / wide : 1;
    int64_t laid = row * w->stride[1]; /* counted from the pads on */
    _Alignas(LINE) int32_t sums[(PIXELS + 1) * BLOCK];

    for (int64_t last; row < row_end; row = last) {
        last = row_end - row < each ? row_end : row + each;
        for (int64_t begin = 0, end; begin < wide; begin = end) {
            end = wide - begin < PIXELS ? wide : begin + PIXELS;
            for (int64_t r = row; r < last; r++) {
                if (laid < r * w->stride[1])
                    laid = r * w->stride[1];
                for (; laid < r * w->stride[1] + w->kernel[1]; laid++)
                    lay_row(k, laid - w->pad_begin[1]);
                sum_row(k, r, begin, end, sums + (r - row) * wide * BLOCK);
            }
            k->last->finish(&k->last->product, pixel + row * wide + begin,
                            pixel + (last - 1) * wide + end, k->first, k->first + k->count, sums);
        }
    }
}

/* The filters' zero points, as bytes that are turned round have them. */
static void take_zeros(struct work *k)
{
    int32_t moved = k->last->shape->w_type == KERNEL_U8 ? 128 : 0;

    k->has_zeros = false;
    memset(k->zeros, 0, sizeof(k->zeros));
    for (int64_t c = 0; c < k->count; c++) {
        k->zeros[c] = k->last->w_zero[k->first + c] - moved;
        k->has_zeros = k->has_zeros || k->zeros[c] != 0;
    }
}

/* A filter of ones as int8_last_depth_pack() lays it out. */
static void make_ones(uint8_t *ones, const struct kernel_window *w, const struct plan *p)
{
    memset(ones, 0, QUADS * LINE);
    for (int64_t i = 0; i < w->kernel[1] * w->kernel[2]; i++)
        for (int64_t o = 0; o < p->outputs; o++) {
            int64_t pixel = i % w->kernel[2] + o;
            int64_t line = (i / w->kernel[2] * p->along + pixel / INT8_QUAD) * p->outputs + o;

            for (int64_t c = 0; c < LANES; c++)
                ones[line * LINE + c * INT8_QUAD + pixel % INT8_QUAD] = 1;
        }
}

static void do_slots(void *argument, int64_t begin, int64_t end)
{
    const struct int8_last *l = argument;
    const struct kernel_convolve *s = l->shape;
    const struct kernel_window *w = &s->window;
    struct work k = {.last = l, .plan = plan_of(s)};
    int64_t all = s->batch * k.plan.blocks * k.plan.parts;

    k.flip = s->x_type == KERNEL_I8 ? 0x80 : 0;
    k.zero = (uint8_t)((uint8_t)l->x_zero ^ k.flip);
    make_ones(k.ones, w, &k.plan);
    for (; begin < end; begin++) {
        k.lines = (uint8_t *)l->workspace + begin * w->kernel[1] * k.plan.line;
        for (int64_t i = all * begin / k.plan.slots; i < all * (begin + 1) / k.plan.slots; i++) {
            int64_t image = i / k.plan.parts / k.plan.blocks, part = i % k.plan.parts;

            k.image = l->x + image * w->in[1] * w->in[2] * s->channels;
            k.first = i / k.plan.parts % k.plan.blocks * BLOCK;
            k.count = s->channels - k.first < BLOCK ? s->channels - k.first : BLOCK;
            take_zeros(&k);
            do_rows(&k, image * w->out[1] * w->out[2], w->out[1] * part / k.plan.parts,
                    w->out[1] * (part + 1) / k.plan.parts);
        }
    }
}

void int8_last_depth(const struct int8_last *l)
{
    const struct kernel_convolve *s = l->shape;
    const struct kernel_window *w = &s->window;
    int64_t products = s->batch * s->channels * w->out[1] * w->out[2] * w->kernel[1] * w->kernel[2];
    int64_t slots = kernel_threads();

    team_for(slots, GRAIN * slots / (products + 1) + 1, do_slots, (void *)l);
}

#endif
