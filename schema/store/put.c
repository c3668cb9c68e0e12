/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tables that are written seldom: one prepared statement each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "schema/store/private.h"

/* Binds the columns of one row from left to right; the first failure is kept. */
struct binder {
    struct store *store;
    sqlite3_stmt *statement;
    struct bulk *bulk; /* NULL: the row is written at once */
    int column;
    int code;
};

static void note_code(struct binder *binder, int code)
{
    if (binder->code == SQLITE_OK)
        binder->code = code;
}

static void bind_int(struct binder *binder, int64_t value)
{
    if (binder->bulk) {
        bulk_int(binder->bulk, value);
        return;
    }
    note_code(binder, store_bind_int(binder->statement, ++binder->column, value));
}

static void bind_text(struct binder *binder, const char *text)
{
    if (binder->bulk) {
        bulk_text(binder->bulk, text);
        return;
    }
    note_code(binder,
              sqlite3_bind_text(binder->statement, ++binder->column, text, -1, SQLITE_STATIC));
}

/* The number of a text that is in the table text, 0: the text itself. */
static void bind_text_or_number(struct binder *binder, const char *text, int64_t number)
{
    if (number)
        bind_int(binder, number);
    else
        bind_text(binder, text);
}

static void bind_blob(struct binder *binder, const void *bytes, size_t size)
{
    note_code(binder,
              sqlite3_bind_blob64(binder->statement, ++binder->column, bytes, size, SQLITE_STATIC));
}

enum { SQL_MAX = 2048 };

static void append(char *sql, const char *text, size_t length)
{
    size_t used = strlen(sql);

    if (used + length < SQL_MAX)
        memcpy(sql + used, text, length);
}

/* "ON CONFLICT(key) DO UPDATE SET ...", so that a row put again keeps its key and gets the new
 * values. */
static void format_conflict(char *sql, const char *key, const char *columns)
{
    const char *word = columns;
    size_t length;

    append(sql, " ON CONFLICT(", 13);
    append(sql, key, strlen(key));
    append(sql, ") DO UPDATE SET ", 16);
    for (; *word; word += length + (word[length] == ',')) {
        length = strcspn(word, ",");
        if (word != columns)
            append(sql, ",", 1);
        append(sql, word, length);
        append(sql, "=excluded.", 10);
        append(sql, word, length);
    }
}

/* "INSERT INTO table(columns) VALUES(?,...) ON CONFLICT ..." */
static void format_upsert(char *sql, const char *table, const char *key, const char *columns)
{
    memset(sql, 0, SQL_MAX);
    snprintf(sql, SQL_MAX, "INSERT INTO %s(%s) VALUES(?", table, columns);
    for (const char *at = columns; (at = strchr(at, ',')); at++)
        append(sql, ",?", 2);
    append(sql, ")", 1);
    format_conflict(sql, key, columns);
}

static int begin_row(struct store *store, struct binder *binder, enum store_statement which,
                     const char *table, const char *key, const char *columns, struct diag *diag)
{
    char sql[SQL_MAX] = "";

    memset(binder, 0, sizeof(*binder));
    binder->store = store;
    if (!store->statements[which])
        format_upsert(sql, table, key, columns);
    return store_statement(store, which, sql, &binder->statement, diag);
}

static int finish_row(struct binder *binder, struct diag *diag)
{
    int rc;

    if (binder->code == SQLITE_OK) {
        rc = store_step(binder->store, binder->statement, "write", diag);
    } else {
        rc = store_fail(binder->store, binder->code, "write", diag);
        sqlite3_reset(binder->statement);
    }
    sqlite3_clear_bindings(binder->statement); /* the texts are the caller's again */
    return rc;
}

/* --- Rows that are put many at a time. --- */

static const struct bulk_table {
    const char *name, *key, *columns;
    enum store_statement put;
} bulk_tables[] = {
    [STORE_BULK_OP] = {"op_row", "op_id",
                       "op_id,session_id,client_op,model_id,name,type,node_id,device,input_shapes,"
                       "input_dtypes,output_shapes,output_dtypes,params,computation_flop,"
                       "memory_bytes,workspace_bytes,source,origin,origin_texts",
                       STORE_PUT_OP},
    [STORE_BULK_MEM_CHUNK] = {"mem_chunk", "mem_chunk_id",
                              "mem_chunk_id,session_id,client_chunk,size_bytes,owner",
                              STORE_PUT_MEM_CHUNK},
    [STORE_BULK_VARIABLE] = {"variable", "variable_id",
                             "variable_id,session_id,client_var,name,dtype,shape,producer_op,"
                             "mem_chunk_id,offset_bytes",
                             STORE_PUT_VARIABLE},
};

static size_t count_columns(const char *columns)
{
    size_t count = 1;

    for (; (columns = strchr(columns, ',')); columns++)
        count++;
    return count;
}

/* OR FAIL spares the statement a journal of its own: who is told of a failure rolls back anyway. */
static int flush_table(struct store *store, enum store_bulk which, struct diag *diag)
{
    const struct bulk_table *table = &bulk_tables[which];
    char insert[SQL_MAX] = "", conflict[SQL_MAX] = "";

    if (!store->bulks[which].statement) {
        snprintf(insert, sizeof(insert), "INSERT OR FAIL INTO %s(%s)", table->name, table->columns);
        format_conflict(conflict, table->key, table->columns);
    }
    return store_bulk_write(store, &store->bulks[which], insert, conflict, diag);
}

int store_gather(struct store *store, struct diag *diag)
{
    int rc = store_know_gathered(store, diag);

    store->gathers |= rc == 0;
    return rc;
}

int store_flush(struct store *store, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof(bulk_tables) / sizeof(bulk_tables[0]) && rc == 0; i++)
        rc = flush_table(store, (enum store_bulk)i, diag);
    return rc;
}

static int begin_bulk_row(struct store *store, struct binder *binder, enum store_bulk which,
                          struct diag *diag)
{
    const struct bulk_table *table = &bulk_tables[which];

    if (!store->gathers)
        return begin_row(store, binder, table->put, table->name, table->key, table->columns, diag);
    *binder = (struct binder){.store = store, .bulk = &store->bulks[which]};
    if (!binder->bulk->column_count)
        binder->bulk->column_count = count_columns(table->columns);
    return 0;
}

static int finish_bulk_row(struct binder *binder, enum store_bulk which, struct diag *diag)
{
    int rc;

    if (!binder->bulk)
        return finish_row(binder, diag);
    rc = bulk_end_row(binder->bulk);
    if (rc < 0)
        return diag_set(diag, rc, "no memory to write %s", binder->store->path);
    return rc ? flush_table(binder->store, which, diag) : 0;
}

int store_put_session(struct store *store, const struct store_session *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_row(store, &b, STORE_PUT_SESSION, "session", "session_id",
                       "session_id,uuid,start_ns,end_ns,end_reason,program,command,library,host,"
                       "pid,uid,clock,source,note,environment,damage_count",
                       diag);

    if (rc < 0)
        return rc;
    bind_int(&b, row->session_id);
    bind_blob(&b, row->uuid, sizeof(row->uuid));
    bind_int(&b, row->start_ns);
    bind_int(&b, row->end_ns);
    bind_text(&b, row->end_reason);
    bind_text(&b, row->program);
    bind_text(&b, row->command);
    bind_text(&b, row->library);
    bind_text(&b, row->host);
    bind_int(&b, row->pid);
    bind_int(&b, row->uid);
    bind_text(&b, row->clock);
    bind_text(&b, row->source);
    bind_text(&b, row->note);
    bind_text(&b, row->environment);
    bind_int(&b, row->damage_count);
    return finish_row(&b, diag);
}

int store_put_model(struct store *store, const struct store_model *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_row(
        store, &b, STORE_PUT_MODEL, "model", "model_id",
        "model_id,session_id,client_model,name,path,format,producer,digest,parameter_bytes", diag);

    if (rc < 0)
        return rc;
    bind_int(&b, row->model_id);
    bind_int(&b, row->session_id);
    bind_int(&b, row->client_model);
    bind_text(&b, row->name);
    bind_text(&b, row->path);
    bind_text(&b, row->format);
    bind_text(&b, row->producer);
    bind_text(&b, row->digest);
    bind_int(&b, row->parameter_bytes);
    return finish_row(&b, diag);
}

int store_put_text(struct store *store, const struct store_text *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_row(store, &b, STORE_PUT_TEXT, "text", "session_id,text_id",
                       "session_id,text_id,value", diag);

    if (rc < 0)
        return rc;
    bind_int(&b, row->session_id);
    bind_int(&b, row->text_id);
    bind_text(&b, row->value);
    return finish_row(&b, diag);
}

int store_put_op(struct store *store, const struct store_op *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_bulk_row(store, &b, STORE_BULK_OP, diag);

    if (rc < 0)
        return rc;
    store_total_forget_op(&store->totals, row->op_id);
    bind_int(&b, row->op_id);
    bind_int(&b, row->session_id);
    bind_int(&b, row->client_op);
    bind_int(&b, row->model_id);
    bind_text_or_number(&b, row->name, row->text_ids.name);
    bind_text_or_number(&b, row->type, row->text_ids.type);
    bind_text_or_number(&b, row->node_id, row->text_ids.node_id);
    bind_text_or_number(&b, row->device, row->text_ids.device);
    bind_text(&b, row->input_shapes);
    bind_text(&b, row->input_dtypes);
    bind_text(&b, row->output_shapes);
    bind_text(&b, row->output_dtypes);
    bind_text_or_number(&b, row->params, row->text_ids.params);
    bind_int(&b, row->computation_flop);
    bind_int(&b, row->memory_bytes);
    bind_int(&b, row->workspace_bytes);
    bind_text_or_number(&b, row->source, row->text_ids.source);
    bind_text(&b, row->origin);
    bind_text(&b, row->origin_texts);
    return finish_bulk_row(&b, STORE_BULK_OP, diag);
}

int store_put_lane(struct store *store, const struct store_lane *row, struct diag *diag)
{
    struct binder b;
    int rc;

    if (store_lane_kind_of(row->kind) < 0)
        return diag_set(diag, -EINVAL, "a lane of the unknown kind '%.40s'",
                        row->kind ? row->kind : "");
    store_lane_forget(&store->lanes, row->lane_id);
    rc = begin_row(store, &b, STORE_PUT_LANE, "lane", "lane_id",
                   "lane_id,session_id,client_lane,kind,name,device,native_id", diag);
    if (rc < 0)
        return rc;
    bind_int(&b, row->lane_id);
    bind_int(&b, row->session_id);
    bind_int(&b, row->client_lane);
    bind_text(&b, row->kind);
    bind_text(&b, row->name);
    bind_text(&b, row->device);
    bind_int(&b, row->native_id);
    return finish_row(&b, diag);
}

static int finish_run(struct binder *binder, const struct store_run *row, struct diag *diag)
{
    bind_int(binder, row->session_id);
    bind_int(binder, row->run);
    bind_int(binder, row->model_id);
    bind_int(binder, row->lane_id);
    bind_int(binder, row->start_ns);
    bind_int(binder, row->end_ns);
    bind_int(binder, row->warmup != 0);
    bind_int(binder, row->without_ops != 0);
    return finish_row(binder, diag);
}

int store_put_run(struct store *store, const struct store_run *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_row(store, &b, STORE_PUT_RUN, "run", "session_id,run",
                       "session_id,run,model_id,lane_id,start_ns,end_ns,warmup,without_ops", diag);

    if (rc == 0)
        rc = finish_run(&b, row, diag);
    return rc < 0 ? rc : store_total_note_run(store, row, diag);
}

int store_put_cursor(struct store *store, const struct store_cursor *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_row(store, &b, STORE_PUT_CURSOR, "ingest_cursor", "session_id,ring_id",
                       "session_id,ring_id,committed,gaps,clock,complete_ns,process", diag);

    if (rc < 0)
        return rc;
    bind_int(&b, row->session_id);
    bind_int(&b, row->ring_id);
    bind_int(&b, row->committed);
    bind_blob(&b, row->gaps, row->gaps_bytes);
    bind_blob(&b, row->clock, row->clock_bytes);
    bind_int(&b, row->complete_ns ? row->complete_ns : STORE_NULL);
    bind_text(&b, row->process);
    return finish_row(&b, diag);
}

int store_drop_cursor(struct store *store, int64_t session_id, int64_t ring_id, struct diag *diag)
{
    struct binder b = {.store = store};
    int rc = store_statement(store, STORE_DROP_CURSOR,
                             "DELETE FROM ingest_cursor WHERE session_id = ? AND ring_id = ?",
                             &b.statement, diag);

    if (rc < 0)
        return rc;
    bind_int(&b, session_id);
    bind_int(&b, ring_id);
    return finish_row(&b, diag);
}

int store_put_mem_chunk(struct store *store, const struct store_mem_chunk *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_bulk_row(store, &b, STORE_BULK_MEM_CHUNK, diag);

    if (rc < 0)
        return rc;
    bind_int(&b, row->mem_chunk_id);
    bind_int(&b, row->session_id);
    bind_text(&b, row->client_chunk);
    bind_int(&b, row->size_bytes);
    bind_text(&b, row->owner);
    return finish_bulk_row(&b, STORE_BULK_MEM_CHUNK, diag);
}

int store_put_variable(struct store *store, const struct store_variable *row, struct diag *diag)
{
    struct binder b;
    int rc = begin_bulk_row(store, &b, STORE_BULK_VARIABLE, diag);

    if (rc < 0)
        return rc;
    bind_int(&b, row->variable_id);
    bind_int(&b, row->session_id);
    bind_text(&b, row->client_var);
    bind_text(&b, row->name);
    bind_text(&b, row->dtype);
    bind_text(&b, row->shape);
    bind_int(&b, row->producer_op);
    bind_int(&b, row->mem_chunk_id);
    bind_int(&b, row->offset_bytes);
    return finish_bulk_row(&b, STORE_BULK_VARIABLE, diag);
}

int store_add_gap(struct store *store, const struct store_gap *row, struct diag *diag)
{
    struct binder b = {.store = store};
    int rc = store_statement(store, STORE_ADD_GAP,
                             "INSERT INTO gap(session_id,lane_id,reason,lost_count,start_ns,end_ns)"
                             " VALUES(?,?,?,?,?,?)",
                             &b.statement, diag);

    if (rc < 0)
        return rc;
    bind_int(&b, row->session_id);
    bind_int(&b, row->lane_id);
    bind_text(&b, row->reason);
    bind_int(&b, row->lost_count);
    bind_int(&b, row->start_ns);
    bind_int(&b, row->end_ns);
    return finish_row(&b, diag);
}

static int drop_cursors(struct store *store, int64_t session_id, struct diag *diag)
{
    struct binder b = {.store = store};
    int rc = store_statement(store, STORE_DROP_CURSORS,
                             "DELETE FROM ingest_cursor WHERE session_id=?", &b.statement, diag);

    if (rc < 0)
        return rc;
    bind_int(&b, session_id);
    return finish_row(&b, diag);
}

int store_end_session(struct store *store, int64_t session_id, int64_t end_ns, const char *reason,
                      const char *note, struct diag *diag)
{
    struct binder b = {.store = store};
    int rc = store_statement(store, STORE_END_SESSION,
                             "UPDATE session SET end_ns=?, end_reason=?, note=coalesce(?,note)"
                             " WHERE session_id=?",
                             &b.statement, diag);

    if (rc < 0)
        return rc;
    bind_int(&b, end_ns);
    bind_text(&b, reason);
    bind_text(&b, note);
    bind_int(&b, session_id);
    rc = finish_row(&b, diag);
    store->totals.wants_write = true;
    store_total_note_end(&store->totals, session_id);
    return rc < 0 ? rc : drop_cursors(store, session_id, diag);
}

int store_last_ids(struct store *store, struct store_ids *out_ids, struct diag *diag)
{
    struct store_ids ids;
    const struct {
        const char *sql;
        int64_t *value;
    } queries[] = {
        {"SELECT max(session_id) FROM session", &ids.session_id},
        {"SELECT max(model_id) FROM model", &ids.model_id},
        {"SELECT max(op_id) FROM op_row", &ids.op_id},
        {"SELECT max(lane_id) FROM lane", &ids.lane_id},
        {"SELECT max(mem_chunk_id) FROM mem_chunk", &ids.mem_chunk_id},
        {"SELECT max(variable_id) FROM variable", &ids.variable_id},
    };

    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        int rc = store_query_int(store, queries[i].sql, queries[i].value, diag);

        if (rc < 0)
            return rc;
    }
    *out_ids = ids;
    return 0;
}
