/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, heads and headlines as documents show them. */
#include "analyze/out/cells.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- A table that waits for its end. --- */

void out_cells_begin(struct out *out, struct out_cells *cells)
{
    *cells = (struct out_cells){0};
    cells->columns = calloc(out->column_count ? out->column_count : 1, sizeof(*cells->columns));
    if (!cells->columns) {
        out_fail(out, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < out->column_count; i++) {
        if (out->columns[i].data_only)
            continue;
        cells->columns[cells->column_count++] = (struct out_cell_column){
            .place = i,
            .is_share = true,
            .is_shown = !out->columns[i].compact,
        };
    }
}

static bool is_number(enum out_kind kind)
{
    return !out_is_text(kind) && kind != OUT_WHEN && kind != OUT_BOOL;
}

static void look_at(struct out_cell_column *column, const struct out_value *value)
{
    if (is_number(value->kind))
        column->is_number = true;
    if (!value->known)
        return;
    column->is_shown = true;
    if (value->kind != OUT_SHARE || value->real < 0 || value->real > 1)
        column->is_share = false;
}

static double number_of(const struct out_value *value)
{
    if (!value->known || out_is_text(value->kind))
        return NAN;
    return out_is_integer(value->kind) ? (double)value->integer : value->real;
}

void out_cells_add(struct out *out, struct out_cells *cells, const struct out_value *values)
{
    for (size_t i = 0; i < cells->column_count; i++) {
        const struct out_value *value = &values[cells->columns[i].place];
        struct text_buffer text = {0};

        look_at(&cells->columns[i], value);
        out_format_cell(&text, value);
        if (text.failed || array_push(&cells->texts, text.text) < 0) {
            text_buffer_deinit(&text);
            out_fail(out, -ENOMEM);
            return;
        }
        if (array_push(&cells->numbers, number_of(value)) < 0) {
            out_fail(out, -ENOMEM);
            return;
        }
    }
    cells->row_count++;
}

void out_cells_deinit(struct out_cells *cells)
{
    for (size_t i = 0; i < cells->texts.count; i++)
        free(cells->texts.items[i]);
    array_deinit(&cells->texts);
    array_deinit(&cells->numbers);
    free(cells->columns);
    *cells = (struct out_cells){0};
}

/* --- Heads and headlines. --- */

/* Names end in their unit, which stands with the value here. */
static size_t length_without_unit(const char *name)
{
    static const char *const units[] = {"_bytes_per_s", "_per_s", "_ns", "_bytes", "_flop"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t unit = strlen(units[i]);

        if (length > unit && strcmp(name + length - unit, units[i]) == 0)
            return length - unit;
    }
    return length;
}

static void add_phrase(struct text_buffer *buffer, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        text_buffer_add(buffer, name[i] == '_' ? " " : name + i, 1);
}

/* Some titles say that they are about seconds; the unit stands with the value here. */
void out_format_title(struct text_buffer *buffer, const char *title)
{
    static const char unit[] = " (s)";
    size_t length = strlen(title), end = sizeof(unit) - 1;

    if (length > end && strcmp(title + length - end, unit) == 0)
        length -= end;
    text_buffer_add(buffer, title, length);
}

/* A title is of one column when none without a title stands below it. */
static bool is_of_one(const struct out_column *columns, size_t count, size_t place)
{
    for (size_t i = place + 1; i < count; i++) {
        if (!columns[i].data_only)
            return columns[i].title != NULL;
    }
    return true;
}

void out_format_head(struct text_buffer *buffer, const struct out_column *columns, size_t count,
                     size_t place)
{
    const struct out_column *column = &columns[place];

    if (column->title && strcmp(column->title, "seconds") == 0)
        text_buffer_add(buffer, "time", 4);
    else if (column->title && is_of_one(columns, count, place))
        out_format_title(buffer, column->title);
    else
        add_phrase(buffer, column->name, length_without_unit(column->name));
}

void out_format_headline(struct text_buffer *buffer, const struct out_section *section)
{
    size_t start = buffer->length;

    if (section->title) {
        size_t length = strlen(section->title);

        /* What introduces a table on a terminal ends in a colon. */
        text_buffer_add(buffer, section->title,
                        length - (length && section->title[length - 1] == ':'));
        return;
    }
    add_phrase(buffer, section->name, strlen(section->name));
    if (buffer->length > start)
        buffer->text[start] = (char)toupper((unsigned char)buffer->text[start]);
}

void out_write_buffer(struct out *out, struct text_buffer *buffer)
{
    if (buffer->failed)
        out_fail(out, -ENOMEM);
    else
        out_write(out, text_buffer_text(buffer));
    text_buffer_deinit(buffer);
}
