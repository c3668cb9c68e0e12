/* SPDX-License-Identifier: Apache-2.0 */
/* Watching what SQLite reads. */
#include "analyze/query/table_pages.h"

#include <sqlite3.h>

/* What one reading needs while SQLite works; SQLite's methods have no place for it. */
struct tap {
    table_page_fn *take;
    void *user;
    int page_bytes;
    bool failed; /* met something that a page of the table does not have */
};
static _Thread_local struct tap *open_tap;

/* A file of SQLite whose reads are watched. */
struct watched {
    sqlite3_file *file;
    const sqlite3_io_methods *methods; /* its own */
    sqlite3_io_methods watching;       /* the same, but for reading */
};
enum { MAIN_FILE, LOG_FILE, FILES };
static _Thread_local struct watched watched[FILES];

static int watch_read(int which, sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    int code = watched[which].methods->xRead(file, bytes, size, offset);

    if (code == SQLITE_OK && open_tap && size == open_tap->page_bytes && !open_tap->failed)
        open_tap->failed = !open_tap->take(open_tap->user, bytes, size);
    return code;
}

static int read_main_file(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    return watch_read(MAIN_FILE, file, bytes, size, offset);
}

static int read_log_file(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    return watch_read(LOG_FILE, file, bytes, size, offset);
}

static void watch(sqlite3 *db, int which)
{
    static const int operations[] = {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER};
    struct watched *entry = &watched[which];

    entry->file = NULL;
    if (sqlite3_file_control(db, "main", operations[which], &entry->file) != SQLITE_OK ||
        !entry->file || !entry->file->pMethods) {
        entry->file = NULL;
        return;
    }
    entry->methods = entry->file->pMethods;
    entry->watching = *entry->methods;
    entry->watching.xRead = which == MAIN_FILE ? read_main_file : read_log_file;
    if (entry->watching.iVersion > 2)
        entry->watching.iVersion = 2; /* no pages by mmap past xRead */
    entry->file->pMethods = &entry->watching;
}

static void unwatch(void)
{
    for (int i = 0; i < FILES; i++) {
        if (watched[i].file)
            watched[i].file->pMethods = watched[i].methods;
        watched[i].file = NULL;
    }
}

static bool find_page_size(sqlite3 *db, int *out_bytes)
{
    sqlite3_stmt *statement = NULL;
    bool found = sqlite3_prepare_v2(db, "PRAGMA page_size", -1, &statement, NULL) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_ROW;

    *out_bytes = found ? sqlite3_column_int(statement, 0) : 0;
    sqlite3_finalize(statement);
    return found;
}

bool table_pages(struct store *store, const char *count_sql, table_page_fn *take, void *user,
                 uint64_t *out_count)
{
    struct tap tap = {.take = take, .user = user};
    sqlite3 *db = store_handle(store);
    sqlite3_stmt *statement = NULL;
    bool is_counted = false;

    if (sqlite3_get_autocommit(db) || !find_page_size(db, &tap.page_bytes) ||
        sqlite3_prepare_v2(db, count_sql, -1, &statement, NULL) != SQLITE_OK)
        goto out;
    sqlite3_db_release_memory(db); /* cached pages would not be read */
    open_tap = &tap;
    watch(db, MAIN_FILE);
    watch(db, LOG_FILE);
    is_counted = sqlite3_step(statement) == SQLITE_ROW;
    if (is_counted)
        *out_count = (uint64_t)sqlite3_column_int64(statement, 0);
    unwatch();
    open_tap = NULL;
out:
    sqlite3_finalize(statement);
    return is_counted && !tap.failed;
}
