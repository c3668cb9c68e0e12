/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of JSON share: values as the store writes them, going through a stream, notes. */
#ifndef OPTRACE_ANALYZE_IMPORT_VALUES_H
#define OPTRACE_ANALYZE_IMPORT_VALUES_H

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"
#include "analyze/json/text.h"
#include "base/json.h"

/** Lists of whole numbers, in any nesting; anything else becomes null. */
void import_write_shapes(struct json_writer *json, struct json_slice value);

/** A list of texts. */
void import_write_texts(struct json_writer *json, struct json_slice value);

/** An element type in the short spelling; an empty text as null. */
void import_write_dtype(struct json_writer *json, struct json_slice value);

/** A text, or the spelling of another value. */
void import_write_text(struct json_writer *json, struct json_slice value);

/** A key, unescaped. */
void import_write_key(struct json_writer *json, struct json_slice key);

/** Any value; what is nested deeper than 16 brackets becomes null, as do NaN and infinities. */
void import_write_value(struct json_writer *json, struct json_slice value);

/** A number that is not negative, rounded; anything else is STORE_NULL. */
int64_t import_count(struct json_slice value);

/** What was written into memory without the newline, or NULL; the writer is done with. The caller
 *  frees it. */
char *import_take(struct json_writer *json);

/** The list as JSON text, or NULL where the value is no list. The caller frees it. */
char *import_shapes_text(struct json_slice value);
char *import_dtypes_text(struct json_slice value);

/** "dir/file.py(54): function" as "dir/file.py:54", in place. */
void import_place_of_frame(char *frame);

struct import_loop {
    struct json_stream *stream;
    const struct import_options *options; /* NULL: the defaults */
    /** Returns 0, or a negative errno with a sentence: -EUCLEAN is damage. */
    int (*add)(void *context, const struct json_item *item, struct diag *diag);
    void *context;
    /* results */
    char damage[500];      /* the sentence about the first damage that was survived, or "" */
    uint64_t damage_count; /* how often there was some */
    bool is_cut;           /* the last of it ended the reading */
};

/** Hands all pieces to loop->add(). Damage is survived where the options are lenient: a piece of
 * which loop->add() says so is left out, and where the next one cannot be found any more all ends.
 */
int import_each(struct import_loop *loop, struct diag *diag);

/** Appends "; COUNT WHAT" to a note, where the count is not 0. */
void import_note_count(char *note, size_t note_bytes, uint64_t count, const char *what);

/** Appends that the file was damaged or never closed, where it was. */
void import_note_end(char *note, size_t note_bytes, const struct import_loop *loop);

#endif
