/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: Gemm and MatMul. */
#include <errno.h>
#include <inttypes.h>

#include "runtime/shape/infer.h"

int shape_gemm(struct infer *infer)
{
    const struct shape *a = infer_shape(infer, 0);
    const struct shape *b = infer_shape(infer, 1);
    bool trans_a = node_int(infer->node, "transA", 0) != 0;
    bool trans_b = node_int(infer->node, "transB", 0) != 0;
    struct shape out = {.rank = 2};
    struct shape all;
    int rc = 0;

    for (uint32_t i = 1; rc == 0 && i < 3; i++)
        rc = infer_same_dtype(infer, 0, i);
    if (rc < 0)
        return rc;
    if (a->rank != 2 || b->rank != 2)
        return infer_fail(infer, "its operands have %d and %d dimensions instead of 2", a->rank,
                          b->rank);
    if (a->dims[!trans_a] != b->dims[trans_b])
        return infer_fail(infer, "its operands share a dimension of %" PRId64 " and %" PRId64,
                          a->dims[!trans_a], b->dims[trans_b]);
    out.dims[0] = a->dims[trans_a];
    out.dims[1] = b->dims[!trans_b];
    all = out;
    if (infer_has(infer, 2)) {
        rc = infer_broadcast(infer, &all, infer_shape(infer, 2));
        if (rc == 0 && !shape_equal(&all, &out))
            rc = infer_fail(infer, "its third input is larger than the product");
    } else if (infer->opset < 11) {
        rc = infer_fail(infer, "it needs three inputs in operator set %" PRId64, infer->opset);
    }
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* As numpy.matmul: a vector is a row on the left and a column on the right, and loses that
 * dimension again; leading dimensions are broadcast. */
int shape_matmul(struct infer *infer)
{
    struct shape a = *infer_shape(infer, 0);
    struct shape b = *infer_shape(infer, 1);
    bool row = a.rank == 1;
    bool column = b.rank == 1;
    int64_t m, n;
    int rc = infer_same_dtype(infer, 0, 1);

    if (rc < 0)
        return rc;
    if (a.rank == 0 || b.rank == 0)
        return infer_fail(infer, "an operand is a scalar");
    if (row)
        a = (struct shape){.rank = 2, .dims = {1, a.dims[0]}};
    if (column)
        b = (struct shape){.rank = 2, .dims = {b.dims[0], 1}};
    if (a.dims[a.rank - 1] != b.dims[b.rank - 2])
        return infer_fail(infer, "its operands share a dimension of %" PRId64 " and %" PRId64,
                          a.dims[a.rank - 1], b.dims[b.rank - 2]);
    m = a.dims[a.rank - 2];
    n = b.dims[b.rank - 1];
    a.rank -= 2;
    b.rank -= 2;
    rc = infer_broadcast(infer, &a, &b);
    if (rc < 0)
        return rc;
    if (!row)
        a.dims[a.rank++] = m;
    if (!column)
        a.dims[a.rank++] = n;
    return infer_output(infer, 0, infer_dtype(infer, 0), &a);
}
