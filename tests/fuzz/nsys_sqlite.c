/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a SQLite export of Nsight Systems. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/import/nsys/nsys.h"
#include "tests/fuzz/accepted.h"
#include "tests/fuzz/kept_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with a name: SQLite opens none that has been deleted, as one made by memfd_create() is. */
static char path[64];
static int input = -1;

/* What SQLite leaves beside an input would be a part of the next. */
static void remove_beside(void)
{
    static const char *const endings[] = {"-wal", "-shm", "-journal"};
    char beside[sizeof(path) + 10];

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        snprintf(beside, sizeof(beside), "%s%s", path, endings[i]);
        unlink(beside);
    }
}

static void remove_input(void)
{
    remove_beside();
    unlink(path);
}

static void write_input(const void *data, size_t size)
{
    if (ftruncate(input, 0) < 0 || pwrite(input, data, size, 0) != (ssize_t)size)
        abort();
}

/* That SQLite can read what is written: a target that it cannot get into would never fail. */
static void check_way_in(void)
{
    sqlite3 *db = NULL;
    sqlite3_int64 size;
    unsigned char *bytes;

    if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
        sqlite3_exec(db, "CREATE TABLE META_DATA_EXPORT(name); CREATE TABLE StringIds(id, value)",
                     NULL, NULL, NULL) != SQLITE_OK)
        abort();
    bytes = sqlite3_serialize(db, "main", &size, 0);
    if (!bytes)
        abort();
    write_input(bytes, (size_t)size);
    if (!import_nsys_detects(path))
        abort();
    sqlite3_free(bytes);
    sqlite3_close(db);
}

static void open_input(void)
{
    snprintf(path, sizeof(path), "%s/fuzz-nsys-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    input = mkstemp(path);
    if (input < 0)
        abort();
    atexit(remove_input);
    check_way_in();
}

/* What is refused must be explained. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *store;
    struct diag diag = {0};
    int rc;

    if (input < 0)
        open_input();
    store = kept_store_begin();
    write_input(data, size);
    import_nsys_detects(path);
    rc = import_nsys(path, "input", store, NULL, &diag);
    if (rc < 0 && diag.text[0] == '\0')
        abort();
    fuzz_accepted(rc == 0);
    kept_store_forget(store);
    remove_beside();
    return 0;
}
