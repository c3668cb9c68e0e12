/* SPDX-License-Identifier: Apache-2.0 */
/* From rows of memory to the lines of a report. */
#include "analyze/reports/memory_view.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/containers/place_map.h"
#include "analyze/query/span_tree.h"
#include "analyze/stats/describe.h"
#include "base/sorted.h"

/* --- Reading. --- */

static bool needs_spans(const struct memory_view *view, const struct report *report)
{
    return view->grouping == MEMORY_BY_LABEL || view->grouping == MEMORY_BY_CATEGORY ||
           report_filters_by(report->options, FILTER_OF_LABELS);
}

/* Spans only where they are asked about; memory of all times, as what is alive in a window was
 * taken before it. */
static int read_rows(struct memory_view *view, const struct report *report,
                     const struct report_selection *selection, struct diag *diag)
{
    static const struct run_key none;
    struct ops_question question = selection->question;
    struct store *store = report->source->store;
    int rc;

    question.window = NULL;
    question.first_run = question.last_run = 0;
    question.totals = true;
    if (!needs_spans(view, report))
        question.chosen_runs = &none;
    rc = query_spans(store, &question, &view->spans, diag);
    if (rc == 0)
        rc = query_memory(store, &view->spans, &view->rows, diag);
    if (rc == 0)
        rc = query_memory_totals(store, &view->spans, &view->totals, diag);
    if (rc == 0)
        rc = query_memory_plans(store, &question, &view->plans, diag);
    return rc;
}

static int read_runs(struct memory_view *view, const struct report *report,
                     const struct report_selection *selection, struct diag *diag)
{
    struct ops_question question = selection->question;
    size_t kept = 0;
    int rc;

    question.window = NULL;
    rc = query_runs(report->source->store, &question, &view->runs, diag);
    for (size_t i = 0; i < view->runs.count; i++) {
        if (view->runs.items[i].end_ns != STORE_NULL)
            view->runs.items[kept++] = view->runs.items[i];
    }
    view->runs.count = kept;
    if (rc == 0 && !kept && question.first_run) {
        diag_set(diag, 0, "no run that ended is in what is asked for");
        rc = REPORT_NOTHING;
    }
    return rc;
}

/* --- What was asked for. --- */

/* Bounds of --time, or of the runs of --runs. */
static int bound_session(const struct memory_view *view, const struct report *report,
                         const struct report_selection *selection,
                         const struct session_row *session, int64_t *out_from_ns,
                         int64_t *out_until_ns)
{
    *out_from_ns = INT64_MIN;
    *out_until_ns = INT64_MAX;
    if (report->options->time) {
        selection_resolve_window(&selection->window, session->start_ns, session->end_ns,
                                 out_from_ns, out_until_ns);
        return *out_from_ns > session->end_ns ? REPORT_NOTHING : 0;
    }
    if (!selection->question.first_run)
        return 0;
    for (size_t i = 0; i < view->runs.count; i++) {
        const struct counted_run *run = &view->runs.items[i];

        if (run->session_id != session->session_id)
            continue;
        if (*out_from_ns == INT64_MIN || run->start_ns < *out_from_ns)
            *out_from_ns = run->start_ns;
        if (*out_until_ns == INT64_MAX || run->end_ns > *out_until_ns)
            *out_until_ns = run->end_ns;
    }
    return 0;
}

static int allocate_pools(struct memory_view *view)
{
    size_t count = view->blocks.pools.count ? view->blocks.pools.count : 1;

    view->peaks = calloc(count, sizeof(*view->peaks));
    view->peak_ops = calloc(count, sizeof(*view->peak_ops));
    view->growth = calloc(count, sizeof(*view->growth));
    view->before = calloc(count, sizeof(*view->before));
    view->after = calloc(count, sizeof(*view->after));
    view->pool_start_ns = calloc(count, sizeof(*view->pool_start_ns));
    view->from_ns = calloc(count, sizeof(*view->from_ns));
    view->is_shown = calloc(count, sizeof(*view->is_shown));
    view->until_ns = calloc(count, sizeof(*view->until_ns));
    return view->peaks && view->peak_ops && view->growth && view->before && view->after &&
                   view->pool_start_ns && view->from_ns && view->until_ns && view->is_shown
               ? 0
               : -ENOMEM;
}

static int bound_pools(struct memory_view *view, const struct report *report,
                       const struct report_selection *selection, struct diag *diag)
{
    size_t outside = 0;

    for (size_t i = 0; i < view->blocks.pools.count; i++) {
        const struct session_row *session =
            report_session(report, view->blocks.pools.items[i].session_id);

        view->pool_start_ns[i] = session->start_ns;
        outside += bound_session(view, report, selection, session, &view->from_ns[i],
                                 &view->until_ns[i]) == REPORT_NOTHING;
    }
    if (!view->blocks.pools.count || outside < view->blocks.pools.count)
        return 0;
    diag_set(diag, 0, "no memory was recorded in the time that is asked for");
    return REPORT_NOTHING;
}

/* --- Labels. --- */

static uint32_t next_label(const struct spans_answer *spans, uint32_t place)
{
    while (place != SPAN_NONE && spans->op_kinds[spans->spans.items[place].op] != SPAN_LABEL)
        place = spans->spans.items[place].parent;
    return place;
}

/* The innermost label open when a piece was taken: on its own thread; what is a device's, on any
 * thread of the session. */
static uint32_t find_label(const struct spans_answer *spans, const struct memory_block *block)
{
    const struct lane_row *own = &spans->lanes.items[block->lane];
    uint32_t label = SPAN_NONE;

    if (block->start_ns == MEMORY_BEFORE)
        return SPAN_NONE;
    if (own->side == OP_HOST)
        return next_label(spans, span_at(spans, block->lane, block->start_ns));
    for (uint32_t i = 0; i < spans->lanes.count && label == SPAN_NONE; i++) {
        const struct lane_row *lane = &spans->lanes.items[i];

        if (lane->session_id == own->session_id && lane->side == OP_HOST)
            label = next_label(spans, span_at(spans, i, block->start_ns));
    }
    return label;
}

/* --- Which pieces are shown. --- */

static bool is_labelled(const struct spans_answer *spans, struct filter *filter,
                        const struct memory_block *block)
{
    for (uint32_t label = find_label(spans, block); label != SPAN_NONE;
         label = next_label(spans, spans->spans.items[label].parent)) {
        const struct op_row *op = &spans->ops.items[spans->spans.items[label].op];

        if (filter_passes_label(filter, op))
            return true;
    }
    return false;
}

static bool is_about_ops(const struct analyze_options *options)
{
    return !isnan(options->min_time_s) || !isnan(options->max_time_s) ||
           report_filters_by(options, FILTER_OF_OPS);
}

static bool passes(const struct memory_view *view, const struct report *report,
                   struct filter *filter, const struct memory_block *block)
{
    static const struct op_row unknown = {.name = "", .type = ""};
    const struct spans_answer *spans = &view->spans;
    const struct op_row *op = block->op == SPAN_NONE ? &unknown : &spans->ops.items[block->op];

    if (is_about_ops(report->options) && (op == &unknown || !filter_passes_op(filter, op)))
        return false;
    if (!filter_passes_lane(filter, &spans->lanes.items[block->lane], op))
        return false;
    return !filter_is_of(filter, FILTER_OF_LABELS) || is_labelled(spans, filter, block);
}

static int filter_blocks(struct memory_view *view, const struct report *report,
                         struct filter *filter, struct diag *diag)
{
    for (size_t i = 0; i < view->blocks.blocks.count; i++) {
        struct memory_block *block = &view->blocks.blocks.items[i];

        block->is_shown = passes(view, report, filter, block);
    }
    return filter->gave_up ? filter_complain(filter, diag) : 0;
}

/* --- How long pieces live. --- */

static int compare_ends(const void *a, const void *b)
{
    const struct run_end *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

static int sort_run_ends(struct memory_view *view)
{
    size_t count = view->runs.count;

    view->run_ends = calloc(count ? count : 1, sizeof(*view->run_ends));
    if (!view->run_ends)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        view->run_ends[i] =
            (struct run_end){view->runs.items[i].session_id, view->runs.items[i].end_ns};
    if (count)
        qsort(view->run_ends, count, sizeof(*view->run_ends), compare_ends);
    return 0;
}

/* Whether some run of its session ended while the piece was alive. */
static bool outlives_run(const struct memory_view *view, const struct memory_block *block)
{
    struct run_end first = {view->blocks.pools.items[block->pool].session_id, block->start_ns};
    size_t low = 0, high = view->runs.count;

    low = search_past(low, high, middle, compare_ends(&view->run_ends[middle], &first) < 0);
    return low < view->runs.count && view->run_ends[low].session_id == first.session_id &&
           view->run_ends[low].end_ns < block->end_ns;
}

static const struct op_row *op_at(const struct spans_answer *spans, uint32_t place)
{
    return &spans->ops.items[spans->spans.items[place].op];
}

/* The execution of `op` at or around a place, and further out as long as it lies in another of its
 * type: aten::empty takes the memory of aten::conv2d. */
static uint32_t outermost_of_op(const struct spans_answer *spans, uint32_t place, uint32_t op)
{
    const struct span *items = spans->spans.items;

    while (place != SPAN_NONE && items[place].op != op)
        place = items[place].parent;
    while (place != SPAN_NONE && items[place].parent != SPAN_NONE &&
           strcmp(op_at(spans, items[place].parent)->type, spans->ops.items[op].type) == 0)
        place = items[place].parent;
    return place;
}

/* Whether what took the piece gave it back before it ended: on its own thread; what is a device's,
 * on any thread of the session. */
static bool is_within_op(const struct spans_answer *spans, const struct memory_block *block)
{
    const struct lane_row *own = &spans->lanes.items[block->lane];

    for (uint32_t i = 0; i < spans->lanes.count; i++) {
        const struct lane_row *lane = &spans->lanes.items[i];
        bool is_own = own->side == OP_HOST
                          ? i == block->lane
                          : lane->side == OP_HOST && lane->session_id == own->session_id;
        uint32_t place = is_own
                             ? outermost_of_op(spans, span_at(spans, i, block->start_ns), block->op)
                             : SPAN_NONE;

        if (place != SPAN_NONE)
            return spans->spans.items[place].start_ns + spans->spans.items[place].dur_ns >=
                   block->end_ns;
    }
    return false;
}

static const char *category_of(const struct memory_view *view, const struct memory_block *block)
{
    const struct op_row *op = block->op == SPAN_NONE ? NULL : &view->spans.ops.items[block->op];

    if (op && strcmp(op->type, "memory") == 0)
        return op->name;
    if (block->end_ns == MEMORY_NEVER)
        return "kept to the end";
    if (outlives_run(view, block))
        return "across runs";
    return op && is_within_op(&view->spans, block) ? "within an operator" : "temporary";
}

/* --- Lines. --- */

static const char *name_of(const struct memory_view *view, const struct memory_block *block)
{
    const struct spans_answer *spans = &view->spans;
    const struct op_row *op = block->op == SPAN_NONE ? NULL : &spans->ops.items[block->op];
    uint32_t label;

    if (block->start_ns == MEMORY_BEFORE)
        return "before the recording";
    switch (view->grouping) {
    case MEMORY_BY_LABEL:
        label = find_label(spans, block);
        return label == SPAN_NONE ? "outside of labels"
                                  : spans->ops.items[spans->spans.items[label].op].name;
    case MEMORY_BY_TYPE:
        return op ? op->type : NULL;
    case MEMORY_BY_SHAPE:
        return op ? op->output_shapes : NULL;
    case MEMORY_BY_CATEGORY:
        return category_of(view, block);
    case MEMORY_BY_NAME:
        break;
    }
    return op ? op->name : NULL;
}

/* A name with other shapes is the same name. */
static int find_line(struct memory_view *view, struct place_map *map, size_t block_place)
{
    const struct memory_block *block = &view->blocks.blocks.items[block_place];
    struct memory_line line = {.pool = block->pool, .name = name_of(view, block)};
    struct memory_line *known;
    struct place_key key = {0};
    const char *type = "";
    uint32_t place;

    if (view->grouping == MEMORY_BY_NAME && block->op != SPAN_NONE) {
        line.op = &view->spans.ops.items[block->op];
        line.shapes = line.op->output_shapes;
        type = line.op->type;
    }
    place_key_add(&key, &block->pool, sizeof(block->pool));
    place_key_add(&key, type, strlen(type) + (line.op != NULL));
    place_key_add(&key, line.name ? line.name : "", line.name ? strlen(line.name) + 1 : 0);
    view->line_of[block_place] = place = place_map_find(map, key);
    if (place != PLACE_NONE) {
        known = &view->lines.items[place];
        if (known->shapes && (!line.shapes || strcmp(known->shapes, line.shapes) != 0))
            known->shapes = NULL;
        return 0;
    }
    view->line_of[block_place] = (uint32_t)view->lines.count;
    if (place_map_set(map, key, (uint32_t)view->lines.count) < 0)
        return -ENOMEM;
    return array_push(&view->lines, line);
}

static void add_block(struct memory_view *view, const struct memory_block *block,
                      struct memory_line *line)
{
    bool in_time = block->start_ns != MEMORY_BEFORE &&
                   block->start_ns >= view->from_ns[block->pool] &&
                   block->start_ns < view->until_ns[block->pool];

    if (memory_is_alive(block, view->peaks[block->pool].row)) {
        line->peak_count++;
        line->peak_bytes += block->bytes;
    }
    if (block->end_ns == MEMORY_NEVER) {
        line->kept_count++;
        line->kept_bytes += block->bytes;
    }
    if (!in_time)
        return;
    line->taken_count++;
    line->taken_bytes += block->bytes;
    line->short_count += block->end_ns != MEMORY_NEVER && !outlives_run(view, block);
    if (block->end_ns != MEMORY_NEVER) {
        line->life_count++;
        line->life_ns += (double)(block->end_ns - block->start_ns);
    }
}

static int make_lines(struct memory_view *view)
{
    size_t count = view->blocks.blocks.count;
    struct place_map map = {0};
    int rc = sort_run_ends(view);

    view->line_of = calloc(count ? count : 1, sizeof(*view->line_of));
    if (!view->line_of)
        rc = -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct memory_block *block = &view->blocks.blocks.items[i];

        if (!block->is_shown)
            continue;
        view->is_shown[block->pool] = true;
        rc = find_line(view, &map, i);
        if (rc == 0)
            add_block(view, block, &view->lines.items[view->line_of[i]]);
    }
    place_map_deinit(&map);
    return rc;
}

/* --- Pools: peaks and both ends. --- */

static void measure_pools(struct memory_view *view)
{
    for (uint32_t i = 0; i < view->blocks.pools.count; i++) {
        view->before[i] = view->after[i] = memory_bytes_before(&view->blocks, i);
        memory_find_peak(&view->blocks, &view->points, i, view->from_ns[i], view->until_ns[i],
                         &view->peaks[i]);
    }
    for (size_t i = 0; i < view->points.count; i++) {
        const struct memory_point *point = &view->points.items[i];
        const struct memory_block *block = &view->blocks.blocks.items[point->block];

        view->after[block->pool] += point->is_start ? block->bytes : -block->bytes;
    }
}

/* What a program says of a piece that it shares out itself. */
static const char *told_peak_op(struct memory_view *view, const struct op_row *op)
{
    cJSON *params = op->params ? cJSON_Parse(op->params) : NULL;
    const char *told = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(params, "peak_op"));
    const char *kept = told && *told ? query_keep(&view->spans.texts, told) : NULL;

    cJSON_Delete(params);
    return kept;
}

/* Of pieces alive at the peak: of the largest one that is told of, else of the last one taken. */
static int find_peak_ops(struct memory_view *view)
{
    int64_t *told_bytes = calloc(view->blocks.pools.count + 1, sizeof(*told_bytes));

    for (size_t i = 0; i < view->blocks.blocks.count && told_bytes; i++) {
        const struct memory_block *block = &view->blocks.blocks.items[i];
        int64_t row = view->peaks[block->pool].row;
        const struct op_row *op;
        const char *told = NULL;

        if (!block->is_shown || block->op == SPAN_NONE || !memory_is_alive(block, row))
            continue;
        op = &view->spans.ops.items[block->op];
        if (strcmp(op->type, "memory") == 0 && block->bytes > told_bytes[block->pool])
            told = told_peak_op(view, op);
        if (told) {
            view->peak_ops[block->pool] = told;
            told_bytes[block->pool] = block->bytes;
        } else if (block->start_row == row && strcmp(op->type, "memory") != 0 &&
                   !told_bytes[block->pool]) {
            view->peak_ops[block->pool] = op->name;
        }
    }
    free(told_bytes);
    return told_bytes && !view->spans.texts.failed ? 0 : -ENOMEM;
}

const char *memory_view_peak_op(const struct memory_view *view, uint32_t pool)
{
    return view->peak_ops[pool];
}

/* --- Growth from run to run. --- */

/* What is alive of a pool and of each of its lines at the ends of chosen runs. */
struct snapshots {
    double *x;     /* number of the run among the counted ones */
    double *pool;  /* bytes */
    double *lines; /* SLOPE_POINTS_MAX for each line */
    size_t count;
};

static void take_snapshot(const struct memory_view *view, struct snapshots *shots, size_t run,
                          int64_t alive, const int64_t *alive_lines)
{
    shots->x[shots->count] = (double)run;
    shots->pool[shots->count] = (double)alive;
    for (size_t i = 0; i < view->lines.count; i++)
        shots->lines[i * SLOPE_POINTS_MAX + shots->count] = (double)alive_lines[i];
    shots->count++;
}

/* Walks through the points with the runs of the pool's session, every `step`th of them. */
static void take_snapshots(const struct memory_view *view, uint32_t pool, int64_t *alive_lines,
                           struct snapshots *shots)
{
    int64_t session_id = view->blocks.pools.items[pool].session_id;
    int64_t alive = memory_bytes_before(&view->blocks, pool);
    size_t of_session = 0, step, number = 0, point = 0;

    for (size_t i = 0; i < view->runs.count; i++)
        of_session += view->runs.items[i].session_id == session_id;
    step = (of_session + SLOPE_POINTS_MAX - 1) / SLOPE_POINTS_MAX;
    for (size_t i = 0; i < view->runs.count; i++) {
        const struct counted_run *run = &view->runs.items[i];

        if (run->session_id != session_id || number++ % step != 0)
            continue;
        for (; point < view->points.count && view->points.items[point].time_ns <= run->end_ns;
             point++) {
            uint32_t place = view->points.items[point].block;
            const struct memory_block *block = &view->blocks.blocks.items[place];
            int64_t bytes = view->points.items[point].is_start ? block->bytes : -block->bytes;

            if (block->pool != pool)
                continue;
            alive += bytes;
            alive_lines[view->line_of[place]] += bytes;
        }
        take_snapshot(view, shots, number, alive, alive_lines);
    }
}

static int fit_pool(struct memory_view *view, uint32_t pool, struct snapshots *shots)
{
    int64_t *alive_lines = calloc(view->lines.count ? view->lines.count : 1, sizeof(*alive_lines));
    int rc = alive_lines ? 0 : -ENOMEM;

    shots->count = 0;
    if (rc == 0) {
        take_snapshots(view, pool, alive_lines, shots);
        rc = slope_fit(shots->x, shots->pool, shots->count, &view->growth[pool]);
    }
    for (size_t i = 0; i < view->lines.count && rc == 0; i++) {
        if (view->lines.items[i].pool == pool)
            rc = slope_fit(shots->x, shots->lines + i * SLOPE_POINTS_MAX, shots->count,
                           &view->lines.items[i].growth);
    }
    free(alive_lines);
    return rc;
}

static int fit_growth(struct memory_view *view)
{
    struct snapshots shots = {
        .x = calloc(SLOPE_POINTS_MAX, sizeof(double)),
        .pool = calloc(SLOPE_POINTS_MAX, sizeof(double)),
        .lines = calloc((view->lines.count + 1) * SLOPE_POINTS_MAX, sizeof(double)),
    };
    int rc = shots.x && shots.pool && shots.lines ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < view->blocks.pools.count && rc == 0; i++)
        rc = fit_pool(view, i, &shots);
    free(shots.x);
    free(shots.pool);
    free(shots.lines);
    return rc;
}

/* --- Counters. --- */

/* Whether a counter's name says that it is about memory. */
static bool is_about_memory(const char *name)
{
    static const char *const words[] = {"alloc", "reserved", "memory", "bytes"};

    if (strncmp(name, "calibration.", 12) == 0)
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(name, words[i]))
            return true;
    }
    return false;
}

static struct memory_counter *find_counter(struct memory_view *view, const struct counter_row *row,
                                           const struct report *report)
{
    const struct lane_row *lane = &view->spans.lanes.items[row->lane];
    struct memory_counter counter = {
        .name = view->spans.ops.items[row->op].name,
        .device = lane->device,
        .op = row->op,
        .lane = row->lane,
        .first = row->value,
        .peak = row->value,
        .peak_at_ns = (double)(row->time_ns - report_session(report, lane->session_id)->start_ns),
    };

    for (size_t i = 0; i < view->counters.count; i++) {
        if (view->counters.items[i].op == row->op && view->counters.items[i].lane == row->lane)
            return &view->counters.items[i];
    }
    return array_push(&view->counters, counter) < 0
               ? NULL
               : &view->counters.items[view->counters.count - 1];
}

static int add_counter(struct memory_view *view, const struct report *report,
                       const struct report_selection *selection, const struct counter_row *row)
{
    const struct session_row *session =
        report_session(report, view->spans.lanes.items[row->lane].session_id);
    struct memory_counter *counter;
    int64_t from_ns, until_ns;

    bound_session(view, report, selection, session, &from_ns, &until_ns);
    if (isnan(row->value) || row->time_ns < from_ns || row->time_ns >= until_ns)
        return 0;
    counter = find_counter(view, row, report);
    if (!counter)
        return -ENOMEM;
    counter->count++;
    counter->last = row->value;
    if (row->value > counter->peak) {
        counter->peak = row->value;
        counter->peak_at_ns = (double)(row->time_ns - session->start_ns);
    }
    return 0;
}

static int read_counters(struct memory_view *view, const struct report *report,
                         struct report_selection *selection, struct diag *diag)
{
    struct counter_row_array rows;
    int rc = query_counters(report->source->store, &view->spans, &rows, diag);

    for (size_t i = 0; i < rows.count && rc == 0; i++) {
        const struct counter_row *row = &rows.items[i];
        const struct op_row *op = &view->spans.ops.items[row->op];

        if (is_about_memory(op->name) && filter_passes_op(&selection->filter, op) &&
            filter_passes_lane(&selection->filter, &view->spans.lanes.items[row->lane], op))
            rc = add_counter(view, report, selection, row);
    }
    array_deinit(&rows);
    return rc;
}

/* --- All of it. --- */

static int work_out(struct memory_view *view, const struct report *report,
                    struct report_selection *selection, struct diag *diag)
{
    int rc = memory_blocks_init(&view->blocks, &view->spans, &view->rows, &view->totals);

    if (rc == 0)
        rc = allocate_pools(view);
    if (rc == 0)
        rc = bound_pools(view, report, selection, diag);
    if (rc == 0)
        rc = filter_blocks(view, report, &selection->filter, diag);
    if (rc == 0)
        rc = memory_points_of(&view->blocks, &view->points);
    if (rc == 0) {
        measure_pools(view);
        rc = find_peak_ops(view);
    }
    if (rc == 0) {
        rc = make_lines(view);
    }
    return rc ? rc : fit_growth(view);
}

int memory_view_init(struct memory_view *view, const struct report *report,
                     struct report_selection *selection, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    int rc = read_rows(view, report, selection, diag);

    if (rc == 0)
        rc = read_runs(view, report, selection, diag);
    if (rc == 0 && view->rows.count) {
        view->start_ns = view->rows.items[0].time_ns;
        view->end_ns = view->rows.items[view->rows.count - 1].time_ns;
    }
    if (rc == 0)
        rc = work_out(view, report, selection, diag);
    if (rc == 0)
        rc = read_counters(view, report, selection, diag);
    /* A plan is of no op, lane, run or time. */
    if (is_about_ops(options) || report_filters(options) || options->runs || options->time)
        view->plans.count = 0;
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the memory events") : rc;
}

void memory_view_deinit(struct memory_view *view)
{
    memory_blocks_deinit(&view->blocks);
    array_deinit(&view->points);
    array_deinit(&view->lines);
    array_deinit(&view->counters);
    array_deinit(&view->plans);
    array_deinit(&view->runs);
    array_deinit(&view->rows);
    array_deinit(&view->totals);
    spans_answer_deinit(&view->spans);
    free(view->peaks);
    free(view->peak_ops);
    free(view->growth);
    free(view->before);
    free(view->after);
    free(view->pool_start_ns);
    free(view->from_ns);
    free(view->until_ns);
    free(view->is_shown);
    free(view->run_ends);
    free(view->line_of);
}
