/* SPDX-License-Identifier: Apache-2.0 */
/* Every step against its reference. */
#include "runtime/modes/check_ops.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/graph/compare.h"
#include "runtime/ops/eval.h"
#include "runtime/session/program.h"
#include "runtime/session/session.h"
#include "runtime/session/steps.h"

struct check {
    const struct check_config *config;
    const struct program *program;
    FILE *out;
    uint32_t checked, differing, first; /* first: instruction, or PROGRAM_NONE */
};

/* Row-major copies of what a step reads, and room for what its reference makes. */
struct copies {
    struct tensor_view *inputs, *outputs;
    uint32_t input_count, output_count;
};

static void free_views(struct tensor_view *views, uint32_t count)
{
    for (uint32_t i = 0; views && i < count; i++)
        free(views[i].data);
    free(views);
}

static int take_copies(const struct exec *exec, uint32_t index, struct copies *out_copies)
{
    const struct exec_step *step = exec_step(exec, index);
    struct exec_operand operand;
    int rc = 0;

    *out_copies = (struct copies){
        .inputs = calloc(step->input_count + 1, sizeof(*out_copies->inputs)),
        .outputs = calloc(step->output_count + 1, sizeof(*out_copies->outputs)),
        .input_count = step->input_count,
        .output_count = step->output_count,
    };
    if (!out_copies->inputs || !out_copies->outputs)
        return -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < step->input_count; i++) {
        if (exec_step_input(exec, index, i, &operand))
            rc = steps_copy(exec, &operand, &out_copies->inputs[i]);
    }
    for (uint32_t i = 0; rc == 0 && i < step->output_count; i++) {
        const struct value *value = step->outputs[i];

        if (!value)
            continue;
        out_copies->outputs[i] = (struct tensor_view){
            value->dtype, value->shape,
            graph_alloc_data((size_t)shape_bytes(&value->shape, value->dtype))};
        rc = out_copies->outputs[i].data ? 0 : -ENOMEM;
    }
    return rc;
}

/* --- Comparing. --- */

static void print_difference(const struct check *check, uint32_t instruction, uint32_t output,
                             const struct tensor_view *expected, const struct comparison *result)
{
    char name[PROGRAM_NAME_BYTES], index[SHAPE_TEXT_BYTES];
    const struct instruction *at = &check->program->instructions.items[instruction];
    const struct exec_step *step = exec_step(check->program->exec, at->step);

    text_print(
        check->out,
        "%s %s (%s, by %s): output %u: %" PRId64 " of %" PRId64
        " elements differ, worst at %s: %.9Lg, not %.9Lg; the difference %.3g is above %.3g\n",
        program_name(check->program, instruction, name), step->name, step->type,
        step->implementation, output, result->mismatches, result->count,
        compare_index_text(&expected->shape, result->worst_index, index), result->worst_got,
        result->worst_expected, result->worst_error, result->worst_allowed);
}

/* What nobody reads need not be written. */
static bool is_read(const struct value *value)
{
    return value->consumer_count > 0 || value->is_output;
}

static int compare_output(struct check *check, uint32_t instruction, uint32_t output,
                          const struct tensor_view *expected, bool *out_all_agree)
{
    const struct exec *exec = check->program->exec;
    uint32_t step = check->program->instructions.items[instruction].step;
    struct tolerance tolerance =
        compare_tolerance(expected, check->config->rtol, check->config->atol);
    struct exec_operand operand;
    struct comparison result;
    struct tensor_view got;
    int rc;

    tolerance.rms = check->config->rms_tol;

    if (!expected->data || !exec_step_output(exec, step, output, &operand) ||
        !is_read(operand.value))
        return 0;
    rc = steps_copy(exec, &operand, &got);
    if (rc < 0)
        return rc;
    result = compare_tensors(&got, expected, &tolerance);
    if (!comparison_passed(&result)) {
        print_difference(check, instruction, output, expected, &result);
        *out_all_agree = false;
    }
    free(got.data);
    return 0;
}

static void note_step(struct check *check, uint32_t instruction, bool all_agree)
{
    const struct exec *exec = check->program->exec;
    const struct exec_step *step =
        exec_step(exec, check->program->instructions.items[instruction].step);
    char name[PROGRAM_NAME_BYTES];

    check->checked++;
    if (!all_agree && check->differing++ == 0)
        check->first = instruction;
    if (all_agree && check->config->verbose)
        text_print(check->out, "%s %s (%s, by %s): agrees\n",
                   program_name(check->program, instruction, name), step->name, step->type,
                   step->implementation);
}

/* What the step goes by where its data makes outputs of other sizes: see exec_resized_step(). */
static void take_inferred(const struct node *node, struct copies *copies)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];
        struct tensor_view *input = &copies->inputs[i];

        if (value && value->known && input->data && value->dtype == input->dtype)
            memcpy(input->data, value->known, (size_t)shape_bytes(&input->shape, input->dtype));
    }
}

static int compute_copies(const struct graph *graph, const struct node *node, struct copies *copies,
                          struct diag *diag)
{
    int rc = eval_node(graph, node, copies->inputs, copies->outputs, diag);

    if (rc != -ESTALE)
        return rc;
    take_inferred(node, copies);
    return eval_node(graph, node, copies->inputs, copies->outputs, diag);
}

static int check_step(struct check *check, uint32_t instruction, struct diag *diag)
{
    struct exec *exec = check->program->exec;
    uint32_t index = check->program->instructions.items[instruction].step;
    const struct node *node = check->program->instructions.items[instruction].node;
    struct copies copies;
    bool all_agree = true;
    int rc;

    if (!node) /* a Reorder: what it moved is compared where it is read */
        return exec_run_step(exec, index, NULL, diag);
    rc = take_copies(exec, index, &copies);
    if (rc < 0)
        diag_set(diag, rc, "no memory to check \"%s\"", node->name);
    if (rc == 0)
        rc = compute_copies(check->program->graph, node, &copies, diag);
    if (rc == 0)
        rc = exec_run_step(exec, index, NULL, diag);
    for (uint32_t i = 0; rc == 0 && i < copies.output_count; i++)
        rc = compare_output(check, instruction, i, &copies.outputs[i], &all_agree);
    if (rc == 0)
        note_step(check, instruction, all_agree);
    free_views(copies.inputs, copies.input_count);
    free_views(copies.outputs, copies.output_count);
    return rc;
}

static int check_all(struct check *check, struct diag *diag)
{
    const struct program *program = check->program;
    char name[PROGRAM_NAME_BYTES];
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < program->instructions.count; i++) {
        if (program->instructions.items[i].step != PROGRAM_NONE)
            rc = check_step(check, i, diag);
    }
    if (rc < 0)
        return rc;
    if (check->differing == 0)
        fprintf(check->out, "passed: all %u operators agree with their reference\n",
                check->checked);
    else
        text_print(check->out, "failed: %u of %u operators differ, the first is %s %s\n",
                   check->differing, check->checked, program_name(program, check->first, name),
                   program->instructions.items[check->first].node->name);
    return check->differing == 0;
}

int check_ops(const struct check_config *config, FILE *out, struct diag *diag)
{
    const struct session_config session_config = {.inputs = config->inputs,
                                                  .seed = config->seed,
                                                  .exec = config->exec,
                                                  .passes = config->passes};
    struct session *session = NULL;
    struct program program = {0};
    struct check check = {.config = config, .program = &program, .out = out, .first = PROGRAM_NONE};
    int rc = session_load(config->path, false, false, config->inputs, &session, diag);

    if (rc == 0)
        rc = session_prepare(session, &session_config, diag);
    if (rc == 0)
        rc = program_init(&program, session->graph, session->exec);
    if (rc == 0)
        rc = check_all(&check, diag);
    program_deinit(&program);
    session_destroy(&session);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the check") : rc;
}
