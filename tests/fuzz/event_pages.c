/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input is a page of the table `event` in a store from anywhere, in place of the
 * one that a sound store has there. Where reading the page succeeds, SQLite must give the same rows
 * for the same page.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/query/private.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS = 40, PAGE_MAX = 65536, ROWS_MAX = PAGE_MAX / 2 };

static struct {
    char path[64];
    int file;
    off_t at; /* of the page in the file */
    size_t page_bytes;
    uint8_t sound[PAGE_MAX]; /* what it holds */
} kept = {.file = -1};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void remove_file(void)
{
    char beside[sizeof(kept.path) + 8];

    unlink(kept.path);
    snprintf(beside, sizeof(beside), "%s-lock", kept.path);
    unlink(beside);
}

static void put_rows(struct store *store)
{
    static const struct store_session session = {.session_id = 1,
                                                 .clock = "tsc",
                                                 .source = "live",
                                                 .end_ns = STORE_NULL,
                                                 .pid = STORE_NULL,
                                                 .uid = STORE_NULL};
    static const struct store_lane lane = {1, 1, 1, "thread", NULL, NULL, 1};
    static const struct store_op op = {.op_id = 1,
                                       .session_id = 1,
                                       .client_op = 1,
                                       .model_id = STORE_NULL,
                                       .name = "op",
                                       .type = "t",
                                       .computation_flop = STORE_NULL,
                                       .memory_bytes = STORE_NULL,
                                       .workspace_bytes = STORE_NULL};
    struct store_event rows[EVENTS];
    struct diag diag = {0};

    for (int i = 0; i < EVENTS; i++)
        rows[i] = (struct store_event){.lane_id = 1,
                                       .op_id = 1,
                                       .run = i % 3 ? i : STORE_NULL,
                                       .start_ns = INT64_C(1) << i,
                                       .dur_ns = i % 5 ? i * i : STORE_NULL,
                                       .kern_ns = STORE_NULL,
                                       .correlation = i % 2 ? i : STORE_NULL,
                                       .bytes = STORE_NULL};
    require(store_begin(store, &diag) == 0 && store_put_session(store, &session, &diag) == 0 &&
            store_put_lane(store, &lane, &diag) == 0 && store_put_op(store, &op, &diag) == 0 &&
            store_add_events(store, rows, EVENTS, &diag) == 0 && store_commit(store, &diag) == 0);
}

static int64_t ask(sqlite3 *db, const char *query)
{
    sqlite3_stmt *statement = NULL;
    int64_t answer = -1;

    if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

/* A store in a file, of which all events are on one page. */
static void make_store(void)
{
    struct store *store = NULL;
    struct diag diag = {0};
    sqlite3 *db;

    snprintf(kept.path, sizeof(kept.path), "%s/fuzz-events-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    kept.file = mkstemp(kept.path);
    require(kept.file >= 0);
    atexit(remove_file);
    require(store_open(kept.path, STORE_WRITE, &store, &diag) == 0);
    put_rows(store);
    store_close(&store);
    require(sqlite3_open(kept.path, &db) == SQLITE_OK);
    require(sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) == SQLITE_OK);
    kept.page_bytes = (size_t)ask(db, "PRAGMA page_size");
    kept.at =
        (off_t)kept.page_bytes *
        (ask(db, "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'event'") - 1);
    sqlite3_close(db);
    require(kept.page_bytes <= PAGE_MAX && kept.at > 0);
    require(pread(kept.file, kept.sound, kept.page_bytes, kept.at) == (ssize_t)kept.page_bytes);
}

struct rows {
    struct event_row items[ROWS_MAX];
    size_t count;
};

static void take_row(void *user, const struct event_row *row)
{
    struct rows *rows = user;

    require(rows->count < ROWS_MAX);
    rows->items[rows->count++] = *row;
}

static int64_t number_at(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? STORE_NULL
               : sqlite3_column_int64(statement, column);
}

/* Rows in the order of the page; what SQLite itself finds damaged is not compared. */
static void compare(sqlite3 *db, const struct rows *rows)
{
    sqlite3_stmt *statement = NULL;
    size_t count = 0;

    require(sqlite3_prepare_v2(db,
                               "SELECT lane_id, op_id, run, start_ns, dur_ns, kern_ns, "
                               "correlation, bytes FROM event NOT INDEXED",
                               -1, &statement, NULL) == SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW && count < rows->count) {
        const struct event_row *row = &rows->items[count++];
        const int64_t *values = (const int64_t *)row;

        for (int column = 0; column < EVENT_WHOLE; column++)
            require(values[column] == number_at(statement, column));
    }
    require(sqlite3_finalize(statement) != SQLITE_OK || count == rows->count);
}

static void read_page(void)
{
    static struct rows rows;
    struct row_range all = {INT64_MIN, INT64_MAX};
    const struct row_ranges ranges = {.items = &all, .count = 1};
    struct store *store = NULL;
    struct diag diag = {0};
    sqlite3 *db;

    rows.count = 0;
    if (store_open(kept.path, STORE_READ, &store, &diag) < 0) {
        require(diag.text[0] != '\0');
        return;
    }
    db = store_handle(store);
    require(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
    if (event_pages(store, &ranges, EVENT_WHOLE, take_row, &rows) && rows.count > 0) {
        fuzz_accepted(1);
        if (ask(db, "SELECT count(*) FROM pragma_quick_check WHERE quick_check <> 'ok'") == 0)
            compare(db, &rows);
    }
    rows.count = 0;
    event_pages(store, &ranges, EVENT_OF_SCAN, take_row, &rows);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    store_close(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t page[PAGE_MAX];

    if (kept.file < 0)
        make_store();
    memcpy(page, kept.sound, kept.page_bytes);
    memcpy(page, data, size < kept.page_bytes ? size : kept.page_bytes);
    require(pwrite(kept.file, page, kept.page_bytes, kept.at) == (ssize_t)kept.page_bytes);
    read_page();
    return 0;
}
