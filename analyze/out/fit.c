/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a table fit a terminal: long names become shorter, then the columns that say least go,
 * then names become as short as can be read, then more columns go. What the section keeps stays
 * longest, and the column that the lines are sorted by always.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/table_private.h"
#include "base/text.h"

enum {
    SOFT_MIN = 24, /* columns that a text keeps while others can be left out, unless told */
    HARD_MIN = 16, /* that it keeps while there is anything to leave out */
    LAST_MIN = 8,
    ESSENTIAL = 4,     /* columns at the front of out_section.keep that names give way to */
    NOT_LISTED = 1000, /* above the place of any name in out_section.keep */
};

/* Sets the width of each column from its title and its cells. */
static void measure(struct shown *shown)
{
    const size_t title = shown->title_width + shown->padding;

    shown->width = shown->cell_width > title ? shown->cell_width : title;
}

void out_table_widen(struct shown *shown, const char *cell)
{
    while (*cell) {
        const size_t length = strcspn(cell, "\n"), width = text_columns(cell, length);

        shown->cell_width = width > shown->cell_width ? width : shown->cell_width;
        cell += length + (cell[length] == '\n');
    }
}

/* --- Which columns matter. --- */

/* The place of a word in a list with blanks between; NOT_LISTED when it is not there. */
static size_t place_in(const char *list, const char *word)
{
    const size_t length = strlen(word);
    size_t place = 0;

    for (const char *at = list; at && *at; place++) {
        const size_t bytes = strcspn(at, " ");

        if (bytes == length && strncmp(at, word, length) == 0)
            return place;
        at += bytes;
        at += strspn(at, " ");
    }
    return NOT_LISTED;
}

/* 0 is never left out. */
static size_t rank_of(const struct out *out, size_t column)
{
    const struct table_state *state = out->state;
    const struct shown *shown = &state->shown[column];
    size_t rank = NOT_LISTED + column;

    if (!out->section->keep && column == 0)
        return 0;
    for (size_t i = shown->first; i < shown->first + shown->count; i++) {
        const char *name = out->columns[i].name;
        const size_t place = place_in(out->section->keep, name);

        if (out->section->sorted && strcmp(out->section->sorted, name) == 0)
            return 0;
        rank = place < NOT_LISTED && place < rank ? place : rank;
    }
    return rank;
}

/* The column to go first of those that rank behind `kept`; shown_count: none. */
static size_t find_dispensable(const struct out *out, size_t kept)
{
    const struct table_state *state = out->state;
    size_t found = state->shown_count, most = kept;

    for (size_t i = 0; i < state->shown_count; i++) {
        const size_t rank = rank_of(out, i);

        if (rank > most) {
            most = rank;
            found = i;
        }
    }
    return found;
}

static void drop_column(struct table_state *state, size_t column)
{
    size_t kept = 0;

    for (size_t i = 0; i < state->cells.count; i++) {
        if (i % state->shown_count == column)
            free(state->cells.items[i]);
        else
            state->cells.items[kept++] = state->cells.items[i];
    }
    state->cells.count = kept;
    state->shown_count--;
    memmove(&state->shown[column], &state->shown[column + 1],
            (state->shown_count - column) * sizeof(*state->shown));
}

/* --- How wide columns are. --- */

static size_t width_of(const struct table_state *state)
{
    size_t width = 1;

    for (size_t i = 0; i < state->shown_count; i++)
        width += state->shown[i].width + 3;
    return width;
}

/* Several values one below the other, or a table whose texts are wrapped anyway: lines are broken.
 * Others are names, which become shorter, or words of ours, which have no wrap and stay. */
static bool is_broken(const struct shown *shown)
{
    return !shown->compact || shown->count > 1;
}

static size_t least_of(const struct out *out, const struct shown *shown, size_t least)
{
    const bool gives = shown->has_text &&
                       (is_broken(shown) || out->columns[shown->first].wrap || least == LAST_MIN);

    if (!gives || shown->cell_width < least)
        least = shown->cell_width;
    return least > shown->title_width ? least : shown->title_width;
}

/* As wide as they are, names at most as wide as their column allows. */
static void widen_all(const struct out *out, bool is_tight)
{
    struct table_state *state = out->state;

    for (size_t i = 0; i < state->shown_count; i++) {
        struct shown *shown = &state->shown[i];
        const size_t wrap = out->columns[shown->first].wrap;

        shown->padding = is_tight ? 0 : shown->padding;
        measure(shown);
        if (shown->compact && shown->has_text && !is_broken(shown) && wrap && shown->width > wrap)
            shown->width = wrap > shown->title_width ? wrap : shown->title_width;
    }
}

/* Takes from the widest until all fit, but leaves each column `least`. Returns whether they do. */
static bool narrow(const struct out *out, size_t limit, size_t least)
{
    struct table_state *state = out->state;

    while (width_of(state) > limit) {
        struct shown *widest = NULL;

        for (size_t i = 0; i < state->shown_count; i++) {
            struct shown *shown = &state->shown[i];

            if (shown->width > least_of(out, shown, least) &&
                (!widest || shown->width > widest->width))
                widest = shown;
        }
        if (!widest)
            return false;
        widest->width--;
    }
    return true;
}

/* Leaves out what must go and sets the widths. */
static void choose_widths(struct out *out, size_t limit, struct text_buffer *dropped)
{
    const size_t soft_min = out->section->name_columns ? out->section->name_columns : SOFT_MIN;
    const struct {
        size_t least, kept; /* columns that rank behind may go */
    } steps[] = {{soft_min, ESSENTIAL - 1}, {HARD_MIN, 0}, {LAST_MIN, 0}};
    struct table_state *state = out->state;

    for (size_t step = 0; step < sizeof(steps) / sizeof(steps[0]);) {
        size_t column;

        widen_all(out, true);
        if (narrow(out, limit, steps[step].least))
            return;
        column = step == 0 && !out->section->keep ? state->shown_count
                                                  : find_dispensable(out, steps[step].kept);
        if (column < state->shown_count && state->shown_count > 1) {
            const char *title = out->columns[state->shown[column].first].title;

            text_buffer_print(dropped, "%s%s", dropped->length ? ", " : "", title ? title : "");
            drop_column(state, column);
        } else {
            step++;
        }
    }
}

/* --- Cells. --- */

/* Where a line is to be broken: at the last blank of its later half, or anywhere. */
static size_t find_break(const char *line, size_t length, size_t columns, bool *out_at_blank)
{
    size_t end = 0, width = 0, blank = 0;

    while (end < length) {
        uint32_t code;
        size_t bytes = text_decode(line + end, length - end, &code), wide;

        bytes = bytes ? bytes : 1;
        wide = text_columns(line + end, bytes);
        if (line[end] == ' ' && width * 2 >= columns)
            blank = end;
        if (width + wide > columns && end)
            break;
        width += wide;
        end += bytes;
    }
    *out_at_blank = blank > 0;
    return blank ? blank : end;
}

/* What follows a break is set in by as much as the mark of a broken name takes. */
static void break_line(struct text_buffer *broken, const char *line, size_t length, size_t columns)
{
    enum { MARK = 3 };
    size_t room = columns;

    while (text_columns(line, length) > room) {
        bool at_blank;
        const size_t end = find_break(line, length, room, &at_blank);

        text_buffer_add(broken, line, end);
        text_buffer_add(broken, at_blank ? "\n   " : "\n-  ", 1 + MARK);
        line += end + at_blank;
        length -= end + at_blank;
        room = columns > 2 * MARK ? columns - MARK : MARK;
    }
    text_buffer_add(broken, line, length);
}

static char *break_cell(struct out *out, const char *cell, size_t columns)
{
    struct text_buffer broken = {0};

    while (*cell) {
        const size_t length = strcspn(cell, "\n");

        break_line(&broken, cell, length, columns);
        cell += length;
        if (*cell == '\n') {
            text_buffer_add(&broken, "\n", 1);
            cell++;
        }
    }
    if (broken.failed)
        out_fail(out, -ENOMEM);
    return broken.text;
}

static void break_cells(struct out *out, struct shown *shown)
{
    struct table_state *state = out->state;

    for (size_t i = (size_t)(shown - state->shown); i < state->cells.count;
         i += state->shown_count) {
        char *cell = state->cells.items[i], *broken;

        if (!cell)
            continue;
        broken = break_cell(out, cell, shown->width);
        if (out->error) {
            free(broken);
            return;
        }
        state->has_tall_cells |= broken && strchr(broken, '\n');
        free(cell);
        state->cells.items[i] = broken;
    }
}

/* All lines of a column, in a list of their own; the lines of a cell stand together. */
struct column_lines {
    ARRAY_OF(char *) lines;
};

static int gather_lines(const struct table_state *state, size_t column, struct column_lines *all)
{
    for (size_t i = column; i < state->cells.count; i += state->shown_count) {
        const char *at = state->cells.items[i];

        while (at) {
            const size_t length = strcspn(at, "\n");
            char *line = strndup(at, length);

            if (!line || array_push(&all->lines, line) < 0) {
                free(line);
                return -ENOMEM;
            }
            at = at[length] ? at + length + 1 : NULL;
        }
    }
    return 0;
}

static int put_lines(struct table_state *state, size_t column, const struct column_lines *all)
{
    size_t next = 0;

    for (size_t i = column; i < state->cells.count; i += state->shown_count) {
        struct text_buffer cell = {0};
        size_t lines = 1;

        if (!state->cells.items[i])
            continue;
        for (const char *at = state->cells.items[i]; (at = strchr(at, '\n')); at++)
            lines++;
        for (size_t k = 0; k < lines; k++)
            text_buffer_print(&cell, "%s%s", k ? "\n" : "", all->lines.items[next++]);
        if (cell.failed) {
            text_buffer_deinit(&cell);
            return -ENOMEM;
        }
        free(state->cells.items[i]);
        state->cells.items[i] = cell.text;
    }
    return 0;
}

static void shorten_cells(struct out *out, struct shown *shown)
{
    struct table_state *state = out->state;
    const size_t column = (size_t)(shown - state->shown);
    struct column_lines all = {0};
    int rc = gather_lines(state, column, &all);

    if (rc == 0)
        rc = out_shorten(all.lines.items, all.lines.count, shown->width);
    if (rc == 0)
        rc = put_lines(state, column, &all);
    for (size_t i = 0; i < all.lines.count; i++)
        free(all.lines.items[i]);
    array_deinit(&all.lines);
    if (rc < 0)
        out_fail(out, rc);
}

static void fit_cells(struct out *out)
{
    struct table_state *state = out->state;

    for (size_t i = 0; i < state->shown_count && !out->error; i++) {
        struct shown *shown = &state->shown[i];

        if (shown->cell_width <= shown->width)
            continue;
        if (is_broken(shown))
            break_cells(out, shown);
        else
            shorten_cells(out, shown);
        shown->cell_width = 0;
        for (size_t k = i; k < state->cells.count; k += state->shown_count) {
            if (state->cells.items[k])
                out_table_widen(shown, state->cells.items[k]);
        }
        measure(shown);
    }
}

/* Pages of a table that leave out the same say so once. */
static void note_dropped(struct out *out, const char *titles)
{
    struct table_state *state = out->state;

    if (state->dropped_titles && strcmp(state->dropped_titles, titles) == 0)
        return;
    free(state->dropped_titles);
    state->dropped_titles = strdup(titles);
    if (!state->dropped_titles)
        out_fail(out, -ENOMEM);
    out_note(out, OUT_NOTE_PLAIN,
             "Left out, as the terminal is %zu columns wide: %s; -o FILE and the other formats "
             "have them.",
             out->options.width, titles);
}

void out_table_fit(struct out *out)
{
    const size_t limit = out->options.width;
    struct text_buffer dropped = {0};

    widen_all(out, false);
    if (limit && width_of(out->state) > limit)
        choose_widths(out, limit, &dropped);
    fit_cells(out);
    if (dropped.failed)
        out_fail(out, -ENOMEM);
    else if (dropped.length)
        note_dropped(out, text_buffer_text(&dropped));
    text_buffer_deinit(&dropped);
}
