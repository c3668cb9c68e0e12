/* SPDX-License-Identifier: Apache-2.0 */
/* The report that MIGraphX's perf prints, from stored runs: each op in the order in which they run,
 * a summary by type, then whole runs and what they take beside their ops. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyze/metrics/summary.h"
#include "analyze/reports/report.h"
#include "base/text_buffer.h"

/* What the columns look at besides their line. */
struct context {
    const struct summary *summary;
};

static double share_of(const void *context, double ns)
{
    const struct summary *summary = ((const struct context *)context)->summary;

    return summary->instructions_ns > 0 ? ns / summary->instructions_ns : NAN;
}

/* --- Lines of ops. --- */

#define OP(function, cell) LINE_CELL(function, struct summary_op, cell)

OP(op_position, out_integer(OUT_INT, (int64_t)line->position))
OP(op_name, out_text(line->op->name))
OP(op_type, out_text(line->op->type))
OP(op_id, out_text(line->op->node_id))
OP(op_mean, out_number(OUT_NS, line->mean_ns))
OP(op_share, out_number(OUT_SHARE, share_of(context, line->part_ns)))
OP(op_min, out_number(OUT_NS, line->min_ns))
OP(op_max, out_number(OUT_NS, line->max_ns))
OP(op_calls, out_number(OUT_REAL, (double)line->calls / (double)line->run_count))
OP(op_runs, out_integer(OUT_INT, (int64_t)line->run_count))
OP(op_plain_mean, out_number(OUT_NS, line->plain_mean_ns))
OP(op_median, out_number(OUT_NS, line->median_ns))
OP(op_in_shapes, out_shapes(line->op->input_shapes, NULL))
OP(op_out_shapes, out_shapes(line->op->output_shapes, NULL))
OP(op_device, out_text(line->op->device))

static const struct line_column op_columns[] = {
    {LINE_COMPACT("position", "@"), .about = "place in the order in which the ops first start",
     .value = op_position},
    {LINE_TEXT("name", "operator", 40), .about = "name", .value = op_name},
    {LINE_TEXT("type", "type", 24), .about = "type", .value = op_type},
    {{.name = "id", .data_only = true},
     .also = {"node_id"},
     .about = "id in the model",
     .value = op_id},
    {LINE_COMPACT("mean_ns", "mean"), .also = {"time", "mean", "avg"},
     .about = "interquartile mean, over the runs in which it ran, of all its calls in a run",
     .value = op_mean},
    {LINE_COMPACT("share", "share"), .also = {"ratio"}, .about = "of the total instructions time",
     .value = op_share},
    {LINE_COMPACT("min_ns", "min"), .also = {"min"}, .about = "shortest time in a run",
     .value = op_min},
    {LINE_COMPACT("max_ns", "max"), .also = {"max"}, .about = "longest time in a run",
     .value = op_max},
    {LINE_COMPACT("calls_per_run", "calls"), .also = {"calls"},
     .about = "calls in a run in which it ran", .value = op_calls},
    {{.name = "run_count", .data_only = true},
     .also = {"runs"},
     .about = "runs in which it ran",
     .value = op_runs},
    {{.name = "plain_mean_ns", .data_only = true},
     .about = "mean without leaving anything out",
     .value = op_plain_mean},
    {{.name = "median_ns", .data_only = true},
     .also = {"median"},
     .about = "median",
     .value = op_median},
    {{.name = "in_shapes", .data_only = true},
     .about = "shapes of its inputs",
     .value = op_in_shapes},
    {LINE_TEXT("out_shapes", "output", 24), .about = "shapes of its outputs",
     .value = op_out_shapes},
    {{.name = "device", .data_only = true}, .about = "device", .value = op_device},
};

/* --- Lines of types. --- */

#define TYPE(function, cell) LINE_CELL(function, struct summary_type, cell)

TYPE(type_name, out_text(line->type))
TYPE(type_total, out_number(OUT_NS, line->total_ns))
TYPE(type_count, out_integer(OUT_INT, (int64_t)line->op_count))
TYPE(type_mean, out_number(OUT_NS, line->total_ns / (double)line->op_count))
TYPE(type_share, out_number(OUT_SHARE, share_of(context, line->total_ns)))
TYPE(type_calls, out_integer(OUT_INT, (int64_t)line->calls))

static const struct line_column type_columns[] = {
    {LINE_TEXT("type", "type", 60), .value = type_name},
    {LINE_COMPACT("total_ns", "total"), .value = type_total},
    {LINE_COMPACT("op_count", "/ operators"), .value = type_count},
    {LINE_COMPACT("mean_ns", "= mean"), .value = type_mean},
    {LINE_COMPACT("share", "share"), .value = type_share},
    {LINE_COMPACT("calls", "calls, all runs"), .value = type_calls},
};

static int emit_types(const struct report *report, const struct summary *summary, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "type", .values = {"total_ns"}, .color = "type"};
    static const struct out_section section = {.name = "types",
                                               .title = "Summary",
                                               .keep = "type total_ns share op_count mean_ns",
                                               .chart = &chart};
    const struct context context = {summary};
    const struct lines lines = {
        .columns = type_columns,
        .column_count = sizeof(type_columns) / sizeof(type_columns[0]),
        .items = summary->types.items,
        .count = summary->types.count,
        .item_bytes = sizeof(*summary->types.items),
        .context = &context,
        .order_by = "total_ns",
    };

    return lines_emit(report->out, &section, &lines, NULL, diag);
}

/* --- Whole runs. --- */

struct totals {
    const struct report *report;
    const struct summary *summary;
    const struct basis *basis;
    struct summary_runs runs;
    double batch; /* NaN: not known */
    double rate;  /* batches, or runs where their size is not known, per second */
    double overhead_ns;
};

static struct totals totals_of(const struct report *report, const struct summary *summary,
                               const struct basis *basis)
{
    struct totals totals = {
        .report = report,
        .summary = summary,
        .basis = basis,
        .runs = summary_of_runs(basis->run_ns, basis->run_ns_count),
        .batch = NAN,
        .overhead_ns = NAN,
    };

    if (report->options->batch != BATCH_OF_MODEL)
        totals.batch = (double)report->options->batch;
    else if (summary->batch != STORE_NULL)
        totals.batch = (double)summary->batch;
    totals.rate = 1e9 / totals.runs.total_ns * (isnan(totals.batch) ? 1 : totals.batch);
    if (basis->is_per_run)
        totals.overhead_ns = totals.runs.total_ns - summary->instructions_ns;
    return totals;
}

static void emit_runs(const struct totals *totals)
{
    static const struct out_section section = {
        .name = "total", .keep = "mean_ns median_ns p99_ns run_count", .title = "Total time"};
    static const struct out_column columns[] = {
        LINE_COMPACT("total_ns", "total"),
        LINE_COMPACT("min_ns", "min"),
        LINE_COMPACT("max_ns", "max"),
        LINE_COMPACT("mean_ns", "mean"),
        LINE_COMPACT("median_ns", "median"),
        LINE_COMPACT("p90_ns", "90%"),
        LINE_COMPACT("p95_ns", "95%"),
        LINE_COMPACT("p99_ns", "99%"),
        LINE_COMPACT("run_count", "runs"),
        {.name = "instructions_ns", .data_only = true},
        {.name = "launch_overhead_ns", .data_only = true},
        {.name = "overhead_ns", .data_only = true},
        {.name = "batch_size", .data_only = true},
        {.name = "rate_per_s", .data_only = true},
    };
    const struct summary_runs *runs = &totals->runs;

    out_table_begin(totals->report->out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    out_row(totals->report->out,
            (struct out_value[]){
                out_number(OUT_NS, runs->total_ns),
                out_number(OUT_NS, runs->min_ns),
                out_number(OUT_NS, runs->max_ns),
                out_number(OUT_NS, runs->mean_ns),
                out_number(OUT_NS, runs->median_ns),
                out_number(OUT_NS, runs->p90_ns),
                out_number(OUT_NS, runs->p95_ns),
                out_number(OUT_NS, runs->p99_ns),
                totals->basis->run_ns_count
                    ? out_integer(OUT_INT, (int64_t)totals->basis->run_ns_count)
                    : out_unknown(OUT_INT),
                out_number(OUT_NS, totals->summary->instructions_ns),
                out_number(OUT_NS, totals->summary->launch_ns),
                out_number(OUT_NS, totals->overhead_ns),
                out_number(OUT_REAL, totals->batch),
                out_number(OUT_REAL, totals->rate),
            });
    out_table_end(totals->report->out);
}

/* --- The lines below, in MIGraphX's order. --- */

static void print_value(struct text_buffer *text, enum out_kind kind, double value)
{
    struct out_value cell = out_number(kind, value);

    out_format_compact(text, &cell);
}

static void describe_batch(struct text_buffer *text, const struct totals *totals)
{
    if (totals->report->options->batch != BATCH_OF_MODEL)
        text_buffer_print(text, "%.0f, as --batch says", totals->batch);
    else if (!isnan(totals->batch))
        text_buffer_print(text, "%.0f, from the model's input of %s", totals->batch,
                          totals->summary->batch_op);
    else
        text_buffer_print(text, "not recorded; --batch N gives it");
}

static void describe_rate(struct text_buffer *text, const struct totals *totals)
{
    if (isnan(totals->rate))
        text_buffer_print(text, "not known: no run was recorded");
    else
        text_buffer_print(text, "%.6g %s/s", totals->rate,
                          isnan(totals->batch) ? "runs" : "inferences");
}

static void describe_launches(struct text_buffer *text, const struct totals *totals)
{
    const struct summary *summary = totals->summary;

    if (summary->side == OP_HOST) {
        text_buffer_print(text,
                          "not recorded: nothing was launched on a device, and a store has no "
                          "dry run");
        return;
    }
    if (isnan(summary->launch_ns)) {
        text_buffer_print(text, "not recorded: no host span is tied to device work");
        return;
    }
    print_value(text, OUT_NS, summary->launch_ns);
    if (!isnan(totals->overhead_ns)) {
        text_buffer_print(text, ", ");
        print_value(text, OUT_SHARE, summary->launch_ns / totals->runs.total_ns);
        text_buffer_print(text, " of the total time");
    }
}

static void describe_overhead(struct text_buffer *text, const struct totals *totals)
{
    if (isnan(totals->overhead_ns)) {
        text_buffer_print(text, "not known: %s",
                          totals->basis->run_ns_count ? "the operators' times are totals"
                                                      : "no run was recorded");
        return;
    }
    print_value(text, OUT_NS, totals->overhead_ns);
    text_buffer_print(text, ", ");
    print_value(text, OUT_SHARE, totals->overhead_ns / totals->runs.total_ns);
    text_buffer_print(text, " of the total time");
}

static void emit_totals(const struct totals *totals)
{
    static const struct out_section section = {.name = "totals"};
    enum { BATCH, RATE, INSTRUCTIONS, LAUNCHES, OVERHEAD, TEXTS };
    struct text_buffer texts[TEXTS] = {0};
    bool has_batch = !isnan(totals->batch);

    describe_batch(&texts[BATCH], totals);
    describe_rate(&texts[RATE], totals);
    print_value(&texts[INSTRUCTIONS], OUT_NS, totals->summary->instructions_ns);
    describe_launches(&texts[LAUNCHES], totals);
    describe_overhead(&texts[OVERHEAD], totals);
    out_facts(
        totals->report->out, &section,
        (struct out_fact[]){
            {NULL, "batch size", out_text(text_buffer_text(&texts[BATCH]))},
            {NULL, "rate", out_text(text_buffer_text(&texts[RATE]))},
            {NULL, "total instructions time", out_text(text_buffer_text(&texts[INSTRUCTIONS]))},
            {NULL, "overhead time: launches", out_text(text_buffer_text(&texts[LAUNCHES]))},
            {NULL, "overhead time: run - instructions",
             out_text(text_buffer_text(&texts[OVERHEAD]))},
            {"batch_from", NULL,
             out_text(totals->report->options->batch != BATCH_OF_MODEL ? "option"
                      : has_batch                                      ? "model input"
                                                                       : NULL)},
            {"rate_of", NULL, out_text(has_batch ? "inferences" : "runs")},
            {"side", NULL, out_text(totals->summary->side == OP_DEVICE ? "device" : "host")},
            {"not_run_count", NULL, out_integer(OUT_INT, (int64_t)totals->summary->not_run_count)},
        },
        9);
    for (size_t i = 0; i < TEXTS; i++)
        text_buffer_deinit(&texts[i]);
}

static void note_meaning(const struct report *report, const struct summary *summary,
                         const struct basis *basis, double overhead_ns)
{
    size_t in_some = 0;

    for (size_t i = 0; i < summary->ops.count; i++)
        in_some += summary->ops.items[i].run_count < summary->run_count;
    out_note(report->out, OUT_NOTE_PLAIN,
             "Times are %s times; %sshares are of the total instructions time, the sum of them "
             "all.",
             summary->side == OP_DEVICE ? "device" : "host",
             basis->is_per_run && summary->run_count > 3
                 ? "means leave out the lowest and the highest quarter of the runs; "
                 : "");
    if (!basis->is_per_run)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Runs are not told apart: an operator's mean is its total time.");
    if (in_some && basis->is_per_run)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%zu operator%s did not run in every run: means are over those in which they did, "
                 "and count in sums in that proportion.",
                 in_some, in_some == 1 ? "" : "s");
    if (summary->not_run_count)
        out_note(report->out, OUT_NOTE_PLAIN, "%zu operator%s of the model did not run.",
                 summary->not_run_count, summary->not_run_count == 1 ? "" : "s");
    if (overhead_ns < 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Run - instructions below 0 means that operators overlapped, or that measuring "
                 "them took time that is in none of them.");
}

/* --- The report. --- */

struct summing {
    struct summary_parts *parts;
    struct report_recording recording;
};

static int begin(void *user, const struct spans_answer *spans)
{
    struct summing *summing = user;
    int rc = summary_begin(spans, &summing->parts);

    return rc ? rc : report_recording_begin(&summing->recording, spans);
}

static int take(void *user, struct spans_answer *spans)
{
    struct summing *summing = user;

    report_recording_take(&summing->recording, spans);
    return summary_add(summing->parts, spans);
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    static const struct out_section section = {
        .name = "ops", .keep = "name mean_ns share calls_per_run type max_ns"};
    struct summing *summing = user;
    struct summary summary;
    const struct context context = {&summary};
    struct totals totals;
    int rc = summary_finish(summing->parts, spans, report->options->detailed, &summary);

    if (rc < 0)
        diag_set(diag, rc, "no memory for the table");
    if (rc == 0)
        rc = report_emit_lines(report, &section, summary.ops.items, summary.ops.count,
                               sizeof(*summary.ops.items), &context, diag);
    if (rc == 0)
        rc = emit_types(report, &summary, diag);
    if (rc == 0) {
        totals = totals_of(report, &summary, &spans->basis);
        emit_runs(&totals);
        emit_totals(&totals);
        note_meaning(report, &summary, &spans->basis, totals.overhead_ns);
        report_recording_emit(&summing->recording);
    }
    summary_deinit(&summary);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct summing summing = {.recording = {.report = report, .diag = diag}};
    const struct report_parts parts = {&summing, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    summary_parts_destroy(&summing.parts);
    report_recording_deinit(&summing.recording);
    return rc;
}

static double time_of(const void *line)
{
    return ((const struct summary_op *)line)->mean_ns;
}

static const char *const takes[] = {"batch", "detailed", NULL};

const struct report_kind report_summary = {
    .name = "summary",
    .about = "MIGraphX's perf report, from stored runs: each operator's interquartile mean in "
             "the order in which they run, sums by type, whole runs with percentiles, both "
             "overheads.",
    .run = run,
    .tables = (const char *const[]){"ops", "types", "total", NULL},
    .takes = takes,
    .lines = {.columns = op_columns,
              .column_count = sizeof(op_columns) / sizeof(op_columns[0]),
              .order_by = "+position",
              .time_ns = time_of},
    .explain = {.time = "mean_ns"},
};
