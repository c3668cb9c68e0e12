/* SPDX-License-Identifier: Apache-2.0 */
/* What trtexec exports, into tables. */
#include <sqlite3.h>

#include "analyze/import/format.h"
#include "tests/support/check.h"

extern const struct import_format import_trtexec_format;

static struct store *import(const char *text)
{
    const struct import_format *format = &import_trtexec_format;
    struct json_stream *stream;
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(json_stream_open_memory("t.json", text, strlen(text), &stream, &diag));
    CHECK_OK(format->read_json(stream, "t.json", store, NULL, &format, &diag));
    json_stream_close(&stream);
    return store;
}

static void check_text(struct store *store, const char *sql, const char *wanted)
{
    sqlite3_stmt *statement;

    assert_int_equal(sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), wanted);
    sqlite3_finalize(statement);
}

static const char events_sql[] =
    "SELECT group_concat(a, ';') FROM (SELECT name || ' ' || type || ' ' || coalesce(run, '-') ||"
    " ' ' || start_ns || ' ' || dur_ns || ' ' || coalesce(correlation, '-') AS a"
    " FROM event JOIN op USING (op_id) ORDER BY start_ns, dur_ns)";

/* The second run is enqueued while the first one computes. */
static void times_become_runs(void **state)
{
    struct store *store =
        import("[{\"startEnqMs\":0,\"endEnqMs\":0.5,\"startH2dMs\":0.1,\"endH2dMs\":0.2,"
               "\"startComputeMs\":0.2,\"endComputeMs\":2,\"startD2hMs\":2,\"endD2hMs\":2.1,"
               "\"latencyMs\":2.1},"
               "{\"startEnqMs\":1,\"endEnqMs\":1.25,\"startH2dMs\":2.1,\"endH2dMs\":2.2,"
               "\"startComputeMs\":2.2,\"endComputeMs\":4,\"startD2hMs\":4,\"endD2hMs\":4.1},"
               "{\"startComputeMs\":7}]");

    check_text(store, events_sql,
               "enqueue enqueue 1 0 500000 1;Memcpy HtoD copy 1 100000 100000 1;"
               "compute compute 1 200000 1800000 1;enqueue enqueue 2 1000000 250000 2;"
               "Memcpy DtoH copy 1 2000000 100000 1;Memcpy HtoD copy 2 2100000 100000 2;"
               "compute compute 2 2200000 1800000 2;Memcpy DtoH copy 2 4000000 100000 2");
    check_text(store, "SELECT group_concat(start_ns || ' ' || end_ns, ';') FROM run",
               "0 2100000;1000000 4100000");
    check_text(store, "SELECT note FROM session",
               "t.json: 2 runs of trtexec; 1 rows without usable times: left out");
    store_close(&store);
}

static void layers_stand_one_behind_the_other(void **state)
{
    struct store *store =
        import("[{\"count\":3},{\"name\":\"conv1\",\"timeMs\":3,\"averageMs\":1,\"medianMs\":1,"
               "\"percentage\":66.6},{\"name\":\"fc\",\"timeMs\":1.5,\"averageMs\":0.5,"
               "\"medianMs\":0.5,\"percentage\":33.3}]");

    check_text(store, events_sql, "conv1 layer 1 0 1000000 -;fc layer 1 1000000 500000 -");
    check_text(store, "SELECT note FROM session",
               "t.json: 2 layers of trtexec, means of 3 runs; left out: timeMs, medianMs and "
               "percentage (2)");
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_become_runs),
        cmocka_unit_test(layers_stand_one_behind_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
