/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of regions by bilinear samples, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

/* A sample's place along one axis: two pixels and the weight of the second. */
struct between {
    int64_t low, high;
    double weight;
    bool is_outside;
};

static struct between find(double at, int64_t size)
{
    struct between b = {0};

    if (!(at >= -1.0 && at <= (double)size) || size == 0) {
        b.is_outside = true;
        return b;
    }
    at = at > 0.0 ? at : 0.0;
    b.low = (int64_t)at;
    if (b.low >= size - 1) {
        b.low = b.high = size - 1;
    } else {
        b.high = b.low + 1;
        b.weight = at - (double)b.low;
    }
    return b;
}

/* One region: where it begins, the size of a bin, samples per bin. */
struct region {
    double start[2], bin[2];
    int64_t samples[2];
};

static bool find_region(const void *rois, int64_t r, const struct kernel_roi_align *s,
                        struct region *out_region)
{
    double offset = s->is_half_pixel ? 0.5 : 0.0;

    for (int axis = 0; axis < 2; axis++) {
        /* The rois hold x before y. */
        double first = ref_get_f64(rois, s->dtype, 4 * r + 1 - axis) * s->scale - offset;
        double last = ref_get_f64(rois, s->dtype, 4 * r + 3 - axis) * s->scale - offset;
        double size = last - first;
        double samples;

        if (!s->is_half_pixel && !(size >= 1.0))
            size = 1.0;
        out_region->start[axis] = first;
        out_region->bin[axis] = size / (double)s->out[axis];
        samples = s->samples > 0 ? (double)s->samples : ceil(out_region->bin[axis]);
        if (samples > ROI_SAMPLES_MAX)
            return false;
        out_region->samples[axis] = samples > 0.0 ? (int64_t)samples : 0;
    }
    return true;
}

static double corner(const void *x, int64_t plane, int64_t row, int64_t col, double weight,
                     const struct kernel_roi_align *s)
{
    return weight * ref_get_f64(x, s->dtype, plane + row * s->in[1] + col);
}

/* Sum of the samples of one bin, or the largest weighted corner of all. */
static double pool_bin(const void *x, int64_t plane, const struct region *region,
                       const int64_t o[2], const struct kernel_roi_align *s)
{
    double sum = 0.0, largest = -INFINITY;
    int64_t count = region->samples[0] * region->samples[1];

    for (int64_t i = 0; i < count; i++) {
        int64_t step[2] = {i / region->samples[1], i % region->samples[1]};
        struct between at[2];
        double corners[4] = {0};

        for (int axis = 0; axis < 2; axis++) {
            double place =
                (double)o[axis] + ((double)step[axis] + 0.5) / (double)region->samples[axis];

            at[axis] = find(region->start[axis] + place * region->bin[axis], s->in[axis]);
        }
        if (!at[0].is_outside && !at[1].is_outside) {
            double v = at[0].weight, u = at[1].weight;

            corners[0] = corner(x, plane, at[0].low, at[1].low, (1 - v) * (1 - u), s);
            corners[1] = corner(x, plane, at[0].low, at[1].high, (1 - v) * u, s);
            corners[2] = corner(x, plane, at[0].high, at[1].low, v * (1 - u), s);
            corners[3] = corner(x, plane, at[0].high, at[1].high, v * u, s);
        }
        for (int k = 0; k < 4; k++) {
            sum += corners[k];
            largest = fmax(largest, corners[k]);
        }
    }
    if (count == 0)
        return 0.0;
    return s->is_max ? largest : sum / (double)count;
}

int roi_align_ref(void *y, const void *x, const void *rois, const void *images,
                  const struct kernel_roi_align *shape)
{
    int64_t plane = shape->in[0] * shape->in[1], bins = shape->out[0] * shape->out[1];

    for (int64_t r = 0; r < shape->regions; r++) {
        int64_t image = ref_get_i64(images, shape->index_type, r);
        struct region region;

        if (image < 0 || image >= shape->batch || !find_region(rois, r, shape, &region))
            return -1;
        for (int64_t i = 0; i < shape->channels * bins; i++) {
            int64_t o[2] = {i % bins / shape->out[1], i % shape->out[1]};
            int64_t first = (image * shape->channels + i / bins) * plane;

            ref_set_f64(y, shape->dtype, r * shape->channels * bins + i,
                        pool_bin(x, first, &region, o, shape));
        }
    }
    return 0;
}
