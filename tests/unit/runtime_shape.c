/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: one line per form of each operator, and what is refused with which words. */
#include "runtime/ops/shape/shape.h"
#include "runtime/ops/table.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

/* `want`: the types of the outputs, separated by "; ", or "!" and a part of the message. */
struct shape_case {
    const char *op_type;
    int opset;
    const char *inputs;
    const char *attributes;
    const char *want;
};

static const struct shape_case windows[] = {
    {"Conv", 11, "x:f32 1,3,224,224; w:f32 64,3,7,7; b:f32 64", "strides=[2,2] pads=[3,3,3,3]",
     "f32 1,64,112,112"},
    {"Conv", 1, "x:f32 2,8,10; w:f32 4,2,3", "group=4", "f32 2,4,8"},
    {"Conv", 11, "x:f32 1,1,9,9,9; w:f32 2,1,3,3,3", "dilations=[2,2,2]", "f32 1,2,5,5,5"},
    {"Conv", 11, "x:f32 1,1,5,6; w:f32 1,1,3,3", "auto_pad='SAME_UPPER' strides=[2,2]",
     "f32 1,1,3,3"},
    {"Conv", 11, "x:f32 1,1,5,6; w:f32 1,1,3,3", "auto_pad='SAME_LOWER'", "f32 1,1,5,6"},
    {"Conv", 11, "x:f32 1,1,5,6; w:f32 1,1,3,3", "auto_pad='VALID' pads=[1,1,1,1]", "f32 1,1,3,4"},
    {"Conv", 11, "x:f64 0,3,5,5; w:f64 1,3,3,3", "", "f64 0,1,3,3"},
    {"Conv", 11, "x:f32 1,3,5,5; w:f32 1,4,3,3", "", "!weights for 4 channels"},
    {"Conv", 11, "x:f32 1,4,5,5; w:f32 3,2,3,3", "group=2", "!do not fit"},
    {"Conv", 11, "x:f32 1,4,5,5; w:f32 3,4,3,3", "group=0", "!do not fit"},
    {"Conv", 11, "x:f32 1,1,2,2; w:f32 1,1,3,3", "", "!larger than the padded input"},
    {"Conv", 11, "x:f32 1,1,5,5; w:f32 1,1,3,3", "strides=[0,1]", "!attribute strides holds 0"},
    {"Conv", 11, "x:f32 1,1,5,5; w:f32 1,1,3,3", "pads=[1,1]", "!pads has 2 entries"},
    {"Conv", 11, "x:f32 1,1,5,5; w:f32 1,1,3,3", "kernel_shape=[5,5]", "!contradicts"},
    {"Conv", 11, "x:f32 1,1,5,5; w:f32 1,1,3,3", "auto_pad='NOPE'", "!auto_pad is 'NOPE'"},
    {"Conv", 11, "x:f32 1,1,5,5; w:f32 2,1,3,3; b:f32 3", "", "!bias does not have 2"},
    {"Conv", 11, "x:f32 1,1,5,5; w:f64 2,1,3,3", "", "!float32 and float64"},
    {"Conv", 11, "x:i64 1,1,5,5; w:i64 2,1,3,3", "", "!input 0 is int64"},
    {"Conv", 11, "x:f32 1,1,2,2,2,2; w:f32 1,1,1,1,1,1", "", "!6 dimensions"},
    {"MaxPool", 8, "x:f32 1,4,32,32", "kernel_shape=[3,3] strides=[2,2]", "f32 1,4,15,15"},
    {"MaxPool", 10, "x:f32 1,4,32,32", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1",
     "f32 1,4,16,16"},
    {"MaxPool", 12, "x:u8 1,1,5,5", "kernel_shape=[2,2] dilations=[2,2]", "u8 1,1,3,3"},
    /* The third window would start in the padding at the end. */
    {"MaxPool", 12, "x:f32 1,1,2,2", "kernel_shape=[1,1] strides=[2,2] ceil_mode=1", "f32 1,1,1,1"},
    {"MaxPool", 12, "x:f32 1,1,4,4", "", "!kernel_shape does not fit"},
    {"AveragePool", 7, "x:f32 1,2,4,4", "kernel_shape=[2,2] pads=[1,1,1,1]", "f32 1,2,5,5"},
    {"AveragePool", 19, "x:f32 1,2,8", "kernel_shape=[3] dilations=[2]", "f32 1,2,4"},
    {"AveragePool", 7, "x:i64 1,2,4,4", "kernel_shape=[2,2]", "!input 0 is int64"},
    {"GlobalAveragePool", 1, "x:f32 2,5,7,9", "", "f32 2,5,1,1"},
    {"GlobalMaxPool", 1, "x:f32 2,5,7", "", "f32 2,5,1"},
    {"GlobalMaxPool", 1, "x:f32 2,5", "", "!no spatial dimension"},
    {"GlobalMaxPool", 1, "x:f32 2,5,7", "kernel=1", "!attribute 'kernel' is not known"},
    {"MaxPool", 12, "x:f32 1,4,4,4", "kernel_shape=[2,2] pad=1", "!attribute 'pad' is not known"},
    {"GlobalLpPool", 2, "x:f64 2,5,7", "p=3", "f64 2,5,1"},
    {"LpPool", 18, "x:f32 1,2,7,7", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", "f32 1,2,3,3"},
    {"LpPool", 11, "x:f32 1,2,7", "kernel_shape=[3] p=0", "!attribute p is 0"},
    {"LpPool", 1, "x:f32 1,2,7", "kernel_shape=[3]", "!operator set 1"},
    {"ConvInteger", 10, "x:u8 1,1,3,3; w:i8 2,1,2,2; z:u8", "", "i32 1,2,2,2"},
    {"ConvInteger", 10, "x:u8 1,1,3,3; w:i8 2,1,2,2; z:i8", "", "!uint8 and int8"},
    {"ConvInteger", 10, "x:i32 1,1,3,3; w:i8 2,1,2,2", "", "!input 0 is int32"},
    {"QLinearConv", 10,
     "x:u8 1,1,3,3; s:f32; z:u8; w:i8 2,1,2,2; t:f32 2; a:i8 2; u:f32; v:i8; c:i32 2", "",
     "i8 1,2,2,2"},
    {"QLinearConv", 10,
     "x:u8 1,1,3,3; s:f32; z:u8; w:i8 2,1,2,2; t:f32 2; a:i8 2; u:f32; v:i8; c:i64 2", "",
     "!bias is int64"},
    {"ConvTranspose", 11, "x:f32 1,4,3,3; w:f32 4,2,3,3", "strides=[2,2] group=2", "f32 1,4,7,7"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "strides=[3] output_padding=[1] pads=[1,1]",
     "f32 1,1,8"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "strides=[3] auto_pad='SAME_UPPER'",
     "f32 1,1,9"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "strides=[3] output_shape=[10]",
     "f32 1,1,10"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "output_shape=[1,1,4]", "f32 1,1,4"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "output_shape=[4,4]", "!has 2 entries"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "output_shape=[-4]", "!dimension of -4"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "pads=[9,9]", "!dimension of -13"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 2,1,3", "", "!do not fit"},
    {"ConvTranspose", 11, "x:f32 1,1,3; w:f32 1,1,3", "output_padding=[-1]", "!holds -1"},
    {"GridSample", 20, "x:f32 2,3,4,5; g:f64 2,6,7,2", "", "f32 2,3,6,7"},
    {"GridSample", 20, "x:f32 2,3,4,5; g:f32 2,6,7,3", "", "!grid does not fit"},
    {"GridSample", 20, "x:f32 2,3,0,5; g:f32 2,6,7,2", "", "!no pixels"},
    {"RoiAlign", 16, "x:f32 2,3,9,9; r:f32 5,4; i:i64 5", "output_height=2", "f32 5,3,2,1"},
    {"RoiAlign", 16, "x:f32 2,3,9,9; r:f32 5,4; i:i64 4", "", "!do not fit"},
    {"RoiAlign", 16, "x:f32 2,3,9,9; r:f32 5,4; i:i64 5", "output_height=0", "!0 x 1 bins"},
};

static const struct shape_case elementwise[] = {
    {"Relu", 6, "x:f32 2,3", "", "f32 2,3"},
    {"Relu", 14, "x:i32 2,3", "", "i32 2,3"},
    {"Sigmoid", 13, "x:f32", "", "f32"},
    {"Tanh", 13, "x:i64 1", "", "!input 0 is int64"},
    {"LeakyRelu", 16, "x:f32 0,4", "alpha=0.1", "f32 0,4"},
    {"Clip", 6, "x:f32 3", "min=0.0 max=6.0", "f32 3"},
    {"Clip", 12, "x:f32 3; a:f32 =0; b:f32 =6", "", "f32 3"},
    {"Clip", 12, "x:f32 3; -; b:f32 =6", "", "f32 3"},
    {"Clip", 12, "x:f32 3; a:f32 2", "", "!min is not a scalar"},
    {"Clip", 6, "x:f32 3; a:f32 =0", "", "!are attributes in"},
    {"Dropout", 7, "x:f32 3,4", "ratio=0.5", "f32 3,4"},
    {"Dropout", 12, "x:f32 3,4; r:f32 =0.5; t:bool =0", "", "f32 3,4"},
    {"Dropout", 12, "x:f32 3,4; r:f32 =0.5; t:bool =1", "", "!not training mode"},
    {"Identity", 13, "x:bool 2", "", "bool 2"},
    {"Softmax", 9, "x:f32 2,3", "axis=2", "f32 2,3"},
    {"Softmax", 13, "x:f32 2,3", "axis=2", "!axis 2 is outside"},
    {"Softmax", 13, "x:f32 2,3", "", "f32 2,3"},
    {"LRN", 1, "x:f32 1,8,4,4", "size=5", "f32 1,8,4,4"},
    {"LRN", 1, "x:f32 1,8,4,4", "", "!size must be"},
    {"BatchNormalization", 9, "x:f32 1,2,3,3; s:f32 2; b:f32 2; m:f32 2; v:f32 2", "",
     "f32 1,2,3,3"},
    {"BatchNormalization", 9, "x:f32 1,2,3,3; s:f32 2; b:f32 2; m:f32 3; v:f32 2", "",
     "!3 elements for 2 channels"},
    {"BatchNormalization", 15, "x:f32 1,2; s:f32 2; b:f32 2; m:f32 2; v:f32 2", "training_mode=1",
     "f32 1,2"},
    {"BatchNormalization", 7, "x:f32 1,2; s:f32 2; b:f32 2; m:f32 2; v:f32 2", "spatial=0",
     "f32 1,2"},
    {"Add", 7, "a:f32 2,3,4; b:f32 3,1", "", "f32 2,3,4"},
    {"Mul", 13, "a:i64 5; b:i64", "", "i64 5"},
    {"Div", 13, "a:f32 0; b:f32 1", "", "f32 0"},
    {"Sub", 13, "a:f32 2; b:f32 3", "", "!cannot be broadcast"},
    {"Sub", 13, "a:f32 2; b:f64 2", "", "!must be the same"},
    {"Add", 6, "a:f32 2,3,4; b:f32 3", "axis=1 broadcast=1", "f32 2,3,4"},
    {"Add", 6, "a:f32 2,3,4; b:f32 4", "broadcast=1", "f32 2,3,4"},
    {"Add", 6, "a:f32 2,3,4; b:f32 3", "broadcast=1", "!cannot be broadcast"},
    {"Sum", 8, "a:f32 2,1; b:f32 1,3; c:f32", "", "f32 2,3"},
    {"Sum", 8, "a:f32 2; -", "", "!input 1 is left out"},
    {"Cast", 6, "x:f32 2", "to=7", "i64 2"},
    {"Cast", 1, "x:i64 2", "to='FLOAT'", "f32 2"},
    {"Cast", 9, "x:f32 2", "to=8", "string 2"},
};

static const struct shape_case matrices[] = {
    {"Gemm", 7, "a:f32 2,3; b:f32 3,4; c:f32 4", "", "f32 2,4"},
    {"Gemm", 11, "a:f32 3,2; b:f32 4,3", "transA=1 transB=1", "f32 2,4"},
    {"Gemm", 7, "a:f32 2,3; b:f32 3,4", "", "!three inputs"},
    {"Gemm", 11, "a:f32 2,3; b:f32 4,4", "", "!3 and 4"},
    {"Gemm", 11, "a:f32 1,3; b:f32 3,4; c:f32 2,4", "", "!larger than the product"},
    {"Gemm", 11, "a:f32 2,3,1; b:f32 3,4", "", "!3 and 2 dimensions"},
    {"MatMul", 9, "a:f32 2,3; b:f32 3,4", "", "f32 2,4"},
    {"MatMul", 9, "a:f32 3; b:f32 3,4", "", "f32 4"},
    {"MatMul", 9, "a:f32 5,2,3; b:f32 3", "", "f32 5,2"},
    {"MatMul", 9, "a:f32 3; b:f32 3", "", "f32"},
    {"MatMul", 9, "a:f32 7,1,2,3; b:f32 5,3,4", "", "f32 7,5,2,4"},
    {"MatMul", 9, "a:f32; b:f32 3", "", "!scalar"},
    {"MatMulInteger", 10, "a:u8 2,3,4; b:i8 4,5; z:u8 3", "", "i32 2,3,5"},
    {"MatMulInteger", 10, "a:u8 3,4; b:f32 4,5", "", "!input 1 is float32"},
    {"QLinearMatMul", 21, "a:u8 3,4; s:f16; z:u8; b:i8 4,5; t:f16; v:i8; u:f16; w:u8", "",
     "u8 3,5"},
    {"Einsum", 12, "a:f32 2,3; b:f32 3,4", "equation='ij,jk->ik'", "f32 2,4"},
    {"Einsum", 12, "a:i32 2,3", "equation='ba'", "i32 3,2"},
    {"Einsum", 12, "a:f64 5,2,3; b:f64 3,2", "equation='...ij,jk->...ik'", "f64 5,2,2"},
    {"Einsum", 12, "a:f32 5,2,3; b:f32 1,3,2", "equation='...ij,...jk'", "f32 5,2,2"},
    {"Einsum", 12, "a:f32 3,3", "equation='ii->'", "f32"},
    {"Einsum", 12, "a:f32 2,3; b:f32 4,5", "equation='ij,jk'", "!size of one label"},
    {"Einsum", 12, "a:f32 2,3", "equation='ij->k'", "!no operand has"},
    {"Einsum", 12, "a:f32 2,3", "equation='ij->ii'", "!label twice"},
    {"Einsum", 12, "a:f32 2,3", "equation='ijk->i'", "!as many labels"},
    {"Einsum", 12, "a:f32 2,3", "equation='ij,jk->i'", "!more terms"},
    {"Einsum", 12, "a:f32 2,3; b:f32 2", "equation='ij->i'", "!one term for each"},
    {"Einsum", 12, "a:f32 2,3", "equation='i9->i'", "!as many labels"},
    {"Einsum", 12, "a:f32 2,3", "", "!attribute equation"},
    {"LSTM", 14, "x:f32 7,2,3; w:f32 1,20,3; r:f32 1,20,5", "hidden_size=5", "f32 7,1,2,5"},
    {"GRU", 14, "x:f16 2,7,3; w:f16 2,15,3; r:f16 2,15,5", "layout=1 direction='bidirectional'",
     "f16 2,7,2,5"},
    {"RNN", 14, "x:f32 7,2,3; w:f32 1,5,3; r:f32 1,5,5; b:f32 1,9", "", "!input 3 is {1,9}"},
    {"RNN", 14, "x:f32 7,2,3; w:f32 1,5,3; r:f32 1,5,5; -; n:i64 2", "", "!int64, not int32"},
    {"RNN", 14, "x:f32 7,2,3; w:f32 1,5,3; r:f32 1,5,5", "hidden_size=4", "!hidden_size is 4"},
};

static const struct shape_case views[] = {
    {"Reshape", 5, "x:f32 2,3,4; s:i64=0,-1", "", "f32 2,12"},
    {"Reshape", 1, "x:f32 2,3,4", "shape=[4,6]", "f32 4,6"},
    {"Reshape", 5, "x:f32 6; s:i64 0=", "", "!cannot become"},
    {"Reshape", 5, "x:f32 1; s:i64 0=", "", "f32"},
    {"Reshape", 14, "x:f32 0,3; s:i64=3,0", "allowzero=1", "f32 3,0"},
    {"Reshape", 5, "x:f32 6; s:i64=-1,-1", "", "!-1 twice"},
    {"Reshape", 5, "x:f32 6; s:i64=4,-1", "", "!divided by 4"},
    {"Reshape", 5, "x:f32 6; s:i64=4,2", "", "!{6} cannot become {4,2}"},
    {"Reshape", 5, "x:f32 6; s:i64=-2,3", "", "!dimension -2"},
    {"Reshape", 5, "x:f32 6; s:i64=6,0", "", "!copies dimension 1"},
    {"Reshape", 5, "x:f32 6; s:i64 1", "", "!depends on the data of 's'"},
    {"CenterCropPad", 18, "x:f32 6; s:i64 1", "", "!depends on the data of 's'"},
    {"Flatten", 9, "x:f32 2,3,4", "", "f32 2,12"},
    {"Flatten", 9, "x:f32 2,3,4", "axis=0", "f32 1,24"},
    {"Flatten", 11, "x:f32 2,3,4", "axis=-1", "f32 6,4"},
    {"Flatten", 9, "x:f32 2,3,4", "axis=-1", "!outside"},
    {"Squeeze", 1, "x:f32 1,3,1", "axes=[0]", "f32 3,1"},
    {"Squeeze", 13, "x:f32 1,3,1; a:i64=-1", "", "f32 1,3"},
    {"Squeeze", 13, "x:f32 1,3,1", "", "f32 3"},
    {"Squeeze", 11, "x:f32 1,3,1", "axes=[1]", "!dimension 1 is 3"},
    {"Unsqueeze", 1, "x:f32 3", "axes=[0,2]", "f32 1,3,1"},
    {"Unsqueeze", 13, "x:f32 3; a:i64=-1", "", "f32 3,1"},
    {"Unsqueeze", 13, "x:f32 3; a:i64=0,0", "", "!axis 0 twice"},
    {"Unsqueeze", 13, "x:f32 3", "", "!does not say"},
    {"Transpose", 1, "x:f32 2,3,4", "", "f32 4,3,2"},
    {"Transpose", 1, "x:f32 2,3,4", "perm=[0,2,1]", "f32 2,4,3"},
    {"Transpose", 1, "x:f32 2,3,4", "perm=[0,2]", "!2 entries"},
    {"Transpose", 1, "x:f32 2,3,4", "perm=[0,1,1]", "!axis 1 twice"},
    {"Transpose", 1, "x:f32 2,3,4", "perm=[0,-1,1]", "!-1, which is no axis"},
};

static const struct shape_case moves[] = {
    {"Concat", 4, "a:f32 2,3; b:f32 2,4", "axis=1", "f32 2,7"},
    {"Concat", 11, "a:f32 2,3; b:f32 5,3", "axis=-2", "f32 7,3"},
    {"Concat", 1, "a:f32 2,3; b:f32 2,4", "", "f32 2,7"},
    {"Concat", 4, "a:f32 2,3; b:f32 2,4", "", "!axis is missing"},
    {"Concat", 4, "a:f32 2,3; b:f32 3,4", "axis=1", "!cannot be joined"},
    {"Tile", 6, "x:f32 2,3; r:i64=2,1", "", "f32 4,3"},
    {"Tile", 1, "x:f32 2,3; n:i64=4; a:i64=1", "", "f32 2,12"},
    {"Tile", 6, "x:f32 2,3; r:i64=2", "", "!1 repeats for 2"},
    {"Tile", 6, "x:f32 2; r:i64=-1", "", "!-1 times"},
    {"Expand", 8, "x:f32 3,1; s:i64=2,1,6", "", "f32 2,3,6"},
    {"Expand", 8, "x:f32 3; s:i64=2", "", "!cannot be broadcast"},
    {"Slice", 1, "x:f32 10,5", "starts=[2] ends=[-1]", "f32 7,5"},
    {"Slice", 9, "x:f32 10,5", "starts=[1,0] ends=[1000,2] axes=[1,0]", "f32 2,4"},
    {"Slice", 10, "x:f32 10; s:i64=9; e:i64=-20; a:i64=0; t:i64=-3", "", "f32 4"},
    {"Slice", 10, "x:f32 10; s:i64=0; e:i64=10; a:i64=0; t:i64=3", "", "f32 4"},
    {"Slice", 10, "x:f32 10; s:i64=5; e:i64=2", "", "f32 0"},
    {"Slice", 10, "x:f32 0; s:i64=5; e:i64=-9; a:i64=0; t:i64=-1", "", "f32 0"},
    {"Slice", 10, "x:f32 10; s:i64=3; e:i64=-100; a:i64=0; t:i64=-9223372036854775808", "",
     "f32 1"},
    {"Slice", 10, "x:f32 10; s:i64=-100; e:i64=9223372036854775807", "", "f32 10"},
    {"Slice", 10, "x:f32 10; s:i64=0; e:i64=5; a:i64=0; t:i64=0", "", "!is 0"},
    {"Slice", 10, "x:f32 10; s:i64=0; e:i64=5; a:i64=1", "", "!axis 1 is outside"},
    {"Slice", 10, "x:f32 10; s:i64=0,1; e:i64=5", "", "!2 starts and 1 ends"},
    {"Slice", 10, "x:f32 10", "starts=[0] ends=[5]",
     "!attribute starts became input 1 in opset 10"},
    {"Slice", 9, "x:f32 10; s:i64=0; e:i64=5", "", "!input 1 is attribute starts before opset 10"},
    {"Slice", 9, "x:f32 10; -; -; -; t:i64=2", "starts=[0] ends=[5]", "!steps"},
    {"Slice", 10, "x:f32 10; s:i64=0; e:i64=5", "axes=[0]", "!attribute axes became input 3"},
    {"Pad", 9, "x:f32 2; p:i64=1,1", "pads=[0,0]", "!its pads twice, as attribute and as input 1"},
    {"Split", 11, "x:f32 4; s:i64=1,3", "", "!input 1 is attribute split before opset 13"},
    {"ReduceSum", 16, "x:f32 2,3", "axes=[1]", "!attribute axes became input 1 in opset 13"},
    {"ReduceSum", 11, "x:f32 2,3; a:i64=1", "", "!input 1 is attribute axes before opset 13"},
    {"ReduceMax", 18, "x:f32 2,3", "axes=[1]", "!attribute axes became input 1 in opset 18"},
    {"Pad", 2, "x:f32 2,3", "pads=[1,0,2,1]", "f32 5,4"},
    {"Pad", 1, "x:f32 2,3", "paddings=[0,1,0,1]", "f32 2,5"},
    {"Pad", 11, "x:f32 2,3; p:i64=0,-1,0,-1", "mode='edge'", "f32 2,1"},
    {"Pad", 18, "x:f32 2,3; p:i64=1,2; -; a:i64=-1", "", "f32 2,6"},
    {"Pad", 11, "x:f32 2,3; p:i64=0,-2,0,-2", "", "!pads a dimension of 3"},
    {"Pad", 19, "x:f32 2; p:i64=1,1", "mode='wrap'", "f32 4"},
    {"Pad", 19, "x:f32 2; p:i64=1,1", "mode='mirror'", "!mode 'mirror'"},
    {"Gather", 1, "x:f32 5,6; i:i64 2,3", "axis=1", "f32 5,2,3"},
    {"Gather", 11, "x:f32 5,6; i:i32", "axis=-2", "f32 6"},
    {"Gather", 11, "x:f32 5; i:f32 1", "", "!indices are float32"},
    {"Constant", 12, "", "value_ints=[4,5]", "i64 2"},
    {"Constant", 12, "", "value_float=1.5", "f32"},
    {"Constant", 12, "", "", "!does not hold exactly one"},
    {"ConstantOfShape", 9, "s:i64=2,3", "", "f32 2,3"},
    {"ConstantOfShape", 9, "s:i64 0=", "", "f32"},
    {"ConstantOfShape", 9, "s:i64=-1", "", "!dimension -1"},
    {"ConstantOfShape", 9, "s:i64=4294967296,4294967296", "", "!too large"},
    {"Shape", 1, "x:f32 4,5,6", "", "i64 3"},
    {"Shape", 15, "x:f32 4,5,6", "start=1 end=-1", "i64 1"},
    {"TfIdfVectorizer", 9, "x:i64 2,4", "ngram_indexes=[0,2]", "f32 2,3"},
    {"TfIdfVectorizer", 9, "x:i32 4", "ngram_indexes=[0]", "f32 1"},
    {"TfIdfVectorizer", 9, "x:f32 2,4", "ngram_indexes=[0]", "!its input is float32"},
    {"TfIdfVectorizer", 9, "x:i64 2,4", "ngram_indexes=[1,-1]", "!column -1"},
    {"TfIdfVectorizer", 9, "x:i64 2,4", "", "!ngram_indexes is missing"},
    {"TfIdfVectorizer", 9, "x:i64", "ngram_indexes=[0]", "!has 0 dimensions"},
    {"StringConcat", 20, "x:i64 2; b:i64 2", "", "!input 0 is int64 where texts are needed"},
    {"StringSplit", 20, "x:string", "", "!its shape depends on the data of 'x'"},
    {"StringConcat", 20, "x:string 2,1; b:string 3", "", "string 2,3"},
    {"StringNormalizer", 10, "x:string 2,2", "", "!no list of one or more texts"},
    {"StringNormalizer", 10, "x:string 0", "", "!no list of one or more texts"},
    {"StringNormalizer", 10, "x:string 2", "case_change_action='SIDEWAYS'",
     "!case_change_action is 'SIDEWAYS'"},
    {"StringNormalizer", 10, "x:string 2", "case_change_action='LOWER' locale='tr_TR'",
     "!locale 'tr_TR' are not known"},
    {"StringNormalizer", 10, "x:string 1,2", "", "string 1,2"},
    {"StringSplit", 20, "x:f32 2", "", "!input 0 is float32 where texts are needed"},
    {"StringNormalizer", 10, "x:i64 2", "", "!input 0 is int64 where texts are needed"},
    {"RegexFullMatch", 20, "x:i64 2", "pattern='a'", "!input 0 is int64 where texts are needed"},
    {"Frobnicate", 13, "x:f32 1", "", "!operator Frobnicate (opset 13) of node \"Frobnicate_0\""},
    {"Expand", 7, "x:f32 3,1; s:i64=1", "", "!operator Expand (opset 7)"},
    {"Relu", 13, "x:f32 1; z:f32 1", "", "!2 inputs"},
    {"MatMul", 13, "x:f32 1; -", "", "!input 1 is required"},
};

static void check_case(const struct shape_case *c)
{
    struct graph *graph = build_graph(c->opset);
    struct diag diag = {0};
    char text[100];
    int rc;

    build_node(graph, c->op_type, c->inputs, c->attributes, "y");
    build_output(graph, "y");
    rc = shape_infer(graph, NULL, &diag);
    if (c->want[0] == '!') {
        if (rc >= 0)
            fail_msg("%s(%s)[%s] gives %s", c->op_type, c->inputs, c->attributes,
                     build_type_text(graph->outputs[0], text));
        CHECK_CONTAINS(diag.text, c->want + 1);
    } else {
        if (rc < 0)
            fail_msg("%s(%s)[%s]: %s", c->op_type, c->inputs, c->attributes, diag.text);
        if (strcmp(build_type_text(graph->outputs[0], text), c->want) != 0)
            fail_msg("%s(%s)[%s] is %s, not %s", c->op_type, c->inputs, c->attributes, text,
                     c->want);
    }
    graph_destroy(&graph);
}

#define CHECK_CASES(cases)                                                                         \
    for (size_t i = 0; i < sizeof(cases) / sizeof((cases)[0]); i++)                                \
    check_case(&(cases)[i])

static void windows_move(void **state)
{
    CHECK_CASES(windows);
}

static void elements_stay(void **state)
{
    CHECK_CASES(elementwise);
}

static void matrices_multiply(void **state)
{
    CHECK_CASES(matrices);
}

static void views_keep_elements(void **state)
{
    CHECK_CASES(views);
}

static void moves_pick_and_join(void **state)
{
    CHECK_CASES(moves);
}

static void second_outputs_have_types(void **state)
{
    struct graph *graph = build_graph(12);
    struct diag diag = {0};
    char text[100];

    build_node(graph, "MaxPool", "x:f32 1,1,4,4", "kernel_shape=[2,2]", "y;indices");
    build_node(graph, "Dropout", "y", "", "z;mask");
    build_output(graph, "z");
    CHECK_OK(shape_infer(graph, NULL, &diag));
    assert_string_equal(build_type_text(graph_find_value(graph, "indices"), text), "i64 1,1,3,3");
    assert_string_equal(build_type_text(graph_find_value(graph, "mask"), text), "bool 1,1,3,3");
    graph_destroy(&graph);
}

/* Shape, Gather, Concat, Reshape: how exporters keep the batch dimension open. */
static void shapes_are_computed_from_shapes(void **state)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};
    char text[100];

    build_node(graph, "Shape", "x:f32 7,3,5", "", "s");
    build_node(graph, "Constant", "", "value_int=0", "zero");
    build_node(graph, "Gather", "s;zero", "axis=0", "n");
    build_node(graph, "Unsqueeze", "n;a:i64=0", "", "n1");
    build_node(graph, "Concat", "n1;rest:i64=-1", "axis=0", "wanted");
    build_node(graph, "Reshape", "x;wanted", "", "y");
    build_output(graph, "y");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_string_equal(build_type_text(graph->outputs[0], text), "f32 7,15");
    graph_destroy(&graph);
}

/* The target of the Reshape is computed from a graph input: known only for one content. */
static void shapes_follow_the_content_of_inputs(void **state)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};
    int64_t target[] = {5, 3};
    struct tensor_view contents[2] = {{0}, {DTYPE_I64, {1, {2}}, target}};
    const struct value *input;
    char text[100];

    build_node(graph, "Concat", "t:i64 2;one:i64=1", "axis=0", "wanted");
    build_node(graph, "Reshape", "x:f32 15;wanted", "", "y");
    build_output(graph, "y");
    assert_int_equal(shape_infer(graph, eval_node, &diag), -ENOTSUP);
    CHECK_CONTAINS(diag.text, "depends on the data of 't'");

    input = graph_find_value(graph, "t");
    contents[0] = graph->inputs[0] == input ? contents[1] : contents[0];
    CHECK_OK(shape_infer_for(graph, contents, eval_node, &diag));
    assert_string_equal(build_type_text(graph->outputs[0], text), "f32 5,3,1");
    assert_memory_equal(input->known, target, sizeof(target));
    assert_null(graph_find_value(graph, "x")->known);
    graph_destroy(&graph);
}

static uint32_t evaluated, most_known;

/* As eval_node(); counts, and notes how many large values were known at a time. */
static int eval_and_count(const struct graph *graph, const struct node *node,
                          const struct tensor_view *inputs, struct tensor_view *outputs,
                          struct diag *diag)
{
    uint32_t known = 0;

    for (uint32_t i = 0; i < graph->value_count; i++)
        known += graph->values[i]->known && !graph->values[i]->is_input &&
                 shape_elements(&graph->values[i]->shape) == 2000;
    most_known = known > most_known ? known : most_known;
    evaluated++;
    return eval_node(graph, node, inputs, outputs, diag);
}

/* A network in front of two NonZero. What nobody reads any more goes, what the second one needs stays. */
static void a_content_leaves_nothing_behind(void **state)
{
    struct graph *graph = build_graph(13);
    float numbers[2000] = {[3] = 1.0f, [7] = -1.0f, [1999] = 2.0f};
    struct tensor_view contents[] = {{DTYPE_F32, {1, {2000}}, numbers}};
    struct diag diag = {0};
    char text[100];

    evaluated = most_known = 0;
    build_node(graph, "Abs", "x:f32 2000", "", "a");
    build_node(graph, "Shape", "a", "", "size");
    for (int i = 0; i < 6; i++) {
        char from[2] = {(char)('a' + i)}, to[2] = {(char)('b' + i)};

        build_node(graph, "Relu", from, "", to);
    }
    build_node(graph, "NonZero", "g", "", "first");
    build_node(graph, "Add", "b;g", "", "sum");
    build_node(graph, "Mul", "sum;sum", "", "square");
    build_node(graph, "NonZero", "square", "", "second");
    build_output(graph, "first");
    build_output(graph, "second");
    CHECK_OK(shape_infer_for(graph, contents, eval_and_count, &diag));
    assert_string_equal(build_type_text(graph->outputs[0], text), "i64 1,3");
    assert_string_equal(build_type_text(graph->outputs[1], text), "i64 1,3");
    assert_int_equal(evaluated,
                     11); /* each once: 7 in front of the first, 2, and both of NonZero */
    assert_int_equal(most_known, 2);                      /* b and the last one */
    assert_non_null(graph_find_value(graph, "g")->known); /* asked for */
    assert_null(graph_find_value(graph, "sum")->known);
    graph_destroy(&graph);
}

static void a_wrong_declaration_is_found(void **state)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};

    build_node(graph, "Relu", "x:f32 2,3", "", "y");
    build_output(graph, "y");
    graph->outputs[0]->dtype = DTYPE_F32;
    graph->outputs[0]->shape = (struct shape){.rank = 2, .dims = {-1, 4}};
    CHECK_OK(shape_infer(graph, NULL, &diag));
    assert_string_equal(graph->notice, "output 'y' is declared with shape {?,4}, but has {2,3}");
    assert_int_equal(graph->outputs[0]->shape.dims[1], 3);
    CHECK_OK(shape_infer(graph, NULL, &diag)); /* now as it is */
    graph_destroy(&graph);

    graph = build_graph(13);
    build_node(graph, "Relu", "x:f32 2,3", "", "y");
    build_output(graph, "y");
    graph->outputs[0]->dtype = DTYPE_F64;
    assert_int_equal(shape_infer(graph, NULL, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "declared as float64, but is computed as float32");
    graph_destroy(&graph);
}

static void every_name_is_found(void **state)
{
    for (size_t i = 0; i < op_row_count; i++) {
        if (op_row_find(op_rows[i].type) != &op_rows[i])
            fail_msg("%s stands in the wrong place", op_rows[i].type);
    }
    assert_null(op_row_find("Conv2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_move),
        cmocka_unit_test(elements_stay),
        cmocka_unit_test(matrices_multiply),
        cmocka_unit_test(views_keep_elements),
        cmocka_unit_test(moves_pick_and_join),
        cmocka_unit_test(second_outputs_have_types),
        cmocka_unit_test(shapes_are_computed_from_shapes),
        cmocka_unit_test(shapes_follow_the_content_of_inputs),
        cmocka_unit_test(a_content_leaves_nothing_behind),
        cmocka_unit_test(a_wrong_declaration_is_found),
        cmocka_unit_test(every_name_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
