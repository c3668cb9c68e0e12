/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products over named axes, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

/* The sum over the axes behind the kept ones. `at` is all zero there, before and after. */
static double sum_reals(const void *const *operands, int64_t *at, const struct kernel_einsum *s)
{
    int axes = s->kept + s->summed;
    double sum = 0.0;

    do {
        double term = 1.0;

        for (int i = 0; i < s->operands; i++)
            term *= ref_get_f64(operands[i], s->dtype, ref_offset(at, s->strides[i], axes));
        sum += term;
    } while (ref_step(at + s->kept, s->dims + s->kept, s->summed));
    return sum;
}

static int64_t sum_integers(const void *const *operands, int64_t *at, const struct kernel_einsum *s)
{
    int axes = s->kept + s->summed;
    uint64_t sum = 0;

    do {
        uint64_t term = 1;

        for (int i = 0; i < s->operands; i++)
            term *=
                (uint64_t)ref_get_i64(operands[i], s->dtype, ref_offset(at, s->strides[i], axes));
        sum += term;
    } while (ref_step(at + s->kept, s->dims + s->kept, s->summed));
    return (int64_t)sum;
}

void einsum_ref(void *y, const void *const *operands, const struct kernel_einsum *shape)
{
    int64_t count = ref_product(shape->dims, shape->kept);
    bool has_terms = ref_product(shape->dims + shape->kept, shape->summed) > 0;
    int64_t at[KERNEL_EINSUM_AXES] = {0};

    for (int64_t i = 0; i < count; i++) {
        if (kernel_dtype_is_real(shape->dtype))
            ref_set_f64(y, shape->dtype, i, has_terms ? sum_reals(operands, at, shape) : 0.0);
        else
            ref_set_i64(y, shape->dtype, i, has_terms ? sum_integers(operands, at, shape) : 0);
        ref_step(at, shape->dims, shape->kept);
    }
}
