/* SPDX-License-Identifier: Apache-2.0 */
/* Averages of spans in parts: each part makes its lines, which are added up by what tells lines
 * apart. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/metrics/averages.h"
#include "analyze/query/lane_use.h"
#include "analyze/stats/groups.h"

struct averages_parts {
    struct averages_options options;
    struct memory_row_array memory;
    struct averages sums; /* device times count from 0 on */
    struct place_map lines;
    bool has_device, is_whole;
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

/* Whether a label is a row depends on what else there is on its lane, maybe in another part. */
static int depends_on_others(const struct spans_answer *spans, bool *out_value)
{
    struct lane_use *uses;

    *out_value = false;
    if (lane_use_make(spans, &uses) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < spans->spans.count && !*out_value; i++) {
        const struct span *span = &spans->spans.items[i];

        *out_value = spans->op_kinds[span->op] == SPAN_LABEL && !uses[span->lane].has_op &&
                     spans->lanes.items[span->lane].native_id == STORE_NULL;
    }
    free(uses);
    return 0;
}

static void add_known(double *sum, double value)
{
    if (!isnan(value))
        *sum = (isnan(*sum) ? 0 : *sum) + value;
}

static void add_line(struct average_line *sum, const struct average_line *line)
{
    sum->calls += line->calls;
    sum->cpu_ns += line->cpu_ns; /* NaN stays NaN */
    sum->self_cpu_ns += line->self_cpu_ns;
    sum->recording_ns += line->recording_ns;
    add_known(&sum->device_ns, line->device_ns);
    add_known(&sum->self_device_ns, line->self_device_ns);
    add_known(&sum->computation_flop, line->computation_flop);
}

static int merge_line(struct averages_parts *parts, const struct average_line *line)
{
    struct averages *sums = &parts->sums;
    struct place_key key = {.low = (uint64_t)line->side << 1 | line->is_label};
    struct average_line made = *line;
    uint32_t place;

    groups_add_text(&key, line->name);
    groups_add_text(&key, line->input_shapes);
    groups_add_text(&key, line->stack);
    place = place_map_find(&parts->lines, key);
    if (place != PLACE_NONE) {
        add_line(&sums->lines.items[place], line);
        return 0;
    }
    made.stack = line->stack ? query_keep(&sums->texts, line->stack) : NULL;
    place = (uint32_t)sums->lines.count;
    if (sums->texts.failed || array_push(&sums->lines, made) < 0)
        return -ENOMEM;
    return place_map_set(&parts->lines, key, place);
}

static int merge(struct averages_parts *parts, const struct averages *part)
{
    int rc = 0;

    for (size_t i = 0; i < part->lines.count && rc == 0; i++)
        rc = merge_line(parts, &part->lines.items[i]);
    add_known(&parts->sums.self_cpu_ns, part->self_cpu_ns);
    add_known(&parts->sums.self_device_ns, part->self_device_ns);
    parts->sums.negative_count += part->negative_count;
    parts->has_device |= part->has_device;
    return rc;
}

int averages_add(struct averages_parts *parts, const struct spans_answer *spans)
{
    struct averages part = {0};
    bool depends = parts->memory.count > 0 || parts->options.by_module;
    int rc = 0;

    if (!parts->is_whole && !depends)
        rc = depends_on_others(spans, &depends);
    if (rc < 0)
        return rc;
    if (!parts->is_whole && depends) {
        parts->is_whole = true;
        return SPAN_PARTS_WHOLE;
    }
    if (parts->is_whole)
        return averages_make(spans, &parts->memory, &parts->options, &parts->sums);
    rc = averages_make(spans, &parts->memory, &parts->options, &part);
    if (rc == 0)
        rc = merge(parts, &part);
    averages_deinit(&part);
    return rc;
}

void averages_finish(struct averages_parts *parts, struct averages *out_averages)
{
    *out_averages = parts->sums;
    parts->sums = (struct averages){0};
    for (size_t i = 0; i < out_averages->lines.count && parts->has_device; i++) {
        add_known(&out_averages->lines.items[i].device_ns, 0);
        add_known(&out_averages->lines.items[i].self_device_ns, 0);
    }
}

void averages_parts_destroy(struct averages_parts **parts)
{
    if (!*parts)
        return;
    array_deinit(&(*parts)->memory);
    averages_deinit(&(*parts)->sums);
    place_map_deinit(&(*parts)->lines);
    free(*parts);
    *parts = NULL;
}
