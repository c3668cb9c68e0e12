/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of operators, by shapes. */
#include "base/op_flop_private.h"

#include <stdlib.h>
#include <string.h>

#define input    op_flop_input
#define elements op_flop_elements

/* --- ATen. --- */

/* Two whole numbers of "[1, 2]", "[1]" or "1", which stand for both. */
static bool read_pair(const char *text, int64_t out_pair[2])
{
    char *end;

    if (!text)
        return false;
    text += *text == '[';
    out_pair[0] = out_pair[1] = strtoll(text, &end, 10);
    if (end == text)
        return false;
    if (*end == ',') {
        text = end + 1;
        out_pair[1] = strtoll(text, &end, 10);
    }
    return end != text;
}

/* conv2d(input, weight, bias, stride, padding, dilation, groups) */
static double aten_conv2d(const struct op_flop_call *call)
{
    const struct op_flop_shape *x = input(call, 0), *w = input(call, 1);
    int64_t stride[2], padding[2], dilation[2];
    double y;

    if (x->rank != 4 || w->rank != 4 || elements(x) < 0 || elements(w) < 0 || !w->dims[0] ||
        !read_pair(call->scalars[3], stride) || !read_pair(call->scalars[4], padding) ||
        !read_pair(call->scalars[5], dilation))
        return -1;
    y = (double)x->dims[0] * (double)w->dims[0];
    for (int i = 0; i < 2; i++) {
        double reach = (double)x->dims[2 + i] + 2.0 * (double)padding[i] -
                       (double)dilation[i] * ((double)w->dims[2 + i] - 1) - 1;

        if (stride[i] <= 0 || padding[i] < 0 || dilation[i] <= 0 || reach < 0 || reach > 1e15)
            return -1;
        y *= (double)((int64_t)reach / stride[i] + 1);
    }
    return 2 * y * elements(w) / (double)w->dims[0];
}

/* Of a product [.., m, k] x [.., k, n] whose first operand is at `first`. */
static double product(const struct op_flop_call *call, size_t first, int rank)
{
    const struct op_flop_shape *a = input(call, first), *b = input(call, first + 1);

    return a->rank != rank || b->rank != rank || elements(a) < 0 || elements(b) < 0 ||
                   a->dims[rank - 1] != b->dims[rank - 2]
               ? -1
               : 2 * elements(a) * (double)b->dims[rank - 1];
}

static double aten_mm(const struct op_flop_call *call)
{
    return product(call, 0, 2);
}

static double aten_addmm(const struct op_flop_call *call)
{
    return product(call, 1, 2);
}

static double aten_bmm(const struct op_flop_call *call)
{
    return product(call, 0, 3);
}

static double aten_baddbmm(const struct op_flop_call *call)
{
    return product(call, 1, 3);
}

static double first_elements(const struct op_flop_call *call)
{
    return elements(input(call, 0));
}

static const struct {
    const char *name;
    op_flop_fn *formula;
} aten[] = {
    {"aten::add", first_elements}, {"aten::addmm", aten_addmm},   {"aten::baddbmm", aten_baddbmm},
    {"aten::bmm", aten_bmm},       {"aten::conv2d", aten_conv2d}, {"aten::mm", aten_mm},
    {"aten::mul", first_elements},
};

static op_flop_fn *formula_of(const char *name)
{
    for (size_t i = 0; i < sizeof(aten) / sizeof(aten[0]); i++)
        if (strcmp(aten[i].name, name) == 0)
            return aten[i].formula;
    return op_flop_onnx(name);
}

bool op_flop_knows(const char *name)
{
    return formula_of(name) != NULL;
}

int64_t op_flop(const struct op_flop_call *call)
{
    op_flop_fn *formula = formula_of(call->name);

    return formula ? op_flop_rounded(formula(call)) : -1;
}
