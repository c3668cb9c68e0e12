/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling along all axes, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

/* The sum for output `at` over the taps of all axes. */
static double sample(const void *x, const int64_t *at, const struct kernel_resample *s)
{
    int64_t tap[KERNEL_MAX_RANK] = {0}, taps[KERNEL_MAX_RANK];
    double sum = 0.0;

    for (int i = 0; i < s->rank; i++)
        taps[i] = s->axes[i].taps;
    do {
        int64_t place = 0;
        double weight = 1.0;

        for (int i = 0; i < s->rank; i++) {
            int64_t term = at[i] * taps[i] + tap[i];

            if (s->axes[i].places[term] < 0)
                return s->outside;
            place = place * s->x_dims[i] + s->axes[i].places[term];
            weight *= s->axes[i].weights[term];
        }
        if (weight != 0.0)
            sum += weight * ref_get_f64(x, s->dtype, place);
    } while (ref_step(tap, taps, s->rank));
    return sum;
}

void resample_ref(void *y, const void *x, const struct kernel_resample *shape)
{
    int64_t count = ref_product(shape->y_dims, shape->rank);
    int64_t at[KERNEL_MAX_RANK] = {0};

    for (int64_t i = 0; i < count; i++) {
        double number = sample(x, at, shape);

        ref_set_f64(y, shape->dtype, i,
                    kernel_dtype_is_real(shape->dtype) ? number : nearbyint(number));
        ref_step(at, shape->y_dims, shape->rank);
    }
}
