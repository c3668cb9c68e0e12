/* SPDX-License-Identifier: Apache-2.0 */
/* Contract of resampling: what Resize and Upsample come down to. What is common to all contracts
 * stands in kernels.h, which includes this. */
#ifndef OPTRACE_KERNELS_RESAMPLE_H
#define OPTRACE_KERNELS_RESAMPLE_H

#include <math.h>
#include <stdbool.h>

#include "kernels/dtype.h"

enum kernel_resample_mode { RESAMPLE_NEAREST, RESAMPLE_LINEAR, RESAMPLE_CUBIC };

/** From where an element lies in the result to where it lies in the input, as Resize names them. */
enum kernel_resample_transform {
    RESAMPLE_HALF_PIXEL,
    RESAMPLE_HALF_PIXEL_SYMMETRIC,
    RESAMPLE_PYTORCH_HALF_PIXEL,
    RESAMPLE_ALIGN_CORNERS,
    RESAMPLE_ASYMMETRIC,
    RESAMPLE_TF_HALF_PIXEL,
    RESAMPLE_TF_CROP,
};

/** Of the nearest place; by the scale: up where that is below 1, else down. */
enum kernel_resample_rounding {
    RESAMPLE_BY_SCALE,
    RESAMPLE_PREFERS_FLOOR,
    RESAMPLE_PREFERS_CEIL,
    RESAMPLE_FLOOR,
    RESAMPLE_CEIL,
};

/** How places and weights of an axis are made: by the functions below. */
struct kernel_resample_rule {
    enum kernel_resample_mode mode;
    enum kernel_resample_transform transform;
    enum kernel_resample_rounding rounding;
    bool leaves_outside, antialias;
    double a; /* of the cubic */
    double scale, begin, end;
    int64_t in, out;
};

/** Along one axis, element o of y is the sum of x[places[o, t]] * weights[o, t] over `taps` terms.
 *  A place of -1 makes the whole element the outside value. */
struct kernel_resample_axis {
    int64_t taps; /* >= 1 */
    const int64_t *places;
    const double *weights;
    struct kernel_resample_rule rule; /* read where places is NULL, which a device's kernel takes */
};

struct kernel_resample {
    enum kernel_dtype dtype;
    int rank;
    int64_t x_dims[KERNEL_MAX_RANK];
    int64_t y_dims[KERNEL_MAX_RANK];
    struct kernel_resample_axis axes[KERNEL_MAX_RANK];
    double outside;
};

/** y = x weighted along all axes, summed in f64 and rounded once (integers: to nearest, halves to
 *  even). Versions sum f32 in f32, to 1e-6 of the sum of what is added. */
typedef void resample_fn(void *y, const void *x, const struct kernel_resample *shape);

/* The same for the nearest place, in float32 as those have it who export and run models: 17 by a scale of 1.7f is 10
 * then, and the place at 10 is meant, though 1.7f is more than 1.7. */
KERNEL_SHARED double resample_coordinate_f32(const struct kernel_resample_rule *rule, int64_t o)
{
    float scale = (float)rule->scale;
    float whole = (float)o / scale, half = ((float)o + 0.5f) / scale;

    return (double)(rule->transform == RESAMPLE_ASYMMETRIC      ? whole
                    : rule->transform == RESAMPLE_TF_HALF_PIXEL ? half
                                                                : half - 0.5f);
}

/* Where element o of the result lies in the input. */
KERNEL_SHARED double resample_coordinate(const struct kernel_resample_rule *rule, int64_t o)
{
    double in = (double)rule->in, out = (double)rule->out, at = (double)o;
    double half = (at + 0.5) / rule->scale - 0.5, exact = rule->scale * in;
    bool is_exact = rule->out <= (1 << 24); /* o in float32 */

    if (rule->mode == RESAMPLE_NEAREST && is_exact &&
        (rule->transform == RESAMPLE_ASYMMETRIC || rule->transform == RESAMPLE_HALF_PIXEL ||
         rule->transform == RESAMPLE_TF_HALF_PIXEL ||
         (rule->transform == RESAMPLE_PYTORCH_HALF_PIXEL && rule->out > 1)))
        return resample_coordinate_f32(rule, o);
    switch (rule->transform) {
    case RESAMPLE_ASYMMETRIC:
        return at / rule->scale;
    case RESAMPLE_ALIGN_CORNERS:
        return exact == 1.0 || rule->out == 1 ? 0.0 : at * (in - 1.0) / (exact - 1.0);
    case RESAMPLE_PYTORCH_HALF_PIXEL:
        return rule->out > 1 ? half : 0.0;
    case RESAMPLE_HALF_PIXEL_SYMMETRIC:
        return (in - 1.0) / 2.0 + (at + 0.5 - out / 2.0) / rule->scale; /* from the middle */
    case RESAMPLE_TF_HALF_PIXEL:
        return half + 0.5;
    case RESAMPLE_TF_CROP:
        return rule->out > 1 ? rule->begin * (in - 1.0) +
                                   at * (rule->end - rule->begin) * (in - 1.0) / (out - 1.0)
                             : 0.5 * (rule->begin + rule->end) * (in - 1.0);
    default:
        return half;
    }
}

KERNEL_SHARED double resample_nearest(const struct kernel_resample_rule *rule, double x)
{
    switch (rule->rounding) {
    case RESAMPLE_BY_SCALE:
        return rule->scale < 1.0 ? ceil(x) : floor(x);
    case RESAMPLE_FLOOR:
        return floor(x);
    case RESAMPLE_CEIL:
        return ceil(x);
    case RESAMPLE_PREFERS_CEIL:
        return floor(x + 0.5);
    default:
        return ceil(x - 0.5);
    }
}

/* Along a reduced axis, antialiasing stretches the filter over all that one element stands for. */
KERNEL_SHARED double resample_stretch(const struct kernel_resample_rule *rule)
{
    return rule->antialias && rule->scale < 1.0 ? rule->scale : 1.0;
}

KERNEL_SHARED double resample_filter(const struct kernel_resample_rule *rule, double x)
{
    double a = rule->a;

    x = fabs(x);
    if (rule->mode == RESAMPLE_LINEAR)
        return x < 1.0 ? 1.0 - x : 0.0;
    if (x <= 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

KERNEL_SHARED int64_t resample_first_tap(const struct kernel_resample_rule *rule)
{
    return (int64_t)floor((rule->mode == RESAMPLE_CUBIC ? -2.0 : -1.0) / resample_stretch(rule)) +
           1;
}

KERNEL_SHARED int64_t resample_tap_count(const struct kernel_resample_rule *rule)
{
    return rule->mode == RESAMPLE_NEAREST ? 1 : 2 - 2 * resample_first_tap(rule);
}

KERNEL_SHARED int64_t resample_clamp(double at, int64_t in)
{
    return at < 0.0 ? 0 : at > (double)(in - 1) ? in - 1 : (int64_t)at;
}

/* Whether an element is the outside value. */
KERNEL_SHARED bool resample_is_outside(const struct kernel_resample_rule *rule, double x)
{
    return rule->transform == RESAMPLE_TF_CROP && (x < 0.0 || x > (double)(rule->in - 1));
}

/* Term t of what lies at x: its place, and its weight before all of them are made to sum up to 1. */
KERNEL_SHARED double resample_term(const struct kernel_resample_rule *rule, double x, int64_t t,
                                   int64_t *out_place)
{
    double at = floor(x) + (double)(resample_first_tap(rule) + t);

    if (rule->mode == RESAMPLE_NEAREST) {
        *out_place = resample_clamp(resample_nearest(rule, x), rule->in);
        return 1.0;
    }
    *out_place = resample_clamp(at, rule->in);
    if (rule->leaves_outside && (at < 0.0 || at > (double)(rule->in - 1)))
        return 0.0;
    return resample_filter(rule, (at - x) * resample_stretch(rule));
}

/* See KERNEL_DECLARE(). */
#define RESAMPLE_KERNELS(KERNEL) KERNEL(resample, EACH)
RESAMPLE_KERNELS(KERNEL_DECLARE);

#endif
