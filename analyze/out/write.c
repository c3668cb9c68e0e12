/* SPDX-License-Identifier: Apache-2.0 */
/* What printers write with: text, notes, the first error. */
#include "analyze/out/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"
#include "base/text.h"

void out_fail(struct out *out, int error)
{
    if (!out->error)
        out->error = error;
}

void out_write(struct out *out, const char *text)
{
    if (!out->error && fputs(text, out->options.stream) == EOF)
        out_fail(out, errno ? -errno : -EIO);
}

/* A text, which is freed, as it may be shown; NULL without memory. */
static char *show(char *text, bool has_lines)
{
    const size_t length = text ? strlen(text) : 0;
    char *shown = text ? malloc(length * 4 + 1) : NULL; /* "\\xff" at most for a byte */
    char *to = shown;

    for (size_t at = 0, line; shown && at <= length; at += line + 1) {
        line = has_lines ? strcspn(text + at, "\n") : length;
        to += text_show(text + at, line, to, line * 4 + 1);
        if (at + line < length)
            *to++ = '\n';
    }
    free(text);
    return shown;
}

void out_note(struct out *out, enum out_note_kind kind, const char *format, ...)
{
    struct out_held_note note = {.kind = kind};
    va_list arguments;

    if (out->error)
        return;
    va_start(arguments, format);
    if (vasprintf(&note.text, format, arguments) < 0)
        note.text = NULL;
    va_end(arguments);
    /* A name must not make lines of its own: there are some where the format has them. */
    note.text = show(note.text, strchr(format, '\n') != NULL);
    if (!note.text || array_push(&out->notes, note) < 0) {
        free(note.text);
        out_fail(out, -ENOMEM);
    }
}
