/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine's peaks allow an op: the roofline model (Williams, Waterman, Patterson, "Roofline:
 * an insightful visual performance model", 2009). Pure.
 */
#ifndef OPTRACE_ANALYZE_METRICS_ROOFLINE_H
#define OPTRACE_ANALYZE_METRICS_ROOFLINE_H

/* NaN: not known. */
struct roofline_peaks {
    double flop_per_s, bytes_per_s;
};

enum roofline_bound {
    ROOFLINE_UNKNOWN, /* no peak, or nothing known to hold against one */
    ROOFLINE_COMPUTE,
    ROOFLINE_MEMORY,
};

struct roofline {
    double flop_per_s, bytes_per_s; /* reached */
    double intensity;               /* FLOP per byte */
    enum roofline_bound bound;
    double best_ns;    /* time at min(peak, intensity * bandwidth) */
    double efficiency; /* best_ns / time; above 1 where caches served the bytes */
    double win_ns;     /* time - best_ns, not below 0 */
};

/** Of work that took time_ns; any of the three may be NaN. */
struct roofline roofline_of(double flop, double bytes, double time_ns,
                            const struct roofline_peaks *peaks);

#endif
