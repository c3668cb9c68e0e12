/* SPDX-License-Identifier: Apache-2.0 */
/* Is a computed tensor what was expected? */
#include <math.h>

#include "runtime/compare.h"
#include "runtime/element.h"

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

struct comparison compare_tensors(const struct tensor_view *got, const struct tensor_view *expected,
                                  const struct tolerance *tolerance)
{
    bool exact = !element_is_float(expected->dtype);
    struct comparison result = {.worst_index = -1};
    double worst = -1;

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
    if (result.worst_index >= 0) {
        result.worst_error = (double)fabsl(result.worst_got - result.worst_expected);
        result.worst_allowed =
            exact ? 0 : tolerance->atol + tolerance->rtol * (double)fabsl(result.worst_expected);
    }
    return result;
}

bool comparison_passed(const struct comparison *comparison)
{
    return comparison->same_form && comparison->mismatches == 0;
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
