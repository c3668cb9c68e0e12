/* SPDX-License-Identifier: Apache-2.0 */
/* The page's curve of memory: bytes that were taken and not given back, over time, for each device.
 */
#include <errno.h>

#include "analyze/metrics/memory_blocks.h"
#include "analyze/reports/page/page.h"

struct point {
    int64_t time_ns; /* after the first of all */
    int64_t bytes;
};

/* Of one pool. */
struct curve {
    ARRAY_OF(struct point) points;
    int64_t stretch_ns; /* of which no more is kept than the highest point and the last */
    size_t point_count; /* before that */
};

static int add_point(struct curve *curve, struct point point)
{
    struct point *points = curve->points.items;
    size_t count = curve->points.count;
    int64_t stretch = point.time_ns / curve->stretch_ns;

    curve->point_count++;
    if (count >= 2 && points[count - 2].time_ns / curve->stretch_ns == stretch) {
        if (points[count - 1].bytes > points[count - 2].bytes)
            points[count - 2] = points[count - 1];
        points[count - 1] = point;
        return 0;
    }
    return array_push(&curve->points, point);
}

static int make_curve(const struct memory_blocks *blocks, const struct memory_points *points,
                      uint32_t pool, struct curve *curve)
{
    int64_t start_ns = points->items[0].time_ns;
    int64_t length_ns = points->items[points->count - 1].time_ns - start_ns;
    int64_t alive = memory_bytes_before(blocks, pool);
    int rc = 0;

    *curve = (struct curve){.stretch_ns = 1};
    if (points->count > PAGE_POINTS_MAX)
        curve->stretch_ns = length_ns / (PAGE_POINTS_MAX / 2) + 1;
    for (size_t i = 0; i < points->count && rc == 0; i++) {
        const struct memory_point *point = &points->items[i];
        const struct memory_block *block = &blocks->blocks.items[point->block];

        if (block->pool != pool)
            continue;
        alive += point->is_start ? block->bytes : -block->bytes;
        rc = add_point(curve, (struct point){point->time_ns - start_ns, alive});
    }
    return rc;
}

static void emit_curve(struct out *out, const struct memory_pool *pool, const struct curve *curve)
{
    const char *device = pool->device ? pool->device : "host";

    for (size_t i = 0; i < curve->points.count; i++)
        out_row(out, (struct out_value[]){
                         out_text(device),
                         out_number(OUT_NS, (double)curve->points.items[i].time_ns),
                         out_number(OUT_BYTES, (double)curve->points.items[i].bytes),
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
        struct curve curve;

        rc = make_curve(blocks, points, pool, &curve);
        if (rc == 0)
            emit_curve(page->report->out, &blocks->pools.items[pool], &curve);
        array_deinit(&curve.points);
    }
    out_table_end(page->report->out);
    return rc;
}

int page_memory(const struct page *page, const struct spans_answer *spans, struct diag *diag)
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
    if (rc < 0)
        diag_set(diag, rc, "no memory for the curve of memory");
out:
    array_deinit(&points);
    memory_blocks_deinit(&blocks);
    array_deinit(&rows);
    array_deinit(&totals);
    return rc;
}
