/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events from the pages that SQLite reads. `SELECT count(*)` makes SQLite fetch each leaf page of
 * the table once, in order, out of the file or its log as the snapshot demands; the rows are
 * decoded here as the pages come by, for a fifth of what a virtual machine per row costs
 * (docs/decisions/0007). The format of a leaf is documented by SQLite and will not change within
 * version 3. The count that SQLite returns must be the number of rows seen; where it is not,
 * nothing was read, as far as the caller is concerned.
 */
#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"

enum {
    LEAF_OF_TABLE = 0x0d,
    LEAF_HEADER_BYTES = 8,
    PAYS_FROM = 6, /* reading all pages pays from about this part of the rows on */
};

/* What one reading needs while SQLite works; SQLite's methods have no place for it. */
struct tap {
    event_row_fn *take;
    void *user;
    enum event_columns columns;
    const struct row_range *ranges;
    size_t range_count;
    size_t range; /* the first that does not end before the row at hand */
    int page_bytes;
    uint64_t row_count; /* seen, inside of the ranges or not */
    bool failed;        /* met something that a leaf of `event` does not have */
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

/* --- Decoding. --- */

/* Up to nine bytes, the most significant first, seven bits each. Returns NULL at the end of the
 * page. */
static inline const uint8_t *read_varint(const uint8_t *at, const uint8_t *end, uint64_t *out_value)
{
    uint64_t value = 0;

    if (at < end && !(*at & 0x80)) {
        *out_value = *at;
        return at + 1;
    }
    for (int i = 0; i < 9 && at < end; i++) {
        if (i == 8) {
            *out_value = value << 8 | *at;
            return at + 1;
        }
        value = value << 7 | (*at & 0x7f);
        if (!(*at++ & 0x80)) {
            *out_value = value;
            return at;
        }
    }
    return NULL;
}

/* Bytes of a column by its serial type, for the types that numbers and NULL have. */
static const uint8_t value_bytes[10] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

/* `page_end` is the end of the page: mostly eight bytes can be loaded at once. */
static inline int64_t read_number(const uint8_t *at, unsigned type, const uint8_t *page_end)
{
    unsigned bytes = value_bytes[type];
    uint64_t word;
    int64_t value;

    if (type == 0)
        return STORE_NULL;
    if (type >= 8)
        return type == 9;
    if (page_end - at >= 8) {
        memcpy(&word, at, sizeof(word));
        return (int64_t)be64toh(word) >> (64 - 8 * bytes);
    }
    value = (int8_t)at[0];
    for (unsigned i = 1; i < bytes; i++)
        value = (int64_t)((uint64_t)value << 8 | at[i]);
    return value;
}

/* One record: its header holds a type for each column, the values follow. */
static inline bool read_record(const uint8_t *record, const uint8_t *end, const uint8_t *page_end,
                               unsigned columns, int64_t *values)
{
    unsigned header_bytes = record[0]; /* below 128: `event` has 8 columns */
    const uint8_t *at = record + header_bytes;

    if (header_bytes < 1 || header_bytes >= 0x80 || at > end)
        return false;
    for (unsigned i = 0; i < columns; i++) {
        unsigned type = i + 1 < header_bytes ? record[i + 1] : 0;

        if (type > 9 || type == 7 || end - at < value_bytes[type])
            return false;
        values[i] = read_number(at, type, page_end);
        at += value_bytes[type];
    }
    return true;
}

static_assert(offsetof(struct event_row, rowid) == EVENT_WHOLE * sizeof(int64_t),
              "one number per column");

static bool is_asked_for(struct tap *tap, int64_t rowid)
{
    while (tap->range < tap->range_count && tap->ranges[tap->range].last < rowid)
        tap->range++;
    return tap->range < tap->range_count && tap->ranges[tap->range].first <= rowid;
}

/* A cell: bytes of the record, rowid, record. */
static inline bool read_cell(struct tap *tap, const uint8_t *cell, const uint8_t *end,
                             unsigned columns)
{
    uint64_t record_bytes, rowid;
    union {
        int64_t values[EVENT_WHOLE];
        struct event_row row; /* the same numbers, by name */
    } read;

    cell = read_varint(cell, end, &record_bytes);
    if (cell)
        cell = read_varint(cell, end, &rowid);
    if (!cell || record_bytes < 1 || record_bytes > (uint64_t)(end - cell))
        return false;
    if (!is_asked_for(tap, (int64_t)rowid))
        return true;
    if (columns < EVENT_WHOLE)
        read.row.correlation = read.row.bytes = STORE_NULL;
    if (!read_record(cell, cell + record_bytes, end, columns, read.values))
        return false;
    read.row.rowid = (int64_t)rowid;
    tap->take(tap->user, &read.row);
    return true;
}

/* `columns` is a constant in each call. */
static inline void read_cells(struct tap *tap, const uint8_t *page, unsigned columns)
{
    const uint8_t *end = page + tap->page_bytes, *pointer = page + LEAF_HEADER_BYTES;
    unsigned count = (unsigned)page[3] << 8 | page[4];

    if (end - pointer < (ptrdiff_t)count * 2) {
        tap->failed = true;
        return;
    }
    for (unsigned i = 0; i < count && !tap->failed; i++, pointer += 2) {
        unsigned offset = (unsigned)pointer[0] << 8 | pointer[1];

        if (offset >= (unsigned)tap->page_bytes || !read_cell(tap, page + offset, end, columns))
            tap->failed = true;
    }
    tap->row_count += count;
}

static void read_page(struct tap *tap, const uint8_t *page)
{
    if (page[0] != LEAF_OF_TABLE)
        return;
    if (tap->columns == EVENT_OF_SCAN)
        read_cells(tap, page, EVENT_OF_SCAN);
    else
        read_cells(tap, page, EVENT_WHOLE);
}

/* --- Watching. --- */

static int watch_read(int which, sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
    int code = watched[which].methods->xRead(file, bytes, size, offset);

    if (code == SQLITE_OK && open_tap && size == open_tap->page_bytes && !open_tap->failed)
        read_page(open_tap, bytes);
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

/* Of the table, holes included; the first rows may be gone since long. 0 for an empty one. */
static int64_t count_rowids(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    int64_t count = 0;

    if (sqlite3_prepare_v2(db,
                           "SELECT (SELECT max(rowid) FROM event) - (SELECT min(rowid) FROM event)"
                           " + 1",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

bool event_pages_pay(struct store *store, const struct row_ranges *ranges)
{
    int64_t rows = 0;

    for (size_t i = 0; i < ranges->count; i++)
        rows += ranges->items[i].last - ranges->items[i].first + 1;
    return rows > 0 && rows > count_rowids(store_handle(store)) / PAYS_FROM;
}

bool event_pages(struct store *store, const struct row_ranges *ranges, enum event_columns columns,
                 event_row_fn *take, void *user)
{
    struct tap tap = {
        .take = take,
        .user = user,
        .columns = columns,
        .ranges = ranges->items,
        .range_count = ranges->count,
    };
    sqlite3 *db = store_handle(store);
    sqlite3_stmt *statement = NULL;
    bool complete = false;

    /* The caller's transaction keeps the schema, so that nothing but `event` is read below. */
    if (sqlite3_get_autocommit(db) || !find_page_size(db, &tap.page_bytes) ||
        sqlite3_prepare_v2(db, "SELECT count(*) FROM event NOT INDEXED", -1, &statement, NULL) !=
            SQLITE_OK)
        goto out;
    sqlite3_db_release_memory(db); /* cached pages would not be read */
    open_tap = &tap;
    watch(db, MAIN_FILE);
    watch(db, LOG_FILE);
    if (sqlite3_step(statement) == SQLITE_ROW && !tap.failed)
        complete = (uint64_t)sqlite3_column_int64(statement, 0) == tap.row_count;
    unwatch();
    open_tap = NULL;
out:
    sqlite3_finalize(statement);
    return complete;
}
