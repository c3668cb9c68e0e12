/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a query as one text. */
#include "tests/support/rows_check.h"

#include <sqlite3.h>
#include <string.h>

#include "tests/support/check.h"

enum { TEXT_LENGTH = 4096 };

static void append(char *text, const char *part)
{
    assert_true(strlen(text) + strlen(part) < TEXT_LENGTH);
    strcat(text, part);
}

void rows_check(struct store *store, const char *sql, const char *wanted)
{
    sqlite3_stmt *statement;
    char text[TEXT_LENGTH] = "";

    assert_int_equal(sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);

            append(text, i ? "|" : text[0] ? ";" : "");
            append(text, value ? value : "-");
        }
    }
    sqlite3_finalize(statement);
    assert_string_equal(text, wanted);
}
