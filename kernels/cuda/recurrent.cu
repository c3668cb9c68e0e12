/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RNN, GRU and LSTM of f32, f16 and bf16, computed in float32, and of f64: a launch for each step of all
 * sequences, of a GRU whose reset gate comes before its product two. A warp makes one element of a state.
 *
 * The workspace has, for each element of all states: two states in turn, the cell, what the reset
 * gate lets through, the update gate.
 */
#include "kernels/cuda/device.cuh"

/* Numbers as they are stored, and as they are computed in. */
template <typename R>
static __device__ __forceinline__ R get(const void *x, int dtype, int64_t i)
{
    if constexpr (sizeof(R) == sizeof(double))
        return ((const double *)x)[i];
    else
        return get_f32(x, dtype, i);
}

template <typename R>
static __device__ __forceinline__ void set(void *y, int dtype, int64_t i, R number)
{
    if constexpr (sizeof(R) == sizeof(double))
        ((double *)y)[i] = number;
    else
        set_f32(y, dtype, i, number, false);
}

/* An element of a state: of a direction, a sequence and a place in it. */
struct unit {
    int64_t direction, b, i;
    int64_t at;       /* among all */
    int64_t sequence; /* where its sequence's begin */
};

template <typename R>
struct states {
    R *h, *next, *c, *let_through, *update;
};

template <typename R>
static __device__ struct states<R> states_of(const struct kernel_recurrent_data *d,
                                             const struct kernel_recurrent *s, int64_t step) {
    int64_t all = s->directions * s->batch * s->hidden;
    R *first = (R *)(void *)d->workspace;

    return {first + step % 2 * all, first + (step + 1) % 2 * all, first + 2 * all, first + 3 * all,
            first + 4 * all};
}

static __device__ struct unit
unit_at(const struct kernel_recurrent *s, int64_t at)
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

template <typename R>
static __device__ R apply(const struct kernel_gate *gate, double clip, R x)
{
    R a = (R)gate->a, b = (R)gate->b, most = (R)clip;

    if (clip > 0.0)
        x = x < -most ? -most : x > most ? most : x;
    switch (gate->kind) {
    case GATE_AFFINE:
        return a * x + b;
    case GATE_ELU:
        return x < R(0) ? a * expm1(x) : x;
    case GATE_HARD_SIGMOID:
        x = a * x + b;
        return x < R(0) ? R(0) : x > R(1) ? R(1) : x;
    case GATE_LEAKY_RELU:
        return x < R(0) ? a * x : x;
    case GATE_RELU:
        return x < R(0) ? R(0) : x;
    case GATE_SCALED_TANH:
        return a * tanh(b * x);
    case GATE_SIGMOID:
        return R(1) / (R(1) + exp(-x));
    case GATE_SOFTPLUS:
        return x > R(0) ? x + log1p(exp(-x)) : log1p(exp(x));
    case GATE_SOFTSIGN:
        return x / (R(1) + fabs(x));
    case GATE_TANH:
        return tanh(x);
    case GATE_THRESHOLDED_RELU:
        return x > a ? x : R(0);
    }
    return x;
}

template <typename R>
static __device__ R sum_of_warp(R x)
{
    for (int d = 16; d; d /= 2)
        x += __shfl_xor_sync(EVERY_LANE, x, d);
    return x;
}

/* A warp's row of weights times what it is given, a part in each lane. */
template <typename R>
static __device__ __forceinline__ R weigh_input(const struct kernel_recurrent_data *d,
                                                const struct kernel_recurrent *s, int64_t row,
                                                int64_t x_at)
{
    R sum = R(0);

    for (int64_t k = threadIdx.x % 32; k < s->inputs; k += 32)
        sum =
            fma(get<R>(d->w, s->dtype, row * s->inputs + k), get<R>(d->x, s->dtype, x_at + k), sum);
    return sum;
}

template <typename R>
static __device__ __forceinline__ R weigh_state(const struct kernel_recurrent_data *d,
                                                const struct kernel_recurrent *s, int64_t row,
                                                const R *h)
{
    R sum = R(0);

    for (int64_t k = threadIdx.x % 32; k < s->hidden; k += 32)
        sum = fma(get<R>(d->r, s->dtype, row * s->hidden + k), h[k], sum);
    return sum;
}

/* part 0: the input's bias, 1: the state's. */
template <typename R>
static __device__ R bias_at(const struct kernel_recurrent_data *d, const struct kernel_recurrent *s,
                            const struct unit *u, int gates, int g, int part)
{
    int64_t row = (2 * u->direction + part) * gates + g;

    return d->b ? get<R>(d->b, s->dtype, row * s->hidden + u->i) : R(0);
}

template <typename R>
static __device__ R peephole(const struct kernel_recurrent_data *d,
                             const struct kernel_recurrent *s, const struct unit *u, int which)
{
    int64_t row = 3 * u->direction + which;

    return d->p ? get<R>(d->p, s->dtype, row * s->hidden + u->i) : R(0);
}

/* A step of a unit, as its warp sees it. */
template <typename R>
struct step {
    const struct kernel_recurrent_data *d;
    const struct kernel_recurrent *s;
    struct unit u;
    struct states<R> states;
    int gates;
    int64_t x_at;
};

template <typename R>
static __device__ int64_t row_of(const struct step<R> *q, int g)
{
    return (q->u.direction * q->gates + g) * q->s->hidden + q->u.i;
}

template <typename R>
static __device__ R gate(const struct step<R> *q, int function, R x)
{
    return apply<R>(&q->s->functions[q->u.direction][function], q->s->clip, x);
}

/* All that goes into gate g from input, state and biases; in every lane. */
template <typename R>
static __device__ R gate_sum(const struct step<R> *q, int g)
{
    R sum = weigh_input<R>(q->d, q->s, row_of(q, g), q->x_at) +
            weigh_state<R>(q->d, q->s, row_of(q, g), q->states.h + q->u.sequence);

    return sum_of_warp(sum) + bias_at<R>(q->d, q->s, &q->u, q->gates, g, 0) +
           bias_at<R>(q->d, q->s, &q->u, q->gates, g, 1);
}

/* What the new state is, in every lane. */
template <typename R>
static __device__ R step_gru(const struct step<R> *q, bool is_second)
{
    enum { UPDATE, RESET, HIDDEN };
    const struct kernel_recurrent *s = q->s;
    R old = q->states.h[q->u.at], update, let, sum, state, made;

    if (!is_second) {
        update = gate(q, 0, gate_sum(q, UPDATE));
        let = gate(q, 0, gate_sum(q, RESET));
    } else {
        update = q->states.update[q->u.at];
        let = R(1);
    }
    if (!is_second && !s->is_reset_last) {
        if (threadIdx.x % 32 == 0) {
            q->states.update[q->u.at] = update;
            q->states.let_through[q->u.at] = let * old;
        }
        return R(0);
    }
    sum = sum_of_warp(weigh_input<R>(q->d, s, row_of(q, HIDDEN), q->x_at)) +
          bias_at<R>(q->d, s, &q->u, q->gates, HIDDEN, 0);
    state = sum_of_warp(
                weigh_state<R>(q->d, s, row_of(q, HIDDEN),
                               (is_second ? q->states.let_through : q->states.h) + q->u.sequence)) +
            bias_at<R>(q->d, s, &q->u, q->gates, HIDDEN, 1);
    made = gate(q, 1, sum + let * state);
    return (R(1) - update) * made + update * old;
}

template <typename R>
static __device__ R step_lstm(const struct step<R> *q)
{
    enum { INPUT, OUTPUT, FORGET, CELL };
    enum { PEEP_INPUT, PEEP_OUTPUT, PEEP_FORGET };
    const struct kernel_recurrent *s = q->s;
    R c = q->states.c[q->u.at], in, out, made, forget, sums[4];

    for (int g = 0; g < 4; g++)
        sums[g] = gate_sum(q, g);
    in = gate(q, 0, sums[INPUT] + peephole<R>(q->d, s, &q->u, PEEP_INPUT) * c);
    forget = s->is_forget_one_minus
                 ? R(1) - in
                 : gate(q, 0, sums[FORGET] + peephole<R>(q->d, s, &q->u, PEEP_FORGET) * c);
    made = gate(q, 1, sums[CELL]);
    c = forget * c + in * made;
    out = gate(q, 0, sums[OUTPUT] + peephole<R>(q->d, s, &q->u, PEEP_OUTPUT) * c);
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

template <typename R>
static __device__ void keep_state(const struct step<R> *q, int64_t t, R h, R y)
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
        set<R>(q->d->y, s->dtype, to, y);
}

template <typename R>
static __device__ void take_step(const struct kernel_recurrent_data *d,
                                 const struct kernel_recurrent *s, int64_t index, bool is_second,
                                 int gates, int64_t units, const struct cuda_fault *fault)
{
    int64_t warp = grid_index() / 32, warps = grid_step() / 32;

    for (int64_t at = warp; at < units; at += warps) {
        struct step<R> q = {
            d, s, unit_at(s, at), states_of<R>(d, s, index), gates, 0
        };
        int64_t length = length_of(d, s, q.u.b, fault), t = index;
        R h;

        if (index >= length) { /* behind its end the state stays, and what is given is 0 */
            if (!is_second)
                keep_state(&q, t, q.states.h[at], R(0));
            continue;
        }
        if (s->is_reverse[q.u.direction])
            t = length - 1 - index;
        q.x_at = (s->is_batch_first ? q.u.b * s->steps + t : t * s->batch + q.u.b) * s->inputs;
        if (s->cell == CELL_GRU)
            h = step_gru(&q, is_second);
        else
            h = s->cell == CELL_LSTM ? step_lstm(&q) : gate(&q, 0, gate_sum(&q, 0));
        if (s->cell != CELL_GRU || is_second || s->is_reset_last)
            keep_state(&q, BUG == 30 ? index : t, h, h);
    }
}

/* States as they are given, or 0; and at the end as they are wanted. */
template <typename R>
static __device__ void move_states(const struct kernel_recurrent_data *d,
                                   const struct kernel_recurrent *s, bool is_end, int64_t units)
{
    struct states<R> states = states_of<R>(d, s, is_end ? s->steps : 0);

    for (int64_t i = grid_index(); i < units; i += grid_step()) {
        struct unit u = unit_at(s, i);
        int64_t at = outside_at(s, &u);

        if (!is_end) {
            states.h[i] = d->initial_h ? get<R>(d->initial_h, s->dtype, at) : R(0);
            states.c[i] = d->initial_c ? get<R>(d->initial_c, s->dtype, at) : R(0);
            continue;
        }
        if (d->last_h)
            set<R>(d->last_h, s->dtype, at, states.h[i]);
        if (d->last_c)
            set<R>(d->last_c, s->dtype, at, states.c[i]);
    }
}

#define RECURRENT_KERNELS_OF(R, suffix)                                                            \
    extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)                   \
        recurrent_step##suffix(struct kernel_recurrent_data d, struct kernel_recurrent s,          \
                               int64_t index, bool is_second, int gates, int64_t units,            \
                               struct cuda_fault fault)                                            \
    {                                                                                              \
        take_step<R>(&d, &s, index, is_second, gates, units, &fault);                              \
    }                                                                                              \
    KERNEL_EXPORT(recurrent_step##suffix)                                                          \
                                                                                                   \
    extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)                        \
        recurrent_states##suffix(struct kernel_recurrent_data d, struct kernel_recurrent s,        \
                                 bool is_end, int64_t units)                                       \
    {                                                                                              \
        move_states<R>(&d, &s, is_end, units);                                                     \
    }                                                                                              \
    KERNEL_EXPORT(recurrent_states##suffix)

RECURRENT_KERNELS_OF(float, )
RECURRENT_KERNELS_OF(double, _f64)
