/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: If and Loop. Their outputs' shapes follow from those of their inputs where both
 * branches, or all turns, agree; else the node is run for the content of its inputs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "runtime/ops/control.h"
#include "runtime/ops/shape/infer.h"

/* The node's inputs, with what is known of their content. */
static struct tensor_view *input_views(const struct node *node)
{
    struct tensor_view *views = calloc((size_t)node->input_count + 1, sizeof(*views));

    for (uint32_t i = 0; views && i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        if (value)
            views[i] = (struct tensor_view){value->dtype, value->shape,
                                            value->data ? value->data : value->known};
    }
    return views;
}

/* Runs the node: its outputs, and their content, are what comes out. */
static int run_now(struct infer *infer)
{
    const struct node *node = infer->node;
    struct tensor_view *outputs = calloc((size_t)node->output_count + 1, sizeof(*outputs));
    struct tensor_view *inputs = NULL;
    struct kernel_table kernels;
    struct eval_options options = {.kernels = &kernels};
    const void *ignored;
    int rc = outputs ? 0 : -ENOMEM;

    if (!infer->eval)
        rc = infer_unsupported(infer, "the shapes of its outputs depend on running it");
    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++) {
        if (node->inputs[i])
            rc = infer_content(infer, i, &ignored);
    }
    if (rc == 0 && !(inputs = input_views(node)))
        rc = -ENOMEM;
    if (rc == 0) {
        /* Those of the run, which then finds as many numbers. */
        kernel_table_init(&kernels, kernel_best_level());
        rc = control_run(node, inputs, outputs, &options, infer->diag);
    }
    for (uint32_t i = 0; outputs && i < node->output_count; i++) {
        if (rc == 0)
            rc = infer_output(infer, i, outputs[i].dtype, &outputs[i].shape);
        if (rc == 0 && node->outputs[i] && !node->outputs[i]->known)
            node->outputs[i]->known = outputs[i].data;
        else
            free(outputs[i].data);
    }
    free(outputs);
    free(inputs);
    return rc;
}

/* What a body asked may be any input's content. */
static void note_all(struct infer *infer, bool has_asked)
{
    for (uint32_t i = 0; has_asked && i < infer->node->input_count; i++)
        infer_note_asked(infer, i);
}

/* The types of a branch's outputs, as far as they follow from what is known. */
static int branch_types(struct infer *infer, const char *name, const struct tensor_view *inputs,
                        struct tensor_view *outputs, struct diag *diag)
{
    struct graph *body = node_graph(infer->node, name);
    struct tensor_view *fed = calloc((size_t)body->input_count + 1, sizeof(*fed));
    bool has_asked;
    int rc;

    if (!fed)
        return -ENOMEM;
    control_feed_captures(body, inputs, fed);
    rc = shape_infer_body(body, fed, infer->eval, &has_asked, diag);
    note_all(infer, has_asked);
    for (uint32_t i = 0; rc == 0 && i < body->output_count; i++)
        outputs[i] = (struct tensor_view){.dtype = body->outputs[i]->dtype,
                                          .shape = body->outputs[i]->shape};
    shape_forget_body(body);
    free(fed);
    return rc;
}

static bool same_types(const struct tensor_view *a, const struct tensor_view *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (a[i].dtype != b[i].dtype || !shape_equal(&a[i].shape, &b[i].shape))
            return false;
    }
    return true;
}

static const char *branch_of(const void *condition)
{
    return *(const uint8_t *)condition != 0 ? "then_branch" : "else_branch";
}

/* Returns 1 when the types are not the same in both branches, or cannot be told without running. */
static int if_types(struct infer *infer, const struct tensor_view *inputs,
                    struct tensor_view *types, struct tensor_view *others)
{
    const struct value *condition = infer->node->inputs[0];
    struct diag ignored = {0};
    const void *content;
    int rc, other;

    if (!condition->data) {
        rc = branch_types(infer, "then_branch", inputs, types, &ignored);
        other = branch_types(infer, "else_branch", inputs, others, &ignored);
        if (rc == -ENOMEM || other == -ENOMEM)
            return -ENOMEM;
        if (rc == 0 && other == 0 && same_types(types, others, infer->node->output_count))
            return 0;
    }
    rc = infer_content(infer, 0, &content);
    if (rc < 0)
        return rc;
    rc = branch_types(infer, branch_of(content), inputs, types, &ignored);
    return rc == -ENOMEM ? rc : rc < 0;
}

int shape_if(struct infer *infer)
{
    const struct node *node = infer->node;
    struct tensor_view *inputs = input_views(node);
    struct tensor_view *types = calloc(2 * (size_t)node->output_count + 1, sizeof(*types));
    int rc = inputs && types ? control_check(node, infer->diag) : -ENOMEM;

    if (rc == 0 &&
        (infer_dtype(infer, 0) != DTYPE_BOOL || shape_elements(infer_shape(infer, 0)) != 1))
        rc = infer_fail(infer, "its condition is not one bool");
    if (rc == 0)
        rc = if_types(infer, inputs, types, types + node->output_count);
    if (rc == 1)
        rc = run_now(infer);
    else
        for (uint32_t i = 0; rc == 0 && i < node->output_count; i++)
            rc = infer_output(infer, i, types[i].dtype, &types[i].shape);
    free(inputs);
    free(types);
    return rc;
}

/* How often a loop turns is its count alone when its condition stays true. */
struct turns {
    uint32_t states, scans;
    bool is_true; /* the condition, in the first turn and from the body */
};

static bool is_true(const struct value *value)
{
    const void *content = value->data ? value->data : value->known;

    return value->dtype == DTYPE_BOOL && shape_elements(&value->shape) == 1 && content &&
           *(const uint8_t *)content != 0;
}

/* What the body is fed in any turn: carried values have their first shape. */
static void feed_any_turn(struct infer *infer, const struct graph *body,
                          const struct tensor_view *inputs, const struct turns *turns,
                          struct tensor_view *fed)
{
    static uint8_t always = 1;

    fed[0] = (struct tensor_view){.dtype = DTYPE_I64};
    fed[1] = (struct tensor_view){.dtype = DTYPE_BOOL, .data = turns->is_true ? &always : NULL};
    for (uint32_t i = 0; i < turns->states; i++)
        fed[2 + i] = (struct tensor_view){.dtype = infer_dtype(infer, 2 + i),
                                          .shape = *infer_shape(infer, 2 + i)};
    control_feed_captures(body, inputs, fed);
}

/* Returns 0 with the types of the outputs (of one turn, where they are collected), or 1 when they
 * change from turn to turn, or cannot be told without running. */
static int turn_types(struct infer *infer, const struct tensor_view *inputs, struct turns *turns,
                      struct tensor_view *outputs)
{
    struct graph *body = node_graph(infer->node, "body");
    struct tensor_view *fed = calloc((size_t)body->input_count + 1, sizeof(*fed));
    struct diag ignored = {0};
    bool has_asked;
    int rc;

    if (!fed)
        return -ENOMEM;
    feed_any_turn(infer, body, inputs, turns, fed);
    rc = shape_infer_body(body, fed, infer->eval, &has_asked, &ignored);
    note_all(infer, has_asked || turns->scans > 0); /* its condition may be one of them */
    for (uint32_t i = 0; rc == 0 && i < infer->node->output_count; i++)
        outputs[i] = (struct tensor_view){.dtype = body->outputs[1 + i]->dtype,
                                          .shape = body->outputs[1 + i]->shape};
    if (rc == 0)
        turns->is_true = turns->is_true && is_true(body->outputs[0]);
    if (rc == 0 && !same_types(outputs, fed + 2, turns->states))
        rc = 1;
    shape_forget_body(body);
    free(fed);
    return rc == -ENOMEM ? rc : rc != 0;
}

/* Puts the number of turns in front of the collected values' dims. Returns 1 when it is not known.
 */
static int add_turns(struct infer *infer, const struct turns *turns, struct tensor_view *types)
{
    int64_t *counts, count;
    size_t given;
    int rc;

    if (turns->scans == 0)
        return 0;
    if (!turns->is_true || !infer_has(infer, 0))
        return 1;
    rc = infer_ints(infer, 0, &counts, &given);
    if (rc < 0)
        return rc;
    count = given == 1 && counts[0] > 0 ? counts[0] : 0;
    free(counts);
    for (uint32_t i = turns->states; i < turns->states + turns->scans; i++) {
        struct shape *shape = &types[i].shape;

        if (shape->rank == SHAPE_MAX_RANK)
            return infer_unsupported(infer, "it collects tensors of more than %d dimensions",
                                     SHAPE_MAX_RANK - 1);
        memmove(shape->dims + 1, shape->dims, (size_t)shape->rank * sizeof(*shape->dims));
        shape->dims[0] = count;
        shape->rank++;
    }
    return 0;
}

int shape_loop(struct infer *infer)
{
    const struct node *node = infer->node;
    struct tensor_view *inputs = input_views(node);
    struct tensor_view *types = calloc((size_t)node->output_count + 1, sizeof(*types));
    struct turns turns = {0};
    int rc = inputs && types ? control_check(node, infer->diag) : -ENOMEM;

    if (rc == 0) {
        turns.states = node->input_count - node->captured_count - 2;
        turns.scans = node->output_count - turns.states;
        turns.is_true = !infer_has(infer, 1) || is_true(node->inputs[1]);
        rc = turn_types(infer, inputs, &turns, types);
    }
    if (rc == 0)
        rc = add_turns(infer, &turns, types);
    if (rc == 1)
        rc = run_now(infer);
    else
        for (uint32_t i = 0; rc == 0 && i < node->output_count; i++)
            rc = infer_output(infer, i, types[i].dtype, &types[i].shape);
    free(inputs);
    free(types);
    return rc;
}
