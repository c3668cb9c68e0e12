/* SPDX-License-Identifier: Apache-2.0 */
/* Small text helpers without state. */
#ifndef OPTRACE_BASE_TEXT_H
#define OPTRACE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text_encode.h"

/** Decode the first character of UTF-8 text of at least one byte. Returns how many bytes it takes,
 * or 0 when they are not well-formed. U+0000 is a character here. */
size_t text_decode(const char *bytes, size_t length, uint32_t *out_code);

/** True when `bytes` is well-formed UTF-8 (no surrogates, no overlong forms, no NUL byte). */
bool text_is_utf8(const char *bytes, size_t length);

/** Terminal columns of UTF-8 text: combining marks count 0, East Asian wide and emoji count 2;
 *  a byte that is not UTF-8 counts 1. */
size_t text_columns(const char *text, size_t length);

enum { TEXT_SHOWN_BYTES = 12 };

/**
 * The next character as it may be shown to a person, whoever made it: itself, or its number
 * written out where it would steer a terminal or turn the direction of writing, as \x1b and \u202e
 * do, or where it is no UTF-8.
 *
 * left       bytes of `text`, at least one
 * out_shown  what to show, with a NUL behind it
 *
 * Returns how many bytes of `text` that is.
 */
size_t text_show_next(const char *text, size_t left, char out_shown[TEXT_SHOWN_BYTES]);

/** A text of `length` bytes as it may be shown, cut between characters where there is no room for
 *  all of it and the NUL behind it. Returns how many bytes were written without that. */
size_t text_show(const char *text, size_t length, char *out_shown, size_t room);

/** True for characters that text_show() writes out: they steer a terminal or turn the direction of
 *  writing. */
bool text_is_steering(uint32_t code);

/** Write a text to a stream as it may be shown. Returns 0, or EOF as fputs() does. */
int text_put(const char *text, FILE *stream);
int text_put_some(const char *text, size_t length, FILE *stream);

/**
 * fprintf() with what stands for each %s as it may be shown; the format is taken as it is. A width
 * counts terminal columns, a precision the bytes of the text. Strings of char only, all
 * numbers, and %c, %p and %%. Programs print every text from outside with this or text_put().
 *
 * Returns 0 or EOF.
 */
int text_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** A page that was printed into memory by these, with the lines that it has, or one's own words. */
int text_put_page(const char *page, FILE *stream);

/** Columns of the terminal that a stream is, or 0 when it is none or does not say. */
size_t text_terminal_columns(FILE *stream);

/** A number in decimal with a NUL, TEXT_INT_BYTES at most: printf() is slow at millions. Returns its
 *  length without the NUL; *_uint() likewise. */
enum { TEXT_INT_BYTES = 21 };
size_t text_format_int(char *out, int64_t value);
size_t text_format_uint(char *out, uint64_t value);

/** Order of two texts with runs of digits compared as numbers: conv2 before conv10. */
int text_compare_natural(const char *a, const char *b);

/** Levenshtein distance, case-insensitive, for "did you mean". Texts are cut at 63 bytes.
 *  Outside of its file, for tests. */
size_t text_distance(const char *a, const char *b);

/** The nearest of `words` to `word`, or NULL when none is near enough to be meant. */
const char *text_nearest(const char *word, const char *const *words, size_t count);

#endif
