/* SPDX-License-Identifier: Apache-2.0 */
/* Paddle's event table: rows by name, inner ones indented below outer ones. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/event_tree.h"
#include "analyze/reports/report.h"
#include "base/text_buffer.h"

/* A row on its way to the output. */
struct event_line {
    const struct event_row *row;
    size_t position;
    int64_t parent; /* position of the row around it, or -1 */
    char *title;    /* the name, indented for people */
};

struct context {
    const struct event_tree *tree;
    const struct spans_answer *spans;
};

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

/* In state SUM, as Paddle has it, parts of the row's own total, else of all main rows. */
static double side_share(const struct context *context, const struct event_row *row, double ns,
                         double whole_ns)
{
    return ratio(ns, context->tree->state == EVENTS_SUM ? row->total_ns : whole_ns);
}

static double share_of(const struct context *context, const struct event_row *row)
{
    const struct event_sums *sums = event_tree_sums(context->tree, row);
    bool of_device = row->is_on_device && context->tree->state == EVENTS_CPU;

    return ratio(row->total_ns, of_device ? sums->device_ns : sums->total_ns);
}

#define CELL(function, cell) LINE_CELL(function, struct event_line, cell)
#define ROW                  (line->row)
#define ALL                  ((const struct context *)context)
#define SUMS                 event_tree_sums(ALL->tree, ROW)

/* Lanes of several sessions may have one name. */
static struct out_value session_of(const struct context *context, const struct event_row *row)
{
    if (row->lane == EVENT_NONE || context->spans->windows.count < 2)
        return out_unknown(OUT_INT);
    return out_integer(OUT_INT, context->spans->lanes.items[row->lane].session_id);
}

static struct out_value kind_text(enum event_kind kind)
{
    static const char *const kinds[] = {"op", "instance", "label", "phase", "device"};

    return out_text(kinds[kind]);
}

CELL(value_position, out_integer(OUT_INT, (int64_t)line->position))
CELL(value_parent, line->parent < 0 ? out_unknown(OUT_INT) : out_integer(OUT_INT, line->parent))
CELL(value_depth, out_integer(OUT_INT, ROW->depth))
CELL(value_kind, kind_text(ROW->kind))
CELL(value_session, session_of(ALL, ROW))
CELL(value_thread,
     out_text(ROW->lane == EVENT_NONE ? NULL : ALL->spans->lanes.items[ROW->lane].name))
CELL(value_event, out_text(line->title))
CELL(value_calls, out_integer(OUT_INT, (int64_t)ROW->calls))
CELL(value_total, out_number(OUT_NS, ROW->total_ns))
CELL(value_host, out_number(OUT_NS, ROW->host_ns))
CELL(value_host_share, out_number(OUT_SHARE, side_share(ALL, ROW, ROW->host_ns, SUMS->host_ns)))
CELL(value_device, out_number(OUT_NS, ROW->device_ns))
CELL(value_device_share,
     out_number(OUT_SHARE, side_share(ALL, ROW, ROW->device_ns, SUMS->device_ns)))
CELL(value_min, out_number(OUT_NS, ROW->min_ns))
CELL(value_max, out_number(OUT_NS, ROW->max_ns))
CELL(value_mean, out_number(OUT_NS, ROW->total_ns / (double)ROW->calls))
CELL(value_self, out_number(OUT_NS, ROW->self_ns))
CELL(value_share, out_number(OUT_SHARE, share_of(ALL, ROW)))
CELL(value_first_end, out_integer(OUT_WHEN, ROW->first_end_ns))

static const struct line_column columns[] = {
    {{.name = "position", .data_only = true},
     .about = "place in the table",
     .value = value_position},
    {{.name = "parent", .data_only = true},
     .about = "position of the row that it is in",
     .value = value_parent},
    {{.name = "depth", .data_only = true}, .about = "rows around it", .value = value_depth},
    {{.name = "kind", .data_only = true},
     .about = "op, instance, label, phase or device",
     .value = value_kind},
    {LINE_COMPACT("session_id", "session"),
     .about = "with --per-thread, of several sessions that of the lane", .value = value_session},
    {LINE_TEXT("thread", "thread", 20), .about = "with --per-thread, its lane",
     .value = value_thread},
    {LINE_TEXT("event", "Event", 52), .also = {"name"}, .about = "type of operator, or name",
     .value = value_event},
    {LINE_COMPACT("calls", "Calls"), .about = "calls", .value = value_calls},
    {LINE_COMPACT("total_ns", "Total"), .also = {"total", "time"},
     .about = "time of all calls, that of --state, what is inside included", .value = value_total},
    {LINE_COMPACT("host_ns", "CPU Time"), .also = {"cpu_time", "cputotal"},
     .about = "host time, what is inside included", .value = value_host},
    {LINE_COMPACT("host_share", "(Ratio)"),
     .about = "of the host time of all main rows; with --state all of the row's total",
     .value = value_host_share},
    {LINE_COMPACT("device_ns", "GPU Time"), .also = {"gpu_time", "gputotal"},
     .about = "time in which a device worked on what was launched in it", .value = value_device},
    {LINE_COMPACT("device_share", "(Ratio)"),
     .about = "of the device time of all main rows; with --state all of the row's total",
     .value = value_device_share},
    {LINE_COMPACT("min_ns", "Min."), .also = {"min", "cpumin"}, .about = "shortest call",
     .value = value_min},
    {LINE_COMPACT("max_ns", "Max."), .also = {"max", "cpumax"}, .about = "longest call",
     .value = value_max},
    {LINE_COMPACT("mean_ns", "Ave."), .also = {"ave", "avg", "mean", "cpuavg"},
     .about = "total / calls", .value = value_mean},
    {{.name = "self_ns", .data_only = true},
     .also = {"self"},
     .about = "host time that is in nothing inside",
     .value = value_self},
    {LINE_COMPACT("share", "Ratio."), .also = {"ratio"},
     .about = "of the totals of all main rows; for what ran on a device, beside host rows, of "
              "their device time",
     .value = value_share},
    {{.name = "first_end_ns", .data_only = true},
     .about = "end of the call that ended first",
     .value = value_first_end},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* --- Order. --- */

static const char *order_of(const struct report *report)
{
    /* as in the choices of --sorted-by */
    static const char *const keys[] = {"+first_end_ns", "calls", "total", "max", "+min", "ave"};

    if (report->options->sorted_by != CHOICE_NONE)
        return keys[report->options->sorted_by];
    return report_order_by(report);
}

/* The place of each row when all are sorted by the column. */
static int rank_rows(const struct report *report, const struct context *context, size_t *rank,
                     struct diag *diag)
{
    size_t count = context->tree->rows.count, sorted_count, *sorted = NULL;
    struct event_line *all = calloc(count ? count : 1, sizeof(*all));
    struct lines lines = {
        .columns = columns,
        .column_count = COLUMNS,
        .items = all,
        .count = count,
        .item_bytes = sizeof(*all),
        .context = context,
        .order_by = order_of(report),
    };
    int rc;

    if (!all)
        return diag_set(diag, -ENOMEM, "no memory for the table");
    for (size_t i = 0; i < count; i++)
        all[i] = (struct event_line){.row = &context->tree->rows.items[i],
                                     .title = (char *)context->tree->rows.items[i].name};
    rc = lines_sort(&lines, &sorted, &sorted_count, diag);
    for (size_t i = 0; i < sorted_count && rc == 0; i++)
        rank[sorted[i]] = i;
    free(sorted);
    free(all);
    return rc;
}

/* --- Printing. --- */

/* Deeper ones are not indented further, or thousands that lie in each other would fill disks. */
enum { INDENTS_MAX = 100 };

/* The name as people see it. */
static char *indent(const struct report *report, const struct event_row *row)
{
    struct text_buffer text = {0};

    for (uint32_t i = 0; i < row->depth && i < INDENTS_MAX && !report_is_for_programs(report); i++)
        text_buffer_add(&text, "  ", 2);
    text_buffer_add(&text, row->name, strlen(row->name));
    if (text.failed)
        text_buffer_deinit(&text);
    return text.text;
}

static int emit_lines(const struct report *report, const struct context *context,
                      const uint32_t *order, size_t count, struct diag *diag)
{
    static const struct out_section section = {
        .name = "events", .keep = "event total_ns calls host_ns device_ns mean_ns"};
    struct event_line *items = calloc(count ? count : 1, sizeof(*items));
    size_t *position = calloc(context->tree->rows.count + 1, sizeof(*position));
    struct line_column shown[COLUMNS];
    struct lines lines = {
        .columns = shown,
        .column_count = COLUMNS,
        .items = items,
        .count = count,
        .item_bytes = sizeof(*items),
        .context = context,
        .order_by = "+position",
    };
    int rc = items && position ? 0 : diag_set(diag, -ENOMEM, "no memory for the table");

    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct event_row *row = &context->tree->rows.items[order[i]];

        position[order[i]] = i;
        items[i] = (struct event_line){
            .row = row,
            .position = i,
            .parent = row->parent == EVENT_NONE ? -1 : (int64_t)position[row->parent],
            .title = indent(report, row),
        };
        if (!items[i].title)
            rc = diag_set(diag, -ENOMEM, "no memory for the table");
    }
    memcpy(shown, columns, sizeof(columns));
    for (size_t i = 0; i < COLUMNS && !context->tree->has_device; i++) {
        /* Without a device these say what the total says. */
        if (strncmp(shown[i].out.name, "host_", 5) == 0)
            shown[i].out = (struct out_column){.name = shown[i].out.name, .data_only = true};
    }
    if (rc == 0)
        rc = lines_emit(report->out, &section, &lines, NULL, diag);
    for (size_t i = 0; i < count && items; i++)
        free(items[i].title);
    free(items);
    free(position);
    return rc;
}

/* --- Notes. --- */

static void note_state(const struct report *report, const struct event_tree *tree)
{
    static const char *const states[] = {
        [EVENTS_CPU] = "host time",
        [EVENTS_GPU] = "the time of device work launched in a row",
        [EVENTS_SUM] = ("host and device time added, as Paddle's state All has it: less was waited "
                        "for where they overlap"),
    };

    if (tree->has_device)
        out_note(report->out, OUT_NOTE_PLAIN, "Total, Min., Max. and Ave. count %s%s.",
                 states[tree->state],
                 report->options->state == CHOICE_NONE && tree->state == EVENTS_GPU
                     ? ", of which there is more than of host time; --state cpu shows that"
                     : "");
    out_note(report->out, OUT_NOTE_PLAIN,
             "Ratio. is of the totals of all main rows%s, not of wall time: what is inside of a "
             "row is part of it.",
             report->options->per_thread ? " of the thread" : "");
    if (tree->has_device && tree->state == EVENTS_SUM)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Ratios of CPU and GPU time are of the row's total. GPU time counts once what ran "
                 "at the same time on one device.");
    else if (tree->has_device)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Ratios of CPU and GPU time are of those of all main rows. GPU time counts once "
                 "what ran at the same time on one device.");
}

/* Where a device exists: rows that matter, whose time is nearly all the host's. */
static void note_host_bound(const struct report *report, const struct context *context)
{
    const struct event_tree *tree = context->tree;

    for (size_t i = 0; i < tree->rows.count && tree->has_device; i++) {
        const struct event_row *row = &tree->rows.items[i];
        double share = ratio(row->host_ns, event_tree_sums(tree, row)->host_ns);

        if (row->parent == EVENT_NONE && row->kind == EVENT_OP && share >= 0.2 &&
            !isnan(row->device_ns) && row->device_ns <= 0.1 * row->host_ns)
            out_note(report->out, OUT_NOTE_PLAIN,
                     "Host-bound: %s has %.1f%% of the host time of all main rows, and a device "
                     "worked for it in %.1f%% of that time.",
                     row->name, share * 100, row->device_ns / row->host_ns * 100);
    }
}

/* --- The report. --- */

static int emit_tree(const struct report *report, const struct context *context, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    const struct event_choice choice = {
        .top = report_top(report),
        .min_ns = analyze_bound_ns(options->min_time_s),
        .max_ns = analyze_bound_ns(options->max_time_s),
    };
    size_t *rank = calloc(context->tree->rows.count + 1, sizeof(*rank));
    size_t count, main_count, main_shown;
    uint32_t *order = NULL;
    int rc = rank ? rank_rows(report, context, rank, diag)
                  : diag_set(diag, -ENOMEM, "no memory for the table");

    if (rc == 0 && event_tree_order(context->tree, rank, &choice, &order, &count, &main_count,
                                    &main_shown) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    free(rank);
    if (rc < 0)
        return rc;
    if (count) {
        rc = emit_lines(report, context, order, count, diag);
    } else {
        diag_set(diag, 0, "nothing matches what is asked for%s",
                 options->detail == EVENTS_ALL ? ""
                                               : "; --detail all shows calls and functions, too");
        rc = REPORT_NOTHING;
    }
    if (rc == 0 && main_shown < main_count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%zu of %zu main rows are shown, with what is in them; -t 0 shows all.",
                 main_shown, main_count);
    free(order);
    return rc;
}

struct building {
    struct event_options options;
    struct event_builder *builder;
};

static int begin(void *user, const struct spans_answer *spans)
{
    struct building *building = user;

    return event_tree_begin(spans, &building->options, &building->builder);
}

static int take(void *user, struct spans_answer *spans)
{
    return event_tree_add(((struct building *)user)->builder, spans);
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    struct building *building = user;
    struct event_tree tree;
    const struct context context = {&tree, spans};
    int rc = event_tree_finish(building->builder, spans, &tree);

    if (rc < 0)
        diag_set(diag, rc, "no memory for the table");
    if (rc == 0)
        rc = emit_tree(report, &context, diag);
    if (rc == 0) {
        note_state(report, &tree);
        note_host_bound(report, &context);
        spans->basis.is_per_run = false; /* the rows are totals of the counted runs */
    }
    event_tree_deinit(&tree);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    struct building building = {
        .options = {
            .detail = options->detail == CHOICE_NONE ? EVENTS_DEFAULT
                                                     : (enum event_detail)options->detail,
            .state = options->state == CHOICE_NONE ? EVENTS_AUTO : (enum event_state)options->state,
            .per_thread = options->per_thread,
        }};
    const struct report_parts parts = {&building, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    event_builder_destroy(&building.builder);
    return rc;
}

static double time_of(const void *line)
{
    return ((const struct event_line *)line)->row->total_ns;
}

static const char *const takes[] = {"detail", "per-thread", "sorted-by", "state", NULL};

const struct report_kind report_events = {
    .name = "events",
    .about = "Paddle's event table: rows by type or name, what is inside of them indented below, "
             "with host and device time.",
    .run = run,
    .tables = (const char *const[]){"events", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = COLUMNS,
              .top = 20,
              .order_by = "total",
              .time_ns = time_of},
    .explain = {.lacks = "not in it: position, parent, session_id"},
};
