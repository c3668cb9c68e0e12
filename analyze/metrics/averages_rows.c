/* SPDX-License-Identifier: Apache-2.0 */
/* From spans to the rows that PyTorch would have: who is one, whose child, what it cost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/averages_rows.h"
#include "analyze/query/lane_use.h"

/* --- Rows. --- */

bool averages_have_labels(const struct spans_answer *spans)
{
    for (size_t i = 0; i < spans->ops.count; i++) {
        if (spans->op_kinds[i] == SPAN_LABEL)
            return true;
    }
    return false;
}

/* Beside lanes, whether labels on it are rows; the caller's to free. NULL without memory. */
static bool *find_labelled_lanes(const struct spans_answer *spans)
{
    bool *has_rows = calloc(spans->lanes.count + 1, sizeof(*has_rows));
    struct lane_use *uses;
    bool labels_only = true;

    if (!has_rows || !averages_have_labels(spans))
        return has_rows;
    if (lane_use_make(spans, &uses) < 0) {
        free(has_rows);
        return NULL;
    }
    for (size_t i = 0; i < spans->lanes.count; i++)
        labels_only &= !uses[i].has_op;
    for (size_t i = 0; i < spans->lanes.count; i++)
        has_rows[i] =
            labels_only || uses[i].has_op || spans->lanes.items[i].native_id != STORE_NULL;
    free(uses);
    return has_rows;
}

static bool is_row(const struct spans_answer *spans, const struct span *span,
                   const bool *labelled_lanes)
{
    enum span_kind kind = (enum span_kind)spans->op_kinds[span->op];

    return kind == SPAN_LABEL ? labelled_lanes[span->lane]
                              : kind == SPAN_OP && !span_is_python(spans, span);
}

/* --- Nesting. --- */

/* What a host span lies in: a row or one of Python's functions, whose time is nobody's. One that
 * ends where the span starts does not hold it, even if the span takes no time. */
static uint32_t find_holder(const struct average_rows *rows, size_t place)
{
    const struct span *items = rows->spans->spans.items;
    uint32_t holder = items[place].parent;

    while (holder != SPAN_NONE &&
           ((rows->row[holder] == SPAN_NONE && !span_is_python(rows->spans, &items[holder])) ||
            span_end_ns(&items[holder]) <= items[place].start_ns))
        holder = items[holder].parent;
    return holder;
}

/* The row around a span whose holder is known, beyond Python's functions. */
static uint32_t find_parent(const struct average_rows *rows, uint32_t holder)
{
    while (holder != SPAN_NONE && rows->row[holder] == SPAN_NONE)
        holder = find_holder(rows, holder);
    return holder;
}

static bool is_one_with(const struct average_rows *rows, size_t place, uint32_t holder,
                        const uint32_t *child_counts)
{
    const struct op_row *ops = rows->spans->ops.items;
    const struct span *items = rows->spans->spans.items;

    return holder != SPAN_NONE && rows->row[holder] != SPAN_NONE && child_counts[holder] == 1 &&
           strcmp(ops[items[place].op].name, ops[items[holder].op].name) == 0;
}

/* Which spans are rows; and the holder of each host span that is a row or Python's, else SPAN_NONE.
 * Outer spans come first. */
static void find_rows(struct average_rows *rows, const bool *labelled_lanes, uint32_t *holders,
                      uint32_t *child_counts)
{
    const struct spans_answer *spans = rows->spans;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        bool is_one = is_row(spans, span, labelled_lanes);

        rows->row[i] = is_one ? (uint32_t)i : SPAN_NONE;
        holders[i] = SPAN_NONE;
        if (span_is_device(spans, span)) {
            rows->has_device |= is_one;
        } else if (span->parent != SPAN_NONE && (is_one || span_is_python(spans, span))) {
            holders[i] = find_holder(rows, i);
            if (holders[i] != SPAN_NONE)
                child_counts[holders[i]]++;
        }
    }
}

/* Outer spans come first, so that a holder's row is known. */
static void charge_host(struct average_rows *rows, const uint32_t *holders,
                        const uint32_t *child_counts)
{
    const struct span *items = rows->spans->spans.items;

    for (size_t i = 0; i < rows->spans->spans.count; i++) {
        uint32_t holder = holders[i], parent = find_parent(rows, holder);

        rows->parent[i] = SPAN_NONE;
        if (rows->row[i] != SPAN_NONE && is_one_with(rows, i, holder, child_counts)) {
            rows->needs_whole |= items[holder].frame != SPAN_NO_FRAME;
            rows->row[i] = rows->row[holder];
            continue;
        }
        if (rows->row[i] != SPAN_NONE) {
            rows->costs[i].self_cpu_ns += items[i].frame == SPAN_FRAME_AGAIN ? 0 : items[i].dur_ns;
            rows->parent[i] = parent == SPAN_NONE ? SPAN_NONE : rows->row[parent];
        }
        if (holder != SPAN_NONE && rows->row[holder] != SPAN_NONE &&
            items[i].frame != SPAN_FRAME_AGAIN)
            rows->costs[rows->row[holder]].self_cpu_ns -= items[i].dur_ns;
    }
}

static int nest(struct average_rows *rows)
{
    size_t count = rows->spans->spans.count ? rows->spans->spans.count : 1;
    uint32_t *holders = malloc(count * sizeof(*holders));
    uint32_t *child_counts = calloc(count, sizeof(*child_counts));
    bool *labelled_lanes = find_labelled_lanes(rows->spans);
    int rc = holders && child_counts && labelled_lanes ? 0 : -ENOMEM;

    if (rc == 0) {
        find_rows(rows, labelled_lanes, holders, child_counts);
        charge_host(rows, holders, child_counts);
    }
    free(labelled_lanes);
    free(holders);
    free(child_counts);
    return rc;
}

/* --- What devices did for a row. --- */

static void charge_device(struct average_rows *rows)
{
    const struct spans_answer *spans = rows->spans;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        uint32_t owner;

        if (!span_is_device(spans, span) || rows->row[i] == SPAN_NONE)
            continue;
        rows->costs[i].device_ns = rows->costs[i].self_device_ns = span->dur_ns;
        if (spans->op_kinds[span->op] == SPAN_LABEL || span->launch == SPAN_NONE)
            continue;
        owner = span_owner(spans, span);
        while (owner != SPAN_NONE && rows->row[owner] == SPAN_NONE) /* a phase launched it */
            owner = spans->spans.items[owner].parent;
        owner = owner == SPAN_NONE ? SPAN_NONE : rows->row[owner];
        if (owner != SPAN_NONE)
            rows->costs[owner].self_device_ns += span->dur_ns;
        for (; owner != SPAN_NONE; owner = rows->parent[owner])
            rows->costs[owner].device_ns += span->dur_ns;
    }
}

int average_rows_make(const struct spans_answer *spans, struct average_rows *out_rows)
{
    size_t count = spans->spans.count ? spans->spans.count : 1;
    int rc;

    *out_rows = (struct average_rows){
        .spans = spans,
        .row = malloc(count * sizeof(*out_rows->row)),
        .parent = malloc(count * sizeof(*out_rows->parent)),
        .costs = calloc(count, sizeof(*out_rows->costs)),
    };
    if (!out_rows->row || !out_rows->parent || !out_rows->costs)
        return -ENOMEM;
    rc = nest(out_rows);
    if (rc == 0)
        charge_device(out_rows);
    return rc;
}

/* --- What recording took. --- */

/* A row pays for what is within its self time; who it lies in, for the rest. What is no row of its
 * own, a phase or an only child that is one with its parent, is paid for by the row around. */
int average_rows_add_recording(struct average_rows *rows, const struct recording_overhead *costs)
{
    const struct spans_answer *spans = rows->spans;
    const size_t count = spans->spans.count;

    rows->recording_ns = calloc(count ? count : 1, sizeof(*rows->recording_ns));
    if (!rows->recording_ns)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct span *span = &spans->spans.items[i];
        struct recording_overhead_rate rate;
        uint32_t around;

        if (span_is_device(spans, span) || spans->op_kinds[span->op] == SPAN_MARK ||
            span->frame == SPAN_FRAME_AGAIN)
            continue;
        rate = recording_overhead_of(costs, spans, span);
        if (rows->row[i] == i) {
            rows->recording_ns[i] += rate.empty_ns;
            around = rows->parent[i];
        } else {
            around =
                rows->row[i] != SPAN_NONE ? rows->row[i] : find_parent(rows, find_holder(rows, i));
            around = around == SPAN_NONE ? SPAN_NONE : rows->row[around];
        }
        if (around != SPAN_NONE)
            rows->recording_ns[around] +=
                rows->row[i] == i ? rate.span_ns - rate.empty_ns : rate.span_ns;
    }
    return 0;
}

void average_rows_deinit(struct average_rows *rows)
{
    free(rows->recording_ns);
    free(rows->row);
    free(rows->parent);
    free(rows->costs);
}
