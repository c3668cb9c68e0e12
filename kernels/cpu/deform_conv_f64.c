/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution at places that move, of f64. */
#include <string.h>

#include "kernels/cpu/deform_conv_f64.h"

#define REAL           double
#define REAL_TYPE      KERNEL_F64
#define FLOOR          floor
#define DEFORM_PRODUCT product_fn
#include "kernels/cpu/deform_conv_steps.h"

/* Whether places are done in several blocks: rows of y are then not those of a product. */
static bool is_parted(const struct kernel_deform_conv *s)
{
    return block_places(s) < product(s->window.out);
}

size_t kernel_deform_conv_f64_room(const struct kernel_deform_conv *shape)
{
    int64_t filters = shape->filters / shape->groups, numbers = column_numbers(shape);

    if (numbers > 0 && is_parted(shape))
        numbers += filters * block_places(shape);
    return (size_t)numbers * sizeof(double);
}

static void multiply(const struct sampling *a, product_fn *product_of)
{
    const struct kernel_deform_conv *s = a->shape;
    int64_t places = product(s->window.out), filters = s->filters / s->groups;
    bool has_parts = is_parted(s);
    struct kernel_product shape = {.a_type = KERNEL_F64,
                                   .b_type = KERNEL_F64,
                                   .y_type = KERNEL_F64,
                                   .m = filters,
                                   .n = a->count,
                                   .k = s->channels / s->groups * product(s->window.kernel),
                                   .alpha = 1.0,
                                   .beta = a->data->bias ? 1.0 : 0.0,
                                   .c_row_stride = 1};

    for (int64_t g = 0; g < s->groups; g++) {
        const double *bias = a->data->bias;
        double *y =
            (double *)a->data->y + (a->image * s->filters + g * filters) * places + a->first;
        struct kernel_product_data data = {.y = has_parts ? a->columns + column_numbers(s) : y,
                                           .a = (const double *)a->data->w + g * filters * shape.k,
                                           .b = a->columns + g * shape.k * a->count,
                                           .c = bias ? bias + g * filters : NULL};

        product_of(&data, &shape);
        for (int64_t f = 0; has_parts && f < filters; f++)
            memcpy(y + f * places, (double *)data.y + f * a->count,
                   (size_t)a->count * sizeof(double));
    }
}

#define DEFORM_CONV_F64(isa)                                                                       \
    void deform_conv_f64_##isa(const struct kernel_deform_conv_data *data,                         \
                               const struct kernel_deform_conv *shape)                             \
    {                                                                                              \
        if (!convolve(data, shape, sample_##isa, product_##isa))                                   \
            deform_conv_ref(data, shape);                                                          \
    }

ISA_VERSIONS(DEFORM_CONV_F64)
