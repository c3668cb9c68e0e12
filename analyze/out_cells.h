/* SPDX-License-Identifier: Apache-2.0 */
/* What the printers of documents share, which give every value a column of its own. */
#ifndef OPTRACE_ANALYZE_OUT_CELLS_H
#define OPTRACE_ANALYZE_OUT_CELLS_H

#include "analyze/out_private.h"

/** A value on one line, scaled to a unit that stands with it: "5.14 ms", "3.67 MiB", "9.8%"; "N/A"
 *  when it is not known. */
void out_format_cell(struct out_buffer *buffer, const struct out_value *value);

/** The head of column `at`: its title, unless that speaks for several values in one cell; then its
 *  name without the unit, as a phrase. */
void out_format_head(struct out_buffer *buffer, const struct out_column *columns, size_t count,
                     size_t at);

/** The headline of a section: its title, or else its name as a phrase: "Device". */
void out_format_headline(struct out_buffer *buffer, const struct out_section *section);

/** Whether a column of such values is set to the right. */
bool out_is_number(enum out_kind kind);

#endif
