/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MegEngine's profile JSON, as its load_and_run --profile writes it and ours does too, into the
 * tables of a store.
 *
 * One session with one run. Each entry of "host" becomes a span on a thread lane, each of "device"
 * one on a queue or stream lane of its computing node; what they cost stands in "opr_footprint",
 * names, types, dtypes and memory plans in "graph_exec" (beside "profiler" or inside it).
 *
 * The format has seconds since two different moments: host times count from the making of the
 * profiler, device times from the first operator. Both are stored as if they were ns since 1970;
 * only durations, and the order within one side, mean something. Where the profile is ours it has a
 * member "optrace" that says what these moments were, and holds all runs: then times are true, and
 * the session is like one that was recorded.
 *
 * The document is read once, a piece at a time: what an operator needs stands in several places,
 * and waits in a temporary file. In memory stay some tens of bytes per operator and variable.
 */
#ifndef OPTRACE_ANALYZE_IMPORT_MEGENGINE_MEGENGINE_H
#define OPTRACE_ANALYZE_IMPORT_MEGENGINE_MEGENGINE_H

#include "analyze/import/importer.h"
#include "analyze/json/stream.h"

/**
 * Put a profile into an open store, as one session, in one transaction.
 *
 * stream        of which nothing was read yet
 * name          where it comes from, for the session's note
 * options       NULL: the defaults
 * out_is_timed  NULL, or set on success: the profile has "optrace"
 *
 * Returns 0, or a negative errno with a sentence; -EUCLEAN says where the document is not as it
 * should be, by the names of members ("profiler.device.12 ...") and by its byte. The store is then
 * as it was. With options->lenient entries that are wrong are left out, and damage ends the
 * reading; the session's note says so.
 * Outside of its file, for tests.
 */
int import_megengine(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, bool *out_is_timed, struct diag *diag);

#endif
