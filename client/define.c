/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions: from the program's structs to frames in the log. */
#include "client/define.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/optrace.h"
#include "client/session.h"

#define OT_DTYPE(id, name, text, meaning) static_assert(OPTRACE_DTYPE_##name == id, "dtype " text);
#define OT_LANE(id, name, text, meaning)                                                           \
    static_assert(OPTRACE_LANE_##name == id, "kind of lane " text);
#include "schema/wire/records.def"

/* An encoder's refusal means that the program's values are out of range. */
static int add_op(const struct ot_wire_op *op, const struct ot_wire_shape *shapes,
                  const uint32_t *origins)
{
    struct ot_log *log = &ot_session.log;
    size_t room_bytes = sizeof(*op) + op->origin_count * sizeof(*origins) + 8;
    void *room;
    int length;

    for (uint32_t i = 0; i < (uint32_t)op->input_count + op->output_count; i++)
        room_bytes += sizeof(shapes[i].tensor) + shapes[i].tensor.rank * sizeof(int64_t);
    room = ot_log_reserve(log, room_bytes);
    if (!room)
        return -ENOMEM;
    length = ot_wire_encode_op(op, shapes, origins, room, room_bytes);
    if (length < 0)
        return length;
    ot_log_commit(log, (size_t)length);
    return 0;
}

static int check_op(const struct optrace_op_info *info)
{
    if (!info->name || !info->type || info->model > ot_session.log.model_count ||
        info->origin_count > OT_WIRE_ORIGINS_MAX || info->input_count > OT_WIRE_TENSORS_MAX ||
        info->output_count > OT_WIRE_TENSORS_MAX - info->input_count)
        return -EINVAL;
    if (ot_session.log.op_count >= OT_WIRE_OPS_MAX)
        return -ENOSPC;
    return 0;
}

static int intern_texts(const struct optrace_op_info *info, struct ot_wire_op *op)
{
    struct ot_log *log = &ot_session.log;
    const struct {
        const char *text;
        uint32_t *out;
    } texts[] = {
        {info->name, &op->name},     {info->type, &op->type},     {info->node_id, &op->node_id},
        {info->device, &op->device}, {info->params, &op->params}, {info->source, &op->source},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int rc = ot_log_string(log, texts[i].text, texts[i].out);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int intern_shapes(const struct optrace_op_info *info, struct ot_wire_shape *shapes)
{
    for (uint32_t i = 0; i < info->input_count + info->output_count; i++) {
        const struct optrace_tensor *tensor =
            i < info->input_count ? &info->inputs[i] : &info->outputs[i - info->input_count];
        int rc;

        if (tensor->rank > OT_WIRE_RANK_MAX || tensor->dtype > UINT16_MAX)
            return -EINVAL;
        shapes[i].tensor.dtype = (uint16_t)tensor->dtype;
        shapes[i].tensor.rank = (uint16_t)tensor->rank;
        shapes[i].dims = tensor->dims;
        rc = ot_log_string(&ot_session.log, tensor->name, &shapes[i].tensor.name);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A bit per op; written under the session's lock before the op's id is known to anybody. */
static uint8_t phases[OT_WIRE_OPS_MAX / 8 + 1];

static void note_phase(uint32_t op)
{
    phases[op / 8] |= (uint8_t)(1U << op % 8);
}

bool ot_define_is_phase(uint32_t op)
{
    return op < OT_WIRE_OPS_MAX &&
           __atomic_load_n(&phases[op / 8], __ATOMIC_RELAXED) & 1U << op % 8;
}

int ot_define_op(const struct optrace_op_info *info, uint32_t *out_op)
{
    struct ot_log *log = &ot_session.log;
    struct ot_wire_shape *shapes = NULL;
    uint32_t *origins = NULL;
    struct ot_wire_op op = {
        .op_id = log->op_count + 1,
        .model_id = info->model,
        .computation_flop = info->computation_flop,
        .memory_bytes = info->memory_bytes,
        .workspace_bytes = info->workspace_bytes,
    };
    int rc = check_op(info);

    if (rc == 0)
        rc = intern_texts(info, &op);
    if (rc < 0)
        return rc;
    op.input_count = (uint16_t)info->input_count;
    op.output_count = (uint16_t)info->output_count;
    op.origin_count = (uint16_t)info->origin_count;
    shapes = calloc(info->input_count + info->output_count + 1, sizeof(*shapes));
    origins = calloc(info->origin_count + 1, sizeof(*origins));
    rc = shapes && origins ? intern_shapes(info, shapes) : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < info->origin_count; i++)
        rc = ot_log_string(log, info->origins[i], &origins[i]);
    if (rc == 0)
        rc = add_op(&op, shapes, origins);
    if (rc == 0) {
        *out_op = ++log->op_count;
        if (strcmp(info->type, "phase") == 0)
            note_phase(*out_op);
    }
    free(shapes);
    free(origins);
    return rc;
}

/* Defined with a lock held: the op of a name, which may be there already. */
int ot_define_text(enum optrace_name_type type, const char *name, const char *source,
                   const char *params, uint32_t *out_op)
{
    static const char *const types[] = {"label", "phase", "copy", "counter", "mark", "memory"};
    struct ot_log *log = &ot_session.log;
    struct optrace_op_info info = OPTRACE_OP_INFO(name, NULL);
    uint32_t string_id;
    uint64_t key;
    size_t place = 0;
    int rc;

    if (!name || (unsigned)type >= sizeof(types) / sizeof(types[0]))
        return -EINVAL;
    info.type = types[type];
    info.source = source;
    info.params = params;
    rc = ot_log_string(log, name, &string_id);
    if (rc < 0)
        return rc;
    if (source)
        return ot_define_op(&info, out_op);
    key = (uint64_t)type << 32 | string_id;
    *out_op = ot_table_next(&log->names, key, &place);
    if (*out_op)
        return 0;
    rc = ot_table_reserve(&log->names);
    if (rc == 0)
        rc = ot_define_op(&info, out_op);
    if (rc == 0)
        ot_table_add(&log->names, key, *out_op);
    return rc;
}

int ot_define_name(enum optrace_name_type type, const char *name, uint32_t *out_op)
{
    return ot_define_text(type, name, NULL, NULL, out_op);
}

int ot_define_model(const struct optrace_model_info *info, uint32_t *out_model)
{
    struct ot_log *log = &ot_session.log;
    struct ot_wire_model frame = {
        .header = ot_wire_header(OT_FRAME_MODEL, sizeof(frame)),
        .model_id = log->model_count + 1,
        .parameter_bytes = info->parameter_bytes < 0 ? UINT64_MAX : (uint64_t)info->parameter_bytes,
    };
    const struct {
        const char *text;
        uint32_t *out;
    } texts[] = {
        {info->name, &frame.name},     {info->path, &frame.path},
        {info->format, &frame.format}, {info->producer, &frame.producer},
        {info->digest, &frame.digest},
    };
    int rc = 0;

    if (!info->name)
        return -EINVAL;
    if (log->model_count >= OT_WIRE_MODELS_MAX)
        return -ENOSPC;
    for (size_t i = 0; rc == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        rc = ot_log_string(log, texts[i].text, texts[i].out);
    if (rc == 0)
        rc = ot_log_add(log, &frame, sizeof(frame));
    if (rc == 0)
        *out_model = ++log->model_count;
    return rc;
}

int ot_define_lane(const struct optrace_lane_info *info, uint32_t *out_lane)
{
    struct ot_log *log = &ot_session.log;
    struct ot_wire_lane frame = {
        .header = ot_wire_header(OT_FRAME_LANE, sizeof(frame)),
        .lane_id = log->lane_count + 1,
        .kind = info->kind,
        .native_id = info->native_id,
    };
    int rc;

    if (log->lane_count >= OT_WIRE_LANES_MAX)
        return -ENOSPC;
    rc = ot_log_string(log, info->name, &frame.name);
    if (rc == 0)
        rc = ot_log_string(log, info->device, &frame.device);
    if (rc == 0)
        rc = ot_log_add(log, &frame, sizeof(frame));
    if (rc == 0)
        *out_lane = ++log->lane_count;
    return rc;
}
