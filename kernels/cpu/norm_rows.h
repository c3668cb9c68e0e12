/* SPDX-License-Identifier: Apache-2.0 */
/* How reduced axes lie, as rows of elements that follow each other: of reductions and normalisations, whose loops
 * are those of their element types. Inside kernels/cpu only. */
#ifndef OPTRACE_KERNELS_CPU_NORM_ROWS_H
#define OPTRACE_KERNELS_CPU_NORM_ROWS_H

#include <string.h>

#include "kernels/kernels.h"

/* How many of the last axes are reduced, when no other one of more than one place is; -1 when it is not so simple. */
static inline int reduced_tail(int rank, const int64_t *dims, const bool *is_reduced)
{
    int kept = rank;

    while (kept > 0 && is_reduced[kept - 1])
        kept--;
    for (int i = 0; i < kept; i++) {
        if (is_reduced[i] && dims[i] != 1)
            return -1;
    }
    return rank - kept;
}

static inline int64_t product(const int64_t *dims, int from, int until)
{
    int64_t count = 1;

    for (int i = from; i < until; i++)
        count *= dims[i];
    return count;
}

/* Reduced axes that are neighbours: [outer, count, inner]. */
struct reduced_axes {
    int64_t outer, count, inner;
};

/* False where reduced axes lie apart, or where there is nothing to take together. */
static inline bool find_axes(const struct kernel_reduce *s, struct reduced_axes *out_axes)
{
    struct reduced_axes a = {1, 1, 1};

    for (int i = 0; i < s->rank; i++) {
        if (s->dims[i] == 1)
            continue;
        if (s->is_reduced[i] && a.inner != 1)
            return false;
        if (s->is_reduced[i])
            a.count *= s->dims[i];
        else if (a.count != 1)
            a.inner *= s->dims[i];
        else
            a.outer *= s->dims[i];
    }
    *out_axes = a;
    return a.outer > 0 && a.count > 0 && a.inner > 0;
}

/* --- Rows that lie apart: the last axis with those beside it that are reduced, or kept, as it is. --- */

struct spread {
    int64_t run;          /* elements of such a row */
    bool is_reduced;      /* it is */
    int64_t groups, rows; /* of the axes before it that are kept, and that are reduced */
    int kept, reduced;    /* how many such axes there are, the last first */
    int64_t kept_dims[KERNEL_MAX_RANK], kept_stride[KERNEL_MAX_RANK];
    int64_t dims[KERNEL_MAX_RANK], stride[KERNEL_MAX_RANK];
};

/* False where there is no element. */
static inline bool plan_spread(int rank, const int64_t *dims, const bool *is_reduced,
                               struct spread *out_spread)
{
    struct spread s = {.run = 1, .groups = 1, .rows = 1};
    int64_t stride = 1;
    int i = rank - 1;

    while (i > 0 && dims[i] == 1)
        i--;
    s.is_reduced = i >= 0 && is_reduced[i];
    for (; i >= 0 && (dims[i] == 1 || is_reduced[i] == s.is_reduced); i--)
        s.run *= dims[i];
    for (stride = s.run; i >= 0; stride *= dims[i--]) {
        if (is_reduced[i]) {
            s.dims[s.reduced] = dims[i];
            s.stride[s.reduced++] = stride;
            s.rows *= dims[i];
        } else {
            s.kept_dims[s.kept] = dims[i];
            s.kept_stride[s.kept++] = stride;
            s.groups *= dims[i];
        }
    }
    *out_spread = s;
    return s.run > 0 && s.groups > 0 && s.rows > 0;
}

static inline int64_t place_of(int64_t index, const int64_t *dims, const int64_t *stride, int rank)
{
    int64_t place = 0;

    for (int i = 0; i < rank; index /= dims[i++])
        place += index % dims[i] * stride[i];
    return place;
}

/* --- Normalisations. --- */

struct normalization {
    const struct kernel_normalize_data *data;
    const struct kernel_normalize *shape;
    int64_t count;                     /* of a row */
    int64_t scale_stride, bias_stride; /* along a row: 1, or 0 for one that all share */
    int64_t segment; /* elements of a row that share scale and bias, which follow each other from
                        segment to segment; 0: none do */
    int64_t scales;  /* how many there are before they begin anew */
};

/* Whether an operand is dense along the reduced axes and the same for all rows; its stride along
 * a row goes to *out_stride. */
static inline bool lies_along_rows(const int64_t *dims, const int64_t *strides, int rank, int tail,
                                   int64_t *out_stride)
{
    int64_t dense = 1;
    bool is_dense = true, is_one = true;

    for (int i = rank - 1; i >= 0; i--) {
        if (dims[i] == 1)
            continue;
        if (i < rank - tail && strides[i] != 0)
            return false;
        if (i < rank - tail)
            continue;
        is_dense = is_dense && strides[i] == dense;
        is_one = is_one && strides[i] == 0;
        dense *= dims[i];
    }
    *out_stride = is_one ? 0 : 1;
    return is_dense || is_one;
}

/* Whether scale (or bias) has one number for each place of axis 1, or of axes 1 and 2 together, as
 * group normalisation has it, the rows being that of `tail` axes behind the first two. */
static inline bool lies_by_channel(const struct kernel_normalize *s, const int64_t *strides,
                                   int tail, struct normalization *out_plan)
{
    int last = s->rank > 2 && strides[2] != 0 ? 2 : 1;

    if (s->rank - tail != 2 || strides[0] != 0 || strides[last] != 1 ||
        (last == 2 && strides[1] != s->dims[2]))
        return false;
    for (int i = last + 1; i < s->rank; i++)
        if (strides[i] != 0)
            return false;
    out_plan->segment = product(s->dims, last + 1, s->rank);
    out_plan->scales = product(s->dims, 1, last + 1);
    return out_plan->segment > 0;
}

/* Rows of `dtype` that lie dense, with scales and biases that lie_along_rows() or lie_by_channel(). */
static inline bool plan_rows(const struct kernel_normalize_data *data,
                             const struct kernel_normalize *s, enum kernel_dtype dtype,
                             struct normalization *out_plan)
{
    int tail = reduced_tail(s->rank, s->dims, s->is_reduced);

    *out_plan = (struct normalization){.data = data, .shape = s};
    if (s->dtype != dtype || tail <= 0)
        return false;
    out_plan->count = product(s->dims, s->rank - tail, s->rank);
    if (out_plan->count > 0 && data->scale && lies_by_channel(s, s->scale_stride, tail, out_plan) &&
        (!data->bias ||
         memcmp(s->scale_stride, s->bias_stride, (size_t)s->rank * sizeof(int64_t)) == 0))
        return true;
    out_plan->segment = 0;
    return out_plan->count > 0 &&
           (!data->scale ||
            lies_along_rows(s->dims, s->scale_stride, s->rank, tail, &out_plan->scale_stride)) &&
           (!data->bias ||
            lies_along_rows(s->dims, s->bias_stride, s->rank, tail, &out_plan->bias_stride));
}

/* Groups of rows that lie apart, without scale and bias. */
struct apart {
    void *y;
    const void *x;
    const struct kernel_normalize *shape;
    struct spread s;
};

static inline bool plan_apart(const struct kernel_normalize_data *data,
                              const struct kernel_normalize *s, enum kernel_dtype dtype,
                              struct apart *out_plan)
{
    *out_plan = (struct apart){.y = data->y, .x = data->x, .shape = s};
    return s->dtype == dtype && !s->keeps_mean && !data->scale && !data->bias && !data->mean &&
           !data->inverse && plan_spread(s->rank, s->dims, s->is_reduced, &out_plan->s) &&
           out_plan->s.is_reduced;
}

#endif
