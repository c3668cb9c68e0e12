/* SPDX-License-Identifier: Apache-2.0 */
/* Operators between DequantizeLinear and QuantizeLinear: which become quantised ones, and that the
 * numbers stay within one quantum. */
#include "runtime/ops/lower/lower.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

/* A node: its inputs, attributes and output as graph_build.h reads them. */
struct piece {
    const char *op_type, *inputs, *attributes, *output;
};

enum { PIECES_MAX = 12 };

static struct graph *build(const struct piece *pieces)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};

    for (int i = 0; i < PIECES_MAX && pieces[i].op_type; i++)
        build_node(graph, pieces[i].op_type, pieces[i].inputs, pieces[i].attributes,
                   pieces[i].output);
    build_output(graph, "y");
    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s", diag.text);
    return graph;
}

/* Runs the pass and compares output 0 before and after. Returns how many nodes have the type. */
static int fold(const struct piece *pieces, const char *op_type, double quantum)
{
    struct graph *graph = build(pieces);
    struct diag diag = {0};
    struct shape shape = graph->outputs[0]->shape;
    float *before = build_evaluate(graph, 0, 7), *after;
    int found = 0;

    if (pass_fold_quantised(graph, true, &diag) < 0 || graph_check(graph, &diag) < 0)
        fail_msg("%s", diag.text);
    after = build_evaluate(graph, 0, 7);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        CHECK_NEAR(after[i], before[i], quantum);
    for (uint32_t i = 0; i < graph->node_count; i++)
        found += strcmp(graph->nodes[i]->op_type, op_type) == 0;
    free(before);
    free(after);
    graph_destroy(&graph);
    return found;
}

#define QUANTISE                                                                                   \
    {                                                                                              \
        "QuantizeLinear", "x:f32 1,2,4,4; s:f32 =0.01; z:u8 =120", "", "q"                         \
    }
#define REAL                                                                                       \
    {                                                                                              \
        "DequantizeLinear", "q; s; z", "", "r"                                                     \
    }
#define WEIGHTS                                                                                    \
    {                                                                                              \
        "DequantizeLinear", "w:i8 2,2,1,1=50,-20,100,7; ws:f32=0.02,0.01; wz:i8=0,0", "axis=0",    \
            "v"                                                                                    \
    }
#define BIAS                                                                                       \
    {                                                                                              \
        "DequantizeLinear", "b:i32=500,-3000; bs:f32=0.0002,0.0001; bz:i32=0,0", "axis=0", "c"     \
    }
#define CONV                                                                                       \
    {                                                                                              \
        "Conv", "r; v; c", "pads=[1,0,1,0]", "k"                                                   \
    }
#define END                                                                                        \
    {                                                                                              \
        "DequantizeLinear", "yq; ys; yz", "", "y"                                                  \
    }

static void a_conv_becomes_a_quantised_one(void **state)
{
    static const struct piece plain[PIECES_MAX] = {
        QUANTISE, REAL, WEIGHTS,
        BIAS,     CONV, {"QuantizeLinear", "k; ys:f32 =0.02; yz:u8 =100", "", "yq"},
        END};
    static const struct piece relu[PIECES_MAX] = {
        QUANTISE,
        REAL,
        WEIGHTS,
        BIAS,
        CONV,
        {"Relu", "k", "", "l"},
        {"QuantizeLinear", "l; ys:f32 =0.02; yz:u8 =0", "", "yq"},
        END};

    /* As quantisers write it: one scale of one dimension, its zero point a scalar. */
    static const struct piece single[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"DequantizeLinear", "w:i8 2,2,1,1=50,-20,100,7; ws:f32 =0.02; wz:i8 =0", "", "v"},
        {"DequantizeLinear", "b:i32=500,-3000; bs:f32=0.0002; bz:i32 =0", "", "c"},
        CONV,
        {"QuantizeLinear", "k; ys:f32 =0.02; yz:u8 =100", "", "yq"},
        END};

    assert_int_equal(fold(single, "QLinearConv", 0.0201), 1);
    assert_int_equal(fold(plain, "QLinearConv", 0.0201), 1);
    assert_int_equal(fold(plain, "Conv", 0.0201), 0);
    assert_int_equal(fold(relu, "QLinearConv", 0.0201), 1);
    assert_int_equal(fold(relu, "Relu", 0.0201), 0);
}

/* A Relu that cuts off what the result could hold, a bias in other units, a result that is read as
 * a real number, too. */
static void other_convs_stay(void **state)
{
    static const struct piece cuts[PIECES_MAX] = {
        QUANTISE,
        REAL,
        WEIGHTS,
        BIAS,
        CONV,
        {"Relu", "k", "", "l"},
        {"QuantizeLinear", "l; ys:f32 =0.02; yz:u8 =10", "", "yq"},
        END};
    static const struct piece units[PIECES_MAX] = {
        QUANTISE, REAL,
        WEIGHTS,  {"DequantizeLinear", "b:i32=500,-3000; bs:f32=0.0003,0.0001", "axis=0", "c"},
        CONV,     {"QuantizeLinear", "k; ys:f32 =0.02; yz:u8 =100", "", "yq"},
        END};
    static const struct piece seen[PIECES_MAX] = {
        QUANTISE,
        REAL,
        WEIGHTS,
        BIAS,
        CONV,
        {"QuantizeLinear", "k; ys:f32 =0.02; yz:u8 =100", "", "yq"},
        {"DequantizeLinear", "yq; ys; yz", "", "d"},
        {"Add", "d; k", "", "y"}};

    assert_int_equal(fold(cuts, "QLinearConv", 1e-6), 0);
    assert_int_equal(fold(units, "QLinearConv", 1e-6), 0);
    assert_int_equal(fold(seen, "QLinearConv", 1e-6), 0);
}

static void a_product_becomes_a_quantised_one(void **state)
{
    static const struct piece pieces[PIECES_MAX] = {
        {"QuantizeLinear", "x:f32 3,2; s:f32 =0.01; z:i8 =-5", "", "q"},
        REAL,
        {"DequantizeLinear", "w:i8 2,3=50,-20,100,7,-128,127; ws:f32=0.02,0.01,0.03", "axis=1",
         "v"},
        {"MatMul", "r; v", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.02; yz:i8 =3", "", "yq"},
        END};
    static const struct piece rows[PIECES_MAX] = {
        {"QuantizeLinear", "x:f32 3,2; s:f32 =0.01; z:i8 =-5", "", "q"},
        REAL,
        {"DequantizeLinear", "w:i8 2,3=50,-20,100,7,-128,127; ws:f32=0.02,0.01", "axis=0", "v"},
        {"MatMul", "r; v", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.02; yz:i8 =3", "", "yq"},
        END};

    assert_int_equal(fold(pieces, "QLinearMatMul", 0.0201), 1);
    assert_int_equal(fold(rows, "QLinearMatMul", 1e-6), 0);
}

#define ROWS                                                                                       \
    {                                                                                              \
        "QuantizeLinear", "x:f32 3,2; s:f32 =0.01; z:i8 =-5", "", "q"                              \
    }
#define SUMS                                                                                       \
    {                                                                                              \
        "QuantizeLinear", "k; ys:f32 =0.02; yz:i8 =3", "", "yq"                                    \
    }

/* Turned or not, with what is added or without; not where something is scaled besides, where scales are
 * those of the summed axis, or one number is added to all columns. */
static void a_gemm_becomes_a_quantised_product(void **state)
{
    static const char *const turned = "w:i8 3,2=50,7,-20,-128,100,127; ws:f32=0.02,0.01,0.03";
    static const char *const added = "b:i32=500,-3000,70; bs:f32=0.0002,0.0001,0.0003";
    const struct piece pieces[PIECES_MAX] = {ROWS,
                                             REAL,
                                             {"DequantizeLinear", turned, "axis=0", "v"},
                                             {"DequantizeLinear", added, "axis=0", "c"},
                                             {"Gemm", "r; v; c", "transB=1", "k"},
                                             SUMS,
                                             END};
    const struct piece alone[PIECES_MAX] = {
        ROWS,
        REAL,
        {"DequantizeLinear", "w:i8 2,3=50,-20,100,7,-128,127; ws:f32=0.02,0.01,0.03", "axis=1",
         "v"},
        {"Gemm", "r; v", "", "k"},
        SUMS,
        END};
    struct piece other[PIECES_MAX];

    assert_int_equal(fold(pieces, "QLinearMatMul", 0.0201), 1);
    assert_int_equal(fold(pieces, "Gemm", 0.0201), 0);
    assert_int_equal(fold(alone, "QLinearMatMul", 0.0201), 1);
    memcpy(other, pieces, sizeof(other));
    other[4].attributes = "transB=1 alpha=2.0";
    assert_int_equal(fold(other, "QLinearMatMul", 1e-6), 0);
    other[4].attributes = "transB=1 beta=0.5";
    assert_int_equal(fold(other, "QLinearMatMul", 1e-6), 0);
    memcpy(other, pieces, sizeof(other));
    other[2] = (struct piece){"DequantizeLinear",
                              "w:i8 3,2=50,7,-20,-128,100,127; ws:f32=0.02,0.01", "axis=1", "v"};
    assert_int_equal(fold(other, "QLinearMatMul", 1e-6), 0);
    memcpy(other, pieces, sizeof(other));
    other[3] = (struct piece){"DequantizeLinear", "b:i32 1=500; bs:f32=0.0002", "axis=0", "c"};
    assert_int_equal(fold(other, "QLinearMatMul", 1e-6), 0);
}

static void what_moves_elements_moves_integers(void **state)
{
    static const struct piece same[PIECES_MAX] = {QUANTISE,
                                                  REAL,
                                                  {"MaxPool", "r", "kernel_shape=[2,2]", "p"},
                                                  {"Transpose", "p", "perm=[0,2,3,1]", "k"},
                                                  {"QuantizeLinear", "k; s; z", "", "yq"},
                                                  {"DequantizeLinear", "yq; s; z", "", "y"}};
    static const struct piece one[PIECES_MAX] = {QUANTISE,
                                                 REAL,
                                                 {"MaxPool", "r", "kernel_shape=[2,2]", "k"},
                                                 {"QuantizeLinear", "k; s; z", "", "yq"},
                                                 {"DequantizeLinear", "yq; s; z", "", "y"}};
    static const struct piece other[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"Transpose", "r", "perm=[0,2,3,1]", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.02; z", "", "yq"},
        {"DequantizeLinear", "yq; ys; z", "", "y"}};

    assert_int_equal(fold(one, "QuantizeLinear", 1e-6), 1);
    assert_int_equal(fold(one, "MaxPool", 1e-6), 1);
    assert_int_equal(fold(same, "QuantizeLinear", 1e-6), 2);
    assert_int_equal(fold(other, "QuantizeLinear", 1e-6), 2);
}

static void parts_of_the_same_quanta_are_joined(void **state)
{
    static const struct piece same[PIECES_MAX] = {QUANTISE,
                                                  REAL,
                                                  {"DequantizeLinear", "q; s; z", "", "t"},
                                                  {"Concat", "r; t; r", "axis=1", "k"},
                                                  {"QuantizeLinear", "k; s; z", "", "yq"},
                                                  {"DequantizeLinear", "yq; s; z", "", "y"}};
    static const struct piece other[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"DequantizeLinear", "q; os:f32 =0.03; z", "", "t"},
        {"Concat", "r; t", "axis=1", "k"},
        {"QuantizeLinear", "k; s; z", "", "yq"},
        {"DequantizeLinear", "yq; s; z", "", "y"}};

    assert_int_equal(fold(same, "QuantizeLinear", 1e-6), 1);
    assert_int_equal(fold(same, "Concat", 1e-6), 1);
    assert_int_equal(fold(other, "QuantizeLinear", 1e-6), 2);
}

static void functions_become_tables(void **state)
{
    static const struct piece one[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"HardSigmoid", "r", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.004; yz:i8 =-128", "", "yq"},
        {"DequantizeLinear", "yq; ys; yz", "", "y"}};
    static const struct piece several[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"Tanh", "r", "", "a"},
        {"Clip", "a; low:f32 =-0.3; high:f32 =0.6", "", "b"},
        {"Elu", "b", "alpha=0.5", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.01; z", "", "yq"},
        {"DequantizeLinear", "yq; ys; z", "", "y"}};
    static const struct piece shared[PIECES_MAX] = {QUANTISE,
                                                    REAL,
                                                    {"Tanh", "r", "", "k"},
                                                    {"QuantizeLinear", "k; s; z", "", "yq"},
                                                    {"DequantizeLinear", "yq; s; z", "", "t"},
                                                    {"Add", "t; k", "", "y"}};
    static const struct piece variable[PIECES_MAX] = {QUANTISE,
                                                      REAL,
                                                      {"Clip", "r; low:f32", "", "k"},
                                                      {"QuantizeLinear", "k; s; z", "", "yq"},
                                                      {"DequantizeLinear", "yq; s; z", "", "y"}};

    static const struct piece silu[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"Sigmoid", "r", "", "a"},
        {"QuantizeLinear", "a; ss:f32 =0.004; sz:u8 =0", "", "aq"},
        {"DequantizeLinear", "aq; ss; sz", "", "b"},
        {"Mul", "b; r", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.008; yz:i8 =-20", "", "yq"},
        {"DequantizeLinear", "yq; ys; yz", "", "y"}};
    static const struct piece gate[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"Sigmoid", "r", "", "a"},
        {"QuantizeLinear", "a; ss:f32 =0.004; sz:u8 =0", "", "aq"},
        {"DequantizeLinear", "aq; ss; sz", "", "b"},
        {"QuantizeLinear", "o:f32 1,2,4,4; s; z", "", "oq"},
        {"DequantizeLinear", "oq; s; z", "", "c"},
        {"Mul", "c; b", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.008; yz:i8 =-20", "", "yq"},
        {"DequantizeLinear", "yq; ys; yz", "", "y"}};

    assert_int_equal(fold(one, LOOKUP_OP_TYPE, 1e-6), 1);
    assert_int_equal(fold(silu, LOOKUP_OP_TYPE, 1e-6), 1);
    assert_int_equal(fold(silu, "Mul", 1e-6), 1); /* of the table */
    assert_int_equal(fold(gate, LOOKUP_OP_TYPE, 1e-6), 1);
    assert_int_equal(fold(several, LOOKUP_OP_TYPE, 1e-6), 1);
    assert_int_equal(fold(shared, LOOKUP_OP_TYPE, 1e-6), 0);
    assert_int_equal(fold(variable, LOOKUP_OP_TYPE, 1e-6), 0);
}

#define OTHER                                                                                      \
    {                                                                                              \
        "QuantizeLinear", "o:f32 1,2,4,4; os:f32 =0.013; oz:i8 =-7", "", "oq"                      \
    }
#define OTHER_REAL                                                                                 \
    {                                                                                              \
        "DequantizeLinear", "oq; os; oz", "", "t"                                                  \
    }

/* Also where signs differ, an operand is broadcast, or a Relu cuts off what bytes do not hold anyway. */
static void sums_and_products_are_of_bytes(void **state)
{
    const struct piece sum[PIECES_MAX] = {
        QUANTISE,
        REAL,
        OTHER,
        OTHER_REAL,
        {"Add", "r; t", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.017; yz:u8 =9", "", "yq"},
        END};
    const struct piece residual[PIECES_MAX] = {
        QUANTISE,
        REAL,
        OTHER,
        OTHER_REAL,
        {"Add", "t; r", "", "l"},
        {"Relu", "l", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.017; yz:u8 =0", "", "yq"},
        END};
    const struct piece gate[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"DequantizeLinear", "g:u8 2,1,1=200,30; gs:f32 =0.004; gz:u8 =0", "", "t"},
        {"Mul", "t; r", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.007; yz:i8 =-3", "", "yq"},
        END};
    struct piece far[PIECES_MAX];

    assert_int_equal(fold(sum, QUANTA_ADD_OP_TYPE, 0.0171), 1);
    assert_int_equal(fold(sum, "DequantizeLinear", 0.0171), 1);
    assert_int_equal(fold(residual, QUANTA_ADD_OP_TYPE, 0.0171), 1);
    assert_int_equal(fold(residual, "Relu", 0.0171), 0);
    assert_int_equal(fold(gate, QUANTA_MUL_OP_TYPE, 0.0071), 1);
    memcpy(far, sum, sizeof(far));
    far[5].inputs = "k; ys:f32 =0.000000000001; yz:u8 =9"; /* more quanta than an integer holds */
    assert_int_equal(fold(far, "Add", 1e-6), 1);
}

static void means_are_of_bytes(void **state)
{
    const struct piece planes[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"GlobalAveragePool", "r", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.003; yz:u8 =100", "", "yq"},
        END};
    const struct piece flat[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"GlobalAveragePool", "r", "", "l"},
        {"Flatten", "l", "", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.003; yz:u8 =100", "", "yq"},
        END};
    const struct piece middle[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"ReduceMean", "r", "axes=[-2,1] keepdims=0", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.003; yz:i8 =10", "", "yq"},
        END};
    const struct piece apart[PIECES_MAX] = {
        QUANTISE,
        REAL,
        {"ReduceMean", "r", "axes=[1,3]", "k"},
        {"QuantizeLinear", "k; ys:f32 =0.003; yz:i8 =10", "", "yq"},
        END};

    assert_int_equal(fold(planes, QUANTA_MEAN_OP_TYPE, 0.0031), 1);
    assert_int_equal(fold(planes, "GlobalAveragePool", 0.0031), 0);
    assert_int_equal(fold(flat, QUANTA_MEAN_OP_TYPE, 0.0031), 1);
    assert_int_equal(fold(flat, "Flatten", 0.0031), 0);
    assert_int_equal(fold(middle, QUANTA_MEAN_OP_TYPE, 0.0031), 1);
    assert_int_equal(fold(apart, QUANTA_MEAN_OP_TYPE, 1e-6), 0);
}

/* Its third operand counts in the products' quanta, which is a DequantizeLinear of its own. */
static void a_quantised_gemm_is_a_quantised_product(void **state)
{
    struct graph *graph = build_graph(20);
    struct node *node =
        build_node(graph, "QGemm",
                   "x:u8 2,4; s:f32 =0.01; z:u8 =120; w:i8 4,2=1,2,3,-4,5,6,-7,8; "
                   "v:f32=0.02,0.03; u:i8=0,0; c:i32=100,-50; t:f32 =0.05; k:u8 =128",
                   "", "y");
    struct diag diag = {0};
    int found = 0;

    free(node->domain);
    node->domain = strdup("com.microsoft");
    build_output(graph, "y");
    CHECK_OK(lower_graph(graph, &diag));
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_true(pass_fold_quantised(graph, true, &diag) >= 0);
    for (uint32_t i = 0; i < graph->node_count; i++)
        found += strcmp(graph->nodes[i]->op_type, "QLinearMatMul") == 0;
    assert_int_equal(found, 1);
    assert_int_equal(graph->node_count, 1);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conv_becomes_a_quantised_one),
        cmocka_unit_test(other_convs_stay),
        cmocka_unit_test(a_product_becomes_a_quantised_one),
        cmocka_unit_test(a_gemm_becomes_a_quantised_product),
        cmocka_unit_test(a_quantised_gemm_is_a_quantised_product),
        cmocka_unit_test(what_moves_elements_moves_integers),
        cmocka_unit_test(parts_of_the_same_quanta_are_joined),
        cmocka_unit_test(functions_become_tables),
        cmocka_unit_test(sums_and_products_are_of_bytes),
        cmocka_unit_test(means_are_of_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
