/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of operators of other people's libraries: the library knows them. */
#include <errno.h>
#include <stdlib.h>

#include "runtime/ops/extern_library.h"
#include "runtime/ops/shape/infer.h"

static int set_output(struct infer *infer, uint32_t i, const struct copr_layout *layout)
{
    struct shape shape = {.rank = (int)layout->shape.rank};

    for (int axis = 0; axis < shape.rank; axis++)
        shape.dims[axis] = layout->shape.dims[axis];
    return infer_output(infer, i, extern_op_dtype(layout->dtype), &shape);
}

int shape_extern_op(struct infer *infer)
{
    const struct node *node = infer->node;
    struct tensor_view *inputs = calloc((size_t)node->input_count + 1, sizeof(*inputs));
    struct copr_layout *outputs = NULL;
    const struct copr_desc *desc = NULL;
    struct diag inner = {0};
    int rc = inputs ? extern_op_find(node, &desc, &inner) : -ENOMEM;

    if (rc == 0) {
        outputs = calloc((size_t)desc->output_count + 1, sizeof(*outputs));
        rc = outputs ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++)
        if (node->inputs[i])
            inputs[i] = (struct tensor_view){node->inputs[i]->dtype, node->inputs[i]->shape, NULL};
    if (rc == 0)
        rc = extern_op_infer(desc, inputs, node->input_count, outputs, &inner);
    if (rc == -ENOTSUP)
        rc = infer_unsupported(infer, "%s", inner.text);
    else if (rc < 0 && rc != -ENOMEM)
        rc = infer_fail(infer, "%s", inner.text);
    for (uint32_t i = 0; rc == 0 && i < node->output_count; i++)
        rc = set_output(infer, i, &outputs[i]);
    free(inputs);
    free(outputs);
    return rc;
}
