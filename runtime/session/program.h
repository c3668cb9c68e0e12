/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph, or what an execution makes of it, as a numbered list of instructions: what --print-graph
 * shows, and what the lines of --perf-report and --trace-eval are called by.
 *
 * The number of an instruction is its position, parameters and literals included, so that "@17"
 * means the same in all three. A program borrows the graph and the execution it was made from.
 */
#ifndef OPTRACE_RUNTIME_SESSION_PROGRAM_H
#define OPTRACE_RUNTIME_SESSION_PROGRAM_H

#include <stdio.h>

#include "base/array.h"
#include "base/json.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/layout.h"

#define PROGRAM_NONE UINT32_MAX

enum instruction_kind {
    INSTRUCTION_PARAM,   /* an input of the model */
    INSTRUCTION_LITERAL, /* a constant */
    INSTRUCTION_NODE,    /* an operator; of an execution a step */
    INSTRUCTION_VIEW,    /* an operator that costs nothing: its input under another shape */
    INSTRUCTION_RETURN,
};

/* What an instruction reads: an output of an earlier one. */
struct instruction_argument {
    uint32_t instruction; /* PROGRAM_NONE: left out */
    uint32_t output;
};

struct instruction {
    enum instruction_kind kind;
    const char *type;          /* "Conv", "Reorder", "@param", "@literal", "@return" */
    const struct node *node;   /* of NODE and VIEW */
    const struct value *value; /* of PARAM and LITERAL; of a Reorder what it copies; else NULL */
    uint32_t step;             /* of the execution, or PROGRAM_NONE */
    struct instruction_argument *arguments;
    uint32_t argument_count;
    struct layout layout; /* of output 0; other outputs are row-major */
    bool is_in_arena;
    size_t offset; /* of output 0 in the arena */
};

struct program {
    const struct graph *graph;
    struct exec *exec; /* NULL: of a graph alone */
    ARRAY_OF(struct instruction) instructions;
};

/** exec NULL: the nodes of the graph; else the steps of the execution. Returns 0 or -ENOMEM; give
 *  *out_program to program_deinit() after either. */
int program_init(struct program *out_program, const struct graph *graph, struct exec *exec);
void program_deinit(struct program *program);

/** The instruction of a step. */
uint32_t program_find_step(const struct program *program, uint32_t step);

/** Value of output `output` of an instruction, NULL for @return or one that is left out. */
const struct value *program_output(const struct instruction *instruction, uint32_t output);
uint32_t program_output_count(const struct instruction *instruction);

enum { PROGRAM_NAME_BYTES = 16 };

/** "@17"; the name of the input of a parameter. `text` is room for the former. */
const char *program_name(const struct program *program, uint32_t instruction,
                         char text[PROGRAM_NAME_BYTES]);

/**
 * One instruction as text, without the end of the line:
 *
 *     @17 = Conv[group=1,pads={1,1,1,1}](x,@3) -> float32, {1,4,8,8}, {256,64,8,1} # conv1, relu1
 *
 * name = operator[attributes](arguments) -> type, {lengths}, {strides} of its output, strides in
 * elements; several outputs in [...], the second one called "@17.1" where it is read. Attributes
 * that are ours: fused= what passes folded in, by= the implementation that was chosen, arena= where
 * the output begins in the memory that intermediate tensors share, in bytes. Behind # stand the
 * names of the model's nodes.
 */
void program_write_instruction(const struct program *program, uint32_t instruction, FILE *out);

/** All of them, a line each, below `module: "main"`. */
void program_write_text(const struct program *program, FILE *out);

/** As a directed graph for Graphviz. Edges bear the shape of what flows on them. brief: operators
 *  only, no attributes, no shapes. */
void program_write_dot(const struct program *program, const char *name, bool brief, FILE *out);

/** As an object {"name", "instructions": [{"name", "operator", "attributes", "inputs", "outputs":
 *  [{"type", "lens", "strides"}], "implementation", "arena_offset", "origins", "literal"}]}. */
void program_write_json(const struct program *program, const char *name, struct json_writer *json);

#endif
