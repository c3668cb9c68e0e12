/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling: a thread per element of the result. */
#include "kernels/cuda/device.cuh"

/* Where an element lies along an axis, and what its weights come to. */
struct along {
    int64_t o, taps, tap, stride;
    double x, sum;
};

/* False: the element is the outside value. */
static __device__ bool find_along(const struct kernel_resample_axis *axis, struct along *at)
{
    int64_t place;

    at->sum = 1.0;
    if (axis->places) {
        for (int64_t t = 0; t < at->taps; t++)
            if (axis->places[at->o * at->taps + t] < 0)
                return false;
        return true;
    }
    at->x = resample_coordinate(&axis->rule, at->o);
    if (at->taps > 1) {
        at->sum = 0.0;
        for (int64_t t = 0; t < at->taps; t++)
            at->sum += resample_term(&axis->rule, at->x, t, &place);
    }
    return !resample_is_outside(&axis->rule, at->x);
}

/* The term that the axis has come to. */
static __device__ double term_of(const struct kernel_resample_axis *axis, const struct along *at,
                                 int64_t *out_place)
{
    int64_t term = at->o * at->taps + at->tap;

    if (!axis->places)
        return resample_term(&axis->rule, at->x, at->tap, out_place) / at->sum;
    *out_place = axis->places[term];
    return axis->weights[term];
}

static __device__ double resampled(const void *x, const struct kernel_resample *s,
                                   struct along *along)
{
    double sum = 0.0;
    int i = 0;

    while (i >= 0) {
        int64_t at = 0;
        double weight = 1.0;

        for (int k = 0; k < s->rank; k++) {
            int64_t place;

            weight *= term_of(&s->axes[k], &along[k], &place);
            at += place * along[k].stride;
        }
        if (weight != 0.0)
            sum += weight * get_f64(x, s->dtype, at);
        for (i = s->rank - 1; i >= 0 && ++along[i].tap == along[i].taps; i--)
            along[i].tap = 0;
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(CUDA_BLOCK, CUDA_RESIDENT)
    resample_any(void *y, const void *x, int64_t count, struct kernel_resample s)
{
    for (int64_t index = grid_index(); index < count; index += grid_step()) {
        struct along along[KERNEL_MAX_RANK];
        int64_t rest = index, stride = 1;
        bool is_inside = true;
        double number;

        for (int i = s.rank - 1; i >= 0; i--) {
            along[i].o = rest % s.y_dims[i];
            along[i].taps = s.axes[i].taps;
            along[i].tap = 0;
            along[i].stride = stride;
            rest /= s.y_dims[i];
            stride *= s.x_dims[i];
            is_inside = find_along(&s.axes[i], &along[i]) && is_inside;
        }
        number = is_inside ? resampled(x, &s, along) : s.outside;
        if (BUG == 31 && is_inside)
            number = get_f64(x, s.dtype, 0);
        set_f64(y, s.dtype, index, is_real_type(s.dtype) ? number : rint(number));
    }
}
KERNEL_EXPORT(resample_any)
