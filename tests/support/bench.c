/* SPDX-License-Identifier: Apache-2.0 */
/* Medians and JSON lines of benchmarks. */
#include "tests/support/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

void bench_add(struct bench_figure *figure, double sample)
{
    if (figure->count < BENCH_SAMPLES_MAX)
        figure->samples[figure->count++] = sample;
}

double bench_median(const struct bench_figure *figure)
{
    double sorted[BENCH_SAMPLES_MAX];
    size_t middle = figure->count / 2;

    if (figure->count == 0)
        return NAN;
    memcpy(sorted, figure->samples, figure->count * sizeof(sorted[0]));
    qsort(sorted, figure->count, sizeof(sorted[0]), compare);
    return figure->count % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/* The text behind "KEY :" in /proc/cpuinfo. */
static void read_cpu(const char *key, char *text, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];

    snprintf(text, size, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');

        if (colon && strncmp(line, key, strlen(key)) == 0) {
            snprintf(text, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

bool bench_cpu_is_amd(void)
{
    char maker[64];

    read_cpu("vendor_id", maker, sizeof(maker));
    return strcmp(maker, "AuthenticAMD") == 0;
}

void bench_print_machine(void)
{
    struct json_writer json;
    struct utsname system;
    char cpu[256], maker[64];

    read_cpu("model name", cpu, sizeof(cpu));
    read_cpu("vendor_id", maker, sizeof(maker));
    uname(&system);
    json_init_file(&json, stdout);
    json_begin_object(&json);
    json_key(&json, "machine");
    json_begin_object(&json);
    json_key(&json, "cpu");
    json_string(&json, cpu);
    json_key(&json, "maker");
    json_string(&json, maker);
    json_key(&json, "cpus");
    json_int(&json, sysconf(_SC_NPROCESSORS_ONLN));
    json_key(&json, "kernel");
    json_string(&json, system.release);
    json_end_object(&json);
    json_end_object(&json);
    json_finish(&json);
}

static void print_figure(const struct bench_figure *figure, double goal)
{
    double low = INFINITY, high = -INFINITY;
    struct json_writer json;

    for (size_t i = 0; i < figure->count; i++) {
        low = fmin(low, figure->samples[i]);
        high = fmax(high, figure->samples[i]);
    }
    json_init_file(&json, stdout);
    json_begin_object(&json);
    json_key(&json, "figure");
    json_string(&json, figure->name);
    json_key(&json, "value");
    json_double(&json, bench_median(figure));
    json_key(&json, "unit");
    json_string(&json, figure->unit);
    json_key(&json, "min");
    json_double(&json, low);
    json_key(&json, "max");
    json_double(&json, high);
    json_key(&json, "repeats");
    json_uint(&json, figure->count);
    if (goal > 0) {
        json_key(&json, "goal");
        json_double(&json, goal);
    }
    json_end_object(&json);
    json_finish(&json);
}

void bench_print(const struct bench_figure *figure)
{
    print_figure(figure, 0);
}

void bench_print_ratio(const char *name, const struct bench_figure *figure,
                       const struct bench_figure *against, double goal)
{
    size_t count = figure->count < against->count ? figure->count : against->count;
    struct bench_figure ratio = {.name = name, .unit = "ratio"};

    for (size_t i = 0; i < count; i++)
        bench_add(&ratio, figure->samples[i] / against->samples[i]);
    print_figure(&ratio, goal);
}
