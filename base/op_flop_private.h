/* SPDX-License-Identifier: Apache-2.0 */
/* What the formulas of op_flop.c and op_flop_onnx.c share. Counts are doubles: from 2^53 on they are
 * rounded, and nothing overflows; a negative one is not known. */
#ifndef OPTRACE_BASE_OP_FLOP_PRIVATE_H
#define OPTRACE_BASE_OP_FLOP_PRIVATE_H

#include "base/op_flop.h"

typedef double op_flop_fn(const struct op_flop_call *call);

/** Elements of a tensor; -1: a dim is not known, or there is no tensor. */
double op_flop_elements(const struct op_flop_shape *shape);

/** As the functions of op_flop.h give it. */
int64_t op_flop_rounded(double flop);

/** The shape of an input by its place; rank -1: not known, or left out. */
const struct op_flop_shape *op_flop_input(const struct op_flop_call *call, size_t place);

/** The formula of an ONNX operator; NULL: there is none of that name. */
op_flop_fn *op_flop_onnx(const char *name);

#endif
