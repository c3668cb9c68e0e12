/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of ONNX Runtime into the tables of a store. docs/sources.md says what becomes of each
 * field. */
#ifndef OPTRACE_ANALYZE_IMPORT_ORT_H
#define OPTRACE_ANALYZE_IMPORT_ORT_H

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"

/** Like import_chrome(), of which format these files are a dialect. */
int import_ort(struct json_stream *stream, const char *name, struct store *store,
               const struct import_options *options, struct diag *diag);

#endif
