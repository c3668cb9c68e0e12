/* SPDX-License-Identifier: Apache-2.0 */
/* Which pixels a place of a grid reads along one axis. Inside kernels only: the versions have other
 * loops, but the same places. */
#ifndef OPTRACE_KERNELS_REF_GRID_TAPS_H
#define OPTRACE_KERNELS_REF_GRID_TAPS_H

#include <math.h>

#include "kernels/vision.h"

enum { GRID_TAPS_MAX = 4 };

/* An axis of the image, and what the whole grid has. */
struct grid_axis {
    int64_t size;
    enum kernel_sample_mode mode;
    enum kernel_outside outside;
    bool align_corners;
};

/* What is read along one axis: pixels (-1: none) and their weights. */
struct grid_taps {
    int count;
    int64_t pixels[GRID_TAPS_MAX];
    double weights[GRID_TAPS_MAX];
};

/* Into [low, high] by mirroring at both ends. */
static inline double grid_reflect(double at, double low, double high)
{
    double size = high - low, over;

    if (!(size > 0.0) || !isfinite(at))
        return low;
    over = fmod(fabs(at - low), 2.0 * size);
    return low + (over > size ? 2.0 * size - over : over);
}

static inline double grid_clamp(double at, double high)
{
    return at > 0.0 ? (at < high ? at : high) : 0.0; /* NaN: 0 */
}

/* A place between -1 and 1 in pixels, moved inside where that is asked for. */
static inline double grid_place_of(double g, const struct grid_axis *s)
{
    double n = (double)s->size, low = s->align_corners ? 0.0 : -0.5;
    double high = n - 1.0 - low;
    double at = s->align_corners ? (g + 1.0) / 2.0 * (n - 1.0) : ((g + 1.0) * n - 1.0) / 2.0;

    if (s->mode == SAMPLE_NEAREST)
        at = nearbyint(at);
    if (at >= low && at <= high)
        return at;
    /* A cubic reaches beyond the border wherever it lies: its pixels are moved inside one by one.
     */
    if (s->outside == OUTSIDE_BORDER && s->mode != SAMPLE_CUBIC)
        return grid_clamp(at, n - 1.0);
    return s->outside == OUTSIDE_REFLECT ? grid_reflect(at, low, high) : at;
}

static inline int64_t grid_pixel_of(double at, const struct grid_axis *s)
{
    double n = (double)s->size, low = s->align_corners ? 0.0 : -0.5;

    if (at >= 0.0 && at <= n - 1.0)
        return (int64_t)at;
    if (s->outside == OUTSIDE_BORDER)
        return (int64_t)grid_clamp(at, n - 1.0);
    if (s->outside == OUTSIDE_REFLECT)
        return (int64_t)grid_clamp(nearbyint(grid_reflect(at, low, n - 1.0 - low)), n - 1.0);
    return -1;
}

/* Cubic convolution with a = -0.75; t: from the second of four pixels on. */
static inline void grid_cubic_weights(double t, double out[GRID_TAPS_MAX])
{
    const double a = -0.75;

    for (int i = 0; i < GRID_TAPS_MAX; i++) {
        double d = fabs(t + 1.0 - (double)i);

        out[i] = d <= 1.0 ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
                          : ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    }
}

static inline struct grid_taps grid_taps_of(double g, const struct grid_axis *s)
{
    double at = grid_place_of(g, s), first = floor(at), t = at - first;
    struct grid_taps taps = {.count = 1, .weights = {1.0}};

    if (s->mode == SAMPLE_LINEAR) {
        taps.count = 2;
        taps.weights[0] = 1.0 - t;
        taps.weights[1] = t;
    } else if (s->mode == SAMPLE_CUBIC) {
        taps.count = GRID_TAPS_MAX;
        grid_cubic_weights(t, taps.weights);
        first -= 1.0;
    } else {
        first = nearbyint(at);
    }
    for (int i = 0; i < taps.count; i++)
        taps.pixels[i] = grid_pixel_of(first + (double)i, s);
    return taps;
}

#endif
