/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as a directed graph for Graphviz. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/graph/text.h"
#include "runtime/session/program.h"

/* In a quoted string of DOT, in which a backslash stands for itself behind another. */
static void write_text(const char *text, FILE *out)
{
    char shown[TEXT_SHOWN_BYTES];

    for (size_t at = 0, length = strlen(text); at < length;) {
        at += text_show_next(text + at, length - at, shown);
        text_print(out, "%s%s", shown[0] == '"' || shown[0] == '\\' ? "\\" : "", shown);
    }
}

static const char *color_of(const struct instruction *instruction)
{
    switch (instruction->kind) {
    case INSTRUCTION_PARAM:
        return "#f5e9a9";
    case INSTRUCTION_LITERAL:
        return "#b9d9ea";
    case INSTRUCTION_VIEW:
        return "#e3e3e3";
    case INSTRUCTION_RETURN:
        return "#f3c6a5";
    case INSTRUCTION_NODE:
        break;
    }
    return strcmp(instruction->type, "Reorder") == 0 ? "#f0b6b6" : "#c9e2b3";
}

/* "\l" ends a line that is aligned to the left. */
static void write_attributes(const struct program *program, const struct instruction *instruction,
                             FILE *out)
{
    const struct node *node = instruction->node;
    char *text = NULL;
    size_t bytes;
    FILE *lines = open_memstream(&text, &bytes);

    if (!lines)
        return;
    for (uint32_t i = 0; node && i < node->attribute_count; i++) {
        graph_text_attribute(&node->attributes[i], lines);
        fputc('\n', lines);
    }
    if (node && node->fused.activation != ACTIVATION_NONE) {
        fputs("fused=", lines);
        graph_text_activation(&node->fused, lines);
        fputc('\n', lines);
    }
    if (instruction->step != PROGRAM_NONE)
        text_print(lines, "by %s\n", exec_step(program->exec, instruction->step)->implementation);
    if (fclose(lines) == 0) {
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            fputs("\\n", out);
            write_text(line, out);
        }
    }
    free(text);
}

static void write_node(const struct program *program, uint32_t index, bool brief, FILE *out)
{
    const struct instruction *instruction = &program->instructions.items[index];
    char name[PROGRAM_NAME_BYTES];

    text_print(out, "    \"@%u\" [fillcolor=\"%s\" label=\"", index, color_of(instruction));
    write_text(instruction->type, out);
    if (instruction->kind == INSTRUCTION_PARAM || !brief) {
        fputs("\\n", out);
        write_text(program_name(program, index, name), out);
    }
    if (!brief)
        write_attributes(program, instruction, out);
    fputs("\"]\n", out);
}

static void write_edges(const struct program *program, uint32_t index, bool brief, FILE *out)
{
    const struct instruction *instruction = &program->instructions.items[index];
    char text[SHAPE_TEXT_BYTES];

    for (uint32_t i = 0; i < instruction->argument_count; i++) {
        const struct instruction_argument *argument = &instruction->arguments[i];
        const struct value *value;

        if (argument->instruction == PROGRAM_NONE)
            continue;
        value =
            program_output(&program->instructions.items[argument->instruction], argument->output);
        fprintf(out, "    \"@%u\" -> \"@%u\"", argument->instruction, index);
        if (!brief && value)
            text_print(out, " [label=\"%s %s\"]", dtype_name(value->dtype),
                       shape_text(&value->shape, text));
        fputc('\n', out);
    }
}

void program_write_dot(const struct program *program, const char *name, bool brief, FILE *out)
{
    text_print(
        out,
        "digraph \"%s\" {\n"
        "    label=\"%s\"\n"
        "    node [shape=box style=\"filled,rounded\" color=\"#777777\" fontname=\"Helvetica\" "
        "fontsize=11]\n"
        "    edge [color=\"#777777\" fontname=\"Helvetica\" fontsize=9]\n",
        name, name);
    for (uint32_t i = 0; i < program->instructions.count; i++)
        write_node(program, i, brief, out);
    for (uint32_t i = 0; i < program->instructions.count; i++)
        write_edges(program, i, brief, out);
    fputs("}\n", out);
}
