/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a whole text, or a part of it, is what a pattern says, in the syntax of RE2
 * (github.com/google/re2/wiki/Syntax), which RegexFullMatch names. A pattern becomes a program whose states
 * are followed side by side, so that no text takes longer than its length times the length of the program.
 *
 * Understood: characters, ".", classes with ranges, escapes and POSIX names, groups of each kind, "|", all
 * repetitions, the flags i, m, s and U, \A \z ^ $ \b \B, \d \s \w, \Q..\E, octal and hexadecimal
 * characters. Not: \p and \P (categories of Unicode), \C. \d, \s, \w, \b and POSIX names are of ASCII. With
 * the flag i letters are compared in lower and upper case, by glibc's C.UTF-8 where there is one. A byte
 * that is not UTF-8 is nothing that a pattern can say.
 */
#ifndef OPTRACE_RUNTIME_OPS_REGEX_H
#define OPTRACE_RUNTIME_OPS_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

enum { REGEX_STEPS_MAX = 1 << 16, REGEX_REPEAT_MAX = 1000, REGEX_DEPTH_MAX = 200 };

/** A compiled pattern: one block of memory, which may be copied as it is. */
struct regex;

/** Returns 0 with *out_regex for the caller to free(); -EINVAL for no such pattern, -ENOTSUP for what is not
 *  understood, -E2BIG beyond REGEX_STEPS_MAX, -ENOMEM. */
int regex_compile(const char *pattern, size_t length, struct regex **out_regex, struct diag *diag);

size_t regex_bytes(const struct regex *regex);

/** Bytes that regex_matches() and regex_find() need beside it, aligned for uint32_t. */
size_t regex_room(const struct regex *regex);

bool regex_matches(const struct regex *regex, const char *text, size_t length, void *room);

/** The first part of text[from..length) that is what the pattern says, and of those that begin there the
 *  longest; what stands before it counts for ^ and \b. False: there is none, or the text has 4 GiB. */
bool regex_find(const struct regex *regex, const char *text, size_t length, size_t from, void *room,
                size_t *out_begin, size_t *out_end);

#endif
