/* SPDX-License-Identifier: Apache-2.0 */
/* A table that waits for its end, and making it fit a terminal. */
#ifndef OPTRACE_ANALYZE_OUT_TABLE_PRIVATE_H
#define OPTRACE_ANALYZE_OUT_TABLE_PRIVATE_H

#include "analyze/out/private.h"

/* One displayed column: a column with a title and those that stand below it. */
struct shown {
    size_t first, count; /* in out->columns */
    size_t title_width;  /* terminal columns, as those below */
    size_t cell_width;   /* of the widest line of a cell */
    size_t padding;      /* that the title has room for besides */
    size_t width;        /* of the column */
    bool compact, has_value, has_text;
    bool is_share; /* of a whole: large ones are marked where there is colour */
};

struct table_state {
    struct shown *shown;
    size_t shown_count;
    ARRAY_OF(char *) cells; /* of the page: shown_count for each row; NULL is empty */
    bool has_tall_cells;    /* of several lines: rules then stand between all rows */
    size_t page_count;      /* of the table, that are printed */
    char *dropped_titles;   /* what the last page left out, as the note about it says; or NULL */
    size_t section_count;   /* printed so far: a blank line stands between two */
};

/** The widest line of a cell counts from now on. */
void out_table_widen(struct shown *shown, const char *cell);

/** Shortens names to what their columns allow and, where the output has a width, leaves out columns
 *  and breaks lines until the table fits; a note says what was left out. Failures are kept. */
void out_table_fit(struct out *out);

#endif
