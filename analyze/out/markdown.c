/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markdown as GitHub reads it: a headline and a table for each section, the notes as a list. No
 * character of a value is markup.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/cells.h"

struct markdown_state {
    size_t section_count;
    struct out_cells cells; /* of the open table, or its page */
    size_t page_count;      /* of it that are written */
};

static int markdown_open(struct out *out)
{
    out->state = calloc(1, sizeof(struct markdown_state));
    return out->state ? 0 : -ENOMEM;
}

/* Whether a character would be markup where it stands; an underscore is not inside of a word. */
static bool is_markup(const char *text, size_t at)
{
    if (text[at] == '_')
        return at == 0 || !isalnum((unsigned char)text[at - 1]) ||
               !isalnum((unsigned char)text[at + 1]);
    return strchr("\\`*[]<>|~&$", text[at]) != NULL;
}

static void add_escaped(struct text_buffer *line, const char *text)
{
    for (size_t i = 0; text[i]; i++) {
        if (is_markup(text, i))
            text_buffer_add(line, "\\", 1);
        text_buffer_add(line, text[i] == '\n' ? " " : text + i, 1);
    }
}

static void add_cell(struct text_buffer *line, const char *text)
{
    text_buffer_add(line, " ", 1);
    add_escaped(line, text ? text : "");
    text_buffer_add(line, " |", 2);
}

static void start_section(struct out *out, const struct out_section *section)
{
    struct markdown_state *state = out->state;
    struct text_buffer lines = {0}, headline = {0};

    out_format_headline(&headline, section);
    text_buffer_print(&lines, "%s### ", state->section_count++ ? "\n" : "");
    add_escaped(&lines, text_buffer_text(&headline));
    text_buffer_add(&lines, "\n\n", 2);
    lines.failed |= headline.failed;
    text_buffer_deinit(&headline);
    out_write_buffer(out, &lines);
}

static void markdown_facts(struct out *out, const struct out_section *section,
                           const struct out_fact *facts, size_t count)
{
    struct text_buffer lines = {0}, value = {0};

    if (section->data_only)
        return;
    start_section(out, section);
    text_buffer_print(&lines, "| name | value |\n| :--- | ---: |\n");
    for (size_t i = 0; i < count; i++) {
        if (!facts[i].title)
            continue;
        value.length = 0;
        out_format_title(&value, facts[i].title);
        text_buffer_add(&lines, "|", 1);
        add_cell(&lines, text_buffer_text(&value));
        value.length = 0;
        out_format_compact(&value, &facts[i].value);
        add_cell(&lines, text_buffer_text(&value));
        text_buffer_add(&lines, "\n", 1);
    }
    lines.failed |= value.failed;
    text_buffer_deinit(&value);
    out_write_buffer(out, &lines);
}

static void markdown_table_begin(struct out *out)
{
    struct markdown_state *state = out->state;

    if (!out->section->data_only)
        out_cells_begin(out, &state->cells);
}

static void write_head(struct out *out, const struct out_cells *cells)
{
    struct text_buffer lines = {0}, head = {0};

    text_buffer_add(&lines, "|", 1);
    for (size_t i = 0; i < cells->column_count; i++) {
        if (!cells->columns[i].is_shown)
            continue;
        head.length = 0;
        out_format_head(&head, out->columns, out->column_count, cells->columns[i].place);
        add_cell(&lines, text_buffer_text(&head));
    }
    text_buffer_add(&lines, "\n|", 2);
    for (size_t i = 0; i < cells->column_count; i++) {
        if (cells->columns[i].is_shown)
            text_buffer_print(&lines, " %s |", cells->columns[i].is_number ? "---:" : ":---");
    }
    text_buffer_add(&lines, "\n", 1);
    lines.failed |= head.failed;
    text_buffer_deinit(&head);
    out_write_buffer(out, &lines);
}

static void write_rows(struct out *out, const struct out_cells *cells)
{
    for (size_t row = 0; row < cells->row_count && !out->error; row++) {
        char **texts = cells->texts.items + row * cells->column_count;
        struct text_buffer line = {0};

        text_buffer_add(&line, "|", 1);
        for (size_t i = 0; i < cells->column_count; i++) {
            if (cells->columns[i].is_shown)
                add_cell(&line, texts[i]);
        }
        text_buffer_add(&line, "\n", 1);
        out_write_buffer(out, &line);
    }
}

/* Writes the rows that wait, with a head of their own: tables follow each other by an empty line. */
static void end_page(struct out *out)
{
    struct markdown_state *state = out->state;

    if (state->page_count++)
        out_write(out, "\n");
    else
        start_section(out, out->section);
    write_head(out, &state->cells);
    write_rows(out, &state->cells);
    out_cells_deinit(&state->cells);
}

static void markdown_row(struct out *out, const struct out_value *values)
{
    struct markdown_state *state = out->state;

    if (out->section->data_only)
        return;
    if (state->cells.row_count >= out_page_rows(out)) {
        end_page(out);
        out_cells_begin(out, &state->cells);
    }
    if (!out->error)
        out_cells_add(out, &state->cells, values);
}

static void markdown_table_end(struct out *out)
{
    struct markdown_state *state = out->state;

    if (out->section->data_only)
        return;
    end_page(out);
    state->page_count = 0;
}

/* A note of several lines holds something to copy, such as a query, from its second line on. */
static void add_note(struct text_buffer *line, const char *text)
{
    size_t first = strcspn(text, "\n");
    struct text_buffer head = {0};

    text_buffer_add(&head, text, first);
    add_escaped(line, text_buffer_text(&head));
    line->failed |= head.failed;
    text_buffer_deinit(&head);
    if (!text[first]) {
        text_buffer_add(line, "\n", 1);
        return;
    }
    text_buffer_print(line, "\n\n  ```\n");
    for (text += first + 1; *text; text += strcspn(text, "\n"), text += *text == '\n')
        text_buffer_print(line, "  %.*s\n", (int)strcspn(text, "\n"), text);
    text_buffer_print(line, "  ```\n");
}

/* Indented, so that no line of it can end the block. */
static void markdown_block(struct out *out, const char *lines)
{
    struct markdown_state *state = out->state;
    struct text_buffer text = {0};

    text_buffer_print(&text, "%s", state->section_count++ ? "\n" : "");
    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
        text_buffer_print(&text, "%s%.*s\n", *lines == '\n' ? "" : "    ",
                          (int)strcspn(lines, "\n"), lines);
    out_write_buffer(out, &text);
}

static void markdown_close(struct out *out)
{
    struct markdown_state *state = out->state;

    for (size_t i = 0; i < out->notes.count && !out->error; i++) {
        const char *text = out->notes.items[i].text;
        bool is_detail = text[0] == ' '; /* of the note before it */
        bool warns = out->notes.items[i].kind == OUT_NOTE_WARNING && !is_detail;
        struct text_buffer line = {0};

        if (i == 0 && state->section_count)
            out_write(out, "\n");
        text_buffer_print(&line, "%s- %s", is_detail ? "  " : "", warns ? "**Warning:** " : "");
        add_note(&line, text + strspn(text, " "));
        out_write_buffer(out, &line);
    }
    out_cells_deinit(&state->cells);
    free(state);
}

const struct out_printer out_markdown_printer = {
    .open = markdown_open,
    .facts = markdown_facts,
    .table_begin = markdown_table_begin,
    .row = markdown_row,
    .table_end = markdown_table_end,
    .block = markdown_block,
    .close = markdown_close,
};
