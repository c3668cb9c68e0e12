/* SPDX-License-Identifier: Apache-2.0 */
/* Small text helpers without state. */
#ifndef OPTRACE_BASE_TEXT_H
#define OPTRACE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Decode the first character of UTF-8 text of at least one byte. Returns how many bytes it takes,
 * or 0 when they are not well-formed. U+0000 is a character here. */
size_t text_decode(const char *bytes, size_t length, uint32_t *out_code);

/** True when `bytes` is well-formed UTF-8 (no surrogates, no overlong forms, no NUL byte). */
bool text_is_utf8(const char *bytes, size_t length);

/** Terminal columns of UTF-8 text: combining marks count 0, East Asian wide and emoji count 2;
 *  a byte that is not UTF-8 counts 1. */
size_t text_columns(const char *text, size_t length);

/** Columns of the terminal that a stream is, or 0 when it is none or does not say. */
size_t text_terminal_columns(FILE *stream);

/** Levenshtein distance, case-insensitive, for "did you mean". Texts are cut at 63 bytes. */
size_t text_distance(const char *a, const char *b);

/** The nearest of `words` to `word`, or NULL when none is near enough to be meant. */
const char *text_nearest(const char *word, const char *const *words, size_t count);

#endif
