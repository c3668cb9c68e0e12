/* SPDX-License-Identifier: Apache-2.0 */
/* Products, convolutions and pools of every type, quantised ones included. A thread per result. */
#include "kernels/cuda/device.cuh"

static __device__ int64_t zero_at(const void *zero, int dtype, int64_t i)
{
    return zero && !is_real_type(dtype) ? get_i64(zero, dtype, i) : 0;
}

static __device__ __forceinline__ int64_t line_at(const struct kernel_lines *lines, int64_t matrix,
                                                  int64_t line)
{
    return matrix * lines->matrix_stride + line * lines->line_stride;
}

/* Where the operands of one result lie. */
struct product_at {
    int64_t a, b, a_step, b_step; /* first elements, and how far it is to the next ones */
    int64_t a_line, b_line, y_line;
};

static __device__ struct product_at product_at(const struct kernel_product *s, int64_t matrix,
                                               int64_t row, int64_t col)
{
    int64_t a = 0, b = 0, rest = matrix;
    struct product_at at;

    for (int i = s->batch_rank - 1; i >= 0; i--) {
        a += rest % s->batch_dims[i] * s->a_batch_stride[i];
        b += rest % s->batch_dims[i] * s->b_batch_stride[i];
        rest /= s->batch_dims[i];
    }
    at.a_line = line_at(&s->a_lines, s->m * s->k > 0 ? a / (s->m * s->k) : 0, row);
    at.b_line = line_at(&s->b_lines, s->k * s->n > 0 ? b / (s->k * s->n) : 0, col);
    at.y_line = line_at(&s->y_lines, matrix, row);
    at.a = a + row * (s->trans_a ? 1 : s->k);
    at.a_step = s->trans_a ? s->m : 1;
    at.b = b + col * (s->trans_b ? s->k : 1);
    at.b_step = s->trans_b ? 1 : s->n;
    return at;
}

static __device__ int64_t integer_product(const struct kernel_product_data *d,
                                          const struct kernel_product *s,
                                          const struct product_at *at)
{
    int64_t a_zero = zero_at(d->a_zero, s->a_type, at->a_line);
    int64_t b_zero = zero_at(d->b_zero, s->b_type, at->b_line);
    uint64_t sum = 0;

    for (int64_t p = 0; p < s->k; p++) {
        int64_t a = get_i64(d->a, s->a_type, at->a + p * at->a_step);
        int64_t b = get_i64(d->b, s->b_type, at->b + p * at->b_step);

        sum += ((uint64_t)a - (uint64_t)a_zero) * ((uint64_t)b - (uint64_t)b_zero);
    }
    return (int64_t)sum;
}

static __device__ double real_product(const struct kernel_product_data *d,
                                      const struct kernel_product *s, const struct product_at *at)
{
    double sum = 0.0;

    for (int64_t p = BUG == 13; p < s->k; p++)
        sum += get_f64(d->a, s->a_type, at->a + p * at->a_step) *
               get_f64(d->b, s->b_type, at->b + p * at->b_step);
    return sum;
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    product_any(struct kernel_product_data d, struct kernel_product s, int64_t count)
{
    const void *c = s.beta == 0.0 ? NULL : d.c;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t col = i % s.n, row = i / s.n % s.m;
        int64_t c_at = row * s.c_row_stride + col * s.c_col_stride;
        struct product_at at = product_at(&s, i / s.n / s.m, row, col);

        if (is_real_type(s.y_type)) {
            double sum = s.alpha * real_product(&d, &s, &at);

            set_f64(d.y, s.y_type, i, sum + (c ? s.beta * get_f64(c, s.y_type, c_at) : 0.0));
        } else if (d.y_scale) {
            double scale = get_f64(d.a_scale, s.scale_type, at.a_line) *
                           get_f64(d.b_scale, s.scale_type, at.b_line) /
                           get_f64(d.y_scale, s.scale_type, at.y_line);

            set_f64(d.y, s.y_type, i,
                    rint((double)integer_product(&d, &s, &at) * scale) +
                        (double)zero_at(d.y_zero, s.y_type, at.y_line));
        } else if (s.alpha == 1.0 && (!c || s.beta == 1.0)) {
            uint64_t sum = (uint64_t)integer_product(&d, &s, &at);

            set_i64(d.y, s.y_type, i,
                    (int64_t)(sum + (c ? (uint64_t)get_i64(c, s.y_type, c_at) : 0)));
        } else {
            double sum = s.alpha * (double)integer_product(&d, &s, &at);

            set_f64(d.y, s.y_type, i, sum + (c ? s.beta * get_f64(c, s.y_type, c_at) : 0.0));
        }
    }
}
KERNEL_EXPORT(product_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    einsum_any(void *y, struct cuda_operands from, struct kernel_einsum s, int64_t count,
               int64_t terms)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t integer = 0;
        double real = 0.0;

        for (int64_t t = 0; t < terms; t++) {
            double factor = 1.0;
            uint64_t whole = 1;

            for (int o = 0; o < s.operands; o++) {
                int64_t place = 0, rest = t;

                for (int axis = s.kept + s.summed - 1; axis >= 0; axis--) {
                    if (axis == s.kept - 1)
                        rest = i;
                    place += rest % s.dims[axis] * s.strides[o][axis];
                    rest /= s.dims[axis];
                }
                if (is_real_type(s.dtype))
                    factor *= get_f64(from.address[o], s.dtype, place);
                else
                    whole *= (uint64_t)get_i64(from.address[o], s.dtype, place);
            }
            real += factor;
            integer = (int64_t)((uint64_t)integer + whole);
        }
        if (is_real_type(s.dtype))
            set_f64(y, s.dtype, i, real);
        else
            set_i64(y, s.dtype, i, integer);
    }
}
KERNEL_EXPORT(einsum_any)

/* Images, row-major */

/* A place in three axes. */
struct triple {
    int64_t at[KERNEL_SPATIAL];
};

static __device__ struct triple triple_of(int64_t i, const int64_t *dims)
{
    return {{i / dims[2] / dims[1], i / dims[2] % dims[1], i % dims[2]}};
}

static __device__ int64_t volume_of(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

/* The input element that window element k of output o reads, or -1. */
static __device__ int64_t input_at(const struct kernel_window *window, const struct triple *o,
                                   const struct triple *k)
{
    int64_t place = 0;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        int64_t at = window_at(window, axis, o->at[axis], k->at[axis]);

        if (at < 0)
            return -1;
        place = place * window->in[axis] + at;
    }
    return place;
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    convolve_any(struct kernel_convolve_data d, struct kernel_convolve s, int64_t count)
{
    int64_t channels = s.channels / s.groups, plane = volume_of(s.window.in);
    int64_t area = volume_of(s.window.kernel), out = volume_of(s.window.out);
    bool is_real = is_real_type(s.x_type);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t f = i / out % s.filters, n = i / out / s.filters;
        int64_t first = n * s.channels + f / (s.filters / s.groups) * channels;
        int64_t x_zero = zero_at(d.x_zero, s.x_type, 0);
        int64_t w_zero = zero_at(d.w_zero, s.w_type, s.has_filter_zeros ? f : 0);
        struct triple o = triple_of(i % out, s.window.out);
        uint64_t whole = 0;
        double real = 0.0;

        for (int64_t k = BUG == 14; k < area; k++) {
            struct triple element = triple_of(k, s.window.kernel);
            int64_t from = input_at(&s.window, &o, &element);

            for (int64_t c = 0; from >= 0 && c < channels; c++) {
                int64_t x = (first + c) * plane + from, w = (f * channels + c) * area + k;

                if (is_real)
                    real += get_f64(d.x, s.x_type, x) * get_f64(d.w, s.w_type, w);
                else
                    whole += (uint64_t)(get_i64(d.x, s.x_type, x) - x_zero) *
                             (uint64_t)(get_i64(d.w, s.w_type, w) - w_zero);
            }
        }
        if (is_real) {
            set_f64(d.y, s.y_type, i, real + (d.bias ? get_f64(d.bias, s.bias_type, f) : 0.0));
            continue;
        }
        whole += d.bias ? (uint64_t)get_i64(d.bias, s.bias_type, f) : 0;
        if (!d.y_scale) {
            set_i64(d.y, s.y_type, i, (int64_t)whole);
            continue;
        }
        real = (double)(int64_t)whole * get_f64(d.x_scale, s.scale_type, 0) *
               get_f64(d.w_scale, s.scale_type, s.has_filter_scales ? f : 0) /
               get_f64(d.y_scale, s.scale_type, 0);
        set_f64(d.y, s.y_type, i, rint(real) + (double)zero_at(d.y_zero, s.y_type, 0));
    }
}
KERNEL_EXPORT(convolve_any)

/* The place of x whose window element k goes to y's place, or -1. */
static __device__ int64_t spread_from(const struct kernel_window *window, const struct triple *to,
                                      const struct triple *k)
{
    int64_t place = 0;

    for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
        int64_t from =
            to->at[axis] + window->pad_begin[axis] - k->at[axis] * window->dilation[axis];

        if (from < 0 || from % window->stride[axis] != 0 ||
            from / window->stride[axis] >= window->out[axis])
            return -1;
        place = place * window->out[axis] + from / window->stride[axis];
    }
    return place;
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    conv_transpose_any(void *y, const void *x, const void *w, const void *bias,
                       struct kernel_conv_transpose s, int64_t count)
{
    int64_t filters = s.filters / s.groups, channels = s.channels / s.groups;
    int64_t plane = volume_of(s.window.out), area = volume_of(s.window.kernel);
    int64_t out = volume_of(s.window.in);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t f = i / out % s.filters, n = i / out / s.filters, first = f / filters * channels;
        struct triple to = triple_of(i % out, s.window.in);
        double sum = 0.0;

        for (int64_t k = BUG == 15; k < area; k++) {
            struct triple element = triple_of(k, s.window.kernel);
            int64_t from = spread_from(&s.window, &to, &element);

            for (int64_t c = first; from >= 0 && c < first + channels; c++)
                sum += get_f64(x, s.dtype, (n * s.channels + c) * plane + from) *
                       get_f64(w, s.dtype, (c * filters + f % filters) * area + k);
        }
        sum += bias ? get_f64(bias, s.dtype, f) : 0.0;
        set_f64(y, s.dtype, i, sum);
    }
}
KERNEL_EXPORT(conv_transpose_any)

/* Pools */

static __device__ bool is_larger(const void *x, int dtype, int64_t a, int64_t b)
{
    if (is_real_type(dtype))
        return get_f64(x, dtype, a) > get_f64(x, dtype, b) || is_nan(get_f64(x, dtype, a)) ||
               is_nan(get_f64(x, dtype, b));
    return get_i64(x, dtype, a) > get_i64(x, dtype, b);
}

static __device__ void set_lowest(void *y, int dtype, int64_t i)
{
    if (dtype == KERNEL_F64)
        ((double *)y)[i] = -1.7976931348623157e308;
    else if (dtype == KERNEL_F32)
        ((float *)y)[i] = -3.40282347e38f;
    else if (dtype == KERNEL_F16)
        ((uint16_t *)y)[i] = 0xfbff;
    else if (dtype == KERNEL_BF16)
        ((uint16_t *)y)[i] = 0xff7f;
    else
        set_i64(y, dtype, i, lowest_of(dtype));
}

/* place: of the maximum, in the channel that begins at `first`; -1: there is none. */
static __device__ void store_largest(void *y, int64_t *indices, const void *x, int64_t i,
                                     int64_t first, int64_t place, const struct kernel_pool_any *s)
{
    const int64_t *in = s->window.in;

    if (place < 0)
        set_lowest(y, s->dtype, i);
    else if (is_real_type(s->dtype))
        set_f64(y, s->dtype, i, get_f64(x, s->dtype, first + place));
    else
        set_i64(y, s->dtype, i, get_i64(x, s->dtype, first + place));
    if (!indices)
        return;
    if (place >= 0 && s->is_column_major)
        place = (place % in[2] * in[1] + place / in[2] % in[1]) * in[0] + place / in[2] / in[1];
    indices[i] = place < 0 ? -1 : first + place;
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    pool_any(void *y, int64_t *indices, const void *x, struct kernel_pool_any s, int64_t count)
{
    const struct kernel_window *w = &s.window;
    int64_t in = volume_of(w->in), out = volume_of(w->out), area = volume_of(w->kernel);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        struct triple o = triple_of(i % out, w->out);
        int64_t first = i / out * in, largest = -1, inside = 0, padded = 0;
        double sum = 0.0;

        for (int64_t k = 0; k < area; k++) {
            struct triple element = triple_of(k, w->kernel);
            int64_t place = input_at(w, &o, &element);
            bool is_padded = true;

            for (int axis = 0; axis < KERNEL_SPATIAL; axis++)
                is_padded = is_padded && o.at[axis] * w->stride[axis] - w->pad_begin[axis] +
                                                 element.at[axis] * w->dilation[axis] <
                                             w->in[axis] + w->pad_end[axis];
            padded += is_padded;
            if (place < 0)
                continue;
            inside++;
            if (s.op == POOL_MAX) {
                if (largest < 0 || is_larger(x, s.dtype, first + place, first + largest))
                    largest = place;
            } else {
                double number = get_f64(x, s.dtype, first + place);

                sum += s.op == POOL_LP ? pow(fabs(number), s.p) : number;
            }
        }
        if (s.count_pads && BUG != 16)
            inside = padded;
        if (s.op == POOL_MAX)
            store_largest(y, indices, x, i, first, largest, &s);
        else if (s.op == POOL_LP)
            set_f64(y, s.dtype, i, pow(sum, 1.0 / s.p));
        else
            set_f64(y, s.dtype, i, inside ? sum / (double)inside : 0.0);
    }
}
KERNEL_EXPORT(pool_any)
