/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings set against each other: what got slower, what explains it, whether that counts. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/compare/text.h"

/* A line of the table. */
struct change_line {
    const struct comparison_line *line;
    size_t rank;
};

#define COLUMN(name_, expression)                                                                  \
    static struct out_value get_##name_(const void *item, const void *context)                     \
    {                                                                                              \
        const struct comparison_line *line = ((const struct change_line *)item)->line;             \
        const struct compare_result *result = &line->result;                                       \
                                                                                                   \
        (void)line;                                                                                \
        (void)result;                                                                              \
        (void)context;                                                                             \
        return expression;                                                                         \
    }

static struct out_value get_rank(const void *item, const void *context)
{
    (void)context;
    return out_integer(OUT_RANK, (int64_t)((const struct change_line *)item)->rank);
}

static const char *kind_name(const struct comparison_line *line)
{
    return line->part == COMPARISON_OPS ? align_kind_names[line->kind] : NULL;
}

/* The op that a text is taken from. */
static const struct op_row *op_of(const struct comparison_line *line)
{
    return line->op[ALIGN_NEW] ? line->op[ALIGN_NEW] : line->op[ALIGN_BASE];
}

static struct out_value get_mean(const struct comparison_line *line, int side)
{
    bool is_there = line->part != COMPARISON_OPS || line->op_count[side];

    return out_number(OUT_NS, is_there ? line->mean_ns[side] : NAN);
}

COLUMN(name, out_text(line->name))
COLUMN(type, out_text(op_of(line) ? op_of(line)->type : NULL))
COLUMN(kind, out_text(kind_name(line)))
COLUMN(verdict, out_text(compare_verdict_names[result->verdict]))
COLUMN(base, out_number(OUT_NS, result->p50.base_ns))
COLUMN(new, out_number(OUT_NS, result->p50.new_ns))
COLUMN(change, out_number(OUT_SHARE, isfinite(result->ratio) ? result->ratio : NAN))
COLUMN(change_low, out_number(OUT_SHARE, result->change.low))
COLUMN(change_high, out_number(OUT_SHARE, result->change.high))
COLUMN(delta, out_number(OUT_NS, line->delta_ns))
COLUMN(share, out_number(OUT_SHARE, line->share))
COLUMN(p_corrected, out_number(OUT_REAL, result->p_corrected))
COLUMN(p, out_number(OUT_REAL, result->p))
COLUMN(superiority, out_number(OUT_REAL, result->superiority))
COLUMN(base_mean, get_mean(line, ALIGN_BASE))
COLUMN(new_mean, get_mean(line, ALIGN_NEW))
COLUMN(base_p90, out_number(OUT_NS, result->p90.base_ns))
COLUMN(new_p90, out_number(OUT_NS, result->p90.new_ns))
COLUMN(p90_low, out_number(OUT_NS, result->p90.difference_ns.low))
COLUMN(p90_high, out_number(OUT_NS, result->p90.difference_ns.high))
COLUMN(base_p99, out_number(OUT_NS, result->p99.base_ns))
COLUMN(new_p99, out_number(OUT_NS, result->p99.new_ns))
COLUMN(p99_low, out_number(OUT_NS, result->p99.difference_ns.low))
COLUMN(p99_high, out_number(OUT_NS, result->p99.difference_ns.high))
COLUMN(base_calls, out_number(OUT_REAL, line->calls[ALIGN_BASE]))
COLUMN(new_calls, out_number(OUT_REAL, line->calls[ALIGN_NEW]))
COLUMN(base_ops, out_integer(OUT_INT, (int64_t)line->op_count[ALIGN_BASE]))
COLUMN(new_ops, out_integer(OUT_INT, (int64_t)line->op_count[ALIGN_NEW]))
COLUMN(base_name, out_text(line->op[ALIGN_BASE] ? line->op[ALIGN_BASE]->name : NULL))
COLUMN(in_shapes, out_shapes(op_of(line) ? op_of(line)->input_shapes : NULL, NULL))
COLUMN(detail, out_text(line->detail))

#define SHOWN(name_, title_, get_, about_, ...)                                                    \
    {                                                                                              \
        {.name = name_, .title = title_, .wiki = title_, .compact = true, __VA_ARGS__},            \
            .about = about_, .value = get_                                                         \
    }
#define DATA(name_, get_, about_)                                                                  \
    {                                                                                              \
        {.name = name_, .data_only = true}, .about = about_, .value = get_                         \
    }

static const struct line_column columns[] = {
    SHOWN("rank", "#", get_rank, "slower ones first, then faster ones, then the rest"),
    SHOWN("name", "operator", get_name, "name in the new recording", .wrap = 44),
    SHOWN("type", "type", get_type, "type in the new recording", .wrap = 20),
    SHOWN("kind", "op is", get_kind, "how it was found again on the other side", .wrap = 14),
    SHOWN("verdict", "verdict", get_verdict, "slower, faster, below threshold, no change"),
    SHOWN("base_ns", "base", get_base, "median of the base"),
    SHOWN("new_ns", "new", get_new, "median of the new runs"),
    SHOWN("change", "change", get_change, "of the median, as a share of the base's"),
    SHOWN("delta_ns", "delta", get_delta, "difference of the means; all add up to the run's"),
    SHOWN("share", "of run's", get_share, "delta as a share of the run's delta"),
    SHOWN("p_corrected", "p", get_p_corrected, "of the rank test, corrected for all tests"),
    DATA("change_low", get_change_low, "95 % interval of change, lower end"),
    DATA("change_high", get_change_high, "its upper end"),
    DATA("p", get_p, "of the rank test alone, two-sided"),
    DATA("superiority", get_superiority, "chance that a new run is slower than one of the base"),
    DATA("base_mean_ns", get_base_mean, "mean of the base"),
    DATA("new_mean_ns", get_new_mean, "mean of the new runs"),
    DATA("base_p90_ns", get_base_p90, "P90 of the base"),
    DATA("new_p90_ns", get_new_p90, "P90 of the new runs"),
    DATA("p90_low_ns", get_p90_low, "95 % interval of the difference of P90, lower end"),
    DATA("p90_high_ns", get_p90_high, "its upper end"),
    DATA("base_p99_ns", get_base_p99, "P99 of the base"),
    DATA("new_p99_ns", get_new_p99, "P99 of the new runs"),
    DATA("p99_low_ns", get_p99_low, "95 % interval of the difference of P99, lower end"),
    DATA("p99_high_ns", get_p99_high, "its upper end"),
    DATA("base_calls", get_base_calls, "calls in one run of the base"),
    DATA("new_calls", get_new_calls, "calls in one new run"),
    DATA("base_op_count", get_base_ops, "ops of the base that belong together here"),
    DATA("new_op_count", get_new_ops, "new ops that belong together here"),
    DATA("base_name", get_base_name, "name of the first of them in the base"),
    DATA("in_shapes", get_in_shapes, "shapes of its inputs"),
    DATA("detail", get_detail, "what changed besides the time"),
};
enum { COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]) };

/* --- Ranks. --- */

static int weight_of(enum compare_verdict verdict)
{
    static const int weights[COMPARE_VERDICTS] = {
        [COMPARE_SLOWER] = 0,      [COMPARE_FASTER] = 1, [COMPARE_UNTESTED] = 2,
        [COMPARE_CANNOT_TELL] = 3, [COMPARE_SMALL] = 4,  [COMPARE_NO_CHANGE] = 5,
    };

    return weights[verdict];
}

static int compare_changes(const void *a, const void *b)
{
    const struct comparison_line *left = ((const struct change_line *)a)->line;
    const struct comparison_line *right = ((const struct change_line *)b)->line;
    int order = weight_of(left->result.verdict) - weight_of(right->result.verdict);

    if (order)
        return order;
    if (fabs(left->delta_ns) != fabs(right->delta_ns))
        return fabs(left->delta_ns) > fabs(right->delta_ns) ? -1 : 1;
    return (left > right) - (left < right);
}

/* All lines but that of the run. */
static void rank_lines(const struct comparison *comparison, struct change_line *ranked,
                       size_t *places)
{
    size_t count = comparison->lines.count - 1;

    for (size_t i = 0; i < count; i++)
        ranked[i].line = &comparison->lines.items[i + 1];
    qsort(ranked, count, sizeof(*ranked), compare_changes);
    for (size_t i = 0; i < count; i++) {
        ranked[i].rank = i;
        places[i] = (size_t)(ranked[i].line - comparison->lines.items);
    }
}

/* --- Sums by verdict, which add up to the run. --- */

struct account {
    const char *name;
    size_t count;
    double mean_ns[ALIGN_SIDES], delta_ns;
};

enum { ACCOUNT_ROWS = COMPARE_VERDICTS + 5 };

/* Where a line is summed up. */
static size_t account_of(const struct comparison_line *line)
{
    switch (line->part) {
    case COMPARISON_RUN:
        return ACCOUNT_ROWS - 1;
    case COMPARISON_BETWEEN:
        return ACCOUNT_ROWS - 2;
    case COMPARISON_OTHER:
        return ACCOUNT_ROWS - 3;
    case COMPARISON_OPS:
        break;
    }
    if (line->kind == ALIGN_ADDED || line->kind == ALIGN_REMOVED)
        return line->kind == ALIGN_ADDED ? 0 : 1;
    return 2 + (size_t)weight_of(line->result.verdict);
}

static void emit_account(const struct report *report, const struct comparison *comparison)
{
    static const struct out_section section = {
        .name = "account", .title = "What the change of one run is made of, by means:"};
    static const struct out_column heads[] = {
        {.name = "part", .title = "part", .wiki = "part", .compact = true},
        {.name = "count", .title = "lines", .wiki = "lines", .compact = true},
        {.name = "base_ns", .title = "base", .wiki = "base", .compact = true},
        {.name = "new_ns", .title = "new", .wiki = "new", .compact = true},
        {.name = "delta_ns", .title = "delta", .wiki = "delta", .compact = true},
        {.name = "share", .title = "of run's", .wiki = "of run's", .compact = true},
    };
    struct account rows[ACCOUNT_ROWS] = {
        {.name = "ops added"},           {.name = "ops removed"},    {.name = "ops slower"},
        {.name = "ops faster"},          {.name = "ops not tested"}, {.name = "ops untold"},
        {.name = "ops below threshold"}, {.name = "ops equal"},      {.name = "ops not asked for"},
        {.name = "between ops"},         {.name = "one run"},
    };
    const struct comparison_line *run = &comparison->lines.items[0];

    for (size_t i = 0; i < comparison->lines.count; i++) {
        const struct comparison_line *line = &comparison->lines.items[i];
        struct account *row = &rows[account_of(line)];

        row->count++;
        row->mean_ns[ALIGN_BASE] += line->mean_ns[ALIGN_BASE];
        row->mean_ns[ALIGN_NEW] += line->mean_ns[ALIGN_NEW];
        row->delta_ns += line->delta_ns;
    }
    out_table_begin(report->out, &section, heads, sizeof(heads) / sizeof(heads[0]));
    for (size_t i = 0; i < ACCOUNT_ROWS; i++) {
        if (rows[i].count)
            out_row(report->out,
                    (struct out_value[]){
                        out_text(rows[i].name),
                        out_integer(OUT_INT, (int64_t)rows[i].count),
                        out_number(OUT_NS, rows[i].mean_ns[ALIGN_BASE]),
                        out_number(OUT_NS, rows[i].mean_ns[ALIGN_NEW]),
                        out_number(OUT_NS, rows[i].delta_ns),
                        out_number(OUT_SHARE,
                                   isnan(run->share) ? NAN : rows[i].delta_ns / run->delta_ns),
                    });
    }
    out_table_end(report->out);
}

/* --- The report. --- */

static bool has_common_op(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->lines.count; i++) {
        const struct comparison_line *line = &comparison->lines.items[i];

        if (line->op_count[ALIGN_BASE] && line->op_count[ALIGN_NEW])
            return true;
    }
    return false;
}

static bool has_ops(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->lines.count; i++) {
        if (comparison->lines.items[i].part == COMPARISON_OPS)
            return true;
    }
    return false;
}

/* People see what changed first; what else there is in tables takes an option about these. */
static bool is_for_screen(const struct report *report)
{
    const struct analyze_options *options = report->options;

    return !options->wiki && options->top == TOP_OF_REPORT && !options->order_by &&
           (options->format == OUT_FORMAT_TABLE || options->format == OUT_FORMAT_MARKDOWN);
}

static int emit(const struct report *report, const struct compare_side *sides,
                const struct comparison *comparison, const struct compare_gates *gates,
                struct diag *diag)
{
    static const struct out_section section = {
        .name = "changes",
        .keep = "name base_ns new_ns change verdict delta_ns share",
        .title = "Changes:"};
    size_t count = comparison->lines.count - 1;
    struct change_line *ranked = calloc(count + 1, sizeof(*ranked));
    size_t *places = calloc(count + 1, sizeof(*places));
    int rc = ranked && places ? 0 : diag_set(diag, -ENOMEM, "no memory for the comparison");

    if (rc == 0)
        rank_lines(comparison, ranked, places);
    if (rc == 0 && is_for_screen(report)) {
        if (compare_emit_screen(report, sides, comparison, gates, places) < 0)
            rc = diag_set(diag, -ENOMEM, "no memory for the comparison");
    } else if (rc == 0) {
        compare_emit_environment(report, sides);
        compare_emit_sides(report, sides);
        compare_emit_answer(report, sides, comparison, gates, places);
        emit_account(report, comparison);
        rc = report_emit_lines(report, &section, ranked, count, sizeof(*ranked), NULL, diag);
    }
    if (rc == 0) {
        compare_emit_notes(report, sides, comparison, gates);
        report->verdict->regressions = compare_count_lines(comparison).of[COMPARE_SLOWER];
        if (comparison->lines.items[0].result.verdict == COMPARE_SLOWER)
            report->verdict->regressions++;
        if (report->verdict->regressions)
            compare_set_regression(comparison, diag);
    }
    free(ranked);
    free(places);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    struct comparison_options asked = {
        .gates = {.alpha = compare_alpha(options), .threshold = options->threshold_percent / 100},
        .min_ns = analyze_bound_ns(options->min_time_s),
        .max_ns = analyze_bound_ns(options->max_time_s),
    };
    struct compare_side sides[ALIGN_SIDES];
    struct comparison comparison = {0};
    int rc = compare_sides_read(report, sides, diag);

    asked.base_is_named = sides[ALIGN_BASE].unit_is_named;
    if (rc == 0 && comparison_make((const struct run_samples *const[]){&sides[ALIGN_BASE].samples,
                                                                       &sides[ALIGN_NEW].samples},
                                   &asked, &comparison) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the comparison");
    if (rc == 0 && !has_ops(&comparison)) {
        diag_set(diag, 0, "no operator of either side matches");
        rc = REPORT_NOTHING;
    }
    if (rc == 0 && !has_common_op(&comparison))
        rc = diag_set(diag, -EUCLEAN,
                      "base and new have no operator in common: they are not of the same thing");
    if (rc == 0)
        rc = emit(report, sides, &comparison, &asked.gates, diag);
    comparison_deinit(&comparison);
    compare_sides_deinit(sides);
    return rc;
}

static const char *const takes[] = {
    "runs", "time", "warmup", "min-time", "max-time", "strict", "threshold", "alpha", NULL,
};

static const char explain_sql[] =
    "WITH base_sample AS (\n"
    "    {base}),\n"
    "new_sample AS (\n"
    "    {new}),\n"
    "sample AS MATERIALIZED (\n"
    "    SELECT 0 AS side, * FROM base_sample UNION ALL SELECT 1, * FROM new_sample),\n"
    "one AS MATERIALIZED (\n"
    "    SELECT side, part_id, name, type, input_shapes, input_dtypes, origin, sum(calls) AS "
    "calls,\n"
    "           side * (1 << 40) + row_number() OVER (\n"
    "               PARTITION BY side ORDER BY min(session_id), min(first_ns), part_id) AS op\n"
    "      FROM sample WHERE part = 'op' GROUP BY side, part_id),\n"
    "/* Which is which: the same in all, then of the same model nodes, then the same name and "
    "type, then\n"
    " * the same work as often on both sides. A line has the number of its first op. */\n"
    "same AS MATERIALIZED (\n"
    "    SELECT *, CASE WHEN min(side) OVER twin < max(side) OVER twin THEN min(op) OVER twin END "
    "AS line\n"
    "      FROM (SELECT *, row_number() OVER (PARTITION BY side, name, type, input_shapes, "
    "input_dtypes,\n"
    "                                         origin ORDER BY op) AS nth FROM one)\n"
    "    WINDOW twin AS (PARTITION BY name, type, input_shapes, input_dtypes, origin, nth)),\n"
    "node AS (\n"
    "    SELECT side, op, has_none, CASE WHEN substr(value, -6) = '_nchwc' AND length(value) > 6\n"
    "                                    THEN substr(value, 1, length(value) - 6) ELSE value END "
    "AS node\n"
    "      FROM (SELECT *, coalesce(json_array_length(CASE json_valid(origin) WHEN 1 THEN origin "
    "END), 0)\n"
    "                      = 0 AS has_none FROM same WHERE line IS NULL),\n"
    "           json_each(CASE has_none WHEN 1 THEN json_array(name) ELSE origin END)),\n"
    "used AS MATERIALIZED (\n"
    "    SELECT op, node FROM (SELECT *, sum(has_none) OVER (PARTITION BY side, node) AS names\n"
    "                            FROM node) WHERE has_none = 0 OR names = 1),\n"
    "reached(op, other) AS (\n"
    "    SELECT op, op FROM used\n"
    "    UNION SELECT r.op, b.op FROM reached r JOIN used a ON a.op = r.other JOIN used b USING "
    "(node)),\n"
    "joined AS (\n"
    "    SELECT op, min(other) AS line FROM reached GROUP BY op\n"
    "    HAVING min(other) < 1 << 40 AND max(other) >= 1 << 40),\n"
    "named AS (\n"
    "    SELECT s.side, s.part_id, s.op, s.name, s.type, s.input_shapes, s.input_dtypes, s.calls,\n"
    "           coalesce(s.line, j.line) AS line, coalesce(s.line, j.line) IS NULL AS is_loose\n"
    "      FROM same s LEFT JOIN joined j USING (op)),\n"
    "numbered AS (\n"
    "    SELECT *, row_number() OVER (PARTITION BY is_loose, side, name, type ORDER BY op) AS "
    "nth,\n"
    "           min(side) OVER alike < max(side) OVER alike\n"
    "           AND (count(input_shapes) FILTER (WHERE side = 0) OVER alike > 0)\n"
    "               <> (count(input_shapes) FILTER (WHERE side = 1) OVER alike > 0) AS is_bare,\n"
    "           min(op) OVER alike AS first_op\n"
    "      FROM named WINDOW alike AS (PARTITION BY is_loose, name, type)),\n"
    "alike AS (\n"
    "    SELECT *, CASE WHEN line IS NOT NULL THEN line WHEN is_bare THEN first_op\n"
    "                   WHEN min(side) OVER twin < max(side) OVER twin THEN min(op) OVER twin END "
    "AS pair\n"
    "      FROM numbered WINDOW twin AS (PARTITION BY is_loose, name, type, nth)),\n"
    "turned AS (\n"
    "    SELECT *, pair IS NULL AND input_shapes IS NOT NULL AS is_work,\n"
    "           row_number() OVER (PARTITION BY pair IS NULL, side, type, input_shapes, "
    "input_dtypes\n"
    "                              ORDER BY op) AS turn,\n"
    "           sum(2 * side - 1) OVER (PARTITION BY pair IS NULL, type, input_shapes, "
    "input_dtypes) = 0\n"
    "           AS is_even FROM alike),\n"
    "grouped AS MATERIALIZED (\n"
    "    SELECT side, part_id, op, name, type, input_shapes, input_dtypes, calls,\n"
    "           CASE WHEN pair IS NOT NULL THEN pair\n"
    "                WHEN is_work AND is_even THEN min(op) OVER (\n"
    "                     PARTITION BY pair IS NULL, is_work, type, input_shapes, input_dtypes, "
    "turn)\n"
    "                ELSE op END AS line FROM turned),\n"
    "/* What each line took in each run. */\n"
    "unit AS MATERIALIZED (\n"
    "    SELECT *, max(nth) OVER (PARTITION BY side) AS sessions, count(*) OVER (PARTITION BY "
    "side)\n"
    "           AS all_runs FROM (\n"
    "           SELECT side, session_id, run, dense_rank() OVER (PARTITION BY side ORDER BY "
    "session_id)\n"
    "                  AS nth FROM sample WHERE part = 'run')),\n"
    "/* -1: between ops; -2: ops not asked for. */\n"
    "summed AS MATERIALIZED (\n"
    "    SELECT s.side, session_id, run, CASE WHEN i = 0 THEN -1 WHEN part = 'other' THEN -2\n"
    "                                         ELSE g.line END AS line,\n"
    "           sum(CASE WHEN i = 0 AND part <> 'run' THEN -ns ELSE ns END) AS ns\n"
    "      FROM sample s JOIN (SELECT 0 AS i UNION ALL SELECT 1) ON i = 0 OR part <> 'run'\n"
    "      LEFT JOIN grouped g ON g.side = s.side AND g.part_id = s.part_id GROUP BY 1, 2, 3, 4),\n"
    "timed AS (\n"
    "    SELECT p.side, p.line, u.session_id, u.sessions, coalesce(s.ns, 0) AS ns,\n"
    "           row_number() OVER unit AS nth, count(*) OVER session AS runs,\n"
    "           avg(coalesce(s.ns, 0)) OVER session AS mean_ns\n"
    "      FROM (SELECT DISTINCT side, line FROM summed) p JOIN unit u USING (side)\n"
    "      LEFT JOIN summed s ON s.side = p.side AND s.line = p.line\n"
    "           AND s.session_id = u.session_id AND s.run = u.run\n"
    "    WINDOW session AS (PARTITION BY p.side, p.line, u.session_id),\n"
    "           unit AS (PARTITION BY p.side, p.line, u.session_id ORDER BY coalesce(s.ns, 0))),\n"
    "/* Of several sessions each counts once, by its median run. */\n"
    "counted AS (\n"
    "    SELECT * FROM timed WHERE sessions = 1 OR nth = (runs + 1) / 2),\n"
    "placed AS (\n"
    "    SELECT *, row_number() OVER (PARTITION BY side, line ORDER BY ns) AS place,\n"
    "           count(*) OVER (PARTITION BY side, line) AS n, rank() OVER (PARTITION BY line ORDER "
    "BY ns)\n"
    "           + (count(*) OVER (PARTITION BY line, ns) - 1) / 2.0 AS mid_rank FROM counted),\n"
    "measured AS (\n"
    "    SELECT line, count(*) FILTER (WHERE side = 0) AS base_n,\n"
    "           count(*) FILTER (WHERE side = 1) AS new_n, sum(mid_rank) FILTER (WHERE side = 1) "
    "AS ranks,\n"
    "           avg(mean_ns) FILTER (WHERE side = 0) AS base_mean_ns,\n"
    "           avg(mean_ns) FILTER (WHERE side = 1) AS new_mean_ns,\n"
    "           max(ns) FILTER (WHERE side = 0 AND place = (n + 1) / 2) AS base_ns,\n"
    "           max(ns) FILTER (WHERE side = 1 AND place = (n + 1) / 2) AS new_ns,\n"
    "           max(ns) FILTER (WHERE side = 0 AND place = (9 * n + 9) / 10) AS base_p90_ns,\n"
    "           max(ns) FILTER (WHERE side = 1 AND place = (9 * n + 9) / 10) AS new_p90_ns,\n"
    "           max(ns) FILTER (WHERE side = 0 AND place = (99 * n + 99) / 100) AS base_p99_ns,\n"
    "           max(ns) FILTER (WHERE side = 1 AND place = (99 * n + 99) / 100) AS new_p99_ns\n"
    "      FROM placed GROUP BY line),\n"
    "spelled AS (\n"
    "    SELECT line, side, name, type, input_shapes, input_dtypes, op, calls,\n"
    "           count(*) OVER (PARTITION BY line, side, name) AS times,\n"
    "           row_number() OVER (PARTITION BY line, side, name ORDER BY op) AS nth\n"
    "      FROM grouped ORDER BY line, side, op),\n"
    "told AS (\n"
    "    SELECT line, count(*) FILTER (WHERE side = 0) AS base_op_count,\n"
    "           count(*) FILTER (WHERE side = 1) AS new_op_count,\n"
    "           coalesce(sum(calls) FILTER (WHERE side = 0), 0) AS base_calls,\n"
    "           coalesce(sum(calls) FILTER (WHERE side = 1), 0) AS new_calls,\n"
    "           group_concat(CASE nth WHEN 1 THEN name || CASE WHEN times > 1 THEN ' x ' || times\n"
    "                             ELSE '' END END, ' + ') FILTER (WHERE side = 0) AS base_names,\n"
    "           group_concat(CASE nth WHEN 1 THEN name || CASE WHEN times > 1 THEN ' x ' || times\n"
    "                             ELSE '' END END, ' + ') FILTER (WHERE side = 1) AS new_names,\n"
    "           min(name) FILTER (WHERE side = 0 AND op = first_op) AS base_name,\n"
    "           min(name) FILTER (WHERE side = 1 AND op = first_op) AS new_name,\n"
    "           min(type) FILTER (WHERE side = 0 AND op = first_op) AS base_type,\n"
    "           min(type) FILTER (WHERE side = 1 AND op = first_op) AS new_type,\n"
    "           min(json_array(input_shapes, input_dtypes)) FILTER (WHERE side = 0 AND op = "
    "first_op)\n"
    "           AS base_input,\n"
    "           min(json_array(input_shapes, input_dtypes)) FILTER (WHERE side = 1 AND op = "
    "first_op)\n"
    "           AS new_input\n"
    "      FROM (SELECT *, min(op) OVER (PARTITION BY line, side) AS first_op FROM spelled)\n"
    "     GROUP BY line)\n"
    "SELECT CASE m.line WHEN -1 THEN 'between ops' WHEN -2 THEN 'ops not asked for'\n"
    "            ELSE coalesce(new_names, base_names) END AS name,\n"
    "       coalesce(new_type, base_type) AS type,\n"
    "       CASE WHEN m.line < 0 THEN NULL WHEN new_op_count = 0 THEN 'removed'\n"
    "            WHEN base_op_count = 0 THEN 'added'\n"
    "            WHEN base_op_count > 1 AND new_op_count > 1 THEN 'regrouped'\n"
    "            WHEN base_op_count > 1 THEN 'fused' WHEN new_op_count > 1 THEN 'split'\n"
    "            WHEN base_type <> new_type THEN 'changed type'\n"
    "            WHEN base_input <> new_input THEN 'changed shape'\n"
    "            WHEN base_name <> new_name THEN 'renamed' ELSE 'same' END AS kind,\n"
    "       CASE WHEN m.line <> -2 THEN base_ns END AS base_ns,\n"
    "       CASE WHEN m.line <> -2 THEN new_ns END AS new_ns,\n"
    "       CASE WHEN m.line = -2 THEN NULL WHEN base_ns = new_ns THEN 0\n"
    "            WHEN base_ns <> 0 THEN new_ns * 1.0 / base_ns - 1 END AS change,\n"
    "       coalesce(new_mean_ns, 0) - coalesce(base_mean_ns, 0) AS delta_ns,\n"
    "       CASE WHEN m.line <> -2 AND base_n > 1 AND new_n > 1\n"
    "            THEN (ranks - new_n * (new_n + 1) / 2.0) / (base_n * new_n) END AS superiority,\n"
    "       CASE WHEN m.line < 0 THEN coalesce(base_mean_ns, 0) ELSE base_mean_ns END AS "
    "base_mean_ns,\n"
    "       CASE WHEN m.line < 0 THEN coalesce(new_mean_ns, 0) ELSE new_mean_ns END AS "
    "new_mean_ns,\n"
    "       CASE WHEN m.line <> -2 THEN base_p90_ns END AS base_p90_ns,\n"
    "       CASE WHEN m.line <> -2 THEN new_p90_ns END AS new_p90_ns,\n"
    "       CASE WHEN m.line <> -2 THEN base_p99_ns END AS base_p99_ns,\n"
    "       CASE WHEN m.line <> -2 THEN new_p99_ns END AS new_p99_ns,\n"
    "       coalesce(base_calls, 0) * 1.0 / (SELECT max(all_runs) FROM unit WHERE side = 0)\n"
    "       AS base_calls,\n"
    "       coalesce(new_calls, 0) * 1.0 / (SELECT max(all_runs) FROM unit WHERE side = 1)\n"
    "       AS new_calls,\n"
    "       coalesce(base_op_count, 0) AS base_op_count, coalesce(new_op_count, 0) AS "
    "new_op_count,\n"
    "       base_name\n"
    "  FROM measured m LEFT JOIN told t USING (line)\n"
    " WHERE m.line <> -2 OR base_mean_ns > 0 OR new_mean_ns > 0 ORDER BY abs(delta_ns) DESC";

static const char explain_side_sql[] =
    "WITH unit AS (\n"
    "    SELECT session_id, run, dur_ns FROM (SELECT * FROM counted_run{runs_in_time})\n"
    "     WHERE dur_ns IS NOT NULL\n"
    "    UNION ALL /* a session without runs is one */\n"
    "    SELECT session_id, 0, max(end_ns) - min(start_ns) FROM every_span\n"
    "     WHERE type NOT IN ('label', 'phase', 'mark', 'counter')\n"
    "       AND session_id NOT IN (SELECT session_id FROM run) GROUP BY session_id),\n"
    "took AS (\n"
    "    SELECT u.session_id, u.run, o.part_id, s.is_shown, count(*) AS calls,\n"
    "           min(s.start_ns) AS first_ns, CASE WHEN s.is_shown AND u.session_id IN (\n"
    "               SELECT session_id FROM session WHERE source = 'megengine')\n"
    "           THEN max(s.own_ns) ELSE sum(s.own_ns) END AS ns\n"
    "      FROM unit u JOIN sample_of_op s ON s.session_id = u.session_id\n"
    "           AND coalesce(s.run, 0) = u.run\n"
    "      LEFT JOIN sampled_op o ON o.op_id = s.op_id AND s.is_shown\n"
    "     GROUP BY u.session_id, u.run, s.is_shown, o.part_id)\n"
    "SELECT CASE is_shown WHEN 1 THEN 'op' ELSE 'other' END AS part, t.session_id, run, part_id, "
    "p.name,\n"
    "       p.type, p.input_shapes, p.input_dtypes, p.origin, first_ns, calls, ns\n"
    "  FROM took t LEFT JOIN op p ON p.op_id = t.part_id\n"
    "UNION ALL\n"
    "SELECT 'run', session_id, run, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,\n"
    "       CASE WHEN session_id IN (SELECT session_id FROM session WHERE source = 'megengine')\n"
    "            THEN (SELECT sum(ns) FROM took t\n"
    "                   WHERE t.session_id = u.session_id AND t.run = u.run)\n"
    "            ELSE dur_ns END FROM unit u";

const struct report_kind report_compare = {
    .name = "compare",
    .about = "What changed from one recording to another.",
    .run = run,
    .tables = (const char *const[]){"changes", NULL},
    .explain = explain_sql,
    .explain_side = explain_side_sql,
    .explain_lacks =
        "not in it: rank, share, p, p_corrected, verdict, change_low and change_high, the other\n"
        " * intervals, in_shapes, detail: what tests and bootstrap make of these numbers. An op "
        "of\n"
        " * another name is told by its work alone, not by its neighbours",
    .takes = takes,
    .columns = columns,
    .column_count = COLUMN_COUNT,
    .top = 20,
    .order_by = "+rank",
    .mode = "compare",
    .is_of_runs = true,
    .takes_no_events = true,
    .takes_filters = true,
};
