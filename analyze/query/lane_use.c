/* SPDX-License-Identifier: Apache-2.0 */
/* Extents of lanes and sessions; kinds of work; owners of launches. */
#include "analyze/query/lane_use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/query/op_class.h"

static void extend(int64_t *start_ns, int64_t *end_ns, int64_t from_ns, int64_t until_ns,
                   bool is_first)
{
    if (is_first || from_ns < *start_ns)
        *start_ns = from_ns;
    if (is_first || until_ns > *end_ns)
        *end_ns = until_ns;
}

/* Whether two lanes share a wall clock. */
static bool share_wall(const struct spans_answer *spans, size_t a, size_t b)
{
    const struct lane_row *left = &spans->lanes.items[a], *right = &spans->lanes.items[b];

    return left->session_id == right->session_id &&
           (!spans->basis.is_flat || left->side == right->side);
}

void lane_use_find_walls(struct lane_use *uses, const struct spans_answer *spans)
{
    size_t first = 0; /* lanes of a session stand together */

    for (size_t i = 0; i < spans->lanes.count; i++) {
        struct lane_use *use = &uses[i];
        bool is_first = true;

        if (spans->lanes.items[i].session_id != spans->lanes.items[first].session_id)
            first = i;
        if (!use->has_op)
            continue;
        for (size_t k = first; k < i && is_first; k++) {
            if (!uses[k].has_op || !share_wall(spans, i, k))
                continue;
            use->wall_start_ns = uses[k].wall_start_ns;
            use->wall_end_ns = uses[k].wall_end_ns;
            is_first = false;
        }
        for (size_t k = i; k < spans->lanes.count && is_first; k++) {
            if (uses[k].has_op && share_wall(spans, i, k))
                extend(&use->wall_start_ns, &use->wall_end_ns, uses[k].start_ns, uses[k].end_ns,
                       k == i);
        }
    }
}

void lane_use_add(struct lane_use *uses, const struct spans_answer *spans)
{
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        struct lane_use *use = &uses[span->lane];

        if (!span_is_op(spans, span))
            continue;
        extend(&use->start_ns, &use->end_ns, span->start_ns, span_end_ns(span), !use->has_op);
        use->has_op = true;
    }
}

int lane_use_make(const struct spans_answer *spans, struct lane_use **out_use)
{
    size_t count = spans->lanes.count ? spans->lanes.count : 1;
    struct lane_use *uses = calloc(count, sizeof(*uses));

    if (!uses)
        return -ENOMEM;
    lane_use_add(uses, spans);
    lane_use_find_walls(uses, spans);
    *out_use = uses;
    return 0;
}

/* --- What a span is. --- */

bool span_is_runtime_call(const struct spans_answer *spans, const struct span *span)
{
    return op_is_runtime_call(span_op(spans, span));
}

bool span_is_python(const struct spans_answer *spans, const struct span *span)
{
    return op_is_python(span_op(spans, span));
}

enum device_work span_work(const struct spans_answer *spans, const struct span *span)
{
    const struct op_row *op = span_op(spans, span);

    if (op_has_copy_type(op))
        return WORK_COPY;
    if (op_has_fill_type(op))
        return WORK_FILL;
    return op_class_of(op) == OP_CLASS_COMMUNICATION ? WORK_COMMUNICATION : WORK_COMPUTE;
}

bool span_communicates(const struct spans_answer *spans, const struct span *span)
{
    const char *name = span_op(spans, span)->name;

    if (!span_is_op(spans, span) || span_work(spans, span) != WORK_COMMUNICATION)
        return false;
    return span_is_device(spans, span) || !*name || strncasecmp(name + 1, "ccl:", 4) != 0;
}

uint32_t span_owner(const struct spans_answer *spans, const struct span *span)
{
    const struct span *items = spans->spans.items;
    uint32_t label = SPAN_NONE;

    for (uint32_t i = span->launch; i != SPAN_NONE; i = items[i].parent) {
        bool is_name = spans->op_kinds[items[i].op] == SPAN_LABEL ||
                       span_work(spans, &items[i]) == WORK_COMMUNICATION;

        if (span_is_op(spans, &items[i]) && !is_name && !span_is_runtime_call(spans, &items[i]) &&
            !span_is_python(spans, &items[i]))
            return i;
        if (is_name && label == SPAN_NONE)
            label = i;
    }
    return label != SPAN_NONE ? label : span->launch;
}
