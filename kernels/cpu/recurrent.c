/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN of f32 with their usual functions: what comes of the inputs is one product over
 * all steps, what comes of the state a product per step by packed weights; gates by vectors. Others
 * are the reference's. */
#include <string.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    PANEL = 64,           /* columns that are summed side by side */
    NARROW = 32,          /* of a panel that has no more of its own */
    ALIGN = 16,           /* floats that a part of the workspace begins at a multiple of */
    GRAIN = 1 << 14,      /* products of a step that are worth a second thread */
    ROWS = 4,             /* sequences that are as good as more */
    NEAR = 1 << 18,       /* weights that each thread may have for itself */
    ROWS_GRAIN = 1 << 18, /* products of all steps that are worth a second thread */
};

static int64_t padded(int64_t hidden)
{
    return (hidden + PANEL - 1) / PANEL * PANEL;
}

/* Floats of one direction's packed weights: [gate][panel][hidden][PANEL]. */
static int64_t packed_floats(const struct kernel_recurrent *s)
{
    return kernel_cell_gates(s->cell) * padded(s->hidden) * s->hidden;
}

size_t kernel_recurrent_packed(const struct kernel_recurrent *shape)
{
    if (shape->dtype != KERNEL_F32)
        return 0;
    return (size_t)(shape->directions * packed_floats(shape)) * sizeof(float);
}

void kernel_pack_recurrent(float *packed, const void *r, const struct kernel_recurrent *shape)
{
    int64_t hidden = shape->hidden, gates = kernel_cell_gates(shape->cell);
    const float *from = r;

    for (int64_t g = 0; g < shape->directions * gates; g++, from += hidden * hidden) {
        for (int64_t panel = 0; panel < hidden; panel += PANEL, packed += hidden * PANEL) {
            int64_t columns = hidden - panel < PANEL ? hidden - panel : PANEL;

            memset(packed, 0, (size_t)(hidden * PANEL) * sizeof(*packed));
            for (int64_t c = 0; c < columns; c++)
                for (int64_t k = 0; k < hidden; k++)
                    packed[k * PANEL + c] = from[(panel + c) * hidden + k];
        }
    }
}

/* What of the workspace holds what. */
struct room {
    float *inputs; /* [steps * batch, gates * hidden]: products of x, with its bias */
    float *sums;   /* [batch, gates, padded]: products of the state, with theirs */
    float *h[2];   /* [batch, hidden]: before and behind even steps, odd ones the other way */
    float *c;      /* [batch, hidden] */
    float *reset;  /* [batch, hidden]: GRU, the state that the reset gate lets through */
    float *packed;
};

static int64_t make_room(const struct kernel_recurrent *s, float *workspace, struct room *out_room)
{
    int64_t gates = kernel_cell_gates(s->cell), state = s->batch * padded(s->hidden);

    out_room->inputs = workspace;
    out_room->sums =
        out_room->inputs + (s->steps * s->batch * gates * s->hidden + ALIGN - 1) / ALIGN * ALIGN;
    out_room->h[0] = out_room->sums + gates * state;
    out_room->h[1] = out_room->h[0] + state;
    out_room->c = out_room->h[1] + state;
    out_room->reset = out_room->c + state;
    out_room->packed = out_room->reset + state;
    return out_room->packed + packed_floats(s) - workspace;
}

/* Of one direction. */
static int64_t room_floats(const struct kernel_recurrent *s)
{
    static float nothing[1];
    struct room room;

    return (make_room(s, nothing, &room) + ALIGN - 1) / ALIGN * ALIGN;
}

/* One direction at work. */
struct cell {
    const struct kernel_recurrent_data *data;
    const struct kernel_recurrent *shape;
    int direction;
    const float *packed;
    struct room room;
};

/* Columns of a panel, summed in registers: sums = bias + h * panel for some rows of the batch. Written
 * out, not loops: what a compiler unrolls late stays an array in memory. */
struct strip {
    float *y; /* rows y_line apart */
    int64_t y_line;
    const float *h; /* rows `hidden` apart */
    int64_t hidden;
    const float *panel, *bias;
};

typedef void panel_fn(const struct strip *strip);

/* By the number of rows: one, two, four. */
struct panels {
    panel_fn *whole[3], *narrow[3];
};

#define ROWS_1(DO, i) DO(0, i)
#define ROWS_2(DO, i) ROWS_1(DO, i) DO(1, i)
#define ROWS_4(DO, i) ROWS_2(DO, i) DO(2, i) DO(3, i)
#define EACH_2(DO)    DO(0) DO(1)
#define EACH_4(DO)    EACH_2(DO) DO(2) DO(3)
#define EACH_8(DO)    EACH_4(DO) DO(4) DO(5) DO(6) DO(7)

#define BEGIN(r, i) sums[r][i] = *(const vector *)(strip->bias + at + (i)*LANES);
#define ADD(r, i)   sums[r][i] += h[(r)*strip->hidden] * b[i];
#define STORE(r, i) *(vector *)(strip->y + (r)*strip->y_line + at + (i)*LANES) = sums[r][i];

#define PANEL_ROWS(isa, rows, count, width)                                                        \
    ISA_TARGET_##isa static void panel_##isa##_##rows##_##width(const struct strip *strip)         \
    {                                                                                              \
        enum { LANES = ISA_BYTES_##isa / 4 };                                                      \
        typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));       \
                                                                                                   \
        for (int64_t at = 0; at < width; at += (count)*LANES) {                                    \
            const float *h = strip->h, *end = h + strip->hidden, *panel = strip->panel + at;       \
            vector sums[rows][count], b[count];                                                    \
                                                                                                   \
            EACH_##count(BEGIN_##rows) for (; h < end; h++, panel += PANEL){                       \
                EACH_##count(ADD_##rows)} EACH_##count(STORE_##rows)                               \
        }                                                                                          \
    }

#define BEGIN_1(i) ROWS_1(BEGIN, i)
#define BEGIN_2(i) ROWS_2(BEGIN, i)
#define BEGIN_4(i) ROWS_4(BEGIN, i)
#define LOAD(i)    b[i] = *(const vector *)(panel + (i)*LANES);
#define ADD_1(i)   LOAD(i) ROWS_1(ADD, i)
#define ADD_2(i)   LOAD(i) ROWS_2(ADD, i)
#define ADD_4(i)   LOAD(i) ROWS_4(ADD, i)
#define STORE_1(i) ROWS_1(STORE, i)
#define STORE_2(i) ROWS_2(STORE, i)
#define STORE_4(i) ROWS_4(STORE, i)

/* How many registers a row takes where there are one, two or four, and how many at most in a narrow panel. */
#define PANELS(isa, one_row, two_rows, four_rows, one_narrow, two_narrow, four_narrow)             \
    PANEL_ROWS(isa, 1, one_row, PANEL)                                                             \
    PANEL_ROWS(isa, 2, two_rows, PANEL)                                                            \
    PANEL_ROWS(isa, 4, four_rows, PANEL)                                                           \
    PANEL_ROWS(isa, 1, one_narrow, NARROW)                                                         \
    PANEL_ROWS(isa, 2, two_narrow, NARROW)                                                         \
    PANEL_ROWS(isa, 4, four_narrow, NARROW)                                                        \
    static const struct panels panels_##isa = {                                                    \
        {panel_##isa##_1_PANEL, panel_##isa##_2_PANEL, panel_##isa##_4_PANEL},                     \
        {panel_##isa##_1_NARROW, panel_##isa##_2_NARROW, panel_##isa##_4_NARROW}};

PANELS(portable, 8, 4, 2, 8, 4, 2)
#if defined(__x86_64__)
PANELS(avx2, 8, 4, 2, 4, 4, 2)
PANELS(avx512, 4, 4, 4, 2, 2, 2)
#endif

/* A panel for the whole batch. */
static void add_panel(struct strip *strip, int64_t batch, panel_fn *const *by_rows)
{
    for (int64_t rows; batch > 0; batch -= rows) {
        rows = batch >= 4 ? 4 : batch >= 2 ? 2 : 1;
        by_rows[rows == 4 ? 2 : rows - 1](strip);
        strip->y += rows * strip->y_line;
        strip->h += rows * strip->hidden;
    }
}

/* Some columns of the hidden state of some sequences, and how wide its lines are. */
struct span {
    int64_t begin, end, row, row_end, hidden, wide;
};

/* A span of the gates [first, end) from the states of all sequences. */
static void multiply_state(const struct cell *q, const float *h, int first, int end,
                           const struct span *span, const struct panels *panels)
{
    const struct kernel_recurrent *s = q->shape;
    int64_t hidden = span->hidden, wide = span->wide, gates = kernel_cell_gates(s->cell);
    const float *bias = q->data->b;

    if (bias)
        bias += (2 * q->direction + 1) * gates * hidden;
    for (int g = first; g < end; g++) {
        for (int64_t at = span->begin; at < span->end; at += PANEL) {
            int64_t columns = span->end - at < PANEL ? span->end - at : PANEL;
            const float *panel = q->packed + (g * wide + at) * hidden;
            float start[PANEL] = {0};

            if (bias)
                memcpy(start, bias + g * hidden + at, (size_t)columns * sizeof(*start));
            add_panel(&(struct strip){q->room.sums + (span->row * gates + g) * wide + at,
                                      gates * wide, h + span->row * hidden, hidden, panel, start},
                      span->row_end - span->row, columns > NARROW ? panels->whole : panels->narrow);
        }
    }
}

/* Of one sequence, pointers at line 0: old is its state before the step, h that behind it. */
ISA_BODY void step_lstm(const float *restrict x, const float *restrict sums, float *restrict h,
                        float *restrict c, const struct span *span)
{
    int64_t hidden = span->hidden, wide = span->wide;

#pragma omp simd
    for (int64_t i = span->begin; i < span->end; i++) {
        float in = math_sigmoid(x[i] + sums[i]);
        float out = math_sigmoid(x[hidden + i] + sums[wide + i]);
        float forget = math_sigmoid(x[2 * hidden + i] + sums[2 * wide + i]);
        float made = math_tanh(x[3 * hidden + i] + sums[3 * wide + i]);

        c[i] = forget * c[i] + in * made;
        h[i] = out * math_tanh(c[i]);
    }
}

ISA_BODY void step_rnn(const float *restrict x, const float *restrict sums, float *restrict h,
                       const struct span *span)
{
#pragma omp simd
    for (int64_t i = span->begin; i < span->end; i++)
        h[i] = math_tanh(x[i] + sums[i]);
}

/* What the reset gate lets through of the state. */
ISA_BODY void reset_gru(const float *restrict x, const float *restrict sums,
                        const float *restrict old, float *restrict reset, const struct span *span)
{
    int64_t hidden = span->hidden, wide = span->wide;

#pragma omp simd
    for (int64_t i = span->begin; i < span->end; i++)
        reset[i] = math_sigmoid(x[hidden + i] + sums[wide + i]) * old[i];
}

ISA_BODY void step_gru(const float *restrict x, const float *restrict sums,
                       const float *restrict old, float *restrict h, const struct span *span)
{
    int64_t hidden = span->hidden, wide = span->wide;

#pragma omp simd
    for (int64_t i = span->begin; i < span->end; i++) {
        float update = math_sigmoid(x[i] + sums[i]);
        float made = math_tanh(x[2 * hidden + i] + sums[2 * wide + i]);

        h[i] = made + update * (old[i] - made);
    }
}

/* With the reset gate behind the product. A loop of its own: with a choice in it GCC makes no
 * vectors of it. */
ISA_BODY void step_gru_reset_last(const float *restrict x, const float *restrict sums,
                                  const float *restrict old, float *restrict h,
                                  const struct span *span)
{
    int64_t hidden = span->hidden, wide = span->wide;

#pragma omp simd
    for (int64_t i = span->begin; i < span->end; i++) {
        float update = math_sigmoid(x[i] + sums[i]);
        float reset = math_sigmoid(x[hidden + i] + sums[wide + i]);
        float made = math_tanh(x[2 * hidden + i] + reset * sums[2 * wide + i]);

        h[i] = made + update * (old[i] - made);
    }
}

static int64_t state_at(const struct cell *q, int64_t b)
{
    const struct kernel_recurrent *s = q->shape;

    return (s->is_batch_first ? b * s->directions + q->direction : q->direction * s->batch + b) *
           s->hidden;
}

static int64_t y_at(const struct cell *q, int64_t b, int64_t t)
{
    const struct kernel_recurrent *s = q->shape;

    return (s->is_batch_first ? (b * s->steps + t) * s->directions + q->direction
                              : (t * s->directions + q->direction) * s->batch + b) *
           s->hidden;
}

static int64_t length_of(const struct cell *q, int64_t b)
{
    return q->data->lengths ? q->data->lengths[b] : q->shape->steps;
}

static bool is_reset_first(const struct kernel_recurrent *s)
{
    return s->cell == CELL_GRU && !s->is_reset_last;
}

/* Of a step there are two phases where what goes into a product comes of another one's gates. */
static int phases_of(const struct kernel_recurrent *s)
{
    return is_reset_first(s) ? 2 : 1;
}

/* A span of one sequence at a step that it has. */
ISA_BODY void do_sequence(const struct cell *q, int64_t step, int64_t b, bool is_reset,
                          const struct span *span)
{
    const struct kernel_recurrent *s = q->shape;
    const struct room *room = &q->room;
    int64_t hidden = span->hidden, gates = kernel_cell_gates(s->cell);
    int64_t t = s->is_reverse[q->direction] ? length_of(q, b) - 1 - step : step;
    int64_t row = s->is_batch_first ? b * s->steps + t : t * s->batch + b;
    const float *x = room->inputs + row * gates * hidden;
    const float *sums = room->sums + b * gates * span->wide;
    const float *old = room->h[step % 2] + b * hidden;
    float *h = room->h[(step + 1) % 2] + b * hidden;

    if (is_reset) {
        reset_gru(x, sums, old, room->reset + b * hidden, span);
        return;
    }
    if (s->cell == CELL_LSTM)
        step_lstm(x, sums, h, room->c + b * hidden, span);
    else if (s->cell == CELL_GRU && s->is_reset_last)
        step_gru_reset_last(x, sums, old, h, span);
    else if (s->cell == CELL_GRU)
        step_gru(x, sums, old, h, span);
    else
        step_rnn(x, sums, h, span);
    if (q->data->y)
        memcpy((float *)q->data->y + y_at(q, b, t) + span->begin, h + span->begin,
               (size_t)(span->end - span->begin) * sizeof(*h));
}

/* A span in a phase of a step. */
ISA_BODY void do_phase(const struct cell *q, int64_t step, int phase, const struct span *span,
                       const struct panels *panels)
{
    const struct kernel_recurrent *s = q->shape;
    const float *h = phase == 0 ? q->room.h[step % 2] : q->room.reset;
    int gates = kernel_cell_gates(s->cell);
    bool is_reset = phase + 1 < phases_of(s);

    multiply_state(q, h, phase == 0 ? 0 : 2, is_reset ? 2 : gates, span, panels);
    for (int64_t b = span->row; b < span->row_end; b++) {
        int64_t at = b * span->hidden + span->begin;

        if (step < length_of(q, b))
            do_sequence(q, step, b, is_reset, span);
        else if (!is_reset)
            memcpy(q->room.h[(step + 1) % 2] + at, q->room.h[step % 2] + at,
                   (size_t)(span->end - span->begin) * sizeof(float));
    }
}

/* The products of all inputs. */
static void multiply_inputs(const struct cell *q, gemm_f32_fn *gemm)
{
    const struct kernel_recurrent_data *d = q->data;
    const struct kernel_recurrent *s = q->shape;
    int64_t columns = kernel_cell_gates(s->cell) * s->hidden;
    const float *b = d->b;
    struct kernel_gemm shape = {.m = s->steps * s->batch,
                                .n = columns,
                                .k = s->inputs,
                                .trans_b = true,
                                .alpha = 1.0f,
                                .beta = 1.0f,
                                .c_col_stride = 1};

    gemm(q->room.inputs, d->x, (const float *)d->w + q->direction * columns * s->inputs,
         b ? b + 2 * q->direction * columns : NULL, &shape);
}

/* A state [batch, hidden] of this direction; none is 0. */
static void load_state(const struct cell *q, float *to, const float *from)
{
    size_t bytes = (size_t)q->shape->hidden * sizeof(*to);

    for (int64_t b = 0; b < q->shape->batch; b++, to += q->shape->hidden) {
        if (from)
            memcpy(to, from + state_at(q, b), bytes);
        else
            memset(to, 0, bytes);
    }
}

static void save_state(const struct cell *q, float *to, const float *from)
{
    for (int64_t b = 0; to && b < q->shape->batch; b++)
        memcpy(to + state_at(q, b), from + b * q->shape->hidden,
               (size_t)q->shape->hidden * sizeof(*to));
}

/* Steps behind the end of a sequence give 0. */
static void clear_rest(const struct cell *q)
{
    for (int64_t b = 0; q->data->y && q->data->lengths && b < q->shape->batch; b++)
        for (int64_t t = length_of(q, b); t < q->shape->steps; t++)
            memset((float *)q->data->y + y_at(q, b, t), 0,
                   (size_t)q->shape->hidden * sizeof(float));
}

static bool fits(const struct kernel_recurrent_data *d, const struct kernel_recurrent *s)
{
    for (int direction = 0; direction < s->directions; direction++) {
        const struct kernel_gate *f = s->functions[direction];
        enum kernel_gate_kind first = s->cell == CELL_RNN ? GATE_TANH : GATE_SIGMOID;

        if (f[0].kind != first || (s->cell != CELL_RNN && f[1].kind != GATE_TANH) ||
            (s->cell == CELL_LSTM && f[2].kind != GATE_TANH))
            return false;
    }
    for (int64_t b = 0; d->lengths && b < s->batch; b++)
        if (d->lengths[b] < 0 || d->lengths[b] > s->steps)
            return false;
    return s->dtype == KERNEL_F32 && !d->p && s->clip == 0.0 && !s->is_forget_one_minus &&
           s->steps > 0 && s->batch > 0;
}

struct run {
    struct cell cells[KERNEL_DIRECTIONS];
    int count;
};

/* Sequences [begin, end), counted in ROWS, from the first step to the last. */
ISA_BODY void do_rows(const struct run *run, int64_t begin, int64_t end,
                      const struct panels *panels)
{
    const struct kernel_recurrent *s = run->cells[0].shape;
    int64_t phases = phases_of(s), last = end * ROWS;
    struct span span = {.end = s->hidden,
                        .row = begin * ROWS,
                        .row_end = last < s->batch ? last : s->batch,
                        .hidden = s->hidden,
                        .wide = padded(s->hidden)};

    for (int i = 0; i < run->count; i++)
        for (int64_t number = 0; number < s->steps * phases; number++)
            do_phase(&run->cells[i], number / phases, (int)(number % phases), &span, panels);
}

/* Panels [begin, end) of all cells in a phase. */
ISA_BODY void do_panels(const struct run *run, int64_t number, int64_t begin, int64_t end,
                        const struct panels *panels)
{
    const struct kernel_recurrent *s = run->cells[0].shape;
    int64_t wide = padded(s->hidden), each = wide / PANEL, phases = phases_of(s);

    for (int i = 0; i < run->count; i++) {
        int64_t first = begin - i * each, last = end - i * each;
        struct span span = {.row_end = s->batch, .hidden = s->hidden, .wide = wide};

        span.begin = first < 0 ? 0 : first * PANEL;
        span.end = last < each ? last * PANEL : s->hidden;
        if (span.begin < span.end)
            do_phase(&run->cells[i], number / phases, (int)(number % phases), &span, panels);
    }
}

static void begin_cell(struct cell *q, gemm_f32_fn *gemm)
{
    const struct kernel_recurrent_data *d = q->data;
    const struct kernel_recurrent *s = q->shape;

    q->packed = d->packed ? d->packed + q->direction * packed_floats(s) : q->room.packed;
    if (!d->packed) {
        struct kernel_recurrent one = *s;
        int64_t gates = kernel_cell_gates(s->cell);

        one.directions = 1;
        kernel_pack_recurrent(q->room.packed,
                              (const float *)d->r + q->direction * gates * s->hidden * s->hidden,
                              &one);
    }
    multiply_inputs(q, gemm);
    load_state(q, q->room.h[0], d->initial_h);
    load_state(q, q->room.c, d->initial_c);
}

static void end_cell(const struct cell *q)
{
    clear_rest(q);
    save_state(q, q->data->last_h, q->room.h[q->shape->steps % 2]);
    save_state(q, q->data->last_c, q->room.c);
}

/* What an instruction set has. */
struct steps {
    gemm_f32_fn *gemm;
    team_fn *rows;
    team_step_fn *panels;
};

/* Threads take sequences, which do not wait for each other, where there are enough of them and the
 * weights stay near each; else columns of each step. */
static void run_steps(struct run *run, const struct steps *steps)
{
    const struct kernel_recurrent *s = run->cells[0].shape;
    int64_t threads = kernel_threads(), gates = kernel_cell_gates(s->cell);
    int64_t weights = gates * s->hidden * s->hidden, count = run->count * padded(s->hidden) / PANEL;

    if (threads == 1 || (s->batch >= ROWS * threads && weights <= NEAR))
        team_for((s->batch + ROWS - 1) / ROWS, ROWS_GRAIN / (ROWS * weights * s->steps + 1) + 1,
                 steps->rows, run);
    else
        team_steps(s->steps * phases_of(s), count,
                   GRAIN / (gates * PANEL * s->hidden * s->batch + 1) + 1, steps->panels, run);
}

static int run_cells(const struct kernel_recurrent_data *d, const struct kernel_recurrent *s,
                     const struct steps *steps)
{
    float *workspace = (float *)(void *)d->workspace;
    struct run run = {.count = s->directions};

    if (!fits(d, s))
        return recurrent_ref(d, s);
    for (int i = 0; i < run.count; i++) {
        struct cell *q = &run.cells[i];

        *q = (struct cell){.data = d, .shape = s, .direction = i};
        make_room(s, workspace + i * room_floats(s), &q->room);
        begin_cell(q, steps->gemm);
    }
    run_steps(&run, steps);
    for (int i = 0; i < run.count; i++)
        end_cell(&run.cells[i]);
    return 0;
}

size_t kernel_recurrent_room(const struct kernel_recurrent *shape)
{
    size_t plain = (size_t)shape->inputs + 8 * (size_t)shape->hidden, fast = 0;

    if (shape->dtype == KERNEL_F32)
        fast = (size_t)(shape->directions * room_floats(shape) + 1) / 2;
    return plain > fast ? plain : fast;
}

#define RECURRENT(isa)                                                                             \
    ISA_TARGET_##isa static void rows_##isa(void *run, int64_t begin, int64_t end)                 \
    {                                                                                              \
        do_rows(run, begin, end, &panels_##isa);                                                   \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void step_##isa(void *run, int64_t step, int64_t begin, int64_t end)   \
    {                                                                                              \
        do_panels(run, step, begin, end, &panels_##isa);                                           \
    }                                                                                              \
                                                                                                   \
    int recurrent_##isa(const struct kernel_recurrent_data *data,                                  \
                        const struct kernel_recurrent *shape)                                      \
    {                                                                                              \
        return run_cells(data, shape, &(struct steps){gemm_f32_##isa, rows_##isa, step_##isa});    \
    }

ISA_VERSIONS(RECURRENT)
