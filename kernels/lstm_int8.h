/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract of an LSTM whose weights, inputs and states are multiplied as bytes: com.microsoft.DynamicQuantizeLSTM. Apart
 * from the kernel table: its versions are asked for by level. Its functions are the sigmoid and tanh.
 */
#ifndef OPTRACE_KERNELS_LSTM_INT8_H
#define OPTRACE_KERNELS_LSTM_INT8_H

#include "kernels/kernels.h"

enum { KERNEL_LSTM_INT8_GATES = 4, KERNEL_LSTM_INT8_MOST = 2048 }; /* elements of a state */

/** Weights of a direction [from, 4 * hidden], gates in the order of recurrent.h. */
struct kernel_lstm_int8_weights {
    bool is_signed;
    bool
        has_columns; /* a scale and a zero point for each column of each direction, else one of each direction */
};

struct kernel_lstm_int8 {
    int64_t steps, batch;
    int64_t inputs; /* 1 to 32768 */
    int64_t hidden; /* 1 to KERNEL_LSTM_INT8_MOST */
    int directions;
    bool is_reverse[KERNEL_DIRECTIONS];
    struct kernel_lstm_int8_weights w, r; /* of the inputs, of the state */
};

/** Those of one operand. Those said to be NULL may be. */
struct kernel_lstm_int8_bytes {
    const void *quanta; /* [directions, inputs or hidden, 4 * hidden] */
    const float *scale;
    const void *zero; /* NULL: 0 */
};

struct kernel_lstm_int8_data {
    float *y;               /* [steps, directions, batch, hidden]; NULL: not wanted */
    float *last_h, *last_c; /* [directions, batch, hidden]; likewise */
    const uint8_t *x;       /* [steps, batch, inputs] */
    const float *x_scale;
    const uint8_t *x_zero;
    struct kernel_lstm_int8_bytes w, r;
    const float *b;         /* [directions, 8 * hidden]: of inputs, of the state; NULL: 0 */
    const int32_t *lengths; /* [batch]; NULL: all steps; steps behind them give 0 */
    const float *initial_h, *initial_c; /* NULL: 0 */
    const void *packed; /* w and r by kernel_pack_lstm_int8(); the reference does not look at it */
    void *workspace;    /* kernel_lstm_int8_room() bytes, 64-byte aligned */
};

/** Bytes of the weights as versions want them, 64-byte aligned. */
size_t kernel_lstm_int8_packed(const struct kernel_lstm_int8 *shape);
void kernel_pack_lstm_int8(void *packed, const struct kernel_lstm_int8_bytes *w,
                           const struct kernel_lstm_int8_bytes *r,
                           const struct kernel_lstm_int8 *shape);

size_t kernel_lstm_int8_room(const struct kernel_lstm_int8 *shape);

/**
 * Before each step the state of each sequence, in f32, becomes bytes as quantize_dynamic_fn has it. Sums of products of
 * bytes are exact. Returns 0, or -1 when a length is not within [0, steps]. The versions agree with the reference to 1e-5
 * as long as no element of a state lies so near to the middle of two bytes that these differ.
 */
typedef int lstm_int8_fn(const struct kernel_lstm_int8_data *data,
                         const struct kernel_lstm_int8 *shape);
lstm_int8_fn lstm_int8_ref;

/** The fastest at or below a level. */
lstm_int8_fn *kernel_lstm_int8(enum kernel_level level, const char **out_version);

#endif
