/* SPDX-License-Identifier: Apache-2.0 */
/* What was alive in memory over time, who held it at the peak, how long it lives, what is never
 * given back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/memory_blocks.h"
#include "analyze/metrics/step_curve.h"
#include "analyze/query/span_filter.h"
#include "analyze/reports/memory_curve.h"
#include "analyze/reports/memory_view.h"
#include "analyze/reports/report.h"
#include "base/amount.h"

enum { CURVE_BINS = 32, TIMELINE_BINS = 100 };

/* --- Columns. --- */

static const struct memory_pool *pool_of(const struct memory_line *line, const void *context)
{
    return &((const struct memory_view *)context)->blocks.pools.items[line->pool];
}

static struct out_value get_name(const void *line, const void *context)
{
    const char *name = ((const struct memory_line *)line)->name;

    return name ? out_text(name) : out_unknown_as(OUT_TEXT, "not known");
}

static struct out_value get_type(const void *line, const void *context)
{
    const struct op_row *op = ((const struct memory_line *)line)->op;

    return op ? out_text(op->type) : out_unknown_as(OUT_TEXT, "");
}

static struct out_value get_device(const void *line, const void *context)
{
    const char *device = pool_of(line, context)->device;

    return out_text(device ? device : "host");
}

static struct out_value get_shapes(const void *line, const void *context)
{
    const char *shapes = ((const struct memory_line *)line)->shapes;

    return shapes ? out_shapes(shapes, NULL) : out_unknown_as(OUT_SHAPES, "");
}

static struct out_value get_peak_bytes(const void *line, const void *context)
{
    return out_number(OUT_BYTES, (double)((const struct memory_line *)line)->peak_bytes);
}

static struct out_value get_peak_share(const void *line, const void *context)
{
    const struct memory_line *memory = line;
    const struct memory_view *view = context;
    double all = (double)view->peaks[memory->pool].bytes;

    return out_number(OUT_SHARE, all > 0 ? (double)memory->peak_bytes / all : NAN);
}

static struct out_value get_peak_count(const void *line, const void *context)
{
    return out_integer(OUT_INT, (int64_t)((const struct memory_line *)line)->peak_count);
}

static struct out_value get_taken_count(const void *line, const void *context)
{
    return out_integer(OUT_INT, (int64_t)((const struct memory_line *)line)->taken_count);
}

static struct out_value get_taken_bytes(const void *line, const void *context)
{
    return out_number(OUT_BYTES, (double)((const struct memory_line *)line)->taken_bytes);
}

static struct out_value get_life(const void *line, const void *context)
{
    const struct memory_line *memory = line;

    return out_number(OUT_NS,
                      memory->life_count ? memory->life_ns / (double)memory->life_count : NAN);
}

static struct out_value get_short(const void *line, const void *context)
{
    const struct memory_line *memory = line;
    bool any = memory->taken_count && ((const struct memory_view *)context)->runs.count;

    return out_number(OUT_SHARE,
                      any ? (double)memory->short_count / (double)memory->taken_count : NAN);
}

static struct out_value get_kept_bytes(const void *line, const void *context)
{
    return out_number(OUT_BYTES, (double)((const struct memory_line *)line)->kept_bytes);
}

static struct out_value get_kept_count(const void *line, const void *context)
{
    return out_integer(OUT_INT, (int64_t)((const struct memory_line *)line)->kept_count);
}

static struct out_value get_growth(const void *line, const void *context)
{
    return out_number(OUT_REAL, ((const struct memory_line *)line)->growth.slope);
}

static struct out_value get_growth_low(const void *line, const void *context)
{
    return out_number(OUT_REAL, ((const struct memory_line *)line)->growth.low);
}

static struct out_value get_growth_high(const void *line, const void *context)
{
    return out_number(OUT_REAL, ((const struct memory_line *)line)->growth.high);
}

static struct out_value get_session(const void *line, const void *context)
{
    return out_integer(OUT_INT, pool_of(line, context)->session_id);
}

static const struct line_column columns[] = {
    {{.name = "name", .title = "taken by", .wiki = "taken by", .wrap = 40, .compact = true},
     {0},
     "the op that took it, or what --group-by asks for",
     get_name},
    {{.name = "type", .title = "type", .wiki = "type", .compact = true, .wrap = 20},
     {0},
     "of the op",
     get_type},
    {{.name = "device", .title = "memory of", .wiki = "memory of", .compact = true},
     {0},
     "the device, or host",
     get_device},
    {{.name = "at_peak_bytes", .title = "at the peak", .wiki = "at the peak", .compact = true},
     {"at_peak", "peak", "bytes", "memory"},
     "alive when the device's sum was highest",
     get_peak_bytes},
    {{.name = "at_peak_share", .title = "of it", .wiki = "of it", .compact = true},
     {0},
     "share of the device's highest sum",
     get_peak_share},
    {{.name = "at_peak_count", .title = "pieces", .wiki = "pieces", .compact = true},
     {0},
     "pieces alive then",
     get_peak_count},
    {{.name = "taken_count", .title = "taken", .wiki = "taken", .compact = true},
     {"count", "calls"},
     "how often memory was taken",
     get_taken_count},
    {{.name = "taken_bytes", .title = "bytes taken", .wiki = "bytes taken", .compact = true},
     {"taken"},
     "bytes taken in all",
     get_taken_bytes},
    {{.name = "mean_life_ns", .title = "mean life", .wiki = "mean life", .compact = true},
     {"life"},
     "from taken to given back, of what was given back",
     get_life},
    {{.name = "short_lived", .title = "short-lived", .wiki = "short-lived", .compact = true},
     {0},
     "share of the times taken after which no run ended before it was given back",
     get_short},
    {{.name = "kept_bytes", .title = "kept", .wiki = "kept", .compact = true},
     {"kept"},
     "taken and not given back by the end",
     get_kept_bytes},
    {{.name = "kept_count", .data_only = true}, {0}, "pieces not given back", get_kept_count},
    {{.name = "growth_bytes_per_run", .title = "bytes/run", .wiki = "bytes/run", .compact = true},
     {"growth", "leak"},
     "growth of what is alive at the ends of runs (Theil-Sen)",
     get_growth},
    {{.name = "growth_low_bytes_per_run", .data_only = true},
     {0},
     "its 95 % bounds",
     get_growth_low},
    {{.name = "growth_high_bytes_per_run", .data_only = true},
     {0},
     "the upper one",
     get_growth_high},
    {{.name = "out_shapes", .data_only = true}, {0}, "of the op", get_shapes},
    {{.name = "session_id", .data_only = true}, {"session"}, "its session", get_session},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* --- The pools. --- */

static struct out_value when_of(const struct memory_view *view, uint32_t pool)
{
    int64_t time_ns = view->peaks[pool].time_ns;

    if (time_ns == MEMORY_BEFORE)
        return out_unknown_as(OUT_NS, "before");
    return out_number(OUT_NS, (double)(time_ns - view->pool_start_ns[pool]));
}

static struct out_value run_at_peak(const struct memory_view *view, uint32_t pool)
{
    const struct memory_peak *peak = &view->peaks[pool];

    for (size_t i = 0; i < view->runs.count; i++) {
        const struct counted_run *run = &view->runs.items[i];

        if (run->session_id == view->blocks.pools.items[pool].session_id &&
            run->start_ns <= peak->time_ns && run->end_ns >= peak->time_ns)
            return out_integer(OUT_INT, run->run);
    }
    return out_unknown_as(OUT_INT, "");
}

static void emit_pool(const struct report *report, const struct memory_view *view, uint32_t place)
{
    const struct memory_pool *pool = &view->blocks.pools.items[place];
    const struct slope *growth = &view->growth[place];
    int64_t bins[CURVE_BINS];
    double bytes[CURVE_BINS];
    char curve[CURVE_BINS * 3 + 1];

    memory_curve_fill(view, place, bins, CURVE_BINS);
    for (size_t i = 0; i < CURVE_BINS; i++)
        bytes[i] = (double)bins[i];
    step_curve_text(bytes, CURVE_BINS, (double)view->peaks[place].bytes, report->options->ascii,
                    curve);
    out_row(report->out, (struct out_value[]){
                             out_text(pool->device ? pool->device : "host"),
                             out_number(OUT_BYTES, (double)view->peaks[place].bytes),
                             when_of(view, place),
                             run_at_peak(view, place),
                             out_number(OUT_BYTES, (double)view->before[place]),
                             out_number(OUT_BYTES, (double)view->after[place]),
                             out_number(OUT_REAL, growth->slope),
                             out_number(OUT_REAL, growth->low),
                             out_number(OUT_REAL, growth->high),
                             out_text(curve),
                             out_text(memory_view_peak_op(view, place)),
                             out_integer(OUT_INT, pool->session_id),
                             out_integer(OUT_INT, (int64_t)pool->row_count),
                             out_integer(OUT_INT, (int64_t)pool->stray_count),
                             out_number(OUT_BYTES, (double)pool->stray_bytes),
                             out_integer(OUT_INT, (int64_t)pool->retaken_count),
                             out_integer(OUT_INT, (int64_t)pool->bare_count),
                         });
}

static void emit_pools(const struct report *report, const struct memory_view *view)
{
    static const struct out_section section = {
        .name = "pools",
        .keep = "device peak_bytes after_bytes growth_bytes_per_run peak_at_ns peak_run"};
    static const struct out_column head[] = {
        {.name = "device", .title = "memory of", .wiki = "memory of", .compact = true},
        {.name = "peak_bytes", .title = "peak", .wiki = "peak", .compact = true},
        {.name = "peak_at_ns", .title = "at", .wiki = "at", .compact = true},
        {.name = "peak_run", .title = "in run", .wiki = "in run", .compact = true},
        {.name = "before_bytes", .title = "before", .wiki = "before", .compact = true},
        {.name = "after_bytes", .title = "at the end", .wiki = "at the end", .compact = true},
        {.name = "growth_bytes_per_run",
         .title = "bytes/run",
         .wiki = "bytes/run",
         .compact = true},
        {.name = "growth_low_bytes_per_run", .data_only = true},
        {.name = "growth_high_bytes_per_run", .data_only = true},
        {.name = "curve", .title = "over time", .wiki = "over time", .compact = true},
        {.name = "peak_op", .data_only = true},
        {.name = "session_id", .data_only = true},
        {.name = "event_count", .data_only = true},
        {.name = "stray_free_count", .data_only = true},
        {.name = "stray_free_bytes", .data_only = true},
        {.name = "retaken_count", .data_only = true},
        {.name = "without_address_count", .data_only = true},
    };

    out_table_begin(report->out, &section, head, sizeof(head) / sizeof(head[0]));
    for (uint32_t i = 0; i < view->blocks.pools.count; i++) {
        if (view->is_shown[i])
            emit_pool(report, view, i);
    }
    out_table_end(report->out);
}

/* The curve in more points, for programs and for pictures. */
static void emit_timeline(const struct report *report, const struct memory_view *view)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_STEPS, .x = "start_ns", .values = {"bytes"}, .color = "device"};
    static const struct out_section section = {
        .name = "timeline", .data_only = true, .title = "Memory over time", .chart = &chart};
    static const struct out_column head[] = {
        {.name = "device"}, {.name = "session_id"}, {.name = "start_ns"}, {.name = "bytes"}};
    double length_ns = (double)(view->end_ns - view->start_ns) + 1;

    out_table_begin(report->out, &section, head, sizeof(head) / sizeof(head[0]));
    for (uint32_t i = 0; i < view->blocks.pools.count; i++) {
        const struct memory_pool *pool = &view->blocks.pools.items[i];
        int64_t bins[TIMELINE_BINS];

        if (!view->is_shown[i])
            continue;
        memory_curve_fill(view, i, bins, TIMELINE_BINS);
        for (size_t k = 0; k < TIMELINE_BINS; k++) {
            int64_t offset_ns = (int64_t)(length_ns * (double)k / TIMELINE_BINS);

            out_row(report->out, (struct out_value[]){
                                     out_text(pool->device ? pool->device : "host"),
                                     out_integer(OUT_INT, pool->session_id),
                                     out_integer(OUT_WHEN, view->start_ns + offset_ns),
                                     out_number(OUT_BYTES, (double)bins[k]),
                                 });
        }
    }
    out_table_end(report->out);
}

static void emit_groups_of(const struct report *report, const struct memory_view *view,
                           uint32_t pool_place, const struct memory_groups *groups)
{
    const struct memory_pool *pool = &view->blocks.pools.items[pool_place];
    double length_ns = (double)(view->end_ns - view->start_ns) + 1;
    size_t count = groups->count + groups->has_others;

    for (size_t i = 0; i < count; i++) {
        const char *name = i == groups->count ? "all others" : groups->names[i];

        for (size_t bin = 0; bin < groups->bin_count; bin++) {
            int64_t offset_ns = (int64_t)(length_ns * (double)bin / (double)groups->bin_count);

            out_row(report->out, (struct out_value[]){
                                     out_text(pool->device ? pool->device : "host"),
                                     out_integer(OUT_INT, pool->session_id),
                                     out_integer(OUT_WHEN, view->start_ns + offset_ns),
                                     out_text(name ? name : "not known"),
                                     out_number(OUT_BYTES, (double)groups->bytes[bin * count + i]),
                                 });
        }
    }
}

/* The same curve with those who took it above each other. In documents each device has a picture of
 * its own, as memory of different devices does not add up; programs get one table. */
static int emit_timeline_by_group(const struct report *report, const struct memory_view *view)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_AREAS, .x = "start_ns", .values = {"bytes"}, .color = "name"};
    static const struct out_column head[] = {{.name = "device"},
                                             {.name = "session_id"},
                                             {.name = "start_ns"},
                                             {.name = "name"},
                                             {.name = "bytes"}};
    bool is_split = !report_is_for_programs(report), is_open = false;
    char title[96] = "", name[48] = "timeline_by_group";
    struct out_section section = {.name = name, .data_only = true, .title = title, .chart = &chart};
    int rc = 0;

    for (uint32_t i = 0; i < view->blocks.pools.count && rc == 0; i++) {
        const char *device = view->blocks.pools.items[i].device;
        struct memory_groups groups;

        if (!view->is_shown[i])
            continue;
        snprintf(title, sizeof(title), "Memory of %s over time, by who took it",
                 device ? device : "host");
        if (is_split)
            snprintf(name, sizeof(name), "timeline_by_group_%u", i + 1);
        if (!is_open)
            out_table_begin(report->out, &section, head, sizeof(head) / sizeof(head[0]));
        is_open = true;
        rc = memory_groups_init(&groups, view, i, TIMELINE_BINS);
        if (rc == 0)
            emit_groups_of(report, view, i, &groups);
        memory_groups_deinit(&groups);
        if (is_split)
            out_table_end(report->out);
        is_open = !is_split;
    }
    if (is_open)
        out_table_end(report->out);
    return rc;
}

/* --- Notes. --- */

static void note_growth(const struct report *report, const struct memory_view *view)
{
    for (size_t i = 0; i < view->blocks.pools.count; i++) {
        const struct slope *growth = &view->growth[i];
        const char *device = view->blocks.pools.items[i].device;
        char slope[32], low[32], high[32];

        if (!view->is_shown[i] || isnan(growth->slope))
            continue;
        amount_format_bytes(slope, sizeof(slope), growth->slope);
        amount_format_bytes(low, sizeof(low), growth->low);
        amount_format_bytes(high, sizeof(high), growth->high);
        if (growth->low > 0)
            out_note(report->out, OUT_NOTE_WARNING,
                     "The memory of %s grows by %s from run to run (95%% sure: %s to %s): "
                     "something is not given back.",
                     device ? device : "host", slope, low, high);
        else
            out_note(report->out, OUT_NOTE_PLAIN,
                     "The memory of %s does not grow from run to run (95%% sure: %s to %s).",
                     device ? device : "host", low, high);
    }
}

/* Where each pool was fullest, and who held most of it then. */
static void note_peaks(const struct report *report, const struct memory_view *view)
{
    for (uint32_t i = 0; i < view->blocks.pools.count; i++) {
        const char *device = view->blocks.pools.items[i].device;
        const char *op = memory_view_peak_op(view, i);
        const struct memory_line *most = NULL;
        char holder[300] = "";

        for (size_t k = 0; k < view->lines.count; k++) {
            const struct memory_line *line = &view->lines.items[k];

            if (line->pool == i && line->peak_bytes > 0 &&
                (!most || line->peak_bytes > most->peak_bytes))
                most = line;
        }
        if (!view->is_shown[i] || view->peaks[i].bytes <= 0 || (!op && !most))
            continue;
        if (most)
            snprintf(holder, sizeof(holder), "; %.200s held most of it, %.1f%%",
                     most->name ? most->name : "what no op owns",
                     100.0 * (double)most->peak_bytes / (double)view->peaks[i].bytes);
        out_note(report->out, OUT_NOTE_PLAIN, "The peak of %s%s%s%s.", device ? device : "the host",
                 op ? " was reached in " : "", op ? op : "", op ? holder : holder + 1);
    }
}

static void note_pairing(const struct report *report, const struct memory_view *view)
{
    uint64_t stray = 0, bare = 0, retaken = 0;

    for (size_t i = 0; i < view->blocks.pools.count; i++) {
        stray += view->blocks.pools.items[i].stray_count;
        bare += view->blocks.pools.items[i].bare_count;
        retaken += view->blocks.pools.items[i].retaken_count;
    }
    if (stray)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%llu piece%s given back that nobody saw taken: held since before the recording.",
                 (unsigned long long)stray, stray == 1 ? " was" : "s were");
    if (bare)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "%llu memory events have no address: what is given back is taken for the latest "
                 "piece of that size.",
                 (unsigned long long)bare);
    if (view->rows.unbelieved_count)
        out_note(
            report->out, OUT_NOTE_WARNING,
            "%llu piece%s larger than any machine's memory (256 TiB), or too large together: left "
            "out.",
            (unsigned long long)view->rows.unbelieved_count,
            view->rows.unbelieved_count == 1 ? " is" : "s are");
    if (retaken)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%llu time%s memory was taken at an address that had not been given back: that "
                 "was not recorded.",
                 (unsigned long long)retaken, retaken == 1 ? "" : "s");
}

/* --- Sources with counters only, and plans. --- */

static void emit_counters(const struct report *report, const struct memory_view *view)
{
    static const struct out_section section = {.name = "counters",
                                               .keep = "name peak_bytes last_bytes device"};
    static const struct out_column head[] = {
        {.name = "name", .title = "counter", .wiki = "counter", .wrap = 40, .compact = true},
        {.name = "device", .title = "of", .wiki = "of", .compact = true},
        {.name = "count", .title = "values", .wiki = "values", .compact = true},
        {.name = "first_bytes", .title = "first", .wiki = "first", .compact = true},
        {.name = "peak_bytes", .title = "peak", .wiki = "peak", .compact = true},
        {.name = "peak_at_ns", .title = "at", .wiki = "at", .compact = true},
        {.name = "last_bytes", .title = "last", .wiki = "last", .compact = true},
    };

    out_table_begin(report->out, &section, head, sizeof(head) / sizeof(head[0]));
    for (size_t i = 0; i < view->counters.count; i++) {
        const struct memory_counter *counter = &view->counters.items[i];

        out_row(report->out, (struct out_value[]){
                                 out_text(counter->name),
                                 out_text(counter->device ? counter->device : "host"),
                                 out_integer(OUT_INT, (int64_t)counter->count),
                                 out_number(OUT_BYTES, counter->first),
                                 out_number(OUT_BYTES, counter->peak),
                                 out_number(OUT_NS, counter->peak_at_ns),
                                 out_number(OUT_BYTES, counter->last),
                             });
    }
    out_table_end(report->out);
}

static void emit_plans(const struct report *report, const struct memory_view *view)
{
    static const struct out_section section = {.name = "plans",
                                               .title = "Memory planned before running"};
    static const struct out_column head[] = {
        {.name = "session_id", .title = "session", .wiki = "session", .compact = true},
        {.name = "chunk_count", .title = "chunks", .wiki = "chunks", .compact = true},
        {.name = "chunk_bytes", .title = "size", .wiki = "size", .compact = true},
        {.name = "variable_count", .title = "values", .wiki = "values", .compact = true},
        {.name = "used_bytes", .title = "used", .wiki = "used", .compact = true},
        {.name = "fragmentation", .title = "never used", .wiki = "never used", .compact = true},
    };

    out_table_begin(report->out, &section, head, sizeof(head) / sizeof(head[0]));
    for (size_t i = 0; i < view->plans.count; i++) {
        const struct memory_plan *plan = &view->plans.items[i];
        bool known = plan->variable_count && plan->chunk_bytes > 0;
        double used = known ? (double)plan->used_bytes : NAN;

        out_row(report->out, (struct out_value[]){
                                 out_integer(OUT_INT, plan->session_id),
                                 out_integer(OUT_INT, (int64_t)plan->chunk_count),
                                 out_number(OUT_BYTES, (double)plan->chunk_bytes),
                                 out_integer(OUT_INT, (int64_t)plan->variable_count),
                                 out_number(OUT_BYTES, used),
                                 out_number(OUT_SHARE, 1 - used / (double)plan->chunk_bytes),
                             });
    }
    out_table_end(report->out);
    out_note(report->out, OUT_NOTE_PLAIN,
             "A plan's fragmentation is the share of its chunks in which no value of a known place "
             "and size ever lies.");
}

/* --- The report. --- */

static int check_grouping(const struct report *report, enum memory_grouping *out_grouping,
                          struct diag *diag)
{
    static const char *const words[] = {"name", "type", "label", "shape", "category"};
    const char *text = report->options->group_by ? report->options->group_by : "name";

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            *out_grouping = (enum memory_grouping)i;
            return 0;
        }
    }
    return diag_set(diag, -EINVAL,
                    "--group-by of memory takes name, type, label, shape or category, not \"%s\"",
                    text);
}

static int explain_nothing(const struct memory_view *view, struct diag *diag)
{
    if (view->blocks.blocks.count)
        diag_set(diag, 0, "none of the %zu pieces of memory matches", view->blocks.blocks.count);
    else
        diag_set(diag, 0,
                 "no memory was recorded in what is asked for: neither events nor "
                 "counters of it");
    return REPORT_NOTHING;
}

static int emit(const struct report *report, const struct memory_view *view, struct diag *diag)
{
    static const struct out_section section = {
        .name = "holders",
        .keep =
            "name at_peak_bytes at_peak_share kept_bytes type taken_bytes growth_bytes_per_run"};
    int rc = 0;

    if (!view->lines.count && !view->counters.count && !view->plans.count)
        return explain_nothing(view, diag);
    if (view->lines.count) {
        emit_pools(report, view);
        rc = report_emit_lines(report, &section, view->lines.items, view->lines.count,
                               sizeof(*view->lines.items), view, diag);
        emit_timeline(report, view);
        if (rc == 0)
            rc = emit_timeline_by_group(report, view);
    }
    if (view->counters.count)
        emit_counters(report, view);
    if (view->plans.count)
        emit_plans(report, view);
    if (rc == 0 && view->lines.count) {
        note_peaks(report, view);
        note_growth(report, view);
        note_pairing(report, view);
        out_note(report->out, OUT_NOTE_PLAIN,
                 "Shares are of the highest sum of that device's memory.");
    }
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct report_selection selection;
    struct memory_view view = {0};
    struct ops_answer basis = {0};
    int rc = report_select(report, &selection, diag);

    if (rc == 0)
        rc = check_grouping(report, &view.grouping, diag);
    if (rc == 0)
        rc = memory_view_init(&view, report, &selection, diag);
    if (rc == 0)
        rc = query_ops(report->source->store, &selection.question, &basis, diag);
    if (rc == 0)
        rc = emit(report, &view, diag);
    if (rc == 0)
        report_footer(report, &basis.basis);
    ops_answer_deinit(&basis);
    memory_view_deinit(&view);
    report_selection_deinit(&selection);
    return rc;
}

static const char *const takes[] = {"group-by", NULL};

const struct report_kind report_memory = {
    .name = "memory",
    .about = "What was alive in memory over time, who held it at the peak, how long it lives, and "
             "whether it grows from run to run.",
    .run = run,
    .tables = (const char *const[]){"pools", "holders", "timeline", "timeline_by_group", "counters",
                                    "plans", NULL},
    .takes = takes,
    .lines = {.columns = columns, .column_count = COLUMNS, .top = 20, .order_by = "at_peak_bytes"},
    .explain = {.groups =
                    (const struct explain_group[]){
                        {"name", "o.name END AS name, o.type", "o.name, o.type"},
                        {"type", "o.type END AS name, NULL AS type", "o.type"},
                        {"label", NULL, NULL},
                        {"shape", "o.output_shapes END AS name, NULL AS type", "o.output_shapes"},
                        {"category", NULL, NULL},
                        {NULL, NULL, NULL},
                    }},
};
