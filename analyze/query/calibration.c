/* SPDX-License-Identifier: Apache-2.0 */
/* What a host can do at best, as it was last measured. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/query/private.h"

static void set_value(struct calibration *out_calibration, const char *name, double value)
{
    const struct {
        const char *name;
        double *value;
    } all[] = {
        {"calibration.threads", &out_calibration->threads},
        {"calibration.flop_per_s_1_thread", &out_calibration->one.flop_per_s},
        {"calibration.bytes_per_s_1_thread", &out_calibration->one.bytes_per_s},
        {"calibration.flop_per_s_all_threads", &out_calibration->all.flop_per_s},
        {"calibration.bytes_per_s_all_threads", &out_calibration->all.bytes_per_s},
        {"calibration.device_flop_per_s", &out_calibration->device.flop_per_s},
        {"calibration.device_bytes_per_s", &out_calibration->device.bytes_per_s},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].name, name) == 0 && value > 0)
            *all[i].value = value;
    }
}

int query_calibration(struct store *store, const char *host, struct calibration *out_calibration,
                      struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc;

    *out_calibration =
        (struct calibration){STORE_NULL, NAN, {NAN, NAN}, {NAN, NAN}, {NAN, NAN}, STORE_NULL};
    rc = query_prepare(store,
                       "SELECT o.name, c.value, s.session_id FROM op o"
                       "  JOIN counter c ON c.op_id = o.op_id"
                       "  JOIN session s ON s.session_id = o.session_id"
                       " WHERE o.type = 'counter' AND o.name LIKE 'calibration.%'"
                       "   AND s.host IS ?1 ORDER BY c.time_ns",
                       &statement, diag);
    if (rc == 0)
        sqlite3_bind_text(statement, 1, host, -1, SQLITE_TRANSIENT);
    while (rc == 0 && (rc = query_step(store, statement, diag)) == 1) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);

        set_value(out_calibration, name ? name : "", sqlite3_column_double(statement, 1));
        if (name && strncmp(name, "calibration.device_", 19) == 0)
            out_calibration->device_session_id = query_int(statement, 2);
        else
            out_calibration->session_id = query_int(statement, 2);
        rc = 0;
    }
    sqlite3_finalize(statement);
    return rc;
}
