/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the source tree, for tests that hold them against what they describe. All functions fail
 * the test on what they cannot read. */
#ifndef OPTRACE_TESTS_SUPPORT_DOC_ROWS_H
#define OPTRACE_TESTS_SUPPORT_DOC_ROWS_H

#include <stdbool.h>
#include <stddef.h>

enum { DOC_CELLS_MAX = 8, DOC_LINE_BYTES = 512 };

struct doc_row {
    size_t count;
    char *cells[DOC_CELLS_MAX]; /* trimmed; they point into text */
    char text[DOC_LINE_BYTES];
};

/** A page, such as "schema/wire/wire.md"; the caller frees it. */
char *doc_read(const char *name);

/** Copies the next line without its newline and goes behind it. Returns false at the end. */
bool doc_next_line(const char **at, char out[DOC_LINE_BYTES]);

/** Splits "| a | b |". Returns false for a line that is not of a table. */
bool doc_read_row(const char *line, struct doc_row *row);

/** The cell's text when it is `code`, else NULL. Cuts the closing mark off. */
char *doc_code(char *cell);

#endif
