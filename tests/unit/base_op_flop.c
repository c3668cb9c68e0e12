/* SPDX-License-Identifier: Apache-2.0 */
/* Operations by shapes: each formula by hand, and what makes it unknown. */
#include "base/op_flop.h"
#include "tests/support/check.h"

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }        \
    }
#define UNKNOWN                                                                                    \
    {                                                                                              \
        .rank = -1                                                                                 \
    }

static void products_of_aten(void **state)
{
    struct op_flop_call call = {
        .name = "aten::mm", .inputs = {SHAPE(44, 32), SHAPE(32, 64)}, .input_count = 2};

    CHECK_U64((uint64_t)op_flop(&call), 2 * 44 * 32 * 64);
    call = (struct op_flop_call){.name = "aten::addmm",
                                 .inputs = {SHAPE(64), SHAPE(44, 32), SHAPE(32, 64)},
                                 .input_count = 3};
    CHECK_U64((uint64_t)op_flop(&call), 2 * 44 * 32 * 64);
    call = (struct op_flop_call){
        .name = "aten::bmm", .inputs = {SHAPE(16, 11, 8), SHAPE(16, 8, 11)}, .input_count = 2};
    CHECK_U64((uint64_t)op_flop(&call), 2 * 16 * 11 * 8 * 11);
    call = (struct op_flop_call){.name = "aten::baddbmm",
                                 .inputs = {SHAPE(11), SHAPE(16, 11, 8), SHAPE(16, 8, 5)},
                                 .input_count = 3};
    CHECK_U64((uint64_t)op_flop(&call), 2 * 16 * 11 * 8 * 5);
    call.name = "aten::bmm"; /* whose operands do not fit */
    assert_int_equal(op_flop(&call), -1);
    call.name = "aten::matmul"; /* calls mm or bmm */
    assert_int_equal(op_flop(&call), -1);
    call = (struct op_flop_call){
        .name = "aten::mul", .inputs = {SHAPE(4, 4, 11, 8), UNKNOWN}, .input_count = 2};
    CHECK_U64((uint64_t)op_flop(&call), 4 * 4 * 11 * 8);
    call.inputs[0].rank = 0;
    CHECK_U64((uint64_t)op_flop(&call), 1);
    call.input_count = 0;
    assert_int_equal(op_flop(&call), -1);
}

static void products_of_others(void **state)
{
    struct op_flop_call call = {.name = "MUL_MAT",
                                .inputs = {SHAPE(1, 2, 256, 32), SHAPE(1, 4, 8, 32)},
                                .input_count = 2,
                                .output = SHAPE(1, 4, 8, 256)};

    CHECK_U64((uint64_t)op_flop_ggml(&call), 2 * 32 * 4 * 8 * 256);
    call.output.rank = -1;
    assert_int_equal(op_flop_ggml(&call), -1);
    call = (struct op_flop_call){
        .name = "FLASH_ATTN_EXT",
        .inputs = {SHAPE(1, 4, 8, 32), SHAPE(1, 2, 256, 32), SHAPE(1, 2, 256, 24)},
        .input_count = 3};
    CHECK_U64((uint64_t)op_flop_ggml(&call), 2 * 4 * 8 * 256 * (32 + 24));
    call.name = "SOFT_MAX";
    assert_int_equal(op_flop_ggml(&call), -1);
    call = (struct op_flop_call){
        .name = "_FusedMatMul", .inputs = {SHAPE(7, 9), SHAPE(9, 11)}, .input_count = 2};
    CHECK_U64((uint64_t)op_flop_tensorflow(&call), 2 * 7 * 9 * 11);
    call.inputs[1] = (struct op_flop_shape)SHAPE(11, 9);
    CHECK_U64((uint64_t)op_flop_tensorflow(&call), 2 * 7 * 9 * 11);
    call.inputs[1].dims[1] = 8;
    assert_int_equal(op_flop_tensorflow(&call), -1);
    call = (struct op_flop_call){
        .name = "MatMul", .inputs = {SHAPE(2, 7, 9), SHAPE(2, 9, 11)}, .input_count = 2};
    CHECK_U64((uint64_t)op_flop_openvino(&call), 2 * 2 * 7 * 9 * 11);
    call = (struct op_flop_call){.name = "FullyConnected",
                                 .inputs = {SHAPE(3, 9), SHAPE(11, 9)},
                                 .input_count = 2,
                                 .output = SHAPE(3, 11)};
    CHECK_U64((uint64_t)op_flop_openvino(&call), 2 * 3 * 9 * 11);
}

static void products_of_ctranslate2(void **state)
{
    struct op_flop_call call = {.name = "MatMul",
                                .inputs = {SHAPE(2, 4, 7, 9), SHAPE(2, 4, 9, 11)},
                                .input_count = 2,
                                .output = SHAPE(2, 4, 7, 11)};

    CHECK_U64((uint64_t)op_flop_ctranslate2(&call), 2 * 8 * 7 * 9 * 11);
    call.inputs[0] = (struct op_flop_shape)SHAPE(2, 4, 9, 7); /* turned */
    CHECK_U64((uint64_t)op_flop_ctranslate2(&call), 2 * 8 * 7 * 9 * 11);
    call.name = "Dense"; /* of packed weights */
    call.inputs[0] = (struct op_flop_shape)SHAPE(5, 3, 9);
    call.output = (struct op_flop_shape)SHAPE(5, 3, 11);
    CHECK_U64((uint64_t)op_flop_ctranslate2(&call), 2 * 15 * 9 * 11);
    call.name = "Conv1D";
    call.inputs[0] = (struct op_flop_shape)SHAPE(1, 8, 66);
    call.inputs[1] = (struct op_flop_shape)SHAPE(16, 8, 5);
    call.output = (struct op_flop_shape)SHAPE(1, 16, 62);
    CHECK_U64((uint64_t)op_flop_ctranslate2(&call), 2 * 16 * 62 * 8 * 5);
    call.output.rank = -1;
    assert_int_equal(op_flop_ctranslate2(&call), -1);
    call.name = "SoftMax";
    assert_int_equal(op_flop_ctranslate2(&call), -1);
}

static void convolutions_of_others(void **state)
{
    struct op_flop_call call = {.name = "_MklNativeConv2D",
                                .inputs = {SHAPE(1, 6, 6, 3), SHAPE(3, 3, 3, 4)},
                                .input_count = 2,
                                .output = SHAPE(1, 3, 3, 4)};

    CHECK_U64((uint64_t)op_flop_tensorflow(&call), 2 * 36 * 27);
    call.name = "DepthwiseConv2dNative";
    call.output = (struct op_flop_shape)SHAPE(1, 6, 6, 12);
    CHECK_U64((uint64_t)op_flop_tensorflow(&call), 2 * 432 * 9);
    call.output.rank = -1;
    assert_int_equal(op_flop_tensorflow(&call), -1);
    call = (struct op_flop_call){.name = "Conv2DBackpropInput", /* of sizes, w, dy */
                                 .inputs = {SHAPE(4), SHAPE(3, 3, 2, 5), SHAPE(1, 4, 6, 5)},
                                 .input_count = 3,
                                 .output = UNKNOWN};
    CHECK_U64((uint64_t)op_flop_tensorflow(&call), 2 * 24 * 90);
    call.name = "DepthwiseConv2dNativeBackpropInput";
    call.inputs[2] = (struct op_flop_shape)SHAPE(1, 4, 6, 10);
    CHECK_U64((uint64_t)op_flop_tensorflow(&call), 2 * 240 * 9);
    call.name = "Conv2DBackpropFilter"; /* of x, sizes, dy */
    call.inputs[0] = (struct op_flop_shape)SHAPE(1, 6, 8, 2);
    call.inputs[1] = (struct op_flop_shape)SHAPE(4);
    call.inputs[2] = (struct op_flop_shape)SHAPE(1, 4, 6, 5);
    assert_int_equal(op_flop_tensorflow(&call), -1);
    call.output = (struct op_flop_shape)SHAPE(3, 3, 2, 5);
    CHECK_U64((uint64_t)op_flop_tensorflow(&call), 2 * 24 * 90);
    assert_true(op_flop_tensorflow_needs_result("_MklNativeFusedConv2D"));
    assert_true(op_flop_tensorflow_needs_result("Conv3DBackpropFilterV2"));
    assert_false(op_flop_tensorflow_needs_result("Conv2DBackpropInput"));
    assert_false(op_flop_tensorflow_needs_result("MyConv"));
    call = (struct op_flop_call){.name = "Convolution",
                                 .inputs = {SHAPE(1, 3, 16, 16), SHAPE(8, 3, 3, 3)},
                                 .input_count = 2,
                                 .output = SHAPE(1, 8, 16, 16)};
    CHECK_U64((uint64_t)op_flop_openvino(&call), 2 * 8 * 256 * 27);
    call.inputs[1] = (struct op_flop_shape)SHAPE(3, 2, 1, 3, 3); /* in groups */
    CHECK_U64((uint64_t)op_flop_openvino(&call), 2 * 8 * 256 * 9);
    call = (struct op_flop_call){.name = "CONV_2D",
                                 .inputs = {SHAPE(8, 3, 5, 5), SHAPE(1, 3, 16, 16)},
                                 .input_count = 2,
                                 .output = SHAPE(1, 8, 12, 12)};
    CHECK_U64((uint64_t)op_flop_ggml(&call), 2 * 8 * 144 * 75);
}

static uint64_t nested(const char *name, const struct op_flop_shape *a,
                       const struct op_flop_shape *b, const struct op_flop_shape *c,
                       const struct op_flop_shape *y)
{
    const struct op_flop_shape none = UNKNOWN;
    const struct op_flop_call call = {
        .name = name,
        .inputs = {a ? *a : none, b ? *b : none, c ? *c : none},
        .input_count = 3,
        .output = y ? *y : none,
        .scalars = {[6] = "False"},
    };

    return (uint64_t)op_flop_nested(&call);
}

#define S(...) &(const struct op_flop_shape)SHAPE(__VA_ARGS__)

/* Each by the sizes that it has, results included; and who of those that call each other counts. */
static void operators_of_aten_as_they_nest(void **state)
{
    CHECK_U64(nested("aten::conv1d", S(2, 8, 66), S(16, 8, 5), NULL, S(2, 16, 62)),
              2 * (2 * 16 * 62) * (8 * 5));
    CHECK_U64(nested("aten::conv2d", S(4, 16, 24, 24), S(32, 4, 3, 3), NULL, S(4, 32, 11, 11)),
              2 * (4 * 32 * 11 * 11) * (4 * 3 * 3));
    CHECK_U64(
        nested("aten::convolution", S(1, 2, 5, 6, 7), S(4, 2, 3, 3, 3), NULL, S(1, 4, 3, 4, 5)),
        2 * (4 * 3 * 4 * 5) * (2 * 27));
    CHECK_U64(nested("aten::conv_transpose2d", S(1, 96, 23, 23), S(96, 32, 3, 3), NULL, NULL),
              2 * (96 * 23 * 23) * (32 * 9));
    CHECK_U64(nested("aten::addmm", S(11), S(7, 9), S(9, 11), NULL), 2 * 7 * 9 * 11);
    CHECK_U64(nested("aten::mv", S(7, 9), S(9), NULL, NULL), 2 * 7 * 9);
    CHECK_U64(nested("aten::linear", S(3, 5, 64), S(32, 64), NULL, NULL), 2 * 3 * 5 * 64 * 32);
    CHECK_U64(nested("aten::scaled_dot_product_attention", S(2, 4, 7, 16), S(2, 4, 9, 16),
                     S(2, 4, 9, 8), NULL),
              2 * (2 * 4 * 7) * 9 * (16 + 8));
    CHECK_U64(nested("aten::conv2d", S(4, 16, 24, 24), S(32, 4, 3, 3), NULL, NULL), (uint64_t)-1);
    CHECK_U64(nested("aten::mm", S(7, 9), S(8, 11), NULL, NULL), (uint64_t)-1);
    CHECK_U64(nested("aten::matmul", S(7, 9), S(9, 11), NULL, NULL), (uint64_t)-1);
    assert_int_equal(op_flop_nested_place("aten::conv2d"), OP_FLOP_OUTERMOST);
    assert_int_equal(op_flop_nested_place("aten::linear"), OP_FLOP_INNERMOST);
    assert_int_equal(op_flop_nested_place("aten::matmul"), OP_FLOP_NOWHERE);
}

static void convolutions_of_aten(void **state)
{
    struct op_flop_call call = {
        .name = "aten::conv2d",
        .inputs = {SHAPE(4, 16, 24, 24), SHAPE(32, 16, 3, 3), SHAPE(32)},
        .input_count = 7,
        .scalars = {NULL, NULL, NULL, "[2, 2]", "[0, 0]", "[1, 1]", "1"},
    };

    CHECK_U64((uint64_t)op_flop(&call), 2 * (4 * 32 * 11 * 11) * (16 * 3 * 3));
    call.scalars[3] = "[1]"; /* for both */
    call.scalars[4] = "1";
    CHECK_U64((uint64_t)op_flop(&call), 2 * (4 * 32 * 24 * 24) * (16 * 3 * 3));
    call.scalars[5] = "[1, 2]"; /* (24 + 2 - 2 * 2 - 1) / 1 + 1 = 22 */
    CHECK_U64((uint64_t)op_flop(&call), 2 * (4 * 32 * 24 * 22) * (16 * 3 * 3));
    call.inputs[1] = (struct op_flop_shape)SHAPE(32, 4, 3, 3); /* four groups */
    CHECK_U64((uint64_t)op_flop(&call), 2 * (4 * 32 * 24 * 22) * (4 * 3 * 3));
    for (const char *const *wrong = (const char *const[]){"[0, 1]", "", "x", "[-1]", NULL};;
         wrong++) {
        call.scalars[3] = *wrong;
        assert_int_equal(op_flop(&call), -1);
        if (!*wrong)
            break;
    }
    call.scalars[3] = "1";
    call.inputs[1].dims[0] = 0;
    assert_int_equal(op_flop(&call), -1);
}

static void operators_of_onnx(void **state)
{
    struct op_flop_call call = {.name = "Conv",
                                .inputs = {SHAPE(1, 3, 64, 64), SHAPE(32, 3, 3, 3), SHAPE(32)},
                                .input_count = 3,
                                .output = SHAPE(1, 32, 62, 62)};

    CHECK_U64((uint64_t)op_flop(&call), (32 * 62 * 62) * (2 * 3 * 3 * 3 + 1));
    call.input_count = 2;
    CHECK_U64((uint64_t)op_flop(&call), (32 * 62 * 62) * (2 * 3 * 3 * 3));
    call.output.rank = -1;
    assert_int_equal(op_flop(&call), -1);
    /* The weights are constants that the profile leaves out. */
    call = (struct op_flop_call){
        .name = "Gemm", .inputs = {SHAPE(2, 32)}, .input_count = 1, .output = SHAPE(2, 10)};
    CHECK_U64((uint64_t)op_flop(&call), 2 * 2 * 10 * 32);
    call.inputs[0] = (struct op_flop_shape)SHAPE(32, 2); /* transposed */
    CHECK_U64((uint64_t)op_flop(&call), 2 * 2 * 10 * 32);
    call = (struct op_flop_call){.name = "MatMul",
                                 .inputs = {SHAPE(8, 5, 7), SHAPE(7, 3)},
                                 .input_count = 2,
                                 .output = SHAPE(8, 5, 3)};
    CHECK_U64((uint64_t)op_flop(&call), 2 * 8 * 5 * 3 * 7);
    call.name = "Sum";
    call.input_count = 4;
    CHECK_U64((uint64_t)op_flop(&call), 8 * 5 * 3 * 3);
    call.name = "Softmax";
    CHECK_U64((uint64_t)op_flop(&call), 8 * 5 * 3 * 5);
    call.name = "Transpose";
    assert_int_equal(op_flop(&call), 0);
    call.name = "NoSuchOperator";
    assert_int_equal(op_flop(&call), -1);
}

static void transformers(void **state)
{
    struct op_flop_call call = {.name = "LayerNormalization",
                                .inputs = {SHAPE(2, 5, 8), SHAPE(8), SHAPE(8)},
                                .input_count = 3,
                                .output = SHAPE(2, 5, 8)};

    CHECK_U64((uint64_t)op_flop(&call), 80 * 7 + 10 * 5);
    call.input_count = 2;
    CHECK_U64((uint64_t)op_flop(&call), 80 * 6 + 10 * 5);
    call.name = "RMSNormalization";
    CHECK_U64((uint64_t)op_flop(&call), 80 * 4 + 10 * 4);
    call = (struct op_flop_call){
        .name = "Attention",
        .inputs = {SHAPE(1, 2, 3, 4), SHAPE(1, 2, 5, 4), SHAPE(1, 2, 5, 6), SHAPE(3, 5)},
        .input_count = 3,
        .output = SHAPE(1, 2, 3, 6)};
    CHECK_U64((uint64_t)op_flop(&call), 30 * (2 * 4 + 1 + 5) + 2 * 36 * 5);
    call.input_count = 4; /* a mask is added to the scores */
    CHECK_U64((uint64_t)op_flop(&call), 30 * (2 * 4 + 1 + 5 + 1) + 2 * 36 * 5);
    call = (struct op_flop_call){.name = "Attention",
                                 .inputs = {SHAPE(1, 3, 8), SHAPE(1, 5, 8), SHAPE(1, 5, 12)},
                                 .input_count = 3,
                                 .output = SHAPE(1, 3, 12)};
    assert_int_equal(op_flop(&call), -1); /* how many heads is an attribute */
}

static void hostile_shapes_are_unknown(void **state)
{
    struct op_flop_call call = {.name = "aten::mm",
                                .inputs = {SHAPE(INT64_MAX, INT64_MAX), SHAPE(INT64_MAX, 2)},
                                .input_count = 2};

    assert_int_equal(op_flop(&call), -1);
    call.inputs[0] = (struct op_flop_shape)SHAPE(-3, 4);
    call.inputs[1] = (struct op_flop_shape)SHAPE(4, 2);
    assert_int_equal(op_flop(&call), -1);
    call = (struct op_flop_call){
        .name = "aten::conv2d",
        .inputs = {SHAPE(1, 1, INT64_MAX, INT64_MAX), SHAPE(1, 1, 1, 1)},
        .input_count = 2,
        .scalars = {NULL, NULL, NULL, "[1]", "[9223372036854775807]", "[9223372036854775807]"},
    };
    assert_int_equal(op_flop(&call), -1);
    call = (struct op_flop_call){
        .name = "Gemm", .inputs = {SHAPE(0, 4)}, .input_count = 1, .output = SHAPE(0, 3)};
    assert_int_equal(op_flop(&call), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_others),
        cmocka_unit_test(convolutions_of_others),
        cmocka_unit_test(products_of_ctranslate2),
        cmocka_unit_test(products_of_aten),
        cmocka_unit_test(operators_of_aten_as_they_nest),
        cmocka_unit_test(convolutions_of_aten),
        cmocka_unit_test(operators_of_onnx),
        cmocka_unit_test(transformers),
        cmocka_unit_test(hostile_shapes_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
