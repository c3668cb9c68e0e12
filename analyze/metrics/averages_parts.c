/* SPDX-License-Identifier: Apache-2.0 */
/* Averages of spans in parts, which add to the same lines. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/averages_rows.h"
#include "analyze/query/lane_use.h"

struct averages_parts {
    struct averages_options options;
    struct memory_row_array memory;
    struct averages sums;
    struct average_groups groups;
    bool is_whole;
};

int averages_begin(const struct averages_options *options, struct averages_parts **out_parts)
{
    struct averages_parts *parts = calloc(1, sizeof(*parts));
    bool is_whole = *out_parts && (*out_parts)->is_whole;

    averages_parts_destroy(out_parts);
    *out_parts = parts;
    if (!parts)
        return -ENOMEM;
    parts->options = *options;
    parts->is_whole = is_whole;
    parts->sums.self_cpu_ns = parts->sums.self_device_ns = NAN;
    return 0;
}

struct memory_row_array *averages_memory(struct averages_parts *parts)
{
    return &parts->memory;
}

/* Whether it would be one with the frame that it lies in, were it alone there. */
static bool is_as_frame_around(const struct spans_answer *spans, const struct span *span)
{
    const struct span *items = spans->spans.items;
    uint32_t around = span->parent;

    while (around != SPAN_NONE && ((spans->op_kinds[items[around].op] != SPAN_OP &&
                                    spans->op_kinds[items[around].op] != SPAN_LABEL) ||
                                   span_end_ns(&items[around]) <= span->start_ns))
        around = items[around].parent;
    return around != SPAN_NONE && items[around].frame &&
           strcmp(span_op(spans, span)->name, span_op(spans, &items[around])->name) == 0;
}

int averages_depend_on_others(const struct spans_answer *spans, bool *out_value)
{
    struct lane_use *uses;

    *out_value = false;
    if (!averages_have_labels(spans))
        return 0;
    if (lane_use_make(spans, &uses) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < spans->spans.count && !*out_value; i++) {
        const struct span *span = &spans->spans.items[i];

        *out_value = (spans->op_kinds[span->op] == SPAN_LABEL && !uses[span->lane].has_op &&
                      spans->lanes.items[span->lane].native_id == STORE_NULL) ||
                     is_as_frame_around(spans, span);
    }
    free(uses);
    return 0;
}

int averages_add(struct averages_parts *parts, const struct spans_answer *spans)
{
    bool depends = parts->memory.count > 0 || parts->options.by_module;
    int rc = 0;

    if (!parts->is_whole && !depends)
        rc = averages_depend_on_others(spans, &depends);
    if (rc < 0)
        return rc;
    if (!parts->is_whole && depends) {
        parts->is_whole = true;
        return SPAN_PARTS_WHOLE;
    }
    return average_groups_add(&parts->groups, spans, &parts->memory, &parts->options, &parts->sums);
}

void averages_finish(struct averages_parts *parts, struct averages *out_averages)
{
    average_groups_finish(&parts->groups, &parts->sums);
    *out_averages = parts->sums;
    parts->sums = (struct averages){0};
}

void averages_parts_destroy(struct averages_parts **parts)
{
    if (!*parts)
        return;
    array_deinit(&(*parts)->memory);
    averages_deinit(&(*parts)->sums);
    average_groups_deinit(&(*parts)->groups);
    free(*parts);
    *parts = NULL;
}
