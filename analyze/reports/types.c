/* SPDX-License-Identifier: Apache-2.0 */
/* Time by type of operator, with percentiles of single calls. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/lane_use.h"
#include "analyze/query/scan.h"
#include "analyze/reports/report.h"
#include "analyze/stats/groups.h"

struct type_line {
    const char *type;
    enum op_side side;
    uint64_t op_count;
    double self_ns;
    struct group_summary calls;
};

struct type_lines {
    ARRAY_OF(struct type_line) lines;
    struct groups groups;
    bool is_binned;           /* percentiles are those of histograms */
    double self_ns[OP_SIDES]; /* of all ops, also of those not shown: what shares are of */
};

/* Its self time is no operator's. */
static bool is_label(const struct type_line *line)
{
    return strcmp(line->type, "label") == 0;
}

#define CELL(name, value) LINE_CELL(name, struct type_line, value)
#define ALL               ((const struct type_lines *)context)

CELL(type_of, out_text(line->type))
CELL(side_of, out_text(line->side == OP_DEVICE ? "device" : "host"))
CELL(calls, out_integer(OUT_INT, (int64_t)line->calls.count))
CELL(op_count, out_integer(OUT_INT, (int64_t)line->op_count))
CELL(total, out_number(OUT_NS, line->calls.sum))
CELL(self, out_number(OUT_NS, is_label(line) ? NAN : line->self_ns))
CELL(mean, out_number(OUT_NS, line->calls.mean))
CELL(min, out_number(OUT_NS, line->calls.min))
CELL(p50, out_number(OUT_NS, line->calls.p50))
CELL(p90, out_number(OUT_NS, line->calls.p90))
CELL(p99, out_number(OUT_NS, line->calls.p99))
CELL(max, out_number(OUT_NS, line->calls.max))

static struct out_value share(const void *item, const void *context)
{
    const struct type_line *line = item;
    double all_ns = is_label(line) ? 0 : ALL->self_ns[line->side];

    return out_number(OUT_SHARE, all_ns > 0 ? line->self_ns / all_ns : NAN);
}

static const struct line_column columns[] = {
    {LINE_TEXT("type", "Type", 40), {NULL}, "type of the operators", type_of},
    {LINE_COMPACT("side", "On"), {NULL}, "host or device", side_of},
    {LINE_COMPACT("share", "Share"),
     {NULL},
     "of the self time of all operators of that side",
     share},
    {LINE_COMPACT("self_ns", "Self"), {"time"}, "time without operators inside", self},
    {LINE_COMPACT("total_ns", "Total"), {NULL}, "from start to end", total},
    {LINE_COMPACT("calls", "Calls"), {NULL}, "calls", calls},
    {LINE_COMPACT("op_count", "Ops"), {"ops", "count"}, "operators that were called", op_count},
    {LINE_COMPACT("mean_ns", "Mean"), {NULL}, "total_ns of a call", mean},
    {LINE_COMPACT("min_ns", "Min"), {NULL}, "the shortest call", min},
    {LINE_COMPACT("p50_ns", "P50"), {NULL}, "percentile of calls, nearest rank", p50},
    {LINE_COMPACT("p90_ns", "P90"), {NULL}, "the same", p90},
    {LINE_COMPACT("p99_ns", "P99"), {NULL}, "the same", p99},
    {LINE_COMPACT("max_ns", "Max"), {NULL}, "the longest call", max},
};

/* The line of an op on a side. */
static int find_line(struct type_lines *all, const struct op_row *op, enum op_side side,
                     uint32_t *out_line)
{
    struct place_key key = {.low = side};
    struct type_line line = {.type = op->type, .side = side};
    int rc;

    groups_add_text(&key, op->type);
    rc = groups_find(&all->groups, key, out_line);
    return rc == 1 ? array_push(&all->lines, line) : rc;
}

static int gather(const struct spans_answer *spans, struct type_lines *all)
{
    uint8_t *seen = calloc(spans->ops.count + 1, 1); /* a bit for each side */
    int rc = seen ? 0 : -ENOMEM;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        enum op_side side = spans->lanes.items[span->lane].side;
        enum span_kind kind = (enum span_kind)spans->op_kinds[span->op];
        uint32_t group;

        if (kind == SPAN_OP)
            all->self_ns[side] += (double)span_own_ns(spans, span);
        if (!span->is_shown || kind == SPAN_MARK || kind == SPAN_PHASE)
            continue;
        rc = find_line(all, span_op(spans, span), side, &group);
        if (rc == 0)
            rc = groups_add(&all->groups, group, (double)span->dur_ns);
        if (rc < 0)
            break;
        all->lines.items[group].self_ns += (double)span_own_ns(spans, span);
        all->lines.items[group].op_count += !(seen[span->op] & 1 << side);
        seen[span->op] |= (uint8_t)(1 << side);
    }
    free(seen);
    return rc;
}

/* Every line has its calls. */
static int emit_lines(const struct report *report, struct type_lines *all, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "type", .values = {"self_ns"}, .color = "type"};
    static const struct out_section section = {
        .name = "types",
        .keep = "type self_ns share calls mean_ns p99_ns side total_ns",
        .chart = &chart};
    int rc = report_emit_lines(report, &section, all->lines.items, all->lines.count,
                               sizeof(*all->lines.items), all, diag);

    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the self time of all operators on the host or the device; labels "
                 "are in no such sum. Percentiles are of single calls, by nearest rank%s.",
                 all->is_binned ? ", and at most 1/32 off" : "");
    return rc;
}

static void deinit_lines(struct type_lines *all)
{
    array_deinit(&all->lines);
    groups_deinit(&all->groups);
}

static int emit(const struct report *report, struct spans_answer *spans, struct diag *diag)
{
    struct type_lines all = {0};
    struct group_summary *summaries = NULL;
    int rc = gather(spans, &all);

    if (rc == 0)
        rc = groups_summarize(&all.groups, &summaries);
    for (size_t i = 0; i < all.lines.count && rc == 0; i++)
        all.lines.items[i].calls = summaries[i];
    rc = rc < 0 ? diag_set(diag, rc, "no memory for the table") : emit_lines(report, &all, diag);
    free(summaries);
    deinit_lines(&all);
    return rc;
}

/* --- Of many events: sums per op in place of spans. --- */

/* The calls of all ops of a line, whose durations are known to 1/32. */
static int add_cost(struct type_lines *all, struct store_histogram *durations,
                    const struct ops_answer *answer, size_t place, enum op_side side)
{
    const struct op_row *op = &answer->rows.items[place];
    const struct op_cost *cost = &op->cost[side];
    struct type_line *line;
    uint32_t group;
    int rc = find_line(all, op, side, &group);

    if (rc < 0)
        return rc;
    line = &all->lines.items[group];
    line->op_count++;
    line->self_ns += cost->end_ns;
    line->calls.sum += cost->whole_ns;
    line->calls.min = line->calls.count ? fmin(line->calls.min, cost->min_ns) : cost->min_ns;
    line->calls.max = line->calls.count ? fmax(line->calls.max, cost->max_ns) : cost->max_ns;
    line->calls.count += cost->calls;
    return store_histogram_merge(&durations[group], &answer->durations[place].of[side]);
}

static void finish_line(struct type_line *line, const struct store_histogram *durations)
{
    double percentiles[SCAN_PERCENTILES];

    line->calls.mean = line->calls.sum / (double)line->calls.count;
    scan_percentiles(durations, line->calls.min, line->calls.max, percentiles);
    line->calls.p50 = percentiles[0];
    line->calls.p90 = percentiles[1];
    line->calls.p99 = percentiles[2];
}

static int gather_ops(const struct ops_answer *answer, struct filter *filter,
                      struct type_lines *all)
{
    size_t most = answer->rows.count * OP_SIDES + 1;
    struct store_histogram *durations = calloc(most, sizeof(*durations));
    int rc = durations ? 0 : -ENOMEM;

    for (size_t i = 0; i < answer->rows.count && rc == 0; i++) {
        const struct op_row *op = &answer->rows.items[i];

        for (int side = 0; side < OP_SIDES && rc == 0; side++) {
            if (!op->cost[side].calls)
                continue;
            all->self_ns[side] += op->is_label ? 0 : op->cost[side].end_ns;
            if (filter_passes_op(filter, op))
                rc = add_cost(all, durations, answer, i, (enum op_side)side);
        }
    }
    for (size_t i = 0; i < all->lines.count && rc == 0; i++)
        finish_line(&all->lines.items[i], &durations[i]);
    for (size_t i = 0; i < most && durations; i++)
        store_histogram_deinit(&durations[i]);
    free(durations);
    return rc;
}

/* Why there would be no line, in one sentence. */
static int explain_nothing(const struct ops_answer *answer, struct diag *diag)
{
    if (answer->basis.event_count == 0)
        diag_set(diag, 0, "there is no event in what is asked for");
    else
        diag_set(diag, 0, "none of the %llu events matches",
                 (unsigned long long)answer->basis.event_count);
    return REPORT_NOTHING;
}

static int run_on_ops(const struct report *report, struct report_selection *selection,
                      struct diag *diag)
{
    struct ops_question *question = &selection->question;
    struct ops_answer answer = {0};
    struct type_lines all = {.is_binned = true};
    int rc;

    question->labels = question->wants_durations = true;
    question->totals_from = report->options->exact ? 0 : REPORT_TOTALS_FROM;
    rc = query_ops(report->source->store, question, &answer, diag);
    if (rc == 0 && gather_ops(&answer, &selection->filter, &all) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    if (rc == 0 && selection->filter.gave_up)
        rc = filter_complain(&selection->filter, diag);
    if (rc == 0)
        rc = all.lines.count ? emit_lines(report, &all, diag) : explain_nothing(&answer, diag);
    if (rc == 0)
        report_footer(report, &answer.basis);
    deinit_lines(&all);
    ops_answer_deinit(&answer);
    return rc;
}

/* Whether the sums are enough: of a recorded session of many events, of which none is asked for as
 * such. What was imported may not stand in the order in which threads record. */
static int is_large(const struct report *report, const struct report_selection *selection,
                    struct diag *diag)
{
    const struct session_row *session = report_session(report, report->session_ids[0]);
    int64_t count = 0;
    int rc;

    if (report->session_count != 1 || !session || !session->source ||
        strcmp(session->source, "live") != 0 || filter_needs_spans(&selection->filter))
        return 0;
    rc = query_event_count(report->source->store, report->session_ids[0], &count, diag);
    return rc < 0 ? rc : count >= REPORT_TOTALS_FROM;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    int rc = report_select(report, &selection, diag);
    bool is_of_ops;

    if (rc == 0)
        rc = is_large(report, &selection, diag);
    is_of_ops = rc == 1;
    if (is_of_ops)
        rc = run_on_ops(report, &selection, diag);
    report_selection_deinit(&selection);
    return rc < 0 || is_of_ops ? rc : report_on_spans(report, emit, diag);
}

static double time_ns(const void *item)
{
    const struct type_line *line = item;

    return is_label(line) ? line->calls.sum : line->self_ns;
}

static const char *const takes[] = {"exact", NULL};

const struct report_kind report_types = {
    .name = "types",
    .about = "Time by type of operator, with percentiles of single calls.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"types", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .order_by = "self_ns",
              .time_ns = time_ns},
    .explain = {.time = "CASE type WHEN 'label' THEN total_ns ELSE self_ns END"},
};
