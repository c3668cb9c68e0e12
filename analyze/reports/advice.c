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
                           const char *source, struct text_buffer *command)
{
    const struct analyze_options *options = report->options;

    text_buffer_print(command, "profile_analyze");
    if (source)
        text_buffer_print(command, " %s", source);
    else if (!report->source->is_default)
        add_word(command, report->source->name);
    text_buffer_print(command, " --report %s", finding->report);
    add_option(command, "order-by", finding->order_by);
    add_sessions(report, command);
    add_option(command, "runs", options->runs);
    add_option(command, "time", options->time);
    if (options->warmup)
        text_buffer_print(command, " --warmup");
    if (options->total && !find_kind(report, finding->report)->has_totals)
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
        report_advice_command(report, lines[i].finding, NULL, &lines[i].command);
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

    for (size_t i = 0; i < report->kind->column_count; i++)
        heads[i] = columns[i].out;
    out_table_begin(report->out, &section, heads, report->kind->column_count);
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

/* Of the spans before their ops are taken from them. */
static int make_averages(struct report_advice *advice, struct diag *diag)
{
    const struct averages_options options = {.by_shape = false};
    const struct memory_row_array memory = {0};

    if (!advice->wants_averages ||
        averages_make(&advice->spans, &memory, &options, &advice->averages) == 0)
        return 0;
    return diag_set(diag, -ENOMEM, "no memory for the operators");
}

int report_advice_find(const struct report *report, struct report_selection *selection,
                       struct report_advice *advice, struct diag *diag)
{
    int rc = report_query_spans(report, selection, &advice->spans, diag);

    advice_facts_init(&advice->facts);
    if (rc == 0)
        rc = find_growth(report, selection, &advice->spans, &advice->facts, &advice->view, diag);
    if (rc == 0 && advice_measure_spans(&advice->spans, &advice->facts) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the events");
    if (rc == 0)
        rc = make_averages(advice, diag);
    if (rc == 0) {
        advice->spans.basis.divisor = 1; /* all of the counted runs together */
        advice->spans.basis.is_per_run = false;
        rc = ops_of_spans(&advice->spans, false, QUERY_MERGE_SESSIONS, &advice->ops) < 0
                 ? diag_set(diag, -ENOMEM, "no memory for the operators")
                 : measure_ops(report, &advice->ops, &advice->facts, diag);
    }
    if (rc == 0 && advice_find(&advice->facts, &advice->findings) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the findings");
    return rc;
}

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
                            struct run_key **out_keys, size_t *out_count)
{
    double each = (double)event_count / (double)counted->count;
    size_t count = each > 0 ? (size_t)(REPORT_ADVICE_EVENTS_MAX / each) : 0;

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
    struct run_key *keys = NULL;
    int rc;

    if (event_count > REPORT_ADVICE_EVENTS_MAX && counted->count > 1) {
        advice->is_of_last_runs = true;
        if (choose_last_runs(counted, event_count, &keys, &question->chosen_run_count) < 0)
            return diag_set(diag, -ENOMEM, "no memory for the runs");
        question->chosen_runs = keys;
        question->window = NULL;
    }
    rc = report_advice_find(report, selection, advice, diag);
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

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct report_advice advice = {0};
    int rc = report_select(report, &selection, diag);

    if (rc == 0)
        rc = report_advice_find(report, &selection, &advice, diag);
    if (rc == 0)
        rc = emit(report, &advice, diag);
    if (rc == 0)
        report_footer(report, &advice.ops.basis);
    report_advice_deinit(&advice);
    report_selection_deinit(&selection);
    return rc;
}

static const char *const takes[] = {"peak-flops", "peak-bandwidth", NULL};

static const char explain_sql[] =
    "WITH sorted AS MATERIALIZED (\n"
    "    SELECT s.*, l.event_id AS launch_id, l.start_ns AS launch_from_ns, l.end_ns AS "
    "launch_until_ns,\n"
    "           l.name AS launch_name, s.event_id IN (SELECT event_id FROM counted_span) AS "
    "is_shown,\n"
    "           CASE WHEN s.type IN ('label', 'phase') THEN s.type\n"
    "                WHEN s.type IN ('mark', 'counter') THEN 'mark'\n"
    "                WHEN s.type IN ('copy', 'memset', 'Copy') OR s.type GLOB 'GpuMemcpy*' THEN "
    "'copy'\n"
    "                WHEN s.type IN ('cuda_runtime', 'cuda_driver', 'os_runtime') THEN 'call'\n"
    "                ELSE 'work' END AS sort,\n"
    "           (s.type GLOB '*_runtime' AND s.type <> 'os_runtime') OR s.type GLOB '*_driver'\n"
    "           OR s.type = 'python_function' AS is_aside,\n"
    "           lower(s.type) NOT IN ('copy', 'memset')\n"
    "           AND lower(substr(s.name, 1, 4)) NOT IN ('nccl', 'rccl', 'hccl', 'xccl') AS "
    "computes,\n"
    "           s.name || ' ' || s.type NOT GLOB '*DtoD*' AND s.name || ' ' || s.type NOT GLOB "
    "'*PtoP*'\n"
    "           AND s.name || ' ' || s.type NOT GLOB '*GPU->GPU*'\n"
    "           AND CASE WHEN s.name || ' ' || s.type GLOB '*Async*' THEN s.name GLOB "
    "'*Pageable*'\n"
    "                    WHEN s.name || ' ' || s.type GLOB '*Sync*' THEN 1\n"
    "                    WHEN l.name GLOB '*emcpy*' OR l.name GLOB '*emset*'\n"
    "                    THEN l.name NOT GLOB '*Async*' OR s.name GLOB '*Pageable*' ELSE 0 END\n"
    "           AS blocks_host,\n"
    "           s.session_id IN (SELECT session_id FROM session WHERE source = 'megengine') AS "
    "is_flat\n"
    "      FROM every_span s LEFT JOIN launching l ON s.side = 'device' AND l.session_id = "
    "s.session_id\n"
    "           AND l.run IS s.run AND l.correlation = s.correlation),\n"
    "span AS MATERIALIZED (\n"
    "    SELECT *, max(sort = 'work' AND side = 'device' AND is_shown) OVER (PARTITION BY "
    "session_id)\n"
    "              AS has_device_work,\n"
    "           coalesce(lead(end_ns) OVER (PARTITION BY lane_id, sort IN ('label', 'mark')\n"
    "                                       ORDER BY start_ns, end_ns DESC, event_id DESC) <= "
    "end_ns, 0)\n"
    "           AS has_inner FROM sorted),\n"
    "bounds AS MATERIALIZED (\n"
    "    SELECT session_id, start_ns AS from_ns, end_ns AS until_ns\n"
    "      FROM (SELECT * FROM counted_run{runs_in_time}) WHERE end_ns IS NOT NULL AND {per_run}\n"
    "    UNION ALL\n"
    "    SELECT session_id, min(start_ns), max(end_ns) FROM span\n"
    "     WHERE sort <> 'mark' AND (NOT {per_run} OR is_flat) GROUP BY session_id),\n"
    "/* What went on when: starts and ends in order, and how many of each kind are open between "
    "two. */\n"
    "happened AS (\n"
    "    SELECT session_id, 'all' AS area, start_ns, end_ns, 0 AS wall, sort <> 'label' AS "
    "recorded,\n"
    "           sort = 'copy' AS copying, 0 AS gap, CASE WHEN sort = 'phase'\n"
    "                THEN name = 'compute' OR name GLOB '*[ /:]compute'\n"
    "                WHEN sort = 'work' THEN side = 'device' OR NOT (has_device_work OR "
    "has_inner)\n"
    "                ELSE 0 END AS computing, coalesce(kern_ns, 0) AS kern_ns\n"
    "      FROM span WHERE is_shown AND sort <> 'mark' AND NOT (sort = 'phase' AND side = "
    "'device')\n"
    "       AND NOT (is_flat AND has_device_work AND side = 'host')\n"
    "    UNION ALL SELECT session_id, 'all', from_ns, until_ns, 1, 0, 0, 0, 0, 0 FROM bounds\n"
    "    UNION ALL\n"
    "    SELECT session_id, coalesce(device, 'queue'), start_ns, end_ns, 0, 1, 0, 0, 0, 0 FROM "
    "span\n"
    "     WHERE side = 'device' AND sort IN ('work', 'copy', 'call')\n"
    "    UNION ALL\n"
    "    SELECT b.session_id, d.device, from_ns, until_ns, 1, 0, 0, 0, 0, 0 FROM bounds b\n"
    "      JOIN (SELECT DISTINCT session_id, coalesce(device, 'queue') AS device FROM span\n"
    "             WHERE side = 'device') d USING (session_id)\n"
    "    UNION ALL /* gaps of a stream whose next work was launched later */\n"
    "    SELECT session_id, coalesce(device, 'queue'), idle_from_ns, start_ns, 0, 0, 0, 1, 0, 0\n"
    "      FROM (SELECT *, max(end_ns) OVER (PARTITION BY lane_id\n"
    "                          ORDER BY start_ns, end_ns DESC, event_id DESC\n"
    "                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from_ns,\n"
    "                   max(is_shown) OVER (PARTITION BY lane_id) AS is_lane_shown\n"
    "              FROM span WHERE side = 'device' AND sort IN ('work', 'copy', 'call'))\n"
    "     WHERE is_lane_shown AND NOT is_flat AND start_ns > idle_from_ns\n"
    "       AND launch_from_ns > idle_from_ns\n"
    "    UNION ALL /* each for itself */\n"
    "    SELECT 0, 'blocking', start_ns, end_ns, 0, 1, 0, 0, 0, 0 FROM span\n"
    "     WHERE is_shown AND side = 'device' AND lower(type) = 'copy' AND blocks_host\n"
    "    UNION ALL\n"
    "    SELECT 0, 'small', start_ns, end_ns, 0, 1, 0, 0, 0, 0 FROM span\n"
    "     WHERE is_shown AND side = 'device' AND lower(type) = 'copy' AND bytes < 65536\n"
    "    UNION ALL\n"
    "    SELECT 0, 'launching', start_ns, end_ns, 0, 1, 0, 0, 0, 0 FROM span\n"
    "     WHERE event_id IN (SELECT launch_id FROM span WHERE is_shown AND computes)),\n"
    "moment AS (\n"
    "    SELECT session_id, area, start_ns AS time_ns, wall, recorded, copying, gap, 0 AS "
    "computing\n"
    "      FROM happened\n"
    "    UNION ALL SELECT session_id, area, end_ns, -wall, -recorded, -copying, -gap, 0 FROM "
    "happened\n"
    "    UNION ALL SELECT session_id, area, start_ns + kern_ns, 0, 0, 0, 0, 1 FROM happened\n"
    "               WHERE computing\n"
    "    UNION ALL SELECT session_id, area, end_ns, 0, 0, 0, 0, -1 FROM happened WHERE "
    "computing),\n"
    "state AS (\n"
    "    SELECT session_id, area, lead(time_ns) OVER o - time_ns AS ns, sum(wall) OVER o AS wall,\n"
    "           sum(recorded) OVER o AS recorded, sum(copying) OVER o AS copying,\n"
    "           sum(gap) OVER o AS gap, sum(computing) OVER o AS computing FROM moment\n"
    "    WINDOW o AS (PARTITION BY session_id, area ORDER BY time_ns ROWS UNBOUNDED PRECEDING)),\n"
    "measured AS MATERIALIZED (\n"
    "    SELECT session_id, area, coalesce(sum(ns) FILTER (WHERE wall > 0), 0) AS wall_ns,\n"
    "           coalesce(sum(ns) FILTER (WHERE wall > 0 AND recorded > 0), 0) AS recorded_ns,\n"
    "           coalesce(sum(ns) FILTER (WHERE wall > 0 AND copying > 0 AND computing = 0), 0)\n"
    "           AS copying_ns,\n"
    "           coalesce(sum(ns) FILTER (WHERE wall > 0 AND gap > 0 AND recorded = 0), 0) AS "
    "idle_ns,\n"
    "           coalesce(sum(ns) FILTER (WHERE recorded > 0), 0) AS union_ns\n"
    "      FROM state GROUP BY session_id, area),\n"
    "whole AS MATERIALIZED (\n"
    "    SELECT sum(wall_ns) FILTER (WHERE area = 'all') AS wall_ns,\n"
    "           sum(recorded_ns) FILTER (WHERE area = 'all') AS recorded_ns,\n"
    "           sum(copying_ns) FILTER (WHERE area = 'all') AS copying_ns,\n"
    "           max(idle_ns) FILTER (WHERE area NOT IN ('all', 'blocking', 'small', 'launching'))\n"
    "           AS idle_ns, coalesce(sum(union_ns) FILTER (WHERE area = 'blocking'), 0) AS "
    "blocking_ns,\n"
    "           coalesce(sum(union_ns) FILTER (WHERE area = 'small'), 0) AS small_ns,\n"
    "           coalesce(sum(union_ns) FILTER (WHERE area = 'launching'), 0) AS launch_ns\n"
    "      FROM measured),\n"
    "launch AS (\n"
    "    SELECT avg(call_ns) FILTER (WHERE by_call IN ((n + 1) / 2, (n + 2) / 2)) AS call_ns,\n"
    "           avg(work_ns) FILTER (WHERE by_work IN ((n + 1) / 2, (n + 2) / 2)) AS work_ns,\n"
    "           count(*) AS launches FROM (\n"
    "           SELECT *, row_number() OVER (ORDER BY call_ns) AS by_call,\n"
    "                  row_number() OVER (ORDER BY work_ns) AS by_work, count(*) OVER () AS n FROM "
    "(\n"
    "                  SELECT max(launch_until_ns - launch_from_ns) AS call_ns, sum(dur_ns) AS "
    "work_ns\n"
    "                    FROM span WHERE launch_id IS NOT NULL AND is_shown AND computes\n"
    "                   GROUP BY launch_id HAVING sum(dur_ns) > 0))),\n"
    "/* Ops on devices, where any computes there. */\n"
    "own AS MATERIALIZED (\n"
    "    SELECT name, type, side, own_ns, type NOT IN ('', 'cpu_op', 'kernel', 'copy', 'memset',\n"
    "               'cuda_runtime', 'cuda_driver', 'os_runtime') AS has_type,\n"
    "           type NOT IN ('copy', 'memset', 'Copy') AND type NOT GLOB 'GpuMemcpy*' AS is_work,\n"
    "           type IN ('Reorder', 'Transpose', 'ReorderInput', 'ReorderOutput')\n"
    "           OR name GLOB '*nchwToNhwc*' OR name GLOB '*nhwcToNchw*' AS is_layout,\n"
    "           computation_flop, memory_bytes,\n"
    "           (type GLOB '*_runtime' AND type <> 'os_runtime') OR type GLOB '*_driver' AS "
    "is_call,\n"
    "           max(side = 'device' AND type NOT IN ('copy', 'memset', 'Copy')\n"
    "               AND type NOT GLOB 'GpuMemcpy*') OVER () AS on_device\n"
    "      FROM self_time WHERE type NOT IN ('label', 'cuda_runtime', 'cuda_driver', 'os_runtime',\n"
    "                                       'python_function')),\n"
    "op_sums AS (\n"
    "    SELECT sum(own_ns) AS own_ns,\n"
    "           coalesce(sum(own_ns) FILTER (WHERE is_layout), 0) AS layout_ns,\n"
    "           count(*) FILTER (WHERE is_work AND NOT is_call) AS calls,\n"
    "           count(*) FILTER (WHERE is_work AND NOT is_call AND own_ns < 5000) AS tiny,\n"
    "           coalesce(sum(own_ns) FILTER (WHERE is_work AND NOT is_call AND own_ns < 5000), 0)\n"
    "           AS tiny_ns, count(DISTINCT type) FILTER (WHERE has_type) AS types,\n"
    "           sum(computation_flop) AS flop, sum(memory_bytes) AS bytes\n"
    "      FROM own WHERE (side = 'device') = on_device),\n"
    "op_tops AS (\n"
    "    SELECT (SELECT max(ns) FROM (SELECT sum(own_ns) AS ns FROM own\n"
    "                                  WHERE is_work AND (side = 'device') = on_device GROUP BY "
    "name))\n"
    "           AS op_ns,\n"
    "           (SELECT max(ns) FROM (SELECT sum(own_ns) AS ns FROM own\n"
    "                                  WHERE has_type AND (side = 'device') = on_device GROUP BY "
    "type))\n"
    "           AS type_ns),\n"
    "/* Runs in their order; a slow first one is told of once. */\n"
    "ran AS (\n"
    "    SELECT session_id, run, end_ns - start_ns AS ns,\n"
    "           row_number() OVER (PARTITION BY session_id ORDER BY run) AS nth,\n"
    "           count(*) OVER (PARTITION BY session_id) AS n\n"
    "      FROM (SELECT * FROM counted_run{runs_in_time}) WHERE end_ns IS NOT NULL),\n"
    "later AS (\n"
    "    SELECT session_id, avg(ns) FILTER (WHERE place IN (n / 2, (n + 1) / 2)) AS median_ns\n"
    "      FROM (SELECT *, row_number() OVER (PARTITION BY session_id ORDER BY ns) AS place FROM "
    "ran\n"
    "             WHERE nth > 1) WHERE n > 3 GROUP BY session_id),\n"
    "first_run AS (\n"
    "    SELECT r.session_id, r.ns AS first_ns, median_ns, n - 1 AS later_runs\n"
    "      FROM ran r JOIN later USING (session_id)\n"
    "     WHERE nth = 1 AND run = 1 AND ns >= 1.5 * median_ns),\n"
    "steady AS (\n"
    "    SELECT session_id, ns, row_number() OVER (PARTITION BY session_id ORDER BY run) AS nth,\n"
    "           row_number() OVER (PARTITION BY session_id ORDER BY ns) AS place,\n"
    "           count(*) OVER (PARTITION BY session_id) AS n, avg(ns) OVER (PARTITION BY "
    "session_id)\n"
    "           AS mean_ns FROM ran\n"
    "     WHERE nth > 1 OR session_id NOT IN (SELECT session_id FROM first_run)),\n"
    "halves AS (\n"
    "    SELECT *, row_number() OVER (PARTITION BY session_id, nth <= n / 2 ORDER BY ns) AS "
    "half_place,\n"
    "           row_number() OVER (PARTITION BY session_id, nth > n - n / 2 ORDER BY ns) AS "
    "end_place,\n"
    "           n / 2 AS early_n, n - n / 2 AS late_n FROM steady),\n"
    "middle AS (\n"
    "    SELECT session_id, n, mean_ns, sum((ns - mean_ns) * (ns - mean_ns)) / (n - 1) AS "
    "variance,\n"
    "           avg(ns) FILTER (WHERE place IN ((n + 1) / 2, (n + 2) / 2)) AS median_ns,\n"
    "           avg(ns) FILTER (WHERE nth <= n / 2 AND half_place IN ((early_n + 1) / 2,\n"
    "                                                                 (early_n + 2) / 2)) AS "
    "early_ns,\n"
    "           avg(ns) FILTER (WHERE nth > n / 2 AND half_place IN ((late_n + 1) / 2,\n"
    "                                                                (late_n + 2) / 2)) AS "
    "late_ns,\n"
    "           avg(ns) FILTER (WHERE nth > n - n / 2 AND end_place IN ((early_n + 1) / 2,\n"
    "                                                                   (early_n + 2) / 2)) AS "
    "last_ns\n"
    "      FROM halves GROUP BY session_id HAVING n > 1),\n"
    "varied AS (\n"
    "    SELECT *, sqrt(variance) / mean_ns AS variation,\n"
    "           (SELECT sum(max(0, ns - median_ns)) FROM steady s WHERE s.session_id = "
    "m.session_id)\n"
    "           AS excess_ns,\n"
    "           (SELECT sum(max(0, ns - min(early_ns, late_ns))) FROM steady s\n"
    "             WHERE s.session_id = m.session_id) AS drift_ns\n"
    "      FROM middle m ORDER BY variance / (mean_ns * mean_ns) DESC LIMIT 1),\n"
    "/* Bytes alive at the ends of all runs, whatever time is asked for, the slopes of all pairs "
    "of\n"
    " * them, and their lower bound. */\n"
    "moved AS (\n"
    "    SELECT l.session_id, coalesce(l.device, 'host') AS device, m.bytes, m.time_ns, m.rowid AS "
    "id,\n"
    "           coalesce(m.address, 'size ' || abs(m.bytes)) AS place\n"
    "      FROM memory_event m JOIN lane l USING (lane_id) WHERE l.session_id IN ({sessions})),\n"
    "changed AS MATERIALIZED (\n"
    "    SELECT session_id, device, time_ns, CASE WHEN bytes > 0 THEN bytes\n"
    "                WHEN before > 0 THEN -before ELSE coalesce(bytes, 0) END AS bytes\n"
    "      FROM (SELECT *, lag(bytes) OVER (PARTITION BY session_id, device, place\n"
    "                                       ORDER BY time_ns, id) AS before FROM moved)),\n"
    "alive AS MATERIALIZED (\n"
    "    SELECT r.session_id, device, r.nth AS x, sum(bytes) FILTER (WHERE time_ns <= end_ns) AS "
    "bytes\n"
    "      FROM (SELECT session_id, end_ns, row_number() OVER (PARTITION BY session_id ORDER BY "
    "run)\n"
    "                   AS nth, count(*) OVER (PARTITION BY session_id) AS n\n"
    "              FROM counted_run\n"
    "             WHERE end_ns IS NOT NULL) r JOIN changed USING (session_id)\n"
    "     WHERE (nth - 1) % ((n + 499) / 500) = 0 GROUP BY r.session_id, device, r.nth),\n"
    "slope AS (\n"
    "    SELECT a.session_id, a.device, (b.bytes - a.bytes) * 1.0 / (b.x - a.x) AS slope\n"
    "      FROM alive a JOIN alive b USING (session_id, device) WHERE b.x > a.x),\n"
    "growth AS (\n"
    "    SELECT avg(slope) FILTER (WHERE place IN ((pairs + 1) / 2, (pairs + 2) / 2)) AS slope,\n"
    "           max(slope) FILTER (WHERE place = 1 + CAST(max(0, floor(\n"
    "               pairs / 2.0 - 1 - 0.979982 * sqrt(n * (n - 1) * (2 * n + 5) / 18.0))) AS "
    "INTEGER))\n"
    "           AS low FROM (\n"
    "           SELECT *, row_number() OVER (PARTITION BY session_id, device ORDER BY slope) AS "
    "place,\n"
    "                  count(*) OVER (PARTITION BY session_id, device) AS pairs,\n"
    "                  (1 + sqrt(1 + 8 * count(*) OVER (PARTITION BY session_id, device))) / 2 AS "
    "n\n"
    "             FROM slope) GROUP BY session_id, device HAVING max(n) > 7.5 AND low > 0\n"
    "     ORDER BY 1 DESC LIMIT 1),\n"
    "fact(rule, ns, holds, numbers) AS (\n"
    "    SELECT 'copies-block', blocking_ns, count(*) > 0 AND blocking_ns >= 0.01 * wall_ns,\n"
    "           json_object('copies', count(*)) FROM span, whole\n"
    "     WHERE is_shown AND side = 'device' AND lower(type) = 'copy' AND blocks_host\n"
    "    UNION ALL SELECT 'copies-dominate', copying_ns, copying_ns > 0.1 * wall_ns, NULL FROM "
    "whole\n"
    "    UNION ALL\n"
    "    SELECT 'copies-small', small_ns, sum(bytes < 65536) >= 100\n"
    "           AND sum(bytes < 65536) * 2 > count(bytes),\n"
    "           json_object('small', sum(bytes < 65536), 'copies', count(bytes)) FROM span, whole\n"
    "     WHERE is_shown AND side = 'device' AND lower(type) = 'copy'\n"
    "    UNION ALL SELECT 'device-idle', idle_ns, idle_ns > 0.1 * wall_ns, NULL FROM whole\n"
    "    UNION ALL\n"
    "    SELECT 'launch-bound', launch_ns, launches >= 20 AND work_ns < call_ns,\n"
    "           json_object('launches', launches, 'call_p50_ns', call_ns, 'work_p50_ns', work_ns)\n"
    "      FROM launch, whole\n"
    "    UNION ALL\n"
    "    SELECT 'one-dominates', CASE WHEN op_ns > 0.5 * own_ns THEN op_ns ELSE type_ns END,\n"
    "           op_ns > 0.5 * own_ns OR (types > 1 AND type_ns > 0.5 * own_ns),\n"
    "           json_object('op_ns', op_ns, 'type_ns', type_ns, 'own_ns', own_ns)\n"
    "      FROM op_sums, op_tops\n"
    "    UNION ALL SELECT 'below-roof', NULL, NULL, json_object('flop', flop, 'bytes', bytes,\n"
    "                                                           'own_ns', own_ns) FROM op_sums\n"
    "    UNION ALL SELECT 'layout-changes', layout_ns, layout_ns > 0.1 * own_ns,\n"
    "                     json_object('own_ns', own_ns) FROM op_sums\n"
    "    UNION ALL SELECT 'tiny-ops', tiny_ns, calls >= 100 AND tiny * 2 > calls,\n"
    "                     json_object('calls', calls, 'tiny', tiny) FROM op_sums\n"
    "    UNION ALL SELECT 'warm-up', first_ns - median_ns, later_runs >= 3,\n"
    "                     json_object('first_ns', first_ns, 'later_p50_ns', median_ns)\n"
    "                FROM (SELECT * FROM first_run ORDER BY first_ns - median_ns DESC LIMIT 1)\n"
    "    UNION ALL SELECT 'runs-vary', excess_ns, n >= 5 AND variation > 0.1,\n"
    "                     json_object('runs', n, 'variation', variation) FROM varied\n"
    "    UNION ALL SELECT 'runs-drift', drift_ns, CASE WHEN n < 8 OR abs(last_ns / early_ns - 1) "
    "<= 0.05\n"
    "                     THEN 0 END, json_object('runs', n, 'early_p50_ns', early_ns, "
    "'late_p50_ns',\n"
    "                                             last_ns) FROM varied\n"
    "    UNION ALL SELECT 'memory-grows', NULL, 1, json_object('bytes_per_run', slope, 'low', "
    "low)\n"
    "                FROM growth\n"
    "    UNION ALL SELECT 'events-lost', NULL, sum(lost_count) > 0, json_object('lost', "
    "sum(lost_count))\n"
    "                FROM gap WHERE session_id IN ({sessions})\n"
    "    UNION ALL SELECT 'unfinished', NULL, count(*) > 0, json_object('spans', count(*))\n"
    "                FROM event e JOIN lane l USING (lane_id)\n"
    "               WHERE l.session_id IN ({sessions}) AND e.dur_ns IS NULL{in_time}\n"
    "    UNION ALL SELECT 'coverage', wall_ns - recorded_ns, recorded_ns < 0.8 * wall_ns\n"
    "                     AND (SELECT min(is_shown) FROM span), json_object('recorded_ns', "
    "recorded_ns)\n"
    "                FROM whole)\n"
    "SELECT rule, CASE WHEN wall_ns > 0 THEN min(1.0, ns * 1.0 / wall_ns) END AS share, holds, "
    "numbers\n"
    "  FROM fact, whole WHERE holds IS NOT 0 ORDER BY share DESC";

const struct report_kind report_advice = {
    .name = "advice",
    .about = "What to do: findings of rules on copies, gaps, launches, operators, runs, memory and "
             "what is missing, by the share of wall time that each concerns.",
    .run = run,
    .tables = (const char *const[]){"findings", NULL},
    .explain = explain_sql,
    .explain_lacks =
        "not in it: finding, action, command; numbers has what they say. Where holds is NULL the\n"
        " * report knows more: runs-drift takes a rank test, below-roof the machine's peaks, "
        "which\n"
        " * --report roofline has",
    .takes = takes,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .order_by = "share",
};
