/* SPDX-License-Identifier: Apache-2.0 */
/* One SELECT for who is alike, one for how long their runs took. */
#include "analyze/query/earlier_sessions.h"

#include <math.h>
#include <string.h>

#include "analyze/query/statement.h"
#include "analyze/stats/describe.h"

#define MODELS(session)                                                                            \
    "(SELECT group_concat(model) FROM (SELECT json_array(name, path, digest, parameter_bytes)"     \
    " AS model FROM model WHERE session_id = " session ".session_id ORDER BY client_model))"
#define CPU(session)                                                                               \
    "CASE json_valid(" session ".environment) WHEN 1 THEN"                                         \
    " json_extract(" session ".environment, '$.cpu') END"

#define MODELS_ARE_ALIKE MODELS("s") " IS " MODELS("b")
#define CPUS_ARE_ALIKE   CPU("s") " IS " CPU("b")

/* Sessions like ?1 that began before ?2 or then; the newest first. */
static const char alike_sql[] =
    "SELECT s.session_id FROM session s, session b"
    " WHERE b.session_id = ?1 AND s.start_ns <= ?2 AND s.end_ns IS NOT NULL"
    "   AND s.host IS b.host AND s.program IS b.program AND s.command IS b.command"
    "   AND s.library IS b.library AND s.source IS b.source"
    "   AND " CPUS_ARE_ALIKE "   AND " MODELS_ARE_ALIKE
    "   AND EXISTS (SELECT 1 FROM run r WHERE r.session_id = s.session_id AND r.warmup = 0"
    "                                     AND r.end_ns IS NOT NULL)"
    " ORDER BY s.start_ns DESC, s.session_id DESC";

/* The median run of ?1 by nearest rank. */
static const char median_sql[] =
    "SELECT ns FROM (SELECT end_ns - start_ns AS ns, row_number() OVER (ORDER BY end_ns - start_ns)"
    "                       AS place, count(*) OVER () AS n FROM run"
    "                 WHERE session_id = ?1 AND warmup = 0 AND end_ns IS NOT NULL AND"
    "                       (without_ops = 0 OR NOT EXISTS (SELECT 1 FROM run w WHERE"
    "                         w.session_id = ?1 AND w.warmup = 0 AND w.end_ns IS NOT NULL"
    "                         AND w.without_ops = 0)))"
    " WHERE place = (n + 1) / 2";

static bool is_among(int64_t id, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* One number; *out_number stays as it is where there is no row. */
static int read_number(struct store *store, const char *sql, int64_t id, int64_t *out_number,
                       struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store, sql, &statement, diag);

    if (rc == 0) {
        sqlite3_bind_int64(statement, 1, id);
        rc = query_step(store, statement, diag);
        if (rc == 1)
            *out_number = query_int(statement, 0);
    }
    sqlite3_finalize(statement);
    return rc < 0 ? rc : 0;
}

static int find_variation(struct store *store, const int64_t *like, size_t like_count,
                          struct earlier_sessions *out_earlier, struct diag *diag)
{
    enum { LIKE_MAX = 100 };
    double medians[EARLIER_SESSIONS_MAX + LIKE_MAX];
    size_t all = out_earlier->count + (like_count < LIKE_MAX ? like_count : LIKE_MAX), count = 0;

    for (size_t i = 0; i < all; i++) {
        int64_t median = STORE_NULL;
        int rc = read_number(store, median_sql,
                             i < out_earlier->count ? out_earlier->session_ids[i]
                                                    : like[i - out_earlier->count],
                             &median, diag);

        if (rc < 0)
            return rc;
        if (median != STORE_NULL)
            medians[count++] = (double)median;
    }
    stats_sort(medians, count);
    if (count > 1 && stats_median(medians, count) > 0)
        out_earlier->variation =
            1.4826 * stats_median_distance(medians, count) / stats_median(medians, count);
    return 0;
}

int earlier_sessions_find(struct store *store, const int64_t *like, size_t like_count,
                          const int64_t *besides, size_t besides_count,
                          struct earlier_sessions *out_earlier, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    size_t alike = 0;
    int64_t latest_ns = INT64_MIN;
    int rc = 0;

    *out_earlier = (struct earlier_sessions){.variation = NAN};
    for (size_t i = 0; i < like_count && rc == 0; i++) {
        int64_t start_ns = INT64_MIN;

        rc = read_number(store, "SELECT start_ns FROM session WHERE session_id = ?1", like[i],
                         &start_ns, diag);
        if (rc == 0 && start_ns > latest_ns)
            latest_ns = start_ns;
    }
    if (rc == 0 && like_count)
        rc = query_prepare(store, alike_sql, &statement, diag);
    if (rc < 0 || !statement)
        return rc;
    sqlite3_bind_int64(statement, 1, like[0]);
    sqlite3_bind_int64(statement, 2, latest_ns);
    while ((rc = query_step(store, statement, diag)) == 1) {
        int64_t id = query_int(statement, 0);

        if (is_among(id, like, like_count))
            alike++;
        else if (out_earlier->count < EARLIER_SESSIONS_MAX && !is_among(id, besides, besides_count))
            out_earlier->session_ids[out_earlier->count++] = id;
    }
    sqlite3_finalize(statement);
    if (rc == 0 && alike < like_count)
        out_earlier->count = 0;
    return rc < 0 || !out_earlier->count
               ? rc
               : find_variation(store, like, like_count, out_earlier, diag);
}
