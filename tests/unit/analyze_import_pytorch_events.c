/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's function events into tables. */
#include "analyze/import/format.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

extern const struct import_format import_pytorch_events_format;

static int import(const char *text, struct store **out_store, struct diag *diag)
{
    const struct import_format *format = &import_pytorch_events_format;
    struct json_stream *stream;
    int rc;

    CHECK_OK(store_open("", STORE_MEMORY, out_store, diag));
    CHECK_OK(json_stream_open_memory("p.json", text, strlen(text), &stream, diag));
    rc = format->read_json(stream, "p.json", *out_store, NULL, &format, diag);
    json_stream_close(&stream);
    return rc;
}

/* Made for this test, after the keys of the dumps. */
static const char dump[] =
    "[{\"index\":0,\"name\":\"stem\",\"thread\":1,\"start_us\":10,\"end_us\":30.5,\"scope\":7,"
    "\"self_cpu_memory_usage\":-8,\"input_shapes\":[],\"stack\":[],\"flops\":0},"
    "{\"index\":1,\"name\":\"aten::mm\",\"thread\":1,\"start_us\":12,\"end_us\":20,\"scope\":0,"
    "\"self_cpu_memory_usage\":64,\"input_shapes\":[[2,3],[3,4],[]],"
    "\"stack\":[\"net.py(26): forward\",\"main.py(3): <module>\"],\"flops\":48},"
    "{\"name\":\"aten::mm\",\"thread\":2,\"start_us\":12,\"end_us\":12,\"scope\":0,"
    "\"self_cpu_memory_usage\":0,\"input_shapes\":[[2,3],[3,4],[]],"
    "\"stack\":[\"net.py(26): forward\",\"main.py(3): <module>\"],\"flops\":48},"
    "{\"name\":\"backwards\",\"thread\":1,\"start_us\":5,\"end_us\":4}]";

static void tables_hold_the_dump(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(dump, &store, &diag));
    rows_check(store,
               "SELECT o.name, o.type, l.name, e.start_ns, dur_ns"
               "  FROM event e JOIN op o USING (op_id) JOIN lane l USING (lane_id)"
               " ORDER BY e.rowid",
               "aten::mm|cpu_op|thread 2|12000|0;aten::mm|cpu_op|thread 1|12000|8000;"
               "stem|label|thread 1|10000|20500");
    rows_check(store, "SELECT name, input_shapes, computation_flop, source, params FROM op",
               "stem|[]|-|-|-;aten::mm|[[2, 3], [3, 4], []]|48|net.py:26|"
               "{\"stack\": \"net.py(26): forward;main.py(3): <module>\"}");
    rows_check(store, "SELECT o.name, m.bytes, time_ns FROM memory_event m JOIN op o USING (op_id)",
               "aten::mm|64|20000;stem|-8|30500");
    rows_check(store, "SELECT source, note FROM session",
               "pytorch events|p.json: 4 function events; 1 without usable times: left out; left "
               "out: index (2)");
    store_close(&store);
}

static void damage_leaves_the_store_as_it_was(void **state)
{
    struct store *store;
    struct diag diag = {0};

    assert_int_equal(import("[{\"name\":\"a\" \"b\":1}]", &store, &diag), -EUCLEAN);
    CHECK_CONTAINS(diag.text, "p.json: malformed JSON at byte 13: a comma is missing");
    rows_check(store, "SELECT count(*) FROM session", "0");
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_the_dump),
        cmocka_unit_test(damage_leaves_the_store_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
