/* SPDX-License-Identifier: Apache-2.0 */
/* Every op against what the machine can do: its bound, its efficiency, the time that could be won.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/report.h"
#include "analyze/reports/roofline_machine.h"
#include "base/amount.h"

struct roofline_line {
    const struct op_row *op;
    uint64_t calls;
    double time_ns;
    struct roofline roofline;
};
struct roofline_lines ARRAY_FIELDS(struct roofline_line);

/* --- Columns. --- */

LINE_CELL(get_name, struct roofline_line, out_text(line->op->name))
LINE_CELL(get_type, struct roofline_line, out_text(line->op->type))
LINE_CELL(get_device, struct roofline_line, out_text(line->op->device ? line->op->device : "host"))
LINE_CELL(get_calls, struct roofline_line, out_integer(OUT_INT, (int64_t)line->calls))
LINE_CELL(get_time, struct roofline_line, out_number(OUT_NS, line->time_ns))
LINE_CELL(get_flop_rate, struct roofline_line, out_number(OUT_FLOP_RATE, line->roofline.flop_per_s))
LINE_CELL(get_byte_rate, struct roofline_line,
          out_number(OUT_BYTE_RATE, line->roofline.bytes_per_s))
LINE_CELL(get_intensity, struct roofline_line, out_number(OUT_REAL, line->roofline.intensity))
LINE_CELL(get_efficiency, struct roofline_line, out_number(OUT_SHARE, line->roofline.efficiency))
LINE_CELL(get_best, struct roofline_line, out_number(OUT_NS, line->roofline.best_ns))
LINE_CELL(get_win, struct roofline_line, out_number(OUT_NS, line->roofline.win_ns))
LINE_CELL(get_in_shapes, struct roofline_line, out_shapes(line->op->input_shapes, NULL))
LINE_CELL(get_out_shapes, struct roofline_line, out_shapes(line->op->output_shapes, NULL))

static struct out_value get_bound(const void *item, const void *context)
{
    static const char *const words[] = {
        [ROOFLINE_UNKNOWN] = "unknown",
        [ROOFLINE_COMPUTE] = "compute",
        [ROOFLINE_MEMORY] = "memory",
    };

    return out_text(words[((const struct roofline_line *)item)->roofline.bound]);
}

static const struct line_column columns[] = {
    {LINE_TEXT("name", "operator", 40), {0}, "its name", get_name},
    {LINE_TEXT("type", "type", 20), {0}, "its type", get_type},
    {LINE_COMPACT("calls", "calls"), {0}, "executions that count", get_calls},
    {LINE_COMPACT("time_ns", "time"),
     {"time"},
     "from the first kernel to the end where that is known, else self time",
     get_time},
    {LINE_COMPACT("flop_per_s", "FLOP/s"),
     {"flops"},
     "operations per second of that time",
     get_flop_rate},
    {LINE_COMPACT("bytes_per_s", "bandwidth"),
     {"bandwidth"},
     "bytes moved per second of that time",
     get_byte_rate},
    {LINE_COMPACT("flop_per_byte", "FLOP/byte"),
     {"intensity"},
     "arithmetic intensity",
     get_intensity},
    {LINE_COMPACT("bound", "bound"),
     {0},
     "what keeps it from being faster at best: compute or memory; unknown without its work or the "
     "machine's peaks",
     get_bound},
    {LINE_COMPACT("efficiency", "efficiency"),
     {0},
     "best_ns as a share of time_ns; above 1 where caches served what it reads",
     get_efficiency},
    {LINE_COMPACT("best_ns", "at best"),
     {"best"},
     "time at min(peak FLOP/s, FLOP/byte * peak bandwidth)",
     get_best},
    {LINE_COMPACT("win_ns", "could be won"), {"win"}, "time_ns - best_ns, not below 0", get_win},
    {{.name = "device", .data_only = true}, {0}, "where it ran", get_device},
    {{.name = "in_shapes", .data_only = true}, {0}, "of its inputs", get_in_shapes},
    {{.name = "out_shapes", .data_only = true}, {0}, "of its outputs", get_out_shapes},
};

static double time_of(const void *line)
{
    return ((const struct roofline_line *)line)->time_ns;
}

/* --- Lines. --- */

static double known_time(const struct op_cost *cost)
{
    return isnan(cost->exec_ns) ? cost->end_ns : cost->exec_ns;
}

/* An op counts where it computes: on the device, for want of that on the host. */
static int make_lines(const struct ops_answer *answer, struct filter *filter,
                      struct roofline_lines *lines)
{
    for (size_t i = 0; i < answer->rows.count; i++) {
        const struct op_row *op = &answer->rows.items[i];
        const struct op_cost *cost =
            op->cost[OP_DEVICE].calls ? &op->cost[OP_DEVICE] : &op->cost[OP_HOST];
        struct roofline_line line = {.op = op, .calls = cost->calls};

        if (!cost->calls || op->is_label || !filter_passes_op(filter, op))
            continue;
        line.time_ns = known_time(cost);
        line.roofline = roofline_of(cost->computation_flop, cost->memory_bytes,
                                    roofline_is_timed(op) ? line.time_ns : NAN,
                                    &(struct roofline_peaks){NAN, NAN});
        if (array_push(lines, line) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void hold_against(struct roofline_lines *lines, const struct roofline_machine *machine)
{
    for (size_t i = 0; i < lines->count; i++) {
        struct roofline_line *line = &lines->items[i];
        double seconds = line->time_ns / 1e9;

        const struct roofline_peaks *peaks = roofline_peaks_of(machine, line->op);

        if (peaks)
            line->roofline =
                roofline_of(line->roofline.flop_per_s * seconds,
                            line->roofline.bytes_per_s * seconds, line->time_ns, peaks);
    }
}

/* --- The machine. --- */

/* Of the host, whose peaks are known. */
static double fastest(const struct roofline_lines *lines)
{
    double most = NAN;

    for (size_t i = 0; i < lines->count; i++) {
        if (roofline_is_of_host(lines->items[i].op))
            most = fmax(most, lines->items[i].roofline.flop_per_s);
    }
    return most;
}

/* --- Output. --- */

static void emit_machine(const struct report *report, const struct roofline_lines *lines,
                         const struct roofline_machine *machine)
{
    static const struct out_section section = {.name = "machine"};
    double time_ns = 0, best_ns = 0;

    for (size_t i = 0; i < lines->count; i++) {
        const struct roofline_line *line = &lines->items[i];

        if (line->roofline.bound == ROOFLINE_UNKNOWN)
            continue;
        time_ns += line->time_ns;
        best_ns += line->time_ns - line->roofline.win_ns;
    }
    out_facts(report->out, &section,
              (struct out_fact[]){
                  {"peak_flop_per_s", "peak computation",
                   out_number(OUT_FLOP_RATE, machine->peaks.flop_per_s)},
                  {"peak_bytes_per_s", "peak bandwidth",
                   out_number(OUT_BYTE_RATE, machine->peaks.bytes_per_s)},
                  {"time_ns", "time of operators with a bound (s)",
                   out_number(OUT_NS, time_ns > 0 ? time_ns : NAN)},
                  {"best_ns", "the same at their bounds (s)",
                   out_number(OUT_NS, time_ns > 0 ? best_ns : NAN)},
              },
              4);
}

static void note_machine(const struct report *report, const struct roofline_machine *machine)
{
    const struct roofline_peaks *peaks = &machine->peaks;
    char rate[AMOUNT_BYTES];

    if (machine->threads && machine->device_session_id != STORE_NULL)
        out_note(
            report->out, OUT_NOTE_PLAIN,
            "Operators of the GPU are held against what it can do at best, measured in session "
            "%lld: %.1f GFLOP/s of float32, %s/s read and written.",
            (long long)machine->device_session_id, machine->device.flop_per_s / 1e9,
            amount_format_bytes(rate, sizeof(rate), machine->device.bytes_per_s));
    if (isnan(peaks->flop_per_s) && isnan(peaks->bytes_per_s))
        out_note(report->out, OUT_NOTE_PLAIN,
                 "What this machine can do at best is not known: load_and_run --calibrate measures "
                 "it in 10 s, or give --peak-flops and --peak-bandwidth.");
    else if (machine->threads)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "The peaks are those of %s on %s, measured in session %lld; they are of the host, "
                 "not of other devices.",
                 machine->threads, machine->host, (long long)machine->session_id);
}

static void note_unknown(const struct report *report, const struct roofline_lines *lines)
{
    size_t unknown = 0, above = 0;

    for (size_t i = 0; i < lines->count; i++) {
        unknown += isnan(lines->items[i].roofline.flop_per_s) &&
                   isnan(lines->items[i].roofline.bytes_per_s);
        above += lines->items[i].roofline.efficiency > 1;
    }
    if (unknown)
        out_note(
            report->out, OUT_NOTE_PLAIN,
            "%zu of %zu operators without a word on what is computed or moved: no bound is known.",
            unknown, lines->count);
    if (above)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%zu operator%s above 100%%: what %s was in a cache, not in memory.", above,
                 above == 1 ? " is" : "s are", above == 1 ? "it reads" : "they read");
}

/* Of emit(): no table, as nothing is known to hold operators against. */
enum { ONE_SENTENCE = 2 };

static int emit(const struct report *report, struct roofline_lines *lines, struct diag *diag)
{
    struct roofline_guides guides;
    struct out_chart chart = {
        .kind = OUT_CHART_POINTS,
        .label = "name",
        .x = "flop_per_byte",
        .values = {"flop_per_s"},
        .color = "type",
        .is_log = true,
        .guides = guides.guides,
    };
    const struct out_section section = {
        .name = "operators",
        .keep = "name time_ns efficiency win_ns bound calls best_ns flop_per_s",
        .chart = &chart};
    struct roofline_machine machine;
    int rc = roofline_find_machine(report, fastest(lines), &machine, diag);

    if (rc < 0)
        return rc;
    if (isnan(machine.peaks.flop_per_s) && isnan(machine.peaks.bytes_per_s) &&
        machine.device_session_id == STORE_NULL && report->options->format == OUT_FORMAT_TABLE &&
        !report->options->wiki && lines->count) {
        note_machine(report, &machine); /* a table of unknown bounds would say less */
        return ONE_SENTENCE;
    }
    hold_against(lines, &machine);
    roofline_make_guides(&machine, &guides);
    chart.guide_count = guides.count;
    emit_machine(report, lines, &machine);
    rc = report_emit_lines(report, &section, lines->items, lines->count, sizeof(*lines->items),
                           NULL, diag);
    note_machine(report, &machine);
    note_unknown(report, lines);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct roofline_lines lines = {0};
    struct ops_answer answer = {0};
    int rc = report_select(report, &selection, diag);

    selection.question.merge = QUERY_MERGE_LAUNCHES;
    if (rc == 0)
        rc = report_query_ops(report, &selection, &answer, diag);
    if (rc == 0 && make_lines(&answer, &selection.filter, &lines) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    if (rc == 0 && selection.filter.gave_up)
        rc = filter_complain(&selection.filter, diag);
    if (rc == 0)
        rc = emit(report, &lines, diag);
    if (rc == 0)
        report_footer(report, &answer.basis);
    else if (rc == ONE_SENTENCE)
        report_judge(report, &answer.basis);
    rc = rc == ONE_SENTENCE ? 0 : rc;
    array_deinit(&lines);
    ops_answer_deinit(&answer);
    report_selection_deinit(&selection);
    return rc;
}

static const char *const takes[] = {"peak-flops", "peak-bandwidth", NULL};

const struct report_kind report_roofline = {
    .name = "roofline",
    .about = "Each operator against what the machine can compute and move at best, by the time "
             "that could be won.",
    .run = run,
    .tables = (const char *const[]){"operators", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 20,
              .order_by = "win_ns",
              .time_ns = time_of},
    .explain = {.time = "time_ns"},
};
