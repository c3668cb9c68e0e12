/* SPDX-License-Identifier: Apache-2.0 */
/* A dump of PyTorch's function events, prof.events() with one object per event, into the tables of
 * a store. docs/sources.md says which keys are read. */
#ifndef OPTRACE_ANALYZE_IMPORT_PYTORCH_EVENTS_H
#define OPTRACE_ANALYZE_IMPORT_PYTORCH_EVENTS_H

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"

/** Like import_chrome(). */
int import_pytorch_events(struct json_stream *stream, const char *name, struct store *store,
                          const struct import_options *options, struct diag *diag);

#endif
