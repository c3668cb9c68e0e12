/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a model's inputs and outputs that --model-info shows. */
#include <string.h>

#include "base/text.h"
#include "runtime/modes/model_info.h"

enum { COLUMNS = 4 };

static const char title[] = "Runtime Model Info";

/* The cells of one row; `text` is room for the shape. */
static void fill_row(const struct value *value, const char *type, const char *cells[COLUMNS],
                     char text[SHAPE_TEXT_BYTES])
{
    cells[0] = type;
    cells[1] = value->name;
    cells[2] = shape_text(&value->shape, text);
    cells[3] = dtype_name(value->dtype);
}

/* As it is shown. */
static size_t columns_of(const char *text)
{
    char shown[TEXT_SHOWN_BYTES];
    size_t columns = 0;

    for (size_t at = 0, length = strlen(text); at < length;) {
        at += text_show_next(text + at, length - at, shown);
        columns += text_columns(shown, strlen(shown));
    }
    return columns;
}

static void widen(size_t widths[COLUMNS], const char *const cells[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        size_t wanted = columns_of(cells[i]) + 2;

        widths[i] = wanted > widths[i] ? wanted : widths[i];
    }
}

static void repeat(const char *text, size_t count, FILE *out)
{
    while (count-- > 0)
        text_put(text, out);
}

/* The first rule bears the title over its left end, as far as there is room. */
static void write_rule(const size_t widths[COLUMNS], bool is_first, FILE *out)
{
    size_t skip = is_first ? sizeof(title) - 1 : 0;

    fputc('+', out);
    if (is_first)
        text_put_page(title, out);
    for (int i = 0; i < COLUMNS; i++) {
        size_t hidden = skip < widths[i] ? skip : widths[i];

        repeat("-", widths[i] - hidden, out);
        skip -= hidden;
        if (skip > 0)
            skip--;
        else
            fputc('+', out);
    }
    fputc('\n', out);
}

static void write_row(const size_t widths[COLUMNS], const char *const cells[COLUMNS], FILE *out)
{
    for (int i = 0; i < COLUMNS; i++) {
        size_t space = widths[i] - columns_of(cells[i]);

        fputc('|', out);
        repeat(" ", space / 2, out);
        text_put(cells[i], out);
        repeat(" ", space - space / 2, out);
    }
    fputs("|\n", out);
}

void model_info_write(const struct graph *graph, FILE *out)
{
    static const char *const heads[COLUMNS] = {"type", "name", "shape", "dtype"};
    uint32_t total = graph->input_count + graph->output_count;
    size_t widths[COLUMNS] = {0};
    const char *cells[COLUMNS];
    char text[SHAPE_TEXT_BYTES];

    widen(widths, heads);
    for (uint32_t pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            write_rule(widths, true, out);
            write_row(widths, heads, out);
            write_rule(widths, false, out);
        }
        for (uint32_t i = 0; i < total; i++) {
            bool is_input = i < graph->input_count;

            fill_row(is_input ? graph->inputs[i] : graph->outputs[i - graph->input_count],
                     is_input ? "INPUT" : "OUTPUT", cells, text);
            if (pass == 0) {
                widen(widths, cells);
                continue;
            }
            write_row(widths, cells, out);
            write_rule(widths, false, out);
        }
    }
}
