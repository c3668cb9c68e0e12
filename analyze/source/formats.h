/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its content. */
#ifndef OPTRACE_ANALYZE_SOURCE_FORMATS_H
#define OPTRACE_ANALYZE_SOURCE_FORMATS_H

#include <stdio.h>

#include "analyze/import/format.h"
#include "base/diag.h"

/** For --help: lines "NAME  what it is", stores first. */
void source_print_formats(FILE *lines);

/**
 * Look into a file; of a large one only the beginning is read.
 *
 * path        a file that can be read from any place, no pipe
 * name        what to call it in sentences
 * out_format  written on success; NULL: a store
 *
 * Returns 0, or with a sentence: -ENOENT, -EACCES, -EISDIR, -EUCLEAN damaged or nothing that is
 * known here, -ENOMEM, -EIO.
 */
int source_detect(const char *path, const char *name, const struct import_format **out_format,
                  struct diag *diag);

#endif
