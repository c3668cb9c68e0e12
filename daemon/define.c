/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions to rows: texts by their numbers, shapes and origins as JSON. */
#include "daemon/define.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "daemon/share.h"

/* What is longer is stored once, however many ops have it, and else with the op: most texts are
 * short, and it takes a while to look one up. */
enum { TEXT_LONG = 64, ORIGIN_LONG = 1024 };

static const char *text_table_get(const struct text_table *table, uint32_t id)
{
    return id < table->count ? table->texts[id].text : NULL;
}

int define_string(struct session *session, const struct ot_wire_string_view *string,
                  struct diag *diag)
{
    struct text_table *table = &session->texts;
    uint32_t id = string->fixed.string_id;
    const char *known = text_table_get(table, id);
    int rc;

    if (known) {
        if (table->texts[id].length == string->text.length &&
            memcmp(known, string->text.bytes, string->text.length) == 0)
            return 0;
        return diag_set(diag, -EPROTO, "STRING: %u is defined already, as another text", id);
    }
    rc = session_reserve_text(session, id, string->text.length, diag);
    if (rc < 0)
        return rc;
    table->texts[id] = (struct known_text){
        .text = arena_text(&table->arena, string->text.bytes, string->text.length),
        .length = (uint32_t)string->text.length,
    };
    return 0;
}

/* One text of a definition: which id, where its text goes. */
struct text_use {
    const char *what;
    uint32_t string_id;
    const char **out_text;
};

/* Looks all of them up; NULL for id 0. */
static int look_up_texts(const struct session *session, const char *frame,
                         const struct text_use *uses, size_t count, struct diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        *uses[i].out_text = text_table_get(&session->texts, uses[i].string_id);
        if (uses[i].string_id != 0 && !*uses[i].out_text)
            return diag_set(diag, -EPROTO, "%s: its %s is string %u, which is not defined", frame,
                            uses[i].what, uses[i].string_id);
    }
    return 0;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int define_model(struct session *session, const struct ot_wire_model *model, struct store_ids *ids,
                 struct batch *batch, struct diag *diag)
{
    struct store_model row = {
        .session_id = session->session_id,
        .client_model = model->model_id,
        .parameter_bytes =
            model->parameter_bytes <= INT64_MAX ? (int64_t)model->parameter_bytes : STORE_NULL,
    };
    const struct text_use uses[] = {
        {"name", model->name, &row.name},       {"path", model->path, &row.path},
        {"format", model->format, &row.format}, {"producer", model->producer, &row.producer},
        {"digest", model->digest, &row.digest},
    };
    int64_t bytes;
    int rc = look_up_texts(session, "MODEL", uses, COUNT(uses), diag);

    if (rc < 0 || id_table_get(&session->models, model->model_id) != 0)
        return rc;
    rc = session_reserve_id(session, &session->models, model->model_id, diag);
    if (rc < 0)
        return rc;
    bytes = SHARE_ROW_BYTES + share_of_text(row.name) + share_of_text(row.path) +
            share_of_text(row.format) + share_of_text(row.producer) + share_of_text(row.digest);
    if (share_take(session, bytes))
        batch->defined_bytes += (size_t)bytes;
    else
        row.name = row.path = row.format = row.producer = row.digest = NULL;
    row.model_id = ++ids->model_id;
    id_table_set(&session->models, model->model_id, row.model_id);
    batch_push(&batch->models, row);
    session->is_touched = true;
    return 0;
}

int define_lane(struct session *session, const struct ot_wire_lane *lane, struct store_ids *ids,
                struct batch *batch, struct diag *diag)
{
    struct store_lane row = {
        .session_id = session->session_id,
        .client_lane = lane->lane_id,
        .kind = ot_wire_lane_kind_name(lane->kind),
        /* Threads that follow one another have no number in common. */
        .native_id = lane->kind == OT_LANE_THREAD && lane->native_id == 0
                         ? STORE_NULL
                         : (int64_t)lane->native_id,
    };
    const struct text_use uses[] = {
        {"name", lane->name, &row.name},
        {"device", lane->device, &row.device},
    };
    int64_t bytes;
    int rc = look_up_texts(session, "LANE", uses, COUNT(uses), diag);

    if (rc < 0 || id_table_get(&session->lanes, lane->lane_id) != 0)
        return rc;
    rc = session_reserve_id(session, &session->lanes, lane->lane_id, diag);
    if (rc < 0)
        return rc;
    bytes = SHARE_ROW_BYTES + share_of_text(row.name) + share_of_text(row.device);
    if (share_take(session, bytes))
        batch->defined_bytes += (size_t)bytes;
    else
        row.name = row.device = NULL;
    row.lane_id = ++ids->lane_id;
    id_table_set(&session->lanes, lane->lane_id, row.lane_id);
    batch_push(&batch->lanes, row);
    session->is_touched = true;
    return 0;
}

/* --- Ops --- */

static int refuse_size(struct diag *diag)
{
    return diag_set(diag, -EPROTO, "OP: its texts together have more than %d bytes",
                    OT_WIRE_FRAME_BYTES_MAX);
}

/* What was written, as a text in the batch; -EPROTO when it is too much for one column. */
static int take_json(struct json_writer *json, struct batch *batch, const char **out_text,
                     struct diag *diag)
{
    int rc = 0;

    memory_must(json->error);
    if (json->size > OT_WIRE_FRAME_BYTES_MAX)
        rc = refuse_size(diag);
    else
        *out_text = arena_text(&batch->texts, json->bytes, json->size);
    json_deinit(json);
    return rc;
}

/* Takes `count` tensors: [[1,3,224,224],...] and ["f32",...]. */
static int put_tensors(struct ot_wire_tensor_iter *tensors, uint16_t count, struct batch *batch,
                       const char **out_shapes, const char **out_dtypes, struct diag *diag)
{
    int64_t dims[OT_WIRE_RANK_MAX];
    struct json_writer shapes, dtypes;
    struct ot_wire_tensor tensor;
    int rc;

    json_init_memory(&shapes);
    json_init_memory(&dtypes);
    json_begin_array(&shapes);
    json_begin_array(&dtypes);
    for (uint16_t i = 0; i < count && ot_wire_next_tensor(tensors, &tensor, dims); i++) {
        json_begin_array(&shapes);
        for (uint16_t k = 0; k < tensor.rank; k++)
            if (dims[k] < 0)
                json_null(&shapes);
            else
                json_int(&shapes, dims[k]);
        json_end_array(&shapes);
        if (tensor.dtype == OT_DTYPE_UNKNOWN)
            json_null(&dtypes);
        else
            json_string(&dtypes, ot_wire_dtype_name(tensor.dtype));
    }
    json_end_array(&shapes);
    json_end_array(&dtypes);
    rc = take_json(&shapes, batch, out_shapes, diag);
    if (rc < 0) {
        json_deinit(&dtypes);
        return rc;
    }
    return take_json(&dtypes, batch, out_dtypes, diag);
}

static uint32_t put_text(struct session *session, const char *value, struct batch *batch)
{
    uint32_t number = ++session->texts.stored_count;

    batch_push(
        &batch->long_texts,
        (struct store_text){.session_id = session->session_id, .text_id = number, .value = value});
    return number;
}

/* The number under which the store has a text as JSON, from now on if not before. SQL cannot quote
 * it in a view: its functions for JSON are not for views of files that may come from anywhere. */
static uint32_t number_of_json(struct session *session, uint32_t id, struct batch *batch)
{
    struct known_text *known = &session->texts.texts[id];
    struct json_writer json;

    if (known->json_id)
        return known->json_id;
    json_init_memory(&json);
    json_string(&json, known->text);
    memory_must(json.error);
    known->json_id = put_text(session, arena_text(&batch->texts, json.bytes, json.size), batch);
    json_deinit(&json);
    return known->json_id;
}

/* How long all names together are. */
static int measure_origins(const struct session *session, const struct ot_wire_op_view *op,
                           size_t *out_bytes, struct diag *diag)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < op->fixed.origin_count; i++) {
        uint32_t id = ot_wire_origin(op, i);

        if (!text_table_get(&session->texts, id))
            return diag_set(diag, -EPROTO, "OP: its origin is string %u, which is not defined", id);
        bytes += session->texts.texts[id].length;
    }
    *out_bytes = bytes;
    return bytes <= OT_WIRE_FRAME_BYTES_MAX ? 0 : refuse_size(diag);
}

/* The names, or their numbers where they are long. */
static int put_origins(struct session *session, const struct ot_wire_op_view *op,
                       struct batch *batch, struct store_op *row, struct diag *diag)
{
    struct json_writer json;
    size_t bytes = 0;
    int rc;

    if (op->fixed.origin_count == 0)
        return 0;
    rc = measure_origins(session, op, &bytes, diag);
    if (rc < 0)
        return rc;
    json_init_memory(&json);
    json_begin_array(&json);
    for (uint32_t i = 0; i < op->fixed.origin_count; i++) {
        uint32_t id = ot_wire_origin(op, i);

        if (bytes > ORIGIN_LONG)
            json_int(&json, number_of_json(session, id, batch));
        else
            json_string(&json, text_table_get(&session->texts, id));
    }
    json_end_array(&json);
    return take_json(&json, batch, bytes > ORIGIN_LONG ? &row->origin_texts : &row->origin, diag);
}

static int64_t or_null(int64_t value)
{
    return value >= 0 ? value : STORE_NULL;
}

/* The parts of an op's row that vary in length. */
static int put_op_lists(struct session *session, const struct ot_wire_op_view *op,
                        struct batch *batch, struct store_op *row, struct diag *diag)
{
    struct ot_wire_tensor_iter tensors = op->tensors;
    int rc = 0;

    if (op->fixed.input_count > 0)
        rc = put_tensors(&tensors, op->fixed.input_count, batch, &row->input_shapes,
                         &row->input_dtypes, diag);
    if (rc == 0 && op->fixed.output_count > 0)
        rc = put_tensors(&tensors, op->fixed.output_count, batch, &row->output_shapes,
                         &row->output_dtypes, diag);
    return rc < 0 ? rc : put_origins(session, op, batch, row, diag);
}

/* The number under which the store has a text, from now on if not before; 0: it is short. */
static int64_t number_if_long(struct session *session, uint32_t id, struct batch *batch)
{
    struct known_text *known = &session->texts.texts[id];

    if (id == 0 || known->length <= TEXT_LONG)
        return 0;
    if (!known->store_id)
        known->store_id = put_text(session, known->text, batch);
    return known->store_id;
}

static void put_long_texts(struct session *session, const struct ot_wire_op *op,
                           struct batch *batch, struct store_op *row)
{
    row->text_ids.name = number_if_long(session, op->name, batch);
    row->text_ids.type = number_if_long(session, op->type, batch);
    row->text_ids.node_id = number_if_long(session, op->node_id, batch);
    row->text_ids.device = number_if_long(session, op->device, batch);
    row->text_ids.params = number_if_long(session, op->params, batch);
    row->text_ids.source = number_if_long(session, op->source, batch);
}

/* What the store takes for an op and the texts that it brings, those from `first_text` on. */
static int64_t bytes_of(const struct store_op *row, const struct batch *batch, size_t first_text)
{
    int64_t bytes = SHARE_OP_BYTES + share_of_text(row->input_shapes) +
                    share_of_text(row->input_dtypes) + share_of_text(row->output_shapes) +
                    share_of_text(row->output_dtypes) + share_of_text(row->origin) +
                    share_of_text(row->origin_texts);

    bytes += row->text_ids.name ? 0 : share_of_text(row->name);
    bytes += row->text_ids.type ? 0 : share_of_text(row->type);
    bytes += row->text_ids.node_id ? 0 : share_of_text(row->node_id);
    bytes += row->text_ids.device ? 0 : share_of_text(row->device);
    bytes += row->text_ids.params ? 0 : share_of_text(row->params);
    bytes += row->text_ids.source ? 0 : share_of_text(row->source);
    for (size_t i = first_text; i < batch->long_texts.count; i++)
        bytes += SHARE_TEXT_BYTES + share_of_text(batch->long_texts.items[i].value);
    return bytes;
}

/* Takes back the texts behind the first `count` of the batch: the op that has them is not stored.
 */
static void drop_long_texts(struct session *session, const struct ot_wire_op_view *op,
                            struct batch *batch, size_t count)
{
    const uint32_t ids[] = {op->fixed.name,   op->fixed.type,   op->fixed.node_id,
                            op->fixed.device, op->fixed.params, op->fixed.source};
    const uint32_t stored =
        session->texts.stored_count - (uint32_t)(batch->long_texts.count - count);

    for (size_t i = 0; i < COUNT(ids) + op->fixed.origin_count; i++) {
        uint32_t id = i < COUNT(ids) ? ids[i] : ot_wire_origin(op, (uint32_t)(i - COUNT(ids)));

        if (id != 0 && session->texts.texts[id].store_id > stored)
            session->texts.texts[id].store_id = 0;
        if (id != 0 && session->texts.texts[id].json_id > stored)
            session->texts.texts[id].json_id = 0;
    }
    session->texts.stored_count = stored;
    batch->long_texts.count = count;
}

/* Returns false when the session has had its share: then nothing is taken. */
static bool take_share(struct session *session, const struct ot_wire_op_view *op,
                       struct batch *batch, struct store_op *row, size_t text_count)
{
    int64_t bytes;

    put_long_texts(session, &op->fixed, batch, row);
    bytes = bytes_of(row, batch, text_count);
    if (!share_take(session, bytes)) {
        drop_long_texts(session, op, batch, text_count);
        return false;
    }
    batch->defined_bytes += (size_t)bytes;
    return true;
}

int define_op(struct session *session, const struct ot_wire_op_view *op, struct store_ids *ids,
              struct batch *batch, struct diag *diag)
{
    const struct ot_wire_op *fixed = &op->fixed;
    struct store_op row = {
        .session_id = session->session_id,
        .client_op = fixed->op_id,
        .model_id = fixed->model_id ? id_table_get(&session->models, fixed->model_id) : STORE_NULL,
        .computation_flop = or_null(fixed->computation_flop),
        .memory_bytes = or_null(fixed->memory_bytes),
        .workspace_bytes = or_null(fixed->workspace_bytes),
    };
    const struct text_use uses[] = {
        {"name", fixed->name, &row.name},          {"type", fixed->type, &row.type},
        {"node id", fixed->node_id, &row.node_id}, {"device", fixed->device, &row.device},
        {"params", fixed->params, &row.params},    {"source", fixed->source, &row.source},
    };
    const size_t text_count = batch->long_texts.count;
    int rc = look_up_texts(session, "OP", uses, COUNT(uses), diag);

    if (rc == 0 && (!row.name || !row.type))
        rc = diag_set(diag, -EPROTO, "OP: it has no %s", row.name ? "type" : "name");
    if (rc == 0 && row.model_id == 0)
        rc = diag_set(diag, -EPROTO, "OP: model %u is not defined", fixed->model_id);
    if (rc == 0 && id_table_get(&session->ops, fixed->op_id) != 0)
        return 0;
    if (rc == 0)
        rc = session_reserve_id(session, &session->ops, fixed->op_id, diag);
    if (rc == 0)
        rc = put_op_lists(session, op, batch, &row, diag);
    if (rc < 0)
        return rc;
    if (!take_share(session, op, batch, &row, text_count)) {
        id_table_set(&session->ops, fixed->op_id, SHARE_OP_REFUSED);
        return 0;
    }
    row.op_id = ++ids->op_id;
    id_table_set(&session->ops, fixed->op_id, row.op_id);
    batch_push(&batch->ops, row);
    session->is_touched = true;
    return 0;
}

/* --- Frames --- */

static int take_string(struct session *session, const void *frame, size_t length, struct diag *diag)
{
    struct ot_wire_string_view string;
    int rc = ot_wire_decode_string(frame, length, &string, diag);

    return rc < 0 ? rc : define_string(session, &string, diag);
}

static int take_model(struct session *session, const void *frame, size_t length,
                      struct store_ids *ids, struct batch *batch, struct diag *diag)
{
    struct ot_wire_model model;
    int rc = ot_wire_decode_model(frame, length, &model, diag);

    return rc < 0 ? rc : define_model(session, &model, ids, batch, diag);
}

static int take_op(struct session *session, const void *frame, size_t length, struct store_ids *ids,
                   struct batch *batch, struct diag *diag)
{
    struct ot_wire_op_view op;
    int rc = ot_wire_decode_op(frame, length, &op, diag);

    return rc < 0 ? rc : define_op(session, &op, ids, batch, diag);
}

static int take_lane(struct session *session, const void *frame, size_t length,
                     struct store_ids *ids, struct batch *batch, struct diag *diag)
{
    struct ot_wire_lane lane;
    int rc = ot_wire_decode_lane(frame, length, &lane, diag);

    return rc < 0 ? rc : define_lane(session, &lane, ids, batch, diag);
}

int define_take_frame(struct session *session, const void *frame, size_t length,
                      struct store_ids *ids, struct batch *batch, struct diag *diag)
{
    struct ot_wire_header header;

    memcpy(&header, frame, sizeof(header));
    if (header.type == OT_FRAME_STRING)
        return take_string(session, frame, length, diag);
    if (header.type == OT_FRAME_MODEL)
        return take_model(session, frame, length, ids, batch, diag);
    if (header.type == OT_FRAME_OP)
        return take_op(session, frame, length, ids, batch, diag);
    return take_lane(session, frame, length, ids, batch, diag);
}
