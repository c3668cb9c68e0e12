/* SPDX-License-Identifier: Apache-2.0 */
/* What a timing run prints: MegEngine's lines, or one JSON document. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/session/report.h"

void report_deinit(struct report *report)
{
    array_deinit(&report->warmups);
    array_deinit(&report->runs);
    for (uint32_t i = 0; i < report->input_count; i++)
        free(report->inputs[i].name);
    free(report->inputs);
    free(report->text_before);
    free(report->text_after);
    *report = (struct report){0};
}

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Nearest rank: the smallest value that at least this share of all does not exceed. */
static uint64_t percentile(const uint64_t *sorted, size_t count, double share)
{
    size_t rank = (size_t)ceil(share * (double)count);

    return sorted[rank == 0 ? 0 : rank - 1];
}

int report_summarise(const struct times_array *runs, struct report_summary *out_summary)
{
    struct report_summary summary = {0};
    size_t count = runs->count;
    double squares = 0;
    uint64_t *sorted;

    if (count == 0) {
        *out_summary = summary;
        return 0;
    }
    sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = runs->items[i].e2e_ns;
        summary.total_ns += sorted[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_ns);
    summary.mean_ns = (double)summary.total_ns / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)sorted[i] - summary.mean_ns) * ((double)sorted[i] - summary.mean_ns);
    summary.deviation_ns = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    summary.min_ns = sorted[0];
    summary.max_ns = sorted[count - 1];
    summary.median_ns = percentile(sorted, count, 0.5);
    summary.p99_ns = percentile(sorted, count, 0.99);
    free(sorted);
    *out_summary = summary;
    return 0;
}

static double ms(double ns)
{
    return ns * 1e-6;
}

void report_loaded(FILE *out, const struct report *report)
{
    fprintf(out, "load model: %.3fms\n", ms((double)report->load_ns));
    fputs("run testcase: 0 \n", out);
}

void report_prepared(FILE *out, uint64_t since_ns)
{
    fprintf(out, "=== prepare: %.3fms; going to warmup\n", ms((double)since_ns));
}

void report_warmup(FILE *out, uint64_t index, const struct session_times *times)
{
    fprintf(out, "warm up %" PRIu64 "  %.3fms\n", index, ms((double)times->e2e_ns));
}

void report_run(FILE *out, uint64_t index, uint64_t count, const struct session_times *times)
{
    fprintf(out, "iter %" PRIu64 "/%" PRIu64 ": e2e=%.3f ms (host=%.3f ms)\n", index, count,
            ms((double)times->e2e_ns), ms((double)times->host_ns));
}

int report_finished(FILE *out, const struct report *report)
{
    struct report_summary s;
    int rc = report_summarise(&report->runs, &s);

    if (rc < 0)
        return rc;
    if (report->runs.count > 0)
        fprintf(out,
                "=== finished test #0: time=%.3f ms avg_time=%.3f ms standard_deviation=%.3f ms "
                "min=%.3f ms max=%.3f ms median=%.3f ms p99=%.3f ms\n",
                ms((double)s.total_ns), ms(s.mean_ns), ms(s.deviation_ns), ms((double)s.min_ns),
                ms((double)s.max_ns), ms((double)s.median_ns), ms((double)s.p99_ns));
    fprintf(out, "=== total time: %.3fms\n", ms((double)s.total_ns));
    return 0;
}

static void write_inputs(struct json_writer *json, const struct report *report)
{
    json_key(json, "inputs");
    json_begin_array(json);
    for (uint32_t i = 0; i < report->input_count; i++) {
        const struct report_input *input = &report->inputs[i];

        json_begin_object(json);
        json_key(json, "name");
        json_string(json, input->name);
        json_key(json, "dtype");
        json_string(json, dtype_name(input->dtype));
        json_key(json, "shape");
        json_begin_array(json);
        for (int k = 0; k < input->shape.rank; k++)
            json_int(json, input->shape.dims[k]);
        json_end_array(json);
        json_key(json, "data");
        json_string(json, input->is_made_up ? "random" : "given");
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_times(struct json_writer *json, const char *key, const struct times_array *times)
{
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < times->count; i++) {
        json_begin_object(json);
        json_key(json, "e2e_ns");
        json_uint(json, times->items[i].e2e_ns);
        json_key(json, "host_ns");
        json_uint(json, times->items[i].host_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static int write_summary(struct json_writer *json, const struct report *report)
{
    struct report_summary s;
    int rc = report_summarise(&report->runs, &s);

    if (rc < 0)
        return rc;
    json_key(json, "summary");
    if (report->runs.count == 0) {
        json_null(json);
        return 0;
    }
    json_begin_object(json);
    json_key(json, "count");
    json_uint(json, report->runs.count);
    json_key(json, "total_ns");
    json_uint(json, s.total_ns);
    json_key(json, "mean_ns");
    json_double(json, s.mean_ns);
    json_key(json, "standard_deviation_ns");
    json_double(json, s.deviation_ns);
    json_key(json, "min_ns");
    json_uint(json, s.min_ns);
    json_key(json, "max_ns");
    json_uint(json, s.max_ns);
    json_key(json, "median_ns");
    json_uint(json, s.median_ns);
    json_key(json, "p99_ns");
    json_uint(json, s.p99_ns);
    json_end_object(json);
    return 0;
}

static void write_numbers(struct json_writer *json, const struct report *report)
{
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"load_ns", report->load_ns},           {"prepare_ns", report->prepare_ns},
        {"threads", report->threads},           {"model_node_count", report->source_node_count},
        {"step_count", report->step_count},     {"arena_bytes", report->arena_bytes},
        {"weight_bytes", report->weight_bytes}, {"device_bytes", report->device_bytes},
        {"input_bytes", report->input_bytes},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        json_key(json, numbers[i].key);
        json_uint(json, numbers[i].value);
    }
}

int report_write_json(struct json_writer *json, const struct report *report)
{
    int rc;

    json_begin_object(json);
    write_numbers(json, report);
    write_inputs(json, report);
    write_times(json, "warmups", &report->warmups);
    write_times(json, "runs", &report->runs);
    rc = write_summary(json, report);
    if (report->text_before) {
        json_key(json, "graph_before");
        json_string(json, report->text_before);
        json_key(json, "graph_after");
        json_string(json, report->text_after);
    }
    json_end_object(json);
    return rc;
}
