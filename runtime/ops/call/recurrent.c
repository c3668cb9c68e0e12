/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU, LSTM. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, P, INPUTS };

struct recurrent_params {
    recurrent_fn *fn;
    bool has[INPUTS];
    bool makes[3];
    const float *packed; /* of constant weights, behind this; or NULL */
    struct kernel_recurrent shape;
};

static int run_recurrent(const struct call *call)
{
    const struct recurrent_params *p = call->params;
    struct kernel_recurrent_data data = {
        .y = p->makes[0] ? call->outputs[0] : NULL,
        .last_h = p->makes[1] ? call->outputs[1] : NULL,
        .last_c = p->makes[2] ? call->outputs[2] : NULL,
        .x = call->inputs[X],
        .w = call->inputs[W],
        .r = call->inputs[R],
        .b = p->has[B] ? call->inputs[B] : NULL,
        .lengths = p->has[LENGTHS] ? call->inputs[LENGTHS] : NULL,
        .initial_h = p->has[INITIAL_H] ? call->inputs[INITIAL_H] : NULL,
        .initial_c = p->has[INITIAL_C] ? call->inputs[INITIAL_C] : NULL,
        .p = p->has[P] ? call->inputs[P] : NULL,
        .packed = p->packed,
        .workspace = call->workspace,
    };

    return p->fn(&data, &p->shape) < 0 ? -EINVAL : 0;
}

/* The functions by name, with the defaults of the operators of the same name. */
static const struct {
    const char *name;
    struct kernel_gate gate;
    bool has_alpha, has_beta;
} functions[] = {
    {"Affine", {GATE_AFFINE, 1.0, 0.0}, true, true},
    {"Elu", {GATE_ELU, 1.0, 0.0}, true, false},
    {"HardSigmoid", {GATE_HARD_SIGMOID, 0.2, 0.5}, true, true},
    {"LeakyRelu", {GATE_LEAKY_RELU, 0.01, 0.0}, true, false},
    {"Relu", {GATE_RELU, 0.0, 0.0}, false, false},
    {"ScaledTanh", {GATE_SCALED_TANH, 1.0, 1.0}, true, true},
    {"Sigmoid", {GATE_SIGMOID, 0.0, 0.0}, false, false},
    {"Softplus", {GATE_SOFTPLUS, 0.0, 0.0}, false, false},
    {"Softsign", {GATE_SOFTSIGN, 0.0, 0.0}, false, false},
    {"Tanh", {GATE_TANH, 0.0, 0.0}, false, false},
    {"ThresholdedRelu", {GATE_THRESHOLDED_RELU, 1.0, 0.0}, true, false},
};

/* Numbers that functions take from a list, each in its turn. */
struct numbers {
    const float *next;
    size_t left;
};

static struct numbers read_numbers(const struct node *node, const char *name)
{
    const struct attribute *a = node_attribute(node, name);

    if (!a || a->type != ATTRIBUTE_FLOATS)
        return (struct numbers){NULL, 0};
    return (struct numbers){a->floats, a->count};
}

static void take_number(struct numbers *from, bool takes, double *out_number)
{
    if (!takes || from->left == 0)
        return;
    *out_number = (double)*from->next++;
    from->left--;
}

static int take_function(const struct call_request *request, const char *name,
                         struct numbers *alphas, struct numbers *betas,
                         struct kernel_gate *out_gate)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcasecmp(functions[i].name, name) != 0)
            continue;
        *out_gate = functions[i].gate;
        take_number(alphas, functions[i].has_alpha, &out_gate->a);
        take_number(betas, functions[i].has_beta, &out_gate->b);
        return 0;
    }
    return call_refuse(request, -ENOTSUP, "no kernel for the activation '%.40s'", name);
}

static int take_functions(const struct call_request *request, struct kernel_recurrent *s)
{
    static const char *const defaults[][KERNEL_CELL_FUNCTIONS] = {
        [CELL_RNN] = {"Tanh"},
        [CELL_GRU] = {"Sigmoid", "Tanh"},
        [CELL_LSTM] = {"Sigmoid", "Tanh", "Tanh"},
    };
    static const int counts[] = {[CELL_RNN] = 1, [CELL_GRU] = 2, [CELL_LSTM] = 3};
    const struct attribute *names = node_attribute(request->node, "activations");
    struct numbers alphas = read_numbers(request->node, "activation_alpha");
    struct numbers betas = read_numbers(request->node, "activation_beta");
    int count = counts[s->cell], rc = 0;

    if (names &&
        (names->type != ATTRIBUTE_STRINGS || names->count < (size_t)(count * s->directions)))
        return call_refuse(request, -EINVAL, "attribute activations has fewer than %d names",
                           count * s->directions);
    for (int i = 0; rc == 0 && i < count * s->directions; i++)
        rc = take_function(request, names ? names->strings[i] : defaults[s->cell][i % count],
                           &alphas, &betas, &s->functions[i / count][i % count]);
    return rc;
}

static int take_attributes(const struct call_request *request, struct kernel_recurrent *s)
{
    const struct node *node = request->node;
    const char *direction = node_string(node, "direction", "forward");

    s->cell = strcmp(node->op_type, "LSTM") == 0  ? CELL_LSTM
              : strcmp(node->op_type, "GRU") == 0 ? CELL_GRU
                                                  : CELL_RNN;
    s->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    s->is_reverse[0] = strcmp(direction, "reverse") == 0;
    s->is_reverse[1] = true;
    if (s->directions == 1 && !s->is_reverse[0] && strcmp(direction, "forward") != 0)
        return call_refuse(request, -EINVAL, "attribute direction is '%.40s'", direction);
    s->is_batch_first = node_int(node, "layout", 0) != 0;
    s->is_reset_last = node_int(node, "linear_before_reset", 0) != 0;
    s->is_forget_one_minus = node_int(node, "input_forget", 0) != 0;
    s->clip = (double)node_float(node, "clip", 0.0f);
    return take_functions(request, s);
}

/* Constant weights of the state are packed once. */
static int pack_weights(const struct call_request *request, struct call *call)
{
    struct recurrent_params *p = call->params;
    size_t bytes = request->inputs[R].data ? kernel_recurrent_packed(&p->shape) : 0;

    if (bytes == 0)
        return 0;
    p = realloc(p, sizeof(*p) + bytes);
    if (!p)
        return call_refuse(request, -ENOMEM, "out of memory");
    call->params = p;
    kernel_pack_recurrent((float *)(void *)(p + 1), request->inputs[R].data, &p->shape);
    p->packed = (float *)(void *)(p + 1);
    return 0;
}

int call_bind_recurrent(const struct call_request *request, struct call *call)
{
    const struct shape *x = &request->inputs[X].shape;
    struct recurrent_params *p;
    struct kernel_recurrent *s;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    s = &p->shape;
    if (!call_dtype(request->inputs[X].dtype, &s->dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->inputs[X].dtype));
    rc = take_attributes(request, s);
    if (rc < 0)
        return rc;
    s->steps = x->dims[s->is_batch_first];
    s->batch = x->dims[!s->is_batch_first];
    s->inputs = x->dims[2];
    s->hidden = request->inputs[R].shape.dims[2];
    for (uint32_t i = 0; i < INPUTS; i++)
        p->has[i] = call_input(request, i) != NULL;
    for (uint32_t i = 0; i < 3; i++)
        p->makes[i] = call_is_read(request->node, i);
    call->workspace_bytes =
        (request->on_device ? kernel_recurrent_device_room(s) : kernel_recurrent_room(s)) *
        sizeof(double);
    rc = request->on_device ? 0 : pack_weights(request, call);
    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->recurrent.fn;
    call->version = request->kernels->recurrent.version;
    call->run = run_recurrent;
    return 0;
}
