/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTML file that needs nothing but itself: facts, tables that sort and filter, pictures where a
 * section has a chart, notes. It says everything without scripts, too, pictures aside.
 */
#include "analyze/out/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct html_state {
    struct out_cells cells;   /* of the open table, the first rows of it */
    size_t row_count;         /* of the open table, all */
    struct html_chart *chart; /* of the open table, or NULL */
    bool is_in_card;          /* a section's card is not closed yet: others may join it */
};

/* Where the subject is a path, its last part. */
static const char *short_subject(const struct out *out)
{
    const char *subject = out->options.subject ? out->options.subject : "";
    const char *slash = strrchr(subject, '/');

    return slash && slash[1] ? slash + 1 : subject;
}

static int html_open(struct out *out)
{
    struct text_buffer text = {0};

    out->state = calloc(1, sizeof(struct html_state));
    if (!out->state)
        return -ENOMEM;
    out_write(out, html_page_start);
    html_add_escaped(&text, short_subject(out));
    text_buffer_print(&text, " (%s)", out->options.report);
    out_write_buffer(out, &text);
    out_write(out, html_page_head);
    text_buffer_print(&text, "<header class=\"top\">\n<h1>Profile ");
    html_add_escaped(&text, short_subject(out));
    text_buffer_print(&text, "</h1>\n<p class=\"about\">report %s of profile_analyze %s</p>\n",
                      out->options.report, OPTRACE_VERSION);
    text_buffer_print(&text,
                      "<button id=\"theme\" type=\"button\">Light / dark</button>\n</header>\n"
                      "<nav aria-label=\"Contents\"></nav>\n<main>\n"
                      "<div id=\"errors\" hidden></div>\n");
    out_write_buffer(out, &text);
    return 0;
}

static void close_card(struct out *out)
{
    struct html_state *state = out->state;

    if (state->is_in_card)
        out_write(out, "</section>\n");
    state->is_in_card = false;
}

/* Begins a card, or a part of the one before. */
static void write_headline(struct out *out, const struct out_section *section)
{
    struct html_state *state = out->state;
    struct text_buffer text = {0}, headline = {0};
    bool joins = section->joins && state->is_in_card;

    if (!joins)
        close_card(out);
    state->is_in_card = true;
    out_format_headline(&headline, section);
    text_buffer_print(&text, joins ? "<h3 id=\"%s\">" : "<section id=\"%s\">\n<h2>", section->name);
    html_add_escaped(&text, text_buffer_text(&headline));
    text_buffer_print(&text, joins ? "</h3>\n" : "</h2>\n");
    text.failed |= headline.failed;
    text_buffer_deinit(&headline);
    out_write_buffer(out, &text);
}

static void html_facts(struct out *out, const struct out_section *section,
                       const struct out_fact *facts, size_t count)
{
    struct text_buffer text = {0}, value = {0};

    if (section->data_only)
        return;
    write_headline(out, section);
    text_buffer_print(&text, "<dl>\n");
    for (size_t i = 0; i < count; i++) {
        if (!facts[i].title)
            continue;
        value.length = 0;
        out_format_title(&value, facts[i].title);
        text_buffer_print(&text, "<div><dt>");
        html_add_escaped(&text, text_buffer_text(&value));
        value.length = 0;
        out_format_compact(&value, &facts[i].value);
        text_buffer_print(&text, "</dt><dd>");
        html_add_escaped(&text, text_buffer_text(&value));
        text_buffer_print(&text, "</dd></div>\n");
    }
    text_buffer_print(&text, "</dl>\n");
    text.failed |= value.failed;
    text_buffer_deinit(&value);
    out_write_buffer(out, &text);
}

/* --- Tables. --- */

static void html_table_begin(struct out *out)
{
    struct html_state *state = out->state;

    state->row_count = 0;
    if (!out->section->data_only)
        out_cells_begin(out, &state->cells);
    if (out->section->chart && !out->error)
        state->chart = html_chart_begin(out);
}

static void html_row(struct out *out, const struct out_value *values)
{
    struct html_state *state = out->state;

    if (!out->section->data_only && state->row_count < OUT_HTML_ROWS_MAX)
        out_cells_add(out, &state->cells, values);
    state->row_count++;
    if (state->chart && !out->error)
        html_chart_add(out, state->chart, values);
}

static void write_head(struct out *out, const struct out_cells *cells)
{
    struct text_buffer text = {0}, head = {0};

    text_buffer_print(&text, "<div class=\"scroll\">\n<table id=\"table-%s\">\n<thead>\n<tr>",
                      out->section->name);
    for (size_t i = 0; i < cells->column_count; i++) {
        const struct out_cell_column *column = &cells->columns[i];

        if (!column->is_shown)
            continue;
        head.length = 0;
        out_format_head(&head, out->columns, out->column_count, column->place);
        text_buffer_print(&text, "<th scope=\"col\"%s>", column->is_number ? " class=\"n\"" : "");
        html_add_escaped(&text, text_buffer_text(&head));
        text_buffer_print(&text, "</th>");
    }
    text_buffer_print(&text, "</tr>\n</thead>\n<tbody>\n");
    text.failed |= head.failed;
    text_buffer_deinit(&head);
    out_write_buffer(out, &text);
}

static void add_cell(struct text_buffer *line, const struct out_cell_column *column,
                     const char *text, double number)
{
    char digits[40];

    text_buffer_print(line, "<td");
    if (column->is_number)
        text_buffer_print(line, " class=\"n%s\"",
                          column->is_share && !isnan(number) ? " share" : "");
    if (!isnan(number)) {
        out_format_real(digits, sizeof(digits), number);
        text_buffer_print(line, " data-v=\"%s\"", digits);
    }
    if (column->is_number && column->is_share && !isnan(number))
        text_buffer_print(line, " style=\"--share:%.2f%%\"", number * 100);
    text_buffer_print(line, ">");
    html_add_escaped(line, text ? text : "");
    text_buffer_print(line, "</td>");
}

static void write_rows(struct out *out, const struct out_cells *cells)
{
    for (size_t row = 0; row < cells->row_count && !out->error; row++) {
        size_t at = row * cells->column_count;
        struct text_buffer line = {0};

        text_buffer_print(&line, "<tr>");
        for (size_t i = 0; i < cells->column_count; i++) {
            if (cells->columns[i].is_shown)
                add_cell(&line, &cells->columns[i], cells->texts.items[at + i],
                         cells->numbers.items[at + i]);
        }
        text_buffer_print(&line, "</tr>\n");
        out_write_buffer(out, &line);
    }
    out_write(out, "</tbody>\n</table>\n</div>\n");
}

static void html_table_end(struct out *out)
{
    struct html_state *state = out->state;
    struct text_buffer text = {0};

    if (out->section->data_only && !state->chart)
        return;
    if (!out->section->data_only || out->section->chart->kind != OUT_CHART_DATA)
        write_headline(out, out->section);
    if (state->chart && state->row_count)
        html_chart_write(out, state->chart);
    if (!out->section->data_only) {
        write_head(out, &state->cells);
        write_rows(out, &state->cells);
        if (state->row_count > state->cells.row_count)
            text_buffer_print(&text,
                              "<p class=\"cut\">The page shows the first %zu of %zu lines; "
                              "--format csv has all.</p>\n",
                              state->cells.row_count, state->row_count);
        out_cells_deinit(&state->cells);
    }
    out_write_buffer(out, &text);
    html_chart_destroy(&state->chart);
}

/* --- Notes, the end. --- */

static void write_notes(struct out *out, enum out_note_kind kind, const char *id, const char *title)
{
    struct text_buffer text = {0};
    size_t count = 0;

    for (size_t i = 0; i < out->notes.count; i++) {
        const char *note = out->notes.items[i].text;

        if ((out->notes.items[i].kind == OUT_NOTE_WARNING) != (kind == OUT_NOTE_WARNING))
            continue;
        if (!count++)
            text_buffer_print(&text, "<section id=\"%s\">\n<h2>%s</h2>\n<ul>\n", id, title);
        text_buffer_print(&text, "<li%s>", note[0] == ' ' ? " class=\"detail\"" : "");
        html_add_escaped(&text, note + strspn(note, " "));
        text_buffer_print(&text, "</li>\n");
    }
    if (count)
        text_buffer_print(&text, "</ul>\n</section>\n");
    out_write_buffer(out, &text);
}

static void html_close(struct out *out)
{
    struct html_state *state = out->state;

    if (!out->error) {
        close_card(out);
        write_notes(out, OUT_NOTE_WARNING, "warnings", "Warnings");
        write_notes(out, OUT_NOTE_PLAIN, "notes", "Notes");
        out_write(out, "</main>\n<footer>Drawn with Chart.js (MIT License).</footer>\n");
        out_write(out, html_page_end);
    }
    out_cells_deinit(&state->cells);
    html_chart_destroy(&state->chart);
    free(state);
}

const struct out_printer out_html_printer = {
    .open = html_open,
    .facts = html_facts,
    .table_begin = html_table_begin,
    .row = html_row,
    .table_end = html_table_end,
    .close = html_close,
};
