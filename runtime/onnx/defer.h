/* SPDX-License-Identifier: Apache-2.0 */
/* Which initialisers may stay in their file until they are stored in half precision. */
#ifndef OPTRACE_RUNTIME_ONNX_DEFER_H
#define OPTRACE_RUNTIME_ONNX_DEFER_H

#include <stdbool.h>

struct Onnx__ModelProto;

/**
 * Those that are read as the weights of Conv, Gemm, MatMul and Gather alone: before they are stored so, only what
 * knows of deferred constants looks at them. None of a model with bodies or functions, in which names have
 * other scopes.
 *
 * out_may_defer  by initialiser of the model's graph, to be freed; NULL: none
 *
 * Returns 0 or -ENOMEM.
 */
int onnx_defer_choose(const struct Onnx__ModelProto *model, bool **out_may_defer);

#endif
