/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RNN, GRU and LSTM of f32, f16 and bf16, computed in float32: a launch for each step of all sequences,
 * of a GRU whose reset gate comes before its product two. A warp makes one element of a state.
 *
 * The workspace has, for each element of all states: two states in turn, the cell, what the reset
 * gate lets through, the update gate.
 */
#include "kernels/cuda/device.cuh"

/* An element of a state: of a direction, a sequence and a place in it. */
struct unit {
    int64_t direction, b, i;
    int64_t at;       /* among all */
    int64_t sequence; /* where its sequence's begin */
};

struct states {
    float *h, *next, *c, *let_through, *update;
};

static __device__ struct states states_of(const struct kernel_recurrent_data *d,
                                          const struct kernel_recurrent *s, int64_t step)
{
    int64_t all = s->directions * s->batch * s->hidden;
    float *first = (float *)(void *)d->workspace;

    return {first + step % 2 * all, first + (step + 1) % 2 * all, first + 2 * all, first + 3 * all,
            first + 4 * all};
}

static __device__ struct unit unit_at(const struct kernel_recurrent *s, int64_t at)
{
    struct unit u = {at / s->hidden / s->batch, at / s->hidden % s->batch, at % s->hidden, at, 0};

    u.sequence = at - u.i;
    return u;
}

/* Where a state that is given or wanted has it. */
static __device__ int64_t outside_at(const struct kernel_recurrent *s, const struct unit *u)
{
    return (s->is_batch_first ? u->b * s->directions + u->direction
                              : u->direction * s->batch + u->b) *
               s->hidden +
           u->i;
}

static __device__ float apply(const struct kernel_gate *gate, double clip, float x)
{
    float a = (float)gate->a, b = (float)gate->b, most = (float)clip;

    if (clip > 0.0)
        x = x < -most ? -most : x > most ? most : x;
    switch (gate->kind) {
    case GATE_AFFINE:
        return a * x + b;
    case GATE_ELU:
        return x < 0.0f ? a * expm1f(x) : x;
    case GATE_HARD_SIGMOID:
        x = a * x + b;
        return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
    case GATE_LEAKY_RELU:
        return x < 0.0f ? a * x : x;
    case GATE_RELU:
        return x < 0.0f ? 0.0f : x;
    case GATE_SCALED_TANH:
        return a * tanhf(b * x);
    case GATE_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    case GATE_SOFTPLUS:
        return x > 0.0f ? x + log1pf(expf(-x)) : log1pf(expf(x));
    case GATE_SOFTSIGN:
        return x / (1.0f + fabsf(x));
    case GATE_TANH:
        return tanhf(x);
    case GATE_THRESHOLDED_RELU:
        return x > a ? x : 0.0f;
    }
    return x;
}

static __device__ float sum_of_warp(float x)
{
    for (int d = 16; d; d /= 2)
        x += __shfl_xor_sync(EVERY_LANE, x, d);
    return x;
}

/* A warp's row of weights times what it is given, a part in each lane. */
static __device__ __forceinline__ float weigh_input(const struct kernel_recurrent_data *d,
                                                    const struct kernel_recurrent *s, int64_t row,
                                                    int64_t x_at)
{
    float sum = 0.0f;

    for (int64_t k = threadIdx.x % 32; k < s->inputs; k += 32)
        sum = fmaf(get_f32(d->w, s->dtype, row * s->inputs + k), get_f32(d->x, s->dtype, x_at + k),
                   sum);
    return sum;
}

static __device__ __forceinline__ float weigh_state(const struct kernel_recurrent_data *d,
                                                    const struct kernel_recurrent *s, int64_t row,
                                                    const float *h)
{
    float sum = 0.0f;

    for (int64_t k = threadIdx.x % 32; k < s->hidden; k += 32)
        sum = fmaf(get_f32(d->r, s->dtype, row * s->hidden + k), h[k], sum);
    return sum;
}

/* part 0: the input's bias, 1: the state's. */
static __device__ float bias_at(const struct kernel_recurrent_data *d,
                                const struct kernel_recurrent *s, const struct unit *u, int gates,
                                int g, int part)
{
    int64_t row = (2 * u->direction + part) * gates + g;

    return d->b ? get_f32(d->b, s->dtype, row * s->hidden + u->i) : 0.0f;
}

static __device__ float peephole(const struct kernel_recurrent_data *d,
                                 const struct kernel_recurrent *s, const struct unit *u, int which)
{
    int64_t row = 3 * u->direction + which;

    return d->p ? get_f32(d->p, s->dtype, row * s->hidden + u->i) : 0.0f;
}

/* A step of a unit, as its warp sees it. */
struct step {
    const struct kernel_recurrent_data *d;
    const struct kernel_recurrent *s;
    struct unit u;
    struct states states;
    int gates;
    int64_t x_at;
};

static __device__ int64_t row_of(const struct step *q, int g)
{
    return (q->u.direction * q->gates + g) * q->s->hidden + q->u.i;
}

static __device__ float gate(const struct step *q, int function, float x)
{
    return apply(&q->s->functions[q->u.direction][function], q->s->clip, x);
}

/* All that goes into gate g from input, state and biases; in every lane. */
static __device__ float gate_sum(const struct step *q, int g)
{
    float sum = weigh_input(q->d, q->s, row_of(q, g), q->x_at) +
                weigh_state(q->d, q->s, row_of(q, g), q->states.h + q->u.sequence);

    return sum_of_warp(sum) + bias_at(q->d, q->s, &q->u, q->gates, g, 0) +
           bias_at(q->d, q->s, &q->u, q->gates, g, 1);
}

/* What the new state is, in every lane. */
static __device__ float step_gru(const struct step *q, bool is_second)
{
    enum { UPDATE, RESET, HIDDEN };
    const struct kernel_recurrent *s = q->s;
    float old = q->states.h[q->u.at], update, let, sum, state, made;

    if (!is_second) {
        update = gate(q, 0, gate_sum(q, UPDATE));
        let = gate(q, 0, gate_sum(q, RESET));
    } else {
        update = q->states.update[q->u.at];
        let = 1.0f;
    }
    if (!is_second && !s->is_reset_last) {
        if (threadIdx.x % 32 == 0) {
            q->states.update[q->u.at] = update;
            q->states.let_through[q->u.at] = let * old;
        }
        return 0.0f;
    }
    sum = sum_of_warp(weigh_input(q->d, s, row_of(q, HIDDEN), q->x_at)) +
          bias_at(q->d, s, &q->u, q->gates, HIDDEN, 0);
    state = sum_of_warp(
                weigh_state(q->d, s, row_of(q, HIDDEN),
                            (is_second ? q->states.let_through : q->states.h) + q->u.sequence)) +
            bias_at(q->d, s, &q->u, q->gates, HIDDEN, 1);
    made = gate(q, 1, sum + let * state);
    return (1.0f - update) * made + update * old;
}

static __device__ float step_lstm(const struct step *q)
{
    enum { INPUT, OUTPUT, FORGET, CELL };
    enum { PEEP_INPUT, PEEP_OUTPUT, PEEP_FORGET };
    const struct kernel_recurrent *s = q->s;
    float c = q->states.c[q->u.at], in, out, made, forget, sums[4];

    for (int g = 0; g < 4; g++)
        sums[g] = gate_sum(q, g);
    in = gate(q, 0, sums[INPUT] + peephole(q->d, s, &q->u, PEEP_INPUT) * c);
    forget = s->is_forget_one_minus
                 ? 1.0f - in
                 : gate(q, 0, sums[FORGET] + peephole(q->d, s, &q->u, PEEP_FORGET) * c);
    made = gate(q, 1, sums[CELL]);
    c = forget * c + in * made;
    out = gate(q, 0, sums[OUTPUT] + peephole(q->d, s, &q->u, PEEP_OUTPUT) * c);
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        q->states.c[q->u.at] = c;
    return out * gate(q, 2, c);
}

static __device__ int64_t length_of(const struct kernel_recurrent_data *d,
                                    const struct kernel_recurrent *s, int64_t b,
                                    const struct cuda_fault *fault)
{
    int64_t length = d->lengths ? d->lengths[b] : s->steps;

    if (length >= 0 && length <= s->steps)
        return length;
    atomicCAS(fault->word, 0u, fault->mark);
    return 0;
}

static __device__ void keep_state(const struct step *q, int64_t t, float h, float y)
{
    const struct kernel_recurrent *s = q->s;
    int64_t to = (s->is_batch_first ? (q->u.b * s->steps + t) * s->directions + q->u.direction
                                    : (t * s->directions + q->u.direction) * s->batch + q->u.b) *
                     s->hidden +
                 q->u.i;

    if (threadIdx.x % 32 != 0)
        return;
    q->states.next[q->u.at] = h;
    if (q->d->y)
        set_f32(q->d->y, s->dtype, to, y, false);
}

extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    recurrent_step(struct kernel_recurrent_data d, struct kernel_recurrent s, int64_t index,
                   bool is_second, int gates, int64_t units, struct cuda_fault fault)
{
    int64_t warp = grid_index() / 32, warps = grid_step() / 32;

    for (int64_t at = warp; at < units; at += warps) {
        struct step q = {&d, &s, unit_at(&s, at), states_of(&d, &s, index), gates, 0};
        int64_t length = length_of(&d, &s, q.u.b, &fault), t = index;
        float h;

        if (index >= length) { /* behind its end the state stays, and what is given is 0 */
            if (!is_second)
                keep_state(&q, t, q.states.h[at], 0.0f);
            continue;
        }
        if (s.is_reverse[q.u.direction])
            t = length - 1 - index;
        q.x_at = (s.is_batch_first ? q.u.b * s.steps + t : t * s.batch + q.u.b) * s.inputs;
        if (s.cell == CELL_GRU)
            h = step_gru(&q, is_second);
        else
            h = s.cell == CELL_LSTM ? step_lstm(&q) : gate(&q, 0, gate_sum(&q, 0));
        if (s.cell != CELL_GRU || is_second || s.is_reset_last)
            keep_state(&q, BUG == 30 ? index : t, h, h);
    }
}
KERNEL_EXPORT(recurrent_step)

/* States as they are given, or 0; and at the end as they are wanted. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    recurrent_states(struct kernel_recurrent_data d, struct kernel_recurrent s, bool is_end,
                     int64_t units)
{
    struct states states = states_of(&d, &s, is_end ? s.steps : 0);

    for (int64_t i = grid_index(); i < units; i += grid_step()) {
        struct unit u = unit_at(&s, i);
        int64_t at = outside_at(&s, &u);

        if (!is_end) {
            states.h[i] = d.initial_h ? get_f32(d.initial_h, s.dtype, at) : 0.0f;
            states.c[i] = d.initial_c ? get_f32(d.initial_c, s.dtype, at) : 0.0f;
            continue;
        }
        if (d.last_h)
            set_f32(d.last_h, s.dtype, at, states.h[i], false);
        if (d.last_c)
            set_f32(d.last_c, s.dtype, at, states.c[i], false);
    }
}
KERNEL_EXPORT(recurrent_states)
