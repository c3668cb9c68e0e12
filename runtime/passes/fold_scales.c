/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that operands of a matrix product, or its result, are multiplied or divided by become the
 * factor that the product has anyway. float32 only. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "runtime/passes/pass.h"

static bool is_plain(const struct node *node, const char *op_type)
{
    return node && node->domain[0] == '\0' && strcmp(node->op_type, op_type) == 0 &&
           node->fused.activation == ACTIVATION_NONE && node->fused.residual_input < 0 &&
           node->input_count == 2 && node->inputs[0] && node->inputs[1] && node_output(node, 0) &&
           node->outputs[0]->dtype == DTYPE_F32 && !node_attribute(node, "axis");
}

/* A number that a factor can hold, also with others, and that adds no axes. */
static bool is_number(const struct value *value, const struct value *beside, float *out_number)
{
    if (!value->data || value->dtype != DTYPE_F32 || shape_elements(&value->shape) != 1 ||
        value->shape.rank > beside->shape.rank)
        return false;
    *out_number = *(const float *)value->data;
    return fabsf(*out_number) > 1e-12f && fabsf(*out_number) < 1e12f;
}

/* What the node multiplies by a number; NULL: it does something else. */
static struct value *scaled(const struct node *node, float *out_factor)
{
    float number;

    for (uint32_t i = 0; i < 2 && is_plain(node, "Mul"); i++)
        if (is_number(node->inputs[1 - i], node->inputs[i], out_factor))
            return node->inputs[i];
    if (!is_plain(node, "Div") || !is_number(node->inputs[1], node->inputs[0], &number))
        return NULL;
    *out_factor = 1.0f / number;
    return node->inputs[0];
}

static int multiply(struct node *product, float factor)
{
    float alpha = node_float(product, "alpha", 1.0f) * factor;

    if (fabsf(alpha) < FLT_MIN || !isfinite(alpha))
        return 0;
    return node_set_float(product, "alpha", alpha) < 0 ? -1 : 1;
}

/* What is read by others, too, is computed anyway. */
static bool is_inner(const struct value *value)
{
    return !value->is_output && value->consumer_count == 1;
}

static int fold_before(struct node *product, uint32_t i)
{
    struct node *scale = product->inputs[i]->producer;
    struct value *x;
    float factor;
    int rc;

    x = !is_inner(product->inputs[i]) ? NULL : scaled(scale, &factor);
    if (!x || x->data)
        return 0;
    rc = multiply(product, factor);
    if (rc <= 0)
        return rc;
    return node_set_input(product, i, x) < 0 || node_add_origins(product, scale) < 0 ? -1 : 1;
}

static int fold_behind(struct node *product)
{
    struct value *y = product->outputs[0];
    struct node *scale = !is_inner(y) ? NULL : y->consumers[0];
    float factor;
    int rc;

    if (!scale || scaled(scale, &factor) != y)
        return 0;
    rc = multiply(product, factor);
    if (rc <= 0)
        return rc;
    rc = node_add_origins(product, scale);
    for (uint32_t i = 0; rc == 0 && i < scale->input_count; i++)
        rc = node_set_input(scale, i, NULL);
    if (rc < 0)
        return -1;
    node_take_output(product, 0, scale->outputs[0]);
    return 1;
}

static int fold(struct node *product)
{
    int changed = 0, rc;

    if (!is_plain(product, "MatMul"))
        return 0;
    do {
        rc = fold_before(product, 0);
        if (rc == 0)
            rc = fold_before(product, 1);
        if (rc == 0)
            rc = fold_behind(product);
        changed += rc;
    } while (rc > 0);
    return rc < 0 ? rc : changed;
}

int pass_fold_scales(struct graph *graph, struct diag *diag)
{
    int changed = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        int rc = fold(graph->nodes[i]);

        if (rc < 0)
            return diag_set(diag, -ENOMEM, "no memory to optimise the model");
        changed += rc;
    }
    return pass_settle(graph, changed, diag);
}
