/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome traces into the tables of a store, above all those of PyTorch's Kineto, of today and of
 * 2021, and of its profiler before Kineto. docs/sources.md says what becomes of each field.
 */
#ifndef OPTRACE_ANALYZE_IMPORT_CHROME_CHROME_H
#define OPTRACE_ANALYZE_IMPORT_CHROME_CHROME_H

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"

/**
 * Put a trace into an open store, as one session, in one transaction.
 *
 * stream   of which nothing was read yet
 * name     where it comes from, for the session's note
 * options  NULL: the defaults
 *
 * Returns 0, or a negative errno with a sentence that names the byte of the damage; the store is
 * then as it was. With options->lenient damage ends the reading, and the session's note names it.
 * Outside of its file, for tests.
 */
int import_chrome(struct json_stream *stream, const char *name, struct store *store,
                  const struct import_options *options, struct diag *diag);

#endif
