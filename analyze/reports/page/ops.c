/* SPDX-License-Identifier: Apache-2.0 */
/* The page's pictures of operators: time by type, the longest ones, how near they come to a roof.
 */
#include <errno.h>
#include <math.h>

#include "analyze/reports/page/page.h"
#include "analyze/reports/roofline_machine.h"

enum { NAME_WRAP = 60 };

/* --- Columns; the context is the page. --- */

static double share(const struct page *page, double ns)
{
    double total_ns = page->answer->basis.total_ns[page->side];

    return total_ns > 0 ? ns / total_ns : NAN;
}

static struct out_value value_name(const void *line, const void *context)
{
    return out_text(((const struct ops_line *)line)->op->name);
}

static struct out_value value_type(const void *line, const void *context)
{
    return out_text(((const struct ops_line *)line)->type);
}

static struct out_value value_id(const void *line, const void *context)
{
    return out_text(((const struct ops_line *)line)->op->node_id);
}

static struct out_value value_time(const void *line, const void *context)
{
    return out_number(OUT_NS, ((const struct ops_line *)line)->time_ns);
}

static struct out_value value_share(const void *line, const void *context)
{
    return out_number(OUT_SHARE, share(context, ((const struct ops_line *)line)->time_ns));
}

/* Of an op that ran on a device: what it took on the host. */
static struct out_value value_host_time(const void *line, const void *context)
{
    const struct page *page = context;
    const struct op_cost *host = &((const struct ops_line *)line)->op->cost[OP_HOST];

    return out_number(OUT_NS, page->side == OP_DEVICE && host->calls ? host->end_ns : NAN);
}

static struct out_value value_calls(const void *line, const void *context)
{
    return out_integer(OUT_INT, (int64_t)((const struct ops_line *)line)->calls);
}

static struct out_value value_min(const void *line, const void *context)
{
    return out_number(OUT_NS, ((const struct ops_line *)line)->min_ns);
}

static struct out_value value_max(const void *line, const void *context)
{
    return out_number(OUT_NS, ((const struct ops_line *)line)->max_ns);
}

static struct out_value value_computation(const void *line, const void *context)
{
    return out_number(OUT_FLOP, ((const struct ops_line *)line)->computation_flop);
}

static struct out_value value_flop_rate(const void *line, const void *context)
{
    return out_number(OUT_FLOP_RATE, ((const struct ops_line *)line)->flop_rate);
}

static struct out_value value_memory(const void *line, const void *context)
{
    return out_number(OUT_BYTES, ((const struct ops_line *)line)->memory_bytes);
}

static struct out_value value_byte_rate(const void *line, const void *context)
{
    return out_number(OUT_BYTE_RATE, ((const struct ops_line *)line)->byte_rate);
}

static struct out_value value_in_shapes(const void *line, const void *context)
{
    return out_shapes(((const struct ops_line *)line)->op->input_shapes, NULL);
}

static struct out_value value_out_shapes(const void *line, const void *context)
{
    return out_shapes(((const struct ops_line *)line)->op->output_shapes, NULL);
}

#define COLUMN(column, head) .name = column, .title = head, .wiki = head, .compact = true

const struct line_column page_op_columns[PAGE_OP_COLUMNS] = {
    {.out = {COLUMN("name", "name"), .wrap = NAME_WRAP}, .about = "its name", .value = value_name},
    {.out = {COLUMN("type", "type"), .wrap = NAME_WRAP}, .about = "its type", .value = value_type},
    {.out = {COLUMN("id", "id"), .data_only = true},
     .also = {"opr_id"},
     .about = "its id in the model",
     .value = value_id},
    {.out = {COLUMN("time_ns", "time")},
     .also = {"time"},
     .about = "device time, or host time where no device time was recorded",
     .value = value_time},
    {.out = {COLUMN("share", "share")},
     .about = "of the total time of all operators on that side",
     .value = value_share},
    {.out = {COLUMN("host_ns", "host time")},
     .about = "host time of what a device computes",
     .value = value_host_time},
    {.out = {COLUMN("calls", "calls")}, .about = "in all counted runs", .value = value_calls},
    {.out = {COLUMN("call_min_ns", "shortest call")},
     .also = {"min"},
     .about = "the shortest call",
     .value = value_min},
    {.out = {COLUMN("call_max_ns", "longest call")},
     .also = {"max"},
     .about = "the longest call",
     .value = value_max},
    {.out = {COLUMN("computation_flop", "computation")},
     .also = {"computation"},
     .about = "operations",
     .value = value_computation},
    {.out = {COLUMN("flop_per_s", "FLOP/s")},
     .also = {"flops"},
     .about = "operations per second",
     .value = value_flop_rate},
    {.out = {COLUMN("memory_bytes", "memory")},
     .also = {"memory"},
     .about = "bytes read and written",
     .value = value_memory},
    {.out = {COLUMN("bandwidth_bytes_per_s", "bandwidth")},
     .also = {"bandwidth"},
     .about = "bytes per second",
     .value = value_byte_rate},
    {.out = {COLUMN("in_shapes", "input shapes")},
     .about = "shapes of its inputs",
     .value = value_in_shapes},
    {.out = {COLUMN("out_shapes", "output shapes")},
     .about = "shapes of its outputs",
     .value = value_out_shapes},
};

double page_op_time_ns(const void *line)
{
    return ((const struct ops_line *)line)->time_ns;
}

/* --- Time by type. --- */

static int view(const struct page *page, enum ops_grouping grouping, struct ops_lines *out_lines,
                struct diag *diag)
{
    const struct ops_view_options options = {
        .side = page->side,
        .time = OPS_TIME_END,
        .grouping = grouping,
        .reduction = STATS_SUM,
    };

    if (ops_view(page->answer, &page->selection->filter, &options, out_lines) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the table");
    if (page->selection->filter.gave_up)
        return filter_complain(&page->selection->filter, diag);
    return 0;
}

int page_types(const struct page *page, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "type", .values = {"time_ns"}, .color = "type"};
    const struct out_section section = {.name = "types",
                                        .title = page->side == OP_DEVICE ? "Device time by type"
                                                                         : "Host time by type",
                                        .chart = &chart};
    static const struct out_column columns[] = {
        {COLUMN("type", "type"), .wrap = NAME_WRAP},
        {COLUMN("time_ns", "time")},
        {COLUMN("share", "share")},
        {COLUMN("op_count", "operators")},
        {COLUMN("calls", "calls")},
        {COLUMN("computation_flop", "computation")},
        {COLUMN("flop_per_s", "FLOP/s")},
    };
    struct ops_lines lines;
    int rc = view(page, OPS_BY_TYPE, &lines, diag);

    if (rc == 0 && !lines.lines.count) {
        diag_set(diag, 0, "nothing matches what is asked for");
        rc = REPORT_NOTHING;
    }
    if (rc == 0) {
        out_table_begin(page->report->out, &section, columns, sizeof(columns) / sizeof(columns[0]));
        for (size_t i = 0; i < lines.lines.count; i++) {
            const struct ops_line *line = &lines.lines.items[i];

            out_row(page->report->out, (struct out_value[]){
                                           out_text(line->type),
                                           out_number(OUT_NS, line->time_ns),
                                           out_number(OUT_SHARE, share(page, line->time_ns)),
                                           out_integer(OUT_INT, (int64_t)line->op_count),
                                           out_integer(OUT_INT, (int64_t)line->calls),
                                           out_number(OUT_FLOP, line->computation_flop),
                                           out_number(OUT_FLOP_RATE, line->flop_rate),
                                       });
        }
        out_table_end(page->report->out);
    }
    ops_lines_deinit(&lines);
    return rc;
}

/* --- Operators, the roofline. --- */

/* Whether it can stand in the chart: both computation and bytes are known. */
static bool is_point(const struct ops_line *line)
{
    return line->flop_rate > 0 && line->memory_bytes > 0;
}

/* The roof of the host, where all points are the host's. */
static int find_roof(const struct page *page, const struct ops_lines *lines,
                     struct roofline_guides *guides, struct diag *diag)
{
    struct roofline_machine machine;
    double fastest = NAN;
    int rc;

    guides->count = 0;
    for (size_t i = 0; i < lines->lines.count; i++) {
        const struct ops_line *line = &lines->lines.items[i];

        if (is_point(line) && !roofline_is_of_host(line->op))
            return 0;
        if (is_point(line))
            fastest = fmax(fastest, line->flop_rate);
    }
    rc = roofline_find_machine(page->report, fastest, &machine, diag);
    if (rc == 0)
        roofline_make_guides(&machine, guides);
    return rc;
}

static void emit_points(const struct page *page, const struct ops_lines *lines)
{
    for (size_t i = 0; i < lines->lines.count; i++) {
        const struct ops_line *line = &lines->lines.items[i];

        if (!is_point(line))
            continue;
        out_row(page->report->out,
                (struct out_value[]){
                    out_text(line->op->name),
                    out_text(line->type),
                    out_number(OUT_REAL, line->computation_flop / line->memory_bytes),
                    out_number(OUT_FLOP_RATE, line->flop_rate),
                });
    }
}

static int emit_roofline(const struct page *page, const struct ops_lines *lines, struct diag *diag)
{
    struct roofline_guides guides;
    struct out_chart chart = {
        .kind = OUT_CHART_POINTS,
        .label = "name",
        .x = "flop_per_byte",
        .values = {"flop_per_s"},
        .color = "type",
        .is_log = true,
        .guides = guides.guides,
        .about = "Each operator by what it computes for a byte that it moves, and how fast it "
                 "does. Those on the left wait for memory, those on the right for arithmetic; the "
                 "lines are the most that the machine can do."};
    const struct out_section section = {
        .name = "roofline", .title = "Roofline", .data_only = true, .chart = &chart};
    static const struct out_column columns[] = {
        {.name = "name", .title = "name"},
        {.name = "type", .title = "type"},
        {.name = "flop_per_byte", .title = "operations per byte"},
        {.name = "flop_per_s", .title = "operations per second"},
    };
    bool any = false;
    int rc = find_roof(page, lines, &guides, diag);

    for (size_t i = 0; i < lines->lines.count; i++)
        any |= is_point(&lines->lines.items[i]);
    if (rc < 0 || !any)
        return rc;
    chart.guide_count = guides.count;
    out_table_begin(page->report->out, &section, columns, 4);
    emit_points(page, lines);
    out_table_end(page->report->out);
    return 0;
}

int page_ops(const struct page *page, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"time_ns"}, .color = "type"};
    static const struct out_section section = {
        .name = "ops", .title = "Operators", .chart = &chart};
    struct ops_lines lines;
    int rc = view(page, OPS_EACH, &lines, diag);

    if (rc == 0)
        rc = report_emit_lines(page->report, &section, lines.lines.items, lines.lines.count,
                               sizeof(*lines.lines.items), page, diag);
    if (rc == 0)
        rc = page_host_ops(page, diag);
    if (rc == 0)
        rc = emit_roofline(page, &lines, diag);
    ops_lines_deinit(&lines);
    return rc;
}
