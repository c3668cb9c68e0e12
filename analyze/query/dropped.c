/* SPDX-License-Identifier: Apache-2.0 */
/* What retention has dropped of a session (schema/store/store.md, section 10), and the runs that
 * lack events because of it. */
#include <errno.h>

#include "analyze/query/private.h"

static const char dropped_sql[] =
    "SELECT reason, event_count, memory_event_count, counter_count, start_ns, end_ns FROM dropped"
    " WHERE session_id = ?1 ORDER BY end_ns DESC";

int query_dropped(struct reading *reading, struct scan_session *session, struct diag *diag)
{
    struct query_texts *texts = reading->texts;
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(reading->store, dropped_sql, &statement, diag);

    session->dropped_until_ns = INT64_MIN;
    sqlite3_bind_int64(statement, 1, session->session_id);
    while (rc == 0 && (rc = query_step(reading->store, statement, diag)) == 1) {
        struct dropped_row row = {
            .session_id = session->session_id,
            .reason = query_text(texts, statement, 0),
            .event_count = query_int(statement, 1),
            .memory_event_count = query_int(statement, 2),
            .counter_count = query_int(statement, 3),
            .start_ns = query_int(statement, 4),
            .end_ns = query_int(statement, 5),
        };

        rc = 0;
        if (row.end_ns < session->from_ns || row.start_ns >= session->until_ns)
            continue; /* not of the time that is asked for */
        if (row.event_count && row.end_ns > session->dropped_until_ns)
            session->dropped_until_ns = row.end_ns;
        rc = array_push(&reading->basis->dropped, row);
    }
    sqlite3_finalize(statement);
    return rc;
}

bool query_has_dropped_events(const struct basis *basis)
{
    for (size_t i = 0; i < basis->dropped.count; i++) {
        if (basis->dropped.items[i].event_count)
            return true;
    }
    return false;
}

static bool is_asked_for(const struct scan_session *session, const struct scan_run *run)
{
    return run->selected && run->start_ns >= session->from_ns && run->start_ns < session->until_ns;
}

/* Runs that are asked for, by what they are short of. */
struct short_runs {
    uint64_t count[2][2]; /* [without ops][lacks events] */
};

static struct short_runs count_short(const struct reading *reading)
{
    struct short_runs runs = {0};

    for (size_t i = 0; i < reading->sessions.count; i++) {
        const struct scan_session *session = &reading->sessions.items[i];

        for (size_t k = 0; k < session->run_count; k++) {
            const struct scan_run *run = &session->runs[k];

            if (is_asked_for(session, run))
                runs.count[run->without_ops][run->lacks_events]++;
        }
    }
    return runs;
}

static void unselect(struct reading *reading, bool without_ops, bool lacks_events)
{
    for (size_t i = 0; i < reading->sessions.count; i++) {
        struct scan_session *session = &reading->sessions.items[i];

        for (size_t k = 0; k < session->run_count; k++) {
            struct scan_run *run = &session->runs[k];

            run->selected &=
                !(without_ops && run->without_ops) && !(lacks_events && run->lacks_events);
        }
    }
}

void query_skip_incomplete(struct reading *reading)
{
    const bool all_count = reading->question->totals || reading->question->runs_without_events;
    const struct short_runs runs = count_short(reading);
    struct basis *basis = reading->basis;
    uint64_t whole = runs.count[0][0], lacking = runs.count[0][1];
    bool skips_without_ops;

    basis->runs_with_ops = whole + lacking;
    basis->runs_without_ops = runs.count[1][0] + runs.count[1][1];
    /* Left out on purpose: what ops take in a run is that of the others. */
    skips_without_ops = basis->runs_with_ops && !all_count;
    if (!skips_without_ops) {
        whole += runs.count[1][0];
        lacking += runs.count[1][1];
    }
    basis->lacks_whole_runs = lacking && !whole;
    if (!whole || all_count)
        lacking = 0;
    basis->dropped_skipped = lacking;
    if ((skips_without_ops && basis->runs_without_ops) || lacking)
        unselect(reading, skips_without_ops, lacking > 0);
}
