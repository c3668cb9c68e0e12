/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes moved and how fast: by direction, and by the operator that asked for it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/query/lane_use.h"
#include "analyze/query/op_class.h"
#include "analyze/reports/copies.h"
#include "analyze/stats/groups.h"

struct copy_line {
    const char *name;
    enum copy_mode mode;
    uint64_t sized_count;       /* copies whose bytes are known */
    double bytes, sized_ns;     /* of these */
    struct group_summary calls; /* durations */
};

struct copy_lines {
    ARRAY_OF(struct copy_line) lines;
    struct groups groups;
    double total_ns; /* of all copies, also of those not shown */
};

struct copies {
    struct copy_lines directions, ops;
    struct copy_rates rates;
    uint64_t pageable_count; /* asynchronous ones from or to pageable memory */
};

#define CELL(name, value) LINE_CELL(name, struct copy_line, value)
#define ALL               ((const struct copy_lines *)context)

static const char *const mode_names[] = {
    [COPY_ASYNC] = "async",
    [COPY_SYNC] = "sync",
    [COPY_MODE_UNKNOWN] = NULL,
};

static double over(double value, double divisor)
{
    return divisor > 0 ? value / divisor : NAN;
}

CELL(name_of, out_text(line->name))
CELL(mode_of, out_text(mode_names[line->mode]))
CELL(count_of, out_integer(OUT_INT, (int64_t)line->calls.count))
CELL(share_of, out_number(OUT_SHARE, over(line->calls.sum, ALL->total_ns)))
CELL(time_of, out_number(OUT_NS, line->calls.sum))
CELL(mean_of, out_number(OUT_NS, line->calls.mean))
CELL(median_of, out_number(OUT_NS, line->calls.median))
CELL(min_of, out_number(OUT_NS, line->calls.min))
CELL(max_of, out_number(OUT_NS, line->calls.max))
CELL(bytes_of, out_number(OUT_BYTES, line->sized_count ? line->bytes : NAN))
CELL(mean_bytes_of, out_number(OUT_BYTES, over(line->bytes, (double)line->sized_count)))
CELL(rate_of, out_number(OUT_BYTE_RATE, over(line->bytes, line->sized_ns * 1e-9)))

static const struct line_column columns[] = {
    {LINE_TEXT("name", "Name", 50),
     {"direction", "op"},
     "direction, then the operator that asked for it",
     name_of},
    {LINE_COMPACT("mode", "Mode"),
     {NULL},
     "sync or async, by the name of the call that launched it",
     mode_of},
    {LINE_COMPACT("share", "Time %"), {NULL}, "of the durations of all copies and fills", share_of},
    {LINE_COMPACT("total_ns", "Total time"), {"time"}, "sum of durations", time_of},
    {LINE_COMPACT("calls", "Count"), {"count"}, "copies", count_of},
    {LINE_COMPACT("bytes", "Bytes"), {"total"}, "moved, as far as known", bytes_of},
    {LINE_COMPACT("mean_bytes", "Avg bytes"), {NULL}, "bytes of a copy", mean_bytes_of},
    {LINE_COMPACT("bandwidth_bytes_per_s", "Bandwidth"),
     {"bandwidth"},
     "bytes in the time of those copies",
     rate_of},
    {LINE_COMPACT("mean_ns", "Avg"), {"avg"}, "mean duration", mean_of},
    {LINE_COMPACT("median_ns", "Med"), {"med"}, "middle duration, or the mean of two", median_of},
    {LINE_COMPACT("min_ns", "Min"), {NULL}, "shortest", min_of},
    {LINE_COMPACT("max_ns", "Max"), {NULL}, "longest", max_of},
};

#define NO_COPY "there is no copy in what is asked for"

/* By its name, or the call that launched it: cudaMemcpyAsync, cuMemcpyHtoDAsync_v2, ... */
static enum copy_mode mode_of_span(const struct spans_answer *spans, const struct span *span)
{
    const struct op_row *launch = NULL;

    if (span->launch != SPAN_NONE)
        launch = span_op(spans, &spans->spans.items[span->launch]);
    return copy_mode_of(span_op(spans, span), launch);
}

static int add(struct copy_lines *all, const char *name, enum copy_mode mode,
               const struct span *span)
{
    struct copy_line made = {.name = name, .mode = mode}, *line;
    struct place_key key = {.low = mode};
    uint32_t group;
    int rc;

    groups_add_text(&key, name);
    rc = groups_find(&all->groups, key, &group);
    if (rc == 1)
        rc = array_push(&all->lines, made);
    if (rc < 0)
        return rc;
    line = &all->lines.items[group];
    if (span->bytes != STORE_NULL) {
        line->sized_count++;
        line->bytes += (double)span->bytes;
        line->sized_ns += (double)span->dur_ns;
    }
    return groups_add(&all->groups, group, (double)span->dur_ns);
}

/* On the host only what no device does: else that is the call that launches it. */
static bool is_copy(const struct spans_answer *spans, const struct span *span,
                    const bool *on_device)
{
    enum device_work work = span_work(spans, span);

    return span_is_op(spans, span) && (work == WORK_COPY || work == WORK_FILL) &&
           (span_is_device(spans, span) || !on_device[span->op]);
}

static bool *find_ops_on_devices(const struct spans_answer *spans)
{
    bool *on_device = calloc(spans->ops.count + 1, sizeof(*on_device));

    for (size_t i = 0; i < spans->spans.count && on_device; i++) {
        if (span_is_device(spans, &spans->spans.items[i]))
            on_device[spans->spans.items[i].op] = true;
    }
    return on_device;
}

static int gather(const struct spans_answer *spans, struct copies *copies)
{
    bool *on_device = find_ops_on_devices(spans);
    int rc = on_device ? 0 : -ENOMEM;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        const char *name = span_op(spans, span)->name;
        enum copy_mode mode;
        uint32_t owner;

        if (!is_copy(spans, span, on_device))
            continue;
        copies->directions.total_ns += (double)span->dur_ns;
        copies->ops.total_ns += (double)span->dur_ns;
        if (!span->is_shown)
            continue;
        mode = mode_of_span(spans, span);
        owner = span_is_device(spans, span) ? span_owner(spans, span) : span->parent;
        copies->pageable_count += mode == COPY_ASYNC && strstr(name, "Pageable");
        rc = add(&copies->directions, name, mode, span);
        if (rc == 0)
            rc = copy_rates_add(&copies->rates, name, span);
        if (rc == 0 && owner != SPAN_NONE)
            rc = add(&copies->ops, span_op(spans, &spans->spans.items[owner])->name, mode, span);
    }
    free(on_device);
    return rc;
}

static int emit_lines(const struct report *report, const char *name, struct copy_lines *all,
                      struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"total_ns"}, .color = "mode"};
    struct out_section section = {.name = name,
                                  .keep =
                                      "name total_ns share calls bytes bandwidth_bytes_per_s mode",
                                  .chart = &chart};
    struct group_summary *summaries;

    if (!all->lines.count)
        return 0;
    if (groups_summarize(&all->groups, &summaries) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the table");
    for (size_t i = 0; i < all->lines.count; i++)
        all->lines.items[i].calls = summaries[i];
    free(summaries);
    return report_emit_lines(report, &section, all->lines.items, all->lines.count,
                             sizeof(*all->lines.items), all, diag);
}

static void note(const struct report *report, const struct copies *copies)
{
    out_note(report->out, OUT_NOTE_PLAIN,
             "Percentages are of the durations of all copies and fills added up. %s",
             copies->ops.lines.count
                 ? "The second table has the operators around the calls that launched them."
                 : "No launch says which operator asked for them.");
    if (copies->pageable_count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%" PRIu64 " asynchronous cop%s or fill%s touch%s pageable memory: the host waits "
                 "for such a copy as if it were synchronous.",
                 copies->pageable_count, copies->pageable_count == 1 ? "y" : "ies",
                 copies->pageable_count == 1 ? "" : "s", copies->pageable_count == 1 ? "es" : "");
}

static int emit(const struct report *report, struct spans_answer *spans, struct diag *diag)
{
    struct copies copies = {0};
    int rc = gather(spans, &copies);

    if (rc < 0) {
        diag_set(diag, rc, "no memory for the table");
    } else if (!copies.directions.lines.count) {
        diag_set(diag, 0, NO_COPY);
        rc = REPORT_NOTHING;
    }
    if (rc == 0)
        rc = emit_lines(report, "directions", &copies.directions, diag);
    if (rc == 0)
        rc = emit_lines(report, "ops", &copies.ops, diag);
    if (rc == 0)
        rc = copy_rates_emit(report, &copies.rates, diag);
    if (rc == 0)
        note(report, &copies);
    array_deinit(&copies.directions.lines);
    array_deinit(&copies.ops.lines);
    groups_deinit(&copies.directions.groups);
    groups_deinit(&copies.ops.groups);
    copy_rates_deinit(&copies.rates);
    return rc;
}

static bool is_copy_op(const struct op_row *op)
{
    return strcasecmp(op->type, "copy") == 0 || strcasecmp(op->type, "memset") == 0;
}

/* Where no op is a copy, no event is. */
static int run(const struct report *report, struct diag *diag)
{
    int rc = query_has_op(report->source->store, report->session_ids, report->session_count,
                          is_copy_op, diag);

    if (rc != 0)
        return rc < 0 ? rc : report_on_spans(report, emit, diag);
    rc = report_check_selection(report, diag);
    if (rc < 0)
        return rc;
    diag_set(diag, 0, NO_COPY);
    return REPORT_NOTHING;
}

static double time_ns(const void *item)
{
    return ((const struct copy_line *)item)->calls.sum;
}

const struct report_kind report_copies = {
    .name = "copies",
    .about =
        "Copies and fills by direction and by operator: bytes, time, bandwidth, also over time, "
        "and whether the host waited.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"directions", "ops", "bandwidth", "bandwidth_over_time", NULL},
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 30,
              .order_by = "total_ns",
              .time_ns = time_ns},
    .explain = {.time = "total_ns"},
};
