/* SPDX-License-Identifier: Apache-2.0 */
/* Appending the rows that are written a lot. */
#include <errno.h>

#include "schema/store_private.h"

static int add_event(struct store *store, const struct store_event *row, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_ADD_EVENT,
                             "INSERT INTO event(lane_id,op_id,run,start_ns,dur_ns,kern_ns,"
                             "correlation,bytes) VALUES(?,?,?,?,?,?,?,?)",
                             &statement, diag);

    if (rc < 0)
        return rc;
    store_bind_int(statement, 1, row->lane_id);
    store_bind_int(statement, 2, row->op_id);
    store_bind_int(statement, 3, row->run);
    store_bind_int(statement, 4, row->start_ns);
    store_bind_int(statement, 5, row->dur_ns);
    store_bind_int(statement, 6, row->kern_ns);
    store_bind_int(statement, 7, row->correlation);
    store_bind_int(statement, 8, row->bytes);
    return store_step(store, statement, "write", diag);
}

int store_add_events(struct store *store, const struct store_event *rows, size_t count,
                     struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_event(store, &rows[i], diag);
    return rc;
}

static int add_memory_event(struct store *store, const struct store_memory_event *row,
                            struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_ADD_MEMORY_EVENT,
                             "INSERT INTO memory_event(lane_id,op_id,run,time_ns,address,bytes)"
                             " VALUES(?,?,?,?,?,?)",
                             &statement, diag);

    if (rc < 0)
        return rc;
    store_bind_int(statement, 1, row->lane_id);
    store_bind_int(statement, 2, row->op_id);
    store_bind_int(statement, 3, row->run);
    store_bind_int(statement, 4, row->time_ns);
    store_bind_int(statement, 5, row->address);
    store_bind_int(statement, 6, row->bytes);
    return store_step(store, statement, "write", diag);
}

int store_add_memory_events(struct store *store, const struct store_memory_event *rows,
                            size_t count, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_memory_event(store, &rows[i], diag);
    return rc;
}

static int add_counter(struct store *store, const struct store_counter *row, struct diag *diag)
{
    sqlite3_stmt *statement;
    int rc = store_statement(store, STORE_ADD_COUNTER,
                             "INSERT INTO counter(lane_id,op_id,run,time_ns,value)"
                             " VALUES(?,?,?,?,?)",
                             &statement, diag);

    if (rc < 0)
        return rc;
    store_bind_int(statement, 1, row->lane_id);
    store_bind_int(statement, 2, row->op_id);
    store_bind_int(statement, 3, row->run);
    store_bind_int(statement, 4, row->time_ns);
    sqlite3_bind_double(statement, 5, row->value); /* NaN becomes NULL */
    return store_step(store, statement, "write", diag);
}

int store_add_counters(struct store *store, const struct store_counter *rows, size_t count,
                       struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_counter(store, &rows[i], diag);
    return rc;
}
