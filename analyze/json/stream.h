/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large JSON document, one piece at a time: each member of the top-level object, and each element
 * of an array that stands there or is the document itself; of a part named to json_stream_split()
 * also each of its members or elements. Only one piece is in memory at once, whatever the size of
 * the file.
 *
 *     json_stream_open(path, path, NULL, &stream, diag);
 *     while ((rc = json_stream_next(stream, &item, diag)) == 1)
 *         use(item.text, item.length);        (see analyze/json/text.h)
 *     json_stream_close(&stream);
 *
 * The file may be compressed by gzip, and may be a pipe. A piece is checked for brackets and
 * strings that match; what is in it is for its reader to check. An array or object that was never
 * closed, because the writer was killed, ends where the file does; a comma too many is allowed.
 * One thread; blocks as read() does.
 */
#ifndef OPTRACE_ANALYZE_JSON_STREAM_H
#define OPTRACE_ANALYZE_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* The largest piece that is accepted. */
#define JSON_STREAM_ITEM_BYTES_MAX ((size_t)64 << 20)

struct json_stream;

struct json_item {
    const char *path; /* keys that lead to what the piece is in, parted by dots; "": the document */
    const char *key;  /* of the member, as it is spelled in the file; NULL in a bare array;
                         of an element that of its array */
    bool is_element;  /* of an array; else the member's whole value */
    const char *text; /* not NUL-terminated; valid until the next call */
    size_t length;
    uint64_t offset; /* of the text in the document (unpacked) */
};

/** Told how far reading has come, in bytes of the file, now and then. total 0: not known. */
struct json_stream_watch {
    void (*read)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *context;
};

/**
 * Open a document.
 *
 * name        what to call it in sentences
 * watch       NULL: nobody wants to know; else borrowed until json_stream_close()
 * out_stream  written only on success; give it to json_stream_close()
 *
 * Returns 0, or with a sentence that names the path: -ENOENT, -EACCES, -EISDIR, -EIO, -ENOMEM.
 */
int json_stream_open(const char *path, const char *name, const struct json_stream_watch *watch,
                     struct json_stream **out_stream, struct diag *diag);

/** The same from memory, which is borrowed until json_stream_close(). `name` is for sentences.
 *  For tests. */
int json_stream_open_memory(const char *name, const void *bytes, size_t size,
                            struct json_stream **out_stream, struct diag *diag);

/**
 * Name the parts of the document that are too large to be one piece: "profiler.device" is the
 * object that the object "profiler", which must be named, too, has as its member "device";
 * "graph.order[]" is an array. At most five keys deep. `parts` ends with NULL and is borrowed until
 * json_stream_close(). Before the first json_stream_next().
 */
void json_stream_split(struct json_stream *stream, const char *const *parts);

/** Whether one of the first 64 parts was met so far, be it empty. */
bool json_stream_has_part(const struct json_stream *stream, const char *part);

/** NULL inside is allowed. */
void json_stream_close(struct json_stream **stream);

/**
 * The next piece.
 *
 * Returns 1, 0 at the end, or with a sentence that names the path and, in diag->offset too, the
 * byte of the unpacked document: -EUCLEAN malformed or cut off, -EFBIG a piece over the limit,
 * -EIO, -ENOMEM. What was handed out before stays right; calling again returns the same error.
 */
int json_stream_next(struct json_stream *stream, struct json_item *out_item, struct diag *diag);

/**
 * After json_stream_next() failed in an array each element of which begins a line: look for the
 * next line that begins like them. What is between is lost.
 *
 * Returns 1 when json_stream_next() goes on there; 0 where there is none, or it makes no sense to
 * look for one; or an error of reading, with a sentence.
 */
int json_stream_resume(struct json_stream *stream, struct diag *diag);

/** After the end: the document was not closed. */
bool json_stream_is_unclosed(const struct json_stream *stream);

/** Bytes of the document that were read. */
uint64_t json_stream_offset(const struct json_stream *stream);

/** Fail with "PATH: TEXT at byte OFFSET", for readers of pieces. Returns -EUCLEAN. */
int json_stream_damage(const struct json_stream *stream, uint64_t offset, const char *text,
                       struct diag *diag);

/** The same where the JSON is right, but what it says is not: "PATH: TEXT, at byte OFFSET". */
int json_stream_fault(const struct json_stream *stream, uint64_t offset, const char *text,
                      struct diag *diag);

#endif
