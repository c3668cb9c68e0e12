/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing kernels: whatever is chosen computes the same, and what the options say holds. */
#include <math.h>
#include <unistd.h>

#include "runtime/exec/exec.h"
#include "runtime/ops/eval.h"
#include "runtime/tune/policy.h"
#include "runtime/tune/tune.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/temp.h"

enum { CHANNELS = 16, SIZE = 14, CLASSES = 10 };

static uint32_t noise = 1;
static char *folder, *path;

/* The graph: two 3 x 3 convolutions of one shape, the second with a residual, a pool, a product. */

static struct shape shape_of(int rank, const int64_t *dims)
{
    struct shape shape = {.rank = rank};

    memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
    return shape;
}

#define DIMS(...)                                                                                  \
    shape_of((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static struct value *add_value(struct graph *graph, struct shape shape)
{
    struct value *value = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);

    assert_non_null(value);
    return value;
}

static struct value *add_weights(struct graph *graph, struct shape shape)
{
    struct value *value = add_value(graph, shape);
    float *data = graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32));

    for (int64_t i = 0; i < shape_elements(&shape); i++)
        data[i] = exec_check_random(&noise) / sqrtf((float)(CHANNELS * 3));
    value_set_data(value, data);
    return value;
}

static struct value *add_node(struct graph *graph, const char *op_type, struct shape shape,
                              struct value *const *inputs, uint32_t count, struct node **out_node)
{
    struct value *y = add_value(graph, shape);
    struct node *node = graph_add_node(graph, op_type, "", op_type, inputs, count, &y, 1);

    assert_non_null(node);
    if (out_node)
        *out_node = node;
    return y;
}

static struct value *add_conv(struct graph *graph, struct value *x, struct value *residual)
{
    struct value *inputs[] = {x, add_weights(graph, DIMS(CHANNELS, CHANNELS, 3, 3)),
                              add_weights(graph, DIMS(CHANNELS)), residual};
    struct node *node;
    struct value *y = add_node(graph, "Conv", x->shape, inputs, residual ? 4 : 3, &node);

    CHECK_OK(node_set_ints(node, "pads", (const int64_t[]){1, 1, 1, 1}, 4));
    node->fused.residual_input = residual ? 3 : -1;
    node->fused.activation = ACTIVATION_RELU;
    return y;
}

static struct graph *make_graph(int64_t batch)
{
    struct graph *graph = graph_create();
    struct value *x = add_value(graph, DIMS(batch, CHANNELS, SIZE, SIZE)), *y, *w, *flat;
    struct node *node;

    noise = 1; /* the same weights whatever the batch */
    CHECK_OK(graph_add_opset(graph, "", 13));
    CHECK_OK(graph_add_input(graph, x));
    y = add_conv(graph, x, NULL);
    y = add_conv(graph, y, NULL);
    y = add_conv(graph, y, x);
    y = add_node(graph, "GlobalAveragePool", DIMS(batch, CHANNELS, 1, 1), &y, 1, NULL);
    flat = add_node(graph, "Flatten", DIMS(batch, CHANNELS), &y, 1, NULL);
    w = add_weights(graph, DIMS(CLASSES, CHANNELS));
    y = add_node(graph, "Gemm", DIMS(batch, CLASSES), (struct value *[]){flat, w}, 2, &node);
    CHECK_OK(node_set_int(node, "transB", 1));
    CHECK_OK(graph_add_output(graph, y));
    return graph;
}

/* Running */

static struct tune_options options_of(enum tune_run run)
{
    return (struct tune_options){.run = run, .workspace_limit = UINT64_MAX};
}

static struct exec *create(const struct graph *graph, struct kernel_chooser *tuning)
{
    struct exec_options options = {.threads = 2, .kernels = tuning};
    struct exec *exec = NULL;
    struct diag diag = {0};

    if (exec_create(graph, &options, &exec, &diag) != 0)
        fail_msg("exec_create: %s", diag.text);
    return exec;
}

/* Sample i is the same whatever the batch. */
static void compute(const struct graph *graph, struct exec *exec, float *out_values)
{
    const struct value *x = graph->inputs[0];
    int64_t count = shape_elements(&x->shape);
    float *data = malloc((size_t)count * sizeof(*data));
    struct tensor_view view = {DTYPE_F32, x->shape, data}, y;
    struct diag diag = {0};
    uint32_t state = 5;

    for (int64_t i = 0; i < count; i++)
        data[i] = exec_check_random(&state);
    CHECK_OK(exec_set_input(exec, 0, &view, &diag));
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &y));
    memcpy(out_values, y.data, (size_t)shape_bytes(&y.shape, DTYPE_F32));
    free(data);
}

static void run_with(const struct tune_options *options, int64_t batch, float *out_values)
{
    struct graph *graph = make_graph(batch);
    struct kernel_chooser *tuning = NULL;
    struct exec *exec;
    struct diag diag = {0};

    if (tuning_create(options, &tuning, &diag) != 0)
        fail_msg("tuning_create: %s", diag.text);
    exec = create(graph, tuning);
    compute(graph, exec, out_values);
    exec_destroy(&exec);
    tuning_destroy(&tuning);
    graph_destroy(&graph);
}

static void default_of(int64_t batch, float *out_values)
{
    struct graph *graph = make_graph(batch);
    struct exec *exec = create(graph, NULL);

    compute(graph, exec, out_values);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

static void compare(const float *got, const float *want, int count, const char *what)
{
    for (int i = 0; i < count; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-4f * (1.0f + fabsf(want[i]))))
            fail_msg("%s: element %d: %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
}

static int begin(void **state)
{
    folder = temp_create();
    path = temp_path(folder, "policy");
    return folder ? 0 : -1;
}

static int end(void **state)
{
    free(path);
    temp_destroy(&folder);
    return 0;
}

/* The most that any operation has. */
static int make_fastest(const struct policy *from, int which)
{
    struct policy policy = {0};
    struct diag diag = {0};
    int most = 0;

    for (size_t i = 0; i < from->entries.count; i++) {
        struct policy_entry entry = from->entries.items[i];

        most = entry.count > most ? entry.count : most;
        for (int k = 0; k < entry.count; k++)
            entry.times[k].time_ns = 1000 + (k != which % entry.count) * 1000000u;
        CHECK_OK(policy_put(&policy, entry.machine, entry.key, entry.times, entry.count));
    }
    CHECK_OK(policy_save(&policy, path, &diag));
    policy_deinit(&policy);
    return most;
}

/* Times that were made up have each kernel taken in turn. */
static void every_kernel_computes_the_same(void **state)
{
    struct tune_options full = options_of(TUNE_FULL), known = options_of(TUNE_FULL);
    float want[3 * CLASSES], got[3 * CLASSES];
    struct policy policy = {0};
    struct diag diag = {0};
    int most;

    full.policy_path = known.policy_path = path;
    default_of(3, want);
    run_with(&full, 3, got);
    compare(got, want, 3 * CLASSES, "the fastest");
    CHECK_OK(policy_load(&policy, path, &diag));
    assert_true(policy.entries.count >= 3); /* two kinds of convolutions, a product */
    most = make_fastest(&policy, 0);
    assert_true(most > 3);
    for (int i = 0; i < most; i++) {
        char what[32];

        make_fastest(&policy, i);
        snprintf(what, sizeof(what), "kernels number %d", i);
        run_with(&known, 3, got);
        compare(got, want, 3 * CLASSES, what);
    }
    policy_deinit(&policy);
}

static char *say(struct tune_options options, int64_t batch)
{
    float out[8 * CLASSES];
    char *text = NULL;
    size_t size;

    options.out = open_memstream(&text, &size);
    run_with(&options, batch, out);
    fclose(options.out);
    return text;
}

static void what_is_known_is_not_timed_again(void **state)
{
    struct tune_options options = options_of(TUNE_FAST);
    char *text, *before, *after;
    size_t size;

    options.policy_path = path;
    text = say(options, 1);
    CHECK_CONTAINS(text, "--fast-run: ");
    CHECK_CONTAINS(text, ", 0 known");
    free(text);
    before = temp_read(path, &size);
    text = say(options, 1);
    CHECK_CONTAINS(text, "; 0 shapes timed, ");
    free(text);
    options.run = TUNE_NOTHING;
    options.is_verbose = true;
    text = say(options, 1);
    CHECK_CONTAINS(text, "--fast-run-algo-policy: ");
    CHECK_CONTAINS(text, " and 1 more of its shape, known:");
    free(text);
    /* Another batch is another operation. */
    options.is_verbose = false;
    text = say(options, 4);
    CHECK_CONTAINS(text, "; 0 shapes timed, 0 known");
    free(text);
    after = temp_read(path, &size);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* The summary's number of operators that take another kernel, and the plan's. */
static void count(struct tune_options options, int64_t batch, const char *what)
{
    struct graph *graph = make_graph(batch);
    struct exec *usual = create(graph, NULL), *exec;
    struct kernel_chooser *tuning = NULL;
    unsigned said = 0, all = 0, changed = 0;
    struct diag diag = {0};
    char *text = NULL, *at;
    size_t size;

    options.out = open_memstream(&text, &size);
    CHECK_OK(tuning_create(&options, &tuning, &diag));
    exec = create(graph, tuning);
    fclose(options.out);
    assert_int_equal(exec_step_count(exec), exec_step_count(usual));
    for (uint32_t i = 0; i < exec_step_count(exec); i++)
        changed +=
            strcmp(exec_step(exec, i)->implementation, exec_step(usual, i)->implementation) != 0;
    at = strstr(text, ": ");
    at = at ? strstr(at + 2, ": ") : NULL;
    if (!at || sscanf(at, ": %u of %u operators with a choice", &said, &all) != 2 ||
        said != changed || said > all)
        fail_msg("%s, batch %d: %u steps call another kernel, not as in: %s", what, (int)batch,
                 changed, text);
    free(text);
    exec_destroy(&exec);
    exec_destroy(&usual);
    tuning_destroy(&tuning);
    graph_destroy(&graph);
}

/* Of how many operators something is chosen. */
static unsigned count_choices(const struct graph *graph, struct tune_options options)
{
    struct kernel_chooser *tuning = NULL;
    struct exec *exec;
    struct diag diag = {0};
    unsigned changed, all = 0;
    char *text = NULL, *at;
    size_t size;

    options.out = open_memstream(&text, &size);
    CHECK_OK(tuning_create(&options, &tuning, &diag));
    exec = create(graph, tuning);
    fclose(options.out);
    at = strstr(text, ": ");
    at = at ? strstr(at + 2, ": ") : NULL;
    if (!at || sscanf(at, ": %u of %u operators with a choice", &changed, &all) != 2)
        fail_msg("%s", text);
    free(text);
    exec_destroy(&exec);
    tuning_destroy(&tuning);
    return all;
}

/* Another kernel might find another number of those that are not 0. */
static void what_sizes_were_found_from_keeps_its_kernel(void **state)
{
    struct tune_options limited = options_of(TUNE_FULL);
    struct graph *graph = make_graph(2);
    unsigned all = count_choices(graph, options_of(TUNE_FULL));

    graph->outputs[0]->decides_sizes = true;
    assert_int_equal(count_choices(graph, options_of(TUNE_FULL)), all - 1);
    assert_int_equal(count_choices(graph, options_of(TUNE_FAST)), all - 1);
    limited.reproducible = true; /* and its own may not be */
    assert_int_equal(count_choices(graph, limited), all);
    graph_destroy(&graph);
}

static void what_is_counted_is_what_runs(void **state)
{
    struct tune_options shared = options_of(TUNE_FAST);
    struct tune_options choices[] = {
        options_of(TUNE_FAST),    options_of(TUNE_FULL),    options_of(TUNE_NOTHING),
        options_of(TUNE_NOTHING), options_of(TUNE_NOTHING), options_of(TUNE_FULL),
    };
    static const char *const names[] = {
        "--fast-run",        "--full-run",
        "--reproducible",    "--binary-equal-between-batch",
        "--workspace-limit", "--full-run --binary-equal-between-batch",
    };

    choices[2].reproducible = true;
    choices[3].batch_equal = choices[5].batch_equal = true;
    choices[4].workspace_limit = 100;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        for (int64_t batch = 1; batch < 40; batch += 13)
            count(choices[i], batch, names[i]);
    shared.shared_batch = 2;
    shared.policy_path = path;
    count(shared, 1, "--fast-run-shared-batch-size");
    for (int i = 0; i < 4; i++) {
        struct policy policy = {0};
        struct diag diag = {0};

        CHECK_OK(policy_load(&policy, path, &diag));
        make_fastest(&policy, i);
        policy_deinit(&policy);
        count(shared, 1, "a policy of batch 2");
        count(shared, 7, "a policy of batch 2");
    }
}

static void a_shared_batch_serves_every_batch(void **state)
{
    struct tune_options options = options_of(TUNE_FAST);
    float got[4 * CLASSES], want[4 * CLASSES];
    char *text;

    options.policy_path = path;
    options.shared_batch = 2;
    free(say(options, 1));
    options.run = TUNE_NOTHING;
    options.is_verbose = true;
    text = say(options, 4);
    CHECK_CONTAINS(text, "(Conv) and 1 more of its shape, known:");
    CHECK_CONTAINS(text, "(Gemm), known:");
    free(text);
    run_with(&options, 4, got);
    default_of(4, want);
    compare(got, want, 4 * CLASSES, "batch 4");
}

static void samples_do_not_depend_on_their_batch(void **state)
{
    struct tune_options options = options_of(TUNE_NOTHING);
    float one[CLASSES], many[5 * CLASSES];

    options.batch_equal = true;
    run_with(&options, 1, one);
    run_with(&options, 5, many);
    assert_memory_equal(one, many, sizeof(one));
    run_with(&options, 2, many);
    assert_memory_equal(one, many, sizeof(one));
}

static void runs_are_the_same(void **state)
{
    struct tune_options options = options_of(TUNE_NOTHING);
    float first[3 * CLASSES], second[3 * CLASSES];

    options.reproducible = true;
    run_with(&options, 3, first);
    for (int i = 0; i < 5; i++) {
        run_with(&options, 3, second);
        assert_memory_equal(first, second, sizeof(first));
    }
}

static void scratch_stays_below_its_limit(void **state)
{
    struct tune_options options = options_of(TUNE_NOTHING);
    struct graph *graph = make_graph(1);
    struct kernel_chooser *tuning = NULL;
    struct exec *exec;
    struct diag diag = {0};
    float got[CLASSES], want[CLASSES];

    options.workspace_limit = 100;
    CHECK_OK(tuning_create(&options, &tuning, &diag));
    exec = create(graph, tuning);
    for (uint32_t i = 0; i < exec_step_count(exec); i++)
        assert_in_range(exec_step(exec, i)->workspace_bytes, 0, 100);
    compute(graph, exec, got);
    default_of(1, want);
    compare(got, want, CLASSES, "little scratch");
    exec_destroy(&exec);
    tuning_destroy(&tuning);
    graph_destroy(&graph);
}

/* A recurrent layer has one kernel, which needs scratch. */
static void who_cannot_be_served_is_named(void **state)
{
    struct tune_options options = options_of(TUNE_NOTHING);
    struct graph *graph = graph_create();
    struct value *x = add_value(graph, DIMS(2, 1, 4));
    struct value *inputs[] = {x, add_weights(graph, DIMS(1, 12, 4)),
                              add_weights(graph, DIMS(1, 12, 3))};
    struct exec_options exec_options = {.threads = 1};
    struct exec *exec = NULL;
    struct node *node;
    struct diag diag = {0};

    CHECK_OK(graph_add_opset(graph, "", 13));
    CHECK_OK(graph_add_input(graph, x));
    CHECK_OK(graph_add_output(graph, add_node(graph, "LSTM", DIMS(2, 1, 1, 3), inputs, 3, &node)));
    CHECK_OK(node_set_int(node, "hidden_size", 3));
    options.workspace_limit = 8;
    CHECK_OK(tuning_create(&options, &exec_options.kernels, &diag));
    assert_int_equal(exec_create(graph, &exec_options, &exec, &diag), -ENOTSUP);
    CHECK_CONTAINS(diag.text, "--workspace-limit: node \"LSTM\" (LSTM) needs ");
    tuning_destroy(&exec_options.kernels);
    graph_destroy(&graph);
}

static void a_policy_must_be_there_or_be_made(void **state)
{
    struct tune_options options = options_of(TUNE_NOTHING);
    struct kernel_chooser *tuning = NULL;
    struct diag diag = {0};

    options.policy_path = path;
    assert_int_equal(tuning_create(&options, &tuning, &diag), -ENOENT);
    CHECK_CONTAINS(diag.text, "--fast-run or --full-run");
    options.run = TUNE_FAST;
    options.policy_path = "/nonexistent/policy";
    diag = (struct diag){0};
    assert_int_equal(tuning_create(&options, &tuning, &diag), -ENOENT);
    CHECK_CONTAINS(diag.text, "cannot write /nonexistent/policy");
    free(temp_write(folder, "policy", "no policy\n", 10));
    options.policy_path = path;
    diag = (struct diag){0};
    assert_int_equal(tuning_create(&options, &tuning, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "is no policy file");
    assert_null(tuning);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(every_kernel_computes_the_same),
        TEST(what_is_known_is_not_timed_again),
        TEST(what_is_counted_is_what_runs),
        TEST(a_shared_batch_serves_every_batch),
        TEST(samples_do_not_depend_on_their_batch),
        TEST(runs_are_the_same),
        TEST(scratch_stays_below_its_limit),
        TEST(who_cannot_be_served_is_named),
        TEST(a_policy_must_be_there_or_be_made),
        TEST(what_sizes_were_found_from_keeps_its_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
