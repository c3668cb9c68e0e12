/* SPDX-License-Identifier: Apache-2.0 */
/* Strided copies: axes that are one run of memory are joined; what is left is a copy of runs, runs
 * of one value, a transposition of two axes, or element by element. */
#include "kernels/cpu/copy_small.h"
#include "kernels/cpu/fill.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Bytes that are worth a second thread, and the side of a block that is transposed at once. */
enum { GRAIN_BYTES = 1 << 18, BLOCK = 16 };

/* Two planes as one of pairs, three as one of triples, or back. */
typedef void runs_fn(void *y, const void *x, int64_t stride, int64_t count);

enum { SIZES = 4 }; /* of elements: 1, 2, 4 and 8 bytes */

struct copy {
    char *y;
    const char *x;
    struct kernel_copy shape; /* joined; rank >= 1; the inner axes last */
    int inner_axes;           /* done at once for each of the outer ones: 1, or 2 to transpose */
    runs_fn *const *weave, *const *part; /* [SIZES] */
};

/* The first `count` axes, the largest strides first, which are those of one of the two. */
static void sort_by(struct kernel_copy *s, const int64_t *strides, int count)
{
    for (int i = 1; i < count; i++) {
        int64_t dim = s->dims[i], y_stride = s->y_stride[i], x_stride = s->x_stride[i];
        int64_t stride = llabs(strides[i]);
        int at = i;

        for (; at > 0 && llabs(strides[at - 1]) < stride; at--) {
            s->dims[at] = s->dims[at - 1];
            s->y_stride[at] = s->y_stride[at - 1];
            s->x_stride[at] = s->x_stride[at - 1];
        }
        s->dims[at] = dim;
        s->y_stride[at] = y_stride;
        s->x_stride[at] = x_stride;
    }
}

/* As y has them: what it has side by side is written so. */
static void sort_axes(struct kernel_copy *s)
{
    sort_by(s, s->y_stride, s->rank);
}

/* Long runs of much memory as x has them: a processor fetches ahead of what is read in order, and needs not wait for
 * what is written. */
static void read_in_order(struct kernel_copy *s)
{
    enum { LONG = 512, MUCH = 1 << 21 }; /* bytes */
    int last = s->rank - 1;
    int64_t bytes = (int64_t)s->element_bytes;

    for (int i = 0; i <= last; i++)
        bytes *= s->dims[i];
    if (s->y_stride[last] == 1 && s->x_stride[last] == 1 && bytes >= MUCH &&
        s->dims[last] * (int64_t)s->element_bytes >= LONG)
        sort_by(s, s->x_stride, last);
}

static void join_axes(const struct kernel_copy *shape, struct kernel_copy *out_copy)
{
    *out_copy = (struct kernel_copy){.element_bytes = shape->element_bytes};
    for (int i = 0; i < shape->rank; i++) {
        int last = out_copy->rank - 1;

        if (shape->dims[i] == 1)
            continue;
        if (out_copy->rank > 0 && out_copy->y_stride[last] == shape->y_stride[i] * shape->dims[i] &&
            out_copy->x_stride[last] == shape->x_stride[i] * shape->dims[i]) {
            out_copy->dims[last] *= shape->dims[i];
        } else {
            out_copy->dims[++last] = shape->dims[i];
            out_copy->rank++;
        }
        out_copy->y_stride[last] = shape->y_stride[i];
        out_copy->x_stride[last] = shape->x_stride[i];
    }
    if (out_copy->rank == 0) {
        out_copy->rank = out_copy->dims[0] = 1;
        out_copy->y_stride[0] = out_copy->x_stride[0] = 1;
    }
}

/* Short runs become elements of their own, of up to 8 bytes, where everything lies at multiples of
 * them. */
static void join_elements(struct copy *c)
{
    struct kernel_copy *s = &c->shape;
    int last = s->rank - 1;
    int64_t run = s->dims[last];
    size_t bytes;

    if (s->rank < 2 || s->y_stride[last] != 1 || s->x_stride[last] != 1 || run > 8)
        return;
    bytes = s->element_bytes * (size_t)run;
    if ((bytes != 2 && bytes != 4 && bytes != 8) || ((uintptr_t)c->x | (uintptr_t)c->y) % bytes)
        return;
    for (int i = 0; i < last; i++)
        if (s->y_stride[i] % run || s->x_stride[i] % run)
            return;
    for (int i = 0; i < last; i++) {
        s->y_stride[i] /= run;
        s->x_stride[i] /= run;
    }
    s->element_bytes = bytes;
    s->rank--;
}

/* Where y runs along the innermost axis and x along another: put that one beside it. */
static int find_transposition(struct kernel_copy *s)
{
    int last = s->rank - 1;

    if (s->rank < 2 || s->y_stride[last] != 1 || s->x_stride[last] == 1 || s->x_stride[last] == 0)
        return 1;
    for (int i = 0; i < last; i++) {
        int64_t dim = s->dims[i], y_stride = s->y_stride[i];

        if (s->x_stride[i] != 1)
            continue;
        for (int j = i; j < last - 1; j++) {
            s->dims[j] = s->dims[j + 1];
            s->y_stride[j] = s->y_stride[j + 1];
            s->x_stride[j] = s->x_stride[j + 1];
        }
        s->dims[last - 1] = dim;
        s->y_stride[last - 1] = y_stride;
        s->x_stride[last - 1] = 1;
        return 2;
    }
    return 1;
}

/* y[row * y_stride + column] = x[row + column * x_stride], 4 by 4. */
static inline void transpose_4x4(float *y, int64_t y_stride, const float *x, int64_t x_stride)
{
#if defined(__SSE2__)
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + x_stride);
    __m128 c = _mm_loadu_ps(x + 2 * x_stride), d = _mm_loadu_ps(x + 3 * x_stride);

    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(y, a);
    _mm_storeu_ps(y + y_stride, b);
    _mm_storeu_ps(y + 2 * y_stride, c);
    _mm_storeu_ps(y + 3 * y_stride, d);
#else
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++)
            y[row * y_stride + column] = x[row + column * x_stride];
#endif
}

/* Of elements of eight bytes, 2 by 2. */
static inline void transpose_2x2(double *y, int64_t y_stride, const double *x, int64_t x_stride)
{
#if defined(__SSE2__)
    __m128d a = _mm_loadu_pd(x), b = _mm_loadu_pd(x + x_stride);

    _mm_storeu_pd(y, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(y + y_stride, _mm_unpackhi_pd(a, b));
#else
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++)
            y[row * y_stride + column] = x[row + column * x_stride];
#endif
}

/* Of elements of two bytes, 8 by 8. */
static inline void transpose_8x8(uint16_t *y, int64_t y_stride, const uint16_t *x, int64_t x_stride)
{
#if defined(__SSE2__)
    __m128i a[8], b[8];

    for (int i = 0; i < 8; i++)
        a[i] = _mm_loadu_si128((const void *)(x + i * x_stride));
    for (int i = 0; i < 4; i++) { /* rows 0 to 3, then 4 to 7, of two columns */
        b[i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
        b[i + 4] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 2) { /* two rows of four columns */
        a[i] = _mm_unpacklo_epi32(b[i], b[i + 1]);
        a[i + 1] = _mm_unpackhi_epi32(b[i], b[i + 1]);
    }
    for (int i = 0; i < 4; i++) {
        int at = i / 2 * 4 + i % 2;
        uint16_t *out = y + 2 * i * y_stride;

        _mm_storeu_si128((void *)out, _mm_unpacklo_epi64(a[at], a[at + 2]));
        _mm_storeu_si128((void *)(out + y_stride), _mm_unpackhi_epi64(a[at], a[at + 2]));
    }
#else
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++)
            y[row * y_stride + column] = x[row + column * x_stride];
#endif
}

/* Of bytes, 16 by 16. */
static inline void transpose_16x16(uint8_t *y, int64_t y_stride, const uint8_t *x, int64_t x_stride)
{
#if defined(__SSE2__)
    __m128i a[16], b[16];

    for (int i = 0; i < 16; i++)
        a[i] = _mm_loadu_si128((const void *)(x + i * x_stride));
    /* Register and byte are numbers of four bits: each step moves all eight by one to the left. */
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 8; i++) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
        for (int i = 0; i < 8; i++) {
            a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + 8]);
            a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + 8]);
        }
    }
    for (int i = 0; i < 16; i++)
        _mm_storeu_si128((void *)(y + i * y_stride), a[i]);
#else
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 16; column++)
            y[row * y_stride + column] = x[row + column * x_stride];
#endif
}

/* name(): at most BLOCK rows; squares of `side`, what is left one by one. */
#define TRANSPOSE_ROWS(name, type, side, square)                                                   \
    static void name(type *y, int64_t y_stride, const type *x, int64_t x_stride, int64_t rows,     \
                     int64_t columns)                                                              \
    {                                                                                              \
        int64_t whole_rows = rows / (side) * (side), whole = columns / (side) * (side);            \
                                                                                                   \
        for (int64_t c = 0; c < whole; c += (side)) {                                              \
            for (int64_t r = 0; r < whole_rows; r += (side))                                       \
                square(y + r * y_stride + c, y_stride, x + r + c * x_stride, x_stride);            \
            for (int64_t r = whole_rows; r < rows; r++)                                            \
                for (int64_t i = c; i < c + (side); i++)                                           \
                    y[r * y_stride + i] = x[r + i * x_stride];                                     \
        }                                                                                          \
        for (int64_t c = whole; c < columns; c++)                                                  \
            for (int64_t r = 0; r < rows; r++)                                                     \
                y[r * y_stride + c] = x[r + c * x_stride];                                         \
    }

TRANSPOSE_ROWS(transpose_rows_1, uint8_t, 16, transpose_16x16)
TRANSPOSE_ROWS(transpose_rows_2, uint16_t, 8, transpose_8x8)
TRANSPOSE_ROWS(transpose_rows_4, float, 4, transpose_4x4)
TRANSPOSE_ROWS(transpose_rows_8, double, 2, transpose_2x2)

/* Two registers of pairs as the first and the second of each, and back. */
#if defined(__SSE2__)
#define EVEN_1(a, b)                                                                               \
    _mm_packus_epi16(_mm_and_si128(a, _mm_set1_epi16(255)), _mm_and_si128(b, _mm_set1_epi16(255)))
#define ODD_1(a, b) _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8))
#define EVEN_2(a, b)                                                                               \
    _mm_packs_epi32(_mm_srai_epi32(_mm_slli_epi32(a, 16), 16),                                     \
                    _mm_srai_epi32(_mm_slli_epi32(b, 16), 16))
#define ODD_2(a, b) _mm_packs_epi32(_mm_srai_epi32(a, 16), _mm_srai_epi32(b, 16))
#define PICK_4(a, b, from)                                                                         \
    _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b),                      \
                                    _MM_SHUFFLE(2 + (from), from, 2 + (from), from)))
#define EVEN_4(a, b) PICK_4(a, b, 0)
#define ODD_4(a, b)  PICK_4(a, b, 1)
#define EVEN_8(a, b) _mm_unpacklo_epi64(a, b)
#define ODD_8(a, b)  _mm_unpackhi_epi64(a, b)

/* The last register begins early rather than end late. */
#define INTERLEAVE_WIDE(bytes, low, high)                                                          \
    for (; count >= LANES && i < count; i += LANES) {                                              \
        int64_t at = i + LANES <= count ? i : count - LANES;                                       \
        __m128i even = _mm_loadu_si128((const void *)(x + at));                                    \
        __m128i odd = _mm_loadu_si128((const void *)(x + x_stride + at));                          \
                                                                                                   \
        _mm_storeu_si128((void *)(y + 2 * at), low(even, odd));                                    \
        _mm_storeu_si128((void *)(y + 2 * at + LANES), high(even, odd));                           \
    }
#define PART_WIDE(bytes)                                                                           \
    for (; count >= LANES && i < count; i += LANES) {                                              \
        int64_t at = i + LANES <= count ? i : count - LANES;                                       \
        __m128i a = _mm_loadu_si128((const void *)(x + 2 * at));                                   \
        __m128i b = _mm_loadu_si128((const void *)(x + 2 * at + LANES));                           \
                                                                                                   \
        _mm_storeu_si128((void *)(y + at), EVEN_##bytes(a, b));                                    \
        _mm_storeu_si128((void *)(y + y_stride + at), ODD_##bytes(a, b));                          \
    }
#else
#define INTERLEAVE_WIDE(bytes, low, high)
#define PART_WIDE(bytes)
#endif

/* interleave_BYTES(): y[2 * i] = x[i], y[2 * i + 1] = x[x_stride + i]; part_BYTES(): back, y_stride apart. */
#define PAIRS(bytes, type, low, high)                                                              \
    static void interleave_##bytes(void *out, const void *in, int64_t x_stride, int64_t count)     \
    {                                                                                              \
        enum { LANES = 16 / (bytes) };                                                             \
        type *y = out;                                                                             \
        const type *x = in;                                                                        \
        int64_t i = 0;                                                                             \
                                                                                                   \
        INTERLEAVE_WIDE(bytes, low, high)                                                          \
        for (; i < count; i++) {                                                                   \
            y[2 * i] = x[i];                                                                       \
            y[2 * i + 1] = x[x_stride + i];                                                        \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void part_##bytes(void *out, const void *in, int64_t y_stride, int64_t count)           \
    {                                                                                              \
        enum { LANES = 16 / (bytes) };                                                             \
        type *y = out;                                                                             \
        const type *x = in;                                                                        \
        int64_t i = 0;                                                                             \
                                                                                                   \
        PART_WIDE(bytes)                                                                           \
        for (; i < count; i++) {                                                                   \
            y[i] = x[2 * i];                                                                       \
            y[y_stride + i] = x[2 * i + 1];                                                        \
        }                                                                                          \
    }

PAIRS(1, uint8_t, _mm_unpacklo_epi8, _mm_unpackhi_epi8)
PAIRS(2, uint16_t, _mm_unpacklo_epi16, _mm_unpackhi_epi16)
PAIRS(4, uint32_t, _mm_unpacklo_epi32, _mm_unpackhi_epi32)
PAIRS(8, uint64_t, _mm_unpacklo_epi64, _mm_unpackhi_epi64)

#define TRANSPOSE(bytes, type)                                                                     \
    transpose_rows_##bytes((type *)(void *)y + r * y_stride, y_stride,                             \
                           (const type *)(const void *)x + r, x_stride, rows, s->dims[column])

static void transpose(char *y, const char *x, const struct copy *c)
{
    static runs_fn *const interleaves[SIZES] = {interleave_1, interleave_2, interleave_4,
                                                interleave_8};
    static runs_fn *const parts[SIZES] = {part_1, part_2, part_4, part_8};
    const struct kernel_copy *s = &c->shape;
    int column = s->rank - 1, row = s->rank - 2;
    int size = s->element_bytes == 8 ? 3 : (int)s->element_bytes / 2;
    int64_t y_stride = s->y_stride[row], x_stride = s->x_stride[column];

    if (s->dims[column] == 2 && y_stride == 2) {
        interleaves[size](y, x, x_stride, s->dims[row]);
        return;
    }
    if (s->dims[row] == 2 && x_stride == 2) {
        parts[size](y, x, y_stride, s->dims[column]);
        return;
    }
    if (s->dims[column] == 3 && y_stride == 3) {
        c->weave[size](y, x, x_stride, s->dims[row]);
        return;
    }
    if (s->dims[row] == 3 && x_stride == 3) {
        c->part[size](y, x, y_stride, s->dims[column]);
        return;
    }
    for (int64_t at = 0; at < s->dims[row]; at += BLOCK) {
        int64_t left = s->dims[row] - at, r = at, rows = left < BLOCK ? left : BLOCK;

        if (rows < BLOCK && at > 0) { /* again what the one before wrote: a whole block is faster */
            r = s->dims[row] - BLOCK;
            rows = BLOCK;
        }
        if (s->element_bytes == 1)
            TRANSPOSE(1, uint8_t);
        else if (s->element_bytes == 2)
            TRANSPOSE(2, uint16_t);
        else if (s->element_bytes == 4)
            TRANSPOSE(4, float);
        else
            TRANSPOSE(8, double);
    }
}

#define STRIDED(type)                                                                              \
    do {                                                                                           \
        type *py = (type *)(void *)y;                                                              \
        const type *px = (const type *)(const void *)x;                                            \
                                                                                                   \
        for (int64_t i = 0; i < s->dims[last]; i++)                                                \
            py[i * s->y_stride[last]] = px[i * s->x_stride[last]];                                 \
    } while (0)

static void copy_run(char *y, const char *x, const struct kernel_copy *s)
{
    int last = s->rank - 1;

    if (s->y_stride[last] == 1 && s->x_stride[last] == 1) {
        memcpy(y, x, (size_t)s->dims[last] * s->element_bytes);
        return;
    }
    if (s->y_stride[last] == 1 && s->x_stride[last] == 0) {
        fill_run(y, x, s->element_bytes, (size_t)s->dims[last] * s->element_bytes);
        return;
    }
    switch (s->element_bytes) {
    case 1:
        STRIDED(uint8_t);
        break;
    case 2:
        STRIDED(uint16_t);
        break;
    case 4:
        STRIDED(uint32_t);
        break;
    default:
        STRIDED(uint64_t);
        break;
    }
}

/* The outer axes, counted as one: where element i of them is, and then the next ones. */
struct place {
    int64_t y, x;
    int64_t index[KERNEL_MAX_RANK];
};

static void find_place(const struct kernel_copy *s, int axes, int64_t i, struct place *place)
{
    place->y = place->x = 0;
    for (int axis = axes - 1; axis >= 0; axis--) {
        place->index[axis] = i % s->dims[axis];
        i /= s->dims[axis];
        place->y += place->index[axis] * s->y_stride[axis];
        place->x += place->index[axis] * s->x_stride[axis];
    }
}

static void next_place(const struct kernel_copy *s, int axes, struct place *place)
{
    for (int axis = axes - 1; axis >= 0; axis--) {
        place->y += s->y_stride[axis];
        place->x += s->x_stride[axis];
        if (++place->index[axis] < s->dims[axis])
            return;
        place->y -= place->index[axis] * s->y_stride[axis];
        place->x -= place->index[axis] * s->x_stride[axis];
        place->index[axis] = 0;
    }
}

/* Runs that are steps apart; one again and again is doubled. */
static void copy_rows(char *y, int64_t y_step, const char *x, int64_t x_step, int64_t rows,
                      size_t bytes)
{
    enum { SMALL = 512, DOUBLED = 1 << 14 };

    if (x_step == 0 && y_step == (int64_t)bytes && bytes < SMALL) {
        size_t all = bytes * (size_t)rows, have = bytes, next;

        memcpy(y, x, bytes);
        for (; have < all; have += next) {
            next = have < DOUBLED ? have : DOUBLED / bytes * bytes;
            next = next < all - have ? next : all - have;
            memcpy(y + have, y, next);
        }
    } else if (bytes < SMALL) {
        for (int64_t row = 0; row < rows; row++)
            copy_small(y + row * y_step, x + row * x_step, bytes);
    } else {
        for (int64_t row = 0; row < rows; row++)
            memcpy(y + row * y_step, x + row * x_step, bytes);
    }
}

/* As many runs from place `at` on as lie on the last of the outer axes, `left` at most; tells how many, and goes to the
 * last of them. */
static int64_t copy_line(const struct copy *c, int axes, int64_t left, struct place *at)
{
    const struct kernel_copy *s = &c->shape;
    int64_t bytes = (int64_t)s->element_bytes, here = s->dims[axes - 1] - at->index[axes - 1];
    int64_t rows = here < left ? here : left;
    int64_t y_step = s->y_stride[axes - 1], x_step = s->x_stride[axes - 1];

    copy_rows(c->y + at->y * bytes, y_step * bytes, c->x + at->x * bytes, x_step * bytes, rows,
              (size_t)(s->dims[axes] * bytes));
    at->index[axes - 1] += rows - 1;
    at->y += (rows - 1) * y_step;
    at->x += (rows - 1) * x_step;
    return rows;
}

static void copy_part(void *argument, int64_t begin, int64_t end)
{
    const struct copy *c = argument;
    const struct kernel_copy *s = &c->shape;
    int64_t bytes = (int64_t)s->element_bytes;
    int axes = s->rank - c->inner_axes;
    bool are_runs =
        c->inner_axes == 1 && axes > 0 && s->y_stride[axes] == 1 && s->x_stride[axes] == 1;
    struct place at;

    find_place(s, axes, begin, &at);
    for (int64_t i = begin; i < end; i++, next_place(s, axes, &at)) {
        if (are_runs)
            i += copy_line(c, axes, end - i, &at) - 1;
        else if (c->inner_axes == 2)
            transpose(c->y + at.y * bytes, c->x + at.x * bytes, c);
        else
            copy_run(c->y + at.y * bytes, c->x + at.x * bytes, s);
    }
}

/* What lies behind each other again and again: all but the first of them. */
struct again {
    char *y;
    size_t bytes;
};

static void copy_again(void *argument, int64_t begin, int64_t end)
{
    const struct again *a = argument;

    for (int64_t i = begin + 1; i <= end; i++)
        memcpy(a->y + (size_t)i * a->bytes, a->y, a->bytes);
}

/* Bytes that the outermost axis repeats, many runs of them, which stay in a cache; 0 where it does not. */
static int64_t repeated_bytes(const struct kernel_copy *s)
{
    enum { MOST = 1 << 15 };
    int64_t inner = 1;

    for (int i = s->rank - 1; i > 0; i--) {
        if (s->y_stride[i] != inner)
            return 0;
        inner *= s->dims[i];
    }
    if (s->rank < 3 || s->dims[0] == 1 || s->x_stride[0] != 0 || s->y_stride[0] != inner)
        return 0;
    return inner * (int64_t)s->element_bytes <= MOST ? inner * (int64_t)s->element_bytes : 0;
}

static void copy_by(void *y, const void *x, const struct kernel_copy *shape, runs_fn *const *weave,
                    runs_fn *const *part_of)
{
    struct kernel_copy sorted = *shape;
    struct copy c = {.y = y, .x = x, .weave = weave, .part = part_of};
    int64_t outer = 1, inner, times = 1, block;

    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0)
            return;
    sort_axes(&sorted);
    join_axes(&sorted, &c.shape);
    join_elements(&c);
    block = repeated_bytes(&c.shape);
    if (block > 0) {
        times = c.shape.dims[0];
        c.shape.dims[0] = 1;
    }
    inner = (int64_t)c.shape.element_bytes;
    c.inner_axes = find_transposition(&c.shape);
    if (c.inner_axes == 1)
        read_in_order(&c.shape);
    for (int i = 0; i < c.shape.rank; i++) {
        if (i < c.shape.rank - c.inner_axes)
            outer *= c.shape.dims[i];
        else
            inner *= c.shape.dims[i];
    }
    team_for(outer, GRAIN_BYTES / inner + 1, copy_part, &c);
    if (block > 0)
        team_for(times - 1, GRAIN_BYTES / block + 1, copy_again, &(struct again){y, (size_t)block});
}

#define WEAVE(bytes, type, isa)                                                                    \
    ISA_TARGET_##isa static void weave_##bytes##_##isa(void *out, const void *in, int64_t stride,  \
                                                       int64_t count)                              \
    {                                                                                              \
        type *restrict y = out;                                                                    \
        const type *restrict x = in;                                                               \
                                                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                      \
            y[3 * i] = x[i];                                                                       \
            y[3 * i + 1] = x[stride + i];                                                          \
            y[3 * i + 2] = x[2 * stride + i];                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void part_##bytes##_##isa(void *out, const void *in, int64_t stride,   \
                                                      int64_t count)                               \
    {                                                                                              \
        type *restrict y = out;                                                                    \
        const type *restrict x = in;                                                               \
                                                                                                   \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++)                                    \
        {                                                                                          \
            y[i] = x[3 * i];                                                                       \
            y[stride + i] = x[3 * i + 1];                                                          \
            y[2 * stride + i] = x[3 * i + 2];                                                      \
        }                                                                                          \
    }

#define COPY(isa)                                                                                  \
    WEAVE(1, uint8_t, isa)                                                                         \
    WEAVE(2, uint16_t, isa)                                                                        \
    WEAVE(4, uint32_t, isa)                                                                        \
    WEAVE(8, uint64_t, isa)                                                                        \
                                                                                                   \
    void copy_##isa(void *y, const void *x, const struct kernel_copy *shape)                       \
    {                                                                                              \
        static runs_fn *const weave[SIZES] = {weave_1_##isa, weave_2_##isa, weave_4_##isa,         \
                                              weave_8_##isa};                                      \
        static runs_fn *const part_of[SIZES] = {part_1_##isa, part_2_##isa, part_4_##isa,          \
                                                part_8_##isa};                                     \
                                                                                                   \
        copy_by(y, x, shape, weave, part_of);                                                      \
    }

ISA_VERSIONS(COPY)
