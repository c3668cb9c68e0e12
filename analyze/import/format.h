/* SPDX-License-Identifier: Apache-2.0 */
/* A format of another tool that can be read as a store. A new one is a file with a row as below, and
 * the row's line in analyze/source/formats.c. */
#ifndef OPTRACE_ANALYZE_IMPORT_FORMAT_H
#define OPTRACE_ANALYZE_IMPORT_FORMAT_H

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"

enum import_container {
    IMPORT_JSON,
    IMPORT_SQLITE,
    IMPORT_TEXT,
};

struct import_format {
    const char *name;  /* in output, one word */
    const char *about; /* for --help, without a full stop */
    enum import_container container;
    bool takes_samples; /* --sample means something */
    bool is_one_run;    /* it holds one run, which has no time, and nothing says what is missing */

    /* JSON. Rows are asked one after the other about each piece, until one knows its own. */
    const char *const
        *parts; /* members that are large: for json_stream_split(), NULL behind them */
    const char *const *marks; /* of those, which say it by being there, even empty; or NULL */
    bool (*detects_piece)(const struct json_item *piece);
    /* As import_chrome(). format  may be set to another row, which it turned out to be */
    int (*read_json)(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, const struct import_format **format,
                     struct diag *diag);

    /* Others. False also where the file cannot be read. */
    bool (*detects_file)(const char *path);
    int (*read_file)(const char *path, const char *name, struct store *store,
                     const struct import_options *options, struct diag *diag);
};

#endif
