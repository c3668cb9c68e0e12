/* SPDX-License-Identifier: Apache-2.0 */
/* From a graph or an execution to a list of instructions. */
#include "runtime/session/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Adding instructions. --- */

static int add(struct program *program, struct instruction instruction, uint32_t argument_count)
{
    instruction.argument_count = argument_count;
    instruction.arguments = calloc(argument_count + 1, sizeof(*instruction.arguments));
    if (!instruction.arguments)
        return -ENOMEM;
    for (uint32_t i = 0; i < argument_count; i++)
        instruction.arguments[i].instruction = PROGRAM_NONE;
    if (array_push(&program->instructions, instruction) < 0) {
        free(instruction.arguments);
        return -ENOMEM;
    }
    return 0;
}

static int add_source(struct program *program, enum instruction_kind kind,
                      const struct value *value)
{
    struct instruction instruction = {
        .kind = kind,
        .type = kind == INSTRUCTION_PARAM ? "@param" : "@literal",
        .value = value,
        .step = PROGRAM_NONE,
        .layout = layout_row_major(value->shape.rank < 0 ? 0 : value->shape.rank),
    };

    return add(program, instruction, 0);
}

uint32_t program_output_count(const struct instruction *instruction)
{
    if (instruction->value)
        return 1;
    return instruction->node ? instruction->node->output_count : 0;
}

const struct value *program_output(const struct instruction *instruction, uint32_t output)
{
    if (output >= program_output_count(instruction))
        return NULL;
    return instruction->value ? instruction->value : instruction->node->outputs[output];
}

/* --- Who made what is read. --- */

/* The last instruction that makes the value, in this layout if there is one (layout NULL: any). */
static struct instruction_argument
find_maker(const struct program *program, const struct value *value, const struct layout *layout)
{
    struct instruction_argument any = {.instruction = PROGRAM_NONE};

    for (size_t i = program->instructions.count; i-- > 0;) {
        const struct instruction *maker = &program->instructions.items[i];

        for (uint32_t k = 0; k < program_output_count(maker); k++) {
            struct instruction_argument found = {(uint32_t)i, k};

            if (program_output(maker, k) != value)
                continue;
            if (!layout || k > 0 || layout_same(&maker->layout, layout, &value->shape))
                return found;
            if (any.instruction == PROGRAM_NONE)
                any = found;
        }
    }
    return any;
}

/* --- A graph alone. --- */

static int add_node(struct program *program, const struct node *node)
{
    const struct value *y = node_output(node, 0);
    struct instruction instruction = {
        .kind = INSTRUCTION_NODE,
        .type = node->op_type,
        .node = node,
        .step = PROGRAM_NONE,
        .layout = layout_row_major(y && y->shape.rank > 0 ? y->shape.rank : 0),
    };
    struct instruction_argument *arguments;
    int rc = add(program, instruction, node->input_count);

    if (rc < 0)
        return rc;
    arguments = program->instructions.items[program->instructions.count - 1].arguments;
    program->instructions.count--; /* it does not read itself */
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i])
            arguments[i] = find_maker(program, node->inputs[i], NULL);
    }
    program->instructions.count++;
    return 0;
}

static int add_graph(struct program *program)
{
    const struct graph *graph = program->graph;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++) {
        if (graph->values[i]->data)
            rc = add_source(program, INSTRUCTION_LITERAL, graph->values[i]);
    }
    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++)
        rc = add_node(program, graph->nodes[i]);
    return rc;
}

/* --- An execution. --- */

/* The layout in which some step reads a value that no step makes. */
static struct layout layout_of_view(const struct program *program, const struct value *value)
{
    struct exec_operand operand;

    for (uint32_t step = 0; step < exec_step_count(program->exec); step++) {
        for (uint32_t i = 0; i < exec_step(program->exec, step)->input_count; i++) {
            if (exec_step_input(program->exec, step, i, &operand) && operand.value == value)
                return operand.layout;
        }
    }
    return layout_row_major(value->shape.rank);
}

static int add_view(struct program *program, const struct node *node)
{
    struct instruction *view;
    int rc = add_node(program, node);

    if (rc == 0 && node_output(node, 0)) {
        view = &program->instructions.items[program->instructions.count - 1];
        view->kind = INSTRUCTION_VIEW;
        view->layout = layout_of_view(program, node_output(node, 0));
    }
    return rc;
}

static int add_step(struct program *program, uint32_t index)
{
    const struct exec_step *step = exec_step(program->exec, index);
    bool is_reorder = strcmp(step->type, step->node->op_type) != 0;
    struct instruction instruction = {
        .kind = INSTRUCTION_NODE,
        .type = step->type,
        .node = is_reorder ? NULL : step->node,
        .value = is_reorder ? step->outputs[0] : NULL,
        .step = index,
    };
    struct instruction_argument *arguments;
    struct exec_operand operand;
    int rc;

    if (step->output_count > 0 && step->outputs[0])
        instruction.layout = layout_row_major(step->outputs[0]->shape.rank);
    if (exec_step_output(program->exec, index, 0, &operand)) {
        instruction.layout = operand.layout;
        instruction.is_in_arena = !operand.is_constant && !operand.is_input;
        instruction.offset = operand.offset;
    }
    rc = add(program, instruction, step->input_count);
    if (rc < 0)
        return rc;
    arguments = program->instructions.items[--program->instructions.count].arguments;
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (exec_step_input(program->exec, index, i, &operand))
            arguments[i] = find_maker(program, operand.value, &operand.layout);
    }
    program->instructions.count++;
    return 0;
}

/* Constants that the steps read; others were folded away or are parameters of a kernel. */
static int add_literals(struct program *program)
{
    struct exec_operand operand;
    int rc = 0;

    for (uint32_t step = 0; step < exec_step_count(program->exec); step++) {
        for (uint32_t i = 0; rc == 0 && i < exec_step(program->exec, step)->input_count; i++) {
            if (exec_step_input(program->exec, step, i, &operand) && operand.is_constant &&
                find_maker(program, operand.value, NULL).instruction == PROGRAM_NONE &&
                operand.value->data)
                rc = add_source(program, INSTRUCTION_LITERAL, operand.value);
        }
    }
    return rc;
}

static int add_exec(struct program *program)
{
    const struct graph *graph = program->graph;
    uint32_t step = 0;
    int rc = add_literals(program);

    /* Steps stand in the order of their nodes; a node without any is a view. */
    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool has_step = false;

        while (rc == 0 && step < exec_step_count(program->exec) &&
               exec_step(program->exec, step)->node == node) {
            has_step = has_step || strcmp(exec_step(program->exec, step)->type, "Reorder") != 0;
            rc = add_step(program, step++);
        }
        if (rc == 0 && !has_step)
            rc = add_view(program, node);
    }
    for (; rc == 0 && step < exec_step_count(program->exec); step++)
        rc = add_step(program, step); /* reorders of the graph's outputs */
    return rc;
}

/* --- All of it. --- */

int program_init(struct program *program, const struct graph *graph, struct exec *exec)
{
    struct instruction last = {.kind = INSTRUCTION_RETURN, .type = "@return", .step = PROGRAM_NONE};
    int rc = 0;

    *program = (struct program){.graph = graph, .exec = exec};
    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++)
        rc = add_source(program, INSTRUCTION_PARAM, graph->inputs[i]);
    if (rc == 0)
        rc = exec ? add_exec(program) : add_graph(program);
    if (rc == 0)
        rc = add(program, last, graph->output_count);
    for (uint32_t i = 0; rc == 0 && i < graph->output_count; i++) {
        struct layout layout =
            layout_row_major(graph->outputs[i]->shape.rank < 0 ? 0 : graph->outputs[i]->shape.rank);

        program->instructions.items[program->instructions.count - 1].arguments[i] =
            find_maker(program, graph->outputs[i], exec ? &layout : NULL);
    }
    return rc;
}

void program_deinit(struct program *program)
{
    for (size_t i = 0; i < program->instructions.count; i++)
        free(program->instructions.items[i].arguments);
    array_deinit(&program->instructions);
}

uint32_t program_find_step(const struct program *program, uint32_t step)
{
    for (size_t i = 0; i < program->instructions.count; i++) {
        if (program->instructions.items[i].step == step)
            return (uint32_t)i;
    }
    return PROGRAM_NONE;
}

const char *program_name(const struct program *program, uint32_t instruction,
                         char text[PROGRAM_NAME_BYTES])
{
    const struct instruction *named = &program->instructions.items[instruction];

    if (named->kind == INSTRUCTION_PARAM)
        return named->value->name;
    snprintf(text, PROGRAM_NAME_BYTES, "@%u", instruction);
    return text;
}
