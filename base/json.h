/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON as a stream, to a file or into memory, with nothing kept but the open brackets.
 *
 *     struct json_writer json;
 *
 *     json_init_file(&json, stdout);
 *     json_begin_object(&json);
 *     json_key(&json, "iterations");
 *     json_int(&json, 20);
 *     json_end_object(&json);
 *     rc = json_finish(&json);
 *
 * The first error sticks: the calls behind it do nothing and json_finish() returns it. Wrong order
 * (a value without key in an object, an end without begin) is a mistake of the program and
 * asserted. A writer belongs to one thread at a time.
 */
#ifndef OPTRACE_BASE_JSON_H
#define OPTRACE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 64 }; /* brackets that may be open at once; asserted */

struct json_writer {
    FILE *out;   /* NULL: into memory */
    char *bytes; /* what was written to memory */
    size_t size;
    size_t capacity;
    int error; /* the first, negative errno */
    unsigned depth;
    unsigned indented; /* brackets up to this depth hold one item per line */
    bool has_items[JSON_DEPTH_MAX + 1];
    bool is_object[JSON_DEPTH_MAX + 1];
    bool has_key; /* a key stands before the next value */
};

/** Write to `out`, which the caller keeps open until json_finish() and closes. */
void json_init_file(struct json_writer *json, FILE *out);

/** Write into memory that grows; take it with json_take() or give it up with json_deinit(). */
void json_init_memory(struct json_writer *json);

/** One item per line, indented by two spaces, in brackets down to this depth; deeper ones stay on
 * one line. 0, all on one line, is how a writer starts. Call it before anything is written. */
void json_set_indent(struct json_writer *json, unsigned depth);

void json_begin_object(struct json_writer *json);
void json_end_object(struct json_writer *json);
void json_begin_array(struct json_writer *json);
void json_end_array(struct json_writer *json);

/** The name of the next value of an object; escaped like a string. */
void json_key(struct json_writer *json, const char *name);
void json_key_n(struct json_writer *json, const char *name, size_t length);

/** A string; NULL writes null. Characters that steer a terminal are escaped, as all others below
 * U+0020 are. Bytes that are no UTF-8 become U+FFFD each. */
void json_string(struct json_writer *json, const char *text);
void json_string_n(struct json_writer *json, const char *text, size_t length);

void json_int(struct json_writer *json, int64_t value);
void json_uint(struct json_writer *json, uint64_t value);

/** The fewest digits that read back as the same number. NaN and infinities, which JSON does not
 *  have, write null. */
void json_double(struct json_writer *json, double value);

void json_bool(struct json_writer *json, bool value);
/** A value that is JSON already. */
void json_verbatim(struct json_writer *json, const char *bytes, size_t size);
void json_null(struct json_writer *json);

/** End the text with a newline and flush the file. Returns 0, -ENOMEM, or the errno of writing. */
int json_finish(struct json_writer *json);

/** What was written into memory, with a NUL behind it; the caller frees it. Call it once, after
 *  json_finish() returned 0. out_size may be NULL. */
char *json_take(struct json_writer *json, size_t *out_size);

/** Free what was written into memory and not taken. For both kinds of writers, at any time. */
void json_deinit(struct json_writer *json);

#endif
