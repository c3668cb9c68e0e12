/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of op_stat become one of a longer bucket, op by op. */
#include "schema/store/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "schema/store/private.h"

#define MINUTE_NS INT64_C(60000000000)
#define HOUR_NS   (60 * MINUTE_NS)
#define DAY_NS    (24 * HOUR_NS)

/* A length of buckets, the longer one that it becomes, and when: counted from `hour_ns`. */
static const struct level {
    int64_t bucket_ns, longer_ns, age_ns;
} levels[] = {
    {ROLLUP_BUCKET_NS, 10 * MINUTE_NS, 0},
    {10 * MINUTE_NS, DAY_NS, 7 * DAY_NS - HOUR_NS},
};

/* Of one op and kind of lane, the rows of a level that lie in one longer bucket. */
struct group {
    const struct level *level;
    int64_t op_id, start_ns; /* of the longer bucket */
    int lane_kind;
};

static int64_t round_down(int64_t ns, int64_t unit_ns)
{
    int64_t rest = ns % unit_ns;

    if (rest < 0)
        rest += unit_ns;
    return ns < INT64_MIN + rest ? ns : ns - rest;
}

/* The end of the last bucket of ten minutes that is an hour old. */
static int64_t hour_before(int64_t now_ns)
{
    return now_ns < HOUR_NS ? 0 : round_down(now_ns - HOUR_NS, 10 * MINUTE_NS);
}

bool store_merge_is_due(struct store *store, int64_t now_ns)
{
    int64_t hour_ns = hour_before(now_ns);

    if (store->merge.hour_ns != hour_ns)
        store->merge = (struct merge){.hour_ns = hour_ns};
    return !store->merge.is_done;
}

/* The next row whose time has come. Returns 1, or 0 at the end of the table. */
static int find_group(struct store *store, struct group *out_group, struct diag *diag)
{
    const struct merge *merge = &store->merge;
    sqlite3_stmt *row;
    int code;
    int rc = store_statement(store, STORE_FIND_OLD_STAT,
                             "SELECT rowid,op_id,lane_kind,bucket_ns,start_ns FROM op_stat"
                             " WHERE rowid>?1 AND ((bucket_ns=?2 AND start_ns<?3) OR (bucket_ns=?4"
                             " AND start_ns<?5)) ORDER BY rowid LIMIT 1",
                             &row, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(row, 1, merge->after_rowid);
    for (int i = 0; i < 2; i++) {
        sqlite3_bind_int64(row, 2 + 2 * i, levels[i].bucket_ns);
        sqlite3_bind_int64(row, 3 + 2 * i,
                           round_down(merge->hour_ns - levels[i].age_ns, levels[i].longer_ns));
    }
    code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        const struct level *level = &levels[sqlite3_column_int64(row, 3) != levels[0].bucket_ns];

        store->merge.after_rowid = sqlite3_column_int64(row, 0);
        *out_group = (struct group){
            .level = level,
            .op_id = sqlite3_column_int64(row, 1),
            .lane_kind = store_lane_kind_of((const char *)sqlite3_column_text(row, 2)),
            .start_ns = round_down(sqlite3_column_int64(row, 4), level->longer_ns),
        };
        rc = 1;
    } else if (code != SQLITE_DONE) {
        rc = store_fail(store, code, "read", diag);
    }
    sqlite3_reset(row);
    return rc;
}

static void bind_group(sqlite3_stmt *statement, const struct group *group)
{
    sqlite3_bind_int64(statement, 1, group->op_id);
    sqlite3_bind_text(statement, 2, store_lane_kinds[group->lane_kind], -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, group->start_ns);
    sqlite3_bind_int64(statement, 4, group->start_ns + group->level->longer_ns);
    sqlite3_bind_int64(statement, 5, group->level->bucket_ns);
    sqlite3_bind_int64(statement, 6, group->level->longer_ns);
}

/* The rows of the group, and the longer one where there is one already: late events make shorter
 * ones beside it. */
#define GROUP_ROWS                                                                                 \
    " WHERE op_id=?1 AND lane_kind=?2 AND bucket_ns IN (?5,?6) AND start_ns>=?3 AND start_ns<?4"

static void add_saturated(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

static int add_row(sqlite3_stmt *row, struct rollup_entry *sum, struct diag *diag)
{
    const char *text = (const char *)sqlite3_column_text(row, 5);
    int64_t min_ns = sqlite3_column_int64(row, 2), max_ns = sqlite3_column_int64(row, 3);
    struct store_histogram histogram;
    int rc = store_histogram_parse(text ? text : "", (size_t)sqlite3_column_bytes(row, 5),
                                   &histogram, diag);

    if (rc < 0)
        return rc;
    rc = store_histogram_merge(&sum->histogram, &histogram);
    store_histogram_deinit(&histogram);
    add_saturated(&sum->event_count, sqlite3_column_int64(row, 0));
    add_saturated(&sum->sum_ns, sqlite3_column_int64(row, 1));
    add_saturated(&sum->kern_sum_ns, sqlite3_column_int64(row, 4));
    sum->min_ns = min_ns < sum->min_ns ? min_ns : sum->min_ns;
    sum->max_ns = max_ns > sum->max_ns ? max_ns : sum->max_ns;
    return rc;
}

static int sum_up(struct store *store, const struct group *group, struct rollup_entry *out_sum,
                  struct diag *diag)
{
    sqlite3_stmt *row;
    int code = SQLITE_DONE;
    int rc = store_statement(store, STORE_GET_OLD_STATS,
                             "SELECT event_count,sum_ns,min_ns,max_ns,kern_sum_ns,histogram"
                             " FROM op_stat" GROUP_ROWS,
                             &row, diag);

    if (rc < 0)
        return rc;
    bind_group(row, group);
    while (rc == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
        rc = add_row(row, out_sum, diag);
    if (rc == 0 && code != SQLITE_DONE)
        rc = store_fail(store, code, "read", diag);
    sqlite3_reset(row);
    return rc;
}

static int delete_rows(struct store *store, const struct group *group, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_DELETE_OLD_STATS, "DELETE FROM op_stat" GROUP_ROWS,
                             &statement, diag);

    if (rc < 0)
        return rc;
    bind_group(statement, group);
    return store_step(store, statement, "write", diag);
}

static int put_row(struct store *store, const struct group *group, const struct rollup_entry *sum,
                   struct diag *diag)
{
    char *text = malloc(STORE_HISTOGRAM_TEXT_MAX);
    sqlite3_stmt *statement;
    int rc = text ? store_statement(store, STORE_ADD_OLD_STAT,
                                    "INSERT INTO op_stat(op_id,lane_kind,start_ns,bucket_ns,"
                                    "event_count,sum_ns,min_ns,max_ns,kern_sum_ns,histogram)"
                                    " VALUES(?,?,?,?,?,?,?,?,?,?)",
                                    &statement, diag)
                  : -ENOMEM;

    if (rc == 0) {
        size_t length = store_histogram_format(&sum->histogram, text);

        sqlite3_bind_int64(statement, 1, group->op_id);
        sqlite3_bind_text(statement, 2, store_lane_kinds[group->lane_kind], -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 3, group->start_ns);
        sqlite3_bind_int64(statement, 4, group->level->longer_ns);
        sqlite3_bind_int64(statement, 5, sum->event_count);
        sqlite3_bind_int64(statement, 6, sum->sum_ns);
        sqlite3_bind_int64(statement, 7, sum->min_ns);
        sqlite3_bind_int64(statement, 8, sum->max_ns);
        sqlite3_bind_int64(statement, 9, sum->kern_sum_ns);
        sqlite3_bind_text(statement, 10, text, (int)length, SQLITE_STATIC);
        rc = store_step(store, statement, "write", diag);
        sqlite3_bind_null(statement, 10);
    }
    free(text);
    return rc;
}

static int merge_group(struct store *store, const struct group *group, struct diag *diag)
{
    struct rollup_entry sum = {.min_ns = INT64_MAX, .max_ns = INT64_MIN};
    int rc;

    if (group->lane_kind < 0)
        return 0; /* of somebody else's making */
    rc = sum_up(store, group, &sum, diag);
    if (rc == -EUCLEAN) { /* they stay as they are: who reads them says so */
        store_histogram_deinit(&sum.histogram);
        return 0;
    }
    if (rc == 0)
        rc = delete_rows(store, group, diag);
    if (rc == 0)
        rc = put_row(store, group, &sum, diag);
    store_histogram_deinit(&sum.histogram);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the roll-ups of %s", store->path) : rc;
}

int store_merge_rollups(struct store *store, int64_t now_ns, size_t count, struct diag *diag)
{
    struct group group;
    int rc;

    if (!store_merge_is_due(store, now_ns))
        return 0;
    /* What is in memory of them names rows that go. */
    rc = store_rollup_settle(store, store->merge.hour_ns, diag);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = find_group(store, &group, diag);
        if (rc == 0)
            store->merge.is_done = true;
        if (rc <= 0)
            return rc;
        rc = merge_group(store, &group, diag);
    }
    return rc < 0 ? rc : 1;
}
