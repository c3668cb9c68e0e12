/* SPDX-License-Identifier: Apache-2.0 */
/* What the printers of documents share, which give every value a column of its own. */
#ifndef OPTRACE_ANALYZE_OUT_CELLS_H
#define OPTRACE_ANALYZE_OUT_CELLS_H

#include "analyze/out/private.h"

/* A table that waits for its end: only then is it known which columns have anything to show. */
struct out_cells {
    struct out_cell_column {
        size_t place;   /* in out->columns */
        bool is_number; /* set to the right */
        bool is_share;  /* every value that is known is one, from 0 to 1 */
        bool is_shown;  /* not: nothing is known in any row, and it may be left out */
    } * columns;        /* those for people */
    size_t column_count;
    ARRAY_OF(char *) texts;   /* column_count for each row; with unit, one line */
    ARRAY_OF(double) numbers; /* beside texts; NaN: not known, or no number */
    size_t row_count;
};

/** After out_table_begin(), to a {0} or deinited table. Failures are kept in `out`. */
void out_cells_begin(struct out *out, struct out_cells *cells);
void out_cells_add(struct out *out, struct out_cells *cells, const struct out_value *values);
void out_cells_deinit(struct out_cells *cells);

/** A title without its unit, which stands with the value: "at (s)" is "at". */
void out_format_title(struct text_buffer *buffer, const char *title);

/** The head of a column: its title, "time" for one that is the unit alone; when it speaks
 *  for several values in one cell, the name without the unit, as a phrase. */
void out_format_head(struct text_buffer *buffer, const struct out_column *columns, size_t count,
                     size_t place);

/** The headline of a section: its title, or else its name as a phrase: "Device". */
void out_format_headline(struct text_buffer *buffer, const struct out_section *section);

/** Write what was put together, and forget it. */
void out_write_buffer(struct out *out, struct text_buffer *buffer);

#endif
