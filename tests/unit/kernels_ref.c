/* SPDX-License-Identifier: Apache-2.0 */
/* The references against answers worked out by hand: they are what everything else is held to. */
#include "tests/support/check.h"

#include <math.h>

#include "kernels/kernels.h"

static void expect_floats(const float *got, const float *want, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++)
        CHECK_NEAR(got[i], want[i], tolerance);
}

/* A window of one axis; the two outer ones are absent. */
static struct kernel_window window_1d(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                                      int64_t dilation, int64_t pad_begin, int64_t pad_end)
{
    return (struct kernel_window){
        .in = {1, 1, in},
        .out = {1, 1, out},
        .kernel = {1, 1, kernel},
        .stride = {1, 1, stride},
        .dilation = {1, 1, dilation},
        .pad_begin = {0, 0, pad_begin},
        .pad_end = {0, 0, pad_end},
    };
}

static void convolves_one_axis(void **state)
{
    struct kernel_conv shape = {.batch = 1,
                                .channels = 1,
                                .filters = 1,
                                .groups = 1,
                                .rank = 1,
                                .window = window_1d(5, 3, 3, 2, 1, 1, 1)};
    const float x[] = {1, 2, 3, 4, 5}, w[] = {1, 10, 100}, bias[] = {0.5f};
    const float residual[] = {1000, 2000, 3000};
    float y[3];

    conv_f32_ref(y, x, w, bias, NULL, &shape);
    expect_floats(y, (float[]){210.5f, 432.5f, 54.5f}, 3, 0);
    conv_f32_ref(y, x, w, NULL, residual, &shape);
    expect_floats(y, (float[]){1210, 2432, 3054}, 3, 0);
    shape.window = window_1d(5, 3, 2, 1, 2, 0, 0); /* dilated: x[o] and x[o + 2] */
    conv_f32_ref(y, x, w, NULL, NULL, &shape);
    expect_floats(y, (float[]){31, 42, 53}, 3, 0);
    shape.activation = (struct kernel_activation){KERNEL_CLIP, 32, 50};
    conv_f32_ref(y, x, w, NULL, NULL, &shape);
    expect_floats(y, (float[]){32, 42, 50}, 3, 0);
}

/* Two groups of two channels; both layouts hold the same image. */
static void convolves_groups_in_both_layouts(void **state)
{
    struct kernel_conv shape = {.batch = 1,
                                .channels = 4,
                                .filters = 2,
                                .groups = 2,
                                .rank = 1,
                                .window = window_1d(2, 2, 1, 1, 1, 0, 0)};
    const float rows[] = {1, 2, 3, 4, 5, 6, 7, 8}, last[] = {1, 3, 5, 7, 2, 4, 6, 8};
    const float w[] = {1, 10, 100, 1000};
    float y[4];

    conv_f32_ref(y, rows, w, NULL, NULL, &shape);
    expect_floats(y, (float[]){31, 42, 7500, 8600}, 4, 0);
    shape.channels_last = true;
    conv_f32_ref(y, last, w, NULL, NULL, &shape);
    expect_floats(y, (float[]){31, 7500, 42, 8600}, 4, 0);
}

static void pools(void **state)
{
    struct kernel_pool shape = {
        .batch = 1, .channels = 1, .rank = 1, .window = window_1d(4, 3, 3, 2, 1, 1, 2)};
    const float x[] = {3, -1, 6, 2};
    float y[3];

    max_pool_f32_ref(y, x, &shape);
    expect_floats(y, (float[]){3, 6, 2}, 3, 0);
    average_pool_f32_ref(y, x, &shape);
    expect_floats(y, (float[]){1, 7.0f / 3, 2}, 3, 1e-6);
    shape.count_pads = true; /* windows: pad 3 -1, -1 6 2, 2 pad pad */
    average_pool_f32_ref(y, x, &shape);
    expect_floats(y, (float[]){2.0f / 3, 7.0f / 3, 2.0f / 3}, 3, 1e-6);
    shape.window.pad_end[2] = 1; /* rounded up: the last window's third element is not even a pad */
    average_pool_f32_ref(y, x, &shape);
    expect_floats(y, (float[]){2.0f / 3, 7.0f / 3, 1}, 3, 1e-6);
}

static void normalises(void **state)
{
    struct kernel_lrn lrn = {
        .batch = 1, .channels = 3, .plane = 1, .size = 3, .alpha = 3, .beta = 0.5f, .bias = 2};
    const float x[] = {1, 2, 3}, scale[] = {2}, bias[] = {1}, mean[] = {2}, variance[] = {3};
    float y[3];

    lrn_f32_ref(y, x, &lrn); /* sums of squares 5, 14, 13 */
    expect_floats(y, (float[]){1 / sqrtf(7), 2 / 4.0f, 3 / sqrtf(15)}, 3, 1e-6);
    batch_norm_f32_ref(y, x, scale, bias, mean, variance, 1, 1, 1, 3);
    expect_floats(y, (float[]){0, 1, 2}, 3, 1e-6);
    softmax_f32_ref(y, (float[]){0, logf(3), -INFINITY}, 1, 3, 1);
    expect_floats(y, (float[]){0.25f, 0.75f, 0}, 3, 1e-6);
    softmax_f32_ref(y, (float[]){1000, 7}, 1, 1, 2); /* two rows of one */
    expect_floats(y, (float[]){1, 1}, 2, 0);
}

static void multiplies_matrices(void **state)
{
    struct kernel_gemm shape = {.m = 2, .n = 2, .k = 3, .alpha = 2, .beta = 10, .c_col_stride = 1};
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[] = {1, -1};
    float y[4];

    gemm_f32_ref(y, a, b, c, &shape); /* [[1,2,3],[4,5,6]] x [[1,0],[0,1],[1,1]] */
    expect_floats(y, (float[]){18, 0, 30, 12}, 4, 0);
    shape =
        (struct kernel_gemm){.m = 2, .n = 2, .k = 3, .alpha = 1, .trans_a = true, .trans_b = true};
    gemm_f32_ref(y, a, b, NULL, &shape); /* [[1,3,5],[2,4,6]] x [[1,1],[0,1],[0,1]] */
    expect_floats(y, (float[]){1, 9, 2, 12}, 4, 0);
    shape = (struct kernel_gemm){.m = 1,
                                 .n = 1,
                                 .k = 2,
                                 .alpha = 1,
                                 .batch_rank = 1,
                                 .batch_dims = {3},
                                 .a_batch_stride = {2},
                                 .b_batch_stride = {0}};
    gemm_f32_ref(y, a, (float[]){1, 10}, NULL, &shape);
    expect_floats(y, (float[]){21, 43, 65}, 3, 0);
}

static void broadcasts(void **state)
{
    struct kernel_broadcast shape = {
        .rank = 2, .dims = {2, 3}, .a_stride = {3, 1}, .b_stride = {1, 0}};
    const int64_t a[] = {7, -7, 8, INT64_MIN, 5, INT64_MAX}, b[] = {-2, -1};
    int64_t y[6];
    int32_t narrow;
    double real;

    div_i64_ref(y, a, b, &shape);
    assert_memory_equal(y, ((int64_t[]){-3, 3, -4, INT64_MIN, -5, -INT64_MAX}), sizeof(y));
    div_i64_ref(y, a, (int64_t[]){0, 2}, &shape);
    assert_memory_equal(y, ((int64_t[]){0, 0, 0, INT64_MIN / 2, 2, INT64_MAX / 2}), sizeof(y));
    sub_i64_ref(y, a, (int64_t[]){0, 1}, &shape);
    assert_memory_equal(y, ((int64_t[]){7, -7, 8, INT64_MAX, 4, INT64_MAX - 1}), sizeof(y));
    mul_i32_ref(&narrow, (int32_t[]){INT32_MAX}, (int32_t[]){2},
                &(struct kernel_broadcast){.rank = 0});
    assert_int_equal(narrow, -2);
    add_f64_ref(&real, (double[]){0.5}, (double[]){0.25}, &(struct kernel_broadcast){.rank = 0});
    CHECK_NEAR(real, 0.75, 0);
}

static void moves(void **state)
{
    struct kernel_copy transpose = {
        .element_bytes = 2, .rank = 2, .dims = {3, 2}, .y_stride = {2, 1}, .x_stride = {1, 3}};
    struct kernel_copy backwards = {
        .element_bytes = 1, .rank = 1, .dims = {3}, .y_stride = {1}, .x_stride = {-2}};
    const uint16_t x[] = {1, 2, 3, 4, 5, 6};
    uint16_t y[6];
    char text[4] = "";

    copy_ref(y, x, &transpose);
    assert_memory_equal(y, ((uint16_t[]){1, 4, 2, 5, 3, 6}), sizeof(y));
    copy_ref(text, &"abcdef"[4], &backwards);
    assert_string_equal(text, "eca");
    fill_ref(y, &(uint16_t){9}, 2, 5);
    y[5] = 1;
    assert_memory_equal(y, ((uint16_t[]){9, 9, 9, 9, 9, 1}), sizeof(y));
}

static void pads(void **state)
{
    struct kernel_pad shape = {
        .element_bytes = 1, .rank = 2, .x_dims = {1, 4}, .y_dims = {2, 8}, .begin = {0, 3}};
    char y[17] = "";

    pad_ref(y, "abcd", "*", &shape);
    assert_string_equal(y, "***abcd*********");
    shape.mode = KERNEL_PAD_EDGE;
    pad_ref(y, "abcd", NULL, &shape);
    assert_string_equal(y, "aaaabcddaaaabcdd");
    shape = (struct kernel_pad){.element_bytes = 1,
                                .mode = KERNEL_PAD_REFLECT,
                                .rank = 1,
                                .x_dims = {4},
                                .y_dims = {9},
                                .begin = {3}};
    memset(y, 0, sizeof(y));
    pad_ref(y, "abcd", NULL, &shape);
    assert_string_equal(y, "dcbabcdcb");
    shape.y_dims[0] = 2;
    shape.begin[0] = -1;
    memset(y, 0, sizeof(y));
    pad_ref(y, "abcd", NULL, &shape);
    assert_string_equal(y, "bc");
}

static void gathers(void **state)
{
    struct kernel_gather shape = {.outer = 2, .axis = 3, .inner_bytes = 1, .index_count = 2};
    char y[5] = "";

    assert_int_equal(gather_ref(y, "abcdef", (int64_t[]){2, -3}, &shape), 0);
    assert_string_equal(y, "cafd");
    assert_int_equal(gather_ref(y, "abcdef", (int64_t[]){3, 0}, &shape), -1);
    assert_int_equal(gather_ref(y, "abcdef", (int64_t[]){0, -4}, &shape), -1);
}

static void casts(void **state)
{
    const float floats[] = {-1.9f, 300.0f, NAN, INFINITY, -INFINITY};
    const int64_t longs[] = {-1, (int64_t)1 << 32, 0};
    int32_t ints[5];
    int64_t wide[5];
    uint8_t bytes[5];
    float back[3];

    cast_ref(ints, KERNEL_I32, floats, KERNEL_F32, 5);
    assert_memory_equal(ints, ((int32_t[]){-1, 300, 0, INT32_MAX, INT32_MIN}), sizeof(ints));
    cast_ref(wide, KERNEL_I64, floats, KERNEL_F32, 5);
    assert_memory_equal(wide, ((int64_t[]){-1, 300, 0, INT64_MAX, INT64_MIN}), sizeof(wide));
    cast_ref(bytes, KERNEL_U8, floats, KERNEL_F32, 5);
    assert_memory_equal(bytes, ((uint8_t[]){0, 255, 0, 255, 0}), sizeof(bytes));
    cast_ref(bytes, KERNEL_BOOL, floats, KERNEL_F32, 5);
    assert_memory_equal(bytes, ((uint8_t[]){1, 1, 1, 1, 1}), sizeof(bytes));
    cast_ref(ints, KERNEL_I32, longs, KERNEL_I64, 3);
    assert_memory_equal(ints, ((int32_t[]){-1, 0, 0}), 3 * sizeof(ints[0]));
    cast_ref(bytes, KERNEL_BOOL, longs, KERNEL_I64, 3);
    assert_memory_equal(bytes, ((uint8_t[]){1, 1, 0}), 3);
    cast_ref(back, KERNEL_F32, longs, KERNEL_I64, 3);
    expect_floats(back, (float[]){-1, 4294967296.0f, 0}, 3, 0);
}

static void applies_functions(void **state)
{
    const float x[] = {-2, 0, 3};
    float y[3];

    relu_f32_ref(y, x, 3, 0, 0);
    expect_floats(y, (float[]){0, 0, 3}, 3, 0);
    leaky_relu_f32_ref(y, x, 3, 0.5f, 0);
    expect_floats(y, (float[]){-1, 0, 3}, 3, 0);
    clip_f32_ref(y, x, 3, -1, 2);
    expect_floats(y, (float[]){-1, 0, 2}, 3, 0);
    clip_f32_ref(y, x, 3, 2, 1); /* the upper bound wins */
    expect_floats(y, (float[]){1, 1, 1}, 3, 0);
    sigmoid_f32_ref(y, x, 3, 0, 0);
    expect_floats(y, (float[]){0.11920292f, 0.5f, 0.95257413f}, 3, 1e-7);
    tanh_f32_ref(y, x, 3, 0, 0);
    expect_floats(y, (float[]){-0.96402758f, 0, 0.99505475f}, 3, 1e-7);
    relu_f32_ref(y, (float[]){NAN}, 1, 0, 0);
    assert_true(isnan(y[0]));
}

/* A table never holds a hole, and never a version above its level. */
static void tables_are_complete(void **state)
{
    for (int level = KERNEL_LEVEL_REF; level <= (int)kernel_best_level(); level++) {
        struct kernel_table table;

        kernel_table_init(&table, (enum kernel_level)level);
        for (int i = KERNEL_RELU; i < KERNEL_UNARY_COUNT; i++)
            assert_non_null(table.unary_f32[i].fn);
        for (int i = 0; i < KERNEL_BINARY_COUNT; i++)
            assert_non_null(table.binary[i][KERNEL_F32].fn);
        assert_non_null(table.conv_f32.fn);
        assert_non_null(table.gemm_f32.fn);
        assert_non_null(table.max_pool_f32.fn);
        assert_non_null(table.average_pool_f32.fn);
        assert_non_null(table.lrn_f32.fn);
        assert_non_null(table.softmax_f32.fn);
        assert_non_null(table.batch_norm_f32.fn);
        assert_non_null(table.copy.fn);
        assert_non_null(table.fill.fn);
        assert_non_null(table.pad.fn);
        assert_non_null(table.gather.fn);
        assert_non_null(table.cast.fn);
        if (level == KERNEL_LEVEL_REF)
            assert_string_equal(table.softmax_f32.version, "ref");
        if (level == KERNEL_LEVEL_PORTABLE)
            assert_string_equal(table.softmax_f32.version, "portable");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolves_one_axis),
        cmocka_unit_test(convolves_groups_in_both_layouts),
        cmocka_unit_test(pools),
        cmocka_unit_test(normalises),
        cmocka_unit_test(multiplies_matrices),
        cmocka_unit_test(broadcasts),
        cmocka_unit_test(moves),
        cmocka_unit_test(pads),
        cmocka_unit_test(gathers),
        cmocka_unit_test(casts),
        cmocka_unit_test(applies_functions),
        cmocka_unit_test(tables_are_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
