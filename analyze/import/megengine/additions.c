/* SPDX-License-Identifier: Apache-2.0 */
/* The member "optrace" of a profile that our load_and_run wrote: what was run, when, and the spans
 * of all runs but the last, which "profiler" has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/megengine/private.h"

/* Half of what the importer takes, so that a sum of three times fits. */
#define OFFSET_MAX (IMPORT_TIME_MAX / 2)

static int damage(struct megengine *megengine, const struct json_item *item,
                  const struct json_walk *walk, struct diag *diag)
{
    return json_stream_damage(megengine->stream, item->offset + (uint64_t)(walk->at - item->text),
                              walk->problem, diag);
}

/* --- Facts. --- */

static int set_text(char **text, struct json_slice value, struct diag *diag)
{
    free(*text);
    *text = value.kind == JSON_STRING && value.length ? json_take_text(value) : NULL;
    return value.kind == JSON_STRING && value.length && !*text ? megengine_no_memory(diag) : 0;
}

static int read_model(struct megengine_additions *additions, struct json_slice model,
                      struct diag *diag)
{
    int rc = set_text(&additions->path, json_member(model, "path"), diag);

    if (rc == 0)
        rc = set_text(&additions->name, json_member(model, "name"), diag);
    return rc < 0 ? rc : set_text(&additions->producer, json_member(model, "producer"), diag);
}

static int read_offset(struct megengine *megengine, const struct json_item *item, int shift,
                       int64_t low_ns, int64_t *out_ns, struct diag *diag)
{
    struct json_slice value = json_value(item->text, item->length);

    if (value.kind != JSON_NUMBER || !json_decimal(value, shift, out_ns) || *out_ns < low_ns ||
        *out_ns > OFFSET_MAX) {
        *out_ns = 0;
        return megengine_bad(megengine, item->offset, diag, "optrace.%.40s is no time", item->key);
    }
    return 0;
}

/* --- Runs. --- */

/* {"warmup": false, "start_s": 0.1, "end_s": 0.13, "e2e_s": 0.02, ..}: of its work and what is
 * around it, or where it does not say when that ended, of its work. */
static int read_run(struct megengine *megengine, const struct json_item *item, struct diag *diag)
{
    struct json_slice value = json_value(item->text, item->length);
    struct megengine_run run = {.is_warmup = json_is(json_member(value, "warmup"), "true")};
    int64_t length_ns;

    if (!json_decimal(json_member(value, "start_s"), 9, &run.start_ns) ||
        !json_decimal(json_member(value, "e2e_s"), 9, &length_ns) ||
        !is_import_time(run.start_ns, length_ns))
        return megengine_bad(megengine, item->offset, diag, "a run has no start_s and e2e_s");
    run.end_ns = run.start_ns + length_ns;
    if (json_decimal(json_member(value, "end_s"), 9, &run.end_ns) &&
        (run.end_ns < run.start_ns || !is_import_time(run.start_ns, run.end_ns - run.start_ns)))
        return megengine_bad(megengine, item->offset, diag, "a run ends before it starts");
    return array_push(&megengine->additions.runs, run) < 0 ? megengine_no_memory(diag) : 0;
}

/* [ID, start, kern, end] */
static int read_span(struct megengine *megengine, const struct json_item *item,
                     struct json_slice lane, bool is_device, struct json_slice span,
                     struct diag *diag)
{
    struct json_walk walk = json_walk_over(span);
    struct megengine_times times = {STORE_NULL, STORE_NULL, STORE_NULL};
    int64_t *const fields[] = {&times.start_ns, &times.kern_ns, &times.end_ns};
    struct json_slice key, id = {0}, value;
    size_t count = 0;
    uint32_t op;
    int rc = json_walk_next(&walk, &key, &id);

    while (rc == 1 && (rc = json_walk_next(&walk, &key, &value)) == 1 && count < 3) {
        if (!json_whole(value, fields[count]) || !is_import_time(*fields[count], 0))
            *fields[count] = STORE_NULL;
        count++;
    }
    if (rc < 0)
        return damage(megengine, item, &walk, diag);
    if (!megengine_is_id(id) || times.start_ns == STORE_NULL || times.end_ns < times.start_ns)
        return megengine_bad(megengine, item->offset + (uint64_t)(span.text - item->text), diag,
                             "a span has no id, start and end");
    rc = megengine_op_place(megengine, id, &op, diag);
    if (rc < 0)
        return rc;
    megengine_note_spans(megengine, op, is_device, item->offset);
    return megengine_add_span(megengine, op, lane, is_device, &times, diag);
}

/* {LANE: [SPAN, ..], ..} */
static int read_side(struct megengine *megengine, const struct json_item *item,
                     struct json_slice side, bool is_device, struct diag *diag)
{
    struct json_walk lanes = json_walk_over(side);
    struct json_slice lane, list, key, span;
    int rc;

    while ((rc = json_walk_next(&lanes, &lane, &list)) == 1) {
        struct json_walk spans = json_walk_over(list);

        while ((rc = json_walk_next(&spans, &key, &span)) == 1) {
            rc = read_span(megengine, item, lane, is_device, span, diag);
            if (rc < 0)
                return rc;
        }
        if (rc < 0)
            return damage(megengine, item, &spans, diag);
    }
    return rc < 0 ? damage(megengine, item, &lanes, diag) : 0;
}

/* {"run": 0, "host": SIDE, "device": SIDE} */
static int read_past(struct megengine *megengine, const struct json_item *item, struct diag *diag)
{
    struct json_slice value = json_value(item->text, item->length);
    int64_t run;
    int rc;

    if (!json_whole(json_member(value, "run"), &run) || run < 0 ||
        (uint64_t)run >= megengine->additions.runs.count)
        return megengine_bad(megengine, item->offset, diag, "spans are of no run");
    megengine->additions.runs.items[run].has_spans = true;
    rc = read_side(megengine, item, json_member(value, "host"), false, diag);
    return rc < 0 ? rc : read_side(megengine, item, json_member(value, "device"), true, diag);
}

int megengine_read_addition(struct megengine *megengine, const struct json_item *item,
                            struct diag *diag)
{
    struct megengine_additions *additions = &megengine->additions;
    struct json_slice value = json_value(item->text, item->length);

    additions->is_there = true;
    if (item->is_element && strcmp(item->key, "runs") == 0)
        return read_run(megengine, item, diag);
    if (item->is_element && strcmp(item->key, "spans") == 0)
        return read_past(megengine, item, diag);
    if (strcmp(item->key, "tool") == 0)
        return set_text(&additions->tool, value, diag);
    if (strcmp(item->key, "model") == 0)
        return read_model(additions, value, diag);
    if (strcmp(item->key, "device_offset_s") == 0)
        return read_offset(megengine, item, 9, -OFFSET_MAX, &additions->device_offset_ns, diag);
    if (strcmp(item->key, "zero_unix_ns") == 0)
        return read_offset(megengine, item, 0, 0, &additions->zero_unix_ns, diag);
    return 0;
}

/* --- What follows from them. --- */

int megengine_put_model(struct megengine *megengine, struct diag *diag)
{
    const struct megengine_additions *additions = &megengine->additions;
    struct store_model row = {
        .name = additions->name ? additions->name : additions->path,
        .path = additions->path,
        .format = "onnx",
        .producer = additions->producer,
        .parameter_bytes = STORE_NULL,
    };

    return additions->path ? importer_put_model(&megengine->importer, &row, diag) : 0;
}

/* The first lane of the host; runs are there. */
static uint32_t host_lane(const struct importer *importer)
{
    for (uint32_t i = 0; i < importer->lanes.count; i++) {
        if (!importer->lanes.items[i].is_device)
            return i;
    }
    return 0;
}

int megengine_place_runs(struct megengine *megengine, struct diag *diag)
{
    struct megengine_additions *additions = &megengine->additions;
    struct importer *importer = &megengine->importer;
    uint32_t lane = host_lane(importer);
    int rc = 0;

    importer->is_one_run = false;
    for (size_t i = 0; i < importer->lanes.count; i++) {
        if (importer->lanes.items[i].is_device)
            importer->lanes.items[i].offset_ns = additions->device_offset_ns;
    }
    if (additions->runs.count) /* it is in "profiler" */
        additions->runs.items[additions->runs.count - 1].has_spans = true;
    for (size_t i = 0; i < additions->runs.count && rc == 0 && importer->lanes.count; i++) {
        const struct megengine_run *run = &additions->runs.items[i];

        if (run->has_spans)
            rc = importer_run(
                importer,
                &(struct importer_run){run->start_ns, run->end_ns, lane, run->is_warmup, false},
                diag);
        else
            additions->silent_runs++;
    }
    return rc;
}

void megengine_drop_additions(struct megengine *megengine)
{
    free(megengine->additions.tool);
    free(megengine->additions.path);
    free(megengine->additions.name);
    free(megengine->additions.producer);
    array_deinit(&megengine->additions.runs);
}
