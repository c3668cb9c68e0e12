/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: ensembles of trees. */
#include <inttypes.h>

#include "runtime/ops/shape/infer.h"

int shape_trees(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    int64_t targets = node_int(infer->node, "n_targets", 1);

    if (infer_dtype(infer, 0) != DTYPE_F32 && infer_dtype(infer, 0) != DTYPE_F64)
        return infer_unsupported(infer, "its features are %s", dtype_name(infer_dtype(infer, 0)));
    if (x->rank != 2)
        return infer_fail(infer, "its input has %d dimensions instead of 2", x->rank);
    if (targets < 1)
        return infer_fail(infer, "it has %" PRId64 " targets", targets);
    return infer_output(infer, 0, DTYPE_F32, &(struct shape){2, {x->dims[0], targets}});
}
