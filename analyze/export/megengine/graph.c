/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a MegEngine profile, and what its ops cost. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/export/megengine/private.h"
#include "base/dtype.h"

/* --- Values. --- */

static void write_item(struct json_writer *json, const cJSON *item)
{
    const cJSON *child;

    if (cJSON_IsArray(item)) {
        json_begin_array(json);
        cJSON_ArrayForEach(child, item) write_item(json, child);
        json_end_array(json);
    } else if (cJSON_IsObject(item)) {
        json_begin_object(json);
        cJSON_ArrayForEach(child, item)
        {
            json_key(json, child->string);
            write_item(json, child);
        }
        json_end_object(json);
    } else if (cJSON_IsString(item)) {
        json_string(json, item->valuestring);
    } else if (cJSON_IsNumber(item)) {
        json_double(json, item->valuedouble);
    } else if (cJSON_IsBool(item)) {
        json_bool(json, cJSON_IsTrue(item));
    } else {
        json_null(json);
    }
}

/* A list of the store, or an empty one. */
static void write_list(struct json_writer *json, const char *key, const char *text)
{
    cJSON *list = text ? cJSON_Parse(text) : NULL;

    json_key(json, key);
    if (cJSON_IsArray(list)) {
        write_item(json, list);
    } else {
        json_begin_array(json);
        json_end_array(json);
    }
    cJSON_Delete(list);
}

static void write_id(struct json_writer *json, int64_t id)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, id);
    json_string(json, text);
}

void megengine_write_id_key(struct json_writer *json, int64_t id)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, id);
    json_key(json, text);
}

static void write_text(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

/* --- graph_exec. --- */

/* The inputs or outputs of an op: of each a shape and a dtype, either of which may be missing. */
struct values {
    cJSON *shapes, *dtypes;
    int count;
};

static struct values parse_values(const char *shapes, const char *dtypes)
{
    struct values values = {
        .shapes = shapes ? cJSON_Parse(shapes) : NULL,
        .dtypes = dtypes ? cJSON_Parse(dtypes) : NULL,
    };
    int dtype_count = cJSON_GetArraySize(values.dtypes);

    values.count = cJSON_GetArraySize(values.shapes);
    values.count = dtype_count > values.count ? dtype_count : values.count;
    return values;
}

static void drop_values(struct values *values)
{
    cJSON_Delete(values->shapes);
    cJSON_Delete(values->dtypes);
}

/* Variables get ids in the order in which the ops are written. */
static void write_var_ids(struct megengine_writer *writer, const char *key, const char *shapes,
                          const char *dtypes)
{
    struct values values = parse_values(shapes, dtypes);

    json_key(&writer->json, key);
    json_begin_array(&writer->json);
    for (int i = 0; i < values.count; i++)
        write_id(&writer->json, writer->next_var++);
    json_end_array(&writer->json);
    drop_values(&values);
}

/* What load_and_run of this project adds, too: the format has no other place for it. */
static void write_extra(struct json_writer *json, const struct op_row *op)
{
    cJSON *params = op->params ? cJSON_Parse(op->params) : NULL;

    if (op->origin)
        write_list(json, "origins", op->origin);
    if (op->node_id)
        write_text(json, "node_id", op->node_id);
    if (op->device)
        write_text(json, "device", op->device);
    if (cJSON_IsObject(params)) {
        json_key(json, "params");
        write_item(json, params);
    }
    cJSON_Delete(params);
}

static void write_operator(struct megengine_writer *writer, const struct op_row *op, int64_t id)
{
    struct json_writer *json = &writer->json;

    megengine_write_id_key(json, id);
    json_begin_object(json);
    write_text(json, "node_type", "operator");
    json_key(json, "id");
    write_id(json, id);
    write_text(json, "name", op->name);
    write_text(json, "type", op->type);
    write_var_ids(writer, "input", op->input_shapes, op->input_dtypes);
    write_var_ids(writer, "output", op->output_shapes, op->output_dtypes);
    json_key(json, "extra");
    json_begin_object(json);
    write_extra(json, op);
    json_end_object(json);
    json_key(json, "waiting_spec");
    json_null(json);
    json_end_object(json);
}

/* How far apart neighbours of each dimension lie; not of shapes with a dimension not known. */
static void write_strides(struct json_writer *json, const cJSON *shape)
{
    int count = cJSON_GetArraySize(shape);

    json_key(json, "stride");
    json_begin_array(json);
    for (int i = 0; i < count; i++) {
        double stride = 1;

        for (int k = i + 1; k < count; k++)
            stride *= cJSON_GetArrayItem(shape, k)->valuedouble;
        json_double(json, stride);
    }
    json_end_array(json);
}

static void write_var(struct megengine_writer *writer, const struct op_row *op, const char *side,
                      const cJSON *shape, const cJSON *dtype, int number)
{
    struct json_writer *json = &writer->json;
    int64_t id = writer->next_var++;
    char name[300];

    snprintf(name, sizeof(name), "%.200s:%s%d", op->name, side, number);
    megengine_write_id_key(json, id);
    json_begin_object(json);
    write_text(json, "node_type", "var");
    json_key(json, "id");
    write_id(json, id);
    write_text(json, "name", name);
    json_key(json, "mem_plan");
    json_begin_object(json);
    json_key(json, "mem_chunk_id");
    json_null(json);
    json_key(json, "layout");
    json_begin_object(json);
    if (cJSON_IsArray(shape)) {
        json_key(json, "shape");
        write_item(json, shape);
        write_strides(json, shape);
    }
    if (cJSON_IsString(dtype))
        write_text(json, "dtype", dtype_megengine(dtype->valuestring));
    json_end_object(json);
    json_key(json, "offset_byte");
    json_int(json, 0);
    json_end_object(json);
    json_end_object(json);
}

static void write_vars(struct megengine_writer *writer, const struct op_row *op, const char *side,
                       const char *shapes, const char *dtypes)
{
    struct values values = parse_values(shapes, dtypes);

    for (int i = 0; i < values.count; i++)
        write_var(writer, op, side, cJSON_GetArrayItem(values.shapes, i),
                  cJSON_GetArrayItem(values.dtypes, i), i);
    drop_values(&values);
}

void megengine_write_graph(struct megengine_writer *writer)
{
    struct json_writer *json = &writer->json;
    int64_t first_var = writer->next_var;

    json_key(json, "graph_exec");
    json_begin_object(json);
    json_key(json, "operator");
    json_begin_object(json);
    for (size_t i = 0; i < writer->sequence_count; i++) {
        uint32_t op = writer->sequence[i];

        write_operator(writer, &writer->spans->ops.items[op], writer->ids[op]);
    }
    json_end_object(json);
    json_key(json, "var");
    json_begin_object(json);
    writer->next_var = first_var;
    for (size_t i = 0; i < writer->sequence_count; i++) {
        const struct op_row *op = &writer->spans->ops.items[writer->sequence[i]];

        write_vars(writer, op, "in", op->input_shapes, op->input_dtypes);
        write_vars(writer, op, "out", op->output_shapes, op->output_dtypes);
    }
    json_end_object(json);
    json_key(json, "mem_chunk");
    json_begin_object(json);
    json_end_object(json);
    json_key(json, "comp_seq");
    json_begin_array(json);
    for (size_t i = 0; i < writer->sequence_count; i++)
        write_id(json, writer->ids[writer->sequence[i]]);
    json_end_array(json);
    json_end_object(json);
}

/* --- opr_footprint. --- */

/* Strides stand among the params of a store. */
static void write_params(struct json_writer *json, const char *text)
{
    cJSON *params = text ? cJSON_Parse(text) : NULL;
    cJSON *strides = cJSON_DetachItemFromObjectCaseSensitive(params, "input_strides");

    if (cJSON_IsArray(strides)) {
        json_key(json, "in_layouts");
        write_item(json, strides);
    }
    json_key(json, "param");
    if (cJSON_IsObject(params)) {
        write_item(json, params);
    } else {
        json_begin_object(json);
        json_end_object(json);
    }
    cJSON_Delete(strides);
    cJSON_Delete(params);
}

static void write_count(struct json_writer *json, const char *key, int64_t value)
{
    json_key(json, key);
    if (value == STORE_NULL)
        json_null(json);
    else
        json_int(json, value);
}

void megengine_write_op_costs(struct megengine_writer *writer)
{
    struct json_writer *json = &writer->json;

    json_key(json, "opr_footprint");
    json_begin_object(json);
    for (size_t i = 0; i < writer->sequence_count; i++) {
        const struct op_row *op = &writer->spans->ops.items[writer->sequence[i]];

        if (!op->input_shapes && !op->output_shapes && op->memory_bytes == STORE_NULL &&
            op->computation_flop == STORE_NULL)
            continue;
        megengine_write_id_key(json, writer->ids[writer->sequence[i]]);
        json_begin_object(json);
        write_count(json, "computation", op->computation_flop);
        write_count(json, "memory", op->memory_bytes);
        write_list(json, "in_shapes", op->input_shapes);
        write_list(json, "out_shapes", op->output_shapes);
        write_params(json, op->params);
        json_end_object(json);
    }
    json_end_object(json);
}
