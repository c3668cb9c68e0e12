/* SPDX-License-Identifier: Apache-2.0 */
/* Which row a memory event belongs to. An event names its op, not its span: the span is the last
 * one of that op to start that was open at the time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/metrics/averages_rows.h"
#include "analyze/query/lane_use.h"
#include "base/sorted.h"

/* The host spans of each op, by start. */
struct op_spans {
    const struct spans_answer *spans;
    uint32_t *places;
    int64_t *last_ends; /* beside places: of this one and those of the op before it */
    size_t *first;      /* of each op; one more than there are ops */
};

static void op_spans_deinit(struct op_spans *index)
{
    free(index->places);
    free(index->last_ends);
    free(index->first);
}

/* qsort() has no context; one thread makes reports. */
struct sort_item {
    int64_t start_ns;
    uint32_t op, place;
};

static int compare_items(const void *a, const void *b)
{
    const struct sort_item *left = a, *right = b;

    if (left->op != right->op)
        return left->op < right->op ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->place > right->place) - (left->place < right->place);
}

static void fill_index(struct op_spans *index, const struct sort_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct span *span = &index->spans->spans.items[items[i].place];
        int64_t end_ns = span->start_ns + span->dur_ns;
        bool is_first = i == 0 || items[i - 1].op != items[i].op;

        index->places[i] = items[i].place;
        index->last_ends[i] =
            !is_first && index->last_ends[i - 1] > end_ns ? index->last_ends[i - 1] : end_ns;
        index->first[items[i].op + 1] = i + 1;
    }
    for (size_t op = 0; op < index->spans->ops.count; op++) {
        if (index->first[op + 1] < index->first[op])
            index->first[op + 1] = index->first[op];
    }
}

static int op_spans_make(const struct average_rows *rows, struct op_spans *out_index)
{
    const struct spans_answer *spans = rows->spans;
    size_t most = spans->spans.count ? spans->spans.count : 1, count = 0;
    struct sort_item *items = malloc(most * sizeof(*items));

    *out_index = (struct op_spans){
        .spans = spans,
        .places = malloc(most * sizeof(*out_index->places)),
        .last_ends = malloc(most * sizeof(*out_index->last_ends)),
        .first = calloc(spans->ops.count + 1, sizeof(*out_index->first)),
    };
    if (!items || !out_index->places || !out_index->last_ends || !out_index->first) {
        free(items);
        return -ENOMEM;
    }
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (!span_is_device(spans, span))
            items[count++] = (struct sort_item){span->start_ns, span->op, (uint32_t)i};
    }
    qsort(items, count, sizeof(*items), compare_items);
    fill_index(out_index, items, count);
    free(items);
    return 0;
}

/* On a host lane only spans of that lane; memory of a device is asked for on any thread. */
static uint32_t find_span(const struct op_spans *index, const struct memory_row *event)
{
    const struct spans_answer *spans = index->spans;
    size_t low = index->first[event->op], high = index->first[event->op + 1], first = low;
    bool any_lane = spans->lanes.items[event->lane].side == OP_DEVICE;

    low = search_past(low, high, middle,
                      spans->spans.items[index->places[middle]].start_ns <= event->time_ns);
    while (low > first && index->last_ends[low - 1] >= event->time_ns) {
        const struct span *span = &spans->spans.items[index->places[--low]];

        if (span->start_ns + span->dur_ns >= event->time_ns &&
            (any_lane || span->lane == event->lane))
            return index->places[low];
    }
    return SPAN_NONE;
}

/* The row that a span is or lies in, and whether one of Python's functions lies between: then the
 * memory is not the row's own. */
static uint32_t row_around(const struct average_rows *rows, uint32_t place, bool *out_is_python)
{
    *out_is_python = false;
    for (; place != SPAN_NONE && rows->row[place] == SPAN_NONE;
         place = rows->spans->spans.items[place].parent)
        *out_is_python |= span_is_python(rows->spans, &rows->spans->spans.items[place]);
    return place == SPAN_NONE ? SPAN_NONE : rows->row[place];
}

/* The runs that do not count. */
static int find_skipped(const struct spans_answer *spans, struct place_map *out_map)
{
    int rc = 0;

    for (size_t i = 0; i < spans->runs.count && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];
        struct place_key key = {(uint64_t)run->session_id, (uint64_t)run->run};

        if (!run->counts)
            rc = place_map_set(out_map, key, (uint32_t)i);
    }
    return rc;
}

static bool is_in_time(const struct spans_answer *spans, int64_t session_id, int64_t time_ns)
{
    for (size_t i = 0; i < spans->windows.count; i++) {
        const struct session_window *window = &spans->windows.items[i];

        if (window->session_id == session_id)
            return time_ns >= window->from_ns && time_ns < window->until_ns;
    }
    return true;
}

/* As spans do: those of the time asked for, of runs that count. */
static bool counts(const struct spans_answer *spans, const struct place_map *skipped,
                   const struct memory_row *event, bool runs_only)
{
    int64_t session_id = spans->lanes.items[event->lane].session_id;
    struct place_key key = {(uint64_t)session_id, (uint64_t)event->run};

    if (!is_in_time(spans, session_id, event->time_ns))
        return false;
    if (event->run == STORE_NULL)
        return !runs_only;
    return place_map_find(skipped, key) == PLACE_NONE;
}

int average_rows_add_memory(struct average_rows *rows, const struct memory_row_array *memory,
                            bool runs_only)
{
    struct op_spans index = {0};
    struct place_map skipped = {0};
    int rc;

    if (!memory->count)
        return 0;
    rc = op_spans_make(rows, &index);
    if (rc == 0)
        rc = find_skipped(rows->spans, &skipped);
    for (size_t i = 0; i < memory->count && rc == 0; i++) {
        const struct memory_row *event = &memory->items[i];
        enum op_side side = rows->spans->lanes.items[event->lane].side;
        bool is_python;
        uint32_t row;

        if (!counts(rows->spans, &skipped, event, runs_only))
            continue;
        if (event->bytes == STORE_NULL) {
            rows->unsized_count++;
            continue;
        }
        rows->has_memory[side] = true;
        row = row_around(rows, event->op == SPAN_NONE ? SPAN_NONE : find_span(&index, event),
                         &is_python);
        if (row == SPAN_NONE && !is_python) {
            rows->loose_bytes[side] += event->bytes;
            rows->loose_count[side]++;
        } else if (row != SPAN_NONE && !is_python) {
            rows->costs[row].self_bytes[side] += event->bytes;
        }
        for (; row != SPAN_NONE; row = rows->parent[row])
            rows->costs[row].bytes[side] += event->bytes;
    }
    op_spans_deinit(&index);
    place_map_deinit(&skipped);
    return rc;
}
