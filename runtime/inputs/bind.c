/* SPDX-License-Identifier: Apache-2.0 */
/* Which data goes to which input of the model, with all checks; made-up data for the others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/inputs/input.h"

/* "'x', 'y' and 'z'" for messages; cut off when there are many. */
static const char *list_inputs(const struct graph *graph, char *out, size_t room)
{
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < graph->input_count && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s'%s'",
                                 i == 0                        ? ""
                                 : i + 1 == graph->input_count ? " and "
                                                               : ", ",
                                 graph->inputs[i]->name);
    return out;
}

/* Entries that are about all inputs, or may be about several. */
static bool is_for_all(const struct input *input)
{
    return input->kind == INPUT_BATCH || input->kind == INPUT_TILES || input->kind == INPUT_DIM;
}

/* What --batch-size says, or 0. */
static int64_t tiled_batch(const struct input_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind == INPUT_TILES)
            return list->items[i].tensor.shape.dims[0];
    }
    return 0;
}

/* Does this entry of the list go to this input? */
static bool is_for(const struct graph *graph, const struct input *input, const struct value *value)
{
    if (is_for_all(input))
        return false;
    if (input->name[0] != '\0')
        return strcmp(input->name, value->name) == 0;
    return graph->input_count == 1 || strcmp(value->name, "data") == 0;
}

static struct value *find_value(const struct graph *graph, const struct input *input)
{
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (is_for(graph, input, graph->inputs[i]))
            return graph->inputs[i];
    }
    return NULL;
}

const struct input *input_find(const struct graph *graph, const struct input_list *list,
                               uint32_t index)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != INPUT_SHAPE &&
            is_for(graph, &list->items[i], graph->inputs[index]))
            return &list->items[i];
    }
    return NULL;
}

/* A shape, and what fills it. */
static bool makes_whole(const struct input *a, const struct input *b)
{
    return (a->kind == INPUT_SHAPE && b->kind == INPUT_FILL) ||
           (a->kind == INPUT_FILL && b->kind == INPUT_SHAPE);
}

static int check_names(const struct graph *graph, const struct input_list *list, struct diag *diag)
{
    char names[300];

    for (size_t i = 0; i < list->count; i++) {
        const struct input *input = &list->items[i];
        const struct value *value = find_value(graph, input);

        if (is_for_all(input))
            continue;
        if (!value && input->name[0] == '\0')
            return diag_set(diag, -EINVAL, "--input needs a name here: the model's inputs are %s",
                            list_inputs(graph, names, sizeof(names)));
        if (!value)
            return diag_set(diag, -EINVAL, "the model has no input '%s'; its inputs are %s",
                            input->name, list_inputs(graph, names, sizeof(names)));
        for (size_t k = 0; k < i; k++) {
            if (find_value(graph, &list->items[k]) == value && !makes_whole(&list->items[k], input))
                return diag_set(diag, -EINVAL, "input '%s' is given twice", value->name);
        }
    }
    return 0;
}

/* One number may stand for a scalar: text has no way to write a shape without dims. */
static bool fills_scalar(const struct input *input, const struct value *value)
{
    return input->kind == INPUT_NUMBERS && value->shape.rank == 0 &&
           input->tensor.shape.rank == 1 && input->tensor.shape.dims[0] == 1;
}

/* is_tiled: the first dimension may be any. */
static int check_form(const struct input *input, const struct value *value, bool is_tiled,
                      struct diag *diag)
{
    char want[SHAPE_TEXT_BYTES], got[SHAPE_TEXT_BYTES];
    const struct shape *given = &input->tensor.shape;
    bool fits = value->shape.rank < 0 || value->shape.rank == given->rank;

    if (input->kind == INPUT_FILL)
        return 0;
    if (input->kind == INPUT_TENSOR && input->tensor.dtype != value->dtype)
        return diag_set(diag, -EINVAL, "input '%s' is %s in the model, but %s was given",
                        value->name, dtype_name(value->dtype), dtype_name(input->tensor.dtype));
    if (input->kind == INPUT_NUMBERS && input->has_fraction && !element_is_float(value->dtype))
        return diag_set(diag, -EINVAL,
                        "input '%s' is %s in the model, but numbers with a fraction were given",
                        value->name, dtype_name(value->dtype));
    for (int i = is_tiled ? 1 : 0; fits && i < value->shape.rank; i++)
        fits = value->shape.dims[i] < 0 || value->shape.dims[i] == given->dims[i];
    if (is_tiled && input->kind != INPUT_SHAPE && given->rank > 0 && given->dims[0] == 0)
        return diag_set(diag, -EINVAL, "--batch-size: input '%s' is given no row to repeat",
                        value->name);
    if (!fits && !fills_scalar(input, value))
        return diag_set(diag, -EINVAL, "input '%s' has shape %s in the model, but %s was given",
                        value->name, shape_text(&value->shape, want), shape_text(given, got));
    return 0;
}

/* Give every dim with this symbolic name the size that is still open. Data that say otherwise are believed later:
 * exporters give one name to dims that differ, and what must be equal is found out where the shapes meet. */
static void fill_symbol(struct graph *graph, const char *name, int64_t size)
{
    for (uint32_t i = 0; i < graph->input_count; i++) {
        struct value *value = graph->inputs[i];

        for (int k = 0; k < value->shape.rank; k++)
            if (value->dim_names[k] && strcmp(value->dim_names[k], name) == 0 &&
                value->shape.dims[k] < 0)
                value->shape.dims[k] = size;
    }
}

/* The same where options say the size: every such dim has it. */
static int bind_symbol(struct graph *graph, const char *name, int64_t size, struct diag *diag)
{
    for (uint32_t i = 0; i < graph->input_count; i++) {
        struct value *value = graph->inputs[i];

        for (int k = 0; k < value->shape.rank; k++) {
            if (!value->dim_names[k] || strcmp(value->dim_names[k], name) != 0)
                continue;
            if (value->shape.dims[k] >= 0 && value->shape.dims[k] != size)
                return diag_set(diag, -EINVAL,
                                "the inputs' dimension '%s' is %lld in one place and %lld in "
                                "another",
                                name, (long long)value->shape.dims[k], (long long)size);
            value->shape.dims[k] = size;
        }
    }
    return 0;
}

static void bind_given(struct graph *graph, const struct input *input, bool is_tiled)
{
    struct value *value = find_value(graph, input);
    int64_t declared = value->shape.rank > 0 ? value->shape.dims[0] : -1;

    if (input->kind == INPUT_FILL || fills_scalar(input, value))
        return;
    for (int k = is_tiled ? 1 : 0; k < input->tensor.shape.rank; k++) {
        if (value->shape.rank >= 0 && value->dim_names[k])
            fill_symbol(graph, value->dim_names[k], input->tensor.shape.dims[k]);
    }
    value->shape = input->tensor.shape;
    if (is_tiled && value->shape.rank > 0)
        value->shape.dims[0] = declared; /* which tells what else depends on it */
}

/* The first dimension of every input, where it is open; elsewhere it must be that size. */
static int bind_batch(struct graph *graph, int64_t batch, struct diag *diag)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++) {
        struct value *value = graph->inputs[i];

        if (value->shape.rank < 1)
            continue;
        if (value->shape.dims[0] >= 0 && value->shape.dims[0] != batch)
            return diag_set(diag, -EINVAL,
                            "--batch %lld does not fit input '%s', whose first dimension is %lld",
                            (long long)batch, value->name, (long long)value->shape.dims[0]);
        if (value->dim_names[0])
            rc = bind_symbol(graph, value->dim_names[0], batch, diag);
        value->shape.dims[0] = batch;
    }
    return rc;
}

/* Outputs that are declared with the batch of the inputs have the new one, too. */
static void open_outputs(struct graph *graph, int64_t batch)
{
    for (uint32_t i = 0; i < graph->output_count; i++) {
        struct shape *shape = &graph->outputs[i]->shape;

        if (shape->rank > 0 && shape->dims[0] == batch && !graph->outputs[i]->is_input)
            shape->dims[0] = -1;
    }
}

/* The first dimension of every input, whatever the model or the data say of it. */
static int bind_tiles(struct graph *graph, int64_t batch, struct diag *diag)
{
    bool has_any = false;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++) {
        struct value *value = graph->inputs[i];
        int64_t declared = value->shape.rank > 0 ? value->shape.dims[0] : -1;

        if (value->shape.rank < 1)
            continue;
        has_any = true;
        value->shape.dims[0] = -1; /* to be bound with those that share its name */
        if (value->dim_names[0])
            rc = bind_symbol(graph, value->dim_names[0], batch, diag);
        value->shape.dims[0] = batch;
        if (declared >= 0)
            open_outputs(graph, declared);
    }
    if (rc == 0 && !has_any)
        rc = diag_set(diag, -EINVAL, "--batch-size: no input of the model has dimensions");
    return rc;
}

/* The dimension of that name, which an input must have. */
static int bind_named(struct graph *graph, const char *name, int64_t size, struct diag *diag)
{
    for (uint32_t i = 0; i < graph->input_count; i++)
        for (int k = 0; k < graph->inputs[i]->shape.rank; k++)
            if (graph->inputs[i]->dim_names[k] && strcmp(graph->inputs[i]->dim_names[k], name) == 0)
                return bind_symbol(graph, name, size, diag);
    return diag_set(diag, -EINVAL, "--dim-param: no input has a dimension called '%.60s'", name);
}

static int bind_for_all(struct graph *graph, const struct input *input, struct diag *diag)
{
    int64_t batch = input->tensor.shape.dims[0];

    if (input->kind == INPUT_DIM)
        return bind_named(graph, input->name, batch, diag);
    return input->kind == INPUT_BATCH ? bind_batch(graph, batch, diag)
                                      : bind_tiles(graph, batch, diag);
}

/* All against what the model says first; what options say of many inputs against all. */
static int bind_list(struct graph *graph, const struct input_list *list, struct diag *diag)
{
    bool is_tiled = tiled_batch(list) > 0;
    int rc = check_names(graph, list, diag);

    for (size_t i = 0; rc == 0 && i < list->count; i++) {
        if (!is_for_all(&list->items[i]))
            rc = check_form(&list->items[i], find_value(graph, &list->items[i]), is_tiled, diag);
    }
    for (size_t i = 0; rc == 0 && i < list->count; i++) {
        if (!is_for_all(&list->items[i]))
            bind_given(graph, &list->items[i], is_tiled);
    }
    for (size_t i = 0; rc == 0 && i < list->count; i++) {
        if (is_for_all(&list->items[i]))
            rc = bind_for_all(graph, &list->items[i], diag);
    }
    return rc;
}

int input_bind_shapes(struct graph *graph, const struct input_list *list, struct diag *diag)
{
    int rc = bind_list(graph, list, diag);

    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++) {
        struct value *value = graph->inputs[i];

        if (value->shape.rank < 0)
            return diag_set(diag, -EINVAL,
                            "input '%s' has no shape in the model: give it with --input",
                            value->name);
        for (int k = 0; k < value->shape.rank; k++) {
            if (value->shape.dims[k] < 0)
                value->shape.dims[k] = 1;
        }
        if (shape_bytes(&value->shape, value->dtype) < 0)
            return diag_set(diag, -EINVAL, "input '%s' is too large", value->name);
    }
    return rc;
}

/* splitmix64: every seed gives a good sequence. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void make_up(const struct value *value, uint64_t seed, struct tensor_view *out_view)
{
    int64_t count = shape_elements(&out_view->shape);
    uint64_t state = seed;

    if (out_view->dtype == DTYPE_STRING) /* empty texts */
        memset(out_view->data, 0, (size_t)count * sizeof(int64_t));
    for (const char *c = value->name; *c != '\0'; c++)
        state = state * 1099511628211u + (uint8_t)*c;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = next_random(&state);

        if (element_is_float(out_view->dtype))
            element_set(out_view->data, out_view->dtype, i, (double)(bits >> 40) / (1 << 23) - 1.0);
        else
            element_set(out_view->data, out_view->dtype, i, (long double)(bits & 1));
    }
}

static int fill_given(const struct input *input, const struct value *value,
                      struct tensor_view *out_view, struct diag *diag)
{
    int64_t count = shape_elements(&out_view->shape);

    int64_t given = shape_elements(&input->tensor.shape); /* fewer where rows are repeated */

    for (int64_t i = 0; input->kind == INPUT_TENSOR && i < count; i += given) {
        size_t bytes = dtype_bytes(out_view->dtype);

        memcpy((char *)out_view->data + (size_t)i * bytes, input->tensor.data,
               (size_t)(count - i < given ? count - i : given) * bytes);
    }
    for (int64_t i = 0; input->kind != INPUT_TENSOR && i < count; i++) {
        long double number = input->kind == INPUT_ONES   ? 1
                             : input->kind == INPUT_FILL ? (long double)input->tensor.shape.dims[0]
                                                         : input->numbers[i % given];

        if (!element_set(out_view->data, out_view->dtype, i, number))
            return diag_set(diag, -EINVAL, "the number %.21Lg does not fit input '%s', which is %s",
                            number, value->name, dtype_name(out_view->dtype));
    }
    return 0;
}

int input_tensor(const struct graph *graph, const struct input_list *list, uint32_t index,
                 uint64_t seed, struct tensor_view *out_view, struct diag *diag)
{
    const struct value *value = graph->inputs[index];
    const struct input *input = input_find(graph, list, index);
    struct tensor_view made = {value->dtype, value->shape, NULL};
    int rc = 0;

    made.data = graph_alloc_data((size_t)shape_bytes(&made.shape, made.dtype));
    if (!made.data)
        return diag_set(diag, -ENOMEM, "no memory for input '%s'", value->name);
    if (input)
        rc = fill_given(input, value, &made, diag);
    else
        make_up(value, seed, &made);
    if (rc < 0) {
        free(made.data);
        return rc;
    }
    *out_view = made;
    return 0;
}

int input_content(const struct graph *graph, const struct input_list *list, uint32_t index,
                  struct tensor_view *out_view)
{
    const struct value *value = graph->inputs[index];
    const struct input *input = input_find(graph, list, index);
    struct tensor_view made = {.dtype = value->dtype};
    struct diag ignored = {0}; /* told once it is bound */

    if (!input || input->kind == INPUT_FILL || tiled_batch(list) > 0 ||
        check_form(input, value, false, &ignored) < 0)
        return 0;
    made.shape = fills_scalar(input, value) ? value->shape : input->tensor.shape;
    if (shape_bytes(&made.shape, made.dtype) < 0)
        return 0;
    made.data = graph_alloc_data((size_t)shape_bytes(&made.shape, made.dtype));
    if (!made.data)
        return -ENOMEM;
    if (fill_given(input, value, &made, &ignored) < 0) {
        free(made.data);
        return 0;
    }
    *out_view = made;
    return 1;
}
