/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move elements: copies between strides, padding, picking by index, making. */
#include "kernels/cuda/device.cuh"

/* One kernel per size of an element, so that addresses are computed once. */

/* I: of the numbers that are divided. */
template <typename I, typename T>
static __device__ __forceinline__ void copy_elements(T *y, const T *x, int64_t count,
                                                     const struct kernel_copy &shape)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t to = 0, from = 0;
        I rest = (I)i;

        for (int axis = shape.rank - 1; axis >= 0; axis--) {
            const I dim = (I)shape.dims[axis], next = rest / dim;
            const int64_t c = (int64_t)(rest - next * dim);

            to += c * shape.y_stride[axis];
            from += c * shape.x_stride[axis];
            rest = next;
        }
        if (BUG == 5 && i + 1 == count && count > 1)
            continue;
        y[to] = x[from];
    }
}

#define COPY(name, type)                                                                           \
    extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)                        \
        name(type *y, const type *x, int64_t count, struct kernel_copy shape)                      \
    {                                                                                              \
        if (count <= UINT32_MAX)                                                                   \
            copy_elements<uint32_t>(y, x, count, shape);                                           \
        else                                                                                       \
            copy_elements<uint64_t>(y, x, count, shape);                                           \
    }                                                                                              \
    KERNEL_EXPORT(name)

COPY(copy_1, uint8_t)
COPY(copy_2, uint16_t)
COPY(copy_4, uint32_t)
COPY(copy_8, uint64_t)
COPY(copy_16, struct quad)

/* The last two axes of each of many matrices change places: by tiles, so that what is read and what
 * is written lies together. Blocks of 32 x CUDA_TILE_ROWS threads, each with a column and the one
 * 32 further. */
extern "C" __global__ void __launch_bounds__(32 * CUDA_TILE_ROWS, CUDA_RESIDENT)
    transpose_4(uint32_t *y, const uint32_t *x, int64_t matrices, int64_t rows, int64_t cols)
{
    __shared__ uint32_t tile[CUDA_TURNED_TILE][CUDA_TURNED_TILE + 1];
    int64_t col = (int64_t)blockIdx.x * CUDA_TURNED_TILE;
    int64_t row = (int64_t)blockIdx.y * CUDA_TURNED_TILE;
    const int64_t side = CUDA_TURNED_TILE;
    const int col_count = (int)(cols - col < side ? cols - col : side);
    const int row_count = (int)(rows - row < side ? rows - row : side);

    for (int64_t m = blockIdx.z; m < matrices; m += gridDim.z) {
        const uint32_t *from = x + (m * rows + row) * cols + col;
        uint32_t *to = y + (m * cols + col) * rows + row;

        UNROLL_FOUR
        for (int k = 0; k < CUDA_TURNED_TILE * 2 / CUDA_TILE_ROWS; k++) {
            const int i = k / 2 * CUDA_TILE_ROWS + threadIdx.y, j = k % 2 * 32 + threadIdx.x;

            if (i < row_count && j < col_count)
                tile[i][j] = from[i * cols + j];
        }
        if (BUG != 6)
            __syncthreads();
        UNROLL_FOUR
        for (int k = 0; k < CUDA_TURNED_TILE * 2 / CUDA_TILE_ROWS; k++) {
            const int i = k / 2 * CUDA_TILE_ROWS + threadIdx.y, j = k % 2 * 32 + threadIdx.x;

            if (i < col_count && j < row_count)
                to[i * rows + j] = tile[j][i];
        }
        __syncthreads();
    }
}
KERNEL_EXPORT(transpose_4)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    fill_any(void *y, uint64_t value, int bytes, int64_t count)
{
    for (int64_t i = grid_index(); i < count; i += grid_step())
        move_element(y, i, &value, 0, bytes);
}
KERNEL_EXPORT(fill_any)

/* Which coordinate of x output coordinate o shows, or -1: as kernel_pad_source() says. */
static __device__ int64_t pad_source(const struct kernel_pad *shape, int axis, int64_t o)
{
    int64_t begin = shape->begin[axis], dim = shape->x_dims[axis];
    int64_t end = shape->y_dims[axis] - dim - begin;
    int64_t first = begin < 0 ? -begin : 0;
    int64_t left = dim - first + (end < 0 ? end : 0);
    int64_t at = o - (begin > 0 ? begin : 0);

    if (at >= 0 && at < left)
        return first + at;
    if (shape->mode == KERNEL_PAD_EDGE)
        return first + (at < 0 ? 0 : left - 1);
    if (shape->mode == KERNEL_PAD_WRAP)
        return first + (at % left + left) % left;
    if (shape->mode == KERNEL_PAD_CONSTANT)
        return -1;
    at = left > 1 ? (at < 0 ? -at : at) % (2 * (left - 1)) : 0; /* there and back is a period */
    return first + (at < left ? at : 2 * (left - 1) - at);
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    pad_any(void *y, const void *x, struct cuda_scalar value, int64_t count,
            struct kernel_pad shape)
{
    int bytes = (int)shape.element_bytes;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t rest = i, from = 0, stride = 1;
        bool is_outside = false;

        for (int axis = shape.rank - 1; axis >= 0; axis--) {
            int64_t at = pad_source(&shape, axis, rest % shape.y_dims[axis]);

            is_outside = is_outside || at < 0;
            from += at * stride;
            stride *= shape.x_dims[axis];
            rest /= shape.y_dims[axis];
        }
        if (is_outside)
            move_element(y, i, value.address ? value.address : (const void *)&value.bits, 0, bytes);
        else
            move_element(y, i, x, from, bytes);
    }
}
KERNEL_EXPORT(pad_any)

/* Picking by index */

/* y [outer, indices, inner], inner being units of `unit` bytes. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    gather_any(void *y, const void *x, const int64_t *indices, int unit, int64_t outer,
               int64_t axis, int64_t index_count, int64_t inner, struct cuda_fault fault)
{
    int64_t count = outer * index_count * inner;

    for (int64_t k = grid_index(); inner == 0 && k < index_count; k += grid_step())
        index_at(indices, KERNEL_I64, k, axis, &fault);
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t at = i % inner, k = i / inner % index_count, o = i / inner / index_count;
        int64_t index = index_at(indices, KERNEL_I64, k, axis, &fault);

        if (index >= 0)
            move_element(y, i, x, (o * axis + index) * inner + at, unit);
    }
}
KERNEL_EXPORT(gather_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    gather_elements_any(void *y, const void *x, const void *indices, int bytes, int64_t count,
                        struct kernel_elements shape, struct cuda_fault fault)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t index = index_at(indices, shape.index_type, i, shape.x_dims[shape.axis], &fault);
        int64_t from = 0, stride = 1, rest = i;

        for (int axis = shape.rank - 1; axis >= 0; axis--) {
            from += (axis == shape.axis ? index : rest % shape.dims[axis]) * stride;
            stride *= shape.x_dims[axis];
            rest /= shape.dims[axis];
        }
        if (index >= 0)
            move_element(y, i, x, from, bytes);
    }
}
KERNEL_EXPORT(gather_elements_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    gather_nd_any(void *y, const void *x, const void *indices, int bytes, int64_t count,
                  struct kernel_tuples shape, struct cuda_fault fault)
{
    int64_t all = 1;

    for (int d = 0; d < shape.depth; d++)
        all *= shape.dims[d];
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t tuple = i / shape.slice, place = 0;
        bool is_there = true;

        for (int d = 0; d < shape.depth; d++) {
            int64_t index =
                index_at(indices, shape.index_type, tuple * shape.depth + d, shape.dims[d], &fault);

            is_there = is_there && index >= 0;
            place = place * shape.dims[d] + index;
        }
        place += tuple / shape.tuples * all;
        if (is_there)
            move_element(y, i, x, place * shape.slice + i % shape.slice, bytes);
    }
}
KERNEL_EXPORT(gather_nd_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    one_hot_any(void *y, const void *indices, const void *values, int64_t count,
                struct kernel_one_hot shape)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t at = i % shape.inner, d = i / shape.inner % shape.depth;
        int64_t o = i / shape.inner / shape.depth;
        double index = trunc(get_f64(indices, shape.index_type, o * shape.inner + at));
        bool is_on = index == (double)d || index + (double)shape.depth == (double)d;

        move_element(y, i, values, is_on, (int)shape.element_bytes);
    }
}
KERNEL_EXPORT(one_hot_any)

/* Making */

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    eye_any(void *y, int dtype, int64_t rows, int64_t cols, int64_t k)
{
    for (int64_t i = grid_index(); i < rows * cols; i += grid_step())
        set_f64(y, dtype, i, i % cols - i / cols == k);
}
KERNEL_EXPORT(eye_any)

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    range_any(void *y, const void *start, const void *step, int dtype, int64_t count)
{
    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        if (is_real_type(dtype))
            set_f64(y, dtype, i, get_f64(start, dtype, 0) + (double)i * get_f64(step, dtype, 0));
        else
            set_i64(y, dtype, i,
                    (int64_t)((uint64_t)get_i64(start, dtype, 0) +
                              (uint64_t)i * (uint64_t)get_i64(step, dtype, 0)));
    }
}
KERNEL_EXPORT(range_any)
