/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, the text that flame graphs are made from, into the tables of a store: a line per
 * stack, its frames from the root on parted by ';', a space, and a count. */
#ifndef OPTRACE_ANALYZE_IMPORT_FOLDED_H
#define OPTRACE_ANALYZE_IMPORT_FOLDED_H

#include <stdbool.h>

#include "analyze/import/importer.h"

#define FOLDED_COUNT_NS 1000

/** True when the first line that is not empty is a stack with a count. Outside of its file, for
 *  tests. */
bool import_folded_detects(const char *path);

/**
 * Put the stacks into an open store, as one session, in one transaction: one behind the other on a
 * lane, a span for each frame, options->sample_ns long for each count; frames that neighbours share
 * from the root on are one span. Where that is not known a count is FOLDED_COUNT_NS long, and the
 * session's source is STORE_SOURCE_SAMPLES: its times are counts, and shown as such.
 *
 * path     of the file
 * name     what to call it in sentences and in the session's note
 * options  NULL: the defaults
 *
 * Returns 0, or a negative errno with a sentence; -EUCLEAN names the byte. The store is then as it
 * was. With options->lenient lines that are no stacks are left out.
 * Outside of its file, for tests.
 */
int import_folded(const char *path, const char *name, struct store *store,
                  const struct import_options *options, struct diag *diag);

#endif
