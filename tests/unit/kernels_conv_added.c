/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions that are larger than what is computed of them at once: all their plans give
 * what the reference gives, with one thread and with two. */
#include "tests/support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

struct sample {
    const char *name;
    int64_t batch, channels, filters;
    int64_t x[KERNEL_SPATIAL], kernel[KERNEL_SPATIAL], stride[KERNEL_SPATIAL];
    int64_t dilation[KERNEL_SPATIAL], begin[KERNEL_SPATIAL], end[KERNEL_SPATIAL];
};

static const struct sample samples[] = {
    {"5 x 5 by 2", 2, 16, 32, {1, 20, 24}, {1, 5, 5}, {1, 2, 2}, {1, 1, 1}, {0, 2, 2}, {0, 1, 1}},
    {"gaps", 1, 8, 48, {1, 9, 40}, {1, 4, 4}, {1, 3, 2}, {1, 2, 3}, {0, 1, 4}, {0, 0, 2}},
    {"planes", 1, 8, 24, {4, 5, 16}, {3, 3, 4}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1}},
    {"side by side", 1, 4, 64, {1, 12, 40}, {1, 3, 6}, {1, 4, 6}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {"far pads", 1, 8, 40, {1, 7, 32}, {1, 7, 9}, {1, 1, 2}, {1, 1, 1}, {0, 6, 8}, {0, 6, 8}},
    {"a line", 3, 24, 64, {1, 1, 90}, {1, 1, 16}, {1, 1, 8}, {1, 1, 1}, {0, 0, 4}, {0, 0, 4}},
};

static struct kernel_conv shape_of(const struct sample *s)
{
    struct kernel_conv shape = {.batch = s->batch,
                                .channels = s->channels,
                                .filters = s->filters,
                                .groups = 1,
                                .rank = s->x[0] > 1 ? 3 : 2,
                                .channels_last = true,
                                .is_transposed = true};
    struct kernel_window *w = &shape.window;

    for (int i = 0; i < KERNEL_SPATIAL; i++) {
        w->out[i] = s->x[i];
        w->kernel[i] = s->kernel[i];
        w->stride[i] = s->stride[i];
        w->dilation[i] = s->dilation[i];
        w->pad_begin[i] = s->begin[i];
        w->pad_end[i] = s->end[i];
        w->in[i] = (s->x[i] - 1) * s->stride[i] + (s->kernel[i] - 1) * s->dilation[i] + 1 -
                   s->begin[i] - s->end[i];
    }
    return shape;
}

static size_t volume(const int64_t sizes[KERNEL_SPATIAL])
{
    return (size_t)(sizes[0] * sizes[1] * sizes[2]);
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

/* [batch, channels, places] of [batch, places, channels]. */
static float *row_major(const float *x, size_t batch, size_t channels, size_t places)
{
    float *turned = make_numbers(batch * channels * places, 0);

    for (size_t b = 0; b < batch; b++)
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < places; i++)
                turned[(b * channels + c) * places + i] = x[(b * places + i) * channels + c];
    return turned;
}

static void check_version(const struct kernel_conv *shape, const char *name, const char *version,
                          bool has_bias)
{
    const struct kernel_conv_transpose reference = {KERNEL_F32,     shape->batch,  shape->channels,
                                                    shape->filters, shape->groups, shape->window};
    size_t batch = (size_t)shape->batch, channels = (size_t)shape->channels;
    size_t filters = (size_t)shape->filters, x_places = volume(shape->window.out);
    size_t y_places = volume(shape->window.in);
    float *x = make_numbers(batch * channels * x_places, 1);
    float *w = make_numbers(channels * filters * volume(shape->window.kernel), 2);
    float *bias = has_bias ? make_numbers(filters, 3) : NULL;
    float *got = make_numbers(batch * filters * y_places, 4), *turned_got;
    float *want = make_numbers(batch * filters * y_places, 5);
    float *turned_x = row_major(x, batch, channels, x_places);
    struct kernel_conv_plan *plan = NULL;
    void *workspace;

    conv_transpose_ref(want, turned_x, w, bias, &reference);
    assert_int_equal(kernel_conv_plan_create(shape, w, bias, false, version, &plan), 0);
    workspace = aligned_alloc(64, (kernel_conv_plan_info(plan).workspace_bytes + 64) / 64 * 64);
    assert_non_null(workspace);
    assert_int_equal(kernel_conv_plan_run(plan, got, x, workspace), 0);
    turned_got = row_major(got, batch, filters, y_places);
    for (size_t i = 0; i < batch * filters * y_places; i++)
        if (!(fabsf(turned_got[i] - want[i]) <= 1e-4f))
            fail_msg("%s, %s: element %zu is %.9g, not %.9g", name, version, i,
                     (double)turned_got[i], (double)want[i]);
    kernel_conv_plan_destroy(&plan);
    free(workspace);
    free(x);
    free(w);
    free(bias);
    free(got);
    free(turned_got);
    free(want);
    free(turned_x);
}

static void test_all_plans_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct kernel_conv shape = shape_of(&samples[i]);
        struct kernel_conv_versions versions;

        assert_int_equal(kernel_conv_plan_list(&shape, i % 2, false, false, &versions), 0);
        print_message("%s: %s\n", samples[i].name, versions.items[0].name);
        for (int k = 0; k < versions.count; k++)
            check_version(&shape, samples[i].name, versions.items[k].name, i % 2);
    }
}

static void test_with_two_threads(void **state)
{
    kernel_set_threads(2);
    test_all_plans_agree(state);
    kernel_set_threads(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_plans_agree),
        cmocka_unit_test(test_with_two_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
