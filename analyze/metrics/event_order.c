/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which rows of the event table are printed, and which main rows are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/event_tree.h"
#include "analyze/out/lines.h"

struct ranked_row {
    uint32_t parent, lane, place; /* EVENT_NONE as a parent comes last */
    size_t rank;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked_row *left = a, *right = b;

    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool is_within(const struct event_row *row, const struct event_choice *choice)
{
    return !(row->total_ns < choice->min_ns) && !(row->total_ns > choice->max_ns);
}

/* Takes out the main rows that are not asked for, which stand last; returns how many are left. */
static size_t choose_main_rows(const struct event_tree *tree, struct ranked_row *rows, size_t first,
                               size_t count, const struct event_choice *choice, size_t *out_kept)
{
    size_t within = first, kept = first;

    for (size_t i = first; i < count; i++) {
        if (is_within(&tree->rows.items[rows[i].place], choice))
            rows[within++] = rows[i];
    }
    for (size_t i = first; i < within;) {
        size_t end = i, shown;

        while (end < within && rows[end].lane == rows[i].lane)
            end++;
        shown = lines_kept(end - i, choice->top);
        memmove(&rows[kept], &rows[i], shown * sizeof(*rows));
        kept += shown;
        i = end;
    }
    *out_kept = kept - first;
    return within - first;
}

/* Links of siblings and children, from rows in the order of compare_ranked(). */
static void link_rows(const struct ranked_row *rows, size_t count, uint32_t *first_child,
                      uint32_t *next)
{
    for (size_t i = count; i-- > 0;) {
        bool is_last = i + 1 == count || rows[i + 1].parent != rows[i].parent;

        next[rows[i].place] = is_last ? EVENT_NONE : rows[i + 1].place;
        if (rows[i].parent != EVENT_NONE)
            first_child[rows[i].parent] = rows[i].place;
    }
}

/* Rows from `at` on, each before those inside of it. */
static size_t walk(const struct event_tree *tree, uint32_t at, const uint32_t *first_child,
                   const uint32_t *next, uint32_t *order)
{
    size_t count = 0;

    while (at != EVENT_NONE) {
        order[count++] = at;
        if (first_child[at] != EVENT_NONE) {
            at = first_child[at];
            continue;
        }
        while (at != EVENT_NONE && next[at] == EVENT_NONE)
            at = tree->rows.items[at].parent;
        at = at == EVENT_NONE ? EVENT_NONE : next[at];
    }
    return count;
}

int event_tree_order(const struct event_tree *tree, const size_t *rank,
                     const struct event_choice *choice, uint32_t **out_order, size_t *out_count,
                     size_t *out_main_count, size_t *out_main_shown)
{
    size_t count = tree->rows.count, first_main;
    struct ranked_row *rows = malloc((count + 1) * sizeof(*rows));
    uint32_t *links = malloc((2 * count + 1) * sizeof(*links));
    uint32_t *order = malloc((count + 1) * sizeof(*order));

    if (!rows || !links || !order) {
        free(rows);
        free(links);
        free(order);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct ranked_row){tree->rows.items[i].parent, tree->rows.items[i].lane,
                                      (uint32_t)i, rank[i]};
        links[i] = links[count + i] = EVENT_NONE;
    }
    if (count)
        qsort(rows, count, sizeof(*rows), compare_ranked);
    for (first_main = 0; first_main < count && rows[first_main].parent != EVENT_NONE;)
        first_main++;
    *out_main_count = choose_main_rows(tree, rows, first_main, count, choice, out_main_shown);
    link_rows(rows, first_main + *out_main_shown, links, links + count);
    *out_count =
        *out_main_shown ? walk(tree, rows[first_main].place, links, links + count, order) : 0;
    *out_order = order;
    free(rows);
    free(links);
    return 0;
}
