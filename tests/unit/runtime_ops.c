/* SPDX-License-Identifier: Apache-2.0 */
/* Operators against answers worked out by hand from the ONNX specification: the graph is inferred
 * for the contents of its inputs and each node computed with the reference kernels. */
#include "tests/support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/element.h"
#include "runtime/eval.h"
#include "runtime/shape/shape.h"
#include "tests/support/graph_build.h"

/* One node of one operator set. Inputs are constants; text as build_node() takes it. */
struct example {
    const char *op_type;
    int64_t opset;
    const char *inputs, *attributes;
    const char *type; /* of the result, as build_type_text() */
    double want[8];   /* its first elements */
    uint32_t output;  /* which of its results; those before it are made too */
};

static void check_values(const struct example *e, const struct value *value)
{
    int64_t count = shape_elements(&value->shape);

    for (int64_t i = 0; i < count && i < 8; i++) {
        double got = (double)element_get(value->known, value->dtype, i), want = e->want[i];
        double room = value->dtype == DTYPE_F16 ? 2e-3 : 2e-6;

        if (isnan(want) ? !isnan(got)
                        : !(fabs(got - want) <= room * (1 + fabs(want))) && got != want)
            fail_msg("%s (opset %d) %s: element %d is %.9g, not %.9g", e->op_type, (int)e->opset,
                     e->inputs, (int)i, got, want);
    }
}

static void check_example(const struct example *e)
{
    static const char *const names[] = {"y0", "y0;y1", "y0;y1;y2"};
    struct graph *graph = build_graph(e->opset);
    struct diag diag = {0};
    char name[] = "y0", text[100];
    const struct value *value;

    name[1] = (char)('0' + e->output);
    build_node(graph, e->op_type, e->inputs, e->attributes, names[e->output]);
    build_output(graph, name);
    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s: %s", e->op_type, diag.text);
    value = graph_find_value(graph, name);
    if (strcmp(build_type_text(value, text), e->type) != 0)
        fail_msg("%s %s gives %s, not %s", e->op_type, e->inputs, text, e->type);
    assert_non_null(value->known);
    check_values(e, value);
    graph_destroy(&graph);
}

static const struct example elementwise[] = {
    {"Abs", 13, "x:i8=-128,-3,0,7", "", "i8 4", {-128, 3, 0, 7}, 0},
    {"Abs", 13, "x:f16=-1.5,2", "", "f16 2", {1.5, 2}, 0},
    {"Acos", 7, "x:f64=1,0.5", "", "f64 2", {0, 1.0471975511965979}, 0},
    {"Acosh", 9, "x:f32=1,2", "", "f32 2", {0, 1.3169579}, 0},
    {"Asin", 7, "x:f32=1", "", "f32 1", {1.5707963}, 0},
    {"Asinh", 9, "x:f32=1", "", "f32 1", {0.88137359}, 0},
    {"Atan", 7, "x:f32=1", "", "f32 1", {0.78539816}, 0},
    {"Atanh", 9, "x:f32=0.5", "", "f32 1", {0.54930614}, 0},
    {"Ceil", 13, "x:f32=-1.5,1.2", "", "f32 2", {-1, 2}, 0},
    {"Celu", 12, "x:f32=-1,2", "alpha=2.0", "f32 2", {-0.78693868, 2}, 0},
    {"Cos", 7, "x:f32=0,1", "", "f32 2", {1, 0.54030231}, 0},
    {"Cosh", 9, "x:f32=1", "", "f32 1", {1.5430806}, 0},
    {"Elu", 6, "x:f32=-1,2", "alpha=2.0", "f32 2", {-1.2642411, 2}, 0},
    {"Erf", 9, "x:f32=0.5,-3", "", "f32 2", {0.52049988, -0.99997791}, 0},
    {"Exp", 13, "x:f64=1", "", "f64 1", {2.718281828459045}, 0},
    {"Floor", 13, "x:f32=-1.5,1.2", "", "f32 2", {-2, 1}, 0},
    {"Gelu", 20, "x:f32=1,-1", "", "f32 2", {0.84134475, -0.15865525}, 0},
    {"Gelu", 20, "x:f32=1,-1", "approximate='tanh'", "f32 2", {0.84119199, -0.15880801}, 0},
    {"HardSigmoid", 6, "x:f32=-9,1,9", "", "f32 3", {0, 0.7, 1}, 0},
    {"HardSwish", 14, "x:f32=-4,1,4", "", "f32 3", {0, 0.66666667, 4}, 0},
    {"IsInf", 20, "x:f16=inf,-inf,1", "detect_negative=0", "bool 3", {1, 0, 0}, 0},
    {"Log", 13, "x:f32=2,0", "", "f32 2", {0.69314718, -INFINITY}, 0},
    {"Mish", 18, "x:f32=1", "", "f32 1", {0.86509839}, 0},
    {"Neg", 13, "x:i64=5,-7", "", "i64 2", {-5, 7}, 0},
    {"Not", 1, "x:bool=1,0", "", "bool 2", {0, 1}, 0},
    {"Reciprocal", 13, "x:f32=4,0", "", "f32 2", {0.25, INFINITY}, 0},
    {"Relu", 14, "x:i32=-4,9", "", "i32 2", {0, 9}, 0},
    {"Round", 11, "x:f32=0.5,1.5,2.5,-1.5,-2.7", "", "f32 5", {0, 2, 2, -2, -3}, 0},
    {"Selu", 6, "x:f32=-1,1", "", "f32 2", {-1.1113307, 1.050701}, 0},
    {"Shrink", 9, "x:f32=-2,0.4,2", "lambd=1.5 bias=1.5", "f32 3", {-0.5, 0, 0.5}, 0},
    {"Sign", 13, "x:f32=-2,0,2", "", "f32 3", {-1, 0, 1}, 0},
    {"Sin", 7, "x:f32=1", "", "f32 1", {0.84147098}, 0},
    {"Sinh", 9, "x:f32=1", "", "f32 1", {1.1752012}, 0},
    {"Softplus", 1, "x:f32=0,100", "", "f32 2", {0.69314718, 100}, 0},
    {"Softsign", 1, "x:f32=-1,3", "", "f32 2", {-0.5, 0.75}, 0},
    {"Sqrt", 13, "x:f16=4,-1", "", "f16 2", {2, NAN}, 0},
    {"Swish", 24, "x:f32=1", "alpha=2.0", "f32 1", {0.88079708}, 0},
    {"Tan", 7, "x:f32=1", "", "f32 1", {1.5574077}, 0},
    {"Tanh", 13, "x:f64=1", "", "f64 1", {0.76159415595576485}, 0},
    {"ThresholdedRelu", 10, "x:f32=1,3", "alpha=2.0", "f32 2", {0, 3}, 0},
    {"Clip", 13, "x:i8=-9,3,9;lo:i8=-5;hi:i8=4", "", "i8 3", {-5, 3, 4}, 0},
    {"Add", 14, "x:u8=250,3;y:u8=10,4", "", "u8 2", {4, 7}, 0},
    {"Sub", 14, "x:f16=2.5;y:f16=1", "", "f16 1", {1.5}, 0},
    {"Div", 14, "x:i32=-7,7;y:i32=2", "", "i32 2", {-3, 3}, 0},
    {"Mul", 14, "x:i8=100;y:i8=3", "", "i8 1", {44}, 0},
    {"And", 7, "x:bool 2,1=1,0;y:bool=1,0", "", "bool 2,2", {1, 0, 0, 0}, 0},
    {"Or", 7, "x:bool=1,0;y:bool=0,0", "", "bool 2", {1, 0}, 0},
    {"Xor", 7, "x:bool=1,0;y:bool=1,1", "", "bool 2", {0, 1}, 0},
    {"Equal", 19, "x:f16=1,2;y:f16=1,3", "", "bool 2", {1, 0}, 0},
    {"Greater", 13, "x:i64=1,2;y:i64=1", "", "bool 2", {0, 1}, 0},
    {"GreaterOrEqual", 16, "x:u8=200,1;y:u8=100", "", "bool 2", {1, 0}, 0},
    {"Less", 13, "x:f32=1,2;y:f32=2", "", "bool 2", {1, 0}, 0},
    {"LessOrEqual", 16, "x:f32=1,2,3;y:f32=2", "", "bool 3", {1, 1, 0}, 0},
    {"Mod", 13, "x:i32=-4,7,5;y:i32=3,-3,0", "", "i32 3", {2, -2, 0}, 0},
    {"Mod", 13, "x:f32=-4.5;y:f32=2", "fmod=1", "f32 1", {-0.5}, 0},
    {"Pow", 15, "x:i32=2,3;y:f32=3,2", "", "i32 2", {8, 9}, 0},
    {"Pow", 15, "x:f32=2,4;y:i64=-1,2", "", "f32 2", {0.5, 16}, 0},
    {"PRelu", 16, "x:f32=-2,2;s:f32=0.5", "", "f32 2", {-1, 2}, 0},
    {"PRelu", 6, "x:f32 1,2,2=-1,-1,-1,-1;s:f32=2,3", "", "f32 1,2,2", {-2, -2, -3, -3}, 0},
    {"Max", 13, "x:i32=1,5;y:i32=3;z:i32=2,9", "", "i32 2", {3, 9}, 0},
    {"Min", 13, "x:f32=1,5;y:f32 2,1=3,0", "", "f32 2,2", {1, 3, 0, 0}, 0},
    {"Mean", 13, "x:f32=1,5;y:f32=3;z:f32=2", "", "f32 2", {2, 3.3333333}, 0},
    {"Where", 16, "c:bool 2,1=1,0;x:i8=1,2;y:i8=7", "", "i8 2,2", {1, 2, 7, 7}, 0},
    {"Cast", 13, "x:f32=-1.7,300,2.5", "to=3", "i8 3", {-1, 127, 2}, 0},
    {"Cast", 13, "x:f64=65504,70000,0.1", "to=10", "f16 3", {65504, INFINITY, 0.1}, 0},
    {"CastLike", 19, "x:f32=1.5;t:i64=3", "", "i64 1", {1}, 0},
};

static const struct example reduce[] = {
    {"ReduceSum", 13, "x:i32 2,2=1,2,3,4;a:i64=-1", "keepdims=0", "i32 2", {3, 7}, 0},
    {"ReduceSum", 13, "x:f32 2,2=1,2,3,4", "noop_with_empty_axes=1", "f32 2,2", {1, 2, 3, 4}, 0},
    {"ReduceSum", 11, "x:f32 2,2=1,2,3,4", "axes=[0]", "f32 1,2", {4, 6}, 0},
    {"ReduceSum", 13, "x:f32 0,2=;a:i64=0", "", "f32 1,2", {0, 0}, 0},
    {"ReduceMean", 18, "x:f16 2,2=1,2,3,5", "keepdims=0", "f16", {2.75}, 0},
    {"ReduceL1", 18, "x:f64 1,2=-3,4;a:i64=1", "", "f64 1,1", {7}, 0},
    {"ReduceL2", 18, "x:f32 1,2=-3,4;a:i64=1", "", "f32 1,1", {5}, 0},
    {"ReduceLogSum", 18, "x:f32=1,2;a:i64=0", "", "f32 1", {1.0986123}, 0},
    {"ReduceLogSumExp", 18, "x:f32=1000,1000;a:i64=0", "", "f32 1", {1000.6931}, 0},
    {"ReduceMax", 20, "x:i8 2,2=-5,2,7,-9;a:i64=0", "", "i8 1,2", {7, 2}, 0},
    {"ReduceMin", 20, "x:bool=1,0,1", "", "bool 1", {0}, 0},
    {"ReduceProd", 18, "x:i64=2,3,4", "", "i64 1", {24}, 0},
    {"ReduceSumSquare", 18, "x:f32=2,3", "", "f32 1", {13}, 0},
    {"ArgMax", 13, "x:u8 2,3=1,9,9,4,0,2", "axis=1", "i64 2,1", {1, 0}, 0},
    {"ArgMax", 13, "x:f32=1,9,9", "select_last_index=1 keepdims=0", "i64", {2}, 0},
    {"ArgMin", 13, "x:f16 2,2=1,9,0,4", "keepdims=0", "i64 2", {1, 1}, 0},
    {"LogSoftmax", 13, "x:f32=0,0", "", "f32 2", {-0.69314718, -0.69314718}, 0},
    {"Softmax",
     13,
     "x:f64 2,2=0,0,0,5",
     "axis=0",
     "f64 2,2",
     {0.5, 0.0066928509, 0.5, 0.99330715},
     0},
    {"Softmax", 11, "x:f64 1,2,2=0,0,0,0", "", "f64 1,2,2", {0.25, 0.25, 0.25, 0.25}, 0},
    {"Hardmax", 13, "x:f32 2,2=3,3,1,2", "", "f32 2,2", {1, 0, 0, 1}, 0},
    {"LpNormalization", 22, "x:f32=3,4", "", "f32 2", {0.6, 0.8}, 0},
    {"LpNormalization", 22, "x:f32 2,2=0,0,1,3", "p=1 axis=1", "f32 2,2", {0, 0, 0.25, 0.75}, 0},
    {"CumSum", 14, "x:i32=1,2,3;a:i32=0", "", "i32 3", {1, 3, 6}, 0},
    {"CumSum", 14, "x:f32=1,2,3;a:i64=-1", "exclusive=1 reverse=1", "f32 3", {5, 3, 0}, 0},
    {"LayerNormalization",
     17,
     "x:f32 1,2=1,3;s:f32=2,2;b:f32=0.5,0",
     "epsilon=3.0",
     "f32 1,2",
     {-0.5, 1},
     0},
    {"LayerNormalization", 17, "x:f32 1,2=1,3;s:f32=2,2", "epsilon=3.0", "f32 1,1", {2}, 1},
    {"LayerNormalization", 17, "x:f32 1,2=1,3;s:f32=2,2", "epsilon=3.0", "f32 1,1", {0.5}, 2},
    {"RMSNormalization", 23, "x:f32 1,2=1,7;s:f32=1,10", "epsilon=0.0", "f32 1,2", {0.2, 14}, 0},
    {"GroupNormalization",
     21,
     "x:f32 1,2,2=1,3,5,9;s:f32=1,2;b:f32=0,1",
     "num_groups=2 epsilon=0.0",
     "f32 1,2,2",
     {-1, 1, -1, 3},
     0},
    {"GroupNormalization",
     18,
     "x:f32 1,2,1=1,3;s:f32=2;b:f32=1",
     "num_groups=1 epsilon=0.0",
     "f32 1,2,1",
     {-1, 3},
     0},
    {"InstanceNormalization",
     6,
     "x:f32 1,2,2=1,3,5,9;s:f32=1,2;b:f32=0,1",
     "epsilon=0.0",
     "f32 1,2,2",
     {-1, 1, -1, 3},
     0},
    {"MeanVarianceNormalization", 13, "x:f32 1,1,1,2=1,3", "", "f32 1,1,1,2", {-1, 1}, 0},
};

static const struct example index_examples[] = {
    {"GatherElements",
     13,
     "x:i8 2,2=1,2,3,4;i:i32 2,2=0,0,-1,0",
     "axis=1",
     "i8 2,2",
     {1, 1, 4, 3},
     0},
    {"ScatterElements", 18, "x:f32=1,2,3;i:i64=1,-3;u:f32=9,8", "", "f32 3", {8, 9, 3}, 0},
    {"ScatterElements",
     18,
     "x:u8=1,2,3;i:i64=1,1;u:u8=9,8",
     "reduction='max'",
     "u8 3",
     {1, 9, 3},
     0},
    {"ScatterElements",
     16,
     "x:f16=1,2,3;i:i64=1,1;u:f16=9,8",
     "reduction='add'",
     "f16 3",
     {1, 19, 3},
     0},
    {"GatherND", 12, "x:f64 2,2=1,2,3,4;i:i64 2,1=1,0", "batch_dims=1", "f64 2", {2, 3}, 0},
    {"GatherND", 11, "x:i64 2,2=1,2,3,4;i:i64 1,1=-1", "", "i64 1,2", {3, 4}, 0},
    {"ScatterND",
     16,
     "x:i32 2,2=1,2,3,4;i:i64 1,1=1;u:i32 1,2=5,6",
     "reduction='mul'",
     "i32 2,2",
     {1, 2, 15, 24},
     0},
    {"TopK", 11, "x:f32 1,4=3,9,9,1;k:i64=3", "", "f32 1,3", {9, 9, 3}, 0},
    {"TopK", 11, "x:i64 4=3,9,9,1;k:i64=2", "largest=0", "i64 2", {3, 0}, 1},
    {"TopK", 1, "x:f32 4=3,9,8,1", "k=2", "i64 2", {1, 2}, 1},
    {"NonZero", 13, "x:bool 2,2=1,0,1,1", "", "i64 2,3", {0, 1, 1, 0, 0, 1}, 0},
    {"Compress", 11, "x:f32 2,2=1,2,3,4;c:bool=0,1", "axis=1", "f32 2,1", {2, 4}, 0},
    {"Compress", 11, "x:f32 2,2=1,2,3,4;c:bool=0,1,1", "", "f32 2", {2, 3}, 0},
    {"OneHot", 11, "i:f32=1,-1,7;d:i32=2;v:i8=5,6", "axis=0", "i8 2,3", {5, 5, 5, 6, 6, 5}, 0},
    {"ReverseSequence", 10, "x:i32 2,2=1,2,3,4;n:i64=2,1", "", "i32 2,2", {3, 2, 1, 4}, 0},
    {"TensorScatter",
     24,
     "x:f32 1,3,1=1,2,3;u:f32 1,2,1=8,9;i:i64=2",
     "mode='circular'",
     "f32 1,3,1",
     {9, 2, 8},
     0},
    {"Trilu", 14, "x:i64 2,2=1,2,3,4;k:i64 =1", "", "i64 2,2", {0, 2, 0, 0}, 0},
    {"Trilu", 14, "x:bool 2,2=1,1,1,1", "upper=0", "bool 2,2", {1, 0, 1, 1}, 0},
};

static const struct example make[] = {
    {"Range", 11, "s:i32 =10;e:i32 =4;d:i32 =-2", "", "i32 3", {10, 8, 6}, 0},
    {"Range", 11, "s:f32 =1;e:f32 =2;d:f32 =0.25", "", "f32 4", {1, 1.25, 1.5, 1.75}, 0},
    {"EyeLike", 22, "x:i32 2,3=0,0,0,0,0,0", "k=1 dtype=1", "f32 2,3", {0, 1, 0, 0, 0, 1}, 0},
    {"Size", 13, "x:u8 2,3=0,0,0,0,0,0", "", "i64", {6}, 0},
    {"Split", 18, "x:f32=1,2,3,4,5", "num_outputs=2", "f32 2", {4, 5}, 1},
    {"Split", 13, "x:f32 2,3=1,2,3,4,5,6;s:i64=1,2", "axis=1", "f32 2,2", {2, 3, 5, 6}, 1},
    {"Split", 11, "x:i8=1,2,3", "split=[2,1]", "i8 1", {3}, 1},
    {"DepthToSpace",
     13,
     "x:f32 1,4,1,2=1,2,3,4,5,6,7,8",
     "blocksize=2",
     "f32 1,1,2,4",
     {1, 3, 2, 4, 5, 7, 6, 8},
     0},
    {"DepthToSpace",
     13,
     "x:f32 1,8,1,1=1,2,3,4,5,6,7,8",
     "blocksize=2 mode='CRD'",
     "f32 1,2,2,2",
     {1, 2, 3, 4, 5, 6, 7, 8},
     0},
    {"DepthToSpace",
     13,
     "x:f32 1,8,1,1=1,2,3,4,5,6,7,8",
     "blocksize=2",
     "f32 1,2,2,2",
     {1, 3, 5, 7, 2, 4, 6, 8},
     0},
    {"SpaceToDepth",
     13,
     "x:f32 1,1,2,4=1,3,2,4,5,7,6,8",
     "blocksize=2",
     "f32 1,4,1,2",
     {1, 2, 3, 4, 5, 6, 7, 8},
     0},
    {"CenterCropPad", 18, "x:i64 2,4=1,2,3,4,5,6,7,8;s:i64=3,1", "", "i64 3,1", {2, 6, 0}, 0},
    {"CenterCropPad", 18, "x:i64 1,4=1,2,3,4;s:i64=5", "axes=[1]", "i64 1,5", {1, 2, 3, 4, 0}, 0},
    {"Dropout", 13, "x:f32=3,4", "", "bool 2", {1, 1}, 1},
    {"Pad", 19, "x:i32=1,2,3;p:i64=2,1", "mode='wrap'", "i32 6", {2, 3, 1, 2, 3, 1}, 0},
};

/* Queries that see one key alone give its value; 0.5 each where two are alike. */
static const struct example attention[] = {
    {"Attention",
     23,
     "q:f32 1,1,2,1=1,1;k:f32 1,1,2,1=3,3;v:f32 1,1,2,1=10,20",
     "",
     "f32 1,1,2,1",
     {15, 15},
     0},
    {"Attention",
     23,
     "q:f32 1,1,2,1=1,1;k:f32 1,1,2,1=3,3;v:f32 1,1,2,1=10,20",
     "is_causal=1",
     "f32 1,1,2,1",
     {10, 15},
     0},
    {"Attention",
     23,
     "q:f32 1,1,1,1=1;k:f32 1,1,2,1=3,3;v:f32 1,1,2,1=10,20;m:bool 1,2=0,1",
     "",
     "f32 1,1,1,1",
     {20},
     0},
    {"Attention",
     24,
     "q:f16 1,1,1,1=1;k:f16 1,1,1,1=3;v:f16 1,1,1,1=10;-;pk:f16 1,1,1,1=3;pv:f16 1,1,1,1=20",
     "",
     "f16 1,1,2,1",
     {20, 10},
     2},
    {"Attention",
     24,
     "q:f32 1,1,2=1,1;k:f32 1,1,2=3,3;v:f32 1,1,2=10,20",
     "q_num_heads=2 kv_num_heads=2",
     "f32 1,1,2",
     {10, 20},
     0},
    {"RotaryEmbedding",
     23,
     "x:f32 1,1,1,4=1,2,3,4;c:f32 1,1,2=0,1;s:f32 1,1,2=1,0",
     "",
     "f32 1,1,1,4",
     {-3, 2, 1, 4},
     0},
    {"RotaryEmbedding",
     23,
     "x:f32 1,1,4=1,2,3,4;c:f32 2,1=9,0;s:f32 2,1=9,1;p:i64 1,1=1",
     "num_heads=1 interleaved=1 rotary_embedding_dim=2",
     "f32 1,1,4",
     {-2, 1, 3, 4},
     0},
};

static const struct example resize[] = {
    {"Resize",
     13,
     "x:f32 1,1,2=1,2;-;s:f32=1,1,2",
     "mode='linear'",
     "f32 1,1,4",
     {1, 1.25, 1.75, 2},
     0},
    {"Resize", 13, "x:i8 1,1,2=1,3;-;-;n:i64=1,1,4", "mode='nearest'", "i8 1,1,4", {1, 1, 3, 3}, 0},
    {"Resize",
     18,
     "x:f32 1,3=1,2,4;-;-;n:i64=5",
     "mode='linear' axes=[1] coordinate_transformation_mode='align_corners'",
     "f32 1,5",
     {1, 1.5, 2, 3, 4},
     0},
    {"Resize",
     13,
     "x:f64=1,2,4;r:f32=0,2;-;n:i64=3",
     "mode='linear' coordinate_transformation_mode='tf_crop_and_resize' extrapolation_value=9.0",
     "f64 3",
     {1, 4, 9},
     0},
    {"Resize",
     18,
     "x:f32 4=1,3,5,7;-;s:f32=0.5",
     "mode='linear' antialias=1",
     "f32 2",
     {2.25, 5.75},
     0},
    {"Resize",
     18,
     "x:f32 2,4=1,2,3,4,5,6,7,8;-;-;n:i64=1,3",
     "keep_aspect_ratio_policy='not_larger'",
     "f32 1,2",
     {1, 3},
     0},
    {"Resize",
     13,
     "x:f32 2=1,2;-;s:f32=2",
     "mode='cubic' cubic_coeff_a=-0.5",
     "f32 4",
     {0.9296875, 1.203125, 1.796875, 2.0703125},
     0},
    {"Resize", 10, "x:u8=1,2,3;s:f32=0.6", "", "u8 1", {1}, 0},
    {"Upsample", 9, "x:f32=1,3;s:f32=2", "mode='linear'", "f32 4", {1, 2, 3, 3}, 0},
};

static const struct example quantize[] = {
    {"QuantizeLinear",
     13,
     "x:f32=0,2.5,3,1000,-99;s:f32 =2;z:u8 =128",
     "",
     "u8 5",
     {128, 129, 130, 255, 78},
     0},
    {"QuantizeLinear", 13, "x:f32 1,2=10,10;s:f32=2,5;z:i8=0,1", "axis=1", "i8 1,2", {5, 3}, 0},
    {"QuantizeLinear",
     21,
     "x:f32 1,4=1,2,30,40;s:f32 1,2=1,10",
     "axis=1 block_size=2",
     "u8 1,4",
     {1, 2, 3, 4},
     0},
    {"DequantizeLinear", 13, "x:i32=7,-7;s:f32 =0.5", "", "f32 2", {3.5, -3.5}, 0},
    {"DequantizeLinear", 21, "x:u8=3,130;s:f16 =2;z:u8 =128", "", "f16 2", {-250, 4}, 0},
    {"DynamicQuantizeLinear",
     11,
     "x:f32=0,2,-3,-2.5,1.34,0.5",
     "",
     "u8 6",
     {153, 255, 0, 26, 221, 179},
     0},
    {"DynamicQuantizeLinear", 11, "x:f32=0,2,-3,-2.5,1.34,0.5", "", "u8", {153}, 2},
};

static void check_all(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_example(&examples[i]);
}

#define GROUP(name)                                                                                \
    static void name##_operators(void **state)                                                     \
    {                                                                                              \
        check_all(name, sizeof(name) / sizeof(name[0]));                                           \
    }

GROUP(attention)
GROUP(elementwise)
GROUP(index_examples)
GROUP(make)
GROUP(quantize)
GROUP(reduce)
GROUP(resize)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_operators),      cmocka_unit_test(elementwise_operators),
        cmocka_unit_test(index_examples_operators), cmocka_unit_test(make_operators),
        cmocka_unit_test(quantize_operators),       cmocka_unit_test(reduce_operators),
        cmocka_unit_test(resize_operators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
