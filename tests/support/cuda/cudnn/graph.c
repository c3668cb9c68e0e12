/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and what comes behind them, one element after the other, summed in double. */
#include "tests/support/cuda/cudnn/graph.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/cuda/cudnn.h"
#include "kernels/ref/number.h"

static enum kernel_dtype dtype_of(const struct graph_tensor *tensor)
{
    return tensor->type == DNN_F16    ? KERNEL_F16
           : tensor->type == DNN_BF16 ? KERNEL_BF16
                                      : KERNEL_F32;
}

bool graph_fits(const struct graph_problem *p)
{
    const int64_t rank = p->x.rank;

    if ((rank != 4 && rank != 5) || p->w.rank != rank || p->y.rank != rank ||
        p->result.rank != rank || p->x.dims[0] != p->y.dims[0] || p->y.dims[1] != p->w.dims[0] ||
        p->w.dims[1] < 1 || p->x.dims[1] % p->w.dims[1] != 0 ||
        p->y.dims[1] % (p->x.dims[1] / p->w.dims[1]) != 0)
        return false;
    for (int64_t i = 2; i < rank; i++) {
        int64_t room = p->x.dims[i] + p->pad_begin[i - 2] + p->pad_end[i - 2] -
                       p->dilation[i - 2] * (p->w.dims[i] - 1) - 1;

        if (p->stride[i - 2] < 1 || p->dilation[i - 2] < 1 || p->pad_begin[i - 2] < 0 ||
            p->pad_end[i - 2] < 0 || room < 0 || p->y.dims[i] != room / p->stride[i - 2] + 1)
            return false;
    }
    return true;
}

int64_t graph_count(const struct graph_problem *p)
{
    int64_t count = 1;

    for (int64_t i = 0; i < p->result.rank; i++)
        count *= p->result.dims[i];
    return count;
}

/* To ten bits behind the point, halves to even. */
static double round_tf32(float value)
{
    uint32_t bits;

    if (!isfinite(value))
        return (double)value;
    memcpy(&bits, &value, sizeof(bits));
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

static double element(const struct graph_work *w, const struct graph_tensor *tensor,
                      const void *data, int64_t at)
{
    double value = ref_get_f64(data, dtype_of(tensor), at);

    return w->is_tf32 ? round_tf32((float)value) : value;
}

/* Where the element `k` of the kernel reads for the result at `to`; false: nowhere. */
static bool read_place(const struct graph_problem *p, const int64_t *to, const int64_t *k,
                       int64_t *out_place)
{
    for (int64_t i = 0; i < p->x.rank - 2; i++) {
        int64_t reach = k[i] * p->dilation[i] - p->pad_begin[i];
        int64_t at = p->is_back ? to[i] - reach : to[i] * p->stride[i] + reach;
        int64_t limit = p->is_back ? p->y.dims[2 + i] : p->x.dims[2 + i];

        if (at < 0 || (p->is_back && at % p->stride[i] != 0))
            return false;
        out_place[i] = p->is_back ? at / p->stride[i] : at;
        if (out_place[i] >= limit)
            return false;
    }
    return true;
}

/* The channels that are summed up for channel `c` of the result, in halves. */
static double tap(const struct graph_work *w, int64_t n, int64_t c, const int64_t *place,
                  const int64_t *k, int64_t from, int64_t to)
{
    const struct graph_problem *p = &w->problem;
    const struct graph_tensor *source = p->is_back ? &p->y : &p->x;
    int64_t groups = p->x.dims[1] / p->w.dims[1], filters = p->y.dims[1] / groups;
    int64_t group = p->is_back ? c / p->w.dims[1] : c / filters;
    int64_t read = n * source->strides[0], weight = 0;
    double sum = 0.0;

    for (int64_t i = 2; i < p->x.rank; i++) {
        read += place[i - 2] * source->strides[i];
        weight += k[i - 2] * p->w.strides[i];
    }
    for (int64_t j = from; j < to; j++) {
        int64_t filter = p->is_back ? group * filters + j : c;
        int64_t channel = p->is_back ? c % p->w.dims[1] : j;
        int64_t other = p->is_back ? filter : group * p->w.dims[1] + j;

        sum +=
            element(w, source, w->from, read + other * source->strides[1]) *
            element(w, &p->w, w->w, weight + filter * p->w.strides[0] + channel * p->w.strides[1]);
    }
    return sum;
}

/* Index number `number` of a tensor's axes from the third on. */
static void unravel(const struct graph_tensor *tensor, int64_t number, int64_t *out_index)
{
    for (int64_t i = tensor->rank - 1; i >= 2; i--) {
        out_index[i - 2] = number % tensor->dims[i];
        number /= tensor->dims[i];
    }
}

static double sum_of(const struct graph_work *w, int64_t n, int64_t c, const int64_t *to,
                     bool is_first, bool is_second)
{
    const struct graph_problem *p = &w->problem;
    int64_t groups = p->x.dims[1] / p->w.dims[1];
    int64_t all = p->is_back ? p->y.dims[1] / groups : p->w.dims[1], volume = 1;
    double sum = 0.0;

    for (int64_t i = 2; i < p->w.rank; i++)
        volume *= p->w.dims[i];
    for (int64_t number = 0; number < volume; number++) {
        int64_t k[3] = {0}, place[3] = {0};

        unravel(&p->w, number, k);
        if (read_place(p, to, k, place))
            sum += tap(w, n, c, place, k, is_first ? 0 : all / 2, is_second ? all : all / 2);
    }
    return sum;
}

static double applied(const struct graph_step *step, double value)
{
    switch (step->mode) {
    case DNN_TANH:
        return tanh(value);
    case DNN_SIGMOID:
        return 1.0 / (1.0 + exp(-value));
    default:
        if (value < (double)step->lower)
            return (double)step->lower + (double)step->slope * (value - (double)step->lower);
        return value > (double)step->upper ? (double)step->upper : value;
    }
}

/* Where a tensor has what belongs to an element of the result: axes of one are spread. */
static int64_t offset_of(const struct graph_tensor *tensor, int64_t n, int64_t c, const int64_t *to)
{
    int64_t at = (tensor->dims[0] == 1 ? 0 : n) * tensor->strides[0] +
                 (tensor->dims[1] == 1 ? 0 : c) * tensor->strides[1];

    for (int64_t i = 2; i < tensor->rank; i++)
        at += (tensor->dims[i] == 1 ? 0 : to[i - 2]) * tensor->strides[i];
    return at;
}

static void store(const struct graph_work *w, int64_t n, int64_t c, const int64_t *to, double sum)
{
    const struct graph_problem *p = &w->problem;
    int64_t at = offset_of(&p->result, n, c, to);

    sum *= (double)p->alpha;
    if (p->beta != 0.0f)
        sum += (double)p->beta * ref_get_f64(w->to, dtype_of(&p->result), at);
    for (int i = 0; i < p->step_count; i++) {
        const struct graph_step *step = &p->steps[i];

        if (step->other.id != 0)
            sum += ref_get_f64(w->others[i], dtype_of(&step->other),
                               offset_of(&step->other, n, c, to));
        else
            sum = applied(step, sum);
    }
    ref_set_f64(w->to, dtype_of(&p->result), at, (double)(float)sum);
}

void graph_compute(const void *work)
{
    const struct graph_work *w = work;
    const struct graph_tensor *result = &w->problem.result;
    int64_t count = graph_count(&w->problem), plane = count / result->dims[0] / result->dims[1];

    for (int64_t number = 0; number < count; number++) {
        int64_t c = number / plane % result->dims[1], n = number / plane / result->dims[1];
        int64_t to[3] = {0};

        unravel(result, number % plane, to);
        if (!w->partial)
            store(w, n, c, to, sum_of(w, n, c, to, true, true));
        else if (!w->is_second)
            w->partial[number] = sum_of(w, n, c, to, true, false);
        else
            store(w, n, c, to, w->partial[number] + sum_of(w, n, c, to, false, true));
    }
}
