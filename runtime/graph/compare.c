/* SPDX-License-Identifier: Apache-2.0 */
/* Is a computed tensor what was expected? */
#include <float.h>
#include <math.h>

#include "runtime/graph/compare.h"
#include "runtime/graph/element.h"

#define DEFAULT_RTOL 1e-3
#define BRAIN_RTOL   0x1p-7

/* Most tensors are float32, and a loop over these is many times as fast. */
static double largest_f32(const float *data, int64_t count)
{
    float largest = 0.0f;

    for (int64_t i = 0; i < count; i++) {
        float magnitude = fabsf(data[i]);

        largest = magnitude > largest && magnitude <= FLT_MAX ? magnitude : largest;
    }
    return (double)largest;
}

double compare_largest(const struct tensor_view *tensor)
{
    int64_t count = shape_elements(&tensor->shape);
    long double largest = 0;

    if (tensor->dtype == DTYPE_F32)
        return largest_f32(tensor->data, count);
    for (int64_t i = 0; i < count; i++) {
        long double magnitude = fabsl(element_get(tensor->data, tensor->dtype, i));

        if (isfinite(magnitude) && magnitude > largest)
            largest = magnitude;
    }
    return (double)largest;
}

struct tolerance compare_tolerance(const struct tensor_view *expected, double rtol, double atol)
{
    double usual = expected->dtype == DTYPE_BF16 ? BRAIN_RTOL : DEFAULT_RTOL;

    return (struct tolerance){
        .rtol = rtol >= 0 ? rtol : usual,
        .atol = atol >= 0 ? atol : COMPARE_ATOL_SHARE * compare_largest(expected),
    };
}

struct storage_tolerance compare_storage_tolerance(enum dtype dtype)
{
    double u = dtype == DTYPE_F16 ? 0x1p-11 : dtype == DTYPE_BF16 ? 0x1p-8 : 0;

    return (struct storage_tolerance){.rtol = 32 * u, .atol_share = 8 * u};
}

/* How far off one element is, in units of what is allowed: at most 1 passes. */
static double judge(long double got, long double expected, bool exact,
                    const struct tolerance *tolerance)
{
    double allowed, error;

    if (isnan(got) && isnan(expected))
        return 0;
    if (got == expected)
        return 0;
    if (exact || !isfinite(got) || !isfinite(expected))
        return INFINITY;
    allowed = tolerance->atol + tolerance->rtol * (double)fabsl(expected);
    error = (double)fabsl(got - expected);
    return allowed > 0 ? error / allowed : INFINITY;
}

/* As MIGraphX has it: of what differs, relative to the largest magnitude of both. */
static double relative_rms(const struct tensor_view *got, const struct tensor_view *expected)
{
    int64_t count = shape_elements(&expected->shape);
    double sum = 0, largest = fmax(compare_largest(got), compare_largest(expected));

    for (int64_t i = 0; i < count; i++) {
        double x = (double)element_get(got->data, got->dtype, i);
        double e = (double)element_get(expected->data, expected->dtype, i);

        if (x == e || (isnan(x) && isnan(e)))
            continue;
        sum += (x - e) * (x - e);
    }
    if (sum == 0)
        return 0;
    return sqrt(sum) / (sqrt((double)count) * fmax(largest, DBL_MIN));
}

struct comparison compare_tensors(const struct tensor_view *got, const struct tensor_view *expected,
                                  const struct tolerance *tolerance)
{
    bool has_quanta =
        tolerance->quanta > 0 && (expected->dtype == DTYPE_U8 || expected->dtype == DTYPE_I8);
    bool exact = !element_is_float(expected->dtype) && !has_quanta;
    const struct tolerance quanta = {.atol = tolerance->quanta};
    struct comparison result = {.worst_index = -1};
    double worst = -1;

    if (has_quanta)
        tolerance = &quanta;

    result.same_form = got->dtype == expected->dtype && shape_equal(&got->shape, &expected->shape);
    if (!result.same_form)
        return result;
    result.count = shape_elements(&expected->shape);
    for (int64_t i = 0; i < result.count; i++) {
        long double x = element_get(got->data, got->dtype, i);
        long double e = element_get(expected->data, expected->dtype, i);
        double off = judge(x, e, exact, tolerance);

        result.mismatches += off > 1;
        if (off > worst) {
            worst = off;
            result.worst_index = i;
            result.worst_got = x;
            result.worst_expected = e;
        }
    }
    if (tolerance->rms > 0 && !exact && !has_quanta) {
        result.rms = relative_rms(got, expected);
        result.mismatches = result.rms <= tolerance->rms ? 0 : result.count;
    }
    if (result.worst_index >= 0) {
        result.worst_error = (double)fabsl(result.worst_got - result.worst_expected);
        if (expected->dtype == DTYPE_STRING && result.worst_error > 0)
            result.worst_error = INFINITY; /* how far numbers of texts are apart means nothing */
        result.worst_allowed =
            exact ? 0 : tolerance->atol + tolerance->rtol * (double)fabsl(result.worst_expected);
    }
    return result;
}

bool comparison_passed(const struct comparison *comparison)
{
    return comparison->same_form && comparison->mismatches == 0;
}

/* Where nothing is infinite or NaN. */
static bool agree_f32(const float *got, const float *expected, int64_t count,
                      const struct tolerance *tolerance)
{
    int64_t off = 0;

    for (int64_t i = 0; i < count; i++) {
        double e = (double)expected[i];

        off += !(fabs((double)got[i] - e) <= tolerance->atol + tolerance->rtol * fabs(e));
    }
    return off == 0;
}

bool compare_agree(const struct tensor_view *got, const struct tensor_view *expected,
                   const struct tolerance *tolerance)
{
    struct comparison comparison;

    if (tolerance->rms <= 0 && got->dtype == DTYPE_F32 && expected->dtype == DTYPE_F32 &&
        shape_equal(&got->shape, &expected->shape) &&
        agree_f32(got->data, expected->data, shape_elements(&expected->shape), tolerance))
        return true;
    comparison = compare_tensors(got, expected, tolerance);
    return comparison_passed(&comparison);
}

const char *compare_index_text(const struct shape *shape, int64_t index, char out[SHAPE_TEXT_BYTES])
{
    struct shape position = {.rank = shape->rank};

    for (int i = shape->rank - 1; i >= 0; i--) {
        position.dims[i] = index % shape->dims[i];
        index /= shape->dims[i];
    }
    return shape_text(&position, out);
}
