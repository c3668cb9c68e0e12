/* SPDX-License-Identifier: Apache-2.0 */
/* What the waits of an export of Nsight Systems are for. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/import/nsys/private.h"
#include "analyze/import/values.h"
#include "base/json.h"
#include "base/sorted.h"

/* --- Records of events. --- */

static int compare_records(const void *a, const void *b)
{
    const struct nsys_record *left = a, *right = b;

    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->event != right->event)
        return left->event < right->event ? -1 : 1;
    return (left->correlation > right->correlation) - (left->correlation < right->correlation);
}

int nsys_read_records(struct nsys *nsys, struct diag *diag)
{
    static const char *const sql[] = {
        "SELECT globalPid, eventId, eventSyncId, correlationId, streamId"
        "  FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        /* Older ones do not tell the records of an event apart. */
        "SELECT globalPid, eventId, 0, correlationId, streamId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    };
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_ERROR;

    for (int i = 0; i < 2 && code != SQLITE_OK; i++)
        code = sqlite3_prepare_v2(nsys->db, sql[i], -1, &statement, NULL);
    if (code != SQLITE_OK)
        return 0; /* no such table, or one of other columns: streams are not known */
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const struct nsys_record record = {
            sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
            sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 3),
            sqlite3_column_int64(statement, 4)};

        if (array_push(&nsys->records, record) < 0) {
            sqlite3_finalize(statement);
            return diag_set(diag, -ENOMEM, "no memory for the export");
        }
    }
    sqlite3_finalize(statement);
    if (nsys->records.count)
        qsort(nsys->records.items, nsys->records.count, sizeof(*nsys->records.items),
              compare_records);
    return code == SQLITE_DONE ? 0 : nsys_fail(nsys, diag);
}

const struct nsys_record *nsys_find_record(const struct nsys *nsys, const struct nsys_row *wait)
{
    const struct nsys_record key = {
        .process = wait->process, .event = wait->event, .correlation = wait->correlation};
    size_t low = 0, high = nsys->records.count;

    if (wait->event == STORE_NULL || wait->correlation == STORE_NULL)
        return NULL;
    low = search_past(low, high, middle, compare_records(&nsys->records.items[middle], &key) < 0);
    /* The last one before the wait, or the one that it names. */
    for (; low > 0; low--) {
        const struct nsys_record *record = &nsys->records.items[low - 1];

        if (record->process != wait->process || record->event != wait->event)
            return NULL;
        if (record->event_sync == wait->event_sync || !record->event_sync || !wait->event_sync)
            return record;
    }
    return NULL;
}

/* --- Streams. --- */

uint32_t nsys_stream_lane(const struct nsys *nsys, int64_t process, int64_t stream)
{
    for (size_t i = 0; i < nsys->streams.count; i++) {
        if (nsys->streams.items[i].process == process && nsys->streams.items[i].stream == stream)
            return nsys->streams.items[i].lane;
    }
    return IMPORT_NONE;
}

bool nsys_holds_stream(const struct nsys *nsys, const struct nsys_row *wait)
{
    return wait->detail == NSYS_STREAM_WAIT_EVENT && nsys_find_record(nsys, wait);
}

int64_t nsys_awaited_stream(const struct nsys *nsys, const struct nsys_row *wait)
{
    const struct nsys_record *record = nsys_find_record(nsys, wait);

    if (record)
        return record->stream;
    return wait->detail == NSYS_STREAM_SYNC ? wait->stream : STORE_NULL;
}

char *nsys_wait_params(const struct nsys *nsys, const struct nsys_row *wait)
{
    int64_t stream = nsys_awaited_stream(nsys, wait);
    struct json_writer json;

    if (stream == STORE_NULL && wait->detail != NSYS_CONTEXT_SYNC)
        return NULL;
    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "wait_on_lanes");
    json_begin_array(&json);
    for (size_t i = 0; i < nsys->streams.count; i++) {
        const struct nsys_stream *item = &nsys->streams.items[i];

        if (item->process == wait->process && (stream == STORE_NULL || item->stream == stream))
            json_string(&json, nsys->importer.lanes.items[item->lane].name);
    }
    json_end_array(&json);
    json_end_object(&json);
    return import_take(&json);
}
