/* SPDX-License-Identifier: Apache-2.0 */
/* profile_analyze --import: files of other tools, and stores, become sessions of a store that
 * stays.
 */
#ifndef OPTRACE_ANALYZE_SOURCE_FILES_H
#define OPTRACE_ANALYZE_SOURCE_FILES_H

#include <stddef.h>
#include <stdio.h>

#include "analyze/import/importer.h"

/**
 * Import files into a store, which is made when missing, and say on `out` for each which session it
 * became, what was left out of it, and whether the store had the same events already.
 *
 * All files are one transaction: when one fails, with -EBUSY where a daemon keeps the store, the
 * store is as it was, and nothing is said on `out`.
 */
int import_files(const char *const *paths, size_t path_count, const char *into,
                 const struct import_options *options, FILE *out, struct diag *diag);

#endif
