/* SPDX-License-Identifier: Apache-2.0 */
/* What a report reads: a store, or a file of another tool turned into one in memory. */
#ifndef OPTRACE_ANALYZE_SOURCE_SOURCE_H
#define OPTRACE_ANALYZE_SOURCE_SOURCE_H

#include "analyze/import/importer.h"
#include "analyze/source/formats.h"
#include "base/diag.h"
#include "schema/store/store.h"

/* Of options->sample_ns beside another file; only source_import() says so itself. */
#define SOURCE_NO_SAMPLES "--sample is for folded stacks, and %s is something else"

struct source {
    const struct import_format *format; /* NULL: it is a store */
    char *name;                         /* the path */
    bool is_default;                    /* the default store: nobody named it */
    struct store *store;                /* open for reading */
};

/** Whether it holds one run alone, that has no time of its own (MegEngine's profiles). */
static inline bool source_is_one_run(const struct source *source)
{
    return source->format && source->format->is_one_run;
}

/**
 * Open a source, detected by its content.
 *
 * path        NULL: the default store (store_default_path())
 * options     of an import; NULL: the defaults
 * out_source  written only on success; give it to source_close()
 *
 * Errors, each with a sentence that names the path: -ENOENT, -EACCES, -EISDIR, -EUCLEAN damaged or
 * not a profile (the sentence says what it looks like and what is supported), -EPROTO too new,
 * -EFBIG, -ENOMEM.
 */
int source_open(const char *path, const struct import_options *options, struct source *out_source,
                struct diag *diag);

/** Import a file of another tool, or all sessions of another store, into a store that is open for
 *  writing. Sessions of a store that are there already are left out. The errors are those of
 *  source_open(). */
int source_import(const char *path, const struct import_options *options, struct store *store,
                  struct diag *diag);

/** Half-built and closed ones are allowed. */
void source_close(struct source *source);

#endif
