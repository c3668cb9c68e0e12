/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tuning: what the reference makes of made-up inputs.
 *
 * Plain loops over the convolutions of one image may take as long as timing all of their kernels.
 * So of an operator with much work they compute some filters, samples or rows only; what kernels
 * make of the others is held against each other, see compare.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/eval.h"
#include "runtime/tune/private.h"

/* The reference computes so many products as a whole, in a few milliseconds. */
static const double whole_products = 4e6;

/* What an operand is cut along, for each of the truth's cuts; -1: not at all. */
enum role { CONV, TRANSPOSED, PRODUCT };

static enum role role_of(const struct node *node)
{
    return strcmp(node->op_type, "Conv") == 0            ? CONV
           : strcmp(node->op_type, "ConvTranspose") == 0 ? TRANSPOSED
                                                         : PRODUCT;
}

/* Filters, then samples. */
static int axis_of_conv(const struct node *node, int cut, uint32_t input)
{
    bool is_image = input == 0 || (int)input == node->fused.residual_input;

    if (cut == 1)
        return is_image ? 0 : -1;
    if (input == 0)
        return -1;
    if (input == 1)
        return role_of(node) == TRANSPOSED ? 1 : 0;
    return is_image ? 1 : 0;
}

/* Rows. */
static int axis_of_product(const struct subject *subject, uint32_t input)
{
    const struct shape *shape = &subject->inputs[input].shape, *y = &subject->outputs[0].shape;
    const struct node *node = subject->request.node;

    if (input == 1 || shape->rank < 2)
        return -1;
    if (input == 0)
        return node_int(node, "transA", 0) != 0 ? 1 : shape->rank - 2;
    return shape->dims[shape->rank - 2] == y->dims[y->rank - 2] ? shape->rank - 2 : -1;
}

static int axis_of_input(const struct subject *subject, int cut, uint32_t input)
{
    return role_of(subject->request.node) == PRODUCT
               ? axis_of_product(subject, input)
               : axis_of_conv(subject->request.node, cut, input);
}

/* The first and the last, and as many between them. */
static void pick(struct tune_cut *out_cut, int axis, int64_t size, double wanted)
{
    int64_t count = wanted < 2 ? 2 : wanted > TUNE_PICKS_MAX ? TUNE_PICKS_MAX : (int64_t)wanted;

    *out_cut = (struct tune_cut){.axis = axis, .count = (int)(count < size ? count : size)};
    for (int i = 0; i < out_cut->count; i++)
        out_cut->picks[i] = out_cut->count == 1 ? 0 : i * (size - 1) / (out_cut->count - 1);
}

static double elements_of(const struct tensor_view *view)
{
    return (double)shape_elements(&view->shape);
}

static void cut_conv(struct tune_truth *truth, const struct subject *subject)
{
    const struct node *node = subject->request.node;
    const struct shape *y = &subject->outputs[0].shape;
    bool is_transposed = role_of(node) == TRANSPOSED;
    const struct tensor_view *w = &subject->inputs[1];
    double products = is_transposed ? elements_of(&subject->inputs[0]) * elements_of(w) /
                                          (double)subject->inputs[0].shape.dims[1]
                                    : elements_of(&subject->outputs[0]) * elements_of(w) /
                                          (double)w->shape.dims[0];
    int64_t samples = y->dims[0] < 2 ? y->dims[0] : 2;

    if (products <= whole_products || node_int(node, "group", 1) != 1 || y->dims[1] < 2)
        return;
    pick(&truth->cuts[0], 1, y->dims[1],
         whole_products / (products / (double)(y->dims[0] * y->dims[1]) * (double)samples));
    pick(&truth->cuts[1], 0, y->dims[0], 2);
    truth->cut_count = 2;
}

static void cut_product(struct tune_truth *truth, const struct subject *subject)
{
    const struct shape *a = &subject->inputs[0].shape, *y = &subject->outputs[0].shape;
    int depth = node_int(subject->request.node, "transA", 0) != 0 ? 0 : a->rank - 1;
    double products;

    if (a->rank != y->rank || y->rank < 2 || subject->inputs[1].shape.rank < 2)
        return;
    products = elements_of(&subject->outputs[0]) * (double)a->dims[depth];
    if (products <= whole_products || y->dims[y->rank - 2] < 2)
        return;
    pick(&truth->cuts[0], y->rank - 2, y->dims[y->rank - 2],
         whole_products / (products / (double)y->dims[y->rank - 2]));
    truth->cut_count = 1;
}

static void cut(struct tune_truth *truth)
{
    const struct node *node = truth->subject.request.node;

    if (node->domain[0] != '\0' || shape_elements(&truth->subject.outputs[0].shape) <= 0)
        return;
    if (strcmp(node->op_type, "Conv") == 0 || strcmp(node->op_type, "ConvTranspose") == 0)
        cut_conv(truth, &truth->subject);
    else if (strcmp(node->op_type, "MatMul") == 0 || strcmp(node->op_type, "Gemm") == 0)
        cut_product(truth, &truth->subject);
}

/* Copying parts */

/* out  with its shape; row-major. by_axis: the cut of each axis, or NULL */
static void take(const struct tensor_view *from, const struct layout *layout,
                 const struct tune_cut *const *by_axis, const struct tensor_view *out)
{
    size_t bytes = dtype_bytes(from->dtype);
    int64_t strides[SHAPE_MAX_RANK], at[SHAPE_MAX_RANK] = {0};
    int64_t count = shape_elements(&out->shape);
    int rank = out->shape.rank;

    layout_strides(layout, &from->shape, strides);
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = 0;

        for (int k = 0; k < rank; k++)
            offset += strides[k] * (by_axis[k] ? by_axis[k]->picks[at[k]] : at[k]);
        memcpy((char *)out->data + (size_t)i * bytes,
               (const char *)from->data + (size_t)offset * bytes, bytes);
        for (int k = rank - 1; k >= 0 && ++at[k] == out->shape.dims[k]; k--)
            at[k] = 0;
    }
}

static int take_input(const struct tune_truth *truth, uint32_t input, struct tensor_view *out_view)
{
    const struct tensor_view *whole = &truth->inputs[input];
    const struct tune_cut *by_axis[SHAPE_MAX_RANK] = {NULL};
    struct layout layout = layout_row_major(whole->shape.rank);

    *out_view = *whole;
    out_view->data = NULL;
    for (int i = 0; i < truth->cut_count; i++) {
        int axis = axis_of_input(&truth->subject, i, input);

        if (axis < 0)
            continue;
        by_axis[axis] = &truth->cuts[i];
        out_view->shape.dims[axis] = truth->cuts[i].count;
    }
    out_view->data = graph_alloc_data((size_t)shape_bytes(&out_view->shape, out_view->dtype));
    if (!out_view->data)
        return -ENOMEM;
    take(whole, &layout, by_axis, out_view);
    return 0;
}

static int take_output(const struct tune_truth *truth, const void *output,
                       struct tensor_view *out_view)
{
    struct tensor_view whole = truth->subject.outputs[0];
    const struct tune_cut *by_axis[SHAPE_MAX_RANK] = {NULL};

    whole.data = (void *)output;
    *out_view = truth->expected[0];
    out_view->data = graph_alloc_data((size_t)shape_bytes(&out_view->shape, out_view->dtype));
    if (!out_view->data)
        return -ENOMEM;
    for (int i = 0; i < truth->cut_count; i++)
        by_axis[truth->cuts[i].axis] = &truth->cuts[i];
    take(&whole, &truth->subject.output_layouts[0], by_axis, out_view);
    return 0;
}

void *tune_move(const struct tensor_view *tensor, const struct layout *from,
                const struct layout *to)
{
    void *moved = graph_alloc_data((size_t)shape_bytes(&tensor->shape, tensor->dtype));
    const void *inputs[] = {tensor->data};
    void *outputs[] = {moved};
    struct kernel_table kernels;
    struct call call = {0};

    kernel_table_init(&kernels, KERNEL_LEVEL_REF);
    if (moved && call_bind_reorder(&kernels, tensor, from, to, &call) == 0) {
        call.inputs = inputs;
        call.outputs = outputs;
        call_run(&call);
        call_deinit(&call);
        return moved;
    }
    free(moved);
    return NULL;
}

/* Inputs */

static int make_input(struct tune_truth *truth, uint32_t i, uint32_t seed)
{
    struct tensor_view *view = &truth->inputs[i];
    const struct layout *layout = &truth->subject.input_layouts[i];
    struct layout plain = layout_row_major(view->shape.rank);

    if (view->dtype == DTYPE_NONE)
        return 0;
    if (!view->data) {
        size_t bytes = (size_t)shape_bytes(&view->shape, view->dtype);

        truth->own[i] = view->data = graph_alloc_data(bytes);
        if (!view->data)
            return -ENOMEM;
        tune_fill(view->data, bytes, view->dtype, seed);
    }
    truth->laid[i] = view->data;
    if (layout_same(layout, &plain, &view->shape))
        return 0;
    truth->moved[i] = tune_move(view, &plain, layout);
    truth->laid[i] = truth->moved[i];
    return truth->laid[i] ? 0 : -ENOMEM;
}

static int make_inputs(struct tune_truth *truth)
{
    const struct node *node = truth->subject.request.node;
    size_t count = (size_t)node->input_count + 1;
    int rc = 0;

    truth->inputs = calloc(count, sizeof(*truth->inputs));
    truth->own = calloc(count, sizeof(*truth->own));
    truth->moved = calloc(count, sizeof(*truth->moved));
    truth->laid = calloc(count, sizeof(*truth->laid));
    if (!truth->inputs || !truth->own || !truth->moved || !truth->laid)
        return -ENOMEM;
    memcpy(truth->inputs, truth->subject.inputs, node->input_count * sizeof(*truth->inputs));
    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++)
        rc = make_input(truth, i, i + 1);
    return rc;
}

/* Outputs */

static int make_room(struct tune_truth *truth)
{
    const struct subject *subject = &truth->subject;
    const struct node *node = subject->request.node;

    truth->expected = calloc((size_t)node->output_count + 1, sizeof(*truth->expected));
    truth->tolerances = calloc((size_t)node->output_count + 1, sizeof(*truth->tolerances));
    if (!truth->expected || !truth->tolerances)
        return -ENOMEM;
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct tensor_view *view = &truth->expected[i];

        *view = subject->outputs[i];
        view->data = NULL;
        if (view->dtype == DTYPE_NONE)
            continue;
        for (int k = 0; i == 0 && k < truth->cut_count; k++)
            view->shape.dims[truth->cuts[k].axis] = truth->cuts[k].count;
        view->data = graph_alloc_data((size_t)shape_bytes(&view->shape, view->dtype));
        if (!view->data)
            return -ENOMEM;
    }
    return 0;
}

static int compute(struct tune_truth *truth)
{
    const struct call_request *request = &truth->subject.request;
    const struct node *node = request->node;
    struct tensor_view *parts = calloc((size_t)node->input_count + 1, sizeof(*parts));
    int rc = parts ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && truth->cut_count > 0 && i < node->input_count; i++)
        if (truth->inputs[i].dtype != DTYPE_NONE)
            rc = take_input(truth, i, &parts[i]);
        else
            parts[i] = truth->inputs[i];
    if (rc == 0)
        rc = eval_node(request->graph, node, truth->cut_count > 0 ? parts : truth->inputs,
                       truth->expected, request->diag);
    for (uint32_t i = 0; parts && i < node->input_count; i++)
        free(parts[i].data);
    free(parts);
    return rc;
}

/* Tolerances, and the results as kernels lay them out. */
static int finish(struct tune_truth *truth)
{
    const struct subject *subject = &truth->subject;
    const struct node *node = subject->request.node;

    for (uint32_t i = 0; i < node->output_count; i++) {
        struct tensor_view *view = &truth->expected[i];
        const struct layout *layout = &subject->output_layouts[i];
        struct layout plain = layout_row_major(view->shape.rank);
        void *moved;

        if (!view->data)
            continue;
        truth->tolerances[i] = compare_tolerance(view, -1, -1);
        if (truth->cut_count > 0 || layout_same(layout, &plain, &view->shape))
            continue;
        moved = tune_move(view, &plain, layout);
        if (!moved)
            return -ENOMEM;
        free(view->data);
        view->data = moved;
    }
    return 0;
}

int tune_truth_run(const struct tune_truth *truth, struct call *call, void *const *outputs)
{
    const struct subject *subject = &truth->subject;
    const struct node *node = subject->request.node;
    int residual = node->fused.residual_input;
    void *workspace = call->workspace_bytes > 0 ? graph_alloc_data(call->workspace_bytes) : NULL;
    int rc;

    if (call->workspace_bytes > 0 && !workspace)
        return -ENOMEM;
    for (uint32_t i = 0; i < node->output_count; i++) {
        size_t bytes =
            outputs[i] ? (size_t)shape_bytes(&subject->outputs[i].shape, subject->outputs[i].dtype)
                       : 0;

        /* Large, or no number at all: what is not written is seen. */
        if (bytes > 0)
            memset(outputs[i], 0x7e, bytes);
        /* A call that converts puts it there itself: it may be of another type. */
        if (bytes > 0 && i == 0 && subject->is_plan && residual >= 0 && !call->half)
            memcpy(outputs[0], truth->laid[residual], bytes);
    }
    call->inputs = truth->laid;
    call->outputs = outputs;
    call->workspace = workspace;
    rc = call_run(call);
    call->workspace = NULL;
    free(workspace);
    return rc;
}

int tune_truth_agrees(const struct tune_truth *truth, void *const *outputs)
{
    const struct node *node = truth->subject.request.node;
    struct tensor_view got;
    bool agrees = true;

    for (uint32_t i = 0; agrees && i < node->output_count; i++) {
        const struct tensor_view *expected = &truth->expected[i];

        if (!expected->data || !call_is_read(node, i))
            continue;
        got = *expected;
        got.data = outputs[i];
        if (truth->cut_count > 0 && take_output(truth, outputs[i], &got) < 0)
            return -ENOMEM;
        agrees = compare_agree(&got, expected, &truth->tolerances[i]);
        if (truth->cut_count > 0)
            free(got.data);
    }
    return agrees;
}

void **tune_truth_outputs(const struct tune_truth *truth)
{
    const struct subject *subject = &truth->subject;
    uint32_t count = subject->request.node->output_count;
    void **outputs = calloc((size_t)count + 1, sizeof(*outputs));
    bool is_whole = outputs != NULL;

    for (uint32_t i = 0; is_whole && i < count; i++) {
        if (subject->outputs[i].dtype == DTYPE_NONE)
            continue;
        outputs[i] = graph_alloc_data(
            (size_t)shape_bytes(&subject->outputs[i].shape, subject->outputs[i].dtype));
        is_whole = outputs[i] != NULL;
    }
    if (!is_whole)
        tune_truth_free_outputs(truth, &outputs);
    return outputs;
}

void tune_truth_free_outputs(const struct tune_truth *truth, void ***outputs)
{
    for (uint32_t i = 0; *outputs && i < truth->subject.request.node->output_count; i++)
        free((*outputs)[i]);
    free(*outputs);
    *outputs = NULL;
}

int tune_truth_init(struct tune_truth *truth, const struct tune_job *job, const struct tune_op *op,
                    bool is_whole, struct diag *diag)
{
    int rc;

    *truth = (struct tune_truth){0};
    rc = subject_init(&truth->subject, job, &job->steps[op->first_step], job->batch, diag);
    return rc == 0 ? tune_truth_compute(truth, is_whole) : rc;
}

int tune_truth_compute(struct tune_truth *truth, bool is_whole)
{
    int rc;

    if (!is_whole)
        cut(truth);
    rc = make_inputs(truth);
    if (rc == 0)
        rc = make_room(truth);
    if (rc == 0)
        rc = compute(truth);
    return rc == 0 ? finish(truth) : rc;
}

void tune_truth_deinit(struct tune_truth *truth)
{
    const struct node *node = truth->subject.request.node;

    for (uint32_t i = 0; node && i < node->input_count; i++) {
        free(truth->own ? truth->own[i] : NULL);
        free(truth->moved ? truth->moved[i] : NULL);
    }
    for (uint32_t i = 0; truth->expected && i < node->output_count; i++)
        free(truth->expected[i].data);
    free(truth->inputs);
    free(truth->own);
    free(truth->moved);
    free((void *)truth->laid);
    free(truth->expected);
    free(truth->tolerances);
    if (!truth->borrows_subject)
        subject_deinit(&truth->subject);
    *truth = (struct tune_truth){0};
}
