/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is what trtexec exports. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/import_trtexec.h"
#include "tests/fuzz/kept_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is refused must be explained, and never when it is to be read leniently. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {.lenient = size && data[size - 1] == '\n'};
    struct json_stream *stream = NULL;
    struct store *store = kept_store_begin();
    struct diag diag = {0};
    int rc;

    if (json_stream_open_memory("input", data, size, &stream, &diag) < 0)
        abort();
    rc = import_trtexec(stream, "input", store, &options, &diag);
    if (rc < 0 && (diag.text[0] == '\0' || (rc == -EUCLEAN && options.lenient)))
        abort();
    json_stream_close(&stream);
    kept_store_forget(store);
    return 0;
}
