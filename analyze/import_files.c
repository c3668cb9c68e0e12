/* SPDX-License-Identifier: Apache-2.0 */
/* Importing files into a store. */
#include "analyze/import_files.h"

#include <inttypes.h>

#include "analyze/source.h"

int import_files(const char *const *paths, size_t path_count, const char *into,
                 const struct import_options *options, FILE *out, struct diag *diag)
{
    struct store *store = NULL;
    struct store_ids ids;
    int rc = store_open(into, STORE_WRITE, &store, diag);

    for (size_t i = 0; i < path_count && rc == 0; i++) {
        rc = source_import(paths[i], options, store, diag);
        if (rc == 0)
            rc = store_last_ids(store, &ids, diag);
        if (rc == 0)
            fprintf(out, "%s: session %" PRId64 "\n", paths[i], ids.session_id);
    }
    store_close(&store);
    return rc;
}
