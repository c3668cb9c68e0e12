/* SPDX-License-Identifier: Apache-2.0 */
/* Importing files into a store. */
#include "analyze/source/files.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/source/source.h"
#include "base/text.h"
#include "base/text_buffer.h"

/* "PATH: session 2: WHAT IT IS AND LACKS; the same events as session 1", or of a store's sessions
 * "PATH: session 2: trainer on host1". */
static void describe_row(sqlite3_stmt *row, const char *path, FILE *out)
{
    const size_t name_length = strnlen(path, IMPORT_NAME_MAX);
    const char *note = (const char *)sqlite3_column_text(row, 1);
    const char *program = (const char *)sqlite3_column_text(row, 3);
    const char *host = (const char *)sqlite3_column_text(row, 4);

    text_print(out, "%s: session %" PRId64, path, (int64_t)sqlite3_column_int64(row, 0));
    if (sqlite3_column_int(row, 5))
        text_print(out, "%s", note && strlen(note) > name_length ? note + name_length : "");
    else
        text_print(out, ": %s on %s", program ? program : "a program", host ? host : "a host");
    if (sqlite3_column_type(row, 2) != SQLITE_NULL)
        fprintf(out, "; the same events as session %" PRId64,
                (int64_t)sqlite3_column_int64(row, 2));
    fputc('\n', out);
}

/* The sessions of one file: those above `last`. */
static int describe(struct store *store, const char *path, int64_t last, FILE *out,
                    struct diag *diag)
{
    static const char sql[] =
        "SELECT s.session_id, s.note, (SELECT min(t.session_id) FROM session t"
        "  WHERE t.session_id < s.session_id AND t.end_reason = 'imported'"
        "  AND s.end_reason = 'imported' AND substr(t.uuid, 1, 8) = substr(s.uuid, 1, 8)),"
        " s.program, s.host, s.end_reason = 'imported'"
        " FROM session s WHERE s.session_id > ? ORDER BY s.session_id";
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL);
    bool is_new = false;

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 1, last);
    if (code == SQLITE_OK) {
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            describe_row(statement, path, out);
            is_new = true;
        }
    }
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        return store_fail(store, code, "read", diag);
    if (!is_new)
        text_print(out, "%s: nothing new: its sessions are there already\n", path);
    return 0;
}

static int import_all(struct store *store, const char *const *paths, size_t path_count,
                      const struct import_options *options, FILE *out, struct diag *diag)
{
    int rc = store_begin(store, diag);
    struct store_ids last;

    for (size_t i = 0; i < path_count && rc == 0; i++) {
        rc = store_last_ids(store, &last, diag);
        if (rc == 0)
            rc = source_import(paths[i], options, store, diag);
        if (rc == 0)
            rc = describe(store, paths[i], last.session_id, out, diag);
    }
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
    return rc;
}

/* Writes lines so that they fit so many columns: what does not stands indented below. */
static int put_lines(const char *said, size_t width, FILE *out, struct diag *diag)
{
    enum { INDENT = 2 };
    struct text_buffer line = {0}, flowed = {0};
    int rc = 0;

    for (; *said; said++) {
        size_t length = strcspn(said, "\n");

        line.length = 0;
        text_buffer_add(&line, said, length);
        text_buffer_flow(&flowed, text_buffer_text(&line), width, 0, INDENT);
        text_buffer_add(&flowed, "\n", 1);
        said += length;
        if (!*said)
            break;
    }
    text_put_page(text_buffer_text(&flowed), out);
    if (line.failed || flowed.failed)
        rc = diag_set(diag, -ENOMEM, "no memory to say what was imported");
    text_buffer_deinit(&line);
    text_buffer_deinit(&flowed);
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
        rc = put_lines(said, options ? options->width : 0, out, diag);
    free(said);
    return rc;
}
