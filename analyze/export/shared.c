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
