/* SPDX-License-Identifier: Apache-2.0 */
/* MegEngine's profile JSON into the tables of a store. */
#include "analyze/import_megengine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dtype.h"
#include "analyze/import_megengine_private.h"
#include "base/json.h"

/* --- Finding things. --- */

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const cJSON *find_graph(const cJSON *root)
{
    const cJSON *graph = member(root, "graph_exec");

    return graph ? graph : member(member(root, "profiler"), "graph_exec");
}

bool import_megengine_recognises(const cJSON *root)
{
    const cJSON *profiler = member(root, "profiler");

    return cJSON_IsObject(profiler) && (member(profiler, "device") || member(profiler, "host")) &&
           cJSON_IsObject(find_graph(root));
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct by_id *)a)->id, ((const struct by_id *)b)->id);
}

static int index_members(const cJSON *object, const char *what, struct by_id_array *out,
                         struct diag *diag)
{
    const cJSON *item;
    int64_t number = 0;

    if (object && !cJSON_IsObject(object))
        return diag_set(diag, -EUCLEAN, "%s is not an object", what);
    cJSON_ArrayForEach(item, object)
    {
        struct by_id entry = {.id = item->string, .item = item, .number = ++number};

        if (!cJSON_IsObject(item))
            return diag_set(diag, -EUCLEAN, "%s.%.40s is not an object", what, item->string);
        if (array_push(out, entry) < 0)
            return diag_set(diag, -ENOMEM, "no memory for %s", what);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), compare_ids);
    for (size_t i = 1; i < out->count; i++) {
        if (strcmp(out->items[i].id, out->items[i - 1].id) == 0)
            return diag_set(diag, -EUCLEAN, "%s has \"%.40s\" twice", what, out->items[i].id);
    }
    return 0;
}

static const struct by_id *find_id(const struct by_id_array *list, const char *id)
{
    struct by_id key = {.id = id};

    return list->count ? bsearch(&key, list->items, list->count, sizeof(key), compare_ids) : NULL;
}

/* Ids are decimal strings; older writers also used bare numbers for references. */
static const struct by_id *find_reference(const struct by_id_array *list, const cJSON *reference)
{
    char text[32];

    if (cJSON_IsString(reference))
        return find_id(list, reference->valuestring);
    if (!cJSON_IsNumber(reference))
        return NULL;
    snprintf(text, sizeof(text), "%.0f", reference->valuedouble);
    return find_id(list, text);
}

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(member(object, name));
}

/* A whole number that is not negative, or STORE_NULL. */
static int64_t count_of(const cJSON *object, const char *name)
{
    const cJSON *item = member(object, name);

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 9e18))
        return STORE_NULL;
    return (int64_t)item->valuedouble;
}

/* --- Values as the store writes them. --- */

static const char *dtype_of(const cJSON *variable)
{
    return dtype_short(text_of(member(member(variable, "mem_plan"), "layout"), "dtype"));
}

/* ["f32",null,...] for a list of variable ids; NULL where the list is none. The caller frees it. */
static char *dtypes_text(const struct import *import, const cJSON *ids)
{
    struct json_writer json;
    const cJSON *id;
    char *text = NULL;

    if (!cJSON_IsArray(ids))
        return NULL;
    json_init_memory(&json);
    json_begin_array(&json);
    cJSON_ArrayForEach(id, ids)
    {
        const struct by_id *variable = find_reference(&import->variables, id);

        json_string(&json, variable ? dtype_of(variable->item) : NULL);
    }
    json_end_array(&json);
    if (json_finish(&json) == 0)
        text = json_take(&json, NULL);
    json_deinit(&json);
    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

/* The JSON text of an item, or NULL where it is not of that kind. */
static char *list_text(const cJSON *item)
{
    return cJSON_IsArray(item) ? cJSON_PrintUnformatted(item) : NULL;
}

/* The operator's parameters, and with them the strides of inputs that are not contiguous. */
static char *params_text(const cJSON *footprint)
{
    const cJSON *param = member(footprint, "param"), *layouts = member(footprint, "in_layouts");
    cJSON *params = cJSON_IsObject(param) ? cJSON_Duplicate(param, true) : cJSON_CreateObject();
    cJSON *strides = cJSON_IsArray(layouts) ? cJSON_Duplicate(layouts, true) : NULL;
    char *text = NULL;

    if (strides && !cJSON_AddItemToObject(params, "input_strides", strides))
        cJSON_Delete(strides);
    if (params && params->child)
        text = cJSON_PrintUnformatted(params);
    cJSON_Delete(params);
    return text;
}

static int put_op(struct import *import, const struct by_id *op, int64_t place, struct diag *diag)
{
    const struct by_id *footprint = find_id(&import->footprints, op->id);
    const cJSON *costs = footprint ? footprint->item : NULL;
    char *in_shapes = list_text(member(costs, "in_shapes"));
    char *out_shapes = list_text(member(costs, "out_shapes"));
    char *in_dtypes = dtypes_text(import, member(op->item, "input"));
    char *out_dtypes = dtypes_text(import, member(op->item, "output"));
    char *params = params_text(costs);
    char *origin = list_text(member(member(op->item, "extra"), "origins")); /* load_and_run's */
    const char *name = text_of(op->item, "name"), *type = text_of(op->item, "type");
    struct store_op row = {
        .op_id = import->first.op_id + op->number,
        .session_id = import->session_id,
        .client_op = place,
        .model_id = STORE_NULL,
        .name = name ? name : op->id,
        .type = type ? type : "unknown",
        .node_id = op->id,
        .input_shapes = in_shapes,
        .input_dtypes = in_dtypes,
        .output_shapes = out_shapes,
        .output_dtypes = out_dtypes,
        .params = params,
        .computation_flop = count_of(costs, "computation"),
        .memory_bytes = count_of(costs, "memory"),
        .workspace_bytes = STORE_NULL,
        .origin = origin,
    };
    int rc = store_put_op(import->store, &row, diag);

    cJSON_free(in_shapes);
    cJSON_free(out_shapes);
    cJSON_free(params);
    cJSON_free(origin);
    free(in_dtypes);
    free(out_dtypes);
    return rc;
}

/* The client's number of an op is its place in the order of execution; ops that are not executed
 * come after. */
static int put_ops(struct import *import, struct diag *diag)
{
    const cJSON *sequence = member(import->graph, "comp_seq"), *id;
    int64_t place = 0;
    int rc = 0;

    cJSON_ArrayForEach(id, sequence)
    {
        struct by_id *op = (struct by_id *)find_reference(&import->ops, id);

        if (op && !op->is_put && rc == 0) {
            op->is_put = true;
            rc = put_op(import, op, ++place, diag);
        }
    }
    for (size_t i = 0; i < import->ops.count && rc == 0; i++) {
        if (!import->ops.items[i].is_put)
            rc = put_op(import, &import->ops.items[i], ++place, diag);
    }
    return rc;
}

/* --- Memory. --- */

static int put_chunks(struct import *import, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < import->chunks.count && rc == 0; i++) {
        const struct by_id *chunk = &import->chunks.items[i];
        const struct by_id *owner =
            find_reference(&import->variables, member(chunk->item, "owner_var"));
        struct store_mem_chunk row = {
            .mem_chunk_id = import->first.mem_chunk_id + chunk->number,
            .session_id = import->session_id,
            .client_chunk = chunk->id,
            .size_bytes = count_of(chunk->item, "size"),
            .owner = owner ? text_of(owner->item, "name") : NULL,
        };

        rc = store_put_mem_chunk(import->store, &row, diag);
    }
    return rc;
}

/* Which op makes each variable: noted while going through the ops once. */
static int note_producers(struct import *import, struct diag *diag)
{
    for (size_t i = 0; i < import->ops.count; i++) {
        const struct by_id *op = &import->ops.items[i];
        const cJSON *id;

        cJSON_ArrayForEach(id, member(op->item, "output"))
        {
            struct by_id *variable = (struct by_id *)find_reference(&import->variables, id);

            if (variable)
                variable->producer = import->first.op_id + op->number;
        }
    }
    return 0;
}

static int put_variables(struct import *import, struct diag *diag)
{
    int rc = note_producers(import, diag);

    for (size_t i = 0; i < import->variables.count && rc == 0; i++) {
        const struct by_id *variable = &import->variables.items[i];
        const cJSON *plan = member(variable->item, "mem_plan");
        const struct by_id *chunk = find_reference(&import->chunks, member(plan, "mem_chunk_id"));
        char *shape = list_text(member(member(plan, "layout"), "shape"));
        struct store_variable row = {
            .variable_id = import->first.variable_id + variable->number,
            .session_id = import->session_id,
            .client_var = variable->id,
            .name = text_of(variable->item, "name"),
            .dtype = dtype_of(variable->item),
            .shape = shape,
            .producer_op = variable->producer ? variable->producer : STORE_NULL,
            .mem_chunk_id = chunk ? import->first.mem_chunk_id + chunk->number : STORE_NULL,
            .offset_bytes = count_of(plan, "offset_byte"),
        };

        rc = store_put_variable(import->store, &row, diag);
        cJSON_free(shape);
    }
    return rc;
}

/* --- All of it. --- */

static int index_document(struct import *import, const cJSON *root, struct diag *diag)
{
    const cJSON *profiler = member(root, "profiler");
    int rc;

    import->graph = find_graph(root);
    import->host = member(profiler, "host");
    import->device = member(profiler, "device");
    rc =
        index_members(member(import->graph, "operator"), "graph_exec.operator", &import->ops, diag);
    if (rc == 0)
        rc =
            index_members(member(import->graph, "var"), "graph_exec.var", &import->variables, diag);
    if (rc == 0)
        rc = index_members(member(import->graph, "mem_chunk"), "graph_exec.mem_chunk",
                           &import->chunks, diag);
    if (rc == 0)
        rc = index_members(member(profiler, "opr_footprint"), "profiler.opr_footprint",
                           &import->footprints, diag);
    return rc;
}

const struct by_id *import_find_op(const struct import *import, const char *id)
{
    return find_id(&import->ops, id);
}

static int put_session(struct import *import, const char *name, struct diag *diag)
{
    char note[512];
    struct store_session row = {
        .session_id = import->session_id,
        .end_reason = "imported",
        .pid = STORE_NULL,
        .uid = STORE_NULL,
        .clock = "foreign",
        .source = "megengine",
        .note = note,
        .end_ns = import->last_ns,
    };

    /* Not random: the same rows each time. The id makes it unique within a store. */
    memcpy(row.uuid, "megengine", 9);
    memcpy(row.uuid + 9, &import->session_id, 7);
    snprintf(note, sizeof(note),
             "%.400s: the last run only; host and device times have different zeros", name);
    return store_put_session(import->store, &row, diag);
}

int import_megengine(const cJSON *root, const char *name, struct store *store, struct diag *diag)
{
    struct import import = {.store = store};
    int rc = index_document(&import, root, diag);

    if (rc == 0)
        rc = store_begin(store, diag);
    if (rc < 0)
        goto out;
    rc = store_last_ids(store, &import.first, diag);
    import.session_id = import.first.session_id + 1;
    if (rc == 0)
        rc = import_read_spans(&import, diag);
    if (rc == 0)
        rc = put_session(&import, name, diag);
    if (rc == 0)
        rc = put_ops(&import, diag);
    if (rc == 0)
        rc = import_put_spans(&import, diag);
    if (rc == 0)
        rc = put_chunks(&import, diag);
    if (rc == 0)
        rc = put_variables(&import, diag);
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
out:
    import_drop_spans(&import);
    array_deinit(&import.ops);
    array_deinit(&import.variables);
    array_deinit(&import.chunks);
    array_deinit(&import.footprints);
    return rc;
}
