/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of the command line on each span. */
#include "analyze/span_filter.h"

#include <errno.h>
#include <stdlib.h>

/* For each op, what the filter says of it: names are matched once, not for every span. */
struct verdicts {
    bool *op_passes;
    bool *is_label; /* it is one of the labels asked for */
};

static int judge_ops(const struct spans_answer *answer, struct filter *filter,
                     struct verdicts *verdicts)
{
    size_t count = answer->ops.count ? answer->ops.count : 1;

    verdicts->op_passes = calloc(count, sizeof(*verdicts->op_passes));
    verdicts->is_label = calloc(count, sizeof(*verdicts->is_label));
    if (!verdicts->op_passes || !verdicts->is_label)
        return -ENOMEM;
    for (size_t i = 0; i < answer->ops.count; i++) {
        const struct op_row *op = &answer->ops.items[i];

        verdicts->op_passes[i] = filter_passes_op(filter, op);
        verdicts->is_label[i] =
            answer->op_kinds[i] == SPAN_LABEL && filter_passes_name(filter, FILTER_LABEL, op->name);
    }
    return 0;
}

/* Sets is_shown where the span is or lies in such a label; outer spans come first. */
static void find_labelled(struct spans_answer *answer, const struct verdicts *verdicts)
{
    struct span *items = answer->spans.items;

    for (size_t i = 0; i < answer->spans.count; i++) {
        struct span *span = &items[i];

        span->is_shown = verdicts->is_label[span->op] ||
                         (span->parent != SPAN_NONE && items[span->parent].is_shown);
    }
    for (size_t i = 0; i < answer->spans.count; i++) {
        struct span *span = &items[i];

        if (span_is_device(answer, span) && span->launch != SPAN_NONE)
            span->is_shown |= items[span->launch].is_shown;
    }
}

static bool passes(const struct spans_answer *answer, struct filter *filter,
                   const struct verdicts *verdicts, const struct span *span)
{
    if (!verdicts->op_passes[span->op])
        return false;
    return !(filter->device || filter->patterns[FILTER_LANE]) ||
           filter_passes_lane(filter, &answer->lanes.items[span->lane],
                              &answer->ops.items[span->op]);
}

int span_filter(struct spans_answer *answer, struct filter *filter)
{
    struct verdicts verdicts = {0};
    int rc = judge_ops(answer, filter, &verdicts);

    if (rc == 0 && filter->patterns[FILTER_LABEL])
        find_labelled(answer, &verdicts);
    for (size_t i = 0; i < answer->spans.count && rc == 0; i++) {
        struct span *span = &answer->spans.items[i];

        span->is_shown = span->is_shown && passes(answer, filter, &verdicts, span);
    }
    for (size_t i = 0; i < answer->unfinished.count && rc == 0; i++) {
        struct span *span = &answer->unfinished.items[i];

        span->is_shown = (!filter->patterns[FILTER_LABEL] || verdicts.is_label[span->op]) &&
                         passes(answer, filter, &verdicts, span);
    }
    free(verdicts.op_passes);
    free(verdicts.is_label);
    return rc;
}
