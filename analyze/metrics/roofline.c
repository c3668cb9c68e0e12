/* SPDX-License-Identifier: Apache-2.0 */
/* Time against the least time that the peaks allow. */
#include "analyze/metrics/roofline.h"

#include <math.h>

static double per_second(double amount, double time_ns)
{
    return time_ns > 0 ? amount * 1e9 / time_ns : NAN;
}

struct roofline roofline_of(double flop, double bytes, double time_ns,
                            const struct roofline_peaks *peaks)
{
    /* The op that computes at min(peak, intensity * bandwidth) takes the longer of these. */
    double compute_ns = flop / peaks->flop_per_s * 1e9;
    double memory_ns = bytes / peaks->bytes_per_s * 1e9;
    struct roofline line = {
        .flop_per_s = per_second(flop, time_ns),
        .bytes_per_s = per_second(bytes, time_ns),
        .intensity = bytes > 0 ? flop / bytes : NAN,
        .best_ns = fmax(compute_ns, memory_ns), /* that which is known */
        .efficiency = NAN,
        .win_ns = NAN,
    };

    if (isnan(line.best_ns) || !(time_ns > 0))
        return line;
    line.bound = isnan(memory_ns) || compute_ns >= memory_ns ? ROOFLINE_COMPUTE : ROOFLINE_MEMORY;
    line.efficiency = line.best_ns / time_ns;
    line.win_ns = fmax(0, time_ns - line.best_ns);
    return line;
}
