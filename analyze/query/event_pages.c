/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events from the pages that SQLite reads. The rows are decoded as the pages come by, for a fifth of
 * what a virtual machine per row costs (docs/decisions/0007). The count that SQLite returns must be
 * the number of rows seen; where it is not, nothing was read, as far as the caller is concerned.
 */
#include <assert.h>
#include <stddef.h>

#include "analyze/query/private.h"
#include "analyze/query/table_pages.h"

enum {
    LEAF_OF_TABLE = 0x0d,
    LEAF_HEADER_BYTES = 8,
    PAYS_FROM = 6, /* reading all pages pays from about this part of the rows on */
};

/* What one reading needs while SQLite works. */
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

/* --- Decoding. --- */

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

    cell = page_varint(cell, end, &record_bytes);
    if (cell)
        cell = page_varint(cell, end, &rowid);
    if (!cell || record_bytes < 1 || record_bytes > (uint64_t)(end - cell))
        return false;
    if (!is_asked_for(tap, (int64_t)rowid))
        return true;
    if (columns < EVENT_WHOLE)
        read.row.correlation = read.row.bytes = STORE_NULL;
    if (!page_record(cell, cell + record_bytes, end, columns, read.values))
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

static bool read_page(void *user, const uint8_t *page, int page_bytes)
{
    struct tap *tap = user;

    tap->page_bytes = page_bytes;
    if (page[0] != LEAF_OF_TABLE)
        return true;
    if (tap->columns == EVENT_OF_SCAN)
        read_cells(tap, page, EVENT_OF_SCAN);
    else
        read_cells(tap, page, EVENT_WHOLE);
    return !tap->failed;
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
    uint64_t count;

    return table_pages(store, "SELECT count(*) FROM event NOT INDEXED", read_page, &tap, &count) &&
           count == tap.row_count;
}
