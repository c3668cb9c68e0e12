/* SPDX-License-Identifier: Apache-2.0 */
/* The page's timeline: the spans of chosen runs, or of all of the time where there are no runs. Of
 * too many it shows the longest. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/page/page.h"

struct timeline {
    const struct page *page;
    const struct spans_answer *spans;
    const struct page_longest *longest;
    struct page_views *views;
    uint32_t *rows;    /* beside the spans: their row, or SPAN_NONE */
    uint32_t *op_rows; /* beside the ops: their row in timeline_ops, or SPAN_NONE */
    uint32_t *ops;     /* the ops of these rows */
    uint32_t op_count;
    char **lane_names; /* beside the lanes, each another */
};

static bool belongs(const struct timeline *timeline, const struct page_view *view, size_t place)
{
    const struct span *span = &timeline->spans->spans.items[place];

    return span->is_shown && timeline->spans->op_kinds[span->op] != SPAN_MARK &&
           (view->run == SPAN_NONE || span->run == view->run);
}

/* --- Views. --- */

static int add_view(struct timeline *timeline, struct text_buffer *name, uint32_t run,
                    int64_t start_ns)
{
    if (name->failed || !name->text) {
        text_buffer_deinit(name);
        return -ENOMEM;
    }
    timeline->views->items[timeline->views->count] = (struct page_view){
        .name = name->text,
        .run = run,
        .start_ns = start_ns,
        .end_ns = start_ns,
        .span_count = page_longest_count(timeline->longest, timeline->views->count)};
    timeline->views->count++;
    return 0;
}

static int make_views(struct timeline *timeline)
{
    const struct page *page = timeline->page;
    int rc = 0;

    for (size_t i = 0; i < page->chosen_count && rc == 0; i++) {
        struct text_buffer name = {0};

        page_name_run(page, &page->chosen[i], &name);
        rc = add_view(timeline, &name, page_place_of_run(timeline->spans, &page->chosen[i].run),
                      page->chosen[i].run.start_ns);
    }
    if (!page->chosen_count) {
        struct text_buffer name = {0};

        text_buffer_print(&name, "all of the time");
        rc = add_view(timeline, &name, SPAN_NONE, timeline->spans->start_ns);
    }
    return rc;
}

/* --- Lanes: a name that another one has, too, gets its number. --- */

static bool has_namesake(const struct spans_answer *spans, size_t lane)
{
    for (size_t i = 0; i < spans->lanes.count; i++) {
        if (i != lane && strcmp(spans->lanes.items[i].name, spans->lanes.items[lane].name) == 0)
            return true;
    }
    return false;
}

static int name_lanes(struct timeline *timeline)
{
    const struct spans_answer *spans = timeline->spans;

    timeline->lane_names = calloc(spans->lanes.count + 1, sizeof(*timeline->lane_names));
    if (!timeline->lane_names)
        return -ENOMEM;
    for (size_t i = 0; i < spans->lanes.count; i++) {
        const struct lane_row *lane = &spans->lanes.items[i];
        struct text_buffer name = {0};

        text_buffer_print(&name, "%s", lane->name);
        if (has_namesake(spans, i))
            text_buffer_print(&name, " (lane %" PRId64 ")", lane->lane_id);
        timeline->lane_names[i] = name.text;
        if (name.failed)
            return -ENOMEM;
    }
    return 0;
}

/* --- Which spans: the longest. --- */

static int compare_falling(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left < right) - (left > right);
}

/* Sets the bound on durations that at most `most` spans reach. */
static int bound_view(const struct timeline *timeline, struct page_view *view, size_t most)
{
    const struct span *spans = timeline->spans->spans.items;
    int64_t *durations;
    size_t count = 0;

    view->shortest_ns = most ? -1 : INT64_MAX; /* all are longer, or none is */
    if (view->span_count <= most || !most)
        return 0;
    durations = malloc(timeline->spans->spans.count * sizeof(*durations));
    if (!durations)
        return -ENOMEM;
    for (size_t i = 0; i < timeline->spans->spans.count; i++) {
        if (belongs(timeline, view, i))
            durations[count++] = spans[i].dur_ns;
    }
    qsort(durations, count, sizeof(*durations), compare_falling);
    view->shortest_ns = durations[most - 1];
    while (view->shortest_left < most &&
           durations[most - 1 - view->shortest_left] == view->shortest_ns)
        view->shortest_left++;
    free(durations);
    return 0;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t span_end(const struct span *span)
{
    return span->start_ns + span->dur_ns;
}

static void number_op(struct timeline *timeline, uint32_t op)
{
    if (timeline->op_rows[op] != SPAN_NONE)
        return;
    timeline->ops[timeline->op_count] = op;
    timeline->op_rows[op] = timeline->op_count++;
}

/* Gives the spans of a view that are shown their rows. */
static uint32_t choose_spans(struct timeline *timeline, struct page_view *view, uint32_t row)
{
    for (size_t i = 0; i < timeline->spans->spans.count; i++) {
        int64_t dur_ns = timeline->spans->spans.items[i].dur_ns;

        if (!belongs(timeline, view, i) || dur_ns < view->shortest_ns ||
            (dur_ns == view->shortest_ns && !view->shortest_left))
            continue;
        view->shortest_left -= dur_ns == view->shortest_ns;
        timeline->rows[i] = row++;
        view->shown_count++;
        view->end_ns = max_ns(view->end_ns, span_end(&timeline->spans->spans.items[i]));
        number_op(timeline, timeline->spans->spans.items[i].op);
    }
    return row;
}

/* --- Rows. --- */

static const char *side_of(const struct lane_row *lane)
{
    if (lane->side == OP_HOST)
        return "host";
    return lane->device ? lane->device : "device";
}

/* The kind of a span tells how it is coloured: what a framework calls a type, else what it is. */
static const char *type_of(const struct spans_answer *spans, const struct span *span)
{
    static const char *const kinds[] = {
        [SPAN_LABEL] = "label", [SPAN_PHASE] = "phase", [SPAN_MARK] = "mark"};
    enum span_kind kind = (enum span_kind)spans->op_kinds[span->op];

    return kind == SPAN_OP ? spans->ops.items[span->op].type : kinds[kind];
}

static void emit_span(const struct timeline *timeline, const struct page_view *view, size_t place)
{
    const struct spans_answer *spans = timeline->spans;
    const struct span *span = &spans->spans.items[place];
    const struct lane_row *lane = &spans->lanes.items[span->lane];
    uint32_t launch = span_is_device(spans, span) ? span->launch : SPAN_NONE;
    bool has_launch = launch != SPAN_NONE && timeline->rows[launch] != SPAN_NONE;
    bool has_self = spans->op_kinds[span->op] == SPAN_OP;

    out_row(timeline->page->report->out,
            (struct out_value[]){
                out_text(view->name),
                view->run == SPAN_NONE ? out_unknown(OUT_INT)
                                       : out_integer(OUT_INT, spans->runs.items[view->run].run),
                out_text(timeline->lane_names[span->lane]),
                out_text(side_of(lane)),
                out_integer(OUT_INT, timeline->op_rows[span->op]),
                out_text(spans->ops.items[span->op].name),
                out_text(type_of(spans, span)),
                out_number(OUT_NS, (double)(span->start_ns - view->start_ns)),
                out_number(OUT_NS, (double)span->dur_ns),
                has_self ? out_number(OUT_NS, (double)span->self_ns) : out_unknown(OUT_NS),
                out_integer(OUT_INT, span->depth),
                span->bytes == STORE_NULL ? out_unknown(OUT_BYTES)
                                          : out_number(OUT_BYTES, (double)span->bytes),
                has_launch ? out_integer(OUT_INT, timeline->rows[launch]) : out_unknown(OUT_INT),
            });
}

static void emit(const struct timeline *timeline)
{
    static const char *const names[] = OUT_TIMELINE_COLUMNS;
    static const struct out_chart chart = {.kind = OUT_CHART_TIMELINE};
    static const struct out_section section = {
        .name = "timeline", .title = "Timeline", .data_only = true, .chart = &chart};
    struct out_column columns[sizeof(names) / sizeof(names[0])] = {{NULL}};
    struct out *out = timeline->page->report->out;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        columns[i].name = columns[i].title = names[i];
    out_table_begin(out, &section, columns, sizeof(names) / sizeof(names[0]));
    for (size_t view = 0; view < timeline->views->count; view++) {
        for (size_t i = 0; i < timeline->spans->spans.count; i++) {
            if (timeline->rows[i] != SPAN_NONE &&
                belongs(timeline, &timeline->views->items[view], i))
                emit_span(timeline, &timeline->views->items[view], i);
        }
    }
    out_table_end(out);
    for (size_t i = 0; i < timeline->views->count; i++) {
        const struct page_view *view = &timeline->views->items[i];

        if (view->shown_count < view->span_count)
            out_note(out, OUT_NOTE_PLAIN,
                     "The timeline of %s shows the %zu longest of %zu spans; --runs and --time "
                     "choose fewer.",
                     view->name, view->shown_count, view->span_count);
    }
}

/* The main runs share the room for spans, the others what these leave. */
static size_t room_of(const struct page_views *views, size_t place, size_t row_count)
{
    size_t main_count = views->count < PAGE_MAIN_RUNS ? views->count : PAGE_MAIN_RUNS;

    if (place < main_count)
        return PAGE_SPANS_MAX / main_count;
    return (PAGE_SPANS_MAX - row_count) / (views->count - place);
}

static int allocate(struct timeline *timeline)
{
    size_t spans = timeline->spans->spans.count + 1, ops = timeline->spans->ops.count + 1;

    timeline->rows = malloc(spans * sizeof(*timeline->rows));
    timeline->op_rows = malloc(ops * sizeof(*timeline->op_rows));
    timeline->ops = malloc(ops * sizeof(*timeline->ops));
    if (!timeline->rows || !timeline->op_rows || !timeline->ops)
        return -ENOMEM;
    memset(timeline->rows, 0xff, spans * sizeof(*timeline->rows));
    memset(timeline->op_rows, 0xff, ops * sizeof(*timeline->op_rows));
    return 0;
}

static void release(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->spans->lanes.count && timeline->lane_names; i++)
        free(timeline->lane_names[i]);
    free(timeline->lane_names);
    free(timeline->rows);
    free(timeline->op_rows);
    free(timeline->ops);
}

int page_timeline(const struct page *page, const struct spans_answer *spans,
                  const struct page_longest *longest, struct page_views *views, struct diag *diag)
{
    struct timeline timeline = {.page = page, .spans = spans, .longest = longest, .views = views};
    uint32_t row = 0;
    int rc = make_views(&timeline);

    if (rc == 0)
        rc = name_lanes(&timeline);
    if (rc == 0)
        rc = allocate(&timeline);
    for (size_t i = 0; i < views->count && rc == 0; i++) {
        rc = bound_view(&timeline, &views->items[i], room_of(views, i, row));
        if (rc == 0)
            row = choose_spans(&timeline, &views->items[i], row);
    }
    if (rc == 0 && row) {
        emit(&timeline);
        rc = page_timeline_ops(page, spans, timeline.ops, timeline.op_count);
    }
    release(&timeline);
    return rc < 0 ? diag_set(diag, rc, "no memory for the timeline") : 0;
}

void page_views_deinit(struct page_views *views)
{
    for (size_t i = 0; i < views->count; i++)
        free(views->items[i].name);
}
