/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's key_averages().table(): operators of one name together, own and total times. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/averages.h"
#include "analyze/reports/report.h"

/* --- Columns: names, titles and order are PyTorch's. --- */

static double share_of(double ns, double total_ns)
{
    return total_ns > 0 ? ns / total_ns : NAN;
}

/* Self time without what recording took of it; where this is all, the clock did not see more. */
static double net_of(const struct average_line *line)
{
    double net_ns = line->self_cpu_ns - line->recording_ns;

    return net_ns < 0 ? 0 : net_ns;
}

/* Of modules it may not be known how often they were called. */
static double mean_of(const struct average_line *line, double ns)
{
    return line->calls ? ns / (double)line->calls : NAN;
}

#define ALL               ((const struct averages *)context)
#define CELL(name, value) LINE_CELL(name, struct average_line, value)

CELL(name_of, out_text(line->name))
CELL(self_cpu_share, out_number(OUT_SHARE, share_of(line->self_cpu_ns, ALL->self_cpu_ns)))
CELL(self_cpu, out_number(OUT_NS, line->self_cpu_ns))
CELL(self_net, out_number(OUT_NS, net_of(line)))
CELL(cpu_share, out_number(OUT_SHARE, share_of(line->cpu_ns, ALL->self_cpu_ns)))
CELL(cpu, out_number(OUT_NS, line->cpu_ns))
CELL(cpu_mean, out_number(OUT_NS, mean_of(line, line->cpu_ns)))
CELL(self_device, out_number(OUT_NS, line->self_device_ns))
CELL(self_device_share, out_number(OUT_SHARE, share_of(line->self_device_ns, ALL->self_device_ns)))
CELL(device, out_number(OUT_NS, line->device_ns))
CELL(device_mean, out_number(OUT_NS, mean_of(line, line->device_ns)))
CELL(cpu_memory, out_number(OUT_BYTES, line->cpu_bytes))
CELL(self_cpu_memory, out_number(OUT_BYTES, line->self_cpu_bytes))
CELL(device_memory, out_number(OUT_BYTES, line->device_bytes))
CELL(self_device_memory, out_number(OUT_BYTES, line->self_device_bytes))
CELL(calls, line->calls ? out_integer(OUT_INT, (int64_t)line->calls) : out_unknown(OUT_INT))
CELL(shapes, out_shapes(line->input_shapes, NULL))
CELL(source, out_list(line->stack))
CELL(flop, out_number(OUT_FLOP, line->computation_flop))
CELL(side, out_text(line->side == OP_DEVICE ? "device" : "host"))
CELL(is_label, out_integer(OUT_BOOL, line->is_label))

static const struct line_column columns[] = {
    {LINE_TEXT("name", "Name", 55), {NULL}, "name", name_of},
    {LINE_COMPACT("self_cpu_share", "Self CPU %"),
     {NULL},
     "of the sum of self_cpu_ns of all rows",
     self_cpu_share},
    {LINE_COMPACT("self_cpu_ns", "Self CPU"),
     {"self_cpu_time_total"},
     "host time without that of children; negative where these overlap",
     self_cpu},
    {LINE_COMPACT("self_cpu_net_ns", "Self net"),
     {NULL},
     "self_cpu_ns less what recording took of it, where that was measured",
     self_net},
    {LINE_COMPACT("cpu_share", "CPU total %"),
     {NULL},
     "cpu_ns, of the sum of self_cpu_ns too",
     cpu_share},
    {LINE_COMPACT("cpu_ns", "CPU total"), {"cpu_time_total"}, "host time", cpu},
    {LINE_COMPACT("cpu_mean_ns", "CPU time avg"), {"cpu_time"}, "host time of a call", cpu_mean},
    {LINE_COMPACT("self_device_ns", "Self device"),
     {"self_device_time_total", "self_cuda_time_total", "self_xpu_time_total",
      "self_privateuse1_time_total"},
     "durations of what it launched itself, or of a kernel",
     self_device},
    {LINE_COMPACT("self_device_share", "Self device %"),
     {NULL},
     "of the sum over what ran on devices",
     self_device_share},
    {LINE_COMPACT("device_ns", "Device total"),
     {"device_time_total", "cuda_time_total", "xpu_time_total", "privateuse1_time_total"},
     "the same with what its children launched",
     device},
    {LINE_COMPACT("device_mean_ns", "Device time avg"),
     {"device_time", "cuda_time", "xpu_time", "privateuse1_time"},
     "device_ns of a call",
     device_mean},
    {LINE_COMPACT("cpu_memory_bytes", "CPU Mem"),
     {"cpu_memory_usage"},
     "host memory taken less given back",
     cpu_memory},
    {LINE_COMPACT("self_cpu_memory_bytes", "Self CPU Mem"),
     {"self_cpu_memory_usage"},
     "the same without that of children",
     self_cpu_memory},
    {LINE_COMPACT("device_memory_bytes", "Device Mem"),
     {"device_memory_usage", "cuda_memory_usage", "xpu_memory_usage", "privateuse1_memory_usage"},
     "device memory taken less given back",
     device_memory},
    {LINE_COMPACT("self_device_memory_bytes", "Self device Mem"),
     {"self_device_memory_usage", "self_cuda_memory_usage", "self_xpu_memory_usage",
      "self_privateuse1_memory_usage"},
     "the same without that of children",
     self_device_memory},
    {LINE_COMPACT("calls", "# of Calls"), {"count"}, "calls", calls},
    {LINE_TEXT("input_shapes", "Input Shapes", 80), {NULL}, "with --group-by shape", shapes},
    {LINE_COMPACT("source", "Source Location"),
     {"stack"},
     "the nearest frames, with --group-by stack:N",
     source},
    {LINE_COMPACT("computation_flop", "Total FLOPs"), {"flops"}, "operations of all calls", flop},
    {{.name = "side", .data_only = true}, {NULL}, "host or device", side},
    {{.name = "is_label", .data_only = true}, {NULL}, "whether a person named it", is_label},
};

enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };

/* With CUDA, titles say so, as PyTorch's do. */
static const char *const cuda_titles[][2] = {
    {"Self device", "Self CUDA"},   {"Self device %", "Self CUDA %"},
    {"Device total", "CUDA total"}, {"Device time avg", "CUDA time avg"},
    {"Device Mem", "CUDA Mem"},     {"Self device Mem", "Self CUDA Mem"},
};

static bool has_cuda(const struct spans_answer *spans)
{
    for (size_t i = 0; i < spans->lanes.count; i++) {
        const char *device = spans->lanes.items[i].device;

        if (device && strncmp(device, "cuda", 4) == 0)
            return true;
    }
    return false;
}

static int emit_lines(const struct report *report, const struct spans_answer *spans,
                      const struct averages *averages, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"self_cpu_ns", "self_device_ns"}};
    static const struct out_section section = {
        .name = "averages",
        .keep = "name self_cpu_ns self_cpu_share self_device_ns cpu_ns calls",
        .chart = &chart};
    struct line_column titled[COLUMN_COUNT];
    struct report_kind kind = *report->kind;
    struct report with_titles = *report;

    memcpy(titled, columns, sizeof(titled));
    for (size_t i = 0; i < COLUMN_COUNT && has_cuda(spans); i++) {
        for (size_t k = 0; k < sizeof(cuda_titles) / sizeof(cuda_titles[0]); k++) {
            if (titled[i].out.title && strcmp(titled[i].out.title, cuda_titles[k][0]) == 0)
                titled[i].out.title = cuda_titles[k][1];
        }
    }
    kind.lines.columns = titled;
    if (averages->self_device_ns > averages->self_cpu_ns)
        kind.lines.order_by = averages->module_count ? "device_ns" : "self_device_ns";
    else if (averages->module_count)
        kind.lines.order_by = "cpu_ns";
    with_titles.kind = &kind;
    return report_emit_lines(&with_titles, &section, averages->lines.items, averages->lines.count,
                             sizeof(*averages->lines.items), averages, diag);
}

/* --- What stands below. --- */

static void emit_totals(const struct report *report, const struct averages *averages)
{
    static const struct out_section section = {.name = "totals", .data_only = true};
    char cpu[32], device[32];

    out_facts(report->out, &section,
              (struct out_fact[]){
                  {"self_cpu_ns", NULL, out_number(OUT_NS, averages->self_cpu_ns)},
                  {"self_device_ns", NULL, out_number(OUT_NS, averages->self_device_ns)},
              },
              2);
    if (!isnan(averages->self_cpu_ns))
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Self CPU time total: %s. Both CPU percentages are of it, so that those of CPU "
                 "total add up to more than 100%%.",
                 out_duration_text(cpu, sizeof(cpu), averages->self_cpu_ns));
    if (!isnan(averages->self_device_ns))
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Self device time total: %s, of which its percentages are. What an operator "
                 "launched counts for it and again in the row of the kernel.",
                 out_duration_text(device, sizeof(device), averages->self_device_ns));
    if (averages->module_count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "A module has what its operators took, in the backward pass, too; its total is "
                 "with the modules inside.");
    if (averages->negative_count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%" PRIu64 " spans end after the one around them, mostly by rounding, and count "
                 "in full beside what they overlap: self times become negative there.",
                 averages->negative_count);
    if (averages->unsized_count)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%" PRIu64
                 " memory events do not say how many bytes, or none that can be: they are "
                 "in no sum.",
                 averages->unsized_count);
}

/* --- The report. --- */

/* One of the words of --group-by, `length` bytes of `text`. */
static bool parse_group(const char *text, size_t length, struct averages_options *options)
{
    static const char stack[] = "stack:";
    size_t prefix = sizeof(stack) - 1;
    char *end;

    if (length == 4 && strncmp(text, "name", length) == 0)
        return true; /* always */
    if (length == 6 && strncmp(text, "module", length) == 0) {
        options->by_module = true;
        return true;
    }
    if (length == 5 && strncmp(text, "shape", length) == 0) {
        options->by_shape = true;
        return true;
    }
    if (length <= prefix || strncmp(text, stack, prefix) != 0)
        return false;
    options->frame_count = strtol(text + prefix, &end, 10);
    return end == text + length && options->frame_count > 0;
}

static int parse_groups(const char *text, struct averages_options *options, struct diag *diag)
{
    const char *at = text ? text : "name";

    do {
        size_t length = strcspn(at, ",");

        if (!parse_group(at, length, options))
            return diag_set(diag, -EINVAL,
                            "--group-by \"%s\": averages go by name, shape, stack:N, N frames, "
                            "or module",
                            text);
        at += length + (at[length] == ',');
    } while (*at);
    if (options->by_module && (options->by_shape || options->frame_count))
        return diag_set(diag, -EINVAL, "--group-by \"%s\": module goes alone", text);
    return 0;
}

static int explain_no_module(struct diag *diag)
{
    diag_set(diag, 0,
             "no op says which module it is of: record with with_stack=True, or TorchScript with "
             "with_modules=True");
    return REPORT_NOTHING;
}

struct averaging {
    const struct report *report;
    struct averages_options options;
    struct averages_parts *parts;
    struct recording_overhead costs;
    struct diag *diag;
};

static int begin(void *user, const struct spans_answer *spans)
{
    struct averaging *averaging = user;
    struct store *store = averaging->report->source->store;
    int rc;

    recording_overhead_deinit(&averaging->costs);
    rc = query_recording_overhead(store, spans, &averaging->costs, averaging->diag);
    if (rc == 0)
        rc = averages_begin(&averaging->options, &averaging->parts);
    return rc ? rc : query_memory(store, spans, averages_memory(averaging->parts), averaging->diag);
}

static int take(void *user, struct spans_answer *spans)
{
    return averages_add(((struct averaging *)user)->parts, spans);
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    struct averaging *averaging = user;
    struct averages averages;
    int rc = 0;

    averages_finish(averaging->parts, &averages);
    if (averaging->options.by_module && !averages.module_count)
        rc = explain_no_module(diag);
    if (rc == 0)
        rc = emit_lines(report, spans, &averages, diag);
    if (rc == 0) {
        emit_totals(report, &averages);
        spans->basis.clipped_count = 0; /* here they count in full, as was said */
    }
    averages_deinit(&averages);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct averaging averaging = {
        .report = report,
        .options = {.runs_only = report->options->runs != NULL},
        .diag = diag,
    };
    const struct report_parts parts = {&averaging, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = parse_groups(report->options->group_by, &averaging.options, diag);

    averaging.options.costs = &averaging.costs;
    if (rc == 0)
        rc = report_on_span_parts(report, &parts, emit, diag);
    averages_parts_destroy(&averaging.parts);
    recording_overhead_deinit(&averaging.costs);
    return rc;
}

static double time_ns(const void *item)
{
    const struct average_line *line = item;

    return isnan(line->cpu_ns) ? line->device_ns : line->cpu_ns;
}

static const char *const takes[] = {"group-by", "sort-by", "row-limit", NULL};

const struct report_kind report_averages = {
    .name = "averages",
    .about = "PyTorch's key_averages: own and total time on the host and the device, and memory, "
             "of what has the same name, shape, call stack or module.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"averages", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = COLUMN_COUNT,
              .top = 100,
              .order_by = "self_cpu_ns",
              .time_ns = time_ns},
    .explain =
        {.time = "sum(total_ns)",
         .groups =
             (const struct explain_group[]){
                 {"name", "", ""},
                 {"shape", ", input_shapes", ", input_shapes"},
                 {"stack",
                  ",\n       CASE WHEN params ->> '$.stack' <> '' THEN\n"
                  "           (SELECT json_group_array(value) FROM (SELECT value FROM json_each('[' ||\n"
                  "            replace(json_quote(nullif(params ->> '$.stack', '')), ';', '\",\"') ||\n"
                  "            ']') WHERE value <> '' AND NOT (instr(value, 'autograd/__init__') AND\n"
                  "                (instr(value, '_make_grads') OR instr(value, 'backward')))\n"
                  "             LIMIT %ld)) END AS source",
                  ", source"},
                 {"module", NULL, NULL},
                 {NULL, NULL, NULL},
             }},
};
