/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: the walk over the graph. The rules are in the other files of this folder. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/shape/infer.h"
#include "runtime/shape/shape.h"

/* Integer tensors up to this size are computed when later shapes may depend on them. */
enum { KNOWN_ELEMENTS_MAX = 1024 };

static int compare_op(const void *key, const void *entry)
{
    return strcmp(key, ((const struct shape_op *)entry)->op_type);
}

static const struct shape_op *find_op(const char *op_type)
{
    return bsearch(op_type, shape_ops, shape_op_count, sizeof(shape_ops[0]), compare_op);
}

bool shape_is_supported(const char *op_type, int64_t opset)
{
    const struct shape_op *op = find_op(op_type);

    return op != NULL && opset >= op->since;
}

static int refuse_op(const struct graph *graph, const struct node *node, struct diag *diag)
{
    return diag_set(diag, -ENOTSUP,
                    "operator %s%s%s (opset %" PRId64 ") of node \"%s\" is not supported",
                    node->domain, node->domain[0] != '\0' ? "." : "", node->op_type,
                    graph_opset(graph, node->domain), node->name);
}

static int check_arity(struct infer *infer, const struct shape_op *op)
{
    const struct node *node = infer->node;

    if (node->input_count < op->inputs_min || node->input_count > op->inputs_max)
        return infer_fail(infer, "it has %u inputs, which the operator does not allow",
                          node->input_count);
    for (uint32_t i = 0; i < op->inputs_min; i++) {
        if (node->inputs[i] == NULL)
            return infer_fail(infer, "input %u is required and left out", i);
    }
    if (node->output_count > op->outputs_max || node->outputs[0] == NULL)
        return infer_fail(infer, "it has %u outputs, which the operator does not allow",
                          node->output_count);
    return 0;
}

/* Also refuses inputs whose shape an earlier node could not give. */
static int check_inputs(struct infer *infer)
{
    for (uint32_t i = 0; i < infer->node->input_count; i++) {
        const struct value *value = infer->node->inputs[i];

        if (value != NULL && (value->dtype == DTYPE_NONE || !shape_is_known(&value->shape)))
            return infer_unsupported(infer, "the shape of input '%s' is not known before the run",
                                     value->name);
    }
    return 0;
}

static struct tensor_view view_of(const struct value *value, void *data)
{
    if (value == NULL)
        return (struct tensor_view){0};
    return (struct tensor_view){value->dtype, value->shape, data};
}

/* The data of an input that is known now: a constant's, or computed by this walk. */
static void *known_data(const struct infer *infer, const struct value *value)
{
    return value->data != NULL ? value->data : infer->known[value->index].data;
}

static bool inputs_are_known(const struct infer *infer)
{
    for (uint32_t i = 0; i < infer->node->input_count; i++) {
        const struct value *value = infer->node->inputs[i];

        if (value != NULL && known_data(infer, value) == NULL)
            return false;
    }
    return true;
}

static int run_eval(struct infer *infer, eval_fn *eval, const struct tensor_view *output)
{
    struct tensor_view *views;
    const struct node *node = infer->node;
    struct diag ignored = {0};
    int rc;

    if (eval == NULL || node->output_count != 1 || !inputs_are_known(infer))
        return -ENOTSUP;
    views = calloc(node->input_count + 1, sizeof(*views));
    if (views == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != NULL)
            views[i] = view_of(node->inputs[i], known_data(infer, node->inputs[i]));
    }
    views[node->input_count] = *output;
    rc = eval(infer->graph, node, views, &views[node->input_count], &ignored);
    free(views);
    return rc;
}

/* Computes output 0 when it is small and depends on nothing unknown. A node that cannot be computed
 * only matters when a shape needs it, and is refused there. */
static int remember(struct infer *infer, eval_fn *eval, struct tensor_view *known)
{
    const struct value *value = infer->node->outputs[0];
    struct tensor_view output = view_of(value, NULL);
    int64_t elements = shape_elements(&value->shape);
    int rc;

    if (elements < 0 || elements > KNOWN_ELEMENTS_MAX)
        return 0;
    output.data = graph_alloc_data((size_t)shape_bytes(&value->shape, value->dtype));
    if (output.data == NULL)
        return -ENOMEM;
    rc = shape_evaluate(infer->node, &output);
    if (rc == -ENOTSUP)
        rc = run_eval(infer, eval, &output);
    if (rc == 0) {
        known[value->index] = output;
        return 0;
    }
    free(output.data);
    return rc == -ENOMEM ? rc : 0;
}

/* What a graph output declares, to be compared with what comes out. */
struct declared {
    enum dtype dtype;
    struct shape shape;
};

static int check_declared(const struct value *value, const struct declared *declared,
                          struct diag *diag)
{
    char want[SHAPE_TEXT_BYTES], got[SHAPE_TEXT_BYTES];
    bool same = declared->shape.rank < 0 || declared->shape.rank == value->shape.rank;

    if (declared->dtype != DTYPE_NONE && declared->dtype != value->dtype)
        return diag_set(diag, -EINVAL, "output '%s' is declared as %s, but is computed as %s",
                        value->name, dtype_name(declared->dtype), dtype_name(value->dtype));
    for (int i = 0; same && i < declared->shape.rank; i++)
        same = declared->shape.dims[i] < 0 || declared->shape.dims[i] == value->shape.dims[i];
    if (!same)
        return diag_set(diag, -EINVAL, "output '%s' is declared with shape %s, but has %s",
                        value->name, shape_text(&declared->shape, want),
                        shape_text(&value->shape, got));
    return 0;
}

static int infer_node(struct infer *infer)
{
    const struct shape_op *op =
        infer->node->domain[0] == '\0' ? find_op(infer->node->op_type) : NULL;
    int rc;

    if (op == NULL || infer->opset < op->since)
        return refuse_op(infer->graph, infer->node, infer->diag);
    rc = check_arity(infer, op);
    if (rc == 0)
        rc = check_inputs(infer);
    return rc == 0 ? op->infer(infer) : rc;
}

static int infer_all(struct graph *graph, eval_fn *eval, struct tensor_view *known,
                     struct diag *diag)
{
    struct infer infer = {
        .graph = graph, .opset = graph_opset(graph, ""), .known = known, .diag = diag};
    int rc = 0;

    for (uint32_t i = 0; i < graph->node_count && rc == 0; i++) {
        infer.node = graph->nodes[i];
        rc = infer_node(&infer);
        if (rc == 0)
            rc = remember(&infer, eval, known);
    }
    return rc;
}

int shape_infer(struct graph *graph, eval_fn *eval, struct diag *diag)
{
    struct tensor_view *known = calloc(graph->value_count + 1, sizeof(*known));
    struct declared *declared = calloc(graph->output_count + 1, sizeof(*declared));
    int rc = -ENOMEM;

    if (known == NULL || declared == NULL)
        goto out;
    for (uint32_t i = 0; i < graph->output_count; i++)
        declared[i] = (struct declared){graph->outputs[i]->dtype, graph->outputs[i]->shape};
    rc = infer_all(graph, eval, known, diag);
    for (uint32_t i = 0; i < graph->output_count && rc == 0; i++)
        rc = check_declared(graph->outputs[i], &declared[i], diag);
out:
    for (uint32_t i = 0; known != NULL && i < graph->value_count; i++)
        free(known[i].data);
    free(known);
    free(declared);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for shape inference") : rc;
}
