/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: losses of samples that are of a class. */
#include <string.h>

#include "runtime/ops/shape/infer.h"

/* Classes are the second axis of the first input, and not among the labels'. */
static bool are_labels(const struct shape *labels, const struct shape *x)
{
    if (x->rank < 2 || labels->rank != x->rank - 1 || labels->dims[0] != x->dims[0])
        return false;
    for (int i = 1; i < labels->rank; i++) {
        if (labels->dims[i] != x->dims[i + 1])
            return false;
    }
    return true;
}

static int check_loss(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    const char *reduction = node_string(infer->node, "reduction", "mean");
    enum dtype labels = infer_dtype(infer, 1);
    int rc = infer_float(infer, 0);

    if (rc == 0 && labels != DTYPE_I32 && labels != DTYPE_I64)
        rc = infer_fail(infer, "its labels are %s, not int32 or int64", dtype_name(labels));
    if (rc == 0 && !are_labels(infer_shape(infer, 1), x))
        rc = infer_fail(infer, "its labels do not fit its first input");
    if (rc == 0 && infer_has(infer, 2))
        rc = infer_same_dtype(infer, 0, 2);
    if (rc == 0 && infer_has(infer, 2) &&
        (infer_shape(infer, 2)->rank != 1 || infer_shape(infer, 2)->dims[0] != x->dims[1]))
        rc = infer_fail(infer, "its weights are not one for each class");
    if (rc == 0 && strcmp(reduction, "none") != 0 && strcmp(reduction, "sum") != 0 &&
        strcmp(reduction, "mean") != 0)
        rc = infer_fail(infer, "attribute reduction is '%.40s', not none, sum or mean", reduction);
    return rc;
}

int shape_loss(struct infer *infer)
{
    struct shape out = {.rank = 0};
    int rc = check_loss(infer);

    if (rc < 0)
        return rc;
    if (strcmp(node_string(infer->node, "reduction", "mean"), "none") == 0)
        out = *infer_shape(infer, 1);
    rc = infer_output(infer, 0, infer_dtype(infer, 0), &out);
    return rc < 0 ? rc : infer_output(infer, 1, infer_dtype(infer, 0), infer_shape(infer, 0));
}
