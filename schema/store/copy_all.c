/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sessions of one store into another, under new ids: each table is read with its ids shifted
 * behind those that are in use, and written as it stands, roll-ups and all. What was dropped from
 * the source thus stays counted.
 */
#include <errno.h>
#include <stdio.h>

#include "schema/store/private.h"

/* Parameters of the SELECTs: what to add to ids. */
enum shift {
    SHIFT_SESSION = 1,
    SHIFT_MODEL,
    SHIFT_OP,
    SHIFT_LANE,
    SHIFT_CHUNK,
    SHIFT_VARIABLE,
    SHIFT_EVENT, /* rowid */
    SHIFT_COUNT,
};

/* Sessions that are to be copied, and what belongs to them. */
#define IN_TAKEN      "session_id IN (SELECT session_id FROM temp.taken)"
#define LANE_IN_TAKEN "lane_id IN (SELECT lane_id FROM lane WHERE " IN_TAKEN ")"

/* Of a batch: its events of them, and which they are. */
#define IN_BATCH                                                                                   \
    "FROM event AS e WHERE e.rowid BETWEEN b.first_rowid AND b.last_rowid AND e." LANE_IN_TAKEN
#define BETWEEN "FROM temp.taken WHERE session_id BETWEEN b.session_min AND b.session_max"

/* In the order of their references. */
static const struct {
    const char *insert, *select;
} copies[] = {
    {"INSERT INTO session(session_id,uuid,start_ns,end_ns,end_reason,program,command,library,host,"
     "pid,uid,clock,source,note,environment,damage_count)"
     " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
     /* Nobody writes to the copy: a session that still runs ends in it with what there is. */
     "SELECT session_id+?1,uuid,start_ns,ifnull(end_ns,max(start_ns,ifnull((SELECT max(end_ns)"
     " FROM event_batch WHERE session_id BETWEEN session_min AND session_max),0))),"
     "ifnull(end_reason,'cut off'),program,command,library,host,pid,uid,clock,source,"
     "CASE WHEN end_ns IS NULL THEN 'imported while it was being recorded' ELSE note END,"
     "environment,damage_count FROM session WHERE " IN_TAKEN " ORDER BY session_id"},
    {"INSERT INTO model(model_id,session_id,client_model,name,path,format,producer,digest,"
     "parameter_bytes) VALUES(?,?,?,?,?,?,?,?,?)",
     "SELECT model_id+?2,session_id+?1,client_model,name,path,format,producer,digest,"
     "parameter_bytes FROM model WHERE " IN_TAKEN},
    {"INSERT INTO text(session_id,text_id,value) VALUES(?,?,?)",
     "SELECT session_id+?1,text_id,value FROM text WHERE " IN_TAKEN},
    {"INSERT INTO op_row(op_id,session_id,client_op,model_id,name,type,node_id,device,"
     "input_shapes,input_dtypes,output_shapes,output_dtypes,params,computation_flop,memory_bytes,"
     "workspace_bytes,source,origin,origin_texts) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
     "SELECT op_id+?3,session_id+?1,client_op,model_id+?2,name,type,node_id,device,input_shapes,"
     "input_dtypes,output_shapes,output_dtypes,params,computation_flop,memory_bytes,"
     "workspace_bytes,source,origin,origin_texts FROM op_row WHERE " IN_TAKEN},
    {"INSERT INTO lane(lane_id,session_id,client_lane,kind,name,device,native_id)"
     " VALUES(?,?,?,?,?,?,?)",
     "SELECT lane_id+?4,session_id+?1,client_lane,kind,name,device,native_id FROM lane"
     " WHERE " IN_TAKEN},
    {"INSERT INTO mem_chunk(mem_chunk_id,session_id,client_chunk,size_bytes,owner)"
     " VALUES(?,?,?,?,?)",
     "SELECT mem_chunk_id+?5,session_id+?1,client_chunk,size_bytes,owner FROM mem_chunk"
     " WHERE " IN_TAKEN},
    {"INSERT INTO variable(variable_id,session_id,client_var,name,dtype,shape,producer_op,"
     "mem_chunk_id,offset_bytes) VALUES(?,?,?,?,?,?,?,?,?)",
     "SELECT variable_id+?6,session_id+?1,client_var,name,dtype,shape,producer_op+?3,"
     "mem_chunk_id+?5,offset_bytes FROM variable WHERE " IN_TAKEN},
    {"INSERT INTO run(session_id,run,model_id,lane_id,start_ns,end_ns,warmup,without_ops)"
     " VALUES(?,?,?,?,?,?,?,?)",
     "SELECT session_id+?1,run,model_id+?2,lane_id+?4,start_ns,end_ns,warmup,without_ops FROM run"
     " WHERE " IN_TAKEN},
    {"INSERT INTO gap(session_id,lane_id,reason,lost_count,start_ns,end_ns) VALUES(?,?,?,?,?,?)",
     "SELECT session_id+?1,lane_id+?4,reason,lost_count,start_ns,end_ns FROM gap"
     " WHERE " IN_TAKEN},
    {"INSERT INTO dropped(session_id,reason,event_count,memory_event_count,counter_count,start_ns,"
     "end_ns,dropped_ns,run_count,rollup_event_count) VALUES(?,?,?,?,?,?,?,?,?,?)",
     "SELECT session_id+?1,reason,event_count,memory_event_count,counter_count,start_ns,end_ns,"
     "dropped_ns,run_count,rollup_event_count FROM dropped WHERE " IN_TAKEN},
    {"INSERT INTO event(rowid,lane_id,op_id,run,start_ns,dur_ns,kern_ns,correlation,bytes)"
     " VALUES(?,?,?,?,?,?,?,?,?)",
     "SELECT rowid+?7,lane_id+?4,op_id+?3,run,start_ns,dur_ns,kern_ns,correlation,bytes FROM event"
     " WHERE " LANE_IN_TAKEN " ORDER BY rowid"},
    {"INSERT INTO event_batch(first_rowid,last_rowid,start_ns,end_ns,dur_max_ns,session_min,"
     "session_max,lanes) VALUES(?,?,?,?,?,?,?,?)",
     /* A batch that sessions share which stay behind tells nothing of them. */
     "SELECT first_rowid+?7,last_rowid+?7,start_ns,end_ns,dur_max_ns,session_min+?1,session_max+?1,"
     "lanes FROM (SELECT first_rowid,last_rowid,iif(whole,start_ns,(SELECT "
     "min(e.start_ns) " IN_BATCH
     ")) AS start_ns,iif(whole,end_ns,(SELECT max(e.start_ns+ifnull(e.dur_ns,0)) " IN_BATCH
     ")) AS end_ns,iif(whole,dur_max_ns,(SELECT max(e.dur_ns) " IN_BATCH
     ")) AS dur_max_ns,(SELECT min(session_id) " BETWEEN
     ") AS session_min,(SELECT max(session_id) " BETWEEN
     ") AS session_max,CASE WHEN lanes IS NOT NULL THEN (SELECT json_group_array(value+?4)"
     " FROM json_each(lanes) WHERE value IN (SELECT lane_id FROM lane WHERE " IN_TAKEN
     ")) END AS lanes FROM (SELECT *,NOT EXISTS (SELECT 1 FROM session WHERE session_id BETWEEN"
     " session_min AND session_max AND NOT " IN_TAKEN ") AS whole FROM event_batch) AS b"
     " WHERE EXISTS (SELECT 1 " BETWEEN ")) WHERE start_ns IS NOT NULL"},
    {"INSERT INTO memory_event(lane_id,op_id,run,time_ns,address,bytes) VALUES(?,?,?,?,?,?)",
     "SELECT lane_id+?4,op_id+?3,run,time_ns,address,bytes FROM memory_event WHERE " LANE_IN_TAKEN
     " ORDER BY rowid"},
    {"INSERT INTO counter(lane_id,op_id,run,time_ns,value) VALUES(?,?,?,?,?)",
     "SELECT lane_id+?4,op_id+?3,run,time_ns,value FROM counter WHERE " LANE_IN_TAKEN
     " ORDER BY rowid"},
    {"INSERT INTO op_stat(bucket_ns,start_ns,op_id,lane_kind,event_count,sum_ns,min_ns,max_ns,"
     "kern_sum_ns,histogram) VALUES(?,?,?,?,?,?,?,?,?,?)",
     "SELECT bucket_ns,start_ns,op_id+?3,lane_kind,event_count,sum_ns,min_ns,max_ns,kern_sum_ns,"
     "histogram FROM op_stat WHERE op_id IN (SELECT op_id FROM op_row WHERE " IN_TAKEN ")"},
    {"INSERT INTO op_total(op_id,lane_kind,run_kind,run,event_count,sum_ns,nested_ns,min_ns,max_ns,"
     "kern_count,kern_sum_ns,exec_sum_ns,histogram,sized_count,sized_sum_ns,bytes,sort)"
     " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
     "SELECT op_id+?3,lane_kind,run_kind,run,event_count,sum_ns,nested_ns,min_ns,max_ns,kern_count,"
     "kern_sum_ns,exec_sum_ns,histogram,sized_count,sized_sum_ns,bytes,sort FROM op_total WHERE op_id IN (SELECT op_id FROM op_row"
     " WHERE " IN_TAKEN " AND session_id IN (SELECT session_id FROM session_total))"},
    /* Of those that lack nothing. */
    {"INSERT INTO session_total(session_id,unfinished_count,first_unfinished,last_unfinished,"
     "bad_count) VALUES(?,?,?,?,?)",
     "SELECT session_id+?1,unfinished_count,first_unfinished+?7,last_unfinished+?7,bad_count"
     " FROM session_total t WHERE " IN_TAKEN " AND NOT EXISTS (SELECT 1 FROM event_batch"
     " WHERE last_rowid>(SELECT CAST(value AS INTEGER) FROM meta WHERE key='totalled')"
     " AND t.session_id BETWEEN session_min AND session_max)"},
    /* Where they are of no use, the others are not there. */
    {"INSERT INTO session_cover VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
     "SELECT session_id+?1,has_runs,has_device_work,sealed_ns,first_ns,last_ns,wall_ns,recorded_ns,"
     "computing_ns,copying_ns,labels_ns,lanes_recorded_ns,lanes_computing_ns,lanes_copying_ns,"
     "lanes_labels_ns FROM session_cover WHERE " IN_TAKEN},
    {"INSERT INTO side_cover VALUES(?,?,?,?,?,?)",
     "SELECT session_id+?1,is_device,device,busy_ns,computing_ns,copying_ns FROM side_cover WHERE"
     " " IN_TAKEN},
    {"INSERT INTO lane_cover VALUES(?,?)",
     "SELECT lane_id+?4,busy_ns FROM lane_cover WHERE " LANE_IN_TAKEN},
};

static int copy_rows(struct store *to, struct store *from, const char *write, const char *select,
                     const int64_t shifts[SHIFT_COUNT], struct diag *diag)
{
    sqlite3_stmt *rows = NULL, *insert = NULL;
    int code = sqlite3_prepare_v2(from->db, select, -1, &rows, NULL), rc = 0;

    for (int i = SHIFT_SESSION; i < SHIFT_COUNT && i <= sqlite3_bind_parameter_count(rows); i++)
        sqlite3_bind_int64(rows, i, shifts[i]);
    if (code != SQLITE_OK)
        rc = store_fail(from, code, "read", diag);
    if (rc == 0 && (code = sqlite3_prepare_v2(to->db, write, -1, &insert, NULL)) != SQLITE_OK)
        rc = store_fail(to, code, "write", diag);
    while (rc == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        const int columns = sqlite3_column_count(rows);

        for (int i = 0; i < columns; i++)
            sqlite3_bind_value(insert, i + 1, sqlite3_column_value(rows, i));
        rc = store_step(to, insert, "write", diag);
    }
    if (rc == 0 && code != SQLITE_DONE)
        rc = store_fail(from, code, "read", diag);
    sqlite3_finalize(rows);
    sqlite3_finalize(insert);
    return rc;
}

/* What was selected, into the table temp.wanted of the source. */
static int fill_wanted(struct store *from, const struct store_copy_choice *choice,
                       struct diag *diag)
{
    sqlite3_stmt *insert = NULL;
    int code, rc = store_exec(from,
                              "CREATE TEMP TABLE IF NOT EXISTS taken(session_id INTEGER"
                              " PRIMARY KEY); DELETE FROM temp.taken;"
                              "CREATE TEMP TABLE IF NOT EXISTS wanted(session_id INTEGER,"
                              " pid INTEGER, program TEXT); DELETE FROM temp.wanted",
                              "read", diag);

    if (rc == 0 && (code = sqlite3_prepare_v2(from->db, "INSERT INTO temp.wanted VALUES(?,?,?)", -1,
                                              &insert, NULL)) != SQLITE_OK)
        rc = store_fail(from, code, "read", diag);
    for (size_t i = 0; i < choice->select_count && rc == 0; i++) {
        const struct store_copy_select *select = &choice->selects[i];

        sqlite3_clear_bindings(insert);
        if (select->session_id != STORE_NULL)
            sqlite3_bind_int64(insert, 1, select->session_id);
        if (select->pid != STORE_NULL)
            sqlite3_bind_int64(insert, 2, select->pid);
        sqlite3_bind_text(insert, 3, select->program, -1, SQLITE_STATIC);
        rc = store_step(from, insert, "read", diag);
    }
    sqlite3_finalize(insert);
    return rc;
}

/* The sessions that are chosen, with their uuid. */
static int prepare_sessions(struct store *from, const struct store_copy_choice *choice,
                            sqlite3_stmt **out_sessions)
{
    int code = sqlite3_prepare_v2(
        from->db,
        "SELECT session_id, uuid FROM session AS s WHERE (?1 IS NULL OR uid = ?1)"
        " AND ifnull(end_ns, ?2) >= ?2 AND (NOT ?3 OR EXISTS (SELECT 1 FROM temp.wanted AS w WHERE"
        " w.session_id = s.session_id OR w.pid = s.pid OR w.program = s.program))",
        -1, out_sessions, NULL);

    if (code == SQLITE_OK && choice->uid != STORE_NULL)
        code = sqlite3_bind_int64(*out_sessions, 1, choice->uid);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(*out_sessions, 2, choice->since_ns);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(*out_sessions, 3, choice->select_count > 0);
    return code;
}

/* Which of them are not there yet, into the table temp.taken of the source. */
static int choose_sessions(struct store *to, struct store *from,
                           const struct store_copy_choice *choice, size_t *out_taken,
                           size_t *out_known, struct diag *diag)
{
    sqlite3_stmt *sessions = NULL, *known = NULL, *take = NULL;
    int code, rc = fill_wanted(from, choice, diag);

    *out_taken = *out_known = 0;
    if (rc < 0)
        return rc;
    code = prepare_sessions(from, choice, &sessions);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(from->db, "INSERT INTO temp.taken VALUES(?)", -1, &take, NULL);
    if (code != SQLITE_OK)
        rc = store_fail(from, code, "read", diag);
    if (rc == 0 && (code = sqlite3_prepare_v2(to->db, "SELECT 1 FROM session WHERE uuid = ?", -1,
                                              &known, NULL)) != SQLITE_OK)
        rc = store_fail(to, code, "read", diag);
    while (rc == 0 && (code = sqlite3_step(sessions)) == SQLITE_ROW) {
        sqlite3_bind_value(known, 1, sqlite3_column_value(sessions, 1));
        if (sqlite3_step(known) == SQLITE_ROW) {
            ++*out_known;
        } else {
            ++*out_taken;
            sqlite3_bind_value(take, 1, sqlite3_column_value(sessions, 0));
            rc = store_step(from, take, "read", diag);
        }
        sqlite3_reset(known);
    }
    if (rc == 0 && code != SQLITE_DONE)
        rc = store_fail(from, code, "read", diag);
    sqlite3_finalize(sessions);
    sqlite3_finalize(known);
    sqlite3_finalize(take);
    return rc;
}

/* Behind what is here, so that nothing meets, and close to it. */
static int find_shifts(struct store *to, struct store *from, int64_t shifts[SHIFT_COUNT],
                       struct diag *diag)
{
    static const struct {
        enum shift shift;
        const char *last, *first; /* id in use here, and there */
    } ids[] = {
        {SHIFT_SESSION, "SELECT max(session_id) FROM session",
         "SELECT min(session_id) FROM temp.taken"},
        {SHIFT_MODEL, "SELECT max(model_id) FROM model", "SELECT min(model_id) FROM model"},
        {SHIFT_OP, "SELECT max(op_id) FROM op_row", "SELECT min(op_id) FROM op_row"},
        {SHIFT_LANE, "SELECT max(lane_id) FROM lane", "SELECT min(lane_id) FROM lane"},
        {SHIFT_CHUNK, "SELECT max(mem_chunk_id) FROM mem_chunk",
         "SELECT min(mem_chunk_id) FROM mem_chunk"},
        {SHIFT_VARIABLE, "SELECT max(variable_id) FROM variable",
         "SELECT min(variable_id) FROM variable"},
        {SHIFT_EVENT,
         "SELECT max(ifnull((SELECT max(rowid) FROM event), 0),"
         " ifnull((SELECT max(last_rowid) FROM event_batch), 0))",
         "SELECT min(ifnull((SELECT min(rowid) FROM event), 1),"
         " ifnull((SELECT min(first_rowid) FROM event_batch), 1))"},
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]) && rc == 0; i++) {
        int64_t last = 0, first = 0;

        rc = store_query_int(to, ids[i].last, &last, diag);
        if (rc == 0)
            rc = store_query_int(from, ids[i].first, &first, diag);
        shifts[ids[i].shift] = last - (first > 0 ? first - 1 : 0);
    }
    return rc;
}

/* Events that the source's roll-ups do not count yet. */
static int copy_waiting(struct store *to, struct store *from, const int64_t shifts[SHIFT_COUNT],
                        struct diag *diag)
{
    sqlite3_stmt *rows = NULL;
    int code = sqlite3_prepare_v2(
        from->db,
        "SELECT e.rowid+?7,e.lane_id+?4,e.op_id+?3,e.start_ns,e.dur_ns,e.kern_ns FROM v_op_waiting"
        " w CROSS JOIN event e ON e.rowid=w.event_id WHERE e." LANE_IN_TAKEN,
        -1, &rows, NULL);
    int rc =
        code == SQLITE_OK ? store_rollup_prepare(to, diag) : store_fail(from, code, "read", diag);

    if (rc == 0) {
        sqlite3_bind_int64(rows, SHIFT_OP, shifts[SHIFT_OP]);
        sqlite3_bind_int64(rows, SHIFT_LANE, shifts[SHIFT_LANE]);
        sqlite3_bind_int64(rows, SHIFT_EVENT, shifts[SHIFT_EVENT]);
        rc = store_rollup_count(to, from, rows, diag);
    }
    sqlite3_finalize(rows);
    return rc;
}

/* Sessions that did not end and that nobody records any more: what came after is not known. */
static const char abandoned_insert[] =
    "INSERT INTO gap(session_id,lane_id,reason,lost_count,start_ns,end_ns)"
    " VALUES(?,NULL,'no daemon',NULL,?,NULL)";
static const char abandoned_select[] =
    "SELECT s.session_id+?1,coalesce(c.complete_ns,(SELECT max(end_ns) FROM event_batch"
    " WHERE s.session_id BETWEEN session_min AND session_max),s.start_ns) FROM session s"
    " LEFT JOIN ingest_cursor c ON c.session_id=s.session_id AND c.ring_id=0"
    " WHERE s.end_ns IS NULL AND s.source='live' AND s." IN_TAKEN;

/* Events that are copied have their totals beside them, or none: nobody is to count them. */
static int pass_over_copied(struct store *to, bool was_totalled, struct diag *diag)
{
    return was_totalled ? store_exec(to,
                                     "REPLACE INTO meta SELECT 'totalled',"
                                     "CAST(ifnull(max(rowid),0) AS TEXT) FROM event",
                                     "write", diag)
                        : 0;
}

int store_copy_some(struct store *to, struct store *from, const struct store_copy_choice *choice,
                    size_t *out_taken, size_t *out_known, struct diag *diag)
{
    const bool has_writer = store_has_writer(from);
    int64_t shifts[SHIFT_COUNT] = {0}, was_totalled = 0;
    int rc = store_flush(to, diag);

    if (rc == 0) /* of what came before */
        rc = store_batch_write(to, diag);
    if (rc == 0)
        rc = store_rollup_write(to, diag);
    if (rc == 0)
        rc = store_total_settle_events(to, INT64_MAX, diag);
    if (rc == 0)
        rc = store_query_int(to,
                             "SELECT (SELECT CAST(value AS INTEGER) FROM meta WHERE key='totalled')"
                             ">=ifnull((SELECT max(rowid) FROM event),0)",
                             &was_totalled, diag);
    if (rc == 0)
        rc = store_exec(from, "BEGIN", "read", diag); /* one moment of it */
    if (rc == 0)
        rc = choose_sessions(to, from, choice, out_taken, out_known, diag);
    if (rc == 0)
        rc = find_shifts(to, from, shifts, diag);
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]) && rc == 0 && *out_taken > 0; i++)
        rc = copy_rows(to, from, copies[i].insert, copies[i].select, shifts, diag);
    if (rc == 0 && *out_taken > 0 && !has_writer)
        rc = copy_rows(to, from, abandoned_insert, abandoned_select, shifts, diag);
    store_forget_accounts(to);
    if (rc == 0 && *out_taken > 0)
        rc = pass_over_copied(to, was_totalled != 0, diag);
    if (rc == 0 && *out_taken > 0)
        rc = copy_waiting(to, from, shifts, diag);
    sqlite3_exec(from->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

int store_copy_all(struct store *to, struct store *from, size_t *out_taken, size_t *out_known,
                   struct diag *diag)
{
    const struct store_copy_choice all = {.uid = STORE_NULL};

    return store_copy_some(to, from, &all, out_taken, out_known, diag);
}
