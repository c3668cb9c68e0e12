/* SPDX-License-Identifier: Apache-2.0 */
/* What is stored in half precision and computed in float32, the truth: an element at a time, products
 * summed in f64. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"
#include "kernels/ref/ref.h"

#include <float.h>
#include <math.h>

static void store(void *y, enum kernel_dtype dtype, int64_t i, float number, bool saturates)
{
    const float most = dtype == KERNEL_F16 ? 0x1.ffcp15f : 0x1.fep127f;
    float size = fabsf(number);

    if (saturates && dtype != KERNEL_F32 && size > most && size <= FLT_MAX)
        number = copysignf(most, number);
    ref_set_f64(y, dtype, i, (double)number);
}

void narrow_ref(void *y, enum kernel_dtype to, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store(y, to, (int64_t)i, x[i], true);
}

/* --- Convolutions --- */

/* One result of a convolution, or of its transpose: channel f of image n at o. */
struct spot {
    int64_t n, f, o[KERNEL_SPATIAL];
};

/* The input's place that element k of the kernel brings to `o`; false: none. */
static bool find_place(const struct kernel_conv *s, const int64_t *o, const int64_t *k,
                       int64_t *out_place)
{
    const struct kernel_window *window = &s->window;

    *out_place = 0;
    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        int64_t size = s->is_transposed ? window->out[axis] : window->in[axis], at;

        if (s->is_transposed) {
            at = o[axis] + window->pad_begin[axis] - k[axis] * window->dilation[axis];
            if (at < 0 || at % window->stride[axis] != 0)
                return false;
            at /= window->stride[axis];
        } else {
            at = ref_window_at(window, axis, o[axis], k[axis]);
        }
        if (at < 0 || at >= size)
            return false;
        *out_place = *out_place * size + at;
    }
    return true;
}

static double products_of(const void *x, const void *w, const struct kernel_conv_half *shape,
                          const struct spot *spot)
{
    const struct kernel_conv *s = &shape->conv;
    int64_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    int64_t plane = ref_product(s->is_transposed ? s->window.out : s->window.in, KERNEL_SPATIAL);
    int64_t area = ref_product(s->window.kernel, KERNEL_SPATIAL);
    int64_t first = spot->f / filters * channels, k[KERNEL_SPATIAL] = {0}, element = 0;
    int64_t pixel = s->channels_last ? s->channels : 1, step = s->channels_last ? 1 : plane;
    double sum = 0.0;

    do {
        int64_t place;

        for (int64_t c = 0; find_place(s, spot->o, k, &place) && c < channels; c++) {
            int64_t line = s->is_transposed ? (first + c) * filters + spot->f % filters
                                            : spot->f * channels + c;

            int64_t weight = s->w_channels_last ? (spot->f * area + element) * channels + c
                                                : line * area + element;

            sum += ref_get_f64(x, shape->dtype,
                               spot->n * s->channels * plane + (first + c) * step + place * pixel) *
                   ref_get_f64(w, shape->dtype, weight);
        }
        element++;
    } while (ref_step(k, s->window.kernel, KERNEL_SPATIAL));
    return sum;
}

void conv_half_ref(void *y, const void *x, const void *w, const void *bias, const void *residual,
                   const struct kernel_conv_half *shape)
{
    const struct kernel_conv *s = &shape->conv;
    const int64_t *out = s->is_transposed ? s->window.in : s->window.out;
    int64_t plane = ref_product(out, KERNEL_SPATIAL);

    for (int64_t i = 0; i < s->batch * s->filters; i++) {
        struct spot spot = {i / s->filters, i % s->filters, {0}};

        for (int64_t p = 0; p < plane; p++, ref_step(spot.o, out, KERNEL_SPATIAL)) {
            double sum = products_of(x, w, shape, &spot);
            int64_t at =
                s->channels_last ? (spot.n * plane + p) * s->filters + spot.f : i * plane + p;

            sum += bias ? ref_get_f64(bias, shape->bias_type, spot.f) : 0.0;
            sum += residual ? ref_get_f64(residual, shape->residual_type, at) : 0.0;
            store(y, shape->dtype, at, ref_activate((float)sum, &s->activation), shape->saturates);
        }
    }
}

/* --- Products --- */

void gemm_half_ref(void *y, const void *a, const void *b, const void *c,
                   const struct kernel_gemm_half *shape)
{
    const struct kernel_gemm *s = &shape->gemm;
    int64_t a_line = kernel_gemm_a_line(s), b_line = kernel_gemm_b_line(s);
    int64_t a_row = s->trans_a ? 1 : a_line, a_col = s->trans_a ? a_line : 1;
    int64_t b_row = s->trans_b ? 1 : b_line, b_col = s->trans_b ? b_line : 1;
    int64_t count = ref_product(s->batch_dims, s->batch_rank);

    for (int64_t i = 0; i < count * s->m * s->n; i++) {
        struct kernel_gemm_place at = kernel_gemm_place(s, i / s->n / s->m);
        int64_t row = i / s->n % s->m, col = i % s->n;
        double sum = 0.0;

        for (int64_t p = 0; p < s->k; p++)
            sum += ref_get_f64(a, shape->dtype, at.a + row * a_row + p * a_col) *
                   ref_get_f64(b, shape->dtype, at.b + p * b_row + col * b_col);
        sum *= (double)s->alpha;
        if (c && s->beta != 0.0f)
            sum += (double)s->beta *
                   ref_get_f64(c, shape->c_type, row * s->c_row_stride + col * s->c_col_stride);
        store(y, shape->y_type, at.y + row * kernel_gemm_y_line(s) + col,
              ref_activate((float)sum, &shape->activation), shape->saturates);
    }
}

/* --- Chains --- */

void chain_half_ref(void *y, const void *const *inputs, const struct kernel_chain_half *given)
{
    const struct kernel_chain *chain = &given->chain;
    int64_t count = ref_product(chain->dims, chain->rank);

    for (int64_t index = 0; index < count; index++) {
        float numbers[KERNEL_CHAIN_INPUTS], result;
        const void *addresses[KERNEL_CHAIN_INPUTS];
        struct kernel_chain one = *chain;

        /* The same chain of one element, of numbers that are converted before. */
        for (int i = 0; i < chain->inputs; i++) {
            numbers[i] = ref_chain_input(inputs[i], chain, i, given->types[i], index);
            addresses[i] = &numbers[i];
        }
        one.rank = 0;
        one.type = KERNEL_F32;
        one.is_padded = false;
        chain_ref(&result, addresses, &one);
        store(y, given->y_type, index, result, given->saturates);
    }
}
