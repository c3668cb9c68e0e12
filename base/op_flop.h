/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many operations an operator computes, by its name and the shapes of its tensors: for traces
 * that know shapes and no operations. One table for the names that different tools have.
 *
 * A multiply and an add are two operations. elems(t) is the number of elements of t, x the first
 * input, w the second, y the output, all as far as the source knows them.
 *
 * ATen's, as PyTorch's profiler counts them with with_flops=True (torch/csrc/profiler/util.cpp):
 * these operators, and no others, so that its tables come out; what they call counts nothing, so
 * that nothing counts twice.
 *
 *     aten::conv2d              2 * elems(y) * elems(w) / w[0]; y from stride, padding, dilation
 *     aten::mm, aten::addmm     2 * elems(a) * b[1]
 *     aten::bmm, aten::baddbmm  2 * elems(a) * b[2]
 *     aten::mul, aten::add      elems(x)
 *
 * ONNX's, by the formulas that load_and_run has, too (FLOP_OF_... below). They are MegEngine's
 * where it has one (element-wise, Conv, matrix product, global pooling), so that figures can be
 * compared; ours, where it has none: a bias adds elems(y), BatchNormalization is a scale and a
 * shift, which follow from constants, Softmax maximum, difference, exponential, sum and quotient.
 * What only moves elements computes 0, where MegEngine counts the elements moved.
 *
 * Pure.
 */
#ifndef OPTRACE_BASE_OP_FLOP_H
#define OPTRACE_BASE_OP_FLOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* y: elements of the output. The type is that of the caller's sums: int64_t, double. */
#define FLOP_OF_ELEMENTWISE(y, operands)     ((y) * (((operands) < 2 ? 2 : (operands)) - 1))
#define FLOP_OF_PRODUCT(y, summed, is_added) (2 * (y) * (summed) + ((is_added) ? (y) : 0))
#define FLOP_OF_CONV(y, window, has_bias)    FLOP_OF_PRODUCT(y, window, has_bias)
#define FLOP_OF_BATCH_NORM(y)                (2 * (y))
#define FLOP_OF_SOFTMAX(y)                   (5 * (y))

enum { OP_FLOP_TENSORS_MAX = 16, OP_FLOP_RANK_MAX = 8 };

struct op_flop_shape {
    int rank; /* -1: not known, or no tensor */
    int64_t dims[OP_FLOP_RANK_MAX];
};

/* Values of arguments that are no tensors, "[1, 1]" or "2", by the place of the argument. */
struct op_flop_call {
    const char *name; /* "aten::mm", "MatMul" */
    struct op_flop_shape inputs[OP_FLOP_TENSORS_MAX];
    size_t input_count;
    struct op_flop_shape output;              /* rank -1: not known */
    const char *scalars[OP_FLOP_TENSORS_MAX]; /* NULL: not known */
};

/** The operations, or -1 where the name, a shape or an argument is not known, or the count is
 *  beyond 2^62. */
int64_t op_flop(const struct op_flop_call *call);

/** Whether the table has a name: else its shapes need not be read. */
bool op_flop_knows(const char *name);

#endif
