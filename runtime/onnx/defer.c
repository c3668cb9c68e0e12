/* SPDX-License-Identifier: Apache-2.0 */
/* Who reads an initialiser, by name, before anything of the graph is made. */
#include "runtime/onnx/defer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/graph.h"
#include "runtime/onnx/onnx.pb-c.h"

/* An initialiser that may be large. */
struct candidate {
    const char *name;
    size_t index;
};

struct candidates {
    struct candidate *items;
    size_t count;
    bool *may_defer;
};

static const struct {
    const char *domain, *op_type;
    size_t input;
} readers[] = {{"", "Conv", 1},
               {"", "Gather", 0},
               {"", "Gemm", 1},
               {"", "MatMul", 1},
               {"com.microsoft.nchwc", "Conv", 1}};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct candidate *)a)->name, ((const struct candidate *)b)->name);
}

static bool is_candidate(const Onnx__TensorProto *tensor)
{
    return tensor->name && tensor->data_type == DTYPE_F32 && tensor->n_dims >= 2;
}

static void forbid(struct candidates *c, const char *name)
{
    struct candidate key = {.name = name};
    const struct candidate *found =
        name && c->count > 0 ? bsearch(&key, c->items, c->count, sizeof(key), compare) : NULL;

    if (found)
        c->may_defer[found->index] = false;
}

static bool reads_weights(const Onnx__NodeProto *node, size_t input)
{
    const char *domain = node->domain ? node->domain : "";

    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        if (node->op_type && strcmp(domain, readers[i].domain) == 0 && readers[i].input == input &&
            strcmp(node->op_type, readers[i].op_type) == 0)
            return true;
    return false;
}

static bool has_bodies(const Onnx__GraphProto *graph)
{
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 0; i < graph->node[n]->n_attribute; i++)
            if (graph->node[n]->attribute[i]->has_g)
                return true;
    return false;
}

int onnx_defer_choose(const Onnx__ModelProto *model, bool **out_may_defer)
{
    const Onnx__GraphProto *graph = model->graph;
    struct candidates c = {0};

    *out_may_defer = NULL;
    if (model->n_functions > 0 || has_bodies(graph))
        return 0;
    c.items = calloc(graph->n_initializer + 1, sizeof(*c.items));
    c.may_defer = calloc(graph->n_initializer + 1, sizeof(*c.may_defer));
    if (!c.items || !c.may_defer) {
        free(c.items);
        free(c.may_defer);
        return -ENOMEM;
    }
    for (size_t i = 0; i < graph->n_initializer; i++) {
        c.may_defer[i] = is_candidate(graph->initializer[i]);
        if (c.may_defer[i])
            c.items[c.count++] = (struct candidate){graph->initializer[i]->name, i};
    }
    qsort(c.items, c.count, sizeof(*c.items), compare);
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 0; i < graph->node[n]->n_input; i++)
            if (!reads_weights(graph->node[n], i))
                forbid(&c, graph->node[n]->input[i]);
    for (size_t i = 0; i < graph->n_output; i++)
        forbid(&c, graph->output[i]->name);
    free(c.items);
    *out_may_defer = c.may_defer;
    return 0;
}
