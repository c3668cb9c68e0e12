/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a table whose columns are described once: the description feeds the printer, --order-by
 * and the list of columns in --help. A report makes an array of structs of its own, one for each
 * line, and a column says which value it shows of one.
 */
#ifndef OPTRACE_ANALYZE_OUT_LINES_H
#define OPTRACE_ANALYZE_OUT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/out/out.h"
#include "base/diag.h"

struct line_column {
    struct out_column out; /* out.name, "self_ns", is one of the names to order by */
    const char *also[4];   /* more names to order by, such as another tool's; NULL ends them */
    const char *about;     /* one phrase: what it is, of what a share is; its unit is in the name */
    /* line: one of lines->items; context: lines->context. Texts live as long as these. */
    struct out_value (*value)(const void *line, const void *context);
};

/* For tables of columns: one line with its unit (out.h). */
#define LINE_COMPACT(column_name, column_title)                                                    \
    {                                                                                              \
        .name = column_name, .title = column_title, .compact = true                                \
    }
#define LINE_TEXT(column_name, column_title, columns)                                              \
    {                                                                                              \
        .name = column_name, .title = column_title, .compact = true, .wrap = columns               \
    }

/* A value function of lines that are `line_type`: `value` speaks of `line` and `context`. */
#define LINE_CELL(function, line_type, cell)                                                       \
    static struct out_value function(const void *item, const void *context)                        \
    {                                                                                              \
        const line_type *line = item;                                                              \
                                                                                                   \
        (void)line;                                                                                \
        (void)context;                                                                             \
        return cell;                                                                               \
    }

struct lines {
    const struct line_column *columns;
    size_t column_count;
    const void *items; /* an array of `count` structs of `item_bytes` */
    size_t count, item_bytes;
    const void *context;

    const char *order_by; /* "COLUMN" descending, "+COLUMN" ascending */
    int64_t top;          /* lines kept; 0: all; negative: that many fewer from the end */
    bool keeps_order;     /* on a narrow terminal the column that orders them stays */
};

/** Whether `order_by` names a column. Case and the kind of dash do not matter. Returns 0, or
 *  -EINVAL with a sentence that has the nearest column, or all of them. */
int lines_check_order(const struct line_column *columns, size_t column_count, const char *order_by,
                      struct diag *diag);

/**
 * Sort, cut and print as one table. Lines without a value come last in both directions, equal ones
 * in the order they stand in.
 *
 * out_shown  number of lines printed; may be NULL
 *
 * Returns 0, -EINVAL as lines_check_order(), or -ENOMEM with a sentence.
 */
int lines_emit(struct out *out, const struct out_section *section, const struct lines *lines,
               size_t *out_shown, struct diag *diag);

/** The column that `order_by`, which was checked, means: its name in JSON. */
const char *lines_order_name(const struct line_column *columns, size_t column_count,
                             const char *order_by);

/** Places of the lines in the order they are printed in; the caller frees *out_order. */
int lines_sort(const struct lines *lines, size_t **out_order, size_t *out_count, struct diag *diag);

/** How many of `count` lines `top` keeps. */
size_t lines_kept(size_t count, int64_t top);

#endif
