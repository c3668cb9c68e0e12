/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up spans, one thread after the other. */
#include "tests/support/busy_trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "tests/support/check.h"

enum { STREAMS = 3, DEPTH_MAX = 3, KINDS = 5 };

struct trace {
    FILE *file;
    uint64_t state;
    int64_t free_us[STREAMS]; /* when each has done what it was given */
    int correlation, event_count;
};

/* A kind of work, the call that launches it, what it is on the device. */
static const struct work {
    const char *call, *category, *name;
} works[KINDS] = {
    {"cudaLaunchKernel", "kernel", "gemm"},
    {"cudaLaunchKernel", "kernel", "relu_kernel"},
    {"cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)"},
    {"cudaMemcpy", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"},
    {"cudaMemsetAsync", "gpu_memset", "Memset (Device)"},
};

/* From 0 to limit - 1. */
static int64_t draw(struct trace *trace, int64_t limit)
{
    trace->state = trace->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((trace->state >> 33) % (uint64_t)limit);
}

static void put(struct trace *trace, const char *category, const char *name, int lane, int64_t ts,
                int64_t dur)
{
    fprintf(
        trace->file,
        "%s{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": "
        "%" PRId64 ", \"dur\": %" PRId64 ", \"args\": {",
        trace->event_count++ ? ",\n" : "", category, name, lane < 10 ? 0 : 10, lane, ts, dur);
}

/* Returns when the call is over, or `ts` when it has no room. */
static int64_t launch(struct trace *trace, int thread, int64_t ts, int64_t end)
{
    const struct work *work = &works[draw(trace, KINDS)];
    int stream = draw(trace, 3) ? 0 : 1 + (int)draw(trace, STREAMS - 1);
    int64_t at = ts + 1 + draw(trace, 12), dur = 3 + draw(trace, 60), call = 2 + draw(trace, 6);

    if (at < trace->free_us[stream])
        at = trace->free_us[stream];
    if (work == &works[3] && call < at + dur - ts)
        call = at + dur - ts + draw(trace, 4);
    if (ts + call > end)
        return ts;
    trace->free_us[stream] = at + dur + 3 * draw(trace, 2);
    put(trace, "cuda_runtime", work->call, thread, ts, call);
    fprintf(trace->file, "\"correlation\": %d}}", ++trace->correlation);
    put(trace, work->category, work->name, stream + 1, at, dur);
    fprintf(trace->file, "\"device\": 0, \"stream\": %d, \"correlation\": %d, \"bytes\": %d}}",
            stream + 1, trace->correlation, draw(trace, 2) ? 1000 : 100000);
    return ts + call;
}

/* The device has done all that it was given by then. */
static int64_t wait(struct trace *trace, int thread, int64_t ts, int64_t end)
{
    int64_t until = ts + 5;

    for (int i = 0; i < STREAMS; i++)
        until = trace->free_us[i] > until ? trace->free_us[i] : until;
    if (until >= end)
        return ts;
    put(trace, "cuda_runtime", "cudaDeviceSynchronize", thread, ts, until + 2 - ts);
    fprintf(trace->file, "}}");
    return until + 2;
}

static void fill(struct trace *trace, int thread, int64_t ts, int64_t end, int depth)
{
    static const char *const names[] = {"aten::conv", "aten::relu", "aten::add", "aten::mm"};

    while (ts < end - 6) {
        int64_t what = draw(trace, 20), dur = 6 + draw(trace, (end - ts) / 2 + 1);

        if (what < 9 && depth < DEPTH_MAX) {
            dur = dur > 200 ? 200 : dur > end - ts ? end - ts : dur;
            put(trace, draw(trace, 8) ? "cpu_op" : "user_annotation", names[draw(trace, 4)], thread,
                ts, dur);
            fprintf(trace->file, "}}");
            fill(trace, thread, ts + draw(trace, 2), ts + dur - draw(trace, 2), depth + 1);
            ts += dur;
        } else if (what < 17) {
            ts = launch(trace, thread, ts, end);
        } else if (what == 17) {
            ts = wait(trace, thread, ts, end);
        }
        ts += draw(trace, 2) ? 0 : draw(trace, depth ? 4 : 40);
        ts += what >= 17; /* it ends */
    }
}

void busy_trace_write(const char *path, uint64_t seed, unsigned runs)
{
    struct trace trace = {.file = fopen(path, "w"), .state = seed};
    int64_t ts = 0;

    assert_non_null(trace.file);
    fprintf(trace.file, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    for (unsigned run = 0; run < runs; run++) {
        int64_t length = 200 + draw(&trace, 400);
        char name[40];

        snprintf(name, sizeof(name), "ProfilerStep#%u", run);
        put(&trace, "user_annotation", name, 10, ts, length);
        fprintf(trace.file, "}}");
        fill(&trace, 10, ts + 1, ts + length - 1, 0);
        fill(&trace, 11, ts + 1, ts + length - 1, 0);
        ts += length + draw(&trace, 30);
    }
    fprintf(trace.file, "\n]}\n");
    assert_int_equal(fclose(trace.file), 0);
}
