/* SPDX-License-Identifier: Apache-2.0 */
/* An LSTM of bytes: what comes of the inputs is one product over all steps, what comes of the state a product per step, of
 * bytes that are made of it; gates by vectors. */
#include "kernels/lstm_int8.h"

#include <string.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"

enum {
    GATES = KERNEL_LSTM_INT8_GATES,
    PANEL = INT8_LINE, /* columns that are summed side by side; each gate begins with some */
    ROWS = 4,          /* sequences that are multiplied together */
    BLOCK_ROWS = 16 * INT8_MAX_ROWS,
    GRAIN = 1 << 16,      /* products of a step that are worth a second thread */
    ROWS_GRAIN = 1 << 20, /* products of all steps that are */
    FLIP = 0x80,          /* makes unsigned bytes signed */
    MOVED = 128,          /* by so much */
};

/* Columns of all gates. */
static int64_t columns_of(const struct kernel_lstm_int8 *s)
{
    return (s->hidden + PANEL - 1) / PANEL * PANEL * GATES;
}

/* Packed weights of a direction, with what is known of their columns. */
struct part {
    uint8_t *quanta; /* as int8.h has them, signed */
    int32_t *sums, *zero;
    int32_t *minus; /* what is taken off for each unit of the zero point of what is multiplied */
    float *scale;
    uint8_t *has_zero; /* whether one is not 0 */
};

/* Memory that is given out from its beginning on; base: NULL where only its size is asked for. */
struct store {
    uint8_t *base;
    int64_t used;
};

static void *take(struct store *store, int64_t bytes)
{
    uint8_t *taken = store->base ? store->base + store->used : NULL;

    store->used += int8_round_up(bytes);
    return taken;
}

static struct part take_part(struct store *store, int64_t columns, int64_t k)
{
    struct part part;

    part.has_zero = take(store, 1);
    part.sums = take(store, columns * 4);
    part.zero = take(store, columns * 4);
    part.minus = take(store, columns * 4);
    part.scale = take(store, columns * 4);
    part.quanta = take(store, int8_packed_bytes(columns, k));
    return part;
}

/* Those of a direction. */
static void take_parts(struct store *store, const struct kernel_lstm_int8 *s, struct part *w,
                       struct part *r)
{
    *w = take_part(store, columns_of(s), s->inputs);
    *r = take_part(store, columns_of(s), s->hidden);
}

static int64_t direction_bytes(const struct kernel_lstm_int8 *s)
{
    struct store store = {NULL, 0};
    struct part w, r;

    take_parts(&store, s, &w, &r);
    return store.used;
}

size_t kernel_lstm_int8_packed(const struct kernel_lstm_int8 *shape)
{
    return (size_t)(shape->directions * direction_bytes(shape));
}

static int32_t zero_at(const struct kernel_lstm_int8_bytes *b, bool is_signed, int64_t line)
{
    int32_t zero = !b->zero    ? 0
                   : is_signed ? ((const int8_t *)b->zero)[line]
                               : ((const uint8_t *)b->zero)[line];

    return is_signed ? zero : zero - MOVED;
}

static void pack_part(const struct part *part, const struct kernel_lstm_int8_bytes *b,
                      const struct kernel_lstm_int8_weights *how, int64_t direction, int64_t k,
                      int64_t hidden, int64_t columns)
{
    const uint8_t *quanta = (const uint8_t *)b->quanta + direction * k * GATES * hidden;
    int64_t unit = int8_packed_bytes(1, k);

    memset(part->quanta, 0, (size_t)int8_packed_bytes(columns, k));
    memset(part->zero, 0, (size_t)columns * sizeof(*part->zero));
    memset(part->scale, 0, (size_t)columns * sizeof(*part->scale));
    *part->has_zero = 0;
    for (int64_t i = 0; i < GATES * hidden; i++) {
        int64_t to = i / hidden * (columns / GATES) + i % hidden;
        int64_t line = how->has_columns ? direction * GATES * hidden + i : direction;
        uint8_t *out = part->quanta + to / INT8_UNIT * unit + to % INT8_UNIT * INT8_QUAD;

        part->scale[to] = b->scale[line];
        part->zero[to] = zero_at(b, how->is_signed, line);
        *part->has_zero |= part->zero[to] != 0;
        for (int64_t p = 0; p < k; p++)
            out[p / INT8_QUAD * INT8_LINE + p % INT8_QUAD] =
                quanta[p * GATES * hidden + i] ^ (how->is_signed ? 0 : FLIP);
    }
    int8_column_sums(part->sums, part->quanta, columns, k, true);
    for (int64_t i = 0; i < columns; i++)
        part->minus[i] = (int32_t)((uint32_t)part->sums[i] - (uint32_t)k * (uint32_t)part->zero[i]);
}

void kernel_pack_lstm_int8(void *packed, const struct kernel_lstm_int8_bytes *w,
                           const struct kernel_lstm_int8_bytes *r,
                           const struct kernel_lstm_int8 *shape)
{
    int64_t columns = columns_of(shape);
    struct store store = {packed, 0};

    for (int64_t direction = 0; direction < shape->directions; direction++) {
        struct part of_w, of_r;

        take_parts(&store, shape, &of_w, &of_r);
        pack_part(&of_w, w, &shape->w, direction, shape->inputs, shape->hidden, columns);
        pack_part(&of_r, r, &shape->r, direction, shape->hidden, shape->hidden, columns);
    }
}

/* What of the workspace a direction has. */
struct room {
    float *inputs;   /* [steps * batch, columns]: what comes of x, and all that is added */
    int32_t *sums;   /* [batch, columns]: what comes of the state */
    float *h[2], *c; /* [batch, hidden]; h before and behind even steps, odd ones the other way */
    float *bias;     /* [columns] */
    int32_t *x_sums; /* [steps * batch] */
    void *wide;      /* of int8_run() */
};

static struct room take_room(struct store *store, const struct kernel_lstm_int8 *s)
{
    int64_t rows = s->steps * s->batch, columns = columns_of(s), state = s->batch * s->hidden * 4;
    struct room room;

    room.inputs = take(store, rows * columns * 4);
    room.sums = take(store, s->batch * columns * 4);
    room.h[0] = take(store, state);
    room.h[1] = take(store, state);
    room.c = take(store, state);
    room.bias = take(store, columns * 4);
    room.x_sums = take(store, rows * 4);
    room.wide = take(store, int8_run_room(rows, s->inputs));
    return room;
}

size_t kernel_lstm_int8_room(const struct kernel_lstm_int8 *shape)
{
    struct store store = {NULL, 0};

    for (int i = 0; i < shape->directions; i++)
        take_room(&store, shape);
    return (size_t)store.used;
}

/* One direction at work. */
struct cell {
    const struct kernel_lstm_int8_data *data;
    const struct kernel_lstm_int8 *shape;
    int64_t direction;
    struct part w, r;
    struct room room;
};

static int64_t length_of(const struct cell *q, int64_t b)
{
    return q->data->lengths ? q->data->lengths[b] : q->shape->steps;
}

static struct int8_product product_of(const struct part *part, int64_t m, int64_t columns,
                                      int64_t k)
{
    return (struct int8_product){
        .m = m,
        .n = columns,
        .k = k,
        .b = part->quanta,
        .b_sums = part->sums,
        .b_zero = *part->has_zero ? part->zero : NULL,
        .b_zero_step = 1,
        .y_line = columns,
        .y_type = KERNEL_I32,
    };
}

static void add_biases(const struct cell *q)
{
    const struct kernel_lstm_int8 *s = q->shape;
    int64_t columns = columns_of(s), each = GATES * s->hidden;
    const float *b = q->data->b ? q->data->b + q->direction * 2 * each : NULL;

    memset(q->room.bias, 0, (size_t)columns * sizeof(*q->room.bias));
    for (int64_t i = 0; b && i < each; i++)
        q->room.bias[i / s->hidden * (columns / GATES) + i % s->hidden] = b[i] + b[i + each];
}

/* The products of all inputs, as whole numbers. */
static void multiply_inputs(const struct cell *q, const struct int8_steps *steps)
{
    const struct kernel_lstm_int8_data *d = q->data;
    const struct kernel_lstm_int8 *s = q->shape;
    int64_t rows = s->steps * s->batch;
    struct int8_product p = product_of(&q->w, rows, columns_of(s), s->inputs);
    int32_t x_zero = *d->x_zero;

    p.a = d->x;
    p.a_line = s->inputs;
    p.a_zero = &x_zero;
    p.y = q->room.inputs;
    if (p.b_zero) {
        int8_row_sums(q->room.x_sums, d->x, rows, s->inputs, s->inputs, false);
        p.a_sums = q->room.x_sums;
    }
    int8_run(&p, steps, BLOCK_ROWS, q->room.wide);
}

/* Rows [begin, end) of what comes of the inputs, as numbers. */
ISA_BODY void scale_inputs(const struct cell *q, int64_t begin, int64_t end)
{
    int64_t columns = columns_of(q->shape);
    const float *restrict scale = q->w.scale, *restrict bias = q->room.bias;
    float x_scale = *q->data->x_scale;

    for (int64_t row = begin; row < end; row++) {
        float *y = q->room.inputs + row * columns;
        typedef int32_t whole __attribute__((may_alias));

#pragma omp simd
        for (int64_t i = 0; i < columns; i++)
            y[i] = (float)((const whole *)y)[i] * (x_scale * scale[i]) + bias[i];
    }
}

/* What an instruction set has. */
struct steps {
    struct int8_steps int8;
    struct int8_tile tile;
    quantize_dynamic_fn *quantize;
    team_fn *scale, *rows;
    team_step_fn *panels;
};

/* Some columns of the hidden state of some sequences. */
struct span {
    int64_t begin, end, row, row_end;
};

/* The bytes of a state, and what they add to each sum, which is not in it yet. */
struct state {
    float scale;
    uint32_t zero, sum;
};

/* Of one sequence, pointers at column 0 of the first gate. */
ISA_BODY void step_gates(const float *restrict x, const int32_t *restrict sums,
                         const struct part *weights, const struct state *state, float *restrict h,
                         float *restrict c, int64_t wide, const struct span *span)
{
    const int32_t *restrict minus = weights->minus, *restrict zeros = weights->zero;
    const float *restrict scales = weights->scale;
    const float scale = state->scale;
    const uint32_t zero = state->zero, sum = state->sum;

#define SUM(at)                                                                                    \
    (int32_t)((uint32_t)sums[at] - zero * (uint32_t)minus[at] - sum * (uint32_t)zeros[at])
#define GATE(g) (x[(g)*wide + i] + (float)SUM((g)*wide + i) * (scale * scales[(g)*wide + i]))
#pragma omp simd
    for (int64_t i = span->begin; i < span->end; i++) {
        float in = math_sigmoid(GATE(0)), out = math_sigmoid(GATE(1));
        float forget = math_sigmoid(GATE(2)), made = math_tanh(GATE(3));

        c[i] = forget * c[i] + in * made;
        h[i] = out * math_tanh(c[i]);
    }
#undef GATE
#undef SUM
}

/* The states of some sequences as bytes. */
struct quanta {
    uint8_t bytes[ROWS * KERNEL_LSTM_INT8_MOST];
    int32_t zero[ROWS], sums[ROWS];
    float scale[ROWS];
};

static void quantise(struct quanta *out_quanta, const float *h, int64_t rows, int64_t hidden,
                     quantize_dynamic_fn *quantize)
{
    for (int64_t r = 0; r < rows; r++) {
        uint8_t zero;

        quantize(out_quanta->bytes + r * hidden, &out_quanta->scale[r], &zero, h + r * hidden,
                 (size_t)hidden);
        out_quanta->zero[r] = zero;
    }
}

/* A panel of all rows, whose zero points are not taken out yet. */
static void multiply_panel(const struct cell *q, const struct quanta *quanta, int64_t row,
                           int64_t rows, int64_t begin, const struct int8_tile *tile)
{
    int64_t columns = columns_of(q->shape), unit = int8_packed_bytes(1, q->shape->hidden);
    int32_t acc[INT8_MAX_ROWS * INT8_LINE], *to = q->room.sums + row * columns + begin;
    int64_t places[INT8_MAX_UNITS];
    struct int8_sides sides = {.a = quanta->bytes,
                               .a_line = q->shape->hidden,
                               .k = q->shape->hidden,
                               .b = q->r.quanta,
                               .offsets = int8_packed_offsets};

    for (int i = 0; i < INT8_MAX_UNITS; i++)
        places[i] = (begin / INT8_UNIT + i) * unit;
    for (int u = 0; u < INT8_MAX_UNITS; u += tile->units) {
        sides.units = places + u;
        tile->fn((rows == 1 ? to : acc) + u * INT8_UNIT, &sides, (int)rows, tile->units);
    }
    for (int64_t r = 0; rows > 1 && r < rows; r++)
        memcpy(to + r * columns, acc + r * INT8_LINE, INT8_LINE * sizeof(*acc));
}

/* A span of all gates, of so many rows from `row` on; by a tile that takes bytes as they are, or whatever there is. */
static void multiply_state(const struct cell *q, struct quanta *quanta, int64_t row, int64_t rows,
                           const struct span *span, const struct steps *steps)
{
    int64_t columns = columns_of(q->shape), wide = columns / GATES, hidden = q->shape->hidden;
    const struct int8_tile *tile = &steps->tile;
    struct int8_product p = product_of(&q->r, rows, columns, hidden);

    p.a = quanta->bytes;
    p.a_line = hidden;
    p.a_zero = quanta->zero;
    p.a_zero_step = 1;
    p.y = q->room.sums + row * columns;
    memset(quanta->sums, 0, sizeof(quanta->sums));
    if (p.b_zero) {
        int8_row_sums(quanta->sums, quanta->bytes, rows, hidden, hidden, false);
        p.a_sums = quanta->sums;
    }
    for (int64_t at = 0; at < columns; at += wide) {
        if (tile->widen)
            steps->int8.block(&p, 0, rows, at + span->begin, at + span->end);
        for (int64_t i = span->begin; !tile->widen && i < span->end; i += PANEL)
            multiply_panel(q, quanta, row, rows, at + i, tile);
    }
}

/* A span at a step, of one sequence that has it. */
ISA_BODY void do_sequence(const struct cell *q, int64_t step, int64_t b, const struct state *state,
                          const struct span *span)
{
    const struct kernel_lstm_int8 *s = q->shape;
    int64_t columns = columns_of(s), hidden = s->hidden;
    int64_t t = s->is_reverse[q->direction] ? length_of(q, b) - 1 - step : step;
    float *h = q->room.h[(step + 1) % 2] + b * hidden;

    step_gates(q->room.inputs + (t * s->batch + b) * columns, q->room.sums + b * columns, &q->r,
               state, h, q->room.c + b * hidden, columns / GATES, span);
    if (q->data->y)
        memcpy(q->data->y + ((t * s->directions + q->direction) * s->batch + b) * hidden +
                   span->begin,
               h + span->begin, (size_t)(span->end - span->begin) * sizeof(*h));
}

ISA_BODY void do_step(const struct cell *q, int64_t step, const struct span *span,
                      const struct steps *steps)
{
    int64_t hidden = q->shape->hidden, rows;
    const float *old = q->room.h[step % 2];
    struct quanta quanta;

    for (int64_t row = span->row; row < span->row_end; row += rows) {
        rows = span->row_end - row < ROWS ? span->row_end - row : ROWS;
        quantise(&quanta, old + row * hidden, rows, hidden, steps->quantize);
        multiply_state(q, &quanta, row, rows, span, steps);
        for (int64_t r = 0; r < rows; r++) {
            int64_t at = (row + r) * hidden + span->begin;
            struct state state = {.scale = quanta.scale[r]};

            if (!steps->tile.widen) {
                state.zero = (uint32_t)quanta.zero[r];
                state.sum = (uint32_t)quanta.sums[r];
            }
            if (step < length_of(q, row + r))
                do_sequence(q, step, row + r, &state, span);
            else
                memcpy(q->room.h[(step + 1) % 2] + at, old + at,
                       (size_t)(span->end - span->begin) * sizeof(*old));
        }
    }
}

struct run {
    struct cell cells[KERNEL_DIRECTIONS];
    int count;
    const struct steps *steps;
};

/* Sequences [begin, end), counted in ROWS, from the first step to the last. */
ISA_BODY void do_rows(const struct run *run, int64_t begin, int64_t end)
{
    const struct kernel_lstm_int8 *s = run->cells[0].shape;
    struct span span = {.end = s->hidden,
                        .row = begin * ROWS,
                        .row_end = end * ROWS < s->batch ? end * ROWS : s->batch};

    for (int i = 0; i < run->count; i++)
        for (int64_t step = 0; step < s->steps; step++)
            do_step(&run->cells[i], step, &span, run->steps);
}

/* Panels [begin, end) of all cells at a step. */
ISA_BODY void do_panels(const struct run *run, int64_t step, int64_t begin, int64_t end)
{
    const struct kernel_lstm_int8 *s = run->cells[0].shape;
    int64_t each = columns_of(s) / GATES / PANEL;

    for (int i = 0; i < run->count; i++) {
        int64_t first = begin - i * each, last = end - i * each;
        struct span span = {.row_end = s->batch};

        span.begin = first < 0 ? 0 : first * PANEL;
        span.end = last < each ? last * PANEL : s->hidden;
        if (span.begin < span.end)
            do_step(&run->cells[i], step, &span, run->steps);
    }
}

/* A state [batch, hidden] of a direction; none is 0. */
static void load_state(const struct cell *q, float *to, const float *from)
{
    int64_t count = q->shape->batch * q->shape->hidden;

    if (from)
        memcpy(to, from + q->direction * count, (size_t)count * sizeof(*to));
    else
        memset(to, 0, (size_t)count * sizeof(*to));
}

static void save_state(const struct cell *q, float *to, const float *from)
{
    int64_t count = q->shape->batch * q->shape->hidden;

    if (to)
        memcpy(to + q->direction * count, from, (size_t)count * sizeof(*to));
}

/* Steps behind the end of a sequence give 0. */
static void clear_rest(const struct cell *q)
{
    const struct kernel_lstm_int8 *s = q->shape;

    for (int64_t b = 0; q->data->y && q->data->lengths && b < s->batch; b++)
        for (int64_t t = length_of(q, b); t < s->steps; t++)
            memset(q->data->y + ((t * s->directions + q->direction) * s->batch + b) * s->hidden, 0,
                   (size_t)s->hidden * sizeof(*q->data->y));
}

static void begin_cell(struct cell *q, const struct steps *steps)
{
    const struct kernel_lstm_int8 *s = q->shape;

    add_biases(q);
    multiply_inputs(q, &steps->int8);
    team_for(s->steps * s->batch, GRAIN / columns_of(s) + 1, steps->scale, q);
    load_state(q, q->room.h[0], q->data->initial_h);
    load_state(q, q->room.c, q->data->initial_c);
}

/* Threads take sequences, which do not wait for each other, where there are enough of them; else columns of each
 * step. */
static void run_steps(struct run *run)
{
    const struct kernel_lstm_int8 *s = run->cells[0].shape;
    int64_t threads = kernel_threads(), weights = GATES * s->hidden * s->hidden;
    int64_t count = run->count * columns_of(s) / GATES / PANEL;

    if (threads == 1 || s->batch >= ROWS * threads)
        team_for((s->batch + ROWS - 1) / ROWS, ROWS_GRAIN / (ROWS * weights * s->steps + 1) + 1,
                 run->steps->rows, run);
    else
        team_steps(s->steps, count, GRAIN / (GATES * PANEL * s->hidden * s->batch + 1) + 1,
                   run->steps->panels, run);
}

static int run_cells(const struct kernel_lstm_int8_data *d, const struct kernel_lstm_int8 *s,
                     const struct steps *steps)
{
    struct run run = {.count = s->directions, .steps = steps};
    struct store packed = {(uint8_t *)d->packed, 0}, room = {d->workspace, 0};

    for (int64_t b = 0; d->lengths && b < s->batch; b++)
        if (d->lengths[b] < 0 || d->lengths[b] > s->steps)
            return -1;
    for (int i = 0; i < run.count; i++) {
        struct cell *q = &run.cells[i];

        *q = (struct cell){.data = d, .shape = s, .direction = i};
        take_parts(&packed, s, &q->w, &q->r);
        q->room = take_room(&room, s);
        begin_cell(q, steps);
    }
    if (s->steps > 0 && s->batch > 0)
        run_steps(&run);
    for (int i = 0; i < run.count; i++) {
        clear_rest(&run.cells[i]);
        save_state(&run.cells[i], d->last_h, run.cells[i].room.h[s->steps % 2]);
        save_state(&run.cells[i], d->last_c, run.cells[i].room.c);
    }
    return 0;
}

#define LSTM(isa)                                                                                  \
    ISA_TARGET_##isa static void scale_##isa(void *cell, int64_t begin, int64_t end)               \
    {                                                                                              \
        scale_inputs(cell, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void rows_##isa(void *run, int64_t begin, int64_t end)                 \
    {                                                                                              \
        do_rows(run, begin, end);                                                                  \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void step_##isa(void *run, int64_t step, int64_t begin, int64_t end)   \
    {                                                                                              \
        do_panels(run, step, begin, end);                                                          \
    }                                                                                              \
                                                                                                   \
    static int lstm_##isa(const struct kernel_lstm_int8_data *data,                                \
                          const struct kernel_lstm_int8 *shape)                                    \
    {                                                                                              \
        return run_cells(data, shape,                                                              \
                         &(struct steps){INT8_STEPS(isa), int8_tile_##isa(),                       \
                                         quantize_dynamic_##isa, scale_##isa, rows_##isa,          \
                                         step_##isa});                                             \
    }

ISA_VERSIONS(LSTM)

lstm_int8_fn *kernel_lstm_int8(enum kernel_level level, const char **out_version)
{
    if (level == KERNEL_LEVEL_REF) {
        *out_version = "ref";
        return lstm_int8_ref;
    }
#if defined(__x86_64__)
    if (level >= KERNEL_LEVEL_AVX512) {
        *out_version = "avx512";
        return lstm_avx512;
    }
    if (level >= KERNEL_LEVEL_AVX2) {
        *out_version = "avx2";
        return lstm_avx2;
    }
#endif
    *out_version = "portable";
    return lstm_portable;
}
