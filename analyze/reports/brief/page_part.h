/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a first screen: text that never takes more columns than there are. */
#ifndef OPTRACE_ANALYZE_REPORTS_BRIEF_PAGE_PART_H
#define OPTRACE_ANALYZE_REPORTS_BRIEF_PAGE_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text_buffer.h"

struct brief_page {
    struct text_buffer *out;
    struct text_buffer line; /* the one that is being made */
    size_t width;
    bool ascii;
};

/** Appends to the line; texts from outside are made fit to be shown. */
void brief_put(struct brief_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Ends the line: without blanks behind, cut where it is too long. */
void brief_end(struct brief_page *page);

/** Columns of the line so far. */
size_t brief_columns(const struct brief_page *page);

/** Blanks up to a column. */
void brief_pad(struct brief_page *page, size_t column);

/** Appends words, on further lines that begin at `indent` where they do not fit; ends the line. */
void brief_wrap(struct brief_page *page, size_t indent, const char *text);

/** `text` cut to so many columns, keeping its head and its tail in these parts; what is left out
 *  becomes "...". The caller frees it; NULL without memory. */
char *brief_cut(const char *text, size_t columns, size_t tail_columns);

/** A text as it may be shown, for free(). */
char *brief_shown(const char *text);

/** At most BRIEF_ROWS_MAX names as they fit into so many columns, as they may be shown: different
 *  ones stay different. NULL: without a name. The caller frees each; returns 0 or -ENOMEM, then
 *  there is none. */
int brief_fit_names(const char *const *names, size_t count, size_t columns, char **out_shown);

/* --- Numbers. --- */

struct brief_unit {
    const char *name;
    double factor; /* values are divided by it */
};

/** The unit in which `most` has one to three digits in front of the point. */
struct brief_unit brief_time_unit(double most_ns, bool ascii);
struct brief_unit brief_rate_unit(double most_flop_per_s);

/** Three figures: "63.9", "2.58", "0.15", "1240"; "<0.01" where nothing else is left. Returns
 *  text; 32 bytes are enough. */
const char *brief_number(char *text, size_t bytes, double value);

/** "64.5 ms", "102 MiB", "12,004". */
const char *brief_time(char *text, size_t bytes, double ns, bool ascii);
const char *brief_size(char *text, size_t bytes, double size_bytes);
const char *brief_count(char *text, size_t bytes, double count);

/** "512x28x28" of [[1,512,28,28],...], the first of the shapes; a batch of one is not worth its
 *  room. Returns whether there is any. */
bool brief_shape(const char *json, char *shape, size_t bytes);

/** Eight heights for values from `low` to `high`. */
const char *brief_bar(double value, double low, double high, bool ascii);

/* --- Tables of a head line and columns. --- */

enum { BRIEF_COLUMNS_MAX = 10, BRIEF_ROWS_MAX = 12, BRIEF_CELL_BYTES = 64 };

struct brief_column {
    char head[BRIEF_CELL_BYTES];
    bool is_left;
    int priority; /* the highest go first where there is no room; 0: never */
    bool is_gone;
    char cells[BRIEF_ROWS_MAX][BRIEF_CELL_BYTES];
};

/* The first column holds names, of any length. */
struct brief_table {
    const char *title; /* its head */
    const char *names[BRIEF_ROWS_MAX];
    size_t row_count, column_count, fixed_count; /* the last `fixed_count` names are ours: whole */
    struct brief_column columns[BRIEF_COLUMNS_MAX];
};

/** A new column behind the others. */
struct brief_column *brief_add_column(struct brief_table *table, const char *head, int priority);

/** Returns 0 or -ENOMEM. */
int brief_print_table(struct brief_page *page, struct brief_table *table);

#endif
