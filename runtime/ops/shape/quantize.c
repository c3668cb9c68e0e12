/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: quantisation. */
#include <errno.h>

#include "runtime/graph/element.h"
#include "runtime/ops/shape/infer.h"

/* To the type of the zero point, or attribute output_dtype (since operator set 21), or u8. */
int shape_quantize(struct infer *infer)
{
    int64_t to = node_int(infer->node, "output_dtype", 0);

    if (infer_has(infer, 2))
        to = infer_dtype(infer, 2);
    else if (to == 0)
        to = DTYPE_U8;
    if (to < 0 || to >= DTYPE_END || dtype_bytes((enum dtype)to) == 0)
        return infer_unsupported(infer, "its output is of type %d", (int)to);
    return infer_output(infer, 0, (enum dtype)to, infer_shape(infer, 0));
}

/* To the type of the scale, or attribute output_dtype (since operator set 23). */
int shape_dequantize(struct infer *infer)
{
    int64_t to = node_int(infer->node, "output_dtype", 0);
    int rc = infer_dtype(infer, 1) == DTYPE_F8E8M0 ? 0 : infer_float(infer, 1);

    if (rc < 0)
        return rc;
    if (to == 0)
        to = infer_dtype(infer, 1);
    if (!element_is_float((enum dtype)to))
        return infer_unsupported(infer, "its output is of type %d", (int)to);
    return infer_output(infer, 0, (enum dtype)to, infer_shape(infer, 0));
}

int shape_quantize_dynamic(struct infer *infer)
{
    struct shape scalar = {.rank = 0};
    int rc;

    if (infer_dtype(infer, 0) != DTYPE_F32)
        return infer_fail(infer, "its input is %s, not float32", dtype_name(infer_dtype(infer, 0)));
    rc = infer_output(infer, 0, DTYPE_U8, infer_shape(infer, 0));
    if (rc == 0)
        rc = infer_output(infer, 1, DTYPE_F32, &scalar);
    return rc < 0 ? rc : infer_output(infer, 2, DTYPE_U8, &scalar);
}
