/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of float32 that lie one after the other: softmax, normalisations, reductions. A row is a team's, a
 * warp or a block, which reads it once where it fits into registers. */
#include "kernels/cuda/reduce.cuh"

/* What a thread reads at once. */
template <int N>
struct alignas(4 * N) piece {
    float part[N];
};

/* One of its threads' share of a row: pieces lane, lane + TEAM, ... */
template <int TEAM, int N, bool KEPT>
struct share {
    const piece<N> *x;
    int pieces, lane;
    piece<N> kept[CUDA_ROW_PIECES];

    /* f(piece, its place). What f leaves in a piece is there the next time, if the row is KEPT; else it
     * is read anew. */
    template <typename F>
    __device__ __forceinline__ void each(bool is_first, F f)
    {
        for (int chunk = 0; chunk < (KEPT ? 1 : pieces); chunk += TEAM * CUDA_ROW_PIECES) {
            UNROLL
            for (int i = 0; i < CUDA_ROW_PIECES; i++) {
                int at = chunk + i * TEAM + lane;

                if (at >= pieces)
                    continue;
                if (is_first || !KEPT)
                    kept[i] = x[at];
                f(kept[i], at);
            }
        }
    }
};

template <int TEAM, typename F>
static __device__ __forceinline__ double team_reduce(double *partial, double v, F f, double neutral)
{
    if constexpr (TEAM > 32) {
        v = block_reduce(partial, v, f, neutral);
    } else {
        for (int d = 16; d; d /= 2)
            v = f(v, __shfl_xor_sync(EVERY_LANE, v, d));
    }
    return v;
}

/* One row by a team: work.run<N, KEPT>() for its width. */
template <int TEAM, typename WORK>
static __device__ __forceinline__ void each_row(const WORK &work, const float *x, int64_t rows,
                                                int width)
{
    const int teams = CUDA_LINE_BLOCK / TEAM, lane = threadIdx.x % TEAM;

    for (int64_t row = (int64_t)blockIdx.x * teams + threadIdx.x / TEAM; row < rows;
         row += (int64_t)gridDim.x * teams) {
        const float *from = x + row * width;

        if (width % 4 == 0 && width / 4 <= TEAM * CUDA_ROW_PIECES)
            work.run(row, share<TEAM, 4, true>{(const piece<4> *)from, width / 4, lane, {}});
        else if (width <= TEAM * CUDA_ROW_PIECES)
            work.run(row, share<TEAM, 1, true>{(const piece<1> *)from, width, lane, {}});
        else if (TEAM > 32 && width % 4 == 0)
            work.run(row, share<TEAM, 4, false>{(const piece<4> *)from, width / 4, lane, {}});
        else if (TEAM > 32)
            work.run(row, share<TEAM, 1, false>{(const piece<1> *)from, width, lane, {}});
    }
}

#define ROW_KERNELS(name, work_type)                                                               \
    extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)                   \
        name##_warp_f32(struct cuda_rows rows)                                                     \
    {                                                                                              \
        each_row<32>(work_type{NULL, rows}, rows.x, rows.count, rows.width);                       \
    }                                                                                              \
    KERNEL_EXPORT(name##_warp_f32)                                                                 \
    extern "C" __global__ void __launch_bounds__(CUDA_LINE_BLOCK, CUDA_RESIDENT)                   \
        name##_block_f32(struct cuda_rows rows)                                                    \
    {                                                                                              \
        __shared__ double partial[CUDA_LINE_BLOCK / 32];                                           \
                                                                                                   \
        each_row<CUDA_LINE_BLOCK>(work_type{partial, rows}, rows.x, rows.count, rows.width);       \
    }                                                                                              \
    KERNEL_EXPORT(name##_block_f32)

/* Softmax, and its logarithm. is_plain: where the largest is not finite it is taken away all the same, as
 * softmax_f32_fn does. */
struct softmax_work {
    double *partial;
    struct cuda_rows rows;

    template <int TEAM, int N, bool KEPT>
    __device__ __forceinline__ void run(int64_t row, share<TEAM, N, KEPT> share) const
    {
        const bool is_log = rows.op == ALONG_LOG_SOFTMAX;
        piece<N> *to = (piece<N> *)(rows.y + row * rows.width);
        float largest = -INFINITY, less, inverse;
        double sum = 0.0;

        share.each(true, [&](piece<N> &u, int) {
            for (int j = 0; j < N; j++)
                largest = fmaxf(largest, u.part[j]);
        });
        largest = (float)team_reduce<TEAM>(partial, largest, larger_of(), -(double)INFINITY);
        if (!rows.is_plain && !isfinite(largest))
            largest = 0.0f;
        share.each(false, [&](piece<N> &u, int) {
            float part = 0.0f;

            for (int j = 0; j < N; j++) {
                float power = expf(u.part[j] - largest);

                part += power;
                if (KEPT && !is_log)
                    u.part[j] = power;
            }
            sum += part;
        });
        sum = team_reduce<TEAM>(partial, sum, sum_of(), 0.0);
        less = (float)log(sum);
        inverse = (float)(1.0 / sum);
        share.each(false, [&](piece<N> &u, int at) {
            piece<N> y;

            for (int j = 0; j < N; j++)
                y.part[j] = is_log ? u.part[j] - largest - less
                                   : (KEPT ? u.part[j] : expf(u.part[j] - largest)) * inverse;
            if (BUG != 8 || at != 1)
                to[at] = y;
        });
    }
};
ROW_KERNELS(softmax, softmax_work)

struct normalize_work {
    double *partial;
    struct cuda_rows rows;

    template <int TEAM, int N, bool KEPT>
    __device__ __forceinline__ void run(int64_t row, share<TEAM, N, KEPT> share) const
    {
        const piece<N> *scale = (const piece<N> *)rows.scale, *bias = (const piece<N> *)rows.bias;
        piece<N> *to = (piece<N> *)(rows.y + row * rows.width);
        double sum = 0.0, squares = 0.0, mean = 0.0, inverse;
        float near, rest, factor; /* near + rest is the mean: x - near loses nothing */

        share.each(true, [&](piece<N> &u, int) {
            float part = 0.0f;

            for (int j = 0; j < N; j++)
                part += u.part[j];
            sum += part;
        });
        if (!rows.keeps_mean)
            mean = team_reduce<TEAM>(partial, sum, sum_of(), 0.0) / rows.width;
        near = (float)mean;
        rest = (float)(mean - near);
        share.each(false, [&](piece<N> &u, int) {
            float part = 0.0f;

            for (int j = 0; j < N; j++) {
                float from_mean = u.part[j] - near - rest;

                part += from_mean * from_mean;
                if (KEPT)
                    u.part[j] = from_mean;
            }
            squares += BUG == 9 ? 2.0f * part : part;
        });
        squares = team_reduce<TEAM>(partial, squares, sum_of(), 0.0) / rows.width;
        inverse = rows.adds_to_root ? 1.0 / (sqrt(squares) + rows.epsilon)
                                    : 1.0 / sqrt(squares + rows.epsilon);
        factor = (float)inverse;
        share.each(false, [&](piece<N> &u, int at) {
            const piece<N> s = scale ? scale[at] : piece<N>{}, b = bias ? bias[at] : piece<N>{};
            piece<N> y;

            for (int j = 0; j < N; j++) {
                y.part[j] = (KEPT ? u.part[j] : u.part[j] - near - rest) * factor;
                if (scale)
                    y.part[j] *= s.part[j];
                y.part[j] += b.part[j];
            }
            to[at] = y;
        });
        if (share.lane == 0 && rows.mean)
            set_f64(rows.mean, rows.stat_dtype, row, mean);
        if (share.lane == 0 && rows.inverse)
            set_f64(rows.inverse, rows.stat_dtype, row, inverse);
    }
};
ROW_KERNELS(normalize, normalize_work)

struct reduce_work {
    double *partial;
    struct cuda_rows rows;

    template <int TEAM, int N, bool KEPT>
    __device__ __forceinline__ void run(int64_t row, share<TEAM, N, KEPT> share) const
    {
        double sum = begin_real(rows.op);

        share.each(true, [&](piece<N> &u, int) {
            for (int j = 0; j < N; j++)
                sum = add_real(rows.op, sum, u.part[j], 0.0);
        });
        sum = team_reduce<TEAM>(partial, sum, join_of{rows.op}, begin_real(rows.op));
        if (share.lane == 0)
            rows.y[row] = (float)end_real(rows.op, sum, rows.width, 0.0);
    }
};
ROW_KERNELS(reduce, reduce_work)
