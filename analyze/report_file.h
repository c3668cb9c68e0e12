/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a report goes. It is held back until its end, so that nothing appears when there turns out
 * to be no answer: in memory, and from 16 MiB on in a temporary file without a name, unless none can
 * be made. Only the rows of a query, which may be many, go straight on. One thread.
 *
 *     report_file_open(&file, path, true, &diag);
 *     ... file.stream ...
 *     rc = report_file_close(&file, keep, &diag);
 */
#ifndef OPTRACE_ANALYZE_REPORT_FILE_H
#define OPTRACE_ANALYZE_REPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyze/export/file.h"
#include "base/array.h"
#include "base/diag.h"

struct report_file {
    FILE *stream;      /* to write to; it must be flushed to know whether all was held */
    size_t held_bytes; /* input: in memory at most; 0: 16 MiB */

    const char *path; /* NULL: standard output */
    bool holds;
    struct export_file file; /* open from the start unless it holds */
    ARRAY_OF(char) text;     /* what is held, or nothing of it */
    FILE *spilled;           /* all of it, or NULL */
};

/** file  {0}, but for its input. holds: nothing is made before report_file_close(). path is borrowed
 *  until then. Returns 0, -ENOMEM, or as export_file_open(); then nothing is to be closed. */
int report_file_open(struct report_file *file, const char *path, bool holds, struct diag *diag);

/** Writes what was held when `keep` is set; without it the file is not even made. Returns 0, or what
 *  went wrong with a sentence. {0} has nothing to close. */
int report_file_close(struct report_file *file, bool keep, struct diag *diag);

#endif
