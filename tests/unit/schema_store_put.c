/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are put one by one, and the views over them. */
#include <sqlite3.h>

#include "tests/support/check.h"
#include "tests/support/store_sample.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

static void check_text(struct store *store, const char *sql, const char *want)
{
    char *got = store_support_text(store, sql);

    assert_string_equal(got, want);
    free(got);
}

static const struct store_session session = {.session_id = 3,
                                             .uuid = "0123456789abcde",
                                             .start_ns = 1000,
                                             .end_ns = STORE_NULL,
                                             .program = "p",
                                             .pid = 12,
                                             .uid = STORE_NULL,
                                             .clock = "tsc",
                                             .source = "live",
                                             .environment = "{}"};

/* Everything that can be put, with and without what may be missing, once and again. */
static void every_row_is_stored_and_replaced(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct store_session row = session;
    struct store_model model = {4, 3, 1, "m", NULL, "onnx", NULL, "sha256:x", STORE_NULL};
    struct store_op op = {5,           3,    1,    4,    "n", "Conv",     NULL, "cpu:0", "[[1]]",
                          "[\"f32\"]", NULL, NULL, "{}", 7,   STORE_NULL, 0,    "a.c:1", NULL};
    struct store_lane lane = {6, 3, 1, "queue", NULL, "cpu:0", 9};
    struct store_run run = {3, 1, 4, 6, 10, STORE_NULL, 0};
    struct store_gap gap = {3, STORE_NULL, "store", 8, STORE_NULL, 11};
    struct store_cursor cursor = {3, 0, 100, "gap", NULL, 3, 0};
    struct store_mem_chunk chunk = {7, 3, "c", 64, "w"};
    struct store_variable variable = {8, 3, "v", "name", "f32", "[1]", 5, 7, 16};
    struct diag diag = {0};

    store_support_begin(store);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(store_put_session(store, &row, &diag));
        CHECK_OK(store_put_model(store, &model, &diag));
        CHECK_OK(store_put_op(store, &op, &diag));
        CHECK_OK(store_put_lane(store, &lane, &diag));
        CHECK_OK(store_put_run(store, &run, &diag));
        CHECK_OK(store_put_cursor(store, &cursor, &diag));
        CHECK_OK(store_put_mem_chunk(store, &chunk, &diag));
        CHECK_OK(store_put_variable(store, &variable, &diag));
        row.program = NULL;
        model.parameter_bytes = 5;
        op.name = "n2";
        op.memory_bytes = 6;
        lane.native_id = STORE_NULL;
        run.end_ns = 20;
        run.warmup = 7;
        cursor.committed = 200;
        cursor.gaps_bytes = 0;
        cursor.gaps = NULL;
        chunk.size_bytes = 65;
        variable.mem_chunk_id = STORE_NULL;
    }
    CHECK_OK(store_add_gap(store, &gap, &diag));
    CHECK_OK(store_add_gap(store, &gap, &diag));
    store_support_commit(store);
    check_text(store, "SELECT * FROM session",
               "3|0123456789abcde|1000|NULL|NULL|NULL|NULL|NULL|NULL|12|NULL|tsc|live|NULL|{}|0");
    check_text(store, "SELECT * FROM model", "4|3|1|m|NULL|onnx|NULL|sha256:x|5");
    check_text(store, "SELECT * FROM op",
               "5|3|1|4|n2|Conv|NULL|cpu:0|[[1]]|[\"f32\"]|NULL|NULL|{}|7|6|0|a.c:1|NULL");
    check_text(store, "SELECT * FROM lane", "6|3|1|queue|NULL|cpu:0|NULL");
    check_text(store, "SELECT * FROM run", "3|1|4|6|10|20|1|0");
    check_text(store, "SELECT * FROM gap", "3|NULL|store|8|NULL|11\n3|NULL|store|8|NULL|11");
    check_text(store, "SELECT * FROM ingest_cursor", "3|0|200|NULL|NULL|NULL|NULL");
    check_text(store, "SELECT * FROM mem_chunk", "7|3|c|65|w");
    check_text(store, "SELECT * FROM variable", "8|3|v|name|f32|[1]|5|NULL|16");
    store_close(&store);
}

static void last_ids_are_the_highest(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct store_ids ids;
    struct diag diag = {0};

    CHECK_OK(store_last_ids(store, &ids, &diag));
    CHECK_U64(ids.session_id + ids.model_id + ids.op_id + ids.lane_id + ids.mem_chunk_id +
                  ids.variable_id,
              0);
    store_sample_fill(store);
    CHECK_OK(store_last_ids(store, &ids, &diag));
    CHECK_U64(ids.session_id, 2);
    CHECK_U64(ids.model_id, 2);
    CHECK_U64(ids.op_id, 15);
    CHECK_U64(ids.lane_id, 4);
    store_close(&store);
}

static void ending_a_session_drops_its_cursors(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct store_session row = session;
    struct store_cursor cursor = {.session_id = 3};
    struct diag diag = {0};

    store_support_begin(store);
    row.note = "first";
    CHECK_OK(store_put_session(store, &row, &diag));
    for (int i = 0; i < 4; i++) {
        cursor.session_id = 3 + i % 2;
        cursor.ring_id = i;
        CHECK_OK(store_put_cursor(store, &cursor, &diag));
    }
    CHECK_OK(store_end_session(store, 3, 50, "done", NULL, &diag));
    check_text(store, "SELECT end_ns, end_reason, note FROM session", "50|done|first");
    check_text(store, "SELECT session_id, ring_id FROM ingest_cursor", "4|1\n4|3");
    CHECK_OK(store_end_session(store, 3, 60, "cut off", "why", &diag));
    check_text(store, "SELECT end_ns, end_reason, note FROM session", "60|cut off|why");
    store_support_commit(store);
    store_close(&store);
}

static void rows_that_make_no_sense_are_refused(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct store_session twin = session;
    struct store_lane lane = {1, 3, 1, "fiber", NULL, NULL, 1};
    struct store_op op = {.op_id = 1, .session_id = 3, .client_op = 1, .type = "Conv"};
    struct diag diag[4] = {{0}};

    store_support_begin(store);
    CHECK_OK(store_put_session(store, &session, &diag[0]));
    twin.session_id = 4;
    assert_int_equal(store_put_session(store, &twin, &diag[0]), -EINVAL);
    CHECK_CONTAINS(diag[0].text, "session.uuid");
    assert_int_equal(store_put_lane(store, &lane, &diag[1]), -EINVAL);
    CHECK_CONTAINS(diag[1].text, "unknown kind 'fiber'");
    lane.kind = NULL;
    assert_int_equal(store_put_lane(store, &lane, &diag[2]), -EINVAL);
    assert_int_equal(store_put_op(store, &op, &diag[3]), -EINVAL);
    CHECK_CONTAINS(diag[3].text, "op_row.name");
    store_support_commit(store);
    check_text(store, "SELECT count(*) FROM session", "1");
    store_close(&store);
}

static void a_reader_cannot_write(void **state)
{
    char *dir = temp_create();
    char *path = temp_path(dir, "store.db");
    struct store *store = store_support_open(path, STORE_WRITE);
    struct diag diag = {0};

    store_close(&store);
    store = store_support_open(path, STORE_READ);
    assert_int_equal(store_begin(store, &diag), -EACCES);
    assert_int_equal(sqlite3_exec(store_handle(store), "DELETE FROM meta", NULL, NULL, NULL),
                     SQLITE_READONLY);
    store_close(&store);
    temp_destroy(&dir);
    free(path);
}

/* A reader sees a whole transaction or nothing of it, and does not hold up the writer. */
static void reading_works_while_writing(void **state)
{
    char *dir = temp_create();
    char *path = temp_path(dir, "store.db");
    struct store *writer = store_support_open(path, STORE_WRITE);
    struct store *reader = store_support_open(path, STORE_READ);
    struct store_event events[500];
    struct diag diag = {0};

    store_support_begin(writer);
    store_support_define(writer, 10);
    store_support_commit(writer);
    store_support_make_events(events, 500, 0, 10);
    for (int i = 0; i < 10; i++) {
        store_support_begin(writer);
        CHECK_OK(store_add_events(writer, events, 500, &diag));
        CHECK_U64(store_support_int(reader, "SELECT count(*) FROM event"), 500 * i);
        CHECK_U64(store_support_int(reader, "SELECT coalesce(sum(event_count), 0) FROM op_stat"),
                  500 * i);
        store_support_commit(writer);
        CHECK_U64(store_support_int(reader, "SELECT count(*) FROM event"), 500 * (i + 1));
    }
    store_close(&writer);
    CHECK_U64(store_support_int(reader, "SELECT count(*) FROM event"), 5000);
    store_close(&reader);
    temp_destroy(&dir);
    free(path);
}

/* The formula of the view, for every bin, against that of the code. */
static void the_view_knows_the_bins(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct store_histogram histogram = {0};
    char *text = malloc(STORE_HISTOGRAM_TEXT_MAX);
    sqlite3_stmt *statement;

    for (uint32_t bin = 0; bin < STORE_BIN_COUNT; bin++)
        CHECK_OK(store_histogram_count(&histogram, bin, bin + 1));
    store_histogram_format(&histogram, text);
    assert_int_equal(sqlite3_prepare_v2(store_handle(store),
                                        "INSERT INTO op_stat VALUES(1, 2, 3, 'thread', 4, 5, 6, 7,"
                                        " 8, ?)",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_prepare_v2(store_handle(store),
                                        "SELECT bin, middle_ns, event_count FROM v_op_histogram"
                                        " ORDER BY bin",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    for (uint32_t bin = 0; bin < STORE_BIN_COUNT; bin++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        CHECK_U64(sqlite3_column_int64(statement, 0), bin);
        CHECK_U64(sqlite3_column_int64(statement, 1), store_bin_middle(bin));
        CHECK_U64(sqlite3_column_int64(statement, 2), bin + 1);
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    store_histogram_deinit(&histogram);
    free(text);
    store_close(&store);
}

/* tests/support/store_sample.h says what is in it. */
static void views_say_what_happened(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);

    store_sample_fill(store);
    check_text(store,
               "SELECT session_id, calls, host_calls, host_ns, host_mean_ns, host_kern_ns,"
               " device_calls, device_ns, device_min_ns, device_max_ns, exec_ns FROM v_op"
               " WHERE name = 'conv1' ORDER BY session_id",
               "1|10|10|500000|50000|100000|10|8000000|800000|800000|8000000\n"
               "2|10|10|500000|50000|100000|10|14000000|1200000|3200000|14000000");
    /* 240 MFLOP in 0.8 ms are 300 GFLOP/s; 4 MB are 5 GB/s. */
    check_text(store, "SELECT flop_per_s, bytes_per_s FROM v_op WHERE op_id = 1",
               "300000000000.0|5000000000.0");
    check_text(store,
               "SELECT calls, host_ns, host_p50_ns, device_ns, flop_per_s FROM v_op"
               " WHERE name = 'temperature_c' AND session_id = 1",
               "0|NULL|NULL|NULL|NULL");
    /* All the same: the percentiles are exact, as they are clamped. */
    check_text(store,
               "SELECT device_p50_ns, device_p90_ns, device_p99_ns FROM v_op WHERE op_id = 1",
               "800000|800000|800000");
    check_text(store,
               "SELECT type, op_count, calls, device_ns, computation_flop FROM v_type"
               " WHERE session_id = 2 ORDER BY type",
               "Conv|1|10|14000000|2400000000\nMatMul|1|10|2000000|40000000\n"
               "copy|1|10|1000000|NULL\ncounter|1|0|NULL|NULL\nlabel|1|10|NULL|NULL");
    check_text(store,
               "SELECT session_id, program, end_reason, wall_ns, op_count, lane_count, run_count,"
               " event_count, lost_count FROM v_session",
               "1|model|done|120000000|5|2|10|60|0\n2|model|died|120000000|5|2|10|60|42");
    check_text(store, "SELECT session_id, lane_name, reason, lost_count FROM v_loss",
               "2|main|ring full|42");
    check_text(store,
               "SELECT run, warmup, lane_kind, lane_name, lane_device, op_name, op_type, dur_ns,"
               " kern_ns, exec_ns, end_ns - start_ns, correlation, bytes FROM v_event"
               " WHERE session_id = 2 AND run = 1 AND op_type IN ('Conv', 'copy')"
               " ORDER BY start_ns",
               "1|1|queue|worker|cpu:0|upload|copy|100000|NULL|NULL|100000|NULL|602112\n"
               "1|1|thread|main|NULL|conv1|Conv|50000|10000|40000|50000|2|NULL\n"
               "1|1|queue|worker|cpu:0|conv1|Conv|1200000|0|1200000|1200000|2|NULL");
    check_text(store, "SELECT op_name, end_ns, run, warmup FROM v_event WHERE dur_ns IS NULL",
               "conv1|NULL|11|NULL");
    store_close(&store);
}

/* While a session runs, its latest event says how long it has been. */
static void wall_time_grows_while_it_runs(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct store_event event;
    struct diag diag = {0};

    store_support_begin(store);
    store_support_define(store, 10);
    store_support_commit(store);
    check_text(store, "SELECT wall_ns FROM v_session", "NULL");
    store_support_make_events(&event, 1, 1000, 10);
    store_support_begin(store);
    CHECK_OK(store_add_events(store, &event, 1, &diag));
    store_support_commit(store);
    check_text(store, "SELECT wall_ns FROM v_session", "1000506");
    store_close(&store);
}

static int64_t count_runs(struct store *store)
{
    return store_support_int(store, "SELECT count(*) FROM run");
}

/* As the daemon does it: one that is there already is left out. Returns how many were. */
static size_t add_runs(struct store *store, const struct store_run *runs, size_t count)
{
    size_t skipped = 0, done = 0, added;
    struct diag diag = {0};

    while (done < count) {
        CHECK_OK(store_add_runs(store, runs + done, count - done, &added, &diag));
        assert_true(added <= count - done);
        done += added;
        skipped += done < count;
        done += done < count;
    }
    return skipped;
}

static void runs_are_added_once(void **state)
{
    enum { COUNT = 5000 };
    struct store_run *runs = calloc(COUNT, sizeof(*runs));
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct diag diag = {0};
    size_t added;

    store_support_begin(store);
    CHECK_OK(store_add_runs(store, runs, 0, &added, &diag));
    CHECK_U64(added, 0);
    for (int64_t i = 0; i < COUNT; i++)
        runs[i] = (struct store_run){1 + i % 3, i / 3 + 1, STORE_NULL, 6, i, i + 1, i % 2};
    runs[2700].run = runs[0].run; /* of the same session */
    runs[2701].run = runs[1].run;
    runs[4999].run = runs[1].run;
    CHECK_OK(store_add_runs(store, runs, COUNT, &added, &diag));
    CHECK_U64(added, 2700);
    CHECK_U64(count_runs(store), 2700);
    store_support_commit(store);
    store_support_begin(store);
    CHECK_U64(add_runs(store, runs + 2700, COUNT - 2700), 3);
    CHECK_U64(count_runs(store), COUNT - 3);
    CHECK_U64(add_runs(store, runs, COUNT), COUNT); /* all of them again */
    CHECK_U64(count_runs(store), COUNT - 3);
    check_text(store, "SELECT * FROM run WHERE run = 100 AND session_id = 1",
               "1|100|NULL|6|297|298|1|0");
    store_support_commit(store);
    store_support_begin(store);
    runs[0].session_id = runs[1].session_id = 9;
    runs[1].lane_id = STORE_NULL;
    assert_true(store_add_runs(store, runs, 2, &added, &diag) < 0);
    assert_non_null(strstr(diag.text, "lane_id"));
    store_rollback(store);
    CHECK_U64(count_runs(store), COUNT - 3);
    store_close(&store);
    free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_stored_and_replaced),
        cmocka_unit_test(runs_are_added_once),
        cmocka_unit_test(last_ids_are_the_highest),
        cmocka_unit_test(ending_a_session_drops_its_cursors),
        cmocka_unit_test(rows_that_make_no_sense_are_refused),
        cmocka_unit_test(a_reader_cannot_write),
        cmocka_unit_test(reading_works_while_writing),
        cmocka_unit_test(the_view_knows_the_bins),
        cmocka_unit_test(views_say_what_happened),
        cmocka_unit_test(wall_time_grows_while_it_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
