/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans summed up into the rows of Paddle's event table: a row for all spans of one name inside one
 * and the same row, inner ones below outer ones. Nesting is that of the spans, by time; names may
 * hold anything. Pure: no SQL, no printing.
 */
#ifndef OPTRACE_ANALYZE_METRICS_EVENT_TREE_H
#define OPTRACE_ANALYZE_METRICS_EVENT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/query/spans.h"

#define EVENT_NONE UINT32_MAX

enum event_detail {
    EVENTS_DEFAULT, /* op types, labels, and the copies in them */
    EVENTS_OP,      /* and phases and kernels */
    EVENTS_ALL,     /* and single ops below their type, and calls of a runtime */
};

/* Which time a row's total, min, max and average are of. Rows of what ran on a device itself, such
 * as kernels, have their own device time in each. */
enum event_state {
    EVENTS_CPU,  /* host time */
    EVENTS_GPU,  /* time of the device work that was launched in it */
    EVENTS_SUM,  /* both added, which is Paddle's state All */
    EVENTS_AUTO, /* host time, unless main rows have more device time */
};

struct event_options {
    enum event_detail detail;
    enum event_state state;
    bool per_thread; /* rows of each lane for themselves */
};

enum event_kind { EVENT_OP, EVENT_INSTANCE, EVENT_LABEL, EVENT_PHASE, EVENT_DEVICE };

struct event_row {
    const char *name;
    enum event_kind kind;
    uint32_t parent; /* place in rows, or EVENT_NONE for a main row */
    uint32_t lane;   /* place in the spans' lanes with per_thread, else EVENT_NONE */
    uint32_t depth;
    bool is_on_device; /* no host span is in it */
    uint64_t calls;    /* of host spans, or of device spans where there is none */
    double total_ns;
    double min_ns, max_ns; /* of one call */
    double host_ns;        /* NaN when is_on_device */
    double self_ns;        /* host time that is in no span inside */
    double device_ns;      /* device work launched in it, summed by device as a union; NaN: none */
    int64_t first_end_ns;

    uint64_t device_calls; /* these until everything is counted */
    double device_total_ns, device_min_ns, device_max_ns;
    double gpu_total_ns, gpu_min_ns, gpu_max_ns; /* as in EVENTS_GPU */
    uint32_t union_device;
    int64_t union_until_ns;
};

/* Sums of main rows, of all or of one lane. */
struct event_sums {
    double total_ns; /* of totals; in state CPU without rows that are only on a device */
    double host_ns, device_ns;
};

struct event_tree {
    ARRAY_OF(struct event_row) rows; /* outer before inner */
    struct event_sums *sums;         /* by lane; without per_thread only the first */
    enum event_state state;          /* not EVENTS_AUTO */
    bool has_device;
};

/** Sum up the spans that are shown. Returns 0 or -ENOMEM; *out_tree is for event_tree_deinit() after
 *  either. Texts are those of `spans`. For tests. */
int event_tree_build(const struct spans_answer *spans, const struct event_options *options,
                     struct event_tree *out_tree);
void event_tree_deinit(struct event_tree *tree);

/** The same of spans in parts (query_span_parts()): begin, which forgets what *out was, add each
 *  part, finish. Each returns 0 or -ENOMEM; event_builder_destroy() after any. */
struct event_builder;
int event_tree_begin(const struct spans_answer *spans, const struct event_options *options,
                     struct event_builder **out_builder);
int event_tree_add(struct event_builder *builder, const struct spans_answer *spans);
int event_tree_finish(struct event_builder *builder, const struct spans_answer *spans,
                      struct event_tree *out_tree);
void event_builder_destroy(struct event_builder **builder);

/** The sums that a row is a part of. */
const struct event_sums *event_tree_sums(const struct event_tree *tree,
                                         const struct event_row *row);

/* --- The order of rows: event_order.c --- */

/** Which main rows to show. */
struct event_choice {
    int64_t top;           /* main rows, of each lane; 0: all; negative: that many fewer */
    double min_ns, max_ns; /* bounds on their total; NaN: none */
};

/**
 * Places of rows in the order to print them in: each row before those inside of it, rows side by
 * side by their rank, lane after lane.
 *
 * rank       for each row its place in some order
 * out_order  the caller frees it
 *
 * Returns 0 or -ENOMEM.
 */
int event_tree_order(const struct event_tree *tree, const size_t *rank,
                     const struct event_choice *choice, uint32_t **out_order, size_t *out_count,
                     size_t *out_main_count, size_t *out_main_shown);

#endif
