/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 3 x 3 convolutions of 8-bit integers by Winograd's algorithm, four outputs for sixteen products in
 * place of 36. Without an instruction that multiplies bytes exactly all products are of 16-bit numbers,
 * which is what transformed pixels and filters are. Filters are transformed twice as large in each
 * direction as usual, so that they stay integers: sums are four times what they should be, exactly.
 *
 * A block of tiles of 2 x 2 outputs is transformed into [16 tiles][point][two channels][tile][2], filters
 * are [six filters][point][two channels][filter][2].
 */
#include "kernels/cpu/int8_winograd.h"

#include <string.h>

#include "kernels/cpu/int8_pairs.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    SIDE = 4, /* pixels of a tile, and points */
    POINTS = SIDE * SIDE,
    ROWS = 6,     /* filters at once */
    TILES = 16,   /* at once */
    ACROSS = 128, /* tiles in a row */
    LINE = 2 * (ACROSS + 1),
    CHANNELS = 512,  /* of which four times a sum is within int32 */
    FEWEST = 32,     /* channels and filters of a group; below, transforming takes longest */
    NUMBERS = 8192,  /* channels times tiles: what of a block stays in a cache */
    GRAIN = 1 << 18, /* products that are worth a second thread */
};

struct sizes {
    int64_t channels, pairs, filters, parts; /* of a group; parts: six filters each */
    int64_t wide, high;                      /* y */
    int64_t across, down;                    /* tiles */
    int64_t rows, blocks, columns;           /* of a block: rows of tiles; tiles, filled up */
};

static struct sizes sizes_of(const struct kernel_convolve *s)
{
    struct sizes z = {.channels = s->channels / s->groups,
                      .filters = s->filters / s->groups,
                      .wide = s->window.out[2],
                      .high = s->window.out[1]};
    int64_t threads = kernel_threads(), rows;

    z.pairs = (z.channels + 1) / 2;
    z.parts = (z.filters + ROWS - 1) / ROWS;
    z.across = (z.wide + 1) / 2;
    z.down = (z.high + 1) / 2;
    rows = NUMBERS / z.channels < ACROSS ? NUMBERS / z.channels : ACROSS;
    rows = rows < z.across ? 1 : rows / z.across;
    z.blocks = (z.down + rows - 1) / rows;
    z.blocks = (z.blocks + threads - 1) / threads * threads;
    z.rows = (z.down + z.blocks - 1) / z.blocks;
    z.blocks = (z.down + z.rows - 1) / z.rows;
    z.columns = (z.rows * z.across + TILES - 1) / TILES * TILES;
    return z;
}

/* With VNNI four products take what one takes here. */
static bool has_no_more_than_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512bw");
#else
    return false;
#endif
}

bool int8_winograd_fits(const struct kernel_convolve *s)
{
    const struct kernel_window *w = &s->window;
    int64_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    struct sizes z;

    if (w->in[0] != 1 || w->out[0] != 1 || w->kernel[0] != 1 || w->pad_begin[0] != 0 ||
        w->out[1] < 1 || w->out[2] < 1 || w->out[2] > 2 * ACROSS || channels < FEWEST ||
        channels > CHANNELS || filters < FEWEST || !has_no_more_than_avx2())
        return false;
    for (int axis = 1; axis < KERNEL_SPATIAL; axis++)
        if (w->kernel[axis] != 3 || w->stride[axis] != 1 || w->dilation[axis] != 1)
            return false;
    z = sizes_of(s);
    /* Outputs that are computed and dropped, in tiles at the edge and in blocks. */
    return z.blocks * z.columns * 4 * 2 <= z.wide * z.high * 3;
}

/* Filters */

static int64_t part_numbers(const struct sizes *z)
{
    return POINTS * z->pairs * ROWS * 2;
}

size_t int8_winograd_packed(const struct kernel_convolve *s)
{
    struct sizes z = sizes_of(s);

    return (size_t)(s->groups * z.parts * part_numbers(&z)) * sizeof(int16_t);
}

static void transform_three(int16_t out[SIDE], int a, int b, int c)
{
    out[0] = (int16_t)(2 * a);
    out[1] = (int16_t)(a + b + c);
    out[2] = (int16_t)(a - b + c);
    out[3] = (int16_t)(2 * c);
}

/* One filter of one channel; out: of point 0, points `step` apart. */
static void pack_one(int16_t *out, int64_t step, const uint8_t *w, bool is_signed)
{
    int16_t number[9], half[3][SIDE], points[SIDE];

    for (int i = 0; i < 9; i++)
        number[i] = is_signed ? (int8_t)w[i] : w[i];
    for (int i = 0; i < 3; i++)
        transform_three(half[i], number[3 * i], number[3 * i + 1], number[3 * i + 2]);
    for (int j = 0; j < SIDE; j++) {
        transform_three(points, half[0][j], half[1][j], half[2][j]);
        for (int i = 0; i < SIDE; i++)
            out[(i * SIDE + j) * step] = points[i];
    }
}

void int8_winograd_pack(void *packed, const uint8_t *w, const struct kernel_convolve *s)
{
    struct sizes z = sizes_of(s);
    int16_t *out = packed;

    memset(packed, 0, int8_winograd_packed(s));
    for (int64_t group = 0; group < s->groups; group++, out += z.parts * part_numbers(&z))
        for (int64_t f = 0; f < z.filters; f++)
            for (int64_t c = 0; c < z.channels; c++, w += 9)
                pack_one(out + f / ROWS * part_numbers(&z) + (c / 2 * ROWS + f % ROWS) * 2 + c % 2,
                         z.pairs * ROWS * 2, w, s->w_type == KERNEL_I8);
}

/* Pixels */

/* Of each thread: transformed pixels, those of two channels before they are put there, sums. */
struct room {
    int16_t *pixels;
    uint32_t *two; /* [point][columns] */
    int32_t *sums; /* [filter][...], each with INT8_LINE more behind it */
};

static int64_t sums_of_filter(const struct sizes *z)
{
    return 2 * z->rows * z->wide + INT8_LINE;
}

static int64_t make_room(const struct sizes *z, uint8_t *workspace, struct room *out_room)
{
    uint8_t *at = workspace;

    out_room->pixels = (void *)at;
    out_room->two = (void *)(at += z->columns * POINTS * z->pairs * 2 * (int64_t)sizeof(int16_t));
    out_room->sums = (void *)(at += z->columns * POINTS * (int64_t)sizeof(uint32_t));
    return int8_round_up(at - workspace + ROWS * sums_of_filter(z) * (int64_t)sizeof(int32_t));
}

size_t int8_winograd_room(const struct kernel_convolve *s)
{
    static uint8_t nothing[64];
    struct sizes z = sizes_of(s);
    struct room room;

    return (size_t)(make_room(&z, nothing, &room) * (int64_t)kernel_threads());
}

struct image {
    const struct kernel_window *window;
    const uint8_t *x; /* of one group of an image */
    int16_t zero;
    bool is_signed;
};

/* A row of pixels less the zero point, 0 outside; `count` of them from place -pad on. */
ISA_BODY void take_row(int16_t *restrict out, const struct image *image, int64_t channel,
                       int64_t row, int64_t count)
{
    const struct kernel_window *w = image->window;
    int64_t first = w->pad_begin[2], end = first + w->in[2];
    const uint8_t *x = image->x;

    memset(out, 0, (size_t)count * sizeof(*out));
    if (row < 0 || row >= w->in[1])
        return;
    x += (channel * w->in[1] + row) * w->in[2] - (first < 0 ? first : 0);
    end = end < count ? end : count;
    first = first < 0 ? 0 : first;
    if (image->is_signed)
        for (int64_t i = first; i < end; i++)
            out[i] = (int16_t)((int8_t)x[i - first] - image->zero);
    else
        for (int64_t i = first; i < end; i++)
            out[i] = (int16_t)(x[i - first] - image->zero);
}

/* A row of tiles of one channel, the points of a tile's column after those of the column before. */
ISA_BODY void transform_row(int16_t out[restrict POINTS][ACROSS], const struct image *image,
                            int64_t channel, int64_t row, int64_t across)
{
    int16_t lines[SIDE][LINE], down[LINE], even[ACROSS + 1], odd[ACROSS + 1];
    int64_t count = 2 * (across + 1);

    for (int i = 0; i < SIDE; i++)
        take_row(lines[i], image, channel, row + i, count);
    for (int i = 0; i < SIDE; i++) {
        const int16_t *a = lines[i == 0   ? 0
                                 : i == 2 ? 2
                                          : 1],
                      *b = lines[i == 3   ? 3
                                 : i == 2 ? 1
                                          : 2];
        int16_t sign = i == 1 ? 1 : -1;

        for (int64_t j = 0; j < count; j++)
            down[j] = (int16_t)(a[j] + sign * b[j]);
        for (int64_t j = 0; j <= across; j++) {
            even[j] = down[2 * j];
            odd[j] = down[2 * j + 1];
        }
        for (int64_t j = 0; j < across; j++) {
            out[i * SIDE][j] = (int16_t)(even[j] - even[j + 1]);
            out[i * SIDE + 1][j] = (int16_t)(odd[j] + even[j + 1]);
            out[i * SIDE + 2][j] = (int16_t)(even[j + 1] - odd[j]);
            out[i * SIDE + 3][j] = (int16_t)(odd[j] - odd[j + 1]);
        }
    }
}

/* Rows of tiles [row, row_end) of two channels, side by side; y's row 0 sees x's row -pad. */
ISA_BODY void transform_two(const struct sizes *z, const struct image *image, int64_t pair,
                            int64_t row, int64_t row_end, uint32_t *two)
{
    int16_t points[2][POINTS][ACROSS];
    bool is_alone = 2 * pair + 1 == z->channels;

    if (is_alone)
        memset(points[1], 0, sizeof(points[1]));
    for (int64_t at = 0; row < row_end; row++, at += z->across) {
        int64_t from = 2 * row - image->window->pad_begin[1];

        transform_row(points[0], image, 2 * pair, from, z->across);
        if (!is_alone)
            transform_row(points[1], image, 2 * pair + 1, from, z->across);
        for (int p = 0; p < POINTS; p++)
            for (int64_t j = 0; j < z->across; j++)
                two[p * z->columns + at + j] =
                    (uint16_t)points[0][p][j] | (uint32_t)(uint16_t)points[1][p][j] << 16;
    }
}

/* Where a point of the tiles from `first` on begins. */
static int64_t pixels_at(const struct sizes *z, int64_t first, int64_t point)
{
    return (first / TILES * POINTS + point) * z->pairs * TILES * 2;
}

ISA_BODY void transform_block(const struct sizes *z, const struct image *image, int64_t row,
                              int64_t row_end, const struct room *room)
{
    memset(room->two, 0, (size_t)(POINTS * z->columns) * sizeof(*room->two));
    for (int64_t pair = 0; pair < z->pairs; pair++) {
        transform_two(z, image, pair, row, row_end, room->two);
        for (int64_t first = 0; first < z->columns; first += TILES)
            for (int64_t p = 0; p < POINTS; p++)
                memcpy(room->pixels + pixels_at(z, first, p) + pair * TILES * 2,
                       room->two + p * z->columns + first, TILES * sizeof(*room->two));
    }
}

/* Products */

/** Sums of six filters and sixteen tiles at one point. */
typedef void multiply_fn(int32_t sums[ROWS][TILES], const int16_t *filters, const int16_t *pixels,
                         int64_t pairs);

static multiply_fn multiply_portable;
static void multiply_portable(int32_t sums[ROWS][TILES], const int16_t *filters,
                              const int16_t *pixels, int64_t pairs)
{
    memset(sums, 0, ROWS * sizeof(*sums));
    for (; pairs > 0; pairs--, filters += ROWS * 2, pixels += TILES * 2)
        for (int r = 0; r < ROWS; r++)
            for (int t = 0; t < TILES; t++)
                sums[r][t] = (int32_t)((uint32_t)sums[r][t] +
                                       (uint32_t)(filters[2 * r] * pixels[2 * t] +
                                                  filters[2 * r + 1] * pixels[2 * t + 1]));
}

#if defined(__x86_64__)

/* Written out, as in int8_tile.c: what a compiler unrolls late stays an array in memory. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

ISA_TARGET_avx2 static void multiply_avx2(int32_t sums[ROWS][TILES], const int16_t *filters,
                                          const int16_t *pixels, int64_t pairs)
{
    __m256i low, high, acc[ROWS][2];

#define ZERO(r) acc[r][0] = acc[r][1] = _mm256_setzero_si256();
#define ADD(r)  ADD_PAIRS(acc[r][0], acc[r][1], *(const int16_t(*)[2])(filters + 2 * (r)), low, high)
#define STORE(r)                                                                                   \
    _mm256_storeu_si256((void *)sums[r], acc[r][0]);                                               \
    _mm256_storeu_si256((void *)(sums[r] + TILES / 2), acc[r][1]);
    EACH_ROW(ZERO)
    for (; pairs > 0; pairs--, filters += ROWS * 2, pixels += TILES * 2) {
        low = _mm256_loadu_si256((const void *)pixels);
        high = _mm256_loadu_si256((const void *)(pixels + TILES));
        EACH_ROW(ADD)
    }
    EACH_ROW(STORE)
#undef ZERO
#undef ADD
#undef STORE
}

/* There VNNI is what is chosen. */
#define multiply_avx512 multiply_avx2

#endif

/* Outputs */

/* Two rows of outputs of sixteen tiles. */
ISA_BODY void transform_back(int32_t top[restrict 2 * TILES], int32_t bottom[restrict 2 * TILES],
                             int32_t sums[restrict POINTS][ROWS][TILES], int filter)
{
    for (int t = 0; t < TILES; t++) {
        uint32_t up[SIDE], low[SIDE];

        for (int j = 0; j < SIDE; j++) {
            uint32_t a = (uint32_t)sums[j][filter][t], b = (uint32_t)sums[SIDE + j][filter][t];
            uint32_t c = (uint32_t)sums[2 * SIDE + j][filter][t];

            up[j] = a + b + c;
            low[j] = b - c - (uint32_t)sums[3 * SIDE + j][filter][t];
        }
        top[2 * t] = (int32_t)(up[0] + up[1] + up[2]) >> 2;
        top[2 * t + 1] = (int32_t)(up[1] - up[2] - up[3]) >> 2;
        bottom[2 * t] = (int32_t)(low[0] + low[1] + low[2]) >> 2;
        bottom[2 * t + 1] = (int32_t)(low[1] - low[2] - low[3]) >> 2;
    }
}

/* What of them is in the image, to where it belongs in a block; high: its rows. */
static void put(int32_t *out, const struct sizes *z, const int32_t *top, const int32_t *bottom,
                int64_t first, int64_t high)
{
    for (int64_t t = first; t < first + TILES && t / z->across * 2 < high;) {
        int64_t row = t / z->across * 2, column = t % z->across, from = 2 * (t - first);
        int64_t left = first + TILES - t, tiles = z->across - column;
        size_t bytes;

        tiles = tiles < left ? tiles : left;
        bytes = (size_t)(2 * tiles < z->wide - 2 * column ? 2 * tiles : z->wide - 2 * column);
        bytes *= sizeof(*out);
        memcpy(out + row * z->wide + 2 * column, top + from, bytes);
        if (row + 1 < high)
            memcpy(out + (row + 1) * z->wide + 2 * column, bottom + from, bytes);
        t += tiles;
    }
}

struct task {
    const struct int8_winograd_call *call;
    const struct kernel_convolve *shape;
    struct sizes sizes;
    int64_t slots;
};

/* Six filters of a block of `high` rows of y. */
ISA_BODY void multiply_part(const struct sizes *z, const int16_t *filters, const struct room *room,
                            int64_t high, multiply_fn *multiply)
{
    int32_t sums[POINTS][ROWS][TILES] __attribute__((aligned(64)));
    int32_t top[2 * TILES], bottom[2 * TILES];

    for (int64_t first = 0; first < z->columns; first += TILES) {
        for (int64_t p = 0; p < POINTS; p++)
            multiply(sums[p], filters + p * z->pairs * ROWS * 2,
                     room->pixels + pixels_at(z, first, p), z->pairs);
        for (int f = 0; f < ROWS; f++) {
            transform_back(top, bottom, sums, f);
            put(room->sums + f * sums_of_filter(z), z, top, bottom, first, high);
        }
    }
}

/* One block of one group of an image. */
ISA_BODY void do_block(const struct task *task, int64_t index, const struct room *room,
                       multiply_fn *multiply, int8_finish_fn *finish)
{
    const struct kernel_convolve *s = task->shape;
    const struct sizes *z = &task->sizes;
    int64_t group = index / z->blocks, row = index % z->blocks * z->rows;
    int64_t row_end = row + z->rows < z->down ? row + z->rows : z->down;
    int64_t high = (2 * row_end < z->high ? 2 * row_end : z->high) - 2 * row;
    int64_t first = group % s->groups * z->filters;
    const int16_t *filters =
        (const int16_t *)task->call->packed + group % s->groups * z->parts * part_numbers(z);
    struct image image = {&s->window,
                          task->call->x + group * z->channels * s->window.in[1] * s->window.in[2],
                          (int16_t)task->call->x_zero, s->x_type == KERNEL_I8};

    transform_block(z, &image, row, row_end, room);
    for (int64_t f = 0; f < z->filters; f += ROWS, filters += part_numbers(z)) {
        multiply_part(z, filters, room, high, multiply);
        for (int64_t r = 0; r < ROWS && f + r < z->filters; r++)
            finish(&task->call->product, first + f + r,
                   ((group * z->filters + f + r) * z->high + 2 * row) * z->wide,
                   room->sums + r * sums_of_filter(z), high * z->wide);
    }
}

ISA_BODY void do_slots(const struct task *task, int64_t begin, int64_t end, multiply_fn *multiply,
                       int8_finish_fn *finish)
{
    int64_t all = task->shape->batch * task->shape->groups * task->sizes.blocks;
    struct room room;
    int64_t bytes = make_room(&task->sizes, task->call->workspace, &room);

    for (; begin < end; begin++) {
        make_room(&task->sizes, (uint8_t *)task->call->workspace + begin * bytes, &room);
        for (int64_t i = all * begin / task->slots; i < all * (begin + 1) / task->slots; i++)
            do_block(task, i, &room, multiply, finish);
    }
}

static void run(const struct int8_winograd_call *call, const struct kernel_convolve *s,
                team_fn *part)
{
    struct task task = {call, s, sizes_of(s), kernel_threads()};
    int64_t products = s->batch * s->filters * task.sizes.high * task.sizes.wide;

    team_for(task.slots, GRAIN * task.slots / (products * task.sizes.channels * SIDE + 1) + 1, part,
             &task);
}

#define WINOGRAD(isa)                                                                              \
    ISA_TARGET_##isa static void do_slots_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        do_slots(argument, begin, end, multiply_##isa, int8_finish_##isa);                         \
    }                                                                                              \
                                                                                                   \
    void int8_winograd_##isa(const struct int8_winograd_call *call,                                \
                             const struct kernel_convolve *shape)                                  \
    {                                                                                              \
        run(call, shape, do_slots_##isa);                                                          \
    }

ISA_VERSIONS(WINOGRAD)
