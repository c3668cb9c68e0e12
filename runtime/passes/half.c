/* SPDX-License-Identifier: Apache-2.0 */
/* Store weights and what lies between operators in half precision or bfloat16. The operators go on
 * computing in float32 (ops/call/half.c); inputs and outputs of the graph keep their types. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "runtime/ops/call/call.h"
#include "runtime/passes/agree.h"
#include "runtime/passes/pass.h"

enum {
    PART = 1 << 18,      /* elements that are looked at before their pages are given back */
    ROOM = 1 << 12,      /* elements that are copied at once out of the file */
    SHARE_OF_WEIGHTS = 4 /* so much less than weights matters little */
};

struct choice {
    struct graph *graph;
    enum dtype dtype;
    bool half_sums;
    bool weights_alone; /* and what is moved out of them */
    bool *is_half;      /* by value->index */
};

/* Moves the elements of its data as they are: what goes in and what comes out has one type. */
static bool is_moving(const struct node *node)
{
    static const char *const op_types[] = {"Concat",   "Expand",    "Flatten",  "Gather",
                                           "Identity", "Reshape",   "Slice",    "Squeeze",
                                           "Tile",     "Transpose", "Unsqueeze"};

    for (size_t i = 0; i < sizeof(op_types) / sizeof(op_types[0]); i++)
        if (node->domain[0] == '\0' && strcmp(node->op_type, op_types[i]) == 0)
            return true;
    return false;
}

/* How many of a moving node's inputs are data; the others say what is moved where. */
static uint32_t data_inputs(const struct node *node)
{
    return strcmp(node->op_type, "Concat") == 0 ? node->input_count : 1;
}

/* Operators that read parameters, a bit for each input; and those that are so for half_sums alone. */
static const struct {
    const char *op_type;
    uint32_t weights, sums;
} weighted[] = {
    {"Conv", 1u << 1, 1u << 2},
    {"ConvTranspose", 0, 1u << 1 | 1u << 2},
    {"Gather", 1u << 0, 0},
    {"Gemm", 1u << 1, 1u << 2},
    {"GroupNormalization", 0, 1u << 1 | 1u << 2},
    {"InstanceNormalization", 0, 1u << 1 | 1u << 2},
    {"LayerNormalization", 0, 1u << 1 | 1u << 2},
    {"MatMul", 1u << 1, 0},
    {"Transpose", 1u << 0, 0}, /* which pass_fold_constants() left */
};

static bool is_weight_of(const struct choice *choice, const struct node *node,
                         const struct value *value)
{
    uint32_t allowed = 0;

    for (size_t i = 0; node->domain[0] == '\0' && i < sizeof(weighted) / sizeof(weighted[0]); i++)
        if (strcmp(node->op_type, weighted[i].op_type) == 0)
            allowed = weighted[i].weights | (choice->half_sums ? weighted[i].sums : 0);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == value && (i >= 32 || !(allowed >> i & 1)))
            return false;
    return true;
}

static float largest_of(const struct value *value, int64_t begin, int64_t end)
{
    float room[ROOM], largest = 0;

    for (int64_t at = begin; at < end; at += ROOM) {
        int64_t count = end - at < ROOM ? end - at : ROOM;
        const float *numbers = value_read(value, (size_t)at, (size_t)count, room);

        for (int64_t i = 0; i < count; i++) {
            float size = fabsf(numbers[i]);

            largest = size > largest && size <= FLT_MAX ? size : largest;
        }
    }
    return largest;
}

/* No finite number of it becomes infinite, and the largest keeps its precision. */
static bool fits(const struct value *value, enum dtype dtype)
{
    float most = dtype == DTYPE_F16 ? 0x1.ffcp15f : 0x1.fep127f;
    float least = dtype == DTYPE_F16 ? 0x1p-14f : 0x1p-126f; /* below, digits are lost */
    int64_t count = shape_elements(&value->shape);
    size_t bytes = value_stored_bytes(value);
    float largest = 0;

    if (value_is_stored_as(value, dtype))
        return true;
    for (int64_t begin = 0; begin < count; begin += PART) {
        int64_t end = begin + PART < count ? begin + PART : count;

        largest = fmaxf(largest, largest_of(value, begin, end));
        value_give_back(value, (size_t)begin * bytes, (size_t)(end - begin) * bytes);
    }
    return largest == 0 || (largest >= least && largest <= most);
}

static bool may_be_read(const struct choice *choice, const struct value *value)
{
    for (uint32_t i = 0; i < value->consumer_count; i++) {
        const struct node *node = value->consumers[i];

        if (value->data && !is_weight_of(choice, node, value))
            return false;
        if ((!call_widens(node) && !is_moving(node)) || node_decides_sizes(node))
            return false;
    }
    return !value->data || fits(value, choice->dtype);
}

/* Rows of a table, or what else is moved out of a constant. */
static bool is_of_weights(const struct value *value)
{
    const struct node *producer = value->producer;

    return producer && is_moving(producer) && producer->input_count > 0 && producer->inputs[0] &&
           producer->inputs[0]->data;
}

static bool may_be_half(const struct choice *choice, const struct value *value)
{
    if (value->dtype != DTYPE_F32 || value->is_input || value->is_output || value->stays_wide ||
        value->decides_sizes || shape_elements(&value->shape) < 0 || value->consumer_count == 0)
        return false;
    if (choice->weights_alone && !value->data && !is_of_weights(value))
        return false;
    if (value->producer && (value->producer->outputs[0] != value ||
                            (!call_widens(value->producer) && !is_moving(value->producer))))
        return false;
    return may_be_read(choice, value);
}

/* Of a moving node, its data. */
static struct value *member(const void *context, const struct node *node, uint32_t i)
{
    (void)context;
    if (!is_moving(node) || node->input_count == 0 || !node_output(node, 0))
        return NULL;
    if (i < node->input_count)
        return i < data_inputs(node) ? node->inputs[i] : NULL;
    return i == node->input_count ? node->outputs[0] : NULL;
}

static int choose(const struct choice *choice)
{
    const struct graph *graph = choice->graph;

    for (uint32_t i = 0; i < graph->value_count; i++)
        choice->is_half[i] = may_be_half(choice, graph->values[i]);
    return pass_agree(graph, choice->is_half, member, choice);
}

static int narrow_data(struct value *value, enum dtype dtype)
{
    struct kernel_table kernels;
    enum kernel_dtype to = KERNEL_F32;
    size_t count = (size_t)shape_elements(&value->shape), bytes = value_stored_bytes(value);
    float room[ROOM];
    void *data;

    if (value_take_back(value, dtype))
        return 0;
    value->dtype = dtype;
    data = graph_alloc_data((size_t)shape_bytes(&value->shape, dtype));
    if (!data)
        return -ENOMEM;
    call_dtype(dtype, &to);
    kernel_table_init(&kernels, kernel_best_level());
    for (size_t begin = 0; begin < count; begin += ROOM) {
        size_t part = count - begin < ROOM ? count - begin : ROOM, done = begin + part;

        kernels.cast.fn((uint16_t *)data + begin, to, value_read(value, begin, part, room),
                        KERNEL_F32, part);
        if (done % PART == 0 || done == count)
            value_give_back(value, (done - 1) / PART * PART * bytes,
                            ((done - 1) % PART + 1) * bytes);
    }
    value_set_data(value, data);
    return 0;
}

static int narrow(struct value *value, const struct pass_options *options)
{
    value->is_narrowed = !options->half_is_own;
    free(value->known); /* in float32; nothing that is stored in half decides anything */
    value->known = NULL;
    if (value->data)
        return narrow_data(value, options->half);
    value->dtype = options->half;
    return 0;
}

static bool touches(const struct choice *choice, const struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] && choice->is_half[node->inputs[i]->index])
            return true;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] && choice->is_half[node->outputs[i]->index])
            return true;
    return false;
}

static int64_t bytes_of(const struct value *value)
{
    int64_t bytes = value ? shape_bytes(&value->shape, value->dtype) : 0;

    return bytes > 0 ? bytes : 0;
}

/* Data, or a table that is turned once they are half as large. */
static bool is_constant(const struct value *value)
{
    const struct node *producer = value ? value->producer : NULL;

    return value && (value->data || (producer && strcmp(producer->op_type, "Transpose") == 0 &&
                                     is_of_weights(value)));
}

/* What lies between operators is little, as the largest operator with all that it reads and writes
 * shows: in half precision it would take no less that matters, and conversions. */
static bool is_little_between(const struct graph *graph)
{
    int64_t weights = 0, most = 0;

    for (uint32_t i = 0; i < graph->value_count; i++)
        weights += is_constant(graph->values[i]) ? bytes_of(graph->values[i]) : 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct node *node = graph->nodes[n];
        int64_t bytes = 0;

        for (uint32_t i = 0; i < node->input_count; i++)
            bytes += !is_constant(node->inputs[i]) ? bytes_of(node->inputs[i]) : 0;
        for (uint32_t i = 0; i < node->output_count; i++)
            bytes += !is_constant(node->outputs[i]) ? bytes_of(node->outputs[i]) : 0;
        most = bytes > most ? bytes : most;
    }
    return most <= weights / SHARE_OF_WEIGHTS;
}

/* A device's kernel of attention converts what comes in and goes out in float32: it is faster by far. */
static int mark_attention(const struct graph *graph, enum dtype dtype)
{
    int rc = 0;

    for (uint32_t n = 0; rc == 0 && n < graph->node_count; n++) {
        struct node *node = graph->nodes[n];
        bool all = node->domain[0] == '\0' && strcmp(node->op_type, "Attention") == 0 &&
                   node_input(node, 2) && node_output(node, 0);

        for (uint32_t i = 0; all && i < 3; i++)
            all = node_input(node, i) && node->inputs[i]->dtype == DTYPE_F32;
        if (all && node->outputs[0]->dtype == DTYPE_F32)
            rc = node_set_int(node, CALL_COMPUTED_IN, (int64_t)dtype);
    }
    return rc;
}

static bool has_deferred(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i]->is_deferred)
            return true;
    return false;
}

/* What stays in float32 is copied after all. */
static int settle(const struct graph *graph)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++)
        rc = value_settle(graph->values[i]);
    return rc;
}

int pass_half(struct graph *graph, const struct pass_options *options, struct diag *diag)
{
    enum dtype dtype = options->half;
    struct choice choice = {
        .graph = graph,
        .dtype = dtype,
        .half_sums = options->half_sums,
        .weights_alone = options->half_where_large && is_little_between(graph),
        .is_half = calloc(graph->value_count + 1, sizeof(*choice.is_half)),
    };
    bool is_read_late = has_deferred(graph);
    int rc = !choice.is_half ? -ENOMEM : 0, count = 0;

    if (rc == 0)
        rc = choose(&choice);
    for (uint32_t i = 0; rc == 0 && i < graph->value_count; i++)
        if (choice.is_half[i])
            rc = narrow(graph->values[i], options);
    if (rc == 0 && options->joins_half_attention)
        rc = mark_attention(graph, dtype);
    if (rc == 0)
        rc = settle(graph);
    if (is_read_late)
        graph_give_back_maps(graph);
    for (uint32_t i = 0; rc == 0 && i < graph->node_count; i++)
        count += touches(&choice, graph->nodes[i]);
    free(choice.is_half);
    return rc < 0 ? diag_set(diag, rc, "no memory to store the model in %s", dtype_name(dtype))
                  : count;
}

static bool has_type(struct value *const *values, uint32_t count, enum dtype dtype)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] && values[i]->dtype == dtype)
            return true;
    return false;
}

uint32_t pass_half_count(const struct graph *graph, enum dtype dtype)
{
    uint32_t count = 0;

    for (uint32_t i = 0; dtype != DTYPE_NONE && i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];

        count += has_type(node->inputs, node->input_count, dtype) ||
                 has_type(node->outputs, node->output_count, dtype);
    }
    return count;
}

bool pass_has_half(const struct graph *graph, enum dtype dtype)
{
    if (dtype == DTYPE_NONE)
        return false;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (node_attribute(graph->nodes[i], CALL_COMPUTED_IN))
            return true;
    return pass_half_count(graph, dtype) > 0;
}
