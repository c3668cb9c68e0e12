/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one table on their way into it, many with one statement: a statement for each row takes
 * half as much time again as the row does. Texts are copied.
 *
 *     bulk_int(), bulk_text(), bulk_end_row()    for each column and row, any number of times
 *     store_bulk_write()                         when that says so, and at the end
 *
 * The first error of memory is kept until bulk_end_row() returns it.
 */
#ifndef OPTRACE_SCHEMA_STORE_BULK_H
#define OPTRACE_SCHEMA_STORE_BULK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum { BULK_ROWS = 1000, BULK_TEXT_BYTES = 1 << 20 };

struct store;

struct bulk_value {
    int64_t number; /* of a text: where it begins in `texts` */
    int32_t length; /* of a text; or one of enum bulk_kind */
};

struct bulk {
    struct bulk_value *values; /* row by row */
    size_t column_count, row_count, value_count;
    char *texts;
    size_t text_bytes, text_capacity;
    sqlite3_stmt *statement; /* inserts what the virtual table `gathered` has */
    bool failed;
};

/** `column_count` values make a row. */
void bulk_int(struct bulk *bulk, int64_t value);
void bulk_text(struct bulk *bulk, const char *text);

/** Returns 1 when so much waits that it has to be written now, else 0; -ENOMEM: the row is not
 *  there. */
int bulk_end_row(struct bulk *bulk);

void bulk_clear(struct bulk *bulk);
void bulk_deinit(struct bulk *bulk);

#endif
