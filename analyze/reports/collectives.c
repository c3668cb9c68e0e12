/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: how often, how long, how much they move and how fast, who comes last. */
#include "analyze/reports/collectives.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/environment.h"
#include "analyze/query/op_class.h"
#include "analyze/stats/groups.h"

/* --- By name. --- */

struct name_line {
    const char *name;
    bool is_device;
    uint64_t calls;
    double total_ns, min_ns, max_ns;
    double bytes, sized_ns;   /* of calls whose size is known, and their time */
    double bus_bytes, bus_ns; /* the same times the factor, where that is known */
};

#define CELL(name, value) LINE_CELL(name, struct name_line, value)

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static double rate(double bytes, double ns)
{
    return ratio(bytes, ns * 1e-9);
}

CELL(name_of, out_text(line->name))
CELL(side_of, out_text(line->is_device ? "device" : "host"))
CELL(calls_of, out_integer(OUT_INT, (int64_t)line->calls))
CELL(total_of, out_number(OUT_NS, line->total_ns))
CELL(mean_of, out_number(OUT_NS, line->total_ns / (double)line->calls))
CELL(min_of, out_number(OUT_NS, line->min_ns))
CELL(max_of, out_number(OUT_NS, line->max_ns))
CELL(bytes_of, out_number(OUT_BYTES, line->sized_ns > 0 ? line->bytes : NAN))
CELL(rate_of, out_number(OUT_BYTE_RATE, rate(line->bytes, line->sized_ns)))
CELL(bus_of, out_number(OUT_BYTE_RATE, rate(line->bus_bytes, line->bus_ns)))

static const struct line_column columns[] = {
    {LINE_TEXT("name", "Name", 50), {NULL}, "collective, send or receive", name_of},
    {LINE_COMPACT("calls", "Count"), {"count"}, "calls, of all sessions", calls_of},
    {LINE_COMPACT("total_ns", "Total"),
     {"time"},
     "sum of durations, waits for others included",
     total_of},
    {LINE_COMPACT("mean_ns", "Mean"), {NULL}, "mean duration", mean_of},
    {LINE_COMPACT("bus_bytes_per_s", "Bus"),
     {"bus"},
     "bytes by the share that crosses each link, as in nccl-tests, in the time of those calls",
     bus_of},
    {LINE_COMPACT("bandwidth_bytes_per_s", "Bandwidth"),
     {"bandwidth"},
     "bytes in the time of those calls",
     rate_of},
    {LINE_COMPACT("bytes", "Bytes"), {NULL}, "of messages, as far as known", bytes_of},
    {LINE_COMPACT("side", "On"), {NULL}, "host or device", side_of},
    {LINE_COMPACT("min_ns", "Min"), {NULL}, "shortest", min_of},
    {LINE_COMPACT("max_ns", "Max"), {NULL}, "longest", max_of},
};

struct name_lines {
    ARRAY_OF(struct name_line) lines;
    struct groups groups;
};

static int add_line(struct name_lines *all, const struct collective_line *line)
{
    struct name_line made = {.name = line->name, .is_device = line->is_device, .min_ns = INFINITY};
    struct place_key key = {0};
    struct name_line *name;
    uint32_t group;
    int rc;

    groups_add_text(&key, line->name);
    rc = groups_find(&all->groups, key, &group);
    if (rc == 1)
        rc = array_push(&all->lines, made);
    if (rc < 0)
        return rc;
    name = &all->lines.items[group];
    name->calls += line->calls;
    name->total_ns += line->total_ns;
    name->min_ns = fmin(name->min_ns, line->min_ns);
    name->max_ns = fmax(name->max_ns, line->max_ns);
    if (!isnan(line->bytes)) {
        name->bytes += line->bytes * (double)line->calls;
        name->sized_ns += line->total_ns;
    }
    if (!isnan(line->bytes * line->bus_factor)) {
        name->bus_bytes += line->bytes * line->bus_factor * (double)line->calls;
        name->bus_ns += line->total_ns;
    }
    return 0;
}

static int emit_names(const struct report *report, const struct collectives *collectives,
                      struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"total_ns"}, .color = "side"};
    static const struct out_section section = {
        .name = "collectives",
        .keep = "name total_ns calls bus_bytes_per_s mean_ns bandwidth_bytes_per_s",
        .chart = &chart};
    struct name_lines all = {0};
    int rc = 0;

    for (size_t i = 0; i < collectives->lines.count && rc == 0; i++)
        rc = add_line(&all, &collectives->lines.items[i]);
    if (rc == 0)
        rc = report_emit_lines(report, &section, all.lines.items, all.lines.count,
                               sizeof(*all.lines.items), NULL, diag);
    array_deinit(&all.lines);
    groups_deinit(&all.groups);
    return rc;
}

/* --- By size. --- */

#define SIZE(name, value) LINE_CELL(name, struct collective_line, value)

static double mean_ns(const struct collective_line *line)
{
    return line->total_ns / (double)line->calls;
}

SIZE(size_name, out_text(line->name))
SIZE(size_bytes, out_number(OUT_BYTES, line->bytes))
SIZE(size_ranks,
     isnan(line->ranks) ? out_unknown(OUT_INT) : out_integer(OUT_INT, (int64_t)line->ranks))
SIZE(size_calls, out_integer(OUT_INT, (int64_t)line->calls))
SIZE(size_mean, out_number(OUT_NS, mean_ns(line)))
SIZE(size_min, out_number(OUT_NS, line->min_ns))
SIZE(size_rate, out_number(OUT_BYTE_RATE, rate(line->bytes, mean_ns(line))))
SIZE(size_bus, out_number(OUT_BYTE_RATE, rate(line->bytes * line->bus_factor, mean_ns(line))))
SIZE(size_best, out_number(OUT_BYTE_RATE, rate(line->bytes * line->bus_factor, line->min_ns)))
SIZE(size_total, out_number(OUT_NS, line->total_ns))

static const struct line_column size_columns[] = {
    {LINE_TEXT("name", "By size", 50), .value = size_name},
    {LINE_COMPACT("message_bytes", "Message"), .value = size_bytes},
    {LINE_COMPACT("rank_count", "Ranks"), .value = size_ranks},
    {LINE_COMPACT("calls", "Count"), .value = size_calls},
    {LINE_COMPACT("mean_ns", "Mean"), .value = size_mean},
    {LINE_COMPACT("bus_bytes_per_s", "Bus"), .value = size_bus},
    {LINE_COMPACT("best_bus_bytes_per_s", "Best"), .value = size_best},
    {LINE_COMPACT("bandwidth_bytes_per_s", "Bandwidth"), .value = size_rate},
    {LINE_COMPACT("min_ns", "Min"), .value = size_min},
    {{.name = "total_ns", .data_only = true}, .value = size_total},
};

static int emit_sizes(const struct report *report, const struct collectives *collectives,
                      struct diag *diag)
{
    static const struct out_section section = {
        .name = "sizes",
        .title = "By size of the message",
        .keep = "name message_bytes mean_ns bus_bytes_per_s calls rank_count",
        .name_columns = 32}; /* "...ReduceScatter_RING_LL_Sum_f32" */
    const struct lines lines = {
        .columns = size_columns,
        .column_count = sizeof(size_columns) / sizeof(size_columns[0]),
        .items = collectives->lines.items,
        .count = collectives->lines.count,
        .item_bytes = sizeof(*collectives->lines.items),
        .order_by = "total_ns",
        .top = report_top(report),
    };
    size_t shown;
    int rc = lines_emit(report->out, &section, &lines, &shown, diag);

    if (rc == 0 && shown < lines.count)
        out_note(report->out, OUT_NOTE_PLAIN, "%zu of %zu sizes are shown.", shown, lines.count);
    return rc;
}

/* --- Stragglers. --- */

#define LATE(name, value) LINE_CELL(name, struct straggler, value)
#define LINE              (&((const struct collectives *)context)->lines.items[line->line])

LATE(late_name, out_text(LINE->name))
LATE(late_bytes, out_number(OUT_BYTES, LINE->bytes))
LATE(late_sessions, out_integer(OUT_INT, (int64_t)line->session_count))
LATE(late_calls, out_integer(OUT_INT, (int64_t)line->calls))
LATE(late_transfer, out_number(OUT_NS, line->transfer_ns))
LATE(late_wait, out_number(OUT_NS, line->wait_ns))
LATE(late_wait_sum, out_number(OUT_NS, line->wait_ns *(double)line->calls))
LATE(late_bus, out_number(OUT_BYTE_RATE, rate(LINE->bytes * LINE->bus_factor, line->transfer_ns)))
LATE(late_last, out_integer(OUT_INT, line->last_session))
LATE(late_last_count, out_integer(OUT_INT, (int64_t)line->last_count))
LATE(late_share, out_number(OUT_SHARE, (double)line->last_count / (double)line->calls))
LATE(late_held_up, out_number(OUT_NS, line->held_up_ns))

static const struct line_column late_columns[] = {
    {LINE_TEXT("name", "Collective", 40), .value = late_name},
    {LINE_COMPACT("message_bytes", "Message"), .value = late_bytes},
    {LINE_COMPACT("calls", "Calls"), .value = late_calls},
    {LINE_COMPACT("wait_ns", "Wait"), .value = late_wait},
    {LINE_COMPACT("last_session_id", "Last is"), .value = late_last},
    {LINE_COMPACT("last_share", "of calls"), .value = late_share},
    {LINE_COMPACT("held_up_ns", "Held up"), .value = late_held_up},
    {LINE_COMPACT("transfer_ns", "Transfer"), .value = late_transfer},
    {LINE_COMPACT("bus_bytes_per_s", "Bus"), .value = late_bus},
    {LINE_COMPACT("session_count", "Sessions"), .value = late_sessions},
    {{.name = "wait_total_ns", .data_only = true}, .value = late_wait_sum},
    {{.name = "last_count", .data_only = true}, .value = late_last_count},
};

static int emit_stragglers(const struct report *report, const struct collectives *collectives,
                           struct diag *diag)
{
    static const struct out_section section = {.name = "stragglers",
                                               .title = "Who comes last to collectives"};
    struct straggler_array stragglers = {0};
    struct lines lines = {
        .columns = late_columns,
        .column_count = sizeof(late_columns) / sizeof(late_columns[0]),
        .item_bytes = sizeof(struct straggler),
        .context = collectives,
        .order_by = "wait_total_ns",
        .top = report_top(report),
    };
    uint64_t left_over = 0;
    int rc = collectives_compare(collectives, &stragglers);

    for (size_t i = 0; i < stragglers.count; i++)
        left_over += stragglers.items[i].left_over;
    lines.items = stragglers.items;
    lines.count = stragglers.count;
    if (rc == 0 && stragglers.count) {
        rc = lines_emit(report->out, &section, &lines, NULL, diag);
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Calls of a collective belong together by their number in each session; %" PRIu64
                 " %s no counterpart. Who comes last waits for nobody: its call is the shortest, "
                 "which is the transfer; the mean of what the others take longer is the wait.",
                 left_over, left_over == 1 ? "has" : "have");
    }
    array_deinit(&stragglers);
    return rc;
}

/* --- Finding them. --- */

/* Of each session in spans->windows the number of its processes, or NaN; the caller frees it. */
static int find_sizes(const struct report *report, const struct spans_answer *spans,
                      double **out_sizes, struct diag *diag)
{
    double *sizes = malloc((spans->windows.count + 1) * sizeof(*sizes));
    struct world_place place;
    int rc = sizes ? 0 : -ENOMEM;

    for (size_t i = 0; i < spans->windows.count && rc == 0; i++) {
        rc = query_world_place(report->source->store, spans->windows.items[i].session_id, &place,
                               diag);
        sizes[i] = rc < 0 || place.size == STORE_NULL ? NAN : (double)place.size;
    }
    *out_sizes = sizes;
    return rc;
}

int report_collectives_begin(struct report_collectives *collectives,
                             const struct spans_answer *spans)
{
    int rc = collectives_begin(spans, &collectives->gathered);

    free(collectives->sizes);
    collectives->sizes = NULL;
    return rc ? rc : find_sizes(collectives->report, spans, &collectives->sizes, collectives->diag);
}

int report_collectives_take(struct report_collectives *collectives,
                            const struct spans_answer *spans)
{
    return collectives_add(collectives->gathered, spans, collectives->sizes);
}

int report_collectives_emit_stragglers(struct report_collectives *collectives)
{
    struct collectives found;
    int rc;

    collectives_finish(collectives->gathered, &found);
    rc = emit_stragglers(collectives->report, &found, collectives->diag);
    collectives_deinit(&found);
    return rc;
}

void report_collectives_deinit(struct report_collectives *collectives)
{
    collectives_drop(&collectives->gathered);
    free(collectives->sizes);
    collectives->sizes = NULL;
}

/* --- The report. --- */

static int begin(void *user, const struct spans_answer *spans)
{
    return report_collectives_begin(user, spans);
}

static int take(void *user, struct spans_answer *spans)
{
    return report_collectives_take(user, spans);
}

static int explain_none(struct diag *diag)
{
    diag_set(diag, 0, "there is no collective in what is asked for");
    return REPORT_NOTHING;
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    struct report_collectives *gathering = user;
    struct collectives collectives;
    int rc = 0;

    collectives_finish(gathering->gathered, &collectives);
    if (!collectives.lines.count)
        rc = explain_none(diag);
    if (rc == 0)
        rc = emit_names(report, &collectives, diag);
    if (rc == 0)
        rc = emit_sizes(report, &collectives, diag);
    if (rc == 0)
        rc = emit_stragglers(report, &collectives, diag);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the collectives");
    if (rc == 0)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Durations have the wait for those who come later; --report overview tells how "
                 "much of communication computation hides. Bandwidth is the message by the time of "
                 "a call, bus that by what crosses each link of all ranks.");
    collectives_deinit(&collectives);
    return rc;
}

static bool is_collective(const struct op_row *op)
{
    return op_class_of(op) == OP_CLASS_COMMUNICATION;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_collectives gathering = {.report = report, .diag = diag};
    const struct report_parts parts = {&gathering, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = query_has_op(report->source->store, report->session_ids, report->session_count,
                          is_collective, diag);

    if (rc == 0) { /* where no op is one, no event is */
        rc = report_check_selection(report, diag);
        return rc < 0 ? rc : explain_none(diag);
    }
    if (rc > 0)
        rc = report_on_span_parts(report, &parts, emit, diag);
    report_collectives_deinit(&gathering);
    return rc;
}

static double time_ns(const void *item)
{
    return ((const struct name_line *)item)->total_ns;
}

const struct report_kind report_collectives = {
    .name = "collectives",
    .about =
        "Collectives of NCCL, Gloo and others: time, size, bandwidth and that of the bus; with "
        "several sessions, who comes last to them.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"collectives", "sizes", NULL},
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 30,
              .order_by = "total_ns",
              .time_ns = time_ns},
    .explain = {.time = "total_ns",
                .lacks = "bytes and bandwidths, which stand in the parameters of ops"},
};
