/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What export/chrome/chrome.c writes beyond the usual, so that a trace of ours comes back as it
 * was: which op an event is of, lanes with their rows, runs, losses. Events name their op in
 * args["optrace op"].
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the trace");
}

/* --- Ops. --- */

static struct place_key identity_of(const struct chrome_event *event)
{
    struct place_key identity = {.high = 2};

    place_key_add(&identity, event->arg[ARG_OWN_OP].text, event->arg[ARG_OWN_OP].length);
    return identity;
}

uint32_t chrome_find_own_op(const struct chrome *chrome, const struct chrome_event *event)
{
    return importer_find_op(&chrome->importer, identity_of(event));
}

/* The types that have another word in other traces; all else is its own category. */
static char *take_type(struct json_slice category)
{
    static const char *const words[][2] = {
        {"gpu_memcpy", "copy"},
        {"gpu_memset", "memset"},
        {"user_annotation", "label"},
        {"gpu_user_annotation", "label"},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (json_is(category, words[i][0]))
            return strdup(words[i][1]);
    }
    return json_take_text(category);
}

static int64_t count_of(struct json_slice value)
{
    int64_t number;

    return json_whole(value, &number) ? number : STORE_NULL;
}

/* NULL where there is no such arg. */
static char *take_text(struct json_slice value, bool *failed)
{
    char *text = value.kind == JSON_NONE ? NULL : json_take_text(value);

    *failed |= value.kind != JSON_NONE && !text;
    return text;
}

static char *take_json(struct json_slice value, bool *failed)
{
    struct json_writer json;
    char *text;

    if (value.kind == JSON_NONE)
        return NULL;
    json_init_memory(&json);
    import_write_value(&json, value);
    text = import_take(&json);
    *failed |= !text;
    return text;
}

int chrome_own_op(struct chrome *chrome, const struct chrome_event *event, uint32_t *out_op,
                  struct diag *diag)
{
    const struct json_slice *arg = event->arg;
    bool failed = false;
    struct store_op row;
    int rc;

    *out_op = chrome_find_own_op(chrome, event);
    if (*out_op != PLACE_NONE)
        return 0;
    row = (struct store_op){
        .model_id = STORE_NULL,
        .name = json_take_text(event->name),
        .type = take_type(event->category),
        .node_id = take_text(arg[ARG_NODE], &failed),
        .device = take_text(arg[ARG_OP_DEVICE], &failed),
        .input_shapes = import_shapes_text(arg[ARG_DIMS]),
        .input_dtypes = import_dtypes_text(arg[ARG_TYPES]),
        .output_shapes = import_shapes_text(arg[ARG_OUT_DIMS]),
        .output_dtypes = import_dtypes_text(arg[ARG_OUT_TYPES]),
        .params = chrome_params_text(event, true),
        .computation_flop = count_of(arg[ARG_FLOP]),
        .memory_bytes = count_of(arg[ARG_OP_BYTES]),
        .workspace_bytes = STORE_NULL,
        .source = take_text(arg[ARG_SOURCE], &failed),
        .origin = take_json(arg[ARG_ORIGIN], &failed),
    };
    rc = row.name && row.type && !failed
             ? importer_put_op(&chrome->importer, identity_of(event), &row, out_op, diag)
             : no_memory(diag);
    free((char *)row.name);
    free((char *)row.type);
    free((char *)row.node_id);
    free((char *)row.device);
    free((char *)row.input_shapes);
    free((char *)row.input_dtypes);
    free((char *)row.output_shapes);
    free((char *)row.output_dtypes);
    free((char *)row.params);
    free((char *)row.source);
    free((char *)row.origin);
    return rc;
}

/* --- Lanes. --- */

/* The row of a lane, beside its first: its events belong to that lane. */
static int join_rows(struct chrome *chrome, const struct chrome_event *event,
                     struct json_slice first, struct diag *diag)
{
    struct chrome_event of_first = {.process = event->process, .thread = first};
    struct place_key key = {0};
    uint32_t lane;
    int rc = chrome_lane(chrome, &of_first, &lane, diag);

    place_key_add(&key, event->process.text, event->process.length);
    place_key_add(&key, event->thread.text, event->thread.length);
    if (rc == 0 && place_map_set(&chrome->lanes, key, lane) < 0)
        rc = no_memory(diag);
    return rc;
}

int chrome_own_lane(struct chrome *chrome, const struct chrome_event *event, const char *name,
                    struct diag *diag)
{
    struct json_slice told = event->arg[ARG_LANE], kind = json_member(told, "kind");
    struct json_slice row_of = json_member(told, "row_of"), device = json_member(told, "device");
    struct importer_lane *lane;
    char *device_text;
    uint32_t place;
    int rc;

    if (row_of.kind == JSON_NUMBER)
        return join_rows(chrome, event, row_of, diag);
    rc = chrome_lane(chrome, event, &place, diag);
    if (rc < 0)
        return rc;
    chrome->lane_states.items[place].is_told = true;
    lane = &chrome->importer.lanes.items[place];
    lane->is_device = !json_is(kind, "thread");
    lane->is_queue = json_is(kind, "queue");
    lane->native_id = count_of(json_member(told, "native_id"));
    rc = importer_set_text(&lane->name, name, diag);
    if (rc < 0 || device.kind != JSON_STRING)
        return rc;
    device_text = json_take_text(device);
    rc = device_text ? importer_set_text(&lane->device, device_text, diag) : no_memory(diag);
    free(device_text);
    return rc;
}

/* --- Runs and losses. --- */

static int add_run(struct chrome *chrome, const struct chrome_event *event, int64_t start_ns,
                   struct diag *diag)
{
    struct chrome_event of_lane = {.process = event->arg[ARG_LANE_PROCESS],
                                   .thread = event->arg[ARG_LANE_THREAD]};
    struct importer_run run = {.start_ns = start_ns, .end_ns = INT64_MAX};
    int64_t dur_ns;
    int rc;

    if (of_lane.thread.kind == JSON_NONE)
        of_lane = *event;
    if (json_decimal(event->duration, 3, &dur_ns)) {
        if (dur_ns < 0 || !is_import_time(start_ns, dur_ns)) {
            chrome->bad_count++;
            return 0;
        }
        run.end_ns = start_ns + dur_ns;
    }
    run.is_warmup = json_is(event->arg[ARG_WARMUP], "1");
    run.without_ops = json_is(event->arg[ARG_WITHOUT_OPS], "1");
    rc = chrome_lane(chrome, &of_lane, &run.lane, diag);
    return rc < 0 ? rc : importer_run(&chrome->importer, &run, diag);
}

static int add_loss(struct chrome *chrome, const struct chrome_event *event, int64_t start_ns,
                    struct diag *diag)
{
    struct importer_loss loss = {
        .lane = IMPORT_NONE,
        .lost_count =
            event->arg[ARG_LOST].kind == JSON_NULL ? STORE_NULL : count_of(event->arg[ARG_LOST]),
        .start_ns = start_ns,
        .end_ns = STORE_NULL,
    };
    bool failed = false;
    int64_t until_ns;
    int rc = 0;

    if ((loss.lost_count < 0 && loss.lost_count != STORE_NULL) ||
        event->arg[ARG_REASON].kind != JSON_STRING) {
        chrome->bad_count++;
        return 0;
    }
    if (json_decimal(event->arg[ARG_UNTIL], 3, &until_ns) && is_import_time(start_ns, until_ns))
        loss.end_ns = start_ns + until_ns;
    if (event->thread.kind != JSON_NONE)
        rc = chrome_lane(chrome, event, &loss.lane, diag);
    loss.reason = take_text(event->arg[ARG_REASON], &failed);
    if (rc == 0 && failed)
        rc = no_memory(diag);
    return rc < 0 ? rc : importer_loss(&chrome->importer, &loss, diag);
}

int chrome_add_own(struct chrome *chrome, const struct chrome_event *event, int64_t time_ns,
                   struct diag *diag)
{
    if (json_is(event->category, "optrace.run"))
        return add_run(chrome, event, time_ns, diag);
    if (json_is(event->category, "optrace.loss"))
        return add_loss(chrome, event, time_ns, diag);
    return 0; /* optrace.sum: of the memory events beside it */
}
