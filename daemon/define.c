/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions to rows: texts by their numbers, shapes and origins as JSON. */
#include "daemon/define.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "daemon/share.h"

static const char *text_table_get(const struct text_table *table, uint32_t id)
{
    return id < table->count ? table->texts[id] : NULL;
}

int define_string(struct session *session, const struct ot_wire_string_view *string,
                  struct diag *diag)
{
    struct text_table *table = &session->texts;
    uint32_t id = string->fixed.string_id;
    const char *known = text_table_get(table, id);
    int rc;

    if (known) {
        if (strlen(known) == string->text.length &&
            memcmp(known, string->text.bytes, string->text.length) == 0)
            return 0;
        return diag_set(diag, -EPROTO, "STRING: %u is defined already, as another text", id);
    }
    rc = session_reserve_text(session, id, string->text.length, diag);
    if (rc < 0)
        return rc;
    table->texts[id] = arena_text(&table->arena, string->text.bytes, string->text.length);
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

/* What was written, as a text in the batch; -EPROTO when it is too much for one column. */
static int take_json(struct json_writer *json, struct batch *batch, const char **out_text,
                     struct diag *diag)
{
    int rc = 0;

    memory_must(json->error);
    if (json->size > OT_WIRE_FRAME_BYTES_MAX)
        rc = diag_set(diag, -EPROTO, "OP: its texts together have more than %d bytes",
                      OT_WIRE_FRAME_BYTES_MAX);
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

static int put_origins(const struct session *session, const struct ot_wire_op_view *op,
                       struct batch *batch, const char **out_origin, struct diag *diag)
{
    struct json_writer json;

    if (op->fixed.origin_count == 0)
        return 0;
    json_init_memory(&json);
    json_begin_array(&json);
    for (uint32_t i = 0; i < op->fixed.origin_count && json.size <= OT_WIRE_FRAME_BYTES_MAX; i++) {
        const char *text = text_table_get(&session->texts, ot_wire_origin(op, i));

        if (!text) {
            json_deinit(&json);
            return diag_set(diag, -EPROTO, "OP: its origin is string %u, which is not defined",
                            ot_wire_origin(op, i));
        }
        json_string(&json, text);
    }
    json_end_array(&json);
    return take_json(&json, batch, out_origin, diag);
}

static int64_t or_null(int64_t value)
{
    return value >= 0 ? value : STORE_NULL;
}

/* The parts of an op's row that vary in length. */
static int put_op_lists(const struct session *session, const struct ot_wire_op_view *op,
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
    return rc < 0 ? rc : put_origins(session, op, batch, &row->origin, diag);
}

static int64_t bytes_of(const struct store_op *row)
{
    return SHARE_OP_BYTES + share_of_text(row->name) + share_of_text(row->type) +
           share_of_text(row->node_id) + share_of_text(row->device) +
           share_of_text(row->input_shapes) + share_of_text(row->input_dtypes) +
           share_of_text(row->output_shapes) + share_of_text(row->output_dtypes) +
           share_of_text(row->params) + share_of_text(row->source) + share_of_text(row->origin);
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
    if (!share_take(session, bytes_of(&row))) {
        id_table_set(&session->ops, fixed->op_id, SHARE_OP_REFUSED);
        return 0;
    }
    batch->defined_bytes += (size_t)bytes_of(&row);
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
