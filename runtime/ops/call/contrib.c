/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the domain com.microsoft, which exporters for ONNX Runtime write. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

/* One operand of FusedMatMul: matrices whose rows are in one piece each. */
struct matrices {
    int64_t rows, cols; /* of the matrix that is multiplied */
    bool is_transposed; /* as it lies in memory */
    int64_t line;       /* from one row to the next there */
    bool has_gaps;      /* between these rows */
    int batch_rank;
    int64_t batch_dims[SHAPE_MAX_RANK], batch_strides[SHAPE_MAX_RANK];
};

/* A matrix's axes are the last two, or with the batch transposed the first and the last. A vector
 * is a row on the left and a column on the right, and nothing is transposed of it. */
static void take(const struct call_request *request, uint32_t input, struct matrices *out_matrices)
{
    const struct shape *x = &request->inputs[input].shape;
    const struct node *node = request->node;
    bool is_batch = node_int(node, input == 0 ? "transBatchA" : "transBatchB", 0) != 0;
    int last = x->rank - 1, first = is_batch ? 0 : x->rank - 2, from = is_batch;
    int64_t strides[SHAPE_MAX_RANK];
    struct layout layout = layout_row_major(x->rank);

    *out_matrices = (struct matrices){.rows = 1, .cols = 1};
    if (x->rank == 1) {
        *(input == 0 ? &out_matrices->cols : &out_matrices->rows) = x->dims[0];
        out_matrices->line = out_matrices->cols;
        return;
    }
    layout_strides(&layout, x, strides);
    out_matrices->is_transposed = node_int(node, input == 0 ? "transA" : "transB", 0) != 0;
    out_matrices->rows = x->dims[out_matrices->is_transposed ? last : first];
    out_matrices->cols = x->dims[out_matrices->is_transposed ? first : last];
    out_matrices->line = strides[first];
    out_matrices->has_gaps = out_matrices->line != x->dims[last];
    out_matrices->batch_rank = x->rank - 2;
    memcpy(out_matrices->batch_dims, x->dims + from,
           (size_t)out_matrices->batch_rank * sizeof(x->dims[0]));
    memcpy(out_matrices->batch_strides, strides + from,
           (size_t)out_matrices->batch_rank * sizeof(strides[0]));
}

static int take_batches(const struct call_request *request, const struct matrices *from,
                        const struct kernel_gemm *shape, int64_t *out_strides)
{
    int first = shape->batch_rank - from->batch_rank;

    if (first < 0)
        return call_refuse(request, -EINVAL, "an operand has more axes than the result");
    for (int i = 0; i < from->batch_rank; i++) {
        if (from->batch_dims[i] != 1 && from->batch_dims[i] != shape->batch_dims[first + i])
            return call_refuse(request, -EINVAL, "the batches cannot be broadcast to the result");
        out_strides[first + i] = from->batch_dims[i] == 1 ? 0 : from->batch_strides[i];
    }
    return 0;
}

int call_bind_fused_matmul(const struct call_request *request, struct call *call)
{
    const struct tensor_view *a_view = call_input(request, 0), *b_view = call_input(request, 1);
    const struct shape *y = &request->outputs[0].shape;
    struct kernel_gemm shape = {.alpha = node_float(request->node, "alpha", 1.0f)};
    struct matrices a, b;
    int rc;

    if (!a_view || !b_view || a_view->shape.rank < 1 || b_view->shape.rank < 1)
        return call_refuse(request, -EINVAL, "scalars cannot be multiplied as matrices");
    take(request, 0, &a);
    take(request, 1, &b);
    shape.m = a.rows;
    shape.k = a.cols;
    shape.n = b.cols;
    shape.trans_a = a.is_transposed;
    shape.trans_b = b.is_transposed;
    shape.a_line = a.has_gaps ? a.line : 0;
    shape.b_line = b.has_gaps ? b.line : 0;
    shape.batch_rank = y->rank - (a_view->shape.rank > 1) - (b_view->shape.rank > 1);
    if (a.cols != b.rows || shape.batch_rank < 0)
        return call_refuse(request, -EINVAL, "the inner sizes differ");
    memcpy(shape.batch_dims, y->dims, (size_t)shape.batch_rank * sizeof(y->dims[0]));
    rc = take_batches(request, &a, &shape, shape.a_batch_stride);
    if (rc == 0)
        rc = take_batches(request, &b, &shape, shape.b_batch_stride);
    if (rc == 0 && request->outputs[0].dtype != DTYPE_F32 && (a.has_gaps || b.has_gaps))
        rc = call_refuse(request, -ENOTSUP, "no kernel for %s with a transposed batch",
                         dtype_name(request->outputs[0].dtype));
    return rc < 0 ? rc : call_bind_product(request, call, &shape, false);
}
