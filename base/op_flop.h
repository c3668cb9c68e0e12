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
 * ATen's as they call each other, for recordings that see results and nesting (op_flop_nested()):
 * these formulas, and those of more operators. One that calls another that counts must not count
 * too: a place says which of the two does.
 *
 *     convolutions            2 * elems(y) * elems(w) / w[0], transposed ones with x for y
 *     mm, bmm, addmm, ...     as above; mv, dot 2 * elems(a); linear 2 * elems(x) * w[0]
 *     scaled_dot_product_...  2 * elems(q) / e * s * (e + f): q [.., l, e], k [.., s, e], v [.., s, f]
 *
 * ONNX's, for load_and_run, traces and profiles alike. They count the arithmetic operations of the
 * operator's definition (onnx.ai/onnx/operators), whatever algorithm computes it. Where MegEngine
 * has a formula (element-wise, convolution, matrix product, pooling) it is that, so that figures can
 * be compared. An exponential, a root, a comparison, an activation is one operation. What only
 * moves, copies or chooses elements computes 0, where MegEngine counts the elements moved; so do If
 * and Loop, whose bodies' operators count for themselves. What depends on the content of tensors
 * (how often a cell is run by sequence_lens, which boxes overlap) counts as if nothing were left
 * out, or, of TopK and NonMaxSuppression, once for each element that is looked at.
 *
 *     element-wise            elems(y) * (max(operands, 2) - 1); Mean elems(y) * operands
 *     Conv, ConvInteger       elems(y) * 2 * channels / group * (size of the window)
 *     ConvTranspose           elems(x) * 2 * filters / group * (size of the window)
 *     MatMul, Gemm            2 * m * n * k * (size of the batch); so do their integer forms
 *       a bias                elems(y) more; alpha and beta, which kernels take in, nothing
 *     QLinearConv, QLinearMatMul   as above, and 3 * elems(y): scale, round, zero point
 *     Einsum                  (size of all labels together) * (operands - 1, and 1 for a sum)
 *     Attention               scores * (2 * size of a head + 1 + 5) + 2 * elems(y) * keys, scores
 *                             being batch * heads * queries * keys: q by k, scale, softmax, by v;
 *                             a mask adds scores; a causal one leaves nothing out, as in
 *                             PyTorch's FlopCounterMode
 *     LinearAttention         2 * elems(k) * d + 2 * elems(q) * d + elems(y), d the size of a head of
 *                             values; a decay elems(k) * d more, beta 2 * elems(k) * d
 *     CausalConvWithState     elems(y) * (2 * taps), a bias 1 and an activation 2 more
 *     RNN, GRU, LSTM          steps * batch * (2 * (elems(w) + elems(r)) + cells * gates * (1, with
 *                             biases 3) + cells * (1, 8, 9)): the equations of the operators,
 *                             cells = directions * hidden; peepholes are 6 * cells more
 *     MaxPool, AveragePool    elems(y) * (size of the window); global pools: elems(x)
 *     LpPool                  elems(y) * (2 * size of the window + 1)
 *     Softmax, LogSoftmax     5 * elems(y): maximum, difference, exponential, sum, quotient
 *     BatchNormalization      2 * elems(y): scale and shift, which follow from constants
 *     LayerNormalization      6 * elems(x), with a bias 7, and 5 for each row: mean, difference,
 *                             square, sum, quotient, scale; Group and Instance the same
 *     RMSNormalization        4 * elems(x), and 4 for each row
 *     MeanVarianceNormalization   5 * elems(x); LpNormalization 3 * elems(x)
 *     LRN                     elems(y) * (2 * size + 4)
 *     ReduceSum, Max, Min, Prod, ArgMax, CumSum, CumProd, Hardmax   elems(x)
 *     NegativeLogLikelihoodLoss   2 * elems(labels), with weights 3; SoftmaxCrossEntropyLoss
 *                             5 * elems(x) more
 *     ReduceMean, LogSum      elems(x) + elems(y);  L1, SumSquare  2 * elems(x)
 *     ReduceL2, LogSumExp, GlobalLpPool   2 * elems(x) + elems(y)
 *     QuantizeLinear          3 * elems(y); back 2 * elems(y); Dynamic 5 * elems(x)
 *     Resize, Upsample        nearest 0; 2 * elems(y) * taps, 2 (linear) or 4 (cubic) of them for
 *                             each axis whose size changes, times the shrinkage under antialias
 *     DeformConv              as Conv, and 2 * 2^axes * channels / offset group * elems(offset) / axes
 *     AffineGrid              2 * elems(y) * axes; Det 2 / 3 * rows * elems(x)
 *     GridSample              3 * elems(grid) + 2 * elems(y) * taps
 *     RoiAlign                9 * elems(y) * (sampling ratio squared; 1 where it adapts)
 *     RotaryEmbedding         3 for each element that is turned; Range 2 * elems(y)
 *     ScatterElements, ND     0, with a reduction elems(updates)
 *
 * ggml's, TensorFlow's, OpenVINO's and CTranslate2's, for recordings, of what multiplies
 * (op_flop_ggml(), ...):
 *
 *     MUL_MAT, MUL_MAT_ID     2 * elems(y) * k: w [.., m, k]
 *     FLASH_ATTN_EXT          2 * elems(q) / e * s * (e + f), whatever is masked or padded
 *     convolutions            2 * elems(y) * (weights of a channel): [out, in, ..] in ggml and
 *                             OpenVINO, [.., in, out] in TensorFlow
 *       their gradients       the same, by the gradient of y in place of y; a transposed
 *                             convolution of TensorFlow is the gradient of x
 *     MatMul, FullyConnected  2 * elems(a) * n, turned or not
 *     Gemm, Dense, Conv1D     2 * elems(y) * (what one element sums), whatever the type of weights
 *
 * Pure.
 */
#ifndef OPTRACE_BASE_OP_FLOP_H
#define OPTRACE_BASE_OP_FLOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* y: elements of the output. */
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

/* Attributes of an ONNX node, for the formulas that need them. */
struct op_flop_attributes {
    const void *node;
    /* The fallback where there is none. */
    double (*number)(const void *node, const char *name, double fallback);
    /* NULL where there is none; borrowed. */
    const char *(*text)(const void *node, const char *name);
    const int64_t *(*ints)(const void *node, const char *name, size_t *out_count);
};

/* Values of arguments that are no tensors, "[1, 1]" or "2", by the place of the argument. */
struct op_flop_call {
    const char *name; /* "aten::mm", "MatMul" */
    struct op_flop_shape inputs[OP_FLOP_TENSORS_MAX];
    size_t input_count; /* may be more than there is room for: of those only the count matters */
    struct op_flop_shape output;                 /* rank -1: not known */
    const char *scalars[OP_FLOP_TENSORS_MAX];    /* NULL: not known */
    const struct op_flop_attributes *attributes; /* NULL: not known; what needs one gives -1 */
};

/** The operations, or -1 where the name, a shape or an argument is not known, or the count is
 *  beyond 2^62. */
int64_t op_flop(const struct op_flop_call *call);

/** Which of operators that call each other counts. */
enum op_flop_place {
    OP_FLOP_NOWHERE,   /* the name is not known */
    OP_FLOP_OUTERMOST, /* it does, and nothing that it calls */
    OP_FLOP_INNERMOST, /* it does where nothing that it calls has */
};

/** The place of an operator of ATen, or of its extensions for CPUs. */
enum op_flop_place op_flop_nested_place(const char *name);

/** Operations of such an operator, its result being known; -1 as op_flop(). */
int64_t op_flop_nested(const struct op_flop_call *call);

/** Operations of an operator of ggml, by its tensors with the slowest of four dims first; of
 *  TensorFlow, as its kernels are called ("_FusedConv2D"); of OpenVINO, as its layers are
 *  ("Convolution"); of CTranslate2, as its classes are ("Dense"). -1 as op_flop(). */
int64_t op_flop_ggml(const struct op_flop_call *call);
int64_t op_flop_tensorflow(const struct op_flop_call *call);
int64_t op_flop_openvino(const struct op_flop_call *call);
int64_t op_flop_ctranslate2(const struct op_flop_call *call);

/** Whether it takes the result of such a kernel of TensorFlow to tell: of a convolution, and of the
 *  gradient of its weights. */
bool op_flop_tensorflow_needs_result(const char *name);

/** Whether the table has a name: else its shapes need not be read. */
bool op_flop_knows(const char *name);

#endif
