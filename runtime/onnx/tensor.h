/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX tensors: from the messages of a model, and from the files of a test data set. */
#ifndef OPTRACE_RUNTIME_ONNX_TENSOR_H
#define OPTRACE_RUNTIME_ONNX_TENSOR_H

#include "base/diag.h"
#include "runtime/graph/graph.h"
#include "runtime/onnx/cut.h"

struct Onnx__TensorProto;

/** For a tensor whose bytes lie outside of its message. */
struct onnx_share {
    struct graph *graph;        /* which unmaps at its end what is mapped for the tensor */
    const struct onnx_raw *raw; /* bytes that were cut out of the message; raw->bytes NULL: none */
    bool may_share;             /* they may stay there */
    bool may_defer;   /* they may stay there for now, if they are large: see value_defer_data() */
    bool is_mapped;   /* raw lies in a mapped file: copied pages of it are given back */
    bool is_shared;   /* result: the data is a part of a mapped file */
    bool is_deferred; /* result: shared, and deferred */
};

/**
 * Copy a message into a tensor, checking dims, type and length.
 *
 * proto      its raw bytes are given back early, so that a large model is not held twice
 * folder_fd  where data files lie, or -1 to refuse external data
 * what       for messages: "initialiser 'w1'"
 * out_view   the caller frees out_view->data
 *
 * Returns 0, -EINVAL (damaged), -ENOTSUP (unknown types), -EACCES (a data file outside the
 * folder), -ENOMEM, or what opening the data file says.
 */
int onnx_tensor_from_proto(struct Onnx__TensorProto *proto, int folder_fd, const char *what,
                           struct tensor_view *out_view, struct diag *diag);

/** The same from outside of the message; without copying where that is allowed and the data is
 *  aligned for its type, and no bool: those are made 0 and 1. share->is_shared says whether the
 * caller frees out_view->data. */
int onnx_tensor_share(struct Onnx__TensorProto *proto, int folder_fd, const char *what,
                      struct onnx_share *share, struct tensor_view *out_view, struct diag *diag);

/** Read a file that holds one TensorProto, such as input_0.pb. out_name (may be NULL): the tensor's
 *  name, "" if it has none; the caller frees both. Errors name the path. */
int onnx_tensor_load(const char *path, struct tensor_view *out_view, char **out_name,
                     struct diag *diag);

/** The tensors in a file of another kind. */
struct onnx_parts {
    struct tensor_view *items; /* the caller frees them, and the data of each */
    size_t count;
    bool is_empty; /* an optional that holds nothing */
};

enum { ONNX_PARTS_MAX = 4096 };

/** Read a file that holds one SequenceProto, or with `is_optional` an OptionalProto with a tensor, a sequence
 *  (is_sequence) or nothing. */
int onnx_parts_load(const char *path, bool is_sequence, bool is_optional,
                    struct onnx_parts *out_parts, struct diag *diag);

/** The same from bytes in memory. Outside of its file, for tests. */
int onnx_parts_parse(const uint8_t *bytes, size_t size, bool is_sequence, bool is_optional,
                     struct onnx_parts *out_parts, struct diag *diag);

void onnx_parts_deinit(struct onnx_parts *parts);

/** onnx_tensor_load() from bytes in memory; `what` as above. Outside of its file, for tests. */
int onnx_tensor_parse(const uint8_t *bytes, size_t size, const char *what,
                      struct tensor_view *out_view, char **out_name, struct diag *diag);

#endif
