/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA program that nobody changed, over the double of tests/support/cuda. Nothing here has seen a
 * GPU. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/run_scene.h"
#include "tests/support/turns.h"

#define KERNELS    "gemm=250000,relu=40000"
#define FLOOD      350000 /* kernels of the scene of that name */
#define GPU(level) ((const char *const[]){"--gpu", level, NULL})

static int start(void **state)
{
    static const char *const names[] = {"CUDA_DOUBLE_TOOLKIT", "CUDA_DOUBLE_DRIVER",
                                        "CUDA_DOUBLE_FAIL", "CUDA_DOUBLE_RECORDS",
                                        "OPTRACE_CUPTI_RECORDS"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    setenv("CUDA_DOUBLE_KERNELS", KERNELS, 1);
    setenv("OPTRACE_MAX_COST", "100",
           1); /* a machine with much to do is no reason to record less */
    /* It complains of our thread in a program that it is in. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    *state = run_scene_create();
    return 0;
}

static int stop(void **state)
{
    run_scene_destroy((struct run_scene **)state);
    return 0;
}

static void record_with(void **state, const char *const *options, const char *scene)
{
    char *program = place_program("tests/flow/inject_cupti_program");

    run_scene_record(*state, options, 0, (const char *const[]){program, scene, NULL});
    free(program);
}

#define COUNT(sql) ((uint64_t)run_scene_count(*state, sql))
#define ON_DEVICE  "SELECT count(*) FROM v_event WHERE lane_kind = 'stream' AND "
#define SAID(text) "SELECT count(*) FROM v_event WHERE op_type = 'mark' AND op_name LIKE '" text "'"

static void kernels_have_their_times(void **state)
{
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 100);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'relu' AND dur_ns = 40000"), 100);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'gemm' AND type = 'kernel' AND"
                    " params = '{\"grid\":[16,1,1],\"block\":[128,1,1],\"registers_per_thread\":32,"
                    "\"shared_memory_bytes\":0}'"),
              1);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'Memcpy HtoD (Pageable -> Device)' AND bytes = 4096"), 1);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'Memcpy DtoH (Device -> Pageable)' AND bytes = 4096"), 1);
}

/* A call of the runtime, not the driver's in it; the range of NVTX is around it. */
static void each_kernel_has_its_launch(void **state)
{
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'cudaLaunchKernel' AND"
                    " op_type = 'cuda_runtime'"),
              200);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'cuda_driver'"), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event d JOIN v_event h USING (correlation)"
                    " WHERE d.lane_kind = 'stream' AND h.lane_kind = 'thread' AND"
                    " h.op_name = 'cudaLaunchKernel' AND d.op_type = 'kernel' AND"
                    " h.start_ns <= d.start_ns"),
              200);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'layer'"), 100);
}

/* What the driver alone is asked for. */
static void launches_of_the_driver(void **state)
{
    record_with(state, GPU("graph"), "driver");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'cuLaunchKernel' AND"
                    " op_type = 'cuda_driver'"),
              100);
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel' AND dur_ns = 1000"), 100);
}

static void a_graph_is_one_span_or_its_nodes(void **state)
{
    setenv("CUDA_DOUBLE_KERNELS", "gemm=25000,relu=4000", 1);
    record_with(state, GPU("graph"), "graph");
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'cuda_graph' AND dur_ns = 41000"), 1000);
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel'"), 0);
    record_with(state, GPU("node"), "graph");
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel'"), 5000);
    CHECK_U64(COUNT("SELECT count(DISTINCT correlation) FROM v_event WHERE op_type = 'kernel'"),
              1000);
}

/* A graph is captured once, by ops; each of its kernels in each replay is one of theirs. */
static void nodes_are_of_the_ops_that_captured_them(void **state)
{
    static const char *const toolkits[] = {"12.4", "13.5"}; /* by copies, by what records say */

    setenv("CUDA_DOUBLE_KERNELS", "gemm=3000,relu=2000", 1);
    for (size_t i = 0; i < sizeof(toolkits) / sizeof(toolkits[0]); i++) {
        setenv("CUDA_DOUBLE_TOOLKIT", toolkits[i], 1);
        record_with(state, GPU("node"), "graph");
        CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel'"), 5000);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                        " o.name = 'gemm' AND json_extract(o.params, '$.captured_in') ="
                        " 'decode > first \"layer\"'"),
                  1000);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                        " o.name = 'relu' AND json_extract(o.origin, '$[0]') = 'second layer'"),
                  3000);
        record_with(state, GPU("graph"), "graph");
        CHECK_U64(COUNT(ON_DEVICE "op_name LIKE 'CUDA graph _ of decode'"), 1000);
    }
    setenv("CUDA_DOUBLE_FAIL", "cuptiGetGraphNodeId=1", 1);
    record_with(state, GPU("node"), "graph");
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel'"), 5000);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE params LIKE '%captured_in%'"), 0);
}

static void memory_where_asked_for(void **state)
{
    record_with(state, GPU("memory"), "kernels");
    CHECK_U64(COUNT("SELECT count(*) FROM memory_event WHERE abs(bytes) = 4096"), 2);
    CHECK_U64(COUNT("SELECT count(*) FROM lane WHERE name = 'memory of cuda:0'"), 1);
}

/* How much pools hold, and how much of it is in use; from their own records, and from those of what is
 * taken from them. */
static void pools_are_counted(void **state)
{
    static const char *const kinds[] = {"whole", "short"};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        setenv("OPTRACE_CUPTI_RECORDS", kinds[i], 1);
        record_with(state, GPU("memory"), "pools");
        CHECK_U64(COUNT("SELECT count(*) FROM memory_event WHERE abs(bytes) IN (3145728, 1048576)"),
                  8);
        CHECK_U64(
            COUNT(
                "SELECT group_concat(value, ' ') = '0.0 4194304.0 4194304.0 4194304.0"
                " 2097152.0 2097152.0 0.0' FROM (SELECT value FROM counter JOIN op USING (op_id) WHERE"
                " name = 'bytes held by memory pool 1 of cuda:0' ORDER BY time_ns)"),
            1);
        CHECK_U64(COUNT("SELECT group_concat(value, ' ') = '0.0 3145728.0 4194304.0 1048576.0 0.0"
                        " 0.0' FROM (SELECT value FROM counter JOIN op USING (op_id) WHERE"
                        " name = 'bytes in use of memory pool 2 of cuda:0' ORDER BY time_ns)"),
                  1);
    }
    record_with(state, GPU("node"), "pools");
    CHECK_U64(COUNT("SELECT count(*) FROM counter"), 0);
}

/* What the driver compiles is tied to the call in which it did. */
static void compilations_are_told(void **state)
{
    static const char *const toolkits[] = {"11.8", "13.5"};

    for (size_t i = 0; i < sizeof(toolkits) / sizeof(toolkits[0]); i++) {
        setenv("CUDA_DOUBLE_TOOLKIT", toolkits[i], 1);
        record_with(state, GPU("memory"), "modules");
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'jit' AND op_name ="
                        " 'JIT compilation (PTX to machine code)' AND dur_ns = 5000000 AND"
                        " lane_name = 'compiler of cuda:0' AND lane_kind = 'queue'"),
                  1);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'jit' AND op_name LIKE"
                        " 'JIT cache store%' AND dur_ns = 500000"),
                  1);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'jit' AND op_name LIKE"
                        " 'JIT cache load%'"),
                  2);
    }
    record_with(state, GPU("all"), "modules");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event d JOIN v_event h USING (correlation) WHERE"
                    " d.op_type = 'jit' AND h.op_name = 'cuModuleLoadData'"),
              4);
    setenv("CUDA_DOUBLE_TOOLKIT", "11.7", 1); /* has no such records */
    record_with(state, GPU("memory"), "modules");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type IN ('jit', 'mark')"), 0);
}

/* A graph that is updated is replayed with other kernels, each by its own name. */
static void graphs_that_are_updated(void **state)
{
    record_with(state, GPU("node"), "update");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 50);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'relu' AND dur_ns = 40000"), 50);
    record_with(state, GPU("graph"), "update");
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'cuda_graph'"), 100);
}

static void streams_that_go_while_they_run(void **state)
{
    record_with(state, GPU("memory"), "destroyed");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 100);
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM v_event WHERE op_name = 'gemm'"), 100);
}

/* Which stream waits for which, and by which call it was let wait: with the number of a record, and
 * without one. */
static void streams_that_wait(void **state)
{
    static const char *const toolkits[] = {"12.4", "13.5"};

    for (size_t i = 0; i < sizeof(toolkits) / sizeof(toolkits[0]); i++) {
        setenv("CUDA_DOUBLE_TOOLKIT", toolkits[i], 1);
        record_with(state, GPU("memory"), "events");
        CHECK_U64(COUNT("SELECT count(*) FROM v_event w JOIN op o USING (op_id) JOIN v_event r ON"
                        " r.correlation = w.correlation AND r.lane_kind = 'thread' WHERE"
                        " w.op_name = 'Stream Wait Event' AND w.op_type = 'phase' AND"
                        " w.lane_name = 'stream 9' AND r.op_name = 'cuEventRecord' AND"
                        " json_extract(o.params, '$.wait_on_stream') = 8 AND"
                        " r.start_ns <= w.start_ns"),
                  10);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event w JOIN op o USING (op_id) WHERE"
                        " w.op_name = 'Event Sync' AND w.lane_name = 'stream 9' AND"
                        " json_extract(o.params, '$.wait_on_stream') = 9"),
                  10);
    }
    record_with(state, GPU("node"), "events");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_type = 'phase'"), 0);
}

static void parts_of_a_device_have_their_names(void **state)
{
    record_with(state, GPU("graph"), "green");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'relu' AND lane_name IN"
                    " ('stream 8 of green context 2 (16 multiprocessors)',"
                    " 'stream 9 of green context 3 (16 multiprocessors)')"),
              2);
    setenv("CUDA_DOUBLE_TOOLKIT", "12.2", 1);
    record_with(state, GPU("graph"), "green");
    CHECK_U64(COUNT(ON_DEVICE "lane_name IN ('stream 8 of context 2', 'stream 9 of context 3')"),
              2);
}

/* 70 of each kind: their kernels are there, each on a lane that says whose it is. */
static void contexts_that_go_while_their_records_are_pending(void **state)
{
    static const char *const modes[] = {"", "late", "reverse"};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        setenv("CUDA_DOUBLE_RECORDS", modes[i], 1);
        record_with(state, GPU("memory"), "contexts");
        CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM v_event WHERE op_name = 'gemm' AND"
                        " dur_ns = 250000 AND lane_name GLOB"
                        " 'stream * of green context * (16 multiprocessors)'"),
                  70);
        CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM v_event WHERE op_name = 'relu' AND"
                        " dur_ns = 40000 AND lane_name GLOB 'stream * of context *'"),
                  70);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event d JOIN v_event h USING (correlation) WHERE"
                        " d.op_type = 'kernel' AND h.op_name = 'cudaLaunchKernel'"),
                  140);
        CHECK_U64(COUNT(SAID("CUDA:%")), 0);
    }
}

static void each_call_where_asked_for(void **state)
{
    record_with(state, GPU("all"), "kernels");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'cuMemAlloc_v2'"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'cuLaunchKernel'"), 0);
}

static void many_threads_and_streams(void **state)
{
    record_with(state, GPU("graph"), "threads");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'relu'"), 1600);
    CHECK_U64(COUNT("SELECT count(DISTINCT lane_id) FROM v_event WHERE op_name = 'relu'"), 8);
}

static void nothing_unless_asked_for(void **state)
{
    record_with(state, NULL, "kernels");
    CHECK_U64(COUNT(ON_DEVICE "1"), 0);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'layer'"), 100);
}

/* The library of each toolkit has records of other lengths. */
static void toolkits(void **state)
{
    static const char *const names[] = {"11.7", "11.8", "12.0", "12.1", "12.2", "12.3",
                                        "12.4", "12.5", "12.6", "12.8", "12.9", "13.0",
                                        "13.1", "13.2", "13.3", "13.4", "13.5"};

    setenv("CUDA_DOUBLE_KERNELS", "gemm=3000,relu=2000", 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        setenv("CUDA_DOUBLE_TOOLKIT", names[i], 1);
        record_with(state, GPU("graph"), "kernels");
        if (COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 3000") != 100 ||
            COUNT(ON_DEVICE "op_type = 'copy' AND bytes = 4096") != 2)
            fail_msg("records of %s are not read", names[i]);
    }
}

/* Records of chosen fields: all is as with whole ones. */
static void short_records(void **state)
{
    static const struct {
        const char *script, *said;
    } faults[] = {
        {"cuptiSubscribe_v2=999", "CUDA: records are of full length%(error 999)"},
        {"cuptiActivitySetAttribute_v2=1", "CUDA: records are of full length%(error 1)"},
    };
    char sql[300];

    setenv("OPTRACE_CUPTI_RECORDS", "short", 1);
    record_with(state, GPU("memory"), "kernels");
    CHECK_U64(COUNT(SAID("CUDA:%")), 0);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 100);
    CHECK_U64(COUNT("SELECT count(*) FROM op WHERE name = 'gemm' AND type = 'kernel' AND"
                    " params = '{\"grid\":[16,1,1],\"block\":[128,1,1],\"registers_per_thread\":32,"
                    "\"shared_memory_bytes\":0}'"),
              1);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'Memcpy HtoD (Pageable -> Device)' AND bytes = 4096"), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM memory_event WHERE abs(bytes) = 4096"), 2);
    record_with(state, GPU("node"), "graph");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                    " o.name = 'relu' AND json_extract(o.origin, '$[0]') = 'second layer'"),
              3000);
    record_with(state, GPU("memory"), "events");
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'Stream Wait Event'"), 10);
    record_with(state, GPU("graph"), "threads");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'relu'"), 1600);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        setenv("CUDA_DOUBLE_FAIL", faults[i].script, 1);
        record_with(state, GPU("graph"), "kernels");
        CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 100);
        snprintf(sql, sizeof(sql), SAID("%s"), faults[i].said);
        CHECK_U64(COUNT(sql), 1);
    }
    setenv("CUDA_DOUBLE_FAIL", "cuptiSubscribe_v2=39", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(SAID("CUDA: CUPTI is with another")), 1);
    setenv("CUDA_DOUBLE_FAIL", "cuptiActivityEnable_v2=35", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(SAID("CUDA: only the host%may not trace the device (error 35)")), 1);
    unsetenv("CUDA_DOUBLE_FAIL");
    setenv("CUDA_DOUBLE_TOOLKIT", "13.2", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(SAID("CUDA: records are of full length: its libcupti is older than 13.3")), 1);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 100);
}

static void short_records_that_fail(void **state)
{
    static const char *const functions[] = {"cuptiSubscribe_v2",
                                            "cuptiActivitySetAttribute_v2",
                                            "cuptiActivityEnable_v2",
                                            "cuptiActivityRegisterCallbacks_v2",
                                            "cuptiActivityGetNextRecord_v2",
                                            "cuptiActivityGetNumDroppedRecords_v2"};
    char script[80];

    setenv("OPTRACE_CUPTI_RECORDS", "short", 1);
    setenv("CUDA_DOUBLE_KERNELS", "gemm=3000,relu=2000", 1);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        snprintf(script, sizeof(script), "%s=999", functions[i]);
        setenv("CUDA_DOUBLE_FAIL", script, 1);
        record_with(state, GPU("graph"), "kernels");
        if (COUNT(SAID("CUDA: %(error 999)%")) + COUNT(SAID("CUDA: %(error 999 of%")) == 0)
            fail_msg("%s is not said", script);
    }
}

static void what_fails_is_said_once(void **state)
{
    static const struct {
        const char *script, *said;
    } faults[] = {
        {"cuptiSubscribe=39", "CUDA: only the host%another tool holds CUPTI (error 39)"},
        {"cuptiActivityEnable=35", "CUDA: only the host%may not trace the device (error 35)"},
        {"cuptiSubscribe=15", "CUDA: only the host%driver is older%"},
        {"cuptiActivityRegisterCallbacks=999", "CUDA: only the host%(error 999)"},
        {"cuptiGetVersion=999", "CUDA: only the host%does not answer"},
        {"cuptiActivityGetNextRecord=999", "CUDA: only the host%how long its records are"},
    };
    char sql[300];

    setenv("CUDA_DOUBLE_KERNELS", "gemm=3000,relu=2000", 1);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        setenv("CUDA_DOUBLE_FAIL", faults[i].script, 1);
        record_with(state, GPU("graph"), "kernels");
        CHECK_U64(COUNT(ON_DEVICE "1"), 0);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'layer'"), 100);
        snprintf(sql, sizeof(sql), SAID("%s"), faults[i].said);
        if (COUNT(sql) != 1)
            fail_msg("%s is not said", faults[i].script);
    }
}

/* Whatever a function answers, of some errors one in turn, the program prints what it prints without us,
 * and ends as it does; the session says it, once. */
static void no_fault_reaches_the_program(void **state)
{
    static const struct {
        const char *function, *level, *scene;
    } faults[] = {
        {"cuptiGetVersion", "graph", "kernels"},
        {"cuptiSubscribe", "graph", "kernels"},
        {"cuptiEnableCallback", "graph", "kernels"},
        {"cuptiEnableDomain", "all", "kernels"},
        {"cuptiActivityRegisterCallbacks", "graph", "kernels"},
        {"cuptiActivityEnable", "graph", "kernels"},
        {"cuptiActivityGetNextRecord", "graph", "kernels"},
        {"cuptiActivityFlushAll", "graph", "sudden"},
        {"cuptiActivityGetNumDroppedRecords", "graph", "kernels"},
        {"cuptiActivitySetAttribute", "graph", "kernels"},
        {"cuptiGetGraphNodeId", "node", "graph"},
    };
    static const int errors[] = {1, 15, 35, 39, 999};
    char script[80];

    setenv("CUDA_DOUBLE_KERNELS", "gemm=3000,relu=2000", 1);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const size_t count = strcmp(faults[i].scene, "sudden") == 0
                                 ? 1 /* it takes some seconds */
                                 : sizeof(errors) / sizeof(errors[0]);

        for (size_t k = 0; k < count; k++) {
            if (count > 1 && !turns_take(i, k, count))
                continue;
            snprintf(script, sizeof(script), "%s=%d", faults[i].function, errors[k]);
            setenv("CUDA_DOUBLE_FAIL", script, 1);
            record_with(state, GPU(faults[i].level), faults[i].scene);
            if (COUNT(SAID("CUDA: %")) == 0 ||
                COUNT("SELECT max(n) FROM (SELECT count(*) AS n FROM v_event WHERE op_name LIKE"
                      " 'CUDA: %' GROUP BY op_name)") != 1)
                fail_msg("%s is not said once", script);
        }
    }
}

/* What is called when something else has failed, and what is asked for that need not be there. */
static void no_second_fault_reaches_the_program(void **state)
{
    static const struct {
        const char *first, *function;
        uint64_t kernels;
        const char *said; /* NULL: the function */
    } faults[] = {
        {"cuptiActivityEnable/2=35,", "cuptiUnsubscribe", 0, NULL},
        {"cuptiActivityEnable/2=35,", "cuptiActivityDisable", 0, NULL},
        {"cuptiActivityEnable_v2/2=35,", "cuptiActivityDisable_v2", 0, "cuptiActivityDisable"},
        {"cuptiActivitySetAttribute_v2=1,", "cuptiUnsubscribe", 0, NULL},
        {"", "cuptiActivityEnable/1", 0, NULL},  /* copies */
        {"", "cuptiActivityEnable/9", 1, NULL},  /* contexts */
        {"", "cuptiActivityEnable/10", 0, NULL}, /* kernels */
        {"", "cuptiActivityEnable/17", 1, NULL}, /* overhead */
        {"", "cuptiActivityEnable/22", 1, NULL}, /* copies between devices */
        {"", "cuptiActivityEnable/36", 1, NULL}, /* events */
        {"", "cuptiActivityEnable/38", 1, NULL}, /* waits */
        {"", "cuptiActivityEnable/49", 1, NULL}, /* memory */
        {"", "cuptiActivityEnable/50", 1, NULL}, /* pools */
        {"", "cuptiActivityEnable/52", 1, NULL}, /* compilations */
    };
    char script[80], sql[200];

    setenv("CUDA_DOUBLE_KERNELS", "gemm=3000,relu=2000", 1);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        snprintf(script, sizeof(script), "%s%s=999", faults[i].first, faults[i].function);
        setenv("CUDA_DOUBLE_FAIL", script, 1);
        setenv("OPTRACE_CUPTI_RECORDS", strstr(faults[i].first, "_v2") ? "short" : "whole", 1);
        record_with(state, GPU("memory"), "kernels");
        snprintf(sql, sizeof(sql), SAID("CUDA: %%(error 999%%"));
        if (COUNT(sql) != 1 || COUNT(ON_DEVICE "op_type = 'kernel'") != faults[i].kernels * 200)
            fail_msg("%s is not said once, or more is missing", script);
        snprintf(sql, sizeof(sql), SAID("CUDA: %%(error 999 of %s)"),
                 faults[i].said ? faults[i].said : faults[i].function);
        if (faults[i].first[0] && COUNT(sql) != 1)
            fail_msg("%s is not said by name", script);
    }
}

/* One that ends the process where it is called, as 13.2 does over a libcuda that is not NVIDIA's. */
static void what_would_recurse_is_not_called(void **state)
{
    char *library = place_program("tests/support/libcupti_recursing.so");

    setenv("OPTRACE_CUPTI", library, 1);
    record_with(state, GPU("graph"), "kernels");
    unsetenv("OPTRACE_CUPTI");
    free(library);
    CHECK_U64(COUNT(SAID("CUDA: only the host is recorded: its libcupti, 13.2, does not survive%")),
              1);
}

/* Another one that is in the process, before the one that fits the driver and without it. */
static void two_libraries_in_one_process(void **state)
{
    char *newer = place_program("tests/support/libcupti.so.14"),
         *fits = place_program("tests/support/libcupti.so.13");
    char preload[2 * PATH_MAX];

    for (int i = 0; i < 2; i++) {
        snprintf(preload, sizeof(preload), "%s:%s", newer, i == 0 ? fits : newer);
        setenv("LD_PRELOAD", preload, 1);
        record_with(state, GPU("graph"), "kernels");
        unsetenv("LD_PRELOAD");
        CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 100);
        CHECK_U64(COUNT(SAID("CUDA:%")), 0);
    }
    free(newer);
    free(fits);
}

static void times_that_are_none_are_said(void **state)
{
    setenv("CUDA_DOUBLE_RECORDS", "zero", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(ON_DEVICE "1"), 0);
    CHECK_U64(COUNT(SAID("CUDA: records of the device without an end were left out")), 1);
    setenv("CUDA_DOUBLE_RECORDS", "backwards", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(ON_DEVICE "1"), 0);
    CHECK_U64(COUNT(SAID("CUDA: records of the device that end before they start%")), 1);
    setenv("CUDA_DOUBLE_RECORDS", "drop", 1);
    record_with(state, GPU("graph"), "threads");
    CHECK_U64(COUNT(SAID("CUDA: CUPTI dropped records for want of room")), 1);
    CHECK_U64(COUNT(SAID("CUDA: CUPTI dropped _% records")), 1);
}

static void records_that_come_late(void **state)
{
    setenv("CUDA_DOUBLE_RECORDS", "late", 1);
    record_with(state, GPU("node"), "graph");
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel'"), 5000);
}

/* Of kinds that nobody asked for, between all others: they are passed over. */
static void records_of_other_kinds(void **state)
{
    static const char *const toolkits[] = {"11.7", "13.5"};

    setenv("CUDA_DOUBLE_RECORDS", "unknown", 1);
    for (size_t i = 0; i < sizeof(toolkits) / sizeof(toolkits[0]); i++) {
        setenv("CUDA_DOUBLE_TOOLKIT", toolkits[i], 1);
        record_with(state, GPU("graph"), "kernels");
        CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm' AND dur_ns = 250000"), 100);
        CHECK_U64(COUNT(ON_DEVICE "op_name = 'relu' AND dur_ns = 40000"), 100);
        CHECK_U64(COUNT(ON_DEVICE "1"), 202);
        CHECK_U64(COUNT(SAID("CUDA:%")), 0);
    }
}

/* What CUPTI itself cannot read: what lies before it is there, and the rest is said to be missing. */
static void records_that_nobody_can_read(void **state)
{
    setenv("CUDA_DOUBLE_RECORDS", "garbage", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(ON_DEVICE "1"), 50);
    CHECK_U64(COUNT(SAID("CUDA: records of the device could not be read (error 21)")), 1);
    setenv("CUDA_DOUBLE_TOOLKIT", "12.3", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(SAID("CUDA: records of the device could not be read (error 999)")), 1);
}

static void records_that_are_cut_off(void **state)
{
    static const char *const kinds[] = {"whole", "short"};

    setenv("CUDA_DOUBLE_RECORDS", "cut", 1);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        setenv("OPTRACE_CUPTI_RECORDS", kinds[i], 1);
        record_with(state, GPU("graph"),
                    "driver"); /* the last record is that of the flush itself */
        CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel'"), 100);
        CHECK_U64(COUNT(SAID("CUDA: a record of the device was left out: its buffer ends before%")),
                  1);
    }
}

/* One whose records end before what is read of them. */
static void a_library_before_all_others(void **state)
{
    setenv("CUDA_DOUBLE_TOOLKIT", "ancient", 1);
    record_with(state, GPU("graph"), "kernels");
    CHECK_U64(COUNT(SAID("CUDA: only the host is recorded: its libcupti is older than 11.0")), 1);
    CHECK_U64(COUNT(ON_DEVICE "1"), 0);
}

/* Records of a kernel may come before those of what ran before it. */
static void records_that_come_in_another_order(void **state)
{
    setenv("CUDA_DOUBLE_RECORDS", "reverse", 1);
    record_with(state, GPU("node"), "graph");
    CHECK_U64(COUNT(ON_DEVICE "op_type = 'kernel'"), 5000);
    CHECK_U64(COUNT("SELECT count(DISTINCT correlation) FROM v_event WHERE op_type = 'kernel'"),
              1000);
}

/* What does not fit is lost, and known to be: without a buffer, and with one that is thrown away, as
 * libraries of before 12.9 want. */
static void more_than_all_buffers_hold(void **state)
{
    uint64_t count;

    setenv("CUDA_DOUBLE_KERNELS", "relu=1", 1);
    setenv("CUDA_DOUBLE_RECORDS", "late", 1);
    record_with(state, GPU("graph"), "flood");
    CHECK_U64(COUNT(SAID("CUDA: CUPTI dropped records for want of room")), 1);
    /* Four times what the ring of the thread that puts them holds: the daemon is waited for. */
    CHECK_U64(COUNT("SELECT count(*) FROM gap JOIN lane USING (lane_id) WHERE kind = 'stream'"), 0);
    count = COUNT(ON_DEVICE "op_name = 'relu'") +
            COUNT("SELECT CAST(substr(name, 21) AS INTEGER) FROM op WHERE type = 'mark' AND"
                  " name GLOB 'CUDA: CUPTI dropped [0-9]* records'");
    if (count < FLOOD || count > FLOOD + 10) /* of its own overhead it may have dropped some, too */
        fail_msg("%llu of %d kernels are there, or were dropped", (unsigned long long)count, FLOOD);
    setenv("CUDA_DOUBLE_TOOLKIT", "12.4", 1);
    setenv("CUDA_DOUBLE_RECORDS", "reverse", 1); /* while there is room in the ring */
    record_with(state, GPU("graph"), "flood");
    CHECK_U64(COUNT(SAID("CUDA: records of the device were lost: all buffers are with CUPTI")), 1);
}

/* A program that profiles itself has of that what it has without us, and the session says where its own
 * recording ends. */
static void the_programs_own_profiler_has_cupti(void **state)
{
    static const struct {
        const char *scene, *level, *records;
    } cases[] = {
        {"profiler", "graph", "whole"},
        {"profiler", "graph", "short"},
        {"profiler", "node", "whole"},
        {"profiler", "memory", "whole"},
        {"profiler", "all", "short"},
        {"profiler by name", "graph", "whole"},
        {"profiler by name", "memory", "short"},
        {"profiler without subscription", "graph", "whole"},
        {"profiler without subscription", "all", "whole"},
        {"profiler in a crowd", "graph", "whole"},
        {"profiler in a crowd", "memory", "short"},
    };

    setenv("CUDA_DOUBLE_KERNELS", "gemm=3000,relu=2000,profiled=1000", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("OPTRACE_CUPTI_RECORDS", cases[i].records, 1);
        record_with(state, GPU(cases[i].level), cases[i].scene);
        if (!strstr((*(struct run_scene **)state)->result.out, "profiled 50\n"))
            fail_msg("%s at %s: %s", cases[i].scene, cases[i].level,
                     (*(struct run_scene **)state)->result.out);
        CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm'"), 100);
        CHECK_U64(COUNT(ON_DEVICE "op_name = 'profiled'"), 0);
        CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'layer'"), 200);
        CHECK_U64(COUNT(SAID("CUDA: from here on the program has CUPTI itself%")), 1);
        /* What runs on the device meanwhile has no end yet. */
        CHECK_U64(COUNT(SAID("CUDA:%") " AND op_name NOT LIKE '%without an end%' AND"
                                       " op_name NOT LIKE '%had no times%'"),
                  1);
    }
}

/* As nsys or another tool that was before both. */
static void who_has_cupti_instead_is_said(void **state)
{
    setenv("CUDA_DOUBLE_FAIL", "cuptiSubscribe=39", 1);
    record_with(state, GPU("graph"), "profiler");
    CHECK_U64(COUNT(SAID("CUDA: only the host%another tool holds CUPTI (error 39)")), 1);
    CHECK_U64(COUNT(SAID("CUDA: the program asks for CUPTI, and another tool holds it (error 39)")),
              1);
}

static void no_driver_is_as_without_us(void **state)
{
    char *program = place_program("tests/flow/inject_cupti_program");

    setenv("CUDA_DOUBLE_DRIVER", "none", 1);
    run_scene_record(*state, GPU("graph"), 1, (const char *const[]){program, "kernels", NULL});
    free(program);
}

static void what_is_unloaded_in_the_middle(void **state)
{
    setenv("CUDA_DOUBLE_KERNELS", "scale=20000", 1);
    record_with(state, GPU("graph"), "unload");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'scale' AND dur_ns = 20000"), 300);
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'relu'"), 3);
}

static void no_library_is_said(void **state)
{
    setenv("OPTRACE_CUPTI", "/nowhere/libcupti.so.13", 1);
    record_with(state, GPU("graph"), "kernels");
    unsetenv("OPTRACE_CUPTI");
    CHECK_U64(COUNT(SAID("CUDA: only the host is recorded: there is no libcupti%")), 1);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'layer'"), 100);
}

static void children_and_sudden_ends(void **state)
{
    record_with(state, GPU("graph"), "fork");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm'"), 2);
    CHECK_U64(COUNT("SELECT count(*) FROM v_event WHERE op_name = 'cudaLaunchKernel'"), 2);
    record_with(state, GPU("graph"), "sudden");
    CHECK_U64(COUNT(ON_DEVICE "op_name = 'gemm'"), 1); /* a flush of ours had it */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(kernels_have_their_times),
        CASE(each_kernel_has_its_launch),
        CASE(launches_of_the_driver),
        CASE(a_graph_is_one_span_or_its_nodes),
        CASE(nodes_are_of_the_ops_that_captured_them),
        CASE(memory_where_asked_for),
        CASE(pools_are_counted),
        CASE(compilations_are_told),
        CASE(graphs_that_are_updated),
        CASE(streams_that_go_while_they_run),
        CASE(streams_that_wait),
        CASE(parts_of_a_device_have_their_names),
        CASE(contexts_that_go_while_their_records_are_pending),
        CASE(each_call_where_asked_for),
        CASE(many_threads_and_streams),
        CASE(nothing_unless_asked_for),
        CASE(toolkits),
        CASE(short_records),
        CASE(short_records_that_fail),
        CASE(what_fails_is_said_once),
        CASE(no_fault_reaches_the_program),
        CASE(no_second_fault_reaches_the_program),
        CASE(what_would_recurse_is_not_called),
        CASE(two_libraries_in_one_process),
        CASE(times_that_are_none_are_said),
        CASE(records_that_come_late),
        CASE(records_of_other_kinds),
        CASE(records_that_nobody_can_read),
        CASE(records_that_are_cut_off),
        CASE(a_library_before_all_others),
        CASE(records_that_come_in_another_order),
        CASE(more_than_all_buffers_hold),
        CASE(the_programs_own_profiler_has_cupti),
        CASE(who_has_cupti_instead_is_said),
        CASE(no_driver_is_as_without_us),
        CASE(what_is_unloaded_in_the_middle),
        CASE(no_library_is_said),
        CASE(children_and_sudden_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
