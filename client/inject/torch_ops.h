/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of PyTorch by what they are: the name alone, and the name with the shapes of arguments and
 * result, for which a key is written while the op runs.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_TORCH_OPS_H
#define OPTRACE_CLIENT_INJECT_TORCH_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/op_flop.h"
#include "client/inject/torch_layout.h"

struct torch_name {
    uint32_t op; /* of the name alone */
    bool is_label;
    bool is_in_place; /* gives back its first argument, of the shape that it had */
    enum op_flop_place place;
    char text[];
};

/** The name that libtorch gives, by its text. Never NULL while the recorder is open. */
const struct torch_name *torch_name_find(const char *text, bool is_label);

enum { TORCH_INPUTS_MAX = 8 };

/* What an op with shapes is told apart by. Tensors follow as TORCH_TENSOR_BYTES(rank) of each. */
struct torch_key {
    uint16_t kind;            /* tells these keys from others */
    uint8_t is_launched, pad; /* it called CUDA: what it computes is not done in its time */
    uint8_t input_count, output_count;
    bool counts;        /* its operations are counted here, not at another op */
    bool is_transposed; /* of a convolution that may be */
    const struct torch_name *name;
};

enum {
    TORCH_KEY_BYTES_MAX =
        sizeof(struct torch_key) + (TORCH_INPUTS_MAX + 1) * sizeof(struct torch_tensor)
};

/** Write the key of an op with these arguments. Returns its bytes. */
size_t torch_key_begin(struct torch_key *key, const struct torch_name *name,
                       struct torch_values inputs);

/** Add the result. Returns the bytes. */
size_t torch_key_end(struct torch_key *key, size_t bytes, struct torch_values outputs);

/** Whether the first argument is known, of an op whose name says that it gives that back. */
bool torch_key_is_in_place(const struct torch_key *key);

/** Add the first argument as the result. Returns the bytes. */
size_t torch_key_end_in_place(struct torch_key *key, size_t bytes);

/** The op of a key; 0 where it cannot be defined. */
uint32_t torch_op_find(const struct torch_key *key, size_t bytes);

#endif
