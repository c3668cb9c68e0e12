/* SPDX-License-Identifier: Apache-2.0 */
/* Products by weights of 4 bits in blocks. */
#include "kernels/blocks.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/ops/call/call.h"

enum { EIGHT_BITS = 4 }; /* the accuracy_level that lets rows be rounded */

struct blocks_params {
    product_blocks_fn *fn; /* NULL: the reference, which takes the weights as they are */
    struct kernel_blocks shape;
    bool has_bias;
    void *packed; /* for fn, part of the params */
};

static int run_blocks(const struct call *call)
{
    const struct blocks_params *p = call->params;
    const float *bias = p->has_bias ? call->inputs[4] : NULL;
    struct kernel_blocks_weights weights = {call->inputs[1], call->inputs[2],
                                            p->shape.has_zeros ? call->inputs[3] : NULL};

    if (p->fn)
        p->fn(call->outputs[0], call->inputs[0], p->packed, bias, &p->shape, call->workspace);
    else
        product_blocks_ref(call->outputs[0], call->inputs[0], &weights, bias, &p->shape);
    return 0;
}

static bool holds(const struct tensor_view *view, enum dtype dtype, int64_t count)
{
    return view && view->dtype == dtype && shape_elements(&view->shape) == count;
}

/* Whether the inputs are what the kernel's contract says, of sizes whose products no int64 exceeds. */
static bool read_shape(const struct call_request *request, struct kernel_blocks *s)
{
    const struct node *node = request->node;
    const struct tensor_view *zeros = call_input(request, 3), *bias = call_input(request, 4);
    int64_t blocks;

    *s = (struct kernel_blocks){.n = node_int(node, "N", 0),
                                .k = node_int(node, "K", 0),
                                .size = node_int(node, "block_size", 0),
                                .has_zeros = zeros != NULL,
                                .is_rounded = node_int(node, "accuracy_level", 0) == EIGHT_BITS};
    if (s->n < 1 || s->k < 1 || s->n > TENSOR_MAX_BYTES / s->k || s->size < KERNEL_BLOCK_MIN ||
        s->size > KERNEL_BLOCK_MAX || (s->size & (s->size - 1)) != 0)
        return false;
    blocks = (s->k + s->size - 1) / s->size;
    s->m = shape_elements(&request->outputs[0].shape) / s->n;
    return holds(call_input(request, 0), DTYPE_F32, s->m * s->k) &&
           holds(call_input(request, 1), DTYPE_U8, s->n * blocks * (s->size / 2)) &&
           holds(call_input(request, 2), DTYPE_F32, s->n * blocks) &&
           (!zeros || holds(zeros, DTYPE_U8, s->n * ((blocks + 1) / 2))) &&
           (!bias || holds(bias, DTYPE_F32, s->n));
}

int call_bind_block_product(const struct call_request *request, struct call *call)
{
    const struct tensor_view *inputs = request->inputs;
    size_t first = (sizeof(struct blocks_params) + 63) / 64 * 64, packed;
    struct kernel_blocks_weights weights = {0};
    struct blocks_params *p;
    struct kernel_blocks shape;

    if (request->on_device)
        return call_refuse(request, -ENOTSUP, "no kernel of this device");
    if (!read_shape(request, &shape))
        return call_refuse(request, -EINVAL, "its inputs make no product by blocks of 4 bits");
    weights.quanta = inputs[1].data;
    weights.scales = inputs[2].data;
    weights.zeros = shape.has_zeros ? inputs[3].data : NULL;
    if (!weights.quanta || !weights.scales || (shape.has_zeros && !weights.zeros))
        return call_refuse(request, -ENOTSUP, "its weights are not constant");
    packed = kernel_blocks_packed(&shape);
    p = aligned_alloc(64, first + (packed + 63) / 64 * 64);
    if (!p)
        return call_refuse(request, -ENOMEM, "out of memory");
    *p = (struct blocks_params){
        .shape = shape, .has_bias = call_input(request, 4), .packed = (char *)p + first};
    p->fn = kernel_product_blocks(request->kernels->level, &call->version);
    if (p->fn) {
        kernel_pack_blocks(p->packed, &weights, &shape);
        call->workspace_bytes = kernel_blocks_room(&shape);
    }
    call->params = p;
    call->run = run_blocks;
    return 0;
}
