/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that place by index and order elements, and those of quantisation. */
#include "kernels/cuda/device.cuh"

/* Scattering: y has x's elements before. Who writes to a place does so alone and in order, so that
 * results do not depend on the order of threads. */

static __device__ double combined(int op, double a, double b)
{
    if (op == SCATTER_ADD)
        return a + b;
    if (op == SCATTER_MUL)
        return a * b;
    if (is_nan(a) || is_nan(b))
        return (double)NAN;
    return (a > b) == (op == SCATTER_MAX) ? a : b;
}

static __device__ int64_t combined_integers(int op, int dtype, int64_t a, int64_t b)
{
    if (op == SCATTER_ADD && dtype == KERNEL_BOOL)
        return a | b;
    if (op == SCATTER_ADD)
        return (int64_t)((uint64_t)a + (uint64_t)b);
    if (op == SCATTER_MUL)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return (a > b) == (op == SCATTER_MAX) ? a : b;
}

/* y[to] op= x[from]. */
static __device__ void combine(int op, int dtype, int bytes, void *y, int64_t to, const void *x,
                               int64_t from)
{
    if (op == SCATTER_SET)
        move_element(y, to, x, from, bytes);
    else if (is_real_type(dtype))
        set_f64(y, dtype, to, combined(op, get_f64(y, dtype, to), get_f64(x, dtype, from)));
    else
        set_i64(y, dtype, to,
                combined_integers(op, dtype, get_i64(y, dtype, to), get_i64(x, dtype, from)));
}

/* A thread per line along the axis. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    scatter_elements_any(void *y, const void *indices, const void *updates, int bytes,
                         int64_t lines, struct kernel_elements s, struct cuda_fault fault)
{
    int64_t steps = s.dims[s.axis], limit = s.x_dims[s.axis];

    for (int64_t line = grid_index(); line < lines; line += grid_step()) {
        int64_t rest = line, from = 0, to = 0, from_stride = 1, to_stride = 1;
        int64_t from_step = 1, to_step = 1;

        for (int axis = s.rank - 1; axis >= 0; axis--) {
            if (axis == s.axis) {
                from_step = from_stride;
                to_step = to_stride;
            } else {
                from += rest % s.dims[axis] * from_stride;
                to += rest % s.dims[axis] * to_stride;
                rest /= s.dims[axis];
            }
            from_stride *= s.dims[axis];
            to_stride *= s.x_dims[axis];
        }
        for (int64_t i = 0; i < steps; i++, from += from_step) {
            int64_t index = index_at(indices, s.index_type, from, limit, &fault);

            if (index >= 0 && !(BUG == 17 && i + 1 == steps))
                combine(s.op, s.dtype, bytes, y, to + index * to_step, updates, from);
        }
    }
}
KERNEL_EXPORT(scatter_elements_any)

/* A thread per element of a slice, which walks the tuples. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    scatter_nd_any(void *y, const void *indices, const void *updates, int bytes,
                   struct kernel_tuples s, struct cuda_fault fault)
{
    int64_t all = 1;

    for (int d = 0; d < s.depth; d++)
        all *= s.dims[d];
    for (int64_t i = grid_index(); i < s.batch * s.slice; i += grid_step()) {
        int64_t batch = i / s.slice, k = i % s.slice;

        for (int64_t t = batch * s.tuples; t < (batch + 1) * s.tuples; t++) {
            int64_t place = 0;
            bool is_there = true;

            for (int d = 0; d < s.depth; d++) {
                int64_t index = index_at(indices, s.index_type, t * s.depth + d, s.dims[d], &fault);

                is_there = is_there && index >= 0;
                place = place * s.dims[d] + index;
            }
            if (is_there)
                combine(s.op, s.dtype, bytes, y, (batch * all + place) * s.slice + k, updates,
                        t * s.slice + k);
        }
    }
}
KERNEL_EXPORT(scatter_nd_any)

/* Order */

/* Whether x[a] comes before x[b]; -1 is behind all. */
static __device__ bool comes_first(const void *x, int64_t a, int64_t b,
                                   const struct kernel_top_k *s)
{
    if (a < 0 || b < 0)
        return a >= 0;
    if (is_real_type(s->dtype)) {
        double va = get_f64(x, s->dtype, a), vb = get_f64(x, s->dtype, b);

        if (is_nan(va) || is_nan(vb))
            return is_nan(va) && is_nan(vb) ? a < b : is_nan(va) != s->is_smallest;
        return va == vb ? a < b : (va < vb) == s->is_smallest;
    }
    if (get_i64(x, s->dtype, a) == get_i64(x, s->dtype, b))
        return a < b;
    return (get_i64(x, s->dtype, a) < get_i64(x, s->dtype, b)) == s->is_smallest;
}

/* A block per line: k times the first of those that come after the last one. */
extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    top_k_any(void *values, int64_t *indices, const void *x, int bytes, int64_t lines,
              struct kernel_top_k s)
{
    __shared__ int64_t found[CUDA_LINE_BLOCK];
    int tid = threadIdx.x;

    for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
        int64_t o = line / s.inner, i = line % s.inner;
        int64_t base = o * s.axis * s.inner + i, last = -1;

        for (int64_t k = 0; k < s.k; k++) {
            int64_t best = -1, to = (o * s.k + k) * s.inner + i;

            for (int64_t j = tid; j < s.axis; j += CUDA_LINE_BLOCK) {
                int64_t at = base + j * s.inner;

                if ((last < 0 || comes_first(x, last, at, &s)) && comes_first(x, at, best, &s))
                    best = at;
            }
            found[tid] = best;
            for (int half = CUDA_LINE_BLOCK / 2; half > 0; half /= 2) {
                if (BUG != 18)
                    __syncthreads();
                if (tid < half && comes_first(x, found[tid + half], found[tid], &s))
                    found[tid] = found[tid + half];
            }
            __syncthreads();
            last = found[0];
            __syncthreads(); /* nobody writes `found` again before all have read it */
            if (tid != 0)
                continue;
            if (values)
                move_element(values, to, x, last, bytes);
            if (indices)
                indices[to] = (last - base) / s.inner;
        }
    }
}
KERNEL_EXPORT(top_k_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    triangle_any(void *y, const void *x, int64_t k, int64_t count, struct kernel_triangle s)
{
    const uint64_t zero = 0;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t col = i % s.cols, row = i / s.cols % s.rows;
        bool is_kept = s.is_upper ? col - row >= k : col - row <= k;

        move_element(y, i, is_kept ? x : &zero, is_kept ? i : 0, (int)s.element_bytes);
    }
}
KERNEL_EXPORT(triangle_any)

/* inner: units of `bytes`. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    reverse_any(void *y, const void *x, const int64_t *lengths, int bytes, int64_t inner,
                int64_t count, struct kernel_reverse s, struct cuda_fault fault)
{
    int64_t batch_step = s.is_time_first ? 1 : s.time, time_step = s.is_time_first ? s.batch : 1;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t at = i % inner, t = i / inner % s.time, b = i / inner / s.time;
        int64_t length = lengths[b];

        if (length < 0 || length > s.time) {
            atomicCAS(fault.word, 0u, fault.mark);
            continue;
        }
        move_element(y, (b * batch_step + t * time_step) * inner + at, x,
                     (b * batch_step + (t < length ? length - 1 - t : t) * time_step) * inner + at,
                     bytes);
    }
}
KERNEL_EXPORT(reverse_any)

/* Over a copy of the cache. inner: units of `bytes`. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    cache_write_any(void *y, const void *update, const int64_t *at, int bytes, int64_t inner,
                    int64_t count, struct kernel_cache_write s, struct cuda_fault fault)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t step = i / inner % s.steps, row = i / inner / s.steps;
        int64_t place = (int64_t)((at ? (uint64_t)at[row / s.outer] : 0) + (uint64_t)step);

        if (place < 0 || (place >= s.places && !s.is_circular))
            atomicCAS(fault.word, 0u, fault.mark);
        else if (step + s.places >= s.steps && BUG != 22) /* the last one that comes here stays */
            move_element(y, (row * s.places + place % s.places) * inner + i % inner, update, i,
                         bytes);
    }
}
KERNEL_EXPORT(cache_write_any)

/* Quantising */

static __device__ int64_t scale_at(int64_t i, const struct kernel_quantize *s)
{
    int64_t inner = i % s->inner, axis = i / s->inner % s->axis, outer = i / s->inner / s->axis;

    return outer * s->scale_stride[0] + axis / s->block * s->scale_stride[1] +
           inner * s->scale_stride[2];
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    quantize_any(void *y, const void *x, const void *scale, const void *zero, int64_t count,
                 struct kernel_quantize s)
{
    double low = (double)lowest_of(s.integer_type), high = (double)highest_of(s.integer_type);

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t at = scale_at(i, &s);
        double rounded, number = get_f64(x, s.real_type, i) / get_f64(scale, s.scale_type, at);

        set_f64(&rounded, s.precision, 0, number);
        number = get_f64(&rounded, s.precision, 0);
        number = BUG == 19 ? floor(number) : rint(number);
        number += zero ? (double)get_i64(zero, s.integer_type, at) : 0.0;
        number = number < low ? low : number > high ? high : number;
        set_f64(y, s.integer_type, i, number);
    }
}
KERNEL_EXPORT(quantize_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    dequantize_any(void *y, const void *x, const void *scale, const void *zero, int64_t count,
                   struct kernel_quantize s)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t at = scale_at(i, &s);
        double number = get_f64(x, s.integer_type, i);

        number -= zero ? get_f64(zero, s.integer_type, at) : 0.0;
        set_f64(y, s.real_type, i, number * get_f64(scale, s.scale_type, at));
    }
}
KERNEL_EXPORT(dequantize_any)

/* One block, which has to know the whole first. */
extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)
    quantize_dynamic_u8(uint8_t *y, float *scale, uint8_t *zero, const float *x, int64_t count)
{
    __shared__ double partial[CUDA_LINE_BLOCK / 32];
    double low = 0.0, high = 0.0, origin;
    float step;

    for (int64_t i = threadIdx.x; i < count; i += CUDA_LINE_BLOCK) {
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    low = -block_reduce(partial, -low, larger_of(), 0.0);
    high = block_reduce(partial, high, larger_of(), 0.0);
    step = ((float)high - (float)low) / 255.0f;
    origin = step > 0.0f ? (double)saturate(KERNEL_U8, rint((double)(-(float)low / step))) : 0.0;
    for (int64_t i = threadIdx.x; i < count; i += CUDA_LINE_BLOCK)
        y[i] = (uint8_t)saturate(KERNEL_U8, step > 0.0f ? rint((double)(x[i] / step)) +
                                                              (BUG == 23 ? 0.0 : origin)
                                                        : 0.0);
    if (threadIdx.x == 0) {
        *scale = step;
        *zero = (uint8_t)origin;
    }
}
KERNEL_EXPORT(quantize_dynamic_u8)
