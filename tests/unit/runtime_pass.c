/* SPDX-License-Identifier: Apache-2.0 */
/* Each optimisation: what it changes, what it must leave alone, and that the numbers stay. */
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

typedef int pass_fn(struct graph *graph, struct diag *diag);

static int fold_constants(struct graph *graph, struct diag *diag)
{
    return pass_fold_constants(graph, false, eval_node, diag);
}

static int optimise(struct graph *graph, struct diag *diag)
{
    return graph_optimise(graph, &(struct pass_options){0}, eval_node, diag);
}

static int fuse_all(struct graph *graph, struct diag *diag)
{
    return pass_fuse(graph, &(struct pass_options){0}, diag);
}

/* Runs the pass, checks the graph, and compares output 0 before and after. Returns what the pass
 * returned. */
static int apply(struct graph *graph, pass_fn *pass, double tolerance)
{
    struct diag diag = {0};
    struct shape shape = graph->outputs[0]->shape;
    float *before = build_evaluate(graph, 0, 7);
    float *after;
    int rc = pass(graph, &diag);

    if (rc < 0 || graph_check(graph, &diag) < 0)
        fail_msg("%s", diag.text);
    assert_true(shape_equal(&shape, &graph->outputs[0]->shape));
    after = build_evaluate(graph, 0, 7);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        CHECK_NEAR(after[i], before[i], tolerance);
    free(before);
    free(after);
    return rc;
}

static void constants_are_computed_once(void **state)
{
    struct graph *graph = build_graph(15);

    build_node(graph, "Tile", "t:f32=1,2,3; r:i64=2", "", "long");
    build_node(graph, "Split", "long; n:i64=2,4", "", "few;many");
    build_node(graph, "BatchNormalization", /* as standardised weights are written */
               "w:f32 1,2,3=1,2,3,4,5,9; s:f32=1,2; b:f32=0,0; m:f32=0,0; v:f32=1,1",
               "training_mode=1", "even;mean;variance");
    build_node(graph, "MatMul", "x:f32 3,2; few", "", "p");
    build_node(graph, "Add", "p;even", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fold_constants, 0), 3);
    assert_int_equal(graph->node_count, 2);
    assert_non_null(graph_find_value(graph, "few")->data);
    assert_null(graph_find_value(graph, "long"));
    graph_destroy(&graph);
}

static void shapes_and_constants_fold_without_kernels(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Shape", "x:f32 2,6", "", "s");
    build_node(graph, "Constant", "", "value_float=0.5", "half");
    build_node(graph, "Mul", "x;half", "", "p");
    build_node(graph, "Reshape", "p;s", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fold_constants, 0), 2);
    assert_int_equal(graph->node_count, 2);
    graph_destroy(&graph);
}

static void an_output_may_become_a_constant(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Constant", "", "value_float=0.5", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fold_constants, 0), 1);
    assert_int_equal(graph->node_count, 0);
    graph_destroy(&graph);
}

static void what_does_nothing_is_dropped(void **state)
{
    static const struct {
        const char *op_type;
        const char *inputs;
        const char *attributes;
        int dropped;
    } cases[] = {
        {"Identity", "r", "", 1},
        {"Dropout", "r", "", 1},
        {"Reshape", "r; s:i64=2,1,3", "", 1},
        {"Reshape", "r; s:i64=3,2", "", 0},
        {"Flatten", "r", "axis=1", 0},
        {"Transpose", "r", "perm=[0,1,2]", 1},
        {"Transpose", "r", "perm=[2,1,0]", 0},
        {"Cast", "r", "to=1", 1},
        {"Concat", "r", "axis=0", 1},
        {"Sum", "r", "", 1},
        {"Sum", "r;r", "", 0},
        {"Pad", "r; p:i64=0,0,0,0,0,0", "", 1},
        {"Pad", "r; p:i64=1,0,0,-1,0,0", "", 0},
        {"Slice", "r; b:i64=0; e:i64=2", "", 1},
        {"Slice", "r; b:i64=-1; e:i64=-3; a:i64=0; t:i64=-1", "", 0},
        {"Clip", "r", "", 1},
        {"Clip", "r; lo:f32 =0", "", 0},
        {"Expand", "r; s:i64=2,1,3", "", 1},
        {"Relu", "r", "", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        int dropped;

        build_node(graph, "Tanh", "x:f32 2,1,3", "", "r");
        build_node(graph, cases[i].op_type, cases[i].inputs, cases[i].attributes, "m");
        build_node(graph, "Sigmoid", "m", "", "y");
        build_output(graph, "y");
        build_infer(graph);
        dropped = apply(graph, pass_drop_identities, 0);
        if (dropped != cases[i].dropped)
            fail_msg("%s(%s) drops %d", cases[i].op_type, cases[i].inputs, dropped);
        assert_int_equal(graph->node_count, 3 - dropped);
        graph_destroy(&graph);
    }
}

static void a_mask_that_is_read_keeps_its_dropout(void **state)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};

    build_node(graph, "Dropout", "x:f32 2", "", "y;mask");
    build_output(graph, "y");
    build_output(graph, "mask");
    build_infer(graph);
    assert_int_equal(pass_drop_identities(graph, &diag), 0);
    graph_destroy(&graph);
}

#define NORM "s:f32=0.5,2; b:f32=1,-1; m:f32=0.25,-0.5; v:f32=0.5,2"

static void batch_norm_goes_into_the_conv(void **state)
{
    static const char *const convs[] = {
        "x:f32 1,2,4,4; w:f32 2,2,1,1=1,2,3,4",
        "x:f32 1,2,4,4; w:f32 2,2,1,1=1,2,3,4; c:f32=0.5,0.25",
    };

    for (size_t i = 0; i < 2; i++) {
        struct graph *graph = build_graph(13);

        build_node(graph, "Conv", convs[i], "", "r");
        build_node(graph, "BatchNormalization", "r;" NORM, "epsilon=0.001", "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(apply(graph, pass_fold_batch_norm, 1e-5), 1);
        assert_int_equal(graph->node_count, 1);
        assert_int_equal(graph->nodes[0]->origin_count, 2);
        assert_string_equal(graph->nodes[0]->origins[1], "BatchNormalization_1");
        assert_string_equal(graph->nodes[0]->outputs[0]->name, "y");
        graph_destroy(&graph);
    }
}

/* The Conv's result is read twice; the weights are not constant. */
static void batch_norm_stays_where_it_must(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1=1,2,3,4", "", "r");
    build_node(graph, "BatchNormalization", "r;" NORM, "", "n");
    build_node(graph, "Add", "r;n", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, pass_fold_batch_norm, 0), 0);
    graph_destroy(&graph);

    graph = build_graph(13);
    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1", "", "r");
    build_node(graph, "BatchNormalization", "r;" NORM, "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, pass_fold_batch_norm, 0), 0);
    graph_destroy(&graph);
}

/* Two Convs share their weights: only one of them may be scaled. */
static void shared_weights_are_copied(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1=1,2,3,4", "", "r");
    build_node(graph, "BatchNormalization", "r;" NORM, "", "n");
    build_node(graph, "Conv", "n;w", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, pass_fold_batch_norm, 1e-4), 1);
    CHECK_NEAR(((float *)graph_find_value(graph, "w")->data)[3], 4, 0);
    graph_destroy(&graph);
}

static void activations_are_fused(void **state)
{
    static const struct {
        const char *op_type;
        const char *inputs;
        const char *attributes;
        enum activation activation;
    } cases[] = {
        {"Relu", "c", "", ACTIVATION_RELU},
        {"LeakyRelu", "c", "alpha=0.2", ACTIVATION_LEAKY_RELU},
        {"Clip", "c; lo:f32 =0; hi:f32 =0.5", "", ACTIVATION_CLIP},
        {"Clip", "c; -; hi:f32 =0.5", "", ACTIVATION_CLIP},
        {"Sigmoid", "c", "", ACTIVATION_SIGMOID},
        {"Tanh", "c", "", ACTIVATION_TANH},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);

        build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,3,3", "", "c");
        build_node(graph, cases[i].op_type, cases[i].inputs, cases[i].attributes, "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(apply(graph, fuse_all, 2e-6), 1);
        assert_int_equal(graph->node_count, 1);
        assert_int_equal(graph->nodes[0]->fused.activation, cases[i].activation);
        assert_int_equal(graph->nodes[0]->origin_count, 2);
        graph_destroy(&graph);
    }
}

static void what_is_switched_off_is_left_alone(void **state)
{
    const struct pass_options no_nonlinearity = {.no_nonlinearity = true}, no_z = {.no_z = true};
    const struct pass_options no_inference = {.no_inference = true};
    struct graph *graph = build_graph(13);
    struct diag diag = {0};

    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1", "", "c");
    build_node(graph, "Identity", "x", "", "i");
    build_node(graph, "Add", "c; i", "", "s");
    build_node(graph, "Relu", "s", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(pass_fuse(graph, &no_z, &diag), 0); /* the sum stands before the Relu */
    assert_int_equal(pass_fuse(graph, &no_nonlinearity, &diag), 1);
    CHECK_U64(graph->node_count, 3);
    assert_true(graph->nodes[0]->fused.residual_input >= 0 ||
                graph->nodes[1]->fused.residual_input >= 0);
    CHECK_OK(graph_optimise(graph, &no_inference, eval_node, &diag));
    CHECK_U64(graph->node_count, 2); /* the Relu is fused now, the Identity still there */
    CHECK_OK(graph_optimise(graph, &(struct pass_options){0}, eval_node, &diag));
    CHECK_U64(graph->node_count, 1);
    graph_destroy(&graph);
}

/* No kernel computes a Constant: it becomes one whatever is switched off. */
static void constants_are_always_taken_in(void **state)
{
    const struct pass_options no_inference = {.no_inference = true};
    struct graph *graph = build_graph(13);
    struct diag diag = {0};

    build_node(graph, "Constant", "", "value_float=0.5", "c");
    build_node(graph, "Neg", "c", "", "n");
    build_node(graph, "Add", "x:f32 2; n", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    CHECK_OK(graph_optimise(graph, &no_inference, eval_node, &diag));
    CHECK_U64(graph->node_count, 2); /* what is computed from it stays */
    assert_non_null(graph_find_value(graph, "c")->data);
    graph_destroy(&graph);
}

static void squares_become_products(void **state)
{
    static const struct {
        const char *inputs;
        int changes;
    } cases[] = {
        {"x:f32 2,3; p:f32 =2", 1},
        {"x:f32 2,3; p:f32=2", 1},
        {"x:f32 2,3; p:f32 =3", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);

        build_node(graph, "Pow", cases[i].inputs, "", "y");
        build_output(graph, "y");
        build_infer(graph);
        assert_int_equal(apply(graph, pass_simplify, 0), cases[i].changes);
        assert_int_equal(graph->node_count, 1);
        assert_string_equal(graph->nodes[0]->op_type, cases[i].changes ? "Mul" : "Pow");
        assert_int_equal(graph->nodes[0]->origin_count, 1);
        graph_destroy(&graph);
    }
}

static void gemm_takes_an_activation(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Gemm", "a:f32 2,3; b:f32 3,4; d:f32 4", "", "c");
    build_node(graph, "Relu", "c", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fuse_all, 1e-6), 1);
    graph_destroy(&graph);
}

static void a_constant_per_channel_becomes_the_bias(void **state)
{
    static const struct {
        const char *constant;
        bool fuses;
    } cases[] = {
        {"k:f32 2,1,1=1,2", true}, {"k:f32 1,2,1,1=1,2", true},
        {"k:f32 2,1=1,2", false}, /* per row */
        {"k:f32=1,2", false},     /* per column */
        {"k:f32 2,1,1", false},   /* not constant */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        char inputs[64];

        snprintf(inputs, sizeof(inputs), "%s; c", cases[i].constant);
        build_node(graph, "Conv", "x:f32 1,2,2,2; w:f32 2,2,1,1", "", "c");
        build_node(graph, "Add", inputs, "", "s");
        build_node(graph, "Relu", "s", "", "y");
        build_output(graph, "y");
        build_infer(graph);
        if ((apply(graph, fuse_all, 1e-6) == 2) != cases[i].fuses)
            fail_msg("%s", cases[i].constant);
        graph_destroy(&graph);
    }
}

/* The end of a ResNet block with a projection: two Convs are added; the later one does it all. */
static void a_constant_per_column_becomes_the_bias(void **state)
{
    static const struct {
        const char *inputs;
        int fused;
    } cases[] = {
        {"m; b:f32=1,2,3,4", 1},         {"b:f32 1,4=1,2,3,4; m", 1}, {"m; b:f32 2,1=1,2", 0},
        {"m; b:f32 1,1,1,4=1,2,3,4", 0}, {"m; b:f32 =1", 0},          {"m; b:f32 4", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(13);
        int fused;

        build_node(graph, "MatMul", "x:f32 3,2,5; w:f32 5,4", "", "m");
        build_node(graph, "Add", cases[i].inputs, "", "s");
        build_node(graph, "Relu", "s", "", "y");
        build_output(graph, "y");
        build_infer(graph);
        fused = apply(graph, fuse_all, 1e-5);
        if (fused != 2 * cases[i].fused)
            fail_msg("%s: %d", cases[i].inputs, fused);
        graph_destroy(&graph);
    }
}

static void a_residual_is_fused_into_the_later_conv(void **state)
{
    struct graph *graph = build_graph(13);
    const struct node *last;

    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 3,2,1,1", "", "left");
    build_node(graph, "Conv", "x; u:f32 3,2,1,1", "", "right");
    build_node(graph, "Sum", "left;right", "", "s");
    build_node(graph, "Relu", "s", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fuse_all, 1e-6), 2);
    assert_int_equal(graph->node_count, 2);
    last = graph->nodes[1];
    assert_string_equal(last->name, "Conv_1");
    assert_int_equal(last->fused.residual_input, 3);
    assert_string_equal(last->inputs[3]->name, "left");
    assert_int_equal(last->origin_count, 3);
    graph_destroy(&graph);
}

/* The residual is computed after the Conv in the model's order: the Conv must move behind it. */
static void a_residual_that_comes_later_moves_the_conv(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1", "", "c");
    build_node(graph, "Tanh", "x", "", "late");
    build_node(graph, "Add", "c;late", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fuse_all, 1e-6), 1);
    assert_string_equal(graph->nodes[1]->op_type, "Conv");
    graph_destroy(&graph);
}

static void what_is_read_elsewhere_is_not_fused(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1", "", "c");
    build_node(graph, "Relu", "c", "", "r");
    build_node(graph, "Add", "c;r", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fuse_all, 0), 0);
    graph_destroy(&graph);

    graph = build_graph(13);
    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1", "", "c");
    build_node(graph, "Add", "c;c", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fuse_all, 0), 0);
    graph_destroy(&graph);

    /* A residual that must be broadcast stays an Add; so does the result that is an output. */
    graph = build_graph(13);
    build_node(graph, "Conv", "x:f32 1,2,4,4; w:f32 2,2,1,1", "", "c");
    build_node(graph, "Add", "c;z:f32 1,1,4,4", "", "y");
    build_node(graph, "Relu", "y", "", "r");
    build_output(graph, "r");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, fuse_all, 0), 0);
    graph_destroy(&graph);
}

/* Attention spelled out: each line a way to write q, k^T, what stands behind their product, and v. */
struct spelling {
    int opset;
    const char *q, *k;          /* inputs of what makes "a" and "b", which are multiplied */
    const char *a_op, *b_op;    /* "": none */
    const char *perm;           /* of the Transpose that makes "kt" of "k" */
    const char *scale, *scaled; /* the operator, its second operand; "": none */
    const char *mask;           /* what is added; "": none */
    const char *softmax, *v;
    /* What Attention reads as keys: "Transpose", "" (as they are), or NULL: it stays. */
    const char *keys;
};

static struct graph *spell(const struct spelling *s)
{
    struct graph *graph = build_graph(s->opset);
    char text[200], last[] = "s0";

    build_node(graph, "Transpose", s->k, s->perm, "kt");
    if (s->b_op[0] != '\0')
        build_node(graph, s->b_op, "kt; c2:f32=0.5", "", "b");
    snprintf(text, sizeof(text), "%s%s", s->q, s->a_op[0] != '\0' ? "; c1:f32=0.5" : "");
    if (s->a_op[0] != '\0')
        build_node(graph, s->a_op, text, "", "a");
    snprintf(text, sizeof(text), "%s; %s", s->a_op[0] != '\0' ? "a" : s->q,
             s->b_op[0] != '\0' ? "b" : "kt");
    build_node(graph, "MatMul", text, "", last);
    if (s->scale[0] != '\0') {
        snprintf(text, sizeof(text), "s0; %s", s->scaled);
        build_node(graph, s->scale, text, "", "s1");
        last[1] = '1';
    }
    if (s->mask[0] != '\0') {
        snprintf(text, sizeof(text), "%s; %s", last, s->mask);
        build_node(graph, "Add", text, "", "s2");
        last[1] = '2';
    }
    build_node(graph, "Softmax", last, s->softmax, "w");
    snprintf(text, sizeof(text), "w; %s", s->v);
    build_node(graph, "MatMul", text, "", "y");
    build_output(graph, "y");
    build_infer(graph);
    return graph;
}

static const struct node *node_of(const struct graph *graph, const char *op_type)
{
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i]->op_type, op_type) == 0)
            return graph->nodes[i];
    return NULL;
}

static void check_spelling(const struct spelling *s)
{
    struct graph *graph = spell(s);
    int joined = apply(graph, pass_fuse_attention, 1e-5);
    const struct node *attention = node_of(graph, "Attention");

    graph_remove_dead(graph);
    if (joined != (s->keys != NULL) || (attention != NULL) != (s->keys != NULL))
        fail_msg("%d joined of %s %s, %s %s, mask %s, v %s", joined, s->a_op, s->q, s->b_op, s->k,
                 s->mask, s->v);
    if (attention) {
        assert_int_equal(graph->node_count, s->keys[0] != '\0' ? 2 : 1);
        assert_int_equal(attention->input_count, s->mask[0] != '\0' ? 4 : 3);
    } else {
        assert_non_null(node_of(graph, "Softmax"));
    }
    graph_destroy(&graph);
}

#define Q4 "q:f32 2,3,17,8"
#define K4 "k:f32 2,3,5,8"
#define V4 "v:f32 2,3,5,4"

static void attention_is_joined(void **state)
{
    static const struct spelling list[] = {
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "", "", "", "axis=-1", V4, ""},
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "Div", "c:f32=2.5", "m:f32 2,1,1,5", "axis=3", V4,
         ""},
        {12, Q4, K4, "", "", "perm=[0,1,3,2]", "Mul", "c:f32 1,1=0.4", "m:f32 17,5", "axis=3", V4,
         ""},
        {13, Q4, K4, "Mul", "Mul", "perm=[0,1,3,2]", "", "", "m:f32 5", "", V4, ""},
        {13, Q4, K4, "Div", "", "perm=[0,1,3,2]", "", "", "m:f32 1,3,17,5", "", V4, ""},
        {13, Q4, "k:f32 2,5,3,8", "", "", "perm=[0,2,3,1]", "Mul", "c:f32=0.3", "m:f32 2,3,17,5",
         "", V4, "Transpose"},
        {13, "q:f32 6,17,8", "k:f32 6,5,8", "", "", "perm=[0,2,1]", "", "", "m:f32 17,5", "",
         "v:f32 6,5,4", ""},
        {13, "q:f32 6,17,8", "k:f32 6,5,8", "Mul", "", "perm=[0,2,1]", "", "", "m:f32 1,1,5", "",
         "v:f32 6,5,4", ""},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        check_spelling(&list[i]);
}

static void what_is_not_attention_stays(void **state)
{
    static const struct spelling list[] = {
        /* Another axis, also the one that is meant where none is given. */
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "", "", "", "axis=2", V4, NULL},
        {12, "q:f32 6,17,8", "k:f32 6,5,8", "", "", "perm=[0,2,1]", "", "", "", "axis=1",
         "v:f32 6,5,4", NULL},
        /* A number per head, numbers that change from run to run. */
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "Mul", "c:f32 3,1,1=1,2,3", "", "", V4, NULL},
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "Mul", "c:f32 1", "", "", V4, NULL},
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "Div", "c:f32 1,1,17,5", "", "", V4, NULL},
        /* A mask of one key, and of the batch where that is no axis of heads. */
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "", "", "m:f32 17,1", "", V4, NULL},
        {13, "q:f32 6,17,8", "k:f32 6,5,8", "", "", "perm=[0,2,1]", "", "", "m:f32 6,17,5", "",
         "v:f32 6,5,4", NULL},
        /* Operands that are broadcast, few queries, many channels. */
        {13, Q4, "k:f32 2,1,5,8", "", "", "perm=[0,1,3,2]", "", "", "", "", V4, NULL},
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "", "", "", "", "v:f32 5,4", NULL},
        {13, "q:f32 2,3,15,8", K4, "", "", "perm=[0,1,3,2]", "", "", "", "", V4, NULL},
        {13, Q4, K4, "", "", "perm=[0,1,3,2]", "", "", "", "", "v:f32 2,3,5,129", NULL},
        /* Keys that are transposed otherwise: heads and steps, of one size. */
        {13, "q:f32 2,5,17,8", "k:f32 5,2,8,5", "", "", "perm=[1,0,2,3]", "", "", "", "",
         "v:f32 2,5,5,4", "Transpose"},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        check_spelling(&list[i]);
}

static int fuse_half_alone(struct graph *graph, struct diag *diag)
{
    return pass_fuse_half_attention(graph, DTYPE_NONE, diag);
}

static int fuse_what_will_be_half(struct graph *graph, struct diag *diag)
{
    return pass_fuse_half_attention(graph, DTYPE_F16, diag);
}

/* How many are joined, and by which number scores are multiplied. */
static int join_half(const char *type, int channels, pass_fn *pass, float *out_scale)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};
    char text[100];
    int joined;

    snprintf(text, sizeof(text), "k:%s 2,3,5,%d", type, channels);
    build_node(graph, "Transpose", text, "perm=[0,1,3,2]", "kt");
    snprintf(text, sizeof(text), "q:%s 2,3,17,%d; kt", type, channels);
    build_node(graph, "MatMul", text, "", "s0");
    snprintf(text, sizeof(text), "s0; c:%s=0.375", type);
    build_node(graph, "Mul", text, "", "s1");
    snprintf(text, sizeof(text), "s1; m:%s 17,5", type);
    build_node(graph, "Add", text, "", "s2");
    build_node(graph, "Softmax", "s2", "", "w");
    snprintf(text, sizeof(text), "w; v:%s 2,3,5,4", type);
    build_node(graph, "MatMul", text, "", "y");
    build_output(graph, "y");
    build_infer(graph);
    joined = pass(graph, &diag);
    *out_scale = joined == 1 ? node_float(node_of(graph, "Attention"), "scale", 0.0f) : 0.0f;
    assert_int_equal(graph_check(graph, &diag), 0);
    graph_destroy(&graph);
    return joined;
}

static void attention_of_half_precision_is_joined(void **state)
{
    static const char *const halves[] = {"f16", "bf16"};
    float scale = 0.0f;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(join_half(halves[i], 8, pass_fuse_attention, &scale), 0);
        assert_int_equal(join_half(halves[i], 8, fuse_half_alone, &scale), 1);
        assert_true(scale == 0.375f);
        assert_int_equal(join_half(halves[i], 128, fuse_what_will_be_half, &scale), 1);
        assert_int_equal(join_half(halves[i], 129, fuse_what_will_be_half, &scale), 0);
    }
    assert_int_equal(join_half("f32", 8, fuse_half_alone, &scale), 0);
    assert_int_equal(join_half("f32", 128, fuse_what_will_be_half, &scale), 1);
    assert_int_equal(join_half("f32", 129, fuse_what_will_be_half, &scale), 0);
    assert_int_equal(join_half("f32", 129, pass_fuse_attention, &scale), 1);
    assert_int_equal(join_half("f64", 8, fuse_what_will_be_half, &scale), 0);
}

/* What somebody else reads is computed still. */
static void attention_that_is_read_inside_stays(void **state)
{
    static const char *const inner[] = {"s0", "s1", "s2", "w"};
    const struct spelling s = {13,    Q4,          K4,           "", "", "perm=[0,1,3,2]",
                               "Mul", "c:f32=0.3", "m:f32 17,5", "", V4, ""};

    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        struct graph *graph = spell(&s);

        build_output(graph, inner[i]);
        assert_int_equal(apply(graph, pass_fuse_attention, 0.0), 0);
        graph_destroy(&graph);
    }
    for (int which = 0; which < 2; which++) { /* operands may be read: they are not taken in */
        const struct spelling scaled = {13, Q4, K4, "Mul", "", "perm=[0,1,3,2]",
                                        "", "", "", "",    V4, ""};
        struct graph *graph = spell(&scaled);

        build_output(graph, which ? "kt" : "a");
        assert_int_equal(apply(graph, pass_fuse_attention, 1e-5), 1);
        graph_remove_dead(graph);
        assert_non_null(node_of(graph, which ? "Transpose" : "Mul"));
        assert_null(node_of(graph, "Softmax"));
        graph_destroy(&graph);
    }
}

struct scaling {
    const char *a_op, *a_by, *b_op, *b_by, *y_op, *y_by; /* "": none */
    int folded;
    double alpha;
};

static struct graph *scale_all(const struct scaling *s)
{
    struct graph *graph = build_graph(13);
    char text[100];

    build_value(graph, "q:f32 2,3,4");
    build_value(graph, "k:f32 4,5");
    snprintf(text, sizeof(text), "q; %s", s->a_by);
    if (s->a_op[0] != '\0')
        build_node(graph, s->a_op, text, "", "a");
    snprintf(text, sizeof(text), "%s; k", s->b_by);
    if (s->b_op[0] != '\0')
        build_node(graph, s->b_op, text, "", "b");
    snprintf(text, sizeof(text), "%s; %s", s->a_op[0] != '\0' ? "a" : "q",
             s->b_op[0] != '\0' ? "b" : "k");
    build_node(graph, "MatMul", text, "", s->y_op[0] != '\0' ? "p" : "y");
    snprintf(text, sizeof(text), "p; %s", s->y_by);
    if (s->y_op[0] != '\0')
        build_node(graph, s->y_op, text, "", "y");
    build_output(graph, "y");
    build_infer(graph);
    return graph;
}

static void numbers_go_into_products(void **state)
{
    static const struct scaling list[] = {
        {"", "", "", "", "Mul", "c:f32=0.25", 1, 0.25},
        {"", "", "", "", "Div", "c:f32 1,1=4", 1, 0.25},
        {"Div", "c:f32=2", "Mul", "d:f32=3", "Mul", "e:f32=4", 3, 6.0},
        {"Mul", "c:f32 1=2", "", "", "", "", 1, 2.0},
        /* Not a number, not the same in each run, or none that a factor should be. */
        {"Mul", "c:f32 4=1,2,3,4", "", "", "", "", 0, 1.0},
        {"Mul", "c:f32", "", "", "Div", "e:f32", 0, 1.0},
        {"", "", "Div", "d:f32=2", "", "", 0, 1.0},
        {"", "", "", "", "Mul", "c:f32=0", 0, 1.0},
        {"", "", "", "", "Mul", "c:f32=1e20", 0, 1.0},
        {"", "", "", "", "Mul", "c:f32 1,1,1,1=2", 0, 1.0}, /* it adds an axis */
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct graph *graph = scale_all(&list[i]);

        assert_int_equal(apply(graph, pass_fold_scales, 1e-5), list[i].folded);
        CHECK_NEAR(node_float(node_of(graph, "MatMul"), "alpha", 1.0f), list[i].alpha, 1e-6);
        graph_destroy(&graph);
    }
}

/* What others read, too, stays; and what a bias stands between. */
static void numbers_stay_where_they_are_read(void **state)
{
    const struct scaling s = {"Mul", "c:f32=2", "", "", "Mul", "e:f32=4", 0, 1.0};
    struct graph *graph = scale_all(&s);

    build_output(graph, "a");
    build_output(graph, "p");
    assert_int_equal(apply(graph, pass_fold_scales, 1e-5), 0);
    graph_destroy(&graph);
    graph = build_graph(13);
    build_node(graph, "MatMul", "x:f32 2,3; w:f32 3,4", "", "p");
    build_node(graph, "Mul", "p; c:f32=0.5", "", "s");
    build_node(graph, "Add", "s; bias:f32=1,2,3,4", "", "t");
    build_node(graph, "Mul", "t; d:f32=3", "", "u");
    build_node(graph, "Relu", "u", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, pass_fold_scales, 1e-5), 1);
    assert_true(apply(graph, fuse_all, 1e-5) >= 1); /* the bias is added to what is scaled */
    assert_int_equal(node_of(graph, "MatMul")->input_count, 3);
    assert_non_null(node_of(graph, "Mul"));
    graph_destroy(&graph);
}

static void all_passes_together(void **state)
{
    struct graph *graph = build_graph(13);
    const struct node *node;

    build_node(graph, "Tile", "t:f32=1,2,3; rep:i64=4", "", "flat");
    build_node(graph, "Reshape", "flat; sh:i64=2,6,1,1", "", "w");
    build_node(graph, "Conv", "x:f32 1,6,5,5; w", "", "c");
    build_node(graph, "BatchNormalization", "c;" NORM, "", "n");
    build_node(graph, "Dropout", "n", "", "d");
    build_node(graph, "Conv", "x; w2:f32 2,6,1,1", "", "shortcut");
    build_node(graph, "Add", "shortcut;d", "", "sum");
    build_node(graph, "Relu", "sum", "", "r");
    build_node(graph, "Identity", "r", "", "y");
    build_output(graph, "y");
    build_infer(graph);
    assert_int_equal(apply(graph, optimise, 1e-4), 0);
    assert_int_equal(graph->node_count, 2);
    node = graph->nodes[1];
    assert_string_equal(node->op_type, "Conv");
    assert_int_equal(node->fused.activation, ACTIVATION_RELU);
    assert_true(node->fused.residual_input >= 0);
    assert_string_equal(graph->outputs[0]->name, "y");
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_computed_once),
        cmocka_unit_test(shapes_and_constants_fold_without_kernels),
        cmocka_unit_test(an_output_may_become_a_constant),
        cmocka_unit_test(what_does_nothing_is_dropped),
        cmocka_unit_test(a_mask_that_is_read_keeps_its_dropout),
        cmocka_unit_test(batch_norm_goes_into_the_conv),
        cmocka_unit_test(batch_norm_stays_where_it_must),
        cmocka_unit_test(shared_weights_are_copied),
        cmocka_unit_test(activations_are_fused),
        cmocka_unit_test(what_is_switched_off_is_left_alone),
        cmocka_unit_test(constants_are_always_taken_in),
        cmocka_unit_test(squares_become_products),
        cmocka_unit_test(gemm_takes_an_activation),
        cmocka_unit_test(a_constant_per_channel_becomes_the_bias),
        cmocka_unit_test(a_constant_per_column_becomes_the_bias),
        cmocka_unit_test(a_residual_is_fused_into_the_later_conv),
        cmocka_unit_test(a_residual_that_comes_later_moves_the_conv),
        cmocka_unit_test(what_is_read_elsewhere_is_not_fused),
        cmocka_unit_test(attention_is_joined),
        cmocka_unit_test(what_is_not_attention_stays),
        cmocka_unit_test(attention_of_half_precision_is_joined),
        cmocka_unit_test(attention_that_is_read_inside_stays),
        cmocka_unit_test(numbers_go_into_products),
        cmocka_unit_test(numbers_stay_where_they_are_read),
        cmocka_unit_test(all_passes_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
