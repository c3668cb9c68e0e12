/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of all numbers of channels, dimensions and kinds: whichever kernels are chosen, the
 * results are those of the default ones. */
#include "runtime/exec/exec.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/tune/tune.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"

enum { ROUNDS = 60 };

static uint32_t seed = 1;

static int pick(int least, int most)
{
    return least + (int)((exec_check_random(&seed) + 1) / 2 * (float)(most - least + 1));
}

static struct value *add_weights(struct graph *graph, int rank, const int64_t *dims)
{
    struct shape shape = {.rank = rank};
    struct value *value;
    float *data;

    memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
    value = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);
    data = graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32));
    assert_true(value && data);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        data[i] = exec_check_random(&seed);
    value_set_data(value, data);
    return value;
}

/* One convolution, forward or transposed, maybe followed by a second one and an activation; some of a
 * sequence that stands as an image of one column. */
static struct graph *make_graph(void)
{
    static const int channels[] = {1, 1, 2, 3, 8, 16};
    const int rank = pick(1, 3), c = channels[pick(0, 5)], f = channels[pick(0, 5)];
    const bool is_transposed = pick(0, 2) == 0;
    int64_t w[5] = {is_transposed ? c : f, is_transposed ? f : c};
    struct graph *graph = build_graph(13);
    struct shape x = {.rank = rank + 2, .dims = {pick(1, 2), c}};
    struct value *input, *y;
    struct diag diag = {0};

    for (int i = 0; i < rank; i++) {
        w[2 + i] = pick(1, 3);
        x.dims[2 + i] = pick(4, 9);
    }
    for (int i = rank - 1; i > 0 && pick(0, 2) == 0; i--)
        w[2 + i] = x.dims[2 + i] = 1;
    input = graph_add_value(graph, "x", DTYPE_F32, &x, NULL);
    y = graph_add_value(graph, "y", DTYPE_NONE, &(struct shape){.rank = -1}, NULL);
    assert_true(input && y && graph_add_input(graph, input) == 0);
    assert_non_null(graph_add_node(graph, is_transposed ? "ConvTranspose" : "Conv", "", "conv",
                                   (struct value *[]){input, add_weights(graph, rank + 2, w),
                                                      add_weights(graph, 1, (const int64_t[]){f})},
                                   3, &y, 1));
    CHECK_OK(graph_add_output(graph, y));
    if (shape_infer(graph, NULL, &diag) < 0)
        fail_msg("%s", diag.text);
    return graph;
}

/* NULL: no kernel is within the options. Of some we do not know whether they are reproducible. */
static float *run(const struct graph *graph, const struct tune_options *options)
{
    struct kernel_chooser *tuning = NULL;
    struct exec_options exec_options = {.threads = 1};
    struct exec *exec = NULL;
    struct diag diag = {0};
    float *y = NULL;
    int rc;

    if (options && tuning_create(options, &tuning, &diag) < 0)
        fail_msg("%s", diag.text);
    exec_options.kernels = tuning;
    rc = exec_create(graph, &exec_options, &exec, &diag);
    if (rc < 0 && !(rc == -ENOTSUP && options && options->reproducible))
        fail_msg("%s", diag.text);
    if (rc == 0)
        y = exec_check_run(exec, graph, 2);
    exec_destroy(&exec);
    tuning_destroy(&tuning);
    return y;
}

static void check(const struct graph *graph, const char *what, const struct tune_options *options)
{
    float *expected = run(graph, NULL), *got = run(graph, options);
    const struct shape *x = &graph->inputs[0]->shape, *w = &graph->nodes[0]->inputs[1]->shape;

    for (int64_t i = 0; got && i < shape_elements(&graph->outputs[0]->shape); i++)
        if (!(got[i] - expected[i] <= 1e-4f && expected[i] - got[i] <= 1e-4f))
            fail_msg("%s, %s of %d dimensions, %lld channels, weights %lld x %lld: element %lld is "
                     "%g, not %g",
                     what, graph->nodes[0]->op_type, x->rank - 2, (long long)x->dims[1],
                     (long long)w->dims[0], (long long)w->dims[1], (long long)i, (double)got[i],
                     (double)expected[i]);
    free(expected);
    free(got);
}

static void all_choices_compute_the_same(void **state)
{
    static const struct {
        const char *name;
        struct tune_options options;
    } choices[] = {
        {"--fast-run", {.run = TUNE_FAST, .workspace_limit = UINT64_MAX}},
        {"--full-run", {.run = TUNE_FULL, .workspace_limit = UINT64_MAX}},
        {"--reproducible", {.reproducible = true, .workspace_limit = UINT64_MAX}},
        {"--full-run --reproducible --binary-equal-between-batch",
         {.run = TUNE_FULL,
          .reproducible = true,
          .batch_equal = true,
          .workspace_limit = UINT64_MAX}},
    };

    for (int round = 0; round < ROUNDS; round++) {
        struct graph *graph = make_graph();

        for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
            check(graph, choices[i].name, &choices[i].options);
        graph_destroy(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_choices_compute_the_same)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
