/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as lines of text. */
#include <inttypes.h>

#include "base/text.h"
#include "runtime/graph/text.h"
#include "runtime/session/program.h"

static void write_argument(const struct program *program,
                           const struct instruction_argument *argument, FILE *out)
{
    char text[PROGRAM_NAME_BYTES];

    if (argument->instruction == PROGRAM_NONE)
        return; /* left out: nothing between the commas */
    text_put(program_name(program, argument->instruction, text), out);
    if (argument->output > 0)
        fprintf(out, ".%u", argument->output);
}

static void write_arguments(const struct program *program, const struct instruction *instruction,
                            FILE *out)
{
    fputc('(', out);
    for (uint32_t i = 0; i < instruction->argument_count; i++) {
        if (i > 0)
            fputc(',', out);
        write_argument(program, &instruction->arguments[i], out);
    }
    fputc(')', out);
}

/* "float32, {1,3}, {3,1}"; without strides where they are not known. */
static void write_shape(const struct value *value, const struct layout *layout, FILE *out)
{
    char text[SHAPE_TEXT_BYTES];
    int64_t strides[SHAPE_MAX_RANK];

    text_print(out, "%s, %s", dtype_name(value->dtype), shape_text(&value->shape, text));
    if (!shape_is_known(&value->shape) || layout->rank != value->shape.rank)
        return;
    layout_strides(layout, &value->shape, strides);
    fputs(", {", out);
    for (int i = 0; i < value->shape.rank; i++)
        text_print(out, "%s%" PRId64, i > 0 ? "," : "", strides[i]);
    fputc('}', out);
}

static void write_outputs(const struct instruction *instruction, FILE *out)
{
    uint32_t count = program_output_count(instruction);

    if (count == 0)
        return;
    fputs(count > 1 ? " -> [" : " -> ", out);
    for (uint32_t i = 0; i < count; i++) {
        const struct value *value = program_output(instruction, i);
        struct layout row_major;

        if (i > 0)
            fputs(", ", out);
        if (!value)
            continue;
        row_major = layout_row_major(value->shape.rank < 0 ? 0 : value->shape.rank);
        write_shape(value, i == 0 ? &instruction->layout : &row_major, out);
    }
    if (count > 1)
        fputc(']', out);
}

/* Begins the list of attributes with its first, and parts the others. */
static void next_attribute(bool *has_any, FILE *out)
{
    fputc(*has_any ? ',' : '[', out);
    *has_any = true;
}

static void write_attributes(const struct program *program, const struct instruction *instruction,
                             FILE *out)
{
    const struct node *node = instruction->node;
    bool has_any = false;

    for (uint32_t i = 0; node && i < node->attribute_count; i++) {
        next_attribute(&has_any, out);
        graph_text_attribute(&node->attributes[i], out);
    }
    if (node && node->fused.activation != ACTIVATION_NONE) {
        next_attribute(&has_any, out);
        fputs("fused=", out);
        graph_text_activation(&node->fused, out);
    }
    if (node && node->fused.residual_input >= 0) {
        next_attribute(&has_any, out);
        fprintf(out, "residual=%d", node->fused.residual_input);
    }
    if (instruction->step != PROGRAM_NONE) {
        next_attribute(&has_any, out);
        text_print(out, "by=\"%s\"", exec_step(program->exec, instruction->step)->implementation);
    }
    if (instruction->is_in_arena) {
        next_attribute(&has_any, out);
        fprintf(out, "arena=%zu", instruction->offset);
    }
    if (has_any)
        fputc(']', out);
}

void program_write_instruction(const struct program *program, uint32_t index, FILE *out)
{
    const struct instruction *instruction = &program->instructions.items[index];
    const struct node *node = instruction->node;
    char text[PROGRAM_NAME_BYTES];

    text_print(out, "%s = ", program_name(program, index, text));
    if (instruction->kind == INSTRUCTION_VIEW)
        fputs("view:", out);
    if (node && node->domain[0] != '\0')
        text_print(out, "%s.", node->domain);
    text_put(instruction->type, out);
    if (instruction->kind == INSTRUCTION_PARAM) {
        text_print(out, ":%s", instruction->value->name);
    } else if (instruction->kind == INSTRUCTION_LITERAL) {
        struct tensor_view view = {instruction->value->dtype, instruction->value->shape,
                                   instruction->value->data};

        graph_text_elements(&view, out);
    } else {
        write_attributes(program, instruction, out);
        write_arguments(program, instruction, out);
    }
    write_outputs(instruction, out);
    for (uint32_t i = 0; node && i < node->origin_count; i++)
        text_print(out, "%s%s", i == 0 ? " # " : ", ", node->origins[i]);
}

void program_write_text(const struct program *program, FILE *out)
{
    fputs("module: \"main\"\n", out);
    for (size_t i = 0; i < program->instructions.count; i++) {
        program_write_instruction(program, (uint32_t)i, out);
        fputc('\n', out);
    }
}
