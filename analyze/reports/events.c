/* SPDX-License-Identifier: Apache-2.0 */
/* Paddle's event table: rows by name, inner ones indented below outer ones. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/event_tree.h"
#include "analyze/out/private.h"
#include "analyze/reports/report.h"

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

/* The name as people see it. */
static char *indent(const struct report *report, const struct event_row *row)
{
    struct text_buffer text = {0};

    for (uint32_t i = 0; i < row->depth && !report_is_for_programs(report); i++)
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
        diag_set(diag, 0, "nothing matches what is asked for");
        rc = REPORT_NOTHING;
    }
    if (rc == 0 && main_shown < main_count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%zu of %zu main rows are shown, with what is in them; -t 0 shows all.",
                 main_shown, main_count);
    free(order);
    return rc;
}

static int emit(const struct report *report, struct spans_answer *spans, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    const struct event_options event_options = {
        .detail =
            options->detail == CHOICE_NONE ? EVENTS_DEFAULT : (enum event_detail)options->detail,
        .state = options->state == CHOICE_NONE ? EVENTS_AUTO : (enum event_state)options->state,
        .per_thread = options->per_thread,
    };
    struct event_tree tree;
    const struct context context = {&tree, spans};
    int rc = event_tree_build(spans, &event_options, &tree);

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
    return report_on_spans(report, emit, diag);
}

static double time_of(const void *line)
{
    return ((const struct event_line *)line)->row->total_ns;
}

static const char *const takes[] = {"detail", "per-thread", "sorted-by", "state", NULL};

static const char explain_sql[] =
    "WITH point AS (\n"
    "    SELECT lane_id, event_id, dur_ns, 1 AS opens, start_ns AS time_ns FROM every_span\n"
    "     WHERE side = 'host' AND dur_ns > 0 AND type NOT IN ('mark', 'counter')\n"
    "    UNION ALL SELECT lane_id, event_id, dur_ns, -1, end_ns FROM every_span\n"
    "     WHERE side = 'host' AND dur_ns > 0 AND type NOT IN ('mark', 'counter')\n"
    "    UNION ALL SELECT lane_id, event_id, dur_ns, 0, start_ns FROM every_span\n"
    "     WHERE side = 'host' AND dur_ns = 0),\n"
    "ordered AS (\n"
    "    SELECT *, row_number() OVER o AS place, sum(opens) OVER o AS depth FROM point\n"
    "    WINDOW o AS (PARTITION BY lane_id\n"
    "                 ORDER BY time_ns, opens - 3 * (opens = 0), -opens * dur_ns, -opens * "
    "event_id\n"
    "                 ROWS UNBOUNDED PRECEDING)),\n"
    "owned AS (\n"
    "    SELECT *, sum(opens = 1) OVER (PARTITION BY lane_id, depth ORDER BY place\n"
    "                                   ROWS UNBOUNDED PRECEDING) AS nth FROM ordered),\n"
    "held AS (\n"
    "    SELECT *, CASE WHEN nth > 0 THEN\n"
    "           first_value(event_id) OVER (PARTITION BY lane_id, depth, nth ORDER BY place) END "
    "AS owner\n"
    "      FROM owned),\n"
    "/* A span without a length is in the shortest one that begins with it, if any does. */\n"
    "at_once AS MATERIALIZED (\n"
    "    SELECT CAST(event_id AS INTEGER) AS event_id, coalesce(zero_id, begun_id) AS parent_id "
    "FROM (\n"
    "           SELECT event_id, dur_ns, min(CASE WHEN dur_ns = 0 AND is_span THEN event_id END) "
    "OVER (\n"
    "                      PARTITION BY lane_id, start_ns ORDER BY event_id\n"
    "                      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS zero_id,\n"
    "                  first_value(CASE WHEN dur_ns > 0 AND is_span THEN event_id END) OVER (\n"
    "                      PARTITION BY lane_id, start_ns\n"
    "                      ORDER BY dur_ns = 0 OR NOT is_span, dur_ns, event_id) AS begun_id\n"
    "             FROM (SELECT *, type NOT IN ('mark', 'counter') AS is_span FROM every_span\n"
    "                    WHERE side = 'host')) WHERE dur_ns = 0),\n"
    "inside AS MATERIALIZED (\n"
    "    SELECT event_id, CAST(before AS INTEGER) AS parent_id\n"
    "      FROM (SELECT *, lag(owner) OVER (PARTITION BY lane_id ORDER BY place) AS before FROM "
    "held)\n"
    "     WHERE opens = 1\n"
    "    UNION ALL\n"
    "    SELECT h.event_id, CAST(coalesce(a.parent_id, h.owner) AS INTEGER)\n"
    "      FROM at_once a JOIN (SELECT CAST(event_id AS INTEGER) AS event_id, owner FROM held\n"
    "                            WHERE opens = 0) h USING (event_id)),\n"
    "sorted AS (\n"
    "    SELECT s.*, CASE WHEN type IN ('label', 'phase') THEN type\n"
    "                     WHEN type IN ('mark', 'counter') THEN 'mark'\n"
    "                     WHEN type IN ('copy', 'memset', 'Copy') OR type GLOB 'GpuMemcpy*' THEN "
    "'copy'\n"
    "                     WHEN type IN ('cuda_runtime', 'cuda_driver', 'os_runtime') THEN 'call'\n"
    "                     ELSE 'work' END AS sort,\n"
    "           type IN ('', 'cpu_op', 'kernel', 'label', 'phase', 'mark', 'counter', 'copy', "
    "'memset',\n"
    "                    'cuda_runtime', 'cuda_driver', 'os_runtime') AS by_name,\n"
    "           event_id IN (SELECT event_id FROM counted_span) AS is_shown FROM every_span s),\n"
    "span AS MATERIALIZED (\n"
    "    SELECT s.*, i.parent_id, CASE WHEN by_name THEN name ELSE type END AS word,\n"
    "           is_shown AND CASE sort WHEN 'copy' THEN 1 WHEN 'call' THEN {detail} = 2\n"
    "                WHEN 'label' THEN side = 'host' WHEN 'phase' THEN side = 'host' AND {detail} "
    "> 0\n"
    "                WHEN 'work' THEN side = 'host' OR {detail} > 0 ELSE 0 END AS has_row,\n"
    "           CASE WHEN {detail} = 2 AND side = 'host' AND sort NOT IN ('label', 'phase')\n"
    "                THEN CASE WHEN by_name THEN input_shapes ELSE name END END AS instance\n"
    "      FROM sorted s LEFT JOIN inside i USING (event_id)),\n"
    "named AS MATERIALIZED (\n"
    "    SELECT *, CASE WHEN has_row THEN '/' || json_quote(word) ELSE '' END AS step,\n"
    "           CASE WHEN has_row AND instance IS NOT NULL THEN '#' || json_quote(instance) ELSE "
    "'' END\n"
    "           AS below, CASE WHEN {per_thread} THEN '' || lane_id ELSE '' END AS root FROM "
    "span),\n"
    "located(event_id, above, path) AS (\n"
    "    SELECT event_id, root, root || step || below FROM named\n"
    "     WHERE side = 'host' AND parent_id IS NULL\n"
    "    UNION ALL\n"
    "    SELECT n.event_id, l.path, l.path || n.step || n.below\n"
    "      FROM located l JOIN named n ON n.parent_id = l.event_id),\n"
    "inner_time AS MATERIALIZED (\n"
    "    SELECT CAST(parent_id AS INTEGER) AS outer_id, sum(dur_ns) AS inner_ns FROM named\n"
    "     WHERE sort NOT IN ('phase', 'mark') AND parent_id IS NOT NULL GROUP BY parent_id),\n"
    "host_work AS MATERIALIZED (\n"
    "    SELECT n.*, l.above, l.path, max(0, dur_ns - coalesce(i.inner_ns, 0)) AS self_ns\n"
    "      FROM named n JOIN located l USING (event_id)\n"
    "      LEFT JOIN inner_time i ON i.outer_id = n.event_id),\n"
    "device_work AS MATERIALIZED (\n"
    "    SELECT d.*, h.event_id AS launch_id, coalesce(d.device, d.lane_id) AS place,\n"
    "           CASE WHEN h.path <> h.root THEN h.path END AS outer_path,\n"
    "           CASE WHEN h.path <> h.root THEN h.root ELSE d.root END AS row_root,\n"
    "           h.path IS NULL OR h.path = h.root OR (d.op_id <> h.op_id AND d.has_row) AS is_own\n"
    "      FROM named d LEFT JOIN launching l ON l.session_id = d.session_id AND l.run IS d.run\n"
    "           AND l.correlation = d.correlation LEFT JOIN host_work h ON h.event_id = "
    "l.event_id\n"
    "     WHERE d.side = 'device' AND d.is_shown AND d.sort NOT IN ('label', 'phase', 'mark')),\n"
    "launched(event_id, dur_ns) AS (\n"
    "    SELECT launch_id, dur_ns FROM device_work WHERE launch_id IS NOT NULL\n"
    "    UNION ALL\n"
    "    SELECT n.parent_id, l.dur_ns FROM launched l JOIN named n USING (event_id)\n"
    "     WHERE n.parent_id IS NOT NULL),\n"
    "device_time AS (SELECT event_id, sum(dur_ns) AS device_ns FROM launched GROUP BY event_id),\n"
    "host_part AS MATERIALIZED (\n"
    "    SELECT h.*, coalesce(d.device_ns, 0) AS device_ns, i AS is_instance,\n"
    "           CASE i WHEN 0 THEN above || step ELSE path END AS row_path\n"
    "      FROM host_work h JOIN (SELECT 0 AS i UNION ALL SELECT 1) ON i = 0 OR below <> ''\n"
    "      LEFT JOIN device_time d USING (event_id) WHERE has_row),\n"
    "device_part AS MATERIALIZED (\n"
    "    SELECT *, coalesce(outer_path, root) AS above, CASE WHEN is_own\n"
    "                  THEN coalesce(outer_path, root) || '/' || json_quote(word)\n"
    "                  ELSE outer_path END AS row_path FROM device_work),\n"
    "line AS MATERIALIZED (\n"
    "    SELECT row_path, parent, event, kind, root, min(turn) /* those of the first */\n"
    "      FROM (SELECT row_path, CASE is_instance WHEN 1 THEN above || step ELSE above END AS "
    "parent,\n"
    "                   CASE is_instance WHEN 1 THEN instance ELSE word END AS event,\n"
    "                   CASE WHEN is_instance THEN 1 WHEN sort = 'label' THEN 2\n"
    "                        WHEN sort = 'phase' THEN 3 ELSE 0 END AS kind, root,\n"
    "                   row_number() OVER (ORDER BY lane_id, start_ns, end_ns DESC, event_id "
    "DESC)\n"
    "                   AS turn\n"
    "              FROM host_part\n"
    "            UNION ALL SELECT row_path, above, word, 4, row_root, 1 << 40 FROM device_part\n"
    "             WHERE is_own) GROUP BY row_path),\n"
    "within(path, row_path, depth) AS (\n"
    "    SELECT row_path, row_path, 0 FROM line\n"
    "    UNION ALL\n"
    "    SELECT w.path, l.parent, w.depth + 1 FROM within w JOIN line l USING (row_path)\n"
    "     WHERE l.parent <> l.root),\n"
    "overlaid AS (\n"
    "    SELECT w.row_path, start_ns, end_ns, max(end_ns) OVER (\n"
    "               PARTITION BY w.row_path, d.session_id, place ORDER BY start_ns, event_id\n"
    "               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns\n"
    "      FROM device_part d JOIN within w ON w.path = d.row_path),\n"
    "busy AS (\n"
    "    SELECT row_path, sum(max(0, end_ns - max(start_ns, coalesce(before_ns, start_ns))))\n"
    "           AS device_ns FROM overlaid GROUP BY row_path),\n"
    "own_device AS (\n"
    "    SELECT row_path, count(*) AS calls, sum(dur_ns) AS total_ns, min(dur_ns) AS min_ns,\n"
    "           max(dur_ns) AS max_ns, min(end_ns) AS first_end_ns\n"
    "      FROM device_part WHERE is_own GROUP BY row_path),\n"
    "own_host_time AS (\n"
    "    SELECT row_path, count(*) AS calls, sum(dur_ns) AS host_ns, sum(self_ns) AS self_ns,\n"
    "           min(dur_ns) AS host_min_ns, max(dur_ns) AS host_max_ns, sum(device_ns) AS "
    "launched_ns,\n"
    "           min(device_ns) AS launched_min_ns, max(device_ns) AS launched_max_ns,\n"
    "           min(dur_ns + device_ns) AS both_min_ns, max(dur_ns + device_ns) AS both_max_ns,\n"
    "           min(end_ns) AS first_end_ns FROM host_part GROUP BY row_path),\n"
    "summed AS (\n"
    "    SELECT l.*, h.*, b.device_ns, d.calls AS own_calls, d.total_ns AS own_total_ns,\n"
    "           d.min_ns AS own_min_ns, d.max_ns AS own_max_ns, d.first_end_ns AS own_end_ns,\n"
    "           CASE WHEN {state} <> 'auto' THEN {state}\n"
    "                WHEN coalesce(sum(b.device_ns) FILTER (WHERE l.parent = l.root) OVER (), 0)\n"
    "                     > coalesce(sum(h.host_ns) FILTER (WHERE l.parent = l.root) OVER (), 0)\n"
    "                THEN 'gpu' ELSE 'cpu' END AS state\n"
    "      FROM (SELECT line.*, max(depth) AS depth FROM line JOIN within w ON w.path = "
    "line.row_path\n"
    "             GROUP BY line.row_path) l\n"
    "      LEFT JOIN own_host_time h USING (row_path) LEFT JOIN own_device d USING (row_path)\n"
    "      LEFT JOIN busy b USING (row_path)),\n"
    "valued AS (\n"
    "    SELECT *, calls IS NULL AS on_device,\n"
    "           CASE state WHEN 'cpu' THEN host_ns WHEN 'gpu' THEN launched_ns\n"
    "                      ELSE host_ns + launched_ns END AS value_ns,\n"
    "           CASE state WHEN 'cpu' THEN host_min_ns WHEN 'gpu' THEN launched_min_ns\n"
    "                      ELSE both_min_ns END AS value_min_ns,\n"
    "           CASE state WHEN 'cpu' THEN host_max_ns WHEN 'gpu' THEN launched_max_ns\n"
    "                      ELSE both_max_ns END AS value_max_ns FROM summed),\n"
    "told AS (\n"
    "    SELECT *, coalesce(value_ns, 0) + CASE WHEN on_device OR state <> 'cpu'\n"
    "                                           THEN coalesce(own_total_ns, 0) ELSE 0 END AS "
    "total_ns,\n"
    "           on_device OR (state <> 'cpu' AND value_ns = 0 AND own_calls > 0) AS has_own_range\n"
    "      FROM valued),\n"
    "whole AS (\n"
    "    SELECT *, sum(CASE WHEN on_device AND state = 'cpu' THEN 0 ELSE total_ns END)\n"
    "                  FILTER (WHERE parent = root) OVER main AS main_ns,\n"
    "           sum(host_ns) FILTER (WHERE parent = root) OVER main AS main_host_ns,\n"
    "           sum(device_ns) FILTER (WHERE parent = root) OVER main AS main_device_ns\n"
    "      FROM told WINDOW main AS (PARTITION BY root))\n"
    "SELECT event, CASE kind WHEN 0 THEN 'op' WHEN 1 THEN 'instance' WHEN 2 THEN 'label'\n"
    "                   WHEN 3 THEN 'phase' ELSE 'device' END AS kind, depth,\n"
    "       CASE WHEN {per_thread} THEN (SELECT coalesce(name, kind || ' ' || coalesce(native_id, "
    "0))\n"
    "                                      FROM lane WHERE '' || lane_id = root) END AS thread,\n"
    "       coalesce(calls, own_calls) AS calls, total_ns, host_ns,\n"
    "       host_ns * 1.0 / CASE state WHEN 'all' THEN total_ns ELSE main_host_ns END AS "
    "host_share,\n"
    "       device_ns, device_ns * 1.0 / CASE state WHEN 'all' THEN total_ns ELSE main_device_ns "
    "END\n"
    "       AS device_share, CASE WHEN has_own_range THEN own_min_ns ELSE value_min_ns END AS "
    "min_ns,\n"
    "       CASE WHEN has_own_range THEN own_max_ns ELSE value_max_ns END AS max_ns,\n"
    "       total_ns * 1.0 / coalesce(calls, own_calls) AS mean_ns, self_ns,\n"
    "       total_ns * 1.0 / CASE WHEN on_device AND state = 'cpu' THEN main_device_ns\n"
    "                             ELSE main_ns END AS share,\n"
    "       min(coalesce(first_end_ns, own_end_ns), coalesce(own_end_ns, first_end_ns)) AS "
    "first_end_ns\n"
    "  FROM whole ORDER BY row_path";

const struct report_kind report_events = {
    .name = "events",
    .about = "Paddle's event table: rows by type or name, what is inside of them indented below, "
             "with host and device time.",
    .run = run,
    .tables = (const char *const[]){"events", NULL},
    .explain = explain_sql,
    .explain_lacks = "not in it: position, parent, session_id",
    .takes = takes,
    .columns = columns,
    .column_count = COLUMNS,
    .top = 20,
    .order_by = "total",
    .time_ns = time_of,
};
