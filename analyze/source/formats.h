/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its content. */
#ifndef OPTRACE_ANALYZE_SOURCE_FORMATS_H
#define OPTRACE_ANALYZE_SOURCE_FORMATS_H

#include <stdio.h>

#include "base/diag.h"

enum source_kind {
    SOURCE_STORE,
    SOURCE_MEGENGINE, /* a JSON document that has or should have what MegEngine's profiles have */
    SOURCE_LOAD_AND_RUN, /* one of those that says when all was; known when it was read */
    SOURCE_CHROME,
    SOURCE_ORT,
    SOURCE_PYTORCH_EVENTS,
    SOURCE_NSYS,
    SOURCE_FOLDED,
    SOURCE_TRTEXEC,
    SOURCE_KINDS
};

/* What each kind is called in output, and what it is. */
struct source_name {
    const char *name, *about;
};
extern const struct source_name source_names[SOURCE_KINDS];

/** For --help: lines "NAME  what it is". */
void source_print_kinds(FILE *lines);

/**
 * Look into a file; of a large one only the beginning is read.
 *
 * path  a file that can be read from any place, no pipe
 * name  what to call it in sentences
 *
 * Returns an enum source_kind, or with a sentence: -ENOENT, -EACCES, -EISDIR, -EUCLEAN damaged or
 * nothing that is known here, -ENOMEM, -EIO.
 */
int recognise(const char *path, const char *name, struct diag *diag);

#endif
