/* SPDX-License-Identifier: Apache-2.0 */
/* Pools over every element type, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"
#include "kernels/ref/ref.h"

#include <float.h>
#include <math.h>

struct pooled {
    int64_t place;  /* of the maximum in the channel, -1: none */
    double sum;     /* of the elements, or of |x|^p */
    int64_t inside; /* elements of the input */
    int64_t padded; /* elements of the input and its pads */
};

static bool is_larger(const void *x, enum kernel_dtype dtype, int64_t a, int64_t b)
{
    if (kernel_dtype_is_real(dtype))
        return ref_get_f64(x, dtype, a) > ref_get_f64(x, dtype, b) ||
               isnan(ref_get_f64(x, dtype, a)) || isnan(ref_get_f64(x, dtype, b));
    return ref_get_i64(x, dtype, a) > ref_get_i64(x, dtype, b);
}

/* One more element of the input. */
static void take(struct pooled *p, const void *x, int64_t first, int64_t place,
                 const struct kernel_pool_any *s)
{
    p->inside++;
    if (s->op == POOL_MAX) {
        if (p->place < 0 || is_larger(x, s->dtype, first + place, first + p->place))
            p->place = place;
        return;
    }
    if (s->op == POOL_AVERAGE)
        p->sum += ref_get_f64(x, s->dtype, first + place);
    else
        p->sum += pow(fabs(ref_get_f64(x, s->dtype, first + place)), s->p);
}

static struct pooled pool_window(const void *x, int64_t first, const int64_t o[3],
                                 const struct kernel_pool_any *s)
{
    const struct kernel_window *w = &s->window;
    struct pooled pooled = {.place = -1};
    int64_t k[KERNEL_SPATIAL] = {0};

    do {
        bool inside = true, padded = true;
        int64_t place = 0;

        for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
            int64_t at =
                o[axis] * w->stride[axis] - w->pad_begin[axis] + k[axis] * w->dilation[axis];

            inside = inside && at >= 0 && at < w->in[axis];
            padded = padded && at < w->in[axis] + w->pad_end[axis];
            place = place * w->in[axis] + at;
        }
        pooled.padded += padded;
        if (inside)
            take(&pooled, x, first, place, s);
    } while (ref_step(k, w->kernel, KERNEL_SPATIAL));
    return pooled;
}

/* A place in the channel, counted with the first spatial axis as the fastest. */
static int64_t column_major(int64_t place, const int64_t in[KERNEL_SPATIAL])
{
    int64_t w = place % in[2], h = place / in[2] % in[1], d = place / in[2] / in[1];

    return (w * in[1] + h) * in[0] + d;
}

static void set_lowest(void *y, enum kernel_dtype dtype, int64_t i)
{
    if (dtype == KERNEL_F32)
        ((float *)y)[i] = -FLT_MAX;
    else if (dtype == KERNEL_F64)
        ((double *)y)[i] = -DBL_MAX;
    else if (dtype == KERNEL_F16)
        ref_set_f64(y, dtype, i, -65504.0);
    else if (dtype == KERNEL_BF16)
        ref_set_f64(y, dtype, i, -0x1.fep127);
    else
        ref_set_i64(y, dtype, i, ref_lowest(dtype));
}

static void store_max(void *y, int64_t *indices, const void *x, int64_t i, int64_t first,
                      const struct pooled *p, const struct kernel_pool_any *s)
{
    if (p->place < 0)
        set_lowest(y, s->dtype, i);
    else if (kernel_dtype_is_real(s->dtype))
        ref_set_f64(y, s->dtype, i, ref_get_f64(x, s->dtype, first + p->place));
    else
        ref_set_i64(y, s->dtype, i, ref_get_i64(x, s->dtype, first + p->place));
    if (!indices)
        return;
    indices[i] = p->place < 0 ? -1 : first + p->place;
    if (p->place >= 0 && s->is_column_major)
        indices[i] = first + column_major(p->place, s->window.in);
}

void pool_ref(void *y, int64_t *indices, const void *x, const struct kernel_pool_any *shape)
{
    int64_t in = ref_product(shape->window.in, KERNEL_SPATIAL);
    int64_t out = ref_product(shape->window.out, KERNEL_SPATIAL);

    for (int64_t channel = 0; channel < shape->batch * shape->channels; channel++) {
        int64_t o[KERNEL_SPATIAL] = {0};

        for (int64_t i = channel * out; i < (channel + 1) * out; i++) {
            struct pooled p = pool_window(x, channel * in, o, shape);
            int64_t count = shape->count_pads ? p.padded : p.inside;

            if (shape->op == POOL_MAX)
                store_max(y, indices, x, i, channel * in, &p, shape);
            else if (shape->op == POOL_AVERAGE)
                ref_set_f64(y, shape->dtype, i, count ? p.sum / (double)count : 0.0);
            else
                ref_set_f64(y, shape->dtype, i, pow(p.sum, 1.0 / shape->p));
            ref_step(o, shape->window.out, KERNEL_SPATIAL);
        }
    }
}
