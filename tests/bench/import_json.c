/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a Chrome trace of Kineto's shape becomes a store, and how much memory that takes, beside
 * what cJSON takes to parse the same bytes as a whole, which is what a simple importer begins with.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyze/source.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

enum { EVENTS = 400000, ROUNDS = 3 };

/* An op with shapes, its launch, its kernel: as Kineto writes them, white space included. */
static void write_trace(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
    for (int i = 0; i < EVENTS / 3; i++) {
        double ts = 1000.5 + i * 20.0;

        fprintf(
            file,
            "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op%d\", \"pid\": 1, "
            "\"tid\": 2,\n    \"ts\": %.3f, \"dur\": 15.250,\n    \"args\": {\n      \"External "
            "id\": %d, \"Ev Idx\": %d, \"Input Dims\": [[%d, 64, 56, 56], [64], []], \"Input "
            "type\": [\"float\", \"float\", \"Scalar\"]\n    }\n  },\n",
            i % 100, ts, i, i, i % 4 + 1);
        fprintf(
            file,
            "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
            "\"pid\": 1, \"tid\": 2,\n    \"ts\": %.3f, \"dur\": 4.125,\n    \"args\": {\n      "
            "\"External id\": %d, \"cbid\": 211, \"correlation\": %d\n    }\n  },\n",
            ts + 3, i, i + 1);
        fprintf(
            file,
            "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void elementwise_kernel<%d>"
            "(float*)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %.3f, \"dur\": 9.001,\n    "
            "\"args\": {\n      \"External id\": %d, \"queued\": 0, \"device\": 0, "
            "\"context\": 1, \"stream\": 7, \"correlation\": %d, \"registers per thread\": 32, "
            "\"shared memory\": 0, \"blocks per SM\": 4.740741, \"grid\": [512, 1, 1], "
            "\"block\": [128, 1, 1], \"est. achieved occupancy %%\": 41\n    }\n  }%s\n",
            i % 50, ts + 10, i, i + 1, i + 1 < EVENTS / 3 ? "," : "");
    }
    fprintf(file, "  ]\n}\n");
    fclose(file);
}

static double cpu_seconds(void)
{
    return (double)ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
}

static double peak_mb(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1e3;
}

static double import_seconds(const char *path)
{
    double start = cpu_seconds();
    struct source source;
    struct diag diag = {0};

    if (source_open(path, NULL, &source, &diag) < 0) {
        fprintf(stderr, "import_json: %s\n", diag.text);
        exit(EXIT_FAILURE);
    }
    source_close(&source);
    return cpu_seconds() - start;
}

static double cjson_seconds(const char *text, size_t size)
{
    double start = cpu_seconds();
    cJSON *root = cJSON_ParseWithLength(text, size);

    assert_non_null(root);
    cJSON_Delete(root);
    return cpu_seconds() - start;
}

int main(void)
{
    struct bench_figure import = {.name = "import_mb_per_s", .unit = "MB/s"};
    struct bench_figure cjson = {.name = "cjson_parse_mb_per_s", .unit = "MB/s"};
    struct bench_figure memory = {.name = "import_peak_mb", .unit = "MB"};
    char *dir = temp_create(), *path = temp_path(dir, "trace.json"), *text;
    struct diag diag = {0};
    size_t size;

    bench_print_machine();
    write_trace(path);
    import_seconds(path);
    bench_add(&memory, peak_mb()); /* before the text is in memory as a whole */
    if (file_read(path, (size_t)1 << 30, &text, &size, &diag) < 0)
        return EXIT_FAILURE;
    for (int i = 0; i < ROUNDS; i++) {
        bench_add(&import, (double)size / 1e6 / import_seconds(path));
        bench_add(&cjson, (double)size / 1e6 / cjson_seconds(text, size));
    }
    bench_print(&import);
    bench_print(&cjson);
    bench_print(&memory);
    free(text);
    free(path);
    temp_destroy(&dir);
    return 0;
}
