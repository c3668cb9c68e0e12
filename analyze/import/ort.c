/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime's profile: one X event per node and run, and around them those of the session.
 * docs/sources.md says what becomes of each field. */
#include "analyze/import/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/flop.h"
#include "analyze/import/skipped.h"
#include "analyze/import/values.h"
#include "base/dtype.h"

struct ort {
    struct importer importer;
    struct json_stream *stream;
    struct place_map lanes;
    int64_t pid;
    struct skipped skipped;
    uint64_t event_count, bad_count;
};

enum ort_kind { ORT_SESSION, ORT_NODE, ORT_FENCE, ORT_KERNEL, ORT_API };

struct ort_event {
    enum ort_kind kind;
    struct json_slice category, name, process, thread, time, duration, args;
    /* of args */
    struct json_slice type, provider, index, inputs, outputs, sizes[3], stream;
};

/* --- Fields. --- */

static int read_args(struct ort *ort, struct ort_event *event, struct json_walk *walk)
{
    const struct {
        const char *name;
        struct json_slice *field;
    } fields[] = {
        {"op_name", &event->type},
        {"provider", &event->provider},
        {"node_index", &event->index},
        {"graph_index", &event->index}, /* of older versions */
        {"graph_index", &event->index},
        {"activation_size", event->sizes},
        {"parameter_size", event->sizes + 1},
        {"output_size", event->sizes + 2},
        {"input_type_shape", &event->inputs},
        {"output_type_shape", &event->outputs},
        {"stream", &event->stream},
    };
    struct json_slice key, value;
    int rc;

    *walk = json_walk_over(event->args);
    while (event->args.kind == JSON_OBJECT && (rc = json_walk_next(walk, &key, &value)) != 0) {
        size_t i = 0;

        if (rc < 0)
            return rc;
        while (i < sizeof(fields) / sizeof(fields[0]) && !json_is(key, fields[i].name))
            i++;
        if (i < sizeof(fields) / sizeof(fields[0]))
            *fields[i].field = value;
        else
            skipped_add(&ort->skipped, key.text, key.length);
    }
    return 0;
}

static int read_event(struct ort *ort, struct ort_event *event, struct json_slice text,
                      struct json_walk *walk)
{
    const struct {
        const char *name;
        struct json_slice *field;
    } fields[] = {
        {"cat", &event->category}, {"name", &event->name}, {"pid", &event->process},
        {"tid", &event->thread},   {"ts", &event->time},   {"dur", &event->duration},
        {"args", &event->args},
    };
    struct json_slice key, value;
    int rc;

    *walk = json_walk_over(text);
    while ((rc = json_walk_next(walk, &key, &value)) == 1) {
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
            if (json_is(key, fields[i].name))
                *fields[i].field = value;
        }
    }
    return rc < 0 ? rc : read_args(ort, event, walk);
}

/* Cuts a suffix off. */
static bool cut(struct json_slice *name, const char *suffix)
{
    size_t length = strlen(suffix);

    if (name->length < length || memcmp(name->text + name->length - length, suffix, length) != 0)
        return false;
    name->length -= length;
    return true;
}

static void find_kind(struct ort_event *event)
{
    if (json_is(event->category, "Node"))
        event->kind = cut(&event->name, "_fence_before") || cut(&event->name, "_fence_after")
                          ? ORT_FENCE
                          : ORT_NODE;
    else if (json_is(event->category, "Kernel"))
        event->kind = ORT_KERNEL;
    else if (json_is(event->category, "Api"))
        event->kind = ORT_API;
    if (event->kind == ORT_NODE)
        cut(&event->name, "_kernel_time");
}

/* --- Ops. --- */

/* [{"float":[1,3]},...]: the shapes, or the types. */
static char *list_text(struct json_slice list, bool are_types)
{
    struct json_walk walk = json_walk_over(list);
    struct json_slice key, item, value;
    struct json_writer json;

    if (list.kind != JSON_ARRAY)
        return NULL;
    json_init_memory(&json);
    json_begin_array(&json);
    while (json_walk_next(&walk, &key, &item) == 1) {
        struct json_walk pair = json_walk_over(item);
        char *type;

        if (json_walk_next(&pair, &key, &value) != 1 || item.kind != JSON_OBJECT) {
            json_null(&json);
            continue;
        }
        type = are_types ? json_take_text(key) : NULL;
        if (are_types)
            json_string(&json, type ? dtype_short(type) : NULL);
        else
            import_write_shapes(&json, value);
        free(type);
    }
    json_end_array(&json);
    return import_take(&json);
}

/* What a node reads, its weights, and what it writes. */
static int64_t memory_bytes_of(const struct ort_event *event)
{
    int64_t sum = 0, bytes;

    for (size_t i = 0; i < 3; i++) {
        if (!json_whole(event->sizes[i], &bytes) || bytes < 0 ||
            __builtin_add_overflow(sum, bytes, &sum))
            return STORE_NULL;
    }
    return sum;
}

static const char *device_of(const struct ort_event *event)
{
    if (event->kind == ORT_KERNEL)
        return "cuda:0";
    return event->provider.kind == JSON_NONE                  ? NULL
           : json_is(event->provider, "CPUExecutionProvider") ? "cpu:0"
           : json_is(event->provider, "CUDAExecutionProvider") ||
                   json_is(event->provider, "TensorrtExecutionProvider")
               ? "cuda:0"
               : NULL;
}

static char *params_text(const struct ort_event *event)
{
    struct json_writer json;

    if (event->provider.kind == JSON_NONE)
        return NULL;
    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "provider");
    import_write_text(&json, event->provider);
    json_end_object(&json);
    return import_take(&json);
}

/* Older versions leave the names of nodes without one empty; newer ones make "Conv_7" of them. */
static char *name_text(const struct ort_event *event)
{
    char *name;

    if (event->name.length || !event->type.length)
        return json_take_text(event->name);
    return asprintf(&name, event->index.length ? "%.*s_%.*s" : "%.*s", (int)event->type.length,
                    event->type.text, (int)event->index.length, event->index.text) < 0
               ? NULL
               : name;
}

static int64_t flop_of(const char *type, const char *in_shapes, const char *out_shapes)
{
    if (!in_shapes || !out_shapes)
        return STORE_NULL;
    return import_flop(type, json_value(in_shapes, strlen(in_shapes)),
                       json_value(out_shapes, strlen(out_shapes)), (struct json_slice){0});
}

static int put_op(struct ort *ort, const struct ort_event *event, struct place_key identity,
                  uint32_t *out_op, struct diag *diag)
{
    static const char *const types[] = {
        [ORT_SESSION] = "label", [ORT_NODE] = "node",        [ORT_FENCE] = "phase",
        [ORT_KERNEL] = "kernel", [ORT_API] = "cuda_runtime",
    };
    bool is_node = event->kind == ORT_NODE;
    char *name = name_text(event);
    char *type = is_node && event->type.length ? json_take_text(event->type) : NULL;
    char *index = is_node && event->index.length ? json_take_text(event->index) : NULL;
    char *in_shapes = list_text(event->inputs, false), *in_types = list_text(event->inputs, true);
    char *out_shapes = list_text(event->outputs, false);
    char *out_types = list_text(event->outputs, true), *params = params_text(event);
    struct store_op row = {
        .model_id = STORE_NULL,
        .name = name,
        .type = type ? type : types[event->kind],
        .node_id = index,
        .device = device_of(event),
        .input_shapes = in_shapes,
        .input_dtypes = in_types,
        .output_shapes = out_shapes,
        .output_dtypes = out_types,
        .params = params,
        .computation_flop = is_node && type ? flop_of(type, in_shapes, out_shapes) : STORE_NULL,
        .memory_bytes = is_node ? memory_bytes_of(event) : STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };
    int rc = name ? importer_put_op(&ort->importer, identity, &row, out_op, diag)
                  : diag_set(diag, -ENOMEM, "no memory for the profile");

    free(name);
    free(type);
    free(index);
    free(in_shapes);
    free(in_types);
    free(out_shapes);
    free(out_types);
    free(params);
    return rc;
}

static int find_op(struct ort *ort, const struct ort_event *event, uint32_t *out_op,
                   struct diag *diag)
{
    const struct json_slice parts[] = {event->name,   event->type,    event->index,
                                       event->inputs, event->outputs, event->provider};
    struct place_key identity = {.low = (uint64_t)event->kind};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        place_key_add(&identity, parts[i].text, parts[i].length);
    *out_op = importer_find_op(&ort->importer, identity);
    return *out_op == PLACE_NONE ? put_op(ort, event, identity, out_op, diag) : 0;
}

/* Device kernels are on their stream, all else on its thread. */
static int find_lane(struct ort *ort, const struct ort_event *event, uint32_t *out_lane,
                     struct diag *diag)
{
    bool is_device = event->kind == ORT_KERNEL;
    struct json_slice number = is_device && event->stream.length ? event->stream : event->thread;
    struct place_key key = {.low = is_device};
    struct importer_lane lane = {
        .is_device = is_device,
        .device = is_device ? "cuda:0" : NULL,
    };
    char name[64];
    int rc;

    place_key_add(&key, number.text, number.length);
    *out_lane = place_map_find(&ort->lanes, key);
    if (*out_lane != PLACE_NONE)
        return 0;
    if (!json_whole(number, &lane.native_id))
        lane.native_id = STORE_NULL;
    snprintf(name, sizeof(name), "%s %.*s", is_device ? "stream" : "thread",
             (int)(number.length < 40 ? number.length : 40), number.text ? number.text : "");
    lane.name = name;
    rc = importer_lane(&ort->importer, &lane, out_lane, diag);
    if (rc == 0 && place_map_set(&ort->lanes, key, *out_lane) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the profile");
    return rc;
}

/* --- Events. --- */

static int add_span(struct ort *ort, const struct ort_event *event, struct diag *diag)
{
    struct import_span span = {
        .kern_ns = STORE_NULL,
        .correlation = STORE_NULL,
        .bytes = STORE_NULL,
    };
    int rc;

    if (!json_decimal(event->time, 3, &span.start_ns) ||
        !json_decimal(event->duration, 3, &span.dur_ns) ||
        !is_import_time(span.start_ns, span.dur_ns)) {
        ort->bad_count++;
        return 0;
    }
    rc = find_lane(ort, event, &span.lane, diag);
    if (rc == 0)
        rc = find_op(ort, event, &span.op, diag);
    if (rc == 0 && event->kind == ORT_SESSION && json_is(event->name, "model_run"))
        rc = importer_run(&ort->importer,
                          &(struct importer_run){span.start_ns, span.start_ns + span.dur_ns,
                                                 span.lane, false, false},
                          diag);
    return rc < 0 ? rc : importer_span(&ort->importer, &span, diag);
}

static int add_item(void *context, const struct json_item *item, struct diag *diag)
{
    struct ort *ort = context;
    struct ort_event event = {.kind = ORT_SESSION};
    struct json_walk walk;

    if (item->text[0] != '{')
        return json_stream_damage(ort->stream, item->offset, "an event is no object", diag);
    if (read_event(ort, &event, json_value(item->text, item->length), &walk) < 0)
        return json_stream_damage(ort->stream, item->offset + (uint64_t)(walk.at - item->text),
                                  walk.problem, diag);
    ort->event_count++;
    json_whole(event.process, &ort->pid); /* else it stays as it is */
    find_kind(&event);
    return add_span(ort, &event, diag);
}

static int read_json(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, const struct import_format **format,
                     struct diag *diag)
{
    struct ort ort = {.stream = stream, .pid = STORE_NULL};
    struct import_loop loop = {
        .stream = stream, .options = options, .add = add_item, .context = &ort};
    char note[2500];
    struct store_session session = {.uid = STORE_NULL, .library = "ONNX Runtime", .note = note};
    int rc = importer_begin(&ort.importer, store, "onnxruntime", diag);

    (void)format;
    ort.importer.rounding_ns = 1000;
    if (rc == 0)
        rc = import_each(&loop, diag);
    if (rc == 0) {
        snprintf(note, sizeof(note),
                 "%.400s: %" PRIu64 " events; times count from the start of profiling", name,
                 ort.event_count);
        import_note_count(note, sizeof(note), ort.bad_count, "without usable times: left out");
        skipped_note(&ort.skipped, note, sizeof(note));
        import_note_end(note, sizeof(note), &loop);
        session.damage_count = (int64_t)loop.damage_count;
        session.pid = ort.pid;
        rc = importer_finish(&ort.importer, &session, 0, diag);
    }
    importer_deinit(&ort.importer);
    place_map_deinit(&ort.lanes);
    return rc;
}

/* Its first event is that of loading the model. */
static bool detects_piece(const struct json_item *piece)
{
    struct json_slice value = json_value(piece->text, piece->length);

    return !piece->key && json_member(value, "ph").kind == JSON_STRING &&
           (json_is(json_member(value, "cat"), "Session") ||
            json_is(json_member(value, "cat"), "Node"));
}

const struct import_format import_ort_format = {.name = "ort",
                                                .about = "profiles of ONNX Runtime",
                                                .detects_piece = detects_piece,
                                                .read_json = read_json};
