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
    asked.in_time = sides[ALIGN_BASE].in_time;
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

const struct report_kind report_compare = {
    .name = "compare",
    .about = "What changed from one recording to another.",
    .mode = "compare",
    .subject = REPORT_OF_SIDES,
    .values = REPORT_VALUES_OF_RUNS,
    .run = run,
    .tables = (const char *const[]){"changes", NULL},
    .takes = takes,
    .lines = {.columns = columns, .column_count = COLUMN_COUNT, .top = 20, .order_by = "+rank"},
    .explain =
        {.lacks =
             "not in it: rank, share, p, p_corrected, verdict, change_low and change_high, the other\n"
             " * intervals, in_shapes, detail: what tests and bootstrap make of these numbers. An op "
             "of\n"
             " * another name is told by its work alone, not by its neighbours"},
};
