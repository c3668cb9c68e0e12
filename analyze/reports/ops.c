/* SPDX-License-Identifier: Apache-2.0 */
/* The report that MegEngine's users know: totals, then operators sorted by a column. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/ops_view.h"
#include "analyze/reports/dropped.h"

enum {
    COLUMNS_MAX = 32,
    WRAP = 30, /* characters of a name before it goes on in the next line */
};

/* One line on its way to the output: the columns and what stands in them. */
struct cells {
    struct out_column columns[COLUMNS_MAX];
    struct out_value values[COLUMNS_MAX];
    size_t count;
};

static void add(struct cells *cells, struct out_column column, struct out_value value)
{
    cells->columns[cells->count] = column;
    cells->values[cells->count++] = value;
}

struct table {
    const struct report *report;
    const struct ops_answer *answer;
    const struct ops_lines *lines;
    struct ops_view_options view;
    bool has_devices; /* see has_devices() */
};

static bool is_reduced(const struct table *table)
{
    return table->view.grouping != OPS_EACH;
}

/* A running sum means something only where the lines are parts of the total. */
static bool adds_up(const struct table *table)
{
    return !is_reduced(table) || table->view.reduction == STATS_SUM;
}

static double share_of(const struct table *table, double ns)
{
    double total_ns = table->answer->basis.total_ns[table->view.side];

    return total_ns > 0 ? ns / total_ns : NAN;
}

static void add_times(struct cells *cells, const struct table *table, const struct ops_line *line,
                      size_t rank, double sum_ns)
{
    const char *title = table->view.side == OP_DEVICE ? "device self time" : "host self time";

    if (!adds_up(table))
        sum_ns = NAN;
    add(cells, (struct out_column){.name = "rank", .title = title, .wiki = "#"},
        out_integer(OUT_RANK, (int64_t)rank));
    add(cells, (struct out_column){.name = "time_ns", .wiki = "time"},
        out_number(OUT_NS, line->time_ns));
    add(cells, (struct out_column){.name = "share", .wiki = "ratio", .wiki_bar = "time bar"},
        out_number(OUT_SHARE, share_of(table, line->time_ns)));
    add(cells,
        (struct out_column){.name = "cumulative_ns", .title = "cumulative", .wiki = "cum-time"},
        out_number(OUT_NS, sum_ns));
    add(cells, (struct out_column){.name = "cumulative_share", .wiki = "cum-time ratio"},
        out_number(OUT_SHARE, share_of(table, sum_ns)));
}

/* Whether lines are of several devices, where one kernel is a line for each. */
static bool has_devices(const struct ops_lines *lines)
{
    const char *device = NULL;

    for (size_t i = 0; i < lines->lines.count; i++) {
        const struct op_row *op = lines->lines.items[i].op;

        if (!op || !op->device)
            continue;
        if (device && strcmp(device, op->device) != 0)
            return true;
        device = op->device;
    }
    return false;
}

static void add_names(struct cells *cells, const struct table *table, const struct ops_line *line)
{
    if (is_reduced(table)) {
        add(cells,
            (struct out_column){
                .name = "type", .title = "operator info", .wiki = "opr type", .wrap = WRAP},
            out_text(line->type));
        add(cells, (struct out_column){.name = "op_count", .wiki = "count"},
            out_integer(OUT_INT, (int64_t)line->op_count));
        add(cells, (struct out_column){.name = "id", .wiki = "opr id"}, out_unknown(OUT_TEXT));
        return;
    }
    add(cells,
        (struct out_column){
            .name = "name", .title = "operator info", .wiki = "opr name", .wrap = WRAP},
        out_text(line->op ? line->op->name : NULL));
    add(cells, (struct out_column){.name = "type", .wiki = "opr type", .wrap = WRAP},
        out_text(line->type));
    add(cells, (struct out_column){.name = "id", .wiki = "opr id", .wrap = WRAP},
        out_text(line->op ? line->op->node_id : NULL));
    if (!table->report->options->dump_only_opr)
        add(cells, (struct out_column){.name = "device", .data_only = !table->has_devices},
            out_text(line->op ? line->op->device : NULL));
}

static void add_costs(struct cells *cells, const struct table *table, const struct ops_line *line)
{
    add(cells,
        (struct out_column){
            .name = "computation_flop", .title = "computation", .wiki = "computation (MFLO)"},
        out_number(OUT_FLOP, line->computation_flop));
    if (is_reduced(table))
        add(cells, (struct out_column){.name = "computation_op_count"},
            out_part((int64_t)line->computation_count, (int64_t)line->op_count));
    add(cells,
        (struct out_column){
            .name = "flop_per_s", .title = "FLOPS", .wiki = "MFLOPS", .wiki_bar = "MFLOPS-bar"},
        out_number(OUT_FLOP_RATE, line->flop_rate));
    add(cells,
        (struct out_column){.name = "memory_bytes", .title = "memory", .wiki = "memory (MiB)"},
        out_number(OUT_BYTES, line->memory_bytes));
    if (is_reduced(table))
        add(cells, (struct out_column){.name = "memory_op_count"},
            out_part((int64_t)line->memory_count, (int64_t)line->op_count));
    add(cells,
        (struct out_column){.name = "bandwidth_bytes_per_s",
                            .title = "bandwidth",
                            .wiki = "bandwidth (MiB/s)",
                            .wiki_bar = "bandwidth bar"},
        out_number(OUT_BYTE_RATE, line->byte_rate));
}

static void add_shapes(struct cells *cells, const struct table *table, const struct ops_line *line)
{
    struct out_column in = {.name = "in_shapes", .title = "in_shapes", .wiki = "in_shapes"};
    struct out_column out = {.name = "out_shapes", .title = "out_shapes", .wiki = "out_shapes"};

    if (!line->op) {
        add(cells, in, out_unknown_as(OUT_SHAPES, "None"));
        add(cells, out, out_unknown_as(OUT_SHAPES, "None"));
        return;
    }
    add(cells, in, out_shapes(line->op->input_shapes, line->op->input_strides));
    add(cells, out, out_shapes(line->op->output_shapes, NULL));
}

/* How it was launched, or what else of it is constant: for people where lines differ in it. */
static void add_params(struct cells *cells, const struct table *table, const struct ops_line *line)
{
    const char *group_by = table->report->options->group_by;
    struct out_column params = {.name = "params", .title = "params", .wiki = "params"};

    if (is_reduced(table))
        return;
    if (!group_by || strcmp(group_by, "params") != 0)
        params = (struct out_column){.name = "params", .data_only = true};
    params.wrap = WRAP;
    add(cells, params, out_json_text(line->op ? line->op->params : NULL));
}

/* What programs may want besides. */
static void add_data(struct cells *cells, const struct table *table, const struct ops_line *line)
{
    static const char *const percentiles[] = {"call_p50_ns", "call_p90_ns", "call_p99_ns"};
    const struct op_row *op = line->op;

    add(cells, (struct out_column){.name = "end_ns", .data_only = true},
        out_number(OUT_NS, line->end_ns));
    add(cells, (struct out_column){.name = "kern_ns", .data_only = true},
        out_number(OUT_NS, line->kern_ns));
    add(cells, (struct out_column){.name = "exec_ns", .data_only = true},
        out_number(OUT_NS, line->exec_ns));
    add(cells, (struct out_column){.name = "call_min_ns", .data_only = true},
        out_number(OUT_NS, line->min_ns));
    for (size_t i = 0; i < 3; i++)
        add(cells, (struct out_column){.name = percentiles[i], .data_only = true},
            out_number(OUT_NS, line->percentile_ns[i]));
    add(cells, (struct out_column){.name = "call_max_ns", .data_only = true},
        out_number(OUT_NS, line->max_ns));
    if (is_reduced(table))
        return;
    add(cells, (struct out_column){.name = "in_dtypes", .data_only = true},
        out_json_text(op ? op->input_dtypes : NULL));
    add(cells, (struct out_column){.name = "out_dtypes", .data_only = true},
        out_json_text(op ? op->output_dtypes : NULL));
    add(cells, (struct out_column){.name = "in_strides", .data_only = true},
        out_json_text(op ? op->input_strides : NULL));
    add(cells, (struct out_column){.name = "origin", .data_only = true},
        out_json_text(op ? op->origin : NULL));
    add(cells, (struct out_column){.name = "source", .data_only = true},
        out_text(op ? op->source : NULL));
}

static struct cells cells_of(const struct table *table, const struct ops_line *line, size_t rank,
                             double sum_ns)
{
    /* MegEngine's profile has one call of each operator: nothing to tell. */
    struct out_column calls = {.name = "calls", .title = "calls", .wiki = "calls"};
    struct cells cells = {.count = 0};

    if (source_is_one_run(table->report->source)) {
        calls.data_only = true;
        calls.wiki = NULL;
    }
    if (table->report->options->dump_only_opr) {
        add_names(&cells, table, line);
        return cells;
    }
    add_times(&cells, table, line, rank, sum_ns);
    add_names(&cells, table, line);
    add(&cells, calls, out_integer(OUT_INT, (int64_t)line->calls));
    add_costs(&cells, table, line);
    add_shapes(&cells, table, line);
    add_params(&cells, table, line);
    add_data(&cells, table, line);
    return cells;
}

static void emit_table(const struct table *table)
{
    struct out *out = table->report->out;
    struct out_section section = {
        .name = table->view.side == OP_DEVICE ? "device" : "host",
        .style = table->report->options->dump_only_opr ? OUT_STYLE_LINES : OUT_STYLE_BOX,
        .keep = "time_ns type flop_per_s calls cumulative_ns computation_flop "
                "bandwidth_bytes_per_s memory_bytes",
        .sorted = table->report->options->order_by
                      ? lines_order_name(ops_columns, OPS_COLUMNS, table->view.order_by)
                      : NULL,
    };
    struct cells head = cells_of(table, &(struct ops_line){.type = ""}, 0, 0);
    double sum_ns = 0;

    out_table_begin(out, &section, head.columns, head.count);
    for (size_t i = 0; i < table->lines->lines.count; i++) {
        const struct ops_line *line = &table->lines->lines.items[i];
        struct cells cells;

        if (!isnan(line->time_ns))
            sum_ns += line->time_ns;
        cells = cells_of(table, line, i, sum_ns);
        out_row(out, cells.values);
    }
    out_table_end(out);
}

/* --- Totals. --- */

struct copies {
    size_t count;
    struct stats_reducer end, kern;
};

static void gather_copies(const struct ops_answer *answer, struct filter *filter,
                          enum ops_time time, struct copies *copies)
{
    for (size_t i = 0; i < answer->rows.count; i++) {
        const struct op_row *op = &answer->rows.items[i];
        const struct op_cost *cost = &op->cost[OP_DEVICE];

        if (!cost->calls || (strcmp(op->type, "Copy") != 0 && strcmp(op->type, "copy") != 0) ||
            !filter_passes(filter, op, ops_time_of(cost, time)))
            continue;
        copies->count++;
        stats_add(&copies->end, cost->end_ns);
        stats_add(&copies->kern, cost->kern_ns);
    }
}

static void format_copies(char *text, size_t bytes, const struct stats_reducer *times)
{
    if (!times->known_count)
        snprintf(text, bytes, "N/A (no operator of type Copy)");
    else
        snprintf(text, bytes, "tot=%.4f avg=%.4f", times->sum * 1e-9,
                 stats_reduced(times, STATS_MEAN) * 1e-9);
}

static void emit_summary(const struct report *report, const struct ops_answer *answer,
                         struct filter *filter, enum ops_time time)
{
    static const struct out_section section = {.name = "summary"};
    struct copies copies = {0};
    char copy_text[64], wait_text[64];
    struct out_fact facts[8] = {
        {"total_device_time_ns", "total device time",
         out_number(OUT_NS, answer->basis.total_ns[OP_DEVICE])},
        {"total_host_time_ns", "total host time",
         out_number(OUT_NS, answer->basis.total_ns[OP_HOST])},
    };
    size_t count = 2;

    if (report->options->copy_time) {
        gather_copies(answer, filter, time, &copies);
        format_copies(copy_text, sizeof(copy_text), &copies.end);
        format_copies(wait_text, sizeof(wait_text), &copies.kern);
        facts[count++] = (struct out_fact){"copy_time", "copy time", out_text(copy_text)};
        facts[count++] = (struct out_fact){"copy_wait_time", "copy wait time", out_text(wait_text)};
        facts[count++] =
            (struct out_fact){"copy_count", NULL, out_integer(OUT_INT, (int64_t)copies.count)};
        facts[count++] = (struct out_fact){
            "copy_time_ns", NULL, out_number(OUT_NS, stats_reduced(&copies.end, STATS_SUM))};
        facts[count++] = (struct out_fact){
            "copy_wait_time_ns", NULL, out_number(OUT_NS, stats_reduced(&copies.kern, STATS_SUM))};
    }
    out_facts(report->out, &section, facts, count);
}

/* --- The report. --- */

static void make_view(const struct report *report, struct ops_view_options *out_view)
{
    const struct analyze_options *options = report->options;

    *out_view = (struct ops_view_options){
        .time = (enum ops_time)options->top_end_key,
        .order_by = report_order_by(report),
        .top = report_top(report),
    };
    if (options->aggregate != CHOICE_NONE) {
        out_view->reduction = (enum stats_reduction)options->aggregate;
        out_view->grouping = options->aggregate_by == CHOICE_NONE ? OPS_ALL_IN_ONE : OPS_BY_TYPE;
    }
}

/* Why a table would be empty, in one sentence. */
static int explain_nothing(const struct table *table, struct diag *diag)
{
    const char *side = table->view.side == OP_DEVICE ? "device" : "host";

    if (table->answer->basis.event_count == 0 && query_has_dropped_events(&table->answer->basis))
        diag_set(diag, 0, "%s", REPORT_ALL_DROPPED);
    else if (table->answer->basis.event_count == 0 && table->answer->basis.outside_count)
        diag_set(diag, 0, "no event belongs to the runs that are asked for");
    else if (table->answer->basis.event_count == 0)
        diag_set(diag, 0, "there is no event in what is asked for");
    else if (table->lines->present == 0)
        diag_set(diag, 0, "no operator has a %s time in what is asked for", side);
    else
        diag_set(diag, 0, "none of the %zu operators with a %s time matches", table->lines->present,
                 side);
    return REPORT_NOTHING;
}

/* Parts and plain lines are for other programs: they come alone. */
static bool has_footer(const struct analyze_options *options)
{
    return !options->dump_only_opr && options->print_only == CHOICE_NONE;
}

static int emit_side(struct table *table, enum op_side side, struct filter *filter,
                     struct diag *diag)
{
    struct ops_lines lines;
    int rc;

    table->view.side = side;
    table->lines = &lines;
    rc = ops_view(table->answer, filter, &table->view, &lines);
    table->has_devices = has_devices(&lines);
    if (rc < 0)
        diag_set(diag, rc, "no memory for the table");
    else if (filter->gave_up)
        rc = filter_complain(filter, diag);
    else if (!lines.matched)
        rc = explain_nothing(table, diag);
    else
        emit_table(table);
    if (rc == 0 && lines.lines.count < lines.line_count && has_footer(table->report->options))
        out_note(table->report->out, OUT_NOTE_PLAIN,
                 "The %s table shows %zu of %zu lines; -t 0 shows all.",
                 side == OP_DEVICE ? "device" : "host", lines.lines.count, lines.line_count);
    ops_lines_deinit(&lines);
    return rc;
}

static int emit_parts(const struct report *report, const struct ops_answer *answer,
                      const struct ops_view_options *view, struct filter *filter, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    struct table table = {.report = report, .answer = answer, .view = *view};
    int only = options->print_only;
    bool has_device = ops_side(answer, filter) == OP_DEVICE;
    bool device = only == PRINT_DEVICE || (only == CHOICE_NONE && has_device);
    bool host = only == PRINT_HOST || (only == CHOICE_NONE && (options->show_host || !has_device));
    int rc = 0, host_rc;

    if (only == PRINT_SUMMARY || (only == CHOICE_NONE && !options->dump_only_opr))
        emit_summary(report, answer, filter, view->time);
    if (device)
        rc = emit_side(&table, OP_DEVICE, filter, diag);
    if (host && rc >= 0) {
        host_rc = emit_side(&table, OP_HOST, filter, diag);
        /* With both tables, one that has lines is an answer. */
        rc = host_rc < 0 || !device || rc == host_rc ? host_rc : 0;
    }
    if (!has_device && has_footer(options))
        out_note(report->out, OUT_NOTE_PLAIN,
                 isnan(answer->basis.total_ns[OP_DEVICE])
                     ? "No device time was recorded: the table shows host times."
                     : "What matches ran on the host alone: the table shows host times.");
    return rc;
}

/* What percentages are of, and which time is shown. */
static void note_denominators(const struct report *report, const struct ops_answer *answer)
{
    size_t count = 0, labels = 0;

    for (size_t i = 0; i < answer->rows.count; i++) {
        const struct op_row *row = &answer->rows.items[i];

        labels += row->is_label;
        count += !row->is_label && (row->cost[OP_HOST].calls || row->cost[OP_DEVICE].calls);
    }
    out_note(report->out, OUT_NOTE_PLAIN,
             "Percentages are of the total device or host time of %s%zu operator%s that ran%s.",
             count == 1 ? "the " : "all ", count, count == 1 ? "" : "s",
             report->options->top_end_key == OPS_TIME_END ? "" : ", taken from start to end");
    if (labels)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Labels show the whole time of their scopes and are in no total.");
    if (report->options->top_end_key == OPS_TIME_KERN)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "kern is the time from an operator's start to its first kernel: waiting and "
                 "preparation.");
}

/* --group-by. */
static int choose_lines(const char *group_by, enum query_merge *out_merge, struct diag *diag)
{
    bool by_params = group_by && strcmp(group_by, "params") == 0;

    if (group_by && !by_params && strcmp(group_by, "name") != 0)
        return diag_set(diag, -EINVAL, "--group-by \"%s\": ops go by name or params", group_by);
    *out_merge = by_params ? QUERY_MERGE_EQUAL : QUERY_MERGE_LAUNCHES;
    return 0;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct ops_view_options view;
    struct ops_answer answer = {0};
    int rc = report_select(report, &selection, diag);

    make_view(report, &view);
    selection.question.allows_rollups = !report->options->exact;
    selection.question.totals_from = report->options->exact ? 0 : REPORT_TOTALS_FROM;
    if (rc == 0)
        rc = choose_lines(report->options->group_by, &selection.question.merge, diag);
    if (rc == 0)
        rc = report_query_ops(report, &selection, &answer, diag);
    report->verdict->is_of_rollups = answer.basis.is_of_rollups;
    if (rc == 0)
        rc = emit_parts(report, &answer, &view, &selection.filter, diag);
    if (rc == 0 && has_footer(report->options)) {
        note_denominators(report, &answer);
        report_footer(report, &answer.basis);
    }
    ops_answer_deinit(&answer);
    report_selection_deinit(&selection);
    return rc;
}

static const char *const takes[] = {
    "min-time",      "max-time",     "top",       "order-by",   "top-end-key",
    "aggregate",     "aggregate-by", "show-host", "print-only", "copy-time",
    "dump-only-opr", "group-by",     "exact",     NULL,
};

const struct report_kind report_ops = {
    .name = "ops",
    .about = "MegEngine's table: where time and memory went, operator by operator.",
    .run = run,
    .tables = (const char *const[]){"device", "host", NULL},
    .takes = takes,
    .lines = {.columns = ops_columns,
              .column_count = OPS_COLUMNS,
              .top = 3,
              .order_by = "time_ns",
              .bounds_itself = true},
    .explain = {.time = "time_ns",
                .groups =
                    (const struct explain_group[]){{"name", "", ""}, {"params", "", ""}, {NULL}}},
};
