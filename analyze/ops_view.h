/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the answer about all ops to the lines of one table: filter, reduce, sort, cut. Pure: no SQL,
 * no printing.
 */
#ifndef OPTRACE_ANALYZE_OPS_VIEW_H
#define OPTRACE_ANALYZE_OPS_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/filter.h"
#include "analyze/query.h"
#include "analyze/stats.h"

/* Which time of an op its line is about. */
enum ops_time {
    OPS_TIME_END,  /* start to end, nested ops left out */
    OPS_TIME_KERN, /* start to the first kernel: waiting and preparation */
    OPS_TIME_EXEC, /* first kernel to end: the kernels */
};

enum ops_order {
    OPS_ORDER_TIME,
    OPS_ORDER_END,
    OPS_ORDER_KERN,
    OPS_ORDER_EXEC,
    OPS_ORDER_COMPUTATION,
    OPS_ORDER_FLOPS,
    OPS_ORDER_MEMORY,
    OPS_ORDER_BANDWIDTH,
    OPS_ORDER_CALLS,
    OPS_ORDER_COUNT,
    OPS_ORDER_MIN,
    OPS_ORDER_MAX,
    OPS_ORDER_NAME,
    OPS_ORDER_TYPE,
    OPS_ORDER_ID,
    OPS_ORDER_DEVICE,
    OPS_ORDER_IN_SHAPES,
    OPS_ORDER_OUT_SHAPES,
};

/** Read "COLUMN" (descending) or "+COLUMN" (ascending); case and the kind of dash do not matter.
 *  Returns 0, or -EINVAL with a sentence that has the nearest column or all of them. */
int ops_parse_order(const char *text, enum ops_order *out_order, bool *out_ascending,
                    struct diag *diag);

enum ops_grouping { OPS_EACH, OPS_ALL_IN_ONE, OPS_BY_TYPE };

struct ops_view_options {
    enum op_side side;
    enum ops_time time;
    enum ops_grouping grouping;
    enum stats_reduction reduction; /* unless OPS_EACH */
    enum ops_order order;
    bool ascending;
    int64_t top; /* lines kept; 0: all; negative: that many fewer from the end */
};

/* An op, or several reduced to one line. Values that are not known are NaN. */
struct ops_line {
    const struct op_row *op; /* NULL: several */
    const char *type;        /* "all" for all in one */
    size_t op_count;
    uint64_t calls;
    double time_ns, end_ns, kern_ns, exec_ns;
    double min_ns, max_ns;
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
             const struct ops_view_options *options, struct ops_lines *out);
void ops_lines_deinit(struct ops_lines *lines);

/** The time of an op that `time` names. */
double ops_time_of(const struct op_cost *cost, enum ops_time time);

#endif
