/* SPDX-License-Identifier: Apache-2.0 */
/* NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

struct loss_params {
    class_loss_fn *fn;
    bool has_weights, has_log_prob;
    struct kernel_class_loss shape;
};

static int run_loss(const struct call *call)
{
    const struct loss_params *p = call->params;

    return p->fn(call->outputs[0], p->has_log_prob ? call->outputs[1] : NULL, call->inputs[0],
                 call->inputs[1], p->has_weights ? call->inputs[2] : NULL, &p->shape) < 0
               ? -EINVAL
               : 0;
}

/* Shapes and words were looked at when the shape was inferred. */
static void fill_loss(const struct call_request *request, struct kernel_class_loss *s)
{
    const struct shape *x = &request->inputs[0].shape;
    const char *reduction = node_string(request->node, "reduction", "mean");

    s->reduction = strcmp(reduction, "none") == 0  ? LOSS_EACH
                   : strcmp(reduction, "sum") == 0 ? LOSS_SUM
                                                   : LOSS_MEAN;
    s->takes_scores = strcmp(request->node->op_type, "SoftmaxCrossEntropyLoss") == 0;
    s->has_ignored = node_attribute(request->node, "ignore_index") != NULL;
    s->ignored = node_int(request->node, "ignore_index", 0);
    s->batch = x->dims[0];
    s->classes = x->dims[1];
    s->inner = 1;
    for (int i = 2; i < x->rank; i++)
        s->inner *= x->dims[i];
}

int call_bind_loss(const struct call_request *request, struct call *call)
{
    struct loss_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(request->inputs[0].dtype, &p->shape.dtype) ||
        !call_dtype(request->inputs[1].dtype, &p->shape.label_type))
        return call_refuse(request, -ENOTSUP, "no kernel for %s with labels of %s",
                           dtype_name(request->inputs[0].dtype),
                           dtype_name(request->inputs[1].dtype));
    fill_loss(request, &p->shape);
    p->has_weights = call_input(request, 2) != NULL;
    p->has_log_prob = node_output(request->node, 1) != NULL;
    p->fn = request->kernels->class_loss.fn;
    call->version = request->kernels->class_loss.version;
    call->run = run_loss;
    return 0;
}
