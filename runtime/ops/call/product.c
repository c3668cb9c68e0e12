/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products over every type, quantised ones, and Einsum. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/einsum.h"

/* The inputs by their role; -1: the operator has none. */
struct roles {
    int a, b, c, a_zero, b_zero, y_zero, a_scale, b_scale, y_scale;
};

struct product_params {
    product_fn *fn;
    product_int8_fn *int8_fn; /* or NULL */
    void *packed;             /* for int8_fn, part of the params; or NULL */
    struct roles roles;
    struct kernel_product shape;
};

static const void *data_of(const struct call *call, int input)
{
    return input < 0 ? NULL : call->inputs[input];
}

static int run_product(const struct call *call)
{
    const struct product_params *p = call->params;
    struct kernel_product_data data = {
        .y = call->outputs[0],
        .a = data_of(call, p->roles.a),
        .b = data_of(call, p->roles.b),
        .c = data_of(call, p->roles.c),
        .a_zero = data_of(call, p->roles.a_zero),
        .b_zero = data_of(call, p->roles.b_zero),
        .y_zero = data_of(call, p->roles.y_zero),
        .a_scale = data_of(call, p->roles.a_scale),
        .b_scale = data_of(call, p->roles.b_scale),
        .y_scale = data_of(call, p->roles.y_scale),
    };

    if (p->int8_fn)
        p->int8_fn(&data, p->packed, &p->shape, call->workspace);
    else
        p->fn(&data, &p->shape);
    return 0;
}

static void take_geometry(const struct kernel_gemm *from, struct kernel_product *to)
{
    to->m = from->m;
    to->n = from->n;
    to->k = from->k;
    to->trans_a = from->trans_a;
    to->trans_b = from->trans_b;
    to->alpha = (double)from->alpha;
    to->beta = (double)from->beta;
    to->c_row_stride = from->c_row_stride;
    to->c_col_stride = from->c_col_stride;
    to->batch_rank = from->batch_rank;
    memcpy(to->batch_dims, from->batch_dims, sizeof(to->batch_dims));
    memcpy(to->a_batch_stride, from->a_batch_stride, sizeof(to->a_batch_stride));
    memcpy(to->b_batch_stride, from->b_batch_stride, sizeof(to->b_batch_stride));
}

static int bind(const struct call_request *request, struct call *call, const struct roles *roles,
                const struct kernel_product *shape)
{
    struct product_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->product.fn;
    p->roles = *roles;
    p->shape = *shape;
    if (!call_dtype(request->inputs[roles->a].dtype, &p->shape.a_type) ||
        !call_dtype(request->inputs[roles->b].dtype, &p->shape.b_type) ||
        !call_dtype(request->outputs[0].dtype, &p->shape.y_type))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[roles->a].dtype));
    call->version = request->kernels->product.version;
    call->run = run_product;
    return 0;
}

int call_bind_product_any(const struct call_request *request, struct call *call,
                          const struct kernel_gemm *gemm, bool has_c)
{
    struct roles roles = {0, 1, has_c ? 2 : -1, -1, -1, -1, -1, -1, -1};
    struct kernel_product shape = {0};

    for (uint32_t i = 0; i < request->node->input_count; i++)
        if (call_input(request, i) && request->inputs[i].dtype != request->outputs[0].dtype)
            return call_refuse(request, -EINVAL, "operands and result differ in dtype");
    take_geometry(gemm, &shape);
    return bind(request, call, &roles, &shape);
}

/* Where the zero points or scales of `whole` stand: one, one per line, or one per line of each
 * matrix. line_axis: from the end, 2 for rows, 1 for columns. */
static int find_lines(const struct call_request *request, int input, const struct shape *whole,
                      int line_axis, struct kernel_lines *out_lines)
{
    const struct shape *s = &request->inputs[input].shape;
    int axis = whole->rank - line_axis;
    int64_t lines = axis >= 0 ? whole->dims[axis] : 1;
    bool is_full = s->rank == whole->rank && axis >= 0;

    *out_lines = (struct kernel_lines){0, 0};
    if (shape_elements(s) == 1)
        return 0;
    for (int i = 0; is_full && i < s->rank; i++)
        is_full = s->dims[i] == (i == axis || i < s->rank - 2 ? whole->dims[i] : 1);
    if (!is_full && !(s->rank == 1 && s->dims[0] == lines))
        return call_refuse(request, -EINVAL,
                           "input %d is neither one number nor one for each row or column", input);
    out_lines->line_stride = 1;
    out_lines->matrix_stride = is_full ? lines : 0;
    return 0;
}

/* A scale and its zero point, either of which may be missing (-1). */
static int find_pair(const struct call_request *request, int scale, int zero,
                     const struct shape *whole, int line_axis, struct kernel_lines *out_lines)
{
    int rc = 0;

    *out_lines = (struct kernel_lines){0, 0};
    if (zero >= 0)
        rc = find_lines(request, zero, whole, line_axis, out_lines);
    if (rc == 0 && scale >= 0 && zero >= 0 &&
        !shape_equal(&request->inputs[scale].shape, &request->inputs[zero].shape) &&
        (shape_elements(&request->inputs[scale].shape) != 1 ||
         shape_elements(&request->inputs[zero].shape) != 1))
        rc = call_refuse(request, -EINVAL, "scale and zero point do not fit together");
    return rc;
}

static int scale_type(const struct call_request *request, const struct roles *roles,
                      enum kernel_dtype *out_dtype)
{
    const int scales[] = {roles->a_scale, roles->b_scale, roles->y_scale};

    for (size_t i = 0; i < 3; i++) {
        enum dtype dtype = request->inputs[scales[i]].dtype;

        if (dtype != request->inputs[scales[0]].dtype || !call_dtype(dtype, out_dtype) ||
            !kernel_dtype_is_real(*out_dtype))
            return call_refuse(request, -ENOTSUP, "no kernel for a scale of %s", dtype_name(dtype));
    }
    return 0;
}

/* Those of 8 bits have kernels of their own, which want b packed: once where it is constant. */
static int bind_int8(const struct call_request *request, struct call *call)
{
    struct product_params *p = call->params;
    const void *b = request->inputs[p->roles.b].data;
    size_t packed = b ? kernel_product_int8_packed(&p->shape) : 0, first;

    if (!request->kernels->product_int8.fn || !kernel_product_int8_fits(&p->shape))
        return 0;
    first = (sizeof(*p) + 63) / 64 * 64;
    if (packed > 0) {
        p = aligned_alloc(64, first + (packed + 63) / 64 * 64);
        if (!p)
            return call_refuse(request, -ENOMEM, "out of memory");
        *p = *(struct product_params *)call->params;
        free(call->params);
        call->params = p;
        p->packed = (char *)p + first;
        kernel_pack_int8(p->packed, b, &p->shape);
    }
    p->int8_fn = request->kernels->product_int8.fn;
    call->version = request->kernels->product_int8.version;
    call->workspace_bytes = kernel_product_int8_room(&p->shape, packed > 0);
    return 0;
}

/* Strides of one operand's matrices under the result's batch axes. */
static int batch_strides(const struct call_request *request, const struct shape *operand,
                         const struct kernel_gemm *shape, int64_t matrix, int64_t *out_strides)
{
    int axes = operand->rank > 2 ? operand->rank - 2 : 0;
    int64_t stride = matrix;

    if (axes > shape->batch_rank)
        return call_refuse(request, -EINVAL, "an operand has more axes than the result");
    for (int i = 1; i <= axes; i++) {
        int64_t dim = operand->dims[axes - i];
        int at = shape->batch_rank - i;

        if (dim != 1 && dim != shape->batch_dims[at])
            return call_refuse(request, -EINVAL, "the batches cannot be broadcast to the result");
        out_strides[at] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    return 0;
}

int call_matmul_shape(const struct call_request *request, uint32_t a_index, uint32_t b_index,
                      struct kernel_gemm *out_shape)
{
    const struct tensor_view *a = call_input(request, a_index), *b = call_input(request, b_index);
    const struct shape *y = &request->outputs[0].shape;
    struct kernel_gemm shape = {.alpha = 1.0f};
    int a_rank, b_rank, rc;
    int64_t count;

    if (!a || !b || a->shape.rank < 1 || b->shape.rank < 1)
        return call_refuse(request, -EINVAL, "scalars cannot be multiplied as matrices");
    a_rank = a->shape.rank;
    b_rank = b->shape.rank;
    /* A vector is a matrix of one row (a) or one column (b), which the result then lacks. */
    shape.m = a_rank == 1 ? 1 : a->shape.dims[a_rank - 2];
    shape.k = a->shape.dims[a_rank - 1];
    shape.n = b_rank == 1 ? 1 : b->shape.dims[b_rank - 1];
    shape.batch_rank = y->rank - (a_rank > 1) - (b_rank > 1);
    if (b->shape.dims[b_rank == 1 ? 0 : b_rank - 2] != shape.k || shape.batch_rank < 0)
        return call_refuse(request, -EINVAL, "the inner sizes differ");
    memcpy(shape.batch_dims, y->dims, (size_t)shape.batch_rank * sizeof(y->dims[0]));
    rc = batch_strides(request, &a->shape, &shape, shape.m * shape.k, shape.a_batch_stride);
    if (rc == 0)
        rc = batch_strides(request, &b->shape, &shape, shape.k * shape.n, shape.b_batch_stride);
    if (rc < 0)
        return rc;
    count = shape.m * shape.n;
    for (int i = 0; i < shape.batch_rank; i++)
        count *= shape.batch_dims[i];
    if (count != shape_elements(y))
        return call_refuse(request, -EINVAL, "the result has the wrong shape");
    *out_shape = shape;
    return 0;
}

/* MatMulInteger; QLinearMatMul, to which passes give what is added to the sums of each column. */
int call_bind_product_quantised(const struct call_request *request, struct call *call)
{
    bool is_linear = strcmp(request->node->op_type, "QLinearMatMul") == 0;
    struct roles roles = {0, 3, -1, 2, 5, 7, 1, 4, 6};
    struct kernel_product shape = {0};
    struct kernel_gemm gemm;
    const struct shape *y = &request->outputs[0].shape;
    int rc;

    if (!is_linear)
        roles = (struct roles){
            0,  1,  -1, call_input(request, 2) ? 2 : -1, call_input(request, 3) ? 3 : -1, -1,
            -1, -1, -1};
    rc = call_matmul_shape(request, 0, (uint32_t)roles.b, &gemm);
    if (rc < 0)
        return rc;
    take_geometry(&gemm, &shape);
    if (is_linear && request->node->input_count > 8) {
        roles.c = 8;
        shape.beta = 1.0;
        shape.c_col_stride = 1;
    }
    rc = find_pair(request, roles.a_scale, roles.a_zero, &request->inputs[0].shape, 2,
                   &shape.a_lines);
    if (rc == 0)
        rc = find_pair(request, roles.b_scale, roles.b_zero, &request->inputs[roles.b].shape, 1,
                       &shape.b_lines);
    if (rc == 0 && is_linear)
        rc = find_pair(request, roles.y_scale, roles.y_zero, y, 2, &shape.y_lines);
    if (rc == 0 && is_linear)
        rc = scale_type(request, &roles, &shape.scale_type);
    if (rc == 0)
        rc = bind(request, call, &roles, &shape);
    return rc < 0 ? rc : bind_int8(request, call);
}

/* Einsum */

struct einsum_params {
    einsum_fn *fn;
    struct kernel_einsum shape;
};

static int run_einsum(const struct call *call)
{
    const struct einsum_params *p = call->params;

    p->fn(call->outputs[0], call->inputs, &p->shape);
    return 0;
}

int call_bind_einsum(const struct call_request *request, struct call *call)
{
    const struct shape *operands[KERNEL_EINSUM_OPERANDS];
    uint32_t count = request->node->input_count;
    struct einsum_params *p;
    const char *problem;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (count < 1 || count > KERNEL_EINSUM_OPERANDS)
        return call_refuse(request, -ENOTSUP, "no kernel for %" PRIu32 " operands", count);
    for (uint32_t i = 0; i < count; i++)
        operands[i] = &request->inputs[i].shape;
    problem =
        einsum_parse(node_string(request->node, "equation", ""), operands, (int)count, &p->shape);
    if (problem)
        return call_refuse(request, -EINVAL, "attribute equation: %s", problem);
    if (!call_dtype(request->outputs[0].dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->outputs[0].dtype));
    p->fn = request->kernels->einsum.fn;
    call->version = request->kernels->einsum.version;
    call->run = run_einsum;
    return 0;
}

/* Det and Inverse */

struct determinant_params {
    determinant_fn *fn; /* the other one has the same type */
    struct kernel_determinant shape;
};

static int run_determinant(const struct call *call)
{
    const struct determinant_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->workspace, &p->shape);
    return 0;
}

static int bind_square(const struct call_request *request, struct call *call, size_t matrices,
                       determinant_fn *fn, const char *version)
{
    const struct tensor_view *x = call_input(request, 0);
    size_t size = (size_t)x->shape.dims[x->shape.rank - 1];
    struct determinant_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(x->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    p->shape.batch = 1;
    for (int i = 0; i < x->shape.rank - 2; i++)
        p->shape.batch *= x->shape.dims[i];
    p->shape.size = (int64_t)size;
    call->workspace_bytes = matrices * size * size * sizeof(double);
    p->fn = fn;
    call->version = version;
    call->run = run_determinant;
    return 0;
}

int call_bind_determinant(const struct call_request *request, struct call *call)
{
    return bind_square(request, call, 1, request->kernels->determinant.fn,
                       request->kernels->determinant.version);
}

int call_bind_inverse(const struct call_request *request, struct call *call)
{
    return bind_square(request, call, 2, request->kernels->inverse.fn,
                       request->kernels->inverse.version);
}
