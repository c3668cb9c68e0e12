/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoiAlign: places and weights of a region's samples are worked out once for all channels. Compiled once per type, in
 * a file of its own that defines before it includes this
 *
 * REAL            of the elements, and of the regions
 * REAL_TYPE       KERNEL_F64: its name
 * ROI_ALIGN_NAME  roi_align_portable: what it is called
 * ROI_ALIGN_REST  the function for what is not here, regions of very many samples and other types
 */
#include <math.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    SAMPLES = 512,   /* of a region whose places are kept at once */
    GRAIN = 1 << 13, /* samples that are worth a second thread */
};

/* Four pixels, and what each counts. */
struct sample {
    int32_t at[4]; /* the first below 0: outside, where everything is 0 */
    REAL weight[4];
};

struct region {
    double start[2], bin[2];
    int64_t samples[2];
};

static bool find_region(const REAL *roi, const struct kernel_roi_align *s,
                        struct region *out_region)
{
    double offset = s->is_half_pixel ? 0.5 : 0.0;

    for (int axis = 0; axis < 2; axis++) {
        double first = (double)roi[1 - axis] * s->scale - offset; /* x comes before y */
        double size = (double)roi[3 - axis] * s->scale - offset - first, samples;

        if (!s->is_half_pixel && !(size >= 1.0))
            size = 1.0;
        out_region->start[axis] = first;
        out_region->bin[axis] = size / (double)s->out[axis];
        samples = s->samples > 0 ? (double)s->samples : ceil(out_region->bin[axis]);
        if (!(samples >= 1.0 && samples <= SAMPLES))
            return false;
        out_region->samples[axis] = (int64_t)samples;
    }
    return out_region->samples[0] * out_region->samples[1] <= SAMPLES;
}

/* A place along one axis: two pixels and the weight of the second. Returns false outside. */
static bool find_between(double at, int64_t size, int64_t pixels[2], double *out_weight)
{
    if (!(at >= -1.0 && at <= (double)size))
        return false;
    at = at > 0.0 ? at : 0.0;
    pixels[0] = (int64_t)at;
    pixels[1] = pixels[0] + 1;
    *out_weight = at - (double)pixels[0];
    if (pixels[0] >= size - 1) {
        pixels[0] = pixels[1] = size - 1;
        *out_weight = 0.0;
    }
    return true;
}

/* The samples of one bin. */
static int make_samples(const struct kernel_roi_align *s, const struct region *region,
                        const int64_t o[2], struct sample *out_sample)
{
    int count = 0;

    for (int64_t i = 0; i < region->samples[0]; i++) {
        for (int64_t j = 0; j < region->samples[1]; j++) {
            struct sample *sample = &out_sample[count++];
            int64_t step[2] = {i, j}, at[2][2];
            double weight[2];
            bool is_inside = true;

            for (int axis = 0; axis < 2; axis++) {
                double place =
                    (double)o[axis] + ((double)step[axis] + 0.5) / (double)region->samples[axis];

                is_inside =
                    is_inside && find_between(region->start[axis] + place * region->bin[axis],
                                              s->in[axis], at[axis], &weight[axis]);
            }
            if (!is_inside) {
                *sample = (struct sample){{-1}, {0}};
                continue;
            }
            for (int k = 0; k < 4; k++) {
                int down = k / 2, along = k % 2;

                sample->at[k] = (int32_t)(at[0][down] * s->in[1] + at[1][along]);
                sample->weight[k] = (REAL)((down ? weight[0] : 1.0 - weight[0]) *
                                           (along ? weight[1] : 1.0 - weight[1]));
            }
        }
    }
    return count;
}

static REAL mean_of(const REAL *x, const struct sample *samples, int count)
{
    REAL sum = 0;

    for (int k = 0; k < count; k++)
        for (int corner = 0; samples[k].at[0] >= 0 && corner < 4; corner++)
            sum += samples[k].weight[corner] * x[samples[k].at[corner]];
    return sum / (REAL)count;
}

/* The largest weighted corner. A NaN is larger than nothing. */
static REAL largest_of(const REAL *x, const struct sample *samples, int count)
{
    REAL largest = -(REAL)INFINITY;

    for (int k = 0; k < count; k++) {
        if (samples[k].at[0] < 0)
            largest = largest > 0 ? largest : 0;
        for (int corner = 0; samples[k].at[0] >= 0 && corner < 4; corner++) {
            REAL number = samples[k].weight[corner] * x[samples[k].at[corner]];

            largest = number > largest ? number : largest;
        }
    }
    return largest;
}

/* Some bins of a region, of all channels. */
static void pool_bins(REAL *y, const REAL *x, const struct kernel_roi_align *s,
                      const struct region *region, int64_t first, int64_t count)
{
    struct sample samples[SAMPLES];
    int64_t bins = s->out[0] * s->out[1], plane = s->in[0] * s->in[1];
    int each = (int)(region->samples[0] * region->samples[1]);

    for (int64_t i = 0; i < count; i++) {
        int64_t o[2] = {(first + i) / s->out[1], (first + i) % s->out[1]};

        make_samples(s, region, o, samples + i * each);
    }
    for (int64_t c = 0; c < s->channels; c++, x += plane, y += bins) {
        const struct sample *sample = samples;

        for (int64_t i = 0; i < count; i++) {
            y[first + i] = s->is_max ? largest_of(x, sample, each) : mean_of(x, sample, each);
            sample += each;
        }
    }
}

struct pooling {
    REAL *y;
    const REAL *x, *rois;
    const void *images;
    const struct kernel_roi_align *shape;
};

static int64_t image_of(const void *images, enum kernel_dtype dtype, int64_t r)
{
    return dtype == KERNEL_I32 ? ((const int32_t *)images)[r] : ((const int64_t *)images)[r];
}

static void do_regions(void *argument, int64_t begin, int64_t end)
{
    const struct pooling *p = argument;
    const struct kernel_roi_align *s = p->shape;
    int64_t bins = s->out[0] * s->out[1];

    for (int64_t r = begin; r < end; r++) {
        int64_t image = image_of(p->images, s->index_type, r), block;
        struct region region;

        find_region(p->rois + 4 * r, s, &region);
        block = SAMPLES / (region.samples[0] * region.samples[1]);
        for (int64_t first = 0; first < bins; first += block)
            pool_bins(p->y + r * s->channels * bins,
                      p->x + image * s->channels * s->in[0] * s->in[1], s, &region, first,
                      bins - first < block ? bins - first : block);
    }
}

int ROI_ALIGN_NAME(void *y, const void *x, const void *rois, const void *images,
                   const struct kernel_roi_align *shape)
{
    const struct kernel_roi_align *s = shape;
    struct pooling p = {y, x, rois, images, s};
    bool is_here =
        s->dtype == REAL_TYPE && s->in[0] > 0 && s->in[1] > 0 && s->in[0] * s->in[1] < INT32_MAX;

    for (int64_t r = 0; is_here && r < s->regions; r++) {
        int64_t image = image_of(images, s->index_type, r);
        struct region region;

        is_here = image >= 0 && image < s->batch && find_region(p.rois + 4 * r, s, &region);
    }
    if (!is_here)
        return ROI_ALIGN_REST(y, x, rois, images, shape);
    team_for(s->regions, GRAIN / (s->channels * s->out[0] * s->out[1] + 1) + 1, do_regions, &p);
    return 0;
}
