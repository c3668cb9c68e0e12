/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that a daemon adds: many with one statement, up to one whose number was used before. */
#include <errno.h>

#include "schema/store/private.h"

/* Who gives each number twice ends each statement at once: it begins with a few rows. */
enum { PART_MIN = 32, RUN_COLUMNS = 8 };

static int gather_run(struct bulk *bulk, const struct store_run *row)
{
    bulk_int(bulk, row->session_id);
    bulk_int(bulk, row->run);
    bulk_int(bulk, row->model_id);
    bulk_int(bulk, row->lane_id);
    bulk_int(bulk, row->start_ns);
    bulk_int(bulk, row->end_ns);
    bulk_int(bulk, row->warmup != 0);
    bulk_int(bulk, row->without_ops != 0);
    return bulk_end_row(bulk);
}

/* OR FAIL leaves the rows before the one that cannot be added. */
static int write_runs(struct store *store, struct bulk *bulk, size_t *out_added, struct diag *diag)
{
    const size_t count = bulk->row_count;
    struct diag why = {0};
    int rc = store_bulk_write(
        store, bulk,
        "INSERT OR FAIL INTO run(session_id,run,model_id,lane_id,start_ns,end_ns,warmup,without_ops)",
        "", &why);

    if (rc == 0) {
        *out_added = count;
        return 0;
    }
    if (sqlite3_extended_errcode(store->db) != SQLITE_CONSTRAINT_PRIMARYKEY)
        return diag_set(diag, rc, "%s", why.text);
    *out_added = (size_t)sqlite3_changes(store->db);
    return 0;
}

int store_add_runs(struct store *store, const struct store_run *rows, size_t count,
                   size_t *out_added, struct diag *diag)
{
    struct bulk *bulk = &store->bulks[STORE_BULK_RUN];
    size_t done = 0, part = PART_MIN, added = 0;
    int rc = store_know_gathered(store, diag);

    bulk->column_count = RUN_COLUMNS;
    while (rc == 0 && done < count) {
        part = part < count - done ? part : count - done;
        for (size_t i = 0; i < part && rc >= 0; i++)
            rc = gather_run(bulk, &rows[done + i]);
        if (rc < 0) {
            bulk_clear(bulk);
            return diag_set(diag, rc, "no memory to write %s", store->path);
        }
        rc = write_runs(store, bulk, &added, diag);
        for (size_t i = 0; i < added && rc == 0; i++)
            rc = store_total_note_run(store, &rows[done + i], diag);
        done += rc == 0 ? added : 0;
        if (rc < 0 || added < part)
            break;
        part = 2 * part < BULK_ROWS ? 2 * part : BULK_ROWS;
    }
    if (rc == 0)
        *out_added = done;
    return rc;
}
