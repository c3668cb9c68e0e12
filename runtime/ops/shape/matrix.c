/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: matrix products. */
#include <errno.h>
#include <inttypes.h>

#include "runtime/ops/einsum.h"
#include "runtime/ops/shape/infer.h"

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
    } else if (infer->opset < 11 && !infer->node->is_lowered) {
        rc = infer_fail(infer, "it needs three inputs in operator set %" PRId64, infer->opset);
    }
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* As numpy.matmul: a vector is a row on the left and a column on the right, and loses that
 * dimension again; leading dimensions are broadcast. */
static int product_of(struct infer *infer, struct shape a, struct shape b, struct shape *out_shape)
{
    bool row = a.rank == 1;
    bool column = b.rank == 1;
    int64_t m, n;
    int rc;

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
    *out_shape = a;
    return 0;
}

static int product_shape(struct infer *infer, uint32_t left, uint32_t right,
                         struct shape *out_shape)
{
    return product_of(infer, *infer_shape(infer, left), *infer_shape(infer, right), out_shape);
}

/* The shape of an operand of FusedMatMul as it is multiplied: with the batch transposed its first
 * axis comes behind the batch's, before the last one; then the last two may change places. A vector
 * stays what it is. */
static struct shape turned(const struct infer *infer, uint32_t input)
{
    const struct shape *x = infer_shape(infer, input);
    const struct node *node = infer->node;
    bool is_batch = node_int(node, input == 0 ? "transBatchA" : "transBatchB", 0) != 0;
    bool is_matrix = node_int(node, input == 0 ? "transA" : "transB", 0) != 0;
    struct shape out = *x;
    int last = x->rank - 1;

    if (x->rank < 2)
        return out;
    if (is_batch) {
        for (int i = 1; i < last; i++)
            out.dims[i - 1] = x->dims[i];
        out.dims[last - 1] = x->dims[0];
    }
    if (is_matrix) {
        out.dims[last] = out.dims[last - 1];
        out.dims[last - 1] = x->dims[last];
    }
    return out;
}

int shape_fused_matmul(struct infer *infer)
{
    struct shape out;
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = infer_same_dtype(infer, 0, 1);
    if (rc == 0)
        rc = product_of(infer, turned(infer, 0), turned(infer, 1), &out);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_block_product(struct infer *infer)
{
    struct shape y = *infer_shape(infer, 0);
    int64_t k = node_int(infer->node, "K", 0), n = node_int(infer->node, "N", 0);

    if (infer_dtype(infer, 0) != DTYPE_F32)
        return infer_unsupported(infer, "its inputs are not float32");
    if (y.rank < 1 || y.dims[y.rank - 1] != k)
        return infer_fail(infer, "rows of %" PRId64 " elements by columns of %" PRId64,
                          y.rank < 1 ? 0 : y.dims[y.rank - 1], k);
    if (n < 1)
        return infer_fail(infer, "it has %" PRId64 " columns", n);
    y.dims[y.rank - 1] = n;
    return infer_output(infer, 0, DTYPE_F32, &y);
}

/* Rows [tokens, inputs] or [tokens, choices, inputs], the choices [tokens, choices], matrices [experts, inputs, outputs],
 * what is added [experts, outputs]. */
int shape_experts(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0), *chosen = infer_shape(infer, 1);
    const struct shape *w = infer_shape(infer, 2);
    int rc = infer_float(infer, 0);

    for (uint32_t i = 2; rc == 0 && i < 4; i++)
        rc = infer_same_dtype(infer, 0, i);
    if (rc < 0)
        return rc;
    if (infer_dtype(infer, 1) != DTYPE_I64)
        return infer_unsupported(infer, "its choices are %s", dtype_name(infer_dtype(infer, 1)));
    if ((x->rank != 2 && x->rank != 3) || chosen->rank != 2 || w->rank != 3)
        return infer_fail(infer, "its inputs have %d, %d and %d dimensions", x->rank, chosen->rank,
                          w->rank);
    if (x->dims[x->rank - 1] != w->dims[1])
        return infer_fail(infer, "rows of %" PRId64 " elements by columns of %" PRId64,
                          x->dims[x->rank - 1], w->dims[1]);
    if (x->dims[0] != chosen->dims[0] || (x->rank == 3 && x->dims[1] != chosen->dims[1]) ||
        chosen->dims[1] < 1 || w->dims[2] < 1)
        return infer_fail(infer, "its rows are not those that choose");
    if (infer_has(infer, 3) &&
        !shape_equal(infer_shape(infer, 3), &(struct shape){2, {w->dims[0], w->dims[2]}}))
        return infer_fail(infer, "what is added has not a row for each matrix");
    return infer_output(infer, 0, infer_dtype(infer, 0),
                        &(struct shape){3, {chosen->dims[0], chosen->dims[1], w->dims[2]}});
}

int shape_matmul(struct infer *infer)
{
    struct shape out;
    int rc = infer_same_dtype(infer, 0, 1);

    if (rc == 0)
        rc = product_shape(infer, 0, 1, &out);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_matmul_integer(struct infer *infer)
{
    struct shape out;
    int rc = infer_quantised(infer, 0, 2);

    if (rc == 0)
        rc = infer_quantised(infer, 1, 3);
    if (rc == 0)
        rc = product_shape(infer, 0, 1, &out);
    return rc < 0 ? rc : infer_output(infer, 0, DTYPE_I32, &out);
}

/* a, its scale and zero point, b, its scale and zero point, y's scale and zero point. */
int shape_qlinear_matmul(struct infer *infer)
{
    struct shape out;
    int rc = infer_quantised(infer, 0, 2);

    if (rc == 0)
        rc = infer_quantised(infer, 3, 5);
    if (rc == 0)
        rc = infer_byte(infer, 7);
    if (rc == 0)
        rc = product_shape(infer, 0, 3, &out);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 7), &out);
}

int shape_einsum(struct infer *infer)
{
    const struct shape *operands[KERNEL_EINSUM_OPERANDS];
    uint32_t count = infer->node->input_count;
    struct kernel_einsum einsum;
    struct shape out = {.rank = 0};
    const char *problem;
    int rc = 0;

    if (count > KERNEL_EINSUM_OPERANDS)
        return infer_unsupported(infer, "it has more than %d operands", KERNEL_EINSUM_OPERANDS);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        if (!infer_has(infer, i))
            return infer_fail(infer, "input %u is left out", i);
        operands[i] = infer_shape(infer, i);
        rc = infer_same_dtype(infer, 0, i);
    }
    if (rc < 0)
        return rc;
    problem = einsum_parse(node_string(infer->node, "equation", ""), operands, (int)count, &einsum);
    if (problem)
        return infer_fail(infer, "attribute equation: %s", problem);
    out.rank = einsum.kept;
    for (int i = 0; i < einsum.kept; i++)
        out.dims[i] = einsum.dims[i];
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* Of the last two axes. */
int shape_determinant(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int rc = infer_float(infer, 0);

    if (rc == 0 && (out.rank < 2 || out.dims[out.rank - 1] != out.dims[out.rank - 2]))
        rc = infer_fail(infer, "its input holds no square matrices");
    out.rank -= 2;
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* Of the last two axes. */
int shape_inverse(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    int rc = infer_float(infer, 0);

    if (rc == 0 && (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2]))
        rc = infer_fail(infer, "its input holds no square matrices");
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), x);
}
