/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, numbers and tables of a first screen. */
#include "analyze/reports/brief/page_part.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/brief/brief.h"
#include "base/text.h"

enum { GAP = 2, NAME_COLUMNS_MIN = 12, NAME_COLUMNS = 36 };

/* --- Lines. --- */

void brief_put(struct brief_page *page, const char *format, ...)
{
    char *text = NULL, *shown = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text)
        shown = brief_shown(text);
    if (shown)
        text_buffer_add(&page->line, shown, strlen(shown));
    else
        page->line.failed = true;
    free(text);
    free(shown);
}

size_t brief_columns(const struct brief_page *page)
{
    return text_columns(text_buffer_text(&page->line), page->line.length);
}

void brief_pad(struct brief_page *page, size_t column)
{
    size_t columns = brief_columns(page);

    for (; columns < column; columns++)
        text_buffer_add(&page->line, " ", 1);
}

void brief_end(struct brief_page *page)
{
    struct text_buffer *line = &page->line;
    char *cut;

    while (line->length && line->text[line->length - 1] == ' ')
        line->text[--line->length] = '\0';
    cut = brief_cut(text_buffer_text(line), page->width, 0);
    if (cut)
        text_buffer_add(page->out, cut, strlen(cut));
    text_buffer_add(page->out, "\n", 1);
    page->out->failed |= !cut || line->failed;
    free(cut);
    line->length = 0;
    if (line->text)
        line->text[0] = '\0';
}

/* Bytes of the word here, with the unit behind a number, which is never alone on a line. */
static size_t word_bytes(const char *text)
{
    static const char *const units[] = {"ns",  "us",  "µs",  "ms", "s", "min",
                                        "KiB", "MiB", "GiB", "B",  "%"};
    size_t length = strcspn(text, " "), own;

    if (!length || !text[length] || text[length - 1] < '0' || text[length - 1] > '9')
        return length;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        own = strlen(units[i]);
        if (strncmp(text + length + 1, units[i], own) == 0 &&
            !isalnum((unsigned char)text[length + 1 + own]))
            return length + 1 + strcspn(text + length + 1, " ");
    }
    return length;
}

void brief_wrap(struct brief_page *page, size_t indent, const char *text)
{
    char *shown = brief_shown(text);
    bool is_first = true;

    page->line.failed |= !shown;
    brief_pad(page, indent);
    for (const char *at = shown; at && *at;) {
        size_t length = word_bytes(at);

        if (!is_first && brief_columns(page) + 1 + text_columns(at, length) > page->width) {
            brief_end(page);
            brief_pad(page, indent);
            is_first = true;
        }
        if (length)
            brief_put(page, "%s%.*s", is_first ? "" : " ", (int)length, at);
        is_first = is_first && !length;
        at += length + strspn(at + length, " ");
    }
    brief_end(page);
    free(shown);
}

/* --- Numbers. --- */

struct brief_unit brief_time_unit(double most_ns, bool ascii)
{
    if (out_sample_ns() > 0)
        return (struct brief_unit){"samples", out_sample_ns()};
    if (!(most_ns >= 1e3))
        return (struct brief_unit){"ns", 1};
    if (most_ns < 1e6)
        return (struct brief_unit){ascii ? "us" : "µs", 1e3};
    return most_ns < 1e10 ? (struct brief_unit){"ms", 1e6} : (struct brief_unit){"s", 1e9};
}

struct brief_unit brief_rate_unit(double most_flop_per_s)
{
    if (most_flop_per_s >= 1e13)
        return (struct brief_unit){"TFLOP/s", 1e12};
    return most_flop_per_s < 1e8 ? (struct brief_unit){"MFLOP/s", 1e6}
                                 : (struct brief_unit){"GFLOP/s", 1e9};
}

const char *brief_number(char *text, size_t bytes, double value)
{
    double size = fabs(value);

    if (size >= 99.95)
        snprintf(text, bytes, "%.0f", value);
    else if (size >= 9.995)
        snprintf(text, bytes, "%.1f", value);
    else if (size > 0 && size < 0.005)
        snprintf(text, bytes, "<0.01");
    else
        snprintf(text, bytes, "%.2f", value);
    return text;
}

const char *brief_time(char *text, size_t bytes, double ns, bool ascii)
{
    struct brief_unit unit = brief_time_unit(fabs(ns), ascii);
    char number[32];

    if (out_sample_ns() > 0)
        return out_duration_text(text, bytes, ns);
    if (unit.factor == 1e6 && fabs(ns) >= 1e9)
        unit = (struct brief_unit){"s", 1e9};
    if (fabs(ns) >= 36e11)
        snprintf(text, bytes, "%.1f h", ns / 36e11);
    else if (fabs(ns) >= 6e11)
        snprintf(text, bytes, "%.1f min", ns / 6e10);
    else
        snprintf(text, bytes, "%s %s", brief_number(number, sizeof(number), ns / unit.factor),
                 unit.name);
    return text;
}

const char *brief_size(char *text, size_t bytes, double size_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    char number[32];

    while (fabs(size_bytes) >= 1023.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        size_bytes /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(text, bytes, "%.0f B", size_bytes);
    else
        snprintf(text, bytes, "%s %s", brief_number(number, sizeof(number), size_bytes),
                 units[unit]);
    return text;
}

const char *brief_count(char *text, size_t bytes, double count)
{
    char digits[32];
    size_t length, used = 0;

    if (count != floor(count) && count < 1000)
        return brief_number(text, bytes, count);
    snprintf(digits, sizeof(digits), "%.0f", count);
    length = strlen(digits);
    for (size_t i = 0; i < length && used + 2 < bytes; i++) {
        if (i && (length - i) % 3 == 0 && digits[i - 1] != '-')
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

const char *brief_bar(double value, double low, double high, bool ascii)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const letters[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    double part = high > low ? (value - low) / (high - low) : 0;
    int level = (int)(part * 7 + 0.5);

    level = level < 0 ? 0 : level > 7 ? 7 : level;
    return ascii ? letters[level] : blocks[level];
}

bool brief_shape(const char *json, char *shape, size_t bytes)
{
    const char *at = json ? strchr(json, '[') : NULL;
    const char *start;
    size_t used = 0;

    at = at ? strchr(at + 1, '[') : NULL;
    shape[0] = '\0';
    if (!at || at[1] == ']')
        return false;
    start = ++at;
    if (strncmp(at, "1,", 2) == 0 && strcspn(at, "]") > 4)
        at += 2;
    for (; *at && *at != ']' && used + 8 < bytes; at++) {
        if (*at == ',')
            shape[used++] = 'x';
        else if (*at == 'n') {
            shape[used++] = '?';
            at += 3;
        } else if (*at != ' ')
            shape[used++] = *at;
    }
    shape[used] = '\0';
    return at > start;
}

/* --- Tables. --- */

struct brief_column *brief_add_column(struct brief_table *table, const char *head, int priority)
{
    struct brief_column *column = &table->columns[table->column_count++];

    *column = (struct brief_column){.priority = priority};
    snprintf(column->head, sizeof(column->head), "%s", head);
    return column;
}

static size_t columns_of(const char *text)
{
    return text_columns(text, strlen(text));
}

/* 0 where the column holds nothing, or was dropped. */
static size_t column_width(const struct brief_table *table, const struct brief_column *column)
{
    size_t width = 0;

    for (size_t i = 0; i < table->row_count && !column->is_gone; i++) {
        if (columns_of(column->cells[i]) > width)
            width = columns_of(column->cells[i]);
    }
    return width && columns_of(column->head) > width ? columns_of(column->head) : width;
}

static size_t table_width(const struct brief_table *table)
{
    size_t width = 0;

    for (size_t i = 0; i < table->column_count; i++) {
        size_t own = column_width(table, &table->columns[i]);

        width += own ? own + GAP : 0;
    }
    return width;
}

/* Drops columns until names have some room; returns what names may take. */
static size_t make_room(struct brief_table *table, size_t width, size_t widest)
{
    for (;;) {
        size_t others = table_width(table);
        size_t wanted = widest < NAME_COLUMNS ? widest : NAME_COLUMNS;
        struct brief_column *least = NULL;

        if (others + wanted <= width)
            return width - others;
        for (size_t i = 0; i < table->column_count; i++) {
            struct brief_column *column = &table->columns[i];

            if (column_width(table, column) && column->priority &&
                (!least || column->priority >= least->priority))
                least = column;
        }
        if (!least)
            return others + NAME_COLUMNS_MIN < width ? width - others : NAME_COLUMNS_MIN;
        least->is_gone = true;
    }
}

static void put_cell(struct brief_page *page, const char *text, size_t width, bool is_left)
{
    size_t blanks = width - columns_of(text) + GAP, before = is_left ? GAP : blanks;

    brief_put(page, "%*s%s%*s", (int)before, "", text, (int)(blanks - before), "");
}

int brief_print_table(struct brief_page *page, struct brief_table *table)
{
    size_t widest = columns_of(table->title), room, cut = table->row_count - table->fixed_count;
    char *names[BRIEF_ROWS_MAX];

    for (size_t i = 0; i < table->row_count; i++) {
        if (table->names[i] && columns_of(table->names[i]) > widest)
            widest = columns_of(table->names[i]);
    }
    room = make_room(table, page->width, widest);
    if (brief_fit_names(table->names, cut, room, names) < 0)
        return -ENOMEM;
    widest = columns_of(table->title);
    for (size_t i = 0; i < table->row_count; i++) {
        const char *name = i < cut ? names[i] : table->names[i];

        widest = columns_of(name) > widest ? columns_of(name) : widest;
    }
    for (size_t row = 0; row <= table->row_count; row++) {
        const char *name = !row            ? table->title
                           : row - 1 < cut ? names[row - 1]
                                           : table->names[row - 1];

        brief_put(page, "%s", name);
        brief_pad(page, widest);
        for (size_t i = 0; i < table->column_count; i++) {
            const struct brief_column *column = &table->columns[i];
            size_t width = column_width(table, column);

            if (width)
                put_cell(page, row ? column->cells[row - 1] : column->head, width, column->is_left);
        }
        brief_end(page);
    }
    for (size_t i = 0; i < cut; i++)
        free(names[i]);
    return 0;
}
