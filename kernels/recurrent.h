/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract of the recurrent layers RNN, GRU and LSTM over reals. What is common to all contracts
 * stands in kernels.h, which includes this. The reference computes in f64 from beginning to end and
 * rounds once where it is stored; the versions compute f32 in f32, and f64 in
 * f64.
 */
#ifndef OPTRACE_KERNELS_RECURRENT_H
#define OPTRACE_KERNELS_RECURRENT_H

#include "kernels/dtype.h"

/** Gates in the order of the weights: RNN has one; GRU update, reset, hidden; LSTM input, output,
 *  forget, cell. */
enum kernel_cell { CELL_RNN, CELL_GRU, CELL_LSTM };

enum kernel_gate_kind {
    GATE_AFFINE, /* a * x + b */
    GATE_ELU,
    GATE_HARD_SIGMOID,
    GATE_LEAKY_RELU,
    GATE_RELU,
    GATE_SCALED_TANH, /* a * tanh(b * x) */
    GATE_SIGMOID,
    GATE_SOFTPLUS,
    GATE_SOFTSIGN,
    GATE_TANH,
    GATE_THRESHOLDED_RELU,
};

struct kernel_gate {
    enum kernel_gate_kind kind;
    double a, b;
};

enum { KERNEL_CELL_GATES = 4, KERNEL_CELL_FUNCTIONS = 3, KERNEL_DIRECTIONS = 2 };

/** Gates of a cell: rows of its weights for each hidden element. */
int kernel_cell_gates(enum kernel_cell cell);

struct kernel_recurrent {
    enum kernel_cell cell;
    enum kernel_dtype dtype;
    int64_t steps, batch, inputs, hidden;
    int directions;
    bool is_reverse[KERNEL_DIRECTIONS];
    bool is_batch_first;      /* x [batch, steps, ...], y [batch, steps, directions, ...], states
                                 [batch, directions, ...]; else [steps, batch, ...],
                                 [steps, directions, batch, ...], [directions, batch, ...] */
    bool is_reset_last;       /* GRU: the reset gate is applied after the hidden's product */
    bool is_forget_one_minus; /* LSTM: forget = 1 - input */
    double clip;              /* of what goes into the functions; 0: none */
    /* By direction: RNN f; GRU f of update and reset, g; LSTM f of the gates, g, h. */
    struct kernel_gate functions[KERNEL_DIRECTIONS][KERNEL_CELL_FUNCTIONS];
};

/** Those said to be NULL may be. w [directions, gates * hidden, inputs], r [directions, gates *
 *  hidden, hidden], b [directions, 2 * gates * hidden], p [directions, 3 * hidden]. */
struct kernel_recurrent_data {
    void *y, *last_h, *last_c; /* NULL: not wanted */
    const void *x, *w, *r;
    const void *b;                     /* NULL: 0 */
    const int32_t *lengths;            /* NULL: all steps; steps behind them give 0 */
    const void *initial_h, *initial_c; /* NULL: 0 */
    const void *p;                     /* NULL: 0; LSTM */
    const float *packed;               /* NULL; r by kernel_pack_recurrent() */
    double *workspace;                 /* kernel_recurrent_room() numbers */
};

/** Bytes of r as versions want it; 0: they take it as it is. */
size_t kernel_recurrent_packed(const struct kernel_recurrent *shape);
void kernel_pack_recurrent(float *packed, const void *r, const struct kernel_recurrent *shape);

size_t kernel_recurrent_room(const struct kernel_recurrent *shape);

/** The same of a device's kernel, which has all sequences at work at once. */
static inline size_t kernel_recurrent_device_room(const struct kernel_recurrent *shape)
{
    size_t numbers = (size_t)(5 * shape->directions * shape->batch * shape->hidden);

    return shape->dtype == KERNEL_F64 ? numbers : (numbers + 1) / 2;
}

/** Returns 0, or -1 when a length is not within [0, steps]. The versions agree with the reference to
 *  1e-5, of f64 to 1e-12, where a step does not enlarge differences. */
typedef int recurrent_fn(const struct kernel_recurrent_data *data,
                         const struct kernel_recurrent *shape);

/* See KERNEL_DECLARE(). */
#define RECURRENT_KERNELS(KERNEL) KERNEL(recurrent, EACH)
RECURRENT_KERNELS(KERNEL_DECLARE);

#endif
