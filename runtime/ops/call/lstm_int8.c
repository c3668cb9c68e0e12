/* SPDX-License-Identifier: Apache-2.0 */
/* LSTMs of bytes. */
#include "kernels/lstm_int8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/call/call.h"

enum {
    X,
    X_SCALE,
    X_ZERO,
    W,
    W_SCALE,
    W_ZERO,
    R,
    R_SCALE,
    R_ZERO,
    B, /* from here on they may be left out */
    LENGTHS,
    INITIAL_H,
    INITIAL_C,
    INPUTS,
};

struct lstm_params {
    lstm_int8_fn *fn;
    struct kernel_lstm_int8 shape;
    bool has[INPUTS];
    bool makes[3];
    void *packed; /* part of the params */
};

static int run_lstm(const struct call *call)
{
    const struct lstm_params *p = call->params;
    struct kernel_lstm_int8_data data = {
        .y = p->makes[0] ? call->outputs[0] : NULL,
        .last_h = p->makes[1] ? call->outputs[1] : NULL,
        .last_c = p->makes[2] ? call->outputs[2] : NULL,
        .x = call->inputs[X],
        .x_scale = call->inputs[X_SCALE],
        .x_zero = call->inputs[X_ZERO],
        .w = {call->inputs[W], call->inputs[W_SCALE], call->inputs[W_ZERO]},
        .r = {call->inputs[R], call->inputs[R_SCALE], call->inputs[R_ZERO]},
        .b = p->has[B] ? call->inputs[B] : NULL,
        .lengths = p->has[LENGTHS] ? call->inputs[LENGTHS] : NULL,
        .initial_h = p->has[INITIAL_H] ? call->inputs[INITIAL_H] : NULL,
        .initial_c = p->has[INITIAL_C] ? call->inputs[INITIAL_C] : NULL,
        .packed = p->packed,
        .workspace = call->workspace,
    };

    return p->fn(&data, &p->shape) < 0 ? -EINVAL : 0;
}

/* At input i, scale and zero point behind it. */
static bool read_weights(const struct call_request *request, uint32_t i, int64_t directions,
                         struct kernel_lstm_int8_weights *out_weights,
                         struct kernel_lstm_int8_bytes *out_bytes)
{
    const struct tensor_view *inputs = request->inputs;

    out_weights->is_signed = inputs[i].dtype == DTYPE_I8;
    out_weights->has_columns = shape_elements(&inputs[i + 1].shape) != directions;
    *out_bytes =
        (struct kernel_lstm_int8_bytes){inputs[i].data, inputs[i + 1].data, inputs[i + 2].data};
    return out_bytes->quanta && out_bytes->scale && out_bytes->zero;
}

static void read_shape(const struct call_request *request, struct kernel_lstm_int8 *s)
{
    const char *direction = node_string(request->node, "direction", "forward");
    const struct shape *x = &request->inputs[X].shape, *r = &request->inputs[R].shape;

    *s = (struct kernel_lstm_int8){
        .steps = x->dims[0],
        .batch = x->dims[1],
        .inputs = x->dims[2],
        .hidden = r->dims[1],
        .directions = (int)r->dims[0],
        .is_reverse = {strcmp(direction, "reverse") == 0, true},
    };
}

int call_bind_lstm_int8(const struct call_request *request, struct call *call)
{
    size_t first = (sizeof(struct lstm_params) + 63) / 64 * 64;
    struct lstm_params *p, params = {0};
    struct kernel_lstm_int8_bytes w, r;
    struct kernel_lstm_int8 *s = &params.shape;

    if (request->on_device)
        return call_refuse(request, -ENOTSUP, "no kernel of this device");
    read_shape(request, s);
    if (!read_weights(request, W, s->directions, &s->w, &w) ||
        !read_weights(request, R, s->directions, &s->r, &r))
        return call_refuse(request, -ENOTSUP, "its weights are not constant");
    for (uint32_t i = 0; i < INPUTS; i++)
        params.has[i] = call_input(request, i) != NULL;
    for (uint32_t i = 0; i < 3; i++)
        params.makes[i] = call_is_read(request->node, i);
    params.fn = kernel_lstm_int8(request->kernels->level, &call->version);
    p = aligned_alloc(64, first + (kernel_lstm_int8_packed(s) + 63) / 64 * 64);
    if (!p)
        return call_refuse(request, -ENOMEM, "out of memory");
    *p = params;
    p->packed = (char *)p + first;
    kernel_pack_lstm_int8(p->packed, &w, &r, s);
    call->params = p;
    call->workspace_bytes = kernel_lstm_int8_room(s);
    call->run = run_lstm;
    return 0;
}
