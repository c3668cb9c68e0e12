/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input is a model file. What the reader accepts must hold the graph's invariants
 * before and after shape inference and all optimisations, and small models are computed while
 * folding. The same bytes are also taken as a tensor file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/text.h"
#include "runtime/graph/texts.h"
#include "runtime/inputs/input.h"
#include "runtime/onnx/model.h"
#include "runtime/onnx/tensor.h"
#include "runtime/passes/pass.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Above this, folding would only cost time. */
enum { EVALUATE_BYTES_MAX = 1 << 18 };

static void require(bool condition)
{
    if (!condition)
        abort();
}

static int refuse(const struct graph *graph, const struct node *node,
                  const struct tensor_view *inputs, struct tensor_view *outputs, struct diag *diag)
{
    return -1;
}

static int64_t total_bytes(const struct graph *graph)
{
    int64_t total = 0;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        int64_t bytes = shape_bytes(&graph->values[i]->shape, graph->values[i]->dtype);

        if (bytes < 0 || bytes > EVALUATE_BYTES_MAX)
            return EVALUATE_BYTES_MAX + 1;
        total += bytes;
    }
    return total;
}

static void write_text(const struct graph *graph)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    require(out != NULL);
    graph_text_write(graph, out);
    fclose(out);
    require(size > 0);
    free(text);
}

static void work_on(struct graph *graph)
{
    struct input_list none = {0};
    struct diag diag = {0};
    eval_fn *eval;

    require(graph_check(graph, &diag) == 0);
    if (input_bind_shapes(graph, &none, &diag) < 0 || shape_infer(graph, NULL, &diag) < 0) {
        require(diag.text[0] != '\0');
        return;
    }
    eval = total_bytes(graph) > EVALUATE_BYTES_MAX ? refuse : eval_node;
    write_text(graph);
    if (graph_optimise(graph, &(struct pass_options){0}, eval, &diag) == 0)
        require(graph_check(graph, &diag) == 0);
    write_text(graph);
}

/* The same values, in bodies too. */
static void compare_graphs(const struct graph *graph, const struct graph *other)
{
    require(graph->value_count == other->value_count && graph->node_count == other->node_count);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *a = graph->values[i], *b = other->values[i];

        require(strcmp(a->name, b->name) == 0 && !a->data == !b->data);
        require(!a->data ||
                memcmp(a->data, b->data, (size_t)shape_bytes(&a->shape, a->dtype)) == 0);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct node *a = graph->nodes[i], *b = other->nodes[i];

        require(a->attribute_count == b->attribute_count);
        for (uint32_t k = 0; k < a->attribute_count; k++)
            if (a->attributes[k].type == ATTRIBUTE_GRAPH)
                compare_graphs(a->attributes[k].graph, b->attributes[k].graph);
    }
}

/* Whether parameters are copied or left where they are, the graph is the same. */
static void parse_both_ways(const uint8_t *data, size_t size)
{
    struct graph *graph = NULL, *shared = NULL;
    struct diag diag = {0}, other = {0};
    int rc = model_onnx_parse(data, size, -1, &graph, &diag);
    int shared_rc = model_onnx_parse_shared(data, size, -1, &shared, &other);

    require(rc == shared_rc || rc == -E2BIG); /* without parameters a message takes less */
    if (rc == 0) {
        fuzz_accepted(1);
        compare_graphs(graph, shared);
        work_on(graph);
    } else {
        require(diag.text[0] != '\0' && !graph);
    }
    graph_destroy(&graph);
    graph_destroy(&shared);
}

static void parse_parts(const uint8_t *data, size_t size)
{
    for (int form = 0; form < 4; form++) {
        struct onnx_parts parts;
        struct diag diag = {0};

        if (onnx_parts_parse(data, size, form & 1, form & 2, &parts, &diag) < 0) {
            require(diag.text[0] != '\0');
            continue;
        }
        require(parts.count <= ONNX_PARTS_MAX && (!parts.is_empty || parts.count == 0));
        for (size_t i = 0; i < parts.count; i++)
            require(shape_bytes(&parts.items[i].shape, parts.items[i].dtype) >= 0);
        onnx_parts_deinit(&parts);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tensor_view view;
    struct diag diag = {0};
    char *name;

    parse_both_ways(data, size);
    if (onnx_tensor_parse(data, size, "the tensor", &view, &name, &diag) == 0) {
        require(shape_bytes(&view.shape, view.dtype) >= 0);
        free(view.data);
        free(name);
    } else {
        require(diag.text[0] != '\0');
    }
    parse_parts(data, size);
    texts_forget(); /* what each input brings and makes would fill memory */
    return 0;
}
