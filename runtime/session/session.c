/* SPDX-License-Identifier: Apache-2.0 */
/* One loaded model, ready to run. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/graph/element.h"
#include "runtime/onnx/model.h"
#include "runtime/ops/lower/lower.h"
#include "runtime/passes/pass.h"
#include "runtime/session/part.h"
#include "runtime/session/session.h"

static int keep_text(const struct session_config *config, const struct session *session,
                     char **out_text, struct diag *diag)
{
    size_t size;
    FILE *out;
    int rc;

    if (!config->describe)
        return 0;
    out = open_memstream(out_text, &size);
    if (!out)
        return diag_set(diag, -ENOMEM, "no memory for the text of the graph");
    rc = config->describe(session->graph, session->exec, out);
    if (fclose(out) != 0 || rc < 0)
        return diag_set(diag, -ENOMEM, "no memory for the text of the graph");
    return 0;
}

static int set_inputs(struct session *session, const struct session_config *config,
                      struct diag *diag)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < session->graph->input_count; i++) {
        struct tensor_view view;

        rc = input_tensor(session->graph, config->inputs, i, config->seed, &view, diag);
        if (rc < 0)
            return rc;
        rc = exec_set_input(session->exec, i, &view, diag);
        free(view.data);
    }
    return rc;
}

/* What shapes may be inferred from: all that was given, and made-up floats. Made-up integers are no
 * sizes. */
static int infer_shapes(struct graph *graph, const struct session_config *config, struct diag *diag)
{
    struct tensor_view *contents = calloc(graph->input_count + 1, sizeof(*contents));
    struct part_config parts = {&config->passes, config->exec.threads};
    struct shape_sources sources = {contents, eval_node_as_run, part_compute, &parts};
    int rc = contents ? 0 : diag_set(diag, -ENOMEM, "no memory for the inputs");

    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++) {
        bool is_given = input_find(graph, config->inputs, i) != NULL;

        if (is_given || element_is_float(graph->inputs[i]->dtype))
            rc = input_tensor(graph, config->inputs, i, config->seed, &contents[i], diag);
    }
    if (rc == 0)
        rc = shape_infer_from(graph, &sources, diag);
    while (rc == 0 && (rc = lower_decided(graph, diag)) > 0) /* whose branches may decide others */
        rc = shape_infer_from(graph, &sources, diag);
    if (rc == 0 &&
        (rc = lower_for_device(graph, config->exec.device, config->passes.half, diag)) > 0)
        rc = shape_infer_from(graph, &sources, diag);
    for (uint32_t i = 0; contents && i < graph->input_count; i++)
        free(contents[i].data);
    free(contents);
    return rc;
}

static int make_host_outputs(struct session *session, struct diag *diag)
{
    const struct graph *graph = session->graph;

    session->host_outputs = calloc(graph->output_count + 1, sizeof(*session->host_outputs));
    for (uint32_t i = 0; session->host_outputs && i < graph->output_count; i++) {
        const struct value *value = graph->outputs[i];

        session->host_outputs[i] =
            graph_alloc_data((size_t)shape_bytes(&value->shape, value->dtype));
        if (!session->host_outputs[i])
            return diag_set(diag, -ENOMEM, "no memory for a copy of \"%s\"", value->name);
    }
    return session->host_outputs ? 0 : diag_set(diag, -ENOMEM, "no memory for the outputs");
}

static int64_t constant_bytes(const struct graph *graph)
{
    int64_t total = 0;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];

        if (value->data)
            total += shape_bytes(&value->shape, value->dtype);
    }
    return total;
}

static bool is_half(enum dtype dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* Weights of half precision, or on their way to it, are copied often: what is large goes back to the system as it is
 * freed, and leaves no holes between what stays. */
static void free_at_once(const struct graph *graph, enum dtype half)
{
#if defined(__GLIBC__)
    enum { LARGE = 1 << 17 };

    for (uint32_t i = 0; half == DTYPE_NONE && i < graph->value_count; i++)
        if (graph->values[i]->data && is_half(graph->values[i]->dtype))
            half = graph->values[i]->dtype;
    if (half != DTYPE_NONE)
        mallopt(M_MMAP_THRESHOLD, LARGE);
#endif
}

int session_prepare(struct session *session, const struct session_config *config, struct diag *diag)
{
    struct graph *graph = session->graph;
    struct exec_options options = config->exec;
    uint64_t start = ot_clock_ns(CLOCK_MONOTONIC);
    int rc;

    session->source_node_count = graph->node_count;
    rc = pass_cut(graph, &config->passes, diag);
    if (rc == 0)
        rc = input_bind_shapes(graph, config->inputs, diag);
    session->infer_start_ns = ot_clock_ns(CLOCK_REALTIME);
    if (rc == 0)
        rc = infer_shapes(graph, config, diag);
    session->infer_end_ns = ot_clock_ns(CLOCK_REALTIME);
    if (rc == 0)
        rc = keep_text(config, session, &session->text_before, diag);
    free_at_once(graph, config->passes.half);
    if (rc == 0)
        rc = graph_optimise(graph, &config->passes, eval_node_as_run, diag);
    session->parameter_bytes = constant_bytes(graph);
    options.frees_packed = config->frees_packed ? graph : NULL;
    if (rc == 0)
        rc = exec_create(graph, &options, &session->exec, diag);
    if (rc == 0)
        rc = keep_text(config, session, &session->text_after, diag);
    if (rc == 0)
        rc = set_inputs(session, config, diag);
    if (rc == 0 && config->copy_to_host)
        rc = make_host_outputs(session, diag);
    session->prepare_ns = ot_clock_ns(CLOCK_MONOTONIC) - start;
    return rc;
}

int session_load_with(const char *path, const struct model_loading *loading,
                      struct session **out_session, struct diag *diag)
{
    struct session *session = calloc(1, sizeof(*session));
    uint64_t start = ot_clock_ns(CLOCK_MONOTONIC);
    int rc;

    if (!session)
        return diag_set(diag, -ENOMEM, "no memory for the model");
    rc = model_onnx_load_with(path, loading, &session->graph, diag);
    session->load_ns = ot_clock_ns(CLOCK_MONOTONIC) - start;
    if (rc == 0) {
        *out_session = session;
        session = NULL; /* ownership moved to the caller */
    }
    session_destroy(&session);
    return rc;
}

/* Of an optional `x` nothing is said: it holds what is given as x, or is made up. */
static int count_given(void *user, uint32_t index, const char *name, struct port *port,
                       struct diag *diag)
{
    const struct input_list *list = user;
    int64_t count = list ? input_count_parts(list, name) : 0;

    if (port->is_sequence && count > 0)
        port->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    return 0;
}

static int learn_given(void *user, struct graph *graph)
{
    const struct input_list *list = user;
    int rc = 0;

    for (uint32_t i = 0; list && rc == 0 && i < graph->input_count; i++) {
        struct tensor_view view;

        if (!value_may_decide(graph->inputs[i]))
            continue;
        rc = input_content(graph, list, i, &view);
        if (rc <= 0)
            continue;
        rc = value_learn(graph->inputs[i], &view);
        free(view.data);
    }
    return rc;
}

int session_load(const char *path, bool shares, bool defers, const struct input_list *inputs,
                 struct session **out_session, struct diag *diag)
{
    struct model_sequences sequences = {(void *)inputs, count_given, learn_given};

    return session_load_with(path, &(struct model_loading){shares, defers, &sequences}, out_session,
                             diag);
}

static bool takes_inputs(const struct session *session, const struct tensor_view *views)
{
    bool takes = true;

    for (uint32_t i = 0; takes && i < session->graph->input_count; i++)
        takes = exec_takes_input(session->exec, i, &views[i]);
    return takes;
}

int session_set_inputs(struct session *session, const struct session_config *config,
                       struct diag *diag)
{
    const struct graph *graph = session->graph;
    struct tensor_view *views = calloc(graph->input_count + 1, sizeof(*views));
    struct diag misfit = {0};
    int rc = views ? 0 : diag_set(diag, -ENOMEM, "no memory for the inputs");

    /* All have their shapes: others are refused, and nothing changes. */
    if (rc == 0 && input_bind_shapes(session->graph, config->inputs, &misfit) < 0) {
        free(views);
        return 0;
    }
    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++)
        rc = input_tensor(graph, config->inputs, i, config->seed, &views[i], diag);
    if (rc == 0)
        rc = takes_inputs(session, views);
    for (uint32_t i = 0; rc == 1 && i < graph->input_count; i++) {
        int set = exec_set_input(session->exec, i, &views[i], diag);

        rc = set < 0 ? set : 1;
    }
    for (uint32_t i = 0; views && i < graph->input_count; i++)
        free(views[i].data);
    free(views);
    return rc;
}

void session_destroy(struct session **session_ptr)
{
    struct session *session = *session_ptr;

    *session_ptr = NULL;
    if (!session)
        return;
    exec_destroy(&session->exec);
    for (uint32_t i = 0; session->host_outputs && i < session->graph->output_count; i++)
        free(session->host_outputs[i]);
    free(session->host_outputs);
    graph_destroy(&session->graph);
    free(session->text_before);
    free(session->text_after);
    free(session);
}

static int copy_outputs(const struct session *session, struct diag *diag)
{
    for (uint32_t i = 0; i < session->graph->output_count; i++) {
        struct tensor_view view;
        int rc = exec_output(session->exec, i, &view);

        if (rc < 0)
            return exec_tell_output(session->exec, i, rc, diag);
        memcpy(session->host_outputs[i], view.data, (size_t)shape_bytes(&view.shape, view.dtype));
    }
    return 0;
}

int session_run(struct session *session, struct session_times *out_times, struct diag *diag)
{
    uint64_t start = ot_clock_ns(CLOCK_MONOTONIC);
    uint64_t dispatched;
    int rc;

    exec_dispatch(session->exec);
    dispatched = ot_clock_ns(CLOCK_MONOTONIC);
    rc = exec_wait(session->exec, diag);
    if (rc == 0 && session->host_outputs)
        rc = copy_outputs(session, diag);
    if (out_times)
        *out_times = (struct session_times){.e2e_ns = ot_clock_ns(CLOCK_MONOTONIC) - start,
                                            .host_ns = dispatched - start};
    return rc;
}

void session_run_fake(struct session *session, struct session_times *out_times)
{
    uint64_t start = ot_clock_ns(CLOCK_MONOTONIC), dispatched;
    struct diag nothing = {0};

    exec_dispatch_fake(session->exec);
    dispatched = ot_clock_ns(CLOCK_MONOTONIC);
    (void)exec_wait(session->exec, &nothing); /* what does nothing cannot fail */
    *out_times = (struct session_times){.e2e_ns = ot_clock_ns(CLOCK_MONOTONIC) - start,
                                        .host_ns = dispatched - start};
}
