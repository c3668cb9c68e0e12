/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters share. */
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "base/text.h"

const struct session_row *export_session(const struct export *export, int64_t session_id)
{
    const struct session_rows *sessions = export->report->sessions;

    for (size_t i = 0; i < sessions->rows.count; i++) {
        if (sessions->rows.items[i].session_id == session_id)
            return &sessions->rows.items[i];
    }
    return NULL; /* not for ids of the answer */
}

char *export_source(const char *source, int64_t *out_line)
{
    char *file = source ? strdup(source) : NULL, *colon = file ? strrchr(file, ':') : NULL, *end;

    *out_line = 0;
    if (!colon || colon[1] < '0' || colon[1] > '9')
        return file;
    *out_line = strtoll(colon + 1, &end, 10);
    if (*end == '\0')
        *colon = '\0';
    else
        *out_line = 0;
    return file;
}

void export_clean(char *text)
{
    size_t length = strlen(text), size;
    uint32_t code;

    for (size_t i = 0; i < length; i += size) {
        size = text_decode(text + i, length - i, &code);
        if (size == 0) {
            text[i] = '?';
            size = 1;
        }
    }
}

uint32_t export_span_at(const struct spans_answer *spans, uint32_t lane, int64_t time_ns)
{
    const struct span *items = spans->spans.items;
    size_t low = spans->ranges[lane].first, high = low + spans->ranges[lane].count;
    size_t first = low;
    uint32_t place;

    while (low < high) { /* the last that starts by then */
        size_t middle = low + (high - low) / 2;

        if (items[middle].start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == first)
        return SPAN_NONE;
    place = (uint32_t)(low - 1);
    while (place != SPAN_NONE && items[place].start_ns + items[place].dur_ns < time_ns)
        place = items[place].parent;
    return place;
}
