/* SPDX-License-Identifier: Apache-2.0 */
/* How fast copies were, in all and over time. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/reports/copies.h"

enum { CURVE_PARTS = 32, TIMELINE_PARTS = 100 };

/* A copy that took no time takes a microsecond, as in HTA: clocks were once no finer. */
#define SHORTEST_NS 1000

static struct copy_rate *find_rate(struct copy_rates *rates, const char *name)
{
    struct copy_rate made = {.name = name};

    for (size_t i = 0; i < rates->rates.count; i++) {
        if (strcmp(rates->rates.items[i].name, name) == 0)
            return &rates->rates.items[i];
    }
    return array_push(&rates->rates, made) < 0 ? NULL : &rates->rates.items[rates->rates.count - 1];
}

int copy_rates_add(struct copy_rates *rates, const char *name, const struct span *span)
{
    int64_t ns = span->dur_ns > 0 ? span->dur_ns : SHORTEST_NS;
    double rate = (double)span->bytes / ((double)ns * 1e-9);
    struct copy_rate *of_name;
    int rc;

    if (span->bytes == STORE_NULL)
        return 0;
    of_name = find_rate(rates, name);
    if (!of_name)
        return -ENOMEM;
    of_name->bytes += (double)span->bytes;
    rc = step_curve_add(&of_name->curve, span->start_ns, rate);
    return rc ? rc : step_curve_add(&of_name->curve, span->start_ns + ns, -rate);
}

struct rate_line {
    const struct copy_rate *rate;
    double max, mean;
    char curve[CURVE_PARTS * 3 + 1];
};

#define CELL(name, value) LINE_CELL(name, struct rate_line, value)

CELL(name_of, out_text(line->rate->name))
CELL(bytes_of, out_number(OUT_BYTES, line->rate->bytes))
CELL(mean_of, out_number(OUT_BYTE_RATE, line->mean))
CELL(max_of, out_number(OUT_BYTE_RATE, line->max))
CELL(curve_of, out_text(line->curve))

static const struct line_column columns[] = {
    {LINE_TEXT("name", "Bandwidth of", 50), .value = name_of},
    {LINE_COMPACT("bytes", "Bytes"), .value = bytes_of},
    {LINE_COMPACT("mean_bytes_per_s", "Mean"), .value = mean_of},
    {LINE_COMPACT("max_bytes_per_s", "Max"), .value = max_of},
    {LINE_COMPACT("curve", "over time"), .value = curve_of},
};

static void find_extent(const struct copy_rates *rates, int64_t *out_start_ns, int64_t *out_end_ns)
{
    *out_start_ns = INT64_MAX;
    *out_end_ns = INT64_MIN;
    for (size_t i = 0; i < rates->rates.count; i++) {
        struct curve_summary summary = step_curve_summarize(&rates->rates.items[i].curve, INFINITY);

        if (summary.start_ns < *out_start_ns)
            *out_start_ns = summary.start_ns;
        if (summary.end_ns > *out_end_ns)
            *out_end_ns = summary.end_ns;
    }
}

static int emit_lines(const struct report *report, const struct copy_rates *rates, int64_t start_ns,
                      int64_t end_ns, struct diag *diag)
{
    static const struct out_section section = {.name = "bandwidth", .title = "Bandwidth over time"};
    ARRAY_OF(struct rate_line) items = {0};
    struct lines lines = {.columns = columns,
                          .column_count = sizeof(columns) / sizeof(columns[0]),
                          .item_bytes = sizeof(struct rate_line),
                          .order_by = "bytes"};
    int rc = 0;

    for (size_t i = 0; i < rates->rates.count && rc == 0; i++) {
        struct rate_line line = {.rate = &rates->rates.items[i]};
        double max[CURVE_PARTS], mean[CURVE_PARTS], most = 0;

        line.max = step_curve_summarize(&line.rate->curve, INFINITY).max;
        line.mean = line.rate->bytes / ((double)(end_ns - start_ns) * 1e-9);
        step_curve_fill(&line.rate->curve, start_ns, end_ns, max, mean, CURVE_PARTS);
        for (size_t k = 0; k < CURVE_PARTS; k++)
            most = mean[k] > most ? mean[k] : most;
        step_curve_text(mean, CURVE_PARTS, most, report->options->ascii, line.curve);
        rc = array_push(&items, line);
    }
    lines.items = items.items;
    lines.count = items.count;
    if (rc == 0)
        rc = lines_emit(report->out, &section, &lines, NULL, diag);
    array_deinit(&items);
    return rc;
}

/* For programs and for pictures. */
static void emit_timeline(const struct report *report, const struct copy_rates *rates,
                          int64_t start_ns, int64_t end_ns)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_STEPS, .x = "start_ns", .values = {"mean_bytes_per_s"}, .color = "name"};
    static const struct out_section section = {.name = "bandwidth_over_time",
                                               .data_only = true,
                                               .title = "Bandwidth of copies over time",
                                               .chart = &chart};
    static const struct out_column head[] = {{.name = "name"},
                                             {.name = "start_ns"},
                                             {.name = "mean_bytes_per_s"},
                                             {.name = "max_bytes_per_s"}};

    out_table_begin(report->out, &section, head, sizeof(head) / sizeof(head[0]));
    for (size_t i = 0; i < rates->rates.count; i++) {
        const struct copy_rate *rate = &rates->rates.items[i];
        double max[TIMELINE_PARTS], mean[TIMELINE_PARTS];

        step_curve_fill(&rate->curve, start_ns, end_ns, max, mean, TIMELINE_PARTS);
        for (size_t k = 0; k < TIMELINE_PARTS; k++)
            out_row(report->out,
                    (struct out_value[]){
                        out_text(rate->name),
                        out_integer(OUT_WHEN, start_ns + (int64_t)((double)(end_ns - start_ns) *
                                                                   (double)k / TIMELINE_PARTS)),
                        out_number(OUT_BYTE_RATE, mean[k]),
                        out_number(OUT_BYTE_RATE, max[k]),
                    });
    }
    out_table_end(report->out);
}

int copy_rates_emit(const struct report *report, struct copy_rates *rates, struct diag *diag)
{
    int64_t start_ns, end_ns;
    int rc;

    if (!rates->rates.count)
        return 0;
    for (size_t i = 0; i < rates->rates.count; i++)
        step_curve_sort(&rates->rates.items[i].curve, false);
    find_extent(rates, &start_ns, &end_ns);
    rc = emit_lines(report, rates, start_ns, end_ns, diag);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the table");
    if (rc)
        return rc;
    emit_timeline(report, rates, start_ns, end_ns);
    out_note(report->out, OUT_NOTE_PLAIN,
             "Bandwidth over time is that of all copies of a name together, from the first copy or "
             "fill to the end of the last; its mean counts the time between copies, too.");
    return 0;
}

void copy_rates_deinit(struct copy_rates *rates)
{
    for (size_t i = 0; i < rates->rates.count; i++)
        step_curve_deinit(&rates->rates.items[i].curve);
    array_deinit(&rates->rates);
}
