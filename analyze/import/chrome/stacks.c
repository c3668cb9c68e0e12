/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that wait for their call stacks, and the rows that are made of them. */
#include "analyze/import/chrome/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/chrome/calls.h"
#include "analyze/import/values.h"

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the call stacks");
}

/* --- Taking in. --- */

static char *copy_of(const char *text, bool *failed)
{
    char *copy = text ? strdup(text) : NULL;

    *failed |= text && !copy;
    return copy;
}

static void drop_template(struct chrome_template *template)
{
    free(template->name);
    free(template->type);
    free(template->device);
    free(template->input_shapes);
    free(template->input_dtypes);
    free(template->params);
    free(template->stack);
}

static int keep(struct chrome_stacks *stacks, struct chrome_template template)
{
    uint32_t place = (uint32_t)stacks->templates.count;

    while (stacks->template_of.count <= template.op) {
        if (array_push(&stacks->template_of, PLACE_NONE) < 0)
            return -ENOMEM;
    }
    if (array_push(&stacks->templates, template) < 0)
        return -ENOMEM;
    stacks->template_of.items[template.op] = place;
    return 0;
}

int chrome_stacks_add(struct chrome_stacks *stacks, struct importer *importer,
                      struct place_key identity, struct store_op *row, const char *stack,
                      bool is_python, uint32_t *out_op, struct diag *diag)
{
    struct chrome_template template = {.is_python = is_python,
                                       .is_left = true,
                                       .computation_flop = row->computation_flop,
                                       .text = PLACE_NONE};
    bool failed = false;
    int rc = is_python ? importer_put_op(importer, identity, row, out_op, diag)
                       : importer_name_op(importer, identity, out_op, diag);

    if (rc < 0)
        return rc;
    template.op = *out_op;
    template.name = copy_of(row->name, &failed);
    stacks->has_python |= is_python;
    if (!is_python) {
        template.type = copy_of(row->type, &failed);
        template.device = copy_of(row->device, &failed);
        template.input_shapes = copy_of(row->input_shapes, &failed);
        template.input_dtypes = copy_of(row->input_dtypes, &failed);
        template.params = copy_of(row->params, &failed);
        template.stack = copy_of(stack, &failed);
        stacks->has_stack |= stack != NULL;
    }
    if (!failed && keep(stacks, template) == 0)
        return 0;
    drop_template(&template);
    return no_memory(diag);
}

static bool begins_with(const char *text, size_t length, const char *begin)
{
    return length >= strlen(begin) && memcmp(text, begin, strlen(begin)) == 0;
}

/* Functions of autograd itself have no number and no forward op. */
int chrome_stacks_note(struct chrome_stacks *stacks, const struct importer *importer,
                       const char *name, size_t name_length, int64_t sequence, int64_t thread,
                       struct diag *diag)
{
    bool is_frame = begins_with(name, name_length, "autograd::engine::evaluate_function: ");
    struct autograd_note note = {
        .row = importer->sorter.count,
        .sequence = sequence >= 0 ? sequence : STORE_NULL,
        .thread = thread,
        .is_backward =
            begins_with(name, name_length, "torch::autograd::") || (thread > 0 && !is_frame),
        .is_frame = is_frame,
    };

    if (note.sequence == STORE_NULL && !note.is_backward)
        return 0;
    return array_push(&stacks->notes, note) < 0 ? no_memory(diag) : 0;
}

/* --- Rows. --- */

/* {PARAMS, "stack": ..., "pass": "backward"}, or NULL where there is none of it. */
static char *join_params(const char *params, const char *stack, bool is_backward)
{
    size_t length = params && strcmp(params, "{}") != 0 ? strlen(params) : 0;
    struct json_writer json;
    char *tail, *both = NULL;

    if (!stack && !is_backward)
        return params ? strdup(params) : NULL;
    json_init_memory(&json);
    json_begin_object(&json);
    if (stack) {
        json_key(&json, "stack");
        json_string(&json, stack);
    }
    if (is_backward) {
        json_key(&json, "pass");
        json_string(&json, "backward");
    }
    json_end_object(&json);
    tail = import_take(&json);
    if (!tail || !length)
        return tail;
    if (asprintf(&both, "%.*s, %s", (int)(length - 1), params, tail + 1) < 0)
        both = NULL;
    free(tail);
    return both;
}

/* The nearest frame is the first. */
static char *source_of(const char *stack, bool *failed)
{
    char *source = copy_of(stack, failed);

    if (source) {
        source[strcspn(source, ";")] = '\0';
        import_place_of_frame(source);
    }
    return source;
}

static int put_row(struct importer *importer, const struct chrome_template *template, uint32_t op,
                   const char *stack, bool is_backward, struct diag *diag)
{
    bool failed = false;
    char *params = join_params(template->params, stack, is_backward);
    char *source = source_of(stack, &failed);
    struct store_op row = {
        .client_op = (int64_t)op + 1,
        .name = template->name,
        .type = template->type,
        .device = template->device,
        .input_shapes = template->input_shapes,
        .input_dtypes = template->input_dtypes,
        .params = params,
        .computation_flop = template->computation_flop,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
        .source = source,
    };
    int rc;

    failed |= !params && (template->params || stack || is_backward);
    rc = failed ? no_memory(diag) : importer_put_op_at(importer, op, &row, diag);
    free(params);
    free(source);
    return rc;
}

static int put_variants(struct chrome_stacks *stacks, struct importer *importer,
                        struct chrome_calls *calls, struct diag *diag)
{
    struct place_map variants = {0};
    int rc = 0;

    for (size_t i = 0; i < calls->calls.count && rc == 0; i++) {
        const struct chrome_call *call = &calls->calls.items[i];
        struct chrome_template *template =
            &stacks->templates.items[stacks->template_of.items[call->op]];
        struct place_key key = {.low = (uint64_t)call->op << 32 | call->stack,
                                .high = call->is_in_backward};
        uint32_t op;

        if (template->is_python)
            continue;
        if (call->stack == template->text && !call->is_in_backward) {
            template->is_left = true;
            continue;
        }
        op = place_map_find(&variants, key);
        if (op == PLACE_NONE) {
            op = importer->op_count++;
            rc = put_row(importer, template, op, chrome_calls_text(calls, call->stack),
                         call->is_in_backward, diag);
            if (rc == 0 && place_map_set(&variants, key, op) < 0)
                rc = no_memory(diag);
        }
        stacks->row_ops[call->row] = op;
    }
    place_map_deinit(&variants);
    return rc;
}

static int resolve(struct chrome_stacks *stacks, struct importer *importer, struct diag *diag)
{
    struct chrome_calls calls = {.stacks = stacks, .rounding_ns = importer->rounding_ns};
    size_t bytes = (importer->sorter.count + 1) * sizeof(*stacks->row_ops);
    int rc = chrome_calls_make(&calls, importer, diag);

    stacks->row_ops = rc == 0 ? malloc(bytes) : NULL;
    if (rc == 0 && !stacks->row_ops)
        rc = no_memory(diag);
    if (rc == 0) {
        memset(stacks->row_ops, 0xff, bytes);
        for (size_t i = 0; i < stacks->templates.count; i++)
            stacks->templates.items[i].is_left = false;
        rc = put_variants(stacks, importer, &calls, diag);
    }
    importer->row_ops = stacks->row_ops;
    stacks->dropped_count = calls.dropped_count;
    chrome_calls_deinit(&calls);
    return rc;
}

int chrome_stacks_finish(struct chrome_stacks *stacks, struct importer *importer, struct diag *diag)
{
    int rc = stacks->has_python || stacks->has_stack ? resolve(stacks, importer, diag) : 0;

    for (size_t i = 0; i < stacks->templates.count && rc == 0; i++) {
        const struct chrome_template *template = &stacks->templates.items[i];

        if (!template->is_python && template->is_left)
            rc = put_row(importer, template, template->op, template->stack, false, diag);
    }
    return rc;
}

void chrome_stacks_deinit(struct chrome_stacks *stacks)
{
    for (size_t i = 0; i < stacks->templates.count; i++)
        drop_template(&stacks->templates.items[i]);
    array_deinit(&stacks->templates);
    array_deinit(&stacks->template_of);
    array_deinit(&stacks->notes);
    free(stacks->row_ops);
    *stacks = (struct chrome_stacks){0};
}
