/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators and matrix products over f32, and what others of them hand on. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

/* One operand */

struct unary_params {
    unary_f32_fn *fn;
    size_t count;
    float a, b;
    bool has_low, has_high; /* Clip: bounds in inputs 1 and 2 */
};

static int run_unary(const struct call *call)
{
    const struct unary_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], p->count, p->a, p->b);
    return 0;
}

/* Clip's bounds are inputs since opset 11: read on each run. */
static int run_clip(const struct call *call)
{
    const struct unary_params *p = call->params;
    const float *low = p->has_low ? call->inputs[1] : NULL;
    const float *high = p->has_high ? call->inputs[2] : NULL;

    p->fn(call->outputs[0], call->inputs[0], p->count, low ? *low : p->a, high ? *high : p->b);
    return 0;
}

static int clip_bounds(const struct call_request *request, struct unary_params *p)
{
    for (uint32_t i = 1; i <= 2; i++) {
        const struct tensor_view *bound = call_input(request, i);

        if (bound && shape_elements(&bound->shape) != 1)
            return call_refuse(request, -EINVAL, "%s is not one number", i == 1 ? "min" : "max");
    }
    p->has_low = call_input(request, 1) != NULL;
    p->has_high = call_input(request, 2) != NULL;
    return 0;
}

static struct kernel_activation unary_kind(const struct call_request *request)
{
    const char *op_type = request->node->op_type;
    struct kernel_activation kind = {KERNEL_IDENTITY, 0.0f, 0.0f};

    if (strcmp(op_type, "Relu") == 0) {
        kind.kind = KERNEL_RELU;
    } else if (strcmp(op_type, "LeakyRelu") == 0) {
        kind.kind = KERNEL_LEAKY_RELU;
        kind.a = node_float(request->node, "alpha", 0.01f);
    } else if (strcmp(op_type, "Sigmoid") == 0) {
        kind.kind = KERNEL_SIGMOID;
    } else if (strcmp(op_type, "Tanh") == 0) {
        kind.kind = KERNEL_TANH;
    } else { /* Clip */
        kind.kind = KERNEL_CLIP;
        kind.a = node_float(request->node, "min", -FLT_MAX);
        kind.b = node_float(request->node, "max", FLT_MAX);
    }
    return kind;
}

int call_bind_unary(const struct call_request *request, struct call *call)
{
    struct kernel_activation kind = unary_kind(request);
    struct unary_params *p;
    int rc;

    /* Bounds that are inputs are not to be looked at on a device. */
    if (request->outputs[0].dtype != DTYPE_F32 ||
        (request->on_device && (call_input(request, 1) || call_input(request, 2))))
        return kind.kind == KERNEL_CLIP ? call_bind_clip_any(request, call)
                                        : call_bind_map(request, call);
    rc = call_require_f32(request, 0, 2);
    if (rc == 0 && (!call_input(request, 0) ||
                    !shape_equal(&request->inputs[0].shape, &request->outputs[0].shape)))
        rc = call_refuse(request, -EINVAL, "input and output differ in shape");
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->unary_f32[kind.kind].fn;
    p->count = (size_t)shape_elements(&request->outputs[0].shape);
    p->a = kind.a;
    p->b = kind.b;
    call->version = request->kernels->unary_f32[kind.kind].version;
    call->run = kind.kind == KERNEL_CLIP ? run_clip : run_unary;
    return kind.kind == KERNEL_CLIP ? clip_bounds(request, p) : 0;
}

/* Two operands */

struct binary_params {
    binary_fn *fn;
    uint32_t count;                   /* of operands: 2, or more for Sum */
    struct kernel_broadcast shapes[]; /* operand 0 and 1; then the result so far and operand i */
};

static int run_binary(const struct call *call)
{
    const struct binary_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], &p->shapes[0]);
    for (uint32_t i = 2; i < p->count; i++)
        p->fn(call->outputs[0], call->outputs[0], call->inputs[i], &p->shapes[i - 1]);
    return 0;
}

/* y = a op inputs[b], a being input 0, or y itself where b is not 1. */
static int make_broadcast(const struct call_request *request, uint32_t b, int b_first,
                          struct kernel_broadcast *out_broadcast)
{
    const struct shape *y = &request->outputs[0].shape;
    const struct shape *a = b == 1 ? &request->inputs[0].shape : y;
    struct layout layout = call_output_layout(request);
    int64_t own[SHAPE_MAX_RANK], a_stride[KERNEL_MAX_RANK], b_stride[KERNEL_MAX_RANK];
    int rc;

    if (b == 1)
        call_input_strides(request, 0, own);
    else
        call_output_strides(request, own);
    rc = call_broadcast_strides(request, a, own, y->rank - a->rank, a_stride);
    if (rc < 0)
        return rc;
    call_input_strides(request, b, own);
    rc = call_broadcast_strides(request, &request->inputs[b].shape, own, b_first, b_stride);
    out_broadcast->rank = y->rank;
    for (int i = 0; i < y->rank; i++) {
        int axis = layout.order[i];

        out_broadcast->dims[i] = y->dims[axis];
        out_broadcast->a_stride[i] = a_stride[axis];
        out_broadcast->b_stride[i] = b_stride[axis];
    }
    return rc;
}

static int bind_operands(const struct call_request *request, struct call *call,
                         enum kernel_binary op, int second_first, bool is_sum)
{
    const struct shape *y = &request->outputs[0].shape;
    uint32_t count = request->node->input_count;
    enum kernel_dtype dtype;
    struct binary_params *p;
    int rc;

    for (uint32_t i = 0; i < count; i++)
        if (!call_input(request, i) || request->inputs[i].dtype != request->outputs[0].dtype)
            return call_refuse(request, -EINVAL, "operands and result differ in dtype");
    if (!call_dtype(request->outputs[0].dtype, &dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->outputs[0].dtype));
    if (!request->kernels->binary[op][dtype].fn)
        return is_sum ? call_bind_zip_many(request, call) : call_bind_zip(request, call);
    rc = call_params(request, call, sizeof(*p) + (count - 1) * sizeof(p->shapes[0]));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->binary[op][dtype].fn;
    p->count = count;
    for (uint32_t i = 1; rc == 0 && i < count; i++)
        rc = make_broadcast(request, i,
                            i == 1 ? second_first : y->rank - request->inputs[i].shape.rank,
                            &p->shapes[i - 1]);
    call->version = request->kernels->binary[op][dtype].version;
    call->run = run_binary;
    return rc;
}

int call_bind_binary(const struct call_request *request, struct call *call)
{
    static const struct {
        const char *op_type;
        enum kernel_binary op;
    } ops[] = {{"Add", KERNEL_ADD}, {"Sub", KERNEL_SUB}, {"Mul", KERNEL_MUL}, {"Div", KERNEL_DIV}};
    const struct node *node = request->node;
    size_t op = 0;
    int rank = request->outputs[0].shape.rank, first;

    if (node->input_count != 2 || !call_input(request, 1))
        return call_refuse(request, -EINVAL, "it needs two inputs");
    while (strcmp(ops[op].op_type, node->op_type) != 0)
        op++;
    first = rank - request->inputs[1].shape.rank;
    /* Before opset 7 the second operand was put at an axis of the first one. */
    if (graph_opset(request->graph, "") < 7 && node_attribute(node, "axis"))
        first = (int)node_int(node, "axis", 0) + (node_int(node, "axis", 0) < 0 ? rank : 0);
    return bind_operands(request, call, ops[op].op, first, false);
}

int call_bind_sum(const struct call_request *request, struct call *call)
{
    if (request->node->input_count == 1)
        return call_bind_view(request, call);
    if (request->node->input_count == 0 || !call_input(request, 1))
        return call_refuse(request, -EINVAL, "it has no inputs");
    return bind_operands(request, call, KERNEL_ADD,
                         request->outputs[0].shape.rank - request->inputs[1].shape.rank, true);
}

/* Matrix products */

struct gemm_params {
    gemm_f32_fn *fn;
    bool has_c;
    struct kernel_gemm shape;
    int64_t rows;     /* of each matrix, where the shape is that of one row */
    char version[24]; /* then */
};

static int run_gemm(const struct call *call)
{
    const struct gemm_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], p->has_c ? call->inputs[2] : NULL,
          &p->shape);
    return 0;
}

static int run_gemm_rows(const struct call *call)
{
    const struct gemm_params *p = call->params;
    const float *a = call->inputs[0], *c = p->has_c ? call->inputs[2] : NULL;
    float *y = call->outputs[0];

    for (int64_t i = 0; i < p->rows; i++)
        p->fn(y + i * kernel_gemm_y_line(&p->shape), a + i * kernel_gemm_a_line(&p->shape),
              call->inputs[1], c ? c + i * p->shape.c_row_stride : NULL, &p->shape);
    return 0;
}

/* Of one matrix whose rows are rows in memory. */
static int set_rows(const struct call_request *request, struct call *call, struct gemm_params *p)
{
    if (p->shape.trans_a || p->shape.batch_rank > 0)
        return call_refuse(request, -ENOTSUP, "it is not computed row by row");
    p->rows = p->shape.m;
    p->shape.m = 1;
    snprintf(p->version, sizeof(p->version), "%s:rows", call->version);
    call->version = p->version;
    call->run = run_gemm_rows;
    return 0;
}

/* A product of float32 with something behind it that a device's kernel does itself. */
static bool has_activation_on_device(const struct call_request *request)
{
    return request->on_device && request->node->fused.activation != ACTIVATION_NONE &&
           request->inputs[0].dtype == DTYPE_F32 && request->inputs[1].dtype == DTYPE_F32 &&
           request->outputs[0].dtype == DTYPE_F32;
}

int call_bind_product(const struct call_request *request, struct call *call,
                      const struct kernel_gemm *shape, bool has_c)
{
    struct gemm_params *p;
    int rc;

    if (call_is_half_product(request) || has_activation_on_device(request))
        return call_bind_gemm_half(request, call, shape, has_c);
    if (request->outputs[0].dtype != DTYPE_F32)
        return call_bind_product_any(request, call, shape, has_c);
    rc = call_require_f32(request, 0, 2);
    if (rc == 0)
        rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->gemm_f32.fn;
    p->has_c = has_c;
    p->shape = *shape;
    call->version = request->kernels->gemm_f32.version;
    call->run = run_gemm;
    return request->row_by_row ? set_rows(request, call, p) : 0;
}

/* C is broadcast to [m, n] from its last axes. */
static int gemm_bias(const struct call_request *request, struct kernel_gemm *shape)
{
    const struct shape *c = &request->inputs[2].shape;
    int64_t rows = c->rank == 2 ? c->dims[0] : 1, cols = c->rank ? c->dims[c->rank - 1] : 1;

    if (c->rank > 2 || (rows != 1 && rows != shape->m) || (cols != 1 && cols != shape->n))
        return call_refuse(request, -EINVAL, "C cannot be broadcast to the result");
    shape->c_row_stride = rows == 1 ? 0 : cols;
    shape->c_col_stride = cols == 1 ? 0 : 1;
    return 0;
}

static int gemm_shape(const struct call_request *request, struct kernel_gemm *out_shape)
{
    const struct tensor_view *a = call_input(request, 0), *b = call_input(request, 1);
    const struct shape *y = &request->outputs[0].shape;
    const struct node *node = request->node;
    struct kernel_gemm shape = {
        .trans_a = node_int(node, "transA", 0) != 0,
        .trans_b = node_int(node, "transB", 0) != 0,
        .alpha = node_float(node, "alpha", 1.0f),
        .beta = node_float(node, "beta", 1.0f),
    };
    int rc;

    if (!a || !b || a->shape.rank != 2 || b->shape.rank != 2 || y->rank != 2)
        return call_refuse(request, -EINVAL, "A and B must be matrices");
    shape.m = a->shape.dims[shape.trans_a ? 1 : 0];
    shape.k = a->shape.dims[shape.trans_a ? 0 : 1];
    shape.n = b->shape.dims[shape.trans_b ? 0 : 1];
    if (b->shape.dims[shape.trans_b ? 1 : 0] != shape.k || y->dims[0] != shape.m ||
        y->dims[1] != shape.n)
        return call_refuse(request, -EINVAL,
                           "the sizes of A, B and the result do not fit together");
    rc = call_input(request, 2) ? gemm_bias(request, &shape) : 0;
    *out_shape = shape;
    return rc;
}

int call_bind_gemm(const struct call_request *request, struct call *call)
{
    struct kernel_gemm shape;
    int rc = gemm_shape(request, &shape);

    return rc < 0 ? rc : call_bind_product(request, call, &shape, call_input(request, 2) != NULL);
}

/* The matrices of an operand that does not lie row-major: their rows are in one piece each. */
static int take_operand(const struct call_request *request, uint32_t index,
                        struct kernel_gemm *shape)
{
    const struct shape *x = &request->inputs[index].shape;
    int64_t *batch = index == 0 ? shape->a_batch_stride : shape->b_batch_stride;
    int64_t own[SHAPE_MAX_RANK];

    if (!request->input_layouts || layout_is_row_major(&request->input_layouts[index], x))
        return 0;
    call_input_strides(request, index, own);
    for (int i = 0; i < x->rank - 2; i++)
        batch[shape->batch_rank - (x->rank - 2) + i] = x->dims[i] == 1 ? 0 : own[i];
    if (own[x->rank - 1] != 1)
        return call_refuse(request, -ENOTSUP, "no kernel for matrices that lie like this");
    *(index == 0 ? &shape->a_line : &shape->b_line) = own[x->rank - 2];
    return 0;
}

/* How operands and result lie, where that is not row-major: what exec/bind_node.c has chosen. */
static int take_layouts(const struct call_request *request, struct kernel_gemm *shape)
{
    const struct shape *y = &request->outputs[0].shape;
    int64_t own[SHAPE_MAX_RANK];
    int rc = take_operand(request, 0, shape);

    if (rc == 0)
        rc = take_operand(request, 1, shape);
    if (rc < 0 || !request->output_layouts || layout_is_row_major(request->output_layouts, y))
        return rc;
    call_output_strides(request, own);
    if (own[y->rank - 1] != 1)
        return call_refuse(request, -ENOTSUP, "no kernel for a result that lies like this");
    shape->y_line = own[y->rank - 2];
    memcpy(shape->y_batch_stride, own, (size_t)(y->rank - 2) * sizeof(*own));
    return 0;
}

/* With what pass_fuse() has made its third input: one row that is added to all. */
static int matmul_shape(const struct call_request *request, struct kernel_gemm *out_shape)
{
    const struct tensor_view *bias = call_input(request, 2);
    int rc = call_matmul_shape(request, 0, 1, out_shape);

    if (rc == 0)
        out_shape->alpha = node_float(request->node, "alpha", 1.0f); /* of pass_fold_scales() */
    if (rc == 0 && bias && shape_elements(&bias->shape) != out_shape->n)
        return call_refuse(request, -EINVAL, "the bias does not have one entry per column");
    if (rc == 0 && bias) {
        out_shape->beta = 1.0f;
        out_shape->c_col_stride = 1;
    }
    return rc < 0 ? rc : take_layouts(request, out_shape);
}

int call_bind_matmul(const struct call_request *request, struct call *call)
{
    struct kernel_gemm shape;
    bool has_bias = call_input(request, 2) != NULL; /* pass_fuse() has put it there */
    int rc = matmul_shape(request, &shape);

    return rc < 0 ? rc : call_bind_product(request, call, &shape, has_bias);
}

/* Products with constant weights */

static int run_gemm_plan(const struct call *call)
{
    return kernel_gemm_plan_run(call->gemm, call->outputs[0], call->inputs[0], call->workspace);
}

/* Whether a plan can be made for this product: one matrix of weights, and one row of biases at
 * most, both constant. Its rows are those of all matrices of A, which lie one behind the other. */
static bool is_plain_product(const struct call_request *request, struct kernel_gemm *shape)
{
    const struct tensor_view *b = call_plan_weights(request, &shape->types);
    const struct tensor_view *c = call_input(request, 2);

    if (request->outputs[0].dtype != DTYPE_F32 || request->inputs[0].dtype != DTYPE_F32 ||
        (b->dtype != DTYPE_F32 && shape->types.weights == KERNEL_F32) || !b->data ||
        b->shape.rank != 2 || shape->trans_a || shape->alpha != 1.0f || shape->n == 0 ||
        shape->a_line != 0 || shape->y_line != 0 ||
        (c && (c->dtype != DTYPE_F32 || !c->data || shape->beta != 1.0f ||
               shape->c_row_stride != 0 || (shape->c_col_stride != 1 && shape->n > 1))))
        return false;
    shape->m = shape_elements(&request->outputs[0].shape) / shape->n;
    return true;
}

int call_bind_gemm_plan(const struct call_request *request, struct call *out_call)
{
    const struct tensor_view *c = call_input(request, 2);
    struct kernel_activation activation = call_activation(request->node);
    struct kernel_plan_types types;
    const struct tensor_view *b = call_plan_weights(request, &types);
    struct call call = {.run = run_gemm_plan};
    struct kernel_gemm shape;
    int rc = strcmp(request->node->op_type, "Gemm") == 0 ? gemm_shape(request, &shape)
                                                         : matmul_shape(request, &shape);

    if (rc < 0)
        return rc;
    if (!is_plain_product(request, &shape))
        return 1;
    rc = kernel_gemm_plan_create(&shape, b->data, c ? c->data : NULL, &activation, &call.gemm);
    if (rc == -ENOTSUP)
        return 1;
    if (rc < 0)
        return call_refuse(request, rc, "out of memory");
    call.version = kernel_gemm_plan_info(call.gemm).version;
    call.workspace_bytes = kernel_gemm_plan_info(call.gemm).workspace_bytes;
    *out_call = call;
    return 0;
}
