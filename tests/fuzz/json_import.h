/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of importers of JSON have in common. */
#ifndef OPTRACE_TESTS_FUZZ_JSON_IMPORT_H
#define OPTRACE_TESTS_FUZZ_JSON_IMPORT_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/import/format.h"
#include "analyze/json/stream.h"
#include "tests/fuzz/accepted.h"
#include "tests/fuzz/kept_store.h"

/** Read the input, leniently where it ends with a line feed. What is refused must be explained, and
 *  never when it is to be read leniently. */
static inline void fuzz_json_import(const struct import_format *format, const uint8_t *data,
                                    size_t size)
{
    struct import_options options = {.lenient = size && data[size - 1] == '\n'};
    struct json_stream *stream = NULL;
    struct store *store = kept_store_begin();
    struct diag diag = {0};
    int rc;

    if (json_stream_open_memory("input", data, size, &stream, &diag) < 0)
        abort();
    rc = format->read_json(stream, "input", store, &options, &format, &diag);
    if (rc < 0 && (diag.text[0] == '\0' || (rc == -EUCLEAN && options.lenient)))
        abort();
    fuzz_accepted(rc == 0);
    json_stream_close(&stream);
    kept_store_forget(store);
}

#endif
