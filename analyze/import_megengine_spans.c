/* SPDX-License-Identifier: Apache-2.0 */
/* "host" and "device" of a MegEngine profile: { op: { lane: {start, kern, end} } } in seconds. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import_megengine_private.h"

/* Times beyond a thousand years are damage. */
#define SECONDS_MAX 3.2e10

static int64_t ns_of(double seconds)
{
    return (int64_t)llround(seconds * 1e9);
}

/* A profile has a handful of lanes. */
static int find_lane(struct import *import, const char *name, bool is_device, int64_t *out_lane_id)
{
    struct import_lane lane = {name, is_device, 0};

    for (size_t i = 0; i < import->lanes.count; i++) {
        if (import->lanes.items[i].is_device == is_device &&
            strcmp(import->lanes.items[i].name, name) == 0) {
            *out_lane_id = import->lanes.items[i].lane_id;
            return 0;
        }
    }
    lane.lane_id = import->first.lane_id + 1 + (int64_t)import->lanes.count;
    *out_lane_id = lane.lane_id;
    return array_push(&import->lanes, lane);
}

static bool read_time(const cJSON *span, const char *name, double *out_seconds)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(span, name);

    *out_seconds = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    return fabs(*out_seconds) < SECONDS_MAX;
}

static int read_span(struct import *import, const char *section, const struct by_id *op,
                     const cJSON *span, struct diag *diag)
{
    double start, kern, end;
    struct store_event event = {
        .op_id = import->first.op_id + op->number,
        .run = 1,
        .kern_ns = STORE_NULL,
        .correlation = import->first.op_id + op->number,
        .bytes = STORE_NULL,
    };

    if (!cJSON_IsObject(span) || !read_time(span, "start", &start) || !read_time(span, "end", &end))
        return diag_set(diag, -EUCLEAN, "profiler.%s.%.40s.%.80s has no start and end in seconds",
                        section, op->id, span->string);
    if (end < start)
        return diag_set(diag, -EUCLEAN, "profiler.%s.%.40s.%.80s ends before it starts", section,
                        op->id, span->string);
    if (find_lane(import, span->string, strcmp(section, "device") == 0, &event.lane_id) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the lanes");
    event.start_ns = ns_of(start);
    event.dur_ns = ns_of(end) - event.start_ns;
    /* -1 stands for "no kernel was issued". */
    if (read_time(span, "kern", &kern) && kern >= start && kern <= end)
        event.kern_ns = ns_of(kern) - event.start_ns;
    if (array_push(&import->events, event) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the spans");
    return 0;
}

static int read_section(struct import *import, const char *section, const cJSON *entries,
                        struct diag *diag)
{
    const cJSON *entry, *span;

    if (entries && !cJSON_IsObject(entries))
        return diag_set(diag, -EUCLEAN, "profiler.%s is not an object", section);
    cJSON_ArrayForEach(entry, entries)
    {
        const struct by_id *op = import_find_op(import, entry->string);

        if (!op)
            return diag_set(diag, -EUCLEAN,
                            "profiler.%s.%.40s has no operator in graph_exec.operator", section,
                            entry->string);
        if (!cJSON_IsObject(entry))
            return diag_set(diag, -EUCLEAN, "profiler.%s.%.40s is not an object", section,
                            entry->string);
        cJSON_ArrayForEach(span, entry)
        {
            int rc = read_span(import, section, op, span, diag);

            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* The store has times since 1970 and none before: a side that begins below its zero is moved up. */
static void lift_times(struct import *import, size_t first, size_t count)
{
    int64_t low = 0;

    for (size_t i = first; i < first + count; i++) {
        if (import->events.items[i].start_ns < low)
            low = import->events.items[i].start_ns;
    }
    for (size_t i = first; i < first + count; i++)
        import->events.items[i].start_ns -= low;
}

static void find_run(struct import *import, size_t first, size_t count)
{
    import->run_start_ns = count ? INT64_MAX : 0;
    import->run_end_ns = 0;
    for (size_t i = first; i < first + count; i++) {
        const struct store_event *event = &import->events.items[i];
        int64_t end_ns = event->start_ns + event->dur_ns;

        if (event->start_ns < import->run_start_ns)
            import->run_start_ns = event->start_ns;
        if (end_ns > import->run_end_ns)
            import->run_end_ns = end_ns;
    }
}

int import_read_spans(struct import *import, struct diag *diag)
{
    size_t host_count;
    int rc = read_section(import, "host", import->host, diag);

    if (rc < 0)
        return rc;
    host_count = import->events.count;
    rc = read_section(import, "device", import->device, diag);
    if (rc < 0)
        return rc;
    lift_times(import, 0, host_count);
    lift_times(import, host_count, import->events.count - host_count);
    find_run(import, 0, import->events.count);
    import->last_ns = import->run_end_ns;
    if (host_count)
        find_run(import, 0, host_count);
    return 0;
}

/* CompNode("gpu0:0" from "xpux:0") is device gpu0:0; anything else is taken as it is. */
static void name_device(const char *lane, char *device, size_t bytes)
{
    const char *quote = strchr(lane, '"');
    const char *end = quote ? strchr(quote + 1, '"') : NULL;

    if (end)
        snprintf(device, bytes, "%.*s", (int)(end - quote - 1), quote + 1);
    else
        snprintf(device, bytes, "%s", lane);
}

static int put_lane(struct import *import, const struct import_lane *lane, int64_t number,
                    struct diag *diag)
{
    char device[128];
    struct store_lane row = {
        .lane_id = lane->lane_id,
        .session_id = import->session_id,
        .client_lane = number,
        .kind = "thread",
        .name = lane->name,
        .native_id = STORE_NULL,
    };

    if (lane->is_device) {
        name_device(lane->name, device, sizeof(device));
        row.device = device;
        row.kind = strncmp(device, "cpu", 3) == 0 || strncmp(device, "multithread", 11) == 0
                       ? "queue"
                       : "stream";
    }
    return store_put_lane(import->store, &row, diag);
}

static int compare_starts(const void *a, const void *b)
{
    const struct store_event *left = a, *right = b;

    if (left->lane_id != right->lane_id)
        return left->lane_id < right->lane_id ? -1 : 1;
    return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

int import_put_spans(struct import *import, struct diag *diag)
{
    struct store_run run = {
        .session_id = import->session_id,
        .run = 1,
        .model_id = STORE_NULL,
        .start_ns = import->run_start_ns,
        .end_ns = import->run_end_ns,
    };
    int rc = 0;

    for (size_t i = 0; i < import->lanes.count && rc == 0; i++)
        rc = put_lane(import, &import->lanes.items[i], (int64_t)i + 1, diag);
    if (rc < 0 || !import->events.count)
        return rc;
    qsort(import->events.items, import->events.count, sizeof(*import->events.items),
          compare_starts);
    run.lane_id = import->lanes.items[0].lane_id;
    rc = store_put_run(import->store, &run, diag);
    if (rc == 0)
        rc = store_add_events(import->store, import->events.items, import->events.count, diag);
    return rc;
}

void import_drop_spans(struct import *import)
{
    array_deinit(&import->lanes);
    array_deinit(&import->events);
}
