/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of the command line on each span. */
#include "analyze/query/span_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"
#include "base/sorted.h"

/* As autograd's engine and its functions are called, in PyTorch of today and of 2021. */
static bool is_backward(const struct op_row *op)
{
    size_t length = strlen(op->name);

    if (strcmp(op->type, "cpu_op") != 0)
        return false;
    if (strncmp(op->name, "autograd::engine::evaluate_function: ", 37) == 0 ||
        strncmp(op->name, "torch::autograd::", 17) == 0)
        return true;
    while (length && isdigit((unsigned char)op->name[length - 1]))
        length--;
    return length >= 8 && memcmp(op->name + length - 8, "Backward", 8) == 0;
}

static int judge_ops(const struct spans_answer *answer, struct span_filter_parts *parts)
{
    size_t count = answer->ops.count ? answer->ops.count : 1;

    parts->op_passes = calloc(count, sizeof(*parts->op_passes));
    parts->is_label = calloc(count, sizeof(*parts->is_label));
    parts->is_backward = calloc(count, sizeof(*parts->is_backward));
    if (!parts->op_passes || !parts->is_label || !parts->is_backward)
        return -ENOMEM;
    for (size_t i = 0; i < answer->ops.count; i++) {
        const struct op_row *op = &answer->ops.items[i];

        parts->op_passes[i] = filter_passes_op(parts->filter, op);
        parts->is_backward[i] = is_backward(op);
        parts->is_label[i] =
            answer->op_kinds[i] == SPAN_LABEL && filter_passes_label(parts->filter, op);
    }
    return 0;
}

/* --- Labels. --- */

/* A label that is asked for, on a thread. */
struct scope {
    int64_t session_id, start_ns, end_ns;
    int64_t latest_ns; /* the latest end of it and those before it in its session */
    uint32_t lane;
};
struct scope_array ARRAY_FIELDS(struct scope);

static int compare_scopes(const void *a, const void *b)
{
    const struct scope *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

static int find_scopes(const struct spans_answer *answer, struct span_filter_parts *parts,
                       struct scope_array *out_scopes)
{
    int rc = 0;

    for (size_t i = 0; i < answer->spans.count && rc == 0; i++) {
        const struct span *span = &answer->spans.items[i];
        struct scope scope = {.session_id = answer->lanes.items[span->lane].session_id,
                              .start_ns = span->start_ns,
                              .end_ns = span_end_ns(span),
                              .lane = span->lane};

        if (!parts->is_label[span->op] || span_is_device(answer, span))
            continue;
        parts->lanes[span->lane].has_scope = true;
        rc = array_push(out_scopes, scope);
    }
    if (out_scopes->count)
        qsort(out_scopes->items, out_scopes->count, sizeof(*out_scopes->items), compare_scopes);
    for (size_t i = 0; i < out_scopes->count; i++) {
        struct scope *scope = &out_scopes->items[i], *before = i ? &out_scopes->items[i - 1] : NULL;

        scope->latest_ns = scope->end_ns;
        if (before && before->session_id == scope->session_id &&
            before->latest_ns > scope->latest_ns)
            scope->latest_ns = before->latest_ns;
    }
    return rc;
}

/* Whether a thread is in an op at a time; functions of Python are none. */
static bool is_in_op(const struct spans_answer *answer, uint32_t lane, int64_t time_ns)
{
    const struct span *items = answer->spans.items;
    size_t low = answer->ranges[lane].first, high = low + answer->ranges[lane].count;
    uint32_t place;

    low = search_past(low, high, middle, items[middle].start_ns <= time_ns);
    place = low > answer->ranges[lane].first ? (uint32_t)(low - 1) : SPAN_NONE;
    for (; place != SPAN_NONE; place = items[place].parent) {
        if (span_end_ns(&items[place]) > time_ns && span_is_op(answer, &items[place]) &&
            !span_is_python(answer, &items[place]))
            return true;
    }
    return false;
}

/* How many scopes of a session and those before it begin until a time. */
static size_t scopes_until(const struct scope_array *scopes, int64_t session_id, int64_t time_ns)
{
    const struct scope key = {.session_id = session_id, .start_ns = time_ns};
    return search_past(0, scopes->count, i, compare_scopes(&scopes->items[i], &key) <= 0);
}

/* Whether a scope on another thread is open while a span runs, and that thread waits. */
static bool is_in_scope(const struct spans_answer *answer, const struct scope_array *scopes,
                        const struct span *span)
{
    int64_t session_id = answer->lanes.items[span->lane].session_id;

    for (size_t i = scopes_until(scopes, session_id, span->start_ns); i > 0; i--) {
        const struct scope *scope = &scopes->items[i - 1];

        if (scope->session_id != session_id || scope->latest_ns < span_end_ns(span))
            break;
        if (scope->lane != span->lane && scope->end_ns >= span_end_ns(span) &&
            !is_in_op(answer, scope->lane, span->start_ns))
            return true;
    }
    return false;
}

static bool lies_in_backward(const struct spans_answer *answer,
                             const struct span_filter_parts *parts, const struct span *span)
{
    const struct span *items = answer->spans.items;

    for (uint32_t at = span->parent; at != SPAN_NONE; at = items[at].parent) {
        if (parts->is_backward[items[at].op])
            return true;
    }
    return false;
}

/* Which of it is for the operators of a label, the numbers of autograd would tell, which a store
 * has not: so it is said how much there is. */
static void count_backward_elsewhere(const struct spans_answer *answer,
                                     struct span_filter_parts *parts)
{
    for (size_t i = 0; i < answer->spans.count; i++) {
        const struct span *span = &answer->spans.items[i];
        bool is_backward = parts->is_backward[span->op];

        if (span_is_device(answer, span))
            continue;
        parts->has_forward |= span->is_shown && !is_backward && span_is_op(answer, span) &&
                              !span_is_python(answer, span);
        if (is_backward && !span->is_shown && !lies_in_backward(answer, parts, span))
            parts->lanes[span->lane].backward_ns += span->dur_ns;
    }
}

/* What autograd ran outside of labels in sessions that have such labels. */
static int64_t sum_backward_elsewhere(const struct span_filter_parts *parts,
                                      const struct spans_answer *answer)
{
    int64_t sum_ns = 0;

    if (!parts->has_forward)
        return 0;
    for (size_t first = 0, end; first < parts->lane_count; first = end) {
        int64_t session_id = answer->lanes.items[first].session_id, session_ns = 0;
        bool has_scope = false;

        for (end = first;
             end < parts->lane_count && answer->lanes.items[end].session_id == session_id; end++) {
            has_scope |= parts->lanes[end].has_scope;
            session_ns += parts->lanes[end].backward_ns;
        }
        sum_ns += has_scope ? session_ns : 0;
    }
    return sum_ns;
}

/* Sets is_shown where the span is or lies in such a label; outer spans come first. */
static int find_labelled(struct spans_answer *answer, struct span_filter_parts *parts)
{
    struct span *items = answer->spans.items;
    struct scope_array scopes = {0};
    int rc = find_scopes(answer, parts, &scopes);

    for (size_t i = 0; i < answer->spans.count && rc == 0; i++) {
        struct span *span = &items[i];

        span->is_shown = parts->is_label[span->op] ||
                         (parts->is_backward[span->op] && !span_is_device(answer, span) &&
                          is_in_scope(answer, &scopes, span)) ||
                         (span->parent != SPAN_NONE && items[span->parent].is_shown);
    }
    for (size_t i = 0; i < answer->spans.count; i++) {
        struct span *span = &items[i];

        if (span_is_device(answer, span) && span->launch != SPAN_NONE)
            span->is_shown |= items[span->launch].is_shown;
    }
    if (rc == 0)
        count_backward_elsewhere(answer, parts);
    array_deinit(&scopes);
    return rc;
}

static bool passes(const struct span_filter_parts *parts, const struct spans_answer *answer,
                   const struct span *span)
{
    if (!parts->op_passes[span->op])
        return false;
    return !parts->looks_at_lanes ||
           filter_passes_lane(parts->filter, &answer->lanes.items[span->lane],
                              &answer->ops.items[span->op]);
}

/* --- All of it. --- */

int span_filter_begin(struct span_filter_parts *parts, const struct spans_answer *spans,
                      struct filter *filter)
{
    span_filter_deinit(parts);
    *parts = (struct span_filter_parts){
        .filter = filter,
        .looks_at_lanes = filter_is_of(filter, FILTER_OF_LANES),
        .by_labels = filter_is_of(filter, FILTER_OF_LABELS),
        .lanes = calloc(spans->lanes.count + 1, sizeof(*parts->lanes)),
        .lane_count = spans->lanes.count,
    };
    return parts->lanes ? judge_ops(spans, parts) : -ENOMEM;
}

int span_filter_add(struct span_filter_parts *parts, struct spans_answer *part)
{
    int rc = parts->by_labels ? find_labelled(part, parts) : 0;

    for (size_t i = 0; i < part->spans.count && rc == 0; i++) {
        struct span *span = &part->spans.items[i];

        span->is_shown = span->is_shown && passes(parts, part, span);
    }
    return rc;
}

void span_filter_finish(struct span_filter_parts *parts, struct spans_answer *answer)
{
    for (size_t i = 0; i < answer->unfinished.count; i++) {
        struct span *span = &answer->unfinished.items[i];

        span->is_shown =
            (!parts->by_labels || parts->is_label[span->op]) && passes(parts, answer, span);
    }
    answer->basis.backward_elsewhere_ns = sum_backward_elsewhere(parts, answer);
}

void span_filter_deinit(struct span_filter_parts *parts)
{
    free(parts->op_passes);
    free(parts->is_label);
    free(parts->is_backward);
    free(parts->lanes);
    *parts = (struct span_filter_parts){0};
}

int span_filter(struct spans_answer *answer, struct filter *filter)
{
    struct span_filter_parts parts = {0};
    int rc = span_filter_begin(&parts, answer, filter);

    if (rc == 0)
        rc = span_filter_add(&parts, answer);
    if (rc == 0)
        span_filter_finish(&parts, answer);
    span_filter_deinit(&parts);
    return rc;
}
