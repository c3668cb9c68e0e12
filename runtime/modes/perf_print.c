/* SPDX-License-Identifier: Apache-2.0 */
/* The performance report as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/text.h"
#include "runtime/modes/perf.h"

/* --- Derived values. --- */

static double step_ms(const struct perf *perf, uint32_t step)
{
    return samples_interquartile_mean(&perf->steps[step]);
}

/* Sum of the interquartile means of all instructions. */
static double instructions_ms(const struct perf *perf)
{
    double sum = 0;

    for (uint32_t i = 0; i < perf->step_count; i++)
        sum += step_ms(perf, i);
    return sum;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* --- The summary: instructions by operator. --- */

struct group {
    char *name;
    uint32_t count; /* instructions */
    double sum_ms;
};

struct groups ARRAY_FIELDS(struct group);

static void write_shape(const struct value *value, FILE *out)
{
    for (int i = 0; i < value->shape.rank; i++)
        text_print(out, "%s%" PRId64, i > 0 ? "x" : "", value->shape.dims[i]);
}

/* "Conv", or in detail "Conv<float32(1x3x8x8, 4x3x3x3)>". NULL without memory. */
static char *group_name(const struct perf *perf, uint32_t index)
{
    const struct exec_step *step = exec_step(perf->session->exec, index);
    char *text = NULL;
    size_t bytes;
    bool has_any = false;
    FILE *out = open_memstream(&text, &bytes);

    if (!out)
        return NULL;
    text_put(step->type, out);
    if (perf->config->detailed && step->output_count > 0 && step->outputs[0]) {
        text_print(out, "<%s(", dtype_name(step->outputs[0]->dtype));
        for (uint32_t i = 0; i < step->input_count; i++) {
            if (!step->inputs[i])
                continue;
            fputs(has_any ? ", " : "", out);
            write_shape(step->inputs[i], out);
            has_any = true;
        }
        fputs(")>", out);
    }
    return fclose(out) == 0 ? text : NULL;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->sum_ms != y->sum_ms)
        return x->sum_ms < y->sum_ms ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int add_to_groups(const struct perf *perf, uint32_t step, struct groups *groups)
{
    char *name = group_name(perf, step);
    size_t i = 0;

    if (!name)
        return -ENOMEM;
    while (i < groups->count && strcmp(groups->items[i].name, name) != 0)
        i++;
    if (i == groups->count) {
        if (array_push(groups, ((struct group){.name = name})) < 0) {
            free(name);
            return -ENOMEM;
        }
        name = NULL;
    }
    free(name);
    groups->items[i].count++;
    groups->items[i].sum_ms += step_ms(perf, step);
    return 0;
}

static void free_groups(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->items[i].name);
    array_deinit(groups);
}

static int make_groups(const struct perf *perf, struct groups *out_groups)
{
    int rc = 0;

    *out_groups = (struct groups){0};
    for (uint32_t i = 0; rc == 0 && i < perf->step_count; i++)
        rc = add_to_groups(perf, i, out_groups);
    if (rc == 0 && out_groups->count > 1)
        qsort(out_groups->items, out_groups->count, sizeof(*out_groups->items), compare_groups);
    return rc;
}

/* --- Text. --- */

static void print_instructions(const struct perf *perf, double sum_ms, FILE *out)
{
    for (uint32_t i = 0; i < perf->program.instructions.count; i++) {
        uint32_t step = perf->program.instructions.items[i].step;

        program_write_instruction(&perf->program, i, out);
        if (step != PROGRAM_NONE)
            fprintf(out, ": %.6gms, %.2f%%", step_ms(perf, step),
                    percent(step_ms(perf, step), sum_ms));
        fputc('\n', out);
    }
}

static void print_totals(const struct perf *perf, double sum_ms, FILE *out)
{
    double total = samples_interquartile_mean(&perf->whole);
    double nothing = samples_interquartile_mean(&perf->nothing);

    fprintf(out, "Batch size: %" PRIu64 "\n", perf->batch);
    fprintf(out, "Rate: %.6g inferences/sec\n", total > 0 ? 1000 / total * (double)perf->batch : 0);
    fprintf(out, "Total time: %.6gms (Min: %.6gms, Max: %.6gms, Mean: %.6gms, Median: %.6gms)\n",
            total, samples_percentile(&perf->whole, 0), samples_percentile(&perf->whole, 100),
            samples_mean(&perf->whole), samples_percentile(&perf->whole, 50));
    fprintf(out, "Percentiles (90%%, 95%%, 99%%): (%.6gms, %.6gms, %.6gms)\n",
            samples_percentile(&perf->whole, 90), samples_percentile(&perf->whole, 95),
            samples_percentile(&perf->whole, 99));
    fprintf(out, "Total instructions time: %.6gms\n", sum_ms);
    fprintf(out, "Overhead time: %.6gms, %.6gms\n", nothing, total - sum_ms);
    fprintf(out, "Overhead: %.2f%%, %.2f%%\n", percent(nothing, total),
            percent(total - sum_ms, total));
}

static void print_notes(const struct perf *perf, FILE *out)
{
    char clock[AMOUNT_BYTES];

    text_print(
        out,
        "\n%" PRIu64 " runs after %" PRIu64 " warm-up%s. Total time and the times of "
        "instructions are interquartile means: without the lowest and the highest quarter. "
        "Percentages of instructions are of their total, those of overheads of the total time; "
        "percentiles are nearest rank.\n"
        "The first overhead is a walk over all instructions that computes nothing; the second "
        "is the total time less that of the instructions, negative when timing them, about "
        "%s each, cost more than what lies between them.\n",
        perf->config->run_count, perf->config->warmup_count,
        perf->config->warmup_count == 1 ? "" : "s",
        amount_format_duration(clock, sizeof(clock), perf->clock_ms * 1e6));
}

int perf_print_text(const struct perf *perf, FILE *out)
{
    double sum_ms = instructions_ms(perf);
    struct groups groups;
    int rc = make_groups(perf, &groups);

    if (rc == 0) {
        print_instructions(perf, sum_ms, out);
        fputs("\nSummary:\n", out);
        for (size_t i = 0; i < groups.count; i++)
            text_print(out, "%s: %.6gms / %u = %.6gms, %.2f%%\n", groups.items[i].name,
                       groups.items[i].sum_ms, groups.items[i].count,
                       groups.items[i].sum_ms / groups.items[i].count,
                       percent(groups.items[i].sum_ms, sum_ms));
        fputc('\n', out);
        print_totals(perf, sum_ms, out);
        print_notes(perf, out);
    }
    free_groups(&groups);
    return rc;
}

/* --- JSON. --- */

static void write_ms(struct json_writer *json, const char *key, double ms)
{
    json_key(json, key);
    json_double(json, ms);
}

static void write_samples(struct json_writer *json, const char *key, const struct samples *samples)
{
    json_key(json, key);
    json_begin_object(json);
    write_ms(json, "interquartile_mean_ms", samples_interquartile_mean(samples));
    write_ms(json, "mean_ms", samples_mean(samples));
    write_ms(json, "standard_deviation_ms", samples_deviation(samples));
    write_ms(json, "min_ms", samples_percentile(samples, 0));
    write_ms(json, "median_ms", samples_percentile(samples, 50));
    write_ms(json, "p90_ms", samples_percentile(samples, 90));
    write_ms(json, "p95_ms", samples_percentile(samples, 95));
    write_ms(json, "p99_ms", samples_percentile(samples, 99));
    write_ms(json, "max_ms", samples_percentile(samples, 100));
    json_key(json, "sorted_ms");
    json_begin_array(json);
    for (size_t i = 0; i < samples->count; i++)
        json_double(json, samples->values[i]);
    json_end_array(json);
    json_end_object(json);
}

static void write_instructions(const struct perf *perf, struct json_writer *json)
{
    char text[PROGRAM_NAME_BYTES];

    json_key(json, "instructions");
    json_begin_array(json);
    for (uint32_t i = 0; i < perf->step_count; i++) {
        const struct exec_step *step = exec_step(perf->session->exec, i);

        json_begin_object(json);
        json_key(json, "name");
        json_string(json, program_name(&perf->program, program_find_step(&perf->program, i), text));
        json_key(json, "operator");
        json_string(json, step->type);
        json_key(json, "node");
        json_string(json, step->name);
        write_samples(json, "time", &perf->steps[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_groups(const struct groups *groups, double sum_ms, struct json_writer *json)
{
    json_key(json, "summary");
    json_begin_array(json);
    for (size_t i = 0; i < groups->count; i++) {
        json_begin_object(json);
        json_key(json, "name");
        json_string(json, groups->items[i].name);
        json_key(json, "instruction_count");
        json_uint(json, groups->items[i].count);
        write_ms(json, "total_ms", groups->items[i].sum_ms);
        write_ms(json, "share_of_instructions", percent(groups->items[i].sum_ms, sum_ms) / 100);
        json_end_object(json);
    }
    json_end_array(json);
}

int perf_print_json(const struct perf *perf, FILE *out)
{
    double total = samples_interquartile_mean(&perf->whole), sum_ms = instructions_ms(perf);
    struct json_writer json;
    struct groups groups;
    int rc = make_groups(perf, &groups);

    json_init_file(&json, out);
    json_set_indent(&json, 2);
    json_begin_object(&json);
    json_key(&json, "version");
    json_int(&json, 1);
    json_key(&json, "model");
    json_string(&json, perf->config->path);
    json_key(&json, "run_count");
    json_uint(&json, perf->config->run_count);
    json_key(&json, "warmup_count");
    json_uint(&json, perf->config->warmup_count);
    json_key(&json, "batch");
    json_uint(&json, perf->batch);
    write_ms(&json, "inferences_per_s", 1000 / total * (double)perf->batch);
    write_samples(&json, "total", &perf->whole);
    write_ms(&json, "instructions_ms", sum_ms);
    write_samples(&json, "dispatch_overhead", &perf->nothing);
    write_ms(&json, "other_overhead_ms", total - sum_ms);
    write_ms(&json, "clock_ms", perf->clock_ms);
    write_groups(&groups, sum_ms, &json);
    write_instructions(perf, &json);
    json_end_object(&json);
    free_groups(&groups);
    return rc < 0 ? rc : json_finish(&json);
}
