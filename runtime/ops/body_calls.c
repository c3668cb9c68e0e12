/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the nodes in bodies, kept from turn to turn and from run to run. */
#include "runtime/ops/body_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ops/call/call.h"

struct kept {
    struct call call;
    struct tensor_view *views; /* of inputs, then of outputs; data: of what is fixed */
    const void **inputs;
    void **outputs;
    uint32_t output_count;
    void **lent; /* by outputs: memory for them; NULL: they have their own */
    bool is_bound;
    bool is_refused; /* it cannot be bound without what changes */
    bool is_settled; /* what the types of the outputs depend on is known */
    uint64_t asked;  /* a bit for each input whose content that is, as shape_infer_node() says */
    char *content;   /* of those, one behind the other */
};

enum {
    ASKED_MAX = 63,             /* inputs that have a bit of their own in `asked` */
    LENT_BYTES_MAX = 1 << 14,   /* of an output: beyond, to make room takes little of the time */
    CONTENT_BYTES_MAX = 1 << 10 /* that are compared */
};

struct body_calls {
    uint32_t count;
    struct kept items[];
};

int body_calls_create(uint32_t count, struct body_calls **out_calls)
{
    struct body_calls *calls = calloc(1, sizeof(*calls) + count * sizeof(calls->items[0]));

    if (!calls)
        return -ENOMEM;
    calls->count = count;
    *out_calls = calls;
    return 0;
}

static void unbind(struct kept *kept)
{
    free(kept->call.workspace);
    call_deinit(&kept->call);
    for (uint32_t i = 0; kept->lent && i < kept->output_count; i++) {
        free(kept->lent[i]);
        kept->lent[i] = NULL;
    }
    free(kept->content);
    kept->content = NULL;
    kept->is_bound = kept->is_settled = false;
}

void body_calls_destroy(struct body_calls **calls_ptr)
{
    struct body_calls *calls = *calls_ptr;

    *calls_ptr = NULL;
    for (uint32_t i = 0; calls && i < calls->count; i++) {
        unbind(&calls->items[i]);
        free(calls->items[i].lent);
        free(calls->items[i].views);
        free(calls->items[i].inputs);
        free(calls->items[i].outputs);
    }
    free(calls);
}

static bool same_type(const struct tensor_view *a, const struct tensor_view *b)
{
    return a->dtype == b->dtype && (a->dtype == DTYPE_NONE || shape_equal(&a->shape, &b->shape));
}

static bool fits(const struct kept *kept, const struct node *node, const struct tensor_view *inputs,
                 const bool *is_fixed, const struct tensor_view *outputs)
{
    const struct tensor_view *views = kept->views;

    if (!kept->is_bound)
        return false;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!same_type(&views[i], &inputs[i]) ||
            views[i].data != (is_fixed[i] ? inputs[i].data : NULL))
            return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!same_type(&views[node->input_count + i], &outputs[i]))
            return false;
    return true;
}

static int make_room(struct kept *kept, const struct node *node)
{
    size_t count = (size_t)node->input_count + node->output_count;

    if (kept->views)
        return 0;
    kept->views = calloc(count + 1, sizeof(*kept->views));
    kept->inputs = calloc((size_t)node->input_count + 1, sizeof(*kept->inputs));
    kept->outputs = calloc((size_t)node->output_count + 1, sizeof(*kept->outputs));
    kept->lent = calloc((size_t)node->output_count + 1, sizeof(*kept->lent));
    kept->output_count = node->output_count;
    return kept->views && kept->inputs && kept->outputs && kept->lent ? 0 : -ENOMEM;
}

/* Returns 1 where it cannot be bound without content that changes. */
static int bind(struct kept *kept, const struct graph *body, const struct node *node,
                const struct tensor_view *inputs, const bool *is_fixed,
                const struct tensor_view *outputs, const struct eval_options *options)
{
    struct diag ignored = {0};
    struct call_request request = {.kernels = options->kernels,
                                   .graph = body,
                                   .node = node,
                                   .shows_fixed = true,
                                   .diag = &ignored};
    int rc = make_room(kept, node);

    if (rc < 0)
        return rc;
    unbind(kept);
    for (uint32_t i = 0; i < node->input_count; i++) {
        kept->views[i] = inputs[i];
        kept->views[i].data = is_fixed[i] ? inputs[i].data : NULL;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        kept->views[node->input_count + i] = outputs[i];
        kept->views[node->input_count + i].data = NULL;
    }
    request.inputs = kept->views;
    request.outputs = kept->views + node->input_count;
    rc = eval_bind(&request, &kept->call);
    if (rc == 0 && kept->call.workspace_bytes) {
        kept->call.workspace = graph_alloc_data(kept->call.workspace_bytes);
        rc = kept->call.workspace ? 0 : -ENOMEM;
    }
    kept->is_bound = rc == 0;
    kept->is_refused = rc < 0 && rc != -ENOMEM;
    if (rc < 0)
        unbind(kept);
    return kept->is_refused ? 1 : rc;
}

int body_calls_run(struct body_calls *calls, uint32_t number, const struct graph *body,
                   const struct node *node, const struct tensor_view *inputs, const bool *is_fixed,
                   struct tensor_view *outputs, const struct eval_options *options,
                   struct diag *diag)
{
    struct kept *kept = &calls->items[number];
    struct call *call = &kept->call;
    int rc = 0;

    if (kept->is_refused)
        return 1;
    if (!fits(kept, node, inputs, is_fixed, outputs))
        rc = bind(kept, body, node, inputs, is_fixed, outputs, options);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < node->input_count; i++)
        kept->inputs[i] = inputs[i].data;
    for (uint32_t i = 0; i < node->output_count; i++)
        kept->outputs[i] = outputs[i].data;
    call->inputs = kept->inputs;
    call->outputs = kept->outputs;
    return eval_run(body, node, call, options, diag);
}

static size_t bytes_of(const struct tensor_view *view)
{
    return view->dtype == DTYPE_NONE ? 0 : (size_t)shape_bytes(&view->shape, view->dtype);
}

/* Bytes of the content that input i is asked for; 0 where it is not. */
static size_t asked_bytes(const struct kept *kept, uint32_t i)
{
    return i < ASKED_MAX && kept->asked >> i & 1 ? bytes_of(&kept->views[i]) : 0;
}

void body_calls_note(struct body_calls *calls, uint32_t number, const struct node *node,
                     const struct tensor_view *inputs, const bool *is_fixed, uint64_t asked)
{
    struct kept *kept = &calls->items[number];
    size_t bytes = 0;

    if (!kept->is_bound)
        return;
    kept->is_settled = false;
    free(kept->content);
    kept->content = NULL;
    if (asked >> ASKED_MAX)
        return;
    for (uint32_t i = 0; i < node->input_count && i < ASKED_MAX; i++)
        asked &= ~((uint64_t)is_fixed[i] << i);
    kept->asked = asked;
    for (uint32_t i = 0; i < node->input_count; i++)
        bytes += asked_bytes(kept, i);
    if (bytes > CONTENT_BYTES_MAX || !(kept->content = malloc(bytes + 1)))
        return;
    bytes = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        size_t more = asked_bytes(kept, i);

        if (more > 0)
            memcpy(kept->content + bytes, inputs[i].data, more);
        bytes += more;
    }
    kept->is_settled = true;
}

static const void *data_of(const struct value *value)
{
    return !value ? NULL : value->data ? value->data : value->known;
}

static bool has_type(const struct tensor_view *view, const struct value *value)
{
    if (!value)
        return view->dtype == DTYPE_NONE;
    return view->dtype == value->dtype && shape_equal(&view->shape, &value->shape);
}

bool body_calls_recall(struct body_calls *calls, uint32_t number, const struct node *node)
{
    const struct kept *kept = &calls->items[number];
    const char *content = kept->content;

    if (!kept->is_settled)
        return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tensor_view *view = &kept->views[i];
        size_t bytes = asked_bytes(kept, i);

        if (!has_type(view, node->inputs[i]) ||
            (view->data && view->data != data_of(node->inputs[i])))
            return false;
        if (bytes > 0 && memcmp(content, data_of(node->inputs[i]), bytes) != 0)
            return false;
        content += bytes;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!node->outputs[i])
            continue;
        node->outputs[i]->dtype = kept->views[node->input_count + i].dtype;
        node->outputs[i]->shape = kept->views[node->input_count + i].shape;
    }
    return true;
}

/* Room for output i. */
static void *make_output(struct kept *kept, const struct node *node, uint32_t i)
{
    struct value *value = node->outputs[i];
    size_t bytes = bytes_of(&kept->views[node->input_count + i]);

    value->known_is_lent = bytes <= LENT_BYTES_MAX && !value->is_output;
    if (!value->known_is_lent)
        return graph_alloc_data(bytes);
    if (!kept->lent[i])
        kept->lent[i] = graph_alloc_data(bytes);
    return kept->lent[i];
}

int body_calls_repeat(struct body_calls *calls, uint32_t number, const struct graph *body,
                      const struct node *node, const struct eval_options *options,
                      struct diag *diag)
{
    struct kept *kept = &calls->items[number];

    for (uint32_t i = 0; i < node->input_count; i++)
        kept->inputs[i] = data_of(node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct value *value = node->outputs[i];

        kept->outputs[i] = NULL;
        if (!value)
            continue;
        value->known = make_output(kept, node, i); /* let go with what else is known */
        if (!value->known)
            return -ENOMEM;
        kept->outputs[i] = value->known;
    }
    kept->call.inputs = kept->inputs;
    kept->call.outputs = kept->outputs;
    return eval_run(body, node, &kept->call, options, diag);
}
