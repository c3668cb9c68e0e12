/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of an export of Nsight Systems. */
#include "analyze/import/nsys/nsys.h"
#include "analyze/import/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/nsys/private.h"
#include "analyze/import/skipped.h"
#include "analyze/import/values.h"

enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60, SQL_MAX = 2048 };

struct nsys_table {
    const char *name;
    enum nsys_kind kind;
};

static const struct nsys_table tables[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME", NSYS_RUNTIME},
    {"CUPTI_ACTIVITY_KIND_KERNEL", NSYS_KERNEL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", NSYS_COPY},
    {"CUPTI_ACTIVITY_KIND_MEMSET", NSYS_MEMSET},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", NSYS_GRAPH},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", NSYS_SYNC},
    {"CUDNN_EVENTS", NSYS_CUDNN},
    {"CUBLAS_EVENTS", NSYS_CUBLAS},
    {"OSRT_API", NSYS_OS},
    {"NVTX_EVENTS", NSYS_NVTX},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", NSYS_MEMORY},
};

/* The columns of a row, each under the first of its names that a table has. */
enum { COLUMNS = 26 };
static const char *const columns[COLUMNS][4] = {
    {"start"},
    {"end"},
    {"globalPid"},
    {"globalTid"},
    {"deviceId"},
    {"streamId"},
    {"correlationId"},
    {"demangledName", "nameId", "textId"},
    {"bytes"},
    {"copyKind", "syncType", "memoryOperationType", "eventType"},
    {"address"},
    {"gridX"},
    {"gridY"},
    {"gridZ"},
    {"blockX"},
    {"blockY"},
    {"blockZ"},
    {"registersPerThread"},
    {"staticSharedMemory"},
    {"dynamicSharedMemory"},
    {"srcKind"},
    {"dstKind"},
    {"graphId"},
    {"eventId"},
    {"eventSyncId"},
    {"text"},
};

/* --- Statements. --- */

static bool has_column(sqlite3 *db, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(db, NULL, table, column, NULL, NULL, NULL, NULL, NULL) ==
           SQLITE_OK;
}

/* SELECT of all columns, NULL for those that the table lacks. */
static int prepare(struct nsys *nsys, const char *table, sqlite3_stmt **out_statement,
                   struct diag *diag)
{
    char sql[SQL_MAX] = "SELECT";

    for (int i = 0; i < COLUMNS; i++) {
        const char *column = "NULL";
        size_t used = strlen(sql);

        for (int k = 0; k < 4 && columns[i][k] && *column == 'N'; k++)
            column = has_column(nsys->db, table, columns[i][k]) ? columns[i][k] : column;
        snprintf(sql + used, sizeof(sql) - used, *column == 'N' ? "%s %s" : "%s \"%s\"",
                 i ? "," : "", column);
    }
    snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), " FROM %s", table);
    return sqlite3_prepare_v2(nsys->db, sql, -1, out_statement, NULL) == SQLITE_OK
               ? 0
               : nsys_fail(nsys, diag);
}

static int64_t number(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) != SQLITE_INTEGER)
        return STORE_NULL;
    return sqlite3_column_int64(statement, column);
}

static void read_row(sqlite3_stmt *statement, struct nsys_row *row)
{
    int64_t *const fields[] = {
        &row->start,       &row->end,       &row->process,       &row->thread,
        &row->device,      &row->stream,    &row->correlation,   &row->name,
        &row->bytes,       &row->detail,    &row->address,       row->grid,
        row->grid + 1,     row->grid + 2,   row->block,          row->block + 1,
        row->block + 2,    &row->registers, &row->static_shared, &row->dynamic_shared,
        &row->from_memory, &row->to_memory, &row->graph,         &row->event,
        &row->event_sync,
    };
    int count = (int)(sizeof(fields) / sizeof(fields[0]));

    for (int i = 0; i < count; i++)
        *fields[i] = number(statement, i);
    row->text = (const char *)sqlite3_column_text(statement, count);
    if (row->process == STORE_NULL && row->thread != STORE_NULL)
        row->process = row->thread & ~INT64_C(0xffffff);
}

/* --- Rows. --- */

/* Each process counts its launches for itself: those of the first keep their numbers. */
static int find_correlation(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row,
                            int64_t *out_correlation, struct diag *diag)
{
    const struct nsys_record *record = kind == NSYS_SYNC ? nsys_find_record(nsys, row) : NULL;
    /* Of a wait for an event it is that of the call that recorded it. */
    int64_t number = record ? record->correlation : row->correlation;
    uint32_t process;
    int rc;

    *out_correlation = STORE_NULL;
    if (number <= 0 || number > UINT32_MAX)
        return 0;
    rc = nsys_process(nsys, row->process, &process, diag);
    *out_correlation = number + ((int64_t)(process & 0xffff) << 32);
    return rc;
}

static int add_memory(struct nsys *nsys, const struct nsys_row *row, uint32_t lane,
                      struct diag *diag)
{
    struct import_memory memory = {
        .lane = lane,
        .device = lane,
        .op = IMPORT_NONE,
        .time_ns = row->start,
        .address = row->address,
        .bytes = row->bytes,
    };

    if (!is_import_time(row->start, 0) || row->bytes < 0) {
        nsys->bad_count++;
        return 0;
    }
    if (row->detail == 1) /* given back */
        memory.bytes = -row->bytes;
    return importer_memory(&nsys->importer, &memory, diag);
}

static int add_row(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row,
                   struct diag *diag)
{
    struct import_span span = {
        .start_ns = row->start,
        .dur_ns = STORE_NULL,
        .kern_ns = STORE_NULL,
        .correlation = STORE_NULL,
        .bytes = kind == NSYS_COPY || kind == NSYS_MEMSET ? row->bytes : STORE_NULL,
    };
    int rc;

    nsys->row_count++;
    if (kind == NSYS_NVTX && row->detail != NVTX_MARK && row->detail != NVTX_PUSH_POP &&
        row->detail != NVTX_START_END) {
        nsys->unknown_count++;
        return 0;
    }
    if (row->end != STORE_NULL && is_import_time(row->start, 0) && is_import_time(row->end, 0))
        span.dur_ns = row->end - row->start;
    if (kind == NSYS_NVTX && row->detail == NVTX_MARK)
        span.dur_ns = 0;
    if (kind != NSYS_MEMORY && !is_import_time(span.start_ns, span.dur_ns)) {
        nsys->bad_count++;
        return 0;
    }
    rc = nsys_lane(nsys, kind, row, &span.lane, diag);
    if (rc == 0 && kind == NSYS_MEMORY)
        return add_memory(nsys, row, span.lane, diag);
    if (rc == 0)
        rc = nsys_op(nsys, kind, row, span.lane, &span.op, diag);
    if (rc == 0)
        rc = find_correlation(nsys, kind, row, &span.correlation, diag);
    return rc < 0 ? rc : importer_span(&nsys->importer, &span, diag);
}

static int add_table(struct nsys *nsys, const struct nsys_table *table, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    int rc = 0, code = SQLITE_DONE;

    if (!has_column(nsys->db, table->name, "start"))
        return 0;
    rc = prepare(nsys, table->name, &statement, diag);
    while (rc == 0 && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct nsys_row row;

        read_row(statement, &row);
        rc = add_row(nsys, table->kind, &row, diag);
    }
    if (rc == 0 && code != SQLITE_DONE)
        rc = nsys_fail(nsys, diag);
    sqlite3_finalize(statement);
    return rc;
}

/* --- The file. --- */

static sqlite3 *open_export(const char *path)
{
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    /* The file may come from anywhere. */
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_exec(db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;", NULL, NULL, NULL);
    return db;
}

bool import_nsys_detects(const char *path)
{
    sqlite3 *db = open_export(path);
    bool is_export = db && has_column(db, "META_DATA_EXPORT", "name");

    /* Older ones say nothing of themselves. */
    for (size_t i = 0; db && !is_export && i < sizeof(tables) / sizeof(tables[0]); i++)
        is_export = has_column(db, tables[i].name, "start");
    is_export = is_export && has_column(db, "StringIds", "value");

    sqlite3_close(db);
    return is_export;
}

/* The one number of a query; STORE_NULL where there is none. */
static int64_t ask(struct nsys *nsys, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = STORE_NULL;

    if (sqlite3_prepare_v2(nsys->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = number(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* The name of the first process that was met; the caller frees it. */
static char *program_of(struct nsys *nsys)
{
    sqlite3_stmt *statement = NULL;
    char *name = NULL;

    if (nsys->processes.count &&
        sqlite3_prepare_v2(nsys->db, "SELECT name FROM PROCESSES WHERE globalPid = ?", -1,
                           &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, nsys->processes.items[0]);
        if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
            name = json_take_text(
                (struct json_slice){(const char *)sqlite3_column_text(statement, 0),
                                    (size_t)sqlite3_column_bytes(statement, 0), JSON_NULL});
    }
    sqlite3_finalize(statement);
    return name;
}

static bool is_read(const char *table)
{
    static const char *const described[] = {"StringIds", "ThreadNames", "PROCESSES",
                                            "TARGET_INFO_SESSION_START_TIME",
                                            "CUPTI_ACTIVITY_KIND_CUDA_EVENT"};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (strcmp(table, tables[i].name) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof(described) / sizeof(described[0]); i++) {
        if (strcmp(table, described[i]) == 0)
            return true;
    }
    return strncmp(table, "ENUM_", 5) == 0 || strncmp(table, "sqlite_", 7) == 0;
}

/* The text that a query gives, or NULL; the caller frees it. A table may be missing. */
static char *ask_text(struct nsys *nsys, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;

    if (sqlite3_prepare_v2(nsys->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        text = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

/* For session.environment. */
#define ENVIRONMENT_SQL                                                                            \
    "SELECT json_group_object(CASE name WHEN 'CpuCores' THEN 'cpu_count'"                          \
    "                                   WHEN 'CpuDescription' THEN 'cpu' ELSE 'gpu_driver' END,"   \
    "                         CASE name WHEN 'CpuCores' THEN CAST(value AS INTEGER) ELSE value"    \
    "                                   END)"                                                      \
    "  FROM TARGET_INFO_SYSTEM_ENV WHERE value NOT IN ('', 'unknown')"                             \
    "   AND name IN ('CpuCores', 'CpuDescription', 'NvDriverVersion')"
#define GPUS_SQL "(SELECT json_group_array(name) FROM TARGET_INFO_GPU)"

static char *environment_of(struct nsys *nsys)
{
    char *text =
        ask_text(nsys, "SELECT json_set((" ENVIRONMENT_SQL "), '$.gpus', json(" GPUS_SQL "))");

    return text ? text : ask_text(nsys, ENVIRONMENT_SQL);
}

/* The rows of tables that are not read, by the names of these. */
static void note_tables(struct nsys *nsys, char *note, size_t note_bytes)
{
    struct skipped skipped = {0};
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(nsys->db, "SELECT name FROM sqlite_schema WHERE type = 'table'", -1,
                           &statement, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        char *sql =
            name && !is_read(name) ? sqlite3_mprintf("SELECT count(*) FROM \"%w\"", name) : NULL;
        int64_t count = sql ? ask(nsys, sql) : 0;

        if (count > 0)
            skipped_add_many(&skipped, name, strlen(name), (uint64_t)count);
        sqlite3_free(sql);
    }
    sqlite3_finalize(statement);
    skipped_note(&skipped, note, note_bytes);
}

static int finish(struct nsys *nsys, const char *damage, struct diag *diag)
{
    int64_t offset_ns = ask(nsys, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
    char *program = program_of(nsys), *environment = environment_of(nsys), note[3000];
    char *host = ask_text(nsys, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'");
    struct store_session session = {
        .program = program,
        .host = host,
        .environment = environment,
        .library = "Nsight Systems",
        .pid = nsys->processes.count ? nsys->processes.items[0] >> 24 & 0xffffff : STORE_NULL,
        .uid = STORE_NULL,
        .note = note,
    };
    int rc;

    snprintf(note, sizeof(note), "%.400s: %" PRIu64 " rows of an export of Nsight Systems",
             nsys->name, nsys->row_count);
    import_note_count(note, sizeof(note), nsys->bad_count, "without usable times: left out");
    import_note_count(note, sizeof(note), nsys->unknown_count, "of kinds not read here: left out");
    note_tables(nsys, note, sizeof(note));
    session.damage_count = damage != NULL;
    if (damage)
        snprintf(note + strlen(note), sizeof(note) - strlen(note), "; " IMPORT_DAMAGE ": %.400s",
                 damage);
    rc = importer_finish(&nsys->importer, &session,
                         offset_ns >= 0 && offset_ns <= IMPORT_TIME_MAX ? offset_ns : 0, diag);
    free(program);
    free(host);
    free(environment);
    return rc;
}

/* Without names the numbers will do. */
static void prepare_names(struct nsys *nsys)
{
    sqlite3_prepare_v2(nsys->db, "SELECT value FROM StringIds WHERE id = ?", -1, &nsys->string,
                       NULL);
    sqlite3_prepare_v2(nsys->db,
                       "SELECT s.value FROM ThreadNames t JOIN StringIds s ON s.id = t.nameId"
                       " WHERE t.globalTid = ? LIMIT 1",
                       -1, &nsys->thread_name, NULL);
}

static int import_tables(struct nsys *nsys, const struct import_options *options, struct diag *diag)
{
    struct diag damage = {0};
    int rc = nsys_read_records(nsys, &damage);

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == 0; i++) {
        rc = add_table(nsys, &tables[i], &damage);
        if (options && options->progress)
            options->progress(options->progress_context, i + 1, sizeof(tables) / sizeof(tables[0]));
    }
    if (rc == -EUCLEAN && options && options->lenient)
        return finish(nsys, damage.text, diag);
    return rc < 0 ? diag_set(diag, rc, "%s", damage.text) : finish(nsys, NULL, diag);
}

int import_nsys(const char *path, const char *name, struct store *store,
                const struct import_options *options, struct diag *diag)
{
    struct nsys nsys = {.name = name, .db = open_export(path)};
    int rc = nsys.db ? importer_begin(&nsys.importer, store, "nsys", diag)
                     : diag_set(diag, -EUCLEAN, "cannot read %s as a file of SQLite", name);

    if (rc == 0) {
        prepare_names(&nsys);
        rc = import_tables(&nsys, options, diag);
    }
    sqlite3_finalize(nsys.string);
    sqlite3_finalize(nsys.thread_name);
    sqlite3_close(nsys.db);
    importer_deinit(&nsys.importer);
    place_map_deinit(&nsys.lanes);
    array_deinit(&nsys.processes);
    array_deinit(&nsys.streams);
    array_deinit(&nsys.records);
    return rc;
}

const struct import_format import_nsys_format = {
    .name = "nsys",
    .about = "SQLite exports of Nsight Systems",
    .container = IMPORT_SQLITE,
    .detects_file = import_nsys_detects,
    .read_file = import_nsys,
};
