/* SPDX-License-Identifier: Apache-2.0 */
/* What liboptrace measured of itself, by session, and which lanes have CPU counters. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/recording_overhead.h"
#include "analyze/query/private.h"

static void set_rate(struct recording_overhead_rate *plain, struct recording_overhead_rate *counted,
                     const char *name, double value)
{
    const struct {
        const char *name;
        double *value;
    } all[] = {
        {"recording.span_ns", &plain->span_ns},
        {"recording.empty_span_ns", &plain->empty_ns},
        {"recording.counted_span_ns", &counted->span_ns},
        {"recording.counted_empty_span_ns", &counted->empty_ns},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].name, name) == 0 && value >= 0)
            *all[i].value = value;
    }
}

static void set_session(const struct spans_answer *spans, int64_t session_id, const char *name,
                        double value, struct recording_overhead *out_overhead)
{
    for (size_t i = 0; i < spans->lanes.count; i++) {
        if (spans->lanes.items[i].session_id == session_id)
            set_rate(&out_overhead->plain[i], &out_overhead->counted[i], name, value);
    }
}

static int read_rates(struct store *store, const struct spans_answer *spans,
                      struct recording_overhead *out_overhead, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT o.session_id, o.name, c.value FROM counter c"
                           "  JOIN op o ON o.op_id = c.op_id"
                           " WHERE c.op_id IN (SELECT op_id FROM op WHERE type = 'counter'"
                           "                      AND name LIKE 'recording.%')"
                           " ORDER BY c.rowid",
                           &statement, diag);

    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        const char *name = (const char *)sqlite3_column_text(statement, 1);

        set_session(spans, query_int(statement, 0), name ? name : "",
                    sqlite3_column_double(statement, 2), out_overhead);
        rc = 0;
    }
    sqlite3_finalize(statement);
    return rc;
}

/* Lanes without readings have no counted spans, whatever their session measured. */
static int keep_counted(struct store *store, const struct spans_answer *spans,
                        struct recording_overhead *out_overhead, struct diag *diag)
{
    bool *is_counted = calloc(spans->lanes.count + 1, sizeof(*is_counted));
    sqlite3_stmt *statement = NULL;
    int rc = is_counted ? query_prepare(store,
                                        "SELECT DISTINCT lane_id FROM counter WHERE op_id IN"
                                        " (SELECT op_id FROM op WHERE type = 'counter'"
                                        "     AND name LIKE 'perf.%')",
                                        &statement, diag)
                        : diag_set(diag, -ENOMEM, "no memory for the lanes");

    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        for (size_t i = 0; i < spans->lanes.count; i++)
            is_counted[i] |= spans->lanes.items[i].lane_id == query_int(statement, 0);
        rc = 0;
    }
    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        if (!is_counted[i])
            out_overhead->counted[i] = (struct recording_overhead_rate){NAN, NAN};
    }
    sqlite3_finalize(statement);
    free(is_counted);
    return rc;
}

int query_recording_overhead(struct store *store, const struct spans_answer *spans,
                             struct recording_overhead *out_overhead, struct diag *diag)
{
    const size_t count = spans->lanes.count + 1;
    int rc;

    *out_overhead = (struct recording_overhead){
        .plain = malloc(count * sizeof(*out_overhead->plain)),
        .counted = malloc(count * sizeof(*out_overhead->counted)),
    };
    if (!out_overhead->plain || !out_overhead->counted)
        return diag_set(diag, -ENOMEM, "no memory for the lanes");
    for (size_t i = 0; i < count; i++)
        out_overhead->plain[i] = out_overhead->counted[i] =
            (struct recording_overhead_rate){NAN, NAN};
    rc = read_rates(store, spans, out_overhead, diag);
    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++) {
        if (!isnan(out_overhead->counted[i].span_ns))
            return keep_counted(store, spans, out_overhead, diag);
    }
    return rc;
}
