/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON for programs: one object; a member for each section (facts: an object; a table: "columns"
 * and "rows"), "notes" last. Numbers are not rounded or scaled, what is not known is null.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"
#include "base/json.h"

struct json_state {
    struct json_writer json;   /* the first member: most of this file knows of no other */
    ARRAY_OF(char *) sections; /* that are there, for json_nothing() */
};

static int json_open(struct out *out)
{
    struct json_state *state = calloc(1, sizeof(*state));
    struct json_writer *json = state ? &state->json : NULL;

    if (!json)
        return -ENOMEM;
    out->state = state;
    json_init_file(json, out->options.stream);
    json_set_indent(json, 3);
    json_begin_object(json);
    json_key(json, "format_version");
    json_int(json, OUT_JSON_VERSION);
    json_key(json, "report");
    json_string(json, out->options.report);
    return 0;
}

/* JSON from a store may be anything: what does not parse is passed on as a string. */
static void write_parsed(struct json_writer *json, const cJSON *item)
{
    const cJSON *child;

    if (cJSON_IsNumber(item)) {
        json_double(json, item->valuedouble);
    } else if (cJSON_IsString(item)) {
        json_string(json, item->valuestring);
    } else if (cJSON_IsBool(item)) {
        json_bool(json, cJSON_IsTrue(item));
    } else if (cJSON_IsArray(item)) {
        json_begin_array(json);
        cJSON_ArrayForEach(child, item) write_parsed(json, child);
        json_end_array(json);
    } else if (cJSON_IsObject(item)) {
        json_begin_object(json);
        cJSON_ArrayForEach(child, item)
        {
            json_key(json, child->string);
            write_parsed(json, child);
        }
        json_end_object(json);
    } else {
        json_null(json);
    }
}

/* True when no bracket is deeper than the writer allows below the four of a table's row. */
static bool is_shallow(const cJSON *item, unsigned depth)
{
    const cJSON *child;

    if (depth > JSON_DEPTH_MAX - 8)
        return false;
    cJSON_ArrayForEach(child, item)
    {
        if (!is_shallow(child, depth + 1))
            return false;
    }
    return true;
}

static void write_value(struct json_writer *json, const struct out_value *value)
{
    if (!value->known) {
        json_null(json);
    } else if (value->kind == OUT_TEXT) {
        json_string(json, value->text);
    } else if (out_is_text(value->kind)) {
        cJSON *parsed = cJSON_Parse(value->text);

        if (parsed && is_shallow(parsed, 0))
            write_parsed(json, parsed);
        else
            json_string(json, value->text);
        cJSON_Delete(parsed);
    } else if (value->kind == OUT_BOOL) {
        json_bool(json, value->integer != 0);
    } else if (out_is_integer(value->kind)) {
        json_int(json, value->integer);
    } else {
        json_double(json, value->real);
    }
}

static void begin_section(struct out *out, const char *name)
{
    struct json_state *state = out->state;
    char *copy = strdup(name);

    if (!copy || array_push(&state->sections, copy) < 0) {
        free(copy);
        out_fail(out, -ENOMEM);
    }
    json_key(&state->json, name);
    json_begin_object(&state->json);
}

static void json_facts(struct out *out, const struct out_section *section,
                       const struct out_fact *facts, size_t count)
{
    struct json_writer *json = out->state;

    begin_section(out, section->name);
    for (size_t i = 0; i < count; i++) {
        if (!facts[i].name)
            continue;
        json_key(json, facts[i].name);
        write_value(json, &facts[i].value);
    }
    json_end_object(json);
}

static void json_table_begin(struct out *out)
{
    struct json_writer *json = out->state;

    begin_section(out, out->section->name);
    json_key(json, "rows");
    json_begin_array(json);
}

static void json_row(struct out *out, const struct out_value *values)
{
    struct json_writer *json = out->state;

    json_begin_object(json);
    for (size_t i = 0; i < out->column_count; i++) {
        json_key(json, out->columns[i].name);
        write_value(json, &values[i]);
    }
    json_end_object(json);
}

static void json_table_end(struct out *out)
{
    json_end_array(out->state);
    json_end_object(out->state);
}

static bool has_section(const struct json_state *state, const char *name)
{
    for (size_t i = 0; i < state->sections.count; i++) {
        if (strcmp(state->sections.items[i], name) == 0)
            return true;
    }
    return false;
}

static void json_nothing(struct out *out, const char *const *tables)
{
    struct json_state *state = out->state;

    for (; tables && *tables; tables++) {
        if (has_section(state, *tables))
            continue;
        begin_section(out, *tables);
        json_key(&state->json, "rows");
        json_begin_array(&state->json);
        json_table_end(out);
    }
}

static void json_close(struct out *out)
{
    struct json_state *state = out->state;
    struct json_writer *json = &state->json;

    if (!out->error) {
        json_key(json, "notes");
        json_begin_array(json);
        for (size_t i = 0; i < out->notes.count; i++) {
            json_begin_object(json);
            json_key(json, "kind");
            json_string(json, out->notes.items[i].kind == OUT_NOTE_WARNING ? "warning" : "plain");
            json_key(json, "text");
            json_string(json, out->notes.items[i].text);
            json_end_object(json);
        }
        json_end_array(json);
        json_end_object(json);
        out_fail(out, json_finish(json));
    }
    json_deinit(json);
    for (size_t i = 0; i < state->sections.count; i++)
        free(state->sections.items[i]);
    array_deinit(&state->sections);
    free(state);
}

const struct out_printer out_json_printer = {
    .open = json_open,
    .facts = json_facts,
    .table_begin = json_table_begin,
    .row = json_row,
    .table_end = json_table_end,
    .nothing = json_nothing,
    .close = json_close,
};
