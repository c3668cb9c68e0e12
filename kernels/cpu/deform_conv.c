/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution at places that move, of f32. */
#include "kernels/cpu/deform_conv_f64.h"

#define REAL           float
#define REAL_TYPE      KERNEL_F32
#define FLOOR          floorf
#define DEFORM_PRODUCT gemm_f32_fn
#include "kernels/cpu/deform_conv_steps.h"

size_t kernel_deform_conv_room(const struct kernel_deform_conv *shape)
{
    if (shape->dtype == KERNEL_F64)
        return kernel_deform_conv_f64_room(shape);
    return shape->dtype == KERNEL_F32 ? (size_t)column_numbers(shape) * sizeof(float) : 0;
}

static void multiply(const struct sampling *a, gemm_f32_fn *gemm)
{
    const struct kernel_deform_conv *s = a->shape;
    int64_t places = product(s->window.out), filters = s->filters / s->groups;
    struct kernel_gemm shape = {.m = filters,
                                .n = a->count,
                                .k = s->channels / s->groups * product(s->window.kernel),
                                .alpha = 1.0f,
                                .beta = a->data->bias ? 1.0f : 0.0f,
                                .c_row_stride = 1,
                                .y_line = a->count == places ? 0 : places};

    for (int64_t g = 0; g < s->groups; g++) {
        const float *bias = a->data->bias;

        gemm((float *)a->data->y + (a->image * s->filters + g * filters) * places + a->first,
             (const float *)a->data->w + g * filters * shape.k, a->columns + g * shape.k * a->count,
             bias ? bias + g * filters : NULL, &shape);
    }
}

#define DEFORM_CONV(isa)                                                                           \
    void deform_conv_##isa(const struct kernel_deform_conv_data *data,                             \
                           const struct kernel_deform_conv *shape)                                 \
    {                                                                                              \
        if (!convolve(data, shape, sample_##isa, gemm_f32_##isa))                                  \
            deform_conv_f64_##isa(data, shape);                                                    \
    }

ISA_VERSIONS(DEFORM_CONV)
