/* SPDX-License-Identifier: Apache-2.0 */
/* The per-operator profile: MegEngine's JSON, and our additions under "optrace". */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/json.h"
#include "runtime/exec/op_cost.h"
#include "runtime/graph/text.h"
#include "runtime/modes/graph_exec.h"
#include "runtime/modes/profile.h"
#include "runtime/session/step_json.h"

struct writer {
    const struct profile *profile;
    const struct exec *exec;
    struct json_writer json;
    double seconds_per_tick;
    uint32_t *ids; /* by step: graph_exec_ids() */
};

/* A step's id as text. */
static const char *step_id(const struct writer *w, uint32_t step, char out[16])
{
    snprintf(out, 16, "%u", w->ids[step]);
    return out;
}

/* Seconds from zero to ticks, which may lie before it. */
static double seconds(const struct writer *w, uint64_t ticks, uint64_t zero)
{
    return (double)(int64_t)(ticks - zero) * w->seconds_per_tick;
}

static void write_marks(struct writer *w, const char *key, const char *inner,
                        const struct profile_marks *marks, uint64_t zero)
{
    struct json_writer *json = &w->json;
    char id[16];

    json_key(json, key);
    json_begin_object(json);
    for (uint32_t i = 0; marks && i < w->profile->step_count; i++) {
        if (marks[i].end == 0)
            continue;
        json_key(json, step_id(w, i, id));
        json_begin_object(json);
        json_key(json, inner);
        json_begin_object(json);
        json_key(json, "start");
        json_double(json, seconds(w, marks[i].start, zero));
        json_key(json, "kern");
        json_double(json, seconds(w, marks[i].kern, zero));
        json_key(json, "end");
        json_double(json, seconds(w, marks[i].end, zero));
        json_end_object(json);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_shapes(struct json_writer *json, const char *key,
                         const struct value *const *values, uint32_t count)
{
    json_key(json, key);
    json_begin_array(json);
    for (uint32_t i = 0; i < count; i++) {
        if (values[i])
            graph_exec_write_dims(&values[i]->shape, json);
    }
    json_end_array(json);
}

static void write_op_costs(struct writer *w)
{
    struct json_writer *json = &w->json;
    char id[16];

    json_key(json, "opr_footprint");
    json_begin_object(json);
    for (uint32_t i = 0; i < w->profile->step_count; i++) {
        const struct exec_step *step = exec_step(w->exec, i);
        struct op_cost cost = op_cost_of(step);

        json_key(json, step_id(w, i, id));
        json_begin_object(json);
        json_key(json, "computation");
        if (cost.computation < 0)
            json_null(json);
        else
            json_int(json, cost.computation);
        json_key(json, "memory");
        json_int(json, cost.memory_bytes);
        write_shapes(json, "in_shapes", step->inputs, step->input_count);
        write_shapes(json, "out_shapes", step->outputs, step->output_count);
        json_key(json, "param");
        json_begin_object(json);
        if (strcmp(step->type, step->node->op_type) == 0)
            graph_text_params(step->node, json);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_profiler(struct writer *w, bool with_device)
{
    const struct profile *profile = w->profile;
    struct json_writer *json = &w->json;
    char thread[32] = "main";

    prctl(PR_GET_NAME, thread, 0, 0, 0);
    json_key(json, "profiler");
    json_begin_object(json);
    write_marks(w, "device", GRAPH_EXEC_DEVICE, with_device ? profile->device : NULL,
                profile->device_zero_ticks);
    write_marks(w, "host", thread, profile->host, profile->zero.ticks);
    write_op_costs(w);
    json_key(json, "opr_internal_pf");
    json_begin_object(json);
    json_end_object(json);
    json_end_object(json);
}

static void write_runs(struct writer *w)
{
    struct json_writer *json = &w->json;

    json_key(json, "runs");
    json_begin_array(json);
    for (size_t i = 0; i < w->profile->runs.count; i++) {
        const struct profile_run *run = &w->profile->runs.items[i];

        json_begin_object(json);
        json_key(json, "warmup");
        json_bool(json, run->is_warmup);
        json_key(json, "start_s");
        json_double(json, seconds(w, run->start_ticks, w->profile->zero.ticks));
        json_key(json, "end_s");
        json_double(json, seconds(w, run->end_ticks, w->profile->zero.ticks));
        json_key(json, "e2e_s");
        json_double(json, (double)run->times.e2e_ns * 1e-9);
        json_key(json, "host_s");
        json_double(json, (double)run->times.host_ns * 1e-9);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_totals(struct writer *w, bool with_device)
{
    struct json_writer *json = &w->json;
    char id[16];

    json_key(json, "device_total");
    json_begin_object(json);
    for (uint32_t i = 0; with_device && i < w->profile->step_count; i++) {
        const struct profile_sum *sum = &w->profile->sums[i];

        if (sum->count == 0)
            continue;
        json_key(json, step_id(w, i, id));
        json_begin_object(json);
        json_key(json, "count");
        json_uint(json, sum->count);
        json_key(json, "self_s");
        json_double(json, seconds(w, sum->self_ticks, 0));
        json_key(json, "kernel_s");
        json_double(json, seconds(w, sum->kernel_ticks, 0));
        json_key(json, "kernel_min_s");
        json_double(json, seconds(w, sum->kernel_min_ticks, 0));
        json_key(json, "kernel_max_s");
        json_double(json, seconds(w, sum->kernel_max_ticks, 0));
        json_end_object(json);
    }
    json_end_object(json);
}

static int64_t nanoseconds(const struct writer *w, uint64_t ticks, uint64_t zero)
{
    return (int64_t)llround(seconds(w, ticks, zero) * 1e9);
}

/* [[ID, start, kern, end], ..] of what a past run did on one side. */
static void write_past(struct writer *w, const char *key, const char *lane,
                       const struct profile_marks *marks, uint64_t zero)
{
    struct json_writer *json = &w->json;

    json_key(json, key);
    json_begin_object(json);
    json_key(json, lane);
    json_begin_array(json);
    for (uint32_t i = 0; i < w->profile->step_count; i++) {
        if (marks[i].end == 0)
            continue;
        json_begin_array(json);
        json_uint(json, w->ids[i]);
        json_int(json, nanoseconds(w, marks[i].start, zero));
        json_int(json, nanoseconds(w, marks[i].kern, zero));
        json_int(json, nanoseconds(w, marks[i].end, zero));
        json_end_array(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void write_spans(struct writer *w, bool with_device)
{
    const struct profile *profile = w->profile;
    size_t steps = profile->step_count, run_count = steps ? profile->past.count / (2 * steps) : 0;
    struct json_writer *json = &w->json;
    char thread[32] = "main";

    prctl(PR_GET_NAME, thread, 0, 0, 0);
    json_key(json, "spans");
    json_begin_array(json);
    for (size_t i = 0; i < run_count; i++) {
        const struct profile_marks *marks = profile->past.items + i * 2 * steps;

        json_begin_object(json);
        json_key(json, "run");
        json_uint(json, i);
        write_past(w, "host", thread, marks, profile->zero.ticks);
        if (with_device)
            write_past(w, "device", GRAPH_EXEC_DEVICE, marks + steps, profile->device_zero_ticks);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_additions(struct writer *w, bool with_device)
{
    const struct profile *profile = w->profile;
    const struct graph *graph = profile->session->graph;
    struct json_writer *json = &w->json;
    uint64_t warmups = 0;

    for (size_t i = 0; i < profile->runs.count; i++)
        warmups += profile->runs.items[i].is_warmup;
    json_key(json, "optrace");
    json_begin_object(json);
    json_key(json, "version");
    json_int(json, 1);
    json_key(json, "tool");
    json_string(json, "load_and_run " OPTRACE_VERSION);
    json_key(json, "model");
    json_begin_object(json);
    json_key(json, "path");
    json_string(json, graph->path);
    json_key(json, "name");
    json_string(json, graph->name);
    json_key(json, "producer");
    json_string(json, graph->producer_name);
    json_end_object(json);
    json_key(json, "device");
    json_string(json, "cpu");
    json_key(json, "threads");
    json_uint(json, exec_threads(w->exec));
    json_key(json, "run_count");
    json_uint(json, profile->runs.count);
    json_key(json, "warmup_count");
    json_uint(json, warmups);
    json_key(json, "device_offset_s");
    json_double(json, seconds(w, profile->device_zero_ticks, profile->zero.ticks));
    json_key(json, "zero_unix_ns");
    json_uint(json, profile->zero.realtime_ns);
    write_runs(w);
    write_totals(w, with_device);
    write_spans(w, with_device);
    json_end_object(json);
}

/* From the clock readings at the profile's beginning and now. */
static double measure_tick(const struct profile *profile)
{
    struct ot_clock_triple now = ot_clock_read_triple();

    if (now.ticks == profile->zero.ticks)
        return 1e-9;
    return (double)(now.monotonic_ns - profile->zero.monotonic_ns) * 1e-9 /
           (double)(now.ticks - profile->zero.ticks);
}

static int write_all(struct writer *w, bool with_device, FILE *out)
{
    json_init_file(&w->json, out);
    json_begin_object(&w->json);
    json_key(&w->json, "graph_exec");
    graph_exec_write(w->profile->session->graph, w->exec, w->ids, &w->json);
    write_profiler(w, with_device);
    write_additions(w, with_device);
    json_end_object(&w->json);
    return json_finish(&w->json);
}

int profile_write(const struct profile *profile, bool with_device, const char *path,
                  struct diag *diag)
{
    struct writer w = {
        .profile = profile,
        .exec = profile->session->exec,
        .ids = graph_exec_ids(profile->session->graph, profile->session->exec),
    };
    FILE *out;
    int rc = 0;

    if (!w.ids)
        return diag_set(diag, -ENOMEM, "no memory to write the profile");
    out = fopen(path, "w");
    if (!out) {
        rc = -errno;
    } else {
        w.seconds_per_tick = measure_tick(profile);
        rc = write_all(&w, with_device, out);
        if (fclose(out) != 0 && rc == 0)
            rc = -errno;
    }
    free(w.ids);
    return rc < 0 ? diag_set(diag, -EIO, "cannot write '%s': %s", path, strerror(-rc)) : 0;
}
