/* SPDX-License-Identifier: Apache-2.0 */
/* A model without the bytes of its parameters, which stay where they are: in a mapped file. */
#ifndef OPTRACE_RUNTIME_ONNX_CUT_H
#define OPTRACE_RUNTIME_ONNX_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/** The raw bytes of one initialiser. */
struct onnx_raw {
    const uint8_t *bytes; /* in the original; NULL: it has none */
    size_t size;
};

struct onnx_cut {
    ARRAY_OF(uint8_t) message;      /* the model, its initialisers without raw bytes */
    ARRAY_OF(struct onnx_raw) raws; /* by number of the initialiser in the model's graph */
};

/**
 * bytes  a ModelProto; borrowed as long as the raws are used
 *
 * Returns 0; -EINVAL for bytes that are no such message (a decoder of the whole says why), -ENOMEM.
 * onnx_cut_deinit() is right after either.
 */
int onnx_cut_init(struct onnx_cut *cut, const uint8_t *bytes, size_t size);
void onnx_cut_deinit(struct onnx_cut *cut);

#endif
