/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting, cutting and printing lines by the description of their columns. */
#include "analyze/out/lines.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"
#include "base/array.h"
#include "base/text.h"

enum { NAMES_MAX = 256, WORD_MAX = 64 };

/* --- Which column. --- */

/* All names to order by; returns how many. */
static size_t gather_names(const struct line_column *columns, size_t column_count,
                           const char **names, const struct line_column **of)
{
    size_t count = 0;

    for (size_t i = 0; i < column_count; i++) {
        for (int k = -1; k < 4 && count < NAMES_MAX; k++) {
            const char *name = k < 0 ? columns[i].out.name : columns[i].also[k];

            if (!name)
                break;
            of[count] = &columns[i];
            names[count++] = name;
        }
    }
    return count;
}

static int refuse_order(const char *text, const char *word, const char *const *names, size_t count,
                        struct diag *diag)
{
    const char *nearest = text_nearest(word, names, count);
    struct text_buffer all = {0};
    int rc;

    if (nearest)
        return diag_set(diag, -EINVAL, "there is no column \"%s\" to order by: did you mean %s?",
                        text, nearest);
    for (size_t i = 0; i < count; i++)
        text_buffer_print(&all, "%s%s", i ? ", " : "", names[i]);
    rc = diag_set(diag, -EINVAL, "there is no column \"%s\" to order by: there are %s", text,
                  text_buffer_text(&all));
    text_buffer_deinit(&all);
    return rc;
}

/* Bytes of a name without its unit: "call_p99" of "call_p99_ns". */
static size_t bare_length(const char *name)
{
    static const char *const units[] = {"_ns", "_bytes", "_flop", "_bytes_per_s", "_share"};
    size_t length = strlen(name), bare = length;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t unit = strlen(units[i]);

        if (length > unit && strcmp(name + length - unit, units[i]) == 0 && length - unit < bare)
            bare = length - unit;
    }
    return bare;
}

/* The one name that is a word with its unit, or else ends so: "p99" of "p99_ns" or of
 * "call_p99_ns". SIZE_MAX: none, or several. */
static size_t find_bare(const char *const *names, size_t count, const char *word)
{
    size_t length = bare_length(word), found = SIZE_MAX;
    bool is_whole = false, is_alone = true;

    for (size_t i = 0; i < count && length; i++) {
        size_t bare = bare_length(names[i]);
        bool whole = bare == length;

        if (bare < length || strncmp(names[i] + bare - length, word, length) != 0 ||
            (!whole && names[i][bare - length - 1] != '_') || (is_whole && !whole))
            continue;
        is_alone = found == SIZE_MAX || (whole && !is_whole);
        is_whole = whole;
        found = i;
    }
    return is_alone ? found : SIZE_MAX;
}

static int find_column(const struct line_column *columns, size_t column_count, const char *order_by,
                       const struct line_column **out_column, struct diag *diag)
{
    const char *names[NAMES_MAX], *rest = order_by[0] == '+' ? order_by + 1 : order_by;
    const struct line_column *of[NAMES_MAX];
    size_t count = gather_names(columns, column_count, names, of), length = strlen(rest), bare;
    char word[WORD_MAX];

    if (length >= sizeof(word))
        return refuse_order(rest, rest, names, count, diag);
    for (size_t i = 0; i <= length; i++)
        word[i] = rest[i] == '-' || rest[i] == ' ' ? '_' : (char)tolower((unsigned char)rest[i]);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], word) == 0) {
            *out_column = of[i];
            return 0;
        }
    }
    bare = find_bare(names, count, word);
    if (bare != SIZE_MAX) {
        *out_column = of[bare];
        return 0;
    }
    return refuse_order(rest, word, names, count, diag);
}

int lines_check_order(const struct line_column *columns, size_t column_count, const char *order_by,
                      struct diag *diag)
{
    const struct line_column *column;

    return find_column(columns, column_count, order_by, &column, diag);
}

const char *lines_order_name(const struct line_column *columns, size_t column_count,
                             const char *order_by)
{
    const struct line_column *column;
    struct diag diag;

    return find_column(columns, column_count, order_by, &column, &diag) == 0 ? column->out.name
                                                                             : NULL;
}

/* --- Sorting. --- */

struct sorted_line {
    struct out_value value;
    size_t place;
    bool ascending;
};

static int compare_known(const struct out_value *left, const struct out_value *right)
{
    if (out_is_text(left->kind))
        return text_compare_natural(left->text, right->text);
    if (out_is_integer(left->kind))
        return (left->integer > right->integer) - (left->integer < right->integer);
    return (left->real > right->real) - (left->real < right->real);
}

static int compare_lines(const void *a, const void *b)
{
    const struct sorted_line *left = a, *right = b;
    int order;

    if (left->value.known != right->value.known)
        return left->value.known ? -1 : 1;
    order = left->value.known ? compare_known(&left->value, &right->value) : 0;
    if (order)
        return left->ascending ? order : -order;
    return (left->place > right->place) - (left->place < right->place);
}

size_t lines_kept(size_t count, int64_t top)
{
    uint64_t dropped = 0 - (uint64_t)top;

    if (top > 0)
        return (uint64_t)top < count ? (size_t)top : count;
    if (top < 0)
        return dropped < count ? (size_t)(count - dropped) : 0;
    return count;
}

static const void *line_at(const struct lines *lines, size_t place)
{
    return (const char *)lines->items + place * lines->item_bytes;
}

int lines_sort(const struct lines *lines, size_t **out_order, size_t *out_count, struct diag *diag)
{
    const struct line_column *column;
    struct sorted_line *sorted;
    size_t *order;
    int rc = find_column(lines->columns, lines->column_count, lines->order_by, &column, diag);

    if (rc < 0)
        return rc;
    sorted = malloc((lines->count ? lines->count : 1) * sizeof(*sorted));
    order = malloc((lines->count ? lines->count : 1) * sizeof(*order));
    if (!sorted || !order) {
        free(sorted);
        free(order);
        return diag_set(diag, -ENOMEM, "no memory for the table");
    }
    for (size_t i = 0; i < lines->count; i++)
        sorted[i] = (struct sorted_line){
            .value = column->value(line_at(lines, i), lines->context),
            .place = i,
            .ascending = lines->order_by[0] == '+',
        };
    if (lines->count)
        qsort(sorted, lines->count, sizeof(*sorted), compare_lines);
    for (size_t i = 0; i < lines->count; i++)
        order[i] = sorted[i].place;
    free(sorted);
    *out_order = order;
    *out_count = lines_kept(lines->count, lines->top);
    return 0;
}

/* --- Printing. --- */

static void emit_line(struct out *out, const struct lines *lines, size_t place,
                      struct out_value *values)
{
    for (size_t i = 0; i < lines->column_count; i++)
        values[i] = lines->columns[i].value(line_at(lines, place), lines->context);
    out_row(out, values);
}

int lines_emit(struct out *out, const struct out_section *section, const struct lines *lines,
               size_t *out_shown, struct diag *diag)
{
    struct out_column *columns = calloc(lines->column_count, sizeof(*columns));
    struct out_value *values = calloc(lines->column_count, sizeof(*values));
    struct out_section ordered = *section;
    size_t *order = NULL, count = 0;
    int rc = columns && values ? lines_sort(lines, &order, &count, diag)
                               : diag_set(diag, -ENOMEM, "no memory for the table");

    if (rc == 0) {
        for (size_t i = 0; i < lines->column_count; i++)
            columns[i] = lines->columns[i].out;
        if (lines->keeps_order)
            ordered.sorted = lines_order_name(lines->columns, lines->column_count, lines->order_by);
        out_table_begin(out, &ordered, columns, lines->column_count);
        for (size_t i = 0; i < count; i++)
            emit_line(out, lines, order[i], values);
        out_table_end(out);
        if (out_shown)
            *out_shown = count;
    }
    free(order);
    free(columns);
    free(values);
    return rc;
}
