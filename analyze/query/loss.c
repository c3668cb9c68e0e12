/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing: events that were lost, spans that never ended. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/query/private.h"

static const char losses_sql[] =
    "SELECT lane_name, reason, lost_count, start_ns, end_ns, lane_id FROM v_loss"
    " WHERE session_id = ?1 ORDER BY lost_count DESC";

static const char abandoned_sql[] =
    "SELECT coalesce(c.complete_ns, (SELECT max(end_ns) FROM event_batch b"
    "  WHERE s.session_id BETWEEN b.session_min AND b.session_max), s.start_ns)"
    "  FROM session s LEFT JOIN ingest_cursor c ON c.session_id = s.session_id AND c.ring_id = 0"
    " WHERE s.session_id = ?1 AND s.end_ns IS NULL AND s.source = 'live'";

/* A session without end in a store that nobody writes to: its program went on, or died, and no
 * daemon has come to say so. */
static int add_abandoned(struct reading *reading, int64_t session_id, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc;

    if (store_has_writer(reading->store))
        return 0;
    rc = query_prepare(reading->store, abandoned_sql, &statement, diag);
    sqlite3_bind_int64(statement, 1, session_id);
    if (rc == 0 && (rc = query_step(reading->store, statement, diag)) == 1) {
        struct loss_row loss = {
            .session_id = session_id,
            .lane_id = STORE_NULL,
            .reason = "no daemon",
            .lost_count = STORE_NULL,
            .start_ns = query_int(statement, 0),
            .end_ns = STORE_NULL,
        };

        rc = array_push(&reading->basis->losses, loss);
    }
    sqlite3_finalize(statement);
    return rc;
}

struct loss_sum query_sum_losses(const struct basis *basis)
{
    struct loss_sum sum = {.unknown_since_ns = STORE_NULL};

    for (size_t i = 0; i < basis->losses.count; i++) {
        const struct loss_row *loss = &basis->losses.items[i];

        if (loss->lost_count != STORE_NULL) {
            sum.count += (uint64_t)loss->lost_count;
            continue;
        }
        sum.unknown++;
        if (sum.unknown_since_ns == STORE_NULL || loss->start_ns < sum.unknown_since_ns)
            sum.unknown_since_ns = loss->start_ns;
    }
    return sum;
}

/* Reasons for which the daemon refused events, and how they read; others are words for people. */
static const char *why_refused(const char *reason)
{
    static const struct {
        const char *reason, *why;
    } refused[] = {
        {"unknown kind", "of a kind that is not known"},
        {"bad record", "their fields make no sense"},
        {"in the future", "their times lie in the future"},
        {"long past", "their times lie long before the session"},
        {"undefined", "their ops or lanes were never defined"},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (strcmp(reason, refused[i].reason) == 0)
            return refused[i].why;
    }
    return NULL;
}

static void add_loss(sqlite3_stmt *row, struct diag *diag)
{
    const char *reason = (const char *)sqlite3_column_text(row, 0), *why = why_refused(reason);
    int64_t count = query_int(row, 1);
    bool is_unknown = sqlite3_column_int(row, 2) != 0;
    size_t used = strlen(diag->text);
    char number[24];

    snprintf(number, sizeof(number), "%" PRId64, count);
    snprintf(diag->text + used, sizeof(diag->text) - used, "; %s event%s %s: %s",
             is_unknown ? "an unknown number of" : number, count == 1 ? " was" : "s were",
             why ? "refused" : "lost", why ? why : reason);
}

void query_add_losses(struct store *store, const int64_t *session_ids, size_t session_count,
                      struct diag *diag)
{
    static const char sql[] =
        "SELECT reason, sum(lost_count), max(lost_count IS NULL) FROM gap"
        " WHERE session_id = ?1 AND reason IS NOT NULL GROUP BY reason ORDER BY 2 DESC";
    struct diag ignored = {0};

    for (size_t i = 0; i < session_count; i++) {
        sqlite3_stmt *row = NULL;
        int rc = query_prepare(store, sql, &row, &ignored);

        if (rc == 0)
            sqlite3_bind_int64(row, 1, session_ids[i]);
        while (rc == 0 && query_step(store, row, &ignored) == 1)
            add_loss(row, diag);
        sqlite3_finalize(row);
    }
}

int query_losses(struct reading *reading, int64_t session_id, struct diag *diag)
{
    struct query_texts *texts = reading->texts;
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store, losses_sql, &statement, diag);

    sqlite3_bind_int64(statement, 1, session_id);
    while (rc == 0 && (rc = query_step(reading->store, statement, diag)) == 1) {
        struct loss_row loss = {
            .session_id = session_id,
            .lane_id = query_int(statement, 5),
            .lane = query_text(texts, statement, 0),
            .reason = query_text(texts, statement, 1),
            .lost_count = query_int(statement, 2),
            .start_ns = query_int(statement, 3),
            .end_ns = query_int(statement, 4),
        };

        rc = array_push(&reading->basis->losses, loss);
    }
    sqlite3_finalize(statement);
    return rc < 0 ? rc : add_abandoned(reading, session_id, diag);
}

int query_unfinished(struct reading *reading, const struct scan *scan, struct diag *diag)
{
    struct query_texts *texts = reading->texts;
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store, "SELECT name, type, session_id FROM op WHERE op_id = ?1",
                           &statement, diag);

    for (uint64_t i = 0; i < scan->unfinished_count && i < SCAN_UNFINISHED_MAX && rc == 0; i++) {
        const struct scan_unfinished *span = &scan->unfinished[i];
        uint32_t lane = id_map_find(&scan->lane_map, span->lane_id);
        struct unfinished_row row = {
            .start_ns = span->start_ns,
            .lane = reading->lane_rows.items[lane].name,
        };

        sqlite3_bind_int64(statement, 1, span->op_id);
        rc = query_step(reading->store, statement, diag);
        if (rc == 1) {
            row.op = query_text(texts, statement, 0);
            row.type = query_text(texts, statement, 1);
            row.session_id = query_int(statement, 2);
            rc = array_push(&reading->basis->unfinished, row);
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return rc;
}
