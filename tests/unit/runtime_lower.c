/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that become others: what of them is refused, with which sentence. */
#include "kernels/blocks.h"
#include "runtime/ops/lower/lower.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

#include <stdlib.h>
#include <string.h>

static void refuse(struct graph *graph, const char *text)
{
    struct diag diag = {0};

    assert_int_equal(lower_graph(graph, &diag), -ENOTSUP);
    CHECK_CONTAINS(diag.text, text);
    graph_destroy(&graph);
}

/* Attributes of other lengths than each other, of none, of other types. */
static void learned_models_are_checked(void **state)
{
    static const struct {
        const char *type, *inputs, *attributes, *text;
    } cases[] = {
        {"LinearClassifier", "x:f32 2,3", "classlabels_strings=['a','b'] coefficients=[0.5]",
         "a label and an intercept for each"},
        {"LinearClassifier", "x:f32 2,3", "coefficients=[0.5] intercepts=[0.5]",
         "a label and an intercept for each"},
        {"LinearClassifier", "x:f32 2,3", "classlabels_strings='a' intercepts=[0.5]",
         "a label and an intercept for each"},
        {"SVMClassifier", "x:f32 2,3",
         "classlabels_strings=['a','b','c'] vectors_per_class=[1,1] rho=[0.5] coefficients=[0.5]",
         "for each of two or more labels"},
        {"TreeEnsembleClassifier", "x:f32 2,3", "classlabels_strings=['a','b']", "no weights"},
        {"LabelEncoder", "x:i64 2", "keys_int64s=[1,2] values_strings=['a']",
         "a value for each of its keys"},
        {"LabelEncoder", "x:i64 2", "keys_int64s=[1,2]", "a value for each of its keys"},
        {"LabelEncoder", "x:i64 2", "keys_int64s=[1] values_strings=['a'] default_tensor=1",
         "its default_tensor is no element"},
        {"CategoryMapper", "x:i64 2", "cats_int64s=[1,2] cats_strings=['a']", "for each of its"},
        {"CategoryMapper", "x:i64 2", "cats_int64s=[1,2]", "for each of its texts"},
        {"OneHotEncoder", "x:i64 2", "zeros=1", "no categories"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(17);
        struct node *node =
            build_node(graph, cases[i].type, cases[i].inputs, cases[i].attributes, "y");

        free(node->domain);
        node->domain = strdup("ai.onnx.ml");
        build_output(graph, "y");
        refuse(graph, cases[i].text);
    }
}

#define MOE     "x:f32 2,4; r:f32 2,3; w:f32 3,8,4; -; v:f32 3,4,8"
#define QUERIES "q:f32 1,1,8; k:f32 1,1,8; v:f32 1,1,8; -; -; l:i32 1; t:i32"
#define TURNED  "x:f32 1,2,3,4; p:i64 3,1,3; c:f32 9,2; s:f32 9,2"

/* Of ONNX Runtime's own domain, and of the first operator sets. */
static void what_of_others_is_not_done_is_named(void **state)
{
    static const struct {
        const char *type, *inputs, *attributes, *text;
    } cases[] = {
        {"MoE", "x:f32 2,4; r:f32 2,3; w:f32; -; v:f32 3,4,8", "k=1", "weights is not known"},
        {"MoE", MOE, "activation_type='swiglu'", "its gates are in no product"},
        {"MoE", MOE, "activation_type='geglu'", "its activation is 'geglu'"},
        {"MoE", MOE, "use_sparse_mixer=1", "attribute use_sparse_mixer is set"},
        {"QMoE", "x:f32 2,4; r:f32 2,3; w:u8 3,8,2; s:f32 3,8; -; v:u8 3,4,4; t:f32 3,4", "k=1",
         "not constant whole numbers"},
        {"MRotaryEmbedding", TURNED, "mrope_section=[9223372036854775807,1,1]", "not three"},
        {"MRotaryEmbedding", TURNED, "mrope_section=[1,1]", "not three"},
        {"NhwcConv", "x:f32 1,4,4,2; w:f32", "", "how many axes its input has is not known"},
        {"UnfoldTensor", "x:f32 2,3", "size=0", "do not fit"},
        {"UnfoldTensor", "x:f32 2,3", "size=1 dim=5", "do not fit"},
        {"NGramRepeatBlock", "i:i64 1,2; s:f32 1,3", "ngram_size=0", "is no length"},
        {"ConvTransposeWithDynamicPads", "x:f32 1,1,2,2; w:f32 1,1,2,2; p:i64 4", "",
         "its pads are no constant list"},
        {"BiasSoftmax", "x:f32 2,3; b:f32 2,3", "axis=0", "not known to be the last"},
        {"GatedRMSNorm", "x:f32 2,4; s:f32 4; g:f32 2,4", "activation='relu'", "is 'relu'"},
        {"CausalConvWithState", "x:f32 1,2,3; w:f32 2,1,2", "dilation=2", "it is dilated"},
        {"LinearAttention", "q:f32 1,2,4; k:f32 1,2,4; v:f32 1,2,4", "state_window=2",
         "attribute state_window is set"},
        {"MatMulNBits", "x:f32 1,32; w:u8 1,1,16; s:f32 1",
         "K=32 N=1 bits=4 block_size=32 weight_prepacked=1", "laid out for a device"},
        {"GroupQueryAttention", QUERIES "; -; -; -; -; -; -; -; n:f32 8",
         "num_heads=1 kv_num_heads=1", "norms its queries or keys alone"},
        {"GroupQueryAttention", QUERIES, "num_heads=1 kv_num_heads=1 sliding_window_cache=1",
         "attribute sliding_window_cache is set"},
        {"RotaryEmbedding", "x:f32; p:i64; c:f32 4,2; s:f32 4,2", "", "one or two dimensions"},
        {"Crop", "x:f32 1,1,4,4", "border=[0,9223372036854775807,0,0] scale=[9,9]",
         "do not fit an image"},
        {"ImageScaler", "x:f32 1,1,4,4", "scale=0.5", "attribute bias is no list"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_first =
            strcmp(cases[i].type, "Crop") == 0 || strcmp(cases[i].type, "ImageScaler") == 0;
        struct graph *graph = build_graph(is_first ? 7 : 17);
        struct node *node =
            build_node(graph, cases[i].type, cases[i].inputs, cases[i].attributes, "y");

        free(node->domain);
        node->domain = strdup(is_first ? "" : "com.microsoft");
        build_output(graph, "y");
        refuse(graph, cases[i].text);
    }
}

/* `nodes` Negs one after the other. */
static struct graph *make_body(int inputs, int nodes)
{
    static const struct shape unknown = {.rank = -1};
    struct graph *body = build_graph(17);
    struct value *value = NULL;
    char name[16];

    for (int i = inputs; i-- > 0;) {
        snprintf(name, sizeof(name), "in%d", i);
        value = graph_add_value(body, name, DTYPE_NONE, &unknown, NULL);
    }
    for (int i = 0; i < inputs; i++) {
        snprintf(name, sizeof(name), "in%d", i);
        CHECK_OK(graph_add_input(body, graph_find_value(body, name)));
    }
    for (int i = 0; i < nodes; i++) {
        struct value *next = graph_add_value(body, NULL, DTYPE_NONE, &unknown, NULL);

        assert_non_null(graph_add_node(body, "Neg", "", NULL, &value, 1, &next, 1));
        value = next;
    }
    CHECK_OK(graph_add_output(body, value));
    return body;
}

static struct graph *mapped(const char *sequences, struct graph *body)
{
    struct graph *graph = build_graph(17);
    struct node *node;

    build_node(graph, "SequenceConstruct", "x:f32 2; y:f32 3", "", "a");
    build_node(graph, "SequenceConstruct", "x", "", "b");
    build_node(graph, "SequenceEmpty", "", "", "none");
    node = build_node(graph, "SequenceMap", sequences, "", "s");
    if (body)
        CHECK_OK(node_set_graph(node, "body", body));
    build_node(graph, "SequenceAt", "s; at:i64=0", "", "z");
    build_output(graph, "z");
    return graph;
}

static void maps_are_checked(void **state)
{
    struct graph *graph = mapped("a", make_body(1, 2));
    struct diag diag = {0};

    CHECK_OK(lower_graph(graph, &diag));
    lower_prune(graph);
    CHECK_OK(graph_sort(graph, &diag));
    assert_string_equal(graph_find_value(graph, "z")->producer->op_type, "Identity");
    graph_destroy(&graph);
    refuse(mapped("a", NULL), "its body does not fit");
    refuse(mapped("a", make_body(2, 1)), "its body does not fit");
    refuse(mapped("a; b", make_body(2, 1)), "of different lengths");
    refuse(mapped("none", make_body(1, 1)), "its sequences are empty");
    refuse(mapped("x", make_body(1, 1)), "which tensors are in its sequence is not known");
    refuse(mapped("a", make_body(1, 2048)), "its body is too large for each of 2 parts");
}

/* A Loop whose turns do with their sequence something else than to add to it. */
static struct graph *looped(const char *op_type, const char *trips)
{
    static const struct shape unknown = {.rank = -1};
    struct graph *graph = build_graph(17), *body = make_body(3, 0);
    struct value *inputs[] = {graph_find_value(body, "in2"), graph_find_value(body, "in0")};
    struct value *result = graph_add_value(body, "result", DTYPE_NONE, &unknown, NULL);
    struct value *condition = graph_add_value(body, "goes", DTYPE_NONE, &unknown, NULL);
    struct node *node;

    build_node(graph, "SequenceEmpty", "", "", "none");
    node = build_node(graph, "Loop", trips, "", "s");
    body->output_count = 0;
    graph_find_value(body, "in2")->is_output = false;
    assert_non_null(graph_add_node(body, "Not", "", NULL, &body->inputs[1], 1, &condition, 1));
    assert_non_null(graph_add_node(body, op_type, "", NULL, inputs, 2, &result, 1));
    CHECK_OK(graph_add_output(body, condition));
    CHECK_OK(graph_add_output(body, result));
    CHECK_OK(node_set_graph(node, "body", body));
    build_node(graph, "SequenceAt", "s; at:i64=0", "", "z");
    build_output(graph, "z");
    return graph;
}

static void loops_over_sequences_are_checked(void **state)
{
    struct graph *graph = looped("SequenceInsert", "m:i64; c:bool; none");
    struct diag diag = {0};

    CHECK_OK(lower_graph(graph, &diag));
    assert_string_equal(graph_find_value(graph, "z")->producer->op_type, "Gather");
    graph_destroy(&graph);
    refuse(looped("SequenceErase", "m:i64; c:bool; none"),
           "how a sequence changes from turn to turn");
    refuse(looped("SequenceInsert", "m:i64; c:bool; none; x:f32 1"), "its body does not fit");
    refuse(looped("SequenceInsert", "m:i64; c:bool; none; -"), "is left out");
}

/* What reads z, the second number of the sequence b. */
static struct graph *nested(const char *op_type, const char *inputs)
{
    struct graph *graph = build_graph(17);

    build_node(graph, "SequenceConstruct", "x:f32 2; y:f32 3", "", "a");
    build_node(graph, op_type, inputs, "", "b");
    build_node(graph, "SequenceAt", "b; at:i64=1", "", "z");
    build_output(graph, "z");
    return graph;
}

/* A body took the parts of one that holds itself for ever. */
static void sequences_hold_tensors(void **state)
{
    const char *text = "a sequence stands in a sequence";
    struct graph *graph;

    refuse(nested("SequenceConstruct", "x; a"), text);
    refuse(nested("SequenceInsert", "a; a"), text);
    graph = nested("SequenceInsert", "a; x");
    CHECK_OK(
        node_set_input(graph_find_value(graph, "a")->producer, 1, graph_find_value(graph, "a")));
    refuse(graph, text);
}

/* As operator set 8 had it, over a batch, or as those behind it. */
static struct graph *scanned(int64_t opset, const char *inputs, const char *attributes)
{
    struct graph *graph = build_graph(opset), *body = make_body(2, 0);
    struct node *node = build_node(graph, "Scan", inputs, attributes, "y; z");

    body->output_count = 0;
    CHECK_OK(graph_add_output(body, body->inputs[0]));
    CHECK_OK(graph_add_output(body, body->inputs[1]));
    CHECK_OK(node_set_graph(node, "body", body));
    build_output(graph, "y");
    build_output(graph, "z");
    return graph;
}

static void scans_are_checked(void **state)
{
    struct graph *graph = scanned(8, "-; x:f32 1,2; t:f32 1,3,2", "num_scan_inputs=1");
    struct diag diag = {0};

    CHECK_OK(lower_graph(graph, &diag));
    assert_string_equal(graph_find_value(graph, "y")->producer->op_type, "Unsqueeze");
    graph_destroy(&graph);
    refuse(scanned(8, "-; x:f32 1,2; t:f32 2,3,2", "num_scan_inputs=1"), "not known to be 1");
    refuse(scanned(8, "-; x:f32 ?; t:f32 1,3,2", "num_scan_inputs=1"), "not known to be 1");
    refuse(scanned(8, "n:i64 1; x:f32 1,2; t:f32 1,3,2", "num_scan_inputs=1"),
           "operator Scan of node \"Scan_0\" is not supported: it has a length for each");
    refuse(scanned(8, "-; x:f32 1,2", "num_scan_inputs=1"), "its body does not fit");
    refuse(scanned(8, "-; -; t:f32 1,3,2", "num_scan_inputs=1"), "input 1 is left out");
    refuse(scanned(8, "-", "num_scan_inputs=1"), "its body does not fit");
    refuse(scanned(8, "-; x:f32 1,2; t:f32 1,3,2", "num_scan_inputs=1 scan_input_axes=[0]"),
           "attribute scan_input_axes is not known");
    refuse(scanned(9, "x:f32 2; t:f32 3,2", "num_scan_inputs=1 directions=[0]"),
           "attribute directions is not known");
    refuse(scanned(9, "-; t:f32 3,2", "num_scan_inputs=1"), "input 0 is left out");
    refuse(scanned(7, "-; x:f32 1,2; t:f32 1,3,2", "num_scan_inputs=1"),
           "operator set 8 is the first");
}

/* Of training: lists of tensors that do not fit, what is left out, attributes that are needed. */
static void steps_are_checked(void **state)
{
    static const struct {
        const char *type, *inputs, *attributes, *outputs, *text;
    } cases[] = {
        {"Adagrad", "r:f32; t:i64; x:f32 2; g:f32 2; h:f32 2; i:f32 2", "", "y; z",
         "it has 6 inputs"},
        {"Adagrad", "r:f32; t:i64; x:f32 2; g:f32 2; h:f32 2", "", "y", "and 1 outputs"},
        {"Adagrad", "r:f32; t:i64; x:f32 2; g:f32 2; -", "", "y; z", "input 4 is left out"},
        {"Adagrad", "r:f32; -; x:f32 2; g:f32 2; h:f32 2", "", "y; z", "input 1 is left out"},
        {"Adagrad", "r:f32; t:i64; x:f32 2", "", "y; z", "it has 3 inputs"},
        {"Adam", "r:f32; t:i64; x:f32 2; g:f32 2; v:f32 2", "", "y; z", "it has 5 inputs"},
        {"Adam", "r:f32; t:i64; x:f32 2; g:f32 2; v:f32 2; h:f32 2", "mode='a'", "y; z; w",
         "attribute mode is not known"},
        {"Momentum", "r:f32; t:i64; x:f32 2; g:f32 2; v:f32 2", "alpha=0.5", "y; z",
         "it has no attribute beta"},
        {"Momentum", "r:f32; t:i64; x:f32 2; g:f32 2; v:f32 2",
         "alpha=0.5 beta=0.5 norm_coefficient=0.5 mode='other'", "y; z", "mode is 'other'"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = build_graph(17);
        struct node *node = build_node(graph, cases[i].type, cases[i].inputs, cases[i].attributes,
                                       cases[i].outputs);

        free(node->domain);
        node->domain = strdup("ai.onnx.preview.training");
        build_output(graph, "y");
        refuse(graph, cases[i].text);
    }
}

/* Input n is what somebody gives: so many elements, the first of which is this. */
static void learn(struct graph *graph, int64_t first, int64_t count)
{
    struct value *value = graph_find_value(graph, "n");
    int64_t numbers[2000] = {first};
    struct shape shape = {value->shape.rank == 0 ? 0 : 1, {count}};

    CHECK_OK(value_learn(value, &(struct tensor_view){DTYPE_I64, shape, numbers}));
}

/* The second tensor of what is split into parts of a size. */
static struct graph *split(int64_t size)
{
    struct graph *graph = build_graph(17);

    build_node(graph, "SplitToSequence", "s:f32 4; n:i64", "", "b");
    build_node(graph, "SequenceAt", "b; at:i64=1", "", "z");
    build_output(graph, "z");
    learn(graph, size, 1);
    return graph;
}

/* The second tensor of what is made of a, a sequence of two, and n. */
static struct graph *decided(const char *op_type, const char *inputs, int64_t number)
{
    struct graph *graph = nested(op_type, inputs);

    learn(graph, number, 1);
    return graph;
}

static void given_numbers_are_checked(void **state)
{
    static const int64_t outside[] = {3, -3, INT64_MAX, INT64_MIN};
    struct diag diag = {0};
    struct graph *graph = decided("SequenceInsert", "a; x; n:i64 1", -2);

    CHECK_OK(lower_graph(graph, &diag));
    assert_string_equal(graph_find_value(graph, "z")->producer->inputs[0]->name, "x");
    graph_destroy(&graph);
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        refuse(decided("SequenceInsert", "a; x; n:i64 1", outside[i]), "is not in a sequence of 2");
        refuse(decided("SequenceErase", "a; n:i64 1", outside[i]), "is not in a sequence of 2");
    }
    refuse(decided("SequenceErase", "a; n:i64 1", 1), "position 1 is not in a sequence of 1");
    refuse(split(0), "split into parts of 0");
    refuse(split(INT64_MIN), "split into parts of -9");
}

static void add_branch(struct node *node, const char *name, const char *op_type)
{
    struct graph *branch = build_graph(17);

    build_node(branch, op_type, "k:f32=1", "", "r");
    build_output(branch, "r");
    CHECK_OK(node_set_graph(node, name, branch));
}

/* What makes z, an If of Neg and Abs that `mover` leads n to, where n is 3, or nobody gives it. */
static void expect_moved(const char *mover, const char *moved, const char *attributes,
                         const char *op_type, const char *inputs, bool is_given,
                         const char *made_by)
{
    struct graph *graph = build_graph(17);
    struct diag diag = {0};
    struct node *node;

    build_node(graph, mover, moved, attributes, "m");
    build_node(graph, op_type, inputs, "", "c");
    build_node(graph, "Not", "c", "", "d");
    node = build_node(graph, "If", "d", "", "z");
    add_branch(node, "then_branch", "Neg");
    add_branch(node, "else_branch", "Abs");
    build_output(graph, "z");
    if (is_given)
        learn(graph, 3, 1);
    CHECK_OK(lower_graph(graph, &diag));
    assert_string_equal(graph_find_value(graph, "z")->producer->op_type, made_by);
    graph_destroy(&graph);
}

static void expect_branch(const char *op_type, const char *inputs, bool is_given,
                          const char *made_by)
{
    expect_moved("Squeeze", "n:i64 1", "", op_type, inputs, is_given, made_by);
}

static void known_conditions_take_their_branch(void **state)
{
    static const struct {
        const char *op_type, *inputs, *made_by;
    } cases[] = {
        {"Equal", "m; b:i64=3", "Abs"},          {"Equal", "m; b:i64=4", "Neg"},
        {"Less", "m; b:i64=4", "Abs"},           {"Less", "m; b:i64=3", "Neg"},
        {"Greater", "m; b:i64=2", "Abs"},        {"Greater", "b:i64=3; m", "Neg"},
        {"LessOrEqual", "m; b:i64=3", "Abs"},    {"LessOrEqual", "m; b:i64=2", "Neg"},
        {"GreaterOrEqual", "m; b:i64=3", "Abs"}, {"GreaterOrEqual", "b:i64=2; m", "Neg"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_branch(cases[i].op_type, cases[i].inputs, true, cases[i].made_by);
        expect_branch(cases[i].op_type, cases[i].inputs, false, "If");
    }
    expect_branch("Equal", "b:i64=2; a:i64=2", false, "Abs");
    expect_branch("Equal", "m; b:i64 2=3,3", true, "If");
    expect_moved("Gather", "n:i64 1; at:i64=0", "", "Equal", "m; b:i64=3", true, "Abs");
    expect_moved("Gather", "n:i64 1; at:i64 1=-1", "", "Equal", "m; b:i64=3", true, "Abs");
    expect_moved("Gather", "n:i64 1; at:i64=1", "", "Equal", "m; b:i64=3", true, "If");
    expect_moved("Gather", "n:i64 1; at:i64", "", "Equal", "m; b:i64=3", true, "If");
    expect_moved("Gather", "n:i64 1; at:i64=0", "", "Equal", "m; b:i64=3", false, "If");
    expect_moved("Cast", "n:i64 1", "to=7", "Equal", "m; b:i64=3", true, "Abs");
    expect_moved("Cast", "n:i64 1", "to=1", "Equal", "m; b:f32=3", true, "If");
    expect_moved("Neg", "n:i64 1", "", "Equal", "m; b:i64=3", true, "If");
    expect_branch("Equal", "x:f32; b:f32=3", true, "If");
}

/* Sizes are whole numbers: fewer bytes are not read as such, but cut as they are in a run. */
static void sizes_of_other_types_wait_for_the_run(void **state)
{
    static const struct {
        const char *inputs;
        enum dtype dtype;
    } cases[] = {{"s:f32 4; n:bool 2", DTYPE_BOOL}, {"s:f32 4; n:u8 2", DTYPE_U8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor_view view = {cases[i].dtype, {1, {2}}, (uint8_t[]){1, 1}};
        struct graph *graph = build_graph(17);
        struct diag diag = {0};

        build_node(graph, "SplitToSequence", cases[i].inputs, "", "b");
        build_node(graph, "SequenceAt", "b; at:i64=1", "", "z");
        build_output(graph, "z");
        CHECK_OK(value_learn(graph_find_value(graph, "n"), &view));
        CHECK_OK(lower_graph(graph, &diag));
        assert_string_equal(graph_find_value(graph, "z")->producer->op_type, "Slice");
        graph_destroy(&graph);
    }
}

/* What does not fit what the model says, or is long, is not kept. */
static void what_is_given_must_fit(void **state)
{
    static const int64_t counts[] = {2, 0, 1100};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct graph *graph = nested("SequenceErase", "a; n:i64 1");

        if (counts[i] != 2)
            graph_find_value(graph, "n")->shape.rank = -1;
        learn(graph, 0, counts[i]);
        assert_null(graph_find_value(graph, "n")->known);
        graph_destroy(&graph);
    }
}

static struct graph *flexible(const char *inputs, const char *attributes, struct graph *score)
{
    struct graph *graph = build_graph(26);
    struct node *node = build_node(graph, "FlexAttention", inputs, attributes, "y");

    free(node->domain);
    node->domain = strdup("ai.onnx.preview");
    if (score)
        CHECK_OK(node_set_graph(node, "score_mod", score));
    build_output(graph, "y");
    return graph;
}

static void attention_with_bodies_is_checked(void **state)
{
    const char *all = "q:f32 1,2,3,4; k:f32 1,2,5,4; v:f32 1,2,5,4";
    struct graph *graph = flexible(all, "", NULL);
    struct diag diag = {0};

    CHECK_OK(lower_graph(graph, &diag));
    assert_string_equal(graph_find_value(graph, "y")->producer->op_type, "Attention");
    graph_destroy(&graph);
    graph = flexible(all, "scale=0.5", make_body(1, 2));
    CHECK_OK(lower_graph(graph, &diag));
    assert_string_equal(graph_find_value(graph, "y")->producer->op_type, "CastLike");
    graph_destroy(&graph);
    refuse(flexible("q:f32 1,2,3,4; k:f32 1,2,5,4", "", NULL), "it has 2 inputs");
    refuse(flexible("q:f32 1,2,3,4; -; v:f32 1,2,5,4", "", NULL), "queries, keys and values");
    refuse(flexible(all, "softmax_precision=7", NULL), "softmax_precision is 7");
    refuse(flexible(all, "score_mod=1", NULL), "score_mod does not make one tensor");
    refuse(flexible(all, "", make_body(2, 1)), "score_mod does not make one tensor");
    refuse(flexible(all, "scale=-1.0", make_body(1, 1)), "scale is below 0");
    refuse(flexible(all, "mode=1", NULL), "attribute mode is not known");
}

/* Input i of a node, constants that are all alike. */
static void set_constants(struct graph *graph, struct node *node, uint32_t i, enum dtype dtype,
                          const struct shape *shape, const void *number)
{
    struct value *value = graph_add_value(graph, NULL, dtype, shape, NULL);
    size_t bytes = dtype_bytes(dtype), count = (size_t)shape_elements(shape);
    char *data = graph_alloc_data(count * bytes);

    assert_non_null(data);
    for (size_t at = 0; at < count; at++)
        memcpy(data + at * bytes, number, bytes);
    value_set_data(value, data);
    CHECK_OK(node_set_input(node, i, value));
}

/* A product by the weights of one column and 16 rows, or of 128 and 512, which are 1, 2, 1, 2, ... less 8, halved. */
static struct graph *build_blocks(int level, bool is_large)
{
    const struct shape quanta = {3, {is_large ? 128 : 1, is_large ? 16 : 1, is_large ? 16 : 8}};
    const struct shape scales = {2, {quanta.dims[0], quanta.dims[1]}};
    const uint8_t pair = 0x21;
    const float half = 0.5f;
    struct graph *graph = build_graph(17);
    struct node *node;
    char attributes[80];

    snprintf(attributes, sizeof(attributes), "K=%d N=%d bits=4 block_size=%d accuracy_level=%d",
             is_large ? 512 : 16, is_large ? 128 : 1, is_large ? 32 : 16, level);
    node =
        build_node(graph, "MatMulNBits", is_large ? "x:f32 2,512" : "x:f32 2,16", attributes, "y");
    set_constants(graph, node, 1, DTYPE_U8, &quanta, &pair);
    set_constants(graph, node, 2, DTYPE_F32, &scales, &half);
    free(node->domain);
    node->domain = strdup("com.microsoft");
    build_output(graph, "y");
    return graph;
}

/* Where activations may be rounded, or that is faster, weights of 4 bits stay so, but for a device; elsewhere they are
 * widened. */
static void weights_of_bits_are_kept(void **state)
{
    for (int i = 0; i < 10; i++) {
        bool is_large = i >= 5, is_kept = i % 5 == 4 || (is_large && kernel_blocks_pay()), yields;
        struct graph *graph = build_blocks(i % 5, is_large);
        struct diag diag = {0};
        struct node *node;
        const float *weights;

        assert_int_equal(lower_graph(graph, &diag), 0);
        node = graph_find_value(graph, "y")->producer;
        assert_string_equal(node->op_type, is_kept ? "BlockMatMul" : "MatMul");
        assert_int_equal(node_int(node, "accuracy_level", 0), is_kept ? i % 5 : 0);
        yields = is_kept && i % 5 != 4 && kernel_blocks_yield_to_bf16();
        assert_int_equal(lower_for_device(graph, false, DTYPE_NONE, &diag), 0);
        assert_int_equal(lower_for_device(graph, false, DTYPE_F16, &diag), 0);
        assert_int_equal(lower_for_device(graph, false, DTYPE_BF16, &diag), yields);
        assert_int_equal(lower_for_device(graph, true, DTYPE_NONE, &diag), is_kept && !yields);
        assert_int_equal(lower_for_device(graph, true, DTYPE_NONE, &diag), 0);
        node = graph_find_value(graph, "y")->producer;
        assert_string_equal(node->op_type, "MatMul");
        weights = node->inputs[1]->data;
        assert_true(weights[0] == 0.5f * (1 - 8));
        assert_true(weights[is_large ? 128 : 1] == 0.5f * (2 - 8));
        graph_destroy(&graph);
    }
}

/* What a graph of one node of com.microsoft gives, as a CPU has it or, with so many nodes replaced, a device. */
static float *evaluate_lowered(struct graph *graph, struct node *node, int replaced)
{
    struct diag diag = {0};
    float *y;

    free(node->domain);
    node->domain = strdup("com.microsoft");
    build_output(graph, "y");
    CHECK_OK(lower_graph(graph, &diag));
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    if (replaced > 0) {
        assert_int_equal(lower_for_device(graph, false, DTYPE_NONE, &diag), 0);
        assert_int_equal(lower_for_device(graph, true, DTYPE_NONE, &diag), replaced);
        CHECK_OK(shape_infer(graph, eval_node, &diag));
    }
    for (uint32_t i = 0; i < graph->value_count; i++) { /* what the node itself gave is nobody's */
        if (graph->values[i]->dtype != DTYPE_NONE)
            continue;
        graph->values[i]->dtype = DTYPE_F32;
        graph->values[i]->shape.rank = 0;
    }
    y = build_evaluate(graph, 0, 1);
    graph_destroy(&graph);
    return y;
}

static void assert_same(float *a, float *b, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(a[i] - b[i] < 1e-5f && b[i] - a[i] < 1e-5f);
    free(a);
    free(b);
}

/* A device computes all experts, of which those that were chosen are taken. */
static void experts_are_all_computed_on_a_device(void **state)
{
    for (int k = 1; k <= 3; k++) {
        float *y[2];
        char attributes[80];

        snprintf(attributes, sizeof(attributes), "k=%d activation_type='silu'", k);
        for (int device = 0; device < 2; device++) {
            struct graph *graph = build_graph(17);
            struct node *node =
                build_node(graph, "MoE",
                           "x:f32 5,4; r:f32 5,3; w:f32 3,8,4; a:f32 3,8; v:f32 3,4,8; b:f32 3,4",
                           attributes, "y");

            y[device] = evaluate_lowered(graph, node, device * 2);
        }
        assert_same(y[0], y[1], 5 * 4);
    }
}

/* A device has its weights widened. */
static void lstms_of_bytes_are_widened_for_a_device(void **state)
{
    static const struct shape w = {3, {1, 3, 20}}, r = {3, {1, 5, 20}}, one = {1, {1}};
    static const float scale = 0.01f;
    static const int8_t weight = 37, zero = -2;
    float *y[2];

    for (int device = 0; device < 2; device++) {
        struct graph *graph = build_graph(17);
        struct node *node =
            build_node(graph, "DynamicQuantizeLSTM",
                       "x:f32 1,2,3; w:i8; r:i8; b:f32 1,40; -; -; -; -; s:f32; z:i8; t:f32; n:i8",
                       "hidden_size=5", "y");

        set_constants(graph, node, 1, DTYPE_I8, &w, &weight);
        set_constants(graph, node, 2, DTYPE_I8, &r, &weight);
        for (uint32_t i = 8; i < 12; i++)
            set_constants(graph, node, i, i % 2 ? DTYPE_I8 : DTYPE_F32, &one,
                          i % 2 ? (const void *)&zero : (const void *)&scale);
        y[device] = evaluate_lowered(graph, node, device);
    }
    assert_same(y[0], y[1], 2 * 5);
}

/* Below the first of them, which OneHot would count from behind, and above the last nothing is hot. */
static void categories_in_a_row_are_one_hot(void **state)
{
    static const int hot[] = {-1, 0, 2, -1, -1, -1, 1, -1};
    struct graph *graph = build_graph(17);
    struct diag diag = {0};
    struct node *node =
        build_node(graph, "OneHotEncoder", "x:i64=2,3,5,6,-1,0,4,-9223372036854775807",
                   "cats_int64s=[3,4,5] zeros=1", "y");
    float *y;

    free(node->domain);
    node->domain = strdup("ai.onnx.ml");
    build_output(graph, "y");
    assert_int_equal(lower_graph(graph, &diag), 0);
    assert_string_equal(graph_find_value(graph, "y")->producer->op_type, "OneHot");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_int_equal(shape_elements(&graph->outputs[0]->shape), 8 * 3);
    for (uint32_t i = 0; i < graph->value_count; i++) { /* what the node itself gave is nobody's */
        if (graph->values[i]->dtype != DTYPE_NONE)
            continue;
        graph->values[i]->dtype = DTYPE_F32;
        graph->values[i]->shape.rank = 0;
    }
    y = build_evaluate(graph, 0, 1);
    for (int i = 0; i < 8 * 3; i++)
        assert_true(y[i] == (hot[i / 3] == i % 3 ? 1.0f : 0.0f));
    free(y);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learned_models_are_checked),
        cmocka_unit_test(what_of_others_is_not_done_is_named),
        cmocka_unit_test(sizes_of_other_types_wait_for_the_run),
        cmocka_unit_test(known_conditions_take_their_branch),
        cmocka_unit_test(maps_are_checked),
        cmocka_unit_test(loops_over_sequences_are_checked),
        cmocka_unit_test(sequences_hold_tensors),
        cmocka_unit_test(scans_are_checked),
        cmocka_unit_test(steps_are_checked),
        cmocka_unit_test(given_numbers_are_checked),
        cmocka_unit_test(what_is_given_must_fit),
        cmocka_unit_test(attention_with_bodies_is_checked),
        cmocka_unit_test(categories_in_a_row_are_one_hot),
        cmocka_unit_test(weights_of_bits_are_kept),
        cmocka_unit_test(experts_are_all_computed_on_a_device),
        cmocka_unit_test(lstms_of_bytes_are_widened_for_a_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
