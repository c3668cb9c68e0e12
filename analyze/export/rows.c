/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for viewers. */
#include "analyze/export/rows.h"

#include <errno.h>
#include <stdlib.h>

/* The spans that are open in a row, the innermost last. */
struct open_row {
    ARRAY_OF(uint32_t) places;
};

struct open_rows ARRAY_FIELDS(struct open_row);

uint32_t export_shown_parent(const struct spans_answer *spans, const struct span *span)
{
    uint32_t place = span->parent;

    while (place != SPAN_NONE && !spans->spans.items[place].is_shown)
        place = spans->spans.items[place].parent;
    return place;
}

/* Whether the span may be the next of the row, which then is free of what ended before. */
static bool fits(const struct spans_answer *spans, struct open_row *row, const struct span *span,
                 uint32_t parent)
{
    const struct span *items = spans->spans.items;

    while (row->places.count) {
        const struct span *top = &items[row->places.items[row->places.count - 1]];

        if (top->start_ns + top->dur_ns > span->start_ns)
            break;
        row->places.count--;
    }
    return !row->places.count || row->places.items[row->places.count - 1] == parent;
}

static int place_span(const struct spans_answer *spans, struct open_rows *open,
                      const struct span *span, struct export_rows *rows)
{
    static const struct open_row empty;
    uint32_t parent = export_shown_parent(spans, span), place = span_place(spans, span);
    size_t row = parent == SPAN_NONE ? 0 : rows->row[parent];

    while (row < open->count && !fits(spans, &open->items[row], span, parent) &&
           row < EXPORT_ROWS_MAX)
        row++;
    if (row == open->count && array_push(open, empty) < 0)
        return -ENOMEM;
    rows->row[place] = (uint16_t)row;
    return array_push(&open->items[row].places, place);
}

static int place_lane(const struct spans_answer *spans, size_t lane, struct export_rows *rows)
{
    struct open_rows open = {0};
    struct span_range range = spans->ranges[lane];
    int rc = 0;

    for (size_t i = range.first; i < range.first + range.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (span->is_shown && spans->op_kinds[span->op] != SPAN_MARK)
            rc = place_span(spans, &open, span, rows);
    }
    rows->count[lane] = (uint32_t)open.count;
    for (size_t i = 0; i < open.count; i++)
        array_deinit(&open.items[i].places);
    array_deinit(&open);
    return rc;
}

int export_rows_init(struct export_rows *rows, const struct spans_answer *spans)
{
    int rc = 0;

    rows->row = calloc(spans->spans.count + 1, sizeof(*rows->row));
    rows->count = calloc(spans->lanes.count + 1, sizeof(*rows->count));
    if (!rows->row || !rows->count)
        return -ENOMEM;
    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++)
        rc = place_lane(spans, i, rows);
    return rc;
}

void export_rows_deinit(struct export_rows *rows)
{
    free(rows->row);
    free(rows->count);
    *rows = (struct export_rows){0};
}
