/* SPDX-License-Identifier: Apache-2.0 */
/* A query of the user, printed like any report. SQLite itself is told to refuse what writes. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/report.h"

enum { SQL_COLUMNS_MAX = 2000 }; /* SQLite's own limit */

/* Only what reads: no writing, no other files, no settings, no code from outside. */
static int allow_reading(void *user, int action, const char *first, const char *second,
                         const char *database, const char *trigger)
{
    static const char *const pragmas[] = {"table_info", "table_xinfo", "table_list",
                                          "index_list", "index_info",  "foreign_key_list"};

    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return second && strcasecmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        for (size_t i = 0; first && i < sizeof(pragmas) / sizeof(pragmas[0]); i++) {
            if (strcmp(first, pragmas[i]) == 0)
                return SQLITE_OK;
        }
        return SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static struct out_value value_of(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return out_integer(OUT_INT, sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return out_number(OUT_REAL, sqlite3_column_double(statement, column));
    case SQLITE_NULL:
        return out_unknown_as(OUT_TEXT, "NULL");
    default: /* a blob is shown as far as it is a text */
        return out_text((const char *)sqlite3_column_text(statement, column));
    }
}

static int emit_rows(const struct report *report, sqlite3_stmt *statement, struct diag *diag)
{
    static const struct out_section section = {.name = "result"};
    int count = sqlite3_column_count(statement);
    struct out_column *columns = calloc((size_t)count + 1, sizeof(*columns));
    struct out_value *values = calloc((size_t)count + 1, sizeof(*values));
    int code = SQLITE_NOMEM, rc = 0;

    if (columns && values) {
        for (int i = 0; i < count; i++)
            columns[i].name = columns[i].title = columns[i].wiki =
                sqlite3_column_name(statement, i);
        out_table_begin(report->out, &section, columns, (size_t)count);
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            for (int i = 0; i < count; i++)
                values[i] = value_of(statement, i);
            out_row(report->out, values);
        }
        out_table_end(report->out);
    }
    if (code != SQLITE_DONE)
        rc = store_fail(report->source->store, code, "query", diag);
    free(columns);
    free(values);
    return rc;
}

/* For sqlite3_finalize() and sqlite3_set_authorizer() after either. */
static int prepare(const struct report *report, sqlite3_stmt **out_statement, struct diag *diag)
{
    const char *sql = report->options->sql, *rest = "";
    sqlite3 *db = store_handle(report->source->store);
    int code;

    /* SQLite declares a table of its own on the first use of these, which is no reading. */
    sqlite3_exec(db, "SELECT 1 FROM json_each('[]'), json_tree('[]')", NULL, NULL, NULL);
    sqlite3_set_authorizer(db, allow_reading, NULL);
    code = sqlite3_prepare_v2(db, sql, -1, out_statement, &rest);
    if (code == SQLITE_AUTH)
        return diag_set(diag, -EINVAL, "--sql only reads: %s", sqlite3_errmsg(db));
    if (code == SQLITE_ERROR)
        return diag_set_at(diag, -EINVAL, sqlite3_error_offset(db), "--sql: %s%s",
                           sqlite3_errmsg(db), "");
    if (code != SQLITE_OK)
        return store_fail(report->source->store, code, "query", diag);
    if (!*out_statement)
        return diag_set(diag, -EINVAL, "--sql: there is no query in \"%s\"", sql);
    if (rest[strspn(rest, " \t\r\n;")])
        return diag_set(diag, -EINVAL, "--sql takes one query: \"%.60s\" is left over",
                        rest + strspn(rest, " \t\r\n;"));
    return 0;
}

static void end(const struct report *report, sqlite3_stmt *statement)
{
    sqlite3_finalize(statement);
    sqlite3_set_authorizer(store_handle(report->source->store), NULL, NULL);
}

static sqlite3_stmt *take_query(const struct report *report)
{
    sqlite3_stmt *statement = report->query ? *report->query : NULL;

    if (statement)
        *report->query = NULL;
    return statement;
}

void report_drop_query(const struct report *report)
{
    sqlite3_stmt *statement = take_query(report);

    if (statement)
        end(report, statement);
}

static int run(const struct report *report, struct diag *diag)
{
    sqlite3_stmt *statement = take_query(report);
    int rc = statement ? 0 : prepare(report, &statement, diag);

    if (rc == 0)
        rc = emit_rows(report, statement, diag);
    end(report, statement);
    return rc;
}

/* What is prepared stays so: that takes as long as the answer where a query is long. The authorizer stays, too,
 * as setting it anew has SQLite prepare again. */
static int check(const struct report *report, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = prepare(report, &statement, diag);

    if (rc == 0 && report->query)
        *report->query = statement;
    else
        end(report, statement);
    return rc;
}

const struct report_kind report_sql = {
    .name = "sql",
    .about = "The rows of a query that only reads.",
    .mode = "sql",
    .subject = REPORT_OF_STORE,
    .output = REPORT_STREAMS,
    .run = run,
    .check = check,
    .tables = (const char *const[]){"result", NULL},
};
