/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime's profile into tables. */
#include "analyze/import/format.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

extern const struct import_format import_ort_format;

static int import(const char *text, struct store **out_store, struct diag *diag)
{
    const struct import_format *format = &import_ort_format;
    struct json_stream *stream;
    int rc;

    CHECK_OK(store_open("", STORE_MEMORY, out_store, diag));
    CHECK_OK(json_stream_open_memory("o.json", text, strlen(text), &stream, diag));
    rc = format->read_json(stream, "o.json", *out_store, NULL, &format, diag);
    json_stream_close(&stream);
    return rc;
}

/* Made for this test, after the documented fields. */
static const char profile[] =
    "[{\"cat\":\"Session\",\"pid\":3,\"tid\":4,\"dur\":5,\"ts\":1,\"ph\":\"X\","
    "\"name\":\"model_loading_uri\",\"args\":{}},"
    "{\"cat\":\"Node\",\"pid\":3,\"tid\":4,\"dur\":1,\"ts\":11,\"ph\":\"X\","
    "\"name\":\"c1_fence_before\",\"args\":{\"op_name\":\"Conv\"}},"
    "{\"cat\":\"Node\",\"pid\":3,\"tid\":4,\"dur\":6,\"ts\":12,\"ph\":\"X\","
    "\"name\":\"c1_kernel_time\",\"args\":{\"op_name\":\"Conv\",\"provider\":"
    "\"CPUExecutionProvider\",\"node_index\":\"9\",\"activation_size\":\"100\","
    "\"parameter_size\":\"20\",\"output_size\":\"3\",\"input_type_shape\":[{\"float\":[1,3]},"
    "{\"int64\":[]}],\"output_type_shape\":[{\"float16\":[1,4]}]}},"
    "{\"cat\":\"Kernel\",\"pid\":3,\"tid\":4,\"dur\":2,\"ts\":13,\"ph\":\"X\",\"name\":\"sgemm\","
    "\"args\":{\"stream\":\"7\",\"op_name\":\"Conv\"}},"
    "{\"cat\":\"Session\",\"pid\":3,\"tid\":4,\"dur\":20,\"ts\":10,\"ph\":\"X\","
    "\"name\":\"model_run\",\"args\":{}},"
    "{\"cat\":\"Node\",\"name\":\"no time\"}]";

static void tables_hold_the_profile(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(profile, &store, &diag));
    rows_check(store,
               "SELECT o.name, o.type, node_id, o.device, l.name, run, e.start_ns, dur_ns"
               "  FROM event e JOIN op o USING (op_id) JOIN lane l USING (lane_id)"
               " ORDER BY e.start_ns",
               "model_loading_uri|label|-|-|thread 4|-|1000|5000;"
               "model_run|label|-|-|thread 4|1|10000|20000;c1|phase|-|-|thread 4|1|11000|1000;"
               "c1|Conv|9|cpu:0|thread 4|1|12000|6000;sgemm|kernel|-|cuda:0|stream 7|1|13000|2000");
    rows_check(store,
               "SELECT input_shapes, input_dtypes, output_shapes, output_dtypes, memory_bytes,"
               " params FROM op WHERE type = 'Conv'",
               "[[1, 3], []]|[\"f32\", \"i64\"]|[[1, 4]]|[\"f16\"]|123|"
               "{\"provider\": \"CPUExecutionProvider\"}");
    rows_check(store, "SELECT run, start_ns, end_ns FROM run", "1|10000|30000");
    rows_check(store, "SELECT source, pid, library, note FROM session",
               "onnxruntime|3|ONNX Runtime|o.json: 6 events; times count from the start of "
               "profiling; 1 without usable times: left out");
    store_close(&store);
}

static void names_nodes_that_have_no_name(void **state)
{
    static const char text[] =
        "[{\"cat\":\"Node\",\"dur\":1,\"ts\":1,\"ph\":\"X\",\"name\":\"_fence_before\","
        "\"args\":{\"op_name\":\"Relu\"}},"
        "{\"cat\":\"Node\",\"dur\":1,\"ts\":2,\"ph\":\"X\",\"name\":\"_kernel_time\","
        "\"args\":{\"op_name\":\"Relu\",\"graph_index\":\"3\",\"exec_plan_index\":\"2\"}},"
        "{\"cat\":\"Node\",\"dur\":1,\"ts\":4,\"ph\":\"X\",\"name\":\"_kernel_time\","
        "\"args\":{\"op_name\":\"Relu\",\"graph_index\":\"4\",\"exec_plan_index\":\"3\"}}]";
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(text, &store, &diag));
    rows_check(store, "SELECT name, type, node_id FROM op",
               "Relu|phase|-;Relu_3|Relu|3;Relu_4|Relu|4");
    store_close(&store);
}

static void damage_leaves_the_store_as_it_was(void **state)
{
    struct store *store;
    struct diag diag = {0};

    assert_int_equal(import("[{\"cat\":\"Node\",\"args\":{\"a\" 1}}]", &store, &diag), -EUCLEAN);
    CHECK_CONTAINS(diag.text, "o.json: malformed JSON at byte 27: a colon is missing");
    rows_check(store, "SELECT count(*) FROM session", "0");
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_hold_the_profile),
        cmocka_unit_test(names_nodes_that_have_no_name),
        cmocka_unit_test(damage_leaves_the_store_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
