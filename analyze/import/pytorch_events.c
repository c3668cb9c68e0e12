/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's function events: ops with shapes, stacks, FLOPs and their own change of memory.
 * docs/sources.md says what becomes of each field. */
#include "analyze/import/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/skipped.h"
#include "analyze/import/values.h"

enum { SCOPE_USER = 7 }; /* record_function() */

struct pytorch {
    struct importer importer;
    struct json_stream *stream;
    struct place_map lanes;
    struct skipped skipped;
    uint64_t event_count, bad_count;
};

struct pytorch_event {
    struct json_slice name, thread, start, end, scope, shapes, stack, flops, memory;
};

static int read_event(struct pytorch *pytorch, struct pytorch_event *event, struct json_slice text,
                      struct json_walk *walk)
{
    const struct {
        const char *name;
        struct json_slice *field;
    } fields[] = {
        {"name", &event->name},
        {"thread", &event->thread},
        {"start_us", &event->start},
        {"end_us", &event->end},
        {"scope", &event->scope},
        {"input_shapes", &event->shapes},
        {"stack", &event->stack},
        {"flops", &event->flops},
        {"self_cpu_memory_usage", &event->memory},
    };
    struct json_slice key, value;
    int rc;

    *walk = json_walk_over(text);
    while ((rc = json_walk_next(walk, &key, &value)) == 1) {
        size_t i = 0;

        while (i < sizeof(fields) / sizeof(fields[0]) && !json_is(key, fields[i].name))
            i++;
        if (i < sizeof(fields) / sizeof(fields[0]))
            *fields[i].field = value;
        else
            skipped_add(&pytorch->skipped, key.text, key.length);
    }
    return rc;
}

/* --- Ops. --- */

/* The frames, the nearest first, parted by ';' as Kineto writes them; NULL without. */
static char *stack_text(struct json_slice stack)
{
    struct json_walk walk = json_walk_over(stack);
    struct json_slice key, frame;
    char *text = NULL;
    size_t size;
    FILE *out;
    bool is_first = true;

    if (stack.kind != JSON_ARRAY || !(out = open_memstream(&text, &size)))
        return NULL;
    while (json_walk_next(&walk, &key, &frame) == 1) {
        char *one = json_take_text(frame);

        fprintf(out, "%s%s", is_first ? "" : ";", one ? one : "");
        is_first = false;
        free(one);
    }
    fclose(out);
    if (is_first) {
        free(text);
        text = NULL;
    }
    return text;
}

static char *params_text(const char *stack)
{
    struct json_writer json;

    if (!stack)
        return NULL;
    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "stack");
    json_string(&json, stack);
    json_end_object(&json);
    return import_take(&json);
}

static int put_op(struct pytorch *pytorch, const struct pytorch_event *event, bool is_label,
                  struct place_key identity, uint32_t *out_op, struct diag *diag)
{
    char *name = json_take_text(event->name), *shapes = import_shapes_text(event->shapes);
    char *stack = stack_text(event->stack), *params = params_text(stack);
    struct store_op row = {
        .model_id = STORE_NULL,
        .name = name,
        .type = is_label ? "label" : "cpu_op",
        .input_shapes = shapes,
        .params = params,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
        .source = stack,
    };
    int rc;

    if (!json_whole(event->flops, &row.computation_flop) || row.computation_flop <= 0)
        row.computation_flop = STORE_NULL; /* 0 stands for "not known" */
    if (stack) {
        stack[strcspn(stack, ";")] = '\0';
        import_place_of_frame(stack);
    }
    rc = name ? importer_put_op(&pytorch->importer, identity, &row, out_op, diag)
              : diag_set(diag, -ENOMEM, "no memory for the events");
    free(name);
    free(shapes);
    free(stack);
    free(params);
    return rc;
}

static int find_op(struct pytorch *pytorch, const struct pytorch_event *event, uint32_t *out_op,
                   struct diag *diag)
{
    const struct json_slice parts[] = {event->name, event->shapes, event->stack, event->flops};
    struct place_key identity = {0};
    int64_t scope;
    bool is_label = json_whole(event->scope, &scope) && scope == SCOPE_USER;

    identity.low = is_label;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        place_key_add(&identity, parts[i].text, parts[i].length);
    *out_op = importer_find_op(&pytorch->importer, identity);
    return *out_op == PLACE_NONE ? put_op(pytorch, event, is_label, identity, out_op, diag) : 0;
}

static int find_lane(struct pytorch *pytorch, const struct pytorch_event *event, uint32_t *out_lane,
                     struct diag *diag)
{
    struct importer_lane lane = {.native_id = STORE_NULL};
    struct place_key key = {0};
    char name[64];
    int rc;

    place_key_add(&key, event->thread.text, event->thread.length);
    *out_lane = place_map_find(&pytorch->lanes, key);
    if (*out_lane != PLACE_NONE)
        return 0;
    if (!json_whole(event->thread, &lane.native_id))
        lane.native_id = STORE_NULL;
    snprintf(name, sizeof(name), "thread %.*s",
             (int)(event->thread.length < 40 ? event->thread.length : 40),
             event->thread.text ? event->thread.text : "");
    lane.name = name;
    rc = importer_lane(&pytorch->importer, &lane, out_lane, diag);
    if (rc == 0 && place_map_set(&pytorch->lanes, key, *out_lane) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the events");
    return rc;
}

/* --- Events. --- */

/* The op's own allocations less what it freed: PyTorch keeps no more than the sum. */
static int add_memory(struct pytorch *pytorch, const struct pytorch_event *event,
                      const struct import_span *span, struct diag *diag)
{
    struct import_memory memory = {
        .lane = span->lane,
        .device = span->lane,
        .op = span->op,
        .time_ns = span->start_ns + span->dur_ns,
        .address = STORE_NULL,
    };

    if (!json_whole(event->memory, &memory.bytes) || memory.bytes == 0)
        return 0;
    return importer_memory(&pytorch->importer, &memory, diag);
}

static int add_item(void *context, const struct json_item *item, struct diag *diag)
{
    struct pytorch *pytorch = context;
    struct pytorch_event event = {0};
    struct import_span span = {
        .kern_ns = STORE_NULL,
        .correlation = STORE_NULL,
        .bytes = STORE_NULL,
    };
    struct json_walk walk;
    int64_t end_ns;
    int rc;

    if (item->text[0] != '{')
        return json_stream_damage(pytorch->stream, item->offset, "an event is no object", diag);
    if (read_event(pytorch, &event, json_value(item->text, item->length), &walk) < 0)
        return json_stream_damage(pytorch->stream, item->offset + (uint64_t)(walk.at - item->text),
                                  walk.problem, diag);
    pytorch->event_count++;
    if (!json_decimal(event.start, 3, &span.start_ns) || !json_decimal(event.end, 3, &end_ns) ||
        !is_import_time(span.start_ns, 0) || !is_import_time(end_ns, 0) || end_ns < span.start_ns ||
        end_ns - span.start_ns > IMPORT_TIME_MAX) {
        pytorch->bad_count++;
        return 0;
    }
    span.dur_ns = end_ns - span.start_ns;
    rc = find_lane(pytorch, &event, &span.lane, diag);
    if (rc == 0)
        rc = find_op(pytorch, &event, &span.op, diag);
    if (rc == 0)
        rc = importer_span(&pytorch->importer, &span, diag);
    return rc < 0 ? rc : add_memory(pytorch, &event, &span, diag);
}

static int read_json(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, const struct import_format **format,
                     struct diag *diag)
{
    struct pytorch pytorch = {.stream = stream};
    struct import_loop loop = {
        .stream = stream, .options = options, .add = add_item, .context = &pytorch};
    char note[2500];
    struct store_session session = {
        .pid = STORE_NULL, .uid = STORE_NULL, .library = "PyTorch", .note = note};
    int rc = importer_begin(&pytorch.importer, store, "pytorch events", diag);

    (void)format;
    if (rc == 0)
        rc = import_each(&loop, diag);
    if (rc == 0) {
        snprintf(note, sizeof(note), "%.400s: %" PRIu64 " function events", name,
                 pytorch.event_count);
        import_note_count(note, sizeof(note), pytorch.bad_count, "without usable times: left out");
        skipped_note(&pytorch.skipped, note, sizeof(note));
        import_note_end(note, sizeof(note), &loop);
        session.damage_count = (int64_t)loop.damage_count;
        rc = importer_finish(&pytorch.importer, &session, 0, diag);
    }
    importer_deinit(&pytorch.importer);
    place_map_deinit(&pytorch.lanes);
    return rc;
}

static bool detects_piece(const struct json_item *piece)
{
    struct json_slice value = json_value(piece->text, piece->length);

    return !piece->key && json_member(value, "start_us").kind == JSON_NUMBER &&
           json_member(value, "end_us").kind == JSON_NUMBER;
}

const struct import_format import_pytorch_events_format = {
    .name = "pytorch",
    .about = "dumps of PyTorch's function events",
    .detects_piece = detects_piece,
    .read_json = read_json,
};
