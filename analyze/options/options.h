/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for on the command line of profile_analyze, as values; command.h reads it. */
#ifndef OPTRACE_ANALYZE_OPTIONS_OPTIONS_H
#define OPTRACE_ANALYZE_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/query/filter.h"
#include "base/options.h"

enum { ANALYZE_FILES_MAX = 256 }; /* on one command line */
enum { CHOICE_NONE = -1 };        /* of an option that was not given and has no default */

#define THRESHOLD_PERCENT 3.0 /* of --compare, unless --threshold says another */

#define TOP_OF_REPORT  INT64_MIN /* --top was not given: the report knows */
#define BATCH_OF_MODEL INT64_MIN /* --batch was not given: that of the model's input */

enum print_only { PRINT_SUMMARY, PRINT_DEVICE, PRINT_HOST };
enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct analyze_options {
    /* what to read */
    const char *session;         /* NULL: the last */
    const char *program, *since; /* only sessions of it, since then; or NULL */
    const char *runs;
    const char *time;
    bool warmup, total, exact;
    bool lenient, import, progress;
    const char *into;
    const char *sample; /* a time with its unit; NULL: not known */

    /* which ops; of those that take no list only the first item is set, and count is 0 */
    struct option_list filters[FILTERS];
    double min_time_s, max_time_s;     /* NaN: no bound */
    double peak_flops, peak_bandwidth; /* NaN: as calibrated */

    /* lines */
    int64_t top;          /* or TOP_OF_REPORT */
    const char *order_by; /* NULL: time */
    const char *group_by; /* NULL: what the report does */
    const char *sort_by;  /* PyTorch's words for order_by and top: not given beside them */
    int64_t row_limit;    /* -1: all; or TOP_OF_REPORT */
    int top_end_key;      /* enum ops_time */
    int aggregate;        /* enum stats_reduction, or CHOICE_NONE */
    int aggregate_by;     /* 0: type, or CHOICE_NONE */

    /* parts */
    bool copy_time, show_host, dump_only_opr;
    int detail; /* enum event_detail, or CHOICE_NONE */
    bool per_thread, detailed;
    int sorted_by;  /* place in its choices, or CHOICE_NONE */
    int state;      /* enum event_state, or CHOICE_NONE */
    int64_t batch;  /* or BATCH_OF_MODEL */
    int print_only; /* enum print_only, or CHOICE_NONE */
    struct option_list what_if;
    bool list, explain, strict;
    const char *sql, *report; /* report NULL: the default one */
    const char *export, *append;
    int weight;          /* enum export_weight, or CHOICE_NONE */
    const char *compare; /* the base: reports/compare/place.h */
    bool history;
    const char *model;
    double threshold_percent,
        alpha; /* the gates of stats/significance.h; alpha NaN: that of the report */

    /* form */
    int format; /* enum out_format */
    bool wiki, ascii, notes;
    int64_t width; /* -1: that of the terminal */
    int color;     /* enum color_choice */
    const char *output;
    bool force; /* output may replace a store */
};

/** A bound on time in ns: 0.000065 s is 65,000 ns, not the nearest number below. NaN stays NaN. */
double analyze_bound_ns(double seconds);

/** The defaults. */
struct analyze_options analyze_options_default(void);

#endif
