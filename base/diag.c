/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a diagnosis. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

static void diag_fill(struct diag *diag, int64_t offset, const char *format, va_list args)
{
    if (!diag || diag->text[0])
        return;
    diag->offset = offset;
    diag->line = 0;
    vsnprintf(diag->text, sizeof(diag->text), format, args);
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
