/* SPDX-License-Identifier: Apache-2.0 */
/* All of a node's values or none: each value leaves once, and each node speaks once. */
#include "runtime/passes/agree.h"

#include <errno.h>
#include <stdlib.h>

struct agreement {
    bool *is_in;      /* by value->index */
    bool *has_spoken; /* by node->index */
    agree_member_fn *member;
    const void *context;
    struct value **leaving; /* whose nodes are still to be asked */
    uint32_t leaving_count;
};

static void ask(struct agreement *agreement, const struct node *node)
{
    const uint32_t count = node->input_count + node->output_count;
    bool all = true;

    if (agreement->has_spoken[node->index])
        return;
    for (uint32_t i = 0; all && i < count; i++) {
        const struct value *value = agreement->member(agreement->context, node, i);

        all = !value || agreement->is_in[value->index];
    }
    if (all)
        return;
    agreement->has_spoken[node->index] = true;
    for (uint32_t i = 0; i < count; i++) {
        struct value *value = agreement->member(agreement->context, node, i);

        if (!value || !agreement->is_in[value->index])
            continue;
        agreement->is_in[value->index] = false;
        agreement->leaving[agreement->leaving_count++] = value;
    }
}

int pass_agree(const struct graph *graph, bool *is_in, agree_member_fn *member, const void *context)
{
    struct agreement agreement = {
        .is_in = is_in,
        .has_spoken = calloc(graph->node_count + 1, sizeof(bool)),
        .member = member,
        .context = context,
        .leaving = calloc(graph->value_count + 1, sizeof(*agreement.leaving)),
    };
    int rc = agreement.has_spoken && agreement.leaving ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++)
        ask(&agreement, graph->nodes[i]);
    while (rc == 0 && agreement.leaving_count > 0) {
        const struct value *value = agreement.leaving[--agreement.leaving_count];

        if (value->producer)
            ask(&agreement, value->producer);
        for (uint32_t i = 0; i < value->consumer_count; i++)
            ask(&agreement, value->consumers[i]);
    }
    free(agreement.has_spoken);
    free(agreement.leaving);
    return rc;
}
