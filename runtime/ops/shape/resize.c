/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: Resize, Upsample. */
#include "runtime/ops/resize.h"

#include <errno.h>
#include <string.h>

#include "runtime/ops/shape/infer.h"

int shape_resize(struct infer *infer)
{
    struct resize_inputs sources = resize_inputs(infer->node, infer->opset);
    int wanted[] = {sources.scales, sources.sizes, sources.region};
    struct tensor_view inputs[4] = {{0}};
    struct shape out = {.rank = infer_shape(infer, 0)->rank};
    struct resize resize;
    const char *why;

    inputs[0] = (struct tensor_view){infer_dtype(infer, 0), *infer_shape(infer, 0), NULL};
    for (int i = 0; i < 3; i++) {
        uint32_t input = (uint32_t)wanted[i];
        const void *data;
        int rc;

        if (wanted[i] < 0)
            continue;
        rc = infer_content(infer, input, &data);
        if (rc < 0)
            return rc;
        inputs[input] = (struct tensor_view){infer_dtype(infer, input), *infer_shape(infer, input),
                                             (void *)data};
    }
    if (resize_read(infer->node, infer->opset, inputs, &resize, &why) < 0)
        return infer_fail(infer, "%s", why);
    memcpy(out.dims, resize.dims, sizeof(out.dims));
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}
