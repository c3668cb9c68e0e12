/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as JSON. */
#include "runtime/graph/element.h"
#include "runtime/graph/text.h"
#include "runtime/session/program.h"

enum { LITERAL_ELEMENTS_MAX = 10 };

static void write_numbers(struct json_writer *json, const char *key, const int64_t *numbers,
                          int count)
{
    json_key(json, key);
    json_begin_array(json);
    for (int i = 0; i < count; i++)
        json_int(json, numbers[i]);
    json_end_array(json);
}

static void write_output(struct json_writer *json, const struct value *value,
                         const struct layout *layout)
{
    int64_t strides[SHAPE_MAX_RANK];

    if (!value) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_key(json, "type");
    json_string(json, dtype_name(value->dtype));
    if (value->shape.rank >= 0)
        write_numbers(json, "lens", value->shape.dims, value->shape.rank);
    if (shape_is_known(&value->shape) && layout->rank == value->shape.rank) {
        layout_strides(layout, &value->shape, strides);
        write_numbers(json, "strides", strides, value->shape.rank);
    }
    json_end_object(json);
}

static void write_outputs(struct json_writer *json, const struct instruction *instruction)
{
    json_key(json, "outputs");
    json_begin_array(json);
    for (uint32_t i = 0; i < program_output_count(instruction); i++) {
        const struct value *value = program_output(instruction, i);
        struct layout row_major =
            layout_row_major(!value || value->shape.rank < 0 ? 0 : value->shape.rank);

        write_output(json, value, i == 0 ? &instruction->layout : &row_major);
    }
    json_end_array(json);
}

static void write_inputs(const struct program *program, struct json_writer *json,
                         const struct instruction *instruction)
{
    json_key(json, "inputs");
    json_begin_array(json);
    for (uint32_t i = 0; i < instruction->argument_count; i++) {
        const struct instruction_argument *argument = &instruction->arguments[i];
        char name[PROGRAM_NAME_BYTES], text[320];

        if (argument->instruction == PROGRAM_NONE) {
            json_null(json);
        } else if (argument->output == 0) {
            json_string(json, program_name(program, argument->instruction, name));
        } else {
            snprintf(text, sizeof(text), "%s.%u",
                     program_name(program, argument->instruction, name), argument->output);
            json_string(json, text);
        }
    }
    json_end_array(json);
}

static void write_literal(struct json_writer *json, const struct value *value)
{
    int64_t count = shape_elements(&value->shape);

    if (count > LITERAL_ELEMENTS_MAX)
        return;
    json_key(json, "literal");
    json_begin_array(json);
    for (int64_t i = 0; i < count; i++)
        json_double(json, (double)element_get(value->data, value->dtype, i));
    json_end_array(json);
}

static void write_node(const struct program *program, struct json_writer *json,
                       const struct instruction *instruction)
{
    const struct node *node = instruction->node;

    json_key(json, "attributes");
    json_begin_object(json);
    if (node)
        graph_text_params(node, json);
    json_end_object(json);
    write_inputs(program, json, instruction);
    if (instruction->step != PROGRAM_NONE) {
        json_key(json, "implementation");
        json_string(json, exec_step(program->exec, instruction->step)->implementation);
    }
    if (instruction->is_in_arena) {
        json_key(json, "arena_offset");
        json_uint(json, instruction->offset);
    }
    if (instruction->kind == INSTRUCTION_VIEW) {
        json_key(json, "is_view");
        json_bool(json, true);
    }
    json_key(json, "origins");
    json_begin_array(json);
    for (uint32_t i = 0; node && i < node->origin_count; i++)
        json_string(json, node->origins[i]);
    json_end_array(json);
}

void program_write_json(const struct program *program, const char *name, struct json_writer *json)
{
    char text[PROGRAM_NAME_BYTES];

    json_begin_object(json);
    json_key(json, "name");
    json_string(json, name);
    json_key(json, "instructions");
    json_begin_array(json);
    for (uint32_t i = 0; i < program->instructions.count; i++) {
        const struct instruction *instruction = &program->instructions.items[i];

        json_begin_object(json);
        json_key(json, "name");
        json_string(json, program_name(program, i, text));
        json_key(json, "operator");
        json_string(json, instruction->type);
        if (instruction->kind == INSTRUCTION_LITERAL)
            write_literal(json, instruction->value);
        else if (instruction->kind != INSTRUCTION_PARAM)
            write_node(program, json, instruction);
        write_outputs(json, instruction);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}
