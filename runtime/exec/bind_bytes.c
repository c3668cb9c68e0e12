/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: in which layout quantised images lie. Convolutions with a filter for each channel like them channels-last, and
 * what stands beside them goes along; a network without such ones stays row-major. */
#include "runtime/exec/bind_private.h"
#include "runtime/graph/fused_ops.h"
#include "runtime/ops/call/call.h"

#include <string.h>

enum { FAR = 4 }; /* operators between a convolution and one that likes what it makes */

static bool is_channels_last(const struct binding *binding, const struct value *x)
{
    const struct layout *layout = &binding_first_form(binding, x)->layout;

    return x->shape.rank == layout->rank && !layout_is_row_major(layout, &x->shape) &&
           layout_is_channels_last(layout, &x->shape);
}

static bool is_zip(const struct node *node)
{
    return strcmp(node->op_type, QUANTA_ADD_OP_TYPE) == 0 ||
           strcmp(node->op_type, QUANTA_MUL_OP_TYPE) == 0;
}

/* Whether a convolution likes a value channels-last, or what is made of its elements. */
static bool is_liked_last(const struct binding *binding, const struct value *value, int far)
{
    for (uint32_t i = 0; far > 0 && i < value->consumer_count; i++) {
        const struct node *node = value->consumers[i];

        if (node->inputs[0] == value && call_conv_last(binding->graph, node) == CONV_LIKES_LAST)
            return true;
        if ((is_zip(node) || strcmp(node->op_type, LOOKUP_OP_TYPE) == 0) &&
            is_liked_last(binding, node->outputs[0], far - 1))
            return true;
    }
    return false;
}

bool binding_takes_last(const struct binding *binding, const struct value *value)
{
    bool all = !value->is_output && value->consumer_count > 0;

    for (uint32_t i = 0; all && i < value->consumer_count; i++)
        all = value->consumers[i]->inputs[0] == value &&
              call_conv_last(binding->graph, value->consumers[i]) != CONV_NEVER_LAST;
    return all;
}

/* Means of all places. */
static bool is_mean_of_places(const struct node *node)
{
    size_t count;
    const int64_t *axes = node_ints(node, "axes", &count);

    return strcmp(node->op_type, QUANTA_MEAN_OP_TYPE) == 0 && axes && count == 2 && axes[0] == 2 &&
           axes[1] == node->inputs[0]->shape.rank;
}

void binding_choose_bytes(const struct binding *binding, const struct node *node,
                          struct layout *inputs, struct layout *y)
{
    enum call_conv_last last;

    if (is_zip(node)) {
        bool is_last = false;

        for (uint32_t i = 0; i < 4; i += 3)
            is_last = is_last || (node->inputs[i]->shape.rank == y->rank &&
                                  is_channels_last(binding, node->inputs[i]));
        for (uint32_t i = 0; is_last && i < 4; i += 3)
            if (node->inputs[i]->shape.rank == y->rank)
                inputs[i] = layout_channels_last(y->rank);
        if (is_last)
            *y = layout_channels_last(y->rank);
    } else if (is_mean_of_places(node)) {
        if (is_channels_last(binding, node->inputs[0]))
            inputs[0] = layout_channels_last(node->inputs[0]->shape.rank);
    } else {
        last = call_conv_last(binding->graph, node);
        if (last == CONV_LIKES_LAST ||
            (last == CONV_TAKES_LAST && (is_channels_last(binding, node->inputs[0]) ||
                                         is_liked_last(binding, node->outputs[0], FAR)))) {
            inputs[0] = layout_channels_last(node->inputs[0]->shape.rank);
            *y = layout_channels_last(y->rank);
        }
    }
}
