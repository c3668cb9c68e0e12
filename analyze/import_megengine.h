/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MegEngine's profile JSON, as its load_and_run --profile writes it, into the tables of a store.
 *
 * One session with one run. Each entry of "host" becomes a span on a thread lane, each of "device"
 * one on a queue or stream lane of its computing node; what they cost stands in "opr_footprint",
 * names, types, dtypes and memory plans in "graph_exec" (beside "profiler" or inside it).
 *
 * The format has seconds since two different moments: host times count from the making of the
 * profiler, device times from the first operator. Both are stored as if they were ns since 1970;
 * only durations, and the order within one side, mean something.
 */
#ifndef OPTRACE_ANALYZE_IMPORT_MEGENGINE_H
#define OPTRACE_ANALYZE_IMPORT_MEGENGINE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/diag.h"
#include "schema/store.h"

/** True when the document has what a profile of MegEngine has. */
bool import_megengine_recognises(const cJSON *root);

/**
 * Put the profile into an open store, in one transaction.
 *
 * name  where it comes from, for the session's note
 *
 * Returns 0, or a negative errno with a sentence that says where the document is not as it should
 * be ("profiler.device.12: ..."); the store is then as it was.
 */
int import_megengine(const cJSON *root, const char *name, struct store *store, struct diag *diag);

#endif
