/* SPDX-License-Identifier: Apache-2.0 */
/* What Resize and Upsample ask for in all their versions, read once for the shape and once for the
 * kernel. */
#ifndef OPTRACE_RUNTIME_OPS_RESIZE_H
#define OPTRACE_RUNTIME_OPS_RESIZE_H

#include "runtime/graph/graph.h"

struct resize {
    int64_t dims[SHAPE_MAX_RANK];                      /* of the result */
    double scales[SHAPE_MAX_RANK];                     /* result / input */
    double begin[SHAPE_MAX_RANK], end[SHAPE_MAX_RANK]; /* the region that is cropped; 0 and 1 */
};

/** Which input of the node holds what; -1: none. */
struct resize_inputs {
    int scales, sizes, region;
};

struct resize_inputs resize_inputs(const struct node *node, int64_t opset);

/**
 * inputs  views of the node's inputs, with the data of those that resize_inputs() names
 *
 * Returns 0, or -EINVAL, or -ENOTSUP where that data is not there, with a phrase in *out_why.
 */
int resize_read(const struct node *node, int64_t opset, const struct tensor_view *inputs,
                struct resize *out_resize, const char **out_why);

#endif
