/* SPDX-License-Identifier: Apache-2.0 */
/* What a device counted in its kernels, kernel by kernel and metric by metric. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/span_counters.h"
#include "analyze/reports/counters.h"
#include "analyze/reports/report.h"
#include "analyze/stats/groups.h"

struct kernel_line {
    const char *name; /* of the counter: kernel, space, metric */
    size_t kernel_length;
    const char *device;
    struct group_summary values;
};

struct kernel_lines {
    ARRAY_OF(struct kernel_line) lines;
    struct groups groups;
    char **kernels; /* beside lines */
};

#define CELL(name, value) LINE_CELL(name, struct kernel_line, value)
#define ALL               ((const struct kernel_lines *)context)
#define REAL(value)       out_number(OUT_REAL, value)

CELL(kernel_of, out_text(ALL->kernels[line - ALL->lines.items]))
CELL(metric_of, out_text(line->name + line->kernel_length + 1))
CELL(device_of, out_text(line->device))
CELL(count_of, out_integer(OUT_INT, (int64_t)line->values.count))
CELL(total_of, REAL(line->values.sum))
CELL(mean_of, REAL(line->values.mean))
CELL(min_of, REAL(line->values.min))
CELL(max_of, REAL(line->values.max))

static const struct line_column columns[] = {
    {LINE_TEXT("kernel", "Kernel", 40), .value = kernel_of},
    {LINE_COMPACT("metric", "Metric"), .value = metric_of},
    {LINE_COMPACT("device", "Device"), .value = device_of},
    {LINE_COMPACT("count", "Count"), .value = count_of},
    {LINE_COMPACT("total", "Total"), .value = total_of},
    {LINE_COMPACT("mean", "Mean"), .value = mean_of},
    {LINE_COMPACT("min", "Min"), .value = min_of},
    {LINE_COMPACT("max", "Max"), .value = max_of},
};

static int add_row(const struct spans_answer *spans, const struct counter_row *row,
                   struct kernel_lines *all)
{
    const struct op_row *op = &spans->ops.items[row->op];
    struct kernel_line made = {.name = op->name,
                               .kernel_length = kernel_counter_length(op),
                               .device = spans->lanes.items[row->lane].device};
    struct place_key key = {0};
    uint32_t group;
    int rc;

    groups_add_text(&key, made.name);
    groups_add_text(&key, made.device);
    rc = groups_find(&all->groups, key, &group);
    if (rc == 1)
        rc = array_push(&all->lines, made);
    return rc < 0 ? rc : groups_add(&all->groups, group, row->value);
}

/* The counters that are asked for; those of kernels lie in no label. */
static int gather(const struct report *report, const struct spans_answer *spans,
                  const struct counter_row_array *rows, struct kernel_lines *all, struct diag *diag)
{
    struct report_selection selection;
    int rc = report_select(report, &selection, diag);

    if (filter_is_of(&selection.filter, FILTER_OF_LABELS)) {
        report_selection_deinit(&selection);
        return rc;
    }
    for (size_t i = 0; i < rows->count && rc == 0; i++) {
        const struct counter_row *row = &rows->items[i];
        const struct op_row *op = &spans->ops.items[row->op];

        if (kernel_counter_length(op) && filter_passes_op(&selection.filter, op) &&
            filter_passes_lane(&selection.filter, &spans->lanes.items[row->lane], op))
            rc = add_row(spans, row, all);
    }
    report_selection_deinit(&selection);
    return rc;
}

/* Values and the names of the kernels alone. */
static int finish(struct kernel_lines *all)
{
    struct group_summary *summaries = NULL;
    int rc = groups_summarize(&all->groups, &summaries);

    all->kernels = calloc(all->lines.count + 1, sizeof(*all->kernels));
    if (!all->kernels)
        rc = -ENOMEM;
    for (size_t i = 0; i < all->lines.count && rc == 0; i++) {
        struct kernel_line *line = &all->lines.items[i];

        line->values = summaries[i];
        all->kernels[i] = strndup(line->name, line->kernel_length);
        if (!all->kernels[i])
            rc = -ENOMEM;
    }
    free(summaries);
    return rc;
}

static int emit(const struct report *report, const struct kernel_lines *all, struct diag *diag)
{
    static const struct out_section section = {.name = "kernel_counters",
                                               .title = "What devices counted in kernels"};
    const struct lines lines = {
        .columns = columns,
        .column_count = sizeof(columns) / sizeof(columns[0]),
        .items = all->lines.items,
        .count = all->lines.count,
        .item_bytes = sizeof(*all->lines.items),
        .context = all,
        .order_by = "total",
        .top = report_top(report),
    };
    size_t shown;
    int rc = lines_emit(report->out, &section, &lines, &shown, diag);

    if (rc == 0 && shown < lines.count)
        out_note(report->out, OUT_NOTE_PLAIN, "%zu of %zu counters of kernels are shown.", shown,
                 lines.count);
    return rc;
}

int report_kernel_counters(const struct report *report, const struct spans_answer *spans,
                           bool *out_any, struct diag *diag)
{
    struct counter_row_array rows = {0};
    struct kernel_lines all = {0};
    int rc = query_counters(report->source->store, spans, &rows, diag);

    *out_any = false;
    if (rc == 0)
        rc = gather(report, spans, &rows, &all, diag);
    if (rc == 0)
        rc = finish(&all);
    if (rc == 0 && all.lines.count) {
        *out_any = true;
        rc = emit(report, &all, diag);
    }
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the counters");
    for (size_t i = 0; all.kernels && i < all.lines.count; i++)
        free(all.kernels[i]);
    free(all.kernels);
    array_deinit(&all.lines);
    groups_deinit(&all.groups);
    array_deinit(&rows);
    return rc;
}
