/* SPDX-License-Identifier: Apache-2.0 */
/* The peaks that operators of a report are held against, and their lines across a chart. */
#ifndef OPTRACE_ANALYZE_REPORTS_ROOFLINE_MACHINE_H
#define OPTRACE_ANALYZE_REPORTS_ROOFLINE_MACHINE_H

#include "analyze/metrics/roofline.h"
#include "analyze/reports/report.h"

struct roofline_machine {
    struct roofline_peaks peaks;
    const char *threads;          /* "1 thread", "all threads"; NULL: given on the command line */
    const char *host;             /* where they were measured; "it" when that has no name */
    int64_t session_id;           /* when; STORE_NULL: never */
    struct roofline_peaks device; /* of the GPU of this host, unless peaks are given */
    int64_t device_session_id;
};

/** Peaks of a CPU say nothing of another device. */
bool roofline_is_of_host(const struct op_row *op);

/** Those that hold for an operator: given ones for all, else its device's; NULL: none are known. */
const struct roofline_peaks *roofline_peaks_of(const struct roofline_machine *machine,
                                               const struct op_row *op);

/** Whether it is known how long it computes: of an op that says that it is a device's, what it takes on
 *  the host is no more than what launches it, and the device's kernels have the FLOP themselves. */
bool roofline_is_timed(const struct op_row *op);

/**
 * What --peak-flops and --peak-bandwidth say, or else what was measured on the host of the report's
 * first session: with one thread, unless an operator was faster than one thread can be.
 *
 * fastest_flop_per_s  of the operators on the host; NaN or 0 when none is known
 *
 * Returns 0 or a negative errno with a sentence; unknown peaks are NaN.
 */
int roofline_find_machine(const struct report *report, double fastest_flop_per_s,
                          struct roofline_machine *out_machine, struct diag *diag);

/* The roof, for a chart of FLOP/s over FLOP/byte; do not move it. */
struct roofline_guides {
    struct out_guide guides[2];
    char titles[2][64];
    size_t count; /* of peaks that are known */
};
void roofline_make_guides(const struct roofline_machine *machine,
                          struct roofline_guides *out_guides);

#endif
