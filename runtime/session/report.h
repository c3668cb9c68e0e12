/* SPDX-License-Identifier: Apache-2.0 */
/* What a timing run prints: MegEngine's lines, or one JSON document. */
#ifndef OPTRACE_RUNTIME_SESSION_REPORT_H
#define OPTRACE_RUNTIME_SESSION_REPORT_H

#include <stdio.h>

#include "base/array.h"
#include "base/json.h"
#include "runtime/session/session.h"

struct times_array ARRAY_FIELDS(struct session_times);

/** Where one input's data came from. */
struct report_input {
    char *name;
    enum dtype dtype;
    struct shape shape;
    bool is_made_up;
};

/** All that one thread of --thread found out. */
struct report {
    uint64_t load_ns, prepare_ns;
    struct times_array warmups;
    struct times_array runs;
    struct report_input *inputs;
    uint32_t input_count;
    uint64_t arena_bytes, weight_bytes, input_bytes, device_bytes;
    uint32_t step_count;
    uint32_t source_node_count;
    uint32_t threads;
    char *text_before, *text_after; /* of the graph; with --model-info */
};

void report_deinit(struct report *report);

/** Statistics of end-to-end times, in ns. Percentiles are nearest rank. */
struct report_summary {
    uint64_t total_ns, min_ns, max_ns, median_ns, p99_ns;
    double mean_ns;
    double deviation_ns; /* of the sample; 0 for one run */
};

/** All 0 for no runs. -ENOMEM. Outside of its file, for tests. */
int report_summarise(const struct times_array *runs, struct report_summary *out_summary);

/* The lines, as they happen. */
void report_loaded(FILE *out, const struct report *report);
void report_prepared(FILE *out, uint64_t since_ns);
void report_warmup(FILE *out, uint64_t index, const struct session_times *times);
void report_run(FILE *out, uint64_t index, uint64_t count, const struct session_times *times);
int report_finished(FILE *out, const struct report *report);

/**
 * One thread's part of the JSON document, as an object; times are ns of CLOCK_MONOTONIC:
 *
 *     load_ns, prepare_ns, threads (of the kernels), model_node_count, step_count, arena_bytes,
 *     weight_bytes, input_bytes, device_bytes
 *     inputs    [{name, dtype, shape, data: "given" | "random"}]
 *     warmups, runs   [{e2e_ns, host_ns}]
 *     summary   of the runs' e2e_ns: {count, total_ns, mean_ns, standard_deviation_ns, min_ns,
 *               max_ns, median_ns, p99_ns}, or null
 *     graph_before, graph_after   texts; only with --model-info, of the first thread
 *
 * The document around it: version (1), model (path), device, seed, trace (a sentence), threads (a
 * list of these objects).
 */
int report_write_json(struct json_writer *json, const struct report *report);

#endif
