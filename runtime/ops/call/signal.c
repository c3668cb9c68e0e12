/* SPDX-License-Identifier: Apache-2.0 */
/* DFT, MelWeightMatrix, RandomNormal, RandomUniform and those that are like a tensor. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <string.h>

#include "runtime/graph/element.h"

/* DFT */

struct dft_params {
    dft_fn *fn;
    struct kernel_dft shape;
};

static int run_dft(const struct call *call)
{
    const struct dft_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->workspace, &p->shape);
    return 0;
}

/* The axis, and the length of the transform where that is given. */
static int dft_sizes(const struct call_request *request, struct kernel_dft *s)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    bool is_axis_input = graph_opset(request->graph, "") >= 20, given;
    int64_t axis = is_axis_input ? -2 : node_int(request->node, "axis", 1), ints[CALL_MAX_INTS];
    int at, rc = is_axis_input ? call_ints(request, 2, NULL, ints, &given) : 0;

    if (rc < 0)
        return rc;
    if (rc == 1)
        axis = ints[0];
    at = rc = call_axis(request, axis, x->rank);
    if (rc >= 0)
        rc = call_ints(request, 1, NULL, ints, &given);
    if (rc < 0)
        return rc;
    s->outer = s->inner = 1;
    for (int i = 0; i < x->rank - 1; i++)
        *(i < at    ? &s->outer
          : i == at ? &s->in
                    : &s->inner) = i == at  ? x->dims[i]
                                   : i < at ? s->outer * x->dims[i]
                                            : s->inner * x->dims[i];
    s->out = y->dims[at];
    s->length = rc == 1 ? ints[0] : s->is_inverse ? s->out : s->in;
    return 0;
}

int call_bind_dft(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[0].shape, *y = &request->outputs[0].shape;
    struct dft_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(request->inputs[0].dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[0].dtype));
    p->shape.x_parts = (int)x->dims[x->rank - 1];
    p->shape.y_parts = (int)y->dims[y->rank - 1];
    p->shape.is_inverse = node_int(request->node, "inverse", 0) != 0;
    p->shape.is_half = p->shape.is_inverse && node_int(request->node, "onesided", 0) != 0;
    rc = dft_sizes(request, &p->shape);
    if (rc < 0)
        return rc;
    p->fn = request->kernels->dft.fn;
    call->workspace_bytes = kernel_dft_room(&p->shape);
    call->version = request->kernels->dft.version;
    call->run = run_dft;
    return 0;
}

/* MelWeightMatrix: its numbers are inputs, read on each run. */

enum { MEL_INPUTS = 5 };

struct mel_params {
    mel_fn *fn;
    enum dtype types[MEL_INPUTS];
    struct kernel_mel shape;
};

static int run_mel(const struct call *call)
{
    const struct mel_params *p = call->params;
    struct kernel_mel shape = p->shape;
    double numbers[MEL_INPUTS];

    for (int i = 0; i < MEL_INPUTS; i++)
        numbers[i] = (double)element_get(call->inputs[i], p->types[i], 0);
    shape.length = (int64_t)numbers[1];
    shape.sample_rate = numbers[2];
    shape.low = numbers[3];
    shape.high = numbers[4];
    /* The room is that of the numbers that sizes were worked out for. */
    if (numbers[0] != (double)shape.bands || shape.length / 2 != p->shape.length / 2)
        return -EINVAL;
    return p->fn(call->outputs[0], &shape) < 0 ? -EINVAL : 0;
}

int call_bind_mel(const struct call_request *request, struct call *call)
{
    const struct tensor_view *y = &request->outputs[0];
    struct mel_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(y->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(y->dtype));
    if (request->on_device)
        return call_refuse(request, -ENOTSUP, "the CPU reads its numbers");
    for (uint32_t i = 0; i < MEL_INPUTS; i++)
        p->types[i] = request->inputs[i].dtype;
    p->shape.bands = y->shape.dims[1];
    p->shape.length = 2 * (y->shape.dims[0] - 1);
    p->fn = request->kernels->mel.fn;
    call->version = request->kernels->mel.version;
    call->run = run_mel;
    return 0;
}

/* Random numbers. */

struct random_params {
    random_fn *fn;
    size_t count;
    struct kernel_random shape;
};

static int run_random(const struct call *call)
{
    const struct random_params *p = call->params;

    p->fn(call->outputs[0], p->count, &p->shape);
    return 0;
}

/* By the attribute, else by the names, so that nodes differ and runs do not. */
static uint64_t seed_of(const struct node *node)
{
    const struct attribute *seed = node_attribute(node, "seed");
    uint64_t bits = 1469598103934665603u;
    uint32_t given = 0;

    if (seed && seed->type == ATTRIBUTE_FLOAT) {
        memcpy(&given, &seed->f, sizeof(given));
        return given;
    }
    for (const char *c = node->name; *c != '\0'; c++)
        bits = (bits ^ (uint8_t)*c) * 1099511628211u;
    for (const char *c = node->outputs[0]->name; *c != '\0'; c++)
        bits = (bits ^ (uint8_t)*c) * 1099511628211u;
    return bits;
}

int call_bind_random(const struct call_request *request, struct call *call)
{
    const struct tensor_view *y = &request->outputs[0];
    bool is_normal = strncmp(request->node->op_type, "RandomNormal", 12) == 0;
    struct random_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(y->dtype, &p->shape.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(y->dtype));
    p->shape.is_normal = is_normal;
    p->shape.a = (double)node_float(request->node, is_normal ? "mean" : "low", 0.0f);
    p->shape.b = (double)node_float(request->node, is_normal ? "scale" : "high", 1.0f);
    p->shape.seed = seed_of(request->node);
    p->count = (size_t)shape_elements(&y->shape);
    p->fn = request->kernels->random.fn;
    call->version = request->kernels->random.version;
    call->run = run_random;
    return 0;
}
