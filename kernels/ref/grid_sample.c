/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of images at given places, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

enum { TAPS_MAX = 4 };

/* What is read along one axis: pixels (-1: none) and their weights. */
struct taps {
    int count;
    int64_t pixels[TAPS_MAX];
    double weights[TAPS_MAX];
};

/* Into [low, high] by mirroring at both ends. */
static double reflect(double at, double low, double high)
{
    double size = high - low, over;

    if (!(size > 0.0) || !isfinite(at))
        return low;
    over = fmod(fabs(at - low), 2.0 * size);
    return low + (over > size ? 2.0 * size - over : over);
}

static double clamp(double at, double high)
{
    return at > 0.0 ? (at < high ? at : high) : 0.0; /* NaN: 0 */
}

/* A place between -1 and 1 in pixels, moved inside where that is asked for. */
static double place_of(double g, int64_t size, const struct kernel_grid_sample *s)
{
    double n = (double)size, low = s->align_corners ? 0.0 : -0.5;
    double high = n - 1.0 - low;
    double at = s->align_corners ? (g + 1.0) / 2.0 * (n - 1.0) : ((g + 1.0) * n - 1.0) / 2.0;

    if (s->mode == SAMPLE_NEAREST)
        at = nearbyint(at);
    if (at >= low && at <= high)
        return at;
    /* A cubic reaches beyond the border wherever it lies: its pixels are moved inside one by one.
     */
    if (s->outside == OUTSIDE_BORDER && s->mode != SAMPLE_CUBIC)
        return clamp(at, n - 1.0);
    return s->outside == OUTSIDE_REFLECT ? reflect(at, low, high) : at;
}

static int64_t pixel_of(double at, int64_t size, const struct kernel_grid_sample *s)
{
    double n = (double)size, low = s->align_corners ? 0.0 : -0.5;

    if (at >= 0.0 && at <= n - 1.0)
        return (int64_t)at;
    if (s->outside == OUTSIDE_BORDER)
        return (int64_t)clamp(at, n - 1.0);
    if (s->outside == OUTSIDE_REFLECT)
        return (int64_t)clamp(nearbyint(reflect(at, low, n - 1.0 - low)), n - 1.0);
    return -1;
}

/* Cubic convolution with a = -0.75; t: from the second of four pixels on. */
static void cubic_weights(double t, double out[TAPS_MAX])
{
    const double a = -0.75;

    for (int i = 0; i < TAPS_MAX; i++) {
        double d = fabs(t + 1.0 - (double)i);

        out[i] = d <= 1.0 ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
                          : ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    }
}

static struct taps taps_of(double g, int64_t size, const struct kernel_grid_sample *s)
{
    double at = place_of(g, size, s), first = floor(at), t = at - first;
    struct taps taps = {.count = 1, .weights = {1.0}};

    if (s->mode == SAMPLE_LINEAR) {
        taps.count = 2;
        taps.weights[0] = 1.0 - t;
        taps.weights[1] = t;
    } else if (s->mode == SAMPLE_CUBIC) {
        taps.count = TAPS_MAX;
        cubic_weights(t, taps.weights);
        first -= 1.0;
    } else {
        first = nearbyint(at);
    }
    for (int i = 0; i < taps.count; i++)
        taps.pixels[i] = pixel_of(first + (double)i, size, s);
    return taps;
}

static double sample(const void *x, int64_t plane, const struct taps *taps,
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
        struct taps taps[KERNEL_SPATIAL];

        for (int axis = 0; axis < shape->rank; axis++)
            taps[axis] = taps_of(
                ref_get_f64(grid, shape->grid_type, i * shape->rank + shape->rank - 1 - axis),
                shape->in[axis], shape);
        for (int64_t c = 0; c < shape->channels; c++) {
            int64_t image = n * shape->channels + c;

            ref_set_f64(y, shape->dtype, image * shape->points + point,
                        sample(x, image * plane, taps, shape));
        }
    }
}
