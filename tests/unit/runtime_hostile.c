/* SPDX-License-Identifier: Apache-2.0 */
/* Every attribute of every operator with numbers, lists and words that nobody means: whatever comes
 * of it, a refusal has a sentence, and nothing crashes (the sanitizers watch). */
#include "tests/support/check.h"

#include <stdint.h>
#include <string.h>

#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/ops/table.h"
#include "tests/support/graph_build.h"

enum { ROUNDS = 40 };

/* Inputs that an operator takes with fitting attributes. */
static const struct {
    const char *op_type;
    int64_t opset;
    const char *inputs;
} forms[] = {
    {"ArgMax", 13, "x:f32 2,2=1,2,3,4"},
    {"Attention", 24, "q:f32 1,1,2=1,1;k:f32 1,1,2=3,3;v:f32 1,1,2=10,20"},
    {"AveragePool", 22, "x:f32 1,1,3,3=1,2,3,4,5,6,7,8,9"},
    {"BatchNormalization", 15, "x:f64 1,1,2=1,3;s:f64=2;b:f64=1;m:f64=7;v:f64=5"},
    {"BatchNormalization", 7, "x:f32 1,1,2=1,3;s:f32=2;b:f32=1;m:f32=7;v:f32=5"},
    {"Cast", 13, "x:f32=1,2"},
    {"CenterCropPad", 18, "x:i64 1,4=1,2,3,4;s:i64=5"},
    {"Attention", 24, "q:f32 1,1,0=;k:f32 1,1,0=;v:f32 1,1,0="},
    {"Add", 6, "x:f32 2,2=1,2,3,4;y:f32=1,2"},
    {"Clip", 6, "x:f16=1,2"},
    {"Compress", 11, "x:f32 2,2=1,2,3,4;c:bool=0,1"},
    {"Concat", 13, "x:f32 1,2=1,2;y:f32 1,2=3,4"},
    {"Conv", 22, "x:f64 1,2,3=1,2,3,4,5,6;w:f64 2,1,2=1,2,3,4"},
    {"Conv", 22, "x:f32 1,2,3,3=1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9;w:f32 2,1,1,1=1,2"},
    {"ConvInteger", 10, "x:u8 1,1,3=1,2,3;w:u8 1,1,2=1,2"},
    {"ConvTranspose", 22, "x:f32 1,2,2=1,2,3,4;w:f32 2,1,2=1,2,3,4"},
    {"CumSum", 14, "x:i32=1,2,3;a:i32=0"},
    {"DepthToSpace", 13, "x:f32 1,4,1,1=1,2,3,4"},
    {"DequantizeLinear", 21, "x:u8 2,2=1,2,3,4;s:f32=1,2"},
    {"Dropout", 13, "x:f32=1,2"},
    {"Einsum", 12, "x:f32 2,2=1,2,3,4"},
    {"Elu", 6, "x:f32=-1,2"},
    {"EyeLike", 22, "x:i32 2,3=0,0,0,0,0,0"},
    {"Flatten", 13, "x:f32 1,2=1,2"},
    {"GRU", 14, "x:f32 1,1,1=1;w:f32 1,3,1=1,1,1;r:f32 1,3,1=1,1,1"},
    {"Gather", 13, "x:f32 2,2=1,2,3,4;i:i64=0"},
    {"GatherElements", 13, "x:i8 2,2=1,2,3,4;i:i32 2,2=0,0,-1,0"},
    {"GatherND", 12, "x:f64 2,2=1,2,3,4;i:i64 2,1=1,0"},
    {"Gelu", 20, "x:f32=1,2"},
    {"Gemm", 13, "a:i32 2,2=1,2,3,4;b:i32 2,2=1,2,3,4;c:i32=1,2"},
    {"GlobalLpPool", 2, "x:f32 1,1,2=3,4"},
    {"GridSample", 20, "x:f32 1,1,2,2=1,2,3,4;g:f32 1,1,2,2=0,0,-9,9"},
    {"GroupNormalization", 21, "x:f32 1,2,2=1,3,5,9;s:f32=1,2;b:f32=0,1"},
    {"GroupNormalization", 21, "x:f32 1,0,2=;s:f32 0=;b:f32 0="},
    {"Hardmax", 11, "x:f32 2,2=3,3,1,2"},
    {"IsInf", 20, "x:f16=1,2"},
    {"LRN", 13, "x:f64 1,3,1=1,2,3"},
    {"LRN", 13, "x:f32 1,3,1=1,2,3"},
    {"LSTM", 14, "x:f32 1,1,1=1;w:f32 1,4,1=1,1,1,1;r:f32 1,4,1=1,1,1,1"},
    {"LayerNormalization", 17, "x:f32 1,2=1,3;s:f32=2,2"},
    {"LogSoftmax", 13, "x:f32 2,2=0,0,1,1"},
    {"LpNormalization", 22, "x:f32 2,2=0,0,1,3"},
    {"LpPool", 18, "x:f32 1,1,3=3,-4,0"},
    {"MaxPool", 22, "x:i8 1,1,3,3=1,2,3,4,5,6,7,8,9"},
    {"MeanVarianceNormalization", 13, "x:f32 1,1,1,2=1,3"},
    {"Mod", 13, "x:i32=-4;y:i32=0"},
    {"NonMaxSuppression", 11, "b:f32 1,1,4=0,0,1,1;s:f32 1,1,1=0.9;n:i64 =3"},
    {"OneHot", 11, "i:f32=1,-1,7;d:i32=2;v:i8=5,6"},
    {"Pad", 2, "x:f32=1,2"},
    {"Pad", 2, "x:f32=1,2;p:i64=3,3"},
    {"Pad", 19, "x:f32=1,2;p:i64=1,1"},
    {"QLinearConv", 10,
     "x:u8 1,1,2=10,20;s:f32 =0.5;z:u8 =0;w:i8 2,1,1=1,-2;t:f32=1,2;e:i8=0,0;u:f32 =1;v:i8 =1"},
    {"QuantizeLinear", 23, "x:f32 1,4=1,2,30,40;s:f32 1,2=1,10"},
    {"RMSNormalization", 23, "x:f32 1,2=1,7;s:f32=1,10"},
    {"RNN", 14, "x:f32 1,1,1=1;w:f32 1,1,1=1;r:f32 1,1,1=1"},
    {"ReduceSum", 11, "x:f32 2,2=1,2,3,4"},
    {"ReduceSum", 16, "x:f32 2,2=1,2,3,4"},
    {"ReduceSum", 11, "x:f32 2,2=1,2,3,4;a:i64=1"},
    {"ReduceL2", 18, "x:f32 2,2=1,2,3,4"},
    {"Reshape", 14, "x:f32 2,2=1,2,3,4;s:i64=4,-1"},
    {"Resize", 18, "x:f32 2,4=1,2,3,4,5,6,7,8;-;-;n:i64=1,3"},
    {"ReverseSequence", 10, "x:i32 2,2=1,2,3,4;n:i64=2,1"},
    {"RoiAlign", 16, "x:f32 1,1,2,2=0,1,2,3;r:f32 1,4=0,0,2,2;i:i64=0"},
    {"RotaryEmbedding", 23, "x:f32 1,1,4=1,2,3,4;c:f32 1,1,2=0,1;s:f32 1,1,2=1,0"},
    {"ScatterElements", 18, "x:f32=1,2,3;i:i64=1,-3;u:f32=9,8"},
    {"ScatterND", 18, "x:i32 2,2=1,2,3,4;i:i64 1,1=1;u:i32 1,2=5,6"},
    {"Shape", 15, "x:f32 2,3=1,2,3,4,5,6"},
    {"Slice", 1, "x:f32 2,2=1,2,3,4"},
    {"Slice", 1, "x:f32 2,2=1,2,3,4;-;-;-;t:i64=2,2"},
    {"Slice", 13, "x:f32 2,2=1,2,3,4;s:i64=0;e:i64=1"},
    {"Softmax", 13, "x:f32 2,2=0,0,0,5"},
    {"SpaceToDepth", 13, "x:f32 1,1,2,2=1,2,3,4"},
    {"Split", 18, "x:f32=1,2,3,4"},
    {"Split", 11, "x:f32=1,2,3,4"},
    {"Split", 11, "x:f32=1,2,3,4;s:i64=1,3"},
    {"Squeeze", 11, "x:f32 1,2,1=1,2"},
    {"TensorScatter", 24, "x:f32 1,3,1=1,2,3;u:f32 1,2,1=8,9;i:i64=1"},
    {"TopK", 1, "x:f32 4=3,9,8,1"},
    {"TopK", 11, "x:f32 1,4=3,9,9,1;k:i64=3"},
    {"Transpose", 13, "x:f32 1,2=1,2"},
    {"Trilu", 14, "x:bool 2,2=1,1,1,1"},
    {"Unsqueeze", 11, "x:f32=1,2"},
    {"Upsample", 7, "x:f32=1,3"},
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Nothing between "a few" and "far too many": that would only take long. */
static int64_t hostile_int(uint64_t *state)
{
    static const int64_t ints[] = {
        0, 1, 2, 3, 4, -1, -2, -3, 7, INT64_MAX, INT64_MIN, INT64_MAX / 2, (int64_t)1 << 33};

    return ints[next_random(state) % (sizeof(ints) / sizeof(ints[0]))];
}

static void set_hostile(struct node *node, const char *name, uint64_t *state)
{
    static const char *const words[] = {"",     "linear",  "SAME_UPPER", "nope", "i...j->...j",
                                        "Tanh", "reflect", "max",        "ii",   "bidirectional"};
    static const float floats[] = {0.0f, -1.0f, 2.0f, 1e30f, 1e-30f};
    const char *strings[3];
    int64_t ints[6];
    size_t count = next_random(state) % 7;

    for (size_t i = 0; i < 6; i++)
        ints[i] = next_random(state) % 4 ? (int64_t)(next_random(state) % 3) : hostile_int(state);
    for (size_t i = 0; i < 3; i++)
        strings[i] = words[next_random(state) % 10];
    switch (next_random(state) % 8) {
    case 0:
        CHECK_OK(node_set_float(node, name, floats[next_random(state) % 5]));
        break;
    case 1:
        CHECK_OK(node_set_string(node, name, strings[0], strlen(strings[0])));
        break;
    case 2:
        CHECK_OK(node_set_floats(node, name, floats, count % 5));
        break;
    case 3:
        CHECK_OK(node_set_strings(node, name, strings, count % 4));
        break;
    case 4:
    case 5:
        CHECK_OK(node_set_ints(node, name, ints, count > 6 ? 6 : count));
        break;
    default:
        CHECK_OK(node_set_int(node, name, hostile_int(state)));
        break;
    }
}

static const char *attributes_of(const char *op_type)
{
    for (size_t i = 0; i < op_row_count; i++)
        if (strcmp(op_rows[i].type, op_type) == 0)
            return op_rows[i].attributes;
    fail_msg("no operator %s", op_type);
    return "";
}

/* Each attribute with a chance of one half. */
static void set_some(struct node *node, uint64_t *state)
{
    char *names = strdup(attributes_of(node->op_type)), *rest = NULL;

    assert_non_null(names);
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (next_random(state) % 2)
            set_hostile(node, name, state);
    free(names);
}

static void nothing_crashes(void **state)
{
    int accepted = 0, refused = 0;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        uint64_t random = i + 1;

        for (int round = 0; round < ROUNDS; round++) {
            struct graph *graph = build_graph(forms[i].opset);
            struct diag diag = {0};
            struct node *node = build_node(graph, forms[i].op_type, forms[i].inputs, "",
                                           round % 2 ? "y0" : "y0;y1");

            set_some(node, &random);
            build_output(graph, "y0");
            if (shape_infer(graph, eval_node, &diag) == 0) {
                accepted++;
            } else {
                refused++;
                if (diag.text[0] == '\0')
                    fail_msg("%s is refused without a word", forms[i].op_type);
            }
            graph_destroy(&graph);
        }
    }
    assert_true(accepted > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_crashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
