/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the input is a model file, which is prepared and run as load_and_run does, on one
 * thread, with inputs made up. Each step refuses in a sentence or does its work; what is chosen for
 * it depends on the bytes too, so that an input that failed fails again.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/exec/exec.h"
#include "runtime/graph/run_limits.h"
#include "runtime/graph/texts.h"
#include "runtime/inputs/input.h"
#include "runtime/onnx/model.h"
#include "runtime/passes/pass.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Above these a run would only cost time. */
enum { RUN_BYTES_MAX = 1 << 16, RUN_NODES_MAX = 200 };

static atomic_uint started;

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* A Loop may be asked to go on for ever: as with --max-time, it ends. */
static void *watch(void *unused)
{
    for (unsigned int before = 0;; before = atomic_load(&started)) {
        usleep(500000);
        if (before == atomic_load(&started))
            atomic_store(&limits_time_is_over, true);
    }
    return unused;
}

static void start_watch(void)
{
    static bool is_started;
    pthread_t thread;

    if (!is_started)
        require(pthread_create(&thread, NULL, watch, NULL) == 0);
    is_started = true;
    atomic_store(&limits_time_is_over, false);
    atomic_fetch_add(&started, 1);
}

static bool is_small(const struct graph *graph)
{
    int64_t total = 0;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        int64_t bytes = shape_bytes(&graph->values[i]->shape, graph->values[i]->dtype);

        if (bytes > RUN_BYTES_MAX || (bytes < 0 && graph->values[i]->shape.rank >= 0))
            return false;
        total += bytes > 0 ? bytes : 0;
    }
    return total <= RUN_BYTES_MAX && graph->node_count <= RUN_NODES_MAX;
}

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint32_t hash(const uint8_t *data, size_t size)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < size; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

/* Small whole numbers in all types, so that indices and sizes are often good ones. */
static void set_input(struct exec *exec, const struct graph *graph, uint32_t index, uint32_t seed)
{
    const struct value *value = graph->inputs[index];
    int64_t bytes = shape_bytes(&value->shape, value->dtype);
    size_t count = (size_t)shape_elements(&value->shape);
    struct tensor_view view = {.dtype = value->dtype, .shape = value->shape};
    struct diag diag = {0};
    uint8_t *data = calloc(1, bytes > 0 ? (size_t)bytes : 1);

    require(data != NULL);
    for (size_t i = 0; i < count; i++) {
        int32_t number = (int32_t)((seed >> (i % 24)) % 7) - 2;

        if (value->dtype == DTYPE_F32)
            ((float *)(void *)data)[i] = (float)number / 2;
        else if (value->dtype == DTYPE_F64)
            ((double *)(void *)data)[i] = number;
        else if (value->dtype == DTYPE_I64)
            ((int64_t *)(void *)data)[i] = number;
        else if (value->dtype == DTYPE_I32)
            ((int32_t *)(void *)data)[i] = number;
        else if ((size_t)bytes >= count)
            data[i] = (uint8_t)number & 1;
    }
    view.data = data;
    if (exec_set_input(exec, index, &view, &diag) < 0)
        require(diag.text[0] != '\0');
    free(data);
}

static void run(const struct graph *graph, uint32_t seed)
{
    const struct exec_options options = {
        .threads = 1, .is_inline = true, .is_lavish = seed % 2 == 0};
    struct tensor_view view;
    struct diag diag = {0};
    struct exec *exec;

    if (exec_create(graph, &options, &exec, &diag) < 0) {
        require(diag.text[0] != '\0');
        return;
    }
    for (uint32_t i = 0; i < graph->input_count; i++)
        set_input(exec, graph, i, seed);
    exec_dispatch(exec);
    if (exec_wait(exec, &diag) < 0) {
        require(diag.text[0] != '\0' || limits_is_over());
    } else {
        fuzz_accepted(1);
        for (uint32_t i = 0; i < graph->output_count; i++)
            require(exec_output(exec, i, &view) == 0);
    }
    exec_destroy(&exec);
}

static void prepare(struct graph *graph, uint32_t seed)
{
    static const enum dtype halves[] = {0, 0, DTYPE_F16, DTYPE_BF16};
    const struct pass_options passes = {.half = halves[seed / 4 % 4]};
    struct input_list none = {0};
    struct diag diag = {0};

    if (input_bind_shapes(graph, &none, &diag) < 0 || shape_infer(graph, NULL, &diag) < 0) {
        require(diag.text[0] != '\0');
        return;
    }
    if (!is_small(graph))
        return;
    if (seed / 2 % 2 == 0 && graph_optimise(graph, &passes, eval_node_as_run, &diag) < 0)
        return;
    if (is_small(graph))
        run(graph, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct graph *graph = NULL;
    struct diag diag = {0};

    start_watch();
    if (model_onnx_parse(data, size, -1, &graph, &diag) == 0)
        prepare(graph, hash(data, size));
    else
        require(diag.text[0] != '\0');
    graph_destroy(&graph);
    texts_forget(); /* what each input brings and makes would fill memory */
    return 0;
}
