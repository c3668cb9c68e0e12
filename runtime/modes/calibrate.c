/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring the machine and telling it. */
#include "runtime/modes/calibrate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/json.h"
#include "base/text.h"
#include "kernels/peak.h"
#include "runtime/exec/backend.h"
#include "runtime/session/trace.h"

enum {
    CACHE_LEVELS = 3,
    CACHE_PART_MAX = 16 << 20, /* read of a cache: one thread may not get all of a large one */
};

struct calibration {
    struct peak one, all; /* of 1 thread and of `threads` */
    size_t threads;
    size_t cache_bytes[CACHE_LEVELS]; /* 0: not known */
    double cache_bytes_s[CACHE_LEVELS];
};

/* What is recorded, as counters of these names (schema/store/store.md). */
static const char *const cache_names[] = {
    "calibration.L1_bytes_per_s",
    "calibration.L2_bytes_per_s",
    "calibration.L3_bytes_per_s",
};

static int measure(struct calibration *out_calibration, struct diag *diag)
{
    static const int levels[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                 _SC_LEVEL3_CACHE_SIZE};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int rc;

    *out_calibration = (struct calibration){.threads = cpus < 1 ? 1 : (size_t)cpus};
    if (out_calibration->threads > PEAK_THREADS_MAX)
        out_calibration->threads = PEAK_THREADS_MAX;
    rc = peak_measure(&out_calibration->one);
    if (rc == 0)
        rc = peak_measure_threads(out_calibration->threads, &out_calibration->all);
    for (int i = 0; i < CACHE_LEVELS && rc == 0; i++) {
        long bytes = sysconf(levels[i]);

        out_calibration->cache_bytes[i] = bytes > 0 ? (size_t)bytes : 0;
        if (bytes > 0) /* half of it, as others want some too */
            rc = peak_measure_read(bytes / 2 < CACHE_PART_MAX ? (size_t)bytes / 2 : CACHE_PART_MAX,
                                   &out_calibration->cache_bytes_s[i]);
    }
    return rc < 0 ? diag_set(diag, rc, "cannot measure this machine: %s", strerror(-rc)) : 0;
}

static void record(const struct calibration *calibration)
{
    trace_value("calibration.threads", (double)calibration->threads);
    trace_value("calibration.flop_per_s_1_thread", calibration->one.f32_flops);
    trace_value("calibration.flop_per_s_all_threads", calibration->all.f32_flops);
    trace_value("calibration.bytes_per_s_1_thread", calibration->one.read_bytes_s);
    trace_value("calibration.bytes_per_s_all_threads", calibration->all.read_bytes_s);
    for (int i = 0; i < CACHE_LEVELS; i++) {
        if (calibration->cache_bytes[i])
            trace_value(cache_names[i], calibration->cache_bytes_s[i]);
    }
}

static void print_text(const struct calibration *calibration, const char *status, FILE *out)
{
    char rate[AMOUNT_BYTES], all_rate[AMOUNT_BYTES], size[AMOUNT_BYTES];

    text_print(out, "f32 multiply-adds (%s): %.1f GFLOP/s with 1 thread, %.1f with %zu\n",
               calibration->one.isa, calibration->one.f32_flops / 1e9,
               calibration->all.f32_flops / 1e9, calibration->threads);
    text_print(out, "reading memory: %s/s with 1 thread, %s/s with %zu\n",
               amount_format_bytes(rate, sizeof(rate), calibration->one.read_bytes_s),
               amount_format_bytes(all_rate, sizeof(all_rate), calibration->all.read_bytes_s),
               calibration->threads);
    for (int i = 0; i < CACHE_LEVELS; i++) {
        if (calibration->cache_bytes[i])
            text_print(out, "reading cache L%d (%s): %s/s with 1 thread\n", i + 1,
                       amount_format_bytes(size, sizeof(size), (double)calibration->cache_bytes[i]),
                       amount_format_bytes(rate, sizeof(rate), calibration->cache_bytes_s[i]));
    }
    text_print(out, "%s\n", status);
}

static void member(struct json_writer *json, const char *key, double value)
{
    json_key(json, key);
    json_double(json, value);
}

static void begin_json(struct json_writer *json, FILE *out)
{
    json_init_file(json, out);
    json_set_indent(json, 1);
    json_begin_object(json);
    json_key(json, "version");
    json_int(json, 1);
}

static int end_json(struct json_writer *json, const char *status)
{
    int rc;

    json_key(json, "trace");
    json_string(json, status);
    json_end_object(json);
    rc = json_finish(json);
    json_deinit(json);
    return rc;
}

static int print_json(const struct calibration *calibration, const char *status, FILE *out)
{
    struct json_writer json;

    begin_json(&json, out);
    json_key(&json, "instruction_set");
    json_string(&json, calibration->one.isa);
    member(&json, "threads", (double)calibration->threads);
    member(&json, "flop_per_s_1_thread", calibration->one.f32_flops);
    member(&json, "flop_per_s_all_threads", calibration->all.f32_flops);
    member(&json, "bytes_per_s_1_thread", calibration->one.read_bytes_s);
    member(&json, "bytes_per_s_all_threads", calibration->all.read_bytes_s);
    for (int i = 0; i < CACHE_LEVELS; i++) {
        if (calibration->cache_bytes[i])
            member(&json, strchr(cache_names[i], '.') + 1, calibration->cache_bytes_s[i]);
    }
    return end_json(&json, status);
}

int calibrate(bool json, FILE *out, struct diag *diag)
{
    struct calibration calibration;
    char status[300];
    int rc = measure(&calibration, diag);

    if (rc < 0)
        return rc;
    rc = trace_begin(diag);
    if (rc < 0)
        return rc;
    record(&calibration);
    trace_status(status, sizeof(status));
    if (json)
        rc = print_json(&calibration, status, out);
    else
        print_text(&calibration, status, out);
    return rc < 0 ? diag_set(diag, rc, "cannot write the result: %s", strerror(-rc)) : 0;
}

/* --- Of a device --- */

static int print_device_json(const char *device, const char *description,
                             const struct device_peak *peak, const char *status, FILE *out)
{
    struct json_writer json;

    begin_json(&json, out);
    json_key(&json, "device");
    json_string(&json, device);
    json_key(&json, "description");
    json_string(&json, description);
    member(&json, "processors", (double)peak->processors);
    member(&json, "flop_per_s", peak->flop_per_s);
    member(&json, "bytes_per_s", peak->bytes_per_s);
    member(&json, "copied_bytes", (double)peak->copied_bytes);
    return end_json(&json, status);
}

static void print_device_text(const char *device, const char *description,
                              const struct device_peak *peak, const char *status, FILE *out)
{
    char rate[AMOUNT_BYTES], size[AMOUNT_BYTES];

    text_print(out, "%s: %s, %u processors\n", device, description, peak->processors);
    text_print(out, "f32 multiply-adds: %.1f GFLOP/s\n", peak->flop_per_s / 1e9);
    text_print(out, "copying %s of its memory: %s/s are read and written\n",
               amount_format_bytes(size, sizeof(size), (double)peak->copied_bytes),
               amount_format_bytes(rate, sizeof(rate), peak->bytes_per_s));
    text_print(out, "%s\n", status);
}

static int tell_device(const struct device_backend *backend, const struct device *device,
                       uint32_t number, const struct device_peak *peak, bool json, FILE *out,
                       struct diag *diag)
{
    char name[24], status[300];
    int rc = trace_begin(diag);

    if (rc < 0)
        return rc;
    snprintf(name, sizeof(name), "%s:%u", backend->name, number);
    trace_value("calibration.device_flop_per_s", peak->flop_per_s);
    trace_value("calibration.device_bytes_per_s", peak->bytes_per_s);
    trace_status(status, sizeof(status));
    if (json)
        rc = print_device_json(name, backend->describe(device), peak, status, out);
    else
        print_device_text(name, backend->describe(device), peak, status, out);
    return rc < 0 ? diag_set(diag, rc, "cannot write the result: %s", strerror(-rc)) : 0;
}

int calibrate_device(const struct device_backend *backend, uint32_t number, bool json, FILE *out,
                     struct diag *diag)
{
    struct device_peak peak;
    struct device *device;
    int rc;

    if (!backend->open)
        return diag_set(diag, -ENOTSUP, "--%s: this build leaves GPUs out", backend->name);
    rc = backend->open(number, &device, diag);
    if (rc < 0)
        return rc;
    rc = backend->measure(device, &peak);
    if (rc < 0)
        rc = diag_set(diag, -EIO, "%s", backend->problem(device));
    else
        rc = tell_device(backend, device, number, &peak, json, out, diag);
    backend->close(&device);
    return rc;
}
