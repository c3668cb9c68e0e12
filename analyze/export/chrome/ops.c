/* SPDX-License-Identifier: Apache-2.0 */
/* What the events of an op have in common, as text: made once for each op. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/chrome/private.h"
#include "base/text.h"

/* Categories that viewers and other readers know, where a type has one. */
static const char *category_of(const struct op_row *op, bool is_device)
{
    static const char *const known[][2] = {
        {"copy", "gpu_memcpy"},
        {"memset", "gpu_memset"},
    };

    if (op->is_label)
        return is_device ? "gpu_user_annotation" : "user_annotation";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(op->type, known[i][0]) == 0)
            return known[i][1];
    }
    return op->type;
}

/* Members of `params` that Kineto writes itself, by its names. */
static const char *kineto_name(const char *name)
{
    static const char *const names[][2] = {
        {"input_strides", "Input Strides"},
        {"concrete_inputs", "Concrete Inputs"},
        {"stack", "Call stack"},
        {"module", "Module Hierarchy"},
        {"grid", "grid"},
        {"block", "block"},
        {"registers_per_thread", "registers per thread"},
        {"shared_memory_bytes", "shared memory"},
        {"blocks_per_sm", "blocks per SM"},
        {"warps_per_sm", "warps per SM"},
        {"occupancy_percent", "est. achieved occupancy %"},
        {"collective", "Collective name"},
        {"dtype", "dtype"},
        {"in_elements", "In msg nelems"},
        {"out_elements", "Out msg nelems"},
        {"group_size", "Group size"},
        {"process_group", "Process Group Name"},
        {"process_group_ranks", "Process Group Ranks"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i][0]) == 0)
            return names[i][1];
    }
    return NULL;
}

/* --- Members. --- */

static void add_text(cJSON *args, const char *name, const char *text)
{
    if (text)
        cJSON_AddStringToObject(args, name, text);
}

static void add_int(cJSON *args, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    if (value != STORE_NULL)
        cJSON_AddRawToObject(args, name, text);
}

/* Parsed and printed again, so that what a program handed in cannot break the file. */
static void add_json(cJSON *args, const char *name, const char *text)
{
    cJSON *value = text ? cJSON_Parse(text) : NULL;

    if (value)
        cJSON_AddItemToObject(args, name, value);
}

/* Kineto has "" for a type that is not known. */
static void add_dtypes(cJSON *args, const char *name, const char *text)
{
    cJSON *list = text ? cJSON_Parse(text) : NULL, *item, *copy;

    if (!cJSON_IsArray(list)) {
        cJSON_Delete(list);
        return;
    }
    copy = cJSON_AddArrayToObject(args, name);
    cJSON_ArrayForEach(item, list) cJSON_AddItemToArray(
        copy, cJSON_CreateString(cJSON_IsString(item) ? item->valuestring : ""));
    cJSON_Delete(list);
}

static void add_params(cJSON *args, const char *text)
{
    cJSON *params = text ? cJSON_Parse(text) : NULL, *item, *next;

    for (item = params ? params->child : NULL; item && cJSON_IsObject(params); item = next) {
        const char *name = kineto_name(item->string);

        next = item->next;
        if (name)
            cJSON_AddItemToObject(args, name, cJSON_DetachItemViaPointer(params, item));
    }
    if (params && params->child)
        cJSON_AddItemToObject(args, "params", params);
    else
        cJSON_Delete(params);
}

/* The op's number and the second in which its session began: one op of one recording, also where
 * several are put together. */
static void add_identity(const struct chrome_writer *writer, cJSON *args, const struct op_row *op)
{
    const struct session_row *session = export_session(writer->export, op->session_id);
    char text[64];

    snprintf(text, sizeof(text), "%" PRId64 "@%" PRId64, op->op_id,
             session->start_ns / INT64_C(1000000000));
    add_text(args, "optrace op", text);
}

static char *make_args(const struct chrome_writer *writer, const struct op_row *op)
{
    cJSON *args = cJSON_CreateObject();
    char *text;

    if (!args)
        return NULL;
    add_identity(writer, args, op);
    add_json(args, "Input Dims", op->input_shapes);
    add_dtypes(args, "Input type", op->input_dtypes);
    add_json(args, "Output Dims", op->output_shapes);
    add_dtypes(args, "Output type", op->output_dtypes);
    add_int(args, "FLOP", op->computation_flop);
    add_int(args, "memory bytes", op->memory_bytes);
    add_text(args, "node id", op->node_id);
    add_text(args, "device name", op->device);
    add_text(args, "source", op->source);
    add_json(args, "origin", op->origin);
    add_params(args, op->params);
    text = cJSON_PrintUnformatted(args);
    cJSON_Delete(args);
    if (!text)
        return NULL;
    export_clean(text); /* what is not stands inside of strings */
    /* Without the braces: more members follow. */
    text[strlen(text) - 1] = '\0';
    memmove(text, text + 1, strlen(text));
    return text;
}

/* --- All ops. --- */

void chrome_add_text(struct text_buffer *buffer, const char *text)
{
    size_t length = strlen(text), size;
    uint32_t code;

    text_buffer_add(buffer, "\"", 1);
    for (size_t i = 0; i < length; i += size ? size : 1) {
        size = text_decode(text + i, length - i, &code);
        if (size == 0)
            text_buffer_add(buffer, "\xef\xbf\xbd", 3);
        else if (text[i] == '"' || text[i] == '\\')
            text_buffer_print(buffer, "\\%c", text[i]);
        else if (text_is_steering(code))
            text_buffer_print(buffer, "\\u%04x", (unsigned)code);
        else
            text_buffer_add(buffer, text + i, size);
    }
    text_buffer_add(buffer, "\"", 1);
}

int chrome_make_ops(struct chrome_writer *writer)
{
    const struct spans_answer *spans = writer->spans;
    int rc = 0;

    writer->ops = calloc(spans->ops.count + 1, sizeof(*writer->ops));
    if (!writer->ops)
        rc = -ENOMEM;
    for (size_t i = 0; i < spans->ops.count && rc == 0; i++) {
        const struct op_row *op = &spans->ops.items[i];
        uint32_t until = writer->export->packed->lanes_until[i];
        /* An op's category depends on where it runs, which for labels is told by the last span. */
        bool is_device = until && spans->lanes.items[until - 1].side == OP_DEVICE;
        struct text_buffer head = {0};

        text_buffer_print(&head, "\"name\":");
        chrome_add_text(&head, op->name);
        text_buffer_print(&head, ",\"cat\":");
        chrome_add_text(&head, category_of(op, is_device));
        writer->ops[i].head = head.text;
        writer->ops[i].args = make_args(writer, op);
        if (head.failed || !writer->ops[i].args)
            rc = -ENOMEM;
    }
    return rc;
}

void chrome_drop_ops(struct chrome_writer *writer)
{
    for (size_t i = 0; writer->ops && i < writer->spans->ops.count; i++) {
        free(writer->ops[i].head);
        cJSON_free(writer->ops[i].args);
    }
    free(writer->ops);
}
