/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are not zero where nothing is asked for. */
#include "analyze/options/options.h"

#include <math.h>

double analyze_bound_ns(double seconds)
{
    const double ns = seconds * 1e9, whole = round(ns);

    return fabs(ns - whole) <= fabs(whole) * 1e-14 ? whole : ns;
}

struct analyze_options analyze_options_default(void)
{
    return (struct analyze_options){
        .min_time_s = NAN,
        .max_time_s = NAN,
        .width = -1,
        .peak_flops = NAN,
        .peak_bandwidth = NAN,
        .top = TOP_OF_REPORT,
        .row_limit = TOP_OF_REPORT,
        .batch = BATCH_OF_MODEL,
        .detail = CHOICE_NONE,
        .sorted_by = CHOICE_NONE,
        .state = CHOICE_NONE,
        .threshold_percent = THRESHOLD_PERCENT,
        .alpha = NAN,
        .aggregate = CHOICE_NONE,
        .aggregate_by = CHOICE_NONE,
        .print_only = CHOICE_NONE,
        .weight = CHOICE_NONE,
    };
}
