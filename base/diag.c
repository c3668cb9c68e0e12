/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a diagnosis. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void diag_fill(struct diag *diag, int64_t offset, const char *format, va_list args)
{
    char text[sizeof(diag->text)];

    if (!diag || diag->text[0])
        return;
    diag->offset = offset;
    diag->line = 0;
    vsnprintf(text, sizeof(text), format, args);
    text_show(text, strlen(text), diag->text, sizeof(diag->text));
}

int diag_set(struct diag *diag, int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    diag_fill(diag, -1, format, args);
    va_end(args);
    return error;
}

int diag_set_at(struct diag *diag, int error, int64_t offset, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    diag_fill(diag, offset, format, args);
    va_end(args);
    return error;
}
