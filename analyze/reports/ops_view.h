/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the answer about all ops to the lines of one table: filter, reduce, sort, cut. Pure: no SQL,
 * no printing.
 */
#ifndef OPTRACE_ANALYZE_REPORTS_OPS_VIEW_H
#define OPTRACE_ANALYZE_REPORTS_OPS_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/out/lines.h"
#include "analyze/query/filter.h"
#include "analyze/query/query.h"
#include "analyze/stats/describe.h"

/* Which time of an op its line is about. */
enum ops_time {
    OPS_TIME_END,  /* start to end, nested ops left out */
    OPS_TIME_KERN, /* start to the first kernel: waiting and preparation */
    OPS_TIME_EXEC, /* first kernel to end: the kernels */
};

/** What lines can be ordered by, for lines_check_order() and --help: struct ops_line, no context.
 */
enum { OPS_COLUMNS = 24 };
extern const struct line_column ops_columns[OPS_COLUMNS];

enum ops_grouping { OPS_EACH, OPS_ALL_IN_ONE, OPS_BY_TYPE };

struct ops_view_options {
    enum op_side side;
    enum ops_time time;
    enum ops_grouping grouping;
    enum stats_reduction reduction; /* unless OPS_EACH */
    const char *order_by;           /* as in out/lines.h, checked before; NULL: time */
    int64_t top;                    /* lines kept; 0: all; negative: that many fewer from the end */
};

/* An op, or several reduced to one line. Values that are not known are NaN. */
struct ops_line {
    const struct op_row *op; /* NULL: several */
    const char *type;        /* "all" for all in one */
    size_t op_count;
    uint64_t calls;
    double time_ns, end_ns, kern_ns, exec_ns;
    double min_ns, max_ns;
    double percentile_ns[3]; /* P50, P90, P99 of single calls; NaN of several ops */
    double computation_flop, memory_bytes;
    size_t computation_count, memory_count; /* ops that say how much */
    double rate_ns;                         /* of one op: the time that its rates are of */
    double flop_rate, byte_rate;            /* per second, of those ops */
};

struct ops_lines {
    ARRAY_OF(struct ops_line) lines;
    size_t line_count; /* before those beyond `top` were cut off */
    size_t matched;    /* ops that passed the filter */
    size_t present;    /* ops with any call on this side */
};

/** Ops without a call on this side are left out. Lines point into `answer`. Returns 0 or -ENOMEM;
 *  lines are for ops_lines_deinit() after either. */
int ops_view(const struct ops_answer *answer, struct filter *filter,
             const struct ops_view_options *options, struct ops_lines *out_lines);
void ops_lines_deinit(struct ops_lines *lines);

/** The side that is shown unless one is asked for: the device, but the host where no device time
 *  was recorded, or where of the ops that are chosen, whatever their times, some ran on the host
 * and none on a device. */
enum op_side ops_side(const struct ops_answer *answer, struct filter *filter);

/** The time of an op that `time` names. */
double ops_time_of(const struct op_cost *cost, enum ops_time time);

#endif
