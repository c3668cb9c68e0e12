/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of `run` of a session. Of hundreds of thousands they are decoded as the pages of the
 * table come by (table_pages.h), as events are. It has no rowid: rows stand in its inner pages, too,
 * which come before the leaves below them.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/query/private.h"
#include "analyze/query/table_pages.h"

enum {
    LEAF = 0x0a,
    INNER = 0x02,
    LEAF_HEADER_BYTES = 8,
    INNER_HEADER_BYTES = 12,
    CHILD_BYTES = 4, /* before a cell of an inner page */
    RECORD_MAX = 127,
    COLUMNS = 8,
    PAYS_FROM_RUNS = 20000,
    PAYS_FROM = 8, /* this part of the rows */
};

/* Takes a run; is_inner: it stood in an inner page. Returns 0 or a negative errno. */
typedef int run_fn(void *user, const struct scan_run *run, bool is_inner);

struct decoding {
    int64_t session_id;
    run_fn *take;
    void *user;
    uint64_t row_count; /* of all sessions */
    int rc;
};

/* Those of leaves come in order. */
struct gathering {
    struct scan_runs leaves, inner;
};

/* --- Pages. --- */

static bool take_record(struct decoding *decoding, const uint8_t *cell, const uint8_t *end,
                        bool is_inner)
{
    int64_t values[COLUMNS]; /* as store.sql has them: session, run, model, lane, start, end, ... */
    uint64_t bytes;

    cell = page_varint(cell, end, &bytes);
    if (!cell || bytes < 1 || bytes > RECORD_MAX || bytes > (uint64_t)(end - cell) ||
        !page_record(cell, cell + bytes, end, COLUMNS, values))
        return false;
    decoding->row_count++;
    if (values[0] != decoding->session_id || decoding->rc < 0)
        return true;
    decoding->rc = decoding->take(decoding->user,
                                  &(struct scan_run){
                                      .number = values[1],
                                      .lane_id = values[3],
                                      .start_ns = values[4],
                                      .end_ns = values[5],
                                      .is_warmup = values[6] != 0 && values[6] != STORE_NULL,
                                      .without_ops = values[7] != 0 && values[7] != STORE_NULL,
                                  },
                                  is_inner);
    return true;
}

static bool take_page(void *user, const uint8_t *page, int page_bytes)
{
    struct decoding *decoding = user;
    const bool is_inner = page[0] == INNER;
    const uint8_t *end = page + page_bytes;
    const uint8_t *pointer = page + (is_inner ? INNER_HEADER_BYTES : LEAF_HEADER_BYTES);
    unsigned count = (unsigned)page[3] << 8 | page[4];

    if (!is_inner && page[0] != LEAF)
        return true;
    if (end - pointer < (ptrdiff_t)count * 2)
        return false;
    for (unsigned i = 0; i < count; i++, pointer += 2) {
        unsigned offset = ((unsigned)pointer[0] << 8 | pointer[1]) + (is_inner ? CHILD_BYTES : 0);

        if (offset >= (unsigned)page_bytes || !take_record(decoding, page + offset, end, is_inner))
            return false;
    }
    return true;
}

/* Returns 1 where pages are of no use; some runs may have been handed over then. */
static int take_pages(struct store *store, struct decoding *decoding)
{
    uint64_t count;

    if (!table_pages(store, "SELECT count(*) FROM run NOT INDEXED", take_page, decoding, &count) ||
        count != decoding->row_count)
        return 1;
    return decoding->rc;
}

static int gather(void *user, const struct scan_run *run, bool is_inner)
{
    struct gathering *gathering = user;

    return array_push(is_inner ? &gathering->inner : &gathering->leaves, *run);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct scan_run *left = a, *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

static bool is_in_order(const struct scan_runs *rows)
{
    for (size_t i = 1; i < rows->count; i++) {
        if (rows->items[i].number <= rows->items[i - 1].number)
            return false;
    }
    return true;
}

/* Those of inner pages are few: these are put in from the end on. */
static int put_together(struct gathering *gathering)
{
    struct scan_runs *rows = &gathering->leaves, *inner = &gathering->inner;
    size_t from = rows->count, into = from + inner->count;

    if (array_reserve(rows, into) < 0)
        return -ENOMEM;
    if (inner->count)
        qsort(inner->items, inner->count, sizeof(*inner->items), compare_numbers);
    rows->count = into;
    while (inner->count) {
        const struct scan_run *last = &inner->items[inner->count - 1];

        if (from && rows->items[from - 1].number > last->number) {
            rows->items[--into] = rows->items[--from];
        } else {
            rows->items[--into] = *last;
            inner->count--;
        }
    }
    return 0;
}

int query_run_pages(struct store *store, int64_t session_id, struct scan_runs *out_rows)
{
    struct gathering gathering = {0};
    struct decoding decoding = {.session_id = session_id, .take = gather, .user = &gathering};
    int rc = take_pages(store, &decoding);

    if (rc == 0)
        rc = put_together(&gathering);
    if (rc == 0 && !is_in_order(&gathering.leaves))
        rc = 1;
    array_deinit(&gathering.inner);
    if (rc == 0)
        *out_rows = gathering.leaves;
    else
        array_deinit(&gathering.leaves);
    return rc;
}

/* --- Rows. --- */

static int step_rows(struct store *store, int64_t session_id, run_fn *take, void *user,
                     struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT run, lane_id, start_ns, end_ns, warmup, without_ops FROM run"
                           " WHERE session_id = ?1 ORDER BY run",
                           &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        const struct scan_run run = {
            .number = query_int(statement, 0),
            .lane_id = query_int(statement, 1),
            .start_ns = query_int(statement, 2),
            .end_ns = query_int(statement, 3),
            .is_warmup = sqlite3_column_int(statement, 4) != 0,
            .without_ops = sqlite3_column_int(statement, 5) != 0,
        };

        rc = take(user, &run, false);
    }
    sqlite3_finalize(statement);
    return rc;
}

/* Whether it has most of the rows that there are, by the number of its last run. */
static int pages_pay(struct store *store, int64_t session_id, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT ifnull((SELECT max(run) FROM run WHERE session_id = ?1), 0),"
                           " (SELECT total((SELECT max(run) FROM run WHERE session_id ="
                           "  s.session_id)) FROM session s)",
                           &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    if (rc == 0)
        rc = query_step(store, statement, diag);
    if (rc == 1)
        rc = sqlite3_column_int64(statement, 0) >= PAYS_FROM_RUNS &&
             sqlite3_column_double(statement, 0) >= sqlite3_column_double(statement, 1) / PAYS_FROM;
    sqlite3_finalize(statement);
    return rc;
}

int query_run_rows(struct store *store, int64_t session_id, struct scan_runs *out_rows,
                   struct diag *diag)
{
    struct gathering gathering = {0};
    int rc = pages_pay(store, session_id, diag);

    *out_rows = (struct scan_runs){0};
    if (rc == 1) {
        rc = query_run_pages(store, session_id, out_rows);
        if (rc <= 0)
            return rc;
    }
    if (rc >= 0)
        rc = step_rows(store, session_id, gather, &gathering, diag);
    *out_rows = gathering.leaves;
    return rc;
}

/* --- Counts. --- */

static int count_run(void *user, const struct scan_run *run, bool is_inner)
{
    struct run_kind_runs *runs = ((struct run_tally *)user)->of_kind + run_kind_of(run);

    (void)is_inner;
    runs->count++;
    if (run->end_ns == STORE_NULL || run->end_ns < run->start_ns || run->start_ns < 0)
        return 0;
    return array_push(&runs->durations, (double)(run->end_ns - run->start_ns));
}

void run_tally_deinit(struct run_tally *tally)
{
    for (int kind = 0; kind < RUN_KINDS; kind++)
        array_deinit(&tally->of_kind[kind].durations);
    *tally = (struct run_tally){0};
}

int query_run_tally(struct store *store, int64_t session_id, struct run_tally *out_tally,
                    struct diag *diag)
{
    struct decoding decoding = {.session_id = session_id, .take = count_run, .user = out_tally};
    int rc = pages_pay(store, session_id, diag);

    *out_tally = (struct run_tally){0};
    if (rc == 1) {
        rc = take_pages(store, &decoding);
        if (rc <= 0)
            return rc;
        run_tally_deinit(out_tally);
    }
    return rc < 0 ? rc : step_rows(store, session_id, count_run, out_tally, diag);
}
