/* SPDX-License-Identifier: Apache-2.0 */
/* What was compiled, as MegEngine's "graph_exec" object. */
#include "runtime/modes/graph_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/session/step_json.h"

struct writer {
    const struct graph *graph;
    const struct exec *exec;
    const uint32_t *ids;
    struct json_writer *json;
};

/* A step's id as text. */
static const char *step_id(const struct writer *w, uint32_t step, char out[16])
{
    snprintf(out, 16, "%u", w->ids[step]);
    return out;
}

static const char *value_id(const struct value *value, char out[16])
{
    snprintf(out, 16, "%u", value->id);
    return out;
}

/* MegEngine's names begin with a capital letter. */
static void write_dtype(struct json_writer *json, enum dtype dtype)
{
    char name[16];

    snprintf(name, sizeof(name), "%s", dtype_name(dtype));
    name[0] = (char)(name[0] - 'a' + 'A');
    json_string(json, name);
}

void graph_exec_write_dims(const struct shape *shape, struct json_writer *json)
{
    json_begin_array(json);
    for (int i = 0; i < shape->rank; i++)
        json_int(json, shape->dims[i]);
    json_end_array(json);
}

static void write_value_ids(struct json_writer *json, const struct value *const *values,
                            uint32_t count)
{
    char id[16];

    json_begin_array(json);
    for (uint32_t i = 0; i < count; i++) {
        if (values[i])
            json_string(json, value_id(values[i], id));
    }
    json_end_array(json);
}

/* What MegEngine's form has no place for, under "extra". */
static void write_facts(struct json_writer *json, const struct exec_step *step)
{
    json_key(json, "node_id");
    json_uint(json, step->node->id);
    json_key(json, "device");
    json_string(json, "cpu:0");
    json_key(json, "params");
    step_json_params(step, json);
    json_key(json, "workspace_bytes");
    json_uint(json, step->workspace_bytes);
}

static void write_operators(const struct writer *w)
{
    struct json_writer *json = w->json;
    char id[16];

    json_key(json, "operator");
    json_begin_object(json);
    for (uint32_t i = 0; i < exec_step_count(w->exec); i++) {
        const struct exec_step *step = exec_step(w->exec, i);

        json_key(json, step_id(w, i, id));
        json_begin_object(json);
        json_key(json, "node_type");
        json_string(json, "operator");
        json_key(json, "id");
        json_string(json, id);
        json_key(json, "name");
        json_string(json, step->name);
        json_key(json, "type");
        json_string(json, step->type);
        json_key(json, "input");
        write_value_ids(json, step->inputs, step->input_count);
        json_key(json, "output");
        write_value_ids(json, step->outputs, step->output_count);
        json_key(json, "extra");
        json_begin_object(json);
        json_key(json, "implementation");
        json_string(json, step->implementation);
        json_key(json, "origins");
        json_begin_array(json);
        for (uint32_t k = 0; k < step->node->origin_count; k++)
            json_string(json, step->node->origins[k]);
        json_end_array(json);
        write_facts(json, step);
        json_end_object(json);
        json_key(json, "waiting_spec");
        json_null(json);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_layout(struct json_writer *json, const struct value *value)
{
    int64_t stride[SHAPE_MAX_RANK];
    int64_t step = 1;

    for (int i = value->shape.rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= value->shape.dims[i];
    }
    json_begin_object(json);
    json_key(json, "shape");
    graph_exec_write_dims(&value->shape, json);
    json_key(json, "stride");
    json_begin_array(json);
    for (int i = 0; i < value->shape.rank; i++)
        json_int(json, stride[i]);
    json_end_array(json);
    json_key(json, "dtype");
    write_dtype(json, value->dtype);
    json_end_object(json);
}

static void write_vars(const struct writer *w)
{
    const struct graph *graph = w->graph;
    struct json_writer *json = w->json;
    char id[16], chunk[24];

    json_key(json, "var");
    json_begin_object(json);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];

        snprintf(chunk, sizeof(chunk), "chk%s", value_id(value, id));
        json_key(json, id);
        json_begin_object(json);
        json_key(json, "node_type");
        json_string(json, "var");
        json_key(json, "id");
        json_string(json, id);
        json_key(json, "name");
        json_string(json, value->name);
        json_key(json, "comp_node");
        json_string(json, GRAPH_EXEC_DEVICE);
        json_key(json, "mem_plan");
        json_begin_object(json);
        json_key(json, "mem_chunk_id");
        json_string(json, chunk);
        json_key(json, "layout");
        write_layout(json, value);
        json_key(json, "offset_byte");
        json_int(json, 0);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_object(json);
}

static void write_chunks(const struct writer *w)
{
    const struct graph *graph = w->graph;
    struct json_writer *json = w->json;
    char id[16], chunk[24];

    json_key(json, "mem_chunk");
    json_begin_object(json);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];

        snprintf(chunk, sizeof(chunk), "chk%s", value_id(value, id));
        json_key(json, chunk);
        json_begin_object(json);
        json_key(json, "node_type");
        json_string(json, "mem_chunk");
        json_key(json, "id");
        json_string(json, chunk);
        json_key(json, "size");
        json_int(json, shape_bytes(&value->shape, value->dtype));
        json_key(json, "owner_var");
        json_string(json, id);
        json_key(json, "dev_ptr");
        json_null(json);
        json_end_object(json);
    }
    json_end_object(json);
}

void graph_exec_write(const struct graph *graph, const struct exec *exec, const uint32_t *ids,
                      struct json_writer *json)
{
    const struct writer w = {graph, exec, ids, json};
    char id[16];

    json_begin_object(json);
    write_operators(&w);
    write_vars(&w);
    write_chunks(&w);
    json_key(json, "comp_seq");
    json_begin_array(json);
    for (uint32_t i = 0; i < exec_step_count(exec); i++)
        json_string(json, step_id(&w, i, id));
    json_end_array(json);
    json_end_object(json);
}

uint32_t *graph_exec_ids(const struct graph *graph, const struct exec *exec)
{
    uint32_t above = 0;
    bool *seen = calloc(graph->node_count + 1, sizeof(*seen));
    uint32_t *ids = calloc(exec_step_count(exec) + 1, sizeof(*ids));

    if (!seen || !ids) {
        free(seen);
        free(ids);
        return NULL;
    }
    for (uint32_t i = 0; i < graph->node_count; i++)
        above = graph->nodes[i]->id >= above ? graph->nodes[i]->id + 1 : above;
    for (uint32_t i = 0; i < exec_step_count(exec); i++) {
        const struct exec_step *step = exec_step(exec, i);
        bool is_own = !seen[step->node->index] && strcmp(step->type, step->node->op_type) == 0;

        ids[i] = is_own ? step->node->id : above + i;
        seen[step->node->index] |= is_own;
    }
    free(seen);
    return ids;
}
