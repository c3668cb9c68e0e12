/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression: what its shape function, which has to count the boxes, and its binder share.
 */
#ifndef OPTRACE_RUNTIME_OPS_NMS_H
#define OPTRACE_RUNTIME_OPS_NMS_H

#include "kernels/kernels.h"
#include "runtime/graph/graph.h"

enum {
    SUPPRESS_BOXES,
    SUPPRESS_SCORES,
    SUPPRESS_LIMIT,
    SUPPRESS_OVERLAP,
    SUPPRESS_SCORE_MIN,
    SUPPRESS_INPUTS,
};

/** By input; shape and data are NULL where it is left out. */
struct suppress_inputs {
    const struct shape *shapes[SUPPRESS_INPUTS];
    enum dtype types[SUPPRESS_INPUTS];
    const void *data[SUPPRESS_INPUTS];
};

/** Fill in all but the limits. Returns NULL, or what is wrong, as words that live forever. */
const char *suppress_check(const struct node *node, const struct suppress_inputs *in,
                           struct kernel_suppress *out);

/** The limits, from the data of their inputs. */
void suppress_limits(const struct suppress_inputs *in, struct kernel_suppress *out);

#endif
