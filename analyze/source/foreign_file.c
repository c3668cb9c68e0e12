/* SPDX-License-Identifier: Apache-2.0 */
/* What files look like that cannot be read. */
#include "analyze/source/foreign_file.h"

#include <string.h>

static const struct {
    const char *part;  /* of the first bytes */
    const char *other; /* and this one; or NULL */
    const char *hint;
} texts[] = {
    {"https://www.speedscope.app/file-format-schema.json", NULL,
     "a profile of speedscope: have its writer write folded stacks (py-spy record --format raw)"},
    {"\"schema\"", "-chakra",
     "an execution trace of PyTorch (Chakra), a graph without times: give the trace of "
     "export_chrome_trace()"},
    {"\"resourceSpans\"", NULL,
     "a file of OpenTelemetry: give a Chrome trace, which has threads and operators"},
    {"\"callFrame\"", "\"functionName\"",
     "a profile of V8 (Node.js): give its stacks folded, a line \"outer;inner count\" for each"},
    {"\"root_frame\"", "\"sample_count\"",
     "a session of pyinstrument: give its stacks folded, a line \"outer;inner count\" for each"},
    {"\"total_num_allocations\"", NULL,
     "statistics of memray, which have neither times nor stacks: there is nothing to report on"},
    {"\"exec_type\"", "\"real_us\"",
     "a dump of OpenVINO's counters, sums without times: ONNX models can be profiled by "
     "load_and_run or ONNX Runtime"},
    {"\"report_type\"", "_performance\"",
     "a report of OpenVINO's benchmark_app, sums without times: ONNX models can be profiled by "
     "load_and_run or ONNX Runtime"},
    {"layerName;execStatus;", NULL,
     "a report of OpenVINO's benchmark_app, sums without times: ONNX models can be profiled by "
     "load_and_run or ONNX Runtime"},
    {"[Step 1/", "OpenVINO",
     "what OpenVINO's benchmark_app prints, sums without times: ONNX models can be profiled by "
     "load_and_run or ONNX Runtime"},
};

static bool has(const char *head, size_t length, const char *part)
{
    return memmem(head, length, part, strlen(part)) != NULL;
}

/* Lists of lists of numbers: [[times], [sizes]] or [[time, action, bytes, category], ...]. */
static bool is_memory_timeline(const char *head, size_t length)
{
    return length > 3 && head[0] == '[' && head[1] == '[' && strspn(head + 2, "-0123456789") > 0;
}

/* "python 17247  4469.238239:   10101010 cpu-clock:ppp:" and frames with their addresses. */
static bool is_perf_script(const char *head, size_t length)
{
    const char *end = memchr(head, '\n', length);

    return end && end > head && length > (size_t)(end - head) + 1 && end[1] == '\t' &&
           has(head, (size_t)(end - head), ": ") && has(end, length - (size_t)(end - head), "+0x");
}

/* Among its first fields is a sample type, a message of two numbers; the order is the writer's. */
static bool is_pprof(const char *head, size_t length)
{
    for (size_t i = 0; i + 5 < length && i < 24; i++) {
        if (head[i] == 0x0a && head[i + 1] == 4 && head[i + 2] == 0x08 && head[i + 4] == 0x10)
            return true;
    }
    return false;
}

static const char *hint_for_protobuf(const char *head, size_t length)
{
    if (has(head, length, "/host:") || has(head, length, "/device:"))
        return "an XSpace of JAX or TensorFlow: give the .trace.json.gz that stands beside it";
    return "a protobuf, such as a Perfetto trace: convert it with \"traceconv json\"";
}

const char *foreign_file_hint(const char *head, size_t length)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (has(head, length, texts[i].part) &&
            (!texts[i].other || has(head, length, texts[i].other)))
            return texts[i].hint;
    }
    if (is_memory_timeline(head, length))
        return "a timeline of PyTorch's export_memory_timeline(): give the trace of the same "
               "recording to --report memory";
    if (is_pprof(head, length))
        return "a profile of pprof: give its stacks folded (go tool pprof -raw, "
               "stackcollapse-go.pl)";
    if (is_perf_script(head, length))
        return "what perf script prints: give its stacks folded (stackcollapse-perf.pl)";
    if (length > 2 && head[0] == 0x0a && head[1] != 0x0a &&
        (memchr(head, '\0', length) || memchr(head, 0x08, length)))
        return hint_for_protobuf(head, length);
    return NULL;
}
