/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one place, as behind a global pool, by weights that are so many that to read them is what it costs:
 * a product of one row by a matrix reads them faster. */
#include <errno.h>
#include <string.h>

#include "runtime/passes/pass.h"

#define WEIGHTS_MIN ((int64_t)1 << 20)

static bool has_pads(const struct node *node)
{
    size_t count;
    const int64_t *pads = node_ints(node, "pads", &count);

    for (size_t i = 0; i < count; i++)
        if (pads[i] != 0)
            return true;
    return false;
}

/* The window is as large as the image, and stands at one place. */
static bool covers_image(const struct node *node)
{
    const struct shape *x = &node->inputs[0]->shape, *w = &node->inputs[1]->shape;

    for (int i = 2; i < w->rank; i++)
        if (x->dims[i] != w->dims[i] || node->outputs[0]->shape.dims[i] != 1)
            return false;
    return !has_pads(node) && strcmp(node_string(node, "auto_pad", "NOTSET"), "NOTSET") == 0;
}

/* Nobody else may read the weights, whose shape changes. */
static bool is_at_one_place(const struct node *node)
{
    const struct value *x = node_input(node, 0), *w = node_input(node, 1);
    const struct value *bias = node_input(node, 2);

    return strcmp(node->op_type, "Conv") == 0 && node->domain[0] == '\0' && x && w && w->data &&
           node_output(node, 0) && x->dtype == DTYPE_F32 && w->dtype == DTYPE_F32 &&
           w->consumer_count == 1 && !w->is_output && w->shape.rank > 2 &&
           x->shape.rank == w->shape.rank && x->shape.dims[0] == 1 &&
           node_int(node, "group", 1) == 1 && shape_elements(&w->shape) >= WEIGHTS_MIN &&
           (!bias || (bias->data && bias->dtype == DTYPE_F32)) &&
           node->fused.activation == ACTIVATION_NONE && node->fused.residual_input < 0 &&
           covers_image(node);
}

static struct value *reshape(struct graph *graph, const struct node *conv, struct value *x,
                             const struct shape *shape, bool is_last)
{
    struct shape list = {.rank = 1, .dims = {shape->rank}};
    struct value *inputs[] = {x, graph_add_value(graph, NULL, DTYPE_I64, &list, NULL)};
    struct value *y = graph_add_value(graph, NULL, DTYPE_F32, shape, NULL);
    void *dims = graph_alloc_data((size_t)shape->rank * sizeof(*shape->dims));
    struct node *node;

    if (!inputs[1] || !y || !dims)
        return NULL;
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof(*shape->dims));
    value_set_data(inputs[1], dims);
    node = graph_add_node(graph, "Reshape", "", conv->name, inputs, 2, &y, 1);
    if (node && is_last)
        node_take_output(node, 0, conv->outputs[0]);
    return node ? node->outputs[0] : NULL;
}

static int multiply(struct graph *graph, struct node *conv)
{
    struct value *w = conv->inputs[1];
    int64_t filters = w->shape.dims[0], depth = shape_elements(&w->shape) / filters;
    struct shape rows = {.rank = 2, .dims = {1, depth}}, row = {.rank = 2, .dims = {1, filters}};
    struct value *inputs[] = {reshape(graph, conv, conv->inputs[0], &rows, false), w,
                              node_input(conv, 2)};
    struct value *product = graph_add_value(graph, NULL, DTYPE_F32, &row, NULL);
    struct node *gemm;

    if (!inputs[0] || !product)
        return -ENOMEM;
    w->shape = (struct shape){.rank = 2, .dims = {filters, depth}};
    gemm = graph_add_node(graph, "Gemm", "", conv->name, inputs, inputs[2] ? 3 : 2, &product, 1);
    if (!gemm || node_set_int(gemm, "transB", 1) < 0 || node_add_origins(gemm, conv) < 0 ||
        !reshape(graph, conv, product, &conv->outputs[0]->shape, true))
        return -ENOMEM;
    return 1;
}

int pass_multiply_places(struct graph *graph, struct diag *diag)
{
    uint32_t count = graph->node_count;
    int changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        int rc = is_at_one_place(graph->nodes[i]) ? multiply(graph, graph->nodes[i]) : 0;

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
