/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, asking and filling stores. */
#include "tests/support/store_support.h"

#include <sqlite3.h>

#include "tests/support/check.h"

struct store *store_support_open(const char *path, enum store_mode mode)
{
    struct store *store = NULL;
    struct diag diag = {0};
    int rc = store_open(path, mode, &store, &diag);

    if (rc < 0)
        fail_msg("store_open: %d: %s", rc, diag.text);
    return store;
}

static void check_rc(int rc, const struct diag *diag)
{
    if (rc < 0)
        fail_msg("%d: %s", rc, diag->text);
}

void store_support_begin(struct store *store)
{
    struct diag diag = {0};

    check_rc(store_begin(store, &diag), &diag);
}

void store_support_commit(struct store *store)
{
    struct diag diag = {0};

    check_rc(store_commit(store, &diag), &diag);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return statement;
}

static sqlite3_stmt *first_row(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = prepare(store_handle(store), sql);

    if (sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("%s: no row, %s", sql, sqlite3_errmsg(store_handle(store)));
    return statement;
}

int64_t store_support_int(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = first_row(store, sql);
    int64_t value = sqlite3_column_int64(statement, 0);

    sqlite3_finalize(statement);
    return value;
}

double store_support_real(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = first_row(store, sql);
    double value = sqlite3_column_double(statement, 0);

    sqlite3_finalize(statement);
    return value;
}

static char *text_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = prepare(db, sql);
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);
    int row_count = 0;
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (row_count++)
            fputc('\n', out);
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);

            fprintf(out, "%s%s", i ? "|" : "", value ? value : "NULL");
        }
    }
    fclose(out);
    sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return text;
}

char *store_support_text(struct store *store, const char *sql)
{
    return text_of(store_handle(store), sql);
}

char *store_support_file_text(const char *path, const char *sql)
{
    sqlite3 *db;
    char *text;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    text = text_of(db, sql);
    sqlite3_close(db);
    return text;
}

void store_support_run(const char *path, const char *sql)
{
    char *message = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", path, message);
    sqlite3_close(db);
}

void store_support_check_integrity(struct store *store)
{
    char *text = store_support_text(store, "PRAGMA main.integrity_check");

    assert_string_equal(text, "ok");
    free(text);
}

void store_support_check_accounts(struct store *store)
{
    CHECK_U64(store_support_int(store, "SELECT sum(last_rowid - first_rowid + 1) FROM event_batch"),
              store_support_int(store, "SELECT count(*) FROM event"));
    CHECK_U64(store_support_int(store,
                                "SELECT count(*) FROM event_batch b CROSS JOIN event e ON e.rowid"
                                " BETWEEN b.first_rowid AND b.last_rowid WHERE e.start_ns >="
                                " b.start_ns AND e.start_ns + coalesce(e.dur_ns, 0) <= b.end_ns"),
              store_support_int(store, "SELECT count(*) FROM event"));
    CHECK_U64(store_support_int(
                  store,
                  "SELECT count(*) FROM (SELECT op_id, kind, start_ns / 10000000000 * 10000000000,"
                  " count(*), sum(dur_ns), min(dur_ns), max(dur_ns), coalesce(sum(kern_ns), 0)"
                  " FROM event JOIN lane USING (lane_id) WHERE dur_ns IS NOT NULL GROUP BY 1, 2, 3"
                  " EXCEPT SELECT op_id, lane_kind, start_ns, event_count, sum_ns, min_ns, max_ns,"
                  " kern_sum_ns FROM op_stat WHERE bucket_ns = 10000000000)"),
              0);
    CHECK_U64(store_support_int(store, "SELECT coalesce(sum(event_count), 0) FROM op_stat"),
              store_support_int(store, "SELECT count(dur_ns) FROM event"));
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat s WHERE event_count <> (SELECT"
                                       " sum(value) FROM json_each(s.histogram))"),
              0);
}

void store_support_define(struct store *store, int64_t op_count)
{
    static const struct store_session session = {.session_id = 1,
                                                 .uuid = {1},
                                                 .start_ns = STORE_SUPPORT_START_NS,
                                                 .end_ns = STORE_NULL,
                                                 .program = "model",
                                                 .pid = 100,
                                                 .uid = 0,
                                                 .clock = "tsc",
                                                 .source = "live"};
    static const struct store_lane lanes[] = {{1, 1, 1, "thread", "main", NULL, 100},
                                              {2, 1, 2, "queue", "worker", "cpu:0", 0},
                                              {3, 1, 3, "stream", "copies", "cuda:0", 7}};
    struct diag diag = {0};

    check_rc(store_put_session(store, &session, &diag), &diag);
    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
        check_rc(store_put_lane(store, &lanes[i], &diag), &diag);
    for (int64_t id = 1; id <= op_count; id++) {
        char name[32];
        struct store_op op = {.op_id = id,
                              .session_id = 1,
                              .client_op = id,
                              .model_id = STORE_NULL,
                              .name = name,
                              .type = id % 3 == 0 ? "Relu" : "Conv",
                              .computation_flop = id * 1000,
                              .memory_bytes = id * 10,
                              .workspace_bytes = STORE_NULL};

        snprintf(name, sizeof(name), "op_%lld", (long long)id);
        check_rc(store_put_op(store, &op, &diag), &diag);
    }
}

void store_support_make_events(struct store_event *out_events, size_t count, int64_t number,
                               int64_t op_count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t n = number + (int64_t)i;
        int64_t op = n / 2 % op_count;

        out_events[i] = (struct store_event){
            .lane_id = 1 + n % 2,
            .op_id = op + 1,
            .run = n / 2 / op_count + 1,
            .start_ns = STORE_SUPPORT_START_NS + n * 1000,
            .dur_ns = 500 + op * 100 + n % 7,
            .kern_ns = n % 2 ? 0 : 50,
            .correlation = n / 2 + 1,
            .bytes = STORE_NULL,
        };
    }
}
