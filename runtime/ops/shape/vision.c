/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: GridSample, RoiAlign, NonMaxSuppression. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/ops/nms.h"
#include "runtime/ops/shape/infer.h"

int shape_grid_sample(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0), *grid = infer_shape(infer, 1);
    struct shape out = *x;
    int rc = infer_float(infer, 1);

    if (rc < 0)
        return rc;
    if (x->rank < 3 || x->rank > 2 + INFER_SPATIAL_MAX)
        return infer_unsupported(infer, "its input has %d dimensions; 3 to %d are supported",
                                 x->rank, 2 + INFER_SPATIAL_MAX);
    if (grid->rank != x->rank || grid->dims[0] != x->dims[0] ||
        grid->dims[grid->rank - 1] != x->rank - 2)
        return infer_fail(infer, "its grid does not fit its input");
    for (int i = 2; i < x->rank; i++)
        out.dims[i] = grid->dims[i - 1];
    if (shape_elements(x) == 0 && shape_elements(&out) != 0)
        return infer_fail(infer, "its input has no pixels");
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_roi_align(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0), *rois = infer_shape(infer, 1);
    const struct shape *images = infer_shape(infer, 2);
    struct shape out = {.rank = 4};
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = infer_same_dtype(infer, 0, 1);
    if (rc < 0)
        return rc;
    if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || images->rank != 1 ||
        images->dims[0] != rois->dims[0])
        return infer_fail(infer, "its input, regions and image numbers do not fit together");
    out.dims[0] = rois->dims[0];
    out.dims[1] = x->dims[1];
    out.dims[2] = node_int(infer->node, "output_height", 1);
    out.dims[3] = node_int(infer->node, "output_width", 1);
    if (out.dims[2] < 1 || out.dims[3] < 1)
        return infer_fail(infer, "it asks for %" PRId64 " x %" PRId64 " bins", out.dims[2],
                          out.dims[3]);
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_roi_max(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0), *rois = infer_shape(infer, 1);
    struct shape out = {.rank = 4};
    size_t count;
    const int64_t *bins = node_ints(infer->node, "pooled_shape", &count);
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = infer_same_dtype(infer, 0, 1);
    if (rc < 0)
        return rc;
    if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5)
        return infer_fail(infer, "its input and regions do not fit together");
    if (!bins || count != 2 || bins[0] < 1 || bins[1] < 1)
        return infer_fail(infer, "attribute pooled_shape is no pair of counts");
    out.dims[0] = rois->dims[0];
    out.dims[1] = x->dims[1];
    out.dims[2] = bins[0];
    out.dims[3] = bins[1];
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* As many rows as boxes are kept. */
int shape_nms(struct infer *infer)
{
    const struct node *node = infer->node;
    struct shape out = {2, {0, 3}};
    struct nms_inputs in = {{NULL}};
    struct kernel_nms shape;
    const char *problem;
    void *scratch;
    int rc = 0;

    for (uint32_t i = 0; i < NMS_INPUTS; i++) {
        if (infer_has(infer, i))
            in.types[i] = infer_dtype(infer, i);
        in.shapes[i] = infer_has(infer, i) ? infer_shape(infer, i) : NULL;
    }
    problem = nms_check(node, &in, &shape);
    if (problem)
        return infer_fail(infer, "%s", problem);
    for (uint32_t i = 0; rc == 0 && i < NMS_INPUTS; i++) {
        if (infer_has(infer, i))
            rc = infer_content(infer, i, &in.data[i]);
    }
    if (rc < 0)
        return rc;
    nms_limits(&in, &shape);
    scratch = malloc(kernel_nms_room(&shape) + 1);
    if (!scratch)
        return -ENOMEM;
    out.dims[0] = nms_portable(NULL, INT64_MAX, in.data[0], in.data[1], scratch, &shape);
    free(scratch);
    return infer_output(infer, 0, DTYPE_I64, &out);
}

/* A grid of places for images of that size. */
int shape_affine_grid(struct infer *infer)
{
    const struct shape *theta = infer_shape(infer, 0);
    struct shape out = {.rank = 0};
    int64_t *size = NULL;
    size_t count = 0;
    int rc = infer_float(infer, 0);

    if (rc == 0)
        rc = infer_ints(infer, 1, &size, &count);
    if (rc == 0 && count != 4 && count != 5)
        rc = infer_fail(infer, "its size has %zu numbers instead of 4 or 5", count);
    if (rc == 0 && (theta->rank != 3 || theta->dims[0] != size[0] ||
                    theta->dims[1] != (int64_t)count - 2 || theta->dims[2] != (int64_t)count - 1))
        rc = infer_fail(infer, "its matrices do not fit %" PRId64 " images of %zu dimensions",
                        size[0], count - 2);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (size[i] < 0)
            rc = infer_fail(infer, "its size holds %" PRId64, size[i]);
        out.dims[i > 1 ? i - 1 : 0] = i == 1 ? out.dims[0] : size[i];
    }
    out.rank = (int)count;
    out.dims[count > 1 ? count - 1 : 0] = (int64_t)count - 2;
    free(size);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* Blocks along spatial axis i of an image of that size. */
static int64_t blocks_along(int64_t image, int64_t block, int i, int rank, const int64_t *pads,
                            const int64_t *strides, const int64_t *dilations)
{
    int64_t last = image + pads[i] + pads[rank + i] - dilations[i] * (block - 1) - 1;

    return last < 0 ? 0 : last / strides[i] + 1;
}

static int col2im_lists(struct infer *infer, int rank, int64_t *pads, int64_t *strides,
                        int64_t *dilations)
{
    int rc = infer_window_list(infer, "pads", 2 * rank, 0, 0, pads);

    if (rc == 0)
        rc = infer_window_list(infer, "strides", rank, 1, 1, strides);
    return rc < 0 ? rc : infer_window_list(infer, "dilations", rank, 1, 1, dilations);
}

static int col2im_shape(struct infer *infer, const int64_t *image, const int64_t *block, int rank,
                        struct shape *out_shape)
{
    const struct shape *x = infer_shape(infer, 0);
    int64_t pads[2 * INFER_SPATIAL_MAX], strides[INFER_SPATIAL_MAX], dilations[INFER_SPATIAL_MAX];
    int64_t blocks = 1, elements = 1;
    int rc = col2im_lists(infer, rank, pads, strides, dilations);

    for (int i = 0; rc == 0 && i < rank; i++) {
        if (image[i] < 0 || image[i] > INFER_WINDOW_MAX || block[i] < 1 || block[i] > INT32_MAX ||
            dilations[i] > INT32_MAX)
            return infer_fail(infer, "an image of %" PRId64 " in blocks of %" PRId64 " is none",
                              image[i], block[i]);
        out_shape->dims[2 + i] = image[i];
        blocks *= blocks_along(image[i], block[i], i, rank, pads, strides, dilations);
        elements *= block[i];
        if (blocks > x->dims[2] || elements > x->dims[1])
            break;
    }
    if (rc == 0 && (blocks != x->dims[2] || blocks == 0 || x->dims[1] % elements != 0))
        rc =
            infer_fail(infer, "its input is not that of %" PRId64 " blocks of %" PRId64 " elements",
                       blocks, elements);
    if (rc == 0)
        out_shape->dims[1] = x->dims[1] / elements;
    return rc;
}

int shape_col2im(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    struct shape out = {.rank = 2, .dims = {x->dims[0]}};
    int64_t *image = NULL, *block = NULL;
    size_t rank, block_rank;
    int rc = x->rank == 3 ? 0 : infer_fail(infer, "its input has not 3 dimensions");

    if (rc == 0)
        rc = infer_ints(infer, 1, &image, &rank);
    if (rc == 0)
        rc = infer_ints(infer, 2, &block, &block_rank);
    if (rc == 0 && (rank != block_rank || rank < 1))
        rc = infer_fail(infer, "images and blocks differ in their dimensions");
    if (rc == 0 && rank > INFER_SPATIAL_MAX)
        rc = infer_unsupported(infer, "it has %zu spatial dimensions", rank);
    if (rc == 0) {
        out.rank = 2 + (int)rank;
        rc = col2im_shape(infer, image, block, (int)rank, &out);
    }
    free(image);
    free(block);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}
