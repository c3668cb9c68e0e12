/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome traces into tables: every kind of event, both forms of Kineto's, damage and leniency. */
#include "analyze/import/chrome/chrome.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

static int import(const char *text, bool lenient, struct store **out_store, struct diag *diag)
{
    struct import_options options = {.lenient = lenient};
    struct json_stream *stream;
    int rc;

    CHECK_OK(store_open("", STORE_MEMORY, out_store, diag));
    CHECK_OK(json_stream_open_memory("t.json", text, strlen(text), &stream, diag));
    rc = import_chrome(stream, "t.json", *out_store, &options, diag);
    json_stream_close(&stream);
    return rc;
}

/* Made for this test, as Kineto writes today: fractions, a base that stands behind the events. */
static const char present[] =
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"GPU X\"},{\"name\":\"Y\"}],"
    "\"traceEvents\":["
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":10,\"tid\":0,\"ts\":0,"
    " \"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":10,\"tid\":11,\"args\":{\"name\":\"main\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,\"args\":{\"name\":\"stream 7\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":9,\"args\":{\"name\":\"unused\"}},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#7\",\"pid\":10,\"tid\":11,"
    " \"ts\":100.001,\"dur\":50.5,\"args\":{\"External id\":1}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":10,\"tid\":11,\"ts\":110.25,"
    " \"dur\":20,\"args\":{\"External id\":2,\"Input Dims\":[[2,3],[3,4],[]],"
    " \"Input type\":[\"float\",\"c10::Half\",\"\"],\"Concrete Inputs\":[\"\",\"\",\"1\"],"
    " \"Call stack\":\"net.py(12): forward;main.py(3): <module>\"}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":10,\"tid\":11,"
    " \"ts\":112,\"dur\":3,\"args\":{\"cbid\":211,\"correlation\":55}},"
    "{\"ph\":\"s\",\"id\":55,\"pid\":10,\"tid\":11,\"ts\":112,\"cat\":\"ac2g\",\"name\":\"ac2g\"},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sgemm\",\"pid\":0,\"tid\":7,\"ts\":160,\"dur\":5,"
    " \"args\":{\"device\":0,\"stream\":7,\"correlation\":55,\"grid\":[4,1,1],\"block\":[128,1,1],"
    " \"registers per thread\":32,\"shared memory\":1024}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD\",\"pid\":0,\"tid\":7,\"ts\":170,"
    " \"dur\":-2,\"args\":{\"device\":0,\"stream\":7,\"correlation\":56,\"bytes\":4096}},"
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":10,\"tid\":11,\"ts\":111,\"s\":\"t\","
    " \"args\":{\"Device Type\":0,\"Device Id\":-1,\"Addr\":4096,\"Bytes\":64}},"
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":10,\"tid\":11,\"ts\":111.5,\"s\":\"t\","
    " \"args\":{\"Device Type\":1,\"Device Id\":2,\"Bytes\":-32}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":0,\"tid\":7,\"ts\":180,"
    " \"dur\":1,\"args\":{}}"
    "],\"traceName\":\"x\",\"baseTimeNanoseconds\":1700000000000000000}";

static void reads_what_kineto_writes_today(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(present, false, &store, &diag));
    rows_check(store, "SELECT kind, name, device, native_id FROM lane",
               "thread|main|-|11;stream|stream 7|cuda:0|7;stream|memory of cuda:2|cuda:2|-");
    rows_check(store,
               "SELECT o.name, o.type, run, e.start_ns - 1700000000000000000, dur_ns, correlation,"
               " bytes FROM event e JOIN op o USING (op_id) ORDER BY e.start_ns",
               "ProfilerStep*|label|1|100001|50500|-|-;aten::mm|cpu_op|1|110250|20000|-|-;"
               "cudaLaunchKernel|cuda_runtime|1|112000|3000|55|-;sgemm|kernel|1|160000|5000|55|-;"
               "Memcpy HtoD|copy|-|170000|0|56|4096;Stream Sync|phase|-|180000|1000|-|-");
    rows_check(store,
               "SELECT input_shapes, input_dtypes, params, source FROM op WHERE name = 'aten::mm'",
               "[[2, 3], [3, 4], []]|[\"f32\", \"f16\", null]|{\"concrete_inputs\": [\"\", \"\", "
               "\"1\"], \"stack\": \"net.py(12): forward;main.py(3): <module>\"}|net.py:12");
    rows_check(store, "SELECT device, params FROM op WHERE name = 'sgemm'",
               "cuda:0|{\"grid\": [4, 1, 1], \"block\": [128, 1, 1], \"registers_per_thread\": 32, "
               "\"shared_memory_bytes\": 1024}");
    rows_check(store,
               "SELECT l.name, o.name, run, address, m.bytes FROM memory_event m"
               " JOIN lane l USING (lane_id) JOIN op o USING (op_id)",
               "main|aten::mm|1|4096|64;memory of cuda:2|aten::mm|1|-|-32");
    rows_check(store, "SELECT run, end_ns - start_ns FROM run", "1|50500");
    rows_check(store, "SELECT program, pid, source, note FROM session",
               "python|10|chrome|t.json: 13 events of a Chrome trace, recorded on GPU X; 1 ended "
               "before they began: taken as 0; left out: cbid (1)");
    store_close(&store);
}

/* As in 2021: other categories, thread ids as texts, launches tied by flows. */
static const char legacy[] =
    "[{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::add\",\"pid\":5,\"tid\":\"5\","
    " \"ts\":10,\"dur\":9,\"args\":{\"Device\":5,\"External id\":2,\"Input Dims\":[[2],[]]}},"
    "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":5,\"tid\":\"5\","
    " \"ts\":12,\"dur\":2,\"args\":{\"external id\":2}},"
    "{\"ph\":\"s\",\"id\":9,\"pid\":5,\"tid\":5,\"ts\":12,\"cat\":\"async\",\"name\":\"launch\"},"
    "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":1,\"tid\":\"stream 7\",\"ts\":30,"
    " \"dur\":2,\"args\":{}},"
    "{\"ph\":\"f\",\"id\":9,\"pid\":1,\"tid\":\"stream 7\",\"ts\":30,\"cat\":\"async\","
    " \"name\":\"launch\",\"bp\":\"e\"},"
    "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#1\",\"pid\":5,\"tid\":\"5\","
    " \"ts\":8,\"dur\":20,\"args\":{}},";

static void reads_the_form_of_2021_unclosed(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(legacy, false, &store, &diag));
    rows_check(store,
               "SELECT o.name, o.type, l.name, run, e.start_ns, correlation"
               "  FROM event e JOIN op o USING (op_id) JOIN lane l USING (lane_id)"
               " ORDER BY e.start_ns",
               "ProfilerStep*|label|5/5|1|8000|-;aten::add|cpu_op|5/5|1|10000|-;"
               "cudaLaunchKernel|cuda_runtime|5/5|1|12000|9;k|kernel|1/stream 7|1|30000|9");
    rows_check(store, "SELECT device FROM lane WHERE kind = 'stream'", "cuda:1");
    rows_check(store, "SELECT note FROM session",
               "t.json: 6 events of a Chrome trace; left out: Device (1); the file was never "
               "closed: its writer was "
               "probably killed");
    store_close(&store);
}

static const char others[] =
    "[{\"ph\":\"B\",\"name\":\"outer\",\"cat\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1.5},"
    "{\"ph\":\"B\",\"name\":\"in\\\"ner\",\"pid\":1,\"tid\":1,\"ts\":2},"
    "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3},"
    "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4},"
    "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5},"
    "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":1,\"ts\":6},"
    "{\"ph\":\"X\",\"name\":\"half\",\"pid\":1,\"tid\":1,\"ts\":7},"
    "{\"ph\":\"X\",\"name\":\"timeless\",\"pid\":1,\"tid\":1,\"dur\":1},"
    "{\"ph\":\"X\",\"name\":\"far\",\"pid\":1,\"tid\":1,\"ts\":9e18,\"dur\":1},"
    "{\"ph\":\"C\",\"name\":\"load\",\"pid\":1,\"tid\":1,\"ts\":8,\"args\":{\"v\":0.5}},"
    "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"tid\":1,\"ts\":8,"
    " \"args\":{\"free\":1,\"used\":\"2\",\"x\":null}},"
    "{\"ph\":\"I\",\"name\":\"point\",\"pid\":1,\"tid\":1,\"ts\":9},"
    "{\"ph\":\"b\",\"name\":\"async\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":9}]";

static void reads_the_other_kinds_of_events(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(others, false, &store, &diag));
    rows_check(store,
               "SELECT o.name, o.type, e.start_ns, dur_ns FROM event e JOIN op o USING (op_id)"
               " ORDER BY e.start_ns",
               "outer|a|1500|2500;in\"ner|span|2000|1000;open|span|6000|-;half|span|7000|-;"
               "point|mark|9000|0;async|span|9000|-");
    rows_check(store, "SELECT name, time_ns, value FROM counter JOIN op USING (op_id)",
               "load|8000|0.5;mem free|8000|1.0;mem used|8000|2.0");
    rows_check(store, "SELECT note FROM session",
               "t.json: 13 events of a Chrome trace; 2 without a usable time or id: left out; "
               "1 ends without a beginning: left out");
    store_close(&store);
}

/* Two requests at once, one of them in two steps and with a point, an object, ids of a process. */
static void gives_async_spans_lanes_of_their_own(void **state)
{
    static const char text[] =
        "[{\"ph\":\"b\",\"cat\":\"req\",\"id\":\"0x1\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":1}"
        ","
        "{\"ph\":\"b\",\"cat\":\"req\",\"id\":\"0x2\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"b\",\"cat\":\"req\",\"id\":\"0x1\",\"name\":\"step\",\"pid\":1,\"tid\":2,\"ts\":"
        "3},"
        "{\"ph\":\"n\",\"cat\":\"req\",\"id\":\"0x1\",\"name\":\"hit\",\"pid\":1,\"tid\":2,\"ts\":"
        "4},"
        "{\"ph\":\"e\",\"cat\":\"req\",\"id\":\"0x1\",\"name\":\"step\",\"pid\":1,\"tid\":2,\"ts\":"
        "5},"
        "{\"ph\":\"e\",\"cat\":\"req\",\"id\":\"0x1\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":6},"
        "{\"ph\":\"b\",\"cat\":\"req\",\"id\":\"0x3\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":7},"
        "{\"ph\":\"e\",\"cat\":\"req\",\"id\":\"0x2\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":8},"
        "{\"ph\":\"e\",\"cat\":\"req\",\"id\":\"0x3\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":9},"
        "{\"ph\":\"e\",\"cat\":\"req\",\"id\":\"0x3\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":9},"
        "{\"ph\":\"n\",\"cat\":\"req\",\"id\":\"0x3\",\"name\":\"late\",\"pid\":1,\"tid\":1,\"ts\":"
        "10},"
        "{\"ph\":\"S\",\"cat\":\"old\",\"id\":5,\"name\":\"s\",\"pid\":1,\"tid\":1,\"ts\":11},"
        "{\"ph\":\"T\",\"cat\":\"old\",\"id\":5,\"name\":\"s\",\"pid\":1,\"tid\":1,\"ts\":12},"
        "{\"ph\":\"F\",\"cat\":\"old\",\"id\":5,\"name\":\"s\",\"pid\":1,\"tid\":1,\"ts\":13},"
        "{\"ph\":\"N\",\"id\":\"0x9\",\"name\":\"tensor\",\"pid\":1,\"tid\":1,\"ts\":14},"
        "{\"ph\":\"O\",\"id\":\"0x9\",\"name\":\"tensor\",\"pid\":1,\"tid\":1,\"ts\":15},"
        "{\"ph\":\"D\",\"id\":\"0x9\",\"name\":\"tensor\",\"pid\":1,\"tid\":1,\"ts\":16},"
        "{\"ph\":\"b\",\"cat\":\"loc\",\"id2\":{\"local\":1},\"name\":\"p\",\"pid\":1,\"ts\":17},"
        "{\"ph\":\"b\",\"cat\":\"loc\",\"id2\":{\"local\":1},\"name\":\"q\",\"pid\":2,\"ts\":18},"
        "{\"ph\":\"e\",\"cat\":\"loc\",\"id2\":{\"local\":1},\"name\":\"p\",\"pid\":1,\"ts\":19}]";
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(text, false, &store, &diag));
    rows_check(store,
               "SELECT l.name, o.name, o.type, e.start_ns, dur_ns FROM event e"
               " JOIN op o USING (op_id) JOIN lane l USING (lane_id)"
               " ORDER BY e.start_ns, dur_ns DESC",
               "async req|r|req|1000|5000;async req (2)|r|req|2000|6000;"
               "async req|step|req|3000|2000;async req|hit|mark|4000|0;async req|r|req|7000|2000;"
               "async req|late|mark|10000|0;async old|s|old|11000|2000;async old|s|mark|12000|0;"
               "async object|tensor|object|14000|2000;async loc|p|loc|17000|2000;"
               "async loc (2)|q|loc|18000|-");
    rows_check(store, "SELECT note FROM session",
               "t.json: 20 events of a Chrome trace; 1 ends without a beginning: left out; "
               "left out: events of kind O (1)");
    store_close(&store);
}

/* As traces are that each thread wrote its part of: ends before their beginnings, spans of the same
 * times in one another. */
static void pairs_ends_in_the_order_of_time(void **state)
{
    static const char text[] =
        "[{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":10},"
        "{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":1},"
        "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"B\",\"name\":\"around\",\"pid\":1,\"tid\":1,\"ts\":4.5},"
        "{\"ph\":\"B\",\"name\":\"within\",\"pid\":1,\"tid\":1,\"ts\":4.5},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4.5},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":4.5},"
        "{\"ph\":\"e\",\"cat\":\"req\",\"id\":1,\"pid\":1,\"tid\":2,\"ts\":7},"
        "{\"ph\":\"n\",\"cat\":\"req\",\"id\":1,\"name\":\"hit\",\"pid\":1,\"tid\":2,\"ts\":6},"
        "{\"ph\":\"b\",\"cat\":\"req\",\"id\":1,\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":5},"
        "{\"ph\":\"B\",\"name\":\"far\",\"pid\":1,\"tid\":3,\"ts\":-4e15},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":3,\"ts\":4e15}]";
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(text, false, &store, &diag));
    rows_check(store,
               "SELECT l.name, o.name, e.start_ns, dur_ns FROM event e JOIN op o USING (op_id)"
               " JOIN lane l USING (lane_id) ORDER BY e.rowid",
               "1/1|within|4500|0;1/1|around|4500|0;async req|hit|6000|0;async req|r|5000|2000;"
               "1/1|inner|2000|7000;1/1|outer|1000|9000");
    rows_check(store, "SELECT note FROM session",
               "t.json: 13 events of a Chrome trace; 1 without a usable time or id: left out");
    store_close(&store);
}

/* What the allocators hold becomes counters beside what they do. */
static void keeps_totals_of_allocators(void **state)
{
    static const char text[] =
        "[{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":1,\"args\":{\"Device "
        "Type\":0,"
        "\"Device Id\":-1,\"Addr\":1,\"Bytes\":64,\"Total Allocated\":64,\"Total Reserved\":0}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":2,\"args\":{\"Device "
        "Type\":1,"
        "\"Device Id\":0,\"Addr\":2,\"Bytes\":128,\"Total Allocated\":512,\"Total "
        "Reserved\":2097152}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":3,\"args\":{"
        "\"place\":\"Place(gpu:0)\",\"addr\":\"2\",\"increase_bytes\":-128,"
        "\"current_allocated\":384,\"peak_allocated\":512}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":4,\"args\":{\"Device "
        "Type\":6,"
        "\"Device Id\":0,\"Addr\":3,\"Bytes\":8}}]"; /* HIP */
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(text, false, &store, &diag));
    rows_check(store,
               "SELECT l.name, l.device, o.name, time_ns, value FROM counter"
               " JOIN op o USING (op_id) JOIN lane l USING (lane_id) ORDER BY counter.rowid",
               "1/2|-|Total Allocated|1000|64.0;1/2|-|Total Reserved|1000|0.0;"
               "memory of cuda:0|cuda:0|Total Allocated|2000|512.0;"
               "memory of cuda:0|cuda:0|Total Reserved|2000|2097152.0;"
               "memory of cuda:0|cuda:0|Total Allocated|3000|384.0");
    rows_check(store, "SELECT name, address, bytes FROM memory_event JOIN lane USING (lane_id)",
               "1/2|1|64;memory of cuda:0|2|128;memory of cuda:0|2|-128;memory of cuda:0|3|8");
    rows_check(store, "SELECT note FROM session",
               "t.json: 4 events of a Chrome trace; left out: peak_allocated (1)");
    store_close(&store);
}

/* Where no launch was recorded, "External id" ties an op to its kernels; a launch is nearer. */
static void ties_kernels_to_ops_without_launches(void **state)
{
    static const char op[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\",\"pid\":1,\"tid\":1,\"ts\":1,"
        "\"dur\":9,\"args\":{\"External id\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":1,\"ts\":20,"
        "\"dur\":1,\"args\":{\"External id\":7,\"correlation\":3}}";
    static const char launch[] = ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":1,"
                                 "\"tid\":1,\"ts\":2,\"dur\":1,"
                                 "\"args\":{\"External id\":7,\"correlation\":3}}";
    char text[1000];
    struct store *store;
    struct diag diag = {0};

    snprintf(text, sizeof(text), "%s]", op);
    CHECK_OK(import(text, false, &store, &diag));
    rows_check(
        store,
        "SELECT name, correlation, kern_ns FROM event JOIN op USING (op_id) ORDER BY start_ns",
        "o|7|-;k|7|-");
    store_close(&store);
    snprintf(text, sizeof(text), "%s%s]", op, launch);
    CHECK_OK(import(text, false, &store, &diag));
    rows_check(
        store,
        "SELECT name, correlation, kern_ns FROM event JOIN op USING (op_id) ORDER BY start_ns",
        "o|-|-;l|3|-;k|3|-");
    store_close(&store);
}

/* Its names hold the time, its shapes stand by the names of the inputs. */
static void reads_what_paddle_writes(void **state)
{
    static const char text[] =
        "{\"schemaVersion\":\"1.0.1\",\"displayTimeUnit\":\"ms\",\"span_indx\":\"0\","
        "\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"ProfileStep\",\"name\":\"ProfileStep#3[0.020 ms]\",\"pid\":1,"
        "\"tid\":\"1(Python)\",\"ts\":1,\"dur\":20,\"args\":{}},"
        "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"matmul[9.500 us]\",\"pid\":1,"
        "\"tid\":\"1(C++)\",\"ts\":2,\"dur\":9.5,\"args\":{\"input_shapes\":{\"X\":[[2,3]],"
        "\"Y\":[[3,4],[4]]},\"input_dtypes\":{\"X\":[\"float32\"],\"Y\":[\"float16\",\"float32\"]}}"
        "},"
        "{\"ph\":\"X\",\"cat\":\"OperatorInner\",\"name\":\"matmul infer_shape[1.000 us]\","
        "\"pid\":1,\"tid\":\"1(C++)\",\"ts\":3,\"dur\":1,\"args\":{}},"
        "{\"ph\":\"X\",\"cat\":\"CudaRuntime\",\"name\":\"list[3]\",\"pid\":1,"
        "\"tid\":\"1(C++)\",\"ts\":5,\"dur\":1,\"args\":{\"correlation\":1}}]}";
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(text, false, &store, &diag));
    rows_check(store, "SELECT name, type, input_shapes, input_dtypes FROM op",
               "ProfileStep*|label|-|-;matmul|cpu_op|[[2, 3], [3, 4], [4]]|[\"f32\", \"f16\", "
               "\"f32\"];matmul infer_shape|phase|-|-;list[3]|cuda_runtime|-|-");
    rows_check(store, "SELECT run, start_ns, end_ns FROM run", "1|1000|21000");
    store_close(&store);
}

/* Paddle cuts starts, but not durations, to whole microseconds, and parts each thread in two. */
/* As JAX 0.10 writes them: no categories, numbers as texts. */
static const char xla[] =
    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
    "{\"ph\":\"X\",\"pid\":701,\"tid\":8,\"ts\":10.5,\"dur\":90,\"name\":\"train\","
    " \"args\":{\"step_num\":\"0\"}},"
    "{\"ph\":\"X\",\"pid\":701,\"tid\":8,\"ts\":200,\"dur\":50,\"name\":\"train\","
    " \"args\":{\"step_num\":\"1\"}},"
    "{\"ph\":\"X\",\"pid\":701,\"tid\":8,\"ts\":20,\"dur\":30,\"name\":\"$api.py:7 jit\"},"
    "{\"ph\":\"X\",\"pid\":701,\"tid\":8,\"ts\":25,\"dur\":20,\"name\":\"PjitFunction(f)\"},"
    "{\"ph\":\"X\",\"pid\":701,\"tid\":9,\"ts\":210,\"dur\":5,\"name\":\"dot\",\"args\":"
    " {\"hlo_op\":\"dot.3\",\"hlo_module\":\"jit_f\",\"run_id\":\"14\"}},"
    "{}]}";

static void steps_of_xla_are_runs(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(xla, false, &store, &diag));
    rows_check(store, "SELECT run, start_ns, end_ns - start_ns FROM run",
               "1|10500|90000;2|200000|50000");
    rows_check(store,
               "SELECT o.name, o.type, run, o.params FROM event e JOIN op o USING (op_id)"
               " ORDER BY e.start_ns",
               "train|label|1|-;$api.py:7 jit|python_function|1|-;PjitFunction(f)|span|1|-;"
               "train|label|2|-;dot|xla_op|2|{\"hlo_op\": \"dot.3\", \"hlo_module\": \"jit_f\"}");
    rows_check(store, "SELECT note FROM session",
               "t.json: 6 events of a Chrome trace; left out: run_id (1), events of kind  (1)");
    store_close(&store);
}

static void nests_what_paddle_parts(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"Forward\",\"name\":\"Forward[0.010 ms]\",\"pid\":9,"
        "\"tid\":\"1(Python)\",\"ts\":10,\"dur\":10.2,\"args\":{}},"
        "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"inside[0.008 ms]\",\"pid\":9,"
        "\"tid\":\"1(C++)\",\"ts\":12,\"dur\":8.9,\"args\":{}}," /* ends 700 ns behind it */
        "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"next[0.002 ms]\",\"pid\":9,"
        "\"tid\":\"1(C++)\",\"ts\":20,\"dur\":1.1,\"args\":{}}," /* begins 200 ns before its end */
        "{\"ph\":\"X\",\"cat\":\"CudaRuntime\",\"name\":\"launch[0.001 ms]\",\"pid\":9,"
        "\"tid\":\"1(C++)\",\"ts\":13,\"dur\":1.5,\"args\":{\"correlation id\":7}},"
        "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"gemm[0.001 ms]\",\"pid\":0,\"tid\":7,"
        "\"ts\":15,\"dur\":0.5,\"args\":{\"device\":0,\"stream\":7,\"correlation id\":7}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":9,\"tid\":\"1(C++)\","
        "\"args\":{\"name\":\"thread 1:main(C++)\"}}]";
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(text, false, &store, &diag));
    rows_check(store,
               "SELECT o.name, l.name, native_id, e.start_ns, dur_ns, correlation FROM event e"
               " JOIN op o USING (op_id) JOIN lane l USING (lane_id) ORDER BY e.start_ns",
               "Forward|thread 1:main|1|10000|10200|-;inside|thread 1:main|1|12000|8200|-;"
               "launch|thread 1:main|1|13000|1500|7;gemm|0/7|7|15000|500|7;"
               "next|thread 1:main|1|20000|1100|-");
    store_close(&store);
}

struct damage {
    const char *text, *sentence;
    int64_t offset;
    bool ends; /* nothing behind it can be read */
};

static void says_where_damage_is(void **state)
{
    static const struct damage damages[] = {
        {"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}, 7]", "byte 28: an event is no object", 28, false},
        {"[{\"ph\":\"X\" \"ts\":1}]", "byte 11: a comma is missing", 11, false},
        {"[{\"ph\":\"X\",\"args\":{\"a\":}}]", "byte 23: a value is missing", 23, false},
        {"[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph", "the file ends at byte 31", 31, true},
        {"{\"traceEvents\":[],\"baseTimeNanoseconds\":\"x\"}", "is no time since 1970", 40, false},
    };

    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct store *store;
        struct diag diag = {0}, again = {0};

        assert_int_equal(import(damages[i].text, false, &store, &diag), -EUCLEAN);
        CHECK_CONTAINS(diag.text, damages[i].sentence);
        assert_int_equal(diag.offset, damages[i].offset);
        rows_check(store, "SELECT count(*) FROM session", "0");
        store_close(&store);

        CHECK_OK(import(damages[i].text, true, &store, &again));
        rows_check(store,
                   damages[i].ends
                       ? "SELECT note LIKE '%; the rest is lost: t.json:%' FROM session"
                       : "SELECT note LIKE '%; malformed 1 times, first: t.json:%' FROM session",
                   "1");
        store_close(&store);
    }
}

static void keeps_what_was_read_before_the_damage(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import("[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1},{\"ph\":\"X\"", true, &store,
                    &diag));
    rows_check(store, "SELECT name, start_ns FROM event JOIN op USING (op_id)", "a|1000");
    store_close(&store);
}

/* A name with quotes in it, as writers forget to escape them, hides what follows in its line only.
 */
static void goes_on_behind_damage(void **state)
{
    static const char text[] =
        "{\"traceEvents\": [\n"
        "  {\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1},\n"
        "  {\"ph\":\"X\",\"name\":\"say \"b\",\"ts\":2,\"dur\":1},\n"
        "  {\"ph\":\"X\",\"name\":\"c\",\"ts\":3,\"dur\":1,\"args\":{\n    \"x\":1}},\n"
        "  {\"ph\":\"X\",\"name\":\"say \"d\" \",\"ts\":4,\"dur\":1},\n"
        "  {\"ph\":\"X\",\"name\":\"e\",\"ts\":5,\"dur\":1}}}\n"
        "  {\"ph\":\"X\",\"name\":\"f\",\"ts\":6,\"dur\":1}\n"
        "], \"baseTimeNanoseconds\": 1000000}\n";
    struct store *store;
    struct diag diag = {0};

    assert_int_equal(import(text, false, &store, &diag), -EUCLEAN);
    store_close(&store);
    CHECK_OK(import(text, true, &store, &diag));
    rows_check(store, "SELECT name, start_ns FROM event JOIN op USING (op_id)",
               "a|1001000;c|1003000;e|1005000;f|1006000");
    rows_check(store, "SELECT substr(note, 1, 80) FROM session",
               "t.json: 4 events of a Chrome trace; left out: x (1); malformed 3 times, first: t");
    store_close(&store);
}

/* What other writers get wrong, but can be read: texts that are no UTF-8, NaN, keys twice, numbers
 * beyond all bounds. */
static void bears_what_writers_get_wrong(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"name\":\"\xff\xc3(\",\"ts\":1,\"dur\":1,\"args\":{\"v\":NaN,\"w\":["
        "Infinity]}},"
        "{\"ph\":\"X\",\"name\":\"x\",\"name\":\"twice\",\"ts\":7,\"ts\":2,\"dur\":NaN},"
        "{\"ph\":\"X\",\"name\":\"huge\",\"ts\":1e400,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"long\",\"ts\":3,\"dur\":99999999999999999999999999},"
        "{\"ph\":\"X\",\"name\":\"\\ud83d\\ude00\\ud83d\",\"ts\":4,\"dur\":1},"
        "{\"ph\":\"C\",\"name\":\"c\",\"ts\":5,\"args\":{\"n\":-Infinity,\"m\":1e300}}]";
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(text, false, &store, &diag));
    rows_check(store,
               "SELECT hex(name), start_ns, dur_ns FROM event JOIN op USING (op_id)"
               " ORDER BY start_ns",
               "EFBFBDEFBFBD28|1000|1000;7477696365|2000|-;6C6F6E67|3000|-;"
               "F09F9880EFBFBD|4000|1000");
    rows_check(store, "SELECT name, value FROM counter JOIN op USING (op_id)", "c m|1.0e+300");
    store_close(&store);
    CHECK_OK(import("{\"baseTimeNanoseconds\":9223372036854775807,\"traceEvents\":["
                    "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]}",
                    true, &store, &diag));
    rows_check(store, "SELECT start_ns FROM event", "1000");
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_kineto_writes_today),
        cmocka_unit_test(reads_the_form_of_2021_unclosed),
        cmocka_unit_test(reads_the_other_kinds_of_events),
        cmocka_unit_test(gives_async_spans_lanes_of_their_own),
        cmocka_unit_test(pairs_ends_in_the_order_of_time),
        cmocka_unit_test(keeps_totals_of_allocators),
        cmocka_unit_test(ties_kernels_to_ops_without_launches),
        cmocka_unit_test(reads_what_paddle_writes),
        cmocka_unit_test(steps_of_xla_are_runs),
        cmocka_unit_test(nests_what_paddle_parts),
        cmocka_unit_test(says_where_damage_is),
        cmocka_unit_test(keeps_what_was_read_before_the_damage),
        cmocka_unit_test(goes_on_behind_damage),
        cmocka_unit_test(bears_what_writers_get_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
