/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ATen as they call each other, by the shapes of their arguments and results. */
#include "base/op_flop_private.h"

#include <string.h>

#define input    op_flop_input
#define elements op_flop_elements

/* a tensor of `rank` dims, all known */
static bool has_rank(const struct op_flop_shape *shape, int rank)
{
    return shape->rank == rank && elements(shape) >= 0;
}

/* y by w: each element of the result, each weight of its channel */
static double convolution(const struct op_flop_call *call)
{
    const struct op_flop_shape *w = input(call, 1);
    const double y = elements(&call->output);

    return w->rank < 2 || elements(w) < 0 || w->dims[0] == 0 || y < 0
               ? -1
               : 2 * y * elements(w) / (double)w->dims[0];
}

/* x by w: each element of the input, each weight that it is multiplied with */
static double transposed(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0), *w = input(call, 1);

    return w->rank < 2 || elements(w) < 0 || w->dims[0] == 0 || elements(x) < 0
               ? -1
               : 2 * elements(x) * elements(w) / (double)w->dims[0];
}

/* aten::convolution(x, w, bias, stride, padding, dilation, transposed, ...) */
static double convolution_of_both(const struct op_flop_call *call)
{
    const char *is_transposed = call->scalars[6];

    if (!is_transposed)
        return -1;
    return strcmp(is_transposed, "True") == 0 ? transposed(call) : convolution(call);
}

/* [.., m, k] x [.., k, n] whose first operand is at `first` */
static double product(const struct op_flop_call *call, size_t first, int rank)
{
    const struct op_flop_shape *a = input(call, first), *b = input(call, first + 1);

    return !has_rank(a, rank) || !has_rank(b, rank) || a->dims[rank - 1] != b->dims[rank - 2]
               ? -1
               : 2 * elements(a) * (double)b->dims[rank - 1];
}

static double mm(const struct op_flop_call *call)
{
    return product(call, 0, 2);
}

static double addmm(const struct op_flop_call *call)
{
    return product(call, 1, 2);
}

static double bmm(const struct op_flop_call *call)
{
    return product(call, 0, 3);
}

static double baddbmm(const struct op_flop_call *call)
{
    return product(call, 1, 3);
}

/* mv(a, x), dot(a, b) */
static double by_vector(const struct op_flop_call *call)
{
    const double a = elements(input(call, 0));

    return a < 0 ? -1 : 2 * a;
}

/* addmv(y, a, x) */
static double add_by_vector(const struct op_flop_call *call)
{
    const double a = elements(input(call, 1));

    return a < 0 ? -1 : 2 * a;
}

/* linear(x, w [out, in], bias) */
static double linear(const struct op_flop_call *call)
{
    const double x = elements(input(call, 0));
    const struct op_flop_shape *w = input(call, 1);

    return x < 0 || !has_rank(w, 2) ? -1 : 2 * x * (double)w->dims[0];
}

/* q [.., l, e], k [.., s, e], v [.., s, f]: q by k, and that by v; a mask leaves nothing out */
static double attention(const struct op_flop_call *call)
{
    const struct op_flop_shape *q = input(call, 0), *k = input(call, 1), *v = input(call, 2);
    const int last = q->rank - 1;

    if (q->rank < 3 || !has_rank(k, q->rank) || !has_rank(v, q->rank) || elements(q) < 0 ||
        q->dims[last] == 0)
        return -1;
    return 2 * (elements(q) / (double)q->dims[last]) * (double)k->dims[last - 1] *
           (double)(q->dims[last] + v->dims[last]);
}

static double first_elements(const struct op_flop_call *call)
{
    return elements(input(call, 0));
}

static const struct {
    const char *name;
    op_flop_fn *formula;
    enum op_flop_place place;
} rows[] = {
    {"aten::_addmm_activation", addmm, OP_FLOP_OUTERMOST},
    {"aten::_conv_depthwise2d", convolution, OP_FLOP_OUTERMOST},
    {"aten::_convolution", convolution_of_both, OP_FLOP_OUTERMOST},
    {"aten::_scaled_dot_product_cudnn_attention", attention, OP_FLOP_INNERMOST},
    {"aten::_scaled_dot_product_efficient_attention", attention, OP_FLOP_INNERMOST},
    {"aten::_scaled_dot_product_flash_attention", attention, OP_FLOP_INNERMOST},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", attention, OP_FLOP_INNERMOST},
    {"aten::add", first_elements, OP_FLOP_OUTERMOST},
    {"aten::addmm", addmm, OP_FLOP_OUTERMOST},
    {"aten::addmv", add_by_vector, OP_FLOP_OUTERMOST},
    {"aten::baddbmm", baddbmm, OP_FLOP_OUTERMOST},
    {"aten::bmm", bmm, OP_FLOP_OUTERMOST},
    {"aten::conv1d", convolution, OP_FLOP_OUTERMOST},
    {"aten::conv2d", convolution, OP_FLOP_OUTERMOST},
    {"aten::conv3d", convolution, OP_FLOP_OUTERMOST},
    {"aten::conv_transpose1d", transposed, OP_FLOP_OUTERMOST},
    {"aten::conv_transpose2d", transposed, OP_FLOP_OUTERMOST},
    {"aten::conv_transpose3d", transposed, OP_FLOP_OUTERMOST},
    {"aten::convolution", convolution_of_both, OP_FLOP_OUTERMOST},
    {"aten::cudnn_convolution", convolution, OP_FLOP_OUTERMOST},
    {"aten::dot", by_vector, OP_FLOP_OUTERMOST},
    {"aten::linear", linear, OP_FLOP_INNERMOST},
    {"aten::mkldnn_convolution", convolution, OP_FLOP_OUTERMOST},
    {"aten::mm", mm, OP_FLOP_OUTERMOST},
    {"aten::mul", first_elements, OP_FLOP_OUTERMOST},
    {"aten::mv", by_vector, OP_FLOP_OUTERMOST},
    {"aten::scaled_dot_product_attention", attention, OP_FLOP_INNERMOST},
    {"aten::thnn_conv2d", convolution, OP_FLOP_OUTERMOST},
    {"mkl::_mkl_linear", linear, OP_FLOP_OUTERMOST},
    {"mkldnn::_convolution_pointwise", convolution, OP_FLOP_OUTERMOST},
    {"mkldnn::_linear_pointwise", linear, OP_FLOP_OUTERMOST},
};

enum op_flop_place op_flop_nested_place(const char *name)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].place;
    }
    return OP_FLOP_NOWHERE;
}

int64_t op_flop_nested(const struct op_flop_call *call)
{
    double flop = -1;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, call->name) == 0)
            flop = rows[i].formula(call);
    }
    return flop >= 0 && flop < 0x1p62 ? (int64_t)(flop + 0.5) : -1;
}
