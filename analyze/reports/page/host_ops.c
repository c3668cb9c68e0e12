/* SPDX-License-Identifier: Apache-2.0 */
/* The page's operators of the host, beside what devices computed: what each took there itself, and what
 * a device took for what was launched in it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/page/page.h"

/* Ops of one name and type. */
struct host_op {
    const char *name, *type;
    double time_ns, min_ns, max_ns;
    uint64_t calls;
};

static int compare_names(const void *a, const void *b)
{
    const struct host_op *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    return order ? order : strcmp(left->type, right->type);
}

/* The dearest first. */
static int compare_times(const void *a, const void *b)
{
    const struct host_op *left = a, *right = b;
    int order = (left->time_ns < right->time_ns) - (left->time_ns > right->time_ns);

    return order ? order : compare_names(a, b);
}

/* Ops that differ in their shapes become one, as device times are known by name. Returns how many
 * there are. */
static size_t gather(const struct ops_lines *lines, struct host_op *ops)
{
    size_t kept = 0;

    for (size_t i = 0; i < lines->lines.count; i++) {
        const struct ops_line *line = &lines->lines.items[i];

        ops[i] = (struct host_op){line->op->name, line->type,   line->time_ns,
                                  line->min_ns,   line->max_ns, line->calls};
    }
    qsort(ops, lines->lines.count, sizeof(*ops), compare_names);
    for (size_t i = 0; i < lines->lines.count; i++) {
        struct host_op *last = &ops[kept ? kept - 1 : 0];

        if (!kept || compare_names(last, &ops[i]) != 0) {
            ops[kept++] = ops[i];
            continue;
        }
        last->time_ns += ops[i].time_ns;
        last->calls += ops[i].calls;
        last->min_ns = fmin(last->min_ns, ops[i].min_ns);
        last->max_ns = fmax(last->max_ns, ops[i].max_ns);
    }
    qsort(ops, kept, sizeof(*ops), compare_times);
    return kept;
}

/* Of all launches in ops of a name; NaN: none. */
static double device_time(const struct averages *averages, const char *name)
{
    for (size_t i = 0; i < averages->lines.count; i++) {
        const struct average_line *line = &averages->lines.items[i];

        if (line->side == OP_HOST && !line->is_label && strcmp(line->name, name) == 0)
            return line->device_ns;
    }
    return NAN;
}

/* The runs that the spans are of, where values are means of a run. */
static double divisor_of(const struct page *page)
{
    const struct spans_answer *spans = &page->advice.spans;
    double runs = 0;

    if (!page->answer->basis.is_per_run)
        return 1;
    for (size_t i = 0; i < spans->runs.count; i++)
        runs += spans->runs.items[i].selected && !spans->runs.items[i].warmup;
    return page->advice.is_of_last_runs ? runs : page->answer->basis.divisor;
}

static void emit(const struct page *page, const struct host_op *ops, size_t count)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"time_ns"}, .color = "type"};
    static const struct out_section section = {.name = "host_ops",
                                               .title = "Operators on the host",
                                               .chart = &chart,
                                               .keep = "name time_ns device_ns share"};
    static const struct out_column columns[] = {
        {.name = "name", .title = "name", .wiki = "name", .compact = true, .wrap = 60},
        {.name = "type", .title = "type", .wiki = "type", .compact = true, .wrap = 60},
        {.name = "time_ns", .title = "self time", .wiki = "self time", .compact = true},
        {.name = "device_ns", .title = "device time", .wiki = "device time", .compact = true},
        {.name = "share", .title = "share", .wiki = "share", .compact = true},
        {.name = "calls", .title = "calls", .wiki = "calls", .compact = true},
        {.name = "call_min_ns", .title = "shortest", .wiki = "shortest", .compact = true},
        {.name = "call_max_ns", .title = "longest", .wiki = "longest", .compact = true},
    };
    double total_ns = page->answer->basis.total_ns[OP_HOST], divisor = divisor_of(page);
    struct out *out = page->report->out;

    out_table_begin(out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        double device_ns = device_time(&page->advice.averages, ops[i].name);

        out_row(out, (struct out_value[]){
                         out_text(ops[i].name),
                         out_text(ops[i].type),
                         out_number(OUT_NS, ops[i].time_ns),
                         out_number(OUT_NS, device_ns / divisor),
                         out_number(OUT_SHARE, total_ns > 0 ? ops[i].time_ns / total_ns : NAN),
                         out_integer(OUT_INT, (int64_t)ops[i].calls),
                         out_number(OUT_NS, ops[i].min_ns),
                         out_number(OUT_NS, ops[i].max_ns),
                     });
    }
    out_table_end(out);
}

/* --top, as far as it says how many. */
static size_t count_shown(const struct page *page, size_t count)
{
    int64_t top = report_top(page->report);

    if (top < 0)
        return (size_t)-top < count ? count - (size_t)-top : 0;
    return top && (size_t)top < count ? (size_t)top : count;
}

int page_host_ops(const struct page *page, struct diag *diag)
{
    const struct ops_view_options options = {
        .side = OP_HOST, .time = OPS_TIME_END, .reduction = STATS_SUM};
    struct ops_lines lines;
    struct host_op *ops;
    int rc;

    if (page->side != OP_DEVICE)
        return 0;
    rc = ops_view(page->answer, &page->selection->filter, &options, &lines);
    ops = malloc((lines.lines.count + 1) * sizeof(*ops));
    if (rc < 0 || !ops) {
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    } else if (lines.lines.count) {
        size_t count = gather(&lines, ops), shown = count_shown(page, count);

        emit(page, ops, shown);
        if (shown < count)
            out_note(page->report->out, OUT_NOTE_PLAIN,
                     "%zu of %zu operators on the host are shown; -t 0 shows all.", shown, count);
    }
    free(ops);
    ops_lines_deinit(&lines);
    return rc;
}
