/* SPDX-License-Identifier: Apache-2.0 */
/* The page's curve of memory: bytes that were taken and not given back, over time, for each device.
 */
#include <errno.h>

#include "analyze/metrics/memory_blocks.h"
#include "analyze/reports/page/page.h"

/* What a pool holds from `from_ns` to `until_ns`, on a clock that begins there. */
static int make_curve(const struct memory_blocks *blocks, const struct memory_points *points,
                      uint32_t pool, int64_t from_ns, int64_t until_ns, struct page_curve *curve)
{
    int64_t alive = memory_bytes_before(blocks, pool);
    bool is_inside = false;
    int rc = 0;

    page_curve_begin(curve, points->count, until_ns - from_ns, PAGE_POINTS_MAX);
    for (size_t i = 0; i < points->count && rc == 0; i++) {
        const struct memory_point *point = &points->items[i];
        const struct memory_block *block = &blocks->blocks.items[point->block];

        if (block->pool != pool || point->time_ns > until_ns)
            continue;
        if (point->time_ns > from_ns && !is_inside)
            rc = page_curve_add(curve, 0, (double)alive);
        is_inside |= point->time_ns > from_ns;
        alive += point->is_start ? block->bytes : -block->bytes;
        if (is_inside && rc == 0)
            rc = page_curve_add(curve, point->time_ns - from_ns, (double)alive);
    }
    return rc == 0 && !is_inside ? page_curve_add(curve, 0, (double)alive) : rc;
}

static void emit_curve(struct out *out, const struct memory_pool *pool,
                       const struct page_curve *curve)
{
    const char *device = pool->device ? pool->device : "host";

    for (size_t i = 0; i < curve->points.count; i++)
        out_row(out, (struct out_value[]){
                         out_text(device),
                         out_number(OUT_NS, (double)curve->points.items[i].time_ns),
                         out_number(OUT_BYTES, curve->points.items[i].value),
                     });
    if (curve->points.count < curve->point_count)
        out_note(out, OUT_NOTE_PLAIN,
                 "The curve of memory of %s shows %zu of %zu points: the highest and the last of "
                 "each stretch of time.",
                 device, curve->points.count, curve->point_count);
}

static int emit(const struct page *page, const struct memory_blocks *blocks,
                const struct memory_points *points)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_STEPS, .x = "time_ns", .values = {"bytes"}, .color = "device"};
    static const struct out_section section = {
        .name = "memory_curve", .title = "Memory", .data_only = true, .chart = &chart};
    static const struct out_column columns[] = {
        {.name = "device", .title = "memory of"},
        {.name = "time_ns", .title = "time after the first"},
        {.name = "bytes", .title = "memory in use"},
    };
    int rc = 0;

    out_table_begin(page->report->out, &section, columns, 3);
    for (uint32_t pool = 0; pool < blocks->pools.count && rc == 0; pool++) {
        struct page_curve curve;

        rc = make_curve(blocks, points, pool, points->items[0].time_ns,
                        points->items[points->count - 1].time_ns, &curve);
        if (rc == 0)
            emit_curve(page->report->out, &blocks->pools.items[pool], &curve);
        array_deinit(&curve.points);
    }
    out_table_end(page->report->out);
    return rc;
}

/* The same in each view, on the view's clock. */
static int emit_views(const struct page *page, const struct memory_blocks *blocks,
                      const struct memory_points *points, const struct page_views *views)
{
    static const struct out_chart chart = {.kind = OUT_CHART_DATA};
    static const struct out_section section = {
        .name = "timeline_memory", .data_only = true, .chart = &chart};
    static const struct out_column columns[] = {
        {.name = "view"}, {.name = "device"}, {.name = "time_ns"}, {.name = "bytes"}};
    struct out *out = page->report->out;
    int rc = 0;

    out_table_begin(out, &section, columns, 4);
    for (size_t i = 0; i < views->count * blocks->pools.count && rc == 0; i++) {
        const struct page_view *view = &views->items[i / blocks->pools.count];
        uint32_t pool = (uint32_t)(i % blocks->pools.count);
        const char *device = blocks->pools.items[pool].device;
        struct page_curve curve;

        rc = make_curve(blocks, points, pool, view->start_ns, view->end_ns, &curve);
        for (size_t k = 0; k < curve.points.count && rc == 0; k++)
            out_row(out, (struct out_value[]){
                             out_text(view->name),
                             out_text(device ? device : "host"),
                             out_number(OUT_NS, (double)curve.points.items[k].time_ns),
                             out_number(OUT_BYTES, curve.points.items[k].value),
                         });
        array_deinit(&curve.points);
    }
    out_table_end(out);
    return rc;
}

int page_memory(const struct page *page, const struct spans_answer *spans,
                const struct page_views *views, struct diag *diag)
{
    struct memory_row_array rows;
    struct counter_row_array totals = {0};
    struct memory_blocks blocks = {0};
    struct memory_points points = {0};
    int rc = query_memory(page->report->source->store, spans, &rows, diag);

    if (rc == 0)
        rc = query_memory_totals(page->report->source->store, spans, &totals, diag);
    if (rc < 0)
        goto out;
    rc = memory_blocks_init(&blocks, spans, &rows, &totals);
    if (rc == 0)
        rc = memory_points_of(&blocks, &points);
    if (rc == 0 && points.count)
        rc = emit(page, &blocks, &points);
    if (rc == 0 && points.count)
        rc = page_memory_owners(page, diag);
    if (rc == 0 && points.count)
        rc = emit_views(page, &blocks, &points, views);
    if (rc < 0)
        diag_set(diag, rc, "no memory for the curve of memory");
out:
    array_deinit(&points);
    memory_blocks_deinit(&blocks);
    array_deinit(&rows);
    array_deinit(&totals);
    return rc;
}
