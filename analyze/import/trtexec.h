/* SPDX-License-Identifier: Apache-2.0 */
/* What TensorRT's trtexec exports, --exportTimes and --exportProfile, into the tables of a store.
 * docs/sources.md says what becomes of each field. */
#ifndef OPTRACE_ANALYZE_IMPORT_TRTEXEC_H
#define OPTRACE_ANALYZE_IMPORT_TRTEXEC_H

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"

/** Like import_chrome(). */
int import_trtexec(struct json_stream *stream, const char *name, struct store *store,
                   const struct import_options *options, struct diag *diag);

#endif
