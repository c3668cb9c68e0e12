/* SPDX-License-Identifier: Apache-2.0 */
/* What to do: findings of the rules of metrics/advice.h, each with the command that shows why. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/ops_of_spans.h"
#include "analyze/reports/advice.h"
#include "analyze/reports/roofline_machine.h"

struct advice_line {
    const struct advice_finding *finding;
    struct text_buffer command;
};

#define CELL(name, value) LINE_CELL(name, struct advice_line, value)

CELL(rule_of, out_text(line->finding->rule))
CELL(share_of, out_number(OUT_SHARE, line->finding->share))
CELL(text_of, out_text(line->finding->text))
CELL(action_of, out_text(line->finding->action))
CELL(command_of, out_text(text_buffer_text(&line->command)))

static const struct line_column columns[] = {
    {{.name = "rule", .title = "rule", .wiki = "rule", .compact = true},
     {NULL},
     "its name",
     rule_of},
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
static void add_word(struct text_buffer *command, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";

    text_buffer_print(command, " ");
    if (*word && !word[strspn(word, plain)]) {
        text_buffer_print(command, "%s", word);
        return;
    }
    text_buffer_print(command, "'");
    for (; *word; word++) {
        if (*word == '\'')
            text_buffer_print(command, "'\\''");
        else
            text_buffer_add(command, word, 1);
    }
    text_buffer_print(command, "'");
}

static void add_option(struct text_buffer *command, const char *option, const char *value)
{
    if (!value)
        return;
    text_buffer_print(command, " --%s", option);
    add_word(command, value);
}

static void add_number(struct text_buffer *command, const char *option, double value)
{
    if (!isnan(value))
        text_buffer_print(command, " --%s %.9g", option, value);
}

/* The last session of a store may be another one tomorrow. */
static void add_sessions(const struct report *report, struct text_buffer *command)
{
    if (report->sessions->rows.count < 2)
        return;
    text_buffer_print(command, " --session ");
    for (size_t i = 0; i < report->session_count; i++)
        text_buffer_print(command, "%s%" PRId64, i ? "," : "", report->session_ids[i]);
}

/* Exactly this op: a pattern in which nothing but the name has a meaning. */
static void add_name(const char *name, struct text_buffer *command)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    struct text_buffer pattern = {0};

    if (name[strspn(name, word)] == '\0')
        text_buffer_print(&pattern, "%s$", name);
    else
        text_buffer_print(&pattern, "\\Q%s\\E$", name);
    add_option(command, "opr-name", text_buffer_text(&pattern));
    text_buffer_deinit(&pattern);
}

/* What was chosen, narrowed down to what the finding is about. */
static void add_filter(const struct report *report, const struct advice_finding *finding,
                       enum filter_id id, struct text_buffer *command)
{
    const char *const found[FILTERS] = {
        [FILTER_TYPE] = finding->type,
        [FILTER_OPR_NAME] = finding->op,
        [FILTER_DEVICE] = finding->device,
    };
    const struct option_list *given = &report->options->filters[id];

    if (id == FILTER_OPR_NAME && finding->op)
        add_name(finding->op, command);
    else if (found[id])
        add_option(command, filter_kinds[id].option, found[id]);
    for (size_t i = 0; i < report_filter_words(report->options, id) && !found[id]; i++)
        add_option(command, filter_kinds[id].option, given->items[i]);
}

static const struct report_kind *find_kind(const struct report *report, const char *name)
{
    size_t i = 0;

    while (strcmp(report->kinds[i]->name, name) != 0)
        i++;
    return report->kinds[i];
}

void report_advice_command(const struct report *report, const struct advice_finding *finding,
                           enum report_command_form form, struct text_buffer *command)
{
    const struct analyze_options *options = report->options;

    if (form == REPORT_COMMAND) {
        text_buffer_print(command, "profile_analyze");
        if (!report->source->is_default)
            add_word(command, report->source->name);
        text_buffer_print(command, " ");
    }
    text_buffer_print(command, "--report %s", finding->report);
    add_option(command, "order-by", finding->order_by);
    add_sessions(report, command);
    add_option(command, "runs", options->runs);
    add_option(command, "time", options->time);
    if (options->warmup)
        text_buffer_print(command, " --warmup");
    if (options->total && find_kind(report, finding->report)->values == REPORT_MEANS)
        text_buffer_print(command, " --total");
    for (enum filter_id id = 0; id < FILTERS; id++)
        add_filter(report, finding, id, command);
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
    rc = advice_measure_ops(ops, &machine.peaks,
                            machine.threads ? roofline_is_of_host : roofline_is_timed, facts);
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
        report_advice_command(report, lines[i].finding, REPORT_COMMAND, &lines[i].command);
        failed = lines[i].command.failed;
    }
    if (failed)
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    else
        rc =
            report_emit_lines(report, &section, lines, findings->count, sizeof(*lines), NULL, diag);
    for (size_t i = 0; i < findings->count && lines; i++)
        text_buffer_deinit(&lines[i].command);
    free(lines);
    return rc;
}

/* Programs get a table without lines. */
static void emit_nothing(const struct report *report)
{
    static const struct out_section section = {.name = "findings", .data_only = true};
    struct out_column heads[sizeof(columns) / sizeof(columns[0])];

    for (size_t i = 0; i < report->kind->lines.column_count; i++)
        heads[i] = columns[i].out;
    out_table_begin(report->out, &section, heads, report->kind->lines.column_count);
    out_table_end(report->out);
    out_note(report->out, OUT_NOTE_PLAIN, "None of the %zu rules found anything to advise.",
             advice_rule_count);
}

static int emit(const struct report *report, const struct report_advice *advice, struct diag *diag)
{
    const struct advice_findings *findings = &advice->findings;
    char wall[32];
    int rc = 0;

    if (findings->count)
        rc = emit_findings(report, findings, diag);
    else
        emit_nothing(report);
    if (rc == 0 && findings->count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%zu of %zu rules found something. Shares are of the wall time, %s, and do not "
                 "add up: one "
                 "moment may concern several rules.",
                 findings->count, advice_rule_count,
                 out_duration_text(wall, sizeof(wall), advice->facts.wall_ns));
    return rc;
}

/* Once spans are measured and ops summed up. */
static int conclude(const struct report *report, struct report_selection *selection,
                    struct report_advice *advice, struct ops_sums *sums, struct diag *diag)
{
    struct basis *basis = &advice->spans.basis;
    int rc = find_growth(report, selection, &advice->spans, &advice->facts, &advice->view, diag);

    if (rc < 0)
        return rc;
    basis->divisor = 1; /* all of the counted runs together */
    basis->is_per_run = false;
    if (ops_sums_finish(sums, &advice->spans, false, QUERY_MERGE_SESSIONS, &advice->ops) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the operators");
    rc = measure_ops(report, &advice->ops, &advice->facts, diag);
    if (rc == 0 && advice_find(&advice->facts, &advice->findings) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the findings");
    return rc;
}

/* --- Of spans in parts. --- */

struct measuring {
    bool wants_averages;
    struct advice_parts *parts;
    struct averages_parts *averages;
    struct ops_sums sums;
};

static int begin(void *user, const struct spans_answer *spans)
{
    static const struct averages_options options = {.by_shape = false};
    struct measuring *measuring = user;
    int rc = advice_begin(spans, &measuring->parts);

    if (rc == 0 && measuring->wants_averages)
        rc = averages_begin(&options, &measuring->averages);
    return rc ? rc : ops_sums_begin(spans, &measuring->sums);
}

static int take(void *user, struct spans_answer *spans)
{
    struct measuring *measuring = user;
    int rc = advice_add(measuring->parts, spans);

    if (rc == 0 && measuring->wants_averages)
        rc = averages_add(measuring->averages, spans);
    return rc ? rc : ops_sums_add(&measuring->sums, spans);
}

/* Fills {0} but for its input. Returns 0, REPORT_NOTHING when there is no event, or a negative errno
 * with a sentence; for report_advice_deinit() after any of them. */
static int find(const struct report *report, struct report_selection *selection,
                struct report_advice *advice, struct diag *diag)
{
    struct measuring measuring = {.wants_averages = advice->wants_averages,
                                  .sums = {.without_percentiles = true}};
    const struct report_parts parts = {&measuring, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_query_span_parts(report, selection, &parts, &advice->spans, diag);

    advice_facts_init(&advice->facts);
    if (rc == 0 && advice_finish(measuring.parts, &advice->spans, &advice->facts) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the events");
    if (rc == 0 && advice->wants_averages)
        averages_finish(measuring.averages, &advice->averages);
    if (rc == 0)
        rc = conclude(report, selection, advice, &measuring.sums, diag);
    advice_parts_destroy(&measuring.parts);
    averages_parts_destroy(&measuring.averages);
    ops_sums_deinit(&measuring.sums);
    return rc;
}

/* --- Of the last runs. --- */

static int compare_findings(const void *a, const void *b)
{
    const struct advice_finding *left = a, *right = b;
    double more = (isnan(right->share) ? 0 : right->share) - (isnan(left->share) ? 0 : left->share);

    if (more != 0)
        return more > 0 ? 1 : -1;
    return (left > right) - (left < right);
}

/* The last runs that hold at most so many events, as far as events are spread evenly. */
static int choose_last_runs(const struct counted_runs *counted, uint64_t event_count,
                            uint64_t events_max, struct run_key **out_keys, size_t *out_count)
{
    double each = (double)event_count / (double)counted->count;
    size_t count = each > 0 ? (size_t)((double)events_max / each) : 0;

    count = count ? count : 1;
    count = count < counted->count ? count : counted->count;
    *out_keys = malloc(count * sizeof(**out_keys));
    if (!*out_keys)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct counted_run *run = &counted->items[counted->count - count + i];

        (*out_keys)[i] = (struct run_key){run->session_id, run->run};
    }
    *out_count = count;
    return 0;
}

int report_advice_find_last(const struct report *report, struct report_selection *selection,
                            const struct counted_runs *counted, uint64_t event_count,
                            struct report_advice *advice, struct diag *diag)
{
    struct ops_question *question = &selection->question;
    const struct ops_question before = *question;
    struct advice_findings *findings = &advice->findings;
    const uint64_t events_max = advice->events_max ? advice->events_max : REPORT_ADVICE_EVENTS_MAX;
    struct run_key *keys = NULL;
    int rc;

    if (event_count > events_max && counted->count > 1) {
        advice->is_of_last_runs = true;
        if (choose_last_runs(counted, event_count, events_max, &keys, &question->chosen_run_count) <
            0)
            return diag_set(diag, -ENOMEM, "no memory for the runs");
        question->chosen_runs = keys;
        question->window = NULL;
    }
    rc = find(report, selection, advice, diag);
    *question = before;
    free(keys);
    if (findings->count)
        qsort(findings->items, findings->count, sizeof(*findings->items), compare_findings);
    return rc;
}

void report_advice_deinit(struct report_advice *advice)
{
    array_deinit(&advice->findings);
    averages_deinit(&advice->averages);
    memory_view_deinit(&advice->view);
    ops_answer_deinit(&advice->ops);
    spans_answer_deinit(&advice->spans);
}

/* --- The report. --- */

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct report_advice advice = {0};
    int rc = report_select(report, &selection, diag);

    if (rc == 0)
        rc = find(report, &selection, &advice, diag);
    if (rc == 0)
        rc = emit(report, &advice, diag);
    if (rc == 0)
        report_footer(report, &advice.ops.basis);
    report_advice_deinit(&advice);
    report_selection_deinit(&selection);
    return rc;
}

static const char *const takes[] = {"peak-flops", "peak-bandwidth", NULL};

const struct report_kind report_advice = {
    .name = "advice",
    .about = "What to do: findings of rules on copies, gaps, launches, operators, runs, memory and "
             "what is missing, by the share of wall time that each concerns.",
    .run = run,
    .tables = (const char *const[]){"findings", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .order_by = "share"},
    .explain =
        {.lacks =
             "not in it: finding, action, command; numbers has what they say. Where holds is NULL the\n"
             " * report knows more: runs-drift takes a rank test, below-roof the machine's peaks, "
             "which\n"
             " * --report roofline has"},
};
