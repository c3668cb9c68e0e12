/* SPDX-License-Identifier: Apache-2.0 */
/* Values in memory, and the virtual table that hands them to SQLite. */
#include "schema/store/bulk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "schema/store/private.h"

/* In place of the length of a text. */
enum bulk_kind { BULK_INT = -1, BULK_NULL = -2 };

enum { BULK_SQL_MAX = 2048 };

/* --- Values. --- */

static void add(struct bulk *bulk, struct bulk_value value)
{
    if (!bulk->values)
        bulk->values = malloc(BULK_ROWS * bulk->column_count * sizeof(*bulk->values));
    if (!bulk->values || bulk->value_count == BULK_ROWS * bulk->column_count) {
        bulk->failed = true;
        return;
    }
    bulk->values[bulk->value_count++] = value;
}

void bulk_int(struct bulk *bulk, int64_t value)
{
    add(bulk, (struct bulk_value){value, value == STORE_NULL ? BULK_NULL : BULK_INT});
}

void bulk_text(struct bulk *bulk, const char *text)
{
    size_t length = text ? strlen(text) : 0;

    if (!text) {
        add(bulk, (struct bulk_value){0, BULK_NULL});
        return;
    }
    if (length > INT_MAX) {
        bulk->failed = true;
        return;
    }
    if (length >= bulk->text_capacity - bulk->text_bytes) { /* an empty text has a place, too */
        char *grown =
            array_grow(bulk->texts, &bulk->text_capacity, bulk->text_bytes + length + 1, 1);

        if (!grown) {
            bulk->failed = true;
            return;
        }
        bulk->texts = grown;
    }
    if (length)
        memcpy(bulk->texts + bulk->text_bytes, text, length);
    add(bulk, (struct bulk_value){(int64_t)bulk->text_bytes, (int32_t)length});
    bulk->text_bytes += length;
}

int bulk_end_row(struct bulk *bulk)
{
    if (bulk->failed) {
        bulk->value_count = bulk->row_count * bulk->column_count;
        bulk->failed = false;
        return -ENOMEM;
    }
    return ++bulk->row_count == BULK_ROWS || bulk->text_bytes >= BULK_TEXT_BYTES;
}

void bulk_clear(struct bulk *bulk)
{
    bulk->row_count = bulk->value_count = bulk->text_bytes = 0;
    bulk->failed = false;
}

void bulk_deinit(struct bulk *bulk)
{
    sqlite3_finalize(bulk->statement);
    free(bulk->values);
    free(bulk->texts);
    memset(bulk, 0, sizeof(*bulk));
}

/* --- The virtual table. --- */

struct gathered {
    sqlite3_vtab base;
    const struct bulk *const *slot;
};

struct cursor {
    sqlite3_vtab_cursor base;
    const struct bulk *bulk;
    size_t row;
};

static int connect_table(sqlite3 *db, void *slot, int argc, const char *const *argv,
                         sqlite3_vtab **out_table, char **out_error)
{
    struct gathered *table = sqlite3_malloc(sizeof(*table));

    (void)argc;
    (void)argv;
    (void)out_error;
    if (!table)
        return SQLITE_NOMEM;
    memset(table, 0, sizeof(*table));
    table->slot = slot;
    *out_table = &table->base;
    return sqlite3_declare_vtab(db, "CREATE TABLE gathered(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9,"
                                    " c10, c11, c12, c13, c14, c15, c16, c17, c18)");
}

static int disconnect_table(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int choose_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = BULK_ROWS;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out_cursor)
{
    struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));

    if (!cursor)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof(*cursor));
    cursor->bulk = *((struct gathered *)table)->slot;
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int rewind_cursor(sqlite3_vtab_cursor *base, int index, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)index;
    (void)text;
    (void)argc;
    (void)argv;
    ((struct cursor *)base)->row = 0;
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    ((struct cursor *)base)->row++;
    return SQLITE_OK;
}

/* Somebody who asks for it with no rows on their way finds it empty. */
static int is_at_end(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (const struct cursor *)base;

    return !cursor->bulk || cursor->row >= cursor->bulk->row_count;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct bulk *bulk = cursor->bulk;
    const struct bulk_value *value;

    if ((size_t)column >= bulk->column_count)
        return SQLITE_OK; /* NULL */
    value = &bulk->values[cursor->row * bulk->column_count + (size_t)column];
    if (value->length == BULK_INT)
        sqlite3_result_int64(context, value->number);
    else if (value->length != BULK_NULL)
        sqlite3_result_text(context, bulk->texts + value->number, value->length, SQLITE_STATIC);
    return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out_rowid)
{
    *out_rowid = (sqlite3_int64)((const struct cursor *)base)->row;
    return SQLITE_OK;
}

/* Make `gathered` known to a database: its columns are c0 and on, its rows those of *slot. */
static int register_table(sqlite3 *db, const struct bulk *const *slot)
{
    static const sqlite3_module module = {
        .xConnect = connect_table,
        .xDisconnect = disconnect_table,
        .xBestIndex = choose_index,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = rewind_cursor,
        .xNext = next_row,
        .xEof = is_at_end,
        .xColumn = get_column,
        .xRowid = get_rowid,
    };

    return sqlite3_create_module(db, "gathered", &module, (void *)(uintptr_t)slot);
}

/* --- Writing --- */

static int prepare_bulk(struct store *store, struct bulk *bulk, const char *insert,
                        const char *conflict, struct diag *diag)
{
    char sql[BULK_SQL_MAX] = "";
    int code;

    snprintf(sql, sizeof(sql), "%s SELECT c0", insert);
    for (size_t i = 1; i < bulk->column_count; i++)
        snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), ",c%zu", i);
    snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), " FROM gathered WHERE true%s", conflict);
    code =
        sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &bulk->statement, NULL);
    return code == SQLITE_OK ? 0 : store_fail(store, code, "write", diag);
}

int store_bulk_write(struct store *store, struct bulk *bulk, const char *insert,
                     const char *conflict, struct diag *diag)
{
    int rc = 0;

    if (!bulk->row_count)
        return 0;
    if (!bulk->statement)
        rc = prepare_bulk(store, bulk, insert, conflict, diag);
    store->flushed = bulk;
    if (rc == 0)
        rc = store_step(store, bulk->statement, "write", diag);
    store->flushed = NULL;
    bulk_clear(bulk);
    return rc;
}

int store_know_gathered(struct store *store, struct diag *diag)
{
    int code = store->knows_gathered ? SQLITE_OK : register_table(store->db, &store->flushed);

    store->knows_gathered = code == SQLITE_OK;
    return code == SQLITE_OK ? 0 : store_fail(store, code, "write", diag);
}
