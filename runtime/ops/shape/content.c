/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: the content of a value that a shape depends on, computed from the constants and
 * the graph's inputs with the reference kernels. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/extern_library.h"
#include "runtime/ops/shape/infer.h"
#include "runtime/ops/shape/shape.h"

static struct tensor_view view_of(const struct value *value)
{
    if (!value)
        return (struct tensor_view){0};
    return (struct tensor_view){value->dtype, value->shape,
                                value->data ? value->data : value->known};
}

static bool is_known(const struct value *value)
{
    return value->data || value->known;
}

static int allocate_outputs(const struct node *node, struct tensor_view *outputs)
{
    for (uint32_t i = 0; i < node->output_count; i++) {
        outputs[i] = view_of(node->outputs[i]);
        if (!node->outputs[i])
            continue;
        outputs[i].data =
            graph_alloc_data((size_t)shape_bytes(&outputs[i].shape, outputs[i].dtype));
        if (!outputs[i].data)
            return -ENOMEM;
    }
    return 0;
}

int infer_compute(struct infer *infer, const struct node *node, struct diag *diag)
{
    struct tensor_view *views =
        calloc((size_t)node->input_count + node->output_count + 1, sizeof(*views));
    struct tensor_view *outputs = views + node->input_count;
    int rc;

    if (!views)
        return -ENOMEM;
    rc = node_settle(node);
    for (uint32_t i = 0; i < node->input_count; i++)
        views[i] = view_of(node->inputs[i]);
    if (rc == 0)
        rc = allocate_outputs(node, outputs);
    if (rc == 0)
        rc = node->outputs[0] ? shape_evaluate(node, outputs) : -ENOTSUP;
    if (rc == -ENOTSUP && infer->eval)
        rc = infer->eval(infer->graph, node, views, outputs, diag);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!node->outputs[i])
            continue;
        if (rc == 0 && !node->outputs[i]->known) {
            node->outputs[i]->known = outputs[i].data;
            outputs[i].data = NULL; /* ownership moved to the value */
        }
        free(outputs[i].data);
    }
    free(views);
    return rc;
}

/* The content that the graph's input was given. */
static int take_input(struct infer *infer, struct value *value)
{
    size_t bytes = (size_t)shape_bytes(&value->shape, value->dtype);
    const void *content = NULL;

    for (uint32_t i = 0; infer->contents && i < infer->graph->input_count; i++) {
        if (infer->graph->inputs[i] == value)
            content = infer->contents[i].data;
    }
    if (!content)
        return infer_unsupported(infer, "its shape depends on the data of '%s'", value->name);
    value->known = graph_alloc_data(bytes);
    if (!value->known)
        return -ENOMEM;
    memcpy(value->known, content, bytes);
    return 0;
}

/* Everything that `value` is computed from and that is not known yet: nodes before infer->node. */
static int mark_sources(struct infer *infer, const struct value *value, bool *needed)
{
    int rc = 0;

    needed[value->index] = true;
    for (uint32_t n = infer->node->index; n-- > 0;) {
        const struct node *node = infer->graph->nodes[n];
        bool is_needed = false;

        for (uint32_t i = 0; i < node->output_count; i++)
            is_needed = is_needed || (node->outputs[i] && needed[node->outputs[i]->index]);
        for (uint32_t i = 0; is_needed && i < node->input_count; i++) {
            if (node->inputs[i] && !is_known(node->inputs[i]))
                needed[node->inputs[i]->index] = true;
        }
    }
    for (uint32_t i = 0; rc == 0 && i < infer->graph->input_count; i++) {
        if (needed[infer->graph->inputs[i]->index] && !is_known(infer->graph->inputs[i]))
            rc = take_input(infer, infer->graph->inputs[i]);
    }
    return rc;
}

/* Shapes and sizes are known whatever their input holds. */
static bool reads_content(const struct node *node)
{
    return strcmp(node->op_type, "Shape") != 0 && strcmp(node->op_type, "Size") != 0;
}

static bool is_large(const struct value *value)
{
    return shape_elements(&value->shape) > KNOWN_ELEMENTS_MAX;
}

/* Whether an output is needed and not known. */
static bool is_to_run(const struct node *node, const bool *needed)
{
    bool is_needed = false;

    for (uint32_t i = 0; i < node->output_count; i++)
        is_needed = is_needed || (node->outputs[i] && !is_known(node->outputs[i]) &&
                                  needed[node->outputs[i]->index]);
    return is_needed;
}

/* By value->index: how often nodes read it that are to be computed now, or may be later. */
static uint32_t *count_readers(const struct infer *infer, const bool *needed)
{
    uint32_t *readers = calloc(infer->graph->value_count + 1, sizeof(*readers));

    for (uint32_t n = 0; readers && n < infer->graph->node_count; n++) {
        const struct node *node = infer->graph->nodes[n];

        bool reads = reads_content(node) &&
                     (!infer->done[n] || (n < infer->node->index && is_to_run(node, needed)));

        for (uint32_t i = 0; reads && i < node->input_count; i++)
            if (node->inputs[i])
                readers[node->inputs[i]->index]++;
    }
    return readers;
}

/* Frees what was computed for this node alone, or for it as the last one: a network that is computed on
 * the way to a content takes no more memory than a run of it. */
static void let_go(struct infer *infer, const struct node *node, uint32_t *readers)
{
    infer->done[node->index] = true;
    for (uint32_t i = 0; reads_content(node) && i < node->input_count; i++) {
        struct value *value = node->inputs[i];

        if (!value || --readers[value->index] > 0 || value->is_input || !is_large(value) ||
            infer->asked[value->index])
            continue;
        free(value->known);
        value->known = NULL;
    }
}

/* Whether it may be computed with others, apart from the graph. */
static bool is_of_part(const struct node *node, const bool *made)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].type == ATTRIBUTE_GRAPH)
            return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        if (value && !is_known(value) && !made[value->index])
            return false;
    }
    return !extern_op_is(node);
}

/* The nodes that can be computed at once, and by value->index what they make. */
static void choose_part(const struct infer *infer, const bool *needed, bool *nodes, bool *made)
{
    for (uint32_t n = 0; n < infer->node->index; n++) {
        const struct node *node = infer->graph->nodes[n];

        nodes[n] = is_to_run(node, needed) && is_of_part(node, made);
        for (uint32_t i = 0; nodes[n] && i < node->output_count; i++)
            if (node->outputs[i])
                made[node->outputs[i]->index] = true;
    }
}

/* Whether somebody else reads it than the part, now or later. */
static bool is_wanted(const struct infer *infer, const struct value *value, const bool *nodes)
{
    for (uint32_t i = 0; i < value->consumer_count; i++) {
        const struct node *reader = value->consumers[i];

        if (!is_known(value) && !nodes[reader->index] && !infer->done[reader->index] &&
            reads_content(reader))
            return true;
    }
    return false;
}

/* Computes what can be at once: nodes. Returns as shape_part_fn. */
static int compute_part(struct infer *infer, const bool *needed, bool *nodes, struct diag *reason)
{
    const struct graph *graph = infer->graph;
    bool *made = calloc((size_t)graph->value_count + 1, sizeof(*made));
    struct value **wanted = calloc((size_t)graph->value_count + 1, sizeof(*wanted));
    struct shape_part part = {.nodes = nodes, .wanted = wanted};
    int rc = made && wanted ? 0 : -ENOMEM;

    if (rc == 0)
        choose_part(infer, needed, nodes, made);
    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++)
        if (made[i] && is_wanted(infer, graph->values[i], nodes))
            wanted[part.wanted_count++] = graph->values[i];
    if (part.wanted_count > 0)
        rc = infer->sources->compute_part(infer->sources->user, graph, &part, reason);
    free(made);
    free(wanted);
    return rc;
}

static int compute_each(struct infer *infer, const bool *needed, const bool *is_done,
                        uint32_t *readers, struct diag *reason)
{
    int rc = 0;

    for (uint32_t n = 0; rc == 0 && n < infer->node->index; n++) {
        const struct node *node = infer->graph->nodes[n];

        if (is_done[n] || !is_to_run(node, needed))
            continue;
        rc = infer_compute(infer, node, reason);
        if (rc == 0 && readers)
            let_go(infer, node, readers);
    }
    return rc;
}

/* readers: or NULL, where everything is kept. */
static int compute_marked(struct infer *infer, const struct value *value, const bool *needed,
                          uint32_t *readers)
{
    bool *part = calloc((size_t)infer->graph->node_count + 1, sizeof(*part));
    struct diag reason = {0};
    int rc = part ? 0 : -ENOMEM;

    if (rc == 0 && readers && infer->sources && infer->sources->compute_part)
        rc = compute_part(infer, needed, part, &reason);
    for (uint32_t n = 0; rc >= 0 && part && n < infer->node->index; n++) {
        part[n] = part[n] && rc == 1;
        if (part[n])
            let_go(infer, infer->graph->nodes[n], readers);
    }
    if (rc >= 0)
        rc = compute_each(infer, needed, part, readers, &reason);
    free(part);
    if (rc < 0 && rc != -ENOMEM && rc != -ETIME)
        return infer_unsupported(infer, "its shape depends on the data of '%s'%s%s", value->name,
                                 reason.text[0] != '\0' ? ", which cannot be computed: " : "",
                                 reason.text);
    return rc;
}

void infer_note_asked(struct infer *infer, uint32_t i)
{
    const struct value *value = infer->node->inputs[i];

    if (value && !value->data)
        infer->asked_inputs |= UINT64_C(1) << (i < 63 ? i : 63);
}

int infer_content(struct infer *infer, uint32_t i, const void **out_data)
{
    struct value *value = infer->node->inputs[i];
    uint32_t *readers = NULL;
    bool *needed;
    int rc = 0;

    infer_note_asked(infer, i);

    if (!is_known(value)) {
        needed = calloc(infer->graph->value_count + 1, sizeof(*needed));
        if (!needed)
            return -ENOMEM;
        rc = mark_sources(infer, value, needed);
        if (rc == 0 && infer->done) {
            readers = count_readers(infer, needed);
            rc = readers ? 0 : -ENOMEM;
        }
        if (rc == 0)
            rc = compute_marked(infer, value, needed, readers);
        free(readers);
        free(needed);
    }
    if (rc < 0)
        return rc;
    if (infer->asked)
        infer->asked[value->index] = true;
    *out_data = value->data ? value->data : value->known;
    return *out_data ? 0 : infer_fail(infer, "nothing makes '%s'", value->name);
}

int infer_ints(struct infer *infer, uint32_t i, int64_t **out_ints, size_t *out_count)
{
    const struct value *value = infer->node->inputs[i];
    size_t count = (size_t)shape_elements(&value->shape);
    const void *data;
    int64_t *ints;
    int rc;

    if (value->dtype != DTYPE_I64 && value->dtype != DTYPE_I32)
        return infer_fail(infer, "input %u is %s where integers are needed", i,
                          dtype_name(value->dtype));
    rc = infer_content(infer, i, &data);
    if (rc < 0)
        return rc;
    ints = malloc((count + 1) * sizeof(*ints));
    if (!ints)
        return -ENOMEM;
    for (size_t k = 0; k < count; k++)
        ints[k] =
            value->dtype == DTYPE_I64 ? ((const int64_t *)data)[k] : ((const int32_t *)data)[k];
    *out_ints = ints;
    *out_count = count;
    return 0;
}

int infer_list(struct infer *infer, const char *name, uint32_t i, int64_t input_since,
               int64_t **out_ints, size_t *out_count)
{
    bool is_attribute = node_attribute(infer->node, name), is_input = infer_has(infer, i);
    const int64_t *list;

    *out_ints = NULL;
    *out_count = 0;
    /* The kernels take what there is: where both are, or the wrong one is, they would read another
     * list than this. What an operator became may be newer or older than the model. */
    if (is_attribute && is_input)
        return infer_fail(infer, "it has its %s twice, as attribute and as input %u", name, i);
    if (is_attribute && infer->opset >= input_since && !infer->node->is_lowered)
        return infer_fail(infer, "attribute %s became input %u in opset %" PRId64, name, i,
                          input_since);
    if (is_input && infer->opset < input_since && !infer->node->is_lowered)
        return infer_fail(infer, "input %u is attribute %s before opset %" PRId64, i, name,
                          input_since);
    if (!is_attribute)
        return is_input ? infer_ints(infer, i, out_ints, out_count) : 0;
    list = node_ints(infer->node, name, out_count);
    if (!list)
        return 0;
    *out_ints = malloc((*out_count + 1) * sizeof(**out_ints));
    if (!*out_ints)
        return -ENOMEM;
    memcpy(*out_ints, list, *out_count * sizeof(*list));
    return 0;
}

void infer_forget(struct infer *infer)
{
    for (uint32_t i = 0; i < infer->graph->value_count; i++) {
        struct value *value = infer->graph->values[i];

        if (value->known && is_large(value) && !infer->asked[i] && !value->is_input) {
            free(value->known);
            value->known = NULL;
        }
    }
}

void infer_mark_deciding(struct infer *infer)
{
    const struct graph *graph = infer->graph;

    for (uint32_t i = 0; i < graph->value_count; i++)
        graph->values[i]->decides_sizes = infer->asked[i] && !graph->values[i]->data;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const struct node *node = graph->nodes[n];
        bool decides = false;

        for (uint32_t i = 0; i < node->output_count; i++)
            decides = decides || (node->outputs[i] && node->outputs[i]->decides_sizes);
        for (uint32_t i = 0; decides && reads_content(node) && i < node->input_count; i++)
            if (node->inputs[i])
                node->inputs[i]->decides_sizes = true;
    }
}
