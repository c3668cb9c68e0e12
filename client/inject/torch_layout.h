/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libtorch has the arguments and results of an op, and a tensor its sizes. No two releases
 * agree, and no header of theirs is used: exported accessors are let read buffers of ours, and tell
 * by what they answer which words they read. Tensors of the program are then read directly, never by
 * these accessors, which may run Python code, or make a compiler forget what it knew.
 *
 * Inside client/inject only.
 */
#ifndef OPTRACE_CLIENT_INJECT_TORCH_LAYOUT_H
#define OPTRACE_CLIENT_INJECT_TORCH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TORCH_DIMS_MAX = 8, TORCH_SCALAR_NONE = -1 };

/* As keys of ops hold it: no padding. */
struct torch_tensor {
    int16_t place; /* of the argument */
    int16_t rank;  /* -1: not known, as of tensors that compute their sizes when asked */
    int32_t dtype; /* as PyTorch numbers them; -1: not known */
    int64_t dims[TORCH_DIMS_MAX];
};

/* Bytes of it that count. */
#define TORCH_TENSOR_BYTES(rank)                                                                   \
    (offsetof(struct torch_tensor, dims) + (size_t)((rank) > 0 ? (rank) : 0) * sizeof(int64_t))

/* IValue, as it has been in all releases. */
struct torch_value {
    const unsigned char *payload;
    uint32_t tag;
    uint32_t padding;
};
enum { TORCH_TAG_NONE, TORCH_TAG_TENSOR, TORCH_TAG_TRUTH = 5 };

struct torch_values {
    const struct torch_value *items;
    size_t count;
};

/** Find out by the accessors of this library. False: names and times are all that is known. Once,
 *  before anything else here is called. */
bool torch_layout_find(void *library);

/** Whether that library has the accessors, so that it ought to have been found out. */
bool torch_layout_is_expected(void);

struct torch_values torch_layout_inputs(const void *function);
struct torch_values torch_layout_outputs(const void *function);

/** Fill in what a value has, if it is a tensor; `place` is its number. Returns false when it is
 *  none. */
bool torch_layout_read(struct torch_values values, size_t place, struct torch_tensor *out_tensor);

/** Whether an argument is true, of those that are truth values. */
bool torch_layout_is_true(struct torch_values values, size_t place);

/** Values were seen that cannot be: what was found out is wrong, and is to be used no more. */
bool torch_layout_is_broken(void);

#endif
