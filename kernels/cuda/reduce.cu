/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that sum up along axes: reductions, the place of the largest, softmax and its kin,
 * normalisations. All sums are of double. */
#include "kernels/cuda/reduce.cuh"

/* Where element i of a group begins, in a tensor whose axes were split. */
static __device__ int64_t place_in(const int64_t *dims, const int64_t *stride, int rank, int64_t i)
{
    int64_t at = 0;

    for (int axis = rank - 1; axis >= 0; axis--) {
        at += i % dims[axis] * stride[axis];
        i /= dims[axis];
    }
    return at;
}

/* Reductions */

/* The elements first, first + step, ... of a group. */
static __device__ double reduce_part(const void *x, int dtype, int op, int64_t base,
                                     const struct cuda_groups *groups, int64_t first, int64_t step,
                                     double largest)
{
    double sum = begin_real(op);

    for (int64_t k = first; k < groups->group_size; k += step)
        sum = add_real(
            op, sum,
            get_f64(x, dtype, base + place_in(groups->dims, groups->stride, groups->reduced, k)),
            largest);
    return sum;
}

/* A block per result. */
extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    reduce_block(void *y, const void *x, int dtype, int op, struct cuda_groups groups)
{
    __shared__ double partial[CUDA_LINE_BLOCK / 32];

    for (int64_t i = blockIdx.x; i < groups.group_count; i += gridDim.x) {
        int64_t base = place_in(groups.kept_dims, groups.kept_stride, groups.kept, i);
        double largest = 0.0, sum;

        if (op == REDUCE_LOG_SUM_EXP) {
            largest = block_reduce(
                partial,
                reduce_part(x, dtype, REDUCE_MAX, base, &groups, threadIdx.x, blockDim.x, 0.0),
                join_of{REDUCE_MAX}, -(double)INFINITY);
            if (!isfinite(largest)) /* inf - inf would be NaN */
                largest = 0.0;
        }
        sum = block_reduce(
            partial, reduce_part(x, dtype, op, base, &groups, threadIdx.x, blockDim.x, largest),
            join_of{op}, begin_real(op));
        if (threadIdx.x == 0)
            set_f64(y, dtype, i, end_real(op, sum, groups.group_size, largest));
    }
}
KERNEL_EXPORT(reduce_block)

static __device__ uint64_t add_integer(int op, uint64_t sum, int64_t x)
{
    switch (op) {
    case REDUCE_L1:
        return sum + (x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    case REDUCE_SUM_SQUARE:
        return sum + (uint64_t)x * (uint64_t)x;
    case REDUCE_MAX:
        return x > (int64_t)sum ? (uint64_t)x : sum;
    case REDUCE_MIN:
        return x < (int64_t)sum ? (uint64_t)x : sum;
    case REDUCE_PROD:
        return sum * (uint64_t)x;
    default:
        return sum + (uint64_t)x;
    }
}

static __device__ int64_t reduce_integer(const void *x, int dtype, int op, int64_t base,
                                         const struct cuda_groups *groups)
{
    uint64_t sum = op == REDUCE_MAX    ? (uint64_t)lowest_of(dtype)
                   : op == REDUCE_MIN  ? (uint64_t)highest_of(dtype)
                   : op == REDUCE_PROD ? 1
                                       : 0;

    for (int64_t k = 0; k < groups->group_size; k++)
        sum = add_integer(
            op, sum,
            get_i64(x, dtype, base + place_in(groups->dims, groups->stride, groups->reduced, k)));
    if (op == REDUCE_MEAN)
        return groups->group_size ? (int64_t)sum / groups->group_size : 0;
    return (int64_t)sum;
}

/* A thread per result: short groups, and integers. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    reduce_thread(void *y, const void *x, int dtype, int op, bool as_real,
                  struct cuda_groups groups)
{
    for (int64_t i = grid_index(); i < groups.group_count; i += grid_step()) {
        int64_t base = place_in(groups.kept_dims, groups.kept_stride, groups.kept, i);
        double largest = 0.0;

        if (!as_real) {
            set_i64(y, dtype, i, reduce_integer(x, dtype, op, base, &groups));
            continue;
        }
        if (op == REDUCE_LOG_SUM_EXP)
            largest = reduce_part(x, dtype, REDUCE_MAX, base, &groups, 0, 1, 0.0);
        if (!isfinite(largest))
            largest = 0.0;
        set_f64(y, dtype, i,
                end_real(op, reduce_part(x, dtype, op, base, &groups, 0, 1, largest),
                         groups.group_size, largest));
    }
}
KERNEL_EXPORT(reduce_thread)

/* Whether x[i] takes the place of x[best]. */
static __device__ bool is_better(const void *x, int64_t i, int64_t best,
                                 const struct kernel_arg_reduce *s)
{
    if (is_real_type(s->dtype)) {
        double a = get_f64(x, s->dtype, i), b = get_f64(x, s->dtype, best);

        if (is_nan(a) || is_nan(b))
            return !is_nan(b);
        return a == b ? s->takes_last : (a < b) == s->is_min;
    } else {
        int64_t a = get_i64(x, s->dtype, i), b = get_i64(x, s->dtype, best);

        return a == b ? s->takes_last : (a < b) == s->is_min;
    }
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    arg_reduce_any(int64_t *y, const void *x, struct kernel_arg_reduce shape)
{
    for (int64_t i = grid_index(); i < shape.outer * shape.inner; i += grid_step()) {
        int64_t base = i / shape.inner * shape.axis * shape.inner + i % shape.inner, best = 0;

        for (int64_t k = 1; k < shape.axis; k++)
            if (is_better(x, base + k * shape.inner, base + best * shape.inner, &shape))
                best = k;
        y[i] = best;
    }
}
KERNEL_EXPORT(arg_reduce_any)

/* Along one axis: element k of a line is at x[base + k * inner]. */

static __device__ int64_t line_base(const struct kernel_along *s, int64_t line)
{
    return line / s->inner * s->axis * s->inner + line % s->inner;
}

/* Softmax, its logarithm, a norm: a block per line. is_plain: where the largest is not finite it is
 * taken away all the same, as softmax_f32_fn does. */
extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    along_block(void *y, const void *x, bool is_plain, struct kernel_along shape)
{
    __shared__ double partial[CUDA_LINE_BLOCK / 32];
    bool is_norm = shape.op == ALONG_L1_NORM || shape.op == ALONG_L2_NORM;

    for (int64_t line = blockIdx.x; line < shape.outer * shape.inner; line += gridDim.x) {
        int64_t base = line_base(&shape, line);
        double largest = -(double)INFINITY, sum = 0.0;

        for (int64_t k = threadIdx.x; !is_norm && k < shape.axis; k += blockDim.x)
            largest = fmax(largest, get_f64(x, shape.dtype, base + k * shape.inner));
        largest = block_reduce(partial, largest, largest_of(), -(double)INFINITY);
        if (is_norm || (!is_plain && !isfinite(largest)))
            largest = 0.0;
        for (int64_t k = threadIdx.x; k < shape.axis; k += blockDim.x) {
            double v = get_f64(x, shape.dtype, base + k * shape.inner);

            sum += shape.op == ALONG_L1_NORM   ? fabs(v)
                   : shape.op == ALONG_L2_NORM ? v * v
                                               : exp(v - largest);
        }
        sum = block_reduce(partial, sum, sum_of(), 0.0);
        if (shape.op == ALONG_L2_NORM)
            sum = sqrt(sum);
        for (int64_t k = threadIdx.x; k < shape.axis; k += blockDim.x) {
            int64_t at = base + k * shape.inner;
            double v = get_f64(x, shape.dtype, at);

            if (BUG == 8 && k == 1)
                continue;
            set_f64(y, shape.dtype, at,
                    is_norm                         ? (sum != 0.0 ? v / sum : 0.0)
                    : shape.op == ALONG_LOG_SOFTMAX ? v - largest - log(sum)
                                                    : exp(v - largest) / sum);
        }
    }
}
KERNEL_EXPORT(along_block)

static __device__ void hardmax_line(void *y, const void *x, const struct kernel_along *s,
                                    int64_t base)
{
    int64_t best = 0;

    for (int64_t k = 1; k < s->axis; k++)
        if (get_f64(x, s->dtype, base + k * s->inner) >
            get_f64(x, s->dtype, base + best * s->inner))
            best = k;
    for (int64_t k = 0; k < s->axis; k++)
        set_f64(y, s->dtype, base + k * s->inner, k == best);
}

static __device__ void run_line(void *y, const void *x, const struct kernel_along *s, int64_t base)
{
    bool is_real = is_real_type(s->dtype), is_product = s->op == ALONG_PRODUCT;
    uint64_t integer = is_product;
    double real = is_product;

    for (int64_t k = 0; k < s->axis; k++) {
        int64_t at = base + (s->is_reverse ? s->axis - 1 - k : k) * s->inner;
        double real_before = real;
        uint64_t integer_before = integer;

        if (is_real) {
            real = is_product ? real * get_f64(x, s->dtype, at) : real + get_f64(x, s->dtype, at);
            set_f64(y, s->dtype, at, s->is_exclusive ? real_before : real);
        } else {
            uint64_t whole = (uint64_t)get_i64(x, s->dtype, at);

            integer = is_product ? integer * whole : integer + whole;
            set_i64(y, s->dtype, at, (int64_t)(s->is_exclusive ? integer_before : integer));
        }
    }
}

/* What is done in order: a thread per line. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    along_thread(void *y, const void *x, struct kernel_along shape)
{
    for (int64_t line = grid_index(); line < shape.outer * shape.inner; line += grid_step()) {
        if (shape.op == ALONG_HARDMAX)
            hardmax_line(y, x, &shape, line_base(&shape, line));
        else
            run_line(y, x, &shape, line_base(&shape, line));
    }
}
KERNEL_EXPORT(along_thread)

/* Normalisations: a block per group. */

static __device__ double group_mean(const void *x, int dtype, int64_t base,
                                    const struct cuda_groups *groups, double *partial,
                                    bool of_squares, double mean)
{
    double sum = 0.0;

    for (int64_t k = threadIdx.x; k < groups->group_size; k += blockDim.x) {
        double v =
            get_f64(x, dtype, base + place_in(groups->dims, groups->stride, groups->reduced, k)) -
            mean;

        sum += of_squares ? v * v : v;
    }
    return block_reduce(partial, sum, sum_of(), 0.0) / (double)groups->group_size;
}

/* Where scale or bias of an element lies, by its place among all of x. */
static __device__ int64_t parameter_place(const int64_t *dims, const int64_t *stride, int rank,
                                          int64_t element)
{
    return place_in(dims, stride, rank, element);
}

extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    normalize_block(struct kernel_normalize_data data, struct kernel_normalize shape,
                    struct cuda_groups groups)
{
    __shared__ double partial[CUDA_LINE_BLOCK / 32];

    for (int64_t i = blockIdx.x; i < groups.group_count; i += gridDim.x) {
        int64_t base = place_in(groups.kept_dims, groups.kept_stride, groups.kept, i);
        double mean = 0.0, variance, inverse;

        if (!shape.keeps_mean)
            mean = group_mean(data.x, shape.dtype, base, &groups, partial, false, 0.0);
        variance =
            group_mean(data.x, shape.dtype, base, &groups, partial, true, BUG == 9 ? 0.0 : mean);
        inverse = shape.adds_to_root ? 1.0 / (sqrt(variance) + shape.epsilon)
                                     : 1.0 / sqrt(variance + shape.epsilon);
        for (int64_t k = threadIdx.x; k < groups.group_size; k += blockDim.x) {
            int64_t at = base + place_in(groups.dims, groups.stride, groups.reduced, k);
            double y = (get_f64(data.x, shape.dtype, at) - mean) * inverse;

            if (data.scale)
                y *= get_f64(data.scale, shape.dtype,
                             parameter_place(shape.dims, shape.scale_stride, shape.rank, at));
            if (data.bias)
                y += get_f64(data.bias, shape.dtype,
                             parameter_place(shape.dims, shape.bias_stride, shape.rank, at));
            set_f64(data.y, shape.dtype, at, y);
        }
        if (threadIdx.x == 0 && data.mean)
            set_f64(data.mean, shape.stat_dtype, i, mean);
        if (threadIdx.x == 0 && data.inverse)
            set_f64(data.inverse, shape.stat_dtype, i, inverse);
    }
}
KERNEL_EXPORT(normalize_block)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    batch_norm_f32(float *y, const float *x, const float *scale, const float *bias,
                   const float *mean, const float *variance, float epsilon, int64_t count,
                   int64_t channels, int64_t plane)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t c = i / plane % channels;
        float s = scale[c] / sqrtf(variance[c] + epsilon);

        y[i] = (x[i] - mean[c]) * s + bias[c];
    }
}
KERNEL_EXPORT(batch_norm_f32)
