/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a MegEngine profile into rows, from what the spool kept of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/megengine/private.h"
#include "base/dtype.h"

/* --- Records. --- */

struct record {
    const char *at;
};

static uint32_t take_number(struct record *record)
{
    uint32_t number;

    memcpy(&number, record->at, sizeof(number));
    record->at += sizeof(number);
    return number;
}

static struct json_slice take_value(struct record *record)
{
    uint32_t length = take_number(record);
    struct json_slice value = json_value(record->at, length);

    record->at += length;
    return value;
}

/* A string, or NULL for anything else; the caller frees it. */
static char *take_name(struct record *record)
{
    struct json_slice value = take_value(record);

    return value.kind == JSON_STRING ? json_take_text(value) : NULL;
}

/* --- Operators. --- */

static const char *dtype_of(const struct megengine *megengine, uint32_t variable, char *buffer)
{
    uint32_t dtype = PLACE_NONE;

    if (variable != PLACE_NONE)
        dtype = megengine->variables.items[variable].dtype;
    return dtype == PLACE_NONE ? NULL
                               : dtype_short(text_ids_name(&megengine->dtype_ids, dtype, buffer));
}

/* ["f32",null,...] for a list of variables, of which `producer`, or PLACE_NONE, becomes the
 * producer; NULL where the list is none. The caller frees it. */
static char *take_dtypes(struct megengine *megengine, struct record *record, uint32_t producer)
{
    uint32_t count = take_number(record);
    char buffer[TEXT_IDS_NAME_BYTES];
    struct json_writer json;

    if (count == PLACE_NONE)
        return NULL;
    json_init_memory(&json);
    json_begin_array(&json);
    for (uint32_t i = 0; i < count; i++) {
        struct json_slice id = take_value(record);
        uint32_t variable = PLACE_NONE;

        if (megengine_is_id(id))
            variable = text_ids_find(&megengine->variable_ids, id.text, id.length);
        if (variable != PLACE_NONE && producer != PLACE_NONE)
            megengine->variables.items[variable].producer = producer;
        json_string(&json, dtype_of(megengine, variable, buffer));
    }
    json_end_array(&json);
    return import_take(&json);
}

static char *list_text(struct json_slice list)
{
    struct json_writer json;

    if (list.kind != JSON_ARRAY)
        return NULL;
    json_init_memory(&json);
    import_write_texts(&json, list);
    return import_take(&json);
}

/* What an op costs, in texts as a row has them; {0}: it has none. */
struct costs {
    char *in_shapes, *out_shapes, *params;
    int64_t computation, memory;
};

/* The operator's parameters, and with them the strides of inputs that are not contiguous. */
static char *params_text(struct json_slice param, struct json_slice layouts)
{
    struct json_walk walk = json_walk_over(param);
    struct json_slice key, value;
    struct json_writer json;
    bool has_params = false;
    char *text;

    if (param.kind != JSON_OBJECT)
        walk = (struct json_walk){0};
    json_init_memory(&json);
    json_begin_object(&json);
    while (json_walk_next(&walk, &key, &value) == 1) {
        import_write_key(&json, key);
        import_write_value(&json, value);
        has_params = true;
    }
    if (layouts.kind == JSON_ARRAY) {
        json_key(&json, "input_strides");
        import_write_shapes(&json, layouts);
        has_params = true;
    }
    json_end_object(&json);
    text = import_take(&json);
    if (!has_params) {
        free(text);
        text = NULL;
    }
    return text;
}

static int read_costs(struct megengine *megengine, uint64_t cost, struct costs *out_costs,
                      struct diag *diag)
{
    struct record record;
    struct json_slice param;
    size_t size;
    int rc;

    *out_costs = (struct costs){.computation = STORE_NULL, .memory = STORE_NULL};
    if (cost == SPOOL_NONE)
        return 0;
    rc = spool_read(&megengine->cost_spool, cost, &record.at, &size, diag);
    if (rc < 0)
        return rc;
    out_costs->in_shapes = import_shapes_text(take_value(&record));
    out_costs->out_shapes = import_shapes_text(take_value(&record));
    param = take_value(&record);
    out_costs->params = params_text(param, take_value(&record));
    out_costs->computation = import_count(take_value(&record));
    out_costs->memory = import_count(take_value(&record));
    return 0;
}

/* A record of op_spool as texts that a row borrows; the caller gives it to drop_op(). */
struct op_texts {
    char *name, *type, *origin, *node_id, *device, *params, *in_dtypes, *out_dtypes;
    int64_t workspace_bytes;
};

static void take_op(struct megengine *megengine, struct record *record, uint32_t place,
                    struct op_texts *out_texts)
{
    struct json_slice node_id, params;

    out_texts->name = take_name(record);
    out_texts->type = take_name(record);
    out_texts->origin = list_text(take_value(record));
    node_id = take_value(record);
    out_texts->node_id = megengine_is_id(node_id) ? json_take_text(node_id) : NULL;
    out_texts->device = take_name(record);
    params = take_value(record);
    out_texts->params =
        params.kind == JSON_OBJECT ? params_text(params, (struct json_slice){0}) : NULL;
    out_texts->workspace_bytes = import_count(take_value(record));
    out_texts->in_dtypes = take_dtypes(megengine, record, PLACE_NONE);
    out_texts->out_dtypes = take_dtypes(megengine, record, place);
}

static void drop_op(struct op_texts *texts, struct costs *costs)
{
    free(texts->name);
    free(texts->type);
    free(texts->origin);
    free(texts->node_id);
    free(texts->device);
    free(texts->params);
    free(texts->in_dtypes);
    free(texts->out_dtypes);
    free(costs->in_shapes);
    free(costs->out_shapes);
    free(costs->params);
}

static int put_op(struct megengine *megengine, uint32_t place, int64_t number, struct diag *diag)
{
    const struct megengine_op *op = &megengine->ops.items[place];
    char id_buffer[TEXT_IDS_NAME_BYTES];
    const char *id = text_ids_name(&megengine->op_ids, place, id_buffer);
    /* An op that a damaged profile names without saying what it is goes by its id. */
    struct op_texts texts = {.workspace_bytes = STORE_NULL};
    struct costs costs;
    struct record record;
    struct store_op row;
    size_t size;
    int rc = read_costs(megengine, op->cost, &costs, diag);

    if (rc == 0 && op->state == OP_DEFINED) {
        rc = spool_read(&megengine->op_spool, op->record, &record.at, &size, diag);
        if (rc == 0)
            take_op(megengine, &record, place, &texts);
    }
    row = (struct store_op){
        .client_op = number,
        .name = texts.name ? texts.name : id,
        .type = texts.type ? texts.type : "unknown",
        .node_id = texts.node_id ? texts.node_id : id,
        .device = texts.device,
        .input_shapes = costs.in_shapes,
        .input_dtypes = texts.in_dtypes,
        .output_shapes = costs.out_shapes,
        .output_dtypes = texts.out_dtypes,
        .params = texts.params ? texts.params : costs.params,
        .computation_flop = costs.computation,
        .memory_bytes = costs.memory,
        .workspace_bytes = texts.workspace_bytes,
        .origin = texts.origin,
    };
    if (rc == 0)
        rc = importer_put_op_at(&megengine->importer, place, &row, diag);
    drop_op(&texts, &costs);
    return rc;
}

/* An op that has spans must have an entry of its own. */
static int check_op(struct megengine *megengine, uint32_t place, struct diag *diag)
{
    const struct megengine_op *op = &megengine->ops.items[place];
    char id[TEXT_IDS_NAME_BYTES];

    return megengine_bad(megengine, op->record, diag,
                         "profiler.%s.%.40s has no operator in graph_exec.operator",
                         op->state == OP_HAS_DEVICE_SPANS ? "device" : "host",
                         text_ids_name(&megengine->op_ids, place, id));
}

/* The client's number of an op is its place in the order of execution; ops that are not executed
 * come after. */
static int put_ops(struct megengine *megengine, struct diag *diag)
{
    bool *is_put = calloc(megengine->ops.count + 1, sizeof(*is_put));
    size_t sequence_count = megengine->sequence.count;
    int64_t number = 0;
    int rc = is_put ? 0 : megengine_no_memory(diag);

    for (size_t i = 0; i < sequence_count + megengine->ops.count && rc == 0; i++) {
        uint32_t op =
            i < sequence_count ? megengine->sequence.items[i] : (uint32_t)(i - sequence_count);
        enum megengine_op_state state = megengine->ops.items[op].state;

        if (is_put[op] || state == OP_UNKNOWN)
            continue;
        if (state != OP_DEFINED)
            rc = check_op(megengine, op, diag);
        is_put[op] = true;
        if (rc == 0)
            rc = put_op(megengine, op, ++number, diag);
    }
    free(is_put);
    return rc;
}

/* --- Memory. --- */

static int put_chunk(struct megengine *megengine, uint32_t place, const char *owner,
                     struct diag *diag)
{
    const struct importer *importer = &megengine->importer;
    char id[TEXT_IDS_NAME_BYTES];
    struct store_mem_chunk row = {
        .mem_chunk_id = importer->first.mem_chunk_id + 1 + place,
        .session_id = importer->first.session_id + 1,
        .client_chunk = text_ids_name(&megengine->chunk_ids, place, id),
        .size_bytes = megengine->chunks.items[place].size_bytes,
        .owner = owner,
    };

    return store_put_mem_chunk(importer->store, &row, diag);
}

static int put_variable(struct megengine *megengine, uint32_t place, struct diag *diag)
{
    const struct megengine_variable *variable = &megengine->variables.items[place];
    const struct importer *importer = &megengine->importer;
    char id[TEXT_IDS_NAME_BYTES], dtype[TEXT_IDS_NAME_BYTES];
    struct record record;
    struct store_variable row;
    bool has_chunk =
        variable->chunk != PLACE_NONE && megengine->chunks.items[variable->chunk].is_defined;
    char *name, *shape;
    size_t size;
    int rc = spool_read(&megengine->variable_spool, variable->record, &record.at, &size, diag);

    if (rc < 0)
        return rc;
    name = take_name(&record);
    shape = import_shapes_text(take_value(&record));
    row = (struct store_variable){
        .variable_id = importer->first.variable_id + 1 + place,
        .session_id = importer->first.session_id + 1,
        .client_var = text_ids_name(&megengine->variable_ids, place, id),
        .name = name,
        .dtype = dtype_of(megengine, place, dtype),
        .shape = shape,
        .producer_op = variable->producer == PLACE_NONE
                           ? STORE_NULL
                           : importer->first.op_id + 1 + variable->producer,
        .mem_chunk_id = has_chunk ? importer->first.mem_chunk_id + 1 + variable->chunk : STORE_NULL,
        .offset_bytes = import_count(take_value(&record)),
    };
    rc = store_put_variable(importer->store, &row, diag);
    for (uint32_t i = variable->owned; i != PLACE_NONE && rc == 0;
         i = megengine->chunks.items[i].next)
        rc = put_chunk(megengine, i, name, diag);
    free(name);
    free(shape);
    return rc;
}

int megengine_put_graph(struct megengine *megengine, struct diag *diag)
{
    int rc = put_ops(megengine, diag);

    for (uint32_t i = 0; i < megengine->variables.count && rc == 0; i++) {
        const struct megengine_variable *variable = &megengine->variables.items[i];

        if (variable->record != SPOOL_NONE)
            rc = put_variable(megengine, i, diag);
        for (uint32_t k = variable->owned;
             variable->record == SPOOL_NONE && k != PLACE_NONE && rc == 0;
             k = megengine->chunks.items[k].next)
            rc = put_chunk(megengine, k, NULL, diag);
    }
    for (uint32_t i = 0; i < megengine->chunks.count && rc == 0; i++) {
        if (megengine->chunks.items[i].is_defined && !megengine->chunks.items[i].has_owner)
            rc = put_chunk(megengine, i, NULL, diag);
    }
    return rc;
}
