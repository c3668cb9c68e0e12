/* SPDX-License-Identifier: Apache-2.0 */
/* The page's curve of memory: bytes that were taken and not given back, over time. */
#include <errno.h>

#include "analyze/page.h"
#include "analyze/place_map.h"

struct point {
    int64_t time_ns;
    int64_t bytes;
};

struct curve {
    ARRAY_OF(struct point) points;
    struct place_map taken; /* by address: place of the row that took it */
    int64_t bytes;
    uint64_t unknown_count; /* given back, of a size that is not known */
};

/* What a row adds. One that gives back an unknown size gives back what was taken at its address. */
static int64_t change_of(struct curve *curve, const struct memory_row_array *rows, size_t place)
{
    const struct memory_row *row = &rows->items[place];
    struct place_key key = {(uint64_t)row->address, row->address == STORE_NULL};
    uint32_t taken;

    if (row->bytes != STORE_NULL)
        return row->bytes;
    taken = row->address == STORE_NULL ? PLACE_NONE : place_map_find(&curve->taken, key);
    if (taken == PLACE_NONE) {
        curve->unknown_count++;
        return 0;
    }
    return -rows->items[taken].bytes;
}

static int add_row(struct curve *curve, const struct memory_row_array *rows, size_t place)
{
    const struct memory_row *row = &rows->items[place];
    struct place_key key = {(uint64_t)row->address, 0};

    curve->bytes += change_of(curve, rows, place);
    if (row->bytes != STORE_NULL && row->bytes > 0 && row->address != STORE_NULL &&
        place_map_set(&curve->taken, key, (uint32_t)place) < 0)
        return -ENOMEM;
    return 0;
}

/* Keeps, of each stretch of time, the highest point and the last. */
static int add_point(struct curve *curve, struct point point, int64_t stretch_ns)
{
    struct point *points = curve->points.items;
    size_t count = curve->points.count;

    if (count >= 2 && points[count - 2].time_ns / stretch_ns == point.time_ns / stretch_ns) {
        if (points[count - 1].bytes > points[count - 2].bytes)
            points[count - 2] = points[count - 1];
        points[count - 1] = point;
        return 0;
    }
    return array_push(&curve->points, point);
}

static int make_curve(struct curve *curve, const struct memory_row_array *rows)
{
    int64_t start_ns = rows->items[0].time_ns;
    int64_t stretch_ns =
        (rows->items[rows->count - 1].time_ns - start_ns) / (PAGE_POINTS_MAX / 2) + 1;
    int rc = 0;

    for (size_t i = 0; i < rows->count && rc == 0; i++) {
        rc = add_row(curve, rows, i);
        if (rc == 0)
            rc = add_point(curve, (struct point){rows->items[i].time_ns - start_ns, curve->bytes},
                           rows->count > PAGE_POINTS_MAX ? stretch_ns : 1);
    }
    return rc;
}

static void emit(const struct page *page, const struct curve *curve, size_t row_count)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_STEPS, .x = "time_ns", .values = {"bytes"}};
    static const struct out_section section = {
        .name = "memory_curve", .title = "Memory", .data_only = true, .chart = &chart};
    static const struct out_column columns[] = {
        {.name = "time_ns", .title = "time after the first"},
        {.name = "bytes", .title = "memory in use"},
    };
    struct out *out = page->report->out;

    out_table_begin(out, &section, columns, 2);
    for (size_t i = 0; i < curve->points.count; i++)
        out_row(out, (struct out_value[]){
                         out_number(OUT_NS, (double)curve->points.items[i].time_ns),
                         out_number(OUT_BYTES, (double)curve->points.items[i].bytes),
                     });
    out_table_end(out);
    if (curve->points.count < row_count)
        out_note(out, OUT_NOTE_PLAIN,
                 "The curve of memory shows %zu of %zu points: the highest and the last of each "
                 "stretch of time.",
                 curve->points.count, row_count);
    if (curve->unknown_count)
        out_note(out, OUT_NOTE_WARNING,
                 "%llu times memory was given back whose size is not known: the curve lies too "
                 "high.",
                 (unsigned long long)curve->unknown_count);
}

int page_memory(const struct page *page, const struct spans_answer *spans, struct diag *diag)
{
    struct memory_row_array rows;
    struct curve curve = {.bytes = 0};
    int rc = query_memory(page->report->source->store, spans, &rows, diag);

    if (rc == 0 && rows.count) {
        rc = make_curve(&curve, &rows);
        if (rc == 0)
            emit(page, &curve, rows.count);
        else
            diag_set(diag, rc, "no memory for the curve of memory");
    }
    place_map_deinit(&curve.taken);
    array_deinit(&curve.points);
    array_deinit(&rows);
    return rc;
}
