/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Viewers want the spans of a row to nest. A lane gets as many rows as that takes: what overlaps a
 * span without lying in it goes to the next one, and what lies in a span goes where that is.
 */
#ifndef OPTRACE_ANALYZE_EXPORT_ROWS_H
#define OPTRACE_ANALYZE_EXPORT_ROWS_H

#include "analyze/query/spans.h"

/* What is beyond shares the last row. */
#define EXPORT_ROWS_MAX UINT16_MAX

struct export_rows {
    uint16_t *row;   /* beside spans: from 0 within their lane; of those that are shown */
    uint32_t *count; /* beside lanes: how many rows, 0 where nothing is shown */
};

/** Of the spans that are shown, marks left out. Returns 0 or -ENOMEM; export_rows_deinit() is right
 *  after either. */
int export_rows_init(struct export_rows *rows, const struct spans_answer *spans);
void export_rows_deinit(struct export_rows *rows);

/** The nearest span around this one that is shown, or SPAN_NONE. Outside of its file, for tests. */
uint32_t export_shown_parent(const struct spans_answer *spans, const struct span *span);

#endif
