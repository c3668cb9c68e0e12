/* SPDX-License-Identifier: Apache-2.0 */
/* Columns back to images, the truth: each pixel asks where it was read. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

/* Which place of the window reads pixel p by its element k, or -1. */
static int64_t place_of(int64_t p, int64_t k, int axis, const struct kernel_window *w)
{
    int64_t from = p + w->pad_begin[axis] - k * w->dilation[axis];

    if (from < 0 || from % w->stride[axis] != 0 || from / w->stride[axis] >= w->out[axis])
        return -1;
    return from / w->stride[axis];
}

void col2im_ref(void *y, const void *x, const struct kernel_col2im *shape)
{
    const struct kernel_window *w = &shape->window;
    int64_t pixels = ref_product(w->in, KERNEL_SPATIAL);
    int64_t elements = ref_product(w->kernel, KERNEL_SPATIAL);
    int64_t places = ref_product(w->out, KERNEL_SPATIAL);
    bool is_real = kernel_dtype_is_real(shape->dtype);

    for (int64_t i = 0; i < shape->images * pixels; i++) {
        int64_t p = i % pixels, k[KERNEL_SPATIAL] = {0};
        int64_t at[] = {p / (w->in[1] * w->in[2]), p / w->in[2] % w->in[1], p % w->in[2]};
        uint64_t whole = 0;
        double sum = 0.0;

        for (int64_t e = 0; e < elements; e++) {
            int64_t place = 0, from;
            bool is_read = true;

            for (int axis = 0; axis < KERNEL_SPATIAL; axis++) {
                int64_t o = place_of(at[axis], k[axis], axis, w);

                is_read = is_read && o >= 0;
                place = place * w->out[axis] + o;
            }
            from = (i / pixels * elements + e) * places + place;
            if (is_read && is_real)
                sum += ref_get_f64(x, shape->dtype, from);
            else if (is_read)
                whole += (uint64_t)ref_get_i64(x, shape->dtype, from);
            ref_step(k, w->kernel, KERNEL_SPATIAL);
        }
        if (is_real)
            ref_set_f64(y, shape->dtype, i, sum);
        else if (shape->dtype == KERNEL_BOOL)
            ((uint8_t *)y)[i] = whole != 0;
        else
            ref_set_i64(y, shape->dtype, i, (int64_t)whole);
    }
}
