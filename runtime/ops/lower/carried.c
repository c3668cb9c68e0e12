/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences that get into bodies and out of them: a SequenceMap is its body for each part, a Loop that adds
 * to a sequence is its body for each turn, or collects, and a body that reads one reads its parts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

enum {
    TURNS_MAX = 512,
    PARTS_MAX = 64, /* that a body reads of one sequence */
    NODES_MAX = 4096,
    GRAPH_NODES_MAX = 1 << 20,
    EDGES_MAX = 256,
};
#define COPIED_BYTES_MAX ((int64_t)64 << 20)

/* Nodes, and bytes of constants, of a body with all that is inside of it. */
static void measure(const struct graph *body, int64_t *nodes, int64_t *bytes)
{
    *nodes += body->node_count;
    for (uint32_t i = 0; i < body->value_count; i++)
        if (body->values[i]->data)
            *bytes += shape_bytes(&body->values[i]->shape, body->values[i]->dtype);
    for (uint32_t i = 0; i < body->node_count; i++)
        for (uint32_t k = 0; k < body->nodes[i]->attribute_count; k++) {
            const struct attribute *a = &body->nodes[i]->attributes[k];

            if (a->type == ATTRIBUTE_GRAPH)
                measure(a->graph, nodes, bytes);
            else if (a->type == ATTRIBUTE_TENSOR)
                *bytes += shape_bytes(&a->tensor.shape, a->tensor.dtype);
        }
}

static bool holds_optional(const struct value *value)
{
    const struct node *node = value ? value->producer : NULL;

    return node && node->domain[0] == '\0' && strcmp(node->op_type, "Optional") == 0;
}

/* Whether so many copies of a body stay within bounds, whatever the model says. */
static bool may_copy(const struct lower *l, const struct graph *body, int64_t times)
{
    int64_t nodes = 1, bytes = 1;

    measure(body, &nodes, &bytes);
    return times <= NODES_MAX && nodes <= NODES_MAX && times * nodes <= NODES_MAX &&
           bytes <= COPIED_BYTES_MAX && times * bytes <= COPIED_BYTES_MAX &&
           l->graph->node_count + times * nodes <= GRAPH_NODES_MAX;
}

/* SequenceMap */

static void map_part(struct lower *l, const struct graph *body, const struct lower_parts *parts,
                     size_t part, struct value **outputs)
{
    uint32_t own = body->input_count - body->capture_count;
    struct value *inputs[EDGES_MAX];

    for (uint32_t i = 0; i < own; i++)
        inputs[i] = parts[i].items ? parts[i].items[part] : l->node->inputs[i];
    lower_inline(l, body, inputs, outputs);
}

/* parts: of each input that is a sequence. */
static void map_all(struct lower *l, const struct graph *body, const struct lower_parts *parts)
{
    size_t count = parts[0].count;
    uint32_t results = body->output_count;
    struct value **made = calloc(count * results + 1, sizeof(*made));
    struct value **list = calloc(count + 1, sizeof(*list));

    if (!made || !list)
        l->rc = -ENOMEM;
    if (l->rc == 0 && !may_copy(l, body, (int64_t)count))
        lower_refuse(l, "its body is too large for each of %zu parts", count);
    for (size_t i = 0; l->rc == 0 && i < count; i++)
        map_part(l, body, parts, i, made + i * results);
    for (uint32_t k = 0; l->rc == 0 && k < results; k++) {
        for (size_t i = 0; i < count; i++)
            list[i] = made[i * results + k];
        if (lower_wants(l, k))
            lower_done(l, k, lower_op(l, "SequenceConstruct", list, (uint32_t)count));
    }
    free(made);
    free(list);
}

static void lower_mapped(struct lower *l)
{
    const struct graph *body = node_graph(l->node, "body");
    uint32_t own = l->node->input_count - l->node->captured_count;
    struct lower_parts parts[EDGES_MAX] = {{NULL, 0}};

    if (!body || own < 1 || own > EDGES_MAX || body->input_count - body->capture_count != own ||
        body->output_count != l->node->output_count || body->output_count > EDGES_MAX)
        lower_refuse(l, "its body does not fit its inputs and outputs");
    for (uint32_t i = 0; l->rc == 0 && i < own; i++) {
        if (!l->node->inputs[i])
            lower_refuse(l, "input %u is left out", i);
        else if (i > 0 && !lower_holds_sequence(l->node->inputs[i]))
            continue;
        else if (!lower_find_parts(l, l->node->inputs[i], &parts[i]))
            lower_refuse(l, "which tensors are in its sequence is not known before the model runs");
        else if (parts[i].count == 0 || parts[i].count != parts[0].count)
            lower_refuse(l, "its sequences are empty, or of different lengths");
    }
    if (l->rc == 0)
        map_all(l, body, parts);
    for (uint32_t i = 0; i < own && i < EDGES_MAX; i++)
        free(parts[i].items);
}

/* Loops */

/* Whether a value inside of a body is known to be true as long as its condition is; outside of it with
 * body NULL. */
static bool is_true(const struct node *node, const struct graph *body, struct value *value)
{
    struct tensor_view view;

    for (int step = 0;
         body && step < 64 && value && value->producer && value->producer->domain[0] == '\0' &&
         strcmp(value->producer->op_type, "Identity") == 0;
         step++)
        value = node_input(value->producer, 0);
    if (body && value == body->inputs[1])
        return true;
    for (uint32_t i = 0; body && i < body->capture_count; i++)
        if (value == body->inputs[body->input_count - body->capture_count + i])
            value = node->inputs[body->captures[i]];
    return value && lower_given(value, &view) && view.dtype == DTYPE_BOOL &&
           shape_elements(&view.shape) == 1 && *(const uint8_t *)view.data != 0;
}

/* The length of a sequence that is known. */
static bool find_length(struct lower *l, const struct value *value, int64_t *out_length)
{
    const struct node *node = value->producer;
    struct lower_parts parts;

    if (!node || node->domain[0] != '\0' || strcmp(node->op_type, "SequenceLength") != 0 ||
        !lower_find_parts(l, node_input(node, 0), &parts))
        return false;
    *out_length = (int64_t)parts.count;
    free(parts.items);
    return true;
}

/* How many turns it takes, where that is known and no turn ends it but by a counter; or -1. A counter without a step is
 * none. */
static int64_t turns_of(struct lower *l, const struct graph *body, struct lower_counter *counter)
{
    const struct node *node = l->node;
    struct value *condition = node_input(node, 1);
    struct tensor_view view;
    int64_t turns;
    bool begins;

    if (condition && lower_truth(condition, &begins) && !begins)
        return 0;
    if (!node_input(node, 0) && (!condition || is_true(node, NULL, condition)))
        return lower_count_up(node, body, counter);
    if (!node_input(node, 0) || (condition && !is_true(node, NULL, condition)) ||
        !is_true(node, body, body->outputs[0]))
        return -1;
    if (find_length(l, node->inputs[0], &turns))
        return turns;
    if (!lower_given(node->inputs[0], &view) || view.dtype != DTYPE_I64 ||
        shape_elements(&view.shape) != 1)
        return -1;
    memcpy(&turns, view.data, sizeof(turns));
    return turns < 0 ? 0 : turns;
}

/* What a turn begins with is known of a counter, so that what is computed of it is. */
static void set_counter(struct lower *l, const struct lower_counter *counter, int64_t turn,
                        struct value **states)
{
    struct tensor_view view;
    int64_t *number;

    if (turn == 0 || !lower_given(l->node->inputs[2 + counter->state], &view))
        return;
    number = lower_data(l, DTYPE_I64, &view.shape, &states[counter->state]);
    if (number)
        *number = counter->first + turn * counter->step;
}

static void unroll(struct lower *l, const struct graph *body, int64_t turns, uint32_t states,
                   const struct lower_counter *counter)
{
    struct value *inputs[EDGES_MAX], *outputs[EDGES_MAX], *always;
    bool *data = lower_data(l, DTYPE_BOOL, &(struct shape){.rank = 0}, &always);

    if (data)
        *data = true;
    memcpy(inputs + 2, l->node->inputs + 2, states * sizeof(struct value *));
    for (int64_t turn = 0; l->rc == 0 && turn < turns; turn++) {
        int64_t *number = lower_data(l, DTYPE_I64, &(struct shape){.rank = 0}, &inputs[0]);

        if (!number)
            return;
        *number = turn;
        inputs[1] = always;
        if (counter->step > 0)
            set_counter(l, counter, turn, inputs + 2);
        lower_inline(l, body, inputs, outputs);
        if (l->rc == 0)
            memcpy(inputs + 2, outputs + 1, states * sizeof(struct value *));
    }
    for (uint32_t i = 0; l->rc == 0 && i < states; i++)
        if (lower_wants(l, i))
            lower_done(l, i, inputs[2 + i]);
}

/* The node that adds to state i, a sequence that is empty at first; NULL: something else happens to it. */
static struct node *adding(struct lower *l, const struct graph *body, uint32_t i)
{
    struct node *node = body->outputs[1 + i]->producer;
    const struct value *state = body->inputs[2 + i];
    struct lower_parts parts = {NULL, 0};
    bool is_empty =
        lower_find_parts(l, l->node->inputs[2 + i], &parts) && parts.count == 0 && l->rc == 0;

    free(parts.items);
    return is_empty && node && node->domain[0] == '\0' &&
                   strcmp(node->op_type, "SequenceInsert") == 0 && node->inputs[0] == state &&
                   node_input(node, 1) && !node_input(node, 2) && state->consumer_count == 1 &&
                   !state->is_output && node->outputs[0]->consumer_count == 0
               ? node
               : NULL;
}

/* State i of the body becomes a value that the loop collects, its last. */
static void collect_state(struct lower *l, struct graph *body, uint32_t i)
{
    static const struct shape unknown = {.rank = -1};
    struct node *node = adding(l, body, i), *copy;
    struct value *part = node->inputs[1];
    struct value *collected = graph_add_value(body, NULL, DTYPE_NONE, &unknown, NULL);

    if (!collected) {
        l->rc = -ENOMEM;
        return;
    }
    body->outputs[1 + i]->is_output = false;
    body->inputs[2 + i]->is_input = false;
    memmove(body->outputs + 1 + i, body->outputs + 2 + i,
            (body->output_count - 2 - i) * sizeof(*body->outputs));
    body->output_count--;
    memmove(body->inputs + 2 + i, body->inputs + 3 + i,
            (body->input_count - 3 - i) * sizeof(*body->inputs));
    body->input_count--;
    graph_remove_node(body, node);
    copy = graph_add_node(body, "Identity", "", NULL, &part, 1, &collected, 1);
    if (!copy || graph_add_output(body, collected) < 0)
        l->rc = -ENOMEM;
}

/* The body is the new node's. */
static void give_body(struct lower *l, const char *name, struct graph *body, struct node *loop)
{
    struct node *old = l->node;
    uint32_t count = body->capture_count;
    uint32_t *captures = malloc((count + 1) * sizeof(*captures));
    int rc = captures ? node_set_graph(loop, name, body) : -ENOMEM;

    for (uint32_t i = 0; captures && i < old->attribute_count; i++)
        if (old->attributes[i].graph == body)
            old->attributes[i].graph = NULL;
    if (rc == 0) {
        for (uint32_t i = 0; i < count; i++)
            captures[i] = body->captures[i];
        body->capture_count = 0;
    }
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        rc = node_capture(loop, body, old->inputs[captures[i]]);
    free(captures);
    l->rc = rc < 0 ? rc : graph_sort(body, l->diag);
}

/* The collected value has the parts along its first axis. */
static void collect(struct lower *l, struct graph *body, uint32_t states, const bool *is_added)
{
    struct value *inputs[EDGES_MAX], *outputs[EDGES_MAX];
    uint32_t kept = 0, results = l->node->output_count, last = results;

    for (uint32_t i = states; l->rc == 0 && i-- > 0;)
        if (is_added[i])
            collect_state(l, body, i); /* the last of them comes first */
    inputs[0] = l->node->inputs[0];
    inputs[1] = l->node->inputs[1];
    for (uint32_t i = 0; i < states; i++)
        if (!is_added[i])
            inputs[2 + kept++] = l->node->inputs[2 + i];
    if (!inputs[1] && kept == 0) { /* a Loop has a second input */
        bool *always = lower_data(l, DTYPE_BOOL, &(struct shape){.rank = 0}, &inputs[1]);

        if (always)
            *always = true;
    }
    lower_many(l, "Loop", inputs, 2 + kept, outputs, results);
    if (l->rc == 0)
        give_body(l, "body", body, l->made);
    kept = 0;
    for (uint32_t i = 0; l->rc == 0 && i < results; i++) {
        struct value *y;

        if (i < states && is_added[i]) {
            y = lower_one(l, "SplitToSequence", outputs[--last]);
            lower_int(l, "axis", 0);
            lower_int(l, "keepdims", 0);
        } else {
            y = outputs[kept++];
        }
        if (l->rc == 0 && lower_wants(l, i))
            lower_done(l, i, y);
    }
}

bool lower_carried(struct lower *l, bool only_known)
{
    struct node *node = l->node;
    struct graph *body = node_graph(node, "body");
    uint32_t given = node->input_count - node->captured_count, states = given < 2 ? 0 : given - 2;
    bool is_added[EDGES_MAX] = {false}, has_any = false;
    struct lower_counter counter = {0};
    int64_t turns;

    for (uint32_t i = 0; i < states; i++)
        has_any = has_any || lower_holds_sequence(node->inputs[2 + i]) ||
                  (only_known && holds_optional(node->inputs[2 + i]));
    if (!has_any || !body || node->domain[0] != '\0' || strcmp(node->op_type, "Loop") != 0)
        return false;
    for (uint32_t i = 0; i < states; i++)
        if (!node->inputs[2 + i])
            lower_refuse(l, "input %u is left out", 2 + i);
    if (l->rc < 0)
        return true;
    if (given > EDGES_MAX - 2 || node->output_count > EDGES_MAX - 2 ||
        node->output_count < states || body->input_count - body->capture_count != given ||
        body->output_count != node->output_count + 1) {
        lower_refuse(l, "its body does not fit its inputs and outputs");
        return true;
    }
    turns = turns_of(l, body, &counter);
    if (turns >= 0 && turns <= TURNS_MAX && may_copy(l, body, turns) &&
        node->output_count == states) {
        unroll(l, body, turns, states, &counter);
        return true;
    }
    if (only_known)
        return false;
    for (uint32_t i = 0; l->rc == 0 && i < states; i++) {
        is_added[i] = lower_holds_sequence(node->inputs[2 + i]);
        if (is_added[i] && !adding(l, body, i))
            lower_refuse(l, "how a sequence changes from turn to turn is not known");
    }
    if (l->rc == 0)
        collect(l, body, states, is_added);
    return true;
}

/* Branches that give sequences of one length */

static const char *const branch_names[] = {"then_branch", "else_branch"};

/* What both branches give as one output: a tensor, or so many. */
struct given {
    struct lower_parts parts[2];
    bool is_sequence;
};

static bool is_of_sequence(const struct graph *branch, uint32_t output)
{
    return lower_holds_sequence(branch->outputs[output]) || holds_optional(branch->outputs[output]);
}

/* false: one is not known, perhaps not yet. */
static bool find_given(struct lower *l, struct graph *const *branches, uint32_t output,
                       struct given *given)
{
    for (int i = 0; i < 2; i++) {
        struct lower inner = {.graph = branches[i],
                              .node = l->node,
                              .diag = l->diag,
                              .first = branches[i]->node_count};

        if (!lower_find_parts(&inner, branches[i]->outputs[output], &given->parts[i])) {
            l->rc = inner.rc;
            return false;
        }
    }
    if (given->parts[0].count != given->parts[1].count)
        lower_refuse(l, "its branches give sequences of %zu and %zu tensors", given->parts[0].count,
                     given->parts[1].count);
    return l->rc == 0;
}

/* Each tensor becomes an output of the branch. */
static void spread_outputs(struct lower *l, struct graph *branch, int which,
                           const struct given *given)
{
    static const struct shape unknown = {.rank = -1};
    uint32_t count = branch->output_count;
    struct value *old[EDGES_MAX];

    memcpy(old, branch->outputs, count * sizeof(struct value *));
    branch->output_count = 0;
    for (uint32_t i = 0; i < count; i++)
        old[i]->is_output = false;
    for (uint32_t i = 0; l->rc == 0 && i < count; i++) {
        const struct lower_parts *parts = &given[i].parts[which];

        if (!given[i].is_sequence)
            l->rc = graph_add_output(branch, old[i]);
        for (size_t k = 0; l->rc == 0 && k < parts->count; k++) {
            struct value *copy = graph_add_value(branch, NULL, DTYPE_NONE, &unknown, NULL);

            if (!copy ||
                !graph_add_node(branch, "Identity", "", NULL, &parts->items[k], 1, &copy, 1))
                l->rc = -ENOMEM;
            else
                l->rc = graph_add_output(branch, copy);
        }
    }
    lower_prune(branch);
}

/* The new node's outputs, the sequences among them joined again. */
static void join_outputs(struct lower *l, const struct given *given, struct value **outputs)
{
    for (uint32_t i = 0; l->rc == 0 && i < l->node->output_count; i++) {
        uint32_t count = given[i].is_sequence ? (uint32_t)given[i].parts[0].count : 1;
        struct value *y = outputs[0];

        if (given[i].is_sequence)
            y = lower_op(l, count > 0 ? "SequenceConstruct" : "SequenceEmpty", outputs, count);
        if (l->rc == 0 && lower_wants(l, i))
            lower_done(l, i, y);
        outputs += count;
    }
}

static void lower_spread(struct lower *l, struct graph *const *branches, struct given *given)
{
    struct value *outputs[EDGES_MAX];
    size_t total = 0;

    for (uint32_t i = 0; i < l->node->output_count; i++)
        total += given[i].is_sequence ? given[i].parts[0].count : 1;
    if (total == 0 || total > EDGES_MAX)
        lower_refuse(l, "its branches give %zu tensors", total);
    for (int i = 0; l->rc == 0 && i < 2; i++)
        spread_outputs(l, branches[i], i, given);
    if (l->rc == 0)
        lower_many(l, "If", l->node->inputs, 1, outputs, (uint32_t)total);
    for (int i = 0; l->rc == 0 && i < 2; i++)
        give_body(l, branch_names[i], branches[i], l->made);
    join_outputs(l, given, outputs);
}

/* The one that is taken stands in the node's place. */
static void take_branch(struct lower *l, const struct graph *branch)
{
    struct value *outputs[EDGES_MAX];

    lower_inline(l, branch, NULL, outputs);
    for (uint32_t i = 0; l->rc == 0 && i < branch->output_count; i++)
        if (lower_wants(l, i))
            lower_done(l, i, outputs[i]);
}

bool lower_branches(struct lower *l)
{
    struct graph *branches[] = {node_graph(l->node, branch_names[0]),
                                node_graph(l->node, branch_names[1])};
    uint32_t count = l->node->output_count;
    struct given *given;
    bool has_any = false, is_known = true, truth;

    if (l->node->domain[0] != '\0' || strcmp(l->node->op_type, "If") != 0 || !branches[0] ||
        !branches[1] || !node_input(l->node, 0) || branches[0]->output_count != count ||
        branches[1]->output_count != count || count > EDGES_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++)
        has_any = has_any || is_of_sequence(branches[0], i) || is_of_sequence(branches[1], i);
    if (lower_truth(l->node->inputs[0], &truth) && may_copy(l, branches[!truth], 1)) {
        take_branch(l, branches[!truth]);
        return true;
    }
    given = calloc(count + 1, sizeof(*given));
    if (!given) {
        l->rc = -ENOMEM;
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        given[i].is_sequence = is_of_sequence(branches[0], i) || is_of_sequence(branches[1], i);
        is_known = is_known && (!given[i].is_sequence || find_given(l, branches, i, &given[i]));
    }
    if (has_any && is_known)
        lower_spread(l, branches, given);
    for (uint32_t i = 0; i < count; i++) {
        free(given[i].parts[0].items);
        free(given[i].parts[1].items);
    }
    free(given);
    return has_any && (is_known || l->rc < 0);
}

/* Bodies that read sequences */

/* The input of a body that is capture i is one no more. Returns its value. */
static struct value *end_capture(struct graph *body, uint32_t i)
{
    uint32_t place = body->input_count - body->capture_count + i;
    struct value *value = body->inputs[place];

    value->is_input = false;
    memmove(body->inputs + place, body->inputs + place + 1,
            (body->input_count - place - 1) * sizeof(*body->inputs));
    body->input_count--;
    memmove(body->captures + i, body->captures + i + 1,
            (body->capture_count - i - 1) * sizeof(*body->captures));
    body->capture_count--;
    return value;
}

/* It becomes a sequence of parts that the body reads from outside as well. */
static void read_parts(struct lower *l, struct graph *body, uint32_t capture,
                       const struct lower_parts *parts)
{
    static const struct shape unknown = {.rank = -1};
    struct value **list = calloc(parts->count, sizeof(*list));
    uint32_t old = body->captures[capture];
    struct value *sequence = end_capture(body, capture);

    for (size_t i = 0; list && l->rc == 0 && i < parts->count; i++) {
        list[i] = graph_add_value(body, NULL, DTYPE_NONE, &unknown, NULL);
        if (!list[i] || graph_add_input(body, list[i]) < 0)
            l->rc = -ENOMEM;
        else
            l->rc = node_capture(l->node, body, parts->items[i]);
    }
    if (!list || (l->rc == 0 && !graph_add_node(body, "SequenceConstruct", "", NULL, list,
                                                (uint32_t)parts->count, &sequence, 1)))
        l->rc = -ENOMEM;
    if (l->rc == 0) /* nobody reads it by this input any more */
        l->rc = node_set_input(l->node, old, parts->items[0]);
    free(list);
}

/* A whole number that is known outside is a constant of the body: perhaps a position. */
static bool takes_number(struct lower *l, struct graph *body, uint32_t capture)
{
    struct tensor_view view;
    struct value *value;
    void *data;

    if (!lower_given(l->node->inputs[body->captures[capture]], &view) ||
        (view.dtype != DTYPE_I64 && view.dtype != DTYPE_I32) || shape_elements(&view.shape) != 1)
        return false;
    data = graph_alloc_data(dtype_bytes(view.dtype));
    if (!data) {
        l->rc = -ENOMEM;
        return false;
    }
    memcpy(data, view.data, dtype_bytes(view.dtype));
    value = end_capture(body, capture);
    value->dtype = view.dtype;
    value->shape = view.shape;
    value_set_data(value, data);
    return true;
}

bool lower_reads_sequence(struct lower *l, struct graph *body)
{
    bool found = false;

    for (uint32_t i = 0; l->rc == 0 && i < body->capture_count;) {
        struct value *outside = l->node->inputs[body->captures[i]];
        struct lower_parts parts = {NULL, 0};

        if (lower_holds_sequence(outside) && lower_find_parts(l, outside, &parts) &&
            parts.count > 0 && parts.count <= PARTS_MAX) {
            read_parts(l, body, i, &parts);
            found = true;
        } else {
            i++;
        }
        free(parts.items);
    }
    for (uint32_t i = 0; found && l->rc == 0 && i < body->capture_count;)
        i += takes_number(l, body, i) ? 0 : 1;
    return found;
}

const struct lower_rule lower_carriers[] = {
    {{"SequenceMap", "its body for each part"}, 1, LOWER_ANY, LOWER_ANY, "body", lower_mapped},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
