/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of optrace.h that define something: from the program's structs to frames in the log. */
#include "client/define.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/connect.h"
#include "client/counted.h"
#include "client/optrace.h"
#include "client/session.h"
#include "client/stack.h"

#define OT_DTYPE(id, name, text, meaning) static_assert(OPTRACE_DTYPE_##name == id, "dtype " text);
#define OT_LANE(id, name, text, meaning)                                                           \
    static_assert(OPTRACE_LANE_##name == id, "kind of lane " text);
#include "schema/wire/records.def"

/* While nothing is recorded, definitions are the moments to look for a daemon. */
static bool enter(void)
{
    if (optrace_level() == OPTRACE_OFF)
        ot_session_poll();
    return ot_enter();
}

/* After a definition: to the daemon with it, before a record can refer to it. */
static void defined(void)
{
    if (ot_session.phase == OT_PHASE_OPEN)
        ot_connect_push_waiting();
}

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

static int define_op(const struct optrace_op_info *info, uint32_t *out_op)
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
            ot_counted_skip(*out_op);
    }
    free(shapes);
    free(origins);
    return rc;
}

int optrace_op_define(const struct optrace_op_info *info, uint32_t *out_op)
{
    struct optrace_op_info placed = *info;
    char *params = ot_stack_params(info->params, __builtin_return_address(0), ot_stack_frames());
    int rc = -EDEADLK;

    if (params)
        placed.params = params;
    if (enter()) {
        rc = define_op(&placed, out_op);
        defined();
        ot_leave();
    }
    free(params);
    return rc;
}

/* Defined with a lock held: the op of a name, which may be there already. */
static int define_name(enum optrace_name_type type, const char *name, const char *source,
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
        return define_op(&info, out_op);
    key = (uint64_t)type << 32 | string_id;
    *out_op = ot_table_next(&log->names, key, &place);
    if (*out_op)
        return 0;
    rc = ot_table_reserve(&log->names);
    if (rc == 0)
        rc = define_op(&info, out_op);
    if (rc == 0)
        ot_table_add(&log->names, key, *out_op);
    return rc;
}

int ot_define_name(enum optrace_name_type type, const char *name, uint32_t *out_op)
{
    return define_name(type, name, NULL, NULL, out_op);
}

/* Labels have a place in the program; of the other names many places share one. */
static char *stack_of(enum optrace_name_type type, const void *caller)
{
    return type == OPTRACE_LABEL ? ot_stack_params(NULL, caller, ot_stack_frames()) : NULL;
}

uint32_t optrace_name(enum optrace_name_type type, const char *name)
{
    char *params = stack_of(type, __builtin_return_address(0));
    uint32_t op = 0;

    if (enter()) {
        if (define_name(type, name, NULL, params, &op) < 0)
            op = 0;
        defined();
        ot_leave();
    }
    free(params);
    return op;
}

uint32_t optrace_site_define(struct optrace_site *site)
{
    char *params = stack_of(site->type, __builtin_return_address(0));
    uint32_t op = 0;

    if (ot_enter()) {
        op = __atomic_load_n(&site->op, __ATOMIC_RELAXED); /* another thread may have been here */
        if (op == 0 && define_name(site->type, site->name, site->source, params, &op) == 0) {
            defined();
            __atomic_store_n(&site->op, op, __ATOMIC_RELAXED);
        }
        ot_leave();
    }
    free(params);
    return op;
}

static int define_model(const struct optrace_model_info *info, uint32_t *out_model)
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

int optrace_model_define(const struct optrace_model_info *info, uint32_t *out_model)
{
    int rc;

    if (!enter())
        return -EDEADLK;
    rc = define_model(info, out_model);
    defined();
    ot_leave();
    return rc;
}

static int define_lane(const struct optrace_lane_info *info, uint32_t *out_lane)
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

int optrace_lane_define(const struct optrace_lane_info *info, uint32_t *out_lane)
{
    int rc = -EINVAL;

    if (!enter())
        return -EDEADLK;
    if (info->name && (info->kind == OT_LANE_STREAM || info->kind == OT_LANE_QUEUE))
        rc = define_lane(info, out_lane);
    defined();
    ot_leave();
    return rc;
}

uint32_t optrace_thread_lane(void)
{
    struct ot_thread *thread;
    uint32_t lane;

    if (ot_hot.thread && ot_hot.thread->lane_id)
        return ot_hot.thread->lane_id;
    if (!ot_enter())
        return 0;
    lane = ot_thread_make(&thread) == 0 && ot_thread_take_lane(thread, NULL) == 0 ? thread->lane_id
                                                                                  : 0;
    defined();
    ot_leave();
    return lane;
}

int optrace_thread_name(const char *name)
{
    struct ot_thread *thread;
    int rc;

    if (!name)
        return -EINVAL;
    if (ot_hot.thread && ot_hot.thread->lane_id)
        return -EALREADY;
    if (!ot_enter())
        return -EDEADLK;
    rc = ot_thread_make(&thread);
    if (rc == 0)
        rc = ot_thread_take_lane(thread, name);
    defined();
    ot_leave();
    return rc;
}
