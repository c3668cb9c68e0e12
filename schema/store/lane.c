/* SPDX-License-Identifier: Apache-2.0 */
/* Remembering lanes. */
#include "schema/store/lane.h"

#include <errno.h>
#include <string.h>

#include "schema/store/private.h"

const char *const store_lane_kinds[STORE_LANE_KIND_COUNT] = {"thread", "stream", "queue"};

int store_lane_kind_of(const char *text)
{
    for (int i = 0; text && i < STORE_LANE_KIND_COUNT; i++) {
        if (strcmp(text, store_lane_kinds[i]) == 0)
            return i;
    }
    return -EINVAL;
}

int store_lane_read(struct store *store, int64_t lane_id, struct lane *out_lane, struct diag *diag)
{
    sqlite3_stmt *statement;
    int code, kind;
    int rc = store_statement(store, STORE_GET_LANE,
                             "SELECT session_id,kind FROM lane WHERE lane_id=?", &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, lane_id);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        kind = store_lane_kind_of((const char *)sqlite3_column_text(statement, 1));
        *out_lane = (struct lane){.lane_id = lane_id,
                                  .session_id = sqlite3_column_int64(statement, 0),
                                  .kind = (uint8_t)kind};
        if (kind < 0)
            rc = diag_set(diag, -EUCLEAN, "%s is damaged: lane %lld is of no known kind",
                          store->path, (long long)lane_id);
    } else if (code == SQLITE_DONE) {
        rc = diag_set(diag, -EINVAL, "an event on lane %lld, which is not in %s",
                      (long long)lane_id, store->path);
    } else {
        rc = store_fail(store, code, "read", diag);
    }
    sqlite3_reset(statement);
    if (rc < 0)
        out_lane->lane_id = 0;
    return rc;
}

void store_lane_forget(struct lane_cache *cache, int64_t lane_id)
{
    store_lane_slot(cache, lane_id)->lane_id = 0;
}

void store_lane_cache_clear(struct lane_cache *cache)
{
    memset(cache, 0, sizeof(*cache));
}
