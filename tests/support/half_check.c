/* SPDX-License-Identifier: Apache-2.0 */
/* A graph stored in half precision against the same graph in float32. */
#include "tests/support/half_check.h"

#include <math.h>

#include "runtime/exec/exec.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/passes/pass.h"
#include "runtime/tune/tune.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"

enum { OUTPUTS_MAX = 8, INPUTS_MAX = 8, TUNED = 4 };

static const struct {
    enum dtype dtype;
    double unit; /* the largest relative error of one rounding */
} types[HALF_CHECK_TYPES] = {{DTYPE_F16, 0x1p-11}, {DTYPE_BF16, 0x1p-8}};

/* What one run made. */
struct results {
    struct tensor_view outputs[OUTPUTS_MAX]; /* owned */
    uint32_t count;
};

static void results_deinit(struct results *results)
{
    for (uint32_t i = 0; i < results->count; i++)
        free(results->outputs[i].data);
    *results = (struct results){0};
}

static void make_contents(const struct half_check *check, const struct graph *graph,
                          struct tensor_view contents[INPUTS_MAX])
{
    bool is_default = check->low == 0 && check->high == 0;
    float low = is_default ? -1 : check->low, high = is_default ? 1 : check->high;
    uint32_t state = check->seed * 2654435761u + 1;

    assert_true(graph->input_count <= INPUTS_MAX);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const struct value *value = graph->inputs[i];
        int64_t count = shape_elements(&value->shape);
        float *data = graph_alloc_data((size_t)shape_bytes(&value->shape, DTYPE_F32));

        assert_int_equal(value->dtype, DTYPE_F32);
        assert_non_null(data);
        for (int64_t k = 0; k < count; k++)
            data[k] = low + (high - low) * (exec_check_random(&state) + 1) / 2;
        contents[i] = (struct tensor_view){DTYPE_F32, value->shape, data};
    }
}

static uint32_t count_of(const struct graph *graph, enum dtype dtype)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->value_count; i++)
        count += graph->values[i]->dtype == dtype && graph->values[i]->is_narrowed;
    return count;
}

static int create(const struct graph *graph, uint32_t way, struct exec **out_exec,
                  struct diag *diag)
{
    struct tune_options tune = {.run = TUNE_FULL, .workspace_limit = UINT64_MAX};
    struct exec_options options = {.threads = 1 + way / 2 % 2, .is_lavish = way % 2 != 0};
    int rc = way == TUNED ? tuning_create(&tune, &options.kernels, diag) : 0;

    if (rc == 0)
        rc = exec_create(graph, &options, out_exec, diag);
    tuning_destroy(&options.kernels);
    return rc;
}

/* `way` 0 to 3: threads, and whether memory is shared. Returns how many values are in half. */
static uint32_t run(const struct half_check *check, enum dtype dtype, uint32_t way,
                    struct results *out_results)
{
    struct graph *graph = check->build(check->user);
    struct tensor_view contents[INPUTS_MAX];
    struct exec *exec = NULL;
    struct diag diag = {0};
    uint32_t count;

    make_contents(check, graph, contents);
    if (shape_infer_for(graph, contents, eval_node, &diag) != 0 ||
        graph_optimise(graph, &(struct pass_options){.half = dtype}, eval_node, &diag) != 0 ||
        graph_check(graph, &diag) != 0 || create(graph, way, &exec, &diag) != 0)
        fail_msg("%s in %s: %s", check->what, dtype_name(dtype), diag.text);
    count = count_of(graph, dtype);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        CHECK_OK(exec_set_input(exec, i, &contents[i], &diag));
        free(contents[i].data);
    }
    exec_dispatch(exec);
    if (exec_wait(exec, &diag) != 0)
        fail_msg("%s in %s: %s", check->what, dtype_name(dtype), diag.text);
    assert_true(graph->output_count <= OUTPUTS_MAX);
    *out_results = (struct results){.count = graph->output_count};
    for (uint32_t i = 0; i < out_results->count; i++) {
        struct tensor_view view;
        size_t bytes;

        CHECK_OK(exec_output(exec, i, &view));
        bytes = (size_t)shape_bytes(&view.shape, view.dtype);
        out_results->outputs[i] = view;
        out_results->outputs[i].data = malloc(bytes + 1);
        assert_non_null(out_results->outputs[i].data);
        memcpy(out_results->outputs[i].data, view.data, bytes);
    }
    exec_destroy(&exec);
    graph_destroy(&graph);
    return count;
}

static void compare(const struct half_check *check, size_t type, uint32_t output,
                    const struct tensor_view *got, const struct tensor_view *want)
{
    const char *name = dtype_name(types[type].dtype);
    bool is_loose = (check->loose >> output & 1) != 0;
    const float *g = got->data, *w = want->data;

    if (!shape_equal(&got->shape, &want->shape))
        fail_msg("%s in %s: output %u has another shape", check->what, name, output);
    if (want->dtype != DTYPE_F32) {
        if (!is_loose && memcmp(g, w, (size_t)shape_bytes(&want->shape, want->dtype)) != 0)
            fail_msg("%s in %s: output %u is another", check->what, name, output);
        return;
    }
    for (int64_t i = 0; i < shape_elements(&want->shape); i++) {
        double most = check->slack * types[type].unit * (1 + fabs((double)w[i]));
        bool is_good = isfinite(g[i]) && (is_loose || fabs((double)g[i] - (double)w[i]) <= most);

        if (isfinite(w[i]) && !is_good)
            fail_msg("%s in %s: output %u, element %lld: %.9g, not %.9g", check->what, name, output,
                     (long long)i, (double)g[i], (double)w[i]);
    }
}

void half_check(const struct half_check *check, uint32_t out_counts[HALF_CHECK_TYPES])
{
    struct results want, got;

    run(check, DTYPE_NONE, 0, &want);
    for (size_t type = 0; type < HALF_CHECK_TYPES; type++) {
        for (uint32_t way = 0; way < TUNED + (check->is_tuned ? 1u : 0u); way++) {
            uint32_t count = run(check, types[type].dtype, way, &got);

            if (out_counts)
                out_counts[type] = count;
            for (uint32_t i = 0; i < want.count; i++)
                compare(check, type, i, &got.outputs[i], &want.outputs[i]);
            results_deinit(&got);
        }
    }
    results_deinit(&want);
}
