/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a piece of JSON in place: no tree, no copies. A value is a slice of the text; objects and
 * arrays are walked, one member at a time.
 *
 *     struct json_walk walk = json_walk_over(json_value(text, length));
 *
 *     while ((rc = json_walk_next(&walk, &key, &value)) == 1)
 *         if (json_is(key, "dur"))
 *             json_decimal(value, 3, &dur_ns);
 *
 * Only what is walked over is checked: the inside of a value nobody asks for need only have
 * matching brackets. One thread; nothing allocates but json_take_text().
 */
#ifndef OPTRACE_ANALYZE_JSON_TEXT_H
#define OPTRACE_ANALYZE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- Where a value ends. --- */

enum { JSON_SCAN_DEPTH_MAX = 64 };

/* {0} before a value; the text may come in parts, each beginning with the parts before it. */
struct json_scan {
    unsigned depth;
    uint64_t objects; /* a bit for each open bracket: 1 is { */
    bool in_string, is_escaped, in_word;
};

enum json_scan_error { JSON_SCAN_BRACKET = -1, JSON_SCAN_DEPTH = -2, JSON_SCAN_VALUE = -3 };

/** Goes on at text[*done]. Returns 1 when the value ends, at *done; 0 when there must be more; or
 *  an enum json_scan_error, at *done. */
int json_scan(struct json_scan *scan, const char *text, size_t length, size_t *done);

/** True for a number or a word, which may end with the text. */
bool json_scan_may_end(const struct json_scan *scan);
const char *json_scan_problem(int error);

/* --- Values. --- */

enum json_kind {
    JSON_NONE,
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* A string's slice is what stands between the quotes, escapes as they are. */
struct json_slice {
    const char *text;
    size_t length;
    enum json_kind kind;
};

struct json_walk {
    const char *at, *end;
    bool is_object, is_first;
    const char *problem; /* set when json_walk_next() failed, at `at` */
};

/** The value that is the whole text, which begins with it; JSON_NONE where it is none. */
struct json_slice json_value(const char *text, size_t length);

/** Of an object or array; of anything else the walk is empty. */
struct json_walk json_walk_over(struct json_slice value);

/** Returns 1, 0 at the end, or -EUCLEAN with walk->problem. *out_key is JSON_NONE in an array. */
int json_walk_next(struct json_walk *walk, struct json_slice *out_key,
                   struct json_slice *out_value);

/** The member of an object, JSON_NONE where there is none. */
struct json_slice json_member(struct json_slice object, const char *name);

/** True when a slice spells exactly so. */
static inline bool json_is(struct json_slice slice, const char *word)
{
    size_t length = strlen(word);

    return slice.length == length && memcmp(slice.text, word, length) == 0;
}

/** The number, or the number in a string, times ten to the power of `shift`, rounded to the nearest
 *  (half away from zero) from its decimal digits, without passing through a double. False where it
 *  is no number or does not fit. */
bool json_decimal(struct json_slice slice, int shift, int64_t *out_value);

/** A whole number. False where there are digits behind the point. */
bool json_whole(struct json_slice slice, int64_t *out_value);

/** Any number. False where it is none. */
bool json_real(struct json_slice slice, double *out_value);

/** Whether each byte of a slice stands for itself, as in nearly every text: then json_take_text()
 *  would only copy it. */
bool json_is_plain(struct json_slice slice);

/** The text of a string without escapes, or the spelling of any other value, NUL-terminated and
 *  well-formed UTF-8: bytes that are not, and \u0000, become U+FFFD. The caller frees it. NULL:
 *  no memory. */
char *json_take_text(struct json_slice slice);

#endif
