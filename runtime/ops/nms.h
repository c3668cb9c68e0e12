/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression: what its shape function, which has to count the boxes, and its binder share.
 */
#ifndef OPTRACE_RUNTIME_OPS_NMS_H
#define OPTRACE_RUNTIME_OPS_NMS_H

#include "kernels/kernels.h"
#include "runtime/graph/graph.h"

enum {
    NMS_BOXES,
    NMS_SCORES,
    NMS_LIMIT,
    NMS_OVERLAP,
    NMS_SCORE_MIN,
    NMS_INPUTS,
};

/** By input; shape and data are NULL where it is left out. */
struct nms_inputs {
    const struct shape *shapes[NMS_INPUTS];
    enum dtype types[NMS_INPUTS];
    const void *data[NMS_INPUTS];
};

/** Fill in all but the limits. Returns NULL, or what is wrong, as words that live forever. */
const char *nms_check(const struct node *node, const struct nms_inputs *in,
                      struct kernel_nms *out_nms);

/** The limits, from the data of their inputs. */
void nms_limits(const struct nms_inputs *in, struct kernel_nms *out_nms);

#endif
