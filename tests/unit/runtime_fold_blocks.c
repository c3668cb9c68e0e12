/* SPDX-License-Identifier: Apache-2.0 */
/* Products by weights of 4 bits that are made real: which take the bits, and that they compute the same. */
#include <stdlib.h>
#include <string.h>

#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

enum { TEXT = 8192 };

/* "NAME:TYPE DIMS=" and numbers from `least` to `most`. */
static void put_numbers(char *out, const char *head, int count, double least, double most)
{
    size_t at = (size_t)snprintf(out, TEXT, "%s=", head);
    unsigned state = 7;

    for (int i = 0; i < count; i++) {
        state = state * 1103515245u + 12345u;
        at += (size_t)snprintf(out + at, TEXT - at, "%s%g", i ? "," : "",
                               least + (most - least) * (state >> 16 & 15) / 15.0);
    }
}

/* What stands in place of [70, 3] weights: the type, what reads them, the shapes of scales and zero points (NULL: there are
 * none). */
struct weights {
    const char *type, *attributes, *scales;
    int scale_count;
    const char *zeros;
};

/* The product of a DequantizeLinear of weights, and an Add. */
static struct graph *build(const struct weights *w, const char *x, const char *bias)
{
    struct graph *graph = build_graph(21);
    bool is_signed = w->type[0] == 'i';
    double least = is_signed ? -8 : 0;
    char head[80], quanta[TEXT], scales[TEXT], zeros[TEXT] = "-", inputs[3 * TEXT];
    struct diag diag = {0};

    snprintf(head, sizeof(head), "w:%s 70,3", w->type);
    put_numbers(quanta, head, 70 * 3, least, least + 15);
    snprintf(head, sizeof(head), "s:f32 %s", w->scales);
    put_numbers(scales, head, w->scale_count, 0.01, 0.1);
    if (w->zeros) {
        snprintf(head, sizeof(head), "z:%s %s", w->zeros, w->scales);
        put_numbers(zeros, head, w->scale_count, least, least + 15);
    }
    snprintf(inputs, sizeof(inputs), "%s; %s; %s", quanta, scales, zeros);
    build_node(graph, "DequantizeLinear", inputs, w->attributes, "r");
    snprintf(inputs, sizeof(inputs), "%s; r", x);
    build_node(graph, "MatMul", inputs, "", "p");
    snprintf(inputs, sizeof(inputs), "p; %s", bias);
    build_node(graph, "Add", inputs, "", "y");
    build_output(graph, "y");
    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s", diag.text);
    return graph;
}

static int count_nodes(const struct graph *graph, const char *op_type)
{
    int found = 0;

    for (uint32_t i = 0; i < graph->node_count; i++)
        found += strcmp(graph->nodes[i]->op_type, op_type) == 0;
    return found;
}

/* Whether it is folded, and then computes the same; adds: and adds the bias. */
static bool fold(const struct weights *w, const char *x, const char *bias, bool adds)
{
    struct graph *graph = build(w, x, bias);
    int64_t count = shape_elements(&graph->outputs[0]->shape);
    struct diag diag = {0};
    float *before = build_evaluate(graph, 0, 3), *after;
    int found;

    if (pass_fold_blocks(graph, 70 * 3, &diag) < 0 || graph_check(graph, &diag) < 0)
        fail_msg("%s", diag.text);
    found = count_nodes(graph, "BlockMatMul");
    assert_int_equal(count_nodes(graph, "MatMul"), 1 - found);
    assert_int_equal(count_nodes(graph, "DequantizeLinear"), 1 - found);
    assert_int_equal(count_nodes(graph, "Add"), found && adds ? 0 : 1);
    after = build_evaluate(graph, 0, 3);
    for (int64_t i = 0; i < count; i++)
        CHECK_NEAR(after[i], before[i], 2e-5);
    free(before);
    free(after);
    graph_destroy(&graph);
    return found;
}

static void weights_of_bits_are_taken(void **state)
{
    static const struct weights kinds[] = {
        {"i4", "axis=0 block_size=32", "3,3", 9, NULL},
        {"i4", "axis=-2 block_size=16", "5,3", 15, "i4"},
        {"u4", "axis=0 block_size=64", "2,3", 6, "u4"},
        {"u4", "axis=0 block_size=32", "3,3", 9, NULL},
        {"i4", "axis=0 block_size=48", "2,3", 6, "i4"}, /* three blocks of 16 share a scale */
        {"u4", "axis=0 block_size=512", "1,3", 3, "u4"},
        {"i4", "axis=1", "3", 3, NULL},
        {"u4", "axis=1", "3", 3, "u4"},
        {"i4", "", "1", 1, NULL},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_true(fold(&kinds[i], "x:f32 2,5,70", "b:f32=1,2,3", true));
        assert_true(fold(&kinds[i], "x:f32 70", "b:f32 1,3=1,2,3", false));
        assert_true(fold(&kinds[i], "x:f32 4,70", "b:f32 3", false));
    }
}

/* Scales of rows, of short blocks and of blocks along the other axis; weights of a byte. */
static void others_stay(void **state)
{
    static const struct weights kinds[] = {
        {"i4", "axis=0", "70", 70, NULL},
        {"i4", "axis=0 block_size=8", "9,3", 27, NULL},
        {"i4", "axis=1 block_size=16", "70,1", 70, NULL},
        {"i8", "axis=0 block_size=32", "3,3", 9, NULL},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        assert_false(fold(&kinds[i], "x:f32 4,70", "b:f32=1,2,3", false));
}

static void few_stay(void **state)
{
    static const struct weights kind = {"i4", "axis=0 block_size=32", "3,3", 9, NULL};
    struct graph *graph = build(&kind, "x:f32 4,70", "b:f32=1,2,3");
    struct diag diag = {0};

    assert_int_equal(pass_fold_blocks(graph, 70 * 3 + 1, &diag), 0);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_bits_are_taken),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(few_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
