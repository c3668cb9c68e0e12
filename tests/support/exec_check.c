/* SPDX-License-Identifier: Apache-2.0 */
/* Running a graph both ways. */
#include "tests/support/exec_check.h"

#include <math.h>

#include "runtime/ops/eval.h"
#include "tests/support/check.h"

float exec_check_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 23) - 1.0f;
}

static struct tensor_view view_of(const struct value *value, void **data)
{
    if (!value)
        return (struct tensor_view){.dtype = DTYPE_NONE};
    return (struct tensor_view){value->dtype, value->shape, data[value->index]};
}

/* Where every value's content goes, by value->index; sources are filled. */
static void **make_data(const struct graph *graph, uint32_t seed)
{
    void **data = calloc(graph->value_count, sizeof(*data));

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        size_t bytes = (size_t)shape_bytes(&value->shape, value->dtype);

        data[i] = calloc(1, bytes + 1);
        if (value->data)
            memcpy(data[i], value->data, bytes);
        else if (value->is_input && value->dtype == DTYPE_F32)
            for (int64_t k = 0; k < shape_elements(&value->shape); k++)
                ((float *)data[i])[k] = exec_check_random(&seed);
    }
    return data;
}

static void evaluate(const struct graph *graph, void **data)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        struct tensor_view inputs[8], outputs[2];
        struct diag diag = {0};
        int rc;

        assert_true(node->input_count <= 8 && node->output_count <= 2);
        for (uint32_t j = 0; j < node->input_count; j++)
            inputs[j] = view_of(node->inputs[j], data);
        for (uint32_t j = 0; j < node->output_count; j++)
            outputs[j] = view_of(node->outputs[j], data);
        rc = eval_node(graph, node, inputs, outputs, &diag);
        if (rc != 0)
            fail_msg("eval_node: %s (%d)", diag.text, rc);
    }
}

struct exec *exec_check_create(const struct graph *graph, uint32_t threads)
{
    struct exec_options options = {.threads = threads};
    struct exec *exec = NULL;
    struct diag diag = {0};
    int rc = exec_create(graph, &options, &exec, &diag);

    if (rc != 0)
        fail_msg("exec_create: %s (%d)", diag.text, rc);
    return exec;
}

float *exec_check_run(struct exec *exec, const struct graph *graph, float scale)
{
    struct diag diag = {0};
    struct tensor_view view;
    float *out;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        int64_t count = shape_elements(&graph->inputs[i]->shape);
        float *data = calloc((size_t)count + 1, sizeof(*data));

        for (int64_t k = 0; k < count; k++)
            data[k] = scale * ((float)((k * 37 + i * 11) % 61) / 61.0f - 0.5f);
        view = (struct tensor_view){DTYPE_F32, graph->inputs[i]->shape, data};
        CHECK_OK(exec_set_input(exec, i, &view, &diag));
        free(data);
    }
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &view));
    assert_int_equal(view.dtype, DTYPE_F32);
    out = malloc((size_t)shape_bytes(&view.shape, DTYPE_F32) + 1);
    memcpy(out, view.data, (size_t)shape_bytes(&view.shape, DTYPE_F32));
    return out;
}

static void compare_output(const struct graph *graph, const struct exec *exec, uint32_t index,
                           void **truth, double slack, const char *what)
{
    const struct value *value = graph->outputs[index];
    const float *want = truth[value->index];
    struct tensor_view got;

    assert_int_equal(value->dtype, DTYPE_F32);
    CHECK_OK(exec_output(exec, index, &got));
    for (int64_t i = 0; i < shape_elements(&value->shape); i++) {
        double off = fabs((double)((const float *)got.data)[i] - (double)want[i]);

        if (!(off <= slack * (1e-5 + 1e-5 * fabs((double)want[i]))))
            fail_msg("%s: output %u (%s), element %lld: %.9g, not %.9g", what, index,
                     value->producer ? value->producer->op_type : "input", (long long)i,
                     (double)((const float *)got.data)[i], (double)want[i]);
    }
}

void exec_check_graph(const struct graph *graph, uint32_t seed, double slack, const char *what)
{
    struct diag diag = {0};
    void **truth;

    if (graph_check(graph, &diag) != 0)
        fail_msg("%s: graph_check: %s", what, diag.text);
    truth = make_data(graph, seed);
    evaluate(graph, truth);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct exec *exec = exec_check_create(graph, threads);

        for (uint32_t i = 0; i < graph->input_count; i++) {
            struct tensor_view view = view_of(graph->inputs[i], truth);

            CHECK_OK(exec_set_input(exec, i, &view, &diag));
        }
        for (int run = 0; run < 3; run++) {
            exec_dispatch(exec);
            CHECK_OK(exec_wait(exec, &diag));
            for (uint32_t i = 0; i < graph->output_count; i++)
                compare_output(graph, exec, i, truth, slack, what);
        }
        exec_destroy(&exec);
    }
    for (uint32_t i = 0; i < graph->value_count; i++)
        free(truth[i]);
    free(truth);
}
