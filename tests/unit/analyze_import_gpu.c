/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome traces into tables: what profilers of GPUs write beside kernels and launches. */
#include "analyze/import/chrome/chrome.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

static struct store *import(const char *text)
{
    struct import_options options = {0};
    struct json_stream *stream;
    struct diag diag = {0};
    struct store *store;

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(json_stream_open_memory("t.json", text, strlen(text), &stream, &diag));
    CHECK_OK(import_chrome(stream, "t.json", store, &options, &diag));
    json_stream_close(&stream);
    return store;
}

/* Who waits for an event carries the number of the call that recorded it; a stream that waits for
 * what nobody recorded, that of its own call. */
static const char waits[] =
    "[{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event\",\"pid\":0,\"tid\":20,"
    " \"ts\":15,\"dur\":2,\"args\":{\"cuda_sync_kind\":\"Stream Wait Event\",\"stream\":20,"
    " \"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":12,\"wait_on_cuda_event_id\":1,"
    " \"correlation\":13,\"device\":0}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Wait Event\",\"pid\":0,\"tid\":20,"
    " \"ts\":25,\"dur\":2,\"args\":{\"wait_on_stream\":-1,"
    " \"wait_on_cuda_event_record_corr_id\":-1,\"correlation\":14,\"device\":0}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Event Sync\",\"pid\":0,\"tid\":-1,"
    " \"ts\":35,\"dur\":2,\"args\":{\"wait_on_stream\":7,"
    " \"wait_on_cuda_event_record_corr_id\":12,\"correlation\":15,\"device\":0}}]";

static void keeps_what_streams_wait_for(void **state)
{
    struct store *store = import(waits);

    rows_check(store,
               "SELECT o.name, type, device, params, correlation FROM event JOIN op o USING (op_id)"
               " ORDER BY start_ns",
               "Stream Wait Event|phase|cuda:0|{\"wait_on_stream\": 7}|12;"
               "Stream Wait Event|phase|cuda:0|{\"wait_on_stream\": -1}|14;"
               "Event Sync|phase|cuda:0|{\"wait_on_stream\": 7}|12");
    rows_check(store, "SELECT note FROM session",
               "t.json: 3 events of a Chrome trace; left out: wait_on_cuda_event_id (1)");
    store_close(&store);
}

/* What was counted in kernels is kept as values, without the time that Kineto makes up for them. */
static const char ranges[] =
    "[{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"void k<4>(int, float)\","
    " \"pid\":0,\"tid\":0,\"ts\":100,\"dur\":121,\"args\":{\"smsp__inst.sum\":7,"
    " \"bytes\":8.5,\"odd\":\"x\"}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"__missing__\","
    " \"pid\":0,\"tid\":0,\"ts\":221,\"dur\":121,\"args\":{\"smsp__inst.sum\":9}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"void k<4>(int, float)\","
    " \"pid\":0,\"tid\":0,\"ts\":342,\"dur\":121,\"args\":{\"smsp__inst.sum\":11,"
    " \"bytes\":1}}]";

static void keeps_what_was_counted_in_kernels(void **state)
{
    struct store *store = import(ranges);

    rows_check(store, "SELECT count(*) FROM event", "0");
    rows_check(
        store,
        "SELECT l.kind, l.device, o.type, o.name, o.params, time_ns, value FROM counter c"
        " JOIN lane l USING (lane_id) JOIN op o USING (op_id) ORDER BY time_ns, o.name",
        "stream|cuda:0|counter|void k<4>(int, float) bytes|{\"metric\": \"bytes\"}|100000|8.5;"
        "stream|cuda:0|counter|void k<4>(int, float) smsp__inst.sum|"
        "{\"metric\": \"smsp__inst.sum\"}|100000|7.0;"
        "stream|cuda:0|counter|__missing__ smsp__inst.sum|"
        "{\"metric\": \"smsp__inst.sum\"}|221000|9.0;"
        "stream|cuda:0|counter|void k<4>(int, float) bytes|{\"metric\": \"bytes\"}|342000|1.0;"
        "stream|cuda:0|counter|void k<4>(int, float) smsp__inst.sum|"
        "{\"metric\": \"smsp__inst.sum\"}|342000|11.0");
    rows_check(store, "SELECT note FROM session",
               "t.json: 3 events of a Chrome trace; left out: odd (1)");
    store_close(&store);
}

/* roctracer names the size of a copy at the call alone, as a text, before or after the copy. */
static const char sizes[] =
    "[{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Host -> Device)\",\"pid\":2,"
    " \"tid\":0,\"ts\":10,\"dur\":5,\"args\":{\"device\":2,\"stream\":0,\"correlation\":117,"
    " \"kind\":\"HtoD\"}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipMemcpyWithStream\",\"pid\":1,\"tid\":1,"
    " \"ts\":5,\"dur\":20,\"args\":{\"correlation\":117,\"size\":\"2560\",\"kind\":\"1\"}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipMalloc\",\"pid\":1,\"tid\":1,"
    " \"ts\":30,\"dur\":1,\"args\":{\"correlation\":118,\"size\":\"64\"}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipMemcpyAsync\",\"pid\":1,\"tid\":1,"
    " \"ts\":40,\"dur\":1,\"args\":{\"correlation\":119,\"size\":\"-1\"}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Host)\",\"pid\":2,"
    " \"tid\":0,\"ts\":45,\"dur\":5,\"args\":{\"device\":2,\"correlation\":119}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":1,\"tid\":1,"
    " \"ts\":50,\"dur\":1,\"args\":{\"correlation\":120,\"size\":\"1\"}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\",\"pid\":2,"
    " \"tid\":0,\"ts\":55,\"dur\":5,\"args\":{\"device\":2,\"correlation\":120,\"bytes\":77}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"Memset (Device)\",\"pid\":2,"
    " \"tid\":0,\"ts\":65,\"dur\":5,\"args\":{\"device\":2,\"correlation\":121,\"bytes\":-5}}]";

static void keeps_sizes_of_copies_of_rocm(void **state)
{
    struct store *store = import(sizes);

    rows_check(store,
               "SELECT o.name, start_ns, bytes FROM event JOIN op o USING (op_id)"
               " ORDER BY start_ns",
               "hipMemcpyWithStream|5000|-;Memcpy HtoD (Host -> Device)|10000|2560;"
               "hipMalloc|30000|-;hipMemcpyAsync|40000|-;Memcpy DtoH (Device -> Host)|45000|-;"
               "cudaMemcpyAsync|50000|-;Memcpy HtoD (Pageable -> Device)|55000|77;"
               "Memset (Device)|65000|-");
    store_close(&store);
}

/* The recording is longer than what the program did; a program's own spans may be called alike. */
static const char recording[] =
    "[{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
    " \"tid\":\"PyTorch Profiler\",\"ts\":0,\"dur\":1000,\"args\":{\"Op count\":0}},"
    "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"__cupti_profiler__ (-1)\",\"pid\":\"Spans\","
    " \"tid\":\"__cupti_profiler__\",\"ts\":5,\"dur\":1000,\"args\":{\"Op count\":0}},"
    "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Traces\","
    " \"tid\":\"PyTorch Profiler\",\"ts\":0,\"dur\":1000,\"args\":{}},"
    "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\",\"pid\":\"Traces\","
    " \"tid\":\"Trace PyTorch Profiler\",\"ts\":0},"
    "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\","
    " \"ts\":1100},"
    "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"Trace of mine\",\"pid\":7,\"tid\":7,"
    " \"ts\":510,\"dur\":5},"
    "{\"ph\":\"i\",\"cat\":\"a\",\"name\":\"Record Window End\",\"pid\":7,\"tid\":7,\"ts\":511},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":7,\"ts\":500,"
    " \"dur\":100,\"args\":{}}]";

static void leaves_out_the_recording_itself(void **state)
{
    struct store *store = import(recording);

    rows_check(store, "SELECT o.name, o.type FROM event JOIN op o USING (op_id) ORDER BY start_ns",
               "aten::mm|cpu_op;Trace of mine|label;Record Window End|mark");
    rows_check(store, "SELECT start_ns, end_ns, note FROM session",
               "500000|600000|t.json: 8 events of a Chrome trace; left out: Op count (2), "
               "events of the profiler "
               "itself (5)");
    rows_check(store, "SELECT count(*) FROM lane", "1");
    store_close(&store);
}

/* Of torch.distributed; a scope of a person, and a collective as a device's label, stay labels. */
static const char collectives[] =
    "[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"gloo:all_reduce\",\"pid\":1,\"tid\":1,"
    " \"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":[[1000]],\"Input type\":[\"float\"]}},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"nccl:broadcast\",\"pid\":1,\"tid\":1,"
    " \"ts\":2,\"dur\":1,\"args\":{}},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"gloom\",\"pid\":1,\"tid\":1,"
    " \"ts\":3,\"dur\":1,\"args\":{}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"nccl:broadcast\",\"pid\":0,\"tid\":7,"
    " \"ts\":4,\"dur\":9,\"args\":{}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_Broadcast\",\"pid\":0,\"tid\":7,"
    " \"ts\":5,\"dur\":2,\"args\":{}}]";

static void collectives_have_a_type(void **state)
{
    struct store *store = import(collectives);

    rows_check(store,
               "SELECT o.name, type, input_shapes FROM event JOIN op o USING (op_id)"
               " ORDER BY start_ns",
               "gloo:all_reduce|collective|[[1000]];nccl:broadcast|collective|-;gloom|label|-;"
               "nccl:broadcast|label|-;ncclDevKernel_Broadcast|kernel|-");
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_streams_wait_for),
        cmocka_unit_test(keeps_what_was_counted_in_kernels),
        cmocka_unit_test(keeps_sizes_of_copies_of_rocm),
        cmocka_unit_test(collectives_have_a_type),
        cmocka_unit_test(leaves_out_the_recording_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
