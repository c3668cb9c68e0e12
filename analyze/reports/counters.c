/* SPDX-License-Identifier: Apache-2.0 */
/* What CPU counters counted, op by op. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/span_counters.h"
#include "analyze/query/lane_use.h"
#include "analyze/reports/counters.h"
#include "analyze/reports/report.h"
#include "analyze/stats/groups.h"

/* NaN: nothing was read, or it is not known. */
struct counter_line {
    const char *name, *type;
    uint64_t calls;
    double time_ns, own_ns;
    double totals[SPAN_COUNTERS], owns[SPAN_COUNTERS];
    uint64_t reads[SPAN_COUNTERS]; /* executions that are in these sums */
    double clocked_ns;             /* time of those with a task clock */
    double cycled_flop;            /* operations of those with cycles */
};

struct counter_lines {
    ARRAY_OF(struct counter_line) lines;
    struct groups groups;
    bool by_type, with_labels;
    uint64_t calls, read_calls, unread_lanes;
    double unscheduled_ns, own_ns; /* of executions where something was read */
};

#define CELL(name, value) LINE_CELL(name, struct counter_line, value)
#define REAL(value)       out_number(OUT_REAL, value)

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

CELL(name_of, out_text(line->name))
CELL(type_of, out_text(line->type))
CELL(calls_of, out_integer(OUT_INT, (int64_t)line->calls))
CELL(time_of, out_number(OUT_NS, line->time_ns))
CELL(own_of, out_number(OUT_NS, line->own_ns))
CELL(cpu_share, out_number(OUT_SHARE, ratio(line->totals[SPAN_TASK_CLOCK], line->clocked_ns)))
CELL(per_cycle, REAL(ratio(line->owns[SPAN_INSTRUCTIONS], line->owns[SPAN_CYCLES])))
CELL(flop_per_cycle, REAL(ratio(line->cycled_flop, line->owns[SPAN_CYCLES])))
CELL(cache_rate, REAL(ratio(line->owns[SPAN_CACHE_MISSES] * 1000, line->owns[SPAN_INSTRUCTIONS])))
CELL(branch_rate, REAL(ratio(line->owns[SPAN_BRANCH_MISSES] * 1000, line->owns[SPAN_INSTRUCTIONS])))

/* Total, own and of one call, of each counter. */
#define COUNTER_CELLS(word, counter, out_kind)                                                     \
    CELL(word##_total, out_number(out_kind, line->totals[counter]))                                \
    CELL(word##_own, out_number(out_kind, line->owns[counter]))                                    \
    CELL(word##_mean,                                                                              \
         out_number(out_kind, ratio(line->totals[counter], (double)line->reads[counter])))

COUNTER_CELLS(instructions, SPAN_INSTRUCTIONS, OUT_REAL)
COUNTER_CELLS(cycles, SPAN_CYCLES, OUT_REAL)
COUNTER_CELLS(cache, SPAN_CACHE_MISSES, OUT_REAL)
COUNTER_CELLS(branch, SPAN_BRANCH_MISSES, OUT_REAL)
COUNTER_CELLS(faults, SPAN_PAGE_FAULTS, OUT_REAL)
COUNTER_CELLS(switches, SPAN_CONTEXT_SWITCHES, OUT_REAL)
COUNTER_CELLS(migrations, SPAN_CPU_MIGRATIONS, OUT_REAL)
COUNTER_CELLS(clock, SPAN_TASK_CLOCK, OUT_NS)

#define COUNTER_COLUMNS(word, column, unit, column_title, short_title)                             \
    {LINE_COMPACT(column unit, column_title), {NULL}, "in all calls", word##_total},               \
        {LINE_COMPACT("self_" column unit, short_title " self"),                                   \
         {NULL},                                                                                   \
         "without that of the operators inside",                                                   \
         word##_own},                                                                              \
    {                                                                                              \
        LINE_COMPACT(column "_per_call" unit, short_title "/call"), {NULL}, "of one call",         \
            word##_mean                                                                            \
    }

static const struct line_column columns[] = {
    {LINE_TEXT("name", "Name", 40), {NULL}, "operator, or its type with --group-by type", name_of},
    {{.name = "type", .data_only = true}, {NULL}, "its type", type_of},
    {LINE_COMPACT("calls", "Count"), {"count"}, "executions where counters are read", calls_of},
    {LINE_COMPACT("time_ns", "Time"), {"time"}, "their time", time_of},
    {LINE_COMPACT("self_ns", "Self"), {NULL}, "without that of the operators inside", own_of},
    {LINE_COMPACT("cpu_share", "CPU"),
     {NULL},
     "the task clock, of time_ns: for the rest of the time the thread did not run",
     cpu_share},
    {LINE_COMPACT("instructions_per_cycle", "IPC"), {"ipc"}, "of self counts", per_cycle},
    {LINE_COMPACT("flop_per_cycle", "FLOP/cycle"),
     {NULL},
     "computation, of self cycles",
     flop_per_cycle},
    {LINE_COMPACT("cache_misses_per_1000_instructions", "Cache/1000"),
     {NULL},
     "of self counts",
     cache_rate},
    {LINE_COMPACT("branch_misses_per_1000_instructions", "Branch/1000"),
     {NULL},
     "of self counts",
     branch_rate},
    COUNTER_COLUMNS(clock, "task_clock", "_ns", "Task clock", "Clock"),
    COUNTER_COLUMNS(faults, "page_faults", "", "Page faults", "Faults"),
    COUNTER_COLUMNS(switches, "context_switches", "", "Switches", "Switches"),
    COUNTER_COLUMNS(migrations, "cpu_migrations", "", "Migrations", "Migrations"),
    COUNTER_COLUMNS(instructions, "instructions", "", "Instructions", "Instr."),
    COUNTER_COLUMNS(cycles, "cycles", "", "Cycles", "Cycles"),
    COUNTER_COLUMNS(cache, "cache_misses", "", "Cache misses", "Cache"),
    COUNTER_COLUMNS(branch, "branch_misses", "", "Branch misses", "Branch"),
};

/* --- From spans to lines. --- */

static void add(double *sum, double value)
{
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

static void add_span(const struct spans_answer *spans, const struct span *span,
                     const struct span_counters *counters, struct counter_lines *all,
                     struct counter_line *line)
{
    const uint32_t place = span_place(spans, span);
    const bool is_label = spans->op_kinds[span->op] == SPAN_LABEL;
    const double own_ns = (double)(is_label ? span->dur_ns : span_own_ns(spans, span));
    bool is_read = false;

    line->calls++;
    line->time_ns += (double)span->dur_ns;
    line->own_ns += own_ns;
    for (int i = 0; i < SPAN_COUNTERS; i++) {
        if (!counters->totals[i] || isnan(counters->totals[i][place]))
            continue;
        is_read = true;
        line->reads[i]++;
        add(&line->totals[i], counters->totals[i][place]);
        add(&line->owns[i], counters->owns[i][place]);
        if (i == SPAN_TASK_CLOCK)
            line->clocked_ns += (double)span->dur_ns;
        if (i == SPAN_CYCLES && span_op(spans, span)->computation_flop != STORE_NULL)
            add(&line->cycled_flop, (double)span_op(spans, span)->computation_flop);
        if (i == SPAN_UNSCHEDULED)
            all->unscheduled_ns += counters->owns[i][place];
    }
    all->calls++;
    all->read_calls += is_read;
    all->own_ns += is_read ? own_ns : 0;
}

static int find_line(struct counter_lines *all, const struct op_row *op, uint32_t *out_group)
{
    struct counter_line line = {
        .name = all->by_type ? op->type : op->name, .type = op->type, .cycled_flop = NAN};
    struct place_key key = {0};
    int rc;

    for (int i = 0; i < SPAN_COUNTERS; i++)
        line.totals[i] = line.owns[i] = NAN;
    groups_add_text(&key, line.name);
    rc = groups_find(&all->groups, key, out_group);
    return rc == 1 ? array_push(&all->lines, line) : rc;
}

static bool is_asked_for(const struct spans_answer *spans, const struct counter_lines *all,
                         const struct span *span)
{
    const uint8_t kind = spans->op_kinds[span->op];

    return span->is_shown && (kind == SPAN_OP || (kind == SPAN_LABEL && all->with_labels));
}

static int gather(const struct spans_answer *spans, const struct span_counters *counters,
                  struct counter_lines *all)
{
    uint32_t group;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!is_asked_for(spans, all, span) || !counters->is_read[span->lane])
            continue;
        if (find_line(all, span_op(spans, span), &group) < 0)
            return -ENOMEM;
        add_span(spans, span, counters, all, &all->lines.items[group]);
    }
    for (size_t i = 0; i < spans->lanes.count; i++)
        all->unread_lanes += spans->ranges[i].count > 0 && !counters->is_read[i];
    return 0;
}

/* --- What stands below. --- */

/* The counters that are there, as they are called where they are asked for. */
static void put_words(const struct span_counters *counters, char *out, size_t bytes)
{
    size_t used = 0;

    for (int i = 0; i < SPAN_UNSCHEDULED && used < bytes; i++) {
        const char *name = span_counter_name((enum span_counter)i) + strlen("perf.");
        size_t length = strcspn(name, "_");

        if (counters->totals[i])
            used += (size_t)snprintf(out + used, bytes - used, "%s%.*s", used ? ", " : "",
                                     (int)length, name);
    }
}

static void note(const struct report *report, const struct span_counters *counters,
                 const struct counter_lines *all)
{
    char words[200] = "";

    put_words(counters, words, sizeof(words));
    out_note(report->out, OUT_NOTE_PLAIN,
             "Counters: %s; read at the start and the end of %" PRIu64 " of %" PRIu64
             " executions, on the thread that ran them.",
             words, all->read_calls, all->calls);
    if (all->unread_lanes)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%" PRIu64 " other lane%s no counters and %s not in the table.", all->unread_lanes,
                 all->unread_lanes == 1 ? " has" : "s have", all->unread_lanes == 1 ? "is" : "are");
    if (counters->is_user_only)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "The processor's counters leave out what the kernel does: counting that was not "
                 "permitted (kernel.perf_event_paranoid).");
    if (counters->totals[SPAN_TASK_CLOCK])
        out_note(report->out, OUT_NOTE_PLAIN,
                 "CPU is the task clock, of the time of the same executions: for the rest the "
                 "thread waited, or another one had its CPU.");
    if (all->unscheduled_ns > 0)
        out_note(report->out, OUT_NOTE_WARNING,
                 "For %.2f%% of the self time of these executions the processor's counters were in "
                 "other hands: their counts are scaled up from the rest.",
                 100 * ratio(all->unscheduled_ns, all->own_ns));
}

/* --- The report. --- */

#define NO_COUNTERS                                                                                \
    "no counters in this session: record with OPTRACE_COUNTERS=task-clock,page-faults or "         \
    "load_and_run --counters"

static int emit_lines(const struct report *report, const struct spans_answer *spans,
                      const struct span_counters *counters, struct counter_lines *all,
                      struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"time_ns", "task_clock_ns"}};
    static const struct out_section section = {
        .name = "counters", .keep = "name time_ns calls self_ns cpu_share", .chart = &chart};
    int rc;

    if (!span_counters_are_there(counters)) {
        diag_set(diag, 0, NO_COUNTERS);
        return REPORT_NOTHING;
    }
    if (gather(spans, counters, all) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the table");
    if (!all->lines.count) {
        diag_set(diag, 0, "no counters were read in what is asked for");
        return REPORT_NOTHING;
    }
    rc = report_emit_lines(report, &section, all->lines.items, all->lines.count,
                           sizeof(*all->lines.items), NULL, diag);
    if (rc == 0)
        note(report, counters, all);
    return rc;
}

static int emit(const struct report *report, struct spans_answer *spans, struct diag *diag)
{
    const char *group_by = report->options->group_by;
    struct counter_lines all = {.by_type = group_by && strcmp(group_by, "type") == 0};
    struct counter_row_array rows = {0};
    struct span_counters counters = {.is_read = NULL};
    bool has_kernels;
    int rc;

    if (group_by && !all.by_type && strcmp(group_by, "name") != 0)
        return diag_set(diag, -EINVAL, "--group-by \"%s\": counters go by name or type", group_by);
    all.with_labels = report_shows_labels(report->options);
    rc = report_kernel_counters(report, spans, &has_kernels, diag);
    if (rc == 0)
        rc = query_readings(report->source->store, spans, &rows, diag);
    if (rc == 0 && span_counters_make(spans, &rows, &counters) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the counters");
    array_deinit(&rows);
    if (rc == 0 && (span_counters_are_there(&counters) || !has_kernels))
        rc = emit_lines(report, spans, &counters, &all, diag);
    span_counters_deinit(&counters);
    array_deinit(&all.lines);
    groups_deinit(&all.groups);
    return rc;
}

static bool is_counter(const struct op_row *op)
{
    return strcmp(op->type, "counter") == 0;
}

/* Where nothing is called a counter, events need not be read to find none. Words that are wrong are
 * told of all the same. */
static int run(const struct report *report, struct diag *diag)
{
    int rc = report->options->group_by ? 1
                                       : query_has_op(report->source->store, report->session_ids,
                                                      report->session_count, is_counter, diag);

    if (rc != 0)
        return rc < 0 ? rc : report_on_spans(report, emit, diag);
    rc = report_check_selection(report, diag);
    if (rc < 0)
        return rc;
    diag_set(diag, 0, NO_COUNTERS);
    return REPORT_NOTHING;
}

static double time_ns(const void *item)
{
    return ((const struct counter_line *)item)->time_ns;
}

static const char *const takes[] = {"group-by", NULL};

/* Total and own count of one counter, of the rows of `span_count`. */

const struct report_kind report_counters = {
    .name = "counters",
    .about = "CPU counters op by op: instructions, cycles, misses, page faults, context switches, "
             "CPU time; those that were recorded (OPTRACE_COUNTERS, load_and_run --counters). And "
             "what devices counted in kernels, of traces that have it.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"counters", "kernel_counters", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 50,
              .order_by = "time_ns",
              .time_ns = time_ns},
    .explain = {.time = "time_ns",
                .groups =
                    (const struct explain_group[]){
                        {"name", "name", "name"},
                        {"type", "type", "type"},
                        {NULL, NULL, NULL},
                    }},
};
