/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, where no library computes them. */
#include "kernels/cuda/device.cuh"

/* How one matrix of each operand lies: strides of its rows and columns, and where it begins. */
struct lies {
    int64_t a_row, a_col, b_row, b_col, y_row;
};

static __device__ struct lies lies_of(const struct kernel_gemm *s)
{
    int64_t a_line = s->a_line ? s->a_line : s->trans_a ? s->m : s->k;
    int64_t b_line = s->b_line ? s->b_line : s->trans_b ? s->k : s->n;

    return {s->trans_a ? 1 : a_line, s->trans_a ? a_line : 1, s->trans_b ? 1 : b_line,
            s->trans_b ? b_line : 1, s->y_line ? s->y_line : s->n};
}

static __device__ void place_batch(const struct kernel_gemm *s, int64_t index, int64_t *a,
                                   int64_t *b, int64_t *y)
{
    *a = *b = 0;
    *y = s->y_line ? 0 : index * s->m * s->n;
    for (int i = s->batch_rank - 1; i >= 0; i--) {
        int64_t c = index % s->batch_dims[i];

        *a += c * s->a_batch_stride[i];
        *b += c * s->b_batch_stride[i];
        *y += s->y_line ? c * s->y_batch_stride[i] : 0;
        index /= s->batch_dims[i];
    }
}

/* What a product is made of, and where its sums go: at the place of y, and of a row and a column. */

struct f32_operands {
    float *y;
    const float *a, *b, *c;

    __device__ float get_a(int64_t at) const
    {
        return a[at];
    }
    __device__ float get_b(int64_t at) const
    {
        return b[at];
    }
    __device__ void store(const struct kernel_gemm *s, int64_t at, int64_t row, int64_t col,
                          double sum) const
    {
        sum *= (double)s->alpha;
        if (c && s->beta != 0.0f)
            sum += (double)s->beta * (double)c[row * s->c_row_stride + col * s->c_col_stride];
        y[at] = (float)sum;
    }
};

struct half_operands {
    void *y;
    const void *a, *b, *c;
    const struct kernel_gemm_half *shape;

    __device__ float get_a(int64_t at) const
    {
        return get_f32(a, shape->dtype, at);
    }
    __device__ float get_b(int64_t at) const
    {
        return get_f32(b, shape->dtype, at);
    }
    __device__ void store(const struct kernel_gemm *s, int64_t at, int64_t row, int64_t col,
                          double sum) const
    {
        int64_t c_at = row * s->c_row_stride + col * s->c_col_stride;

        sum *= (double)s->alpha;
        if (c && s->beta != 0.0f && BUG != 25)
            sum += (double)s->beta * (double)get_f32(c, shape->c_type, c_at);
        set_f32(y, shape->y_type, at, activated((float)sum, &shape->activation), shape->saturates);
    }
};

typedef float tile_row[CUDA_TILE + 1];

/* A block makes CUDA_TILE x CUDA_TILE results, each thread CUDA_TILE / CUDA_TILE_ROWS of a column.
 * What a tile of k adds is summed in float, the tiles in double. */
template <typename O>
static __device__ __forceinline__ void multiply(const O &operands, int64_t batch,
                                                int64_t first_tile, const struct kernel_gemm &shape,
                                                tile_row *tile_a, tile_row *tile_b)
{
    enum { EACH = CUDA_TILE / CUDA_TILE_ROWS };
    struct lies at = lies_of(&shape);
    int64_t row = (first_tile + blockIdx.y) * CUDA_TILE, col = (int64_t)blockIdx.x * CUDA_TILE;
    int tx = threadIdx.x, ty = threadIdx.y;

    for (int64_t index = blockIdx.z; index < batch; index += gridDim.z) {
        double total[EACH] = {};
        int64_t from_a, from_b, to;

        place_batch(&shape, index, &from_a, &from_b, &to);
        for (int64_t k0 = 0; k0 < shape.k; k0 += CUDA_TILE) {
            float sum[EACH] = {};

            for (int i = ty; i < CUDA_TILE; i += CUDA_TILE_ROWS) {
                tile_a[i][tx] =
                    row + i < shape.m && k0 + tx < shape.k
                        ? operands.get_a(from_a + (row + i) * at.a_row + (k0 + tx) * at.a_col)
                        : 0.0f;
                tile_b[i][tx] =
                    k0 + i < shape.k && col + tx < shape.n
                        ? operands.get_b(from_b + (k0 + i) * at.b_row + (col + tx) * at.b_col)
                        : 0.0f;
            }
            __syncthreads();
            for (int k = 0; k < CUDA_TILE && k0 + k < shape.k; k++)
                for (int e = 0; e < EACH; e++)
                    sum[e] = fmaf(tile_a[ty + e * CUDA_TILE_ROWS][k], tile_b[k][tx], sum[e]);
            if (BUG != 12)
                __syncthreads();
            for (int e = 0; e < EACH; e++)
                total[e] += (double)sum[e];
        }
        for (int e = 0; e < EACH; e++) {
            int64_t own = row + ty + e * CUDA_TILE_ROWS;

            if (own < shape.m && col + tx < shape.n)
                operands.store(&shape, to + own * at.y_row + col + tx, own, col + tx, total[e]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(CUDA_TILE *CUDA_TILE_ROWS, CUDA_RESIDENT)
    gemm_f32(float *y, const float *a, const float *b, const float *c, int64_t batch,
             int64_t first_tile, struct kernel_gemm shape)
{
    __shared__ float tile_a[CUDA_TILE][CUDA_TILE + 1], tile_b[CUDA_TILE][CUDA_TILE + 1];
    struct f32_operands operands = {y, a, b, c};

    multiply(operands, batch, first_tile, shape, tile_a, tile_b);
}
KERNEL_EXPORT(gemm_f32)

extern "C" __global__ void __launch_bounds__(CUDA_TILE *CUDA_TILE_ROWS, CUDA_RESIDENT)
    gemm_half(void *y, const void *a, const void *b, const void *c, int64_t batch,
              int64_t first_tile, struct kernel_gemm_half shape)
{
    __shared__ float tile_a[CUDA_TILE][CUDA_TILE + 1], tile_b[CUDA_TILE][CUDA_TILE + 1];
    struct half_operands operands = {y, a, b, c, &shape};

    multiply(operands, batch, first_tile, shape.gemm, tile_a, tile_b);
}
KERNEL_EXPORT(gemm_half)

/* What comes behind a product that another kernel has computed into y: sums and the activation. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    gemm_end_half(void *y, const void *c, int64_t count, struct kernel_gemm_half shape)
{
    const struct kernel_gemm *s = &shape.gemm;
    int64_t y_row = s->y_line ? s->y_line : s->n;

    for (int64_t i = grid_index(); i < count; i += grid_step()) {
        int64_t col = i % s->n, row = i / s->n % s->m, a, b, to;
        double sum;

        place_batch(s, i / s->n / s->m, &a, &b, &to);
        to += row * y_row + col;
        sum = (double)get_sum(y, shape.y_type, to, shape.saturates);
        if (c)
            sum += (double)s->beta *
                   (double)get_f32(c, shape.c_type, row * s->c_row_stride + col * s->c_col_stride);
        set_f32(y, shape.y_type, to, activated((float)sum, &shape.activation), shape.saturates);
    }
}
KERNEL_EXPORT(gemm_end_half)
