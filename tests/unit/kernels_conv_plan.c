/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution plans of shapes that a library's kernel gets wrong: none is listed, or made by name,
 * for what it cannot do, and what is left computes what the reference does. */
#include "tests/support/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

/* A convolution of two axes, channels-last. */
struct sample {
    const char *name;
    int64_t channels, filters, in[2], kernel[2], stride[2], begin[2], end[2];
    bool has_bias;
    enum kernel_unary function;
    bool is_brgconv_wrong; /* with a residual */
};

#define NONE KERNEL_IDENTITY
#define RELU KERNEL_RELU
#define CLIP KERNEL_CLIP

static const struct sample padded[] = {
    {"rows, function", 3, 16, {5, 5}, {1, 3}, {1, 1}, {1, 1}, {1, 1}, false, RELU, true},
    {"rows, bias", 3, 16, {5, 5}, {1, 3}, {1, 1}, {1, 1}, {1, 1}, true, NONE, true},
    {"far pads", 4, 20, {3, 3}, {1, 1}, {1, 1}, {20, 20}, {20, 20}, true, CLIP, true},
    {"rows below", 8, 8, {2, 9}, {2, 3}, {1, 1}, {0, 1}, {3, 1}, true, RELU, true},
    {"large stride", 8, 16, {1, 6}, {2, 2}, {4, 1}, {4, 0}, {4, 1}, true, RELU, true},
    {"wide window", 8, 8, {6, 40}, {3, 39}, {1, 1}, {1, 19}, {1, 19}, true, RELU, false},
    {"wide, by 2", 16, 24, {7, 60}, {2, 31}, {2, 2}, {0, 15}, {3, 14}, false, NONE, false},
    {"wide, beyond", 8, 8, {1, 9}, {1, 11}, {1, 1}, {0, 30}, {2, 30}, true, CLIP, true},
    {"line", 60, 90, {1, 40}, {1, 9}, {1, 1}, {0, 4}, {0, 4}, true, RELU, false},
    {"line, by 3", 64, 33, {1, 50}, {1, 8}, {1, 3}, {0, 7}, {0, 2}, false, CLIP, false},
    {"line, no pads", 64, 32, {1, 20}, {1, 3}, {1, 1}, {0, 0}, {0, 0}, true, NONE, false},
    {"columns", 8, 16, {6, 5}, {3, 1}, {1, 1}, {1, 2}, {1, 2}, true, RELU, false},
};

/* What networks have: nothing is taken from them. */
static const struct sample usual[] = {
    {"3 x 3", 64, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, RELU, false},
    {"3 x 3, by 2", 64, 128, {15, 15}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true, RELU, false},
    {"1 x 1", 64, 256, {14, 14}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, true, RELU, false},
    {"7 x 7", 16, 32, {28, 28}, {7, 7}, {2, 2}, {3, 3}, {3, 3}, true, RELU, false},
    {"1 x 7", 32, 32, {17, 17}, {1, 7}, {1, 1}, {0, 3}, {0, 3}, true, RELU, false},
    {"no pads", 32, 32, {9, 9}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, true, RELU, false},
};

static struct kernel_conv shape_of(const struct sample *sample)
{
    struct kernel_conv shape = {.batch = 1,
                                .channels = sample->channels,
                                .filters = sample->filters,
                                .groups = 1,
                                .rank = 2,
                                .channels_last = true,
                                .activation = {sample->function, -0.25f, 1.5f}};
    struct kernel_window *w = &shape.window;

    w->in[0] = w->out[0] = w->kernel[0] = w->stride[0] = w->dilation[0] = 1;
    for (int i = 0; i < 2; i++) {
        int axis = KERNEL_SPATIAL - 2 + i;

        w->in[axis] = sample->in[i];
        w->kernel[axis] = sample->kernel[i];
        w->stride[axis] = sample->stride[i];
        w->dilation[axis] = 1;
        w->pad_begin[axis] = sample->begin[i];
        w->pad_end[axis] = sample->end[i];
        w->out[axis] = (sample->in[i] + sample->begin[i] + sample->end[i] - sample->kernel[i]) /
                           sample->stride[i] +
                       1;
    }
    return shape;
}

static float *make_numbers(size_t count, uint32_t seed)
{
    float *numbers = aligned_alloc(64, (count * sizeof(*numbers) + 63) / 64 * 64);

    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        numbers[i] = (float)(seed >> 8) * 0x1p-23f - 1.0f;
    }
    return numbers;
}

static void check_version(const struct sample *sample, const struct kernel_conv *shape,
                          const char *version)
{
    const struct kernel_window *window = &shape->window;
    size_t x_count = (size_t)(shape->channels * window->in[1] * window->in[2]);
    size_t w_count =
        (size_t)(shape->filters * shape->channels * window->kernel[1] * window->kernel[2]);
    size_t y_count = (size_t)(shape->filters * window->out[1] * window->out[2]);
    float *x = make_numbers(x_count, 1), *w = make_numbers(w_count, 2);
    float *bias = sample->has_bias ? make_numbers((size_t)shape->filters, 3) : NULL;
    float *got = make_numbers(y_count, 4), *residual = make_numbers(y_count, 4);
    float *want = make_numbers(y_count, 5);
    struct kernel_conv_plan *plan = NULL;
    float tolerance = strstr(version, "winograd") ? 1e-3f : 1e-4f;
    void *workspace;

    conv_f32_ref(want, x, w, bias, residual, shape);
    assert_int_equal(kernel_conv_plan_create(shape, w, bias, true, version, &plan), 0);
    workspace = aligned_alloc(64, (kernel_conv_plan_info(plan).workspace_bytes + 64) / 64 * 64);
    assert_non_null(workspace);
    print_message("%s by %s\n", sample->name, kernel_conv_plan_info(plan).version);
    assert_int_equal(kernel_conv_plan_run(plan, got, x, workspace), 0);
    for (size_t i = 0; i < y_count; i++)
        if (!(fabsf(got[i] - want[i]) <= tolerance))
            fail_msg("%s, %s: element %zu is %.9g, not %.9g", sample->name, version, i,
                     (double)got[i], (double)want[i]);
    kernel_conv_plan_destroy(&plan);
    free(workspace);
    free(x);
    free(w);
    free(bias);
    free(got);
    free(residual);
    free(want);
}

static void check_all_versions(const struct sample *sample, const struct kernel_conv *shape)
{
    struct kernel_conv_versions versions;

    assert_int_equal(kernel_conv_plan_list(shape, sample->has_bias, true, true, &versions), 0);
    for (int i = 0; i < versions.count; i++)
        check_version(sample, shape, versions.items[i].name);
}

static void test_rows_in_pads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(padded) / sizeof(padded[0]); i++) {
        struct kernel_conv shape = shape_of(&padded[i]);

        check_all_versions(&padded[i], &shape);
    }
}

/* Windows along a line with gaps, some of which lie in the pads. With AVX-512 a kernel that needs no code written
 * comes first, as for lines without gaps: networks of audio have a dozen shapes of them. */
static void test_lines_with_gaps(void **state)
{
    static const struct sample lines[] = {
        {"gaps", 32, 32, {1, 128}, {1, 3}, {1, 1}, {0, 3}, {0, 3}, true, RELU, false},
        {"gaps, few", 8, 9, {1, 75}, {1, 3}, {1, 2}, {0, 5}, {0, 0}, false, NONE, false},
        {"gaps, odd", 13, 40, {1, 30}, {1, 4}, {1, 1}, {0, 0}, {0, 9}, true, CLIP, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct kernel_conv shape = shape_of(&lines[i]);
        struct kernel_window *w = &shape.window;
        struct kernel_conv_versions versions;

        w->dilation[2] = 3;
        w->out[2] = (w->in[2] + w->pad_begin[2] + w->pad_end[2] - 3 * (w->kernel[2] - 1) - 1) /
                        w->stride[2] +
                    1;
        check_all_versions(&lines[i], &shape);
        assert_int_equal(kernel_conv_plan_list(&shape, lines[i].has_bias, false, false, &versions),
                         0);
        if (kernel_best_level() >= KERNEL_LEVEL_AVX512)
            assert_memory_equal(versions.items[0].name, "panels:", strlen("panels:"));
    }
}

/* Row-major images are unrolled where there is nothing better for those with channels last alone. */
static void test_row_major_images_are_turned(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        struct kernel_conv shape = shape_of(&usual[i]);
        struct kernel_conv_versions last, first;

        assert_int_equal(kernel_conv_plan_list(&shape, true, true, false, &last), 0);
        shape.channels_last = false;
        assert_int_equal(kernel_conv_plan_list(&shape, true, true, false, &first), 0);
        print_message("%s: %s\n", usual[i].name, first.items[0].name);
        assert_true(!strstr(first.items[0].name, "gemm:") || strstr(last.items[0].name, "gemm:"));
        check_all_versions(&usual[i], &shape);
    }
}

static bool is_brgconv(const char *name)
{
    return strncmp(name, "dnnl:brgconv:", strlen("dnnl:brgconv:")) == 0;
}

/* By name neither: a plan kept from before may still hold it. */
static void test_wrong_ones_are_not_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(padded) / sizeof(padded[0]); i++) {
        struct kernel_conv shape = shape_of(&padded[i]);
        struct kernel_conv_versions without;
        struct kernel_conv_plan *plan = NULL;
        float *w = make_numbers((size_t)(shape.filters * shape.channels * shape.window.kernel[1] *
                                         shape.window.kernel[2]),
                                1);
        float *bias = padded[i].has_bias ? make_numbers((size_t)shape.filters, 2) : NULL;

        assert_int_equal(kernel_conv_plan_list(&shape, padded[i].has_bias, false, true, &without),
                         0);
        for (int k = 0; padded[i].is_brgconv_wrong && k < without.count; k++)
            if (is_brgconv(without.items[k].name))
                assert_int_equal(
                    kernel_conv_plan_create(&shape, w, bias, true, without.items[k].name, &plan),
                    -ENOTSUP);
        free(w);
        free(bias);
    }
}

/* The kernels that a usual convolution can have are the same with a residual, first of all the one
 * that it gets. */
static void test_usual_shapes_keep_theirs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        struct kernel_conv shape = shape_of(&usual[i]);
        struct kernel_conv_versions with, without;

        assert_int_equal(kernel_conv_plan_list(&shape, true, true, false, &with), 0);
        assert_int_equal(kernel_conv_plan_list(&shape, true, false, false, &without), 0);
        print_message("%s: %s\n", usual[i].name, with.items[0].name);
        assert_string_equal(with.items[0].name, without.items[0].name);
        for (int k = 0, found = 0; k < without.count; k++) {
            if (!is_brgconv(without.items[k].name))
                continue;
            for (int other = 0; other < with.count; other++)
                found += strcmp(with.items[other].name, without.items[k].name) == 0;
            assert_int_equal(found, 1);
        }
    }
}

static void check_first(const struct sample *sample, bool channels_last)
{
    struct kernel_conv shape = shape_of(sample);
    struct kernel_conv_versions versions;
    struct kernel_conv_plan *plan = NULL;
    float *w = make_numbers(
        (size_t)(shape.filters * shape.channels * shape.window.kernel[1] * shape.window.kernel[2]),
        1);
    float *bias = make_numbers((size_t)shape.filters, 2);

    shape.channels_last = channels_last;
    assert_int_equal(kernel_conv_plan_list(&shape, true, true, false, &versions), 0);
    assert_int_equal(kernel_conv_plan_create(&shape, w, bias, true, NULL, &plan), 0);
    assert_string_equal(kernel_conv_plan_info(plan).version, versions.items[0].name);
    kernel_conv_plan_destroy(&plan);
    free(w);
    free(bias);
}

/* Unless another is asked for, the first of the list is made, whatever is left out of it. */
static void test_the_first_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(padded) / sizeof(padded[0]); i++)
        for (int last = 0; last < 2; last++)
            check_first(&padded[i], last);
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        for (int last = 0; last < 2; last++)
            check_first(&usual[i], last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_in_pads),
        cmocka_unit_test(test_lines_with_gaps),
        cmocka_unit_test(test_row_major_images_are_turned),
        cmocka_unit_test(test_wrong_ones_are_not_made),
        cmocka_unit_test(test_usual_shapes_keep_theirs),
        cmocka_unit_test(test_the_first_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
