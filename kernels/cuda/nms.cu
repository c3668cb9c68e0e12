/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression: a block per class of an image keeps its boxes one by one, and a second
 * kernel lays what all classes keep one behind the other. */
#include "kernels/cuda/device.cuh"

/* Of a list of candidates: what is no longer one; ~i: box i overlaps with one that is kept. */
#define NMS_GONE INT32_MIN

struct nms_box {
    double top, left, bottom, right, area;
};

/* Without fused multiply-adds: a box is dropped or kept by the last bit. */
static __device__ double nms_area(double top, double left, double bottom, double right)
{
    return bottom > top && right > left ? __dmul_rn(bottom - top, right - left) : 0.0;
}

static __device__ struct nms_box nms_box_at(const float *boxes, int64_t i, bool is_center)
{
    const float *b = boxes + 4 * i;
    double first = (double)b[0], second = (double)b[1], third = (double)b[2], last = (double)b[3];
    struct nms_box box;

    if (is_center) {
        double w = third / 2.0, h = last / 2.0;

        box = {second - h, first - w, second + h, first + w, 0.0};
    } else { /* any two opposite corners */
        box = {first < third ? first : third, second < last ? second : last,
               first < third ? third : first, second < last ? last : second, 0.0};
    }
    box.area = nms_area(box.top, box.left, box.bottom, box.right);
    return box;
}

static __device__ bool nms_overlaps(const struct nms_box *a, const struct nms_box *b, double limit)
{
    double shared = nms_area(
        a->top > b->top ? a->top : b->top, a->left > b->left ? a->left : b->left,
        a->bottom < b->bottom ? a->bottom : b->bottom, a->right < b->right ? a->right : b->right);
    double all = a->area + b->area - shared;

    return (a->area > 0.0 && b->area > 0.0 && all > 0.0 ? shared / all : 0.0) > limit;
}

static __device__ __forceinline__ int32_t nms_index(int32_t entry)
{
    return entry < 0 ? ~entry : entry;
}

/* The better of two entries; NaN is worse than all numbers. */
struct nms_better {
    const float *scores;
    __device__ int32_t operator()(int32_t a, int32_t b) const
    {
        float x, y;

        if (a == NMS_GONE || b == NMS_GONE)
            return a == NMS_GONE ? b : a;
        x = scores[nms_index(a)];
        y = scores[nms_index(b)];
        if (x > y || (y != y && x == x))
            return a;
        if (y > x || (x != x && y == y))
            return b;
        return (nms_index(a) < nms_index(b)) != (BUG == 33) ? a : b;
    }
};

struct nms_earlier {
    __device__ int32_t operator()(int32_t a, int32_t b) const
    {
        if (a == NMS_GONE || b == NMS_GONE)
            return a == NMS_GONE ? b : a;
        return nms_index(a) < nms_index(b) ? a : b;
    }
};

/* What f makes of the entries of all threads; `found` has room for an entry per thread. */
template <typename F>
static __device__ int32_t nms_best(int32_t *found, int32_t mine, F f)
{
    int tid = threadIdx.x;

    found[tid] = mine;
    for (int half = CUDA_BLOCK / 2; half > 0; half /= 2) {
        if (BUG != 32)
            __syncthreads();
        if (tid < half)
            found[tid] = f(found[tid], found[tid + half]);
    }
    __syncthreads();
    mine = found[0];
    __syncthreads(); /* nobody writes `found` again before all have read it */
    return mine;
}

/* The boxes that are good enough, in any order. Returns how many; has_nan: some score is none. */
static __device__ int nms_candidates(int32_t *list, const float *scores, const struct kernel_nms *s,
                                     int *counters, bool *has_nan)
{
    int size;

    if (threadIdx.x < 2)
        counters[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < s->boxes; i += CUDA_BLOCK) {
        if (s->has_score_min && !(scores[i] >= s->score_min))
            continue;
        list[atomicAdd(&counters[0], 1)] = (int32_t)i;
        if (scores[i] != scores[i])
            atomicAdd(&counters[1], 1);
    }
    __syncthreads();
    size = counters[0];
    *has_nan = counters[1] > 0;
    __syncthreads();
    return size;
}

/* Takes out of the list what overlaps with the box that was kept last. Where scores are NaN, what waits
 * at the lowest index has its turn before the best one, also if it is dropped then: it stays so long. */
static __device__ int32_t nms_drop(int32_t *entry, const struct nms_box *last, const float *boxes,
                                   const struct kernel_nms *s, bool stays)
{
    struct nms_box box;

    if (*entry < 0)
        return *entry;
    box = nms_box_at(boxes, *entry, s->is_center);
    if (nms_overlaps(&box, last, (double)s->overlap_max))
        *entry = stays ? ~*entry : NMS_GONE;
    return *entry;
}

/* lists: of each line the boxes that it keeps, and behind them its candidates. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    nms_keep(int64_t *counts, int32_t *lists, const float *boxes, const float *scores,
             int64_t lines, struct kernel_nms s)
{
    __shared__ int32_t found[CUDA_BLOCK];
    __shared__ int counters[2], place;

    for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
        const float *line_boxes = boxes + line / s.classes * s.boxes * 4;
        const float *line_scores = scores + line * s.boxes;
        int32_t *list = lists + line * s.boxes;
        bool has_nan, has_last = false;
        int kept = 0, size = nms_candidates(list, line_scores, &s, counters, &has_nan);
        struct nms_box last;

        while (kept < s.limit) {
            int32_t best = NMS_GONE, first = NMS_GONE;

            for (int p = kept + threadIdx.x; p < size; p += CUDA_BLOCK) {
                int32_t entry =
                    has_last ? nms_drop(&list[p], &last, line_boxes, &s, has_nan) : list[p];

                best = nms_better{line_scores}(best, entry);
                first = nms_earlier{}(first, entry);
            }
            best = nms_best(found, best, nms_better{line_scores});
            if (has_nan && best != NMS_GONE) {
                float score;

                first = nms_best(found, first, nms_earlier{});
                score = line_scores[nms_index(first)];
                best = score != score ? first : best;
            }
            if (best == NMS_GONE)
                break;
            for (int p = kept + threadIdx.x; p < size; p += CUDA_BLOCK)
                if (list[p] == best)
                    place = p;
            __syncthreads();
            if (threadIdx.x == 0) { /* it changes places with the first that is not kept */
                list[place] = best < 0 ? NMS_GONE : list[kept];
                if (best >= 0)
                    list[kept] = best;
            }
            __syncthreads();
            has_last = best >= 0;
            if (!has_last)
                continue;
            last = nms_box_at(line_boxes, best, s.is_center);
            kept++;
        }
        if (threadIdx.x == 0)
            counts[line] = kept;
    }
}
KERNEL_EXPORT(nms_keep)

/* A block per line. y: NULL, or room for so many rows. sum: how many boxes are kept in all; NULL: fewer
 * than `room` are a fault. */
extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    nms_rows(int64_t *y, int64_t room, const int64_t *counts, const int32_t *lists, int64_t lines,
             struct kernel_nms s, int64_t *sum, struct cuda_fault fault)
{
    __shared__ double partial[32];

    for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
        double before = 0.0;
        int64_t base, all;

        for (int64_t i = threadIdx.x; i < line; i += CUDA_BLOCK)
            before += (double)counts[i];
        base = (int64_t)block_reduce(partial, before, sum_of{}, 0.0);
        for (int64_t k = threadIdx.x; y && k < counts[line] && base + k < room; k += CUDA_BLOCK) {
            int64_t *row = y + 3 * (base + k);

            row[0] = line / s.classes;
            row[1] = line % s.classes;
            row[2] = lists[line * s.boxes + k];
        }
        if (line + 1 < lines || threadIdx.x != 0)
            continue;
        all = base + counts[line];
        if (sum)
            *sum = all;
        else if (all < room)
            atomicCAS(fault.word, 0u, fault.mark);
    }
}
KERNEL_EXPORT(nms_rows)
