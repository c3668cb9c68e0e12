/* SPDX-License-Identifier: Apache-2.0 */
/* Counters below the page's timeline: of each lane and name a curve in each view. */
#include <errno.h>
#include <string.h>

#include "analyze/reports/page/page.h"

/* Counters of one name on one lane. */
struct track {
    uint32_t op, lane;
};

struct tracks {
    struct track items[PAGE_TRACKS_MAX];
    size_t count;
    bool is_full; /* there are more */
};

/* What the curve of memory tells is not told again, nor what is read at the ends of spans. */
static bool is_wanted(const struct spans_answer *spans, const struct counter_row *row)
{
    static const char *const others[] = {"Total Allocated", "Total Reserved", "perf.",
                                         "calibration."};

    if (row->op == SPAN_NONE || row->lane == SPAN_NONE)
        return false;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strncmp(spans->ops.items[row->op].name, others[i], strlen(others[i])) == 0)
            return false;
    }
    return true;
}

static bool is_of(const struct track *track, const struct counter_row *row)
{
    return track->op == row->op && track->lane == row->lane;
}

static void find_tracks(const struct spans_answer *spans, const struct counter_row_array *rows,
                        struct tracks *tracks)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct counter_row *row = &rows->items[i];
        size_t at = 0;

        if (!is_wanted(spans, row))
            continue;
        while (at < tracks->count && !is_of(&tracks->items[at], row))
            at++;
        if (at < tracks->count)
            continue;
        if (tracks->count == PAGE_TRACKS_MAX) {
            tracks->is_full = true;
            continue;
        }
        tracks->items[tracks->count++] = (struct track){row->op, row->lane};
    }
}

/* The last value before the view holds at its start. */
static int make_curve(const struct counter_row_array *rows, const struct track *track,
                      const struct page_view *view, struct page_curve *curve)
{
    double before = 0;
    bool has_before = false, is_inside = false;
    int rc = 0;

    page_curve_begin(curve, rows->count, view->end_ns - view->start_ns, PAGE_POINTS_MAX / 2);
    for (size_t i = 0; i < rows->count && rc == 0; i++) {
        const struct counter_row *row = &rows->items[i];

        if (!is_of(track, row) || row->time_ns > view->end_ns)
            continue;
        if (row->time_ns <= view->start_ns) {
            before = row->value;
            has_before = true;
            continue;
        }
        if (has_before && !is_inside)
            rc = page_curve_add(curve, 0, before);
        is_inside = true;
        if (rc == 0)
            rc = page_curve_add(curve, row->time_ns - view->start_ns, row->value);
    }
    return rc == 0 && has_before && !is_inside ? page_curve_add(curve, 0, before) : rc;
}

static bool has_namesake(const struct spans_answer *spans, const struct tracks *tracks, size_t at)
{
    for (size_t i = 0; i < tracks->count; i++) {
        if (i != at && strcmp(spans->ops.items[tracks->items[i].op].name,
                              spans->ops.items[tracks->items[at].op].name) == 0)
            return true;
    }
    return false;
}

static int emit_track(struct out *out, const struct spans_answer *spans,
                      const struct counter_row_array *rows, const struct tracks *tracks, size_t at,
                      const struct page_view *view)
{
    const struct track *track = &tracks->items[at];
    struct text_buffer name = {0};
    struct page_curve curve;
    int rc = make_curve(rows, track, view, &curve);

    text_buffer_print(&name, "%s", spans->ops.items[track->op].name);
    if (has_namesake(spans, tracks, at))
        text_buffer_print(&name, " (%s)", spans->lanes.items[track->lane].name);
    if (name.failed)
        rc = -ENOMEM;
    for (size_t i = 0; i < curve.points.count && rc == 0; i++)
        out_row(out, (struct out_value[]){
                         out_text(view->name),
                         out_text(text_buffer_text(&name)),
                         out_number(OUT_NS, (double)curve.points.items[i].time_ns),
                         out_number(OUT_REAL, curve.points.items[i].value),
                     });
    array_deinit(&curve.points);
    text_buffer_deinit(&name);
    return rc;
}

static int emit(const struct page *page, const struct spans_answer *spans,
                const struct counter_row_array *rows, const struct page_views *views)
{
    static const struct out_chart chart = {.kind = OUT_CHART_DATA};
    static const struct out_section section = {
        .name = "timeline_counters", .data_only = true, .chart = &chart};
    static const struct out_column columns[] = {
        {.name = "view"}, {.name = "counter"}, {.name = "time_ns"}, {.name = "value"}};
    struct tracks tracks = {.count = 0};
    int rc = 0;

    find_tracks(spans, rows, &tracks);
    if (!tracks.count)
        return 0;
    out_table_begin(page->report->out, &section, columns, 4);
    for (size_t i = 0; i < views->count * tracks.count && rc == 0; i++)
        rc = emit_track(page->report->out, spans, rows, &tracks, i % tracks.count,
                        &views->items[i / tracks.count]);
    out_table_end(page->report->out);
    if (tracks.is_full)
        out_note(page->report->out, OUT_NOTE_PLAIN,
                 "The timeline shows the first %d counters; --report counters and --sql have all.",
                 PAGE_TRACKS_MAX);
    return rc;
}

int page_counters(const struct page *page, const struct spans_answer *spans,
                  const struct page_views *views, struct diag *diag)
{
    struct counter_row_array rows;
    int rc = query_counters(page->report->source->store, spans, &rows, diag);

    if (rc == 0 && emit(page, spans, &rows, views) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the counters");
    array_deinit(&rows);
    return rc;
}
