/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast files of other tools become a store, and how much memory that takes, beside what cJSON
 * takes to parse the same bytes as a whole, which is what a simple importer begins with. Each
 * reading is a process of its own, so that its memory is its own, too; times are those of its CPU.
 *
 *     bench_import_json [MB [KIND [ROUNDS]]]
 *
 * MB is the size of the files, 64 without it; KIND how the names of its figures begin, such as
 * megengine, all without it; ROUNDS how often each is read. Files of more than 256 MB are not given
 * to cJSON, whose tree takes several times as much memory.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/source/source.h"
#include "base/file.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

enum { DEFAULT_ROUNDS = 3, DEFAULT_MB = 64, PARSED_MB_MAX = 256 };

/* --- Files. Each writer goes on until the file has its size. --- */

static long long wanted_bytes;

static bool is_full(FILE *file)
{
    return ftello(file) >= wanted_bytes;
}

/* An op with shapes, its launch, its kernel: as Kineto writes them, white space included. */
static void write_chrome(FILE *file)
{
    fprintf(file, "{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n");
    for (int i = 0; !is_full(file); i++) {
        double ts = 1000.5 + i * 20.0;

        fprintf(
            file,
            "%s  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op%d\", \"pid\": 1, "
            "\"tid\": 2,\n    \"ts\": %.3f, \"dur\": 15.250,\n    \"args\": {\n      \"External "
            "id\": %d, \"Ev Idx\": %d, \"Input Dims\": [[%d, 64, 56, 56], [64], []], \"Input "
            "type\": [\"float\", \"float\", \"Scalar\"]\n    }\n  },\n",
            i ? ",\n" : "", i % 100, ts, i, i, i % 4 + 1);
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
            "\"block\": [128, 1, 1], \"est. achieved occupancy %%\": 41\n    }\n  }",
            i % 50, ts + 10, i, i + 1);
    }
    fprintf(file, "\n  ]\n}\n");
}

/* A run of a hundred nodes after the other. */
static void write_ort(FILE *file)
{
    fprintf(file, "[\n{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :1,\"dur\" :9,\"ts\" :1,\"ph\" : "
                  "\"X\",\"name\" :\"model_loading_uri\",\"args\" : {}}");
    for (int run = 0; !is_full(file); run++) {
        fprintf(file,
                ",\n{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :1,\"dur\" :1005,\"ts\" :%d,\"ph\" : "
                "\"X\",\"name\" :\"model_run\",\"args\" : {}}",
                run * 1010 + 20);
        for (int i = 0; i < 100; i++)
            fprintf(file,
                    ",\n{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :1,\"dur\" :8,\"ts\" :%d,\"ph\" : "
                    "\"X\",\"name\" :\"conv%d_kernel_time\",\"args\" : {\"thread_scheduling_stats\""
                    " : \"\",\"input_type_shape\" : [{\"float\":[1,64,56,56]},{\"float\":[64,64,3,"
                    "3]},{\"float\":[64]}],\"activation_size\" : \"802816\",\"parameter_size\" : "
                    "\"147712\",\"node_index\" : \"%d\",\"output_size\" : \"802816\",\"provider\" :"
                    " \"CPUExecutionProvider\",\"op_name\" : \"Conv\",\"output_type_shape\" : "
                    "[{\"float\":[1,64,56,56]}]}}",
                    run * 1010 + i * 10 + 21, i, i);
    }
    fprintf(file, "\n]\n");
}

static void write_pytorch(FILE *file)
{
    for (int i = 0; !is_full(file); i++)
        fprintf(file,
                "%s{\n\"index\": %d,\n\"id\": %d,\n\"name\": \"aten::op%d\",\n\"thread\": 1,\n"
                "\"start_us\": %d,\n\"end_us\": %d,\n\"parent\": null,\n\"scope\": 0,\n"
                "\"sequence_nr\": -1,\n\"fwd_thread\": 0,\n\"is_async\": false,\n"
                "\"cpu_memory_usage\": 4,\n\"self_cpu_memory_usage\": 4,\n\"cpu_time_total\": 9,\n"
                "\"self_cpu_time_total\": 9,\n\"input_shapes\": [\n[\n1,\n64,\n56,\n56\n],\n[]\n],"
                "\n\"stack\": [\n\"net.py(%d): forward\",\n\"torch/nn/modules/module.py(1190): "
                "_call_impl\",\n\"main.py(10): <module>\"\n],\n\"flops\": 0\n}",
                i ? ",\n" : "[\n", i, i, i % 100, i * 10, i * 10 + 9, i % 100);
    fprintf(file, "\n]\n");
}

/* --- A profile of MegEngine. --- */

static void write_operator(FILE *file, int i)
{
    fprintf(file,
            "\"%d\": {\"node_type\": \"operator\", \"id\": \"%d\", \"name\": \"xpux:0:conv%d:"
            "ConvForward[%d]\", \"type\": \"ConvolutionForward\", \"input\": [\"%d\", \"%d\"], "
            "\"output\": [\"%d\"], \"extra\": {\"priority\": 0, \"input_update_time\": 0, "
            "\"dfs_step_num\": %d}, \"waiting_spec\": null}",
            2 * i, 2 * i, i % 500, i, 2 * i + 1, 2 * i + 3, 2 * i + 1, i);
}

static void write_variable(FILE *file, int i)
{
    fprintf(file,
            "\"%d\": {\"node_type\": \"var\", \"id\": \"%d\", \"name\": \"var%d:conv\", "
            "\"mem_readonly_fwd_src\": null, \"force_update_src\": null, \"mem_plan\": "
            "{\"mem_chunk_id\": \"chk%d\", \"layout\": {\"shape\": [1, 64, 56, 56], \"stride\": "
            "[200704, 3136, 56, 1], \"dtype\": \"Float32\"}, \"offset_byte\": 0}, \"comp_node\": "
            "\"xpux:0\", \"dev_ptr\": null, \"prev_dev_ptr\": 0, \"flag\": [\"ALLOW_EMPTY_SHAPE\"]"
            ", \"static_infer_tags\": {\"SHAPE\": {\"node_type\": \"static_infer_tag\", "
            "\"infer_type\": \"CONST\", \"inferred_result\": [1, 64, 56, 56], \"deps\": []}, "
            "\"VALUE\": {\"node_type\": \"static_infer_tag\", \"infer_type\": \"NO_DESC\", "
            "\"inferred_result\": null, \"deps\": []}}}",
            2 * i + 1, 2 * i + 1, i, 2 * i + 1);
}

static void write_chunk(FILE *file, int i)
{
    fprintf(file,
            "\"chk%d\": {\"node_type\": \"mem_chunk\", \"id\": \"chk%d\", \"size\": 802816, "
            "\"owner_var\": \"%d\", \"dev_ptr\": null}",
            2 * i + 1, 2 * i + 1, 2 * i + 1);
}

static void write_place(FILE *file, int i)
{
    fprintf(file, "\"%d\"", 2 * i);
}

static void write_times(FILE *file, int i)
{
    double start = i * 0.0001234567;

    fprintf(file,
            "\"%d\": {\"CompNode(\\\"cpu0:0\\\" from \\\"xpux:0\\\")\": {\"start\": %.15g, "
            "\"kern\": %.15g, \"end\": %.15g}}",
            2 * i, start, start + 0.00001, start + 0.0001);
}

static void write_op_cost(FILE *file, int i)
{
    fprintf(file,
            "\"%d\": {\"computation\": 231211008, \"memory\": 1753088, \"in_shapes\": [[1, 64, 56, "
            "56], [64, 64, 3, 3]], \"out_shapes\": [[1, 64, 56, 56]], \"param\": {\"stride_h\": 1, "
            "\"pad_h\": 1, \"mode\": \"CROSS_CORRELATION\"}}",
            2 * i);
}

static void write_section(FILE *file, const char *before, void (*write)(FILE *file, int i),
                          int count, const char *after)
{
    fprintf(file, "%s", before);
    for (int i = 0; i < count; i++) {
        fprintf(file, "%s", i ? ", " : "");
        write(file, i);
    }
    fprintf(file, "%s", after);
}

static void write_megengine(FILE *file)
{
    int count =
        (int)(wanted_bytes / 1460); /* bytes that an operator takes, its variable included */

    write_section(file, "{ \"graph_exec\": {\"operator\": {", write_operator, count, "}, ");
    write_section(file, "\"var\": {", write_variable, count, "}, ");
    write_section(file, "\"mem_chunk\": {", write_chunk, count, "}, ");
    write_section(file, "\"comp_seq\": [", write_place, count, "]}, ");
    write_section(file, "\"profiler\": {\"device\": {", write_times, count, "}, ");
    write_section(file, "\"host\": {", write_times, count, "}, ");
    write_section(file, "\"opr_footprint\": {", write_op_cost, count, "}}}");
}

/* --- Readings. --- */

static int import_file(const char *path)
{
    struct source source;
    struct diag diag = {0};
    int rc = source_open(path, NULL, &source, &diag);

    if (rc < 0)
        fprintf(stderr, "import_json: %s\n", diag.text);
    else
        source_close(&source);
    return rc;
}

static int parse_file(const char *path)
{
    struct diag diag = {0};
    char *text;
    size_t size;
    cJSON *root;
    int rc = file_read(path, (size_t)4 << 30, &text, &size, &diag);

    if (rc < 0)
        return rc;
    root = cJSON_ParseWithLength(text, size);
    cJSON_Delete(root);
    free(text);
    return root ? 0 : -1;
}

struct cost {
    double seconds, peak_mb;
};

/* What a process needs to read the file. */
static struct cost measure(int (*read_file)(const char *path), const char *path)
{
    struct rusage usage;
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0)
        _exit(read_file(path) == 0 ? 0 : 1);
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    if (status != 0)
        exit(EXIT_FAILURE);
    return (struct cost){
        .seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                   1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
        .peak_mb = (double)usage.ru_maxrss / 1e3,
    };
}

static void add_reading(struct bench_figure *speed, struct bench_figure *memory,
                        int (*read_file)(const char *path), const char *path, double megabytes)
{
    struct cost cost = measure(read_file, path);

    bench_add(speed, megabytes / cost.seconds);
    if (memory)
        bench_add(memory, cost.peak_mb);
}

struct kind {
    const char *speed, *memory; /* names of figures */
    const char *parse, *ratio;  /* NULL: cJSON cannot read it */
    void (*write)(FILE *file);
    bool is_packed;
};

static const struct kind kinds[] = {
    {"chrome_mb_per_s", "chrome_peak_mb", "chrome_cjson_mb_per_s", "chrome_to_cjson", write_chrome,
     false},
    {"chrome_gz_mb_per_s", "chrome_gz_peak_mb", NULL, NULL, write_chrome, true},
    {"onnxruntime_mb_per_s", "onnxruntime_peak_mb", "onnxruntime_cjson_mb_per_s",
     "onnxruntime_to_cjson", write_ort, false},
    {"pytorch_events_mb_per_s", "pytorch_events_peak_mb", "pytorch_events_cjson_mb_per_s",
     "pytorch_events_to_cjson", write_pytorch, false},
    {"megengine_mb_per_s", "megengine_peak_mb", "megengine_cjson_mb_per_s", "megengine_to_cjson",
     write_megengine, false},
};

/* Packs the file in place, quickly. */
static void pack(const char *path)
{
    char *command;

    assert_true(asprintf(&command, "gzip -1 < '%s' > '%s.gz' && mv '%s.gz' '%s'", path, path, path,
                         path) > 0);
    assert_int_equal(system(command), 0);
    free(command);
}

static void run_kind(const struct kind *kind, int rounds, const char *path)
{
    struct bench_figure speed = {.name = kind->speed, .unit = "MB/s"};
    struct bench_figure memory = {.name = kind->memory, .unit = "MB"};
    struct bench_figure parse = {.name = kind->parse, .unit = "MB/s"};
    bool is_parsed = kind->parse && wanted_bytes <= PARSED_MB_MAX * 1000000LL;
    FILE *file = fopen(path, "w");
    double megabytes;

    assert_non_null(file);
    kind->write(file);
    megabytes = (double)ftello(file) / 1e6; /* unpacked */
    fclose(file);
    if (kind->is_packed)
        pack(path);
    for (int i = 0; i < rounds; i++) {
        add_reading(&speed, &memory, import_file, path, megabytes);
        if (is_parsed)
            add_reading(&parse, NULL, parse_file, path, megabytes);
    }
    bench_print(&speed);
    if (is_parsed) {
        bench_print(&parse);
        bench_print_ratio(kind->ratio, &speed, &parse, 0);
    }
    bench_print(&memory);
}

int main(int argc, char **argv)
{
    char *dir = temp_create(), *path = temp_path(dir, "trace.json");
    const char *wanted = argc > 2 ? argv[2] : "";
    int rounds = argc > 3 ? atoi(argv[3]) : DEFAULT_ROUNDS;

    wanted_bytes = (argc > 1 ? atoll(argv[1]) : DEFAULT_MB) * 1000000;
    bench_print_machine();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(kinds[i].speed, wanted, strlen(wanted)) == 0)
            run_kind(&kinds[i], rounds, path);
    }
    free(path);
    temp_destroy(&dir);
    return 0;
}
