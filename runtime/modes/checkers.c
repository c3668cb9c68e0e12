/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what operators make. */
#include "runtime/modes/checkers.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/compare.h"
#include "runtime/graph/element.h"

/* Calls `check` with a copy of each output of a step, which it may keep (and then sets data to
 * NULL). */
static int for_outputs(const struct program *program, uint32_t instruction, void *user,
                       int (*check)(void *user, const struct exec_step *step,
                                    const struct value *value, struct tensor_view *view,
                                    struct diag *diag),
                       struct diag *diag)
{
    const struct instruction *at = &program->instructions.items[instruction];
    const struct exec_step *step = exec_step(program->exec, at->step);
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && at->node && i < step->output_count; i++) {
        struct exec_operand operand;
        struct tensor_view view;

        if (!exec_step_output(program->exec, at->step, i, &operand))
            continue;
        if (steps_copy(program->exec, &operand, &view) < 0)
            return diag_set(diag, -ENOMEM, "no memory to check \"%s\"", step->name);
        rc = check(user, step, operand.value, &view, diag);
        free(view.data);
    }
    return rc;
}

/* --- Range. --- */

static int check_range(void *user, const struct exec_step *step, const struct value *value,
                       struct tensor_view *view, struct diag *diag)
{
    const struct range_checker *checker = user;
    int64_t count = shape_elements(&view->shape);
    char index[SHAPE_TEXT_BYTES], shape[SHAPE_TEXT_BYTES];

    if (!element_is_float(view->dtype))
        return 0;
    for (int64_t i = 0; i < count; i++) {
        long double x = element_get(view->data, view->dtype, i);

        if (!(fabsl(x) < checker->limit))
            return diag_set(diag, -ERANGE,
                            "float value out of range: \"%s\" of operator \"%s\" (%s) is %Lg at %s "
                            "of %s, beyond %g",
                            value->name, step->name, step->type, x,
                            compare_index_text(&view->shape, i, index),
                            shape_text(&view->shape, shape), checker->limit);
    }
    return 0;
}

static int after_range(void *user, const struct program *program, uint32_t instruction,
                       const struct exec_step_times *times, struct diag *diag)
{
    return for_outputs(program, instruction, user, check_range, diag);
}

struct step_tool range_checker_tool(struct range_checker *checker)
{
    return (struct step_tool){.user = checker, .after = after_range};
}

/* --- The same values. --- */

int value_checker_parse(const char *text, struct value_checker *out_checker, struct diag *diag)
{
    unsigned long long every, start = 0;
    char *end;
    bool is_good;

    errno = 0;
    every = strtoull(text, &end, 10);
    is_good = end != text && every > 0 && text[0] != '-';
    if (is_good && *end == ':') {
        const char *second = end + 1;

        start = strtoull(second, &end, 10);
        is_good = end != second && second[0] != '-';
    }
    if (!is_good || *end != '\0' || errno != 0)
        return diag_set(diag, -EINVAL,
                        "--check-var-value takes N or N:START, N of 1 or more, not \"%s\"", text);
    *out_checker = (struct value_checker){.every = every, .start = start, .current = start};
    return 0;
}

static int64_t first_difference(const struct tensor_view *a, const struct tensor_view *b)
{
    size_t item = dtype_bytes(a->dtype);
    int64_t count = shape_elements(&a->shape);

    for (int64_t i = 0; i < count; i++) {
        if (memcmp((const char *)a->data + (size_t)i * item,
                   (const char *)b->data + (size_t)i * item, item) != 0)
            return i;
    }
    return -1;
}

static int check_value(void *user, const struct exec_step *step, const struct value *value,
                       struct tensor_view *view, struct diag *diag)
{
    struct value_checker *checker = user;
    uint64_t index = checker->index++;
    char place[SHAPE_TEXT_BYTES];
    int64_t at;

    if (!checker->is_filled) {
        if (array_push(&checker->kept, *view) < 0)
            return diag_set(diag, -ENOMEM, "no memory to keep \"%s\"", value->name);
        view->data = NULL; /* ownership moved */
        return 0;
    }
    if (index != checker->current)
        return 0;
    at = first_difference(view, &checker->kept.items[index]);
    if (at < 0)
        return 0;
    return diag_set(diag, -EBADE,
                    "\"%s\" of operator \"%s\" (%s) changed from run to run: %.9Lg at %s, and "
                    "%.9Lg in the first run",
                    value->name, step->name, step->type, element_get(view->data, view->dtype, at),
                    compare_index_text(&view->shape, at, place),
                    element_get(checker->kept.items[index].data, view->dtype, at));
}

static int after_value(void *user, const struct program *program, uint32_t instruction,
                       const struct exec_step_times *times, struct diag *diag)
{
    return for_outputs(program, instruction, user, check_value, diag);
}

static int end_value(void *user, const struct program *program, struct diag *diag)
{
    struct value_checker *checker = user;

    checker->index = 0;
    if (checker->is_filled) {
        checker->runs++;
    } else if (checker->start >= checker->kept.count) {
        return diag_set(diag, -ERANGE, "--check-var-value: there are only %zu values, not %" PRIu64,
                        checker->kept.count, checker->start + 1);
    }
    checker->is_filled = true;
    if (checker->runs == checker->every) {
        checker->runs = 0;
        checker->current++;
    }
    if (checker->current == checker->kept.count) {
        fprintf(checker->out, "--check-var-value: all %zu values passed; start from beginning\n",
                checker->kept.count);
        checker->current = 0;
    }
    return 0;
}

struct step_tool value_checker_tool(struct value_checker *checker)
{
    return (struct step_tool){.user = checker, .after = after_value, .end = end_value};
}

void value_checker_deinit(struct value_checker *checker)
{
    for (size_t i = 0; i < checker->kept.count; i++)
        free(checker->kept.items[i].data);
    array_deinit(&checker->kept);
}
