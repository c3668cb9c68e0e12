/* SPDX-License-Identifier: Apache-2.0 */
/* What samples and finds places of images, the truth: at given places, pooled over regions, and the
 * best boxes that do not overlap. */
#include "kernels/kernels.h"
#include "kernels/ref/grid_taps.h"
#include "kernels/ref/number.h"

#include <math.h>
#include <string.h>

static double sample(const void *x, int64_t plane, const struct grid_taps *taps,
                     const struct kernel_grid_sample *s)
{
    int64_t at[KERNEL_SPATIAL] = {0}, counts[KERNEL_SPATIAL];
    double sum = 0.0;

    for (int axis = 0; axis < s->rank; axis++)
        counts[axis] = taps[axis].count;
    do {
        int64_t pixel = 0;
        double weight = 1.0;
        bool is_inside = true;

        for (int axis = 0; axis < s->rank; axis++) {
            int64_t p = taps[axis].pixels[at[axis]];

            is_inside = is_inside && p >= 0;
            pixel = pixel * s->in[axis] + p;
            weight *= taps[axis].weights[at[axis]];
        }
        if (is_inside && weight != 0.0)
            sum += weight * ref_get_f64(x, s->dtype, plane + pixel);
    } while (ref_step(at, counts, s->rank));
    return sum;
}

void grid_sample_ref(void *y, const void *x, const void *grid,
                     const struct kernel_grid_sample *shape)
{
    int64_t plane = ref_product(shape->in, shape->rank);

    for (int64_t i = 0; i < shape->batch * shape->points; i++) {
        int64_t n = i / shape->points, point = i % shape->points;
        struct grid_taps taps[KERNEL_SPATIAL];

        for (int axis = 0; axis < shape->rank; axis++) {
            struct grid_axis along = {shape->in[axis], shape->mode, shape->outside,
                                      shape->align_corners};

            taps[axis] = grid_taps_of(
                ref_get_f64(grid, shape->grid_type, i * shape->rank + shape->rank - 1 - axis),
                &along);
        }
        for (int64_t c = 0; c < shape->channels; c++) {
            int64_t image = n * shape->channels + c;

            ref_set_f64(y, shape->dtype, image * shape->points + point,
                        sample(x, image * plane, taps, shape));
        }
    }
}

/* Pooling of regions by bilinear samples. */

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

/* The largest pixel of each bin. */

struct bins {
    int64_t first[2]; /* pixel of the region */
    float size[2];    /* of a bin */
};

/* What is no number, or far outside of all images, is somewhere outside. */
static int64_t nearest_pixel(float place)
{
    const float far = 1e9f;

    return isnan(place) ? (int64_t)far : (int64_t)fminf(fmaxf(roundf(place), -far), far);
}

static struct bins find_bins(const void *rois, int64_t r, const struct kernel_roi_max *s)
{
    struct bins bins;

    for (int axis = 0; axis < 2; axis++) {
        /* The rois hold x before y. */
        float first = (float)ref_get_f64(rois, s->dtype, 5 * r + 2 - axis) * s->scale;
        float last = (float)ref_get_f64(rois, s->dtype, 5 * r + 4 - axis) * s->scale;
        int64_t size = nearest_pixel(last) - nearest_pixel(first) + 1;

        bins.first[axis] = nearest_pixel(first);
        bins.size[axis] = (float)(size > 1 ? size : 1) / (float)s->out[axis];
    }
    return bins;
}

static int64_t within(int64_t pixel, int64_t count)
{
    return pixel < 0 ? 0 : pixel > count ? count : pixel;
}

static double largest_of_bin(const void *x, int64_t plane, const struct bins *bins,
                             const int64_t o[2], const struct kernel_roi_max *s)
{
    int64_t begin[2], end[2];
    double largest = -INFINITY;

    for (int axis = 0; axis < 2; axis++) {
        float low = floorf((float)o[axis] * bins->size[axis]);
        float high = ceilf((float)(o[axis] + 1) * bins->size[axis]);

        begin[axis] = within(bins->first[axis] + (int64_t)low, s->in[axis]);
        end[axis] = within(bins->first[axis] + (int64_t)high, s->in[axis]);
        if (begin[axis] >= end[axis])
            return 0.0;
    }
    for (int64_t row = begin[0]; row < end[0]; row++)
        for (int64_t column = begin[1]; column < end[1]; column++) {
            double pixel = ref_get_f64(x, s->dtype, plane + row * s->in[1] + column);

            largest = pixel > largest ? pixel : largest;
        }
    return largest;
}

int roi_max_ref(void *y, const void *x, const void *rois, const struct kernel_roi_max *shape)
{
    int64_t plane = shape->in[0] * shape->in[1], bins = shape->out[0] * shape->out[1];

    for (int64_t r = 0; r < shape->regions; r++) {
        double image = ref_get_f64(rois, shape->dtype, 5 * r);
        struct bins region = find_bins(rois, r, shape);

        if (!(image >= 0.0 && image < (double)shape->batch))
            return -1;
        for (int64_t i = 0; i < shape->channels * bins; i++) {
            int64_t o[2] = {i % bins / shape->out[1], i % shape->out[1]};
            int64_t first = ((int64_t)image * shape->channels + i / bins) * plane;

            ref_set_f64(y, shape->dtype, r * shape->channels * bins + i,
                        largest_of_bin(x, first, &region, o, shape));
        }
    }
    return 0;
}

/* Non-maximum suppression. */

struct box {
    double top, left, bottom, right;
};

static struct box box_of(const float *b, bool is_center)
{
    if (is_center) {
        double x = (double)b[0], y = (double)b[1], w = (double)b[2] / 2.0, h = (double)b[3] / 2.0;

        return (struct box){y - h, x - w, y + h, x + w};
    }
    /* Any two opposite corners. */
    return (struct box){
        .top = (double)(b[0] < b[2] ? b[0] : b[2]),
        .left = (double)(b[1] < b[3] ? b[1] : b[3]),
        .bottom = (double)(b[0] < b[2] ? b[2] : b[0]),
        .right = (double)(b[1] < b[3] ? b[3] : b[1]),
    };
}

static double area(const struct box *b)
{
    return b->bottom > b->top && b->right > b->left ? (b->bottom - b->top) * (b->right - b->left)
                                                    : 0.0;
}

/* Intersection over union; 0 where a box has no area. */
static double overlap(const struct box *a, const struct box *b)
{
    struct box both = {
        .top = a->top > b->top ? a->top : b->top,
        .left = a->left > b->left ? a->left : b->left,
        .bottom = a->bottom < b->bottom ? a->bottom : b->bottom,
        .right = a->right < b->right ? a->right : b->right,
    };
    double shared = area(&both), all = area(a) + area(b) - shared;

    return area(a) > 0.0 && area(b) > 0.0 && all > 0.0 ? shared / all : 0.0;
}

enum { WAITS, DROPPED, KEPT };

/* The best box that waits, or -1. */
static int64_t best(const float *scores, const uint8_t *state, const struct kernel_nms *s)
{
    int64_t found = -1;

    for (int64_t i = 0; i < s->boxes; i++)
        if (state[i] == WAITS && (!s->has_score_min || scores[i] >= s->score_min) &&
            (found < 0 || scores[i] > scores[found]))
            found = i;
    return found;
}

static bool is_free(const float *boxes, const uint8_t *state, int64_t candidate,
                    const struct kernel_nms *s)
{
    struct box a = box_of(boxes + 4 * candidate, s->is_center);

    for (int64_t i = 0; i < s->boxes; i++) {
        if (state[i] == KEPT) {
            struct box b = box_of(boxes + 4 * i, s->is_center);

            if (overlap(&a, &b) > (double)s->overlap_max)
                return false;
        }
    }
    return true;
}

int64_t nms_ref(int64_t *y, int64_t room, const float *boxes, const float *scores, void *scratch,
                const struct kernel_nms *shape)
{
    uint8_t *kept = scratch;
    int64_t count = 0;

    if (shape->boxes == 0) /* then there need not be any memory for them either */
        return 0;
    for (int64_t line = 0; line < shape->batch * shape->classes; line++) {
        int64_t image = line / shape->classes, found;
        const float *image_boxes = boxes + image * shape->boxes * 4;
        const float *line_scores = scores + line * shape->boxes;
        int64_t left = shape->limit;

        memset(kept, WAITS, (size_t)shape->boxes);
        while (left > 0 && count < room && (found = best(line_scores, kept, shape)) >= 0) {
            if (!is_free(image_boxes, kept, found, shape)) {
                kept[found] = DROPPED;
                continue;
            }
            kept[found] = KEPT;
            if (y) {
                y[3 * count] = image;
                y[3 * count + 1] = line % shape->classes;
                y[3 * count + 2] = found;
            }
            count++;
            left--;
        }
    }
    return count;
}

/* The place of a pixel along an axis. */
static double place_of(int64_t pixel, int64_t size, bool align_corners)
{
    double n = (double)size, at = (double)pixel;

    if (align_corners)
        return size > 1 ? 2.0 * at / (n - 1.0) - 1.0 : 0.0;
    return (2.0 * at + 1.0) / n - 1.0;
}

void affine_grid_ref(void *y, const void *theta, const struct kernel_affine_grid *shape)
{
    int64_t pixels = ref_product(shape->out, shape->rank), rank = shape->rank;

    for (int64_t i = 0; i < shape->batch * pixels; i++) {
        double at[KERNEL_SPATIAL + 1];
        int64_t rest = i % pixels;

        for (int axis = shape->rank - 1; axis >= 0; axis--) {
            at[rank - 1 - axis] =
                place_of(rest % shape->out[axis], shape->out[axis], shape->align_corners);
            rest /= shape->out[axis];
        }
        at[rank] = 1.0;
        for (int64_t row = 0; row < rank; row++) {
            int64_t line = (i / pixels * rank + row) * (rank + 1);
            double sum = 0.0;

            for (int64_t k = 0; k <= rank; k++)
                sum += ref_get_f64(theta, shape->dtype, line + k) * at[k];
            ref_set_f64(y, shape->dtype, i * rank + row, sum);
        }
    }
}

int max_unpool_ref(void *y, const void *x, const int64_t *indices,
                   const struct kernel_max_unpool *shape)
{
    size_t bytes = shape->element_bytes;

    if (shape->y_count > 0)
        memset(y, 0, (size_t)shape->y_count * bytes);
    for (int64_t i = 0; i < shape->x_count; i++) {
        if (indices[i] < 0 || indices[i] >= shape->y_count)
            return -1;
        memcpy((char *)y + (size_t)indices[i] * bytes, (const char *)x + (size_t)i * bytes, bytes);
    }
    return 0;
}
