/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store, its transactions, and closing it. */
#include "schema/store/store.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/store/private.h"

/* The log is brought into the file when it has this many pages: 16 MiB, which stay in the CPU's
 * cache. */
#define LOG_PAGES_MAX 512

static void configure_sqlite(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    /* Each cache would begin with 20 pages in one block, 660 KB, also that of an image, which uses
     * one of them. */
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
}

/* SQLite counts what it allocates, under a lock, for functions that no program here calls. Without
 * effect where SQLite is in use already. */
static void spare_statistics(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, configure_sqlite);
}

static int open_database(struct store *store, const char *name, int flags, struct diag *diag)
{
    int code;

    spare_statistics();

    sqlite3_close_v2(store->db);
    store->db = NULL;
    code = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                           NULL);
    if (!store->db)
        return diag_set(diag, -ENOMEM, "no memory to open %s", store->path);
    if (code != SQLITE_OK)
        return store_fail(store, code, "open", diag);
    sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
    return 0;
}

/* SQLite takes names that begin with "file:" as URIs, and ":memory:" as no file at all. */
static int open_file(struct store *store, int flags, struct diag *diag)
{
    char name[PATH_MAX + 2];

    snprintf(name, sizeof(name), "%s%s", store->path[0] == '/' ? "" : "./", store->path);
    return open_database(store, name, flags, diag);
}

/* A file that nobody can be writing to, because its directory or itself is not writable: SQLite
 * then needs no shared memory beside it. */
static int open_immutable(struct store *store, struct diag *diag)
{
    char name[3 * PATH_MAX + 32] = "file:";
    size_t used = strlen(name);

    used += (size_t)snprintf(name + used, 3, "%s", store->path[0] == '/' ? "" : "./");
    for (const unsigned char *at = (const unsigned char *)store->path; *at; at++)
        used += (size_t)snprintf(name + used, 4, strchr("%?#", *at) ? "%%%02X" : "%c", *at);
    snprintf(name + used, sizeof(name) - used, "?immutable=1");
    return open_database(store, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, diag);
}

static bool has_wal(const char *path)
{
    char wal_path[PATH_MAX];
    struct stat status;

    snprintf(wal_path, sizeof(wal_path), "%s-wal", path);
    return stat(wal_path, &status) == 0 && status.st_size > 0;
}

/* SQLite would checkpoint within COMMIT, and a commit that is done would return the error of a
 * checkpoint that is not. */
static int note_log_pages(void *context, sqlite3 *db, const char *schema, int page_count)
{
    struct store *store = context;

    store->log_pages = page_count;
    return SQLITE_OK;
}

static int set_up_writing(struct store *store, struct diag *diag)
{
    /* The order matters: the page size must be known before the first page is written. */
    int rc = store_exec(store,
                        "PRAGMA page_size = 32768;"
                        "PRAGMA journal_mode = WAL;"
                        "PRAGMA synchronous = NORMAL;"
                        "PRAGMA cache_size = -4096;" /* KiB: what a commit needs again */
                        /* Where it is compiled in, dropped rows are overwritten: a third more time
                         * for each, and all their pages go through the log. */
                        "PRAGMA secure_delete = OFF;"
                        "PRAGMA journal_size_limit = 33554432;",
                        "open", diag);

    sqlite3_wal_hook(store->db, note_log_pages, store);
    return rc;
}

static int open_for_writing(struct store *store, struct diag *diag)
{
    int rc = store_make_file(store->path, diag);
    int state;

    if (rc == 0)
        rc = store_check_owners(store->path, diag);
    if (rc == 0)
        rc = open_file(store, SQLITE_OPEN_READWRITE, diag);
    if (rc == 0)
        rc = store_check_schema(store, diag); /* leave no lock beside what is not a store */
    if (rc < 0)
        return rc;
    store->lock_fd = store_lock_take(store->path, diag);
    if (store->lock_fd < 0)
        return store->lock_fd;
    rc = store_check_schema(store, diag); /* again: the last writer may have migrated it */
    if (rc < 0)
        return rc;
    state = rc;
    rc = set_up_writing(store, diag);
    if (rc == 0) /* again: by now what is beside it is there */
        rc = store_check_owners(store->path, diag);
    if (rc == 0 && state == STORE_STATE_EMPTY)
        rc = store_create_schema(store, diag);
    if (rc == 0 && state == STORE_STATE_OLDER)
        rc = store_migrate(store, diag);
    return rc;
}

static int check_for_reading(struct store *store, struct diag *diag)
{
    struct diag first = {0};
    int rc = store_check_schema(store, &first);

    /* Read-only media: without a log there is nothing that a writer has yet to bring in. */
    if ((rc == -EACCES || rc == -ENOENT || rc == -EROFS || rc == -EBUSY) && !has_wal(store->path)) {
        rc = open_immutable(store, diag);
        return rc < 0 ? rc : store_check_schema(store, diag);
    }
    return rc < 0 ? diag_set(diag, rc, "%s", first.text) : rc;
}

static int migrate_for_reading(struct store *store, struct diag *diag)
{
    struct store *writer = NULL;
    struct diag why = {0};
    int rc = store_open(store->path, STORE_WRITE, &writer, &why);

    store_close(&writer);
    if (rc < 0)
        return diag_set(
            diag, rc,
            "%s has an older schema version and cannot be brought to " STORE_VERSION_TEXT ": %s%s",
            store->path, why.text,
            rc == -EBUSY ? "; end that program, or start a newer one in its place" : "");
    rc = open_file(store, SQLITE_OPEN_READONLY, diag);
    return rc < 0 ? rc : store_check_schema(store, diag);
}

static int open_for_reading(struct store *store, struct diag *diag)
{
    int rc;

    if (access(store->path, F_OK) < 0)
        return diag_set(diag, -errno, "cannot open %s: %s", store->path, strerror(errno));
    rc = open_file(store, SQLITE_OPEN_READONLY, diag);
    if (rc < 0)
        return rc;
    rc = check_for_reading(store, diag);
    if (rc == STORE_STATE_OLDER)
        rc = migrate_for_reading(store, diag);
    if (rc == STORE_STATE_EMPTY)
        return diag_set(diag, -ENOENT, "%s is empty: nothing was recorded into it yet",
                        store->path);
    if (rc < 0)
        return rc;
    /* The file may come from anywhere. */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return store_exec(store, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;", "open",
                      diag);
}

/* The empty name is a file of its own that SQLite removes by itself, and writes to only when the
 * cache is full: an import of any size keeps within it. */
static int open_in_memory(struct store *store, struct diag *diag)
{
    int rc = open_database(store, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, diag);

    if (rc < 0)
        return rc;
    rc = store_exec(store,
                    "PRAGMA page_size = 32768;"
                    "PRAGMA journal_mode = MEMORY;"
                    "PRAGMA synchronous = OFF;"
                    "PRAGMA cache_size = -65536;", /* KiB */
                    "open", diag);
    return rc < 0 ? rc : store_create_schema(store, diag);
}

int store_open(const char *path, enum store_mode mode, struct store **out_store, struct diag *diag)
{
    struct store *store = calloc(1, sizeof(*store));
    int rc;

    if (!store)
        return diag_set(diag, -ENOMEM, "no memory to open a store");
    store->mode = mode;
    store->lock_fd = -1;
    store->room.fd = -1;
    store->log_pages_max = LOG_PAGES_MAX;
    for (int i = 0; i < STORE_ROWS_COUNT; i++)
        store->rows[i].table = &store_rows_tables[i];
    store_forget_accounts(store);
    store->path = strdup(mode == STORE_MEMORY ? "the store in memory" : path);
    if (!store->path)
        rc = diag_set(diag, -ENOMEM, "no memory to open a store");
    else if (mode == STORE_MEMORY)
        rc = open_in_memory(store, diag);
    else if ((rc = store_check_path(path, diag)) == 0)
        rc = mode == STORE_WRITE ? open_for_writing(store, diag) : open_for_reading(store, diag);
    if (rc >= 0) {
        *out_store = store;
        store = NULL; /* ownership moved to the caller */
        rc = 0;
    }
    store_close(&store);
    return rc;
}

void store_close(struct store **store_slot)
{
    struct store *store = *store_slot;

    if (!store)
        return;
    *store_slot = NULL;
    for (int i = 0; i < STORE_STATEMENT_COUNT; i++)
        sqlite3_finalize(store->statements[i]);
    for (int i = 0; i < STORE_ROWS_COUNT; i++)
        store_rows_finalize(&store->rows[i]);
    for (int i = 0; i < STORE_BULK_COUNT; i++)
        bulk_deinit(&store->bulks[i]);
    if (store->db && store->mode == STORE_WRITE) {
        /* A reader that keeps the log busy leaves the rest of this to the next writer. */
        sqlite3_busy_timeout(store->db, 0);
        store_rollback(store);
        if (!store_is_in_place(store)) /* what is called so now may be another program's log */
            sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &(int){1});
        sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    }
    sqlite3_close_v2(store->db);
    if (store->room.fd >= 0)
        close(store->room.fd);
    store_lock_release(store->lock_fd); /* last: the next writer finds all of it done */
    for (int i = 0; i < STORE_ROWS_COUNT; i++)
        store_rows_deinit(&store->rows[i]);
    store_rollup_deinit(&store->rollup);
    store_total_deinit(&store->totals);
    store_tally_deinit(&store->tallies);
    free(store->path);
    free(store);
}

struct sqlite3 *store_handle(struct store *store)
{
    return store->db;
}
