/* SPDX-License-Identifier: Apache-2.0 */
/* MegEngine's profile JSON into tables: what stands where, and damage by its place. */
#include "analyze/import/megengine/megengine.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

/* Two operators on two devices and two threads, one that never ran; made for this test. */
static const char profile[] =
    "{ \"graph_exec\": {"
    "   \"operator\": {"
    "     \"12\": "
    "{\"node_type\":\"operator\",\"id\":\"12\",\"name\":\"relu\",\"type\":\"Elemwise\","
    "              \"input\":[\"3\"],\"output\":[\"4\"],\"extra\":{\"origins\":[\"r1\",\"r2\"]}},"
    "     \"7\": {\"name\":\"conv\",\"type\":\"ConvolutionForward\",\"input\":[\"1\",2],"
    "             \"output\":[\"3\",\"9\"]},"
    "     \"30\": {\"type\":\"Host2DeviceCopy\"}},"
    "   \"var\": {"
    "     \"1\": {\"name\":\"data\",\"mem_plan\":{\"mem_chunk_id\":\"chk1\",\"offset_byte\":64,"
    "             \"layout\":{\"shape\":[1,3],\"stride\":[3,1],\"dtype\":\"Float32\"}}},"
    "     \"2\": "
    "{\"name\":\"weight\",\"mem_plan\":{\"layout\":{\"shape\":[4],\"dtype\":\"Int8\"}}},"
    "     \"3\": {\"name\":\"out\",\"mem_plan\":null},"
    "     \"4\": {\"name\":\"final\",\"mem_plan\":{\"layout\":{\"dtype\":\"QuantizedS8\"}}},"
    "     \"9\": {\"name\":\"scratch\"}},"
    "   \"mem_chunk\": {\"chk1\": {\"id\":\"chk1\",\"size\":4096,\"owner_var\":\"1\"}},"
    "   \"comp_seq\": [\"7\",\"12\"]},"
    " \"profiler\": {"
    "   \"device\": {"
    "     \"7\": {\"CompNode(\\\"gpu0:0\\\" from \\\"xpux:0\\\")\": "
    "{\"start\":0.001,\"kern\":0.0015,\"end\":0.002},"
    "             \"CompNode(\\\"cpu0:0\\\" from \\\"cpux:0\\\")\": "
    "{\"start\":0.001,\"kern\":0.001,\"end\":0.0011}}},"
    "   \"host\": {"
    "     \"7\": {\"main\": {\"start\":-0.5,\"kern\":-1,\"end\":-0.25}},"
    "     \"12\": {\"worker\": {\"start\":0.25,\"kern\":0.5,\"end\":0.75}}},"
    "   \"opr_footprint\": {"
    "     \"7\": "
    "{\"computation\":200,\"memory\":100,\"in_shapes\":[[1,3],[4]],\"out_shapes\":[[1,4]],"
    "             \"in_layouts\":[[6,2],null],\"param\":{\"pad\":1}},"
    "     \"12\": "
    "{\"computation\":null,\"memory\":8,\"in_shapes\":[[1,4]],\"out_shapes\":[[1,4]],\"param\":{}}}"
    ","
    "   \"opr_internal_pf\": {} } }";

static int import_into(struct store *store, const char *text, const struct import_options *options,
                       struct diag *diag)
{
    struct json_stream *stream;
    int rc;

    CHECK_OK(json_stream_open_memory("profile.json", text, strlen(text), &stream, diag));
    rc = import_megengine(stream, "profile.json", store, options, NULL, diag);
    json_stream_close(&stream);
    return rc;
}

static struct store *import(const char *text, struct diag *diag, int *out_rc)
{
    struct store *store;

    CHECK_OK(store_open("", STORE_MEMORY, &store, diag));
    *out_rc = import_into(store, text, NULL, diag);
    return store;
}

static void tables_hold_the_profile(void **state)
{
    struct diag diag = {0};
    int rc;
    struct store *store = import(profile, &diag, &rc);

    CHECK_OK(rc);
    rows_check(store, "SELECT clock, source, end_reason, note FROM session",
               "foreign|megengine|imported|profile.json: the last run only; host and device times "
               "have different zeros");
    rows_check(store,
               "SELECT client_op, name, type, node_id, input_shapes, input_dtypes, output_dtypes,"
               " params, computation_flop, memory_bytes, origin FROM op ORDER BY client_op",
               "1|conv|ConvolutionForward|7|[[1, 3], [4]]|[\"f32\", \"i8\"]|[null, null]|"
               "{\"pad\": 1, \"input_strides\": [[6, 2], null]}|200|100|-;"
               "2|relu|Elemwise|12|[[1, 4]]|[null]|[\"QuantizedS8\"]|-|-|8|[\"r1\", \"r2\"];"
               "3|30|Host2DeviceCopy|30|-|-|-|-|-|-|-");
    rows_check(store, "SELECT kind, name, device FROM lane ORDER BY device IS NOT NULL, lane_id",
               "thread|main|-;thread|worker|-;"
               "stream|CompNode(\"gpu0:0\" from \"xpux:0\")|gpu0:0;"
               "queue|CompNode(\"cpu0:0\" from \"cpux:0\")|cpu0:0");
    /* Host times begin before their zero and are moved up; -1 is no kernel. */
    rows_check(
        store,
        "SELECT l.name LIKE 'Comp%', o.name, e.run, e.start_ns, e.dur_ns, e.kern_ns"
        "  FROM event e JOIN lane l USING (lane_id) JOIN op o USING (op_id) ORDER BY 1, 4, 5 DESC",
        "0|conv|1|0|250000000|-;0|relu|1|750000000|500000000|250000000;"
        "1|conv|1|1000000|1000000|500000;1|conv|1|1000000|100000|0");
    rows_check(store, "SELECT run, start_ns, end_ns, warmup FROM run", "1|0|1250000000|0");
    rows_check(store, "SELECT client_chunk, size_bytes, owner FROM mem_chunk", "chk1|4096|data");
    rows_check(
        store,
        "SELECT v.client_var, v.name, v.dtype, v.shape, o.name, c.client_chunk, v.offset_bytes"
        "  FROM variable v LEFT JOIN op o ON o.op_id = v.producer_op"
        "  LEFT JOIN mem_chunk c USING (mem_chunk_id) ORDER BY v.client_var",
        "1|data|f32|[1, 3]|-|chk1|64;2|weight|i8|[4]|-|-|-;3|out|-|-|conv|-|-;"
        "4|final|QuantizedS8|-|relu|-|-;9|scratch|-|-|conv|-|-");
    store_close(&store);
}

static void graph_may_stand_inside(void **state)
{
    struct diag diag = {0};
    int rc;
    struct store *store = import(
        "{\"profiler\":{\"graph_exec\":{\"operator\":{\"1\":{\"name\":\"a\",\"type\":\"t\"}}},"
        "\"device\":{},\"host\":{\"1\":{\"main\":{\"start\":0,\"kern\":0,\"end\":1}}}}}",
        &diag, &rc);

    CHECK_OK(rc);
    rows_check(store, "SELECT count(*), sum(dur_ns) FROM event", "1|1000000000");
    store_close(&store);
}

/* Two runs, of which the first stands under "optrace", as our load_and_run writes it; a third has
 * no spans. Device times count from 100 ns after the host's zero. */
static const char timed[] =
    "{\"graph_exec\":{\"operator\":{\"5\":{\"name\":\"conv\",\"type\":\"Conv\",\"extra\":{\"node_"
    "id\":3,"
    "\"device\":\"cpu:0\",\"params\":{\"implementation\":\"fast\"},\"workspace_bytes\":64}}},"
    "\"comp_seq\":[\"5\"]},\"profiler\":{\"device\":{\"5\":{\"CompNode(\\\"cpu0:0\\\" from "
    "\\\"cpux:0\\\")\":{\"start\":3e-6,\"kern\":3.1e-6,\"end\":4e-6}}},\"host\":{\"5\":{\"main\":"
    "{\"start\":2.5e-6,\"kern\":2.6e-6,\"end\":2.7e-6}}},\"opr_footprint\":{\"5\":{\"param\":{"
    "\"a\":1}}}},"
    "\"optrace\":{\"version\":1,\"tool\":\"load_and_run "
    "9\",\"model\":{\"path\":\"m.onnx\",\"name\":\"\","
    "\"producer\":\"test\"},\"device_offset_s\":1e-7,\"zero_unix_ns\":1700000000000000000,\"runs\":"
    "["
    "{\"warmup\":true,\"start_s\":1e-6,\"end_s\":2.1e-6,\"e2e_s\":1e-6},{\"warmup\":false,\"start_"
    "s\":2e-6,\"e2e_"
    "s\":1e-7},"
    "{\"warmup\":false,\"start_s\":2.4e-6,\"e2e_s\":2e-6}],\"device_total\":{\"5\":{\"count\":1}},"
    "\"spans\":[{\"run\":0,\"host\":{\"main\":[[5,1100,1200,1300]]},\"device\":{\"CompNode("
    "\\\"cpu0:0"
    "\\\" from \\\"cpux:0\\\")\":[[5,1150,1160,1900]]}}]}}";

static void our_own_profiles_hold_all_runs(void **state)
{
    struct diag diag = {0};
    int rc;
    struct store *store = import(timed, &diag, &rc);

    CHECK_OK(rc);
    rows_check(store, "SELECT source, program, start_ns, end_ns, note FROM session",
               "load_and_run|load_and_run|1700000000000001100|1700000000000004100|profile.json: a "
               "profile of load_and_run 9; 1 runs whose spans were not written: left out");
    rows_check(store, "SELECT name, path, format, producer FROM model", "m.onnx|m.onnx|onnx|test");
    rows_check(store, "SELECT model_id, node_id, device, params, workspace_bytes FROM op",
               "1|3|cpu:0|{\"implementation\": \"fast\"}|64");
    rows_check(store, "SELECT run, warmup, model_id, start_ns % 1000000, end_ns % 1000000 FROM run",
               "1|1|1|1000|2100;2|0|1|2400|4400");
    rows_check(store,
               "SELECT kind, run, start_ns % 1000000, dur_ns, kern_ns, correlation FROM event"
               " JOIN (SELECT lane_id, kind FROM lane) USING (lane_id) ORDER BY start_ns",
               "thread|1|1100|200|100|1;queue|1|1250|750|10|1;thread|2|2500|200|100|1;"
               "queue|2|3100|1000|100|1");
    store_close(&store);
}

/* With options->lenient what makes no sense is left out, and what was not told is made up. */
static void leniency_keeps_the_rest(void **state)
{
    static const char text[] = "{\"profiler\":{\"host\":{\"1\":{\"t\":{\"start\":1,\"end\":2},"
                               "\"u\":{\"start\":1}},\"2\":7,"
                               "\"x\":{\"t\":{\"start\":\"nan\",\"end\":2}}}},"
                               "\"graph_exec\":{\"operator\":{\"3\":{\"name\":\"a\"},\"3\":{"
                               "\"name\":\"b\"}},\"var\":{\"1\":[";
    const struct import_options options = {.lenient = true};
    struct diag diag = {0};
    struct store *store;

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    assert_int_equal(import_into(store, text, NULL, &diag), -EUCLEAN);
    CHECK_CONTAINS(diag.text, "profiler.host.1.u has no start and end in seconds, at byte 54");
    assert_int_equal(diag.offset, 54);
    CHECK_OK(import_into(store, text, &options, &diag));
    rows_check(store, "SELECT name, type, node_id FROM op ORDER BY node_id",
               "1|unknown|1;a|unknown|3;x|unknown|x");
    rows_check(store, "SELECT name, start_ns, dur_ns FROM event JOIN op USING (op_id)",
               "1|1000000000|1000000000");
    rows_check(
        store, "SELECT substr(note, 1, 170) FROM session",
        "profile.json: the last run only; host and device times have different zeros; 6 "
        "entries that make no sense: left out; the rest is lost: profile.json: the file ends "
        "at byte");
    store_close(&store);
}

static void two_profiles_fit_one_store(void **state)
{
    struct diag diag = {0};
    struct store *store;

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(import_into(store, profile, NULL, &diag));
    CHECK_OK(import_into(store, profile, NULL, &diag));
    rows_check(store, "SELECT count(*), count(DISTINCT session_id) FROM session", "2|2");
    rows_check(store, "SELECT session_id, count(*), min(op_id) FROM op GROUP BY 1", "1|3|1;2|3|4");
    store_close(&store);
}

static void other_documents_are_not_detected(void **state)
{
    static const char *const texts[] = {
        "[]",
        "{}",
        "3",
        "{\"traceEvents\":[]}",
        "{\"graph_exec\":{}}",
        "{\"profiler\":{\"device\":{}}}",
        "{\"profiler\":{},\"graph_exec\":{}}",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct diag diag = {0};
        int rc;
        struct store *store = import(texts[i], &diag, &rc);

        assert_int_equal(rc, -EUCLEAN);
        rows_check(store, "SELECT count(*) FROM session", "0");
        store_close(&store);
    }
}

static void damage_is_named_by_its_place(void **state)
{
    static const char *const cases[][2] = {
        {"{\"profiler\":{\"device\":[1]},\"graph_exec\":{}}", "profiler.device is not an object"},
        {"{\"profiler\":{\"device\":{\"5\":{}}},\"graph_exec\":{}}",
         "profiler.device.5 has no operator"},
        {"{\"profiler\":{\"host\":{\"1\":3}},\"graph_exec\":{\"operator\":{\"1\":{}}}}",
         "profiler.host.1 is not an object"},
        {"{\"profiler\":{\"host\":{\"1\":{\"t\":{\"start\":1}}}},\"graph_exec\":{\"operator\":{"
         "\"1\":{}}}}",
         "profiler.host.1.t has no start and end"},
        {"{\"profiler\":{\"host\":{\"1\":{\"t\":{\"start\":1,\"end\":0}}}},\"graph_exec\":{"
         "\"operator\":{\"1\":{}}}}",
         "profiler.host.1.t ends before it starts"},
        {"{\"profiler\":{\"host\":{\"1\":{\"t\":{\"start\":1,\"end\":1e99}}}},\"graph_exec\":{"
         "\"operator\":{\"1\":{}}}}",
         "profiler.host.1.t has no start and end"},
        {"{\"profiler\":{\"host\":{}},\"graph_exec\":{\"operator\":{\"1\":7}}}",
         "graph_exec.operator.1 is not an object"},
        {"{\"profiler\":{\"host\":{}},\"graph_exec\":{\"operator\":{\"1\":{},\"1\":{}}}}",
         "graph_exec.operator has \"1\" twice"},
        {"{\"profiler\":{\"host\":{}},\"graph_exec\":{\"var\":[]}}",
         "graph_exec.var is not an object"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};
        int rc;
        struct store *store = import(cases[i][0], &diag, &rc);

        assert_int_equal(rc, -EUCLEAN);
        CHECK_CONTAINS(diag.text, cases[i][1]);
        rows_check(store, "SELECT count(*) FROM session", "0");
        store_close(&store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_the_profile),
        cmocka_unit_test(graph_may_stand_inside),
        cmocka_unit_test(our_own_profiles_hold_all_runs),
        cmocka_unit_test(leniency_keeps_the_rest),
        cmocka_unit_test(two_profiles_fit_one_store),
        cmocka_unit_test(other_documents_are_not_detected),
        cmocka_unit_test(damage_is_named_by_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
