/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one key make a line. */
#include "analyze/metrics/averages.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/averages_rows.h"
#include "analyze/query/call_stack.h"
#include "analyze/stats/groups.h"

static const char memory_name[] = "[memory]"; /* as PyTorch calls what no op asked for */

struct grouping {
    const struct averages_options *options;
    struct averages *out;
    const struct average_rows *rows;
    struct average_groups *groups;
};

/* The nearest frames of params.stack as a JSON list; NULL without a stack. */
static char *nearest_frames(const char *params, int64_t frame_count)
{
    char *stack = call_stack_of(params), *text = NULL;
    const char *at = stack, *frame;
    cJSON *frames = at ? cJSON_CreateArray() : NULL;
    size_t length;

    for (int64_t i = 0; frames && i < frame_count && call_stack_next(&at, &frame, &length); i++) {
        char *copy = strndup(frame, length);

        if (copy)
            cJSON_AddItemToArray(frames, cJSON_CreateString(copy));
        free(copy);
    }
    if (frames && cJSON_GetArraySize(frames))
        text = cJSON_PrintUnformatted(frames);
    cJSON_Delete(frames);
    free(stack);
    return text;
}

static struct average_line make_line(struct grouping *grouping, const struct op_row *op,
                                     enum op_side side)
{
    struct average_line line = {
        .name = op->name, .side = side, .is_label = op->is_label, .computation_flop = NAN};
    const struct average_rows *rows = grouping->rows;

    if (grouping->options->by_shape)
        line.input_shapes = op->input_shapes;
    if (grouping->options->frame_count > 0) {
        char *stack = nearest_frames(op->params, grouping->options->frame_count);

        line.stack = stack ? query_keep(&grouping->out->texts, stack) : NULL;
        free(stack);
    }
    line.cpu_ns = line.self_cpu_ns = line.recording_ns = side == OP_DEVICE ? NAN : 0;
    line.cpu_bytes = line.self_cpu_bytes = side == OP_HOST && rows->has_memory[OP_HOST] ? 0 : NAN;
    line.device_bytes = line.self_device_bytes =
        side == OP_HOST && rows->has_memory[OP_DEVICE] ? 0 : NAN;
    return line;
}

static int find_line(struct grouping *grouping, uint32_t op, enum op_side side, uint32_t *out_line)
{
    uint32_t *known = &grouping->groups->line_of[side][op];
    struct averages *averages = grouping->out;
    struct place_key key = {0};
    struct average_line line;

    if (*known == PLACE_NONE) {
        line = make_line(grouping, &grouping->rows->spans->ops.items[op], side);
        key.low = (uint64_t)side << 1 | line.is_label;
        groups_add_text(&key, line.name);
        groups_add_text(&key, line.input_shapes);
        groups_add_text(&key, line.stack);
        *known = place_map_find(&grouping->groups->lines, key);
        if (*known == PLACE_NONE) {
            *known = (uint32_t)averages->lines.count;
            if (place_map_set(&grouping->groups->lines, key, *known) < 0 ||
                array_push(&averages->lines, line) < 0)
                return -ENOMEM;
        }
    }
    *out_line = *known;
    return averages->texts.failed ? -ENOMEM : 0;
}

static void add_to_line(struct average_line *line, const struct average_rows *rows, size_t place)
{
    const struct span *span = &rows->spans->spans.items[place];
    const struct average_cost *cost = &rows->costs[place];
    int64_t flop = rows->spans->ops.items[span->op].computation_flop;

    if (span->frame == SPAN_FRAME_AGAIN)
        flop = STORE_NULL;
    else
        line->calls++;
    line->cpu_ns += span->frame == SPAN_FRAME_AGAIN ? 0 : (double)span->dur_ns; /* NaN stays NaN */
    line->self_cpu_ns += (double)cost->self_cpu_ns;
    line->recording_ns += rows->recording_ns ? rows->recording_ns[place] : NAN;
    line->device_ns += (double)cost->device_ns;
    line->self_device_ns += (double)cost->self_device_ns;
    line->cpu_bytes += (double)cost->bytes[OP_HOST];
    line->self_cpu_bytes += (double)cost->self_bytes[OP_HOST];
    line->device_bytes += (double)cost->bytes[OP_DEVICE];
    line->self_device_bytes += (double)cost->self_bytes[OP_DEVICE];
    if (flop != STORE_NULL)
        line->computation_flop =
            (isnan(line->computation_flop) ? 0 : line->computation_flop) + (double)flop;
}

static void add_to_total(double *total, int64_t value)
{
    *total = (isnan(*total) ? 0 : *total) + (double)value;
}

static void add_totals(const struct average_rows *rows, struct averages *out_averages)
{
    const struct spans_answer *spans = rows->spans;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (rows->row[i] != i)
            continue;
        if (span_is_device(spans, span) && spans->op_kinds[span->op] != SPAN_LABEL)
            add_to_total(&out_averages->self_device_ns, rows->costs[i].self_device_ns);
        if (span_is_device(spans, span))
            continue;
        add_to_total(&out_averages->self_cpu_ns, rows->costs[i].self_cpu_ns);
        out_averages->negative_count +=
            !span->frame && span->is_shown && rows->costs[i].self_cpu_ns < 0;
    }
}

static int add_frame(struct average_groups *groups, const struct span *span, int64_t self_cpu_ns)
{
    const struct average_frame added = {span->start_ns, span->dur_ns, self_cpu_ns, span->lane,
                                        span->is_shown};

    for (size_t i = groups->frames.count; i-- > 0 && span->frame == SPAN_FRAME_AGAIN;) {
        struct average_frame *frame = &groups->frames.items[i];

        if (!span_is_at(span, frame->lane, frame->start_ns, frame->dur_ns))
            continue;
        frame->self_cpu_ns += self_cpu_ns;
        return 0;
    }
    return array_push(&groups->frames, added);
}

static int add_frames(struct average_groups *groups, const struct average_rows *rows)
{
    int rc = 0;

    for (size_t i = 0; i < rows->spans->spans.count && rc == 0; i++) {
        const struct span *span = &rows->spans->spans.items[i];

        if (span->frame && rows->row[i] == i)
            rc = add_frame(groups, span, rows->costs[i].self_cpu_ns);
    }
    return rc;
}

static int add_rows(struct grouping *grouping)
{
    const struct average_rows *rows = grouping->rows;
    const struct spans_answer *spans = rows->spans;
    struct averages *out = grouping->out;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        enum op_side side = spans->lanes.items[span->lane].side;
        uint32_t line;

        if (rows->row[i] != i || !span->is_shown)
            continue;
        rc = find_line(grouping, span->op, side, &line);
        if (rc == 0)
            add_to_line(&out->lines.items[line], rows, i);
    }
    return rc;
}

/* Memory that no op asked for has a line of its own when nothing was filtered away. */
static int add_loose_memory(struct averages *out_averages, const struct average_rows *rows)
{
    struct average_line line = {
        .name = memory_name,
        .calls = rows->loose_count[OP_HOST] + rows->loose_count[OP_DEVICE],
        .cpu_ns = 0,
        .self_cpu_ns = 0,
        .recording_ns = NAN,
        .computation_flop = NAN,
    };

    if (!line.calls)
        return 0;
    for (size_t i = 0; i < rows->spans->spans.count; i++) {
        if (!rows->spans->spans.items[i].is_shown)
            return 0;
    }
    line.cpu_bytes = line.self_cpu_bytes =
        rows->has_memory[OP_HOST] ? (double)rows->loose_bytes[OP_HOST] : NAN;
    line.device_bytes = line.self_device_bytes =
        rows->has_memory[OP_DEVICE] ? (double)rows->loose_bytes[OP_DEVICE] : NAN;
    return array_push(&out_averages->lines, line);
}

/* Before the first part. */
static int make_places(struct average_groups *groups, size_t op_count)
{
    size_t bytes = (op_count + 1) * sizeof(*groups->line_of[0]);

    for (int side = 0; side < OP_SIDES; side++) {
        if (groups->line_of[side])
            continue;
        groups->line_of[side] = malloc(bytes);
        if (!groups->line_of[side])
            return -ENOMEM;
        memset(groups->line_of[side], 0xff, bytes);
    }
    return 0;
}

static int group(const struct average_rows *rows, const struct averages_options *options,
                 struct average_groups *groups, struct averages *averages)
{
    struct grouping grouping = {options, averages, rows, groups};
    int rc = make_places(groups, rows->spans->ops.count);

    return rc ? rc : add_rows(&grouping);
}

int average_groups_add(struct average_groups *groups, const struct spans_answer *spans,
                       const struct memory_row_array *memory,
                       const struct averages_options *options, struct averages *averages)
{
    struct average_rows rows;
    int rc = average_rows_make(spans, &rows);

    if (rc == 0 && rows.needs_whole)
        rc = SPAN_PARTS_WHOLE;
    if (rc == 0)
        rc = average_rows_add_memory(&rows, memory, options->runs_only);
    if (rc == 0 && options->costs)
        rc = average_rows_add_recording(&rows, options->costs);
    if (rc == 0) {
        add_totals(&rows, averages);
        rc = add_frames(groups, &rows);
    }
    if (rc == 0) {
        rc = options->by_module ? averages_by_module(&rows, averages)
                                : group(&rows, options, groups, averages);
    }
    if (rc == 0)
        rc = add_loose_memory(averages, &rows);
    averages->unsized_count += rows.unsized_count;
    averages->has_device |= rows.has_device;
    average_rows_deinit(&rows);
    return rc;
}

/* Where no device took part, no line has a time there. */
void average_groups_finish(const struct average_groups *groups, struct averages *averages)
{
    for (size_t i = 0; i < groups->frames.count; i++)
        averages->negative_count +=
            groups->frames.items[i].is_shown && groups->frames.items[i].self_cpu_ns < 0;
    for (size_t i = 0; i < averages->lines.count && !averages->has_device; i++)
        averages->lines.items[i].device_ns = averages->lines.items[i].self_device_ns = NAN;
}

void average_groups_deinit(struct average_groups *groups)
{
    for (int side = 0; side < OP_SIDES; side++) {
        free(groups->line_of[side]);
        groups->line_of[side] = NULL;
    }
    place_map_deinit(&groups->lines);
    array_deinit(&groups->frames);
}

int averages_make(const struct spans_answer *spans, const struct memory_row_array *memory,
                  const struct averages_options *options, struct averages *out_averages)
{
    struct average_groups groups = {0};
    int rc;

    *out_averages = (struct averages){.self_cpu_ns = NAN, .self_device_ns = NAN};
    rc = average_groups_add(&groups, spans, memory, options, out_averages);
    average_groups_finish(&groups, out_averages);
    average_groups_deinit(&groups);
    return rc;
}

void averages_deinit(struct averages *averages)
{
    array_deinit(&averages->lines);
    query_texts_deinit(&averages->texts);
}
