/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and RotaryEmbedding. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, MASK, PAST_K, PAST_V, SEEN };

struct attention_params {
    attention_fn *fn;
    uint32_t inputs, outputs; /* of the node */
    /* In half precision on a device: what is stored otherwise. */
    chain_half_fn *convert; /* NULL: nothing is */
    struct call_conversion operands[V + 1], y;
    size_t inner_offset; /* of the workspace that the kernel itself wants */
    struct kernel_attention shape;
};

static int run_attention(const struct call *call)
{
    const struct attention_params *p = call->params;
    struct kernel_attention_data data = {
        .y = call->outputs[0],
        .present_k = p->outputs > 1 ? call->outputs[1] : NULL,
        .present_v = p->outputs > 2 ? call->outputs[2] : NULL,
        .scores = p->outputs > 3 ? call->outputs[3] : NULL,
        .q = call->inputs[Q],
        .k = call->inputs[K],
        .v = call->inputs[V],
        .mask = p->inputs > MASK ? call->inputs[MASK] : NULL,
        .past_k = p->inputs > PAST_K ? call->inputs[PAST_K] : NULL,
        .past_v = p->inputs > PAST_V ? call->inputs[PAST_V] : NULL,
        .seen_steps = p->inputs > SEEN ? call->inputs[SEEN] : NULL,
        .workspace = (char *)call->workspace + p->inner_offset,
    };

    if (p->convert) {
        data.y = call_written(call, &p->y);
        data.q = call_read_narrowed(call, Q, p->convert, &p->operands[Q]);
        data.k = call_read_narrowed(call, K, p->convert, &p->operands[K]);
        data.v = call_read_narrowed(call, V, p->convert, &p->operands[V]);
    }
    p->fn(&data, &p->shape);
    if (p->convert)
        call_widen_written(call, p->convert, &p->y);
    return 0;
}

/* [batch, heads, steps, channels] with the channels innermost, or [batch, steps, heads * channels]. */
static struct kernel_heads heads_of(const struct shape *x, const int64_t *strides, int64_t heads,
                                    int64_t *out_steps, int64_t *out_channels)
{
    bool is_flat = x->rank == 3;
    int64_t steps = x->dims[is_flat ? 1 : 2];
    int64_t channels = is_flat ? (heads ? x->dims[2] / heads : 0) : x->dims[3];

    *out_steps = steps;
    *out_channels = channels;
    if (!is_flat)
        return (struct kernel_heads){strides[0], strides[1], strides[2]};
    return (struct kernel_heads){
        .batch_stride = heads * steps * channels,
        .head_stride = channels,
        .step_stride = heads * channels,
    };
}

static struct kernel_heads input_heads(const struct call_request *request, uint32_t i,
                                       int64_t heads, int64_t *out_steps, int64_t *out_channels)
{
    int64_t strides[SHAPE_MAX_RANK];

    call_input_strides(request, i, strides);
    return heads_of(&request->inputs[i].shape, strides, heads, out_steps, out_channels);
}

/* The mask is broadcast to [batch, heads, query steps, keys]. */
static int attention_mask(const struct call_request *request, struct kernel_attention *s)
{
    const struct tensor_view *mask = call_input(request, MASK);
    const int64_t wanted[3] = {s->batch, s->heads, s->q_steps};
    int64_t stride;

    if (!mask)
        return 0;
    /* A device's kernel of half precision adds float32, too. */
    if (!call_dtype(mask->dtype, &s->mask_type) ||
        (s->mask_type != KERNEL_BOOL && s->mask_type != s->dtype &&
         !(s->mask_type == KERNEL_F32 && request->on_device && s->dtype != KERNEL_F64)))
        return call_refuse(request, -ENOTSUP, "no kernel for a mask of %s",
                           dtype_name(mask->dtype));
    if (mask->shape.rank < 1 || mask->shape.rank > 4)
        return call_refuse(request, -EINVAL, "its mask has %d dimensions", mask->shape.rank);
    s->mask_steps = mask->shape.dims[mask->shape.rank - 1];
    if (s->mask_steps > s->past_steps + s->kv_steps)
        return call_refuse(request, -EINVAL, "its mask is longer than its keys");
    stride = s->mask_steps;
    for (int axis = 2, from = mask->shape.rank - 2; from >= 0; axis--, from--) {
        int64_t dim = mask->shape.dims[from];

        if (dim != 1 && dim != wanted[axis])
            return call_refuse(request, -EINVAL, "its mask cannot be broadcast to its scores");
        s->mask_stride[axis] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    return 0;
}

/* How far a query sees to either side; negative: as far as there are keys. */
static void attention_window(const struct node *node, struct kernel_attention *s)
{
    static const char *const names[] = {"left_window_size", "right_window_size"};
    int64_t total = s->past_steps + s->kv_steps + s->q_steps;

    for (int side = 0; side < 2; side++) {
        int64_t size = node_int(node, names[side], -1);

        s->is_limited[side] = size >= 0 && size < total;
        s->reach[side] = size;
    }
}

/* dtype: of what the kernel reads and writes. */
static int attention_shape(const struct call_request *request, enum kernel_dtype dtype,
                           struct kernel_attention *s)
{
    const struct node *node = request->node;
    const struct tensor_view *q = call_input(request, Q), *k = call_input(request, K);
    const struct tensor_view *past = call_input(request, PAST_K);
    int64_t strides[SHAPE_MAX_RANK], steps, mode;
    float scale = node_float(node, "scale", 0.0f);

    s->dtype = dtype;
    s->batch = q->shape.dims[0];
    s->heads = q->shape.rank == 3 ? node_int(node, "q_num_heads", 0) : q->shape.dims[1];
    s->kv_heads = k->shape.rank == 3 ? node_int(node, "kv_num_heads", 0) : k->shape.dims[1];
    s->q = input_heads(request, Q, s->heads, &s->q_steps, &s->channels);
    s->k = input_heads(request, K, s->kv_heads, &s->kv_steps, &steps);
    s->v = input_heads(request, V, s->kv_heads, &steps, &s->v_channels);
    call_output_strides(request, strides);
    s->y = heads_of(&request->outputs[0].shape, strides, s->heads, &steps, &steps);
    s->past_steps = past ? past->shape.dims[2] : 0;
    s->is_causal = node_int(node, "is_causal", 0) != 0;
    s->unseen_is_nan = node_int(node, "unseen_is_nan", 0) != 0; /* of pass_fuse_attention() alone */
    attention_window(node, s);
    s->softcap = (double)node_float(node, "softcap", 0.0f);
    mode = node_int(node, "qk_matmul_output_mode", 0);
    if (mode < SCORES_RAW || mode > SCORES_SOFTMAX)
        return call_refuse(request, -EINVAL, "attribute qk_matmul_output_mode is %lld",
                           (long long)mode);
    s->scores_mode = (enum kernel_scores)mode;
    s->scale = node_attribute(node, "scale") ? (double)scale : 1.0 / sqrt((double)s->channels);
    return attention_mask(request, s);
}

/* Parameters of a call with its sizes, for whatever kernel. */
static int begin_attention(const struct call_request *request, enum kernel_dtype dtype,
                           struct call *call)
{
    struct attention_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    if (!request->node->outputs[0])
        return call_refuse(request, -ENOTSUP, "no kernel without its first output");
    rc = attention_shape(request, dtype, &p->shape);
    if (rc < 0)
        return rc;
    p->inputs = request->node->input_count;
    p->outputs = request->node->output_count;
    p->fn = request->kernels->attention.fn;
    call->version = request->kernels->attention.version;
    call->run = run_attention;
    return 0;
}

static int take_room(struct call *call)
{
    struct attention_params *p = call->params;

    p->inner_offset = call->workspace_bytes;
    call->workspace_bytes += kernel_attention_room(&p->shape);
    return 0;
}

static bool has_operands(const struct call_request *request)
{
    return call_input(request, Q) && call_input(request, K) && call_input(request, V);
}

int call_bind_attention(const struct call_request *request, struct call *call)
{
    enum kernel_dtype dtype;
    int rc;

    if (!has_operands(request) || !call_dtype(request->inputs[Q].dtype, &dtype) ||
        request->inputs[K].dtype != request->inputs[Q].dtype ||
        request->inputs[V].dtype != request->inputs[Q].dtype)
        return call_refuse(request, -ENOTSUP, "no kernel for such types");
    rc = begin_attention(request, dtype, call);
    return rc < 0 ? rc : take_room(call);
}

/* The half precision that it is computed in: of its operands, or where pass_half() says so. */
static enum dtype half_of(const struct call_request *request)
{
    for (uint32_t i = Q; i <= V; i++)
        if (call_is_half(request->inputs[i].dtype))
            return request->inputs[i].dtype;
    if (call_is_half(request->outputs[0].dtype))
        return request->outputs[0].dtype;
    return (enum dtype)node_int(request->node, CALL_COMPUTED_IN, DTYPE_NONE);
}

/* Whether what is past, and what goes there, has the type of keys and values: it is moved as it is. */
static bool has_one_cache_type(const struct call_request *request, enum dtype dtype)
{
    const struct tensor_view *past_k = call_input(request, PAST_K);
    const struct tensor_view *past_v = call_input(request, PAST_V);
    bool keeps = false, fits = true;

    for (uint32_t i = 1; i <= 2 && i < request->node->output_count; i++) {
        keeps = keeps || request->node->outputs[i];
        fits = fits && (!request->node->outputs[i] || request->outputs[i].dtype == dtype);
    }
    fits = fits && (!past_k || past_k->dtype == dtype) && (!past_v || past_v->dtype == dtype);
    return (!keeps && !past_k && !past_v) ||
           (fits && request->inputs[K].dtype == dtype && request->inputs[V].dtype == dtype);
}

static bool has_half_types(const struct call_request *request, enum dtype dtype)
{
    enum dtype y = request->outputs[0].dtype;

    return call_is_half(dtype) && (y == dtype || y == DTYPE_F32) &&
           has_one_cache_type(request, dtype) &&
           (request->node->output_count <= 3 || !request->node->outputs[3]);
}

static int bind_half(const struct call_request *request, enum dtype dtype, struct call *call)
{
    enum { CHANNELS_MAX = 128 };
    const struct tensor_view *y = &request->outputs[0];
    enum kernel_dtype kernel = KERNEL_F32, own = KERNEL_F32;
    struct attention_params *p;
    int rc;

    call_dtype(dtype, &kernel);
    rc = begin_attention(request, kernel, call);
    if (rc < 0)
        return rc;
    p = call->params;
    if (p->shape.channels > CHANNELS_MAX || p->shape.v_channels > CHANNELS_MAX)
        return call_refuse(request, -ENOTSUP, "no kernel of half precision for so many channels");
    for (uint32_t i = Q; rc == 0 && i <= V; i++)
        rc = call_plan_narrowed(request, i, kernel, &p->operands[i], call);
    if (rc < 0)
        return rc;
    call_dtype(y->dtype, &own);
    call_plan_conversion(&p->y, call, y, own, kernel);
    p->convert = request->kernels->chain_half.fn;
    return take_room(call);
}

int call_bind_attention_half(const struct call_request *request, struct call *call)
{
    enum dtype dtype = has_operands(request) ? half_of(request) : DTYPE_NONE;
    int rc;

    if (!has_half_types(request, dtype))
        return call_refuse(request, -ENOTSUP, "no kernel of half precision for such types");
    rc = bind_half(request, dtype, call);
    if (rc < 0) {
        free(call->params);
        *call = (struct call){0};
    }
    return rc;
}

/* RotaryEmbedding */

struct rotary_params {
    rotary_fn *fn;
    bool has_places;
    struct kernel_rotary shape;
};

static int run_rotary(const struct call *call)
{
    const struct rotary_params *p = call->params;

    return p->fn(call->outputs[0], call->inputs[0], call->inputs[1], call->inputs[2],
                 p->has_places ? call->inputs[3] : NULL, &p->shape) < 0
               ? -EINVAL
               : 0;
}

int call_bind_rotary(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    const struct tensor_view *cosines = call_input(request, 1), *sines = call_input(request, 2);
    const struct tensor_view *places = call_input(request, 3);
    struct kernel_rotary *s;
    struct rotary_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    s = &p->shape;
    if (!x || !call_dtype(x->dtype, &s->dtype) || !cosines || !sines ||
        cosines->dtype != x->dtype || sines->dtype != x->dtype)
        return call_refuse(request, -ENOTSUP, "no kernel for such types");
    s->batch = x->shape.dims[0];
    s->heads = x->shape.rank == 3 ? node_int(request->node, "num_heads", 0) : x->shape.dims[1];
    s->x = input_heads(request, 0, s->heads, &s->steps, &s->channels);
    s->rotated = node_int(request->node, "rotary_embedding_dim", 0);
    s->rotated = s->rotated ? s->rotated : s->channels;
    s->is_interleaved = node_int(request->node, "interleaved", 0) != 0;
    p->has_places = places != NULL;
    s->positions = places ? cosines->shape.dims[0] : 0;
    s->is_shared = !places && cosines->shape.rank == 3 && cosines->shape.dims[0] == 1;
    if (s->heads < 1 || s->rotated % 2 != 0 || s->rotated < 0 || s->rotated > s->channels ||
        !shape_equal(&cosines->shape, &sines->shape) ||
        shape_elements(&cosines->shape) !=
            (places ? s->positions : (s->is_shared ? 1 : s->batch) * s->steps) * (s->rotated / 2) ||
        (places &&
         (places->dtype != DTYPE_I64 || shape_elements(&places->shape) != s->batch * s->steps)))
        return call_refuse(request, -EINVAL, "its caches do not fit its input");
    p->fn = request->kernels->rotary.fn;
    call->version = request->kernels->rotary.version;
    call->run = run_rotary;
    return 0;
}
