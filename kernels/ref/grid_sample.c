/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of images at given places, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/grid_taps.h"
#include "kernels/ref/number.h"

static double sample(const void *x, int64_t plane, const struct grid_taps *taps,
                     const struct kernel_grid_sample *s)
{
    int64_t at[KERNEL_SPATIAL] = {0}, counts[KERNEL_SPATIAL];
    double sum = 0.0;

    for (int axis = 0; axis < s->rank; axis++)
        counts[axis] = taps[axis].count;
    do {
        int64_t pixel = 0;
        double weight = 1.0;
        bool is_inside = true;

        for (int axis = 0; axis < s->rank; axis++) {
            int64_t p = taps[axis].pixels[at[axis]];

            is_inside = is_inside && p >= 0;
            pixel = pixel * s->in[axis] + p;
            weight *= taps[axis].weights[at[axis]];
        }
        if (is_inside && weight != 0.0)
            sum += weight * ref_get_f64(x, s->dtype, plane + pixel);
    } while (ref_step(at, counts, s->rank));
    return sum;
}

void grid_sample_ref(void *y, const void *x, const void *grid,
                     const struct kernel_grid_sample *shape)
{
    int64_t plane = ref_product(shape->in, shape->rank);

    for (int64_t i = 0; i < shape->batch * shape->points; i++) {
        int64_t n = i / shape->points, point = i % shape->points;
        struct grid_taps taps[KERNEL_SPATIAL];

        for (int axis = 0; axis < shape->rank; axis++) {
            struct grid_axis along = {shape->in[axis], shape->mode, shape->outside,
                                      shape->align_corners};

            taps[axis] = grid_taps_of(
                ref_get_f64(grid, shape->grid_type, i * shape->rank + shape->rank - 1 - axis),
                &along);
        }
        for (int64_t c = 0; c < shape->channels; c++) {
            int64_t image = n * shape->channels + c;

            ref_set_f64(y, shape->dtype, image * shape->points + point,
                        sample(x, image * plane, taps, shape));
        }
    }
}
