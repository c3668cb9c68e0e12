/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: the walk over the graph. The rules are in the other files of this folder. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/extern_library.h"
#include "runtime/ops/shape/infer.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/ops/table.h"

static int refuse_op(const struct graph *graph, const struct node *node, struct diag *diag)
{
    return diag_set(diag, -ENOTSUP,
                    "operator %s%s%s (opset %" PRId64 ") of node \"%s\" is not supported",
                    node->domain, node->domain[0] != '\0' ? "." : "", node->op_type,
                    graph_opset(graph, node->domain), node->name);
}

static int check_arity(struct infer *infer, const struct op_row *op)
{
    const struct node *node = infer->node;
    uint32_t inputs = node->input_count - node->captured_count;
    bool may_lack = strcmp(op->type, "Loop") == 0; /* its count and condition */

    if (inputs < op->inputs_min || inputs > op->inputs_max)
        return infer_fail(infer, "it has %u inputs, which the operator does not allow", inputs);
    for (uint32_t i = 0; i < op->inputs_min && !may_lack; i++) {
        if (!node->inputs[i])
            return infer_fail(infer, "input %u is required and left out", i);
    }
    if (node->output_count > op->outputs_max || (!node->outputs[0] && op->outputs_max == 1))
        return infer_fail(infer, "it has %u outputs, which the operator does not allow",
                          node->output_count);
    return 0;
}

static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (; *list != '\0'; list += strcspn(list, " "), list += *list == ' ') {
        if (strncmp(list, word, length) == 0 && (list[length] == ' ' || list[length] == '\0'))
            return true;
    }
    return false;
}

/* An attribute that no rule here knows may change what the operator means. */
static int check_attributes(struct infer *infer, const struct op_row *op)
{
    for (uint32_t i = 0; i < infer->node->attribute_count; i++) {
        const char *name = infer->node->attributes[i].name;

        if (!is_listed(op->attributes, name))
            return infer_unsupported(infer, "attribute '%.60s' is not known", name);
    }
    return 0;
}

/* Also refuses inputs whose shape an earlier node could not give. */
static int check_inputs(struct infer *infer)
{
    for (uint32_t i = 0; i < infer->node->input_count; i++) {
        const struct value *value = infer->node->inputs[i];

        if (value && (value->dtype == DTYPE_NONE || !shape_is_known(&value->shape)))
            return infer_unsupported(infer, "the shape of input '%s' is not known before the run",
                                     value->name);
    }
    return 0;
}

static bool inputs_are_known(const struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        if (value && !value->data && !value->known)
            return false;
    }
    return true;
}

static bool outputs_are_known(const struct node *node)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] && !node->outputs[i]->known)
            return false;
    }
    return true;
}

/* Computes outputs that are small and depend on nothing unknown. A node that cannot be computed
 * only matters when a shape needs it, and is refused there. */
static int remember(struct infer *infer)
{
    const struct node *node = infer->node;
    struct diag ignored = {0};

    for (uint32_t i = 0; i < node->output_count; i++) {
        const struct value *value = node->outputs[i];
        int64_t elements = !value ? 0 : shape_elements(&value->shape);

        if (elements < 0 || elements > KNOWN_ELEMENTS_MAX)
            return 0;
    }
    if ((!inputs_are_known(node) && strcmp(node->op_type, "Shape") != 0 &&
         strcmp(node->op_type, "Size") != 0) ||
        outputs_are_known(node))
        return 0;
    return infer_compute(infer, node, &ignored) == -ENOMEM ? -ENOMEM : 0;
}

/* What a graph output declares, to be compared with what comes out. */
struct declared {
    enum dtype dtype;
    struct shape shape;
};

/* What exporters write of shapes is not always true: it is told, once, and what comes out is taken. */
static int note_shape(struct graph *graph, const struct value *value, const struct shape *declared)
{
    char want[SHAPE_TEXT_BYTES], got[SHAPE_TEXT_BYTES];
    struct diag text = {0};

    if (graph->notice)
        return 0;
    diag_set(&text, 0, "output '%s' is declared with shape %s, but has %s", value->name,
             shape_text(declared, want), shape_text(&value->shape, got));
    graph->notice = strdup(text.text);
    return graph->notice ? 0 : -ENOMEM;
}

static int check_declared(struct graph *graph, const struct value *value,
                          const struct declared *declared, struct diag *diag)
{
    bool same = declared->shape.rank < 0 || declared->shape.rank == value->shape.rank;

    if (declared->dtype != DTYPE_NONE && declared->dtype != value->dtype)
        return diag_set(diag, -EINVAL, "output '%s' is declared as %s, but is computed as %s",
                        value->name, dtype_name(declared->dtype), dtype_name(value->dtype));
    for (int i = 0; same && i < declared->shape.rank; i++)
        same = declared->shape.dims[i] < 0 || declared->shape.dims[i] == value->shape.dims[i];
    return same ? 0 : note_shape(graph, value, &declared->shape);
}

static int infer_node(struct infer *infer)
{
    char type[NODE_TYPE_BYTES];
    const struct op_row *op = op_row_find(node_full_type(infer->node, type));
    int rc;

    if (extern_op_is(infer->node)) {
        rc = check_inputs(infer);
        return rc == 0 ? shape_extern_op(infer) : rc;
    }
    if (!op || (infer->opset < op->since && !infer->node->is_lowered))
        return refuse_op(infer->graph, infer->node, infer->diag);
    rc = check_arity(infer, op);
    if (rc == 0)
        rc = check_attributes(infer, op);
    if (rc == 0)
        rc = check_inputs(infer);
    return rc == 0 ? op->infer(infer) : rc;
}

static int infer_all(struct infer *infer)
{
    const struct graph *graph = infer->graph;
    int rc = 0;

    for (uint32_t i = 0; i < graph->node_count && rc == 0; i++) {
        infer->node = graph->nodes[i];
        rc = infer_node(infer);
        if (rc == 0)
            rc = remember(infer);
    }
    return rc;
}

int shape_infer_node(const struct graph *graph, const struct node *node, eval_fn *eval,
                     uint64_t *out_asked, struct diag *diag)
{
    struct infer infer = {
        .graph = graph, .node = node, .opset = graph_opset(graph, ""), .eval = eval, .diag = diag};

    int rc = infer_node(&infer);

    *out_asked = extern_op_is(node) ? UINT64_MAX : infer.asked_inputs;
    return rc;
}

void shape_feed_body(struct graph *body, const struct tensor_view *inputs)
{
    for (uint32_t i = 0; i < body->input_count; i++) {
        body->inputs[i]->dtype = inputs[i].dtype;
        body->inputs[i]->shape = inputs[i].shape;
        body->inputs[i]->known = inputs[i].data; /* borrowed: shape_forget_body() lets it go */
    }
}

int shape_infer_body(struct graph *body, const struct tensor_view *inputs, eval_fn *eval,
                     bool *out_asked, struct diag *diag)
{
    struct infer infer = {
        .graph = body, .opset = graph_opset(body, ""), .eval = eval, .diag = diag};

    int rc;

    shape_feed_body(body, inputs);
    rc = infer_all(&infer);
    *out_asked = infer.asked_inputs != 0;
    return rc;
}

void shape_forget_body(struct graph *body)
{
    for (uint32_t i = 0; i < body->value_count; i++) {
        struct value *value = body->values[i];

        if (!value->is_input && !value->known_is_lent)
            free(value->known);
        value->known = NULL;
        value->known_is_lent = false;
    }
}

int shape_infer(struct graph *graph, eval_fn *eval, struct diag *diag)
{
    return shape_infer_for(graph, NULL, eval, diag);
}

int shape_infer_for(struct graph *graph, const struct tensor_view *contents, eval_fn *eval,
                    struct diag *diag)
{
    return shape_infer_from(graph, &(struct shape_sources){.contents = contents, .eval = eval},
                            diag);
}

int shape_infer_from(struct graph *graph, const struct shape_sources *sources, struct diag *diag)
{
    struct infer infer = {.graph = graph,
                          .opset = graph_opset(graph, ""),
                          .contents = sources->contents,
                          .eval = sources->eval,
                          .sources = sources,
                          .asked = calloc(graph->value_count + 1, sizeof(*infer.asked)),
                          .done = calloc(graph->node_count + 1, sizeof(*infer.done)),
                          .diag = diag};
    struct declared *declared = calloc(graph->output_count + 1, sizeof(*declared));
    int rc = -ENOMEM;

    if (!infer.asked || !infer.done || !declared)
        goto out;
    for (uint32_t i = 0; i < graph->output_count; i++)
        declared[i] = (struct declared){graph->outputs[i]->dtype, graph->outputs[i]->shape};
    rc = infer_all(&infer);
    for (uint32_t i = 0; i < graph->output_count && rc == 0; i++)
        rc = check_declared(graph, graph->outputs[i], &declared[i], diag);
out:
    if (infer.asked) {
        infer_mark_deciding(&infer);
        infer_forget(&infer);
    }
    free(infer.asked);
    free(infer.done);
    free(declared);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for shape inference") : rc;
}
