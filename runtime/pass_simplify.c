/* SPDX-License-Identifier: Apache-2.0 */
/* Operators with constant operands that another, cheaper operator computes as well. */
#include <errno.h>
#include <string.h>

#include "runtime/element.h"
#include "runtime/pass.h"

/* x to the power of a constant 2, which leaves shape and type of x. */
static bool is_square(const struct node *node)
{
    const struct value *x = node_input(node, 0), *power = node_input(node, 1);
    const struct value *y = node_output(node, 0);

    return strcmp(node->op_type, "Pow") == 0 && node->domain[0] == '\0' && x && y && power &&
           power->data && element_is_float(x->dtype) && x->dtype == y->dtype &&
           shape_equal(&x->shape, &y->shape) && shape_elements(&power->shape) == 1 &&
           element_get(power->data, power->dtype, 0) == 2;
}

/* Becomes x * x, under the same name; the old node is dead. */
static int multiply(struct graph *graph, struct node *square)
{
    struct value *operands[] = {square->inputs[0], square->inputs[0]}, *none = NULL;
    struct node *product = graph_add_node(graph, "Mul", "", square->name, operands, 2, &none, 1);

    /* Its own name is the first of its origins. */
    if (!product || (square->origin_count > 1 && node_add_origins(product, square) < 0))
        return -ENOMEM;
    node_take_output(product, 0, square->outputs[0]);
    return 1;
}

int pass_simplify(struct graph *graph, struct diag *diag)
{
    uint32_t count = graph->node_count;
    int changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        int rc = is_square(graph->nodes[i]) ? multiply(graph, graph->nodes[i]) : 0;

        if (rc < 0)
            return diag_set(diag, rc, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
