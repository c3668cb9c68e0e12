/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis: where in an input something is wrong, and what, in one sentence for a person. */
#ifndef OPTRACE_BASE_DIAG_H
#define OPTRACE_BASE_DIAG_H

#include <stdint.h>

/**
 * Filled by libraries, printed by programs. A caller passes {0}; a callee that fails fills it once
 * with diag_set(): the first text wins, because it names the cause and later ones the consequences.
 *
 * offset  byte offset in the input, or -1 when none applies
 * line    line in the input, from 1; 0 when none applies
 * text    one sentence without a final full stop or newline; empty while nothing is wrong. Names
 *         in it are as text_show() shows them, so that it may be printed as it is
 */
struct diag {
    int64_t offset;
    uint32_t line;
    char text[500];
};

/** Set the text, unless one is set already. Sets offset to -1 and line to 0. NULL diag is allowed.
 *  Returns `error` so that a failing function can end in `return diag_set(diag, -EINVAL, ...)`. */
int diag_set(struct diag *diag, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The same with a byte offset in the input. */
int diag_set_at(struct diag *diag, int error, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
