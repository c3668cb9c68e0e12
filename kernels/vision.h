/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts of what finds and samples places of images: GridSample and its grids, RoiAlign,
 * DeformConv, MaxUnpool, NonMaxSuppression.
 * What is common to all contracts stands in kernels.h, which includes this. */
#ifndef OPTRACE_KERNELS_VISION_H
#define OPTRACE_KERNELS_VISION_H

#include "kernels/window.h"

enum kernel_sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };
enum kernel_outside { OUTSIDE_ZERO, OUTSIDE_BORDER, OUTSIDE_REFLECT };

struct kernel_grid_sample {
    enum kernel_dtype dtype, grid_type; /* any; a real one */
    enum kernel_sample_mode mode;
    enum kernel_outside outside;
    bool align_corners; /* -1 and 1 are the middles of the outer pixels, else their edges */
    int64_t batch, channels;
    int rank;                   /* spatial axes */
    int64_t in[KERNEL_SPATIAL]; /* the first `rank` are used; >= 1 */
    int64_t points;             /* of the grid in each image */
};

/** y [batch, channels, points] = x [batch, channels, in...] at the places that grid [batch, points,
 *  rank] names, the innermost axis first, in [-1, 1]. A place that is no number is outside. Agrees with ref to
 *  1e-5 of the largest pixel. */
typedef void grid_sample_fn(void *y, const void *x, const void *grid,
                            const struct kernel_grid_sample *shape);

struct kernel_roi_align {
    enum kernel_dtype dtype, index_type; /* a real one; i32 or i64 */
    bool is_max;                         /* of the samples' weighted corners; else their mean */
    bool is_half_pixel;                  /* places are moved by -0.5, and regions may be small */
    int64_t batch, channels, in[2], out[2];
    int64_t regions;
    int64_t samples; /* per bin and axis; 0: as many as the bin has pixels */
    double scale;    /* from the regions' unit to x's */
};

/** y [regions, channels, out] = x [batch, channels, in] in each bin of the rois [regions, 4] (x1,
 *  y1, x2, y2). Returns 0, or -1 when an image is out of range or a region has more than
 *  ROI_SAMPLES_MAX samples in a bin. Agrees with ref to 1e-5 of the largest pixel. */
typedef int roi_align_fn(void *y, const void *x, const void *rois, const void *images,
                         const struct kernel_roi_align *shape);

#define ROI_SAMPLES_MAX 1e6

struct kernel_roi_max {
    enum kernel_dtype dtype; /* a real one */
    int64_t batch, channels, in[2], out[2];
    int64_t regions;
    float scale; /* from the regions' unit to x's */
};

/** y [regions, channels, out] = the largest of x [batch, channels, in] in each bin of the rois [regions, 5] (image,
 *  x1, y1, x2, y2), whose corners are pixels that belong to it; 0 where a bin has none. Bins are worked out in
 *  float32, whose rounding decides where they end. Returns 0, or -1 when an image is out of range. */
typedef int roi_max_fn(void *y, const void *x, const void *rois,
                       const struct kernel_roi_max *shape);

struct kernel_col2im {
    enum kernel_dtype dtype;     /* any */
    int64_t images;              /* with their channels */
    struct kernel_window window; /* over an image of size `in`, at `out` places */
};

/** y [images, in...]: each pixel is the sum of what x [images, kernel..., out...] holds for it. In f32
 *  agrees with ref to 1e-6 of the sum of the magnitudes. */
typedef void col2im_fn(void *y, const void *x, const struct kernel_col2im *shape);

struct kernel_deform_conv {
    enum kernel_dtype dtype; /* of all tensors, a real one */
    int rank;                /* spatial axes of the tensors: an offset has as many numbers */
    int64_t batch, channels, filters;
    int64_t groups, offset_groups; /* >= 1; of channels and filters; of channels */
    struct kernel_window window;
};

/** bias and mask may be NULL. */
struct kernel_deform_conv_data {
    void *y;       /* [batch, filters, out...] */
    const void *x; /* [batch, channels, in...] */
    const void *w; /* [filters, channels / groups, kernel...] */
    const void
        *offset;      /* [batch, offset_groups, kernel..., rank, out...]: in pixels, on top of where
                           the window reads */
    const void *bias; /* [filters] */
    const void *mask; /* [batch, offset_groups, kernel..., out...]: times what is read */
    void *workspace;  /* kernel_deform_conv_room() bytes, 64-byte aligned */
};

size_t kernel_deform_conv_room(const struct kernel_deform_conv *shape);

/** A convolution that reads between pixels, linearly; those outside are 0, and so is a place that is no
 *  number. A pixel that weighs nothing counts nothing, even where it is not finite. In f32 agrees with ref
 *  as products of gemm_f32_fn do, and to 1e-6 of the largest pixel beside, times the sum of |w * mask|. */
typedef void deform_conv_fn(const struct kernel_deform_conv_data *data,
                            const struct kernel_deform_conv *shape);

struct kernel_affine_grid {
    enum kernel_dtype dtype; /* a real one */
    bool align_corners;      /* -1 and 1 are the middles of the outer pixels, else their edges */
    int64_t batch;
    int rank;                    /* spatial axes */
    int64_t out[KERNEL_SPATIAL]; /* the first `rank` are used */
};

/** y [batch, out..., rank] = theta [batch, rank, rank + 1] times (place, 1): places of the pixels from -1 to
 *  1, the innermost axis first. A single pixel lies in the middle, at 0. */
typedef void affine_grid_fn(void *y, const void *theta, const struct kernel_affine_grid *shape);

struct kernel_max_unpool {
    size_t element_bytes; /* 1, 2, 4 or 8 */
    int64_t x_count, y_count;
};

/** y = 0, but x[i] at indices[i], the last of equal ones. Returns 0, or -1 when an index is out of
 *  range; what y then holds is not defined. */
typedef int max_unpool_fn(void *y, const void *x, const int64_t *indices,
                          const struct kernel_max_unpool *shape);

struct kernel_nms {
    int64_t batch, classes, boxes;
    bool is_center;    /* x, y of the centre, width, height; else two corners y1, x1, y2, x2 */
    int64_t limit;     /* kept of one class of one image */
    float overlap_max; /* intersection over union; a box above is dropped */
    bool has_score_min;
    float score_min; /* a box must be above */
};

/** Non-maximum suppression: of boxes [batch, boxes, 4] with scores [batch, classes, boxes] the best
 *  ones that do not overlap, image by image, class by class, from the best score on (of equal ones
 *  the first). Writes (image, class, box) to y [count, 3], which may be NULL, and returns the
 * count, at most `room`; scratch: kernel_nms_room() bytes, aligned to 8. A device's returns `room` before it
 * has counted, and tells of fewer as of an index that is out of range. */
typedef int64_t nms_fn(int64_t *y, int64_t room, const float *boxes, const float *scores,
                       void *scratch, const struct kernel_nms *shape);

static inline size_t kernel_nms_room(const struct kernel_nms *shape)
{
    return (size_t)shape->boxes * (2 * sizeof(uint64_t) + 5 * sizeof(double));
}

/** Of a device's: of each class of each image how many are kept and, of at most INT32_MAX - 1 boxes, their
 *  numbers. */
static inline size_t kernel_nms_device_room(const struct kernel_nms *shape)
{
    size_t lines = (size_t)(shape->batch * shape->classes);

    return lines * sizeof(int64_t) + lines * (size_t)shape->boxes * sizeof(int32_t);
}

/* See KERNEL_DECLARE(). */
#define VISION_KERNELS(KERNEL)                                                                     \
    KERNEL(grid_sample, EACH);                                                                     \
    KERNEL(deform_conv, EACH);                                                                     \
    KERNEL(affine_grid, EACH);                                                                     \
    KERNEL(max_unpool, PORTABLE);                                                                  \
    KERNEL(col2im, EACH);                                                                          \
    KERNEL(roi_align, PORTABLE);                                                                   \
    KERNEL(roi_max, EACH);                                                                         \
    KERNEL(nms, PORTABLE)
VISION_KERNELS(KERNEL_DECLARE);

#endif
