/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights in panels: some rows of a times some panels are an item, which is summed over a depth
 * whose part of a panel stays in the nearest cache. Weights of half precision are widened by such parts. */
#include "kernels/cpu/gemm_panels.h"

#include <string.h>

#include "kernels/cpu/gemm_tile.h"
#include "kernels/cpu/isa.h"

enum {
    DEPTH = 256,     /* rows of a panel at a time: 16 KiB of two registers of AVX2, 32 of AVX-512 */
    ROWS = 144,      /* of an item at most: 144 KiB of a at a time */
    GROUP = 4,       /* panels of an item */
    GRAIN = 1 << 17, /* products that are worth a second thread */
    WIDTH_MAX = 32,
    LINE = 64,      /* bytes of the cache's */
    STEPS = 4,      /* rows of b that are worked on between two steps of pointers */
    BLOCK = 16,     /* rows of b that are turned at a time: a line of the cache */
    LONG = 1 << 12, /* rows of b that are not padded to more than twice as many columns */
};

struct task {
    const struct gemm_panels *panels;
    float *y;
    const float *a, *bias;
    const char *weights;
    int64_t rows, groups; /* rows of an item, and how many items have the same */
};

/* Some rows of a, from one depth on, times a part of a panel. */
struct tile {
    const float *a, *b, *start; /* start: what is added to */
    int64_t a_line, start_line, y_line, depth;
    const char *next; /* what is to be fetched meanwhile: of each row of b so many bytes further */
    int64_t next_step;
};

/* An item at one depth. */
struct part {
    const struct task *task;
    int64_t row, rows, k, depth;
    int64_t first, last; /* panels */
};

static int64_t round_up(int64_t count, int64_t of)
{
    return (count + of - 1) / of * of;
}

static int64_t panel_count(const struct gemm_panels *p)
{
    return (p->n + p->width - 1) / p->width;
}

size_t gemm_panels_weights_bytes(const struct gemm_panels *p)
{
    size_t count = (size_t)(panel_count(p) * p->width * p->k);

    return (size_t)round_up((int64_t)(count * kernel_dtype_bytes(p->dtype)), 64);
}

size_t gemm_panels_bias_bytes(const struct gemm_panels *p)
{
    return (size_t)round_up(panel_count(p) * p->width * (int64_t)sizeof(float), 64);
}

void gemm_panels_pack_bias(const struct gemm_panels *p, float *to, const float *bias)
{
    memset(to, 0, gemm_panels_bias_bytes(p));
    if (bias)
        memcpy(to, bias, (size_t)p->n * sizeof(*to));
}

/* Columns [first, first + count) of b, zeros behind them; b is [n, k]: by blocks, so that what is read and
 * what is written stays in the cache. */
#define TURN(type)                                                                                 \
    static void turn_##type(type *restrict to, const type *restrict b, int64_t k, int64_t count,   \
                            int64_t width)                                                         \
    {                                                                                              \
        for (int64_t at = 0; at < k; at += BLOCK) {                                                \
            int64_t end = at + BLOCK < k ? at + BLOCK : k;                                         \
                                                                                                   \
            for (int64_t j = 0; j < count; j++)                                                    \
                for (int64_t i = at; i < end; i++)                                                 \
                    to[i * width + j] = b[j * k + i];                                              \
        }                                                                                          \
    }
TURN(uint16_t)
TURN(uint32_t)

void gemm_panels_pack(const struct gemm_panels *p, void *weights, const void *b, bool trans_b)
{
    size_t bytes = kernel_dtype_bytes(p->dtype), line = (size_t)p->width * bytes;
    const char *from = b;
    char *to = weights;

    for (int64_t first = 0; first < p->n; first += p->width, to += (size_t)p->k * line) {
        int64_t count = p->n - first < p->width ? p->n - first : p->width;

        if (count < p->width)
            memset(to, 0, (size_t)p->k * line);
        if (trans_b && bytes == 2)
            turn_uint16_t((uint16_t *)(void *)to, (const uint16_t *)b + first * p->k, p->k, count,
                          p->width);
        else if (trans_b)
            turn_uint32_t((uint32_t *)(void *)to, (const uint32_t *)b + first * p->k, p->k, count,
                          p->width);
        else
            for (int64_t i = 0; i < p->k; i++)
                memcpy(to + (size_t)i * line, from + (size_t)(i * p->n + first) * bytes,
                       (size_t)count * bytes);
    }
}

static const char *place(const struct task *task, int64_t panel, int64_t k)
{
    const struct gemm_panels *p = task->panels;

    return task->weights + (size_t)((panel * p->k + k) * p->width) * kernel_dtype_bytes(p->dtype);
}

/* Where the weights are that come after this depth of a panel: the processor does not guess it. */
static const char *next_place(const struct part *part, int64_t panel)
{
    int64_t k = part->k + part->depth;

    if (panel + 1 < part->last)
        return place(part->task, panel + 1, part->k);
    if (k < part->task->panels->k)
        return place(part->task, part->first, k);
    return place(part->task, part->last < panel_count(part->task->panels) ? part->last : 0, 0);
}

/* This depth of a panel as f32. */
static const float *widened(const struct part *part, int64_t panel, float *wide)
{
    const struct gemm_panels *p = part->task->panels;
    const char *from = place(part->task, panel, part->k);

    if (p->dtype == KERNEL_F32)
        return (const float *)(const void *)from;
    p->cast(wide, KERNEL_F32, from, p->dtype, (size_t)(part->depth * p->width));
    return wide;
}

/* Seven and eight rows that are left are two tiles of like height: one of one or two rows takes as long. */
static inline int height_of(int64_t left)
{
    return left == 7 || left == 8 ? 4 : left < TILE_ROWS ? (int)left : TILE_ROWS;
}

#define START(r)                                                                                   \
    sums[r][0] = *(const vector *)(t->start + (r)*t->start_line);                                  \
    sums[r][1] = *(const vector *)(t->start + (r)*t->start_line + lanes);
#define ADD_ROW(r)                                                                                 \
    {                                                                                              \
        float number = ((r) < 3 ? a + (r)*a_line : lower + ((r)-3) * a_line)[ahead];               \
                                                                                                   \
        sums[r][0] += number * low;                                                                \
        sums[r][1] += number * high;                                                               \
    }
/* One row of b, `ahead` further on than where pointers stand. */
#define STEP(rows, distance)                                                                       \
    {                                                                                              \
        enum { ahead = distance };                                                                 \
        vector low = *(const vector *)(b + ahead * 2 * lanes);                                     \
        vector high = *(const vector *)(b + ahead * 2 * lanes + lanes);                            \
                                                                                                   \
        EACH_ROW(rows, ADD_ROW)                                                                    \
    }
#define STORE(r)                                                                                   \
    *(vector *)(y + (r)*t->y_line) = sums[r][0];                                                   \
    *(vector *)(y + (r)*t->y_line + lanes) = sums[r][1];

#define CASE(isa, n)                                                                               \
    case n:                                                                                        \
        tile_##isa(y, t, n);                                                                       \
        break;

#define PANELS(isa)                                                                                \
    typedef float vector_##isa                                                                     \
        __attribute__((vector_size(ISA_BYTES_##isa), aligned(4), may_alias));                      \
                                                                                                   \
    /* rows: a constant wherever this is inlined. */                                               \
    ISA_BODY void tile_##isa(float *y, const struct tile *t, int rows)                             \
    {                                                                                              \
        enum { lanes = ISA_BYTES_##isa / 4 };                                                      \
        typedef vector_##isa vector;                                                               \
        const float *a = t->a, *b = t->b, *lower = a + (rows > 3 ? 3 * t->a_line : 0);             \
        const char *next = t->next;                                                                \
        int64_t a_line = t->a_line, left = t->depth;                                               \
        vector sums[TILE_ROWS][2];                                                                 \
                                                                                                   \
        EACH_ROW(rows, START)                                                                      \
        for (; left >= STEPS; left -= STEPS, a += STEPS, lower += STEPS, b += STEPS * 2 * lanes) { \
            for (int64_t i = 0; i < STEPS * t->next_step; i += LINE)                               \
                __builtin_prefetch(next + i, 0, 2);                                                \
            next += STEPS * t->next_step;                                                          \
            STEP(rows, 0)                                                                          \
            STEP(rows, 1)                                                                          \
            STEP(rows, 2)                                                                          \
            STEP(rows, 3)                                                                          \
        }                                                                                          \
        for (; left > 0; left--, a++, lower++, b += 2 * lanes)                                     \
            STEP(rows, 0)                                                                          \
        EACH_ROW(rows, STORE)                                                                      \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void rows_##isa(float *y, const struct tile *t, int rows)              \
    {                                                                                              \
        switch (rows) {                                                                            \
            EACH_HEIGHT(CASE, isa)                                                                 \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void part_##isa(void *argument, int64_t begin, int64_t end)            \
    {                                                                                              \
        multiply_items(argument, begin, end, rows_##isa);                                          \
    }

typedef void rows_fn(float *y, const struct tile *tile, int rows);

/* The last panel has columns that y has not: its sums are in a buffer meanwhile. */
static void multiply_edge(float *y, struct tile *t, int rows, int64_t count, int64_t width,
                          rows_fn *multiply)
{
    float sums[TILE_ROWS * WIDTH_MAX] = {0};
    int64_t y_line = t->y_line;

    for (int r = 0; r < rows; r++)
        memcpy(sums + r * width, t->start + r * t->start_line, (size_t)count * sizeof(*sums));
    t->start = sums;
    t->start_line = t->y_line = width;
    multiply(sums, t, rows);
    for (int r = 0; r < rows; r++)
        memcpy(y + r * y_line, sums + r * width, (size_t)count * sizeof(*sums));
}

static void multiply_panel(const struct part *part, int64_t panel, const float *b,
                           rows_fn *multiply)
{
    const struct gemm_panels *p = part->task->panels;
    int64_t first = panel * p->width, count = p->n - first < p->width ? p->n - first : p->width;
    float *y = part->task->y + part->row * p->n + first;
    const float *a = part->task->a + part->row * p->a_line + part->k;
    /* Each tile fetches its share of the next part, so that it comes while all of them are computed. */
    int64_t line = p->width * (int64_t)kernel_dtype_bytes(p->dtype);
    int64_t step = round_up(line * TILE_ROWS, part->rows) / part->rows;
    const char *next = next_place(part, panel);

    for (int64_t row = 0, rows; row < part->rows; row += rows) {
        struct tile t = {.a = a + row * p->a_line,
                         .b = b,
                         .start = part->k > 0 ? y + row * p->n : part->task->bias + first,
                         .a_line = p->a_line,
                         .start_line = part->k > 0 ? p->n : 0,
                         .y_line = p->n,
                         .depth = part->depth,
                         .next = next + row / TILE_ROWS * part->depth * step,
                         .next_step = step};

        rows = height_of(part->rows - row);
        if (count < p->width)
            multiply_edge(y + row * p->n, &t, (int)rows, count, p->width, multiply);
        else
            multiply(y + row * p->n, &t, (int)rows);
    }
}

/* Items [begin, end): those of the same rows follow each other. */
static inline void multiply_items(const struct task *task, int64_t begin, int64_t end,
                                  rows_fn *multiply)
{
    const struct gemm_panels *p = task->panels;
    _Alignas(64) float wide[DEPTH * WIDTH_MAX];

    for (; begin < end; begin++) {
        int64_t first = begin % task->groups * GROUP, column = first * p->width, end_column;
        struct part part = {.task = task,
                            .row = begin / task->groups * task->rows,
                            .first = first,
                            .last = first + GROUP};

        part.rows = p->m - part.row < task->rows ? p->m - part.row : task->rows;
        if (part.last > panel_count(p))
            part.last = panel_count(p);
        for (; part.k < p->k; part.k += part.depth) {
            part.depth = p->k - part.k < DEPTH ? p->k - part.k : DEPTH;
            for (int64_t panel = first; panel < part.last; panel++)
                multiply_panel(&part, panel, widened(&part, panel, wide), multiply);
        }
        end_column = part.last * p->width < p->n ? part.last * p->width : p->n;
        for (int64_t row = part.row; p->activate && row < part.row + part.rows; row++) {
            float *y = task->y + row * p->n + column;

            p->activate(y, y, (size_t)(end_column - column), p->activation.a, p->activation.b);
        }
    }
}

PANELS(portable)
#if defined(__x86_64__)
PANELS(avx2)
PANELS(avx512)
#endif

bool gemm_panels_init_widest(struct gemm_panels *panels, const struct kernel_gemm *shape,
                             const struct kernel_activation *activation)
{
    enum kernel_level level = kernel_best_level();
    struct gemm_panels made;
    struct kernel_table table;

    if (activation->kind >= KERNEL_UNARY_COUNT)
        return false;
    kernel_table_init(&table, level);
    made = (struct gemm_panels){
        .m = shape->m,
        .n = shape->n,
        .k = shape->k,
        .a_line = shape->k,
        .width = ISA_BYTES_portable / 2,
        .dtype = shape->types.weights,
        .activation = *activation,
        .cast = table.cast.fn,
        .part = part_portable,
        .version = "panels:portable",
    };
    if (activation->kind != KERNEL_IDENTITY)
        made.activate = table.unary_f32[activation->kind].fn;
#if defined(__x86_64__)
    if (level == KERNEL_LEVEL_AVX2 ||
        (level >= KERNEL_LEVEL_AVX512 && shape->n <= ISA_BYTES_avx2 / 2)) {
        made.width = ISA_BYTES_avx2 / 2;
        made.part = part_avx2;
        made.version = "panels:avx2";
    } else if (level >= KERNEL_LEVEL_AVX512) {
        made.width = ISA_BYTES_avx512 / 2;
        made.part = part_avx512;
        made.version = "panels:avx512";
    }
#endif
    if (2 * made.n < made.width && made.k > LONG)
        return false;
    *panels = made;
    return true;
}

bool gemm_panels_init(struct gemm_panels *panels, const struct kernel_gemm *shape,
                      const struct kernel_activation *activation)
{
    return kernel_best_level() < KERNEL_LEVEL_AVX512 &&
           gemm_panels_init_widest(panels, shape, activation);
}

void gemm_panels_run(const struct gemm_panels *p, float *y, const float *a, const void *weights,
                     const float *bias)
{
    int64_t blocks = (p->m + ROWS - 1) / ROWS;
    int64_t rows = round_up((p->m + blocks - 1) / blocks, TILE_ROWS);
    struct task t = {.panels = p,
                     .y = y,
                     .a = a,
                     .bias = bias,
                     .weights = weights,
                     .rows = rows,
                     .groups = (panel_count(p) + GROUP - 1) / GROUP};

    team_for((p->m + rows - 1) / rows * t.groups, GRAIN / (rows * p->k * GROUP * p->width) + 1,
             p->part, &t);
}
