/* SPDX-License-Identifier: Apache-2.0 */
/* "host" and "device" of a MegEngine profile: { op: { lane: {start, kern, end} } } in seconds. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/megengine/private.h"

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

static int make_lane(struct megengine *megengine, struct json_slice key, bool is_device,
                     uint32_t *out_lane, struct diag *diag)
{
    char device[128], *name = json_take_text(key);
    struct importer_lane lane = {.name = name, .native_id = STORE_NULL, .is_device = is_device};
    int rc;

    if (!name)
        return megengine_no_memory(diag);
    if (is_device) {
        name_device(name, device, sizeof(device));
        lane.device = device;
        lane.is_queue = strncmp(device, "cpu", 3) == 0 || strncmp(device, "multithread", 11) == 0;
    }
    rc = importer_lane(&megengine->importer, &lane, out_lane, diag);
    free(name);
    return rc;
}

static int find_lane(struct megengine *megengine, struct json_slice name, bool is_device,
                     uint32_t *out_lane, struct diag *diag)
{
    struct place_key key = {.low = is_device};
    int rc;

    place_key_add(&key, name.text, name.length);
    *out_lane = place_map_find(&megengine->lanes, key);
    if (*out_lane != PLACE_NONE)
        return 0;
    rc = make_lane(megengine, name, is_device, out_lane, diag);
    if (rc == 0 && place_map_set(&megengine->lanes, key, *out_lane) < 0)
        rc = megengine_no_memory(diag);
    return rc;
}

/* STORE_NULL: none that makes sense. */
static int read_times(struct json_walk *walk, struct json_slice span,
                      struct megengine_times *out_times)
{
    struct json_slice key, value;
    int rc;

    *out_times = (struct megengine_times){STORE_NULL, STORE_NULL, STORE_NULL};
    *walk = json_walk_over(span);
    while ((rc = json_walk_next(walk, &key, &value)) == 1) {
        int64_t *field = json_is(key, "start")  ? &out_times->start_ns
                         : json_is(key, "kern") ? &out_times->kern_ns
                         : json_is(key, "end")  ? &out_times->end_ns
                                                : NULL;

        if (field && (value.kind != JSON_NUMBER || !json_decimal(value, 9, field) ||
                      !is_import_time(*field, 0)))
            *field = STORE_NULL;
    }
    return rc;
}

/* --- Entries. --- */

struct span_place {
    const struct json_item *item;
    const char *section;
    bool is_device;
    uint32_t op;
};

void megengine_note_spans(struct megengine *megengine, uint32_t op, bool is_device, uint64_t offset)
{
    struct megengine_op *entry = &megengine->ops.items[op];

    if (entry->state != OP_UNKNOWN)
        return;
    entry->state = is_device ? OP_HAS_DEVICE_SPANS : OP_HAS_HOST_SPANS;
    entry->record = offset;
}

int megengine_add_span(struct megengine *megengine, uint32_t op, struct json_slice lane,
                       bool is_device, const struct megengine_times *times, struct diag *diag)
{
    struct import_span span = {
        .op = op,
        .start_ns = times->start_ns,
        .dur_ns = times->end_ns - times->start_ns,
        .kern_ns = STORE_NULL,
        .correlation = (int64_t)op + 1,
        .bytes = STORE_NULL,
    };
    int rc = find_lane(megengine, lane, is_device, &span.lane, diag);

    /* -1 stands for "no kernel was issued". */
    if (times->kern_ns >= times->start_ns && times->kern_ns <= times->end_ns)
        span.kern_ns = times->kern_ns - times->start_ns;
    return rc < 0 ? rc : importer_span(&megengine->importer, &span, diag);
}

static int add_span(struct megengine *megengine, const struct span_place *place,
                    struct json_slice lane, struct json_slice value, struct diag *diag)
{
    uint64_t offset = place->item->offset + (uint64_t)(value.text - place->item->text);
    struct json_walk walk;
    struct megengine_times times;
    int lane_length = lane.length < 80 ? (int)lane.length : 80;

    if (value.kind == JSON_OBJECT && read_times(&walk, value, &times) < 0)
        return json_stream_damage(megengine->stream,
                                  place->item->offset + (uint64_t)(walk.at - place->item->text),
                                  walk.problem, diag);
    if (value.kind != JSON_OBJECT || times.start_ns == STORE_NULL || times.end_ns == STORE_NULL)
        return megengine_bad(megengine, offset, diag,
                             "profiler.%s.%.40s.%.*s has no start and end in seconds",
                             place->section, place->item->key, lane_length, lane.text);
    if (times.end_ns < times.start_ns)
        return megengine_bad(megengine, offset, diag,
                             "profiler.%s.%.40s.%.*s ends before it starts", place->section,
                             place->item->key, lane_length, lane.text);
    return megengine_add_span(megengine, place->op, lane, place->is_device, &times, diag);
}

int megengine_read_spans(struct megengine *megengine, const struct json_item *item, bool is_device,
                         struct diag *diag)
{
    struct json_slice id = {item->key, strlen(item->key), JSON_STRING}, key, value;
    struct json_slice entry = json_value(item->text, item->length);
    struct json_walk walk = json_walk_over(entry);
    struct span_place place = {item, is_device ? "device" : "host", is_device, PLACE_NONE};
    int rc;

    if (entry.kind != JSON_OBJECT)
        return megengine_bad(megengine, item->offset, diag, "profiler.%s.%.40s is not an object",
                             place.section, item->key);
    rc = megengine_op_place(megengine, id, &place.op, diag);
    if (rc < 0)
        return rc;
    megengine_note_spans(megengine, place.op, is_device, item->offset);
    while ((rc = json_walk_next(&walk, &key, &value)) == 1) {
        rc = add_span(megengine, &place, key, value, diag);
        if (rc < 0)
            return rc;
    }
    return rc == 0 ? 0
                   : json_stream_damage(megengine->stream,
                                        item->offset + (uint64_t)(walk.at - item->text),
                                        walk.problem, diag);
}

/* --- When they were. --- */

/* From the first to the last moment of the lanes of one side; max < min: it has no rows. */
static void find_reach(const struct importer *importer, bool is_device, int64_t *out_min_ns,
                       int64_t *out_max_ns)
{
    *out_min_ns = INT64_MAX;
    *out_max_ns = INT64_MIN;
    for (size_t i = 0; i < importer->lanes.count; i++) {
        const struct importer_lane *lane = &importer->lanes.items[i];

        if (lane->is_device != is_device || lane->max_ns < lane->min_ns)
            continue;
        *out_min_ns = lane->min_ns < *out_min_ns ? lane->min_ns : *out_min_ns;
        *out_max_ns = lane->max_ns > *out_max_ns ? lane->max_ns : *out_max_ns;
    }
}

/* The store has times since 1970 and none before: a side that begins below its zero is moved up. */
static void lift_side(struct importer *importer, bool is_device)
{
    int64_t min_ns, max_ns;

    find_reach(importer, is_device, &min_ns, &max_ns);
    for (size_t i = 0; i < importer->lanes.count && min_ns < 0; i++) {
        if (importer->lanes.items[i].is_device == is_device)
            importer->lanes.items[i].offset_ns = -min_ns;
    }
}

int megengine_place_spans(struct megengine *megengine, struct diag *diag)
{
    struct importer *importer = &megengine->importer;
    struct importer_run run = {.lane = PLACE_NONE};
    bool is_device = false;

    lift_side(importer, false);
    lift_side(importer, true);
    find_reach(importer, false, &run.start_ns, &run.end_ns);
    if (run.end_ns < run.start_ns) { /* without spans on the host it is what the device says */
        is_device = true;
        find_reach(importer, true, &run.start_ns, &run.end_ns);
    }
    for (size_t i = 0; i < importer->lanes.count && run.lane == PLACE_NONE; i++) {
        if (importer->lanes.items[i].is_device == is_device)
            run.lane = (uint32_t)i;
    }
    return run.end_ns < run.start_ns ? 0 : importer_run(importer, &run, diag);
}
