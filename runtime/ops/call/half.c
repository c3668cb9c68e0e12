/* SPDX-License-Identifier: Apache-2.0 */
/* Operators over tensors that are stored in half precision or bfloat16 and computed in float32:
 * each run widens what it reads into the workspace, computes there, and narrows the result; on a
 * device as well, where its kernels do not take half precision as it is (half_device.c). What must not
 * be stored so, pass_half() leaves as it is. */
#include "runtime/ops/call/call.h"
#include "runtime/ops/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* One input or output of the node. */
struct operand {
    bool is_half;
    bool saturates;  /* as an output */
    bool is_read;    /* by each run; else its content was needed for binding alone */
    size_t count;    /* elements */
    size_t offset;   /* of the float32 form in the workspace */
    float *constant; /* the float32 form of a constant; owned */
    enum kernel_dtype dtype;
};

struct call_half {
    cast_fn *cast;
    narrow_fn *narrow_host;
    chain_half_fn *narrow;  /* on a device, where what is finite stays so by its kernels; or NULL */
    enum kernel_dtype sums; /* what a plan makes output 0 as */
    int residual_input; /* goes to output 0 before the kernel runs, which adds to it; -1: none */
    uint32_t input_count, output_count;
    size_t inner_offset; /* of the workspace that the kernel itself wants */
    const void **inputs;
    void **outputs;
    struct operand operands[]; /* inputs, then outputs */
};

bool call_widens(const struct node *node)
{
    const struct op_row *row = op_row_of(node);

    return row && row->kernels && row->kernels->widens;
}

/* Whether the node's tensors of half precision are computed with in float32. */
static bool is_computed_wide(const struct call_request *request)
{
    const struct op_row *row = op_row_of(request->node);

    return call_widens(request->node) ||
           (row && row->kernels && row->kernels->widens_own && !request->on_device);
}

/* --- Binding. --- */

static struct call_half *half_create(const struct call_request *request)
{
    uint32_t inputs = request->node->input_count, outputs = request->node->output_count;
    struct call_half *half =
        calloc(1, sizeof(*half) + (inputs + outputs + 1) * sizeof(half->operands[0]));

    if (!half)
        return NULL;
    half->cast = request->kernels->cast.fn;
    half->narrow_host = request->kernels->narrow.fn;
    half->narrow = request->on_device ? request->kernels->chain_half.fn : NULL;
    half->input_count = inputs;
    half->output_count = outputs;
    half->inputs = calloc(inputs + 1, sizeof(*half->inputs));
    half->outputs = calloc(outputs + 1, sizeof(*half->outputs));
    if (!half->inputs || !half->outputs)
        call_half_destroy(&half);
    return half;
}

void call_half_destroy(struct call_half **half_ptr)
{
    struct call_half *half = *half_ptr;

    *half_ptr = NULL;
    if (!half)
        return;
    for (uint32_t i = 0; i < half->input_count; i++)
        free(half->operands[i].constant);
    free(half->inputs);
    free(half->outputs);
    free(half);
}

/* The float32 form of a tensor; of a constant with its content, unless only its shape is wanted. */
static int widen_view(struct call_half *half, bool has_content, struct operand *operand,
                      struct tensor_view *view)
{
    operand->is_half = call_is_half(view->dtype);
    operand->is_read = true;
    operand->count = (size_t)shape_elements(&view->shape);
    if (!operand->is_half)
        return 0;
    call_dtype(view->dtype, &operand->dtype);
    view->dtype = DTYPE_F32;
    if (!has_content)
        view->data = NULL;
    if (!view->data)
        return 0;
    operand->constant = graph_alloc_data((size_t)shape_bytes(&view->shape, DTYPE_F32));
    if (!operand->constant)
        return -ENOMEM;
    if (half->narrow) /* what binders look at is the host's, and so is who converts it */
        cast_ref(operand->constant, KERNEL_F32, view->data, operand->dtype, operand->count);
    else
        half->cast(operand->constant, KERNEL_F32, view->data, operand->dtype, operand->count);
    view->data = operand->constant;
    return 0;
}

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Whether runs read the float32 form that was made of a constant: a device has one of its own. */
static bool is_at_hand(const struct call_half *half, const struct operand *operand)
{
    return operand->constant && !half->narrow;
}

/* Where the float32 forms lie. A kernel that has its weights reads input 0 only. */
static void place(struct call_half *half, struct call *call, const struct node *node)
{
    size_t at = 0, bytes;
    bool is_prepared = call_weights(call, &bytes) != NULL;
    struct kernel_plan_types types = call_plan_types(call);

    half->sums = types.y;
    half->residual_input = is_prepared ? node->fused.residual_input : -1;
    for (uint32_t i = 0; i < half->input_count + half->output_count; i++) {
        struct operand *operand = &half->operands[i];

        if (is_prepared && i > 0 && i < half->input_count) {
            operand->is_read = false;
            free(operand->constant);
            operand->constant = NULL;
        }
        if ((i == 0 && types.x != KERNEL_F32) || (i == half->input_count && types.y != KERNEL_F32))
            operand->is_half = false; /* as it is */
        if (!operand->is_half || !operand->is_read || is_at_hand(half, operand))
            continue;
        operand->offset = at;
        at += round_up(operand->count * sizeof(float));
    }
    half->inner_offset = at;
    call->workspace_bytes += at;
    if (call->workspace_bytes == 0) /* tensors without elements have an address, too */
        call->workspace_bytes = round_up(1);
    call->half = half;
}

static int bind_widened(const struct call_request *request, call_bind_any_fn *bind,
                        struct call_half *half, struct call *out_call)
{
    uint32_t inputs = request->node->input_count, outputs = request->node->output_count;
    bool is_plan = bind == call_bind_conv_plan || bind == call_bind_gemm_plan;
    struct tensor_view *views = calloc(inputs + outputs + 1, sizeof(*views));
    struct call_request widened = *request;
    int rc = views ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < inputs + outputs; i++) {
        views[i] = i < inputs ? request->inputs[i] : request->outputs[i - inputs];
        if (i >= inputs)
            views[i].data = NULL; /* what is there is no content yet */
        rc = widen_view(half, !is_plan || i != 1, &half->operands[i], &views[i]);
        if (i >= inputs && request->node->outputs[i - inputs])
            half->operands[i].saturates = request->node->outputs[i - inputs]->is_narrowed;
    }
    if (rc < 0) {
        free(views);
        return call_refuse(request, rc, "out of memory");
    }
    widened.inputs = views;
    widened.outputs = views + inputs;
    widened.stored_inputs = request->inputs;
    widened.stored_outputs = request->outputs;
    rc = bind(&widened, out_call);
    free(views);
    return rc;
}

int call_bind_any(const struct call_request *request, call_bind_any_fn *bind, struct call *out_call)
{
    const struct op_row *row = op_row_of(request->node);
    struct call_half *half;
    int rc;

    if (!is_computed_wide(request) || !call_has_half(request))
        return bind(request, out_call);
    if (call_half_binder(request, row->kernels->bind)) {
        rc = bind(request, out_call);
        if (rc == 0 || rc == -ENOMEM)
            return rc;
    }
    half = half_create(request);
    if (!half)
        return call_refuse(request, -ENOMEM, "out of memory");
    rc = bind_widened(request, bind, half, out_call);
    if (rc == 0)
        place(half, out_call, request->node);
    else
        call_half_destroy(&half);
    return rc;
}

/* --- Running. --- */

static void narrow(const struct call_half *half, const struct operand *operand, void *y, float *x)
{
    struct kernel_chain_half shape = {.chain = {.rank = 1, .inputs = 1},
                                      .y_type = operand->dtype,
                                      .saturates = operand->saturates};
    const void *input = x;

    if (half->narrow) {
        shape.chain.dims[0] = (int64_t)operand->count;
        shape.chain.strides[0][0] = 1;
        half->narrow(y, &input, &shape);
        return;
    }
    /* Finite numbers stay so: infinity minus infinity behind this would be of the storage's making. */
    if (operand->saturates)
        half->narrow_host(y, operand->dtype, x, operand->count);
    else
        half->cast(y, operand->dtype, x, KERNEL_F32, operand->count);
}

/* The residual to where the kernel makes output 0, which may be where it is. */
static void take_residual(const struct call_half *half, const struct call *call)
{
    const struct operand *y = &half->operands[half->input_count];
    uint32_t at = (uint32_t)half->residual_input;
    const struct operand *residual = &half->operands[at];
    enum kernel_dtype from = residual->is_half ? residual->dtype : KERNEL_F32;

    if (from != half->sums)
        half->cast(half->outputs[0], half->sums, call->inputs[at], from, residual->count);
    else if (half->outputs[0] != call->inputs[at])
        memcpy(half->outputs[0], call->inputs[at], y->count * kernel_dtype_bytes(from));
}

int call_run_half(const struct call *call)
{
    struct call_half *half = call->half;
    char *workspace = call->workspace;
    struct call inner = *call;
    int rc;

    for (uint32_t i = 0; i < half->input_count; i++) {
        const struct operand *operand = &half->operands[i];
        float *wide = (float *)(void *)(workspace + operand->offset);

        half->inputs[i] = is_at_hand(half, operand) ? operand->constant : call->inputs[i];
        if (!operand->is_half || !operand->is_read || is_at_hand(half, operand))
            continue;
        half->cast(wide, KERNEL_F32, call->inputs[i], operand->dtype, operand->count);
        half->inputs[i] = wide;
    }
    for (uint32_t i = 0; i < half->output_count; i++) {
        const struct operand *operand = &half->operands[half->input_count + i];

        half->outputs[i] =
            operand->is_half && call->outputs[i] ? workspace + operand->offset : call->outputs[i];
    }
    if (half->residual_input >= 0)
        take_residual(half, call);
    inner.half = NULL;
    inner.inputs = half->inputs;
    inner.outputs = half->outputs;
    inner.workspace = workspace + half->inner_offset;
    rc = call_run(&inner);
    for (uint32_t i = 0; rc == 0 && i < half->output_count; i++) {
        const struct operand *operand = &half->operands[half->input_count + i];

        if (operand->is_half && call->outputs[i])
            narrow(half, operand, call->outputs[i], half->outputs[i]);
    }
    return rc;
}
