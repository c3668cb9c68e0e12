/* SPDX-License-Identifier: Apache-2.0 */
/* Transpositions around matrix products that move nothing: which, and that the numbers stay. */
#include "runtime/exec/exec.h"
#include "runtime/ops/shape/shape.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"

/* Attention over heads: what exporters write. The transposed tensors are outputs, too, where they
 * are to be copied. `rows` of the first operand. */
static struct graph *build(bool is_copied, const char *rows)
{
    static const char *const copies[] = {"q", "k", "v", "back"};
    struct graph *graph = build_graph(13);
    struct diag diag = {0};
    char inputs[100];

    snprintf(inputs, sizeof(inputs), "a:f32 2,%s,3,4", rows);
    build_node(graph, "Transpose", inputs, "perm=[0,2,1,3]", "q");
    build_node(graph, "Transpose", "b:f32 2,5,3,4", "perm=[0,2,3,1]", "k");
    build_node(graph, "Transpose", "c:f32 2,5,3,4", "perm=[0,2,1,3]", "v");
    build_node(graph, "MatMul", "q;k", "", "scores");
    build_node(graph, "Softmax", "scores", "axis=-1", "p");
    build_node(graph, "MatMul", "p;v", "", "heads");
    build_node(graph, "Transpose", "heads", "perm=[0,2,1,3]", "back");
    build_node(graph, "Reshape", "back; s:i64=2,-1,12", "", "y");
    build_output(graph, "y");
    for (size_t i = 0; is_copied && i < sizeof(copies) / sizeof(copies[0]); i++)
        build_output(graph, copies[i]);
    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s", diag.text);
    return graph;
}

/* Output 0, and how many steps are of this type. */
static float *run(const struct graph *graph, const char *op_type, uint32_t *out_count)
{
    struct exec *exec = exec_check_create(graph, 1);
    float *out = exec_check_run(exec, graph, 3.0f);

    *out_count = 0;
    for (uint32_t i = 0; i < exec_step_count(exec); i++)
        *out_count += strcmp(exec_step(exec, i)->type, op_type) == 0;
    exec_destroy(&exec);
    return out;
}

/* Of four transpositions only that of the keys moves something: its rows would be columns. Of one
 * row, the product wants its operands as they are. */
static void products_read_and_write_heads_where_they_lie(void **state)
{
    static const struct {
        const char *rows;
        uint32_t transpositions;
    } cases[] = {{"5", 1}, {"2", 1}, {"1", 3}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *copied = build(true, cases[i].rows), *graph = build(false, cases[i].rows);
        uint32_t count;
        float *want = run(copied, "Transpose", &count), *got;

        got = run(graph, "Transpose", &count);
        if (count > cases[i].transpositions)
            fail_msg("%s rows: %u transpositions", cases[i].rows, count);
        for (int64_t k = 0; k < shape_elements(&graph->outputs[0]->shape); k++)
            CHECK_NEAR(got[k], want[k], 1e-5);
        free(want);
        free(got);
        graph_destroy(&copied);
        graph_destroy(&graph);
    }
}

/* Somebody else reads the transposed tensor, too: it is copied, as ever. */
static void others_get_a_copy(void **state)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};
    uint32_t count;

    build_node(graph, "Transpose", "a:f32 2,5,3,4", "perm=[0,2,1,3]", "q");
    build_node(graph, "MatMul", "q; b:f32 2,3,4,6", "", "m");
    build_node(graph, "ReduceMax", "q", "axes=[3]", "r");
    build_node(graph, "Add", "m; r", "", "y");
    build_output(graph, "y");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    free(run(graph, "Transpose", &count));
    CHECK_U64(count, 1);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_read_and_write_heads_where_they_lie),
        cmocka_unit_test(others_get_a_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
