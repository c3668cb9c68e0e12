/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the HTML printer share. */
#ifndef OPTRACE_ANALYZE_OUT_HTML_H
#define OPTRACE_ANALYZE_OUT_HTML_H

#include "analyze/out/cells.h"

/* Lines of one table, and points or spans of one picture, that a page holds at most. */
enum { OUT_HTML_ROWS_MAX = 5000, OUT_HTML_POINTS_MAX = 50000 };

/* The page around a report, put together by scripts/make-page: up to the title, up to the body,
 * and the rest. */
extern const char html_page_start[], html_page_head[], html_page_end[];

/** Add text as it reads in an element or between double quotes. */
void html_add_escaped(struct text_buffer *buffer, const char *text);

/* The data of a picture, gathered row by row: html_chart.c. */
struct html_chart;

/** For the open table, whose section has a chart. NULL after a failure, which is kept in `out`. */
struct html_chart *html_chart_begin(struct out *out);
void html_chart_add(struct out *out, struct html_chart *chart, const struct out_value *values);
/** Writes the figure. */
void html_chart_write(struct out *out, struct html_chart *chart);
/** NULL is allowed. */
void html_chart_destroy(struct html_chart **chart);

#endif
