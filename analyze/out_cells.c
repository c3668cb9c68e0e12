/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, heads and headlines as documents show them. */
#include "analyze/out_cells.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

bool out_is_number(enum out_kind kind)
{
    return !out_is_text(kind) && kind != OUT_WHEN && kind != OUT_BOOL;
}

static void add_duration(struct out_buffer *buffer, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0, digits = 0;

    while (fabs(ns) >= 999.5 && unit < 3) {
        ns /= 1000;
        unit++;
    }
    if (fabs(ns) < 99.95)
        digits = fabs(ns) < 9.995 ? 2 : 1;
    if (unit == 0 && ns == floor(ns))
        digits = 0;
    out_buffer_print(buffer, "%.*f %s", digits, ns, units[unit]);
}

void out_format_cell(struct out_buffer *buffer, const struct out_value *value)
{
    if (!value->known)
        out_buffer_print(buffer, "%s", value->text ? value->text : "N/A");
    else if (value->kind == OUT_NS)
        add_duration(buffer, value->real);
    else
        out_format_inline(buffer, value);
}

/* Names end in their unit, which stands with the value here. */
static size_t length_without_unit(const char *name)
{
    static const char *const units[] = {"_bytes_per_s", "_per_s", "_ns", "_bytes"};
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t unit = strlen(units[i]);

        if (length > unit && strcmp(name + length - unit, units[i]) == 0)
            return length - unit;
    }
    return length;
}

static void add_phrase(struct out_buffer *buffer, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        out_buffer_add(buffer, name[i] == '_' ? " " : name + i, 1);
}

/* A title is of one column when none without a title stands below it. */
static bool is_of_one(const struct out_column *columns, size_t count, size_t at)
{
    for (size_t i = at + 1; i < count; i++) {
        if (!columns[i].data_only)
            return columns[i].title != NULL;
    }
    return true;
}

void out_format_head(struct out_buffer *buffer, const struct out_column *columns, size_t count,
                     size_t at)
{
    const struct out_column *column = &columns[at];

    if (column->title && is_of_one(columns, count, at))
        out_buffer_add(buffer, column->title, strlen(column->title));
    else
        add_phrase(buffer, column->name, length_without_unit(column->name));
}

void out_format_headline(struct out_buffer *buffer, const struct out_section *section)
{
    size_t start = buffer->length;

    if (section->title) {
        out_buffer_add(buffer, section->title, strlen(section->title));
        return;
    }
    add_phrase(buffer, section->name, strlen(section->name));
    if (buffer->length > start)
        buffer->text[start] = (char)toupper((unsigned char)buffer->text[start]);
}
