/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum of two operands as matrix products, of f64, int32 and int64 where their matrices lie dense: y's innermost axis and its neighbours are the
 * columns, an axis that only the other operand has the rows, what is summed the depth; every other
 * axis counts products. Where what is summed lies in no one run of both, copies are made in which it does, if there is much to
 * multiply. What does not come out so are the loops of einsum_loops.c. */
#include "kernels/cpu/einsum_loops.h"

#include <stdlib.h>
#include <string.h>

/* Axes that are one run of an operand and of y. */
struct run {
    int64_t size, stride, y_stride; /* size 1: none */
};

struct plan {
    int rows, columns; /* which operand has them */
    struct run row, column;
    int64_t depth, depth_stride[2]; /* by operand */
    struct kernel_gemm gemm;
};

/* The axes of y from the innermost on that only operand `mine` has, as far as they are one run. */
static struct run take_columns(const struct kernel_einsum *s, const int64_t *y_stride, int mine,
                               bool *taken)
{
    struct run run = {1, 1, 1};

    for (int i = s->kept - 1; i >= 0; i--) {
        int64_t stride = s->strides[mine][i];

        if (s->dims[i] == 1)
            continue;
        if (s->strides[!mine][i] != 0 || stride == 0 || y_stride[i] != run.size ||
            (run.size > 1 && stride != run.stride * run.size))
            break;
        run.stride = run.size > 1 ? run.stride : stride;
        run.size *= s->dims[i];
        taken[i] = true;
    }
    return run;
}

/* The innermost axes that only operand `mine` has, as far as they are one run of both. */
static struct run take_rows(const struct kernel_einsum *s, const int64_t *y_stride, int mine,
                            bool *taken)
{
    struct run run = {1, 1, 1};

    for (int i = s->kept - 1; i >= 0; i--) {
        int64_t stride = s->strides[mine][i];

        if (s->dims[i] == 1 || taken[i] || s->strides[!mine][i] != 0 || stride == 0)
            continue;
        if (run.size > 1 &&
            (stride != run.stride * run.size || y_stride[i] != run.y_stride * run.size))
            continue;
        if (run.size == 1) {
            run.stride = stride;
            run.y_stride = y_stride[i];
        }
        run.size *= s->dims[i];
        taken[i] = true;
    }
    return run;
}

/* The summed axis that follows what is taken, the innermost first. -1: none is left. */
static int next_summed(const struct kernel_einsum *s, const bool *taken)
{
    int next = -1;

    for (int i = s->kept; i < s->kept + s->summed; i++)
        if (s->dims[i] > 1 && !taken[i] && (next < 0 || s->strides[0][i] <= s->strides[0][next]))
            next = i;
    return next;
}

/* All summed axes as one, in whatever order the equation has them; both operands must have them. */
static bool take_depth(const struct kernel_einsum *s, struct plan *p)
{
    bool taken[KERNEL_EINSUM_AXES] = {false};

    p->depth = 1;
    p->depth_stride[0] = p->depth_stride[1] = 1;
    for (int i; (i = next_summed(s, taken)) >= 0; taken[i] = true) {
        for (int k = 0; k < 2; k++) {
            if (s->strides[k][i] == 0 ||
                (p->depth > 1 && s->strides[k][i] != p->depth_stride[k] * p->depth))
                return false;
        }
        for (int k = 0; k < 2 && p->depth == 1; k++)
            p->depth_stride[k] = s->strides[k][i];
        p->depth *= s->dims[i];
    }
    return true;
}

/* One operand as a matrix whose lines are runs of `along` and `across` of them: the other way round
 * it is transposed. Returns its line, 0 where it is none. */
static int64_t line_of(int64_t along, int64_t along_stride, int64_t across, int64_t across_stride,
                       bool *out_trans)
{
    *out_trans = false;
    if ((along == 1 || along_stride == 1) && (across == 1 || across_stride >= along))
        return across == 1 ? along : across_stride;
    *out_trans = true;
    if ((across == 1 || across_stride == 1) && (along == 1 || along_stride >= across))
        return along == 1 ? across : along_stride;
    return 0;
}

/* The rest of y's axes count products. */
static bool take_batch(const struct kernel_einsum *s, const int64_t *y_stride, const bool *taken,
                       struct plan *p)
{
    struct kernel_gemm *g = &p->gemm;

    for (int i = 0; i < s->kept; i++) {
        if (s->dims[i] == 1 || taken[i])
            continue;
        if (g->batch_rank == KERNEL_MAX_RANK)
            return false;
        g->batch_dims[g->batch_rank] = s->dims[i];
        g->a_batch_stride[g->batch_rank] = s->strides[p->rows][i];
        g->b_batch_stride[g->batch_rank] = s->strides[p->columns][i];
        g->y_batch_stride[g->batch_rank++] = y_stride[i];
    }
    return true;
}

static bool make_plan(const struct kernel_einsum *s, struct plan *p)
{
    bool taken[KERNEL_EINSUM_AXES] = {false};
    int64_t y_stride[KERNEL_EINSUM_AXES], stride = 1;
    int last = -1;
    struct kernel_gemm *g = &p->gemm;

    for (int i = 0; i < s->kept + s->summed; i++)
        if (s->dims[i] == 0)
            return false;
    for (int i = s->kept - 1; i >= 0; i--) {
        y_stride[i] = stride;
        stride *= s->dims[i];
        last = last < 0 && s->dims[i] > 1 ? i : last;
    }
    if (s->operands != 2 || !take_depth(s, p))
        return false;
    p->columns = last >= 0 && s->strides[1][last] == 0 ? 0 : 1;
    p->rows = !p->columns;
    p->column = take_columns(s, y_stride, p->columns, taken);
    if (last >= 0 && !taken[last])
        return false;
    p->row = take_rows(s, y_stride, p->rows, taken);
    *g = (struct kernel_gemm){.m = p->row.size, .n = p->column.size, .k = p->depth, .alpha = 1.0f};
    g->a_line = line_of(g->k, p->depth_stride[p->rows], g->m, p->row.stride, &g->trans_a);
    g->b_line = line_of(g->n, p->column.stride, g->k, p->depth_stride[p->columns], &g->trans_b);
    g->y_line = g->m == 1 ? g->n : p->row.y_stride;
    return g->a_line > 0 && g->b_line > 0 && g->y_line >= g->n && take_batch(s, y_stride, taken, p);
}

/* A plan for other types than f32, whose matrices have no lines of their own, and whose products lie one behind the
 * other. */
static bool make_product(const struct kernel_einsum *s, const struct plan *p,
                         struct kernel_product *out_product)
{
    const struct kernel_gemm *g = &p->gemm;
    int64_t dense = g->m * g->n;

    if ((s->dtype != KERNEL_F64 && s->dtype != KERNEL_I32 && s->dtype != KERNEL_I64) ||
        g->a_line != (g->trans_a ? g->m : g->k) || g->b_line != (g->trans_b ? g->k : g->n) ||
        g->y_line != g->n || g->k == 1 || g->n == 1)
        return false;
    for (int i = g->batch_rank - 1; i >= 0; dense *= g->batch_dims[i--])
        if (g->y_batch_stride[i] != dense)
            return false;
    *out_product = (struct kernel_product){.a_type = s->dtype,
                                           .b_type = s->dtype,
                                           .y_type = s->dtype,
                                           .m = g->m,
                                           .n = g->n,
                                           .k = g->k,
                                           .trans_a = g->trans_a,
                                           .trans_b = g->trans_b,
                                           .alpha = 1.0,
                                           .batch_rank = g->batch_rank};
    memcpy(out_product->batch_dims, g->batch_dims, sizeof(g->batch_dims));
    memcpy(out_product->a_batch_stride, g->a_batch_stride, sizeof(g->a_batch_stride));
    memcpy(out_product->b_batch_stride, g->b_batch_stride, sizeof(g->b_batch_stride));
    return true;
}

/* --- Copies whose summed axes are one run --- */

enum { COPY_WORTH = 8 }; /* products for each element that is copied */

/* Element i of the axes in `order` stands side by side, the last axis innermost. */
static void gather_axes(char *to, const char *from, size_t bytes, const struct kernel_einsum *s,
                        int operand, const int *order, int axes)
{
    int64_t at[KERNEL_EINSUM_AXES] = {0}, offset = 0;

    for (;; to += bytes) {
        int i = axes - 1;

        memcpy(to, from + (size_t)offset * bytes, bytes);
        for (; i >= 0; i--) {
            offset += s->strides[operand][order[i]];
            if (++at[i] < s->dims[order[i]])
                break;
            offset -= at[i] * s->strides[operand][order[i]];
            at[i] = 0;
        }
        if (i < 0)
            return;
    }
}

/* The axes that the operand has, y's first. Returns how many, and what they hold. */
static int order_axes(const struct kernel_einsum *s, int operand, int *order, int64_t *out_count)
{
    int axes = 0;

    *out_count = 1;
    for (int i = 0; i < s->kept + s->summed; i++) {
        if (s->strides[operand][i] == 0 || s->dims[i] == 1)
            continue;
        order[axes++] = i;
        *out_count *= s->dims[i];
    }
    return axes;
}

/* The operand's copy, and the strides that go with it. NULL without memory. */
static void *copy_operand(struct kernel_einsum *s, const struct kernel_einsum *from, int operand,
                          const void *data)
{
    size_t bytes = kernel_dtype_bytes(from->dtype);
    int order[KERNEL_EINSUM_AXES], axes;
    int64_t count, stride = 1;
    char *copy;

    axes = order_axes(from, operand, order, &count);
    copy = malloc((size_t)count * bytes);
    if (!copy)
        return NULL;
    gather_axes(copy, data, bytes, from, operand, order, axes);
    for (int i = axes - 1; i >= 0; i--) {
        s->strides[operand][order[i]] = stride;
        stride *= from->dims[order[i]];
    }
    return copy;
}

/* Both have all that is summed, and it is so much work that copies do not count. */
static bool pays(const struct kernel_einsum *s)
{
    int64_t products = 1, counts[2];
    int order[KERNEL_EINSUM_AXES];

    if (s->operands != 2 || kernel_dtype_bytes(s->dtype) < 4)
        return false;
    for (int i = 0; i < s->kept + s->summed; i++) {
        products *= s->dims[i];
        if (i >= s->kept && s->dims[i] > 1 && (s->strides[0][i] == 0 || s->strides[1][i] == 0))
            return false;
    }
    order_axes(s, 0, order, &counts[0]);
    order_axes(s, 1, order, &counts[1]);
    return products > 0 && products / COPY_WORTH >= counts[0] + counts[1];
}

/* A plan by copies of one operand or of both, which the caller frees. False where there is none. */
static bool plan_copies(const struct kernel_einsum *shape, const void *const *operands,
                        struct kernel_einsum *s, struct plan *p, void *copies[2])
{
    *s = *shape;
    if (!pays(shape))
        return false;
    for (int k = 1; k >= 0; k--) {
        copies[k] = copy_operand(s, shape, k, operands[k]);
        if (!copies[k])
            return false;
        if (make_plan(s, p))
            return true;
    }
    return false;
}

#define EINSUM(isa)                                                                                \
    static bool multiply_##isa(void *y, const void *const *operands,                               \
                               const struct kernel_einsum *shape, const struct plan *p)            \
    {                                                                                              \
        struct kernel_product product;                                                             \
                                                                                                   \
        if (shape->dtype == KERNEL_F32) {                                                          \
            gemm_f32_##isa(y, operands[p->rows], operands[p->columns], NULL, &p->gemm);            \
            return true;                                                                           \
        }                                                                                          \
        if (!make_product(shape, p, &product))                                                     \
            return false;                                                                          \
        product_##isa(&(struct kernel_product_data){.y = y,                                        \
                                                    .a = operands[p->rows],                        \
                                                    .b = operands[p->columns]},                    \
                      &product);                                                                   \
        return true;                                                                               \
    }                                                                                              \
                                                                                                   \
    static bool multiply_copies_##isa(void *y, const void *const *operands,                        \
                                      const struct kernel_einsum *shape)                           \
    {                                                                                              \
        struct plan p;                                                                             \
        struct kernel_einsum s;                                                                    \
        void *copies[2] = {NULL, NULL};                                                            \
        const void *dense[2] = {operands[0], operands[1]};                                         \
        bool is_planned = plan_copies(shape, operands, &s, &p, copies);                            \
                                                                                                   \
        for (int k = 0; k < 2; k++)                                                                \
            dense[k] = copies[k] ? copies[k] : operands[k];                                        \
        is_planned = is_planned && multiply_##isa(y, dense, &s, &p);                               \
        free(copies[0]);                                                                           \
        free(copies[1]);                                                                           \
        return is_planned;                                                                         \
    }                                                                                              \
                                                                                                   \
    void einsum_##isa(void *y, const void *const *operands, const struct kernel_einsum *shape)     \
    {                                                                                              \
        struct plan p;                                                                             \
                                                                                                   \
        if (make_plan(shape, &p)) {                                                                \
            if (!multiply_##isa(y, operands, shape, &p))                                           \
                einsum_loops_##isa(y, operands, shape);                                            \
        } else if (shape->operands != 2 || !multiply_copies_##isa(y, operands, shape)) {           \
            einsum_loops_##isa(y, operands, shape);                                                \
        }                                                                                          \
    }

#if defined(__x86_64__)
EINSUM(avx2)
EINSUM(avx512)
#endif
EINSUM(portable)
