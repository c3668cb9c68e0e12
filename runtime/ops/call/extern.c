/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of other people's libraries (ops/copr.h). */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/ops/extern_library.h"

struct extern_op_params {
    const struct copr_desc *desc;
    uint32_t inputs, outputs, bound; /* outputs of the library; of the node */
    size_t *scratch;                 /* by output: where in the workspace, if nobody reads it */
    struct copr_tensor tensors[];    /* inputs, then outputs */
};

static int run_extern_op(const struct call *call)
{
    struct extern_op_params *p = call->params;
    struct copr_tensor *outputs = p->tensors + p->inputs;

    for (uint32_t i = 0; i < p->inputs; i++)
        p->tensors[i].data = (void *)call->inputs[i];
    for (uint32_t i = 0; i < p->outputs; i++)
        outputs[i].data = i < p->bound && call->outputs[i]
                              ? call->outputs[i]
                              : (char *)call->workspace + p->scratch[i];
    p->desc->execute(p->desc, p->tensors, outputs);
    return 0;
}

static size_t bytes_of(const struct copr_layout *layout)
{
    size_t bytes = dtype_bytes(extern_op_dtype(layout->dtype));

    for (uint32_t i = 0; i < layout->shape.rank; i++)
        bytes *= layout->shape.dims[i];
    return bytes;
}

/* Room for outputs that the library makes and nobody wants. */
static void plan_scratch(const struct call_request *request, struct extern_op_params *p,
                         struct call *call)
{
    for (uint32_t i = 0; i < p->outputs; i++) {
        if (i < p->bound && (i == 0 || call_is_read(request->node, i)) && request->node->outputs[i])
            continue;
        p->scratch[i] = call->workspace_bytes;
        call->workspace_bytes += (bytes_of(&p->tensors[p->inputs + i].layout) + 63) & ~(size_t)63;
    }
}

int call_bind_extern_op(const struct call_request *request, struct call *call)
{
    const struct node *node = request->node;
    const struct copr_desc *desc;
    struct copr_layout *layouts;
    struct extern_op_params *p;
    struct diag diag = {0};
    size_t tensors;
    int rc = extern_op_find(node, &desc, &diag);

    if (rc < 0)
        return call_refuse(request, rc, "%s", diag.text);
    tensors = (size_t)node->input_count + desc->output_count;
    rc = call_params(request, call,
                     sizeof(*p) + tensors * sizeof(p->tensors[0]) +
                         desc->output_count * sizeof(p->scratch[0]));
    layouts = calloc((size_t)desc->output_count + 1, sizeof(*layouts));
    if (rc == 0 && !layouts)
        rc = call_refuse(request, -ENOMEM, "out of memory");
    if (rc == 0 && extern_op_infer(desc, request->inputs, node->input_count, layouts, &diag) < 0)
        rc = call_refuse(request, -EINVAL, "%s", diag.text);
    if (rc == 0) {
        p = call->params;
        p->desc = desc;
        p->inputs = node->input_count;
        p->outputs = desc->output_count;
        p->bound = node->output_count;
        p->scratch = (size_t *)(p->tensors + tensors);
        for (uint32_t i = 0; i < p->inputs; i++)
            p->tensors[i].layout = extern_op_layout(&request->inputs[i]);
        for (uint32_t i = 0; i < p->outputs; i++)
            p->tensors[p->inputs + i].layout = layouts[i];
        plan_scratch(request, p, call);
        call->version = "c-opr";
        call->run = run_extern_op;
    }
    free(layouts);
    return rc;
}
