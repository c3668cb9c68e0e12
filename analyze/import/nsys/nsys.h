/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite exports of Nsight Systems into the tables of a store. docs/sources.md says what becomes of
 * each table. */
#ifndef OPTRACE_ANALYZE_IMPORT_NSYS_NSYS_H
#define OPTRACE_ANALYZE_IMPORT_NSYS_NSYS_H

#include <stdbool.h>

#include "analyze/import/importer.h"

/** True when a file of SQLite has the tables of such an export. False also when it cannot be read:
 *  whoever reads it next says why. Outside of its file, for tests. */
bool import_nsys_detects(const char *path);

/**
 * Put an export into an open store, as one session, in one transaction.
 *
 * path  the file; name is what to call it in sentences and in the session's note
 *
 * Returns 0, or a negative errno with a sentence; the store is then as it was. Tables and columns
 * that an export lacks are NULL or nothing, as the exporter leaves out what has no rows. options:
 * lenient keeps the rows before the place where SQLite finds damage.
 * Outside of its file, for tests.
 */
int import_nsys(const char *path, const char *name, struct store *store,
                const struct import_options *options, struct diag *diag);

#endif
