/* SPDX-License-Identifier: Apache-2.0 */
/* Importing files into a store. */
#include "analyze/import_files.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/source.h"

/* "PATH: session 2: WHAT IT IS AND LACKS; the same events as session 1" */
static int describe(struct store *store, const char *path, FILE *out, struct diag *diag)
{
    static const char sql[] =
        "SELECT s.session_id, s.note, (SELECT min(t.session_id) FROM session t"
        "  WHERE t.session_id < s.session_id AND t.end_reason = 'imported'"
        "  AND substr(t.uuid, 1, 8) = substr(s.uuid, 1, 8))"
        " FROM session s ORDER BY s.session_id DESC LIMIT 1";
    size_t name_length = strnlen(path, IMPORT_NAME_MAX);
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *note = (const char *)sqlite3_column_text(statement, 1);

        fprintf(out, "%s: session %" PRId64 "%s", path, (int64_t)sqlite3_column_int64(statement, 0),
                note && strlen(note) > name_length ? note + name_length : "");
        if (sqlite3_column_type(statement, 2) != SQLITE_NULL)
            fprintf(out, "; the same events as session %" PRId64,
                    (int64_t)sqlite3_column_int64(statement, 2));
        fputc('\n', out);
    }
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? 0 : store_fail(store, code, "read", diag);
}

static int import_all(struct store *store, const char *const *paths, size_t path_count,
                      const struct import_options *options, FILE *out, struct diag *diag)
{
    int rc = store_begin(store, diag);

    for (size_t i = 0; i < path_count && rc == 0; i++) {
        rc = source_import(paths[i], options, store, diag);
        if (rc == 0)
            rc = describe(store, paths[i], out, diag);
    }
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
    return rc;
}

int import_files(const char *const *paths, size_t path_count, const char *into,
                 const struct import_options *options, FILE *out, struct diag *diag)
{
    bool is_new = access(into, F_OK) < 0 && errno == ENOENT;
    struct store *store = NULL;
    char *said = NULL;
    size_t said_bytes;
    FILE *gathered = open_memstream(&said, &said_bytes);
    int rc = gathered ? store_open(into, STORE_WRITE, &store, diag)
                      : diag_set(diag, -ENOMEM, "no memory to import");

    if (rc == 0)
        rc = import_all(store, paths, path_count, options, gathered, diag);
    if (rc < 0 && store && is_new)
        unlink(into); /* nobody else writes to it while it is open */
    store_close(&store);
    if (gathered)
        fclose(gathered);
    if (rc == 0)
        fputs(said, out);
    free(said);
    return rc;
}
