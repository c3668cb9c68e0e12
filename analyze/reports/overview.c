/* SPDX-License-Identifier: Apache-2.0 */
/* Paddle's overview: computation against framework overhead, how busy host and devices were,
 * copies, and the phases of a model's steps. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/model_phases.h"
#include "analyze/metrics/overhead.h"
#include "analyze/reports/report.h"

/* Copies are worth a word from here on. */
#define COPY_BOUND_SHARE 0.1

struct overview {
    const struct report *report;
    const struct overhead *overhead;
    const struct model_phases *phases;
};

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

/* Titles are indented for people. */
static const char *title_of(const struct overview *overview, const char *title)
{
    return title + (report_is_for_programs(overview->report) ? strspn(title, " ") : 0);
}

static int emit_table(const struct overview *overview, const struct out_section *section,
                      struct lines lines, struct diag *diag)
{
    lines.context = overview;
    lines.order_by = "+line";
    return lines_emit(overview->report->out, section, &lines, NULL, diag);
}

/* The first column of each table here: the lines stand in an order of their own. */
#define LINE_NUMBER(number)                                                                        \
    {                                                                                              \
        {.name = "line", .data_only = true}, .value = number                                       \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LINES_OF(columns_, items_, count_)                                                         \
    (struct lines)                                                                                 \
    {                                                                                              \
        .columns = columns_, .column_count = COUNT_OF(columns_), .items = items_, .count = count_, \
        .item_bytes = sizeof((items_)[0])                                                          \
    }

/* --- Overhead Summary. --- */

struct part_line {
    size_t line;
    const char *part, *title;
    double time_ns;
    double lanes_ns; /* NaN: has no meaning */
};

#define PART(function, cell) LINE_CELL(function, struct part_line, cell)
#define OVERHEAD             (((const struct overview *)context)->overhead)

PART(part_line, out_integer(OUT_INT, (int64_t)line->line))
PART(part_key, out_text(line->part))
PART(part_title, out_text(title_of(context, line->title)))
PART(part_time, out_number(OUT_NS, line->time_ns))
PART(part_of_wall, out_number(OUT_SHARE, ratio(line->time_ns, OVERHEAD->times.wall_ns)))
PART(part_of_recorded,
     out_number(OUT_SHARE,
                isnan(line->lanes_ns) ? NAN : ratio(line->time_ns, OVERHEAD->times.recorded_ns)))
PART(part_lanes, out_number(OUT_NS, line->lanes_ns))
PART(part_of_lanes, out_number(OUT_SHARE, ratio(line->lanes_ns, OVERHEAD->lanes.recorded_ns)))

static const struct line_column part_columns[] = {
    LINE_NUMBER(part_line),
    {{.name = "part", .data_only = true}, .value = part_key},
    {LINE_TEXT("title", "Overhead Summary", 40), .value = part_title},
    {LINE_COMPACT("time_ns", "time"), .value = part_time},
    {LINE_COMPACT("wall_share", "of wall"), .value = part_of_wall},
    {LINE_COMPACT("recorded_share", "of recorded"), .value = part_of_recorded},
    {LINE_COMPACT("lanes_ns", "summed over lanes"), .value = part_lanes},
    {LINE_COMPACT("lanes_share", "of that"), .value = part_of_lanes},
};

static int emit_parts(const struct overview *overview, struct diag *diag)
{
    static const struct out_section section = {.name = "overhead",
                                               .keep = "title time_ns wall_share recorded_share"};
    const struct overhead_times *times = &overview->overhead->times;
    const struct overhead_times *lanes = &overview->overhead->lanes;
    double unrecorded_ns = fmax(0, times->wall_ns - times->recorded_ns - times->labels_ns);
    struct part_line all[] = {
        {0, "wall", "Wall time", times->wall_ns, NAN},
        {0, "recorded", "  Recorded events", times->recorded_ns, lanes->recorded_ns},
        {0, "computation", "    Computation time", times->computation_ns, lanes->computation_ns},
        {0, "communication", "    Communication", times->communication_ns, lanes->communication_ns},
        {0, "communication_hidden", "      of it hidden by computation",
         times->communication_ns - times->exposed_ns, NAN},
        {0, "communication_exposed", "      of it exposed", times->exposed_ns, NAN},
        {0, "framework_overhead", "    Framework overhead",
         times->recorded_ns - times->computation_ns - times->exposed_ns,
         lanes->recorded_ns - lanes->computation_ns - lanes->exposed_ns},
        {0, "copies", "      of it copies, fills", times->copies_ns, lanes->copies_ns},
        {0, "labels", "  In labels only", times->labels_ns, NAN},
        {0, "unrecorded", "  Not recorded", unrecorded_ns, NAN},
    };
    struct part_line lines[COUNT_OF(all)];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        all[i].line = count;
        if (lanes->communication_ns > 0 || strncmp(all[i].part, "communication", 13) != 0)
            lines[count++] = all[i];
    }
    return emit_table(overview, &section, LINES_OF(part_columns, lines, count), diag);
}

/* --- Device Summary. --- */

#define SIDE(function, cell) LINE_CELL(function, struct overhead_side, cell)

SIDE(side_line, out_integer(OUT_INT, line - OVERHEAD->sides.items))
SIDE(side_session, OVERHEAD->sides.items[0].session_id ==
                           OVERHEAD->sides.items[OVERHEAD->sides.count - 1].session_id
                       ? out_unknown(OUT_INT)
                       : out_integer(OUT_INT, line->session_id))
SIDE(side_name, out_text(line->name))
SIDE(side_lanes, out_integer(OUT_INT, (int64_t)line->lane_count))
SIDE(side_events, out_integer(OUT_INT, (int64_t)line->event_count))
SIDE(side_busy, out_number(OUT_NS, line->busy_ns))
SIDE(side_share, out_number(OUT_SHARE, ratio(line->busy_ns, line->wall_ns)))
SIDE(side_computation, out_number(OUT_NS, line->computation_ns))
SIDE(side_computation_share, out_number(OUT_SHARE, ratio(line->computation_ns, line->wall_ns)))
SIDE(side_copies, out_number(OUT_NS, line->copies_ns))
SIDE(side_communication, OVERHEAD->lanes.communication_ns > 0
                             ? out_number(OUT_NS, line->communication_ns)
                             : out_unknown(OUT_NS))
SIDE(side_wall, out_number(OUT_NS, line->wall_ns))

static const struct line_column side_columns[] = {
    LINE_NUMBER(side_line),
    {LINE_COMPACT("session_id", "session"), .value = side_session},
    {LINE_TEXT("device", "Device Summary", 40), .value = side_name},
    {LINE_COMPACT("lane_count", "lanes"), .value = side_lanes},
    {LINE_COMPACT("event_count", "events"), .value = side_events},
    {LINE_COMPACT("busy_ns", "busy"), .value = side_busy},
    {LINE_COMPACT("utilization", "Utilization"), .value = side_share},
    {LINE_COMPACT("computation_ns", "computing"), .value = side_computation},
    {LINE_COMPACT("computation_share", "of wall"), .value = side_computation_share},
    {LINE_COMPACT("copies_ns", "copying"), .value = side_copies},
    {LINE_COMPACT("communication_ns", "communicating"), .value = side_communication},
    {{.name = "wall_ns", .data_only = true}, .value = side_wall},
};

static int emit_sides(const struct overview *overview, struct diag *diag)
{
    static const struct out_section section = {
        .name = "devices", .keep = "device busy_ns utilization copies_ns lane_count"};

    return emit_table(
        overview, &section,
        LINES_OF(side_columns, overview->overhead->sides.items, overview->overhead->sides.count),
        diag);
}

/* --- GpuMemcpy Summary. --- */

struct copy_line {
    size_t line;
    const char *key, *title;
    struct overhead_copies copies; /* summed up */
};

#define COPIES(function, cell) LINE_CELL(function, struct copy_line, cell)

COPIES(copy_line_number, out_integer(OUT_INT, (int64_t)line->line))
COPIES(copy_key, out_text(line->key))
COPIES(copy_title, out_text(title_of(context, line->title)))
COPIES(copy_calls, out_integer(OUT_INT, (int64_t)line->copies.calls))
COPIES(copy_total, out_number(OUT_NS, line->copies.total_ns))
COPIES(copy_share, out_number(OUT_SHARE, ratio(line->copies.total_ns, OVERHEAD->lanes.recorded_ns)))
COPIES(copy_bytes, out_number(OUT_BYTES, line->copies.sized_calls ? line->copies.bytes : NAN))
COPIES(copy_rate,
       out_number(OUT_BYTE_RATE, ratio(line->copies.bytes, line->copies.sized_ns * 1e-9)))

static const struct line_column copy_columns[] = {
    LINE_NUMBER(copy_line_number),
    {{.name = "copies", .data_only = true}, .value = copy_key},
    {LINE_TEXT("title", "GpuMemcpy Summary", 40), .value = copy_title},
    {LINE_COMPACT("calls", "Calls"), .value = copy_calls},
    {LINE_COMPACT("total_ns", "Total"), .value = copy_total},
    {LINE_COMPACT("share", "Ratio"), .value = copy_share},
    {LINE_COMPACT("bytes", "bytes"), .value = copy_bytes},
    {LINE_COMPACT("bandwidth_bytes_per_s", "bandwidth"), .value = copy_rate},
};

/* Lines of copies, in their order; `is_of` picks what each sums up. */
struct copy_choice {
    const char *key, *title;
    int mode, direction; /* -1: any */
    bool fills;          /* in place of copies */
};

static const struct copy_choice copy_choices[] = {
    {"all", "GpuMemcpy", -1, -1, false},
    {"async", "  GpuMemcpyAsync", COPY_ASYNC, -1, false},
    {"sync", "  GpuMemcpySync", COPY_SYNC, -1, false},
    {"unknown_mode", "  async or sync is not known", COPY_MODE_UNKNOWN, -1, false},
    {"host_to_device", "  CPU->GPU", -1, COPY_TO_DEVICE, false},
    {"device_to_host", "  GPU->CPU", -1, COPY_TO_HOST, false},
    {"device_to_device", "  GPU->GPU", -1, COPY_ON_DEVICE, false},
    {"host_to_host", "  CPU->CPU", -1, COPY_ON_HOST, false},
    {"unknown_direction", "  direction is not known", -1, COPY_DIRECTION_UNKNOWN, false},
    {"fills", "fills of memory", -1, -1, true},
};

/* As Paddle does, lines without a call are left out but for the first. */
static int emit_copies(const struct overview *overview, struct diag *diag)
{
    static const struct out_section section = {
        .name = "copies", .keep = "title total_ns share bytes bandwidth_bytes_per_s"};
    struct copy_line lines[COUNT_OF(copy_choices)];
    size_t count = 0;
    double share;

    for (size_t i = 0; i < COUNT_OF(copy_choices); i++) {
        const struct copy_choice *choice = &copy_choices[i];
        struct overhead_copies sum =
            overhead_sum_copies(overview->overhead, choice->mode, choice->direction, choice->fills);

        if (sum.calls)
            lines[count++] = (struct copy_line){i, choice->key, choice->title, sum};
    }
    if (!count) {
        out_note(overview->report->out, OUT_NOTE_PLAIN, "No copy was recorded.");
        return 0;
    }
    share = ratio(lines[0].copies.total_ns, overview->overhead->lanes.recorded_ns);
    if (lines[0].line == 0 && share >= COPY_BOUND_SHARE)
        out_note(overview->report->out, OUT_NOTE_PLAIN,
                 "Copy-bound: %llu copies take %.1f%% of what the lanes recorded; --report copies "
                 "tells who asked for them.",
                 (unsigned long long)lines[0].copies.calls, share * 100);
    return emit_table(overview, &section, LINES_OF(copy_columns, lines, count), diag);
}

/* --- Model Summary. --- */

struct phase_line {
    size_t line;
    const struct model_phase_times *times;
};

#define PHASE(function, cell) LINE_CELL(function, struct phase_line, cell)
#define STEPS                 (((const struct overview *)context)->phases->phases[MODEL_STEP])

static double known(const struct phase_line *line, double value)
{
    return line->times->calls ? value : NAN;
}

/* Shares of the steps mean something where there are steps. */
PHASE(phase_line_number, out_integer(OUT_INT, (int64_t)line->line))
PHASE(phase_name, out_text(model_phase_names[line->line]))
PHASE(phase_calls,
      line->times->calls ? out_integer(OUT_INT, (int64_t)line->times->calls) : out_unknown(OUT_INT))
PHASE(phase_total, out_number(OUT_NS, line->times->total_ns))
PHASE(phase_mean,
      out_number(OUT_NS, known(line, line->times->total_ns / (double)line->times->calls)))
PHASE(phase_max, out_number(OUT_NS, known(line, line->times->max_ns)))
PHASE(phase_min, out_number(OUT_NS, known(line, line->times->min_ns)))
PHASE(phase_union, out_number(OUT_NS, line->times->union_ns))
PHASE(phase_share, out_number(OUT_SHARE, ratio(line->times->union_ns, STEPS.union_ns)))
PHASE(phase_device, out_number(OUT_NS, line->times->device_ns > 0 ? line->times->device_ns : NAN))
PHASE(phase_device_share,
      out_number(OUT_SHARE,
                 line->times->device_ns > 0 ? ratio(line->times->device_ns, STEPS.device_ns) : NAN))

static const struct line_column phase_columns[] = {
    LINE_NUMBER(phase_line_number),
    {LINE_TEXT("phase", "Model Summary", 40), .value = phase_name},
    {LINE_COMPACT("calls", "Calls"), .value = phase_calls},
    {LINE_COMPACT("total_ns", "CPU Total"), .value = phase_total},
    {LINE_COMPACT("mean_ns", "Avg"), .value = phase_mean},
    {LINE_COMPACT("max_ns", "Max"), .value = phase_max},
    {LINE_COMPACT("min_ns", "Min"), .value = phase_min},
    {{.name = "union_ns", .data_only = true}, .value = phase_union},
    {LINE_COMPACT("share", "of steps"), .value = phase_share},
    {LINE_COMPACT("device_ns", "GPU Total"), .value = phase_device},
    {LINE_COMPACT("device_share", "of steps"), .value = phase_device_share},
};

static int emit_phases(const struct overview *overview, struct diag *diag)
{
    static const struct out_section section = {
        .name = "model", .keep = "phase total_ns share device_ns calls mean_ns"};
    const struct model_phases *phases = overview->phases;
    struct phase_line lines[MODEL_PHASES];
    size_t count = 0;

    for (size_t i = 0; i < MODEL_PHASES; i++) {
        bool is_there = i == MODEL_OTHERS ? phases->has_steps && phases->has_phases
                                          : phases->phases[i].calls > 0;

        if (is_there)
            lines[count++] = (struct phase_line){i, &phases->phases[i]};
    }
    if (!count)
        return 0;
    return emit_table(overview, &section, LINES_OF(phase_columns, lines, count), diag);
}

/* --- The report. --- */

static void note_meaning(const struct overview *overview, const struct spans_answer *spans)
{
    struct out *out = overview->report->out;

    out_note(
        out, OUT_NOTE_PLAIN,
        "Times are lengths of unions of intervals: what overlaps counts once. Wall time is %s.",
        spans->basis.wall_is_runs ? "that of the counted runs"
                                  : "that from the first event to the last");
    out_note(out, OUT_NOTE_PLAIN,
             "Computation is kernels on a device, phases called compute and, where nothing ran on "
             "a device, the operators that have none inside, collectives aside; framework overhead "
             "is the rest of what was recorded.");
    if (overview->overhead->copies.count)
        out_note(out, OUT_NOTE_PLAIN,
                 "Ratios of copies are of what all lanes recorded, summed over lanes.");
    if (overview->phases->has_steps && overview->phases->has_phases)
        out_note(out, OUT_NOTE_PLAIN,
                 "Shares of phases are of the time in which a step was running on any thread, and "
                 "of the device work launched then.");
    if (spans->basis.is_flat)
        out_note(out, OUT_NOTE_PLAIN, "Host and device have clocks of their own here: %s counts.",
                 overview->overhead->sides.count && !overview->overhead->sides.items[0].is_device
                     ? "the host"
                     : "the device alone");
}

struct measuring {
    struct overhead_parts overhead;
    struct model_phases phases;
    struct report_recording recording;
};

static int begin(void *user, const struct spans_answer *spans)
{
    struct measuring *measuring = user;
    int rc = overhead_begin(spans, &measuring->overhead);

    measuring->phases = (struct model_phases){0};
    return rc ? rc : report_recording_begin(&measuring->recording, spans);
}

static int take(void *user, struct spans_answer *spans)
{
    struct measuring *measuring = user;
    struct model_phases phases;
    int rc = overhead_add(&measuring->overhead, spans);

    if (rc == 0)
        rc = model_phases_find(spans, &phases);
    if (rc == 0) {
        model_phases_add(&measuring->phases, &phases);
        report_recording_take(&measuring->recording, spans);
    }
    return rc;
}

static int emit_all(const struct overview *overview, const struct report_recording *recording,
                    struct spans_answer *spans, struct diag *diag)
{
    int rc = emit_parts(overview, diag);

    if (rc == 0)
        rc = emit_sides(overview, diag);
    if (rc == 0)
        rc = emit_copies(overview, diag);
    if (rc == 0)
        rc = emit_phases(overview, diag);
    if (rc < 0)
        return rc;
    note_meaning(overview, spans);
    report_recording_emit(recording);
    spans->basis.is_per_run = false; /* all of the counted runs together */
    return 0;
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    struct measuring *measuring = user;
    struct overhead overhead;
    const struct overview overview = {report, &overhead, &measuring->phases};
    int rc;

    overhead_finish(&measuring->overhead, spans, &overhead);
    rc = emit_all(&overview, &measuring->recording, spans, diag);
    overhead_deinit(&overhead);
    return rc;
}

enum { READ_EVENTS = 2 };

/* From the totals of a session of many events. Returns READ_EVENTS where they do not tell. */
static int run_on_totals(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct measuring measuring = {.recording = {.report = report, .diag = diag}};
    struct overhead overhead = {0};
    struct query_cover cover = {0};
    struct spans_answer spans = {0};
    const struct overview overview = {report, &overhead, &measuring.phases};
    int rc = report_select(report, &selection, diag);

    selection.question.totals_from = REPORT_TOTALS_FROM;
    if (rc == 0) {
        rc = query_cover(report->source->store, &selection.question, &spans, &cover, diag);
        rc = rc < 0 ? rc : rc == 1 ? 0 : READ_EVENTS;
    }
    if (rc == 0 && (!cover.ops.count || model_phases_has_any(&spans, &cover)))
        rc = READ_EVENTS;
    if (rc == 0) {
        rc = overhead_of_cover(&spans, &cover, &overhead);
        rc = rc == 1 ? READ_EVENTS : rc;
    }
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the totals of the session");
    if (rc == 0)
        rc = report_recording_begin(&measuring.recording, &spans);
    if (rc == 0 && !recording_overhead_of_cover(&measuring.recording.costs, &spans, &cover,
                                                &measuring.recording.sum))
        rc = READ_EVENTS;
    if (rc == 0)
        rc = emit_all(&overview, &measuring.recording, &spans, diag);
    if (rc == 0)
        report_footer(report, &spans.basis);
    report_recording_deinit(&measuring.recording);
    overhead_deinit(&overhead);
    query_cover_deinit(&cover);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

static int run_on_spans(const struct report *report, struct diag *diag)
{
    struct measuring measuring = {.recording = {.report = report, .diag = diag}};
    const struct report_parts parts = {&measuring, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    overhead_parts_deinit(&measuring.overhead);
    report_recording_deinit(&measuring.recording);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    int rc = report->options->exact || report_filters(report->options) ||
                     !isnan(report->options->min_time_s) || !isnan(report->options->max_time_s)
                 ? READ_EVENTS
                 : run_on_totals(report, diag);

    return rc == READ_EVENTS ? run_on_spans(report, diag) : rc;
}

const struct report_kind report_overview = {
    .name = "overview",
    .about = "Paddle's overview: computation against framework overhead and what nobody recorded, "
             "how busy host and devices were, copies, phases of a model's steps.",
    .run = run,
    .tables = (const char *const[]){"overhead", "devices", "copies", "model", NULL},
    .takes = (const char *const[]){"exact", NULL},
};
