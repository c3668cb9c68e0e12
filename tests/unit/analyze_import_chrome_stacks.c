/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks that a Chrome trace has in functions of Python and in forward ops. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/chrome/chrome.h"
#include "analyze/import/chrome/stacks.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

static struct store *import(const char *text)
{
    struct import_options options = {0};
    struct json_stream *stream;
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &store, &diag));
    CHECK_OK(json_stream_open_memory("t.json", text, strlen(text), &stream, &diag));
    CHECK_OK(import_chrome(stream, "t.json", store, &options, &diag));
    json_stream_close(&stream);
    return store;
}

#define X(cat, name, tid, ts, dur, args)                                                           \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts \
    ".5,\"dur\":" dur ",\"args\":{" args "}},"
#define TRACE(events) "{\"traceEvents\":[" events "{\"ph\":\"M\"}]}"

static const char by_time[] =
    "SELECT e.start_ns / 1000, o.name, o.params ->> '$.stack', o.source, o.params ->> '$.pass'"
    "  FROM event e JOIN op o USING (op_id) WHERE o.type <> 'python_function'"
    " ORDER BY e.start_ns, e.lane_id";

static void functions_that_are_open_are_the_stack(void **state)
{
    struct store *store = import(TRACE(
        /* written in another order than they happened, as PyTorch writes them */
        X("cpu_op", "mm", "7", "110", "10", "") X("cpu_op", "mm", "7", "130", "10", "")
            X("cpu_op", "mm", "7", "190", "10", "") X("cpu_op", "mm", "7", "300", "10",
                                                      "") X("cpu_op", "mm", "8", "110", "10", "")
                X("cpu_op", "told", "7", "195", "1", "\"Call stack\":\"x.py(1): g;y.py(2): h;\"")
        /* begins in f, which it outlives */
        X("user_annotation", "label", "7", "120", "50", "")
            X("python_function", "m.py(3): main", "7", "100", "100", "")
                X("python_function", "f.py(5): f", "7", "105", "30", "")
                    X("python_function", "a;b", "7", "185", "10", "")
                        X("cuda_runtime", "launch", "7", "112", "1", "")));

    rows_check(store, by_time,
               "110|mm|f.py(5): f;m.py(3): main|f.py:5|-;110|mm|-|-|-;112|launch|-|-|-;"
               "120|label|f.py(5): f;m.py(3): main|f.py:5|-;"
               "130|mm|f.py(5): f;m.py(3): main|f.py:5|-;"
               "190|mm|a:b;m.py(3): main|a:b|-;195|told|x.py(1): g;y.py(2): h|x.py:1|-;"
               "300|mm|-|-|-");
    /* three of one name: in f, in a;b, in nothing; no row without an event */
    rows_check(store, "SELECT count(*), count(DISTINCT client_op) FROM op WHERE name = 'mm'",
               "3|3");
    rows_check(store, "SELECT count(*) FROM op WHERE op_id NOT IN (SELECT op_id FROM event)", "0");
    store_close(&store);
}

/* Thread 2 counts its numbers as thread 1 does; both have their backward ops on thread 9. */
static void backward_ops_have_the_stack_of_their_forward_op(void **state)
{
    struct store *store = import(TRACE(
        X("python_function", "one", "1", "0", "90",
          "") X("cpu_op", "linear", "1", "10", "20", "\"Sequence number\":5,\"Fwd thread id\":0")
            X("cpu_op", "addmm", "1", "12", "9", "\"Sequence number\":5,\"Fwd thread id\":0")
                X("cpu_op", "relu", "1", "40", "9", "\"Sequence number\":6,\"Fwd thread id\":0") X(
                    "python_function", "two", "2", "0", "90",
                    "") X("cpu_op", "linear", "2", "10", "20",
                          "\"Sequence number\":5,\"Fwd thread id\":0")
                    X("cpu_op", "tanh", "2", "50", "9", "\"Sequence number\":7,\"Fwd thread id\":0")
                        X("python_function", "backward", "9", "100", "900",
                          "") X("cpu_op", "autograd::engine::evaluate_function: B", "9", "110",
                                "50", "\"Sequence number\":6,\"Fwd thread id\":11")
                            X("cpu_op", "ReluBackward0", "9", "111", "40",
                              "\"Sequence number\":6,\"Fwd thread id\":11")
                                X("cpu_op", "aten::where", "9", "112", "10",
                                  "") X("cpu_op", "aten::add_", "9", "155", "4", "")
                                    X("cpu_op", "LinBackward", "9", "200", "9",
                                      "\"Sequence number\":5,\"Fwd thread id\":11")
                                        X("cpu_op", "LinBackward", "9", "220", "9",
                                          "\"Sequence number\":5,\"Fwd thread id\":22")
                                            X("cpu_op", "TanhBackward", "9", "240", "9",
                                              "\"Sequence number\":7,\"Fwd thread id\":22")
                                                X("cpu_op", "LostBackward", "9", "260", "9",
                                                  "\"Sequence number\":99,\"Fwd thread id\":22")
                                                    X("cpu_op", "torch::autograd::AccumulateGrad",
                                                      "9", "280", "9", "")
                                                        X("cpu_op", "aten::detach", "9", "281", "2",
                                                          "")));

    rows_check(store, by_time,
               "10|linear|one|one|-;10|linear|two|two|-;12|addmm|one|one|-;40|relu|one|one|-;"
               "50|tanh|two|two|-;110|autograd::engine::evaluate_function: B|backward|backward|-;"
               "111|ReluBackward0|one|one|backward;112|aten::where|one|one|backward;"
               "155|aten::add_|backward|backward|-;200|LinBackward|one|one|backward;"
               "220|LinBackward|two|two|backward;240|TanhBackward|two|two|backward;"
               "260|LostBackward|-|-|backward;280|torch::autograd::AccumulateGrad|-|-|backward;"
               "281|aten::detach|-|-|backward");
    store_close(&store);
}

/* Number 30 was given inside of a backward pass; in a recording of a backward pass alone none is known. */
static void the_engines_frame_stands_for_a_forward_op_that_is_none(void **state)
{
#define BACKWARD                                                                                   \
    X("python_function", "back", "1", "100", "900", "")                                            \
    X("cpu_op", "autograd::engine::evaluate_function: L", "1", "110", "50",                        \
      "\"Sequence number\":5,\"Fwd thread id\":11")                                                \
    X("cpu_op", "LinBackward", "1", "111", "40", "\"Sequence number\":5,\"Fwd thread id\":11")     \
    X("cpu_op", "autograd::engine::evaluate_function: S", "1", "300", "50",                        \
      "\"Sequence number\":30,\"Fwd thread id\":11")                                               \
    X("cpu_op", "SubBackward", "1", "301", "20", "\"Sequence number\":30,\"Fwd thread id\":11")
#define FRAMES_AND_SUB                                                                             \
    "300|autograd::engine::evaluate_function: S|back|back|-;301|SubBackward|back|back|backward"
    struct store *store = import(TRACE(X("python_function", "one", "1", "0", "90", "") X(
        "cpu_op", "linear", "1", "10", "20", "\"Sequence number\":5,\"Fwd thread id\":0")
                                           BACKWARD));

    rows_check(store, by_time,
               "10|linear|one|one|-;110|autograd::engine::evaluate_function: L|back|back|-;"
               "111|LinBackward|one|one|backward;" FRAMES_AND_SUB);
    store_close(&store);
    store = import(TRACE(BACKWARD));
    rows_check(store, by_time,
               "110|autograd::engine::evaluate_function: L|back|back|-;"
               "111|LinBackward|back|back|backward;" FRAMES_AND_SUB);
    store_close(&store);
#undef FRAMES_AND_SUB
#undef BACKWARD
}

static void traces_without_stacks_stay_as_they_are(void **state)
{
    struct store *store = import(
        TRACE(X("cpu_op", "mm", "1", "10", "20", "\"Sequence number\":5,\"Fwd thread id\":0") X(
            "cpu_op", "MmBackward", "1", "40", "9", "\"Sequence number\":5,\"Fwd thread id\":1")));

    rows_check(store, by_time, "10|mm|-|-|-;40|MmBackward|-|-|-");
    rows_check(store, "SELECT count(*) FROM op WHERE params IS NOT NULL", "0");
    store_close(&store);
}

/* Memory and what else names an op goes with it. */
static void memory_belongs_to_the_op_that_was_found(void **state)
{
    struct store *store =
        import(TRACE(X("cpu_op", "mm", "7", "110", "10", "") X("cpu_op", "mm", "7", "130", "10", "")
                         X("python_function", "f", "7", "105", "20",
                           "") "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":7,\"ts\":112,"
                               "\"args\":{\"Bytes\":64}},"
                               "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":7,\"ts\":132,"
                               "\"args\":{\"Bytes\":32}},"));

    rows_check(store,
               "SELECT m.bytes, o.params ->> '$.stack' FROM memory_event m JOIN op o USING (op_id)"
               " ORDER BY m.time_ns",
               "64|f;32|-");
    store_close(&store);
}

/* Functions nested without end, names as long as a stack may be. */
static void stacks_have_limits(void **state)
{
    const size_t depth = 2000;
    char *text = malloc(400 * depth + 100000), *at = text + sprintf(text, "{\"traceEvents\":[");
    struct store *store;

    for (size_t i = 0; i < depth; i++)
        at += sprintf(at, X("python_function", "f%zu", "1", "%zu", "%zu", ""), i, i,
                      3 * depth - 2 * i);
    at += sprintf(at, X("cpu_op", "deep", "1", "%zu", "1", ""), depth);
    at += sprintf(at, "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"");
    memset(at, 'n', STACK_BYTES_MAX);
    at += STACK_BYTES_MAX;
    at += sprintf(at, "\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":9},");
    at += sprintf(at, X("cpu_op", "wide", "2", "2", "1", ""));
    sprintf(at, "{\"ph\":\"M\"}]}");
    store = import(text);
    rows_check(store,
               "SELECT name, length(params ->> '$.stack') -"
               " length(replace(params ->> '$.stack', ';', '')) FROM op WHERE type = 'cpu_op'"
               " ORDER BY name",
               "deep|511;wide|-");
    rows_check(store, "SELECT note LIKE '%2 call stacks too long or too many%' FROM session", "1");
    store_close(&store);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_that_are_open_are_the_stack),
        cmocka_unit_test(backward_ops_have_the_stack_of_their_forward_op),
        cmocka_unit_test(the_engines_frame_stands_for_a_forward_op_that_is_none),
        cmocka_unit_test(traces_without_stacks_stay_as_they_are),
        cmocka_unit_test(memory_belongs_to_the_op_that_was_found),
        cmocka_unit_test(stacks_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
