/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite exports of Nsight Systems into tables. */
#include <sqlite3.h>

#include "analyze/import/nsys/nsys.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"
#include "tests/support/temp.h"

/* Made for this test, after the documented columns; some tables lack some of them, as exports of
 * other versions do. Two processes, 100 and 200, whose launches have the same number. */
static const char export_sql[] =
    "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);"
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES(1,'cudaLaunchKernel'),(2,'sgemm'),(3,'main'),(4,'step');"
    "CREATE TABLE ThreadNames(nameId, globalTid);"
    "INSERT INTO ThreadNames VALUES(3, (100 << 24) + 7);"
    "CREATE TABLE PROCESSES(globalPid, pid, name);"
    "INSERT INTO PROCESSES VALUES(100 << 24, 100, 'python'),(200 << 24, 200, 'other');"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs);"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1000000);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(10, 15, (100 << 24) + 7, 5, 1),"
    " (11, 16, (200 << 24) + 8, 5, 1), (NULL, 3, 1, 1, 1), (20, 10, 1, 1, 1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId,"
    " globalPid, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,"
    " staticSharedMemory, dynamicSharedMemory);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(30, 40, 0, 7, 5, 100 << 24, 2, 4, 1, 1, 128, 1,"
    " 1, 32, 16, 1024), (30, 41, 1, 7, 5, 200 << 24, 2, 4, 1, 1, 128, 1, 1, 32, 16, 1024);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId,"
    " globalPid, bytes, copyKind, srcKind, dstKind);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
    " (50, 60, 0, 7, 6, 100 << 24, 4096, 1, NULL, 2),"
    " (61, 62, 0, 7, 6, 100 << 24, 4096, 1, 0, 2), (63, 64, 0, 7, 6, 100 << 24, 4096, 8, 2, 2);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, streamId, correlationId,"
    " globalPid, graphId, graphExecId);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES"
    " (70, 80, 0, 7, 9, 100 << 24, 3, 4), (81, 82, 0, 7, 9, 100 << 24, 5, 6);"
    "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid);"
    "INSERT INTO NVTX_EVENTS VALUES"
    " (5, 25, 59, 'aten::mm, seq = 7, op_id = 9, sizes = [[2, 3], [3, 4]]', NULL,"
    " (100 << 24) + 7), (4, 26, 59, 'my scope', NULL, (100 << 24) + 7),"
    " (27, NULL, 60, NULL, 4, (100 << 24) + 7), (28, NULL, 34, 'here', NULL, (100 << 24) + 7),"
    " (1, NULL, 75, 'a domain', NULL, 0);"
    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, address, bytes,"
    " memoryOperationType);"
    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(8, 100 << 24, 0, 64, 256, 0),"
    " (9, 100 << 24, 0, 64, 256, 1);";

static char *make_database(const char *dir, const char *sql)
{
    char *path = temp_path(dir, "export.sqlite");
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    return path;
}

static void tables_hold_the_export(void **state)
{
    char *dir = temp_create(), *path = make_database(dir, export_sql);
    struct store *store;
    struct diag diag = {0};

    assert_true(import_nsys_detects(path));
    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(import_nsys(path, "e.sqlite", store, NULL, &diag));
    rows_check(
        store,
        "SELECT o.name, o.type, l.name, e.start_ns - 1000000, dur_ns, correlation & 4294967295,"
        " bytes FROM event e JOIN op o USING (op_id) JOIN lane l USING (lane_id)"
        " ORDER BY e.start_ns, l.name",
        "my scope|label|main|4|22|-|-;aten::mm|cpu_op|main|5|20|-|-;"
        "cudaLaunchKernel|cuda_runtime|main|10|5|5|-;"
        "cudaLaunchKernel|cuda_runtime|thread 8|11|5|5|-;step|label|main|27|-|-|-;"
        "here|mark|main|28|0|-|-;sgemm|kernel|stream 7 of process 100|30|10|5|-;"
        "sgemm|kernel|stream 7 of process 200|30|11|5|-;"
        "Memcpy HtoD|copy|stream 7 of process 100|50|10|6|4096;"
        "Memcpy HtoD (Pageable -> Device)|copy|stream 7 of process 100|61|1|6|4096;"
        "Memcpy DtoD|copy|stream 7 of process 100|63|1|6|4096;"
        "CUDA graph 3|cuda_graph|stream 7 of process 100|70|10|9|-;"
        "CUDA graph 5|cuda_graph|stream 7 of process 100|81|1|9|-");
    rows_check(store,
               "SELECT count(DISTINCT correlation) FROM event JOIN op USING (op_id)"
               " WHERE type = 'kernel' AND correlation IN"
               " (SELECT correlation FROM event JOIN op USING (op_id) WHERE type = 'cuda_runtime')",
               "2");
    rows_check(
        store, "SELECT device, input_shapes, params FROM op WHERE type IN ('kernel','cpu_op')",
        "cuda:0|-|{\"grid\": [4, 1, 1], \"block\": [128, 1, 1], \"registers_per_thread\": 32, "
        "\"shared_memory_bytes\": 1040};"
        "cuda:1|-|{\"grid\": [4, 1, 1], \"block\": [128, 1, 1], \"registers_per_thread\": 32, "
        "\"shared_memory_bytes\": 1040};-|[[2, 3], [3, 4]]|-");
    rows_check(store,
               "SELECT l.name, time_ns, address, bytes FROM memory_event JOIN lane l"
               " USING (lane_id)",
               "memory of cuda:0, process 100|1000008|64|256;"
               "memory of cuda:0, process 100|1000009|64|-256");
    rows_check(store, "SELECT source, program, pid, library, note FROM session",
               "nsys|python|100|Nsight Systems|e.sqlite: 18 rows of an export of Nsight Systems; "
               "2 without usable times: left out; 1 of kinds not read here: left out");
    store_close(&store);
    free(path);
    temp_destroy(&dir);
}

/* Waits say for which streams, also of which process: two have a stream 7. */
static void waits_name_what_they_wait_for(void **state)
{
    static const char waits_sql[] =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(timestamp, streamId, correlationId, globalPid,"
        " eventId, eventSyncId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES(NULL, 7, 20, 100 << 24, 3, 90),"
        " (NULL, 9, 22, 100 << 24, 3, 91), (NULL, 7, 20, 200 << 24, 3, 90);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId,"
        " globalPid, demangledName) VALUES(100, 110, 0, 9, 19, 100 << 24, 2);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, streamId, correlationId,"
        " globalPid, syncType, eventId, eventSyncId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
        " (300, 301, 9, 30, 100 << 24, 2, 3, 90), (302, 303, 7, 31, 100 << 24, 2, 3, 91),"
        " (304, 305, 4294967295, 32, 200 << 24, 1, 3, 90), (306, 307, 7, 33, 200 << 24, 3, -1, 0),"
        " (308, 309, 4294967295, 34, 100 << 24, 4, -1, 0), (310, 311, 9, 35, 100 << 24, 2, 8, 92);";
    char *dir = temp_create(), *path = make_database(dir, export_sql);
    struct store *store;
    struct diag diag = {0};

    free(path);
    path = make_database(dir, waits_sql);
    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(import_nsys(path, "e.sqlite", store, NULL, &diag));
    rows_check(
        store,
        "SELECT o.name, l.name, correlation & 4294967295, params FROM event e JOIN op o"
        " USING (op_id) JOIN lane l USING (lane_id) WHERE o.type = 'phase' ORDER BY e.start_ns",
        "Stream Wait Event|stream 9 of process 100|20|{\"wait_on_lanes\": [\"stream 7 of process "
        "100\"]};"
        "Stream Wait Event|stream 7 of process 100|22|{\"wait_on_lanes\": [\"stream 9 of process "
        "100\"]};"
        "Event Sync|waits for stream 4294967295 of process 200|20|{\"wait_on_lanes\": [\"stream 7 "
        "of process 200\"]};"
        "Stream Sync|waits for stream 7 of process 200|33|{\"wait_on_lanes\": [\"stream 7 of "
        "process 200\"]};"
        "Context Sync|waits for stream 4294967295 of process 100|34|{\"wait_on_lanes\": [\"stream "
        "7 of process 100\", \"stream 9 of process 100\"]};"
        "Stream Wait Event|waits for stream 9 of process 100|35|-");
    store_close(&store);
    free(path);
    temp_destroy(&dir);
}

static void tells_exports_from_other_files(void **state)
{
    char *dir = temp_create(), *path = make_database(dir, "CREATE TABLE fruit(name)");

    assert_false(import_nsys_detects(path));
    assert_false(import_nsys_detects("/nowhere/at.all"));
    free(path);
    path = make_database(dir, "DROP TABLE fruit; CREATE TABLE StringIds(id, value);"
                              "CREATE TABLE OSRT_API(start, end)"); /* no META_DATA_EXPORT */
    assert_true(import_nsys_detects(path));
    free(path);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_the_export),
        cmocka_unit_test(waits_name_what_they_wait_for),
        cmocka_unit_test(tells_exports_from_other_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
