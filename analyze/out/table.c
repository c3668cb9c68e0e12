/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for people: a box of rules around cells of several lines, the totals above it as two plain
 * columns, notes below. Cells are padded by terminal columns, not by bytes. As widths come from the
 * cells, these wait for the end of the table, or of its page where it has very many rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/table_private.h"
#include "base/text.h"

/* Corners, crossings and lines of the box. */
struct rules {
    const char *vertical;
    const char *top[4], *head[4], *between[4], *bottom[4]; /* left, line, crossing, right */
};
static const struct rules unicode_rules = {
    "│", {"╒", "═", "╤", "╕"}, {"╞", "═", "╪", "╡"}, {"├", "─", "┼", "┤"}, {"╘", "═", "╧", "╛"},
};
static const struct rules ascii_rules = {
    "|", {"+", "-", "+", "+"}, {"+", "=", "+", "+"}, {"+", "-", "+", "+"}, {"+", "-", "+", "+"},
};

static int table_open(struct out *out)
{
    out->state = calloc(1, sizeof(struct table_state));
    return out->state ? 0 : -ENOMEM;
}

/* section  NULL for the notes */
static void start_section(struct out *out, const struct out_section *section)
{
    struct table_state *state = out->state;

    if (state->section_count++)
        out_write(out, "\n");
    if (section && section->title) {
        out_write(out, out->options.color ? "\033[1m" : "");
        out_write(out, section->title);
        out_write(out, out->options.color ? "\033[0m\n" : "\n");
    }
}

/* The cells that were printed, or never will be, and the columns as they were made to fit. */
static void drop_page(struct table_state *state)
{
    for (size_t i = 0; i < state->cells.count; i++)
        free(state->cells.items[i]);
    state->cells.count = 0;
    state->has_tall_cells = false;
    free(state->shown);
    state->shown = NULL;
    state->shown_count = 0;
}

static void drop_table(struct table_state *state)
{
    drop_page(state);
    state->page_count = 0;
    free(state->dropped_titles);
    state->dropped_titles = NULL;
}

static void write_padding(struct out *out, size_t columns)
{
    while (columns-- && !out->error)
        out_write(out, " ");
}

static void write_repeated(struct out *out, const char *text, size_t times)
{
    while (times-- && !out->error)
        out_write(out, text);
}

/* --- Facts: titles on the left, values on the right, a rule above and below. --- */

/* Digits after the point (or after the exponent's e); -1 for whole numbers. */
static int digits_after_point(const char *number)
{
    const char *point = strpbrk(number, ".e");

    return point ? (int)strlen(point + 1) : -1;
}

static void format_fact(struct text_buffer *buffer, const struct out_value *value)
{
    if (value->kind == OUT_NS && value->known && !out_counts_samples())
        text_buffer_print(buffer, "%g", value->real * 1e-9);
    else
        out_format_inline(buffer, value);
}

/* Numbers among themselves line up at the point: pads them behind. As soon as a text is there, all
 * start left; then false. */
static bool align_numbers(struct text_buffer *texts, const struct out_fact *facts, size_t count)
{
    int after = -1;

    for (size_t i = 0; i < count; i++) {
        if (!facts[i].title)
            continue;
        if (!facts[i].value.known || facts[i].value.kind != OUT_NS || out_counts_samples())
            return false;
        if (digits_after_point(texts[i].text) > after)
            after = digits_after_point(texts[i].text);
    }
    for (size_t i = 0; i < count; i++) {
        if (facts[i].title)
            text_buffer_print(&texts[i], "%*s", after - digits_after_point(texts[i].text), "");
    }
    return true;
}

static void write_fact(struct out *out, const char *title, size_t left, struct text_buffer *text,
                       size_t indent)
{
    while (text->length && text->text[text->length - 1] == ' ')
        text->text[--text->length] = '\0';
    out_write(out, title);
    write_padding(out, left - text_columns(title, strlen(title)) + 2 + indent);
    out_write(out, text_buffer_text(text));
    out_write(out, "\n");
}

/* Columns of the longest line; all but the first are indented. */
static size_t widest_line(const char *text, size_t indent)
{
    size_t widest = text_columns(text, strcspn(text, "\n"));

    while ((text = strchr(text, '\n'))) {
        size_t columns;

        text += 1 + indent;
        columns = text_columns(text, strcspn(text, "\n"));
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

/* Breaks values into lines that fit beside the titles. */
static void flow_facts(struct out *out, struct text_buffer *texts, size_t count, size_t left)
{
    enum { VALUE_MIN = 12 };
    size_t width = out->options.width;

    if (!width)
        return;
    width = width > left + 2 + VALUE_MIN ? width : left + 2 + VALUE_MIN;
    for (size_t i = 0; i < count; i++) {
        struct text_buffer flowed = {0};

        if (text_columns(text_buffer_text(&texts[i]), texts[i].length) + left + 2 <= width)
            continue;
        text_buffer_flow(&flowed, texts[i].text, width, left + 2, left + 2);
        if (flowed.failed)
            out_fail(out, -ENOMEM);
        text_buffer_deinit(&texts[i]);
        texts[i] = flowed;
    }
}

static void write_facts(struct out *out, struct text_buffer *texts, const struct out_fact *facts,
                        size_t count)
{
    bool aligned = align_numbers(texts, facts, count);
    size_t left = 0, right = 0;

    for (size_t i = 0; i < count; i++) {
        size_t title = facts[i].title ? text_columns(facts[i].title, strlen(facts[i].title)) : 0;

        left = title > left ? title : left;
    }
    flow_facts(out, texts, count, left);
    for (size_t i = 0; i < count; i++) {
        size_t value = widest_line(text_buffer_text(&texts[i]), left + 2);

        right = facts[i].title && value > right ? value : right;
    }
    for (int rule = 0; rule < 2; rule++) {
        write_repeated(out, "-", left);
        out_write(out, "  ");
        write_repeated(out, "-", right);
        out_write(out, "\n");
        for (size_t i = 0; i < count && rule == 0; i++) {
            if (facts[i].title)
                write_fact(out, facts[i].title, left, &texts[i],
                           aligned ? right - texts[i].length : 0);
        }
    }
}

static void table_facts(struct out *out, const struct out_section *section,
                        const struct out_fact *facts, size_t count)
{
    struct text_buffer *texts;

    if (section->data_only)
        return;
    texts = calloc(count ? count : 1, sizeof(*texts));
    if (!texts) {
        out_fail(out, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        format_fact(&texts[i], &facts[i].value);
        if (texts[i].failed) {
            out_fail(out, -ENOMEM);
            goto out;
        }
    }
    start_section(out, section);
    write_facts(out, texts, facts, count);
out:
    for (size_t i = 0; i < count; i++)
        text_buffer_deinit(&texts[i]);
    free(texts);
}

/* --- The box. --- */

/* "share", "host_share", but neither "cumulative_share" nor ratios of other kinds. */
static bool is_share(const char *name)
{
    size_t length = strlen(name);

    return strcmp(name, "share") == 0 || (length > 6 && strcmp(name + length - 6, "_share") == 0 &&
                                          strncmp(name, "cumulative", 10) != 0);
}

static void begin_page(struct out *out)
{
    struct table_state *state = out->state;
    struct shown *shown = NULL;

    state->shown = calloc(out->column_count ? out->column_count : 1, sizeof(*state->shown));
    if (!state->shown) {
        out_fail(out, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < out->column_count; i++) {
        const struct out_column *column = &out->columns[i];

        if (column->data_only)
            continue;
        if (column->title || !shown) {
            shown = &state->shown[state->shown_count++];
            shown->first = i;
            shown->title_width =
                column->title ? text_columns(column->title, strlen(column->title)) : 0;
            shown->compact = column->compact;
            if (out->section->style == OUT_STYLE_BOX && !column->compact)
                shown->padding = 2;
        }
        shown->is_share |= is_share(column->name);
        shown->count = i + 1 - shown->first;
    }
}

static void table_begin(struct out *out)
{
    if (!out->section->data_only)
        begin_page(out);
}

/* The lines of one cell: what each of its columns has to say, one below the other. */
static char *render_cell(struct out *out, struct shown *shown, const struct out_value *values)
{
    struct text_buffer cell = {0}, part = {0};

    for (size_t i = shown->first; i < shown->first + shown->count; i++) {
        if (out->columns[i].data_only)
            continue;
        part.length = 0;
        if (shown->compact)
            out_format_compact(&part, &values[i]);
        else
            out_format_value(&part, &values[i], out->columns[i].wrap);
        shown->has_value |= values[i].known;
        shown->has_text |= out_is_text(values[i].kind);
        if (part.length && cell.length)
            text_buffer_add(&cell, "\n", 1);
        text_buffer_add(&cell, text_buffer_text(&part), part.length);
    }
    if (part.failed || cell.failed) {
        out_fail(out, -ENOMEM);
        text_buffer_deinit(&cell);
    }
    text_buffer_deinit(&part);
    return cell.text;
}

static void write_line_row(struct out *out, const struct out_value *values)
{
    struct text_buffer line = {0};

    for (size_t i = 0; i < out->column_count; i++) {
        if (out->columns[i].data_only)
            continue;
        if (line.length)
            text_buffer_add(&line, " ", 1);
        out_format_inline(&line, &values[i]);
    }
    text_buffer_add(&line, "\n", 1);
    if (line.failed)
        out_fail(out, -ENOMEM);
    else
        out_write(out, line.text);
    text_buffer_deinit(&line);
}

static void write_rule(struct out *out, const char *const rule[4])
{
    struct table_state *state = out->state;

    out_write(out, rule[0]);
    for (size_t i = 0; i < state->shown_count; i++) {
        write_repeated(out, rule[1], state->shown[i].width + 2);
        out_write(out, i + 1 < state->shown_count ? rule[2] : rule[3]);
    }
    out_write(out, "\n");
}

/* How a line of a cell is set off: titles are bold, shares from a tenth on yellow; NULL: not. */
static const char *color_of(const struct out *out, const char *text, size_t length,
                            const struct shown *shown, bool is_title)
{
    if (!out->options.color || !length)
        return NULL;
    if (is_title)
        return "\033[1m";
    return shown->is_share && text[length - 1] == '%' && strtod(text, NULL) >= 10 ? "\033[33m"
                                                                                  : NULL;
}

static void write_cell_line(struct out *out, const char *text, size_t length,
                            const struct shown *shown, bool is_title)
{
    const char *color = color_of(out, text, length, shown, is_title);
    size_t padding = shown->width - text_columns(text, length);
    bool right = shown->compact && !shown->has_text;

    out_write(out, " ");
    write_padding(out, right ? padding : 0);
    if (color)
        out_write(out, color);
    if (!out->error && fwrite(text, 1, length, out->options.stream) != length)
        out_fail(out, errno ? -errno : -EIO);
    if (color)
        out_write(out, "\033[0m");
    write_padding(out, right ? 1 : padding + 1);
}

/* One row of cells; each is moved on, line by line, until all are at their end. */
static void write_cells(struct out *out, char **cells, const struct rules *rules)
{
    struct table_state *state = out->state;
    size_t line_count = 1;

    for (size_t i = 0; i < state->shown_count; i++) {
        size_t lines = 1;

        for (const char *at = cells[i]; at && (at = strchr(at, '\n')); at++)
            lines++;
        line_count = lines > line_count ? lines : line_count;
    }
    for (size_t line = 0; line < line_count && !out->error; line++) {
        for (size_t i = 0; i < state->shown_count; i++) {
            const char *text = cells[i] ? cells[i] : "";
            size_t length;

            for (size_t skip = line; skip && *text; skip--) {
                text += strcspn(text, "\n");
                text += *text == '\n';
            }
            length = strcspn(text, "\n");
            out_write(out, rules->vertical);
            write_cell_line(out, text, length, &state->shown[i], false);
        }
        out_write(out, rules->vertical);
        out_write(out, "\n");
    }
}

static void write_head(struct out *out, const struct rules *rules)
{
    struct table_state *state = out->state;

    write_rule(out, rules->top);
    for (size_t i = 0; i < state->shown_count; i++) {
        const char *title = out->columns[state->shown[i].first].title;

        title = title ? title : "";
        out_write(out, rules->vertical);
        write_cell_line(out, title, strlen(title), &state->shown[i], true);
    }
    out_write(out, rules->vertical);
    out_write(out, "\n");
}

/* Compact columns that tell nothing. */
static void drop_empty_columns(struct table_state *state)
{
    size_t rows = state->shown_count ? state->cells.count / state->shown_count : 0, kept = 0;
    size_t columns = 0;

    for (size_t i = 0; i < state->cells.count; i++) {
        const struct shown *shown = &state->shown[i % state->shown_count];

        if (!shown->compact || shown->has_value)
            state->cells.items[kept++] = state->cells.items[i];
        else
            free(state->cells.items[i]);
    }
    state->cells.count = kept;
    for (size_t i = 0; i < state->shown_count; i++) {
        if (!rows || !state->shown[i].compact || state->shown[i].has_value)
            state->shown[columns++] = state->shown[i];
    }
    state->shown_count = columns;
}

/* Prints the rows that wait, with a head of their own, and begins anew. */
static void end_page(struct out *out)
{
    struct table_state *state = out->state;
    const struct rules *rules = out->options.ascii ? &ascii_rules : &unicode_rules;

    drop_empty_columns(state);
    if (state->shown_count)
        out_table_fit(out);
    if (state->shown_count) {
        start_section(out, state->page_count++ ? NULL : out->section);
        write_head(out, rules);
        for (size_t i = 0; i < state->cells.count; i += state->shown_count) {
            if (i == 0 || state->has_tall_cells)
                write_rule(out, i ? rules->between : rules->head);
            write_cells(out, state->cells.items + i, rules);
        }
        if (!state->cells.count)
            write_rule(out, rules->head);
        write_rule(out, rules->bottom);
    }
    drop_page(state);
}

static bool is_page_full(const struct out *out)
{
    const struct table_state *state = out->state;

    return state->shown_count && state->cells.count / state->shown_count >= out_page_rows(out);
}

static void table_row(struct out *out, const struct out_value *values)
{
    struct table_state *state = out->state;

    if (out->section->data_only)
        return;
    if (out->section->style == OUT_STYLE_LINES) {
        write_line_row(out, values);
        return;
    }
    if (is_page_full(out)) {
        end_page(out);
        begin_page(out);
    }
    for (size_t i = 0; i < state->shown_count; i++) {
        char *cell = render_cell(out, &state->shown[i], values);

        if (out->error)
            return;
        if (array_push(&state->cells, cell) < 0) {
            free(cell);
            out_fail(out, -ENOMEM);
            return;
        }
        if (!cell)
            continue;
        out_table_widen(&state->shown[i], cell);
        state->has_tall_cells |= strchr(cell, '\n') != NULL;
    }
}

static void table_end(struct out *out)
{
    struct table_state *state = out->state;

    if (out->section->style == OUT_STYLE_BOX && !out->section->data_only)
        end_page(out);
    else if (!out->section->data_only)
        state->section_count++;
    drop_table(state);
}

static void table_block(struct out *out, const char *lines)
{
    start_section(out, NULL);
    out_write(out, lines);
}

static void table_close(struct out *out)
{
    struct table_state *state = out->state;

    if (out->notes.count)
        start_section(out, NULL);
    out_write_notes(out);
    drop_table(state);
    array_deinit(&state->cells);
    free(state);
}

const struct out_printer out_table_printer = {
    .open = table_open,
    .facts = table_facts,
    .table_begin = table_begin,
    .row = table_row,
    .table_end = table_end,
    .block = table_block,
    .close = table_close,
};
