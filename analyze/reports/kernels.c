/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on devices, kernel by kernel, as nsys stats has it. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"
#include "analyze/reports/report.h"
#include "analyze/stats/groups.h"

struct kernel_line {
    const char *name, *device;
    const char *grid, *block; /* JSON; NULL: not asked for, or not known */
    struct group_summary calls;
};

struct kernel_lines {
    ARRAY_OF(struct kernel_line) lines;
    struct groups groups;
    struct query_texts texts;
    bool by_launch;
    double total_ns;   /* of all kernels, also of those not shown */
    bool *is_kernel;   /* by op, on a device */
    uint32_t *line_of; /* by op: its line on the lane at hand, or PLACE_NONE */
};

#define CELL(name, value) LINE_CELL(name, struct kernel_line, value)
#define ALL               ((const struct kernel_lines *)context)

CELL(share, out_number(OUT_SHARE, ALL->total_ns > 0 ? line->calls.sum / ALL->total_ns : NAN))
CELL(total, out_number(OUT_NS, line->calls.sum))
CELL(instances, out_integer(OUT_INT, (int64_t)line->calls.count))
CELL(mean, out_number(OUT_NS, line->calls.mean))
CELL(median, out_number(OUT_NS, line->calls.median))
CELL(min, out_number(OUT_NS, line->calls.min))
CELL(max, out_number(OUT_NS, line->calls.max))
CELL(stddev, out_number(OUT_NS, line->calls.stddev))
CELL(device_of, out_text(line->device))
CELL(grid_of, out_json_text(line->grid))
CELL(block_of, out_json_text(line->block))
CELL(name_of, out_text(line->name))

static const struct line_column columns[] = {
    {LINE_COMPACT("share", "Time %"), {NULL}, "of the durations of all kernels", share},
    {LINE_COMPACT("total_ns", "Total time"), {"time"}, "sum of durations", total},
    {LINE_COMPACT("calls", "Instances"), {"instances", "count"}, "executions", instances},
    {LINE_COMPACT("mean_ns", "Avg"), {"avg"}, "mean duration", mean},
    {LINE_COMPACT("median_ns", "Med"), {"med"}, "middle duration, or the mean of two", median},
    {LINE_COMPACT("min_ns", "Min"), {NULL}, "shortest", min},
    {LINE_COMPACT("max_ns", "Max"), {NULL}, "longest", max},
    {LINE_COMPACT("stddev_ns", "StdDev"), {NULL}, "over count - 1", stddev},
    {LINE_COMPACT("device", "Device"), {NULL}, "where", device_of},
    {LINE_COMPACT("grid", "Grid"), {NULL}, "blocks in x, y, z, with --group-by launch", grid_of},
    {LINE_COMPACT("block", "Block"), {NULL}, "threads of a block in x, y, z", block_of},
    {LINE_TEXT("name", "Name", 60), {NULL}, "the kernel", name_of},
};

static const char *keep_member(struct query_texts *texts, const cJSON *object, const char *name)
{
    char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(object, name));
    const char *kept = text ? query_keep(texts, text) : NULL;

    cJSON_free(text);
    return kept;
}

static int find_line(struct kernel_lines *all, const struct op_row *op, const char *device,
                     uint32_t *out_line)
{
    struct kernel_line line = {.name = op->name, .device = device};
    struct place_key key = {0};
    cJSON *params = all->by_launch && op->params ? cJSON_Parse(op->params) : NULL;
    int rc;

    line.grid = keep_member(&all->texts, params, "grid");
    line.block = keep_member(&all->texts, params, "block");
    cJSON_Delete(params);
    groups_add_text(&key, op->name);
    groups_add_text(&key, device);
    groups_add_text(&key, line.grid);
    groups_add_text(&key, line.block);
    rc = all->texts.failed ? -ENOMEM : groups_find(&all->groups, key, out_line);
    return rc == 1 ? array_push(&all->lines, line) : rc;
}

/* Whether spans of each op are kernels where they are on a device. */
static bool *find_kernels(const struct spans_answer *spans)
{
    bool *is_kernel = calloc(spans->ops.count + 1, sizeof(*is_kernel));

    for (size_t i = 0; i < spans->ops.count && is_kernel; i++) {
        const struct span span = {.op = (uint32_t)i};
        enum device_work work = span_work(spans, &span);

        is_kernel[i] = span_is_op(spans, &span) && work != WORK_COPY && work != WORK_FILL;
    }
    return is_kernel;
}

static void forget_lines(struct kernel_lines *all)
{
    array_deinit(&all->lines);
    groups_deinit(&all->groups);
    query_texts_deinit(&all->texts);
    free(all->is_kernel);
    free(all->line_of);
    *all = (struct kernel_lines){.by_launch = all->by_launch};
}

static int begin(void *user, const struct spans_answer *spans)
{
    struct kernel_lines *all = user;

    forget_lines(all);
    all->is_kernel = find_kernels(spans);
    all->line_of = malloc((spans->ops.count + 1) * sizeof(*all->line_of));
    return all->is_kernel && all->line_of ? 0 : -ENOMEM;
}

/* Lines are found once for each op and lane that follow each other. */
static int take(void *user, struct spans_answer *spans)
{
    struct kernel_lines *all = user;
    uint32_t lane = UINT32_MAX, group;
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!span_is_device(spans, span) || !all->is_kernel[span->op])
            continue;
        all->total_ns += (double)span->dur_ns;
        if (!span->is_shown)
            continue;
        if (span->lane != lane)
            memset(all->line_of, 0xff, (spans->ops.count + 1) * sizeof(*all->line_of));
        lane = span->lane;
        group = all->line_of[span->op];
        if (group == PLACE_NONE) {
            const char *device = spans->lanes.items[lane].device;

            rc = find_line(all, span_op(spans, span),
                           device ? device : span_op(spans, span)->device, &group);
            all->line_of[span->op] = group;
        }
        if (rc == 0)
            rc = groups_add(&all->groups, group, (double)span->dur_ns);
    }
    return rc;
}

static int emit_kernels(const struct report *report, struct kernel_lines *all, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"total_ns"}};
    static const struct out_section section = {
        .name = "kernels",
        .keep = "name total_ns grid block calls share mean_ns device max_ns",
        .chart = &chart};
    struct group_summary *summaries = NULL;
    int rc = groups_summarize(&all->groups, &summaries);

    if (rc < 0)
        return diag_set(diag, rc, "no memory for the table");
    for (size_t i = 0; i < all->lines.count; i++)
        all->lines.items[i].calls = summaries[i];
    free(summaries);
    if (!all->lines.count) {
        diag_set(diag, 0, "nothing that ran on a device is in what is asked for");
        return REPORT_NOTHING;
    }
    rc = report_emit_lines(report, &section, all->lines.items, all->lines.count,
                           sizeof(*all->lines.items), all, diag);
    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Percentages are of the durations of all kernels added up, also of those that ran "
                 "at the same time; copies and fills are none (--report copies).");
    return rc;
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    (void)spans;
    return emit_kernels(report, user, diag);
}

static int run(const struct report *report, struct diag *diag)
{
    const char *group_by = report->options->group_by;
    struct kernel_lines all = {.by_launch = group_by && strcmp(group_by, "launch") == 0};
    const struct report_parts parts = {&all, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc;

    if (group_by && !all.by_launch && strcmp(group_by, "name") != 0)
        return diag_set(diag, -EINVAL, "--group-by \"%s\": kernels go by name or launch", group_by);
    rc = report_on_span_parts(report, &parts, emit, diag);
    forget_lines(&all);
    return rc;
}

static double time_ns(const void *item)
{
    return ((const struct kernel_line *)item)->calls.sum;
}

static const char *const takes[] = {"group-by", NULL};

const struct report_kind report_kernels = {
    .name = "kernels",
    .about = "What ran on devices, kernel by kernel, with the columns of nsys stats.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"kernels", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 50,
              .order_by = "total_ns",
              .time_ns = time_ns},
    .explain = {.time = "total_ns",
                .groups =
                    (const struct explain_group[]){
                        {"name", "", ""},
                        {"launch", ", params -> '$.grid' AS grid, params -> '$.block' AS block",
                         ", params -> '$.grid', params -> '$.block'"},
                        {NULL, NULL, NULL},
                    }},
};
