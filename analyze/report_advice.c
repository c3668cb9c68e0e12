/* SPDX-License-Identifier: Apache-2.0 */
/* What to do: findings of the rules of advice.h, each with the command that shows why. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/advice.h"
#include "analyze/memory_view.h"
#include "analyze/ops_of_spans.h"
#include "analyze/out_buffer.h"
#include "analyze/roofline_machine.h"

struct advice_line {
    const struct advice_finding *finding;
    struct out_buffer command;
};

#define CELL(name, value) LINE_CELL(name, struct advice_line, value)

CELL(rule_of, out_text(line->finding->rule))
CELL(share_of, out_number(OUT_SHARE, line->finding->share))
CELL(text_of, out_text(line->finding->text))
CELL(action_of, out_text(line->finding->action))
CELL(command_of, out_text(out_buffer_text(&line->command)))

static const struct line_column columns[] = {
    {{.name = "rule", .title = "rule", .wiki = "rule"}, {NULL}, "its name", rule_of},
    {{.name = "share", .title = "of wall", .wiki = "of wall", .compact = true},
     {"severity"},
     "of the wall time, what it concerns; unknown where it is no matter of time",
     share_of},
    {{.name = "finding", .title = "finding, what to do, what shows it", .wiki = "finding"},
     {NULL},
     "a sentence with its numbers",
     text_of},
    {{.name = "action", .wiki = "what to do"}, {NULL}, "what to do", action_of},
    {{.name = "command", .wiki = "what shows it"},
     {NULL},
     "the command that shows it, of the same selection",
     command_of},
};

/* --- Commands. --- */

/* A word of a shell: in single quotes where it needs any. */
static void add_word(struct out_buffer *command, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";

    out_buffer_print(command, " ");
    if (*word && !word[strspn(word, plain)]) {
        out_buffer_print(command, "%s", word);
        return;
    }
    out_buffer_print(command, "'");
    for (; *word; word++) {
        if (*word == '\'')
            out_buffer_print(command, "'\\''");
        else
            out_buffer_add(command, word, 1);
    }
    out_buffer_print(command, "'");
}

static void add_option(struct out_buffer *command, const char *option, const char *value)
{
    if (!value)
        return;
    out_buffer_print(command, " --%s", option);
    add_word(command, value);
}

static void add_number(struct out_buffer *command, const char *option, double value)
{
    if (!isnan(value))
        out_buffer_print(command, " --%s %.9g", option, value);
}

/* The last session of a store may be another one tomorrow. */
static void add_sessions(const struct report *report, struct out_buffer *command)
{
    if (report->sessions->rows.count < 2)
        return;
    out_buffer_print(command, " --session ");
    for (size_t i = 0; i < report->session_count; i++)
        out_buffer_print(command, "%s%" PRId64, i ? "," : "", report->session_ids[i]);
}

static void add_types(const struct report *report, const char *type, struct out_buffer *command)
{
    add_option(command, "type", type);
    for (size_t i = 0; i < report->options->types.count && !type; i++)
        add_option(command, "type", report->options->types.items[i]);
}

/* Exactly this op: a pattern in which nothing but the name has a meaning. */
static void add_name(const char *name, struct out_buffer *command)
{
    struct out_buffer pattern = {0};

    out_buffer_print(&pattern, "\\Q%s\\E$", name);
    add_option(command, "opr-name", out_buffer_text(&pattern));
    out_buffer_deinit(&pattern);
}

static const struct report_kind *find_kind(const char *name)
{
    size_t i = 0;

    while (strcmp(report_kinds[i]->name, name) != 0)
        i++;
    return report_kinds[i];
}

static void make_command(const struct report *report, const struct advice_finding *finding,
                         struct out_buffer *command)
{
    const struct analyze_options *options = report->options;

    out_buffer_print(command, "profile_analyze");
    add_word(command, report->source->name);
    out_buffer_print(command, " --report %s", finding->report);
    add_option(command, "order-by", finding->order_by);
    add_sessions(report, command);
    add_option(command, "runs", options->runs);
    add_option(command, "time", options->time);
    if (options->warmup)
        out_buffer_print(command, " --warmup");
    if (options->total && !find_kind(finding->report)->has_totals)
        out_buffer_print(command, " --total");
    add_types(report, finding->type, command);
    if (finding->op)
        add_name(finding->op, command);
    else
        add_option(command, "opr-name", options->opr_name);
    add_option(command, "label", options->label);
    add_option(command, "lane", options->lane);
    add_option(command, "device", finding->device ? finding->device : options->device);
    add_option(command, "input-dtype", options->input_dtype);
    if (strcmp(finding->report, "roofline") == 0) {
        add_number(command, "peak-flops", options->peak_flops);
        add_number(command, "peak-bandwidth", options->peak_bandwidth);
    }
}

/* --- Facts. --- */

static int find_growth(const struct report *report, struct report_selection *selection,
                       const struct spans_answer *spans, struct advice_facts *facts,
                       struct memory_view *view, struct diag *diag)
{
    struct memory_row_array rows;
    int rc = query_memory(report->source->store, spans, &rows, diag);
    bool is_there = rows.count > 0;

    array_deinit(&rows);
    if (rc < 0 || !is_there)
        return rc;
    rc = memory_view_init(view, report, selection, diag);
    for (size_t i = 0; i < view->blocks.pools.count && rc == 0; i++) {
        const struct slope *growth = &view->growth[i];

        if (!view->is_shown[i] || !(growth->low > 0) || growth->slope <= facts->growth.slope)
            continue;
        facts->growth = *growth;
        facts->memory_device = view->blocks.pools.items[i].device;
    }
    return rc < 0 ? rc : 0; /* no memory that matches is no fault */
}

/* Of the host, whose peaks are known. */
static double fastest(const struct ops_answer *ops)
{
    double most = NAN;

    for (size_t i = 0; i < ops->rows.count; i++) {
        const struct op_row *op = &ops->rows.items[i];
        const struct op_cost *cost =
            op->cost[OP_DEVICE].calls ? &op->cost[OP_DEVICE] : &op->cost[OP_HOST];
        double ns = isnan(cost->exec_ns) ? cost->end_ns : cost->exec_ns;

        if (cost->calls && ns > 0 && roofline_is_of_host(op))
            most = fmax(most, cost->computation_flop / ns * 1e9);
    }
    return most;
}

static int measure_ops(const struct report *report, const struct ops_answer *ops,
                       struct advice_facts *facts, struct diag *diag)
{
    struct roofline_machine machine;
    int rc = roofline_find_machine(report, fastest(ops), &machine, diag);

    if (rc < 0)
        return rc;
    rc = advice_measure_ops(ops, &machine.peaks, machine.threads ? roofline_is_of_host : NULL,
                            facts);
    return rc < 0 ? diag_set(diag, rc, "no memory for the operators") : 0;
}

/* --- Output. --- */

static int emit_findings(const struct report *report, const struct advice_findings *findings,
                         struct diag *diag)
{
    static const struct out_section section = {.name = "findings"};
    struct advice_line *lines = calloc(findings->count, sizeof(*lines));
    bool failed = !lines;
    int rc;

    for (size_t i = 0; i < findings->count && !failed; i++) {
        lines[i].finding = &findings->items[i];
        make_command(report, lines[i].finding, &lines[i].command);
        failed = lines[i].command.failed;
    }
    if (failed)
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    else
        rc =
            report_emit_lines(report, &section, lines, findings->count, sizeof(*lines), NULL, diag);
    for (size_t i = 0; i < findings->count && lines; i++)
        out_buffer_deinit(&lines[i].command);
    free(lines);
    return rc;
}

/* Programs get a table without lines. */
static void emit_nothing(const struct report *report)
{
    static const struct out_section section = {.name = "findings", .data_only = true};
    struct out_column heads[sizeof(columns) / sizeof(columns[0])];

    for (size_t i = 0; i < report->kind->column_count; i++)
        heads[i] = columns[i].out;
    out_table_begin(report->out, &section, heads, report->kind->column_count);
    out_table_end(report->out);
    out_note(report->out, OUT_NOTE_PLAIN, "None of the %zu rules found anything to advise.",
             advice_rule_count);
}

static int emit(const struct report *report, const struct advice_facts *facts, struct diag *diag)
{
    struct advice_findings findings = {0};
    char wall[32];
    int rc = advice_find(facts, &findings);

    if (rc < 0)
        diag_set(diag, rc, "no memory for the findings");
    else if (findings.count)
        rc = emit_findings(report, &findings, diag);
    else
        emit_nothing(report);
    if (rc == 0 && findings.count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%zu of %zu rules found something. Shares are of the wall time, %s, and do not "
                 "add up: one "
                 "moment may concern several rules.",
                 findings.count, advice_rule_count,
                 out_duration_text(wall, sizeof(wall), facts->wall_ns));
    array_deinit(&findings);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct spans_answer spans = {0};
    struct ops_answer ops = {0};
    struct memory_view view = {0};
    struct advice_facts facts;
    int rc = report_select(report, &selection, diag);

    advice_facts_init(&facts);
    if (rc == 0)
        rc = report_query_spans(report, &selection, &spans, diag);
    if (rc == 0)
        rc = find_growth(report, &selection, &spans, &facts, &view, diag);
    if (rc == 0 && advice_measure_spans(&spans, &facts) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the events");
    if (rc == 0) {
        spans.basis.divisor = 1; /* all of the counted runs together */
        spans.basis.is_per_run = false;
        ops_of_spans(&spans, false, &ops);
        rc = measure_ops(report, &ops, &facts, diag);
    }
    if (rc == 0)
        rc = emit(report, &facts, diag);
    if (rc == 0)
        report_footer(report, &ops.basis);
    memory_view_deinit(&view);
    ops_answer_deinit(&ops);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

static const char *const takes[] = {"peak-flops", "peak-bandwidth", NULL};

const struct report_kind report_advice = {
    .name = "advice",
    .about = "What to do: findings of rules on copies, gaps, launches, operators, runs, memory and "
             "what is missing, by the share of wall time that each concerns.",
    .run = run,
    .takes = takes,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .order_by = "share",
};
