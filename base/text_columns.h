/* SPDX-License-Identifier: Apache-2.0 */
/* Which characters take no column of a terminal and which take two. Inside base only. */
#ifndef OPTRACE_BASE_TEXT_COLUMNS_H
#define OPTRACE_BASE_TEXT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/** Inclusive range of code points; the tables are sorted and without overlap. */
struct text_range {
    uint32_t first, last;
};

/** General categories Mn, Me and Cf, without the soft hyphen. */
extern const struct text_range text_zero_width[];
extern const size_t text_zero_width_count;

/** East Asian width W and F. */
extern const struct text_range text_double_width[];
extern const size_t text_double_width_count;

#endif
